"""The cost of local privacy: converse bounds (LIM Cor. 3.4.5 to 3.4.7, 3.5.4, 3.5.5, corrected) and sample sizes.

The leading terms describe the optimum at very small and very large epsilon; `total_variation_limit` holds at every
epsilon. The number of people that a level costs is computed from the exact optimum instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from utmost.errors import InvalidInput
from utmost.exact import as_whole
from utmost.exact.arrays import Floats
from utmost.exact.citations import cites
from utmost.privacy.divergences import NAMED
from utmost.space.edge_levels import Privacy
from utmost.theory.local.design.alphabet import distributions, prior_of, pure_level
from utmost.theory.local.design.simple import halves
from utmost.theory.local.design.testing import for_testing

FLOATS_END = 709.0
"""Above this epsilon e^eps overflows."""


@cites("LIM-corollary-3.4.7")
def total_variation_limit(p0: ArrayLike, p1: ArrayLike, privacy: Privacy) -> float:
    """The largest total variation of private answers: (e^eps - 1)/(e^eps + 1) times that of the letters (Cor. 3.4.7).

    Examples
    --------
    >>> import math, utmost as um
    >>> round(um.local.total_variation_limit([0.5, 0.5], [0.25, 0.75], math.log(3)), 12)
    0.125
    """
    first, second = distributions(p0, p1)
    return math.tanh(pure_level(privacy).log_growth / 2) * _tv(first, second)


@cites("LIM-corollary-3.4.5")
def divergence_at_high_privacy(p0: ArrayLike, p1: ArrayLike, privacy: Privacy) -> float:
    """The leading term of the largest KL divergence as epsilon falls: (e^eps - 1)²/(e^eps + 1) · TV² (Cor. 3.4.5).

    LIM's (3.17) has it without the square in its middle line. Relative error O(eps).

    Examples
    --------
    >>> import utmost as um
    >>> p0, p1 = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> round(um.local.for_testing(p0, p1, 0.001).value / um.local.divergence_at_high_privacy(p0, p1, 0.001), 3)
    1.0
    """
    first, second = distributions(p0, p1)
    epsilon, variation = pure_level(privacy).log_growth, _tv(first, second)
    if epsilon > FLOATS_END or variation == 0:  # far beyond where a leading term is meaningful
        return math.inf if variation else 0.0
    return math.expm1(epsilon) * math.tanh(epsilon / 2) * variation**2


@cites("LIM-corollary-3.4.6")
def divergence_at_low_privacy(p0: ArrayLike, p1: ArrayLike, privacy: Privacy) -> float:
    """The largest KL divergence up to O(e^(-2 eps)): D - G e^(-eps), for distributions without zeros (Cor. 3.4.6).

    G = k D(P0 || P1) - sum log(P0/P1) + sum P0/P1 - k. LIM's G is another number, and its left side (3.18) is
    D(M0 || M1) alone: see the errata.

    Examples
    --------
    >>> import utmost as um
    >>> p0, p1 = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> round(um.local.for_testing(p0, p1, 10).value - um.local.divergence_at_low_privacy(p0, p1, 10), 7)
    0.0
    """
    first, second = distributions(p0, p1)
    if not (first > 0).all() or not (second > 0).all():
        raise InvalidInput("a letter has probability 0; this limit needs both distributions positive everywhere.")
    k, divergence = len(first), NAMED["kl"].between(first, second)
    slope = k * divergence - math.fsum(np.log(first / second)) + math.fsum(first / second) - k
    return divergence - slope * math.exp(-pure_level(privacy).log_growth)


@cites("LIM-corollary-3.5.4")
def information_at_high_privacy(prior: ArrayLike, privacy: Privacy) -> float:
    """The leading term of the largest mutual information as epsilon falls: P(T) P(T^c) eps²/2 (Cor. 3.5.4).

    T is a set with probability nearest to one half, found as by `binary_for_information`.

    Examples
    --------
    >>> import utmost as um
    >>> prior = [0.5, 0.2, 0.15, 0.1, 0.05]
    >>> round(um.local.for_information(prior, 0.001).value / um.local.information_at_high_privacy(prior, 0.001), 3)
    1.0
    """
    weights = prior_of(prior)
    share, epsilon = math.fsum(weights[halves(weights)]), pure_level(privacy).log_growth
    return share * (1 - share) * epsilon * epsilon / 2 if share < 1 else 0.0


@cites("LIM-corollary-3.5.5")
def information_at_low_privacy(prior: ArrayLike, privacy: Privacy) -> float:
    """The largest mutual information up to O(eps e^(-2 eps)), for a prior without zeros (Cor. 3.5.5, corrected).

    H - (k - 1) eps e^(-eps) - e^(-eps) [(k - 1) + sum log P + k H]: LIM's (3.24) takes the last term, which is of order
    e^(-eps), for O(e^(-2 eps)).

    Examples
    --------
    >>> import utmost as um
    >>> prior = [0.5, 0.2, 0.15, 0.1, 0.05]
    >>> round(um.local.for_information(prior, 9).value - um.local.information_at_low_privacy(prior, 9), 5)
    0.0
    """
    weights = prior_of(prior)
    if not (weights > 0).all():
        raise InvalidInput("a letter has probability 0; this limit needs a prior that is positive everywhere.")
    k, epsilon = len(weights), pure_level(privacy).log_growth
    entropy = -math.fsum(weights * np.log(weights))
    rest = (k - 1) + math.fsum(np.log(weights)) + k * entropy
    return entropy if math.isinf(epsilon) else entropy - ((k - 1) * epsilon + rest) * math.exp(-epsilon)


@dataclass(frozen=True)
class Price:
    """The cost of a level in people for testing two hypotheses.

    Attributes
    ----------
    people : int
        The number of private answers.
    factor : float
        How many private answers are as informative as one plain answer.
    effective : float
        The number of plain answers that are as informative as these private ones.
    """

    people: int
    factor: float
    effective: float


def price_in_people(p0: ArrayLike, p1: ArrayLike, privacy: Privacy, people: int = 1000) -> Price:
    """The cost of a level in people: the KL divergence of plain answers over that of the best private ones.

    By Stein's lemma the missed detections of a test fall as e^(-n D), so n private answers are worth n D(M)/D(P) plain
    ones; LIM 3.4 has this to leading order, eps² n. Here it is the exact optimum.

    Examples
    --------
    >>> import utmost as um
    >>> cost = um.local.price_in_people([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], 1.0, people=1000)
    >>> round(cost.factor, 2), round(cost.effective)
    (6.87, 146)
    """
    first, second = distributions(p0, p1)
    people = as_whole(people, "people", 1)
    plain, private = NAMED["kl"].between(first, second), for_testing(first, second, privacy).value
    factor = 1.0 if plain == private else (math.inf if private == 0 or math.isinf(plain) else plain / private)
    return Price(people, factor, people / factor)


def _tv(p0: Floats, p1: Floats) -> float:
    """The total variation distance."""
    return math.fsum(np.abs(p0 - p1)) / 2
