"""Partition selection: the mechanism that releases as many keys as a level allows, with numbers beside them.

With one key of each unit under add/remove, every key is released with the greatest probability that any private
mechanism can have (Desfontaines, Voss, Gipson and Mandayam 2022), and its number of holders at no further cost. Where
several keys change at once, each gets a share of the level: by exact composition, or by Gaussian steps, whichever
releases a key with fewer holders; a Gaussian level with a delta is shared exactly by Gaussian steps. The joint optimum
is not known; that of a single key is a bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np

from utmost.errors import InvalidInput, TooLarge, UnsupportedLevel
from utmost.exact import as_literal
from utmost.messages import Argument, Call, Code, Name, Words
from utmost.privacy import ZCDP, ApproxDP, ApproxGaussianDP, GaussianDP, Level, PureDP
from utmost.solution import Problem, Solution, certificate_of, proved_bound
from utmost.space.integers import Holders
from utmost.space.line import cost, require_line_loss
from utmost.theory.partition_selection.mechanism import MOST_CHANGES, ThresholdedKeys, ThresholdLaw
from utmost.theory.vector.design.vectors import best_vector

LOSS_SHARES = (0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Shares of delta for the loss probability of Gaussian steps that are tried; the rest is the Gaussian's own delta."""
LEAST_LOSS = 1e-30
"""Gaussian steps with a smaller loss probability are not tried: they would need thousands of bits."""
MOST_SPLITS = 48
HALF = Fraction(1, 2)
"""The default share of a level for the keys."""
ROUNDED = 1 - 1e-11
"""Shares are rounded down by this factor, so that exact arithmetic finds them within the level."""


@lru_cache(maxsize=64)
def best_keys(
    space: Holders, level: Level, with_count: bool = False, loss: str = "absolute", share: Fraction = HALF
) -> Solution:
    """The mechanism that releases as many keys as a level allows, with a count or other numbers beside each.

    Parameters
    ----------
    space : Holders
        The number of keys that one neighbour changes, and what it does to the numbers beside them.
    level : ApproxDP or ApproxGaussianDP
        With a delta above 0: it is the probability that a key with a single holder is released.
    with_count : bool
        Whether the number of holders is released beside the key; it costs nothing.
    loss : "absolute", "squared", "zero-one" or "within k"
        The loss of the released numbers, if there are any.
    share : Fraction
        The share of epsilon, or of mu squared, for the keys, where numbers other than the count are released.

    Returns
    -------
    Solution
        Its value is the mean number of holders that a key needs to be released.

    Examples
    --------
    >>> best = best_keys(Holders(20_000, 1, "add-remove"), ApproxDP(1, 1e-6))
    >>> round(best.value, 6), best.certificate.claim, bool(best.verify())
    (14.067454, 'theorem', True)
    """
    level = require_delta(level)
    if with_count or space.numbers is not None:
        require_line_loss(loss)
    if space.changes > MOST_CHANGES:
        raise InvalidInput(
            f"one neighbour changes {space.changes} keys; at most {MOST_CHANGES} can be hidden: lower ",
            Name("keys_each"),
            ".",
        )
    spent: tuple[Level, ...] = (level,) if space.numbers is None else shares(level, share)
    law = best_law(space.changes, spent[0])
    law.draw(1)  # fails before anything is spent if exact draws are impossible; involves no private data
    noise = None
    if space.numbers is not None:
        several = space.numbers.dimension > 1
        noise = best_vector(space.numbers, spent[1], loss, independent=several).mechanism
    mechanism = ThresholdedKeys(law, best_border(law, loss) if with_count else None, noise, spent)
    share_data = {} if share == HALF else {"share": str(share)}
    problem = Problem("keys.shown", space, level, {"loss": loss, "counted": int(with_count), **share_data})
    if space.changes == 1 and noise is None:
        certificate = certificate_of(problem, mechanism, "theorem")
    else:
        bound = min(proved_bound(problem, {}), law.mean_users)
        certificate = certificate_of(problem, mechanism, "bound", bound, law.mean_users - bound)
    return Solution(problem, mechanism, law.mean_users, certificate)


def require_delta(level: Level) -> ApproxDP | ApproxGaussianDP:
    """Return the level if keys can be released at it; otherwise raise with a remedy."""
    if isinstance(level, ApproxDP) and 0 < level.delta < 1 and level.exponent != math.inf:
        return level
    if isinstance(level, ApproxGaussianDP) and level.mu != math.inf:
        return level
    delta = Code("1e-6", 1e-6)
    remedy = Words("an (epsilon, delta) level, such as ", Call("um.ApproxDP", 1, delta))
    if isinstance(level, GaussianDP) and level.mu != math.inf:
        remedy = Words("it a delta for the keys, such as ", _gaussian(level.mu, delta))
    if isinstance(level, ZCDP) and level.rho != math.inf:
        mu = _root(2 * Fraction(level.rho), 10**6)
        remedy = Words("a Gaussian level with a delta, such as ", _gaussian(mu, delta), ", which implies it")
    raise UnsupportedLevel(
        Name("privacy"),
        f" is {level}: at a level without a delta, a key that one unit alone holds is never shown, and so none "
        "is. Give ",
        remedy,
        ", or list the keys: ",
        Argument("by", Call("um.keys", ...)),
        ".",
    )


def _gaussian(mu: Fraction | float, delta: Code) -> Call:
    """How a Gaussian level with a delta is written."""
    return Call("um.ApproxGaussianDP", Code(f"{as_literal(mu)}", float(mu)), delta)


def shares(level: ApproxDP | ApproxGaussianDP, share: Fraction = HALF) -> tuple[Level, Level]:
    """Split a level: a share of epsilon, or of mu squared, and all of delta for the keys; the rest for the numbers.

    Examples
    --------
    >>> shares(ApproxDP(1, 1e-6)), shares(ApproxGaussianDP(1, 1e-6), Fraction(16, 25))
    ((ApproxDP(0.5, 1e-06), PureDP(0.5)), (ApproxGaussianDP(0.8, 1e-06), GaussianDP(0.6)))
    """
    if isinstance(level, ApproxGaussianDP):
        squared = Fraction(level.mu) ** 2
        keys, numbers = _root(squared * share), _root(squared * (1 - share))
        return ApproxGaussianDP(keys, level.delta), GaussianDP(numbers)
    epsilon = _decimal(level)
    return ApproxDP(epsilon * share, level.delta), PureDP(epsilon * (1 - share))


def _root(squared: Fraction, digits: int = 10**15) -> Fraction:
    """The square root, rounded down."""
    return Fraction(math.isqrt(squared.numerator * digits**2 // squared.denominator), digits)


def _decimal(level: ApproxDP) -> Fraction:
    """Epsilon as a rational; for a rational e^epsilon, a decimal just below its logarithm."""
    if level.ratio == 1:
        return Fraction(level.exponent)
    return Fraction(int(level.log_growth * (1 - 2**-40) * 10**12), 10**12)


@lru_cache(maxsize=64)
def best_law(changes: int, level: Level) -> ThresholdLaw:
    """The threshold law with the lowest mean among all known ones, if one neighbour changes so many keys by one unit.

    Examples
    --------
    >>> [best_law(keys, ApproxDP(1, 1e-6)).half for keys in (1, 2, 10)]
    [14, 27, 72]
    """
    if isinstance(level, ApproxGaussianDP):
        return _gaussian_law(changes, level)
    assert isinstance(level, ApproxDP)
    if changes == 1:
        return ThresholdLaw(level)
    candidates: list[tuple[float, int, ThresholdLaw]] = []
    for place, law in enumerate((*_composition_laws(changes, level), *_gaussian_laws(changes, level))):
        try:
            candidates.append((law.mean_users, place, law))
        except TooLarge:
            continue
    for _, _, law in sorted(candidates):
        if law.keeps(changes, level):
            return law
    raise InvalidInput(
        f"at {level} next to no key would be shown if one neighbour changes {changes} of them; allow a larger level, "
        "or fewer keys of each unit."
    )


def _gaussian_law(changes: int, level: ApproxGaussianDP) -> ThresholdLaw:
    """Gaussian steps that compose to a Gaussian level with a delta: mu over the root of their number, and so on."""
    if changes == 1:
        return ThresholdLaw(GaussianDP(level.mu), level.delta)
    lost = -math.expm1(math.log1p(-float(level.delta)) / changes) * ROUNDED
    return ThresholdLaw(GaussianDP(_root(Fraction(level.mu) ** 2 / changes)), Fraction(f"{lost:.15g}"))


def _composition_laws(changes: int, level: ApproxDP) -> Iterator[ThresholdLaw]:
    """Equal (epsilon, delta) levels that compose to the level: larger epsilons leave less delta for the steps."""
    epsilon, delta = _decimal(level), float(level.delta)
    usable = []
    for i in range((changes + 1) // 2):
        composition_delta = _composed_delta(float(epsilon) / (changes - 2 * i), changes, i)
        if composition_delta >= delta * ROUNDED:
            break
        usable.append((i, composition_delta))
    places = np.unique(np.linspace(0, len(usable) - 1, min(MOST_SPLITS, len(usable))).astype(int))
    for i, composition_delta in (usable[place] for place in places):
        step_delta = -math.expm1((math.log1p(-delta) - math.log1p(-composition_delta)) / changes)
        yield ThresholdLaw(ApproxDP(epsilon / (changes - 2 * i), Fraction(f"{step_delta * ROUNDED:.15g}")))


def _composed_delta(epsilon: float, changes: int, i: int) -> float:
    """The delta at (changes - 2i) epsilon of the composition of so many pure levels, in floats."""
    from scipy.special import gammaln

    terms = np.arange(i)
    ways = gammaln(changes + 1) - gammaln(terms + 1) - gammaln(changes - terms + 1)
    base = ways + (changes - 2 * i + terms) * epsilon - changes * np.logaddexp(0.0, epsilon)
    return float(np.sum(np.exp(base) * np.expm1(2 * (i - terms) * epsilon)))


def _gaussian_laws(changes: int, level: ApproxDP) -> Iterator[ThresholdLaw]:
    """Gaussian steps with a loss probability, for several shares of delta."""
    delta = float(level.delta)
    for share in LOSS_SHARES:
        loss_probability = share * delta
        mu = (
            _gaussian_mu(level.log_growth, (delta - loss_probability) / (1 - loss_probability))
            / math.sqrt(changes)
            * ROUNDED
        )
        lost = -math.expm1(math.log1p(-loss_probability) / changes) * ROUNDED
        if mu > 0 and lost > LEAST_LOSS:
            yield ThresholdLaw(GaussianDP(Fraction(f"{mu:.15g}")), Fraction(f"{lost:.15g}"))


def _gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu whose delta at an epsilon is at most this (Balle and Wang 2018)."""
    from scipy.special import log_ndtr

    def delta_of(mu: float) -> float:
        high, low = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
        return float(np.exp(high) * -np.expm1(low - high))

    low, high = 1e-9, 100.0
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if delta_of(middle) <= delta else (low, middle)
    return low if delta_of(low) <= delta else 0.0


def best_border(law: ThresholdLaw, loss: str) -> int:
    """The best number to add to n - T as the released count: the median of T for absolute errors."""
    thresholds = np.arange(1, law.sure + 1)
    if loss == "absolute":
        return law.half
    if loss == "squared":
        return max(1, round(law.mean_users))
    losses = [float(law.chances @ cost(loss, np.abs(border - thresholds))) for border in thresholds.tolist()]
    return int(np.argmin(losses)) + 1
