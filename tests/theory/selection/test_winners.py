"""Winners: expected losses at known values and against linear programs, bounds by chains against enumeration."""

import hashlib
import json
import math
from itertools import combinations, pairwise, permutations, product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array, eye_array, kron

import utmost as um
from utmost.design.rainbow import best_quantile, best_winner, choice_facts
from utmost.errors import UtmostError
from utmost.exact.saved import canonical
from utmost.privacy.level import decay_above
from utmost.solution import Solution
from utmost.space.integers import Tallies
from utmost.theory.selection import tally_averages
from utmost.theory.selection.choices import NoisyMax
from utmost.theory.selection.problem import Votes
from utmost.theory.selection.runner_up import votes_behind
from utmost.theory.selection.tally_averages import expected_loss, runner_up_error, weigh_tallies
from utmost.theory.selection.verify.choices import winner_bound
from utmost.theory.selection.verify.shortfalls import shortfall_bound

KNOWN = {  # (rows, candidates, epsilon): geometric noisy max and linear program, add-remove and replace
    (20, 3, 0.5): (0.1328260278, 0.131827, 0.2454248585, 0.233217),
    (20, 3, 1.0): (0.0600401193, 0.059764, 0.1201152294, 0.115109),
    (20, 3, 2.0): (0.0195676811, 0.019489, 0.0401488888, 0.038684),
    (12, 4, 1.0): (0.1287720530, 0.125276, 0.2529766448, 0.231467),
}


def neighbours_of(tally, rows, neighbours):
    """Tallies that one row more, less or elsewhere makes of a tally."""
    for i in range(len(tally)):
        for change in (1, -1):
            moved = [*tally[:i], tally[i] + change, *tally[i + 1 :]]
            if min(moved) >= 0 and sum(moved) <= rows:
                yield tuple(moved)
    if neighbours == "replace":
        for i, j in permutations(range(len(tally)), 2):
            moved = list(tally)
            moved[i], moved[j] = moved[i] + 1, moved[j] - 1
            if moved[j] >= 0:
                yield tuple(moved)


def least_by_lp(rows, cells, epsilon, neighbours, loss="zero-one"):
    """The least expected loss of all private mechanisms, from the raw inequalities."""
    every = [t for t in product(range(rows + 1), repeat=cells) if sum(t) <= rows]
    place = {t: i for i, t in enumerate(every)}
    cost = [[float(o != t.index(max(t))) if loss == "zero-one" else max(t) - t[o] for o in range(cells)] for t in every]
    arcs = [(i, place[h]) for i, t in enumerate(every) for h in neighbours_of(t, rows, neighbours)]
    entries = [(r * cells + o, i * cells + o, v) for r, (a, b) in enumerate(arcs) for o in range(cells)
               for i, v in ((a, 1.0), (b, -math.exp(epsilon)))]  # fmt: skip
    r, c, v = zip(*entries, strict=True)
    shape = (len(arcs) * cells, len(every) * cells)
    upper = coo_array((v, (r, c)), shape=shape).tocsr()
    sums = coo_array((np.ones(shape[1]), (np.repeat(np.arange(len(every)), cells), np.arange(shape[1])))).tocsr()
    found = linprog(
        np.ravel(cost) / len(every), upper, np.zeros(shape[0]), sums, np.ones(len(every)), method="highs-ipm"
    )
    return found.fun


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("size", KNOWN, ids=str)
def test_noisy_max_loses_what_is_known(size, neighbours):
    rows, cells, epsilon = size
    level = um.PureDP(epsilon)
    contest = Votes(Tallies(cells, rows, neighbours))
    law = NoisyMax(contest, level, decay_above(level))
    expected = KNOWN[size][0 if neighbours == "add-remove" else 2]
    assert expected_loss(law, weigh_tallies(contest, level), "zero-one").value == pytest.approx(expected, abs=1e-10)


def coarser_bound(rows, cells, epsilon, neighbours):
    """A closed form that is a little weaker than the sum over all chains, and the balanced error it is taken from."""
    growth, m, r = math.exp(epsilon), cells, 1 if neighbours == "add-remove" else 2

    def count(n):
        return math.comb(n + m, m) if n >= 0 else 0

    def g(n):
        return count(n) - count(n - 1) - count(n - 2) + count(n - 3)

    balanced = sum(
        growth ** (1 - -(-k // r)) * math.comb(rows - k + m, m - 1) / count(rows) for k in range(1, rows + 2)
    )
    saved = 0.0
    for step in range(rows // 2 + 1):
        even = growth ** (-2 * step)
        if r == 1:
            weight = 1 if step == 0 else max(even + even / growth - growth, 0)
            saved += (weight * g(rows - 2 * step) + even * (g(rows - 2 * step) - g(rows - 2 * step - 1))) / count(rows)
        else:
            saved += max(growth ** (1 - step) + growth**-step - growth, 0) * g(rows - 2 * step) / count(rows)
    return balanced / (1 + growth), (balanced - saved) / (1 + growth)


@pytest.mark.parametrize(("rows", "cells", "neighbours", "balanced", "coarse"), [
    (20, 3, "add-remove", 0.0526399734084, 0.0460625204029),
    (20_000, 10, "add-remove", 0.000212567574652, 0.00021244663418),
    (20, 3, "replace", 0.0954102879251, 0.0891840890114),
])  # fmt: skip
def test_leads_are_added_up_one_by_one_or_in_groups(monkeypatch, rows, cells, neighbours, balanced, coarse):
    monkeypatch.setattr(tally_averages, "MOST_LEADS", 0)
    b = float(decay_above(um.PureDP(1)))
    assert runner_up_error(Tallies(cells, rows, neighbours), b) == pytest.approx(balanced, rel=1e-11)


@pytest.mark.parametrize(("rows", "cells", "neighbours", "balanced", "coarse"), [
    (20, 3, "add-remove", 0.0526399734084, 0.0460625204029),
    (20_000, 10, "add-remove", 0.000212567574652, 0.00021244663418),
    (20, 3, "replace", 0.0954102879251, 0.0891840890114),
])  # fmt: skip
def test_the_bound_lies_between_known_ones(rows, cells, neighbours, balanced, coarse):
    tallies = Tallies(cells, rows, neighbours)
    assert runner_up_error(tallies, float(decay_above(um.PureDP(1)))) == pytest.approx(balanced, rel=1e-11)
    assert coarser_bound(rows, cells, 1.0, neighbours) == pytest.approx((balanced, coarse), rel=1e-11)
    assert coarse * (1 - 1e-11) <= winner_bound(tallies, um.PureDP(1)) < balanced


def chains(rows, cells, neighbours):
    """Every tally with its depth, by chain: the two leaders, the others' votes, and how many votes the two share."""
    found = {}
    for tally in product(range(rows + 1), repeat=cells):
        if sum(tally) > rows:
            continue
        first, second = sorted(range(cells), key=lambda j: (-tally[j], j))[:2]
        others = tuple(v for j, v in enumerate(tally) if j not in (first, second))
        total = sum(tally) if neighbours == "replace" else (rows - sum(tally)) // 2
        key = (frozenset((first, second)), others, total)
        lead = tally[first] - tally[second] + (first < second)
        found.setdefault(key, {}).setdefault(first, []).append(
            (-(-lead // (2 if neighbours == "replace" else 1)), tally)
        )
    return list(found.values())


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("size", [(2, 7), (3, 8), (4, 6), (5, 4), (3, 1), (4, 0)], ids=str)
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 2.5])
def test_the_bound_is_the_sum_over_all_chains(neighbours, size, epsilon):
    """Chains enumerated one by one: neighbours along each, all tallies on one, and their binary bounds add up."""
    cells, rows = size
    growth, total, seen = math.exp(epsilon), 0.0, 0
    for chain in chains(rows, cells, neighbours):
        sides = list(chain.values()) + [[]] * (2 - len(chain))
        for side in sides:
            side.sort()
            assert [depth for depth, _ in side] == list(range(1, len(side) + 1))
            assert all(b in neighbours_of(a, rows, neighbours) for (_, a), (_, b) in pairwise(side))
        if all(sides):
            assert sides[0][0][1] in neighbours_of(sides[1][0][1], rows, neighbours)
        a, b = (sum(growth ** (1 - depth) for depth, _ in side) for side in sides)
        total += min((a + b) / (1 + growth), a, b)
        seen += sum(map(len, sides))
    tallies = Tallies(cells, rows, neighbours)
    assert seen == tallies.points
    assert winner_bound(tallies, um.PureDP(epsilon)) == pytest.approx(total / seen, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(("rows", "epsilon"), [(8, 0.2), (8, 0.5), (8, 1.0), (8, 2.0), (11, 1.0)])
def test_within_five_percent_of_the_linear_program(neighbours, rows, epsilon):
    for loss in ("zero-one", "shortfall"):
        least = least_by_lp(rows, 3, epsilon, neighbours, loss)
        best = best_winner(Tallies(3, rows, neighbours), epsilon, loss)
        assert best.verify()
        assert best.certificate.bound == pytest.approx(least, rel=1e-5)
        assert least * (1 - 1e-7) <= best.value <= 1.05 * least
        if neighbours == "replace":
            assert best.value == pytest.approx(least, rel=1e-5)
        else:
            assert (
                winner_bound(Tallies(3, rows, neighbours), um.PureDP(epsilon)) <= least * (1 + 1e-7)
                or loss != "zero-one"
            )


def least_on_all_tables(rows, cells, epsilon, loss, room):
    """The least loss over tallies of at most `rows` rows of what is private in the box of up to rows + room a cell."""
    top = rows + room
    every = list(product(range(top + 1), repeat=cells))
    place = {t: i for i, t in enumerate(every)}
    whole = sum(sum(t) <= rows for t in every)
    cost = [[(o != t.index(max(t)) if loss == "zero-one" else max(t) - t[o]) / whole * (sum(t) <= rows)
             for o in range(cells)] for t in every]  # fmt: skip
    arcs = [(i, j) for i, t in enumerate(every) for h in neighbours_of(t, cells * top, "add-remove")
            if (j := place.get(h)) is not None]  # fmt: skip
    start, end = np.array(arcs).T
    identity = eye_array(cells)
    edges = np.arange(len(arcs))
    tails, heads = (coo_array((np.ones(len(arcs)), (edges, at)), shape=(len(arcs), len(every))) for at in (start, end))
    upper = kron(tails, identity) - math.exp(epsilon) * kron(heads, identity)
    sums = kron(eye_array(len(every)), np.ones((1, cells)))
    found = linprog(np.ravel(cost), upper.tocsr(), np.zeros(upper.shape[0]), sums.tocsr(), np.ones(len(every)),
                    method="highs-ipm")  # fmt: skip
    return found.fun


@pytest.mark.parametrize("loss", ["zero-one", "shortfall"])
@pytest.mark.parametrize(("rows", "cells", "epsilon", "room"), [(4, 3, 1.0, 2), (5, 3, 0.4, 1), (3, 4, 0.7, 0)])
def test_few_rows_that_come_or_go_have_the_best_choice_that_protects_every_table(loss, rows, cells, epsilon, room):
    """A box of tallies is a retract of all, by cutting every cell: the program over it is the optimum, unfolded."""
    best = best_winner(Tallies(cells, rows, "add-remove"), epsilon, loss)
    assert best.certificate.method == "linear program"
    assert best.value == pytest.approx(least_on_all_tables(rows, cells, epsilon, loss, room), rel=1e-6)
    far = np.array(list(product(range(2 * rows), repeat=cells)))
    table = best.mechanism.probabilities(far)
    for cell in range(cells):
        ratio = best.mechanism.probabilities(far + np.eye(cells, dtype=int)[cell]) / table
        assert max(ratio.max(), 1 / ratio.min()) <= math.exp(epsilon) * (1 + 1e-12)


@pytest.mark.long
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_within_five_percent_of_the_linear_program_with_twenty_rows(neighbours, epsilon):
    best = best_winner(Tallies(3, 20, neighbours), epsilon)
    assert best.certificate.bound == pytest.approx(
        KNOWN[20, 3, epsilon][1 if neighbours == "add-remove" else 3], abs=2e-6
    )
    assert best.verify()
    assert best.certificate.gap <= 0.05 * best.value


@pytest.mark.long
@pytest.mark.parametrize("rows", range(8, 21))
def test_three_candidates_are_within_five_percent_of_the_linear_program_at_every_size(rows):
    """The bound is that program's, by duality; where rows are replaced the program itself is what is used."""
    for neighbours, loss in product(("add-remove", "replace"), ("zero-one", "shortfall")):
        best = best_winner(Tallies(3, rows, neighbours), (0.3, 1.0, 2.0)[rows % 3], loss)
        print(rows, neighbours, loss, best.certificate.method, f"{best.value / best.certificate.bound - 1:.4%}")
        assert "linear programming duality" in best.certificate.reason
        assert best.verify()
        assert best.certificate.bound <= best.value <= 1.05 * best.certificate.bound
        if neighbours == "replace":
            assert best.certificate.method == "linear program"
            assert best.value == pytest.approx(best.certificate.bound, rel=1e-4)


@pytest.mark.long
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("rows", [1, 5, 20, 200, 20_000])
def test_never_worse_than_before_on_a_grid(neighbours, rows):
    """Against what was released before geometric noisy max: the best of three mechanisms."""
    for cells, epsilon, loss in product((2, 3, 5, 10), ("0.1", "0.5", "1", "2", "4"), ("zero-one", "shortfall")):
        best = best_winner(Tallies(cells, rows, neighbours), um.PureDP(epsilon), loss, programs=False)
        compared = choice_facts(best).compared
        before = min(
            compared[name][loss].value
            for name in ("permute and flip", "exponential mechanism", "rainbow by winner")
            if name in compared  # lines of leads may be too long for the rainbow
        )
        assert best.value <= before, (cells, epsilon, loss)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("loss", ["zero-one", "shortfall"])
def test_never_worse_than_what_was_released_before(neighbours, loss):
    """Permute and flip, the exponential mechanism and the rainbow are among those compared; the best is taken."""
    for cells, rows, level in product(
        (2, 3, 6), (1, 4, 9), (um.PureDP("0.1"), um.PureDP(1), um.PureDP(3), um.GaussianDP(1))
    ):
        best = best_winner(Tallies(cells, rows, neighbours), level, loss, programs=False)
        compared = choice_facts(best).compared
        assert {"permute and flip", "exponential mechanism", "rainbow by winner"} <= set(compared)
        assert best.value == min(by[loss].value for by in compared.values())
        assert best.verify()


@pytest.mark.long
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(("cells", "epsilon"), [(3, 0.1), (10, 1.0), (10, 0.2), (4, 3.0)])
def test_twenty_thousand_rows_are_within_one_percent(neighbours, cells, epsilon):
    best = best_winner(Tallies(cells, 20_000, neighbours), epsilon)
    error = choice_facts(best).expected["zero-one"].error
    assert best.certificate.claim == "bound"
    assert best.certificate.gap <= 0.01 * best.value
    assert error <= 0.002 * best.value
    assert best.certificate.bound <= best.value + 4 * error


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("loss", ["zero-one", "shortfall"])
def test_estimates_agree_with_all_tallies(monkeypatch, neighbours, loss):
    level, contest = um.PureDP("0.5"), Votes(Tallies(3, 60, neighbours))
    law = NoisyMax(contest, level, decay_above(level))
    exact = expected_loss(law, weigh_tallies(contest, level), loss)
    monkeypatch.setattr(tally_averages, "MOST_TALLIES", 0)
    drawn = expected_loss(law, tally_averages._uniform.__wrapped__(contest, level), loss)
    assert exact.error == 0 < drawn.error < 0.03 * exact.value
    assert abs(drawn.value - exact.value) < 4 * drawn.error


def test_a_listed_prior_and_other_levels():
    prior = {(3, 1, 0): 0.5, (0, 2, 3): 0.25, (1, 1, 1): 0.25}
    for level in (um.PureDP(1), um.ApproxDP(1, "0.01"), um.GaussianDP(1)):
        best = best_winner(Tallies(3, 6, "add-remove"), level, prior=prior)
        table = best.mechanism.probabilities(np.array(list(prior)))
        assert best.value == pytest.approx(
            0.5 * (1 - table[0, 0]) + 0.25 * (1 - table[1, 2]) + 0.25 * (1 - table[2, 0])
        )
        assert best.verify()
    with pytest.raises(um.errors.InvalidInput, match="at most 6"):
        best_winner(Tallies(3, 6, "add-remove"), 1.0, prior={(4, 4, 0): 1.0})
    with pytest.raises(um.errors.InvalidInput, match="'zero-one' or 'shortfall'"):
        best_winner(Tallies(3, 6, "add-remove"), 1.0, "absolute")


def test_two_candidates_are_the_balanced_mechanism():
    """Of two, noisy max is the balanced majority: Pr[wrong] = b^steps / (1 + b)."""
    best = best_winner(Tallies(2, 30, "add-remove"), 1.0)
    b = math.exp(-1)
    for tally, steps in (((5, 5), 1), ((5, 4), 2), ((4, 5), 1), ((0, 30), 30)):
        assert 1 - best.mechanism.probabilities(np.array([tally]))[0].max() == pytest.approx(b**steps / (1 + b))


# ---- forged files ----


def leaves(tree, path=()):
    """Where a file holds a number or a number as text."""
    if isinstance(tree, dict | list):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from leaves(value, (*path, key))
    elif (isinstance(tree, int | float) and not isinstance(tree, bool)) or (
        isinstance(tree, str) and tree[:1].isdigit()
    ):
        yield path


def changed(value, rng):
    factor = float(rng.choice([0.5, 0.99, 1.01, 2.0]))
    if isinstance(value, str):
        top, _, bottom = value.partition("/")
        return f"{max(int(int(top) * factor), 0) + 1}" + (f"/{bottom}" if bottom else "")
    return value + int(rng.choice([-1, 1])) if isinstance(value, int) else value * factor + float(rng.choice([0, 1e-3]))


SAVED = {
    "noisy max": lambda: best_winner(Tallies(3, 9, "add-remove", 2), 1.0),
    "table": lambda: best_winner(Tallies(3, 5, "replace"), 1.0),
    "folded table": lambda: best_winner(Tallies(3, 4, "add-remove"), 1.0),
    "chains": lambda: best_winner(Tallies(4, 3000, "replace"), 1.0),
    "lines": lambda: best_winner(Tallies(2, 9, "replace"), um.GaussianDP(1)),
    "nearest": lambda: best_quantile(Tallies(4, 9, "add-remove", 2), 0.5, range(4), 2.0),
}


@pytest.mark.parametrize("name", SAVED)
def test_forged_files_are_refused(name, tmp_path):
    """One number changed, the checksum made to fit: not read, not verified, or as true as before."""
    best = SAVED[name]()
    path = best.save(tmp_path / "winner.json")
    content = json.loads(path.read_bytes())
    content.pop("sha256")
    assert Solution.load(path).verify()
    rng = np.random.default_rng(11)
    places = list(leaves(content))
    few = [p for p in places if "evidence" not in p and "weights" not in p]
    refused = 0
    for i in range(50):
        place = few[i % len(few)] if i < 30 else places[int(rng.integers(len(places)))]
        forged = json.loads(json.dumps(content))
        at = forged
        for key in place[:-1]:
            at = at[key]
        at[place[-1]] = changed(at[place[-1]], rng)
        forged["sha256"] = hashlib.sha256(canonical(forged)).hexdigest()
        path.write_bytes(canonical(forged))
        try:
            loaded = Solution.load(path)
        except UtmostError:
            refused += 1
            continue
        if not loaded.verify():
            refused += 1
        else:
            assert harmless(best, loaded, place), place
    assert refused >= 25


@pytest.mark.parametrize("name", ["noisy max", "table"])
def test_a_verification_states_the_gap_it_found(name):
    """How far the value is from what no private choice goes below."""
    best = SAVED[name]()
    assert best.certificate.bound < best.value
    assert best.verify().gap == pytest.approx(best.value - best.certificate.bound, abs=1e-9)


def harmless(best, loaded, place):
    """Still private for what was asked, and no bound above the true one: decided without the file."""
    private = loaded.mechanism.prove(loaded.problem.space, loaded.problem.privacy).passed
    same = loaded.problem.space == best.problem.space and loaded.problem.privacy == best.problem.privacy
    lower = (
        best.certificate.bound is None or not same or loaded.certificate.bound <= best.certificate.bound * (1 + 1e-9)
    )
    return private and lower and ("evidence" in place or place[0] != "value" or abs(loaded.value - best.value) < 1e-9)


def test_combinations_of_leaders_are_counted_once():
    """Tallies of two leaders: each pair of candidates leads in as many chains as any other, by symmetry of counts."""
    counts = {}
    for chain in chains(5, 4, "replace"):
        counts[frozenset(chain)] = counts.get(frozenset(chain), 0) + 1
    assert {pair for pair in counts if len(pair) == 2} == {frozenset(pair) for pair in combinations(range(4), 2)}


# ---- shortfall ----


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("size", [(2, 7), (3, 8), (4, 6), (5, 4), (3, 1), (4, 0)], ids=str)
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 2.5])
def test_the_bound_of_shortfall_is_below_the_sum_over_all_chains(neighbours, size, epsilon):
    """Chains enumerated one by one; what the two differ by is what uneven chains may lose, counted for all of them."""
    cells, rows = size
    growth, least, most, seen = math.exp(epsilon), 0.0, 0.0, 0
    for chain in chains(rows, cells, neighbours):
        sides = list(chain.values()) + [[]] * (2 - len(chain))
        a, b = (sum(growth ** (1 - d) * (sorted(t)[-1] - sorted(t)[-2]) for d, t in side) for side in sides)
        least, most = least + min((a + b) / (1 + growth), a, b), most + (a + b) / (1 + growth)
        seen += sum(map(len, sides))
    tallies = Tallies(cells, rows, neighbours)
    behind = sum(
        votes * growth ** (1 - -(-k // (1 if neighbours == "add-remove" else 2)))
        for k, votes in enumerate(votes_behind(tallies, rows + 1), 1)
    )
    assert behind / (1 + growth) == pytest.approx(most, abs=1e-12)
    assert shortfall_bound(tallies, um.PureDP(str(epsilon))) <= least / seen + 1e-12


@pytest.mark.long
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(("cells", "epsilon"), [(3, "0.1"), (10, "1")])
def test_shortfall_of_twenty_thousand_rows_is_within_one_percent(neighbours, cells, epsilon):
    best = best_winner(Tallies(cells, 20_000, neighbours), um.PureDP(epsilon), "shortfall")
    assert best.certificate.claim == "bound"
    assert best.certificate.gap <= 0.01 * best.value
    assert best.verify()
