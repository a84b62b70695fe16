"""Any sublinear utility of few letters: LIM's program over all 2^k patterns (Theorem 3.3.4), with its bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from utmost.design.local.alphabet import pure_level
from utmost.design.local.information import worst_sets
from utmost.design.local.mixture import best_mixture
from utmost.errors import InvalidInput, TooLarge, UnsupportedLevel
from utmost.exact import as_whole
from utmost.exact.arrays import Floats
from utmost.exact.citations import cites
from utmost.mechanism.patterns import offset
from utmost.solution import Certificate, Problem, Solution, proved_bound
from utmost.space.edge_levels import Privacy, on_edges
from utmost.space.families import complete

MOST_LETTERS = 20


@cites("LIM-theorem-3.3.4")
def linear_program(utility: Callable[[Any], Any], k: int, privacy: Privacy) -> Solution:
    """The local mechanism with the largest sum of utility(column) over its outputs, for any sublinear utility.

    Parameters
    ----------
    utility : callable
        Takes a column, the probabilities of one output at the k letters, or a matrix with a column per row, and returns
        its utility: homogeneous, u(2z) = 2u(z), and convex. Mutual information, f-divergences and expected gains are
        such sums.
    k : how many letters, at most 20
    privacy : PureDP or number, above 0 and finite

    Examples
    --------
    >>> import utmost as um
    >>> guessing = um.local.linear_program(lambda column: column.max(axis=-1) / 4, 4, 1.0)  # how often a guess is right
    >>> round(guessing.value, 6), round(1 - um.local.randomized_response(4, 1.0).expected_loss(), 6)
    (0.475367, 0.475367)
    """
    k, level = as_whole(k, "k", 1), pure_level(privacy)
    q = offset(level)
    if k > MOST_LETTERS:
        raise TooLarge(
            f"{k} letters have 2^{k} patterns; at most {MOST_LETTERS} here. See for_testing, for_information."
        )
    if not 0 < q < math.inf:
        raise UnsupportedLevel(f"{level} leaves no program to solve; give an epsilon above 0 and below infinity.")
    utilities = np.concatenate([_evaluate(utility, q + rows) for rows in _all_sets(k)])
    _refuse_others(utility, utilities, k, q)

    def worth(sets: Floats) -> Floats:
        return np.asarray(utilities[(sets @ 2.0 ** np.arange(k)).astype(np.int64) - 1])

    mixture = best_mixture(k, q, worth, lambda prices: worst_sets(utilities, k, q, prices))
    places = (mixture.sets @ 2.0 ** np.arange(k)).astype(np.int64) - 1
    value = float(mixture.shares @ utilities[places])
    space = complete(k)
    problem = Problem("local.patterns", space, on_edges(space, level), {"utilities": utilities})
    evidence = {"prices": mixture.prices, "shares": mixture.shares, "sets": places}
    bound = max(proved_bound(problem, evidence), value)
    certificate = Certificate(
        "bound",
        "LIM Theorem 3.3.4 and linear programming duality over all patterns",
        "sum of the utilities of all outputs",
        f"columns brought in from all {2**k - 1} patterns as their prices called for them",
        bound=bound,
        gap=bound - value,
        evidence=evidence,
    )
    return Solution(problem, mixture.mechanism(q), value, certificate)


def _all_sets(k: int, rows: int = 2**14) -> list[Floats]:
    """All sets of letters but the empty one, some thousands at a time."""
    numbers = np.arange(1, 2**k)
    return [
        ((numbers[start : start + rows, None] >> np.arange(k)) & 1).astype(float)
        for start in range(0, len(numbers), rows)
    ]


def _evaluate(utility: Callable[[Any], Any], columns: Floats) -> Floats:
    try:
        values = np.asarray(utility(columns), dtype=float)
    except (TypeError, ValueError, IndexError):
        values = np.zeros(0)
    if values.shape != (len(columns),):
        values = np.array([float(utility(column)) for column in columns])
    if not np.isfinite(values).all():
        raise InvalidInput("the utility of some pattern is not a finite number; give a finite utility.")
    return values


def _refuse_others(utility: Callable[[Any], Any], utilities: Floats, k: int, q: float) -> None:
    """Refuse a utility that is not sublinear on some pairs of patterns; a sample, not a proof."""
    pairs = np.random.default_rng(0).integers(1, 2**k, (64, 2))
    one, two = (np.asarray(q + ((pairs[:, i][:, None] >> np.arange(k)) & 1), dtype=float) for i in (0, 1))
    scale = 1e-9 * (np.abs(utilities).max() + 1e-300)
    if (np.abs(_evaluate(utility, 2 * one) - 2 * _evaluate(utility, one)) > scale).any():
        raise InvalidInput("the utility is not homogeneous: u(2z) is not 2u(z); give a sublinear utility.")
    if (_evaluate(utility, one + two) > _evaluate(utility, one) + _evaluate(utility, two) + scale).any():
        raise InvalidInput("the utility is not convex: u(y + z) exceeds u(y) + u(z); give a sublinear utility.")
