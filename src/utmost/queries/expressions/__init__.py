"""Typed expressions and relations: the queries that engines run, in which no row can cause an error.

Whether an engine fails must not depend on private rows, so no operation that can fail is ever sent to one. Every value
is an `Expression` with a `Type`: its kind and, for numbers, a range in which it provably lies. Stored columns are cast
to one of a few wide types by casts that fail on no value; arithmetic is allowed only where the range of the result
provably fits, in a type that holds it; every function is total, and null where it is undefined.

`types` holds types and ranges, `values` the expressions and the rules for making them, `relations` the queries made of
them, `sql` their translation for DuckDB and PostgreSQL.
"""
