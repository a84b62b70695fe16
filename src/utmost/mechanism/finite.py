"""Mechanisms: for every point, the probabilities of the outputs.

A `FiniteMechanism` is a matrix with a row per point; a `RecipeMechanism` computes rows on demand, for spaces whose
matrix would not fit. Both have the same methods: expected loss, leakage, and the level that they satisfy.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput, TooLarge, UnknownPoint
from utmost.exact import Number, as_rational
from utmost.exact.arrays import Floats
from utmost.exact.citations import cites
from utmost.mechanism.loss_tables import Loss, loss_table
from utmost.privacy import Level
from utmost.space import MOST_ENTRIES, Space
from utmost.space.points import ComputedPoints

ROWS_AT_ONCE = 2**18


@runtime_checkable
class Mechanism(Protocol):
    """The interface of every mechanism: points, outputs, and the probabilities of the outputs at a point."""

    @property
    def points(self) -> Sequence[Any]:
        """The points it is defined on, in order."""

    @property
    def outputs(self) -> Sequence[Any]:
        """The outputs it may give, in order."""

    def row(self, point: Hashable) -> Floats:
        """The probabilities of all outputs at a point."""

    def probability(self, point: Hashable, output: Hashable) -> float:
        """The probability of one output at a point."""


class Rows:
    """Base of mechanisms with rows of probabilities: expected loss, leakage, and the level that they satisfy."""

    points: Sequence[Any]
    outputs: Sequence[Any]

    @property
    def matrix(self) -> Floats:
        raise NotImplementedError

    @cached_property
    def _space(self) -> Space:
        return Space(self.points, np.zeros((0, 2)))

    def row(self, point: Hashable) -> Floats:
        raise NotImplementedError

    def probability(self, point: Hashable, output: Hashable) -> float:
        """The probability of one output at a point."""
        return float(self.row(point)[_position(self.outputs, output, "an output of this mechanism")])

    def expected_loss(self, prior: Any = None, loss: Loss = "zero-one", remap: str | Sequence[Any] = "best") -> float:
        """The expected loss under a prior, after post-processing the output.

        Parameters
        ----------
        prior : mapping, array or callable, optional
            A distribution over the points; None is uniform.
        loss : str, array or callable
            "zero-one", "absolute", "squared", "within k", an array (points x guesses), or loss(point, guess).
        remap : "best", "none", sequence or array
            The post-processing: "best" guesses the point with the least expected loss at each output, "none" takes the
            output itself, a sequence gives one guess per output. An array, with a row per output and a column per
            point, guesses at random: row o holds the probabilities of guessing each point at output o.

        Examples
        --------
        >>> FiniteMechanism([[0.75, 0.25], [0.25, 0.75]], [0, 1], [0, 1]).expected_loss()
        0.25
        >>> FiniteMechanism([[0.75, 0.25], [0.25, 0.75]], [0, 1], [0, 1]).expected_loss(remap=[[0.5, 0.5], [0, 1]])
        0.375
        """
        weights = self._space.as_prior(prior)
        if isinstance(remap, str) and remap == "best":
            return math.fsum(self._costs(weights, loss).min(axis=0))
        if not isinstance(remap, str) and (at_random := self._as_random_guesses(remap)) is not None:
            return math.fsum((self._costs(weights, loss).T * at_random).ravel())
        if isinstance(remap, str) and remap != "none":
            raise InvalidInput(f"remap is {remap!r}; say 'best', 'none', or give one guess per output.")
        guesses = list(self.outputs) if isinstance(remap, str) else self._guesses(remap)
        table = loss_table(loss, self.points, guesses)
        return float(np.einsum("i,ij,ij->", weights, table, self.matrix))

    def _as_random_guesses(self, remap: Sequence[Any]) -> Floats | None:
        """A remap given as a matrix of probabilities, checked; None if it lists one guess per output."""
        try:
            table = np.array(remap, dtype=float)
        except (TypeError, ValueError):
            return None
        shape = (len(self.outputs), len(self.points))
        has_tuples = any(isinstance(guess, tuple) for guess in remap)  # points may be tuples of numbers
        if table.ndim != 2 or has_tuples:
            return None
        if table.shape != shape:
            raise InvalidInput(
                f"the remap is a matrix of shape {table.shape}; give a row per output and a column per point, {shape}, "
                "or one guess per output."
            )
        sums = table.sum(axis=1)
        if not ((table >= 0) & (table <= 1)).all() or not np.allclose(sums, 1, rtol=0, atol=1e-9):
            o = int(np.argmax(((table < 0) | ~(table <= 1)).any(axis=1) | ~(np.abs(sums - 1) <= 1e-9)))
            raise InvalidInput(
                f"row {o} of the remap, for the output {self.outputs[o]!r}, is not a distribution (it adds up to "
                f"{float(sums[o])!r}); give the probabilities of guessing each point."
            )
        return table

    def best_remap(self, prior: Any = None, loss: Loss = "zero-one") -> tuple[Any, ...]:
        """The best guess at each output: the point with the least expected loss."""
        best = self._costs(self._space.as_prior(prior), loss).argmin(axis=0)
        return tuple(self.points[int(i)] for i in best)

    def remap(self, guesses: Sequence[Any]) -> FiniteMechanism:
        """The mechanism that gives these guesses, one per output, in place of its outputs; equal guesses merge."""
        guess_list = self._guesses(guesses)
        outputs = list(dict.fromkeys(guess_list))
        merge = np.zeros((len(guess_list), len(outputs)))
        merge[np.arange(len(guess_list)), [outputs.index(g) for g in guess_list]] = 1
        merged = np.minimum(self.matrix @ merge, 1.0)  # sums may exceed 1 by rounding
        return FiniteMechanism(merged, self.points, outputs)

    def conditional_min_entropy(self, prior: Any = None) -> float:
        """The conditional min-entropy of the point given the output, in bits: -log2 of the chance of a right guess.

        The min-entropy of the prior, -log2 of its largest probability, less this is `leakage` (REG Section 4.2).

        Parameters
        ----------
        prior : mapping, array or callable, optional
            A distribution over the points; None is uniform.

        Examples
        --------
        >>> FiniteMechanism([[0.5, 0.5], [0.5, 0.5]], [0, 1], [0, 1]).conditional_min_entropy()
        1.0
        >>> FiniteMechanism([[1, 0], [0, 1]], [0, 1], [0, 1]).conditional_min_entropy() + 0
        0.0
        """
        return -math.log2(self._right_guess(self._space.as_prior(prior)))

    def _right_guess(self, weights: Floats) -> float:
        """The probability that the best guess given the output is right."""
        return math.fsum((weights[:, None] * self.matrix).max(axis=0))

    def leakage(self, prior: Any = None) -> float:
        """Min-entropy leakage in bits: log2 of the factor by which a right guess becomes likelier (REG Prop. 5).

        Examples
        --------
        >>> FiniteMechanism([[1, 0], [0, 1]], [0, 1], [0, 1]).leakage()
        1.0
        """
        weights = self._space.as_prior(prior)
        return math.log2(self._right_guess(weights) / weights.max())

    @cites("BIN-proposition-1", "HET-lemma-1", "REG-lemma-1", "REG-proposition-1")
    def epsilon(self, space: Space, delta: Number = 0) -> float:
        """The least epsilon for which the probabilities are (epsilon, delta)-private on a space, in floating point.

        Examples
        --------
        >>> from utmost.space.families import path
        >>> round(FiniteMechanism([[0.75, 0.25], [0.25, 0.75]], [0, 1], "ab").epsilon(path(2)), 6)      # ln 3
        1.098612
        """
        share = _between(delta, 1, "delta")
        worst = 0.0
        for here, there in self._ordered_edges(space):
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.where(here > 0, np.log(here) - np.log(there), -np.inf)
                if share > 0:
                    order = np.argsort(-logs, axis=1)
                    top, bottom = (np.cumsum(np.take_along_axis(x, order, axis=1), axis=1) for x in (here, there))
                    over = top - share
                    logs = np.where(over > 2.0**-50 * top, np.log(over) - np.log(bottom), -np.inf)  # 0.1 + 0.2 is 0.3
            worst = max(worst, float(logs.max(initial=0.0)))
        return worst

    def delta(self, space: Space, epsilon: Number) -> float:
        """The least delta for which the probabilities are (epsilon, delta)-private on a space, in floating point."""
        exponent = _between(epsilon, math.inf, "epsilon")
        growth = math.exp(exponent) if exponent < 709 else math.inf
        worst = 0.0
        for here, there in self._ordered_edges(space):
            with np.errstate(invalid="ignore"):
                excess = here - np.where(there > 0, growth * there, 0.0)
            worst = max(worst, float(np.maximum(excess, 0).sum(axis=1).max(initial=0.0)))
        return worst

    def profile(self, space: Space, epsilons: ArrayLike | None = None) -> Profile:
        """The least delta at each epsilon: at those given, or where the curve of an edge bends (at most 1000).

        Between two of these the least delta lies on or below the straight line in e^epsilon.
        """
        if epsilons is None:
            bends_by_edge = [np.zeros(1)]
            for here, there in self._ordered_edges(space):
                with np.errstate(divide="ignore", invalid="ignore"):
                    logs = np.log(here / there)
                bends_by_edge.append(np.unique(logs[np.isfinite(logs) & (logs > 0)]))
            bends = np.unique(np.concatenate(bends_by_edge))
            grid = bends if len(bends) <= 1000 else np.quantile(bends, np.linspace(0, 1, 1000))
        else:
            grid = np.atleast_1d(np.asarray(epsilons, dtype=float))
        return Profile(grid, np.array([self.delta(space, float(e)) for e in grid]))

    def simulate(self, point: Hashable, size: int | None = None, rng: Any = None) -> Any:
        """Outputs drawn in floating point from a seeded generator: for study, never for release."""
        positions = np.random.default_rng(rng).choice(len(self.outputs), size=size, p=self.row(point))
        return self.outputs[int(positions)] if size is None else [self.outputs[int(i)] for i in positions]

    def _costs(self, weights: Floats, loss: Loss) -> Floats:
        """The loss of each guess (row) at each output (column), weighted by the prior."""
        joint = weights[:, None] * self.matrix
        if isinstance(loss, str) and loss == "zero-one":
            return np.asarray(joint.sum(axis=0) - joint)
        return np.asarray(loss_table(loss, self.points, self.points).T @ joint)

    def _guesses(self, guesses: Sequence[Any]) -> list[Any]:
        """One guess per output, as plain labels, checked."""
        plain = [g.item() if isinstance(g, np.generic) else g for g in guesses]
        if len(plain) != len(self.outputs):
            raise InvalidInput(f"{len(plain)} guesses for {len(self.outputs)} outputs; give one per output.")
        return plain

    def _ordered_edges(self, space: Space) -> Any:
        """The rows at both ends of every edge, in both directions, a block of edges at a time."""
        require_points(self, space)
        matrix = self.matrix
        step = max(1, ROWS_AT_ONCE // max(1, len(self.outputs)))
        for start in range(0, len(space.edge_indices), step):
            a, b = space.edge_indices[start : start + step].T
            yield matrix[a], matrix[b]
            yield matrix[b], matrix[a]

    def _repr_html_(self) -> str:
        if len(self.points) > 40 or len(self.outputs) > 20:
            return f"<pre>{html.escape(repr(self))}</pre>"
        head = "".join(f"<th>{html.escape(str(o))}</th>" for o in self.outputs)
        body = ""
        for point, row in zip(self.points, self.matrix, strict=True):
            cells = "".join(f'<td style="background:rgba(66,113,174,{p:.3f})">{p:.6g}</td>' for p in row)
            body += f"<tr><th>{html.escape(str(point))}</th>{cells}</tr>"
        return f"<table><tr><th></th>{head}</tr>{body}</table>"


class FiniteMechanism(Rows):
    """A mechanism as a matrix: a row per point, a column per output, rows adding up to 1.

    Examples
    --------
    >>> coin = FiniteMechanism([[0.75, 0.25], [0.25, 0.75]], points=("no", "yes"), outputs=(False, True))
    >>> coin.probability("yes", True)
    0.75
    """

    def __init__(self, matrix: ArrayLike, points: Sequence[Any], outputs: Sequence[Any]) -> None:
        values = np.array(matrix, dtype=float)
        if values.shape != (len(points), len(outputs)):
            raise InvalidInput(
                f"the matrix has shape {values.shape} for {len(points)} points and {len(outputs)} outputs; "
                "give a row per point and a column per output."
            )
        wrong = ~((values >= 0) & (values <= 1))
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            raise InvalidInput(
                f"the entry for {points[int(i)]!r} and {outputs[int(j)]!r} is {float(values[i, j])!r}; "
                "probabilities are between 0 and 1."
            )
        sums = values.sum(axis=1)
        if len(sums) and not np.allclose(sums, 1, rtol=0, atol=1e-9):
            i = int(np.argmax(np.abs(sums - 1)))
            raise InvalidInput(f"the row for {points[i]!r} adds up to {float(sums[i])!r}; each row must add up to 1.")
        values.flags.writeable = False
        self._matrix = values
        self.points = _labels(points)
        self.outputs = _labels(outputs)

    @property
    def matrix(self) -> Floats:
        """The probabilities: a row per point, a column per output; not writable."""
        return self._matrix

    def row(self, point: Hashable) -> Floats:
        """The probabilities of all outputs at a point."""
        return np.asarray(self._matrix[self._space.index(point)])

    def select(self, indices: NDArray[Any], points: Sequence[Any]) -> FiniteMechanism:
        """The mechanism on other points whose rows are the rows at these positions."""
        return FiniteMechanism(self._matrix[indices], points, self.outputs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FiniteMechanism):
            return NotImplemented
        same_labels = list(self.points) == list(other.points) and list(self.outputs) == list(other.outputs)
        return same_labels and np.array_equal(self._matrix, other._matrix)

    def __hash__(self) -> int:
        return hash((self._matrix.shape, tuple(self.outputs)))

    def __repr__(self) -> str:
        outputs = ", ".join(map(repr, self.outputs[:6])) + (", ..." if len(self.outputs) > 6 else "")
        return f"FiniteMechanism of {len(self.points)} points and {len(self.outputs)} outputs ({outputs})"


@dataclass(frozen=True)
class Law:
    """What is proved about the probabilities that a recipe computes, so that it can be certified without a table.

    Attributes
    ----------
    level : PureDP
        The level that the exact probabilities satisfy on every edge.
    space : Space
        The space of these edges.
    reason : str
        The theorem or lemma that proves it.
    relative_error : float
        Upper bound on the error of a computed probability, as a share of `highest`.
    highest : float
        Upper bound on every probability.
    """

    level: Level
    space: Space
    reason: str
    relative_error: float
    highest: float = 1.0

    def __post_init__(self) -> None:
        for name, value, most in (("relative_error", self.relative_error, 0.01), ("highest", self.highest, 1.0)):
            if not 0 <= value <= most:
                raise InvalidInput(f"{name} of a law is {value!r}; it must be between 0 and {most:g}.")


class RecipeMechanism(Rows):
    """A mechanism as a function that computes the row at a position, for spaces whose matrix would not fit.

    Examples
    --------
    >>> constant = RecipeMechanism(range(10**9), ("heads", "tails"), lambda i: np.array([0.5, 0.5]))
    >>> constant.probability(123, "heads")
    0.5
    """

    def __init__(
        self, points: Sequence[Any], outputs: Sequence[Any], recipe: Callable[[int], Floats], law: Law | None = None
    ) -> None:
        self.points, self.outputs, self._recipe, self.law = _labels(points), _labels(outputs), recipe, law

    @cached_property
    def matrix(self) -> Floats:
        """All rows; `TooLarge` beyond 10^8 entries."""
        n, k = len(self.points), len(self.outputs)
        if n * k > MOST_ENTRIES:
            raise TooLarge(f"{n} points x {k} outputs do not fit in one matrix; use row(point) instead.")
        return np.array([self._recipe(i) for i in range(n)]).reshape(n, k)

    def row(self, point: Hashable) -> Floats:
        """The probabilities of all outputs at a point."""
        return self.row_at(self._space.index(point))

    def row_at(self, position: int) -> Floats:
        """The probabilities of all outputs at the point with this position."""
        return np.asarray(self._recipe(position), dtype=float)

    def select(self, indices: NDArray[Any], points: Sequence[Any]) -> RecipeMechanism:
        """The mechanism on other points whose rows are the rows at these positions."""
        recipe = self._recipe
        return RecipeMechanism(points, self.outputs, lambda i: recipe(int(indices[i])))

    def __repr__(self) -> str:
        return f"RecipeMechanism of {len(self.points)} points and {len(self.outputs)} outputs"


@dataclass(frozen=True)
class Profile:
    """The privacy profile of a mechanism: the least delta at each of some epsilons."""

    epsilons: Floats
    deltas: Floats

    def __repr__(self) -> str:
        return f"Profile of {len(self.epsilons)} epsilons from {self.epsilons[0]:g} to {self.epsilons[-1]:g}"


def require_points(mechanism: Any, space: Space) -> None:
    """Refuse a mechanism that is not defined on the points of a space."""
    if mechanism.points is space.points or mechanism.points == space.points:
        return
    if list(mechanism.points) != list(space.points):
        raise InvalidInput(
            f"the mechanism has {len(mechanism.points)} points, the space {len(space.points)}, and they are not the "
            "same in the same order; build both from one list of points."
        )


def _labels(names: Sequence[Any]) -> Sequence[Any]:
    """Points or outputs as a tuple of distinct plain labels, or as the lazy sequence they are."""
    if isinstance(names, range | ComputedPoints):
        return names
    labels = tuple(name.item() if isinstance(name, np.generic) else name for name in names)
    if len(set(labels)) < len(labels):
        duplicate = next(name for i, name in enumerate(labels) if name in labels[:i])
        raise InvalidInput(f"{duplicate!r} stands twice among the points or outputs; give every name once.")
    return labels


def _between(value: Number, most: float, name: str) -> float:
    """A number between 0 and `most` as a float, checked; infinity only where `most` is infinite."""
    number = value if isinstance(value, float) and math.isinf(value) else float(as_rational(value, name))
    if not 0 <= number <= most:
        raise InvalidInput(f"{name} is {value!r}; it must be {'0 or more' if most > 1 else 'between 0 and 1'}.")
    return number


def _position(names: Sequence[Any], name: Hashable, what: str) -> int:
    """The position of a label, or `UnknownPoint`."""
    try:
        return names.index(name)
    except ValueError:
        raise UnknownPoint(f"{name!r} is not {what} ({', '.join(map(repr, names[:4]))}, ...).") from None
