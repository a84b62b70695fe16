"""Draws follow the integer weights exactly, and no random byte is handed out twice."""

import multiprocessing
import os
import subprocess
import sys
import threading
from collections import Counter

import numpy as np
import pytest
from oracles.words import words_of_a_child
from scipy.stats import chisquare

import utmost as um
from utmost.errors import InvalidInput, UtmostError
from utmost.mechanism import sampling
from utmost.mechanism.sampling import SystemBytes, draw, insecure_source_for_tests_only, uniform_below, uniform_words


def walking(bits, start=0):
    """A source whose words walk through all values of their high bits, in order."""
    state = {"next": start}

    def source(size):
        words = (np.arange(state["next"], state["next"] + size // 8, dtype=np.uint64)) << np.uint64(64 - bits)
        state["next"] += size // 8
        return words.tobytes()

    return source


@pytest.mark.parametrize("weights", [[3, 1, 0, 12], [16], [0, 0, 16], [1] * 16, [0, 5, 0, 11, 0]])
def test_walking_through_all_values_gives_exact_counts(weights):
    """Every value of a 4-bit word once: each output exactly as often as its weight, zeros never."""
    with insecure_source_for_tests_only(walking(4)):
        drawn = draw(weights, 4, 16)
    assert [int((drawn == o).sum()) for o in range(len(weights))] == weights


def test_many_outputs_give_exact_counts():
    """The same with more outputs than are compared one by one."""
    weights = [int(w) for w in np.random.default_rng(0).multinomial(2**16, np.ones(1000) / 1000)]
    with insecure_source_for_tests_only(walking(16)):
        drawn = draw(weights, 16, 2**16)
    assert np.bincount(drawn, minlength=1000).tolist() == weights


def test_large_totals_are_exact():
    """Beyond 62 bits: the first word decides, and where it does not the rest does, to the last unit."""
    bits = 62 + 8
    cut = (5 << 8) + 77  # the cumulative sum falls inside the values that share the top word 5
    weights = [cut, (1 << bits) - cut]
    counts = Counter()
    for low in range(256):
        stream = [b"".join(int(top << 2).to_bytes(8, "little") for top in (4, 5, 6)), bytes([low])]
        with insecure_source_for_tests_only(lambda size, s=stream: s.pop(0)):
            below, between, above = draw(weights, bits, 3).tolist()
        assert (below, above) == (0, 1)
        counts[between] += 1
    assert counts == {0: 77, 1: 179}
    for number, expected in ((cut - 1, 0), (cut, 1)):
        with insecure_source_for_tests_only(lambda size, n=number: (n << 2).to_bytes(size, "little")):
            assert draw(weights, bits, 1)[0] == expected


def test_words_are_uniform():
    """Bits of words from the operating system are balanced: each of 62 positions within 5 standard deviations."""
    words = uniform_words(62, 40_000)
    assert words.max() < 2**62
    for position in range(62):
        ones = int(((words >> np.uint64(position)) & np.uint64(1)).sum())
        assert abs(ones - 20_000) < 5 * 100


def fit(size):
    """The p-value of a chi-square test of many draws against weights, of which the smallest is drawn a few times."""
    weights = [2**62 // size * 8, 2**52, 2**58, 2**61]
    weights.append(2**62 - sum(weights))
    counts = np.bincount(draw(weights, 62, size), minlength=5)
    return chisquare(counts, np.array(weights) / 2**62 * size).pvalue


def test_draws_fit_the_weights():
    """Chi-square on a hundred thousand draws."""
    assert fit(10**5) > 1e-6


@pytest.mark.long
def test_ten_million_draws_fit_the_weights():
    """Chi-square on ten million draws."""
    assert fit(10**7) > 1e-6


def test_one_and_many_answers():
    """`sample` gives one output or a list, by the labels of the outputs."""
    always = um.FiniteMechanism([[1.0, 0], [1.0, 0]], "xy", [("a", 1), ("b", 2)])
    certified = um.certify(always, um.Space.from_edges([("x", "y")]), 1)
    assert certified.sample("x") == ("a", 1)
    assert certified.sample("y", 3) == [("a", 1)] * 3
    assert certified.sample("y", 0) == []


@pytest.mark.parametrize("size", [None, 1, 2, 1000])
def test_an_answer_takes_the_randomness_of_one(size):
    """Eight bytes for each answer: none is drawn that is not given."""
    certified, asked = um.certify(um.finite.geometric(5, 1.0), um.path(5), 1.0), []

    def source(count):
        asked.append(count)
        return bytes(count)

    with insecure_source_for_tests_only(source):
        certified.sample(2, size)
    assert sum(asked) == 8 * (size or 1)


@pytest.mark.parametrize("size", [True, -1, 2.0, "3"])
def test_how_many_answers_is_a_whole_number(size):
    """True is no number of answers; nor is a float, a text, or less than none."""
    with pytest.raises(InvalidInput, match="how many answers"):
        um.certify(um.finite.geometric(5, 1.0), um.path(5), 1.0).sample(2, size)


def test_bytes_are_never_handed_out_twice_to_threads():
    """Eight threads drawing from one buffer get different words."""
    source, seen = SystemBytes(), [[] for _ in range(8)]

    def work(mine):
        mine.extend(source(16) for _ in range(5000))

    threads = [threading.Thread(target=work, args=(mine,)) for mine in seen]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    words = [word for mine in seen for word in mine]
    assert len(set(words)) == len(words) == 40_000


@pytest.mark.parametrize("short", [0, 1, 7])
def test_a_source_that_answers_too_little_is_refused(short):
    """Bytes that did not come are not zeros: no draw of any kind is made of them."""
    certified = um.certify(um.finite.geometric(5, 1.0), um.path(5), 1.0)
    draws = (
        lambda: certified.sample(2),
        lambda: certified.sample(2, size=100),
        lambda: draw([1, 2**70 - 1], 70, 3),
        lambda: uniform_words(8, 10),
        lambda: uniform_below(10, 10),
        lambda: sampling.uniform_integer(62),
        lambda: um.noise.discrete_staircase(1.0).release(3),
        lambda: um.local.survey(["a", "b", "c"], 1.0).respond("a"),
    )
    for source in (lambda size: os.urandom(size)[:short], lambda size: os.urandom(size + 1)):
        for one in draws:
            with insecure_source_for_tests_only(source), pytest.raises(UtmostError, match="were asked for"):
                one()


@pytest.mark.parametrize("size", [8, 16, sampling.BUFFER // 4])
def test_a_generator_that_answers_too_little_is_refused(monkeypatch, size):
    """The operating system's generator is not believed either: through the buffer, past it, and inside a signal."""
    source = SystemBytes()
    monkeypatch.setattr(sampling.os, "urandom", lambda wanted: b"\0" * (wanted // 2))
    for busy in (False, True):
        source._busy = busy
        with pytest.raises(UtmostError, match="were asked for"):
            source(size)


def test_the_buffer_ends_where_it_ends(monkeypatch):
    """Whatever the sizes, the bytes handed out are the generator's, in order, each once, as many as asked."""
    made = []

    def generator(wanted):
        made.append(bytes((len(made) * 7 + i) % 251 for i in range(wanted)))
        return made[-1]

    monkeypatch.setattr(sampling, "BUFFER", 64)
    monkeypatch.setattr(sampling.os, "urandom", generator)
    source, sizes = SystemBytes(), [1, 2, 3, 5, 8] * 40
    handed = [source(size) for size in sizes]
    assert [len(part) for part in handed] == sizes
    expected, at, buffer = [], 64, -1
    for size in sizes:
        if at + size > 64:  # what is left of a buffer is thrown away, never handed out short
            at, buffer = 0, buffer + 1
        expected.append(made[buffer][at : at + size])
        at += size
    assert handed == expected


def test_a_forked_child_draws_anew():
    """Parent and child, forked in the middle of a buffer, draw different bytes."""
    source = SystemBytes()
    source(8)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, source(16) * 1)
        os._exit(0)
    mine = source(16)
    os.waitpid(child, 0)
    assert os.read(reader, 16) != mine
    assert source._lock.acquire(timeout=1)


def test_a_child_forked_while_the_lock_is_held_can_draw():
    """A fork that copies a held lock does not leave the child waiting."""
    source = SystemBytes()
    source(8)
    with source._lock:
        child = os.fork()
        if child == 0:
            source(8)
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_no_size_rewinds_the_buffer():
    """Sizes that are no sizes are refused before they can move the buffer; a signal in the middle gets fresh bytes."""
    source = SystemBytes()
    first = source(16)
    with pytest.raises(ValueError, match="0 or more"):
        source(-16)
    assert source(16) != first
    source._busy = True
    assert len(source(16)) == 16
    source._busy = False
    source._owner = -1  # as after a fork that Python did not see
    before = source._buffer
    source(16)
    assert source._buffer != before


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_processes_draw_different_words(method):
    """Pools of either kind never repeat each other or the parent."""
    sampling._source(16)
    with multiprocessing.get_context(method).Pool(3) as pool:
        found = [word for words in pool.map(words_of_a_child, range(3)) for word in words]
    found += words_of_a_child(0)
    assert len(set(found)) == len(found) == 4000


def test_no_seed_and_no_float():
    """Seeding numpy and Python changes nothing: two seeded processes draw different answers."""
    code = (
        "import random, numpy as np; random.seed(0); np.random.seed(0); import utmost as um\n"
        "c = um.certify(um.binary.balanced(um.path(2), [False, True], 0.1)); print(c.sample(0, 64))"
    )
    calls = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    assert len({call.stdout for call in calls}) == 3


def test_uniform_below():
    """Every value of three bits once: numbers below 5, the others drawn again."""
    words = [np.arange(8, dtype=np.uint64) << np.uint64(61), np.array([0, 4, 7], dtype=np.uint64) << np.uint64(61)]
    words.append(np.array([2], dtype=np.uint64) << np.uint64(61))
    with insecure_source_for_tests_only(lambda size: words.pop(0).tobytes()):
        assert uniform_below(5, 8).tolist() == [0, 1, 2, 3, 4, 0, 4, 2]
