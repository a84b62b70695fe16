"""One number on a line: its vectors, linear programs over raw inequalities, privacy over all events, large sizes."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.pace import within
from oracles.programs import least_loss_by_lines
from scipy.stats import chisquare

import utmost as um
from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.solution import Solution, proved_bound
from utmost.space.line import Line, cost
from utmost.theory.scalar.design.line import best_on_line
from utmost.theory.scalar.design.threshold_chains import enforce_order
from utmost.theory.scalar.line import NoisyLine

approx = pytest.approx
PAIR = um.SuitablePair([(0, "1/50"), ("1/10", "2/5"), ("1/4", "3/4"), ("3/5", "9/10"), ("49/50", 1), (1, 1)])


# ---- counts: the chain theorem ----


@pytest.mark.parametrize(
    ("level", "loss", "prior", "expected", "digits"),
    [
        (um.ApproxDP(1, "0.1"), "absolute", None, 0.4499831752178, 5e-13),
        (um.ApproxDP("0.5", "0.02"), "squared", None, 1.42487227736, 5e-12),
        (um.ApproxDP(1, "0.01"), "absolute", [0.4, 0.3, 0.15, 0.1, 0.05], 0.5336004377003, 5e-13),
    ],
)
def test_counts_of_five(level, loss, prior, expected, digits):
    """Numbers computed elsewhere; `finite.optimal` finds the same."""
    found = best_on_line(Line(0, 4, 1), level, loss, prior)
    assert found.value == approx(expected, abs=digits)
    assert found.certificate.claim == "theorem"
    assert found.verify()
    table = um.finite.optimal(um.path(5), level, prior, loss)
    assert table.value == approx(expected, abs=1e-9)
    assert table.verify().optimal == "theorem"


priors = (
    st.integers(2, 5)
    .flatmap(lambda n: st.lists(st.sampled_from([0.0, 0.05, 0.2, 0.5, 1.0, 3.0]), min_size=n, max_size=n))
    .filter(lambda weights: sum(weights) > 0)
)
straight = st.one_of(
    st.builds(um.PureDP, st.fractions("1/5", 3, max_denominator=20)),
    st.builds(um.ApproxDP, st.fractions(0, 3, max_denominator=20), st.fractions("1/100", "2/5", max_denominator=100)),
    st.just(PAIR),
)


def table_of(loss, n):
    return cost(loss, np.arange(n)[:, None] - np.arange(n))


def events_kept(mechanism, level, within=1e-12):
    """Whether no event of any two neighbours breaks a level: those in order of likelihood ratio, which none beats."""
    line = mechanism.line
    rows = np.zeros((line.points, 3 * line.points + 1000))
    low = line.first - line.points - 400
    for i in range(line.points):
        values, chances = mechanism.law(line.first + i)
        np.add.at(rows[i], np.clip(values - low, 0, rows.shape[1] - 1), chances)
    for i in range(line.points):
        for h in range(max(0, i - line.reach), min(line.points, i + line.reach + 1)):
            here, there = rows[i], rows[h]
            order = np.argsort(np.where(there > 0, here / np.where(there > 0, there, 1), np.inf))
            if (np.cumsum(there[order]) > level.upper(np.clip(np.cumsum(here[order]), 0, 1)) + within).any():
                return False
    return True


@given(straight, priors, st.sampled_from(["absolute", "squared"]))
@settings(max_examples=60, deadline=None)
def test_counts_against_linear_programs(level, weights, loss):
    """Any level made of lines, any prior (zeros too): the least loss over the raw inequalities, and private."""
    n, prior = len(weights), np.array(weights) / sum(weights)
    found = best_on_line(Line(0, n - 1, 1), level, loss, prior)
    least = least_loss_by_lines(n, 1, level.lines(), prior, table_of(loss, n))
    assert found.value == approx(least, abs=1e-7)
    assert found.verify().optimal == "theorem"
    assert events_kept(found.mechanism, level)


@given(
    st.fractions("1/4", "3/2", max_denominator=20),
    priors.filter(lambda w: len(w) < 5),
    st.sampled_from(["absolute", "squared"]),
)
@settings(max_examples=6, deadline=None)
def test_gaussian_counts_against_linear_programs(mu, weights, loss):
    """Tangents of a Gaussian level bound the least loss from below, closely where there are many."""
    level, n, prior = um.GaussianDP(mu), len(weights), np.array(weights) / sum(weights)
    found = best_on_line(Line(0, n - 1, 1), level, loss, prior)
    slopes = level.tangent(np.concatenate([np.geomspace(1e-3, 0.1, 5), np.linspace(0.2, 0.95, 7)]))
    lines = list(zip(slopes.tolist(), level.intercept(slopes).tolist(), strict=True))
    least = least_loss_by_lines(n, 1, lines, prior, table_of(loss, n))
    assert least - 1e-7 <= found.value <= least + 0.02 * max(1, table_of(loss, n).max())
    assert found.verify().optimal == "theorem"
    assert events_kept(found.mechanism, level, 1e-9)  # floats near 1 leave out what upper magnifies


@given(straight, priors, st.sampled_from(["zero-one", "within 1"]))
@settings(max_examples=20, deadline=None)
def test_other_losses_on_counts(level, weights, loss):
    """Bounds hold and values are attained, where no theorem gives the optimum; at pure levels one does."""
    n, prior = len(weights), np.array(weights) / sum(weights)
    least = least_loss_by_lines(n, 1, level.lines(), np.full(n, 1 / n), table_of(loss, n))
    even = best_on_line(Line(0, n - 1, 1), level, loss)
    assert even.value >= least - 1e-7
    assert even.certificate.bound is None or even.certificate.bound <= least + 1e-7
    assert even.verify()
    found = best_on_line(Line(0, n - 1, 1), level, loss, prior)
    least = least_loss_by_lines(n, 1, level.lines(), prior, table_of(loss, n))
    assert found.value >= least - 1e-7
    if isinstance(level, um.PureDP):
        assert found.value == approx(least, abs=1e-7)
        assert found.certificate.claim == "theorem"


# ---- sums: flows, pairs and prices ----


@pytest.mark.parametrize(
    ("epsilon", "bound", "value"),
    [
        ("0.1", 599.246251509, 599.4025),
        ("0.5", 118.734748991, None),
        ("1", 57.5633604291, 57.5673),
        ("2", 25.5242608741, None),
    ],
)
def test_hours_online(epsilon, bound, value):
    """Steps of half an hour, at most 120 of them each, 3,000,001 points: bounds and errors computed elsewhere."""
    with within(2):
        found = best_on_line(Line(0, 3_000_000, 120), um.PureDP(epsilon))
    assert found.certificate.evidence["proof"] == "flow"
    assert found.certificate.bound / 2 == approx(bound, abs=1e-8)
    if value is not None:
        assert found.value / 2 == approx(value, abs=5e-5)
    assert found.verify().optimal == "bound"
    assert found.certificate.gap < 0.01 * found.value


@given(
    straight,
    st.tuples(st.integers(4, 7), st.integers(2, 3)),
    st.sampled_from(["absolute", "squared", "zero-one", "within 1"]),
)
@settings(max_examples=30, deadline=None)
def test_sums_against_linear_programs(level, shape, loss):
    """Bounds lie below the least loss over the raw inequalities, values above; programs find it. All are private."""
    n, reach = shape
    line = Line(-3, n - 4, reach)
    least = least_loss_by_lines(n, reach, level.lines(), np.full(n, 1 / n), table_of(loss, n))
    found = best_on_line(line, level, loss)
    assert found.value >= least - 1e-7
    assert found.certificate.bound is None or found.certificate.bound <= least + 1e-9
    if isinstance(level, um.ApproxDP) and n * reach <= 20:
        assert found.value <= least + 1e-5
    assert found.verify()
    assert events_kept(found.mechanism, level, 1e-9)
    assert -3 <= found.sample(-3) <= n - 4


@given(
    st.fractions("1/2", 3, max_denominator=10), st.integers(2, 4), st.sampled_from(["absolute", "squared", "within 2"])
)
@settings(max_examples=12, deadline=None)
def test_flows_lie_below_the_program(epsilon, reach, loss):
    """Lines long enough for a flow to say something, short enough for the program."""
    from utmost.theory.scalar.design.line import _flows

    n, level = 14, um.PureDP(epsilon)
    line = Line(0, n - 1, reach)
    least = least_loss_by_lines(n, reach, [level.lines()[0]], np.full(n, 1 / n), table_of(loss, n))
    for evidence in _flows(line, level, loss):
        problem = um.Problem("number.line", line, level, {"loss": loss, "prior": None, "unbiased": False})
        assert proved_bound(problem, evidence) <= least + 1e-9


def test_priors_on_sums():
    """A listed prior on a short sum: the program's optimum, and its prices."""
    prior = np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    found = best_on_line(Line(0, 5, 2), 1.0, "absolute", prior)
    least = least_loss_by_lines(6, 2, um.PureDP(1).lines(), prior, table_of("absolute", 6))
    assert found.value == approx(least, abs=1e-6)
    assert found.certificate.bound <= least + 1e-9
    assert found.verify()


# ---- unbiased ----


@pytest.mark.parametrize(
    "level",
    [um.PureDP(1), um.ApproxDP("0.5", "0.001"), um.GaussianDP("0.5"), PAIR],
    ids=["pure", "delta", "mu", "knots"],
)
@pytest.mark.parametrize("reach", [1, 3])
def test_unbiased(level, reach):
    """Mean 0 at an end of the line too, not cut off, and private for the reach."""
    line = Line(0, 20, reach)
    found = best_on_line(line, level, unbiased=True)
    values, chances = found.mechanism.law(0)
    assert float(chances.sum()) == approx(1, abs=1e-9)
    assert float(chances @ values) == approx(0, abs=1e-9)
    assert values.min() < 0
    assert found.verify()
    assert found.certificate.claim == ("theorem" if reach == 1 or isinstance(level, um.PureDP) else "bound")
    assert events_kept(found.mechanism, level, 1e-9)
    width = found.mechanism.noise.half_width(0.95)
    inside = float(chances[np.abs(values) <= width].sum())
    assert inside >= 0.95 > float(chances[np.abs(values) < width].sum())
    assert isinstance(found.sample(0), int)


def test_unbiased_sum_at_a_delta_is_no_worse_than_pure():
    """A delta only helps: the best of several laws is taken."""
    line = Line(0, 10**6, 50)
    for epsilon in ("0.1", "1", "3"):
        pure = best_on_line(line, um.PureDP(epsilon), unbiased=True).value
        assert best_on_line(line, um.ApproxDP(epsilon, "1e-6"), unbiased=True).value <= pure


# ---- laws, draws, sizes, files ----


CASES = [
    (Line(5, 25, 1), um.ApproxDP("0.5", "0.01"), "absolute"),
    (Line(5, 25, 1), um.GaussianDP(1), "squared"),
    (Line(5, 25, 1), PAIR, "absolute"),
    (Line(5, 25, 1), um.PureDP(1), "absolute"),
    (Line(5, 25, 3), um.PureDP(1), "absolute"),
    (Line(5, 105, 3), um.ApproxDP(1, "0.01"), "squared"),
    (Line(5, 105, 3), um.GaussianDP(1), "within 2"),
    (Line(5, 65, 2), um.ZCDP("0.5"), "absolute"),
]


@pytest.mark.parametrize(("line", "level", "loss"), CASES, ids=str)
def test_law_expectation_posterior_and_draws_agree(line, level, loss):
    """One table from the law at every point: its losses, its posteriors, and the draws at one point."""
    found = best_on_line(line, level, loss).mechanism
    points = np.arange(line.first, line.last + 1)
    matrix = np.zeros((line.points, line.points))
    for i, point in enumerate(points):
        values, chances = found.law(point)
        np.add.at(matrix[i], values - line.first, chances)
    assert matrix.sum(axis=1) == approx(np.ones(line.points), abs=1e-9)
    for each in ("absolute", "squared", "zero-one", "within 2"):
        risks = (matrix * table_of(each, line.points)).sum(axis=1)
        assert found.expected(each) == approx(risks.mean(), abs=1e-8)
        assert found.worst(each) == approx(risks.max(), abs=1e-8)
    for value in points[:: line.points // 5]:
        column = matrix[:, value - line.first]
        if column.sum() > 1e-9:
            at, chances = found.posterior(int(value))
            full = np.zeros(line.points)
            full[at - line.first] = chances
            assert full == approx(column / column.sum(), abs=1e-8)
    size = 1500
    drawn = np.array([found.sample(line.first + 2) for _ in range(size)]) - line.first
    likely = np.flatnonzero(matrix[2] * size > 10)
    often = np.append([(drawn == k).sum() for k in likely], (~np.isin(drawn, likely)).sum())
    shares = np.append(matrix[2][likely], max(1 - matrix[2][likely].sum(), 1e-12))
    keep = shares * size > 1
    assert chisquare(often[keep], shares[keep] / shares[keep].sum() * often[keep].sum()).pvalue > 1e-6


@pytest.mark.parametrize(
    ("line", "level"),
    [
        (Line(0, 10**6, 1), um.PureDP("0.05")),
        (Line(0, 10**6, 1), um.ApproxDP("0.1", "1e-6")),
        (Line(0, 10**8, 5000), um.PureDP("0.05")),
        (Line(0, 10**8, 5000), um.PureDP("0.001")),
        (Line(0, 3 * 10**6, 120), um.ApproxDP("0.1", "1e-6")),
    ],
    ids=str,
)
def test_large(line, level):
    """Designed in seconds, verified in seconds, drawn at once; no width is too large."""
    with within(5):
        found = best_on_line(line, level)
    assert found.verify()
    assert line.first <= found.sample(line.last // 2) <= line.last
    if found.certificate.bound is not None:
        assert found.certificate.bound <= found.value


def test_finite_optimal_of_a_million_counts():
    """Beyond what a table holds, the solution is an exact law on the line."""
    found = um.finite.optimal(um.path(10**6), um.GaussianDP("0.5"), loss="absolute")
    assert found.value == approx(1.57902284355, rel=1e-5)
    assert found.verify().optimal == "theorem"
    assert 0 <= found.sample(500) < 10**6


def test_listed_priors_on_long_counts():
    """A prior over ten thousand counts at a delta: chains on demand."""
    prior = np.exp(-((np.arange(5000) - 700.0) ** 2) / 2e4)
    found = best_on_line(Line(0, 4999, 1), um.ApproxDP("0.5", "1e-4"), "absolute", prior / prior.sum())
    assert found.certificate.claim == "theorem"
    assert found.verify()
    assert found.value < best_on_line(Line(0, 4999, 1), um.PureDP("0.5"), "absolute", prior / prior.sum()).value


@pytest.mark.parametrize("level", [um.ApproxDP(1, "1e-6"), um.GaussianDP(1)])
@pytest.mark.parametrize("n", [20_000, pytest.param(10**6, marks=pytest.mark.long)])
def test_listed_priors_are_proved_at_every_size(level, n):
    """A prior without any regularity: every threshold differs, thousands of starts move to fit together; proved."""
    weights = np.random.default_rng(1).random(n)
    found = um.finite.optimal(um.path(n), level, weights / weights.sum(), "absolute")
    checked = found.verify()
    assert checked
    assert checked.optimal == "theorem"
    assert checked.gap < 1e-6


def test_starts_are_put_in_order():
    """As one after the other would be."""
    level, rng = um.ApproxDP("0.5", "1e-3"), np.random.default_rng(3)
    for _ in range(50):
        starts = rng.random(30) ** 3
        one = starts.copy()
        for t in range(len(one) - 1):
            room = float(level.upper(one[t]))
            if one[t + 1] > max(one[t], room * (1 - 1e-14)):
                one[t + 1] = max(one[t], room * (1 - 2e-14))
        assert enforce_order(level, starts) == approx(one, rel=1e-13)
        assert (np.diff(one) <= level.upper(one[:-1]) - one[:-1]).all()


def test_bad_input():
    """Values, rules and remedies."""
    with pytest.raises(InvalidInput, match="loss"):
        best_on_line(Line(0, 5, 1), 1.0, "cubic")
    with pytest.raises(InvalidInput, match="shape"):
        best_on_line(Line(0, 5, 1), 1.0, prior=[1.0])
    with pytest.raises(InvalidInput, match="add up"):
        best_on_line(Line(0, 1, 1), 1.0, prior=[0.5, 0.6])
    with pytest.raises(InvalidInput):
        best_on_line(Line(0, 5, 1), um.GaussianDP(0))
    with pytest.raises(UnsupportedLevel):
        best_on_line(
            Line(0, 5, 1), um.SuitablePair.from_functions(lambda a: 0.5 - np.arctan(1 / np.tan(np.pi * a) - 1) / np.pi)
        )


@pytest.mark.parametrize(("line", "level", "loss"), CASES, ids=str)
def test_saved_and_loaded(line, level, loss, tmp_path):
    """The same bytes again, and a proof from the file alone."""
    found = best_on_line(line, level, loss)
    path = found.save(tmp_path / "number.json")
    again = Solution.load(path)
    assert again.verify()
    assert json.loads(path.read_bytes())["mechanism"]["kind"] == found.mechanism.kind
    assert again.save(tmp_path / "again.json").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("level", [um.GaussianDP(1), um.ApproxDP(1, 1e-6)], ids=str)
def test_counts_of_more_than_can_be_listed_take_noise(level):
    """There is a chain for every point, and of a thousand billion points they would be terabytes."""
    found = best_on_line(Line(0, 10**12, 1), level)
    assert isinstance(found.mechanism, NoisyLine)
    assert found.value == approx(best_on_line(Line(0, 10**5, 1), level).value, rel=1e-4)
    assert found.verify()
