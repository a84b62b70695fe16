"""The fuse: engines are killed in the middle of a question; then nothing is answered until the owner says so."""

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pyarrow
import pytest
from oracles.command import release_command, utmost
from oracles.served import KEYS, programs, survey_server

import utmost as um
from utmost.accounting.account import Reservation
from utmost.backends.duckdb import DuckSource
from utmost.backends.postgres import PostgresSource
from utmost.backends.source import Source
from utmost.errors import SUSPENDED, AccountSuspended, BadFile, EngineFailed
from utmost.queries import release
from utmost.queries.questions.aggregates import OneNumber

PRIVATE = "SECRET-VALUE-4711"
TABLE = pyarrow.table({"town": ["Ash", "Briar", PRIVATE] * 40, "age": [70, 25, 41] * 40})


def session(ledger=None, table=TABLE, unit=None, **more):
    unit = unit or um.rows(at_most=10**6)
    return um.Session(table, "survey", unit, "add-remove", budget=um.ApproxDP(1000, 0.1), ledger=ledger, **more)


@contextmanager
def failing(times=10**6, what="execute", problem=RuntimeError):
    """An engine that fails so many times, saying what it should not."""
    real, count = getattr(Source, what), []

    def fail(source, *arguments, **named):
        count.append(1)
        if len(count) <= times:
            raise problem(PRIVATE)
        return real(source, *arguments, **named)

    with mock.patch.object(Source, what, fail):
        yield count


def require_silent(reason):
    """That an error says the one sentence, and nothing it was raised from says anything else."""
    assert str(reason) == SUSPENDED
    assert reason.__cause__ is None
    assert reason.__context__ is None
    assert PRIVATE not in repr(vars(reason))


def refused(*asks):
    """The words with which questions are refused: one sentence."""
    for ask in asks:
        with pytest.raises(AccountSuspended) as caught:
            ask()
        require_silent(caught.value)


def logged(account):
    """What the log of failures holds, which nobody but its owner can read."""
    assert stat.S_IMODE(account.failures.stat().st_mode) == 0o600
    lines = list(map(json.loads, account.failures.read_text().splitlines()))
    assert all(line["dataset"] == "survey" for line in lines)
    return lines


def require_suspended(s, questions=1):
    """That an account is charged for the question that failed, and suspended, with an intact chain."""
    assert s.account.suspended is not None
    assert s.account.check()
    assert [entry.state for entry in s.account.entries()] == ["reserved"] * questions
    spent = s.spent
    refused(
        lambda: s.count("age < 30", privacy=1),
        lambda: s.majority("age < 30", privacy=1),
        lambda: s.batch([s.plan.count(privacy=1)]),
        lambda: s.schedule(1, slots=2),
    )
    assert s.spent == spent
    assert "nothing was read" in str(s.plan.count("age < 30", privacy=1))


# ---- every path after a charge ----

WAYS = {
    "count": lambda s: s.count("age >= 65", privacy=1),
    "by keys": lambda s: s.count(privacy=1, by=um.keys(town=["Ash", "Briar"])),
    "found keys": lambda s: s.keys("town", privacy=um.ApproxDP(1, 1e-6)),
    "batch": lambda s: s.batch([s.plan.count(privacy=1), s.plan.majority("age >= 65", privacy=1)]),
    "bounds": lambda s: s.suggest_bounds("age", privacy=1),
    "allotment": lambda s: s.allot({s.plan.count(privacy=1, unbiased=True): 10}).ask(),
    "schedule": lambda s: s.schedule(1, slots=2).count("age >= 65"),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_question_has_the_fuse(way, tmp_path, capfd, caplog):
    """The first question that fails and every later one say the same; why is in the log, and nowhere else."""
    s = session(tmp_path / "budget.db")
    with failing() as tried:
        refused(lambda: WAYS[way](s))
        assert len(tried) == 2  # tried once more
        refused(lambda: WAYS[way](s))
        assert len(tried) == 2
    require_suspended(s)
    (line,) = logged(s.account)
    assert line["entry"] == 1
    assert line["reasons"] == [f"builtins.RuntimeError: {PRIVATE}"] * 2
    assert not any((*capfd.readouterr(), caplog.text))
    assert PRIVATE.encode() not in (tmp_path / "budget.db").read_bytes()
    assert {file.name for file in tmp_path.iterdir()} == {"budget.db", "budget.db.failures.log"}


@pytest.mark.parametrize("way", WAYS)
def test_what_succeeds_the_second_time_suspends_nothing(way, tmp_path):
    s = session(tmp_path / "budget.db")
    with failing(times=1) as tried:
        WAYS[way](s)
    assert len(tried) > 1
    assert s.account.suspended is None
    assert s.account.failures is None
    assert [file.name for file in tmp_path.iterdir()] == ["budget.db"]


@pytest.mark.parametrize("problem", [MemoryError, EngineFailed, UnicodeDecodeError, BaseException, BadFile])
def test_whatever_is_raised_counts(problem):
    """Also what no `except Exception` catches, such as a panic of a library written in Rust."""
    make = problem if problem is not UnicodeDecodeError else lambda words: problem("utf-8", b"x", 0, 1, words)
    s = session()
    with failing(problem=make):
        refused(lambda: s.count("age >= 65", privacy=1))
    require_suspended(s)


@pytest.mark.parametrize("problem", [KeyboardInterrupt, SystemExit])
def test_whoever_stops_a_question_suspends_nothing(problem, tmp_path):
    s = session(tmp_path / "budget.db")
    with failing(problem=problem), pytest.raises(problem):
        s.count("age >= 65", privacy=1)
    assert s.account.suspended is None
    assert s.count("age >= 30", privacy=1).value >= 0
    assert [entry.state for entry in s.account.entries()] == ["reserved", "done"]


def test_a_draw_that_fails_is_not_repeated():
    """A draw that is made again whenever it fails would have another law than the one that was proved."""
    s, draws = session(), []

    def draw(question, point):
        draws.append(point)
        raise OverflowError(PRIVATE)

    rehearsed = mock.patch.object(release, "rehearse_answer")
    with rehearsed, mock.patch.object(OneNumber, "draw", draw):
        refused(lambda: s.count("age >= 65", privacy=1))
    assert len(draws) == 1
    require_suspended(s)


def test_without_the_fuse_failures_tell_more():
    """The check of the checks: where the ledger is not told, a second question is charged."""
    s = session()
    with failing(), mock.patch.object(Reservation, "suspend"):
        for _ in range(2):
            refused(lambda: s.count("age >= 65", privacy=1))
    with pytest.raises(AssertionError):
        require_suspended(s)
    assert len(s.account.entries()) == 2


def test_after_it_is_resumed_questions_are_answered(tmp_path):
    s = session(tmp_path / "budget.db")
    with failing():
        refused(lambda: s.count("age >= 65", privacy=50))
    s.account.resume()
    assert s.count("age >= 65", privacy=50).value == 40
    assert s.count("age >= 65", privacy=50).recorded
    assert s.account.check()


def test_one_bit_however_many_ask_at_once(tmp_path):
    """Questions in flight when the first one fails have no answer either: else each would tell whether it fails."""
    s, results, real = session(tmp_path / "budget.db"), [], Source.execute

    def execute(source, statement):
        fails = threading.current_thread().name == "fails"
        while len(s.account.entries()) < 5 or not (fails or s.account.suspended):
            time.sleep(0.01)
        if fails:
            raise RuntimeError(PRIVATE)
        return real(source, statement)

    def ask(age):
        try:
            results.append(s.count(f"age >= {age}", privacy=1).value)
        except AccountSuspended as reason:
            results.append(str(reason))

    names = [None, None, "fails", None, None]
    threads = [threading.Thread(target=ask, args=(age,), name=name, daemon=True) for age, name in enumerate(names)]
    with mock.patch.object(Source, "execute", execute):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert results == [SUSPENDED] * 5
    require_suspended(s, questions=5)


# ---- DuckDB, for real ----


def test_duckdb_out_of_memory(tmp_path):
    """Half a million names to tell apart, in less memory than they take, and no disk to put them on."""
    names = pyarrow.array([f"person number {i} of the town" for i in range(500_000)])
    people = um.people("name", rows_each=1, at_most=10**6, truncate="question")
    limits = um.engine(memory="128MB", threads=2)
    table = pyarrow.table({"name": names, "age": pyarrow.array([1] * len(names))})
    s = session(tmp_path / "budget.db", table, people, engine=limits)
    s.source.connection.execute("SET memory_limit = '20MB'; SET max_temp_directory_size = '1MB'")
    refused(lambda: s.count("age >= 1", privacy=1))
    require_suspended(s)
    (line,) = logged(s.account)
    assert [reason.startswith("_duckdb.OutOfMemoryException") for reason in line["reasons"]] == [True, True]
    s.source.connection.execute("SET memory_limit = '1GB'; SET max_temp_directory_size = '10GB'")
    s.account.resume()
    assert s.count("age >= 1", privacy=50).value == len(names)


def slow_table(rows):
    return pyarrow.table({"name": pyarrow.array([f"person number {i} of many in the town" for i in range(rows)])})


SLOW = " OR ".join(f"name LIKE '%{i}x%y{i}%'" for i in range(60))
"""A condition that takes about a second for a million rows."""


@pytest.mark.parametrize(("times", "suspended"), [(1, False), (2, True)])
def test_duckdb_interrupted(times, suspended, tmp_path):
    """Interrupted while it runs, by its own call: once, and it is tried again; twice, and it has failed."""
    s, left = session(tmp_path / "budget.db", slow_table(500_000)), list(range(times))
    question = s.plan.count(SLOW, privacy=50).question
    real = DuckSource.cursor

    @contextmanager
    def interrupted(source, *how, **named):
        with real(source, *how, **named) as cursor:
            if left and s.account.entries():  # charged, so this is the question itself
                left.pop()
                threading.Timer(0.05, cursor.interrupt).start()
            yield cursor

    with mock.patch.object(DuckSource, "cursor", interrupted):
        if suspended:
            refused(lambda: s.ask(question, False))
        else:
            assert s.ask(question, False).value == 0
    assert left == []
    assert (s.account.suspended is not None) == suspended
    if suspended:
        assert "INTERRUPT" in logged(s.account)[0]["reasons"][0]


def test_ctrl_c_while_duckdb_runs(tmp_path):
    """DuckDB says "Query interrupted" of its own; that is still the user's choice, and suspends nothing."""
    s = session(tmp_path / "budget.db", slow_table(500_000))
    question, before = (
        s.plan.count(SLOW, privacy=50).question,
        signal.signal(signal.SIGALRM, signal.default_int_handler),
    )
    real = Source.execute

    def execute(source, statement):
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        return real(source, statement)

    try:
        with mock.patch.object(Source, "execute", execute), pytest.raises(KeyboardInterrupt):
            s.ask(question, False)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert s.account.suspended is None
    assert s.count("name = 'nobody'", privacy=50).value == 0


# ---- a process that is killed ----

KILLED = """
import os, sys, time, pyarrow, utmost as um
from utmost.backends.source import Source
table = pyarrow.table({"age": [70, 25, 41] * 40})
s = um.Session(table, "survey", um.rows(at_most=10**6), "add-remove", budget=um.ApproxDP(1000, 0.1), ledger=sys.argv[1])
def execute(source, statement):
    print("running", flush=True)
    time.sleep(100)
Source.execute = execute
s.count("age >= 65", privacy=1)
"""


def test_a_process_killed_in_the_middle(tmp_path):
    """As by a lack of memory: while it runs others are answered, and when it is gone nobody is."""
    s = session(tmp_path / "budget.db")
    with subprocess.Popen([sys.executable, "-c", KILLED, tmp_path / "budget.db"], stdout=subprocess.PIPE) as program:
        assert program.stdout.readline() == b"running\n"
        assert s.count("age >= 30", privacy=50).value == 80
        program.send_signal(signal.SIGKILL)
        program.wait()
    refused(lambda: s.count("age >= 30", privacy=50))
    assert [entry.state for entry in s.account.entries()] == ["reserved", "done"]
    assert "ended before it had an answer" in logged(s.account)[0]["reasons"][0]
    assert utmost("budget", "resume", tmp_path / "budget.db", "survey").returncode == 0
    assert s.count("age >= 40", privacy=50).value == 80
    assert s.account.check()


# ---- PostgreSQL, for real ----


@pytest.fixture(scope="module")
def table(postgres):
    """A table that takes a while to read, and a connection that may end others."""
    url, psycopg = postgres
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE survey AS SELECT 'person ' || i AS name FROM generate_series(1, 300000) AS i")
        yield connection, f"{url}#survey"


ENDED = (
    "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%%LIKE%%' AND state = 'active' "
    "AND pid <> pg_backend_pid() AND NOT pid = ANY(%s)"
)


@contextmanager
def ending(connection, times):
    """Whenever a question has been charged and runs, end its connection on the server; so many times."""
    ended, gone, real = [], [], PostgresSource.one_row

    def run(source, statement):
        if len(ended) < times and len(run.account.entries()):

            def end():
                deadline = time.monotonic() + 20
                while time.monotonic() < deadline:
                    if rows := connection.execute(ENDED, [gone]).fetchall():
                        gone.extend(pid for pid, _ in rows)  # which may be listed a little longer
                        return
                    time.sleep(0.01)

            ended.append(threading.Thread(target=end))
            ended[-1].start()
        return real(source, statement)

    with mock.patch.object(PostgresSource, "one_row", run):
        yield run, ended
    for thread in ended:
        thread.join()


@pytest.mark.parametrize(("times", "suspended"), [(1, False), (2, True)])
def test_postgres_loses_its_connection(table, times, suspended, tmp_path):
    """A connection that is lost is made again, once."""
    connection, url = table
    s = session(tmp_path / "budget.db", url)
    question = s.plan.count(SLOW, privacy=50).question
    with ending(connection, times) as (run, ended):
        run.account = s.account
        if suspended:
            refused(lambda: s.ask(question, False))
        else:
            assert s.ask(question, False).value == 0
    assert len(ended) == times
    assert (s.account.suspended is not None) == suspended
    if suspended:
        assert "terminating connection" in logged(s.account)[0]["reasons"][0]
        s.account.resume()
        assert session(s.ledger, url).count("name = 'person 7'", privacy=50).value == 1


def test_a_connection_of_the_users_is_not_made_again(table, postgres, tmp_path):
    """Nobody but the user knows how: a lost connection is a failure."""
    import ibis

    connection, _ = table
    url, psycopg = postgres
    with psycopg.connect(url, autocommit=True) as own:
        s = session(tmp_path / "budget.db", ibis.postgres.from_connection(own).table("survey"))
        question = s.plan.count(SLOW, privacy=50).question
        with ending(connection, 1) as (run, _):
            run.account = s.account
            refused(lambda: s.ask(question, False))
    assert s.account.suspended


def test_postgres_that_is_stopped(postgres, tmp_path):
    """Nobody to connect to: suspended. The ledger is elsewhere."""
    url, _ = postgres
    s = session(tmp_path / "budget.db", f"{url}#survey")
    plan, real = s.plan.count("name = 'person 8'", privacy=1), Source.execute
    question = plan.question

    def execute(source, statement):
        if not stopped:
            stopped.append(stop(url))
        return real(source, statement)

    stopped = []
    try:
        with mock.patch.object(PostgresSource, "execute", execute):
            refused(lambda: s.count("name = 'person 7'", privacy=1))
        refused(lambda: s.ask(question, False), lambda: s.batch([plan]))  # not what a lost connection says
    finally:
        for start in stopped:
            start()
    assert s.account.suspended
    assert len(logged(s.account)[0]["reasons"]) == 2
    s.account.resume()
    again = session(s.ledger, f"{url}#survey")
    assert again.count("name = 'person 7'", privacy=50).value == 1


def stop(url):
    """Stop the server of the tests as a power cut would; what starts it again."""
    folder, binaries = f"/tmp/utmost-postgres-{os.getpid()}", max(Path("/usr/lib/postgresql").glob("*/bin"))
    user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    port = url.rpartition(":")[2].partition("/")[0]
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1"

    def control(*words):
        command = [*user, binaries / "pg_ctl", "-D", f"{folder}/data", "-w", "-l", f"{folder}/log", *words]
        subprocess.run(command, check=True, capture_output=True, cwd="/")

    control("-m", "immediate", "stop")
    return lambda: control("-o", options, "start")


# ---- the command ----


def test_the_command_says_it_and_resumes(tmp_path):
    """The question that fails and later ones: one sentence, exit code 1; `utmost budget` shows, checks and resumes."""
    ledger = tmp_path / "b.db"
    asked = ("--count", "age >= 65", "--privacy", 0.5, "--budget", 2)
    with failing():
        failed = release_command(tmp_path, *asked)
    later = [release_command(tmp_path, *asked), release_command(tmp_path, "--majority", "age >= 65", "--privacy", 1)]
    assert {(each.returncode, each.stdout, each.stderr) for each in (failed, *later)} == {
        (1, "", f"AccountSuspended: {SUSPENDED}\n")
    }
    assert "1.5 of 2 left" in release_command(tmp_path, *asked, "--plan").stdout
    shown = json.loads(utmost("budget", "show", ledger, "--json").stdout)["accounts"][0]
    assert shown["suspended"] == um.Ledger(ledger).account("d").suspended
    text = utmost("budget", "show", ledger).stdout
    assert f"suspended since {shown['suspended']}" in text
    assert str(tmp_path / "b.db.failures.log") in text
    checked = utmost("budget", "check", ledger)
    assert checked.returncode == 0
    assert f"suspended since {shown['suspended']}" in checked.stdout
    assert json.loads(utmost("budget", "check", ledger, "--json").stdout)["accounts"][0]["suspended"]
    resumed = utmost("budget", "resume", ledger, "d", "--json")
    assert (resumed.returncode, json.loads(resumed.stdout)) == (
        0,
        {
            "dataset": "d",
            "resumed": True,
            "suspended_since": shown["suspended"],
            "log": str(tmp_path / "b.db.failures.log"),
        },
    )
    assert release_command(tmp_path, *asked).returncode == 0
    again = utmost("budget", "resume", ledger, "d")
    assert (again.returncode, again.stdout) == (1, "d: not suspended; nothing was done\n")
    assert json.loads(utmost("budget", "show", ledger, "--json").stdout)["accounts"][0]["suspended"] is None
    assert utmost("budget", "resume", ledger, "nobody").returncode == 2


# ---- the server ----


def test_the_server_answers_nobody(tmp_path, caplog):
    """One status and one body for every question of every analyst; plans, recorded answers and budgets go on."""
    survey, hidden = "/api/datasets/survey", "/api/datasets/hidden"
    count = {"question": "count", "where": "age >= 65", "privacy": 0.25}
    questions = [
        {**count, "where": "age < 30"},
        {**count, "privacy": 100},
        {"question": "majority", "where": "age < 30", "privacy": 0.1},
        count,
    ]
    with survey_server(tmp_path) as url, programs(url) as by:
        assert by["ada"].post(f"{survey}/ask", json=count).status_code == 200
        with failing():
            replies = [by["ada"].post(f"{survey}/ask", json=questions[0])]
        for name in ("ada", "bob"):
            replies += [by[name].post(f"{survey}/ask", json=question) for question in questions]
            replies.append(by[name].post(f"{survey}/batch", json={"questions": [count, count]}))
        assert {(reply.status_code, reply.text) for reply in replies} == {(409, replies[0].text)}
        assert replies[0].json()["detail"] == SUSPENDED
        with um.Client(url, KEYS["bob"][0], "survey") as bob, pytest.raises(AccountSuspended) as again:
            bob.count("age < 30", privacy=0.1)
        assert str(again.value) == SUSPENDED
        assert by["ada"].post(f"{survey}/plan", json=questions[0]).status_code == 200
        assert by["ada"].get(f"{survey}/answers/1").status_code == 200
        left = by["carol"].get(f"{survey}/budget").json()
        assert left["dataset"]["left"] == "epsilon 2.5 of 3"
        assert {name: own["left"] for name, own in left["analysts"].items()} == {
            "ada": "epsilon 1.5 of 2",
            "bob": "epsilon 2 of 2",
        }
        assert by["bob"].post(f"{hidden}/ask", json=count).status_code == 200
        assert PRIVATE not in caplog.text
        assert utmost("budget", "resume", tmp_path / "budget.db", "survey").returncode == 0
        assert by["bob"].post(f"{survey}/ask", json=questions[0]).status_code == 200
