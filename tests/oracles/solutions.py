"""Genuine solutions of every question: on graphs, and on integers."""

from fractions import Fraction

import utmost as um
from utmost.design.rainbow import best_quantile, best_winner
from utmost.mechanism.noise.vector import NoisyVector
from utmost.space.integers import Holders, Lattice, Tallies, Tiers
from utmost.space.line import Line
from utmost.theory.partition_selection.design import best_keys
from utmost.theory.scalar.design.line import best_on_line
from utmost.theory.scalar.design.tiers import best_tiered_choice, best_tiered_count
from utmost.theory.scalar.design.yes_or_no import best_yes_or_no
from utmost.theory.selection.design.ranks import best_ranks
from utmost.theory.selection.design.top_lists import best_top
from utmost.theory.vector.design.vectors import best_vector
from utmost.theory.workload.design.hierarchy import best_hierarchy
from utmost.theory.workload.design.marginals import best_marginals
from utmost.theory.workload.design.prefix_noise import best_carried, nested_solution
from utmost.theory.workload.design.strategies import best_strategy

RANKINGS = {True: ("a", "b", "c"), False: ("b", "a", "c")}


def honest():
    """A solution of every question on graphs."""
    level = um.ApproxDP(1, 0.01)
    yield um.binary.extend(um.path(5), [0, 0, 1, 1, 1], {1: 0.3, 2: 0.6}, 1.0, outputs=(0, 1))
    yield um.binary.balanced(um.counts(4), lambda yes: yes > 2, level)
    yield um.binary.best_boundary(um.counts(4), lambda yes: yes > 2, level)
    yield um.binary.best_boundary(um.counts(3), lambda yes: yes > 1, level, criterion="worst")
    boundary = {ranking: [0.5, 0.4, 0.1] for ranking in RANKINGS.values()}
    yield um.rainbow.extend(um.path(5), lambda i: RANKINGS[i < 3], boundary, 1.0)
    yield um.rainbow.best_boundary(um.path(5), lambda i: RANKINGS[i < 3], 1.0)
    yield um.rainbow.lexicographic(um.path(4), lambda i: RANKINGS[i < 2], {1: [0.5, 0.3, 0.2]}, 1.0)
    yield um.rainbow.nearest(um.cycle(5), "aabbc", 1.0)
    yield um.finite.optimal(um.counts(3), 1.0, loss=lambda i, o: abs(i - 3 * o), outputs=(0, 1))
    yield um.finite.tight_constraints(um.cycle(5), 2.0)
    yield um.finite.optimal(um.cycle(5), 2.0, [0.22, 0.2, 0.2, 0.19, 0.19])
    yield um.finite.optimal(um.counts(4), 1.0, loss="absolute")
    yield um.finite.optimal(um.cycle(4), 1.0, [0.7, 0.1, 0.1, 0.1], method="linear-program")
    yield um.finite.optimal(um.counts(4), um.GaussianDP(1), loss="absolute")
    yield um.finite.optimal(um.cycle(4), level, criterion="worst")
    p0, p1 = [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]
    yield um.local.for_testing(p0, p1, 3.0)
    yield um.local.for_testing(p0, p1, 6.0, outputs=3)
    yield um.local.for_information(p0, 1.0)
    yield um.local.for_records(um.hamming(2, 2), p0, p1, 1.0)
    yield um.local.linear_program(lambda column: column.max(axis=-1), 3, 1.0)
    yield um.local.linear_program([lambda c: c.max(axis=-1), lambda c: c[..., 0] * 0.5], 3, 1.0)
    yield um.binary.uniformly_most_powerful(8, 0.5, 1.0, 0.05).solution


PURE, DELTA = um.PureDP(1), um.ApproxDP(1, 0.01)


def on_integers():
    """A solution of every question on integers, and more than one where the words differ."""
    yield best_yes_or_no(Line(-20, 20, 1), 1, PURE)
    yield best_yes_or_no(Line(-20, 5, 1), 1, um.GaussianDP(1))
    yield best_winner(Tallies(3, 20_000, "add-remove"), 1.0)
    yield best_winner(Tallies(2, 6, "replace"), 1.0)
    yield best_quantile(Tallies(3, 6, "replace"), 0.5, [1, 2, 3], 1.0)
    yield best_ranks(Tallies(1000, 10**6, "add-remove"), (Fraction(1, 2),), um.PureDP(1))
    yield best_ranks(Tallies(9, 100, "add-remove"), tuple(Fraction(i, 10) for i in range(1, 10)), um.PureDP(1))
    yield best_on_line(Line(0, 100, 1), PURE)
    yield best_on_line(Line(0, 100, 1), PURE, unbiased=True)
    yield best_on_line(Line(0, 100, 1), DELTA)
    yield best_on_line(Line(0, 1000, 5), PURE)
    yield best_on_line(Line(0, 12, 3), PURE)
    yield best_on_line(Line(0, 1000, 5), um.ZCDP(1))
    grid = Tiers((Line(0, 4, 1), Line(0, 36, 1)), ("1/10", "1"))
    yield best_tiered_count(grid, PURE)
    yield best_tiered_choice(grid, 21, PURE)
    yield best_vector(Lattice(3, "one-way", 1, 0, 20_000), PURE)
    yield best_vector(Lattice(4, "sum-zero", 1, 0, 200), PURE)
    yield best_vector(Lattice(3, "exchange", 1, 0, 200), PURE, alone=True)
    yield best_strategy(Lattice(20, "any", 1, 0, 2000), um.GaussianDP(1))
    yield best_strategy(Lattice(20, "any", 1, 0, 2000), PURE, sums="ranges")
    cells = Lattice(2, "any", 1, 0, 20_000)
    yield nested_solution(cells, NoisyVector(best_carried(cells, um.PureDP("0.5"))), um.PureDP("0.5"))
    yield best_top(Tallies(3, 20, "add-remove"), 1, PURE)
    yield best_hierarchy(((3,), (2,) * 3), "any", 1, 100, PURE)
    yield best_marginals((3, 2), ((0,), (1,)), "any", 1, 100, PURE)
    yield best_keys(Holders(100, 1, "add-remove"), DELTA)
    yield best_keys(Holders(100, 2, "add-remove"), DELTA)
