"""The local mechanism with the largest mutual information between letter and answer (LIM 3.5).

The information of a pattern depends on its set of letters only through the set's prior probability, and is concave in
it. For a uniform prior all sets of the best size are equally good (Wang et al. 2016); k cyclic shifts of one suffice.
Otherwise patterns are mixed by linear programming: over all of them for few letters, by column generation with a
knapsack for many.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from utmost.errors import InvalidInput, TooLarge
from utmost.exact.arrays import Floats
from utmost.exact.citations import cites
from utmost.mechanism import FiniteMechanism
from utmost.privacy import ApproxDP
from utmost.solution import Problem, Solution, certificate_of, proved_bound
from utmost.solution.sentences import ALL_PATTERNS, CYCLIC, KNAPSACK, TRIVIAL
from utmost.space.edge_levels import Privacy, on_edges
from utmost.space.families import complete
from utmost.theory.local.design.alphabet import prior_of, pure_level
from utmost.theory.local.design.mixture import Mixture, best_mixture
from utmost.theory.local.patterns import information_between, information_of, offset, subset_sums

MOST_LETTERS, MOST_ENUMERATED = 400, 20
"""The largest number of letters, and the largest for which all sets are enumerated."""
LIKELIEST, TANGENTS = 12, 512
"""In column generation: all sets of this many likeliest letters are tried, with this many tangents."""
LARGEST_OFFSET = 1e155
"""Above this q (epsilon below 1e-155) the information, about epsilon² / 8, underflows."""


@cites("LIM-theorem-3.3.2")
def for_information(prior: ArrayLike, privacy: Privacy) -> Solution[FiniteMechanism]:
    """The local mechanism with the largest mutual information between letter and answer, in nats.

    Returns
    -------
    Solution
        Points are the letters 0..k-1, outputs the sets of letters that each answer favours. The certificate holds
        dual prices of letters; its bound covers all patterns for a uniform prior and up to 20 letters. Beyond, patterns
        are bounded by relaxations, the entropy of the prior included, and `certificate.gap` says how tight they are.

    Examples
    --------
    >>> import utmost as um
    >>> best = um.local.for_information([1 / 8] * 8, 1.0)
    >>> round(best.value, 9), len(best.mechanism.outputs[0]), best.certificate.gap < 1e-12
    (0.12256329, 3, True)
    """
    weights, level = prior_of(prior), pure_level(privacy)
    q, k = offset(level), len(weights)
    likely = np.flatnonzero(weights > 0)
    nothing = q > LARGEST_OFFSET or len(likely) == 1
    if nothing or q == 0:
        matrix = np.ones((k, 1)) if nothing else np.eye(k)
        names: Any = [tuple(range(k))] if nothing else [(x,) for x in range(k)]
        mechanism, prices, method = (
            FiniteMechanism(matrix, range(k), names),
            np.zeros(k),
            TRIVIAL,
        )
        if not nothing:
            prices[likely] = -weights[likely] * np.log(weights[likely])
        value = information_between(mechanism.matrix, weights)
    else:
        mixture, method = _mix(weights[likely], q, level)
        mechanism = mixture.mechanism(q)
        # not from the matrix, whose digits a tiny epsilon leaves to rounding
        value = math.fsum(mixture.shares * information_of(np.minimum(mixture.sets @ weights[likely], 1.0), q))
        if len(likely) < k:  # letters that never occur answer as the first that does
            rows = np.zeros(k, dtype=np.int64)
            rows[likely] = np.arange(len(likely))
            names = [tuple(likely[list(name)].tolist()) for name in mechanism.outputs]
            mechanism = FiniteMechanism(mechanism.matrix[rows], range(k), names)
        prices = np.zeros(k)
        prices[likely] = mixture.prices
    problem = as_problem(weights, level)
    bound = max(proved_bound(problem, {"prices": prices}), value)
    certificate = certificate_of(problem, mechanism, "bound", bound, bound - value, {"prices": prices}, method=method)
    return Solution(problem, mechanism, value, certificate)


def as_problem(prior: Floats, level: ApproxDP) -> Problem:
    """The problem of maximising the mutual information about a letter with this prior."""
    space = complete(len(prior))
    return Problem("local.information", space, on_edges(space, level), {"prior": prior})


def information(mechanism: Any, prior: ArrayLike) -> float:
    """The mutual information between a letter and the answer of any mechanism, in nats.

    Examples
    --------
    >>> import utmost as um
    >>> round(um.local.information(um.local.randomized_response(8, 1.0), [1 / 8] * 8), 9)
    0.085140773
    """
    weights = prior_of(prior)
    table = getattr(mechanism, "mechanism", mechanism)
    if len(table.points) != len(weights):
        raise InvalidInput(f"the mechanism has {len(table.points)} letters, the prior {len(weights)}.")
    return information_between(table.matrix, weights)


def best_size(k: int, q: float) -> int:
    """The size of the sets whose patterns carry the most information about one of k equally likely letters."""
    size = np.arange(1, k + 1)
    return int(size[(information_of(size / k, q) / (k * q + size)).argmax()])


def _mix(prior: Floats, q: float, level: ApproxDP) -> tuple[Mixture, str]:
    """The best mixture of patterns, and the method in words."""
    k = len(prior)
    if np.ptp(prior) <= 1e-15:
        size = best_size(k, q)
        shifts = (np.arange(k)[:, None] + np.arange(size)) % k
        sets = np.zeros((k, k))
        np.put_along_axis(sets, shifts, 1.0, axis=1)
        share = 1 / (k * q + size)
        prices = np.full(k, float(information_of(np.array([size / k]), q)[0]) * share)
        return Mixture(sets, np.full(k, share), prices), CYCLIC.format(whole=size)
    if k > MOST_LETTERS:
        raise TooLarge(f"{k} letters with a prior that is not uniform are too many; at most {MOST_LETTERS}.")

    def utility(sets: Floats) -> Floats:
        return information_of(np.minimum(sets @ prior, 1.0), q)

    if k <= MOST_ENUMERATED:
        worth = information_of(np.minimum(subset_sums(prior), 1.0), q)
        return best_mixture(k, q, utility, lambda prices: worst_sets(worth, k, q, prices)), ALL_PATTERNS

    problem = as_problem(prior, level)

    def bound(prices: Floats) -> float:
        return proved_bound(problem, {"prices": prices})

    sets, even_prices = _even_sets(prior, q)
    guess = min(even_prices, response_prices(prior, q), key=bound)
    mixture = best_mixture(k, q, utility, lambda prices: _knapsack(prior, q, prices), bound, sets, guess)
    return mixture, KNAPSACK


def _even_sets(prior: Floats, q: float) -> tuple[Floats, Floats]:
    """Initial columns for many letters: sets of nearly the best probability, and prices proportional to the prior.

    If sets of every probability existed, sets of the a with the largest g(a)/(q + a) would be optimal, at those prices.
    """
    shares = np.linspace(0, 1, 4001)[1:-1]
    worth = information_of(shares, q) / (q + shares)
    target, rng = float(shares[worth.argmax()]), np.random.default_rng(0)
    sets = []
    for _ in range(4):
        order = rng.permutation(len(prior))
        cumulative = np.append(0.0, np.cumsum(np.tile(prior[order], 2)))
        for start in range(len(prior)):
            end = int(np.abs(cumulative[start : start + len(prior) + 1] - cumulative[start] - target).argmin())
            row = np.zeros(len(prior))
            row[np.tile(order, 2)[start : start + max(end, 1)]] = 1
            sets.append(row)
    return np.array(sets), prior * float(worth.max())


def worst_sets(worth: Floats, k: int, q: float, prices: Floats, most: int = 100) -> Floats:
    """The sets whose utility exceeds their price most, among all."""
    excess = worth - subset_sums(prices) - q * prices.sum()
    tolerance = 1e-13 * float(np.abs(worth).max())
    top = np.argpartition(-excess, min(most, len(excess) - 1))[:most]
    numbers = top[excess[top] > tolerance] + 1
    return np.asarray(((numbers[:, None] >> np.arange(k)) & 1).astype(float))


def response_prices(prior: Floats, q: float) -> Floats:
    """The only prices that can prove randomised response optimal: every letter costs its information (LIM (B.54)).

    Randomised response uses all k patterns of one letter, so by complementary slackness each of them costs exactly its
    utility, which is k equations for k prices.
    """
    worth = information_of(prior, q)
    return np.asarray(worth - q * math.fsum(worth) / (1 + q * len(prior)))


def _knapsack(prior: Floats, q: float, prices: Floats, most: int = 40) -> Floats:
    """Sets whose information exceeds their price: starts from two relaxations, improved by local search.

    The relaxations are the first letters by price per probability, and every set of the likeliest with the best others.
    """
    k = len(prior)
    order = np.argsort(prices / prior)
    sets = np.zeros((k, k))
    sets[:, order] = np.tri(k)
    total = q * prices.sum()

    def excess(rows: Floats) -> Floats:
        return np.asarray(information_of(np.minimum(rows @ prior, 1.0), q) - rows @ prices - total)

    best = np.vstack(
        [candidates[np.argsort(-excess(candidates))[:6]] for candidates in (sets, _dearest(prior, q, prices))]
    )
    for _ in range(6):
        flips = np.abs(best[:, None, :] - np.eye(k)).reshape(-1, k)
        flips = flips[flips.any(axis=1)]
        best = np.unique(np.vstack([best, flips]), axis=0)
        best = best[np.argsort(-excess(best))[:most]]
    surplus = excess(best)
    return np.asarray(best[surplus > 1e-13 * float(information_of(np.array([0.5]), q)[0])])


def _dearest(prior: Floats, q: float, prices: Floats, most: int = 40) -> Floats:
    """Sets that may exceed their price, a row each: sets of the likeliest letters, with the best of the others.

    A tangent to the concave information makes the bound of a set a sum over its letters, so that the best of the others
    are known; for every set of the likeliest the tightest tangent counts.
    """
    order = np.argsort(-prior, kind="stable")
    big, small = order[:LIKELIEST], order[LIKELIEST:]
    at = np.minimum(q * np.expm1(np.linspace(0.0, math.log1p(1 / q), TANGENTS)), 1.0)
    slopes = np.log1p((1 - at) / (q + at)) - (1 - q * math.log1p(1 / q))
    rest_gain = np.maximum(np.outer(slopes, prior[small]) - prices[small], 0.0).sum(axis=1)
    mass, paid = (np.append(0.0, subset_sums(values[big])) for values in (prior, prices))
    upper = np.outer(mass, slopes) + (information_of(at, q) - slopes * at + rest_gain)
    tangent, worst = upper.argmin(axis=1), upper.min(axis=1) - paid
    top = np.argpartition(-worst, min(most, len(worst) - 1))[:most]
    rows = np.zeros((len(top), len(prior)))
    rows[:, big] = (top[:, None] >> np.arange(len(big))) & 1
    rows[:, small] = slopes[tangent[top], None] * prior[small] > prices[small]
    return rows[rows.any(axis=1)]
