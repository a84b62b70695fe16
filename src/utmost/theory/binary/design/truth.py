"""A yes/no question on a space: the truth at every point, its boundary, and the points where the mechanism is known."""

from __future__ import annotations

import math
import operator
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput, NotBoundaryHitting
from utmost.exact import LEAST, Number, as_rational
from utmost.exact.arrays import Floats
from utmost.space import Space
from utmost.space.sparse import csr_array, maximum_bipartite_matching

Outputs: TypeAlias = tuple[Any, Any]
Truth: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class Boundary:
    """The boundary of a question: the edges between different truths, and their ends (BIN Def. 5, 6).

    Attributes
    ----------
    edges : tuple of pairs
        The edges whose ends have different truths.
    points : tuple
        Their ends.
    by_output : mapping
        The ends by their truth, for each of the two outputs (BIN Def. 8).
    """

    edges: tuple[tuple[Any, Any], ...]
    points: tuple[Any, ...]
    by_output: Mapping[Any, tuple[Any, ...]] = field(default_factory=dict, compare=False)


def boundary(space: Space, truth: Any, outputs: Outputs = (False, True)) -> Boundary:
    """The boundary edges and boundary points of a question.

    Examples
    --------
    >>> import utmost as um
    >>> um.binary.boundary(um.counts(4), lambda yes: yes >= 2).edges
    ((1, 2),)
    >>> um.binary.boundary(um.counts(4), lambda yes: yes >= 2).by_output
    {False: (1,), True: (2,)}
    """
    right = as_truth(space, truth, outputs)
    crossing = np.flatnonzero(boundary_edges(space, right))
    ends = np.unique(space.edge_indices[crossing])
    points = tuple(space.points[int(i)] for i in ends)
    sides = {outputs[j]: tuple(space.points[int(i)] for i in ends[right[ends] == j]) for j in (0, 1)}
    return Boundary(tuple(space.edges[int(e)] for e in crossing), points, sides)


def is_hitting(space: Space, truth: Any, points: Iterable[Hashable], outputs: Outputs = (False, True)) -> bool:
    """Whether these points include at least one end of every boundary edge (BIN Def. 7).

    Examples
    --------
    >>> import utmost as um
    >>> [um.binary.is_hitting(um.path(4), lambda v: v > 1, points) for points in ([0, 3], [1], [2, 3])]
    [False, True, True]
    """
    mask = np.zeros(len(space.points), dtype=bool)
    mask[[space.index(p) for p in points]] = True
    a, b = space.edge_indices[boundary_edges(space, as_truth(space, truth, outputs))].T
    return bool((mask[a] | mask[b]).all())


def hitting_set(space: Space, truth: Any, outputs: Outputs = (False, True)) -> tuple[Any, ...]:
    """A smallest set of points that includes an end of every boundary edge.

    Boundary edges join different truths, so they form a bipartite graph, whose smallest vertex cover comes from a
    largest matching (König's theorem).

    Examples
    --------
    >>> import utmost as um
    >>> um.binary.hitting_set(um.Space.from_edges([("hub", x) for x in "abc"]), lambda v: v == "hub")
    ('hub',)
    """
    right = as_truth(space, truth, outputs)
    ends = space.edge_indices[boundary_edges(space, right)]
    yes, no = np.where(right[ends[:, :1]] == 1, ends, ends[:, ::-1]).T
    n = len(right)
    graph = csr_array((np.ones(len(yes)), (yes, no)), shape=(n, n))
    mate_of_no = maximum_bipartite_matching(graph, perm_type="row") if n else np.zeros(0, dtype=int)
    mate_of_yes = np.full(n, -1)
    mate_of_yes[mate_of_no[mate_of_no >= 0]] = np.flatnonzero(mate_of_no >= 0)
    reached, queue = np.zeros(n, dtype=bool), [int(v) for v in np.unique(yes) if mate_of_yes[v] < 0]
    reached[queue] = True
    for v in queue:  # alternating paths from the unmatched: along any edge to a no, back along its match
        for u in graph.indices[graph.indptr[v] : graph.indptr[v + 1]]:
            back = int(mate_of_no[u])
            if not reached[u]:
                reached[u] = True
                if back >= 0 and not reached[back]:
                    reached[back] = True
                    queue.append(back)
    cover = [int(v) for v in np.unique(yes) if not reached[v]] + [int(v) for v in np.unique(no) if reached[v]]
    return tuple(space.points[i] for i in sorted(cover))


def dominates(
    better: Any,
    worse: Any,
    truth: Any,
    outputs: Outputs = (False, True),
    order: Literal["lexicographic", "dominance"] = "lexicographic",
) -> bool:
    """Whether one mechanism is at least as good as another at every point (BIN Def. 2, RAIN Def. 3).

    Parameters
    ----------
    better, worse : FiniteMechanism
        Mechanisms on the same points with the same outputs.
    truth : mapping, array or callable
        At each point the right output; or, where outputs are ranked, a tuple of all of them, best first. A right output
        alone compares how often each mechanism gives it.
    outputs : pair, optional
        Not used; here only so that the arguments are those of `extend`.
    order : "lexicographic" or "dominance"
        How two ranked distributions compare. "lexicographic" is RAIN Def. 3: the first output on which they differ
        decides. "dominance" asks for more: the j best outputs together must be at least as likely, for every j; then
        the mechanism is at least as good for every utility that falls along the ranking. Numbers are compared as they
        are: mechanisms that differ by rounding alone may not dominate each other.

    Examples
    --------
    BIN Example 1: neither of two mechanisms need dominate the other.

    >>> import utmost as um
    >>> one = um.FiniteMechanism([[0.58, 0.42], [0.24, 0.76]], (1, 2), ("blue", "red"))
    >>> two = um.FiniteMechanism([[0.64, 0.36], [0.27, 0.73]], (1, 2), ("blue", "red"))
    >>> colour = {1: "blue", 2: "red"}
    >>> um.binary.dominates(one, two, colour), um.binary.dominates(two, one, colour)
    (False, False)

    More blue decides the lexicographic order, although blue and red together are less likely:

    >>> one = um.FiniteMechanism([[0.5, 0.1, 0.4]], ["x"], ("blue", "red", "green"))
    >>> two = um.FiniteMechanism([[0.4, 0.5, 0.1]], ["x"], ("blue", "red", "green"))
    >>> ranking = {"x": ("blue", "red", "green")}
    >>> um.binary.dominates(one, two, ranking), um.binary.dominates(one, two, ranking, order="dominance")
    (True, False)
    """
    if list(better.points) != list(worse.points):
        raise InvalidInput("the two mechanisms have different points; compare mechanisms on one space.")
    if order not in ("lexicographic", "dominance"):
        raise InvalidInput(f"order is {order!r}; give 'lexicographic' (RAIN Def. 3) or 'dominance' (every prefix).")
    output_set = set(better.outputs)
    for point, right_answer in zip(
        better.points, Space(better.points, np.zeros((0, 2))).align(truth, "the truth"), strict=True
    ):
        ranking = _compared(output_set, right_answer, point)
        ours, theirs = ([m.probability(point, output) for output in ranking] for m in (better, worse))
        if order == "dominance":
            ours, theirs = ([math.fsum(p[: j + 1]) for j in range(len(p))] for p in (ours, theirs))
        if ours < theirs or (order == "dominance" and any(map(operator.lt, ours, theirs))):
            return False
    return True


def _compared(output_set: set[Any], answer: Any, point: Any) -> tuple[Any, ...]:
    """The outputs to compare at a point, best first: its one right output, or all of a ranking but the last.

    The last has the remaining probability, so it cannot decide, and its rounding must not.
    """
    if not isinstance(answer, tuple | list) or (isinstance(answer, Hashable) and answer in output_set):
        return (answer,)
    if len(answer) != len(output_set) or any(
        not isinstance(output, Hashable) or output not in output_set for output in answer
    ):
        raise InvalidInput(
            f"{point!r} ranks {answer!r}, which is not an order of all outputs of the mechanism; "
            "rank each of them once."
        )
    if len(set(answer)) < len(answer):
        raise InvalidInput(f"{point!r} ranks {answer!r}, which names an output twice; rank each of them once.")
    return tuple(answer[:-1])


def as_truth(space: Space, truth: Any, outputs: Outputs) -> Truth:
    """The truth at every point as 0 or 1: which of the two outputs it is."""
    if len(outputs) != 2 or outputs[0] == outputs[1]:
        raise InvalidInput(f"outputs is {outputs!r}; give two different answers.")
    aligned = space.align(truth, "the truth")
    if isinstance(aligned, np.ndarray) and aligned.dtype == bool and tuple(outputs) == (False, True):
        return aligned.astype(np.int64)
    number = {outputs[0]: 0, outputs[1]: 1}
    try:
        return np.array([number[t] for t in aligned], dtype=np.int64)
    except (KeyError, TypeError):
        position = next(i for i, t in enumerate(aligned) if not isinstance(t, Hashable) or t not in number)
        raise InvalidInput(
            f"the truth at {space.points[position]!r} is {aligned[position]!r}, which is neither {outputs[0]!r} nor "
            f"{outputs[1]!r}; mend it, or pass outputs=."
        ) from None


@dataclass(frozen=True)
class KnownPoints:
    """The known points and Pr[outputs[1]] there, as floats and, where the input was more than a float, as passed in."""

    mask: Mask
    values: Floats
    originals: Mapping[int, Number] | None

    def exact(self, point: int, output: int) -> Fraction:
        """The known probability of an output as a rational."""
        value = as_rational(self.originals[point] if self.originals is not None else float(self.values[point]))
        return value if output == 1 else 1 - value

    def columns(self) -> Floats:
        """Both probabilities at every point; 1 - p is rounded once, from the exact p, where p is close to 1."""
        matrix = np.column_stack([1 - self.values, self.values])
        for i in np.flatnonzero(self.mask & (self.values > 0.9)).tolist():
            matrix[i, 0] = float(self.exact(i, 0))
        return matrix

    def to_plain(self) -> list[Any]:
        """The values as plain data: floats, or strings for rationals."""
        points = np.flatnonzero(self.mask).tolist()
        values = self.values if self.originals is None else self.originals
        return [float(values[i]) if isinstance(values[i], float) else str(as_rational(values[i])) for i in points]


def read_known(space: Space, known: Any) -> KnownPoints:
    """The known values from a mapping, an array (NaN where free) or a callable (None where free)."""
    n = len(space.points)
    values = np.full(n, np.nan)
    originals: dict[int, Number] = {}
    if isinstance(known, Mapping):
        originals = {space.index(point): value for point, value in known.items()}
    else:
        aligned = space.align(known, "known")
        if isinstance(aligned, np.ndarray) and np.issubdtype(aligned.dtype, np.floating):
            values[:] = aligned
            wrong = (values < 0) | (values > 1) | ((values > 0) & (values < LEAST))
            if wrong.any():
                i = int(np.argmax(wrong))
                as_probability(values[i], space.points[i])
            return KnownPoints(~np.isnan(values), values, None)
        originals = {i: v for i, v in enumerate(aligned) if v is not None and v == v}
    for i, value in originals.items():
        values[i] = float(as_probability(value, space.points[i]))
    return KnownPoints(~np.isnan(values), values, originals)


def as_probability(value: Any, point: Any) -> Fraction:
    """A known value as a rational between 0 and 1, or an error that names the point."""
    exact = as_rational(value, f"the value known at {point!r}")
    if not 0 <= exact <= 1:
        raise InvalidInput(f"the value known at {point!r} is {value!r}; it is a probability, between 0 and 1.")
    if 0 < min(exact, 1 - exact) < LEAST:
        raise InvalidInput(
            f"the value known at {point!r} is within 2e-308 of 0 or 1, which floats do not tell from it; give 0 or 1, "
            "or a value farther away."
        )
    return exact


def boundary_edges(space: Space, truth: Truth) -> Mask:
    """Mask of the edges whose ends have different truths."""
    a, b = space.edge_indices.T
    return np.asarray(truth[a] != truth[b])


def require_hitting(space: Space, truth: Truth, known: Mask) -> None:
    """Refuse known points that miss a boundary edge."""
    a, b = space.edge_indices.T
    missed = boundary_edges(space, truth) & ~known[a] & ~known[b]
    if missed.any():
        one, other = space.edges[int(np.argmax(missed))]
        raise NotBoundaryHitting(
            f"the truth changes between {one!r} and {other!r}, and neither is known, so the optimum need not be unique "
            f"({int(missed.sum())} such edges). Fix the mechanism at one of them (binary.hitting_set names a smallest "
            "choice), or let binary.balanced or binary.best_boundary choose the boundary.",
            edge=(one, other),
        )
