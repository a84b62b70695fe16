"""The rational number that stands for e^-epsilon: never below it, so that privacy holds in fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx

from utmost.errors import InvalidInput
from utmost.exact import MOST_BITS, Enclosed, ExpSum, as_fmpq, compare, endpoints
from utmost.privacy import ZCDP, ApproxDP, GaussianDP, Level

ZERO, ONE = ExpSum.rational(0), ExpSum.rational(1)


def enclose_decay(level: ApproxDP, bits: int, steps: int = 1) -> arb:
    """A ball around e^(-epsilon/steps), epsilon finite."""
    with ctx.workprec(bits + 64):
        return (enclose_epsilon(level) / -steps).exp()


@lru_cache(maxsize=1024)
def decay_above(level: ApproxDP, steps: int = 1) -> Fraction:
    """A rational at or just above e^(-epsilon/steps): to 64 bits, both of it and of what it lacks to 1.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> decay_above(PureDP.from_ratio(3)), keeps_level(PureDP(1), decay_above(PureDP(1)), steps=1)
    (Fraction(1, 3), True)
    """
    if level.exponent == math.inf:
        return Fraction(0)
    if level.exponent == 0 and steps == 1:
        return 1 / level.ratio
    exponent = max(level.log_growth / steps, 1e-300)
    if exponent > MOST_BITS * math.log(2):  # a file may name any epsilon; its decay would fill the memory
        return Fraction(1, 1 << MOST_BITS)
    bits = min(MOST_BITS, 66 + math.ceil(max(exponent / math.log(2), -math.log2(exponent))))
    high = endpoints(enclose_decay(level, 2 * bits, steps))[1]
    decay = Fraction(math.ceil(high * 2**bits), 2**bits)
    if decay >= 1:
        raise InvalidInput(f"privacy is {level} over {steps} steps: noise would have no end; allow a larger epsilon.")
    return decay


def keeps_level(level: ApproxDP, decay: Fraction, steps: int) -> bool:
    """Whether decay^steps is at least e^-epsilon: decided in exact arithmetic."""
    if level.exponent == math.inf:
        return True
    if decay <= 0:
        return False
    if steps == 1:
        return ExpSum.rational(decay * level.ratio).times(Fraction(1), Fraction(level.exponent)).compare(ONE) >= 0

    def slack(bits: int) -> arb:
        with ctx.workprec(bits + 64 + 2 * decay.denominator.bit_length()):
            return arb(as_fmpq(decay)).log() * steps + enclose_epsilon(level)

    return compare(Enclosed(slack), ZERO) >= 0


def enclose_epsilon(level: ApproxDP) -> arb:
    """Epsilon, at the working precision."""
    return arb(as_fmpq(level.ratio)).log() + as_fmpq(Fraction(level.exponent))


def implies_level(level: Level, decay: Fraction, steps: int) -> bool:
    """Whether probabilities that fall by at most decay^steps between neighbours keep a level: decided exactly.

    They keep the pure level 1/decay^steps; that implies another if the other allows the corner
    alpha = d/(1 + d) -> 1/(1 + d), d = decay^steps, of its upper function, and rho-zCDP if log(1/d)^2 <= 2 rho.
    """
    if steps == 0 or decay >= 1:
        return True
    if isinstance(level, ApproxDP) and keeps_level(level, decay, steps):
        return True
    if decay <= 0:
        return isinstance(level, ZCDP | GaussianDP) and math.inf in (getattr(level, "rho", 0), getattr(level, "mu", 0))

    def log_fall(bits: int) -> arb:
        with ctx.workprec(bits + 64 + 2 * decay.denominator.bit_length() + steps.bit_length()):
            return arb(as_fmpq(decay)).log() * steps

    if isinstance(level, ZCDP):
        if level.rho == math.inf:
            return True
        most = ExpSum.rational(2 * Fraction(level.rho))
        return compare(Enclosed(lambda bits: log_fall(bits) ** 2), most) <= 0
    if isinstance(level, ApproxDP) and level.delta == 0:
        return False

    def corner(bits: int, upper: bool) -> arb:
        with ctx.workprec(bits + 64):
            fall = log_fall(bits).exp()
            return 1 / (1 + fall) if upper else fall / (1 + fall)

    allowed = level.upper_exact(Enclosed(lambda bits: corner(bits, False)))
    return compare(allowed, Enclosed(lambda bits: corner(bits, True))) >= 0
