"""Random graphs, distributions and mechanisms for testing theorems; the same ones in every run."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

import utmost as um
from utmost.exact.arrays import Floats


def generator(name: str) -> np.random.Generator:
    """A random generator seeded by the name of a claim."""
    return np.random.default_rng(list(name.encode()))


def random_graph(rng: np.random.Generator, points: int, share: float = 0.3) -> um.Space:
    """A random connected graph: a random tree and a share of the other edges."""
    edges = {(int(rng.integers(i)), i) for i in range(1, points)}
    edges |= {pair for pair in itertools.combinations(range(points), 2) if rng.random() < share}
    return um.Space.from_edges(sorted(edges), points=range(points))


def random_question(rng: np.random.Generator, space: um.Space) -> dict[Any, bool]:
    """A random yes/no question: true within some distance of a random point."""
    distances = space.distances_from(space.points[int(rng.integers(len(space.points)))])
    return dict(zip(space.points, (distances <= rng.integers(0, int(distances.max()) + 1)).tolist(), strict=True))


def random_extensions(
    rng: np.random.Generator, count: int, points: int
) -> Iterator[tuple[um.Space, dict[Any, bool], dict[Any, float]]]:
    """Random graphs with a question and values at a hitting set, of which many have an extension and some do not."""
    for _ in range(count):
        space = random_graph(rng, int(rng.integers(3, points + 1)))
        truth = random_question(rng, space)
        hits = set(um.binary.hitting_set(space, truth)) | {int(rng.integers(len(space.points)))}
        middle = rng.uniform(0.3, 0.7)
        known_values = {h: round(float(np.clip(middle + rng.normal(0, 0.12), 0.01, 0.99)), 3) for h in sorted(hits)}
        yield space, truth, known_values


def simple_paths(space: um.Space, start: int, end: int) -> Iterator[list[int]]:
    """All simple paths between two points, as lists of positions."""
    neighbours: dict[int, list[int]] = {i: [] for i in range(len(space.points))}
    for a, b in space.edge_indices.tolist():
        neighbours[a].append(b)
        neighbours[b].append(a)
    stack = [[start]]
    while stack:
        path = stack.pop()
        if path[-1] == end:
            yield path
            continue
        stack += [[*path, v] for v in neighbours[path[-1]] if v not in path]


def private_mechanism(rng: np.random.Generator, space: um.Space, epsilon: float, outputs: int) -> um.FiniteMechanism:
    """A random private mechanism: the exponential mechanism for scores that a neighbour changes by at most one."""
    towards = rng.integers(len(space.points), size=outputs)
    scores = -space.distances()[:, towards] * rng.choice([-1.0, 0.5, 1.0], size=outputs)
    weights = np.exp(epsilon / 2 * scores) * rng.exponential(size=outputs)
    return um.FiniteMechanism(weights / weights.sum(axis=1, keepdims=True), space.points, range(outputs))


def random_prior(rng: np.random.Generator, n: int) -> Floats:
    """A random distribution on n points, uniform on the simplex."""
    return np.asarray(rng.dirichlet(np.ones(n)))
