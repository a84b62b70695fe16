"""Values of Ibis as PySpark columns that mean what they mean in DuckDB, with Spark's ANSI rules and without them.

No text is parsed by Spark and no Python runs in the cluster: every operation of the allow-list becomes a call of
PySpark. Where Spark differs from DuckDB the difference is written out here:

* a cast that does not fit raises under ANSI rules and gives 0, or wraps, without: values are cut to null beforehand;
* NaN equals NaN and lies above everything: conditions see none, for it is null there, and so is `isnan` of null;
* sums of BIGINT raise or wrap: they are added in parts, and put together as DECIMAL(38, 0), which no table fills;
* row numbers are INT, and overflow: rows are counted instead;
* times are compared without a zone (TIMESTAMP_NTZ), or as instants; a literal never goes through the session's zone.

What could not mean the same is refused by `require_same_meaning` before anything is read.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NoReturn

from utmost.errors import NotRowWise
from utmost.release.engines.spark_bounds import Bounds

WHOLE = {"int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint"}
TYPES = {**WHOLE, "float32": "float", "float64": "double", "boolean": "boolean", "string": "string", "date": "date"}
PARTS = {
    "Day": "dayofmonth",
    **{part: part.lower() for part in ("Year", "Quarter", "Month", "Hour", "Minute", "Second")},
}
ARROW = {"string": "string", "bool": "boolean", "date32[day]": "date", "int64": "bigint", "double": "double"}
"""Types of keys, as Arrow and Spark name them."""
EXACT_DIGITS = 15
"""Decimal numbers of this many digits become floats by one rounding, in every engine."""
MOST_DIGITS = 18
"""DuckDB keeps decimal numbers of this many digits in 64 bits; of more it converts in ways of its own."""
EXACT = 2**53
PART = 21
"""Bits of a part of a number that is added: 2^41 of them, and the difference of two such totals, fit 64 bits."""
HUGE = 2.0**62
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)


@dataclass(frozen=True, eq=False)
class Spark:
    """A Spark session as an engine, with the functions that make columns for it: classic or Connect.

    Attributes
    ----------
    session : the SparkSession
    functions : `pyspark.sql.functions`, or Connect's
    window : `pyspark.sql.Window`, or Connect's
    connect : whether it is a client of Spark Connect
    """

    session: Any = field(repr=False)
    functions: Any = field(repr=False)
    window: Any = field(repr=False)
    connect: bool = False
    name = "spark"

    def compile(self, query: Any) -> str:
        """A query in the words of DuckDB: how conditions are shown, and compared in the ledger; Spark sees no text."""
        import ibis

        return str(ibis.to_sql(query, dialect="duckdb", pretty=False))

    def frame(self, table: Any) -> Any:
        """A public Arrow table as a frame."""
        import pyspark

        kinds = ", ".join(f"{quoted(one.name)} {ARROW[str(one.type)]}" for one in table.schema)
        if int(pyspark.__version__.partition(".")[0]) < 4:  # which takes no Arrow table; a server may be newer
            rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
            return self.session.createDataFrame(list(rows), kinds)
        return self.session.createDataFrame(table, kinds)


class Columns:
    """Makes columns of Ibis values, each once.

    Parameters
    ----------
    spark : whose functions make them
    """

    def __init__(self, spark: Spark) -> None:
        self.spark, self.functions, self._made = spark, spark.functions, dict[Any, Any]()
        self._bounds = Bounds()

    def column(self, node: Any) -> Any:
        """The PySpark column of a value; its fields are columns of the frame it is used in."""
        if node not in self._made:
            name = type(node).__name__
            require_same_meaning(node)
            if name.startswith("Extract"):
                self._made[node] = getattr(self.functions, PARTS[name.removeprefix("Extract")])(self.column(node.arg))
            elif getattr(node, "__func_name__", None) == "md5":
                self._made[node] = self.functions.md5(self.column(node.text).cast("binary"))
            else:
                self._made[node] = getattr(self, f"_{name.lower()}", _unknown)(node)
        return self._made[node]

    # ---- what is given ----

    def _field(self, node: Any) -> Any:
        return self.functions.col(quoted(field_name(node.rel, node.name)))

    def _literal(self, node: Any) -> Any:
        value, kind, lit = node.value, node.dtype, self.functions.lit
        if value is None:
            return lit(None).cast(type_name(kind))
        if kind.is_integer():
            return lit(int(value)).cast("bigint")
        if kind.is_floating():
            return lit(float(value) + 0.0)  # one 0 of two
        if kind.is_timestamp() and kind.timezone is not None:
            return self.functions.timestamp_micros(lit((value - EPOCH) // MICROSECOND).cast("bigint"))
        if kind.is_decimal() or kind.is_date() or kind.is_timestamp():
            return lit(str(value)).cast(type_name(kind))
        return lit(bool(value) if kind.is_boolean() else str(value))

    # ---- conditions ----

    def _and(self, node: Any) -> Any:
        return self.column(node.left) & self.column(node.right)

    def _or(self, node: Any) -> Any:
        return self.column(node.left) | self.column(node.right)

    def _not(self, node: Any) -> Any:
        return ~self.column(node.arg)

    def _isnull(self, node: Any) -> Any:
        return self.column(node.arg).isNull()

    def _notnull(self, node: Any) -> Any:
        return self.column(node.arg).isNotNull()

    def _equals(self, node: Any) -> Any:
        return self.column(node.left) == self.column(node.right)

    def _notequals(self, node: Any) -> Any:
        return self.column(node.left) != self.column(node.right)

    def _greater(self, node: Any) -> Any:
        return self.column(node.left) > self.column(node.right)

    def _greaterequal(self, node: Any) -> Any:
        return self.column(node.left) >= self.column(node.right)

    def _less(self, node: Any) -> Any:
        return self.column(node.left) < self.column(node.right)

    def _lessequal(self, node: Any) -> Any:
        return self.column(node.left) <= self.column(node.right)

    def _identicalto(self, node: Any) -> Any:
        return self.column(node.left).eqNullSafe(self.column(node.right))

    def _between(self, node: Any) -> Any:
        value = self.column(node.arg)
        return (value >= self.column(node.lower_bound)) & (value <= self.column(node.upper_bound))

    def _invalues(self, node: Any) -> Any:
        value = self.column(node.value)
        if node.value.dtype.is_floating():
            value = value + 0.0  # of many options Spark makes a set, in which -0.0 is not 0.0
        return value.isin([self.column(option) for option in node.options])

    def _stringsqllike(self, node: Any) -> Any:
        return self.column(node.arg).like(node.pattern.value)

    def _startswith(self, node: Any) -> Any:
        return self.column(node.arg).startswith(self.column(node.start))

    def _endswith(self, node: Any) -> Any:
        return self.column(node.arg).endswith(self.column(node.end))

    def _stringcontains(self, node: Any) -> Any:
        return self.column(node.haystack).contains(self.column(node.needle))

    def _isnan(self, node: Any) -> Any:
        value = self.column(node.arg)
        return self.functions.when(value.isNotNull(), self.functions.isnan(value))

    def _isinf(self, node: Any) -> Any:
        value = self.column(node.arg)
        return (value == math.inf) | (value == -math.inf)

    def _ifelse(self, node: Any) -> Any:
        chosen = self.functions.when(self.column(node.bool_expr), self.column(node.true_expr))
        return chosen.otherwise(self.column(node.false_null_expr))

    def _searchedcase(self, node: Any) -> Any:
        chosen = self.functions
        for case, result in zip(node.cases, node.results, strict=True):
            chosen = chosen.when(self.column(case), self.column(result))
        return chosen.otherwise(self.column(node.default))

    def _coalesce(self, node: Any) -> Any:
        return self.functions.coalesce(*map(self.column, node.arg))

    # ---- arithmetic, of numbers whose bounds are known ----

    def _add(self, node: Any) -> Any:
        return self.column(node.left) + self.column(node.right)

    def _subtract(self, node: Any) -> Any:
        return self.column(node.left) - self.column(node.right)

    def _multiply(self, node: Any) -> Any:
        return self.column(node.left) * self.column(node.right)

    def _divide(self, node: Any) -> Any:
        return self.column(node.left) / self.column(node.right)

    def _negate(self, node: Any) -> Any:
        return -self.column(node.arg)

    def _abs(self, node: Any) -> Any:
        return self.functions.abs(self.column(node.arg))

    def _least(self, node: Any) -> Any:
        return self.functions.least(*map(self.column, node.arg))

    def _greatest(self, node: Any) -> Any:
        return self.functions.greatest(*map(self.column, node.arg))

    def _datedelta(self, node: Any) -> Any:
        return self.functions.datediff(self.column(node.left), self.column(node.right)).cast("bigint")

    def _translate(self, node: Any) -> Any:
        return self.functions.translate(self.column(node.arg), node.from_str.value, node.to_str.value)

    def _substring(self, node: Any) -> Any:
        return self.functions.substring(self.column(node.arg), node.start.value + 1, node.length.value)

    def _stringfind(self, node: Any) -> Any:
        found = self.functions.position(self.column(node.substr), self.column(node.arg))
        return (found - 1).cast("bigint")  # Ibis counts from 0

    def _floor(self, node: Any) -> Any:
        return self.functions.floor(self._within(self.column(node.arg), -HUGE, HUGE))

    def _stringconcat(self, node: Any) -> Any:
        return self.functions.concat(*map(self.column, node.arg))

    def _cast(self, node: Any) -> Any:
        return self._converted(self.column(node.arg), node.arg.dtype, node.to)

    def _trycast(self, node: Any) -> Any:
        return self._cast(node)

    def _converted(self, value: Any, source: Any, target: Any) -> Any:
        """A value in another type, null where it does not fit."""
        name = type_name(target)
        if source.is_decimal() and target.is_float64():
            return self._decimal_as_double(value, source)
        if not target.is_integer() or source.is_boolean() or source.is_null():
            return value.cast(name)
        if source.is_floating():  # rounded as DuckDB does, halves to even; Spark would cut off
            half = 2.0 ** (8 * target.nbytes - 1)
            return self._within(self.functions.rint(value.cast("double")), -half, half, True).cast(name)
        return value.cast(name)

    def _decimal_as_double(self, value: Any, kind: Any) -> Any:
        """A decimal number as DuckDB converts it: its units divided, or in two parts where they are too many."""
        if kind.precision <= EXACT_DIGITS or not kind.scale:
            return value.cast("double")
        ten = self.functions.lit(10**kind.scale).cast("bigint")
        whole = value.cast("bigint")  # cut off
        units = (value * ten.cast(f"decimal({kind.scale + 1},0)")).cast("bigint")
        parts = whole.cast("double") + (units - whole * ten).cast("double") / ten.cast("double")
        exact = (units >= -EXACT) & (units <= EXACT)
        return self.functions.when(exact, units.cast("double") / ten.cast("double")).otherwise(parts)

    def _within(self, value: Any, low: Any, high: Any, below: bool = False) -> Any:
        """A number, null where it is not in a range; so is NaN, which lies above everything."""
        fits = (value >= low) & ((value < high) if below else (value <= high))
        return self.functions.when(fits, value)

    # ---- over many rows, in the aggregations that questions make ----

    def _sum(self, node: Any) -> Any:
        """A sum of whole numbers, exact for tables of up to 2^41 rows: in parts of 21 bits, each added in 64.

        There are as many parts as the range of the numbers needs: one, if they are clamped below 2^21. A total of a
        part is less than 2^62 in size, so that the difference of two totals is a whole number of 64 bits, too.
        """
        value = self._chosen(node)
        if _is_total(node.arg):
            return self.functions.sum(value.cast("decimal(38,0)"))
        value, (low, high) = value.cast("bigint"), self._bounds.of(node.arg)
        several = next((n for n in (1, 2) if -(2 ** (PART * n)) <= low and high < 2 ** (PART * n)), 3)
        if several == 1:
            return self.functions.sum(value)
        mask, shift = self.functions.lit(2**PART - 1).cast("bigint"), self.functions.shiftright
        parts = [value, *(shift(value, PART * i) for i in range(1, several))]
        parts[:-1] = [part.bitwiseAND(mask) for part in parts[:-1]]
        whole = self.functions.sum(parts[0]).cast("decimal(19,0)")
        for i, part in enumerate(parts[1:], 1):
            scale = self.functions.lit(2 ** (PART * i)).cast("bigint").cast("decimal(14,0)")
            whole = whole + self.functions.sum(part).cast("decimal(19,0)") * scale
        return whole

    def _count(self, node: Any) -> Any:
        return self.functions.count(self._chosen(node))

    def _countstar(self, node: Any) -> Any:
        one = self.functions.lit(1)
        return self.functions.count(one if node.where is None else self.functions.when(self.column(node.where), one))

    def _chosen(self, node: Any) -> Any:
        value = self.column(node.arg)
        return value if node.where is None else self.functions.when(self.column(node.where), value)

    def _windowfunction(self, node: Any) -> Any:
        """A count, a sum of counts or the least number of one person's rows: up to this one in an order, or of all."""
        window, one = self.spark.window, self.functions.lit(1)
        over, kind = window.partitionBy(*map(self.column, node.group_by)), type(node.func).__name__
        if kind == "RowNumber" or (node.order_by and node.end is not None):
            keys = [self.column(key.arg).asc_nulls_last() for key in node.order_by] or [one]
            over = over.orderBy(*keys).rowsBetween(window.unboundedPreceding, window.currentRow)
        if kind in ("Sum", "Min"):
            added = self.functions.sum if kind == "Sum" else self.functions.min
            return added(self.column(node.func.arg).cast("bigint")).over(over)
        counted = self.functions.count(one).over(over)
        return counted - 1 if kind == "RowNumber" else counted  # Ibis counts from 0


def _is_total(node: Any) -> bool:
    """Whether a value is a sum already, of which Spark makes a decimal number."""
    if type(node).__name__ != "Field":
        if type(node).__name__ == "WindowFunction":  # of counts
            return False
        return type(node).__name__ == "Sum" or any(_is_total(part) for part in node.args if hasattr(part, "dtype"))
    relation = node.rel
    while type(relation).__name__ in ("Filter", "JoinReference", "Union"):
        relation = relation.left if type(relation).__name__ == "Union" else relation.parent
    if type(relation).__name__ == "Aggregate":
        return _is_total({**relation.groups, **relation.metrics}[node.name])
    return type(relation).__name__ != "DatabaseTable" and _is_total(relation.values[node.name])


def require_same_meaning(node: Any) -> None:
    """Refuse what Spark computes in another way than DuckDB, or fails in on some row."""
    name = type(node).__name__
    if name == "StringSQLILike":
        _refuse("ILIKE", "Spark and DuckDB change the case of some letters differently; use LIKE")
    if name not in ("Cast", "TryCast"):
        return
    source, target = node.arg.dtype, node.to
    if source.is_string() and not target.is_string():
        _refuse(
            f"a cast from text to {target}",
            "Spark reads '1e3' as no whole number and '1d' as a number, and DuckDB the other way round; store a column "
            "of that type",
        )
    if target.is_string() and not (source.is_integer() or source.is_string() or source.is_boolean()):
        _refuse("a cast to text", "engines write numbers and dates differently; compare the value itself")
    if source.is_integer() and target.is_integer() and source.nbytes > target.nbytes:
        _refuse(
            f"a cast from {source} to {target}",
            "DuckDB compares the number as it was, also one that does not fit; compare the column itself",
        )
    fits = {
        "to a float": target.is_float64() and (source.is_numeric() or source.is_boolean()),
        "to a whole number": target.is_integer()
        and (source.is_integer() or source.is_floating() or source.is_boolean()),
        "to text": target.is_string(),
        "of a time": target.is_date() and source.is_timestamp() and source.timezone is None,
        "of nothing": source.is_null() or source(nullable=True) == target(nullable=True),
        "of times": target.is_timestamp() and source.is_timestamp() and target.timezone == source.timezone,
    }
    if not any(fits.values()):
        _refuse(
            f"a cast from {source} to {target}", "Spark fails in it, or rounds in another way; compare the value itself"
        )


def type_name(kind: Any) -> str:
    """An Ibis type as Spark names it."""
    if kind.is_null():
        return "void"
    if kind.is_decimal():
        return f"decimal({kind.precision},{kind.scale})"
    if kind.is_timestamp():
        return "timestamp_ntz" if kind.timezone is None else "timestamp"
    return TYPES[str(kind(nullable=True))]


def field_name(relation: Any, name: str) -> str:
    """What a column is called in a frame: in a join, with the number of the table it comes from."""
    return f"{relation.identifier}.{name}" if type(relation).__name__ == "JoinReference" else name


def quoted(name: str) -> str:
    """A name as PySpark takes it, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def all_true(conditions: list[Any]) -> Any:
    """That all of some conditions hold."""
    both: Callable[[Any, Any], Any] = lambda one, other: one & other  # noqa: E731
    return reduce(both, conditions)


def _unknown(node: Any) -> NoReturn:
    _refuse(type(node).__name__, "how Spark computes it is not known here")


def _refuse(what: str, why: str) -> NoReturn:
    raise NotRowWise(f"{what} is not allowed on Spark: {why}.")
