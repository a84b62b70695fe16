"""Exact noise on vectors of integers, shaped to the sensitivity set.

Two kinds of law. *Balls*: the probability of a vector falls by one factor with every `period` steps away from 0, in the
norm whose unit ball is the sensitivity set of one row (`mechanism/noise/integer_balls.py`). One neighbour changes the
norm by at most its sensitivity, by the triangle inequality, so probabilities change by at most that many factors: the
K-norm mechanism of Hardt and Talwar (2010) on a lattice, with the steps of a staircase. *Independent*: every integer
gets noise of its own.

A ball law is a mixture: a number k with weight b^k times the number of points in the ball of radius
k·period + upper - 1, then a uniform point of that ball. Counts of points are polynomials in the radius, so their sums
with weights b^k are closed forms (Newton's forward differences): every probability, mean and tail is a fraction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, partial
from importlib import import_module
from itertools import pairwise
from typing import Any, ClassVar, Protocol, Self, TypeAlias, get_args

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput
from utmost.exact import Enclosed, ExpSum, as_fmpq, as_rational, compare
from utmost.exact.arrays import Floats
from utmost.exact.bisection import first_integer
from utmost.mechanism.certification import Check
from utmost.mechanism.exact_law import ExactMechanism
from utmost.mechanism.noise.gaussian import DiscreteGaussian, GaussianLaw, RoundedGaussian, gaussian_satisfies
from utmost.mechanism.noise.integer_balls import (
    count_above,
    count_ball,
    draw_in_ball,
    draw_in_balls,
    lifted_above,
    lifted_absolute,
    lifted_count,
    lifted_squared,
    norm,
    sum_absolute,
    sum_squared,
)
from utmost.mechanism.noise.layers import IntegerDraws, LayerLaw, draw_point
from utmost.mechanism.tail_sampling import TailDraws
from utmost.privacy import Level
from utmost.space.integers import Lattice, Moves, Strategy
from utmost.space.line import require_line_loss, tolerance
from utmost.space.sensitivity import l1_sensitivity, norm_sensitivity, squared_l2_sensitivity

MOST_DIMENSION = 1000
"""The largest dimension of balls; a file may ask for any."""
MOST_PERIOD = 2**62
"""The largest period; larger sensitivities take noise that falls with every step, with draws of any size."""
MOST_SLACK = 10_000
"""The largest slack of one-way noise; below epsilon = 0.003 or so slightly more would be optimal."""
MOST_LIFTED = 300
"""The largest slack of exchange noise, which is counted unit by unit."""
Count: TypeAlias = Callable[[Moves, int, int, int], int]
"""A sum over a ball, as a function of its shape, dimension, radius and slack."""
Piece: TypeAlias = tuple[int, Callable[[int], int]]
"""A polynomial in k that applies from some k on, with that k first."""
Lifted: TypeAlias = Callable[[int, int, int], int]
LIFTED: dict[Any, Lifted] = {
    count_ball: lifted_count,
    sum_absolute: lifted_absolute,
    sum_squared: lifted_squared,
}
"""What one unit of slack adds to each sum over an exchange ball, as a function of dimension, radius and unit."""


def most_slack(shape: Moves, dimension: int) -> int:
    """The largest slack that the noise of a shape may have."""
    if dimension < 2:
        return 0
    return {"one-way": MOST_SLACK, "exchange": MOST_LIFTED}.get(shape, 0)


class VectorLaw(Protocol):
    """Noise on vectors whose integers all have one symmetric law."""

    @property
    def dimension(self) -> int: ...
    @property
    def name(self) -> str: ...
    def tail(self, t: ArrayLike) -> Floats: ...
    def half_width(self, confidence: Any) -> int: ...
    def mean(self, loss: str) -> float: ...
    def draw(self, size: int) -> NDArray[Any]: ...
    def prove(self, space: Lattice, level: Level) -> Check: ...
    def to_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class BallLaw:
    """Noise whose probabilities fall by `decay` once every `period` steps of a norm, after its first `upper` ones.

    Attributes
    ----------
    shape : str
        The sensitivity set that is the unit ball of the norm: "any" (l1), "one-way", "cube", "exchange" or "sum-zero".
    dimension : int
        The number of integers of a vector.
    decay : Fraction
        The factor b of one step, from 0 to below 1.
    period : int
        The number of norms per step.
    upper : int
        How many of a period's norms come before its step, 1..period.
    slack : int
        For one-way noise, by how much the sum of the largest rise and the largest fall is discounted; for exchange
        noise on two integers or more, how many common rises (or falls) of all integers are discounted. Vectors that
        rise here and fall there (or whose integers all rise) are likelier with it, and their integers are smaller.

    Examples
    --------
    >>> law = BallLaw("one-way", 3, Fraction(1, 3))
    >>> law.probability((0, 0, 0)), law.probability((1, 0, -1)) == law.probability((0, 0, 0)) / 9
    (Fraction(1, 20), True)
    """

    kind: ClassVar[str] = "balls"
    shape: Moves
    dimension: int
    decay: Fraction
    period: int = 1
    upper: int = 1
    slack: int = 0

    def __post_init__(self) -> None:
        integral = all(type(x) is int for x in (self.dimension, self.period, self.upper, self.slack))
        if not integral or self.shape not in get_args(Moves) or not isinstance(self.decay, Fraction):
            raise InvalidInput("a law of balls has a shape, whole numbers and a rational decay.")
        if not (
            1 <= self.dimension <= MOST_DIMENSION
            and 1 <= self.upper <= self.period <= MOST_PERIOD
            and 0 <= self.decay < 1
        ):
            raise InvalidInput("a law of balls needs 0 <= decay < 1, 1 <= upper <= period, dimension 1 to 1000.")
        if self.slack and not 0 < self.slack <= most_slack(self.shape, self.dimension):
            raise InvalidInput(
                f"only one-way noise has slack, up to {MOST_SLACK}, and exchange noise, up to {MOST_LIFTED}, on two "
                "integers or more."
            )

    @property
    def name(self) -> str:
        """The noise in words."""
        steps = "" if self.period == 1 else ", in steps"
        if self.dimension == 1:
            return "geometric noise" if self.period == 1 else "staircase noise"
        shape = {"any": "staircase"}.get(self.shape, self.shape)
        slack = f" with slack {self.slack}" if self.slack else ""
        return f"{shape} noise{slack} on all {self.dimension} integers at once{steps if shape != 'staircase' else ''}"

    def probability(self, z: Sequence[int]) -> Fraction:
        """The probability of one vector, exactly."""
        if self.shape == "sum-zero" and sum(z) != 0:
            return Fraction(0)
        n = norm(self.shape, z, self.slack)
        steps = n // self.period + (n % self.period >= self.upper)
        return self.decay**steps / (1 - self.decay) / self._whole

    def exact_mean(self, loss: str) -> Fraction:
        """The expected loss of one integer, exactly."""
        if loss in ("absolute", "squared"):
            return self.total(sum_absolute if loss == "absolute" else sum_squared) / self._whole
        return 2 * self.exact_tail(tolerance(loss) + 1)

    def mean(self, loss: str) -> float:
        """The expected loss of one integer."""
        if loss not in ("absolute", "squared"):
            return 2 * float(self.tail(tolerance(loss) + 1))
        with ctx.workprec(self._precision(64)):  # balls, not rationals, which have 10^5 digits with much slack
            b = arb(as_fmpq(self.decay))
            summed = self._sum(sum_absolute if loss == "absolute" else sum_squared, 0, b)
            return float(summed / self._sum(count_ball, 0, b))

    def exact_tail(self, t: int) -> Fraction:
        """Pr[z_1 >= t], t >= 1, exactly."""
        weight = self._above(t, as_fmpq(self.decay))
        return Fraction(int(weight.p), int(weight.q)) / self._whole

    def enclose_tail(self, t: int, bits: int) -> arb:
        """A ball around Pr[z_1 >= t], t >= 1."""
        with ctx.workprec(self._precision(bits)):
            b = arb(as_fmpq(self.decay))
            tail: arb = self._above(t, b) / self._sum(count_ball, 0, b)
            return tail

    def tail(self, t: ArrayLike) -> Floats:
        """Pr[z_1 >= t] in floats, for any integers t."""
        at = whole_numbers(t)
        distances = np.maximum(at, 1 - at)
        tail_of = {n: float(self.enclose_tail(n, 64)) for n in np.unique(distances).tolist()}
        above = np.array([tail_of[n] for n in distances.ravel().tolist()]).reshape(distances.shape)
        return np.asarray(np.where(at > 0, above, 1 - above))

    def half_width(self, confidence: Any) -> int:
        """The least n such that one integer's noise is within ±n with at least this probability: decided exactly."""
        return half_width(self.enclose_tail, confidence)

    def draw(self, size: int) -> NDArray[Any]:
        """`size` vectors, one in each row, drawn exactly."""
        steps = self._steps.draw(size)[0]
        most = (int(steps.max(initial=0)) + 1) * self.period
        if size > 1 and most < 2**50:
            return draw_in_balls(self.shape, self.dimension, steps * self.period + self.upper - 1, self.slack)
        radii = [k * self.period + self.upper - 1 for k in steps.tolist()]
        points = [draw_in_ball(self.shape, self.dimension, radius, self.slack) for radius in radii]
        return np.array(points, dtype=np.int64 if most < 2**62 else object).reshape(size, self.dimension)

    def prove(self, space: Lattice, level: Level) -> Check:
        """Whether the law satisfies a level for the sensitivity set of a lattice: decided exactly, by steps."""
        reach = norm_sensitivity(self.shape, space)
        if reach is None or self.dimension != space.dimension:
            return Check("privacy", False, f"{level}: the noise of this shape hides no {space.moves} moves")
        steps = (self.upper - 1 + reach) // self.period + ((self.upper - 1 + reach) % self.period >= self.upper)
        detail = f"one neighbour moves the norm by at most {reach}: {steps} step(s) of {float(self.decay):.6g}"
        return Check("privacy", level.kept_by(self.decay, steps), f"{level}: {detail}, exactly")

    def to_json(self) -> dict[str, Any]:
        """The law as plain JSON data."""
        numbers = {"dimension": self.dimension, "period": self.period, "upper": self.upper}
        slack = {"slack": self.slack} if self.slack else {}
        return {"law": self.kind, "shape": self.shape, "decay": str(self.decay), **numbers, **slack}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The law written by `to_json`."""
        numbers = (data["period"], data["upper"], data.get("slack", 0))
        return cls(data["shape"], data["dimension"], as_rational(data["decay"]), *numbers)

    # ---- sums over radii ----

    def total(self, count: Count) -> Fraction:
        """The weighted sum of a count over all balls of the mixture; divided by that of `count_ball`, a mean.

        `count(shape, dimension, radius, slack)` is a polynomial in the radius, of degree at most dimension + 2; with
        slack, a sum of several (`_pieces`).
        """
        total = self._sum(count, 0, as_fmpq(self.decay))
        return Fraction(int(total.p), int(total.q))

    @cached_property
    def _whole(self) -> Fraction:
        return self.total(count_ball)

    def _sum(self, count: Count, first: int, b: Any) -> Any:
        """The sum over k >= first of b^(k - first) times a count at the k-th radius."""
        if count not in self._pieces_of:
            self._pieces_of[count] = self._pieces(count, LIFTED.get(count))
        return _sum_pieces(self._pieces_of[count], first, self.dimension + 3, b)

    def _pieces(self, count: Count, lifted: Lifted | None, least: int = 0) -> list[Piece]:
        """A count of the k-th ball as a sum of polynomials in k, each from a k of its own on.

        One-way balls are cubes up to their slack. Exchange balls gain points with every unit of slack; `least` is the
        least first integer of the points that are counted.
        """
        shape, d, slack = self.shape, self.dimension, self.slack
        if slack and shape == "one-way":
            cubes = cache(lambda k: count("cube", d, self._radius(k), 0))
            more = cache(lambda k: count(shape, d, self._radius(k), slack) - cubes(k))
            return [(0, cubes), (self._first(slack - 1), more)]
        pieces: list[Piece] = [(0, cache(lambda k: count(shape, d, self._radius(k), 0)))]
        for j in range(1, slack + 1):
            assert lifted is not None
            start = self._first((d - 1) * j + max(least - j, 0))
            pieces.append((start, cache(partial(lambda unit, k: lifted(d, self._radius(k), unit), j))))
        return pieces

    def _radius(self, k: int) -> int:
        return k * self.period + self.upper - 1

    def _first(self, radius: int) -> int:
        """The first k whose radius is at least this large."""
        return max(0, -(-(radius - self.upper + 1) // self.period))

    @cached_property
    def _pieces_of(self) -> dict[Count, list[Piece]]:
        return {}

    def _above(self, t: int, b: Any) -> Any:
        """The weight of vectors with z_1 >= t, from the first radius of at least t."""
        first = self._first(t)
        pieces = self._pieces(
            lambda shape, d, s, slack: count_above(shape, d, s, t, slack), lambda d, s, j: lifted_above(d, s, j, t), t
        )
        return _sum_pieces(pieces, first, self.dimension + 3, b) * b**first

    def _enclose_steps(self, k: int, bits: int) -> arb:
        """A ball around the probability of the k-th radius or a larger one."""
        with ctx.workprec(self._precision(bits)):
            b = arb(as_fmpq(self.decay))
            tail: arb = b**k * self._sum(count_ball, k, b) / self._sum(count_ball, 0, b)
            return tail

    def _precision(self, bits: int) -> int:
        return bits + 64 + 4 * self.decay.denominator.bit_length()

    @cached_property
    def _steps(self) -> TailDraws:
        return TailDraws(self._enclose_steps)


@dataclass(frozen=True)
class GeometricLaw:
    """The two-sided geometric, or discrete Laplace, law: Pr[X = k] proportional to decay^|k|.

    Examples
    --------
    >>> GeometricLaw(Fraction(1, 3)).tail([1, 2]).round(6)
    array([0.25    , 0.083333])
    """

    kind: ClassVar[str] = "geometric"
    decay: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.decay, Fraction) or not 0 <= self.decay < 1:
            raise InvalidInput("a geometric law has a rational decay from 0 to below 1.")

    @property
    def variance(self) -> Fraction:
        """The variance, exactly."""
        return 2 * self.decay / (1 - self.decay) ** 2

    def enclose_tail(self, t: int, bits: int) -> arb:
        """A ball around Pr[X >= t], t >= 1."""
        with ctx.workprec(bits + 64 + 2 * self.decay.denominator.bit_length()):
            b = arb(as_fmpq(self.decay))
            return b**t / (1 + b)

    def tail(self, k: ArrayLike) -> Floats:
        """Pr[X >= k] in floats, for any integers k."""
        at = whole_numbers(k)
        n, b = np.maximum(at, 1 - at).astype(float), float(self.decay)
        with np.errstate(under="ignore", divide="ignore"):
            above = np.exp(n * np.log1p(float(self.decay - 1))) / (1 + b) if b else np.zeros(n.shape)
        return np.asarray(np.where(at > 0, above, 1 - above))

    def mean(self, loss: str) -> float:
        """The expected loss of the noise as an error."""
        b = self.decay
        if loss == "absolute":
            return float(2 * b / (1 - b**2))
        if loss == "squared":
            return float(2 * b / (1 - b) ** 2)
        return 2 * float(self.tail(tolerance(loss) + 1))

    def draw(self, size: int) -> NDArray[Any]:
        """`size` independent integers, drawn exactly."""
        if self._draws.fits:
            return self._draws.draw(size)
        return np.array([draw_point(self._draws.law)[0] for _ in range(size)], dtype=object)

    @cached_property
    def _draws(self) -> IntegerDraws:
        return IntegerDraws(LayerLaw(self.decay, 1, 1))

    def to_json(self) -> dict[str, Any]:
        """The law as plain JSON data."""
        return {"decay": str(self.decay)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The law written by `to_json`."""
        return cls(as_rational(data["decay"]))


SINGLE: dict[str, Any] = {law.kind: law for law in (GeometricLaw, RoundedGaussian, DiscreteGaussian)}
"""Laws of one integer's noise, by their kind in files; "canonical" is imported when needed."""


@dataclass(frozen=True)
class IndependentLaw:
    """Independent noise on every integer of a vector, all of one law.

    Attributes
    ----------
    dimension : int
        The number of integers of a vector.
    single : GeometricLaw, RoundedGaussian, DiscreteGaussian or CanonicalLaw
        The law of each integer's noise.
    """

    kind: ClassVar[str] = "independent"
    dimension: int
    single: Any

    def __post_init__(self) -> None:
        if type(self.dimension) is not int or self.dimension < 1:
            raise InvalidInput("a vector has 1 or more integers.")

    @property
    def name(self) -> str:
        """The noise in words."""
        words = {"canonical": f"{getattr(self.single, 'name', '')} noise"}.get(self.single.kind, self.single.kind)
        return f"{words.removesuffix(' noise')} noise{'' if self.dimension == 1 else ' on each integer'}"

    def mean(self, loss: str) -> float:
        """The expected loss of one integer."""
        return float(self.single.mean(loss))

    def tail(self, t: ArrayLike) -> Floats:
        """Pr[z_1 >= t] in floats, for any integers t."""
        return np.asarray(self.single.tail(t))

    def half_width(self, confidence: Any) -> int:
        """The least n such that one integer's noise is within ±n with at least this probability."""
        return half_width(self.single.enclose_tail, confidence)

    def draw(self, size: int) -> NDArray[Any]:
        """`size` vectors, one in each row, drawn exactly."""
        draw = self.single.sample if self.single.kind == "canonical" else self.single.draw
        return np.asarray(draw(size * self.dimension)).reshape(size, self.dimension)

    def prove(self, space: Lattice | Strategy, level: Level) -> Check:
        """Whether the law satisfies a level for the sensitivity set of a lattice, by its l1 or l2 sensitivity."""
        if self.dimension != space.dimension:
            return Check("privacy", False, f"{level}: the noise has {self.dimension} integers, the vectors have others")
        single = self.single
        if isinstance(single, GaussianLaw):
            return _prove_gaussian(single, space, level)
        sensitivity = l1_sensitivity(space)
        if isinstance(single, GeometricLaw):
            detail = (
                f"one neighbour moves the integers by at most {sensitivity} in all, "
                f"each a factor {float(single.decay):.6g}"
            )
            return Check("privacy", level.kept_by(single.decay, sensitivity), f"{level}: {detail}, exactly")
        if single.step != 1:
            return Check("privacy", False, f"{level}: canonical noise on vectors is for moves of one")
        check: Check = single.prove(sensitivity, level)
        return check

    def to_json(self) -> dict[str, Any]:
        """The law as plain JSON data."""
        single: dict[str, Any] = self.single.to_json()
        return {"law": self.kind, "dimension": self.dimension, "single": {"kind": self.single.kind, **single}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The law written by `to_json`."""
        parts = dict(data["single"])
        kind = parts.pop("kind")
        if kind == "canonical":
            return cls(
                data["dimension"], import_module("utmost.mechanism.noise.canonical").CanonicalLaw.from_json(parts)
            )
        if kind not in SINGLE:
            raise InvalidInput("the noise of one integer is of a kind that this version does not know.")
        return cls(data["dimension"], SINGLE[kind].from_json(parts))


LAWS: dict[str, Any] = {law.kind: law for law in (BallLaw, IndependentLaw)}


@dataclass(frozen=True, eq=False)
class NoisyVector(ExactMechanism):
    """A vector of integers with noise added, without clamping or post-processing, so that it is unbiased.

    Examples
    --------
    >>> mechanism = NoisyVector(BallLaw("one-way", 3, Fraction(1, 3)))
    >>> len(mechanism.sample((10, 20, 30))), round(mechanism.expected("absolute"), 6)
    (3, 1.425)
    """

    kind: ClassVar[str] = "vector.noise"
    noise: Any
    """A `BallLaw`, an `IndependentLaw` or a `CarriedLaw`."""

    @property
    def name(self) -> str:
        """The mechanism in words."""
        return str(self.noise.name)

    def sample(self, point: Sequence[int]) -> tuple[int, ...]:
        noise = self.noise.draw(1)[0].tolist()
        return tuple(int(x) + int(z) for x, z in zip(point, noise, strict=True))

    def sample_many(self, points: ArrayLike) -> NDArray[Any]:
        """One draw at each of many points, the rows of an array."""
        rows = np.asarray(points)
        return np.asarray(rows + self.noise.draw(len(rows)))

    def expected(self, loss: str) -> float:
        """The expected loss of one integer: "absolute", "squared", "zero-one" or "within k"."""
        return float(self.noise.mean(require_line_loss(loss)))

    def worst(self, loss: str) -> float:
        """The expected loss at the worst point: equal at all points."""
        return self.expected(loss)

    def tail(self, t: ArrayLike) -> Floats:
        """The probability of an error of t or more in one integer."""
        return np.asarray(self.noise.tail(t))

    def half_width(self, confidence: Any) -> int:
        """The least n such that one integer's error is within ±n with at least this probability, for every table."""
        return int(self.noise.half_width(confidence))

    def prove(self, space: Any, level: Level) -> Check:
        if isinstance(space, Strategy) and not isinstance(self.noise, IndependentLaw):
            return Check("privacy", False, "weighted sums of cells need noise of their own each")
        if not isinstance(space, Lattice | Strategy):
            return Check("privacy", False, "noise on vectors needs to know the moves of a lattice")
        check: Check = self.noise.prove(space, level)
        return check

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = self.noise.to_json()
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        if data["law"] == "carried":
            return cls(import_module("utmost.theory.workload.prefix_noise").CarriedLaw.from_json(data))
        if data["law"] not in LAWS:
            raise InvalidInput("the noise is of a kind that this version does not know.")
        return cls(LAWS[data["law"]].from_json(data))


def _sum_pieces(pieces: list[Piece], first: int, degree: int, b: Any) -> Any:
    """The sum over k >= first of b^(k - first) times a sum of polynomials of k, each 0 before it starts."""
    total = 0 * b
    for start, at in pieces:
        begin = max(first, start)
        total += b ** (begin - first) * _newton([at(begin + j) for j in range(degree)], b)
    return total


def _newton(values: list[int], b: Any) -> Any:
    """The sum over k >= 0 of b^k Q(k), for a polynomial Q of lower degree than there are values Q(0), Q(1), ...

    It is the sum over j of b^j / (1-b)^(j+1) times the j-th forward difference of Q at 0.
    """
    ratio, power, total = b / (1 - b), 0 * b + 1, 0 * b
    while values:
        total, power = total + values[0] * power, power * ratio
        values = [after - before for before, after in pairwise(values)]
    return total / (1 - b)


def whole_numbers(numbers: ArrayLike) -> NDArray[Any]:
    """Whole numbers as an array of 64-bit integers, or of Python integers if it is one already."""
    array = np.asarray(numbers)
    return array if array.dtype == object else np.asarray(array, dtype=np.int64)


def half_width(enclose: Callable[[int, int], arb], confidence: Any) -> int:
    """The least n with 2 Pr[X >= n + 1] <= 1 - confidence, decided by balls of Pr[X >= t]."""
    chance = as_rational(confidence, "the confidence")
    if not 0 <= chance < 1:
        raise InvalidInput(f"the confidence is {confidence!r}; give a probability from 0 to below 1, such as 0.95.")
    rest = ExpSum.rational((1 - chance) / 2)

    def suffices(n: int) -> bool:
        return compare(Enclosed(lambda bits: enclose(n + 1, bits)), rest) <= 0

    return first_integer(suffices)


def _prove_gaussian(law: GaussianLaw, space: Lattice | Strategy, level: Level) -> Check:
    """The check of Gaussian noise, by the l2 sensitivity: decided in rationals, or in balls for (epsilon, delta)."""
    length = Fraction(squared_l2_sensitivity(space))
    ratio = length / law.variance  # mu^2
    detail = (
        f"one neighbour moves the vector by at most the square root of {length}, variance {float(law.variance):.6g}"
    )
    return Check("privacy", gaussian_satisfies(law.kind, ratio, level), f"{level}: {detail}, exactly")
