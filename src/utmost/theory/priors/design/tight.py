"""The tight-constraints mechanism, which is optimal for every regular prior at once (REG)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from utmost.errors import NoSuchMechanism, TooLarge
from utmost.exact import without_underflow
from utmost.exact.arrays import Floats
from utmost.exact.bisection import narrow
from utmost.exact.citations import cites
from utmost.mechanism import FiniteMechanism
from utmost.mechanism.decaying_columns import DecayingMechanism, has_structure, is_path, is_transitive, row_sums
from utmost.privacy import ApproxDP, PureDP
from utmost.solution import Problem, Solution, certificate_of
from utmost.solution.sentences import SIGNS
from utmost.space import Space
from utmost.space.edge_levels import EdgeLevels, Privacy, on_edges
from utmost.space.family import Cycle, Row
from utmost.theory.priors.design.phi import SECONDS, Solved, pure_levels, require_time, solve_phi
from utmost.theory.priors.design.singular import nonnegative_solution
from utmost.theory.priors.design.structured import solve_for_prior, solve_structured

MOST_DENSE = 2000
"""The largest number of results for which a matrix is formed; beyond, rows on demand if the space has structure."""
MOST_SCANNED = 20_000
"""The largest number of results for which an error states the epsilon from which on the mechanism exists."""
FAR = 20
"""An epsilon so large that Phi is close to the identity, to test whether a space has structure."""


@cites("REG-theorem-3", "REG-corollary-2", "REG-lemma-3", "REG-lemma-4", "REG-proposition-7")
def tight_constraints(
    space: Space, privacy: Privacy, seconds: float = SECONDS, say: Callable[[str], Any] | None = None
) -> Solution:
    """The mechanism X_ik = e^(-epsilon d(i, k)) z_k with Phi z = 1: optimal for every regular prior (REG Theorem 3).

    It exists if and only if the uniform prior is regular, which is decided by proved signs. `NoSuchMechanism` states
    the most negative entry and from which epsilon on it exists.

    Parameters
    ----------
    space : Space
        The results and their adjacency.
    privacy : PureDP, number or EdgeLevels
        A pure level, or pure levels per edge.
    seconds : float
        The time limit: `TooLarge` for so many results of a space without structure that the matrix takes longer, and
        the limit of the search for the epsilon that an error states.
    say : callable, optional
        Called with a line of text as that search goes on.

    Examples
    --------
    >>> import utmost as um
    >>> tight = um.finite.tight_constraints(um.path(3), um.PureDP.from_ratio(2))
    >>> tight.mechanism.matrix.round(6)
    array([[0.666667, 0.166667, 0.166667],
           [0.333333, 0.333333, 0.333333],
           [0.166667, 0.166667, 0.666667]])
    """
    levels, deadline = pure_levels(space, privacy), time.monotonic() + seconds
    z = column_peaks(levels, seconds)
    if z.nonnegative is False:
        n, k = len(space.points), int(np.argmin(z.y))
        scanned = levels.single is not None and n <= MOST_SCANNED
        least = smallest_epsilon(space, None, max(deadline - time.monotonic(), 0.0), say) if scanned else None
        exists = "" if least is None else f" It exists from epsilon = {float(least):.9g} on ({least.note})."
        raise NoSuchMechanism(
            f"there is no tight-constraints mechanism at {levels}: the diagonal entry for {space.points[k]!r} would be "
            f"{z.y[k]:.6g}.{exists} Allow a larger epsilon, or use finite.optimal.",
            point=space.points[k],
            entry=float(z.y[k]),
        )
    return with_peaks(levels, z)


def with_peaks(levels: EdgeLevels, z: Solved) -> Solution:
    """The tight-constraints mechanism of the z >= 0 with Phi z = 1."""
    space, n = levels.space, len(levels.space.points)
    peaks = np.maximum(z.y, 0.0)
    mechanism: FiniteMechanism | DecayingMechanism
    if n > MOST_DENSE and isinstance(levels.single, ApproxDP) and has_structure(space):
        mechanism = DecayingMechanism(space, levels.single, peaks)
        diagonal = mechanism.diagonal
    else:
        lengths = levels.lengths()
        matrix = np.exp(-lengths) * peaks
        matrix = matrix / matrix.sum(axis=1, keepdims=True) if n else matrix
        matrix = without_underflow(matrix, np.isfinite(lengths) & (peaks > 0))
        mechanism = FiniteMechanism(matrix, space.points, space.points)
        diagonal = np.diag(matrix)
    value = 1 - float(diagonal.mean()) if n else 0.0
    problem = Problem("finite.tight_constraints", space, levels, {})
    account = () if z.nonnegative else (SIGNS(),)
    return Solution(problem, mechanism, value, certificate_of(problem, mechanism, "theorem", gap=0.0, account=account))


class SmallestEpsilon(float):
    """An epsilon from which on a mechanism exists, within `bracket`; `note` says what is proved and what sampled."""

    bracket: tuple[float, float]
    note: str

    def __new__(cls, value: float, bracket: tuple[float, float], note: str) -> SmallestEpsilon:
        """A float with its bracket and a note on the proof."""
        epsilon = super().__new__(cls, value)
        epsilon.bracket, epsilon.note = bracket, note
        return epsilon


@cites("REG-lemma-4")
def smallest_epsilon(
    space: Space, prior: Any = None, seconds: float = SECONDS, say: Callable[[str], Any] | None = None
) -> SmallestEpsilon:
    """The least epsilon such that a prior is regular at every larger one; for the uniform prior by default.

    From there on the tight-constraints mechanism is optimal for this prior if it exists, and for the uniform prior it
    then exists. Regularity is not monotone in general, so this scans downwards from where it is proved, to the first
    epsilon at which it fails, and bisects; the signs at both ends of the final bracket are proved.

    Parameters
    ----------
    space : Space
        The results and their adjacency.
    prior : mapping, array or callable, optional
        A distribution over the points; None is uniform.
    seconds : float
        The time limit. The least epsilon that was tried by then is returned, of which `note` says that smaller ones
        were not tried.
    say : callable, optional
        Called with a line of text for every epsilon that is tried.

    Returns
    -------
    SmallestEpsilon
        A float with `bracket` and `note`. Infinity for a prior that is 0 at a point but not everywhere in its
        component: no epsilon makes it regular (REG Prop. 2).

    Examples
    --------
    >>> import utmost as um
    >>> round(um.finite.smallest_epsilon(um.sums(20, 2)), 6)
    0.2812

    Two results, one nine times as likely as the other: regular from epsilon = log 9 on.

    >>> least = um.finite.smallest_epsilon(um.path(2), prior=[0.9, 0.1])
    >>> round(float(least), 6), round(float(np.log(9)), 6)
    (2.197225, 2.197225)
    """
    deadline = time.monotonic() + seconds
    weights = space.as_prior(prior)
    uniform = not len(weights) or bool((weights == weights[0]).all())
    if len(space.points) < 2 or (uniform and (is_transitive(space) or is_path(space))):
        return SmallestEpsilon(0.0, (0.0, 0.0), "proved: it exists for every epsilon")
    if uniform:
        weights = np.ones(len(weights))
    else:
        is_positive_component = np.bincount(space.components, weights)[space.components] > 0
        if (is_positive_component & (weights == 0)).any():
            point = space.points[int(np.argmax(is_positive_component & (weights == 0)))]
            return SmallestEpsilon(np.inf, (np.inf, np.inf), f"proved: never, for the prior is 0 at {point!r}")
        is_ring = isinstance(space.family, Cycle)
        if len(weights) > MOST_DENSE and (is_ring or solve_for_prior(space, PureDP(FAR), weights, MOST_DENSE) is None):
            raise TooLarge(
                f"from which epsilon on a prior over {len(weights)} results is regular is found on counts, sums, grids "
                f"and databases, or on {MOST_DENSE} results at most; use fewer, or ask finite.regularity."
            )
    high = _proved_from(space, weights)
    least = _least_entry(space, weights)
    grid = np.geomspace(max(high * 1e-4, 1e-6), high, 400)[::-1]
    last = high
    for epsilon in grid:
        if time.monotonic() > deadline:
            note = (
                f"proved above {high:.4g}, sampled from {last:.4g} on; smaller ones not tried in {seconds:.3g} seconds"
            )
            return SmallestEpsilon(last, (0.0, last), note)
        if say is not None:
            say(f"epsilon {epsilon:.6g}: it exists from {last:.6g} on")
        if least(epsilon) < 0:
            break
        last = float(epsilon)
    else:
        return SmallestEpsilon(
            0.0, (0.0, 0.0), f"it exists at each of {len(grid)} sampled epsilons down to {grid[-1]:.2g}"
        )
    low, top = float(epsilon), last
    grain = 1e-10
    while time.monotonic() < deadline and top - low > grain:
        low, top = narrow(lambda epsilon: least(epsilon) >= 0, low, top, absolute=max((top - low) / 8, grain))
    if top - low > grain:
        note = f"proved above {high:.4g}, sampled between; bracketed as far as {seconds:.3g} seconds allowed"
        return SmallestEpsilon(top, (low, top), note)
    signs = [_signs(on_edges(space, PureDP(e)), None if uniform else weights) for e in (low, top)]
    ends = "signs proved at both ends" if signs == [False, True] else "signs at the ends not all proved"
    note = f"{ends}; proved above {high:.4g}, sampled between"
    return SmallestEpsilon(top, (low, top), note)


def _signs(levels: EdgeLevels, weights: Floats | None) -> bool | None:
    """Whether the y with Phi y = weights (ones if None) is non-negative: proved, disproved, or None."""
    if weights is None:
        return column_peaks(levels).nonnegative
    assert isinstance(levels.single, ApproxDP)
    solution_and_uncertainty = solve_for_prior(levels.space, levels.single, weights, MOST_DENSE)
    solution = solution_and_uncertainty[0] if solution_and_uncertainty is not None else solve_phi(levels, weights)
    return None if solution is None else solution.nonnegative


def column_peaks(levels: EdgeLevels, seconds: float = SECONDS) -> Solved:
    """The z with Phi z = 1: constant if all rows of Phi have equal sums, some solution if Phi is singular."""
    space, n = levels.space, len(levels.space.points)
    structured = solve_structured(space, levels.single) if isinstance(levels.single, ApproxDP) else None
    if structured is not None and (structured.nonnegative is not None or n > MOST_DENSE):
        return structured
    if n > MOST_DENSE and levels.single is not None and has_structure(space):
        raise TooLarge(
            f"whether a tight-constraints mechanism of {n} results exists at {levels} is not decided without a matrix: "
            "the symbol of the space is not proved positive. Allow a larger epsilon or use fewer results."
        )
    require_time(n, seconds)
    sums = np.exp(-levels.lengths()).sum(axis=1)
    if n and levels.single is not None and _is_regular(space):
        return Solved(1 / sums, (1,) * n)
    solved = solve_phi(levels, np.ones(n))
    if solved is not None:
        return solved
    return nonnegative_solution(levels, np.ones(n)) or Solved(np.full(n, -np.inf), (-1,) * n)


def _is_regular(space: Space) -> bool:
    """Whether all points have equally many points at each distance, so that all rows of Phi have equal sums."""
    ordered = np.sort(space.distances(), axis=1)
    return bool((ordered == ordered[0]).all()) if len(ordered) else True


def _proved_from(space: Space, weights: Floats) -> float:
    """An epsilon from which on the y with Phi y = weights is proved to be positive where the weights are.

    With Phi = I + A and A weights <= c weights, c < 1/2: y = weights - A weights + A^2 weights - ... is at least
    (1 - c / (1 - c)) weights.
    """
    large = len(space.points) > MOST_DENSE and has_structure(space)
    support = weights > 0

    def off_diagonal(epsilon: float) -> float:
        level = PureDP(epsilon)
        sums = row_sums(space, level, weights) if large else np.exp(-epsilon * space.distances()) @ weights
        return float((sums[support] / weights[support]).max()) - 1

    high = 1.0
    while off_diagonal(high) >= 0.5:
        high *= 1.5
    return high


def _least_entry(space: Space, weights: Floats) -> Callable[[float], float]:
    """The least entry of the y with Phi y = weights as a function of epsilon, in floats.

    By the structure of the space, by Toeplitz solves, or by a matrix.
    """
    ones = bool((weights == 1).all())
    if len(space.points) > MOST_DENSE and has_structure(space):

        def by_structure(epsilon: float) -> float:
            level = PureDP(epsilon)
            if ones:
                solution = solve_structured(space, level)
            else:
                solution = (solve_for_prior(space, level, weights, MOST_DENSE) or (None, None))[0]
            return -math.inf if solution is None else float(solution.y.min())

        return by_structure
    distances = space.distances()

    def by_matrix(epsilon: float) -> float:
        if isinstance(space.family, Row):
            from scipy.linalg import solve_toeplitz

            return float(solve_toeplitz(np.exp(-epsilon * distances[0]), weights).min())
        try:
            return float(np.linalg.solve(np.exp(-epsilon * distances), weights).min())
        except np.linalg.LinAlgError:
            return -math.inf

    return by_matrix
