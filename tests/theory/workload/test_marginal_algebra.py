"""Marginal tables made of noisy ones: against dense least squares, and intervals against convolutions."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from utmost.errors import InvalidInput
from utmost.mechanism.noise.gaussian import DiscreteGaussian, RoundedGaussian
from utmost.mechanism.noise.lattice import GeometricLaw, IndependentLaw
from utmost.mechanism.noise.tables import NoisyTables, characteristic, sum_half_width
from utmost.privacy import ZCDP, GaussianDP, PureDP
from utmost.space.integers import CentredTables, Tables
from utmost.theory.workload.marginal_algebra import (
    ReleasedTable,
    cells,
    centre,
    factors,
    read_strategy,
    read_workload,
    write_strategy,
)
from utmost.theory.workload.problem import margins_of

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
    laws = dict(zip(margins.strategy, LAWS, strict=True))
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


CENTRED = tuple(
    ReleasedTable(*each)
    for each in (((), ()), ((0,), (0,)), ((0, 1), (0,)), ((1, 2), (1, 2)), ((2,), ()), ((1,), (1,)))
)
GAUSSIANS = tuple(
    IndependentLaw(cells(SHAPE, table.columns), DiscreteGaussian(Fraction(7 + i))) for i, table in enumerate(CENTRED)
)


def released_matrix(times):
    """Centred tables as whole weights of the cells of the full table, one row for each number."""
    found = []
    for table, many in zip(CENTRED, times, strict=True):
        plain = matrix([table.columns]).reshape(*(SHAPE[i] for i in table.columns), -1).astype(int)
        axes = [axis for axis, i in enumerate(table.columns) if i in table.centred]
        found.append(centre(plain, axes).reshape(cells(SHAPE, table.columns), -1) * many)
    return np.vstack(found)


@pytest.mark.parametrize("grain", [1, 5])
def test_centred_tables_by_dense_least_squares(grain):
    """Estimates and variances as of dense algebra on all cells, in agreement as fractions, exact without noise."""
    data = {"workload": "2,3,2|0,1|1,2|2|1|", "strategy": write_strategy(SHAPE, CENTRED), "grain": grain}
    margins = margins_of(data, NoisyTables(GAUSSIANS))
    b, w = released_matrix([margins.times[each] for each in CENTRED]), matrix(PUBLISHED)
    noise = np.concatenate([np.full(law.dimension, law.mean("squared")) for law in GAUSSIANS])
    weighted = (b / noise[:, None]).T
    solve = w @ np.linalg.pinv(weighted @ b) @ weighted
    rng = np.random.default_rng(6)
    drawn = [rng.integers(-50, 50, law.dimension) for law in GAUSSIANS]
    found = margins.estimate(drawn)
    listed = np.concatenate([found[each].ravel() for each in PUBLISHED]).astype(float)
    assert listed == pytest.approx(solve @ np.concatenate(drawn), abs=1e-4)
    stated = np.concatenate([np.full(cells(SHAPE, each), margins.variance(each)) for each in PUBLISHED])
    assert stated == pytest.approx(np.diag(solve @ np.diag(noise) @ solve.T), rel=1e-6)
    assert found[(0, 1)].sum(axis=0).tolist() == found[(1, 2)].sum(axis=1).tolist() == found[(1,)].tolist()
    truth = rng.integers(0, 50, 12)
    exact = margins.estimate(np.split(b @ truth, np.cumsum([law.dimension for law in GAUSSIANS])[:-1]))
    assert [x for each in PUBLISHED for x in exact[each].ravel()] == (w @ truth).tolist()
    for each in PUBLISHED:  # the error of one number, put together from its factors
        spread = sum(
            many
            * (factor / margins.units[table]) ** 2
            * dict(zip(CENTRED, GAUSSIANS, strict=True))[table].mean("squared")
            for table, factor, many in factors(SHAPE, margins.shares, each)
        )
        assert spread == pytest.approx(margins.variance(each), rel=1e-9)


@pytest.mark.parametrize(("moves", "reach"), [("any", 1), ("any", 3), ("exchange", 1), ("exchange", 2)])
def test_moves_of_centred_tables_are_those_of_all_rows(moves, reach):
    """Against every row that comes, or leaves a cell for another: as a weighted sum of squared lengths."""
    space = CentredTables(SHAPE, CENTRED, moves, reach, 100, 4)
    b = released_matrix(space.times)
    weights = np.concatenate(
        [np.full(size, float(law.single.variance) ** -1) for size, law in zip(space.sizes, GAUSSIANS, strict=True)]
    )
    ways = [b[:, i] for i in range(12)]
    if moves == "exchange":
        ways += [b[:, i] - b[:, j] for i in range(12) for j in range(12)]
    largest = max(float(weights @ way**2) for way in ways) * reach**2
    stated = float(space.largest_square([1 / law.single.variance for law in GAUSSIANS]))
    assert stated >= largest * (1 - 1e-12)
    if reach == 1 or moves == "any":  # cut cells show half a move, which here is never longer
        assert stated <= largest * (1.3 if moves == "exchange" else 1 + 1e-12)
    mechanism, rho = NoisyTables(GAUSSIANS), Fraction(stated).limit_denominator(10**9) / 2
    assert mechanism.prove(space, ZCDP(rho + Fraction(1, 10**6))).passed
    assert not mechanism.prove(space, ZCDP(rho - Fraction(1, 10**6))).passed
    assert not NoisyTables(tuple(geometric(n, Fraction(1, 99)) for n in space.sizes)).prove(space, ZCDP(99)).passed


def test_centred_tables_of_nonsense_are_refused():
    """Columns that are not there, centred along others, along a column of one value; sizes that are no sizes."""
    for shape, tables in (
        ((2, 3), (((0,), (1,)),)),
        ((2, 3), (((2,), ()),)),
        ((2, 1), (((0, 1), (1,)),)),
        ((2, 3), (((1, 0), ()),)),
        ((2, "x"), (((0,), ()),)),
        ((2, 3), ((0, 1, 2),)),
        ((2, 3), ()),
    ):
        with pytest.raises(InvalidInput):
            CentredTables(shape, tables, "any", 1, 10, 1)
    for text in ("2,3|0c|0c", "2,1|1c", "2|0cc", "2|c"):
        with pytest.raises(InvalidInput):
            read_strategy(text)
    with pytest.raises(InvalidInput):
        read_workload("2,3|0c")


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
