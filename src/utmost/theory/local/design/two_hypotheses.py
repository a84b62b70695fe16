"""Tests of two hypotheses from private answers, and their error probabilities."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput
from utmost.exact import as_whole
from utmost.exact.arrays import Floats
from utmost.mechanism.sampling import uniform_integer
from utmost.solution import mechanism_of
from utmost.theory.local.design.alphabet import distributions
from utmost.theory.local.design.category_columns import as_list

MOST_COUNTS = 2 * 10**5


@dataclass(frozen=True)
class Decision:
    """A decision between two hypotheses.

    Attributes
    ----------
    answer : 0 or 1
        The hypothesis with the larger posterior probability.
    log_ratio : float
        The log-likelihood ratio of the answers, hypothesis 1 over hypothesis 0.
    false_alarm : float
        The probability of answer 1 when hypothesis 0 is true, by this rule and number of people.
    missed : float
        The probability of answer 0 when hypothesis 1 is true.
    exact : bool
        Whether these are exact up to floating point; otherwise they are Chernoff's upper bounds.
    """

    answer: Literal[0, 1]
    log_ratio: float
    false_alarm: float
    missed: float
    exact: bool


def decide(mechanism: Any, answers: Any, p0: ArrayLike, p1: ArrayLike, prior: float = 0.5) -> Decision:
    """Decide between two hypotheses from the answers of a mechanism (or Solution) on the letters.

    Compares the likelihood ratio with the prior odds (`prior` is the prior probability of p0): no rule has a smaller
    average error probability. Error probabilities belong to the rule, not to these answers.

    Examples
    --------
    >>> import utmost as um
    >>> p0, p1 = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> best = um.local.for_testing(p0, p1, 1.0)
    >>> decision = um.local.decide(best, [0] * 60 + [1] * 40, p0, p1)  # output 0 favours letters with a small P0/P1
    >>> decision.answer, round(decision.false_alarm, 4), round(decision.missed, 4), decision.exact
    (1, 0.0666, 0.0937, True)
    """
    outputs, m0, m1 = _laws(mechanism, p0, p1)
    return decide_counts(_count(answers, outputs), m0, m1, prior)


def _laws(mechanism: Any, p0: ArrayLike, p1: ArrayLike) -> tuple[tuple[Any, ...], Floats, Floats]:
    """The outputs of a mechanism (or Solution) on the letters, and their laws under both hypotheses."""
    table = mechanism_of(mechanism)
    first, second = distributions(p0, p1)
    if len(table.points) != len(first):
        raise InvalidInput(f"the mechanism has {len(table.points)} letters, the distributions {len(first)}.")
    return tuple(table.outputs), first @ table.matrix, second @ table.matrix


def _count(answers: Any, outputs: tuple[Any, ...]) -> NDArray[np.int64]:
    """How often each output occurred."""
    position = {output: i for i, output in enumerate(outputs)}
    counts = np.zeros(len(position), dtype=np.int64)
    for number, answer in enumerate(as_list(answers), 1):
        if not isinstance(answer, Hashable) or answer not in position:
            raise InvalidInput(f"answer number {number}, counted from 1, is not an output of the mechanism; drop it.")
        counts[position[answer]] += 1
    return counts


def decide_counts(counts: NDArray[np.int64], m0: Floats, m1: Floats, prior: float) -> Decision:
    """The decision from how often each output occurred; the outputs have laws m0 and m1 under the hypotheses."""
    if not 0 < prior < 1:
        raise InvalidInput(f"prior is {prior!r}; give the probability of hypothesis 0, between 0 and 1.")
    odds = math.log(prior / (1 - prior))
    with np.errstate(divide="ignore"):
        logs = np.array([np.log(m0), np.log(m1)])
    n, occurring = int(counts.sum()), counts > 0
    impossible = [bool((law[occurring] == 0).any()) for law in (m0, m1)]
    if all(impossible):
        raise InvalidInput("these answers are impossible under both hypotheses; check the answers, p0 and p1.")
    ratio = math.inf if impossible[0] else -math.inf
    if not any(impossible):
        ratio = float((counts[occurring] * (logs[1] - logs[0])[occurring]).sum())
    if _few(n, len(counts)):
        errors, exact = _enumerate(n, logs, odds), True
    else:
        errors, exact = _chernoff(n, m0, m1, odds), False
    return Decision(1 if ratio > odds else 0, ratio, *errors, exact)


def _enumerate(n: int, logs: Floats, odds: float) -> tuple[float, float]:
    """Both error probabilities, by enumerating all counts of outputs."""
    ratios, chances = _outcomes(n, logs)
    says_one = ratios > odds
    return float(chances[0][says_one].sum()), float(chances[1][~says_one].sum())


def _outcomes(n: int, logs: Floats) -> tuple[Floats, Floats]:
    """For all counts of outputs: the log of the likelihood ratio, and their probabilities under both hypotheses."""
    from scipy.special import gammaln

    parts = logs.shape[1]
    if parts == 2:
        table = np.column_stack([np.arange(n + 1.0), np.arange(n, -1.0, -1.0)])
    else:
        table = np.array(list(_compositions(n, parts)), dtype=float).reshape(-1, parts)
    ways = gammaln(n + 1) - gammaln(table + 1).sum(axis=1)
    weighted = [np.where(table > 0, table * np.where(np.isfinite(row), row, -1e300), 0.0).sum(axis=1) for row in logs]
    return weighted[1] - weighted[0], np.array([np.exp(np.maximum(ways + w, -1e4)) for w in weighted])


def _compositions(n: int, parts: int) -> Any:
    """All ways to write n as an ordered sum of `parts` integers, 0 or more."""
    if parts == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in _compositions(n - first, parts - 1):
            yield (first, *rest)


def _chernoff(n: int, m0: Floats, m1: Floats, odds: float) -> tuple[float, float]:
    """Chernoff's bounds of both error probabilities: the least e^(-s odds) E0[(M1/M0)^s]^n over s, and likewise."""
    s = np.linspace(0, 1, 1001)[:, None]
    support = (m0 > 0) & (m1 > 0)
    with np.errstate(divide="ignore"):  # answers that are possible under one hypothesis only cause no error
        sums = n * np.log((m0[support] ** (1 - s) * m1[support] ** s).sum(axis=1))
    alarm, missed = sums - s[:, 0] * odds, sums + (1 - s[:, 0]) * odds
    return float(min(1.0, np.exp(alarm.min()))), float(min(1.0, np.exp(missed.min())))


# ---- at a given false-alarm rate ----

ALIKE = 9
"""Log-ratios that agree to this many decimals count as equal."""


@dataclass(frozen=True, eq=False)
class NeymanPearson:
    """The most powerful test of two hypotheses at a given false-alarm rate. Made by `neyman_pearson`.

    Attributes
    ----------
    people : int
        The number of answers.
    threshold : float
        Answer 1 where the log-likelihood ratio is above it.
    at_threshold : float
        The probability of answer 1 where the ratio equals it.
    false_alarm : float
        The probability of answer 1 when hypothesis 0 is true.
    missed : float
        The probability of answer 0 when hypothesis 1 is true.
    exact : bool
        Whether these are exact up to floating point; otherwise they are Chernoff's upper bounds.
    """

    people: int
    threshold: float
    at_threshold: float
    false_alarm: float
    missed: float
    exact: bool
    outputs: tuple[Any, ...] = field(repr=False)
    logs: Floats = field(repr=False)

    def decide(self, answers: Any) -> Literal[0, 1]:
        """The decision from `people` answers; randomised at the threshold."""
        counts = _count(answers, self.outputs)
        if counts.sum() != self.people:
            raise InvalidInput(f"there are {counts.sum()} answers; this test is for {self.people}. Make one for these.")
        occurring = counts > 0
        with np.errstate(invalid="ignore"):
            ratio = round(float((counts[occurring] * (self.logs[1] - self.logs[0])[occurring]).sum()), ALIKE)
        if math.isnan(ratio):
            raise InvalidInput("these answers are impossible under both hypotheses; check the answers, p0 and p1.")
        coin = uniform_integer(53) / 2**53
        return 1 if ratio > self.threshold or (ratio == self.threshold and coin < self.at_threshold) else 0


def neyman_pearson(
    mechanism: Any, p0: ArrayLike, p1: ArrayLike, people: int, false_alarm: float = 0.05
) -> NeymanPearson:
    """The most powerful test of p0 against p1 from private answers with this false-alarm rate.

    Neyman and Pearson (1933): answer 1 where the likelihood ratio is large, and toss a coin at one value of it, so that
    the rate is met exactly. Design the mechanism for the question with `for_testing`.

    Parameters
    ----------
    mechanism : FiniteMechanism or Solution
        The local mechanism that every person's letter goes through.
    p0, p1 : array of float
        The distribution of a person's letter under hypothesis 0 and under hypothesis 1.
    people : int
        How many people answer.
    false_alarm : number
        The probability of answer 1 when hypothesis 0 is true.

    Examples
    --------
    >>> import utmost as um
    >>> p0, p1 = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> test = um.local.neyman_pearson(um.local.for_testing(p0, p1, 1.0), p0, p1, 200, 0.05)
    >>> round(test.false_alarm, 12), round(test.missed, 6), test.exact
    (0.05, 0.009652, True)
    """
    outputs, m0, m1 = _laws(mechanism, p0, p1)
    rate, n = _rate(false_alarm, "false_alarm"), as_whole(people, "people", 1)
    with np.errstate(divide="ignore"):
        logs = np.array([np.log(m0), np.log(m1)])
    if not _few(n, len(m0)):
        threshold, missed = _bounded_test(n, m0, m1, rate)
        return NeymanPearson(n, round(threshold, ALIKE), 0.0, rate, missed, False, outputs, logs)
    ratios, chances = _outcomes(n, logs)
    values, group = np.unique(-np.round(ratios, ALIKE), return_inverse=True)  # from the largest ratio on
    alarm, hits = (np.bincount(group, chance, minlength=len(values)) for chance in chances)
    alarm_before = np.concatenate([[0.0], np.cumsum(alarm)[:-1]])
    at = int(np.searchsorted(np.cumsum(alarm), rate, side="left"))
    at = min(at, len(values) - 1)
    coin = min(1.0, float((rate - alarm_before[at]) / alarm[at])) if alarm[at] > 0 else 1.0
    power = float(hits[:at].sum() + coin * hits[at])
    return NeymanPearson(n, -float(values[at]), coin, rate, max(0.0, 1 - power), True, outputs, logs)


def people_needed(mechanism: Any, p0: ArrayLike, p1: ArrayLike, false_alarm: float = 0.05, missed: float = 0.05) -> int:
    """The least number of people whose private answers test p0 against p1 with these two error probabilities.

    More answers never hurt the best test, so the number is found by bisection. Beyond some hundreds of people and two
    outputs it is sufficient by Chernoff's bound, and may be more than the least.

    Parameters
    ----------
    mechanism : FiniteMechanism or Solution
        The local mechanism that every person's letter goes through.
    p0, p1 : array of float
        The distribution of a person's letter under the two hypotheses.
    false_alarm, missed : float
        How often hypothesis 0 may be rejected though true, and hypothesis 1 missed though true.

    Examples
    --------
    >>> import utmost as um
    >>> p0, p1 = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> um.local.people_needed(um.local.for_testing(p0, p1, 1.0), p0, p1, 0.05, 0.1)
    108
    """
    _, m0, m1 = _laws(mechanism, p0, p1)
    rate = _rate(missed, "missed")
    if np.abs(m0 - m1).max() < 1e-15:
        raise InvalidInput("answers have the same law under both hypotheses: no number of people tells them apart.")

    def enough(n: int) -> bool:
        return neyman_pearson(mechanism, p0, p1, n, false_alarm).missed <= rate

    low, high = 0, 1
    while not enough(high):
        low, high = high, 2 * high
        if high > MOST_PEOPLE:
            raise InvalidInput(f"more than {MOST_PEOPLE} people are needed; allow larger errors or a larger epsilon.")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


MOST_PEOPLE = 10**9


def _bounded_test(n: int, m0: Floats, m1: Floats, rate: float) -> tuple[float, float]:
    """A threshold whose false alarms Chernoff bounds by the rate, and his bound on its missed detections."""
    s = np.linspace(0, 1, 2001)[1:, None]
    support = (m0 > 0) & (m1 > 0)
    sums = (
        n * np.log((m0[support] ** (1 - s) * m1[support] ** s).sum(axis=1))
        if support.any()
        else np.full(len(s), -np.inf)
    )
    threshold = float(((sums - math.log(rate)) / s[:, 0]).min())
    return threshold, float(min(1.0, np.exp((sums + (1 - s[:, 0]) * threshold).min())))


def _few(n: int, parts: int) -> bool:
    """Whether all counts of outputs can be enumerated."""
    return parts < 2 or math.comb(n + parts - 1, parts - 1) <= MOST_COUNTS


def _rate(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating) or not 0 < value < 1:
        raise InvalidInput(f"{name} is {value!r}; give a probability between 0 and 1, such as 0.05.")
    return float(value)
