"""Auditing: an empirical lower bound on epsilon from many draws on two neighbouring tables.

`audit` draws the answer many times from each of two tables that differ in one row or person, chooses the event whose
probabilities differ most on the first half of the draws, and estimates them on the second half, so that the choice does
not bias the estimate. The bound holds with the stated confidence (Clopper and Pearson, for each of the two
probabilities). If the level, of whichever kind, does not allow these two probabilities, the promise is broken;
otherwise nothing is proved. The mechanism may be ours or any other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from utmost.errors import InvalidInput, shown
from utmost.privacy import ZCDP, Level, as_level
from utmost.queries.answers import Answer
from utmost.queries.distinctions import CONFIDENCE, best_event, least, upmost
from utmost.queries.outsiders import drawn_from, is_command, plain, promised_by

ROUNDING = 1e-12
MOST_RUNS = 10**7


@dataclass(frozen=True)
class Audit:
    """The result of an audit.

    Attributes
    ----------
    epsilon_at_least : float
        The empirical lower bound on epsilon, at the delta of the level.
    promised : str
        The level, as text.
    event : str
        The event that distinguished the tables best.
    runs : int
        How many answers were drawn from each table.
    broken : bool
        Whether the level forbids the observed probabilities.
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


def audit(
    question: Callable[[Any], Any] | Sequence[str], table_a: Any, table_b: Any, runs: int = 2000, privacy: Any = None
) -> Audit:
    """An empirical lower bound on epsilon, from asking one question about two neighbouring tables many times.

    Parameters
    ----------
    question : callable, list of str or mechanism
        A function that opens a session on a table and returns the answer of one question is called once per table; its
        session should keep its account in memory (ledger=None), and further releases are drawn from the answer's own
        question, outside any account. Any other function is a mechanism of your own: it is called `runs` times per
        table and returns a number, a text, or a list of them. A command, a list such as ["./noisy", "--eps=1"], gets
        the table on standard input (as JSON, a text as it is) and prints an answer a line; it is run until there are
        enough.
    table_a, table_b : table or any
        Two tables, or values, that differ in one row or person.
    runs : int
        How many answers to draw from each, from 100 to ten million.
    privacy : level or number, optional
        What a mechanism of your own promises. Left out for OpenDP, whose privacy map at distance 1 gives it, for
        diffprivlib, and for answers of a session, which have a level.

    Examples
    --------
    >>> import pyarrow, utmost as um
    >>> def asked(table):
    ...     s = um.Session(table, "audit", um.rows(at_most=9), "add-remove", budget=1)
    ...     return s.count("age >= 65", privacy=1)
    >>> found = um.audit(asked, pyarrow.table({"age": [70, 71]}), pyarrow.table({"age": [70]}), runs=400)
    >>> found.broken
    False

    A mechanism that somebody wrote, which adds noise for a range of half the size that values have:

    >>> import random
    >>> def noisy(values):
    ...     return sum(values) + random.expovariate(1 / 50) - random.expovariate(1 / 50)
    >>> um.audit(noisy, [10, 100], [10, 0], runs=4000, privacy=1).broken
    True
    """
    if not callable(question) and not is_command(question) and not hasattr(question, "randomise"):
        raise InvalidInput(
            f"the question is {shown(question)}; give a function of a table that asks, such as lambda table: "
            "um.Session(table, ...).count(...), a mechanism of OpenDP or diffprivlib, or a command as a list of words."
        )
    if isinstance(runs, bool) or not isinstance(runs, int) or not 100 <= runs <= MOST_RUNS:
        raise InvalidInput(
            f"runs is {shown(runs)}; give 100 to {MOST_RUNS}: fewer releases tell nothing, more do not end."
        )
    stated = promised_by(question) if privacy is None else as_level(privacy)
    samples = [_drawn(question, table, runs, stated) for table in (table_a, table_b)]
    (first, level), (second, other) = samples
    if level != other:
        raise InvalidInput(
            f"the question was asked at {level} of one table and at {other} of the other; ask both at one level."
        )
    return _judged(first, second, level, runs)


def _drawn(question: Any, table: Any, runs: int, stated: Level | None) -> tuple[list[Any], Level]:
    """Draw answers about one table; return them with the promised level."""
    if is_command(question) or hasattr(question, "randomise") or hasattr(question, "output_measure"):
        level = _required(stated, "answers of a mechanism that is not ours")
        return drawn_from(question, table, runs), level
    answer = question(table)
    if not isinstance(answer, Answer) or answer.source is None:
        kind = type(answer).__name__  # not the value, which may be private
        level = _required(stated, f"a value of type {kind}, which is no answer of a session")
        return drawn_from(question, table, runs, answer), level
    if stated is not None and stated != answer.privacy:
        raise InvalidInput(f"the answer spends {answer.privacy}, and not {stated}; leave `privacy` out.")
    query, source = answer.question, answer.source
    point = query.point(source.execute(query.statement(source, b"audit" * 8)))
    draws = [tuple(map(plain, query.draw(point).values())) for _ in range(runs)]
    return [draw[0] if len(draw) == 1 else draw for draw in draws], answer.privacy


def _required(stated: Level | None, of: str) -> Level:
    """The promised level; raises `InvalidInput` if none was given."""
    if stated is None:
        raise InvalidInput(
            f"the question gives {of}: say what is promised, such as privacy=1, or return s.count(...) or the like."
        )
    return stated


def _judged(first: list[Any], second: list[Any], level: Level, runs: int) -> Audit:
    """Choose the event on the first half of the draws, and compute its bound on the second half."""
    half = runs // 2
    delta = float(level.delta)
    event, swapped = best_event(first[:half], second[:half], delta)
    counts = [sum(answer in event for answer in draws[half:]) for draws in (first, second)]
    here, there = counts[::-1] if swapped else counts
    low, high = float(least(here, runs - half)), float(upmost(there, runs - half))
    epsilon = max(0.0, math.log((low - delta) / high)) if low > delta else 0.0
    return Audit(epsilon, str(level), str(event), runs, _forbids(level, low, high))


def _forbids(level: Level, low: float, high: float) -> bool:
    """Whether a level rules out an event with probability at least `low` here and at most `high` at a neighbour."""
    if not isinstance(level, ZCDP):
        return low > float(level.upper(high)) + ROUNDING
    if low <= high:
        return False
    # The divergence of the event is at most that of the answers, which is at most rho times the order, for every order.
    orders = 1 + np.geomspace(1e-3, 1e3, 400)
    with np.errstate(divide="ignore"):
        logs = np.log(np.array([low, high, 1 - low, 1 - high]))
    terms = orders * logs[0] + (1 - orders) * logs[1], orders * logs[2] + (1 - orders) * logs[3]
    divergences = np.logaddexp(*terms) / (orders - 1)
    return bool((divergences > float(level.rho) * orders + ROUNDING).any())
