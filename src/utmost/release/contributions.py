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

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

from utmost.errors import InvalidInput, shown
from utmost.exact import Number, as_literal, as_rational, show_rational
from utmost.release.arguments import Neighbours
from utmost.release.conditions import as_condition, as_number
from utmost.release.source import Source, Statement, is_known, kind_of
from utmost.release.units import Unit

TINY = 1e-290
"""Quotients below this are written as 0, which they are rounded to."""
MOST_SIZE = 10**120
"""The square of a sum of the most numbers of this size is a float still."""
MOST_STEPS = 2**48
"""Contributions are below this, so that scaling in floating point errs by less than half a step at the ends."""


LARGEST = 2**62
"""Sums over one person's rows are below this."""
HEX, DIGITS = "0123456789abcdef", 4
SHORT = 12
"""How many digits of a hash rows are sorted by; where these are equal, the columns decide."""


@dataclass(frozen=True)
class Contribution:
    """What a row adds to a statistic, and its bounds.

    Attributes
    ----------
    taking_part : an Ibis condition that says which rows do; None for all
    value : an Ibis integer column, or a plain 1
    least, most : what the value lies between wherever the row takes part
    rest_of : another contribution whose value and this one's add up to `most` in every row; None where there is none
    """

    taking_part: Any = field(repr=False)  # an interactive Ibis would print what they are of every row
    value: Any = field(repr=False)
    least: int
    most: int
    rest_of: Contribution | None = field(default=None, repr=False)

    @property
    def column(self) -> Any:
        """The value, null where the row takes no part."""
        import ibis

        everyone = ibis.literal(True) if self.taking_part is None else self.taking_part
        return ibis.ifelse(everyone, self.value, ibis.null("int64")).cast("int64")

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


def ones(source: Source, where: Any) -> Contribution:
    """1 for every row of which the condition is true (every row without one): what a count adds up."""
    return Contribution(None if where is None else as_condition(where, source), 1, 1, 1)


def votes(source: Source, where: Any) -> Contribution:
    """1 where the condition is true, -1 where it is false; a row where it is unknown does not vote."""
    import ibis

    condition = as_condition(where, source)
    return Contribution(is_known(condition), ibis.ifelse(condition, 1, -1).cast("int64"), -1, 1)


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

    def moves(self, neighbours: Neighbours) -> int:
        """How far one row moves a sum of values, in steps: a row without a value adds nothing."""
        if neighbours == "add-remove":
            return max(abs(self.least), abs(self.most))
        return max(self.most, 0) - min(self.least, 0)


def cut_to(grid: Grid) -> str:
    """What is done to values, in words."""
    rounded = "" if grid.step == 1 else f" and rounded to {show_rational(grid.step)}"
    return f"values cut to {show_rational(grid.lower)}..{show_rational(grid.upper)}{rounded}"


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
        raise InvalidInput(f"the range reaches beyond 2^48 steps of {show_rational(step)}; choose a coarser grid.")
    return Grid(low, high, step)


def as_range(lower: Number, upper: Number) -> Grid:
    """A range of values that are not rounded."""
    low, high = as_rational(lower, "lower"), as_rational(upper, "upper")
    if low > high:
        raise InvalidInput(
            f"lower is {shown(lower)} and upper {shown(upper)}; give a range of values, such as lower=0, upper=100."
        )
    return Grid(low, high, Fraction(1))


def values(source: Source, column: str, grid: Grid, where: Any) -> Contribution:
    """A column clamped and rounded to a grid, half up, as whole steps; null, NaN and infinities take no part."""
    import ibis

    value = number_column(source, column)
    within = max(abs(grid.lower), abs(grid.upper)) < 2**63
    whole = value.type().is_integer() and grid.step.denominator == 1 and within
    low, high = (
        ibis.literal(int(end), "int64") if whole else ibis.literal(float(end), "float64")
        for end in (grid.lower, grid.upper)
    )
    present = value.notnull()
    if not whole:
        value = value.cast("float64")
        present = present & ~value.isnan() & ~value.isinf()
    clamped = ibis.greatest(ibis.least(value, high), low)
    if whole and grid.step == 1:
        steps = clamped.cast("int64")
    else:
        scale = 1 / grid.step
        scaled = clamped.cast("float64")
        scaled = scaled if scale.numerator == 1 else scaled * float(scale.numerator)
        if scale.denominator != 1:
            least = TINY * float(scale.denominator)  # PostgreSQL fails where a quotient of numbers above 0 is 0
            tiny = (scaled > -least) & (scaled < least)
            scaled = ibis.ifelse(tiny, 0.0, scaled) / float(scale.denominator)
        steps = (scaled + 0.5).floor().cast("int64")
    offset = int(grid.origin / grid.step)
    steps = steps - offset if offset else steps
    taking_part = present if where is None else as_condition(where, source) & present
    return Contribution(taking_part, steps, grid.least, grid.most)


def distances_to_ends(source: Source, column: str, grid: Grid, where: Any) -> tuple[Contribution, Contribution]:
    """How far a value lies above the lower end of its range, and below the upper one, in steps."""
    above = values(source, column, Grid(grid.lower, grid.upper, grid.step, grid.lower), where)
    return above, Contribution(above.taking_part, above.most - above.value, 0, above.most, above)


def outside(source: Source, column: str, grid: Grid, where: Any) -> Contribution:
    """1 for every value that lies outside the range of a grid; null, NaN and infinities are no values."""
    import ibis

    value = number_column(source, column).cast("float64")
    low, high = (ibis.literal(float(end), "float64") for end in (grid.lower, grid.upper))
    out = value.notnull() & ~value.isnan() & ~value.isinf() & ((value < low) | (value > high))
    return Contribution(out if where is None else as_condition(where, source) & out, 1, 1, 1)


def people_with_more(source: Source, unit: Unit, where: Any, name: str, up_to: int | None = None) -> Statement:
    """How many people have more than `rows_each` rows with a condition, or how many rows that is too many.

    One person moves the number of people by one, that of rows by `up_to`: no more of a person's are counted.
    """
    import ibis

    require_id(source, unit.id)
    table = source.table if where is None else source.table.filter(as_condition(where, source))
    rows = table.select(who=table[unit.id])
    rows = rows.filter(rows.who.notnull())
    people = rows.group_by("who").aggregate(rows=rows.count())
    more = people.filter(people.rows > unit.rows_each)
    if up_to is None:
        return source.statement(more.aggregate(**{name: more.count()}))
    beyond = ibis.ifelse(more.rows > unit.rows_each + up_to, up_to, more.rows - unit.rows_each)
    return source.statement(more.aggregate(**{name: beyond.sum()}))


def number_column(source: Source, column: str) -> Any:
    """A column of numbers; undeclared text is read as numbers, and what cannot be read is null."""
    if column not in source.columns and not column.isidentifier():
        return as_number(column, source)
    value = source.column(column)
    if column in source.untyped:
        return value.try_cast("float64")
    if kind_of(value.type()) != "number":
        raise InvalidInput(
            f"column {column!r} holds {value.type()}, not numbers; open the table with types={{{column!r}: float}}."
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


def query(source: Source, unit: Unit, rows_each: int, contributions: Mapping[str, Contribution], secret: bytes) -> Any:
    """The same as an Ibis query."""
    import ibis

    require_id(source, unit.id)
    first = next(iter(contributions.values()))
    alone = len(contributions) == 1 and first.is_count
    if unit.id is None and alone:
        return source.rows_with(first.taking_part, next(iter(contributions)))
    named = {id(part): name for name, part in contributions.items()}
    rests = {name: named.get(id(part.rest_of)) for name, part in contributions.items()}
    columns = {name: part for name, part in contributions.items() if rests[name] is None}
    table = source.table.select(
        **({"who": source.table[unit.id]} if unit.id is not None else {}),
        **{name: part.column for name, part in columns.items()},
    )
    if unit.id is None:
        return table.aggregate(**_sums(table, contributions, rests))
    taking_part = ibis.literal(False)
    for name in columns:
        taking_part = taking_part | table[name].notnull()
    table = table.filter(table.who.notnull() & taking_part)
    if alone:  # all rows of a person are alike
        people = table.group_by("who").aggregate(rows=table.count())
        kept = ibis.ifelse(people.rows > rows_each, rows_each, people.rows)
        return people.aggregate(**{name: kept.sum() for name in contributions})
    if rows_each * max(max(abs(part.least), abs(part.most)) for part in contributions.values()) >= LARGEST:
        kept = keep_rows(table, tuple(columns), rows_each, secret)  # a value times its rows might not fit
        return kept.aggregate(**_sums(kept, contributions, rests))
    alike = keep_alike(table, tuple(columns), rows_each, secret)
    return alike.aggregate(**_sums(alike, contributions, rests, alike.times))


def _sums(
    table: Any, contributions: Mapping[str, Contribution], rests: Mapping[str, str | None], times: Any = None
) -> dict[str, Any]:
    """The sums of columns, every row so many times.

    Rows that take part in another sum are counted there, and what one value lacks of a whole is taken from its sum:
    nothing is looked at twice.
    """
    import ibis

    def total(column: Any) -> Any:
        return (column if times is None else column * times).sum()

    sums: dict[str, Any] = {}
    others = {name: part for name, part in contributions.items() if not part.is_count and rests[name] is None}
    for name, part in contributions.items():
        alike = [other for other, found in others.items() if found.taking_part is part.taking_part]
        rest = rests[name]
        if rest is not None:
            whole = ibis.ifelse(table[rest].notnull(), ibis.literal(part.most, "int64"), ibis.null("int64"))
            sums[name] = total(whole) - total(table[rest])
        elif part.is_count and alike and times is None:
            sums[name] = table[alike[0]].count()
        else:
            sums[name] = total(table[name])
    return sums


def keep_alike(table: Any, names: tuple[str, ...], rows_each: int, secret: bytes) -> Any:
    """Different rows of each `who` by the named integers, and in `times` how many rows alike are kept: so many in all.

    Who has no more rows than that keeps them all. Of T rows in the order of their integers, the others keep every
    T/k-th, beginning at a place u·T/k that a keyed hash of who they are chooses: of c rows alike c·k/T on average, and
    floor(b·k/T + u) - floor(a·k/T + u) of those from the a-th to the b-th. Over all rows of a person these add up to
    floor(k + u) - floor(u) = k. Floats round in one direction with growing a, and are cut to 0..k: whatever they do,
    no more than k are kept. It takes one look at each row, and a hash for rows that differ only.
    """
    import ibis

    found = table.group_by(["who", *names]).aggregate(alike=table.count())
    order = {"group_by": "who", "order_by": list(names)}
    ranked = found.mutate(
        upto=found.alike.sum().over(ibis.window(**order, rows=(None, 0))).cast("int64"),
        many=found.alike.sum().over(ibis.window(**order, rows=(None, None))).cast("int64"),
    )
    text = ibis.literal(secret.hex()) + "|" + ranked.who.cast("string")
    hashed = ranked.mutate(key=ibis.ifelse(ranked.many > rows_each, _md5()(text), ibis.null("string")))
    rows = hashed.mutate(start=_as_share(hashed.key))  # in a step of its own
    part = _taken(rows, rows.upto, rows_each) - _taken(rows, rows.upto - rows.alike, rows_each)
    return rows.mutate(times=ibis.ifelse(rows.many > rows_each, part, rows.alike).cast("int64"))


def _as_share(key: Any) -> Any:
    """A hash in hexadecimal as a number from 0 up to 1."""
    import ibis

    digits = [ibis.literal(HEX).find(key.substr(i, 1)).cast("float64") for i in range(DIGITS)]
    return sum(digit / 16.0 ** (i + 1) for i, digit in enumerate(digits))


def _taken(rows: Any, reached: Any, rows_each: int) -> Any:
    """How many of a person's first rows are kept, out of `many`, from a `start` on: 0 to `rows_each`, never falling."""
    import ibis

    whole = (reached.cast("float64") * float(rows_each) / rows.many.cast("float64") + rows.start).floor()
    return ibis.least(ibis.greatest(whole, 0), rows_each)


def keep_rows(table: Any, names: tuple[str, ...], rows_each: int, secret: bytes, differ: bool = False) -> Any:
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
    """
    people = table.group_by("who").aggregate(many=table.count())
    crowded = people.filter(people.many > rows_each)
    if all(table[name].type().is_integer() for name in names):
        kept = _every_nth(table, crowded, names, rows_each, secret)
    else:
        kept = _least_hashes(table.semi_join(crowded.select("who"), "who"), names, rows_each, secret, differ)
    few = crowded.select(crowd="who")  # under another name, for else the people would be counted twice
    return table.anti_join(few, [table.who == few.crowd]).select(*table.columns).union(kept)


def _every_nth(table: Any, crowded: Any, names: tuple[str, ...], rows_each: int, secret: bytes) -> Any:
    """Every T/k-th row of the people with T > k of them, in the order of whole numbers, null first."""
    import ibis

    hashed = crowded.mutate(key=_md5()(ibis.literal(secret.hex()) + "|" + crowded.who.cast("string")))
    people = hashed.select(crowd="who", many="many", start=_as_share(hashed.key))
    rows = table.join(people, [table.who == people.crowd])
    order = [part for name in names for part in (rows[name].notnull(), rows[name].fill_null(0))]
    ranked = rows.mutate(nth=ibis.row_number().over(group_by="who", order_by=order))  # Ibis counts from 0
    kept = ranked.filter(_taken(ranked, ranked.nth + 1, rows_each) > _taken(ranked, ranked.nth, rows_each))
    return kept.select(*table.columns)


def _least_hashes(rows: Any, names: tuple[str, ...], rows_each: int, secret: bytes, differ: bool) -> Any:
    """The rows of each person whose hashes are least; of rows that are alike each has a number of its own."""
    import ibis

    told = rows if differ else rows.mutate(nth=ibis.row_number().over(group_by=["who", *names]))
    parts = names if differ else (*names, "nth")
    text = ibis.literal(secret.hex())
    for part in ("who", *parts):
        text = text + "|" + told[part].cast("string").fill_null("-")
    hashed = told.mutate(key=_md5()(text).substr(0, SHORT))
    ranked = hashed.mutate(place=ibis.row_number().over(group_by="who", order_by=["key", *parts]))
    return ranked.filter(ranked.place < rows_each).select(*rows.columns)


def require_id(source: Source, column: str | None) -> None:
    """Refuse an id column that is not there, or whose values do not name people exactly."""
    if column is None:
        return
    if column not in source.columns:
        raise InvalidInput(f"there is no id column {shown(column)}; {source.naming}.")
    kind = source.column(column).type()
    if not (kind.is_integer() or kind.is_string() or kind.is_uuid()):
        raise InvalidInput(
            f"the id column {column!r} holds {kind}; ids are whole numbers or text. Convert it beforehand."
        )


@lru_cache(maxsize=1)
def _md5() -> Any:
    """The engine's own MD5 as hexadecimal text: the same in DuckDB and PostgreSQL."""
    import ibis

    def md5(text: str) -> str:
        """Computed by the engine."""
        return ""

    return ibis.udf.scalar.builtin(md5)
