"""Covariances: the right sums, moves of any neighbours as declared, and reports that prove themselves."""

import math

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.questions import QueryMaker, Setting
from oracles.tables import UNITS, as_table, neighbour_of, tables

import utmost as um
from utmost.backends import opening
from utmost.errors import InvalidInput
from utmost.queries.report.proof import load_answers

SECRET = b"s" * 32


def asked(listed, unit, neighbours):
    ask = QueryMaker(Setting(opening.open_table(as_table(listed)), unit, neighbours))
    return ask.covariance("x", "n", (-1, 2), (-4, 5), 1, x_grid="0.5", where="ok OR ok IS NULL")


@settings(max_examples=8, deadline=None)
@given(st.data())
def test_neighbours_move_the_sums_as_declared(data):
    """Rows or people, replaced or coming and going: never more moves than the noise is made for."""
    unit, neighbours = data.draw(st.sampled_from(UNITS)), data.draw(st.sampled_from(["replace", "add-remove"]))
    listed = data.draw(tables)
    other = neighbour_of(listed, unit, neighbours, data)
    space = asked(listed, unit, neighbours).question.space
    first, second = (np.array(asked(rows, unit, neighbours).private_point(SECRET)) for rows in (listed, other))
    up, down = np.maximum(second - first, 0).sum(), np.maximum(first - second, 0).sum()
    assert (up + down if space.moves == "any" else max(up, down)) <= space.reach == 54**2 * 3 // 2 * unit.rows_each


@settings(max_examples=12, deadline=None)
@given(tables)
def test_without_noise_it_is_that_of_numpy(listed):
    """Of the sums themselves: by a loop over the rows that have both values, clamped and rounded."""
    values = [
        (math.floor(min(max(x, -1.0), 2.0) * 2 + 0.5) / 2, min(max(n, -4), 5))
        for _, x, n, ok in listed
        if x is not None and math.isfinite(x) and n is not None and ok is not False
    ]
    each = asked(listed, um.rows(at_most=20), "add-remove")
    found = each.question.value(each.question.released(each.private_point(SECRET)))
    a, b = np.array(values or [(0, 0)], dtype=float).T
    c, both = ((a - a.mean()) * (b - b.mean())).mean(), a.std() * b.std()
    assert found["covariance"] == pytest.approx(c, abs=1e-9)
    assert found["slope"] == pytest.approx(c / a.var() if a.std() > 1e-9 else 0.0, abs=1e-6)
    assert found["correlation"] == pytest.approx(c / both if both > 1e-9 else 0.0, abs=1e-6)


def test_reports_prove_themselves(tmp_path):
    """A report holds the sums and their noise; another process makes the same numbers of it, and refuses others."""
    rng = np.random.default_rng(5)
    x = rng.integers(0, 50, 2000)
    table = pyarrow.table({"who": rng.integers(0, 900, 2000), "x": x, "y": x // 2 + rng.integers(0, 9, 2000)})
    s = um.Session(table, "d", um.people("who", rows_each=2, at_most=1000), "replace", budget=5)
    answer = s.covariance("x", "y", (0, 50), (0, 40), privacy=1)
    assert answer.question.words == (
        "How do x, values cut to 0..50, and y, values cut to 0..40, vary together, of at most 2 rows per who "
        "chosen before any condition?"
    )
    answer.report(tmp_path / "page.html")
    ((again, found),) = load_answers(tmp_path / "page.json")
    assert found
    assert again.value == answer.value
    assert set(again.intervals) == set(again.value) == {"covariance", "correlation", "slope"}
    text = (tmp_path / "page.json").read_text()
    (tmp_path / "other.json").write_text(text.replace('"50"', '"45"'))
    assert not load_answers(tmp_path / "other.json")[0][1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("x", "n", (0, 0), (0, 1)), "give a range of values"),
        (("x", "n", (3, 3), (0, 1)), "holds 3 alone, so nothing varies"),
        (("x", "n", 5, (0, 1)), "x_range is 5; give the public range of values as a pair"),
        (("x", "n", (0, 99_991), (0, 99_989)), "squared: at most 2\\^24"),
        (("x", "nn", (0, 1), (0, 1)), "there is no column 'nn'"),
    ],
)
def test_wrong_ranges_are_refused_before_the_spend(arguments, said):
    """Each by an error with what to change; nothing is charged."""
    s = um.Session(as_table([]), "x", um.rows(at_most=9), "add-remove", budget=1)
    with pytest.raises(InvalidInput, match=said):
        s.covariance(*arguments, privacy=1, x_grid=1, y_grid=1)
    assert not s.account.entries()
