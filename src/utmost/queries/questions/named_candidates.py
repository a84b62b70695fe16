"""Selection of one of several candidates by their numbers of rows: a winner, or a quantile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput
from utmost.privacy import Level
from utmost.queries.accuracy import CONFIDENCE, Before
from utmost.queries.cells import Cells, tally_groups, tally_statement
from utmost.queries.contributions import ones
from utmost.queries.groups import grouped_statement
from utmost.queries.keys import Keys
from utmost.queries.predicate import Where
from utmost.queries.questions.selection import Confidence, Scores, Selection, under_prior
from utmost.queries.units import Unit
from utmost.space.integers import Tallies

if TYPE_CHECKING:
    from utmost.solution import Solution
    from utmost.theory.selection.design.candidates import ChoiceFacts


@dataclass(frozen=True)
class Tally(Scores):
    """The counts of several disjoint cells, such as the rows nearest to each candidate.

    Attributes
    ----------
    cells : callable
        Returns the cells, for a table.
    space : Tallies
        The space of the counts, with its sensitivity.
    where : Where
        Which rows are counted.
    """

    cells: Callable[[Source], Cells]
    space: Tallies
    where: Where

    def statement(self, source: Source, unit: Unit, rows_each: int, secret: bytes) -> Statement:
        return tally_statement(source, unit, rows_each, self.cells(source), self.where.text, secret)

    def statement_by(self, source: Source, unit: Unit, rows_each: int, secret: bytes, keys: Keys) -> Statement:
        contributions = {"rows": ones(source, self.where.text)}
        return grouped_statement(source, unit, rows_each, keys, contributions, secret, within=self.cells(source))

    def point(self, engine_result: Mapping[str, int]) -> Any:
        """The exact counts, each clamped to the most rows there can be; clamping keeps the sensitivity."""
        return [min(max(engine_result[f"c{i}"], 0), self.space.rows) for i in range(self.space.cells)]

    def points(self, engine_result: Mapping[str, Any], keys: Keys) -> Any:
        return np.clip(engine_result["rows"], 0, self.space.rows).reshape(keys.size, self.space.cells)


@dataclass(frozen=True)
class LongTally(Tally):
    """The same for up to a million cells; the engine lists only cells with rows."""

    def statement(self, source: Source, unit: Unit, rows_each: int, secret: bytes) -> Statement:
        return tally_groups(source, unit, rows_each, self.cells(source), self.where.text, secret)

    def point(self, engine_result: Mapping[str, Any]) -> Any:
        return np.clip(engine_result["rows"], 0, self.space.rows)


@dataclass(frozen=True, eq=False)
class NamedCandidate(Selection):
    """The selection of one of several candidates.

    Attributes
    ----------
    space : Tallies
        The space of the counts, with its sensitivity.
    labels : sequence
        The names of the candidates, in order.
    privacy : Level
        The privacy level of the answer.
    loss : str
        The loss that the mechanism is designed for.
    prior : dict or None
        The probability of each tally; None is uniform.
    """

    label: ClassVar = "place"
    answer_type: ClassVar = int

    space: Tallies
    labels: Sequence[Any]
    privacy: Level
    loss: str
    prior: Mapping[Any, float] | None

    @property
    def problem_data(self) -> dict[str, Any]:
        return {"loss": self.loss, "prior": self.prior}

    def require(self, answer: Any) -> None:
        if type(answer) is not int or not 0 <= answer < len(self.labels):
            raise InvalidInput("what is released is the place of a candidate.")

    def values(self, answer: int) -> tuple[Any]:
        return (self.labels[answer],)

    def facts(self, solution: Solution) -> ChoiceFacts:
        """The expected losses of the selection, and the confidence of each answer."""
        from utmost.design.rainbow import choice_facts

        return choice_facts(solution)

    def before(self, solution: Solution) -> Before:
        from utmost.theory.selection.tally_averages import TRIED

        facts = self.facts(solution)
        average = facts.expected[self.loss]
        holds = f"average: {facts.basis}; worst: {facts.worst_among}"
        worst_among = facts.worst_among if facts.worst_among == TRIED else ""
        return Before(self.loss, average.value, facts.worst, average.error, worst_among, holds)

    def confidence(self, solution: Solution, answer: int) -> Confidence:
        facts = self.facts(solution)
        chance, rows = facts.right(answer), facts.within(CONFIDENCE)
        if chance is None:
            return Confidence(rows_within=rows)
        return Confidence(right=chance.value, error=chance.error, rows_within=rows)

    def confidence_basis(self, of_groups: str, part: str) -> str:
        return under_prior(self.prior, of_groups, part)

    def expected_losses(self, solution: Solution) -> dict[str, dict[str, float]]:
        facts = self.facts(solution)
        ours = {loss: estimate.value for loss, estimate in facts.expected.items()}
        alternatives = {
            name: {loss: estimate.value for loss, estimate in losses.items()}
            for name, losses in facts.compared.items()
            if name != solution.certificate.method
        }
        return {"Utmost": ours, **alternatives}
