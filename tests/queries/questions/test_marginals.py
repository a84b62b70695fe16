"""Many tables at once: against plain SQL, agreement to the last bit, coverage, reports in a fresh process."""

import json
import subprocess
import sys
from fractions import Fraction

import duckdb
import numpy as np
import pyarrow
import pytest

import utmost as um
from utmost.errors import InvalidInput
from utmost.queries.report.proof import load_answers

RNG = np.random.default_rng(7)
ROWS = 1500
TABLE = pyarrow.table(
    {
        "town": RNG.choice(["Ash", "Briar", "Cole", None], ROWS),
        "age": RNG.integers(0, 90, ROWS),
        "ok": RNG.choice([True, False], ROWS),
        "who": RNG.integers(0, 400, ROWS),
    }
)
KEYS = um.keys(town=["Ash", "Briar", "Cole"], age=um.bins([0, 18, 40, 65, 80]), ok=[True, False])
WANTED = [("town", "age"), ("age", "ok"), ("ok",), ()]


def opened(budget=1, unit=None, neighbours="add-remove"):
    return um.Session(TABLE, "survey", unit or um.rows(at_most=5000), neighbours, budget=budget)


def test_nearly_without_noise_tables_are_those_of_sql():
    """At epsilon 500: group by, of rows that have a listed value in every column."""
    s = opened(500)
    value = s.marginals(KEYS, WANTED, privacy=500).value
    frame = TABLE  # DuckDB finds it by this name
    rows = duckdb.sql(
        "SELECT town, CASE WHEN age < 18 THEN '[0, 18)' WHEN age < 40 THEN '[18, 40)' WHEN age < 65 THEN '[40, 65)' "
        "ELSE '[65, 80)' END AS age, ok, count(*) FROM frame WHERE town IS NOT NULL AND age < 80 GROUP BY ALL"
    )
    assert frame.num_rows == ROWS
    truth = {}
    for town, age, ok, count in rows.fetchall():
        for key in ((town, age, ...), (..., age, ok), (..., ..., ok), (..., ..., ...)):
            truth[key] = truth.get(key, 0) + count
    assert {key: n for key, n in value.items() if n} == truth
    assert len(value) == 12 + 8 + 2 + 1


def test_null_and_what_is_not_listed():
    """None is a value like others; `other` holds the rest of a list, and what is outside all bins."""
    keys = um.keys(town=["Ash", None], age=um.bins([0, 40]), other="rest")
    value = opened(500).marginals(keys, [("town", "age"), ("age",)], privacy=500).value
    towns, ages = TABLE["town"].to_pylist(), TABLE["age"].to_pylist()
    pairs = [
        (town if town in ("Ash", None) else "rest", "[0, 40)" if age < 40 else "rest")
        for town, age in zip(towns, ages, strict=True)
    ]
    for key, count in value.items():
        assert count == sum(key in (pair, (..., pair[1])) for pair in pairs)


def test_people_have_as_many_rows_as_are_kept():
    """Two rows of each person in all tables together; with `other`, every row has its cell."""
    s = opened(500, um.people("who", rows_each=2, at_most=1000))
    keys = um.keys(town=["Ash"], ok=[True, False], other="rest")
    value = s.marginals(keys, [("town",), ("ok",)], privacy=500).value
    kept = np.minimum(np.unique(TABLE["who"].to_numpy(), return_counts=True)[1], 2).sum()
    assert sum(n for key, n in value.items() if key[1] is ...) == kept
    assert sum(n for key, n in value.items() if key[0] is ...) == kept


def test_the_table_beside_other_holds_texts():
    """As the table of keys does: truth values and numbers are written beside the name of what is not listed."""
    keys = um.keys(ok=[True], town=["Ash"], other="rest")
    answer = opened(500).marginals(keys, [("ok",), ()], privacy=500)
    assert answer.table["ok"].to_pylist() == ["true", "rest", None]
    assert answer.table["value"].to_pylist()[2] == sum(answer.table["value"].to_pylist()[:2])


@pytest.mark.parametrize("level", [1, um.GaussianDP(1), um.ZCDP("0.5")])
def test_tables_agree_and_intervals_hold(level):
    """As fractions, and rounded; 95 % of intervals hold the truth, whichever the noise."""
    s = opened(level, neighbours="replace")
    question = s.plan.marginals(KEYS, 2, privacy=level).question
    exact = opened(500).marginals(KEYS, 2, privacy=500).value
    sizes = [len(numbers) for numbers in question.strategy.keys]
    point = question.point({"count": np.array([int(n) for n in exact.values()])})
    held, tried = 0, 0
    for _ in range(60):
        released = question.draw(point)
        value, ends = question.value(released), question.after(released).intervals
        held += sum(ends[key][0] <= exact[key] <= ends[key][1] for key in exact)
        tried += sum(sizes)
    assert 0.925 < held / tried < 0.985
    for found in (value, question.rounded(released)):
        for town in ("Ash", "Briar", "Cole"):
            by_age = sum(found[town, age, ...] for age in KEYS.columns[1][1].to_pylist())
            assert by_age == found[town, ..., True] + found[town, ..., False]
    assert all(isinstance(n, Fraction) for n in value.values())
    assert min(question.rounded(released).values()) >= 0


def test_variances_are_those_of_draws():
    """The stated mean variance against a thousand draws, as exactly as these say."""
    question = opened().plan.marginals(KEYS, WANTED, privacy=1).question
    zero = question.point(
        {
            "count": np.zeros(
                sum(np.prod([question.shape[i] for i in e]) for e in question.counted_tables), dtype=np.int64
            )
        }
    )
    draws = np.array([[float(n) for n in question.value(question.draw(zero)).values()] for _ in range(200)])
    squares, sizes = np.square(draws).mean(axis=1), np.abs(draws).mean(axis=1)
    before, even = question.accuracy, question.losses["each table at an equal share"]
    assert np.mean(squares) == pytest.approx(before.squared[0], abs=5 * np.std(squares) / 14)
    assert np.mean(sizes) == pytest.approx(before.average, abs=5 * np.std(sizes) / 14)
    assert before.loss == "absolute"
    assert before.average < even["absolute"]
    assert before.squared[0] < even["squared"]


def test_a_report_proves_itself_in_a_fresh_process(tmp_path):
    """And fails where a number was changed, or the tables."""
    s = opened()
    answer = s.marginals(KEYS, WANTED, privacy=1)
    assert answer.verify()
    answer.report(tmp_path / "tables.html")
    path = tmp_path / "tables.json"
    done = subprocess.run(
        [sys.executable, "-m", "utmost", "verify", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    content = json.loads(path.read_text())
    ((again, found),) = load_answers(path)
    assert found
    assert again.value == answer.value
    one = content[0] if isinstance(content, list) else content
    one["value"][0]["numbers"][0] = "7"
    path.write_text(json.dumps(content))
    assert not load_answers(path)[0][1]
    one["question"]["tables"] = one["question"]["tables"][:2]
    path.write_text(json.dumps(content))
    assert not load_answers(path)[0][1]


@pytest.mark.parametrize("level", [um.PureDP(1), um.GaussianDP(1), um.ZCDP("0.5")], ids=str)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("of", [0, 1, 2])
def test_tables_without_a_limit_of_rows_are_answered(level, neighbours, of):
    """A total that is released beside tables once stopped the answer after its charge, where no at_most was given."""
    table = pyarrow.table({"a": ["x", "y", "y", "x"] * 30, "b": [1, 2, 3] * 40})
    s = um.Session(table, "d", um.rows(), neighbours, budget=level)
    by = um.keys(a=["x", "y"], b=[1, 2, 3])
    tables = [(), ("a",), ("b",)] if of == 0 else of
    answer = s.marginals(by, tables, level)
    assert answer.verify()
    assert s.spent


def test_the_same_question_is_answered_once():
    """The recorded answer comes back; the Arrow table has a row for every number."""
    s = opened()
    first = s.marginals(KEYS, 1, privacy="0.5")
    assert s.marginals(KEYS, 1, privacy="0.5").value == first.value
    assert str(s.left) == "epsilon 0.5 of 1"
    table = first.table
    assert table.num_rows == 3 + 4 + 2
    assert table.column_names == ["columns", "town", "age", "ok", "value", "lower", "upper"]
    assert table.slice(0, 1).to_pylist()[0]["columns"] == "town"
    assert "marginals by town, age, ok" in str(s.budget)


def test_wrong_words():
    """What cannot be asked is refused before anything is spent."""
    s = opened()
    for keys, of, words in (
        (KEYS, 4, "tables have 0 to 3 columns"),
        (KEYS, True, "of is True"),
        (KEYS, [], "say how many columns"),
        (KEYS, [("town", "height")], "no set of the keys' columns"),
        (KEYS, ["town"], "no set of the keys' columns"),
        (KEYS, [("town", "town")], "no set of the keys' columns"),
        (KEYS, [("town", "age"), ("age", "town")], "listed twice"),
        ("town", 1, "list the public values"),
        (um.keys(pyarrow.table({"town": ["Ash"]})), 1, "list the public values"),
        (um.keys(age=range(2000), who=range(2000)), 2, "4,000,000 cells; at most 1,000,000"),
    ):
        with pytest.raises(InvalidInput, match=words):
            s.marginals(keys, of, privacy=1)
    with pytest.raises(InvalidInput, match="only marginals and hierarchies"):
        s.count("age > 3", privacy=1).rounded()
    wide = um.keys(age=range(90), who=range(400), ok=[True, False], town=["Ash", "Briar", "Cole"])
    assert wide.size > 200_000
    assert s.plan.marginals(wide, 1, privacy=1).before.average > 0
