"""Numeric queries: an aggregate of the rows of each group, released with noise at a privacy level.

An aggregate (`aggregates/`) defines what a row contributes and how released integers become the estimate; the queries
define how its integers are released for a grouping:

* `OneNumber`: the whole table, one integer, by the optimal mechanism on its range, with optimal post-processing (best
  guess) unless `unbiased`;
* `SeveralSums`: the whole table, several integers with one vector of noise, such as the two sums of a mean;
* `ByKeys`: every public key, with one vector of noise for up to a million groups;
* `by_found_keys.ByFoundKeys`: keys that are found privately.

The sensitivity is that of one row times the number of rows of a unit that are used in all groups together. Clamping
every integer to a public range never increases a difference and never changes its sign, so it keeps the sensitivity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput, shown
from utmost.exact import as_plain, as_whole
from utmost.privacy import ApproxDP, Level
from utmost.queries.accuracy import CONFIDENCE, After, Before
from utmost.queries.aggregates.aggregate import Aggregate, Estimates, Integers, Ratio, Setting
from utmost.queries.contributions import digits_for, from_digits, in_digits
from utmost.queries.group_bounds import GroupBounds
from utmost.queries.groups import LARGEST, bounded_statement, grouped_statement
from utmost.queries.keys import Keys, english_list, require_keys
from utmost.queries.losses import ERROR_LOSSES, as_loss, loss_in_unit, losses_in_unit, reported_losses, with_rounding
from utmost.queries.questions.alternatives import noise_alternatives, number_alternatives
from utmost.queries.questions.integer_limits import clip_to, is_near_end
from utmost.queries.questions.priors import prior_name, prior_text, require_unbiased
from utmost.queries.questions.question import Question, as_of
from utmost.queries.questions.row_errors import RowErrors, as_expected
from utmost.queries.report.words import question_in_words
from utmost.queries.rounding_steps import DESIGN_UNITS
from utmost.space.integers import Lattice
from utmost.space.line import Line, cost, line_prior

if TYPE_CHECKING:
    import pyarrow

    from utmost.mechanism.noise.lattice import NoisyVector
    from utmost.solution import Solution

MOST_RELEASED = 2**256
"""Upper limit of released integers: sums have 128 bits, and noise at small levels is wider."""
GROUPS_DO_NOT_ADD_UP = "groups do not add up to the whole table"
IN_ONE_GROUP = "each counted in one group, that of one of their rows chosen at random"
ONE_GROUP = "people with rows in several groups count in one of them"
MORE_GROUPS = f"{ONE_GROUP}; count(by=um.keys(...)) of um.people(..., groups_each=g) counts them in up to g"
SUPPRESSED = (
    "groups whose released number of rows is below {} are suppressed: they are listed without a value; an interval "
    "holds as often as stated over all draws, whether its group is suppressed or not"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class AggregateQuery(Question):
    """An aggregate at a privacy level, for one grouping of the rows.

    Attributes
    ----------
    aggregate : Aggregate
        What is computed of the rows of a group.
    expected_rows : number, mapping, list or None
        Expected number of rows of a ratio (one, or one per key): public, used for its plan only.
    """

    aggregate: Aggregate
    expected_rows: Any = None

    def __post_init__(self) -> None:
        self.set_fields(of=as_of(self.aggregate.of, self.terms.unit))  # first: how many rows are used depends on it
        super().__post_init__()
        if self.grouped_by not in self.aggregate.groupings:
            raise InvalidInput(f"a {self.name} is not asked by {self.grouped_by}; ask for the {self.name} of all rows.")
        self.set_fields(loss=as_loss(self.loss, self.losses_designed_for))
        _ = self.statistic  # refused here, if its range or grid is none
        if self.expected_rows is not None:
            self.set_fields(expected_rows=as_expected(self.expected_rows, self.labels, self.most_rows))

    @property
    def name(self) -> str:
        return self.aggregate.name

    @property
    def setting(self) -> Setting:
        """The public setting that the aggregate depends on."""
        unit = self.terms.unit
        return Setting(
            self.terms.neighbours,
            self.privacy,
            unit.at_most,
            self.rows_each,
            self.most_rows,
            self.loss,
            grouped=self.grouped_by != "whole",
            tabulated=self.is_tabulated,
        )

    @cached_property
    def statistic(self) -> Aggregate:
        """The aggregate in the setting of this query, with its grid."""
        return self.aggregate.in_setting(self.setting)

    @property
    def losses_designed_for(self) -> tuple[str, ...]:
        """The losses that the noise can be designed for."""
        return self.aggregate.losses

    grouped_by: ClassVar[str] = "whole"
    """The grouping: "whole" (table), "keys" (public), or "found keys" (found privately)."""

    @property
    def is_tabulated(self) -> bool:
        """Whether the noise is tabulated step by step."""
        return False

    @property
    def labels(self) -> Sequence[Any]:
        """The public keys; empty where there are none."""
        return ()

    @property
    def identity(self) -> dict[str, Any]:
        expectations = ("expected_rows", "min_rows")  # which change only how an answer is planned or shown
        return {name: part for name, part in self.public.items() if name not in expectations}

    @property
    def expectations(self) -> dict[str, Any]:
        """The part of `public` that changes only how an answer is planned or shown."""
        return {} if self.expected_rows is None else {"expected_rows": self.expected_rows}

    # ---- the integers ----

    def line(self) -> Line:
        """The range of the one integer of the whole table, with its sensitivity."""
        low, high = self.statistic.range
        row_sensitivity = max(abs(low), abs(high)) if self.terms.neighbours == "add-remove" else high - low
        if self.most_rows is None:
            return Line(None, None, row_sensitivity * self.rows_each)
        first, last = self.most_rows * low, self.most_rows * high
        return Line(first, last, min(row_sensitivity * self.rows_each, last - first))

    def lattice(self, groups: int = 1) -> Lattice:
        """The space of all integers of disjoint groups, with its sensitivity set."""
        moves, sensitivity = self.statistic.sensitivity()
        rows, most_units = self.rows_in_group, self.terms.unit.at_most
        in_one_group = sensitivity * rows if rows < self.rows_each else None
        low, high = (None, None) if most_units is None else (most_units * rows * end for end in self.statistic.range)
        dimension = len(self.statistic.parts) * groups
        return Lattice(dimension, moves, sensitivity * self.rows_each, low, high, in_one_group)

    @property
    def digits(self) -> int:
        """The number of digits in which contributions are summed by key, so that no sum exceeds 64 bits.

        Without `at_most` that holds for groups of up to 2 * 10^9 rows: more digits would take four times as long.
        """
        rows = DESIGN_UNITS * self.rows_each if self.most_rows is None else self.most_rows
        return digits_for(max(map(abs, self.statistic.range)), rows)

    def statement(self, source: Source, secret: bytes) -> Statement:
        return source.statement(self.statistic.relation(source, self.bounded_unit, self.where.text, secret))

    # ---- errors ----

    @property
    def noisy(self) -> NoisyVector:
        """The mechanism that adds noise to the integers."""
        mechanism: NoisyVector = self.solution.mechanism
        return mechanism

    @cached_property
    def row_errors(self) -> RowErrors | None:
        """The errors of a ratio, which fall with the number of rows; None if the noise itself is the error."""
        statistic, expected = self.statistic, self.expected_rows
        if not isinstance(statistic, Ratio):
            return None
        sizes = tuple(expected) if isinstance(expected, list) else () if expected is None else (expected,)
        return RowErrors(statistic, self.noisy, self.noisy_space, self.noisy_level, self.loss, sizes)

    @property
    def noisy_space(self) -> Lattice:
        """The space of the integers that get one vector of noise."""
        return self.lattice()

    @property
    def noisy_level(self) -> Any:
        """The privacy level of that noise."""
        return self.privacy

    @property
    def average(self) -> float:
        if self.row_errors is not None:
            self.require_expected_rows()
            return self.row_errors.average
        return self.in_answer_unit(self.loss, self.solution.value) + self.loss_from_rounding

    def require_expected_rows(self) -> None:
        if self.aggregate.is_ratio and self.expected_rows is None:
            raise InvalidInput(
                f"the error of a {self.name} depends on how many rows it is made of; plan it with expected_rows=, a "
                "public number (or one for each key), such as expected_rows=1000, and give the target again."
            )

    @property
    def takes_any_noise(self) -> bool:
        return True

    @property
    def error_has_law(self) -> bool:
        return not self.aggregate.is_ratio

    @property
    def grid_is_named(self) -> bool:
        return self.aggregate.grid_is_named

    def in_answer_unit(self, loss: str, value: float) -> float:
        """Convert a loss in steps to the unit of the answer."""
        return loss_in_unit(loss, value, float(self.step))

    def before(self) -> Before:
        if self.row_errors is not None:
            return self.row_errors.before()
        rounding = self.loss_from_rounding
        mechanism = self.solution.mechanism
        return Before(
            self.loss,
            self.average,
            self.in_answer_unit(self.loss, mechanism.worst(self.loss)) + rounding,
            worst_among=self.worst_among,
            holds=self.statistic.error_is_of(self.loss),
            from_rounding=rounding,
            rounds=self.rounds_to if rounding else "",
        )

    @property
    def worst_among(self) -> str:
        """The points among which the worst expected error was searched, if not all."""
        return ""

    def probability_off_by_more(self, error: Fraction) -> float:
        if not self.error_has_law:
            return super().probability_off_by_more(error)
        noise_error = error - Fraction(self.off_by_rounding)
        return 1.0 if noise_error < 0 else float(self.solution.mechanism.expected(f"within {noise_error // self.step}"))

    def expected_losses(self) -> dict[str, dict[str, float]]:
        if self.row_errors is not None:
            return self.row_errors.expected_losses()
        losses = reported_losses(self.loss)
        ours = {loss: self.solution.mechanism.expected(loss) for loss in losses}
        compared = {"Utmost": ours, **self.alternatives(losses)}
        in_unit = {name: losses_in_unit(by_loss, self.step, losses) for name, by_loss in compared.items()}
        return with_rounding(in_unit, self.off_by_rounding)

    def alternatives(self, losses: tuple[str, ...]) -> dict[str, dict[str, float]]:
        """Expected losses of the standard noises, in steps, by name and loss."""
        return noise_alternatives(self.noisy_space, self.noisy_level, losses)

    @property
    def curve(self) -> dict[str, Any] | None:
        return None if self.row_errors is None else self.row_errors.curve

    # ---- delegated to the aggregate ----

    @property
    def step(self) -> Fraction:
        return self.statistic.step

    @property
    def clamping_in_words(self) -> str:
        return self.statistic.clamping_in_words

    @property
    def off_by_rounding(self) -> float:
        return self.statistic.off_by_rounding

    @property
    def loss_from_rounding(self) -> float:
        return self.statistic.loss_from_rounding(self.loss)

    @property
    def rounds_to(self) -> str:
        return self.statistic.rounds_to

    @property
    def limits_clause(self) -> str:
        return super().limits_clause + self.statistic.interval_includes

    @property
    def interval_basis(self) -> str:
        """How intervals are computed and what they are about, in words."""
        return self.statistic.estimated_from + self.limits_clause

    @property
    def notes(self) -> tuple[str, ...]:
        return self.statistic.notes

    @property
    def truncation_notes(self) -> tuple[str, ...]:
        return (*super().truncation_notes, *self.statistic.truncation_notes)

    def too_many_rows(self, after: After) -> bool:
        """Whether the released numbers of rows exceed what `at_most` allows."""
        most = self.most_rows or math.inf
        row_intervals = [after.rows_between] if after.rows_between else [ends for _, *ends, _ in after.groups.values()]
        return any(high > most for _, high in row_intervals)


@dataclass(frozen=True, eq=False, kw_only=True)
class OneNumber(AggregateQuery):
    """One integer of the whole table, released by the optimal mechanism on its range.

    Attributes
    ----------
    prior : sequence of probabilities or None
        Probability of each possible integer, in increasing order; None is uniform.
    unbiased : bool
        Whether the answer is the noisy integer itself, without post-processing.
    """

    prior: Any = None
    unbiased: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        unbiased = require_unbiased(self.unbiased) or not self.space.is_bounded  # no best guess without a bounded range
        self.set_fields(prior=line_prior(self.space, self.prior), unbiased=unbiased)

    @property
    def is_tabulated(self) -> bool:
        return not is_pure(self.privacy)

    @property
    def words(self) -> str:
        return self.statistic.words(self.where, self.rows_clause, self.ending)

    @property
    def ending(self) -> str:
        """Clause on the post-processing of the noisy number, for the end of the question."""
        if self.unbiased:
            return ", as an unbiased number"
        if self.is_cut_off:
            return ", as the noisy number cut off at what is possible"
        return f", as the best guess under a {prior_name(self.prior)} prior"

    @property
    def is_cut_off(self) -> bool:
        """Whether the noisy number is clamped to its range, because the noise is too wide to tabulate best guesses."""
        from utmost.theory.scalar.line import NoisyLine

        mechanism = self.solution.mechanism
        return isinstance(mechanism, NoisyLine) and mechanism.remap == "cut"

    @property
    def public(self) -> dict[str, Any]:
        optimal_for = {"loss": self.loss, "prior": prior_text(self.prior), "unbiased": self.unbiased}
        return {"question": self.name, **self.statistic.public, "where": self.where.text, **optimal_for}

    @property
    def space(self) -> Line:
        return self.line()

    @property
    def problem_data(self) -> dict[str, Any]:
        return {**super().problem_data, "prior": self.prior, "unbiased": self.unbiased}

    def design(self) -> Solution:
        from utmost.theory.scalar.design.line import best_on_line

        return best_on_line(self.space, self.privacy, self.loss, self.prior, self.unbiased)

    def sketch(self) -> Solution | None:
        from utmost.theory.scalar.design.line import sketch_on_line

        return sketch_on_line(self.space, self.privacy, self.loss, self.prior, self.unbiased)

    def point(self, engine_result: Mapping[str, int]) -> int:
        return self.space.clamp(engine_result[self.name])

    def released(self, sample: Any) -> dict[str, Any]:
        return {self.name: int(sample)}

    def require_released(self, released: Mapping[str, Any]) -> None:
        require_whole(released)
        number = released[self.name]
        if not self.unbiased and self.space.clamp(number) != number:
            raise InvalidInput("the best guess of a number lies where the number does.")

    def value(self, released: Mapping[str, Any]) -> Any:
        return as_plain(released[self.name] * self.step)

    def after(self, released: Mapping[str, Any]) -> After:
        number, mechanism = released[self.name], self.solution.mechanism
        low, high = mechanism.interval(number, CONFIDENCE)
        least = self.statistic.least
        if not self.space.is_bounded and least is not None:  # the true number is never below, so coverage stays
            low, high = max(low, least), max(high, least)
        rounding = self.statistic.rounding
        ends = {self.name: (as_plain(low * self.step - rounding), as_plain(high * self.step + rounding))}
        if not self.has_posterior:
            return After(ends, given=self.interval_basis, by_law=True)
        points, chances = mechanism.posterior(number)
        expected = self.in_answer_unit(self.loss, float(chances @ cost(self.loss, points - number)))
        rounding_loss = self.loss_from_rounding
        return After(
            ends, given=self.interval_basis, by_law=True, expected=expected + rounding_loss, from_rounding=rounding_loss
        )

    @property
    def has_posterior(self) -> bool:
        """Whether the posterior is listed; that of a noisy number would have millions of points."""
        return not (self.unbiased or self.is_cut_off)

    def near_limit(self, released: Mapping[str, Any], after: After) -> bool:
        (low, high), (first, last) = after.intervals[self.name], self.space.ends
        rounding, step = self.statistic.rounding, self.step
        return bool(high - rounding >= last * step or (first < 0 and low + rounding <= first * step))

    @property
    def worst_among(self) -> str:
        among: str = self.solution.mechanism.worst_among(self.loss)
        return among

    def alternatives(self, losses: tuple[str, ...]) -> dict[str, dict[str, float]]:
        if self.unbiased:  # compared with noise that is not clamped either
            line = self.space
            return noise_alternatives(Lattice(1, "any", line.reach, line.first, line.last), self.privacy, losses)
        return number_alternatives(self.space, self.privacy, losses, self.prior)

    @property
    def notes(self) -> tuple[str, ...]:
        if self.unbiased:
            return self.statistic.notes
        why = (
            "is not unbiased near the ends of what is possible"
            if self.is_cut_off
            else "errs least, and is not unbiased"
        )
        unbiased = f"the answer {why}; unbiased=True gives the noisy number, whose error has mean 0"
        return (unbiased, *self.statistic.notes)

    def belief(self, released: Mapping[str, Any]) -> tuple[Any, Any] | None:
        if not self.has_posterior:
            return None
        points, chances = self.solution.mechanism.posterior(released[self.name])
        return points * float(self.step), chances


def require_whole(released: Mapping[str, Any]) -> None:
    """Refuse released values that are not integers: they may come from a report."""
    if not all(type(value) is int for value in released.values()):
        raise InvalidInput("what is released are whole numbers.")


@dataclass(frozen=True, eq=False, kw_only=True)
class SeveralSums(AggregateQuery):
    """Several integers of the whole table with one vector of noise, such as the two sums of a mean.

    Also used for one integer with too many steps to tabulate its noise.
    """

    @property
    def losses_designed_for(self) -> tuple[str, ...]:
        return ERROR_LOSSES

    @property
    def words(self) -> str:
        ending = "" if self.statistic.is_ratio else ", as an unbiased number"
        return self.statistic.words(self.where, self.rows_clause, ending)

    @property
    def public(self) -> dict[str, Any]:
        where = {"where": self.where.text, "loss": self.loss, "prior": "uniform"}
        return {"question": self.name, **self.statistic.public, **self.expectations, **where}

    @property
    def space(self) -> Lattice:
        if self.statistic.is_ratio:
            return self.lattice()
        line = self.line()
        return Lattice(1, "any", line.reach, line.first, line.last)

    @property
    def noisy_space(self) -> Lattice:
        return self.space

    def design(self) -> Solution:
        from utmost.theory.vector.design.vectors import best_vector

        return best_vector(self.space, self.privacy, self.loss, independent=self.statistic.independent)

    def sketch(self) -> Solution | None:
        from utmost.theory.vector.design.vectors import sketch_vector

        return sketch_vector(self.space, self.privacy, self.loss, independent=self.statistic.independent)

    def point(self, engine_result: Mapping[str, int]) -> tuple[int, ...]:
        return self.space.clamp([engine_result[part] for part in self.statistic.parts])

    def released(self, sample: Any) -> dict[str, Any]:
        return {part: int(number) for part, number in zip(self.statistic.parts, sample, strict=True)}

    def require_released(self, released: Mapping[str, Any]) -> None:
        require_whole(released)

    def _estimates(self, released: Mapping[str, Any]) -> Estimates:
        sums = [np.array([released[part]], dtype=object) for part in self.statistic.parts]
        return self.statistic.estimates(sums, self.noisy)

    def value(self, released: Mapping[str, Any]) -> Any:
        values = {name: column.tolist()[0] for name, column in self._estimates(released).values.items()}
        return values if len(values) > 1 else values[self.name]

    def after(self, released: Mapping[str, Any]) -> After:
        columns = self._estimates(released).intervals
        intervals = {name: (low.tolist()[0], high.tolist()[0]) for name, (low, high) in columns.items()}
        unknown = [name for name, (low, _) in intervals.items() if not math.isfinite(low)]
        about = self.statistic.estimated_from + self.statistic.words_without(unknown) + self.limits_clause
        finite_intervals = {name: ends for name, ends in intervals.items() if name not in unknown}
        sums = [released[part] for part in self.statistic.parts]
        rows = {} if self.row_errors is None else self.row_errors.after(sums)
        return After(finite_intervals, given=about, by_law=True, **rows)

    def near_limit(self, released: Mapping[str, Any], after: After) -> bool:
        numbers = [[released[part]] for part in self.statistic.parts]
        half_width = self.noisy.noise.half_width(CONFIDENCE)
        return self.too_many_rows(after) or is_near_end(numbers, half_width, self.space)

    @property
    def certificate_subject(self) -> str:
        numbers = {2: "two", 3: "three", 6: "six"}
        parts = len(self.statistic.parts)
        return f"the {numbers.get(parts, parts)} sums it is made of" if parts > 1 else ""

    @property
    def shares_unit(self) -> bool:
        return self.statistic.shares_unit


@dataclass(frozen=True, eq=False, kw_only=True)
class ByKeys(AggregateQuery):
    """The aggregate of every public key; every group gets noise, also an empty one.

    Attributes
    ----------
    by : Keys
        The public keys.
    min_rows : int or None
        Suppression: groups of a ratio with a smaller released number of rows are listed without a value.
    """

    grouped_by: ClassVar[str] = "keys"

    by: Keys
    min_rows: Any = None

    def __post_init__(self) -> None:
        self.set_fields(by=require_keys(self.by))
        super().__post_init__()
        if self.min_rows is not None:
            self.set_fields(min_rows=as_whole(self.min_rows, "min_rows", 1))

    @property
    def labels(self) -> Sequence[Any]:
        return self.by.labels

    @property
    def names(self) -> tuple[Any, ...]:
        """The keys, by which the answers are named."""
        return tuple(self.by.labels)

    @property
    def identity(self) -> dict[str, Any]:
        return {**super().identity, "by": {"columns": list(self.by.names), "keys": self.by.fingerprint}}

    # ---- contribution bounds ----

    @property
    def bounds(self) -> GroupBounds:
        """The contribution bounds in groups, and in rows of one group, as far as they restrict anything."""
        unit = self.terms.unit
        if self.of_people:
            return GroupBounds(unit.groups_each)
        groups, rows = unit.groups_each, unit.rows_each_group
        restricts_groups = groups is not None and groups < unit.rows_each  # so many rows are in no more groups
        return GroupBounds(groups if restricts_groups else None, None if rows == unit.rows_each else rows)

    @property
    def rows_each(self) -> int:
        """Contribution bound over all groups: rows of a unit, or groups of a person if people are counted."""
        bounds, unit = self.bounds, self.terms.unit
        groups = self.by.size if bounds.groups_each is None else min(bounds.groups_each, self.by.size)
        if self.of_people:
            return 1 if bounds.groups_each is None else groups
        in_group = bounds.rows_each_group
        return unit.rows_each if in_group is None else min(unit.rows_each, groups * in_group)

    @property
    def rows_in_group(self) -> int:
        if self.of_people:
            return 1
        return min(self.rows_each, self.bounds.rows_each_group or self.rows_each)

    @property
    def uses_one_row_each(self) -> bool:
        return self.of_people and self.bounds.groups_each is None

    @property
    def one_row_clause(self) -> str:
        return IN_ONE_GROUP

    @property
    def one_row_note(self) -> str:
        return f"{ONE_GROUP}; um.people(..., groups_each=g) counts them in up to g"

    @property
    def rows_clause(self) -> str:
        if self.of_people and not self.uses_one_row_each:
            return f", each counted in at most {_plural(self.bounds.groups_each or 1, 'group')} chosen at random"
        return super().rows_clause

    @property
    def used_rows_in_words(self) -> str:
        unit, bounds = self.terms.unit, self.bounds
        if self.of_people and not self.uses_one_row_each:
            return f"at most {_plural(bounds.groups_each or 1, 'group')} of each person, chosen at random"
        parts = [super().used_rows_in_words]
        if bounds.groups_each is not None:
            parts.append(f"in at most {_plural(bounds.groups_each, 'group')} per {unit.id}")
        if bounds.rows_each_group is not None:
            parts.append(f"at most {_plural(bounds.rows_each_group, 'row')} per {unit.id} in a group")
        return ", ".join(parts)

    @property
    def truncation_notes(self) -> tuple[str, ...]:
        bounds, once_per_table = self.bounds, self.terms.unit.truncate == "table"
        if not bounds:
            return super().truncation_notes
        if self.of_people:
            choice_clause = (
                "" if once_per_table else "; groups are chosen for each question among those with its condition"
            )
            groups = _plural(bounds.groups_each or 1, "group")
            groups_clause = f"people with rows in more than {groups} count in {groups} only"
            return (f"{groups_clause}, and groups do not add up to all people{choice_clause}",)
        reasons = [] if bounds.groups_each is None else [f"in more than {_plural(bounds.groups_each, 'group')}"]
        reasons += [] if bounds.rows_each_group is None else [f"beyond {bounds.rows_each_group} in a group"]
        dropped_rows = f"rows of a person {' or '.join(reasons)} are dropped, too, which left_out does not count"
        return (*super().truncation_notes, f"{dropped_rows}: {GROUPS_DO_NOT_ADD_UP}")

    # ---- the integers ----

    @property
    def space(self) -> Lattice:
        return self.lattice(self.by.size)

    @property
    def noisy_space(self) -> Lattice:
        return self.space

    def design(self) -> Solution:
        from utmost.theory.vector.design.vectors import best_vector

        return best_vector(self.space, self.privacy, self.loss, independent=self.statistic.independent)

    def sketch(self) -> Solution | None:
        from utmost.theory.vector.design.vectors import sketch_vector

        return sketch_vector(self.space, self.privacy, self.loss, independent=self.statistic.independent)

    def statement(self, source: Source, secret: bytes) -> Statement:
        rows = dict(zip(self.statistic.parts, self.statistic.contributions(source, self.where.text), strict=True))
        rows = in_digits(rows, self.digits)
        if self.bounds:
            arguments = (self.terms.unit, self.rows_each, self.by, rows, secret, self.bounds, self.of_people)
            return bounded_statement(source, *arguments)
        return grouped_statement(source, self.bounded_unit, self.rows_each, self.by, rows, secret)

    def point(self, engine_result: Mapping[str, Any]) -> Any:
        sums = [from_digits(engine_result, part, self.digits) for part in self.statistic.parts]
        return clip_to(np.concatenate(sums), self.space)

    def draw(self, point: Any) -> dict[str, Any]:
        return self.released(self.solution.mechanism.sample_many(point[None])[0])

    def released(self, sample: Any) -> dict[str, Any]:
        parts = self.statistic.parts
        return {part: piece.tolist() for part, piece in zip(parts, np.split(sample, len(parts)), strict=True)}

    def require_released(self, released: Mapping[str, Any]) -> None:
        for part in self.statistic.parts:
            integers = self._integers(released, part)
            if integers.dtype == object and not np.all(np.abs(integers) < MOST_RELEASED):
                raise InvalidInput("a number by keys is below 2^256.")

    def _integers(self, released: Mapping[str, Any], part: str) -> Integers:
        return as_integers(released[part], self.by.size)

    # ---- the answer ----

    def groups(self, released: Mapping[str, Any]) -> Groups:
        """The answers of all groups, with their intervals."""
        sums = [self._integers(released, part) for part in self.statistic.parts]
        return groups_of(self.by, self.statistic, sums, self.noisy, self.min_rows)

    def value(self, released: Mapping[str, Any]) -> dict[Any, Any]:
        return self.groups(released).values

    def after(self, released: Mapping[str, Any]) -> After:
        groups = self.groups(released)
        return After(groups.intervals, given=self.interval_basis, by_law=True, groups=groups.rows_by_key)

    def table(self, released: Mapping[str, Any]) -> pyarrow.Table:
        return self.groups(released).table

    def near_limit(self, released: Mapping[str, Any], after: After) -> bool:
        half_width = self.noisy.noise.half_width(CONFIDENCE)
        numbers = [released[part] for part in self.statistic.parts]
        return self.too_many_rows(after) or is_near_end(numbers, half_width, self.space)

    def plain_value(self, value: Any) -> Any:
        return [[*key, number] for key, number in zip(self.by.plain_keys, value.values(), strict=True)]

    def plain_intervals(self, intervals: Mapping[Any, tuple[Any, Any]]) -> Any:
        labelled_keys = zip(self.by.labels, self.by.plain_keys, strict=True) if intervals else ()
        return [[*key, *intervals[label]] for label, key in labelled_keys if label in intervals]

    @property
    def key_columns(self) -> tuple[str, ...]:
        return self.by.names

    # ---- description ----

    @property
    def words(self) -> str:
        clamped = f", {self.clamping_in_words}" if self.clamping_in_words else ""
        return question_in_words(
            f"{self.statistic.phrase} by {english_list(self.by.names)}{clamped}", self.where, self.rows_clause
        )

    @property
    def expectations(self) -> dict[str, Any]:
        return {**super().expectations, **({} if self.min_rows is None else {"min_rows": self.min_rows})}

    @property
    def public(self) -> dict[str, Any]:
        where = {"by": self.by.public, "where": self.where.text, "loss": self.loss, "prior": "uniform"}
        return {"question": self.name, **self.statistic.public, **self.expectations, **where}

    @property
    def certificate_subject(self) -> str:
        return "the sums they are made of" if self.statistic.is_ratio else ""

    @property
    def notes(self) -> tuple[str, ...]:
        suppression_notes = () if self.min_rows is None else (SUPPRESSED.format(self.min_rows),)
        return (*self.statistic.notes, *suppression_notes)


@dataclass(frozen=True)
class Groups:
    """The answers of many groups, with intervals and numbers of rows.

    Attributes
    ----------
    keys : Keys
        The keys of the groups.
    columns : tuple of three arrays
        The answers in the order of the keys, and the lower and upper ends of their intervals.
    rows : tuple of three arrays, or None
        For a ratio: the estimated number of rows of each group, and the lower and upper ends of its interval.
    span : float
        For a ratio: the width of the range of answers.
    min_rows : int or None
        Groups of a ratio with a smaller released number of rows are suppressed.
    """

    keys: Keys
    columns: tuple[Integers, Integers, Integers]
    rows: tuple[Integers, Integers, Integers] | None = None
    span: float = math.inf
    min_rows: int | None = None

    @cached_property
    def is_shown(self) -> list[bool]:
        """For each group, whether it is shown: its released number of rows is at least `min_rows`."""
        if self.rows is None or self.min_rows is None:
            return [True] * self.keys.size
        enough_rows: list[bool] = (self.rows[0] >= self.min_rows).tolist()
        return enough_rows

    @property
    def is_reliable(self) -> Integers:
        """For each group of a ratio, whether its interval is narrower than half of the range."""
        _, lower, upper = self.columns
        return np.asarray(upper - lower < self.span / 2, dtype=np.bool_)

    @property
    def values(self) -> dict[Any, Any]:
        """The answers by key; None for suppressed groups."""
        values = zip(self.keys.labels, self.columns[0].tolist(), self.is_shown, strict=True)
        return {label: value if is_shown else None for label, value, is_shown in values}

    @property
    def intervals(self) -> dict[Any, tuple[Any, Any]]:
        """The ends of the interval of each group that is shown, by key."""
        _, lower, upper = self.columns
        ends = zip(self.keys.labels, lower.tolist(), upper.tolist(), self.is_shown, strict=True)
        return {label: (low, high) for label, low, high, is_shown in ends if is_shown}

    @property
    def rows_by_key(self) -> dict[Any, tuple[int, int, int, bool]]:
        """For a ratio, by key: number of rows, the ends of its interval, and whether the answer is reliable."""
        if self.rows is None:
            return {}
        columns = [column.tolist() for column in (*self.rows, self.is_reliable)]
        return dict(zip(self.keys.labels, zip(*columns, strict=True), strict=True))

    @property
    def table(self) -> pyarrow.Table:
        """Arrow table of keys, value, lower and upper; for a ratio also rows, rows_lower, rows_upper and reliable."""
        import pyarrow

        table: pyarrow.Table = self.keys.table
        mask = None if self.rows is None else ~np.array(self.is_shown, dtype=bool)
        for name, column in zip(("value", "lower", "upper"), self.columns, strict=True):
            plain = column if column.dtype != object else column.astype(np.float64)
            table = table.append_column(name, pyarrow.array(plain, mask=mask))
        if self.rows is not None:
            row_columns = (*self.rows, self.is_reliable)
            for name, column in zip(("rows", "rows_lower", "rows_upper", "reliable"), row_columns, strict=True):
                table = table.append_column(name, pyarrow.array(column))
        return table


def groups_of(
    keys: Keys,
    aggregate: Aggregate,
    sums: Sequence[Integers],
    mechanism: NoisyVector,
    min_rows: int | None = None,
    confidence: float = CONFIDENCE,
) -> Groups:
    """The answers of groups, from the released integers of each part of the aggregate."""
    columns = aggregate.estimates(sums, mechanism, confidence).first
    if not isinstance(aggregate, Ratio):
        return Groups(keys, columns)
    return Groups(keys, columns, aggregate.rows(sums, mechanism), aggregate.span, min_rows)


def as_integers(released: Any, size: int) -> Integers:
    """Check a released list of one integer per key (it may come from a report), and return it as an array."""
    if not isinstance(released, list) or len(released) != size or set(map(type, released)) - {int}:
        raise InvalidInput(f"there are {size} keys, and as many whole numbers must be released.")
    fits_64_bits = min(released, default=0) > -LARGEST and max(released, default=0) < LARGEST
    return np.array(released, dtype=np.int64 if fits_64_bits else object)


def require_groups(min_rows: Any) -> None:
    """Refuse `min_rows` without groups."""
    if min_rows is not None:
        raise InvalidInput(f"min_rows is {shown(min_rows)}, and there are no groups; leave it out, or give by=.")


def require_no_prior(prior: Any, unbiased: Any) -> None:
    """Refuse a prior for answers by keys, which are unbiased and use none."""
    require_unbiased(unbiased)
    if prior is not None:
        raise InvalidInput("a prior is for one number, and answers by keys are unbiased; leave prior out.")


def is_pure(level: Level) -> bool:
    """Whether a level is pure epsilon-DP."""
    return isinstance(level, ApproxDP) and level.delta == 0


def _plural(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number > 1)}"
