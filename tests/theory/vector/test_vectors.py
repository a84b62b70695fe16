"""The best noise for vectors: the numbers of the theory, linear programs over noise, no loss above the usual noises."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.lattices import moves_of
from oracles.pace import within

import utmost as um
from utmost.errors import InvalidInput
from utmost.space.integers import Lattice
from utmost.space.sensitivity import l1_sensitivity
from utmost.theory.vector.design.vectors import best_vector
from utmost.theory.vector.verify.coordinate import coordinate_bound

N = 20_000
LEVELS = (um.PureDP(1), um.ApproxDP(1, "1e-6"), um.GaussianDP(1), um.ZCDP("0.5"))


@pytest.mark.parametrize(
    ("d", "moves", "epsilon", "value"),
    [
        (2, "one-way", 1, 1.2215095487667),
        (3, "one-way", 1, 1.5829928575725),
        (10, "one-way", 1, 3.592622833668),
        (3, "one-way", "0.5", 3.213702452079),
        (3, "one-way", 2, 0.66234337558),
        (2, "sum-zero", 1, 0.8509181282),
        (4, "sum-zero", 1, 1.40142962828),
        (4, "sum-zero", 2, 0.5607545696),
        (4, "exchange", 1, 1.5067829),
        (3, "cube", 1, 1.9597330),
        (6, "any", 1, 0.85091813),
    ],
)
def test_numbers_of_the_theory(d, moves, epsilon, value):
    found = best_vector(Lattice(d, moves, 1, 0, N), um.PureDP(epsilon))
    digits = 10.0 ** -len(str(value).split(".")[1])
    assert found.value == pytest.approx(value, abs=digits)
    assert found.verify()


@pytest.mark.parametrize("moves", ["any", "one-way", "cube", "exchange", "sum-zero"])
@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_no_worse_than_the_usual_noises(moves, level):
    """Laplace rounded, geometric and Gaussian noise at the same level, by their own tails."""
    from scipy.special import ndtr

    for d, reach in ((1, 1), (4, 1), (3, 4)):
        space = Lattice(d, moves, reach, 0, N)
        far = l1_sensitivity(space)
        if far == 0:
            continue
        t = np.arange(1, 4000)
        usual = {}
        if isinstance(level, um.ApproxDP):
            usual["geometric"] = np.exp(-t / far) / (1 + math.exp(-1 / far))
            usual["Laplace"] = np.exp(-(t - 0.5) / far) / 2
        else:
            rows = 1 if moves == "any" or d == 1 else d if moves in ("one-way", "cube") else 2
            usual["Gaussian"] = ndtr(-(t - 0.5) / (reach * math.sqrt(rows)))
        for loss, weights in (("absolute", 1), ("squared", 2 * t - 1)):
            ours = best_vector(space, level, loss).value
            for name, tail in usual.items():
                assert ours <= 2 * float((tail * weights).sum()) * (1 + 1e-9), (name, loss, space)


@pytest.mark.parametrize("level", LEVELS, ids=str)
@pytest.mark.parametrize("loss", ["absolute", "squared", "zero-one", "within 2"])
def test_every_solution_verifies_and_reads_back(level, loss, tmp_path):
    for space in (
        Lattice(3, "one-way", 1, 0, N),
        Lattice(2, "cube", 3, 0, N),
        Lattice(4, "sum-zero", 2, 0, N),
        Lattice(2, "any", 30, 0, 30 * N),
        Lattice(1, "any", 7, 0, N),
        Lattice(1, "sum-zero", 1, 0, N),
    ):
        found = best_vector(space, level, loss)
        check = found.verify()
        assert check, str(check)
        again = um.Solution.load(found.save(tmp_path / "s.json"))
        assert again.verify()
        assert again.mechanism.noise == found.mechanism.noise
        point = tuple(range(space.dimension))
        assert len(found.sample(point)) == space.dimension


def test_sum_zero_noise_keeps_the_sum():
    found = best_vector(Lattice(4, "sum-zero", 1, 0, N), um.PureDP(1))
    assert all(sum(found.sample((4, 3, 2, 1))) == 10 for _ in range(50))


def least_noise_by_lp(space, level, loss, radius):
    """The least loss of noise on a window, privacy asked for inside only: a lower bound for all noise on vectors."""
    from itertools import product

    from scipy.optimize import linprog

    d = space.dimension
    points = [z for z in product(range(-radius, radius + 1), repeat=d) if space.moves != "sum-zero" or sum(z) == 0]
    index = {z: i for i, z in enumerate(points)}
    growth = math.exp(level.log_growth)
    rows, columns, values, count = [], [], [], 0
    for z in points:
        for step in moves_of(space):
            there = tuple(a + b for a, b in zip(z, step, strict=True))
            if there in index and there != z:
                rows += [count, count]
                columns += [index[z], index[there]]
                values += [1.0, -growth]
                count += 1
    from scipy.sparse import csr_matrix

    inside = csr_matrix((values, (rows, columns)), shape=(count, len(points)))
    away = np.abs(np.array(points))
    costs = {"absolute": away, "squared": away**2, "zero-one": away > 0}[loss].mean(axis=1)
    found = linprog(costs, A_ub=inside, b_ub=np.zeros(count), A_eq=np.ones((1, len(points))), b_eq=[1], method="highs")
    return found.fun


@pytest.mark.parametrize(
    ("d", "moves", "radius", "near"),
    [(2, "one-way", 6, 1e-3), (2, "cube", 6, 2e-3), (2, "exchange", 6, 1e-3), (3, "sum-zero", 6, 1e-3)],
)
def test_no_noise_in_a_window_is_better_by_more_than_the_window_costs(d, moves, radius, near):
    """A linear program over all noise on a window: below ours, and close."""
    space, level = Lattice(d, moves, 1, 0, N), um.PureDP(2)
    least, ours = least_noise_by_lp(space, level, "absolute", radius), best_vector(space, level).value
    assert least <= ours * (1 + 1e-9)
    assert ours <= least * (1 + near)


@settings(max_examples=25, deadline=None)
@given(
    points=st.integers(2, 9),
    reach=st.integers(1, 3),
    epsilon=st.sampled_from([0.3, 1.0, 2.5]),
    loss=st.sampled_from(["absolute", "squared", "zero-one", "within 1"]),
)
def test_bound_of_one_integer_is_below_the_best_mechanism(points, reach, epsilon, loss):
    """Against the linear program over all mechanisms on the line, uniform prior."""
    from scipy.optimize import linprog

    from utmost.space.line import cost

    space, level = Lattice(2, "any", reach, 0, points - 1), um.PureDP(epsilon)
    n, growth = points, math.exp(epsilon)
    i = np.arange(n)
    prices = (cost(loss, i[:, None] - i[None, :]) / n).ravel()
    rows = []
    for a in range(n):
        for b in range(n):
            if a != b and abs(a - b) <= reach:
                for o in range(n):
                    row = np.zeros(n * n)
                    row[a * n + o], row[b * n + o] = 1, -growth
                    rows.append(row)
    equal = np.kron(np.eye(n), np.ones(n))
    best = linprog(prices, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=equal, b_eq=np.ones(n)).fun
    assert coordinate_bound(space, level, loss) <= best + 1e-9


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "3"])
def test_histograms_are_within_a_percent_of_the_bound(epsilon):
    for loss in ("absolute", "squared"):
        found = best_vector(Lattice(6, "any", 1, 0, N), um.PureDP(epsilon), loss)
        assert found.certificate.gap <= 0.01 * found.value
    sums = best_vector(Lattice(1, "any", 120, 0, 3_000_000), um.PureDP(epsilon))
    assert sums.certificate.gap <= 0.001 * sums.value


def test_gaussian_histograms_are_within_a_percent_of_the_bound():
    for level in (um.GaussianDP(1), um.GaussianDP("0.2"), um.ApproxDP("0.5", "1e-6")):
        found = best_vector(Lattice(6, "any", 1, 0, N), level)
        assert found.certificate.gap <= 0.01 * found.value


def test_designs_are_quick_at_any_size():
    with within(5):
        for space in (
            Lattice(10**6, "any", 1, 0, 10**6),
            Lattice(2, "any", 1000, 0, 10**9),
            Lattice(3, "one-way", 1, 0, 10**6),
        ):
            found = best_vector(space, um.PureDP("0.77"))
            assert found.verify()


def test_levels_that_promise_everything_or_nothing():
    with pytest.raises(InvalidInput, match="above 0"):
        best_vector(Lattice(2, "any", 1, 0, 9), um.PureDP(0))
    free = best_vector(Lattice(2, "cube", 1, 0, 9), um.PureDP(math.inf))
    assert free.value == 0
    assert free.sample((3, 4)) == (3, 4)
    assert free.verify()
    unmoved = best_vector(Lattice(2, "cube", 0, 0, 9), um.PureDP("0.1"))
    assert unmoved.value == 0
    assert unmoved.verify()


def test_rational_decay_never_falls_short():
    """The law's decay is at or above e^-epsilon, so a slightly smaller level is refused."""
    space = Lattice(3, "one-way", 1, 0, N)
    mechanism = best_vector(space, um.PureDP(1)).mechanism
    assert mechanism.prove(space, um.PureDP(1)).passed
    assert not mechanism.prove(space, um.PureDP(Fraction(999_999, 10**6))).passed
