"""Three leaders at once: cells are triangles and counted, and what prices add to chains is below linear programs."""

import math
from collections import Counter
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array

import utmost as um
from utmost.design.rainbow import best_winner, choice_facts
from utmost.errors import InvalidInput
from utmost.solution import Solution
from utmost.space.integers import Tallies
from utmost.space.triangles import triangle
from utmost.theory.selection.design.triples import _prices
from utmost.theory.selection.runner_up import runner_up_shortfall
from utmost.theory.selection.verify.choices import winner_bound
from utmost.theory.selection.verify.shortfalls import shortfall_bound
from utmost.theory.selection.verify.triples import triangle_chains, triangles_from, triple_gain


def listed(cells, rows):
    return [t for t in product(range(rows + 1), repeat=cells) if sum(t) <= rows]


def in_order(tally):
    return sorted(range(len(tally)), key=lambda j: (-tally[j], j))


def cells_of(cells, rows, neighbours):
    """All tallies by cell: the three leaders, the others' votes, and how many rows there are, by ones or by twos."""
    found = {}
    for tally in listed(cells, rows):
        leaders = frozenset(in_order(tally)[:3])
        others = tuple(v for j, v in enumerate(tally) if j not in leaders)
        total = sum(tally) if neighbours == "replace" else (rows - sum(tally)) // 2
        found.setdefault((leaders, others, total), []).append(tally)
    return found


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(("cells", "rows"), [(3, 7), (4, 7), (5, 6)])
def test_cells_are_triangles_and_are_counted(neighbours, cells, rows):
    """Every cell is a triangle with a public order of the three; as many have each side as the formula says."""
    sides = Counter()
    for (leaders, _, _), tallies in cells_of(cells, rows, neighbours).items():
        trio = sorted(leaders)
        votes = np.array([[tally[j] for j in trio] for tally in tallies])
        y = votes - votes.min(axis=0)
        side = int(y.sum(axis=1).max())
        points = {tuple(p) for p in triangle(side, neighbours).points}
        assert {tuple(p) for p in y.tolist()} == points
        winners = {tuple(p): trio.index(in_order(tally)[0]) for p, tally in zip(y.tolist(), tallies, strict=True)}
        decided = [all(order[np.argmax([p[j] for j in order])] == winners[p] for p in points)
                   for order in permutations(range(3))]  # fmt: skip
        assert any(decided)
        sides[side] += 1
    for least in range(rows + 1):
        expected = sum(count for side, count in sides.items() if side >= least)
        assert triangles_from(Tallies(cells, rows, neighbours), least) == expected


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("loss", ["zero-one", "shortfall"])
@pytest.mark.parametrize("epsilon", [0.1, 0.6, 2.0])
def test_chains_of_a_triangle_are_those_of_its_tallies(neighbours, loss, epsilon):
    growth, reach = math.exp(epsilon), 1 if neighbours == "add-remove" else 2
    for side in (1, 2, 3, 4, 7, 11):
        sums = {}
        for tally in triangle(side, neighbours).points:
            first, second, third = in_order(tally)
            depth = -(-(tally[first] - tally[second] + (first < second)) // reach)
            weight = 1 if loss == "zero-one" else tally[first] - tally[second]
            both = sums.setdefault((third, tally[third]), [0.0, 0.0])
            both[first < second] += weight * growth ** (1 - depth)
        least = sum(min((a + b) / (1 + growth), a, b) for a, b in sums.values())
        assert triangle_chains(side, neighbours, epsilon, loss) == pytest.approx(least, rel=1e-12)


def least_by_lp(rows, epsilon, neighbours, loss):
    """The least expected loss among three candidates, from the raw inequalities."""
    every = listed(3, rows)
    place = {t: i for i, t in enumerate(every)}
    moves = [m for m in product((-1, 0, 1), repeat=3) if sum(map(abs, m)) == 1]
    if neighbours == "replace":
        moves += [m for m in product((-1, 0, 1), repeat=3) if sorted(m) == [-1, 0, 1]]
    arcs = [(i, place[h]) for i, t in enumerate(every) for m in moves
            if (h := tuple(a + b for a, b in zip(t, m, strict=True))) in place]  # fmt: skip
    tails, heads = np.array(arcs).T
    rows_, outputs = np.arange(3 * len(arcs)), np.arange(3)
    entries = np.concatenate([np.ones(len(rows_)), np.full(len(rows_), -math.exp(epsilon))])
    columns = np.concatenate([(tails[:, None] * 3 + outputs).ravel(), (heads[:, None] * 3 + outputs).ravel()])
    upper = coo_array((entries, (np.tile(rows_, 2), columns))).tocsr()
    sums = coo_array((np.ones(3 * len(every)), (np.repeat(np.arange(len(every)), 3), np.arange(3 * len(every)))))
    cost = [[float(o != in_order(t)[0]) if loss == "zero-one" else max(t) - t[o] for o in range(3)] for t in every]
    return linprog(np.ravel(cost) / len(every), upper, np.zeros(len(rows_)), sums.tocsr(), np.ones(len(every))).fun


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(("loss", "step", "side"), [("zero-one", 1, 5), ("zero-one", 2, 2), ("shortfall", 1, 5)])
def test_what_prices_add_is_below_the_linear_program(neighbours, loss, step, side):
    """Chains and triangles together bound every private choice, and more closely than chains alone."""
    for epsilon in ("0.15", "1.5"):
        level, tallies = um.PureDP(epsilon), Tallies(3, 9, neighbours)
        chains = (winner_bound if loss == "zero-one" else shortfall_bound)(tallies, level)
        gain = triple_gain(tallies, level, loss, _prices(level, loss, neighbours, step, side))
        least = least_by_lp(9, float(epsilon), neighbours, loss)
        assert chains + gain <= least * (1 + 1e-7)
        assert gain > 0 or (step, epsilon) == (2, "1.5")
        assert gain > 0.3 * (least - chains) or (loss, step, epsilon) != ("zero-one", 1, "1.5")


@pytest.mark.long
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("loss", ["zero-one", "shortfall"])
def test_a_plan_of_a_few_hundred_rows_says_how_near_it_is(tmp_path, neighbours, loss):
    """Triangles take away most of what chains leave; files carry the prices, and forged ones are refused."""
    tallies, level = Tallies(4, 300, neighbours), um.PureDP("0.7")
    best = best_winner(tallies, level, loss)
    chains = best_winner(tallies, level, loss, programs=False).certificate
    assert best.certificate.gap < 0.6 * chains.gap
    loaded = Solution.load(best.save(tmp_path / "winner.json"))
    assert loaded.verify()
    evidence = loaded.certificate.evidence
    for wrong in (
        {**evidence, "values_1": evidence["values_1"] * 2},
        {**evidence, "sides": evidence["sides"] + 1},
        {**evidence, "sides": np.array([0, 5])},
        {**evidence, "sides": np.array([1, 10**6])},
        {**evidence, "places_0": evidence["places_0"] + 10**6},
        {key: value for key, value in evidence.items() if key != "values_2"},
        {},
    ):
        assert not replace(loaded, certificate=replace(loaded.certificate, evidence=wrong)).verify()
    better = replace(loaded.certificate, bound=loaded.certificate.bound * (1 + 1e-6))
    assert not replace(loaded, certificate=better).verify()
    with pytest.raises(InvalidInput, match="no such triangles"):
        triple_gain(Tallies(4, 5, neighbours), level, loss, evidence)


def test_the_runner_up_is_behind_by_what_enumeration_says():
    for rows, cells, b, reach in ((9, 3, 0.5, 1), (7, 4, 0.9, 2), (12, 2, 0.2, 3)):
        total = 0.0
        for tally in listed(cells, rows):
            first, second = in_order(tally)[:2]
            lead = tally[first] - tally[second] + (first < second)
            total += (tally[first] - tally[second]) * b ** (-(-lead // reach)) / (1 + b)
        expected = total / math.comb(rows + cells, cells)
        assert runner_up_shortfall(Tallies(cells, rows, "replace"), b, reach) == pytest.approx(expected, rel=1e-12)


@pytest.mark.long
def test_ten_candidates_at_a_tenth_are_within_one_percent():
    """Where chains alone leave most: 20,000 rows that are replaced, at epsilon 0.1."""
    best = best_winner(Tallies(10, 20_000, "replace"), um.PureDP("0.1"))
    assert best.certificate.gap <= 0.006 * best.value
    assert "three are close" in best.certificate.reason
    assert best.verify()


@pytest.mark.long
@pytest.mark.parametrize("loss", ["zero-one", "shortfall"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_every_plan_of_twenty_thousand_rows_is_within_one_percent(neighbours, loss):
    for cells in range(2, 11):
        for epsilon in ("0.1", "0.15", "0.2", "0.3", "0.5", "0.7", "1", "1.5", "2", "3"):
            best = best_winner(Tallies(cells, 20_000, neighbours), um.PureDP(epsilon), loss)
            error = choice_facts(best).expected[loss].error
            print(
                loss,
                neighbours,
                cells,
                epsilon,
                f"{best.certificate.gap / best.value:.4%}",
                f"{error / best.value:.4%}",
            )
            assert best.certificate.gap <= 0.01 * best.value, (cells, epsilon)
