"""Counts, majorities and thresholds of rows of which some are promised more than others: one integer for each tier.

Which tier a row belongs to is public: the first of the named conditions that is true of it, or none of them; a person
belongs to the first one that is true of any of their rows. One neighbour changes one row, or the rows of one person, of
one tier, so it moves one integer, at the level of its tier (HET). The answer is about all rows together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput
from utmost.exact import write_rational
from utmost.privacy import require_pure
from utmost.queries.accuracy import BY_LAW, CONFIDENCE, After, Before
from utmost.queries.contributions import Contribution, require_id, statement
from utmost.queries.expressions.values import case, compare, least_over, literal
from utmost.queries.predicate import as_condition
from utmost.queries.questions.choices import YesOrNo
from utmost.queries.questions.count import Count
from utmost.queries.questions.majority import Majority
from utmost.queries.questions.question import Question, shown_with
from utmost.queries.questions.threshold import Threshold
from utmost.space.integers import Tiers
from utmost.space.line import Line

if TYPE_CHECKING:
    from utmost.solution import Solution

TRIED = "the worst of some points tried"


class OfTiers(Question):
    """One integer for each tier, the rest last, of which one row moves its tier's: beside a question that `Adds`."""

    tiered = True
    range_of_row: Any
    contributions: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        require_pure(self.privacy)
        if getattr(self, "prior", None) is not None:
            raise InvalidInput("with tiers every count of every tier is taken as equally likely; leave the prior out.")

    def sketch(self) -> Solution | None:
        return None

    @property
    def space(self) -> Any:
        unit, (low, high) = self.terms.unit, self.range_of_row
        sizes = [tier.at_most for tier in unit.tiers]
        shares = [write_rational(tier.share) for tier in unit.tiers]
        if rest := (unit.at_most or 0) - sum(sizes):
            sizes, shares = [*sizes, rest], [*shares, "1"]
        most = [size * self.rows_each for size in sizes]
        moved = self.rows_each * (high - low if self.terms.neighbours == "replace" else 1)
        lines = (Line(low * rows, high * rows, min(moved, (high - low) * rows)) for rows in most)
        return Tiers(tuple(lines), tuple(shares))

    def statement(self, source: Source, secret: bytes) -> Statement:
        """What every row adds, in the sum of the first tier that it belongs to: t0, t1, ..., the rest last."""
        (each,) = self.contributions(source)
        unit, parts = self.terms.unit, {}
        require_id(source, unit.id)
        named = [(as_condition(tier.where, source), literal(number)) for number, tier in enumerate(unit.tiers)]
        first = case(named, literal(len(named)))
        if unit.id is not None:  # of all rows of the person, also of those that the question is not about
            first = least_over(first, [source.column(unit.id)])
        for number in range(len(self.space.lines)):
            mine = compare("=", first, literal(number))
            both = mine if each.taking_part is None else each.taking_part & mine
            parts[f"t{number}"] = Contribution(both, each.value, each.least, each.most)
        return statement(source, unit, self.rows_each, parts, secret)

    def point(self, found: Mapping[str, int]) -> Any:
        return self.space.clamp([found[f"t{number}"] for number in range(len(self.space.lines))])

    @property
    def notes(self) -> tuple[str, ...]:
        named = zip(self.terms.unit.tiers, self.space.levels(self.privacy), strict=False)
        spent = (f"of {self.terms.unit.whose} with {tier.where} it spends {level}" for tier, level in named)
        return (*spent, *self.solution.certificate.notes)


@dataclass(frozen=True, eq=False, kw_only=True)
class TieredCount(OfTiers, Count):
    """How many rows there are of which a condition is true, of all tiers together."""

    @property
    def told(self) -> str:
        return ", as an unbiased number" if self.unbiased else ", as the sum of best guesses under a uniform prior"

    @property
    def posed(self) -> dict[str, Any]:
        return {"loss": self.loss, "unbiased": self.unbiased}

    @property
    def names(self) -> tuple[str, ...]:
        parts = self.solution.mechanism.parts
        return ("count",) if len(parts) == 1 else tuple(f"tier {'+'.join(str(t + 1) for t in part)}" for part in parts)

    def design(self) -> Solution:
        from utmost.theory.scalar.design.tiers import best_tiered_count

        return best_tiered_count(self.space, self.privacy, self.loss, self.unbiased)

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
        from utmost.theory.scalar.design.tiers import tiered_counts

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


class TieredYesOrNo(OfTiers, YesOrNo):
    """Whether the sum of all tiers' integers is at least so much: what majority and threshold share."""

    @property
    def posed(self) -> dict[str, Any]:
        return {"loss": self.loss, "border": self.border}

    def design(self) -> Solution:
        from utmost.theory.scalar.design.tiers import best_tiered_choice

        return best_tiered_choice(self.space, self.border, self.privacy)

    def released(self, drawn: Any) -> dict[str, Any]:
        return {"yes": bool(drawn[0] if isinstance(drawn, tuple) else drawn)}

    def before(self) -> Before:
        return Before("zero-one", self.solution.value, self.solution.mechanism.worst_wrong(self.border))

    def after(self, released: Mapping[str, Any]) -> After:
        said = int(released["yes"])
        joint = self.solution.mechanism.joint(self.space, self.border)[:, said]
        chance = float(joint[said] / joint.sum()) if joint.sum() > 0 else 0.5
        return After(probability_right=chance, given="a uniform prior and this answer")

    def compared(self) -> dict[str, dict[str, float]]:
        from utmost.theory.scalar.design.tiers import choice_errors

        found = choice_errors(self.space, self.border, self.privacy)
        others = {
            name: {"zero-one": value} for name, value in found.items() if name != self.solution.certificate.method
        }
        return {"Utmost": {"zero-one": self.solution.value}, **others}


@dataclass(frozen=True, eq=False, kw_only=True)
class TieredMajority(TieredYesOrNo, Majority):
    """Whether a condition is true of more rows than it is false of, of all tiers together."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TieredThreshold(TieredYesOrNo, Threshold):
    """Whether a condition is true of at least so many rows, of all tiers together."""
