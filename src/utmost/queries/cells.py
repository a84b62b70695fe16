"""Counts of rows in disjoint cells: the statistic of histograms, winners and quantiles.

A row is in one cell or in none, by its values alone. Of one person at most `rows_each` rows are kept, chosen as for
every other statistic.

**Sensitivity.** With k rows of a unit kept, one unit added or removed changes the counts by at most k in all, in one
direction; one unit replaced takes up to k rows out of cells and puts up to k into others.

Where rows are the unit, the engine first counts equal values, and then assigns each distinct value to a cell once,
which is as fast as GROUP BY.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput, shown
from utmost.exact import as_rational
from utmost.queries.arguments import listed, plain
from utmost.queries.bins import Bins
from utmost.queries.contributions import is_truncated, keep_counted_rows, number_column, with_ids
from utmost.queries.expressions import values as expr
from utmost.queries.expressions.relations import Relation
from utmost.queries.expressions.types import BOOLEAN, UINT64, Type, integer
from utmost.queries.expressions.values import Expression, literal, nearest_single, null
from utmost.queries.predicate import as_condition
from utmost.queries.units import Unit

MOST_CELLS = 1000
FEW_CUTS = 8
"""Below this number of cuts, they are compared one by one."""
MOST_SINGLE = (2 - 2**-23) * 2.0**127
"""The largest 32-bit float."""
EXACT = 2**53
"""Below this, every integer is exact as a float."""
MOST_COUNT = 2**62
"""A count is clamped to this before it leaves the engine."""
CELL = integer(0, MOST_CELLS)


@dataclass(frozen=True)
class Cells:
    """Disjoint cells of rows.

    Attributes
    ----------
    keys : mapping of str to Expression
        Columns of the table that determine the cell.
    number : callable
        A function from a relation with these columns to the cell's number; null for a row in no cell.
    size : int
        The number of cells.
    """

    keys: Mapping[str, Expression] = field(repr=False)
    number: Callable[[Relation], Expression]
    size: int


def tally_statement(source: Source, unit: Unit, rows_each: int, cells: Cells, where: Any, secret: bytes) -> Statement:
    """The number of rows in each cell, as a statement that returns one row: c0, c1, ..."""
    rows = with_ids(source, unit, cells.keys, where, secret)
    counts: Relation
    if unit.id is None:
        groups = rows.aggregate(list(cells.keys), rows=expr.count())
        placed = groups.select("rows", cell=cells.number(groups))
        counts = placed.aggregate(
            ["cell"], rows=expr.total(placed["rows"])
        )  # grouped, so that the cell is computed once
        return source.statement(counts.aggregate(**_in_columns(counts, cells.size)))
    placed = rows.select("who", cell=cells.number(rows))
    counts = _counts_of_people(placed.filter(expr.is_not_null(placed["cell"])), unit, rows_each, secret)
    return source.statement(counts.aggregate(**_in_columns(counts, cells.size)))


def tally_groups(source: Source, unit: Unit, rows_each: int, cells: Cells, where: Any, secret: bytes) -> Statement:
    """The number of rows in each cell, as one row for each cell that is not empty; for up to millions of cells."""
    import pyarrow

    rows = with_ids(source, unit, cells.keys, where, secret)
    cell_counts: Relation
    if unit.id is None:
        groups = rows.aggregate(list(cells.keys), rows=expr.count())
        placed = groups.select("rows", cell=cells.number(groups))
        in_cells = placed.filter(expr.is_not_null(placed["cell"]))
        cell_counts = in_cells.aggregate(["cell"], rows=expr.total(in_cells["rows"]))
    else:
        placed = rows.select("who", cell=cells.number(rows))
        cell_counts = _counts_of_people(placed.filter(expr.is_not_null(placed["cell"])), unit, rows_each, secret)
    counts = cell_counts.select("cell", rows=expr.least(cell_counts["rows"], literal(MOST_COUNT)))
    nothing = pyarrow.table({"dimension": np.zeros(1, dtype=np.int64), "place": np.zeros(1, dtype=np.int64)})
    return source.statement(counts, nothing, cells.size)


def people_in_first_cell(source: Source, unit: Unit, cells: Cells) -> Statement:
    """The number of people whose first cell with a row is this one: every person is in at most one cell."""
    rows = with_ids(source, unit, cells.keys)
    every = rows.select("who", cell=cells.number(rows))
    placed = every.filter(expr.is_not_null(every["cell"]))
    first = placed.extend(first=expr.least_over(placed["cell"], [placed["who"]]))
    people = first.aggregate(["who", "first"], rows=expr.count())
    counts: Relation = people.select(cell=people["first"]).aggregate(["cell"], rows=expr.count())
    return source.statement(counts.aggregate(**_in_columns(counts, cells.size)))


def _counts_of_people(inside: Relation, unit: Unit, rows_each: int, secret: bytes) -> Relation:
    """The number of rows in each cell, with at most `rows_each` rows of each person."""
    if is_truncated(unit, rows_each):
        return inside.aggregate(["cell"], rows=expr.count())
    weighted = keep_counted_rows(inside, ("cell",), rows_each, secret)
    return weighted.aggregate(["cell"], rows=expr.total(weighted["times"]))


def _in_columns(counts: Relation, size: int) -> dict[str, Expression]:
    """The count of every cell as a column of its own."""

    def of(cell: int) -> Expression:
        here = expr.compare("=", counts["cell"], literal(cell))
        return expr.total(expr.where(here, counts["rows"], literal(0)))

    return {f"c{i}": of(i) for i in range(size)}


def category_cells(source: Source, listed: Mapping[str, Sequence[Any] | Bins], other: bool) -> Cells:
    """A cell for every combination of the categories, or bins, of one or two columns.

    With `other`, each column has one more category, the last, for unlisted values, null included; without it, rows with
    such a value are in no cell.
    """
    sizes = [len(values) + other for values in listed.values()]
    size = math.prod(sizes)
    if size > MOST_CELLS:
        raise InvalidInput(
            f"these categories make {size} cells, and at most {MOST_CELLS} are counted at once; list fewer, or ask "
            "count(by=um.keys(...)), which counts up to a million."
        )
    keys: dict[str, Expression] = {}
    literals: dict[str, Any] = {}
    for i, (column, categories) in enumerate(listed.items()):
        if isinstance(categories, Bins):
            keys[f"key{i}"], literals[f"key{i}"] = bin_column(source, column, categories.edges)
        else:
            keys[f"key{i}"], literals[f"key{i}"] = categories_of(source, column, categories)

    def number(table: Relation) -> Expression:
        cell: Expression | None = None
        for (name, values), categories, base in zip(literals.items(), listed.values(), sizes, strict=True):
            default = literal(base - 1) if other else null(CELL)
            if isinstance(categories, Bins):
                place = bin_number(table[name], values)
                place = expr.coalesce(place, default) if other else place
            else:
                tests = [(expr.compare("=", table[name], value), literal(i)) for i, value in enumerate(values)]
                place = expr.case(tests, default)
            cell = place if cell is None else cell * base + place
        assert cell is not None
        return cell

    return Cells(keys, number, size)


TWICE = "the categories of {} name one twice; name each once."


def as_categories(column: str, categories: Any) -> list[Any]:
    """Categories as plain values, which name the cells and are compared by the ledger.

    Given as a list, a tuple, an array of NumPy, a series or index of pandas, polars or pyarrow, or a categorical type
    of pandas.
    """
    categories = listed(categories)
    if isinstance(categories, str | bytes) or not isinstance(categories, Sequence) or not len(categories):
        raise InvalidInput(
            f"the categories of {shown(column)} are {shown(categories)}; list them, such as ['yes', 'no']."
        )
    values = [plain(c) for c in categories]
    simple = [(type(c), c) for c in values if isinstance(c, str | int | float)]
    if len(set(simple)) < len(simple):
        raise InvalidInput(TWICE.format(repr(column)))
    return values


def categories_of(source: Source, column: str, categories: Sequence[Any]) -> tuple[Expression, list[Expression]]:
    """A column and literals to compare it with; undeclared text is cast to the type of the categories."""
    value, kinds = source.column(column), {_kind(c) for c in categories}
    if any(isinstance(c, str) and "\0" in c for c in categories):
        raise InvalidInput(
            f"a category of {column!r} holds the character NUL, which not every engine knows; leave it out."
        )
    if len(kinds) != 1 or None in kinds:
        raise InvalidInput(f"the categories of {column!r} must be all texts, all finite numbers or all truth values.")
    if len({str(c) for c in categories}) < len(categories) or len(set(categories)) < len(categories):
        raise InvalidInput(TWICE.format(repr(column)))
    kind = str(*kinds)
    if value.type.undeclared:
        value = value if kind == "text" else expr.try_cast(value, {"number": "float64", "boolean": "boolean"}[kind])
    elif ("number" if value.type.is_number else value.type.kind) != kind:
        raise InvalidInput(
            f"column {column!r} holds {value.type}, and its categories are of another kind; give categories as they "
            f"stand in the column, or open the table with types={{{column!r}: ...}}."
        )
    if value.type.kind == "integer":
        return value, _whole_literals(column, value.type, categories)
    if kind == "number":
        _require_floats(column, categories, value.op == "read" or value.type.rounded)
        if value.type.single:
            categories = _single_floats(column, categories)
        categories = [float(c) for c in categories]
    return value, [literal(c) for c in categories]


def _whole_literals(column: str, kind: Type, categories: Sequence[Any]) -> list[Expression]:
    if any(c != int(c) for c in categories):
        raise InvalidInput(f"column {column!r} holds whole numbers; give whole numbers as its categories.")
    most = UINT64[1] if kind.is_wide else 2**63 - 1
    if any(not -(2**63) <= c <= most for c in categories):
        raise InvalidInput(
            f"a category of {column!r} is more or less than {kind} can hold; give whole numbers from {kind.low} to "
            f"{kind.high}."
        )
    return [literal(int(c)) for c in categories]


def _require_floats(column: str, categories: Sequence[Any], rounded: bool) -> None:
    """Refuse categories that are not exact as floats, or to which other values of the column may be rounded."""
    for c in categories:
        if abs(c) > sys.float_info.max:
            raise InvalidInput(f"a category of {column!r} is too large a number; give numbers below 1e308.")
        if float(c) != c or (rounded and isinstance(c, int) and abs(c) >= EXACT):
            raise InvalidInput(
                f"the category {shown(c)} of {column!r} is compared as a floating-point number, which does not tell "
                "whole numbers of 2^53 or more apart; give smaller ones, or make it a column of 64-bit whole numbers "
                f"(of text, with types={{{column!r}: int}})."
            )


def _single_floats(column: str, categories: Sequence[Any]) -> list[float]:
    """Round categories to 32-bit floats, as a column of these holds them; raises `InvalidInput` if two coincide."""
    single = [nearest_single(c) for c in categories]
    whole = any(isinstance(c, int) and x != c for c, x in zip(categories, single, strict=True))
    if whole or len(set(single)) < len(categories) or any(abs(x) > MOST_SINGLE for x in single):
        raise InvalidInput(
            f"categories of {column!r} are larger than floating-point numbers of 32 bits, which it holds, or too close "
            "to each other or to other numbers to be told apart; give others, or make it a column of 64 bits."
        )
    return single


def condition_cells(source: Source, wheres: Sequence[Any], complete: bool = False) -> Cells:
    """A cell for every condition: the rows for which it is the first true one.

    So cells are disjoint whatever the conditions are. With `complete`, rows that satisfy none are in the last cell.
    """
    conditions = [as_condition(where, source) for where in wheres]
    branches = [(condition, literal(i)) for i, condition in enumerate(conditions[:-1] if complete else conditions)]
    last = literal(len(wheres) - 1) if complete else null(CELL)
    return Cells({"key0": expr.case(branches, last)}, lambda table: table["key0"], len(wheres))


def edge_cells(source: Source, column: str, edges: Sequence[float]) -> Cells:
    """A cell for every edge: the values at or below it and above the edge before.

    Null, NaN and values above all edges are in no cell. For a column of 32-bit floats, edges are rounded to 32 bits, as
    literals in conditions are.
    """
    value, cuts = bin_column(source, column, edges)

    def number(table: Relation) -> Expression:
        x = table["key0"]
        inside = expr.compare("<=", x, literal(cuts[-1]))
        return expr.where(inside, places(x, cuts[:-1], at_edge="below"))

    return Cells({"key0": value}, number, len(cuts))


def range_cells(source: Source, column: str, values: Sequence[float]) -> Cells:
    """A cell for every listed value: the rows whose value is nearest to it; null and NaN are in no cell.

    Halfway between two values, a row belongs to the lower one.
    """
    value = expr.to_float(number_column(source, column))
    cuts = tuple(low / 2 + high / 2 for low, high in pairwise(values))

    def number(table: Relation) -> Expression:
        return expr.where(expr.is_not_null(table["key0"]), places(table["key0"], cuts, at_edge="below"))

    return Cells({"key0": value}, number, len(values))


def bin_column(source: Source, column: str, edges: Sequence[float]) -> tuple[Expression, tuple[float, ...]]:
    """A numeric column as floats, and edges to compare it with, rounded to 32 bits if the column has 32."""
    value = number_column(source, column)
    cuts = tuple(nearest_single(edge) if value.type.single else float(edge) for edge in edges)
    return expr.to_float(value), cuts


def bin_number(value: Expression, cuts: tuple[float, ...]) -> Expression:
    """The index of the bin [first, second), [second, third), ... of a value; null outside of all bins."""
    inside = expr.compare(">=", value, literal(cuts[0])) & expr.compare("<", value, literal(cuts[-1]))
    return expr.where(inside, places(value, cuts[1:-1], at_edge="above"))


def places(x: Expression, cuts: tuple[float, ...], at_edge: Literal["above", "below"]) -> Expression:
    """The number of cuts below x, counting a cut equal to x if `at_edge` is "above": 0, 1, ..., len(cuts).

    Equidistant cuts are located by exact arithmetic, others by binary search in a tree of conditions.
    """
    if not cuts:
        return literal(0)
    sign = "<" if at_edge == "above" else "<="

    def before(cut: Expression) -> Expression:
        return Expression("compare", BOOLEAN, (x, cut), value=sign)

    even = evenly(cuts)
    if even is not None:
        return even_places(x, *even, len(cuts), at_edge)

    def among(low: int, high: int) -> Expression:
        if low == high:
            return literal(low)
        middle = (low + high) // 2
        return expr.where(before(literal(cuts[middle])), among(low, middle), among(middle + 1, high))

    return among(0, len(cuts))


def even_places(
    x: Expression, start: int, step: int, scale: int, many: int, at_edge: Literal["above", "below"]
) -> Expression:
    """The number of cuts below x, as `places`, where cut i is the float nearest to (start + i·step) / scale."""
    sign = "<" if at_edge == "above" else "<="
    lowest, highest = start / scale, (start + (many - 1) * step) / scale

    def before(cut: Expression) -> Expression:
        return Expression("compare", BOOLEAN, (x, cut), value=sign)

    first, last = literal(lowest), literal(highest)
    # The guess is wrong by one at most, and the cuts are the nearest floats of the quotients, as they were given.
    inner = expr.flush_to_zero(expr.clamp(x, lowest, highest), step / scale * 1e-9)
    above = expr.arithmetic("subtract", inner, first)
    guess = expr.floor(expr.arithmetic("multiply", above, literal(scale / step)))

    def cut(place: Expression) -> Expression:
        whole = expr.arithmetic("add", literal(float(start)), expr.arithmetic("multiply", place, literal(float(step))))
        return expr.divide(whole, float(scale))

    upper = cut(expr.arithmetic("add", guess, literal(1.0)))
    more = expr.case([(before(cut(guess)), literal(0.0)), (before(upper), literal(1.0))], literal(2.0))
    exact = expr.to_integer(expr.clamp(expr.arithmetic("add", guess, more), 0.0, float(many)))
    return expr.case([(before(first), literal(0)), (before(last), exact)], literal(many))


@lru_cache(maxsize=256)
def evenly(cuts: tuple[float, ...]) -> tuple[int, int, int] | None:
    """Integers (start, step, scale) such that cut i is the float nearest to (start + i·step) / scale; or None.

    All of them are exact as floats, and floor((x - first)·(scale / step)), computed in floats, is the index of the cut
    at or before x up to an error of one. It is monotone in x, so it suffices to check the ends of every interval.
    """
    if len(cuts) < FEW_CUTS or len(set(cuts)) < len(cuts):
        return None
    exact = [as_rational(cut) for cut in cuts]
    width = exact[1] - exact[0]
    if any(high - low != width for low, high in pairwise(exact)):
        return None
    scale = math.lcm(exact[0].denominator, width.denominator)
    start, step = int(exact[0] * scale), int(width * scale)
    if max(abs(start) + len(cuts) * step, scale) >= EXACT:
        return None
    cut_array = np.array(cuts)
    number = np.arange(len(cuts))
    if (cut_array != (float(start) + number * float(step)) / float(scale)).any():
        return None
    at, ahead = (np.floor((x - cuts[0]) * (scale / step)) for x in (cut_array, np.nextafter(cut_array, -np.inf)))
    close = ((number - 1 <= at) & (at <= number)).all() and (np.abs(ahead[1:] - number[:-1]) <= 1).all()
    return (start, step, scale) if close else None


def _kind(value: Any) -> str | None:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "text"
    is_number = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    return "number" if is_number else None
