"""Base class of aggregates, and the public setting of a query that they depend on."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from utmost.backends.source import Source
from utmost.privacy import Level, PureDP
from utmost.queries.accuracy import CONFIDENCE
from utmost.queries.arguments import Neighbours, Of
from utmost.queries.contributions import Contribution, query
from utmost.queries.losses import ERROR_LOSSES, REPORTED_LOSSES
from utmost.queries.predicate import Where
from utmost.queries.report.words import question_in_words
from utmost.space.integers import Lattice, Moves

if TYPE_CHECKING:
    from utmost.mechanism.noise.lattice import NoisyVector
    from utmost.queries.expressions.relations import Relation
    from utmost.queries.options import Option
    from utmost.queries.units import Unit


LARGEST_INT64 = 2**63 - 1
"""The most rows of any table; estimates of numbers of rows are clamped to it, because noise can exceed it."""
Integers = NDArray[Any]
"""One integer for each group: 64-bit, or Python's own where these are too small."""


@dataclass(frozen=True)
class Setting:
    """The public setting of a query that an aggregate depends on.

    Attributes
    ----------
    neighbours : "replace" or "add-remove"
        The adjacency relation.
    privacy : Level
        The privacy level that the answer spends.
    units : int or None
        The most rows or people of the table, if that is stated.
    rows_each : int
        Contribution bound: at most this many rows of one unit are used.
    most_rows : int or None
        The most rows that can be used; None without a stated bound.
    loss : str
        The loss that the mechanism is designed for.
    grouped : bool
        Whether there is one answer for each of several groups.
    tabulated : bool
        Whether the probabilities of the noise are tabulated, which limits the number of steps.
    """

    neighbours: Neighbours = "add-remove"
    privacy: Level = field(default_factory=lambda: PureDP(1))
    units: int | None = None
    rows_each: int = 1
    most_rows: int | None = None
    loss: str = "absolute"
    grouped: bool = False
    tabulated: bool = False

    @property
    def moves(self) -> Moves:
        """Sensitivity set of one row on integers of disjoint groups: it changes one, or moves from one to another."""
        return "any" if self.neighbours == "add-remove" else "exchange"


@dataclass(frozen=True)
class Estimates:
    """The estimates of every group, with their intervals.

    Attributes
    ----------
    values : mapping of str to array
        The estimates, by the name of the number; most aggregates have one number.
    make_intervals : callable
        Returns the lower and upper ends of the intervals, by the same names; called when first needed, because the
        interval of a covariance takes a hundred times as long as its estimate.
    """

    values: Mapping[str, Any]
    make_intervals: Callable[[], Mapping[str, tuple[Any, Any]]]

    @cached_property
    def intervals(self) -> Mapping[str, tuple[Any, Any]]:
        """The lower and upper ends of the intervals, by the name of the number."""
        return self.make_intervals()

    @property
    def first(self) -> tuple[Any, Any, Any]:
        """The first number of every group, and the lower and upper ends of its intervals."""
        name = next(iter(self.values))
        return self.values[name], *self.intervals[name]


@dataclass(frozen=True, kw_only=True)
class Aggregate(ABC):
    """What is computed from the rows of a group.

    Attributes
    ----------
    setting : Setting
        The public setting; a query inserts its own by `in_setting`.
    """

    name: ClassVar[str]
    """The name of the session's method."""
    summary: ClassVar[str]
    """The question in half a line, for lists of questions."""
    options: ClassVar[tuple[Option, ...]]
    """Its parameters beside `privacy`, in the order of the session's method, for commands and forms."""
    parts: ClassVar[tuple[str, ...]]
    """The names of the integers that are released for each group."""
    losses: ClassVar[tuple[str, ...]] = REPORTED_LOSSES
    """The losses that the noise can be designed for."""
    groupings: ClassVar[tuple[str, ...]] = ("whole", "keys", "found keys")
    """The groupings it works with: the whole table, public keys, keys found privately."""
    estimated_from: ClassVar[str] = ""
    """Clause on how intervals are computed, for the middle of a sentence; starts with a comma."""

    setting: Setting = Setting()

    @classmethod
    @abstractmethod
    def from_public(cls, public: Mapping[str, Any], unit: Unit, says_rounding: bool) -> Self:
        """The aggregate of a report, from the public part of its query.

        Parameters
        ----------
        public : mapping
            The report's copy of the query's `public`; it may hold anything.
        unit : Unit
            The privacy unit.
        says_rounding : bool
            Whether the report states if values were rounded; reports of Utmost 0.2 do not.
        """

    def in_setting(self, setting: Setting) -> Self:
        """Return the aggregate in a setting, with the defaults that depend on it, such as the rounding step."""
        return replace(self, setting=setting)

    # ---- what a row contributes ----

    @abstractmethod
    def contributions(self, source: Source, where: Any) -> tuple[Contribution, ...]:
        """What a row that meets a condition adds to each integer."""

    @property
    @abstractmethod
    def range(self) -> tuple[int, int]:
        """The range of what a row adds to any of the integers; it contains 0."""

    @property
    def least(self) -> int | None:
        """The smallest value of the integer over all tables; None if there is none."""
        return None

    @property
    def of(self) -> Of:
        """Whether rows are used, or people are counted once each."""
        return "rows"

    def relation(self, source: Source, unit: Unit, where: Any, secret: bytes) -> Relation:
        """The sums over the whole table, as a relation of one row."""
        sums = dict(zip(self.parts, self.contributions(source, where), strict=True))
        return query(source, unit, self.setting.rows_each, sums, secret)

    # ---- sensitivity ----

    @abstractmethod
    def sensitivity(self) -> tuple[Moves, int]:
        """The sensitivity set of one row on the integers of its group: the kind of moves, and the most of them."""

    # ---- units and noise ----

    @property
    def step(self) -> Fraction:
        """The size of one step of a released integer, in the unit of the answer."""
        return Fraction(1)

    @property
    def independent(self) -> bool:
        """Whether the noise of the integers must be independent, so that weighted sums of it have a known law."""
        return False

    @property
    def is_ratio(self) -> bool:
        """Whether the estimate is a ratio of the integers, so that its error falls with the number of rows."""
        return False

    # ---- the estimate ----

    @abstractmethod
    def estimates(self, sums: Sequence[Integers], mechanism: NoisyVector, confidence: float = CONFIDENCE) -> Estimates:
        """The estimates of every group with their intervals, from its released integers.

        Parameters
        ----------
        sums : sequence of arrays
            For each of `parts`, the released integers of all groups.
        mechanism : NoisyVector
            The mechanism that released them.
        confidence : float
            The confidence of each interval.
        """

    @property
    def grid_is_named(self) -> bool:
        """Whether the user named the step that values are rounded to."""
        return False

    @property
    def shares_unit(self) -> bool:
        """Whether all its numbers share a unit, so that a figure may show them on one axis."""
        return True

    @property
    def rounding(self) -> Fraction:
        """The largest change of a released integer by rounding the values of rows, in the unit of the answer."""
        return Fraction(0)

    @property
    def off_by_rounding(self) -> float:
        """The largest change of the answer by rounding values that plans include."""
        return 0.0

    def loss_from_rounding(self, loss: str) -> float:
        """The most that rounding adds to an expected loss; squared errors add up, because noise has mean 0."""
        return {"absolute": self.off_by_rounding, "squared": self.off_by_rounding**2}.get(loss, 0.0)

    # ---- its description ----

    @property
    @abstractmethod
    def phrase(self) -> str:
        """The question without grouping, clamping and condition: "What is the mean of delay"."""

    def words(self, where: Where, rows_clause: str, ending: str) -> str:
        """The question as a sentence, about the whole table.

        Parameters
        ----------
        where : Where
            The condition on rows.
        rows_clause : str
            Clause on truncation, which starts with a comma; empty if all rows are used.
        ending : str
            Clause on post-processing, which starts with a comma; empty if the answer is the noisy number.
        """
        words = ", ".join(filter(None, (self.phrase, self.clamping_in_words)))
        return question_in_words(words, where, rows_clause, ending)

    @property
    def found_phrase(self) -> str:
        """`phrase` for keys that are found privately."""
        return self.phrase

    @property
    def public(self) -> dict[str, Any]:
        """Its parameters as plain data, without the condition."""
        return {}

    @property
    def clamping_in_words(self) -> str:
        """How values are clamped and rounded, in words; empty if they are not."""
        return ""

    @property
    def interval_includes(self) -> str:
        """Clause on what intervals include beside noise, for the end of a sentence; empty if nothing."""
        return ""

    def words_without(self, names: Sequence[str]) -> str:
        """Clause on why some of its numbers have no interval, for the middle of a sentence; empty if all have one."""
        return ""

    @property
    def rounds_to(self) -> str:
        """The rounding in words: "rounding to 0.5"."""
        return ""

    def error_is_of(self, loss: str) -> str:
        """What the expected error is of, if not of the exact aggregate; else empty."""
        return ""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes that a user should read before spending."""
        return ()

    @property
    def truncation_notes(self) -> tuple[str, ...]:
        """Notes on the rows that truncation drops."""
        return ()


@dataclass(frozen=True, kw_only=True)
class Ratio(Aggregate):
    """An aggregate that is a ratio of released sums, such as a mean: its error is the noise divided by the rows.

    To first order, the error depends on the values through a few *moments* only, which the released sums estimate. All
    losses here are for one row, in the unit of the answer: for n rows they are divided by n (squared errors by n^2).
    """

    losses: ClassVar[tuple[str, ...]] = ERROR_LOSSES
    counting: ClassVar[int] = 0
    """How many of the integers, the first ones, add up to the number of rows times `weight`; 0 for all of them."""

    @property
    def is_ratio(self) -> bool:
        return True

    @property
    @abstractmethod
    def weight(self) -> int:
        """What a row adds to the sum of these integers, whatever its values are."""

    @property
    @abstractmethod
    def span(self) -> float:
        """The width of the range of estimates."""

    @abstractmethod
    def worst(self, loss: str) -> float:
        """The largest loss there can be."""

    @abstractmethod
    def largest_losses(self, mechanism: NoisyVector) -> dict[str, float]:
        """The largest expected losses over all tables."""

    @abstractmethod
    def least_losses(self, mechanism: NoisyVector) -> dict[str, float]:
        """The smallest expected losses over all tables."""

    @abstractmethod
    def losses_at(self, mechanism: NoisyVector, moments: tuple[float, ...]) -> dict[str, float]:
        """The expected losses on a table with these moments."""

    @abstractmethod
    def moments(self, sums: Sequence[int]) -> tuple[float, ...]:
        """The moments of one group, estimated from its released integers."""

    @abstractmethod
    def alternatives(self, space: Lattice, level: Level) -> dict[str, dict[str, float]]:
        """The largest expected losses of standard methods, by name: several sums, each with a part of the level."""

    def loss_from_rounding_at(self, loss: str, moments: tuple[float, ...]) -> float:
        """The most that rounding adds to the expected loss on a table with these moments."""
        return self.loss_from_rounding(loss)

    @property
    @abstractmethod
    def error_basis(self) -> str:
        """The assumptions of the stated expected error, in words."""

    def rows(
        self, sums: Sequence[Integers], mechanism: NoisyVector, confidence: float = CONFIDENCE
    ) -> tuple[Integers, Integers, Integers]:
        """The number of rows of each group, estimated from its released sums, and the ends of its interval."""
        from utmost.theory.estimates.design.row_count import total_limit

        counting = self.counting or len(self.parts)
        total = np.sum([np.asarray(part).astype(object) for part in sums[:counting]], axis=0)
        half_width, weight = math.ceil(total_limit(mechanism.noise, counting, confidence)), self.weight
        numbers = (
            (2 * total + weight) // (2 * weight),
            -((half_width - total) // weight),
            (total + half_width) // weight,
        )
        rows, low, high = (np.clip(number, 0, LARGEST_INT64).astype(np.int64) for number in numbers)
        return rows, low, high
