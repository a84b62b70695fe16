"""Random graphs of datasets with a question, and random levels on their edges."""

from fractions import Fraction
from itertools import combinations

import numpy as np

import utmost as um


def random_question(rng):
    """A connected graph of 3 to 14 points, a truth, and known values at a boundary-hitting set."""
    n = int(rng.integers(3, 15))
    edges = {(int(rng.integers(0, i)), i) for i in range(1, n)}
    for a, b in rng.integers(0, n, size=(int(rng.integers(0, n)), 2)).tolist():
        if a != b:
            edges.add((min(a, b), max(a, b)))
    edges = sorted(edges)
    truth = rng.integers(0, 2, n).astype(bool)
    points = {(a, b)[rng.integers(2)] for a, b in edges if truth[a] != truth[b]} | set(
        np.flatnonzero(rng.random(n) < 0.1)
    )
    tilt, spread, noise = rng.uniform(0, 0.2), rng.choice([0, 0.02, 0.1, 0.5]), rng.normal(size=n)
    known = {int(v): float(np.clip(0.5 + tilt * (1 if truth[v] else -1) + spread * noise[v], 0, 1)) for v in points}
    return n, edges, truth, known


def random_parameters(rng, m):
    """epsilon and delta per edge: pure, one (epsilon, delta) everywhere, or all different."""
    epsilon = 10 ** rng.uniform(-2, 0.7, m) * (rng.random(m) > 0.1)
    delta = 10 ** rng.uniform(-4, -0.5, m) * (rng.random(m) > 0.4)
    kind = rng.integers(3)
    if kind == 0:
        delta[:] = 0
    elif kind == 1:
        epsilon[:], delta[:] = max(epsilon[0], 0.01), delta[0]
    return epsilon, delta


def random_level(rng):
    """A Gaussian level, a piecewise linear concave pair, a pair that is not concave, or an (epsilon, delta) level."""
    kind = rng.integers(4)
    if kind == 0:
        return um.GaussianDP(float(rng.uniform(0, 2)))
    if kind == 1:
        return least_of(
            [(Fraction(int(rng.integers(10, 60)), 10), Fraction(int(rng.integers(0, 20)), 100)) for _ in "ab"]
        )
    if kind == 2:
        shift = rng.uniform(0.1, 2)
        return um.SuitablePair.from_functions(lambda a: 0.5 - np.arctan(1 / np.tan(np.pi * a) - shift) / np.pi)
    return um.ApproxDP(float(rng.uniform(0, 2)), float(rng.uniform(0, 0.2)))


def least_of(promises):
    """The pair that keeps several (ratio, delta) promises at once: the least of their upper functions."""
    lines = [(Fraction(0), Fraction(1))]
    for ratio, delta in promises:
        lines += [(ratio, delta), (1 / ratio, 1 - (1 - delta) / ratio)]
    meet = {(t2 - t1) / (s1 - s2) for (s1, t1), (s2, t2) in combinations(lines, 2) if s1 != s2}
    alphas = sorted({Fraction(0), Fraction(1)} | {a for a in meet if 0 < a < 1})
    return um.SuitablePair([(a, min(s * a + t for s, t in lines)) for a in alphas])
