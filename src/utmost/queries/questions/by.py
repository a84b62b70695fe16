"""Questions for each of many public keys: counts, sums and means by group, up to a million groups at once.

A row is in one group at most, so groups are disjoint and all of them together spend the level once. Every group gets
noise, also one that no row has; nothing is cut off or guessed, so errors have mean 0.

**How far one neighbour moves the vector**: as many times what one row does (`numbers.py`, `of_column.py`) as rows of a
unit are kept in all groups together. Clamping every integer to a public range makes no move longer and turns none
around.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats
from utmost.privacy import Level
from utmost.queries.accuracy import CONFIDENCE, After
from utmost.queries.group_bounds import GroupBounds
from utmost.queries.groups import LARGEST, bounded_statement, grouped_statement
from utmost.queries.keys import Keys, named, require_keys
from utmost.queries.options import Option
from utmost.queries.predicate import EVERY_ROW, Where
from utmost.queries.questions.group_rows import GroupRows
from utmost.queries.questions.numbers import Adds, AddsOnes, OneNoise, Vector, require_unbiased
from utmost.queries.questions.of_column import AddsDistances, AddsValues, Columns, OfColumn
from utmost.queries.questions.question import Question, asking
from utmost.queries.rounding_steps import DESIGN_UNITS, MOST_STEPS, MOST_SUM
from utmost.space.integers import Lattice

if TYPE_CHECKING:
    import pyarrow


MOST_RELEASED = 2**256
"""Sums are of 64 bits; noise of a small level is wider."""
NO_WHOLE = "groups do not add up to the whole table"
IN_ONE_GROUP = "each counted in one group, that of one of their rows chosen at random"
ONE_GROUP = "people with rows in several groups count in one of them"
MORE_GROUPS = f"{ONE_GROUP}; count(by=um.keys(...)) of um.people(..., groups_each=g) counts them in up to g"


@dataclass(frozen=True, eq=False, kw_only=True)
class Grouped(Question):
    """A question that is answered for each of some public keys; the answer is a dict, and a table.

    Attributes
    ----------
    by : the keys
    where : which rows take part
    """

    options: ClassVar[tuple[Option, ...]] = ()  # the command does not ask by keys

    by: Keys
    where: Where = EVERY_ROW

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(by=require_keys(self.by))

    @abstractmethod
    def table(self, released: Mapping[str, Any]) -> pyarrow.Table:
        """The keys, and for each the answer and what is known about it."""

    @property
    def names(self) -> tuple[Any, ...]:
        """The keys: what the answers are called."""
        return tuple(self.by.labels)

    @property
    def identity(self) -> dict[str, Any]:
        return {**self.public, "by": {"columns": list(self.by.names), "keys": self.by.fingerprint}}

    def plain_value(self, value: Any) -> Any:
        return [[*key, found] for key, found in zip(self.by.written, value.values(), strict=True)]

    def plain_intervals(self, intervals: Mapping[Any, tuple[Any, Any]]) -> Any:
        written = zip(self.by.labels, self.by.written, strict=True) if intervals else ()
        return [[*key, *intervals[label]] for label, key in written if label in intervals]

    @property
    def key_columns(self) -> tuple[str, ...]:
        return self.by.names


@dataclass(frozen=True, eq=False, kw_only=True)
class PerKey(Adds):
    """Numbers for each of some keys: what is said of them, however the keys were found."""

    @abstractmethod
    def keys(self, released: Mapping[str, Any]) -> Keys:
        """The keys that the numbers belong to."""

    @abstractmethod
    def columns(self, released: Mapping[str, Any]) -> Columns:
        """The answers in the order of the keys, and the lower and upper ends of their intervals."""

    def value(self, released: Mapping[str, Any]) -> dict[Any, Any]:
        return dict(zip(self.keys(released).labels, self.columns(released)[0].tolist(), strict=True))

    def intervals(self, released: Mapping[str, Any]) -> dict[Any, tuple[Any, Any]]:
        """For each key, the ends of its interval."""
        _, lower, upper = self.columns(released)
        ends = zip(lower.tolist(), upper.tolist(), strict=True)
        return dict(zip(self.keys(released).labels, ends, strict=True))

    def table(self, released: Mapping[str, Any]) -> pyarrow.Table:
        """The keys, and for each the answer and the ends of its interval."""
        import pyarrow

        found = self.keys(released).table
        for name, column in zip(("value", "lower", "upper"), self.columns(released), strict=True):
            whole = column.dtype != object
            found = found.append_column(name, pyarrow.array(column if whole else column.astype(np.float64)))
        return found

    def integers(self, released: Mapping[str, Any], part: str) -> NDArray[Any]:
        """What was released, which may come from a report; beyond 64 bits, as Python's own integers."""
        listed, size = released[part], self.keys(released).size
        if not isinstance(listed, list) or len(listed) != size or set(map(type, listed)) - {int}:
            raise InvalidInput(f"there are {size} keys, and as many whole numbers must be released.")
        small = min(listed, default=0) > -LARGEST and max(listed, default=0) < LARGEST
        return np.array(listed, dtype=np.int64 if small else object)


def clip_to(integers: NDArray[Any], space: Lattice) -> NDArray[Any]:
    """Integers clamped to where they lie, and to what 64 bits hold with noise."""
    if space.lower is None or space.upper is None:
        return np.asarray(np.clip(integers, -LARGEST, LARGEST))
    return np.asarray(np.clip(integers, max(space.lower, -LARGEST), min(space.upper, LARGEST)))


def around(found: NDArray[Any], half: int, step: Fraction, rounding: Fraction = Fraction(0)) -> Columns:
    """Whole numbers of steps, and so many less and more, in the unit of the answer; and what rounding can do beside.

    Where the step is whole these are whole numbers, Python's own beyond 64 bits; else the nearest floats.
    """
    if rounding:
        half = half + math.ceil(rounding / step)
    top, below = step.numerator, step.denominator
    large = (int(np.abs(found).max(initial=0)) + half) * top >= LARGEST
    steps = found.astype(object) if large else found
    low, high = (steps - half) * top, (steps + half) * top
    if below == 1:
        return steps * top, low, high
    return _divided(steps * top, below), _divided(low, below), _divided(high, below)


def _divided(steps: NDArray[Any], below: int) -> Floats:
    return np.asarray(steps / below, dtype=np.float64)


@dataclass(frozen=True, eq=False, kw_only=True)
class ByKeys(PerKey, Grouped, OneNoise, Vector):
    """Numbers for each public key: some integers of every group."""

    @property
    def space(self) -> Lattice:
        return self.lattice(self.by.size)

    @property
    def bounds(self) -> GroupBounds:
        """In how many groups a person counts, and with how many rows in one, where that bounds anything."""
        unit = self.terms.unit
        if self.of_people:
            return GroupBounds(unit.groups_each)
        groups, rows = unit.groups_each, unit.rows_each_group
        few = groups is not None and groups < unit.rows_each  # so many rows are in no more groups
        return GroupBounds(groups if few else None, None if rows == unit.rows_each else rows)

    @property
    def rows_each(self) -> int:
        """How many rows of a unit take part in all groups together; where people are counted, in how many groups."""
        bounds, unit = self.bounds, self.terms.unit
        groups = self.by.size if bounds.groups_each is None else min(bounds.groups_each, self.by.size)
        if self.of_people:
            return 1 if bounds.groups_each is None else groups
        return (
            unit.rows_each if bounds.rows_each_group is None else min(unit.rows_each, groups * bounds.rows_each_group)
        )

    @property
    def rows_in_group(self) -> int:
        if self.of_people:
            return 1
        return min(self.rows_each, self.bounds.rows_each_group or self.rows_each)

    @property
    def of_one_row(self) -> bool:
        return self.of_people and self.bounds.groups_each is None

    @property
    def one_row_words(self) -> str:
        return IN_ONE_GROUP

    @property
    def one_row_note(self) -> str:
        return f"{ONE_GROUP}; um.people(..., groups_each=g) counts them in up to g"

    @property
    def kept(self) -> str:
        if self.of_people and not self.of_one_row:
            return f", each counted in at most {_many(self.bounds.groups_each or 1, 'group')} chosen at random"
        return super().kept

    @property
    def used(self) -> str:
        unit, bounds = self.terms.unit, self.bounds
        if self.of_people and not self.of_one_row:
            return f"at most {_many(bounds.groups_each or 1, 'group')} of each person, chosen at random"
        parts = [super().used]
        if bounds.groups_each is not None:
            parts.append(f"in at most {_many(bounds.groups_each, 'group')} per {unit.id}")
        if bounds.rows_each_group is not None:
            parts.append(f"at most {_many(bounds.rows_each_group, 'row')} per {unit.id} in a group")
        return ", ".join(parts)

    @property
    def drop_notes(self) -> tuple[str, ...]:
        bounds, once = self.bounds, self.terms.unit.truncate == "table"
        if not bounds.stated:
            return super().drop_notes
        if self.of_people:
            anew = "" if once else "; groups are chosen for each question among those with its condition"
            groups = _many(bounds.groups_each or 1, "group")
            beyond = f"people with rows in more than {groups} count in {groups} only"
            return (f"{beyond}, and groups do not add up to all people{anew}",)
        dropped = [] if bounds.groups_each is None else [f"in more than {_many(bounds.groups_each, 'group')}"]
        dropped += [] if bounds.rows_each_group is None else [f"beyond {bounds.rows_each_group} in a group"]
        also = f"rows of a person {' or '.join(dropped)} are dropped, too, which left_out does not count"
        return (*super().drop_notes, f"{also}: {NO_WHOLE}")

    def statement(self, source: Source, secret: bytes) -> Statement:
        rows = dict(zip(self.parts, self.contributions(source), strict=True))
        if self.bounds.stated:
            arguments = (self.terms.unit, self.rows_each, self.by, rows, secret, self.bounds, self.of_people)
            return bounded_statement(source, *arguments)
        return grouped_statement(source, self.bounded_unit, self.rows_each, self.by, rows, secret)

    def keys(self, released: Mapping[str, Any]) -> Keys:
        return self.by

    def point(self, found: Mapping[str, Any]) -> Any:
        space = self.space
        together = np.concatenate([found[part] for part in self.parts])
        return clip_to(together, space)

    def draw(self, point: Any) -> dict[str, Any]:
        return self.released(self.solution.mechanism.sample_many(point[None])[0])

    def released(self, drawn: Any) -> dict[str, Any]:
        pieces = np.split(drawn, len(self.parts))
        return {part: piece.tolist() for part, piece in zip(self.parts, pieces, strict=True)}

    def require_released(self, released: Mapping[str, Any]) -> None:
        for part in self.parts:
            found = self.integers(released, part)
            if found.dtype == object and not np.all(np.abs(found) < MOST_RELEASED):
                raise InvalidInput("a number by keys is below 2^256.")

    def after(self, released: Mapping[str, Any]) -> After:
        return After(self.intervals(released), given=self.by_law)

    def _public(self, **more: Any) -> dict[str, Any]:
        where = {"by": self.by.public, "where": self.where.text}
        return {"question": self.name, **more, **where, "loss": self.loss, "prior": "uniform"}

    def _asking(self, words: str, cut: str = "") -> str:
        return asking(f"{words} by {named(self.by.names)}{cut}", self.where, self.kept)


class OneInteger(ByKeys):
    """Each group has one integer, and its noise is the error."""

    def columns(self, released: Mapping[str, Any]) -> Columns:
        half = self.solution.mechanism.noise.half_width(CONFIDENCE)
        return around(self.integers(released, self.parts[0]), half, self.step, self.rounding)


@dataclass(frozen=True, eq=False, kw_only=True)
class CountBy(AddsOnes, OneInteger):
    """How many rows, or people, each group has."""

    name = "count"
    summary = "how many rows each group has"

    @property
    def words(self) -> str:
        return self._asking(f"How many {self.of} are there")

    @property
    def public(self) -> dict[str, Any]:
        return self._public(of=self.of)


@dataclass(frozen=True, eq=False, kw_only=True)
class OfValues(OfColumn, ByKeys):
    """A question about a column, its values cut to a range and rounded to a grid."""

    @property
    def public(self) -> dict[str, Any]:
        return self._public(column=self.column, **self.range_asked)

    @property
    def most_steps(self) -> int:
        return max(1, min(MOST_STEPS // self.rows_each, MOST_SUM // (self.most_rows or DESIGN_UNITS * self.rows_each)))


@dataclass(frozen=True, eq=False, kw_only=True)
class SumBy(AddsValues, OfValues, OneInteger):
    """What a column adds up to in each group."""

    name = "sum"
    summary = "what a column adds up to in each group"

    @property
    def words(self) -> str:
        return self._asking(f"What does {self.column} add up to", f", {self.cut}")


@dataclass(frozen=True, eq=False, kw_only=True)
class MeanBy(GroupRows, AddsDistances, OfValues):
    """The mean of a column in each group, from a pair of integers each: see `mean.py`."""

    name = "mean"
    summary = "the mean of a column in each group"

    @property
    def words(self) -> str:
        return self._asking(f"What is the mean of {self.column}", f", {self.cut}")

    def columns(self, released: Mapping[str, Any]) -> Columns:
        above, below = (self.integers(released, part) for part in self.parts)
        return self.means(above, below)

    @property
    def proved_of(self) -> str:
        return "the sums they are made of"

    @property
    def noisy_sums(self) -> tuple[Any, Lattice, Level]:
        return self.solution.mechanism, self.space, self.privacy


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number > 1)}"


def require_nothing_else(prior: Any, unbiased: Any) -> None:
    """Refuse a prior, which answers by keys do not use; unbiased they are anyway."""
    require_unbiased(unbiased)
    if prior is not None:
        raise InvalidInput("a prior is for one number, and answers by keys are unbiased; leave prior out.")
