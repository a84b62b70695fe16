"""Exact feasibility check for an extension: finds two known points whose values contradict each other.

Floating point settles all but near-ties. A near-tie between two known points is one comparison of exact numbers; one
through free points is settled by carrying exact bounds through the points where the floating-point slack is too small
to tell. Every contradicting path lies among those points, so no others are examined.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import ctx
from numpy.typing import NDArray

from utmost.errors import NoExtension
from utmost.exact import ExpSum, Real, compare, show_rational
from utmost.exact.arrays import Floats
from utmost.exact.citations import cites
from utmost.solution.binding import chain_to
from utmost.space.edge_levels import EdgeLevels


@dataclass(frozen=True)
class Conflict:
    """A known value that another known point forbids: along `path`, from that point to the one with the value."""

    path: tuple[int, ...]
    output: int
    bound: float
    excess: float


@cites("BIN-lemma-1", "BIN-lemma-9")
def find_conflict(
    levels: EdgeLevels,
    truth: NDArray[np.int64],
    known: NDArray[np.bool_],
    matrix: Floats,
    exact: Callable[[int, int], Fraction],
) -> Conflict | None:
    """The clearest contradiction among known values, or None if there is none.

    `matrix` holds the bounds carried from the known points as if there were no contradiction, `exact(point, output)`
    the known probability as a rational.
    """
    a, b = levels.space.edge_indices.T
    undecided = 1e-9 + 1e-13 * len(truth)  # above the rounding of a path of logarithms below 745
    touching = np.flatnonzero(known[a] | known[b])
    tails, heads = np.concatenate([a[touching], b[touching]]), np.concatenate([b[touching], a[touching]])
    edges = np.concatenate([touching, touching])
    from_known = known[tails]  # known against known in both directions, known against free
    tails, heads, edges = tails[from_known], heads[from_known], edges[from_known]
    outputs = np.where(known[heads], 1, truth[heads])
    bounds = levels.upper(edges, matrix[heads, outputs])
    excesses = matrix[tails, outputs] - bounds
    if not len(excesses):
        return None
    worst = int(np.argmax(excesses))
    if excesses[worst] > undecided:
        chain = _chain(levels, truth, known, matrix, int(heads[worst]))
        return Conflict((*chain, int(tails[worst])), int(outputs[worst]), float(bounds[worst]), float(excesses[worst]))
    near_ties = np.flatnonzero(excesses >= -undecided)
    for i in near_ties[known[heads[near_ties]]]:
        there = ExpSum.rational(exact(int(heads[i]), 1))
        bound = levels[int(edges[i])].upper_exact(there)
        requested = exact(int(tails[i]), 1)
        if compare(ExpSum.rational(requested), bound) > 0:
            return Conflict((int(heads[i]), int(tails[i])), 1, float(bound), _excess(requested, bound))
    suspects = near_ties[~known[heads[near_ties]]]
    for output in (0, 1):
        sources = np.unique(tails[suspects[outputs[suspects] != output]])
        conflict = _search(levels, truth, known, matrix, exact, sources, output, undecided)
        if conflict:
            return conflict
    return None


def raise_conflict(conflict: Conflict, levels: EdgeLevels, outputs: tuple[Any, Any], exact: Any) -> None:
    """Raise `NoExtension`, naming both points, the probability asked for and the bound that forbids it."""
    space, path, j = levels.space, conflict.path, conflict.output
    here, there = space.points[path[-1]], space.points[path[0]]
    requested, forcing = exact(path[-1], j), exact(path[0], j)
    steps = len(path) - 1
    away = f"{steps} step{'s' * (steps > 1)}"
    if levels.single is not None:
        away += f" of {levels.single}"
    limit = f"{conflict.bound:.6g}" if conflict.excess > 1e-4 * requested else f"{conflict.excess:.2g} less"
    event = f"Pr[{outputs[j]}]"
    message = (
        f"the values fixed at {there!r} and {here!r} contradict each other: {event} = {show_rational(requested)} "
        f"at {here!r} but {there!r} ({event} = {show_rational(forcing)}, {away} away) allows at most {limit}. "
        f"Lower {event} at {here!r}, raise it at {there!r}, or allow a larger epsilon."
    )
    if conflict.excess < 1e-12:
        message += (
            " So little is rounding: a float means its shortest decimal, and that is decided exactly. Give exact "
            "values (a Fraction, or a string such as '1/3') and an exact level (PureDP.from_ratio(2), not epsilon = "
            "log 2), or lower the value a little."
        )
    raise NoExtension(
        message, point=here, asked=float(requested), forced_by=there, bound=conflict.bound, output=outputs[j]
    )


def _excess(requested: Fraction, bound: Real) -> float:
    """How far a requested probability exceeds its bound."""
    with ctx.workprec(4096):
        return float(ExpSum.rational(requested).enclose(4096) - bound.enclose(4096))


def _chain(
    levels: EdgeLevels, truth: NDArray[np.int64], known: NDArray[np.bool_], matrix: Floats, end: int
) -> tuple[int, ...]:
    """The points from a known one to `end` along which the bound at `end` was carried, the fewest there are."""
    output = int(truth[end])

    def carries(v: int, tails: NDArray[Any], edges: NDArray[Any]) -> NDArray[np.bool_]:
        carried = levels.upper(edges, matrix[tails, output])
        return np.asarray(carried <= matrix[v, output] * (1 + 1e-9) + 1e-12)

    return chain_to(levels, known, end, carries) or (end,)


def _search(
    levels: EdgeLevels,
    truth: NDArray[np.int64],
    known: NDArray[np.bool_],
    matrix: Floats,
    exact: Callable[[int, int], Fraction],
    sources: NDArray[np.int64],
    output: int,
    undecided: float,
) -> Conflict | None:
    """Carry exact bounds on `output` from these known points, through free points without slack, to known points."""
    arcs = levels.space.arcs
    labels: dict[int, Real] = {int(s): ExpSum.rational(exact(int(s), output)) for s in sources}
    predecessor: dict[int, int] = {}
    heap = [(float(label), v) for v, label in labels.items()]
    heapq.heapify(heap)
    while heap:
        _, u = heapq.heappop(heap)
        for arc in range(arcs.starts[u], arcs.starts[u + 1]):
            v, edge = int(arcs.heads[arc]), int(arcs.edges[arc])
            if known[v] and known[u]:
                continue
            rough = float(levels.upper(np.array([edge]), np.array([float(labels[u])]))[0])
            target = float(exact(v, output)) if known[v] else matrix[v, output]
            if rough > target + undecided or (not known[v] and truth[v] == output):
                continue
            bound = levels[edge].upper_exact(labels[u])
            if known[v]:
                requested = exact(v, output)
                if compare(ExpSum.rational(requested), bound) > 0:
                    path = [v, u]
                    while path[-1] in predecessor:
                        path.append(predecessor[path[-1]])
                    return Conflict(tuple(reversed(path)), output, float(bound), _excess(requested, bound))
            elif v not in labels or compare(bound, labels[v]) < 0:
                labels[v], predecessor[v] = bound, u
                heapq.heappush(heap, (float(bound), v))
    return None
