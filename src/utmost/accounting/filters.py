"""Privacy filters: stopping rules that hold even if each level is chosen after seeing earlier answers.

Exact composition (`compose`) is for levels fixed in advance; as a stopping rule for adaptively chosen levels it is
wrong (docs/accounting.md has the counterexample). A filter fixes its limits when an account is opened and then only
adds:

- pure budget: the sum of epsilons (basic composition, valid for adaptively chosen levels: Rogers et al. 2016);
- (epsilon, delta) budget, "basic": the sum of epsilons and the sum of deltas (Rogers et al. 2016). A Gaussian or zCDP
  spend counts as the (epsilon, delta) it implies that takes the same share of both limits;
- (epsilon, delta) budget, "zcdp": the sum of rho and the sum of deltas (approximate zCDP filters, Whitehouse et al.
  2023), where an (epsilon, delta) spend counts epsilon·tanh(epsilon/2) and delta, a Gaussian one mu^2/2 (Bun and
  Steinke 2016), and the limit of rho comes from `rho_within`;
- zCDP budget, "concentrated": the sum of rho, counted in the same way (Feldman and Zrnic 2021; Whitehouse et al. 2023);
- Gaussian budget: the sum of mu^2 (Smith and Thakurta 2022), where an epsilon-DP spend counts as
  mu = 2 Phi^-1(e^epsilon/(1+e^epsilon)): the Gaussian trade-off curve through the corner of its region;
- Gaussian budget with a delta, "gaussian-delta": the sum of mu^2 and the sum of deltas. A release that reveals
  everything with probability d is (1 - d) P0 + d P1; as long as the deltas of a history add up to at most delta, the
  product of its (1 - d) is at least 1 - delta, so the whole is (1 - delta) times the composition of the P0, which the
  filter above bounds, plus a rest.

No rho and no mu covers a delta above 0: an event of probability delta that reveals everything has an infinite
divergence. All sums are exact; irrational costs are rounded against the spender.
"""

from __future__ import annotations

import math

from utmost.accounting.account import ZERO, Filter, Left, Spent
from utmost.accounting.costs import charged_mu, charged_mu_and_delta, gaussian_cost, rational_below, rho_within
from utmost.errors import InvalidInput, UnsupportedLevel, shown
from utmost.exact import Amount, Number
from utmost.privacy import ZCDP, ApproxDP, ApproxGaussianDP, GaussianDP, Level, as_level
from utmost.privacy.level import epsilon_of

__all__ = ["ZERO", "Filter", "Left", "Spent", "choose", "gaussian_cost", "rho_within"]


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
    filter_names: tuple[str, ...] = ("gaussian",) if isinstance(budget, GaussianDP) else ("concentrated",)
    if isinstance(budget, ApproxGaussianDP):
        filter_names = ("gaussian-delta",)
    if isinstance(budget, ApproxDP):
        filter_names = ("basic", "zcdp") if budget.delta > 0 else ("pure",)
    filter_name = name or filter_names[0]
    if filter_name not in filter_names:
        raise InvalidInput(
            f"filter is {shown(filter_name)}, but a budget of {budget} takes {' or '.join(map(repr, filter_names))}."
        )
    return Filter(filter_name, budget, _limits(budget, filter_name))


def _limits(budget: Level, name: str) -> tuple[Amount, ...]:
    if isinstance(budget, GaussianDP):
        return charged_mu(budget)
    if isinstance(budget, ApproxGaussianDP):
        return charged_mu_and_delta(budget)
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
    return Amount(rho_within(rational_below(epsilon_of(budget)), half)), Amount(half)
