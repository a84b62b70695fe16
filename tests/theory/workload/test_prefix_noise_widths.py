"""The best widths of noise that carries, against all widths; and that nested counts and CDFs take it."""

from itertools import product

import pytest

import utmost as um
from utmost.mechanism.noise.carried import CarriedLaw
from utmost.mechanism.noise.independent import IndependentLaw
from utmost.mechanism.noise.staircase import geometric_law
from utmost.mechanism.noise.vector import NoisyVector
from utmost.privacy.level import decay_above
from utmost.space.integers import Lattice
from utmost.theory.workload.design.nested_counts import sum_half_widths, sum_losses
from utmost.theory.workload.design.prefix_noise import best_carried, carried_losses, nested_solution
from utmost.theory.workload.design.strategies import best_counts


def cells(d, moves="any", reach=1, upper=20_000):
    return Lattice(d, moves, reach, 0, upper)


@pytest.mark.parametrize("loss", ["absolute", "squared", "within 3"])
@pytest.mark.parametrize(("d", "epsilon"), [(2, "0.15"), (3, "0.4"), (4, "1")])
def test_no_widths_are_better(d, epsilon, loss):
    law = best_carried(cells(d), um.PureDP(epsilon), loss)
    every = (CarriedLaw(law.decay, widths) for widths in product(range(8 if d < 4 else 4), repeat=d - 1))
    assert carried_losses(law, loss) <= min(carried_losses(each, loss) for each in every) * (1 + 1e-9)


def test_the_known_errors_of_nested_counts():
    """At epsilon = 1, with noise of its own on each cell: 1.1091, 1.3215, 2.3215; their squares 10.127 and 92.99."""
    for d, value in {2: 1.109077, 3: 1.295177, 10: 1.931740}.items():
        assert carried_losses(best_carried(cells(d), um.PureDP(1)), "absolute") == pytest.approx(value, abs=1e-5)
    for d, most in {10: 6.56, 30: 12.9, 100: 27.8}.items():
        assert carried_losses(best_carried(cells(d), um.PureDP(1), "squared"), "squared") < most
    assert best_carried(cells(3), um.PureDP("0.1")).widths == (7, 5)


def test_where_there_is_none():
    assert best_carried(cells(1), um.PureDP(1)) is None
    assert best_carried(cells(3), um.PureDP("0.001")) is None
    assert best_carried(cells(3), um.PureDP(30)) is None
    assert best_carried(cells(200), um.PureDP(1)) is None
    assert best_carried(cells(3, reach=0), um.PureDP(1)) is None
    law = best_carried(cells(3), um.PureDP(1))
    assert nested_solution(cells(3), NoisyVector(law), um.ApproxDP(1, "1e-6")) is None
    assert nested_solution(cells(3, "exchange"), NoisyVector(law), um.PureDP(2)) is None
    assert nested_solution(cells(3, upper=3), NoisyVector(law), um.PureDP(1)) is None


def test_losses_of_sums_are_the_same_by_both_roads():
    decay = decay_above(um.PureDP("0.5"))
    carried, alone = CarriedLaw(decay, (0, 0)), IndependentLaw(3, geometric_law(decay))
    for last in (False, True):
        losses = ("absolute", "squared", "zero-one", "within 4")
        assert sum_losses(carried, losses, last) == pytest.approx(sum_losses(alone, losses, last), rel=1e-9)
    assert sum_half_widths(carried, "0.95") == sum_half_widths(alone, "0.95")


@pytest.mark.parametrize(
    ("moves", "level"), [("any", um.PureDP(1)), ("any", um.ApproxDP("0.5", "1e-6")), ("exchange", um.PureDP("0.5"))]
)
def test_counts_take_it_where_it_errs_least(moves, level):
    """Never worse than noise of its own on each cell; proved by a flow where rows come or go at a pure level."""
    for d in (2, 3, 6, 20):
        found = best_counts(cells(d, moves), cells(d, "one-way"), level)
        assert found.verify()
        carried = best_carried(cells(d, moves), level)
        noise = found.mechanism.noise
        loses = sum_losses(noise, ("absolute",))["absolute"] if found.problem.space == cells(d, moves) else found.value
        if found.problem.space == cells(d, moves):
            assert loses <= carried_losses(carried, "absolute") * (1 + 1e-12)
        by_flow = moves == "any" and isinstance(level, um.PureDP) and d < 8
        assert (found.problem.question == "number.nested") == by_flow
        if by_flow:
            assert found.value == pytest.approx(loses, rel=1e-9)
