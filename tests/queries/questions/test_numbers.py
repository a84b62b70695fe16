"""Numbers with noise: intervals hold at fixed truths, errors have mean 0 where it is said, words say what is cut.

Draws are not seeded. Bounds on counts of draws are binomial quantiles: if all is right, the whole file fails with less
than 1e-6.
"""

import json
import math

import numpy as np
import pyarrow
import pytest
from scipy import stats

import utmost as um
from utmost.errors import InvalidInput
from utmost.queries.accuracy import BY_LAW
from utmost.queries.report.proof import load_answers
from utmost.space.line import Line

TABLE = pyarrow.table({"x": [1.0, 2.0, 3.0], "id": [1, 1, 2], "town": ["a", "b", "a"]})
FAILS = 1e-9


def opened(most=200, neighbours="add-remove", rows_each=None):
    unit = um.rows(at_most=most) if rows_each is None else um.people("id", rows_each=rows_each, at_most=most)
    return um.Session(TABLE, "d", unit, neighbours, budget=um.ApproxDP(1000, "0.01"))


LEVELS = [um.PureDP("0.3"), um.PureDP(2), um.ApproxDP(1, "1e-5")]
ASKED = {
    "unbiased count": (lambda p, e: p.count("x > 1", e, unbiased=True), 0),
    "unbiased count in the middle": (lambda p, e: p.count("x > 1", e, unbiased=True), 100),
    "unbiased sum": (lambda p, e: p.sum("x", 0, 50, e, grid=1, unbiased=True), 7),
    "count of nobody": (lambda p, e: p.count("x > 1", e), 0),
    "count in the middle": (lambda p, e: p.count("x > 1", e), 100),
    "sum at an end": (lambda p, e: p.sum("x", 0, 50, e, grid=1), 7),
    "cdf": (lambda p, e: p.cdf("x", [1, 2, 3], e), (0, 5, 100)),
    "mean": (lambda p, e: p.mean("x", 0, 10, e), (900, 1100)),
    "mean at an end": (lambda p, e: p.mean("x", 0, 10, e), (2000, 0)),
    "mean of few": (lambda p, e: p.mean("x", 0, 10, e), (12, 8)),
    "counts": (lambda p, e: p.counts({"a": "x > 1", "b": "town = 'a'", "c": "x < 3"}, e), (0, 100, 3)),
    "histogram": (lambda p, e: p.histogram("town", ["a", "b", "c"], e), (0, 100, 3)),
}


def held(question, point, draws):
    """How often each interval holds the truth, over draws at one table."""
    truth = question.value(question.released(point))  # without noise
    truths = truth if isinstance(truth, dict) else {question.name: truth}
    found = dict.fromkeys(truths, 0)
    for _ in range(draws):
        intervals = question.after(question.draw(point)).intervals
        for name, truth in truths.items():
            low, high = intervals[name]
            found[name] += low <= truth <= high
    return found


@pytest.mark.parametrize("level", LEVELS, ids=str)
@pytest.mark.parametrize("name", ASKED)
def test_intervals_hold_fixed_truths(name, level):
    """At the ends, in the middle, for few rows: 95 % at least, for every table."""
    ask, point = ASKED[name]
    question = ask(opened().plan, level).question
    assert question.after(question.draw(point)).basis.startswith(BY_LAW)
    for hits in held(question, point, 300).values():
        assert hits >= stats.binom.ppf(FAILS, 300, 0.95)


@pytest.mark.long
@pytest.mark.parametrize("level", LEVELS, ids=str)
@pytest.mark.parametrize("name", ASKED)
def test_intervals_hold_fixed_truths_in_ten_thousand_draws(name, level):
    """And are not much wider than they must be, but for whole numbers, rounding, and means of nearly nobody."""
    ask, point = ASKED[name]
    question = ask(opened().plan, level).question
    for hits in held(question, point, 10_000).values():
        assert hits >= stats.binom.ppf(FAILS, 10_000, 0.95)
    half = getattr(question.solution.mechanism.noise, "half_width", None)
    if half is not None and question.name != "mean" and not question.off_by_rounding and half(0.95) > 5:
        assert all(hits <= stats.binom.ppf(1 - FAILS, 10_000, 0.985) for hits in held(question, point, 10_000).values())


def coverage(question, point, intervals):
    """How often the stated interval holds the truth, from the law of what is released; intervals are kept by value."""
    held = 0.0
    values, chances = question.solution.mechanism.law(point)
    for value, chance in zip(values.tolist(), chances.tolist(), strict=True):
        if value not in intervals:
            intervals[value] = tuple(end / question.step for end in stated(question, value))
            assert intervals[value][0] <= value <= intervals[value][1]
        low, high = intervals[value]
        held += chance * (low <= point <= high)
    return held


def stated(question, value):
    return question.after({question.name: value}).intervals[question.name]


PEAKED = np.exp(-np.abs(np.arange(301) - 60) / 4)
ONE_NUMBER = {
    "count": lambda p, e, **more: p.count("x > 1", e, **more),
    "sum": lambda p, e, **more: p.sum("x", -1, 3, e, grid=1, **more),
    "sum of halves": lambda p, e, **more: p.sum("x", 0, "2.5", e, grid="0.5", **more),
    "left out": lambda p, e, **more: opened(300, rows_each=2).plan.left_out("x > 1", e, **more),
    "clamped": lambda p, e, **more: p.clamped("x", 0, 3, e, **more),
}
GUESSED = [
    (300, um.PureDP("0.02"), {}),  # once covered with 91 % only
    (300, um.PureDP("0.3"), {}),
    (300, um.PureDP(2), {}),
    (300, um.PureDP("0.1"), {"loss": "squared"}),
    (300, um.PureDP("0.5"), {"loss": "within 20"}),
    (12, um.PureDP(1), {"loss": "zero-one"}),
    (60, um.ApproxDP("0.2", "0.001"), {}),
    (60, um.GaussianDP("0.2"), {}),
    (60, um.ZCDP("0.01"), {}),
]


@pytest.mark.parametrize(
    ("name", "most", "level", "more"),
    [(name, *each) for name in ("count", "sum") for each in GUESSED]
    + [(name, *GUESSED[1]) for name in ("sum of halves", "clamped", "left out")],
    ids=str,
)
def test_intervals_of_best_guesses_hold_every_fixed_truth(name, most, level, more):
    """By the law of what is released, exactly: 95 % at least at every table, ends included, whatever the prior says."""
    question = ONE_NUMBER[name](opened(most).plan, level, **more).question
    assert stated(question, question.draw(0)[question.name])
    line, intervals = question.space, {}
    for point in [*np.linspace(0, line.last, 5).astype(int).tolist(), line.first, 1, 2, line.last - 1]:
        assert coverage(question, point, intervals) >= 0.95 - 1e-12, point


@pytest.mark.parametrize("level", [um.PureDP("0.1"), um.PureDP(1), um.ApproxDP("0.2", "0.001")], ids=str)
def test_intervals_hold_truths_that_a_prior_thinks_unlikely(level):
    """A prior around 60 of 300 moves guesses there; the interval holds 0 and 300 all the same."""
    question = opened(300).plan.count("x > 1", level, prior=PEAKED / PEAKED.sum()).question
    intervals = {}
    assert all(coverage(question, point, intervals) >= 0.95 - 1e-12 for point in (0, 1, 50, 60, 70, 200, 299, 300))


def test_intervals_of_programs_hold_every_fixed_truth():
    """Few people with two rows each, where the answer is the linear program's."""
    for level in (um.PureDP(1), um.ApproxDP(1, "0.01")):
        question = opened(6, rows_each=2).plan.count("x > 1", level).question
        assert question.solution.certificate.method == "the linear program's optimum"
        intervals = {}
        assert all(coverage(question, point, intervals) >= 0.95 - 1e-12 for point in range(13))


def test_intervals_of_large_tables_hold_fixed_truths():
    """A million rows; and a sum so wide that it is cut off, by draws."""
    question, intervals = opened(10**6).plan.count("x > 1", "0.3").question, {}
    for point in (0, 3, 40, 500_000, 10**6 - 1, 10**6):
        assert 0.95 <= coverage(question, point, intervals) <= 0.99
    question = opened(1000).plan.sum("x", 0, 10**6, "0.5", grid=1).question
    assert "cut off" in question.words
    for point in (0, 10**6, 5 * 10**8, 10**9):
        hits = sum(
            low <= point <= high for low, high in (stated(question, question.draw(point)["sum"]) for _ in "x" * 300)
        )
        assert hits >= stats.binom.ppf(FAILS, 300, 0.95)


@pytest.mark.parametrize("epsilon", ["0.1", 1])
def test_intervals_are_no_wider_than_the_noise(epsilon):
    """Far from the ends a best guess is the noisy number, and its interval is that of the noise."""
    guessed, unbiased = (opened(2000).plan.count("x > 1", epsilon, unbiased=u).question for u in (False, True))
    assert stated(guessed, 1000) == stated(unbiased, 1000)


@pytest.mark.parametrize("point", [0, 5, 100, 200])
@pytest.mark.parametrize(
    "ask", [lambda p, u: p.count("x > 1", 1, unbiased=u), lambda p, u: p.sum("x", 0, 4, 1, grid=1, unbiased=u)]
)
def test_unbiased_numbers_err_by_0_on_average(point, ask):
    """Also at an end, where the best guess cannot: its mean is what the law says, and another."""
    unbiased, guessed = (ask(opened().plan, u).question for u in (True, False))
    values, chances = unbiased.solution.mechanism.law(point)
    assert chances @ values == pytest.approx(point, abs=1e-9)
    drawn = [unbiased.draw(point)[unbiased.name] for _ in range(2000)]
    spread = np.sqrt(chances @ (values - point) ** 2 / 2000)
    assert abs(np.mean(drawn) - point) <= 6 * spread
    values, chances = guessed.solution.mechanism.law(0)
    assert chances @ values > 0.1


def test_empty_cells_add_up_to_about_0():
    """800 categories that nobody has, of 400,000 rows: errors have mean 0, so their sum is small."""
    categories = [f"nobody {i}" for i in range(800)]
    answer = opened(400_000).histogram("town", categories, 0.1)
    spread = np.sqrt(answer.solution.mechanism.expected("squared"))
    assert min(answer.value.values()) < 0 < max(answer.value.values())
    assert abs(sum(answer.value.values())) <= 6 * spread * np.sqrt(800)
    inside = sum(low <= 0 <= high for low, high in answer.intervals.values())
    assert inside >= stats.binom.ppf(FAILS, 800, 0.95)


def test_what_intervals_rest_on_is_said_everywhere(tmp_path):
    """The same words in the answer's lines, in its data, on the page and in what the report's file proves."""
    for answer in (
        opened().counts(["x > 1", "x > 2"], 1),
        opened().histogram("town", ["a", "b"], 1),
        opened().mean("x", 0, 5, 1),
        opened().count("x > 1", 1, unbiased=True),
    ):
        assert f", {answer.after.condition}" in str(answer)
        assert answer.after.condition == "if the table has at most 200 rows"
        assert answer.accuracy["after"]["given"].startswith(answer.after.condition)
        page = answer.report(tmp_path / "page.html")
        assert answer.after.condition in page.read_text()
        ((_, found),) = load_answers(page.with_suffix(".json"))
        assert found, found


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda p: p.sum("x", -30, 180, 1), "What does x add up to, values cut to -30..180 and rounded to 5e-05, as"),
        (lambda p: p.mean("x", -30, 180, 1, grid="0.5"), "What is the mean of x, values cut to -30..180"),
        (lambda p: p.count("x > 1", 1), "How many rows have x > 1, as"),
    ],
)
def test_words_say_what_is_cut(ask, words, tmp_path):
    """In the question, in its lines, and on the page."""
    s = opened()
    assert ask(s.plan).question.words.startswith(words)
    answer = ask(s)
    for text in (str(answer), json.loads(answer.to_json())["words"], answer.report(tmp_path / "a.html").read_text()):
        assert words.replace(">", "&gt;") in text or words in text


@pytest.mark.parametrize(
    "ask",
    [
        lambda p: p.count("x > 1", 1),
        lambda p: p.sum("x", 0, 5, 1),
        lambda p: p.mean("x", 0, 5, 1),
        lambda p: p.threshold("x > 1", 10, 1),
        lambda p: p.counts(["x > 1"], 1),
        lambda p: p.histogram("town", ["a", "b"], 1),
        lambda p: p.plurality("town", ["a", "b"], 1),
        lambda p: p.quantile("x", 0.5, [1, 2, 3], 1),
    ],
)
def test_words_say_how_many_rows_of_a_person_take_part(ask):
    assert ", of at most 10 rows per id" in ask(opened(rows_each=10).plan).question.words
    assert ", of at most 1 row per id" in ask(opened(rows_each=1).plan).question.words
    assert "at most" not in ask(opened().plan).question.words.replace("at least", "")


def test_sentences_go_on_after_a_comma():
    """What is said in the middle of a sentence stands between two commas."""
    p = opened(rows_each=10).plan
    for asked in (p.count("x > 1", 1), p.count(None, 1), p.counts(["x > 1", "x > 2"], 1), p.majority("x > 1", 1)):
        assert "rows, of at most 10 rows per id chosen before any condition, " in asked.question.words
    assert p.threshold("x > 1", 5, 1).question.words.endswith(
        "5 rows, of at most 10 rows per id chosen before any condition, with x > 1?"
    )


def test_who_has_more_rows_than_take_part_is_seen_in_all_rows():
    """Nothing is cut off in the question that says how much is."""
    question = opened(rows_each=10).plan.left_out("x > 1", 1).question
    assert "limiting contributions" not in question.after({"left_out": 3}).basis
    rows = opened(rows_each=10).plan.left_out("x > 1", 1, up_to=5, unbiased=True).question
    assert rows.words == (
        "How many rows with x > 1 are dropped beyond the 10 that are used of each id, at most 5 of each, as an "
        "unbiased number?"
    )
    assert rows.space == Line(0, 1000, 5)
    with pytest.raises(InvalidInput, match="up_to is 0"):
        opened(rows_each=10).plan.left_out("x > 1", 1, up_to=0)


def test_people_who_are_counted_are_not_said_to_be_cut():
    question = opened(rows_each=10).plan.count("x > 1", 1, of="people", unbiased=True).question
    assert question.words == "How many people have x > 1, as an unbiased number?"
    assert question.after({"count": 3}).basis == BY_LAW


@pytest.mark.parametrize("name", [name for name in ONE_NUMBER if name != "left out"])
def test_the_best_guess_is_said_and_the_noisy_number_offered(name):
    """In the question's own words, with the prior it is best for; asked for the noisy number, these say so."""
    p = opened(30).plan
    guessed, unbiased = (ONE_NUMBER[name](p, 1, unbiased=u).question for u in (False, True))
    assert guessed.words.endswith(", as the best guess under a uniform prior?")
    assert any("unbiased=True gives the noisy number" in note for note in guessed.notes)
    assert "unbiased=True" in str(ONE_NUMBER[name](p, 1))
    assert unbiased.words.endswith(", as an unbiased number?")
    assert unbiased.notes == ()
    listed = p.count("x > 1", 1, prior=np.full(31, 1 / 31)).question
    assert listed.words.endswith(", as the best guess under a listed prior?")


@pytest.mark.parametrize(
    ("ask", "cut"),
    [
        (lambda p: p.count("x > 1", 1), ""),
        (lambda p: p.count("x > 1", 1, unbiased=True), ""),
        (lambda p: p.sum("x", -30, 180, 1), "values cut to -30..180"),
        (lambda p: p.mean("x", -30, 180, 1, grid="0.5"), "values cut to -30..180 and rounded to 0.5"),
        (lambda p: p.counts(["x > 1", "town = 'a'"], 1), ""),
        (lambda p: p.histogram("town", ["a", "b"], 1), ""),
        (lambda p: p.threshold("x > 1", 10, 1), ""),
        (lambda p: p.plurality("town", ["a", "b"], 1), ""),
        (lambda p: p.quantile("x", 0.5, [1, 2, 3], 1), "values clamped to 1..3"),
        (lambda p: p.count("x > 1", 1, by=um.keys(town=["a", "b"])), ""),
        (lambda p: p.sum("x", 0, 5, 1, by=um.keys(town=["a", "b"])), "values cut to 0..5"),
        (lambda p: p.mean("x", 0, 5, 1, by=um.keys(town=["a", "b"])), "values cut to 0..5"),
    ],
)
def test_what_is_said_of_the_truth_says_what_was_cut_off(ask, cut, tmp_path):
    """Beside the interval or the probability itself, for people and for rows: in words, as data, and on the page."""
    for rows_each in (10, None):
        answer = ask(opened(rows_each=rows_each))
        parts = (["at most 10 rows per id chosen before any condition"] if rows_each else []) + ([cut] if cut else [])
        said = f"; after limiting contributions: {', '.join(parts)}" if parts else ""
        assert said in answer.accuracy["after"]["given"]
        assert bool(said) == ("limiting contributions" in answer.after.basis)
        labels = ("  95 % interval", "  given the answer")
        assert said in next(line for line in str(answer).splitlines() if line.startswith(labels))
        assert said in answer.report(tmp_path / "page.html").read_text()


@pytest.mark.parametrize(("most", "unbiased"), [(25_000, False), (25_000, True), (10**6, False)])
def test_wide_sums_are_answered(most, unbiased):
    """Values 0 to 5000 at epsilon 0.05: noise over some millions of steps, proved, in a second or so."""
    s = opened(most)
    answer = s.sum("x", 0, 5000, "0.05", unbiased=unbiased)
    assert answer.verify(), answer.verify()
    low, high = answer.interval
    assert low <= answer.value <= high
    assert 4000 / 0.05 < answer.before.average < 5000 / 0.05 * 1.01
    compared = answer.question.expected_losses()
    assert all(compared["Utmost"]["absolute"] <= by["absolute"] * (1 + 1e-9) for by in compared.values())


def test_theorems_are_claimed_where_they_hold():
    """A count of rows is a theorem, of people with two rows each a bound; one of several counts is nothing else."""
    for rows_each, claim in ((1, "theorem"), (2, "bound"), (3, "bound")):
        p = opened(3, rows_each=rows_each).plan
        proof = p.count("x > 1", 1).details["proof"]
        assert proof["optimal"] == claim
        assert ("Ghosh" in proof["because"]) == (rows_each == 1)
        assert rows_each == 1 or proof["bound"] <= p.count("x > 1", 1).accuracy["before"]["average"] + 1e-12


def test_the_worst_is_never_below_the_average():
    """Numbers and vectors, all losses, rows and people."""
    for loss in ("absolute", "squared", "zero-one", "within 1"):
        for p in (opened(3).plan, opened(5, rows_each=2).plan):
            for plan in (
                p.count("x > 1", 1, loss=loss),
                p.sum("x", 0, 3, 1, loss=loss, grid=1),
                p.counts(["x > 1", "x > 2"], 1, loss=loss),
                p.histogram("town", ["a", "b"], 1, loss=loss),
            ):
                assert plan.before.average <= plan.before.worst + 1e-12, (plan.question.words, loss)


@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_an_unbiased_count_is_compared_with_noise_that_is_not_cut_off(epsilon):
    """On a short range the ends matter: cut off there, geometric noise would seem better than the same noise."""
    by = opened(5).plan.count(None, epsilon, unbiased=True).details["compared"]
    exact = 1 / math.sinh(epsilon)  # 2b/(1 - b^2), b = e^-epsilon
    assert by["geometric"]["absolute"] == pytest.approx(exact, rel=1e-9)
    assert by["Utmost"]["absolute"] == pytest.approx(exact, rel=1e-9)
