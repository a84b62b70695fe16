"""Counts, majorities and thresholds of rows of which some are promised more than others: one integer for each tier.

Which tier a row belongs to is public: the first of the named conditions that is true of it, or none of them. One
neighbour changes one row of one tier, so it moves one integer, at the level of its tier (HET). The answer is about all
rows together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from utmost.errors import InvalidInput
from utmost.exact import write_rational
from utmost.privacy import require_pure
from utmost.release.accuracy import BY_LAW, CONFIDENCE, After, Before
from utmost.release.arguments import as_loss, shown_with
from utmost.release.conditions import as_condition
from utmost.release.contributions import Contribution, ones, statement, votes
from utmost.release.questions.count import Count
from utmost.release.questions.majority import Majority
from utmost.release.questions.numbers import require_unbiased
from utmost.release.questions.question import Question, as_of
from utmost.release.questions.threshold import Threshold, as_border
from utmost.release.source import Source, Statement
from utmost.space.integers import Line, Tiers

if TYPE_CHECKING:
    from utmost.solution import Solution

TRIED = "the worst of some points tried"


def tier_lines(question: Question, least: int) -> Tiers:
    """One line for each tier, the rest last: from least times its rows to its rows."""
    unit = question.terms.unit
    sizes = [tier.at_most for tier in unit.tiers]
    shares = [write_rational(tier.share) for tier in unit.tiers]
    rest = unit.at_most - sum(sizes)
    if rest:
        sizes, shares = [*sizes, rest], [*shares, "1"]
    moved = 1 - least if question.terms.neighbours == "replace" else 1
    return Tiers(tuple(Line(least * size, size, moved) for size in sizes), tuple(shares))


def tier_statement(question: Any, source: Source, secret: bytes, each: Contribution) -> Statement:
    """What every row adds, in the sum of its tier: t0, t1, ..., the rest last."""
    import ibis

    taken, parts = ibis.literal(False), {}
    named = [as_condition(tier.where, source) for tier in question.terms.unit.tiers]
    for number in range(len(question.space.lines)):
        here = ibis.literal(True) if number == len(named) else ibis.coalesce(named[number], False)
        mine = here & ~taken
        taken = taken | here
        both = mine if each.taking_part is None else each.taking_part & mine
        parts[f"t{number}"] = Contribution(both, each.value, each.least, each.most)
    return statement(source, question.terms.unit, 1, parts, secret)


def promised(question: Question) -> tuple[str, ...]:
    """What this answer spends of each tier, as notes."""
    levels = question.space.levels(question.privacy)  # type: ignore[union-attr]
    named = zip(question.terms.unit.tiers, levels, strict=False)
    return tuple(f"of rows with {tier.where} it spends {level}" for tier, level in named)


def require_tiered(question: Any) -> None:
    """Refuse what is not known how to answer best where tiers have levels of their own."""
    require_pure(question.privacy)
    if question.prior is not None:
        raise InvalidInput("with tiers every count of every tier is taken as equally likely; leave the prior out.")


@dataclass(frozen=True, eq=False, kw_only=True)
class TieredCount(Count):
    """How many rows there are of which a condition is true, of all tiers together."""

    tiered = True

    def __post_init__(self) -> None:
        Question.__post_init__(self)
        require_tiered(self)
        self.settle(loss=as_loss(self.loss), of=as_of(self.of, self.terms.unit))
        self.settle(unbiased=require_unbiased(self.unbiased))

    @property
    def space(self) -> Any:
        return tier_lines(self, 0)

    @property
    def told(self) -> str:
        return ", as an unbiased number" if self.unbiased else ", as the sum of best guesses under a uniform prior"

    @property
    def notes(self) -> tuple[str, ...]:
        return (*promised(self), *self.solution.certificate.notes)

    @property
    def posed(self) -> dict[str, Any]:
        return {"loss": self.loss, "unbiased": self.unbiased}

    @property
    def names(self) -> tuple[str, ...]:
        parts = self.solution.mechanism.parts
        return ("count",) if len(parts) == 1 else tuple(f"tier {'+'.join(str(t + 1) for t in part)}" for part in parts)

    def design(self) -> Solution:
        from utmost.design.tiers import best_tiered_count

        return best_tiered_count(self.space, self.privacy, self.loss, self.unbiased)

    def statement(self, source: Source, secret: bytes) -> Statement:
        return tier_statement(self, source, secret, ones(source, self.where.given))

    def point(self, found: Mapping[str, int]) -> Any:
        return self.space.clamp([found[f"t{number}"] for number in range(len(self.space.lines))])

    def released(self, drawn: Any) -> dict[str, Any]:
        return {name: int(one) for name, one in zip(self.names, drawn, strict=True)}

    def require_released(self, released: Mapping[str, Any]) -> None:
        if set(released) != set(self.names) or not all(type(value) is int for value in released.values()):
            raise InvalidInput("what is released is a whole number for every sum of tiers.")
        for name, law in zip(self.names, self.solution.mechanism.laws, strict=True):
            if not self.unbiased and law.line.clamp(released[name]) != released[name]:
                raise InvalidInput("the best guess of a number lies where the number does.")

    def value(self, released: Mapping[str, Any]) -> Any:
        return sum(released[name] for name in self.names) + self.solution.mechanism.guess

    def searched(self, loss: str) -> float | None:
        return None

    def before(self) -> Before:
        return Before(self.loss, self.average, self.solution.mechanism.worst(self.loss), worst_among=TRIED)

    def after(self, released: Mapping[str, Any]) -> After:
        """The intervals of all sums at once, each with its part of what may be missed, added up."""
        mechanism = self.solution.mechanism
        each = 1 - (1 - CONFIDENCE) / len(mechanism.laws)
        ends = [law.interval(released[name], each) for name, law in zip(self.names, mechanism.laws, strict=True)]
        ends += [(line.first, line.last) for line in map(self.space.lines.__getitem__, mechanism.left_out)]
        return After({"count": (sum(low for low, _ in ends), sum(high for _, high in ends))}, given=BY_LAW)

    def alternatives(self, losses: tuple[str, ...]) -> dict[str, dict[str, float]]:
        from utmost.design.tiers import tiered_counts

        found: dict[str, dict[str, float]] = {}
        for name, way in tiered_counts(self.space, self.privacy, self.loss, self.unbiased):
            if way is not self.solution.mechanism and name != self.solution.certificate.method:
                by = {loss: way.expected(loss) for loss in losses}
                found[name] = min(by, found.get(name, by), key=lambda each: each[self.loss])
        return found

    def compared(self) -> dict[str, dict[str, float]]:
        losses = shown_with(self.loss)
        return {
            "Utmost": {each: self.solution.mechanism.expected(each) for each in losses},
            **self.alternatives(losses),
        }

    def belief(self, released: Mapping[str, Any]) -> tuple[Any, Any] | None:
        return None


class TieredYesOrNo(Question):
    """Whether the sum of all tiers' integers is at least so much: what majority and threshold share."""

    tiered = True

    @property
    def posed(self) -> dict[str, Any]:
        return {"loss": self.loss, "border": self.border}  # type: ignore[attr-defined]

    def design(self) -> Solution:
        from utmost.design.tiers import best_tiered_choice

        return best_tiered_choice(self.space, self.border, self.privacy)  # type: ignore[attr-defined, arg-type]

    def point(self, found: Mapping[str, int]) -> Any:
        grid: Any = self.space
        return grid.clamp([found[f"t{number}"] for number in range(len(grid.lines))])

    def released(self, drawn: Any) -> dict[str, Any]:
        return {"yes": bool(drawn[0] if isinstance(drawn, tuple) else drawn)}

    def before(self) -> Before:
        return Before("zero-one", self.solution.value, self.solution.mechanism.worst_wrong(self.border))  # type: ignore[attr-defined]

    def after(self, released: Mapping[str, Any]) -> After:
        said = int(released["yes"])
        joint = self.solution.mechanism.joint(self.space, self.border)[:, said]  # type: ignore[attr-defined]
        chance = float(joint[said] / joint.sum()) if joint.sum() > 0 else 0.5
        return After(probability_right=chance, given="a uniform prior and this answer")

    def compared(self) -> dict[str, dict[str, float]]:
        from utmost.design.tiers import choice_errors

        found = choice_errors(self.space, self.border, self.privacy)  # type: ignore[attr-defined, arg-type]
        others = {
            name: {"zero-one": value} for name, value in found.items() if name != self.solution.certificate.method
        }
        return {"Utmost": {"zero-one": self.solution.value}, **others}

    @property
    def notes(self) -> tuple[str, ...]:
        return promised(self)


@dataclass(frozen=True, eq=False, kw_only=True)
class TieredMajority(TieredYesOrNo, Majority):
    """Whether a condition is true of more rows than it is false of, of all tiers together."""

    def __post_init__(self) -> None:
        Question.__post_init__(self)
        require_tiered(self)
        self.require_condition()
        self.settle(loss=as_loss(self.loss, ("zero-one",)))

    @property
    def space(self) -> Any:
        return tier_lines(self, -1)

    def statement(self, source: Source, secret: bytes) -> Statement:
        return tier_statement(self, source, secret, votes(source, self.where.given))


@dataclass(frozen=True, eq=False, kw_only=True)
class TieredThreshold(TieredYesOrNo, Threshold):
    """Whether a condition is true of at least so many rows, of all tiers together."""

    def __post_init__(self) -> None:
        Question.__post_init__(self)
        require_tiered(self)
        self.settle(loss=as_loss(self.loss, ("zero-one",)), of=as_of(self.of, self.terms.unit))
        self.settle(at_least=as_border(self.at_least, self.terms.unit.at_most))

    @property
    def space(self) -> Any:
        return tier_lines(self, 0)

    def statement(self, source: Source, secret: bytes) -> Statement:
        return tier_statement(self, source, secret, ones(source, self.where.given))
