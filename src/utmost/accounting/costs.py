"""The cost of a level under each filter that converts it to another resource, such as rho or mu^2 (see `filters`).

All costs are exact, or rounded against the spender.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx

from utmost.accounting.composition import composed
from utmost.accounting.concentrated import rho_of_pure
from utmost.errors import InvalidInput
from utmost.exact import BITS, GRAIN, Amount, Number, as_fmpq, as_rational, rounded_down, rounded_up
from utmost.privacy import ZCDP, ApproxDP, ApproxGaussianDP, GaussianDP, Level
from utmost.privacy.level import enclose_epsilon, epsilon_of

NAMES = {
    "pure": ("epsilon",),
    "basic": ("epsilon", "delta"),
    "zcdp": ("rho", "delta"),
    "concentrated": ("rho",),
    "gaussian": ("mu²",),
    "gaussian-delta": ("mu²", "delta"),
}
"""The resources that each filter adds up."""


def gaussian_cost(level: ApproxDP) -> Fraction:
    """The square of the least mu for which epsilon-DP implies mu-Gaussian DP, rounded up.

    The region of epsilon-DP has one corner, at (1/(1+E), 1/(1+E)); a convex trade-off curve through (0, 1), that corner
    and (1, 0) lies below its sides, and the Gaussian one passes the corner at mu = 2 Phi^-1(E/(1+E)).
    """
    if level.exponent == 0 and level.ratio == 1:
        return Fraction(0)
    if level.log_growth < 2**-60:  # the slope of Phi^-1 near 1/2 is below 4, so mu <= 2 epsilon
        return Fraction(1, GRAIN)
    if level.log_growth > 500:  # the normal tail is at most e^(-x^2/2)/2, so mu^2 <= 8 epsilon
        with ctx.workprec(BITS):
            epsilon = enclose_epsilon(level)
        return rounded_up(8 * epsilon)
    with ctx.workprec(BITS + 2 * math.ceil(level.log_growth)):
        tail = 2 / (1 + epsilon_of(level).power().enclose(ctx.prec))
        return rounded_up(8 * tail.erfcinv() ** 2)


def rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A rho, rounded down, for which rho-zCDP implies (epsilon, delta)-DP, near the largest that the bound allows.

    For every lambda > 0 the excess (1 - e^(epsilon-x)) over x >= epsilon is at most
    e^(lambda (x-epsilon)) lambda^lambda / (lambda+1)^(lambda+1) (the tangent argument of LIM (A.31)). Taking means over
    the privacy loss, whose moment generating function at lambda is at most e^(lambda (lambda+1) rho) under rho-zCDP:

        delta <= exp(lambda ((lambda+1) rho - epsilon)) lambda^lambda / (lambda+1)^(lambda+1).

    (The same bound: Canonne, Kamath and Steinke 2020, Proposition 12.) It is solved for rho at a rational lambda in
    ball arithmetic; any lambda is valid, and the best one in floating point is taken.
    """
    from scipy.optimize import minimize_scalar

    target, slack = float(epsilon), math.log(delta.numerator) - math.log(delta.denominator)

    def least(log_lambda: float) -> float:
        x = math.exp(log_lambda)
        return -((slack + (x + 1) * math.log1p(x) - x * log_lambda) / x + target) / (x + 1)

    best = minimize_scalar(least, bounds=(-12, 40), method="bounded")
    lamda = Fraction(math.exp(float(best.x))).limit_denominator(10**6) or Fraction(1, 10**6)
    with ctx.workprec(BITS):
        x, one = arb(as_fmpq(lamda)), arb(1)
        rho = ((arb(as_fmpq(delta)).log() + (x + one) * (x + one).log() - x * x.log()) / x + arb(as_fmpq(epsilon))) / (
            x + one
        )
    return max(Fraction(0), rounded_down(rho))


def charged_rho_and_delta(level: Level) -> tuple[Amount, ...]:
    """The cost in rho, with the delta unchanged."""
    return *charged_rho(level), Amount(level.delta)


def charged_rho(level: Level) -> tuple[Amount, ...]:
    """The least rho of zCDP that a level implies, but for its delta."""
    if isinstance(level, ZCDP):
        return (Amount(level.rho),)
    if isinstance(level, GaussianDP | ApproxGaussianDP):
        return (Amount(math.inf if level.mu == math.inf else Fraction(level.mu) ** 2 / 2),)
    assert isinstance(level, ApproxDP)
    return (Amount(rho_of_pure(level)),)


def charged_mu(level: Level) -> tuple[Amount, ...]:
    """The square of the least mu of Gaussian privacy that a level implies, but for its delta."""
    if isinstance(level, GaussianDP | ApproxGaussianDP):
        return (Amount(math.inf if level.mu == math.inf else Fraction(level.mu) ** 2),)
    assert isinstance(level, ApproxDP)
    return (Amount(math.inf if level.exponent == math.inf else gaussian_cost(level)),)


def charged_mu_and_delta(level: Level) -> tuple[Amount, ...]:
    """The cost in mu squared, with the delta unchanged."""
    return *charged_mu(level), Amount(level.delta)


@lru_cache(maxsize=1024)
def even_share(levels: tuple[tuple[Level, int], ...], budget: ApproxDP) -> tuple[Amount, Amount]:
    """The (epsilon, delta) implied by Gaussian and zCDP levels together that takes the same share of both limits.

    Every (epsilon, delta) on the curve of the composition is valid; with this one the most releases fit into the
    budget. The share is a millionth larger than necessary, if there is room, so that it holds when it is recomputed on
    another machine.
    """
    total, whole = composed(levels), budget.delta
    if budget.exponent == math.inf:
        return Amount(math.inf), Amount(Fraction(0))
    epsilon = rational_below(epsilon_of(budget))

    def fits(share: Fraction) -> bool:
        return share * whole >= 1 or as_rational(total.delta(share * epsilon)) <= share * whole

    low, high = LEAST_SHARE, Fraction(1)
    while not fits(high):
        low, high = high, 2 * high
    if fits(low):
        high = low
    while high > low * (1 + SHARE_DIGITS):
        middle = Fraction(math.sqrt(low * high)).limit_denominator(2 * math.ceil(1 / (low * SHARE_DIGITS)))
        low, high = (low, middle) if fits(middle) else (middle, high)
    share = min(Fraction(1), high * (1 + SHARE_DIGITS)) if high <= 1 else high
    return Amount(share * epsilon), Amount(min(Fraction(1), share * whole))


def composed_cost(levels: Sequence[tuple[Level, int]], delta: Number) -> tuple[Amount, Amount]:
    """The epsilon of exact composition at a delta, and that delta."""
    share = as_rational(delta, "delta")
    if not 0 <= share <= 1:
        raise InvalidInput(f"delta is {delta!r}; it is a probability, so give a number between 0 and 1.")
    epsilon = composed(levels).epsilon(share)
    return Amount(math.inf if math.isinf(epsilon) else as_rational(epsilon)), Amount(share)


def rational_below(epsilon: Amount) -> Fraction:
    """A rational lower bound on a finite epsilon."""
    with ctx.workprec(BITS):
        return Fraction(epsilon.rational) if epsilon.ratio == 1 else rounded_down(epsilon.enclose())


LEAST_SHARE, SHARE_DIGITS = Fraction(1, 10**12), Fraction(1, 10**6)
"""The smallest share of a budget that a converted level takes, and the relative precision of shares."""
COSTS = {
    "zcdp": charged_rho_and_delta,
    "concentrated": charged_rho,
    "gaussian": charged_mu,
    "gaussian-delta": charged_mu_and_delta,
}
"""The cost of one release, for the filters that convert every release separately."""
PAYS: dict[str, tuple[type, ...]] = {
    "pure": (ApproxDP,),
    "basic": (ApproxDP, ApproxGaussianDP, GaussianDP, ZCDP),
    "zcdp": (ApproxDP, ApproxGaussianDP, GaussianDP, ZCDP),
    "concentrated": (ApproxDP, GaussianDP, ZCDP),
    "gaussian": (ApproxDP, GaussianDP),
    "gaussian-delta": (ApproxDP, ApproxGaussianDP, GaussianDP),
}
"""The kinds of levels that each filter accepts; deltas above 0 only where they are added up."""
WORDS = {
    "pure": "it pays for pure levels only, such as PureDP(0.1)",
    "basic": "it pays for pure, (epsilon, delta), zCDP and Gaussian levels",
    "zcdp": "it pays for pure, (epsilon, delta), zCDP and Gaussian levels",
    "concentrated": "it pays for pure, zCDP and Gaussian levels; no rho covers a delta above 0",
    "gaussian": "it pays for Gaussian and pure levels; no mu covers a delta above 0 (a budget of "
    "ApproxGaussianDP does), and zCDP has a price in a budget "
    "of ZCDP or ApproxDP only",
    "gaussian-delta": "it pays for Gaussian, pure and (epsilon, delta) levels; zCDP has a price in a budget of ZCDP or "
    "ApproxDP only",
}
