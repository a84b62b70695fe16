"""Levels for wanted accuracies: what each of several questions needs, and what all of them together cost.

Wanted accuracies are met question by question: for each the least level is searched that suffices, once for every kind
of noise the budget can pay for. Which kind is used is then decided for all of them together, by the accounting under
which the whole batch costs least (`accounting.cheapest`). Nothing is read and nothing spent before `Allotment.ask`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from utmost.accounting import Price, cheapest
from utmost.accounting.account import Filter
from utmost.accounting.filters import ZERO, choose
from utmost.errors import InvalidInput, UnsupportedLevel, shown
from utmost.exact import as_rational
from utmost.privacy import ZCDP, ApproxDP, GaussianDP, Level, PureDP, as_level
from utmost.release.answers import Answer, Plan
from utmost.release.conditions import EVERY_ROW
from utmost.release.error_curves import Curve, least_on_curve
from utmost.release.questions.marginals import Agreeing
from utmost.release.questions.numbers import Numbers
from utmost.solution.card import card

if TYPE_CHECKING:
    from utmost.release.session import Session

SMALLEST, LARGEST = 1e-5, 100.0
"""Between which epsilons, mus (and square roots of 2 rho) levels are searched."""
DIGITS = 4
"""To how many digits a level is rounded, upwards."""
CLOSE = 1e-3
"""How close a batch made for a budget comes to it, or its errors to those that do, relatively: whole numbers jump."""
NEAR = 10.0**-DIGITS / 8
MOST_TRIED = 40
SPARED, NEARLY, MOST_SHIFTED = 2e-3, 2e-4, 6
"""By how much a level may be more than suffices, relatively: in the end, and before it is rounded; how often a shift is
tried."""
A_TARGET = "give the error you can live with, such as {s.plan.count('age >= 65', privacy=1): 20}."


@dataclass(frozen=True)
class Target:
    """What is wanted of one answer: an expected loss, or an error that is kept with a probability."""

    error: Fraction
    level: Fraction | None

    def excess(self, plan: Plan, privacy: Level) -> float:
        """Above 0 if a level does not suffice; near to linear in the level's logarithm."""
        quick = self.roughly(plan, privacy)
        if quick is not None and plan.question.errs_as_its_noise:
            return quick
        question: Any = plan.question.at(privacy)
        if self.level is None:
            return math.log(max(question.average, 1e-300) / self.error)
        return math.log(_digits(1 - float(self.level)) / _digits(question.off_by_more(self.error)))

    def roughly(self, plan: Plan, privacy: Level) -> float | None:
        """The same by what is known quickly of the question, such as its noise alone; None where nothing is."""
        question: Any = plan.question.at(privacy)
        if self.level is None:
            quick = question.searched(question.loss)
            return None if quick is None else math.log(max(quick, 1e-300) / self.error)
        likely = isinstance(question, Numbers) and self.level >= Fraction(1, 2)
        quick = question.searched(f"within {self.error // question.step}") if likely else None
        return None if quick is None else math.log(_digits(1 - float(self.level)) / _digits(quick))

    def times(self, factor: Fraction) -> Target:
        """The same for an error larger by a factor."""
        return replace(self, error=self.error * factor)

    def __str__(self) -> str:
        error = f"{float(self.error):.6g}"
        return f"expected loss {error}" if self.level is None else f"within {error} with {float(self.level):.6g}"


def _digits(chance: float) -> float:
    return -math.log(min(max(chance, 1e-300), 1 - 1e-15))


@dataclass(frozen=True, eq=False)
class Allotment:
    """Several questions, each at a level that meets what is wanted of it; made by `session.allot`.

    Attributes
    ----------
    plans : the plans at their levels, in the order in which they were given
    price : what asking them together costs the budget, and under which accounting
    targets : what is wanted of each
    fits : whether what was left of the budget, when this was made, pays for it
    """

    plans: tuple[Plan, ...]
    price: Price
    targets: tuple[Target, ...]
    fits: bool
    session: Session = field(repr=False)

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


def allot(session: Session, targets: Any, level: Any, budget: Any, delta: Any) -> Allotment:
    """What `Session.allot` does."""
    wanted = _as_targets(session, targets, level)
    filter = session.account.filter
    share = _left_delta(session, delta)
    if budget is None:
        return _made(session, wanted, cheapest(_alternatives(wanted, filter, {}), filter, share))
    inner = _inner_filter(filter, budget)
    if inner.name == "basic" and share is not None:
        share = min(share, Fraction(inner.limits[1].rational))
    return _made(session, *_scaled(wanted, inner, share if inner.name == "basic" else None))


def price(session: Session, plans: Sequence[Plan], delta: Any) -> Price:
    """What `Session.price` does."""
    if not isinstance(plans, Sequence) or isinstance(plans, str) or not plans:
        raise InvalidInput(f"the plans are {shown(plans)}; give a list, such as [s.plan.count('age >= 65', 0.1), ...].")
    levels = [_as_plan(session, plan).privacy for plan in plans]
    found = cheapest(levels, session.account.filter, _left_delta(session, delta))
    return replace(found, fits=_fits(session, found))


def _made(session: Session, wanted: Mapping[Plan, Target], found: Price) -> Allotment:
    plans = tuple(
        replace(plan, question=plan.question.at(privacy)) for plan, privacy in zip(wanted, found.levels, strict=True)
    )
    fits = _fits(session, found)
    return Allotment(plans, replace(found, fits=fits), tuple(wanted.values()), fits, session)


def _fits(session: Session, found: Price) -> bool:
    filter = session.account.filter
    return filter.allows([session.left.spent, tuple(found.cost.get(name, ZERO) for name in filter.resources)])


def _left_delta(session: Session, delta: Any) -> Any:
    """The delta that a batch may use: as given, or all that is left; None for budgets that add up without one."""
    filter = session.account.filter
    if delta is not None or filter.name != "basic":
        return delta
    return max(Fraction(0), Fraction(filter.limits[1].rational) - Fraction(session.left.spent[1].rational))


def _inner_filter(filter: Filter, budget: Any) -> Filter:
    """The part of an account's budget that a batch may spend, counted as the account counts."""
    part = as_level(budget)
    plain = isinstance(part, ApproxDP) and part.delta == 0
    name = "pure" if filter.name == "basic" and plain else filter.name
    try:
        return choose(part, name)
    except InvalidInput:
        raise InvalidInput(
            f"budget is {part}, a level of another kind than the account's {filter.budget}; give a part of that."
        ) from None


# ---- what is wanted ----


def _as_targets(session: Session, targets: Any, level: Any) -> dict[Plan, Target]:
    if not isinstance(targets, Mapping) or not targets:
        raise InvalidInput(f"the targets are {shown(targets)}; for each plan {A_TARGET}")
    return {_as_plan(session, plan): _as_target(target, level) for plan, target in targets.items()}


def _as_plan(session: Session, plan: Any) -> Plan:
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
"""The levels that each filter can pay for; discrete Gaussian noise is the better one where rho is counted."""


@dataclass
class Found:
    """What a search over levels of one question and kind of noise leaves for the next one.

    Attributes
    ----------
    curve : its expected loss at some levels
    times : the size of a level that sufficed, times the error that was wanted
    shift : how much more or less the question needs than its noise alone
    slow : whether nothing is known quickly of what it errs by; None before it was tried
    """

    curve: Curve
    times: float = 1.0
    shift: float = 0.0
    slow: bool | None = None


def _alternatives(
    wanted: Mapping[Plan, Target], filter: Filter, known: dict[Any, Found], roughly: bool = False
) -> list[list[Level]]:
    """For every question the least level of each kind; where the last one of its sort ended, the next one begins."""
    found: list[list[Level]] = []
    seen: dict[tuple[type, int], tuple[float, float]] = {}
    for plan, target in wanted.items():
        levels = []
        for place, kind in enumerate(_kinds(plan, filter)):
            sort = (type(plan.question), place)
            of_noise = roughly and not plan.question.errs_as_its_noise
            key = (_likeness(plan), target.level, place, of_noise)
            before = known.setdefault(key, Found(_curve(), *seen.get(sort, ())))
            size = _least(plan, target, kind, before, roughly)
            if size is not None:
                levels.append(kind(size))
                before.times = size * float(target.error)
                seen[sort] = before.times, before.shift
        if not levels:
            raise InvalidInput(
                f"no level up to {LARGEST:g} meets {target} for: {plan.question.words} Ask for less accuracy."
            )
        found.append(levels)
    return found


def _curve() -> Curve:
    return Curve(math.log(SMALLEST), math.log(LARGEST))


def _likeness(plan: Plan) -> str:
    """What two questions of a session have in common that err alike: all but the column, and which rows they select."""
    public = {name: value for name, value in plan.question.public.items() if name != "column"}
    where = plan.question.public.get("where")
    return repr((type(plan.question), {**public, "where": where in (None, "", EVERY_ROW.text)}))


def _kinds(plan: Plan, filter: Filter) -> list[Callable[[float], Level]]:
    """Numbers take noise of any kind; choices are made at pure levels, and at (epsilon, delta) if planned so."""
    own = plan.privacy
    kinds: list[Callable[[float], Level]] = [_pure]
    if isinstance(plan.question, Numbers | Agreeing):
        kinds = list(KINDS[filter.name])
    delta = own.delta if isinstance(own, ApproxDP) else 0
    if delta > 0 and "delta" in filter.resources:
        kinds.append(lambda size: ApproxDP(Fraction(f"{size:.15g}"), delta))
    return kinds


def _least(plan: Plan, target: Target, kind: Callable[[float], Level], before: Found, roughly: bool) -> float | None:
    """The least size of a level that suffices, to a few digits; None if there is none, or no noise of that kind.

    Expected losses are read off the curve of what is known already, and found out where it is not. Where a question
    errs a little less than its noise alone, which is known quickly, the sizes at which the noise suffices, more or less
    by a shift, are tried: the shift hardly depends on the size, and the next question of its sort begins with it. With
    `roughly` the noise alone decides.
    """

    def quick(x: float) -> float:
        found = target.roughly(plan, kind(math.exp(x)))
        assert found is not None
        return found

    def exact(x: float) -> float:
        return target.excess(plan, kind(math.exp(x)))

    guess = _rounded_up(min(max(before.times / float(target.error), SMALLEST), LARGEST))
    try:
        if before.slow is None:
            found = target.roughly(plan, kind(guess))
            before.slow = found is None
            if found is not None and target.level is None and (roughly or plan.question.errs_as_its_noise):
                before.curve.add(math.log(guess), found + math.log(target.error))
        slow = before.slow
        excess = exact if slow or not (roughly or plan.question.errs_as_its_noise) else quick
        if target.level is None and (slow or roughly or plan.question.errs_as_its_noise):
            size = _by_curve(excess, target, before.curve, guess, roughly)
            return size if size is not None else _settled(excess, _root(excess, math.log(guess)))
        if excess is quick or slow:
            return _settled(excess, _root(excess, math.log(guess)))
        for _ in range(MOST_SHIFTED):
            shifted = partial(_shifted, quick, before.shift)
            tried = _settled(shifted, _root(shifted, math.log(guess)))
            if tried is None:
                break
            guess = tried
            over = exact(math.log(guess))
            if -SPARED < over <= 0:
                return guess
            before.shift = over - quick(math.log(guess)) + (0 if over > 0 else SPARED / 4)
        return _settled(exact, _root(exact, math.log(guess)))
    except UnsupportedLevel:
        return None


def _by_curve(
    excess: Callable[[float], float], target: Target, curve: Curve, guess: float, roughly: bool
) -> float | None:
    """The least size by the curve of an expected loss."""
    wanted = math.log(target.error)

    def loss(x: float) -> float:
        return excess(x) + wanted

    if not curve.points:
        curve.add(math.log(guess), loss(math.log(guess)))
    return least_on_curve(curve, loss, wanted, SPARED, _rounded_up, roughly)


def _shifted(excess: Callable[[float], float], shift: float, x: float) -> float:
    return excess(x) + shift


def _settled(excess: Callable[[float], float], size: float | None) -> float | None:
    """A size near to which an excess falls to 0, rounded up to a few digits until it has."""
    while size is not None:
        size = _rounded_up(size)
        if excess(math.log(size)) <= 0:
            return size
        size *= 1 + 10.0**-DIGITS
    return None


def _rounded_up(size: float) -> float:
    digits = DIGITS - 1 - math.floor(math.log10(size))
    return float(math.ceil(size * 10.0**digits - 1e-6) / 10.0**digits)


def _root(excess: Callable[[float], float], guess: float) -> float | None:
    """Where a falling function of the logarithm of a size falls to 0: about there; None if it does not in reach.

    A bracket is found in steps as long as a line of slope -1 suggests; then regula falsi, halving the value at an end
    that stays (the Illinois rule).
    """
    lowest, highest = math.log(SMALLEST), math.log(LARGEST)
    low = high = min(max(guess, lowest), highest)
    at_low = at_high = excess(low)
    step = 0.01
    while at_high > 0:
        if high == highest:
            return None
        step = max(2 * step, 1.05 * at_high)
        low, at_low, high = high, at_high, min(highest, high + step)
        at_high = excess(high)
    while at_low <= 0:
        if low == lowest:
            return SMALLEST
        step = max(2 * step, -1.05 * at_low)
        high, at_high, low = low, at_low, max(lowest, low - step)
        at_low = excess(low)
    last = 0
    while high - low > 10.0**-DIGITS / 4:
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        middle = min(max(middle, low + NEAR), high - NEAR)
        found = excess(middle)
        if -NEARLY < found <= 0:
            return math.exp(middle)
        if found > 0:
            low, at_low, at_high, last = middle, found, at_high / 2 if last > 0 else at_high, 1
        else:
            high, at_high, at_low, last = middle, found, at_low / 2 if last < 0 else at_low, -1
    return math.exp(high)


def _scaled(wanted: Mapping[Plan, Target], filter: Filter, delta: Fraction | None) -> tuple[dict[Plan, Target], Price]:
    """Targets larger or smaller by one factor, such that their price is just within a budget."""
    known: dict[Any, Found] = {}

    def at(log_factor: float, roughly: bool) -> tuple[dict[Plan, Target], Price]:
        factor = Fraction(math.exp(log_factor)).limit_denominator(10**12)
        scaled = {plan: target.times(factor) for plan, target in wanted.items()}
        return scaled, cheapest(_alternatives(scaled, filter, known, roughly), filter, delta)

    limit = float(filter.limits[0])
    if not 0 < limit < math.inf:
        raise InvalidInput(f"budget is {filter.budget}; give what the questions may spend, above 0 and finite.")
    steep = 1.0 if filter.name in ("pure", "basic") else 2.0  # how fast a price falls as errors grow
    start, _ = _within(lambda x: at(x, True), 0.0, limit, steep, CLOSE)
    quick = all(plan.question.errs_as_its_noise for plan in wanted) and not any(each.slow for each in known.values())
    _, best = _within(lambda x: at(x, False), start, limit, steep, CLOSE if quick else 5 * CLOSE)
    if best is None:
        raise InvalidInput(f"no errors were found that {filter.budget} pays for; give a larger budget.")
    return best


def _within(
    at: Callable[[float], tuple[dict[Plan, Target], Price]], x: float, limit: float, steep: float, close: float
) -> tuple[float, tuple[dict[Plan, Target], Price] | None]:
    """Where prices come close to a limit from below, as targets grow by e^x; and the targets and price there."""
    low, high, best = -math.inf, math.inf, None
    for _ in range(MOST_TRIED):
        found = at(x)
        over = math.log(max(float(next(iter(found[1].cost.values()))), 1e-300) / limit)
        if found[1].fits:
            high, best = x, found
        else:
            low = x
        if best is not None and (-close < over <= 0 or high - low < close):
            return high, best
        x += over / steep + close / 4
        if not low < x < high:
            x = (low + high) / 2
    return x, best
