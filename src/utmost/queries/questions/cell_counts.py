"""Counts of rows, or of people, in public cells: of conditions, categories, edges, ranges, many tables or a hierarchy.

The counts of the cells are a vector of integers with a sensitivity. A query of this kind is put together of parts:

* its *workload*: the wanted sums of cells;
* its *strategy* (`CellStrategy`): the integers that are released with noise, how they are computed from the cells, and
  the estimates of the wanted counts with their intervals and expected errors;
* how the engine assigns a row to a cell (`statement`), its words, and the post-processing of the estimates, such as
  making them increase.

The strategy with the lowest expected error is chosen when the noise is designed, so it follows from the solution.
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
from utmost.queries.losses import reported_losses
from utmost.queries.questions.alternatives import noise_alternatives
from utmost.queries.questions.integer_limits import is_near_end
from utmost.queries.questions.question import Question, Terms
from utmost.space.integers import Lattice, Strategy, Unlisted

if TYPE_CHECKING:
    from utmost.design.workload import Workload
    from utmost.solution import Solution

Total: TypeAlias = Literal["", "noisy", "published"]
"""Whether the sum of counts of all rows is published or noisy, if rows are replaced; "" if it is not public at all."""
NOISY_TOTAL = {"total": "noisy"}
"""Entry of `public`: the total has noise because of the kind of table; in older reports and ledgers it never has."""
TOTAL_NOTE = (
    "the counts hold every row, and their sum has noise, too: how many rows a CSV file has may depend on what one of "
    "them says; of Parquet, a frame or a database it would be published as it is, with less noise on each count"
)
OUTSIDE = (
    "numbers are unbiased and may lie below 0, and intervals are cut off at 0: a number may lie outside its own "
    "interval"
)


def total_of(terms: Terms, holds_every_row: bool) -> Total:
    """Return whether the sum of disjoint counts is published exactly, or noisy as the number of rows is not fixed.

    Parameters
    ----------
    terms : Terms
        The privacy unit and the adjacency.
    holds_every_row : bool
        Whether every row counts in exactly one of the cells.

    Returns
    -------
    "published", "noisy" or ""
        Empty if the sum is as private as the counts: rows are added or removed, or some rows are in no cell.
    """
    if not holds_every_row or not terms.same_total:
        return ""
    return "published" if terms.fixed_rows else "noisy"


@dataclass(frozen=True, eq=False, kw_only=True)
class CellStrategy(ABC):
    """The integers that are released for counts of cells, and the estimates of the counts from them.

    Attributes
    ----------
    solution : Solution
        The noise of the released integers, with its proof. From a report it may be any solution.
    """

    solution: Solution

    @property
    @abstractmethod
    def space(self) -> Unlisted:
        """The space of the released integers, with its sensitivity set."""

    @property
    @abstractmethod
    def labels(self) -> Sequence[str]:
        """The names of the released integers, or of tables of them, in ledgers and reports."""

    @abstractmethod
    def point(self, cells: Mapping[str, Any]) -> Any:
        """The exact integers, clamped to the space, computed from the counted cells. They are private."""

    def released(self, sample: Any) -> dict[str, Any]:
        """The drawn values by their labels."""
        return {label: int(x) for label, x in zip(self.labels, sample, strict=True)}

    def require_released(self, released: Mapping[str, Any]) -> None:
        """Refuse, by `InvalidInput`, values that cannot have been released: a report may hold anything."""
        if not all(type(value) is int for value in released.values()):
            raise InvalidInput("what is released are whole numbers.")

    @abstractmethod
    def estimates(self, released: Mapping[str, Any]) -> dict[Any, int] | dict[Any, Fraction]:
        """Estimates of the wanted counts by name, unbiased up to rounding."""

    @abstractmethod
    def intervals(self, released: Mapping[str, Any]) -> dict[Any, tuple[Any, Any]]:
        """The 95 % intervals of the wanted counts, by name."""

    def near_end(self, released: Mapping[str, Any], intervals: Mapping[Any, tuple[Any, Any]]) -> bool:
        """Whether a released integer is within the noise's 95 % half width of an end that it is clamped to."""
        space = self.space
        if isinstance(space, Strategy):  # the sums themselves have no ends
            return any(high >= (space.cells.upper or 0) for _, high in intervals.values())
        assert isinstance(space, Lattice)
        half_width = self.solution.mechanism.noise.half_width(CONFIDENCE)
        return is_near_end([list(released.values())], half_width, space)

    @abstractmethod
    def average(self, loss: str) -> float:
        """The expected loss of one count, averaged over all of them."""

    @abstractmethod
    def before(self, loss: str) -> Before:
        """The expected loss of one count, averaged over all, and that of the count with the largest error."""

    def probability_off_by_more(self, error: Fraction) -> float | None:
        """Probability that the error of a count exceeds `error`, averaged over counts; None if it is not known."""
        return None

    @abstractmethod
    def expected_losses(self, level: Level, loss: str) -> dict[str, dict[str, float]]:
        """Expected losses of this strategy, then of the standard alternatives at the same level."""

    @property
    def note(self) -> str:
        """Note on what is released and how counts are estimated from it, if that is not the counts; else empty."""
        return ""

    @property
    def certificate_subject(self) -> str:
        """What the certificate is about, if not the answer itself; else empty."""
        return ""


@dataclass(frozen=True, eq=False, kw_only=True)
class NoisyCounts(CellStrategy):
    """One vector of noise on the counts themselves.

    Attributes
    ----------
    names : tuple of str
        The names of the counts, in the order of the question.
    counts : Lattice
        The space of the counts, with its sensitivity set.
    chain : tuple of str
        The names of nested counts, the innermost first: the engine counts the rows between them, which are added up.
        Empty if the engine counts what is asked for.
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
        half_width = self.solution.mechanism.noise.half_width(CONFIDENCE)
        return {name: (released[name] - half_width, released[name] + half_width) for name in self.names}

    def average(self, loss: str) -> float:
        return float(self.solution.value)

    def before(self, loss: str) -> Before:
        return Before(loss, self.average(loss), float(self.solution.mechanism.worst(loss)))

    def probability_off_by_more(self, error: Fraction) -> float:
        return 1.0 if error < 0 else float(self.solution.mechanism.expected(f"within {error // 1}"))

    def expected_losses(self, level: Level, loss: str) -> dict[str, dict[str, float]]:
        losses = reported_losses(loss)
        ours = {name: float(self.solution.mechanism.expected(name)) for name in losses}
        return {"Utmost": ours, **noise_alternatives(self.counts, level, losses)}

    @property
    def certificate_subject(self) -> str:
        return "counts that may overlap" if self.chain else ""


@dataclass(frozen=True, eq=False, kw_only=True)
class CellCounts(Question):
    """Counts of rows, or people, in public cells, or sums of such counts.

    Every kind defines its `workload`, its `strategy`, its `statement` and its words.
    """

    @property
    def takes_any_noise(self) -> bool:
        return True

    @property
    @abstractmethod
    def workload(self) -> Lattice | Workload:
        """The wanted counts: those of a lattice, one by one, or sums of cells."""

    @property
    @abstractmethod
    def strategy(self) -> CellStrategy:
        """The integers that the solution releases, and the estimates of counts from them."""

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

    def probability_off_by_more(self, error: Fraction) -> float:
        chance = self.strategy.probability_off_by_more(error)
        return super().probability_off_by_more(error) if chance is None else chance

    def before(self) -> Before:
        return self.strategy.before(self.loss)

    def after(self, released: Mapping[str, Any]) -> After:
        return After(self.strategy.intervals(released), given=self.limits_clause, by_law=True)

    @property
    def condition(self) -> str:
        space = self.space
        clamped = not isinstance(space, Lattice) or space.moves != "sum-zero"
        return super().condition if clamped else ""

    def near_limit(self, released: Mapping[str, Any], after: After) -> bool:
        return self.strategy.near_end(released, after.intervals)

    def expected_losses(self) -> dict[str, dict[str, float]]:
        return self.strategy.expected_losses(self.privacy, self.loss)

    @property
    def notes(self) -> tuple[str, ...]:
        return (self.strategy.note,) if self.strategy.note else ()

    @property
    def certificate_subject(self) -> str:
        return self.strategy.certificate_subject
