"""What every verifier needs: its input, arrays read from untrusted evidence, and checks of stated numbers.

A verifier sees a problem, a mechanism and a certificate, through the protocols below, and trusts none of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats, Integers
from utmost.mechanism import FiniteMechanism
from utmost.mechanism.certification import Check
from utmost.space import Space
from utmost.space.edge_levels import EdgeLevels

Outcome: TypeAlias = tuple[tuple[Check, ...], float]


class Problem(Protocol):
    """The part of a problem that a checker uses."""

    @property
    def space(self) -> Space: ...
    @property
    def privacy(self) -> EdgeLevels: ...
    @property
    def data(self) -> Mapping[str, Any]: ...


Evidence: TypeAlias = Mapping[str, Any]
"""Arrays by name that a solver offers as a proof, such as dual prices; untrusted."""


class Certificate(Protocol):
    """The part of a certificate that a checker uses; all of it is untrusted."""

    @property
    def evidence(self) -> Evidence: ...
    @property
    def claim(self) -> str: ...
    @property
    def bound(self) -> float | None: ...


class Solved(Protocol):
    """The part of a solution that a checker uses."""

    @property
    def mechanism(self) -> FiniteMechanism: ...
    @property
    def value(self) -> float: ...
    @property
    def certificate(self) -> Certificate: ...


def read_array(source: Mapping[str, Any], name: str, kind: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """An array from data or evidence, of the stated kind ("b", "i" or "f") and shape (None: any length)."""
    array = source.get(name)
    if not isinstance(array, np.ndarray) or array.dtype.kind != kind or array.ndim != len(shape):
        raise InvalidInput(f"{name} is not an array of the right kind.")
    if any(want is not None and want != got for want, got in zip(shape, array.shape, strict=True)):
        raise InvalidInput(f"{name} has shape {array.shape}, which does not fit.")
    if kind == "f" and not np.isfinite(array).all():
        raise InvalidInput(f"{name} holds a number that is not finite.")
    return array


def read_positions(source: Mapping[str, Any], name: str, shape: tuple[int | None, ...], below: int) -> Integers:
    """An array of positions from 0 to below - 1."""
    array = read_array(source, name, "i", shape)
    if array.size and not 0 <= array.min() <= array.max() < below:
        raise InvalidInput(f"{name} names a position that is not there.")
    return array


def read_distribution(source: Mapping[str, Any], name: str, n: int) -> Floats:
    """An array of n probabilities that add up to 1."""
    array = read_array(source, name, "f", (n,))
    if n and (array.min() < 0 or abs(float(array.sum()) - 1) > 1e-9):
        raise InvalidInput(f"{name} is not a distribution.")
    return array


def asks_for_worst(problem: Problem) -> bool:
    """Whether the criterion is the worst point rather than the average under the prior."""
    criterion = problem.data.get("criterion")
    if not isinstance(criterion, str) or criterion not in ("average", "worst"):
        raise InvalidInput("the criterion is neither average nor worst.")
    return criterion == "worst"


def require_outputs(problem: Problem, solved: Solved) -> int:
    """The number of outputs; refuses a mechanism whose outputs are not those of the problem."""
    outputs = read_outputs(problem)
    if outputs != tuple(solved.mechanism.outputs):
        raise InvalidInput("the mechanism's outputs are not those of the question.")
    return len(outputs)


def read_outputs(problem: Problem) -> tuple[Any, ...]:
    """The outputs that a question asks for."""
    outputs = problem.data.get("outputs")
    if not isinstance(outputs, tuple):
        raise InvalidInput("the question does not say what its outputs are.")
    return outputs


MARGIN = 1e-9
"""The relative tolerance by which a stated lower bound may exceed the recomputed one."""


def check_value(value: float, recomputed: float) -> Check:
    """Whether the stated value is the recomputed one."""
    agrees = abs(value - recomputed) <= 1e-12
    return Check("value", bool(agrees), f"{recomputed:.12g}" + ("" if agrees else f", not {value:.12g} as stated"))


def check_bound(
    solved: Solved, value: float, bound: float, among: str = "", least: bool = False, room: float = 0.0
) -> Check:
    """Whether the value respects a recomputed bound, and the certificate states this bound: one rule for all questions.

    A bound is a function of the problem and the evidence alone, so the stated one may differ from the recomputed one by
    rounding only, a billionth of it: a better one would be false, and a worse one is not what this evidence proves.

    Parameters
    ----------
    solved : Solved
        The solution, whose certificate states the bound.
    value, bound : float
        The recomputed value and bound.
    among : str
        Which private mechanisms the bound covers, in words, if not all.
    least : bool
        Whether it bounds a loss, from below.
    room : float
        By how much rounding may have changed the value, towards the bound and beyond it.
    """
    stated_bound, excess = solved.certificate.bound, (bound - value if least else value - bound)
    agrees = stated_bound is not None and abs(stated_bound - bound) <= 1e-9 * abs(bound) + room
    does = "loses less than" if least else "exceeds"
    detail = f"no private mechanism{among} {does} {bound:.12g}; the value is {value:.12g}"
    return Check("bound", bool(agrees and math.isfinite(bound) and excess <= room), detail)


def check_lower_bound(
    solved: Solved, value: float, bound: float, bound_words: str, value_words: str
) -> tuple[Check, float]:
    """Whether the stated lower bound of a loss is at most the recomputed bound and the value; and the gap.

    Parameters
    ----------
    solved : Solved
        The solution, whose certificate states the bound.
    value, bound : float
        The recomputed loss and lower bound.
    bound_words, value_words : str
        The words before the bound, about every private mechanism, and before the value, about this one.
    """
    stated_bound = solved.certificate.bound
    sound = stated_bound is not None and stated_bound <= min(bound, value) * (1 + MARGIN)
    detail = f"no private mechanism {bound_words} {bound:.12g}; this one {value_words} {value:.12g}"
    return Check("bound", bool(sound), detail), max(0.0, value - bound)
