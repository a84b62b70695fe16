"""`um.Client`: the plans and answers of a session, from a server, down to their words."""

import inspect

import pytest
from oracles.served import KEYS, ROWS, survey_server

import utmost as um
from utmost.serve.client import RemotePlanner
from utmost.serve.wire import METHODS


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A client, and a session on the same table."""
    folder = tmp_path_factory.mktemp("client")
    with survey_server(folder, budget='"20,1e-5"', own='"20,1e-5"') as url, um.Client(url, KEYS["ada"][0]) as client:
        level = um.ApproxDP(20, 1e-5)
        unit = um.rows(at_most=500)
        yield client, um.Session(folder / "people.csv", "survey", unit, "add-remove", level, types={"age": int})


ASKED = [
    ("count", ("age >= 65", 0.5), {}),
    ("count", (), {"privacy": um.PureDP.from_ratio(2), "by": um.keys(town=["Ash", "Briar"])}),
    ("sum", ("age", 18, 90), {"privacy": um.GaussianDP("0.5"), "where": "town = 'Ash'"}),
    ("histogram", (["town", "age"], [["Ash", "Briar"], um.bins(0, 100, 25)], 0.5), {"other": "elsewhere"}),
    ("majority", ("town = 'Ash'", um.ApproxDP(0.5, 1e-7)), {}),
    ("count", (), {"privacy": um.ApproxDP(1, 1e-6), "by": um.discover("town")}),
    ("keys", ("town", um.ApproxDP("0.5", 1e-6)), {}),
    ("marginals", (um.keys(town=["Ash", "Briar"], age=um.bins(0, 100, 50)), 2, 0.5), {}),
    ("plurality", ("town", ["Ash", "Briar"], 0.5), {}),
]


@pytest.mark.parametrize(("name", "given", "named"), ASKED)
def test_plans_and_answers_are_those_of_a_session(both, name, given, named):
    """The same types, the same words but for what is left; and the proof runs on this side."""
    client, session = both
    far, near = (getattr(one.plan, name)(*given, **named) for one in (client, session))
    words = [[line for line in str(plan).splitlines() if "ledger" not in line] for plan in (far, near)]
    assert words[0] == words[1]
    assert isinstance(far, um.Plan)
    assert far.readings == near.readings
    answer = getattr(client, name)(*given, **named)
    assert type(answer) is um.Answer
    assert answer.verify()
    assert (answer.question.public, answer.before) == (near.question.public, near.before)
    again = getattr(client, name)(*given, **named)
    assert again.recorded
    assert again.released == answer.released


def test_every_question_of_a_session_is_there():
    """With the session's own signature and help, in the client and in its plans."""
    for name in METHODS:
        for kind in (um.Client, RemotePlanner):
            assert inspect.signature(getattr(kind, name)) == inspect.signature(getattr(um.Session, name))
            assert getattr(kind, name).__doc__ == getattr(um.Session, name).__doc__


def test_batches_budgets_and_answers(both):
    """A batch is charged as one; budgets are a session's; every answer is found again."""
    client, session = both
    before = client.left.amounts()["epsilon"]
    plans = [client.plan.count(f"age >= {age}", privacy=0.01) for age in range(20, 35)]
    answers = client.batch(plans, delta=1e-7)
    assert len(answers) == 15
    exact = um.compose(0.01, times=15).epsilon(1e-7)
    assert before - client.left.amounts()["epsilon"] == pytest.approx(exact, rel=1e-9)
    assert client.budget.entries[-1].cost.keys() == {"epsilon", "delta"}
    assert str(client.spent).startswith("epsilon")
    found = client.answers
    assert [each.released for each in found[max(found)]] == [each.released for each in answers]
    plan = client.plan.count("age >= 65", privacy=1)
    assert client.smallest_privacy(plan, 5) == session.smallest_privacy(session.plan.count("age >= 65", privacy=1), 5)
    assert 0 <= client.count(privacy=2).value <= ROWS + 100


def test_allotments_are_those_of_a_session(both):
    """The same levels and the same price for the same targets; asked as one batch."""
    client, session = both
    told = []
    for one in (client, session):
        plans = [one.plan.count(f"age >= {age}", privacy=1) for age in (40,)]
        told.append(one.allot(dict.fromkeys(plans, 40), None, delta=1e-7))
    assert [plan.privacy for plan in told[0].plans] == [plan.privacy for plan in told[1].plans]
    assert str(told[0].price) == str(told[1].price)
    before = client.left.amounts()["epsilon"]
    answers = told[0].ask()
    assert [answer.privacy for answer in answers] == [plan.privacy for plan in told[0].plans]
    assert before - client.left.amounts()["epsilon"] == pytest.approx(float(told[0].price.cost["epsilon"]))
    assert client.price(told[0].plans).cost.keys() == told[0].price.cost.keys()


def test_suggested_bounds_are_those_of_a_session(both):
    """Asked at levels at which noise is unlikely to change them, both name the same ends."""
    ends = [one.suggest_bounds("age", 8, largest=1000, share="0.1") for one in both]
    assert ends[0].answers[0].question.public == ends[1].answers[0].question.public
    assert all(answer.verify() for answer in ends[0].answers)
    assert (ends[0].lower, ends[0].upper) == (ends[1].lower, ends[1].upper)


def test_errors_are_those_of_a_session(both):
    """The same class, the same words."""
    client, session = both
    for name, given in (("count", ("size > 3", 0.5)), ("sum", ("age", 5, 3, 0.5)), ("count", ("age > 3", 0))):
        told = []
        for one in (client, session):
            with pytest.raises(um.errors.UtmostError) as problem:
                getattr(one, name)(*given)
            told.append((problem.type, str(problem.value)))
        assert told[0] == told[1]
    with pytest.raises(um.errors.BudgetSpent, match="the budget is insufficient for 50-DP"):
        client.count("age > 30", 50)
    with pytest.raises(um.errors.InvalidInput, match="SQL text"):
        client.count(lambda t: t.age > 3, 0.5)
    with pytest.raises(um.errors.UtmostError, match=r"invalid key for 'ada'; give the whole key"):
        um.Client(client.url, "ada:guess")
    with pytest.raises(um.errors.UtmostError, match="cannot be reached"):
        um.Client("http://127.0.0.1:9", "ada:guess")
