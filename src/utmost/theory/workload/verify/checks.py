"""Verifier of workloads: recomputed variances of sums of cells, tables and trees, and a lower bound on them.

The bound is the dual of the best factorisation. For wanted numbers W x of disjoint cells x and any weights L on the
cells that add up to 1, no Gaussian noise on linear functions of the cells estimates them with a smaller total variance
than gamma^2 = (tr (L^(1/2) W'W L^(1/2))^(1/2))^2 at mu = 1; for tables and trees weights are equal. No mechanism at
all, Gaussian or not, has less than gamma^2 times the least variance of a real noise that hides a shift of one
(`least_variance`): averaged over all tables, the error along any direction is such a noise. Proofs in docs/theory.md,
"Many numbers at once".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from utmost.errors import InvalidInput
from utmost.mechanism.noise.lattice import IndependentLaw, NoisyVector
from utmost.mechanism.noise.tables import NoisyTables
from utmost.privacy import ZCDP, ApproxDP, GaussianDP, Level
from utmost.space.integers import CentredTables, Lattice, Strategy, Tables
from utmost.theory.vector.verify.coordinate import NEGLIGIBLE, ROUNDING, coordinate_bound, equal_error_rates
from utmost.theory.verify_evidence import MARGIN, Evidence, Outcome, check_lower_bound, check_value
from utmost.theory.workload.hierarchy_algebra import Tree, read_tree, sizes
from utmost.theory.workload.least_squares import Sums, number_of_sums, require_sums, sum_products
from utmost.theory.workload.marginal_algebra import Columns, Shape, cells, closure, read_strategy, read_workload
from utmost.theory.workload.prefix_noise import CarriedLaw, mean_variance_of_counts
from utmost.theory.workload.problem import grain_of, hierarchy_variance, mean_variance

VARIANCE = "has a mean variance below", "has"
"""How the certificate's sentence continues for every private mechanism, and for this one."""
LARGEST, MOST_LEAVES, MOST_MOVES, MOST_CELLS = 700.0, 600, 10**6, 1000
LOWERED = 1e-12


def marginal_optimum(shape: Shape, published: tuple[Columns, ...]) -> float:
    """gamma^2 for marginal tables: the total variance of the best Gaussian factorisation at mu = 1.

    W'W is a sum of projections: on the part of a set B of columns, of dimension d = prod (n_i - 1), it is N times the
    sum of 1/n_A over the wanted tables A above B (N cells in all). So gamma^2 = (sum over B of d (sum 1/n_A)^(1/2))^2.

    Examples
    --------
    >>> round(marginal_optimum((2, 3, 4), ((0, 1), (0, 2), (1, 2))), 9)
    50.850421013
    """
    total = math.fsum(
        math.prod(shape[i] - 1 for i in part)
        * math.sqrt(math.fsum(1 / cells(shape, table) for table in published if set(part) <= set(table)))
        for part in closure(published)
    )
    return total**2


def largest_divergence(level: Level) -> float:
    """The largest chi-square divergence between neighbours that a level allows; infinite where there is no bound."""
    if isinstance(level, ApproxDP) and level.delta == 0 and level.log_growth < LARGEST:
        return 4 * math.sinh(level.log_growth / 2) ** 2
    if isinstance(level, GaussianDP) and float(level.mu) ** 2 < LARGEST:
        return math.expm1(float(level.mu) ** 2)
    if isinstance(level, ZCDP) and 2 * float(level.rho) < LARGEST:
        return math.expm1(2 * float(level.rho))
    return math.inf


def least_variance(level: Level) -> float:
    """A lower bound on the second moment of real noise that hides a shift of one at a level.

    The larger of two. *Chapman and Robbins*: one over the largest chi-square divergence. *Tails*, at every level: m
    moves hide a shift of m, so |noise| is at least m/2 with probability at least 2e, where m moves take e to 1 - e; the
    second moment is at least the sum over m of (m^2 - (m - 1)^2)/4 times that.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> round(least_variance(GaussianDP("0.01")) * 1e-4, 3), round(least_variance(ApproxDP(1, "1e-6")), 3)
    (1.0, 1.483)
    >>> round(least_variance(PureDP(1)), 3)                                      # geometric noise has 1.841
    1.483
    """
    divergence = largest_divergence(level)
    if divergence == 0:
        return math.inf  # under perfect privacy nothing is learned
    chapman_robbins, start, length = 1 / divergence, 1, 512
    total = 0.0
    while start < MOST_MOVES:
        moves = np.arange(start, start + length)
        errors = equal_error_rates(level, moves)
        total += float((2 * moves - 1) @ errors) / 2
        if errors[-1] < NEGLIGIBLE:
            break
        start, length = start + length, 2 * length
    return max(chapman_robbins, total * (1 - ROUNDING))


def workload_bound(problem: Any, evidence: Evidence) -> float:
    """Lower bound on the mean variance of marginal tables."""
    shape, published = read_workload(problem.data.get("workload"))
    numbers = sum(cells(shape, table) for table in published)
    return _variance_bound(marginal_optimum(shape, published) / numbers, problem)


def _variance_bound(gamma: float, problem: Any) -> float:
    """Lower bound on a mean variance from that of Gaussian factorisations at mu = 1, for neighbours that are rows."""
    space = problem.space
    if not isinstance(space, Tables | CentredTables):
        raise InvalidInput("a workload is answered by tables of counts.")
    reach = Fraction(space.reach, 1 if isinstance(space, CentredTables) else grain_of(problem.data))
    return gamma * float(reach) ** 2 * least_variance(problem.privacy)


def tree_optimum(tree: Tree) -> float:
    """A lower bound on gamma^2 for the counts of all nodes of a tree.

    Of a balanced tree with n_k nodes on level k, W'W has the eigenvalue N times the sum of 1/n_j over the levels j from
    k on, on a space of dimension n_k - n_(k-1) (N leaves). Of others its eigenvalues are computed, up to a few hundred
    leaves; above that, every number alone has a variance of at least 1.

    Examples
    --------
    >>> round(tree_optimum(((2,), (3, 3))), 9), round(tree_optimum(((10,), (20,) * 10)), 8)
    (13.991221987, 302.84881468)
    """
    many = sizes(tree)
    leaves = many[-1]
    if all(len(set(level)) == 1 for level in tree):
        roots = [math.sqrt(math.fsum(leaves / n for n in many[k:])) for k in range(len(many))]
        spaces = [n - previous for n, previous in zip(many, (0, *many), strict=False)]
        return math.fsum(d * root for d, root in zip(spaces, roots, strict=True)) ** 2 / leaves
    if leaves > MOST_LEAVES:
        return float(sum(many))
    squares, names = np.eye(leaves), np.arange(leaves)
    for children in reversed(tree):
        family = np.repeat(np.arange(len(children)), children)
        names = family[names]
        squares += names[:, None] == names[None, :]
    eigen = np.maximum(np.linalg.eigvalsh(squares), 0.0)
    return float(np.sqrt(eigen).sum()) ** 2 / leaves * (1 - MARGIN)


def hierarchy_bound(problem: Any, evidence: Evidence) -> float:
    """Lower bound on the mean variance of the counts of a hierarchy."""
    tree = read_tree(problem.data.get("workload"))
    return _variance_bound(tree_optimum(tree) / sum(sizes(tree)), problem)


def check_hierarchy(problem: Any, solved: Any) -> Outcome:
    """The dual of the best factorisation, by averaging over shifts and the least noise that hides one."""
    return _check(problem, solved, hierarchy_variance, hierarchy_bound)


def check_workload(problem: Any, solved: Any) -> Outcome:
    """The dual of the best factorisation, by averaging over shifts and the least noise that hides one."""
    space = problem.space
    if isinstance(space, CentredTables):
        shape, strategy = read_strategy(problem.data.get("strategy"))
        if space.shape != shape or space.tables != strategy or space.grain != grain_of(problem.data):
            raise InvalidInput("the released tables are not those that wanted ones are made of.")
    return _check(problem, solved, mean_variance, workload_bound)


def sums_optimum(cells: int, sums: Sums, evidence: Evidence) -> float:
    """A lower bound on gamma^2 for sums of neighbouring cells, by weights on the cells; equal ones without evidence.

    Eigenvalues are lowered by far more than their rounding errors.

    Examples
    --------
    >>> round(sums_optimum(10, "running", {}) / 10, 3)                       # by the best weights: 2.42157624
    2.244
    """
    if cells > MOST_CELLS:
        return 0.0
    weights = np.asarray(evidence.get("weights", np.ones(cells)))
    if weights.shape != (cells,) or weights.dtype.kind not in "if" or not (np.isfinite(weights) & (weights > 0)).all():
        raise InvalidInput("the dual of a factorisation has a weight above 0 for every cell.")
    shares = weights / weights.sum()
    eigen = np.linalg.eigvalsh(sum_products(cells, sums) * np.sqrt(np.outer(shares, shares)))
    lowered = np.maximum(eigen - LOWERED * eigen[-1], 0.0)
    return float(np.sqrt(lowered).sum()) ** 2 * (1 - MARGIN)


def strategy_bound(problem: Any, evidence: Evidence) -> float:
    """Lower bound on the mean variance of running counts, or of ranges.

    The larger of the dual bound and that of one number alone with the whole level spent on it.
    """
    cells, sums = _cells_of(problem)
    alone = coordinate_bound(Lattice(1, "any", cells.reach, cells.lower, cells.upper), problem.privacy, "squared")
    gamma = sums_optimum(cells.dimension, sums, evidence) / number_of_sums(cells.dimension, sums)
    return max(float(alone), gamma * cells.reach**2 * least_variance(problem.privacy))


def _cells_of(problem: Any) -> tuple[Lattice, Sums]:
    """The cells of a problem, and which sums of them it is about."""
    space = problem.space
    cells = space.cells if isinstance(space, Strategy) else space
    if not isinstance(cells, Lattice) or cells.moves not in ("any", "exchange"):
        raise InvalidInput("sums are of disjoint cells, each of which a row is in or not.")
    return cells, require_sums(problem.data.get("wanted", "running"))


def check_strategy(problem: Any, solved: Any) -> Outcome:
    """The variance of sums of cells from their least squares weights; the dual of the best factorisation."""
    space, mechanism, certificate = problem.space, solved.mechanism, solved.certificate
    _, sums = _cells_of(problem)
    if not isinstance(mechanism, NoisyVector) or not isinstance(mechanism.noise, IndependentLaw | CarriedLaw):
        raise InvalidInput("weighted sums of cells are answered with independent noise on each, cells with any.")
    if mechanism.noise.dimension != space.dimension or certificate.bound is None or certificate.claim != "bound":
        raise InvalidInput("the noise and the sums differ in number, or there is no bound.")
    value = mean_variance_of_counts(mechanism, space, sums)
    bound = min(strategy_bound(problem, certificate.evidence), value)
    check, gap = check_lower_bound(solved, value, bound, *VARIANCE)
    return (check_value(solved.value, value), check), gap


def _check(problem: Any, solved: Any, variance: Callable[..., float], lower: Callable[..., float]) -> Outcome:
    mechanism, certificate = solved.mechanism, solved.certificate
    if not isinstance(mechanism, NoisyTables) or not isinstance(problem.privacy, Level):
        raise InvalidInput("a workload is answered by noise on tables of counts.")
    value = variance(problem.data, mechanism)
    checks = (check_value(solved.value, value),)
    if certificate.claim != "bound" or certificate.bound is None:
        raise InvalidInput("noise on tables is proved by a bound.")
    bound = lower(problem, certificate.evidence)
    check, gap = check_lower_bound(solved, value, bound, *VARIANCE)
    return (*checks, check), gap
