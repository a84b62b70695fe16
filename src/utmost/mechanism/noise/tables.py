"""Noise on several tables of counts of the same rows, each table with a law of its own.

A row is in one cell of every table, so a neighbour changes all tables at once, and its privacy loss adds up over them:
the logarithms of geometric decays, or squared l2 sensitivities over the variances of Gaussian noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput
from utmost.exact import endpoints, to_float
from utmost.mechanism.certification import Check
from utmost.mechanism.exact_law import ExactMechanism
from utmost.mechanism.noise.independent import IndependentLaw
from utmost.privacy import Level
from utmost.privacy.level import log_falls
from utmost.space.integers import CentredTables, Tables
from utmost.space.sensitivity import squared_l2_sensitivity

MOST_TABLES = 4096
"""The largest number of tables in a file."""
MOST_BITS = 10**5
"""The largest number of bits of the product of powers of decays; beyond, balls around its logarithm decide."""


@dataclass(frozen=True, eq=False)
class NoisyTables(ExactMechanism):
    """Tables of counts with independent noise on every cell, of one law in each table.

    Examples
    --------
    >>> from utmost.mechanism.noise.staircase import geometric_law
    >>> total, cell = geometric_law(Fraction(1, 2)), geometric_law(Fraction(1, 3))
    >>> noise = NoisyTables((IndependentLaw(1, total), IndependentLaw(3, cell)))
    >>> [len(table) for table in noise.sample([[10], [2, 3, 5]])]
    [1, 3]
    """

    kind: ClassVar[str] = "tables.noise"
    laws: tuple[IndependentLaw, ...]

    @property
    def name(self) -> str:
        """The noise in words."""
        kinds = sorted({law.single.kind for law in self.laws})
        many = f"{len(self.laws)} tables, each at a level of its own" if len(self.laws) > 1 else "one table"
        return f"{' and '.join(kinds)} noise on {many}"

    def sample(self, point: Sequence[Any]) -> list[NDArray[Any]]:
        return [np.asarray(table) + law.draw(1)[0] for table, law in zip(point, self.laws, strict=True)]

    def prove(self, space: Any, level: Level) -> Check:
        """Whether the privacy loss, added up over all tables, satisfies a level: decided exactly."""
        sizes = tuple(law.dimension for law in self.laws)
        if not isinstance(space, Tables | CentredTables) or space.sizes != sizes:
            return Check("privacy", False, f"{level}: the noise is for tables of other sizes")
        if isinstance(space, CentredTables):
            together = _prove_gaussian(self.laws, space.largest_square, level)
            return together or Check("privacy", False, f"{level}: centred tables take Gaussian noise of one kind")
        tables = space.lattices()
        squares = [squared_l2_sensitivity(table) for table in tables]
        together = _prove_falls([law.falls(table) for law, table in zip(self.laws, tables, strict=True)], level)
        together = together or _prove_gaussian(
            self.laws,
            lambda weights: Fraction(sum(square * weight for square, weight in zip(squares, weights, strict=True))),
            level,
        )
        return together or Check("privacy", False, f"{level}: the tables have noise of kinds that are not added up")

    def to_json(self) -> dict[str, Any]:
        return {"laws": [law.to_json() for law in self.laws]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        laws = data["laws"]
        if not isinstance(laws, list) or not 1 <= len(laws) <= MOST_TABLES:
            raise InvalidInput("noise on tables has a law for each table.")
        return cls(tuple(IndependentLaw.from_json(law) for law in laws))


def _prove_falls(falls: Sequence[tuple[Fraction, int] | None], level: Level) -> Check | None:
    """The check of noise whose probabilities fall by powers of decays, one for each table; None for other noise."""
    known = [fall for fall in falls if fall is not None]
    if len(known) < len(falls):
        return None
    if sum(decay.denominator.bit_length() * steps for decay, steps in known) > MOST_BITS:
        total_decay, satisfies = _product_of_decays(known), level.kept_by_falls(known)
    else:
        product = Fraction(math.prod(decay**steps for decay, steps in known))
        total_decay, satisfies = float(product), level.kept_by(product, 1)
    detail = f"one neighbour's moves, over all {len(known)} tables, fall by {total_decay:.6g}"
    return Check("privacy", satisfies, f"{level}: {detail}, exactly")


def _product_of_decays(falls: Sequence[tuple[Fraction, int]]) -> float:
    """The product of several decay^steps as a float; 0 where it underflows."""
    if any(steps and not decay for decay, steps in falls):
        return 0.0
    return to_float(endpoints(log_falls(falls, 64).exp())[1]) if float(log_falls(falls, 64)) > -700 else 0.0


def _prove_gaussian(
    laws: Sequence[IndependentLaw], largest_square: Callable[[list[Fraction]], Fraction], level: Level
) -> Check | None:
    """The check of Gaussian noise of one kind, by the largest sum of squared sensitivities with weights 1/variance."""
    gaussians = [law.single.gaussian for law in laws]
    known = [gaussian for gaussian in gaussians if gaussian is not None]
    if len(known) < len(laws) or len({gaussian.kind for gaussian in known}) > 1:
        return None
    ratio = largest_square([1 / gaussian.variance for gaussian in known])
    detail = f"squared moves over variances add up to {float(ratio):.6g} over all {len(laws)} tables"
    return Check("privacy", known[0].satisfies(ratio, level), f"{level}: {detail}, exactly")
