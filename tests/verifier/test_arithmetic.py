"""What the independent verifier computes, against other arithmetic and against enumeration."""

import math
from fractions import Fraction
from itertools import product

import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.independent import load

import utmost as um
from utmost.exact import endpoints
from utmost.mechanism.noise.integer_balls import norm

v = load()
rationals = st.fractions(min_value=Fraction(1, 1000), max_value=30, max_denominator=10**6)


def holds(enclosure, ball):
    """Whether an enclosure and a ball of another library overlap, and the enclosure is narrow."""
    low, high = endpoints(ball)
    assert Fraction(enclosure.low) <= high
    assert low <= Fraction(enclosure.high)
    return Fraction(enclosure.high) - Fraction(enclosure.low) <= Fraction(1, 10**20) * max(
        1, abs(Fraction(enclosure.high))
    )


@settings(max_examples=40, deadline=None)
@given(rationals)
def test_functions_are_enclosed(x):
    with ctx.workprec(300):
        exact = arb(x.numerator) / arb(x.denominator)
        ball = v.Enclosure.of(x, 40)
        assert holds(ball.exp(), exact.exp())
        assert holds(ball.ln(), exact.log())
        assert holds(ball.sqrt(), exact.sqrt())
        assert holds(v.upper_normal(ball), (exact / arb(2).sqrt()).erfc() / 2)
        assert holds(v.normal(-ball), (exact / arb(2).sqrt()).erfc() / 2)


@settings(max_examples=15, deadline=None)
@given(st.fractions(min_value=Fraction(1, 10**9), max_value=Fraction(999, 1000), max_denominator=10**10))
def test_quantiles_are_enclosed(share):
    x = v.quantile(v.Enclosure.of(share, 30))
    for end, side in ((x.low, 1), (x.high, -1)):
        there = v.normal(v.Enclosure(end, end, 40))
        assert (Fraction(there.low) - share) * side <= Fraction(1, 10**18)
    assert x.high - x.low < Fraction(1, 10**10)


SHAPES = [("any", 0), ("cube", 0), ("one-way", 0), ("one-way", 1), ("one-way", 3), ("exchange", 0), ("exchange", 2)]


@pytest.mark.parametrize(("shape", "slack"), [*SHAPES, ("sum-zero", 0)])
@pytest.mark.parametrize("d", [2, 3])
def test_balls_are_counted(shape, slack, d):
    """The formulas of section 5.4 against all points there are."""
    for s in range(5):
        reach = range(-s - slack, s + slack + 1)
        points = [z for z in product(reach, repeat=d) if shape != "sum-zero" or not sum(z)]
        inside = [z for z in points if norm(shape, z, slack) <= s]
        assert v.count_ball(shape, d, s, slack) == len(inside)
        for t in range(1, s + slack + 2):
            assert v.count_above(shape, d, s, t, slack) == sum(z[0] >= t for z in inside), t


def neighbours_of_zero(space):
    """Every vector that one neighbour adds: sums of `reach` moves, by section 4."""
    d = space.dimension
    unit = [tuple(int(i == j) for j in range(d)) for i in range(d)]
    moves = {
        "any": [tuple(s * x for x in e) for e in unit for s in (1, -1)],
        "one-way": [tuple(s * x for x in z) for z in product((0, 1), repeat=d) for s in (1, -1)],
        "cube": list(product((-1, 0, 1), repeat=d)),
        "exchange": [
            tuple(x - y for x, y in zip(a, b, strict=True)) for a in [*unit, (0,) * d] for b in [*unit, (0,) * d]
        ],
        "sum-zero": [tuple(x - y for x, y in zip(a, b, strict=True)) for a in unit for b in unit],
    }[space.moves]
    reached = {(0,) * d}
    for _ in range(space.reach):
        reached |= {tuple(x + y for x, y in zip(z, m, strict=True)) for z in reached for m in moves}
    return {z for z in reached if space.each is None or max(map(abs, z)) <= space.each}


@pytest.mark.parametrize("moves", v.MOVES)
@pytest.mark.parametrize(("d", "reach", "each"), [(1, 2, None), (2, 1, None), (3, 2, None), (3, 2, 1), (2, 3, 2)])
def test_sensitivities_are_upper_bounds(moves, d, reach, each):
    """Against every vector that one neighbour can add."""
    if each is not None and moves not in ("any", "exchange"):
        return
    space = v.Lattice(d, moves, reach, each=each)
    changes = neighbours_of_zero(space)
    assert max(sum(map(abs, z)) for z in changes) <= space.l1
    assert max(sum(x * x for x in z) for z in changes) <= space.l2_squared
    for shape in v.MOVES:
        bound = space.norm(shape)
        if bound is not None and (shape != "sum-zero" or moves == "sum-zero"):
            assert max(norm(shape, z) for z in changes) <= bound, shape


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.integers(1, 4), st.integers(1, 4), st.integers(0, 9))
def test_layers_are_private_just_as_much_as_their_steps(top, period, upper, reach):
    """The most steps between integers at most `reach` apart, by looking at all of them; and the corner e^-epsilon."""
    upper = min(upper, period)
    law = v.Layers(Fraction(top, 10), period, upper)
    s = lambda n: abs(n) // period + (abs(n) % period >= upper)  # noqa: E731
    most = max(s(x + r) - s(x) for x in range(-30, 31) for r in range(-reach, reach + 1))
    assert law.steps(reach) == most
    ratio = Fraction(10, top) ** most
    assert v.keeps(v.Level("approx", Fraction(0), ratio), [(law.decay, most)])
    assert not most or not v.keeps(
        v.Level("approx", Fraction(0), max(ratio - Fraction(1, 10**9), Fraction(1))), [(law.decay, most)]
    )


@pytest.mark.parametrize(
    "level", [v.Level("approx", Fraction(1), delta=Fraction(1, 20)), v.Level("gaussian", size=Fraction(1))]
)
def test_factors_keep_other_levels_up_to_their_corner(level):
    """The largest epsilon that implies a level, found by bisection, is where its upper function is 1 - alpha."""
    low, high = Fraction(1, 100), Fraction(1)
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if v.keeps(level, [(middle, 1)]) else (middle, high)
    corner = float(high / (1 + high))
    if level.family == "gaussian":
        assert math.isclose(math.erfc(-0.5 / math.sqrt(2)) / 2, 1 - corner, rel_tol=1e-7)
    else:
        assert math.isclose(math.e * corner + 0.05, 1 - corner, rel_tol=1e-7)


def test_rows_of_weights():
    """Every event of three outputs, by enumeration."""
    level = v.Level("approx", Fraction(1, 2), delta=Fraction(1, 50))
    rows = [(500, 300, 200), (600, 250, 150), (780, 150, 70), (300, 300, 400), (990, 10, 0), (400, 340, 260)]
    for here, there in product(rows, repeat=2):
        events = [[i for i in range(3) if mask >> i & 1] for mask in range(8)]
        private = all(sum(here[i] for i in e) <= math.exp(0.5) * sum(there[i] for i in e) + 20 for e in events)
        assert v.row_keeps(level, here, there, 1000) == private


def test_composition_of_a_batch():
    """Two releases of ln 3 at epsilon ln 3: the exact delta is 3/8, by hand."""
    level = v.Level("approx", Fraction(0), Fraction(3))
    delta = v.composed_delta([level, level], level, 40)
    assert Fraction(delta.low) <= Fraction(3, 8) <= Fraction(delta.high)  # (3/4)^2 (1 - 3/9)
    assert delta.high - delta.low < Fraction(1, 10**20)


SPACES = [um.path(5), um.sums(3, 2), um.cycle(5), um.cycle(2), um.complete(4), um.path(1), um.counts(3)]
SPACES += [um.differences(3, adjacency) for adjacency in ("replace", "add-remove")]
SPACES += [
    um.grid((3, 2)),
    um.grid((3, 2), "manhattan"),
    um.grid((2, 2, 2)),
    um.hamming(2, 3),
    um.hamming(2, ("a", "b")),
]
SPACES += [um.histograms(3, 3), um.histograms(2, 3, "add-remove")]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_edges_of_graphs(space):
    """The same points and neighbours as the package; in the same order where levels may differ by edge."""
    plain = space.to_json()
    points, edges = v.edges_of(plain)
    theirs = [tuple(edge) for edge in space.edge_indices.tolist()]
    assert points == len(space.points)
    assert sorted(map(sorted, edges)) == sorted(map(sorted, theirs))
    if plain.get("family") in v.ORDERED:
        assert [tuple(edge) for edge in edges] == theirs
