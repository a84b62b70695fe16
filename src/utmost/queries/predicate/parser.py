"""Parse SQL text by sqlglot in DuckDB's dialect, with sqlglot's log silenced. No other module calls its parser.

sqlglot logs the text of what it cannot parse ("'CALL f(...)' contains unsupported syntax"). A condition may contain
somebody's guess about a person, so none of it may reach a log. Errors are raised instead.
"""

from __future__ import annotations

import logging
from typing import Any


def _drop(record: logging.LogRecord) -> bool:
    """Filter out every record of sqlglot, since any of them may quote a condition."""
    return False


logging.getLogger("sqlglot").addFilter(_drop)


def parse_sql(text: str) -> list[Any]:
    """The statements of a text as sqlglot expressions; raises sqlglot's own errors where the text is not SQL.

    Examples
    --------
    >>> [type(statement).__name__ for statement in parse_sql("age >= 65")]
    ['GTE']
    """
    import sqlglot

    return list(sqlglot.parse(text, read="duckdb"))
