"""Nested and disjoint counts and cumulative counts: values, noise, intervals, reports."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.command import release_command
from oracles.lattices import one_neighbour_apart
from oracles.questions import Setting, cdf, counts
from oracles.tables import UNITS, as_table, neighbour_of, tables

import utmost as um
from utmost.backends import opening
from utmost.errors import InvalidInput
from utmost.mechanism.noise.carried import CarriedLaw
from utmost.queries.predicate.relations import Relation
from utmost.queries.questions.nested import AddedCells, WeightedSums
from utmost.theory.workload.least_squares import prefix_weights

SECRET = b"s" * 32
AGES = [18 + (i * 7) % 70 for i in range(1000)] + [None] * 20
NESTED = [f"age >= {a}" for a in range(20, 70, 5)]


def opened(neighbours="add-remove", **columns):
    return um.Session(
        pyarrow.table({"age": AGES, **columns}), "d", um.rows(at_most=2000), neighbours, budget=um.PureDP(10**9)
    )


def at_or_above(a):
    return sum(age is not None and age >= a for age in AGES)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("order", [1, -1])
def test_values_are_the_counts_in_the_order_asked(neighbours, order):
    """At a level where noise is 0: cells add up to the counts, listed from inside or from outside."""
    s, asked = opened(neighbours), NESTED[::order]
    wanted = {text: at_or_above(int(text.split()[-1])) for text in asked}
    for found in (s.counts(asked, 500), s.counts(asked[:2], 500)):
        assert list(found.value) == asked[: len(found.value)]
        assert found.value == {text: wanted[text] for text in found.value}
    disjoint = s.counts(["age < 30", "age > 60", "age BETWEEN 30 AND 60"], 500).value
    assert list(disjoint.values()) == [1000 - at_or_above(30), at_or_above(61), at_or_above(30) - at_or_above(61)]
    edges = [17, 18, 30.5, 87]
    assert s.cdf("age", edges, 500).value == {f"<= {e}": 1000 - at_or_above(e + 1e-9) for e in edges}
    assert s.cdf("age", np.array([30]), 500, where="age > 20").value == {"<= 30": at_or_above(21) - at_or_above(31)}


def test_the_noise_is_that_of_the_moves():
    """Ten nested counts: 1.93 instead of 3.59 (add-remove), 3.59 instead of 5.49 (replace); disjoint ones: a cell's."""
    added, replaced = (opened(n).plan for n in ("add-remove", "replace"))
    assert added.counts(NESTED, 1).before.average == pytest.approx(1.9317, abs=5e-5)
    assert replaced.counts(NESTED, 1).before.average == pytest.approx(3.5926, abs=5e-5)
    assert added.cdf("age", range(20, 70, 5), 1).before.average == pytest.approx(1.9317, abs=5e-5)
    disjoint = ["age < 30", "age >= 30 AND age < 60", "age >= 60", "(age >= 60) IS NULL"]
    assert added.counts(disjoint, 1).before.average == pytest.approx(0.8509181282, abs=1e-9)
    assert replaced.counts(disjoint, 1).before.average == pytest.approx(1.40142962828, abs=1e-9)  # every row has one
    assert replaced.counts(disjoint, 1).question.space.moves == "sum-zero"
    assert replaced.counts(disjoint[:3], 1).question.space.moves == "exchange"
    assert added.counts(["age >= 20", "age < 40"], 1).question.space.moves == "one-way"  # 20..39 have both
    ours, geometric = (added.counts(NESTED, 1).details["compared"][n]["absolute"] for n in ("Utmost", "geometric"))
    assert geometric > 4 * ours


def test_words_say_what_is_released():
    plan = opened().plan.counts(NESTED, 1)
    assert "a count is their sum" in str(plan)
    assert "on the variance of one count" in str(plan)
    few = opened().plan.counts(NESTED[:3], 1)
    assert "on the mean absolute error of one count" in str(few)
    assert few.details["proof"]["gap"] < 0.01 * few.before.average
    assert "on the variance of one count" in str(opened().plan.counts(NESTED[:3], 1, loss="squared"))
    answer = opened().cdf("age", [20, 40], 1, where="age > 18")
    assert set(answer.released) == {"cell 1", "cell 2"}
    assert answer.value["<= 40"] == answer.released["cell 1"] + answer.released["cell 2"]
    assert answer.question.words == "How many rows have age at or below each of 2 edges from 20 to 40, where age > 18?"


@pytest.mark.parametrize("level", [um.PureDP("0.3"), um.GaussianDP(1), um.ZCDP("0.1"), um.ApproxDP(1, "1e-6")])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_intervals_hold_the_truth(level, neighbours):
    """95 % intervals of every count, on draws of the released integers at a fixed truth; they are no wider than so."""
    question = opened(neighbours).plan.cdf("age", range(20, 60, 2), level, monotone=False).question
    truth = np.arange(20)
    point = question.point({f"c{i}": int(x) for i, x in enumerate(truth)})
    drawn = question.solution.mechanism.sample_many(np.tile(point, (4000, 1)))
    sums = {f"<= {e}": i for i, e in enumerate(range(20, 60, 2))}
    exact = np.cumsum(truth)
    values = np.cumsum(drawn, axis=1) if isinstance(question.strategy, AddedCells) else drawn
    weighted = isinstance(question.strategy, WeightedSums)
    if weighted:
        values = np.floor(drawn.astype(float) @ prefix_weights(question.space).T + 0.5)
    zero = question.after(question.released([0] * len(point))).intervals
    stated = question.value(question.released(drawn[0]))
    if weighted:  # an estimate that ends in a half may round either way in floats
        estimates = drawn[0].astype(float) @ prefix_weights(question.space).T
        assert all(abs(stated[n] - estimates[i]) <= 0.5 + 1e-9 for n, i in sums.items())
    else:
        assert stated == {n: values[0, i] for n, i in sums.items()}
    if weighted:  # around estimates that are not whole
        ends = np.array([list(question.after(question.released(row)).intervals.values()) for row in drawn[:1000]])
        inside = ((ends[:, :, 0] <= exact) & (exact <= ends[:, :, 1])).mean(axis=0)
        assert (inside > 0.95 - 4 * math.sqrt(0.95 * 0.05 / 1000)).all()
        assert inside.mean() < 0.98  # ends are whole numbers, rounded outwards
    for name, i in () if weighted else sums.items():
        low, high = zero[name]
        held = np.mean((values[:, i] + low <= exact[i]) & (exact[i] <= values[:, i] + high))
        narrower = np.mean((values[:, i] + low < exact[i]) & (exact[i] < values[:, i] + high))
        assert held > 0.95 - 4 * math.sqrt(0.95 * 0.05 / 4000), name
        assert narrower < 0.95 + 4 * math.sqrt(0.95 * 0.05 / 4000), name
    losses = np.abs(values - exact).mean()
    assert losses == pytest.approx(question.before().average, rel=0.06)


CLAIMS = st.one_of(
    st.permutations([0, 1, 2]).map(lambda order: Relation("nested", tuple(order))),
    st.booleans().map(lambda complete: Relation("disjoint", complete=complete)),
)


@settings(max_examples=15)
@given(tables, st.sampled_from([0, 1, 2]), st.sampled_from(["replace", "add-remove"]), CLAIMS, st.data())
def test_privacy_does_not_rest_on_how_conditions_are_read(listed, which, neighbours, claim, data):
    """Whatever is claimed about conditions, true or not: neighbours are apart by a move of the space."""
    near, unit = neighbour_of(listed, UNITS[which], neighbours, data), UNITS[which]
    points = []
    for some in (listed, near):
        asked = counts(Setting(opening.open_table(as_table(some)), unit, neighbours), ["n >= 0", "x > 1", "ok"], 1)
        asked.question.__dict__["relation"] = claim
        points.append(asked.private_point(SECRET))
    assert one_neighbour_apart(asked.question.space, *points), (claim, listed, near)


@settings(max_examples=15)
@given(tables)
def test_cumulative_counts_against_python(listed):
    """Null and NaN are in no count, infinities at their ends; of a person so many rows are kept."""
    edges = [-3.5, -1, 0, 2.25, 2.5, 9.5]
    asked = cdf(Setting(opening.open_table(as_table(listed)), um.rows(at_most=50), "add-remove"), "x", edges, 1)
    cells = asked.private_point(SECRET)
    assert isinstance(asked.question.strategy, AddedCells)
    found = [x for _, x, _, _ in listed if x is not None and not math.isnan(x)]
    assert np.cumsum(cells).tolist() == [sum(x <= edge for x in found) for edge in edges]
    people = Counter(who for who, x, _, _ in listed if who is not None and x is not None and x <= 9.5)
    setting = Setting(
        opening.open_table(as_table(listed)), um.people("id", 2, at_most=50, truncate="question"), "add-remove"
    )
    assert sum(cdf(setting, "x", edges, 1).private_point(SECRET)) == sum(min(2, k) for k in people.values())


def test_single_floats_lie_at_their_edge():
    """A 0.1 of 32 bits is a little more than 0.1, but it is what such a column holds for it: as in conditions."""
    s = opened(speed=pyarrow.array([0.1] * 1020, pyarrow.float32()))
    assert s.cdf("speed", [0.1], 500).value == {"<= 0.1": 1020}
    assert s.counts(["speed <= 0.1"], 500).value == {"speed <= 0.1": 1020}


@pytest.mark.parametrize(("edges", "most"), [(200, 5.5), pytest.param(1000, 7.8, marks=pytest.mark.long)])
def test_a_thousand_edges_are_answered(edges, most):
    """Cells added up would err by 10.2 and 22.8."""
    answer = opened().cdf("age", [x / 10 for x in range(edges)], 1)
    assert len(answer.value) == len(answer.intervals) == edges
    assert answer.before.average < most
    assert answer.verify()


def test_more_than_a_thousand_edges_are_refused():
    s = opened()
    for wrong in (range(1001), [], [1, 1], [2, 1], ["1"], "12", {1, 2}, [math.nan], [0, math.inf], [True], 5, [2**53]):
        with pytest.raises(InvalidInput, match="edges"):
            s.plan.cdf("age", wrong, 1)


def test_functions_of_the_table_are_looked_at_too():
    """They write SQL."""
    plan = opened().plan.counts([lambda t: t.age >= 20, lambda t: t.age >= 40], 1)
    assert plan.question.words == opened().plan.counts(["age >= 20", "age >= 40"], 1).question.words


def test_the_command_asks_it(tmp_path):
    planned = release_command(tmp_path, "--cdf", "age", "--edges", "20,40,60", "--privacy", 1, "--plan")
    assert planned.returncode == 0, planned.stderr
    assert "at or below each of 3 edges from 20 to 60" in planned.stdout
    wrong = release_command(tmp_path, "--cdf", "age", "--edges", "20,x", "--privacy", 1, "--plan")
    assert wrong.returncode != 0
    assert "--edges 20,40,60" in wrong.stderr


@pytest.mark.parametrize(("rows_each", "epsilon"), [(575, "0.5"), (100, "0.1"), (575, "0.001")])
def test_people_with_many_rows_are_answered_though_the_noise_is_wide(rows_each, epsilon):
    """Where the mean size of errors takes too long to be listed exactly, the variance is bounded instead."""
    table = pyarrow.table({"age": AGES, "person": [i // 4 for i in range(len(AGES))]})
    s = um.Session(table, "d", um.people("person", rows_each=rows_each), "add-remove", budget=um.PureDP(10**6))
    conditions = [f"age <= {age}" for age in (20, 30, 40, 50, 60, 70)]
    for ask in (lambda on: on.cdf("age", [20, 30, 40, 50, 60, 70], epsilon), lambda on: on.counts(conditions, epsilon)):
        plan, answer = ask(s.plan), ask(s)
        assert len(answer.value) == len(answer.intervals) == 6
        assert 1.5 * rows_each / float(epsilon) < plan.before.average < 5 * rows_each / float(epsilon)
        assert answer.verify()
        for low, high in answer.intervals.values():
            assert 1.5 * plan.before.average < high - low < 12 * plan.before.average


def test_noise_too_wide_to_be_listed_says_what_is_and_what_to_do():
    with pytest.raises(InvalidInput, match=r"listed at [0-9,]+ places, and at most 524,288 are; give a larger epsilon"):
        _ = CarriedLaw(Fraction(9999, 10_000), (0, 0, 0)).absolute_errors
