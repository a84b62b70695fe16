"""Computed names of points against the lists they stand for."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from utmost.space.points import Histograms, Tuples

AXES = st.lists(
    st.one_of(st.integers(0, 4).map(range), st.sampled_from([("a", "b"), ("x", "yz", 1), (1.5, None)])), max_size=4
)
SPREADS = st.tuples(st.integers(0, 5), st.integers(0, 4), st.booleans())


def spread(people, bins, slack):
    """Every histogram, by filtering all tuples."""
    entries = product(range(people + 1), repeat=bins)
    return [h for h in entries if sum(h) == people or (slack and sum(h) < people)]


def both(axes, people_bins_slack):
    """Sequences of both kinds with the plain lists they stand for."""
    return (Tuples(axes), list(product(*axes))), (Histograms(*people_bins_slack), spread(*people_bins_slack))


@given(AXES, SPREADS)
@settings(max_examples=80, deadline=None)
def test_reads_like_the_list(axes, people_bins_slack):
    """Length, iteration, entries from both ends, slices, membership and positions are those of the listed tuples."""
    for computed, listed in both(axes, people_bins_slack):
        n = len(listed)
        assert len(computed) == n
        assert list(computed) == listed
        assert [computed[i] for i in range(-n, n)] == listed + listed
        assert computed[1:-1:2] == listed[1:-1:2]
        assert [computed.index(p) for p in listed] == list(range(n))
        assert all(p in computed for p in listed)
        assert computed == listed
        assert computed != [*listed, ()]
        for beyond in (n, -n - 1):
            with pytest.raises(IndexError):
                computed[beyond]


@given(AXES, SPREADS, st.lists(st.integers(-1, 6), max_size=5).map(tuple))
@settings(max_examples=80, deadline=None)
def test_finds_only_its_own_tuples(axes, people_bins_slack, value):
    """A tuple that is not listed, or no tuple at all, is not found."""
    for computed, listed in both(axes, people_bins_slack):
        assert (value in computed) == (value in listed)
        assert list(value) not in computed
        assert None not in computed


@given(AXES)
@settings(max_examples=40, deadline=None)
def test_digits_tell_the_entries(axes):
    """Row k of the digits says which entry of axis k each tuple holds."""
    tuples = Tuples(axes)
    digits = tuples.digits(np.arange(len(tuples)))
    assert digits.shape == (len(axes), len(tuples))
    assert [tuple(axis[d] for axis, d in zip(axes, column, strict=True)) for column in digits.T] == list(tuples)


@given(SPREADS)
@settings(max_examples=60, deadline=None)
def test_histogram_table(people_bins_slack):
    """The table holds every histogram in order, with those left over last, and `positions` finds its rows."""
    people, bins, slack = people_bins_slack
    computed = Histograms(people, bins, slack)
    rows = [(*h, people - sum(h)) if slack else h for h in spread(people, bins, slack)]
    assert [tuple(row) for row in computed.table.tolist()] == rows
    shuffled = np.random.default_rng(0).permutation(len(rows))
    assert computed.positions(computed.table[shuffled]).tolist() == shuffled.tolist()


@given(st.integers(0, 10**18 - 1))
@settings(max_examples=50, deadline=None)
def test_round_trip_without_listing(position):
    """Positions in sequences far too long to list lead to tuples and back."""
    digits = Tuples([range(10)] * 18)
    assert digits[position] == tuple(map(int, f"{position:018}"))
    assert digits.index(digits[position]) == position
    people = Histograms(300, 6, slack=True)
    assert people.index(people[position % len(people)]) == position % len(people)


@pytest.mark.parametrize("same", [Histograms(0, 1), Tuples([(0,)])])
def test_equal_points_hash_alike(same):
    """Sequences that are equal have the same hash, as Python demands."""
    assert Tuples([range(1)]) == same
    assert hash(Tuples([range(1)])) == hash(same)


@pytest.mark.parametrize("value", [("ab",), (1,)])
def test_an_axis_of_letters_holds_letters_only(value):
    """An axis given as text holds its letters, not its substrings, and other values are merely absent."""
    assert value not in Tuples(["ab"])
