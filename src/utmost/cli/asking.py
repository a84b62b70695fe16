"""What `utmost release` asks for when something is missing: in a terminal only, never in a pipe."""

from __future__ import annotations

import sys
from typing import Any

import typer

from utmost.errors import InvalidInput, shown
from utmost.release.units import MOST_UNITS

QUESTIONS = {
    "count": "how many rows have a condition",
    "sum": "what a column adds up to",
    "mean": "the mean of a column",
    "majority": "whether more rows have a condition than not",
    "threshold": "whether at least so many rows have a condition",
    "counts": "how many rows have each of several conditions",
    "histogram": "how many rows each category of a column has",
    "plurality": "which category is most frequent",
    "quantile": "the median or another quantile of a column",
}


def in_a_terminal() -> bool:
    """Whether somebody is there to answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def complete(given: dict[str, Any], spends: bool) -> dict[str, Any]:
    """The options of `utmost release`, with those that are missing asked for.

    Where something else was asked for, so is the ledger of an answer that spends.
    """
    found = dict(given)

    def ask(name: str, words: str, choices: tuple[str, ...] = (), may_be_empty: bool = False) -> str:
        options = f" ({', '.join(choices)})" if choices else ""
        while found.get(name) is None or (not found[name] and not may_be_empty):
            answer = typer.prompt(
                f"{words}{options}", "" if may_be_empty else None, show_default=False, err=True
            ).strip()
            if choices and answer not in choices:
                typer.echo(f"say one of {', '.join(choices)}.", err=True)
                continue
            found[name] = answer
        return str(found[name])

    def number(name: str, words: str) -> None:
        while not isinstance(found.get(name), int):
            text = typer.prompt(words, err=True).strip().replace("_", "")
            if text.isdecimal() and 1 <= int(text[:20]) <= MOST_UNITS:
                found[name] = int(text)
            else:
                typer.echo("give a whole number from 1 to 10^12.", err=True)

    ask("table", "Table: a CSV or Parquet file, file.duckdb#table, or postgresql://user@host/database#table")
    if all(found.get(kind) is None for kind in QUESTIONS):
        for kind, words in QUESTIONS.items():
            typer.echo(f"  {kind}: {words}", err=True)
        kind = ask("kind", "Question", tuple(QUESTIONS))
        _ask_about(kind, found, ask)
    for kind in ("sum", "mean"):
        if found.get(kind) is not None:
            ask("lower", "Lower end of the public range of values")
            ask("upper", "Upper end of the public range of values")
    if found.get("threshold") is not None:
        number("at_least", "At least how many")
    if found.get("histogram") is not None or found.get("plurality") is not None:
        ask("categories", "Categories, separated by commas (a public list, never read off the table)")
    if found.get("quantile") is not None:
        ask("q", "Which quantile, between 0 and 1 (0.5 is the median)")
        ask("categories", "Candidates: public numbers in increasing order, separated by commas")
    if not found.get("rows_at_most") and not found.get("people_by"):
        whose = ask("unit", "Whose data are protected: a row's, or a person's with all their rows", ("row", "person"))
        if whose == "row":
            number("rows_at_most", "At most how many rows are there (public)")
        else:
            ask("people_by", "Which column says whose row it is")
    if found.get("people_by"):
        number("people_at_most", "At most how many people are there (public)")
        number("rows_each", "At most how many rows of a person take part")
    ask("neighbours", "One row or person is replaced, or comes or goes", ("replace", "add-remove"))
    ask("dataset", "Name of the data set whose budget this spends")
    ask("privacy", "What the answer may spend, an epsilon such as 0.5")
    if spends and found != given and found["ledger"] is None:
        kept = ask("ledger", "Ledger: the file that keeps account of the budget (empty: none is kept)", (), True)
        found["ledger"] = kept or None
    return found


def _ask_about(kind: str, found: dict[str, Any], ask: Any) -> None:
    if kind in ("count", "threshold"):
        ask(kind, "Condition, such as age >= 65 (empty: every row)", may_be_empty=True)
    elif kind == "majority":
        ask(kind, "Condition, such as age >= 65")
    elif kind == "counts":
        listed = ask("counts", "Conditions, separated by semicolons")
        found["counts"] = [part.strip() for part in listed.split(";") if part.strip()]
    else:
        ask(kind, "Column")


def as_categories(text: str | None, numbers: bool) -> list[Any]:
    """Categories as they are typed: separated by commas; numbers where all of them are."""
    listed = [part.strip() for part in (text or "").split(",") if part.strip()]
    if not listed:
        example = "20,40,60" if numbers else "'yes,no'"
        raise InvalidInput(f"--categories lists the public values, separated by commas: --categories {example}.")
    if not numbers:
        return listed
    try:
        return [int(part) if part.lstrip("-").isdecimal() else float(part) for part in listed]
    except ValueError:
        raise InvalidInput(f"--categories is {shown(text)}; give numbers separated by commas.") from None


def as_truth(text: str) -> bool:
    """A category of a column of truth values."""
    found = {"true": True, "yes": True, "false": False, "no": False}.get(text.lower())
    if found is None:
        raise InvalidInput(f"--categories holds {shown(text)}; the column holds truth values: --categories true,false.")
    return found
