"""Column generation for pure levels: the optimum of some hundred results, where the plain linear program gives up.

Column k of a mechanism (the probabilities of guess k) lies in the cone K of functions x >= 0 with x_i <= e^eps x_h on
every edge, and columns add up to 1. A master program mixes known columns; for its dual prices lambda, a small program
per guess finds the column of K that costs least, min sum_i (prior_i loss(i, k) - lambda_i) x_i. When none costs less
than nothing, the mixture is optimal; before that, what they cost bounds how far it is.

Two things keep it from wandering. It starts from private mechanisms that are good already (`first_mechanisms`), whose
columns are all in the master, so that no mixture is ever worse than the best of them. And prices are taken between
those of the master and those with the best bound so far (Wentges 1997), because the master's own jump about while few
columns are known.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.exact import held
from utmost.exact.arrays import Floats
from utmost.exact.bisection import narrow
from utmost.space.edge_levels import EdgeLevels
from utmost.space.sparse import coo_array, csr_array, hstack
from utmost.theory.linear_program import TIGHT
from utmost.theory.priors.design.geometric import geometric

Places: TypeAlias = NDArray[np.int64]
CLOSED = 1e-8
MOST_ROUNDS, STALLED = 300, 30
"""How many rounds at most, and how many in a row that bring neither the value nor the bound closer."""
TOWARDS_BEST = 0.8
"""The share of the best prices known in those that are tried next."""
LEAST_GAIN = 1e-12


class Generated(NamedTuple):
    """A mechanism (before its rows are made exact), the dual prices per ordered edge and guess, and how it went."""

    matrix: Floats
    duals: Floats
    rounds: int


def generate_columns(
    levels: EdgeLevels, prior: Floats, loss: Floats, seconds: float = 600.0, say: Callable[[str], Any] | None = None
) -> Generated:
    """The mechanism with the least expected loss, by generating columns until the gap closes or time runs out.

    It never loses more than the best of `first_mechanisms`. Losses are at most about 1: solvers' tolerances are
    absolute.
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
    bound = float(costs.min(axis=1).sum())  # no mechanism loses less, private or not
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
        gained = lowest - master.value
        if gained > LEAST_GAIN:
            lowest, idle = master.value, 0
        prices = master.prices if best is None else share * best + (1 - share) * master.prices
        priced = _price_all(pricing, costs, prices, mirror)
        if priced is None:
            break
        cheapest, found = priced
        reached = float(prices.sum()) + n * min(cheapest, 0.0)
        if reached > bound + LEAST_GAIN:
            bound, duals, best, idle = reached, pricing.duals.copy(), prices, 0
        if say:
            gap = master.value - bound
            say(f"round {rounds}: loss {master.value:.9g}, at most {gap:.2g} above the best, {master.size} columns")
        if master.value - bound <= CLOSED:
            break
        columns = np.array([_least_above(decay, x) for x in found.T]).T
        columns, guesses = columns / columns.max(axis=0), np.arange(n)
        useful = (columns * (costs - master.prices[:, None])).sum(axis=0) < -LEAST_GAIN
        if useful.any():
            master.add(columns[:, useful], guesses[useful], costs)
        elif best is None or share == 0:
            break
        moving = useful.any() and gained > 0.01 * (master.value - bound)
        share = TOWARDS_BEST if moving else share / 2 if share > 1e-3 else 0.0
    mixed = master.mixture()
    worse = mixed is None or (mixed * costs).sum() > (best_start * costs).sum()
    return Generated(best_start if worse or mixed is None else mixed, duals, rounds)


def tight_columns(levels: EdgeLevels) -> Floats:
    """Phi: column k is e^(-length of the shortest path to k), the least function of K that is 1 there."""
    lengths = levels.lengths()
    return held(np.exp(-lengths), np.isfinite(lengths))


def first_mechanisms(levels: EdgeLevels, decay: Floats, costs: Floats, deadline: float) -> list[Floats]:
    """Private mechanisms that are good before any column is generated; a row per point, any number of outputs.

    The exponential mechanism e^(-c d), rows divided by their sums, at the largest c between 1/2 and 1 at which it is
    private (it is at 1/2); geometric noise where it is private; tight columns, as far as what they leave over is a
    column itself; and the constant, which tells nothing.
    """
    n = len(decay)
    reach = max(1, int(np.isclose(decay[0], decay[0].max(initial=0.0, where=decay[0] < 1)).sum()))
    noise = geometric(n, max(float(levels.log_growth().min(initial=1.0)) / reach, 1e-9)).matrix
    return [
        _exponential(levels),
        *([noise] if _fits(noise, levels) else []),
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
        some = slice(part, part + 2**10)
        with np.errstate(invalid="ignore"):  # infinity minus itself, in other components
            steps[some] = np.fmax.reduce(np.abs(lengths[a[some]] - lengths[b[some]]), axis=1, initial=0.0)

    def is_private(c: float) -> bool:
        sums = logsumexp(-c * lengths, axis=1)
        return bool((c * steps + np.abs(sums[a] - sums[b]) <= allowed).all())

    low, _ = narrow(lambda c: not is_private(c), 0.5, 1.0, absolute=2.0**-21)
    matrix = np.exp(-low * lengths - logsumexp(-low * lengths, axis=1, keepdims=True))
    return held(np.asarray(matrix), np.isfinite(lengths))


def _fits(matrix: Floats, levels: EdgeLevels) -> bool:
    """Whether a mechanism keeps pure levels, up to rounding."""
    a, b = levels.space.edge_indices.T
    for tails, heads in ((a, b), (b, a)):
        for part in range(0, len(a), 2**10):
            some = slice(part, part + 2**10)
            if (matrix[tails[some]] > levels.growth[some, None] * matrix[heads[some]] * (1 + 1e-12)).any():
                return False
    return True


def _tight_and_rest(levels: EdgeLevels, decay: Floats, costs: Floats, deadline: float) -> list[Floats]:
    """The best mechanism of tight columns and one column more, r = 1 - Phi z in K; none if the solver finds none.

    One program of 2n variables, where the optimum over all mechanisms has n^2.
    """
    from scipy.optimize import linprog

    n = len(decay)
    a, b = levels.space.edge_indices.T
    tails, heads = np.concatenate([a, b]), np.concatenate([b, a])
    rows = np.arange(len(tails))
    keep = coo_array(
        (
            np.concatenate([np.tile(1 / levels.growth, 2), -np.ones(len(tails))]),
            (np.concatenate([rows, rows]), np.concatenate([n + tails, n + heads])),
        ),
        shape=(len(tails), 2 * n),
    ).tocsr()
    sums = hstack([csr_array(decay), csr_array(np.eye(n))]).tocsr()
    price = np.concatenate([(costs.T @ decay).min(axis=0), costs[:, int(costs.sum(axis=0).argmin())]])
    options = {**TIGHT, "time_limit": max(deadline - time.monotonic(), 0.0) / 4}
    result = linprog(price, keep, np.zeros(len(tails)), sums, np.ones(n), method="highs", options=options)
    if result.status != 0:
        return []
    z, rest = np.maximum(result.x[:n], 0.0), _least_above(decay, np.maximum(result.x[n:], 0.0))
    return [np.column_stack([decay * z, rest])]


def _least_above(decay: Floats, x: Floats) -> Floats:
    """The least function of K that is x or more everywhere: it mends what a solver rounded, mostly entries near 0."""
    return np.asarray((decay * x).max(axis=1))


def _guessed(columns: Floats, costs: Floats) -> tuple[Floats, Places]:
    """The columns that are not zero, scaled so that their largest entry is 1, and the best guess of each."""
    highest = columns.max(axis=0)
    scaled = columns[:, highest > 0] / highest[highest > 0]
    return scaled, np.asarray((costs.T @ scaled).argmin(axis=0))


def _with_best_guesses(matrix: Floats, costs: Floats) -> Floats:
    """A mechanism with each output replaced by its best guess, rows adding up to 1."""
    n = len(matrix)
    guesses = (costs.T @ matrix).argmin(axis=0)
    result = np.zeros((n, n))
    np.add.at(result.T, guesses, matrix.T)
    return held(np.asarray(result / result.sum(axis=1, keepdims=True)), result > 0)


def _prices_of_tight_columns(decay: Floats, prior: Floats, loss: Floats, deadline: float) -> Floats | None:
    """For zero-one loss, prices whose bound is valid and mostly close: prior - m with m >= 0 and Phi m >= prior.

    A column for guess k then costs m·x - prior_k x_k, and among those with x_k = 1 the tight one is the least
    everywhere, so it costs least, and no less than 0. The bound is 1 - sum m, so the sum is made small.
    """
    from scipy.optimize import linprog

    n = len(prior)
    if not np.array_equal(loss, 1 - np.eye(n)):
        return None
    options = {**TIGHT, "time_limit": max(deadline - time.monotonic(), 0.0) / 4}
    result = linprog(np.ones(n), -decay, -prior, method="highs", options=options)
    return prior - result.x if result.status == 0 else None


def _price_all(pricing: _Pricing, costs: Floats, prices: Floats, mirror: Places | None) -> tuple[float, Floats] | None:
    """What the cheapest column of any guess costs, and the cheapest of each guess; None if time ran out."""
    n = len(prices)
    cheapest, found = np.inf, np.zeros((n, n))
    for k in range(n if mirror is None else (n + 1) // 2):
        priced = pricing(k, costs[:, k] - prices)
        if priced is None:
            return None
        cheapest, found[:, k] = min(cheapest, priced[0]), priced[1]
        if mirror is not None and 2 * k + 1 != n:
            pricing.duals[:, :, n - 1 - k] = pricing.duals[::-1, mirror, k]
            found[:, n - 1 - k] = priced[1][::-1]
    return cheapest, found


class _Solver:
    """A HiGHS model that is solved again and again, each time from its last basis and until a deadline at most."""

    def __init__(self, deadline: float) -> None:
        import highspy

        self.deadline, self.solver = deadline, highspy.Highs()
        self.optimal = highspy.HighsModelStatus.kOptimal
        self.solver.silent()
        for name, value in TIGHT.items():
            self.solver.setOptionValue(name, value)

    def run(self) -> bool:
        """Whether it was solved in time: by the simplex method, or by interior points where that fails."""
        for method in ("simplex", "ipm"):
            left = self.deadline - time.monotonic()
            if left <= 0:
                return False
            self.solver.setOptionValue("solver", method)
            self.solver.setOptionValue("time_limit", self.solver.getRunTime() + left)  # HiGHS counts all its runs
            self.solver.run()
            if self.solver.getModelStatus() == self.optimal:
                # From now on primal: what changes, costs or more columns, leaves the last solution feasible.
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
        """How many columns are known."""
        return self.columns.shape[1]

    def add(self, columns: Floats, guesses: Places, costs: Floats) -> None:
        """Add columns, each with the guess it stands for."""
        n, m = columns.shape
        price = (columns * costs[:, guesses]).sum(axis=0)
        starts, places = np.arange(m, dtype=np.int32) * n, np.tile(np.arange(n, dtype=np.int32), m)
        values = np.ascontiguousarray(columns.T).ravel()
        self.solver.addCols(m, price, np.zeros(m), np.full(m, np.inf), n * m, starts, places, values)
        self.columns, self.guesses = np.column_stack([self.columns, columns]), np.append(self.guesses, guesses)

    def solve(self) -> bool:
        """Shares, dual prices and the cost of the best mixture; false if the solver did not finish."""
        if not self.run():
            return False
        found = self.solver.getSolution()
        self.shares, self.prices = np.maximum(np.array(found.col_value), 0.0), np.array(found.row_dual)
        self.value = float(self.solver.getInfo().objective_function_value)
        return True

    def mixture(self) -> Floats | None:
        """The best mixture found as a mechanism; None before the first."""
        if not self.shares.size:
            return None
        n, m = len(self.columns), len(self.shares)
        matrix = np.zeros((n, n))
        np.add.at(matrix.T, self.guesses[:m], (self.shares * self.columns[:, :m]).T)
        return held(np.asarray(matrix / matrix.sum(axis=1, keepdims=True)), matrix > 0)


class _Pricing(_Solver):
    """The cheapest column of K for one guess; one model, whose costs change, and a basis kept for every guess."""

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
        """The least cost of a column that adds up to 1, and that column; its dual prices are kept. None: no time."""
        if k in self.bases:
            self.solver.setBasis(self.bases[k])
        self.solver.changeColsCost(self.n, np.arange(self.n, dtype=np.int32), costs)
        if not self.run():
            return None
        self.bases[k] = self.solver.getBasis()
        found = self.solver.getSolution()
        duals = np.maximum(-np.array(found.row_dual[:-1]), 0.0) * self.scale
        self.duals[:, :, k] = duals.reshape(2, self.m)
        return float(self.solver.getInfo().objective_function_value), np.maximum(np.array(found.col_value), 0.0)


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
