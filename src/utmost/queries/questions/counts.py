"""The question: how many rows have each of several conditions, which may overlap.

Where the conditions' own text shows that no row has two of them, or that they lie inside each other, the noise is made
for that: much less than overlapping counts need.

**People** count in every condition that one of their rows fulfils, whichever rows these are. So a person who comes or
goes moves every count by at most 1, any of them at once and all in one direction; one who is replaced moves each up,
down or not at all. Conditions that no row has two of are no exception: one row has the first, another the second. Where
a condition implies the next one, a person who has the first has the next, too: then each person is in one cell at
most, that of the innermost condition that a row of theirs fulfils.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput
from utmost.queries.cells import condition_cells, people_in_first_cell, tally_statement
from utmost.queries.contributions import ones, people_with_any, statement
from utmost.queries.options import CONDITIONS, OF
from utmost.queries.predicate import Where, where_from_text
from utmost.queries.predicate.relations import OVERLAPPING, Relation, relation
from utmost.queries.questions.cell_counts import (
    NOISY_TOTAL,
    TOTAL_NOTE,
    CellCounts,
    CellStrategy,
    NoisyCounts,
    Total,
    total_of,
)
from utmost.queries.questions.nested import MAY_FALL, nested_strategy, running_counts
from utmost.queries.questions.question import as_loss, as_of
from utmost.space.integers import Lattice, Moves

if TYPE_CHECKING:
    from utmost.design.workload import Workload

MOST_CONDITIONS = 100
DISJOINT = "no row has two of these conditions, as their text shows: the noise is that of a histogram"
COMPLETE = "every row has one of these conditions, so their sum, how many rows there are, is published with them"


@dataclass(frozen=True, eq=False, kw_only=True)
class Counts(CellCounts):
    """How many rows, or people, have each condition; one row may have all of them."""

    name = "counts"
    summary = "how many rows have each of several conditions"
    options: ClassVar = (CONDITIONS, OF)

    conditions: Mapping[str, Where]
    one_row: bool = False
    """Of people: whether one row of each was used, as before version 0.3; a report may say so."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.set_fields(loss=as_loss(self.loss))
        listed = {name: where_from_text(w) if isinstance(w, str) else w for name, w in dict(self.conditions).items()}
        if not 1 <= len(listed) <= MOST_CONDITIONS:
            raise InvalidInput(
                f"there are {len(listed)} conditions; give 1 to {MOST_CONDITIONS}: all of them share one level."
            )
        self.set_fields(conditions=listed, of=as_of(self.of, self.terms.unit))

    @property
    def names(self) -> tuple[str, ...]:
        """What the counts are called."""
        return tuple(self.conditions)

    @property
    def words(self) -> str:
        conditions = "; ".join(map(str, self.conditions.values()))
        return f"How many {self.of}{self.rows_clause_mid_sentence} have each of: {conditions}?"

    @property
    def public(self) -> dict[str, Any]:
        texts = {name: where.text for name, where in self.conditions.items()}
        parameters = {"question": self.name, "conditions": texts, "of": self.of, "loss": self.loss, "prior": "uniform"}
        by_any_row = {"one_row": False} if self.by_any_row else {}
        return {**parameters, **by_any_row, **(NOISY_TOTAL if self.total == "noisy" else {})}

    @property
    def by_any_row(self) -> bool:
        """Whether people count in every condition that a row of theirs fulfils."""
        return self.of_people and not self.one_row

    @property
    def uses_one_row_each(self) -> bool:
        return self.of_people and self.one_row

    @cached_property
    def relation(self) -> Relation:
        """How the conditions lie to each other, from their text: of rows, or of people, who have several rows."""
        texts = [where.text for where in self.conditions.values() if where.text is not None]
        of_rows = relation(texts) if len(texts) > 1 else OVERLAPPING
        return OVERLAPPING if self.by_any_row and of_rows.kind == "disjoint" else of_rows

    @property
    def chain(self) -> tuple[str, ...]:
        """The names of nested counts, the innermost first; empty where they are not nested."""
        return tuple(self.names[place] for place in self.relation.chain)

    @property
    def total(self) -> Total:
        """Whether the sum of all counts is published, where every row has exactly one of the conditions."""
        return total_of(self.terms, self.relation.complete)

    @property
    def lattice(self) -> Lattice:
        """Disjoint counts, the cells between nested ones, or counts that overlap, and what one neighbour adds to them.

        A row that comes or goes moves overlapping counts all in one direction; one that is replaced moves each up,
        down or not at all.
        """
        moves: Moves = self.terms.moves
        if self.relation.kind == "overlapping":
            moves = "cube" if self.terms.neighbours == "replace" else "one-way"
        elif self.relation.kind == "disjoint" and self.total == "published":
            moves = "sum-zero"
        return self.counts_of(len(self.names), moves)

    @property
    def workload(self) -> Lattice | Workload:
        return running_counts(self.lattice, self.loss) if self.chain else self.lattice

    @cached_property
    def strategy(self) -> CellStrategy:
        if self.chain:
            return nested_strategy(self.solution, self.names, self.chain, self.lattice)
        return NoisyCounts(solution=self.solution, names=self.names, counts=self.lattice)

    @property
    def notes(self) -> tuple[str, ...]:
        if self.relation.kind != "disjoint":
            return tuple(note + MAY_FALL for note in super().notes)
        return (DISJOINT, *{"": (), "noisy": (TOTAL_NOTE,), "published": (COMPLETE,)}[self.total])

    def statement(self, source: Source, secret: bytes) -> Statement:
        if self.relation.kind == "overlapping":
            rows = {f"c{i}": ones(source, where.given) for i, where in enumerate(self.conditions.values())}
            if self.by_any_row:
                return people_with_any(source, self.bounded_unit, rows)
            return statement(source, self.bounded_unit, self.rows_each, rows, secret)
        wheres = [self.conditions[name].given for name in self.chain or self.names]
        cells = condition_cells(source, wheres, self.total == "published")
        if self.by_any_row:
            return people_in_first_cell(source, self.bounded_unit, cells)
        return tally_statement(source, self.bounded_unit, self.rows_each, cells, None, secret)
