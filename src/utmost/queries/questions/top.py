"""Query: the k most frequent values of a column, in order, of a public list of candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from utmost.backends.source import Source, Statement, as_column
from utmost.errors import InvalidInput
from utmost.queries.accuracy import Before
from utmost.queries.arguments import Of
from utmost.queries.bins import as_bins, labels_of, public_of
from utmost.queries.cells import as_categories
from utmost.queries.contributions import ones
from utmost.queries.groups import grouped_statement
from utmost.queries.keys import Keys, keys
from utmost.queries.options import CHOICES, COLUMN, KEYS_EACH, OF, WHERE, Option, read_whole
from utmost.queries.predicate import Where
from utmost.queries.questions.choices import Choice
from utmost.queries.questions.question import as_of
from utmost.queries.questions.selection import Confidence, Scores, Selection
from utmost.queries.questions.top_found import MISSED, as_k, recall_in_words
from utmost.queries.report.words import question_in_words
from utmost.queries.units import Unit
from utmost.space.integers import Tallies

if TYPE_CHECKING:
    from utmost.privacy import Level
    from utmost.solution import Solution

K = Option("k", "How many are named.", "--k, such as --k 10", "How many are named", required=True, read=read_whole)
GIVEN = ", nothing more than the expected recall is known of who is missed"


@dataclass(frozen=True)
class CategoryCounts(Scores):
    """The number of rows of each of several values of a column.

    Attributes
    ----------
    keys : Keys
        The values.
    space : Tallies
        The space of the counts, with its sensitivity.
    where : Where
        Which rows are counted.
    """

    keys: Keys
    space: Tallies
    where: Where

    def statement(self, source: Source, unit: Unit, rows_each: int, secret: bytes) -> Statement:
        contributions = {"count": ones(source, self.where.text)}
        return grouped_statement(source, unit, rows_each, self.keys, contributions, secret)

    def point(self, engine_result: Mapping[str, Any]) -> list[int]:
        counts: list[int] = np.clip(engine_result["count"], 0, self.space.rows).tolist()
        return counts


@dataclass(frozen=True, eq=False)
class TopList(Selection):
    """The k candidates with the most rows, in order.

    Attributes
    ----------
    space : Tallies
        The space of the counts, with its sensitivity.
    labels : sequence
        The names of the candidates.
    k : int
        The length of the list.
    privacy : Level
        The privacy level of the list.
    """

    by_law: ClassVar = True

    label: ClassVar = "places"
    answer_type: ClassVar = list
    states_chance: ClassVar = False

    space: Tallies
    labels: Sequence[Any]
    k: int
    privacy: Level

    @property
    def problem_data(self) -> dict[str, Any]:
        return {"loss": MISSED, "k": self.k}

    def design(self) -> Solution:
        from utmost.theory.selection.design.top_lists import best_top

        return best_top(self.space, self.k, self.privacy)

    def require(self, answer: Any) -> None:
        places = answer if isinstance(answer, list) else []
        in_range = all(type(at) is int and 0 <= at < len(self.labels) for at in places)
        if not in_range or len(places) != self.k or len(set(places)) < self.k:
            raise InvalidInput(f"{self.k} different candidates are named, each by its place in the list.")

    def values(self, answer: list[int]) -> Sequence[Any]:
        return ([self.labels[at] for at in answer],)

    def before(self, solution: Solution) -> Before:
        from utmost.theory.selection.top_lists import missed

        average, error = missed(solution.mechanism, self.space)
        return Before(MISSED, average, 1.0, error, holds=recall_in_words(average, "all tallies alike"))

    def confidence(self, solution: Solution, answer: list[int]) -> Confidence:
        return Confidence()

    def confidence_basis(self, of_groups: str, part: str) -> str:
        return GIVEN + part

    def expected_losses(self, solution: Solution) -> dict[str, dict[str, float]]:
        from utmost.theory.selection.design.top_lists import candidates
        from utmost.theory.selection.top_lists import missed

        alternatives = {
            mechanism.name: {MISSED: missed(mechanism, self.space)[0]}
            for mechanism in candidates(self.space, self.k, self.privacy)
        }
        return {"Utmost": {MISSED: solution.value}, **alternatives}


@dataclass(frozen=True, eq=False, kw_only=True)
class Top(Choice):
    """The k most frequent of a public list of candidates, in order.

    Attributes
    ----------
    column : str
        The column.
    k : int
        The length of the list.
    candidates : Bins or tuple
        The candidates, in the order that breaks ties.
    of : "rows" or "people"
        What is counted.
    """

    name = "top"
    summary = "which values of a column are most frequent, in order"
    options: ClassVar = (COLUMN, K, replace(CHOICES, required=False), WHERE, OF, KEYS_EACH)
    people_by_one_row: ClassVar = True

    column: str
    k: int
    candidates: Any
    of: Of = "rows"
    loss: str = MISSED

    def __post_init__(self) -> None:
        super().__post_init__()
        column = as_column(self.column)
        candidates = as_bins(self.candidates) or tuple(as_categories(column, self.candidates))
        if not 1 <= (k := as_k(self.k)) <= len(candidates):
            raise InvalidInput(
                f"k is {k}, and there are {len(candidates)} candidates; name 1 to {len(candidates)} of them."
            )
        self.set_fields(column=column, candidates=candidates, k=k, of=as_of(self.of, self.terms.unit))

    @property
    def words(self) -> str:
        subject = "Which" if self.k == 1 else f"Which {self.k} values of"
        return question_in_words(
            f"{subject} {self.column} {'is' if self.k == 1 else 'are'} most frequent", self.where, self.rows_clause
        )

    @property
    def public(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {"column": self.column, "k": self.k}
        parameters |= {"candidates": public_of(self.candidates), "where": self.where.text, "of": self.of}
        return {"question": self.name, **parameters, "loss": self.loss, "prior": "uniform"}

    @cached_property
    def scores(self) -> CategoryCounts:
        candidate_keys = keys({self.column: as_bins(self.candidates) or list(self.candidates)})
        return CategoryCounts(candidate_keys, self.scope.tallies(len(self.candidates)), self.where)

    @cached_property
    def selection(self) -> TopList:
        tallies = self.scope.tallies(len(self.candidates))
        return TopList(tallies, labels_of(self.candidates), self.k, self.scope.privacy)
