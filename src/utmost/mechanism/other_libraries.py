"""Mechanisms from elsewhere as tables of probabilities: a matrix, a function that returns its law, diffprivlib objects.

A proof is about probabilities, so it needs them: a mechanism that can only be sampled cannot be proved, and `um.audit`
tests it. What is proved is the stated law; whether a program draws from it is a question for an audit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from utmost.errors import InvalidInput, shown
from utmost.mechanism.finite import FiniteMechanism
from utmost.space import Space


def as_table(thing: Any, space: Space) -> Any:
    """A mechanism as one with probabilities at the points of a space; `InvalidInput` if it can only be sampled."""
    if all(hasattr(thing, name) for name in ("points", "outputs", "row")):
        return thing
    if type(thing).__module__.partition(".")[0] == "diffprivlib" and type(thing).__name__ in LAWS:
        law = LAWS[type(thing).__name__]
        return _from_laws([law(thing, point) for point in space.points], space)
    if callable(thing) and not hasattr(thing, "output_measure"):  # OpenDP's measurements are callable too, but draw
        return _from_laws([_law_at(thing, point) for point in space.points], space)
    try:
        matrix = np.asarray(thing, dtype=float)
    except (TypeError, ValueError):
        matrix = np.zeros(0)
    if matrix.ndim != 2:
        raise _only_draws(thing)
    return FiniteMechanism(matrix, space.points, range(matrix.shape[1]))


def _law_at(function: Callable[[Any], Any], point: Any) -> Mapping[Any, Any]:
    """The law that a function returns at a point."""
    law = function(point)
    if not isinstance(law, Mapping):
        raise _only_draws(function)
    return law


def _from_laws(laws: list[Mapping[Any, Any]], space: Space) -> FiniteMechanism:
    """The table of laws that are mappings from outputs to probabilities."""
    outputs = list(dict.fromkeys(output for law in laws for output in law))
    try:
        matrix = [[float(law.get(output, 0)) for output in outputs] for law in laws]
    except (TypeError, ValueError):
        raise InvalidInput(
            "a probability in the law is no number; give a mapping from every output to its probability."
        ) from None
    return FiniteMechanism(matrix, space.points, outputs)


def _only_draws(thing: Any) -> InvalidInput:
    """The error for a mechanism without probabilities."""
    return InvalidInput(
        f"a {type(thing).__name__} cannot be certified: it does not list its probabilities, and the "
        "proof is about those. Give a matrix with a row for every point of the space, um.FiniteMechanism(matrix, "
        "points, outputs), or a function from a point to a mapping {output: probability}; of what only draws, um.audit "
        "finds an empirical lower bound of epsilon; the usual noises are proved as they are: see um.noise."
    )


def _binary(mechanism: Any, point: Any) -> dict[str, float]:
    """The law of diffprivlib's Binary: the truth with probability (e^epsilon + delta) / (e^epsilon + 1)."""
    growth = math.exp(mechanism.epsilon)
    here, there = mechanism.value0, mechanism.value1
    if point not in (here, there):
        raise InvalidInput(f"the mechanism has the points {here!r} and {there!r}, not {shown(point)}.")
    lie = (1 - mechanism.delta) / (growth + 1)
    return {point: 1 - lie, there if point == here else here: lie}


def _geometric_truncated(mechanism: Any, point: Any) -> dict[int, float]:
    """The law of diffprivlib's GeometricTruncated: two-sided geometric noise, clamped to the ends."""
    ratio = math.exp(-mechanism.epsilon / mechanism.sensitivity)
    low, high = int(mechanism.lower), int(mechanism.upper)
    if not low <= point <= high:
        raise InvalidInput(f"the mechanism has the points {low} to {high}, not {shown(point)}.")
    law = {k: (1 - ratio) / (1 + ratio) * ratio ** abs(k - point) for k in range(low, high + 1)}
    law[low], law[high] = ratio ** (point - low) / (1 + ratio), ratio ** (high - point) / (1 + ratio)
    return law


LAWS: dict[str, Callable[[Any, Any], Mapping[Any, float]]] = {
    "Binary": _binary,
    "GeometricTruncated": _geometric_truncated,
}
"""The laws of diffprivlib's mechanisms with finitely many outputs, by the name of their class."""
