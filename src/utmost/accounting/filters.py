"""Privacy filters: rules that stop spending in time even if each level is chosen after seeing earlier answers.

Exact composition (`compose`) is for levels fixed in advance; as a stop rule for levels chosen on the way it is wrong
(docs/accounting.md has the counterexample). A filter fixes its limits when an account is opened and then only adds:

- pure budget: the sum of epsilons (basic composition, valid for adaptively chosen levels: Rogers et al. 2016);
- (epsilon, delta) budget, "basic": the sum of epsilons and the sum of deltas (Rogers et al. 2016). A Gaussian or zCDP
  spend counts as an (epsilon, delta) that it implies: the one that takes the same share of both limits;
- (epsilon, delta) budget, "zcdp": the sum of rho and the sum of deltas (approximate zCDP filters, Whitehouse et al.
  2023), where an (epsilon, delta) spend counts epsilon·tanh(epsilon/2) and delta, a Gaussian one mu^2/2 (Bun and
  Steinke 2016), and the limit of rho comes from `rho_within`;
- zCDP budget, "concentrated": the sum of rho, counted in the same way (Feldman and Zrnic 2021; Whitehouse et al. 2023);
- Gaussian budget: the sum of mu^2 (Smith and Thakurta 2022), where an epsilon-DP spend counts as
  mu = 2 Phi^-1(e^epsilon/(1+e^epsilon)): the Gaussian trade-off curve through the corner of its region;
- Gaussian budget with a delta, "gaussian-delta": the sum of mu^2 and the sum of deltas. A release that tells all with
  probability d is (1 - d) P0 + d P1; as long as the deltas of a history add up to at most delta, the product of its
  (1 - d) is at least 1 - delta, so the whole is (1 - delta) times the composition of the P0, which the filter above
  holds, plus a rest.

No rho and no mu covers a delta above 0: what is given away with probability delta has an infinite divergence. All sums
are exact; what is not rational is rounded against the spender.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import arb, ctx

from utmost.accounting.composition import Composition, compose
from utmost.accounting.concentrated import rho_of_pure
from utmost.errors import InvalidInput, UnsupportedLevel, shown
from utmost.exact import BITS, GRAIN, Amount, Number, as_fmpq, as_rational, rounded_down, rounded_up
from utmost.privacy import ZCDP, ApproxDP, ApproxGaussianDP, GaussianDP, Level, as_level, level_from_json
from utmost.privacy.level import enclose_epsilon, epsilon_of

NAMES = {
    "pure": ("epsilon",),
    "basic": ("epsilon", "delta"),
    "zcdp": ("rho", "delta"),
    "concentrated": ("rho",),
    "gaussian": ("mu²",),
    "gaussian-delta": ("mu²", "delta"),
}
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
        return self.batch_cost([(as_level(level), 1)])

    def batch_cost(self, levels: Sequence[tuple[Level, int]], delta: Number | None = None) -> tuple[Amount, ...]:
        """What releases declared together, before any answer, cost: (level, how often) each.

        With a basic filter and a `delta` for the whole, they cost what exact composition says: the epsilon at that
        delta. Otherwise they cost the sum of their costs, which for rho, mu^2 and pure epsilons is what composition
        says; in a basic filter the Gaussian and zCDP ones are composed before they are counted as an (epsilon, delta).
        """
        if delta is None:
            for level, _ in levels:
                if not isinstance(level, PAYS[self.name]) or (
                    getattr(level, "delta", 0) > 0 and "delta" not in self.resources
                ):
                    raise UnsupportedLevel(
                        f"a {self.name} budget ({self.budget}) cannot pay for {level}; {WORDS[self.name]}."
                    )
            return self._sum_of(levels)
        if self.name != "basic":
            raise InvalidInput(f"a {self.name} budget adds up without a delta of its own; leave delta out.")
        share = as_rational(delta, "delta")
        if not 0 <= share <= 1:
            raise InvalidInput(f"delta is {delta!r}; it is a probability, so give a number between 0 and 1.")
        epsilon = composed(levels).epsilon(share)
        return Amount(math.inf if math.isinf(epsilon) else as_rational(epsilon)), Amount(share)

    def _sum_of(self, levels: Sequence[tuple[Level, int]]) -> tuple[Amount, ...]:
        if self.name != "basic":
            price = COSTS[self.name]
            return self.total([tuple(a.times(count) for a in price(level)) for level, count in levels])
        curved = tuple((level, count) for level, count in levels if not isinstance(level, ApproxDP))
        plain = [
            (epsilon_of(level).times(count), Amount(level.delta * count))
            for level, count in levels
            if isinstance(level, ApproxDP)
        ]
        assert isinstance(self.budget, ApproxDP)
        return self.total([*plain, *([_even_share(curved, self.budget)] if curved else [])])

    def pays(self, level: Level, charged: tuple[Amount, ...]) -> bool:
        """Whether a charge is enough for one release at a level: for Gaussian ones in (epsilon, delta), any that holds.

        Which (epsilon, delta) a Gaussian level was counted as is a choice; that it is implied is what matters.
        """
        if self.name == "basic" and not isinstance(level, ApproxDP):
            epsilon, delta = charged
            return epsilon.rational == math.inf or as_rational(compose(level).delta(_below(epsilon))) <= delta.rational
        return all(least <= amount for least, amount in zip(self.cost(level), charged, strict=True))

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


@dataclass(frozen=True)
class Left:
    """What is left of a budget; `allows(level)` says whether a spend would fit now."""

    filter: Filter
    spent: tuple[Amount, ...]

    def allows(self, level: Level | Number) -> bool:
        """Whether the budget would pay for a release at this level."""
        return self.filter.allows([self.spent, self.filter.cost(level)])

    def amounts(self) -> dict[str, float]:
        """What is left of each resource, as floats."""
        rest = (limit.minus(spent) for limit, spent in zip(self.filter.limits, self.spent, strict=True))
        return dict(zip(self.filter.resources, rest, strict=True))

    def __str__(self) -> str:
        return ", ".join(
            f"{name} {left:.6g} of {limit}"
            for (name, left), limit in zip(self.amounts().items(), self.filter.limits, strict=True)
        )


@dataclass(frozen=True)
class Spent:
    """What has been charged to an account, unfinished reservations included."""

    filter: Filter
    sums: tuple[Amount, ...]

    def amounts(self) -> dict[str, Amount]:
        """The exact sum of each resource."""
        return dict(zip(self.filter.resources, self.sums, strict=True))

    def __str__(self) -> str:
        limits = zip(self.filter.resources, self.sums, self.filter.limits, strict=True)
        return ", ".join(f"{name} {spent} of {limit}" for name, spent, limit in limits)


def choose(budget: Level | Number, name: str | None = None) -> Filter:
    """The filter of a budget: by its kind, or by name.

    The names are "pure", "basic", "zcdp", "concentrated", "gaussian" and "gaussian-delta".

    Examples
    --------
    >>> round(float(choose(ApproxDP(1, 1e-6), "zcdp").limits[0]), 6)      # rho
    0.022937
    >>> print(choose(ZCDP(0.5)).cost(GaussianDP(0.1))[0])
    0.005
    """
    budget = as_level(budget)
    if not isinstance(budget, ApproxDP | ApproxGaussianDP | GaussianDP | ZCDP):
        raise UnsupportedLevel(f"a budget of {budget} has no filter; give PureDP, ApproxDP, ZCDP or GaussianDP.")
    fitting: tuple[str, ...] = ("gaussian",) if isinstance(budget, GaussianDP) else ("concentrated",)
    if isinstance(budget, ApproxGaussianDP):
        fitting = ("gaussian-delta",)
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


def _limits(budget: Level, name: str) -> tuple[Amount, ...]:
    if isinstance(budget, GaussianDP):
        return _gaussian_cost(budget)
    if isinstance(budget, ApproxGaussianDP):
        return _gaussian_delta_cost(budget)
    if isinstance(budget, ZCDP):
        return (Amount(budget.rho),)
    assert isinstance(budget, ApproxDP)
    if name == "pure":
        return (epsilon_of(budget),)
    if name == "basic":
        return epsilon_of(budget), Amount(budget.delta)
    half = budget.delta / 2  # one half for the conversion of rho, one for the deltas that are spent
    if budget.exponent == math.inf:
        return Amount(math.inf), Amount(half)
    return Amount(rho_within(_below(epsilon_of(budget)), half)), Amount(half)


def _pure_cost(level: Level) -> tuple[Amount, ...]:
    assert isinstance(level, ApproxDP)
    return (epsilon_of(level),)


def _zcdp_cost(level: Level) -> tuple[Amount, ...]:
    return *_concentrated_cost(level), Amount(getattr(level, "delta", Fraction(0)))


def _concentrated_cost(level: Level) -> tuple[Amount, ...]:
    if isinstance(level, ZCDP):
        return (Amount(level.rho),)
    if isinstance(level, GaussianDP | ApproxGaussianDP):
        return (Amount(math.inf if level.mu == math.inf else Fraction(level.mu) ** 2 / 2),)
    assert isinstance(level, ApproxDP)
    return (Amount(rho_of_pure(level)),)


def _gaussian_cost(level: Level) -> tuple[Amount, ...]:
    if isinstance(level, GaussianDP | ApproxGaussianDP):
        return (Amount(math.inf if level.mu == math.inf else Fraction(level.mu) ** 2),)
    assert isinstance(level, ApproxDP)
    return (Amount(math.inf if level.exponent == math.inf else gaussian_cost(level)),)


def _gaussian_delta_cost(level: Level) -> tuple[Amount, ...]:
    return *_gaussian_cost(level), Amount(getattr(level, "delta", Fraction(0)))


@lru_cache(maxsize=1024)
def _even_share(levels: tuple[tuple[Level, int], ...], budget: ApproxDP) -> tuple[Amount, Amount]:
    """The (epsilon, delta) that Gaussian and zCDP levels together imply and that takes the same share of both limits.

    Every (epsilon, delta) on the curve of the composition is valid; of this one most fit into the budget. The share is
    a millionth larger than it must be, if there is room, so that whoever recomputes it elsewhere finds that it holds.
    """
    total, whole = composed(levels), budget.delta
    if budget.exponent == math.inf:
        return Amount(math.inf), Amount(Fraction(0))
    epsilon = _below(epsilon_of(budget))

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


def composed(levels: Sequence[tuple[Level, int]]) -> Composition:
    """The composition of levels, each so many times."""
    return sum((compose(level, count) for level, count in levels), compose([]))


def _below(epsilon: Amount) -> Fraction:
    """A finite epsilon as a rational number that is not above it."""
    with ctx.workprec(BITS):
        return Fraction(epsilon.rational) if epsilon.ratio == 1 else rounded_down(epsilon.enclose())


LEAST_SHARE, SHARE_DIGITS = Fraction(1, 10**12), Fraction(1, 10**6)
"""The smallest share of a budget that a converted level counts as, and how finely shares are found."""
COSTS = {
    "pure": _pure_cost,
    "zcdp": _zcdp_cost,
    "concentrated": _concentrated_cost,
    "gaussian": _gaussian_cost,
    "gaussian-delta": _gaussian_delta_cost,
}
"""What one release counts as, for the filters that count every release on its own."""
PAYS: dict[str, tuple[type, ...]] = {
    "pure": (ApproxDP,),
    "basic": (ApproxDP, ApproxGaussianDP, GaussianDP, ZCDP),
    "zcdp": (ApproxDP, ApproxGaussianDP, GaussianDP, ZCDP),
    "concentrated": (ApproxDP, GaussianDP, ZCDP),
    "gaussian": (ApproxDP, GaussianDP),
    "gaussian-delta": (ApproxDP, ApproxGaussianDP, GaussianDP),
}
"""The kinds of levels that each filter counts; deltas above 0 only where they are added up."""
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
