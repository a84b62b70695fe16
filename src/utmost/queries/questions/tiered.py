"""Counts, majorities and thresholds of tables with tiers (heterogeneous privacy): one integer for each tier.

The tier of a row is public: the first of the named conditions that it meets, or the rest; that of a person is the first
one that any of their rows meets. Neighbours differ in one row, or the rows of one person, of one tier, so one integer
changes, at the level of its tier (HET). The answer is about all rows together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput
from utmost.exact import write_rational
from utmost.privacy import Level, require_pure
from utmost.queries.accuracy import CONFIDENCE, After, Before
from utmost.queries.arguments import Of
from utmost.queries.contributions import Contribution, ones, require_id, statement
from utmost.queries.expressions.values import case, compare, least_over, literal
from utmost.queries.losses import as_loss, reported_losses
from utmost.queries.predicate import EVERY_ROW, Where, as_condition
from utmost.queries.questions.priors import require_unbiased
from utmost.queries.questions.question import Question, as_of
from utmost.queries.questions.selection import Confidence, Scope, Scores, Selection
from utmost.queries.units import Unit
from utmost.space.integers import Tiers
from utmost.space.line import Line, line_prior

if TYPE_CHECKING:
    from utmost.solution import Solution

TRIED = "the worst of some points tried"


@dataclass(frozen=True)
class TieredSum(Scores):
    """A sum over the rows of every tier, named t0, t1, ..., the rest last.

    Attributes
    ----------
    ends : pair of int
        The range of what a row adds; it contains 0.
    contribution : callable
        Returns the expression of it, for a table and a condition.
    where : Where
        The condition.
    scope : Scope
        The rows, with contribution bound and adjacency.
    unit : Unit
        The privacy unit, with its tiers.
    """

    ends: tuple[int, int]
    contribution: Callable[[Source, Any], Contribution]
    where: Where
    scope: Scope
    unit: Unit

    @cached_property
    def space(self) -> Tiers:
        """The range of the sum of every tier, and the share of the level that each tier has."""
        sizes = [tier.at_most for tier in self.unit.tiers]
        shares = [write_rational(tier.share) for tier in self.unit.tiers]
        if rest := (self.unit.at_most or 0) - sum(sizes):
            sizes, shares = [*sizes, rest], [*shares, "1"]
        scopes = (replace(self.scope, rows=size * self.scope.rows_each) for size in sizes)
        return Tiers(tuple(scope.line(self.ends) for scope in scopes), tuple(shares))

    def statement(self, source: Source, unit: Unit, rows_each: int, secret: bytes) -> Statement:
        """The statement for the sums: every row is added to that of its tier."""
        row = self.contribution(source, self.where.text)
        require_id(source, self.unit.id)
        tiers = [(as_condition(tier.where, source), literal(place)) for place, tier in enumerate(self.unit.tiers)]
        first = case(tiers, literal(len(tiers)))
        if self.unit.id is not None:  # over all rows of the person, the condition aside
            first = least_over(first, [source.column(self.unit.id)])
        parts = {}
        for place in range(len(self.space.lines)):
            own = compare("=", first, literal(place))
            in_tier = own if row.taking_part is None else row.taking_part & own
            parts[f"t{place}"] = Contribution(in_tier, row.value, row.least, row.most)
        return statement(source, self.unit, rows_each, parts, secret)

    def point(self, engine_result: Mapping[str, int]) -> tuple[int, ...]:
        return self.space.clamp([engine_result[f"t{place}"] for place in range(len(self.space.lines))])


def require_uniform(space: Tiers, prior: Any, privacy: Level) -> None:
    """Refuse levels that are not pure, and any prior but the uniform one."""
    line_prior(cast(Line, space), prior)  # uses the number of points only
    require_pure(privacy)
    if prior is not None:
        raise InvalidInput("with tiers every count of every tier is taken as equally likely; leave the prior out.")


def tier_levels_in_words(unit: Unit, space: Tiers, privacy: Level) -> tuple[str, ...]:
    """The level that each named tier spends, in words."""
    levels = zip(unit.tiers, space.levels(privacy), strict=False)
    return tuple(f"of {unit.plural} with {tier.where} it spends {level}" for tier, level in levels)


@dataclass(frozen=True, eq=False)
class TieredDecision(Selection):
    """Whether the sum over all tiers reaches a threshold.

    Attributes
    ----------
    space : Tiers
        The range of the sum of each tier, with its share of the level.
    border : int
        The threshold: the least sum with the answer yes.
    privacy : Level
        The level, of which each tier has a share.
    unit : Unit
        The privacy unit, with its tiers.
    """

    label: ClassVar = "yes"
    answer_type: ClassVar = bool

    space: Tiers
    border: int
    privacy: Level
    unit: Unit

    @property
    def problem_data(self) -> dict[str, Any]:
        return {"loss": "zero-one", "border": self.border}

    def design(self) -> Solution:
        from utmost.theory.scalar.design.tiers import best_tiered_choice

        return best_tiered_choice(self.space, self.border, self.privacy)

    def select(self, solution: Solution, point: Any) -> bool:
        sample = solution.mechanism.sample(point)
        return bool(sample[0] if isinstance(sample, tuple) else sample)

    def require(self, answer: Any) -> None:
        if not isinstance(answer, bool):
            raise InvalidInput("what is released is yes or no: true or false.")

    def values(self, answer: Any) -> tuple[bool]:
        return (bool(answer),)

    def before(self, solution: Solution) -> Before:
        return Before("zero-one", solution.value, solution.mechanism.worst_wrong(self.border))

    def confidence(self, solution: Solution, answer: bool) -> Confidence:
        place = int(answer)
        joint = solution.mechanism.joint(self.space, self.border)[:, place]
        return Confidence(right=float(joint[place] / joint.sum()) if joint.sum() > 0 else 0.5)

    def confidence_basis(self, of_groups: str, part: str) -> str:
        return "a uniform prior and this answer"

    def expected_losses(self, solution: Solution) -> dict[str, dict[str, float]]:
        from utmost.theory.scalar.design.tiers import choice_errors

        errors = choice_errors(self.space, self.border, self.privacy)
        alternatives = {
            name: {"zero-one": value} for name, value in errors.items() if name != solution.certificate.method
        }
        return {"Utmost": {"zero-one": solution.value}, **alternatives}

    def notes(self, solution: Solution) -> tuple[str, ...]:
        return (*tier_levels_in_words(self.unit, self.space, self.privacy), *solution.certificate.notes)


@dataclass(frozen=True, eq=False, kw_only=True)
class TieredCount(Question):
    """The number of rows, or people, that meet a condition, over all tiers.

    Attributes
    ----------
    where : Where
        Which rows are counted.
    of : "rows" or "people"
        What is counted.
    loss : str
        The loss that the mechanism is designed for.
    prior : None
        Uniform: every count of every tier is equally likely.
    unbiased : bool
        Whether the answer is the noisy number itself, without post-processing.
    """

    name = "count"
    summary = "how many rows have a condition"
    tiered: ClassVar = True

    where: Where = EVERY_ROW
    of: Of = "rows"
    loss: str = "absolute"
    prior: None = None
    unbiased: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.set_fields(of=as_of(self.of, self.terms.unit), loss=as_loss(self.loss))
        self.set_fields(unbiased=require_unbiased(self.unbiased))
        require_uniform(self.space, self.prior, self.privacy)

    @cached_property
    def scores(self) -> TieredSum:
        """The counts of all tiers."""
        scope = Scope(self.most_rows, self.rows_each, self.terms.neighbours, self.privacy)
        return TieredSum((0, 1), ones, self.where, scope, self.terms.unit)

    @property
    def words(self) -> str:
        how = ", as an unbiased number" if self.unbiased else ", as the sum of best guesses under a uniform prior"
        condition = f"have {self.where}" if self.where else "are there"
        return f"How many {self.of}{self.rows_clause_mid_sentence} {condition}{how}?"

    @property
    def public(self) -> dict[str, Any]:
        parameters = {"question": self.name, "where": self.where.text, "of": self.of}
        return {**parameters, "loss": self.loss, "prior": "uniform", "unbiased": self.unbiased}

    @property
    def space(self) -> Tiers:
        return self.scores.space

    @property
    def problem_data(self) -> dict[str, Any]:
        return {"loss": self.loss, "unbiased": self.unbiased}

    def design(self) -> Solution:
        from utmost.theory.scalar.design.tiers import best_tiered_count

        return best_tiered_count(self.space, self.privacy, self.loss, self.unbiased)

    def statement(self, source: Source, secret: bytes) -> Statement:
        return self.scores.statement(source, self.terms.unit, self.rows_each, secret)

    def point(self, engine_result: Mapping[str, int]) -> tuple[int, ...]:
        return self.scores.point(engine_result)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the released integers, which are sums over tiers."""
        parts = self.solution.mechanism.parts
        return ("count",) if len(parts) == 1 else tuple(f"tier {'+'.join(str(t + 1) for t in part)}" for part in parts)

    def released(self, sample: Any) -> dict[str, Any]:
        return {name: int(number) for name, number in zip(self.names, sample, strict=True)}

    def require_released(self, released: Mapping[str, Any]) -> None:
        if set(released) != set(self.names) or not all(type(value) is int for value in released.values()):
            raise InvalidInput("what is released is a whole number for every sum of tiers.")
        for name, law in zip(self.names, self.solution.mechanism.laws, strict=True):
            if not self.unbiased and law.line.clamp(released[name]) != released[name]:
                raise InvalidInput("the best guess of a number lies where the number does.")

    def value(self, released: Mapping[str, Any]) -> Any:
        return sum(released[name] for name in self.names) + self.solution.mechanism.guess

    def probability_off_by_more(self, error: Fraction) -> float:
        return float(self.solution.mechanism.expected(f"within {error // 1}")) if error >= 0 else 1.0

    def before(self) -> Before:
        return Before(self.loss, self.average, self.solution.mechanism.worst(self.loss), worst_among=TRIED)

    def after(self, released: Mapping[str, Any]) -> After:
        """The sum of simultaneous intervals for all released sums, each with an equal part of the error probability."""
        mechanism = self.solution.mechanism
        level = 1 - (1 - CONFIDENCE) / len(mechanism.laws)
        ends = [law.interval(released[name], level) for name, law in zip(self.names, mechanism.laws, strict=True)]
        ends += [self.space.lines[tier].ends for tier in mechanism.left_out]
        return After({"count": (sum(low for low, _ in ends), sum(high for _, high in ends))}, by_law=True)

    def near_limit(self, released: Mapping[str, Any], after: After) -> bool:
        """Whether the interval reaches the largest count that `at_most` allows."""
        return any(high >= self.stated_rows for _, high in after.intervals.values())

    def expected_losses(self) -> dict[str, dict[str, float]]:
        from utmost.theory.scalar.design.tiers import tiered_counts

        losses, mechanism = reported_losses(self.loss), self.solution.mechanism
        alternatives: dict[str, dict[str, float]] = {}
        for name, design in tiered_counts(self.space, self.privacy, self.loss, self.unbiased):
            if design is not mechanism and name != self.solution.certificate.method:
                by_loss = {loss: design.expected(loss) for loss in losses}
                alternatives[name] = min(by_loss, alternatives.get(name, by_loss), key=lambda losses: losses[self.loss])
        return {"Utmost": {loss: mechanism.expected(loss) for loss in losses}, **alternatives}

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            *tier_levels_in_words(self.terms.unit, self.space, self.privacy),
            *self.solution.certificate.notes,
        )
