"""Privacy filters: rules that stop spending in time even if each level is chosen after seeing earlier answers.

Exact composition (`compose`) is for levels fixed in advance; as a stop rule for levels chosen on the way it is wrong
(docs/accounting.md has the counterexample). A filter fixes its limits when an account is opened and then only adds:

- pure budget: the sum of epsilons (basic composition, valid for adaptively chosen levels: Rogers et al. 2016);
- (epsilon, delta) budget, "basic": the sum of epsilons and the sum of deltas;
- (epsilon, delta) budget, "zcdp": the sum of rho and the sum of deltas (approximate zCDP filters, Whitehouse et al.
  2023; Feldman and Zrnic 2021 without delta), where an (epsilon, delta) spend counts epsilon^2/2 and delta, a Gaussian
  one mu^2/2 (Bun and Steinke 2016), and the limit of rho comes from `rho_within`;
- Gaussian budget: the sum of mu^2 (Smith and Thakurta 2022), where an epsilon-DP spend counts as
  mu = 2 Phi^-1(e^epsilon/(1+e^epsilon)): the Gaussian trade-off curve through the corner of its region.

All sums are exact; what is not rational is rounded against the spender.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb, ctx

from utmost.accounting.amounts import BITS, GRAIN, Amount, enclose_epsilon, epsilon_of, rounded_down, rounded_up
from utmost.accounting.composition import compose
from utmost.errors import InvalidInput, UnsupportedLevel, shown
from utmost.exact import Number, as_fmpq, as_rational
from utmost.privacy import ApproxDP, GaussianDP, Level, as_level, level_from_json

NAMES = {"pure": ("epsilon",), "basic": ("epsilon", "delta"), "zcdp": ("rho", "delta"), "gaussian": ("mu²",)}
"""What each filter adds up."""
ZERO = Amount(Fraction(0))


@dataclass(frozen=True)
class Filter:
    """A rule for spending a budget: every sum of costs stays within its limit.

    Examples
    --------
    >>> ten = choose(1)
    >>> ten.allows([ten.cost(as_level(0.1))] * 10), ten.allows([ten.cost(as_level(0.1))] * 11)
    (True, False)
    """

    name: str
    budget: Level
    limits: tuple[Amount, ...]

    @property
    def resources(self) -> tuple[str, ...]:
        """The names of what is added up."""
        return NAMES[self.name]

    def cost(self, level: Level | Number) -> tuple[Amount, ...]:
        """What one release at a level costs, or `UnsupportedLevel` if this budget cannot pay for its kind."""
        level = as_level(level)
        cost = COSTS[self.name](level)
        if cost is None:
            raise UnsupportedLevel(f"a {self.name} budget ({self.budget}) cannot pay for {level}; {PAYS[self.name]}.")
        return cost

    def batch_cost(self, levels: Sequence[tuple[Level, int]], delta: Number | None = None) -> tuple[Amount, ...]:
        """What releases declared together, before any answer, cost: (level, how often) each.

        With a basic filter and a `delta` for the whole, they cost what exact composition says: the epsilon at that
        delta. Otherwise they cost the sum of their costs, which for rho, mu^2 and pure epsilons is what composition
        says.
        """
        if delta is None:
            return self.total([tuple(a.times(count) for a in self.cost(level)) for level, count in levels])
        if self.name != "basic":
            raise InvalidInput(f"a {self.name} budget adds up without a delta of its own; leave delta out.")
        for level, _ in levels:
            self.cost(level)
        share = as_rational(delta, "delta")
        if not 0 <= share <= 1:
            raise InvalidInput(f"delta is {delta!r}; it is a probability, so give a number between 0 and 1.")
        epsilon = sum((compose(level, count) for level, count in levels), compose([])).epsilon(share)
        return Amount(math.inf if math.isinf(epsilon) else as_rational(epsilon)), Amount(share)

    def allows(self, costs: Sequence[tuple[Amount, ...]]) -> bool:
        """Whether these costs together stay within the limits."""
        return all(total <= limit for total, limit in zip(self.total(costs), self.limits, strict=True))

    def total(self, costs: Sequence[tuple[Amount, ...]]) -> tuple[Amount, ...]:
        """The sum of costs, one amount per resource."""
        nothing = (ZERO,) * len(self.limits)
        return tuple(sum(column, ZERO) for column in zip(nothing, *costs, strict=True))

    def to_json(self) -> dict[str, Any]:
        """The filter as plain data; `from_json` reads it back."""
        limits = [limit.to_json() for limit in self.limits]
        return {"name": self.name, "budget": self.budget.to_json(), "limits": limits}

    @classmethod
    def from_json(cls, data: Any) -> Filter:
        """The filter written by `to_json`."""
        limits = tuple(Amount.from_json(limit) for limit in data["limits"])
        if len(limits) != len(NAMES[data["name"]]):
            raise InvalidInput(f"a {data['name']} filter has {len(NAMES[data['name']])} limits, not {len(limits)}.")
        return cls(data["name"], level_from_json(data["budget"]), limits)


def choose(budget: Level | Number, name: str | None = None) -> Filter:
    """The filter of a budget: by its kind, or by name ("pure", "basic", "zcdp", "gaussian").

    Examples
    --------
    >>> round(float(choose(ApproxDP(1, 1e-6), "zcdp").limits[0]), 6)      # rho
    0.022937
    """
    budget = as_level(budget)
    if not isinstance(budget, ApproxDP | GaussianDP):
        raise UnsupportedLevel(f"a budget of {budget} has no filter; give PureDP, ApproxDP or GaussianDP.")
    fitting: tuple[str, ...] = ("gaussian",)
    if isinstance(budget, ApproxDP):
        fitting = ("basic", "zcdp") if budget.delta > 0 else ("pure",)
    chosen = name or fitting[0]
    if chosen not in fitting:
        raise InvalidInput(
            f"filter is {shown(chosen)}, but a budget of {budget} takes {' or '.join(map(repr, fitting))}."
        )
    return Filter(chosen, budget, _limits(budget, chosen))


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
        return rounded_up(8 * enclose_epsilon(level))
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


def _limits(budget: Level, name: str) -> tuple[Amount, ...]:
    if isinstance(budget, GaussianDP):
        return (Amount(budget.mu**2 if budget.mu == math.inf else Fraction(budget.mu) ** 2),)
    assert isinstance(budget, ApproxDP)
    if name == "pure":
        return (epsilon_of(budget),)
    if name == "basic":
        return epsilon_of(budget), Amount(budget.delta)
    half = budget.delta / 2  # one half for the conversion of rho, one for the deltas that are spent
    if budget.exponent == math.inf:
        return Amount(math.inf), Amount(half)
    epsilon = rounded_down(enclose_epsilon(budget)) if budget.ratio != 1 else Fraction(budget.exponent)
    return Amount(rho_within(epsilon, half)), Amount(half)


def _pure_cost(level: Level) -> tuple[Amount, ...] | None:
    return (epsilon_of(level),) if isinstance(level, ApproxDP) and level.delta == 0 else None


def _basic_cost(level: Level) -> tuple[Amount, ...] | None:
    return (epsilon_of(level), Amount(level.delta)) if isinstance(level, ApproxDP) else None


def _zcdp_cost(level: Level) -> tuple[Amount, ...] | None:
    if isinstance(level, GaussianDP):
        return (Amount(math.inf if level.mu == math.inf else Fraction(level.mu) ** 2 / 2), ZERO)
    if not isinstance(level, ApproxDP):
        return None
    if level.exponent == math.inf:
        rho: Fraction | float = math.inf
    elif level.ratio == 1:
        rho = Fraction(level.exponent) ** 2 / 2
    else:
        with ctx.workprec(BITS):
            rho = rounded_up(enclose_epsilon(level) ** 2 / 2)
    return Amount(rho), Amount(level.delta)


def _gaussian_cost(level: Level) -> tuple[Amount, ...] | None:
    if isinstance(level, GaussianDP):
        return (Amount(math.inf if level.mu == math.inf else Fraction(level.mu) ** 2),)
    if not isinstance(level, ApproxDP) or level.delta > 0:
        return None
    return (Amount(math.inf if level.exponent == math.inf else gaussian_cost(level)),)


COSTS = {"pure": _pure_cost, "basic": _basic_cost, "zcdp": _zcdp_cost, "gaussian": _gaussian_cost}
PAYS = {
    "pure": "it pays for pure levels only, such as PureDP(0.1)",
    "basic": "it pays for pure and (epsilon, delta) levels; filter='zcdp' or a Gaussian budget takes Gaussian ones",
    "zcdp": "it pays for pure, (epsilon, delta) and Gaussian levels",
    "gaussian": "it pays for Gaussian and pure levels; no mu covers a delta above 0",
}
