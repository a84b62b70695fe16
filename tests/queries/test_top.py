"""The most frequent values: of a list, and of keys that nobody listed."""

from functools import partial

import pyarrow
import pytest
from oracles.forging import is_refused

import utmost as um
from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.queries.report.proof import load_answers

LEVEL = um.ApproxDP(3, 1e-6)
TOWNS = ["Ash", "Briar", "Cedar", "Dell", "Elm"]


def opened(unit=None, neighbours="add-remove"):
    town = ["Elm"] * 300 + ["Ash"] * 200 + ["Cedar"] * 120 + ["Dell"] * 2 + [None] * 9 + ["own"]
    table = pyarrow.table({"town": town, "who": [f"p{i // 2}" for i in range(len(town))]})
    return um.Session(table, "towns", unit or um.rows(at_most=1000), neighbours, budget=um.ApproxDP(1000, 0.1))


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("unit", [um.rows(at_most=1000), um.people("who", rows_each=2, at_most=600)])
def test_the_most_frequent_come_first(unit, neighbours):
    s = opened(unit, neighbours)
    assert s.top("town", 3, TOWNS, 5).value == ["Elm", "Ash", "Cedar"]
    assert s.top("town", 2, privacy=um.ApproxDP(8, 1e-6)).value == ["Elm", "Ash"]
    assert len(s.top("town", 9, privacy=um.ApproxDP(8, 1e-6)).value) in (3, 4)
    if unit.id is not None:
        assert s.top("town", 2, TOWNS, 5, of="people").value == ["Elm", "Ash"]
        assert s.top("town", 2, privacy=um.ApproxDP(8, 1e-6), of="people", keys_each=2).value == ["Elm", "Ash"]


def test_plans_state_the_expected_recall():
    s = opened()
    listed = s.plan.top("town", 2, TOWNS, 1)
    assert f"expected recall {1 - listed.before.average:.4g}" in str(listed)
    assert 0 < listed.before.average < 0.02
    losses = listed.question.losses
    assert losses["Utmost"]["missed"] == min(by["missed"] for by in losses.values())
    found = s.plan.top("town", 10, privacy=LEVEL)
    assert "expected recall" in str(found)
    assert s.plan.top("town", 10, privacy=um.ApproxDP(0.1, 1e-6)).before.average > found.before.average
    assert s.plan.top("town", 1, TOWNS, 1).question.words == "Which town is most frequent?"


@pytest.mark.parametrize(
    "ask", [lambda s: s.top("town", 2, TOWNS, 1, where="who <> 'p1'"), lambda s: s.top("town", 3, privacy=LEVEL)]
)
def test_reports_prove_themselves_and_forgeries_do_not(ask, tmp_path):
    answer = ask(opened())
    assert answer.verify()
    page = answer.report(tmp_path / "report.html")
    ((again, found),) = load_answers(page.with_suffix(".json"))
    assert found
    assert again.value == answer.value
    refused = partial(is_refused, page.with_suffix(".json"))

    def with_another(c):
        released = c["released"]
        if "places" in released:
            released["places"] = [1, 2]
        else:
            released["keys"][0][2][0] = "Nowhere"

    assert refused(with_another)
    assert refused(lambda c: c["question"].update(k=1))
    assert refused(lambda c: c["released"]["places" if "places" in c["released"] else "count"].reverse())
    assert refused(lambda c: c["accuracy"]["before"].update(average=0.0001))
    assert refused(lambda c: c["solution"].update(value=0.0001))


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda s: s.top("town", 6, TOWNS, 1), "name 1 to 5"),
        (lambda s: s.top("town", 0, TOWNS, 1), "k is 0"),
        (lambda s: s.top("town", 2.5, privacy=LEVEL), "k is 2.5"),
        (lambda s: s.top("nowhere", 2, privacy=LEVEL), "no column"),
        (lambda s: s.top("town", 2, TOWNS), "say what the answer may spend"),
    ],
)
def test_bad_questions_are_refused(ask, said):
    s = opened()
    with pytest.raises(InvalidInput, match=said):
        ask(s)
    assert not s.account.entries()


def test_without_a_list_a_delta_is_needed():
    with pytest.raises(UnsupportedLevel, match="without a delta"):
        opened().top("town", 2, privacy=1)
