"""Privacy amplification by shuffling: the central level of n local responses without order and identity.

An observer of the shuffled responses sees only how often each one came. For two categories the others' worst answers
are found by enumeration, which is exact. For more there are bounds that hold whatever the others answered: each of them
sends, with some probability, a response that does not depend on their answer (the blanket of Balle, Bell, Gascón and
Nissim 2019) or that is drawn as if they had one of the two answers to be distinguished (the clones of Feldman, McMillan
and Talwar 2021). Everything else about them is assumed known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact import Number, as_rational, as_whole
from utmost.exact.arrays import Floats
from utmost.privacy import ApproxDP
from utmost.theory.local.design.alphabet import pure_level
from utmost.theory.local.design.survey import Survey

MOST_TRIED = 2000
"""The largest number of people for which every number of others with the answer yes is tried."""
LEFT_OUT = 1e-3
"""Tallies whose total probability is below this share of delta count as if they revealed everything."""
BLOCKS, STEPS = 24, 40


@dataclass(frozen=True)
class Shuffled:
    """The central level of shuffled responses.

    Attributes
    ----------
    people : int
        How many responded.
    epsilon, delta : float
        The level of the shuffled responses as a whole.
    exact : bool
        Whether no smaller epsilon holds at this delta, up to floating point; otherwise it is an upper bound.
    reason : str
        The argument behind the level, in words.
    """

    people: int
    epsilon: float
    delta: float
    exact: bool
    reason: str

    @property
    def level(self) -> ApproxDP:
        """The level, for accounting."""
        return ApproxDP(self.epsilon, self.delta)

    def __str__(self) -> str:
        kind = "exactly" if self.exact else "at most"
        return f"{self.people} shuffled responses: {kind} ({self.epsilon:.6g}, {self.delta:.3g})-DP, {self.reason}"


def shuffled(survey: Survey | Any, n: int, delta: Number) -> Shuffled:
    """The central level of n responses together if a shuffler removes order and identity.

    It needs a trusted shuffler: the local guarantee holds without it, the central one only with it.

    Parameters
    ----------
    survey : Survey, level or number
        The survey whose responses are shuffled. A level or number stands for any local mechanism at that level, a whole
        form of several questions for example: then the bound holds for all of them.
    n : int
        How many people respond. The level protects each of them, whatever the others answered.
    delta : number
        The delta of the central level, above 0.

    Returns
    -------
    Shuffled
        Two categories and up to 2000 people: exact, the worst over how many of the others say yes. Otherwise a bound.

    Examples
    --------
    >>> import utmost as um
    >>> central = um.local.shuffled(um.local.survey(["no", "yes"], 1.0), 1000, 1e-6)
    >>> round(central.epsilon, 6), central.exact
    (0.126614, True)
    >>> um.local.shuffled(um.local.survey(range(10), 1.0), 1000, 1e-6).exact
    False
    """
    people = as_whole(n, "n", 1)
    target_delta = float(as_rational(delta, "delta"))
    if not 0 < target_delta < 1:
        raise InvalidInput(f"delta is {delta!r}; give a number between 0 and 1: without one, shuffling adds nothing.")
    level = survey.level if isinstance(survey, Survey) else pure_level(survey)
    if isinstance(survey, Survey) and survey.inside == survey.beside:
        return Shuffled(people, 0.0, target_delta, True, "responses do not depend on the answers")
    if (isinstance(survey, Survey) and survey.odds is None) or math.isinf(level.log_growth):
        return Shuffled(people, math.inf, target_delta, False, "the level promises nothing")
    local = math.log(survey.odds) if isinstance(survey, Survey) and survey.odds else level.log_growth
    if isinstance(survey, Survey) and len(survey.categories) == 2:
        truth = float(survey.inside)
        if people <= MOST_TRIED:
            law, reason = _exact_delta(people, truth), "the worst of all answers of the others"
            return Shuffled(people, _least_epsilon(law, local, target_delta), target_delta, True, reason)
        bound = _clones(people, 2 * (1 - truth), truth, target_delta)
        reason = "the blanket of the others' coins"
        return Shuffled(people, _least_epsilon(bound, local, target_delta), target_delta, False, reason)
    grown = math.exp(-local)
    ways: list[tuple[Callable[[float], float], str]] = [
        (_clones(people, grown, 1 / (1 + grown), target_delta), "clones of the two answers")
    ]
    if isinstance(survey, Survey) and survey.size == 1:
        k = len(survey.categories)
        ways.append(
            (_blanket(people, k, float(survey.inside), target_delta), "the blanket of the others' random responses")
        )
    epsilon, reason = min((_least_epsilon(law, local, target_delta), reason) for law, reason in ways)
    return Shuffled(people, epsilon, target_delta, False, reason)


def _least_epsilon(delta_of: Callable[[float], float], local: float, delta: float) -> float:
    """The least epsilon whose delta is at most `delta`, by bisection, rounded up; at most the local one."""
    if delta_of(0.0) <= delta:
        return 0.0
    low, high = 0.0, local
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of(middle) <= delta else (middle, high)
    return high


def _exact_delta(n: int, truth: float) -> Callable[[float], float]:
    """The exact delta for two categories: the worst over k, how many of the n - 1 others have the answer yes.

    Distinguishing yes from no with k of them is distinguishing no from yes with n - 1 - k, so one direction suffices.
    """
    from scipy.stats import binom

    lie, yes_counts = 1 - truth, np.zeros((n, n))
    for k in range(n):
        yes_counts[k] = np.convolve(binom.pmf(np.arange(k + 1), k, truth), binom.pmf(np.arange(n - k), n - 1 - k, lie))
    here, before = np.pad(yes_counts, ((0, 0), (0, 1))), np.pad(yes_counts, ((0, 0), (1, 0)))
    yes, no = here * lie + before * truth, here * truth + before * lie
    return lambda epsilon: float(np.maximum(yes - math.exp(epsilon) * no, 0.0).sum(axis=1).max())


def _clones(n: int, share: float, truth: float, delta: float) -> Callable[[float], float]:
    """The delta if each other person publishes a fair coin with probability `share`, and nothing otherwise.

    One person reports a bit truthfully with probability `truth`: Feldman, McMillan and Talwar 2021, Theorem 3.2.
    With c coins the best event is "at least t heads", so its probabilities are tails of binomials.
    """
    coins, chance, missing = _likely(n - 1, share, delta)

    def delta_of(epsilon: float) -> float:
        grown, m = math.exp(epsilon), coins + 1
        heads = m * (grown * truth - (1 - truth)) / ((1 + grown) * (2 * truth - 1))  # the likelihoods' ratio is e^eps
        t = np.floor(heads) + 1
        more, as_many = _at_least(coins, t - 1), _at_least(coins, t)
        here = truth * more + (1 - truth) * as_many
        there = (1 - truth) * more + truth * as_many
        return missing + math.fsum(chance * np.maximum(here - grown * there, 0.0))

    return delta_of


def _blanket(n: int, k: int, truth: float, delta: float) -> Callable[[float], float]:
    """The delta if each other person sends either one of k categories at random or nothing (Balle et al. 2019).

    With m responses, this person's among them, a and b of which name the two answers, the probability is
    (k/m)(q(m - a) + p a) times that of random responses, and with the answers exchanged b takes the place of a.
    """
    q = (1 - truth) / (k - 1)
    coins, chance, missing = _likely(n - 1, k * q, delta / 2)
    cuts = np.unique(np.linspace(0, len(coins), min(len(coins), BLOCKS) + 1).astype(int))
    sizes = coins[cuts[:-1]] + 1  # fewer random responses never hide more, so the least of a block stands for all
    shares = np.add.reduceat(chance, cuts[:-1])
    tables = [_likely(int(m), 2 / k, delta / 2) for m in sizes]

    def delta_of(epsilon: float) -> float:
        grown, total, lift = math.exp(epsilon), missing, truth - q
        for m, share, (named, likely, tail) in zip(sizes.tolist(), shares.tolist(), tables, strict=True):
            least = (q * m * (grown - 1) / lift + grown * named) / (1 + grown)  # of a, for which here exceeds there
            t = np.floor(least) + 1
            constant = q * m * (1 - grown) - lift * grown * named
            slope = lift * (1 + grown) * named / 2
            worth = constant * _at_least(named, t) + slope * _at_least(np.maximum(named - 1, 0), t - 1)
            total += share * (min(1.0, k / m * math.fsum(likely * np.maximum(worth, 0.0))) + tail)
        return total

    return delta_of


def _likely(n: int, share: float, delta: float) -> tuple[Floats, Floats, float]:
    """The likely values of a binomial, their probabilities, and the total probability of the others."""
    from scipy.stats import binom

    small = LEFT_OUT * delta / 2
    low, high = (int(x) for x in (binom.ppf(small, n, share), binom.isf(small, n, share)))
    values = np.arange(max(low, 0), min(high, n) + 1)
    tail = float(binom.cdf(low - 1, n, share) + binom.sf(high, n, share))
    return values.astype(float), np.asarray(binom.pmf(values, n, share)), tail


def _at_least(coins: Floats, t: Floats) -> Floats:
    """The probability of at least t heads among `coins` fair coins."""
    from scipy.special import betainc

    inside = (t >= 1) & (t <= coins)
    tail = betainc(np.where(inside, t, 1.0), np.where(inside, coins - t + 1, 1.0), 0.5)
    return np.where(inside, tail, np.where(t <= 0, 1.0, 0.0))
