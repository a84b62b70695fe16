"""Answers about people: in which conditions and groups one counts, how far one moves them, and what is said."""

import json

import numpy as np
import pyarrow
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles.command import utmost
from oracles.lattices import one_neighbour_apart
from oracles.questions import QueryMaker, Setting
from oracles.tables import as_table, neighbour_of, tables

import utmost as um
from utmost.backends import opening
from utmost.errors import InvalidInput
from utmost.queries.predicate.relations import Relation
from utmost.queries.report.proof import question_from_public

SECRET = b"s" * 32
UNITS = [um.people("id", rows_each=1), um.people("id", rows_each=2, at_most=9, truncate="question")]
OVERLAPPING = ["n >= 0", "x > 1", "ok"]
DISJOINT = ["n < 0", "n BETWEEN 0 AND 4", "n > 4", "n IS NULL"]
NESTED = ["n >= -2", "n >= 4", "n >= 0"]
HOLDS = {
    "n >= 0": lambda x, n, ok: n is not None and n >= 0,
    "x > 1": lambda x, n, ok: x is not None and x > 1,
    "ok": lambda x, n, ok: bool(ok),
    "n < 0": lambda x, n, ok: n is not None and n < 0,
    "n BETWEEN 0 AND 4": lambda x, n, ok: n is not None and 0 <= n <= 4,
    "n > 4": lambda x, n, ok: n is not None and n > 4,
    "n IS NULL": lambda x, n, ok: n is None,
    "n >= -2": lambda x, n, ok: n is not None and n >= -2,
    "n >= 4": lambda x, n, ok: n is not None and n >= 4,
}
MANY = [("a", 0.5, 1, True), ("a", 3.0, -1, False), ("a", 0.5, 7, None), ("b", 3.0, 0, None), (None, 3.0, 5, True)]


def asked(listed, conditions, unit, neighbours="add-remove"):
    setting = Setting(opening.open_table(as_table(listed)), unit, neighbours)
    return QueryMaker(setting).counts(conditions, 1, of="people")


@settings(max_examples=15)
@given(tables, st.sampled_from(UNITS), st.sampled_from([OVERLAPPING, DISJOINT, NESTED, ["n < 0"]]))
@example(MANY, UNITS[0], DISJOINT)
@example(MANY, UNITS[0], NESTED)
def test_people_count_in_every_condition_that_a_row_of_theirs_fulfils(listed, unit, conditions):
    """As `count` of one condition does; only one row of each was looked at."""
    made = asked(listed, conditions, unit)
    truth = [len({row[0] for row in listed if row[0] is not None and HOLDS[w](*row[1:])}) for w in conditions]
    point = made.private_point(SECRET)
    if conditions == NESTED:
        assert np.cumsum(point).tolist() == [truth[1], truth[2], truth[0]]
    else:
        assert list(point) == truth


CLAIMS = st.one_of(
    st.none(),
    st.permutations([0, 1, 2]).map(lambda order: Relation("nested", tuple(order))),
    st.just(Relation("disjoint")),
)


@settings(max_examples=25)
@given(
    tables,
    st.sampled_from(UNITS),
    st.sampled_from(["replace", "add-remove"]),
    st.sampled_from([OVERLAPPING, DISJOINT, NESTED]),
    CLAIMS,
    st.data(),
)
def test_one_person_moves_counts_by_a_move_of_the_space(listed, unit, neighbours, conditions, claim, data):
    """A person who comes, goes or is replaced, whatever is claimed about conditions."""
    points = []
    for some in (listed, neighbour_of(listed, unit, neighbours, data)):
        made = asked(some, conditions[:3], unit, neighbours)
        if claim is not None:
            made.question.__dict__["relation"] = claim
        points.append(made.private_point(SECRET))
    assert one_neighbour_apart(made.question.space, *points)


@pytest.mark.parametrize(("neighbours", "moves"), [("add-remove", "one-way"), ("replace", "cube")])
def test_every_person_moves_conditions_that_exclude_each_other_at_once(neighbours, moves):
    """Removed one by one from a random table: several counts move, all down, more than a histogram's noise hides."""
    rng = np.random.default_rng(11)
    rows = [
        (f"{who}", 0.0, int(n), None) for who, n in zip(rng.integers(0, 12, 80), rng.integers(-9, 9, 80), strict=True)
    ]
    whole = asked(rows, DISJOINT, UNITS[0], neighbours)
    space, before = whole.question.space, whole.private_point(SECRET)
    assert (space.moves, space.reach) == (moves, 1)
    largest = 0
    for who in {row[0] for row in rows}:
        others = [row for row in rows if row[0] != who]
        moved = np.subtract(before, asked(others, DISJOINT, UNITS[0], neighbours).private_point(SECRET))
        assert set(moved.tolist()) <= {0, 1}
        assert one_neighbour_apart(space, before, tuple(np.subtract(before, moved)))
        largest = max(largest, moved.sum())
    assert largest == 3


TOWNS = ["Ash", "Briar", "Cole"]


def opened(rows_each=3, **unit):
    """Forty people with five rows each, in several towns."""
    rng = np.random.default_rng(3)
    columns = {
        "who": np.repeat(np.arange(40), 5),
        "town": rng.choice(TOWNS, 200),
        "x": rng.integers(0, 100, 200),
    }
    unit = um.people("who", rows_each=rows_each, **unit)
    return um.Session(pyarrow.table(columns), "d", unit, "add-remove", budget=um.ApproxDP(10**6, 0.5))


BY = um.keys(town=TOWNS)
ONE_ROW = {
    "histogram": (lambda s: s.histogram("town", TOWNS, 1, of="people"), "each counted in one group, that of one"),
    "count by keys": (lambda s: s.count(None, 1, of="people", by=BY), "each counted in one group, that of one"),
    "threshold by keys": (lambda s: s.threshold(None, 3, 1, of="people", by=BY), "each counted in one group"),
    "cdf": (
        lambda s: s.cdf("x", [10, 50], 1, of="people"),
        "each person counted by one of their rows chosen at random",
    ),
    "ranges": (lambda s: s.ranges("x", [0, 50, 99], 1, of="people"), "each person counted by one of their rows"),
    "plurality": (lambda s: s.plurality("town", TOWNS, 1, of="people"), "each person counted by one of their rows"),
    "top": (lambda s: s.top("town", 1, TOWNS, 1, of="people"), "each person counted by one of their rows"),
    "median": (
        lambda s: s.quantile("x", 0.5, lower=0, upper=99, privacy=1, of="people"),
        "of one row of each person chosen at random",
    ),
    "median by keys": (
        lambda s: s.quantile("x", 0.5, lower=0, upper=99, privacy=1, of="people", by=BY),
        "of one row of each person chosen at random",
    ),
    "several": (
        lambda s: s.quantile("x", [0.2, 0.5], range(0, 100, 9), 1, of="people"),
        "of one row of each person chosen at random",
    ),
    "candidate": (
        lambda s: s.quantile("x", 0.5, range(0, 100, 33), 1, of="people", loss="rank"),
        "of one row of each person chosen at random",
    ),
    "candidate by keys": (
        lambda s: s.quantile("x", 0.5, range(0, 100, 33), 1, of="people", loss="rank", by=BY),
        "of one row of each person chosen at random",
    ),
}


@pytest.mark.parametrize("rows_each", [1, 4])
@pytest.mark.parametrize("name", ONE_ROW)
def test_that_one_row_of_each_person_counts_is_said(name, rows_each, tmp_path):
    """In the question, in the sentence of the interval, as data and on the page, with a remedy, for one row, too."""
    ask, said = ONE_ROW[name]
    s = opened(rows_each, at_most=100)
    answer = ask(s)
    assert said in answer.question.words
    assert said in ask(s.plan).details["words"]
    assert "one row of each person, chosen at random" in answer.details["accuracy"]["after"]["given"]
    assert "one row of each person, chosen at random" in str(answer)
    assert "one row of each person, chosen at random" in answer.report(tmp_path / "page.html").read_text()
    notes = "; ".join(answer.details["notes"])
    assert "chosen for each question among those with its condition: do not add up" in notes
    assert "counts them in up to g" in notes or "of='rows' uses" in notes or "counts everybody" in notes
    assert "beyond" not in notes
    assert answer.verify()


def test_counts_of_people_need_no_such_words():
    """Everybody who has such a row counts: nothing was chosen."""
    s = opened()
    for answer in (s.counts(["x > 5", "x < 5"], 1, of="people"), s.count("x > 5", 1, of="people")):
        assert "chosen" not in answer.question.words
        assert not answer.details["notes"]
        assert "took part" not in str(answer)


@pytest.mark.parametrize("truncate", ["table", "question"])
def test_groups_of_people_are_described(truncate):
    """It said: 'of what took part: , in at most 2 groups per who' and 'rows of a person beyond 1 are dropped'."""
    s = opened(1, groups_each=2, truncate=truncate)
    answer = s.count(None, 1, by=BY, of="people")
    assert "each counted in at most 2 groups chosen at random" in answer.question.words
    assert answer.after.basis.endswith("of what took part: at most 2 groups of each person, chosen at random")
    assert ": ," not in str(answer)
    assert "beyond 1" not in str(answer)
    assert "groups do not add up to all people" in str(answer)
    assert ("groups are chosen for each question" in str(answer)) == (truncate == "question")


def test_found_keys_of_people_are_described():
    """A person counts in few of their keys: in the question and beside the interval."""
    answer = opened(at_most=50).count(None, um.ApproxDP(9, "1e-6"), by=um.discover("town", keys_each=2), of="people")
    assert "each counted in at most 2 of their keys chosen at random" in answer.question.words
    assert answer.after.basis.endswith("of what took part: at most 2 keys per who, chosen at random")


def test_whether_answers_are_about_the_same_rows_is_said():
    """In plans, answers and data, for both ways to choose the rows of a person."""
    table, question = opened(), opened(truncate="question")
    for made in (table.count("x > 5", 1), table.plan.mean("x", 0, 99, 1)):
        assert "all answers about rows with this bound are about the same rows" in str(made)
        assert "chosen before any condition" in made.question.words
    for made in (question.count("x > 5", 1), question.plan.mean("x", 0, 99, 1)):
        assert "do not add up or divide answers of several questions" in str(made)
        assert "do not add up or divide answers of several questions" in str(made.details["notes"])
        assert "of at most 3 rows per who chosen for this question" in made.question.words


def test_bounds_of_groups_say_what_else_they_drop():
    """`left_out` counts rows beyond `rows_each` only, and says so."""
    s = opened(4, groups_each=2, rows_each_group=1)
    assert "more than 2 groups or beyond 1 in a group are dropped, too" in str(s.count(None, 1, by=BY))
    assert "groups do not add up to the whole table" in str(s.mean("x", 0, 99, 1, by=BY))
    for made in (s.plan.left_out(None, 1), s.plan.share_left_out(None, 1)):
        assert "is not counted here" in str(made)
    assert "not counted here" not in str(opened().plan.left_out(None, 1))


def test_bounds_of_groups_do_not_reach_top_lists():
    """With groups_each=3 a person voted three times, and the list was proved for one vote."""
    rows = {"who": [1, 1, 1, 2], "town": [*TOWNS, "Ash"]}
    unit = um.people("who", rows_each=1, at_most=9, groups_each=3)
    s = um.Session(pyarrow.table(rows), "d", unit, "add-remove", budget=9)
    question = s.plan.top("town", 1, TOWNS, 1, of="people").question
    assert sum(question.point(s.source.execute(question.statement(s.source, SECRET)))) == 2
    assert question.space.rows_each == 1


def test_a_report_from_before_says_that_one_row_was_used():
    """Counts of people of version 0.2 were of one row each: what was published is not called something else."""
    made = opened().plan.counts(["x < 5", "x > 5"], 1, of="people")
    public = {name: part for name, part in made.question.public.items() if name != "one_row"}
    again = question_from_public(public, made.question.terms, made.privacy, made.solution)
    assert "one of their rows" in again.words
    assert again.relation.kind == "disjoint"
    assert "one of their rows" not in made.question.words
    assert json.loads(json.dumps(made.question.public))["one_row"] is False


CHOICES = {
    "majority": lambda s: s.majority("x > 5", 1),
    "threshold": lambda s: s.threshold("x > 5", 3, 1),
    "threshold of people": lambda s: s.threshold("x > 5", 3, 1, of="people"),
    "plurality": lambda s: s.plurality("town", TOWNS, 1),
    "majority by keys": lambda s: s.majority("x > 5", 1, by=BY),
}


@pytest.mark.parametrize("name", CHOICES)
def test_choices_say_of_which_tables_they_are_true(name, tmp_path):
    """The probability to be right was stated without the limit that it rests on."""
    answer = CHOICES[name](opened(at_most=100))
    line = next(line for line in str(answer).splitlines() if "given the answer" in line)
    assert "given the answer: if the table has at most 100 people: right with probability" in line
    assert "if the table has at most 100 people: right" in answer.report(tmp_path / "page.html").read_text()


def test_the_command_chooses_when_rows_are_truncated(tmp_path):
    """`utmost release --truncate question`."""
    (tmp_path / "t.csv").write_text("who,x\n" + "1,1\n" * 3 + "2,9\n")
    given = ["--count", "x > 5", "--dataset", "d", "--privacy", "1", "--neighbours", "add-remove"]
    whose = ["--people-by", "who", "--rows-each", "2"]
    command = ("release", tmp_path / "t.csv", *given)
    assert "chosen for this question" in utmost(*command, *whose, "--truncate", "question").stdout
    assert "chosen before any condition" in utmost(*command, *whose).stdout
    refused = utmost(*command, "--rows", "--truncate", "question")
    assert refused.returncode
    assert "give --people-by" in refused.stderr
    with pytest.raises(InvalidInput, match="'question'"):
        um.people("who", 2, truncate="sometimes")
