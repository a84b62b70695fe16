"""The parts of a choice: scores that the engine counts, and a selection by them with what it says about the truth.

`Scores` say what is counted and how the engine is asked. A `Selection` is one of few answers, selected privately: its
space with the sensitivity, its design, how accurate it is beforehand and what confidence an answer leaves. Neither
knows whether it is about a whole table or about each of many groups: that is the grouping (`choices_by`), which hands
both a `Scope`.
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
    """The rows that one selection is about, and what is promised there: a whole table, or one group of it.

    Attributes
    ----------
    rows : int or None
        The largest number of rows that take part; None where nobody said how many there are.
    rows_each : int
        How many of them one neighbour adds, removes or replaces.
    neighbours : "replace" or "add-remove"
    privacy : Level
        What the selection keeps for one such neighbour.
    """

    rows: int | None
    rows_each: int
    neighbours: Neighbours
    privacy: Level

    @property
    def stated_rows(self) -> int:
        """The largest number of rows, for questions that need to know."""
        assert self.rows is not None, "needs_most"
        return self.rows

    @property
    def steps(self) -> int:
        """How many steps one neighbour makes in all groups of a table: rows that come into a group, or go."""
        return self.rows_each * (1 if self.neighbours == "add-remove" else 2)

    def line(self, ends: tuple[int, int]) -> Line:
        """Where the sum over all rows lies to which each adds an integer between two ends, 0 among them."""
        (low, high), rows = ends, self.stated_rows
        of_row = max(-low, high) if self.neighbours == "add-remove" else high - low
        return Line(low * rows, high * rows, min(of_row * self.rows_each, (high - low) * rows))

    def tallies(self, cells: int) -> Tallies:
        """Where the numbers of rows in so many cells lie, each row being in one of them at most."""
        return Tallies(cells, self.stated_rows, self.neighbours, self.rows_each)


class Scores(ABC):
    """What the engine counts for a selection: one integer, or one for every candidate."""

    @abstractmethod
    def statement(self, source: Source, unit: Unit, rows_each: int, secret: bytes) -> Statement:
        """The scores of the whole table, as a statement; nothing is read yet."""

    def statement_by(self, source: Source, unit: Unit, rows_each: int, secret: bytes, keys: Keys) -> Statement:
        """The scores of every group, as a statement; nothing is read yet."""
        raise NotImplementedError("these are not counted by keys")

    @abstractmethod
    def point(self, engine_result: Mapping[str, Any]) -> Any:
        """The scores of the whole table, clamped to their space, from what the engine returned."""

    def points(self, engine_result: Mapping[str, Any], keys: Keys) -> Any:
        """The scores of every group, clamped to their space, in the order of the keys."""
        raise NotImplementedError("these are not counted by keys")


@dataclass(frozen=True)
class Confidence:
    """What a selection says about the truth.

    Attributes
    ----------
    ends : sequence of pairs
        For each number of the answer, between which ends the true one lies at every table.
    right : float or None
        The probability that the answer is right under the prior; None where it is not known.
    error : float
        The standard error of that probability, where it is estimated.
    rows_within : float or None
        At every table the selected candidate is fewer rows than this from being right.
    """

    ends: Sequence[tuple[Any, Any]] = ()
    right: float | None = None
    error: float = 0.0
    rows_within: float | None = None


class Selection(ABC):
    """One of few answers, selected privately by scores.

    What is selected is plain data, such as True or the place of a candidate; under `label` it is what is released.
    """

    label: ClassVar[str]
    """What the selected is called among what is released."""
    plain: ClassVar[type]
    """The type of what is selected."""
    states_chance: ClassVar[bool] = True
    """Whether the probability that an answer is right is stated."""
    heading: ClassVar[str] = "cell"
    """The head of the column that tells the numbers of one answer from each other."""
    space: Unlisted
    """Where the scores lie, and how far one neighbour moves them."""

    @property
    def names(self) -> tuple[float, ...]:
        """What the numbers of one answer are called; empty where it is a single one."""
        return ()

    @property
    @abstractmethod
    def posed(self) -> dict[str, Any]:
        """What the problem of the solution holds beside space and level."""

    @abstractmethod
    def design(self) -> Solution:
        """The mechanism with the least expected loss known, with its proof."""

    def sketch(self) -> Solution | None:
        """The design without its proof, for a search over levels; None without one."""
        return None

    def select(self, solution: Solution, point: Any) -> Any:
        """Draw an answer at one point, as plain data."""
        return self.plain(solution.mechanism.sample(point))

    def select_many(self, solution: Solution, points: Any) -> list[Any]:
        """Draw an answer at each of many points, independently."""
        return [self.select(solution, point) for point in points]

    @abstractmethod
    def require(self, selected: Any) -> None:
        """Refuse, by `InvalidInput`, what cannot have been selected: a report may hold anything."""

    @abstractmethod
    def values(self, selected: Any) -> Sequence[Any]:
        """The numbers of the answer, in the order of the names; a single one where there are no names."""

    @abstractmethod
    def before(self, solution: Solution) -> Before:
        """How accurate an answer will be."""

    @abstractmethod
    def confidence(self, solution: Solution, selected: Any) -> Confidence:
        """What the selected answer says about the truth."""

    def likely(self, solution: Solution, selected: Any) -> tuple[Any, Any] | None:
        """Between which candidates the true one lies under the prior; None where that is not stated."""
        return None

    by_law: ClassVar[bool] = False
    """Whether confidence rests on no prior."""

    @abstractmethod
    def basis(self, of_groups: str, part: str) -> str:
        """What confidence rests on, in words.

        Parameters
        ----------
        of_groups : str
            Of which group a probability is, where there are many; empty where there is one.
        part : str
            Which rows it is about, where it is not about all.
        """

    @abstractmethod
    def compared(self, solution: Solution) -> dict[str, dict[str, float]]:
        """The expected losses, ours first, then the usual alternatives, by loss."""

    def notes(self, solution: Solution) -> tuple[str, ...]:
        """What somebody about to spend should know."""
        return ()

    @property
    def proved_of(self) -> str:
        """What the certificate is about, where that is not the answer itself."""
        return ""


def under_prior(prior: Any, of_groups: str, part: str) -> str:
    """What a probability that rests on a prior and an answer rests on, in words."""
    return f"a {prior_name(prior)} prior and this answer{of_groups}{part}"
