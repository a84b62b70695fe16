"""The delta of Gaussian levels, alone and together with a few discrete losses, in ball arithmetic."""

from __future__ import annotations

from fractions import Fraction

from flint import arb, ctx

from utmost.accounting.amounts import BITS, downward, upward
from utmost.accounting.losses import ULP
from utmost.accounting.outcomes import Outcomes
from utmost.exact import as_fmpq, endpoints

ENOUGH_BITS = 60
VANISHES = Fraction(1, 10**400)
"""What is smaller than this needs no digits: no float holds it."""


def gaussian_delta(squared_mu: Fraction, epsilon: Fraction) -> tuple[float, float]:
    """Bounds on the delta of mu-Gaussian DP, mu > 0: Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu).

    Of any real epsilon: mixed with other losses, the rest of epsilon may be negative.
    """
    ball = enclose_delta(squared_mu, epsilon)
    low, high = endpoints(ball)
    return max(0.0, downward(low)), min(1.0, upward(max(Fraction(0), high)))


def enclose_delta(squared_mu: Fraction, epsilon: Fraction) -> arb:
    """A ball around the delta of mu-Gaussian DP, with as many bits as its digits need."""
    reach = epsilon / 2 - squared_mu / 4 if epsilon > 0 else Fraction(0)
    if reach > 0 and reach**2 > 500 * squared_mu:  # eps/mu - mu/2 > 44, and a normal number exceeds 44 with e^-968/2
        return arb(0, arb("1e-400"))
    bits = BITS
    while True:
        with ctx.workprec(bits):
            mu, e, root = arb(as_fmpq(squared_mu)).sqrt(), arb(as_fmpq(epsilon)), arb(2).sqrt()
            ball = ((e / mu - mu / 2) / root).erfc() / 2 - e.exp() * ((e / mu + mu / 2) / root).erfc() / 2
        if ball.rel_accuracy_bits() >= ENOUGH_BITS or bits > 2**14 or abs(ball) < as_fmpq(VANISHES):
            return ball
        bits *= 4


def mixed_delta(outcomes: Outcomes, squared_mu: Fraction, epsilon: float) -> tuple[float, float]:
    """Bounds on E[(1 - e^(epsilon - L))+] for a Gaussian loss plus one of a list: given that one, the rest is Gaussian.

    `outcomes` are in one list.
    """
    shift = Fraction(outcomes.shift) + Fraction(2 * ULP * abs(epsilon))
    slack = Fraction(outcomes.relative)
    lower = upper = Fraction(0)
    for value, mass in zip(*(column.tolist() for column in outcomes.first), strict=True):
        rest = Fraction(epsilon) - Fraction(value)
        lower += Fraction(mass) * Fraction(gaussian_delta(squared_mu, rest + shift)[0])
        upper += Fraction(mass) * Fraction(gaussian_delta(squared_mu, rest - shift)[1])
    low, high = lower * max(Fraction(0), 1 - slack), upper * (1 + slack) + Fraction(outcomes.missing)
    return max(0.0, downward(low)), min(1.0, upward(high))
