"""Mechanisms on lines: their losses by brute force, their privacy in rationals, their optimality by linear programs."""

import json
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.programs import binary_lp, least_loss_lp
from scipy import stats
from utmost.release.mechanisms import cache, choice
from utmost.release.mechanisms.choice import design_choice, design_number
from utmost.release.mechanisms.noisy_line import NoisyLine

import utmost as um
from utmost.design.noise.discrete import discrete_laplace, discrete_staircase
from utmost.errors import InvalidInput, TooLarge, UnsupportedLevel
from utmost.mechanism.certification import growth_floor
from utmost.mechanism.sampling import insecure_source_for_tests_only
from utmost.release.costs import cost
from utmost.release.priors import line_prior
from utmost.space.integers import Line

LOSSES = ("absolute", "squared", "zero-one", "within 2")
NOISES = (discrete_staircase, discrete_laplace)


def unfolded(line, noise, epsilon):
    """The noise at every point and on a long stretch of integers, nothing folded: rows points, columns outputs."""
    far = int(30 * line.reach / epsilon) + 50
    outputs = np.arange(-far, line.points + far)
    return noise.probability(outputs - np.arange(line.points)[:, None])


def least_loss(matrix, prior, loss):
    """The expected loss after the best guess at every output, by trying every guess."""
    n = len(prior)
    table = cost(loss, np.arange(n)[:, None] - np.arange(n))
    return (table.T @ (prior[:, None] * matrix)).min(axis=0).sum()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("points", "reach"), [(2, 1), (7, 1), (40, 1), (9, 4), (33, 5), (30, 40)])
def test_expected_losses_against_brute_force(points, reach, loss):
    """Folding loses nothing, and cumulative sums find the best guess: uniform, listed uniform and random priors."""
    line, rng = Line(0, points - 1, reach), np.random.default_rng(points)
    for epsilon in (0.15, 1.0, 4.0):
        for noise in (make(epsilon, reach) for make in NOISES):
            matrix = unfolded(line, noise, epsilon)
            uniform, other = np.full(points, 1 / points), rng.dirichlet(np.full(points, 0.4))
            for prior, given_prior in ((uniform, None), (uniform, uniform), (other, other)):
                mechanism = NoisyLine(line, noise, loss, given_prior)
                assert mechanism.expected(loss) == pytest.approx(least_loss(matrix, prior, loss), rel=1e-9, abs=1e-12)
                risks = [mechanism.risk(x, loss) for x in range(points)]
                assert prior @ risks == pytest.approx(mechanism.expected(loss), rel=1e-9, abs=1e-12)
                assert mechanism.worst == pytest.approx(max(risks))


def test_long_lines_agree_with_short_cuts():
    """Where the ends do not meet, mirrored ends and a constant inside equal the full computation."""
    line = Line(-7, 4993, 3)
    noise = discrete_staircase(1, 3)
    for loss in LOSSES:
        quick = NoisyLine(line, noise, loss)
        full = NoisyLine(line, noise, loss, np.full(line.points, 1 / line.points))
        for other in LOSSES:
            assert quick.expected(other) == pytest.approx(full.expected(other), rel=1e-10)
        outputs = np.arange(-3, line.points + 3)
        assert (np.abs(quick.guess(outputs) - full.guess(outputs)) <= 1).all()  # ties may fall either way
        assert quick.worst == pytest.approx(max(full.risk(x, loss) for x in range(0, line.points, 7)), rel=1e-3)


@given(st.integers(2, 30), st.integers(1, 9), st.sampled_from([0.3, 1, 2.5]), st.sampled_from(LOSSES))
@settings(max_examples=25)
def test_posterior_by_bayes(points, reach, epsilon, loss):
    """What is believed after an answer, against Bayes' rule on the whole law."""
    line = Line(5, 4 + points, min(reach, points))
    mechanism = NoisyLine(line, discrete_staircase(epsilon, line.reach), loss)
    law = transitions(mechanism)
    for v in range(points):
        if law[:, v].sum() > 0:
            positions, chances = mechanism.posterior(v + 5)
            wanted = law[:, v] / law[:, v].sum()
            assert np.allclose(wanted[positions], chances, atol=1e-10)
            assert wanted[positions].sum() == pytest.approx(1)


def transitions(mechanism, exact=False):
    """The probability of every answer at every point, summing folded outputs one by one."""
    n, period = mechanism.line.points, mechanism.noise.law.period
    found = np.zeros((n, n), dtype=object if exact else float)
    outputs = np.arange(-period, n + period)
    guesses = mechanism.guess(outputs)
    fold = 1 / (1 - mechanism.noise.law.decay)
    for x in range(n):
        for o, g in zip(outputs.tolist(), guesses.tolist(), strict=True):
            chance = mechanism.noise.probability(o - x, exact=True) * (1 if 0 <= o < n else fold)
            found[x, g] += chance if exact else float(chance)
    return found


@pytest.mark.parametrize(("points", "reach", "epsilon"), [(8, 1, 0.5), (12, 3, 1), (9, 5, 2.5), (6, 5, 0.1)])
def test_released_laws_are_private_in_rationals(points, reach, epsilon):
    """Rows add up to 1 and neighbours differ by at most e^epsilon, exactly, whatever the remap."""
    growth = growth_floor(um.PureDP(epsilon)) * (1 + Fraction(1, 2**60))
    for loss in LOSSES:
        for make in NOISES:
            law = transitions(NoisyLine(Line(0, points - 1, reach), make(epsilon, reach), loss), exact=True)
            assert all(sum(row) == 1 for row in law)
            for i in range(points):
                for j in range(max(0, i - reach), min(points, i + reach + 1)):
                    assert all(a <= growth * b for a, b in zip(law[i], law[j], strict=True))


def test_draws_follow_the_law():
    """Four thousand answers at each of three points, from a seeded source, by a chi-square test."""
    mechanism = NoisyLine(Line(10, 19, 3), discrete_staircase(0.8, 3), "absolute")
    law = transitions(mechanism)
    made_up = random.Random(1)
    with insecure_source_for_tests_only(made_up.randbytes):
        for point in (10, 14, 19):
            drawn = Counter(mechanism.release(point) for _ in range(4_000))
            chances = law[point - 10]
            used = chances > 0
            seen = np.array([drawn[v + 10] for v in np.flatnonzero(used)])
            assert seen.sum() == 4_000
            assert stats.chisquare(seen, 4_000 * chances[used] / chances[used].sum()).pvalue > 1e-4


# ---- optimality ----


def edges_of(line):
    return [(i, j) for i in range(line.points) for j in range(i + 1, min(line.points, i + line.reach + 1))]


@pytest.mark.parametrize("loss", ["absolute", "squared", "zero-one"])
@pytest.mark.parametrize(("points", "reach"), [(7, 1), (6, 2), (8, 3)])
def test_numbers_are_the_linear_program_s_optimum(points, reach, loss):
    """On short lines nothing private loses less: against one dense linear program over all mechanisms."""
    line = Line(0, points - 1, reach)
    edges = edges_of(line)
    table = cost(loss, np.arange(points)[:, None] - np.arange(points))
    for epsilon in (0.5, 2.0):
        design = design_number(line, um.PureDP(epsilon), loss)
        size = [epsilon] * len(edges)
        wanted = least_loss_lp(points, edges, size, [0] * len(edges), np.full(points, 1 / points), table, worst=False)
        assert design.expected[loss] == pytest.approx(wanted, abs=2e-7)
        assert design.verify()
        if design.proof.bound is not None:
            assert design.proof.bound <= wanted + 1e-7


@pytest.mark.parametrize(("points", "reach"), [(10, 2), (11, 4), (9, 3)])
def test_the_bounds_of_long_lines_bound_every_mechanism(points, reach, monkeypatch):
    """The bounds that long lines rely on, paths and windows, where a linear program can check them."""
    line = Line(0, points - 1, reach)
    edges = edges_of(line)
    table = np.abs(np.arange(points)[:, None] - np.arange(points)).astype(float)
    for epsilon in (0.2, 1.0, 3.0):
        sizes = [epsilon] * len(edges)
        best = least_loss_lp(points, edges, sizes, [0] * len(edges), np.full(points, 1 / points), table, worst=False)
        bound = choice._bound_by_paths(line, um.PureDP(epsilon))
        assert 0 < bound <= best + 1e-9
        monkeypatch.setattr(choice, "WINDOW", 5)
        assert choice._bound_by_windows(line, um.PureDP(epsilon)) <= best + 1e-9
        monkeypatch.undo()
        long = design_number(Line(0, 40_000, reach), um.PureDP(epsilon), "absolute")
        assert long.proof.claim == "bound"
        assert 0 <= long.proof.gap < 0.12 * long.expected["absolute"]


@settings(max_examples=30)
@given(st.integers(2, 14), st.integers(1, 5), st.sampled_from([0.2, 1, 2.0]), st.data())
def test_choices_against_the_linear_program(points, reach, epsilon, data):
    """Yes or no: no private mechanism errs less than the bound; with reach 1 ours is the optimum."""
    border = data.draw(st.integers(1, points - 1))
    line = Line(0, points - 1, min(reach, points - 1))
    prior = None if data.draw(st.booleans()) else np.random.default_rng(points).dirichlet(np.ones(points))
    design = design_choice(line, border, um.PureDP(epsilon), prior)
    edges = edges_of(line)
    truth = np.arange(points) >= border
    weights = np.full(points, 1 / points) if prior is None else prior
    x = binary_lp(points, edges, truth, {}, [epsilon] * len(edges), [0.0] * len(edges), weights)
    least = float(weights @ np.where(truth, 1 - x, x))
    ours = design.expected["zero-one"]
    assert ours >= least - 1e-8
    if design.proof.bound is not None:
        assert design.proof.bound <= least + 1e-8
    if line.reach == 1:
        assert ours == pytest.approx(least, abs=1e-8)
    assert design.verify()


def test_both_answers_of_a_choice_are_private_on_the_line():
    """Rows of all neighbours on the line, not only of blocks."""
    line = Line(-9, 9, 4)
    design = design_choice(line, 1, um.PureDP(1))
    weights = design.mechanism.solution.certified.weights
    rows = [weights[min(max((t - 1) // 4 + design.mechanism.no, 0), len(weights) - 1)] for t in range(-9, 10)]
    growth = growth_floor(um.PureDP(1))
    for i in range(19):
        for j in range(max(0, i - 4), min(19, i + 5)):
            assert all(int(a) <= growth * int(b) for a, b in zip(rows[i], rows[j], strict=True))


# ---- against the alternatives ----

LINES = [
    Line(0, 9, 1),
    Line(0, 200, 1),
    Line(0, 20_000, 1),
    Line(0, 100, 2),
    Line(0, 750, 5),
    Line(0, 10**6, 100),
    Line(-500, 500, 2),
]


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2])
def test_never_worse_than_the_alternatives(epsilon):
    """In the declared loss under the declared prior, from the laws."""
    for line in LINES:
        for loss in ("absolute", "squared", "zero-one"):
            design = design_number(line, um.PureDP(epsilon), loss)
            assert set(design.alternatives) == {"Laplace", "geometric", "Gaussian, delta = 1e-06"}
            for name, losses in design.alternatives.items():
                assert design.expected[loss] <= losses[loss] * (1 + 1e-12), (line, loss, name)
        border = line.first + line.points // 2
        decided = design_choice(line, border, um.PureDP(epsilon))
        for name, losses in decided.alternatives.items():
            assert decided.expected["zero-one"] <= losses["zero-one"] * (1 + 1e-12) + 1e-15, (line, name)


def test_alternatives_against_their_distributions():
    """Laplace, Gaussian and geometric noise, rounded and cut off, from SciPy's distributions."""
    points, reach, epsilon = 30, 3, 0.7
    line = Line(0, points - 1, reach)
    found = design_number(line, um.PureDP(epsilon), "absolute").alternatives
    from utmost.release.alternatives import _gaussian_spread

    sigma = _gaussian_spread(um.PureDP(epsilon))
    spent = stats.norm.cdf(0.5 / sigma - epsilon * sigma) - np.exp(epsilon) * stats.norm.cdf(
        -0.5 / sigma - epsilon * sigma
    )
    assert spent == pytest.approx(1e-6, rel=1e-6)
    laws = {
        "Laplace": stats.laplace(scale=reach / epsilon),
        "Gaussian, delta = 1e-06": stats.norm(scale=sigma * reach),
        "geometric": None,
    }
    for name, law in laws.items():
        matrix = np.zeros((points, points))
        for x in range(points):
            if law is None:
                mass = stats.dlaplace(epsilon / reach).pmf(np.arange(-400, 401))
            else:
                edges = np.arange(-400, 402) - 0.5
                mass = np.diff(law.cdf(edges))
            np.add.at(matrix[x], np.clip(x + np.arange(-400, 401), 0, points - 1), mass)
        for loss in ("absolute", "squared", "zero-one"):
            table = cost(loss, np.arange(points)[:, None] - np.arange(points))
            assert found[name][loss] == pytest.approx((matrix * table).sum() / points, rel=1e-6), (name, loss)
        border = 11
        wrong = np.where(np.arange(points) >= border, matrix[:, :border].sum(axis=1), matrix[:, border:].sum(axis=1))
        decided = design_choice(line, border, um.PureDP(epsilon)).alternatives
        assert decided[name]["zero-one"] == pytest.approx(wrong.mean(), rel=1e-6)


def test_a_sum_of_150_values_up_to_5():
    """sums(150, 5) at epsilon = 1: mean errors 4.93 under geometric and at most 4.79 here."""
    design = design_number(Line(0, 750, 5), um.PureDP(1), "absolute")
    assert design.alternatives["geometric"]["absolute"] == pytest.approx(4.93, abs=0.005)
    assert design.expected["absolute"] < 4.79


# ---- limits and the cache ----


def test_levels_and_sizes_that_make_no_sense_are_refused():
    """Each with what to give instead."""
    line = Line(0, 100, 1)
    for level, kind in (
        (um.PureDP(0), InvalidInput),
        (um.PureDP(float("inf")), InvalidInput),
        (um.GaussianDP(1), UnsupportedLevel),
    ):
        with pytest.raises(kind):
            design_number(line, level, "absolute")
    with pytest.raises(TooLarge):
        design_number(Line(0, 10**12, 10**9), um.PureDP("1e-6"), "absolute")
    with pytest.raises(InvalidInput):
        line_prior(line, [0.5, 0.5])
    for level in (um.GaussianDP(1), um.ApproxDP(1, "1e-6"), um.PureDP.from_ratio(3)):
        assert design_choice(line, 50, level).verify()
    assert design_number(line, um.PureDP.from_ratio(3), "squared").verify()
    assert design_number(line, um.PureDP(60), "absolute").expected["absolute"] < 1e-20


def test_designs_are_kept_by_public_parameters_and_proved_again(tmp_path, monkeypatch):
    """A second session finds the file; a file that was swapped for another problem's is not used."""
    monkeypatch.setenv("UTMOST_CACHE", str(tmp_path / "designs"))
    choice._uniform_number.cache_clear()
    line, level = Line(0, 20, 2), um.PureDP(1)
    first = design_number(line, level, "absolute")
    (file,) = (tmp_path / "designs").iterdir()
    made = []
    monkeypatch.setattr(choice, "optimal", lambda *a, **k: made.append(1) or um.finite.optimal(*a, **k))
    choice._uniform_number.cache_clear()
    again = design_number(line, level, "absolute")
    assert not made
    assert again.expected == first.expected
    other = um.finite.optimal(um.sums(10, 2), 1, loss="squared")  # private at this level, best for another loss
    other.save(file)
    choice._uniform_number.cache_clear()
    assert design_number(line, level, "absolute").expected["absolute"] == pytest.approx(first.expected["absolute"])
    assert made
    file.write_text("{}")
    choice._uniform_number.cache_clear()
    design_number(line, level, "absolute")
    assert len(made) == 2
    assert json.loads(file.read_text())["format"] == "utmost-solution"
    monkeypatch.setenv("UTMOST_CACHE", "off")
    assert cache.cache_folder() is None
