"""Counts, histograms, winners and quantiles: the right statistics, neighbours next to each other, exact laws."""

import enum
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.questions import Setting, count, counts, histogram, majority, mean, plurality, quantile, threshold, total
from oracles.tables import UNITS, as_table, neighbour_of, session, tables
from utmost.release.answer import describe, make_answer
from utmost.release.mechanisms import contests, selection
from utmost.release.mechanisms.balls import ball_noise
from utmost.release.mechanisms.choice import design_number
from utmost.release.mechanisms.count_vectors import Board, Together
from utmost.release.mechanisms.several import design_disjoint, design_overlapping

import utmost as um
from utmost.errors import InvalidInput, NotRowWise, UnsupportedLevel
from utmost.privacy import PureDP
from utmost.release import engines
from utmost.space.integers import Line

SECRET = b"s" * 32
SHAPES = ["cube", "exchange"]
EPSILONS = [0.1, 0.5, 1, 2]


def asked(listed, unit, neighbours, epsilon=1):
    """One of each question about several counts or candidates."""
    setting = Setting(engines.open_table(as_table(listed)), unit, neighbours)
    return {
        "counts": counts(setting, ["n >= 0", "x > 1", "ok"], epsilon, "rows", "absolute"),
        "one column": histogram(setting, "id", ["a", "b", "c"], epsilon, "elsewhere", None, "rows", "absolute"),
        "two columns": histogram(
            setting, ["ok", "n"], [[True, False], [1, 2]], epsilon, None, "x > 0", "rows", "squared"
        ),
        "winner": plurality(setting, "n", [1, -1, 0], epsilon, "ok OR ok IS NULL", "rows", "zero-one", None),
        "median": quantile(setting, "x", "1/2", [-2, 0, 1, 4], epsilon, None, "rows", "absolute", None),
        "third": quantile(setting, "x", "1/3", [-2, 0.5, 2.5], epsilon, "n < 5", "rows", "zero-one", None),
    }


def found(question):
    return question.point(question.statement(SECRET))


# ---- statistics ----


def check_neighbours(listed, which, neighbours, data):
    unit = UNITS[which]
    near = neighbour_of(listed, unit, neighbours, data)
    here, there = asked(listed, unit, neighbours), asked(near, unit, neighbours)
    k = unit.rows_each
    for name, question in here.items():
        first, second, design = found(question), found(there[name]), question.joint.design
        if name == "counts":
            assert all(abs(first[c] - second[c]) <= k for c in first)
            continue
        one, other = (list(p["tally"] if "tally" in p else p.values()) for p in (first, second))
        moved = [b - a for a, b in zip(one, other, strict=True)]
        up, down = sum(m for m in moved if m > 0), -sum(m for m in moved if m < 0)
        assert max(up, down) <= k
        assert neighbours == "replace" or min(up, down) == 0
        if "tally" in first:
            check_contest(design.contest, np.array([one, other]))


def check_contest(contest, pair):
    """Winner and lead of neighbours lie on adjacent points; scores move by half their reach, or all one way."""
    winners, leads = contest.winners(pair).tolist(), contest.leads(pair).tolist()
    depths = [-(-lead // contest.lead_reach) - 1 for lead in leads]
    assert min(leads) >= 1
    assert max(leads) <= contest.most_lead
    if winners[0] == winners[1]:
        assert abs(depths[0] - depths[1]) <= 1
    else:
        assert depths == [0, 0]
    moved = np.diff(contest.scores(pair), axis=0)[0]
    if (moved >= 0).all() or (moved <= 0).all():
        assert np.abs(moved).max() <= contest.score_reach
    else:
        assert np.abs(moved).max() * 2 <= contest.score_reach


@settings(max_examples=20)
@given(tables, st.sampled_from([0, 1, 2]), st.sampled_from(["replace", "add-remove"]), st.data())
def test_neighbours_are_the_same_or_adjacent_points(listed, which, neighbours, data):
    """One row or person changed, added or removed moves counts, cells, leads and scores by no more than is stated."""
    check_neighbours(listed, which, neighbours, data)


@pytest.mark.long
@settings(max_examples=1000)
@given(tables, st.sampled_from([0, 1, 2]), st.sampled_from(["replace", "add-remove"]), st.data())
def test_neighbours_are_adjacent_in_thousands_of_tables(listed, which, neighbours, data):
    """The same, for thousands of tables."""
    check_neighbours(listed, which, neighbours, data)


def nearest(x, candidates):
    return min(range(len(candidates)), key=lambda i: (abs(Fraction(x) - Fraction(candidates[i])), i))


@settings(max_examples=30)
@given(tables)
def test_statistics_against_python(listed):
    """Counts and cells as a loop over the rows finds them."""
    point = {name: found(q) for name, q in asked(listed, um.rows(at_most=1000), "replace").items()}
    known = [x for _, x, _, _ in listed if x is not None and not math.isnan(x)]
    assert list(point["counts"].values()) == [
        sum(n is not None and n >= 0 for _, _, n, _ in listed),
        sum(x > 1 for x in known),
        sum(ok is True for *_, ok in listed),
    ]
    cells = Counter(i if i in ("a", "b", "c") else "elsewhere" for i, *_ in listed)
    assert point["one column"] == {c: cells[c] for c in ("a", "b", "c", "elsewhere")}
    pairs = Counter((ok, n) for _, x, n, ok in listed if x is not None and x > 0)
    assert point["two columns"] == {f"{ok}, {n}": pairs[ok, n] for ok in (True, False) for n in (1, 2)}
    votes = Counter(n for _, _, n, ok in listed if ok is not False)
    assert point["winner"] == {"tally": [votes[1], votes[-1], votes[0]]}
    ranks = Counter(0 if x == -math.inf else 3 if x == math.inf else nearest(x, [-2, 0, 1, 4]) for x in known)
    assert point["median"] == {"tally": [ranks[i] for i in range(4)]}


def test_rows_of_a_person_are_bounded_jointly():
    """A person with many rows in many cells counts with as many as are kept, over all conditions together."""
    listed = [("a", float(i), i % 3, True) for i in range(9)]
    for name, question in asked(listed, um.people("id", rows_each=2, at_most=4), "replace").items():
        point = found(question)
        cells = point.get("tally") or point.values()
        total = max(cells) if name == "counts" else sum(cells)
        assert total <= 2, name
    setting = Setting(engines.open_table(as_table(listed)), um.people("id", rows_each=2, at_most=4), "replace")
    once = histogram(setting, "n", [0, 1, 2], 1, None, None, "people", "absolute")
    assert sum(found(once).values()) == 1


# ---- laws ----


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_ball_noise_is_private_and_complete(shape, dimension):
    """Exact rationals: every move of a neighbour changes a probability by at most 1/b; the law adds up to one."""
    noise = ball_noise(shape, dimension, PureDP(1))
    assert noise.keeps()
    moves = [m for m in product((-1, 0, 1), repeat=dimension) if noise.norm(m) <= 1]
    for z in product(range(-2, 3), repeat=dimension):
        for move in moves:
            near = tuple(a + b for a, b in zip(z, move, strict=True))
            assert noise.exact_probability(near) >= noise.decay * noise.exact_probability(z)
    near = math.fsum(noise.probability(z) for z in product(range(-14, 15), repeat=dimension))
    assert near == pytest.approx(1, abs=1e-4)
    assert near < 1
    first = Counter()
    for z in product(range(-14, 15), repeat=dimension):
        first[z[0]] += noise.probability(z)
    assert [first[t] for t in range(6)] == pytest.approx(noise.marginal[:6].tolist(), abs=1e-5)
    assert noise.marginal[0] + 2 * noise.marginal[1:].sum() == pytest.approx(1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_ball_noise_keeps_its_level_for_all_its_steps(shape, steps):
    """A neighbour several steps away changes a probability by b^-steps: a decay made for fewer steps is refused."""
    noise = ball_noise(shape, 2, PureDP.from_ratio(3), steps)
    assert noise.keeps()
    far = (steps, 0) if shape == "cube" else (steps, -steps)
    assert noise.exact_probability((0, 0)) <= 3 * noise.exact_probability(far)
    for fewer in range(1, steps):
        hasty = replace(noise, decay=ball_noise(shape, 2, PureDP.from_ratio(3), fewer).decay)
        assert hasty.exact_probability((0, 0)) > 3 * hasty.exact_probability(far)
        assert not hasty.keeps()
    for decay in (Fraction(0), Fraction(1), Fraction(2)):
        assert not replace(noise, decay=decay).keeps()


@pytest.mark.parametrize("shape", SHAPES)
def test_ball_noise_is_drawn_by_its_law(shape):
    """Twenty thousand exact draws against the probabilities."""
    noise = ball_noise(shape, 2, PureDP.from_ratio(3))
    drawn = Counter(noise.sample() for _ in range(20_000))
    for z, times in drawn.most_common(12):
        p = noise.probability(z)
        assert abs(times / 20_000 - p) < 5 * math.sqrt(p * (1 - p) / 20_000)


@pytest.mark.parametrize("loss", ["absolute", "squared", "within 1", "zero-one"])
def test_expected_losses_of_noise_on_all_counts_by_enumeration(loss):
    """Against sums over all points and all noise, clamped."""
    line = Line(0, 5, 1)
    for shape in SHAPES:
        together = Together(ball_noise(shape, 2, PureDP(2)), line)
        noise = {z: together.noise.probability(z) for z in product(range(-14, 15), repeat=2)}
        total = 0.0
        for point in product(range(6), repeat=2):
            for z, p in noise.items():
                off = [abs(line.clamp(x + e) - x) for x, e in zip(point, z, strict=True)]
                if loss == "zero-one" and shape == "cube":
                    cost = float(any(off))
                else:
                    cost = {
                        "absolute": sum(off),
                        "squared": sum(o * o for o in off),
                        "within 1": sum(o > 1 for o in off),
                    }.get(loss, sum(o > 0 for o in off)) / 2
                total += p * cost / 36
        assert together.expected(loss) == pytest.approx(total, abs=1e-9)


def small_contests():
    for neighbours in ("replace", "add-remove"):
        yield Votes((0, 1, 2), 4, 1, neighbours)
        yield Votes(("x", "y"), 6, 2, neighbours)
        yield Ranks((0, 2, 3), Fraction(1, 3), 4, 1, neighbours)
        yield Ranks((0, 1), Fraction(1, 2), 5, 2, neighbours)


def neighbouring(contest):
    """All pairs of neighbouring tallies."""
    m, k = len(contest.names), contest.rows_each
    listed = [t for t in product(range(contest.most + 1), repeat=m) if sum(t) <= contest.most]
    for one in listed:
        for other in listed:
            moved = [b - a for a, b in zip(one, other, strict=True)]
            up, down = sum(x for x in moved if x > 0), -sum(x for x in moved if x < 0)
            if 0 < max(up, down) <= k and (contest.neighbours == "replace" or min(up, down) == 0):
                yield one, other


def exact_law(mechanism, tally):
    """The probability of every candidate at one tally, as fractions: from the definition, not from quadrature."""
    scores = mechanism.contest.scores(np.array([tally]))[0].tolist()
    accepted = [mechanism.decay ** (max(scores) - score) for score in scores]
    if mechanism.with_replacement:
        return [a / sum(accepted) for a in accepted]
    return [a * mean_of_product(accepted[:i] + accepted[i + 1 :]) for i, a in enumerate(accepted)]


def mean_of_product(accepted):
    """The integral over t from 0 to 1 of the product of 1 - t·a: how often nobody before was accepted."""
    powers = [Fraction(1)]
    for a in accepted:
        powers = [x - a * y for x, y in zip([*powers, 0], [0, *powers], strict=True)]
    return sum(c / (k + 1) for k, c in enumerate(powers))


@pytest.mark.parametrize("contest", list(small_contests()), ids=str)
def test_selections_are_private_in_rationals(contest):
    """Every pair of neighbouring tallies, every candidate: exact probabilities within b^-reach <= e^epsilon."""
    level = PureDP(1)
    decay = selection.decay_above(level, contest.score_reach)
    lines = selection.Rainbow(contest, selection.plurality(9, range(len(contest.names)), level, "add-remove"))
    assert lines.verify()
    for again in (True, False):
        mechanism = selection.Weighted(contest, level, decay, again)
        assert mechanism.verify()
        rows = {}
        for one, other in neighbouring(contest):
            check_contest(contest, np.array([one, other]))
            for tally in (one, other):
                if tally not in rows:
                    rows[tally] = exact_law(mechanism, tally)
                    assert sum(rows[tally]) == 1
                    assert mechanism.probabilities(np.array([tally]))[0].tolist() == pytest.approx(
                        [float(p) for p in rows[tally]]
                    )
            assert all(q >= p * decay**contest.score_reach for p, q in zip(rows[one], rows[other], strict=True))
    for one, other in neighbouring(contest):
        p, q = lines.probabilities(np.array([one, other]))
        assert np.abs(np.log(p / q)).max() <= 1 + 1e-12


@pytest.mark.parametrize(
    "contest", [Votes((0, 1, 2), 30, 1, "replace"), Ranks((0, 1, 5), Fraction(1, 2), 9, 1, "replace")]
)
def test_selections_are_drawn_by_their_laws(contest):
    """Ten thousand draws of each mechanism at one tally."""
    level = PureDP(1)
    decay = selection.decay_above(level, contest.score_reach)
    options = [selection.Weighted(contest, level, decay, again) for again in (True, False)]
    options.append(selection.Rainbow(contest, selection.plurality(9, range(3), level, "add-remove")))
    tally = np.array([3, 4, 2])
    for option in options:
        wanted = option.probabilities(tally[None, :])[0]
        drawn = Counter(option.draw(tally) for _ in range(10_000))
        for i, p in enumerate(wanted):
            assert abs(drawn[i] / 10_000 - p) < 5 * math.sqrt(p * (1 - p) / 10_000)


def test_a_coin_of_tiny_probability_ends():
    """b^gap for gaps of a million million votes is compared, not computed."""
    assert not any(selection._flip(selection.decay_above(PureDP(1)), 10**12) for _ in range(20))
    heads = sum(selection._flip(Fraction(1, 2), 2) for _ in range(4000))
    assert 850 < heads < 1150


@pytest.mark.parametrize(
    "contest", [Votes((0, 1, 2), 40, 1, "replace"), Ranks((0, 1, 2), Fraction(1, 4), 40, 1, "add-remove")]
)
def test_drawn_lines_estimate_the_exact_average(contest, monkeypatch):
    """Where all tallies can be listed, the estimate from lines is the exact average within its standard error."""
    level = PureDP(1)
    option = selection.Weighted(contest, level, selection.decay_above(level, contest.score_reach), False)

    def losses():
        tallies = selection.prior_tallies(contest, level)
        return selection._expected(selection._chances(option, tallies), contest, tallies)

    exact = losses()
    monkeypatch.setattr(contests, "MOST_TALLIES", 0)
    for loss, (value, error) in losses().items():
        assert 0 < error < 0.05 * value
        assert abs(value - exact[loss][0]) < 4 * error


@pytest.mark.parametrize(
    "contest",
    [
        Votes((0, 1, 2, 3), 5, 1, "replace"),
        Votes((0, 1), 7, 1, "add-remove"),
        Ranks((0, 1, 2, 3), Fraction(2, 5), 6, 1, "replace"),
        Ranks((0, 1, 2), Fraction(1, 2), 7, 1, "replace"),
        Ranks((0, 1), Fraction(9, 10), 7, 1, "replace"),
    ],
)
def test_every_tally_is_on_one_line(contest):
    """All draws and turns: each tally is met once a turn, and is closest to another winner in the line's middle."""
    m, met = len(contest.names), Counter()
    for parts in product(range(contest.most + 1), repeat=m):
        if sum(parts) != contest.most:
            continue
        for turn in range(m):
            for line in contest.lines(np.array(parts), turn):
                tallies = line.tallies(np.arange(line.low, line.high + 1))
                met.update(map(tuple, tallies.tolist()))
                leads = contest.leads(tallies)
                away = np.abs(np.arange(line.low, line.high + 1) - line.middle)
                assert leads.min() >= leads[away == 0][0] - contest.most_lead / contest.most
    every = [t for t in product(range(contest.most + 1), repeat=m) if sum(t) <= contest.most]
    assert met == dict.fromkeys(every, m)


# ---- which mechanism, and never worse ----


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_never_worse_than_the_alternatives(epsilon):
    """In the declared loss under the declared prior, at four levels, rows and people, both neighbours."""
    for neighbours in ("replace", "add-remove"):
        for unit in (um.rows(at_most=300), um.people("id", rows_each=3, at_most=100)):
            for name, question in asked([], unit, neighbours, epsilon).items():
                design = question.joint.design
                assert design.verify()
                for other, by in design.alternatives.items():
                    assert design.expected[design.loss] <= by[design.loss] + 1e-12, (name, other)


def test_two_counts_have_the_tight_constraints_where_they_exist():
    """REG's two counts of 30 people at epsilon = 1.2: probability of both right 0.1900; none at 1.1."""
    tight = design_overlapping(("a", "b"), Line(0, 30, 1), PureDP(1.2), "zero-one")
    assert isinstance(tight.mechanism, Board)
    assert tight.proof.claim == "theorem"
    assert 1 - tight.expected["zero-one"] == pytest.approx(0.1900, abs=5e-5)
    below = design_overlapping(("a", "b"), Line(0, 30, 1), PureDP(1.1), "zero-one")
    assert isinstance(below.mechanism, Together)
    assert all(0 <= x <= 30 for x in tight.draw({"a": 3, "b": 30}).values())
    points, chances = tight.posterior({"a": 4, "b": 30})["b"]
    assert points[int(chances.argmax())] == 30


def test_a_small_grid_has_the_optimum(monkeypatch):
    """Three people, two conditions: the linear program, with its gap; noise on all counts errs more."""
    monkeypatch.setenv("UTMOST_CACHE", "off")
    line = Line(0, 3, 1)
    best = design_overlapping(("a", "b"), line, PureDP(1), "absolute")
    assert isinstance(best.mechanism, Board)
    assert best.proof.gap < 1e-6
    assert best.expected["absolute"] < Together(ball_noise("cube", 2, PureDP(1)), line).expected("absolute")
    assert best.expected["absolute"] < design_number(line, PureDP("0.5"), "absolute").expected["absolute"]
    assert best.verify()


def test_cells_in_parallel_are_optimal():
    """Rows that come or go: every cell gets all of epsilon, and nothing is better."""
    cells = design_disjoint(("a", "b", "c"), 100, 1, 1, PureDP(1), "absolute")
    single = design_overlapping(("a",), Line(0, 100, 1), PureDP(1), "absolute")
    assert cells.proof.claim == single.proof.claim == "theorem"
    assert cells.expected["absolute"] == pytest.approx(single.expected["absolute"])
    closed = design_disjoint(("a", "b"), 100, 2, 1, PureDP(1), "absolute", closed=True)
    assert closed.proof.claim == "unproved"  # no cell changes alone, so the bound of a single count does not hold
    assert design_disjoint(("a", "b"), 100, 2, 1, PureDP(1), "absolute").proof.claim == "bound"


# ---- what people see ----


def test_reports_do_not_depend_on_the_table(tmp_path):
    """Two tables, the same released values: the same JSON and the same page, byte for byte."""
    ledger = {"entry": 1, "time": "t", "spent": "1", "left": "0", "head": "0" * 64, "kept": True}
    one = asked([("a", 1.0, 1, True)] * 9, um.rows(at_most=20), "replace")
    two = asked([], um.rows(at_most=20), "replace")
    for name, question in one.items():
        released = question.release(question.statement(SECRET))
        pages = []
        for i, other in enumerate((question, two[name])):
            answer = make_answer(other, describe(other, "survey"), released, ledger)
            page = answer.report(tmp_path / f"{i}.html")
            pages.append((answer.to_json(), str(answer), page.read_bytes(), page.with_suffix(".json").read_bytes()))
        assert pages[0] == pages[1]


def test_answers_from_a_session():
    """Values in the order asked, recorded in the ledger, found again at no cost; plans read nothing."""
    s = session(
        [*[("a", 1.0, 1, True), ("b", 4.0, 2, False)] * 8, ("b", 4.0, 2, None)], um.rows(at_most=20), "add-remove"
    )
    answer = s.histogram("id", ["b", "a"], privacy=50, other="else")
    assert answer.value == {"b": 9, "a": 8, "else": 0}
    assert list(answer.value) == ["b", "a", "else"]
    assert s.histogram("id", ["b", "a"], privacy=50, other="else").head == answer.head
    assert s.counts({"old": "n > 1", "young": "n < 5"}, privacy=50).value == {"old": 9, "young": 17}
    assert s.plurality("id", ["b", "a"], privacy=50).value == "b"
    assert s.quantile("x", 0.75, [0, 1, 2, 4], privacy=50).value == 4
    assert str(s.spent) == "epsilon 200 of 1000"
    assert s.plan.plurality("id", ["b", "a"], privacy=1).accuracy["before"]["average"] < 0.2
    assert "permute and flip" in str(s.plan.plurality("id", ["b", "a", "c"], privacy=1))


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (lambda s: s.counts("n > 1", 1), "list them"),
        (lambda s: s.counts([], 1), "1 to 100"),
        (lambda s: s.counts([f"n > {i}" for i in range(101)], 1), "101 conditions; give 1 to 100"),
        (lambda s: s.counts(["n > 1", "n > 2", "n > 1 "], 1), "'n > 1' is listed twice"),
        (lambda s: s.counts(["n > 1", None], 1), "a condition is None"),
        (lambda s: s.counts([None, "n > 1"], 1), "a condition is None"),
        (lambda s: s.counts({"many": None}, 1), "a condition is None"),
        (lambda s: s.counts(["n > 1", "n > avg(n)"], 1), "not allowed"),
        (lambda s: s.histogram("nothing", ["a"], 1), "no column"),
        (lambda s: s.histogram("id", "ab", 1), "list them"),
        (lambda s: s.histogram("id", ["a", "a"], 1), "twice"),
        (lambda s: s.histogram("id", ["a", 1], 1), "all texts"),
        (lambda s: s.histogram("id", [1, 2], 1), "another kind"),
        (lambda s: s.histogram("x", [math.nan], 1), "finite"),
        (lambda s: s.histogram("n", [1.5], 1), "whole numbers"),
        (lambda s: s.histogram("id", ["a"], 1, other="a"), "not a category"),
        (lambda s: s.histogram("n", [1, 2], 1, other="1"), "two cells"),
        (lambda s: s.histogram(["id", "id"], [["a"], ["b"]], 1), "two columns"),
        (lambda s: s.histogram(["id", "n", "ok"], [["a"], [1], [True]], 1), "two columns"),
        (lambda s: s.histogram("n", list(range(2000)), 1), "at most 1000 are counted at once; list fewer"),
        (lambda s: s.histogram("id", ["a"], um.ApproxDP(1, 0.1)), "pure levels"),
        (lambda s: s.plurality("id", ["a"], 1), "2 to 100"),
        (lambda s: s.plurality("id", ["a", "b"], 1, prior={(1,): 1}), "2 whole numbers"),
        (lambda s: s.plurality("id", ["a", "b"], 1, loss="absolute"), "loss is"),
        (lambda s: s.plurality("id", ["a", "b"]), "no default"),
        (lambda s: s.quantile("x", 1, [0, 1], 1), "between 0 and 1"),
        (lambda s: s.quantile("x", 0.5, [1, 0], 1), "increasing"),
        (lambda s: s.quantile("id", 0.5, [0, 1], 1), "not numbers"),
        (lambda s: s.counts(["n > 1"], 1, of="people"), "people"),
    ],
)
def test_wrong_use_says_what_to_do(question, words):
    """Nothing is spent."""
    s = session([("a", 1.0, 1, True)], um.rows(at_most=20))
    with pytest.raises((InvalidInput, NotRowWise, UnsupportedLevel), match=words):
        question(s)
    assert str(s.spent) == "epsilon 0 of 1000"


def test_candidates_keep_their_kind():
    """1, 1.0 and True are equal in Python; what is named is what was listed."""
    s = session([("a", 1.0, 1, True)] * 15, um.rows(at_most=20))
    for column, candidates in (("n", [1, 0]), ("ok", [True, False]), ("x", [1.0, 0.0])):
        value = s.plurality(column, candidates, privacy=50).value
        assert value == 1
        assert type(value) is type(candidates[0])


def test_wide_promises_look_far_enough():
    """A Gaussian promise of small mu tells winners apart late; the average must see that far."""
    votes = Votes((0, 1), 20_000, 1, "add-remove")
    loose = selection.design_selection(votes, um.GaussianDP(0.01), "zero-one")
    strict = selection.design_selection(votes, um.GaussianDP(0.1), "zero-one")
    assert loose.expected["zero-one"] > 5 * strict.expected["zero-one"] > 0


def test_a_listed_prior_is_exact():
    """One tally for certain: the expected loss is that of its row."""
    s = session([], um.rows(at_most=20))
    plan = s.plan.plurality("id", ["a", "b"], 1, prior={(3, 3): 1.0})
    assert plan.accuracy["before"]["average"] == pytest.approx(1 / (1 + math.e))  # the boundary: randomised response
    assert plan.accuracy["before"]["holds"] == ("average: exact, under the listed prior; worst: over all tallies")


def test_audits_of_counts_and_candidates():
    """Neighbouring tables asked many times: the promise is not contradicted."""
    one, other = [("a", 1.0, 1, True)] * 3, [("a", 1.0, 1, True)] * 2 + [("b", 4.0, 2, True)]

    def ask(question):
        return lambda listed: question(session(listed, um.rows(at_most=9), "replace"))

    for question in (
        lambda s: s.plurality("id", ["a", "b", "c"], privacy=1),
        lambda s: s.counts(["n > 1", "ok"], privacy=1),
        lambda s: s.histogram("id", ["a", "b"], privacy=1),
        lambda s: s.quantile("x", 0.5, [1, 4], privacy=1),
    ):
        found = um.audit(ask(question), one, other, runs=1000)
        assert not found.broken, str(found)


class Town(str, enum.Enum):  # noqa: UP042  (a StrEnum writes itself alike)
    """Texts that str() writes as 'Town.ASH', and JSON as 'ash'."""

    ASH = "ash"
    BRIAR = "briar"


class Few(enum.IntEnum):
    ONE = 1
    TWO = 2


class Loud(str):
    """A text that shows another."""

    def __str__(self):
        return "loud"

    __repr__ = __str__

    def __format__(self, form):
        return "loud"


def test_values_of_enums_ask_what_plain_ones_ask():
    """SQL, the names of cells, the words and the ledger's identity are made of one value."""
    table = pyarrow.table(
        {"town": ["ash"] * 7 + ["briar"] * 3, "n": [1] * 6 + [2] * 4, "id": [str(i) for i in range(10)]}
    )
    unit = um.people(Loud("id"), rows_each=np.int64(1), at_most=Few.TWO * 10)
    assert str(unit) == "people by 'id', 1 row each, at most 20"

    def every(setting, text, number):
        t, n = text, number
        yield histogram(setting, t("town"), [t("ash"), t("briar")], 1, t("other"), t("n < 3"), t("rows"), t("squared"))
        yield histogram(
            setting, [t("town"), t("n")], [[t("ash")], [n(1), n(2)]], 1, None, None, t("people"), "absolute"
        )
        yield plurality(setting, t("town"), (t("briar"), t("ash")), 1, t("n < 3"), t("rows"), t("zero-one"), None)
        yield plurality(setting, t("n"), [n(2), n(1)], 1, None, "rows", "shortfall", {(n(1), n(2)): 1})
        yield quantile(setting, t("n"), "1/2", [n(1), n(2)], 1, t("n < 3"), t("rows"), t("rank"), None)
        yield counts(setting, {t("one"): t("n = 1"), t("two"): t("town = 'ash'")}, 1, t("people"), t("absolute"))
        yield counts(setting, [t("n = 1")], 1, t("rows"), t("within 2"))
        yield count(setting, t("town = 'ash'"), 1, t("people"), t("absolute"), None)
        yield threshold(setting, t("town = 'ash'"), n(2), 1, t("rows"), t("zero-one"), None)
        yield majority(setting, t("town = 'ash'"), 1, t("zero-one"), None)
        yield total(setting, t("n"), n(1), n(2), 1, t("n < 3"), 1, t("absolute"), None)
        yield mean(setting, t("n"), n(1), n(2), 1, t("n < 3"), 1, t("absolute"))

    def enumerated(text):
        return Town(text) if text in ("ash", "briar") else Loud(text)

    setting = Setting(engines.open_table(table), unit, "replace")
    known = list(every(setting, str, int))
    for text, number in ((enumerated, Few), (Loud, np.int64), (np.str_, np.int8)):
        for question, wanted in zip(every(setting, text, number), known, strict=True):
            assert repr(question.identity) == repr(wanted.identity)
            assert question.words == wanted.words
            assert question.point(question.statement(SECRET)) == wanted.point(wanted.statement(SECRET))
    s = um.Session(table, "d", um.rows(at_most=20), "replace", budget=1000)
    assert s.histogram("town", list(Town), privacy=50).value == {"ash": 7, "briar": 3}
    again = s.histogram("town", ["ash", "briar"], privacy=50)
    assert (again.value, again.recorded) == ({"ash": 7, "briar": 3}, True)
    assert type(s.plurality("town", list(Town), privacy=50).value) is str


@pytest.mark.parametrize("kind", ["h", "d", "x", "card"])
def test_categories_that_a_float_does_not_tell_apart_are_refused(kind, tmp_path):
    """Beyond 2^53 the rows of one whole number would be counted as another's."""
    import ibis

    near = [2**53, 2**53 + 1, 2**53 + 1, 5]
    connection = ibis.duckdb.connect()
    connection.con.execute("CREATE TABLE r (h HUGEINT, d DECIMAL(20, 0), x DOUBLE)")
    connection.con.executemany("INSERT INTO r VALUES (?, ?, ?)", [[v, v, float(v)] for v in near])
    file = tmp_path / "cards.csv"
    file.write_text("card,name\n" + "".join(f"{card},x\n" for card in [*near, "5.0"]))
    source = engines.open_table(file if kind == "card" else connection.table("r"))
    setting = Setting(source, um.rows(at_most=9), "replace")

    def cells(categories, where=setting):
        question = histogram(where, kind, categories, 1, None, None, "rows", "absolute")
        return list(question.point(question.statement(SECRET)).values())

    for categories in (near[:2], [2**53 + 1]):
        with pytest.raises(InvalidInput, match=r"2\^53"):
            cells(categories)
        with pytest.raises(InvalidInput, match=r"2\^53"):
            plurality(setting, kind, [*categories, 5], 1, None, "rows", "zero-one", None)
    assert cells([5, 2**53 - 1]) == [2 if kind == "card" else 1, 0]
    if kind == "x":
        assert cells([2**53]) == [3]
    else:
        with pytest.raises(InvalidInput, match=r"2\^53"):
            cells([2**53])
    if kind == "card":
        exact = Setting(engines.open_table(file, {"card": int}), um.rows(at_most=9), "replace")
        assert cells(near[:2], exact) == [1, 2]


def test_categories_that_single_precision_does_not_tell_apart_are_refused():
    """Others are what a column of 32 bits holds for them: 0.1 is the 0.1 of the column."""
    source = engines.open_table(pyarrow.table({"f": pyarrow.array([2**24, 0.1, 0.3], pyarrow.float32())}))
    setting = Setting(source, um.rows(at_most=9), "replace")
    for categories in ([2**24, 2**24 + 1], [2**24 + 1], [0.1, 0.10000000001], [2e300, 1e300]):
        with pytest.raises(InvalidInput, match="32 bits"):
            histogram(setting, "f", categories, 1, None, None, "rows", "absolute")
    question = histogram(setting, "f", [2**24, 5, 0.1], 1, None, None, "rows", "absolute")
    assert list(question.point(question.statement(SECRET)).values()) == [1, 0, 1]


def test_categories_of_unsigned_numbers():
    source = engines.open_table(pyarrow.table({"u": pyarrow.array([2**64 - 1, 1, 2**64 - 1, 2**63], pyarrow.uint64())}))
    setting = Setting(source, um.rows(at_most=9), "replace")
    question = histogram(setting, "u", [2**64 - 1, 2**63, 1, -1], 1, None, None, "rows", "absolute")
    assert list(question.point(question.statement(SECRET)).values()) == [2, 1, 1, 0]
    with pytest.raises(InvalidInput, match="from 0 to 18446744073709551615"):
        histogram(setting, "u", [2**64], 1, None, None, "rows", "absolute")
