"""The optimal local mechanism for any sublinear utility of few letters: LIM's program over all 2^k patterns (3.3.4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from utmost.errors import InvalidInput, SolverFailed, TooLarge, UnsupportedLevel
from utmost.exact import as_whole
from utmost.exact.arrays import Floats
from utmost.exact.citations import cites
from utmost.mechanism import FiniteMechanism
from utmost.privacy import ApproxDP
from utmost.solution import Problem, Solution, certificate_of, proved_bound
from utmost.space.edge_levels import Privacy, on_edges
from utmost.space.families import complete
from utmost.theory.linear_program import TIGHT
from utmost.theory.local.design.alphabet import pure_level
from utmost.theory.local.design.information import worst_sets
from utmost.theory.local.design.mixture import Mixture, best_mixture
from utmost.theory.local.patterns import offset

MOST_LETTERS, MOST_LETTERS_OF_SEVERAL = 20, 12


@cites("LIM-theorem-3.3.4")
def linear_program(
    utility: Callable[[Any], Any] | Sequence[Callable[[Any], Any]], k: int, privacy: Privacy
) -> Solution[FiniteMechanism]:
    """The local mechanism with the largest sum of utility(column) over its outputs, for any sublinear utility.

    Splitting a column into patterns of {1, e^eps} decreases no sublinear utility (LIM Theorem 3.3.2), so the same
    program also finds the mechanism that maximises the *least* of several utilities.

    Parameters
    ----------
    utility : callable or list of callables
        Takes a column, the probabilities of one output at the k letters, or a matrix with a column per row, and returns
        its utility: homogeneous, u(2z) = 2u(z), and convex. Mutual information, f-divergences and expected gains are
        such sums. Of a list, the worst one counts.
    k : int
        How many letters, at most 20; at most 12 for a list.
    privacy : PureDP or number
        The level, above 0 and finite.

    Examples
    --------
    >>> import utmost as um
    >>> guessing = um.local.linear_program(lambda column: column.max(axis=-1) / 4, 4, 1.0)  # how often a guess is right
    >>> round(guessing.value, 6), round(1 - um.local.randomized_response(4, 1.0).expected_loss(), 6)
    (0.475367, 0.475367)

    Which of three hypotheses is true, guessed from one answer (average m-ary testing):

    >>> import numpy as np
    >>> laws = np.array([[0.6, 0.2, 0.1, 0.1], [0.1, 0.6, 0.2, 0.1], [0.1, 0.1, 0.2, 0.6]])
    >>> right = um.local.linear_program(lambda column: (column @ laws.T / 3).max(axis=-1), 4, 1.0)
    >>> round(right.value, 6)  # 1/3 without an answer
    0.454725

    The least distortion (a reader of the answer names a letter, and pays its distance from the true one):

    >>> apart = np.abs(np.subtract.outer(range(4), range(4))) / 4
    >>> round(-um.local.linear_program(lambda column: -(column @ apart).min(axis=-1), 4, 1.0).value, 6)
    0.768941
    """
    k, level = as_whole(k, "k", 1), pure_level(privacy)
    q = offset(level)
    most = MOST_LETTERS if callable(utility) else MOST_LETTERS_OF_SEVERAL
    if k > most:
        raise TooLarge(f"{k} letters have 2^{k} patterns; at most {most} here. See for_testing, for_information.")
    if not 0 < q < math.inf:
        raise UnsupportedLevel(f"{level} leaves no program to solve; give an epsilon above 0 and below infinity.")
    if not callable(utility):
        return _worst_of(list(utility), k, level, q)
    utilities = _utilities(utility, k, q)

    def worth(sets: Floats) -> Floats:
        return np.asarray(utilities[(sets @ 2.0 ** np.arange(k)).astype(np.int64) - 1])

    mixture = best_mixture(k, q, worth, lambda prices: worst_sets(utilities, k, q, prices))
    places = (mixture.sets @ 2.0 ** np.arange(k)).astype(np.int64) - 1
    value = float(mixture.shares @ utilities[places])
    space = complete(k)
    problem = Problem("local.patterns", space, on_edges(space, level), {"utilities": utilities})
    evidence = {"prices": mixture.prices, "shares": mixture.shares, "sets": places}
    bound = max(proved_bound(problem, evidence), value)
    mechanism = mixture.mechanism(q)
    certificate = certificate_of(problem, mechanism, "bound", bound, bound - value, evidence)
    return Solution(problem, mechanism, value, certificate)


def _worst_of(several: list[Callable[[Any], Any]], k: int, level: ApproxDP, q: float) -> Solution[FiniteMechanism]:
    """The mechanism that maximises the least of several utilities: one more variable, one more row for each utility."""
    from scipy.optimize import linprog

    if not several:
        raise InvalidInput("there is no utility in the list; give one or more.")
    utilities = np.array([_utilities(utility, k, q) for utility in several])
    scale, sets = max(float(np.abs(utilities).max()), 1e-300), np.vstack(_all_sets(k))
    patterns = (q + sets.T) / (1 + q)
    result = linprog(
        np.append(np.zeros(len(sets)), -1.0),
        A_ub=np.column_stack([-utilities / scale, np.ones(len(several))]),
        b_ub=np.zeros(len(several)),
        A_eq=np.column_stack([patterns, np.zeros(k)]),
        b_eq=np.ones(k),
        bounds=[(0, None)] * len(sets) + [(None, None)],
        options=TIGHT,
    )
    if result.x is None:
        raise SolverFailed(f"the program over all patterns failed: {result.message}")
    support = np.flatnonzero(result.x[:-1] > 1e-9)
    shares = result.x[support]
    for _ in range(3):  # rows add up to 1 to the last digits
        shares = shares + np.linalg.lstsq(patterns[:, support], 1 - patterns[:, support] @ shares, rcond=None)[0]
    shares = np.maximum(shares, 0.0) / (1 + q)
    weights = np.maximum(-result.ineqlin.marginals, 0.0)
    weights, prices = weights / weights.sum(), -result.eqlin.marginals * scale / (1 + q)
    value = float((utilities[:, support] @ shares).min())
    space = complete(k)
    problem = Problem("local.worst_patterns", space, on_edges(space, level), {"utilities": utilities})
    evidence = {"weights": weights, "prices": prices, "shares": shares, "sets": support}
    bound = max(proved_bound(problem, evidence), value)
    mechanism = Mixture(sets[support], shares, prices).mechanism(q)
    certificate = certificate_of(problem, mechanism, "bound", bound, bound - value, evidence)
    return Solution(problem, mechanism, value, certificate)


def _utilities(utility: Callable[[Any], Any], k: int, q: float) -> Floats:
    """The utility of every pattern; refuses one that is seen not to be sublinear."""
    utilities = np.concatenate([_evaluate(utility, q + rows) for rows in _all_sets(k)])
    _require_sublinear(utility, utilities, k, q)
    return utilities


def _all_sets(k: int, rows: int = 2**14) -> list[Floats]:
    """All non-empty sets of letters, some thousands at a time."""
    numbers = np.arange(1, 2**k)
    return [
        ((numbers[start : start + rows, None] >> np.arange(k)) & 1).astype(float)
        for start in range(0, len(numbers), rows)
    ]


def _evaluate(utility: Callable[[Any], Any], columns: Floats) -> Floats:
    """The utility of every column, in one call if the utility takes a matrix."""
    try:
        values = np.asarray(utility(columns), dtype=float)
    except (TypeError, ValueError, IndexError):
        values = np.zeros(0)
    if values.shape != (len(columns),):
        values = np.array([float(utility(column)) for column in columns])
    if not np.isfinite(values).all():
        raise InvalidInput("the utility of some pattern is not a finite number; give a finite utility.")
    return values


def _require_sublinear(utility: Callable[[Any], Any], utilities: Floats, k: int, q: float) -> None:
    """Refuse a utility that is not sublinear on some pairs of patterns; a sample, not a proof."""
    pairs = np.random.default_rng(0).integers(1, 2**k, (64, 2))
    one, two = (np.asarray(q + ((pairs[:, i][:, None] >> np.arange(k)) & 1), dtype=float) for i in (0, 1))
    scale = 1e-9 * (np.abs(utilities).max() + 1e-300)
    if (np.abs(_evaluate(utility, 2 * one) - 2 * _evaluate(utility, one)) > scale).any():
        raise InvalidInput("the utility is not homogeneous: u(2z) is not 2u(z); give a sublinear utility.")
    if (_evaluate(utility, one + two) > _evaluate(utility, one) + _evaluate(utility, two) + scale).any():
        raise InvalidInput("the utility is not convex: u(y + z) exceeds u(y) + u(z); give a sublinear utility.")
