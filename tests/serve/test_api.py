"""The HTTP API: what a key opens, what is charged, what errors say, and the document that describes it."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from oracles.served import KEYS, programs, serving, survey_server, write_settings

import utmost as um
from utmost.serve.api import ROUTES, openapi_text
from utmost.serve.settings import Visitor, read_settings

COUNT = {"question": "count", "where": "age >= 65", "privacy": 0.25}
SURVEY = "/api/datasets/survey"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with survey_server(tmp_path_factory.mktemp("serve")) as url, programs(url) as by:
        yield url, by


def test_asking_charges_both_budgets_once(served):
    """A plan spends nothing; an answer is charged to analyst and data set; asked again it is recorded and free."""
    _, by = served
    plan = by["ada"].post(f"{SURVEY}/plan", json=COUNT).json()
    assert plan["left"] == "epsilon 2 of 2 for you, epsilon 3 of 3 for all"
    first, again = (by["ada"].post(f"{SURVEY}/ask", json=COUNT).json() for _ in range(2))
    assert (first["recorded"], again["recorded"]) == (False, True)
    assert first["released"] == again["released"]
    other = by["bob"].post(f"{SURVEY}/ask", json=COUNT).json()
    assert other["released"] == first["released"]
    budget = by["carol"].get(f"{SURVEY}/budget").json()
    assert budget["dataset"]["left"] == "epsilon 2.75 of 3"
    assert {name: own["left"] for name, own in budget["analysts"].items()} == {
        "ada": "epsilon 1.75 of 2",
        "bob": "epsilon 1.75 of 2",
    }
    assert by["ada"].get(f"{SURVEY}/budget").json()["analysts"].keys() == {"ada"}
    report = by["ada"].get(f"{SURVEY}/answers/1/report")
    assert "How many rows have age &gt;= 65" in report.text
    assert by["ada"].get(f"{SURVEY}/answers/1/verify").json()["verified"]


def test_refusals_say_value_rule_and_remedy(served):
    """Each kind of error has its status, is problem+json, and says what to do; nothing is charged."""
    _, by = served
    before = by["carol"].get(f"{SURVEY}/budget").json()["dataset"]["spent"]
    cases = [
        (409, {**COUNT, "privacy": 2.5}, "your own budget is insufficient for 2.5-DP"),
        (422, {**COUNT, "where": "size >= 3"}, "there is no column 'size'; the columns are age, town"),
        (422, {**COUNT, "colour": 1}, "count takes no 'colour'; it takes where"),
        (422, {"question": "sum", "privacy": 1}, "sum lacks column, lower, upper"),
        (422, {**COUNT, "privacy": -1}, "-1"),
        (422, {**COUNT, "by": {"town": ["x"] * 10_001}}, "at most 10000"),
        (422, [], "send an object"),
    ]
    for status, sent, words in cases:
        reply = by["ada"].post(f"{SURVEY}/ask", json=sent)
        assert (reply.status_code, reply.headers["content-type"]) == (status, "application/problem+json"), sent
        assert words in reply.json()["detail"], reply.json()
    sent_as = {"content-type": "application/json"}
    assert by["ada"].post(f"{SURVEY}/ask", content=b"{", headers=sent_as).status_code == 422
    assert by["ada"].post(f"{SURVEY}/ask", content=b"{}").status_code == 415
    assert by["ada"].post(f"{SURVEY}/ask", content=b" " * 2_000_000, headers=sent_as).status_code == 413
    assert by["carol"].post(f"{SURVEY}/ask", json=COUNT).status_code == 403
    assert by["carol"].get(f"{SURVEY}/budget").json()["dataset"]["spent"] == before


def test_what_is_not_yours_and_what_does_not_exist_look_the_same(served):
    """A wrong key of a real and of a made-up name, another's data set and none: the same words, and none of the key."""
    _, by = served
    wrong = {
        "": "give your key in the header",
        "ada:guess": "invalid key for 'ada'; give the whole key, as NAME:...",
        "nobody:guess": "invalid key for 'nobody'; give the whole key, as NAME:...",
        KEYS["bob"][0].replace("bob", "ada"): "invalid key for 'ada'",
        "é": "invalid key, not of the form NAME:...",
        "x" * 5000: "invalid key, not of the form NAME:...",
        "<b>:guess": "invalid key, not of the form NAME:...",
    }
    for key, words in wrong.items():
        replies = {
            by["nobody"].get(path, headers={"Authorization": f"Bearer {key}".encode()} if key else {}).content
            for path in (SURVEY, "/api/datasets/none/answers/1")
        }
        told = json.loads(replies.pop())
        assert not replies
        assert told["status"] == 401
        assert told["detail"].startswith(words)
        assert "guess" not in told["detail"]
        assert KEYS["bob"][0].partition(":")[2] not in told["detail"]
    for rest in ("", "/answers", "/answers/1", "/answers/999/report", "/budget"):
        hidden, none = (by["ada"].get(f"/api/datasets/{name}{rest}") for name in ("hidden", "none"))
        assert hidden.status_code == none.status_code == 403
        assert hidden.content == none.content
    for way in ("plan", "ask", "batch"):
        hidden, none = (by["ada"].post(f"/api/datasets/{name}/{way}", json=COUNT) for name in ("hidden", "none"))
        assert hidden.status_code == 403
        assert hidden.content == none.content
    assert by["ada"].get(f"{SURVEY}/answers/999").content == by["ada"].get("/api/datasets/hidden/answers/1").content


def test_a_wrong_key_takes_as_long_for_a_real_name_as_for_none(served):
    """Both are hashed, which takes most of the time: the quickest of three for one is about as quick as for the other.

    They take turns, so that what else the machine does at a moment slows both. More would be told to wait.
    """
    _, by = served

    def taken(key):
        begun = time.perf_counter()
        assert by["nobody"].get(SURVEY, headers={"Authorization": f"Bearer {key}"}).status_code == 401
        return time.perf_counter() - begun

    turns = [(taken("ada:guess"), taken("zoe:guess")) for _ in range(3)]
    real, none = (min(times) for times in zip(*turns, strict=True))
    assert 1 / 3 < real / none < 3
    assert none > 0.01


def test_answers_leave_at_ticks(tmp_path):
    """An answer comes at a multiple of the tick, however quickly it was found."""
    with survey_server(tmp_path, tick=0.5) as url, programs(url) as by:
        for _ in range(2):
            assert by["ada"].post(f"{SURVEY}/ask", json=COUNT).status_code == 200
            assert time.time() % 0.5 < 0.25


def test_an_answer_is_recorded_for_a_client_who_has_gone(tmp_path):
    """Who hangs up is charged and answered; asking again returns the recorded answer. Many may begin at once."""
    with survey_server(tmp_path, tick=0.3) as url, programs(url) as by:
        with ThreadPoolExecutor(40) as many:  # with one key, which nobody has checked yet
            statuses = set(many.map(lambda _: by["ada"].get(SURVEY).status_code, range(60)))
        assert statuses == {200}
        with pytest.raises(httpx.TimeoutException):
            by["ada"].post(f"{SURVEY}/ask", json=COUNT, timeout=0.02)
        assert by["ada"].post(f"{SURVEY}/ask", json=COUNT).status_code == 200
        entries = by["carol"].get(f"{SURVEY}/answers").json()["answers"]
        assert {entry["state"] for entry in entries} == {"done"}
        assert by["ada"].post(f"{SURVEY}/ask", json=COUNT).json()["recorded"]


def test_rates_are_bounded(tmp_path):
    """Who asks too often is told to wait, and others are not."""
    with survey_server(tmp_path, rate=1) as url, programs(url) as by:
        statuses = [by["ada"].get("/api/datasets").status_code for _ in range(8)]
        assert statuses[:5] == [200] * 5
        assert 429 in statuses
        assert by["bob"].get("/api/datasets").status_code == 200


def test_public_facts_are_all_told(tmp_path):
    """Also an end of a range that is 0."""
    file = write_settings(tmp_path)
    file.write_text(file.read_text().replace("lower = 18", "lower = 0"))
    with serving(read_settings(file)) as url, programs(url) as by:
        age, town = by["ada"].get(SURVEY).json()["columns"]
    assert age == {"name": "age", "kind": "int64", "type": "int", "lower": 0, "upper": 90, "description": "in years"}
    assert town == {"name": "town", "kind": "string", "categories": ["Ash", "Briar"]}


def test_the_document_describes_the_routes(served):
    """Every route is in the committed document with its parameters, and nothing else is."""
    document = json.loads(openapi_text())
    described = {(way.upper(), path) for path, ways in document["paths"].items() for way in ways}
    assert described == {(way, path.replace(":int", "")) for way, path, _ in ROUTES}
    for path, ways in document["paths"].items():
        for each in ways.values():
            named = [parameter["$ref"].rpartition("/")[2] for parameter in each.get("parameters", [])]
            assert named == [part[1:-1] for part in path.split("/") if part.startswith("{")]
    _, by = served
    assert by["nobody"].get("/api/openapi.json").json() == document


def test_settings_are_checked(tmp_path):
    """A file that says too little, too much or nonsense is refused with the place."""
    file = tmp_path / "utmost.toml"
    dataset = '[dataset.a]\ntable = "a.csv"\nunit = "rows, at most 5"\nneighbours = "replace"\nbudget = 1\n'
    cases = {
        "": "names no data set",
        dataset: "names no ledger",
        'ledger = "b"\nlegder = 1\n' + dataset: "'legder', which nothing reads",
        'ledger = "b"\n' + dataset.replace("budget = 1", ""): "lacks budget",
        'ledger = "b"\nhost = "0.0.0.0"\n' + dataset: "no key is asked for",
        'ledger = "b"\n' + dataset + '[analyst.x]\nkey = "secret"\ndatasets = ["a"]\nbudget = 1': "no hash of a key",
        f'ledger = "b"\n{dataset}[analyst.x]\nkey = "{KEYS["ada"][1]}"\ndatasets = ["z"]': "'z'; there are a",
    }
    for text, words in cases.items():
        file.write_text(text)
        with pytest.raises(um.errors.InvalidInput, match=words):
            read_settings(file)
    file.write_text('ledger = "b"\n' + dataset)
    assert read_settings(file).open_to == Visitor("anyone", None, {"a": um.PureDP(1)}, custodian=True)
