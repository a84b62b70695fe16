"""Audits of mechanisms that are not ours: known mistakes of the past are caught, and what is right is not."""

import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import utmost as um
from utmost.errors import InvalidInput
from utmost.queries.distinctions import best_event, least, upmost

dp = pytest.importorskip("opendp.prelude", reason="OpenDP is not installed (extra dev)")
RNG = np.random.default_rng(2012)


def laplace(scale):
    return float(RNG.exponential(scale) - RNG.exponential(scale))


def textbook_laplace(x, scale=1.0):
    """Inverse sampling in floating point, as every library did until 2012."""
    u = float(RNG.random()) - 0.5
    return x - scale * math.copysign(1, u) * math.log(1 - 2 * abs(u))


def test_laplace_noise_in_floating_point_is_caught():
    """Mironov 2012: the last binary digits of the answer tell 0 and 1 apart."""
    found = um.audit(textbook_laplace, 0.0, 1.0, runs=4000, privacy=1)
    assert found.broken
    assert found.epsilon_at_least > 3
    assert "last binary digit" in found.event


def test_noise_on_whole_numbers_is_not():
    found = um.audit(lambda x: round(laplace(1)) + x, 0, 1, runs=4000, privacy=1)
    assert not found.broken
    assert found.epsilon_at_least > 0.3


def sum_that_wraps(values):
    """The sum of integers of a fixed size, with noise for the range of one: Casacuberta et al. 2022."""
    total = np.sum(np.array(values, dtype=np.int8), dtype=np.int8)
    return int(total) + round(laplace(10))


def regression_coefficient(values, lower=0, upper=100):
    """diffprivlib 0.6.6, linear regression: the range of a square is that of the lower bound, twice."""
    sensitivity = max(abs(lower), abs(lower)) ** 2
    return sum(value**2 for value in values) + (laplace(sensitivity) if sensitivity else 0.0)


def scale_upside_down(tally, epsilon=0.5):
    """Noise of scale epsilon where 1/epsilon is meant: a mistake that Ding et al. 2018 try their detector on."""
    return [count + laplace(epsilon) for count in tally]


@pytest.mark.parametrize(
    ("mechanism", "one", "other", "promised"),
    [
        (sum_that_wraps, [127, 0], [127, 1], 0.1),
        (regression_coefficient, [100], [0], 1),
        (scale_upside_down, [1, 5], [2, 5], 0.5),
        (lambda tally: int(np.argmax(tally)) if RNG.random() < 0.5 else 0, [1, 2], [2, 1], 0.2),
    ],
)
def test_known_mistakes_are_caught(mechanism, one, other, promised):
    assert um.audit(mechanism, one, other, runs=2000, privacy=promised).broken


def test_opendp_says_its_promise_and_keeps_it():
    dp.enable_features("contrib")
    line = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    whole = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    for measurement, one, other, promised in (
        (dp.m.make_laplace(*line, scale=1.0), 0.0, 1.0, "1-DP"),
        (dp.m.make_gaussian(*whole, scale=1.0), 0, 1, "0.5-zCDP"),
        (dp.m.make_randomized_response_bool(prob=0.75), False, True, "1.0986122886681098-DP"),
    ):
        found = um.audit(measurement, one, other, runs=2000)
        assert found.promised == promised
        assert not found.broken
    assert um.audit(dp.m.make_laplace(*line, scale=1.0), 0.0, 9.0, runs=2000).broken  # nine apart, not one


def test_diffprivlib_says_its_promise():
    """Its mechanisms have `randomise`, epsilon and delta."""
    honest = SimpleNamespace(epsilon=1.0, delta=0.0, randomise=lambda x: x + round(laplace(1)))
    assert um.audit(honest, 0, 1, runs=2000).promised == "1-DP"
    loose = SimpleNamespace(epsilon=0.5, delta=1e-6, randomise=lambda x: x + round(laplace(0.1)))
    found = um.audit(loose, 0, 1, runs=2000)
    assert found.broken
    assert found.promised == "(0.5, 1e-06)-DP"


def test_a_command_is_asked_by_standard_input(tmp_path):
    program = tmp_path / "noisy.py"
    program.write_text(
        "import json, random\nx = sum(json.loads(input()))\nrandom.seed(5)\n"
        "for _ in range(500): print(x + round(random.gauss(0, 0.2)))\n"
    )
    found = um.audit([sys.executable, str(program)], [1, 1], [1], runs=1000, privacy=um.ZCDP(0.1))
    assert found.broken
    for wrong, words in ((["/no/such/program"], "did not run"), ([sys.executable, "-c", "exit(3)"], "code 3")):
        with pytest.raises(InvalidInput, match=words):
            um.audit(wrong, 0, 1, runs=100, privacy=1)


def test_zcdp_is_judged_by_divergences():
    """Gaussian noise keeps its rho, and is caught where it promises a fifth of it."""
    noisy = lambda x: x + float(RNG.normal(0, 1))  # noqa: E731
    assert not um.audit(lambda x: round(noisy(x)), 0, 1, runs=4000, privacy=um.ZCDP(0.5)).broken
    assert um.audit(lambda x: round(noisy(2 * x)), 0, 1, runs=4000, privacy=um.ZCDP(0.1)).broken


def test_what_cannot_be_audited_is_refused():
    with pytest.raises(InvalidInput, match="say what is promised"):
        um.audit([sys.executable], 0, 1)
    with pytest.raises(InvalidInput, match="a set, which cannot be counted"):
        um.audit(lambda x: {1}, 0, 1, runs=100, privacy=1)


def test_events_of_vectors_and_of_answers_without_an_order():
    ones, others = [(0, 5)] * 90 + [(1, 5)] * 10, [(0, 5)] * 10 + [(1, 5)] * 90
    event, swapped = best_event(ones, others, 0.0)
    assert ((0, 5) in event) != swapped
    mixed, _ = best_event(["a", 1] * 50, ["a"] * 100, 0.0)
    assert 1 in mixed
    assert None not in mixed


def test_bounds_of_a_chance_are_those_of_clopper_and_pearson():
    """Each end is where the tail of the binomial has half of what is left of the confidence."""
    for k in (1, 7, 40):
        low, high = float(least(k, 40)), float(upmost(k, 40))
        tail = math.fsum(math.comb(40, i) * low**i * (1 - low) ** (40 - i) for i in range(k, 41))
        assert tail == pytest.approx(0.0005, rel=1e-6)
        if k < 40:
            rest = math.fsum(math.comb(40, i) * high**i * (1 - high) ** (40 - i) for i in range(k + 1))
            assert rest == pytest.approx(0.0005, rel=1e-6)
    assert (float(least(0, 40)), float(upmost(40, 40))) == (0.0, 1.0)
