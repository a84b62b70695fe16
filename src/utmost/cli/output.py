"""Input and output shared by the commands: progress, JSON, tables, private prompts, and files."""

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

from utmost.cli.console import is_utf8
from utmost.errors import InvalidInput
from utmost.exact.json_text import parse_next
from utmost.exact.saved import state_folder

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]

Accept = Annotated[
    bool,
    typer.Option("--accept", help="Respond although the promise is weaker than epsilon = 5 with delta = 0.01."),
]


PATIENCE = 2.0
"""Seconds until progress is shown on a terminal."""


@contextmanager
def working(words: str) -> Iterator[None]:
    """Show a task and its elapsed time on a terminal if it takes more than two seconds; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield
        return
    end, start = Event(), monotonic()

    def tell() -> None:
        if end.wait(PATIENCE):
            return
        while not end.is_set():
            if not _spark_tells():
                print(f"\r{words}: {monotonic() - start:.0f} s", end="", file=sys.stderr, flush=True)
            end.wait(0.5)
        print("\r\033[K", end="", file=sys.stderr, flush=True)  # the line is the terminal's again

    reporter = Thread(target=tell, daemon=True)
    reporter.start()
    try:
        yield
    finally:
        end.set()
        reporter.join()


def _spark_tells() -> bool:
    """Whether Spark shows a progress bar now; its module is loaded for Spark tables only."""
    jobs = sys.modules.get("utmost.backends.spark_jobs")
    return jobs is not None and bool(jobs.SHOWN.is_set())


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON object; infinity, which JSON lacks, becomes the string "inf"."""
    print_json_line(_finite(content), indent=2)


def print_json_line(content: Any, indent: int | None = None) -> None:
    """Print plain data as JSON, with escapes where the console's encoding is not UTF-8."""
    print(json.dumps(content, indent=indent, ensure_ascii=not is_utf8(sys.stdout), allow_nan=False))


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return str(content) if isinstance(content, float) and math.isinf(content) else content


def plain(label: Any) -> Any:
    """A point or an output as a JSON scalar; anything but numbers, booleans and strings becomes a string."""
    return label if isinstance(label, bool | int | float | str) else str(label)


def print_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows as a table: as wide as the terminal; in a pipe, one line for each row."""
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
    """Read a private line from a prompt without echo, or from standard input; never from an argument."""
    try:
        return getpass(f"{prompt}: ") if sys.stdin.isatty() else sys.stdin.readline().strip()
    except EOFError:
        return ""
    except UnicodeDecodeError:
        raise InvalidInput("standard input is not text; give one line of text, in UTF-8.") from None


def read_text(file: Path) -> str:
    """The text of a file named by the user."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise InvalidInput(f"{file} cannot be read: {problem}; give a text file in UTF-8 that is there.") from None


def json_values(text: str, source: str, expected: str) -> list[Any]:
    """The JSON values in a text, one after the other, separated by white space."""
    values, position = [], 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        try:
            value, position = parse_next(text, position)
        except (ValueError, RecursionError):
            line, start = text.count("\n", 0, position) + 1, text[position : position + 60].split("\n")[0]
            raise InvalidInput(f"line {line} of {source}, {start!r}, is not JSON; give {expected}.") from None
        values.append(value)
    return values


def ledger_file(ledger: str | None) -> Path | None:
    """The file of a ledger; None if it is on a server, or there is none."""
    return None if ledger is None or "://" in ledger else Path(ledger)


def checks_of(checks: Iterable[Any]) -> list[dict[str, Any]]:
    """The checks of a verification, as plain data."""
    return [{"name": check.name, "passed": check.passed, "detail": check.detail} for check in checks]


def user_file(kind: str, name: str) -> Path:
    """The path of a file in the state folder of the user who runs this."""
    return state_folder(kind) / f"{name}.json"
