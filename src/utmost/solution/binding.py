"""Binding constraints of yes/no mechanisms: the known point, and the path, that limit a probability."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats
from utmost.exact.citations import cites
from utmost.privacy import ApproxDP
from utmost.space.edge_levels import EdgeLevels

TIGHT = 1e-11
"""The relative tolerance for a carried bound to equal a value: above the rounding of a path, below a step."""


@dataclass(frozen=True)
class Binding:
    """The binding constraint on the probability of the truth at a point.

    Attributes
    ----------
    point : hashable
        The point in question.
    output : label
        Its truth, whose probability is limited.
    known : hashable
        The point that imposes the limit, where the mechanism is known.
    path : tuple
        A shortest path from `known` to `point` along which the limit is carried.
    shares : tuple of float
        The upper bound on Pr[output] at each point of the path; the last is the limit.
    tau : int, optional
        The number of steps in which the limit grows, times e^epsilon (plus delta), before it saturates: BIN (6),
        HET (17), and the length of the path if it never saturates; None for levels that are not (epsilon, delta), or
        where growth and saturation alternate, as different deltas may cause.
    """

    point: Any
    output: Any
    known: Any
    path: tuple[Any, ...]
    shares: tuple[float, ...]
    tau: int | None

    def __str__(self) -> str:
        event = f"Pr[{self.output}]"
        if len(self.path) == 1:
            return f"{event} at {self.point!r} is {self.shares[0]:.6g} because it is known there"
        way = " -> ".join(f"{p!r} ({s:.6g})" for p, s in zip(self.path, self.shares, strict=True))
        steps = len(self.path) - 1
        grows = "" if self.tau is None else f"; it grows for {self.tau} of {steps} step{'s' * (steps > 1)}"
        return f"{event} at {self.point!r} is at most {self.shares[-1]:.6g}, carried from {self.known!r}: {way}{grows}"


@cites("BIN-theorem-1", "HET-theorem-3", "HET-theorem-4")
def find_binding(
    question: str, data: Mapping[str, Any], levels: EdgeLevels, matrix: Floats, end: int
) -> Binding | None:
    """The nearest point whose limit is attained at a position, with a shortest path that carries it; or None.

    Limits start at the known points, or at the boundary points with their even share, and are carried through points
    with the truth of `end`.
    """
    if question not in ("binary.extend", "binary.balanced"):
        raise InvalidInput(
            f"binding constraints are known for binary.extend and binary.balanced, not for {question}; extend the "
            "boundary that it chose with binary.extend, and ask that solution."
        )
    truth, outputs = data["truth"], data["outputs"]
    own_truth = int(truth[end])
    anchors = data["known"] if question == "binary.extend" else _with_even_share(levels, truth, matrix)
    passable = truth == own_truth
    if question == "binary.extend":  # a known point limits both answers, a boundary point with its even share its own
        passable = passable | anchors
    chain = _chain(levels, anchors, matrix[:, own_truth], matrix[:, 1 - own_truth], passable, end)
    if chain is None:
        return None
    points = levels.space.points
    p, q = matrix[chain[0], [own_truth]], matrix[chain[0], [1 - own_truth]]
    shares, grows = [float(p[0])], []
    for a, b in pairwise(chain):
        edge = np.array([_edge(levels, a, b)])
        level = levels[int(edge[0])]
        grows.append(_grows(level, float(p[0]), float(q[0])) if isinstance(level, ApproxDP) else None)
        p, q = levels.move(edge, p, q)
        shares.append(float(p[0]))
    tau = None if None in grows else sum(map(bool, grows))
    if tau is not None and not all(grows[:tau]):
        tau = None
    path = tuple(points[i] for i in chain)
    return Binding(path[-1], outputs[own_truth], path[0], path, tuple(shares), tau)


def _with_even_share(levels: EdgeLevels, truth: NDArray[np.int64], matrix: Floats) -> NDArray[np.bool_]:
    """The boundary points at which the truth has the even share of one of their boundary edges."""
    a, b = levels.space.edge_indices.T
    crossing = np.flatnonzero(truth[a] != truth[b])
    limits = np.full(len(truth), np.inf)
    for ends in (a[crossing], b[crossing]):
        np.minimum.at(limits, ends, levels.even_shares(crossing)[0])
    return np.asarray(matrix[np.arange(len(truth)), truth] >= limits * (1 - TIGHT))


def _chain(
    levels: EdgeLevels,
    anchors: NDArray[np.bool_],
    p: Floats,
    q: Floats,
    passable: NDArray[np.bool_],
    end: int,
) -> tuple[int, ...] | None:
    """Positions of a shortest path from an anchor to `end` along edges that carry their bound exactly.

    A bound is compared by p where that is small and by q = 1 - p where p is close to 1, so that both are accurate.
    """

    def tight(v: int, tails: NDArray[Any], edges: NDArray[Any]) -> NDArray[np.bool_]:
        higher, lower = levels.move(edges, p[tails], q[tails])
        reached = higher <= p[v] * (1 + TIGHT) if p[v] <= 0.5 else lower >= q[v] * (1 - TIGHT)
        return np.asarray(reached & passable[tails])

    return chain_to(levels, anchors, end, tight)


def chain_to(
    levels: EdgeLevels,
    anchors: NDArray[np.bool_],
    end: int,
    carries: Callable[[int, NDArray[Any], NDArray[Any]], NDArray[np.bool_]],
) -> tuple[int, ...] | None:
    """A shortest chain of positions from an anchor to `end`, each carrying its bound to the next; or None.

    Parameters
    ----------
    levels : EdgeLevels
        The graph and the levels of its edges.
    anchors : array of bool
        The positions where a chain may begin.
    end : int
        The position where it ends.
    carries : callable
        carries(position, neighbours, edges) says which neighbours carry their bound to a position.
    """
    arcs = levels.space.arcs
    successor: dict[int, int] = {}
    queue = [end]
    for v in queue:
        if anchors[v]:
            chain = [v]
            while chain[-1] != end:
                chain.append(successor[chain[-1]])
            return tuple(chain)
        out = slice(arcs.starts[v], arcs.starts[v + 1])
        tails, edges = arcs.heads[out], arcs.edges[out]
        for u in tails[carries(v, tails, edges)].tolist():
            if u != end and u not in successor:
                successor[u] = v
                queue.append(u)
    return None


def _edge(levels: EdgeLevels, a: int, b: int) -> int:
    """The position of the edge between two positions."""
    arcs = levels.space.arcs
    out = slice(arcs.starts[a], arcs.starts[a + 1])
    return int(arcs.edges[out][arcs.heads[out] == b][0])


def _grows(level: ApproxDP, p: float, q: float) -> bool:
    """Whether the step from p is by growth, e^epsilon p + delta, and not by saturation; false at a tie."""
    growth, delta = level.growth, float(level.delta)
    return growth * p + delta < 1 - max(q - delta, 0.0) / growth - TIGHT * p
