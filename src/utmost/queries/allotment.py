"""Budget allocation: levels that meet target errors for several queries, at the least total cost.

For each query, the least level that meets its target is searched, once for every kind of noise the budget can pay for.
The kind of noise is then chosen for all of them together, by the accounting under which the whole batch costs least
(`accounting.cheapest`). Nothing is read and nothing spent before `Allotment.ask`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from utmost.accounting import Price, cheapest
from utmost.accounting.account import Filter, Left
from utmost.accounting.filters import ZERO, choose
from utmost.errors import InvalidInput, UnsupportedLevel, shown
from utmost.exact import as_rational
from utmost.privacy import ZCDP, ApproxDP, GaussianDP, Level, PureDP, as_level
from utmost.queries.answers import Answer, Plan
from utmost.queries.error_curves import LARGEST, WIDE, Curve, least_size, rounded_up
from utmost.queries.predicate import EVERY_ROW
from utmost.queries.questions.question import require_reachable
from utmost.solution.card import card

if TYPE_CHECKING:
    from utmost.queries.budgeted_queries import BudgetedQueries

CLOSE, ROUGHLY = 1e-3, 0.03
"""Relative tolerances of a batch made for a budget: of its price, or of its errors, since prices jump; and a coarser
one that is enough to choose the accounting."""
FIRST, MOST_TRIED, MOST_EXACT = 0.1, 60, 8
"""The first level of a search without points; most factors tried for a budget, roughly and exactly."""
APART = 0.05
"""Least distance, in logarithms, of two levels from which a slope is computed, as each level is rounded upwards."""
A_TARGET = "give the error you can live with, such as {s.plan.count('age >= 65', privacy=1): 20}."


@dataclass(frozen=True)
class Target:
    """The target for one answer: an expected loss, or an error that is not exceeded with a probability."""

    error: Fraction
    level: Fraction | None

    def reached(self, plan: Plan, privacy: Level) -> float:
        """The logarithm of the error of an answer at a level, exact if the target is an expected loss.

        For an error with a probability, only the comparison with the target is exact; near the target the value is
        right to first order, because noise scales like its quantiles.
        """
        question: Any = plan.question.at(privacy)
        sketch = question.sketch() if self.level is None or self.level >= Fraction(1, 2) else None
        if sketch is not None:
            question.set_fields(solution=sketch)
        if self.level is None:
            return math.log(max(question.average, 1e-300))
        quantile = _exponential_quantile if isinstance(privacy, ApproxDP) else _normal_quantile
        reached = question.probability_off_by_more(self.error)
        return self.log_error + math.log(quantile(1 - float(self.level)) / quantile(float(reached)))

    def in_steps(self, plan: Plan) -> tuple[Fraction, float]:
        """The effective target error, and the logarithm of a size in proportion to the noise that meets it.

        For an error with a probability, the error is a whole number of steps, and the size half a step more.
        """
        question = plan.question
        if self.level is None or not question.error_has_law:
            return self.error, self.log_error
        error = max(self.error - Fraction(question.off_by_rounding), Fraction(0)) // question.step * question.step
        return error, math.log(error + question.step / 2)

    @property
    def log_error(self) -> float:
        """The logarithm of the target error."""
        return math.log(self.error.numerator) - math.log(self.error.denominator)

    def times(self, factor: Fraction) -> Target:
        """The target with its error multiplied by a factor."""
        return replace(self, error=self.error * factor)

    def __str__(self) -> str:
        error = f"{float(self.error):.6g}"
        return f"expected loss {error}" if self.level is None else f"within {error} with {float(self.level):.6g}"


def _exponential_quantile(chance: float) -> float:
    return -math.log(min(max(chance, 1e-300), 1 - 1e-15))


def _normal_quantile(chance: float) -> float:
    from scipy.special import ndtri

    return -float(ndtri(min(max(chance, 1e-300), 1 - 1e-15) / 2))


@dataclass(frozen=True, eq=False)
class Allotment:
    """Several queries, each at a level that meets its target; made by `session.allot`.

    Attributes
    ----------
    plans : tuple of Plan
        The plans at their levels, in the order of the targets.
    price : Price
        What asking them together costs the budget, and under which accounting.
    targets : tuple of Target
        The target of each.
    fits : bool
        Whether the remaining budget, when this was made, pays for it.
    """

    plans: tuple[Plan, ...]
    price: Price
    targets: tuple[Target, ...]
    fits: bool
    session: BudgetedQueries = field(repr=False)

    def ask(self, *, fresh: bool = False) -> list[Answer]:
        """Ask all of them, as one batch at `price`: what `session.batch` does.

        Parameters
        ----------
        fresh : bool
            True draws and spends again although the identical batch was answered before.

        Returns
        -------
        list of Answer
            In the order of `plans`. `BudgetSpent`, with nothing charged, if the budget does not pay for them.
        """
        return self.session.batch(self.plans, self.price.delta, fresh=fresh)

    @property
    def details(self) -> dict[str, Any]:
        """Everything as plain data."""
        questions = [
            {"words": plan.question.words, "privacy": str(plan.privacy), "wanted": str(target)}
            for plan, target in zip(self.plans, self.targets, strict=True)
        ]
        cost = {name: float(amount) for name, amount in self.price.cost.items()}
        price = {"accounting": self.price.accounting, "cost": cost, "compared": self.price.compared}
        return {"questions": questions, "price": price, "fits": self.fits}

    def __str__(self) -> str:
        lines = [
            f"  {plan.privacy}  {plan.question.words}  {target}"
            for plan, target in zip(self.plans, self.targets, strict=True)
        ]
        beyond = "" if self.fits else ": more than is left"
        return "\n".join([f"allotment of {len(lines)}: {self.price}{beyond}", *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return card(str(self))


def allot(session: BudgetedQueries, targets: Any, level: Any, budget: Any, delta: Any) -> Allotment:
    """What `Session.allot` does."""
    target_by_plan = _as_targets(session, targets, level)
    left = session.left
    filter, share = left.filter, _left_delta(left, delta)
    if budget is None:
        price = cheapest(Search(filter).alternatives(target_by_plan), filter, share)
        return _allotment(session, left, target_by_plan, price)
    inner = _inner_filter(filter, budget)
    if inner.name == "basic" and share is not None:
        share = min(share, Fraction(inner.limits[1].rational))
    return _allotment(session, left, *_scaled(target_by_plan, inner, share if inner.name == "basic" else None))


def price(session: BudgetedQueries, plans: Sequence[Plan], delta: Any) -> Price:
    """What `Session.price` does."""
    if not isinstance(plans, Sequence) or isinstance(plans, str) or not plans:
        raise InvalidInput(f"the plans are {shown(plans)}; give a list, such as [s.plan.count('age >= 65', 0.1), ...].")
    levels = [_as_plan(session, plan).privacy for plan in plans]
    left = session.left
    cost = cheapest(levels, left.filter, _left_delta(left, delta))
    return replace(cost, fits=_fits(left, cost))


def _allotment(session: BudgetedQueries, left: Left, targets: Mapping[Plan, Target], price: Price) -> Allotment:
    plans = tuple(
        replace(plan, question=plan.question.at(privacy)) for plan, privacy in zip(targets, price.levels, strict=True)
    )
    fits = _fits(left, price)
    return Allotment(plans, replace(price, fits=fits), tuple(targets.values()), fits, session)


def _fits(left: Left, price: Price) -> bool:
    """Whether what is left of a budget pays a price."""
    return left.filter.allows([left.spent, tuple(price.cost.get(name, ZERO) for name in left.filter.resources)])


def _left_delta(left: Left, delta: Any) -> Any:
    """The delta that a batch may use: as given, or all that is left; None for budgets that need none."""
    if delta is not None or left.filter.name != "basic":
        return delta
    return max(Fraction(0), Fraction(left.filter.limits[1].rational) - Fraction(left.spent[1].rational))


def _inner_filter(filter: Filter, budget: Any) -> Filter:
    """A filter for the part of an account's budget that a batch may spend, with the accounting of the account."""
    part = as_level(budget)
    plain = isinstance(part, ApproxDP) and part.delta == 0
    name = "pure" if filter.name == "basic" and plain else filter.name
    try:
        return choose(part, name)
    except InvalidInput:
        raise InvalidInput(
            f"budget is {part}, a level of another kind than the account's {filter.budget}; give a part of that."
        ) from None


# ---- targets ----


def _as_targets(session: BudgetedQueries, targets: Any, level: Any) -> dict[Plan, Target]:
    if not isinstance(targets, Mapping) or not targets:
        raise InvalidInput(f"the targets are {shown(targets)}; for each plan {A_TARGET}")
    target_by_plan = {_as_plan(session, plan): _as_target(target, level) for plan, target in targets.items()}
    for plan, target in target_by_plan.items():
        plan.question.require_expected_rows()
        require_reachable(plan.question, target.error, "a target", with_chance=target.level is not None)
    return target_by_plan


def _as_plan(session: BudgetedQueries, plan: Any) -> Plan:
    if not isinstance(plan, Plan):
        raise InvalidInput(f"{shown(plan)} is no plan; make one, such as s.plan.count('age >= 65', privacy=1).")
    if plan.source is not session.source:
        raise InvalidInput("a plan was made by another session; plan it with this one.")
    return plan


def _as_target(target: Any, level: Any) -> Target:
    if isinstance(target, tuple):
        if len(target) != 2:
            raise InvalidInput(f"a target is {shown(target)}; give an error, or a pair (error, probability).")
        target, level = target
    error = as_rational(target, "the target")
    if error <= 0:
        raise InvalidInput(f"a target is {shown(target)}; {A_TARGET}")
    if level is None:
        return Target(error, None)
    chance = as_rational(level, "level")
    if not 0 < chance < 1:
        raise InvalidInput(
            f"level is {shown(level)}; give the probability with which the error is kept, such as 0.95, or None for "
            "expected losses."
        )
    return Target(error, chance)


# ---- the least levels ----


def _pure(size: float) -> Level:
    return PureDP(Fraction(f"{size:.15g}"))


def _gaussian(size: float) -> Level:
    return GaussianDP(Fraction(f"{size:.15g}"))


def _concentrated(size: float) -> Level:
    return ZCDP(Fraction(f"{size * size / 2:.15g}"))


KINDS: dict[str, tuple[Callable[[float], Level], ...]] = {
    "pure": (_pure,),
    "basic": (_pure, _gaussian, _concentrated),
    "zcdp": (_pure, _concentrated),
    "concentrated": (_pure, _concentrated),
    "gaussian": (_pure, _gaussian),
    "gaussian-delta": (_pure, _gaussian),
}
"""The kinds of levels that each filter can pay for; where rho is counted, discrete Gaussian noise is better."""


@dataclass
class SearchCache:
    """Results of the search for queries with equal errors, and one kind of noise.

    Attributes
    ----------
    curve : Curve
        Expected losses at some levels, or errors with a probability at the least levels for them.
    least : dict of Fraction to float
        The sizes of least levels, by target error; None where no level meets it.
    """

    curve: Curve
    least: dict[Fraction, float | None] = field(default_factory=dict)

    def roughly(self, scaled: float) -> float | None:
        """An interpolated least size for the logarithm of an error; None if no computed level is near."""
        x = self.curve.where(scaled) if self.curve.points else -math.inf
        return rounded_up(math.exp(x)) if self.curve.is_near(x, WIDE) else None


class Search:
    """Searches the least levels at which queries meet targets, for every kind of noise that a budget pays for."""

    def __init__(self, filter: Filter) -> None:
        self.filter = filter
        self._known: dict[tuple[str, Fraction | None, int], SearchCache] = {}
        self._times: dict[tuple[type, int], float] = {}
        """The last product of least size and error, by the type of query and the kind of noise."""

    def alternatives(
        self,
        targets: Mapping[Plan, Target],
        roughly: bool = False,
        only: Sequence[Level] | None = None,
        other_kinds: bool = False,
    ) -> list[list[Level]]:
        """For every query, the least level of each kind that meets its target.

        Parameters
        ----------
        targets : mapping of Plan to Target
        roughly : bool
            Whether to interpolate levels wherever computed ones are near.
        only : sequence of Level, optional
            A level for each query; only its kind is searched, or it alone exactly.
        other_kinds : bool
            Whether to search other kinds beside it, roughly.
        """
        levels_by_question = []
        for at, (plan, target) in enumerate(targets.items()):
            likeness, levels = _likeness(plan), []
            for place, kind in enumerate(_kinds(plan, self.filter)):
                is_chosen_kind = only is not None and type(kind(1.0)) is type(only[at])
                if only is not None and not is_chosen_kind and not other_kinds:
                    continue
                about = roughly or (other_kinds and not is_chosen_kind)
                apart = 0.0 if target.level is None else APART
                findings = self._known.setdefault((likeness, target.level, place), SearchCache(Curve(apart)))
                size = findings.roughly(target.in_steps(plan)[1]) if about else None
                if size is None:
                    size = self._least(plan, target, kind, findings, (type(plan.question), place), about)
                if size is not None:
                    levels.append(kind(size))
            if not levels:
                raise InvalidInput(
                    f"no level up to {LARGEST:g} meets {target} for: {plan.question.words} Ask for less accuracy."
                )
            levels_by_question.append(levels)
        return levels_by_question

    def _least(
        self,
        plan: Plan,
        target: Target,
        kind: Callable[[float], Level],
        findings: SearchCache,
        sort: tuple[type, int],
        roughly: bool,
    ) -> float | None:
        """The least size of a level that meets a target, or an estimate; None if none does, or no such noise exists."""
        error, scaled = target.in_steps(plan)
        if error in findings.least:
            return findings.least[error]
        exact = target.level is None
        first = self._times[sort] / float(target.error) if sort in self._times else FIRST
        if findings.curve.points:
            first = math.exp(findings.curve.where(scaled))
        try:
            curve = findings.curve if exact else Curve()  # errors with a probability are right near one target only
            size = least_size(
                curve,
                lambda size: target.reached(plan, kind(size)),
                target.log_error,
                first,
                ROUGHLY if roughly else 0.0,
            )
        except UnsupportedLevel:
            size = None
        if size is None or not roughly:
            findings.least[error] = size
        if size is not None:
            self._times[sort] = size * float(target.error)
            if not exact:
                findings.curve.add(math.log(size), scaled)
        return size


def _likeness(plan: Plan) -> str:
    """A key that is equal for queries with equal errors: all parameters but the column and the condition's text."""
    public = {name: value for name, value in plan.question.public.items() if name != "column"}
    where = plan.question.public.get("where")
    return repr((type(plan.question), {**public, "where": where in (None, "", EVERY_ROW.text)}))


def _kinds(plan: Plan, filter: Filter) -> list[Callable[[float], Level]]:
    """The kinds of levels for a query: all for numbers; pure ones for choices, and (epsilon, delta) if planned so."""
    own = plan.privacy
    kinds: list[Callable[[float], Level]] = [_pure]
    if plan.question.takes_any_noise:
        kinds = list(KINDS[filter.name])
    delta = own.delta if isinstance(own, ApproxDP) else 0
    if delta > 0 and "delta" in filter.resources:
        kinds.append(lambda size: ApproxDP(Fraction(f"{size:.15g}"), delta))
    return kinds


# ---- equal relative errors for a budget ----


def _scaled(targets: Mapping[Plan, Target], filter: Filter, delta: Fraction | None) -> tuple[dict[Plan, Target], Price]:
    """Scale all targets by one factor, such that their price is just within a budget."""
    search = Search(filter)

    def at(log_factor: float, roughly: bool, as_in: Price | None = None) -> tuple[dict[Plan, Target], Price]:
        factor = Fraction(math.exp(log_factor)).limit_denominator(10**12)
        scaled = {plan: target.times(factor) for plan, target in targets.items()}
        kinds, accounting = (None, None) if as_in is None else (as_in.levels, as_in.accounting)
        return scaled, cheapest(search.alternatives(scaled, roughly, kinds), filter, delta, accounting)

    limit = float(filter.limits[0])
    if not 0 < limit < math.inf:
        raise InvalidInput(f"budget is {filter.budget}; give what the questions may spend, above 0 and finite.")
    steep = 1.0 if filter.name in ("pure", "basic") else 2.0  # slope of the price by the errors, in logarithms
    x, estimate = _within(partial(at, roughly=True), 0.0, limit, steep, ROUGHLY)
    best = math.inf
    for _ in range(MOST_EXACT if estimate is not None else 0):  # the best accounting hardly changes from here on
        x, _ = _within(partial(at, roughly=True, as_in=estimate), x, limit, steep, CLOSE)
        price = at(x, roughly=False, as_in=estimate)[1]  # adds computed levels near the solution
        if price.fits:
            before, best = best, min(best, x)
            if _over(price, limit) > -CLOSE or x > before - CLOSE:
                break
        else:
            x += max(_over(price, limit), 0.0) / steep + CLOSE / 3
    if math.isinf(best):
        raise InvalidInput(f"no errors were found that {filter.budget} pays for; give a larger budget.")
    scaled, price = at(best, roughly=False, as_in=estimate)
    if filter.name != "basic" or estimate is None:
        return scaled, price
    compared = cheapest(search.alternatives(scaled, only=estimate.levels, other_kinds=True), filter, delta)
    return (scaled, compared) if compared.levels == price.levels else at(best, roughly=False)


def _over(price: Price, limit: float) -> float:
    """The logarithm of a price over a limit."""
    return math.log(max(float(next(iter(price.cost.values()))), 1e-300) / limit)


def _within(
    at: Callable[[float], tuple[dict[Plan, Target], Price]], x: float, limit: float, steep: float, close: float
) -> tuple[float, Price | None]:
    """The factor e^x of the targets at which the price is just below a limit, and the price there.

    The search follows lines, in logarithms. Prices may jump: where lines do not converge, steps are doubled until the
    limit is crossed, and then halved.
    """
    low, high, best = -math.inf, math.inf, None
    stride, trials, apart = close / 2, [(math.inf, 0.0)], [math.inf, math.inf]
    for _ in range(MOST_TRIED):
        price = at(x)[1]
        over = _over(price, limit)
        if price.fits:
            high, best = x, price
        else:
            low = x
        if best is not None and (-close < over <= 0 or high - low < close):
            break
        if close < abs(x - trials[-1][0]) < math.inf:
            steep = min(max((trials[-1][1] - over) / (x - trials[-1][0]), 0.5), 4.0)
        trials.append((x, over))
        apart.append(high - low)
        step = over / steep + close / 4
        if math.isinf(apart[-1]):
            stride *= 2
            x += -max(-step, stride) if price.fits else max(step, stride)
        elif low < x + step < high and apart[-1] < max(apart[-3] / 2, 4 * close):
            x += step
        else:
            x = (low + high) / 2
    return (high, best) if best is not None else (x, None)
