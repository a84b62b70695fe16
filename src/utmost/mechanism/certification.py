"""Certification: prove that a mechanism is private in exact arithmetic, on integers.

`certify` turns a mechanism in floating point into integer weights over one total 2^bits and proves, for every edge and
every output, that they satisfy the level: with rational lower bounds of e^epsilon from ball arithmetic, always rounded
towards the stricter level. No claim of a design is used. Releases are drawn by `CertifiedMechanism.sample` only.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.errors import CannotCertify, InvalidInput, UnknownPoint
from utmost.exact import MOST_BITS, without_underflow
from utmost.exact.arrays import Floats
from utmost.mechanism.finite import FiniteMechanism, RecipeMechanism, Rows, require_points
from utmost.mechanism.other_libraries import as_table
from utmost.mechanism.rounding import (
    UNIT,
    Weights,
    allows_zero,
    bits_for,
    bits_to_hold,
    carry_down,
    floor_of,
    is_edgewise_zero,
    is_positive,
    needed_floor,
    round_rows,
    word_floor,
)
from utmost.mechanism.sampling import WORD, draw
from utmost.mechanism.violations import (
    extremes,
    find_violation,
    growth_floor,
    is_complete,
    most_weight,
    power_of,
    promise_excess,
    single_level,
)
from utmost.privacy import ApproxDP, Level, require_pure
from utmost.space import Space
from utmost.space.edge_levels import EdgeLevels, Privacy, on_edges
from utmost.space.sparse import connected_components

ROUNDING = 2.0**-40
"""The relative violation of a level up to which it counts as rounding and is repaired; larger ones are refused.

Underflow is rounding too: probabilities are compared after `exact.without_underflow`. A small p from its logarithm
or quantile has an error in proportion to log(1/p), for which 1 + log(1/p) / 64 times this is allowed.
"""
MOST_MOVED = 1e-4
"""The largest total variation distance of the integers from the design."""
MOST_TABLE = 10**7
"""A recipe with more entries than this is certified by its law and Lemma 2, without a table."""
TRIES = 8


@dataclass(frozen=True)
class Check:
    """One check of a verification: its name, whether it passed, and the details in words."""

    name: str
    passed: bool
    detail: str

    def __str__(self) -> str:
        return f"{'ok  ' if self.passed else 'FAIL'} {self.name}: {self.detail}"


class CertifiedMechanism(Rows):
    """A mechanism of integer weights over one total, proved private in exact arithmetic; made by `certify`.

    Attributes
    ----------
    weights : array of int
        A row per point, each row adding up to `total`.
    total : int
        2^bits.
    level : Level or EdgeLevels
        The level that it is proved to satisfy: one level, or the levels per edge.
    moved : float
        Upper bound on the change of any event's probability from the mechanism that was certified.

    Examples
    --------
    >>> import utmost as um
    >>> coin = um.FiniteMechanism([[0.75, 0.25], [0.25, 0.75]], [0, 1], ["no", "yes"])
    >>> certified = um.certify(coin, um.path(2), um.PureDP.from_ratio(3))
    >>> certified.moved < 1e-12, certified.sample(0) in ("no", "yes")
    (True, True)
    """

    def __init__(
        self, weights: Weights, bits: int, outputs: Sequence[Any], levels: EdgeLevels, moved: float = 0.0
    ) -> None:
        _require_certifiable(levels, len(outputs))
        table = _as_weights(weights, bits, (len(levels.space.points), len(outputs)))
        violation = find_violation(table, bits, levels)
        if violation:
            raise CannotCertify(violation)
        table.flags.writeable = False
        self.weights, self.bits, self.levels, self.moved = table, bits, levels, moved
        self.points, self.outputs = levels.space.points, tuple(outputs)

    @property
    def total(self) -> int:
        """The sum of every row."""
        return 1 << self.bits

    @property
    def level(self) -> Level | EdgeLevels:
        """The level proved in exact arithmetic."""
        return self.levels.single or self.levels

    @cached_property
    def matrix(self) -> Floats:
        """The probabilities, rounded to floats."""
        if self.bits <= WORD:
            return np.asarray(self.weights / float(self.total))
        return (self.weights / self.total).astype(float)

    def row(self, point: Hashable) -> Floats:
        """The probabilities of all outputs at a point, rounded to floats."""
        return np.asarray(self.matrix[self._space.index(point)])

    def sample(self, point: Hashable, size: int | None = None) -> Any:
        """Private answers at a point: drawn exactly from its weights, with the operating system's randomness.

        One output, or a list of `size` of them.
        """
        return sample_from(self.weights[_private_index(self._space, point)], self.bits, self.outputs, size)

    def select(self, indices: NDArray[Any], points: Sequence[Any]) -> FiniteMechanism:
        """The mechanism on other points whose rows are the rows at these positions; not yet certified."""
        return FiniteMechanism(self.matrix[indices], points, self.outputs)

    def __repr__(self) -> str:
        size = f"{len(self.points)} points and {len(self.outputs)} outputs"
        return f"CertifiedMechanism of {size} at {self.levels}, weights over 2^{self.bits}"


class CertifiedRecipe(Rows):
    """A mechanism too large for a table, with rows rounded on demand; private by Lemma 2, made by `certify`.

    Attributes
    ----------
    law : Law
        What is proved about the probabilities that the recipe computes.
    total : int
        2^bits.
    level : Level
        The level that it satisfies.
    moved : float
        Upper bound on the change of any event's probability from the recipe's.
    """

    bits = WORD

    def __init__(self, recipe: RecipeMechanism, levels: EdgeLevels) -> None:
        if recipe.law is None:
            raise CannotCertify(
                "a recipe is certified by what is known of its law; give RecipeMechanism(..., law=Law(...))."
            )
        if recipe.law.space != levels.space:
            raise InvalidInput(f"the recipe's law holds on {recipe.law.space!r}, not on {levels.space!r}.")
        self.recipe, self.levels, self.law = recipe, levels, recipe.law
        self.points, self.outputs = recipe.points, recipe.outputs
        level, law_level = require_pure(single_level(levels)), require_pure(self.law.level)
        growth = growth_floor(level)
        if growth is None or growth_floor(law_level) is None or power_of(law_level).compare(power_of(level)) > 0:
            raise CannotCertify(f"the law is {law_level}, which does not imply {level}; certify it at its own level.")
        if growth <= 1:
            raise CannotCertify("a recipe needs epsilon above 0: there is no slack to round in at epsilon = 0.")
        share = Fraction(1, len(self.outputs))
        left_over = Fraction(
            len(self.outputs), 2 ** (self.bits - 1)
        )  # units lost by rounding down, distributed proportionally
        error = Fraction(self.law.relative_error) + Fraction(UNIT) + left_over
        unit = (1 + growth) / 2**self.bits
        slack = share * (growth - 1)
        eta = Fraction(
            2.0 ** math.ceil(math.log2((4 * error * growth * Fraction(self.law.highest) + 4 * unit) / slack))
        )
        if eta > Fraction(1, 1000):
            raise CannotCertify(
                f"rounding {len(self.outputs)} outputs at {level} would move more than 0.001; use fewer."
            )
        self.eta, self.moved = float(eta), float(eta + error)

    @property
    def total(self) -> int:
        """The sum of every row."""
        return 1 << self.bits

    @property
    def level(self) -> Level:
        """The level proved by the lemma."""
        return single_level(self.levels)

    def weights_at(self, point: Hashable) -> Weights:
        """The integer weights of all outputs at a point."""
        row = self.recipe.row_at(_private_index(self._space, point))[None, :]
        proper = row.shape[1] == len(self.outputs) and bool((row >= 0).all()) and abs(row.sum() - 1) <= 1e-9
        if not proper or row.max() > self.law.highest * (1 + 1e-9):
            raise CannotCertify("the recipe made a row that its law does not allow; mend the recipe.")
        return np.asarray(round_rows(row, np.full_like(row, 1 / row.size), self.eta, self.bits)[0])

    def row(self, point: Hashable) -> Floats:
        """The probabilities of all outputs at a point, rounded to floats."""
        return np.asarray(self.weights_at(point) / float(self.total))

    @cached_property
    def matrix(self) -> Floats:
        """All rows; `TooLarge` beyond 10^8 entries."""
        return RecipeMechanism(self.points, self.outputs, lambda i: self.row(self.points[i])).matrix

    def sample(self, point: Hashable, size: int | None = None) -> Any:
        """Private answers at a point, as `CertifiedMechanism.sample`."""
        return sample_from(self.weights_at(point), self.bits, self.outputs, size)

    def __repr__(self) -> str:
        return f"CertifiedRecipe of {len(self.points)} points and {len(self.outputs)} outputs at {self.level}"


def certify(
    thing: Any, space: Space | None = None, privacy: Privacy | None = None
) -> CertifiedMechanism | CertifiedRecipe:
    """Round a mechanism's probabilities to integer weights that are proved private in exact arithmetic.

    Call `certify(solution)`, or `certify(mechanism, space, privacy)` for a mechanism of your own or of another library.
    If the mechanism violates the level by more than rounding, `CannotCertify` names the worst edge, the output and the
    epsilon it would need. A mechanism that can only be sampled has no law to prove: see `audit`.

    Parameters
    ----------
    thing : Solution, FiniteMechanism, array or callable
        The mechanism. An array has a row for every point of the space, in order, and a column for every output. A
        function of a point returns its law: a mapping from every output to its probability. Mechanisms of diffprivlib
        with a known law of finitely many outputs, Binary and GeometricTruncated, are accepted as they are.
    space : Space, optional
        The points and their adjacency; a solution has its own.
    privacy : level, number or EdgeLevels, optional
        The level to prove; a solution has its own.

    Examples
    --------
    >>> import utmost as um
    >>> certified = um.certify(um.binary.balanced(um.counts(101), lambda yes: yes > 50, 1.0))
    >>> certified.level, certified.total == 2**62
    (PureDP(1), True)

    A mechanism from elsewhere, by its law:

    >>> um.certify(lambda sick: {"yes": 0.7 if sick else 0.4, "no": 0.3 if sick else 0.6}, um.path(2), 0.6)
    Traceback (most recent call last):
    utmost.errors.CannotCertify: not 0.6-DP between 0 and 1: the output 'no' has probability 0.6 against 0.3, ...
    """
    if hasattr(thing, "problem"):
        if space is not None or privacy is not None:
            raise InvalidInput("a solution brings its own space and privacy; call certify(solution) alone.")
        certified: CertifiedMechanism = thing.certified
        return certified
    if space is None or privacy is None:
        raise InvalidInput(
            "certifying a mechanism needs its space and privacy: certify(mechanism, space, privacy), with a mechanism "
            "that lists its probabilities, such as um.FiniteMechanism."
        )
    thing = as_table(thing, space)
    levels = on_edges(space, privacy)
    if isinstance(thing, RecipeMechanism) and len(thing.points) * len(thing.outputs) > MOST_TABLE:
        return CertifiedRecipe(thing, levels)
    return certify_on(thing, levels)


def certify_on(mechanism: Any, levels: EdgeLevels) -> CertifiedMechanism:
    """`certify` for a mechanism and the levels of the edges of its space."""
    require_points(mechanism, levels.space)
    _require_certifiable(levels, len(mechanism.outputs))
    matrix = _level_rows(mechanism.matrix, levels)
    _refuse_violations(matrix, mechanism.outputs, levels)
    if not len(matrix):
        return CertifiedMechanism(np.zeros(matrix.shape, dtype=np.int64), WORD, mechanism.outputs, levels)
    if matrix.shape[1] == 2 and _must_keep_zeros(matrix, levels):
        bits = bits_to_hold(matrix)
        weights = carry_down(matrix, levels, bits, most_weight)
        return _within_reason(
            CertifiedMechanism(weights, bits, mechanism.outputs, levels, moved_by(weights, bits, matrix))
        )
    floors = floor_of(matrix, levels.space.components)
    tightest, extreme_levels = extremes(matrix, levels)
    # Eight times what rounding needs, so that floats prove nearly every edge; a smaller floor would change the
    # mechanism imperceptibly less and leave all edges of a small epsilon to exact arithmetic.
    eta = max(8 * needed_floor(tightest, floors, extreme_levels), word_floor(floors, extreme_levels, matrix.shape[1]))
    for _ in range(TRIES):
        bits = bits_for(eta, floors, extreme_levels, matrix.shape[1])
        weights = round_rows(matrix, floors, min(eta, 0.5), bits)
        violation = find_violation(weights, bits, levels)
        if not violation:
            return _within_reason(
                CertifiedMechanism(weights, bits, mechanism.outputs, levels, moved_by(weights, bits, matrix))
            )
        eta *= 16
    raise CannotCertify(f"{violation} Rounding could not be absorbed: allow a slightly larger epsilon or delta.")


def _within_reason(certified: CertifiedMechanism) -> CertifiedMechanism:
    """Refuse integer weights that are far from the mechanism they stand for."""
    if certified.moved > MOST_MOVED:
        raise CannotCertify(
            f"rounding at {certified.levels} would move a probability by {certified.moved:.2g}; allow a larger epsilon "
            "or delta, or make the mechanism a little more private than it promises."
        )
    return certified


def require_private(mechanism: Any, levels: EdgeLevels) -> None:
    """Refuse a mechanism whose floating-point probabilities violate a level by more than rounding."""
    _refuse_violations(_level_rows(mechanism.matrix, levels), mechanism.outputs, levels)


def _as_weights(weights: Any, bits: int, shape: tuple[int, int]) -> Weights:
    """A copy of integer weights, of 64 bits where these suffice, each between 0 and 2^bits."""
    table = np.asarray(weights)
    if table.shape != shape:
        raise CannotCertify(f"the weights have shape {table.shape} for {shape[0]} points and {shape[1]} outputs.")
    if not (np.issubdtype(table.dtype, np.integer) or all(isinstance(w, int) for w in table.ravel().tolist())):
        raise CannotCertify("weights must be integers.")
    if not 0 < bits <= MOST_BITS or any(not 0 <= w <= 1 << bits for w in (table.min(initial=0), table.max(initial=0))):
        raise CannotCertify(f"weights must lie between 0 and 2^{bits}, with at most {MOST_BITS} bits.")
    return table.astype(np.int64 if bits <= WORD else object, copy=True)


def _private_index(space: Space, point: Hashable) -> int:
    """The position of a private point; the error does not show the point."""
    try:
        return space.index(point)
    except UnknownPoint:
        raise UnknownPoint("that is not a point of this mechanism; its points are in `.points`.") from None


def sample_from(weights: Weights, bits: int, outputs: Sequence[Any], size: int | None) -> Any:
    """One output drawn exactly from integer weights over 2^bits, or a list of `size` of them."""
    if size is not None and (isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0):
        raise InvalidInput(f"size is {size!r}; give how many answers to draw, 0 or more.")
    positions = draw(weights, bits, 1 if size is None else size).tolist()
    return outputs[positions[0]] if size is None else [outputs[i] for i in positions]


# ---- before rounding ----


def _require_certifiable(levels: EdgeLevels, outputs: int) -> None:
    """Refuse levels that are not known exactly, or not concave with more than two outputs."""
    for level in levels.kinds():
        if not level.certifiable:
            level.upper(0.0)  # a level that bounds no probability, such as zCDP, raises its own error
            raise CannotCertify(f"{level} is known only in floating point; give its graph as SuitablePair(knots).")
        if outputs > 2 and not level.concave:
            raise CannotCertify(f"{level} is not concave, so it promises nothing about {outputs} outputs; use two.")


def _level_rows(matrix: Floats, levels: EdgeLevels) -> Floats:
    """Make rows equal where edges allow no difference at all; refuse them if they differ by more than rounding."""
    is_zero_edge = is_edgewise_zero(extremes(matrix, levels)[1])
    if not is_zero_edge.any():
        return matrix
    if is_complete(levels):
        label = np.zeros(len(matrix), dtype=np.int64)
    else:
        joined = Space(levels.space.points, levels.space.edge_indices[is_zero_edge])
        label = connected_components(joined.graph(), directed=False)[1]
    first = np.full(label.max() + 1, len(label))
    np.minimum.at(first, label, np.arange(len(label)))
    equalised = np.asarray(matrix[first[label]])
    distance = np.abs(equalised - matrix).max(axis=1)
    if distance.max() > ROUNDING:
        i = int(distance.argmax())
        one, other = levels.space.points[int(first[label[i]])], levels.space.points[i]
        raise CannotCertify(
            f"{one!r} and {other!r} are joined by edges that allow no difference (epsilon = 0, delta = 0), but a "
            f"probability differs by {distance[i]:.3g}; make their rows equal or allow a larger epsilon."
        )
    return equalised


def _refuse_violations(matrix: Floats, outputs: Sequence[Any], levels: EdgeLevels) -> None:
    """Refuse a matrix that violates a level by more than rounding, naming the worst edge, output and epsilon."""
    original, matrix = matrix, without_underflow(matrix, is_positive(matrix, levels))
    if is_complete(levels):
        most, least = extremes(matrix, levels)[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            worst = int(np.argmax(np.where(most > least, most / least, 0.0)))
        ends = [int(matrix[:, worst].argmax()), int(matrix[:, worst].argmin())]
        space = Space([levels.space.points[i] for i in ends], [(0, 1)])
        original, matrix, levels = original[ends], matrix[ends], on_edges(space, single_level(levels))
    a, b = levels.space.edge_indices.T
    zero_allowed = allows_zero(levels)
    for tails, heads in ((a, b), (b, a)):
        excess = promise_excess(matrix[tails], matrix[heads], levels)
        has_forbidden_zero = (
            ((matrix[tails] > 0) & (matrix[heads] == 0)).any(axis=1) & ~zero_allowed & ~np.isinf(levels.growth)
        )
        excess[has_forbidden_zero] = np.inf
        excess /= 1 - np.log(np.minimum(*(_least_positive(matrix[ends]) for ends in (tails, heads)))) / 64
        if not len(excess) or not excess.max() > ROUNDING:
            continue
        edge = int(np.argmax(excess))
        tail_row, head_row = original[tails[edge]], original[heads[edge]]
        one, other = levels.space.points[int(tails[edge])], levels.space.points[int(heads[edge])]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(tail_row > 0, tail_row / head_row, 0.0)
        output = int(np.argmax(ratio))
        if head_row[output] == 0 and not zero_allowed[edge]:
            raise CannotCertify(
                f"the output {outputs[output]!r} has probability {tail_row[output]:.6g} at {one!r} and 0 at its "
                f"neighbour {other!r}: no epsilon allows that with delta = 0. Give it a positive probability "
                "at both, or a delta."
            )
        needs = FiniteMechanism([tail_row, head_row], (0, 1), outputs).epsilon(
            Space((0, 1), [(0, 1)]), float(levels.delta[edge]) if np.isfinite(levels.delta[edge]) else 0
        )
        raise CannotCertify(
            f"not {levels[edge]} between {one!r} and {other!r}: the output {outputs[output]!r} has probability "
            f"{tail_row[output]:.6g} against {head_row[output]:.6g}, which needs "
            f"epsilon = {_distinct_epsilon(needs, levels[edge])}"
        )


def _distinct_epsilon(needs: float, level: Level) -> str:
    """An epsilon with enough digits to differ from that of a level, and the remedy, in words."""
    allowed = level.log_growth if isinstance(level, ApproxDP) else math.nan
    text = next((t for t in (f"{needs:.{digits}g}" for digits in range(6, 18)) if float(t) != allowed), repr(needs))
    if len(text) <= len(f"{needs:.6g}"):
        return f"{text}. Allow that, or mend the mechanism."
    return (
        f"{text}: the same up to the rounding of the probabilities. If e^epsilon is meant to be a ratio, such as 2, "
        "say um.PureDP.from_ratio(2); else allow a little more, or give the probabilities with more digits."
    )


def _least_positive(rows: Floats) -> Floats:
    """The least positive entry of each row."""
    return np.asarray(np.where(rows > 0, rows, 1.0).min(axis=1, initial=1.0))


def _must_keep_zeros(matrix: Floats, levels: EdgeLevels) -> bool:
    """Whether zeros must stay zeros: the floor would lift zeros that a level allows, or the levels are not concave."""
    if not all(level.concave for level in levels.kinds()):
        return True
    if is_complete(levels):  # zeros next to anything else were refused
        return False
    is_positive_entry, parts = matrix > 0, levels.space.components
    is_possible = np.zeros((parts.max() + 1, matrix.shape[1]), dtype=bool)
    np.logical_or.at(is_possible, parts, is_positive_entry)
    return bool((is_possible[parts] & ~is_positive_entry & ~is_positive(matrix, levels)).any())


def moved_by(weights: Weights, bits: int, matrix: Floats) -> float:
    """The largest total variation distance between a certified row and the row it came from."""
    probabilities = weights / 2.0**bits if bits <= WORD else (weights / (1 << bits)).astype(float)
    return float(0.5 * np.abs(probabilities - matrix).sum(axis=1).max(initial=0.0))
