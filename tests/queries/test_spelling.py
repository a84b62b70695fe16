"""Arguments are spelled as they are where somebody asks: with flags, in a file, on a page; never as in Python there."""

import ast
import inspect
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from oracles.command import release_command, utmost

import utmost as um
from utmost.errors import InvalidInput
from utmost.queries.keys import read_keys
from utmost.queries.questions import QUESTIONS
from utmost.queries.session import Session
from utmost.queries.spelling import ARGUMENTS, COMMAND, FILE, PAGE, Entries, Flags, errors_spelled, spelled
from utmost.serve.wire import parameters_of

SOURCES = [Path(um.__file__).parent / name for name in ("backends", "queries")]
ONLY_IN_PYTHON = ("um.engine(", "um.Session(")
"""Calls that neither the command nor a file has."""


@pytest.mark.parametrize(
    ("python", "command", "file", "page"),
    [
        ("unbiased=True.", "--unbiased.", "unbiased = true.", '"unbiased".'),
        ("such as lower=0, upper=100.", "such as --lower 0, --upper 100.", "such as lower = 0, upper = 100.", None),
        ("the condition as where=", "the condition as --where", "the condition as where", None),
        ("types={'age': float}.", "--type age=float.", 'types = { age = "float" }.', None),
        ("privacy=0.5: there", "--privacy 0.5: there", "privacy = 0.5: there", "privacy 0.5: there"),
        ("um.rows(at_most=20_000)", "--rows-at-most 20000", '"rows, at most 20000"', "um.rows(at_most=20_000)"),
        ('um.bins(0, 100, 5) or um.bins([0, 9])', "'bins(0, 100, 5)' or 'bins([0, 9])'", None, None),
        ('by=um.discover("dest"),', "--by 'discover(dest)',", 'by = { discover = ["dest"] },', "by discover(dest),"),
        ("(um.discover)", "(discover)", "(discover)", "(discover)"),
        ("s.share('a > 1', among=9, of='people')", "--share 'a > 1' --among 9 --of people", None, None),
        ("""tiers={"c = 'b'": (0.1, 20)}""", "--tier \"0.1, 20: c = 'b'\"", None, None),
        ("such as um.ApproxDP(1, 1e-6).", "such as 1,1e-06.", 'such as "1,1e-06".', "such as 1,1e-06."),
        ("privacy=um.GaussianDP(0.5)", "--privacy mu=0.5", 'privacy = "mu=0.5"', "privacy mu=0.5"),
        ("it's by=um.keys(...), or", "it's --by COLUMN=VALUE,VALUE, or", "it's by = { ... }, or", None),
    ],
)  # fmt: skip
def test_one_argument_in_every_spelling(python, command, file, page):
    assert spelled(python, COMMAND) == command
    if file is not None:
        assert spelled(python, FILE) == file
    if page is not None:
        assert spelled(python, PAGE) == page


def test_what_is_quoted_or_no_argument_stays():
    """A value that somebody gave is shown as it is, and so is what the command has no flag for."""
    for text in (
        "where is 'by=1 and um.keys(x)'; write another",
        'town is "unbiased=True"',
        "a == b, at_most = 5, rho=0.1 (zCDP)",
        "nothing here",
        "cut them into bins, such as age=bins(10, 100, 10)",
        "types={'a': ",
    ):
        assert spelled(text, Flags(lambda name: name in ("by", "unbiased", "types"))) == text
    assert spelled("unbiased=True", Flags(lambda name: False)) == "unbiased=True"


def test_the_command_reads_what_it_is_told_to_write():
    """Keys in an error, pasted into a shell, are the keys of Python's example."""
    words = shlex.split(spelled("by=um.keys(carrier=['AA', 'UA'], origin=['EWR', 'JFK'])", COMMAND))
    assert words[0] == "--by"
    keys = um.keys(carrier=["AA", "UA"], origin=["EWR", "JFK"])
    assert read_keys(words[1]).public == keys.public
    written = spelled("by=um.keys(carrier=['AA', 'UA'], origin=['EWR', 'JFK'])", FILE)
    assert tomllib.loads(written) == {"by": {"carrier": ["AA", "UA"], "origin": ["EWR", "JFK"]}}


def test_no_error_of_a_question_speaks_python_in_the_command():
    """Every text of an error of a question, spelled for the command, is free of `um.` and of calls of a session."""
    left = []
    for file in (file for source in SOURCES for file in source.rglob("*.py")):
        for raised in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(raised, ast.Raise) and isinstance(raised.exc, ast.Call):
                for text in map(_text, raised.exc.args):
                    for flags in (COMMAND, FILE):
                        found = spelled(text, flags)
                        if re.search(r"\bum\.\w+\(|(?<![\w.])s\.(?!plan)\w+\(|\w=(True|um\.)", found):
                            left.append((file.name, found))
    wrong = [each for each in left if not any(call in each[1] for call in ONLY_IN_PYTHON)]
    beside_the_command = {"audits.py", "allotment.py", "session.py", "answers.py", "postgres.py", "measurements.py"}
    assert {name for name, _ in wrong} <= beside_the_command, wrong


def _text(node):
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
    return ""


def test_every_argument_is_known():
    """Those of every question and of a session; `share` is of um.discover, and tiers of the unit."""
    taken = {name for question in QUESTIONS for name in parameters_of(question)}
    taken |= set(inspect.signature(Session).parameters) - {"table", "engine"}
    assert taken | {"share", "tiers"} == ARGUMENTS


def test_an_error_is_spelled_and_stays_the_same_error():
    with pytest.raises(InvalidInput, match=r"^say --privacy 0\.5$"), errors_spelled(COMMAND):
        raise InvalidInput("say privacy=0.5")
    shown = Entries({"share": "where"})
    assert spelled("s.share('a > 1', among=9)", shown) == 'question = "share", where = "a > 1", among = 9'


def test_notes_of_the_command_name_its_flags(tmp_path):
    """In text, in JSON and on the report; the report's reader asks nothing, and is told no syntax."""
    done = release_command(tmp_path, "--count", "age > 30", "--privacy", 1, "--report", tmp_path / "a.html")
    assert "--unbiased gives the noisy number" in done.stdout
    done = release_command(tmp_path, "--count", "age > 30", "--epsilon", 1, "--json")  # another name for --privacy
    assert "--unbiased gives" in done.stdout
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "; &quot;unbiased&quot; gives the noisy number" in page
    assert "=True" not in done.stdout + page


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--share", "age > 30", "--among", 5, "--neighbours", "add-remove"), "--neighbours replace"),
        (("--mean", "age", "--lower", 9, "--upper", 1), "--lower 0, --upper 100"),
        (("--majority", "age > 3", "--by", "discover(town)"), "--by 'carrier=AA,UA;origin=EWR,JFK'"),
        (("--cdf", "age", "--edges", "5,3"), "--edges 20,40,60"),
        (("--count", "age > 3", "--by", "town"), "found by 'discover(carrier)'"),
        (
            ("--count", "age > 3", "--by", "discover(town)"),
            "such as 1,1e-06, or list the keys: --by COLUMN=VALUE,VALUE",
        ),
    ],
)
def test_errors_of_the_command_name_its_flags(tmp_path, asked, said):
    table = tmp_path / "t.csv"
    table.write_text("age,town\n70,x\n80,y\n20,x\n")
    rest = () if "--neighbours" in asked else ("--neighbours", "replace")
    done = utmost("release", table, *asked, "--privacy", 1, "--dataset", "d", "--rows-at-most", 10, *rest)
    assert done.returncode == 2
    assert said in done.stderr
    assert "um." not in done.stderr
