"""The question: how many rows does each category of one or two columns have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

from utmost.backends.source import Source, Statement, as_column
from utmost.errors import InvalidInput, shown
from utmost.queries.arguments import Condition, Of, Privacy, plain
from utmost.queries.bins import Bins, as_bins, labels_of, public_of
from utmost.queries.cells import as_categories, category_cells, tally_statement
from utmost.queries.options import CATEGORIES, COLUMN, OF, OTHER, WHERE
from utmost.queries.predicate import EVERY_ROW, Where
from utmost.queries.questions.by import IN_ONE_GROUP, MORE_GROUPS
from utmost.queries.questions.numbers import TOTAL_NOTE, Vector
from utmost.queries.questions.question import Asks, Made, as_loss, as_of, asking
from utmost.space.integers import Lattice, Moves

if TYPE_CHECKING:
    from utmost.solution import Solution


@dataclass(frozen=True, eq=False, kw_only=True)
class Histogram(Vector):
    """How many rows each category has; values that are not listed are dropped, or counted under the name `other`."""

    name = "histogram"
    summary = "how many rows each category of a column has"
    options: ClassVar = (COLUMN, CATEGORIES, OTHER, WHERE, OF)
    by_one_row: ClassVar = True

    categories: Any
    """[(column, [value, ...]), ...]"""
    other: str | None = None
    where: Where = EVERY_ROW
    of: Of = "rows"

    def __post_init__(self) -> None:
        super().__post_init__()
        listed = tuple((as_column(name), as_bins(values) or tuple(values)) for name, values in self.categories)
        other = plain(self.other)
        named = isinstance(other, str) and other.strip()
        if other is not None and (not named or any(other in labels_of(values) for _, values in listed)):
            raise InvalidInput(
                f"other is {shown(other)}; give a name that is not a category, or None to drop what is unlisted."
            )
        self.settle(categories=listed, other=other, loss=as_loss(self.loss), of=as_of(self.of, self.terms.unit))
        if len(set(self.names)) < len(self.names):
            again = next(i for i, name in enumerate(self.names) if name in self.names[:i])
            first = self.names.index(self.names[again])  # not the name: the list may be a private column by mistake
            raise InvalidInput(
                f"cells {first + 1} and {again + 1} would have the same name; list every category once, or rename "
                "`other`."
            )

    @cached_property
    def names(self) -> tuple[str, ...]:
        more = [] if self.other is None else [self.other]
        return tuple(
            ", ".join(label)
            for label in product(*([*map(str, labels_of(values)), *more] for _, values in self.categories))
        )

    @property
    def key_columns(self) -> tuple[str, ...]:
        return (", ".join(name for name, _ in self.categories),)

    @property
    def words(self) -> str:
        columns = " and ".join(name for name, _ in self.categories)
        return asking(f"How many {self.of} are there by {columns}", self.where, self.kept)

    @property
    def one_row_words(self) -> str:
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
            **self.noisy_total,
        }

    @property
    def holds_every_row(self) -> bool:
        return self.other is not None and not self.where and len(self.names) > 1

    @property
    def space(self) -> Lattice:
        moves: Moves = "sum-zero" if self.same_total else self.terms.moves
        return self.counts_of(len(self.names), moves)

    @property
    def notes(self) -> tuple[str, ...]:
        if self.same_total:
            return ("the cells hold every row, so their sum, how many rows there are, is published with them",)
        return (TOTAL_NOTE,) if self.noisy_total else ()

    def design(self) -> Solution:
        from utmost.theory.vector.design.vectors import best_vector

        return best_vector(self.space, self.privacy, self.loss, alone=True)

    def sketch(self) -> Solution | None:
        from utmost.theory.vector.design.vectors import sketch_vector

        return sketch_vector(self.space, self.privacy, self.loss, alone=True)

    def statement(self, source: Source, secret: bytes) -> Statement:
        cells = category_cells(source, dict(self.categories), self.other is not None)
        return tally_statement(source, self.bounded_unit, self.rows_each, cells, self.where.given, secret)


class AsksHistogram(Asks[Made]):
    """`histogram`, of a session or a plan."""

    def histogram(
        self,
        column: str | Sequence[str],
        categories: Any,
        privacy: Privacy = None,
        *,
        other: str | None = None,
        where: Condition = None,
        of: Of = "rows",
        loss: str = "absolute",
        fresh: bool = False,
    ) -> Made:
        """How many rows (or people) each category of one or two columns has; the answer is a dict.

        Cells are disjoint, so all of them together spend `privacy` once. Counts are unbiased: noisy whole numbers,
        possibly below 0, whose errors have mean 0.

        Parameters
        ----------
        column : str, or list of two
            Whose values are counted.
        categories : list of values, um.bins, or list of two of these
            The public values that have a cell, or the bins that numbers are put into (a bin holds its lower edge and
            not its upper one); never read off the table.
        privacy : level or number
            What all cells together may spend, as for `count`.
        other : str, optional
            A name under which all other values are counted, null included; without it they are dropped.
        where : condition, optional
            Only rows with this condition are counted.
        of : "rows" or "people"
            What is counted. A person with rows in several cells counts in one of them, that of one of their rows chosen
            at random; `count` with ``by=um.keys(...)`` counts them in up to ``um.people(..., groups_each=g)`` groups.
        loss : "absolute", "squared", "zero-one" or such as "within 5"
            What the mechanism is best for: the loss of one cell, averaged over them.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is {category: count}; of two columns, {"first, second": count}.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"town": ["Ash", "Briar", "Ash", None] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> list(s.histogram("town", ["Ash", "Briar"], privacy=1, other="elsewhere").value)
        ['Ash', 'Briar', 'elsewhere']
        >>> table = pyarrow.table({"age": [17, 18, 64, 70] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> list(s.histogram("age", um.bins([0, 18, 65, 120]), privacy=1).value)
        ['[0, 18)', '[18, 65)', '[65, 120)']
        """
        asked = Histogram(
            terms=self.terms,
            privacy=self.level(privacy),
            categories=_listed(column, categories),
            other=other,
            where=self.where(where),
            of=of,
            loss=loss,
        )
        return self.ask(asked, fresh)


def _of_column(column: str, categories: Any) -> Any:
    return categories if isinstance(categories, Bins) else as_categories(column, categories)


def _listed(column: Any, categories: Any) -> list[tuple[str, Any]]:
    """One or two columns with their categories."""
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
    return [(name, _of_column(name, found)) for name, found in zip(names, lists, strict=True)]
