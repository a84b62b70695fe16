"""Regions over all neighbours, tests between sets, and LIM (2.11)'s list, each against another computation."""

import itertools

import numpy as np
import pytest

import utmost as um
from utmost.errors import InvalidInput

RNG = np.random.default_rng(27)


def random_mechanism(n, k):
    return um.FiniteMechanism(RNG.dirichlet(np.ones(k), n), range(n), range(k))


def test_a_level_holds_all_neighbours_iff_its_region_does():
    """20 random mechanisms on random cycles: the least delta from the region is that from all events."""
    for _ in range(20):
        n, k = int(RNG.integers(3, 6)), int(RNG.integers(2, 5))
        mechanism, space = random_mechanism(n, k), um.cycle(n)
        found = um.accounting.region_of(mechanism, space)
        for epsilon in (0.0, 0.3, 1.0):
            worst = max(
                sum(
                    max(0.0, p - np.exp(epsilon) * q)
                    for p, q in zip(mechanism.matrix[a], mechanism.matrix[b], strict=True)
                )
                for i in range(n)
                for a, b in ((i, (i + 1) % n), ((i + 1) % n, i))
            )
            assert found.delta(epsilon) == pytest.approx(worst, abs=1e-12)


def test_tests_between_sets_have_the_errors_of_the_worst_mixtures():
    """20 random pairs of sets: no random test is below the region, and single points give the region between them."""
    for _ in range(20):
        mechanism = random_mechanism(5, 4)
        first, second = [0, 1][: RNG.integers(1, 3)], [2, 3, 4][: RNG.integers(1, 4)]
        found = um.accounting.region_between_sets(mechanism, first, second)
        for test in [*itertools.product((0, 1), repeat=4), *RNG.uniform(0, 1, (40, 4))]:
            alarm = max(float(mechanism.matrix[i] @ test) for i in first)
            missed = max(1 - float(mechanism.matrix[i] @ test) for i in second)
            assert alarm >= found.false_alarm(missed) - 1e-9
        for i, j in itertools.product(first, second):
            assert found in um.accounting.region_between(mechanism, i, j)
    alone = um.accounting.region_between_sets(mechanism, [0], [3])
    pair = um.accounting.region_between(mechanism, 0, 3)
    assert alone in pair
    assert pair in alone
    with pytest.raises(InvalidInput):
        um.accounting.region_between_sets(mechanism, [], [1])


def test_every_corner_of_a_test_between_sets_is_reached_by_mixtures():
    """By duality a corner's weighted errors are the least for some mixture of each set: checked on a grid of them."""
    mechanism = random_mechanism(4, 3)
    found = um.accounting.region_between_sets(mechanism, [0, 1], [2, 3])
    grid = np.linspace(0, 1, 61)
    for weight in (0.3, 0.5, 0.7):
        least = float((weight * found.corners[:, 0] + (1 - weight) * found.corners[:, 1]).min())
        mixtures = (
            np.minimum(
                weight * (a * mechanism.matrix[2] + (1 - a) * mechanism.matrix[3]),
                (1 - weight) * (b * mechanism.matrix[0] + (1 - b) * mechanism.matrix[1]),
            ).sum()
            for a in grid
            for b in grid
        )
        assert max(mixtures) == pytest.approx(least, abs=1e-2)


@pytest.mark.parametrize("level", [um.ApproxDP("0.1", "0.001"), um.PureDP(1), um.ApproxDP(0, "0.1"), um.ApproxDP(2, 1)])
def test_the_list_of_promises_is_what_exact_composition_says(level):
    for k in (1, 2, 5, 30):
        listed = um.accounting.composed_levels(level, k)
        assert len(listed) == k // 2 + 1
        for epsilon, delta in listed:
            assert delta == pytest.approx(um.compose(level, times=k).delta(epsilon), abs=1e-12)


def test_a_thousand_releases_do_not_overflow():
    epsilon, delta = um.accounting.composed_levels(um.PureDP(3), 1000)[480]
    assert delta == pytest.approx(um.compose(um.PureDP(3), times=1000).delta(epsilon), abs=1e-10)
    with pytest.raises(InvalidInput):
        um.accounting.composed_levels(um.GaussianDP(1), 2)
