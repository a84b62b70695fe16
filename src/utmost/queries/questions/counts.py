"""Query: how many rows meet each of several conditions, which may overlap.

If the text of the conditions shows that they are disjoint, or nested, the noise is calibrated to that: much less than
overlapping counts need.

**People** count in every condition that any of their rows meets. So adding or removing a person changes every count by
at most 1, any of them at once and all in the same direction; replacing one changes each by -1, 0 or 1. This also holds
for conditions that are disjoint by row: different rows of a person may meet different ones. If conditions are nested, a
person who meets one meets all later ones, too: then each person is in at most one cell, that of the innermost condition
that any of their rows meets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput, shown
from utmost.queries.arguments import plain
from utmost.queries.cells import condition_cells, people_in_first_cell, tally_statement
from utmost.queries.contributions import ones, people_with_any, statement
from utmost.queries.losses import as_loss
from utmost.queries.options import CONDITIONS, OF
from utmost.queries.predicate import Where, as_where, where_from_text
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
from utmost.queries.questions.question import as_of
from utmost.space.integers import Lattice, Moves

if TYPE_CHECKING:
    from utmost.design.workload import Workload

MOST_CONDITIONS = 100
DISJOINT = "no row has two of these conditions, as their text shows: the noise is that of a histogram"
COMPLETE = "every row has one of these conditions, so their sum, how many rows there are, is published with them"


@dataclass(frozen=True, eq=False, kw_only=True)
class Counts(CellCounts):
    """The number of rows, or people, that meet each condition; a row may meet several."""

    name = "counts"
    summary = "how many rows have each of several conditions"
    options: ClassVar = (CONDITIONS, OF)

    conditions: Mapping[str, Where]
    one_row: bool = False
    """For people: whether they are counted by one random row each, as before version 0.3; a report may say so."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.set_fields(loss=as_loss(self.loss))
        conditions = {
            name: where_from_text(w) if isinstance(w, str) else w for name, w in dict(self.conditions).items()
        }
        if not 1 <= len(conditions) <= MOST_CONDITIONS:
            raise InvalidInput(
                f"there are {len(conditions)} conditions; give 1 to {MOST_CONDITIONS}: all of them share one level."
            )
        self.set_fields(conditions=conditions, of=as_of(self.of, self.terms.unit))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the counts."""
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
        """Whether people count in every condition that any of their rows meets."""
        return self.of_people and not self.one_row

    @property
    def uses_one_row_each(self) -> bool:
        return self.of_people and self.one_row

    @cached_property
    def relation(self) -> Relation:
        """Whether the conditions are disjoint, nested or overlapping, by their text; of rows, or of people."""
        texts = [where.text for where in self.conditions.values() if where.text is not None]
        of_rows = relation(texts) if len(texts) > 1 else OVERLAPPING
        return OVERLAPPING if self.by_any_row and of_rows.kind == "disjoint" else of_rows

    @property
    def chain(self) -> tuple[str, ...]:
        """The names of nested counts, the innermost first; empty if they are not nested."""
        return tuple(self.names[place] for place in self.relation.chain)

    @property
    def total(self) -> Total:
        """Whether the sum of all counts is published or noisy, if every row meets exactly one of the conditions."""
        return total_of(self.terms, self.relation.complete)

    @property
    def lattice(self) -> Lattice:
        """The space of disjoint counts, of the cells between nested ones, or of overlapping counts.

        A row that is added or removed changes overlapping counts all in one direction; one that is replaced changes
        each by -1, 0 or 1.
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
            rows = {f"c{i}": ones(source, where.text) for i, where in enumerate(self.conditions.values())}
            if self.by_any_row:
                return people_with_any(source, self.bounded_unit, rows)
            return statement(source, self.bounded_unit, self.rows_each, rows, secret)
        wheres = [self.conditions[name].text for name in self.chain or self.names]
        cells = condition_cells(source, wheres, self.total == "published")
        if self.by_any_row:
            return people_in_first_cell(source, self.bounded_unit, cells)
        return tally_statement(source, self.bounded_unit, self.rows_each, cells, None, secret)


def named_conditions(conditions: Any, source: Source) -> dict[str, Where]:
    """Conditions by name: as they are named, or by their own text."""
    is_mapping = isinstance(conditions, Mapping)
    if not is_mapping and (isinstance(conditions, str) or not isinstance(conditions, Sequence)):
        raise InvalidInput(f"conditions is {shown(conditions)}; list them, such as ['age >= 65', \"town = 'Briar'\"].")
    listed = list(conditions.values() if is_mapping else conditions)
    if any(condition is None for condition in listed):
        raise InvalidInput(
            "a condition is None; name the rows it is about, or count all rows with session.count(None)."
        )
    wheres = [as_where(condition, source) for condition in listed]
    texts = (text.strip() if isinstance(text, str) else str(where) for text, where in zip(listed, wheres, strict=True))
    names = [plain(name) for name in conditions] if is_mapping else list(texts)
    if not all(isinstance(name, str) and name.strip() for name in names):
        raise InvalidInput("a condition's name is no text; name each by a text, such as {'old': 'age >= 65'}.")
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InvalidInput(f"{shown(twice)} is listed twice; list every condition once.")
    return dict(zip(names, wheres, strict=True))
