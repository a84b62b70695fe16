"""Noise on cells that carries: private by the definition, its law by listing all of it, its draws by statistics."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from oracles.lattices import moves_of

import utmost as um
from utmost.errors import InvalidInput
from utmost.mechanism.noise.balls import BallLaw
from utmost.mechanism.noise.carried import CarriedLaw, FlatLaw, ranks
from utmost.mechanism.noise.independent import IndependentLaw
from utmost.mechanism.noise.staircase import geometric_law
from utmost.mechanism.noise.vector import NoisyVector
from utmost.privacy.level import decay_above
from utmost.space.integers import Lattice
from utmost.theory.workload.prefix_noise import as_carried_law, mean_variance_of_counts

FAILS = 1e-9
THIRD = Fraction(1, 3)


def listed(law, far):
    """All errors of the cells within a box, with their probabilities."""
    errors = np.array(list(product(range(-far, far + 1), repeat=law.dimension)))
    return errors, np.array([float(law.point_mass(tuple(z))) for z in errors.tolist()])


@pytest.mark.parametrize("widths", [(0,), (2,), (1, 0), (0, 3), (2, 1), (1, 2, 1)])
def test_a_row_changes_the_rank_by_exactly_one(widths):
    """So that no probability falls by more than one step of the decay; several rows, and replaced ones, by as many."""
    d = len(widths) + 1
    errors = np.array(list(product(range(-4, 5), repeat=d)))
    for i in range(d):
        steps = ranks(errors + np.eye(d, dtype=int)[i], widths) - ranks(errors, widths)
        assert set(steps.tolist()) == {-1, 1}
    law = CarriedLaw(THIRD, widths)
    for moves, reach, most in (("any", 1, 1), ("any", 2, 2), ("exchange", 1, 2)):
        space = Lattice(d, moves, reach, 0, 9)
        changes = [ranks(errors + np.array(z), widths) - ranks(errors, widths) for z in moves_of(space)]
        assert np.abs(changes).max() == most
        assert NoisyVector(law).prove(space, um.PureDP.from_ratio(3**most)).passed
        assert not NoisyVector(law).prove(space, um.PureDP(math.log(3**most) - 1e-9)).passed
    assert not NoisyVector(law).prove(Lattice(d + 1, "any", 1, 0, 9), um.PureDP(9)).passed


@pytest.mark.parametrize("widths", [(0,), (2,), (1, 2)])
def test_the_law_of_cells_and_counts_by_listing_all_errors(widths):
    law = CarriedLaw(THIRD, widths)
    errors, chances = listed(law, 14)
    assert chances.sum() == pytest.approx(1, abs=1e-5)
    counts = np.cumsum(errors, axis=1)
    assert law.absolute_errors == pytest.approx(chances @ np.abs(counts), abs=1e-4)
    assert [float(x) for x in law.squared_errors] == pytest.approx(chances @ counts**2, abs=2e-3)
    assert law.mean_square == pytest.approx(float(sum(law.squared_errors)) / law.dimension)
    for loss, cost in {"absolute": np.abs(errors), "squared": errors**2, "within 2": np.abs(errors) > 2}.items():
        assert law.mean(loss) == pytest.approx((chances @ cost).mean(), abs=2e-3)
    assert law.tail([1, -2, 4]) == pytest.approx([(chances @ (errors >= t)).mean() for t in (1, -2, 4)], abs=1e-4)
    n = law.half_width("0.95")
    within = [(chances @ (np.abs(errors) <= m)).mean() for m in (n - 1, n)]
    assert within[0] < 0.95 <= within[1] + 1e-4
    places, rows = law.error_laws()
    for k in range(law.dimension):
        for size in (0, 1, 3):
            assert rows[k][np.abs(places) <= size].sum() == pytest.approx(
                chances @ (np.abs(counts[:, k]) <= size), abs=1e-4
            )


def test_half_widths_of_counts_are_the_least():
    law = CarriedLaw(decay_above(um.PureDP("0.2")), (3, 2))
    places, rows = law.error_laws()
    for n, row in zip(law.half_widths("0.95"), rows, strict=True):
        assert row[np.abs(places) <= n].sum() >= 0.95
        assert row[np.abs(places) < n].sum() < 0.95


def test_without_widths_it_is_geometric_noise_on_every_cell():
    law, single = CarriedLaw(THIRD, (0, 0)), geometric_law(THIRD)
    assert law.absolute_errors[0] == pytest.approx(single.mean("absolute"), abs=1e-12)
    assert law.mean("squared") == pytest.approx(single.mean("squared"), abs=1e-12)
    assert law.tail(range(-3, 4)) == pytest.approx(single.tail(range(-3, 4)), abs=1e-12)
    assert as_carried_law(NoisyVector(IndependentLaw(3, single))) == law
    assert as_carried_law(NoisyVector(law)) is law
    assert as_carried_law(NoisyVector(BallLaw("any", 3, THIRD))) is None
    assert as_carried_law(um.finite.geometric(3, 1)) is None


def test_a_flat_law_is_what_it_says():
    law = FlatLaw(THIRD, 2)
    places = np.arange(-40, 41)
    weights = (1 / 3) ** np.maximum(np.abs(places) - 2, 0)
    chances = weights / weights.sum()
    assert float(law.total) == pytest.approx(weights.sum())
    for t in (-3, 0, 1, 2, 3, 6):
        assert float(law.tail(t)) == pytest.approx(chances[places >= t].sum(), abs=1e-12)
    for t in (1, 2, 3, 6):
        assert float(law.enclose_tail(t, 64)) == pytest.approx(chances[places >= t].sum(), abs=1e-12)
    assert float(law.square) == pytest.approx(chances @ places**2)
    assert float(law.square_beyond) == pytest.approx(chances @ np.maximum(np.abs(places) - 2, 0) ** 2)


def test_files_hold_anything():
    law = CarriedLaw(THIRD, (2, 1))
    assert NoisyVector.from_json(law.to_json()).noise == law
    for wrong in (
        {"widths": [1.5]},
        {"widths": [-1]},
        {"widths": []},
        {"widths": [10**7]},
        {"decay": "1"},
        {"decay": "0"},
    ):
        with pytest.raises(InvalidInput):
            NoisyVector.from_json({**law.to_json(), **wrong})
    wide = CarriedLaw(1 - Fraction(1, 10**9), (10,))
    for listing in (lambda: wide.absolute_errors, wide.error_laws):
        with pytest.raises(InvalidInput, match="its errors would be listed at"):
            listing()
    with pytest.raises(InvalidInput, match="running counts"):
        mean_variance_of_counts(NoisyVector(law), Lattice(3, "any", 1, 0, 9), "ranges")
