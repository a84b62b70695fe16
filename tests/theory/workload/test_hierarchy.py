"""The noise of a hierarchy's levels: published values, dense algebra, proofs."""

import numpy as np
import pytest

import utmost as um
from utmost.design.workload import best_hierarchy
from utmost.solution import Solution
from utmost.theory.workload.design.hierarchy import total_variance
from utmost.theory.workload.problem import hierarchy_of
from utmost.theory.workload.verify.checks import tree_optimum

DEEP = ((10,), (20,) * 10)


def test_the_optimum_of_all_gaussian_strategies():
    """1 > 2 > 6 and 1 > 10 > 200 as published; of an unbalanced tree by dense algebra."""
    assert tree_optimum(((2,), (3, 3))) == pytest.approx(13.991221987003)
    assert tree_optimum(DEEP) == pytest.approx(302.84881468254)
    w = np.vstack([np.ones((1, 7)), np.repeat(np.eye(2), (3, 4), axis=1), np.eye(7)])
    eigen = np.linalg.eigvalsh(w.T @ w)
    assert tree_optimum(((2,), (3, 4))) == pytest.approx(np.sqrt(eigen).sum() ** 2 / 7)


def test_levels_of_noise():
    """Whole levels reach the Gaussian optimum; at epsilon 1 the middle level gets nothing."""
    normal = best_hierarchy(DEEP, "any", 1, 1000, um.ZCDP("0.5"))
    assert normal.value * 211 == pytest.approx(302.84881468254, rel=1e-5)
    pure = best_hierarchy(DEEP, "any", 1, 1000, um.PureDP(1))
    assert pure.value * 211 == pytest.approx(1029.22, rel=1e-5)
    assert pure.problem.data["strategy"] == "0,2"
    assert normal.verify()
    assert pure.verify()
    found = hierarchy_of(normal.problem.data, normal.mechanism)
    assert total_variance(DEEP, found.noise) == pytest.approx(normal.value * 211)


def test_a_saved_solution_proves_itself_and_a_forged_one_does_not(tmp_path):
    """Less noise, or another tree, is found out."""
    tree = ((3,), (2, 4, 1))
    found = best_hierarchy(tree, "exchange", 2, 1000, um.GaussianDP(1))
    assert Solution.load(found.save(tmp_path / "tree.json")).verify()
    louder = best_hierarchy(tree, "exchange", 2, 1000, um.GaussianDP(2))
    assert not Solution(found.problem, louder.mechanism, found.value, found.certificate).verify()
