"""Canonical noise on the real line, for every concave level (Awan and Vadhan 2023).

With U the level's upper function and c the point where U(c) = 1 − c, the law rises in a straight line from c to 1 − c
between −½ and ½ (in units of the sensitivity), and from there on follows the level: F(x + 1) = U(F(x)). So a test
between two answers that are one sensitivity apart is exactly as good as the level allows, at every threshold: no
privacy is wasted. At pure levels it is the staircase with γ = ½ (Tulap), which is optimal for no cost but close to it
for small ε; on integers the same construction is optimal for every cost (`um.noise.canonical`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput, shown
from utmost.exact import Number, as_rational, to_float
from utmost.exact.arrays import Floats
from utmost.mechanism.certification import Check
from utmost.mechanism.noise.canonical import require_canonical
from utmost.privacy import Level, as_level
from utmost.solution import Verification
from utmost.theory.scalar.design.noise_arguments import as_size

CELLS, NEGLIGIBLE, MOST_STEPS = 2000, 1e-15, 100_000
"""Cells per piece of the law for means; tails that are ignored; the most pieces."""
REASON = "Awan and Vadhan 2023: a law that follows its level is private for every event, not only for thresholds"


@dataclass(frozen=True, eq=False)
class ContinuousNoise:
    """Canonical noise for real answers with a given sensitivity: for study, and for choosing a grid.

    Attributes
    ----------
    level : Level
        The privacy level that it satisfies.
    sensitivity : float
        The largest distance between neighbours' answers.
    """

    level: Level
    sensitivity: float

    @cached_property
    def _corner(self) -> float:
        """c, where the straight piece begins."""
        return float(self.level.even_share()[1])

    def cdf(self, x: ArrayLike) -> Any:
        """The probability of noise at or below x: a float, or an array of them.

        Examples
        --------
        >>> import utmost as um
        >>> um.noise.canonical_continuous(1.0).cdf([-0.5, 0, 0.5]).round(6)
        array([0.268941, 0.5     , 0.731059])
        """
        units = np.asarray(x, dtype=float) / self.sensitivity
        steps = np.floor(np.abs(units) + 0.5).astype(np.int64)
        inner = np.abs(units) - steps  # from -1/2 to 1/2, of the mirrored upper half
        base = np.clip(0.5 + (1 - 2 * self._corner) * inner, self._corner, 1 - self._corner)
        lower = self.level.lower_after(steps, 1 - base)  # the tail beyond |x|, without loss of digits
        probabilities = np.where(units < 0, lower, 1 - lower)
        return float(probabilities) if np.ndim(x) == 0 else probabilities

    def simulate(self, size: int, rng: Any = None) -> NDArray[np.float64]:
        """Noise from a seeded generator in floating point: for study, never for release."""
        share = np.random.default_rng(rng).uniform(size=as_size(size))
        tail, sign = np.minimum(share, 1 - share), np.where(share < 0.5, -1.0, 1.0)
        steps = np.zeros(len(share))
        for _ in range(MOST_STEPS):
            out = tail < self._corner
            if not out.any():
                break
            tail[out] = self.level.upper(tail[out])
            steps[out] += 1
        inside = 1 - 2 * self._corner
        away = steps + (0.5 - tail) / inside if inside > 0 else steps
        return np.asarray(sign * away * self.sensitivity)

    def mean(self, cost: str | Callable[[Floats], Floats] = "l1", cells: int = CELLS) -> float:
        """The expected cost of a draw, for any cost that grows with |x|: "l1", "l2", or a function of |x|.

        Examples
        --------
        >>> import utmost as um
        >>> noise = um.noise.canonical_continuous(um.GaussianDP(1))
        >>> round(noise.mean("l1"), 4), round(noise.mean(lambda x: x > 2), 4)
        (0.7989, 0.0455)
        """
        costs: dict[Any, Callable[[Floats], Floats]] = {"l1": lambda x: x, "l2": lambda x: x**2}
        price = cost if callable(cost) else costs.get(cost)
        if price is None:
            raise InvalidInput(f"cost is {shown(cost)}; say 'l1', 'l2', or give a function of |x| that does not fall.")
        edges = np.linspace(-0.5, 0.5, cells + 1)
        inner = 0.5 + (1 - 2 * self._corner) * edges  # the law in the straight piece, then shifted outwards
        total, tail = 0.0, 1 - inner
        for step in range(MOST_STEPS):
            masses = tail[:-1] - tail[1:]
            where = np.abs(edges[:-1] + edges[1:]) / 2 + 0.0 if step == 0 else step + (edges[:-1] + edges[1:]) / 2
            worth = np.asarray(price(where * self.sensitivity), dtype=float)
            total += (1.0 if step == 0 else 2.0) * float(masses @ worth)
            tail = self.level.lower(tail)
            if tail[0] < NEGLIGIBLE:
                break
        return total

    def verify(self) -> Verification:
        """Check numerically that the law follows its level and is even, and no event on fine cells violates the level.

        Privacy for all events rests on the theorem; here it is checked in floating point, for shifts up to the
        sensitivity and events made of small cells.
        """
        x = np.linspace(-8, 8, 1601) * self.sensitivity
        cdf, shifted_cdf = self.cdf(x), self.cdf(x + self.sensitivity)
        follows = float(np.abs(self.level.upper(np.minimum(cdf, 1 - 1e-300)) - shifted_cdf)[cdf > 0].max(initial=0.0))
        even = float(np.abs(self.cdf(x) + self.cdf(-x) - 1).max())
        worst = max(self._excess(by, growth) for by in (0.1, 0.37, 0.5, 0.8, 1.0) for growth in (1.0, 1.3, 2.0, 5.0))
        rising = float(np.diff(cdf).min(initial=0.0))
        checks = (
            Check("privacy", worst <= 1e-9, f"no event of small cells exceeds the level by more than {worst:.1g}"),
            Check("orbit", follows <= 1e-10, f"F(x + 1) = upper(F(x)) within {follows:.1g}"),
            Check("law", even <= 1e-12 and rising >= -1e-15, f"even within {even:.1g}, and never falling"),
        )
        return Verification(checks[0].passed, "unproved", math.inf, checks, REASON)

    def _excess(self, shift: float, growth: float) -> float:
        """By how much the worst events of small cells exceed a supporting line of the level, after such a shift."""
        edges = np.arange(-4000, 4001) * (self.sensitivity / 100)
        p, q = (np.diff(self.cdf(edges - distance * self.sensitivity)) for distance in (0.0, shift))
        allowed = float(self.level.intercept(np.array([growth]))[0])
        return float(np.maximum(p - growth * q, 0.0).sum()) - allowed

    def __repr__(self) -> str:
        return f"ContinuousNoise at {self.level}, sensitivity {self.sensitivity:g}"


def canonical_continuous(privacy: Level | Number, sensitivity: Number = 1) -> ContinuousNoise:
    """Canonical noise on the real line, at any concave level.

    For study: floating-point noise on a floating-point answer is not private. To release, choose a grid and use
    `um.noise.canonical` on whole steps, or `um.noise.staircase(...).release(value, grid)` at pure levels.

    Parameters
    ----------
    privacy : level or number
        A number is an epsilon. (epsilon, delta), Gaussian and piecewise linear concave levels.
    sensitivity : number
        The largest distance between neighbours' answers.

    Examples
    --------
    >>> import utmost as um
    >>> noise = um.noise.canonical_continuous(um.ApproxDP(1, "0.01"))
    >>> noise.verify().private, round(noise.mean("l1"), 4)
    (True, 0.9146)
    """
    level, apart = as_level(privacy), as_rational(sensitivity, "the sensitivity")
    require_canonical(level)
    if apart <= 0:
        raise InvalidInput(f"the sensitivity is {shown(sensitivity)}; give a number above 0.")
    return ContinuousNoise(level, to_float(apart))
