"""The collector: what it keeps, what it refuses, and that it keeps nothing about who sent it."""

import http.client
import json
import resource
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

import utmost as um
from utmost.cli import main
from utmost.errors import InvalidInput, NotKept
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


# ---- disks that are full, and processes that are killed ----


@contextmanager
def disk_of(size):
    """No file of this process grows beyond so many bytes: the system takes what fits of a write, and then refuses."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("room", [0, 1, 40, 100])
def test_a_disk_that_is_full_for_a_moment(collector, room):
    """A line that does not fit is taken back; the same response is taken once there is room, and all are estimated."""
    assert collector.receive(sent(1))
    before = collector.file.read_bytes()
    site = um.survey.FormSite(collector)
    with disk_of(len(before) + room):
        with pytest.raises(NotKept, match="send it again"):
            collector.receive(sent(2))
        reply = site.answer("POST", "/responses", sent(2))
        assert reply.status == 503
        assert str(collector.file).encode() not in reply.body
        assert collector.file.read_bytes() == before
        assert not collector.receive(sent(1))  # what is kept already is still known
    assert collector.receive(sent(2))
    assert not collector.receive(sent(2))
    assert collector.receive(sent(3))
    assert len(um.survey.Collector(FORM, collector.file).responses()) == 3
    assert FORM.estimate(collector.responses()).people == 3
    assert not torn_file(collector).exists()


def torn_file(collector):
    return collector.file.with_name(collector.file.name + ".torn")


LINE = len(b'{"day":"2026-01-01","form":"0123456789abcdef","receipt":"') + 32


@pytest.mark.parametrize("cut", [1, 5, 8, 13, 18, 30, LINE, LINE + 20, -2])
@pytest.mark.parametrize("running", [True, False], ids=["while it runs", "before it starts"])
def test_a_line_that_was_cut_short_is_set_aside_and_said(collector, caplog, cut, running):
    """A killed process left the beginning of a line: whole ones are kept, it goes on, and nothing is lost."""
    collector.receive(sent(1))
    collector.receive(sent(2))
    whole, torn = collector.file.read_bytes(), collector.file.read_bytes().splitlines()[1][:cut]
    collector.file.write_bytes(whole + torn)
    assert len(read_collected([collector.file], FORM)) == 2  # it can be estimated from as it is
    assert "was cut short, and is left out" in caplog.text
    assert collector.file.read_bytes() == whole + torn
    taking = collector if running else um.survey.Collector(FORM, collector.file)
    assert taking.receive(sent(3))
    assert not taking.receive(sent(1))
    assert "set aside in" in caplog.text
    assert "yes" not in caplog.text  # nothing of a response is logged
    assert torn_file(collector).read_bytes() == torn + b"\n"
    assert torn_file(collector).stat().st_mode & 0o077 == 0
    assert collector.file.read_bytes().startswith(whole)
    assert len(um.survey.Collector(FORM, collector.file).responses()) == 3


def test_a_last_line_that_lacks_only_its_end_counts(collector):
    collector.receive(sent(1))
    collector.file.write_bytes(collector.file.read_bytes().rstrip())
    assert not um.survey.Collector(FORM, collector.file).receive(sent(1))
    assert collector.receive(sent(2))
    assert len(collector.responses()) == 2
    assert not torn_file(collector).exists()


@pytest.mark.parametrize("text", [b"notes of mine", b'{"day":"2026-01-01","form":"0000', b'{"name": "Eve', b"\xff\xfe"])
def test_nothing_of_another_file_is_set_aside(tmp_path, text):
    """What does not begin as a line of this form does is somebody's, and refused as it is."""
    file = tmp_path / "notes.txt"
    file.write_bytes(text)
    with pytest.raises(InvalidInput):
        um.survey.Collector(FORM, file)
    assert file.read_bytes() == text
    assert [one.name for one in tmp_path.iterdir()] == ["notes.txt"]


def test_room_for_neither_the_line_nor_what_is_set_aside(collector):
    """Where not even the torn end can be copied, it stays where it is until it can."""
    collector.receive(sent(1))
    whole = collector.file.read_bytes()
    collector.file.write_bytes(whole + whole[:50])
    with disk_of(10), pytest.raises(NotKept):
        collector.receive(sent(2))
    assert collector.file.read_bytes() == whole + whole[:50]
    assert collector.receive(sent(2))
    assert torn_file(collector).read_bytes() == whole[:50] + b"\n"
    assert len(collector.responses()) == 2


def test_estimating_from_a_torn_file_by_the_command(tmp_path, capsys, monkeypatch):
    """Also of a survey of one question, whose file may hold responses of either kind."""
    alone = um.local.survey(["no", "yes"], 1.0, "A cat?")
    one = um.survey.Collector(um.survey.Form.of(alone), tmp_path / "one.jsonl")
    for number in range(40):
        one.receive(sent(number, ["yes"], one.form.identity[:16]))
    with one.file.open("ab") as opened:
        opened.write(one.file.read_bytes()[:70])
    alone.save(tmp_path / "one.json")
    monkeypatch.setattr(
        "sys.argv", ["utmost", "survey", "estimate", str(tmp_path / "one.json"), str(one.file), "--json"]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert json.loads(capsys.readouterr().out)["people"] == 40


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
        assert ask("POST", "/responses", sent(8), {**json_kind, "Transfer-Encoding": "chunked"})[0] == 411
        assert ask("POST", "/elsewhere", sent(8), json_kind)[0] == 405
        assert ask("GET", "/../../etc/passwd")[0] == 404
        assert ask("HEAD", "/")[1] == b""
        assert ask("PUT", "/responses", sent(9), json_kind)[0] == 501
    finally:
        server.shutdown()
        server.server_close()
    assert len(collector.responses()) == 1
