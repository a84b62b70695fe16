"""`utmost release`: one private answer about a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from utmost.accounting import Ledger
from utmost.cli.asking import QUESTIONS, as_categories, as_truth, complete, in_a_terminal
from utmost.cli.output import Json, ledger_file, print_json, read_level
from utmost.errors import InvalidInput, UnknownDataset, shown
from utmost.privacy import Level
from utmost.release import Session, Unit, people, rows
from utmost.release.answer import RECORDED
from utmost.release.report import require_writable
from utmost.release.units import MOST_UNITS


def release(
    table: Annotated[
        str | None,
        typer.Argument(
            help="A CSV or Parquet file, file.duckdb#table, or postgresql://user@host/database#table.",
            show_default=False,
        ),
    ] = None,
    count: Annotated[str | None, typer.Option(help="How many rows have this condition, such as 'age >= 65'.")] = None,
    sum_: Annotated[str | None, typer.Option("--sum", help="Add up this column; needs --lower and --upper.")] = None,
    mean: Annotated[str | None, typer.Option(help="The mean of this column; needs --lower and --upper.")] = None,
    majority: Annotated[str | None, typer.Option(help="Do more rows have this condition than not?")] = None,
    threshold: Annotated[str | None, typer.Option(help="Have at least --at-least rows this condition?")] = None,
    at_least: Annotated[int | None, typer.Option(min=1, help="The border of --threshold.")] = None,
    counts: Annotated[list[str] | None, typer.Option(help="How many rows have each of these; give it again.")] = None,
    histogram: Annotated[str | None, typer.Option(help="Count rows by this column; needs --categories.")] = None,
    plurality: Annotated[str | None, typer.Option(help="What most rows have in this column; --categories.")] = None,
    quantile: Annotated[str | None, typer.Option(help="A quantile of this column; needs --q and --categories.")] = None,
    q: Annotated[str | None, typer.Option("--q", help="Which quantile: 0.5 is the median.")] = None,
    categories: Annotated[str | None, typer.Option(help="Public values, separated by commas.")] = None,
    other: Annotated[str | None, typer.Option(help="A name for all other values of --histogram.")] = None,
    lower: Annotated[str | None, typer.Option(help="Values below this count as this; public.")] = None,
    upper: Annotated[str | None, typer.Option(help="Values above this count as this; public.")] = None,
    grid: Annotated[str, typer.Option(help="The step that values are rounded to.")] = "1",
    where: Annotated[str | None, typer.Option(help="Only rows with this condition, for sums and columns.")] = None,
    of: Annotated[str, typer.Option(help="Count rows or people.")] = "rows",
    privacy: Annotated[str | None, typer.Option(help="What this may spend: 0.5; 0.5,1e-6; rho=0.1; mu=0.5.")] = None,
    delta: Annotated[str, typer.Option(help="A delta beside it, for yes or no and for winners.")] = "0",
    dataset: Annotated[str | None, typer.Option(help="The name of the data set's account.")] = None,
    rows_at_most: Annotated[
        int | None, typer.Option(min=1, max=MOST_UNITS, help="A row is protected; there are at most so many.")
    ] = None,
    people_by: Annotated[str | None, typer.Option(help="A person is protected; this column says whose row.")] = None,
    people_at_most: Annotated[
        int | None, typer.Option(min=1, max=MOST_UNITS, help="There are at most so many people.")
    ] = None,
    rows_each: Annotated[
        int | None, typer.Option(min=1, max=MOST_UNITS, help="So many rows of a person take part at most.")
    ] = None,
    neighbours: Annotated[str | None, typer.Option(help="replace or add-remove.")] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            help="What all answers together may spend: 1 or 1,1e-6 or rho=0.5 or mu=1; without it, a new account has "
            "room for this answer only."
        ),
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="The ledger's file or postgresql:// URL; in memory without it.")
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            help="absolute, squared, zero-one or such as 'within 5'; of winners shortfall, of quantiles rank."
        ),
    ] = None,
    type_: Annotated[
        list[str] | None, typer.Option("--type", help="How to read a column of text, such as age=int.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write the page that defends the answer to this HTML file.")
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show mechanism and accuracy; read and spend nothing.")] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Draw and spend again although it was answered before.")
    ] = False,
    as_json: Json = False,
) -> None:
    """A private answer about TABLE, with its proof.

    Exit code 1: the budget does not allow it; 70: the engine failed, and the spend stands.

    The identical question asked again gets the recorded answer and spends nothing. In --json, `privacy` is what the
    answer spent when it was drawn, and `spent` what the whole account has spent so far.
    """
    given: dict[str, Any] = {
        **{"count": count, "sum": sum_, "mean": mean, "majority": majority, "threshold": threshold},
        **{"counts": counts or None, "histogram": histogram, "plurality": plurality, "quantile": quantile},
        **{"at_least": at_least, "lower": lower, "upper": upper, "q": q, "categories": categories, "other": other},
        **{"rows_at_most": rows_at_most, "people_by": people_by, "people_at_most": people_at_most},
        **{"rows_each": rows_each, "neighbours": neighbours, "dataset": dataset, "privacy": privacy, "table": table},
        **{"grid": grid, "where": where, "of": of, "delta": delta, "ledger": ledger},
    }
    if in_a_terminal() and not as_json:
        given = complete(given, spends=not plan)
    kind, ledger = _require_complete(given), given["ledger"]
    _require_what_belongs(kind, given)
    level = read_level(given["privacy"], "--privacy", delta)
    if report:
        _require_apart(require_writable(report), ledger)
    extra = {"fresh": fresh, **({"loss": loss} if loss else {})}
    unit = _unit(given["rows_at_most"], given["people_by"], given["people_at_most"], given["rows_each"])

    def open_with(accounts: Ledger) -> Session:
        allowed = _budget(accounts, given["dataset"], budget, level)
        return Session(
            given["table"], given["dataset"], unit, given["neighbours"], allowed, accounts, _types(type_ or [])
        )

    file = ledger_file(ledger)
    known = ledger is not None and (file is None or file.exists())
    planned = open_with(_existing(ledger, given["dataset"]) if known else Ledger(None))  # opens no new account
    answer = _ask(planned.plan, kind, given[kind], level, given, extra)
    if not plan:
        answer = _ask(open_with(Ledger(ledger)), kind, given[kind], level, given, extra)
    if report and not plan:
        answer.report(report)
    if not as_json:
        print(answer)
        if report and not plan:
            print(f"  report: {report}")
        return
    print_json(dict(answer.details))
    if not plan and answer.recorded:
        print(RECORDED, file=sys.stderr)


def _existing(ledger: str | None, dataset: str) -> Ledger:
    """The ledger, if it has the data set's account; else one in memory, so that planning leaves nothing behind."""
    accounts = Ledger(ledger)
    if dataset in accounts.datasets():
        return accounts
    accounts.close()
    return Ledger(None)


def _require_apart(report: Path, ledger: str | None) -> None:
    """Refuse a report that would replace the ledger, which may not be there yet."""
    kept = ledger_file(ledger)
    for file in (report, report.with_suffix(".json")):
        if kept is not None and file.resolve() == kept.resolve():
            raise InvalidInput(f"the report would replace the ledger {ledger}; give --report another name.")


def _require_complete(given: dict[str, Any]) -> str:
    """The one question that is asked; an error that lists everything that is missing, at once."""
    kinds = [kind for kind in QUESTIONS if given[kind] is not None]
    needed = [(name, words) for kind in kinds[:1] for name, words in NEEDS.get(kind, {}).items()]
    missing = [words for name, words in needed + list(ALWAYS.items()) if given[name] is None]
    if len(kinds) != 1:
        said = f", not {len(kinds)}" if kinds else ""
        missing.insert(0, f"one question{said}: one of --{', --'.join(QUESTIONS)}")
    if given["rows_at_most"] is None and given["people_by"] is None:
        missing.append(f"whose data are protected: {WHOSE}")
    elif given["people_by"] is not None and given["rows_at_most"] is None:
        missing += [words for name, words in PEOPLE.items() if given[name] is None]
    if missing:
        raise InvalidInput(f"give {'; '.join(missing)}.")
    if given["rows_at_most"] is not None and given["people_by"] is not None:
        raise InvalidInput(f"both --rows-at-most and --people-by are given; say whose data are protected: {WHOSE}.")
    return kinds[0]


WHOSE = "--rows-at-most 20000, or --people-by ID --people-at-most 5000 --rows-each 3"
ALWAYS = {
    "table": "the table: a CSV or Parquet file, file.duckdb#table, or postgresql://...#table",
    "dataset": "the name of the data set whose budget this spends: --dataset survey-2026",
    "privacy": "what the answer may spend: --privacy 0.5",
    "neighbours": "who neighbours whom: --neighbours replace (one changes), or add-remove (one comes or goes)",
}
RANGE = {
    "lower": "--lower, the lower end of the public range that values are clamped to, such as --lower 0",
    "upper": "--upper, its upper end, such as --upper 100",
}
NEEDS = {
    "sum": RANGE,
    "mean": RANGE,
    "threshold": {"at_least": "--at-least, such as --at-least 100"},
    "histogram": {"categories": "--categories, the public values, such as --categories 'yes,no'"},
    "plurality": {"categories": "--categories, the public values, such as --categories 'yes,no'"},
    "quantile": {
        "q": "--q, such as --q 0.5 for the median",
        "categories": "--categories, public numbers in increasing order, such as --categories 20,40,60",
    },
}
PEOPLE = {
    "people_at_most": "--people-at-most, how many people there are at most, a public number",
    "rows_each": "--rows-each, how many rows of a person take part at most",
}
"""What must be given, by its option: always, with a question, and where a person is protected."""


def _require_what_belongs(kind: str, given: dict[str, Any]) -> None:
    """Refuse options that this question does not take: they would be ignored."""
    for name, default in DEFAULTS.items():
        if given[name] != default and name not in OPTIONS[kind]:
            takers = ", ".join(f"--{other}" for other, taken in OPTIONS.items() if name in taken)
            option, hint = name.replace("_", "-"), ", or put it in the condition" if name == "where" else ""
            raise InvalidInput(f"--{option} belongs to {takers}, not to --{kind}; drop it{hint}.")
    if given["of"] == "people" and given["people_by"] is None:
        raise InvalidInput("--of people counts people, but a row is protected here; give --people-by instead.")


DEFAULTS: dict[str, Any] = {
    **{"at_least": None, "lower": None, "upper": None, "q": None, "categories": None, "other": None},
    **{"grid": "1", "where": None, "of": "rows", "delta": "0"},
}
OPTIONS: dict[str, set[str]] = {
    "count": {"of"},
    "sum": {"lower", "upper", "grid", "where"},
    "mean": {"lower", "upper", "grid", "where"},
    "majority": {"delta"},
    "threshold": {"at_least", "of", "delta"},
    "counts": {"of"},
    "histogram": {"categories", "other", "where", "of"},
    "plurality": {"categories", "where", "of", "delta"},
    "quantile": {"q", "categories", "where", "of", "delta"},
}
"""What each question takes beside its own argument."""


def _ask(target: Any, kind: str, what: Any, level: Level, options: dict[str, Any], extra: dict[str, Any]) -> Any:
    if kind == "count":
        return target.count(what or None, level, of=options["of"], **extra)
    if kind == "majority":
        return target.majority(what, level, **extra)
    if kind == "threshold":
        return target.threshold(what or None, options["at_least"], level, of=options["of"], **extra)
    if kind == "counts":
        return target.counts(what, level, of=options["of"], **extra)
    if kind in ("histogram", "plurality", "quantile"):
        return _ask_by_category(target, kind, what, level, options, extra)
    arguments = (what, options["lower"], options["upper"], level)
    return getattr(target, kind)(*arguments, grid=options["grid"], where=options["where"], **extra)


def _ask_by_category(
    target: Any, kind: str, column: str, level: Level, options: dict[str, Any], extra: dict[str, Any]
) -> Any:
    if kind == "quantile":
        values = as_categories(options["categories"], numbers=True)
        return target.quantile(column, options["q"], values, level, where=options["where"], of=options["of"], **extra)
    source = target.setting.source
    kind_of_column = source.table[column].type() if column in source.columns else None
    numbers = kind_of_column is not None and kind_of_column.is_numeric()
    values = as_categories(options["categories"], numbers)
    if kind_of_column is not None and kind_of_column.is_boolean():
        values = [as_truth(value) for value in values]
    arguments = {"where": options["where"], "of": options["of"], **extra}
    if kind == "histogram":
        arguments["other"] = options["other"]
    return getattr(target, kind)(column, values, level, **arguments)


def _unit(rows_at_most: int | None, people_by: str | None, people_at_most: int | None, rows_each: int | None) -> Unit:
    return rows(rows_at_most) if people_by is None else people(people_by, rows_each, people_at_most)


def _budget(accounts: Ledger, dataset: str, budget: str | None, level: Level) -> Level:
    """The budget given, else the account's own, else just enough for this answer."""
    if budget is not None:
        return read_level(budget, "--budget")
    try:
        return accounts.account(dataset).budget
    except UnknownDataset:
        return level


def _types(pairs: list[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        name, equals, kind = pair.rpartition("=")
        if not equals or not name:
            raise InvalidInput(f"--type is {shown(pair)}; write a column and its type, such as age=int.")
        found[name] = kind
    return found
