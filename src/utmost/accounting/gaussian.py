"""The delta of Gaussian levels, alone and together with a few discrete losses, in ball arithmetic."""

from __future__ import annotations

from fractions import Fraction

from flint import arb, ctx

from utmost.accounting.outcomes import Outcomes
from utmost.accounting.privacy_losses import ULP
from utmost.exact import BITS, MOST_BITS, as_fmpq, downward, endpoints, upward

ENOUGH_BITS = 60
FAR = 44
SLIVER = arb(0, arb("1e-400"))
"""A ball around 0 below the smallest float."""


def gaussian_delta(squared_mu: Fraction, epsilon: Fraction) -> tuple[float, float]:
    """Bounds on the delta of mu-Gaussian DP, mu > 0: Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu).

    For any real epsilon: after another loss is subtracted, it may be negative.
    """
    with ctx.workprec(BITS):  # wider by a sliver, since the ends of an all but exact ball have millions of digits
        ball = _enclose_delta(squared_mu, abs(epsilon)) + SLIVER
        if epsilon < 0:  # delta(-e) = 1 - e^-e + e^-e delta(e), by symmetry
            ball = 1 - (1 - ball) * arb(as_fmpq(epsilon)).exp() + SLIVER
        if not abs(ball) < 2:
            return 0.0, 1.0
        low, high = endpoints(ball)
    return max(0.0, downward(low)), min(1.0, upward(max(Fraction(0), high)))


def _enclose_delta(squared_mu: Fraction, epsilon: Fraction) -> arb:
    """A ball around the delta at an epsilon of 0 or more, with as many bits as its digits need.

    Where a = eps/mu - mu/2 is beyond 44, both terms are below e^-968 (the second is the density at a times a Mills
    ratio below 2); where a is below -44, they differ from 1 and 0 by as little.
    """
    above = epsilon - squared_mu / 2
    if above**2 > FAR**2 * squared_mu:
        return SLIVER if above > 0 else 1 + SLIVER
    bits = BITS
    while True:
        with ctx.workprec(bits):
            mu, e, root = arb(as_fmpq(squared_mu)).sqrt(), arb(as_fmpq(epsilon)), arb(2).sqrt()
            ball = ((e / mu - mu / 2) / root).erfc() / 2 - e.exp() * ((e / mu + mu / 2) / root).erfc() / 2
        if ball.rel_accuracy_bits() >= ENOUGH_BITS or bits > MOST_BITS:
            return ball
        bits *= 4


def mixed_delta(outcomes: Outcomes, squared_mu: Fraction, epsilon: float) -> tuple[float, float]:
    """Bounds on E[(1 - e^(epsilon - L))+] for a Gaussian loss plus an independent discrete one.

    Given the discrete loss, the rest is Gaussian. `outcomes` must be in one list.
    """
    shift = Fraction(outcomes.shift) + Fraction(2 * ULP * abs(epsilon))
    slack = Fraction(outcomes.relative)
    lower = upper = Fraction(0)
    for value, mass in zip(*(column.tolist() for column in outcomes.first), strict=True):
        remainder = Fraction(epsilon) - Fraction(value)
        lower += Fraction(mass) * Fraction(gaussian_delta(squared_mu, remainder + shift)[0])
        upper += Fraction(mass) * Fraction(gaussian_delta(squared_mu, remainder - shift)[1])
    low, high = lower * max(Fraction(0), 1 - slack), upper * (1 + slack) + Fraction(outcomes.missing)
    return max(0.0, downward(low)), min(1.0, upward(high))
