"""What every command prints, one JSON object where `--json` asks for it, and how it asks for what is private."""

from __future__ import annotations

import json
import math
import sys
from getpass import getpass
from typing import Annotated, Any

import typer

from utmost.errors import InvalidInput

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def print_json(content: dict[str, Any]) -> None:
    """One JSON object on standard output; infinity, which JSON does not have, is the text "inf"."""
    print(json.dumps(_finite(content), indent=2, ensure_ascii=False, allow_nan=False))


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return str(content) if isinstance(content, float) and math.isinf(content) else content


def ask_private(prompt: str) -> str:
    """A line that is private: from a prompt that does not show it, or from standard input; never an argument."""
    try:
        return getpass(f"{prompt}: ") if sys.stdin.isatty() else sys.stdin.readline().strip()
    except UnicodeDecodeError:
        raise InvalidInput("standard input is not text; give one line of text.") from None
