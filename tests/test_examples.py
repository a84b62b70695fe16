"""The scripts beside the library: what they import exists, and the docs have the tables that they compute."""

import ast
import importlib
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def imported(path):
    """The names of this library that a script imports, at its top or inside its functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "utmost":
            yield from ((node.module, alias.name) for alias in node.names)


@pytest.mark.parametrize("path", sorted([*ROOT.glob("examples/*.py"), *ROOT.glob("bench/*.py")]), ids=lambda p: p.name)
def test_what_a_script_imports_exists(path):
    for module, name in imported(path):
        assert hasattr(importlib.import_module(module), name), f"{module} has no {name}"


@pytest.fixture(scope="module")
def tables():
    """What the script of the tables defines."""
    return runpy.run_path(str(ROOT / "examples" / "release_table.py"))


@pytest.mark.long
def test_the_docs_have_the_table_of_numbers_as_computed(tables):
    assert tables["numbers"]() in (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_the_docs_have_the_table_of_winners_as_computed(tables):
    assert tables["winners"]() in (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")


def test_estimates_are_shown_to_the_digits_they_carry(tables):
    assert [tables["shown"](7.9948, e) for e in (0, 0.004, 0.012, 0.3, 3)] == ["7.995", "7.99", "8.0", "8", "10"]
