"""Independent noise on every integer of a vector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats
from utmost.mechanism.certification import Check
from utmost.mechanism.noise.law import Moved, NoiseLaw, read_law
from utmost.privacy import Level


@dataclass(frozen=True)
class IndependentLaw(NoiseLaw):
    """Independent noise on every integer of a vector, all of one law.

    Attributes
    ----------
    dimension : int
        The number of integers of a vector.
    single : NoiseLaw
        The law of each integer's noise.
    """

    kind: ClassVar[str] = "independent"
    on_vectors: ClassVar[bool] = True
    dimension: int
    single: NoiseLaw

    def __post_init__(self) -> None:
        if type(self.dimension) is not int or self.dimension < 1:
            raise InvalidInput("a vector has 1 or more integers.")

    @property
    def name(self) -> str:
        return f"{self.single.short_name} noise{'' if self.dimension == 1 else ' on each integer'}"

    @property
    def independent(self) -> NoiseLaw:
        return self.single

    def enclose_tail(self, t: int, bits: int) -> arb:
        return self.single.enclose_tail(t, bits)

    def tail(self, k: ArrayLike) -> Floats:
        return self.single.tail(k)

    def probability(self, k: ArrayLike) -> Floats:
        return self.single.probability(k)

    @property
    def wide(self) -> int:
        return self.single.wide

    def mean(self, loss: str) -> float:
        return self.single.mean(loss)

    @property
    def nominal_variance(self) -> Fraction:
        return self.single.nominal_variance

    @property
    def fourth_moment(self) -> float:
        return self.single.fourth_moment

    def characteristic(self, t: Floats) -> Floats:
        return self.single.characteristic(t)

    def falls(self, space: Moved) -> tuple[Fraction, int] | None:
        return self.single.falls(space)

    def draw(self, size: int) -> NDArray[Any]:
        return np.asarray(self.single.draw(size * self.dimension)).reshape(size, self.dimension)

    def prove(self, space: Moved, level: Level) -> Check:
        """Whether the law satisfies a level, by the l1 or l2 sensitivity of the vectors."""
        if self.dimension != space.dimension:
            return Check("privacy", False, f"{level}: the noise has {self.dimension} integers, the vectors have others")
        return self.single.prove(space, level)

    def to_json(self) -> dict[str, Any]:
        return {"law": self.kind, "dimension": self.dimension, "single": self.single.part_to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        parts = dict(data["single"])
        return cls(data["dimension"], read_law(parts.pop("kind"), parts))
