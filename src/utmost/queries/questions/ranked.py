"""Quantiles of a column between public bounds, one or several, of the whole table or by keys.

The q-quantile is the least value of the clamped column with at least a share q of its n rows at or below it: the
ceil(q n)-th smallest (NumPy's "inverted_cdf"). Candidates are a fine public grid (`queries/candidates.py`), and the
engine counts the rows nearest to each. `theory/selection/ranks.py` defines the mechanism, with an interval that
contains the quantile for every table; it extends to the midpoints around its candidates, so it contains the quantile of
the unrounded values. A table (or group) without rows has no quantile: an answer is drawn all the same, and is
meaningless.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from utmost.backends.source import Source, as_column
from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats
from utmost.privacy import Level
from utmost.queries.accuracy import Before
from utmost.queries.arguments import Of
from utmost.queries.candidates import Candidates, as_candidates, as_range_of_candidates
from utmost.queries.cells import Cells
from utmost.queries.keys import MOST_CELLS
from utmost.queries.options import Option
from utmost.queries.questions.choices import Choice
from utmost.queries.questions.named_candidates import LongTally
from utmost.queries.questions.quantiles import as_shares
from utmost.queries.questions.question import as_of
from utmost.queries.questions.selection import Confidence, Selection
from utmost.queries.report.words import question_in_words
from utmost.space.integers import Tables, Tallies

if TYPE_CHECKING:
    from utmost.solution import Solution

MOST_TREES = 10**6
"""The most candidates of all keys together for which a noisy CDF is considered."""
HOLDS = {
    "ranks.choices": "by how many rows the named value is off, where rows are spread evenly around the quantile; in "
    "the unit of the data, as much as the values of so many rows differ there",
    "ranks.cdf": "by how many rows the count at or below a candidate, less its share of all, is off; a quantile "
    "is made of several candidates and off by fewer rows; in the unit of the data, as much as the values of so many "
    "rows differ there",
}
HOW = {
    "ranks.choices": "each quantile and the two ends of its interval are chosen by their ranks: fewer rows off than "
    "reading them off a noisy CDF",
    "ranks.cdf": "all quantiles are read off one noisy CDF: fewer rows off than choosing each by itself",
}
EMPTY = "if no row has a value there is no quantile, and the answer means nothing"


@dataclass(frozen=True, eq=False)
class RankedQuantiles(Selection):
    """Quantiles by the ranks of candidates: for each, its index and those of the two ends of its interval.

    Attributes
    ----------
    space : Tallies
        The space of the counts of rows nearest to each candidate, with its sensitivity.
    grid : Candidates
        The candidates.
    shares : tuple of Fraction
        The orders of the quantiles.
    privacy : Level
        The privacy level of all of them together.
    whole : bool
        Whether the column has an integer type.
    one : bool
        Whether the question is about one quantile, not a list.
    trees : bool
        Whether a noisy CDF is considered.
    """

    by_law: ClassVar = True

    label: ClassVar = "places"
    answer_type: ClassVar = list
    states_chance: ClassVar = False
    heading: ClassVar = "quantile"

    space: Tallies
    grid: Candidates
    shares: tuple[Fraction, ...]
    privacy: Level
    whole: bool
    one: bool
    trees: bool

    @property
    def names(self) -> tuple[float, ...]:
        return () if self.one else tuple(map(float, self.shares))

    @property
    def problem_data(self) -> dict[str, Any]:
        return {"loss": "rank", "shares": [str(q) for q in self.shares]}

    @property
    def certificate_subject(self) -> str:
        return "the ranks of candidates"

    def design(self) -> Solution:
        from utmost.theory.selection.design.ranks import best_ranks

        return best_ranks(self.space, self.shares, self.privacy, self.trees)

    def select(self, solution: Solution, point: Any) -> Any:
        return self.select_many(solution, [point])[0]

    def select_many(self, solution: Solution, points: Any) -> list[Any]:
        mechanism = solution.mechanism
        if is_by_cdf(solution):
            return self._read_off(solution, points)
        samples = [[int(place) for place in mechanism.sample(counts)] for counts in points]
        return [
            [[places[at], min(places[at : at + 3]), max(places[at : at + 3])] for at in range(0, len(places), 3)]
            for places in samples
        ]

    def _read_off(self, solution: Solution, points: Any) -> list[Any]:
        """Draw a noisy CDF for each group, and read off the indices of quantiles and of the ends of their intervals."""
        from utmost.theory.selection.ranks import node_counts, ranks_of, read_quantile

        mechanism, branching, halves = (
            solution.mechanism,
            solution.problem.data["branching"],
            self._half_widths(solution),
        )
        sizes, size = [law.dimension for law in mechanism.laws], self.grid.size
        noisy = [mechanism.sample(node_counts(counts, sizes)) for counts in points]
        return [
            [
                [int(place) for place in read_quantile(ranks_of(nodes, size, branching, q), half)]
                for q, half in zip(self.shares, halves, strict=True)
            ]
            for nodes in noisy
        ]

    def _half_widths(self, solution: Solution) -> list[Floats]:
        """The half widths of the noise of the rank, for every quantile and candidate."""
        from utmost.theory.selection.design.ranks import rank_half_widths
        from utmost.theory.selection.ranks import nodes_below

        laws, branching = solution.mechanism.laws, solution.problem.data["branching"]
        nodes_in_prefix = nodes_below(self.grid.size, branching, len(laws))
        nodes = len(laws) * (branching - 1) + 1
        return [rank_half_widths(laws[0], q, nodes)[nodes_in_prefix] for q in self.shares]

    def require(self, answer: Any) -> None:
        require_places(answer, len(self.shares), self.grid.size)

    def values(self, answer: list[list[int]]) -> Sequence[Any]:
        return [self.grid.value(place) for place, _, _ in answer]

    def before(self, solution: Solution) -> Before:
        from utmost.theory.selection.rank_errors import rank_errors

        errors = rank_errors(solution.problem, solution.mechanism)
        holds = HOLDS[solution.problem.question]
        return Before("rank", solution.value, max(errors), holds=f"{holds}; worst: the quantile off by most")

    def confidence(self, solution: Solution, answer: list[list[int]]) -> Confidence:
        return Confidence([self.grid.between(low, high, self.whole) for _, low, high in answer])

    def confidence_basis(self, of_groups: str, part: str) -> str:
        return part

    def expected_losses(self, solution: Solution) -> dict[str, dict[str, float]]:
        return {"Utmost": {"rank": solution.value}}

    def notes(self, solution: Solution) -> tuple[str, ...]:
        apart = "" if self.grid.step is None else f" {as_step(self.grid)} apart"
        what = f"the value is one of {self.grid.size:,} candidates{apart}; the interval holds the quantile of the"
        return (HOW[solution.problem.question], f"{what} values themselves, clamped and not rounded", EMPTY)


def is_by_cdf(solution: Solution) -> bool:
    """Whether quantiles are read off a noisy CDF, not selected by rank."""
    return bool(solution.problem.question == "ranks.cdf")


@dataclass(frozen=True, eq=False, kw_only=True)
class Ranked(Choice):
    """Quantiles among the candidates between two bounds, one or several.

    Attributes
    ----------
    column : str
        The column.
    shares : tuple of Fraction
        The orders of the quantiles, such as (1/2,).
    lower, upper, grid : number or None
        The bounds that values are clamped to, and the distance of candidates.
    candidates : sequence of numbers or None
        The candidates, if they are listed.
    whole : bool
        Whether the column has an integer type.
    one : bool
        Whether the question is about one quantile, not a list.
    of : "rows" or "people"
        Whose values count.
    """

    name = "quantile"
    summary = "quantiles of a column between public bounds"
    options: ClassVar[tuple[Option, ...]] = ()  # declared by `Quantile`
    needs_most: ClassVar = False
    people_by_one_row: ClassVar = True

    column: str
    shares: Any
    lower: Any = None
    upper: Any = None
    grid: Any = None
    candidates: Any = None
    whole: bool = False
    one: bool = False
    of: Of = "rows"
    loss: str = "rank"

    def __post_init__(self) -> None:
        self.set_fields(of=as_of(self.of, self.terms.unit))  # first: the contribution bound depends on it
        super().__post_init__()
        self.set_fields(column=as_column(self.column), shares=as_shares(self.shares))
        if type(self.whole) is not bool or type(self.one) is not bool or self.loss != "rank":
            raise InvalidInput("quantiles by ranks are of rows; whole and one are truth values.")
        if self.one and len(self.shares) > 1:
            raise InvalidInput(f"one quantile is asked for, and {len(self.shares)} shares are listed.")
        _ = self.candidate_grid

    @property
    def groups(self) -> int:
        """The number of groups."""
        return 1 if self.by is None else self.by.size

    @cached_property
    def candidate_grid(self) -> Candidates:
        """The candidates."""
        if self.candidates is None:
            return as_range_of_candidates(self.lower, self.upper, self.grid, self.whole, self.groups)
        candidates = as_candidates(self.candidates)
        if candidates.size * self.groups > MOST_CELLS:
            raise InvalidInput(
                f"{self.groups:,} keys with {candidates.size:,} candidates each are more than {MOST_CELLS:,} cells, "
                "the most that are counted at once; list fewer keys, or fewer candidates."
            )
        return candidates

    @property
    def clamping_in_words(self) -> str:
        return f"values clamped to {self.candidate_grid}"

    @property
    def one_row_clause(self) -> str:
        return "of one row of each person chosen at random"

    @property
    def words(self) -> str:
        which = ["median" if q == Fraction(1, 2) else f"{float(q):g} quantile" for q in self.shares]
        several = len(which) > 1
        what = f"What are the {', '.join(which[:-1])} and {which[-1]}" if several else f"What is the {which[0]}"
        _, end = self.grouping.sentence_clauses("")
        return question_in_words(
            f"{what} of {self.column}, {self.clamping_in_words}", self.where, self.rows_clause, end
        )

    @property
    def public(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {"column": self.column, "shares": [str(q) for q in self.shares]}
        parameters |= {
            **self.candidate_grid.public,
            "whole": self.whole,
            "one": self.one,
            "where": self.where.text,
            "of": self.of,
        }
        return {"question": self.name, **parameters, "loss": self.loss, "prior": "uniform", **self.grouping.public}

    @cached_property
    def scores(self) -> LongTally:
        from utmost.theory.selection.ranks import MOST_COUNT

        scope = self.scope
        rows = MOST_COUNT if scope.rows is None else min(scope.rows, MOST_COUNT)
        return LongTally(
            self._cells, Tallies(self.candidate_grid.size, rows, scope.neighbours, scope.rows_each), self.where
        )

    def _cells(self, source: Source) -> Cells:
        return self.candidate_grid.cells(source, self.column)

    @cached_property
    def selection(self) -> RankedQuantiles:
        trees = self.candidate_grid.size * self.groups <= MOST_TREES + 1
        level, tallies = self.scope.privacy, self.scores.space
        return RankedQuantiles(tallies, self.candidate_grid, self.shares, level, self.whole, self.one, trees)

    @property
    def space(self) -> Tallies | Tables:
        """The space of the solution: the counts of candidates, or of the nodes of a tree over them."""
        from utmost.theory.selection.design.ranks import tables_of

        space, tallies = self.solution.problem.space, self.selection.space  # from a report, it may be anything
        return tables_of(tallies, space.sizes) if isinstance(space, Tables) else tallies

    @property
    def problem_data(self) -> dict[str, Any]:
        cells = {"cells": self.candidate_grid.size} if is_by_cdf(self.solution) else {}
        return {**self.selection.problem_data, **cells}


def as_step(grid: Candidates) -> str:
    """The step of candidates in words; empty for listed candidates."""
    from utmost.exact import show_rational

    return "" if grid.step is None else show_rational(grid.step)


def require_places(places_of_quantiles: Any, number: int, size: int) -> list[list[int]]:
    """Check the released indices of quantiles and of the ends of their intervals; a report may hold anything."""
    fits = isinstance(places_of_quantiles, list) and len(places_of_quantiles) == number
    for triple in places_of_quantiles if fits else ():
        is_triple = isinstance(triple, list) and len(triple) == 3 and all(type(at) is int for at in triple)
        fits = fits and is_triple and 0 <= triple[1] <= triple[0] <= triple[2] < size
    if not fits:
        raise InvalidInput(f"of {number} quantiles the places of a candidate and of two ends are released.")
    places: list[list[int]] = places_of_quantiles
    return places
