"""A hundred thousand random pairs of neighbours per engine: none fails, none moves a statistic beyond what is declared.

Many pairs fit into one table: each has cells of its own, which are public keys, and a question by these keys is asked
of all of them in one statement. A cell holds a few base rows; two others the same and one more row, so that a pair is
also two tables that differ in one row replaced. `UTMOST_PAIRS` says how many pairs there are, `UTMOST_AT_ONCE` how many
of them are asked together, `UTMOST_SEED` where the search begins.
"""

import os
import random
import struct
from decimal import Decimal

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from oracles.extremes import (
    DUCKDB_TYPES,
    POSTGRES_SETUP,
    POSTGRES_TYPES,
    SPARK,
    arrow_columns,
    duckdb_columns,
    pandas_columns,
    polars_columns,
    postgres_columns,
)
from oracles.fuzzing import BUDGET, LEVEL, Channels, conditions, outcome
from pyarrow import parquet

import utmost as um
from utmost.errors import UtmostError

PAIRS, AT_ONCE = int(os.environ.get("UTMOST_PAIRS", 100_000)), int(os.environ.get("UTMOST_AT_ONCE", 1_400))
SEED = os.environ.get("UTMOST_SEED", "1")
CELLS = 3
"""Of each pair: its base rows, and these with one of two more rows."""


def drawn(draw, name, column):
    """A random value of a type: at its ends half of the time, or anywhere in it."""
    short = [value for value in column.extremes if not (isinstance(value, str | bytes) and len(value) > 500)]
    if draw.random() < 0.1:
        return None
    if draw.random() < 0.6 or not short:
        return draw.choice([column.harmless, *short])
    whole = [value for value in short if type(value) is int]
    if whole and len(whole) == len(short):
        low, high = min(whole), max(whole)
        far = draw.randint(low, high) >> draw.choice((0, 0, 8, 16, 32, 60))
        return min(max(far, low), high)
    if all(type(value) is float for value in short) and name.lower().endswith("64"):
        return struct.unpack("<d", draw.randbytes(8))[0]
    return draw.choice(short)


def rows_of(draw, name, column, pairs, persons):
    """Columns of a table: `cell`, `who`, `ill` and the typed one. Base people have at most two rows."""
    found = {"cell": [], "who": [], "ill": [], "c": []}

    def put(cell, who, value, ill):
        for key, entry in zip(found, (cell, who, ill, value), strict=True):
            found[key].append(entry)

    for pair in range(pairs):
        base = [(drawn(draw, name, column), draw.random() < 0.5) for _ in range(draw.choice((0, 1, 2)))]
        for cell in range(CELLS):
            for value, ill in base:
                put(CELLS * pair + cell, CELLS * pair + cell, value, ill)
        for cell in range(1, CELLS):
            for _ in range(draw.randint(1, 4) if persons else 1):
                put(CELLS * pair + cell, -1 - CELLS * pair - cell, drawn(draw, name, column), draw.random() < 0.5)
    return found


# ---- engines: what opens the rows ----


class Embedded:
    """Frames and files that DuckDB reads."""

    def __init__(self, kind, folder):
        self.kind, self.path = kind, folder
        made = {"arrow": arrow_columns, "parquet": arrow_columns, "pandas": pandas_columns, "polars": polars_columns}
        self.columns = (made | {"duckdb": duckdb_columns})[kind]()
        self.many = 0

    def table(self, name, column, rows):
        typed = {**rows, "c": column.make(rows["c"])} if self.kind != "duckdb" else rows
        self.many += 1
        if self.kind == "arrow":
            return pyarrow.table(typed)
        if self.kind == "parquet":
            parquet.write_table(pyarrow.table(typed), self.path / f"{self.many}.parquet")
            return self.path / f"{self.many}.parquet"
        if self.kind == "duckdb":
            return self._stored(name, rows)
        return (pandas if self.kind == "pandas" else polars).DataFrame(typed)

    def _stored(self, name, rows):
        """By the numbers of distinct values: each is SQL, and is evaluated once."""
        distinct = list({value for value in rows["c"] if value is not None})
        place = {value: i for i, value in enumerate(distinct)}
        plain = pyarrow.table({**rows, "c": pyarrow.array([place.get(v) for v in rows["c"]], pyarrow.int64())})
        path, kind = self.path / f"{self.many}.duckdb", DUCKDB_TYPES.get(name, name)
        with duckdb.connect(path) as connection:
            connection.register("plain", plain)
            connection.execute(f"CREATE TABLE v (i BIGINT, value {kind})")
            for i, value in enumerate(distinct):
                connection.execute(f"INSERT INTO v VALUES ({i}, {value})")
            connection.execute("CREATE TABLE t AS SELECT cell, who, ill, value AS c FROM plain LEFT JOIN v ON c = i")
        return f"{path}#t"


class Postgres:
    """Tables of a PostgreSQL server."""

    def __init__(self, postgres):
        self.url, psycopg = postgres
        self.connection = psycopg.connect(self.url, autocommit=True)
        self.connection.execute(POSTGRES_SETUP)
        self.columns = postgres_columns()
        self.many = 0

    def table(self, name, column, rows):
        self.many += 1
        kind = POSTGRES_TYPES.get(name, name)
        self.connection.execute(f"CREATE TABLE p{self.many} (cell bigint, who bigint, ill boolean, c {kind})")
        with self.connection.cursor() as cursor, cursor.copy(f"COPY p{self.many} FROM STDIN") as copy:
            for row in zip(*rows.values(), strict=True):
                copy.write_row(row)
        return f"{self.url}#p{self.many}"


class Spark:
    """Parquet files that Spark reads."""

    def __init__(self, spark, folder):
        self.spark, self.path, self.many = spark, folder, 0
        self.columns = {name: column for name, column in arrow_columns().items() if name in SPARK}

    def table(self, name, column, rows):
        self.many += 1
        path = str(self.path / f"{self.many}.parquet")
        parquet.write_table(pyarrow.table({**rows, "c": column.make(rows["c"])}), path)
        return self.spark.read.parquet(path)


# ---- questions by cells, and how far one more row may move them ----


def moves(released, names, pairs):
    """How far one more row, or another one, moved the numbers of each cell: an array of pair, move, number."""
    numbers = np.array([released[name] for name in names], dtype=object).T
    numbers = numbers.reshape(pairs, CELLS, -1)
    return numbers[:, 1:] - numbers[:, :1]


def by_cells(draw, column, pairs, rows_each):
    """Questions of all pairs at once: how to ask, and what must hold of the moves."""
    cells = um.keys(cell=list(range(CELLS * pairs)))
    scale = draw.choice((1, 1, Decimal("0.001"), 10**5, 10**15))
    low = draw.choice((-5, 0, 0, -2, 3)) * scale
    width = draw.choice((3, 5))
    high = low + width * scale
    most = int(max(abs(low), abs(high)) / scale)
    edges = [low, low + scale, high]

    def counted(found):
        return ((found >= 0) & (found <= rows_each)).all()

    def summed(found):
        return (abs(found) <= rows_each * most).all()

    def parts(power):
        def holds(found):
            total = found.sum(axis=2)
            return (
                (found >= 0).all() and (total % width**power == 0).all() and (total <= rows_each * width**power).all()
            )

        return holds

    def groups(found):
        return counted(found) and (found.sum(axis=2) <= rows_each).all()

    at, where = {"grid": scale, "by": cells}, draw.choice((None, "ill", "c IS NOT NULL"))
    found = {
        "count": (lambda s: s.count(where, LEVEL, by=cells), counted),
        "sum": (lambda s: s.sum("c", low, high, LEVEL, where=where, **at), summed),
        "mean": (lambda s: s.mean("c", low, high, LEVEL, where=where, **at), parts(1)),
        "quantile": (lambda s: s.quantile("c", 0.5, edges, LEVEL, by=cells, loss="absolute"), None),
        "majority": (lambda s: s.majority("c IS NOT NULL AND ill", LEVEL, by=cells), None),
        "found cells": (lambda s: s.count("c IS NOT NULL", um.ApproxDP(500, "0.001"), by=um.discover("cell")), None),
        "values": (lambda s: s.count(where, LEVEL, by=_with(cells, "c", column.public)), groups),
        "bins": (lambda s: s.count(where, LEVEL, by=_with(cells, "c", um.bins(edges))), groups),
    }
    if width == 3:
        found["variance"] = (lambda s: s.variance("c", low, high, LEVEL, where=where, **at), parts(2))
    near, far = draw.choice(((-100, 100), (0, 30_000), (0, 100_000), (-(10**9), 10**9), (0, 255)))
    found["wide mean"] = (lambda s: s.mean("c", near, far, LEVEL, where=where, by=cells), None)
    found["wide variance"] = (lambda s: s.variance("c", near, far, LEVEL, where=where, by=cells), None)
    for where_of in draw.sample(conditions("c", column.kind), 4):
        found[where_of] = (lambda s, w=where_of: s.count(w, LEVEL, by=cells), counted)
    return found


def _with(cells, name, values):
    return um.keys(**{"cell": cells.columns[0][1].to_pylist(), name: values})


def examine(session, draw, column, pairs, rows_each, channels):
    """What fails, speaks or moves too far, of one table of pairs."""
    told = []
    for name, (ask, holds) in by_cells(draw, column, pairs, rows_each).items():
        found = outcome(session, ask, channels)
        if found.kind == "failed" or found.said:
            told.append(f"{name}: {found.kind} {found.words[:100]} {found.said}")
        if found.kind == "failed":
            return told  # an account that failed may answer nothing more
        if found.kind == "answered" and holds:
            names = [each for each in found.released if each != "keys"]
            if not holds(moves(found.released, names, pairs)):
                told.append(f"{name}: moved beyond what is declared")
    return told


def search(engine, seed, most=PAIRS):
    """Random types, pairs and questions until there are so many pairs."""
    told, many, turn = [], 0, 0
    names = list(engine.columns)
    with Channels() as channels:
        while many < most and len(told) < 20:
            draw, name = random.Random(f"{seed} {turn}"), names[turn % len(names)]
            column, persons = engine.columns[name], turn % 3 == 2
            turn += 1
            pairs = min(AT_ONCE, most)
            rows_each = 2 if persons else 1
            try:
                table = engine.table(name, column, rows_of(draw, name, column, pairs, persons))
            except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError, ValueError, NotImplementedError):
                continue  # what the format cannot hold
            unit = um.people("who", rows_each=2, at_most=10**5) if persons else um.rows(at_most=10**5)
            channels.said()
            try:
                session = um.Session(table, "d", unit, "add-remove", budget=BUDGET)
            except UtmostError:
                continue
            channels.said()  # what opening says is about the type
            found = examine(session, draw, column, pairs, rows_each, channels)
            told += [f"{name} (seed {seed!r}, turn {turn - 1}): {each}" for each in found]
            many += pairs
            if turn > 20 * len(names):
                break
    assert not told, f"{len(told)} of {many} pairs' questions:\n" + "\n".join(told)


EMBEDDED = ["arrow", "parquet", "pandas", "polars", "duckdb"]


@pytest.mark.long
@pytest.mark.parametrize("kind", EMBEDDED)
def test_pairs_of_embedded_tables(kind, tmp_path):
    search(Embedded(kind, tmp_path), SEED)


@pytest.mark.long
def test_pairs_of_postgres(postgres):
    engine = Postgres(postgres)
    with engine.connection:
        search(engine, SEED)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
def test_pairs_of_spark(spark, tmp_path):
    search(Spark(spark, tmp_path), SEED)
