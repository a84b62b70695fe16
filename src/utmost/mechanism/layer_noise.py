"""Geometric and staircase noise on the integers as a law for a line: its tails, its width, its proof."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from utmost.errors import InvalidInput
from utmost.exact import Enclosed, ExpSum, as_rational, compare, read_rational, write_rational
from utmost.exact.arrays import Floats
from utmost.mechanism.certification import Check
from utmost.mechanism.decay import implies_level
from utmost.mechanism.draws import IntegerDraws, draw_point
from utmost.mechanism.layers import LayerLaw, sum_norms, sum_squares
from utmost.mechanism.line import tolerance
from utmost.mechanism.sampling import WORD
from utmost.privacy import Level

NEGLIGIBLE = 64 * math.log(2)
"""Expectations leave out noise beyond where its law has fallen by e to this; draws leave out nothing."""


@dataclass(frozen=True)
class LayerNoise:
    """Noise of one `LayerLaw` in one dimension: geometric with period 1, a staircase with a longer one.

    Examples
    --------
    >>> noise = LayerNoise(LayerLaw(Fraction(1, 2), 1, 1))
    >>> noise.tail([0, 1, 2]).round(6), round(noise.mean("absolute"), 6)
    (array([0.666667, 0.333333, 0.166667]), 1.333333)
    """

    kind: ClassVar[str] = "layers"
    law: LayerLaw

    def __post_init__(self) -> None:
        law = self.law
        if law.dimension != 1 or not (0 < law.decay < 1 and 1 <= law.upper <= law.period <= 2**WORD):
            raise InvalidInput(
                "noise on a line falls by a decay between 0 and 1, at one of 1..period layers, period at most 2^62."
            )

    @property
    def name(self) -> str:
        """Which noise it is, in words."""
        law = self.law
        return "geometric" if law.period == 1 else f"staircase (first {law.upper} of every {law.period} steps high)"

    @property
    def period(self) -> int:
        """After how many steps the law repeats itself, lower by its decay."""
        return self.law.period

    @cached_property
    def wide(self) -> int:
        """Beyond which distance the noise is too unlikely to matter in an expectation."""
        return self.period * (1 + math.ceil(NEGLIGIBLE / -_log(self.law.decay)))

    def probability(self, k: ArrayLike) -> Floats:
        """Pr[noise = k] in floats."""
        steps = self.law.step(np.abs(np.asarray(k, dtype=np.int64))).astype(float)
        return np.asarray(np.exp(_log(self.law.top) + steps * _log(self.law.decay)))

    def tail(self, k: ArrayLike) -> Floats:
        """Pr[noise >= k] in floats, for any integers k."""
        at = np.asarray(k, dtype=np.int64)
        law, b, n = self.law, float(self.law.decay), np.maximum(at, 1 - at)
        place = (n % law.period).astype(float)
        rest = np.maximum(law.upper - place, 0) + b * (law.period - np.maximum(place, law.upper))
        onward = b * (law.upper + b * (law.period - law.upper)) / float(1 - law.decay)
        above = np.exp(_log(law.top) + (n // law.period) * _log(law.decay)) * (rest + onward)
        return np.asarray(np.where(at > 0, above, 1 - above))

    def mean(self, loss: str) -> float:
        """The expected loss of the noise as an error, from its exact law."""
        if loss in ("absolute", "squared"):
            return float(self.law.mean(sum_norms if loss == "absolute" else sum_squares))
        return 2 * float(self.tail(tolerance(loss) + 1))

    def half_width(self, confidence: float | Fraction) -> int:
        """The least n such that the noise is within ±n with at least this probability: decided on the exact law."""
        rest = ExpSum.rational(1 - as_rational(confidence, "the confidence"))

        def suffices(n: int) -> bool:
            return compare(Enclosed(lambda bits: self.law.enclose_tail(n + 1, bits)), rest) <= 0

        low, high = -1, 1
        while not suffices(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if suffices(middle) else (middle, high)
        return high

    def sample(self, size: int | None = None) -> Any:
        """Noise, drawn exactly: one integer, or an array of `size` of them."""
        count = 1 if size is None else size
        if self._draws.fits:
            drawn: Any = self._draws.draw(count)
        else:
            drawn = np.array([draw_point(self.law)[0] for _ in range(count)], dtype=object)
        return int(drawn[0]) if size is None else drawn

    @cached_property
    def _draws(self) -> IntegerDraws:
        return IntegerDraws(self.law)

    def prove(self, reach: int, level: Level) -> Check:
        """Whether moves up to `reach` keep a level: layers that far apart differ by few steps, compared exactly."""
        steps = self.law.steps_within(reach)
        fits = implies_level(level, self.law.decay, steps)
        detail = f"layers at most {reach} apart differ by at most {steps} step(s) of {float(self.law.decay):.6g}"
        return Check("privacy", fits, f"{level}: {detail}, exactly")

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        law = self.law
        return {"noise": self.kind, "decay": write_rational(law.decay), "period": law.period, "upper": law.upper}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LayerNoise:
        """The law written by `to_json`."""
        if any(isinstance(data[name], bool) or not isinstance(data[name], int) for name in ("period", "upper")):
            raise InvalidInput("the period of noise and its upper layers are whole numbers.")
        return cls(LayerLaw(read_rational(data["decay"]), data["period"], data["upper"]))


def _log(value: Fraction) -> float:
    if value > Fraction(1, 2):
        return math.log1p(float(value - 1))
    return math.log(value.numerator) - math.log(value.denominator)
