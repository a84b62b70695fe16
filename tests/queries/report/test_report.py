"""Reports: where they may be written, that both files come or neither, and how the page reads."""

import json
import os
import re
from unittest import mock
from xml.etree import ElementTree

import pandas as pd
import pyarrow
import pytest
from oracles.command import release_command

import utmost as um
from utmost.errors import InvalidInput
from utmost.queries.report import files as report
from utmost.queries.report.promise import promises

TABLE = pyarrow.table({"age": [70, 25, 80, 41] * 5, "town": ["Ash", "Briar", "Ash", None] * 5})


def opened(dataset="survey", **options):
    return um.Session(TABLE, dataset, um.rows(at_most=30), "add-remove", budget=100, **options)


COUNT = ("--count", "age >= 65", "--privacy", 1)


@pytest.mark.parametrize("ledger", ["x.html", "x.json"])
@pytest.mark.parametrize("exists", [True, False])
def test_a_report_never_replaces_the_ledger(tmp_path, ledger, exists):
    """Neither the page nor the JSON beside it, whether the ledger is there already or not; nothing is spent."""
    path = tmp_path / ledger
    if exists:
        assert release_command(tmp_path, *COUNT, "--budget", 9, ledger=path).returncode == 0
    kept = path.read_bytes() if exists else None
    asked = ("--count", "age >= 70", "--privacy", 1, "--report", tmp_path / "x.html")
    result = release_command(tmp_path, *asked, ledger=path)
    assert result.returncode == 2, result.stdout
    assert "Traceback" not in result.stderr
    assert path.exists() == exists
    assert kept is None or path.read_bytes() == kept


def test_a_page_replaces_only_pages(tmp_path):
    """In Python too: a ledger that ends in .html, somebody's page, a folder; ours and an empty file are fine."""
    s = opened(ledger=tmp_path / "ledger.html")
    answer = s.count("age >= 65", 1)
    (tmp_path / "mine.html").write_text("<!DOCTYPE html><html><p>mine")
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "beside.json").mkdir()
    os.mkfifo(tmp_path / "piped.json")  # to open it would be to wait for whoever writes
    os.mkfifo(tmp_path / "pipe.html")
    for name in ("ledger.html", "mine.html", "folder.html", "beside.html", "piped.html", "pipe.html"):
        with pytest.raises(InvalidInput, match="no report of Utmost"):
            answer.report(tmp_path / name)
    assert not (tmp_path / "folder.json").exists()
    assert s.account.check()
    (tmp_path / "empty.html").touch()
    for name in ("new.html", "new.html", "empty.html"):
        answer.report(tmp_path / name)
        assert json.loads((tmp_path / name).with_suffix(".json").read_text())["value"] == answer.value


@pytest.mark.parametrize("report", ["folder.html", "x" * 5000 + ".html"])
def test_where_no_page_can_be_nothing_is_spent(tmp_path, report):
    """A folder of that name, or a name no file can have: said before the spend, and shortly."""
    (tmp_path / "folder.html").mkdir()
    result = release_command(tmp_path, *COUNT, "--report", tmp_path / report)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert len(result.stderr) < 1500
    assert not (tmp_path / "b.db").exists()


@pytest.mark.parametrize("before", [True, False])
def test_both_files_or_neither(tmp_path, before):
    """Where the second file fails, the first is as it was."""
    answer, other = opened().count("age >= 65", 1), opened().count("age >= 20", 2)
    target = tmp_path / "a.html"
    if before:
        other.report(target)
    kept = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    replace = report.os.replace

    def failing(source, place):
        if str(place).endswith(".html"):
            raise OSError(28, "No space left on device")
        replace(source, place)

    with mock.patch.object(report.os, "replace", failing), pytest.raises(InvalidInput, match="No space left"):
        answer.report(target)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == kept


@pytest.mark.parametrize(
    "path", [None, 7, ["a.html"], b"a.html", pd.DataFrame({"x": ["SECRET"]}), "a\0.html", "\ud800.html", "", ".", "/"]
)
def test_what_is_no_path_is_refused(path):
    with pytest.raises(InvalidInput, match=r"ends in \.html") as caught:
        opened().count("age >= 65", 1).report(path)
    assert "SECRET" not in str(caught.value)


# ---- the page ----


def page_of(answers, tmp_path, title=None):
    """The page as a tree: ours is well-formed XML but for the line that says it is HTML and tags that do not end."""
    text = report.write_report(answers, tmp_path / "page.html", title).read_text()
    plain = re.sub(r"<(meta[^>]*)>", r"<\1/>", text.removeprefix("<!DOCTYPE html>"))
    return ElementTree.fromstring(plain), text


def words(node):
    return "".join(node.itertext())


def test_one_answer_asks_once_and_every_table_can_be_read(tmp_path):
    """One h1 and no second time; captions; named columns and rows; tables that scroll by themselves; two schemes."""
    answer = opened().count("age >= 65", 1)
    tree, text = page_of([answer], tmp_path)
    asked = [
        node for level in ("h1", "h2", "h3") for node in tree.iter(level) if words(node) == answer.details["words"]
    ]
    assert [node.tag for node in asked] == ["h1"]
    assert len(list(tree.iter("main"))) == 1
    figures = list(tree.iter("figure"))
    assert len(figures) == len(re.findall("<svg", text)) == 2
    assert all(words(figure.find("figcaption")) for figure in figures)
    for cell in tree.iter("th"):
        assert cell.get("scope") in ("row", "col")
        assert words(cell)
    tables = len(list(tree.iter("table")))
    assert tables == sum(div.get("class") == "wide" and div.find("table") is not None for div in tree.iter("div")) == 3
    (folded,) = tree.iter("details")
    assert "Proof" in words(folded)
    assert "Spent" not in words(folded)
    assert "color-scheme:light dark" in text
    assert "prefers-color-scheme:dark" in text


SVG = "{http://www.w3.org/2000/svg}"


def test_several_counts_are_a_table_and_none_has_won(tmp_path):
    """Value and interval of every cell; bars of one colour; names are escaped."""
    answer = opened().histogram("town", ["Ash", "Briar"], 1, other="<b>else</b>")
    tree, text = page_of([answer], tmp_path)
    table = next(tree.iter("table"))
    rows = {words(row[0]): [words(cell) for cell in row[1:]] for row in table.find("tbody")}
    ends = answer.accuracy["after"]["intervals"]
    assert rows == {name: [str(n), *map(str, ends[name])] for name, n in answer.value.items()}
    counts, losses = tree.iter("figure")
    assert {bar.get("class") for bar in counts.iter(f"{SVG}rect")} == {"ours"}
    drawn = [re.match(r"M([\d.]+),\d+H([\d.]+)M", line.get("d")).groups() for line in counts.iter(f"{SVG}path")]
    top = max(high for _, high in ends.values())
    assert [(float(a) - 212, float(b) - 212) for a, b in drawn] == [
        pytest.approx(tuple(320 * max(end, 0) / top for end in ends[name]), abs=0.1)
        for name in answer.value
        if ends[name][1] >= 0
    ]
    assert [bar.get("class") for bar in losses.iter(f"{SVG}rect")][:2] == ["ours", "others"]
    assert "<b>" not in text


def test_a_page_of_several_answers_names_every_data_set(tmp_path):
    """And asks every question under a title."""
    answers = [opened("one").count("age >= 65", 1), opened("two <i>").majority("age >= 65", 1)]
    tree, text = page_of(answers, tmp_path, "Two answers")
    assert "Data sets one, two <i>." in words(tree)
    assert "<i>" not in text
    assert [words(node) for node in tree.iter("h2")] == [answer.details["words"] for answer in answers]


def test_how_far_a_sum_moves_is_in_steps_of_its_grid(tmp_path):
    _, text = page_of([opened().sum("age", 0, 100, 1, grid="0.5")], tmp_path)
    assert "neighbours at most 200 apart, in steps of 0.5" in text


def test_the_first_paragraph_says_what_anyone_can_tell(tmp_path):
    """In odds, in the words of unit and neighbours, for all answers on the page together."""
    s = opened()
    answer = s.count("age >= 65", 0.5)
    tree, text = page_of([answer], tmp_path)
    (first,) = (words(p) for p in tree.iter("p") if p.get("class") == "promise")
    assert first.startswith("No one reading this can tell, beyond odds of 1.65 to 1, whether any one row is in the ")
    assert "62.25 % at most" in first
    assert f"Made with Utmost {um.__version__}." in text
    _, several = page_of([answer, s.majority("age >= 65", 0.5)], tmp_path)
    assert "beyond odds of 2.72 to 1" in several
    assert "The 2 answers together" in several


@pytest.mark.parametrize(
    ("level", "odds", "held"),
    [
        (um.ApproxDP(1, 0.01), "2.76", "on average"),
        (um.GaussianDP(1), "2.25", "on average"),
        (um.ZCDP(0.5), "2.84", "on average"),
        (um.PureDP(1), "2.72", "whatever was released"),
    ],
)
def test_the_promise_of_every_kind_of_level(level, odds, held):
    """(e + 0.01) / 0.99, Phi(1/2) / Phi(-1/2), and e^x where x tanh(x/2) = 1/2, each rounded up."""
    s = um.Session(TABLE, "people", um.people("age", 2, 30), "replace", budget=level)
    (text,) = promises([s.count("town = 'Ash'", level)])
    assert f"beyond odds of {odds} to 1, which of two sets of rows any one person has" in text
    assert held in text


def test_a_weak_promise_is_called_one():
    (text,) = promises([opened().count("age >= 65", 30)])
    assert text.startswith("This promises next to nothing")


def test_purpose_and_author_stand_on_the_page(tmp_path):
    answer = opened().count("age >= 65", 1)
    text = answer.report(tmp_path / "a.html", purpose="Beds <needed>", author="A. Nurse").read_text()
    assert "<p>Purpose: Beds &lt;needed&gt;</p><p>Author: A. Nurse</p>" in text
    with pytest.raises(InvalidInput, match="the purpose is 7"):
        answer.report(tmp_path / "a.html", purpose=7)


def test_the_command_takes_purpose_and_author(tmp_path):
    """With a report, and refuses them where they would be written nowhere."""
    stated = ("--purpose", "beds", "--author", "A. Nurse")
    assert release_command(tmp_path, *COUNT, *stated).returncode == 2
    assert release_command(tmp_path, *COUNT, *stated, "--report", tmp_path / "b.html").returncode == 0
    assert "<p>Purpose: beds</p><p>Author: A. Nurse</p>" in (tmp_path / "b.html").read_text()
