"""The linear program over all private mechanisms on a space, with (epsilon, delta) levels per edge.

Variables are the probabilities X (a row per point, a column per output); each ordered edge (i, h) asks
X_io <= E X_ho for every output o, or, with delta > 0, sum_o max(0, X_io - E X_ho) <= delta, by auxiliary variables.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from utmost.errors import SolverFailed
from utmost.exact.arrays import Floats, Integers
from utmost.mechanism.rounding import floor_of
from utmost.mechanism.violations import promise_excess
from utmost.space.edge_levels import EdgeLevels
from utmost.space.sparse import coo_array, csr_array, hstack, vstack
from utmost.theory.symmetry import Symmetry

MOST_MIXED = 1e-3
OUT_OF_TIME, INFEASIBLE = 1, 2
"""The status codes of SciPy's linprog for a time-out and for an infeasible program."""
FEW_ROWS = 6_000
"""Programs reduced by symmetry to at most this many rows are solved to a vertex."""
TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class Optimum(NamedTuple):
    """A mechanism in floating point, private within the solver's tolerance, and the dual prices of its constraints.

    `duals[d, e, o]` belongs to edge e in direction d (0: its first end against its second) and output o; `favoured` is
    the prior under which the worst case is an average (zeros where no worst case was asked for).
    """

    matrix: Floats
    duals: Floats
    favoured: Floats


def best_mechanism(
    levels: EdgeLevels,
    gains: Floats,
    fixed: dict[int, Floats] | None = None,
    at_least: list[tuple[Floats, float]] | None = None,
    worst: Floats | None = None,
    seconds: float = math.inf,
    interior: bool = False,
    symmetry: Symmetry | None = None,
) -> Optimum:
    """The private mechanism X that maximises sum(gains·X), with some rows fixed and lower bounds on other sums.

    With a table of losses as `worst`, the one with the least loss at its worst point instead. `SolverFailed` after
    `seconds` without a result. With `interior` the solver stops at the interior point, which for thousands of rows
    takes a tenth of the time of a vertex and is optimal up to the solver's tolerance. Under a `symmetry`, every class
    is one variable or one row; `fixed` and `at_least` must then be empty.
    """
    n, k = gains.shape
    if not gains.size:
        return Optimum(gains, np.zeros((2, len(levels), k)), np.zeros(n))
    private = _privacy(levels, n, k)
    upper, limits, variables = private.upper, private.limits, private.upper.shape[1]
    for weights, least in at_least or []:
        line = np.zeros(variables)
        line[: n * k] = -weights.ravel()
        upper, limits = vstack([upper, csr_array(line[None, :])]).tocsr(), np.append(limits, -least)
    sums = coo_array((np.ones(n * k), (np.repeat(np.arange(n), k), np.arange(n * k))), shape=(n, variables)).tocsr()
    bounds = np.column_stack([np.zeros(variables), np.ones(variables)])
    for i, values in (fixed or {}).items():
        bounds[i * k : (i + 1) * k] = np.repeat(values[:, None], 2, axis=1)
    cost = np.concatenate([-gains.ravel(), np.zeros(variables - n * k)])
    if worst is not None:  # one more variable, at least the loss at every point
        losses = coo_array((worst.ravel(), (np.repeat(np.arange(n), k), np.arange(n * k))), shape=(n, variables))
        upper, limits = vstack([upper, losses]), np.concatenate([limits, np.zeros(n)])
        last = np.concatenate([np.zeros(len(limits) - n), -np.ones(n)])[:, None]
        upper, sums = hstack([upper, csr_array(last)]).tocsr(), hstack([sums, csr_array((n, 1))]).tocsr()
        bounds = np.vstack([bounds, [worst.min(initial=0.0), worst.max(initial=0.0)]])
        cost = np.append(np.zeros(variables), 1.0)
    program = _Program(cost, upper, limits, sums, bounds)
    classes = None if symmetry is None else _classes_of_program(symmetry, private, k, worst is not None)
    x, marginals = _solve_program(program, classes, n, k, seconds, interior)
    duals = private.duals(marginals, k)
    matrix = np.clip(x[: n * k].reshape(n, k), 0.0, 1.0)
    favoured = np.zeros(n)
    if worst is not None:
        favoured = np.maximum(-marginals[len(limits) - n :], 0.0)
        if not favoured.sum() > 0:  # nothing is lost anywhere: any prior shows that
            favoured = np.ones(n)
        duals, favoured = duals / favoured.sum(), favoured / favoured.sum()
    return Optimum(matrix / matrix.sum(axis=1, keepdims=True), duals.reshape(2, len(levels), k), favoured)


class _Program(NamedTuple):
    """The least cost @ x with upper @ x <= limits, sums @ x = 1, and every x within its two bounds."""

    cost: Floats
    upper: Any
    limits: Floats
    sums: Any
    bounds: Floats


class _Classes(NamedTuple):
    """The class of every variable, of every row of `upper`, and of every row of `sums`."""

    variables: Integers
    rows: Integers
    points: Integers


def _classes_of_program(symmetry: Symmetry, private: _Privacy, k: int, worst: bool) -> _Classes:
    """The classes of all variables and rows, those for deltas and for the worst point included."""
    spares = symmetry.entries.max() + 1 + symmetry.rows.reshape(-1, k)[private.loose].ravel()
    first = symmetry.rows.reshape(-1, k)[private.bounded].ravel()
    budgets = symmetry.rows.max() + 1 + symmetry.arcs[private.loose]
    rows, variables = np.concatenate([first, budgets]), np.concatenate([symmetry.entries, spares])
    if worst:
        rows = np.concatenate([rows, symmetry.rows.max() + 2 + symmetry.arcs.max() + symmetry.points])
        variables = np.append(variables, variables.max() + 1)
    return _Classes(variables, rows, symmetry.points)


def _solve_program(
    program: _Program, classes: _Classes | None, n: int, k: int, seconds: float, interior: bool
) -> tuple[Floats, Floats]:
    """The variables at the optimum and the dual prices of the rows of `upper`; one variable per class if given any."""
    from scipy.optimize import OptimizeWarning, linprog

    cost, upper, limits, sums, bounds = program
    rows = variables = None
    if classes is not None:
        _, first, variables = np.unique(classes.variables, return_index=True, return_inverse=True)
        _, row_of_class, rows, size = np.unique(
            classes.rows, return_index=True, return_inverse=True, return_counts=True
        )
        points = np.unique(classes.points, return_index=True)[1]
        members = coo_array((np.ones(len(variables)), (np.arange(len(variables)), variables))).tocsr()
        cost, upper, limits = members.T @ cost, upper[row_of_class] @ members, limits[row_of_class]
        sums, bounds = sums[points] @ members, bounds[first]
    options: dict[str, Any] = {**TIGHT, "time_limit": seconds}
    result = None
    if interior and (classes is None or len(limits) > FEW_ROWS):  # a vertex of a small one is found as fast, reliably
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OptimizeWarning)  # SciPy does not know the option, and hands it on
            no_crossover = options | {"run_crossover": "off"}
            result = linprog(
                cost, upper, limits, sums, np.ones(sums.shape[0]), bounds, "highs-ipm", options=no_crossover
            )
    if result is None or (result.x is None and result.status not in (OUT_OF_TIME, INFEASIBLE)):
        result = linprog(cost, upper, limits, sums, np.ones(sums.shape[0]), bounds, "highs", options=options)
    _require_solved(result, n, k, seconds)
    if rows is None or variables is None:
        return result.x, result.ineqlin.marginals
    return result.x[variables], (result.ineqlin.marginals / size)[rows]


def _require_solved(result: Any, n: int, k: int, seconds: float) -> None:
    """Raise `SolverFailed` if there is no solution."""
    if result.status == OUT_OF_TIME:
        raise SolverFailed(
            f"the linear program over mechanisms of {n} points and {k} outputs was not solved in {seconds:g} seconds; "
            "allow more seconds or use fewer points."
        )
    if result.x is None:
        message = f"the linear program over mechanisms failed: {result.message}"
        raise SolverFailed(message, infeasible=result.status == INFEASIBLE)


@dataclass(frozen=True)
class _Privacy:
    """Privacy as inequalities `upper` @ x <= `limits`; those of edges and outputs come first.

    Attributes
    ----------
    upper : sparse array
        The coefficients.
    limits : array of float
        The right-hand sides.
    bounded : array of int
        The ordered edges, of 2m, with a finite epsilon.
    loose : array of int
        Those of them with a delta above 0, and so with slack variables.
    scale : array of float
        The factor that scales the inequalities of each ordered edge, so that no coefficient is above 1.
    """

    upper: Any
    limits: Floats
    bounded: Integers
    loose: Integers
    scale: Floats

    def duals(self, marginals: Floats, k: int) -> Floats:
        """The weights of X_io - E X_ho on every ordered edge, from those of the scaled inequalities."""
        weights_by_edge = np.zeros((len(self.scale), k))
        weights = np.maximum(-marginals[: len(self.bounded) * k].reshape(-1, k), 0.0)
        weights_by_edge[self.bounded] = weights * self.scale[self.bounded, None]
        return weights_by_edge


def _privacy(levels: EdgeLevels, n: int, k: int) -> _Privacy:
    """The inequalities X_io <= E X_ho + s_o of every ordered edge, where the slacks s of an edge add up to delta."""
    a, b = levels.space.edge_indices.T
    tails, heads = np.concatenate([a, b]), np.concatenate([b, a])
    growth, delta = np.tile(levels.growth, 2), np.tile(levels.delta, 2)
    bounded = np.flatnonzero(np.isfinite(growth))
    growth = np.where(np.isinf(growth), 1.0, growth)  # no constraint: not among the bounded
    loose = bounded[delta[bounded] > 0]
    scale = 1 / np.maximum(growth, 1.0)
    row = np.arange(len(bounded) * k)
    tail = (tails[bounded, None] * k + np.arange(k)).ravel()
    head = (heads[bounded, None] * k + np.arange(k)).ravel()
    own, other = np.repeat(scale[bounded], k), np.repeat((growth * scale)[bounded], k)
    extra = np.full(len(tails), -1)
    extra[loose] = np.arange(len(loose))
    spare = np.repeat(extra[bounded], k)
    with_spare = np.flatnonzero(spare >= 0)
    variables = n * k + len(loose) * k
    slack_column = n * k + spare[with_spare] * k + np.tile(np.arange(k), len(bounded))[with_spare]
    entries = np.concatenate([own, -other, -own[with_spare]])
    where = (np.concatenate([row, row, with_spare]), np.concatenate([tail, head, slack_column]))
    upper: Any = csr_array(coo_array((entries, where), shape=(len(row), variables)))
    limits = np.zeros(len(row))
    if len(loose):
        budget = coo_array(
            (np.ones(len(loose) * k), (np.repeat(np.arange(len(loose)), k), n * k + np.arange(len(loose) * k))),
            shape=(len(loose), variables),
        )
        upper, limits = vstack([upper, budget]).tocsr(), np.concatenate([limits, delta[loose]])
    return _Privacy(upper, limits, bounded, loose, scale)


class Cuts(NamedTuple):
    """An optimum at levels of any concave kind, and the tangents that made up its linear program.

    `optimum.duals[d, c, o]` belongs to cut c: the edge `edges[c]` with a tangent of slope `slopes[c]`.
    """

    optimum: Optimum
    edges: Integers
    slopes: Floats


def best_by_tangents(
    levels: EdgeLevels,
    gains: Floats,
    fixed: dict[int, Floats] | None = None,
    at_least: list[tuple[Floats, float]] | None = None,
) -> Cuts:
    """`best_mechanism` at curved levels, by cutting planes: tangents are (epsilon, delta) levels that they imply.

    The program is a relaxation, so its value bounds every private mechanism. By how much it violates the levels after
    the last round is small, and removed by `mix_until_private`.
    """
    m, several = len(levels), np.array([0.003, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5])
    edges: Integers = np.zeros(0, dtype=np.int64)
    slopes = np.zeros(0)
    for number in np.unique(levels.numbers()).tolist():
        members = np.flatnonzero(levels.numbers() == number)
        first = np.unique(np.maximum(levels[int(members[0])].tangent(several), 1.0))
        edges = np.concatenate([edges, np.repeat(members, len(first))])
        slopes = np.concatenate([slopes, np.tile(first, len(members))])
    a, b = levels.space.edge_indices.T
    for rounds in range(MOST_ROUNDS):
        optimum = best_mechanism(levels.tangents(edges, slopes), gains, fixed, at_least)
        new = [_broken(levels, optimum.matrix[i], optimum.matrix[j]) for i, j in ((a, b), (b, a))] if m else []
        violations = [(where, slope) for where, slope in new if len(where)]
        if not violations or len(edges) > MOST_CUTS or rounds == MOST_ROUNDS - 1:
            break
        edges = np.concatenate([edges, *(where for where, _ in violations)])
        slopes = np.concatenate([slopes, *(slope for _, slope in violations)])
    return Cuts(optimum, edges, slopes)


def _broken(levels: EdgeLevels, here: Floats, there: Floats) -> tuple[Integers, Floats]:
    """The edges whose level is violated by some set of outputs with the largest likelihood ratios; tangents there."""
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-np.where(there > 0, here / there, np.where(here > 0, np.inf, 0.0)), axis=1)
    p = np.minimum(np.cumsum(np.take_along_axis(here, order, axis=1), axis=1), 1.0)
    q = np.minimum(np.cumsum(np.take_along_axis(there, order, axis=1), axis=1), 1.0)
    everywhere = np.arange(len(levels))
    excess = np.column_stack([p[:, j] - levels.upper(everywhere, q[:, j]) for j in range(p.shape[1])])
    broken, event = np.nonzero(excess > BROKEN)
    at = np.clip(q[broken, event], 1e-9, 1 - 1e-9)
    slopes = [float(levels[int(e)].tangent(np.array([x]))[0]) for e, x in zip(broken, at, strict=True)]
    return broken, np.array([max(s, 1 / s) if s > 0 else 1.0 for s in slopes])


MOST_ROUNDS, MOST_CUTS, BROKEN = 40, 20_000, 1e-10
"""The largest numbers of rounds and of tangents; the violation above which a tangent is added."""


def mix_until_private(matrix: Floats, levels: EdgeLevels) -> tuple[Floats, float]:
    """(1 - eta) X + eta u per component, with the least eta that removes the solver's violations; and the change."""
    floors = floor_of(matrix, levels.space.components)
    a, b = levels.space.edge_indices.T
    eta = 0.0
    while True:
        mixed = (1 - eta) * matrix + eta * floors
        worst = max(promise_excess(mixed[i], mixed[j], levels).max(initial=-1.0) for i, j in ((a, b), (b, a)))
        if eta > MOST_MIXED:
            raise SolverFailed("the solver's answer is too far from private to be mended; try a level nearer to 1.")
        if worst <= 2.0**-44:
            return mixed / mixed.sum(axis=1, keepdims=True), float(np.abs(mixed - matrix).max(initial=0.0))
        eta = 1e-13 if eta == 0 else 2 * eta
