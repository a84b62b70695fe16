"""The mechanism that shows keys: known vectors, other thresholds, and files that prove themselves."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from utmost.accounting import compose
from utmost.errors import BadFile, UnsupportedLevel
from utmost.privacy import ZCDP, ApproxDP, ApproxGaussianDP, GaussianDP, PureDP
from utmost.solution.solution_file import solution_from_json, solution_to_json
from utmost.space.integers import Holders, Lattice
from utmost.theory.partition_selection.design import best_border, best_keys, best_law, require_delta, shares
from utmost.theory.partition_selection.mechanism import ThresholdedKeys, ThresholdLaw

LEVEL = ApproxDP(1, 1e-6)


def test_users_needed_for_one_half():
    """Where one user holds several keys: the Gaussian steps, and what the plain split of the level needs."""
    assert [best_law(keys, LEVEL).half for keys in (1, 10)] == [14, 72]
    assert ThresholdLaw(ApproxDP(Fraction(1, 10), 10**-7)).half == 132


@pytest.mark.long
def test_users_needed_for_a_hundred_keys_each():
    assert best_law(100, LEVEL).half == 235
    assert best_law(1000, LEVEL).half == 769


def test_the_border_is_best():
    """The border of least error, against all others; 0.8820738 at (1, 1e-6)."""
    law = ThresholdLaw(LEVEL)
    assert best_border(law, "absolute") == 14
    for loss in ("absolute", "squared", "zero-one", "within 2"):
        best = ThresholdedKeys(law, best_border(law, loss), None, (LEVEL,)).expected(loss)
        assert best == min(ThresholdedKeys(law, b, None, (LEVEL,)).expected(loss) for b in range(1, 29))
    assert ThresholdedKeys(law, 14, None, (LEVEL,)).expected("absolute") == pytest.approx(0.8820738, abs=1e-7)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-5), (1, 1e-6), (1, 1e-9), (3, 1e-6)])
def test_no_threshold_shows_a_key_more_often(epsilon, delta):
    """Laplace and Gaussian noise with the lowest threshold that hides one user's key with 1 - delta."""
    law, n = ThresholdLaw(ApproxDP(epsilon, delta)), np.arange(1, 200)
    border = 1 + np.log(1 / (2 * delta)) / epsilon
    laplace = np.where(n >= border, 1 - np.exp(-epsilon * (n - border)) / 2, np.exp(epsilon * (n - border)) / 2)
    assert np.all(law.release_probability(n) >= laplace - 1e-12)
    mu = brentq(lambda mu: gaussian_delta(mu, epsilon) - delta / 2, 0.01, 10)
    gaussian = norm.sf(1 + norm.isf(delta / 2) / mu, loc=n, scale=1 / mu)
    assert np.all(law.release_probability(n) >= gaussian - 1e-12)


def gaussian_delta(mu: float, epsilon: float) -> float:
    return float(norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


WIDER = {"kind": "approx", "epsilon": "2", "delta": "1/1000"}
SPACES = [
    (Holders(100, 1, "add-remove"), True, "theorem"),
    (Holders(100, 1, "replace"), False, "bound"),
    (Holders(100, 4, "add-remove"), True, "bound"),
    (Holders(100, 1, "add-remove", Lattice(1, "any", 10, 0, 1000)), False, "bound"),
    (Holders(100, 2, "replace", Lattice(2, "exchange", 10, 0, 1000)), False, "bound"),
]


@pytest.mark.parametrize(("space", "counted", "claim"), SPACES)
def test_files_prove_themselves_and_forgeries_do_not(space, counted, claim):
    best = best_keys(space, LEVEL, counted)
    assert best.verify()
    assert best.verify().optimal == claim
    content = json.loads(json.dumps(solution_to_json(best)))
    assert solution_from_json(content).verify()
    forgeries = [
        lambda c: c["mechanism"].update(law={"level": WIDER, "lost": "0"}),
        lambda c: c["problem"]["space"].update(keys_each=50),
        lambda c: c["problem"]["privacy"].update(delta="1/100000000"),
        lambda c: c.update(value=c["value"] * 0.9),
        lambda c: c["certificate"].update(claim="theorem" if claim == "bound" else "bound", bound=1.0, gap=0.0),
        lambda c: c["mechanism"].update(spent=[WIDER] * len(c["mechanism"]["spent"])),
    ]
    for forge in forgeries:
        forged = json.loads(json.dumps(content))
        forge(forged)
        with contextlib.suppress(BadFile):
            assert not solution_from_json(forged).verify(), forged["mechanism"]


def test_numbers_beside_keys_are_proved_with_them():
    space = Holders(100, 1, "add-remove", Lattice(1, "any", 10, 0, 1000))
    best = best_keys(space, LEVEL)
    assert best.mechanism.spent == (ApproxDP("0.5", "1e-6"), PureDP("0.5"))
    loose = dataclasses.replace(best.mechanism, noise=best_keys(space, ApproxDP(4, 1e-6)).mechanism.noise)
    assert not loose.prove(space, LEVEL).passed
    two = Holders(100, 2, "add-remove", Lattice(1, "any", 10, 0, 1000))
    assert not dataclasses.replace(best_keys(two, LEVEL).mechanism).prove(two, LEVEL).passed  # one key's noise for two


@pytest.mark.parametrize("level", [PureDP(1), GaussianDP(1), ZCDP(1)])
def test_levels_without_a_delta_are_refused(level):
    with pytest.raises(UnsupportedLevel, match="without a delta"):
        require_delta(level)


# ---- Gaussian levels with a delta ----


GAUSSIAN = ApproxGaussianDP("0.5", "1e-6")


def test_gaussian_keep_probabilities_are_the_most_the_level_allows():
    """One key each: upper_after(n, 0) of the level itself, to twelve digits, by theorem; never below a threshold's."""
    best = best_keys(Holders(1000, 1, "add-remove"), GAUSSIAN, with_count=True)
    law = best.mechanism.law
    users = np.arange(law.sure + 2)
    assert law.release_probability(users) == pytest.approx(GAUSSIAN.upper_after(users, 0.0), rel=1e-12)
    assert best.verify().optimal == "theorem"
    threshold = norm.sf(1 + norm.isf(1e-6) / 0.5, loc=users[1:], scale=2)
    assert np.all(law.release_probability(users[1:]) >= threshold - 1e-12)


@pytest.mark.parametrize("changes", [2, 7, 100])
def test_gaussian_steps_share_a_gaussian_level(changes):
    """All together they are the level but for rounding, by exact composition; one percent more is refused."""
    law = best_law(changes, GAUSSIAN)
    whole = compose([law.level, ApproxDP(0, law.lost)], times=changes)
    for epsilon in (0, 0.3, 1, 2):
        assert whole.delta(epsilon) <= compose(GAUSSIAN).delta(epsilon) == pytest.approx(whole.delta(epsilon), rel=1e-6)
    assert law.keeps(changes, GAUSSIAN)
    for loose in (
        ThresholdLaw(GaussianDP(law.level.mu * Fraction(101, 100)), law.lost),
        ThresholdLaw(law.level, law.lost * Fraction(101, 100)),
        ThresholdLaw(ApproxDP("0.01", "1e-9")),
    ):
        assert not loose.keeps(changes, GAUSSIAN)


@pytest.mark.parametrize(("space", "counted", "claim"), SPACES)
def test_gaussian_files_prove_themselves_and_forgeries_do_not(space, counted, claim):
    best = best_keys(space, GAUSSIAN, counted, share=Fraction(1, 4))
    content = json.loads(json.dumps(solution_to_json(best)))
    assert solution_from_json(content).verify().optimal == claim
    for forge in (
        lambda c: c["mechanism"]["law"]["level"].update(mu="1"),
        lambda c: c["mechanism"]["law"].update(lost="1/1000"),
        lambda c: c["problem"]["space"].update(keys_each=50),
        lambda c: c["problem"]["privacy"].update(delta="1/100000000"),
        lambda c: c["problem"]["privacy"].update(mu="1/4"),
        lambda c: c["problem"].update(privacy=LEVEL.to_json()),
        lambda c: c["mechanism"]["spent"][0].update(mu="3/4"),
        lambda c: c["mechanism"].update(spent=[LEVEL.to_json()] * len(c["mechanism"]["spent"])),
    ):
        forged = json.loads(json.dumps(content))
        forge(forged)
        with contextlib.suppress(BadFile):
            assert not solution_from_json(forged).verify(), forged["mechanism"]


def test_the_share_of_the_keys_can_be_chosen():
    """More for the keys shows them earlier, with noisier numbers; together they are never more than the level."""
    space = Holders(100, 1, "add-remove", Lattice(1, "any", 10, 0, 1000))
    for level in (LEVEL, GAUSSIAN):
        found = [best_keys(space, level, share=Fraction(part, 10)) for part in (2, 5, 8)]
        assert all(each.verify() for each in found)
        assert sorted((each.value for each in found), reverse=True) == [each.value for each in found]
        errors = [each.mechanism.expected("absolute") for each in found]
        assert sorted(errors) == errors
    keys, numbers = shares(GAUSSIAN, Fraction(1, 3))
    assert 1 - 1e-14 < (keys.mu**2 + numbers.mu**2) / GAUSSIAN.mu**2 <= 1
