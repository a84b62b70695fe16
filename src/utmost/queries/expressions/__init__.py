"""Typed expressions and relations: what engines are asked, in which nothing can fail.

Whether an engine fails must not depend on private rows, so no operation that can fail is ever sent to one. Every value
is an `Expression` with a `Type`: its kind and, of numbers, the range it provably lies in. Columns enter by a total cast
to one of a few wide types; arithmetic is made only where the range of the result provably fits, in a type that holds
it; every function is total, and null where it has no value.

`types` holds types and ranges, `values` the expressions and the rules for making them, `relations` the queries made of
them, `sql` their text for DuckDB and PostgreSQL.
"""
