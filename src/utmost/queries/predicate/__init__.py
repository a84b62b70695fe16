"""Predicates: conditions on the rows of a query, evaluated for every row by itself and without errors.

`sql` parses conditions, `python` and `ibis_values` convert functions and Ibis expressions to SQL, `reading` says how
columns of text are cast, `relations` whether conditions are disjoint or nested. `backends/source.py` checks that a
condition reads a row and means the same on every engine.
"""

from utmost.queries.predicate.sql import EVERY_ROW, Where, as_condition, as_number, as_where, where_from_text

__all__ = ["EVERY_ROW", "Where", "as_condition", "as_number", "as_where", "where_from_text"]
