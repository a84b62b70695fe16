"""Prompts of `utmost release` for missing options, in a terminal only."""

from __future__ import annotations

import sys
from typing import Any

import typer

from utmost.exact import is_digits
from utmost.queries.options import read_whole
from utmost.queries.questions import QUESTIONS
from utmost.queries.units import MOST_UNITS


def in_a_terminal() -> bool:
    """Whether standard input and output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def complete(arguments: dict[str, Any], spends: bool) -> dict[str, Any]:
    """Prompt for the missing options of `utmost release` and return all of them.

    If there was any prompt and the answer spends, prompt for the ledger, too.
    """
    values = dict(arguments)

    def ask(name: str, words: str, choices: tuple[str, ...] = (), may_be_empty: bool = False) -> str:
        options = f" ({', '.join(choices)})" if choices else ""
        while values.get(name) is None or (not values[name] and not may_be_empty):
            answer = typer.prompt(
                f"{words}{options}", "" if may_be_empty else None, show_default=False, err=True
            ).strip()
            if choices and answer not in choices:
                typer.echo(f"say one of {', '.join(choices)}.", err=True)
                continue
            values[name] = answer
        return str(values[name])

    def number(name: str, words: str) -> None:
        while not isinstance(values.get(name), int):
            text = typer.prompt(words, err=True).strip().replace("_", "")
            if is_digits(text) and 1 <= int(text[:20]) <= MOST_UNITS:
                values[name] = int(text)
            else:
                typer.echo("give a whole number from 1 to 10^12.", err=True)

    ask("table", "Table: a CSV or Parquet file, file.duckdb#table, or postgresql://user@host/database#table")
    if all(values.get(kind) is None for kind in QUESTIONS):
        for name, question in QUESTIONS.items():
            typer.echo(f"  {name}: {question.summary}", err=True)
        kind = ask("kind", "Question", tuple(QUESTIONS))
        _ask_about(kind, values, ask)
    query = next(question for name, question in QUESTIONS.items() if values.get(name) is not None)
    for option in query.options[1:]:
        name = option.flag.replace("-", "_")
        if option.required and option.read is read_whole:
            number(name, option.prompt)
        elif option.required:
            ask(name, option.prompt)
    _ask_unit(values, ask, number)
    ask("neighbours", "One row or person is replaced, or comes or goes", ("replace", "add-remove"))
    ask("dataset", "Name of the data set whose budget this spends")
    ask("privacy", "What the answer may spend, an epsilon such as 0.5")
    if spends and values != arguments and values["ledger"] is None:
        file = ask("ledger", "Ledger: the file that keeps account of the budget (empty: none is kept)", (), True)
        values["ledger"] = file or None
    return values


def _ask_about(kind: str, values: dict[str, Any], ask: Any) -> None:
    """Prompt for the first parameter of a question."""
    first = QUESTIONS[kind].options[0]
    text = ask(kind, first.prompt, may_be_empty=first.may_be_empty)
    if first.several:
        values[kind] = [part.strip() for part in text.split(";") if part.strip()]


def _ask_unit(values: dict[str, Any], ask: Any, number: Any) -> None:
    """Prompt for the privacy unit."""
    if not values.get("rows") and not values.get("rows_at_most") and not values.get("people_by"):
        unit = ask("unit", "Whose data are protected: a row's, or a person's with all their rows", ("row", "person"))
        if unit == "row":
            values["rows"] = True
            if any(question.needs_most for name, question in QUESTIONS.items() if values.get(name) is not None):
                number("rows_at_most", "At most how many rows are there (public)")
        else:
            ask("people_by", "Which column says whose row it is")
    if values.get("people_by"):
        number("rows_each", "At most how many rows of a person take part")
