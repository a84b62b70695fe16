"""Conversations of one's own: against brute force over rationals, the published examples, and raw linear programs."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import utmost as um
from utmost.errors import InvalidInput, TooLarge
from utmost.mechanism.extreme_columns import extreme_columns
from utmost.theory.multiparty.design import talk as talk_module
from utmost.theory.multiparty.design import worst
from utmost.theory.multiparty.design.talk import automorphisms

RNG = np.random.default_rng(27)
ONE, TWO = um.path(2), um.hamming(2, (0, 1))


def xor_or_and(x, y):
    return y[0] & y[1] if x else y[0] ^ y[1]


def distance(x, y):
    return abs(x[0] - y[0]) + abs(x[1] - y[1])


def near(truth, answer):
    return 2 - abs(truth - answer)


def some_message(space, epsilon):
    """The best mechanism for a random prior: private, and different each time."""
    prior = RNG.dirichlet(np.ones(len(space.points)))
    return um.finite.optimal(space, epsilon, prior=prior, method="linear-program").certified


def by_brute_force(talk, turns, spaces, function, answers, gain):
    """Average accuracy from the definition: all inputs, all transcripts, rationals of the certified integers."""
    total = Fraction(0)
    inputs = list(itertools.product(*(range(len(space.points)) for space in spaces)))
    for place in range(len(talk.transcripts)):
        likely = {}
        for x in inputs:
            share = Fraction(1)
            for party, i in enumerate(x):
                share *= Fraction(int(talk.factors[party][i, place]), 2 ** int(talk.bits[place, party]))
            likely[x] = share
        points = {x: tuple(space.points[i] for space, i in zip(spaces, x, strict=True)) for x in inputs}
        total += max(sum(likely[x] * gain(function(*points[x]), y) for x in inputs) for y in answers)
    return total / len(inputs)


def test_values_are_those_of_brute_force_over_rationals():
    """20 random conversations: parties of one bit, two bits or three letters, replies that depend on what was heard."""
    kinds = [ONE, TWO, um.complete(3)]
    for _ in range(20):
        spaces = [kinds[i] for i in RNG.integers(0, 3, 2)]
        epsilon = round(float(RNG.uniform(0.5, 3)), 2)
        table = {x: int(RNG.integers(0, 3)) for x in itertools.product(spaces[0].points, spaces[1].points)}
        function = lambda x, y, table=table: table[x, y]  # noqa: E731
        first = some_message(spaces[0], epsilon)
        replies = {m: some_message(spaces[1], epsilon) for m in first.outputs}
        turns = [(0, first), (1, lambda heard, replies=replies: replies[heard[0]])]
        talk = um.multiparty.converse(spaces, [epsilon] * 2, function, turns)
        answers = sorted(set(table.values()))
        exact = by_brute_force(talk, turns, spaces, function, answers, lambda f, y: int(f == y))
        assert talk.value() == pytest.approx(float(exact), abs=1e-12)
        assert talk.verify().private
        assert talk.epsilon(0) <= epsilon + 1e-9
        assert talk.value("worst") <= talk.value() + 1e-9


def test_the_published_examples_are_instances():
    """LIM 4.6: both, with what a linear program adds to them."""
    for epsilon, value in ((1.0, 0.660306), (2.0, 0.825593), (4.0, 0.971216)):
        best = um.multiparty.best_talk([ONE, TWO], [epsilon] * 2, xor_or_and)
        assert best.value() == pytest.approx(value, abs=1e-6)
        assert best.verify().private
    for epsilon, value in ((2.0, 1.640918), (4.0, 1.938484)):
        best = um.multiparty.best_talk([TWO, TWO], [epsilon] * 2, distance, near)
        assert best.value() == pytest.approx(value, abs=1e-6)
        assert best.value() == pytest.approx(um.multiparty.hamming_distance(epsilon, "best").value(), abs=1e-9)


def test_one_bit_each_is_randomised_response_whoever_speaks_first():
    """LIM Theorem 4.4.1: no conversation of pure levels beats it; nor do both speaking at once."""
    for _ in range(20):
        levels = [round(float(e), 2) for e in RNG.uniform(0.2, 3, 2)]
        table = RNG.integers(0, 2, (2, 2))
        function = lambda x, y, table=table: int(table[x, y])  # noqa: E731
        if len(set(table.ravel().tolist())) == 1:
            continue
        apart = um.multiparty.optimal(lambda bits, f=function: f(*bits), levels).value()
        for rounds in (1, 2):
            found = um.multiparty.best_talk([ONE, ONE], levels, function, rounds=rounds)
            assert found.value() == pytest.approx(apart, abs=1e-9)


def test_letters_reply_as_the_pattern_program_says():
    """A party of three letters against one that knows nothing: the extreme columns are LIM's staircase patterns."""
    columns = extreme_columns(um.complete(3), 1.0)
    patterns = um.local.staircase_patterns(3, 1.0)[:, 1:-1].T / np.e
    assert sorted(map(tuple, columns.round(12).tolist())) == sorted(map(tuple, patterns.round(12).tolist()))
    best = um.multiparty.best_talk([um.complete(3), um.path(1)], [1.0, 1.0], lambda letter, nothing: letter)
    assert best.value() == pytest.approx(np.e / (np.e + 2), abs=1e-9)


def test_sizes_that_are_promised_are_reached():
    """Twelve bits are 2^12 joint inputs: of twelve parties, and of two with six bits each."""
    coin = um.local.randomized_response(2, 1.0)
    bits = um.multiparty.converse([ONE] * 12, [1.0] * 12, lambda *b: sum(b) > 6, [(i, coin) for i in range(12)])
    assert len(bits.gains) == 2**12
    assert bits.value() == pytest.approx(um.multiparty.optimal("majority", [1.0] * 12).value(), abs=1e-12)
    assert bits.verify().private
    six = um.hamming(6, (0, 1))
    sums = um.FiniteMechanism([um.finite.geometric(7, 1.0).matrix[sum(x)] for x in six.points], six.points, range(7))
    wide = um.multiparty.converse([six, six], [1.0, 1.0], lambda x, y: sum(x) > sum(y), [(0, sums), (1, sums)])
    assert len(wide.gains) == 2**12
    assert wide.verify().private
    assert 0.5 < wide.value() < 1
    with pytest.raises(TooLarge):
        um.multiparty.converse([six, um.hamming(7, 2)], [1.0, 1.0], lambda x, y: 0, [])


def test_privacy_is_of_the_whole_transcript():
    """A party that answers twice at its level breaks it; with halves it keeps it. Deltas are tried against all."""
    coin, half = um.local.randomized_response(2, 1.0), um.local.randomized_response(2, 0.5)
    twice = um.multiparty.converse([ONE, ONE], [1.0, 1.0], max, [(0, coin), (0, coin)])
    assert not twice.verify()
    assert twice.epsilon(0) == pytest.approx(2)
    assert um.multiparty.converse([ONE, ONE], [1.0, 1.0], max, [(0, half, 0.5), (0, half, 0.5)]).verify()
    level = um.ApproxDP(1, "0.1")
    loose = um.local.quaternary(level)
    talk = um.multiparty.converse([ONE, ONE], [level, level], max, [(0, loose), (1, loose)])
    assert talk.verify()
    assert not um.multiparty.converse([ONE, ONE], [level, level], max, [(0, loose), (0, loose)]).verify()
    assert talk.value() == pytest.approx(um.multiparty.optimal("or", [level, level]).value(), abs=1e-9)


def test_decisions_follow_the_posterior():
    coin = um.local.randomized_response(2, 1.0)
    talk = um.multiparty.converse([ONE, ONE], [1.0, 1.0], lambda x, y: x & y, [(0, coin), (1, coin)])
    truth = np.exp(1) / (1 + np.exp(1))
    assert talk.decide((1, 1)).posterior[1] == pytest.approx(truth**2)
    with pytest.raises(InvalidInput):
        talk.decide((1, 2))


def test_symmetries_keep_neighbours():
    for space, count in ((um.hamming(3, 2), 48), (um.cycle(5), 10), (um.complete(3), 6)):
        turned = automorphisms(space)
        assert len(turned) == count
        edges = {frozenset(edge) for edge in space.edge_indices.tolist()}
        assert all({frozenset((int(t[a]), int(t[b]))) for a, b in edges} == edges for t in turned)


@pytest.mark.parametrize("turns", [[(5, None)], [(0,)], [(0, "coin")], [(0, um.local.randomized_response(2, 3.0))]])
def test_what_is_no_turn_is_refused(turns):
    with pytest.raises(InvalidInput):
        um.multiparty.converse([ONE, ONE], [1.0, 1.0], max, turns)


def test_worst_cases_by_columns_are_those_of_the_whole_program(monkeypatch):
    """20 random functions of four bits: the same value, with columns forced; then both bound each other."""
    for _ in range(20):
        levels = [round(float(e), 2) for e in RNG.uniform(0.3, 2, 4)]
        table = RNG.integers(0, 2, 16).tolist()
        whole = um.multiparty.optimal(table, levels, criterion="worst").value()
        with monkeypatch.context() as patched:
            patched.setattr(worst, "MOST_ENTRIES", 0)
            assert um.multiparty.optimal(table, levels, criterion="worst").value() == pytest.approx(whole, abs=2e-7)


@pytest.mark.long
def test_worst_cases_of_ten_different_parties():
    protocol = um.multiparty.optimal("majority", [round(0.5 + 0.1 * i, 2) for i in range(10)], criterion="worst")
    assert protocol.verify()
    assert protocol.value() == pytest.approx(0.5521228655, abs=1e-8)


def best_without_hearing(table, epsilon):
    """One bit and two bits: every message of one bit is made of randomised response, and then one raw program is left.

    The second message names an answer for each response of the first.
    """
    coin = um.local.randomized_response(2, epsilon).matrix
    outputs, inputs = list(itertools.product((0, 1), repeat=2)), list(TWO.points)
    gains = np.array(
        [
            [sum(coin[a, m] * (table[a, b] == o[m]) for a in (0, 1) for m in (0, 1)) / 8 for o in outputs]
            for b in range(len(inputs))
        ]
    )
    rows = []
    for a, b in itertools.permutations(range(4), 2):
        if sum(x != y for x, y in zip(inputs[a], inputs[b], strict=True)) == 1:
            for o in range(4):
                row = np.zeros((4, 4))
                row[a, o], row[b, o] = 1, -np.exp(epsilon)
                rows.append(row.ravel())
    sums = np.kron(np.eye(4), np.ones(4))
    return -linprog(-gains.ravel(), np.array(rows), np.zeros(len(rows)), sums, np.ones(4)).fun


def test_without_hearing_each_other_the_best_of_all_corners_is_found():
    """20 random functions against a raw program; the bound is the value, and replies gain, or nothing does."""
    for _ in range(20):
        epsilon, table = round(float(RNG.uniform(0.2, 3)), 2), RNG.integers(0, 2, (2, 4))
        if len(set(table.ravel().tolist())) == 1:
            continue
        function = lambda x, y, table=table: int(table[x, TWO.index(y)])  # noqa: E731
        apart, talking = (um.multiparty.best_talk([ONE, TWO], [epsilon] * 2, function, rounds=r) for r in (1, 2))
        assert apart.value() == pytest.approx(best_without_hearing(table, epsilon), abs=1e-8)
        for talk in (apart, talking):
            assert talk.verify().private
            assert talk.value() - 1e-12 <= talk.bound == pytest.approx(talk.value(), abs=1e-8)
        assert apart.value() <= talking.value() + 1e-9


def test_a_local_optimum_says_what_it_may_lack(monkeypatch):
    """Where corners are not tried, the bound is that of conversations with a reply, whoever speaks first."""
    asked = [TWO, um.complete(3)], [1.0, 1.5], lambda x, y: (sum(x) + y) % 3
    best = um.multiparty.best_talk(*asked, rounds=1)
    back = um.multiparty.best_talk(asked[0][::-1], asked[1][::-1], lambda y, x: asked[2](x, y))
    with monkeypatch.context() as patched:
        patched.setattr(talk_module, "MOST_CORNERS", 0)
        local = um.multiparty.best_talk(*asked, rounds=1)
    assert local.value() <= best.value() + 1e-9 <= local.bound + 2e-9
    assert local.bound == pytest.approx(min(um.multiparty.best_talk(*asked).bound, back.bound), abs=1e-9)
    assert "of at most" in repr(local)
