"""Forms: exact levels, files that cannot be forged, estimates and cross-tables against independent computations."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from oracles.privacy import exponential_below

import utmost as um
from utmost.errors import BadFile, InvalidInput, UnknownPoint, WeakPromise
from utmost.exact.saved import write_checked
from utmost.mechanism.sampling import insecure_source_for_tests_only
from utmost.survey import Form
from utmost.survey.form import MOST_QUESTIONS
from utmost.survey.results_page import results_page

QUESTIONS = {"Sports?": ["never", "weekly", "daily"], "Smoke?": ["no", "yes"], "Town?": [f"town {i}" for i in range(9)]}


def example(epsilon=3, shares=(3, 2, 1)):
    return um.survey.form("Health in 2026", QUESTIONS, epsilon, shares)


@pytest.mark.parametrize("epsilon", ["1e-20", "0.1", "1", "7/2", "12"])
def test_the_levels_add_up_exactly(epsilon):
    """Shares of epsilon are rationals that add up to it; the odds of all responses together stay below e^epsilon."""
    made = example(epsilon)
    assert sum(one.level.epsilon for one in made.surveys) == made.level.epsilon
    together = math.prod(one.odds for one in made.surveys)
    assert 1 <= together <= exponential_below(epsilon) * (1 + Fraction(1, 2**150))
    assert made.verify()


def test_the_joint_law_of_responses_keeps_the_total():
    """All pairs of answers to two small questions, all pairs of responses, in rationals."""
    made = um.survey.form("t", {"a": [0, 1], "b": [0, 1, 2]}, "3/2", [2, 1])
    laws = []
    for one in made.surveys:
        assert one.size == 1
        k = len(one.categories)
        laws.append([[one.inside if r == x else one.beside for r in range(k)] for x in range(k)])
    points = list(itertools.product(range(2), range(3)))
    joint = {(x, y): laws[0][x[0]][y[0]] * laws[1][x[1]][y[1]] for x in points for y in points}
    worst = max(joint[x, y] / joint[z, y] for x in points for z in points for y in points)
    assert worst <= exponential_below("3/2") * (1 + Fraction(1, 2**150))
    assert worst > exponential_below("3/2") * Fraction(999, 1000)


def test_a_file_keeps_the_form(tmp_path):
    made = example()
    again = Form.load(made.save(tmp_path / "form.json"))
    assert again == made
    assert again.identity == made.identity
    alone = um.local.survey(["no", "yes"], um.PureDP.from_ratio(3), "Cats?")
    assert Form.load(alone.save(tmp_path / "survey.json")).surveys == (alone,)


@pytest.mark.parametrize(
    "forge",
    [
        lambda c: c["questions"][0].update(named=str(int(c["questions"][0]["named"]) + 1)),
        lambda c: c.update(privacy={"kind": "pure", "epsilon": "2"}),
        lambda c: c["questions"][0].update(privacy={"kind": "pure", "epsilon": "2"}),
        lambda c: c["questions"].clear(),
        lambda c: c["questions"][1].update(categories=["no", "no"]),
        lambda c: c.update(privacy={"kind": "approx", "epsilon": "3", "delta": "1/2"}),
    ],
)
def test_forged_files_are_refused(tmp_path, forge):
    """Also with the checksum made anew: integers, shares and total must fit each other."""
    content = example().to_json()
    forge(content)
    write_checked(tmp_path / "form.json", content)
    with pytest.raises(BadFile):
        Form.load(tmp_path / "form.json")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"privacy": 0}, "above 0 and finite"),
        ({"privacy": math.inf}, "above 0 and finite"),
        ({"privacy": um.ApproxDP(1, 0.1)}, "pure level"),
        ({"privacy": um.PureDP.from_ratio(3)}, "not exact"),
        ({"shares": [1, 2]}, "2 shares for 3"),
        ({"shares": [1, 2, 0]}, "above 0"),
        ({"title": " "}, "not empty"),
        ({"questions": {}}, "0 questions"),
        ({"questions": [("a", [1, 2]), ("a", [1, 2])]}, "same text"),
        ({"questions": {str(i): [0, 1] for i in range(MOST_QUESTIONS + 1)}}, "101 questions"),
    ],
)
def test_bad_forms_are_named(change, named):
    arguments = {"title": "t", "questions": QUESTIONS, "privacy": 1.0, **change}
    with pytest.raises(InvalidInput, match=named):
        um.survey.form(**arguments)


def test_respond_keeps_and_repeats(tmp_path):
    made, kept = example(), tmp_path / "kept.json"
    first = made.respond(["never", "yes", "town 3"], kept)
    assert all(made.respond(["daily", "no", "town 1"], kept) == first for _ in range(5))
    assert made.read([json.loads(json.dumps(first))]) == [first]
    assert made.sent([], kept)["responses"] == json.loads(json.dumps(first))  # a set is a list, as the page sends it
    with pytest.raises(UnknownPoint):
        made.respond(["never", "yes", "Paris"])
    with pytest.raises(InvalidInput, match="2 answers to 3"):
        made.respond(["never", "yes"])
    with pytest.raises(WeakPromise):
        example(6).respond(["never", "yes", "town 3"])
    kept.write_text("{}")
    with pytest.raises(BadFile):
        made.respond(["never", "yes", "town 3"], kept)


@pytest.mark.parametrize(
    "row", [["never", "yes"], ["never", "yes", ["town 1"]], "never", ["no", "no", "no"], [{}, 1, 2]]
)
def test_responses_of_another_shape_are_refused(row):
    made = example()
    good = made.respond(["never", "yes", "town 3"])
    with pytest.raises(InvalidInput, match="response number 2"):
        made.read([good, row])


def drawn(made, law, people, seed):
    """Answers drawn from a joint law over the first two questions, and responses to them."""
    rng = np.random.default_rng(seed)
    pairs = rng.choice(law.size, people, p=law.ravel())
    columns = [pairs // law.shape[1], pairs % law.shape[1], *(rng.integers(0, 9, people) for _ in made.surveys[2:])]
    with insecure_source_for_tests_only(rng.bytes):
        positions = [one.draw(column).positions for one, column in zip(made.surveys, columns, strict=True)]
    names = []
    for one, table in zip(made.surveys, positions, strict=True):
        labels = [tuple(one.categories[i] for i in row) for row in table.tolist()]
        names.append([label[0] for label in labels] if one.size == 1 else labels)
    return list(zip(*names, strict=True))


LAW = np.array([[0.3, 0.1], [0.35, 0.05], [0.05, 0.15]])


def test_estimates_and_cross_tables_find_the_truth():
    """Each question is what its survey estimates by itself; the table is what inverting the channel gives."""
    made = example()
    rows = drawn(made, LAW, 40_000, 1)
    found = made.estimate(rows)
    for i, one in enumerate(made.surveys):
        assert found[i].frequencies == pytest.approx(one.estimate([row[i] for row in rows]).frequencies)
    table = found.cross("Sports?", "Smoke?")
    seen = np.array([[np.mean([r[:2] == (a, b) for r in rows]) for b in ("no", "yes")] for a in QUESTIONS["Sports?"]])
    channels = [
        np.array([[float(one.inside if a == b else one.beside) for b in one.categories] for a in one.categories])
        for one in made.surveys[:2]
    ]
    solved = np.linalg.inv(channels[0]) @ seen @ np.linalg.inv(channels[1])
    assert table.frequencies == pytest.approx(solved, abs=1e-9)
    assert table.frequencies.sum() == pytest.approx(1)
    assert table.frequencies.sum(axis=1) == pytest.approx(found["Sports?"].frequencies)
    assert (np.abs(table.frequencies - LAW) < 5 * table.standard_errors).all()
    with_sets = found.cross("Town?", 0)  # responses that name several towns
    assert with_sets.frequencies.sum(axis=0) == pytest.approx(found[0].frequencies)
    assert "weekly" in str(table)
    assert "pairs say little" not in str(table) + table._repr_html_() + results_page(found, tables=[table])
    few = made.estimate(rows[:20])
    told = few.cross("Sports?", "Smoke?")
    for shown in (str(told), told._repr_html_(), results_page(few, tables=[told])):
        assert "Of 20 people, pairs say little" in shown


def test_intervals_cover():
    """Two hundred repeats: single questions at least as often as stated, pairs about as often."""
    made = um.survey.form("t", {"Sports?": [0, 1, 2], "Smoke?": [0, 1]}, 3.0)
    held, crossed = [], []
    for seed in range(200):
        found = made.estimate(drawn(made, LAW, 300, seed))
        for truth, estimate in ((LAW.sum(axis=1), found[0]), (LAW.sum(axis=0), found[1])):
            ends = estimate.interval(0.95)
            held += ((ends[:, 0] <= truth) & (truth <= ends[:, 1])).tolist()
        ends = found.cross(0, 1).interval(0.95)
        crossed += ((ends[..., 0] <= LAW) & (ends[..., 1] >= LAW)).ravel().tolist()
    assert np.mean(held) > 0.94
    assert 0.92 < np.mean(crossed) < 0.985


def test_questions_are_found_by_text_or_number():
    found = example().estimate(drawn(example(), LAW, 500, 3))
    for wrong in ("Sport?", 3, -1, True, None):
        with pytest.raises(InvalidInput, match="is not a question"):
            found[wrong]
    with pytest.raises(InvalidInput, match="two different"):
        found.cross(0, "Sports?")


def test_the_report_says_what_a_shuffler_adds():
    made = example()
    text = made.report(people=1000)
    assert "if somebody shuffles: 1000 shuffled responses: at most" in text
    assert "NOT" not in text
    alone = um.survey.form("t", {"Cats?": ["no", "yes"]}, 1.0)
    assert alone.shuffled(1000, 1e-6).epsilon == pytest.approx(0.126614480961, rel=1e-8)
