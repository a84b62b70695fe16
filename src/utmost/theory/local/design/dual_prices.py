"""LIM's own proofs of optimality, as numbers: the pattern matrix S^(k), and the dual prices of Appendix B.

The best local mechanism is the linear program max μᵀθ over S^(k)θ = 1, θ >= 0 (LIM Theorem 3.3.4). Any α with
S^(k)ᵀα >= μ proves that no private mechanism exceeds Σα. The thesis gives such an α four times; each is optimal where
it is feasible, and `DualPrices` measures how far it is from that elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from utmost.errors import InvalidInput, TooLarge
from utmost.exact import as_whole
from utmost.exact.arrays import Floats
from utmost.exact.citations import cites
from utmost.space.edge_levels import Privacy
from utmost.theory.local.design.alphabet import distributions, prior_of, pure_level
from utmost.theory.local.design.simple import halves

MOST_LETTERS = 20
"""The largest number of letters for which all 2^k patterns are listed."""


@dataclass(frozen=True, eq=False)
class DualPrices:
    """Dual prices of the program over patterns, and whether they are feasible.

    Attributes
    ----------
    prices : array of float
        α, one price for each letter.
    total : float
        Σα, the upper bound on every private mechanism where the prices are feasible.
    slack : float
        The least of S^(k)ᵀα − μ over all patterns; below 0 where some pattern is worth more than its price.
    largest : float
        The largest |μ| of a pattern: the scale on which a slack is rounding.
    """

    prices: Floats
    total: float
    slack: float
    largest: float

    @property
    def feasible(self) -> bool:
        """Whether no pattern is worth more than its price, up to rounding."""
        return self.slack >= -1e-12 * self.largest

    @property
    def bound(self) -> float:
        """An upper bound on every private mechanism, feasible or not: entries of S^(k) are 1 or more, so Σθ <= 1."""
        return self.total + max(0.0, -self.slack)

    def __repr__(self) -> str:
        return f"DualPrices(total {self.total:.6g}, {'feasible' if self.feasible else f'lacking {-self.slack:.2g}'})"


@cites("LIM-theorem-3.3.4")
def staircase_patterns(k: int, privacy: Privacy) -> Floats:
    """S^(k): a column for each of the 2^k patterns in {1, e^ε}^k; column j has e^ε where j has a bit (LIM Def. 3.3.3).

    Bits are those of j from 0 to 2^k − 1, the first letter the most significant.

    Examples
    --------
    >>> import math, utmost as um
    >>> um.local.staircase_patterns(2, math.log(3)).round(9)
    array([[1., 1., 3., 3.],
           [1., 3., 1., 3.]])
    """
    letters, level = as_whole(k, "k", 1), pure_level(privacy)
    if letters > MOST_LETTERS:
        raise TooLarge(f"{letters} letters have 2^{letters} patterns; up to {MOST_LETTERS} letters are listed.")
    bits = (np.arange(2**letters) >> np.arange(letters)[::-1, None]) & 1
    return np.where(bits == 1, math.exp(level.log_growth), 1.0)


@cites("LIM-theorem-3.4.2")
def dual_for_total_variation(p0: ArrayLike, p1: ArrayLike, privacy: Privacy) -> DualPrices:
    """(B.22): α_i = ½ (e^ε − 1)/(e^ε + 1) |P0(i) − P1(i)|; feasible, and so the optimum, at every ε.

    Examples
    --------
    >>> import utmost as um
    >>> um.local.dual_for_total_variation([0.5, 0.5], [0.25, 0.75], 1.0)
    DualPrices(total 0.115529, feasible)
    """
    first, second = distributions(p0, p1)
    patterns = staircase_patterns(len(first), privacy)
    half = math.tanh(pure_level(privacy).log_growth / 2) / 2
    return _dual_prices(half * np.abs(first - second), patterns, np.abs((first - second) @ patterns) / 2)


@cites("LIM-theorem-3.4.4")
def dual_for_divergence(p0: ArrayLike, p1: ArrayLike, privacy: Privacy) -> DualPrices:
    """(B.30), for the Kullback–Leibler divergence: feasible for large ε, where randomised response is best.

    Examples
    --------
    >>> import utmost as um
    >>> p0, p1 = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    >>> um.local.dual_for_divergence(p0, p1, 6.0).feasible, um.local.dual_for_divergence(p0, p1, 0.1).feasible
    (True, False)
    """
    first, second = distributions(p0, p1)
    patterns = staircase_patterns(len(first), privacy)
    m0, m1 = first @ patterns, second @ patterns
    return _single_letters(m0 * np.log(m0 / m1), patterns, privacy)


@cites("LIM-theorem-3.5.1", "LIM-theorem-3.5.3")
def dual_for_information(prior: ArrayLike, privacy: Privacy, regime: str = "high") -> DualPrices:
    """(B.40) for high privacy and (B.54) for low privacy: feasible for small, or large, ε.

    (B.40) is the proof that the binary mechanism with the set of letters nearest to one half is best for small ε,
    (B.54) that randomised response is for large ε.

    Parameters
    ----------
    prior : array of float
        A distribution over the letters.
    privacy : PureDP or number
        The level.
    regime : "high" or "low"
        High privacy (small ε) or low privacy.

    Examples
    --------
    >>> import utmost as um
    >>> p = [0.5, 0.3, 0.2]
    >>> um.local.dual_for_information(p, 0.1).feasible, um.local.dual_for_information(p, 8.0, "low").feasible
    (True, True)
    """
    weights = prior_of(prior)
    patterns = staircase_patterns(len(weights), privacy)
    growth = math.exp(pure_level(privacy).log_growth)
    mass = weights @ patterns
    value = weights @ (patterns * np.log(patterns)) - mass * np.log(mass)
    if regime == "low":
        return _single_letters(value, patterns, privacy)
    if regime != "high":
        raise InvalidInput(f"regime is {regime!r}; say 'high' or 'low' privacy.")
    mask = halves(weights)
    if mask.all() or growth == 1:
        return _dual_prices(np.zeros(len(weights)), patterns, value)
    one, other = (_value_of(value, side) for side in (mask, ~mask))
    scale = (growth + 1) * (growth - 1)
    inside, outside = (growth * one - other) / scale / mask.sum(), (growth * other - one) / scale / (~mask).sum()
    return _dual_prices(np.where(mask, inside, outside), patterns, value)


def _value_of(value: Floats, mask: np.ndarray) -> float:
    """The utility of the pattern of a set of letters."""
    place = int((1 << np.arange(len(mask))[::-1]) @ mask)
    return float(value[place])


def _single_letters(value: Floats, patterns: Floats, privacy: Privacy) -> DualPrices:
    """The prices at which every pattern of one letter costs exactly its utility: (B.30) and (B.54)."""
    k, growth = len(patterns), math.exp(pure_level(privacy).log_growth)
    if growth == 1:
        return _dual_prices(np.zeros(k), patterns, value)
    single = value[1 << np.arange(k)[::-1]]
    prices = ((growth + k - 1) * single - single.sum()) / ((growth - 1) * (growth + k - 1))
    return _dual_prices(prices, patterns, value)


def _dual_prices(prices: Floats, patterns: Floats, value: Floats) -> DualPrices:
    """The prices with their total and slack."""
    slack = float((prices @ patterns - value).min())
    return DualPrices(prices, math.fsum(prices), slack, float(np.abs(value).max()))
