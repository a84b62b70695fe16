"""Conditions as Ibis expressions, accepted at the door by the SQL that Ibis writes of them; Ibis itself runs nothing.

Ibis is not needed here: its objects are known by the package of their class.
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
    """Whether a value is one of Ibis."""
    return type(value).__module__.partition(".")[0] == "ibis"


def text_of_ibis(value: Any, source: Source) -> str:
    """The SQL of an Ibis condition: one of the table that the session was given, or a deferred one (`ibis._`)."""
    import ibis

    if isinstance(value, ibis.common.deferred.Deferred):
        return text_of_function(value.resolve, source)
    if not isinstance(value, ibis.expr.types.Value) or not value.type().is_boolean():
        raise InvalidInput("the condition does not say yes or no of a row; compare something, as in 'age >= 65'.")
    if source.given is None:
        raise NotRowWise(ELSEWHERE)
    return value_text(value, source.given)


def value_text(value: Any, table: Any) -> str:
    """The SQL of an Ibis value of a table, with its columns by their names alone."""
    import ibis
    from sqlglot import expressions as sql

    operations = ibis.expr.operations
    if any(field.rel != table.op() for field in value.op().find(operations.Field, filter=operations.Value)):
        raise NotRowWise(ELSEWHERE)
    try:
        plain = ibis.table(table.schema(), name="plain_rows")
        moved = value.op().replace({table.op(): plain.op()}).to_expr()
        (tree,) = parse_sql(str(ibis.to_sql(plain.select(condition=moved), dialect="duckdb")))
        node = tree.expressions[0]
        node = node.this if isinstance(node, sql.Alias) else node
        for column in list(node.find_all(sql.Column)):
            column.set("table", None)
        return str(node.sql(dialect="duckdb"))
    except RecursionError:
        raise
    except Exception:  # Ibis' words would show rows, if it is interactive
        pass
    raise InvalidInput("the condition cannot be built on this table; compare columns with values of their own type.")
