"""docs/notation.md: every call that it names runs, and all five papers are there."""

import re
from doctest import DocTestParser
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "notation.md").read_text(encoding="utf-8")
NO_GUIDES = {"notation.md", "api.md", "architecture.md", "decisions.md", "report-format.md"}
NO_GUIDES |= {"platforms.md", "releasing.md", "stability.md"}  # about machines and releases
"""The page itself, the reference of all names, and what is for those who change the library."""
ROWS = [line for line in PAGE.splitlines() if re.match(r"\|(?! symbol|---)", line)]


@pytest.fixture(scope="module")
def names():
    """The names of the example at the top of the page."""
    made = {}
    for example in DocTestParser().get_examples(PAGE):
        exec(example.source, made)
    return made


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_every_call_of_the_page_runs(row, names):
    """A symbol, what it is, and a call, which gives something."""
    symbol, meaning, call = row.strip("| ").split(" | ")
    assert symbol
    assert meaning
    code = re.fullmatch(r"`(.+)`", call)
    assert code, call
    assert eval(code.group(1), dict(names)) is not None


def test_all_five_papers_are_there():
    """One table each, of more than a few symbols."""
    sections = {title: text.count("\n|") for title, text in re.findall(r"## (\w+):.*?\n(.*?)(?=\n## |\Z)", PAGE, re.S)}
    assert set(sections) == {"BIN", "HET", "RAIN", "REG", "LIM"}
    assert min(sections.values()) > 8
    assert len(ROWS) > 60


@pytest.mark.parametrize("guide", sorted(page.name for page in DOCS.glob("*.md") if page.name not in NO_GUIDES))
def test_every_guide_links_to_it(guide):
    """Whoever comes from a paper finds the calls from wherever they are."""
    assert "](notation.md)" in (DOCS / guide).read_text(encoding="utf-8")
