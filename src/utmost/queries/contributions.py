"""Statistics with bounded sensitivity: sums of integer contributions, as an engine computes them.

Every statistic is a sum over rows of an integer *contribution* between two public bounds; a row that takes no part
(the condition is not true, the value is null, NaN or infinite) contributes nothing. Of one person at most `rows_each`
contributing rows are kept.

**Sensitivity.** Write a <= c <= b for the contributions of the rows that take part, and k for the rows of a unit that
are kept. A unit contributes the sum of at most k such numbers, hence a number in [k·min(a, 0), k·max(b, 0)] (it may
have no rows at all), and which of its rows are kept depends on that unit's rows only. Units contribute independently,
so

* one unit added or removed changes the sum by at most k·max(|a|, |b|);
* one unit replaced by another changes it by at most k·(max(b, 0) - min(a, 0)).

A count has a = b = 1: k and k. Yes minus no has a = -1, b = 1: k and 2k. A sum of values clamped to [lower, upper]
has these as bounds (in steps of its grid): max(|lower|, |upper|)·k, and (upper - lower)·k where 0 lies between them;
where it does not, a row without a value is farther from the others than they are from each other, and the larger
number counts. Clamping the sum to a public range does not increase the distance of two sums.

**Exact sums.** Contributions are integers in the engine before they are added, so no floating-point number is ever
summed: permuted rows give the same sums, and DuckDB adds 64-bit integers in 128 bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput, shown
from utmost.exact import Number, as_literal, as_rational, show_rational
from utmost.queries.arguments import Neighbours
from utmost.queries.expressions import values as expr
from utmost.queries.expressions.relations import Relation
from utmost.queries.expressions.types import INT64, integer
from utmost.queries.expressions.values import Expression, literal
from utmost.queries.predicate import as_condition, as_number
from utmost.queries.rounding_steps import MOST_SUM
from utmost.queries.truncation import MOST_HASHED, dropped_rows_of, truncated_table
from utmost.queries.units import Unit

MOST_SIZE = 10**120
"""Bound on the ends of ranges: the square of the largest sum of such numbers still is a float."""
MOST_STEPS = 2**48
"""Contributions are below this, so that the error of scaling in floating point is below half a step at the ends."""
FLOATS = 2**51
"""Two roundings of a float change it by less than its absolute value divided by this."""


LARGEST = 2**62
"""Sums over one person's rows are below this."""
HEX, DIGITS = "0123456789abcdef", 4
SHORT = 12
"""How many digits of a hash rows are sorted by; ties are broken by the columns."""
DIGIT = 13
"""Bits of a digit. The sum of such digits over `expressions.types.MOST_ROWS` rows is below 2^62, to which engines clamp
sums by keys."""


@dataclass(frozen=True)
class Contribution:
    """What a row adds to a statistic, and its bounds.

    Attributes
    ----------
    taking_part : Expression, optional
        The condition under which a row takes part; None for all rows.
    value : Expression
        An integer for every row that takes part.
    least, most : int
        Bounds on the value in rows that take part.
    rest_of : Contribution, optional
        Another contribution, if its value and this one's add up to `most` in every row.
    """

    taking_part: Expression | None = field(repr=False)
    value: Expression = field(repr=False)
    least: int
    most: int
    rest_of: Contribution | None = field(default=None, repr=False)

    @property
    def column(self) -> Expression:
        """The value, null where the row takes no part."""
        return self.value if self.taking_part is None else expr.where(self.taking_part, self.value)

    @property
    def is_count(self) -> bool:
        """Whether every row that takes part adds 1."""
        return self.least == self.most == 1


def digits_for(most: int, rows: int) -> int:
    """How many digits contributions of a size are split into for sums by keys; one if the sum fits into 64 bits.

    Sums by keys leave the engine as 64-bit integers. Larger sums are computed digit by digit, and put together here.
    """
    return 1 if most * rows <= MOST_SUM else max(2, -(-most.bit_length() // DIGIT))


def in_digits(contributions: Mapping[str, Contribution], many: int) -> dict[str, Contribution]:
    """Split contributions into digits, the lowest first, with names of their own; the highest carries the sign."""
    if many == 1:
        return dict(contributions)
    return {f"{name}_{i}": _digit(part, i, i == many - 1) for name, part in contributions.items() for i in range(many)}


def _digit(part: Contribution, place: int, is_highest: bool) -> Contribution:
    """One digit of a contribution; computed by floats, which are exact, as a contribution is below 2^53."""

    def above(bits: int) -> Expression:
        if not bits:
            return part.value
        return expr.to_integer(expr.floor(expr.divide(expr.to_float(part.value), float(2**bits))))

    value, base = above(DIGIT * place), 2**DIGIT
    if is_highest:
        return Contribution(part.taking_part, value, part.least >> DIGIT * place, part.most >> DIGIT * place)
    rest = value - above(DIGIT * (place + 1)) * base  # a remainder, because both quotients are exact
    digit = Expression(rest.op, integer(0, base - 1), rest.parts)
    return Contribution(part.taking_part, digit, 0, base - 1)


def from_digits(sums: Mapping[str, Any], name: str, many: int) -> NDArray[Any]:
    """The sums of a contribution by keys from those of its digits, as Python integers if there are several digits."""
    if many == 1:
        return np.asarray(sums[name], dtype=np.int64)
    digits = [np.asarray(sums[f"{name}_{i}"], dtype=np.int64).astype(object) for i in range(many)]
    return np.asarray(sum(digit * 2 ** (DIGIT * i) for i, digit in enumerate(digits)), dtype=object)


def ones(source: Source, where: Any) -> Contribution:
    """The contribution of a count: 1 for every row for which the condition is true (every row without one)."""
    return Contribution(None if where is None else as_condition(where, source), literal(1), 1, 1)


def votes(source: Source, where: Any) -> Contribution:
    """The contribution of a vote: 1 where the condition is true, -1 where it is false, none where it is unknown."""
    condition = as_condition(where, source)
    return Contribution(expr.is_not_null(condition), expr.where(condition, literal(1), literal(-1)), -1, 1)


@dataclass(frozen=True)
class Grid:
    """A range of values with a rounding step: integers stand for multiples of `step` above `origin`."""

    lower: Fraction
    upper: Fraction
    step: Fraction
    origin: Fraction = Fraction(0)

    @property
    def least(self) -> int:
        """The lower end, in steps."""
        return int((self.lower - self.origin) / self.step)

    @property
    def most(self) -> int:
        """The upper end, in steps."""
        return int((self.upper - self.origin) / self.step)

    @property
    def rounding_error(self) -> Fraction:
        """The largest change of a value by rounding: half a step, and the floating-point error of the division."""
        far = int(max(abs(self.lower), abs(self.upper)) / self.step)
        return self.step * (Fraction(1, 2) + Fraction(far, FLOATS))

    def sensitivity(self, neighbours: Neighbours) -> int:
        """The sensitivity of a sum of values to one row, in steps; a row without a value adds nothing."""
        if neighbours == "add-remove":
            return max(abs(self.least), abs(self.most))
        return max(self.most, 0) - min(self.least, 0)


def cut_to(grid: Grid, rounded: bool) -> str:
    """How values are clamped and rounded, in words."""
    to = f" and rounded to {show_rational(grid.step)}" if rounded else ""
    return f"cut to {show_rational(grid.lower)}..{show_rational(grid.upper)}{to}"


def range_of(grid: Grid) -> dict[str, str]:
    """A range as plain data."""
    ends = {"lower": grid.lower, "upper": grid.upper, "grid": grid.step}
    return {name: str(as_literal(end)) for name, end in ends.items()}


def as_grid(lower: Number, upper: Number, grid: Number) -> Grid:
    """A range with a rounding step; raises `InvalidInput` unless its ends are multiples of the step."""
    low, high, step = as_rational(lower, "lower"), as_rational(upper, "upper"), as_rational(grid, "grid")
    if low > high or (low == high == 0):
        raise InvalidInput(
            f"lower is {shown(lower)} and upper {shown(upper)}; give a range of values, such as lower=0, upper=100."
        )
    if step <= 0:
        raise InvalidInput(
            f"grid is {shown(grid)}; give the step that values are rounded to, above 0, such as 1 or '0.01'."
        )
    if max(-low, high, Fraction(step.numerator), Fraction(step.denominator)) > MOST_SIZE:
        raise InvalidInput(
            "lower, upper or grid is too large or too fine a number to compute with; keep them, and the numerator and "
            "denominator of the grid, below 1e120, in another unit if need be."
        )
    if (low / step).denominator != 1 or (high / step).denominator != 1:
        raise InvalidInput(
            f"lower {show_rational(low)} or upper {show_rational(high)} is not a multiple of the grid "
            f"{show_rational(step)}; choose a grid that divides both."
        )
    if max(abs(low), abs(high)) / step >= MOST_STEPS:
        raise InvalidInput(
            f"the range {show_rational(low)} to {show_rational(high)} reaches beyond 2^48 steps of "
            f"{show_rational(step)}; give rounder bounds, or choose a coarser grid."
        )
    return Grid(low, high, step)


def as_range(lower: Number, upper: Number) -> Grid:
    """A range of values without a rounding step."""
    low, high = as_rational(lower, "lower"), as_rational(upper, "upper")
    if low > high:
        raise InvalidInput(
            f"lower is {shown(lower)} and upper {shown(upper)}; give a range of values, such as lower=0, upper=100."
        )
    return Grid(low, high, Fraction(1))


def is_whole(source: Source, column: str) -> bool:
    """Whether a column has an integer type in the public schema."""
    return number_column(source, column).type.kind == "integer"


def is_exact(whole: bool, grid: Grid) -> bool:
    """Whether rounding changes no value: for integers with a step of 1/n."""
    return whole and grid.step.numerator == 1


def values(source: Source, column: str, grid: Grid, where: Any) -> Contribution:
    """A column clamped and rounded (half up) to a grid, in steps; null, NaN and infinities take no part."""
    value = number_column(source, column)
    within = INT64[0] <= grid.lower and grid.upper <= INT64[1]
    present = expr.is_not_null(value)
    if value.type.kind == "integer" and grid.step.denominator == 1 and within:
        value = expr.greatest(expr.least(value, literal(int(grid.upper))), literal(int(grid.lower)))
    else:
        value = expr.to_float(value)
        present = present & ~expr.is_infinite(value)
        value = expr.greatest(expr.least(value, literal(float(grid.upper))), literal(float(grid.lower)))
    if value.type.kind == "integer" and grid.step == 1:
        steps = value
    else:  # values far below a step are flushed to 0 before the division, and would be rounded to 0 anyway
        fine = expr.to_float(value)
        fine = fine if grid.step.numerator == 1 else expr.flush_to_zero(fine, float(grid.step) * 1e-6)
        half = expr.arithmetic("add", expr.scale(fine, 1 / grid.step), literal(0.5))
        steps = expr.to_integer(expr.floor(half))
    least, most = int(grid.lower / grid.step), int(grid.upper / grid.step)
    if not (least <= steps.type.low and steps.type.high <= most):  # rounding may go beyond the ends
        steps = expr.greatest(expr.least(steps, literal(most)), literal(least))
    offset = int(grid.origin / grid.step)
    steps = steps - offset if offset else steps
    taking_part = present if where is None else as_condition(where, source) & present
    return Contribution(taking_part, steps, grid.least, grid.most)


def distances_to_ends(source: Source, column: str, grid: Grid, where: Any) -> tuple[Contribution, Contribution]:
    """The distances of a value from the lower and from the upper end of its range, in steps."""
    above = values(source, column, Grid(grid.lower, grid.upper, grid.step, grid.lower), where)
    return above, Contribution(above.taking_part, literal(above.most) - above.value, 0, above.most, above)


def outside(source: Source, column: str, grid: Grid, where: Any) -> Contribution:
    """1 for every value outside the range of a grid; null, NaN and infinities are no values."""
    value = expr.to_float(number_column(source, column))
    beyond = expr.compare("<", value, literal(float(grid.lower))) | expr.compare(">", value, literal(float(grid.upper)))
    out = expr.is_not_null(value) & ~expr.is_infinite(value) & beyond
    return Contribution(out if where is None else as_condition(where, source) & out, literal(1), 1, 1)


def people_with_any(source: Source, unit: Unit, contributions: Mapping[str, Contribution]) -> Statement:
    """For each contribution, the number of people with a row that takes part; a person may count in several."""
    rows = with_ids(source, unit, {name: part.column for name, part in contributions.items()})
    rows = rows.filter(any_not_null(rows, list(contributions)))
    counts = rows.aggregate(["who"], **{name: expr.count(rows[name]) for name in contributions})
    people: Relation = counts.select(**{name: expr.clamp(counts[name], 0, 1) for name in contributions})
    return source.statement(people.aggregate(**{name: expr.total(people[name]) for name in contributions}))


def people_with_more(
    source: Source, unit: Unit, where: Any, name: str, secret: bytes, up_to: int | None = None
) -> Relation:
    """The number of people who lose rows with a condition by truncation; with `up_to`, the number of rows lost.

    The number of people has sensitivity 1. The number of rows has sensitivity `up_to`: at most so many are counted for
    one person.
    """
    if unit.truncate == "table":
        require_id(source, unit.id)
        rows: Relation = dropped_rows_of(source, unit, secret)
        rows = rows if where is None else rows.filter(as_condition(where, source))
        bound: int = 0
        more: Relation = rows.select(who=rows[str(unit.id)]).aggregate(["who"], rows=expr.count())
    else:
        bound, people = unit.rows_each, with_ids(source, unit, {}, where).aggregate(["who"], rows=expr.count())
        more = people.filter(expr.compare(">", people["rows"], literal(bound)))
    if up_to is None:
        return more.aggregate(**{name: expr.count()})
    beyond = expr.clamp(more["rows"] - bound, 0, up_to)
    return more.aggregate(**{name: expr.total(beyond)})


def people_by_loss(source: Source, unit: Unit, where: Any, names: tuple[str, str], secret: bytes) -> Statement:
    """Among people with rows that satisfy a condition, the numbers of those who lose some by truncation, and of others.

    A person counts in one of the two numbers, so one neighbour changes one of them by one, or moves a person from one
    to the other.
    """
    if unit.truncate == "table":
        require_id(source, unit.id)
        condition = None if where is None else as_condition(where, source)
        kept_rows, dropped_rows = (
            (rows if condition is None else rows.filter(condition)).select(who=rows[str(unit.id)], lost=literal(flag))
            for rows, flag in ((truncated_table(source, unit, secret), 0), (dropped_rows_of(source, unit, secret), 1))
        )
        rows = kept_rows.union(dropped_rows)
        people: Relation = rows.aggregate(["who"], lost=expr.total(rows["lost"]))
    else:
        row_counts = with_ids(source, unit, {}, where).aggregate(["who"], rows=expr.count())
        people = row_counts.select("who", lost=row_counts["rows"] - unit.rows_each)
    loses = expr.compare(">", people["lost"], literal(0))
    numbers = {names[0]: expr.where(loses, literal(1), literal(0)), names[1]: expr.where(loses, literal(0), literal(1))}
    return source.statement(people.aggregate(**{name: expr.total(number) for name, number in numbers.items()}))


def with_ids(
    source: Source, unit: Unit, columns: Mapping[str, Expression], where: Any = None, secret: bytes | None = None
) -> Relation:
    """The rows that satisfy a condition, with some columns and, if people are the unit, the id as `who`.

    Rows with a null id are left out. With a secret, the table is truncated first, if the unit says so.
    """
    require_id(source, unit.id)
    once = unit.id is not None and unit.truncate == "table"
    table: Relation = truncated_table(source, unit, secret) if once and secret is not None else source.table
    table = table if where is None else table.filter(as_condition(where, source))
    if unit.id is None:
        return table.select(**columns)
    rows = table.select(who=source.column(unit.id), **columns)
    return rows.filter(expr.is_not_null(rows["who"]))


def number_column(source: Source, column: str) -> Expression:
    """A column of numbers, or an expression; undeclared text is cast to numbers, null where that fails."""
    if column not in source.columns and not column.isidentifier():
        return as_number(column, source)
    value = source.column(column)
    if value.type.undeclared:
        return expr.try_cast(value, "float64")
    if not value.type.is_number:
        raise InvalidInput(
            f"column {column!r} holds {value.type}, not numbers; open the table with types={{{column!r}: float}}."
        )
    return value


def statement(
    source: Source, unit: Unit, rows_each: int, contributions: Mapping[str, Contribution], secret: bytes
) -> Statement:
    """The sums of contributions over all rows, with at most `rows_each` rows of each person, as one statement.

    Which rows of a person are kept (`keep_counted_rows`) depends on a keyed hash (MD5 of the data set's secret and the
    id) and on that person's rows as a set, not on their order or on anybody else's. Without the secret, nobody can
    arrange for rows to be kept.
    """
    return source.statement(query(source, unit, rows_each, contributions, secret))


def query(
    source: Source, unit: Unit, rows_each: int, contributions: Mapping[str, Contribution], secret: bytes
) -> Relation:
    """The sums of contributions over all rows, with at most `rows_each` rows of each person, as a relation."""
    first = next(iter(contributions.values()))
    alone = len(contributions) == 1 and first.is_count
    if unit.id is None and alone:
        return count_rows(source, first.taking_part, next(iter(contributions)))
    named = {id(part): name for name, part in contributions.items()}
    rests = {name: named.get(id(part.rest_of)) for name, part in contributions.items()}
    columns = {name: part for name, part in contributions.items() if rests[name] is None}
    table = with_ids(source, unit, {name: part.column for name, part in columns.items()}, secret=secret)
    if unit.id is None:
        return table.aggregate(**_sums(table, contributions, rests))
    table = table.filter(any_not_null(table, list(columns)))
    if is_truncated(unit, rows_each):
        return table.aggregate(**_sums(table, contributions, rests))
    if alone:  # all rows of a person contribute 1
        people = table.aggregate(["who"], rows=expr.count())
        counts = expr.least(people["rows"], literal(rows_each))
        return people.aggregate(**{name: expr.total(counts) for name in contributions})
    if rows_each * max(max(abs(part.least), abs(part.most)) for part in contributions.values()) >= LARGEST:
        kept_rows = keep_rows(table, tuple(columns), rows_each, secret)  # a value times its rows might not fit
        return kept_rows.aggregate(**_sums(kept_rows, contributions, rests))
    weighted = keep_counted_rows(table, tuple(columns), rows_each, secret)
    return weighted.aggregate(**_sums(weighted, contributions, rests, weighted["times"]))


def count_rows(source: Source, condition: Expression | None, name: str) -> Relation:
    """The number of rows that satisfy a condition (None: all rows), where each row is a unit."""
    rows: Relation = source.table if condition is None else source.table.filter(condition)
    return rows.aggregate(**{name: expr.count()})


def is_truncated(unit: Unit, rows_each: int) -> bool:
    """Whether truncation in `with_ids` leaves no person more rows than a query may use."""
    return unit.id is not None and unit.truncate == "table" and unit.rows_each <= rows_each


def any_not_null(table: Relation, names: Sequence[str]) -> Expression:
    """Whether at least one of several columns is not null."""
    return expr.any_of(*(expr.is_not_null(table[name]) for name in names))


def _sums(
    table: Relation,
    contributions: Mapping[str, Contribution],
    rests: Mapping[str, str | None],
    times: Expression | None = None,
) -> dict[str, Expression]:
    """The sums of columns, each row with a multiplicity.

    To read each column once, a count uses the column of another sum over the same rows, and the sum of a contribution
    with `rest_of` is computed from the sum of that one.
    """

    def total(column: Expression) -> Expression:
        return expr.total(column if times is None else column * times)

    sums: dict[str, Expression] = {}
    summands = {name: part for name, part in contributions.items() if not part.is_count and rests[name] is None}
    for name, part in contributions.items():
        same_rows = [other for other, other_part in summands.items() if other_part.taking_part is part.taking_part]
        rest = rests[name]
        if rest is not None:
            whole = expr.where(expr.is_not_null(table[rest]), literal(part.most))
            sums[name] = total(whole) - total(table[rest])
        elif part.is_count and same_rows and times is None:
            sums[name] = expr.count(table[same_rows[0]])
        else:
            sums[name] = total(table[name])
    return sums


def keep_counted_rows(table: Relation, names: tuple[str, ...], rows_each: int, secret: bytes) -> Relation:
    """The distinct rows of each person by the named integers, with the number of identical rows to keep as `times`.

    A person with at most k = `rows_each` rows keeps them all. Of a person with T > k rows, in the order of their
    integers, every T/k-th is kept, beginning at a position u·T/k that a keyed hash of the id chooses: of c identical
    rows c·k/T on average, and floor(b·k/T + u) - floor(a·k/T + u) of those from the a-th to the b-th. Over all rows of
    a person these add up to floor(k + u) - floor(u) = k. Floating-point rounding is monotone in a, and results are
    clamped to 0..k, so no more than k rows are kept in any case. Each row is read once, and only distinct rows are
    hashed.
    """
    distinct = table.aggregate(["who", *names], alike=expr.count())
    order = [distinct[name] for name in names]
    ranked = distinct.extend(
        upto=expr.sum_over(distinct["alike"], [distinct["who"]], order),
        many=expr.sum_over(distinct["alike"], [distinct["who"]]),
    )
    crowded = expr.compare(">", ranked["many"], literal(rows_each))
    hashed = ranked.extend(key=expr.where(crowded, _keyed_hash(secret, ranked["who"])))
    rows = hashed.extend(start=_as_fraction(hashed["key"]))  # in a separate subquery, so that it is computed once
    part = _kept_up_to(rows, rows["upto"], rows_each) - _kept_up_to(rows, rows["upto"] - rows["alike"], rows_each)
    times = expr.where(expr.compare(">", rows["many"], literal(rows_each)), part, rows["alike"])
    return rows.extend(times=expr.clamp(times, 0, rows_each))


def _keyed_hash(secret: bytes, *texts: Expression) -> Expression:
    """A keyed hash of values in hexadecimal; of texts only the beginnings, ties being broken by the columns."""
    parts = [literal(secret.hex())]
    for text in texts:
        short = expr.substring(text, 1, MOST_HASHED // len(texts)) if text.type.kind == "text" else expr.as_text(text)
        parts += [literal("|"), short]
    return expr.md5(expr.concatenate(*parts))


def _as_fraction(key: Expression) -> Expression:
    """A hash in hexadecimal as a number in [0, 1)."""
    number = literal(0)
    for i in range(DIGITS):
        number = number * 16 + (expr.position_in(HEX, expr.substring(key, i + 1, 1)) - 1)
    return expr.divide(expr.clamp(expr.to_float(number), 0.0, 16.0**DIGITS - 1), 16.0**DIGITS)


def _kept_up_to(rows: Relation, reached: Expression, rows_each: int) -> Expression:
    """How many of a person's first `reached` rows are kept, by `many` and `start`: monotone, from 0 to `rows_each`."""
    share = expr.divide(
        expr.arithmetic("multiply", expr.to_float(reached), literal(float(rows_each))), expr.to_float(rows["many"])
    )
    whole = expr.floor(expr.arithmetic("add", share, rows["start"]))
    return expr.to_integer(expr.clamp(whole, 0.0, float(rows_each)))


def keep_rows(
    table: Relation,
    names: tuple[str, ...],
    rows_each: int,
    secret: bytes,
    differ: bool = False,
    hashed: bool = False,
) -> Relation:
    """At most `rows_each` rows of each person, chosen by a keyed hash and the named columns alone.

    A person with no more rows than that keeps them all, and these rows are neither hashed nor sorted, which would take
    longest. Of the others, rows of integers are sorted, and every T/k-th is kept as in `keep_counted_rows`, with one
    hash for each person. Engines disagree on the order of texts, so there the rows with the least hashes are kept.

    Parameters
    ----------
    table : Relation
        Rows with `who`, the named columns and perhaps others.
    names : tuple of str
        The columns that decide, together with `who`; rows that are equal in them must be equal in all.
    rows_each : int
        How many rows of one person are kept at most.
    secret : bytes
        The data set's secret, for the keyed hash.
    differ : bool
        Whether no two rows of a person are equal.
    hashed : bool
        Whether to keep the rows with the least hashes also where all columns are integers.
    """
    people = table.aggregate(["who"], many=expr.count())
    crowded = people.filter(expr.compare(">", people["many"], literal(rows_each)))
    crowd = crowded.select("many", crowd=crowded["who"])  # a name that the rows do not have
    same_person = [expr.compare("=", table["who"], crowd["crowd"])]
    if not hashed and all(table.columns[name].kind == "integer" for name in names):
        chosen_rows = _every_nth(table, crowd, names, rows_each, secret)
    else:
        chosen_rows = _least_hashes(table.join(crowd, same_person, "semi"), names, rows_each, secret, differ)
    return table.join(crowd, same_person, "anti").union(chosen_rows)


def _every_nth(table: Relation, crowd: Relation, names: tuple[str, ...], rows_each: int, secret: bytes) -> Relation:
    """Every T/k-th row of the people with T > k rows, in the order of the integers, null first."""
    hashed = crowd.extend(key=_keyed_hash(secret, crowd["crowd"]))
    people = hashed.select("crowd", "many", start=_as_fraction(hashed["key"]))
    rows = table.join(people, [expr.compare("=", table["who"], people["crowd"])])
    order = [part for name in names for part in (expr.is_not_null(rows[name]), expr.coalesce(rows[name], literal(0)))]
    ranked = rows.extend(nth=expr.row_number([rows["who"]], order))
    upto, before = (_kept_up_to(ranked, place, rows_each) for place in (ranked["nth"], ranked["nth"] - 1))
    return ranked.filter(expr.compare(">", upto, before)).select(*table.columns)


def _least_hashes(rows: Relation, names: tuple[str, ...], rows_each: int, secret: bytes, differ: bool) -> Relation:
    """The rows of each person with the least hashes; equal rows are numbered, and their numbers hashed, too."""
    by = [rows["who"], *(rows[name] for name in names)]
    numbered = rows if differ else rows.extend(nth=expr.row_number(by))
    parts = names if differ else (*names, "nth")
    texts = [expr.coalesce(expr.as_text(numbered[part]), literal("-")) for part in ("who", *parts)]
    hashed = numbered.extend(key=expr.substring(_keyed_hash(secret, *texts), 1, SHORT))
    order = [hashed["key"], *(hashed[part] for part in parts)]
    ranked = hashed.extend(place=expr.row_number([hashed["who"]], order))
    return ranked.filter(expr.compare("<=", ranked["place"], literal(rows_each))).select(*rows.columns)


def require_id(source: Source, column: str | None) -> None:
    """Refuse an id column that does not exist, or whose type does not identify people exactly."""
    if column is None:
        return
    if column not in source.columns:
        raise InvalidInput(f"there is no id column {shown(column)}; {source.naming}.")
    kind = source.column(column).type
    if kind.kind not in ("integer", "text"):
        raise InvalidInput(
            f"the id column {column!r} holds {kind}; ids are whole numbers or text. Convert it beforehand."
        )
