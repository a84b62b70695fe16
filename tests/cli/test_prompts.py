"""`utmost release` asks for what is missing in a terminal, and never elsewhere."""

import json
import os
import pty
import re
import select
import shlex
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest
from oracles.command import utmost

from utmost.queries.demo_table import write_survey

TABLE = "age,town\n" + "\n".join(["70,Ash", "25,Briar", "66,Ash"] * 4) + "\n"


@pytest.fixture
def table(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    return tmp_path / "t.csv"


def run(*words):
    return utmost("release", *words)


COMMON = ("--dataset", "survey", "--rows-at-most", "20", "--neighbours", "replace", "--privacy", "50")


KEYS = {"Ctrl-C": "\x03", "Ctrl-D": "\x04"}


def in_terminal(words, answers, seconds=60):
    """The command in a pseudo-terminal, an answer typed whenever a prompt waits: what was shown, the exit code."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-m", "utmost", "release", *map(str, words)])
    shown, waiting, end = b"", list(answers), time.monotonic() + seconds
    while time.monotonic() < end:
        ready, _, _ = select.select([terminal], [], [], 0.5)
        if ready:
            try:
                new = os.read(terminal, 65536)
            except OSError:
                break
            if not new:
                break
            shown += new
        if waiting and shown.rstrip(b" ").endswith(b":") and shown.endswith(b" "):
            if waiting[0] not in KEYS.values():
                os.write(terminal, waiting.pop(0).encode() + b"\n")
                shown += b"\n"
            elif not ready:  # the prompt has come to rest; again, if the key came before it was read
                os.write(terminal, waiting[0].encode())
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    return shown.decode(), os.waitstatus_to_exitcode(status), waiting


def test_everything_is_asked_for(table):
    """From nothing at all to an answer; a wrong choice is asked again."""
    answers = [table, "who knows", "count", "town = 'Ash'", "row", "replace", "survey", "50", ""]
    shown, code, left = in_terminal([], [str(a) for a in answers])
    assert code == 0, shown
    assert not left
    assert "How many rows have town = 'Ash', as an unbiased number?  8" in shown
    assert "say one of" in shown
    assert "in memory: lost with this process" in shown


def test_a_choice_asks_how_many_rows_there_are(table):
    """A majority is answered among tables of at most so many rows; a wrong number is asked again."""
    answers = [table, "majority", "town = 'Ash'", "row", "many", "20", "replace", "survey", "50", ""]
    shown, code, left = in_terminal([], [str(a) for a in answers])
    assert code == 0, shown
    assert not left
    assert "give a whole number" in shown


def test_an_empty_condition_takes_every_row(table, tmp_path):
    """Given or typed; a ledger that is named is kept."""
    shown, code, left = in_terminal([table, *COMMON, "--count", ""], [])
    assert (code, left) == (0, []), shown
    assert "How many rows are there, as the best guess under a uniform prior?  12" in shown
    typed = ["threshold", "", "7", str(tmp_path / "kept.db")]
    shown, code, left = in_terminal([table, *COMMON], typed)
    assert (code, left) == (0, []), shown
    assert "Are there at least 7 rows?  yes" in shown
    assert (tmp_path / "kept.db").exists()


def test_only_what_is_missing_is_asked_for(table):
    """A histogram whose categories were left out."""
    shown, code, left = in_terminal([table, *COMMON, "--histogram", "town"], ["Ash,Briar", ""])
    assert code == 0, shown
    assert not left
    assert "Ash: 8; Briar: 4" in shown
    assert "Name of the data set" not in shown


def test_nothing_is_asked_in_a_pipe(table):
    """An error that says what is missing, and exit code 2."""
    done = run(table, "--count", "age >= 65")
    assert done.returncode == 2
    for missing in ("--dataset", "--privacy", "--neighbours", "--rows"):
        assert missing in done.stderr
    everything = run()
    assert everything.returncode == 2
    for missing in ("the table", "one question", "--dataset", "--privacy", "--neighbours", "--rows"):
        assert missing in everything.stderr


@pytest.mark.parametrize("which", ["table", "ledger"])
def test_a_name_no_file_can_have(table, which):
    """Exit code 2, and the name cut short."""
    long = "x" * 5000
    done = run(*((f"{long}.csv",) if which == "table" else (table, "--ledger", long)), *COMMON, "--count", "age > 1")
    assert done.returncode == 2
    assert ("there is no file" if which == "table" else "File name too long") in done.stderr
    assert len(done.stderr.splitlines()[-1]) < 400


@pytest.mark.parametrize("key", KEYS)
def test_stopping_at_a_prompt_is_no_refusal(table, key):
    """It ends with 130: 1 would say that the budget does not allow it."""
    shown, code, _ = in_terminal([table, "--count", "age >= 65"], [KEYS[key]])
    assert code == 130, shown
    assert "nothing was done" in shown


@pytest.mark.parametrize("plan", [False, True])
def test_stopping_an_engine_says_what_became_of_the_spend(table, tmp_path, plan):
    """Ctrl-C while the rows are read: charged, and not given back; a plan has spent nothing."""
    words = ("release", table, *COMMON, "--count", "age >= 65", "--ledger", tmp_path / "b.db", "--budget", 60)
    where = "utmost.cli.release._ask" if plan else "utmost.backends.source.Source.execute"
    with mock.patch(where, side_effect=KeyboardInterrupt):
        done = utmost(*words, *(["--plan"] if plan else []))
    assert done.returncode == 130
    assert done.stderr.startswith("stopped. Nothing was spent." if plan else "stopped. What was charged already stays")
    if not plan:
        assert "spent: epsilon 50 of 60" in utmost("budget", "show", tmp_path / "b.db").stdout


def test_output_that_cannot_be_written_is_no_refusal(table, tmp_path):
    """A full disk or a closed pipe ends with 74 and one sentence; the answer is asked again at no cost."""
    call = [sys.executable, "-m", "utmost", "release", str(table), *COMMON, "--count", "age >= 65", "--ledger"]
    for i, json_too in enumerate(([], ["--json"])):
        kept = str(tmp_path / f"{i}.db")
        with open("/dev/full", "w") as full:
            done = subprocess.run([*call, kept, *json_too], stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 74, done.stderr
        assert "Traceback" not in done.stderr
        assert "What was spent stays spent" in done.stderr
        again = subprocess.run([*call, kept, *json_too], capture_output=True, text=True)
        assert again.returncode == 0
        assert "nothing was spent now" in (again.stderr if json_too else again.stdout)
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*call, str(tmp_path / "p.db")], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert done.returncode == 74
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (("--counts", "age >= 65", "--counts", "town = 'Ash'"), {"age >= 65": 8, "town = 'Ash'": 8}),
        (("--histogram", "town", "--categories", "Ash,Cole", "--other", "else"), {"Ash": 8, "Cole": 0, "else": 4}),
        (("--plurality", "town", "--categories", "Briar,Ash"), "Ash"),
        (("--quantile", "age", "--q", "0.5", "--categories", "20,40,66,70"), 66),
        (("--plurality", "age", "--categories", "70,66,25", "--type", "age=int", "--where", "town = 'Briar'"), 25),
    ],
)
def test_counts_and_candidates_from_the_command_line(table, words, value):
    """As JSON, with everything that defends them."""
    done = run(table, *COMMON, "--json", *words)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["value"] == value
    assert {"privacy", "accuracy", "mechanism", "proof", "ledger"} <= set(found)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--histogram", "town"), "--categories"),
        (("--quantile", "age", "--categories", "1,2"), "--q"),
        (("--quantile", "age", "--q", "0.5"), "a quantile needs public bounds"),
        (("--quantile", "age", "--q", "0.5", "--categories", ","), "--categories 20,40,60"),
        (("--count", "age > 1", "--budget", "1,"), "--budget is '1,', with no delta after its comma"),
        (("--count", "age > 1", "--people-by", "id"), "both --rows-at-most and --people-by"),
        (("--count", "age > 1", "--rows-at-most", "0"), "--rows-at-most is given 2 times; give it once"),
        (("--count", "age > 1", "--of", "people"), "--people-by"),
        (("--majority", "age > 1", "--delta", "-1"), "delta is '-1'"),
        (("--quantile", "age", "--q", "0.5", "--categories", "a,b"), "numbers"),
        (("--count", "age > 1", "--plurality", "town"), "one question"),
    ],
)
def test_wrong_use_of_the_command(table, words, hint):
    """Exit code 2 and what to give."""
    done = run(table, *COMMON, *words)
    assert done.returncode == 2
    assert hint in done.stderr
    assert "um." not in done.stderr
    assert "Fraction" not in done.stderr


@pytest.mark.parametrize("most", ["0", "10000000000000"])
def test_so_many_rows_there_cannot_be(table, most):
    """Exit code 2, and the least or the most there may be."""
    done = run(table, *COMMON[:2], "--rows-at-most", most, *COMMON[4:], "--count", "age > 1")
    assert done.returncode == 2
    assert "--rows-at-most" in done.stderr
    assert ("1000000000000" if int(most) else "1") in done.stderr


def test_a_delta_of_its_own(table):
    """Beside the epsilon, or after its comma: the same level, in words and as numbers."""
    first = run(table, *COMMON, "--count", "age > 1", "--json", "--delta", "0.1")
    second = run(table, *COMMON[:-1], "50,0.1", "--count", "age > 1", "--json")
    for done in (first, second):
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["ledger"]["amounts"]["delta"] == {"spent": 0.1, "limit": 0.1}
    assert json.loads(first.stdout)["privacy"] == json.loads(second.stdout)["privacy"]


def test_the_commands_of_the_guides_follow_each_other(tmp_path, monkeypatch):
    """One after the other in one folder, on the survey they speak of, from the account of the first."""
    write_survey(tmp_path / "survey.csv")
    monkeypatch.chdir(tmp_path)
    root, left = Path(__file__).parents[2], []
    for guide in ("README.md", "docs/release.md", "docs/questions.md"):
        text = (root / guide).read_text(encoding="utf-8")
        commands = re.findall(r"`(utmost release [^`]+)`|^(utmost release .+(?:\n  .+)*)", text, re.MULTILINE)
        commands = [words for pair in commands for words in pair if "--privacy" in words]
        assert commands, guide
        for command in commands:
            words = shlex.split(command.replace("\\\n", " "))[1:]
            done = utmost(*words, "--json")
            assert done.returncode == 0, (command, done.stderr)
            left.append(json.loads(done.stdout)["ledger"]["left"])
    assert left == ["epsilon 2.5 of 3", "epsilon 2.5 of 3", "epsilon 2 of 3"]
