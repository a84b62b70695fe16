"""The demonstration: a table of 20,000 people, five private answers, and a page that defends them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from utmost.errors import InvalidInput, shown
from utmost.release import Session, rows
from utmost.release.demo_table import PEOPLE, write_survey
from utmost.release.report import write_report


def run_demo(folder: Path, say: Callable[[str], Any]) -> dict[str, Any]:
    """Make a survey, ask it five questions, and write a report to a folder; say what happens."""
    _require_own(folder)
    table = write_survey(folder / "survey.csv")
    ledger = folder / "budget.db"
    for old in (ledger, Path(f"{ledger}-wal"), Path(f"{ledger}-shm")):
        old.unlink(missing_ok=True)
    say(f"A made-up survey of {PEOPLE} people: {table}")
    say(
        "Every row is protected: added or removed, it changes no answer's probability by more than the "
        "stated epsilon.\n"
    )
    session = Session(table, "survey-2026", rows(at_most=25_000), "add-remove", budget=3, ledger=ledger)
    say(f"{session.plan.count('age >= 65', privacy=0.5)}\n")
    answers = [
        session.count("age >= 65", privacy=0.5),
        session.sum("hours_online", 0, 60, privacy=1, grid="0.5"),
        session.mean("income", 0, 100_000, privacy=0.5, grid=100, where="town = 'Briar'"),
        session.majority("agrees = 'yes'", privacy=0.5),
        session.threshold("age BETWEEN 18 AND 29 AND agrees = 'no'", 3000, privacy=0.5),
    ]
    for answer in answers:
        say(f"{answer}\n")
    page = write_report(answers, folder / "report.html", "Five private answers about a survey")
    checked = session.account.check(answers[-1].head)
    session.ledger.close()
    say(f"{checked}\n\nThe page that defends these answers: {page.resolve()}")
    return {
        "verified": bool(checked) and all(answer.verify() for answer in answers),
        "report": str(page.resolve()),
        "answers": [dict(answer.details) for answer in answers],
    }


def _require_own(folder: Path) -> None:
    """Make the folder, or refuse one that holds something else: a ledger that is replaced forgets what was spent."""
    mark = folder / ".utmost-demo"
    try:
        if folder.exists() and not mark.exists() and any(folder.iterdir()):
            raise InvalidInput(
                f"{shown(str(folder))} holds other files, which the demonstration might replace; name a new folder."
            )
        folder.mkdir(parents=True, exist_ok=True)
        mark.touch()
    except OSError as problem:
        raise InvalidInput(
            f"{shown(str(folder))} is no folder that can be written to ({problem.strerror}); name a new one."
        ) from None
