"""Choices by powers of a rational number: laws against exact sums, privacy on every edge, draws that tell no time."""

import math
import sys
import time
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import utmost as um
from utmost.design.rainbow import best_winner, choice_facts
from utmost.mechanism.exact_law import law_from_json, law_to_json
from utmost.mechanism.sampling import insecure_source_for_tests_only
from utmost.privacy.level import decay_above
from utmost.space.integers import Tallies
from utmost.theory.selection import choices
from utmost.theory.selection.choice_tables import LeadLines, TallyTable
from utmost.theory.selection.choices import Exponential, NearestChoice, NoisyMax, PermuteAndFlip, ThreeRanks
from utmost.theory.selection.problem import Ranks, Votes

THIRD = um.PureDP.from_ratio(3)
SMALL = [(2, 6, 1), (3, 5, 1), (4, 3, 1), (10, 1, 1), (3, 4, 2), (3, 4, 3)]

LARGER = [(2, 40, 1), (3, 14, 1), (4, 8, 1), (5, 5, 1), (6, 3, 1), (7, 3, 1), (8, 2, 1), (9, 2, 1), (10, 2, 1)]


def subsets(items):
    return (chosen for k in range(len(items) + 1) for chosen in combinations(items, k))


def noisy_max_exactly(x, reach, b):
    """Every probability as a fraction: the sum over the noise of the winner, multiplied out."""
    found = []
    for j, mine in enumerate(x):
        ahead = [(mine - other - (i < j)) // reach for i, other in enumerate(x) if i != j]
        least = max(0, *(-a for a in ahead))
        powers = [least + a + 1 for a in ahead]
        parts = ((-1) ** len(s) * b ** sum(s) * (1 - b) / (1 - b ** (len(s) + 1)) for s in subsets(powers))
        found.append(b**least * sum(parts))
    return found


def permute_and_flip_exactly(gaps, b):
    """The probability of each to come first of all that are accepted, in a uniform order."""
    return [
        b**gap * sum((-1) ** len(s) * b ** sum(s) * Fraction(1, len(s) + 1) for s in subsets(gaps[:j] + gaps[j + 1 :]))
        for j, gap in enumerate(gaps)
    ]


def exactly(law, tally):
    """The law at a tally in fractions, from the definitions."""
    contest, b = law.contest, law.decay
    row = np.array([tally])
    scores = contest.scores(row)[0].tolist()
    gaps = [max(scores) - s for s in scores]
    if isinstance(law, NoisyMax):
        x = scores if isinstance(contest, Ranks) else list(tally)
        return noisy_max_exactly(x, law.reach, b)
    if isinstance(law, PermuteAndFlip):
        return permute_and_flip_exactly(gaps, b)
    if isinstance(law, Exponential):
        return [b**g / sum(b**h for h in gaps) for g in gaps]
    steps, winner = contest.steps(row)[0].tolist(), int(contest.winners(row)[0])
    if isinstance(law, ThreeRanks):
        return three_ranks_exactly(contest, tally, b)
    losers = [0 if j == winner else b ** steps[j] / (1 + b) for j in range(len(tally))]
    losers[winner] = 1 - sum(losers)
    return losers


def three_ranks_exactly(contest, tally, b):
    """The formula for each place of the quantile by itself, from counts of rows."""
    q, n, reach = contest.share, sum(tally), contest.lead_reach
    first, second = (
        math.ceil(Fraction(q.numerator * n - q.denominator * sum(tally[: t + 1]), reach)) for t in range(2)
    )
    share = 1 / ((1 + b) * (1 + b ** (first - second + 1)))
    if first <= 0:
        wrong = [b ** (1 - first) / (1 + b), b ** (1 - second) * share]
        return [1 - sum(wrong), *wrong]
    if second >= 1:
        wrong = [b**first * share, b**second / (1 + b)]
        return [*wrong, 1 - sum(wrong)]
    low, high = b**first * share, b ** (1 - second) * share
    return [low, 1 - low - high, high]


def laws_on(tallies, level=THIRD):
    votes = Votes(tallies)
    found = []
    for contest in (votes, Ranks(tallies, Fraction(1, 3), tuple(range(tallies.cells)))):
        one, fine = decay_above(level), decay_above(level, contest.score_reach)
        found += [NoisyMax(contest, level, one), PermuteAndFlip(contest, level, fine)]
        found += [Exponential(contest, level, fine), NearestChoice(contest, level, one)]
        found += [ThreeRanks(contest, level, one)] if contest.size == 3 and contest != votes else []
    return found


@pytest.mark.parametrize(("reach", "tally", "expected"), [
    (1, (5, 4, 4), (0.8143082735, 0.0956611533, 0.0900305732)),
    (1, (4, 4, 4), (0.5521477304, 0.2447284711, 0.2031237985)),
    (2, (0, 0, 7), (0.0133297870, 0.0132266594, 0.9734435536)),
])  # fmt: skip
def test_noisy_max_at_known_tallies(reach, tally, expected):
    law = NoisyMax(
        Votes(Tallies(3, 20, "replace" if reach == 2 else "add-remove")), um.PureDP(1), decay_above(um.PureDP(1))
    )
    assert law.probabilities(np.array([tally]))[0] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("size", [*SMALL, *(pytest.param(size, marks=pytest.mark.long) for size in LARGER)], ids=str)
def test_every_edge_keeps_the_level_in_fractions(neighbours, size):
    """All tallies, all edges, both ways, exactly; and the floating-point law is the exact one."""
    cells, rows, each = size
    tallies = Tallies(cells, rows, neighbours, each)
    space = tallies.space()
    for law in laws_on(tallies):
        if cells >= 8 and isinstance(law, PermuteAndFlip):
            continue  # its fractions have thousands of digits
        table = [exactly(law, tally) for tally in space.points]
        assert all(sum(row) == 1 for row in table) or isinstance(law, PermuteAndFlip | NoisyMax)
        assert all(abs(sum(row) - 1) < Fraction(1, 10**30) for row in table)
        assert law.probabilities(tallies.vectors()) == pytest.approx(np.array(table, dtype=float), rel=1e-11)
        private = all(
            a <= 3 * b and b <= 3 * a for i, h in space.edge_indices for a, b in zip(table[i], table[h], strict=True)
        )
        assert private or isinstance(law, NearestChoice)
        if law.prove(tallies, THIRD).passed:  # proved for every number of rows, so on this one too
            assert private
        assert law.prove(tallies, THIRD).passed or isinstance(law, NearestChoice)


def test_nearest_is_proved_where_its_condition_holds_and_nowhere_else():
    """Three others at e^epsilon = 3 just fit; four do not, and a tally breaks the level."""
    for cells, fits in ((4, True), (5, False)):
        tallies = Tallies(cells, 3, "add-remove")
        law = NearestChoice(Ranks(tallies, Fraction(1, 2), tuple(range(cells))), THIRD, Fraction(1, 3))
        assert law.prove(tallies, THIRD).passed is fits
        space = tallies.space()
        table = [exactly(law, tally) for tally in space.points]
        arcs = [arc for i, h in space.edge_indices for arc in ((i, h), (h, i))]
        kept = all(a <= 3 * b for x, y in arcs for a, b in zip(table[x], table[y], strict=True))
        assert kept is fits


@pytest.mark.parametrize("ratio", ["13/8", "21/13", "8/5", "34/21", 5])
def test_three_ranks_are_proved_from_the_golden_ratio_on_and_nowhere_else(ratio):
    """b + b^2 <= 1 decides: just beyond it a tally breaks the level."""
    level = um.PureDP.from_ratio(ratio)
    tallies, b, growth = Tallies(3, 6, "replace"), 1 / Fraction(ratio), Fraction(ratio)
    for q in (Fraction(1, 2), Fraction(1, 3)):
        law = ThreeRanks(Ranks(tallies, q, (0.0, 1.0, 2.0)), level, b)
        space = tallies.space()
        table = [exactly(law, tally) for tally in space.points]
        arcs = [arc for i, h in space.edge_indices for arc in ((i, h), (h, i))]
        kept = all(a <= growth * c for x, y in arcs for a, c in zip(table[x], table[y], strict=True))
        assert kept is law.prove(tallies, level).passed is (growth**2 >= growth + 1)
    nearest = NearestChoice(law.contest, level, b)
    wrong = law.contest.steps(tallies.vectors()) > 0
    assert (law.probabilities(tallies.vectors()) <= nearest.probabilities(tallies.vectors()) + 1e-15)[wrong].all()
    four = Ranks(Tallies(4, 6, "replace"), q, tuple(range(4)))
    assert not ThreeRanks(four, level, b).prove(four.tallies, level).passed


@pytest.mark.parametrize("law", laws_on(Tallies(3, 9, "replace")), ids=lambda law: f"{law.name}, {law.contest.kind}")
def test_draws_follow_the_law(law):
    rng = np.random.default_rng(5)
    tally, size = (3, 2, 3), 6000
    with insecure_source_for_tests_only(rng.bytes):
        seen = Counter(law.sample(tally) for _ in range(size))
    expected = law.probabilities(np.array([tally]))[0]
    off = [(seen[j] - size * p) / np.sqrt(size * p * (1 - p)) for j, p in enumerate(expected)]
    assert max(map(abs, off)) < 4.5


@pytest.mark.parametrize(
    "law", laws_on(Tallies(4, 50, "add-remove")), ids=lambda law: f"{law.name}, {law.contest.kind}"
)
def test_whoever_wins_as_many_random_bytes_are_drawn(law):
    """The same random bytes are taken in the same portions at every tally; order of candidates apart."""
    rng = np.random.default_rng(7)
    taken = {}
    for tally in ((40, 0, 0, 0), (0, 0, 0, 40), (10, 10, 10, 10), (0, 0, 0, 0)):
        portions = []

        def source(size, portions=portions):
            portions.append(size)
            return rng.bytes(size)

        with insecure_source_for_tests_only(source):
            for _ in range(40):
                law.sample(tally)
        taken[tally] = sum(portions) / 40
    spread = max(taken.values()) / min(taken.values())
    assert spread == 1 or (isinstance(law, PermuteAndFlip) and spread < 1.3)  # a uniform order is drawn by rejection


def steps_of_draws(law, tallies):
    """The lines of ours that a draw runs, in order: for several draws at each tally, as a set."""
    seen, rng = set(), np.random.default_rng(3)
    law.sample((1, 1, 1))  # logarithms and tables are kept from the first draw on
    for tally in tallies:
        for _ in range(4):
            steps = []

            def trace(frame, event, argument, steps=steps):
                if event == "line" and "utmost" in frame.f_code.co_filename:
                    steps.append((frame.f_code.co_name, frame.f_lineno))
                return trace

            with insecure_source_for_tests_only(rng.bytes):
                sys.settrace(trace)
                try:
                    law.sample(tally)
                finally:
                    sys.settrace(None)
            seen.add(tuple(steps))
    return seen


@pytest.mark.parametrize(
    "law", laws_on(Tallies(3, 50, "add-remove")), ids=lambda law: f"{law.name}, {law.contest.kind}"
)
def test_whoever_wins_the_same_steps_are_made(monkeypatch, law):
    """The same at every tally, whoever wins or is named, and by how much."""
    if isinstance(law, PermuteAndFlip):  # a uniform order is drawn by rejection
        monkeypatch.setattr(choices, "below", lambda n: n - 1)
    tallies = ((40, 0, 0), (0, 40, 0), (0, 0, 40), (9, 9, 9), (0, 0, 0), (20, 19, 0), (10**6, 0, 1))
    assert len(steps_of_draws(law, tallies)) == 1


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_whoever_wins_tables_are_read_in_the_same_steps(neighbours):
    """The rainbow's lines and the linear program's table, whichever row is read."""
    tried = {law.name: law for law in choice_facts(best_winner(Tallies(3, 5, neighbours), 1.0)).laws.values()}
    for name in ("rainbow by winner", "linear program"):
        assert len(steps_of_draws(tried[name], ((5, 0, 0), (0, 5, 0), (0, 0, 5), (2, 2, 1), (0, 0, 0)))) == 1, name


@pytest.mark.long
@pytest.mark.parametrize("law", laws_on(Tallies(3, 2000, "replace")), ids=lambda law: f"{law.name}, {law.contest.kind}")
def test_whoever_wins_draws_take_the_same_time(law):
    """The 30th percentile of 2000 draws at each of four tallies, taken in turn: no two differ by a fifth."""
    tallies = ((2000, 0, 0), (0, 2000, 0), (0, 0, 2000), (700, 600, 700))
    taken = {tally: [] for tally in tallies}
    for _ in range(2000):
        for tally in tallies:
            begun = time.perf_counter_ns()
            law.sample(tally)
            taken[tally].append(time.perf_counter_ns() - begun)
    usual = [np.percentile(each, 30) for each in taken.values()]
    print(law.name, law.contest.kind, max(usual) / min(usual))
    assert max(usual) / min(usual) < 1.2


def test_a_law_that_is_not_private_is_refused():
    tallies = Tallies(3, 20, "replace")
    law = NoisyMax(Votes(tallies), THIRD, Fraction(1, 3))
    assert law.prove(tallies, THIRD).passed
    for wrong in (Fraction(1, 4), Fraction(333, 1000), Fraction(0), Fraction(1), Fraction(-1, 3), Fraction(4, 3)):
        assert not replace(law, decay=wrong).prove(tallies, THIRD).passed
    assert not law.prove(Tallies(3, 20, "replace", 2), THIRD).passed
    assert not law.prove(tallies, um.PureDP(1)).passed
    assert not law.prove(tallies, um.ApproxDP(1, "0.001")).passed
    assert law.prove(tallies, um.ApproxDP("1.0987", "0.001")).passed
    assert law.prove(tallies, um.GaussianDP(2)).passed
    assert not replace(law, pure=um.ApproxDP(2, "0.1")).prove(tallies, um.ApproxDP(2, "0.1")).passed
    weighted = PermuteAndFlip(Votes(tallies), THIRD, Fraction(1, 3))  # a step too coarse: six units make a lead of 2
    assert not weighted.prove(tallies, THIRD).passed


def test_any_whole_numbers_are_answered():
    """More rows than declared, or none: an answer, never an error."""
    for law in laws_on(Tallies(3, 10, "add-remove")):
        for tally in ((10**18, 10**18, 5), (0, 0, 0), (10, 10, 10)):
            assert law.sample(tally) in (0, 1, 2)
    third = 2**62 // 3
    table = TallyTable(Votes(Tallies(3, 2, "replace")), np.array([[2**62 - 2 * third, third, third]] * 10))
    assert table.prove(Tallies(3, 2, "replace"), um.PureDP("0.001")).passed
    assert table.sample((10**18, 4, 5)) in (0, 1, 2)


def test_laws_come_back_from_files():
    for law in laws_on(Tallies(4, 6, "replace", 2)):
        again = law_from_json(law_to_json(law))
        assert (type(again), again.contest, again.decay) == (type(law), law.contest, law.decay)
        assert again.prove(law.contest.tallies, THIRD).passed == law.prove(law.contest.tallies, THIRD).passed


def test_cutting_a_tally_keeps_replaced_rows_neighbours():
    """Tallies with more rows than declared are cut so that one replaced row stays at most one."""
    wide, narrow = Tallies(3, 6, "replace"), Tallies(3, 3, "replace")
    near = {frozenset(edge) for edge in narrow.space().edges}
    for a, b in wide.space().edges:
        cut = narrow.clamp(a), narrow.clamp(b)
        assert cut[0] == cut[1] or frozenset(cut) in near
    assert all(narrow.clamp(tally) == tally for tally in narrow.space().points)


def test_lines_with_an_uneven_start_are_refused():
    tallies = Tallies(3, 4, "add-remove")
    weights = np.array([[2**61, 2**60, 2**60], [2**61, 2**60, 2**60]])
    assert LeadLines(Votes(tallies), weights).prove(tallies, um.PureDP(1)).passed
    assert not LeadLines(Votes(tallies), weights).prove(tallies, um.PureDP("0.5")).passed
    assert (
        not LeadLines(Votes(tallies), weights + np.array([[0, 1, -1], [0, 0, 0]])).prove(tallies, um.PureDP(1)).passed
    )
    assert not LeadLines(Votes(tallies), weights + np.array([[1, 0, 0], [0, 0, 0]])).prove(tallies, um.PureDP(1)).passed
