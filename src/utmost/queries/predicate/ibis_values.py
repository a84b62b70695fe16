"""Convert conditions that are Ibis expressions to SQL by Ibis' own compiler; Ibis itself runs nothing.

Ibis need not be installed: its objects are recognised by the package of their class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from utmost.errors import InvalidInput, NotRowWise
from utmost.queries.predicate.parser import parse_sql
from utmost.queries.predicate.python import text_of_function

if TYPE_CHECKING:
    from utmost.backends.source import Source

ELSEWHERE = (
    "the condition looks at another table than the session's; build it from the Ibis table that the session was given, "
    "or give a function: lambda t: t.age >= 65."
)


def is_ibis(value: Any) -> bool:
    """Whether a value is an object of Ibis."""
    return type(value).__module__.partition(".")[0] == "ibis"


def text_of_ibis(value: Any, source: Source) -> str:
    """The SQL of an Ibis condition, built from the session's own Ibis table or deferred (`ibis._`)."""
    import ibis

    if isinstance(value, ibis.common.deferred.Deferred):
        return text_of_function(value.resolve, source)
    if not isinstance(value, ibis.expr.types.Value) or not value.type().is_boolean():
        raise InvalidInput("the condition does not say yes or no of a row; compare something, as in 'age >= 65'.")
    if source.ibis_table is None:
        raise NotRowWise(ELSEWHERE)
    return value_text(value, source.ibis_table)


def value_text(value: Any, table: Any) -> str:
    """The SQL of an Ibis value of a table, with unqualified column names."""
    import ibis
    from sqlglot import expressions as sql

    operations = ibis.expr.operations
    if any(field.rel != table.op() for field in value.op().find(operations.Field, filter=operations.Value)):
        raise NotRowWise(ELSEWHERE)
    try:
        plain = ibis.table(table.schema(), name="plain_rows")
        expression = value.op().replace({table.op(): plain.op()}).to_expr()
        (tree,) = parse_sql(str(ibis.to_sql(plain.select(condition=expression), dialect="duckdb")))
        node = tree.expressions[0]
        node = node.this if isinstance(node, sql.Alias) else node
        for column in list(node.find_all(sql.Column)):
            column.set("table", None)
        return str(node.sql(dialect="duckdb"))
    except RecursionError:
        raise
    except Exception:  # in interactive mode, Ibis' message would show rows
        pass
    raise InvalidInput("the condition cannot be built on this table; compare columns with values of their own type.")
