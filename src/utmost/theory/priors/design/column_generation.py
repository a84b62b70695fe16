"""Column generation for pure levels: the optimum for some hundred results, where the plain linear program is too slow.

Column k of a mechanism (the probabilities of guess k) lies in the cone K of functions x >= 0 with x_i <= e^eps x_h on
every edge, and columns add up to 1. A master program mixes known columns; for its dual prices lambda, a small program
per guess finds the column of K with the least reduced cost, min sum_i (prior_i loss(i, k) - lambda_i) x_i. When none is
negative, the mixture is optimal; before that, the reduced costs bound the gap.

Two measures stabilise it. It starts from good private mechanisms (`first_mechanisms`), whose columns are all in the
master, so that no mixture is ever worse than the best of them. And prices are taken between those of the master and
those with the best bound so far (Wentges 1997), because the master's own oscillate while few columns are known.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.exact import without_underflow
from utmost.exact.arrays import Floats
from utmost.exact.bisection import narrow
from utmost.space.edge_levels import EdgeLevels
from utmost.space.sparse import coo_array, csr_array, hstack
from utmost.theory.linear_program import TIGHT
from utmost.theory.priors.design.geometric import geometric

Places: TypeAlias = NDArray[np.int64]
CLOSED = 1e-8
MOST_ROUNDS, STALLED = 300, 30
"""The largest number of rounds, and of rounds in a row that improve neither the value nor the bound."""
TOWARDS_BEST = 0.8
"""The smoothing weight of the prices with the best bound so far."""
LEAST_GAIN = 1e-12


class Generated(NamedTuple):
    """A mechanism (before its rows are made exact), dual prices per ordered edge and guess, the number of rounds."""

    matrix: Floats
    duals: Floats
    rounds: int


def generate_columns(
    levels: EdgeLevels, prior: Floats, loss: Floats, seconds: float = 600.0, say: Callable[[str], Any] | None = None
) -> Generated:
    """The mechanism with the least expected loss, by generating columns until the gap closes or time runs out.

    It is never worse than the best of `first_mechanisms`. Losses should be at most about 1, since solvers' tolerances
    are absolute.
    """
    deadline = time.monotonic() + seconds
    n = len(prior)
    decay = tight_columns(levels)
    costs = prior[:, None] * loss
    mirror = mirrored_edges(levels, prior, loss)
    first = first_mechanisms(levels, decay, costs, deadline)
    best_start = min((_with_best_guesses(matrix, costs) for matrix in first), key=lambda m: float((m * costs).sum()))
    master, pricing = _Master(n, deadline), _Pricing(levels, deadline)
    master.add(*_guessed(np.column_stack([*first, decay]), costs), costs)
    bound = float(costs.min(axis=1).sum())  # no mechanism has a lower loss, private or not
    duals = np.zeros_like(pricing.duals)
    best = _prices_of_tight_columns(decay, prior, loss, deadline)
    share = 1.0
    rounds = idle = 0
    lowest = np.inf
    while rounds < MOST_ROUNDS and idle < STALLED and master.solve():
        rounds += 1
        idle += 1
        if mirror is not None:
            master.prices = (master.prices + master.prices[::-1]) / 2
        improvement = lowest - master.value
        if improvement > LEAST_GAIN:
            lowest, idle = master.value, 0
        prices = master.prices if best is None else share * best + (1 - share) * master.prices
        priced = _price_all(pricing, costs, prices, mirror)
        if priced is None:
            break
        cheapest, cheapest_columns = priced
        dual_value = float(prices.sum()) + n * min(cheapest, 0.0)
        if dual_value > bound + LEAST_GAIN:
            bound, duals, best, idle = dual_value, pricing.duals.copy(), prices, 0
        if say:
            gap = master.value - bound
            say(f"round {rounds}: loss {master.value:.9g}, at most {gap:.2g} above the best, {master.size} columns")
        if master.value - bound <= CLOSED:
            break
        columns = np.array([_least_above(decay, x) for x in cheapest_columns.T]).T
        columns, guesses = columns / columns.max(axis=0), np.arange(n)
        has_negative_cost = (columns * (costs - master.prices[:, None])).sum(axis=0) < -LEAST_GAIN
        if has_negative_cost.any():
            master.add(columns[:, has_negative_cost], guesses[has_negative_cost], costs)
        elif best is None or share == 0:
            break
        moving = has_negative_cost.any() and improvement > 0.01 * (master.value - bound)
        share = TOWARDS_BEST if moving else share / 2 if share > 1e-3 else 0.0
    mixture = master.mixture()
    worse = mixture is None or (mixture * costs).sum() > (best_start * costs).sum()
    return Generated(best_start if worse or mixture is None else mixture, duals, rounds)


def tight_columns(levels: EdgeLevels) -> Floats:
    """Phi: column k is e^(-length of the shortest path to k), the least function of K that is 1 at k."""
    lengths = levels.lengths()
    return without_underflow(np.exp(-lengths), np.isfinite(lengths))


def first_mechanisms(levels: EdgeLevels, decay: Floats, costs: Floats, deadline: float) -> list[Floats]:
    """Private mechanisms whose columns start the master program; a row per point, any number of outputs.

    The exponential mechanism e^(-c d), rows divided by their sums, at the largest c between 1/2 and 1 at which it is
    private (it is at 1/2); geometric noise where it is private; tight columns, if their remainder is a column itself;
    and the constant mechanism.
    """
    n = len(decay)
    steps = max(1, int(np.isclose(decay[0], decay[0].max(initial=0.0, where=decay[0] < 1)).sum()))
    noise = geometric(n, max(float(levels.log_growth().min(initial=1.0)) / steps, 1e-9)).matrix
    return [
        _exponential(levels),
        *([noise] if _is_private(noise, levels) else []),
        *_tight_and_rest(levels, decay, costs, deadline),
        np.ones((n, 1)),
    ]


def _exponential(levels: EdgeLevels) -> Floats:
    """X_ik = e^(-c d(i, k)) / sum_k e^(-c d(i, k)) at the largest private c, in logs.

    Along an edge the logarithm of an entry changes by at most c times the change of d, and by the change of log sums.
    """
    from scipy.special import logsumexp

    lengths, allowed = levels.lengths(), levels.log_growth()
    a, b = levels.space.edge_indices.T
    steps = np.zeros(len(a))
    for part in range(0, len(a), 2**10):
        chunk = slice(part, part + 2**10)
        with np.errstate(invalid="ignore"):  # infinity minus itself, in other components
            steps[chunk] = np.fmax.reduce(np.abs(lengths[a[chunk]] - lengths[b[chunk]]), axis=1, initial=0.0)

    def is_private(c: float) -> bool:
        sums = logsumexp(-c * lengths, axis=1)
        return bool((c * steps + np.abs(sums[a] - sums[b]) <= allowed).all())

    low, _ = narrow(lambda c: not is_private(c), 0.5, 1.0, absolute=2.0**-21)
    matrix = np.exp(-low * lengths - logsumexp(-low * lengths, axis=1, keepdims=True))
    return without_underflow(np.asarray(matrix), np.isfinite(lengths))


def _is_private(matrix: Floats, levels: EdgeLevels) -> bool:
    """Whether a mechanism satisfies pure levels, up to rounding."""
    a, b = levels.space.edge_indices.T
    for tails, heads in ((a, b), (b, a)):
        for part in range(0, len(a), 2**10):
            chunk = slice(part, part + 2**10)
            if (matrix[tails[chunk]] > levels.growth[chunk, None] * matrix[heads[chunk]] * (1 + 1e-12)).any():
                return False
    return True


def _tight_and_rest(levels: EdgeLevels, decay: Floats, costs: Floats, deadline: float) -> list[Floats]:
    """The best mechanism of tight columns and one more column, r = 1 - Phi z in K; empty if the solver fails.

    One program of 2n variables, where the optimum over all mechanisms has n^2.
    """
    from scipy.optimize import linprog

    n = len(decay)
    a, b = levels.space.edge_indices.T
    tails, heads = np.concatenate([a, b]), np.concatenate([b, a])
    rows = np.arange(len(tails))
    privacy = coo_array(
        (
            np.concatenate([np.tile(1 / levels.growth, 2), -np.ones(len(tails))]),
            (np.concatenate([rows, rows]), np.concatenate([n + tails, n + heads])),
        ),
        shape=(len(tails), 2 * n),
    ).tocsr()
    sums = hstack([csr_array(decay), csr_array(np.eye(n))]).tocsr()
    price = np.concatenate([(costs.T @ decay).min(axis=0), costs[:, int(costs.sum(axis=0).argmin())]])
    options = {**TIGHT, "time_limit": max(deadline - time.monotonic(), 0.0) / 4}
    result = linprog(price, privacy, np.zeros(len(tails)), sums, np.ones(n), method="highs", options=options)
    if result.status != 0:
        return []
    z, rest = np.maximum(result.x[:n], 0.0), _least_above(decay, np.maximum(result.x[n:], 0.0))
    return [np.column_stack([decay * z, rest])]


def _least_above(decay: Floats, x: Floats) -> Floats:
    """The least function of K above x: it repairs a solver's rounding, mostly of entries near 0."""
    return np.asarray((decay * x).max(axis=1))


def _guessed(columns: Floats, costs: Floats) -> tuple[Floats, Places]:
    """The non-zero columns, scaled so that their largest entry is 1, and the best guess for each."""
    highest = columns.max(axis=0)
    scaled = columns[:, highest > 0] / highest[highest > 0]
    return scaled, np.asarray((costs.T @ scaled).argmin(axis=0))


def _with_best_guesses(matrix: Floats, costs: Floats) -> Floats:
    """A mechanism with each output replaced by its best guess, rows adding up to 1."""
    n = len(matrix)
    guesses = (costs.T @ matrix).argmin(axis=0)
    remapped = np.zeros((n, n))
    np.add.at(remapped.T, guesses, matrix.T)
    return without_underflow(np.asarray(remapped / remapped.sum(axis=1, keepdims=True)), remapped > 0)


def _prices_of_tight_columns(decay: Floats, prior: Floats, loss: Floats, deadline: float) -> Floats | None:
    """For zero-one loss, feasible prices whose bound is mostly close: prior - m with m >= 0 and Phi m >= prior.

    The reduced cost of a column for guess k is then m·x - prior_k x_k; among columns with x_k = 1 the tight one is the
    least everywhere, so its cost is the least, and it is 0 or more. The bound is 1 - sum m, so the sum is minimised.
    """
    from scipy.optimize import linprog

    n = len(prior)
    if not np.array_equal(loss, 1 - np.eye(n)):
        return None
    options = {**TIGHT, "time_limit": max(deadline - time.monotonic(), 0.0) / 4}
    result = linprog(np.ones(n), -decay, -prior, method="highs", options=options)
    return prior - result.x if result.status == 0 else None


def _price_all(pricing: _Pricing, costs: Floats, prices: Floats, mirror: Places | None) -> tuple[float, Floats] | None:
    """The least reduced cost of any column, and the cheapest column for each guess; None if time ran out."""
    n = len(prices)
    cheapest, columns = np.inf, np.zeros((n, n))
    for k in range(n if mirror is None else (n + 1) // 2):
        priced = pricing(k, costs[:, k] - prices)
        if priced is None:
            return None
        cheapest, columns[:, k] = min(cheapest, priced[0]), priced[1]
        if mirror is not None and 2 * k + 1 != n:
            pricing.duals[:, :, n - 1 - k] = pricing.duals[::-1, mirror, k]
            columns[:, n - 1 - k] = priced[1][::-1]
    return cheapest, columns


class _Solver:
    """A HiGHS model that is solved repeatedly, each time from its last basis and until a deadline at most."""

    def __init__(self, deadline: float) -> None:
        import highspy

        self.deadline, self.solver = deadline, highspy.Highs()
        self.optimal = highspy.HighsModelStatus.kOptimal
        self.solver.silent()
        for name, value in TIGHT.items():
            self.solver.setOptionValue(name, value)

    def run(self) -> bool:
        """Solve it, by the simplex method, or by interior points where that fails; whether it was solved in time."""
        for method in ("simplex", "ipm"):
            remaining = self.deadline - time.monotonic()
            if remaining <= 0:
                return False
            self.solver.setOptionValue("solver", method)
            self.solver.setOptionValue("time_limit", self.solver.getRunTime() + remaining)  # HiGHS adds up all its runs
            self.solver.run()
            if self.solver.getModelStatus() == self.optimal:
                # From now on the primal simplex: new costs or columns leave the last solution feasible.
                self.solver.setOptionValue("simplex_strategy", 4)
                return True
        return False


class _Master(_Solver):
    """The cheapest mixture of known columns that adds up to 1 at every point."""

    def __init__(self, n: int, deadline: float) -> None:
        import highspy

        super().__init__(deadline)
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = 0, n
        model.row_lower_, model.row_upper_ = np.ones(n), np.ones(n)
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = np.zeros(1, dtype=np.int32)
        self.solver.passModel(model)
        self.columns, self.guesses = np.zeros((n, 0)), np.zeros(0, dtype=np.int64)
        self.shares, self.prices, self.value = np.zeros(0), np.zeros(n), np.inf

    @property
    def size(self) -> int:
        """The number of columns."""
        return self.columns.shape[1]

    def add(self, columns: Floats, guesses: Places, costs: Floats) -> None:
        """Add columns, each with its guess."""
        n, m = columns.shape
        price = (columns * costs[:, guesses]).sum(axis=0)
        starts, places = np.arange(m, dtype=np.int32) * n, np.tile(np.arange(n, dtype=np.int32), m)
        values = np.ascontiguousarray(columns.T).ravel()
        self.solver.addCols(m, price, np.zeros(m), np.full(m, np.inf), n * m, starts, places, values)
        self.columns, self.guesses = np.column_stack([self.columns, columns]), np.append(self.guesses, guesses)

    def solve(self) -> bool:
        """Compute shares, dual prices and the cost of the best mixture; false if the solver did not finish."""
        if not self.run():
            return False
        solution = self.solver.getSolution()
        self.shares, self.prices = np.maximum(np.array(solution.col_value), 0.0), np.array(solution.row_dual)
        self.value = float(self.solver.getInfo().objective_function_value)
        return True

    def mixture(self) -> Floats | None:
        """The best mixture found as a mechanism; None before the first."""
        if not self.shares.size:
            return None
        n, m = len(self.columns), len(self.shares)
        matrix = np.zeros((n, n))
        np.add.at(matrix.T, self.guesses[:m], (self.shares * self.columns[:, :m]).T)
        return without_underflow(np.asarray(matrix / matrix.sum(axis=1, keepdims=True)), matrix > 0)


class _Pricing(_Solver):
    """The cheapest column of K for one guess; one model, whose costs change, and a stored basis for every guess."""

    def __init__(self, levels: EdgeLevels, deadline: float) -> None:
        import highspy

        super().__init__(deadline)
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
        self.solver.passModel(model)
        self.bases: dict[int, Any] = {}
        self.duals = np.zeros((2, m, n))

    def __call__(self, k: int, costs: Floats) -> tuple[float, Floats] | None:
        """The least cost of a column that adds up to 1, and the column; stores its dual prices. None if out of time."""
        if k in self.bases:
            self.solver.setBasis(self.bases[k])
        self.solver.changeColsCost(self.n, np.arange(self.n, dtype=np.int32), costs)
        if not self.run():
            return None
        self.bases[k] = self.solver.getBasis()
        solution = self.solver.getSolution()
        duals = np.maximum(-np.array(solution.row_dual[:-1]), 0.0) * self.scale
        self.duals[:, :, k] = duals.reshape(2, self.m)
        return float(self.solver.getInfo().objective_function_value), np.maximum(np.array(solution.col_value), 0.0)


def mirrored_edges(levels: EdgeLevels, prior: Floats, loss: Floats) -> NDArray[np.int64] | None:
    """The mirror image of every edge, if the problem is invariant under reversing the points; else None."""
    n = len(prior)
    a, b = levels.space.edge_indices.T
    low, high = np.minimum(a, b), np.maximum(a, b)
    if (a != low).any() or not (
        np.allclose(prior, prior[::-1], rtol=0, atol=1e-15) and np.allclose(loss, loss[::-1, ::-1], rtol=0, atol=1e-12)
    ):
        return None
    edge_keys, mirrored_keys = low * n + high, (n - 1 - high) * n + (n - 1 - low)
    order = np.argsort(edge_keys)
    position = np.minimum(np.searchsorted(edge_keys[order], mirrored_keys), max(len(edge_keys) - 1, 0))
    mirror = order[position] if len(edge_keys) else position
    is_permutation = len(edge_keys) == 0 or bool((edge_keys[mirror] == mirrored_keys).all())
    return mirror if is_permutation and np.array_equal(levels.growth, levels.growth[mirror]) else None
