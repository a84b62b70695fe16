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


def private_rows(n, k, arcs, growth, delta):
    """What a private mechanism on n points with k outputs obeys, as rows of a dense LP, with their limits.

    Variables are the probabilities, and for each arc and output by how much its first end's exceeds `growth` times its
    second's. Returned are the inequalities and the equalities: the excesses of an arc add up to at most delta, a
    point's probabilities to one.
    """
    size = n * k + len(arcs) * k
    rows, limits, equal = [], [], []
    for e, (u, v) in enumerate(arcs):
        for o in range(k):
            row = np.zeros(size)
            row[u * k + o], row[v * k + o], row[n * k + e * k + o] = 1, -growth, -1
            rows.append(row)
            limits.append(0.0)
        row = np.zeros(size)
        row[n * k + e * k : n * k + (e + 1) * k] = 1
        rows.append(row)
        limits.append(delta)
    for v in range(n):
        row = np.zeros(size)
        row[v * k : (v + 1) * k] = 1
        equal.append(row)
    return rows, limits, equal, [1.0] * n


def ranked_lp(n, k, edges, orders, fixed, epsilon, delta):
    """Probabilities of the j best outputs at every point: one LP per position, earlier positions held; dense and plain.

    `orders[v]` lists the columns of v's outputs, best first; `fixed` gives whole rows.
    """
    ordered = [(u, v) for a, b in edges for u, v in ((a, b), (b, a))]
    size = n * k + len(ordered) * k
    rows, limits, equal, ones = private_rows(n, k, ordered, np.exp(epsilon), delta)
    for v in range(n):
        if v in fixed:
            for o in range(k):
                row = np.zeros(size)
                row[v * k + o] = 1
                equal.append(row)
                ones.append(fixed[v][o])
    best = np.zeros((n, k))
    for j in range(1, k):
        cost = np.zeros(size)
        for v in range(n):
            cost[[v * k + o for o in orders[v][:j]]] = -1
        result = linprog(cost, np.array(rows), np.array(limits), np.array(equal), np.array(ones), bounds=(0, 1))
        assert result.status == 0, result.message
        rows.append(cost)
        limits.append(result.fun + 1e-10)
        x = result.x[: n * k].reshape(n, k)
        best[:, j - 1] = [x[v, list(orders[v][:j])].sum() for v in range(n)]
    best[:, k - 1] = 1
    return best


def least_loss_lp(n, edges, epsilons, deltas, prior, loss, worst):
    """The least expected loss of a private mechanism whose outputs are guesses, by one dense LP over all pairs."""
    ordered = [(u, v, e) for e, (a, b) in enumerate(edges) for u, v in ((a, b), (b, a))]
    size = n * n + len(ordered) * n + 1
    rows, limits = [], []
    for i, (u, v, e) in enumerate(ordered):
        for o in range(n):
            row = np.zeros(size)
            row[u * n + o], row[v * n + o], row[n * n + i * n + o] = 1, -np.exp(epsilons[e]), -1
            rows.append(row)
            limits.append(0.0)
        row = np.zeros(size)
        row[n * n + i * n : n * n + (i + 1) * n] = 1
        rows.append(row)
        limits.append(deltas[e])
    for v in range(n):
        row = np.zeros(size)
        row[v * n : (v + 1) * n], row[-1] = loss[v], -1
        rows.append(row)
        limits.append(0.0)
    equal = np.zeros((n, size))
    for v in range(n):
        equal[v, v * n : (v + 1) * n] = 1
    cost = np.zeros(size)
    if worst:
        cost[-1] = 1
    else:
        cost[: n * n] = (prior[:, None] * loss).ravel()
    result = linprog(cost, np.array(rows), np.array(limits), equal, np.ones(n), bounds=(0, None))
    assert result.status == 0, result.message
    return result.fun


def pattern_lp(utilities, k, q):
    """The largest and the least value that LIM's program over all 2^k - 1 patterns can have, from a primal and a dual.

    Column A of the program is q + 1_A with `utilities[A - 1]` (bits of A). The objective is scaled to 1; the primal
    value is that of its basis, solved anew; the dual prices are lifted until no pattern exceeds its price.
    """
    bits = ((np.arange(1, 2**k)[:, None] >> np.arange(k)) & 1).astype(float)
    columns, utilities = (q + bits) / (q + 1), utilities / (q + 1)
    scale = max(np.abs(utilities).max(), 1e-300)
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    result = linprog(-utilities / scale, A_eq=columns.T, b_eq=np.ones(k), bounds=(0, None), options=tight)
    assert result.status == 0, result.message
    used = np.flatnonzero(result.x > 1e-9)
    shares = np.linalg.lstsq(columns[used].T, np.ones(k), rcond=None)[0]
    assert np.abs(columns[used].T @ shares - 1).max() < 1e-9
    assert shares.min() > -1e-12
    prices = -result.eqlin.marginals * scale
    short = max(0.0, float((utilities - columns @ prices).max()))
    return float(utilities[used] @ shares), float(prices.sum() + short * (q + 1) / (q + 1 / k))


def least_loss_by_lines(n, reach, lines, prior, table):
    """The least expected loss of a mechanism on a line whose events keep every line above `upper`, by one dense LP.

    A line (slope, intercept) asks sum_o max(0, X_uo - slope X_vo) <= intercept of every two points within the reach.
    """
    ordered = [(u, v) for u in range(n) for v in range(n) if 0 < abs(u - v) <= reach]
    size = n * n + len(ordered) * len(lines) * n
    rows, limits, spare = [], [], n * n
    for u, v in ordered:
        for slope, intercept in lines:
            for o in range(n):
                row = np.zeros(size)
                row[u * n + o], row[v * n + o], row[spare + o] = 1, -slope, -1
                rows.append(row / max(1.0, slope))
                limits.append(0.0)
            row = np.zeros(size)
            row[spare : spare + n] = 1
            rows.append(row)
            limits.append(intercept)
            spare += n
    equal = np.zeros((n, size))
    for v in range(n):
        equal[v, v * n : (v + 1) * n] = 1
    cost = np.concatenate([(prior[:, None] * table).ravel(), np.zeros(size - n * n)])
    result = linprog(cost, np.array(rows), np.array(limits), equal, np.ones(n), bounds=(0, None))
    assert result.status == 0, result.message
    return result.fun


def right_by_enumeration(law, prior):
    """Pr[winner = j | j is named], from single rows of the mechanism and the definition of the winner."""
    named, right = np.zeros(law.contest.size), np.zeros(law.contest.size)
    for tally, weight in prior.items():
        here = np.array([tally])
        chances = law.probabilities(here)[0]
        winner = int(law.contest.winners(here)[0])
        named += weight * chances
        right[winner] += weight * chances[winner]
    return right / named
