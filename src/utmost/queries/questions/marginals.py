"""The question: how many rows each combination of some columns has, for many sets of columns at once.

Tables of one publication that are asked one by one disagree about the same total. Here all wanted tables are made of
one set of released tables by least squares, so a number that several of them imply is the same in all: as fractions,
exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput, shown
from utmost.queries.accuracy import BY_LAW, CONFIDENCE, After, Before
from utmost.queries.arguments import Condition, Privacy
from utmost.queries.groups import marginal_statement
from utmost.queries.keys import MOST_CELLS, Keys, named
from utmost.queries.options import Option
from utmost.queries.predicate import EVERY_ROW, Where
from utmost.queries.questions.of_workload import OUTSIDE, OfWorkload
from utmost.queries.questions.question import Asks, Made, asking
from utmost.queries.units import MOST_ROWS
from utmost.space.integers import CentredTables, Moves, Tables
from utmost.theory.workload.marginal_algebra import centred

if TYPE_CHECKING:
    import pyarrow

    from utmost.design.workload import Workload
    from utmost.theory.workload.problem import Margins

ALL: Any = ...
"""Stands in a key for a column over which is summed."""
MOST_NAMED = 12
"""How many released tables a plan names."""
CENTRED = " (centred: n times each of the n numbers along a column, less their sum)"
EXAMPLE = "um.keys(town=['Ash', 'Briar'], agrees=[True, False])"


@dataclass(frozen=True, eq=False, kw_only=True)
class Agreeing(OfWorkload):
    """Several tables of counts of the same rows that agree with each other, made of released tables.

    Attributes
    ----------
    by : the public values of every column
    where : which rows take part
    """

    options: ClassVar[tuple[Option, ...]] = ()  # the command does not ask by keys
    loss: ClassVar[str] = "squared"

    by: Keys
    where: Where = EVERY_ROW

    @property
    def wanted(self) -> dict[Any, tuple[str, ...]]:
        """The columns of every wanted table, by what the table is known as."""
        raise NotImplementedError

    @property
    def keys_of(self) -> dict[Any, list[tuple[Any, ...]]]:
        """The keys of every wanted table: a value for each column, `...` where the column is summed over."""
        raise NotImplementedError

    @property
    def workload(self) -> str:
        """What is wanted, in the words of the solution."""
        raise NotImplementedError

    @property
    def half_widths(self) -> dict[Any, Any]:
        """How far off the numbers of a table are at most, with 95 %."""
        raise NotImplementedError

    @property
    def mean_sizes(self) -> dict[Any, Any]:
        """How far off the numbers of a table are on average."""
        raise NotImplementedError

    @property
    def _released_names(self) -> list[str]:
        raise NotImplementedError

    def _estimated(self, drawn: list[Any]) -> dict[Any, Any]:
        """The wanted tables, made of those that were drawn."""
        raise NotImplementedError

    def _whole(self, estimates: dict[Any, Any]) -> dict[Any, Any]:
        """Whole numbers near to estimates."""
        raise NotImplementedError

    @property
    def identity(self) -> dict[str, Any]:
        return {**self.public, "by": {"columns": list(self.by.names), "keys": self.by.fingerprint}}

    @property
    def moves(self) -> Moves:
        """What one row does to every table."""
        return "any" if self.terms.neighbours == "add-remove" else "exchange"

    @property
    def posed(self) -> dict[str, Any]:
        return {**super().posed, "workload": self.workload}

    @property
    def average(self) -> float:
        return float(np.concatenate(list(self.mean_sizes.values())).mean())

    def _stated(self, worst_squared: float, holds: str) -> Before:
        """The expected absolute error, then the squared one that the noise is designed for."""
        worst = max(float(sizes.max()) for sizes in self.mean_sizes.values())
        return Before("absolute", self.average, worst, holds=holds, squared=(self.solution.value, worst_squared))

    @property
    def proved_of(self) -> str:
        return "the variance of one number"

    @property
    def workload_of(self) -> Workload:
        """What is wanted: tables, or a tree."""
        from utmost.design.workload import Workload

        kind: Any = self.name
        return Workload(kind, self.workload, self.moves, self.rows_moved, self.most_rows)

    def released(self, drawn: Any) -> dict[str, Any]:
        return {name: np.asarray(table).tolist() for name, table in zip(self._released_names, drawn, strict=True)}

    def _estimates(self, released: Mapping[str, Any]) -> dict[Any, Any]:
        drawn, space = [], self.space
        assert isinstance(space, Tables | CentredTables)
        for name, size in zip(self._released_names, space.sizes, strict=True):
            listed = released[name]
            if not isinstance(listed, list) or len(listed) != size or not all(type(x) is int for x in listed):
                raise InvalidInput(f"the table {name} has {size} cells, and as many whole numbers must be released.")
            drawn.append(np.array(listed, dtype=object))
        return self._estimated(drawn)

    def value(self, released: Mapping[str, Any]) -> dict[Any, Fraction]:
        return self._by_key(self._estimates(released))

    def rounded(self, released: Mapping[str, Any]) -> dict[Any, int]:
        """Whole numbers, none below 0, that agree with each other: an extra, biased near 0."""
        return self._by_key(self._whole(self._estimates(released)))

    def _by_key(self, tables: Mapping[Any, Any]) -> dict[Any, Any]:
        return {
            key: number
            for each, keys in self.keys_of.items()
            for key, number in zip(keys, np.asarray(tables[each]).ravel().tolist(), strict=True)
        }

    def after(self, released: Mapping[str, Any]) -> After:
        numbers, widths = self._by_key(self._estimates(released)), self._by_key(self.half_widths)
        ends = {key: (float(n) - widths[key], float(n) + widths[key]) for key, n in numbers.items()}
        return After(
            {key: (max(0.0, low), max(0.0, high)) for key, (low, high) in ends.items()}, given=BY_LAW + self.not_in_it
        )

    @property
    def _rows_counted(self) -> tuple[int | None, ...]:
        """What a row counts as in every released table; None in one whose numbers are differences."""
        raise NotImplementedError

    def near_limit(self, released: Mapping[str, Any], after: After) -> bool:
        """Whether a released number of rows is within its noise's 95 % of the most rows there can be."""
        if self.most_rows is None:
            return False
        tables = zip(self._released_names, self._rows_counted, self.solution.mechanism.laws, strict=True)
        return any(
            max(released[name]) + law.half_width(CONFIDENCE) >= self.most_rows * row
            for name, row, law in tables
            if row is not None
        )

    @property
    def key_columns(self) -> tuple[str, ...]:
        return self.by.names

    def plain_value(self, value: Any) -> Any:
        return [
            {"columns": list(self.wanted[each]), "numbers": [str(value[key]) for key in keys]}
            for each, keys in self.keys_of.items()
        ]

    def plain_intervals(self, intervals: Mapping[Any, tuple[Any, Any]]) -> Any:
        return [
            {"columns": list(names), "within": np.unique(self.half_widths[each]).tolist()}
            for each, names in self.wanted.items()
        ]

    def table(self, released: Mapping[str, Any]) -> pyarrow.Table:
        """One row for every number: of which columns, their values (null where summed over), and its interval."""
        import pyarrow

        numbers, ends = self.value(released), self.after(released).intervals
        keys = list(numbers)
        of = [" × ".join(self.wanted[each]) or "all" for each, listed in self.keys_of.items() for _ in listed]
        columns: dict[str, Any] = {"columns": of}
        for i, (name, values) in enumerate(self.by.columns):
            kind = pyarrow.string() if self.by.other is not None else values.type
            columns[name] = pyarrow.array([None if key[i] is ALL else key[i] for key in keys], kind)
        columns["value"] = [float(number) for number in numbers.values()]
        columns["lower"], columns["upper"] = [ends[key][0] for key in keys], [ends[key][1] for key in keys]
        return pyarrow.table(columns)

    def _values(self) -> list[list[Any]]:
        """The public values of every column, `other` included."""
        more = [] if self.by.other is None else [self.by.other]
        return [values.to_pylist() + more for _, values in self.by.columns]


@dataclass(frozen=True, eq=False, kw_only=True)
class Marginals(Agreeing):
    """How many rows each combination of values has, in the tables of several sets of columns; they agree exactly.

    Attributes
    ----------
    tables : the wanted sets of columns, each by their names
    """

    name = "marginals"
    summary = "how many rows each combination has, in many tables that agree with each other"

    tables: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.by, Keys) or not self.by.product:
            raise InvalidInput(f"the keys are {shown(self.by)}; list the public values of every column: {EXAMPLE}.")
        self.settle(tables=_as_tables(self.tables, self.by.names))
        cells = sum(np.prod([self.shape[i] for i in each], dtype=float) for each in self.published)
        if cells > MOST_CELLS:
            raise InvalidInput(
                f"the tables have {cells:,.0f} cells; at most {MOST_CELLS:,} are answered at once. Ask for fewer "
                "tables, or list fewer values."
            )

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """How many values each column has."""
        return tuple(len(values) + (self.by.other is not None) for _, values in self.by.columns)

    @cached_property
    def published(self) -> tuple[tuple[int, ...], ...]:
        """The wanted tables, by the places of their columns."""
        return tuple(tuple(self.by.names.index(name) for name in each) for each in self.tables)

    @cached_property
    def workload(self) -> str:
        """What is wanted, in the words of the solution."""
        from utmost.theory.workload.marginal_algebra import write_workload

        return write_workload(self.shape, self.published)

    @property
    def words(self) -> str:
        listed = "; ".join(" by ".join(each) or "in all" for each in self.tables[:10])
        more = f" and {len(self.tables) - 10} more tables" if len(self.tables) > 10 else ""
        return asking(f"How many rows are there: {listed}{more}", self.where, self.kept)

    @property
    def public(self) -> dict[str, Any]:
        tables = [list(each) for each in self.tables]
        where = {"tables": tables, "by": self.by.public, "where": self.where.text}
        return {"question": self.name, **where, "loss": self.loss, "prior": "uniform"}

    @property
    def space(self) -> Tables | CentredTables:
        return self.margins.space(self.moves, self.rows_moved, self.most_rows)

    @cached_property
    def margins(self) -> Margins:
        """How wanted tables are made of released ones; from a report, the solution may be anything."""
        from utmost.theory.workload.problem import margins_of

        return margins_of(self.solution.problem.data, self.solution.mechanism)

    @cached_property
    def read(self) -> tuple[tuple[int, ...], ...]:
        """The tables that the engine counts: the wanted ones that lie within no other; the rest are sums of these."""
        wanted = self.published
        return tuple(each for each in wanted if not any(set(each) < set(other) for other in wanted))

    def statement(self, source: Source, secret: bytes) -> Statement:
        arguments = (self.by, self.read, self.where.given)
        return marginal_statement(source, self.bounded_unit, self.rows_each, *arguments, secret)

    def point(self, found: Mapping[str, Any]) -> list[Any]:
        """The tables to be released, each summed down from one that was counted, cut to the most rows there can be."""
        counted, start = {}, 0
        for each in self.read:
            shape = [self.shape[i] for i in each]
            size = int(np.prod(shape))
            counted[each] = found["count"][start : start + size].reshape(shape)
            start += size
        made, released = self.margins, []
        for table in made.strategy:
            above = next(each for each in self.read if set(table.columns) <= set(each))
            gone = tuple(axis for axis, i in enumerate(above) if i not in table.columns)
            counts = np.asarray(np.clip(counted[above].sum(axis=gone), 0, self.most_rows))  # a total is an array, too
            most = MOST_ROWS if self.most_rows is None else self.most_rows
            large = most * made.units[table] > 2**60
            axes = [axis for axis, i in enumerate(table.columns) if i in table.centred]
            released.append(centred(counts.astype(object if large else np.int64), axes).ravel() * made.times[table])
        return released

    @property
    def _released_names(self) -> list[str]:
        names = [" × ".join(self.by.names[i] for i in each.columns) or "total" for each in self.margins.strategy]
        along = [", ".join(self.by.names[i] for i in each.centred) for each in self.margins.strategy]
        return [f"{name}, centred along {by}" if by else name for name, by in zip(names, along, strict=True)]

    @property
    def _rows_counted(self) -> tuple[int | None, ...]:
        made = self.margins
        return tuple(None if table.centred else made.times[table] for table in made.strategy)

    @cached_property
    def keys_of(self) -> dict[tuple[int, ...], list[tuple[Any, ...]]]:
        """The keys of every wanted table: a value for each column, `...` where the column is summed over."""
        lists, found = self._values(), {}
        for each in self.published:
            ranges = [lists[i] if i in each else [ALL] for i in range(len(lists))]
            places = np.unravel_index(np.arange(int(np.prod([len(r) for r in ranges]))), [len(r) for r in ranges])
            columns = [[options[at] for at in place.tolist()] for options, place in zip(ranges, places, strict=True)]
            found[each] = list(zip(*columns, strict=True))
        return found

    @property
    def wanted(self) -> dict[Any, tuple[str, ...]]:
        return dict(zip(self.published, self.tables, strict=True))

    @cached_property
    def half_widths(self) -> dict[Any, Any]:
        widths = {each: self.margins.half_width(each, CONFIDENCE) for each in self.published}
        return {each: np.full(len(self.keys_of[each]), width) for each, width in widths.items()}

    @cached_property
    def mean_sizes(self) -> dict[Any, Any]:
        sizes = {each: self.margins.mean_size(each) for each in self.published}
        return {each: np.full(len(self.keys_of[each]), size) for each, size in sizes.items()}

    def _estimated(self, drawn: list[Any]) -> dict[Any, Any]:
        return dict(self.margins.estimate(drawn))

    def _whole(self, estimates: dict[Any, Any]) -> dict[Any, Any]:
        from utmost.theory.workload.design.consistent_tables import whole_tables

        return dict(whole_tables(self.shape, estimates))

    def before(self) -> Before:
        worst = max(self.margins.variance(each) for each in self.published)
        return self._stated(worst, "the worst is the table of the largest error")

    def compared(self) -> dict[str, dict[str, float]]:
        from utmost.design.workload import even_split

        even = even_split(self.shape, self.published, self.moves, self.rows_moved, self.privacy)
        ours = {"absolute": self.average, "squared": self.solution.value}
        return {"Utmost": ours, "each table at an equal share": even}

    @property
    def notes(self) -> tuple[str, ...]:
        kept = "" if self.by.other is not None else "; rows without a listed value in every column take no part"
        names = self._released_names
        most = f"; and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        means = "" if not any(each.centred for each in self.margins.strategy) else CENTRED
        return (
            f"released with noise are {'; '.join(names[:MOST_NAMED])}{most}, and all tables are made of these, so they "
            f"agree{means}{kept}",
            OUTSIDE,
        )


class AsksMarginals(Asks[Made]):
    """`marginals`, of a session or a plan."""

    def marginals(
        self,
        keys: Keys,
        of: int | Sequence[Sequence[str]] = 2,
        privacy: Privacy = None,
        *,
        where: Condition = None,
        fresh: bool = False,
    ) -> Made:
        """How many rows each combination of values has, for many sets of columns at once, all tables in agreement.

        All tables together spend `privacy` once. A few of them, or tables within them, are released with noise of
        well-chosen sizes; all that are wanted are made of these by least squares. So they are more accurate than tables
        asked one by one, and what two of them imply about the same rows is the same number, exactly.

        Parameters
        ----------
        keys : um.keys
            The public values of every column: ``um.keys(town=["Ash", "Briar"], age=um.bins(0, 100, 10))``. A row
            without a listed value in one of the columns takes no part in any table, unless keys have `other=`.
        of : int, or list of sets of columns
            How many columns each table has: 2 gives the tables of every pair. Or the wanted tables themselves, such as
            ``[("town", "age"), ("town",), ()]``; () is the total.
        privacy : level or number
            What all tables together may spend, as for `count`.
        where : condition, optional
            Only rows with this condition are counted.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is {key: number}: a key has a value for every column of `keys`, and `...` where a column is
            summed over, such as ``("Ash", ...)``. Numbers are exact fractions, unbiased, possibly below 0.
            `answer.intervals` holds each true count with 95 %, `answer.table` is all of it in Arrow, and
            `answer.rounded()` gives whole numbers, none below 0, that agree as well.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"town": ["Ash", "Briar"] * 50, "agrees": [True, True, False, True] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> keys = um.keys(town=["Ash", "Briar"], agrees=[True, False])
        >>> answer = s.marginals(keys, [("town", "agrees"), ("town",), ()], privacy=1)
        >>> value = answer.value
        >>> value["Ash", True] + value["Ash", False] == value["Ash", ...]
        True
        >>> whole = answer.rounded()
        >>> whole["Ash", ...] + whole["Briar", ...] == whole[..., ...]
        True
        """
        where_given = self.where(where)
        asked = Marginals(terms=self.terms, privacy=self.level(privacy), by=keys, tables=of, where=where_given)
        return self.ask(asked, fresh)


def _as_tables(of: Any, names: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Wanted sets of columns, each in the order of the keys."""
    if isinstance(of, int | np.integer) and not isinstance(of, bool):
        if not 0 <= of <= len(names):
            raise InvalidInput(f"of is {shown(of)}; tables have 0 to {len(names)} columns, as many as the keys.")
        return tuple(combinations(names, int(of)))
    if not isinstance(of, Sequence) or isinstance(of, str) or not len(of):
        raise InvalidInput(f"of is {shown(of)}; say how many columns a table has, or list them: [('town', 'age'), ()].")
    found = []
    for each in of:
        listed = isinstance(each, Sequence) and not isinstance(each, str) and len(set(map(str, each))) == len(each)
        if not listed or not all(isinstance(name, str) and name in names for name in each):
            raise InvalidInput(f"{shown(each)} is no set of the keys' columns; these are {named(names)}, each once.")
        found.append(tuple(name for name in names if name in each))
    if len(set(found)) < len(found):
        raise InvalidInput(f"{shown(next(e for i, e in enumerate(found) if e in found[:i]))} is listed twice.")
    return tuple(found)
