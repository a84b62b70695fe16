"""Rounded and discrete Gaussian noise on a line of integers: tails, intervals, draws and proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats
from utmost.mechanism.certification import Check
from utmost.mechanism.noise.gaussian import DiscreteGaussian, RoundedGaussian, gaussian_satisfies
from utmost.privacy import Level

LAWS: dict[str, Any] = {"rounded": RoundedGaussian, "discrete": DiscreteGaussian}


@dataclass(frozen=True)
class GaussianNoise:
    """Noise of one Gaussian law on the integers.

    Examples
    --------
    >>> noise = GaussianNoise(DiscreteGaussian(Fraction(4)))
    >>> noise.name, noise.half_width(0.95)
    ('discrete Gaussian (standard deviation 2)', 4)
    """

    kind: ClassVar[str] = "gaussian"
    law: RoundedGaussian | DiscreteGaussian

    @property
    def name(self) -> str:
        """The noise in words."""
        return f"{self.law.kind} (standard deviation {self.law.deviation:.6g})"

    @property
    def wide(self) -> int:
        """The distance beyond which the noise is negligible in an expectation."""
        return self.law.wide

    @cached_property
    def _tails(self) -> Floats:
        return self.law.tail(np.arange(self.wide + 3))

    def probability(self, k: ArrayLike) -> Floats:
        """Pr[noise = k] in floats."""
        n = np.minimum(np.abs(np.asarray(k, dtype=np.int64)), self.wide + 1)
        tails = self._tails
        return np.asarray(np.where(n == 0, 1 - 2 * tails[1], tails[n] - tails[n + 1]))

    def tail(self, k: ArrayLike) -> Floats:
        """Pr[noise >= k] in floats, for any integers k."""
        return self.law.tail(k)

    def mean(self, loss: str) -> float:
        """The expected loss of the noise as an error."""
        return self.law.mean(loss)

    def half_width(self, confidence: float | Fraction) -> int:
        """The least n such that the noise is within ±n with at least this probability, by its law, rounded up."""
        rest = (1 - float(confidence)) / 2 * (1 - 2.0**-40)
        return int(np.searchsorted(-self._tails[1:], -rest))

    def sample(self, size: int | None = None) -> Any:
        """Noise, drawn exactly: one integer, or an array of `size` of them."""
        noise = self.law.draw(1 if size is None else size)
        return int(noise[0]) if size is None else noise

    def prove(self, reach: int, level: Level) -> Check:
        """Whether the law satisfies a level at sensitivity `reach`: by theorems, levels compared exactly."""
        satisfies = gaussian_satisfies(self.law.kind, Fraction(reach) ** 2 / self.law.variance, level)
        return Check("privacy", satisfies, f"{level}: moves of {reach} at {self.name}, compared exactly")

    def to_json(self) -> dict[str, Any]:
        """The law as plain JSON data."""
        return {"noise": self.kind, "law": self.law.kind.partition(" ")[0], **self.law.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> GaussianNoise:
        """The law written by `to_json`."""
        if data["law"] not in LAWS:
            raise InvalidInput("a Gaussian on the integers is rounded or discrete.")
        return cls(LAWS[data["law"]].from_json(data))
