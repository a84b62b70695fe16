"""`utmost ask`: a file of questions in, a folder out; what is wrong is said before anything is asked."""

import csv
import json
from pathlib import Path
from unittest import mock

import pytest
from oracles.command import utmost

from utmost.queries.demo_table import write_survey
from utmost.queries.questions.aggregates import OneNumber

HEAD = """
table = "survey.csv"
dataset = "survey"
unit = "rows, at most 25000"
neighbours = "add-remove"
budget = 1000
ledger = "budget.db"
privacy = 200
"""
COUNT = """
[ask.older]
question = "count"
where = "age >= 65"
"""
CROSS = """
[ask.cross]
question = "count"
by = { town = ["Ashford", "Briar"], agrees = ["yes", "no", "perhaps"] }
"""


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    folder = tmp_path_factory.mktemp("survey")
    write_survey(folder / "survey.csv")
    return folder


@pytest.fixture
def folder(survey, tmp_path):
    (tmp_path / "survey.csv").symlink_to(survey / "survey.csv")
    return tmp_path


def asked(folder, text, *more):
    file = folder / "questions.toml"
    file.write_text(text, encoding="utf-8")
    return utmost("ask", str(file), *more)


def test_a_folder_of_pages_json_and_csv(folder):
    done = asked(folder, HEAD + COUNT + CROSS, "--out", str(folder / "out"), "--json")
    assert done.returncode == 0, done.stderr
    names = {file.name for file in (folder / "out").iterdir()}
    assert names == {"index.html", "older.html", "older.json", "cross.html", "cross.json", "cross.csv"}
    with (folder / "survey.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with (folder / "out" / "cross.csv").open(encoding="utf-8") as file:
        released = {(row["town"], row["agrees"]): int(row["value"]) for row in csv.DictReader(file)}
    true = {key: sum((row["town"], row["agrees"]) == key for row in rows) for key in released}
    assert released == true  # at epsilon 200 nothing is hidden
    assert len(released) == 6
    answers = json.loads(done.stdout)["answers"]
    assert answers["older"]["value"] == sum(row["age"].isdigit() and int(row["age"]) >= 65 for row in rows)
    page = (folder / "out" / "cross.html").read_text(encoding="utf-8")
    assert "town \\ agrees" in page
    listed = (folder / "out" / "index.html").read_text(encoding="utf-8")
    assert 'href="cross.csv"' in listed
    assert utmost("verify", str(folder / "out" / "cross.json")).returncode == 0


def test_what_was_answered_costs_nothing_when_questions_are_added(folder):
    assert asked(folder, HEAD + COUNT, "--out", str(folder / "out")).returncode == 0
    plan = asked(folder, HEAD + COUNT + CROSS, "--plan")
    assert "answered before: costs nothing" in plan.stdout
    assert "price: epsilon 200" in plan.stdout
    again = asked(folder, HEAD + COUNT + CROSS, "--out", str(folder / "out"))
    assert "left: epsilon 600 of 1000" in again.stdout


def test_a_plan_reads_nothing_and_opens_no_account(folder):
    done = asked(folder, HEAD + COUNT, "--plan", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["price"] == {"epsilon": 200.0}
    assert not (folder / "budget.db").exists()


def test_questions_that_cost_too_much_together_are_not_asked(folder):
    text = HEAD.replace("budget = 1000", "budget = 300") + COUNT + CROSS
    done = asked(folder, text, "--out", str(folder / "out"))
    assert done.returncode == 1
    assert "cost epsilon 400 together, and epsilon 300 of 300 are left" in done.stderr
    assert "Nothing was asked" in done.stderr
    assert not list((folder / "out").iterdir())


def test_questions_asked_together_cost_what_composition_says(folder):
    many = "".join(f'[ask.q{i}]\nquestion = "count"\nwhere = "age >= {i}"\n' for i in range(18, 43))
    text = HEAD.replace("privacy = 200", "privacy = 0.05\ntogether = true\ndelta = 1e-6")
    text = text.replace("budget = 1000", 'budget = "3,1e-5"')
    done = asked(folder, text + many, "--out", str(folder / "out"))
    assert done.returncode == 0, done.stderr
    spent = 3 - float(done.stdout.partition("left: epsilon ")[2].split()[0])
    assert 0.5 < spent < 1.2  # the sum would be 1.25


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("table = 3 = 4", "is not TOML"),
        (HEAD, "asks nothing"),
        (HEAD + "colour = 1\n" + COUNT, "'colour', which nothing reads"),
        (HEAD.replace('unit = "rows, at most 25000"', "unit = 5") + COUNT, "unit is 5"),
        (HEAD.replace('dataset = "survey"', "") + COUNT, "lacks dataset"),
        (HEAD + COUNT.replace("older", '"../older"'), "its name is a file's"),
        (HEAD + COUNT.replace('"count"', '"tally"'), "[ask.older]: question is 'tally'"),
        (HEAD + COUNT.replace("age >=", "agee >="), "[ask.older]: there is no column 'agee'"),
        (HEAD + "delta = 1e-6\n" + COUNT, "add together = true"),
        (HEAD + COUNT + "\n[ask.mean]\nquestion = 'mean'\ncolumn = 'income'\n", "[ask.mean]: mean lacks lower, upper"),
    ],
    ids=["toml", "nothing", "unknown", "unit", "missing", "name", "question", "column", "delta", "range"],
)
def test_what_is_wrong_is_said_and_nothing_is_spent(folder, text, words):
    done = asked(folder, text, "--out", str(folder / "out"))
    assert done.returncode == 2
    assert words in done.stderr
    out = folder / "out"
    assert not out.exists() or not list(out.iterdir())


def test_every_mistake_is_said_and_no_account_opened(folder):
    text = HEAD + COUNT.replace("age >=", "agee >=") + "\n[ask.odd]\nquestion = 'cdff'\n"
    done = asked(folder, text, "--out", str(folder / "out"))
    assert "[ask.older]: there is no column 'agee'" in done.stderr
    assert "[ask.odd]: question is 'cdff'" in done.stderr
    assert not (folder / "budget.db").exists()


def test_keys_that_nobody_listed(folder):
    text = HEAD.replace("budget = 1000", 'budget = "1000,1e-3"').replace("privacy = 200", 'privacy = "2,1e-6"')
    done = asked(
        folder, text + "[ask.towns]\nquestion = 'count'\nby = { discover = ['town'] }\n", "--out", str(folder / "out")
    )
    assert done.returncode == 0, done.stderr
    listed = (folder / "out" / "towns.csv").read_text()
    assert all(town in listed for town in ("Ashford", "Briar", "Coldwell", "Dunmore"))


def test_other_peoples_files_are_not_replaced(folder):
    (folder / "out").mkdir()
    (folder / "out" / "index.html").write_text("<p>mine</p>")
    done = asked(folder, HEAD + COUNT, "--out", str(folder / "out"))
    assert done.returncode == 2
    assert "no report of Utmost" in done.stderr
    assert not Path(folder / "out" / "older.html").exists()


def test_where_to_write_must_be_said(folder):
    done = asked(folder, HEAD + COUNT)
    assert done.returncode == 2
    assert "give --out" in done.stderr


def test_a_batch_is_one_table_and_every_question_is_designed_once(folder):
    """Names, questions, answers and levels in columns, a line each; plans, too."""
    with mock.patch.object(OneNumber, "design", autospec=True, side_effect=OneNumber.design) as designed:
        done = asked(folder, HEAD + COUNT + COUNT.replace("older", "old").replace("65", "75"), "--out", folder / "out")
    assert designed.call_count == 2
    lines = [line.split() for line in done.stdout.splitlines() if line.strip()]
    assert lines[0] == ["name", "question", "answer", "level"]
    assert [line[0] for line in lines if line[-1:] == ["200-DP"]] == ["older", "old"]
    plan = asked(folder, HEAD + COUNT, "--plan").stdout
    assert plan.strip().splitlines()[0].split() == ["name", "question", "level", "mechanism", "expected", "error"]


def test_mistakes_are_spelled_as_the_file_is(folder):
    text = HEAD + "[ask.mean]\nquestion = 'mean'\ncolumn = 'income'\nlower = 9\nupper = 1\n"
    done = asked(folder, text + "[ask.vote]\nquestion = 'majority'\nby = { discover = ['town'] }\n", "--plan")
    assert done.returncode == 2
    assert "such as lower = 0, upper = 100" in done.stderr
    assert "um." not in done.stderr


@pytest.mark.parametrize("name", ["older.html", "older.json", "older.csv", "index.html"])
def test_what_somebody_else_put_into_the_folder_is_never_replaced(folder, name):
    """It is refused before anything is asked; what has another name stays, and answers of before are replaced."""
    out = folder / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    (out / name).write_text("mine")
    done = asked(folder, HEAD + COUNT, "--out", str(out))
    assert done.returncode == 2
    assert f"{name} is there already" in done.stderr
    assert not (folder / "budget.db").exists()
    assert (out / name).read_text() == "mine"
    (out / name).unlink()
    for _ in range(2):
        assert asked(folder, HEAD + COUNT, "--out", str(out)).returncode == 0
    assert (out / "notes.txt").read_text() == "mine"


def test_a_publication_never_replaces_its_ledger(folder):
    (folder / "out").mkdir()
    text = HEAD.replace('"budget.db"', '"out/older.json"')
    done = asked(folder, text + COUNT, "--out", str(folder / "out"))
    assert done.returncode == 2
    assert "would replace the ledger" in done.stderr
    assert not list((folder / "out").iterdir())
