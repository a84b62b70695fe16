"""Is this mechanism really private? Proved in exact arithmetic, on integers.

`certify` turns a mechanism in floating point into integer weights over one total 2^bits and proves, for every edge and
every output, that they keep the promise: with rational lower bounds of e^epsilon from ball arithmetic, rounding always
against us. Nothing a designer claims is used. `CertifiedMechanism.sample` is the only way to a release.
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
from utmost.exact import MOST_BITS, held
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
"""A promise missed by less than this, relative, is missed by rounding and mended; by more, it is refused.

Underflow is rounding too: probabilities are compared as `exact.held` would hold them. A small p that comes from its
logarithm or quantile has an error in proportion to log(1/p), for which 1 + log(1/p) / 64 of these are allowed.
"""
MOST_MOVED = 1e-4
"""Integers farther than this from a design, in total variation, do not certify it."""
MOST_TABLE = 10**7
"""A recipe with more entries than this is certified by its law and Lemma 2, without a table."""
TRIES = 8


@dataclass(frozen=True)
class Check:
    """One check of a verification: what was checked, whether it holds, and what was found."""

    name: str
    passed: bool
    detail: str

    def __str__(self) -> str:
        return f"{'ok  ' if self.passed else 'FAIL'} {self.name}: {self.detail}"


class CertifiedMechanism(Rows):
    """A mechanism of integer weights over one total, proved private in exact arithmetic; made by `certify`.

    Attributes
    ----------
    weights : array of integers, a row per point, each row adding up to `total`
    total : 2^bits
    level : the privacy it is proved to have: one level, or the levels per edge
    moved : by how much the probability of any event differs from the mechanism that was certified, at most

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
        own = _as_weights(weights, bits, (len(levels.space.points), len(outputs)))
        broken = find_violation(own, bits, levels)
        if broken:
            raise CannotCertify(broken)
        own.flags.writeable = False
        self.weights, self.bits, self.levels, self.moved = own, bits, levels, moved
        self.points, self.outputs = levels.space.points, tuple(outputs)

    @property
    def total(self) -> int:
        """What every row adds up to."""
        return 1 << self.bits

    @property
    def level(self) -> Level | EdgeLevels:
        """The privacy that exact arithmetic proves."""
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
        """The mechanism on other points whose rows are the rows at these positions; to be certified anew."""
        return FiniteMechanism(self.matrix[indices], points, self.outputs)

    def __repr__(self) -> str:
        size = f"{len(self.points)} points and {len(self.outputs)} outputs"
        return f"CertifiedMechanism of {size} at {self.levels}, weights over 2^{self.bits}"


class CertifiedRecipe(Rows):
    """A mechanism too large for a table, its rows made and rounded on demand; private by Lemma 2, made by `certify`.

    Attributes
    ----------
    law : what is known of the probabilities the recipe computes, and why
    total : 2^bits
    level : the privacy it has
    moved : by how much the probability of any event differs from the recipe's, at most
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
        level, claimed = require_pure(single_level(levels)), require_pure(self.law.level)
        growth = growth_floor(level)
        if growth is None or growth_floor(claimed) is None or power_of(claimed).compare(power_of(level)) > 0:
            raise CannotCertify(f"the law is {claimed}, which does not imply {level}; certify it at its own level.")
        if growth <= 1:
            raise CannotCertify("a recipe needs epsilon above 0: there is no slack to round in at epsilon = 0.")
        share = Fraction(1, len(self.outputs))
        left_over = Fraction(
            len(self.outputs), 2 ** (self.bits - 1)
        )  # units of rounding down, handed out in proportion
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
        """What every row adds up to."""
        return 1 << self.bits

    @property
    def level(self) -> Level:
        """The privacy that the lemma proves."""
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
    """Integer weights next to a mechanism's probabilities, proved private in exact arithmetic.

    Call `certify(solution)`, or `certify(mechanism, space, privacy)` for a mechanism of your own or of another library.
    `CannotCertify` names the worst edge, the output and the epsilon it would need, if the mechanism is not private by
    more than rounding. What only draws has no law that could be proved: see `audit`.

    Parameters
    ----------
    thing : Solution, FiniteMechanism, matrix, function, or a mechanism of diffprivlib
        A matrix has a row for every point of the space, in order, and a column for every output. A function of a point
        returns its law: a mapping from every output to its probability. Of diffprivlib, Binary and GeometricTruncated
        have a law with finitely many outputs that is known.
    space : Space
        Who neighbours whom; a solution brings its own.
    privacy : level, number, or levels per edge
        What is to be proved; a solution brings its own.

    Examples
    --------
    >>> import utmost as um
    >>> certified = um.certify(um.binary.balanced(um.counts(101), lambda yes: yes > 50, 1.0))
    >>> certified.level, certified.total == 2**62
    (PureDP(1), True)

    A mechanism that somebody else wrote, by its law:

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
    tightest, along = extremes(matrix, levels)
    # Eight times what rounding needs, so that floats prove nearly every edge; a smaller floor would move less than
    # anyone notices and leave all edges of a small epsilon to exact arithmetic.
    eta = max(8 * needed_floor(tightest, floors, along), word_floor(floors, along, matrix.shape[1]))
    for _ in range(TRIES):
        bits = bits_for(eta, floors, along, matrix.shape[1])
        weights = round_rows(matrix, floors, min(eta, 0.5), bits)
        broken = find_violation(weights, bits, levels)
        if not broken:
            return _within_reason(
                CertifiedMechanism(weights, bits, mechanism.outputs, levels, moved_by(weights, bits, matrix))
            )
        eta *= 16
    raise CannotCertify(f"{broken} Rounding could not be absorbed: allow a slightly larger epsilon or delta.")


def _within_reason(certified: CertifiedMechanism) -> CertifiedMechanism:
    """Refuse to pass off integers as a mechanism that they are far from."""
    if certified.moved > MOST_MOVED:
        raise CannotCertify(
            f"rounding at {certified.levels} would move a probability by {certified.moved:.2g}; allow a larger epsilon "
            "or delta, or make the mechanism a little more private than it promises."
        )
    return certified


def require_private(mechanism: Any, levels: EdgeLevels) -> None:
    """Refuse a mechanism whose floating-point probabilities break a promise by more than rounding."""
    _refuse_violations(_level_rows(mechanism.matrix, levels), mechanism.outputs, levels)


def _as_weights(weights: Any, bits: int, shape: tuple[int, int]) -> Weights:
    """A copy of integer weights, of 64 bits where these suffice, each between 0 and 2^bits."""
    given = np.asarray(weights)
    if given.shape != shape:
        raise CannotCertify(f"the weights have shape {given.shape} for {shape[0]} points and {shape[1]} outputs.")
    if not (np.issubdtype(given.dtype, np.integer) or all(isinstance(w, int) for w in given.ravel().tolist())):
        raise CannotCertify("weights must be integers.")
    if not 0 < bits <= MOST_BITS or any(not 0 <= w <= 1 << bits for w in (given.min(initial=0), given.max(initial=0))):
        raise CannotCertify(f"weights must lie between 0 and 2^{bits}, with at most {MOST_BITS} bits.")
    return given.astype(np.int64 if bits <= WORD else object, copy=True)


def _private_index(space: Space, point: Hashable) -> int:
    """The position of a point that is private: an error does not repeat it."""
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


# ---- the exact check ----


# ---- before rounding ----


def _require_certifiable(levels: EdgeLevels, outputs: int) -> None:
    for level in levels.kinds():
        if not level.certifiable:
            level.upper(0.0)  # a level that bounds no probability, as zCDP, says so itself
            raise CannotCertify(f"{level} is known only in floating point; give its graph as SuitablePair(knots).")
        if outputs > 2 and not level.concave:
            raise CannotCertify(f"{level} is not concave, so it promises nothing about {outputs} outputs; use two.")


def _level_rows(matrix: Floats, levels: EdgeLevels) -> Floats:
    """One row for all points joined by edges that allow no difference at all, if theirs differ by rounding only."""
    same = is_edgewise_zero(extremes(matrix, levels)[1])
    if not same.any():
        return matrix
    if is_complete(levels):
        label = np.zeros(len(matrix), dtype=np.int64)
    else:
        joined = Space(levels.space.points, levels.space.edge_indices[same])
        label = connected_components(joined.graph(), directed=False)[1]
    first = np.full(label.max() + 1, len(label))
    np.minimum.at(first, label, np.arange(len(label)))
    levelled = np.asarray(matrix[first[label]])
    apart = np.abs(levelled - matrix).max(axis=1)
    if apart.max() > ROUNDING:
        i = int(apart.argmax())
        one, other = levels.space.points[int(first[label[i]])], levels.space.points[i]
        raise CannotCertify(
            f"{one!r} and {other!r} are joined by edges that allow no difference (epsilon = 0, delta = 0), but a "
            f"probability differs by {apart[i]:.3g}; make their rows equal or allow a larger epsilon."
        )
    return levelled


def _refuse_violations(matrix: Floats, outputs: Sequence[Any], levels: EdgeLevels) -> None:
    """Refuse what is not private by more than rounding, naming the worst edge, output and epsilon needed."""
    given, matrix = matrix, held(matrix, is_positive(matrix, levels))
    if is_complete(levels):
        most, least = extremes(matrix, levels)[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            worst = int(np.argmax(np.where(most > least, most / least, 0.0)))
        ends = [int(matrix[:, worst].argmax()), int(matrix[:, worst].argmin())]
        space = Space([levels.space.points[i] for i in ends], [(0, 1)])
        given, matrix, levels = given[ends], matrix[ends], on_edges(space, single_level(levels))
    a, b = levels.space.edge_indices.T
    zero_allowed = allows_zero(levels)
    for tails, heads in ((a, b), (b, a)):
        excess = promise_excess(matrix[tails], matrix[heads], levels)
        apart = ((matrix[tails] > 0) & (matrix[heads] == 0)).any(axis=1) & ~zero_allowed & ~np.isinf(levels.growth)
        excess[apart] = np.inf
        excess /= 1 - np.log(np.minimum(*(_least_positive(matrix[ends]) for ends in (tails, heads)))) / 64
        if not len(excess) or not excess.max() > ROUNDING:
            continue
        edge = int(np.argmax(excess))
        here, there = given[tails[edge]], given[heads[edge]]
        one, other = levels.space.points[int(tails[edge])], levels.space.points[int(heads[edge])]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(here > 0, here / there, 0.0)
        output = int(np.argmax(ratio))
        if there[output] == 0 and not zero_allowed[edge]:
            raise CannotCertify(
                f"the output {outputs[output]!r} has probability {here[output]:.6g} at {one!r} and 0 at its neighbour "
                f"{other!r}: no epsilon allows that with delta = 0. Give it a positive probability at both, or a delta."
            )
        needs = FiniteMechanism([here, there], (0, 1), outputs).epsilon(
            Space((0, 1), [(0, 1)]), float(levels.delta[edge]) if np.isfinite(levels.delta[edge]) else 0
        )
        raise CannotCertify(
            f"not {levels[edge]} between {one!r} and {other!r}: the output {outputs[output]!r} has probability "
            f"{here[output]:.6g} against {there[output]:.6g}, which needs epsilon = {_told_apart(needs, levels[edge])}"
        )


def _told_apart(needs: float, level: Level) -> str:
    """An epsilon with as many digits as tell it from that of a level, and what to do."""
    allowed = level.log_growth if isinstance(level, ApproxDP) else math.nan
    text = next((t for t in (f"{needs:.{digits}g}" for digits in range(6, 18)) if float(t) != allowed), repr(needs))
    if len(text) <= len(f"{needs:.6g}"):
        return f"{text}. Allow that, or mend the mechanism."
    return (
        f"{text}: the same up to the rounding of the probabilities. If e^epsilon is meant to be a ratio, such as 2, "
        "say um.PureDP.from_ratio(2); else allow a little more, or give the probabilities with more digits."
    )


def _least_positive(rows: Floats) -> Floats:
    """The least entry of each row that is not 0."""
    return np.asarray(np.where(rows > 0, rows, 1.0).min(axis=1, initial=1.0))


def _must_keep_zeros(matrix: Floats, levels: EdgeLevels) -> bool:
    """Whether the floor would lift zeros that a level allows, or the levels are not concave."""
    if not all(level.concave for level in levels.kinds()):
        return True
    if is_complete(levels):  # zeros next to anything else were refused
        return False
    used, parts = matrix > 0, levels.space.components
    ever = np.zeros((parts.max() + 1, matrix.shape[1]), dtype=bool)
    np.logical_or.at(ever, parts, used)
    return bool((ever[parts] & ~used & ~is_positive(matrix, levels)).any())


def moved_by(weights: Weights, bits: int, matrix: Floats) -> float:
    """The largest total variation distance between a certified row and the row it came from."""
    probabilities = weights / 2.0**bits if bits <= WORD else (weights / (1 << bits)).astype(float)
    return float(0.5 * np.abs(probabilities - matrix).sum(axis=1).max(initial=0.0))
