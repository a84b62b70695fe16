"""What every aggregate says of itself, and the public setting in which it is asked."""

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
from utmost.queries.predicate import Where
from utmost.space.integers import Lattice, Moves

if TYPE_CHECKING:
    from utmost.mechanism.noise.lattice import NoisyVector
    from utmost.queries.expressions.relations import Relation
    from utmost.queries.options import Option
    from utmost.queries.units import Unit


def question_in_words(words: str, where: Where, rows_clause: str = "", ending: str = "") -> str:
    """A question in words, about all rows or those of which a condition is true; at the end, how it is answered."""
    return f"{words}{rows_clause}, where {where}{ending}?" if where else f"{words}{rows_clause}{ending}?"


LOSSES = ("absolute", "squared", "zero-one")
"""The losses that every report shows, whichever the mechanism was designed for."""
OF_RATIOS = ("absolute", "squared")
"""The losses that noise on the parts of a ratio can be designed for."""
MOST_ROWS = 2**63 - 1
"""No table has more rows; noise at the smallest levels reaches farther."""
Integers = NDArray[Any]
"""Whole numbers, one for each group: 64-bit integers, or Python's own where these are too small."""


@dataclass(frozen=True)
class Setting:
    """The public circumstances of a query that an aggregate depends on.

    Attributes
    ----------
    neighbours : "replace" or "add-remove"
        The adjacency relation.
    privacy : Level
        What the answer may spend.
    units : int or None
        How many rows or people there are at most, if that is stated.
    rows_each : int
        How many rows of one unit are used at most.
    most_rows : int or None
        How many rows are used at most in all, if that is known.
    loss : str
        What the mechanism is designed for.
    grouped : bool
        Whether there is one answer for each of several groups.
    tabulated : bool
        Whether the noise is tabulated step by step, so that there may not be many steps.
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
        """What one row does to integers of which it contributes to one: it comes or goes, or exchanges two."""
        return "any" if self.neighbours == "add-remove" else "exchange"


@dataclass(frozen=True)
class Estimates:
    """What released integers say of every group.

    Attributes
    ----------
    values : mapping of str to array
        The estimates, by the name of the number; most aggregates have one number.
    make_intervals : callable
        For the same names, the lower and upper ends of intervals; called when somebody looks, since those of a
        covariance take a hundred times as long as the covariance.
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
    """What is computed of the rows of a group.

    Attributes
    ----------
    setting : Setting
        The public circumstances; a query puts its own in by `in_setting`.
    """

    name: ClassVar[str]
    """The session's method that asks for it."""
    summary: ClassVar[str]
    """What it asks, in half a line, for a list of questions."""
    options: ClassVar[tuple[Option, ...]]
    """Its parameters beside `privacy`, in the order of the method's, for commands and forms."""
    parts: ClassVar[tuple[str, ...]]
    """The names of the integers that are released for each group."""
    losses: ClassVar[tuple[str, ...]] = LOSSES
    """The losses that the noise can be designed for."""
    groupings: ClassVar[tuple[str, ...]] = ("whole", "keys", "found keys")
    """What it can be asked for: the whole table, public keys, keys found privately."""
    estimated_from: ClassVar[str] = ""
    """How intervals are made, for the middle of a sentence, from a comma on."""

    setting: Setting = Setting()

    @classmethod
    @abstractmethod
    def from_public(cls, public: Mapping[str, Any], unit: Unit, says_rounding: bool) -> Self:
        """The aggregate of a report, from the public part of its query.

        Parameters
        ----------
        public : mapping
            What `public` of the query wrote; it may hold anything.
        unit : Unit
            Whose data are protected.
        says_rounding : bool
            Whether the report says if values were rounded; reports of Utmost 0.2 do not.
        """

    def in_setting(self, setting: Setting) -> Self:
        """The same aggregate in a setting, with everything resolved that follows from it, such as a default step."""
        return replace(self, setting=setting)

    # ---- what a row contributes ----

    @abstractmethod
    def contributions(self, source: Source, where: Any) -> tuple[Contribution, ...]:
        """What a row of which a condition is true adds to each integer."""

    @property
    @abstractmethod
    def range(self) -> tuple[int, int]:
        """Between which integers, 0 among them, what a row adds to any of them lies."""

    @property
    def least(self) -> int | None:
        """The smallest that the integer can be, of any table; None where it may be any number."""
        return None

    @property
    def of(self) -> Of:
        """Whether rows are used, or people counted once each."""
        return "rows"

    def relation(self, source: Source, unit: Unit, where: Any, secret: bytes) -> Relation:
        """The sums over the whole table, as a relation of one row."""
        sums = dict(zip(self.parts, self.contributions(source, where), strict=True))
        return query(source, unit, self.setting.rows_each, sums, secret)

    # ---- sensitivity ----

    @abstractmethod
    def sensitivity(self) -> tuple[Moves, int]:
        """Which moves one row makes on the integers of its group, and how many of them at most."""

    # ---- what is wanted ----

    @property
    def step(self) -> Fraction:
        """What one step of a released integer is worth, in the unit of the answer."""
        return Fraction(1)

    @property
    def independent(self) -> bool:
        """Whether each integer needs noise of its own, so that weighted sums of noises have a known law."""
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
            For each of `parts`, the released integers, one for each group.
        mechanism : NoisyVector
            The mechanism that released them.
        confidence : float
            How often an interval holds.
        """

    @property
    def grid_is_named(self) -> bool:
        """Whether somebody chose the step that values are rounded to."""
        return False

    @property
    def shares_unit(self) -> bool:
        """Whether all its numbers share a unit, so that a picture may set them side by side."""
        return True

    @property
    def rounding(self) -> Fraction:
        """How far rounding the values of rows moves a released integer at most, in the unit of the answer."""
        return Fraction(0)

    @property
    def off_by_rounding(self) -> float:
        """How far rounding the values moves the answer at most, as far as a plan counts it."""
        return 0.0

    def loss_from_rounding(self, loss: str) -> float:
        """What rounding adds to an expected loss at most: the errors of noise have mean 0, so squares add up."""
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
            Which rows are used.
        rows_clause : str
            What truncation leaves of them, from a comma on; empty where it leaves all.
        ending : str
            What the answer is to the noisy number, from a comma on; empty where that is the answer.
        """
        return question_in_words(
            ", ".join(filter(None, (self.phrase, self.clamping_in_words))), where, rows_clause, ending
        )

    @property
    def found_phrase(self) -> str:
        """The same where keys are found privately."""
        return self.phrase

    @property
    def public(self) -> dict[str, Any]:
        """Its parameters as plain data, without the condition."""
        return {}

    @property
    def clamping_in_words(self) -> str:
        """What is done to values before they contribute, in words; empty where nothing is."""
        return ""

    @property
    def interval_includes(self) -> str:
        """What intervals include beside the noise, for the end of a sentence; empty where there is nothing."""
        return ""

    def words_without(self, names: Sequence[str]) -> str:
        """Why some of its numbers have no interval, for the middle of a sentence; empty where all have."""
        return ""

    @property
    def rounds_to(self) -> str:
        """What is rounded to what, in words."""
        return ""

    def error_is_of(self, loss: str) -> str:
        """What an expected error is about, where it is not about the number that was asked for."""
        return ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What somebody about to spend should know."""
        return ()

    @property
    def truncation_notes(self) -> tuple[str, ...]:
        """The same about rows that truncation drops."""
        return ()


@dataclass(frozen=True, kw_only=True)
class Ratio(Aggregate):
    """An aggregate that is a ratio of released sums, such as a mean: its error is that of the noise over the rows.

    To first order, the error depends on where values lie through a few *moments*, which the released sums estimate.
    All losses here are those of one row, by loss, in the unit of the answer: with n rows, about an n-th of them (of
    squared errors, an n^2-th).
    """

    losses: ClassVar[tuple[str, ...]] = OF_RATIOS
    counting: ClassVar[int] = 0
    """So many of the integers, the first, add up to the number of rows times `weight`; 0 for all."""

    @property
    def is_ratio(self) -> bool:
        return True

    @property
    @abstractmethod
    def weight(self) -> int:
        """What a row adds to these integers together, wherever its values lie."""

    @property
    @abstractmethod
    def span(self) -> float:
        """The width of the range in which estimates lie."""

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
        """The moments that the released integers of one group say."""

    @abstractmethod
    def alternatives(self, space: Lattice, level: Level) -> dict[str, dict[str, float]]:
        """The largest expected losses of the usual ways, by name: a part of the level for each of several sums."""

    def loss_from_rounding_at(self, loss: str, moments: tuple[float, ...]) -> float:
        """What rounding adds to the expected loss at most, on a table with these moments."""
        return self.loss_from_rounding(loss)

    @property
    @abstractmethod
    def error_basis(self) -> str:
        """What the expected error rests on."""

    def rows(
        self, sums: Sequence[Integers], mechanism: NoisyVector, confidence: float = CONFIDENCE
    ) -> tuple[Integers, Integers, Integers]:
        """How many rows each group has, as far as its released sums say, and the ends of intervals for them."""
        from utmost.theory.estimates.design.row_count import total_limit

        counting = self.counting or len(self.parts)
        together = np.sum([np.asarray(part).astype(object) for part in sums[:counting]], axis=0)
        half, weight = math.ceil(total_limit(mechanism.noise, counting, confidence)), self.weight
        numbers = (2 * together + weight) // (2 * weight), -((half - together) // weight), (together + half) // weight
        rows, low, high = (np.clip(number, 0, MOST_ROWS).astype(np.int64) for number in numbers)
        return rows, low, high


def in_unit(loss: str, value: float, step: Fraction | float) -> float:
    """A loss in steps as one in the unit of the answer."""
    return value * {"absolute": float(step), "squared": float(step) ** 2}.get(loss, 1.0)


def all_in_unit(losses: Mapping[str, float], step: Fraction | float) -> dict[str, float]:
    """The absolute and squared losses of ratios in the unit of the answer."""
    return {loss: in_unit(loss, value, step) for loss, value in losses.items() if loss in OF_RATIOS}
