"""Cut-offs: a range that holds the values, found by private quantiles on a public grid."""

import numpy as np
import pyarrow
import pytest

import utmost as um
from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.queries.cut_offs import grid

RNG = np.random.default_rng(11)
TABLE = pyarrow.table({"hours": np.clip(RNG.normal(40, 8, 4000), 0, 400).round(1), "who": RNG.integers(0, 900, 4000)})


def test_a_range_that_holds_the_values():
    """The grid's points beyond the 1 % and the 99 % quantile; all of the level is charged, once; it proves itself."""
    s = um.Session(TABLE, "work", um.rows(at_most=5000), "add-remove", budget=50)
    found = s.suggest_bounds("hours", privacy="40", largest=1000)  # so much that it always comes out alike
    quantiles = np.quantile(TABLE["hours"].to_numpy(), [0.01, 0.99])
    assert found.lower <= quantiles[0] < quantiles[1] <= found.upper
    assert (found.lower, found.upper) == (10, 100)
    assert str(s.left) == "epsilon 10 of 50"
    assert all(answer.verify() for answer in found.answers)
    again = s.suggest_bounds("hours", privacy="40", largest=1000)
    assert (again.lower, again.upper, str(s.left)) == (found.lower, found.upper, "epsilon 10 of 50")


def test_people_with_more_rows_than_take_part():
    """How many have more than 3 rows, as a share of the people there are, and not of at_most."""
    s = um.Session(TABLE, "work", um.people("who", rows_each=3, at_most=5000), "add-remove", budget=100)
    found = s.suggest_bounds("hours", privacy=100, largest=200)
    counts = np.unique(TABLE["who"].to_numpy(), return_counts=True)[1]
    assert found.share_above == pytest.approx((counts > 3).mean())
    assert len(found.answers) == 3
    assert f"rows are dropped of {(counts > 3).mean():.2%} of the people who have rows" in str(found)
    assert float(s.spent.amounts()["epsilon"]) == pytest.approx(100)


def test_other_levels():
    """Gaussian and (epsilon, delta) levels are split so that no more than the level is charged."""
    for level in (um.GaussianDP(20), um.ApproxDP(40, "1e-6")):
        s = um.Session(TABLE, "work", um.rows(at_most=5000), "add-remove", budget=level)
        assert s.suggest_bounds("hours", privacy=level, largest=200).upper == 100
    with pytest.raises(UnsupportedLevel, match="pure"):
        s.suggest_bounds("hours", privacy=um.ZCDP(1))


def test_the_grid():
    """Public, on both sides of 0, in steps of at most 2.5."""
    points = grid("0.01", 3)
    assert points == sorted(points)
    assert points[len(points) // 2] == 0
    positive = [x for x in points if x > 0]
    assert positive == [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2]


def test_wrong_words():
    """Nothing is spent."""
    s = um.Session(TABLE, "work", um.rows(at_most=5000), "add-remove", budget=1)
    for more, words in (
        ({}, "say what the answers together may spend"),
        ({"privacy": 1, "share": 0.5}, "share is 0.5"),
        ({"privacy": 1, "smallest": 0}, "0 < smallest < largest"),
        ({"privacy": 1, "largest": 10**60}, "powers of ten"),
    ):
        with pytest.raises(InvalidInput, match=words):
            s.suggest_bounds("hours", **more)
    assert str(s.left) == "epsilon 1 of 1"
