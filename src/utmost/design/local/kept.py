"""Responses kept on a person's device, so that a question asked again gets the same response."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from utmost.errors import BadFile
from utmost.exact.saved import NONSENSE, read_checked, write_checked
from utmost.space import label_from_json, label_to_json

FORMAT, VERSION = "utmost-survey-response", 1


def read_kept(path: Path, identity: str) -> Any:
    """The response that a file keeps for this survey; None if there is no file."""
    if not path.exists():
        return None
    content = read_checked(path, FORMAT, VERSION, "kept response")
    if content.get("survey") != identity:
        raise BadFile(f"{path} keeps the response to another survey; give every survey a file of its own.")
    try:
        return label_from_json(content["response"])
    except NONSENSE:
        raise BadFile(f"{path} does not hold a kept response; move it away to answer anew.") from None


def keep(path: Path, identity: str, response: Any) -> Any:
    """Keep a response before it is shown; if another program was quicker, its response is the one that counts."""
    content = {"format": FORMAT, "version": VERSION, "survey": identity, "response": label_to_json(response)}
    try:
        write_checked(path, content, anew=True)
    except FileExistsError:
        return read_kept(path, identity)
    return response
