"""What `utmost release` asks for when something is missing: in a terminal only, never in a pipe."""

from __future__ import annotations

import sys
from typing import Any

import typer

from utmost.exact import is_digits
from utmost.queries.options import read_whole
from utmost.queries.questions import QUESTIONS
from utmost.queries.units import MOST_UNITS


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
            if is_digits(text) and 1 <= int(text[:20]) <= MOST_UNITS:
                found[name] = int(text)
            else:
                typer.echo("give a whole number from 1 to 10^12.", err=True)

    ask("table", "Table: a CSV or Parquet file, file.duckdb#table, or postgresql://user@host/database#table")
    if all(found.get(kind) is None for kind in QUESTIONS):
        for name, question in QUESTIONS.items():
            typer.echo(f"  {name}: {question.summary}", err=True)
        kind = ask("kind", "Question", tuple(QUESTIONS))
        _ask_about(kind, found, ask)
    asked = next(question for name, question in QUESTIONS.items() if found.get(name) is not None)
    for option in asked.options[1:]:
        name = option.flag.replace("-", "_")
        if option.required and option.read is read_whole:
            number(name, option.prompt)
        elif option.required:
            ask(name, option.prompt)
    _ask_unit(found, ask, number)
    ask("neighbours", "One row or person is replaced, or comes or goes", ("replace", "add-remove"))
    ask("dataset", "Name of the data set whose budget this spends")
    ask("privacy", "What the answer may spend, an epsilon such as 0.5")
    if spends and found != given and found["ledger"] is None:
        kept = ask("ledger", "Ledger: the file that keeps account of the budget (empty: none is kept)", (), True)
        found["ledger"] = kept or None
    return found


def _ask_about(kind: str, found: dict[str, Any], ask: Any) -> None:
    """Ask for what a question is about: its first parameter."""
    first = QUESTIONS[kind].options[0]
    given = ask(kind, first.prompt, may_be_empty=first.may_be_empty)
    if first.several:
        found[kind] = [part.strip() for part in given.split(";") if part.strip()]


def _ask_unit(found: dict[str, Any], ask: Any, number: Any) -> None:
    """Ask whose data are protected."""
    if not found.get("rows") and not found.get("rows_at_most") and not found.get("people_by"):
        whose = ask("unit", "Whose data are protected: a row's, or a person's with all their rows", ("row", "person"))
        if whose == "row":
            found["rows"] = True
            if any(question.needs_most for name, question in QUESTIONS.items() if found.get(name) is not None):
                number("rows_at_most", "At most how many rows are there (public)")
        else:
            ask("people_by", "Which column says whose row it is")
    if found.get("people_by"):
        number("rows_each", "At most how many rows of a person take part")
