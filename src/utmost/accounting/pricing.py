"""The cost of a batch of releases under the cheapest valid accounting.

Levels that are declared together, before any answer, may be composed in several ways: by their sum, by exact
composition, as zCDP, as Gaussian privacy. Each is a valid bound, so the least may be charged. Where a question can be
answered with different noise of the same accuracy (geometric noise at an epsilon, Gaussian noise at a mu or a rho), its
levels are alternatives, and the accounting decides which is cheaper.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from utmost.accounting.account import Filter
from utmost.accounting.composition import composed
from utmost.accounting.filters import choose
from utmost.errors import InvalidInput, UnsupportedLevel, shown
from utmost.exact import Amount, Number, as_rational
from utmost.privacy import ZCDP, ApproxDP, GaussianDP, Level, as_level

Choices: TypeAlias = tuple[Level, ...]
"""The alternative levels of one question, of which one will be used."""


@dataclass(frozen=True)
class Price:
    """The cheapest price of a batch; made by `cheapest`.

    Attributes
    ----------
    accounting : str
        "sum", "exact", "zcdp" or "gaussian": how the batch is composed.
    levels : tuple of Level
        The level of each question, in order: of alternatives, the one that this accounting prefers.
    cost : dict of Amount
        The charge, by resource.
    delta : Fraction or None
        The delta to pass to `Account.reserve_batch`.
    fits : bool
        Whether the budget, with nothing spent, suffices.
    compared : dict of float
        The price under each accounting that was compared, in the first resource; those that certainly cost more than
        another are omitted where computing them takes long.
    """

    accounting: str
    levels: tuple[Level, ...]
    cost: dict[str, Amount]
    delta: Fraction | None
    fits: bool
    compared: dict[str, float]

    def __str__(self) -> str:
        price = ", ".join(f"{name} {float(amount):.6g}" for name, amount in self.cost.items())
        alternatives = ", ".join(
            f"{name} {cost:.6g}" for name, cost in self.compared.items() if name != self.accounting
        )
        return f"{price} ({self.accounting}{f'; {alternatives}' if alternatives else ''})"


def cheapest(
    levels: Iterable[Level | Number | Sequence[Level | Number]],
    budget: Level | Number | Filter,
    delta: Number | None = None,
    only: str | None = None,
) -> Price:
    """The least cost of a batch of releases, declared before any answer, under a budget.

    Parameters
    ----------
    levels : iterable
        A level for each question (a number is an epsilon), or a list of alternatives for it.
    budget : level, number or Filter
        The budget that pays; `account.filter` of an account with a filter of its own.
    delta : number, optional
        For an (epsilon, delta) budget: how much of its delta the batch may use; all of it by default.
    only : str, optional
        For an (epsilon, delta) budget: the only accounting to compare with the sum, for a search that fixes it.

    Returns
    -------
    Price
        `account.reserve_batch(price.levels, question, price.delta)` charges it. One accounting chooses among the
        alternatives of all questions; a mixture of its choices and another's may be a little cheaper still.

    Examples
    --------
    >>> print(cheapest([0.1] * 30, ApproxDP(3, 1e-6)))
    epsilon 2.34589, delta 1e-06 (exact; sum 3)
    >>> twice = [(0.1, GaussianDP(0.06))] * 30                 # either noise is accurate enough
    >>> print(cheapest(twice, ApproxDP(3, 1e-6)))
    epsilon 1.42585, delta 1e-06 (gaussian; sum 3)
    >>> print(cheapest(twice, ZCDP(0.5)))
    rho 0.054 (zcdp)
    """
    filter = budget if isinstance(budget, Filter) else choose(budget)
    alternatives = [_choices(item) for item in levels]
    if filter.name == "basic":
        return _cheapest_epsilon(alternatives, filter, delta, only)
    if delta is not None:
        raise InvalidInput(f"a {filter.name} budget adds up without a delta of its own; leave delta out.")
    selection = tuple(
        _least(choices, lambda level: _first_cost(filter, level)) or choices[0] for choices in alternatives
    )
    cost = filter.batch_cost(list(Counter(selection).items()))  # says which level this budget cannot pay for, if any
    accounting = {"pure": "sum", "gaussian": "gaussian", "gaussian-delta": "gaussian"}.get(filter.name, "zcdp")
    costs = dict(zip(filter.resources, cost, strict=True))
    return Price(accounting, selection, costs, None, filter.allows([cost]), {accounting: float(cost[0])})


def _cheapest_epsilon(alternatives: Sequence[Choices], filter: Filter, delta: Number | None, only: str | None) -> Price:
    """The price of least epsilon at a delta; the sum, unless another saves more than one percent by its delta."""
    share = Fraction(filter.limits[1].rational) if delta is None else as_rational(delta, "delta")
    prices: dict[str, tuple[Choices, tuple[Amount, ...]]] = {}
    for name, size in PREFERRED:
        if only is not None and name not in ("sum", only):
            continue
        levels = _preferred(alternatives, name, size)
        if levels is None or any(
            levels == priced_levels for other, (priced_levels, _) in prices.items() if other != "sum"
        ):
            continue
        counts = list(Counter(levels).items())
        best = min((float(cost[0]) for _, cost in prices.values()), default=math.inf)
        if name == "sum":
            cost = filter.batch_cost(counts)
            if cost[1] <= Amount(share):
                prices[name] = levels, cost
        elif math.isinf(best) or not composed(counts).surely_exceeds(best, share):
            prices[name] = levels, filter.batch_cost(counts, share)
    accounting = min(prices, key=lambda name: float(prices[name][1][0]) * (LEAST_SAVING if name == "sum" else 1))
    levels, cost = prices[accounting]
    costs = dict(zip(filter.resources, cost, strict=True))
    compared = {name: float(price[0]) for name, (_, price) in prices.items()}
    charged_delta = None if accounting == "sum" else share
    return Price(accounting, levels, costs, charged_delta, filter.allows([cost]), compared)


def _preferred(alternatives: Sequence[Choices], name: str, size: Callable[[Level], float | None]) -> Choices | None:
    """The alternative of each question that an accounting prefers, or None if it does not apply to one of them.

    Exact composition applies to all; zCDP and Gaussian accounting of pure levels is no better than that.
    """
    selection = [_least(choices, size) for choices in alternatives]
    if name == "exact":
        selection = [one or _least(other, _rho) or other[0] for one, other in zip(selection, alternatives, strict=True)]
    levels = tuple(level for level in selection if level is not None)
    plain = all(isinstance(level, ApproxDP) for level in levels)
    return None if len(levels) < len(alternatives) or (plain and name in ("gaussian", "zcdp")) else levels


def _choices(item: Level | Number | Sequence[Level | Number]) -> Choices:
    if isinstance(item, list | tuple):
        if not item:
            raise InvalidInput("a question has no level; give at least one for each.")
        return tuple(as_level(level) for level in item)
    if isinstance(item, Level | str) or not isinstance(item, Iterable):
        return (as_level(item),)
    raise InvalidInput(f"levels holds {shown(item)}; give a level, or a list of alternatives, for each question.")


def _least(choices: Choices, size: Callable[[Level], float | None]) -> Level | None:
    """The alternative of least size; None if none has a size."""
    sizes = [(magnitude, at) for at, level in enumerate(choices) if (magnitude := size(level)) is not None]
    return choices[min(sizes)[1]] if sizes else None


def _first_cost(filter: Filter, level: Level) -> float | None:
    try:
        return float(filter.cost(level)[0])
    except UnsupportedLevel:
        return None


def _epsilon(level: Level) -> float | None:
    return level.log_growth if isinstance(level, ApproxDP) else None


def _rho(level: Level) -> float | None:
    return _first_cost(choose(ZCDP(1)), level)


def _squared_mu(level: Level) -> float | None:
    return _first_cost(choose(GaussianDP(1)), level)


LEAST_SAVING = 0.99
"""The factor by which another accounting must beat the sum: less than a percent is not worth a delta."""
PREFERRED: tuple[tuple[str, Callable[[Level], float | None]], ...] = (
    ("sum", _epsilon),
    ("gaussian", _squared_mu),
    ("zcdp", _rho),
    ("exact", _epsilon),
)
"""For each accounting, the size of a level that it minimises; the slowest last."""
