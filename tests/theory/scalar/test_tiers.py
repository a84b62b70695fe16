"""Tiers: counts and yes or no of groups with levels of their own, against linear programs over the raw inequalities."""

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest
from oracles.programs import binary_lp
from scipy.optimize import linprog

import utmost as um
from utmost.errors import InvalidInput
from utmost.privacy import PureDP
from utmost.space.integers import Tiers
from utmost.space.line import Line
from utmost.theory.scalar.design.tiers import best_tiered_choice, best_tiered_count, choice_errors, tiered_counts
from utmost.theory.scalar.tiers import TieredSums, sum_prior

RNG = np.random.default_rng(27)


def grid_of(*tiers, least=0, reach=1):
    return Tiers(tuple(Line(least * n, n, reach) for n, _ in tiers), tuple(share for _, share in tiers))


def raw(grid, level):
    """Points, edges and an epsilon for each edge, by comparing all pairs of points."""
    points = list(itertools.product(*(range(line.first, line.last + 1) for line in grid.lines)))
    edges, epsilons = [], []
    for i, j in itertools.combinations(range(len(points)), 2):
        moved = [t for t in range(len(grid.lines)) if points[i][t] != points[j][t]]
        if len(moved) == 1 and abs(points[i][moved[0]] - points[j][moved[0]]) <= grid.lines[moved[0]].reach:
            edges.append((i, j))
            epsilons.append(float(Fraction(grid.shares[moved[0]]) * level.exponent))
    return points, edges, epsilons


def least_count_loss(grid, level):
    """The least expected absolute loss of any private mechanism for the sum, by one linear program."""
    points, edges, epsilons = raw(grid, level)
    outputs = range(sum(line.last for line in grid.lines) + 1)
    n, k = len(points), len(outputs)
    rows = []
    for (i, j), epsilon in zip(edges, epsilons, strict=True):
        for (a, b), o in itertools.product(((i, j), (j, i)), range(k)):
            row = np.zeros((n, k))
            row[a, o], row[b, o] = 1, -np.exp(epsilon)
            rows.append(row.ravel())
    cost = [abs(sum(point) - o) / n for point in points for o in outputs]
    sums = np.kron(np.eye(n), np.ones(k))
    found = linprog(cost, np.array(rows), np.zeros(len(rows)), sums, np.ones(n), bounds=(0, 1), method="highs")
    return found.fun


def test_yes_or_no_is_the_linear_programs_optimum_on_random_grids():
    for _ in range(20):
        sizes, shares = RNG.integers(1, 6, 2).tolist(), [str(Fraction(int(RNG.integers(1, 9)), 10)), "1"]
        least, reach = (0, 1) if RNG.random() < 0.7 else (-1, int(RNG.integers(1, 3)))
        grid = grid_of(*zip(sizes, shares, strict=True), least=least, reach=reach)
        whole = grid.together((0, 1))
        border, level = int(RNG.integers(whole.first + 1, whole.last + 1)), PureDP(round(RNG.uniform(0.2, 3), 2))
        points, edges, epsilons = raw(grid, level)
        truth = [int(sum(point) >= border) for point in points]
        even = binary_lp(len(points), edges, truth, {}, epsilons, np.zeros(len(edges)))
        least_error = 1 - np.mean([p if t else 1 - p for p, t in zip(even, truth, strict=True)])
        found = best_tiered_choice(grid, border, level)
        assert found.value == pytest.approx(least_error, abs=2e-7)
        assert found.certificate.bound <= least_error + 1e-9
        assert found.verify()


def test_a_count_loses_what_its_law_says_and_lies_between_the_optimum_and_the_bound():
    for _ in range(20):
        sizes, share = RNG.integers(1, 4, 2).tolist(), str(Fraction(int(RNG.integers(1, 10)), 10))
        grid, level = grid_of((sizes[0], share), (sizes[1], "1")), PureDP(round(RNG.uniform(0.3, 3), 2))
        found = best_tiered_count(grid, level)
        optimum = least_count_loss(grid, level)
        assert found.certificate.bound <= optimum + 1e-9 <= found.value + 2e-9
        assert found.value == pytest.approx(by_enumeration(found.mechanism, "absolute")[0], abs=1e-10)
        assert found.verify()


def by_enumeration(mechanism, loss):
    """The expected loss on average and at the worst point, from the law at every point of the grid."""
    losses = []
    for point in itertools.product(*(range(line.first, line.last + 1) for line in mechanism.tiers.lines)):
        laws = [law.law(sum(point[t] for t in part)) for part, law in zip(mechanism.parts, mechanism.laws, strict=True)]
        total = 0.0
        for drawn in itertools.product(*(list(zip(*law, strict=True)) for law in laws)):
            off = sum(int(value) for value, _ in drawn) + mechanism.guess - sum(point)
            total += np.prod([chance for _, chance in drawn]) * (abs(off) if loss == "absolute" else off**2)
        losses.append(total)
    return np.mean(losses), max(losses)


def test_three_tiers_of_which_one_is_left_out():
    grid = grid_of((2, "1/50"), (3, "1/2"), (5, "1"))
    ways = tiered_counts(grid, PureDP(1), "squared", False)
    for _, way in ways:
        average, worst = by_enumeration(way, "squared")
        assert way.expected("squared") == pytest.approx(average, abs=1e-10)
        assert way.worst("squared") == pytest.approx(worst, abs=1e-10)  # every place is tried on lines this short
    assert {name for name, _ in ways} >= {"the strictest level for all", "a count for each tier", "tiers left out"}


def test_the_published_numbers():
    """20 of 2000 people at 0.1 and the rest at 1; a majority of 4 at 0.1 and 36 at 1; halves gain next to nothing."""
    small = best_tiered_count(grid_of((20, "1/10"), (1980, "1")), PureDP(1))
    assert (round(small.value, 3), round(small.certificate.bound, 3)) == (4.526, 4.403)
    every = dict(tiered_counts(small.problem.space, PureDP(1), "absolute", False))
    assert every["the strictest level for all"].expected("absolute") == pytest.approx(9.92, abs=0.01)
    majority = best_tiered_choice(grid_of((4, "1/10"), (36, "1")), 21, PureDP(1))
    assert majority.value == pytest.approx(0.0400322, abs=1e-7)
    assert majority.certificate.gap < 1e-9
    halves = best_tiered_count(grid_of((1000, "1/10"), (1000, "1")), PureDP(1))
    alone = dict(tiered_counts(halves.problem.space, PureDP(1), "absolute", False))["the strictest level for all"]
    assert alone.expected("absolute") / halves.value < 1.007


@pytest.mark.long
def test_five_people_at_a_tenth_cost_more_than_their_own_count():
    """A linear program over all mechanisms for 5 people at 0.1 and 10 at 1.

    A mechanism for 1995 others is one for each 11 of their tallies in a row, so it loses at least 1.60 as well: what
    leaving the five out costs by itself, 1.50, is not what a count of all loses.
    """
    optimum = least_count_loss(grid_of((5, "1/10"), (10, "1")), PureDP(1))
    assert optimum == pytest.approx(1.6066806, abs=1e-6)
    found = best_tiered_count(grid_of((5, "1/10"), (1995, "1")), PureDP(1))
    assert optimum * 11 * (1996 // 11) / 1996 <= found.value == pytest.approx(1.734322, abs=1e-6)


@pytest.mark.parametrize("sizes", [(20, 50_000), (1000, 1000)])
def test_grids_of_a_million_points(sizes):
    grid = grid_of((sizes[0], "1/10"), (sizes[1], "1"))
    assert grid.points > 10**6
    found = best_tiered_choice(grid, sum(sizes) // 2, PureDP(1))
    assert found.verify()
    assert found.value <= min(choice_errors(grid, sum(sizes) // 2, PureDP(1)).values()) + 1e-12
    assert found.certificate.gap <= (1e-4 if sizes[0] == 20 else 0.02) * found.value
    drawn = found.mechanism.sample(sizes)
    assert bool(drawn[0] if isinstance(drawn, tuple) else drawn)  # as far from the border as it gets


def test_what_is_saved_is_proved_again_and_forgeries_are_refused(tmp_path):
    grid = grid_of((4, "1/10"), (36, "1"))
    for solution in (best_tiered_count(grid, PureDP(1)), best_tiered_choice(grid, 21, PureDP(1))):
        loaded = um.Solution.load(solution.save(tmp_path / "tiers.json"))
        assert loaded.verify()
        assert loaded.value == solution.value
        better = dataclasses.replace(loaded, problem=dataclasses.replace(loaded.problem, privacy=PureDP("0.9")))
        assert not better.verify().private
        protected = Tiers(grid.lines, ("1/20", "1"))
        assert not loaded.mechanism.prove(protected, PureDP(1)).passed
        claimed = dataclasses.replace(loaded.certificate, bound=solution.value, gap=0.0)
        if solution.certificate.gap > 1e-6:
            assert not dataclasses.replace(loaded, certificate=claimed).verify()


def test_a_group_in_two_sums_is_not_private():
    grid = grid_of((4, "1"), (6, "1"))
    once = dict(tiered_counts(grid, PureDP(1), "absolute", False))["the strictest level for all"]
    twice = TieredSums(grid, ((0, 1), (0, 1)), once.laws * 2)
    assert once.prove(grid, PureDP(1)).passed
    assert not twice.prove(grid, PureDP(1)).passed


def test_sums_are_as_likely_as_counting_says():
    lines = [Line(0, 2, 1), Line(-1, 1, 1), Line(3, 4, 1)]
    counted = np.bincount([sum(p) - 2 for p in itertools.product(*(range(li.first, li.last + 1) for li in lines))])
    assert sum_prior(lines) == pytest.approx(counted / counted.sum())


def test_what_is_no_grid_is_refused():
    for lines, shares in ([(), ()], [(Line(0, 1, 1),), ("2",)], [(Line(0, 1, 1),), ("0",)], [(Line(0, 1, 1),), ()]):
        with pytest.raises(InvalidInput):
            Tiers(lines, shares)
