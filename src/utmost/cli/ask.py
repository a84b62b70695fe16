"""`utmost ask`: answer a file of questions into a folder: a page, JSON and CSV for each, and an index.

The file is TOML: the table and its budget as `um.Session` takes them, and every question as a table `[ask.NAME]` with
the name of the session's method and its arguments.
"""

from __future__ import annotations

import html
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from utmost.cli.output import Json, print_json, print_table, read_text, working
from utmost.cli.release import existing, require_apart
from utmost.errors import BudgetSpent, InvalidInput, UtmostError, shown
from utmost.messages import spelled_as
from utmost.queries.questions import QUESTIONS
from utmost.queries.spelling import Entries, errors_spelled
from utmost.serve.wire import arguments_of, level_of, read_query

if TYPE_CHECKING:
    from utmost.queries.answers import Answer, Plan
    from utmost.queries.session import Session

NEEDED = ("table", "dataset", "unit", "neighbours", "budget")
KNOWN = {*NEEDED, "ledger", "types", "privacy", "together", "delta", "ask", "title"}
EXAMPLE = '[ask.older] with question = "count", where = "age >= 65", privacy = 0.5'
TITLE = "Private answers"
OUT = (
    "The folder for pages, JSON, CSV and index.html; made if it is not there. Answers of Utmost in it are replaced by "
    "those of the same name, and nothing else is."
)
AS_IN_THE_FILE = Entries({name: question.options[0].name for name, question in QUESTIONS.items()})
"""The spelling of arguments in errors: that of the file of questions."""


def ask(
    file: Annotated[Path, typer.Argument(help="A TOML file: the table, its budget, and the questions.")],
    out: Annotated[Path | None, typer.Option(help=OUT)] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show cost and expected error of each; read nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Answer every question of FILE and write the answers to a folder, or plan and price them.

    All are checked, and their price is compared with the remaining budget, before the first is asked. A question that
    was answered before, with the same words and level, costs nothing: add questions and run it again.
    """
    if plan:
        content = read_questions(file)
        with working("planning"), errors_spelled(AS_IN_THE_FILE):
            session = _open_session(content, file, planned=True)
            plans = _plans(session, content)
        _show_plans(session, plans, content, as_json)
        return
    if out is None:
        raise InvalidInput("give --out, the folder for the answers; or --plan, which reads and spends nothing.")
    answers, session = publish(file, out)
    if as_json:
        print_json({"folder": str(out), "answers": {name: dict(answer.details) for name, answer in answers.items()}})
        return
    print_table(
        ("name", "question", "answer", "level"),
        [(name, answer.question.words, _first_line(answer), str(answer.privacy)) for name, answer in answers.items()],
    )
    print(f"left: {session.left}\nthe page that lists them: {(out / 'index.html').resolve()}")


def publish(file: Path, out: Path) -> tuple[dict[str, Answer], Session]:
    """Ask every question of a file and write the folder; return the answers by name, and the session."""
    content = read_questions(file)
    with working("planning"), errors_spelled(AS_IN_THE_FILE):
        plans = _plans(_open_session(content, file, planned=True), content)  # a mistake opens no account
    pages = _require_folder(out, plans)
    for page in pages.values():
        require_apart(page, _resolve(content.get("ledger"), file.absolute().parent), "name another folder")
    session = _open_session(content, file)
    plans = {name: replace(plan, source=session.source) for name, plan in plans.items()}
    answers = _ask_all(session, plans, content)
    with working("writing the pages"):
        _write(pages, answers, content, session)
    return answers, session


def _open_session(content: Mapping[str, Any], file: Path, planned: bool = False) -> Session:
    """The session that the file describes; `planned` opens no new account."""
    from utmost.queries.session import Session
    from utmost.queries.units import as_unit

    folder, words = file.absolute().parent, content["unit"]
    if not isinstance(words, str):
        raise InvalidInput(f'unit is {shown(words)}; write it as text, such as "rows, at most 25000".')
    ledger: Any = _resolve(content.get("ledger"), folder)
    if planned:
        ledger = existing(ledger, content["dataset"])
    table, budget = _resolve(content["table"], folder), level_of(content["budget"])
    return Session(
        table, content["dataset"], as_unit(words), content["neighbours"], budget, ledger, content.get("types")
    )


# ---- the file ----


def read_questions(file: Path) -> dict[str, Any]:
    """The content of a file of questions; unknown and missing entries are refused."""
    try:
        content = tomllib.loads(read_text(file))
    except tomllib.TOMLDecodeError as problem:
        raise InvalidInput(f"{file} is not TOML: {problem}; docs/publish.md has an example.") from None
    unknown = [name for name in content if name not in KNOWN]
    if unknown:
        raise InvalidInput(
            f"{file} has {shown(unknown[0])}, which nothing reads; it may have {', '.join(sorted(KNOWN))}."
        )
    missing = [name for name in NEEDED if name not in content]
    if missing:
        raise InvalidInput(f"{file} lacks {', '.join(missing)}; give each; docs/publish.md has an example.")
    questions = content.get("ask")
    if (
        not isinstance(questions, dict)
        or not questions
        or not all(isinstance(question, dict) for question in questions.values())
    ):
        raise InvalidInput(f"{file} asks nothing; add questions, each as a table such as {EXAMPLE}.")
    for name in questions:
        if not name.replace("-", "").replace("_", "").isalnum() or name == "index":
            raise InvalidInput(f"a question is called {shown(name)}; its name is a file's: letters, digits, - and _.")
    return content


def _resolve(name: Any, folder: Path) -> str | None:
    """The path of a file relative to the questions' folder, or a URL unchanged."""
    if name is None:
        return None
    if not isinstance(name, str):
        raise InvalidInput(f"{shown(name)} is no file; give a name or an address as text.")
    return name if "://" in name else str(folder / name)


def _plans(session: Session, content: Mapping[str, Any]) -> dict[str, Plan]:
    """Plan every question; all their mistakes are reported in one error, before any is asked."""
    plans, mistakes = {}, []
    for name, entry in content["ask"].items():
        try:
            default = {"privacy": content["privacy"]} if "privacy" in content else {}
            request = read_query(default | entry)
            plans[name] = getattr(session.plan, request.name)(**arguments_of(request))
        except UtmostError as problem:
            with spelled_as(AS_IN_THE_FILE):
                mistakes.append(f"[ask.{name}]: {problem}")
    if mistakes:
        raise InvalidInput("\n".join(mistakes))
    return plans


# ---- the price ----


def _unanswered(session: Session, plans: Mapping[str, Plan]) -> dict[str, Plan]:
    """The plans that have to be paid for, because the ledger has no answer to them."""
    find = session.account.find
    return {name: plan for name, plan in plans.items() if find(session.identity(plan.question), plan.privacy) is None}


def _require_paid(session: Session, plans: Mapping[str, Plan]) -> None:
    """Refuse all questions if the remaining budget is insufficient for them together."""
    filter, remainder = session.account.filter, session.left
    costs = [filter.cost(plan.privacy) for plan in _unanswered(session, plans).values()]
    if costs and not filter.allows([remainder.spent, *costs]):
        sums = zip(filter.resources, filter.total(costs), strict=True)
        price = ", ".join(f"{name} {float(amount):.6g}" for name, amount in sums)
        raise BudgetSpent(
            f"the {len(costs)} questions not answered yet cost {price} together, and {remainder} are left; lower their "
            "levels, ask fewer, or ask them together with a delta. Nothing was asked."
        )


def _ask_all(session: Session, plans: dict[str, Plan], content: Mapping[str, Any]) -> dict[str, Answer]:
    if content.get("together"):
        with working("asking"):
            return dict(zip(plans, session.batch(list(plans.values()), content.get("delta")), strict=True))
    if "delta" in content:
        raise InvalidInput("delta is for questions that are asked together; add together = true, or leave it out.")
    _require_paid(session, plans)
    answers = {}
    with typer.progressbar(plans.items(), file=sys.stderr, hidden=not sys.stderr.isatty()) as progress:
        for name, plan in progress:
            answers[name] = session.ask(plan.question, False)
    return answers


def _show_plans(session: Session, plans: dict[str, Plan], content: Mapping[str, Any], as_json: bool) -> None:
    from utmost.queries.report.words import expected_error

    unpaid = _unanswered(session, plans)
    price = session.price(list(unpaid.values()), content.get("delta")) if unpaid else None
    if as_json:
        details = {name: dict(plan.details) | {"answered": name not in unpaid} for name, plan in plans.items()}
        cost = {name: float(amount) for name, amount in price.cost.items()} if price else {}
        print_json({"plans": details, "price": cost, "left": session.left.amounts()})
        return
    rows = []
    for name, plan in plans.items():
        level = str(plan.privacy) if name in unpaid else "answered before: costs nothing"
        first = plan.before
        error = f"{first.loss} {expected_error(first)}"
        rows.append((name, plan.question.words, level, plan.details["mechanism"], error))
    print_table(("name", "question", "level", "mechanism", "expected error"), rows)
    print(f"price: {price or 'nothing'}\nleft: {session.left}\nnothing was read, nothing is spent")


# ---- the folder ----


def _require_folder(out: Path, plans: Mapping[str, Plan]) -> dict[str, Path]:
    """The paths of all pages, index included; a folder in which they cannot be written is refused."""
    from utmost.queries.report.files import require_writable

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InvalidInput(f"{out} is no folder that can be written to: {problem.strerror}; name another.") from None
    return {name: require_writable(out / f"{name}.html") for name in (*plans, "index")}


def _write(pages: dict[str, Path], answers: dict[str, Answer], content: Mapping[str, Any], session: Session) -> None:
    from utmost.queries.report.files import report_files, write_files

    files: dict[Path, str] = {}
    for name, answer in answers.items():
        files |= report_files([answer], pages[name], every_table=True)
    files[pages["index"]] = _index(answers, content, session)
    write_files(files)


def _index(answers: dict[str, Answer], content: Mapping[str, Any], session: Session) -> str:
    """The index page: a table of questions, answers, levels and links."""
    from utmost.queries.report.page import OPENING, STYLE

    title = html.escape(str(content.get("title", TITLE)))
    rows = ""
    for name, answer in answers.items():
        table = f', <a href="{name}.csv">CSV</a>' if isinstance(answer.value, Mapping) else ""
        rows += (
            f'<tr><td class="words"><a href="{name}.html">{html.escape(answer.question.words)}</a></td>'
            f'<td class="words">{html.escape(_first_line(answer))}</td><td>{html.escape(str(answer.privacy))}</td>'
            f'<td><a href="{name}.json">JSON</a>{table}</td></tr>'
        )
    words = "".join(f'<th scope="col" class="words">{name}</th>' for name in ("Question", "Answer"))
    head = f'{words}<th scope="col">Spent</th><th scope="col">Files</th>'
    session_terms = session.terms
    terms = html.escape(
        f"Data set {session.dataset}; {session_terms.unit}; {session_terms.neighbours}. Left: {session.left}."
    )
    return (
        f'{OPENING}<meta name="viewport" content="width=device-width,initial-scale=1"><title>{title}</title>'
        f"<style>{STYLE}body{{max-width:64rem}}td:not(.words){{white-space:nowrap}}</style></head><body><main><h1>{title}</h1>"
        f'<p class="small">{terms} Every page is the release report of an answer; the JSON beside it is verified by '
        "<code>utmost verify</code>.</p>"
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        "</main></body></html>\n"
    )


def _first_line(answer: Answer) -> str:
    """An answer in one line; for a large table only the number of its values."""
    from utmost.queries.report.words import show, show_ends

    if isinstance(answer.value, Mapping) and len(answer.value) > 6:
        return f"{len(answer.value):,} numbers"
    if answer.interval is None:
        return show(answer.value, answer.after.intervals)
    between = " and ".join(show_ends(*answer.interval))
    return f"{show(answer.value, answer.after.intervals)}, between {between} with {answer.after.confidence:.0%}"
