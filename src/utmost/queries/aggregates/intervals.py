"""Intervals around released integers, in the unit of the answer."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from utmost.exact.arrays import Floats
from utmost.queries.aggregates.aggregate import Estimates, Integers
from utmost.queries.groups import LARGEST


def plus_minus(
    name: str, integers: Integers, half_width: int, step: Fraction, rounding: Fraction = Fraction(0)
) -> Estimates:
    """Estimates that are the released integers, with intervals of a half width to both sides.

    If the step is an integer, so are all numbers (Python's own beyond 64 bits); else they are the nearest floats.

    Parameters
    ----------
    name : str
        The name of the number.
    integers : array
        The released integers, one for each group.
    half_width : int
        The half width of the noise at the confidence of the intervals, in steps.
    step : Fraction
        The size of one step, in the unit of the answer.
    rounding : Fraction
        The largest change by rounding values, in the unit of the answer.
    """
    if rounding:
        half_width = half_width + math.ceil(rounding / step)
    numerator, denominator = step.numerator, step.denominator
    exceeds_64_bits = (int(np.abs(integers).max(initial=0)) + half_width) * numerator >= LARGEST
    steps = integers.astype(object) if exceeds_64_bits else integers
    values, low, high = (part * numerator for part in (steps, steps - half_width, steps + half_width))
    if denominator != 1:
        values, low, high = (_divided(part, denominator) for part in (values, low, high))
    return Estimates({name: values}, lambda: {name: (low, high)})


def _divided(steps: Integers, denominator: int) -> Floats:
    return np.asarray(steps / denominator, dtype=np.float64)
