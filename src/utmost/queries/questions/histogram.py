"""Query: how many rows each category of one or two columns has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

from utmost.backends.source import Source, Statement, as_column
from utmost.errors import InvalidInput, shown
from utmost.queries.arguments import plain
from utmost.queries.bins import Bins, as_bins, labels_of, public_of
from utmost.queries.cells import as_categories, category_cells, tally_statement
from utmost.queries.losses import as_loss
from utmost.queries.options import CATEGORIES, COLUMN, OF, OTHER, WHERE
from utmost.queries.questions.aggregates import IN_ONE_GROUP, MORE_GROUPS
from utmost.queries.questions.cell_counts import (
    NOISY_TOTAL,
    TOTAL_NOTE,
    CellCounts,
    NoisyCounts,
    Total,
    total_of,
)
from utmost.queries.questions.question import as_of
from utmost.queries.report.words import question_in_words
from utmost.space.integers import Lattice, Moves

PUBLISHED = "the cells hold every row, so their sum, how many rows there are, is published with them"


@dataclass(frozen=True, eq=False, kw_only=True)
class Histogram(CellCounts):
    """The number of rows of each category; unlisted values are dropped, or counted under the name `other`."""

    name = "histogram"
    summary = "how many rows each category of a column has"
    options: ClassVar = (COLUMN, CATEGORIES, OTHER, WHERE, OF)
    people_by_one_row: ClassVar = True

    categories: Any
    """[(column, [value, ...]), ...]"""
    other: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.set_fields(loss=as_loss(self.loss))
        categories = tuple((as_column(name), as_bins(values) or tuple(values)) for name, values in self.categories)
        other = plain(self.other)
        is_name = isinstance(other, str) and other.strip()
        if other is not None and (not is_name or any(other in labels_of(values) for _, values in categories)):
            raise InvalidInput(
                f"other is {shown(other)}; give a name that is not a category, or None to drop what is unlisted."
            )
        self.set_fields(categories=categories, other=other, of=as_of(self.of, self.terms.unit))
        if len(set(self.names)) < len(self.names):
            second = next(i for i, name in enumerate(self.names) if name in self.names[:i])
            first = self.names.index(self.names[second])  # not the name: the list may be a private column by mistake
            raise InvalidInput(
                f"cells {first + 1} and {second + 1} would have the same name; list every category once, or rename "
                "`other`."
            )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the cells."""
        other_labels = [] if self.other is None else [self.other]
        return tuple(
            ", ".join(label)
            for label in product(*([*map(str, labels_of(values)), *other_labels] for _, values in self.categories))
        )

    @property
    def key_columns(self) -> tuple[str, ...]:
        return (", ".join(name for name, _ in self.categories),)

    @property
    def error_has_law(self) -> bool:
        return True

    @property
    def words(self) -> str:
        columns = " and ".join(name for name, _ in self.categories)
        return question_in_words(f"How many {self.of} are there by {columns}", self.where, self.rows_clause)

    @property
    def one_row_clause(self) -> str:
        return IN_ONE_GROUP

    @property
    def one_row_note(self) -> str:
        return MORE_GROUPS

    @property
    def public(self) -> dict[str, Any]:
        return {
            "question": self.name,
            "categories": [
                [name, public_of(values)] for name, values in self.categories
            ],  # in order, which names cells
            "other": self.other,
            "where": self.where.text,
            "of": self.of,
            "loss": self.loss,
            "prior": "uniform",
            **(NOISY_TOTAL if self.total == "noisy" else {}),
        }

    @property
    def total(self) -> Total:
        """Whether the sum of all cells is published or noisy, if every row is in one of them."""
        return total_of(self.terms, self.other is not None and not self.where and len(self.names) > 1)

    @property
    def workload(self) -> Lattice:
        moves: Moves = "sum-zero" if self.total == "published" else self.terms.moves
        return self.counts_of(len(self.names), moves)

    @cached_property
    def strategy(self) -> NoisyCounts:
        return NoisyCounts(solution=self.solution, names=self.names, counts=self.workload)

    @property
    def notes(self) -> tuple[str, ...]:
        return {"": (), "noisy": (TOTAL_NOTE,), "published": (PUBLISHED,)}[self.total]

    def statement(self, source: Source, secret: bytes) -> Statement:
        cells = category_cells(source, dict(self.categories), self.other is not None)
        return tally_statement(source, self.bounded_unit, self.rows_each, cells, self.where.text, secret)


def _of_column(column: str, categories: Any) -> Any:
    return categories if isinstance(categories, Bins) else as_categories(column, categories)


def as_column_categories(column: Any, categories: Any) -> list[tuple[str, Any]]:
    """Return one or two columns, each with its categories, as a list of pairs."""
    if isinstance(column, str):
        return [(plain(column), _of_column(column, categories))]
    texts = isinstance(column, Sequence) and all(isinstance(name, str) for name in column)
    names = [plain(name) for name in column] if texts else []
    lists = list(categories.values()) if isinstance(categories, Mapping) else categories
    fits = isinstance(lists, Sequence) and not isinstance(lists, str) and len(names) == len(lists)
    if not 1 <= len(names) <= 2 or len(set(names)) < len(names) or not fits:
        raise InvalidInput(
            "a histogram is over one column and its categories, or two columns and a list of categories for each: "
            "histogram(['town', 'agrees'], [['Briar', 'Ash'], ['yes', 'no']], ...)."
        )
    return [(name, _of_column(name, column_categories)) for name, column_categories in zip(names, lists, strict=True)]
