"""The question: how many people have how many rows, in public bins; before any truncation.

Each person is in one bin, so the noise is that of a histogram of people, however many rows anybody has. With it one can
choose `rows_each`: `session.suggest_rows_each` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput
from utmost.exact import as_whole
from utmost.queries.arguments import Condition, Privacy
from utmost.queries.contributions import with_ids
from utmost.queries.expressions import values as made
from utmost.queries.expressions.values import Expression, literal
from utmost.queries.options import ANY_CONDITION, LARGEST
from utmost.queries.predicate import EVERY_ROW, Where
from utmost.queries.questions.numbers import Vector
from utmost.queries.questions.question import Asks, Made, as_loss, asking
from utmost.space.integers import Lattice

MOST_LARGEST = 10**9
DEFAULT_LARGEST = 1000
ROUND = (10, 12, 15, 20, 25, 30, 40, 50, 60, 80)


def numbers_of_rows(largest: int) -> tuple[int, ...]:
    """The public numbers of rows at which bins end: 1, 2, 3, then each at most a third above the last.

    Examples
    --------
    >>> numbers_of_rows(110)
    (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 110)
    """
    tens = (times * 10**power // 10 for power in range(1, len(str(largest)) + 1) for times in ROUND)
    return (*(number for number in (*range(1, 7), 8, *tens) if number < largest), largest)


@dataclass(frozen=True, eq=False, kw_only=True)
class RowsPerPerson(Vector):
    """How many people have how many rows with a condition.

    Attributes
    ----------
    where : which rows are counted
    largest : the last bin is of people with more rows than this
    """

    name = "rows_per_person"
    summary = "how many people have how many rows"
    options: ClassVar = (ANY_CONDITION, LARGEST)
    of: ClassVar = "people"

    where: Where = EVERY_ROW
    largest: int = DEFAULT_LARGEST

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.terms.unit.id is None:
            raise InvalidInput("every row is a unit of its own here; ask how many rows people have of um.people(...).")
        self.settle(largest=as_whole(self.largest, "largest", 1, MOST_LARGEST), loss=as_loss(self.loss))

    @property
    def ends(self) -> tuple[int, ...]:
        """The largest number of rows of every bin but the last."""
        return numbers_of_rows(self.largest)

    @property
    def names(self) -> tuple[str, ...]:
        starts = (before + 1 for before in (0, *self.ends))
        each = (
            str(end) if start == end else f"{start} to {end}" for start, end in zip(starts, self.ends, strict=False)
        )
        return (*each, f"more than {self.largest}")

    @property
    def key_columns(self) -> tuple[str, ...]:
        return ("rows",)

    @property
    def words(self) -> str:
        unit = self.terms.unit
        return asking(f"How many people by {unit.id} have how many rows, none of them dropped", self.where)

    @property
    def public(self) -> dict[str, Any]:
        asked = {"question": self.name, "where": self.where.text, "largest": self.largest}
        return {**asked, "loss": self.loss, "prior": "uniform"}

    @property
    def space(self) -> Lattice:
        return self.counts_of(len(self.names), self.terms.moves)

    def design(self) -> Any:
        from utmost.theory.vector.design.vectors import best_vector

        return best_vector(self.space, self.privacy, self.loss, alone=True)

    def sketch(self) -> Any:
        from utmost.theory.vector.design.vectors import sketch_vector

        return sketch_vector(self.space, self.privacy, self.loss, alone=True)

    def statement(self, source: Source, secret: bytes) -> Statement:
        people = with_ids(source, self.terms.unit, {}, self.where.given).aggregate(["who"], rows=made.count())
        rows, edges = people["rows"], (0, *self.ends)

        def between(low: int, high: int | None) -> Expression:
            above = made.compare(">", rows, literal(low))
            return above if high is None else above & made.compare("<=", rows, literal(high))

        bins = [*(between(low, high) for low, high in pairwise(edges)), between(self.largest, None)]
        sums = {f"c{i}": made.total(made.where(inside, literal(1), literal(0))) for i, inside in enumerate(bins)}
        return source.statement(people.aggregate(**sums))


class AsksRowsPerPerson(Asks[Made]):
    """`rows_per_person`, of a session or a plan."""

    def rows_per_person(
        self,
        where: Condition = None,
        privacy: Privacy = None,
        *,
        largest: int = DEFAULT_LARGEST,
        loss: str = "absolute",
        fresh: bool = False,
    ) -> Made:
        """How many people have how many rows with a condition, in bins: 1, 2, ..., 6, 7 to 8, 9 to 10, 11 to 12, ...

        All rows are counted, before truncation. A person is in one bin, so all bins together spend `privacy` once, and
        the noise does not grow with the rows of anybody. Counts are unbiased: noisy whole numbers, possibly below 0.
        `session.suggest_rows_each` makes a suggestion for `rows_each` of it.

        Parameters
        ----------
        where : condition, optional
            Only rows with this condition are counted; people without any are in no bin.
        privacy : level or number
            What all bins together may spend, as for `count`.
        largest : int
            The last bin is of people with more rows than this; a public number.
        loss : "absolute", "squared", "zero-one" or such as "within 5"
            What the mechanism is best for: the loss of one bin, averaged over them.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is {number of rows: people}.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"who": [1] * 9 + [2, 3, 4, 4]})
        >>> s = um.Session(table, "flights", um.people("who", rows_each=3), "add-remove", budget=40)
        >>> s.rows_per_person(privacy=40, largest=10).value
        {'1': 2, '2': 1, '3': 0, '4': 0, '5': 0, '6': 0, '7 to 8': 0, '9 to 10': 1, 'more than 10': 0}
        """
        return self.pose(RowsPerPerson, privacy, where, fresh, largest=largest, loss=loss)
