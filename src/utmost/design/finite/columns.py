"""Column generation for pure levels: the optimum of some hundred results, where the plain linear program gives up.

Column k of a mechanism (the probabilities of guess k) lies in the cone K of functions x >= 0 with x_i <= e^eps x_h on
every edge, and columns add up to 1. A master program mixes known columns; for its dual prices lambda, a small program
per guess finds the column of K that costs least, min sum_i (prior_i loss(i, k) - lambda_i) x_i. When none costs less
than nothing, the mixture is optimal; before that, what they cost bounds how far it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.design.finite.geometric import geometric
from utmost.design.linear_program import TIGHT
from utmost.errors import SolverFailed
from utmost.space.edge_levels import EdgeLevels
from utmost.space.sparse import coo_array

Floats: TypeAlias = NDArray[np.float64]
CLOSED = 1e-8
MOST_ROUNDS, STALLED = 60, 8
"""How many rounds at most, and how many in a row that bring the bound no closer."""


class Generated(NamedTuple):
    """A mechanism (before its rows are made exact), the dual prices per ordered edge and guess, and how it went."""

    matrix: Floats
    duals: Floats
    rounds: int


def generate_columns(
    levels: EdgeLevels, prior: Floats, loss: Floats, seconds: float = 600.0, say: Callable[[str], Any] | None = None
) -> Generated:
    """The mechanism with the least expected loss, by generating columns until the gap closes or time runs out."""
    n = len(prior)
    apart = levels.lengths()
    decay = np.exp(-apart)
    costs = prior[:, None] * loss
    mirror = mirrored_edges(levels, prior, loss)
    price = _Pricing(levels)
    guesses, columns = _first_columns(levels, decay, costs)
    start, rounds, idle = time.monotonic(), 0, 0
    bound, duals = -np.inf, price.duals
    while True:
        rounds += 1
        idle += 1
        shares, prices, value = _mix(columns, np.einsum("ik,ki->k", columns, costs.T[guesses]))
        if mirror is not None:
            prices = (prices + prices[::-1]) / 2
        cheapest, new_guesses, new_columns = 0.0, [], []
        for k in range(n if mirror is None else (n + 1) // 2):
            least, x = price(k, costs[:, k] - prices)
            cheapest = min(cheapest, least)
            column = None
            if least < -1e-13:
                full = (decay * x).max(axis=1)  # the least function of K above x: solvers round small entries to zero
                column = full / full.max()
                new_guesses.append(k)
                new_columns.append(column)
            if mirror is not None and 2 * k + 1 != n:
                price.duals[:, :, n - 1 - k] = price.duals[::-1, mirror, k]
                if column is not None:
                    new_guesses.append(n - 1 - k)
                    new_columns.append(column[::-1])
        found = float(prices.sum()) + n * cheapest
        if found > bound + 1e-12:
            bound, duals, idle = found, price.duals.copy(), 0
        gap = value - bound
        if say:
            say(f"round {rounds}: loss {value:.9g}, at most {gap:.2g} above the best, {columns.shape[1]} columns")
        late = rounds == MOST_ROUNDS or idle == STALLED or time.monotonic() - start > seconds
        if gap <= CLOSED or late or not new_guesses:
            break
        guesses = np.concatenate([guesses, np.array(new_guesses)])
        columns = np.column_stack([columns, *new_columns])
    matrix = np.zeros((n, n))
    np.add.at(matrix.T, guesses, shares[:, None] * columns.T)
    return Generated(matrix / matrix.sum(axis=1, keepdims=True), duals, rounds)


class _Pricing:
    """The cheapest column of K for one guess; one model, whose costs change."""

    def __init__(self, levels: EdgeLevels) -> None:
        import highspy

        self.n = n = len(levels.space.points)
        a, b = levels.space.edge_indices.T
        self.m = m = len(a)
        self.scale = np.tile(1 / levels.growth, 2)
        rows = np.arange(2 * m)
        entries = np.concatenate([self.scale, -np.ones(2 * m), np.ones(n)])
        places = (
            np.concatenate([rows, rows, np.full(n, 2 * m)]),
            np.concatenate([a, b, b, a, np.arange(n)]),
        )
        table = coo_array((entries, places), shape=(2 * m + 1, n)).tocsc()
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = n, 2 * m + 1
        model.col_cost_, model.col_lower_, model.col_upper_ = np.zeros(n), np.zeros(n), np.ones(n)
        model.row_lower_ = np.append(np.full(2 * m, -np.inf), 1.0)
        model.row_upper_ = np.append(np.zeros(2 * m), 1.0)
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = table.indptr, table.indices, table.data
        self.solver = highspy.Highs()
        self.solver.silent()
        for name, value in TIGHT.items():
            self.solver.setOptionValue(name, value)
        self.solver.passModel(model)
        self.duals = np.zeros((2, m, n))

    def __call__(self, k: int, costs: Floats) -> tuple[float, Floats]:
        """The least cost of a column that adds up to 1, and that column; its dual prices are kept."""
        self.solver.changeColsCost(self.n, np.arange(self.n, dtype=np.int32), costs)
        self.solver.run()
        found = self.solver.getSolution()
        duals = np.maximum(-np.array(found.row_dual[:-1]), 0.0) * self.scale
        self.duals[:, :, k] = duals.reshape(2, self.m)
        return float(self.solver.getInfo().objective_function_value), np.maximum(np.array(found.col_value), 0.0)


def _mix(columns: Floats, costs: Floats) -> tuple[Floats, Floats, float]:
    """The cheapest mixture of columns that adds up to 1 at every point: shares, dual prices, cost."""
    from scipy.optimize import linprog

    result = linprog(costs, A_eq=columns, b_eq=np.ones(len(columns)), bounds=(0, None), method="highs", options=TIGHT)
    if result.x is None:
        raise SolverFailed(f"the program that mixes columns failed: {result.message}")
    return np.maximum(result.x, 0.0), result.eqlin.marginals, float(result.fun)


def _first_columns(levels: EdgeLevels, decay: Floats, costs: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Tight columns, those of geometric noise where private, and the constant one, each with its best guess."""
    n = len(decay)
    reach = max(1, int(np.isclose(decay[0], decay[0].max(initial=0.0, where=decay[0] < 1)).sum()))
    noise = geometric(n, max(float(levels.log_growth().min(initial=1.0)) / reach, 1e-9)).matrix
    candidates = np.column_stack([decay, noise / noise.max(axis=0), np.ones((n, 1))])
    a, b = levels.space.edge_indices.T
    fits = np.ones(candidates.shape[1], dtype=bool)
    for tails, heads in ((a, b), (b, a)):
        for part in range(0, len(a), 2**10):
            some = slice(part, part + 2**10)
            allowed = levels.growth[some, None] * candidates[heads[some]] * (1 + 1e-12)
            fits &= (candidates[tails[some]] <= allowed).all(axis=0)
    chosen = candidates[:, fits]
    return np.asarray((costs.T @ chosen).argmin(axis=0)), chosen


def mirrored_edges(levels: EdgeLevels, prior: Floats, loss: Floats) -> NDArray[np.int64] | None:
    """The mirror image of every edge, if turning the order of points around changes nothing; else None."""
    n = len(prior)
    a, b = levels.space.edge_indices.T
    low, high = np.minimum(a, b), np.maximum(a, b)
    if (a != low).any() or not (
        np.allclose(prior, prior[::-1], rtol=0, atol=1e-15) and np.allclose(loss, loss[::-1, ::-1], rtol=0, atol=1e-12)
    ):
        return None
    here, there = low * n + high, (n - 1 - high) * n + (n - 1 - low)
    order = np.argsort(here)
    found = np.minimum(np.searchsorted(here[order], there), max(len(here) - 1, 0))
    mirror = order[found] if len(here) else found
    same = len(here) == 0 or bool((here[mirror] == there).all())
    return mirror if same and np.array_equal(levels.growth, levels.growth[mirror]) else None
