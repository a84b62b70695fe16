"""Shuffled responses: the vectors by another road, and every bound against enumeration of all answers of the others."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

import utmost as um
from utmost.errors import InvalidInput
from utmost.theory.local.design.shuffle import MOST_TRIED


@pytest.mark.parametrize(("epsilon", "central"), [(1.0, 0.126614480961), (2.0, 0.323323545)])
def test_vectors_of_two_answers(epsilon, central):
    """To eight digits; and the delta there by polynomials on roots of unity, which share no code with the design."""
    survey = um.local.survey(["no", "yes"], epsilon)
    found = um.local.shuffled(survey, 1000, 1e-6)
    assert found.exact
    assert found.epsilon == pytest.approx(central, rel=1e-8)
    assert _delta_by_transform(float(survey.inside), 1000, found.epsilon) == pytest.approx(1e-6, rel=1e-7)


def _delta_by_transform(p, n, epsilon):
    roots = np.exp(-2j * np.pi * np.arange(n + 1) / (n + 1))
    yes, no = (1 - p) + p * roots, p + (1 - p) * roots
    worst = 0.0
    for k in range(n):
        others = yes**k * no ** (n - 1 - k)
        laws = [np.fft.ifft(others * own).real for own in (yes, no)]
        worst = max(worst, *(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in (laws, laws[::-1])))
    return worst


def _delta_by_enumeration(survey, n, epsilon):
    """The worst delta over the answers of all others and the two answers of one: every tally of responses listed."""
    k, outputs, matrix = len(survey.categories), *_exact_law(survey)

    def tallies(answers):
        law = Counter()
        for drawn in itertools.product(range(len(outputs)), repeat=len(answers)):
            law[tuple(np.bincount(drawn, minlength=len(outputs)))] += math.prod(
                matrix[a][o] for a, o in zip(answers, drawn, strict=True)
            )
        return law

    worst = 0.0
    for others in itertools.combinations_with_replacement(range(k), n - 1):
        laws = [tallies((*others, own)) for own in range(k)]
        for a, b in itertools.permutations(laws, 2):
            worst = max(worst, sum(max(p - math.exp(epsilon) * b[h], 0.0) for h, p in a.items()))
    return worst


def _exact_law(survey):
    k, s, p = len(survey.categories), survey.size, float(survey.inside)
    outputs = list(itertools.combinations(range(k), s))
    inside, beside = p / math.comb(k - 1, s - 1), (1 - p) / math.comb(k - 1, s)
    return outputs, [[inside if x in chosen else beside for chosen in outputs] for x in range(k)]


@pytest.mark.parametrize("delta", [0.01, 0.1])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_two_answers_are_exact_for_few_people(n, delta):
    survey = um.local.survey(["no", "yes"], 1.5)
    found = um.local.shuffled(survey, n, delta)
    assert _delta_by_enumeration(survey, n, found.epsilon) <= delta + 1e-12
    assert found.epsilon < 1e-9 or _delta_by_enumeration(survey, n, found.epsilon - 1e-6) > delta


@pytest.mark.parametrize(("k", "size", "n"), [(3, 1, 4), (4, 1, 4), (4, 2, 3), (3, 2, 4)])
@pytest.mark.parametrize("epsilon", [0.7, 2.0])
def test_bounds_hold_for_more_answers(k, size, n, epsilon):
    """The stated delta is never exceeded, whatever the others answered; and the bound says something."""
    survey = um.local.survey(range(k), epsilon, size=size)
    for delta in (0.02, 0.1):
        found = um.local.shuffled(survey, n, delta)
        assert not found.exact
        assert _delta_by_enumeration(survey, n, found.epsilon) <= delta
        assert found.epsilon < epsilon


def test_bounds_against_the_exact_level():
    """For two answers every bound lies above the exact level, and not absurdly."""
    survey, exact = um.local.survey(["no", "yes"], 1.0), um.local.shuffled(um.local.survey([0, 1], 1.0), 500, 1e-6)
    any_mechanism = um.local.shuffled(1.0, 500, 1e-6)
    assert exact.epsilon < any_mechanism.epsilon < 2 * exact.epsilon
    above = um.local.shuffled(survey, MOST_TRIED + 1, 1e-6)
    assert not above.exact
    tried = um.local.shuffled(survey, 1500, 1e-6).epsilon * math.sqrt(1500 / (MOST_TRIED + 1))
    assert tried < above.epsilon < 1.4 * tried


def test_larger_crowds_hide_more():
    many = [um.local.shuffled(um.local.survey(range(6), 1.0), n, 1e-6).epsilon for n in (10, 100, 10_000)]
    assert many == sorted(many, reverse=True)
    assert um.local.shuffled(um.local.survey([0, 1], 1.0), 10, 1e-6).level.epsilon <= 1


def test_ends():
    assert um.local.shuffled(um.local.survey([0, 1], "1e-30"), 10, 0.1).epsilon == 0
    assert um.local.shuffled(math.inf, 10, 0.1).epsilon == math.inf
    for delta in (0, 1, -0.1):
        with pytest.raises(InvalidInput, match="delta is"):
            um.local.shuffled(1.0, 10, delta)
    with pytest.raises(InvalidInput, match="n is 0"):
        um.local.shuffled(1.0, 0, 0.1)
