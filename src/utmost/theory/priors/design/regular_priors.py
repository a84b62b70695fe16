"""The region of regular priors, for which one mechanism is best, and bounds on utility and leakage (REG)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from utmost.errors import InvalidInput, TooLarge
from utmost.exact.arrays import Floats
from utmost.exact.citations import cites
from utmost.mechanism.certification import Check
from utmost.mechanism.decaying_columns import has_structure, row_sums
from utmost.privacy import ApproxDP
from utmost.space import Space
from utmost.space.edge_levels import EdgeLevels, Privacy, on_edges
from utmost.space.family import Hamming
from utmost.theory.priors.design.phi import SECONDS, Solved, pure_levels, require_time, solve_phi
from utmost.theory.priors.design.singular import nonnegative_solution
from utmost.theory.priors.design.structured import solve_for_prior
from utmost.theory.priors.design.tight import MOST_DENSE, column_peaks, tight_constraints

SLACK = 1e-12
"""The relative rounding error of a ratio of probabilities that is tolerated."""
UNDECIDED = 1e-9
"""Negative coefficients within rounding count as 0 up to this sum, the gap that a proof may have."""


@cites("REG-proposition-4")
def regularity(prior: Any, space: Space, privacy: Privacy, seconds: float = SECONDS) -> Floats | None:
    """Coefficients y >= 0 with prior = y Phi if the prior is epsilon-regular, else None (REG Def. of regular priors).

    Signs are proved; a prior is called irregular only if a coefficient is proved negative, by more than the rounding of
    the prior's own floats can explain, or if Phi is singular and it is proved in rationals that no coefficients exist.
    On counts, sums, grids, cycles and databases no matrix is formed, so a million results are feasible; `TooLarge`
    beyond that, and where the signs of large coefficients depend on rounding.

    Parameters
    ----------
    prior : mapping, array or callable
        A distribution over the points; None is uniform.
    space : Space
        The results and their adjacency.
    privacy : PureDP, number or EdgeLevels
        A pure level, or pure levels per edge.
    seconds : float
        The time limit: `TooLarge` for so many results of a space without structure that the matrix takes longer.

    Examples
    --------
    >>> import utmost as um
    >>> um.finite.regularity([0.5, 0.5], um.path(2), um.PureDP.from_ratio(2)).round(6)
    array([0.333333, 0.333333])
    >>> um.finite.regularity([0.9, 0.1], um.path(2), um.PureDP.from_ratio(2)) is None
    True
    """
    levels, weights = pure_levels(space, privacy), space.as_prior(prior)
    solved, uncertainty = _coefficients(levels, weights, seconds)
    if solved is None or (solved.nonnegative is False and (solved.y < -uncertainty).any()):
        return None
    if math.fsum(np.maximum(-solved.y, 0.0)) > UNDECIDED:
        raise TooLarge(
            f"whether this prior is regular cannot be decided: its coefficients reach {np.abs(solved.y).max():.2g} "
            "and cancel, so that the rounding of its own floats decides. Take the uniform prior, or a larger epsilon."
        )
    return np.maximum(solved.y, 0.0)


def _coefficients(levels: EdgeLevels, weights: Floats, seconds: float) -> tuple[Solved | None, Floats]:
    """Coefficients y with prior = y Phi, and their uncertainty from the rounding of the prior's floats.

    None if Phi is singular and no non-negative coefficients exist.
    """
    n, zeros = len(weights), np.zeros(len(weights))
    if n and bool((weights == weights[0]).all()):  # then y = z / n, which the structure of a space may give
        z = column_peaks(levels, seconds)
        return Solved(z.y / n, z.signs), zeros
    if isinstance(levels.single, ApproxDP):
        solution_and_uncertainty = solve_for_prior(levels.space, levels.single, weights, MOST_DENSE)
        if solution_and_uncertainty is not None:
            return solution_and_uncertainty
    require_time(n, seconds)
    solved = solve_phi(levels, weights)
    if solved is None:
        return nonnegative_solution(levels, weights), zeros
    if n > MOST_DENSE:
        return solved, zeros
    try:
        inverse = np.linalg.inv(np.exp(-levels.lengths()))
    except np.linalg.LinAlgError:
        return solved, zeros
    return solved, np.asarray(np.abs(inverse) @ weights * 2.0**-51)


@cites("REG-proposition-4")
def corner_shares(prior: Any, space: Space, privacy: Privacy) -> Floats | None:
    """A regular prior as a convex combination of corners: shares gamma with prior = gamma C (REG Prop. 4).

    Parameters
    ----------
    prior : mapping, array or callable
        A distribution over the points; None is uniform.
    space : Space
        The results and their adjacency.
    privacy : PureDP, number or EdgeLevels
        A pure level, or pure levels per edge.

    Returns
    -------
    array or None
        One share for each row of `corner_priors`; None if the prior is not regular.

    Examples
    --------
    >>> import utmost as um
    >>> gamma = um.finite.corner_shares([0.4, 0.3, 0.3], um.path(3), um.PureDP.from_ratio(2))
    >>> gamma.round(6)
    array([0.583333, 0.066667, 0.35    ])
    >>> (gamma @ um.finite.corner_priors(um.path(3), um.PureDP.from_ratio(2))).round(6)
    array([0.4, 0.3, 0.3])
    """
    y = regularity(prior, space, privacy)
    if y is None:
        return None
    level = pure_levels(space, privacy).single
    if isinstance(level, ApproxDP) and has_structure(space):  # no matrix is formed
        return np.multiply(y, row_sums(space, level, np.ones(len(y))))
    return np.asarray(y * privacy_constraints(space, privacy).sum(axis=1))


def privacy_constraints(space: Space, privacy: Privacy) -> Floats:
    """The privacy-constraints matrix Phi_ij = e^(-epsilon d(i, j)) of a space (REG Definition 4).

    With levels per edge, epsilon d(i, j) is the least sum of epsilons along a path; entries between points that no path
    joins are 0.

    Examples
    --------
    >>> import utmost as um
    >>> um.finite.privacy_constraints(um.path(3), um.PureDP.from_ratio(2))
    array([[1.  , 0.5 , 0.25],
           [0.5 , 1.  , 0.5 ],
           [0.25, 0.5 , 1.  ]])
    """
    return np.asarray(np.exp(-pure_levels(space, privacy).lengths()))


@cites("REG-proposition-4")
def corner_priors(space: Space, privacy: Privacy) -> Floats:
    """The corners of the region of regular priors: the rows of Phi, each divided by its sum (REG Prop. 4)."""
    phi = privacy_constraints(space, privacy)
    return np.asarray(phi / phi.sum(axis=1, keepdims=True))


@cites("REG-proposition-2", "REG-proposition-3")
def necessary_conditions(prior: Any, space: Space, privacy: Privacy) -> tuple[Check, Check]:
    """Necessary conditions of a regular prior: ratios along edges (REG Prop. 2) and a range at each point (Prop. 3).

    A prior that fails one is not regular; one that passes both need not be. A check fails only beyond rounding.

    Examples
    --------
    >>> import utmost as um
    >>> for check in um.finite.necessary_conditions([0.6, 0.2, 0.2], um.path(3), 1.0):
    ...     print(check)
    FAIL ratios: 0 is 3 times as likely as its neighbour 1, more than e^1 allows
    ok   range: every probability lies between 1 / sum e^(eps d) and 1 / sum e^(-eps d)
    """
    levels, weights = pure_levels(space, privacy), space.as_prior(prior)
    return _ratios(levels, weights), _range(levels, weights)


def _ratios(levels: EdgeLevels, weights: Floats) -> Check:
    """REG Prop. 2: pi_i <= e^(eps d(i, j)) pi_j; it suffices along edges."""
    a, b = levels.space.edge_indices.T
    tails, heads = np.concatenate([a, b]), np.concatenate([b, a])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(weights[tails] > 0, weights[tails] / weights[heads], 0.0)
    allowed = np.tile(levels.growth, 2)
    worst = int(np.argmax(ratio / allowed)) if len(ratio) else 0
    if len(ratio) and ratio[worst] > allowed[worst] * (1 + SLACK):
        points, epsilon = levels.space.points, levels.log_growth()[worst % len(a)]
        one, other = points[int(tails[worst])], points[int(heads[worst])]
        times = f"{one!r} is {ratio[worst]:.6g} times as likely as its neighbour {other!r}"
        return Check("ratios", False, f"{times}, more than e^{epsilon:.6g} allows")
    return Check("ratios", True, "no point is more than e^eps times as likely as a neighbour")


def _range(levels: EdgeLevels, weights: Floats) -> Check:
    """REG Prop. 3: 1 / sum_j e^(eps d(i, j)) <= pi_i <= 1 / sum_j e^(-eps d(i, j))."""
    lengths = levels.lengths()
    with np.errstate(over="ignore"):
        least, most = 1 / np.exp(lengths).sum(axis=1), 1 / np.exp(-lengths).sum(axis=1)
    outside = np.maximum(least * (1 - SLACK) - weights, weights - most * (1 + SLACK))
    if len(outside) and outside.max() > 0:
        i = int(np.argmax(outside))
        where = f"{weights[i]:.6g} at {levels.space.points[i]!r} is not between {least[i]:.6g} and {most[i]:.6g}"
        return Check("range", False, where)
    return Check("range", True, "every probability lies between 1 / sum e^(eps d) and 1 / sum e^(-eps d)")


@cites("REG-theorem-1", "REG-lemma-2")
def utility_bound(prior: Any, space: Space, privacy: Privacy) -> float:
    """Upper bound on the probability of a right guess for a regular prior: sum y (REG Theorem 1).

    Examples
    --------
    >>> import utmost as um
    >>> round(um.finite.utility_bound(None, um.path(2), um.PureDP.from_ratio(3)), 9)
    0.75
    """
    y = regularity(prior, space, privacy)
    if y is None:
        raise InvalidInput("the prior is not regular at this level, so the bound does not apply; use finite.optimal.")
    return math.fsum(y)


@cites("REG-proposition-5", "REG-proposition-6")
def leakage_bound(prior: Any, space: Space, privacy: Privacy) -> float:
    """Upper bound on the leakage in bits for a regular prior: log2(sum y / max prior) (REG Prop. 6)."""
    if not len(space.points):
        return 0.0
    return math.log2(utility_bound(prior, space, privacy) / float(space.as_prior(prior).max()))


@cites("REG-corollary-1", "REG-theorem-2")
def leakage_bound_for_all(space: Space, privacy: Privacy) -> float:
    """Upper bound on the leakage of private mechanisms, in bits, for every prior: log2(n sum y) of the uniform one.

    REG Corollary 1.

    On the databases of u people with values in V this is u log2(|V| E / (|V| - 1 + E)), E = e^epsilon (REG Theorem 2).
    The uniform prior must be regular, which it is wherever every point looks like every other.

    Examples
    --------
    >>> import utmost as um
    >>> round(um.finite.leakage_bound_for_all(um.hamming(5, 4), 0.5), 6)      # REG Figure 4: at most 2.5 bits
    2.522568
    """
    level = on_edges(space, privacy).single
    if isinstance(space.family, Hamming) and isinstance(level, ApproxDP):
        pure_levels(space, level)
        people, v = space.family.people, space.family.many_values
        if not people or not v:
            return 0.0
        return people * (math.log2(v) - math.log2(1 + (v - 1) * math.exp(-level.log_growth)))
    if not len(space.points):
        return 0.0
    return math.log2(len(space.points) * (1 - tight_constraints(space, privacy).value))
