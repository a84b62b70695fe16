"""`utmost release`: one private answer about a table."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from utmost.cli.output import Json, ledger_file, print_json, working
from utmost.cli.prompts import complete, in_a_terminal
from utmost.errors import InvalidInput, UnknownDataset, shown
from utmost.exact import is_digits
from utmost.privacy import Level
from utmost.privacy.level_text import read_level
from utmost.queries.methods import parameters_of
from utmost.queries.options import WHERE, Option
from utmost.queries.questions import QUESTIONS, Kind
from utmost.queries.spelling import COMMAND, spelled
from utmost.queries.units import MOST_UNITS, Unit, people, rows

if TYPE_CHECKING:
    from utmost.accounting import Ledger
    from utmost.backends.embedded import Engine
    from utmost.queries.session import Session


def release(**options: Any) -> None:
    """A private answer about TABLE, with its proof; many at once: `utmost ask`.

    Exit code 1: the budget is insufficient, or the account is suspended because an engine failed.

    The identical question asked again gets the recorded answer and spends nothing. In --json, `privacy` is what the
    answer spent when it was drawn, and `ledger.spent` what the whole account has spent so far.
    """
    from utmost.accounting import Ledger
    from utmost.queries.answers import RECORDED
    from utmost.queries.report.files import require_writable
    from utmost.queries.session import Session

    options = {
        name.removesuffix("_"): value or None if isinstance(value, list) else value for name, value in options.items()
    }
    plan, as_json, report = options.pop("plan"), options.pop("as_json"), options.pop("report")
    annotations = {name: options.pop(name) for name in ("purpose", "author")}
    if in_a_terminal() and not as_json:
        options = complete(options, spends=not plan)
    question, ledger = _require_complete(options), options["ledger"]
    _require_applicable(question, options)
    level = read_level(options["privacy"], "--privacy", options["delta"])
    if any(annotations.values()) and not report:
        raise InvalidInput("--purpose and --author are written on the report; give --report page.html too.")
    if report:
        require_apart(require_writable(report), ledger, "give --report another name")
    extra = {"fresh": options["fresh"], **({"loss": options["loss"]} if options["loss"] else {})}
    unit = _unit(options)

    def open_with(accounts: Ledger) -> Session:
        allowed = _budget(accounts, options["dataset"], options["budget"], level)
        types, engine = _types(options["type"] or []), _engine(options["memory"], options["threads"], options["spill"])
        return Session(
            options["table"], options["dataset"], unit, options["neighbours"], allowed, accounts, types, engine
        )

    if ledger is None and not plan:
        print(FORGOTTEN, file=sys.stderr)
    with _interruptible(plan), working("planning" if plan else "planning, proving, asking"):
        planner = open_with(existing(ledger, options["dataset"]))  # opens no new account
        answer = _ask(planner.plan, question, level, options, extra)
        if not plan:
            answer = open_with(Ledger(ledger)).ask(answer.question, options["fresh"])
        if report and not plan:
            answer.report(report, **annotations)
    if not as_json:
        print(spelled(str(answer), COMMAND))
        if report and not plan:
            print(f"  report: {report}")
        return
    print_json(answer.details | {"notes": [spelled(note, COMMAND) for note in answer.details["notes"]]})
    if not plan and answer.recorded:
        print(RECORDED, file=sys.stderr)


@contextmanager
def _interruptible(plan: bool) -> Iterator[None]:
    """Exit with code 130 on Ctrl-C, and say what that means for the budget."""
    try:
        yield
    except KeyboardInterrupt:
        spent = "Nothing was spent." if plan else "What was charged already stays spent; see `utmost budget show`."
        print(f"stopped. {spent}", file=sys.stderr)
        raise typer.Exit(130) from None


def _text(help: str, *flags: str, **more: Any) -> Any:
    return Annotated[str | None, typer.Option(*flags, help=help, **more)]


def flag_of(question: str) -> str:
    """The command-line flag of a question."""
    return f"--{question.replace('_', '-')}"


def _whole(help: str) -> Any:
    return Annotated[int | None, typer.Option(min=1, max=MOST_UNITS, help=help)]


TABLE = "A CSV or Parquet file, file.duckdb#table, postgresql://user@host/database#table, or sc://host:15002#table."
BUDGET = "What all answers together may spend, as --privacy; without it, a new account has room for this answer only."
LOSS = "absolute, squared, zero-one or such as 'within 5'; of winners shortfall, of quantiles rank."
TIER = "A public group that is promised more: its epsilon, at most so many, which ones: \"0.1, 20: consent = 'basic'\"."
TRUNCATE = (
    "Rows of a person are chosen for the whole table, before any condition (table: the default), or for every question "
    "among those with its condition (question)."
)
SIZE_OF_NUMBER = 20
LEDGER = "The ledger's file or postgresql:// URL; without it what is spent is forgotten when the command ends."
FORGOTTEN = (
    "no ledger: what this answer spends is forgotten when the command ends, and the next one starts with a fresh "
    "budget; --ledger FILE keeps account."
)
FIXED: dict[str, tuple[Any, Any]] = {
    "privacy": (_text("What this may spend: 0.5; 0.5,1e-6; rho=0.1; mu=0.5.", "--privacy", "--epsilon"), None),
    "delta": (Annotated[str, typer.Option(help="A delta beside it.")], "0"),
    "dataset": (_text("The name of the data set's account."), None),
    "rows": (Annotated[bool, typer.Option("--rows", help="A row is protected.")], False),
    "rows_at_most": (_whole("A row is protected; there are at most so many."), None),
    "people_by": (_text("A person is protected; this column says whose row."), None),
    "people_at_most": (_whole("There are at most so many people."), None),
    "rows_each": (_whole("So many rows of a person take part at most."), None),
    "groups_each": (_whole("A person counts in at most so many groups of --by."), None),
    "rows_each_group": (_whole("So many rows of a person take part in one group of --by at most."), None),
    "truncate": (_text(TRUNCATE), None),
    "tier": (Annotated[list[str] | None, typer.Option(help=TIER)], None),
    "memory": (_text("How much memory the engine may take, such as 4GB."), None),
    "threads": (_whole("How many threads the engine may use."), None),
    "spill": (_text("A folder for rows that do not fit into memory; deleted at the end."), None),
    "neighbours": (_text("replace or add-remove."), None),
    "budget": (_text(BUDGET), None),
    "ledger": (_text(LEDGER), None),
    "loss": (_text(LOSS), None),
    "type_": (
        Annotated[list[str] | None, typer.Option("--type", help="How to read a column of text, such as age=int.")],
        None,
    ),
    "report": (Annotated[Path | None, typer.Option(help="Write the release report, a page, to this file.")], None),
    "purpose": (_text("What the answer is for: written on the report."), None),
    "author": (_text("Who stands behind it: written on the report."), None),
    "plan": (
        Annotated[bool, typer.Option("--plan", help="Show mechanism and accuracy; read and spend nothing.")],
        False,
    ),
    "fresh": (
        Annotated[bool, typer.Option("--fresh", help="Draw and spend again although it was answered before.")],
        False,
    ),
    "as_json": (Json, False),
}
"""The parameters that all questions take, by name: the annotation and the default."""


def _parameters() -> dict[str, tuple[Any, Any]]:
    """All parameters of the command: the table, one flag per question, the questions' options, and the common ones."""
    parameters: dict[str, tuple[Any, Any]] = {
        "table": (Annotated[str | None, typer.Argument(help=TABLE, show_default=False)], None)
    }
    for name, question in QUESTIONS.items():
        several = question.options[0].several
        kind: Any = list[str] | None if several else str | None
        words = question.summary[0].upper() + question.summary[1:] + f": {question.options[0].name}."
        parameters[f"{name}_"] = (Annotated[kind, typer.Option(flag_of(name), help=words)], None)
    for option in OPTIONS.values():
        text_option = (_text(option.help, f"--{option.flag}"), None)
        switch = (Annotated[bool, typer.Option(f"--{option.flag}", help=option.help)], False)
        parameters[f"{option.flag.replace('-', '_')}_"] = switch if option.is_switch else text_option
    return parameters | FIXED


OPTIONS = {option.flag: option for question in QUESTIONS.values() for option in question.options[1:]}
"""All options of the questions, by flag."""
PARAMETERS = _parameters()
release.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in PARAMETERS.items()
    ]
)
release.__annotations__ = {name: kind for name, (kind, _) in PARAMETERS.items()} | {"return": None}


def existing(ledger: str | None, dataset: str) -> Ledger:
    """The ledger if it has the data set's account, else one in memory, so that planning opens no account."""
    from utmost.accounting import Ledger

    file = ledger_file(ledger)
    if ledger is None or (file is not None and not file.exists()):
        return Ledger(None)
    accounts = Ledger(ledger)
    if dataset in accounts.datasets():
        return accounts
    accounts.close()
    return Ledger(None)


def require_apart(report: Path, ledger: str | None, remedy: str) -> None:
    """Refuse a report that would overwrite the ledger, even if that does not exist yet."""
    ledger_path = ledger_file(ledger)
    for file in (report, report.with_suffix(".json"), report.with_suffix(".csv")):
        if ledger_path is not None and file.resolve() == ledger_path.resolve():
            raise InvalidInput(f"the report would replace the ledger {ledger}; {remedy}.")


def _require_complete(options: dict[str, Any]) -> Kind:
    """The question on the command line; one error lists everything that is missing."""
    kinds = [name for name in QUESTIONS if options[name] is not None]
    mandatory = [option for name in kinds[:1] for option in QUESTIONS[name].options[1:] if option.required]
    missing = [option.missing for option in mandatory if options[_key(option)] is None]
    missing += [words for name, words in ALWAYS.items() if options[name] is None]
    if len(kinds) != 1:
        number = f", not {len(kinds)}" if kinds else ""
        missing.insert(0, f"one question{number}: one of {', '.join(map(flag_of, QUESTIONS))}")
    of_rows = options["rows"] or options["rows_at_most"] is not None
    if not of_rows and options["people_by"] is None:
        missing.append(f"whose data are protected: {WHOSE}")
    elif not of_rows:
        missing += [words for name, words in PEOPLE.items() if options[name] is None]
    if missing:
        raise InvalidInput(f"give {'; '.join(missing)}.")
    if of_rows and options["people_by"] is not None:
        rows_option = "--rows" if options["rows_at_most"] is None else "--rows-at-most"
        raise InvalidInput(f"both {rows_option} and --people-by are given; say whose data are protected: {WHOSE}.")
    return QUESTIONS[kinds[0]]


WHOSE = "--rows, or --people-by ID --rows-each 3"
ALWAYS = {
    "table": "the table: a CSV or Parquet file, file.duckdb#table, postgresql://...#table, or sc://...#table",
    "dataset": "the name of the data set whose budget this spends: --dataset survey-2026",
    "privacy": "what the answer may spend: --privacy 0.5",
    "neighbours": "the adjacency: --neighbours replace (one is exchanged), or add-remove (one is added or removed)",
}
PEOPLE = {
    "rows_each": "--rows-each, how many rows of a person take part at most",
}
"""Mandatory options whatever the question is: always, and if the privacy unit is a person."""


def _require_applicable(question: Kind, options: dict[str, Any]) -> None:
    """Refuse options that do not apply to this question and would be ignored."""
    own_flags = {option.flag for option in question.options[1:]}
    for flag, option in OPTIONS.items():
        if options[_key(option)] not in (None, False) and flag not in own_flags:
            owners = [n for n, q in QUESTIONS.items() if any(candidate.flag == flag for candidate in q.options[1:])]
            hint = ", or put it in the condition" if option is WHERE else ""
            flags = ", ".join(map(flag_of, owners))
            raise InvalidInput(f"--{flag} belongs to {flags}, not to {flag_of(question.name)}; drop it{hint}.")
    if options["loss"] and "loss" not in parameters_of(question.name):
        raise InvalidInput(f"--loss is not for {flag_of(question.name)}, which has one of its own; drop it.")
    for name in ("truncate", "groups_each", "rows_each_group"):
        if options[name] is not None and options["people_by"] is None:
            flag = flag_of(name)
            raise InvalidInput(
                f"{flag} is about rows of a person, but a row is protected here; give --people-by instead."
            )
    if options["of"] == "people" and options["people_by"] is None:
        raise InvalidInput("--of people counts people, but a row is protected here; give --people-by instead.")


def _key(option: Option) -> str:
    return option.flag.replace("-", "_")


def _ask(target: Any, question: Kind, level: Level, options: dict[str, Any], extra: dict[str, Any]) -> Any:
    """Ask a session, or its planner, the question of the command line, with each value parsed by its option."""
    column = options[question.name]
    source = target.source
    kind = source.type(column)
    arguments = {}
    for place, option in enumerate(question.options):
        text = options[question.name] if place == 0 else options[_key(option)]
        if text is not None and text is not False:
            arguments[option.name] = text if option.several or option.is_switch else option.read(text, kind)
    return getattr(target, question.name)(**arguments, privacy=level, **extra)


def _unit(options: dict[str, Any]) -> Unit:
    tiers = dict(map(_tier, options["tier"])) if options["tier"] else None
    if options["people_by"] is None:
        return rows(options["rows_at_most"], tiers)
    groups = (options["groups_each"], options["rows_each_group"])
    return people(
        options["people_by"], options["rows_each"], options["people_at_most"], tiers, options["truncate"], *groups
    )


def _tier(text: str) -> tuple[str, tuple[str, int]]:
    """Parse a tier: its epsilon, its largest size, and its condition."""
    numbers, colon, where = text.partition(":")
    epsilon, comma, most = numbers.partition(",")
    if not colon or not comma or not is_digits(most.strip()) or len(most) > SIZE_OF_NUMBER:
        raise InvalidInput(
            f"--tier is {shown(text)}; write an epsilon, how many there are at most and a condition, such as "
            "\"0.1, 20: consent = 'basic'\"."
        )
    return where.strip(), (epsilon.strip(), int(most))


def _budget(accounts: Ledger, dataset: str, budget: str | None, level: Level) -> Level:
    """The budget on the command line, else the account's, else just enough for this answer."""
    if budget is not None:
        return read_level(budget, "--budget")
    try:
        return accounts.account(dataset).budget
    except UnknownDataset:
        return level


def _engine(memory: str | None, threads: int | None, spill: str | None) -> Engine | None:
    from utmost.backends.embedded import engine

    return None if memory is None and threads is None and spill is None else engine(memory, threads, spill)


def _types(pairs: list[str]) -> dict[str, str]:
    types = {}
    for pair in pairs:
        name, equals, kind = pair.rpartition("=")
        if not equals or not name:
            raise InvalidInput(f"--type is {shown(pair)}; write a column and its type, such as age=int.")
        types[name] = kind
    return types
