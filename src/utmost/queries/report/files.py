"""Write release reports: one self-contained HTML page, the same data as JSON beside it, and long tables as CSV.

A report is made of an answer's details alone, so two tables that led to the same released value have byte-identical
reports. An existing file is replaced only if it is a report.
"""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from utmost.errors import MOST_SHOWN, InvalidInput, shown
from utmost.exact.json_text import parse_json
from utmost.queries.answers import FORMAT, Answer
from utmost.queries.report.page import OPENING, page_of
from utmost.queries.report.words import MOST_CELLS


def write_report(
    answers: Sequence[Answer],
    path: str | os.PathLike[str],
    title: str | None = None,
    purpose: str | None = None,
    author: str | None = None,
) -> Path:
    """Write the page, a JSON file of the same name beside it, and CSV for long tables: all, or none."""
    target = require_writable(path)
    for name, text in (("purpose", purpose), ("author", author)):
        if text is not None and not isinstance(text, str):
            raise InvalidInput(f"the {name} is {shown(text)}; give a text, or nothing.")
    write_files(report_files(answers, target, title, purpose=purpose, author=author))
    return target


def report_files(
    answers: Sequence[Answer],
    target: Path,
    title: str | None = None,
    every_table: bool = False,
    purpose: str | None = None,
    author: str | None = None,
) -> dict[Path, str]:
    """The files of a report with their texts: the page, its JSON, and CSV for long tables, or for every table."""
    listed = [answer.to_json() for answer in answers]
    plain = (listed[0] if len(listed) == 1 else "[" + ",\n".join(listed) + "]") + "\n"
    files = {target.with_suffix(".json"): plain}
    for number, answer in enumerate(answers, 1):
        if isinstance(answer.value, Mapping) and (every_table or len(answer.value) > MOST_CELLS):
            name = target.stem if len(answers) == 1 else f"{target.stem}-{number}"
            files[target.with_name(f"{name}.csv")] = csv_of(answer)
    return {**files, target: page_of(answers, title, purpose, author)}


def csv_of(answer: Answer) -> str:
    """Several numbers as CSV: a column for each part of their keys, the number, and the ends of its interval."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    ends_of = ["lower", "upper"] if answer.intervals else []
    rows.writerow([*answer.question.key_columns, "value", *ends_of])
    for key, value in answer.value.items():
        parts = key if isinstance(key, tuple) else (key,)
        ends = answer.intervals.get(key, [None, None]) if ends_of else []
        rows.writerow(
            ["all" if part is ... else part for part in parts] + [_number(number) for number in (value, *ends)]
        )
    return text.getvalue()


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) and value.denominator != 1 else value


def require_writable(path: str | os.PathLike[str]) -> Path:
    """Return the path of a page; refuse one that cannot be written, or that would replace a file that is no report."""
    target = _as_path(path)
    name = _cut(target)
    if target.suffix.lower() not in (".html", ".htm"):
        raise InvalidInput(f"{name} is not a page; name a file that ends in .html (the same as JSON goes beside it).")
    beside = target.with_suffix(".json")
    try:
        if not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
            raise InvalidInput(f"{name} cannot be written: there is no folder {_cut(target.parent)!r} to write to.")
        ours = target.exists() and _is_page(target)
        table = target.with_suffix(".csv")
        for file, is_ours in ((target, _is_page), (beside, _is_data), (table, lambda _: ours)):
            if file.exists() and not is_ours(file):
                raise InvalidInput(
                    f"{_cut(file)} is there already and no report of Utmost; name another page than "
                    f"{_cut(target.name)}."
                )
    except OSError as problem:
        raise InvalidInput(f"{name} cannot be written: {problem.strerror}; name another page.") from None
    return target


def _as_path(path: Any) -> Path:
    try:
        name = os.fspath(path)
        if isinstance(name, str) and b"\0" not in os.fsencode(name):
            return Path(name)
    except (TypeError, UnicodeEncodeError):
        pass
    raise InvalidInput(f"the page is {shown(path)}; give the name of a file that ends in .html.")


def _is_page(path: Path) -> bool:
    """Whether a file is one of our pages, or empty, so that it may be replaced."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(OPENING)) in (b"", OPENING.encode())


def _is_data(path: Path) -> bool:
    if not path.is_file():  # reading from a pipe would block
        return False
    try:
        content = parse_json(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    first = content[0] if isinstance(content, list) and content else content
    return isinstance(first, dict) and first.get("format") == FORMAT


def _cut(name: object) -> str:
    """A name for an error message; of a long one, the end."""
    text = str(name)
    return text if len(text) <= MOST_SHOWN else f"...{text[-MOST_SHOWN:]}"


def write_files(texts: Mapping[Path, str]) -> None:
    """Write all files, or leave all of them as they were."""
    new_files: dict[Path, Path] = {}
    before: dict[Path, bytes | None] = {}
    try:
        for target, text in texts.items():
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=".utmost-report-")
            new_files[target] = Path(name)
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            os.chmod(name, 0o644)  # a report is meant to be read by others
        for target, ready in new_files.items():
            old = target.read_bytes() if target.exists() else None
            os.replace(ready, target)
            before[target] = old
    except BaseException as problem:
        for ready in new_files.values():
            ready.unlink(missing_ok=True)
        for target, old in before.items():
            target.unlink() if old is None else target.write_bytes(old)
        if isinstance(problem, OSError):
            raise InvalidInput(
                f"the report cannot be written to {_cut(target)}: {problem.strerror}. The answer stands; asked again "
                "of a ledger that is kept, it costs nothing."
            ) from None
        raise
