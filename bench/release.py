"""Answers about 10^7 rows in DuckDB against the bare SQL aggregate on the same connection. One run, ratios.

Aim: `count`, `sum`, `histogram` and `plurality`, whole (checks, design, ledger, engine, draw, report), at most 1.3
times the bare query. A sum is exact here: values are clamped and rounded to integers first, which `SELECT sum(x)` does
not do; the same clamping in hand-written SQL stands beside it.
"""

import tempfile
from pathlib import Path

import duckdb
from timing import seconds

import utmost as um

ROWS = 10_000_000


def make(path):
    """A table of 10^7 rows, the same in every run."""
    connection = duckdb.connect(path)
    connection.execute(
        f"CREATE TABLE t AS SELECT range % 3000000 AS person, (hash(range) % 90)::BIGINT AS age, "
        f"(hash(range + 7) % 1000000)::DOUBLE / 1e4 AS hours, hash(range + 3) % 2 = 0 AS ok, "
        f"['Ash', 'Briar', 'Cole', 'Dean', 'Elm'][(hash(range + 5) % 5)::INT + 1] AS town FROM range({ROWS})"
    )
    connection.close()


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.duckdb"
        make(path)
        rows = um.Session(f"{path}#t", "bench", um.rows(at_most=2 * ROWS), "add-remove", budget=10**6)
        people = um.Session(f"{path}#t", "people", um.people("person", 3, 4_000_000), "add-remove", budget=10**6)
        bare = rows.source.connection

        def run(sql):
            return lambda: bare.execute(sql).fetchone()

        clamped = "SELECT sum(CAST(floor(least(greatest(hours, 0), 60) * 2 + 0.5) AS BIGINT)) FROM t"
        towns, by_town = ["Ash", "Briar", "Cole", "Dean"], "SELECT town, count(*) FROM t GROUP BY town"
        by_both = "SELECT town, ok, count(*) FROM t GROUP BY town, ok"
        most = "SELECT town FROM t GROUP BY town ORDER BY count(*) DESC LIMIT 1"
        grouped = "SELECT sum(least(n, 3)) FROM (SELECT count(*) AS n FROM t WHERE age >= 65 GROUP BY person)"
        for name, ours, theirs, aim in (
            ("count", lambda: rows.count("age >= 65", 1, fresh=True), "SELECT count(*) FROM t WHERE age >= 65", 1.3),
            ("sum of integers", lambda: rows.sum("age", 0, 120, 1, fresh=True), "SELECT sum(age) FROM t", 1.3),
            ("sum", lambda: rows.sum("hours", 0, 60, 1, grid="0.5", fresh=True), "SELECT sum(hours) FROM t", 1.3),
            ("sum, clamped by hand", lambda: rows.sum("hours", 0, 60, 1, grid="0.5", fresh=True), clamped, 1.3),
            ("majority", lambda: rows.majority("ok", 1, fresh=True), "SELECT count(*) FILTER (ok) FROM t", 1.3),
            ("histogram", lambda: rows.histogram("town", towns, 1, other="else", fresh=True), by_town, 1.3),
            (
                "histogram of two columns",
                lambda: rows.histogram(["town", "ok"], [towns, [True, False]], 1, fresh=True),
                by_both,
                1.3,
            ),
            ("plurality", lambda: rows.plurality("town", towns, 1, fresh=True), most, 1.3),
            (
                "median of age",
                lambda: rows.quantile("age", 0.5, range(0, 91, 10), 1, fresh=True),
                "SELECT median(age) FROM t",
                1.3,
            ),
            ("count of people's rows", lambda: people.count("age >= 65", 1, fresh=True), grouped, 1.3),
        ):
            ours()  # the design is made once
            base, whole = seconds(run(theirs), 5), seconds(ours, 5)
            print(f"{name}: {whole / base:.2f} times the bare aggregate ({1000 * base:.0f} ms)   (aim <= {aim})")
        on_parquet(Path(folder) / "rows.parquet", bare)


def on_parquet(path, bare):
    """The same rows in a Parquet file: counts, means, and a histogram of people, whose ids are text."""
    bare.execute(f"COPY (SELECT 'N' || person AS person, age, hours, town FROM t) TO '{path}'")
    rows = um.Session(path, "bench", um.rows(at_most=2 * ROWS), "add-remove", budget=10**6)
    people = um.Session(path, "people", um.people("person", 3, 4_000_000), "add-remove", budget=10**6)
    towns = ["Ash", "Briar", "Cole", "Dean"]
    three_each = (
        f"SELECT town, count(*) FROM (SELECT town FROM '{path}' QUALIFY row_number() OVER (PARTITION BY person "
        "ORDER BY md5(person || town)) <= 3) GROUP BY town"
    )
    for name, ours, theirs, times, aim in (
        ("count", lambda: rows.count("age >= 65", 1, fresh=True), f"count(*) FROM '{path}' WHERE age >= 65", 5, 1.3),
        ("mean", lambda: rows.mean("hours", 0, 60, 1, grid="0.5", fresh=True), f"avg(hours) FROM '{path}'", 5, 4),
        ("histogram of people", lambda: people.histogram("town", towns, 1, fresh=True), three_each[7:], 1, 1.3),
    ):
        base = seconds(lambda: bare.execute("SELECT " + theirs).fetchall(), times)  # noqa: B023
        whole = seconds(ours, times)
        print(f"Parquet, {name}: {whole / base:.2f} times the bare aggregate ({base:.2f} s)   (aim <= {aim})")


if __name__ == "__main__":
    main()
