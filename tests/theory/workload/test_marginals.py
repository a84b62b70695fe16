"""The noise of marginal tables: published optima, and dense linear algebra; whole numbers by their properties."""

import math
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

import utmost as um
from utmost.design.workload import best_marginals, even_split
from utmost.errors import InvalidInput
from utmost.mechanism.noise.canonical import CanonicalLaw
from utmost.solution import Solution
from utmost.theory.workload.design.consistent_tables import apportion, fit_margins, integer_tables
from utmost.theory.workload.marginal_algebra import cells
from utmost.theory.workload.verify.checks import least_variance, marginal_optimum

SIZES = (5, 10, 20, 50)


def pairs(columns):
    return tuple(combinations(range(columns), 2))


def test_the_optimum_of_all_gaussian_strategies():
    """The values of ResidualPlanner; and (tr (W'W)^(1/2))^2 / N by dense algebra."""
    assert marginal_optimum((2, 3, 4), pairs(3)) == pytest.approx(50.850421013152)
    assert marginal_optimum(SIZES, pairs(4)) / 2100 == pytest.approx(4.3217254336)
    small = tuple(each for k in range(3) for each in combinations(range(4), k))
    assert marginal_optimum(SIZES, small) == pytest.approx(11152.418354232)
    full = list(product(range(2), range(3), range(4)))
    rows = [
        [float(cell[i] == x and cell[j] == y) for cell in full]
        for i, j in pairs(3)
        for x in range((2, 3, 4)[i])
        for y in range((2, 3, 4)[j])
    ]
    w = np.array(rows)
    eigen = np.linalg.eigvalsh(w.T @ w)
    assert marginal_optimum((2, 3, 4), pairs(3)) == pytest.approx(np.sqrt(np.maximum(eigen, 0)).sum() ** 2 / 24)


@pytest.mark.parametrize(
    ("level", "mean"), [(um.ZCDP("0.5"), 4.3217), (um.GaussianDP(1), 4.32232), (um.PureDP(1), 48.426)]
)
def test_all_pairs_of_four_columns(level, mean):
    """As published: centred tables reach the best of all Gaussian strategies; pure at 48.426; even shares above."""
    found = best_marginals(SIZES, pairs(4), "any", 1, 10_000, level)
    assert found.value == pytest.approx(mean, rel=2e-5)
    assert found.verify()
    bound = marginal_optimum(SIZES, pairs(4)) / 2100 * least_variance(level)
    assert found.certificate.bound == pytest.approx(bound)
    even = even_split(SIZES, pairs(4), "any", 1, level)
    assert even["squared"] == pytest.approx(6 if level != um.PureDP(1) else 1 / (2 * math.sinh(1 / 12) ** 2))


def test_the_least_noise_that_hides_a_shift():
    """No more than the variance of noise that keeps the level, geometric, canonical, Gaussian; and not much less."""
    for epsilon in (0.01, 0.5, 1, 3):
        geometric = 1 / (2 * math.sinh(epsilon / 2) ** 2)
        assert math.exp(-epsilon / 4) * geometric < least_variance(um.PureDP(epsilon)) < geometric
        for delta in ("1e-6", "0.01", "0.3"):
            level = um.ApproxDP(epsilon, delta)
            assert 0.45 < least_variance(level) / CanonicalLaw(level).mean("squared") < 1
    for mu, near in (("0.01", 0.999), ("1", 0.6), ("3", 0.04)):
        for level in (um.GaussianDP(mu), um.ZCDP(float(mu) ** 2 / 2)):
            assert near <= least_variance(level) * float(mu) ** 2 <= 1 or level == um.ZCDP("0.5")
    assert least_variance(um.ZCDP("0.5")) == pytest.approx(1 / math.expm1(1))  # of Chapman and Robbins
    assert least_variance(um.PureDP(math.inf)) == 0 == least_variance(um.ApproxDP(0, 1))


def test_every_level_has_a_bound():
    """(epsilon, delta) levels, too: above 0, below the value, and a larger one is refused."""
    found = best_marginals((2, 3, 4), pairs(3), "any", 2, 100, um.ApproxDP(1, "1e-6"))
    assert 0 < found.certificate.bound < found.value
    assert found.verify()
    forged = replace(found.certificate, bound=found.certificate.bound * 1.01)
    assert not Solution(found.problem, found.mechanism, found.value, forged).verify()


def within(sizes, of, level, moves="any"):
    """How far the design is above the best of all Gaussian strategies, relatively."""
    published = tuple(combinations(range(len(sizes)), of))
    found = best_marginals(sizes, published, moves, 1, 10_000, level)
    assert found.mechanism.prove(found.problem.space, level).passed
    best = marginal_optimum(sizes, published) / sum(cells(sizes, each) for each in published)
    mu = float(level.mu) if isinstance(level, um.GaussianDP) else math.sqrt(2 * float(level.rho))
    return found.value * mu**2 / best - 1


@pytest.mark.parametrize("sizes", [(5, 10, 20, 50), (3, 8, 12, 30, 40), (2, 3, 4), (2, 2, 2, 2, 2, 2), (1, 2, 9)])
def test_whole_tables_come_within_three_percent(sizes):
    """Gaussian noise on integer tables against the best of all Gaussian strategies: it was 3.7 % for (2, 3, 4)."""
    assert -1e-5 < within(sizes, 2, um.GaussianDP("0.5")) <= 0.03


@pytest.mark.long
def test_tables_of_any_sizes_come_within_three_percent():
    """Random sizes from 1 to 90, one to five columns, tables of one to three of them."""
    rng = np.random.default_rng()
    for _ in range(60):
        sizes = tuple(np.exp(rng.uniform(0, math.log(90), rng.integers(1, 6))).astype(int).tolist())
        level = (um.GaussianDP(1), um.ZCDP("0.02"), um.GaussianDP("0.1"))[rng.integers(3)]
        assert -1e-5 < within(sizes, int(rng.integers(1, min(len(sizes), 3) + 1)), level) <= 0.03, (sizes, level)


def test_people_with_several_rows_and_rows_replaced():
    """Noise grows with the reach, twice (in squared length) where rows are replaced, and is proved so."""
    pairs_ = pairs(2)
    one = best_marginals((3, 4), pairs_, "any", 1, 100, um.ZCDP("0.5"))
    for moves, reach, times in (("any", 3, 9), ("exchange", 1, 2)):
        found = best_marginals((3, 4), pairs_, moves, reach, 100, um.ZCDP("0.5"))
        assert found.verify()
        assert found.value == pytest.approx(one.value * times, rel=0.03)
    binary = pairs(4)  # centred tables: an exchanged row costs more in those where it moves in one column alone
    one = best_marginals((2,) * 4, binary, "any", 1, 100, um.ZCDP("0.5"))
    found = best_marginals((2,) * 4, binary, "exchange", 1, 100, um.ZCDP("0.5"))
    assert found.verify()
    assert one.value < found.value < 3 * one.value


def test_a_saved_solution_proves_itself_and_a_forged_one_does_not(tmp_path):
    """Another value, bound, or less noise is found out."""
    found = best_marginals((3, 4, 2), pairs(3), "any", 1, 100, um.PureDP(1))
    path = found.save(tmp_path / "tables.json")
    again = Solution.load(path)
    assert again.verify()
    assert again.value == found.value
    for wrong in (
        Solution(found.problem, found.mechanism, found.value * 0.9, found.certificate),
        Solution(
            found.problem,
            best_marginals((3, 4, 2), pairs(3), "any", 1, 100, um.PureDP(2)).mechanism,
            found.value,
            found.certificate,
        ),
    ):
        assert not wrong.verify()


def test_whole_numbers_agree():
    """Two columns at a time: margins as wanted, nothing below 0; one table above all others: summed from it."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        truth = rng.poisson(1.5, (4, 5, 3))
        estimates = {
            (): np.array(truth.sum() + rng.normal()),
            **{
                each: truth.sum(axis=3 - sum(each)) + rng.normal(0, 3, [truth.shape[i] for i in each])
                for each in pairs(3)
            },
        }
        found = integer_tables(truth.shape, estimates)
        assert all((table >= 0).all() for table in found.values())
        assert (found[(0, 1)].sum(axis=1) == found[(0, 2)].sum(axis=1)).all()
        assert (found[(0, 1)].sum(axis=0) == found[(1, 2)].sum(axis=1)).all()
        assert found[(1, 2)].sum() == found[()]
    above = integer_tables((2, 2, 2), {(0, 1, 2): rng.normal(0, 5, (2, 2, 2)), (0, 2): rng.normal(0, 5, (2, 2))})
    assert (above[(0, 1, 2)].sum(axis=1) == above[(0, 2)]).all()
    with pytest.raises(InvalidInput, match="one or two columns"):
        integer_tables((2, 2, 2, 2), {(0, 1, 2): np.ones((2, 2, 2)), (1, 2, 3): np.ones((2, 2, 2))})


def test_whole_numbers_are_near():
    """What has these properties already stays as it is; a total of 0 leaves nothing."""
    table = np.array([[3, 0, 2], [1, 4, 0]])
    assert (fit_margins(table.astype(float), table.sum(axis=1), table.sum(axis=0)) == table).all()
    assert apportion(10, [1.0, 2.0, 7.0]).tolist() == [1, 2, 7]
    assert apportion(0, [-1.0, -2.0, 0.4]).tolist() == [0, 0, 0]
    assert apportion(3, [0.0]).tolist() == [3]
    assert fit_margins(np.zeros((2, 2)), np.array([5, 0]), np.array([2, 3])).tolist() == [[2, 3], [0, 0]]
