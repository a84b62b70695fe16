"""Conditions: which rows a question is about, decided for every row by itself and for every row without fail.

`sql` reads what people give, `typed` the types in it, `reading` says how columns of text are read, `relations` which of
two conditions implies the other, `base_tables` which tables may be asked. That a condition looks at one row, and fails
on none, the table itself proves (`backends/source.py`).
"""

from utmost.queries.predicate.sql import EVERY_ROW, Where, as_condition, as_number, as_where, where_from_text

__all__ = ["EVERY_ROW", "Where", "as_condition", "as_number", "as_where", "where_from_text"]
