"""The tutorials: every block runs, the notebook is the page, and what they show is what comes out."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


@pytest.fixture(scope="module")
def tool():
    return runpy.run_path(str(ROOT / "tools" / "tutorials.py"))


def test_there_are_three():
    assert [page.stem for page in PAGES] == ["election", "flights", "health"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_notebook_runs_and_is_the_page(tool, page):
    """Every cell of the notebook runs, on draws of its own, and its code is that of the page."""
    if page.stem != "flights":
        pytest.importorskip("statsmodels", reason="statsmodels, whose data the tutorial is about, is not installed")
    notebook = json.loads(page.with_suffix(".ipynb").read_text(encoding="utf-8"))
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert code == [cell.source for cell in tool["cells_of"](page.read_text(encoding="utf-8")) if cell.is_code]
    outputs = tool["run"](code, page.stem)
    shown = [bool(cell["outputs"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert shown == [bool(output.text) for output in outputs]
    assert any("True" in output.text for output in outputs), "every tutorial proves its answers again"


@pytest.mark.long
def test_pages_show_what_comes_out():
    """Made again with the same draws, the pages and the notebooks are the same, number by number."""
    tool = str(ROOT / "tools" / "tutorials.py")
    done = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_block_that_fails_is_not_passed_over(tool):
    with pytest.raises(ZeroDivisionError):
        tool["run"](["x = 0", "1 / x"], "broken")
