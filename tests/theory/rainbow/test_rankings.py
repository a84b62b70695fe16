"""Rainbow mechanisms against a lexicographic LP, the papers' closed forms, and brute force over all events."""

import math
from fractions import Fraction
from itertools import combinations, pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.pace import within
from oracles.programs import ranked_lp
from scipy.optimize import linprog

import utmost as um
from utmost.errors import InvalidInput, NoExtension, UnsupportedLevel
from utmost.privacy import as_level


def is_private(matrix, edges, epsilon, delta):
    """(epsilon, delta)-privacy over every subset of outputs and both directions of every edge."""
    k = matrix.shape[1]
    for a, b in edges:
        for u, v in ((a, b), (b, a)):
            for size in range(1, k):
                for event in combinations(range(k), size):
                    event = list(event)
                    if matrix[u, event].sum() > math.exp(epsilon) * matrix[v, event].sum() + delta + 1e-12:
                        return False
    return True


@given(st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_a_line_is_the_lexicographic_optimum(seed):
    """2 to 6 outputs, with and without delta: position by position no private mechanism on the line does better."""
    rng = np.random.default_rng(seed)
    k, length = int(rng.integers(2, 7)), int(rng.integers(2, 8))
    epsilon, delta = float(rng.uniform(0.05, 1.5)), float(rng.choice([0, 0.01, 0.1]))
    boundary = rng.dirichlet(np.ones(k)).round(6)
    boundary[-1] = 1 - boundary[:-1].sum()
    rows = um.rainbow.line(boundary, um.ApproxDP(epsilon, delta), length)
    edges = [(i, i + 1) for i in range(length - 1)]
    best = ranked_lp(length, k, edges, [tuple(range(k))] * length, {0: boundary}, epsilon, delta)
    assert np.abs(np.cumsum(rows, axis=1) - best).max() < 1e-7
    assert is_private(rows, edges, epsilon, delta)
    assert rows.sum(axis=1) == pytest.approx(1, abs=1e-12)


def random_regions(rng):
    """A random graph with two or three rankings, and boundary distributions close enough to be private."""
    n, k = int(rng.integers(4, 10)), int(rng.integers(2, 5))
    edges = sorted(
        {(int(rng.integers(max(0, i - 2), i)), i) for i in range(1, n)}
        | {tuple(sorted(map(int, rng.choice(n, 2, False))))}
    )
    every = list(permutations("abcde"[:k]))
    chosen = [every[i] for i in rng.choice(len(every), min(len(every), int(rng.integers(2, 4))), False)]
    cuts = np.sort(rng.integers(0, n, len(chosen) - 1))
    rankings = [chosen[int((cuts <= i).sum())] for i in range(n)]
    epsilon, delta = float(rng.uniform(0.2, 1.5)), float(rng.choice([0, 0, 0.05]))
    base = rng.dirichlet(5 * np.ones(k))
    boundary = {}
    for ranking in chosen:
        row = 0.8 * base + 0.2 * rng.dirichlet(5 * np.ones(k)) if epsilon > 0.5 else base
        boundary[ranking] = dict(zip("abcde"[:k], row / row.sum(), strict=True))
    return n, k, edges, rankings, boundary, epsilon, delta


def test_extend_is_the_lexicographic_optimum_on_graphs():
    """Several regions on random graphs: equal to the LP with the same boundary, private, certified and verified."""
    found = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        n, k, edges, rankings, boundary, epsilon, delta = random_regions(rng)
        space = um.Space.from_edges(edges, points=range(n))
        present = {
            r for r in rankings if any(rankings[a] != rankings[b] and r in (rankings[a], rankings[b]) for a, b in edges)
        }
        try:
            solution = um.rainbow.extend(
                space, rankings, {r: boundary[r] for r in present}, um.ApproxDP(epsilon, delta)
            )
        except NoExtension:
            continue
        outputs = solution.mechanism.outputs
        fixed = {
            v: np.array([boundary[rankings[v]][o] for o in outputs])
            for v in range(n)
            if any(rankings[a] != rankings[b] and v in (a, b) for a, b in edges)
        }
        order = [tuple(outputs.index(o) for o in r) for r in rankings]
        best = ranked_lp(n, k, edges, order, fixed, epsilon, delta)
        mine = np.cumsum([solution.mechanism.matrix[v][list(order[v])] for v in range(n)], axis=1)
        assert np.abs(mine - best).max() < 1e-7
        assert is_private(solution.mechanism.matrix, edges, epsilon, delta)
        assert solution.verify(), solution.verify()
        found += 1
    assert found > 40


BLUE_RED_GREEN = [(0.0545, 0.1636, 0.7819), (0.1636, 0.0545, 0.7819), (0.3, 0.3, 0.4), (0.6, 0.1, 0.3)]


@pytest.mark.parametrize("start", BLUE_RED_GREEN)
@pytest.mark.parametrize("epsilon", [0.1823, 0.5, 1.0])
def test_rain_theorems_4_and_5_and_corollary_1(start, epsilon):
    """The three-colour closed forms as printed, with floors in (2) and (3) as the examples need."""
    blue, red, _ = start
    growth = math.exp(epsilon)
    tau_b = math.floor(max(0, -math.log(blue * (growth + 1)) / epsilon + 1))
    tau_r = math.floor(max(0, -math.log((blue + red) * (growth + 1)) / epsilon + 1))

    def middle(i):
        return 1 - growth ** (tau_r - i) - growth**i * blue + growth ** (2 * tau_r - i) * (blue + red)

    for i, row in enumerate(um.rainbow.line(start, epsilon, 25)):
        b = growth**i * blue if i <= tau_b else 1 - growth ** (tau_b - i) + growth ** (2 * tau_b - i) * blue
        g = 1 - growth**i * (blue + red) if i <= tau_r else growth ** (tau_r - i) * (1 - growth**tau_r * (blue + red))
        r = growth**i * red if i <= tau_r else middle(i) if i <= tau_b else growth ** (tau_b - i) * middle(tau_b)
        assert row == pytest.approx([b, r, g], abs=1e-12)


def test_rain_examples():
    """The thresholds (5, 12) and (5, 6), the rows at distances 6 and 12, and where the order of colours changes."""
    growth = math.exp(0.1823)
    for (blue, red, _), taus in ((BLUE_RED_GREEN[0], (5, 12)), (BLUE_RED_GREEN[1], (5, 6))):
        found = tuple(math.floor(max(0, -math.log(x * (growth + 1)) / 0.1823 + 1)) for x in (blue + red, blue))
        assert found == taus
    rows = um.rainbow.line(BLUE_RED_GREEN[0], 0.1823, 20)
    assert rows[6] == pytest.approx([0.1627, 0.4561, 0.3811], abs=1e-4)
    assert rows[12] == pytest.approx([0.4858, 0.3865, 0.1277], abs=1e-4)
    orders = [tuple(np.argsort(row)) for row in rows]
    assert [i for i in range(19) if orders[i] != orders[i + 1]] == [5, 8, 11]
    orders = [tuple(np.argsort(row)) for row in um.rainbow.line(BLUE_RED_GREEN[1], 0.1823, 20)]
    assert [i for i in range(19) if orders[i] != orders[i + 1]] == [5]


@pytest.mark.parametrize("level", [um.PureDP(0.7), um.ApproxDP(0.4, 0.02), um.GaussianDP(0.5)])
def test_two_colours_are_the_binary_mechanism(level):
    """RAIN Corollary 2: exactly what `binary` gives."""
    space = um.counts(20)
    binary = um.binary.balanced(space, lambda yes: yes > 9, level)
    share = binary.mechanism.probability(10, True)
    boundary = {("no", "yes"): [Fraction(share).limit_denominator(10**6) - Fraction(1, 10**6)] * 1}
    p = boundary[("no", "yes")][0]
    boundary = {("no", "yes"): [p, 1 - p], ("yes", "no"): [p, 1 - p]}
    rainbow = um.rainbow.extend(space, lambda yes: ("yes", "no") if yes > 9 else ("no", "yes"), boundary, level)
    known = {9: 1 - p, 10: p}
    extended = um.binary.extend(space, lambda yes: yes > 9, known, level).mechanism
    for yes in space.points:
        assert rainbow.mechanism.probability(yes, "yes") == pytest.approx(extended.probability(yes, True), abs=1e-13)
    assert rainbow.verify()


def test_gaussian_levels_are_private_for_all_events():
    """Four outputs at a Gaussian level: every event at neighbouring distances is within `upper`."""
    level = um.GaussianDP(0.6)
    rows = um.rainbow.line([0.1, 0.2, 0.3, 0.4], level, 12)
    for here, there in pairwise(rows):
        for size in (1, 2, 3):
            for event in map(list, combinations(range(4), size)):
                assert here[event].sum() <= level.upper(min(there[event].sum(), 1.0)) + 1e-12
                assert there[event].sum() <= level.upper(min(here[event].sum(), 1.0)) + 1e-12


def test_distance_a_billion_costs_nothing():
    """A single far distance is the limit: the first output, and no overflow on the way."""
    (row,) = um.rainbow.line([0.2, 0.3, 0.5], 0.01, [10**9])
    assert row[0] == 1
    assert (row[1:] > 0).all()
    assert (row[1:] < 1e-300).all()
    (row,) = um.rainbow.line([1e-12, 1e-9, 1 - 1e-9 - 1e-12], 1e-3, [10])
    assert row[:2] == pytest.approx([1e-12 * math.exp(0.01), 1e-9 * math.exp(0.01)], rel=1e-9)


def test_small_probabilities_in_the_middle_keep_their_digits():
    """An unlikely output between two likely ones is as private as the rest, and the whole is certified."""
    ranking, turned = ("a", "b", "c"), ("c", "b", "a")
    boundary = {ranking: [0.5, "1e-13", Fraction(1, 2) - Fraction(1, 10**13)]}
    boundary[turned] = list(reversed(boundary[ranking]))
    solution = um.rainbow.extend(um.path(30), lambda i: ranking if i < 15 else turned, boundary, 0.3)
    assert solution.verify()
    assert solution.certified.moved < 1e-9


# ---- regions ----


def test_the_boundary_space():
    """Lines of (ranking, distance), joined as the regions are; the morphism keeps neighbours together."""
    rankings = lambda p: ("x", "y") if p[0] < 3 else ("y", "x")  # noqa: E731
    lines, onto = um.rainbow.boundary_space(um.grid((6, 4), "manhattan"), rankings)
    assert list(lines.points) == [(r, float(d)) for r in (("x", "y"), ("y", "x")) for d in range(3)]
    assert lines.distance((("x", "y"), 2.0), (("y", "x"), 2.0)) == 5
    assert onto((0, 2)) == (("x", "y"), 2.0)


def test_parts_without_a_boundary():
    """A component of one ranking gives its first output, and the certificate says so."""
    space = um.Space.from_edges([(0, 1), (2, 3)], points=range(5))
    rankings = [("a", "b"), ("b", "a"), ("b", "a"), ("b", "a"), ("a", "b")]
    solution = um.rainbow.extend(space, rankings, {("a", "b"): [0.6, 0.4], ("b", "a"): [0.6, 0.4]}, 1.0)
    assert [solution.mechanism.probability(v, "b") for v in (2, 3, 4)] == [1, 1, 0]
    assert "3 points" in solution.certificate.notes[0]
    assert solution.verify()


def test_refusals():
    """Boundaries that are not private, rankings that do not match, levels per edge, pairs that are not concave."""
    space, rankings = um.path(4), lambda i: ("a", "b", "c") if i < 2 else ("c", "b", "a")
    good = {("a", "b", "c"): [0.4, 0.3, 0.3], ("c", "b", "a"): [0.4, 0.3, 0.3]}
    with pytest.raises(NoExtension, match="between 1 and 2: the output 'a'") as refused:
        um.rainbow.extend(space, rankings, {**good, ("a", "b", "c"): [0.9, 0.05, 0.05]}, 1.0)
    assert (refused.value.point, refused.value.forced_by, refused.value.output) == (1, 2, "a")
    with pytest.raises(InvalidInput, match="rank the same outputs"):
        um.rainbow.extend(space, lambda i: ("a", "b") if i else ("a", "c"), good, 1.0)
    with pytest.raises(InvalidInput, match="says nothing about"):
        um.rainbow.extend(space, rankings, {("a", "b", "c"): [0.4, 0.3, 0.3]}, 1.0)
    with pytest.raises(InvalidInput, match=r"adds up to 0\.9 and not to 1"):
        um.rainbow.extend(space, rankings, {**good, ("a", "b", "c"): [0.4, 0.3, 0.2]}, 1.0)
    with pytest.raises(InvalidInput, match="which no point has"):
        um.rainbow.extend(space, rankings, {**good, ("b", "a", "c"): [0.4, 0.3, 0.3]}, 1.0)
    with pytest.raises(UnsupportedLevel, match="lexicographic"):
        um.rainbow.extend(space, rankings, good, um.per_edge(space, epsilon=[1, 2, 3]))
    bent = um.SuitablePair([(0, 0), ("1/4", "3/8"), ("3/8", "5/8"), ("5/8", "3/4"), (1, 1)], binary_only=True)
    with pytest.raises(UnsupportedLevel, match="not concave"):
        um.rainbow.line([0.5, 0.5], bent, 3)
    with pytest.raises(InvalidInput, match="length"):
        um.rainbow.line([0.5, 0.5], 1.0, -1)


def test_levels_per_edge_have_no_prefix_rule():
    """The triangle that shows why levels per edge are refused: raising prefixes would need a log-ratio of 3.40."""
    space = um.Space.from_edges([("b", "w"), ("b", "x"), ("x", "w")])
    epsilon = {("b", "w"): 1.871, ("b", "x"): 1.529, ("x", "w"): 0.750}
    prefixes = np.array([0.1603, 0.1670, 1.0])
    rows = {}
    for point in ("x", "w"):
        direct = um.PureDP(epsilon["b", point]).upper(prefixes)
        other = "w" if point == "x" else "x"
        around = um.PureDP(0.750).upper(um.PureDP(epsilon["b", other]).upper(prefixes))
        rows[point] = np.diff(np.minimum(direct, around), prepend=0)
    assert np.abs(np.log(rows["x"] / rows["w"])).max() == pytest.approx(3.40, abs=0.005)
    assert space.distance("b", "w") == 1


# ---- boundaries by linear programs ----


@pytest.mark.parametrize("seed", range(25))
def test_best_boundary_beats_every_other_boundary(seed):
    """The LP's value is never below that of random private boundaries, its bound never below it, and the gap closes."""
    rng = np.random.default_rng(seed)
    n, k, edges, rankings, boundary, epsilon, delta = random_regions(rng)
    space = um.Space.from_edges(edges, points=range(n))
    weights = np.sort(rng.random(k))[::-1]
    level = um.ApproxDP(epsilon, delta)
    best = um.rainbow.best_boundary(space, rankings, level, weights)
    assert best.certificate.gap < 1e-7
    assert best.verify(), best.verify()
    present = {
        r for r in rankings if any(rankings[a] != rankings[b] and r in (rankings[a], rankings[b]) for a, b in edges)
    }
    try:
        other = um.rainbow.extend(space, rankings, {r: boundary[r] for r in present}, level)
    except NoExtension:
        return
    value = np.mean(
        [sum(weights[j] * other.mechanism.probability(v, o) for j, o in enumerate(rankings[v])) for v in range(n)]
    )
    assert best.value >= value - 1e-9


def test_best_boundary_of_three_regions_is_randomised_response():
    """Three regions that meet in one point each, symmetric: the even boundary e^eps / (e^eps + 2)."""
    space = um.complete(3)
    rankings = [("a", "b", "c"), ("b", "a", "c"), ("c", "a", "b")]
    best = um.rainbow.best_boundary(space, rankings, um.PureDP.from_ratio(2))
    assert best.value == pytest.approx(2 / 4, abs=1e-9)
    with pytest.raises(InvalidInput, match="not increase"):
        um.rainbow.best_boundary(space, rankings, 1.0, weights=[0, 1, 2])
    with pytest.raises(UnsupportedLevel):
        um.rainbow.best_boundary(space, rankings, um.ZCDP(1))


def curved_lp(n, k, edges, level, gains, fixed=()):
    """The largest sum of gains·X at a concave level, every event against 60 tangents of its `upper`: a bound above."""
    at = np.concatenate([np.linspace(0.001, 0.02, 12), np.linspace(0.03, 0.97, 48)])
    slopes = level.tangent(at)
    starts = level.upper(at) - slopes * at
    rows, limits = [], []
    for u, v in [*edges, *((b, a) for a, b in edges)]:
        for event in product((0, 1), repeat=k):
            for slope, start in zip(slopes, starts, strict=True):
                row = np.zeros((n, k))
                row[u] += event
                row[v] -= slope * np.array(event)
                rows.append(row.ravel())
                limits.append(start)
    bounds = [(fixed[i][o],) * 2 if i in fixed else (0, 1) for i in range(n) for o in range(k)]
    sums = np.kron(np.eye(n), np.ones(k))
    found = linprog(-gains.ravel(), np.array(rows), limits, sums, np.ones(n), bounds=bounds, method="highs")
    return -found.fun


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(n, marks=pytest.mark.long) for n in range(6, 20))])
def test_gaussian_levels_are_within_their_bound_and_a_linear_program(seed):
    """Six points in a row, two or three rankings, three outputs: the program over raw events is hardly better."""
    rng = np.random.default_rng(seed)
    level, cuts = um.GaussianDP(round(rng.uniform(0.3, 1.5), 2)), sorted(rng.choice([1, 2, 3, 4, 5], 2, replace=False))
    orders = [tuple(rng.permutation(3).tolist()) for _ in range(3)]
    rankings = [orders[int(np.searchsorted(cuts, i, side="right"))] for i in range(6)]
    space, edges = um.path(6), [(i, i + 1) for i in range(5)]
    gains = np.zeros((6, 3))
    gains[np.arange(6), [order[0] for order in rankings]] = 1
    known = {int(cuts[0]): [0.4, 0.35, 0.25]}
    fixed = {int(cuts[0]): np.array([0.4, 0.35, 0.25])[np.argsort(rankings[int(cuts[0])])]}
    found = um.rainbow.lexicographic(space, rankings, known, level)
    best = curved_lp(6, 3, edges, level, gains, fixed) / 6
    assert found.verify()
    assert found.value <= min(best, found.certificate.bound) + 1e-7
    assert found.value == pytest.approx(best, abs=2e-4)  # tangents at 60 places leave that much above
    assert found.certificate.gap < 1e-6
    homogeneous = um.rainbow.best_boundary(space, rankings, level)
    assert homogeneous.verify()
    assert homogeneous.certificate.gap < 1e-5
    assert homogeneous.value <= curved_lp(6, 3, edges, level, gains) / 6 + 1e-7


def test_gaussian_boundaries_of_two_answers_are_the_binary_ones():
    level = um.GaussianDP("0.8")
    two = um.rainbow.best_boundary(um.path(9), lambda i: ("no", "yes") if i < 4 else ("yes", "no"), level)
    assert two.value == pytest.approx(um.binary.best_boundary(um.path(9), lambda i: i >= 4, level).value, abs=1e-7)


@pytest.mark.parametrize("seed", range(15))
def test_lexicographic_equals_extend_where_that_applies(seed):
    """With a homogeneous boundary and one level the linear programs find the same mechanism."""
    rng = np.random.default_rng(seed)
    n, _, edges, rankings, boundary, epsilon, delta = random_regions(rng)
    space = um.Space.from_edges(edges, points=range(n))
    at_boundary = [v for v in range(n) if any(rankings[a] != rankings[b] and v in (a, b) for a, b in edges)]
    known = {v: boundary[rankings[v]] for v in at_boundary}
    try:
        best = um.rainbow.extend(
            space, rankings, {rankings[v]: boundary[rankings[v]] for v in at_boundary}, um.ApproxDP(epsilon, delta)
        )
    except NoExtension:
        with pytest.raises(NoExtension):
            um.rainbow.lexicographic(space, rankings, known, um.ApproxDP(epsilon, delta))
        return
    solution = um.rainbow.lexicographic(space, rankings, known, um.ApproxDP(epsilon, delta))
    assert solution.mechanism.matrix == pytest.approx(best.mechanism.matrix, abs=1e-6)
    assert solution.certificate.claim == "bound"
    assert solution.certificate.gap < 1e-7
    assert solution.verify()


def test_lexicographic_with_levels_per_edge_is_certified():
    """What the closed form refuses is solved, labelled as optimal for its objective only, and certified."""
    space = um.path(8)
    levels = um.per_edge(space, epsilon=[0.2, 0.4, 0.6, 0.8, 0.3, 0.5, 0.7])
    known = {3: [0.4, 0.35, 0.25], 4: [0.4, 0.3, 0.3]}
    rankings = lambda i: ("a", "b", "c") if i < 4 else ("c", "a", "b")  # noqa: E731
    solution = um.rainbow.lexicographic(space, rankings, known, levels)
    assert "for first preferences" in solution.certificate.reason
    assert solution.certificate.gap < 1e-7
    verified = solution.verify()
    assert verified
    assert 0 <= verified.gap < 1e-7
    assert solution.certified.moved < 1e-6
    with pytest.raises(NoExtension, match="contradict"):
        um.rainbow.lexicographic(space, rankings, {3: [0.9, 0.05, 0.05], 4: [0.9, 0.05, 0.05]}, levels)


# ---- plurality ----


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize(("people", "candidates"), [(5, 2), (7, 3), (4, 4)])
def test_plurality_distances_by_brute_force(people, candidates, neighbours):
    """On all histograms: the closed form is the graph distance to the boundary of the winner's region."""
    space = um.histograms(people, candidates, neighbours)
    names = "abcd"[:candidates]
    vote = um.rainbow.plurality(people, names, 0.01, neighbours)
    winner = {p: max(range(candidates), key=lambda c, p=p: (p[c], -c)) for p in space.points}
    boundary = [
        p for p in space.points if any(winner[q] != winner[p] for q in space.points if space.distance(p, q) == 1)
    ]
    distance = dict(zip(space.points, space.distances_from(boundary).tolist(), strict=True))
    for point in space.points:
        assert vote.point(point) == (names[winner[point]], distance[point])


def test_plurality_is_private_on_the_votes_themselves():
    """Pulled back to all histograms of 8 people and 3 candidates, the answer is epsilon-private, and certified so."""
    for neighbours in ("replace", "add-remove"):
        space = um.histograms(8, 3, neighbours)
        vote = um.rainbow.plurality(8, "xyz", 0.7, neighbours)
        rows = [list(vote.probabilities(p).values()) for p in space.points]
        mechanism = um.FiniteMechanism(rows, space.points, list(vote.solution.mechanism.outputs))
        assert mechanism.epsilon(space) <= 0.7 + 1e-12
        assert vote.solution.verify(), vote.solution.verify()


def test_plurality_of_a_million():
    """A million voters are answered at once; a clear winner is all but certain, and a tie goes by the public order."""
    vote = um.rainbow.plurality(10**6, ["red", "green", "blue"], 0.5)
    assert vote.probabilities([600_000, 300_000, 100_000])["red"] > 1 - 1e-15
    assert vote.point({"red": 400_000, "green": 400_000, "blue": 200_000}) == ("red", 0)
    assert vote.point({"red": 399_999, "green": 400_001, "blue": 200_000}) == ("green", 0)
    assert vote.sample([600_000, 300_000, 100_000]) == "red"
    assert len(vote.solution.problem.space.points) < 1000
    for level in (um.ApproxDP(0.5, 1e-6), um.GaussianDP(0.5)):
        assert um.rainbow.plurality(10**6, "xyz", level).solution.verify()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: um.rainbow.plurality(10, ["a"], 1.0), "two or more"),
        (lambda: um.rainbow.plurality(10, ["a", "a"], 1.0), "each once"),
        (lambda: um.rainbow.plurality(0, "ab", 1.0), "1 or more"),
        (lambda: um.rainbow.plurality(10, "ab", 1.0, "swap"), "add-remove"),
        (lambda: um.rainbow.plurality(10, "ab", 1.0).point([3, 4]), "do not add up"),
        (lambda: um.rainbow.plurality(10, "ab", 1.0).point([3, -1]), "0 or more"),
    ],
)
def test_plurality_refusals(call, words):
    """Public mistakes are named; a count of votes is never repeated in an error."""
    with pytest.raises(InvalidInput, match=words) as refused:
        call()
    assert "[3" not in str(refused.value)


@pytest.mark.parametrize("level", [1, 20, um.ApproxDP(1, 1e-6), um.GaussianDP(2)])
def test_no_tail_underflows(level):
    """Three outputs on a path of 3000: private and optimal by its own proof; no positive probability is a float 0."""
    one, other = ("a", "b", "c"), ("b", "a", "c")
    solution = um.rainbow.extend(
        um.path(3000), lambda i: one if i < 1500 else other, {one: [0.5, 0.3, 0.2], other: [0.5, 0.3, 0.2]}, level
    )
    assert solution.verify(), str(solution.verify())
    assert um.certify(solution).moved < 1e-11
    if level in (1, 20):
        assert solution.mechanism.epsilon(um.path(3000)) == pytest.approx(level, rel=1e-12)
    assert (solution.mechanism.matrix > 0).all() or level == um.ApproxDP(1, 1e-6)


@pytest.mark.parametrize("level", [0.001, um.ApproxDP(0.01, 1e-9), um.GaussianDP(0.001)])
def test_far_distances_are_made_once(level):
    """A line of 10^5 distances, each row as it is alone; farther than floats reach, rows are the same."""
    chosen = np.array([0, 1, 5, 100, 5000, 40_000, 99_999])
    rows = um.rainbow.line([0.2, 0.3, 0.1, 0.4], level, 10**5)
    for distance in chosen.tolist():
        (alone,) = um.rainbow.line([0.2, 0.3, 0.1, 0.4], level, [distance])
        assert rows[distance] == pytest.approx(alone, rel=1e-12)
        prefixes = np.array([0.2, 0.5, 0.6])
        assert np.cumsum(rows[distance])[:3] == pytest.approx(
            as_level(level).upper_after(distance, prefixes), rel=1e-12
        )


def test_three_hundred_outputs():
    """300 answers on 1000 points are designed and proved in seconds, in integers of a machine word."""
    outputs = tuple(range(300))
    other = (1, 0, *outputs[2:])
    row = [0.5, 0.202, *([0.001] * 298)]
    with within(20):
        solution = um.rainbow.extend(
            um.path(1000), lambda i: outputs if i < 500 else other, {outputs: row, other: row}, 1
        )
        assert solution.verify()
        assert solution.certified.bits == 62


def test_a_boundary_as_rounded_in_a_paper_is_told_its_sum():
    """RAIN prints (0.0545, 0.1636, 0.7818), which adds up to 0.9999: the error says so, and what to do."""
    with pytest.raises(InvalidInput, match=r"adds up to 0.9999 and not to 1; give more digits.*divide by the sum"):
        um.rainbow.line((0.0545, 0.1636, 0.7818), 0.1823, 20)
    assert len(um.rainbow.line([Fraction(n, 55) for n in (3, 9, 43)], 0.1823, 20)) == 20


# ---- which of two mechanisms is better ----


def better_by_definition(one, two, rankings, order):
    """RAIN Def. 3 in rationals, point by point: the first difference decides, or every prefix counts."""
    for row, other, ranking in zip(one, two, rankings, strict=True):
        ours, theirs = ([x[o] for o in ranking] for x in (row, other))
        if order == "lexicographic":
            first = next((a - b for a, b in zip(ours, theirs, strict=True) if a != b), Fraction(0))
            if first < 0:
                return False
        elif any(sum(ours[:j]) < sum(theirs[:j]) for j in range(len(ours) + 1)):
            return False
    return True


def random_rows(rng, n, k):
    """Rows of eighths, which floats hold exactly, so that ties are common."""
    return [[Fraction(int(x), 8) for x in rng.multinomial(8, np.ones(k) / k)] for _ in range(n)]


@pytest.mark.parametrize("order", ["lexicographic", "dominance"])
def test_dominance_is_that_of_the_definition(order):
    """20 random instances and their shifts towards the best output, one of which the definition calls better."""
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, k = int(rng.integers(1, 4)), int(rng.integers(1, 5))
        rankings = [tuple(int(o) for o in rng.permutation(k)) for _ in range(n)]
        rows = [random_rows(rng, n, k) for _ in range(2)]
        shifted = []
        for row, ranking in zip(rows[0], rankings, strict=True):
            worst = next(o for o in reversed(ranking) if row[o])
            moved = Fraction(1, 8)
            best = ranking[int(rng.integers(0, ranking.index(worst) + 1))]
            shifted.append([x + moved * (o == best) - moved * (o == worst) for o, x in enumerate(row)])
        made = [um.FiniteMechanism(np.array(m, dtype=float), range(n), range(k)) for m in (*rows, shifted)]
        for i, j in permutations(range(3), 2):
            expected = better_by_definition((*rows, shifted)[i], (*rows, shifted)[j], rankings, order)
            assert um.binary.dominates(made[i], made[j], rankings, order=order) == expected
            found.append(expected)
        assert um.rainbow.dominates(made[2], made[0], rankings, order=order)
    assert 10 < sum(found) < len(found) - 10


@pytest.mark.parametrize("seed", range(20))
def test_a_line_dominates_private_mechanisms_with_its_boundary(seed):
    """Mixtures with the best line for a ranking that turns the outputs around: private, the same boundary, worse."""
    rng = np.random.default_rng(seed)
    boundary, level, ranking = rng.dirichlet(np.ones(3) * 3).round(4), um.PureDP(float(rng.uniform(0.2, 1.5))), "abc"
    boundary[2] = 1 - boundary[:2].sum()
    rows = um.rainbow.line(boundary, level, 6)
    turned = um.rainbow.line(boundary[::-1], level, 6)[:, ::-1]
    share = float(rng.uniform(0.1, 0.9))
    best, mixed = (
        um.FiniteMechanism(m[1:], range(5), list(ranking)) for m in (rows, share * rows + (1 - share) * turned)
    )
    for order in ("lexicographic", "dominance"):
        assert um.rainbow.dominates(best, mixed, lambda p: tuple(ranking), order=order)
        assert not um.rainbow.dominates(mixed, best, lambda p: tuple(ranking), order=order)


def test_rankings_that_rank_nothing_are_refused():
    """A ranking that misses an output or has one twice, an unknown order; a tuple may be an output by itself."""
    m = um.FiniteMechanism([[0.5, 0.5]], [0], ("a", "b"))
    for wrong, words in ((("a",), "not an order"), (("a", "a"), "twice"), (("a", "c"), "not an order")):
        with pytest.raises(InvalidInput, match=words):
            um.binary.dominates(m, m, {0: wrong})
    with pytest.raises(InvalidInput, match="order is 'best'"):
        um.binary.dominates(m, m, {0: ("a", "b")}, order="best")
    tuples = um.FiniteMechanism([[0.4, 0.6]], [0], [(0, 1), (1, 0)])
    assert um.binary.dominates(tuples, tuples, {0: (1, 0)})


# ---- levels beyond floats ----


@settings(max_examples=60, deadline=None)
@given(
    weights=st.lists(st.sampled_from([0, 0, 1, 3, Fraction(1, 10**300)]), min_size=2, max_size=5).filter(any),
    exponent=st.sampled_from([309, 320, 1000]),
    delta=st.sampled_from([0, Fraction(1, 100), Fraction(1, 10**12)]),
)
def test_a_line_at_epsilons_beyond_floats_adds_up(weights, exponent, delta):
    """Prefixes in rationals at e^epsilon = 10^309 and more; also at epsilon = infinity, where only the start counts."""
    ratio, boundary = Fraction(10) ** exponent, [Fraction(w) / sum(map(Fraction, weights)) for w in weights]
    rows = um.rainbow.line(boundary, um.ApproxDP.from_ratio(ratio, delta), 5)
    prefixes = [sum(boundary[:j]) for j in range(len(boundary) + 1)]
    for row in rows:
        exact = np.array([float(b - a) for a, b in pairwise(prefixes)])
        assert row == pytest.approx(exact, rel=1e-9, abs=1e-307)
        assert row.sum() == pytest.approx(1, abs=1e-12)
        prefixes = [0] + [min(ratio * p + delta, 1 - (1 - delta - p) / ratio, Fraction(1)) for p in prefixes[1:]]
    for level in (um.PureDP(math.inf), um.ApproxDP(math.inf, delta), um.GaussianDP(math.inf)):
        free = um.rainbow.line(boundary, level, 3)
        assert free[0] == pytest.approx(np.array([float(b) for b in boundary]), rel=1e-15)
        assert (free[1:] == np.eye(len(boundary))[0]).all()


@pytest.mark.parametrize("epsilon", [709, 709.8, 710, 745, 1e5])
def test_a_line_at_large_epsilons_adds_up(epsilon):
    for boundary in ([0, 0, 1, 0], [0, 0.25, 0.25, 0.5], [1e-300, 0, 1], [0.5, 0.5, 0]):
        assert um.rainbow.line(boundary, epsilon, 6).sum(axis=1) == pytest.approx(1, abs=1e-12)
