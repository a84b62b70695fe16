"""A table like real ones, and what numpy says of it: the truth that answers are compared with.

Floats, skew, nulls, NaN and infinities; people with 1 to 500 rows; groups of 5 to 12,000 rows (more with a scale).
Which rows of a person are used is asked of the engine, through a count by the number of the row.
"""

from dataclasses import dataclass
from functools import cache
from time import process_time

import numpy as np
import pyarrow
from oracles.questions import QueryMaker, Setting

import utmost as um
from utmost.backends import opening

SECRET = b"t" * 32
SIZES = {"tiny": 5, "small": 60, "middle": 800, "large": 12_000}
REGIONS = {"tiny": "few", "small": "few", "middle": "many", "large": "many"}
MOST_SECONDS, FEWEST = 6, 60
"""How long one case is drawn from, unless fewer draws than these were made."""
GROUPS = um.keys(group=list(SIZES))


@dataclass(frozen=True)
class Rows:
    """Columns of a table as numpy arrays; null is NaN in numbers."""

    columns: dict

    def __getitem__(self, name):
        return self.columns[name]

    def __len__(self):
        return len(self["row"])

    def where(self, mask):
        return Rows({name: column[mask] for name, column in self.columns.items()})

    def group(self, name):
        return self.where(self["group"] == name)

    def clamped(self, name, lower, upper):
        """The values of a column that are numbers, clamped."""
        column = self[name]
        return np.clip(column[np.isfinite(column)], lower, upper)


@cache
def rows(scale=1):
    """The table; its groups have `scale` times as many rows as `SIZES` says."""
    rng = np.random.default_rng(20261118)
    group = np.repeat(list(SIZES), [int(scale * size) for size in SIZES.values()])
    n = len(group)
    order = rng.permutation(n)
    visits = np.minimum(rng.zipf(1.6, size=n), 500)
    person = np.repeat(np.arange(n), visits)[:n][order]
    few = group == "tiny"
    person[few] = n + np.arange(few.sum())  # everybody else may have up to 500 rows
    share = rng.beta(1, 3, n)
    delay = np.round(rng.lognormal(3, 1.2, n) - 25, 1)
    delay[rng.random(n) < 0.01] = np.nan
    delay[rng.random(n) < 0.001] = np.inf
    amount = np.where(rng.random(n) < 0.3, 0.0, rng.pareto(1.5, n) * 10)
    stops = rng.integers(0, 4, n)
    return Rows(
        {
            "row": np.arange(n),
            "person": person,
            "group": group,
            "region": np.array([REGIONS[name] for name in group]),
            "share": share,
            "delay": delay,
            "amount": amount,
            "stops": stops,
            "late": np.nan_to_num(delay, nan=0.0) > 15,
            "even": rng.random(n),
            "odd": rng.random(n),
        }
    )


def table_of(made):
    """Rows as an Arrow table."""
    return pyarrow.table({name: pyarrow.array(column) for name, column in made.columns.items()})


@cache
def opened(scale=1):
    return opening.open_table(table_of(rows(scale)))


def asking(unit, scale=1, neighbours="add-remove"):
    """What questions about the table are asked of."""
    return QueryMaker(Setting(opened(scale), unit, neighbours))


@cache
def used_rows(unit, scale=1, where=None):
    """The rows with a condition that answers about a truncated table are about."""
    every = rows(scale)
    if unit.id is None and where is None:
        return every
    counts = asking(unit, scale).count(where, 1, by=um.keys(row=every["row"].tolist())).private_point(SECRET)
    assert set(np.unique(counts)) <= {0, 1}
    return every.where(np.asarray(counts, dtype=bool))


def inverted_cdf(values, q):
    """The lowest value with a share q of all values at or below it."""
    return float(np.quantile(values, q, method="inverted_cdf"))


def check_intervals(made, truth, draws, least, may_reach=False):
    """Of the draws that state an interval, at least `least(times)` intervals hold the truth, number by number.

    With `may_reach` an answer that says the table may have more rows than was stated is none that must hold.
    """
    question, point = made.question, made.private_point(SECRET)
    truths = truth if isinstance(truth, dict) else {None: truth}
    stated, held, seconds = dict.fromkeys(truths, 0), dict.fromkeys(truths, 0), process_time() + MOST_SECONDS
    for draw in range(draws):
        if draw >= FEWEST and process_time() > seconds:
            break
        after = question.after_with_condition(question.draw(point))
        intervals = after.intervals
        if None in truths:
            assert len(intervals) == 1
            intervals = {None: next(iter(intervals.values()))}
        for name, (low, high) in intervals.items():
            stated[name] += 1
            held[name] += low <= truths[name] <= high or (may_reach and after.near_limit)
    assert sum(stated.values()) >= min(draws, FEWEST)
    for name, times in stated.items():
        assert held[name] >= least(times), (name, held[name], times)
