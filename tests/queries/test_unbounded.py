"""Sessions without at_most: unbiased numbers on unbounded ranges, their proofs, and what is said with at_most."""

from __future__ import annotations

import json
import math

import pyarrow
import pytest

import utmost as um
from utmost.errors import InvalidInput, UtmostError
from utmost.queries.units import as_unit
from utmost.solution import Solution
from utmost.space.integers import Lattice, unlisted_from_json, unlisted_to_json
from utmost.space.line import Line
from utmost.theory.scalar.design.line import best_on_line
from utmost.theory.vector.design.vectors import best_vector

ROWS = 3000
TABLE = pyarrow.table(
    {
        "age": [(7 * i) % 90 for i in range(ROWS)],
        "town": [["Ash", "Briar", "Cole"][i % 3] for i in range(ROWS)],
        "who": [i // 3 for i in range(ROWS)],
    }
)
TOWNS = um.keys(town=["Ash", "Briar", "Cole"])
NUMBERS = {
    "count": lambda s: s.count("age >= 65", 1),
    "sum": lambda s: s.sum("age", 0, 90, 1),
    "mean": lambda s: s.mean("age", 0, 90, 1),
    "counts": lambda s: s.counts(["age >= 20", "town = 'Ash'"], 1),
    "nested": lambda s: s.counts(["age >= 20", "age >= 40"], 1),
    "histogram": lambda s: s.histogram("town", ["Ash", "Briar"], 1, other="other"),
    "cdf": lambda s: s.cdf("age", [0, 30, 60], 1),
    "ranges": lambda s: s.ranges("age", [0, 30, 60, 90], 1),
    "marginals": lambda s: s.marginals(um.keys(town=["Ash", "Briar"], age=[7, 14]), of=1, privacy=1),
    "count by": lambda s: s.count(None, 1, by=TOWNS),
    "sum by": lambda s: s.sum("age", 0, 90, 1, by=TOWNS),
    "mean by": lambda s: s.mean("age", 0, 90, 1, by=TOWNS),
    "clamped": lambda s: s.clamped("age", 10, 80, 1),
    "found": lambda s: s.count(None, um.ApproxDP(1, 1e-6), by=um.discover("town")),
}


def session(unit, neighbours="add-remove", budget=100):
    return um.Session(TABLE, "unbounded", unit, neighbours, budget=um.ApproxDP(budget, 1e-3))


@pytest.mark.parametrize(
    ("level", "reach", "loss", "expected"),
    [
        (um.PureDP(1), 1, "absolute", 2 * math.exp(-1) / (1 - math.exp(-2))),
        (um.ApproxDP(1, 1e-6), 1, "absolute", 0.8509021157575),
        (um.ApproxDP("0.1", "0.01"), 1, "absolute", 6.49479673956),
        (um.ApproxDP("0.1", "0.01"), 1, "squared", 66.2011452),
        (um.GaussianDP(1), 1, "absolute", 0.763580902205),
        (um.GaussianDP("0.5"), 1, "absolute", 1.57902284355),
        (um.PureDP(1), 5, "absolute", 4.786284298996885),
    ],
)
def test_the_loss_of_one_number_is_that_of_the_noise(level, reach, loss, expected):
    """Closed forms and values computed by another road; nothing depends on a range."""
    found = best_on_line(Line(None, None, reach), level, loss)
    assert found.value == pytest.approx(expected, rel=1e-8)
    assert found.certificate.claim == "theorem"
    assert "unbounded line" in found.certificate.reason
    assert found.verify()


@pytest.mark.parametrize(
    ("dimension", "moves", "expected"),
    [(3, "one-way", 1.5829928575725), (2, "sum-zero", 0.8509181282), (4, "sum-zero", 1.40142962828)],
)
def test_the_loss_of_a_vector_is_that_of_its_noise(dimension, moves, expected):
    found = best_vector(Lattice(dimension, moves, 1), um.PureDP(1))
    assert found.value == pytest.approx(expected, rel=1e-9)
    assert 0.99 * expected < found.certificate.bound <= found.value
    assert found.verify()


def test_bounds_do_not_exceed_those_of_long_ranges():
    """A mechanism for all integers is one for every range, whose bounds grow with it up to the unbounded one."""
    short, long, endless = (
        best_vector(Lattice(3, "one-way", 1, *ends), um.PureDP(1)).certificate.bound
        for ends in ((0, 10**5), (0, 10**9), (None, None))
    )
    assert short < long <= endless + 1e-12
    assert endless == pytest.approx(long, rel=1e-6)


@pytest.mark.parametrize(
    "make", [lambda: best_on_line(Line(None, None, 1), 1.0), lambda: best_vector(Lattice(3, "any", 2), um.PureDP(1))]
)
def test_solutions_are_read_again_from_json(make, tmp_path):
    saved = make().save(tmp_path / "solution.json")
    assert Solution.load(saved).verify()


def test_forged_ends_are_refused(tmp_path):
    """A range in place of none, one end alone, or a best guess without ends: not verified, or not even read."""
    file = best_on_line(Line(None, None, 1), 1.0).save(tmp_path / "solution.json")
    text = file.read_text()
    forged = text.replace('"first": null', '"first": 0').replace('"first":null', '"first":0')
    assert forged != text
    file.write_text(forged)
    with pytest.raises(UtmostError):
        Solution.load(file)
    with pytest.raises(InvalidInput, match="both ends"):
        unlisted_from_json(
            {"integers": "lattice", "dimension": 2, "moves": "any", "reach": 1, "lower": 0, "upper": None}
        )


@pytest.mark.parametrize("space", [Line(None, None, 3), Lattice(2, "exchange", 1), Line(0, 9, 1)])
def test_spaces_without_ends_round_trip(space):
    assert unlisted_from_json(json.loads(json.dumps(unlisted_to_json(space)))) == space


def test_unbounded_lines_list_nothing_and_clamp_nothing():
    line = Line(None, None, 1)
    assert line.clamp(10**30) == 10**30
    assert Lattice(2, "any", 1).clamp([-5, 10**30]) == (-5, 10**30)
    for listed in (lambda: line.points, line.space):
        with pytest.raises(InvalidInput, match="unbounded"):
            listed()


@pytest.mark.parametrize(
    "text",
    [
        "rows",
        "rows, at most 20",
        "people by 'who', 3 rows each, chosen before any condition",
        "people by 'who', 1 row each, chosen for each question, at most 9",
    ],
)
def test_units_are_written_and_read(text):
    assert str(as_unit(text)) == text


@pytest.mark.parametrize("text", ["people by 'who', 3 rows each", "people by 'who', 1 row each, at most 9"])
def test_units_without_a_word_on_truncation(text):
    """Written by people they mean the default; in reports and ledgers of version 0.2, what that version did."""
    assert as_unit(text).truncate == "table"
    assert as_unit(text, "question").truncate == "question"
    with pytest.raises(InvalidInput, match="write it as sessions do"):
        as_unit(text.replace("row", "line"))


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_need_no_at_most(name, neighbours):
    """Answered, proved, and read again from their own JSON; the interval is said to hold for every table."""
    answer = NUMBERS[name](session(um.rows(), neighbours))
    assert answer.verify()
    after = answer.accuracy["after"]
    assert (after["condition"], after["near_limit"]) == ("", False)
    assert "if the table has at most" not in str(answer)


def test_left_out_and_people_without_at_most():
    s = session(um.people("who", rows_each=2))
    answer = s.left_out(None, 20)
    assert abs(answer.value - ROWS // 3) < 5
    assert abs(s.count(None, 20).value - 2 * ROWS // 3) < 5
    assert answer.verify()


def test_counts_are_unbiased_and_their_intervals_hold():
    """Of an empty set and a full one: errors have mean 0, intervals are cut at 0 and hold the truth in 95 %."""
    s = session(um.rows(), budget=1000)
    for where, truth in (("age > 200", 0), (None, ROWS)):
        answers = [s.count(where, 0.5, fresh=True) for _ in range(200)]
        errors = [answer.value - truth for answer in answers]
        assert abs(sum(errors) / len(errors)) < 5 * 2.8 / math.sqrt(len(errors))
        assert min(errors) < 0 < max(errors)
        held = sum(answer.interval[0] <= truth <= answer.interval[1] for answer in answers)
        assert held >= 0.95 * len(answers) - 4 * math.sqrt(len(answers) * 0.05 * 0.95)
        assert all(answer.interval[0] >= 0 for answer in answers)


def test_a_table_larger_than_at_most_is_not_hidden():
    """The issue's example: 999 of 3000 rows was printed as certain, whatever the table holds."""
    answer = session(um.rows(at_most=1000)).count(None, 1)
    assert answer.value <= 1000
    after = answer.accuracy["after"]
    assert after["condition"] == "if the table has at most 1,000 rows"
    assert after["near_limit"]
    text = str(answer)
    assert "if the table has at most 1,000 rows" in text
    assert "may have more rows" in text
    assert "whatever the table holds" not in text


@pytest.mark.parametrize("name", ["count", "sum", "mean", "histogram", "count by", "cdf", "ranges", "found"])
def test_far_from_the_limit_nothing_is_noted(name):
    answer = NUMBERS[name](session(um.rows(at_most=100_000)))
    after = answer.accuracy["after"]
    assert not after["near_limit"]
    assert after["condition"] == "if the table has at most 100,000 rows"
    assert "if the table has at most 100,000 rows" in str(answer)


@pytest.mark.parametrize("name", ["count by", "histogram", "cdf", "ranges", "found"])
def test_near_the_limit_it_is_noted(name):
    assert NUMBERS[name](session(um.rows(at_most=500))).after.near_limit


def test_people_are_named_in_the_condition():
    answer = session(um.people("who", rows_each=1, at_most=5000)).count(None, 1)
    assert answer.after.condition == "if the table has at most 5,000 people"


@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.majority("age >= 65", 1),
        lambda s: s.threshold("age >= 65", 100, 1),
        lambda s: s.plurality("town", ["Ash", "Briar"], 1),
        lambda s: s.top("town", ["Ash", "Briar", "Cole"], 2, 1),
        lambda s: s.majority("age >= 65", 1, by=TOWNS),
        lambda s: s.count(None, 1, prior=[0.5, 0.5]),
    ],
)
def test_what_needs_a_range_asks_for_it(ask):
    """The error names the remedy, and nothing is spent."""
    s = session(um.rows())
    before = str(s.left)
    with pytest.raises(InvalidInput, match="at_most"):
        ask(s)
    assert str(s.left) == before


def test_tiers_need_at_most():
    with pytest.raises(InvalidInput, match="at_most"):
        um.rows(tiers={"town = 'Ash'": (0.1, 20)})


@pytest.mark.parametrize("by", [None, TOWNS], ids=["all", "by keys"])
def test_noise_beyond_64_bits_leaves_a_number_of_rows(by):
    """The noise on the two sums of a mean may say that there are more rows than any table has."""
    s = session(um.people("who", rows_each=10**12, at_most=10**6))
    answer = s.mean("age", -3, 2**40, um.PureDP("0.000001"), grid=1, by=by)
    limits = [answer.after.rows_between] if by is None else [group[1:3] for group in answer.after.groups.values()]
    assert all(0 <= low <= high <= 2**63 - 1 for low, high in limits)
    assert json.loads(answer.to_json())["value"] is not None
