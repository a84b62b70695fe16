"""Questions for each of many public keys: counts, sums and means by group, up to a million groups at once.

A row is in one group at most, so groups are disjoint and all of them together spend the level once. Every group gets
noise, also one that no row has; nothing is cut off or guessed, so errors have mean 0.

**How far one neighbour moves the vector**, k being the rows of a unit that are kept in all groups together:

* count: a row that comes or goes moves one integer by 1 ("any", k moves); a row that is replaced moves one down and
  another up by 1 ("exchange", k moves).
* sum: a row adds c to one integer, a <= c <= b in steps. It comes or goes: k·max(|a|, |b|) moves of "any". It is
  replaced: -c in one group and c' in another, or c' - c in one. If c and c' have one sign these are max(|c|, |c'|)
  moves of "exchange"; if they may have two, both integers may move one way, by |c| + |c'| in all: at most
  2·max(|a|, |b|) moves of "any".
* mean: a row adds (u, W - u) to the pair of its group, u steps above the lower end of a range of width W: W moves of
  "any", or of "exchange" where it is replaced.

Clamping every integer to a public range makes no move longer and turns none around.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput, shown
from utmost.exact.arrays import Floats
from utmost.release.accuracy import CONFIDENCE, After, Before
from utmost.release.arguments import Of, as_loss, scaled, shown_with
from utmost.release.conditions import EVERY_ROW, Where
from utmost.release.contributions import Contribution, distances_to_ends, ones, range_of, values
from utmost.release.groups import LARGEST, grouped_statement
from utmost.release.keys import Keys, named, require_keys
from utmost.release.options import Option
from utmost.release.questions.numbers import Vector, require_unbiased
from utmost.release.questions.of_column import OfColumn
from utmost.release.questions.question import Question, as_of, asking
from utmost.release.source import Source, Statement
from utmost.space.integers import Lattice, Moves

if TYPE_CHECKING:
    import pyarrow

    from utmost.solution import Solution

Columns = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
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
class ByKeys(Grouped, Vector):
    """Numbers for each key: some integers of every group, with one vector of noise."""

    parts: ClassVar[tuple[str, ...]]
    """What the integers of a group are called."""

    @abstractmethod
    def contributions(self, source: Source) -> tuple[Contribution, ...]:
        """What a row adds to each integer of its group."""

    @abstractmethod
    def columns(self, released: Mapping[str, Any]) -> Columns:
        """The answers in the order of the keys, and the lower and upper ends of their intervals."""

    @property
    def reach_of_row(self) -> tuple[Moves, int]:
        """What one row does, and how many such moves it makes at most."""
        raise NotImplementedError

    @property
    def range_of_row(self) -> tuple[int, int]:
        """Between which integers, 0 among them, what a row adds lies."""
        raise NotImplementedError

    @property
    def space(self) -> Lattice:
        (moves, reach), ends = self.reach_of_row, self.range_of_row
        low, high = (self.most_rows * end for end in ends)
        return Lattice(len(self.parts) * self.by.size, moves, reach * self.rows_each, low, high)

    def design(self) -> Solution:
        from utmost.design.noise.vectors import best_vector

        return best_vector(self.space, self.privacy, self.loss)

    def statement(self, source: Source, secret: bytes) -> Statement:
        rows = dict(zip(self.parts, self.contributions(source), strict=True))
        return grouped_statement(source, self.terms.unit, self.rows_each, self.by, rows, secret)

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
            found = self._integers(released, part)
            if found.dtype == object and not np.all(np.abs(found) < 2**63):
                raise InvalidInput("a number by keys is one of 64 bits.")

    def value(self, released: Mapping[str, Any]) -> dict[Any, Any]:
        return dict(zip(self.by.labels, self.columns(released)[0].tolist(), strict=True))

    def after(self, released: Mapping[str, Any]) -> After:
        _, lower, upper = self.columns(released)
        ends = zip(lower.tolist(), upper.tolist(), strict=True)
        return After(dict(zip(self.by.labels, ends, strict=True)), given=self.by_law)

    def table(self, released: Mapping[str, Any]) -> pyarrow.Table:
        """The keys, and for each the answer and the ends of its interval."""
        import pyarrow

        found = self.by.table
        for name, column in zip(("value", "lower", "upper"), self.columns(released), strict=True):
            whole = column.dtype != object
            found = found.append_column(name, pyarrow.array(column if whole else column.astype(np.float64)))
        return found

    def _integers(self, released: Mapping[str, Any], part: str) -> NDArray[Any]:
        """What was released, which may come from a report; beyond 64 bits, as Python's own integers."""
        listed = released[part]
        if not isinstance(listed, list) or len(listed) != self.by.size or set(map(type, listed)) != {int}:
            raise InvalidInput(f"there are {self.by.size} keys, and as many whole numbers must be released.")
        small = min(listed) > -LARGEST and max(listed) < LARGEST
        return np.array(listed, dtype=np.int64 if small else object)

    def _public(self, **more: Any) -> dict[str, Any]:
        where = {"by": self.by.public, "where": self.where.text}
        return {"question": self.name, **more, **where, "loss": self.loss, "prior": "uniform"}

    def _asking(self, words: str, cut: str = "") -> str:
        return asking(f"{words} by {named(self.by.names)}{cut}", self.where, self.kept)


class OneInteger(ByKeys):
    """Each group has one integer, and its noise is the error."""

    def columns(self, released: Mapping[str, Any]) -> Columns:
        found = self._integers(released, self.parts[0])
        half = self.solution.mechanism.noise.half_width(CONFIDENCE)
        small = int(np.abs(found).max()) + half < LARGEST
        found = found if small else found.astype(object)
        return self._in_unit(found), self._in_unit(found - half), self._in_unit(found + half)

    def _in_unit(self, steps: NDArray[Any]) -> NDArray[Any]:
        """Steps as numbers of the answer: whole where the grid is, else the nearest floats."""
        top, below = self.step.numerator, self.step.denominator
        if top != 1 and int(np.abs(steps).max()) * top >= LARGEST:
            steps = steps.astype(object)
        return steps * top if below == 1 else np.asarray(steps * top / below, dtype=np.float64)


@dataclass(frozen=True, eq=False, kw_only=True)
class CountBy(OneInteger):
    """How many rows, or people, each group has."""

    name = "count"
    summary = "how many rows each group has"
    parts = ("count",)

    of: Of = "rows"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(loss=as_loss(self.loss), of=as_of(self.of, self.terms.unit))

    @property
    def words(self) -> str:
        return self._asking(f"How many {self.of} are there")

    @property
    def public(self) -> dict[str, Any]:
        return self._public(of=self.of)

    @property
    def reach_of_row(self) -> tuple[Moves, int]:
        return ("any" if self.terms.neighbours == "add-remove" else "exchange"), 1

    @property
    def range_of_row(self) -> tuple[int, int]:
        return 0, 1

    @property
    def notes(self) -> tuple[str, ...]:
        if self.of == "people" and self.terms.unit.rows_each > 1:
            return ONE_GROUP
        return ()

    def contributions(self, source: Source) -> tuple[Contribution, ...]:
        return (ones(source, self.where.given),)


@dataclass(frozen=True, eq=False, kw_only=True)
class OfValues(OfColumn, ByKeys):
    """A question about a column, its values cut to a range and rounded to a grid."""

    @property
    def public(self) -> dict[str, Any]:
        return self._public(column=self.column, **range_of(self.steps))


@dataclass(frozen=True, eq=False, kw_only=True)
class SumBy(OfValues, OneInteger):
    """What a column adds up to in each group."""

    name = "sum"
    summary = "what a column adds up to in each group"
    parts = ("sum",)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(loss=as_loss(self.loss))

    @property
    def words(self) -> str:
        return self._asking(f"What does {self.column} add up to", f", {self.cut}")

    @property
    def reach_of_row(self) -> tuple[Moves, int]:
        largest = self.steps.moves("add-remove")
        if self.terms.neighbours == "add-remove":
            return "any", largest
        return ("any", 2 * largest) if self.steps.least < 0 < self.steps.most else ("exchange", largest)

    @property
    def range_of_row(self) -> tuple[int, int]:
        return min(self.steps.least, 0), max(self.steps.most, 0)

    def contributions(self, source: Source) -> tuple[Contribution, ...]:
        return (values(source, self.column, self.steps, self.where.given),)


@dataclass(frozen=True, eq=False, kw_only=True)
class MeanBy(OfValues):
    """The mean of a column in each group, from a pair of integers each: see `mean.py`."""

    name = "mean"
    summary = "the mean of a column in each group"
    parts = ("above_lower", "below_upper")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(loss=as_loss(self.loss, ("absolute", "squared")))
        if not self.width:
            raise InvalidInput(
                f"lower and upper are both {shown(self.lower)}, so the mean is public already; give a wider range."
            )

    @property
    def words(self) -> str:
        return self._asking(f"What is the mean of {self.column}", f", {self.cut}")

    @property
    def reach_of_row(self) -> tuple[Moves, int]:
        return ("any" if self.terms.neighbours == "add-remove" else "exchange"), self.width

    @property
    def range_of_row(self) -> tuple[int, int]:
        return 0, self.width

    def contributions(self, source: Source) -> tuple[Contribution, ...]:
        return distances_to_ends(source, self.column, self.steps, self.where.given)

    def columns(self, released: Mapping[str, Any]) -> Columns:
        from utmost.design.noise.mean import mean_intervals

        above, below = (self._integers(released, part) for part in self.parts)
        together = above.astype(object) + below
        known = np.asarray(together > 0, dtype=bool)
        shares = np.asarray(above / np.where(known, together, 1), dtype=np.float64)
        shares = np.where(known, np.clip(shares, 0.0, 1.0), 0.5)  # the middle, where nobody seems to be
        ends = mean_intervals(self.solution.mechanism, above, below, CONFIDENCE)
        return self._placed(shares), self._placed(ends[0]), self._placed(ends[1])

    @property
    def average(self) -> float:
        from utmost.design.noise.mean import mean_losses

        return self._scaled(mean_losses(self.solution.mechanism, self._rows_of_group, self.width)[self.loss])

    def before(self) -> Before:
        from utmost.design.noise.mean import of_pairs

        worst = float(self.width) ** (2 if self.loss == "squared" else 1)
        holds = MEANS_HOLD.format("at most this, " if of_pairs(self.solution.mechanism.noise) is None else "")
        return Before(self.loss, self.average, self._scaled(worst), holds=holds)

    def compared(self) -> dict[str, dict[str, float]]:
        from utmost.design.noise.mean import mean_alternatives, mean_losses

        rows, step = self._rows_of_group, float(self.step)
        losses = {"Utmost": mean_losses(self.solution.mechanism, rows, self.width)}
        losses |= mean_alternatives(self.space, self.privacy, rows, self.width)
        wanted = shown_with(self.loss)
        return {
            name: {loss: scaled(loss, found, step) for loss, found in by.items() if loss in wanted}
            for name, by in losses.items()
        }

    @property
    def proved_of(self) -> str:
        return "the sums they are made of"

    @property
    def _rows_of_group(self) -> float:
        return self.most_rows / self.by.size

    def _placed(self, shares: Floats) -> Floats:
        lower, upper = float(self.steps.lower), float(self.steps.upper)
        return np.clip(lower + (upper - lower) * shares, lower, upper)


def require_nothing_else(prior: Any, unbiased: Any) -> None:
    """Refuse a prior, which answers by keys do not use; unbiased they are anyway."""
    require_unbiased(unbiased)
    if prior is not None:
        raise InvalidInput("a prior is for one number, and answers by keys are unbiased; leave prior out.")
