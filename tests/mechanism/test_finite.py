"""Mechanisms against the definitions: every guess, every subset of outputs, every edge in both directions."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from utmost.errors import InvalidInput, TooLarge, UnknownPoint
from utmost.mechanism import FiniteMechanism, Mechanism, RecipeMechanism, loss_table
from utmost.space import Space
from utmost.space.families import cycle, grid, path

COIN = FiniteMechanism([[0.75, 0.25], [0.25, 0.75]], ("no", "yes"), (False, True))
TABLE = np.array([[0.0, 3, 1], [2, -1, 5], [4, 4, 0]])
LOSSES = {
    "zero-one": lambda p, g: float(p != g),
    "absolute": lambda p, g: abs(p - g),
    "squared": lambda p, g: (p - g) ** 2,
    "table": lambda p, g: TABLE[p, g],
    "callable": lambda p, g: math.exp(p) * (p - g) ** 4,
}
LOSS_ARGUMENTS = {**{name: name for name in LOSSES}, "table": TABLE, "callable": LOSSES["callable"]}


@st.composite
def rows(draw, shapes):
    """A matrix of sixteenths with many zeros, so that sums of entries are exact in floating point."""
    n, k = draw(shapes)
    cuts = st.lists(st.integers(0, 16), min_size=k - 1, max_size=k - 1).map(sorted)
    return np.array([np.diff([0, *draw(cuts), 16]) / 16 for _ in range(n)]).reshape(n, k)


THREE = rows(st.just((3, 3)))
ANY = rows(st.tuples(st.integers(1, 4), st.integers(1, 5)))
PRIORS = st.lists(st.integers(0, 4), min_size=3, max_size=3).filter(any).map(lambda w: [x / sum(w) for x in w])


def average(matrix, prior, loss, guesses):
    """The expected loss, term by term."""
    return math.fsum(prior[i] * matrix[i, o] * loss(i, guesses[o]) for i in range(3) for o in range(3))


@pytest.mark.parametrize("name", LOSSES)
@given(matrix=THREE, prior=PRIORS)
@settings(max_examples=50, deadline=None)
def test_best_remap_beats_all_others(name, matrix, prior):
    """The best loss is the least over all 27 remaps, `best_remap` attains it, and so does the remapped mechanism."""
    mechanism, loss = FiniteMechanism(matrix, range(3), "xyz"), LOSS_ARGUMENTS[name]
    least = min(average(matrix, prior, LOSSES[name], guesses) for guesses in product(range(3), repeat=3))
    assert mechanism.expected_loss(prior, loss) == pytest.approx(least, abs=1e-12)
    best = mechanism.best_remap(prior, loss)
    assert average(matrix, prior, LOSSES[name], best) == pytest.approx(least, abs=1e-12)
    if name != "table":  # whose columns stand for the three points
        assert mechanism.remap(best).expected_loss(prior, loss, "none") == pytest.approx(least, abs=1e-12)


@pytest.mark.parametrize("name", ["zero-one", "absolute", "squared", "callable"])
@given(matrix=THREE, prior=PRIORS, guesses=st.tuples(*[st.integers(0, 2)] * 3))
@settings(max_examples=50, deadline=None)
def test_loss_of_a_given_remap(name, matrix, prior, guesses):
    """The loss with a given remap is the average, term by term; "none" takes the outputs themselves as guesses."""
    expected = average(matrix, prior, LOSSES[name], guesses)
    loss = LOSS_ARGUMENTS[name]
    named, plain = FiniteMechanism(matrix, range(3), "xyz"), FiniteMechanism(matrix, range(3), (2, 0, 1))
    assert named.expected_loss(prior, loss, guesses) == pytest.approx(expected, abs=1e-12)
    itself = average(matrix, prior, LOSSES[name], (2, 0, 1))
    assert plain.expected_loss(prior, loss, "none") == pytest.approx(itself, abs=1e-12)


def test_losses_of_pairs_and_tables():
    """Absolute and squared loss add up over coordinates; a table has a column per guess, in the order of outputs."""
    points = list(grid((2, 3)).points)
    for name, power in (("absolute", 1), ("squared", 2)):
        expected = [[abs(a - c) ** power + abs(b - d) ** power for c, d in points] for a, b in points]
        assert loss_table(name, points, points).tolist() == expected
    assert COIN.expected_loss([0.5, 0.5], [[1, 10], [100, 1000]], "none") == (0.75 + 2.5 + 25 + 750) / 2


@given(ANY, st.lists(st.sampled_from("uvw"), min_size=5, max_size=5))
@settings(max_examples=50, deadline=None)
def test_remap_merges_columns(matrix, guesses):
    """The probability of a guess is that of all outputs remapped to it."""
    n, k = matrix.shape
    remapped = FiniteMechanism(matrix, range(n), range(k)).remap(guesses[:k])
    assert list(remapped.outputs) == list(dict.fromkeys(guesses[:k]))
    for i, guess in product(range(n), remapped.outputs):
        assert remapped.probability(i, guess) == sum(matrix[i, o] for o in range(k) if guesses[o] == guess)


@pytest.mark.parametrize("row", [[0.5, 0.5 + 5e-10], np.random.default_rng(21).dirichlet(np.ones(50))])
def test_remap_forgives_rounding(row):
    """Any valid mechanism can be remapped to one constant guess."""
    constant = FiniteMechanism([row], ["a"], range(len(row))).remap(["same"] * len(row))
    assert constant.probability("a", "same") == pytest.approx(1)


@given(THREE, PRIORS)
@settings(max_examples=50, deadline=None)
def test_leakage_is_its_definition(matrix, prior):
    """The leakage is log2 of the chance of a right guess after seeing the output over that before."""
    seen = sum(max(prior[i] * matrix[i, o] for i in range(3)) for o in range(3))
    leakage = FiniteMechanism(matrix, range(3), "xyz").leakage(prior)
    assert leakage == pytest.approx(math.log2(seen / max(prior)), abs=1e-12)
    assert -1e-12 <= leakage <= math.log2(3) + 1e-12


def events(matrix, space):
    """P(S) and Q(S) for every edge in both directions and every set S of outputs."""
    k = matrix.shape[1]
    for a, b in space.edge_indices.tolist():
        for size, (p, q) in product(range(k + 1), ((a, b), (b, a))):
            for subset in map(list, combinations(range(k), size)):
                yield matrix[p, subset].sum(), matrix[q, subset].sum()


@given(ANY, st.integers(0, 32), st.sampled_from([0, 0.25, math.log(2), 1, math.log(3), 5, 800, math.inf]))
@settings(max_examples=150, deadline=None)
def test_epsilon_and_delta_hold_for_every_event_and_no_less_does(matrix, share, epsilon):
    """epsilon(delta) and delta(epsilon) are the least with P(S) <= e^epsilon Q(S) + delta for every edge and event."""
    delta = share / 32
    n, k = matrix.shape
    for space in (path(n), cycle(n), Space.from_edges([], points=range(n))):
        mechanism = FiniteMechanism(matrix, range(n), range(k))
        least_epsilon, least_delta = 0.0, 0.0
        for p, q in events(matrix, space):
            if p > delta:
                least_epsilon = max(least_epsilon, math.log((p - delta) / q) if q else math.inf)
            grown = 0.0 if q == 0 else math.inf if epsilon > 700 else math.exp(epsilon) * q
            least_delta = max(least_delta, p - grown)
        assert mechanism.epsilon(space, delta) == pytest.approx(least_epsilon, abs=1e-12)
        assert mechanism.epsilon(space, Fraction(share, 32)) == mechanism.epsilon(space, delta)
        assert mechanism.delta(space, epsilon) == pytest.approx(least_delta, abs=1e-12)
        if least_epsilon < math.inf:
            assert mechanism.delta(space, mechanism.epsilon(space, delta)) <= delta + 1e-12
        assert mechanism.epsilon(space, min(1, mechanism.delta(space, epsilon) + 1e-12)) <= epsilon + 1e-9


def test_zeros_make_epsilon_infinite():
    """An output possible at one point only costs an infinite epsilon, until delta covers it."""
    mechanism = FiniteMechanism([[0.5, 0.5, 0], [0.5, 0.25, 0.25]], range(2), "xyz")
    assert mechanism.epsilon(path(2)) == math.inf
    assert mechanism.epsilon(path(2), 0.125) == math.inf
    assert mechanism.epsilon(path(2), 0.25) == 0
    assert mechanism.delta(path(2), math.inf) == 0.25


@pytest.mark.parametrize("row", [[0.1, 0.2, 0.7], np.random.default_rng(1).dirichlet(np.ones(12))])
def test_epsilon_at_the_mechanisms_own_delta_is_finite(row):
    """At the delta that covers all outputs impossible elsewhere, epsilon is finite; 0.1 + 0.2 is covered by 0.3."""
    mechanism = FiniteMechanism([row, [0] * (len(row) - 1) + [1]], range(2), range(len(row)))
    delta = 0.3 if len(row) == 3 else mechanism.delta(path(2), math.inf)
    assert mechanism.epsilon(path(2), delta) < 1


@pytest.mark.parametrize(
    "ask",
    [
        lambda: COIN.epsilon(Space.from_edges([("no", "yes")]), -1),
        lambda: COIN.epsilon(Space.from_edges([("no", "yes")]), 2),
        lambda: COIN.epsilon(Space.from_edges([("no", "yes")]), math.nan),
        lambda: COIN.delta(Space.from_edges([("no", "yes")]), math.nan),
    ],
)
def test_impossible_levels_are_refused(ask):
    """A delta that is no probability, and an epsilon that is no number, are refused."""
    with pytest.raises(InvalidInput):
        ask()


def test_tiny_probabilities_have_a_finite_epsilon():
    """An output of probability 1e-310 against 1/2 costs ln(1/2) + 310 ln 10."""
    mechanism = FiniteMechanism([[1, 1e-310], [0.5, 0.5]], range(2), "xy")
    assert mechanism.epsilon(path(2)) == pytest.approx(math.log(0.5) + 310 * math.log(10))


@pytest.mark.parametrize(
    "matrix",
    [
        [[0.4, 0.3, 0.2, 0.1, 0], [0.1, 0.2, 0.3, 0.4, 0]],
        [[0.6, 0.3, 0, 0.1], [0.2, 0.1, 0.1, 0.6]],
        [[0.5, 0.5, 0], [0.25, 0.75, 0], [0.25, 0.7, 0.05]],  # where the curves of two edges cross
    ],
)
def test_profile_shows_every_bend(matrix):
    """Between its places delta is at most a straight line in e^epsilon, and equal to it where one edge rules."""
    mechanism = FiniteMechanism(matrix, range(len(matrix)), range(len(matrix[0])))
    space = path(len(matrix))
    profile = mechanism.profile(space)
    growth = np.exp(profile.epsilons)
    assert growth[0] == 1
    asked = np.linspace(1, 2 * growth[-1], 500)
    deltas = [mechanism.delta(space, math.log(g)) for g in asked]
    line = np.interp(asked, growth, profile.deltas)
    assert (np.array(deltas) <= line + 1e-12).all()
    if len(matrix) == 2:
        assert line == pytest.approx(deltas, abs=1e-12)


def test_every_edge_of_a_large_space_counts():
    """Among 100 000 edges looked at in blocks, the one edge that matters is found, wherever it is."""
    space = path(100_001)
    for special in (0, 70_000, 100_000):
        matrix = np.full((100_001, 4), 0.25)
        matrix[special] = [0.5, 0.25, 0.125, 0.125]
        mechanism = FiniteMechanism(matrix, space.points, range(4))
        assert mechanism.epsilon(space) == math.log(2)
        assert mechanism.delta(space, 0) == 0.25
        assert np.exp(mechanism.profile(space).epsilons) == pytest.approx([1, 2])


def test_profile_at_given_epsilons():
    """At given epsilons the profile holds the least deltas there, and a curve of many bends keeps at most 1000."""
    space = Space.from_edges([("no", "yes")])
    profile = COIN.profile(space, [0, math.log(2), 3])
    assert profile.epsilons.tolist() == [0, math.log(2), 3]
    assert profile.deltas == pytest.approx([0.5, 0.25, 0])
    rare = FiniteMechanism([[1 - 1e-6, 1e-6], [0.5, 0.5]], ["no", "yes"], range(2))
    assert rare.profile(space, [5]).deltas == pytest.approx([0.5 - 1e-6 * math.exp(5)])
    many = FiniteMechanism(np.random.default_rng(0).dirichlet(np.ones(1500), size=3), range(3), range(1500))
    assert len(many.profile(path(3)).epsilons) == 1000


def test_simulation_follows_the_row():
    """Seeded draws repeat, have the frequencies of the row, and never give an impossible output."""
    mechanism = FiniteMechanism([[0.5, 0.25, 0.25, 0], [0, 0, 0, 1]], "ab", [(0,), "x", 7, None])
    drawn = mechanism.simulate("a", 20_000, rng=5)
    assert drawn == mechanism.simulate("a", 20_000, rng=5) != mechanism.simulate("a", 20_000, rng=6)
    frequencies = [drawn.count(output) for output in mechanism.outputs]
    assert frequencies[3] == 0
    assert chisquare(frequencies[:3], [10_000, 5_000, 5_000]).pvalue > 1e-6
    assert mechanism.simulate("b") is None


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: FiniteMechanism([[1, 0], [1.5, -0.5]], "ab", "xy"), r"'b' and 'x' is .*1.5"),
        (lambda: FiniteMechanism([[1, 0], [1.1, -0.1]], "ab", "yx"), r"'b' and 'y'"),
        (lambda: FiniteMechanism([[1, -0.0625]], "a", "xy"), r"'a' and 'y' is .*-0.0625"),
        (lambda: FiniteMechanism([[0.5, math.nan]], "a", "xy"), r"'a' and 'y' is .*nan"),
        (lambda: FiniteMechanism([[0.5, 0.5], [0.5, 0.4]], "ab", "xy"), r"'b' adds up to .*0.9"),
        (lambda: FiniteMechanism([[0.5, 0.5]], "ab", "xy"), r"\(1, 2\) for 2 points and 2 outputs"),
        (lambda: FiniteMechanism([0.5, 0.5], "a", "xy"), r"\(2,\)"),
        (lambda: COIN.row("maybe"), "'maybe' is not a point"),
        (lambda: COIN.probability("no", "maybe"), "'maybe' is not an output"),
        (lambda: COIN.epsilon(path(2)), "not the same"),
        (lambda: COIN.epsilon(Space.from_edges([("yes", "no")])), "same order"),
        (lambda: COIN.delta(path(2), -0.5), "-0.5"),
        (lambda: COIN.expected_loss([0.5, 0.6]), "the prior"),
        (lambda: COIN.expected_loss(loss="cubic"), "'cubic'"),
        (lambda: COIN.expected_loss(loss="absolute"), "numbers"),
        (lambda: COIN.expected_loss(loss=[[1, 2, 3]]), r"\(1, 3\)"),
        (lambda: COIN.expected_loss(loss=lambda p, g: math.inf), "infinity"),
        (lambda: COIN.expected_loss(remap="worst"), "'worst'"),
        (lambda: COIN.expected_loss(remap=["no"]), "1 guesses for 2 outputs"),
        (lambda: COIN.remap(["no"] * 3), "3 guesses for 2 outputs"),
    ],
)
def test_refusals_name_the_culprit(make, named):
    """What is no mechanism, point, output, prior, loss or remap is refused, and the message names it."""
    with pytest.raises(InvalidInput, match=named):
        make()


@pytest.mark.parametrize(("points", "outputs"), [("ab", "xx"), ("aa", "xy")])
def test_names_given_twice_are_refused(points, outputs):
    """Two outputs, or two points, of one name make no mechanism."""
    with pytest.raises(InvalidInput):
        FiniteMechanism([[0.5, 0.5], [0.5, 0.5]], points, outputs)


@given(ANY)
@settings(max_examples=30, deadline=None)
def test_rows_are_those_of_the_matrix(matrix):
    """Row and probability read the matrix, which is a copy and not writable; a recipe of the rows says the same."""
    n, k = matrix.shape
    kept = matrix.copy()
    finite = FiniteMechanism(matrix, range(n), range(k))
    matrix[:] = 0
    assert isinstance(finite, Mechanism)
    with pytest.raises(ValueError, match="read-only"):
        finite.matrix[0, 0] = 1
    for mechanism in (finite, RecipeMechanism(range(n), range(k), lambda i: kept[i])):
        assert np.array_equal(mechanism.matrix, kept)
        assert [[mechanism.probability(i, o) for o in range(k)] for i in range(n)] == kept.tolist()
        assert np.array_equal(mechanism.select(np.array([n - 1, 0]), "uv").row("u"), kept[-1])
        assert mechanism.epsilon(path(n)) == finite.epsilon(path(n))
        assert mechanism.remap([0] * k).matrix.tolist() == [[1]] * n


def test_equality():
    """Mechanisms are equal if points, outputs and probabilities are."""
    same = FiniteMechanism(np.array(COIN.matrix), ["no", "yes"], [False, True])
    assert same == COIN
    assert hash(same) == hash(COIN)
    assert FiniteMechanism(COIN.matrix, ["yes", "no"], [False, True]) != COIN
    assert FiniteMechanism(COIN.matrix, ["no", "yes"], [False, None]) != COIN
    assert FiniteMechanism([[0.75, 0.25], [0.5, 0.5]], ["no", "yes"], [False, True]) != COIN
    assert COIN != "coin"


def test_large_mechanisms_give_rows_but_no_matrix():
    """Beyond 10^8 entries there is no matrix and no loss table, but every row is there, and refusals stay short."""
    large = RecipeMechanism(range(10**6), range(101), lambda i: np.eye(101)[i % 101])
    assert large.probability(10**6 - 1, (10**6 - 1) % 101) == 1
    for ask in (lambda: large.matrix, large.expected_loss, lambda: loss_table("zero-one", range(10**5), range(1001))):
        with pytest.raises(TooLarge, match="fit"):
            ask()
    with pytest.raises(UnknownPoint) as refused:
        large.row(-1)
    assert len(str(refused.value)) < 200


def test_html_escapes_labels():
    """The table shows every label and probability as text; large mechanisms show their description."""
    shown = FiniteMechanism([[0.125, 0.875]], ["<b>"], ["a&b", "<i>"])._repr_html_()
    assert all(text in shown for text in ("&lt;b&gt;", "a&amp;b", "&lt;i&gt;", "0.125", "0.875"))
    assert not any(raw in shown for raw in ("<b>", "<i>", "a&b"))
    wide = FiniteMechanism(np.full((1, 25), 0.04), ["p"], ["<b>", *range(24)])._repr_html_()
    assert "&lt;b&gt;" in wide
    assert "<b>" not in wide


def test_within_k():
    """Nothing is lost up to k off in any coordinate, and 1 beyond; a word that is no loss is refused."""
    table = FiniteMechanism(np.eye(5), range(5), range(5)).expected_loss(loss="within 1", remap=[0, 0, 0, 0, 0])
    assert table == pytest.approx(3 / 5)
    pairs = [(0, 0), (1, 2), (2, 1)]
    assert FiniteMechanism(np.eye(3), pairs, pairs).expected_loss(loss="within 1", remap=[(1, 1)] * 3) == 0
    with pytest.raises(InvalidInput, match="within 2"):
        FiniteMechanism(np.eye(3), range(3), range(3)).expected_loss(loss="within reason")


def test_expected_loss_of_guesses_at_random():
    """A remap may be a matrix: the loss is that of the mechanism followed by it; wrong ones are named."""
    rng = np.random.default_rng(4)
    mechanism = FiniteMechanism(rng.dirichlet(np.ones(4), size=3), range(3), "abcd")
    guesses, prior = rng.dirichlet(np.ones(3), size=4), [0.5, 0.3, 0.2]
    loss = rng.random((3, 3))
    expected = 0.0
    for i, o, g in product(range(3), range(4), range(3)):
        expected += prior[i] * mechanism.matrix[i, o] * guesses[o, g] * loss[i, g]
    assert mechanism.expected_loss(prior, loss, guesses) == pytest.approx(expected)
    best = [[float(p == g) for p in range(3)] for g in mechanism.best_remap(prior, loss)]
    assert mechanism.expected_loss(prior, loss, best) == pytest.approx(mechanism.expected_loss(prior, loss))
    with pytest.raises(InvalidInput, match="a row per output and a column per point"):
        mechanism.expected_loss(prior, loss, guesses.T)
    with pytest.raises(InvalidInput, match="row 2 of the remap, for the output 'c'"):
        mechanism.expected_loss(prior, loss, guesses - [[0] * 3, [0] * 3, [0.1] * 3, [0] * 3])
    pairs = FiniteMechanism([[0.5, 0.5], [0.5, 0.5]], [(0, 0), (0, 1)], "ab")
    assert pairs.expected_loss(remap=[(0, 0), (0, 1)]) == 0.5  # points that are tuples are guesses, not rows
