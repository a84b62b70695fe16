"""Counts of a hierarchy: against dense least squares on its leaves, sums exactly, intervals by simulation."""

from fractions import Fraction

import numpy as np
import pytest

from utmost.errors import InvalidInput
from utmost.mechanism.noise.independent import IndependentLaw
from utmost.mechanism.noise.staircase import geometric_law
from utmost.mechanism.noise.tables import NoisyTables
from utmost.theory.workload.hierarchy_algebra import MOST_CLASSES, Hierarchy, read_tree, sizes
from utmost.theory.workload.problem import hierarchy_of

TREE = ((3,), (2, 4, 1), (2, 1, 3, 4, 2, 2, 5))


def made(strategy, decays):
    laws = [IndependentLaw(sizes(TREE)[i], geometric_law(d)) for i, d in zip(strategy, decays, strict=True)]
    return Hierarchy(TREE, strategy, NoisyTables(tuple(laws)))


def levels():
    """For every level the matrix that sums leaves to its nodes."""
    leaves = sum(TREE[-1])
    found, names = [np.eye(leaves)], np.arange(leaves)
    for children in reversed(TREE):
        names = np.repeat(np.arange(len(children)), children)[names]
        found.insert(0, (names[None, :] == np.arange(len(children))[:, None]).astype(float))
    return found


CASES = [
    made((0, 1, 2, 3), (Fraction(1, 2), Fraction(3, 5), Fraction(1, 3), Fraction(2, 3))),
    made((0, 3), (Fraction(1, 2), Fraction(2, 3))),
    made((2, 3), (Fraction(4, 5), Fraction(1, 3))),
    made((3,), (Fraction(1, 3),)),
]


@pytest.mark.parametrize("tree", CASES)
def test_estimates_and_variances_are_those_of_least_squares(tree):
    """Dense, over all leaves; also what a node's error is said to be made of adds up to its variance."""
    every = levels()
    b = np.vstack([every[i] for i in tree.strategy])
    noise = np.concatenate([np.full(len(every[i]), tree.noise[i]) for i in tree.strategy])
    solve = np.vstack(every) @ np.linalg.inv(b.T @ (b / noise[:, None])) @ (b / noise[:, None]).T
    released = [np.random.default_rng(1).integers(-9, 90, len(every[i])) for i in tree.strategy]
    found = tree.estimate(released)
    assert np.concatenate(found).astype(float) == pytest.approx(solve @ np.concatenate(released), abs=1e-3)
    assert np.concatenate(tree.variances) == pytest.approx(np.diag(solve @ np.diag(noise) @ solve.T), rel=1e-6)
    for level, variances in enumerate(tree.variances):
        for place, variance in enumerate(variances):
            terms = tree._terms(level, place)
            assert sum(law.mean("squared") * c**2 * n for law, c, n in terms) == pytest.approx(variance, rel=1e-6)


@pytest.mark.parametrize("tree", CASES)
def test_children_add_up_to_their_parents(tree):
    """As fractions, to the last bit; exact counts come out as they are."""
    rng = np.random.default_rng(2)
    found = tree.estimate([rng.integers(-9, 10**9, sizes(TREE)[i]) for i in tree.strategy])
    for above, below, children in zip(found, found[1:], TREE, strict=False):
        starts = np.cumsum((0, *children))[:-1]
        assert np.add.reduceat(below, starts).tolist() == above.tolist()
    truth = rng.integers(0, 50, sum(TREE[-1]))
    exact = [matrix @ truth for matrix in levels()]
    again = tree.estimate([exact[i].astype(int) for i in tree.strategy])
    assert all((a == e).all() for a, e in zip(again, exact, strict=True))


def test_intervals_hold_with_95_percent():
    """Simulated noise, every node; and for a tree of many sorts the wider bound from the variance."""
    tree, rng = CASES[0], np.random.default_rng(3)
    held = np.zeros(sum(sizes(TREE)))
    widths = np.concatenate(tree.half_widths(0.95))
    for _ in range(400):
        noise = []
        for i, law in zip(tree.strategy, tree.mechanism.laws, strict=True):
            b, n = float(law.single.decay), sizes(TREE)[i]
            noise.append(rng.geometric(1 - b, n) - rng.geometric(1 - b, n))
        held += np.abs(np.concatenate(tree.estimate(noise)).astype(float)) <= widths
    assert 0.945 < held.mean() / 400 < 0.97
    many = tuple(range(1, MOST_CLASSES + 3))
    wide = ((len(many),), many)
    law = IndependentLaw(sum(many), geometric_law(Fraction(1, 2)))
    far = Hierarchy(wide, (2,), NoisyTables((law,)))
    assert far.half_widths(0.95)[0][0] == pytest.approx(2 / 3 * np.sqrt(far.variances[0][0] / 0.05))


def test_files_that_hold_nonsense():
    """Trees whose levels do not fit, levels that are not there."""
    for text in ("", "2|3", "2|1,x", "0", "2|1,0", None):
        with pytest.raises(InvalidInput):
            read_tree(text)
    one = NoisyTables((IndependentLaw(2, geometric_law(Fraction(1, 2))),))
    for strategy in ("0", "2", "x", "1,1", None):
        with pytest.raises(InvalidInput):
            hierarchy_of({"workload": "2", "strategy": strategy, "grain": 1}, one)
    with pytest.raises(InvalidInput, match="finest"):
        _ = Hierarchy(((2,),), (0,), NoisyTables((IndependentLaw(1, geometric_law(Fraction(1, 2))),))).weights
