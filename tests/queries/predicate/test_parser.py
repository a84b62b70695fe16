"""Nothing of a condition reaches a log, whoever configured logging, from the library and from the command."""

import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import utmost as um
from utmost.errors import UtmostError
from utmost.queries.predicate.relations import relation

SOURCE = Path(um.__file__).parent
GUESS = "Zyxgorod"
LOGGED = [
    f"CALL ill('{GUESS}')",
    f"VACUUM {GUESS}",
    f"ALTER TABLE {GUESS} RENAME",
    f"SHOW {GUESS}",
    f"EXPLAIN {GUESS}",
    f"town = '{GUESS}' LIMIT ALL",
    f"json_extract(town, '{GUESS}[')",
]
"""Texts that hold a private guess; sqlglot logs the first ones as it reads them."""


@pytest.mark.parametrize("text", LOGGED)
def test_no_condition_is_logged(caplog, capfd, text):
    """Also where every logger writes everything it is handed."""
    caplog.set_level(logging.DEBUG)
    session = um.Session(pa.table({"town": ["Ash"]}), "a", unit=um.rows(at_most=5), neighbours="add-remove", budget=9)
    for ask in (lambda: session.count(text, 1), lambda: session.sum(text, 0, 1, 1)):
        with pytest.raises(UtmostError):
            ask()
    relation([text, "town = 'Ash'"])
    assert not [record for record in caplog.records if GUESS in record.getMessage()]
    assert GUESS not in "".join(capfd.readouterr())


def test_sqlglot_logs_the_first_of_them():
    """The cases above mean something: a process without Utmost logs the guess."""
    code = f"import sqlglot; sqlglot.parse({LOGGED[0]!r}, read='duckdb')"
    assert GUESS in subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr


def test_the_command_logs_nothing(tmp_path):
    """Beside the one error message, which whoever asked reads."""
    (tmp_path / "t.csv").write_text("town,age\nAsh,3\n")
    words = ["release", "t.csv", "--count", LOGGED[0], "--privacy", "1", "--rows-at-most", "5", "--dataset", "a"]
    words += ["--neighbours", "add-remove"]
    run = [sys.executable, "-c", "from utmost.cli import main; main()", *words]
    done = subprocess.run(
        run, cwd=tmp_path, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(SOURCE.parent)}
    )
    assert done.returncode == 2, done.stderr
    assert GUESS in done.stderr  # it was parsed, and the error says what is refused
    assert "unsupported syntax" not in done.stderr


def test_sql_is_parsed_in_one_place():
    """A second parser call would have to silence the log again, and might be forgotten."""
    calls = re.compile(r"sqlglot\.parse|parse_one\(|maybe_parse\(")
    assert [p.name for p in SOURCE.rglob("*.py") if calls.search(p.read_text("utf-8"))] == ["parser.py"]
