"""The collector: what it keeps, what it refuses, and that it keeps nothing about who sent it."""

import http.client
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import utmost as um
from utmost.errors import InvalidInput
from utmost.survey.collector import local_server, read_collected

FORM = um.survey.form("Pets in 2026", {"A cat?": ["no", "yes"], "Which?": list("abcdefgh")}, 1.0)


def sent(number=0, responses=None, form=FORM.identity[:16]):
    answers = responses if responses is not None else ["yes", FORM.surveys[1].categories[: FORM.surveys[1].size]]
    return json.dumps({"form": form, "receipt": f"{number:032x}", "responses": answers}).encode()


@pytest.fixture
def collector(tmp_path):
    return um.survey.Collector(FORM, tmp_path / "responses.jsonl")


def test_a_line_holds_the_day_and_nothing_finer(collector):
    assert collector.receive(sent(1))
    assert not collector.receive(sent(1))  # sent twice, kept once
    assert collector.receive(sent(2))
    lines = [json.loads(line) for line in collector.file.read_text().splitlines()]
    assert [set(line) for line in lines] == [{"day", "form", "receipt", "responses"}] * 2
    assert all(len(line["day"]) == 10 for line in lines)
    assert len(collector.responses()) == 2


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nonsense",
        b"[]",
        b'{"form": 1}',
        b"\xff\xfe",
        b"[" * 100_000,
        sent(form="0" * 16),
        sent(responses=["yes"]),
        sent(responses=["maybe", ["a", "b"]]),
        sent(responses=["yes", ["a", "a", "b"]]),
        sent(responses=[["yes"], "a"]),
        sent(responses={"0": "yes"}),
        sent(1).replace(b"0000", b"zzzz", 1),
        sent(responses=["yes", "x" * 100_000]),
    ],
)
def test_what_is_not_a_response_is_refused_and_not_kept(collector, body):
    with pytest.raises(InvalidInput):
        collector.receive(body)
    assert collector.file.read_text() == ""
    assert um.survey.FormSite(collector).answer("POST", "/responses", body).status == 400


def test_extra_entries_are_not_kept(collector):
    body = json.loads(sent(5)) | {"name": "Eve", "time": "12:30"}
    assert collector.receive(json.dumps(body).encode())
    assert "Eve" not in collector.file.read_text()


def test_two_collectors_on_one_file(collector):
    """Another process's lines are seen; every response is kept once, whoever received it."""
    other = um.survey.Collector(FORM, collector.file)
    assert collector.receive(sent(1))
    assert not other.receive(sent(1))
    with ThreadPoolExecutor(8) as pool:
        kept = list(pool.map(lambda i: (collector, other)[i % 2].receive(sent(i // 2 + 10)), range(100)))
    assert sum(kept) == 50
    assert len(collector.responses()) == 51


def test_files_of_other_forms_and_torn_files_are_named(collector, tmp_path):
    collector.receive(sent(1))
    another = um.survey.form("Pets in 2027", {"A cat?": ["no", "yes"], "Which?": list("abcdefgh")}, 1.0)
    with pytest.raises(InvalidInput, match="response number 1 of"):
        um.survey.Collector(another, collector.file)
    torn = tmp_path / "torn.jsonl"
    torn.write_text(collector.file.read_text() + '{"form":')
    with pytest.raises(InvalidInput, match="response number 2 of"):
        read_collected([torn], FORM)


def test_copies_and_files_count_once(collector, tmp_path):
    """What people copied or saved, on lines or not, beside a collector's file."""
    collector.receive(sent(1))
    copied = tmp_path / "copied.txt"
    copied.write_bytes(sent(1) + b"\n\n" + sent(2) + sent(3))
    assert len(read_collected([collector.file, copied], FORM)) == 3


def test_over_http(collector):
    """The page, its module, responses; foreign pages, long bodies and other methods are refused."""
    server = local_server(um.survey.FormSite(collector))
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

    def ask(method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
        connection.request(method, path, body, headers or {})
        reply = connection.getresponse()
        found = reply.status, reply.read(), dict(reply.getheaders())
        connection.close()
        return found

    try:
        status, page, headers = ask("GET", "/")
        assert status == 200
        assert b"Pets in 2026" in page
        assert headers["Cache-Control"] == "no-store"
        assert ask("GET", "/respond.js")[1].startswith(b"// The respondent")
        json_kind = {"Content-Type": "application/json"}
        assert ask("POST", "/responses", sent(7), json_kind)[0] == 200
        assert ask("POST", "/responses", sent(8), {"Content-Type": "text/plain"})[0] == 415
        assert ask("POST", "/responses", b"x" * 10**6, json_kind)[0] == 413
        assert ask("POST", "/responses", None, {**json_kind, "Content-Length": str(2**40)})[0] == 413
        assert ask("POST", "/elsewhere", sent(8), json_kind)[0] == 405
        assert ask("GET", "/../../etc/passwd")[0] == 404
        assert ask("HEAD", "/")[1] == b""
        assert ask("PUT", "/responses", sent(9), json_kind)[0] == 501
    finally:
        server.shutdown()
        server.server_close()
    assert len(collector.responses()) == 1
