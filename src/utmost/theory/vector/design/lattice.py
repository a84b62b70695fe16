"""Noise on integer vectors, by their sensitivity set or their Euclidean sensitivity."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.exact import Number, as_whole
from utmost.mechanism.certification import Check
from utmost.mechanism.noise.balls import MOST_SLACK, most_slack
from utmost.mechanism.noise.independent import IndependentLaw
from utmost.mechanism.noise.law import NoiseLaw
from utmost.privacy import Level, as_level
from utmost.privacy.pure_part import pure_within
from utmost.solution import Verification
from utmost.space.integers import Lattice, Moves
from utmost.space.line import require_line_loss
from utmost.theory.scalar.design.noise_arguments import (
    as_confidence,
    as_positive,
    as_private_vector,
    as_size,
    exact_integer,
)
from utmost.theory.vector.design.ball_laws import ball_laws
from utmost.theory.vector.design.vectors import gaussian_law, require_level

MOST_DIMENSION = 300


@dataclass(frozen=True, eq=False)
class VectorNoise:
    """Noise on integer vectors whose law is known exactly.

    Attributes
    ----------
    level : Level
        The privacy level that it satisfies.
    law : NoiseLaw
        The exact law.
    moves : Lattice or Fraction
        The sensitivity: what one neighbour does, as a `Lattice`, or the squared Euclidean sensitivity.
    """

    level: Level
    law: NoiseLaw
    moves: Lattice | Fraction

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(self.law.dimension)

    def probability(self, z: Any) -> float:
        """The probability of one vector of noise."""
        point = [int(x) for x in np.atleast_1d(np.asarray(z)).tolist()]
        if len(point) != self.dimension:
            raise InvalidInput(f"z has {len(point)} numbers; give {self.dimension}.")
        return float(self.law.point_mass(point))

    def tail(self, t: ArrayLike) -> Any:
        """The probability that one number's noise is at least t: a float, or an array of them."""
        tail = self.law.tail(t)
        return float(tail) if np.ndim(tail) == 0 else tail

    def half_width(self, confidence: Number) -> int:
        """The least n such that one number's noise is within ±n with at least this probability, decided exactly."""
        return int(self.law.half_width(as_confidence(confidence)))

    def expected(self, loss: str = "absolute") -> float:
        """The expected loss of one number: "absolute", "squared", "zero-one" or "within k"."""
        return float(self.law.mean(require_line_loss(loss)))

    def sample(self, size: int | None = None) -> Any:
        """Draw noise exactly with the operating system's randomness: one vector, or an array of `size` rows.

        In dimension 1, one integer or an array of them.
        """
        draws = self.law.draw(1 if size is None else as_size(size))
        draws = draws[:, 0] if self.dimension == 1 else draws
        if size is not None:
            return draws
        return int(draws[0]) if self.dimension == 1 else tuple(int(x) for x in draws[0])

    def release(self, value: Any) -> Any:
        """Add exact noise to an integer vector (or one integer): private for its sensitivity."""
        integers = as_private_vector(value, self.dimension, exact_integer, "whole number")
        noise = self.sample()
        return (
            integers[0] + noise if self.dimension == 1 else tuple(v + e for v, e in zip(integers, noise, strict=True))
        )

    def simulate(self, size: int, rng: Any = None) -> NDArray[Any]:
        """Independent noise from a seeded generator in floating point: for study, never for release."""
        if self.law.independent is None:
            raise UnsupportedLevel("noise by moves is drawn exactly only; use sample.")
        generator, radius = np.random.default_rng(rng), self.law.half_width(1 - Fraction(1, 10**12)) + 1
        places = np.arange(-radius, radius + 1)
        chances = np.maximum(self.law.tail(places) - self.law.tail(places + 1), 0)
        return np.asarray(generator.choice(places, size=(as_size(size), self.dimension), p=chances / chances.sum()))

    def verify(self) -> Verification:
        """Prove privacy again from the law alone, in exact arithmetic. No optimality is claimed."""
        if isinstance(self.moves, Lattice):
            check = self.law.prove(self.moves, self.level)
        else:
            check = self._prove_by_length(self.moves)
        return Verification(check.passed, "unproved", float("inf"), (check,))

    def _prove_by_length(self, square: Fraction) -> Check:
        """The check of privacy for moves of a Euclidean length, whose square is given."""
        single = None if self.law.independent is None else self.law.independent.gaussian
        if single is None:
            return Check("privacy", False, f"{self.level}: only Gaussian noise is for moves of a length")
        private = single.satisfies(square / single.variance, self.level)
        detail = f"moves of length {float(square) ** 0.5:.6g}, variance {float(single.variance):.6g}"
        return Check("privacy", private, f"{self.level}: {detail}, exactly")

    def __repr__(self) -> str:
        return f"VectorNoise ({self.law.name}) at {self.level}, expected absolute {self.expected():.6g}"


def lattice(
    dimension: int,
    privacy: Level | Number,
    moves: Moves = "one-way",
    reach: int = 1,
    loss: str = "absolute",
    slack: int | None = 0,
) -> VectorNoise:
    """K-norm noise on integer vectors for a sensitivity set: less than independent noise needs.

    The probability of a vector falls with its norm, whose unit ball is the sensitivity set (the K-norm mechanism of
    Hardt and Talwar 2010, on a lattice). `session.counts` and `session.histogram` choose it by themselves.

    Parameters
    ----------
    dimension : int
        Length of the vector, 1 to 300.
    privacy : level or number
        A number is an epsilon. For other levels, the largest epsilon that implies them.
    moves : "one-way", "cube", "exchange", "sum-zero" or "any"
        The sensitivity set of one row. "one-way": 0 or 1 added to every number, or subtracted: overlapping counts under
        add/remove. "cube": every number by at most one, up or down: the same under replacement. "exchange": one number
        up and another down, or one of both: disjoint cells under replacement. "sum-zero": one up and another down, so
        that the sum, which is public, never changes: disjoint cells that hold every row. "any": one number by one.
    reach : int
        How many rows one neighbour changes.
    loss : "absolute", "squared", "zero-one" or "within k"
        The loss for which the steps are optimised where reach is more than 1, and the slack where it is None.
    slack : int or None
        For one-way and exchange noise on two integers or more. 0 is the K-norm mechanism. With slack a the one-way norm
        of a vector whose largest rise is P and whose largest fall is M is max(P, M, P + M - a), which one row changes
        by at most 1 as well: vectors with both rises and falls, whose numbers are smaller, become likelier. The
        exchange norm of vectors whose integers all rise by at least c, or all fall, is lowered by min(c, a). None
        optimises the slack, as sessions do.

    Examples
    --------
    >>> import utmost as um
    >>> noise = um.noise.lattice(3, 1.0, moves="one-way")
    >>> round(noise.expected(), 10), round(um.noise.lattice(3, 1.0, moves="cube").expected(), 6)
    (1.5829928576, 1.959733)
    >>> len(noise.release((120, 44, 97))), bool(noise.verify())
    (3, True)
    >>> ten, better = um.noise.lattice(10, 1.0), um.noise.lattice(10, 1.0, slack=None)
    >>> round(ten.expected(), 4), round(better.expected(), 4), better.law.slack, bool(better.verify())
    (3.9697, 3.5926, 3, True)
    """
    size, rows = as_whole(dimension, "dimension", 1, MOST_DIMENSION), as_whole(reach, "reach", 1)
    if moves not in get_args(Moves):
        raise InvalidInput(f"moves is {moves!r}; choose from {', '.join(get_args(Moves))}.")
    level, space = as_level(privacy), Lattice(size, moves, rows, 0, 0)
    require_level(level)
    pure = pure_within(level)
    if pure is None:
        raise UnsupportedLevel(f"no epsilon above 0 implies {level}; noise by moves needs one.")
    limit = most_slack(moves, size)
    if slack is not None and as_whole(slack, "slack", 0, MOST_SLACK) > limit:
        raise InvalidInput(
            f"slack is {slack} and moves is {moves!r} on {size}; give 0 to {limit}: only one-way and exchange noise on "
            "two numbers or more has slack."
        )
    law = min(ball_laws(moves, space, pure, require_line_loss(loss), slack), key=lambda law: law.mean(loss))
    return VectorNoise(level, law, space)


def gaussian(
    privacy: Level | Number,
    sensitivity: Number = 1,
    dimension: int = 1,
    squared_sensitivity: Number | None = None,
) -> VectorNoise:
    """Gaussian noise on integers with an exact law and exact draws: rounded, or for zCDP discrete.

    At a Gaussian or (epsilon, delta) level it is a Gaussian rounded to the nearest integer, which is the Gaussian
    mechanism with a public rounding after it; at a zCDP level the discrete Gaussian of Canonne, Kamath and Steinke
    (2020).

    Parameters
    ----------
    privacy : GaussianDP, ZCDP, or ApproxDP with delta above 0
    sensitivity : number
        The Euclidean (l2) sensitivity.
    dimension : int
        Length of the vector; each number gets independent noise.
    squared_sensitivity : number, optional
        The square of the sensitivity instead, where its root is irrational: 3 for three counts that one row may all
        change by one.

    Examples
    --------
    >>> import utmost as um
    >>> um.noise.gaussian(um.GaussianDP(1)).tail([1, 2]).round(6)
    array([0.308538, 0.066807])
    >>> noise = um.noise.gaussian(um.ZCDP(0.5), dimension=3, squared_sensitivity=3)
    >>> round(noise.expected("squared"), 6), bool(noise.verify())
    (3.0, True)
    """
    level, size = as_level(privacy), as_whole(dimension, "dimension", 1)
    require_level(level)
    square = (
        as_positive(sensitivity, "sensitivity") ** 2
        if squared_sensitivity is None
        else as_positive(squared_sensitivity, "squared_sensitivity")
    )
    law = gaussian_law(level, square)
    if law is None:
        raise UnsupportedLevel(
            f"Gaussian noise is not made for {level}; give GaussianDP(mu), ZCDP(rho) or ApproxDP(epsilon, delta), "
            "delta above 0."
        )
    return VectorNoise(level, IndependentLaw(size, law), square)
