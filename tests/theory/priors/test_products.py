"""Products of geometric mechanisms against the raw inequalities, and remaps to the tight mechanism against inverses."""

import itertools
import math

import numpy as np
import pytest

import utmost as um
from utmost.errors import InvalidInput

RNG = np.random.default_rng(27)


def test_products_keep_the_level_of_each_direction_with_equality_and_no_less():
    """On 20 random grids: every ratio along a direction is at most e^epsilon, and reached."""
    for _ in range(20):
        shape = tuple(RNG.integers(2, 5, RNG.integers(1, 4)).tolist())
        epsilons = [round(float(e), 3) for e in RNG.uniform(0.1, 2, len(shape))]
        mechanism = um.finite.product_geometric(shape, epsilons)
        points = list(itertools.product(*map(range, shape)))
        assert len(shape) == 1 or list(mechanism.points) == points
        assert mechanism.matrix.sum(axis=1) == pytest.approx(1)
        for axis, epsilon in enumerate(epsilons):
            pairs = [
                (i, points.index((*p[:axis], p[axis] + 1, *p[axis + 1 :])))
                for i, p in enumerate(points)
                if p[axis] + 1 < shape[axis]
            ]
            ratios = [np.abs(np.log(mechanism.matrix[i] / mechanism.matrix[j])).max() for i, j in pairs]
            assert ratios == pytest.approx([epsilon] * len(pairs))


def test_the_product_is_tight_constraints_on_the_manhattan_grid_and_certified():
    space = um.grid((3, 4), metric="manhattan")
    mechanism = um.finite.product_geometric((3, 4), 0.7)
    assert np.abs(mechanism.matrix - um.finite.tight_constraints(space, 0.7).mechanism.matrix).max() < 1e-12
    assert um.certify(mechanism, space, 0.7).level == um.PureDP(0.7)


def test_large_products_have_rows_on_demand():
    mechanism = um.finite.product_geometric((300, 200), (0.5, 1))
    row = mechanism.row((10, 150)).reshape(300, 200)
    assert row.sum() == pytest.approx(1)
    assert row[10, 150] == pytest.approx(math.tanh(0.25) * math.tanh(0.5))


def test_a_remap_is_found_if_and_only_if_there_is_one():
    """20 random private mechanisms made of the tight one by splitting outputs (invertible), and 20 made by mixing."""
    for _ in range(20):
        n, epsilon = int(RNG.integers(2, 5)), float(RNG.uniform(0.3, 2))
        space, tight = um.path(n), um.finite.geometric(n, round(epsilon, 3)).matrix
        level = round(epsilon, 3)
        parts = RNG.uniform(0.1, 0.9, n)
        split = np.hstack([tight * parts, tight * (1 - parts)])  # each output twice, told apart by a coin
        found = um.finite.remap_to_tight(um.FiniteMechanism(split, range(n), range(2 * n)), space, level)
        assert np.abs(split @ found - tight).max() < 1e-9
        assert found.sum(axis=1) == pytest.approx(1)
        coin = 0.9 * np.eye(n) + 0.1 / n
        blurred = tight @ coin  # the only remap that could undo it is the inverse, which has entries below 0
        assert np.linalg.inv(coin).min() < 0
        assert um.finite.remap_to_tight(um.FiniteMechanism(blurred, range(n), range(n)), space, level) is None


def test_a_random_remap_is_a_product_of_matrices():
    mechanism = um.finite.geometric(3, 1.0)
    table = RNG.dirichlet(np.ones(2), 3)
    found = um.finite.stochastic_remap(mechanism, table, ("low", "high"))
    assert found.matrix == pytest.approx(mechanism.matrix @ table)
    with pytest.raises(InvalidInput, match="add up to 1"):
        um.finite.stochastic_remap(mechanism, [[1, 0]] * 2 + [[0.5, 0.4]], ("low", "high"))


def test_wrong_shapes_are_refused():
    with pytest.raises(InvalidInput, match="one for each direction"):
        um.finite.product_geometric((3, 4), (1, 1, 1))
    with pytest.raises(InvalidInput, match="points"):
        um.finite.remap_to_tight(um.finite.geometric(3, 1.0), um.path(4), 1.0)
