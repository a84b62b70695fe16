"""What a batch of releases costs under the cheapest accounting that is valid for it.

Levels that are declared together, before any answer, may be counted in several ways: by their sum, by exact
composition, as zCDP, as Gaussian privacy. Each is a true bound, so the least may be charged. Where a question can be
answered by different noise for the same accuracy (geometric noise at an epsilon, Gaussian noise at a mu or a rho), its
levels are alternatives, and the way of counting decides which is the better one.
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
"""The levels of one question, of which one will be used."""


@dataclass(frozen=True)
class Price:
    """The cheapest price of a batch; made by `cheapest`.

    Attributes
    ----------
    accounting : "sum", "exact", "zcdp" or "gaussian": how the batch is counted
    levels : the level to release each question at, in order: of alternatives, the one that this accounting prefers
    cost : what the ledger charges for them, by resource
    delta : the delta to hand to `Account.reserve_batch`, or None
    fits : whether the budget, if nothing of it is spent, pays for it
    compared : the price under each accounting that was looked at, in the first resource; those that surely cost more
        than another are left out where computing them takes long
    """

    accounting: str
    levels: tuple[Level, ...]
    cost: dict[str, Amount]
    delta: Fraction | None
    fits: bool
    compared: dict[str, float]

    def __str__(self) -> str:
        price = ", ".join(f"{name} {float(amount):.6g}" for name, amount in self.cost.items())
        others = ", ".join(f"{name} {cost:.6g}" for name, cost in self.compared.items() if name != self.accounting)
        return f"{price} ({self.accounting}{f'; {others}' if others else ''})"


def cheapest(
    levels: Iterable[Level | Number | Sequence[Level | Number]],
    budget: Level | Number | Filter,
    delta: Number | None = None,
    only: str | None = None,
) -> Price:
    """The least that a batch of releases, declared before any answer, costs a budget.

    Parameters
    ----------
    levels : iterable
        A level for each question (a number is an epsilon), or a list of alternatives for it.
    budget : level, number or Filter
        The budget that pays; `account.filter` of an account with a filter of its own.
    delta : number, optional
        For an (epsilon, delta) budget: how much of its delta the batch may use; all of it if left out.
    only : str, optional
        For an (epsilon, delta) budget: the one accounting to look at, beside the sum, as while a search goes on.

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
    asked = [_choices(item) for item in levels]
    if filter.name == "basic":
        return _cheapest_epsilon(asked, filter, delta, only)
    if delta is not None:
        raise InvalidInput(f"a {filter.name} budget adds up without a delta of its own; leave delta out.")
    chosen = tuple(_least(choices, lambda level: _first_cost(filter, level)) or choices[0] for choices in asked)
    cost = filter.batch_cost(list(Counter(chosen).items()))  # says which level this budget cannot pay for, if any
    accounting = {"pure": "sum", "gaussian": "gaussian", "gaussian-delta": "gaussian"}.get(filter.name, "zcdp")
    named = dict(zip(filter.resources, cost, strict=True))
    return Price(accounting, chosen, named, None, filter.allows([cost]), {accounting: float(cost[0])})


def _cheapest_epsilon(asked: Sequence[Choices], filter: Filter, delta: Number | None, only: str | None) -> Price:
    """The accounting of least epsilon at a delta; the sum, unless another saves more than one percent by its delta."""
    share = Fraction(filter.limits[1].rational) if delta is None else as_rational(delta, "delta")
    found: dict[str, tuple[Choices, tuple[Amount, ...]]] = {}
    for name, size in PREFERRED:
        if only is not None and name not in ("sum", only):
            continue
        levels = _preferred(asked, name, size)
        if levels is None or any(levels == known for other, (known, _) in found.items() if other != "sum"):
            continue
        counted = list(Counter(levels).items())
        best = min((float(cost[0]) for _, cost in found.values()), default=math.inf)
        if name == "sum":
            cost = filter.batch_cost(counted)
            if cost[1] <= Amount(share):
                found[name] = levels, cost
        elif math.isinf(best) or not composed(counted).surely_exceeds(best, share):
            found[name] = levels, filter.batch_cost(counted, share)
    accounting = min(found, key=lambda name: float(found[name][1][0]) * (LEAST_SAVING if name == "sum" else 1))
    levels, cost = found[accounting]
    named = dict(zip(filter.resources, cost, strict=True))
    compared = {name: float(price[0]) for name, (_, price) in found.items()}
    given = None if accounting == "sum" else share
    return Price(accounting, levels, named, given, filter.allows([cost]), compared)


def _preferred(asked: Sequence[Choices], name: str, size: Callable[[Level], float | None]) -> Choices | None:
    """The alternatives that an accounting prefers, or None if it does not apply to one of the questions.

    Exact composition applies to all; zCDP and Gaussian accounting of pure levels is no better than that.
    """
    chosen = [_least(choices, size) for choices in asked]
    if name == "exact":
        chosen = [one or _least(other, _rho) or other[0] for one, other in zip(chosen, asked, strict=True)]
    levels = tuple(level for level in chosen if level is not None)
    plain = all(isinstance(level, ApproxDP) for level in levels)
    return None if len(levels) < len(asked) or (plain and name in ("gaussian", "zcdp")) else levels


def _choices(item: Level | Number | Sequence[Level | Number]) -> Choices:
    if isinstance(item, list | tuple):
        if not item:
            raise InvalidInput("a question has no level; give at least one for each.")
        return tuple(as_level(level) for level in item)
    if isinstance(item, Level | str) or not isinstance(item, Iterable):
        return (as_level(item),)
    raise InvalidInput(f"levels holds {shown(item)}; give a level, or a list of alternatives, for each question.")


def _least(choices: Choices, size: Callable[[Level], float | None]) -> Level | None:
    """The alternative of least size, of those that have one."""
    sizes = [(found, at) for at, level in enumerate(choices) if (found := size(level)) is not None]
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
"""What others must save: below a percent, all of a delta is too much to pay."""
PREFERRED: tuple[tuple[str, Callable[[Level], float | None]], ...] = (
    ("sum", _epsilon),
    ("gaussian", _squared_mu),
    ("zcdp", _rho),
    ("exact", _epsilon),
)
"""What each accounting wants small; the slowest last."""
