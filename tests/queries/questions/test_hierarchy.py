"""A hierarchy's counts: against plain counting, sums to the last bit, reports that prove themselves."""

import json

import numpy as np
import pyarrow
import pytest

import utmost as um
from utmost.errors import InvalidInput
from utmost.queries.report.proof import load_answers

NAMES = ("country", "region", "town")
LEAVES = [
    ("A", "north", "Ash"),
    ("A", "north", "Briar"),
    ("B", "north", "Ash"),
    ("A", "south", "Cole"),
    ("B", "east", "Dell"),
    ("B", "east", "Elm"),
]
PICKED = np.random.default_rng(5).integers(0, len(LEAVES) + 1, 900)
ROWS = [LEAVES[i] if i < len(LEAVES) else ("C", "none", None) for i in PICKED]
TABLE = pyarrow.table({name: [row[i] for row in ROWS] for i, name in enumerate(NAMES)})
KEYS = um.keys(pyarrow.table({name: [leaf[i] for leaf in LEAVES] for i, name in enumerate(NAMES)}))


def opened(budget, neighbours="add-remove"):
    return um.Session(TABLE, "towns", um.rows(at_most=2000), neighbours, budget=budget)


def test_nearly_without_noise_counts_are_those_of_the_rows():
    """At epsilon 400; towns of one name in two countries are two, and rows in no leaf take no part."""
    value = opened(400).hierarchy(list(NAMES), KEYS, privacy=400).value
    for leaf in LEAVES:
        assert value[leaf] == ROWS.count(leaf)
    assert value["B", ..., ...] == sum(row[0] == "B" for row in ROWS)
    assert value["A", "north", ...] == sum(row[:2] == ("A", "north") for row in ROWS)
    assert value[..., ..., ...] == sum(row in LEAVES for row in ROWS)
    assert len(value) == 1 + 2 + 4 + 6


@pytest.mark.parametrize("level", [1, um.GaussianDP("0.5"), um.ZCDP("0.1")])
def test_sums_agree(level, tmp_path):
    """Unbiased as fractions, rounded in whole numbers; a report proves itself, a changed one does not."""
    answer = opened(level, "replace").hierarchy(list(NAMES), KEYS, privacy=level)
    for found in (answer.value, answer.rounded()):
        assert found["A", ..., ...] + found["B", ..., ...] == found[..., ..., ...]
        assert found["B", "east", "Dell"] + found["B", "east", "Elm"] == found["B", "east", ...]
        assert found["B", "north", "Ash"] == found["B", "north", ...]
    assert min(answer.rounded().values()) >= 0
    assert answer.verify()
    assert answer.table.num_rows == 13
    answer.report(tmp_path / "towns.html")
    path = tmp_path / "towns.json"
    ((again, verified),) = load_answers(path)
    assert verified
    assert again.value == answer.value
    content = json.loads(path.read_text())
    one = content[0] if isinstance(content, list) else content
    one["value"][0]["numbers"][0] = "12"
    path.write_text(json.dumps(content))
    assert not load_answers(path)[0][1]


def test_wrong_words():
    """Levels that are not the keys' columns; something for what is not listed."""
    s = opened(1)
    for levels, keys, words in (
        (["country"], KEYS, "list the columns of the keys"),
        ("country", KEYS, "list the columns of the keys"),
        (["country", "region", "street"], KEYS, "list the columns of the keys"),
        (["town"], um.keys(town=["Ash"], other="rest"), "leave other out"),
        (["town"], "town", "give public keys"),
    ):
        with pytest.raises(InvalidInput, match=words):
            s.hierarchy(levels, keys, privacy=1)
    assert s.plan.hierarchy(["town"], um.keys(town=["Ash", "Briar"]), privacy=1).before.worst > 0
