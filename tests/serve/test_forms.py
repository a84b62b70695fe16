"""Surveys on the server: the page in a browser, checked responses, results for the custodian, nothing about people."""

import datetime
import json

import httpx
import numpy as np
import pytest
from oracles.browser import CHROMIUM, Browser
from oracles.served import signed_in, survey_server

import utmost as um

PLACE = '[form.pets]\nform = "form.json"\nresponses = "kept/responses.jsonl"'


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server with a form, and the file its responses go to."""
    folder = tmp_path_factory.mktemp("forms")
    form = um.survey.form("Pets", {"A cat?": ["no", "yes"], "A dog?": ["no", "yes"]}, 2.0)
    form.save(folder / "form.json")
    with survey_server(folder, end=PLACE) as url:
        yield url, form, folder / "kept" / "responses.jsonl"


def test_a_survey_of_eighty_through_the_endpoint(served):
    """Responses are checked and kept once, with the day alone; estimates cover the truth; only custodians see them."""
    url, form, kept = served
    made_up = np.random.default_rng(26)
    truth = [(["no", "yes"][made_up.random() < 0.3], "no") for _ in range(80)]
    with httpx.Client(base_url=url, verify=False) as client:
        for number, answers in enumerate(truth):
            sent = {"form": form.identity[:16], "receipt": f"{number:032x}", "responses": list(form.respond(answers))}
            assert client.post("/forms/pets/responses", json=sent).status_code == 200
        assert client.post("/forms/pets/responses", json=sent).json() == {"said": "was kept already"}
        for wrong in ({}, {**sent, "form": "0" * 16}, {**sent, "receipt": "1" * 32, "responses": ["maybe", "no"]}):
            assert client.post("/forms/pets/responses", json=wrong).status_code == 400
        assert client.post("/forms/pets/responses", content=json.dumps(sent)).status_code == 415
        elsewhere = {"Origin": "https://elsewhere.example"}
        assert client.post("/forms/pets/responses", json=sent, headers=elsewhere).status_code == 403
        assert client.get("/forms/none/").status_code == 404
        assert client.get("/forms/pets/results").status_code == 401
    lines = [json.loads(line) for line in kept.read_text().splitlines()]
    assert len(lines) == 80
    assert {line["day"] for line in lines} <= {
        (datetime.datetime.now(datetime.UTC).date() - datetime.timedelta(days=days)).isoformat() for days in (0, 1)
    }
    assert all(line.keys() == {"day", "form", "receipt", "responses"} for line in lines)
    found = form.estimate(um.survey.read_collected([kept], form))
    low, high = found["A cat?"].interval(0.999)[1]
    assert low < 0.3 < high
    with signed_in(url, "ada") as ada:
        assert ada.get("/forms/pets/results").status_code == 403
    with signed_in(url, "carol") as carol:
        assert "80" in carol.get("/forms/pets/results").text
        assert "/forms/pets/results" in carol.get("/").text


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: install Debian's package chromium to run this")
def test_a_respondent_in_a_browser(served):
    """The browser draws and sends; what arrives is a response to the form, and nothing else is asked of anybody."""
    url, form, kept = served
    before = len(um.survey.read_collected([kept], form))
    with Browser() as browser:
        browser.visit(f"{url}/forms/pets")
        browser.wait("document.getElementById('loading').hidden")
        browser.run("document.querySelectorAll('[data-question]').forEach(f => f.querySelector('input').click())")
        browser.run("document.querySelector('button[type=submit]').click()")
        browser.wait("!document.getElementById('send').hidden")
        browser.run("document.getElementById('send').click()")
        browser.wait("/kept|received|[Tt]hank/.test(document.body.innerText)")
        assert {address.split("/")[2] for address in browser.requests if address.startswith("http")} == {url[7:]}
    assert len(um.survey.read_collected([kept], form)) == before + 1
