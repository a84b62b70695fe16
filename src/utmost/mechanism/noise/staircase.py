"""Noise on one integer that falls in steps: geometric (discrete Laplace) noise, and the discrete staircase.

Pr[X = k] falls by a factor b once a period, after its first `upper` places (`layers.py`). With a period of one it is
the two-sided geometric law, Pr[X = k] proportional to b^|k|; with the sensitivity as its period, the staircase of Geng
and Viswanath (2016).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput
from utmost.exact import as_rational, read_rational, write_rational
from utmost.exact.arrays import Floats
from utmost.mechanism.certification import Check
from utmost.mechanism.noise.law import Moved, NoiseLaw, whole_numbers
from utmost.mechanism.noise.layers import (
    NEGLIGIBLE,
    IntegerDraws,
    LayerLaw,
    draw_point,
    log_power,
    log_rational,
    sum_norms,
    sum_squares,
)
from utmost.mechanism.sampling import WORD
from utmost.privacy import Level
from utmost.space.line import Line, tolerance
from utmost.space.sensitivity import l1_sensitivity

TINY = Fraction(1, 2**40)
"""A decay b below which b - 1 has lost the digits of b as a float."""


@dataclass(frozen=True)
class StaircaseLaw(NoiseLaw):
    """Noise of one `LayerLaw` in one dimension: geometric with period 1, a staircase with a longer one.

    Examples
    --------
    >>> noise = geometric_law(Fraction(1, 2))
    >>> noise.tail([0, 1, 2]).round(6), round(noise.mean("absolute"), 6)
    (array([0.666667, 0.333333, 0.166667]), 1.333333)
    """

    dimension = 1
    law: LayerLaw

    def __post_init__(self) -> None:
        law = self.law
        fits = isinstance(law.decay, Fraction) and law.dimension == 1
        if not fits or not (0 <= law.decay < 1 and 1 <= law.upper <= law.period <= 2**WORD):
            raise InvalidInput(
                "noise on a line falls by a rational decay from 0 to below 1, at one of 1..period layers, period at "
                "most 2^62."
            )

    @property
    def kind(self) -> str:
        return "geometric" if self.law.period == 1 else "staircase"

    @property
    def name(self) -> str:
        law = self.law
        return "geometric" if law.period == 1 else f"staircase (first {law.upper} of every {law.period} steps high)"

    @property
    def decay(self) -> Fraction:
        """The factor b of one step."""
        return self.law.decay

    @property
    def layers(self) -> LayerLaw:
        return self.law

    @cached_property
    def wide(self) -> int:
        fall = -log_rational(self.decay)
        return self.law.period * (1 + int(np.ceil(NEGLIGIBLE / fall)))

    def enclose_tail(self, t: int, bits: int) -> arb:
        with ctx.workprec(bits + 64):
            tail: arb = self.law.enclose_tail(t, bits) / 2
            return tail

    def probability(self, k: ArrayLike) -> Floats:
        steps = self.law.step(np.abs(whole_numbers(k)))
        return np.asarray(np.exp(log_rational(self.law.top) + log_power(self.decay, steps)))

    def tail(self, k: ArrayLike) -> Floats:
        at = whole_numbers(k)
        law, b, n = self.law, float(self.decay), np.asarray(np.maximum(at, 1 - at))
        with np.errstate(under="ignore"):
            if law.period == 1:
                rate = np.log1p(float(law.decay - 1)) if law.decay > TINY else log_rational(law.decay)
                above = np.exp(n.astype(float) * rate) / (1 + b)
            else:
                place = np.asarray(n % law.period).astype(float)
                rest = np.maximum(law.upper - place, 0) + b * (law.period - np.maximum(place, law.upper))
                onward = b * (law.upper + b * (law.period - law.upper)) / float(1 - law.decay)
                above = np.exp(log_rational(law.top) + log_power(law.decay, n // law.period)) * (rest + onward)
        return np.asarray(np.where(at > 0, above, 1 - above))

    def mean(self, loss: str) -> float:
        if loss not in ("absolute", "squared"):
            return 2 * float(self.tail(tolerance(loss) + 1))
        return float(self._absolute if loss == "absolute" else self.nominal_variance)

    @property
    def _absolute(self) -> Fraction:
        b = self.decay
        return 2 * b / (1 - b**2) if self.law.period == 1 else self.law.mean(sum_norms)

    @property
    def nominal_variance(self) -> Fraction:
        b = self.decay
        return 2 * b / (1 - b) ** 2 if self.law.period == 1 else self.law.mean(sum_squares)

    @property
    def fourth_moment(self) -> float:
        if self.law.period > 1:
            return super().fourth_moment
        b = float(self.decay)
        return 2 * b * (1 + 11 * b + 11 * b**2 + b**3) / ((1 + b) * (1 - b) ** 4)

    def characteristic(self, t: Floats) -> Floats:
        if self.law.period > 1:
            return super().characteristic(t)
        b = float(self.decay)
        return np.asarray((1 - b) ** 2 / ((1 - b) ** 2 + 4 * b * np.sin(t / 2) ** 2))

    def draw(self, size: int) -> NDArray[Any]:
        if self._draws.fits:
            return self._draws.draw(size)
        return np.array([draw_point(self.law)[0] for _ in range(size)], dtype=object)

    @cached_property
    def _draws(self) -> IntegerDraws:
        return IntegerDraws(self.law)

    def falls(self, space: Moved) -> tuple[Fraction, int]:
        """Moves of one integer cross `steps_within` of them; moves of several integers at most one step each."""
        sensitivity = l1_sensitivity(space)
        alone = space.dimension == 1
        return self.decay, self.law.steps_within(sensitivity) if alone else sensitivity

    def prove(self, space: Moved, level: Level) -> Check:
        (b, steps), sensitivity = self.falls(space), l1_sensitivity(space)
        if isinstance(space, Line):
            detail = f"layers at most {sensitivity} apart differ by at most {steps} step(s) of {float(b):.6g}"
        else:
            detail = f"one neighbour moves the integers by at most {sensitivity} in all, each a factor {float(b):.6g}"
        return Check("privacy", level.kept_by(b, steps), f"{level}: {detail}, exactly")

    def to_json(self) -> dict[str, Any]:
        law = self.law
        return {"noise": "layers", "decay": write_rational(law.decay), "period": law.period, "upper": law.upper}

    def part_to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "decay": str(self.decay)} if self.law.period == 1 else super().part_to_json()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> StaircaseLaw:
        if "period" not in data:
            return geometric_law(as_rational(data["decay"]))
        if any(isinstance(data[name], bool) or not isinstance(data[name], int) for name in ("period", "upper")):
            raise InvalidInput("the period of noise and its upper layers are whole numbers.")
        return cls(LayerLaw(read_rational(data["decay"]), data["period"], data["upper"]))


def geometric_law(decay: Fraction) -> StaircaseLaw:
    """The two-sided geometric, or discrete Laplace, law: Pr[X = k] proportional to decay^|k|.

    Examples
    --------
    >>> geometric_law(Fraction(1, 3)).tail([1, 2]).round(6)
    array([0.25    , 0.083333])
    """
    return StaircaseLaw(LayerLaw(decay, 1, 1))
