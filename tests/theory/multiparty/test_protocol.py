"""The optimal protocol against linear programs over all decision rules, random protocols, and closed forms."""

import hashlib
import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.command import utmost
from oracles.privacy import is_private
from scipy.optimize import linprog

import utmost as um
from utmost.errors import BadFile, CannotCertify, InvalidInput, TooLarge, UnsupportedLevel, WeakPromise
from utmost.exact.saved import canonical
from utmost.mechanism.sampling import insecure_source_for_tests_only
from utmost.privacy import ApproxDP
from utmost.theory.multiparty.design.protocol import ANY_PROTOCOL, NO_INTERACTION
from utmost.theory.multiparty.design.response import chances, response
from utmost.theory.multiparty.design.symmetric_parties import kernel

approx = pytest.approx

# ---- by another road ----


def message_table(epsilon, delta):
    """LIM (4.8), written out."""
    kept, flipped = (1 - delta) / (1 + math.exp(-epsilon)), (1 - delta) / (1 + math.exp(epsilon))
    return np.array([[delta, kept, flipped, 0], [0, flipped, kept, delta]])


def all_transcripts(parameters):
    """Pr[transcript | x], a row per x (party 0 most significant), a column per transcript."""
    return reduce(np.kron, [message_table(*pair) for pair in parameters], np.ones((1, 1)))


def best_rule_lp(likely, gains, worst):
    """The best accuracy of any (randomised) decision rule: one dense LP. gains[x, y] is the accuracy of y at x."""
    n, t = likely.shape
    answers = gains.shape[1]
    reached = (likely[:, :, None] * gains[:, None, :]).reshape(n, t * answers)
    sums = np.kron(np.eye(t), np.ones(answers))
    if not worst:
        # no constraint joins two transcripts, so rare ones may be scaled up, or the solver would take them for nothing
        often = np.repeat(np.where(likely.any(axis=0), likely.mean(axis=0), 1.0), answers)
        found = linprog(-reached.mean(axis=0) / often, A_eq=sums, b_eq=np.ones(t))
        return reached.mean(axis=0) @ found.x
    upper = np.column_stack([-reached, np.ones(n)])
    cost = np.append(np.zeros(t * answers), -1)
    bounds = [(0, None)] * (t * answers) + [(None, None)]
    found = linprog(cost, upper, np.zeros(n), np.column_stack([sums, np.zeros(t)]), np.ones(t), bounds=bounds)
    assert found.status == 0
    return -found.fun


def value_by_lp(parameters, gains, worst, party=None):
    k = len(parameters)
    if party is None:
        return best_rule_lp(all_transcripts(parameters), gains, worst)
    others = all_transcripts([pair for i, pair in enumerate(parameters) if i != party])
    bits = (np.arange(2**k) >> (k - 1 - party)) & 1
    each = [best_rule_lp(others, gains[bits == bit], worst) for bit in (0, 1)]
    return min(each) if worst else sum(each) / 2


@st.composite
def problems(draw, most=4):
    k = draw(st.integers(1, most))
    epsilon = st.sampled_from([0, 0.3, 1, 1, 2.5, 8])
    delta = st.sampled_from([0, 0, 0.05, 0.3])
    parameters = [(draw(epsilon), draw(delta)) for _ in range(k)]
    if draw(st.booleans()):
        parameters = [parameters[0]] * k
    values = draw(st.integers(1, 3))
    table = draw(st.lists(st.integers(0, values - 1), min_size=2**k, max_size=2**k))
    if draw(st.booleans()):
        table = [min(bin(x).count("1"), values - 1) for x in range(2**k)]
    answers = draw(st.integers(1, 3))
    numbers = st.floats(-2, 2).map(lambda x: round(x, 3))
    width = len(set(table))
    accuracy = draw(st.lists(st.lists(numbers, min_size=answers, max_size=answers), min_size=width, max_size=width))
    return parameters, table, np.array(accuracy)


def as_levels(parameters):
    return [ApproxDP(epsilon, delta) for epsilon, delta in parameters]


# ---- the values ----


@pytest.mark.parametrize("criterion", ["average", "worst"])
@settings(max_examples=60)
@given(problems(), st.data())
def test_values_are_those_of_the_linear_program(criterion, problem, data):
    """Random functions, accuracy tables and levels with delta > 0: the observer and a party, against all rules."""
    parameters, table, accuracy = problem
    protocol = um.multiparty.optimal(
        table, as_levels(parameters), accuracy, criterion, answers=[f"answer {y}" for y in range(accuracy.shape[1])]
    )
    gains = accuracy[np.searchsorted(np.unique(table), table)]
    party = data.draw(st.sampled_from([None, *range(len(parameters))]))
    assert protocol.value(party) == approx(value_by_lp(parameters, gains, criterion == "worst", party), abs=1e-7)
    assert protocol.verify(party), protocol.verify(party)


@pytest.mark.long
@pytest.mark.parametrize("criterion", ["average", "worst"])
@settings(max_examples=600)
@given(problems(most=5), st.data())
def test_values_of_five_parties(criterion, problem, data):
    """As above with up to 4^5 transcripts."""
    test_values_are_those_of_the_linear_program.hypothesis.inner_test(criterion, problem, data)


@settings(max_examples=40)
@given(st.lists(st.sampled_from([0, 0.1, 0.7, 2]), min_size=1, max_size=9), st.integers(0, 2**32))
def test_average_values_of_more_parties_against_literal_sums(epsilons, seed):
    """The Kronecker transform against the literal 2^(2k) sums of LIM (4.5), random functions and measures."""
    rng = np.random.default_rng(seed)
    table, accuracy = rng.integers(0, 3, 2 ** len(epsilons)), rng.normal(size=(3, 4))
    table[:3] = [0, 1, 2][: len(table)]
    protocol = um.multiparty.optimal(table, epsilons, accuracy[: table.max() + 1], answers="abcd")
    likely = reduce(np.kron, [message_table(e, 0)[:, 1:3] for e in epsilons])
    literal = (likely.T @ accuracy[table]).max(axis=1).sum() / len(table)
    assert protocol.value() == approx(literal, abs=1e-12)


@settings(max_examples=30)
@given(st.integers(1, 5), st.sampled_from([0.4, 1.5]), st.sampled_from([0, 0.2]), st.integers(0, 2**32))
def test_counting_changes_nothing(k, epsilon, delta, seed):
    """A function of the count: by counts, as a table, and with one level a hair off so that no group forms."""
    rng = np.random.default_rng(seed)
    by_ones = rng.integers(0, 3, k + 1).tolist()
    table = [by_ones[bin(x).count("1")] for x in range(2**k)]
    for criterion in ("average", "worst"):
        counted = um.multiparty.optimal(
            um.multiparty.by_count(by_ones), [ApproxDP(epsilon, delta)] * k, None, criterion
        )
        tabled = um.multiparty.optimal(table, [ApproxDP(epsilon, delta)] * k, None, criterion)
        apart = [ApproxDP(Fraction(epsilon) + i * Fraction(1, 10**12), delta) for i in range(k)]
        ungrouped = um.multiparty.optimal(table, apart, None, criterion)
        assert len(ungrouped._groups.members) == k
        assert len(tabled._groups.members) == len(counted._groups.members) == 1
        assert counted.value() == approx(tabled.value(), abs=1e-9) == approx(ungrouped.value(), abs=1e-8)
        assert counted.value(k - 1) == approx(ungrouped.value(k - 1), abs=1e-8)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.7, 0), (0.7, 0.2), (0, 0.3), (math.inf, 0), (2, 1)])
def test_kernels_by_enumeration(epsilon, delta):
    """The law of a group's messages, against every setting of every message."""
    level, size = ApproxDP(epsilon, delta), 4
    table = chances(level)
    kinds = table.shape[1]
    for ones, row in enumerate(kernel(level, size)):
        found = {}
        for said in product(range(kinds), repeat=size):
            share = math.prod(table[int(i < ones), m] for i, m in enumerate(said))
            counts = tuple(said.count(m) for m in range(kinds))
            found[counts] = found.get(counts, 0) + share
        order = sorted(found, key=lambda c: c[1] if kinds == 2 else c)
        assert row.tolist() == approx([found[counts] for counts in order], abs=1e-15)


@pytest.mark.parametrize("k", range(1, 21))
def test_xor_in_closed_form(k):
    """LIM Corollary 4.5.1 in rationals, for equal levels and, by another formula, for different ones with delta."""
    ratio = Fraction(5, 2)
    exact = sum(math.comb(k, 2 * i) * ratio ** (k - 2 * i) for i in range(k // 2 + 1)) / (1 + ratio) ** k
    levels = [um.PureDP.from_ratio(ratio)] * k
    for criterion in ("average", "worst"):
        assert um.multiparty.optimal("xor", levels, criterion=criterion).value() == approx(float(exact), abs=1e-13)
    assert um.multiparty.xor_accuracy(levels).apart == approx(float(exact), abs=1e-14)


def test_xor_of_different_levels():
    """Ten pure levels and six with delta, all different, on average and in the worst case; and working together."""
    pure = [0.2 * i for i in range(1, 11)]
    mixed = [ApproxDP(0.5, 0.1 * i) for i in range(6)]
    for levels in (pure, mixed):
        closed = um.multiparty.xor_accuracy(levels)
        for criterion in ("average", "worst"):
            assert um.multiparty.optimal("xor", levels, criterion=criterion).value() == approx(closed.apart, abs=1e-12)
        assert closed.together >= closed.apart
    assert um.multiparty.xor_accuracy([1, 2, 3]).together == approx(1 / (1 + math.exp(-1)), abs=1e-15)
    solo = um.multiparty.optimal("xor", [um.ApproxDP(1, 0.1)])
    assert um.multiparty.xor_accuracy([um.ApproxDP(1, 0.1)]).together == approx(solo.value(), abs=1e-15)


def test_the_bit_order():
    """Party 0 is the most significant bit: a table that is party 0's bit needs only party 0's honesty."""
    first = um.multiparty.optimal([0, 0, 0, 0, 1, 1, 1, 1], [math.inf, 0, 0])
    last = um.multiparty.optimal([0, 1] * 4, [0, 0, math.inf])
    named = um.multiparty.optimal(lambda bits: bits[0], [um.PureDP(math.inf), 0, 0])
    assert first.value() == last.value() == named.value() == 1
    assert um.multiparty.optimal([0, 0, 0, 0, 1, 1, 1, 1], [0, math.inf, 0]).value() == approx(0.5)
    cube = np.zeros((2, 2, 2), dtype=int)
    cube[1] = 1
    assert um.multiparty.optimal(cube, [math.inf, 0, 0]).value() == 1


def test_names():
    """What the named functions mean, read off a protocol in which everybody tells the truth."""
    meanings = {
        "xor": lambda n: n % 2,
        "and": lambda n: int(n == 4),
        "or": lambda n: int(n > 0),
        "majority": lambda n: int(n > 2),
        "sum": lambda n: n,
        "threshold 2": lambda n: int(n >= 2),
    }
    for name, meaning in meanings.items():
        protocol = um.multiparty.optimal(name, [math.inf] * 4)
        assert protocol.value() == 1
        for bits in product((0, 1), repeat=4):
            said = [protocol.respond(i, bit, accept=True) for i, bit in enumerate(bits)]
            decision = protocol.decide(said)
            assert decision.answer == meaning(sum(bits))
            assert decision.posterior[decision.answer] == 1


def test_a_thousand_parties():
    """Majority and sum of 1000 parties; the normal approximation within its error, and xor in closed form."""
    majority = um.multiparty.optimal("majority", [1.0] * 1001)
    share = 1 / (1 + math.exp(-1))
    # truth and estimate are nearly normal with correlation 2·share - 1: they agree with this probability
    assert majority.value() == approx(0.5 + math.asin(2 * share - 1) / math.pi, abs=2e-3)
    assert majority.verify()
    assert majority.value(party=7) > majority.value()
    total = um.multiparty.optimal("sum", [1.0] * 1000, "absolute")
    spread = math.sqrt(1000 * share * (1 - share))  # of the sum given all messages, about normal
    assert -total.value() == approx(spread * math.sqrt(2 / math.pi), rel=2e-3)
    said = [total.respond(i, i % 2) for i in range(1000)]
    assert abs(total.decide(said).answer - 500) < 150  # seven standard deviations
    assert um.multiparty.optimal("xor", [3.0] * 1000).value() == approx(um.multiparty.xor_accuracy([3.0] * 1000).apart)


def test_protocols_too_large_to_value_still_run():
    """200 different levels: no exact value, but messages and decisions, by the law of a sum of unequal coins."""
    protocol = um.multiparty.optimal("majority", [1 + i / 1000 for i in range(200)])
    with pytest.raises(TooLarge, match="too many"):
        protocol.value()
    assert not protocol.verify()
    assert "not computed" in str(protocol)
    decision = protocol.decide([protocol.respond(i, 1) for i in range(200)])
    assert decision.answer == 1
    assert sum(decision.posterior.values()) == approx(1)
    with pytest.raises(TooLarge):
        um.multiparty.optimal("majority", [1 + i / 1000 for i in range(200)], criterion="worst")
    crowd = um.multiparty.optimal("majority", [1.0] * 20000)
    assert crowd.stated_value is None
    with pytest.warns(DeprecationWarning, match="stated_value"):
        assert crowd.stated is None
    with pytest.raises(TooLarge, match="by_count"):
        um.multiparty.optimal(lambda bits: sum(bits), [1.0] * 40)


@settings(max_examples=40)
@given(problems(most=3), st.data())
def test_decisions_are_bayes_and_best(problem, data):
    """For every transcript: the posterior by enumeration, the answer with the best expected accuracy."""
    parameters, table, accuracy = problem
    k = len(parameters)
    protocol = um.multiparty.optimal(table, as_levels(parameters), accuracy, answers=range(accuracy.shape[1]))
    party = data.draw(st.sampled_from([None, *range(k)]))
    values = np.unique(table)
    for said in product(*(range(chances(level).shape[1]) for level in protocol.levels)):
        messages = [um.multiparty.Message(protocol.fingerprint, i, m) for i, m in enumerate(said)]
        for own in (None,) if party is None else (0, 1):
            likely = np.array(
                [
                    math.prod(
                        float(bit == own) if i == party else chances(protocol.levels[i])[bit, said[i]]
                        for i, bit in enumerate(bits)
                    )
                    for bits in product((0, 1), repeat=k)
                ]
            )
            if party is not None and not protocol.mechanism(party).weights[own, said[party]]:
                with pytest.raises(InvalidInput, match="cannot have sent"):
                    protocol.decide(messages, party, own)
                continue
            heard = [m for m in messages if m.party != party or own]  # its own message may be missing
            decision = protocol.decide(heard, party, own)
            posterior = [likely[np.array(table) == v].sum() / likely.sum() for v in values]
            assert list(decision.posterior.values()) == approx(posterior, abs=1e-12)
            gains = np.array(posterior) @ accuracy
            assert gains[decision.answer] == approx(gains.max(), abs=1e-11)


def test_worst_case_decisions_follow_their_rule():
    """AND of two bits in the worst case tosses a coin at some transcripts; drawn answers have these frequencies."""
    protocol = um.multiparty.optimal("and", [1.0, 1.0], criterion="worst")
    rules = {}
    for said in product((0, 1), repeat=2):
        messages = [um.multiparty.Message(protocol.fingerprint, i, m) for i, m in enumerate(said)]
        rules[said] = protocol.decide(messages).chances
    reached = []
    for bits in product((0, 1), repeat=2):
        truth = bits[0] & bits[1]
        share = sum(
            math.prod(chances(protocol.levels[i])[bits[i], said[i]] for i in (0, 1)) * rule[truth]
            for said, rule in rules.items()
        )
        reached.append(share)
    assert min(reached) == approx(protocol.value(), abs=1e-9)
    tossed = next(said for said, rule in rules.items() if 0.05 < rule[1] < 0.95)
    messages = [um.multiparty.Message(protocol.fingerprint, i, m) for i, m in enumerate(tossed)]
    rng = np.random.default_rng(5)
    with insecure_source_for_tests_only(rng.bytes):
        ones = sum(protocol.decide(messages).answer for _ in range(2000))
    assert abs(ones / 2000 - rules[tossed][1]) < 5 * 0.5 / math.sqrt(2000)
    own = protocol.decide(messages[1:], party=0, own_bit=0)
    assert own.chances[0] == approx(1, abs=1e-9)  # a party with a 0 knows that the AND is 0


# ---- privacy ----


@pytest.mark.parametrize(
    "level",
    [
        um.PureDP(0),
        um.PureDP(1e-25),
        um.PureDP(1),
        um.PureDP(60),
        um.PureDP(math.inf),
        um.PureDP.from_ratio(3),
        ApproxDP(0, "1/3"),
        ApproxDP(0, 1e-30),
        ApproxDP(1, 1e-9),
        ApproxDP(2, 0.7),
        ApproxDP(2, 1),
        ApproxDP(math.inf, 0.5),
        ApproxDP.from_ratio(3, "1/7"),
    ],
)
def test_messages_are_private_in_integers_and_next_to_the_formula(level):
    """Whatever the level: an independent check in rationals, zeros kept, nothing moved that matters."""
    certified = response(level)
    assert is_private(certified)
    assert certified.moved < 1e-17 or certified.moved < float(level.delta) * 1e-12
    assert np.abs(certified.matrix - chances(level)).max() < 1e-15
    assert ((np.asarray(certified.weights) == 0) >= (chances(level) == 0)).all()


def test_responses_have_the_right_frequencies():
    """Drawn messages against their probabilities, four kinds, within five standard deviations."""
    protocol = um.multiparty.optimal("and", [ApproxDP(1, 0.1), 1])
    rng = np.random.default_rng(1)
    with insecure_source_for_tests_only(rng.bytes):
        drawn = [protocol.respond(0, 1, accept=True).message for _ in range(4000)]
    expected = chances(ApproxDP(1, 0.1))[1]
    apart = np.abs(np.bincount(drawn, minlength=4) / 4000 - expected)
    assert (apart <= 5 * np.sqrt(expected * (1 - expected) / 4000)).all()


# ---- optimality ----


def random_message(rng, lowest, highest, kinds=3):
    """A random extreme 2-row mechanism whose log-ratios log p0/p1 all lie in a range: a vertex of a random LP."""
    size = 2 * kinds
    rows = []
    for m in range(kinds):
        up, down = np.zeros(size), np.zeros(size)
        up[m], up[kinds + m] = 1, -math.exp(highest)
        down[m], down[kinds + m] = -1, math.exp(lowest)
        rows += [up, down]
    sums = np.kron(np.eye(2), np.ones(kinds))
    found = linprog(rng.normal(size=size), np.array(rows), np.zeros(len(rows)), sums, np.ones(2), bounds=(0, 1))
    assert found.status == 0
    return np.maximum(found.x.reshape(2, kinds), 0)


def random_conversation(rng, first, second):
    """Pr[transcript | x0, x1] of a random private protocol: party 0, then 1 who hears it, then 0 again, then 1 again.

    A party may say more only while the ratio of everything it has said stays within its epsilon.
    """
    transcripts = []

    def room(said, epsilon):
        if said.min() <= 0:
            return 0.0, 0.0
        spent = math.log(said[0] / said[1])
        return min(-epsilon - spent, 0.0), max(epsilon - spent, 0.0)

    def speak(turn, zero, one):
        if zero.max() < 1e-12 or one.max() < 1e-12:
            return
        if turn == 4:
            transcripts.append(np.multiply.outer(zero, one))
            return
        who, epsilon = ((zero, first), (one, second))[turn % 2]
        for column in random_message(rng, *room(who, epsilon), kinds=2 if turn else 3).T:
            speak(turn + 1, zero * column if turn % 2 == 0 else zero, one if turn % 2 == 0 else one * column)

    speak(0, np.ones(2), np.ones(2))
    return np.array(transcripts)


@settings(max_examples=80)
@given(st.integers(0, 2**32), st.sampled_from([0.2, 1, 3]), st.sampled_from([0.5, 2]))
def test_no_random_private_protocol_does_better(seed, first, second):
    """Two parties, delta = 0, random functions and measures: neither alone nor in two rounds, for any listener."""
    rng = np.random.default_rng(seed)
    table, accuracy = rng.integers(0, 3, 4), rng.normal(size=(3, 3))
    gains = accuracy[table].reshape(2, 2, 3)
    protocol = um.multiparty.optimal(table, [first, second], accuracy[np.unique(table)], answers=range(3))
    alone = [random_message(rng, -e, e) for e in (first, second)]
    without = np.einsum("xm,yn->mnxy", *alone).reshape(-1, 2, 2)
    talking = random_conversation(rng, first, second)
    for likely in (without, talking):
        assert likely.sum(axis=0) == approx(np.ones((2, 2)), abs=1e-7)
        worst = np.log(np.maximum(likely[:, 0], 1e-300) / np.maximum(likely[:, 1], 1e-300))
        assert np.abs(worst[likely.max(axis=(1, 2)) > 1e-9]).max() <= first + 1e-6  # it is private
        joint = np.einsum("txy,xya->txya", likely, gains) / 4
        assert joint.sum(axis=(1, 2)).max(axis=1).sum() <= protocol.value() + 1e-9
        assert joint.sum(axis=2).max(axis=2).sum() <= protocol.value(0) + 1e-9
        assert joint.sum(axis=1).max(axis=2).sum() <= protocol.value(1) + 1e-9


def best_second_message(gains, epsilon):
    """The most that a private message of one bit can gain when gains[b, y] is the worth of saying y: a small LP."""
    kinds = gains.shape[1]
    ratio = np.kron([[1, -math.exp(epsilon)], [-math.exp(epsilon), 1]], np.eye(kinds))
    sums = np.kron(np.eye(2), np.ones(kinds))
    return -linprog(-gains.ravel(), ratio, np.zeros(2 * kinds), sums, np.ones(2)).fun


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.sampled_from([0.2, 1, 3]), st.sampled_from([0.5, 2]))
def test_even_the_best_reply_does_no_better(seed, first, second):
    """Whatever the first party says, if the second hears it and makes the most of it: at most what responses reach.

    After a randomised response the best reply reaches exactly that, so the test is as sharp as it can be.
    """
    rng = np.random.default_rng(seed)
    table, accuracy = rng.integers(0, 3, 4), rng.normal(size=(3, 3))
    gains = accuracy[table].reshape(2, 2, 3) / 4
    protocol = um.multiparty.optimal(table, [first, second], accuracy[np.unique(table)], answers=range(3))

    def replied(says):
        return sum(best_second_message(np.einsum("x,xya->ya", column, gains), second) for column in says.T)

    assert replied(random_message(rng, -first, first)) <= protocol.value() + 1e-9
    assert replied(message_table(first, 0)[:, 1:3]) == approx(protocol.value(), abs=1e-9)


def test_certificates_say_what_is_proved():
    """Pure levels: among all protocols. Delta > 0: among non-interactive ones, unless there is nobody to talk to."""
    claims = {
        ANY_PROTOCOL: ([1, 2], [um.PureDP(math.inf), ApproxDP(1, 1), 0], [ApproxDP(1, 0.1)]),
        NO_INTERACTION: ([1, ApproxDP(1, 0.1)], [ApproxDP(0, 1e-9)] * 3),
    }
    for reason, cases in claims.items():
        for levels in cases:
            protocol = um.multiparty.optimal("and", levels)
            assert protocol.certificate.reason == reason
            assert protocol.verify().relies_on == reason
            assert protocol.certificate.bound >= protocol.value()
            assert protocol.certificate.gap < 1e-9
            assert reason in str(protocol)
    assert "non-interactive" in NO_INTERACTION


@pytest.mark.parametrize(
    ("level", "apart", "talking"), [((1, 0.1), 0.777054, 0.780670), ((0.5, 0.2), 0.773106, 0.781606)]
)
def test_with_a_delta_interaction_does_better(level, apart, talking):
    """The counterexample to LIM Theorem 4.4.1, its privacy proved in integers and by a check in rationals."""
    talk = um.multiparty.and_saving_delta(ApproxDP(*level), 1.0)
    assert talk.apart.value() == approx(apart, abs=5e-7)
    assert talk.value() == approx(talking, abs=5e-7)
    assert talk.verify().private
    for speaker in (0, 1):
        for other in (0, 1):
            assert is_private(talk.transcript(speaker, other))
    less = ApproxDP(level[0], Fraction(str(level[1])) - Fraction(1, 10**15))
    stricter = replace(talk, levels=(talk.levels[0], less))
    assert not stricter.verify().private  # its delta is what it says, to fifteen digits
    with pytest.raises(CannotCertify):
        stricter.transcript(1, 1)


@pytest.mark.parametrize(
    ("level", "other"),
    [((0, 0.1), (0, 0.1)), ((1, 0.1), (1, 0.1)), ((2, 0.3), (0.5, 0.05)), ((1, 0.05), (1, 0.4)), ((1, 0.2), (1, 1))],
)
def test_giving_bits_away_together_does_better(level, other):
    """XOR of two bits with delta: privacy proved, and the value against a formula for the shared part of delta."""
    talk = um.multiparty.xor_sharing_delta(ApproxDP(*level), ApproxDP(*other))
    assert talk.verify().private
    assert is_private(talk.transcript(1, 0))
    assert is_private(talk.transcript(0, 1))
    (e, d), (f, c) = level, other
    t, s = math.tanh(e / 2), math.tanh(f / 2)
    both = min(c, d)  # how often both give their bits away; a response of a bit given away counts t or s
    margin = both + (c - both) * t + (d - both) * s + (1 - c - d + both) * t * s
    assert talk.value() == approx(0.5 + margin / 2, abs=1e-12)
    assert talk.apart.value() == approx(um.multiparty.xor_accuracy([ApproxDP(*level), ApproxDP(*other)]).apart)
    assert talk.value() > talk.apart.value() + 1e-3 or c == 1


def test_with_no_delta_there_is_nothing_to_save():
    """At pure levels the conversations reach what randomised response does, as the theorem says they must at most."""
    for make in (um.multiparty.and_saving_delta, um.multiparty.xor_sharing_delta):
        talk = make(1.5, 0.5)
        assert talk.value() == approx(talk.apart.value(), abs=1e-12)
    assert um.multiparty.and_saving_delta(ApproxDP(1, 0.9), 1).verify().private
    with pytest.raises(UnsupportedLevel):
        um.multiparty.and_saving_delta(um.GaussianDP(1), 1)


@pytest.mark.parametrize(
    ("epsilon", "apart", "plain", "best"),
    [(1, 0.625, 0.660306, 0.660306), (2, 0.781267, 0.812709, 0.825593), (4, 0.960731, 0.969009, 0.971216)],
)
def test_xor_or_and(epsilon, apart, plain, best):
    """LIM 4.6, first example: values, privacy proved, and the frequencies of runs."""
    talk, better = (um.multiparty.xor_or_and(epsilon, message) for message in ("plain", "best"))
    assert (talk.apart.value(), talk.value(), better.value()) == approx((apart, plain, best), abs=5e-7)
    assert talk.verify().private
    assert better.verify().private
    assert "not optimal" in str(talk)


@pytest.mark.parametrize(
    ("epsilon", "apart", "talking"), [(0.5, 1.5, 1.5), (1, 1.5, 1.5), (2, 1.624120, 1.640918), (4, 1.930597, 1.938484)]
)
def test_hamming_distance(epsilon, apart, talking):
    """LIM 4.6, second example; the linear program's second message is at least as good as geometric noise."""
    talk = um.multiparty.hamming_distance(epsilon)
    assert (talk.apart.value(), talk.value()) == approx((apart, talking), abs=5e-7)
    assert talk.verify().private
    if epsilon == 2:
        better = um.multiparty.hamming_distance(epsilon, "best")
        assert better.value() >= talk.value() - 1e-9
        assert better.verify().private


def test_conversations_run():
    """Run many times with fair bits, the average accuracy is the value, within five standard deviations."""
    rng, size = np.random.default_rng(3), 3000
    talk = um.multiparty.xor_or_and(2.0)
    right = 0
    with insecure_source_for_tests_only(rng.bytes):
        for x, *y in rng.integers(0, 2, (size, 3)).tolist():
            heard = talk.respond(0, x)
            said = talk.respond(1, tuple(y), heard)
            decision = talk.decide((heard, said))
            assert sum(decision.posterior.values()) == approx(1)
            right += decision.answer == talk.truth(x, y)
    assert abs(right / size - talk.value()) < 5 * 0.5 / math.sqrt(size)
    with pytest.raises(InvalidInput, match="heard"):
        talk.respond(1, (0, 1))
    with pytest.raises(InvalidInput, match="not a message"):
        talk.respond(1, (0, 1), heard=7)
    with pytest.raises(InvalidInput, match="not a pair"):
        talk.decide((0, 9))
    with pytest.raises(InvalidInput, match="'best'"):
        um.multiparty.xor_or_and(1.0, "worst")


def test_pictures_of_interaction():
    """LIM Figure 4.2, both panels: the curves run through the values."""
    left = um.plot.interaction("xor or and", [1, 2, 4]).axes[0].get_lines()
    drawn = [line.get_ydata() for line in left]
    assert np.array(drawn) == approx(
        np.array([[0.625, 0.781267, 0.960731], [0.660306, 0.812709, 0.969009], [0.660306, 0.825593, 0.971216]]),
        abs=5e-7,
    )
    right = um.plot.interaction("hamming distance", [1, 2, 4]).axes[0].get_lines()
    expected = [[1.5, 1.624120, 1.930597], [1.5, 1.640918, 1.938484]]  # no second message beats geometric noise here
    assert np.array([line.get_ydata() for line in right]) == approx(np.array(expected), abs=5e-7)
    with pytest.raises(InvalidInput, match="'hamming distance'"):
        um.plot.interaction("both")


# ---- files, messages and wrong use ----


@pytest.mark.parametrize("criterion", ["average", "worst"])
def test_save_and_load(tmp_path, criterion):
    """What is read is what was written; it verifies; a message made before is understood after."""
    levels = [1, ApproxDP.from_ratio(3, 0.1), um.PureDP(math.inf)]
    protocol = um.multiparty.optimal([("a", 1), "b", "b", 2.5] * 2, levels, None, criterion)
    again = um.multiparty.Protocol.load(protocol.save(tmp_path / "p.json"))
    assert again.fingerprint == protocol.fingerprint
    assert again.value() == approx(protocol.value(), abs=1e-12)
    assert again.verify()
    assert again.question.values == protocol.question.values
    said = [protocol.respond(i, 1, accept=True) for i in range(3)]
    assert again.decide(said).posterior == protocol.decide(said).posterior
    assert protocol.save(tmp_path / "q.json").read_bytes() == again.save(tmp_path / "r.json").read_bytes()


def rewrite(path, change):
    """Change a saved file and give it the checksum of what it now holds."""
    content = json.loads(path.read_bytes())
    content.pop("sha256")
    change(content)
    content["sha256"] = hashlib.sha256(canonical(content)).hexdigest()
    path.write_bytes(canonical(content))


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["problem"]["levels"].pop(),
        lambda c: c["problem"]["levels"].append({"kind": "gaussian", "mu": "1"}),
        lambda c: c["problem"].update(levels=[{"kind": "gaussian", "mu": "1"}] * 2),
        lambda c: c["problem"].update(criterion="best"),
        lambda c: c["problem"].update(answers=[0, 0]),
        lambda c: c["problem"].update(name=3),
        lambda c: c["problem"].update(accuracy=[[1, 0]]),
        lambda c: c["problem"]["function"].update(parties=40, counted=False),
        lambda c: c["problem"]["function"].update(positions=[0, 1, 9]),
        lambda c: c["problem"]["function"].update(positions=[0.5, 1, 1]),
        lambda c: c["problem"].pop("function"),
        lambda c: c["rule"].update(chances=[[1.0]]),
        lambda c: c["rule"].update(chances=[[-1.0] * 3, [2.0] * 3]),
        lambda c: c["rule"].update(least_favourable=[0.1, 0.1, 0.1]),
        lambda c: c.update(rule=None),
        lambda c: c.update(version=2),
        lambda c: c.update(format="utmost-solution"),
    ],
)
def test_files_are_not_trusted(tmp_path, change):
    """Whatever a file holds, with a right checksum: refused as a bad file."""
    path = um.multiparty.optimal("and", [1, 1], criterion="worst").save(tmp_path / "p.json")
    rewrite(path, change)
    with pytest.raises(BadFile):
        um.multiparty.Protocol.load(path)


def test_false_claims_in_files_are_found(tmp_path):
    """A value that is not what it says is loaded, but not verified; a rule that is not the best is not even loaded."""
    path = um.multiparty.optimal("and", [1, 1], criterion="worst").save(tmp_path / "p.json")
    original = path.read_bytes()
    rewrite(path, lambda c: c.update(value=0.99))
    assert not um.multiparty.Protocol.load(path).verify()
    path.write_bytes(original)
    for forged in ({"chances": [[1.0] * 3, [0.0] * 3]}, {"least_favourable": [1.0, 0, 0]}):
        rewrite(path, lambda c, forged=forged: c["rule"].update(forged))
        with pytest.raises(BadFile, match="decision rule reaches"):
            um.multiparty.Protocol.load(path)
        path.write_bytes(original)
    path.write_bytes(original[:-20] + original[-10:])
    with pytest.raises(BadFile):
        um.multiparty.Protocol.load(path)


def test_messages_are_refused_by_name():
    """Another protocol's, a party's twice, a missing one, an impossible one, none at all."""
    protocol, other = (um.multiparty.optimal("majority", [1, 1, e]) for e in (1, 2))
    said = [protocol.respond(i, 1, accept=True) for i in range(3)]
    assert protocol.decide(map(str, said)).posterior == protocol.decide(said[::-1]).posterior
    assert protocol.decide([json.loads(str(m)) for m in said]).posterior == protocol.decide(said).posterior
    wrong = {
        "party 2 belongs to the protocol": [*said[:2], other.respond(2, 1)],
        "party 1 sent two": [*said, said[1]],
        "no message of party 1, 2": said[:1],
        "no party 7": [*said, um.multiparty.Message(protocol.fingerprint, 7, 0)],
        "party 2 has no message 5": [*said[:2], um.multiparty.Message(protocol.fingerprint, 2, 5)],
        "not a party's message": [*said[:2], "{}"],
        "wrong kind": [*said[:2], {"protocol": protocol.fingerprint, "party": "2", "message": True}],
        r"Message\(.* wrong kind": [*said[:2], um.multiparty.Message(protocol.fingerprint, 2, "x")],
        "protocol=None.* wrong kind": [*said[:2], um.multiparty.Message(None, 2, 1)],
        "messages is 5": 5,
    }
    for words, messages in wrong.items():
        with pytest.raises(InvalidInput, match=words):
            protocol.decide(messages)
    with pytest.raises(InvalidInput, match="both"):
        protocol.decide(said, party=1)
    for nobody in (-1, 3, True, "0"):
        with pytest.raises(InvalidInput, match="no party"):
            protocol.decide(said, party=nobody, own_bit=1)
        with pytest.raises(InvalidInput, match="no party"):
            protocol.value(nobody)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("parity", [1, 1]), "'parity'"),
        (("threshold", [1, 1]), "threshold 3"),
        (("xor", []), "no parties"),
        (("xor", 1.0), "one level per party"),
        (("xor", [1, -1]), "-1"),
        (("xor", [1, math.nan]), "nan"),
        (([0, 1, 1], [1, 1]), "2\\^2"),
        ((lambda bits: [1], [1]), "values of the function must be"),
        ((7, [1, 1]), "function is 7"),
        (("xor", [1, 1], "zero-one", "average", 5), "answers must be"),
        (("xor", [1, 1], "zero-one", "average", [[]]), "answers must be"),
        (("xor", [1, 1], [["a", "b"], ["c", "d"]]), "table of numbers"),
        (("xor", [1, 1], None, "average", None, 7), "name is 7"),
        ((lambda bits: math.nan, [1]), "nan"),
        (("xor", [1, 1], "exact"), "'exact'"),
        (("xor", [1, 1], [[1, 0]]), "shape"),
        (("xor", [1, 1], [[1, 0], [0, math.inf]]), "finite"),
        (("xor", [1, 1], None, "median"), "'median'"),
        (("xor", [1, 1], None, "average", []), "at least one"),
        (("xor", [1, 1], None, "average", [0, 0]), "once"),
        ((um.multiparty.by_count([0, 1]), [1, 1]), "0 to 2 ones"),
    ],
)
def test_wrong_arguments_are_named(arguments, words):
    """Each wrong argument is refused with the value or the rule in the message."""
    with pytest.raises(InvalidInput, match=words):
        um.multiparty.optimal(*arguments)


def test_levels_that_are_not_covered():
    """Gaussian levels have no dominating response; the error names the party and what to use."""
    for call in (
        lambda: um.multiparty.optimal("xor", [1, um.GaussianDP(1)]),
        lambda: um.multiparty.xor_accuracy([um.GaussianDP(1)]),
    ):
        with pytest.raises(UnsupportedLevel, match="PureDP"):
            call()


def test_names_tell_occasions_apart():
    """The same question in May and June: messages of one are refused by the other."""
    may, june = (um.multiparty.optimal("xor", [1, 1], name=month) for month in ("May", "June"))
    with pytest.raises(InvalidInput, match="party 1 belongs"):
        june.decide([june.respond(0, 1), may.respond(1, 1)])


def test_a_listener_may_ask_a_question_of_its_own(tmp_path):
    """The same messages, another function: as good as a protocol designed for it; it is not to be saved."""
    protocol = um.multiparty.optimal("majority", [1, 2, ApproxDP(1, 0.1)])
    own = protocol.asking("sum", "absolute", "worst")
    assert own.value() == approx(um.multiparty.optimal("sum", protocol.levels, "absolute", "worst").value(), abs=1e-9)
    said = [protocol.respond(i, 1, accept=True) for i in range(3)]
    assert own.decide(said).answer in range(4)
    assert own.verify()
    with pytest.raises(InvalidInput, match="agreed"):
        own.save(tmp_path / "own.json")


def test_messages_that_are_never_sent_are_refused():
    """A delta below 2^-62 never shows; a message that would show it is forged."""
    protocol = um.multiparty.optimal("xor", [ApproxDP(1, "1e-400"), 1])
    forged = um.multiparty.Message(protocol.fingerprint, 0, 0)
    with pytest.raises(InvalidInput, match="party 0 has no message 0"):
        protocol.decide([forged, protocol.respond(1, 0)])


@pytest.mark.parametrize("bit", [2, -1, "1", None, 0.5, 17])
def test_a_private_bit_is_never_repeated(bit):
    """An error about a bit does not show it; an error about a party, which is public, does."""
    protocol = um.multiparty.optimal("xor", [1, 1])
    with pytest.raises(InvalidInput) as error:
        protocol.respond(0, bit)
    assert str(bit) not in str(error.value).replace("0 nor 1", "")
    with pytest.raises(InvalidInput, match="no party"):
        protocol.respond(2, 1)


def test_extremes():
    """One party, one value, no information, everything told."""
    assert um.multiparty.optimal("xor", [0] * 5).value() == approx(0.5)
    assert um.multiparty.optimal(lambda bits: "always", [1, 1]).value() == 1
    assert um.multiparty.optimal("sum", [math.inf] * 6, criterion="worst").value() == approx(1)
    single = um.multiparty.optimal("or", [0.5])
    assert single.value() == approx(1 / (1 + math.exp(-0.5)))
    assert single.value(0) == 1
    assert single.decide([], party=0, own_bit=1).answer == 1


# ---- the command ----


def party(*arguments, folder, given=""):
    """Run `utmost party` in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "utmost", "party", *map(str, arguments)]
    return subprocess.run(command, input=given, capture_output=True, text=True, cwd=folder, env=environment)


def test_parties_as_separate_processes(tmp_path):
    """Design, three parties in three processes, a listener in a fifth, a party that decides for itself."""
    made = party("design", "--function", "majority", "--levels", "8,8,8:0.1", "--out", "p.json", folder=tmp_path)
    assert made.returncode == 0, made.stderr
    assert "non-interactive" in made.stdout
    said = []
    for i in range(3):
        one = party("respond", "--protocol", "p.json", "--party", i, "--accept", folder=tmp_path, given="1\n")
        assert one.returncode == 0, one.stderr
        (tmp_path / f"m{i}.json").write_text(one.stdout)
        said.append(one.stdout)
    again = party("respond", "--protocol", "p.json", "--party", 2, folder=tmp_path, given="0\n")
    assert again.stdout == said[2]
    assert "repeated" in again.stderr
    decided = party("decide", "--protocol", "p.json", "--json", folder=tmp_path, given="".join(said))
    assert decided.returncode == 0, decided.stderr
    protocol = um.multiparty.Protocol.load(tmp_path / "p.json")
    expected = protocol.decide(said)
    found = json.loads(decided.stdout)
    assert found["answer"] == expected.answer
    assert found["posterior"] == {str(v): share for v, share in expected.posterior.items()}
    own = party("decide", "--protocol", "p.json", "--party", 0, "m1.json", "m2.json", folder=tmp_path, given="1\n")
    assert own.stdout.strip() == str(protocol.decide(said, 0, 1).answer)


def test_parties_see_what_they_are_promised(tmp_path):
    """The level and its meaning come first; a party with no promise worth the name is asked whether it wants that."""
    path = tmp_path / "p.json"
    um.multiparty.optimal("xor", [1, 1, 1], name="seen").save(path)
    first = utmost("party", "respond", "--protocol", path, "--party", 1, given="1\n")
    promise = (
        "1-DP: whoever thinks two answers equally likely and sees your response guesses yours with probability 73.11 %"
    )
    assert first.stderr.index(promise) < first.stderr.index("recorded")
    for forged in ({"kind": "pure", "epsilon": "inf"}, {"kind": "approx", "epsilon": "1", "delta": "1/10"}):

        def weaken(content, forged=forged):
            content["problem"]["levels"][0] = forged
            content["value"] = None

        rewrite(path, weaken)
        weak = um.multiparty.Protocol.load(path)
        record = tmp_path / f"{forged['kind']}.json"
        arguments = ["party", "respond", "--protocol", path, "--party", 0, "--record", record]
        refused = utmost(*arguments, given="1\n")
        assert refused.returncode == 2
        assert weak.promise(0) in refused.stderr
        assert "--accept" in refused.stderr
        assert refused.stdout == ""
        assert not record.exists()
        with pytest.raises(WeakPromise, match="nothing was sent"):
            weak.respond(0, 1)
        assert weak.respond(1, 1).party == 1  # the other parties' promises are as they were
        wanted = utmost(*arguments, "--accept", given="1\n")
        assert json.loads(wanted.stdout)["party"] == 0
    assert "promises nothing" in um.multiparty.optimal("and", [ApproxDP(1, 1)]).promise(0)


def test_a_function_is_called_what_it_is(tmp_path):
    """A file may call any table a majority; what its entries do not bear out is quoted as a name."""
    path = um.multiparty.optimal("majority", [1, 1, 1]).save(tmp_path / "p.json")
    assert str(um.multiparty.Protocol.load(path)).startswith("majority of 3 parties")

    def pretend(content):
        content["problem"]["function"]["positions"] = [0, 1, 1, 1]
        content["value"] = um.multiparty.optimal("or", [1, 1, 1]).value()

    rewrite(path, pretend)
    assert um.multiparty.Protocol.load(path).verify()  # a protocol for OR it is
    shown = utmost("verify", path)
    assert shown.stdout.startswith("a function called 'majority' of 3 parties")
    rewrite(path, lambda content: content["problem"]["function"].update(name="or\nverified: private"))
    assert utmost("verify", path).stdout.count("\nverified: private") == 1

    def xor(bits):
        return sum(bits) % 2

    def first(bits):
        return bits[0]

    assert um.multiparty.optimal(xor, [1] * 4).question.title == "xor"
    assert um.multiparty.optimal(first, [1] * 4).question.title == "a function called 'first'"
    assert um.multiparty.optimal([0, 1, 1, 0], [1] * 2).question.title == "a table"


def test_verify_takes_protocols(tmp_path):
    """`utmost verify` of a protocol proves what `utmost party verify` does, and finds a false value."""
    path = um.multiparty.optimal("majority", [1, 1, 2]).save(tmp_path / "p.json")
    found = utmost("verify", path)
    assert found.returncode == 0
    assert found.stdout == utmost("party", "verify", "--protocol", path).stdout
    assert json.loads(utmost("verify", path, "--json").stdout)["verified"] is True
    rewrite(path, lambda content: content.update(value=0.9))
    assert utmost("verify", path).returncode == 1


def test_the_command_refuses_by_name(tmp_path, monkeypatch):
    """A message of another protocol, one twice, one missing; a wrong bit; records of others; nothing private shown."""
    monkeypatch.setenv("UTMOST_STATE", str(tmp_path / "state"))
    for name, levels in (("p", "1,1"), ("q", "1,2")):
        made = utmost(
            "party", "design", "--function", "xor", "--levels", levels, "--out", tmp_path / f"{name}.json", "--json"
        )
        assert json.loads(made.stdout)["verified"] is True
    p, q = tmp_path / "p.json", tmp_path / "q.json"
    first = utmost("party", "respond", "--protocol", p, "--party", 0, given="1\n").stdout
    second = utmost("party", "respond", "--protocol", p, "--party", 1, "--json", given="0\n").stdout
    foreign = utmost("party", "respond", "--protocol", q, "--party", 1, given="0\n").stdout
    assert utmost("party", "decide", "--protocol", p, given=first + second).returncode == 0
    (tmp_path / "m0.json").write_text(first)
    twice = utmost("party", "decide", "--protocol", p, tmp_path / "m0.json", tmp_path / "m0.json")
    assert "party 0 sent two" in twice.stderr
    for heard, words in (
        (first + foreign, "party 1 belongs to the protocol"),
        (first + first, "party 0 sent two"),
        (first, "no message of party 1"),
        ("nonsense", "not JSON"),
        ("", "no message of party 0, 1"),
    ):
        refused = utmost("party", "decide", "--protocol", p, given=heard)
        assert refused.returncode == 2
        assert words in refused.stderr
    mistaken = utmost("party", "respond", "--protocol", q, "--party", 0, given="777\n")
    assert mistaken.returncode == 2
    assert "777" not in mistaken.stderr
    records = tmp_path / "state" / "parties"
    assert len(list(records.iterdir())) == 3  # none for the mistaken bit
    (record,) = records.glob(f"{um.multiparty.Protocol.load(p).fingerprint}-party-0.json")
    foreign_record = utmost("party", "respond", "--protocol", q, "--party", 0, "--record", record)
    assert foreign_record.returncode == 2
    assert "name another --record" in foreign_record.stderr
    absent = utmost("party", "respond", "--protocol", p, "--party", 5, given="1\n")
    assert "no party 5" in absent.stderr
    record.write_text("{}")
    assert utmost("party", "respond", "--protocol", p, "--party", 0).returncode == 2
    nowhere = utmost("party", "respond", "--protocol", p, "--party", 1, "--record", tmp_path / "no" / "r", given="1\n")
    assert nowhere.returncode == 2
    assert "cannot be written" in nowhere.stderr
    assert nowhere.stdout == ""  # no message was made
    assert not nowhere.stdout
    needs_files = utmost("party", "decide", "--protocol", p, "--party", 0, given=second)
    assert "as files" in needs_files.stderr


def test_the_record_that_came_first_counts(tmp_path, monkeypatch):
    """Two processes at once: both show one and the same message."""
    p = tmp_path / "p.json"
    um.multiparty.optimal("xor", [1, 1], name="two at once").save(p)
    first = utmost("party", "respond", "--protocol", p, "--party", 0, given="1\n").stdout
    exists = type(p).exists
    monkeypatch.setattr(type(p), "exists", lambda self: False if "party-0" in self.name else exists(self))
    for _ in range(20):
        assert utmost("party", "respond", "--protocol", p, "--party", 0, given="0\n").stdout == first


def test_design_by_table_and_parties(tmp_path):
    """A table of values, many parties at one level, and wrong use."""
    made = utmost("party", "design", "--table", "0,1,1,0", "--levels", "1,1", "--json")
    assert json.loads(made.stdout)["value"] == approx(um.multiparty.xor_accuracy([1, 1]).apart)
    many = utmost("party", "design", "--function", "sum", "--levels", "1", "--parties", 30, "--accuracy", "absolute")
    assert many.returncode == 0
    assert "LIM Theorem 4.4.1" in many.stdout
    saved = tmp_path / "w.json"
    assert (
        utmost(
            "party", "design", "--function", "and", "--levels", "1,1", "--criterion", "worst", "--out", saved
        ).returncode
        == 0
    )
    assert utmost("party", "verify", "--protocol", saved).returncode == 0
    rewrite(saved, lambda c: c.update(value=0.9))
    assert utmost("party", "verify", "--protocol", saved).returncode == 1
    for wrong in (
        ["--function", "xor", "--levels", "1,1", "--out", tmp_path / "no" / "p.json"],
        ["--levels", "1,1"],
        ["--function", "xor", "--levels", "1,x"],
        ["--function", "xor", "--levels", "1,1", "--parties", "3"],
    ):
        assert utmost("party", "design", *wrong).returncode == 2


def test_a_copy_of_a_protocol_repeats_the_message(tmp_path):
    """A message is recorded by the protocol and the party, not by the name of the file."""
    p, copy = tmp_path / "p.json", tmp_path / "copy.json"
    um.multiparty.optimal("xor", [0.1, 0.1], name=str(tmp_path)).save(p)
    copy.write_bytes(p.read_bytes())
    first = utmost("party", "respond", "--protocol", p, "--party", 0, given="1\n")
    assert os.environ["UTMOST_STATE"] in first.stderr
    for _ in range(3):
        again = utmost("party", "respond", "--protocol", copy, "--party", 0, given="0\n")
        assert again.stdout == first.stdout
        assert "repeated" in again.stderr
    assert "recorded" in utmost("party", "respond", "--protocol", copy, "--party", 1, given="0\n").stderr


def test_occasions_without_a_name_are_told_apart(tmp_path):
    """The command gives every design a name of its own; with a name, and in Python, the same comes out again."""
    arguments = ["party", "design", "--function", "xor", "--levels", "1,1", "--json"]
    made = [json.loads(utmost(*arguments, *rest).stdout) for rest in ([], [], ["--name", "May"], ["--name", "May"])]
    assert made[0]["protocol"] != made[1]["protocol"]
    assert made[2]["protocol"] == made[3]["protocol"]
    assert made[2]["protocol"] == um.multiparty.optimal("xor", [1, 1], name="May").fingerprint


def test_a_value_that_is_not_computed_is_no_failure(tmp_path):
    """Three hundred parties with a delta: saved, private, said so in words and JSON; verify cannot prove a value."""
    p = tmp_path / "p.json"
    arguments = ["--function", "majority", "--levels", "1:0.001", "--parties", 300, "--out", p]
    made = utmost("party", "design", *arguments)
    assert made.returncode == 0
    assert "value: not computed" in made.stdout
    assert "NOT verified" not in made.stdout
    assert "ok   privacy" in made.stdout
    told = utmost("party", "design", *arguments, "--json")
    assert told.returncode == 0
    assert json.loads(told.stdout)["value"] is None
    assert utmost("party", "verify", "--protocol", p).returncode == 1


def test_a_shared_coin_makes_listeners_agree(tmp_path):
    """With one coin all conclude the same; a uniform coin keeps the rule's chances; a wrong one is refused."""
    p = tmp_path / "p.json"
    protocol = um.multiparty.optimal("and", [1, 1], criterion="worst", name="coin")
    protocol.save(p)
    tosses = [
        said
        for bits in product((0, 1), repeat=2)
        for said in [[um.multiparty.Message(protocol.fingerprint, i, bit) for i, bit in enumerate(bits)]]
        if 0.01 < protocol.decide(said).chances[1] < 0.99
    ]
    assert tosses
    for said in tosses:
        chance = protocol.decide(said).chances[1]
        fallen = [protocol.decide(said, coin=i / 1000).answer for i in range(1000)]
        assert np.mean(fallen) == approx(chance, abs=0.0011)
        assert {um.multiparty.Protocol.load(p).decide(said, coin="0.25").answer for _ in range(20)} == {fallen[250]}
        own = protocol.decide(said[1:], party=0, own_bit=1, coin=0.5)
        assert {protocol.decide(said[1:], party=0, own_bit=1, coin=0.5).answer for _ in range(10)} == {own.answer}
    heard = "".join(f"{message}\n" for message in said)
    told = [utmost("party", "decide", "--protocol", p, "--coin", "0.25", "--json", given=heard) for _ in range(5)]
    assert {json.loads(one.stdout)["answer"] for one in told} == {fallen[250]}
    assert json.loads(told[0].stdout)["chances"]["1"] == chance
    words = utmost("party", "decide", "--protocol", p, given=heard)
    assert f"with probability {chance:.6g}" in words.stderr
    assert "--coin" in words.stderr
    for wrong in (1, -0.1, math.nan, "heads", True):
        for listener in (protocol, protocol.asking("sum")):
            with pytest.raises(InvalidInput, match="coin"):
                listener.decide(said, coin=wrong)


def test_the_rule_is_part_of_what_is_agreed(tmp_path):
    """A protocol for the worst case that comes with another rule, just as good, is another protocol."""
    protocol = um.multiparty.optimal(lambda bits: 0, [1, 1], criterion="worst", answers=[0, 1], accuracy=lambda v, a: 1)
    path = protocol.save(tmp_path / "p.json")
    assert um.multiparty.Protocol.load(path).fingerprint == protocol.fingerprint

    def turn(content):
        content["rule"]["chances"] = content["rule"]["chances"][::-1]

    rewrite(path, turn)
    assert um.multiparty.Protocol.load(path).fingerprint != protocol.fingerprint


def test_no_fixed_function_of_the_messages_replaces_the_coin():
    """Every deterministic rule for AND at 1-DP, a hash of the messages included, is worse in its worst case."""
    likely = all_transcripts([(1, 0), (1, 0)])
    used = likely[:, likely.any(axis=0)]
    right = [min(used[3] @ rule, *(1 - used[:3] @ rule)) for rule in np.array(list(product((0, 1), repeat=4)))]
    assert max(right) == approx((math.e / (1 + math.e)) ** 2)
    assert um.multiparty.optimal("and", [1, 1], criterion="worst").value() == approx(0.640201, abs=1e-6)
