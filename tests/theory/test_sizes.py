"""Designs of every size: each proves itself, or refuses by name. The full sweep is long; a sample is not."""

from itertools import product

import numpy as np
import pytest

import utmost as um
from utmost.errors import TooLarge, UnsupportedLevel

LEVELS = {
    "pure": um.PureDP,
    "approx": lambda epsilon: um.ApproxDP(epsilon, 1e-6),
    "gaussian": um.GaussianDP,
}


def sides(n):
    """A path whose truth changes in the middle."""
    return um.path(n), np.arange(n) >= n // 2


def balanced(n, level):
    """Both answers alike."""
    return um.binary.balanced(*sides(n), level)


def extended(n, level):
    """Known at the boundary and at one end."""
    return um.binary.extend(*sides(n), {n // 2 - 1: "0.499", n // 2: "0.501", 0: "0.499"}, level)


def best(n, level):
    """The most truth on average."""
    return um.binary.best_boundary(*sides(n), level)


def best_at_worst(n, level):
    """The most truth at the worst point."""
    return um.binary.best_boundary(*sides(n), level, criterion="worst")


def ranked(n, level):
    """Three answers, the first two of which change places."""
    one, other = ("a", "b", "c"), ("b", "a", "c")
    row = ["0.402", "0.401", "0.197"]
    return um.rainbow.extend(um.path(n), lambda i: one if i < n // 2 else other, {one: row, other: row}, level)


def best_ranked(n, level):
    """Three answers, with the best boundary."""
    one, other = ("a", "b", "c"), ("b", "a", "c")
    return um.rainbow.best_boundary(um.path(n), lambda i: one if i < n // 2 else other, level)


def plurality(n, level):
    """Who won among n voters."""
    return um.rainbow.plurality(n, "abcd", level).solution


def prove(design, n, kind, epsilon):
    """The design is verified, its integers are private and near, and its tails do not underflow; or it is refused."""
    level = LEVELS[kind](epsilon)
    try:
        solution = design(n, level)
    except (TooLarge, UnsupportedLevel):
        assert design in (best, best_at_worst, best_ranked)
        assert n > 2000 or kind == "gaussian"
        return
    verified = solution.verify()
    assert verified, str(verified)
    assert um.certify(solution).moved < 1e-9
    matrix = solution.mechanism.matrix
    assert kind == "approx" or (matrix[:, matrix.any(axis=0)] > 0).all(), "an output used somewhere is 0 elsewhere"


DESIGNS = [balanced, extended, best, best_at_worst, ranked, best_ranked, plurality]


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize(
    ("n", "kind", "epsilon"), [(10, "pure", 20), (2000, "pure", 1), (2000, "approx", 0.01), (300, "gaussian", 2)]
)
def test_a_sample_of_sizes(design, n, kind, epsilon):
    """Sizes at which tails underflow, for each kind of level."""
    prove(design, n, kind, epsilon)


@pytest.mark.long
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize(
    ("n", "kind", "epsilon"),
    [
        *product([10, 100, 1000, 10_000], LEVELS, ["0.01", "0.1", 1, 5, 20]),
        *product([10**5, 10**6], LEVELS, ["0.01", 1, 20]),
    ],
)
def test_every_size(design, n, kind, epsilon):
    """From ten points to a million, epsilon from 0.01 to 20."""
    prove(design, n, kind, epsilon)
