"""Mechanisms of others, proved by their law or refused: functions, matrices, diffprivlib's finite ones."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import utmost as um
from utmost.errors import CannotCertify, InvalidInput

THREE = um.PureDP.from_ratio(3)


def of_diffprivlib(name, **attributes):
    """An object as diffprivlib makes it: the class's name, its module, and the parameters as attributes."""
    kind = type(name, (SimpleNamespace,), {"__module__": f"diffprivlib.mechanisms.{name.lower()}"})
    return kind(**attributes)


def test_a_function_that_says_its_law_is_proved():
    law = {0: {"no": Fraction(3, 4), "yes": Fraction(1, 4)}, 1: {"yes": Fraction(3, 4), "no": Fraction(1, 4)}}
    certified = um.certify(law.get, um.path(2), THREE)
    assert certified.outputs == ("no", "yes")
    assert certified.probability(1, "yes") == pytest.approx(0.75, abs=1e-12)
    with pytest.raises(CannotCertify, match=r"0\.75 against 0\.25"):
        um.certify(law.get, um.path(2), um.PureDP.from_ratio("29/10"))


def test_a_matrix_is_a_mechanism():
    assert um.certify(np.array([[0.75, 0.25], [0.25, 0.75]]), um.path(2), THREE).level == THREE


@pytest.mark.parametrize("wrong", [lambda x: 3, [1, 2], "coin", {"a": 1}, None])
def test_what_lists_no_probabilities_is_refused(wrong):
    with pytest.raises(InvalidInput, match=r"cannot be certified.*um\.audit"):
        um.certify(wrong, um.path(2), 1)
    with pytest.raises(InvalidInput):
        um.compare(wrong, um.path(2), privacy=1)


def test_a_law_that_is_none_is_refused():
    with pytest.raises(InvalidInput, match="no number"):
        um.certify(lambda x: {"a": "often"}, um.path(2), 1)
    with pytest.raises(InvalidInput):
        um.certify(lambda x: {"a": 0.5}, um.path(2), 1)


def test_binary_of_diffprivlib():
    """Private at its epsilon and not below; its delta, which it adds to the truth, makes it less private."""
    pair = um.Space.from_edges([("ill", "well")])
    coin = of_diffprivlib("Binary", epsilon=math.log(3), delta=0.0, value0="ill", value1="well")
    assert um.certify(coin, pair, THREE).probability("ill", "ill") == pytest.approx(0.75, abs=1e-12)
    with pytest.raises(CannotCertify):
        um.certify(coin, pair, 1.09)
    with pytest.raises(InvalidInput, match="has the points"):
        um.certify(coin, um.path(2), 1)


@pytest.mark.parametrize("sensitivity", [1, 3])
def test_truncated_geometric_of_diffprivlib(sensitivity):
    """Rows add up to one, and are private for moves of its sensitivity: compared with a long list of noise, cut."""
    noisy = of_diffprivlib("GeometricTruncated", epsilon=1.0, delta=0.0, sensitivity=sensitivity, lower=0, upper=6)
    edges = [(i, j) for i in range(7) for j in range(i + 1, 7) if j - i <= sensitivity]
    certified = um.certify(noisy, um.Space.from_edges(edges, points=range(7)), 1)
    ratio = math.exp(-1 / sensitivity)
    noise = {k: (1 - ratio) / (1 + ratio) * ratio ** abs(k) for k in range(-600, 601)}
    for output in range(7):
        brute = math.fsum(p for k, p in noise.items() if min(max(2 + k, 0), 6) == output)
        assert certified.probability(2, output) == pytest.approx(brute, abs=1e-12)
    with pytest.raises(CannotCertify):
        um.certify(noisy, um.Space.from_edges(edges, points=range(7)), 0.9)


def test_sparse_vector_without_noise_on_its_queries_is_caught():
    """A published variant (Stoddard et al. 2014) whose answers tell neighbours apart for certain."""

    def buggy(queries, epsilon=1.0):
        """Noise on the threshold 1 alone: which of the queries lie above it."""
        law, ratio = {}, math.exp(-epsilon / 2)
        for k in range(-40, 41):
            chance = ratio ** abs(k) * (1 - ratio) / (1 + ratio) if abs(k) < 40 else ratio**40 / (1 + ratio)
            answer = tuple(query >= 1 + k for query in queries)
            law[answer] = law.get(answer, 0) + chance
        return law

    neighbours = um.Space.from_edges([((0, 1), (1, 0))])  # one person moves every query by one
    with pytest.raises(CannotCertify, match="no epsilon allows that"):
        um.certify(buggy, neighbours, 1)


def test_compare_takes_the_same():
    law = lambda x: {0: 0.75, 1: 0.25} if x == 0 else {0: 0.25, 1: 0.75}  # noqa: E731
    assert um.compare(law, um.path(2), privacy=THREE).gap == pytest.approx(0, abs=1e-9)
