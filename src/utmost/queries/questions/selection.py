"""The parts of a choice: scores counted by the engine, and a private selection by these scores.

`Scores` define what is counted, and the statement for it. A `Selection` picks one of few answers: it has the space with
its sensitivity, the design, the expected error, and the confidence that an answer gives. Neither depends on whether it
is about the whole table or about each of many groups: that is the grouping (`choices_by`), which passes a `Scope` to
both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from utmost.backends.source import Source, Statement
from utmost.privacy import Level
from utmost.queries.accuracy import Before
from utmost.queries.arguments import Neighbours
from utmost.queries.keys import Keys
from utmost.queries.questions.priors import prior_name
from utmost.queries.units import Unit
from utmost.space.integers import Tallies, Unlisted
from utmost.space.line import Line

if TYPE_CHECKING:
    from utmost.solution import Solution


@dataclass(frozen=True)
class Scope:
    """The rows of one selection (the whole table, or one group) and their privacy level.

    Attributes
    ----------
    rows : int or None
        The most rows that can be used; None without a stated bound.
    rows_each : int
        How many of them one neighbour adds, removes or replaces.
    neighbours : "replace" or "add-remove"
        The adjacency relation.
    privacy : Level
        The level of the selection for one such neighbour.
    """

    rows: int | None
    rows_each: int
    neighbours: Neighbours
    privacy: Level

    @property
    def stated_rows(self) -> int:
        """The most rows that can be used, for queries that need such a bound."""
        assert self.rows is not None, "needs_most"
        return self.rows

    @property
    def steps(self) -> int:
        """How many rows one neighbour adds to groups or removes from them, in all groups together."""
        return self.rows_each * (1 if self.neighbours == "add-remove" else 2)

    def line(self, ends: tuple[int, int]) -> Line:
        """The space of a sum over rows, each of which adds an integer between two ends (which enclose 0)."""
        (low, high), rows = ends, self.stated_rows
        of_row = max(-low, high) if self.neighbours == "add-remove" else high - low
        return Line(low * rows, high * rows, min(of_row * self.rows_each, (high - low) * rows))

    def tallies(self, cells: int) -> Tallies:
        """The space of the counts of disjoint cells."""
        return Tallies(cells, self.stated_rows, self.neighbours, self.rows_each)


class Scores(ABC):
    """The integers counted for a selection: one, or one for every candidate."""

    @abstractmethod
    def statement(self, source: Source, unit: Unit, rows_each: int, secret: bytes) -> Statement:
        """The statement for the scores of the whole table; nothing is read yet."""

    def statement_by(self, source: Source, unit: Unit, rows_each: int, secret: bytes, keys: Keys) -> Statement:
        """The statement for the scores of every group; nothing is read yet."""
        raise NotImplementedError("these are not counted by keys")

    @abstractmethod
    def point(self, engine_result: Mapping[str, Any]) -> Any:
        """The scores of the whole table, clamped to the space, from the result of the statement."""

    def points(self, engine_result: Mapping[str, Any], keys: Keys) -> Any:
        """The scores of every group, clamped to the space, in the order of the keys."""
        raise NotImplementedError("these are not counted by keys")


@dataclass(frozen=True)
class Confidence:
    """What a selection says about the truth.

    Attributes
    ----------
    ends : sequence of pairs
        For each number of the answer, an interval that contains the true one with 95 %, for every table.
    right : float or None
        The probability that the answer is right under the prior; None where it is not known.
    error : float
        The standard error of that probability, where it is estimated.
    rows_within : float or None
        With 95 %, for every table, the selected candidate is fewer rows than this from being right.
    """

    ends: Sequence[tuple[Any, Any]] = ()
    right: float | None = None
    error: float = 0.0
    rows_within: float | None = None


class Selection(ABC):
    """The private selection of one of few answers by scores.

    A selected answer is plain data, such as True or the index of a candidate; it is released under the name `label`.
    """

    label: ClassVar[str]
    """The name of the selected answer among the released values."""
    answer_type: ClassVar[type]
    """The type of a selected answer."""
    states_chance: ClassVar[bool] = True
    """Whether the probability that an answer is right is stated."""
    heading: ClassVar[str] = "cell"
    """The heading of the column of `names`."""
    space: Unlisted
    """The possible scores, with their sensitivity."""

    @property
    def names(self) -> tuple[float, ...]:
        """The names of the numbers of one answer; empty if there is only one number."""
        return ()

    @property
    @abstractmethod
    def problem_data(self) -> dict[str, Any]:
        """The data of the solution's problem beside space and level."""

    @abstractmethod
    def design(self) -> Solution:
        """The mechanism with the lowest expected loss known, with its proof."""

    def sketch(self) -> Solution | None:
        """The design without its proof, for a search over levels; None if there is none."""
        return None

    def select(self, solution: Solution, point: Any) -> Any:
        """Draw an answer for one table or group, as plain data."""
        return self.answer_type(solution.mechanism.sample(point))

    def select_many(self, solution: Solution, points: Any) -> list[Any]:
        """Draw an answer for each of many groups, independently."""
        return [self.select(solution, point) for point in points]

    @abstractmethod
    def require(self, answer: Any) -> None:
        """Refuse, by `InvalidInput`, an answer that cannot have been selected: a report may hold anything."""

    @abstractmethod
    def values(self, answer: Any) -> Sequence[Any]:
        """The numbers of the answer, in the order of `names`; a single one if there are no names."""

    @abstractmethod
    def before(self, solution: Solution) -> Before:
        """Expected error of an answer that is still to be released."""

    @abstractmethod
    def confidence(self, solution: Solution, answer: Any) -> Confidence:
        """The confidence that a selected answer gives: intervals, or the probability that it is right."""

    def credible_interval(self, solution: Solution, answer: Any) -> tuple[Any, Any] | None:
        """The candidates between which the true one lies with 95 % under the prior; None if that is not stated."""
        return None

    by_law: ClassVar[bool] = False
    """Whether the confidence holds without a prior."""

    @abstractmethod
    def confidence_basis(self, of_groups: str, part: str) -> str:
        """What the confidence is based on (a prior, or none), in words.

        Parameters
        ----------
        of_groups : str
            Clause that names the group a probability is of, if there are many; else empty.
        part : str
            Clause on the rows that are used, if not all are.
        """

    @abstractmethod
    def expected_losses(self, solution: Solution) -> dict[str, dict[str, float]]:
        """Expected losses by mechanism and loss: ours first, then the standard alternatives."""

    def notes(self, solution: Solution) -> tuple[str, ...]:
        """Notes that a user should read before spending."""
        return ()

    @property
    def certificate_subject(self) -> str:
        """What the certificate is about, if not the answer itself; else empty."""
        return ""


def under_prior(prior: Any, of_groups: str, part: str) -> str:
    """The basis of a posterior probability in words: the prior and this answer."""
    return f"a {prior_name(prior)} prior and this answer{of_groups}{part}"
