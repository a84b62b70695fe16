"""Bins against bisection in Python, at and beside every edge, on every engine; what is no bins is refused."""

import bisect
import collections
import itertools
import json
import math

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest
from oracles.command import utmost

import utmost as um
from utmost.backends import opening
from utmost.errors import InvalidInput
from utmost.queries.cells import bin_number, edge_cells, evenly, range_cells, tally_statement
from utmost.queries.keys import require_keys
from utmost.queries.report.proof import load_answers

EVEN = [um.bins(0, 100, 5), um.bins("-0.7", "0.9", "0.1"), um.bins(-3, 1000, 1), um.bins(0, 3, "0.003")]
UNEVEN = [um.bins([0, 18, 65, 120]), um.bins([-1.5, 0]), um.bins([0, 1, 2, 4, 8, 16, 32, 64, 128.5, 1e9])]


def beside(edges):
    """Every edge, the floats next to it, and what lies between and outside."""
    known = np.array(edges, dtype=float)
    near = [known, np.nextafter(known, -np.inf), np.nextafter(known, np.inf), (known[:-1] + known[1:]) / 2]
    return [*np.concatenate(near).tolist(), -1e300, 1e300, math.inf, -math.inf, math.nan, None]


def by_bisection(edges, x):
    if x is None or x != x or not edges[0] <= x < edges[-1]:
        return None
    return bisect.bisect_right(edges, x) - 1


@pytest.mark.parametrize("found", EVEN + UNEVEN, ids=repr)
def test_a_bin_holds_its_lower_edge_and_not_its_upper(found):
    """DuckDB places every float beside an edge as bisection does."""
    values = beside(found.edges)
    source = opening.open_table(pyarrow.table({"x": pyarrow.array(values, pyarrow.float64(), from_pandas=False)}))
    query = source.table.select(bin=bin_number(source.table["x"], tuple(map(float, found.edges))))
    placed = source.sql(query, source.origin)
    with source.cursor() as cursor:
        got = [place for (place,) in cursor.execute(placed).fetchall()]
    assert got == [by_bisection(found.edges, x) for x in values]
    assert (evenly(tuple(map(float, found.edges))) is not None) == (found in EVEN)


def test_bins_are_the_same_everywhere(postgres, tmp_path):
    """As categories, keys and edges, on a frame, a Parquet file, a CSV file and PostgreSQL."""
    url, psycopg = postgres
    found = EVEN[1]
    values = [None if x is None or not math.isfinite(x) else x for x in beside(found.edges)]
    table = pyarrow.table({"x": values, "who": [f"p{i % 40}" for i in range(len(values))]})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    pyarrow.csv.write_csv(table, tmp_path / "t.csv")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE binned (x float8, who text)")
        connection.cursor().executemany(
            "INSERT INTO binned VALUES (%s, %s)",
            [tuple(row.values()) for row in table.to_pylist()],
        )
    wanted = collections.Counter(by_bisection(found.edges, x) for x in values)
    for place in (table, tmp_path / "t.parquet", tmp_path / "t.csv", f"{url}#binned"):
        s = um.Session(place, "t", um.rows(at_most=1000), "add-remove", 10**6)
        asked = s.histogram("x", found, 500, other="rest").value
        assert list(asked.values()) == [*(wanted[i] for i in range(len(found))), wanted[None]]
        assert s.count(None, 500, by=um.keys(x=found, other="rest")).value == asked
        assert list(s.count(None, 500, by=um.keys(x=found)).value.values()) == list(asked.values())[:-1]
        edges = s.cdf("x", found, 500).value
        assert list(edges.values()) == [sum(x is not None and x <= edge for x in values) for edge in found.edges]


@pytest.mark.parametrize("many", [5, 50])
def test_edges_and_candidates_at_equal_distances(many):
    """Cells of a CDF and of a quantile: what is at an edge is below it, by arithmetic as by comparison."""
    edges = [round(0.1 * i - 1, 1) for i in range(many)]
    values = [x for x in beside(edges) if x is None or math.isfinite(x)]
    source = opening.open_table(pyarrow.table({"x": values}))
    known = [x for x in values if x is not None]
    for cells, cuts, last in (
        (edge_cells(source, "x", edges), edges, False),
        (range_cells(source, "x", edges), [a / 2 + b / 2 for a, b in itertools.pairwise(edges)], True),
    ):
        got = source.execute(tally_statement(source, um.rows(at_most=9), 1, cells, None, b"s" * 32))
        wanted = collections.Counter(bisect.bisect_left(cuts, x) for x in known)
        assert list(got.values()) == [wanted[i] for i in range(len(cuts) + last)]


def test_reports_with_bins_prove_themselves(tmp_path):
    """A histogram, a group-by, a winner and a top list with bins are read back from their reports."""
    s = um.Session(pyarrow.table({"x": [1.5, 2.5, None]}), "t", um.rows(at_most=9), "add-remove", 10)
    for i, answer in enumerate(
        (
            s.histogram("x", um.bins(0, 3, "0.5"), 1, other="rest"),
            s.count(None, 1, by=um.keys(x=um.bins(0, 3, 1))),
            s.plurality("x", um.bins(0, 3, 1), 1),
            s.top("x", 2, um.bins(0, 3, 1), 1),
        )
    ):
        answer.report(tmp_path / f"{i}.html")
        ((again, verified),) = load_answers(tmp_path / f"{i}.json")
        assert verified
        assert again.value == answer.value


def test_the_budget_names_the_column_of_bins():
    """And not how the bins are written down."""
    s = um.Session(pyarrow.table({"age": [20, 40]}), "d", um.rows(at_most=9), "add-remove", budget=1)
    s.histogram("age", um.bins(0, 100, 10), privacy=1)
    assert str(s.budget).splitlines()[1] == "  1. 1-DP  histogram: age"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: um.bins([0, 10, 5]), "edge 3, 5, is not above edge 2, 10"),
        (lambda: um.bins([0, 10, 10]), "sort them"),
        (lambda: um.bins(10, 0, 1), "upper end above the lower"),
        (lambda: um.bins(0, 10, 0), "width must be above 0"),
        (lambda: um.bins(0, 10, -1), "width must be above 0"),
        (lambda: um.bins(0, 100, 7), "end at 98 or 105"),
        (lambda: um.bins(0, 10), "a lower end, an upper end and a width"),
        (lambda: um.bins([3]), "two or more"),
        (lambda: um.bins([]), "two or more"),
        (lambda: um.bins("0,10"), "give a list"),
        (lambda: um.bins([0, math.nan]), "edge 2"),
        (lambda: um.bins([0, math.inf]), "edge 2"),
        (lambda: um.bins([0, "b"]), "edge 2"),
        (lambda: um.bins([False, True]), "edge 1"),
        (lambda: um.bins(0, 2**60, 2**58), "2\\^53"),
        (lambda: um.bins(0, 10**6, 1), "1,000,000 bins; give at most 10,000"),
        (
            lambda: require_keys(um.keys(a=range(1000), b=range(1000), c=um.bins(0, 10**4, 1))),
            "10,000,000,000 keys; at most",
        ),
        (lambda: require_keys(um.keys(a=range(1000), b=um.bins(0, 1000, 1), other="rest")), "1,002,001 keys"),
    ],
)
def test_what_is_no_bins_is_refused(make, said):
    """Each error names the value, the rule and a remedy, and no table is at hand."""
    with pytest.raises(InvalidInput, match=said):
        make()


def test_bins_of_what_is_no_number():
    """Refused before the spend."""
    s = um.Session(pyarrow.table({"town": ["a"]}), "t", um.rows(at_most=9), "add-remove", 1)
    for ask in (
        lambda: s.count(None, 1, by=um.keys(town=um.bins(0, 2, 1))),
        lambda: s.histogram("town", um.bins(0, 2, 1), 1),
    ):
        with pytest.raises(InvalidInput, match="not numbers"):
            ask()
    assert str(s.left) == "epsilon 1 of 1"


WON = um.bins([0, 10, 20, 30])


@pytest.mark.parametrize("edge", [0, 10, 20])
def test_the_most_frequent_bin(edge):
    """A bin holds its lower edge and not its upper one; what lies outside, null and NaN do not vote."""
    votes = [float(edge)] * 3 + [edge + 9.5] * 2 + [edge + 10.0] * 4 + [30.0] * 20 + [-1.0, None, math.nan] * 9
    s = um.Session(pyarrow.table({"x": pyarrow.array(votes)}), "t", um.rows(at_most=99), "add-remove", 10**4)
    assert s.plurality("x", WON, 500).value == f"[{edge}, {edge + 10})"
    assert s.top("x", 1, WON, 500).value == [f"[{edge}, {edge + 10})"]
    with pytest.raises(InvalidInput, match="2 to 100"):
        s.plurality("x", um.bins(0, 200, 1), 1)


def test_bins_and_keys_are_typed_as_in_python(tmp_path):
    """In the command's options, with the groups of several columns, a file of them, and keys that are found."""
    ages = [17, 18, 64, 70] * 60
    lines = [f"{age},{'Ash' if i % 3 else 'Briar'}" for i, age in enumerate(ages)]
    (tmp_path / "t.csv").write_text("\n".join(["age,town", *lines]))
    (tmp_path / "keys.csv").write_text("town\nAsh\nCole\n")
    table = [tmp_path / "t.csv", "--dataset", "t", "--rows-at-most", "999", "--neighbours", "add-remove", "--json"]

    def value(*asked):
        result = utmost("release", *table, *asked, *([] if "--privacy" in asked else ["--privacy", "500"]))
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)["value"]

    young, middle, old = ages.count(17), ages.count(18) + ages.count(64), ages.count(70)
    cut = {"[0, 18)": young, "[18, 65)": middle, "[65, 100)": old}
    assert value("--histogram", "age", "--categories", "bins([0, 18, 65, 100])") == cut
    assert value("--plurality", "age", "--categories", "bins(0, 18, 65, 100)") == "[18, 65)"
    assert value("--cdf", "age", "--edges", "bins(0, 100, 50)") == {"<= 0": 0, "<= 50": 120, "<= 100": 240}
    by = value("--count", "", "--by", "town=Ash,Briar;age=bins(0, 100, 50)")
    assert by == [
        ["Ash", "[0, 50)", 80],
        ["Ash", "[50, 100)", 80],
        ["Briar", "[0, 50)", 40],
        ["Briar", "[50, 100)", 40],
    ]
    assert value("--sum", "age", "--lower", "0", "--upper", "1", "--by", tmp_path / "keys.csv") == [
        ["Ash", 160],
        ["Cole", 0],
    ]
    assert value("--majority", "age > 17", "--by", "town='Ash','Briar';other=rest")[0] == ["Ash", True]
    found = value("--count", "", "--by", "discover(town)", "--privacy", "9,1e-6")
    assert [key for key, _ in found] == ["Ash", "Briar"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--count", "", "--by", "town"], "'carrier=AA,UA; month=1,2', bins of a column of numbers"),
        (["--count", "", "--by", "town=Ash;town=Briar"], "each column once"),
        (["--count", "", "--by", "town=Ash,Ash"], "keys 1 and 2 of town are the same"),
        (["--count", "", "--by", "town="], "empty list"),
        (["--count", "", "--by", "age=bins(0, 100, 7)"], "end at 98 or 105"),
        (["--count", "", "--by", "discover(town, each=2)"], "keys_each=2"),
        (["--histogram", "age", "--categories", "bins(0, x, 7)"], "no number"),
        (["--counts", "age > 3", "--by", "town=Ash"], "--by belongs to"),
    ],
)
def test_what_is_typed_wrong_is_refused(asked, said, tmp_path):
    (tmp_path / "t.csv").write_text("age,town\n1,Ash\n")
    rest = ["--dataset", "t", "--rows-at-most", "9", "--neighbours", "replace", "--privacy", "1"]
    result = utmost("release", tmp_path / "t.csv", *asked, *rest)
    assert result.returncode == 2
    assert said in " ".join(result.stderr.split())
