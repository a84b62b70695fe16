"""The optimum by another road: linear programs and fixed-point iteration, with nothing of Utmost's solvers."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog


def binary_lp(n, edges, truth, known, epsilons, deltas, weights=None):
    """Pr[1] at every point that maximises the (weighted) probability of the truth, by one LP; None if infeasible.

    The optimum maximises every point at once, so any positive weights find it.
    """
    rows, limits = [], []
    for (a, b), epsilon, delta in zip(edges, epsilons, deltas, strict=True):
        growth = np.exp(epsilon)
        for u, v in ((a, b), (b, a)):
            yes, no = np.zeros(n), np.zeros(n)
            yes[u], yes[v] = 1, -growth
            no[u], no[v] = -1, growth
            rows += [yes, no]
            limits += [delta, delta + growth - 1]
    sign = np.where(truth, 1.0, -1.0) * (np.ones(n) if weights is None else weights)
    bounds = [(known[v], known[v]) if v in known else (0, 1) for v in range(n)]
    result = linprog(-sign, A_ub=np.array(rows), b_ub=np.array(limits), bounds=bounds)
    return result.x if result.status == 0 else None


def extension_by_iteration(n, edges, truth, known, uppers):
    """Pr[truth] at every point by sweeping all edges until nothing falls, for any level per edge; None if impossible.

    Starts from 1 everywhere and lowers both Pr[1] and Pr[0] bounds; known values must survive.
    """
    bounds = np.ones((n, 2))
    for v, p in known.items():
        bounds[v] = [1 - p, p]
    for _ in range(10 * n):
        before = bounds.copy()
        for (a, b), upper in zip(edges, uppers, strict=True):
            for u, v in ((a, b), (b, a)):
                for output in (0, 1):
                    bounds[v, output] = min(bounds[v, output], upper(bounds[u, output]))
        if np.array_equal(before, bounds):
            break
    for v, p in known.items():
        if bounds[v, 1] < p - 1e-12 or bounds[v, 0] < 1 - p - 1e-12:
            return None
    return bounds[np.arange(n), np.asarray(truth, dtype=int)]
