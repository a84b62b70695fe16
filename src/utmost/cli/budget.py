"""`utmost compose` and `utmost budget`: composition, and accounts of privacy budgets."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from utmost.accounting import Account, Composition, Ledger, theorems
from utmost.accounting import compose as compose_levels
from utmost.accounting.entries import Entry
from utmost.accounting.names import protected_entity
from utmost.cli.output import Json, checks_of, ledger_file, print_json, print_table, working
from utmost.errors import BadFile, InvalidInput
from utmost.exact import as_rational, is_digits, to_float
from utmost.privacy import ApproxDP, Level
from utmost.privacy.level_text import read_level
from utmost.queries.budget import Budget, levels_of, query_in_words, tiers_of
from utmost.queries.report.proof import confirmed, load_answers
from utmost.queries.units import as_unit

budget = typer.Typer(
    help="Accounts of privacy budgets: open, show, check, resume.", no_args_is_help=True, rich_markup_mode=None
)
LedgerName = Annotated[str, typer.Argument(help="A ledger: a file, or a URL postgresql://...")]
Dataset = Annotated[str | None, typer.Argument(help="The name of a data set; all if left out.")]


def compose(
    levels: Annotated[
        list[str], typer.Argument(help="Levels: 0.1 or 0.1,1e-6 or rho=0.1 or mu=0.5; many at once as 30x0.1,0.001.")
    ],
    delta: Annotated[str | None, typer.Option(help="Print the total epsilon at this delta.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="Print the total delta at this epsilon.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Also draw the privacy region to this file.")] = None,
    as_json: Json = False,
) -> None:
    """The exact privacy of several releases whose levels are fixed in advance, or certified bounds on it."""
    total = compose_levels([])
    for text in levels:
        level, count = _parse(text)
        total = total + compose_levels(level, count)
    if (delta is None) == (epsilon is None):
        raise InvalidInput("give either --delta (to learn the total epsilon) or --epsilon (to learn the total delta).")
    report: dict[str, Any] = {"releases": total.count}
    if delta is not None:
        with working("composing"):
            low, high = total.epsilon_bounds(delta)
        report |= {
            "delta": to_float(as_rational(delta, "delta")),
            "epsilon": high,
            "epsilon_at_least": low,
            **_other_bounds(total, delta),
        }
    else:
        assert epsilon is not None
        with working("composing"):
            low, high = total.bounds(epsilon)
        report |= {"epsilon": to_float(as_rational(epsilon, "epsilon")), "delta": high, "delta_at_least": low}
    if picture:
        from utmost import plot

        plot.save(plot.regions({_releases(total): total.region()}), picture)
    if as_json:
        print_json(report)
        return
    print(f"{_releases(total)}: epsilon = {report['epsilon']}, delta = {report['delta']}")
    for name in ("epsilon_at_least", "delta_at_least", "basic", "closed_form"):
        if name in report:
            bound = report[name]
            words = f"epsilon {bound['epsilon']:g} at delta {bound['delta']:g}" if isinstance(bound, dict) else bound
            print(f"  {name.replace('_', ' ')}: {words}")
    print("  for levels fixed in advance; a ledger keeps account of levels chosen on the way")


@budget.command("open")
def open_account(
    ledger: LedgerName,
    dataset: Annotated[str, typer.Argument(help="The name you give the data.")],
    unit: Annotated[
        str,
        typer.Option(
            help='Whose data are protected: "rows, at most 20000", or "people by \'patient\', 3 rows each, at most '
            '5000".'
        ),
    ],
    neighbours: Annotated[str, typer.Option(help="replace or add-remove.")],
    budget: Annotated[
        str | None,
        typer.Option(help="The budget: 1 or 1,1e-6 (epsilon, and delta), rho=0.5 (zCDP) or mu=1 (Gaussian)."),
    ] = None,
    epsilon: Annotated[str | None, typer.Option(help="The budget's epsilon, instead of --budget.")] = None,
    delta: Annotated[str, typer.Option(help="The budget's delta.")] = "0",
    mu: Annotated[str | None, typer.Option(help="A Gaussian budget instead.")] = None,
    filter: Annotated[str | None, typer.Option(help="basic or zcdp, for an (epsilon, delta) budget.")] = None,
    as_json: Json = False,
) -> None:
    """Open an account for a data set, or see that it is open on these terms."""
    if budget is not None and (epsilon is not None or mu is not None):
        raise InvalidInput("the budget is given twice; give --budget alone, or --epsilon, or --mu.")
    from utmost.cli.problem_file import LevelTable  # its schemas take longer than all else here

    level_table = LevelTable(epsilon=epsilon, delta=delta, mu=mu) if budget is None else None
    level, unit_words = (
        level_table.level() if level_table else read_level(str(budget), "--budget", delta),
        str(as_unit(unit)),
    )
    _present([Ledger(ledger).open(dataset, level, unit_words, neighbours, filter)], as_json, None)


@budget.command()
def show(
    ledger: LedgerName,
    dataset: Dataset = None,
    entries: Annotated[bool, typer.Option("--entries", help="Also list every spend.")] = False,
    picture: Annotated[Path | None, typer.Option(help="Also draw the budgets to this file.")] = None,
    as_json: Json = False,
) -> None:
    """Show what is spent and left, and the head of each chain."""
    _present(_accounts(ledger, dataset), as_json, picture, entries)


@budget.command()
def check(
    ledger: LedgerName,
    dataset: Dataset = None,
    head: Annotated[str | None, typer.Option(help="A head from an earlier report: the chain must hold it.")] = None,
    report: Annotated[
        Path | None, typer.Option(help="A report's JSON file: its answers must be those that the ledger recorded.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Recompute every chain and sum, and hold a report against them.

    Exit code 1 if something does not hold, 2 if the file is damaged and is not opened.
    """
    with working("verifying the report"):
        reported = None if report is None else load_answers(report)
    if reported and dataset is None:
        dataset = reported[0][0].dataset
    accounts = _accounts(ledger, dataset)
    if head is not None and len(accounts) != 1:
        raise InvalidInput("a head belongs to one data set; name it.")
    with working("checking"):
        results = [account.check(head) for account in accounts]
    report_checks = [
        check
        for answer, verification in reported or ()
        for check in (
            *(failure for failure in verification.checks if not failure.passed),
            confirmed(answer, accounts[0]),
        )
    ]
    right = all(check.passed for check in report_checks)
    if as_json:
        account_details = [
            {
                "dataset": result.dataset,
                "intact": bool(result),
                "head": result.head,
                "suspended": account.suspended,
                "checks": checks_of(result.checks),
            }
            for account, result in zip(accounts, results, strict=True)
        ]
        confirmation = {} if reported is None else {"confirmed": right, "report": checks_of(report_checks)}
        print_json({"intact": all(results), **confirmation, "accounts": account_details})
    else:
        print("\n".join(map(str, results)) or "the ledger has no accounts")
        if reported is not None:
            print(f"{report}: {'confirmed by' if right else 'NOT what is in'} the ledger", *report_checks, sep="\n  ")
    if not all(results) or not right:
        raise typer.Exit(1)


@budget.command()
def resume(
    ledger: LedgerName,
    dataset: Annotated[str, typer.Argument(help="The name of the data set.")],
    as_json: Json = False,
) -> None:
    """Lift the suspension of a data set's account after an engine failed following a charge.

    Look at the log of failures first, which is on the machine where the question was asked: a row may have caused the
    failure, and then every resumption lets the next failure reveal something about it. Exit code 1 if the account is
    not suspended.
    """
    account = _accounts(ledger, dataset)[0]
    since, log = account.resume(), account.failures
    if as_json:
        details = {"dataset": account.dataset, "resumed": since is not None, "suspended_since": since}
        print_json({**details, "log": None if log is None else str(log)})
    elif since is None:
        print(f"{account.dataset}: not suspended; nothing was done")
    else:
        print(f"{account.dataset}: was suspended since {since}; questions are answered again")
        print(f"  log of failures: {log or 'none on this machine, or not readable for this user'}")
    if since is None:
        raise typer.Exit(1)


@budget.command()
def checklist(
    ledger: LedgerName,
    dataset: Annotated[str, typer.Argument(help="The name of the data set.")],
    out: Annotated[Path | None, typer.Option(help="Write it to this file (Markdown) instead.")] = None,
) -> None:
    """A checklist for reviewers of a deployment after NIST SP 800-226, filled from the ledger."""
    from utmost.queries.report.disclosures import checklist as checklist_text

    _write(checklist_text(_accounts(ledger, dataset)[0]), out)


@budget.command()
def registry(
    ledger: LedgerName,
    dataset: Annotated[str, typer.Argument(help="The name of the data set.")],
    out: Annotated[Path | None, typer.Option(help="Write it to this file (JSON) instead.")] = None,
    name: Annotated[str | None, typer.Option(help="What the publication is called.")] = None,
    curator: Annotated[str | None, typer.Option(help="Who holds the data.")] = None,
    curator_type: Annotated[str | None, typer.Option(help="Such as Nonprofit, Government or Industry.")] = None,
    description: Annotated[str | None, typer.Option(help="What is published, in a sentence or two.")] = None,
    intended_use: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    region: Annotated[str | None, typer.Option(help="Where the people are.")] = None,
    sector: Annotated[str | None, typer.Option(help="Such as Health or Government.")] = None,
    date: Annotated[str | None, typer.Option(help="When it was published: 2026-11-16.")] = None,
) -> None:
    """An entry for OpenDP's registry of deployments as JSON, filled from the ledger; missing entries say TO DO."""
    from utmost.queries.report.disclosures import registry_entry

    fields = {"name": name, "curator": curator, "curator_type": curator_type, "description": description}
    fields |= {"intended_use": intended_use, "region": region, "sector": sector, "date": date}
    _write(
        json.dumps(registry_entry(_accounts(ledger, dataset)[0], **fields), indent=2, ensure_ascii=False) + "\n", out
    )


def _write(text: str, out: Path | None) -> None:
    """Print a text, or write it to a new file."""
    if out is None:
        print(text, end="")
        return
    if out.exists():
        raise InvalidInput(f"{out} is there already; name another file.")
    out.write_text(text, encoding="utf-8")
    print(f"written to {out}")


def _accounts(ledger: str, dataset: str | None) -> list[Account]:
    """The account of a data set, or all accounts; a missing ledger file is an error and is not made."""
    file = ledger_file(ledger)
    if file is not None and not file.exists():
        raise BadFile(f"there is no ledger {ledger}; `utmost budget open` makes one.")
    opened_ledger = Ledger(ledger)
    return [opened_ledger.account(name) for name in ([dataset] if dataset else opened_ledger.datasets())]


def _present(accounts: list[Account], as_json: bool, picture: Path | None, entries: bool = False) -> None:
    if picture:
        from utmost import plot

        plot.save(plot.budget(accounts), picture)
    if as_json:
        print_json({"accounts": [_account_json(account, entries) for account in accounts]})
        return
    console = Console(soft_wrap=True, highlight=False)
    for account in accounts:
        spends = account.entries()
        unfinished = sum(entry.state == "reserved" and not entry.slots for entry in spends)
        console.print(f"{account.dataset}: {account.budget} ({account.filter.name} filter)", markup=False)
        console.print(f"  unit: {protected_entity(account.unit)}; neighbours: {account.neighbours}", markup=False)
        console.print(f"  spent: {account.spent} in {_entries(len(spends))}, {unfinished} unfinished", markup=False)
        console.print(f"  left: {account.left}", markup=False)
        for tier in _tiers(account).left_of_tiers:
            console.print(f"  left of {tier}", markup=False)
        if since := account.suspended:
            log = account.failures or "where the question was asked"
            console.print(f"  suspended since {since}: no question is answered; log of failures: {log}", markup=False)
        console.print(f"  head: {account.head}", markup=False)
        if entries:
            print_table(("entry", "time", "level", "cost", "state", "question"), list(map(_row, spends)))
    if not accounts:
        console.print("the ledger has no accounts")


def _row(entry: Entry) -> tuple[str, ...]:
    """An entry as a row of a table, its time to the minute."""
    cost = ", ".join(f"{name} {amount}" for name, amount in entry.cost.items())
    time = entry.time[:16].replace("T", " ")
    return str(entry.number), time, levels_of(entry), cost, entry.state, query_in_words(entry)


def _tiers(account: Account) -> Budget:
    """The budget of an account with its tiers, without its entries."""
    return Budget(account.dataset, account.left, account.spent, (), tiers_of(account.unit))


def _account_json(account: Account, entries: bool) -> dict[str, Any]:
    spent, remainder = account.spent.amounts(), account.left.amounts()
    limits = dict(zip(account.filter.resources, account.filter.limits, strict=True))
    content: dict[str, Any] = {
        "dataset": account.dataset,
        "budget": account.budget.to_json(),
        "filter": account.filter.name,
        "unit": account.unit,
        "neighbours": account.neighbours,
        "limits": {name: float(amount) for name, amount in limits.items()},
        "spent": {name: float(amount) for name, amount in spent.items()},
        "left": {name: float(f"{amount:.12g}") for name, amount in remainder.items()},
        "head": account.head,
        "suspended": account.suspended,
    }
    if by_tier := _tiers(account).by_tier:
        content["tiers"] = {
            where: {"spent": float(spent), "promised": float(promised)} for where, (spent, promised) in by_tier.items()
        }
    if entries:
        content["entries"] = [
            {
                "number": e.number,
                "time": e.time,
                "level": levels_of(e),
                "cost": {name: float(amount) for name, amount in e.cost.items()},
                "state": e.state,
                "question": e.question,
                "answer": e.answer,
                "head": e.head,
            }
            for e in account.entries()
        ]
    return content


def _parse(text: str) -> tuple[Level, int]:
    """Parse a level with an optional count before it, such as 30x0.1."""
    times, separator, rest = text.partition("x")
    if not separator:
        times, rest = "1", text
    if not is_digits(times):
        raise InvalidInput(
            f"{text!r} is not a level; write 0.1 or 0.1,1e-6 or rho=0.1 or mu=0.5, many at once as 30x0.1,0.001."
        )
    return read_level(rest, "a level"), int(times)


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def _releases(total: Composition) -> str:
    return "1 release" if total.count == 1 else f"{total.count} releases"


def _other_bounds(total: Composition, delta: str) -> dict[str, Any]:
    """The bounds of basic composition and of the closed form at the same delta, where they apply."""
    levels = [item for item, count in total.releases for _ in range(min(count, 10**5))]
    if len(levels) != total.count or not all(isinstance(level, ApproxDP) and level.ratio == 1 for level in levels):
        return {}
    basic, closed = theorems.basic(levels), theorems.closed_form_within(levels, delta)
    bounds: dict[str, Any] = {"basic": {"epsilon": float(basic.log_growth), "delta": float(basic.delta)}}
    return {**bounds, "closed_form": closed} if math.isfinite(closed) else bounds
