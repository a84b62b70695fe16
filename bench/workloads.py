"""All two-way tables of six columns, 10^5 cells in all, of 10^7 rows, whole: against DuckDB's own GROUPING SETS.

The bare statement counts the same cells of the same Parquet file, without keys, noise or agreement. Aim: at most
twice as long. Beside it how long a strategy of 2000 cells takes to design, of marginal tables, of a hierarchy, and of
a thousand running counts, the most there are: aim below 10 s. Where the machine has other work, processor seconds
compare better than seconds: both are shown. The number of rows may be given as an argument.
"""

import sys
import tempfile
from itertools import combinations
from pathlib import Path

import duckdb
from timing import timed

import utmost as um
from utmost.design.workload import best_hierarchy, best_marginals
from utmost.space.integers import Lattice
from utmost.theory.workload.design.strategies import best_strategy

COLUMNS, VALUES = "abcdef", 82


def make(path, rows):
    """A table that is the same in every run; every row has a listed value in every column."""
    columns = ", ".join(f"(hash(range * 6 + {i}) % {VALUES})::INT AS {name}" for i, name in enumerate(COLUMNS))
    duckdb.connect().execute(f"COPY (SELECT {columns} FROM range({rows})) TO '{path}'")


def by_hand(path):
    """DuckDB's own GROUPING SETS."""
    sets = ", ".join(f"({a}, {b})" for a, b in combinations(COLUMNS, 2))
    names = ", ".join(COLUMNS)
    with duckdb.connect() as connection:
        statement = f"SELECT {names}, count(*) FROM '{path}' GROUP BY GROUPING SETS ({sets})"
        assert connection.execute(statement).to_arrow_table().num_rows == 15 * VALUES**2


def whole(path, rows):
    """A session, and all tables of two columns."""
    keys = um.keys({name: range(VALUES) for name in COLUMNS})
    s = um.Session(str(path), "bench", um.rows(at_most=2 * rows), "add-remove", budget=1)
    assert len(s.marginals(keys, 2, 1).value) == 15 * VALUES**2


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        make(path, rows)
        base = min(timed(lambda: by_hand(path)) for _ in range(2))
        print(f"bare GROUPING SETS of {rows:,} rows: {base[0]:.2f} s, {base[1]:.2f} s of processors")
        wall, used = timed(lambda: whole(path, rows))
        print(f"all tables: {wall / base[0]:.2f} times as long, {used / base[1]:.2f} of processors   (aim <= 2)")
    pairs = tuple(combinations(range(4), 2))
    for name, design in (
        (
            "2100 cells of two-way tables, pure",
            lambda: best_marginals((5, 10, 20, 50), pairs, "any", 1, 1, um.PureDP(1)),
        ),
        ("2100 cells, Gaussian", lambda: best_marginals((5, 10, 20, 50), pairs, "any", 1, 1, um.GaussianDP(1))),
        ("1000 running counts, pure", lambda: best_strategy(Lattice(1000, "any", 1, 0, 1), um.PureDP(1))),
        ("1000 running counts, Gaussian", lambda: best_strategy(Lattice(1000, "any", 1, 0, 1), um.GaussianDP(1))),
        ("a hierarchy of 2000 leaves", lambda: best_hierarchy(((20,), (100,) * 20), "any", 1, 1, um.PureDP(1))),
    ):
        wall, used = timed(design)
        print(f"strategy for {name}: {wall:.2f} s, {used:.2f} s of processors   (aim < 10)")


if __name__ == "__main__":
    main()
