"""Exact draws by tails: against the law they are drawn from, and against random words chosen by the test."""

import numpy as np
import pytest
from flint import arb, ctx
from oracles.pace import within
from scipy.stats import chisquare, norm

from utmost.mechanism.sampling import insecure_source_for_tests_only
from utmost.mechanism.tail_sampling import SymmetricDraws, TailDraws


def rounded_gaussian(sigma):
    def enclose(t, bits):
        with ctx.workprec(bits + 64):
            return ((arb(t) - arb(1) / 2) / sigma / arb(2).sqrt()).erfc() / 2

    return enclose


@pytest.mark.parametrize("sigma", [1, 30, 40_000])
def test_draws_follow_the_law(sigma):
    """Rounded Gaussians by a table, and by bisection where a table would be too long."""
    size = 200_000 if sigma < 1000 else 3000
    drawn = SymmetricDraws(rounded_gaussian(sigma)).draw(size)
    edges = np.unique(np.rint(norm.ppf(np.linspace(0, 1, 12)[1:-1]) * sigma))
    found = np.histogram(drawn, np.concatenate([[-1e12], edges + 0.5, [1e12]]))[0]
    chances = np.diff(norm.cdf(np.concatenate([[-np.inf], (edges + 0.5) / sigma, [np.inf]])))
    assert chisquare(found, chances * size).pvalue > 1e-6


def source_of(words):
    """A source that gives 64-bit words in order, zeros after the last."""
    left = list(words)

    def source(size):
        taken = [left.pop(0) if left else 0 for _ in range(-(-size // 8))]
        return b"".join(word.to_bytes(8, "little") for word in taken)[:size]

    return source


@pytest.mark.parametrize("count", [1, 20])
def test_every_word_is_counted_by_exact_comparisons(count):
    """Words at, right below and right above every threshold, by look-up and by bisection, against 300-bit tails."""
    draws = TailDraws(lambda n, bits: arb(3) ** -n)
    for cut in [2**62 // 3**n for n in range(1, 39)]:
        for word in {cut - 1, cut, cut + 1} - {0, -1}:  # further bits are zeros: the number is word / 2^62 exactly
            with insecure_source_for_tests_only(source_of([4 * word] * count)):
                found = draws.draw(count)[0][0]
            assert found == sum(word * 3**n < 2**62 for n in range(1, 60))


def test_a_million_draws_take_about_a_second():
    """Also of a wide law: the table is made once."""
    draws = SymmetricDraws(rounded_gaussian(200))
    draws.draw(10)
    with within(2):
        draws.draw(10**6)


def test_tails_beyond_the_table():
    """A word of zeros is followed by as many bits as it takes."""
    draws = TailDraws(lambda n, bits: arb(2) ** -n)
    for count in (1, 20):
        ones = [2**64 - 1] * (count - 1)
        with insecure_source_for_tests_only(source_of([0, *ones, 0, 3 * 2**62])):
            assert draws.draw(count)[0][0] == 62 + 64


@pytest.mark.parametrize("size", [3, 50])
def test_draws_beyond_64_bits(size):
    """A tail that falls by e once in 2^72 steps: its draws do not fit 64 bits, and are integers all the same."""
    numbers, _ = TailDraws(lambda n, bits: (-arb(n) / 2**72).exp()).draw(size)
    assert all(type(n) is int and n >= 0 for n in numbers.tolist())
    assert max(numbers.tolist()) >= 2**63
    signed = SymmetricDraws(lambda n, bits: (-arb(n) / 2**72).exp() / 2).draw(size)
    assert max(abs(n) for n in signed.tolist()) >= 2**63
