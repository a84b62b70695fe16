"""Whether the server answers, how many requests it had, and what its log says: never who asked what."""

import json
import logging
import shutil
import threading
from dataclasses import replace
from fractions import Fraction

import httpx
import pytest
from oracles.served import programs, serving, write_settings

import utmost as um
from utmost.errors import BadFile
from utmost.serve.settings import read_settings


@pytest.fixture
def lines():
    """What is logged of requests."""
    kept, log = [], logging.getLogger("utmost.serve.access")

    class Keep(logging.Handler):
        def emit(self, record):
            kept.append(record.getMessage())

    handler, level = Keep(), log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    yield kept
    log.removeHandler(handler)
    log.setLevel(level)


def test_requests_are_counted_and_logged_without_what_they_ask(tmp_path, lines):
    """By area, method and status; no name, no address, no text, whatever the request says."""
    settings = replace(read_settings(write_settings(tmp_path)), access_log=True)
    with serving(settings) as url, programs(url) as clients:
        assert clients["nobody"].get("/healthz").text == "ok\n"
        assert clients["ada"].get("/api/datasets?secret=age").status_code == 200
        assert clients["nobody"].get("/api/datasets/hidden").status_code == 401
        assert clients["nobody"].get("/no/such/secret").status_code == 404
        text = clients["nobody"].get("/metrics").text
        forwarded = clients["nobody"].get("/metrics", headers={"X-Forwarded-For": "127.0.0.1"})
        assert forwarded.status_code == 404
    assert 'utmost_requests_total{area="api",method="GET",status="200"} 1\n' in text
    assert 'utmost_requests_total{area="api",method="GET",status="401"} 1\n' in text
    assert 'utmost_requests_total{area="page",method="GET",status="404"} 1\n' in text
    assert text.endswith("utmost_requests_running 0\n")
    assert [json.loads(line) for line in lines[:2]] == [
        {"area": "api", "method": "GET", "status": 200},
        {"area": "api", "method": "GET", "status": 401},
    ]
    for words in ("secret", "ada", "hidden", "datasets", "127.0.0.1"):
        assert words not in text + "".join(lines)


def test_nothing_is_logged_unless_it_is_asked_for(tmp_path, lines):
    with serving(read_settings(write_settings(tmp_path))) as url:
        assert httpx.get(f"{url}/").status_code < 500
    assert lines == []


def test_a_copy_of_a_ledger_is_whole_or_refused(tmp_path):
    """Copied while it is written: what it holds was spent, and it says that later spends are missing."""
    path, copy, stop = tmp_path / "budget.db", tmp_path / "copy.db", threading.Event()
    account = um.Ledger(path).open("survey", 1000, "rows, at most 500", "add-remove")

    def spend():
        number = 0
        while not stop.is_set():
            account.ask("1/8", f"q{number}", lambda: 1)
            number += 1

    spender, read = threading.Thread(target=spend), 0
    spender.start()
    try:
        for _ in range(20):
            shutil.copyfile(path, copy)
            try:
                restored = um.Ledger(copy).account("survey")
            except BadFile:
                continue
            assert restored.check()
            spent = Fraction(str(restored.spent).split()[1])
            assert spent % Fraction(1, 8) == 0
            read += 1
    finally:
        stop.set()
        spender.join()
    assert read > 10
    shutil.copyfile(path, copy)
    before = account.head
    account.ask("1/8", "later", lambda: 1)
    restored = um.Ledger(copy).account("survey")
    assert restored.check(before)
    assert not restored.check(account.head)
