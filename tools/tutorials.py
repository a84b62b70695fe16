"""Runs the tutorials and writes what they print: `python tools/tutorials.py [--check] [NAME ...]`.

A tutorial is a page of docs/tutorials: text and blocks of Python. This runs the blocks in order, in a folder of their
own, writes what each prints below it, and makes the executed notebook of the same name. Draws come from a generator
with a fixed seed, so that running it again gives the same pages; whoever runs a notebook elsewhere draws afresh.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

from utmost.mechanism.sampling import insecure_source_for_tests_only

FOLDER = Path(__file__).parents[1] / "docs" / "tutorials"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n.*?^```\n)?", re.MULTILINE | re.DOTALL)
"""A block of Python, with what it printed when it was run last."""


@dataclass(frozen=True)
class Cell:
    """A block of Python, or the text between two of them."""

    source: str
    is_code: bool


@dataclass(frozen=True)
class Output:
    """What a block printed, and what its last line is: as text, and as a notebook shows it."""

    printed: str
    value: str | None = None
    html: str | None = None

    @property
    def text(self) -> str:
        """Everything as plain text."""
        return self.printed + ("" if self.value is None else f"{self.value}\n")


def cells_of(page: str) -> list[Cell]:
    """The text and the blocks of a page, in order; what blocks printed is left out."""
    found, start = [], 0
    for block in BLOCK.finditer(page):
        found += [Cell(page[start : block.start()].strip(), False), Cell(block[1].rstrip(), True)]
        start = block.end()
    return [cell for cell in (*found, Cell(page[start:].strip(), False)) if cell.source]


def run(blocks: Sequence[str], name: str) -> list[Output]:
    """What the blocks of a tutorial print, run one after the other in a folder of their own."""
    space: dict[str, Any] = {"__name__": name}
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, {"UTMOST_STATE": folder}),
    ):
        return [_run(block, space) for block in blocks]


def _run(block: str, space: dict[str, Any]) -> Output:
    tree = ast.parse(block)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "tutorial", "exec"), space)
        value = None if last is None else eval(compile(ast.Expression(last.value), "tutorial", "eval"), space)
    if value is None:
        return Output(_timeless(printed.getvalue()))
    shown = getattr(value, "_repr_html_", None)
    return Output(_timeless(printed.getvalue()), _timeless(repr(value)), _timeless(shown()) if shown else None)


def _timeless(text: str) -> str:
    """A text without the head of a ledger's chain, which holds the time."""
    return re.sub(r"\b(head(?:</span>)? )[0-9a-f]{16}", r"\1...", text)


@contextlib.contextmanager
def same_draws(name: str) -> Iterator[None]:
    """Draws, and the secret that chooses a person's rows, from a generator seeded by a tutorial's name."""
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    with (
        mock.patch("utmost.accounting.ledger.secrets", SimpleNamespace(token_bytes=generator.bytes)),
        insecure_source_for_tests_only(generator.bytes),
    ):
        yield


def page_of(cells: Sequence[Cell], outputs: Sequence[Output]) -> str:
    """The page: its text, its blocks, and below each what it printed."""
    left, parts = iter(outputs), []
    for cell in cells:
        if not cell.is_code:
            parts.append(cell.source)
            continue
        text = next(left).text
        parts.append(f"```python\n{cell.source}\n```" + (f"\n\n```text\n{text.rstrip()}\n```" if text else ""))
    return "\n\n".join(parts) + "\n"


def notebook_of(cells: Sequence[Cell], outputs: Sequence[Output]) -> str:
    """The executed notebook, in the form that Jupyter writes (nbformat 4.5)."""
    left, made, count = iter(outputs), [], 0
    for place, cell in enumerate(cells):
        entry: dict[str, Any] = {"cell_type": "markdown", "id": f"cell-{place}", "metadata": {}}
        if cell.is_code:
            count += 1
            entry |= {"cell_type": "code", "execution_count": count, "outputs": _saved(next(left), count)}
        made.append({**entry, "source": _linked(cell).splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {
        "cells": made,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _linked(cell: Cell) -> str:
    """Text without links to other pages, which a notebook does not have beside it."""
    return cell.source if cell.is_code else re.sub(r"\[([^\]]*)\]\([^)h][^)]*\)", r"\1", cell.source)


def _saved(output: Output, count: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if output.printed:
        printed = output.printed.splitlines(keepends=True)
        found.append({"name": "stdout", "output_type": "stream", "text": printed})
    if output.value is not None:
        data = {"text/plain": output.value.splitlines(keepends=True)}
        if output.html:
            data["text/html"] = output.html.splitlines(keepends=True)
        found.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return found


def made(page: Path) -> tuple[str, str]:
    """A page and its notebook, as they come out now."""
    cells = cells_of(page.read_text(encoding="utf-8"))
    with same_draws(page.stem):
        outputs = run([cell.source for cell in cells if cell.is_code], page.stem)
    return page_of(cells, outputs), notebook_of(cells, outputs)


def main(arguments: Sequence[str]) -> int:
    """Write the pages and notebooks that are named, or all; with --check, only say whether they are out of date."""
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets decides which draw is whose
        os.execve(sys.executable, [sys.executable, __file__, *arguments], {**os.environ, "PYTHONHASHSEED": "0"})
    checks, names = "--check" in arguments, [name for name in arguments if name != "--check"]
    old = []
    for page in sorted(FOLDER.glob("*.md")):
        if names and page.stem not in names:
            continue
        for file, text in zip((page, page.with_suffix(".ipynb")), made(page), strict=True):
            if checks and file.read_text(encoding="utf-8") != text:
                old.append(file.name)
            if not checks:
                file.write_text(text, encoding="utf-8")
    if old:
        print(f"{', '.join(old)}: run `python tools/tutorials.py`")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
