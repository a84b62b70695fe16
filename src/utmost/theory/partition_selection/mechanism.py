"""Keys nobody listed: how likely a key is shown that n units hold, and the exact draw.

A key that nobody listed is private until it is shown. The most that a level lets a key be shown is found step by step:
nobody holds it, it is never shown, p(0) = 0; one unit more raises the probability by no more than the level allows,
p(n + 1) = upper(p(n)). No private mechanism shows a key more often, for any n (Desfontaines, Voss, Gipson and Mandayam
2022; by induction).

The same as a draw: every key gets a threshold T of its own with Pr[T <= n] = p(n), and is shown where at least T units
hold it. So T is also noise: where n - T + border is shown beside the key, Pr[shown >= t] is p(n - t + border), again an
orbit of `upper`, and going from n to n + 1 takes every such tail by one step. Likelihood ratios are monotone (`upper`
is concave), so tails are the best tests, and the number costs nothing more than the key.

**Several keys change at once** if a unit holds several, or is replaced. Every key then gets a level of its own whose
composition keeps the promise; two families are known here, and both are decided exactly:

| one key's level | upper(a) | m of them together |
|---|---|---|
| (e, d) | min(E a + d, 1 - (1 - d - a)/E) | Kairouz, Oh and Viswanath (LIM Theorem 2.4.3) |
| mu-Gaussian, all told with probability d | d + (1 - d) Phi(Phi^-1(a/(1-d)) + mu) | the same: mu sqrt(m), 1 - (1-d)^m |

The second keeps an (epsilon, delta) level by the delta of its composition, and a Gaussian level with a delta
(`ApproxGaussianDP`) as it is: of one key it is the level's own upper function, and so its optimum.
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
from utmost.mechanism.noise.lattice import IndependentLaw, NoisyVector
from utmost.mechanism.tail_sampling import TailDraws
from utmost.privacy import ApproxDP, ApproxGaussianDP, GaussianDP, Level, level_from_json
from utmost.space.integers import Holders

MOST_USERS = 10**7
"""Thresholds beyond this are not listed: a level that needs more users shows nothing that matters."""
MOST_ORBIT = 20_000
"""How many Gaussian steps are taken one by one."""
MOST_EXTRA = 2**15
"""How many bits more than asked for Gaussian steps are computed with, at most."""
MOST_CHANGES = 10**4
"""How many keys may change at once: their composition is a sum of so many terms."""


@dataclass(frozen=True)
class KeepLaw:
    """The law of one key's threshold, from the level of that key.

    Attributes
    ----------
    level : of one step: an (epsilon, delta) level, or a Gaussian one
    lost : of a Gaussian level, the probability with which a step may tell all; 0 for others, whose delta says it

    Examples
    --------
    >>> law = KeepLaw(ApproxDP(1, 1e-6))
    >>> law.kept([10, 14, 28]).round(6)
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
        """Which law it is, in words."""
        if isinstance(self.level, GaussianDP):
            return f"{float(self.level.mu):.6g}-Gaussian steps, all told with probability {float(self.lost):.4g}"
        return f"steps of ({self.level.log_growth:.6g}, {float(self.level.delta):.4g})"

    # ---- probabilities ----

    def missing(self, n: ArrayLike) -> Floats:
        """The probability that a key is not shown which n units hold, in floats: all its digits where it is small."""
        at = np.asarray(n, dtype=np.int64)
        if isinstance(self.level, ApproxDP):
            return np.asarray(self.level.lower_after(at, 1.0))
        return self._gaussian_orbit[1][np.minimum(at, len(self._gaussian_orbit[1]) - 1)]

    def kept(self, n: ArrayLike) -> Floats:
        """The probability that a key is shown which n units hold, in floats: all its digits where it is small."""
        at = np.asarray(n, dtype=np.int64)
        if isinstance(self.level, ApproxDP):
            return np.asarray(self.level.upper_after(at, 0.0))
        return self._gaussian_orbit[0][np.minimum(at, len(self._gaussian_orbit[0]) - 1)]

    @cached_property
    def sure(self) -> int:
        """From how many units on a key is shown for certain."""
        if isinstance(self.level, GaussianDP):
            return len(self._gaussian_orbit[0]) - 1
        if self.missing(MOST_USERS) > 0:
            raise TooLarge(
                f"at {self.level} even a key of {MOST_USERS:,} users may stay hidden; allow a larger level, or fewer "
                "keys of each unit."
            )
        return first_integer(lambda n: bool(self.missing(n) == 0), 1)

    @cached_property
    def half(self) -> int:
        """From how many units on a key is shown with probability 1/2 or more."""
        return first_integer(lambda n: bool(self.kept(n) >= 0.5), 1)

    @cached_property
    def hidden(self) -> Floats:
        """The probabilities that a key stays hidden which 0, 1, ..., `sure` units hold."""
        return self.missing(np.arange(self.sure + 1))

    @property
    def mean_users(self) -> float:
        """How many units a key needs to be shown, on average: the mean of its threshold."""
        return float(math.fsum(self.hidden))

    @cached_property
    def chances(self) -> Floats:
        """How likely each threshold 1, 2, ..., `sure` is, each with all its digits."""
        hidden, shown = self.hidden, self.kept(np.arange(self.sure + 1))
        return np.where(shown[1:] < 0.5, np.diff(shown), -np.diff(hidden))

    @cached_property
    def _gaussian_orbit(self) -> tuple[Floats, Floats]:
        """What is kept and what is hidden at 0, 1, ... units, until nothing is hidden."""
        from scipy.special import ndtr, ndtri

        assert isinstance(self.level, GaussianDP)
        mu, lost = float(self.level.mu), float(self.lost)
        kept, hidden = [0.0, lost], [1.0, 1 - lost]
        while hidden[-1] > 0:
            if len(kept) > MOST_ORBIT:
                raise TooLarge(f"more than {MOST_ORBIT} Gaussian steps of {mu:g} are needed; allow a larger level.")
            rest = (hidden[-1] - lost) / (1 - lost)
            if rest <= 0:
                kept.append(1.0)
                hidden.append(0.0)
                break
            share = kept[-1] / (1 - lost)
            at = mu + (float(ndtri(share)) if share <= 0.5 else -float(ndtri(rest)))
            kept.append(lost + (1 - lost) * float(ndtr(at)))
            hidden.append((1 - lost) * float(ndtr(-at)))
        return np.array(kept), np.array(hidden)

    # ---- exact ----

    def enclose_missing(self, n: int, bits: int) -> arb:
        """A ball around the probability that a key is not shown which n units hold."""
        if isinstance(self.level, GaussianDP):
            orbit = _gaussian_balls(self, -(-(bits + 64) // 128) * 128)
            return orbit[min(n, len(orbit) - 1)]
        level = self.level
        with ctx.workprec(bits + 96 + 2 * max(n, 1).bit_length()):
            grown, delta = growth(level), arb(as_fmpq(level.delta))
            if level.log_growth == 0:
                return (1 - n * delta).max(arb(0))
            turning = int(np.clip(level._turning(np.array(0.0)), 0, 2**62))
            found = arb(0)
            for steps in {min(max(turning + shift, 0), n) for shift in (-1, 0, 1)}:
                left = n - steps  # each split bounds what is hidden from below, and the best one is attained
                shown = delta * (grown**steps - 1) / (grown - 1)
                spent = delta * (1 - grown ** (-left)) / (grown - 1)
                found = found.max((1 - shown) * grown ** (-left) - spent)
            return found

    def draw(self, size: int) -> NDArray[np.int64]:
        """So many thresholds, independently and exactly."""
        return np.asarray(self._draws.draw(size)[0] + 1)

    @cached_property
    def _draws(self) -> TailDraws:
        return TailDraws(self.enclose_missing)

    def keeps(self, changes: int, level: Level) -> bool:
        """Whether so many keys that change by one unit each, all together, keep a level: decided exactly."""
        if isinstance(level, ApproxGaussianDP):
            return _gaussians_are(self, changes, level)
        if not isinstance(level, ApproxDP):
            return False
        if not 1 <= changes <= MOST_CHANGES or level.exponent == math.inf:
            return level.exponent == math.inf and changes >= 1
        if isinstance(self.level, GaussianDP):
            return _gaussians_keep(self.level, self.lost, changes, level)
        if changes == 1:
            grows = compare(_growth_sum(self.level), _growth_sum(level)) <= 0
            return bool(grows and self.level.delta <= level.delta)
        return _compose(self.level, changes, level)

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
def _gaussian_balls(law: KeepLaw, bits: int) -> list[arb]:
    """Balls around what is hidden at 0, 1, ... units, until nothing is, each narrower than 2^-bits.

    Every step widens them, the more the smaller `lost` is; so the working precision is doubled until they are narrow.
    """
    extra = 256 + 2 * law.lost.denominator.bit_length()  # 1 - lost must be told from 1
    while extra <= MOST_EXTRA:
        found = _gaussian_steps(law, bits + extra)
        if found is not None and all(ball.rad() < arb(2) ** -bits for ball in found):
            return found
        extra *= 2
    raise TooLarge(f"{law.name}: exact draws would take more than {MOST_EXTRA} bits; allow a larger delta.")


def _gaussian_steps(law: KeepLaw, precision: int) -> list[arb] | None:
    """The same at one working precision; None where it is too low to go on."""
    assert isinstance(law.level, GaussianDP)
    with ctx.workprec(precision):
        mu, lost, root = arb(as_fmpq(Fraction(law.level.mu))), arb(as_fmpq(law.lost)), arb(2).sqrt()
        found = [arb(1), 1 - lost]
        for _ in range(MOST_ORBIT):
            rest = (found[-1] - lost) / (1 - lost)
            if rest <= 0:
                return [*found, arb(0)]
            if not rest > 0:  # the ball does not tell whether anything is left: at most a little is
                most = rest.abs_upper()
                high = (1 - lost) * (((2 * most).erfcinv() * root + mu) / root).erfc() / 2
                return [*found, (high / 2).union(arb(0)).union(high), arb(0)]
            if not rest < 1:
                return None
            found.append((1 - lost) * (((2 * rest).erfcinv() * root + mu) / root).erfc() / 2)
    raise TooLarge(f"more than {MOST_ORBIT} Gaussian steps are needed; allow a larger level.")


def growth(level: ApproxDP) -> arb:
    """A ball around e^epsilon, at the working precision."""
    return arb(as_fmpq(level.ratio)) * arb(as_fmpq(Fraction(level.exponent))).exp()


def _growth_sum(level: ApproxDP) -> ExpSum:
    return ExpSum.rational(level.ratio).times(Fraction(1), Fraction(level.exponent))


@cites("LIM-theorem-2.4.3")
def _compose(step: ApproxDP, changes: int, level: ApproxDP) -> bool:
    """Whether the composition of equal levels keeps another: at ((m - 2i) e, 1 - (1 - d)^m (1 - d_i)) for some i."""
    room = as_fmpq(1 - level.delta)
    for i in range(changes // 2 + 1):
        times = _growth_power(step, changes - 2 * i)
        if compare(times, _growth_sum(level)) > 0:
            continue

        def left(bits: int, i: int = i) -> arb:
            with ctx.workprec(bits + 64 + 4 * changes.bit_length() + changes):
                whole: arb = (1 - arb(as_fmpq(step.delta))) ** changes
                return whole * (1 - composed_delta(growth(step), changes, i))

        if i == 0:  # no sum of exponentials: rationals
            return bool((1 - step.delta) ** changes >= 1 - level.delta)
        return compare(Enclosed(left), Enclosed(lambda bits: arb(room))) >= 0
    return False


def _growth_power(level: ApproxDP, times: int) -> ExpSum:
    return ExpSum.rational(level.ratio**times).times(Fraction(1), Fraction(level.exponent) * times)


def composed_delta(grown: arb, changes: int, i: int) -> arb:
    """A ball around the delta_i of the homogeneous case: what m equal pure levels leave at m - 2i of them."""
    total = arb(0)
    for far in range(i):
        total += math.comb(changes, far) * (grown ** (changes - far) - grown ** (changes - 2 * i + far))
    return total / (1 + grown) ** changes


def _gaussians_are(law: KeepLaw, changes: int, level: ApproxGaussianDP) -> bool:
    """Whether Gaussian steps together keep a Gaussian level with a delta: squares of mu add up; all in rationals."""
    if not isinstance(law.level, GaussianDP) or level.mu == math.inf or not 1 <= changes <= MOST_CHANGES:
        return False
    within = changes * Fraction(law.level.mu) ** 2 <= Fraction(level.mu) ** 2
    return within and (1 - law.lost) ** changes >= 1 - level.delta


def _gaussians_keep(step: GaussianDP, lost: Fraction, changes: int, level: ApproxDP) -> bool:
    """Whether Gaussian steps together keep (epsilon, delta): (1 - lost)^m (1 - delta_mu(epsilon)) >= 1 - delta."""

    def left(bits: int) -> arb:
        with ctx.workprec(bits + 128 + 8 * changes.bit_length()):
            told = gaussian_delta(changes * Fraction(step.mu) ** 2, level, bits)
            return (1 - arb(as_fmpq(lost))) ** changes * (1 - told)

    return compare(Enclosed(left), ExpSum.rational(1 - level.delta)) >= 0


@dataclass(frozen=True, eq=False)
class KeptKeys(ExactMechanism):
    """Keys that are shown by a threshold of their own, with a count or other numbers beside each.

    Attributes
    ----------
    law : of one key's threshold
    border : what n - T is added to and shown beside the key; None where no count is shown
    noise : of the numbers beside the keys; None where there are none
    spent : the levels of which the keys, and the numbers, are a share

    Examples
    --------
    >>> level = ApproxDP(1, 1e-6)
    >>> keys = KeptKeys(KeepLaw(level), 14, None, (level,))
    >>> places, shown = keys.sample(([1000, 0], None))                     # the second key has no holder
    >>> places.tolist(), bool(abs(shown[0, 0] - 1000) < 30)
    ([0], True)
    """

    kind: ClassVar[str] = "keys.kept"
    law: KeepLaw
    border: int | None
    noise: NoisyVector | None
    spent: tuple[Level, ...]

    @property
    def name(self) -> str:
        """Which mechanism it is, in words."""
        beside = "" if self.border is None else f", the count less it plus {self.border}"
        numbers = "" if self.noise is None else f"; {self.noise.name} on the numbers"
        return f"every key a threshold of its own ({self.law.name}){beside}{numbers}"

    def sample(self, point: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The places of the keys that are shown, and a row of numbers for each."""
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
        if not isinstance(space, Holders) or not promised or not self._is_whole(space):
            return Check("privacy", False, f"{level}: these keys and numbers are not those that are asked for")
        changes = space.changes
        kept = self.law.keeps(changes, self.spent[0]) and _within(self.spent, level)
        words = f"one neighbour changes {changes} key{'s' * (changes > 1)} by one unit each, {self.law.name} for each"
        if self.noise is not None:
            numbers = self.noise.prove(space.numbers, self.spent[1])
            alone = isinstance(self.noise.noise, IndependentLaw) or (self.noise.noise.dimension == 1 == changes)
            kept = kept and numbers.passed and alone
            words += f"; the numbers: {numbers.detail}"
        return Check("privacy", bool(kept), f"{level}: {words}; levels compared exactly")

    def _is_whole(self, space: Holders) -> bool:
        """Whether it has what the space asks for, since it may come from a file."""
        numbers = (self.noise is None) == (space.numbers is None) and len(self.spent) == (
            1 if self.noise is None else 2
        )
        counted = self.border is None or (type(self.border) is int and self.border >= 1 and self.noise is None)
        return numbers and counted and _are_shares(self.spent)

    # ---- the shown count ----

    def expected(self, loss: str) -> float:
        """The expected loss of a shown number: of the count, of a key that is sure to be shown."""
        from utmost.space.line import cost

        if self.noise is not None:
            return self.noise.expected(loss)
        if self.border is None:
            raise InvalidInput("no number is shown beside these keys.")
        thresholds = np.arange(1, self.law.sure + 1)
        return float(self.law.chances @ cost(loss, np.abs(self.border - thresholds)))

    def count_interval(self, shown: NDArray[Any], confidence: float) -> tuple[NDArray[Any], NDArray[Any]]:
        """Between which numbers the true counts of shown keys lie, given that they are shown.

        The true n is believed where T = n - shown + border is neither among the smallest nor among the largest of
        thresholds up to n, each with half of what the confidence leaves. p(n - i)/p(n) grows with n, so these n lie in
        a row.
        """
        if self.border is None:
            raise InvalidInput("no count is shown beside these keys.")
        excess = np.asarray(shown) - self.border
        known, sure = np.minimum(excess, self.law.sure).astype(np.int64), self.law.sure
        low, high = np.empty(sure + 1, dtype=np.int64), np.empty(sure + 1, dtype=np.int64)
        rest = (1 - confidence) / 2
        for i in np.unique(known).tolist():
            n = np.arange(i + 1, i + sure + 2)
            all_kept = self.law.kept(n)
            believed = (self.law.kept(n - i) > rest * all_kept) & (self.law.kept(n - i - 1) < (1 - rest) * all_kept)
            low[i], high[i] = n[believed][0] - i, n[believed][-1] - i
        return excess + low[known], excess + high[known]

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
        if not _are_shares(spent):
            raise InvalidInput("keys and numbers are shares of an (epsilon, delta) level, or of a Gaussian one.")
        noise = None if data["noise"] is None else NoisyVector.from_json(data["noise"])
        return cls(KeepLaw.from_json(data["law"]), border, noise, spent)


def _are_shares(spent: tuple[Level, ...]) -> bool:
    """Whether levels are of one kind: (epsilon, delta); or Gaussian, the first with a delta."""
    gaussian = [isinstance(part, ApproxGaussianDP if at == 0 else GaussianDP) for at, part in enumerate(spent)]
    return all(gaussian) or all(isinstance(part, ApproxDP) for part in spent)


def _within(parts: tuple[Any, ...], level: Any) -> bool:
    """Whether levels add up to at most another: exactly; of Gaussian ones the squares of mu do."""
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
