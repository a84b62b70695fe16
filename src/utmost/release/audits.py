"""Trying to break our own promise: how different two neighbouring tables look to somebody who asks many times.

`audit` releases the answer to one question many times from each of two tables that differ in one row or person, looks
for the event whose probabilities differ most, on the first half of the draws, and estimates it on the second half: an
event chosen on other draws is not chosen to please. The bound it states holds with the stated confidence (Clopper and
Pearson, for each of the two probabilities). Where the level does not allow the one probability beside the other,
whichever kind of level it is, the promise is broken; where it does, nothing is proved.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from utmost.errors import InvalidInput, shown
from utmost.privacy import Level

CONFIDENCE, ROUNDING = 0.999, 1e-12
MOST_RUNS = 10**7


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Attributes
    ----------
    epsilon_at_least : the empirical lower bound, at the delta of the level
    promised : the level, as text
    event : the answers that told the tables apart best
    runs : how often each table was asked
    broken : whether the level forbids what was seen
    """

    epsilon_at_least: float
    promised: str
    event: str
    runs: int
    broken: bool

    def __str__(self) -> str:
        verdict = "BROKEN" if self.broken else "not contradicted"
        return (
            f"epsilon is at least {self.epsilon_at_least:.4g} ({CONFIDENCE:.1%} confidence, {self.runs} runs of "
            f"each table); promised: {self.promised}; {verdict}. Best event: {self.event}."
        )


def audit(question: Callable[[Any], Any], table_a: Any, table_b: Any, runs: int = 2000) -> Audit:
    """An empirical lower bound of epsilon, from releasing one question about two neighbouring tables many times.

    Parameters
    ----------
    question : a function of a table that opens a session on it and asks one question, and returns the answer
        It is called once per table; its session should keep its account in memory (ledger=None). Further releases are
        drawn from the answer's own question, outside any account.
    table_a, table_b : two tables that differ in one row or person
    runs : how many releases of each, from 100 to ten million

    Examples
    --------
    >>> import pyarrow, utmost as um
    >>> def asked(table):
    ...     s = um.Session(table, "audit", um.rows(at_most=9), "add-remove", budget=1)
    ...     return s.count("age >= 65", privacy=1)
    >>> found = um.audit(asked, pyarrow.table({"age": [70, 71]}), pyarrow.table({"age": [70]}), runs=400)
    >>> found.broken
    False
    """
    if not callable(question):
        raise InvalidInput(
            f"the question is {shown(question)}; give a function of a table that asks, such as lambda table: "
            "um.Session(table, ...).count(...)."
        )
    if isinstance(runs, bool) or not isinstance(runs, int) or not 100 <= runs <= MOST_RUNS:
        raise InvalidInput(
            f"runs is {shown(runs)}; give 100 to {MOST_RUNS}: fewer releases tell nothing, more do not end."
        )
    drawn: list[list[tuple[Any, ...]]] = []
    level: Level | None = None
    for table in (table_a, table_b):
        answer = question(table)
        if getattr(answer, "source", None) is None:
            kind = type(answer).__name__  # not the value: it may be private
            raise InvalidInput(
                f"the question returned a value of type {kind}, not an answer of a session; return s.count(...) or the "
                "like."
            )
        if level is not None and answer.privacy != level:
            raise InvalidInput(
                f"the question was asked at {level} of one table and at {answer.privacy} of the other; ask "
                "both at one level."
            )
        level = answer.privacy
        drawn.append(_draw(answer, runs))
    half = runs // 2
    first = [Counter(draws[:half]) for draws in drawn]
    assert level is not None
    delta = float(getattr(level, "delta", 0))
    event, swapped = _best_event(first[0], first[1], delta)
    counts = [sum(value in event for value in draws[half:]) for draws in drawn]
    here, there = counts[::-1] if swapped else counts
    low, high = _least(here, runs - half), _most(there, runs - half)
    found = max(0.0, math.log((low - delta) / high)) if low > delta else 0.0
    broken = low > float(level.upper(high)) + ROUNDING
    return Audit(found, str(level), _shown(event), runs, broken)


def _draw(answer: Any, runs: int) -> list[tuple[Any, ...]]:
    """Releases from one table: read once, drawn many times."""
    asked, source = answer.question, answer.source
    point = asked.point(source.found(asked.statement(source, b"audit" * 8)))
    return [tuple(map(_hashable, asked.draw(point).values())) for _ in range(runs)]


def _hashable(released: Any) -> Any:
    """What was released, lists as tuples."""
    return tuple(map(_hashable, released)) if isinstance(released, list) else released


def _best_event(first: Counter[Any], second: Counter[Any], delta: float) -> tuple[set[Any], bool]:
    """The answers on one side of a cut, or one answer, whose counts differ most; whether the second table has more."""
    values = sorted(set(first) | set(second))
    events = [{value} for value in values] + [set(values[:k]) for k in range(1, len(values))]
    events += [set(values[k:]) for k in range(1, len(values))]
    best, most, swapped = {values[0]}, -math.inf, False
    size = max(sum(first.values()), 1)
    for event in events:
        a, b = sum(first[v] for v in event), sum(second[v] for v in event)
        for here, there, turned in ((a, b, False), (b, a, True)):
            low, high = _least(here, size), _most(there, size)
            score = math.log((low - delta) / high) if low > delta else -math.inf
            if score > most:
                best, most, swapped = event, score, turned
    return best, swapped


def _least(successes: int, trials: int) -> float:
    from scipy.stats import beta

    alpha = (1 - CONFIDENCE) / 2
    return float(beta.ppf(alpha, successes, trials - successes + 1)) if successes else 0.0


def _most(successes: int, trials: int) -> float:
    from scipy.stats import beta

    alpha = (1 - CONFIDENCE) / 2
    return float(beta.ppf(1 - alpha, successes + 1, trials - successes)) if successes < trials else 1.0


def _shown(event: set[Any]) -> str:
    listed = sorted(event)
    names = [", ".join(map(str, value)) for value in (listed if len(listed) <= 3 else (listed[0], listed[-1]))]
    return " or ".join(names) if len(listed) <= 3 else f"{names[0]} to {names[1]}"
