"""zCDP accounting: the rho of a pure level, and the (epsilon, delta) that a total rho implies.

Under rho-zCDP the privacy loss L of a release satisfies E[e^(lambda L)] <= e^(lambda (lambda+1) rho) for every
lambda > 0, whatever was released before. So moment generating functions multiply along a sequence of releases whose
levels are fixed in advance, and for every real x, epsilon and lambda > 0

    (1 - e^(epsilon-x))+ <= e^(lambda (x-epsilon)) lambda^lambda / (lambda+1)^(lambda+1)

(the tangent argument of LIM (A.31); Canonne, Kamath and Steinke 2020, Proposition 12). Its mean over L bounds delta.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from flint import arb, ctx

from utmost.accounting.gaussian import SLIVER
from utmost.accounting.inversion import Transform
from utmost.accounting.outcomes import Part
from utmost.accounting.privacy_losses import ULP, Loss
from utmost.exact import BITS, as_fmpq, endpoints, rounded_up, to_float, upward
from utmost.privacy import ApproxDP
from utmost.privacy.level import enclose_epsilon

LOG_LAMBDAS = (-40.0, 60.0)
"""The range in which the best lambda is searched; any lambda gives a valid bound."""


def rho_of_pure(level: ApproxDP) -> Fraction | float:
    """The least rho for which epsilon-DP implies rho-zCDP, epsilon·tanh(epsilon/2), rounded up.

    Randomised response is the worst epsilon-DP mechanism (LIM (A.23)). Its loss has the moment generating function
    cosh((lambda + 1/2) epsilon)/cosh(epsilon/2). With x = epsilon/2 and s = (2 lambda + 1)^2, the logarithm is
    g(s) - g(1) for g(s) = log cosh(sqrt(s) x), which is concave: its slope x^2/2 · tanh(y)/y, y = sqrt(s) x, falls.
    So it is at most (s - 1) g'(1) = lambda (lambda + 1) epsilon tanh(epsilon/2); the first order in lambda attains it.
    Epsilon^2/2 (Bun and Steinke 2016, Proposition 3.3) is a little more.

    Parameters
    ----------
    level : PureDP or ApproxDP
        Its delta is ignored: given that the event of probability delta does not happen, the release is epsilon-DP.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> round(float(rho_of_pure(PureDP(1))), 6), round(float(rho_of_pure(PureDP(0.1))), 6)
    (0.462117, 0.004996)
    """
    if level.exponent == math.inf:
        return math.inf
    with ctx.workprec(BITS):
        epsilon = enclose_epsilon(level)
        bound = rounded_up(epsilon * (epsilon / 2).tanh())
        square = Fraction(level.exponent) ** 2 / 2 if level.ratio == 1 else rounded_up(epsilon**2 / 2)
    return min(bound, square)  # far below the grain, the square is the smaller number


def moment_delta(rho: Fraction, parts: Sequence[Part], epsilon: Fraction) -> float:
    """A delta at an epsilon for a total of `rho` and discrete losses: the bound of this module at the best lambda.

    The lambda is optimised in floating point; the bound is computed in ball arithmetic.

    Parameters
    ----------
    rho : Fraction
        Above 0; mu^2/2 for a Gaussian level, whose moment generating function is that of rho-zCDP.
    parts : sequence of (Loss, int)
        Finite losses with their numbers of occurrences.
    """
    from scipy.optimize import minimize_scalar

    log_moment, rounded = Transform(parts, 2 * to_float(rho)).log_moment, to_float(epsilon)

    def log_bound(log_lambda: float) -> float:
        x = math.exp(log_lambda)
        return log_moment(x) - x * (rounded + math.log1p(1 / x)) - math.log1p(x)

    minimum = minimize_scalar(log_bound, bounds=LOG_LAMBDAS, method="bounded", options={"xatol": 1e-9})
    lamda = Fraction(math.exp(float(minimum.x)))
    with ctx.workprec(BITS):
        x = arb(as_fmpq(lamda))
        ball = x * ((x + 1) * as_fmpq(rho) - as_fmpq(epsilon) + x.log()) - (x + 1) * (x + 1).log()
        ball += sum((count * _enclose_log_moment(loss, x) for loss, count in parts), arb(0))
        if not ball < 0:
            return 1.0
        return min(1.0, upward(max(Fraction(0), endpoints(ball.exp() + SLIVER)[1])))


def _enclose_log_moment(loss: Loss, x: arb) -> arb:
    """A ball whose upper end bounds the logarithm of a loss's moment generating function from above."""
    if isinstance(loss.level, ApproxDP):
        half = enclose_epsilon(loss.level) / 2
        return ((2 * x + 1) * half).cosh().log() - half.cosh().log()
    slack = arb(loss.blur)
    pairs = zip(loss.values.tolist(), loss.masses.tolist(), strict=True)
    return sum((arb(m) * (x * (arb(v) + 4 * ULP * abs(v))).exp() for v, m in pairs), arb(0)).log() + x * slack + 8 * ULP
