"""Translate typed expressions into PySpark columns that mean the same as in DuckDB, with and without ANSI mode.

No text is parsed by Spark and no Python runs in the cluster: every operation becomes a call of PySpark. SQL text would
not do: settings of the user's session change how Spark parses it, such as ANSI mode and its reserved words, escapes in
texts, and whether double quotes enclose a name or a text; a tree of calls has one meaning. Where Spark differs from
DuckDB, or fails, the translation makes up for it:

* integers that overflow raise under ANSI rules and wrap without: BIGINT computes what provably fits by the ranges of
  types, DECIMAL(38, 0) the rest;
* a cast that does not fit raises, or gives another number: only what provably fits is cast;
* NaN equals NaN and lies above everything: it becomes null when a column is read (`spark_types`);
* sums of BIGINT raise or wrap: they are added in parts that fit whatever the rows;
* FLOOR of a DOUBLE is a BIGINT, and no other number beyond its ends: those have no fraction, and stay as they are;
* row numbers are INT, and overflow: rows are counted instead;
* times are compared without a zone (TIMESTAMP_NTZ), or as instants; a literal never goes through the session's zone.

What cannot have the same meaning is refused by `require_same_meaning` before anything is read.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NoReturn

from utmost.backends.spark_types import EXACT, WIDE, literal, quoted, type_name
from utmost.errors import NotRowWise
from utmost.queries.expressions.types import MOST_ROWS, WIDEST, Type
from utmost.queries.expressions.values import Expression
from utmost.queries.expressions.values import literal as whole_number

PARTS = {"day": "dayofmonth"}
"""Parts of dates whose function has a different name in PySpark."""
ARROW = {
    **{"string": "string", "bool": "boolean", "date32[day]": "date", "int64": "bigint", "double": "double"},
    "decimal128(38, 0)": WIDE,
}
"""Spark types of keys, by their Arrow types."""
PART = 63 - (MOST_ROWS.bit_length() - 1)
"""Bits of a number that are added together: a sum of such parts over all rows fits 64 bits."""
SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    **{"=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
    **{"add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv},
    **{"and": operator.and_, "or": operator.or_},
}


@dataclass(frozen=True, eq=False)
class Spark:
    """A Spark session, classic or Connect, with the functions that make its columns.

    Attributes
    ----------
    session : SparkSession
    functions : module
        `pyspark.sql.functions`, or Connect's.
    window : type
        `pyspark.sql.Window`, or Connect's.
    connect : bool
        Whether it is a client of Spark Connect.
    """

    session: Any = field(repr=False)
    functions: Any = field(repr=False)
    window: Any = field(repr=False)
    connect: bool = False

    def frame(self, table: Any) -> Any:
        """A public Arrow table as a frame."""
        import pyspark

        table = _signed(table)
        kinds = ", ".join(f"{quoted(one.name)} {ARROW[str(one.type)]}" for one in table.schema)
        if int(pyspark.__version__.partition(".")[0]) < 4:  # takes no Arrow table, even if the server does
            rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
            return self.session.createDataFrame(list(rows), kinds)
        return self.session.createDataFrame(table, kinds)


def _signed(table: Any) -> Any:
    """Convert unsigned 64-bit integers, which Spark lacks, to decimal numbers."""
    import pyarrow

    wide = pyarrow.decimal128(38, 0)
    kinds = [one.with_type(wide) if pyarrow.types.is_uint64(one.type) else one for one in table.schema]
    return table.cast(pyarrow.schema(kinds))


class Columns:
    """Translates expressions; equal ones share a column, because PySpark takes a millisecond or two to make one.

    Parameters
    ----------
    spark : Spark
        The session whose functions are called.
    plain : Columns, optional
        Translates expressions as they are. If given, this object takes conditions of the user's as true and computes
        all branches of what they guard, which is how a statement is rehearsed.
    """

    def __init__(self, spark: Spark, plain: Columns | None = None) -> None:
        self.spark, self.functions, self.plain = spark, spark.functions, plain
        self._made: dict[Expression, Any] = {}
        self._first: dict[Expression, Expression] = {}
        self._alike: dict[Any, Expression] = {}
        self._conditional: dict[Expression, bool] = {}

    def column(self, value: Expression) -> Any:
        """The PySpark column of an expression, of the Spark type that `type_name` gives for its type."""
        value = self._first_alike(value)
        if value not in self._made:
            if self.plain is not None and not self._has_condition(value):
                return self.plain.column(value)
            make = getattr(self, f"_{value.op}", None)
            if make is None:
                _refuse(value.op, "how Spark computes it is not known here")
            self._made[value] = make(value)
        return self._made[value]

    def _first_alike(self, value: Expression) -> Expression:
        """The first expression that was built like this one."""
        if value not in self._first:
            parts = tuple(id(self._first_alike(part)) for part in value.parts)
            key = value.op, value.type, type(value.value), value.value, parts
            self._first[value] = self._alike.setdefault(key, value)
        return self._first[value]

    def _has_condition(self, value: Expression) -> bool:
        """Whether an expression contains a condition of the user's."""
        if value not in self._conditional:
            below = [self._has_condition(part) for part in value.parts]
            self._conditional[value] = value.op == "condition" or any(below)
        return self._conditional[value]

    def cast(self, value: Expression, name: str) -> Any:
        """The column of an expression, cast to a Spark type that holds its values."""
        column = self.column(value)
        return column if type_name(value.type) == name else column.cast(name)

    def _one_width(self, *values: Expression) -> list[Any]:
        """The columns of expressions: integers in the widest of their types, other values as they are."""
        wide = any(value.type.is_wide for value in values)
        return [self.cast(value, WIDE) if wide else self.column(value) for value in values]

    def _narrowed(self, column: Any, kind: Type, parts: tuple[Expression, ...]) -> Any:
        """Cast a column that was computed from wide integers to BIGINT, if the type of the result is not wide."""
        return column.cast("bigint") if any(part.type.is_wide for part in parts) and not kind.is_wide else column

    def _column(self, value: Expression) -> Any:
        return self.functions.col(quoted(value.value))

    def _literal(self, value: Expression) -> Any:
        return literal(self.functions, value.value, value.type)

    # ---- conditions ----

    def _condition(self, value: Expression) -> Any:
        return self.column(value.parts[0]) if self.plain is None else self.functions.lit(True)

    def _and(self, value: Expression) -> Any:
        return reduce(SIGNS[value.op], map(self.column, value.parts))

    _or = _and

    def _not(self, value: Expression) -> Any:
        return ~self.column(value.parts[0])

    def _is_null(self, value: Expression) -> Any:
        return self.column(value.parts[0]).isNull()

    def _not_null(self, value: Expression) -> Any:
        return self.column(value.parts[0]).isNotNull()

    def _infinite(self, value: Expression) -> Any:
        this = self.column(value.parts[0])
        return (this == math.inf) | (this == -math.inf)

    def _compare(self, value: Expression) -> Any:
        left, right = self._one_width(*value.parts)
        return left.eqNullSafe(right) if value.value == "same" else SIGNS[value.value](left, right)

    def _in(self, value: Expression) -> Any:
        this, *options = self._one_width(*value.parts)
        if value.parts[0].type.kind == "float":
            this = this + 0.0  # with many options Spark uses a set, in which -0.0 is not 0.0
        return this.isin(options)

    def _like(self, value: Expression) -> Any:
        return self.column(value.parts[0]).like(value.value)

    def _starts_with(self, value: Expression) -> Any:
        this, part = map(self.column, value.parts)
        return this.startswith(part)

    def _ends_with(self, value: Expression) -> Any:
        this, part = map(self.column, value.parts)
        return this.endswith(part)

    def _contains(self, value: Expression) -> Any:
        this, part = map(self.column, value.parts)
        return this.contains(part)

    # ---- one of several values ----

    def _case(self, value: Expression) -> Any:
        *pairs, default = value.parts
        name = type_name(value.type)
        results = [self.cast(result, name) for result in (*pairs[1::2], default)]
        if self.plain is not None and pairs[0].op == "condition":
            return self.functions.least(*results) if value.type.is_number else results[0]
        branches = self.functions
        for condition, result in zip(pairs[::2], results, strict=False):
            branches = branches.when(self.column(condition), result)
        return branches.otherwise(results[-1])

    def _coalesce(self, value: Expression) -> Any:
        return self.functions.coalesce(*(self.cast(part, type_name(value.type)) for part in value.parts))

    def _least(self, value: Expression) -> Any:
        """Compute in the widest type, then cast to that of the result, whose range a literal may bound."""
        parts = self._one_width(*value.parts)
        extreme = getattr(self.functions, value.op)(*parts) if len(parts) > 1 else parts[0]
        return self._narrowed(extreme, value.type, value.parts)

    _greatest = _least

    def _clamp(self, value: Expression) -> Any:
        this, low, high = self._one_width(*value.parts)
        column = self.functions.when(this < low, low).when(this > high, high).otherwise(this)
        return self._narrowed(column, value.type, value.parts)

    # ---- numbers ----

    def _arithmetic(self, value: Expression) -> Any:
        if value.type.kind == "integer":
            wide = value.type.is_wide or any(part.type.is_wide for part in value.parts)
            left, right = (self.cast(part, WIDE if wide else "bigint") for part in value.parts)
            column = SIGNS[value.op](left, right)  # two DECIMAL(38, 0) give a DECIMAL(38, 0)
            return column.cast("bigint") if wide and not value.type.is_wide else column
        left, right = map(self.column, value.parts)
        return SIGNS[value.op](left, right)

    _add = _subtract = _multiply = _divide = _arithmetic

    def _negate(self, value: Expression) -> Any:
        return -self.column(value.parts[0])

    def _absolute(self, value: Expression) -> Any:
        return self.functions.abs(self.column(value.parts[0]))

    def _floor(self, value: Expression) -> Any:
        this, kind = self.column(value.parts[0]), value.type
        whole = self.functions.floor(this).cast("double")
        if kind.low >= -EXACT and kind.high <= EXACT:
            return whole
        return self.functions.when((this > -EXACT) & (this < EXACT), whole).otherwise(this)

    def _round_even(self, value: Expression) -> Any:
        return self.functions.rint(self.column(value.parts[0]))

    def _converted(self, value: Expression) -> Any:
        return self.column(value.parts[0]).cast(type_name(value.type))

    _to_float = _to_text = _to_date = _to_timestamp = _widen = _converted

    def _to_integer(self, value: Expression) -> Any:
        part = value.parts[0]
        if part.op == "floor":  # a BIGINT already, which holds all of its range
            return self.functions.floor(self.column(part.parts[0]))
        return self.column(part).cast("bigint")

    # ---- dates and texts ----

    def _part(self, value: Expression) -> Any:
        function = getattr(self.functions, PARTS.get(value.value, value.value))
        return function(self.column(value.parts[0])).cast("bigint")

    def _days(self, value: Expression) -> Any:
        left, right = map(self.column, value.parts)
        return self.functions.datediff(left, right).cast("bigint")

    def _letters(self, value: Expression) -> Any:
        return self.functions.translate(self.column(value.parts[0]), *value.value)

    def _substring(self, value: Expression) -> Any:
        return self.functions.substring(self.column(value.parts[0]), *value.value)

    def _concat(self, value: Expression) -> Any:
        return self.functions.concat(*map(self.column, value.parts))

    def _md5(self, value: Expression) -> Any:
        return self.functions.md5(self.column(value.parts[0]).cast("binary"))

    def _place_in(self, value: Expression) -> Any:
        place = self.functions.position(self.column(value.parts[0]), self.functions.lit(value.value))
        return place.cast("bigint")

    # ---- over many rows ----

    def _sum(self, value: Expression) -> Any:
        """A sum of integers, exact for tables of up to 2^48 rows: numbers are split into parts of 15 bits, added in 64.

        There are as many parts as the range of the numbers needs: one, if they are clamped below 2^15. A sum of sums
        is no larger than the sum of all rows, and is computed in the type of that sum.
        """
        part = value.parts[0]
        if max(-value.type.low, value.type.high) > WIDEST:
            raise NotRowWise("this sum may not fit 38 digits; choose a coarser grid or a narrower range.")
        if not value.type.is_wide:
            return self.functions.sum(self.column(part))
        if part.type.total or part.type.is_wide:
            return self.functions.sum(self.cast(part, WIDE))
        bits = max(int(part.type.high), -int(part.type.low) - 1).bit_length()
        this, mask = self.column(part), self.column(whole_number(2**PART - 1))
        last = (bits - 1) // PART * PART
        whole = self.functions.sum(self.functions.shiftright(this, last)).cast(WIDE)
        for start in range(last - PART, -1, -PART):
            low = self.functions.shiftright(this, start) if start else this
            added = self.functions.sum(low.bitwiseAND(mask)).cast(WIDE)
            whole = whole * self.cast(whole_number(2**PART), WIDE) + added
        return whole

    def _count(self, value: Expression) -> Any:
        return self.functions.count(self.column(value.parts[0]) if value.parts else self.functions.lit(1))

    def _over(self, value: Expression, operands: int) -> Any:
        """The window of rows with the same values: all of them, or those up to this row in an order."""
        several, ordered = value.value
        rest = [self.column(part) for part in value.parts[operands:]]
        window, over = self.spark.window, self.spark.window.partitionBy(*rest[:several])
        if not ordered and value.op != "over_number":
            return over
        order = [key.asc_nulls_last() for key in rest[several:]] or [self.functions.lit(1)]
        return over.orderBy(*order).rowsBetween(window.unboundedPreceding, window.currentRow)

    def _over_sum(self, value: Expression) -> Any:
        return self.functions.sum(self.column(value.parts[0])).over(self._over(value, 1))

    def _over_min(self, value: Expression) -> Any:
        return self.functions.min(self.column(value.parts[0])).over(self._over(value, 1))

    def _over_number(self, value: Expression) -> Any:
        return self.functions.count(self.functions.lit(1)).over(self._over(value, 0))


def grouped_by(window: Expression) -> list[Expression]:
    """The expressions by which a window function is partitioned."""
    operands = 0 if window.op == "over_number" else 1
    return list(window.parts[operands : operands + window.value[0]])


def require_same_meaning(node: Expression) -> None:
    """Refuse operations that Spark computes differently from DuckDB."""
    source = node.parts[0].type if node.parts else node.type
    if node.op == "ilike":
        _refuse("ILIKE", "Spark and DuckDB change the case of some letters differently; use LIKE")
    if node.op == "read":
        _refuse(
            f"a cast from text to {node.type}",
            "Spark reads '1e3' as no whole number and '1d' as a number, and DuckDB the other way round; store a column "
            "of that type",
        )
    if node.op == "to_text" and source.kind not in ("integer", "text", "boolean"):
        _refuse("a cast to text", "engines write numbers and dates differently; compare the value itself")
    if node.op == "decimal":
        _refuse(
            f"a cast from {source} to {node.type}",
            "Spark fails in it, or rounds in another way; compare the value itself",
        )


def all_true(conditions: list[Any]) -> Any:
    """The conjunction of conditions."""
    return reduce(operator.and_, conditions)


def _refuse(what: str, why: str) -> NoReturn:
    raise NotRowWise(f"{what} is not allowed on Spark: {why}.")
