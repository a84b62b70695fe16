"""Thresholds of keys: against the orbit in fractions, enumerated tables, and all events of neighbouring ones."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from utmost.errors import InvalidInput
from utmost.privacy import ApproxDP, GaussianDP
from utmost.space.integers import Holders, Lattice
from utmost.theory.partition_selection.mechanism import ThresholdedKeys, ThresholdLaw

VECTORS = {10: 0.0128183080505, 14: 0.699887098988, 16: 0.959384638753, 20: 0.999256675028, 28: 1.0}
"""How likely a key is shown at (1, 1e-6), from the number of users."""


def orbit(ratio: Fraction, delta: Fraction, users: int) -> list[Fraction]:
    """p(0), p(1), ... by the raw inequalities of (epsilon, delta), in fractions."""
    found = [Fraction(0)]
    for _ in range(users):
        here = found[-1]
        found.append(min(ratio * here + delta, 1 - (1 - delta - here) / ratio, Fraction(1)))
    return found


def test_known_probabilities():
    law = ThresholdLaw(ApproxDP(1, 1e-6))
    assert law.release_probability(list(VECTORS)) == pytest.approx(list(VECTORS.values()), rel=1e-11)


@given(
    ratio=st.fractions(Fraction(101, 100), 20, max_denominator=100),
    delta=st.fractions(Fraction(1, 10**6), Fraction(1, 3)),
)
@settings(max_examples=20)
def test_keep_probabilities_are_the_orbit(ratio, delta):
    """Floats and balls both equal the orbit in fractions, to twelve digits and to twenty."""
    law = ThresholdLaw(ApproxDP.from_ratio(ratio, delta))
    expected = orbit(ratio, delta, 60)
    assert law.release_probability(np.arange(61)) == pytest.approx([float(p) for p in expected], rel=1e-12)
    for n in (0, 1, 2, 7, 31, 60):
        assert abs(float(1 - expected[n]) - float(law.enclose_missing(n, 128))) <= 1e-15
    assert law.hidden_probability(law.sure - 1) > 0
    assert law.hidden_probability(law.sure) == 0


def test_gaussian_steps_follow_their_own_level():
    """One Gaussian step: lost + (1 - lost) Phi(Phi^-1(a / (1 - lost)) + mu), computed by the level itself."""
    law, lost = ThresholdLaw(GaussianDP("0.3"), Fraction(1, 10**5)), 1e-5
    kept = law.release_probability(np.arange(law.sure + 1))
    inside = np.flatnonzero(kept[:-1] < 1 - lost)
    moved = GaussianDP("0.3").upper(kept[inside] / (1 - lost))
    assert kept[inside + 1] == pytest.approx(lost + (1 - lost) * moved, rel=1e-10)
    assert kept[[1, -1]].tolist() == [lost, 1]
    for n in (1, 5, law.half, law.sure - 1, law.sure):
        assert float(law.enclose_missing(n, 128)) == pytest.approx(
            float(law.hidden_probability(n)), rel=1e-9, abs=1e-15
        )


def test_a_tiny_probability_to_tell_all_is_drawn():
    """1 - 10^-40 is told from 1, over hundreds of steps: with too few bits, quantiles would become infinite."""
    law = ThresholdLaw(GaussianDP("0.05"), Fraction(1, 10**40))
    assert law.draw(20).min() > 200
    assert 0.4 < float(law.enclose_missing(law.half, 128)) < 0.6


@pytest.mark.parametrize("law", [ThresholdLaw(ApproxDP(1, 1e-6)), ThresholdLaw(GaussianDP("0.3"), Fraction(1, 10**5))])
def test_a_million_draws_have_the_law(law):
    drawn = law.draw(10**6)
    seen = np.bincount(drawn, minlength=law.sure + 1)[1:] / 10**6
    assert len(seen) == law.sure
    assert np.all(np.abs(seen - law.chances) <= 6 * np.sqrt(law.chances / 10**6) + 1e-5)


def test_a_shown_count_keeps_the_level_over_all_events():
    """Every set of outcomes, of n and n + 1 holders, in fractions: nothing is shown, or n - T + border."""
    ratio, delta = Fraction(2), Fraction(1, 20)
    p = orbit(ratio, delta, 40)

    def law(n: int) -> dict[object, Fraction]:
        shown = {n - t: p[t] - p[t - 1] for t in range(1, n + 1)}
        return {**shown, None: 1 - p[n]}

    for n in range(12):
        one, other = law(n), law(n + 1)
        for here, there in ((one, other), (other, one)):
            excess = sum(max(Fraction(0), here.get(o, 0) - ratio * there.get(o, Fraction(0))) for o in {*here, *there})
            assert excess <= delta  # the best set of outcomes
    assert law(1)[0] == delta  # a key that one unit alone holds


def tables(keys: int, units: int, each: int):
    """What so many units may hold: of each, at most so many keys."""
    holdings = [held for held in product((0, 1), repeat=keys) if sum(held) <= each]
    return product(holdings, repeat=units)


@pytest.mark.parametrize("each", [1, 2])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_neighbouring_tables_keep_the_level(each, neighbours):
    """All tables of two units and two keys: every set of shown keys, at every neighbour, in fractions."""
    promised = ApproxDP.from_ratio(4, Fraction(1, 10))
    space = Holders(2, each, neighbours)
    step = Fraction(4) if space.changes == 1 else Fraction(2) if space.changes == 2 else Fraction(4, 3)
    lost = Fraction(1, 10) if space.changes == 1 else Fraction(1, 40)
    law = ThresholdLaw(ApproxDP.from_ratio(step, lost))
    assert ThresholdedKeys(law, None, None, (promised,)).prove(space, promised).passed
    p = orbit(step, lost, 2)
    chosen = [held for held in product((0, 1), repeat=2) if sum(held) <= each]

    def shown(table) -> dict[tuple[int, ...], Fraction]:
        holders = [sum(unit[key] for unit in table) for key in range(2)]
        return {
            kept: math.prod((p[n] if yes else 1 - p[n]) for yes, n in zip(kept, holders, strict=True))
            for kept in product((0, 1), repeat=2)
        }

    for first, second in product(chosen, repeat=2):
        table = [first, second]
        others = [[first]] if neighbours == "add-remove" else [[first, other] for other in chosen]
        for other in others:
            for here, there in ((shown(table), shown(other)), (shown(other), shown(table))):
                assert sum(max(Fraction(0), here[k] - 4 * there[k]) for k in here) <= Fraction(1, 10)


def test_levels_that_do_not_compose_are_refused():
    level = ApproxDP(1, 1e-6)
    assert ThresholdLaw(level).keeps(1, level)
    assert not ThresholdLaw(level).keeps(2, level)
    assert ThresholdLaw(ApproxDP("0.5", 5e-7)).keeps(2, level)
    assert not ThresholdLaw(ApproxDP("0.500001", 5e-7)).keeps(2, level)
    assert not ThresholdLaw(ApproxDP("0.5", 5.1e-7)).keeps(2, level)
    assert not ThresholdLaw(GaussianDP("0.3"), Fraction(1, 10**7)).keeps(1, level)
    assert ThresholdLaw(GaussianDP("0.2"), Fraction(1, 10**7)).keeps(1, level)


def test_composition_is_that_of_the_accountant():
    """m equal levels keep just what exact composition says they do."""
    import utmost as um

    step = ApproxDP("0.05", "1e-8")
    for times in (3, 10, 40):
        exact = um.compose([step] * times)
        for steps in range(times % 2, times + 1, 2):
            delta = exact.delta(Fraction(1, 20) * steps)
            wider, tighter = (Fraction(delta * (1 + by)).limit_denominator(10**18) for by in (1e-6, -1e-6))
            assert ThresholdLaw(step).keeps(times, ApproxDP(Fraction(1, 20) * steps, wider))
            assert not ThresholdLaw(step).keeps(times, ApproxDP(Fraction(1, 20) * steps, tighter))


def test_intervals_of_shown_counts_hold():
    """Of the times a key is shown, its interval holds the truth in 95 % or more, whatever the truth: enumerated."""
    law = ThresholdLaw(ApproxDP(1, 1e-4))
    keys = ThresholdedKeys(law, law.half, None, (ApproxDP(1, 1e-4),))
    for n in (1, 2, 5, law.half - 1, law.half, law.half + 3, law.sure, 3 * law.sure):
        thresholds = np.arange(1, min(n, law.sure) + 1)
        low, high = keys.count_interval(n - thresholds + law.half, 0.95)
        held = law.chances[thresholds - 1][(low <= n) & (n <= high)].sum()
        assert held >= 0.95 * law.release_probability(n) * (1 - 1e-9)


def test_what_is_drawn_is_shown_by_the_law():
    level = ApproxDP.from_ratio(2, Fraction(1, 10))
    p = [float(x) for x in orbit(Fraction(2), Fraction(1, 10), 3)]
    keys = ThresholdedKeys(ThresholdLaw(level), 5, None, (level,))
    size = 40_000
    places, shown = keys.sample((np.repeat([1, 2, 3], size), None))
    for n in (1, 2, 3):
        mine = shown[(places // size) == n - 1, 0]
        assert len(mine) / size == pytest.approx(p[n], abs=0.015)
        for excess in range(n):
            expected = p[n - excess] - p[n - excess - 1]
            assert np.mean(mine == 5 + excess) * len(mine) / size == pytest.approx(expected, abs=0.015)


def test_forged_parts_are_not_private():
    level, space = ApproxDP(1, 1e-6), Holders(100, 1, "add-remove")
    assert ThresholdedKeys(ThresholdLaw(level), 14, None, (level,)).prove(space, level).passed
    wider = ApproxDP(2, 1e-6)
    assert not ThresholdedKeys(ThresholdLaw(wider), 14, None, (level,)).prove(space, level).passed
    assert not ThresholdedKeys(ThresholdLaw(wider), 14, None, (wider,)).prove(space, level).passed
    assert (
        not ThresholdedKeys(ThresholdLaw(level), None, None, (level,))
        .prove(Holders(100, 2, "add-remove"), level)
        .passed
    )
    assert (
        not ThresholdedKeys(ThresholdLaw(level), None, None, (level,)).prove(Lattice(1, "any", 1, 0, 9), level).passed
    )
    numbered = Holders(100, 1, "add-remove", Lattice(1, "any", 1, 0, 9))
    assert not ThresholdedKeys(ThresholdLaw(level), None, None, (level,)).prove(numbered, level).passed


@pytest.mark.parametrize("level", [ApproxDP(1, 0), ApproxDP(1, 1), ApproxDP(math.inf, 0.1), GaussianDP(1)])
def test_levels_that_show_nothing_are_refused(level):
    with pytest.raises(InvalidInput):
        ThresholdLaw(level)
