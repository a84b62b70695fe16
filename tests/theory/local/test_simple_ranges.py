"""Where the simple local mechanisms are optimal: against 80-digit decimals over all partitions of the letters."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import utmost as um


def partitions(letters):
    """All partitions of a list into sets."""
    if not letters:
        yield []
        return
    first, *rest = letters
    for partition in partitions(rest):
        yield [[first], *partition]
        for i, block in enumerate(partition):
            yield [*partition[:i], [first, *block], *partition[i + 1 :]]


def kl(z, t):
    return z * (z / t).ln()


def chi2(z, t):
    return (z - t) ** 2 / t


def best_partition(p0, p1, epsilon, phi):
    """The partition (of all, contiguous or not) whose randomised response has the largest divergence, 80 digits."""
    with localcontext() as context:
        context.prec = 80
        q = 1 / (Decimal(repr(epsilon)).exp() - 1)
        a, b = ([Decimal(repr(float(x))) for x in p] for p in (p0, p1))

        def value(partition):
            sums = [(q + sum(a[i] for i in block), q + sum(b[i] for i in block)) for block in partition]
            return sum(phi(*pair) for pair in sums) / (1 + len(partition) * q)

        return max(partitions(list(range(len(p0)))), key=value)


def is_binary(partition, p0, p1):
    above = {i for i in range(len(p0)) if p0[i] > p1[i]}
    return len(partition) == 2 and any(set(block) == above for block in partition)


@pytest.mark.parametrize(
    ("p0", "p1", "until", "since"),
    [
        ([0.3, 0.30001, 0.39999], [0.1, 0.1, 0.8], 23.45766, 23.45766),
        ([0.3, 0.3001, 0.3999], [0.1, 0.1, 0.8], 18.85300, 18.85300),
        ([0.5, 0.3, 0.2], [0.2, 0.2999999, 0.5000001], 0.004714, 1.583040),
    ],
)
def test_thresholds_that_floating_point_does_not_resolve(p0, p1, until, since):
    """Letters of nearly the same ratio, and a letter of ratio nearly 1: on both sides of each threshold, 80 digits."""
    ranges = um.local.thresholds_for_testing(p0, p1)
    assert ranges.binary_until == pytest.approx(until, abs=5e-6)
    assert ranges.response_from == pytest.approx(since, abs=5e-6)
    for epsilon, binary in ((ranges.binary_until * (1 - 1e-8), True), (ranges.binary_until * (1 + 1e-8), False)):
        assert is_binary(best_partition(p0, p1, epsilon, kl), p0, p1) == binary
    for epsilon, response in ((ranges.response_from * (1 - 1e-8), False), (ranges.response_from * (1 + 1e-8), True)):
        assert (len(best_partition(p0, p1, epsilon, kl)) == 3) == response


@pytest.mark.parametrize("divergence", ["kl", "chi2"])
@pytest.mark.parametrize("seed", range(3))
def test_thresholds_of_five_letters(divergence, seed):
    p0, p1 = np.random.default_rng(seed).dirichlet(np.ones(5), 2)
    ranges = um.local.thresholds_for_testing(p0, p1, divergence)
    phi = {"kl": kl, "chi2": chi2}[divergence]
    for factor in (1 - 1e-6, 1 + 1e-6):
        best = best_partition(p0, p1, ranges.binary_until * factor, phi)
        assert is_binary(best, p0, p1) == (factor < 1)
        best = best_partition(p0, p1, ranges.response_from * factor, phi)
        assert (len(best) == 5) == (factor > 1)


@settings(max_examples=25, deadline=None)
@given(
    p=st.lists(st.integers(1, 10**7), min_size=3, max_size=4),
    q=st.lists(st.integers(1, 10**7), min_size=4, max_size=4),
    divergence=st.sampled_from(["kl", "reverse-kl", "chi2", "hellinger", "js", "hockey-stick 1.5"]),
)
def test_no_threshold_contradicts_the_universal_one(p, q, divergence):
    p0, p1 = np.array(p) / sum(p), np.array(q[: len(p)]) / sum(q[: len(p)])
    assert um.local.thresholds_for_testing(p0, p1, divergence).binary_until >= um.local.universal_epsilon(p0, p1)


def test_a_hundred_letters_have_thresholds():
    """A pair of 100 random letters is nearly tied: randomised response begins to be optimal beyond epsilon 20."""
    p0, p1 = np.random.default_rng(0).dirichlet(np.ones(100), 2)
    since = um.local.thresholds_for_testing(p0, p1).response_from
    assert 20 < since < 30
    order = np.argsort(p0 / p1)
    a, b = ([Decimal(x) for x in p[order].tolist()] for p in (p0, p1))
    with localcontext() as context:
        context.prec = 80
        margins = []
        for factor in (1 - 1e-6, 1 + 1e-6):
            q = 1 / (Decimal(since * factor).exp() - 1)
            single = [kl(q + x, q + y) for x, y in zip(a, b, strict=True)]
            price = q * sum(single) / (1 + 100 * q)
            pairs = (kl(q + a[i] + a[i + 1], q + b[i] + b[i + 1]) for i in range(99))
            margins.append(min(single[i] + single[i + 1] - pair - price for i, pair in enumerate(pairs)))
    assert margins[0] < 0 < margins[1]


def informed(q, mass):
    """The mutual information that a pattern carries, 80 digits."""
    mean = q + mass
    return mass * (1 + q) * ((1 + q) / mean).ln() + (1 - mass) * q * (q / mean).ln()


@pytest.mark.parametrize("prior", [[0.5, 0.3, 0.2], [0.9, 0.0999, 0.0001], [0.4, 0.3, 0.2, 0.0999999, 1e-7]])
def test_randomised_response_for_information_by_the_only_prices(prior):
    """Every set of letters costs at least its information from the threshold on, and one does not before it."""
    since = um.local.thresholds_for_information(prior).response_from
    signs = []
    with localcontext() as context:
        context.prec = 80
        for factor in (1 - 1e-8, 1 + 1e-8):
            q = 1 / (Decimal(since * factor).exp() - 1)
            weights = [Decimal(repr(p)) for p in prior]
            single = [informed(q, p) for p in weights]
            total = sum(single) / (1 + len(prior) * q)
            margins = []
            for number in range(1, 2 ** len(prior) - 1):
                letters = [i for i in range(len(prior)) if number >> i & 1]
                if len(letters) > 1:
                    together = informed(q, sum(weights[i] for i in letters))
                    margins.append(sum(single[i] for i in letters) - together - (len(letters) - 1) * q * total)
            signs.append(min(margins) >= 0)
    assert signs == [False, True]


def test_equal_hypotheses_and_functions_of_your_own():
    same = um.local.thresholds_for_testing([0.5, 0.3, 0.2], [0.5, 0.3, 0.2])
    assert (same.binary_until, same.response_from) == (math.inf, 0.0)
    p0, p1 = [0.4, 0.35, 0.25], [0.2, 0.3, 0.5]
    named = um.local.thresholds_for_testing(p0, p1, "chi2")
    own = um.local.thresholds_for_testing(p0, p1, lambda u: (u - 1) ** 2)
    assert own.binary_until == pytest.approx(named.binary_until, rel=1e-4)
    assert own.response_from == pytest.approx(named.response_from, rel=1e-4)
