"""The region of regular priors: for whom one mechanism is best, and how much any private one can tell (REG)."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.design.finite.phi import nonnegative_solution, pure_levels, solve_phi
from utmost.edge_levels import Privacy
from utmost.errors import InvalidInput
from utmost.space import Space

Floats: TypeAlias = NDArray[np.float64]


def regularity(prior: Any, space: Space, privacy: Privacy) -> Floats | None:
    """Coefficients y >= 0 with prior = y Phi if the prior is epsilon-regular, else None (REG Def. of regular priors).

    Signs are proved; a prior is called irregular only if a coefficient is proved negative, or if Phi is singular and no
    non-negative coefficients exist.

    Examples
    --------
    >>> import utmost as um
    >>> um.finite.regularity([0.5, 0.5], um.path(2), um.PureDP.from_ratio(2)).round(6)
    array([0.333333, 0.333333])
    >>> um.finite.regularity([0.9, 0.1], um.path(2), um.PureDP.from_ratio(2)) is None
    True
    """
    levels, weights = pure_levels(space, privacy), space.as_prior(prior)
    solved = solve_phi(levels, weights)
    if solved is None:
        return nonnegative_solution(levels, weights)
    if solved.nonnegative is False:
        return None
    return np.maximum(solved.y, 0.0)


def corner_priors(space: Space, privacy: Privacy) -> Floats:
    """The corners of the region of regular priors: the rows of Phi, each divided by its sum (REG Prop. 4)."""
    phi = np.exp(-pure_levels(space, privacy).lengths())
    return np.asarray(phi / phi.sum(axis=1, keepdims=True))


def utility_bound(prior: Any, space: Space, privacy: Privacy) -> float:
    """What no private mechanism's probability of a right guess exceeds, for a regular prior: sum y (REG Theorem 1).

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


def leakage_bound(prior: Any, space: Space, privacy: Privacy) -> float:
    """What no private mechanism leaks, in bits, for a regular prior: log2(sum y / max prior) (REG Prop. 6)."""
    return math.log2(utility_bound(prior, space, privacy) / float(space.as_prior(prior).max()))
