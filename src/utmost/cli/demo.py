"""The demonstration: a table of 20,000 people, five private answers, and their reports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from utmost.cli.ask import publish
from utmost.cli.output import working
from utmost.errors import InvalidInput, shown
from utmost.queries import Answer, Session, rows
from utmost.queries.demo_table import PEOPLE, write_survey
from utmost.queries.report.files import write_report

QUESTIONS = """\
title = "Five private answers about a survey"
table = "survey.csv"
dataset = "survey-2026"
unit = "rows, at most 25000"
neighbours = "add-remove"
budget = 3
ledger = "budget.db"
privacy = 0.5

[ask.older]
question = "count"
where = "age >= 65"

[ask.hours]
question = "sum"
column = "hours_online"
lower = 0
upper = 60
grid = "0.5"
privacy = 1

[ask.income-in-briar]
question = "mean"
column = "income"
lower = 0
upper = 100000
grid = 100
where = "town = 'Briar'"

[ask.agreement]
question = "majority"
where = "agrees = 'yes'"

[ask.young-noes]
question = "threshold"
where = "age BETWEEN 18 AND 29 AND agrees = 'no'"
at_least = 3000
"""


def run_demo(folder: Path, say: Callable[[str], Any]) -> dict[str, Any]:
    """Make a survey, ask it five questions, and write a report to a folder, with progress messages to `say`."""
    _require_own(folder)
    with working("making a survey"):
        table = write_survey(folder / "survey.csv")
    ledger = folder / "budget.db"
    for old in (ledger, Path(f"{ledger}-wal"), Path(f"{ledger}-shm")):
        old.unlink(missing_ok=True)
    say(f"A made-up survey of {PEOPLE} people: {table}")
    say(
        "Every row is protected: added or removed, it changes the probability of any answer by a factor of at most "
        "e^epsilon, for the epsilon stated with the answer.\n"
    )
    with working("planning"):
        session = Session(table, "survey-2026", rows(at_most=25_000), "add-remove", budget=3, ledger=ledger)
        plan = session.plan.count("age >= 65", privacy=0.5)
    say(f"{plan}\n")
    answers: list[Answer] = []
    questions: list[Callable[[], Answer]] = [
        lambda: session.count("age >= 65", privacy=0.5),
        lambda: session.sum("hours_online", 0, 60, privacy=1, grid="0.5"),
        lambda: session.mean("income", 0, 100_000, privacy=0.5, grid=100, where="town = 'Briar'"),
        lambda: session.majority("agrees = 'yes'", privacy=0.5),
        lambda: session.threshold("age BETWEEN 18 AND 29 AND agrees = 'no'", 3000, privacy=0.5),
    ]
    for ask in questions:
        with working(f"asking question {len(answers) + 1} of 5"):
            answers.append(ask())
        say(f"{answers[-1]}\n")
    with working("writing the report"):
        page = write_report(answers, folder / "report.html", "Five private answers about a survey")
        checked = session.account.check(answers[-1].head)
    session.ledger.close()
    file = folder / "questions.toml"
    file.write_text(QUESTIONS, encoding="utf-8", newline="\n")
    repeats, rerun = publish(file, folder / "publication")
    agreement = [repeat.value for repeat in repeats.values()] == [answer.value for answer in answers]
    say(f"{checked}\n\nAsked again from a file, they cost nothing (left: {rerun.left}): utmost ask {file} --out DIR")
    rerun.ledger.close()
    say(f"The release report of these answers: {page.resolve()}")
    with working("verifying"):
        verified = all(answer.verify() for answer in answers)
    return {
        "verified": bool(checked) and agreement and verified,
        "report": str(page.resolve()),
        "answers": [dict(answer.details) for answer in answers],
    }


def _require_own(folder: Path) -> None:
    """Make the folder, or refuse one with other files: replacing a ledger would lose the account of what was spent."""
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
