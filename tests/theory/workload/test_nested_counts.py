"""Counts made of cells: losses and half widths of sums of noises, against convolutions and closed forms."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from utmost.mechanism.noise.gaussian import RoundedGaussian
from utmost.mechanism.noise.independent import IndependentLaw
from utmost.mechanism.noise.staircase import geometric_law
from utmost.privacy import ZCDP, ApproxDP, GaussianDP, PureDP
from utmost.space.integers import Lattice
from utmost.theory.workload.design import nested_counts
from utmost.theory.workload.design.nested_counts import cells_or_counts, sum_half_widths, sum_losses

COSTS = {
    "absolute": abs,
    "squared": lambda n: n * n,
    "zero-one": lambda n: float(n != 0),
    "within 2": lambda n: float(abs(n) > 2),
}


def spaces(d, neighbours="add-remove", reach=1):
    moves = "any" if neighbours == "add-remove" else "exchange"
    return Lattice(d, moves, reach, 0, 20_000), Lattice(d, "one-way", reach, 0, 20_000)


def running_sums(single, d, far):
    """The laws of the sums of 1..d noises on -far..far, by plain convolution of the law's differences of tails."""
    places = np.arange(-far, far + 1)
    one = np.asarray(single.tail(places) - single.tail(places + 1))
    laws, law = [], np.eye(1, 2 * far + 1, far)[0]
    for _ in range(d):
        law = np.convolve(law, one)[far:-far]
        laws.append(law)
    return places, laws


@pytest.mark.parametrize(("d", "value"), [(10, 2.3215), (30, 3.976)])
def test_the_known_values_of_nested_counts(d, value):
    """Ten nested counts at epsilon = 1 err by 2.3215 (with noise on themselves by 3.97), thirty by 3.976."""
    space, noise = cells_or_counts(*spaces(d), PureDP(1))
    assert space == spaces(d)[0]
    assert sum_losses(noise, ["absolute"])["absolute"] == pytest.approx(value, abs=5e-5)


def test_the_mean_variance_of_prefix_sums():
    """Cells added up have mean variance 10.1274 at m = 10, 92.988 at m = 100, 921.6 at m = 1000."""
    for d, value, digits in ((10, 10.1274, 5e-5), (100, 92.988, 5e-4), (1000, 921.6, 0.05)):
        _, law = cells_or_counts(*spaces(d), PureDP(1))
        assert sum_losses(law, ["squared"])["squared"] == pytest.approx(value, abs=digits)


@settings(max_examples=25)
@given(
    single=st.one_of(
        st.integers(0, 8).map(lambda n: geometric_law(Fraction(n, 10))),
        st.integers(1, 40).map(lambda n: RoundedGaussian(Fraction(n, 4))),
    ),
    d=st.integers(1, 7),
)
def test_sums_have_the_laws_of_convolutions(single, d):
    law = IndependentLaw(d, single)
    places, laws = running_sums(single, d, 400)
    averaged, found, last = np.mean(laws, axis=0), sum_losses(law, list(COSTS)), sum_losses(law, list(COSTS), last=True)
    for loss, cost in COSTS.items():
        costs = np.array([cost(int(n)) for n in places])
        assert found[loss] == pytest.approx(float(averaged @ costs), rel=1e-9, abs=1e-11)
        assert last[loss] == pytest.approx(float(laws[-1] @ costs), rel=1e-9, abs=1e-11)
    for one, half in zip(laws, sum_half_widths(law, 0.95), strict=True):
        assert one[np.abs(places) <= half].sum() >= 0.95
        assert half == 0 or one[np.abs(places) < half].sum() < 0.95 + 1e-8  # and no wider than it must be


def test_a_sum_of_two_in_closed_form():
    """Sums of two geometric noises: E|X + Y| from the generating function, in fractions."""
    b = Fraction(1, 3)
    top = ((1 - b) / (1 + b)) ** 2
    exact = [top * b**n * ((1 + b**2) / (1 - b**2) + n) for n in range(200)]  # Pr[X + Y = n]
    assert 2 * sum(exact) - exact[0] == pytest.approx(1, abs=1e-15)
    mean = float(2 * sum(n * p for n, p in enumerate(exact)))
    law = IndependentLaw(2, geometric_law(b))
    assert sum_losses(law, ["absolute"], last=True)["absolute"] == pytest.approx(mean, rel=1e-13)
    assert sum_losses(law, ["zero-one"], last=True)["zero-one"] == pytest.approx(1 - float(exact[0]), rel=1e-13)


def test_bins_and_skipped_sums_widen_and_never_narrow(monkeypatch):
    """Wide noise is listed in bins and not every sum is looked at: half widths grow by a few per cent at most."""
    law = IndependentLaw(200, geometric_law(Fraction(99, 100)))
    exact, losses = sum_half_widths(law, 0.95), sum_losses(law, ["absolute", "zero-one", "within 50"])
    monkeypatch.setattr(nested_counts, "MOST_CONVOLVED", 2**14)
    monkeypatch.setattr(nested_counts, "MOST_LISTED", 2**14)
    monkeypatch.setattr(nested_counts, "MOST_TOGETHER", 2**18)
    sum_half_widths.cache_clear()
    nested_counts._law_of_sum.cache_clear()
    coarse, again = sum_half_widths(law, 0.95), sum_losses(law, ["absolute", "zero-one", "within 50"])
    sum_half_widths.cache_clear()
    nested_counts._law_of_sum.cache_clear()
    assert coarse != exact
    assert all(c >= e for c, e in zip(coarse, exact, strict=True))
    assert max(c / e for c, e in zip(coarse, exact, strict=True)) < 1.1
    assert again == pytest.approx(losses, rel=1e-4)


@pytest.mark.parametrize("level", [PureDP(1), PureDP("0.2"), ApproxDP(1, 1e-6), GaussianDP(1), ZCDP(0.5)])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(("d", "reach"), [(2, 1), (10, 1), (40, 3)])
def test_the_better_of_both_is_taken(level, neighbours, d, reach):
    from utmost.theory.vector.design.vectors import best_vector

    cells, counts = spaces(d, neighbours, reach)
    (space, noise), direct = cells_or_counts(cells, counts, level), best_vector(counts, level).value
    added = sum_losses(best_vector(cells, level, "absolute", True).mechanism.noise, ["absolute"])["absolute"]
    value = added if space == cells else noise.mean("absolute")
    assert value == pytest.approx(min(added, direct), rel=1e-12)
    if neighbours == "add-remove" and reach == 1:
        assert space == cells


def test_a_promise_of_nothing_needs_no_noise():
    _, noise = cells_or_counts(*spaces(5), PureDP(math.inf))
    assert sum_half_widths(noise, 0.95) == (0,) * 5
