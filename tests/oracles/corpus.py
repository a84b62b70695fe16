"""The golden corpus: what questions ask, prove, compute and conclude, so that a rewrite changes none of it unnoticed.

A case is a question by its method and arguments, a unit, an adjacency and a level. Written down are

* its public JSON and the JSON of its solution;
* the integers that its statement computes on a fixed table;
* its expected losses beforehand;
* for integers released by a fixed source of randomness: the value and its intervals.

No sentence is part of it: words may change for the better. `python tests/oracles/corpus.py` (with `src` and `tests` on
the path) writes tests/golden/corpus.json.gz; a change that alters a case says so in its commit.
"""

import gzip
import json
import math
from dataclasses import asdict, is_dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow
from oracles.questions import QueryMaker, Setting

import utmost as um
from utmost.backends import opening
from utmost.errors import UtmostError
from utmost.mechanism.sampling import insecure_source_for_tests_only
from utmost.queries.units_per_key import KeyTotals, in_order
from utmost.solution.solution_file import solution_to_json

FILE = Path(__file__).parents[1] / "golden" / "corpus.json.gz"
SECRET = b"g" * 32
UNITS = {
    "rows": um.rows(),
    "rows, at most 300": um.rows(at_most=300),
    "people": um.people("who", rows_each=2),
    "people, at most 150": um.people("who", rows_each=2, at_most=150),
    "people in groups": um.people("who", rows_each=4, groups_each=2, rows_each_group=1),
}
LEVELS = {
    "pure": um.PureDP("0.5"),
    "pure 2": um.PureDP(2),
    "approximate": um.ApproxDP(1, "1e-6"),
    "Gaussian": um.GaussianDP("0.8"),
    "zCDP": um.ZCDP("0.25"),
}
TOWNS = um.keys(town=["Ash", "Briar", "Cole", "Dun"])
PAIRS = um.keys(town=["Ash", "Briar", "Cole"], ok=[True, False])
FOUND = um.discover("town")
AGES = [20, 30, 40, 50, 60, 70, 80]
QUESTIONS = {
    "count": lambda a, e: a.count("age >= 40", e),
    "count of all": lambda a, e: a.count(None, e),
    "count, unbiased, squared": lambda a, e: a.count("age >= 40", e, unbiased=True, loss="squared"),
    "count of people": lambda a, e: a.count("age >= 40", e, of="people"),
    "counts, overlapping": lambda a, e: a.counts(["age >= 40", "ok", "x > 1.5"], e),
    "counts, nested": lambda a, e: a.counts(["age >= 30", "age >= 50"], e),
    "counts, disjoint": lambda a, e: a.counts(["age < 30", "age >= 50"], e),
    "sum of whole numbers": lambda a, e: a.sum("age", 0, 100, e),
    "sum of floats": lambda a, e: a.sum("x", 0, 5, e),
    "sum in steps": lambda a, e: a.sum("age", 0, 100, e, grid=10),
    "mean": lambda a, e: a.mean("age", 0, 100, e),
    "mean of floats": lambda a, e: a.mean("x", 0, 5, e, where="ok"),
    "mean, expected rows": lambda a, e: a.mean("age", 0, 100, e, expected_rows=200),
    "variance": lambda a, e: a.variance("age", 0, 100, e),
    "covariance": lambda a, e: a.covariance("age", "x", (0, 100), (0, 5), e),
    "share": lambda a, e: a.share("age >= 40", e, among=200),
    "histogram": lambda a, e: a.histogram("town", ["Ash", "Briar", "Cole"], e),
    "histogram with others": lambda a, e: a.histogram("town", ["Ash", "Briar"], e, other="elsewhere"),
    "histogram of bins": lambda a, e: a.histogram("age", um.bins(0, 100, 20), e),
    "cdf": lambda a, e: a.cdf("age", AGES, e),
    "ranges": lambda a, e: a.ranges("age", [0, 20, 40, 60], e),
    "majority": lambda a, e: a.majority("ok", e),
    "threshold": lambda a, e: a.threshold("age >= 40", 100, e),
    "plurality": lambda a, e: a.plurality("town", ["Ash", "Briar", "Cole"], e),
    "top": lambda a, e: a.top("town", 2, ["Ash", "Briar", "Cole", "Dun"], e),
    "median": lambda a, e: a.quantile("age", 0.5, lower=0, upper=100, privacy=e),
    "median of listed": lambda a, e: a.quantile("age", 0.5, AGES, e, loss="absolute"),
    "quartiles": lambda a, e: a.quantile("x", [0.25, 0.5, 0.75], lower=0, upper=5, privacy=e),
    "clamped": lambda a, e: a.clamped("age", 30, 60, e),
    "left out": lambda a, e: a.left_out(None, e),
    "share left out": lambda a, e: a.share_left_out(None, e),
    "rows per person": lambda a, e: a.rows_per_person(None, e, largest=10),
    "marginals": lambda a, e: a.marginals(PAIRS, 1, e),
    "marginals of two": lambda a, e: a.marginals(PAIRS, 2, e),
    "hierarchy": lambda a, e: a.hierarchy(["town", "ok"], PAIRS, e),
    "count by keys": lambda a, e: a.count("age >= 40", e, by=TOWNS),
    "count by two columns": lambda a, e: a.count(None, e, by=PAIRS),
    "count of people by keys": lambda a, e: a.count(None, e, by=TOWNS, of="people"),
    "sum by keys": lambda a, e: a.sum("age", 0, 100, e, by=TOWNS),
    "mean by keys": lambda a, e: a.mean("x", 0, 5, e, by=TOWNS),
    "variance by keys": lambda a, e: a.variance("age", 0, 100, e, by=TOWNS),
    "majority by keys": lambda a, e: a.majority("ok", e, by=TOWNS),
    "threshold by keys": lambda a, e: a.threshold("age >= 40", 20, e, by=TOWNS),
    "median by keys": lambda a, e: a.quantile("age", 0.5, lower=0, upper=100, privacy=e, by=TOWNS),
    "count of found keys": lambda a, e: a.count("age >= 40", e, by=FOUND),
    "sum of found keys": lambda a, e: a.sum("age", 0, 100, e, by=FOUND),
    "mean of found keys": lambda a, e: a.mean("x", 0, 5, e, by=FOUND),
    "keys": lambda a, e: a.keys("town", e),
}


@cache
def table():
    """The fixed table: 240 rows of 130 people, with nulls, ties, infinities and floats."""
    rng = np.random.default_rng(20_261_118)
    n = 240
    age = rng.integers(0, 100, n)
    x = np.round(rng.gamma(2.0, 0.8, n), 3)
    x[:4] = np.nan, np.inf, -np.inf, -0.0
    return pyarrow.table(
        {
            "who": rng.integers(0, 130, n),
            "age": pyarrow.array(age, mask=rng.random(n) < 0.05),
            "x": x,
            "town": rng.choice(["Ash", "Briar", "Cole", "Dun", "Elm"], n, p=[0.4, 0.25, 0.2, 0.1, 0.05]),
            "ok": pyarrow.array(rng.random(n) < 0.6, mask=rng.random(n) < 0.05),
        }
    )


def cases():
    """Every question for every unit at one level and one adjacency, which take turns, and all levels for rows."""
    for number, name in enumerate(QUESTIONS):
        for place, unit in enumerate(UNITS):
            for which, level in enumerate(LEVELS):
                if unit == "rows" or which == (number + place) % len(LEVELS) or (which == 2 and "found" in name):
                    neighbours = ("add-remove", "replace")[(number + place + which) % 2]
                    yield f"{name} | {unit} | {neighbours} | {level}"


def asked(case, source=None):
    """The question of a case, ready to be read, of the fixed table or another source with the same columns."""
    name, unit, neighbours, level = case.split(" | ")
    setting = Setting(opening.open_table(table()) if source is None else source, UNITS[unit], neighbours)
    return QUESTIONS[name](QueryMaker(setting), LEVELS[level])


def written(case):
    """What is written down of a case, as plain data; of one that is refused, the kind of error."""
    try:
        made = asked(case)
        question = made.question
        point = point_of(made)
        solution = solution_to_json(question.solution)
        for words in ("reason", "claim"):
            solution["certificate"].pop(words, None)
    except UtmostError as refusal:
        return {"refused": type(refusal).__name__}
    with insecure_source_for_tests_only(np.random.default_rng(7).bytes):
        released = question.draw(point)
    after = question.after(released)
    return plain(
        {
            "public": question.public,
            "solution": solution,
            "point": point,
            "before": {name: part for name, part in asdict(question.before()).items() if not _has_words(part)},
            "released": released,
            "value": question.plain_value(question.value(released)),
            "intervals": question.plain_intervals(after.intervals),
        }
    )


def point_of(made):
    """The private point; of found keys, which engines list in any order, in that of the keys."""
    point = made.private_point(SECRET)
    if not isinstance(point, KeyTotals):
        return point
    order = in_order(point.keys)
    return KeyTotals(point.keys.take(order), point.holders[order], point.numbers[order])


def _has_words(part):
    """Whether a part of what is said beforehand is a sentence, or holds some."""
    if isinstance(part, dict):
        return any(map(_has_words, part.values()))
    return isinstance(part, str) and " " in part


def plain(part):
    """The same as JSON reads it back."""
    return json.loads(json.dumps(_plain(part)))


def _plain(part):
    if isinstance(part, dict):
        return {name if isinstance(name, str) else repr(name): _plain(value) for name, value in part.items()}
    if isinstance(part, list | tuple):
        return [_plain(each) for each in part]
    if isinstance(part, np.ndarray | np.generic):
        return _plain(part.tolist())
    if isinstance(part, Fraction):
        return str(part)
    if isinstance(part, KeyTotals):
        return {"keys": part.keys.to_pylist(), "holders": _plain(part.holders), "numbers": _plain(part.numbers)}
    if is_dataclass(part):
        return _plain(asdict(part))
    return part if part is None or isinstance(part, str | int | float | bool) else str(part)


def differences(one, other, place=""):
    """Where two plain values differ, floats by more than their last digits: a list of places."""
    if isinstance(one, dict) and isinstance(other, dict):
        names = sorted(one.keys() ^ other.keys())
        return [f"{place}.{name}: only one has it" for name in names] + [
            found for name in one if name in other for found in differences(one[name], other[name], f"{place}.{name}")
        ]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [
            found
            for i, pair in enumerate(zip(one, other, strict=True))
            for found in differences(*pair, f"{place}[{i}]")
        ]
    if isinstance(one, float) and isinstance(other, float) and math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12):
        return []
    if one != other or type(one) is not type(other):
        return [f"{place}: {str(one)[:60]}, not {str(other)[:60]}"]
    return []


@cache
def corpus():
    """What was written down: {case: plain data}."""
    with gzip.open(FILE, "rt", encoding="utf-8") as file:
        return json.load(file)


if __name__ == "__main__":
    found = {case: written(case) for case in cases()}
    text = json.dumps(found, sort_keys=True, ensure_ascii=False, indent=0).encode()
    FILE.write_bytes(gzip.compress(text, 9, mtime=0))
    print(f"{len(found)} cases, {sum('refused' in case for case in found.values())} of them refused")
