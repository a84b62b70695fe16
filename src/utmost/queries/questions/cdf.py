"""The question: how many rows lie at or below each of several edges (a cumulative distribution).

Released are the rows between one edge and the next, which no row is in twice, with noise of their own; a count is their
sum. A hundred edges at epsilon = 1 err by 7 rows on average, where noise on the counts themselves errs by 35.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

from utmost.backends.source import Source, Statement, as_column
from utmost.errors import InvalidInput, shown
from utmost.queries.accuracy import After
from utmost.queries.arguments import Condition, Of, Privacy, listed, plain
from utmost.queries.bins import Bins
from utmost.queries.cells import EXACT, edge_cells, tally_statement
from utmost.queries.options import COLUMN, EDGES, OF, WHERE
from utmost.queries.predicate import EVERY_ROW, Where
from utmost.queries.questions.nested import Nested, increasing
from utmost.queries.questions.question import Asks, Made, as_loss, as_of, asking

MOST_EDGES = 1000
EDGES_NOTE = (
    "people with rows on both sides of an edge are counted by one of them; counts([...], of='people') counts everybody "
    "who has such a row"
)
INCREASING = (
    "where noisy counts fall, neighbours take their mean, so that they increase; errors are stated without that"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Cdf(Nested):
    """How many rows lie at or below each edge; rows without a value, and above the last edge, are in no count."""

    name = "cdf"
    summary = "how many rows lie at or below each of several edges"
    options: ClassVar = (COLUMN, EDGES, WHERE, OF)
    by_one_row: ClassVar = True

    column: str
    edges: Any
    where: Where = EVERY_ROW
    of: Of = "rows"
    monotone: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.monotone, bool):
            raise InvalidInput(f"monotone is {shown(self.monotone)}; say False for the noisy counts themselves.")
        self.settle(column=as_column(self.column), edges=_edges(self.edges))
        self.settle(loss=as_loss(self.loss), of=as_of(self.of, self.terms.unit))

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(f"<= {edge}" for edge in self.edges)

    @property
    def key_columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def words(self) -> str:
        first, last = self.edges[0], self.edges[-1]
        at = f"each of {len(self.edges)} edges from {first} to {last}" if len(self.edges) > 1 else f"{first}"
        return asking(f"How many {self.of} have {self.column} at or below {at}", self.where, self.kept)

    @property
    def one_row_note(self) -> str:
        return EDGES_NOTE

    @property
    def public(self) -> dict[str, Any]:
        asked: dict[str, Any] = {"column": self.column, "edges": list(self.edges)}
        asked |= {"where": self.where.text, "of": self.of, "monotone": self.monotone}
        return {"question": self.name, **asked, "loss": self.loss, "prior": "uniform"}

    def value(self, released: Mapping[str, Any]) -> Any:
        found = self.noisy(released)
        return dict(zip(found, increasing(list(found.values())), strict=True)) if self.monotone else found

    def after(self, released: Mapping[str, Any]) -> After:
        """Around the noisy counts, which the law of the noise is about; wide enough to hold the one shown."""
        found, shown_counts = super().after(released), self.value(released)
        held = {
            name: (min(low, shown_counts[name]), max(high, shown_counts[name]))
            for name, (low, high) in found.intervals.items()
        }
        return After(held, given=found.given)

    @property
    def notes(self) -> tuple[str, ...]:
        return (INCREASING, *super().notes) if self.monotone else super().notes

    def statement(self, source: Source, secret: bytes) -> Statement:
        cells = edge_cells(source, self.column, self.edges)
        return tally_statement(source, self.bounded_unit, self.rows_each, cells, self.where.given, secret)


class AsksCdf(Asks[Made]):
    """`cdf`, of a session or a plan."""

    def cdf(
        self,
        column: str,
        edges: Any,
        privacy: Privacy = None,
        *,
        where: Condition = None,
        of: Of = "rows",
        monotone: bool = True,
        loss: str = "absolute",
        fresh: bool = False,
    ) -> Made:
        """How many rows (or people) have a value at or below each edge; the answer is a dict.

        The rows between neighbouring edges are disjoint, so all of them together spend `privacy` once; they get noise
        and are added up (or the counts themselves get it, where that errs less: few edges, rows replaced). Then counts
        that fall are made to increase; with ``monotone=False`` they are unbiased instead.

        With eight edges or more, weighted sums of cells are tried, too, and taken where they err less: a tree (up to
        128 edges), and at Gaussian levels the best factorisation (up to 256): a hundred edges at mu = 1 err by 1.8,
        where cells added up err by 5.5.

        Parameters
        ----------
        column : str
            A column of numbers, or of text that is read as numbers. Values are compared as floating-point numbers.
        edges : list of numbers, or um.bins
            At most 1000 public numbers in increasing order; never read off the table. ``um.bins(0, 100, 5)`` stands for
            its edges 0, 5, ..., 100.
        privacy : level or number
            What all counts together may spend, as for `count`.
        where : condition, optional
            Only rows with this condition are counted.
        of : "rows" or "people"
            What is counted. A person is counted by one of their rows chosen at random; `counts` with ``of="people"``
            counts everybody who has a row at or below an edge.
        monotone : bool
            Counts are made to increase: where noisy ones fall, neighbours take their mean. That makes errors smaller on
            the whole, and no longer of mean 0; False gives the noisy counts themselves.
        loss : "absolute", "squared", "zero-one" or such as "within 5"
            What the mechanism is best for: the loss of one count, averaged over them.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is {"<= edge": count}, `answer.intervals` holds each true count with 95 %, and
            `answer.released` the cells where these are added up.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> list(s.cdf("age", [20, 40, 60, 80], privacy=1).value)
        ['<= 20', '<= 40', '<= 60', '<= 80']
        """
        asked = Cdf(
            terms=self.terms,
            privacy=self.level(privacy),
            column=column,
            edges=edges,
            where=self.where(where),
            of=of,
            monotone=monotone,
            loss=loss,
        )
        return self.ask(asked, fresh)


def _edges(edges: Any) -> tuple[Any, ...]:
    given = edges.edges if isinstance(edges, Bins) else listed(edges)
    values = [plain(x) for x in given] if isinstance(given, Sequence) and not isinstance(given, str) else []
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) and abs(x) < EXACT for x in values)
    if len(values) > MOST_EDGES:
        raise InvalidInput(f"there are {len(values)} edges; give at most {MOST_EDGES}.")
    if not numbers or not values or any(a >= b for a, b in pairwise(values)):
        raise InvalidInput(
            f"edges is {shown(edges)}; give 1 to {MOST_EDGES} public numbers below 2^53 in increasing order, such as "
            "edges=[20, 40, 60]."
        )
    return tuple(values)
