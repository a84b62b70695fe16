"""Questions for each of many public keys: counts, sums and means by group, up to a million groups at once.

A row is in one group at most, so groups are disjoint and all of them together spend the level once. Every group gets
noise, also one that no row has; nothing is cut off or guessed, so errors have mean 0.

**How far one neighbour moves the vector**: as many times what one row does (`numbers.py`, `of_column.py`) as rows of a
unit are kept in all groups together. Clamping every integer to a public range makes no move longer and turns none
around.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats
from utmost.privacy import Level
from utmost.release.accuracy import CONFIDENCE, After, Before
from utmost.release.conditions import EVERY_ROW, Where
from utmost.release.contributions import range_of
from utmost.release.groups import LARGEST, grouped_statement
from utmost.release.keys import Keys, named, require_keys
from utmost.release.options import Option
from utmost.release.questions.numbers import Adds, AddsOnes, OneNoise, Vector, require_unbiased
from utmost.release.questions.of_column import AddsDistances, AddsValues, Columns, OfColumn
from utmost.release.questions.question import Question, asking
from utmost.release.source import Source, Statement
from utmost.space.integers import Lattice

if TYPE_CHECKING:
    import pyarrow


ONE_GROUP = ("a person counts in one group, that of one of their rows, chosen by a keyed hash",)
MEANS_HOLD = (
    "average: {}if every unit has a value, the groups are of one size and every mean is as likely, to first order; "
    "worst: the whole range, in a group that nobody is in"
)


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
        written = self.by.written if intervals else []
        return [[*key, *ends] for key, ends in zip(written, intervals.values(), strict=True)]

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


def around(found: NDArray[Any], half: int, step: Fraction) -> Columns:
    """Whole numbers of steps, and so many less and more, in the unit of the answer.

    Where the step is whole these are whole numbers, Python's own beyond 64 bits; else the nearest floats.
    """
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

    def statement(self, source: Source, secret: bytes) -> Statement:
        rows = dict(zip(self.parts, self.contributions(source), strict=True))
        return grouped_statement(source, self.terms.unit, self.rows_each, self.by, rows, secret)

    def keys(self, released: Mapping[str, Any]) -> Keys:
        return self.by

    def point(self, found: Mapping[str, Any]) -> Any:
        space = self.space
        together = np.concatenate([found[part] for part in self.parts])
        return np.clip(together, max(space.lower, -LARGEST), min(space.upper, LARGEST))

    def draw(self, point: Any) -> dict[str, Any]:
        return self.released(self.solution.mechanism.sample_many(point[None])[0])

    def released(self, drawn: Any) -> dict[str, Any]:
        pieces = np.split(drawn, len(self.parts))
        return {part: piece.tolist() for part, piece in zip(self.parts, pieces, strict=True)}

    def require_released(self, released: Mapping[str, Any]) -> None:
        for part in self.parts:
            found = self.integers(released, part)
            if found.dtype == object and not np.all(np.abs(found) < 2**63):
                raise InvalidInput("a number by keys is one of 64 bits.")

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
        return around(self.integers(released, self.parts[0]), half, self.step)


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

    @property
    def notes(self) -> tuple[str, ...]:
        if self.of == "people" and self.terms.unit.rows_each > 1:
            return ONE_GROUP
        return ()


@dataclass(frozen=True, eq=False, kw_only=True)
class OfValues(OfColumn, ByKeys):
    """A question about a column, its values cut to a range and rounded to a grid."""

    @property
    def public(self) -> dict[str, Any]:
        return self._public(column=self.column, **range_of(self.steps))


@dataclass(frozen=True, eq=False, kw_only=True)
class SumBy(AddsValues, OfValues, OneInteger):
    """What a column adds up to in each group."""

    name = "sum"
    summary = "what a column adds up to in each group"

    @property
    def words(self) -> str:
        return self._asking(f"What does {self.column} add up to", f", {self.cut}")


@dataclass(frozen=True, eq=False, kw_only=True)
class MeanBy(AddsDistances, OfValues):
    """The mean of a column in each group, from a pair of integers each: see `mean.py`."""

    name = "mean"
    summary = "the mean of a column in each group"

    @property
    def words(self) -> str:
        return self._asking(f"What is the mean of {self.column}", f", {self.cut}")

    def columns(self, released: Mapping[str, Any]) -> Columns:
        above, below = (self.integers(released, part) for part in self.parts)
        return self.means(above, below)

    def before(self) -> Before:
        from utmost.design.noise.mean import of_pairs

        holds = MEANS_HOLD.format("at most this, " if of_pairs(self.solution.mechanism.noise) is None else "")
        return Before(self.loss, self.average, self.worst, holds=holds)

    @property
    def proved_of(self) -> str:
        return "the sums they are made of"

    @property
    def noisy_sums(self) -> tuple[Any, Lattice, Level]:
        return self.solution.mechanism, self.space, self.privacy

    @property
    def rows_of_mean(self) -> float:
        return self.most_rows / self.by.size


def require_nothing_else(prior: Any, unbiased: Any) -> None:
    """Refuse a prior, which answers by keys do not use; unbiased they are anyway."""
    require_unbiased(unbiased)
    if prior is not None:
        raise InvalidInput("a prior is for one number, and answers by keys are unbiased; leave prior out.")
