"""Counts for 10^6 public keys from 10^7 rows, whole: plan, engine, noise and table, against DuckDB's GROUP BY.

The bare statement is the GROUP BY joined with the keys, of the same Parquet file. Aim: rows at most 1.5 times as long,
people with three rows each at most 3 times, below 4 GB. Where the machine has other work, processor seconds compare
better than seconds: both are shown. With the address of a PostgreSQL database as an argument ("postgresql://..."), 10^5
cells of a table that is made there, too.
"""

import resource
import sys
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pyarrow
from timing import timed

import utmost as um

ROWS, SIDE = 10_000_000, 1000


def make(path):
    """A table of 10^7 rows, the same in every run; a sixth of them match no key."""
    duckdb.connect().execute(
        f"COPY (SELECT range % 3000000 AS person, (hash(range) % 1200)::INT AS a, 'k' || (hash(range + 1) % 1000) AS b "
        f"FROM range({ROWS})) TO '{path}'"
    )


def by_hand(path, table):
    """DuckDB's own GROUP BY joined with the keys."""
    with duckdb.connect() as connection:
        connection.register("keys", table)
        connection.execute(
            f"SELECT k.a, k.b, coalesce(n, 0) FROM keys AS k LEFT JOIN "
            f"(SELECT a, b, count(*) AS n FROM '{path}' GROUP BY a, b) AS g ON k.a = g.a AND k.b = g.b"
        ).to_arrow_table()


def whole(place, unit, keys):
    """A session, one question by keys, and its table."""
    s = um.Session(place, "bench", unit, "add-remove", budget=10)
    assert s.count(None, 1, by=keys, fresh=True).table.num_rows == keys.size


def main():
    lists = {"a": range(SIDE), "b": [f"k{i}" for i in range(SIDE)]}
    frame = pyarrow.table({"a": np.repeat(np.arange(SIDE), SIDE), "b": [f"k{i % SIDE}" for i in range(SIDE**2)]})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        make(path)
        whole(pyarrow.table({"a": [0]}), um.rows(at_most=9), um.keys(a=[0]))  # Ibis is loaded once, and not counted
        base = min(timed(lambda: by_hand(path, frame)) for _ in range(3))
        print(f"the bare statement: {base[0]:.2f} s, {base[1]:.2f} s of processors")
        for name, unit, keys, aim in (
            ("rows, a product of lists", um.rows(at_most=2 * ROWS), um.keys(lists), 1.5),
            ("rows, a frame of keys", um.rows(at_most=2 * ROWS), um.keys(frame), 1.5),
            ("rows, and the rest", um.rows(at_most=2 * ROWS), um.keys(frame.slice(1), other="rest"), 1.5),
            ("people, three rows each", um.people("person", 3, 4_000_000), um.keys(lists), 3),
        ):
            wall, used = timed(lambda unit=unit, keys=keys: whole(path, unit, keys))
            print(f"{name}: {wall / base[0]:.2f} times as long, {used / base[1]:.2f} of processors   (aim <= {aim})")
        print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GB   (aim < 4)")
    for url in sys.argv[1:]:
        in_postgres(url)


def in_postgres(url):
    """10^5 cells of 10^6 rows."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE utmost_bench AS SELECT i % 300000 AS person, (i * 7919) % 1200 AS a, "
            "'k' || (i * 104729) % 100 AS b FROM generate_series(1, 1000000::bigint) AS i"
        )
    try:
        keys = um.keys(a=range(1000), b=[f"k{i}" for i in range(100)])
        for name, unit in (("rows", um.rows(at_most=2_000_000)), ("people", um.people("person", 3, 400_000))):
            wall, _ = timed(lambda unit=unit: whole(f"{url}#utmost_bench", unit, keys))
            print(f"PostgreSQL, 10^5 cells of 10^6 rows, {name}: {wall:.1f} s")
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP TABLE utmost_bench")


if __name__ == "__main__":
    main()
