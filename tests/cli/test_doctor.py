"""`utmost doctor`, and completion in a shell."""

import importlib.metadata
import json
import os
from unittest import mock

import pytest
from oracles.command import utmost

import utmost as um
from utmost.cli import doctor


def test_the_doctor_says_what_is_installed():
    """As numbers and texts, of what the package itself declares; the draw takes as long as draws do."""
    found = json.loads(utmost("doctor", "--json").stdout)
    assert found["utmost"] == um.__version__
    assert found["libraries"]["numpy"] == importlib.metadata.version("numpy")
    assert found["extras"]["tables"]["complete"] is True
    assert found["engines"]["DuckDB"]["found"] is True
    assert 1e-7 < found["draw_seconds"] < 0.1
    assert set(found["extras"]) <= set(importlib.metadata.metadata("utmost").get_all("Provides-Extra"))


def test_what_is_missing_is_said_with_its_remedy(monkeypatch):
    """Without DuckDB the tables cannot be read, and the doctor says how to mend it."""
    have = doctor._installed
    monkeypatch.setattr(doctor, "_installed", lambda name: None if name == "duckdb" else have(name))
    text = utmost("doctor").stdout
    assert "duckdb (not installed)" in text
    assert "to have it: pip install 'duckdb" in text
    assert "engine DuckDB: not installed" in text


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("utmost do", {"doctor"}), ("utmost release --purp", {"--purpose"}), ("utmost se", {"serve"})],
)
def test_a_shell_completes_commands_and_options(typed, offered):
    """As bash asks: the words so far and which of them is being typed."""
    asked = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" ")), "_UTMOST_COMPLETE": "complete_bash"}
    with mock.patch.dict(os.environ, asked):
        assert set(utmost().stdout.split()) == offered
