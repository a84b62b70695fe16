"""Whether a simple local mechanism is optimal at an epsilon: signs of the theory's conditions, in ball arithmetic.

With q = 1/(e^eps - 1), let phi(B) be what a block B of letters contributes to the value, and V the value of the simple
mechanism. Another mechanism with blocks B is better if and only if the sum over its blocks of phi(B) - q V exceeds V.

Randomised response has V = sum of phi(i) / (1 + k q), so it is optimal if and only if for every block B

    sum over i in B of phi(i) - phi(B) >= (|B| - 1) q V,

since the differences for the blocks of a partition add up. For hypothesis testing the blocks are those of letters that
are contiguous in the order of P0/P1, for mutual information all sets of letters (LIM (B.54)). Differences of order q
cancel in floating point at large epsilon, hence balls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
from flint import arb, ctx

from utmost.exact import as_rational
from utmost.exact.arithmetic import as_fmpq
from utmost.exact.arrays import Floats

Perspective = Callable[[arb, arb], arb]

EQUAL_BITS = 100
"""Two values that agree to this many bits are equal."""


def _kl(z: arb, t: arb) -> arb:
    return z * (z / t).log() - z + t


ENCLOSED: dict[str, Perspective] = {
    "kl": _kl,
    "reverse-kl": lambda z, t: _kl(t, z),
    "tv": lambda z, t: abs(z - t) / 2,
    "chi2": lambda z, t: (z - t) ** 2 / t,
    "hellinger": lambda z, t: (z.sqrt() - t.sqrt()) ** 2 / 2,
    "js": lambda z, t: (_kl(z, (z + t) / 2) + _kl(t, (z + t) / 2)) / 2,
}
"""The perspective t f(z/t) of the named divergences, for positive z and t."""


def enclosed_perspective(name: str) -> Perspective | None:
    """The perspective of a divergence by its name; None for a function of the user's own."""
    if name.startswith("hockey-stick "):
        gamma = as_fmpq(as_rational(name.removeprefix("hockey-stick "), "gamma"))
        return lambda z, t: (z - gamma * t).max(arb(0))
    return ENCLOSED.get(name)


def precision(epsilon: float) -> int:
    """The bits at which differences of order e^(-2 eps) are resolved."""
    return 256 + int(3 * epsilon)


def exact_offset(epsilon: float) -> arb:
    """Q = 1/(e^eps - 1) for a float that means its shortest decimal, at the working precision."""
    return 1 / arb(as_fmpq(as_rational(epsilon))).expm1()


class Blocks:
    """The contributions phi(q + P0(B), q + P1(B)) of contiguous blocks of letters, sorted by P0/P1, as balls.

    Parameters
    ----------
    p0, p1 : array of float
        The distributions, in the order of P0/P1; floats mean their shortest decimals.
    perspective : callable
        phi, as a function of balls.
    epsilon : float
        The level.
    """

    def __init__(self, p0: Floats, p1: Floats, perspective: Perspective, epsilon: float) -> None:
        self.k, self.q, self._perspective = len(p0), exact_offset(epsilon), perspective
        self._sums = [list(accumulate(map(as_rational, p.tolist()), initial=Fraction(0))) for p in (p0, p1)]

    def phi(self, start: int, end: int) -> arb:
        """The contribution of the letters start..end-1."""
        return self._perspective(*(self.q + as_fmpq(sums[end] - sums[start]) for sums in self._sums))

    def value(self, ends: list[int]) -> arb:
        """The divergence between the answers of randomised response on blocks with these ends."""
        return sum((self.phi(*block) for block in pairwise([0, *ends])), arb(0)) / (1 + len(ends) * self.q)


def response_is_best(p0: Floats, p1: Floats, perspective: Perspective, epsilon: float, rounded: Floats) -> bool:
    """Whether randomised response on sorted letters is optimal for testing, by the sign condition of every block.

    Parameters
    ----------
    p0, p1, perspective, epsilon
        As in `Blocks`.
    rounded : array of float
        The condition's left side minus its right side for the block i..j at [i, j], divided by the value, in floating
        point: blocks above 1e-9 are not computed again.
    """
    with ctx.workprec(precision(epsilon)):
        blocks = Blocks(p0, p1, perspective, epsilon)
        single = list(accumulate((blocks.phi(i, i + 1) for i in range(blocks.k)), initial=arb(0)))
        price = blocks.q * single[-1] / (1 + blocks.k * blocks.q)
        doubtful = np.argwhere(np.triu(rounded <= 1e-9, 1))
        return all(
            _is_not_below(single[j + 1] - single[i] - blocks.phi(i, j + 1), (j - i) * price)
            for i, j in doubtful.tolist()
        )


def binary_is_best(p0: Floats, p1: Floats, perspective: Perspective, epsilon: float, cuts: set[int]) -> bool:
    """Whether two blocks, cut at the better of these places, are optimal for testing: no partition has a larger value.

    The best sum over the blocks of phi - q V is a longest path over k points (see `partitions.sweep`).
    """
    with ctx.workprec(precision(epsilon)):
        blocks = Blocks(p0, p1, perspective, epsilon)
        value = arb(0)
        for cut in cuts:
            value = value.max(blocks.value([cut, blocks.k] if 0 < cut < blocks.k else [blocks.k]))
        price = blocks.q * value
        best = [arb(0)]
        for end in range(1, blocks.k + 1):
            sums = [best[start] + blocks.phi(start, end) for start in range(end)]
            most = sums[0]
            for candidate in sums[1:]:
                most = most.max(candidate)
            best.append(most - price)
        return _is_not_below(value, best[-1])


def response_is_most_informative(prior: Floats, epsilon: float, rounded: Floats) -> bool:
    """Whether randomised response maximises mutual information, by the sign condition of every set of letters.

    Parameters
    ----------
    prior : array of float
        Positive probabilities of the letters.
    epsilon : float
        The level.
    rounded : array of float
        The condition's left side minus its right side for the set of the bits of j at j - 1, divided by the value, in
        floating point: sets above 1e-11 are not computed again.
    """
    with ctx.workprec(precision(epsilon)):
        q, k = exact_offset(epsilon), len(prior)
        shares = [arb(as_fmpq(as_rational(p))) for p in prior.tolist()]
        single = [_informed(q, p) for p in shares]
        price = q * sum(single, arb(0)) / (1 + k * q)
        for j in (np.flatnonzero(rounded <= 1e-11) + 1).tolist():
            letters = [i for i in range(k) if j >> i & 1]
            together = _informed(q, sum((shares[i] for i in letters), arb(0)))
            if not _is_not_below(sum((single[i] for i in letters), -together), (len(letters) - 1) * price):
                return False
        return True


def _informed(q: arb, mass: arb) -> arb:
    """The mutual information that a pattern q + 1_A carries, by the prior probability of A."""
    mean = q + mass
    return mass * (1 + q) * ((1 + q) / mean).log() + (1 - mass) * q * (q / mean).log()


def _is_not_below(value: arb, limit: arb) -> bool:
    """Whether a value is at or above a limit, where equal to `EQUAL_BITS` bits counts as equal."""
    return not value * (1 + math.ldexp(1, -EQUAL_BITS)) < limit
