"""Of which share of the people rows are dropped: against numpy, its interval, and what other answers say of it."""

import numpy as np
import pyarrow
import pytest
from oracles.questions import QueryMaker, Setting

import utmost as um
from utmost.backends import opening
from utmost.errors import InvalidInput

SIZES = np.array([1] * 300 + [2] * 60 + [5] * 120)
TABLE = pyarrow.table({"who": np.repeat(np.arange(len(SIZES)), SIZES), "x": np.arange(SIZES.sum()) % 2})


def asking(truncate="table", neighbours="add-remove", **unit):
    people = um.people("who", rows_each=2, truncate=truncate, **unit)
    return QueryMaker(Setting(opening.open_table(TABLE), people, neighbours))


@pytest.mark.parametrize("truncate", ["table", "question"])
def test_all_people_lose_rows_or_lose_none(truncate):
    """Without a condition those with more than two rows; with one, of the people who have such rows."""
    assert asking(truncate).share_left_out(None, 1).private_point(b"s") == (120, 360)
    losing, none = asking(truncate).share_left_out("x = 1", 1).private_point(b"s")
    having = np.bincount(TABLE["who"].to_numpy()[TABLE["x"].to_numpy() == 1], minlength=len(SIZES))
    assert losing + none == (having > 0).sum()
    assert asking(truncate).left_out("x = 1", 1).private_point(b"s") == losing
    if truncate == "question":
        assert losing == (having > 2).sum()


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_person_moves_one_count_by_one(neighbours):
    asked = asking(neighbours=neighbours).share_left_out("x = 1", 1)
    assert asked.question.space.reach == 1
    read = asked.reader(b"s")
    whole = np.array(read(TABLE))
    for person in (0, 1, 310, 400, 401):
        changed = TABLE.filter(pyarrow.array(TABLE["who"].to_numpy() != person))
        if neighbours == "replace":
            changed = pyarrow.concat_tables([changed, pyarrow.table({"who": [person] * 9, "x": [1] * 9})])
        assert np.abs(np.array(read(changed)) - whole).max() <= 1


def test_intervals_hold_the_share():
    """94 % of draws and more, at epsilon 1/10: the noise of both counts is in the interval."""
    question = asking().share_left_out(None, 0.1).question
    held = 0
    for _ in range(300):
        ((low, high),) = question.after(question.draw((120, 360))).intervals.values()
        held += low <= 0.25 <= high
    assert held >= 270  # of 300 with at least 95 % each, fewer have probability 1e-4


def test_what_is_said():
    """The share is of the people there are, whatever at_most says; answers about rows name the question."""
    unit = um.people("who", rows_each=2, at_most=100_000)
    s = um.Session(TABLE, "visits", unit, "add-remove", budget=400)
    answer = s.share_left_out(privacy=100)
    assert answer.value == 0.25
    assert answer.verify()
    assert "share_left_out" in str(s.count(None, 1))
    assert "share_left_out" not in str(s.count(None, 1, of="people"))
    assert any("left_out" in note for note in s.plan.mean("x", 0, 1, 1).details["notes"])
    rows = um.Session(TABLE, "rows", um.rows(), "add-remove", budget=4)
    assert "left_out" not in str(rows.count(None, 1))
    with pytest.raises(InvalidInput, match="no rows are dropped where the unit is a row"):
        rows.share_left_out(privacy=1)
    assert str(rows.left) == "epsilon 3 of 4"
