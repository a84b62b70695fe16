"""Composition: the exact privacy of several releases together, or certified bounds on it.

For levels (epsilon_l, delta_l) fixed in advance, adaptively chosen questions included, the total is

    delta(eps) = 1 - prod(1 - delta_l) (1 - E[(1 - e^(eps - L))+]),

with L the sum of independent losses +-epsilon_l of randomised response, +epsilon_l with probability
e^epsilon_l/(1 + e^epsilon_l) (LIM Theorem 2.4.3 for equal levels, and the argument of its proof for others). Nothing
smaller is true for all mechanisms with these levels. In general it is #P-hard to compute (Murtagh and Vadhan 2016);
`outcomes.py` computes it where it can be, `inversion.py` bounds it elsewhere. Of rho-zCDP levels only the moments of
the loss are known (`concentrated.py`): with one of them, the upper bound comes from moments, and the lower one from
Gaussian noise.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from flint import arb, ctx

from utmost.accounting.concentrated import moment_delta
from utmost.accounting.gaussian import gaussian_delta, mixed_delta
from utmost.accounting.inversion import Transform, bounds_of
from utmost.accounting.outcomes import Outcomes, few_outcomes, list_outcomes
from utmost.accounting.privacy_losses import ULP, Loss, loss_of
from utmost.accounting.regions import Region
from utmost.accounting.subsampling import PoissonSampled, SampledGaussians, sampled_loss
from utmost.errors import InvalidInput
from utmost.exact import BITS, Amount, Number, as_fmpq, as_rational, downward, endpoints, to_float, upward
from utmost.exact.citations import cites
from utmost.mechanism import Rows
from utmost.privacy import ZCDP, ApproxDP, ApproxGaussianDP, GaussianDP, Level, as_level
from utmost.privacy.level import epsilon_of, nonnegative
from utmost.solution import Solution

MOST_COUNT = 10**9
MOST = math.nextafter(math.inf, 0)
MOST_CORNERS = 10**5
QUICK = 100.0
"""The factor by which the bounds at the beginning of a search for epsilon are coarser."""


@cites("LIM-theorem-2.4.3")
def compose(levels: Iterable[Any] | Level | PoissonSampled | Number, times: int = 1) -> Composition:
    """The composition of releases at levels that are fixed in advance.

    The questions may depend on earlier answers; the levels, their number and their order may not. For adaptively chosen
    levels there are filters (`um.Ledger`).

    Parameters
    ----------
    levels : iterable or level
        Levels (a number is an epsilon), certified mechanisms, solutions, or pairs (mechanism, space). A mechanism
        counts with the actual privacy loss of its probabilities, which is less than its level allows. `loss_between` of
        a mechanism and two of its points stands for a release at two known datasets, `PoissonSampled` of a level for
        one on a random part of the rows.
    times : int
        How often the whole list is repeated, so that ten million releases need no list.

    Examples
    --------
    >>> import utmost as um
    >>> total = um.compose(um.ApproxDP(0.1, 0.001), times=30)
    >>> round(total.epsilon(0.05), 6)                             # basic composition says 3
    0.846303
    >>> um.compose([um.GaussianDP(0.3), um.GaussianDP(0.4)]).gaussian
    0.5
    >>> [round(x, 4) for x in um.compose(um.ZCDP(0.05), times=10).epsilon_bounds(1e-6)]
    [4.8866, 5.2215]
    """
    if not isinstance(times, int | np.integer) or isinstance(times, bool) or not 0 <= times <= MOST_COUNT:
        raise InvalidInput(f"times is {times!r}; give a whole number from 0 to {MOST_COUNT}.")
    single = isinstance(levels, str) or _is_release(levels) or not isinstance(levels, Iterable)
    items = [levels] if single else list(levels)  # type: ignore[arg-type]
    return _merged_composition([(part, int(times)) for item in items for part in _parts(_release(item))])


def composed(levels: Iterable[tuple[Level, int]]) -> Composition:
    """The composition of pairs (level, number of releases).

    Examples
    --------
    >>> composed([(GaussianDP(0.3), 1), (GaussianDP(0.2), 4)]).gaussian
    0.5
    """
    return _merged_composition([(part, count) for level, count in levels for part in _parts(level)])


class Composition:
    """Several releases taken together; made by `compose`."""

    def __init__(self, counted: dict[Any, int]) -> None:
        self.releases = tuple(counted.items())
        """The distinct releases, each with its number of occurrences."""
        self._squared_mu: Fraction | float = Fraction(0)
        self._rho: Fraction | float = Fraction(0)
        self._parts: list[tuple[Loss, int]] = []
        infinite: list[tuple[Fraction, int]] = []
        labels: list[tuple[Level | None, int]] = []
        entries: list[tuple[GaussianDP | ZCDP | Loss, int]] = []
        for item, count in self.releases:
            if isinstance(item, GaussianDP | ZCDP):
                if isinstance(item, ZCDP):
                    self._rho += count * item.rho
                else:
                    self._squared_mu += count * (item.mu**2 if item.mu == math.inf else Fraction(item.mu) ** 2)
                labels.append((item, count))
                entries.append((item, count))
                continue
            if isinstance(item, PoissonSampled) and item.is_gaussian:
                labels.append((None, count))
                continue
            loss = sampled_loss(item) if isinstance(item, PoissonSampled) else loss_of(item)
            entries.append((loss, count))
            labels.append((loss.label or loss.level, count))
            infinite += [(loss.infinite, count)] if loss.infinite else []
            if loss.values.any() or loss.blur:
                self._parts.append((loss, count))
        if math.inf in (self._squared_mu, self._rho):
            infinite = [(Fraction(1), 1)]
        self._infinite = _at_least_one(infinite)
        """Bounds on the probability that some loss is infinite: equal where they are exact."""
        self._fixed = _fixed_choices(entries)
        """Compositions that an attacker can attain, where the losses of this one only dominate them: lower bounds."""
        sampled = any(isinstance(item, PoissonSampled) and item.is_gaussian for item, _ in self.releases)
        self._sampled = SampledGaussians(self.releases) if sampled else None
        """The whole composition, if it has Gaussian levels on samples."""
        self._reverse: Composition | None = None
        if any(isinstance(entry, Loss) and entry.reverse for entry, _ in entries):
            self._reverse = _merged_composition([(_reversed(entry), count) for entry, count in entries])
        """The same releases with the two datasets exchanged, for asymmetric losses between given datasets."""
        self._labelled: Composition | None = None
        if any(loss.label for loss, _ in self._parts) and all(label is not None for label, _ in labels):
            self._labelled = _merged_composition(labels)
        """The same releases at their certified levels: an upper bound whatever the rounding of losses."""
        if self._rho and self._rho != math.inf and not self._fixed:
            self._fixed = [self._with_gaussian_noise()]

    def _with_gaussian_noise(self) -> Composition:
        """The same releases with each zCDP level replaced by Gaussian noise of the same rho = mu^2/2."""
        noisy = copy.copy(self)
        noisy._squared_mu, noisy._rho = self._squared_mu + 2 * self._rho, Fraction(0)
        return noisy

    @property
    def count(self) -> int:
        """The number of releases."""
        return sum(count for _, count in self.releases)

    @property
    def gaussian(self) -> float:
        """The mu of all Gaussian levels together: the square root of the sum of squares."""
        return math.sqrt(to_float(self._squared_mu))

    @cached_property
    def largest(self) -> Amount:
        """The sum of epsilons: the total at the least possible delta; infinite with Gaussian and zCDP levels."""
        if self._squared_mu or self._rho or self._sampled:
            return Amount(math.inf)
        total = Amount(Fraction(0))
        for loss, count in self._parts:
            if isinstance(loss.level, ApproxDP):
                total += epsilon_of(loss.level).times(count)
            else:
                total += Amount(Fraction(float(loss.values[-1] * (1 + 4 * ULP) + loss.blur))).times(count)
        return total

    @cached_property
    def _largest_float(self) -> float:
        """The sum of epsilons, or the next float above it."""
        bound = float(self.largest)
        if math.isinf(bound) or self.largest <= Amount(as_rational(bound)):
            return bound
        return float(np.nextafter(bound, np.inf))

    def delta(self, epsilon: Number) -> float:
        """The total delta at an epsilon, never too small: the upper one of `bounds`."""
        return self._at(epsilon, lower=False)[1]

    def bounds(self, epsilon: Number) -> tuple[float, float]:
        """A lower and an upper bound on the least total delta at an epsilon, with all rounding counted.

        The two agree to many digits for all levels but zCDP, and for mechanisms with one pair of neighbours that is the
        worst for every test, in either order. With zCDP levels the upper bound comes from moments, and the lower one is
        attained by Gaussian noise. For other mechanisms the upper bound is that of the hull of all pairs in every
        release; the lower one is attained by an attacker who fixes the ordered pair of neighbours in advance for every
        release but the last, and chooses that of the last by the answers so far.

        Examples
        --------
        >>> lower, upper = compose([0.1, 0.25, 0.7]).bounds(0.5)
        >>> lower <= upper < lower + 1e-12
        True
        """
        return self._at(epsilon)

    def _at(self, epsilon: Number, lower: bool = True) -> tuple[float, float]:
        """The bounds at an epsilon; `lower=False` saves the work of the lower one."""
        exact = nonnegative(epsilon, "epsilon")
        if exact == math.inf:
            return downward(self._infinite[0]), upward(self._infinite[1])
        beyond, rounded = self.largest <= Amount(exact), to_float(exact)
        if math.isinf(rounded):  # no float is so large: the bounds at infinity and at the largest float
            return downward(self._infinite[0]), self._bounds(MOST, beyond)[1]
        low, high = self._bounds(rounded, beyond)
        if self._fixed:
            attained = (composition.bounds(epsilon)[0] for composition in self._fixed) if lower else ()
            low = max([downward(self._infinite[0]), *attained])
        if self._reverse:
            back = self._reverse._at(epsilon, lower)
            low, high = max(low, back[0]), max(high, back[1])
        return min(low, high), high

    def epsilon(self, delta: Number) -> float:
        """The total epsilon at a delta, never too small; infinite if the deltas alone exceed it."""
        return self.epsilon_bounds(delta)[1] if self._reverse else self._least_epsilon(_probability(delta), 1)

    def epsilon_bounds(self, delta: Number) -> tuple[float, float]:
        """A lower and an upper bound on the least total epsilon at a delta."""
        target = _probability(delta)
        low = max((composition.epsilon_bounds(delta)[0] for composition in self._fixed), default=None)
        bounds = self._least_epsilon(target, 0) if low is None else low, self._least_epsilon(target, 1)
        if self._reverse is None:
            return bounds
        back = self._reverse.epsilon_bounds(delta)
        return max(bounds[0], back[0]), max(bounds[1], back[1])

    def surely_exceeds(self, epsilon: Number, delta: Number) -> bool:
        """Whether the total delta at an epsilon is certainly above this one; quick, by coarse bounds, False if unknown.

        Examples
        --------
        >>> compose(0.1, 30).surely_exceeds(1, 1e-6), compose(0.1, 30).surely_exceeds(3, 1e-6)
        (True, False)
        """
        at = to_float(nonnegative(epsilon, "epsilon"))
        return math.isfinite(at) and Fraction(self._bounds(at * (1 + ULP), False, QUICK)[0]) > _probability(delta)

    def region(self, lines: int = 200) -> Region:
        """The privacy region, as the intersection of (epsilon, delta) regions; never smaller than the true one.

        For a few equal levels the corners are those of LIM Theorem 2.4.3; for a few releases at two given datasets
        (`loss_between`) those of all likelihood-ratio tests, which is the region itself. Otherwise a number of epsilons
        is taken, up to the one at a delta 1e-12 above that of the infinite losses.

        Parameters
        ----------
        lines : int
            Number of epsilons to take where there are too many corners.

        Examples
        --------
        >>> import utmost as um
        >>> from utmost.accounting import loss_between
        >>> leaning = um.FiniteMechanism([[0.5, 0.5], [0.1, 0.9]], [0, 1], [0, 1])
        >>> um.compose(loss_between(leaning, 0, 1), times=2).region().corners.round(6).tolist()
        [[0.0, 1.0], [0.01, 0.75], [0.19, 0.25], [1.0, 0.0]]
        """
        if self._reverse is not None:
            return self._region_of_a_pair(lines)
        level = self._parts[0][0].level if len(self._parts) == 1 and not self._squared_mu else None
        if isinstance(level, ApproxDP) and self._parts[0][1] < 2 * lines:
            unit, count = epsilon_of(level), self._parts[0][1]
            epsilons = [float(unit.times(count - 2 * i)) for i in range(count // 2 + 1)]
        else:
            largest = self._least_epsilon(min(Fraction(1), self._infinite[1] + Fraction(1, 10**12)), 1)
            epsilons = np.linspace(0.0, largest, lines).tolist() if 0 < largest < math.inf else [0.0]
        return Region.from_levels([(e, self._bounds(e, False)[1]) for e in epsilons])

    def _region_of_a_pair(self, lines: int) -> Region:
        """The region between two given datasets: its corners if all outcomes are listed, else lines of both kinds."""
        outcomes = self._outcomes if not self._squared_mu and self._infinite[0] < 1 else None
        if outcomes is not None and len(outcomes.second[0]) == 1 and len(outcomes.first[0]) <= MOST_CORNERS:
            return Region.of_losses(*outcomes.first, float(self._infinite[1]))
        sides = []
        for composition in (self, self._reverse):
            assert composition is not None
            largest = composition._least_epsilon(min(Fraction(1), composition._infinite[1] + Fraction(1, 10**12)), 1)
            epsilons = np.linspace(0.0, largest, lines).tolist() if 0 < largest < math.inf else [0.0]
            sides.append([(e, composition._bounds(e, False)[1]) for e in epsilons])
        return Region.from_levels(sides[0], sides[1])

    def _bounds(self, epsilon: float, beyond: bool, coarse: float = 1.0) -> tuple[float, float]:
        if self._sampled:
            return self._sampled.delta(epsilon)
        low, high = (0.0, 0.0) if beyond else self._finite_bounds(epsilon, coarse)
        lost_low, lost_high = self._infinite
        lower = downward(lost_low + (1 - lost_low) * Fraction(low))
        upper = upward(lost_high + (1 - lost_high) * min(Fraction(high), Fraction(1)))  # rounding counted may exceed 1
        return lower, min(upper, self._labelled._bounds(epsilon, False, coarse)[1]) if self._labelled else upper

    def _finite_bounds(self, epsilon: float, coarse: float) -> tuple[float, float]:
        """Bounds on E[(1 - e^(epsilon - L))+] for the finite losses."""
        if self._infinite[0] == 1 or not (self._parts or self._squared_mu or self._rho):
            return 0.0, 0.0
        rounding = Fraction(epsilon) * Fraction(1, 2**52)  # epsilon was rounded to a float
        if self._rho:
            rho = Fraction(self._rho + self._squared_mu / 2)
            return 0.0, moment_delta(rho, self._parts, Fraction(epsilon) - rounding)
        if not self._parts:
            low, high = (
                gaussian_delta(Fraction(self._squared_mu), Fraction(epsilon) + d) for d in (rounding, -rounding)
            )
            return low[0], high[1]
        if self._outcomes is not None and self._squared_mu:
            return mixed_delta(self._outcomes, Fraction(self._squared_mu), epsilon)
        if self._outcomes is not None:
            return self._outcomes.delta(epsilon)
        return bounds_of(self._transform, epsilon, coarse)

    @cached_property
    def _outcomes(self) -> Outcomes | None:
        return few_outcomes(self._parts) if self._squared_mu else list_outcomes(self._parts)

    @cached_property
    def _transform(self) -> Transform:
        return Transform(self._parts, to_float(self._squared_mu))

    def _least_epsilon(self, target: Fraction, side: int) -> float:
        """The least epsilon whose lower (0) or upper (1) delta is at most this one, to the last digits."""
        lost = self._infinite[side]
        if target == 1:
            return 0.0
        if target < lost or lost == 1:
            return math.inf
        if self._sampled:
            return self._sampled.epsilon(downward(target) if side else upward(target), upper=side == 1)
        largest, delta = self._largest_float, downward(target) if side else upward(target)
        if target == lost or delta == 0:
            return largest

        def value(epsilon: float, coarse: float = 1.0) -> float:
            return self._bounds(epsilon, epsilon >= largest, coarse)[side]

        coarse = 1.0 if not self._parts or self._rho or self._outcomes is not None else QUICK
        if value(0.0, coarse) <= delta:
            return 0.0
        guess = _solve(lambda e: value(e, coarse), delta, self._start, largest, 1e-12 if coarse == 1 else 1e-6)
        if coarse > 1:  # Newton's method from the quick solution, with the slope of its neighbourhood
            step = 1e-3 * guess + 1e-9
            fall = (_log(value(guess, coarse)) - _log(value(guess + step, coarse))) / step
            for _ in range(3):
                ahead = _log(value(guess)) - _log(delta)
                if -1e-9 <= (ahead if side else -ahead) <= 0:
                    return min(guess, largest)
                guess = max(0.0, guess + (ahead + (3e-10 if side else -3e-10)) / max(fall, 1e-9))
        return _polish(value, delta, min(guess, largest), largest, upward=side == 1)

    @property
    def _start(self) -> float:
        """A typical epsilon of the composition, at which the search begins."""
        if self._rho:
            return self._fixed[0]._start
        if not self._parts:
            start = self.gaussian * (self.gaussian / 2 + 3)
        else:
            start = self._transform.mean + 3 * self._transform.deviation
        return start if 0 < start < math.inf else min(1.0, self._largest_float)

    def __add__(self, other: Composition) -> Composition:
        return _merged_composition([*self.releases, *other.releases])

    def __repr__(self) -> str:
        kinds = len(self.releases)
        description = f"{self.releases[0][0]}" if kinds == 1 else f"{kinds} different releases"
        return f"Composition of {self.count} release{'s' if self.count != 1 else ''} ({description})"


def _release(item: Any) -> Any:
    return item if _is_release(item) else as_level(item)


def _is_release(item: Any) -> bool:
    return isinstance(item, Level | PoissonSampled | Rows | Loss | Solution) or _is_pair(item)


def _parts(release: Any) -> tuple[Any, ...]:
    """The parts of a release: Gaussian privacy but for a delta counts as a Gaussian level and a delta."""
    if isinstance(release, ApproxGaussianDP):
        return GaussianDP(release.mu), ApproxDP(0, release.delta)
    return (release,)


def _merged_composition(releases: Iterable[tuple[Any, int]]) -> Composition:
    """The composition of releases, with the counts of equal levels added."""
    counts: dict[_ReleaseKey, int] = {}
    for item, count in releases:
        counts[_ReleaseKey(item)] = counts.get(_ReleaseKey(item), 0) + count
    return Composition({key.item: count for key, count in counts.items() if count})


def _reversed(entry: GaussianDP | ZCDP | Loss) -> GaussianDP | ZCDP | Loss:
    """The same release with the two datasets exchanged; Gaussian and zCDP levels are symmetric."""
    return entry.reverse if isinstance(entry, Loss) and entry.reverse is not None else entry


def _fixed_choices(entries: Sequence[tuple[GaussianDP | ZCDP | Loss, int]]) -> list[Composition]:
    """Compositions attained by attackers who fix the neighbours of all releases but the last in advance.

    In the last release, chosen when all other answers are known, the hull of all pairs is attained. The others use the
    n-th pair of every mechanism, or two of them for half of the releases each. Empty if all hulls are attained.
    """
    unattained = [at for at, (release, _) in enumerate(entries) if isinstance(release, Loss) and release.attained]
    if sum(entries[at][1] for at in unattained) <= 1:
        return []
    last = entries[unattained[-1]][0]
    assert isinstance(last, Loss)
    pairs = [(isinstance(release, Loss) and release.attained) or (release,) for release, _ in entries]
    counts = [count - (at == unattained[-1]) for at, (_, count) in enumerate(entries)]
    hull: tuple[Any, int] = (replace(last, attained=(), label=None), 1)
    return [
        _merged_composition(
            [
                hull,
                *(
                    (choices[min(which, len(choices) - 1)], share)
                    for choices, count in zip(pairs, counts, strict=True)
                    for which, share in ((first, count - count // 2), (second, count // 2))
                ),
            ]
        )
        for first, second in combinations_with_replacement(range(max(map(len, pairs))), 2)
    ]


class _ReleaseKey:
    """A key by which releases are counted: levels by equality, everything else by identity."""

    def __init__(self, item: Any) -> None:
        self.item = item
        by_value = isinstance(item, Level | PoissonSampled)
        self._key = item if by_value else tuple(map(id, item)) if _is_pair(item) else id(item)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ReleaseKey) and self._key == other._key


def _is_pair(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], Rows)


def _at_least_one(chances: Iterable[tuple[Fraction, int]]) -> tuple[Fraction, Fraction]:
    """Bounds on 1 - prod (1 - chance)^count: exact unless that has too many digits."""
    pairs = list(chances)
    if sum(count * chance.denominator.bit_length() for chance, count in pairs) < 10**5:
        exact = 1 - math.prod(((1 - chance) ** count for chance, count in pairs), start=Fraction(1))
        return exact, exact
    with ctx.workprec(BITS):
        low, high = endpoints(
            1 - math.prod((arb(as_fmpq(1 - chance)) ** count for chance, count in pairs), start=arb(1))
        )
    return max(low, Fraction(0)), min(high, Fraction(1))


def _probability(delta: Number) -> Fraction:
    target = as_rational(delta, "delta")
    if not 0 <= target <= 1:
        raise InvalidInput(f"delta is {delta!r}; it is a probability, so give a number between 0 and 1.")
    return target


def _solve(value: Callable[[float], float], delta: float, start: float, largest: float, precision: float) -> float:
    """The point where a decreasing function that is above delta at 0 falls below it, in floating point."""
    from scipy.optimize import brentq

    def above(epsilon: float) -> float:
        return _log(value(epsilon)) - _log(delta)

    low, high = 0.0, min(start, largest)
    while above(high) > 0:
        if high >= largest:
            return largest
        low, high = high, min(2 * high, largest)
    if math.isinf(high):  # beyond the floats
        return low
    return float(brentq(above, low, high, xtol=precision, rtol=max(precision / 4, 1e-13)))


def _log(delta: float) -> float:
    return math.log(max(delta, 5e-324))


def _polish(value: Callable[[float], float], delta: float, guess: float, largest: float, upward: bool) -> float:
    """Move a guess until it is certainly on the safe side, by growing steps that start at the last digits."""
    step = 4 * ULP * max(guess, 1e-3)
    if upward:
        while guess < largest and value(guess) > delta:
            guess, step = min(guess + step, largest), 4 * step
        return guess
    while guess > 0 and value(guess) <= delta:
        guess, step = max(guess - step, 0.0), 4 * step
    return guess
