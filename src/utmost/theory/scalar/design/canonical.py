"""Canonical noise: optimal integer noise for counts, at every concave level.

Awan and Vadhan (2023) and Awan and Ramasethu (arXiv 2308.08343): at sensitivity 1 no private noise on the integers has
a lower expected cost, for any cost that grows with |k|, convex or not. At pure levels it is the geometric law, at
mu-Gaussian levels a rounded Gaussian.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput
from utmost.exact import Number
from utmost.mechanism.certification import Check
from utmost.mechanism.noise.canonical import CanonicalLaw
from utmost.privacy import Level, as_level
from utmost.solution import Certificate, Verification
from utmost.space.line import Line, within
from utmost.theory.scalar.design.noise_arguments import (
    as_confidence,
    as_integers,
    as_private_vector,
    as_size,
    exact_integer,
)

COSTS = {"l1": "absolute", "l2": "squared"}


@dataclass(frozen=True, eq=False)
class CanonicalNoise:
    """Canonical noise at a level, with its exact law.

    Attributes
    ----------
    level : Level
        The privacy level that it satisfies at sensitivity 1.
    cost : str
        "l1" is |k|, "l2" is k^2, "within n" the probability of noise beyond ±n.
    law : CanonicalLaw
        The exact law.
    expected_cost : float
        The mean cost of one draw.
    certificate : Certificate
        Why no other noise is better.
    """

    level: Level
    cost: str
    law: CanonicalLaw
    expected_cost: float
    certificate: Certificate

    def probability(self, k: ArrayLike) -> Any:
        """The probability of noise k: a float, or an array of them."""
        return _float_or_array(self.law.probability(as_integers(k)))

    def tail(self, k: ArrayLike) -> Any:
        """The probability that the noise is at least k: a float, or an array of them."""
        return _float_or_array(self.law.tail(as_integers(k)))

    def half_width(self, confidence: Number) -> int:
        """The least n such that the noise is within ±n with at least this probability.

        Examples
        --------
        >>> canonical(1.0).half_width(0.95)
        3
        """
        return self.law.half_width(as_confidence(confidence))

    def sample(self, size: int | None = None) -> Any:
        """Draw noise exactly with the operating system's randomness: one draw, or an array of `size`."""
        draws = self.law.draw(1 if size is None else as_size(size))
        return int(draws[0]) if size is None else draws

    def release(self, value: Any) -> int:
        """Add exact noise to an integer: private at sensitivity 1."""
        return int(as_private_vector(value, 1, exact_integer, "whole number")[0]) + int(self.sample())

    def simulate(self, size: int, rng: Any = None) -> NDArray[np.int64]:
        """Noise from a seeded generator in floating point: for study, never for release."""
        generator, places = np.random.default_rng(rng), np.arange(-self.law.wide, self.law.wide + 1)
        masses = self.law.probability(places)
        return np.asarray(generator.choice(places, size=as_size(size), p=masses / masses.sum()))

    def verify(self) -> Verification:
        """Prove privacy again, and check the expected cost and that the tails follow the level."""
        private = self.law.prove(Line(None, None, 1), self.level)
        t = np.arange(1, min(self.law.wide, 1000) + 1)
        tail, previous = self.law.tail(t), self.law.tail(t - 1)
        off = float(np.abs(self.level.upper(tail) - previous)[tail > 0].max(initial=0.0))
        tight = Check("optimality", off < 1e-12, f"upper(Pr[X >= t]) = Pr[X >= t - 1] within {off:.1g}")
        value = self.law.mean(COSTS.get(self.cost, self.cost))
        cost = Check("cost", math.isclose(value, self.expected_cost, rel_tol=1e-12), f"{value:.10g}")
        checks = (private, tight, cost)
        proved: Any = "theorem" if all(check.passed for check in checks) else "unproved"
        return Verification(private.passed, proved, 0.0 if proved == "theorem" else math.inf, checks, REASON)

    def __repr__(self) -> str:
        return f"CanonicalNoise ({self.law.name}) at {self.level}, expected cost {self.expected_cost:.6g}"


REASON = "Awan and Vadhan 2023: no private noise on the integers costs less, where neighbours are at most one apart"


def canonical(privacy: Level | Number, cost: str = "l1") -> CanonicalNoise:
    """Optimal noise for a count, at any concave level: pure, (epsilon, delta), Gaussian, or a pair of knots.

    Parameters
    ----------
    privacy : level or number
        A number is an epsilon. `um.GaussianDP(1)` gives a Gaussian of standard deviation 1, rounded to integers
        (the *discrete* Gaussian of that width is not 1-Gaussian private); `um.ApproxDP(1, 1e-6)` a geometric law with
        truncated tails.
    cost : "l1", "l2" or "within n"
        What `expected_cost` states: the mean of |k|, of k^2, or the probability of noise beyond ±n. The noise is the
        same for all of them: it is optimal for every cost that grows with |k|.

    Examples
    --------
    >>> import utmost as um
    >>> round(um.noise.canonical(um.GaussianDP(1)).expected_cost, 6)
    0.763581
    >>> round(um.noise.canonical(um.ApproxDP(0.1, 0.01)).expected_cost, 6), bool(um.noise.canonical(1.0).verify())
    (6.494797, True)
    """
    level = as_level(privacy)
    if cost not in COSTS and (not isinstance(cost, str) or within(cost) is None):
        raise InvalidInput(f"cost is {cost!r}; say 'l1', 'l2' or 'within 3'.")
    law, loss = CanonicalLaw(level), COSTS.get(cost, cost)
    certificate = Certificate("theorem", REASON, "expected cost", "the orbit of the level's lower function")
    return CanonicalNoise(level, cost, law, law.mean(loss), certificate)


def _float_or_array(values: Any) -> Any:
    return float(values) if np.ndim(values) == 0 else values
