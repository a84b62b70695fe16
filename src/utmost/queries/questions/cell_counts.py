"""Counts of rows, or of people, in public cells: of conditions, categories, edges, ranges, many tables or a hierarchy.

How many rows each cell holds is a vector of integers that one neighbour moves only so far. A query of this kind is put
together of parts:

* its *workload*: the sums of cells that are wanted;
* its *strategy* (`CellStrategy`): the integers that are released with noise, how they are made of the cells, and the
  estimates of the wanted counts with their intervals and expected errors;
* how the engine places a row in a cell (`statement`), its words, and what is done to the estimates at last, such as
  making them increase.

Which strategy has the lowest expected error is decided when the noise is designed, so the strategy follows from the
solution.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from utmost.errors import InvalidInput
from utmost.privacy import Level
from utmost.queries.accuracy import CONFIDENCE, After, Before
from utmost.queries.questions.alternatives import noise_alternatives
from utmost.queries.questions.integer_limits import reaches_an_end
from utmost.queries.questions.question import Question, Terms, shown_with
from utmost.space.integers import Lattice, Strategy, Unlisted

if TYPE_CHECKING:
    from utmost.design.workload import Workload
    from utmost.solution import Solution

Total: TypeAlias = Literal["", "noisy", "published"]
"""Of counts that hold every row, where replaced rows leave their number alike: whether their sum has noise."""
NOISY_TOTAL = {"total": "noisy"}
"""Of `public`: that the total has noise because of the kind of table; in older reports and ledgers it never has."""
TOTAL_NOTE = (
    "the counts hold every row, and their sum has noise, too: how many rows a CSV file has may depend on what one of "
    "them says; of Parquet, a frame or a database it would be published as it is, with less noise on each count"
)
OUTSIDE = (
    "numbers are unbiased and may lie below 0, and intervals are cut off at 0: a number may lie outside its own "
    "interval"
)


def total_of(terms: Terms, holds_every_row: bool) -> Total:
    """Whether the sum of disjoint counts is published exactly, or has noise because the number of rows is not fixed.

    Parameters
    ----------
    terms : Terms
        The privacy unit and the adjacency.
    holds_every_row : bool
        Whether every row counts in exactly one of the cells.

    Returns
    -------
    "published", "noisy" or ""
        Empty where the sum is as private as the counts: rows come or go, or some rows are in no cell.
    """
    if not holds_every_row or not terms.same_total:
        return ""
    return "published" if terms.fixed_rows else "noisy"


@dataclass(frozen=True, eq=False, kw_only=True)
class CellStrategy(ABC):
    """Which integers are released in place of counts of cells, and the counts that are estimated from them.

    Attributes
    ----------
    solution : Solution
        The noise on the released integers, with its proof. From a report it may be a solution of anything.
    """

    solution: Solution

    @property
    @abstractmethod
    def space(self) -> Unlisted:
        """Where the released integers lie, and what one neighbour adds to them."""

    @property
    @abstractmethod
    def labels(self) -> Sequence[str]:
        """What the released integers, or the tables of them, are called in the ledger and in reports."""

    @abstractmethod
    def point(self, cells: Mapping[str, Any]) -> Any:
        """The private integers, clamped to the space, made of the cells that the engine counted."""

    def released(self, sample: Any) -> dict[str, Any]:
        """What was drawn, by its labels."""
        return {label: int(x) for label, x in zip(self.labels, sample, strict=True)}

    def require_released(self, released: Mapping[str, Any]) -> None:
        """Refuse, by `InvalidInput`, what cannot have been released: a report may hold anything."""
        if not all(type(value) is int for value in released.values()):
            raise InvalidInput("what is released are whole numbers.")

    @abstractmethod
    def estimates(self, released: Mapping[str, Any]) -> dict[Any, int] | dict[Any, Fraction]:
        """The wanted counts by their names, with errors of mean 0 (up to rounding)."""

    @abstractmethod
    def intervals(self, released: Mapping[str, Any]) -> dict[Any, tuple[Any, Any]]:
        """For every wanted count, the ends between which it lies with 95 %."""

    def near_end(self, released: Mapping[str, Any], intervals: Mapping[Any, tuple[Any, Any]]) -> bool:
        """Whether what was released is within its noise's 95 % of an end that integers are clamped to."""
        space = self.space
        if isinstance(space, Strategy):  # the sums themselves have no ends
            return any(high >= (space.cells.upper or 0) for _, high in intervals.values())
        assert isinstance(space, Lattice)
        half = self.solution.mechanism.noise.half_width(CONFIDENCE)
        return reaches_an_end([list(released.values())], half, space)

    @abstractmethod
    def average(self, loss: str) -> float:
        """The expected loss of one count, averaged over all of them."""

    @abstractmethod
    def before(self, loss: str) -> Before:
        """The same with that of the count with the largest error."""

    def off_by_more(self, error: Fraction) -> float | None:
        """The probability that a count is off by more than this, averaged over them; None where it is not known."""
        return None

    @abstractmethod
    def compared(self, level: Level, loss: str) -> dict[str, dict[str, float]]:
        """The expected losses of this strategy, then of the usual alternatives at the same level."""

    @property
    def note(self) -> str:
        """What is released and how counts are made of it, where that is not the same; else empty."""
        return ""

    @property
    def proved_of(self) -> str:
        """What the certificate is about, where that is not the answer itself."""
        return ""


@dataclass(frozen=True, eq=False, kw_only=True)
class NoisyCounts(CellStrategy):
    """One vector of noise on the counts themselves.

    Attributes
    ----------
    names : tuple of str
        What the counts are called, in the order in which they are asked for.
    counts : Lattice
        Where the counts lie, and what one neighbour adds to them.
    chain : tuple of str
        Of counts that lie inside each other, the names, the innermost first: the engine counts the rows between them,
        and these are added up. Empty where it counts what is asked for.
    """

    names: tuple[str, ...]
    counts: Lattice
    chain: tuple[str, ...] = ()

    @property
    def space(self) -> Lattice:
        return self.counts

    @property
    def labels(self) -> tuple[str, ...]:
        return self.names

    def point(self, cells: Mapping[str, Any]) -> tuple[int, ...]:
        counts = [cells[f"c{i}"] for i in range(self.counts.dimension)]
        if self.chain:
            sums = dict(zip(self.chain, accumulate(counts), strict=True))
            counts = [sums[name] for name in self.names]
        return self.counts.clamp(counts)

    def estimates(self, released: Mapping[str, Any]) -> dict[Any, int]:
        return {name: released[name] for name in self.names}  # in the order asked

    def intervals(self, released: Mapping[str, Any]) -> dict[Any, tuple[Any, Any]]:
        half = self.solution.mechanism.noise.half_width(CONFIDENCE)
        return {name: (released[name] - half, released[name] + half) for name in self.names}

    def average(self, loss: str) -> float:
        return float(self.solution.value)

    def before(self, loss: str) -> Before:
        return Before(loss, self.average(loss), float(self.solution.mechanism.worst(loss)))

    def off_by_more(self, error: Fraction) -> float:
        return 1.0 if error < 0 else float(self.solution.mechanism.expected(f"within {error // 1}"))

    def compared(self, level: Level, loss: str) -> dict[str, dict[str, float]]:
        losses = shown_with(loss)
        ours = {shown_loss: float(self.solution.mechanism.expected(shown_loss)) for shown_loss in losses}
        return {"Utmost": ours, **noise_alternatives(self.counts, level, losses)}

    @property
    def proved_of(self) -> str:
        return "counts that may overlap" if self.chain else ""


@dataclass(frozen=True, eq=False, kw_only=True)
class CellCounts(Question):
    """How many rows, or people, public cells hold, or sums of cells.

    Every kind declares its `workload`, its `strategy`, its `statement` and its words.
    """

    @property
    def takes_any_noise(self) -> bool:
        return True

    @property
    @abstractmethod
    def workload(self) -> Lattice | Workload:
        """The wanted counts: as many as the lattice has integers, each for itself; or sums of cells."""

    @property
    @abstractmethod
    def strategy(self) -> CellStrategy:
        """The integers that are released by the solution, and how counts are estimated from them."""

    @property
    def space(self) -> Unlisted:
        return self.strategy.space

    def design(self) -> Solution:
        workload = self.workload
        if isinstance(workload, Lattice):
            from utmost.theory.vector.design.vectors import best_vector

            return best_vector(workload, self.privacy, self.loss, alone=True)
        from utmost.design.workload import best_workload

        return best_workload(workload, self.privacy)

    def sketch(self) -> Solution | None:
        workload = self.workload
        if isinstance(workload, Lattice):
            from utmost.theory.vector.design.vectors import sketch_vector

            return sketch_vector(workload, self.privacy, self.loss, alone=True)
        from utmost.design.workload import sketch_workload

        return sketch_workload(workload, self.privacy)

    def point(self, engine_result: Mapping[str, Any]) -> Any:
        return self.strategy.point(engine_result)

    def released(self, sample: Any) -> dict[str, Any]:
        return self.strategy.released(sample)

    def require_released(self, released: Mapping[str, Any]) -> None:
        self.strategy.require_released(released)

    def value(self, released: Mapping[str, Any]) -> dict[Any, Any]:
        return self.strategy.estimates(released)

    @property
    def average(self) -> float:
        return self.strategy.average(self.loss)

    def off_by_more(self, error: Fraction) -> float:
        chance = self.strategy.off_by_more(error)
        return super().off_by_more(error) if chance is None else chance

    def before(self) -> Before:
        return self.strategy.before(self.loss)

    def after(self, released: Mapping[str, Any]) -> After:
        return After(self.strategy.intervals(released), given=self.not_in_it, by_law=True)

    @property
    def condition(self) -> str:
        space = self.space
        clamped = not isinstance(space, Lattice) or space.moves != "sum-zero"
        return super().condition if clamped else ""

    def near_limit(self, released: Mapping[str, Any], after: After) -> bool:
        return self.strategy.near_end(released, after.intervals)

    def compared(self) -> dict[str, dict[str, float]]:
        return self.strategy.compared(self.privacy, self.loss)

    @property
    def notes(self) -> tuple[str, ...]:
        return (self.strategy.note,) if self.strategy.note else ()

    @property
    def proved_of(self) -> str:
        return self.strategy.proved_of
