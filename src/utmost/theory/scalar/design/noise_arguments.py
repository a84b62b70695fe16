"""Validation of the arguments of noise; error messages never contain private values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.exact import Number, as_rational, as_whole, is_number
from utmost.privacy import ApproxDP, Level, as_level, require_pure

MOST_INTEGER = 2**56


def as_noise_level(privacy: Level | Number) -> ApproxDP:
    """Convert to a pure level above 0."""
    level = as_level(privacy)
    try:
        pure = require_pure(level)
    except UnsupportedLevel:
        raise UnsupportedLevel(
            f"noise is designed for pure levels, not {level}; give an epsilon, such as PureDP(1)."
        ) from None
    if pure.exponent == 0 and pure.ratio == 1:
        raise InvalidInput("epsilon is 0: no noise over all numbers hides everything; give an epsilon above 0.")
    return pure


def as_dimension(dimension: Any) -> int:
    """Validate the dimension of an answer."""
    return as_whole(dimension, "dimension", 1, 100)


def as_positive(value: Number, name: str) -> Fraction:
    """Convert to a rational number above 0."""
    exact = as_rational(value, name)
    if exact <= 0:
        raise InvalidInput(f"{name} is {value!r}; it must be above 0.")
    return exact


def as_confidence(confidence: Number) -> Fraction:
    """Convert to a confidence, at least 0 and below 1."""
    chance = as_rational(confidence, "the confidence")
    if not 0 <= chance < 1:
        raise InvalidInput(f"the confidence is {confidence!r}; give a probability from 0 to below 1, such as 0.95.")
    return chance


def as_size(size: Any) -> int:
    """Validate a number of draws."""
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
        raise InvalidInput(f"size is {size!r}; give how many draws, 0 or more.")
    return int(size)


def as_integers(k: ArrayLike) -> NDArray[Any]:
    """Convert to an array of integers: of 64 bits if l1 norms fit, else Python integers."""
    at = np.asarray(k)
    if at.dtype.kind == "f" and not isinstance(k, np.ndarray):  # integers that share no dtype become floats
        at = np.asarray(k, dtype=object)
    if at.dtype == object and all(is_number(x) and isinstance(x, int) for x in at.ravel().tolist()):
        return at
    if at.size and not np.issubdtype(at.dtype, np.integer):
        raise InvalidInput(f"k is {k!r}; give whole numbers.")
    fits = not at.size or (at.min() > -MOST_INTEGER and at.max() < MOST_INTEGER)
    return at.astype(np.int64 if fits else object)


def as_private_vector(value: Any, dimension: int, convert: Callable[[Any], Any], what: str) -> list[Any]:
    """Convert a private answer to a list of its coordinates; errors do not repeat it."""
    try:
        if dimension > 1 and (isinstance(value, Mapping) or not hasattr(value, "__getitem__")):
            raise TypeError  # unordered collections are not vectors
        parts = [value] if dimension == 1 else list(value)
        if len(parts) != dimension:
            raise ValueError
        return [convert(part) for part in parts]
    except (TypeError, ValueError, OverflowError):
        description = f"one {what}" if dimension == 1 else f"a sequence of {dimension} numbers, each a {what}"
        raise InvalidInput(
            f"the value to release must be {description}; make it so by a public rule beforehand."
        ) from None


def exact_integer(value: Any) -> int:
    """Convert to a Python integer; ValueError for anything else."""
    if not is_number(value) or not isinstance(value, int | np.integer):
        raise ValueError
    return int(value)


def exact_number(value: Any) -> Fraction:
    """The exact value of a private answer: a float means its binary value, to the last bit.

    Parameters are read as decimals, answers are not: the declared sensitivity is a promise about the numbers that are
    passed in.
    """
    if not is_number(value):
        raise ValueError
    if isinstance(value, np.floating):
        return Fraction(*value.as_integer_ratio())
    return Fraction(int(value)) if isinstance(value, np.integer) else Fraction(value)
