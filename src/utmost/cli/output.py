"""What commands share: what they print, one JSON object where `--json` asks for it, what they read, and keep."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from getpass import getpass
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Annotated, Any

import typer

from utmost.errors import InvalidInput
from utmost.exact.json_text import parse_next
from utmost.exact.saved import state_folder

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]

Accept = Annotated[
    bool,
    typer.Option("--accept", help="Respond although the promise is weaker than epsilon = 5 with delta = 0.01."),
]


PATIENCE = 2.0
"""After so many seconds a terminal is told that work goes on."""


@contextmanager
def working(words: str) -> Iterator[None]:
    """On a terminal, say after two seconds what is being done, and for how long already; in a pipe, nothing."""
    if not sys.stderr.isatty():
        yield
        return
    done, begun = Event(), monotonic()

    def tell() -> None:
        if done.wait(PATIENCE):
            return
        while not done.is_set():
            if not _spark_tells():
                print(f"\r{words}: {monotonic() - begun:.0f} s", end="", file=sys.stderr, flush=True)
            done.wait(0.5)
        print("\r\033[K", end="", file=sys.stderr, flush=True)  # the line is the terminal's again

    teller = Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def _spark_tells() -> bool:
    """Whether a bar of Spark's has the line; its module is loaded for tables of Spark only."""
    jobs = sys.modules.get("utmost.backends.spark_jobs")
    return jobs is not None and bool(jobs.SHOWN.is_set())


def print_json(content: dict[str, Any]) -> None:
    """One JSON object on standard output; infinity, which JSON does not have, is the text "inf"."""
    print(json.dumps(_finite(content), indent=2, ensure_ascii=False, allow_nan=False))


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return str(content) if isinstance(content, float) and math.isinf(content) else content


def plain(label: Any) -> Any:
    """A point or an output as JSON has it: a number is a number, yes or no is true or false, all else its text."""
    return label if isinstance(label, bool | int | float | str) else str(label)


def print_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Rows as one table: as wide as the terminal, and one line each in a pipe."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*names, box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=10_000)
    console.print(table, soft_wrap=not console.is_terminal)


def ask_private(prompt: str) -> str:
    """A line that is private: from a prompt that does not show it, or from standard input; never an argument."""
    try:
        return getpass(f"{prompt}: ") if sys.stdin.isatty() else sys.stdin.readline().strip()
    except EOFError:
        return ""
    except UnicodeDecodeError:
        raise InvalidInput("standard input is not text; give one line of text, in UTF-8.") from None


def read_text(file: Path) -> str:
    """The text of a file that a user named."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise InvalidInput(f"{file} cannot be read: {problem}; give a text file in UTF-8 that is there.") from None


def json_values(text: str, source: str, expected: str) -> list[Any]:
    """The JSON values in a text, one after the other, on as many lines as they like."""
    found, position = [], 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        try:
            value, position = parse_next(text, position)
        except (ValueError, RecursionError):
            line, start = text.count("\n", 0, position) + 1, text[position : position + 60].split("\n")[0]
            raise InvalidInput(f"line {line} of {source}, {start!r}, is not JSON; give {expected}.") from None
        found.append(value)
    return found


def ledger_file(ledger: str | None) -> Path | None:
    """The file a ledger is kept in; None where it is on a server, or none is kept."""
    return None if ledger is None or "://" in ledger else Path(ledger)


def checks_of(checks: Iterable[Any]) -> list[dict[str, Any]]:
    """The checks of a verification, as plain data."""
    return [{"name": check.name, "passed": check.passed, "detail": check.detail} for check in checks]


def kept_file(kind: str, name: str) -> Path:
    """Where something is kept for the user who runs this, whatever the files it came in are called."""
    return state_folder(kind) / f"{name}.json"
