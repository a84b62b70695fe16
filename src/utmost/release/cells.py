"""How many rows each of several disjoint cells holds: the statistic of histograms, winners and quantiles.

A row is in one cell or in none, by its values alone. Of one person at most `rows_each` rows are kept, chosen like those
of every other statistic.

**How far one neighbour moves it.** With k rows of a unit kept, one unit added or removed moves the cells by at most k
steps of one, all in one direction; one unit replaced takes up to k rows out of cells and puts up to k into others.

For rows, the engine first counts equal values and then looks at each different value once: as fast as GROUP BY.
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

from utmost.errors import InvalidInput, shown
from utmost.exact import as_rational
from utmost.release.arguments import listed, plain
from utmost.release.bins import Bins
from utmost.release.conditions import as_condition
from utmost.release.contributions import keep_alike, number_column
from utmost.release.source import Source, Statement, kind_of, nearest_single
from utmost.release.units import Unit

MOST_CELLS = 1000
FEW_CUTS = 8
"""Fewer cuts are compared one by one."""
MOST_SINGLE = (2 - 2**-23) * 2.0**127
"""The largest 32-bit float."""
EXACT = 2**53
"""Below this, every whole number is a float of its own."""


@dataclass(frozen=True)
class Cells:
    """Disjoint cells of rows.

    Attributes
    ----------
    keys : what decides about the cell, as columns of the table
    number : the cell's number as a function of a table that has the keys; null for a row in none
    size : how many cells there are
    """

    keys: Mapping[str, Any] = field(repr=False)
    number: Callable[[Any], Any]
    size: int


def tally_statement(source: Source, unit: Unit, rows_each: int, cells: Cells, where: Any, secret: bytes) -> Statement:
    """The number of rows in each cell, as SQL that yields one row: c0, c1, ..."""
    table = source.table if where is None else source.table.filter(as_condition(where, source))
    keys = {name: _moved(value, source.table, table) for name, value in cells.keys.items()}
    if unit.id is None:
        chosen = table.select(**keys)
        groups = chosen.group_by(list(keys)).aggregate(rows=chosen.count())
        placed = groups.select("rows", cell=cells.number(groups))
        counted = placed.group_by("cell").aggregate(
            rows=placed.rows.sum()
        )  # else PostgreSQL places for every sum again
        return source.statement(counted.aggregate(**_in_columns(counted, cells.size)))
    who = _moved(source.table[unit.id], source.table, table)
    chosen = table.select(who=who, **keys)
    placed = chosen.select("who", cell=cells.number(chosen).cast("int64"))
    kept = keep_alike(placed.filter(placed.who.notnull() & placed.cell.notnull()), ("cell",), rows_each, secret)
    counted = kept.group_by("cell").aggregate(rows=kept.times.sum())
    return source.statement(counted.aggregate(**_in_columns(counted, cells.size)))


def _in_columns(counted: Any, size: int) -> dict[str, Any]:
    """The rows of every cell, each in a column of its own."""
    import ibis

    return {f"c{i}": ibis.ifelse(counted.cell == i, counted.rows, 0).sum().cast("int64") for i in range(size)}


def _moved(value: Any, old: Any, new: Any) -> Any:
    """A column of one table as the same column of a filtered one."""
    return value if old.equals(new) else value.op().replace({old.op(): new.op()}).to_expr()


def category_cells(source: Source, listed: Mapping[str, Sequence[Any] | Bins], other: bool) -> Cells:
    """A cell for every combination of the categories, or bins, of one or two columns.

    With `other`, each column has one more category, the last, for what is not listed, null included; without, rows with
    such a value are in no cell.
    """
    import ibis

    sizes = [len(found) + other for found in listed.values()]
    size = math.prod(sizes)
    if size > MOST_CELLS:
        raise InvalidInput(
            f"these categories make {size} cells, and at most {MOST_CELLS} are counted at once; list fewer, or ask "
            "count(by=um.keys(...)), which counts up to a million."
        )
    keys: dict[str, Any] = {}
    literals: dict[str, Any] = {}
    for i, (column, categories) in enumerate(listed.items()):
        if isinstance(categories, Bins):
            keys[f"key{i}"], literals[f"key{i}"] = bin_column(source, column, categories.edges)
        else:
            keys[f"key{i}"], literals[f"key{i}"] = categories_of(source, column, categories)

    def number(table: Any) -> Any:
        cell: Any = None
        for (name, values), categories, base in zip(literals.items(), listed.values(), sizes, strict=True):
            left = ibis.literal(base - 1, "int64") if other else ibis.null("int64")
            if isinstance(categories, Bins):
                here = bin_number(table[name], values).fill_null(left)
            else:
                here = ibis.cases(*((table[name] == value, i) for i, value in enumerate(values)), else_=left)
            cell = here if cell is None else cell * base + here
        return cell.cast("int64")

    return Cells(keys, number, size)


TWICE = "the categories of {} name one twice; name each once."


def as_categories(column: str, categories: Any) -> list[Any]:
    """Categories as plain values: what is asked for, what names the cells and what the ledger compares.

    A list, a tuple, an array of NumPy, a series or index of pandas, polars or pyarrow, or a categorical type of pandas,
    whose categories they are.
    """
    categories = listed(categories)
    if isinstance(categories, str | bytes) or not isinstance(categories, Sequence) or not len(categories):
        raise InvalidInput(
            f"the categories of {shown(column)} are {shown(categories)}; list them, such as ['yes', 'no']."
        )
    found = [plain(c) for c in categories]
    simple = [(type(c), c) for c in found if isinstance(c, str | int | float)]
    if len(set(simple)) < len(simple):
        raise InvalidInput(TWICE.format(repr(column)))
    return found


def categories_of(source: Source, column: str, categories: Sequence[Any]) -> tuple[Any, list[Any]]:
    """A column and literals to compare it with; undeclared text is read as what the categories are."""
    import ibis

    value, kinds = source.column(column), {_kind(c) for c in categories}
    if any(isinstance(c, str) and "\0" in c for c in categories):
        raise InvalidInput(
            f"a category of {column!r} holds the character NUL, which not every engine knows; leave it out."
        )
    if len(kinds) != 1 or None in kinds:
        raise InvalidInput(f"the categories of {column!r} must be all texts, all finite numbers or all truth values.")
    if len({str(c) for c in categories}) < len(categories) or len(set(categories)) < len(categories):
        raise InvalidInput(TWICE.format(repr(column)))
    (kind,) = kinds
    if column in source.untyped and kind != "text":
        value = value.try_cast({"number": "float64", "truth": "boolean"}[str(kind)])
    elif kind_of(value.type()) != kind:
        raise InvalidInput(
            f"column {column!r} holds {value.type()}, and its categories are of another kind; give categories as they "
            f"stand in the column, or open the table with types={{{column!r}: ...}}."
        )
    if kind == "number" and value.type().is_integer():
        return value, _whole_literals(column, value.type(), categories)
    rounded = column in source.untyped or value.type().is_decimal()
    if kind == "number":
        _require_floats(column, categories, rounded)
        if value.type().is_float32():
            categories = _single_floats(column, categories)
    if value.type().is_decimal() or value.type().is_float32():
        value = value.cast("float64")
    dtype = {"text": "string", "truth": "boolean", "number": "float64"}[str(kind)]
    return value, [ibis.literal(float(c) if dtype == "float64" else c, dtype) for c in categories]


def _whole_literals(column: str, kind: Any, categories: Sequence[Any]) -> list[Any]:
    import ibis

    if any(c != int(c) for c in categories):
        raise InvalidInput(f"column {column!r} holds whole numbers; give whole numbers as its categories.")
    most = 2**64 if kind.is_unsigned_integer() else 2**63
    if any(not -(2**63) <= c < most for c in categories):
        raise InvalidInput(
            f"a category of {column!r} is more or less than {kind} can hold; give whole numbers from "
            f"{kind.bounds.lower} to {kind.bounds.upper}."
        )
    return [ibis.literal(int(c), "int64" if c < 2**63 else "uint64") for c in categories]


def _require_floats(column: str, categories: Sequence[Any], rounded: bool) -> None:
    """Refuse categories that are other numbers as floats, or that other rows become, where those are rounded."""
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
    """The nearest 32-bit floats, as which a column of them holds the categories; an error if two are one."""
    single = [nearest_single(c) for c in categories]
    whole = any(isinstance(c, int) and x != c for c, x in zip(categories, single, strict=True))
    if whole or len(set(single)) < len(categories) or any(abs(x) > MOST_SINGLE for x in single):
        raise InvalidInput(
            f"categories of {column!r} are larger than floating-point numbers of 32 bits, which it holds, or too close "
            "to each other or to other numbers to be told apart; give others, or make it a column of 64 bits."
        )
    return single


def condition_cells(source: Source, wheres: Sequence[Any], complete: bool = False) -> Cells:
    """A cell for every condition: the rows of which it is true and none before it is.

    So cells are disjoint whatever the conditions are. With `complete`, rows of which none is true are in the last one.
    """
    import ibis

    conditions = [as_condition(where, source) for where in wheres]
    branches = [(condition, i) for i, condition in enumerate(conditions[:-1] if complete else conditions)]
    left = ibis.literal(len(wheres) - 1, "int64") if complete else ibis.null("int64")
    return Cells({"key0": ibis.cases(*branches, else_=left).cast("int64")}, lambda table: table.key0, len(wheres))


def edge_cells(source: Source, column: str, edges: Sequence[float]) -> Cells:
    """A cell for every edge: the rows at or below it that are above the one before.

    Null, NaN and what is above all edges are in none. A column of 32-bit floats holds the nearest of these for an edge,
    as in conditions.
    """
    import ibis

    value, cuts = bin_column(source, column, edges)

    def number(table: Any) -> Any:
        above = ibis.null("int64")
        return _known(table.key0, lambda x: ibis.ifelse(x > cuts[-1], above, places(x, cuts[:-1], at_edge="below")))

    return Cells({"key0": value}, number, len(cuts))


def range_cells(source: Source, column: str, values: Sequence[float]) -> Cells:
    """A cell for every listed value: the rows whose value is nearest to it; null and NaN are in none.

    Halfway between two values a row goes to the lower one.
    """
    value = number_column(source, column)
    cuts = tuple(low / 2 + high / 2 for low, high in pairwise(values))

    def number(table: Any) -> Any:
        return _known(table.key0, lambda x: places(x, cuts, at_edge="below"))

    return Cells({"key0": value.cast("float64")}, number, len(values))


def bin_column(source: Source, column: str, edges: Sequence[float]) -> tuple[Any, tuple[float, ...]]:
    """A column of numbers as floats, and edges to compare it with: of 32-bit floats, the nearest of these."""
    value = number_column(source, column)
    cuts = tuple(nearest_single(edge) if value.type().is_float32() else float(edge) for edge in edges)
    return value.cast("float64"), cuts


def bin_number(value: Any, cuts: tuple[float, ...]) -> Any:
    """Which of the bins [first, second), [second, third), ... a value lies in; null where it lies in none."""
    import ibis

    def place(x: Any) -> Any:
        outside = (x < cuts[0]) | (x >= cuts[-1])
        return ibis.ifelse(outside, ibis.null("int64"), places(x, cuts[1:-1], at_edge="above"))

    return _known(value, place)


def _known(value: Any, place: Callable[[Any], Any]) -> Any:
    """The place of a number; null of null and NaN."""
    import ibis

    return ibis.ifelse(value.isnull() | value.isnan(), ibis.null("int64"), place(value)).cast("int64")


def places(x: Any, cuts: tuple[float, ...], at_edge: Literal["above", "below"]) -> Any:
    """How many of the cuts lie below x, or at it where what is at an edge is above it: 0, 1, ..., len(cuts).

    Cuts at equal distances are found by arithmetic, exactly; others by a tree of conditions.
    """
    import ibis

    if not cuts:
        return ibis.literal(0, "int64")

    def before(cut: Any) -> Any:
        return x < cut if at_edge == "above" else x <= cut

    even = evenly(cuts)
    if even is not None:
        start, step, scale = even
        # The guess is wrong by one at most, and the cuts are the nearest floats of the quotients, as they were given.
        guess = ((x - cuts[0]) * (scale / step)).floor()
        lower, upper = ((float(start) + (guess + k) * float(step)) / float(scale) for k in (0, 1))
        exact = guess + ibis.ifelse(before(lower), 0.0, ibis.ifelse(before(upper), 1.0, 2.0))
        outside = ibis.ifelse(before(cuts[0]), 0.0, float(len(cuts)))
        return ibis.ifelse(before(cuts[0]) | ~before(cuts[-1]), outside, exact).cast("int64")

    def among(low: int, high: int) -> Any:
        if low == high:
            return ibis.literal(low, "int64")
        middle = (low + high) // 2
        return ibis.ifelse(before(cuts[middle]), among(low, middle), among(middle + 1, high))

    return among(0, len(cuts))


@lru_cache(maxsize=256)
def evenly(cuts: tuple[float, ...]) -> tuple[int, int, int] | None:
    """Whole numbers (start, step, scale) so that cut i is the float nearest to (start + i·step) / scale; or None.

    All of them are floats exactly, and floor((x - first)·(scale / step)), computed in floats, is the number of the cut
    at or before x, give or take one: it does not fall as x grows, so to look at the ends of every interval is enough.
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
    known = np.array(cuts)
    number = np.arange(len(cuts))
    if (known != (float(start) + number * float(step)) / float(scale)).any():
        return None
    at, ahead = (np.floor((x - cuts[0]) * (scale / step)) for x in (known, np.nextafter(known, -np.inf)))
    close = ((number - 1 <= at) & (at <= number)).all() and (np.abs(ahead[1:] - number[:-1]) <= 1).all()
    return (start, step, scale) if close else None


def _kind(value: Any) -> str | None:
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, str):
        return "text"
    is_number = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    return "number" if is_number else None
