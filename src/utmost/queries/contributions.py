"""What an engine computes: integers that one row or person can move only so far.

Every statistic is a sum over rows of an integer *contribution* between two public bounds; a row that takes no part
(the condition is not true, the value is null, NaN or infinite) contributes nothing. Of one person at most `rows_each`
contributing rows are kept.

**How far one neighbour moves it.** Write a <= c <= b for the contributions of the rows that take part, and k for the
rows of a unit that are kept. A unit contributes the sum of at most k such numbers, hence a number in [k·min(a, 0),
k·max(b, 0)] (it may have no rows at all), and which of its rows are kept depends on that unit's rows only. Units
contribute independently, so

* one unit added or removed moves the sum by at most k·max(|a|, |b|);
* one unit replaced by another moves it by at most k·(max(b, 0) - min(a, 0)).

A count has a = b = 1: k and k. Yes minus no has a = -1, b = 1: k and 2k. A sum of values clamped to [lower, upper]
has these as bounds (in steps of its grid): max(|lower|, |upper|)·k, and (upper - lower)·k where 0 lies between them;
where it does not, a row without a value is farther from the others than they are from each other, and the larger
number counts. Clamping the sum to a public range moves two sums no farther apart.

**Exactly.** Contributions are integers in the engine before they are added, so no floating-point number is ever summed:
permuted rows give the same point, and DuckDB adds 64-bit integers in 128 bits.
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
from utmost.queries.expressions import values as made
from utmost.queries.expressions.relations import Relation
from utmost.queries.expressions.types import INT64, integer
from utmost.queries.expressions.values import Expression, literal
from utmost.queries.predicate import as_condition, as_number
from utmost.queries.rounding_steps import MOST_SUM
from utmost.queries.truncation import MOST_HASHED, dropped, truncated
from utmost.queries.units import Unit

MOST_SIZE = 10**120
"""The square of a sum of the most numbers of this size is a float still."""
MOST_STEPS = 2**48
"""Contributions are below this, so that scaling in floating point errs by less than half a step at the ends."""
FLOATS = 2**51
"""Two roundings of a float change it by less than its size over this."""


LARGEST = 2**62
"""Sums over one person's rows are below this."""
HEX, DIGITS = "0123456789abcdef", 4
SHORT = 12
"""How many digits of a hash rows are sorted by; where these are equal, the columns decide."""
DIGIT = 13
"""Bits of a digit: the sum of so small numbers over `MOST_ROWS` rows stays below 2^62, where sums by keys are cut."""


@dataclass(frozen=True)
class Contribution:
    """What a row adds to a statistic, and its bounds.

    Attributes
    ----------
    taking_part : a condition that says which rows do; None for all
    value : a whole number of every row that takes part
    least, most : what the value lies between wherever the row takes part
    rest_of : another contribution whose value and this one's add up to `most` in every row; None where there is none
    """

    taking_part: Expression | None = field(repr=False)
    value: Expression = field(repr=False)
    least: int
    most: int
    rest_of: Contribution | None = field(default=None, repr=False)

    @property
    def column(self) -> Expression:
        """The value, null where the row takes no part."""
        return self.value if self.taking_part is None else made.where(self.taking_part, self.value)

    @property
    def is_count(self) -> bool:
        """Whether every row that takes part adds 1."""
        return self.least == self.most == 1

    def moves(self, neighbours: Neighbours, rows_each: int) -> int:
        """How far one neighbour moves the sum, at most."""
        if neighbours == "add-remove":
            return rows_each * max(abs(self.least), abs(self.most))
        return rows_each * (max(self.most, 0) - min(self.least, 0))

    def range(self, units: int, rows_each: int) -> tuple[int, int]:
        """Between which numbers the sum lies, if there are at most so many units."""
        return units * rows_each * min(self.least, 0), units * rows_each * max(self.most, 0)


def digits_for(most: int, rows: int) -> int:
    """In how many digits contributions up to a size are added up by keys: one if so many rows fit 64 bits as they are.

    Sums by keys leave the engine as 64-bit integers. Larger ones are added up digit by digit, and put together here.
    """
    return 1 if most * rows <= MOST_SUM else max(2, -(-most.bit_length() // DIGIT))


def in_digits(contributions: Mapping[str, Contribution], many: int) -> dict[str, Contribution]:
    """The digits of contributions, the lowest first, under names of their own; the highest one carries the sign."""
    if many == 1:
        return dict(contributions)
    return {f"{name}_{i}": _digit(part, i, i == many - 1) for name, part in contributions.items() for i in range(many)}


def _digit(part: Contribution, place: int, is_highest: bool) -> Contribution:
    """One digit of a contribution, which is below 2^53 and so exact as a float, also divided by a power of two."""

    def above(bits: int) -> Expression:
        if not bits:
            return part.value
        return made.to_integer(made.floor(made.divide(made.to_float(part.value), float(2**bits))))

    value, base = above(DIGIT * place), 2**DIGIT
    if is_highest:
        return Contribution(part.taking_part, value, part.least >> DIGIT * place, part.most >> DIGIT * place)
    rest = value - above(DIGIT * (place + 1)) * base  # a remainder, because both quotients are exact
    digit = Expression(rest.op, integer(0, base - 1), rest.parts)
    return Contribution(part.taking_part, digit, 0, base - 1)


def from_digits(sums: Mapping[str, Any], name: str, many: int) -> NDArray[Any]:
    """The sums of a contribution by keys, from those of its digits; of several digits as Python's own integers."""
    if many == 1:
        return np.asarray(sums[name], dtype=np.int64)
    digits = [np.asarray(sums[f"{name}_{i}"], dtype=np.int64).astype(object) for i in range(many)]
    return np.asarray(sum(digit * 2 ** (DIGIT * i) for i, digit in enumerate(digits)), dtype=object)


def ones(source: Source, where: Any) -> Contribution:
    """1 for every row of which the condition is true (every row without one): what a count adds up."""
    return Contribution(None if where is None else as_condition(where, source), literal(1), 1, 1)


def votes(source: Source, where: Any) -> Contribution:
    """1 where the condition is true, -1 where it is false; a row where it is unknown does not vote."""
    condition = as_condition(where, source)
    return Contribution(made.is_known(condition), made.where(condition, literal(1), literal(-1)), -1, 1)


@dataclass(frozen=True)
class Grid:
    """A range of values and the steps it is rounded to: integers stand for multiples of `step` above `origin`."""

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
    def off(self) -> Fraction:
        """How far rounding moves a value at most: half a step, and what floating point adds where it is divided."""
        far = int(max(abs(self.lower), abs(self.upper)) / self.step)
        return self.step * (Fraction(1, 2) + Fraction(far, FLOATS))

    def moves(self, neighbours: Neighbours) -> int:
        """How far one row moves a sum of values, in steps: a row without a value adds nothing."""
        if neighbours == "add-remove":
            return max(abs(self.least), abs(self.most))
        return max(self.most, 0) - min(self.least, 0)


def cut_to(grid: Grid, rounded: bool) -> str:
    """What is done to values, in words."""
    to = f" and rounded to {show_rational(grid.step)}" if rounded else ""
    return f"cut to {show_rational(grid.lower)}..{show_rational(grid.upper)}{to}"


def range_of(grid: Grid) -> dict[str, str]:
    """A range as plain data."""
    ends = {"lower": grid.lower, "upper": grid.upper, "grid": grid.step}
    return {name: str(as_literal(end)) for name, end in ends.items()}


def as_grid(lower: Number, upper: Number, grid: Number) -> Grid:
    """A range whose ends are multiples of the grid; an error that names what to change otherwise."""
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
    """A range of values that are not rounded."""
    low, high = as_rational(lower, "lower"), as_rational(upper, "upper")
    if low > high:
        raise InvalidInput(
            f"lower is {shown(lower)} and upper {shown(upper)}; give a range of values, such as lower=0, upper=100."
        )
    return Grid(low, high, Fraction(1))


def is_whole(source: Source, column: str) -> bool:
    """Whether a column is of an integer type, as the public schema says."""
    return number_column(source, column).type.kind == "integer"


def is_exact(whole: bool, grid: Grid) -> bool:
    """Whether no value changes by rounding: whole numbers are multiples of the step, and so are the bounds."""
    return whole and grid.step.numerator == 1


def values(source: Source, column: str, grid: Grid, where: Any) -> Contribution:
    """A column clamped and rounded to a grid, half up, as whole steps; null, NaN and infinities take no part."""
    value = number_column(source, column)
    within = INT64[0] <= grid.lower and grid.upper <= INT64[1]
    present = made.is_known(value)
    if value.type.kind == "integer" and grid.step.denominator == 1 and within:
        value = made.greatest(made.least(value, literal(int(grid.upper))), literal(int(grid.lower)))
    else:
        value = made.to_float(value)
        present = present & ~made.is_infinite(value)
        value = made.greatest(made.least(value, literal(float(grid.upper))), literal(float(grid.lower)))
    if value.type.kind == "integer" and grid.step == 1:
        steps = value
    else:  # what is far below a step is 0 before it is divided, and rounded to 0 all the same
        fine = made.to_float(value)
        fine = fine if grid.step.numerator == 1 else made.without_dust(fine, float(grid.step) * 1e-6)
        half = made.arithmetic("add", made.scaled(fine, 1 / grid.step), literal(0.5))
        steps = made.to_integer(made.floor(half))
    least, most = int(grid.lower / grid.step), int(grid.upper / grid.step)
    if not (least <= steps.type.low and steps.type.high <= most):  # it is rounded, perhaps beyond the ends
        steps = made.greatest(made.least(steps, literal(most)), literal(least))
    offset = int(grid.origin / grid.step)
    steps = steps - offset if offset else steps
    taking_part = present if where is None else as_condition(where, source) & present
    return Contribution(taking_part, steps, grid.least, grid.most)


def distances_to_ends(source: Source, column: str, grid: Grid, where: Any) -> tuple[Contribution, Contribution]:
    """How far a value lies above the lower end of its range, and below the upper one, in steps."""
    above = values(source, column, Grid(grid.lower, grid.upper, grid.step, grid.lower), where)
    return above, Contribution(above.taking_part, literal(above.most) - above.value, 0, above.most, above)


def outside(source: Source, column: str, grid: Grid, where: Any) -> Contribution:
    """1 for every value that lies outside the range of a grid; null, NaN and infinities are no values."""
    value = made.to_float(number_column(source, column))
    beyond = made.compare("<", value, literal(float(grid.lower))) | made.compare(">", value, literal(float(grid.upper)))
    out = made.is_known(value) & ~made.is_infinite(value) & beyond
    return Contribution(out if where is None else as_condition(where, source) & out, literal(1), 1, 1)


def people_with_any(source: Source, unit: Unit, contributions: Mapping[str, Contribution]) -> Statement:
    """How many people have a row that takes part, for every contribution: each person counts in all that apply."""
    rows = with_ids(source, unit, {name: part.column for name, part in contributions.items()})
    rows = rows.filter(any_known(rows, list(contributions)))
    found = rows.aggregate(["who"], **{name: made.count(rows[name]) for name in contributions})
    people: Relation = found.select(**{name: made.clamp(found[name], 0, 1) for name in contributions})
    return source.statement(people.aggregate(**{name: made.total(people[name]) for name in contributions}))


def people_with_more(
    source: Source, unit: Unit, where: Any, name: str, secret: bytes, up_to: int | None = None
) -> Relation:
    """Of how many people rows with a condition are dropped by truncation, or how many rows that are.

    One person moves the number of people by one, that of rows by `up_to`: no more of a person's are counted.
    """
    if unit.truncate == "table":
        require_id(source, unit.id)
        rows: Relation = dropped(source, unit, secret)
        rows = rows if where is None else rows.filter(as_condition(where, source))
        used: int = 0
        more: Relation = rows.select(who=rows[str(unit.id)]).aggregate(["who"], rows=made.count())
    else:
        used, people = unit.rows_each, with_ids(source, unit, {}, where).aggregate(["who"], rows=made.count())
        more = people.filter(made.compare(">", people["rows"], literal(used)))
    if up_to is None:
        return more.aggregate(**{name: made.count()})
    beyond = made.clamp(more["rows"] - used, 0, up_to)
    return more.aggregate(**{name: made.total(beyond)})


def people_by_loss(source: Source, unit: Unit, where: Any, names: tuple[str, str], secret: bytes) -> Statement:
    """How many people with rows of a condition lose some of them by truncation, and how many lose none.

    A person is in one of both numbers, so one neighbour moves one of them by one, or one up and the other down.
    """
    if unit.truncate == "table":
        require_id(source, unit.id)
        condition = None if where is None else as_condition(where, source)
        used, lost = (
            (rows if condition is None else rows.filter(condition)).select(who=rows[str(unit.id)], lost=literal(flag))
            for rows, flag in ((truncated(source, unit, secret), 0), (dropped(source, unit, secret), 1))
        )
        rows = used.union(lost)
        people: Relation = rows.aggregate(["who"], lost=made.total(rows["lost"]))
    else:
        many = with_ids(source, unit, {}, where).aggregate(["who"], rows=made.count())
        people = many.select("who", lost=many["rows"] - unit.rows_each)
    loses = made.compare(">", people["lost"], literal(0))
    numbers = {names[0]: made.where(loses, literal(1), literal(0)), names[1]: made.where(loses, literal(0), literal(1))}
    return source.statement(people.aggregate(**{name: made.total(number) for name, number in numbers.items()}))


def with_ids(
    source: Source, unit: Unit, columns: Mapping[str, Expression], where: Any = None, secret: bytes | None = None
) -> Relation:
    """The rows of which a condition is true with some columns and, of people, who they are of; null is nobody.

    With a secret, the table is truncated first, where the unit says so.
    """
    require_id(source, unit.id)
    once = unit.id is not None and unit.truncate == "table"
    table: Relation = truncated(source, unit, secret) if once and secret is not None else source.table
    table = table if where is None else table.filter(as_condition(where, source))
    if unit.id is None:
        return table.select(**columns)
    rows = table.select(who=source.column(unit.id), **columns)
    return rows.filter(made.is_known(rows["who"]))


def number_column(source: Source, column: str) -> Expression:
    """A column of numbers; undeclared text is read as numbers, and what cannot be read is null."""
    if column not in source.columns and not column.isidentifier():
        return as_number(column, source)
    value = source.column(column)
    if value.type.undeclared:
        return made.try_cast(value, "float64")
    if not value.type.is_number:
        raise InvalidInput(
            f"column {column!r} holds {value.type}, not numbers; open the table with types={{{column!r}: float}}."
        )
    return value


def statement(
    source: Source, unit: Unit, rows_each: int, contributions: Mapping[str, Contribution], secret: bytes
) -> Statement:
    """The sums of contributions over all rows, at most `rows_each` rows of each person taking part, jointly, as SQL.

    Which rows of a person are kept (`keep_alike`) depends on a keyed hash (MD5 of the data set's secret and the id) and
    on that person's rows as a set, not on their order or on anybody else's; who does not know the secret cannot arrange
    rows to be kept.
    """
    return source.statement(query(source, unit, rows_each, contributions, secret))


def query(
    source: Source, unit: Unit, rows_each: int, contributions: Mapping[str, Contribution], secret: bytes
) -> Relation:
    """The same as a query."""
    first = next(iter(contributions.values()))
    alone = len(contributions) == 1 and first.is_count
    if unit.id is None and alone:
        return rows_with(source, first.taking_part, next(iter(contributions)))
    named = {id(part): name for name, part in contributions.items()}
    rests = {name: named.get(id(part.rest_of)) for name, part in contributions.items()}
    columns = {name: part for name, part in contributions.items() if rests[name] is None}
    table = with_ids(source, unit, {name: part.column for name, part in columns.items()}, secret=secret)
    if unit.id is None:
        return table.aggregate(**_sums(table, contributions, rests))
    table = table.filter(any_known(table, list(columns)))
    if is_truncated(unit, rows_each):
        return table.aggregate(**_sums(table, contributions, rests))
    if alone:  # all rows of a person are alike
        people = table.aggregate(["who"], rows=made.count())
        kept = made.least(people["rows"], literal(rows_each))
        return people.aggregate(**{name: made.total(kept) for name in contributions})
    if rows_each * max(max(abs(part.least), abs(part.most)) for part in contributions.values()) >= LARGEST:
        kept_rows = keep_rows(table, tuple(columns), rows_each, secret)  # a value times its rows might not fit
        return kept_rows.aggregate(**_sums(kept_rows, contributions, rests))
    alike = keep_alike(table, tuple(columns), rows_each, secret)
    return alike.aggregate(**_sums(alike, contributions, rests, alike["times"]))


def rows_with(source: Source, condition: Expression | None, name: str) -> Relation:
    """How many rows a condition is true of (None: all rows); where a row is a unit, no more is needed."""
    rows: Relation = source.table if condition is None else source.table.filter(condition)
    return rows.aggregate(**{name: made.count()})


def is_truncated(unit: Unit, rows_each: int) -> bool:
    """Whether a table that `with_ids` has truncated holds no more rows of anybody than a question may use."""
    return unit.id is not None and unit.truncate == "table" and unit.rows_each <= rows_each


def any_known(table: Relation, names: Sequence[str]) -> Expression:
    """Whether one of some columns has a value."""
    return made.any_of(*(made.is_known(table[name]) for name in names))


def _sums(
    table: Relation,
    contributions: Mapping[str, Contribution],
    rests: Mapping[str, str | None],
    times: Expression | None = None,
) -> dict[str, Expression]:
    """The sums of columns, every row so many times.

    Rows that take part in another sum are counted there, and what one value lacks of a whole is taken from its sum:
    nothing is looked at twice.
    """

    def total(column: Expression) -> Expression:
        return made.total(column if times is None else column * times)

    sums: dict[str, Expression] = {}
    others = {name: part for name, part in contributions.items() if not part.is_count and rests[name] is None}
    for name, part in contributions.items():
        alike = [other for other, found in others.items() if found.taking_part is part.taking_part]
        rest = rests[name]
        if rest is not None:
            whole = made.where(made.is_known(table[rest]), literal(part.most))
            sums[name] = total(whole) - total(table[rest])
        elif part.is_count and alike and times is None:
            sums[name] = made.count(table[alike[0]])
        else:
            sums[name] = total(table[name])
    return sums


def keep_alike(table: Relation, names: tuple[str, ...], rows_each: int, secret: bytes) -> Relation:
    """Different rows of each `who` by the named integers, and in `times` how many rows alike are kept: so many in all.

    Who has no more rows than that keeps them all. Of T rows in the order of their integers, the others keep every
    T/k-th, beginning at a place u·T/k that a keyed hash of who they are chooses: of c rows alike c·k/T on average, and
    floor(b·k/T + u) - floor(a·k/T + u) of those from the a-th to the b-th. Over all rows of a person these add up to
    floor(k + u) - floor(u) = k. Floats round in one direction with growing a, and are cut to 0..k: whatever they do,
    no more than k are kept. It takes one look at each row, and a hash for rows that differ only.
    """
    found = table.aggregate(["who", *names], alike=made.count())
    order = [found[name] for name in names]
    ranked = found.extend(
        upto=made.sum_over(found["alike"], [found["who"]], order), many=made.sum_over(found["alike"], [found["who"]])
    )
    crowded = made.compare(">", ranked["many"], literal(rows_each))
    hashed = ranked.extend(key=made.where(crowded, _hashed(secret, ranked["who"])))
    rows = hashed.extend(start=_as_share(hashed["key"]))  # in a step of its own
    part = _taken(rows, rows["upto"], rows_each) - _taken(rows, rows["upto"] - rows["alike"], rows_each)
    kept = made.where(made.compare(">", rows["many"], literal(rows_each)), part, rows["alike"])
    return rows.extend(times=made.clamp(kept, 0, rows_each))


def _hashed(secret: bytes, *texts: Expression) -> Expression:
    """A keyed hash in hexadecimal of some values; of texts, their beginnings: where these are equal, columns decide."""
    parts = [literal(secret.hex())]
    for text in texts:
        short = made.substring(text, 1, MOST_HASHED // len(texts)) if text.type.kind == "text" else made.as_text(text)
        parts += [literal("|"), short]
    return made.md5(made.joined(*parts))


def _as_share(key: Expression) -> Expression:
    """A hash in hexadecimal as a number from 0 up to 1."""
    number = literal(0)
    for i in range(DIGITS):
        number = number * 16 + (made.place_in(HEX, made.substring(key, i + 1, 1)) - 1)
    return made.divide(made.clamp(made.to_float(number), 0.0, 16.0**DIGITS - 1), 16.0**DIGITS)


def _taken(rows: Relation, reached: Expression, rows_each: int) -> Expression:
    """How many of a person's first rows are kept, out of `many`, from a `start` on: 0 to `rows_each`, never falling."""
    share = made.divide(
        made.arithmetic("multiply", made.to_float(reached), literal(float(rows_each))), made.to_float(rows["many"])
    )
    whole = made.floor(made.arithmetic("add", share, rows["start"]))
    return made.to_integer(made.clamp(whole, 0.0, float(rows_each)))


def keep_rows(
    table: Relation,
    names: tuple[str, ...],
    rows_each: int,
    secret: bytes,
    differ: bool = False,
    hashed: bool = False,
) -> Relation:
    """At most so many rows of each `who`, by a keyed hash and the named columns alone.

    Who has no more rows than that keeps them all, and these are neither hashed nor sorted: that is what takes longest.
    Of the others, whole numbers are put in order, and every T/k-th is kept as in `keep_alike`, with one hash for each
    person. Texts have no order on which engines agree; so there the rows with the least hashes are kept.

    Parameters
    ----------
    table : rows with `who`, the named columns and perhaps others
    names : the columns that decide, together with who; rows that are alike in them must be alike in all
    rows_each : how many rows of one person are kept, at most
    secret : the data set's, for the keyed hash
    differ : whether no two rows of a person are alike
    hashed : whether the rows with the least hashes are kept of whole numbers, too
    """
    people = table.aggregate(["who"], many=made.count())
    crowded = people.filter(made.compare(">", people["many"], literal(rows_each)))
    crowd = crowded.select("many", crowd=crowded["who"])  # under another name than the rows'
    same = [made.compare("=", table["who"], crowd["crowd"])]
    if not hashed and all(table.columns[name].kind == "integer" for name in names):
        kept = _every_nth(table, crowd, names, rows_each, secret)
    else:
        kept = _least_hashes(table.join(crowd, same, "semi"), names, rows_each, secret, differ)
    return table.join(crowd, same, "anti").union(kept)


def _every_nth(table: Relation, crowd: Relation, names: tuple[str, ...], rows_each: int, secret: bytes) -> Relation:
    """Every T/k-th row of the people with T > k of them, in the order of whole numbers, null first."""
    hashed = crowd.extend(key=_hashed(secret, crowd["crowd"]))
    people = hashed.select("crowd", "many", start=_as_share(hashed["key"]))
    rows = table.join(people, [made.compare("=", table["who"], people["crowd"])])
    order = [part for name in names for part in (made.is_known(rows[name]), made.coalesce(rows[name], literal(0)))]
    ranked = rows.extend(nth=made.row_number([rows["who"]], order))
    upto, before = (_taken(ranked, place, rows_each) for place in (ranked["nth"], ranked["nth"] - 1))
    return ranked.filter(made.compare(">", upto, before)).select(*table.columns)


def _least_hashes(rows: Relation, names: tuple[str, ...], rows_each: int, secret: bytes, differ: bool) -> Relation:
    """The rows of each person whose hashes are least; of rows that are alike each has a number of its own."""
    by = [rows["who"], *(rows[name] for name in names)]
    numbered = rows if differ else rows.extend(nth=made.row_number(by))
    parts = names if differ else (*names, "nth")
    texts = [made.coalesce(made.as_text(numbered[part]), literal("-")) for part in ("who", *parts)]
    hashed = numbered.extend(key=made.substring(_hashed(secret, *texts), 1, SHORT))
    order = [hashed["key"], *(hashed[part] for part in parts)]
    ranked = hashed.extend(place=made.row_number([hashed["who"]], order))
    return ranked.filter(made.compare("<=", ranked["place"], literal(rows_each))).select(*rows.columns)


def require_id(source: Source, column: str | None) -> None:
    """Refuse an id column that is not there, or whose values do not name people exactly."""
    if column is None:
        return
    if column not in source.columns:
        raise InvalidInput(f"there is no id column {shown(column)}; {source.naming}.")
    kind = source.column(column).type
    if kind.kind not in ("integer", "text"):
        raise InvalidInput(
            f"the id column {column!r} holds {kind}; ids are whole numbers or text. Convert it beforehand."
        )
