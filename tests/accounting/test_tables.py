"""Another table under the same account name is noticed: in plans, answers, reports and checks, and never refused."""

import json

import pytest

import utmost as um
from utmost.accounting.account import Account
from utmost.accounting.entries import TableMark
from utmost.queries.report.proof import load_answers

ONE, OTHER = TableMark("a.csv", "1" * 32), TableMark("b.csv", "2" * 32)
TERMS = ("survey", 3, "rows, at most 100", "add-remove")


@pytest.fixture(params=["file", "memory"])
def ledger(request, tmp_path):
    return um.Ledger(tmp_path / "budget.db" if request.param == "file" else None)


def ask(account: Account, question: str) -> str:
    return account.state_after(account.ask(0.1, question, lambda: 1)).other_table


def test_a_change_is_said_once_and_a_return_again(ledger):
    one, other = (ledger.open(*TERMS, table=mark) for mark in (ONE, OTHER))
    assert [ask(one, "1"), ask(one, "2")] == ["", ""]
    assert one.other_table == ""
    assert "'a.csv', not 'b.csv'" in other.other_table
    assert "'a.csv', not 'b.csv'" in ask(other, "3")
    assert ask(other, "4") == ""
    assert other.other_table == ""
    assert "'b.csv', not 'a.csv'" in ask(one, "5")
    check = one.check()
    assert check
    assert "changed 2 times under this data set name: a.csv, then b.csv, then a.csv" in str(check)


def test_a_recorded_answer_names_the_table_it_was_drawn_from(ledger):
    one, other = (ledger.open(*TERMS, table=mark) for mark in (ONE, OTHER))
    ask(one, "1")
    assert "drawn from another table, 'a.csv', not 'b.csv'" in ask(other, "1")


def test_accounts_of_earlier_versions_have_no_table(ledger):
    """An account without a table is opened with one: nothing is said, the chain holds, and from then on it is known."""
    old = ledger.open(*TERMS)
    assert ask(old, "1") == ""
    assert old.other_table == ""
    assert "table" not in json.dumps(old.check().checks[-1].name)
    one = ledger.open(*TERMS, table=ONE)
    assert one.other_table == ""
    assert ask(one, "2") == ""
    assert ask(one, "1") == ""
    assert "a.csv" in ledger.open(*TERMS, table=OTHER).other_table
    assert ask(old, "3") == ""
    assert "a.csv" in ledger.open(*TERMS, table=OTHER).other_table
    assert one.check()


def test_the_number_of_an_event_fits_their_count(ledger):
    account = ledger.open(*TERMS, table=ONE)
    ask(account, "1")
    said = str(account.check(account.head))
    assert "3 events" in said
    assert "event 3 of 3 has it" in said


def test_sessions_notice_and_reports_say_it(tmp_path):
    """Files with the same columns in two places; the report verifies, and one without the words does not."""
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rows.csv").write_text("x\n1\n2\n")

    def session(folder):
        table = tmp_path / folder / "rows.csv"
        return um.Session(table, "rows", um.rows(at_most=50), "add-remove", budget=2, ledger=tmp_path / "budget.db")

    assert "another table" not in str(session("one").count("x >= 1", privacy=0.5))
    assert "'rows.csv' in another place or with other columns" in str(session("other").plan.count("x >= 2", privacy=1))
    answer = session("other").count("x >= 2", privacy=0.5)
    assert "was used before with another table" in str(answer)
    page = answer.report(tmp_path / "answer.html")
    assert "was used before with another table" in page.read_text()
    file = page.with_suffix(".json")
    assert all(proved for _, proved in load_answers(file))
    content = json.loads(file.read_text())
    del content["ledger"]["other_table"]
    file.write_text(json.dumps(content))
    assert not any(proved for _, proved in load_answers(file))


def test_no_password_is_kept():
    from utmost.queries.table_fingerprint import _named

    name, place = _named("postgresql://ada:secret@host/health#visits")
    assert name == "visits"
    assert "secret" not in place
    assert "ada" not in place
