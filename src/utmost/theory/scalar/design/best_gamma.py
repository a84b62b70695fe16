"""The gamma with the lowest expected cost: in closed form if there is one, else by a minimisation with a proof.

The cost of a staircase is a quotient of two polynomials in gamma, N/D with D > 0 (LIM (2.9)). That no gamma in [0, 1]
costs less than (1 - 1e-12)·cost means N - (1 - 1e-12)·cost·D > 0 on [0, 1]: proved where all its Bernstein coefficients
are positive, on halves of the interval where they are not; where that fails, a better gamma has been found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import comb

from flint import arb, ctx

from utmost.errors import SolverFailed
from utmost.exact import as_fmpq, endpoints
from utmost.privacy import ApproxDP
from utmost.privacy.level import enclose_decay
from utmost.theory.scalar.design.staircase_radius import evaluate, shell_sums, working_bits

TOLERANCE = Fraction(1, 10**12)
ROUNDS, BITS = 64, 512


@lru_cache(maxsize=1024)
def best_gamma(level: ApproxDP, dimension: int, power: int) -> Fraction:
    """The gamma that minimises the mean of the radius to a power: 1 for the l1 cost, 2 for the l2 cost."""
    if dimension == 1:
        return endpoints(_closed_form(level, power, 128))[0]
    return _minimise(level, dimension, power)


def _closed_form(level: ApproxDP, power: int, bits: int) -> arb:
    """One dimension (Geng and Viswanath 2016): 1/(1 + e^(epsilon/2)) for |x|.

    For x^2, [(b(1+b)/2)^(1/3) - b] / (1 - b), written so that nothing cancels as b approaches 1.
    """
    with ctx.workprec(working_bits(level, bits)):
        b = enclose_decay(level, bits)
        if power == 1:
            return b.sqrt() / (1 + b.sqrt())
        root = (b * (1 + b) / 2).root(3)
        return b * (1 + 2 * b) / (2 * (root**2 + root * b + b**2))


def _minimise(level: ApproxDP, dimension: int, power: int) -> Fraction:
    bits, tiny = BITS, _fineness(level)
    starts = sorted({Fraction(i, 64) for i in range(1, 65)} | {Fraction(1, 2**i) for i in range(7, tiny)})
    top, bottom = (shell_sums(level, n, bits) for n in (dimension + power, dimension))
    with ctx.workprec(working_bits(level, bits)):

        def cost(gamma: Fraction) -> arb:
            return (evaluate(top, as_fmpq(gamma)) / evaluate(bottom, as_fmpq(gamma))).mid()

        start = min(starts, key=cost)
        for _ in range(ROUNDS):
            gamma = _narrow(cost, start, starts)
            better = better_gamma(level, dimension, power, gamma)
            if better is None:
                return gamma
            start = better
    raise SolverFailed(f"no best gamma could be proved at {level} in {dimension} dimensions; give gamma yourself.")


def better_gamma(level: ApproxDP, dimension: int, power: int, gamma: Fraction) -> Fraction | None:
    """A gamma that costs less than (1 - 1e-12) times the cost of this one; None if it is proved that there is none."""
    top, bottom = (shell_sums(level, n, BITS) for n in (dimension + power, dimension))
    padded = bottom + [arb(0)] * power
    with ctx.workprec(working_bits(level, BITS)):
        bound = (evaluate(top, as_fmpq(gamma)) / evaluate(bottom, as_fmpq(gamma))).mid() * as_fmpq(1 - TOLERANCE)
        return _find_negative([n - bound * d for n, d in zip(top, padded, strict=True)], 64 + _fineness(level))


def _fineness(level: ApproxDP) -> int:
    """The number of halvings of [0, 1] that tell gammas apart: the best is above e^-epsilon, and 0 is the same as 1."""
    return 8 + math.ceil(2 * level.log_growth)


def _narrow(cost: Callable[[Fraction], arb], start: Fraction, starts: list[Fraction]) -> Fraction:
    """Ternary search for the minimum near a start, to 64 bits."""
    low = max((x for x in starts if x < start), default=Fraction(0))
    high = min((x for x in starts if x > start), default=start)
    for _ in range(110):  # (2/3)^110 is below 2^-64
        left, right = (2 * low + high) / 3, (low + 2 * high) / 3
        low, high = (low, right) if cost(left) < cost(right) else (left, high)
    middle = (low + high) / 2
    scale = 2 ** (64 + middle.denominator.bit_length() - middle.numerator.bit_length())
    return min(Fraction(round(middle * scale), scale), start, key=cost)


def _find_negative(coefficients: list[arb], depth: int) -> Fraction | None:
    """A point of [0, 1] where a polynomial is negative, or None: then it is proved positive on all of [0, 1]."""
    n = len(coefficients) - 1
    bernstein = [sum((coefficients[k] * comb(i, k) / comb(n, k) for k in range(i + 1)), arb(0)) for i in range(n + 1)]
    waiting = [(bernstein, Fraction(0), Fraction(1))]
    while waiting:
        values, low, high = waiting.pop()
        if all(value > 0 for value in values):
            continue
        if values[0] < 0 or values[-1] < 0:
            return low if values[0] < 0 else high
        if high - low < Fraction(1, 2**depth):
            raise SolverFailed("the best gamma could not be distinguished from its neighbours; give gamma yourself.")
        left, right, middle = [], [], (low + high) / 2
        while values:
            left.append(values[0])
            right.append(values[-1])
            values = [(a + b) / 2 for a, b in pairwise(values)]
        waiting += [(left, low, middle), (right[::-1], middle, high)]
    return None
