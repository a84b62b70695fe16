"""What every command prints, one JSON object where `--json` asks for it, and how it asks for what is private."""

from __future__ import annotations

import json
import sys
from getpass import getpass
from typing import Annotated, Any

import typer

from utmost.errors import InvalidInput

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def print_json(content: dict[str, Any]) -> None:
    """One JSON object on standard output."""
    print(json.dumps(content, indent=2, ensure_ascii=False))


def ask_private(prompt: str) -> str:
    """A line that is private: from a prompt that does not show it, or from standard input; never an argument."""
    try:
        return getpass(f"{prompt}: ") if sys.stdin.isatty() else sys.stdin.readline().strip()
    except UnicodeDecodeError:
        raise InvalidInput("standard input is not text; give one line of text.") from None
