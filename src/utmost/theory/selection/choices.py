"""Selection among m candidates by closed forms, each with a law in rational numbers and exact draws.

The private statistic is a tally; a `Contest` derives scores and leads from it. b is a rational at or above the
e^-epsilon of a pure level, so privacy holds in exact arithmetic; at a level that is not pure it is the largest pure one
that implies it (`pure_within`).

* *geometric noisy max*: every candidate's score gets noise r·G, Pr[G >= k] = b^k, r the sensitivity of a lead; the
  largest sum is named, ties by the public order. Private for every epsilon: one neighbour raises a candidate's
  probability at most as much as r more votes for it alone would; with the others' noise fixed it is named iff its G is
  at least some k, and then k falls by exactly 1 (proof in docs/theory.md);
* *permute and flip* (McKenna, Sheldon 2020): candidates in random order, each accepted with probability b^gap; the same
  with exponential noise (Ding, Kifer, Saghaian, Steinke, Wang, Xiao, Zhang 2021);
* *exponential mechanism* (McSherry, Talwar 2007): a candidate whose score is g below the best has weight b^g;
* *nearest*: a candidate D neighbours from being right is named with probability b^D/(1 + b), the right one otherwise;
* *three ranks*: for quantiles among three candidates, the same with less for both ends where both are near.

Where every neighbour moves all scores in one direction (under add/remove), the b of the second and third is the square
of what it must be otherwise. For the exponential mechanism: weight and total cannot both change unfavourably. For
permute and flip: if the others' scores rise by at most k, a candidate still wins wherever its own noise is larger by k,
which is e^-epsilon times as likely; if its own score rises, so does its probability, by at most as much.

Every draw compares all candidates, whoever is named, so its time reveals nothing.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from typing import Any, ClassVar, Self

import numpy as np
from flint import arb, ctx

from utmost.errors import InvalidInput
from utmost.exact import as_fmpq, as_rational, write_rational
from utmost.exact.arrays import Floats, Integers
from utmost.mechanism.certification import Check
from utmost.mechanism.exact_law import ExactMechanism
from utmost.mechanism.noise.layers import IntegerDraws, LayerLaw
from utmost.mechanism.sampling import Uniform, below
from utmost.privacy import ApproxDP, Level, level_from_json
from utmost.privacy.level import decay_above, decay_satisfies
from utmost.privacy.pure_part import implies, pure_within
from utmost.theory.selection.problem import Contest, Ranks, contest_from_json

SMALLEST = Fraction(1, 10**300)
"""The smallest decay accepted from a file, far below e^-500: its logarithm still fits a float."""
NODES = 40
"""Quadrature nodes for a product of up to a thousand factors: exact up to 80 of them, to 1e-12 above."""
NEGLIGIBLE = 1e-19
"""Candidates this much less likely than the best are ignored as competitors, in floating point."""


class ChoiceLaw(ExactMechanism):
    """A law over the m candidates of a contest, for every tally."""

    name: ClassVar[str]
    contest: Contest

    @abstractmethod
    def probabilities(self, tallies: Integers) -> Floats:
        """The probability of every candidate at every tally, in floating point."""

    def sample(self, point: Any) -> int:
        """Draw the place of a candidate exactly; the tally may hold any integers."""
        return self._draw(np.array([[int(count) for count in point]], dtype=object))

    @abstractmethod
    def _draw(self, tally: Any) -> int: ...


@dataclass(frozen=True, eq=False)
class DecayingChoice(ChoiceLaw):
    """A selection whose law is made of powers of one rational number.

    Attributes
    ----------
    contest : Contest
        What the tally decides.
    pure : ApproxDP
        The pure level that it satisfies.
    decay : Fraction
        The rational b, of which the power `steps` is at or above e^-epsilon.
    """

    contest: Contest
    pure: ApproxDP
    decay: Fraction

    @property
    def steps(self) -> int:
        """The power of the decay that must be at or above e^-epsilon."""
        return self.contest.score_reach

    @property
    def step_in_rows(self) -> float:
        """The number of rows by which a candidate must fall behind to become b times as likely, at most."""
        return 1 / self.contest.units

    def prove(self, space: Any, level: Level) -> Check:
        """Check exactly that the decay satisfies the pure level, and that this implies the required one."""
        if self.contest.tallies != space:
            return Check("privacy", False, f"the mechanism is made for {self.contest.tallies}, not for {space}")
        if not 0 < self.decay < 1 or self.pure.delta or not decay_satisfies(self.pure, self.decay, self.steps):
            return Check("privacy", False, f"its decay is not within {self.pure}")
        if self.pure != level and not implies(self.pure, level):
            return Check("privacy", False, f"it keeps {self.pure}, which does not imply {level}")
        power = "b" if self.steps == 1 else f"b^{self.steps}"
        implied = "" if self.pure == level else f", which implies {level}"
        detail = f"{self.pure} proved in exact arithmetic for every tally: {power} is at or above e^-epsilon{implied}"
        return self._check_conditions(Check("privacy", True, detail))

    def _check_conditions(self, check: Check) -> Check:
        """Further conditions for privacy; none by default."""
        return check

    def wrong_at_most(self, number: int) -> float:
        """Upper bound on the probability that one of `number` wrong candidates is named, over all tallies.

        Scores may tie, or nearly: then all are named with equal probability.
        """
        return number / (number + 1)

    def to_json(self) -> dict[str, Any]:
        """The parameters as plain data."""
        return {"on": self.contest.to_json(), "pure": self.pure.to_json(), "decay": write_rational(self.decay)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The mechanism of a file."""
        pure = level_from_json(data["pure"])
        if not isinstance(pure, ApproxDP):
            raise InvalidInput("a choice by powers keeps a pure level.")
        decay = as_rational(str(data["decay"]), "the decay")
        if not SMALLEST <= decay < 1:
            raise InvalidInput(f"a choice by powers has a decay of at least {float(SMALLEST):g} and below 1.")
        return cls(contest_from_json(data["on"]), pure, decay)


class NoisyMax(DecayingChoice):
    """Geometric noisy max: the largest score after geometric noise.

    Examples
    --------
    >>> from utmost.theory.selection.problem import Votes
    >>> from utmost.privacy import PureDP
    >>> from utmost.space.integers import Tallies
    >>> law = NoisyMax(Votes(Tallies(3, 20, "add-remove")), PureDP.from_ratio(3), Fraction(1, 3))
    >>> law.probabilities(np.array([[5, 4, 4]])).round(4).tolist()
    [[0.8419, 0.0812, 0.0769]]
    >>> bool(law.prove(law.contest.tallies, PureDP.from_ratio(3)).passed)
    True
    """

    kind = "noisy-max"
    name = "geometric noisy max"

    @property
    def steps(self) -> int:
        """One neighbour moves every lead by at most one unit of noise."""
        return 1

    @property
    def step_in_rows(self) -> float:
        """One unit of noise in rows."""
        return self.reach / (self.contest.units if isinstance(self.contest, Ranks) else 1)

    @property
    def reach(self) -> int:
        """One unit of noise in units of score: the sensitivity of a lead."""
        return self.contest.score_reach if isinstance(self.contest, Ranks) else self.contest.lead_reach

    def probabilities(self, tallies: Integers) -> Floats:
        """The probabilities in closed form.

        Candidate j is named with sum v = x_j + r·G_j iff every other one's sum is below v, or at v and after j in the
        public order: with t = b^l, where v = v_0 + r·l and v_0 is the least possible sum, that has probability
        prod over i before j of (1 - t·b^ceil((v_0 - x_i)/r)), and over i after j of (1 - t·b^(floor(...) + 1)). The
        average over l, geometric, is that of a polynomial of degree m - 1 in t, integrated exactly by Gauss quadrature.
        """
        x, r, rate = self._scores(tallies), self.reach, math.log(self.decay)
        best = x.max(axis=1, keepdims=True)
        chances = np.exp(rate * -((x - best) // r))
        for rows, columns in _group_by_support(chances):
            supported = np.take_along_axis(chances[rows], columns, axis=1)
            exact_chances = self._chances_near(np.take_along_axis(x[rows], columns, axis=1), best[rows])
            chances[rows] *= self._chance_unbeaten(supported)[:, None]  # too far behind to compete with each other
            chances[rows[:, None], columns] = exact_chances
        return np.asarray(chances)

    def _chances_near(self, x: Integers, best: Integers) -> Floats:
        r = self.reach
        chances = np.zeros(x.shape)
        if r <= x.shape[1]:  # candidates with the same residue share their sums
            for remainder in range(r):
                same_residue = x % r == remainder
                if same_residue.any():
                    chances[same_residue] = self._chances_from(x, best + (remainder - best) % r)[same_residue]
        else:
            for j in range(x.shape[1]):
                chances[:, j] = self._chances_from(x, best + (x[:, [j]] - best) % r)[:, j]
        return chances

    def _chances_from(self, x: Integers, first_sums: Integers) -> Floats:
        r, rate = self.reach, math.log(self.decay)
        upper = np.exp(rate * -(-(first_sums - x) // r))
        if x.shape[1] == 1:
            return np.asarray(upper)
        lower = np.exp(rate * ((first_sums - x) // r + 1))
        chances = np.zeros(x.shape)
        for t, weight in zip(*_geometric_nodes(self.decay, min(x.shape[1] // 2 + 1, NODES)), strict=True):
            up = np.cumprod(1 - t * upper[:, :-1], axis=1)
            down = np.cumprod(1 - t * lower[:, :0:-1], axis=1)[:, ::-1]
            chances[:, 0] += weight * down[:, 0]
            chances[:, 1:-1] += weight * up[:, :-1] * down[:, 1:]
            chances[:, -1] += weight * up[:, -1]
        return np.asarray(chances * upper)

    def _chance_unbeaten(self, ahead: Floats) -> Floats:
        nodes = _geometric_nodes(self.decay, min(ahead.shape[1] // 2 + 1, NODES))
        return sum((w * (1 - t * ahead).prod(axis=1) for t, w in zip(*nodes, strict=True)), np.zeros(len(ahead)))

    def wrong_at_most(self, number: int) -> float:
        """A wrong candidate is named only if its noise exceeds that of the right one: the probability that one does."""
        ahead = np.full((1, number), float(self.decay))
        return float(1 - self._chance_unbeaten(ahead)[0])

    def _scores(self, tallies: Any) -> Any:
        return self.contest.scores(tallies) if isinstance(self.contest, Ranks) else tallies

    def _draw(self, tally: Any) -> int:
        noise = geometric_draws(self.decay, self.contest.size)
        sums = [x + self.reach * g for x, g in zip(self._scores(tally)[0].tolist(), noise, strict=True)]
        return max(range(len(sums)), key=lambda j: (sums[j], -j))


class PermuteAndFlip(DecayingChoice):
    """Candidates in random order, each accepted with probability b^gap."""

    kind = "permute-and-flip"
    name = "permute and flip"

    def probabilities(self, tallies: Integers) -> Floats:
        """An integral over the time at which candidates are tried: a polynomial of degree m - 1."""
        chances = _acceptance(self, tallies)
        for rows, columns in _group_by_support(chances):
            acceptance = np.take_along_axis(chances[rows], columns, axis=1)
            nodes, weights = np.polynomial.legendre.leggauss(min(acceptance.shape[1] // 2 + 1, NODES))
            integral, nobody_accepted = np.zeros_like(acceptance), np.zeros(len(rows))
            for t, w in zip((nodes + 1) / 2, weights / 2, strict=True):
                rejection = 1 - t * acceptance
                nobody = w * rejection.prod(axis=1)
                integral += nobody[:, None] / rejection
                nobody_accepted += nobody
            chances[rows] *= nobody_accepted[:, None]  # too far behind to compete with each other
            chances[rows[:, None], columns] = acceptance * integral
        return chances

    def _draw(self, tally: Any) -> int:
        behind = _gaps(self, tally)[0].tolist()
        waiting = list(range(len(behind)))
        order = [waiting.pop(below(len(waiting))) for _ in behind]
        accepted = [candidate for candidate in order if _flip(self.decay, behind[candidate])]
        return int(accepted[0])  # all coins were flipped, so that the time does not tell which came first


class Exponential(DecayingChoice):
    """Each candidate's weight is b^gap."""

    kind = "exponential"
    name = "exponential mechanism"

    def probabilities(self, tallies: Integers) -> Floats:
        """The weights over their sum."""
        accepted = _acceptance(self, tallies)
        return np.asarray(accepted / accepted.sum(axis=1, keepdims=True))

    def _draw(self, tally: Any) -> int:
        behind = _gaps(self, tally)[0].tolist()

        def cuts(power: Callable[[int], arb]) -> list[arb]:
            sums = _cumulative([power(gap) for gap in behind])
            return [part / sums[-1] for part in sums[:-1]]

        return _draw_interval(self.decay, len(behind), cuts)


class NearestChoice(DecayingChoice):
    """A candidate D > 0 neighbours from being right has probability b^D/(1 + b), the right one the rest."""

    kind = "nearest-choice"
    name = "nearest"

    @property
    def steps(self) -> int:
        """One neighbour is one step."""
        return 1

    @property
    def step_in_rows(self) -> float:
        """The change of a rank by one neighbour, in rows."""
        return self.contest.lead_reach / (self.contest.units if isinstance(self.contest, Ranks) else 1)

    def _check_conditions(self, check: Check) -> Check:
        """Private if the b^D of the wrong candidates never sum to more than 1; the sum is largest for the empty table.

        There every other candidate is one neighbour from being right, and none is ever nearer.
        """
        if (self.contest.size - 1) * self.decay <= 1:
            return check
        return Check("privacy", False, f"the chances of {self.contest.size - 1} wrong answers may add up to too much")

    def probabilities(self, tallies: Integers) -> Floats:
        """The probabilities from the distances."""
        steps = self.contest.steps(tallies).astype(float)
        chances = np.exp(steps * math.log(self.decay)) / (1 + float(self.decay))
        right = self.contest.winners(tallies)[:, None] == np.arange(self.contest.size)
        chances[right] = 0.0
        return np.asarray(np.where(right, 1 - chances.sum(axis=1, keepdims=True), chances))

    def wrong_at_most(self, number: int) -> float:
        """Every wrong candidate is at least one step away."""
        b = float(self.decay)
        return number * b / (1 + b)

    def _draw(self, tally: Any) -> int:
        steps, winner = self.contest.steps(tally)[0].tolist(), int(self.contest.winners(tally)[0])
        order = [j for j in range(len(steps)) if j != winner] + [winner]

        def cuts(power: Callable[[int], arb]) -> list[arb]:
            return _cumulative([power(steps[j]) / (1 + power(1)) for j in order[:-1]])

        return order[_draw_interval(self.decay, len(order), cuts)]


class ThreeRanks(NearestChoice):
    """A quantile among three candidates: *nearest*, with lower probabilities for the ends where both are near.

    Let s_1 and s_2 be the signed steps of the two borders: the quantile is the first candidate iff s_1 <= 0, the last
    iff s_2 >= 1. With B = 1/((1 + b)(1 + b^(s_1 - s_2 + 1))) an end that is wrong has b^(s_1)·B or b^(1 - s_2)·B, a
    wrong middle b^(s_2)/(1 + b) or b^(1 - s_1)/(1 + b), the quantile the rest. No wrong answer is likelier than by
    *nearest*. Private if b + b^2 <= 1, so from epsilon = 0.4813 on (proof in docs/theory.md).

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> from utmost.space.integers import Tallies
    >>> ranks = Ranks(Tallies(3, 20, "add-remove"), Fraction(1, 2), (10.0, 20.0, 30.0))
    >>> law = ThreeRanks(ranks, PureDP.from_ratio("5/3"), Fraction(3, 5))
    >>> law.probabilities(np.array([[4, 3, 4]])).round(4).tolist(), bool(law.prove(ranks.tallies, law.pure).passed)
    ([[0.1313, 0.7899, 0.0788]], True)
    """

    kind = "three-ranks"
    name = "three ranks"

    def _check_conditions(self, check: Check) -> Check:
        """Private if b + b^2 <= 1."""
        if not isinstance(self.contest, Ranks) or self.contest.size != 3:
            return Check("privacy", False, "it is made for quantiles among three candidates")
        if self.decay + self.decay**2 <= 1:
            return check
        return Check("privacy", False, "it is private where b + b^2 is at most 1, and that is more here")

    def probabilities(self, tallies: Integers) -> Floats:
        """The probabilities from the signed steps of the two borders."""
        first, second = self._border_steps(tallies)
        b, rate = float(self.decay), math.log(self.decay)
        ends = np.exp(rate * np.stack([np.maximum(first, 1), np.maximum(1 - second, 1)], axis=1))
        ends /= ((1 + b) * (1 + np.exp(rate * (first - second + 1))))[:, None]
        middle = np.exp(rate * np.maximum(np.maximum(second, 1 - first), 1)) / (1 + b)
        chances = np.stack([ends[:, 0], middle, ends[:, 1]], axis=1)
        right = self.contest.winners(tallies)[:, None] == np.arange(3)
        chances[right] = 0.0
        return np.asarray(np.where(right, 1 - chances.sum(axis=1, keepdims=True), chances))

    def _border_steps(self, tallies: Any) -> tuple[Any, Any]:
        assert isinstance(self.contest, Ranks)
        ranks = self.contest.signed_steps(tallies)
        return ranks[:, 0], ranks[:, 1]

    def _draw(self, tally: Any) -> int:
        (first,), (second,) = (steps.tolist() for steps in self._border_steps(tally))
        winner = int(self.contest.winners(tally)[0])
        order = [j for j in range(3) if j != winner] + [winner]

        def cuts(power: Callable[[int], arb]) -> list[arb]:
            ends = (1 + power(1)) * (1 + power(first - second + 1))
            middle = power(max(second, 1 - first, 1)) / (1 + power(1))
            shares = (power(max(first, 1)) / ends, middle, power(max(1 - second, 1)) / ends)
            return _cumulative([shares[j] for j in order[:-1]])

        return order[_draw_interval(self.decay, 3, cuts)]


def _gaps(law: DecayingChoice, tallies: Any) -> Any:
    scores = law.contest.scores(tallies)
    return scores.max(axis=1, keepdims=True) - scores


def _acceptance(law: DecayingChoice, tallies: Integers) -> Floats:
    return np.asarray(np.exp(_gaps(law, tallies).astype(float) * math.log(law.decay)))


def _group_by_support(chances: Floats) -> Iterator[tuple[Integers, Integers]]:
    """Group rows by how many columns matter, with these columns in order: all others are negligible.

    With hundreds of candidates most are hopeless at most tallies, and a group's cost grows with its columns.
    """
    m = chances.shape[1]
    count = (chances > NEGLIGIBLE).sum(axis=1)
    sizes = [k for k in (2, 4, 8, 16, 32, 64) if k < m] + [m]
    for above, k in pairwise([0, *sizes]):
        rows = np.flatnonzero((count > above) & (count <= k))
        if len(rows):
            every = np.broadcast_to(np.arange(m), (len(rows), m))
            yield rows, every if k == m else np.sort(np.argpartition(-chances[rows], k, axis=1)[:, :k], axis=1)


@lru_cache(maxsize=256)
def _geometric_nodes(decay: Fraction, number: int) -> tuple[Floats, Floats]:
    """Gauss nodes and weights: exact for polynomials of degree below 2·number in b^L, L geometric.

    The orthogonal polynomials are the little q-Legendre ones with q = b, whose recurrence is known (Koekoek, Swarttouw
    1998, 3.12); nodes and weights are eigenvalues and first components of the Jacobi matrix (Golub, Welsch 1969).
    """
    n = np.arange(number + 1)
    rate = math.log(decay)
    rest = -np.expm1(rate * np.arange(2 * number + 3))  # 1 - b^k
    q = np.exp(rate * n)
    with np.errstate(invalid="ignore"):
        a = q * rest[n + 1] ** 2 / (rest[2 * n + 1] * rest[2 * n + 2])
        c = np.where(n > 0, q * rest[n] ** 2 / (rest[2 * n] * rest[2 * n + 1]), 0.0)
    matrix = np.diag((a + c)[:number]) + np.diag(s := np.sqrt(a[: number - 1] * c[1:number]), 1) + np.diag(s, -1)
    nodes, vectors = np.linalg.eigh(matrix)
    return np.clip(nodes, 0.0, 1.0), np.asarray(vectors[0] ** 2)


# ---- exact draws ----


@lru_cache(maxsize=64)
def _draws(decay: Fraction) -> IntegerDraws:
    return IntegerDraws(LayerLaw(decay, 1, 1))


def can_draw(decay: Fraction) -> bool:
    """Whether geometric noise of this decay fits 64-bit integers; otherwise it is too wide to be of use."""
    return _draws(decay).fits


def formula_choices(contest: Contest, level: Level) -> list[ChoiceLaw]:
    """The selection mechanisms that are private by a closed form, with which others are compared.

    Examples
    --------
    >>> from utmost.theory.selection.problem import Votes
    >>> from utmost.privacy import PureDP
    >>> from utmost.space.integers import Tallies
    >>> [law.name for law in formula_choices(Votes(Tallies(3, 20, "add-remove")), PureDP(1))]
    ['geometric noisy max', 'permute and flip', 'exponential mechanism']
    """
    pure, laws = pure_within(level), list[ChoiceLaw]()
    if pure is None:
        return laws
    lead_decay, score_decay = decay_above(pure), decay_above(pure, contest.score_reach)
    if 0 < lead_decay < 1 and can_draw(lead_decay):
        laws.append(NoisyMax(contest, pure, lead_decay))
    if isinstance(contest, Ranks) and lead_decay > 0 and (contest.size - 1) * lead_decay <= 1:
        laws.append(NearestChoice(contest, pure, lead_decay))
    if isinstance(contest, Ranks) and contest.size == 3 and lead_decay > 0 and lead_decay + lead_decay**2 <= 1:
        laws.append(ThreeRanks(contest, pure, lead_decay))
    if 0 < score_decay < 1:
        laws += [PermuteAndFlip(contest, pure, score_decay), Exponential(contest, pure, score_decay)]
    return laws


def geometric_draws(decay: Fraction, size: int) -> list[int]:
    """Draw independent integers with Pr[G >= k] = decay^k, exactly."""
    draws = _draws(decay)
    if not draws.fits:
        raise InvalidInput("privacy allows so little that the noise does not fit 64 bits; allow a larger epsilon.")
    values: list[int] = draws.positions(size).tolist()
    return values


def _draw_interval(decay: Fraction, parts: int, cuts: Callable[[Callable[[int], arb]], Sequence[arb]]) -> int:
    """Draw the index of the part of [0, 1] in which a uniform number falls; it is compared with all cuts.

    `cuts` returns the ends of all parts but the last, in increasing order, from balls around powers of the decay.
    """
    number, balls = Uniform(), dict[int, Sequence[arb]]()

    def enclose(place: int, bits: int) -> arb:
        if bits not in balls:
            with ctx.workprec(_precision(decay, bits)):
                balls[bits] = cuts(partial(_power, decay, bits))
        return balls[bits][place]

    return sum(not number.is_below(partial(enclose, place)) for place in range(parts - 1))


def _precision(decay: Fraction, bits: int) -> int:
    return bits + 192 + decay.denominator.bit_length()


@lru_cache(maxsize=256)
def _logarithm(decay: Fraction, bits: int) -> tuple[arb, arb, int]:
    """The logarithm of the decay, its inverse, and the number of steps after which powers are below the precision."""
    with ctx.workprec(_precision(decay, bits)):
        base = arb(as_fmpq(decay))
        return base.log(), 1 / base, math.ceil((bits + 128) / max(-math.log(decay), 1e-300))


def _power(decay: Fraction, bits: int, times: int) -> arb:
    """A ball around a power of the decay; below the precision, one that contains the power and 0.

    Every power takes the same operations, whatever the exponent: an exponential whose argument is never 0.
    """
    rate, inverse, last = _logarithm(decay, bits)
    ball = (rate * (min(times, last) + 1)).exp() * inverse
    return ball if times <= last else ball.union(0)


def _cumulative(shares: Sequence[arb]) -> list[arb]:
    return list(accumulate(shares))


def _flip(decay: Fraction, times: int) -> bool:
    """True with probability decay^times, exactly; the time hardly depends on either."""

    def bound(bits: int) -> arb:
        with ctx.workprec(_precision(decay, bits)):
            return _power(decay, bits, times)

    return Uniform().is_below(bound)
