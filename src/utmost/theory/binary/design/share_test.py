"""Is a share above theta? The most powerful private test, and p-values and intervals from one private count.

Of n people, X have a property, X ~ Binomial(n, theta) if they are drawn from a population with that share. Among all
private tests with a given false-alarm rate at theta0, the one with phi(x + 1) = upper(phi(x)) rejects most often at
every larger share at once (Awan and Slavković 2020, Theorem 3.2, at every concave level). P-values for all sizes at
once come from a noisy count with canonical noise: at pure levels they are the most powerful too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from utmost.errors import InvalidInput, shown
from utmost.exact import Number, as_rational, is_number
from utmost.exact.arrays import Floats
from utmost.mechanism import FiniteMechanism
from utmost.mechanism.noise.canonical import CanonicalLaw, require_canonical
from utmost.mechanism.sampling import uniform_integer
from utmost.privacy import Level, as_level
from utmost.solution import Problem, Solution, certificate_of
from utmost.space.edge_levels import on_edges
from utmost.space.families import counts

Alternative: TypeAlias = Literal["greater", "less", "two-sided"]
HALVINGS = 100


@dataclass(frozen=True, eq=False)
class ShareTest:
    """The most powerful private test of "the share is above theta" at a given size; see `uniformly_most_powerful`.

    Attributes
    ----------
    people : int
        How many people are counted; public.
    theta : float
        The share under the null hypothesis.
    size : float
        The probability of rejecting it at that share.
    alternative : "greater" or "less"
        The side of the test.
    solution : Solution
        The mechanism on the counts 0..n, whose output True rejects, with its proof.
    """

    people: int
    theta: float
    size: float
    alternative: Literal["greater", "less"]
    solution: Solution

    @property
    def probabilities(self) -> Floats:
        """The probability of rejecting, for every count from 0 to n."""
        return np.asarray(self.solution.mechanism.matrix[:, 1])

    def power(self, theta: float) -> float:
        """The probability of rejecting if the share in the population is `theta`.

        Examples
        --------
        >>> import utmost as um
        >>> round(um.binary.uniformly_most_powerful(30, 0.5, 1.0, 0.05).power(0.7), 8)
        0.63530476
        """
        return float(_binomial(self.people, _share(theta, "theta", ends=True)) @ self.probabilities)

    def decide(self, count: int) -> bool:
        """Whether to reject, drawn exactly; spends the level. The count is private and appears in no error message."""
        return bool(self.solution.sample(count))


def uniformly_most_powerful(
    n: int, theta: Number, privacy: Level | Number, size: Number, alternative: str = "greater"
) -> ShareTest:
    """The private test of "is the share above theta?" that no private test of its size beats at any share.

    Parameters
    ----------
    n : int
        How many people are counted; public. Neighbours replace one person's answer, which changes the count by one.
    theta : number
        The share under the null hypothesis, between 0 and 1.
    privacy : level or number
        What the decision may spend: pure, (epsilon, delta), Gaussian, any concave level. A number is an epsilon.
    size : number
        The false-alarm rate: the probability of rejecting if the share is theta.
    alternative : "greater" or "less"
        Whether the alternative is a share above theta, or below.

    Returns
    -------
    ShareTest
        With its `power` at any share, its `solution` (verify, certify, save) and `decide`, which draws the decision.

    Examples
    --------
    >>> import utmost as um
    >>> test = um.binary.uniformly_most_powerful(100, 0.5, 1.0, 0.05)
    >>> round(test.power(0.5), 6), round(test.power(0.6), 4), bool(test.solution.verify())
    (0.05, 0.6176, True)
    """
    people, share, rate = _people(n), _share(theta, "theta"), _share(size, "size")
    level = as_level(privacy)
    if alternative not in ("greater", "less"):
        raise InvalidInput(f"alternative is {shown(alternative)}; say 'greater' or 'less'.")
    null = _binomial(people, share if alternative == "greater" else 1 - share)
    rejects, keeps = _of_size(null, level, rate)
    if alternative == "less":
        rejects, keeps = rejects[::-1], keeps[::-1]
    space = counts(people)
    data = {"theta": share, "size": rate, "greater": int(alternative == "greater"), "outputs": (False, True)}
    mechanism = FiniteMechanism(np.column_stack([keeps, rejects]), space.points, (False, True))
    value = float(_binomial(people, share) @ rejects)
    problem = Problem("binary.share_test", space, on_edges(space, level), data)
    certificate = certificate_of(problem, mechanism, "theorem")
    side: Literal["greater", "less"] = "greater" if alternative == "greater" else "less"
    return ShareTest(people, share, rate, side, Solution(problem, mechanism, value, certificate))


def _of_size(null: Floats, level: Level, size: float) -> tuple[Floats, Floats]:
    """The test phi(x + 1) = upper(phi(x)) with this mean under the null, and 1 - phi, by bisection for its anchor.

    Every orbit of `upper` passes between c and upper(c) = 1 - c once: at the count a, with phi(a) = c + u (1 - 2c). The
    size falls as a + (1 - u) grows.
    """
    n = len(null) - 1
    if level.upper(0.5) == 0.5:  # nothing may depend on the count
        return np.full(n + 1, size), np.full(n + 1, 1 - size)
    require_canonical(level)
    high, low = level.even_share()  # c and 1 - c, each accurate

    def orbit(anchor: int, start: float, rest: float) -> tuple[Floats, Floats]:
        steps = np.arange(n + 1) - anchor
        up, down = np.maximum(steps, 0), np.maximum(-steps, 0)
        rising = level.upper_after(up, np.full(n + 1, start)), level.lower_after(up, np.full(n + 1, rest))
        falling = level.lower_after(down, np.full(n + 1, start)), level.upper_after(down, np.full(n + 1, rest))
        after = steps >= 0
        return np.where(after, rising[0], falling[0]), np.where(after, rising[1], falling[1])

    def mean(anchor: int, u: float) -> float:
        return float(null @ orbit(anchor, *_between(u, low, high))[0])

    first, last = -1, n + 1  # mean at the first is at least the size, at the last below it; doubled until so
    while mean(first, 1.0) < size:
        first = 2 * first - 1
        if first < -(10**7):
            return np.ones(n + 1), np.zeros(n + 1)
    while mean(last, 0.0) > size:
        last = 2 * last
        if last > 10**7 + n:
            raise InvalidInput(f"size is {size}; at {level} every test rejects more often. Give a larger size.")
    while last - first > 1:
        middle = (first + last) // 2
        first, last = (middle, last) if mean(middle, 0.0) > size else (first, middle)
    anchor = last if mean(last, 1.0) >= size else first
    below, above = 0.0, 1.0
    for _ in range(HALVINGS):
        u = (below + above) / 2
        below, above = (u, above) if mean(anchor, u) <= size else (below, u)
    return orbit(anchor, *_between(below, low, high))


def _between(u: float, low: float, high: float) -> tuple[float, float]:
    return low + u * (high - low), high - u * (high - low)


# ---- p-values and intervals from one noisy count ----


@dataclass(frozen=True)
class NoisyShare:
    """A released count of n people with canonical noise; p-values and intervals are post-processing of it.

    Attributes
    ----------
    people : int
        How many people there are; public.
    level : Level
        The level that it spent.
    count : int
        The noisy count; may lie outside 0..n.
    blur : float
        A uniform number between -1/2 and 1/2, drawn independently of the data, which makes p-values continuous.
    noise : CanonicalLaw, optional
        The law of the noise; None stands for the canonical noise of the level.
    """

    people: int
    level: Level
    count: int
    blur: float
    noise: Any = None

    @property
    def share(self) -> float:
        """The unbiased estimate of the share; may lie outside 0..1."""
        return self.count / self.people

    def p_value(self, theta: Number, alternative: Alternative = "greater") -> float:
        """The p-value of "the share is theta": at most u with probability u if it is, exactly.

        Parameters
        ----------
        theta : number
            The share under the null hypothesis. Any number of shares may be tried: all of it is post-processing.
        alternative : "greater", "less" or "two-sided"
            Two-sided is twice the lesser of the two one-sided ones.

        Examples
        --------
        >>> import utmost as um
        >>> seen = um.binary.NoisyShare(100, um.PureDP(1), 63, 0.0)
        >>> round(seen.p_value(0.5), 6), round(seen.p_value(0.5, "two-sided"), 6)
        (0.006172, 0.012343)
        """
        above = self._at_least(_share(theta, "theta", ends=True))
        if alternative == "greater":
            return above
        if alternative == "less":
            return 1 - above
        if alternative == "two-sided":
            return min(1.0, 2 * min(above, 1 - above))
        raise InvalidInput(f"alternative is {shown(alternative)}; say 'greater', 'less' or 'two-sided'.")

    def interval(self, confidence: Number = 0.95, side: Alternative = "two-sided") -> tuple[float, float]:
        """An interval that contains the share in the population with this probability, whatever the share is.

        Parameters
        ----------
        confidence : number
            How often intervals computed like this contain the share.
        side : "two-sided", "greater" or "less"
            "greater" is a lower limit: the shares that the one-sided test does not reject; "less" an upper limit.

        Examples
        --------
        >>> import utmost as um
        >>> seen = um.binary.NoisyShare(100, um.PureDP(1), 63, 0.0)
        >>> tuple(round(end, 4) for end in seen.interval(0.95))
        (0.5286, 0.7238)
        """
        miss = 1 - _share(confidence, "confidence")
        if side not in ("two-sided", "greater", "less"):
            raise InvalidInput(f"side is {shown(side)}; say 'two-sided', 'greater' or 'less'.")
        tail = miss / 2 if side == "two-sided" else miss
        low = 0.0 if side == "less" else self._share_with(tail)
        high = 1.0 if side == "greater" else self._share_with(1 - tail)
        return low, high

    def _share_with(self, chance: float) -> float:
        """The share at which Pr[noisy count >= this one], which increases with the share, equals `chance`."""
        from scipy.optimize import brentq

        if self._at_least(0.0) >= chance:
            return 0.0
        if self._at_least(1.0) <= chance:
            return 1.0
        return float(brentq(lambda theta: self._at_least(theta) - chance, 0.0, 1.0, xtol=1e-12))

    def _at_least(self, theta: float) -> float:
        """Pr[X + N >= z] for X binomial, N the integer noise plus the blur, and z the noisy count."""
        return float(_binomial(self.people, theta) @ self._tails)

    @cached_property
    def _tails(self) -> Floats:
        """Pr[N >= z - x] for every x; the distribution of N is linear between half-integers."""
        law = CanonicalLaw(self.level) if self.noise is None else self.noise
        gaps = self.count - np.arange(self.people + 1)
        return np.asarray(law.tail(gaps) * (0.5 - self.blur) + law.tail(gaps + 1) * (0.5 + self.blur))


def noisy_share(count: int, n: int, privacy: Level | Number) -> NoisyShare:
    """Release a private count of n people from which p-values and intervals for the share can be computed.

    Canonical integer noise, drawn exactly: no private noise on a count has a lower cost of any kind. At pure levels its
    p-values are the most powerful: "p-value <= a" rejects as often as `uniformly_most_powerful` of size a does.

    Parameters
    ----------
    count : int
        How many of the n people have the property. Private: it appears in no error message.
    n : int
        How many people there are; public. Neighbours replace one person's answer.
    privacy : level or number
        The level that this release spends. A number is an epsilon.

    Examples
    --------
    >>> import utmost as um
    >>> seen = um.binary.noisy_share(63, 100, 1.0)
    >>> 0 <= seen.p_value(0.5) <= 1 and seen.interval(0.95)[0] < seen.interval(0.95)[1]
    True
    """
    people, law = _people(n), CanonicalLaw(as_level(privacy))
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 0 <= count <= people:
        raise InvalidInput("count is not a whole number from 0 to n; give how many of the n people have the property.")
    return NoisyShare(people, law.level, int(count) + int(law.draw(1)[0]), uniform_integer(53) / 2**53 - 0.5)


def _binomial(n: int, theta: float) -> Floats:
    from scipy.stats import binom

    return np.asarray(binom.pmf(np.arange(n + 1), n, theta))


def _people(n: Any) -> int:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InvalidInput(f"n is {shown(n)}; give how many people are counted, a whole number, 1 or more.")
    return int(n)


def _share(value: Any, name: str, ends: bool = False) -> float:
    """A probability, checked; 0 and 1 only where `ends` allows them."""
    share = float(as_rational(value, name)) if is_number(value) or isinstance(value, str) else -1.0
    if not (0 <= share <= 1 if ends else 0 < share < 1):
        raise InvalidInput(f"{name} is {shown(value)}; give a number between 0 and 1.")
    return share
