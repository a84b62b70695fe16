"""Surveys: odds in exact rationals, draws against their law, estimates and decisions by simulation."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from oracles.privacy import exponential_below
from scipy.stats import binom, chisquare

import utmost as um
from utmost.errors import BadFile, InvalidInput, UnknownPoint, UnsupportedLevel, WeakPromise
from utmost.exact.saved import write_checked
from utmost.mechanism.sampling import insecure_source_for_tests_only
from utmost.privacy import promise_in_words
from utmost.theory.multiparty.design.response import chances


def seeded(seed):
    return insecure_source_for_tests_only(np.random.default_rng(seed).bytes)


# ---- the promise ----


@pytest.mark.parametrize("epsilon", ["1e-25", "1e-9", "0.01", "0.5", "1", "3", "20", "60"])
@pytest.mark.parametrize(("k", "size"), [(2, None), (3, None), (17, None), (1000, None), (9, 1), (9, 8)])
def test_odds_are_private_in_rationals(k, size, epsilon):
    """The odds of a set with and without the true category: at least 1, at most e^eps, next to it where bits allow."""
    survey = um.local.survey(range(k), epsilon, size=size)
    with_it = survey.inside / math.comb(k - 1, survey.size - 1)
    without = (1 - survey.inside) / math.comb(k - 1, survey.size)
    assert 1 <= with_it / without <= exponential_below(epsilon) * (1 + Fraction(1, 2**150))
    assert survey.odds == with_it / without
    assert survey.verify()
    assert survey.size * 1 == survey.inside + (k - 1) * survey.beside
    if 0.001 < float(epsilon) < 25:
        assert float(with_it / without) == pytest.approx(math.exp(float(epsilon)), rel=1e-6)


def test_without_privacy_and_without_information():
    """Epsilon = infinity tells the truth; epsilon = 0 says nothing, draws without looking, and cannot be estimated."""
    assert [um.local.survey(["a", "b"], math.inf).respond("b", accept=True) for _ in range(50)] == ["b"] * 50
    nothing = um.local.survey(range(5), 0)
    assert nothing.odds == 1
    with seeded(1):
        first = [nothing.respond(0) for _ in range(200)]
    with seeded(1):
        assert [nothing.respond(4) for _ in range(200)] == first
    with pytest.raises(InvalidInput, match="say nothing"):
        nothing.estimate(first)


@pytest.mark.parametrize(("k", "epsilon", "size"), [(2, 1.0, None), (4, 2.0, None), (6, 0.5, None), (6, 1.0, 4)])
def test_draws_have_their_law(k, epsilon, size):
    """Every set as often as its probability says, for every true category (chi-squared, seeded bytes)."""
    survey = um.local.survey(range(k), epsilon, size=size)
    table = um.local.subset(k, epsilon, survey.size)
    n = 40_000
    with seeded(7):
        for x in (0, k // 2, k - 1):
            rows = survey.draw(np.full(n, x)).positions
            found = {}
            for row in map(tuple, rows.tolist()):
                found[row] = found.get(row, 0) + 1
            seen = np.array([found.pop(tuple(o), 0) for o in table.outputs])
            assert not found
            assert chisquare(seen, n * table.row(x)).pvalue > 1e-4
            one = [survey.respond(x) for _ in range(300)]
            inside = sum(x in (r if isinstance(r, tuple) else (r,)) for r in one)
            assert binom.cdf(inside, 300, float(survey.inside)) > 1e-4
            assert binom.sf(inside - 1, 300, float(survey.inside)) > 1e-4


@pytest.mark.parametrize("k", [2, 3, 5, 10, 50])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0, 5.0])
def test_the_best_size_has_the_least_variance(k, epsilon):
    """Of all sizes, by the variance that the probabilities themselves give."""
    chosen = um.local.survey(range(k), epsilon)
    errors = [um.local.survey(range(k), epsilon, size=s).standard_error(100) for s in range(1, k)]
    assert chosen.standard_error(100) == pytest.approx(min(errors), rel=1e-12)
    assert chosen.optimal == ("theorem" if k == 2 else "asymptotic")
    if k > 2:
        assert um.local.survey(range(k), epsilon, size=k - 1).optimal == "unproved"
    assert um.local.survey(range(k), epsilon, size=1).standard_error(1) == pytest.approx(
        math.sqrt(1 / k * (1 - 1 / k)) * (math.exp(epsilon) + k - 1) / math.expm1(epsilon)
    )


# ---- estimates ----


@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.7), (4, 2.0), pytest.param(8, 0.5, marks=pytest.mark.long)])
def test_estimates_are_unbiased_and_intervals_cover(k, epsilon):
    """400 surveys of 300 people drawn from a population: means, standard errors and coverage as stated."""
    rng = np.random.default_rng(k)
    truth = rng.dirichlet(np.full(k, 2.0))
    survey, runs, people = um.local.survey(range(k), epsilon), 400, 300
    with seeded(k):
        found = [survey.estimate(survey.draw(rng.choice(k, people, p=truth))) for _ in range(runs)]
    estimates = np.array([f.frequencies for f in found])
    spread = estimates.std(axis=0)
    assert (np.abs(estimates.mean(axis=0) - truth) < 4.5 * spread / math.sqrt(runs)).all()
    assert np.array([f.standard_errors for f in found]).mean(axis=0) == pytest.approx(spread, rel=0.12)
    assert spread == pytest.approx([survey.standard_error(people, t) for t in truth], rel=0.12)
    for level in (0.8, 0.95):
        ends = np.array([f.interval(level) for f in found])
        covered = ((ends[:, :, 0] <= truth) & (truth <= ends[:, :, 1])).mean(axis=0)
        assert (covered >= level - 4 * math.sqrt(level * (1 - level) / runs)).all()
        assert covered.mean() < level + 0.6 * (1 - level)  # and are not wide for nothing
    for name in ("on_simplex", "likeliest"):
        better = np.array([getattr(f, name) for f in found[:100]])
        assert (better >= 0).all()
        assert better.sum(axis=1) == pytest.approx(1)
        assert ((better - truth) ** 2).sum(axis=1).mean() <= ((estimates[:100] - truth) ** 2).sum(axis=1).mean()


def test_on_simplex_is_least_squares_and_likeliest_is_most_likely():
    """Against a general solver: the nearest distribution, and the largest likelihood."""
    from scipy.optimize import minimize

    survey = um.local.survey(range(4), 0.6)
    with seeded(5):
        drawn = survey.draw(np.random.default_rng(5).choice(4, 60, p=[0.7, 0.3, 0, 0]))
    found, table = survey.estimate(drawn), drawn.positions
    rows = um.local.subset(4, 0.6, survey.size)
    laws = rows.matrix[:, [rows.outputs.index(tuple(r)) for r in table.tolist()]]
    sums = {"type": "eq", "fun": lambda f: f.sum() - 1}
    options = {"bounds": [(0, 1)] * 4, "constraints": sums, "method": "SLSQP", "options": {"ftol": 1e-14}}
    near = minimize(lambda f: ((f - found.frequencies) ** 2).sum(), np.full(4, 0.25), **options).x
    assert found.on_simplex == pytest.approx(near, abs=1e-6)
    likely = minimize(lambda f: -np.log(f @ laws).sum(), np.full(4, 0.25), **options).x
    assert np.log(found.likeliest @ laws).sum() >= np.log(likely @ laws).sum() - 1e-6


# ---- columns ----


@pytest.mark.parametrize("epsilon", [3.0, 0.2])
def test_columns_of_all_kinds_give_one_answer(epsilon):
    """Lists, arrays, pandas, polars, pyarrow, categorical or not, with nulls: the same draws, in the kind given."""
    values = ["a", "b", None, "x", "c", "a"] * 5
    survey = um.local.survey(["a", "b", "c", "else", "f", "g"], epsilon, other="else")
    kinds = [
        values,
        tuple(values),
        np.array(values, dtype=object),
        pd.Series(values),
        pd.Series(values, dtype="category"),
        pl.Series("v", values),
        pl.Series("v", values, dtype=pl.Categorical),
        pa.array(values),
        pa.array(values).dictionary_encode(),
        pa.chunked_array([values[:7], values[7:]]),
    ]
    answers = []
    for column in kinds:
        with seeded(11):
            responses = survey.respond_column(column)
        assert not isinstance(column, pd.Series | pl.Series | pa.Array) or isinstance(
            responses, pd.Series | pl.Series | pa.Array
        )
        answers.append(survey.estimate(responses).counts.tolist())
    assert all(answer == answers[0] for answer in answers)
    with seeded(11):
        assert survey.estimate(survey.respond_column([*values])).counts.tolist() == answers[0]


def test_columns_of_numbers_and_truth_values():
    """Integer and boolean columns; what is not listed counts as other."""
    survey = um.local.survey([0, 1, 2, -1], math.inf, other=-1)
    for column in (
        [0, 1, 2, 7],
        np.array([0, 1, 2, 7]),
        pd.Series([0, 1, 2, 7]),
        pl.Series([0, 1, 2, 7]),
        pa.array([0, 1, 2, 7]),
    ):
        assert list(survey.estimate(survey.respond_column(column, accept=True)).counts) == [1, 1, 1, 1]
    odd = [math.nan, [1], None, "x"]
    for column in (odd, pd.Series(odd, dtype=object), np.array([*odd, 0], dtype=object)[:4]):
        assert list(survey.respond_column(column, accept=True)) == [-1] * 4


def test_a_column_needs_a_rule_made_beforehand():
    """Whatever the column holds, the answer is the same: an error about the survey, or none."""
    survey = um.local.survey(["a", "b"], 1.0)
    messages = set()
    for column in (["a", "b"], ["a", None], ["zzz"]):
        with pytest.raises(InvalidInput) as refused:
            survey.respond_column(column)
        messages.add(str(refused.value))
    assert len(messages) == 1


# ---- answers kept, surveys saved ----


@pytest.mark.parametrize("level", [5, 5.001, um.PureDP.from_ratio(149), math.inf])
def test_a_weak_promise_is_refused_unless_it_is_wanted(level):
    """Above epsilon = 5 nothing is drawn by any way to respond, unless somebody says that they want that."""
    survey = um.local.survey(["no", "yes", "else"], level, other="else")
    ways = (
        lambda **say: survey.respond("yes", **say),
        lambda **say: survey.respond_column(["yes", None], **say),
        lambda **say: survey.draw([1, 0], **say),
    )
    for respond in ways:
        assert respond(accept=True)
        if level == 5:
            assert respond()
            continue
        for answer in ({}, {"accept": False}, {"accept": None}, {"accept": "no"}):
            with pytest.raises(WeakPromise, match="nothing was sent"):
                respond(**answer)


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0), (0.5, 0), (1, 0.1), (3, 0.01), (7, 0)])
def test_the_promise_in_words_is_the_best_guess(epsilon, delta):
    """From even odds, the best guess of one of two answers from the weakest message that the level allows."""
    table = chances(um.ApproxDP(epsilon, delta))
    best = 0.5 * table.max(axis=0).sum()
    assert f"probability {100 * best:.4g} % at most" in promise_in_words(um.ApproxDP(epsilon, delta))


def test_a_kept_response_is_given_again(tmp_path):
    """Whatever the person answers the second time; another survey does not get it; a broken file is not overwritten."""
    survey, kept = um.local.survey(range(40), 0.3, "which?"), tmp_path / "kept.json"
    first = survey.respond(3, kept=kept)
    assert all(survey.respond(x, kept=kept) == first for x in range(40))
    with pytest.raises(BadFile, match="another survey"):
        um.local.survey(range(40), 0.3, "which else?").respond(3, kept=kept)
    head = {"format": "utmost-survey-response", "version": 1, "survey": survey.identity}
    forged = write_checked(tmp_path / "forged.json", {**head, "response": [1]}).read_text()
    for text in ("", "{}", '{"survey": 1}', json.dumps({**head, "response": [1]}), forged):
        kept.write_text(text)
        with pytest.raises(BadFile):
            survey.respond(3, kept=kept)
        assert kept.read_text() == text


def test_a_response_kept_in_the_meantime_counts(tmp_path, monkeypatch):
    """Two programs answer at once: the file that came first is the response, for both."""
    survey, kept = um.local.survey(range(40), 0.3), tmp_path / "kept.json"
    draw = um.local.Survey._draw

    def slow(self, true):
        monkeypatch.setattr(um.local.Survey, "_draw", draw)
        first.append(self.respond(5, kept=kept))
        return draw(self, true)

    first = []
    monkeypatch.setattr(um.local.Survey, "_draw", slow)
    assert survey.respond(3, kept=kept) == first[0]
    assert list(tmp_path.iterdir()) == [kept]


def test_surveys_are_saved_and_loaded(tmp_path):
    """The same survey comes back; any change is found."""
    level = um.PureDP.from_ratio("3/2")
    survey = um.local.survey(["x", 2, (1, "y"), True], level, "what?", other=2)
    path = survey.save(tmp_path / "s.json")
    assert um.local.Survey.load(path) == survey
    content = json.loads(path.read_text())
    for name, value in (("size", 1), ("question", "why?"), ("version", 9), ("privacy", {}), ("categories", ["x"])):
        path.write_text(json.dumps({**content, name: value}))
        with pytest.raises(BadFile):
            um.local.Survey.load(path)
    for text in ("", "[]", "nothing", "{}"):
        path.write_text(text)
        with pytest.raises(BadFile):
            um.local.Survey.load(path)
    with pytest.raises(BadFile):
        um.local.Survey.load(tmp_path / "missing.json")


def test_wrong_use_is_named_and_private_values_are_not():
    """Public mistakes are named; an answer that is no category is not repeated."""
    survey = um.local.survey(["never", "often", "always"], 0.1)
    for private in ("secret-answer", ["secret-answer"], math.nan):
        with pytest.raises(UnknownPoint) as refused:
            survey.respond(private)
        assert "secret" not in str(refused.value)
    for categories in (["a"], ["a", "a"], "a", ["a", None], [], 5, [math.nan, 1], [0, math.inf], [(1, math.nan), 2]):
        with pytest.raises(InvalidInput):
            um.local.survey(categories, 1)
    with pytest.raises(InvalidInput, match="'x', which is not a category"):
        um.local.survey(["a", "b"], 1, other="x")
    with pytest.raises(InvalidInput, match="fewer"):
        um.local.survey(["a", "b"], 1, size=2)
    with pytest.raises(UnsupportedLevel, match="quaternary"):
        um.local.survey(["a", "b"], um.ApproxDP(1, 0.1))
    for responses in (["never"], [("never", "often", "always")], ["maybe"], [None], [("never", "never")], 5, [[{}]]):
        with pytest.raises(InvalidInput):
            um.local.survey(range(9), 0.1).estimate(responses)
    with pytest.raises(InvalidInput, match="response number 2, counted from 1"):
        um.local.survey(["a", "b"], 1).estimate(["a", "z"])
    with pytest.raises(InvalidInput, match="no responses"):
        um.local.survey(["a", "b"], 1).estimate([])
    with pytest.raises(InvalidInput):
        survey.draw([3])
    with pytest.raises(InvalidInput):
        um.local.survey(["a", "b"], 1).estimate(["a"]).interval(1.0)


# ---- decisions ----


def errors_by_enumeration(matrix, p0, p1, people, prior):
    """Both error probabilities of the likelihood ratio, over all sequences of answers."""
    m0, m1 = p0 @ matrix, p1 @ matrix
    alarm = missed = 0.0
    for answers in itertools.product(range(matrix.shape[1]), repeat=people):
        a, b = m0[list(answers)].prod(), m1[list(answers)].prod()
        if (1 - prior) * b > prior * a * (1 + 1e-12):
            alarm += a
        else:
            missed += b
    return alarm, missed


@pytest.mark.parametrize("prior", [0.5, 0.3])
def test_decisions_err_as_they_say(prior):
    """Exact error probabilities against all sequences of answers, and the rule itself."""
    p0, p1 = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.1, 0.2, 0.3, 0.4])
    best = um.local.for_testing(p0, p1, 2.5)
    found = um.local.decide(best, [0] * 6, p0, p1, prior)
    alarm, missed = errors_by_enumeration(best.mechanism.matrix, p0, p1, 6, prior)
    assert (found.false_alarm, found.missed) == pytest.approx((alarm, missed), rel=1e-9)
    assert found.exact
    assert found.answer == 1
    assert um.local.decide(best, [len(best.mechanism.outputs) - 1] * 6, p0, p1, prior).answer == 0


def test_bounds_of_errors_hold_for_many_people():
    """Chernoff's bounds lie above the errors of simulated surveys, and fall with people."""
    rng, k = np.random.default_rng(2), 6
    p0, p1 = rng.dirichlet(np.ones(k), 2)
    survey = um.local.survey(range(k), 0.8)
    bounds = []
    for people in (1000, 4000):
        wrong = np.zeros(2)
        with seeded(people):
            for truth, law in enumerate((p0, p1)):
                for _ in range(100):
                    made = survey.decide(survey.draw(rng.choice(k, people, p=law)), p0, p1)
                    wrong[truth] += made.answer != truth
        bounds.append((made.false_alarm, made.missed))
        for seen, bound in zip(wrong, bounds[-1], strict=True):
            assert binom.sf(seen - 1, 100, min(bound, 1)) > 1e-4
    assert bounds[1] < bounds[0]


def test_decisions_refuse_what_they_cannot_read():
    """Unknown answers, wrong lengths, impossible priors."""
    best = um.local.for_testing([0.5, 0.5], [0.2, 0.8], 1)
    for arguments in (([2], [0.5, 0.5], [0.2, 0.8]), ([0], [1.0], [1.0])):
        with pytest.raises(InvalidInput):
            um.local.decide(best, *arguments)
    with pytest.raises(InvalidInput, match="prior"):
        um.local.decide(best, [0], [0.5, 0.5], [0.2, 0.8], prior=0)


def test_decisions_from_answers_that_cannot_be():
    """Impossible under one hypothesis decides; under both is refused; unhashable ones are not outputs."""
    sure = um.local.randomized_response(2, math.inf)
    found = um.local.decide(sure, [0, 0], [1, 0], [0, 1])
    assert (found.answer, found.log_ratio, found.false_alarm, found.missed) == (0, -math.inf, 0, 0)
    many = um.local.decide(sure, [1] * 300_000, [1, 0], [0, 1])
    assert (many.answer, many.log_ratio, many.false_alarm, many.missed) == (1, math.inf, 0, 0)
    with pytest.raises(InvalidInput, match="impossible under both"):
        um.local.decide(sure, [0, 1, 0], [1, 0], [0, 1])
    with pytest.raises(InvalidInput, match="answer number 2"):
        um.local.decide(sure, [0, [0]], [1, 0], [0, 1])


# ---- whose responses ----


def test_an_array_of_names_is_names():
    """Integer categories in any order: a list, an array of pairs and what `draw` made give the same estimate."""
    survey = um.local.survey([3, 1, 2, 0, 4, 5], 0.5)
    with seeded(3):
        drawn = survey.draw(np.random.default_rng(3).integers(0, 6, 500))
    names = [tuple(survey.categories[i] for i in row) for row in drawn.positions.tolist()]
    expected = survey.estimate(drawn).counts.tolist()
    assert survey.size == 2
    for responses in (names, np.array(names), [list(row) for row in names], np.array(names, dtype=object)):
        assert survey.estimate(responses).counts.tolist() == expected
    single = um.local.survey([1, 0, 2], 3.0)
    assert single.estimate(np.array([1] * 6 + [0] * 3 + [2])).counts.tolist() == [6, 3, 1]
    with pytest.raises(InvalidInput, match="response number 1"):
        single.estimate(np.zeros((10, 1), dtype=np.int64))


def test_responses_of_another_survey_are_refused():
    """By their identity where they carry it, else by frequencies that no answers explain; never by chance alone."""
    asked, other = um.local.survey(range(6), 2.0, "one"), um.local.survey(range(6), 2.0, "two")
    drawn = other.draw(np.arange(600) % 6)
    for call in (asked.estimate, lambda r: asked.decide(r, [1 / 6] * 6, [0.5, *[0.1] * 5])):
        with pytest.raises(InvalidInput, match=other.identity[:16]):
            call(drawn)
    for positions in ([[6]], [[-1]], [[0, 1]], [0], [[0.5]]):
        with pytest.raises(InvalidInput, match=r"positions have shape|response number 1"):
            asked.estimate(um.local.Responses(asked.identity, np.array(positions)))
    plain = um.local.survey(range(6), math.inf).draw(np.zeros(600, dtype=int), accept=True)
    names = [asked.categories[i] for i in plain.positions[:, 0].tolist()]
    with pytest.raises(InvalidInput, match="600 of 600 responses name 0"):
        asked.estimate(names)  # at 2-DP some responses always name another category
    assert asked.estimate(names[:30]).people == 30  # not beyond doubt
    assert um.local.survey(range(6), math.inf).estimate(names).people == 600


@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.1), (2, 4.0), (7, 1.0), (40, 0.3)])
def test_a_surveys_own_responses_are_possible(k, epsilon):
    """Everybody alike, nobody with a category: accepted in every one of many runs."""
    survey = um.local.survey(range(k), epsilon)
    with seeded(9):
        for people in (1, 10, 1000):
            for _ in range(50):
                assert survey.estimate(survey.draw(np.zeros(people, dtype=int))).people == people
