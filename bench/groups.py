"""Counts for 10^6 public keys from 10^7 rows of a Parquet file, against DuckDB's own GROUP BY joined with the keys.

Aim: rows at most 1.5 times the bare statement, also with a group for the rest; people with three rows each at most 3
times. Statement and result alone: no noise is drawn. Peak memory of the process below 4 GB.
"""

import resource
import tempfile
from pathlib import Path

import duckdb
import pyarrow
from timing import seconds

import utmost as um
from utmost.release.contributions import ones
from utmost.release.engines import open_table
from utmost.release.groups import grouped_statement

ROWS, KEYS = 10_000_000, 1_000_000


def make(path):
    """A table of 10^7 rows, the same in every run; a sixth of them match no key."""
    duckdb.connect().execute(
        f"COPY (SELECT range % 3000000 AS person, (hash(range) % 1200)::INT AS a, 'k' || (hash(range + 1) % 1000) AS b "
        f"FROM range({ROWS})) TO '{path}'"
    )


def main():
    table = pyarrow.table({"a": [i // 1000 for i in range(KEYS)], "b": [f"k{i % 1000}" for i in range(KEYS)]})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        make(path)
        bare, source = duckdb.connect(), open_table(path)
        bare.register("keys", table)
        by_hand = (
            f"SELECT k.a, k.b, coalesce(n, 0) FROM keys AS k LEFT JOIN "
            f"(SELECT a, b, count(*) AS n FROM '{path}' GROUP BY a, b) AS g ON k.a = g.a AND k.b = g.b"
        )
        base = seconds(lambda: bare.execute(by_hand).to_arrow_table(), 3)
        print(f"the bare statement: {base:.2f} s")
        for name, unit, other, aim in (
            ("rows", um.rows(at_most=2 * ROWS), False, 1.5),
            ("rows, and the rest", um.rows(at_most=2 * ROWS), True, 1.5),
            ("people, three rows each", um.people("person", 3, 4_000_000), False, 3),
        ):
            keys = um.keys(table, other="rest" if other else None)

            def ours(unit=unit, keys=keys):
                parts = {"rows": ones(source, None)}
                return source.integer_columns(grouped_statement(source, unit, unit.rows_each, keys, parts, b"s" * 32))

            print(f"{name}: {seconds(ours, 3) / base:.2f} times the bare statement   (aim <= {aim})")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory {peak:.1f} GB   (aim < 4)")


if __name__ == "__main__":
    main()
