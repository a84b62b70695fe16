"""Files that version 0.2 wrote: reports of every kind of answer, solutions, and the ledger behind them.

They were made once by that version (commit f036d9f) about a made-up table of 300 rows, and are never written anew.
"""

import shutil
from pathlib import Path

import pytest

import utmost as um
from utmost.queries.report.proof import confirmed, load_answers

FILES = Path(__file__).parent / "version_0_2"
REPORTS = sorted(path.name for path in FILES.glob("*.json") if not path.name.startswith("solution-"))
SOLUTIONS = sorted(path.name for path in FILES.glob("solution-*.json"))


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    copy = tmp_path_factory.mktemp("golden") / "budget.db"
    shutil.copy(FILES / "budget.ledger", copy)
    with um.Ledger(copy) as opened:
        yield opened


@pytest.mark.parametrize("name", REPORTS)
def test_reports_verify_and_are_confirmed_by_their_ledger(name, ledger):
    """An answer that was published stays proved, and its ledger still knows it."""
    ((answer, found),) = load_answers(FILES / name)
    assert found, [check for check in found.checks if not check.passed]
    check = confirmed(answer, ledger.account(answer.dataset))
    assert check.passed, check.detail
    solution = answer.question.solution
    assert solution.certificate.words == solution.restated().certificate.words, "worded as this version does"


@pytest.mark.parametrize("name", SOLUTIONS)
def test_solutions_verify(name):
    assert um.Solution.load(FILES / name).verify()


def test_every_account_of_the_ledger_opens(ledger):
    assert len(ledger.datasets()) == 5
    assert all(ledger.account(dataset).entries() for dataset in ledger.datasets())
