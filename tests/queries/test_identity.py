"""A recorded answer is given again for the same question about the same table only."""

import ibis
import pyarrow
import pytest

import utmost as um


@pytest.fixture
def survey():
    connection = ibis.duckdb.connect()
    rows = pyarrow.table({"age": list(range(100)), "town": ["a", "b"] * 50})
    return connection.create_table("survey", rows)


def opened(table, ledger, **options):
    return um.Session(table, "survey", um.rows(at_most=100), "add-remove", budget=100, ledger=ledger, **options)


QUESTIONS = {
    "count": lambda s: s.count(None, 1),
    "sum": lambda s: s.sum("age", 0, 100, 1),
    "mean": lambda s: s.mean("age", 0, 100, 1),
    "majority": lambda s: s.majority("age >= 50", 1),
    "threshold": lambda s: s.threshold("age >= 50", 10, 1),
    "counts": lambda s: s.counts(["age >= 50", "age >= 60"], 1),
    "histogram": lambda s: s.histogram("town", ["a", "b"], 1),
    "plurality": lambda s: s.plurality("town", ["a", "b"], 1),
    "quantile": lambda s: s.quantile("age", 0.5, [0, 50, 99], 1),
    "batch": lambda s: s.batch([s.plan.count(None, 1)])[0],
}


def entry(answer):
    return answer.details["ledger"]["entry"]


@pytest.mark.parametrize("kind", QUESTIONS)
def test_a_filter_or_projection_makes_another_question(survey, kind):
    ledger, ask = um.Ledger(None), QUESTIONS[kind]
    all_rows, old, older, renamed = (
        entry(ask(opened(table, ledger)))
        for table in (
            survey,
            survey.filter(survey.age >= 80),
            survey.filter(survey.age >= 90),
            survey.mutate(age=survey.age, town=survey.age.try_cast("string")),
        )
    )
    assert len({all_rows, old, older, renamed}) == 4
    assert entry(ask(opened(survey, ledger))) == all_rows
    assert entry(ask(opened(survey.filter(survey.age >= 90), ledger))) == older


def test_declared_types_make_another_question(tmp_path):
    (tmp_path / "survey.csv").write_text("age,town\n12,a\n9,b\n")
    ledger, path = um.Ledger(None), str(tmp_path / "survey.csv")
    as_text = entry(opened(path, ledger, types={"age": str}).count("age >= '5'", 1))
    as_number = entry(opened(path, ledger, types={"age": float}).count(None, 1))
    untyped = entry(opened(path, ledger).count(None, 1))
    assert entry(opened(path, ledger, types={"age": str}).count(None, 1)) not in (as_text, as_number, untyped)
    assert as_number != untyped
    assert entry(opened(path, ledger, types={"age": "float"}).count(None, 1)) == as_number


def test_a_copy_of_the_file_under_the_same_name_is_the_same_table(tmp_path):
    ledger = um.Ledger(None)
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text("age,town\n12,a\n")
    first, second = (entry(opened(str(tmp_path / name), ledger).count(None, 1)) for name in ("one.csv", "two.csv"))
    assert first == second


def test_other_columns_are_another_table():
    ledger = um.Ledger(None)
    first = entry(opened(pyarrow.table({"age": [1]}), ledger).count(None, 1))
    assert entry(opened(pyarrow.table({"age": [1.0]}), ledger).count(None, 1)) != first
    assert entry(opened(pyarrow.table({"age": [1], "town": ["a"]}), ledger).count(None, 1)) != first
    assert entry(opened(pyarrow.table({"age": [5]}), ledger).count(None, 1)) == first


def test_other_spaces_are_the_same_question(survey):
    s = opened(survey, um.Ledger(None))
    first = s.count("age>=50 AND town IN ('a','b')", 1)
    assert "have age >= 50 AND town IN ('a', 'b')," in first.question.words
    again = s.count(" age  >= 50 AND\ntown IN ( 'a', 'b' )", 1)
    assert (again.recorded, again.value) == (True, first.value)
    assert not s.count("age >= 50 AND town IN ('a', ' b')", 1).recorded
    listed = s.counts(["age>=50", "age >=  60"], 1)
    assert list(listed.value) == ["age>=50", "age >=  60"]  # by the texts that were given
