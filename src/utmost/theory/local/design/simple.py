"""The standard local mechanisms: baselines that the optimum equals at very small or very large epsilon."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput, TooLarge, UnsupportedLevel
from utmost.exact import Number, as_whole
from utmost.exact.arrays import Floats
from utmost.exact.citations import cites
from utmost.mechanism import FiniteMechanism
from utmost.privacy import ApproxDP, Level, PureDP, as_level
from utmost.space.edge_levels import Privacy
from utmost.theory.local.design.alphabet import block_response, distributions, prior_of, pure_level
from utmost.theory.local.design.information import best_size
from utmost.theory.local.patterns import offset, subset_sums
from utmost.theory.priors.design.geometric import geometric as truncated_geometric

MOST_OUTPUTS = 10**5
MOST_MET, MOST_SUMMED, UNITS = 40, 400, 2**20
"""Up to how many letters the search meets in the middle; how many letters the dynamic program takes; units per 1."""
REGROUPINGS, GROUP = 20, 28


@cites("LIM-theorem-3.4.1", "LIM-theorem-3.4.2")
def binary(p0: ArrayLike, p1: ArrayLike, privacy: Privacy) -> FiniteMechanism:
    """The binary mechanism for two hypotheses: randomised response on "P0(x) < P1(x)" (LIM (3.15)).

    Optimal for total variation at every epsilon (LIM Theorem 3.4.2), for every f-divergence at small epsilon (3.4.1).

    Examples
    --------
    >>> import math, utmost as um
    >>> um.local.binary([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], math.log(3)).matrix.round(2).tolist()
    [[0.75, 0.25], [0.75, 0.25], [0.25, 0.75]]
    """
    first, second = distributions(p0, p1)
    return _two_blocks((first < second).astype(np.int64), pure_level(privacy))


@cites("LIM-theorem-3.5.1")
def binary_for_information(prior: ArrayLike, privacy: Privacy) -> FiniteMechanism:
    """Randomised response on "x in T", for the set T with probability nearest to one half (LIM (3.21), (3.22)).

    Finding T is number partitioning: exact up to 40 letters, and within a proved error beyond (400 letters: 2e-4, and
    nearly always to full precision).

    Examples
    --------
    >>> import math, utmost as um
    >>> um.local.binary_for_information([0.5, 0.3, 0.2], math.log(3)).matrix.round(2).tolist()
    [[0.75, 0.25], [0.25, 0.75], [0.25, 0.75]]
    """
    weights = prior_of(prior)
    return _two_blocks(1 - halves(weights).astype(np.int64), pure_level(privacy))


@cites("LIM-theorem-3.4.4", "LIM-theorem-3.5.3")
def randomized_response(k: int, privacy: Privacy) -> FiniteMechanism:
    """k-ary randomised response: the true letter is e^eps times as likely as any other (Warner 1965; LIM (3.16)).

    Examples
    --------
    >>> import math, utmost as um
    >>> um.local.randomized_response(3, math.log(2)).row(0).round(6).tolist()
    [0.5, 0.25, 0.25]
    """
    return block_response(np.arange(as_whole(k, "k", 1)), pure_level(privacy))


def subset(k: int, privacy: Privacy, size: int | None = None) -> FiniteMechanism:
    """Subset selection: a random set of `size` letters, e^eps times as likely if it contains the true one.

    Wang et al. 2016; Ye and Barg 2018. By default the size with the largest mutual information for a uniform prior.
    All sets are listed as outputs, so only for few letters; `local.survey` draws sets without listing them.

    Examples
    --------
    >>> import utmost as um
    >>> um.local.subset(4, 0.5).outputs
    ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
    """
    k, level = as_whole(k, "k", 1), pure_level(privacy)
    q = offset(level)
    if size is None:
        size = best_size(k, q) if math.isfinite(q) else max(1, k // 2)
    if as_whole(size, "size", 1) > k:
        raise InvalidInput(f"size is {size} of {k} letters; give at most {k}.")
    if math.comb(k, size) > MOST_OUTPUTS:
        raise TooLarge(f"there are {math.comb(k, size)} sets of {size} out of {k}; use local.survey, which lists none.")
    sets = list(combinations(range(k), size))
    inside = np.zeros((k, len(sets)))
    for column, letters in enumerate(sets):
        inside[list(letters), column] = 1
    other = math.exp(-level.log_growth) if level.ratio == 1 else float(1 / level.ratio)
    matrix = np.where(inside > 0, 1.0, other)
    return FiniteMechanism(matrix / matrix.sum(axis=1, keepdims=True), range(k), sets)


@cites("LIM-theorem-3.6.1")
def quaternary(privacy: Level | Number) -> FiniteMechanism:
    """One bit at (eps, delta): revealed with probability delta, else randomised response (LIM (3.26)).

    Every (eps, delta) mechanism on one bit can be simulated from it (LIM Theorem 3.6.1). Outputs 0 and 1 are certain,
    2 favours 1 and 3 favours 0, as in LIM.

    Examples
    --------
    >>> import utmost as um
    >>> um.local.quaternary(um.ApproxDP.from_ratio(3, 0.1)).matrix.round(3).tolist()
    [[0.1, 0.0, 0.225, 0.675], [0.0, 0.1, 0.675, 0.225]]
    """
    level = as_level(privacy)
    if not isinstance(level, ApproxDP):
        raise UnsupportedLevel(f"{level} is not covered here: the quaternary mechanism needs (epsilon, delta).")
    pure = PureDP.from_ratio(level.ratio) if level.ratio != 1 else PureDP(level.exponent)
    low, high = block_response(np.arange(2), pure).matrix[0][::-1]
    delta = float(level.delta)
    rest = (1 - delta) * np.array([[low, high], [high, low]])
    return FiniteMechanism(np.hstack([delta * np.eye(2), rest]), range(2), range(4))


def geometric(k: int, privacy: Privacy) -> FiniteMechanism:
    """Geometric noise on the numbers 0..k-1, scaled to their range (LIM 3.4.2): the usual approach, for comparison.

    Examples
    --------
    >>> import utmost as um
    >>> round(um.local.geometric(4, 1.0).epsilon(um.complete(4)), 12)
    1.0
    """
    k, level = as_whole(k, "k", 1), pure_level(privacy)
    matrix = truncated_geometric(k, level.log_growth / max(k - 1, 1)).matrix
    return FiniteMechanism(matrix, range(k), range(k))


def halves(prior: Floats) -> NDArray[np.bool_]:
    """A set of letters with probability nearest to one half, as a mask that contains the first letter.

    Exact up to 40 letters, by meeting in the middle. Beyond, a dynamic program over the sums of the 400 likeliest, in
    units of 2^-20, has an error of at most the total rounding, one unit for every letter, plus the probability of the
    likeliest remaining letter, if there are any; then random groups of letters are solved exactly with the others
    fixed, which improves it, most often to full precision.
    """
    k = len(prior)
    mask = _nearest(prior, 0.5) if k <= MOST_MET else _nearly_half(prior)
    return mask if mask[0] else ~mask


def _nearest(values: Floats, target: float) -> NDArray[np.bool_]:
    """The set whose sum is nearest to a target, by meeting in the middle: the best second half for every first."""
    cut = (len(values) + 1) // 2
    first, second = (np.append(0.0, subset_sums(part)) for part in (values[:cut], values[cut:]))
    order = np.argsort(second, kind="stable")
    ordered, complement = second[order], target - first
    at = np.searchsorted(ordered, complement)
    next_position, previous = np.minimum(at, len(ordered) - 1), np.maximum(at - 1, 0)
    nearest = np.where(
        np.abs(ordered[next_position] - complement) < np.abs(ordered[previous] - complement), next_position, previous
    )
    best = int(np.abs(ordered[nearest] - complement).argmin())
    bits = best | int(order[nearest[best]]) << cut
    return np.array([bits >> x & 1 for x in range(len(values))], dtype=bool)


def _nearly_half(prior: Floats) -> NDArray[np.bool_]:
    """A set with probability close to one half, for many letters (see `halves`)."""
    order = np.argsort(-prior, kind="stable")
    head, tail = order[:MOST_SUMMED], order[MOST_SUMMED:]
    mask = np.zeros(len(prior), dtype=bool)
    mask[head] = _summed(prior[head], 0.5 - math.fsum(prior[tail]) / 2)
    total = math.fsum(prior[mask])
    for x in tail.tolist():  # from the likeliest on: never further from one half than the next one is likely
        if total + prior[x] / 2 < 0.5:
            mask[x], total = True, total + float(prior[x])
    rng = np.random.default_rng(0)
    for _ in range(REGROUPINGS):
        missing = 0.5 - math.fsum(prior[mask])
        if abs(missing) < 1e-15:
            break
        group = rng.choice(len(prior), GROUP, replace=False)
        trial = mask.copy()
        trial[group] = _nearest(prior[group], math.fsum(prior[group][mask[group]]) + missing)
        if abs(math.fsum(prior[trial]) - 0.5) < abs(missing):
            mask = trial
    return mask


def _summed(values: Floats, target: float) -> NDArray[np.bool_]:
    """A set whose rounded sum is nearest to the target: dynamic programming, possible sums as bits of an integer."""
    units = np.rint(values * UNITS).astype(int).tolist()
    stages = [1]
    for unit in units:
        stages.append(stages[-1] | stages[-1] << unit)
    goal = max(0, round(target * UNITS))
    above = stages[-1] >> goal
    up = goal + (above & -above).bit_length() - 1 if above else -1
    down = (stages[-1] & ((1 << goal) - 1)).bit_length() - 1
    at = up if above and (down < 0 or up - goal <= goal - down) else down
    mask = np.zeros(len(values), dtype=bool)
    for i in range(len(units) - 1, -1, -1):
        if not stages[i] >> at & 1:  # this sum is not possible without the letter
            mask[i], at = True, at - units[i]
    return mask


def _two_blocks(block: np.ndarray, level: ApproxDP) -> FiniteMechanism:
    """Randomised response on two blocks; with both outputs even if one block is empty."""
    both = block_response(np.append(block, [0, 1]), level).matrix[:-2]
    return FiniteMechanism(both, range(len(block)), (0, 1))
