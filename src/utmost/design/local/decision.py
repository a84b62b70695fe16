"""Deciding between two hypotheses from private answers, and how often that is wrong."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from utmost.design.local.alphabet import distributions
from utmost.design.local.columns import as_list
from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats

MOST_COUNTS = 2 * 10**5


@dataclass(frozen=True)
class Decision:
    """A decision between two hypotheses.

    Attributes
    ----------
    answer : 0 or 1, the hypothesis with the larger posterior probability
    log_ratio : log of how many times likelier the answers are under hypothesis 1
    false_alarm : the probability of answer 1 when hypothesis 0 is true, by this rule and number of people
    missed : the probability of answer 0 when hypothesis 1 is true
    exact : whether these are exact up to floating point; else they are Chernoff's upper bounds
    """

    answer: Literal[0, 1]
    log_ratio: float
    false_alarm: float
    missed: float
    exact: bool


def decide(mechanism: Any, answers: Any, p0: ArrayLike, p1: ArrayLike, prior: float = 0.5) -> Decision:
    """Which hypothesis the answers of a mechanism (or Solution) on the letters speak for.

    The likelihood ratio of the answers against the odds of the prior (the probability of p0 beforehand): no rule errs
    less often on average (Neyman and Pearson). Error probabilities belong to the rule, not to these answers.

    Examples
    --------
    >>> import utmost as um
    >>> p0, p1 = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> best = um.local.for_testing(p0, p1, 1.0)
    >>> found = um.local.decide(best, [0] * 60 + [1] * 40, p0, p1)  # output 0 favours letters with a small P0/P1
    >>> found.answer, round(found.false_alarm, 4), round(found.missed, 4), found.exact
    (1, 0.0666, 0.0937, True)
    """
    table = getattr(mechanism, "mechanism", mechanism)
    first, second = distributions(p0, p1)
    if len(table.points) != len(first):
        raise InvalidInput(f"the mechanism has {len(table.points)} letters, the distributions {len(first)}.")
    position = {output: i for i, output in enumerate(table.outputs)}
    counts = np.zeros(len(position), dtype=np.int64)
    for number, answer in enumerate(as_list(answers), 1):
        if not isinstance(answer, Hashable) or answer not in position:
            raise InvalidInput(f"answer number {number}, counted from 1, is not an output of the mechanism; drop it.")
        counts[position[answer]] += 1
    return decide_counts(counts, first @ table.matrix, second @ table.matrix, prior)


def decide_counts(counts: NDArray[np.int64], m0: Floats, m1: Floats, prior: float) -> Decision:
    """The decision from how often each output came, whose laws are m0 and m1 under the hypotheses."""
    if not 0 < prior < 1:
        raise InvalidInput(f"prior is {prior!r}; give the probability of hypothesis 0, between 0 and 1.")
    odds = math.log(prior / (1 - prior))
    with np.errstate(divide="ignore"):
        logs = np.array([np.log(m0), np.log(m1)])
    n, seen = int(counts.sum()), counts > 0
    never = [bool((law[seen] == 0).any()) for law in (m0, m1)]
    if all(never):
        raise InvalidInput("these answers are impossible under both hypotheses; check the answers, p0 and p1.")
    ratio = math.inf if never[0] else -math.inf
    if not any(never):
        ratio = float((counts[seen] * (logs[1] - logs[0])[seen]).sum())
    if len(counts) < 2 or math.comb(n + len(counts) - 1, len(counts) - 1) <= MOST_COUNTS:
        errors, exact = _enumerate(n, logs, odds), True
    else:
        errors, exact = _chernoff(n, m0, m1, odds), False
    return Decision(1 if ratio > odds else 0, ratio, *errors, exact)


def _enumerate(n: int, logs: Floats, odds: float) -> tuple[float, float]:
    """Both error probabilities by going through all counts of outputs."""
    from scipy.special import gammaln

    table = np.array(list(_compositions(n, logs.shape[1])), dtype=float).reshape(-1, logs.shape[1])
    ways = gammaln(n + 1) - gammaln(table + 1).sum(axis=1)
    weighted = [np.where(table > 0, table * np.where(np.isfinite(row), row, -1e300), 0.0).sum(axis=1) for row in logs]
    says_one = weighted[1] - weighted[0] > odds
    chances = [np.exp(np.maximum(ways + w, -1e4)) for w in weighted]
    return float(chances[0][says_one].sum()), float(chances[1][~says_one].sum())


def _compositions(n: int, parts: int) -> Any:
    if parts == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in _compositions(n - first, parts - 1):
            yield (first, *rest)


def _chernoff(n: int, m0: Floats, m1: Floats, odds: float) -> tuple[float, float]:
    """Upper bounds of both error probabilities: the least e^(-s odds) E0[(M1/M0)^s]^n over s, and the other way."""
    s = np.linspace(0, 1, 1001)[:, None]
    both = (m0 > 0) & (m1 > 0)
    with np.errstate(divide="ignore"):  # answers that no hypothesis shares with the other leave no error
        sums = n * np.log((m0[both] ** (1 - s) * m1[both] ** s).sum(axis=1))
    alarm, missed = sums - s[:, 0] * odds, sums + (1 - s[:, 0]) * odds
    return float(min(1.0, np.exp(alarm.min()))), float(min(1.0, np.exp(missed.min())))
