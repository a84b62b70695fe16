"""`utmost survey form`, `page`, `collect`, `respond`, `estimate`: a form from its questions to a page of results."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from unittest import mock

import pytest
from oracles.command import utmost

import utmost as um
from utmost.cli import output
from utmost.cli.survey import estimate
from utmost.survey import Form

QUESTIONS = """
title = "Commuting in 2026"
epsilon = 3
introduction = "Ten seconds."

[[question]]
text = "How?"
answers = ["car", "bus", "bicycle"]
share = 2

[[question]]
text = "Happy?"
answers = ["no", "yes"]
"""


@pytest.fixture
def form(tmp_path):
    source = tmp_path / "questions.toml"
    source.write_text(QUESTIONS)
    made = utmost("survey", "form", source, "--out", tmp_path / "form.json", "--people", "500")
    assert made.returncode == 0, made.stderr
    assert "500 shuffled responses" in made.stdout
    return tmp_path / "form.json"


def test_from_questions_to_results(tmp_path, form):
    """Several people, each with a file of their own; asked again, the same response; estimates, a table, a page."""
    lines = []
    for i in range(20):
        kept = tmp_path / f"kept{i}.json"
        first = utmost("survey", "respond", form, "--kept", kept, given="bus\nyes\n")
        assert first.returncode == 0, first.stderr
        assert utmost("survey", "respond", form, "--kept", kept, given="car\nno\n").stdout == first.stdout
        lines.append(first.stdout)
    assert len({json.loads(line)["receipt"] for line in lines}) == 20
    (tmp_path / "all.txt").write_text("".join(lines) + lines[0])  # one of them twice
    page = tmp_path / "results.html"
    words = utmost("survey", "estimate", form, tmp_path / "all.txt", "--cross", "1,2", "--page", page)
    assert words.returncode == 0, words.stderr
    assert "20 responses" in words.stdout
    assert "How? (rows) by Happy? (columns)" in words.stdout
    assert "<svg" in page.read_text()
    found = json.loads(utmost("survey", "estimate", form, tmp_path / "all.txt", "--cross", "2,1", "--json").stdout)
    made = Form.load(form)
    expected = made.estimate([json.loads(line)["responses"] for line in lines])
    assert found["people"] == 20
    assert [e["frequency"] for e in found["questions"][0]["estimates"]] == pytest.approx(
        expected[0].frequencies.tolist()
    )
    assert found["cross"][0]["frequencies"] == expected.cross(1, 0).frequencies.tolist()


def test_page_and_verify(tmp_path, form):
    assert utmost("survey", "page", form, "--out", tmp_path / "site", "--send", "responses").returncode == 0
    assert "Ten seconds." in (tmp_path / "site" / "index.html").read_text()
    assert utmost("survey", "page", form, "--out", tmp_path / "site", "--send", "http://x.org").returncode == 2
    assert utmost("verify", form).stdout.startswith("verified: private")
    assert json.loads(utmost("survey", "verify", form, "--json").stdout)["verified"]
    alone = um.local.survey(["no", "yes"], 1.0, "Cats?").save(tmp_path / "survey.json")
    assert json.loads(utmost("survey", "page", alone, "--out", tmp_path / "alone", "--json").stdout)["sent_to"] is None


def test_responses_of_a_page_of_one_question_are_estimated(tmp_path):
    """A survey designed alone has a page too: what it makes is read by `estimate` with the survey's file."""
    alone = um.local.survey(["no", "yes"], 1.0, "Cats?")
    asked = Form.of(alone)
    (tmp_path / "all.txt").write_text("\n".join(json.dumps(asked.sent(["yes"])) for _ in range(30)))
    told = utmost("survey", "estimate", alone.save(tmp_path / "survey.json"), tmp_path / "all.txt")
    assert "30 responses" in told.stdout
    (tmp_path / "old.txt").write_text('{"response": "yes"}\n' * 60 + '"no"\n' * 40)  # as `respond` prints them, or bare
    page = tmp_path / "page.html"
    assert utmost("survey", "estimate", tmp_path / "survey.json", tmp_path / "old.txt", "--page", page).returncode == 0
    assert "100 people responded" in page.read_text()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("title = 1", "title"),
        ("= 3", "not TOML"),
        (QUESTIONS.replace("share = 2", "shares = 2"), "question.0.shares"),
        (QUESTIONS.replace("epsilon = 3", "epsilon = -3"), "epsilon"),
        (QUESTIONS.replace('["no", "yes"]', '["no", "no"]'), "are no categories: 2 categories, 1 of them different"),
    ],
)
def test_mistakes_in_the_questions_are_named(tmp_path, text, named):
    source = tmp_path / "questions.toml"
    source.write_text(text)
    refused = utmost("survey", "form", source, "--out", tmp_path / "form.json")
    assert refused.returncode == 2
    assert named in refused.stderr
    assert not (tmp_path / "form.json").exists()


@pytest.mark.parametrize("cross", ["1", "1,1", "0,2", "1,3", "a,b"])
def test_cross_tables_that_do_not_exist_are_named(tmp_path, form, cross):
    (tmp_path / "all.txt").write_text(json.dumps(Form.load(form).sent(["car", "no"])))
    assert utmost("survey", "estimate", form, tmp_path / "all.txt", "--cross", cross).returncode == 2


def test_collect_serves_and_stops(tmp_path, form):
    """A server of its own: it says where it is, keeps a response, prints nothing about who asked, and stops."""
    command = [sys.executable, "-m", "utmost", "survey", "collect", str(form), "--out", "r.jsonl", "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, cwd=tmp_path, text=True, env=os.environ, **pipes)
    try:
        port = int(process.stdout.readline().split("/ (stop")[0].rpartition(":")[2])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        body = json.dumps(Form.load(form).sent(["car", "no"]))
        connection.request("POST", "/responses", body, {"Content-Type": "application/json", "User-Agent": "Eve"})
        assert connection.getresponse().status == 200
        connection.close()
        time.sleep(0.1)
    finally:
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=20)
    assert (process.returncode, *rest) == (0, "", "stopped\n")
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 1


def test_files_of_another_kind_are_told_apart(tmp_path):
    """A list of questions is no form yet, and a page is not what is verified."""
    asked = utmost("survey", "page", tmp_path / "s.toml", "--out", tmp_path / "page")
    assert asked.returncode == 2
    assert "design their form first" in asked.stderr
    page = utmost("verify", tmp_path / "report.html")
    assert page.returncode == 2
    assert "report.json" in page.stderr


def test_estimating_says_that_it_goes_on(tmp_path, form):
    """Of a form and of a survey: a terminal is told what the command is at."""
    um.local.survey(["car", "bus"], 1).save(tmp_path / "survey.json")
    (tmp_path / "bare.txt").write_text('"car"\n"bus"\n')
    (tmp_path / "sent.txt").write_text(json.dumps(Form.load(form).sent(["bus", "yes"], tmp_path / "kept.json")))
    with mock.patch("utmost.cli.survey.working", side_effect=output.working) as told:
        estimate(tmp_path / "survey.json", [tmp_path / "bare.txt"])
        estimate(form, [tmp_path / "sent.txt"], page=tmp_path / "page.html")
    assert [call.args[0] for call in told.call_args_list] == ["reading responses", "estimating"] * 2
