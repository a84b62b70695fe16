"""Noise on vectors of integers by balls: K-norm noise on a lattice, shaped to the sensitivity set.

The probability of a vector falls by one factor with every `period` steps away from 0, in the norm whose unit ball is
the sensitivity set of one row (`integer_balls.py`). One neighbour changes the norm by at most its sensitivity, by the
triangle inequality, so probabilities change by at most that many factors: the K-norm mechanism of Hardt and Talwar
(2010) on a lattice, with the steps of a staircase.

A ball law is a mixture: a number k with weight b^k times the number of points in the ball of radius
k·period + upper - 1, then a uniform point of that ball. Counts of points are polynomials in the radius, so their sums
with weights b^k are closed forms (Newton's forward differences): every probability, mean and tail is a fraction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import pairwise
from typing import Any, ClassVar, Self, TypeAlias, get_args

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from utmost.errors import InvalidInput
from utmost.exact import as_fmpq, as_rational
from utmost.mechanism.certification import Check
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
from utmost.mechanism.noise.law import Moved, NoiseLaw
from utmost.mechanism.tail_sampling import TailDraws
from utmost.privacy import Level
from utmost.space.integers import Lattice, Moves
from utmost.space.line import tolerance
from utmost.space.sensitivity import norm_sensitivity

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


@dataclass(frozen=True)
class BallLaw(NoiseLaw):
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
    >>> law.point_mass((0, 0, 0)), law.point_mass((1, 0, -1)) == law.point_mass((0, 0, 0)) / 9
    (Fraction(1, 20), True)
    """

    kind: ClassVar[str] = "balls"
    on_vectors: ClassVar[bool] = True
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
        steps = "" if self.period == 1 else ", in steps"
        if self.dimension == 1:
            return "geometric noise" if self.period == 1 else "staircase noise"
        shape = {"any": "staircase"}.get(self.shape, self.shape)
        slack = f" with slack {self.slack}" if self.slack else ""
        return f"{shape} noise{slack} on all {self.dimension} integers at once{steps if shape != 'staircase' else ''}"

    def point_mass(self, z: Sequence[int]) -> Fraction:
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
        with ctx.workprec(self._precision(bits)):
            b = arb(as_fmpq(self.decay))
            tail: arb = self._above(t, b) / self._sum(count_ball, 0, b)
            return tail

    def draw(self, size: int) -> NDArray[Any]:
        steps = self._steps.draw(size)[0]
        most = (int(steps.max(initial=0)) + 1) * self.period
        if size > 1 and most < 2**50:
            return draw_in_balls(self.shape, self.dimension, steps * self.period + self.upper - 1, self.slack)
        radii = [k * self.period + self.upper - 1 for k in steps.tolist()]
        points = [draw_in_ball(self.shape, self.dimension, radius, self.slack) for radius in radii]
        return np.array(points, dtype=np.int64 if most < 2**62 else object).reshape(size, self.dimension)

    def falls(self, space: Moved) -> tuple[Fraction, int] | None:
        """The steps that the sensitivity in the norm can cross; None for moves that this norm does not hide."""
        reach = norm_sensitivity(self.shape, space) if isinstance(space, Lattice) else None
        if reach is None or self.dimension != space.dimension:
            return None
        steps, places = divmod(self.upper - 1 + reach, self.period)
        return self.decay, steps + (places >= self.upper)

    def prove(self, space: Moved, level: Level) -> Check:
        """Whether the law satisfies a level for the sensitivity set of a lattice: decided exactly, by steps."""
        falls = self.falls(space)
        if falls is None:
            moves = f"{space.moves} moves" if isinstance(space, Lattice) else f"moves of {space}"
            return Check("privacy", False, f"{level}: the noise of this shape hides no {moves}")
        b, steps = falls
        assert isinstance(space, Lattice), "falls are known of lattices only"
        reach = norm_sensitivity(self.shape, space)
        detail = f"one neighbour moves the norm by at most {reach}: {steps} step(s) of {float(b):.6g}"
        return Check("privacy", level.kept_by(b, steps), f"{level}: {detail}, exactly")

    @property
    def hides_the_rest(self) -> bool:
        return self.shape == "exchange" and self.slack == 0

    def to_json(self) -> dict[str, Any]:
        numbers = {"dimension": self.dimension, "period": self.period, "upper": self.upper}
        slack = {"slack": self.slack} if self.slack else {}
        return {"law": self.kind, "shape": self.shape, "decay": str(self.decay), **numbers, **slack}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
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
