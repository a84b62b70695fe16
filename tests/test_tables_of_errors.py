"""The errors of tables that the documents state are those that plans have."""

import runpy
from pathlib import Path

import pytest


@pytest.mark.long
def test_the_documents_have_the_errors_of_tables_as_computed():
    """docs/questions.md and the README say what `python tools/tables.py` writes there."""
    made = runpy.run_path(str(Path(__file__).parents[1] / "tools" / "tables.py"))
    for path, text in made["pages"]().items():
        assert path.read_text(encoding="utf-8") == text, "run `python tools/tables.py`"
