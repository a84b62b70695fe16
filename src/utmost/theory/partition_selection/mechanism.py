"""Partition selection: the probability that a key with n holders is released, and the exact draw.

The largest release probability that a level allows is found step by step: a key without holders is never released,
p(0) = 0; one holder more raises the probability by no more than the level allows, p(n + 1) = upper(p(n)). No private
mechanism releases a key more often, for any n (Desfontaines, Voss, Gipson and Mandayam 2022; by induction).

The same as a draw: every key gets an independent threshold T with Pr[T <= n] = p(n), and is released if it has at least
T holders. So T is also noise: where n - T + border is released beside the key, Pr[released >= t] is p(n - t + border),
again an orbit of `upper`, and going from n to n + 1 takes every such tail by one step. Likelihood ratios are monotone
(`upper` is concave), so tails are the best tests, and the number costs nothing more than the key.

**Several keys change at once** if a unit holds several, or under replacement. Every key then gets its own level such
that the composition satisfies the whole level; two families are known here, and both are decided exactly:

| one key's level | upper(a) | m of them together |
|---|---|---|
| (e, d) | min(E a + d, 1 - (1 - d - a)/E) | Kairouz, Oh and Viswanath (LIM Theorem 2.4.3) |
| mu-Gaussian, and no privacy with probability d | d + (1 - d) Phi(Phi^-1(a/(1-d)) + mu) | same: mu sqrt(m), 1 - (1-d)^m
|

The second satisfies an (epsilon, delta) level by the delta of its composition, and a Gaussian level with a delta
(`ApproxGaussianDP`) directly: for one key it is the level's own upper function, and so the optimum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput, TooLarge
from utmost.exact import Enclosed, ExpSum, as_fmpq, as_rational, compare
from utmost.exact.arrays import Floats
from utmost.exact.bisection import first_integer
from utmost.exact.citations import cites
from utmost.mechanism.certification import Check
from utmost.mechanism.exact_law import ExactMechanism
from utmost.mechanism.noise.gaussian import gaussian_delta
from utmost.mechanism.noise.vector import NoisyVector
from utmost.mechanism.tail_sampling import TailDraws
from utmost.privacy import ApproxDP, ApproxGaussianDP, GaussianDP, Level, level_from_json
from utmost.space.integers import Holders

MOST_USERS = 10**7
"""Largest threshold that is listed: a level that needs more holders releases next to nothing."""
MOST_ORBIT = 20_000
"""The most Gaussian steps that are computed one by one."""
MOST_EXTRA = 2**15
"""The most extra bits of precision for Gaussian steps."""
MOST_CHANGES = 10**4
"""The most keys that may change at once: their composition is a sum of so many terms."""


@dataclass(frozen=True)
class ThresholdLaw:
    """The law of one key's threshold, from the level of that key.

    Attributes
    ----------
    level : ApproxDP or GaussianDP
        The level of one step.
    lost : Fraction
        For a Gaussian level, the probability that a step has no privacy; 0 for others, whose delta covers it.

    Examples
    --------
    >>> law = ThresholdLaw(ApproxDP(1, 1e-6))
    >>> law.release_probability([10, 14, 28]).round(6)
    array([0.012818, 0.699887, 1.      ])
    >>> law.half, law.sure
    (14, 28)
    """

    level: ApproxDP | GaussianDP
    lost: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        level, lost = self.level, self.lost
        if isinstance(level, GaussianDP):
            if not 0 < lost < 1 or level.mu == math.inf:
                raise InvalidInput("a Gaussian step shows no new key; give it a probability to tell all, above 0.")
            return
        if not isinstance(level, ApproxDP) or lost != 0 or not 0 < level.delta < 1 or level.exponent == math.inf:
            raise InvalidInput(f"a key is shown at an (epsilon, delta) level with delta above 0, not at {level}.")

    @property
    def name(self) -> str:
        """The name of the law in sentences."""
        if isinstance(self.level, GaussianDP):
            return f"{float(self.level.mu):.6g}-Gaussian steps, all told with probability {float(self.lost):.4g}"
        return f"steps of ({self.level.log_growth:.6g}, {float(self.level.delta):.4g})"

    # ---- probabilities ----

    def hidden_probability(self, n: ArrayLike) -> Floats:
        """The probability that a key with n holders is not released, in floats: with all digits where it is small."""
        at = np.asarray(n, dtype=np.int64)
        if isinstance(self.level, ApproxDP):
            return np.asarray(self.level.lower_after(at, 1.0))
        return self._gaussian_orbit[1][np.minimum(at, len(self._gaussian_orbit[1]) - 1)]

    def release_probability(self, n: ArrayLike) -> Floats:
        """The probability that a key with n holders is released, in floats: with all digits where it is small."""
        at = np.asarray(n, dtype=np.int64)
        if isinstance(self.level, ApproxDP):
            return np.asarray(self.level.upper_after(at, 0.0))
        return self._gaussian_orbit[0][np.minimum(at, len(self._gaussian_orbit[0]) - 1)]

    @cached_property
    def sure(self) -> int:
        """The least number of holders from which on a key is certainly released."""
        if isinstance(self.level, GaussianDP):
            return len(self._gaussian_orbit[0]) - 1
        if self.hidden_probability(MOST_USERS) > 0:
            raise TooLarge(
                f"at {self.level} even a key of {MOST_USERS:,} users may stay hidden; allow a larger level, or fewer "
                "keys of each unit."
            )
        return first_integer(lambda n: bool(self.hidden_probability(n) == 0), 1)

    @cached_property
    def half(self) -> int:
        """The median threshold: the least number of holders with release probability at least 1/2."""
        return first_integer(lambda n: bool(self.release_probability(n) >= 0.5), 1)

    @cached_property
    def hidden(self) -> Floats:
        """The probabilities that a key with 0, 1, ..., `sure` holders is not released."""
        return self.hidden_probability(np.arange(self.sure + 1))

    @property
    def mean_users(self) -> float:
        """The mean threshold: how many holders a key needs to be released, on average."""
        return float(math.fsum(self.hidden))

    @cached_property
    def chances(self) -> Floats:
        """The probabilities of the thresholds 1, 2, ..., `sure`, each with all digits."""
        hidden, released = self.hidden, self.release_probability(np.arange(self.sure + 1))
        return np.where(released[1:] < 0.5, np.diff(released), -np.diff(hidden))

    @cached_property
    def _gaussian_orbit(self) -> tuple[Floats, Floats]:
        """The probabilities of release and of no release with 0, 1, ... holders, until release is certain."""
        from scipy.special import ndtr, ndtri

        assert isinstance(self.level, GaussianDP)
        mu, lost = float(self.level.mu), float(self.lost)
        released, hidden = [0.0, lost], [1.0, 1 - lost]
        while hidden[-1] > 0:
            if len(released) > MOST_ORBIT:
                raise TooLarge(f"more than {MOST_ORBIT} Gaussian steps of {mu:g} are needed; allow a larger level.")
            rest = (hidden[-1] - lost) / (1 - lost)
            if rest <= 0:
                released.append(1.0)
                hidden.append(0.0)
                break
            share = released[-1] / (1 - lost)
            at = mu + (float(ndtri(share)) if share <= 0.5 else -float(ndtri(rest)))
            released.append(lost + (1 - lost) * float(ndtr(at)))
            hidden.append((1 - lost) * float(ndtr(-at)))
        return np.array(released), np.array(hidden)

    # ---- exact ----

    def enclose_missing(self, n: int, bits: int) -> arb:
        """A ball around the probability that a key with n holders is not released."""
        if isinstance(self.level, GaussianDP):
            orbit = _gaussian_balls(self, -(-(bits + 64) // 128) * 128)
            return orbit[min(n, len(orbit) - 1)]
        level = self.level
        with ctx.workprec(bits + 96 + 2 * max(n, 1).bit_length()):
            grown, delta = growth(level), arb(as_fmpq(level.delta))
            if level.log_growth == 0:
                return (1 - n * delta).max(arb(0))
            turning = int(np.clip(level._turning(np.array(0.0)), 0, 2**62))
            largest = arb(0)
            for steps in {min(max(turning + shift, 0), n) for shift in (-1, 0, 1)}:
                remaining = n - steps  # each split is a lower bound on the probability, and the best one is attained
                release = delta * (grown**steps - 1) / (grown - 1)
                surplus = delta * (1 - grown ** (-remaining)) / (grown - 1)
                largest = largest.max((1 - release) * grown ** (-remaining) - surplus)
            return largest

    def draw(self, size: int) -> NDArray[np.int64]:
        """Draw thresholds independently and exactly."""
        return np.asarray(self._draws.draw(size)[0] + 1)

    @cached_property
    def _draws(self) -> TailDraws:
        return TailDraws(self.enclose_missing)

    def keeps(self, changes: int, level: Level) -> bool:
        """Whether so many keys that change by one unit each together satisfy a level: decided exactly."""
        if isinstance(level, ApproxGaussianDP):
            return _satisfies_gaussian(self, changes, level)
        if not isinstance(level, ApproxDP):
            return False
        if not 1 <= changes <= MOST_CHANGES or level.exponent == math.inf:
            return level.exponent == math.inf and changes >= 1
        if isinstance(self.level, GaussianDP):
            return _satisfies_approx(self.level, self.lost, changes, level)
        if changes == 1:
            grows = compare(_growth_sum(self.level), _growth_sum(level)) <= 0
            return bool(grows and self.level.delta <= level.delta)
        return _composition_satisfies(self.level, changes, level)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"level": self.level.to_json(), "lost": str(self.lost)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The law written by `to_json`."""
        level = level_from_json(data["level"])
        if not isinstance(level, ApproxDP | GaussianDP):
            raise InvalidInput("a key's step has an (epsilon, delta) level or a Gaussian one.")
        return cls(level, as_rational(data["lost"]))


@lru_cache(maxsize=16)
def _gaussian_balls(law: ThresholdLaw, bits: int) -> list[arb]:
    """Balls around the probabilities of no release with 0, 1, ... holders, until 0, each narrower than 2^-bits.

    Every step widens them, the more the smaller `lost` is; so the working precision is doubled until they are narrow.
    """
    extra = 256 + 2 * law.lost.denominator.bit_length()  # 1 - lost must differ from 1
    while extra <= MOST_EXTRA:
        orbit = _gaussian_steps(law, bits + extra)
        if orbit is not None and all(ball.rad() < arb(2) ** -bits for ball in orbit):
            return orbit
        extra *= 2
    raise TooLarge(f"{law.name}: exact draws would take more than {MOST_EXTRA} bits; allow a larger delta.")


def _gaussian_steps(law: ThresholdLaw, precision: int) -> list[arb] | None:
    """These balls at one working precision; None where it is too low to go on."""
    assert isinstance(law.level, GaussianDP)
    with ctx.workprec(precision):
        mu, lost, root = arb(as_fmpq(Fraction(law.level.mu))), arb(as_fmpq(law.lost)), arb(2).sqrt()
        orbit = [arb(1), 1 - lost]
        for _ in range(MOST_ORBIT):
            rest = (orbit[-1] - lost) / (1 - lost)
            if rest <= 0:
                return [*orbit, arb(0)]
            if not rest > 0:  # the ball contains 0: at most a little is left
                upper = rest.abs_upper()
                high = (1 - lost) * (((2 * upper).erfcinv() * root + mu) / root).erfc() / 2
                return [*orbit, (high / 2).union(arb(0)).union(high), arb(0)]
            if not rest < 1:
                return None
            orbit.append((1 - lost) * (((2 * rest).erfcinv() * root + mu) / root).erfc() / 2)
    raise TooLarge(f"more than {MOST_ORBIT} Gaussian steps are needed; allow a larger level.")


def growth(level: ApproxDP) -> arb:
    """A ball around e^epsilon, at the working precision."""
    return arb(as_fmpq(level.ratio)) * arb(as_fmpq(Fraction(level.exponent))).exp()


def _growth_sum(level: ApproxDP) -> ExpSum:
    return ExpSum.rational(level.ratio).times(Fraction(1), Fraction(level.exponent))


@cites("LIM-theorem-2.4.3")
def _composition_satisfies(step: ApproxDP, changes: int, level: ApproxDP) -> bool:
    """Whether equal levels compose to another level: at ((m - 2i) e, 1 - (1 - d)^m (1 - d_i)) for some i."""
    room = as_fmpq(1 - level.delta)
    for i in range(changes // 2 + 1):
        times = _growth_power(step, changes - 2 * i)
        if compare(times, _growth_sum(level)) > 0:
            continue

        def bound(bits: int, i: int = i) -> arb:
            with ctx.workprec(bits + 64 + 4 * changes.bit_length() + changes):
                product: arb = (1 - arb(as_fmpq(step.delta))) ** changes
                return product * (1 - composed_delta(growth(step), changes, i))

        if i == 0:  # rational numbers, no sum of exponentials
            return bool((1 - step.delta) ** changes >= 1 - level.delta)
        return compare(Enclosed(bound), Enclosed(lambda bits: arb(room))) >= 0
    return False


def _growth_power(level: ApproxDP, times: int) -> ExpSum:
    return ExpSum.rational(level.ratio**times).times(Fraction(1), Fraction(level.exponent) * times)


def composed_delta(grown: arb, changes: int, i: int) -> arb:
    """A ball around the delta_i of homogeneous composition: m equal pure levels at m - 2i of them."""
    total = arb(0)
    for term in range(i):
        total += math.comb(changes, term) * (grown ** (changes - term) - grown ** (changes - 2 * i + term))
    return total / (1 + grown) ** changes


def _satisfies_gaussian(law: ThresholdLaw, changes: int, level: ApproxGaussianDP) -> bool:
    """Whether Gaussian steps compose to a Gaussian level with a delta: squares of mu add up; in rationals."""
    if not isinstance(law.level, GaussianDP) or level.mu == math.inf or not 1 <= changes <= MOST_CHANGES:
        return False
    within = changes * Fraction(law.level.mu) ** 2 <= Fraction(level.mu) ** 2
    return within and (1 - law.lost) ** changes >= 1 - level.delta


def _satisfies_approx(step: GaussianDP, lost: Fraction, changes: int, level: ApproxDP) -> bool:
    """Whether Gaussian steps compose to (epsilon, delta): (1 - lost)^m (1 - delta_mu(epsilon)) >= 1 - delta."""

    def bound(bits: int) -> arb:
        with ctx.workprec(bits + 128 + 8 * changes.bit_length()):
            delta = gaussian_delta(changes * Fraction(step.mu) ** 2, level, bits)
            return (1 - arb(as_fmpq(lost))) ** changes * (1 - delta)

    return compare(Enclosed(bound), ExpSum.rational(1 - level.delta)) >= 0


@dataclass(frozen=True, eq=False)
class ThresholdedKeys(ExactMechanism):
    """Keys released by independent thresholds, with a count or other numbers beside each.

    Attributes
    ----------
    law : ThresholdLaw
        The law of one key's threshold.
    border : int or None
        What is added to n - T as the released count; None if no count is released.
    noise : NoisyVector or None
        Noise on the numbers beside the keys, if there are any.
    spent : tuple of Level
        The levels of the keys, and of the numbers.

    Examples
    --------
    >>> level = ApproxDP(1, 1e-6)
    >>> keys = ThresholdedKeys(ThresholdLaw(level), 14, None, (level,))
    >>> places, shown = keys.sample(([1000, 0], None))                     # the second key has no holder
    >>> places.tolist(), bool(abs(shown[0, 0] - 1000) < 30)
    ([0], True)
    """

    kind: ClassVar[str] = "keys.kept"
    law: ThresholdLaw
    border: int | None
    noise: NoisyVector | None
    spent: tuple[Level, ...]

    @property
    def name(self) -> str:
        """The name of the mechanism in sentences."""
        beside = "" if self.border is None else f", the count less it plus {self.border}"
        numbers = "" if self.noise is None else f"; {self.noise.name} on the numbers"
        return f"every key a threshold of its own ({self.law.name}){beside}{numbers}"

    def sample(self, point: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Draw the places of the released keys, and a row of numbers for each."""
        holders, numbers = point
        holders = np.asarray(holders, dtype=np.int64)
        thresholds = self.law.draw(len(holders))
        places = np.flatnonzero(holders >= thresholds)
        if self.noise is not None:
            exact = np.asarray(numbers)[places]
            noise = self.noise.noise.draw(-(-exact.size // self.noise.noise.dimension)).reshape(-1)[: exact.size]
            return places, exact + noise.reshape(exact.shape)
        if self.border is None:
            return places, np.zeros((len(places), 0), dtype=np.int64)
        return places, (holders - thresholds + self.border)[places, None]

    def prove(self, space: Any, level: Level) -> Check:
        promised = isinstance(level, ApproxDP | ApproxGaussianDP)
        if not isinstance(space, Holders) or not promised or not self._fits(space):
            return Check("privacy", False, f"{level}: these keys and numbers are not those that are asked for")
        changes = space.changes
        private = self.law.keeps(changes, self.spent[0]) and _sum_within(self.spent, level)
        words = f"one neighbour changes {changes} key{'s' * (changes > 1)} by one unit each, {self.law.name} for each"
        if self.noise is not None:
            numbers = self.noise.prove(space.numbers, self.spent[1])
            alone = self.noise.noise.independent is not None or (self.noise.noise.dimension == 1 == changes)
            private = private and numbers.passed and alone
            words += f"; the numbers: {numbers.detail}"
        return Check("privacy", bool(private), f"{level}: {words}; levels compared exactly")

    def _fits(self, space: Holders) -> bool:
        """Whether the mechanism fits the space; it may come from an untrusted file."""
        numbers_fit = (self.noise is None) == (space.numbers is None) and len(self.spent) == (
            1 if self.noise is None else 2
        )
        border_fits = self.border is None or (type(self.border) is int and self.border >= 1 and self.noise is None)
        return numbers_fit and border_fits and _same_kind(self.spent)

    # ---- the released count ----

    def expected(self, loss: str) -> float:
        """The expected loss of a released number; for a count, that of a key that is certainly released."""
        from utmost.space.line import cost

        if self.noise is not None:
            return self.noise.expected(loss)
        if self.border is None:
            raise InvalidInput("no number is shown beside these keys.")
        thresholds = np.arange(1, self.law.sure + 1)
        return float(self.law.chances @ cost(loss, np.abs(self.border - thresholds)))

    def count_interval(self, counts: NDArray[Any], confidence: float) -> tuple[NDArray[Any], NDArray[Any]]:
        """Confidence intervals for the true counts of released keys, conditional on their release.

        The true n is accepted if T = n - count + border is neither among the smallest nor among the largest of
        thresholds up to n, each with half of one minus the confidence. p(n - i)/p(n) grows with n, so these n are
        consecutive.
        """
        if self.border is None:
            raise InvalidInput("no count is shown beside these keys.")
        excess = np.asarray(counts) - self.border
        clipped, sure = np.minimum(excess, self.law.sure).astype(np.int64), self.law.sure
        low, high = np.empty(sure + 1, dtype=np.int64), np.empty(sure + 1, dtype=np.int64)
        rest = (1 - confidence) / 2
        for i in np.unique(clipped).tolist():
            n = np.arange(i + 1, i + sure + 2)
            releases = self.law.release_probability(n)
            accepted = (self.law.release_probability(n - i) > rest * releases) & (
                self.law.release_probability(n - i - 1) < (1 - rest) * releases
            )
            low[i], high[i] = n[accepted][0] - i, n[accepted][-1] - i
        return excess + low[clipped], excess + high[clipped]

    # ---- file ----

    def to_json(self) -> dict[str, Any]:
        return {
            "law": self.law.to_json(),
            "border": self.border,
            "noise": None if self.noise is None else self.noise.to_json(),
            "spent": [level.to_json() for level in self.spent],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        border, spent = data["border"], tuple(level_from_json(level) for level in data["spent"])
        if border is not None and (type(border) is not int or not 1 <= border <= MOST_USERS):
            raise InvalidInput("the border of shown counts is a whole number, 1 or more.")
        if not _same_kind(spent):
            raise InvalidInput("keys and numbers are shares of an (epsilon, delta) level, or of a Gaussian one.")
        noise = None if data["noise"] is None else NoisyVector.from_json(data["noise"])
        return cls(ThresholdLaw.from_json(data["law"]), border, noise, spent)


def _same_kind(spent: tuple[Level, ...]) -> bool:
    """Whether all levels are (epsilon, delta), or all Gaussian, the first with a delta."""
    gaussian = [isinstance(part, ApproxGaussianDP if at == 0 else GaussianDP) for at, part in enumerate(spent)]
    return all(gaussian) or all(isinstance(part, ApproxDP) for part in spent)


def _sum_within(parts: tuple[Any, ...], level: Any) -> bool:
    """Whether levels add up to at most another, exactly; for Gaussian ones the squares of mu do."""
    if isinstance(level, ApproxGaussianDP) != isinstance(parts[0], ApproxGaussianDP):
        return False
    if isinstance(level, ApproxGaussianDP):
        if math.inf in (level.mu, *(part.mu for part in parts)):
            return False
        squares = sum(Fraction(part.mu) ** 2 for part in parts)
        return squares <= Fraction(level.mu) ** 2 and parts[0].delta <= level.delta
    if math.inf in (level.exponent, *(part.exponent for part in parts)):
        return False
    total = ExpSum.rational(1)
    for part in parts:
        total = total.times(part.ratio, Fraction(part.exponent))
    return compare(total, _growth_sum(level)) <= 0 and sum(part.delta for part in parts) <= level.delta
