"""Every column type of Spark, at its ends, under every question: no failure, no word, no move too far."""

import gc

import pyarrow
import pytest
from oracles.extremes import SPARK, arrow_columns
from oracles.fuzzing import HARMLESS, LEVEL, Channels, Trial, context, require_alike
from pyarrow import parquet

import utmost as um

pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),  # PySpark leaves them to the collector
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]
COLUMNS = {name: column for name, column in arrow_columns().items() if name in SPARK}
NAMES = {name: f"c{i}" for i, name in enumerate(COLUMNS)}
ROWS = HARMLESS + 1 + max(len(column.extremes) for column in COLUMNS.values())


@pytest.fixture(autouse=True, scope="module")
def collected():
    """No socket of PySpark's is left for the tests of others."""
    yield
    gc.collect()


def table(rows):
    """The first so many rows of a table with a column of every type."""
    found = {name: values[:rows] for name, values in context(ROWS).items()}
    for name, column in COLUMNS.items():
        listed = [*[column.harmless] * HARMLESS, None, *column.extremes]
        found[NAMES[name]] = column.make((listed + [None] * ROWS)[:rows])
    return pyarrow.table(found)


@pytest.fixture(scope="module")
def trial(spark, tmp_path_factory):
    """The tables as Parquet files, read by Spark."""
    folder = tmp_path_factory.mktemp("extremes")
    frames = []
    for rows in (ROWS, HARMLESS):
        parquet.write_table(table(rows), folder / f"{rows}.parquet")
        frames.append(spark.read.parquet(str(folder / f"{rows}.parquet")))
    with Channels() as channels:
        yield Trial(*frames, ROWS, channels)


QUICK = ("int8", "float64", "string", "timestamp[us]")
"""The types of `make test`; a question takes Spark a second."""


def numbered(marks=()):
    return [pytest.param(name, i, id=name, marks=[] if name in QUICK else marks) for i, name in enumerate(COLUMNS)]


def examine(trial, name, step, first):
    column = COLUMNS[name]
    ranges = [(-100, 100) if name == "int8" else (0, 100_000)] if column.kind == "number" else [(0, 10)]
    found = trial.problems(NAMES[name], column, ranges, step, first)
    assert not found, f"{len(found)} questions about {name}:\n" + "\n".join(found)


@pytest.mark.parametrize(("name", "i"), numbered(marks=pytest.mark.long))
def test_every_type(trial, name, i):
    """Every 40th question, and every 20th condition, others of each type: one takes a second."""
    examine(trial, name, 40, 7 * i)


@pytest.mark.long
@pytest.mark.parametrize(("name", "i"), numbered())
def test_every_question(trial, name, i):
    examine(trial, name, 1, i)


@pytest.mark.parametrize("on", [True, pytest.param(False, marks=pytest.mark.long)], ids=["ansi", "not ansi"])
def test_narrow_integers_do_not_overflow(spark, tmp_path, on):
    """With ANSI rules an overflow would fail, without them it would wrap."""
    frames = []
    for name, ill in (("healthy", False), ("sick", True)):
        rows = {"id": list(range(30)), "ill": [ill and i == 17 for i in range(30)]}
        for kind, value in (("int8", 100), ("int16", 30_000), ("int32", 100_000)):
            rows[kind] = pyarrow.array([value] * 30, getattr(pyarrow, kind)())
        parquet.write_table(pyarrow.table(rows), tmp_path / f"{name}.parquet")
        frames.append(spark.read.parquet(str(tmp_path / f"{name}.parquet")))
    one = "id = 17 AND ill"
    asked = {
        "mean of int8": lambda s: s.mean("int8", -100, 100, LEVEL, where=one),
        "variance of int16": lambda s: s.variance("int16", 0, 30_000, LEVEL, where=one),
        "variance of int32": lambda s: s.variance("int32", 0, 100_000, LEVEL, where=one),
        "covariance": lambda s: s.covariance("int32", "int32", (0, 100_000), (0, 100_000), LEVEL, where=one),
    }
    spark.conf.set("spark.sql.ansi.enabled", str(on).lower())
    try:
        require_alike(frames, asked)
        s = um.Session(frames[1], "d", um.rows(at_most=50), "add-remove", budget=10**6)
        assert s.mean("int8", -100, 100, LEVEL, where=one).released == {"above_lower": 200, "below_upper": 0}
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
