"""Marginal tables made of noisy ones: against dense least squares, and intervals against convolutions.

Covers `mechanism/tables` and `mechanism/workloads`, too.
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from utmost.errors import InvalidInput
from utmost.mechanism.gaussian import DiscreteGaussian, RoundedGaussian
from utmost.mechanism.lattice import GeometricLaw, IndependentLaw
from utmost.mechanism.margins import cells, factors, read_workload
from utmost.mechanism.tables import NoisyTables, characteristic, sum_half_width
from utmost.mechanism.workloads import margins_of
from utmost.privacy import ZCDP, GaussianDP, PureDP
from utmost.space.integers import Tables

SHAPE = (2, 3, 2)
STRATEGY = ((), (0,), (0, 1), (1, 2))
PUBLISHED = ((0, 1), (1, 2), (2,), (1,), ())


def matrix(sets):
    """The marginal tables as sums of the cells of the full table, one row for each number."""
    full = list(product(*map(range, SHAPE)))
    rows = [
        [float(all(cell[i] == x for i, x in zip(each, key, strict=True))) for cell in full]
        for each in sets
        for key in product(*(range(SHAPE[i]) for i in each))
    ]
    return np.array(rows)


def made(laws):
    return margins_of({"workload": "2,3,2|0,1|1,2|2|1|", "strategy": "2,3,2||0|0,1|1,2", "grain": 1}, NoisyTables(laws))


def geometric(size, decay):
    return IndependentLaw(size, GeometricLaw(decay))


LAWS = (
    geometric(1, Fraction(1, 2)),
    geometric(2, Fraction(2, 3)),
    geometric(6, Fraction(1, 3)),
    geometric(6, Fraction(3, 5)),
)


def test_estimates_and_variances_are_those_of_least_squares():
    """Dense generalised least squares over all cells: the same numbers, the same variances."""
    margins = made(LAWS)
    noise = np.concatenate([np.full(law.dimension, law.mean("squared")) for law in LAWS])
    b, w = matrix(STRATEGY), matrix(PUBLISHED)
    inverse = np.linalg.pinv(b.T @ (b / noise[:, None]))
    solve = w @ inverse @ (b / noise[:, None]).T
    rng = np.random.default_rng(3)
    released = [rng.integers(-5, 50, law.dimension) for law in LAWS]
    expected = solve @ np.concatenate(released)
    found = margins.estimate(released)
    assert np.concatenate([found[each].ravel() for each in PUBLISHED]).astype(float) == pytest.approx(
        expected, abs=1e-5
    )
    variances = np.diag(solve @ np.diag(noise) @ solve.T)
    stated = np.concatenate([np.full(cells(SHAPE, each), margins.variance(each)) for each in PUBLISHED])
    assert stated == pytest.approx(variances, rel=1e-9)


def test_tables_agree_as_fractions():
    """Sums of one table are the numbers of another, to the last bit."""
    rng = np.random.default_rng(4)
    found = made(LAWS).estimate([rng.integers(-5, 10**12, law.dimension) for law in LAWS])
    assert isinstance(found[()].item(), Fraction)
    assert found[(0, 1)].sum(axis=0).tolist() == found[(1, 2)].sum(axis=1).tolist() == found[(1,)].tolist()
    assert found[(1, 2)].sum(axis=0).tolist() == found[(2,)].tolist()
    assert found[(2,)].sum() == found[()].item() == found[(0, 1)].sum()


def test_errors_have_mean_zero():
    """Exact tables come out as they are."""
    truth = np.arange(12).reshape(SHAPE)
    sums = [truth.sum(axis=tuple(i for i in range(3) if i not in each)) for each in STRATEGY]
    found = made(LAWS).estimate([np.asarray(table).ravel() for table in sums])
    for each in PUBLISHED:
        assert (found[each] == truth.sum(axis=tuple(i for i in range(3) if i not in each))).all()


@pytest.mark.parametrize(
    "law", [GeometricLaw(Fraction(1, 3)), RoundedGaussian(Fraction(2)), DiscreteGaussian(Fraction(2))]
)
def test_characteristic_functions(law):
    """Against the sum over the listed law."""
    k = np.arange(1, 60)
    chances = law.tail(k) - law.tail(k + 1)
    t = np.linspace(-9, 9, 41)
    listed = 1 - 2 * law.tail(1) + 2 * np.cos(np.outer(t, k)) @ chances
    assert characteristic(law, t) == pytest.approx(listed, abs=1e-12)


def test_intervals_against_the_convolution_of_the_laws():
    """The least half width, by listing all values of a sum of three noises with factors, and not much more."""
    terms = [(GeometricLaw(Fraction(1, 2)), 0.5, 2), (GeometricLaw(Fraction(2, 3)), 0.25, 1)]
    k = np.arange(-80, 81)

    def chances(b):
        return (1 - b) / (1 + b) * b ** np.abs(k)

    law: dict[float, float] = {0.0: 1.0}
    for b, factor in ((0.5, 0.5), (0.5, 0.5), (2 / 3, 0.25)):
        after: dict[float, float] = {}
        for x, p in law.items():
            for z, q in zip(k * factor, chances(b), strict=True):
                after[x + z] = after.get(x + z, 0.0) + p * q
        law = after
    for confidence in (0.5, 0.95, 0.99):
        least = next(
            h for h in sorted({abs(x) for x in law}) if sum(p for x, p in law.items() if abs(x) <= h) >= confidence
        )
        found = sum_half_width(terms, confidence)
        assert least <= found <= least + 0.25 + 0.05 * least


def test_coverage_by_simulation():
    """Of the error of one number of each wanted table, put together from simulated noise: 95 % and hardly more."""
    margins, rng = made(LAWS), np.random.default_rng(5)
    laws = dict(zip(STRATEGY, LAWS, strict=True))
    for each in PUBLISHED:
        error = np.zeros(40_000)
        for table, factor, many in factors(SHAPE, margins.shares, each):
            b = float(laws[table].single.decay)
            for _ in range(many):
                error += factor * (rng.geometric(1 - b, len(error)) - rng.geometric(1 - b, len(error)))
        assert np.var(error) == pytest.approx(margins.variance(each), rel=0.05)
        assert 0.947 < np.mean(np.abs(error) <= margins.half_width(each, 0.95)) < 0.97


def test_noise_that_is_nearly_always_zero_keeps_its_interval():
    """At a large epsilon: the fourth moment says that the series cannot be trusted."""
    found = sum_half_width([(GeometricLaw(Fraction(1, 3000)), 1.0, 40)], 0.95)
    chance_of_none = ((1 - 1 / 3000) / (1 + 1 / 3000)) ** 40
    assert chance_of_none > 0.95
    assert 0 <= found < 1


def test_privacy_adds_up_over_tables():
    """By sums of epsilons, of squared moves over variances; a little less noise fails."""
    pure = NoisyTables(LAWS)
    together = -sum(math.log(float(law.single.decay)) for law in LAWS)
    for moves, times in (("any", 1), ("exchange", 2)):
        space = Tables((1, 2, 6, 6), moves, 1, 100)
        whole = together * times - (math.log(2) if times == 2 else 0)  # one cell: a row cannot leave it for another
        assert pure.prove(space, PureDP(whole + 1e-9)).passed
        assert not pure.prove(space, PureDP(whole - 1e-9)).passed
    normal = NoisyTables(
        (IndependentLaw(3, DiscreteGaussian(Fraction(4))), IndependentLaw(2, DiscreteGaussian(Fraction(9))))
    )
    space = Tables((3, 2), "any", 2, 100)
    rho = Fraction(4, 8) + Fraction(4, 18)
    assert normal.prove(space, ZCDP(rho)).passed
    assert not normal.prove(space, ZCDP(rho - Fraction(1, 10**9))).passed
    assert not normal.prove(space, GaussianDP(100)).passed  # the discrete Gaussian keeps no Gaussian level
    assert not normal.prove(Tables((3, 3), "any", 2, 100), ZCDP(10)).passed
    mixed = NoisyTables((geometric(3, Fraction(1, 2)), IndependentLaw(2, DiscreteGaussian(Fraction(9)))))
    assert not mixed.prove(space, ZCDP(100)).passed


def test_files_that_hold_nonsense():
    """Words and sizes that do not fit are refused."""
    for text in ("", "2,x|0", "2|1", "2|0|0", "2,3|1,0", None, "0|0", "2"):
        with pytest.raises(InvalidInput):
            read_workload(text)
    for data in (
        {"workload": "2|0", "strategy": "2|", "grain": 1},
        {"workload": "2|0", "strategy": "3|0", "grain": 1},
        {"workload": "2|0", "strategy": "2|0", "grain": 0},
        {"workload": "2|0", "strategy": "2|0", "grain": True},
    ):
        with pytest.raises(InvalidInput):
            margins_of(data, NoisyTables((geometric(2, Fraction(1, 2)),))).variance((0,))
    with pytest.raises(InvalidInput):
        NoisyTables.from_json({"laws": []})
