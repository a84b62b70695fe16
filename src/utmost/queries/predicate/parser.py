"""The one place where SQL text is parsed, by sqlglot in DuckDB's dialect, and where sqlglot's log is silenced.

sqlglot logs the text of what it cannot read ("'CALL f(...)' contains unsupported syntax"). A condition may hold
somebody's guess about a person, so none of it may reach a log. What is wrong with a text is said in an error instead.
"""

from __future__ import annotations

import logging
from typing import Any


def _drop(record: logging.LogRecord) -> bool:
    """Whether a record of sqlglot is logged: none is, since any of them may quote a condition."""
    return False


logging.getLogger("sqlglot").addFilter(_drop)


def parse_sql(text: str) -> list[Any]:
    """The statements of a text as sqlglot's expressions; sqlglot's own errors where it is not SQL.

    Examples
    --------
    >>> [type(statement).__name__ for statement in parse_sql("age >= 65")]
    ['GTE']
    """
    import sqlglot

    return list(sqlglot.parse(text, read="duckdb"))
