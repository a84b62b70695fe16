"""Packages that are not installed: what needs them, and the one command that installs them."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires

from utmost.errors import UtmostError

PURPOSES = {
    "tables": ("tables", ("duckdb", "sqlglot", "pyarrow")),
    "postgres": ("PostgreSQL", ("psycopg",)),
    "spark": ("Spark", ("pyspark",)),
    "plot": ("pictures", ("matplotlib",)),
    "cli": ("the command `utmost`", ("typer", "rich", "pydantic")),
    "serve": ("the server and its client", ("starlette", "uvicorn", "jinja2", "httpx")),
}
"""For every extra: what needs it, and the modules by whose absence it is recognised."""


def install_command(extra: str) -> str:
    """The command that installs all packages of an extra, wherever Utmost itself was installed from.

    Examples
    --------
    >>> install_command("postgres").startswith("pip install ")
    True
    """
    try:
        listed = " ".join(f"'{line}'" for line in dict.fromkeys(_requirements(requires("utmost") or [], extra)))
    except PackageNotFoundError:  # run from a folder
        listed = ""
    return f"pip install {listed}" if listed else f"pip install '.[{extra}]' (in a checkout of Utmost)"


def _requirements(lines: list[str], extra: str) -> list[str]:
    """What an extra requires, its own other extras included."""
    found = []
    for line in lines:
        requirement, _, marker = line.partition(";")
        name = re.search(r"extra == ['\"]([\w-]+)['\"]", marker)
        if name is None or name[1] != extra:
            continue
        others = re.fullmatch(r"utmost\[([\w,-]+)\]", requirement.strip())
        found += [part for other in others[1].split(",") for part in _requirements(lines, other)] if others else []
        found += [] if others else [requirement.strip()]
    return found


def missing(extra: str, purpose: str = "") -> UtmostError:
    """The error where the packages of an extra are needed and are not there."""
    needs = purpose or f"{PURPOSES[extra][0]} need{'' if extra in ('tables', 'plot', 'serve') else 's'} other packages"
    return UtmostError(f"{needs}; install what is missing with: {install_command(extra)}")


def explained(problem: ImportError) -> UtmostError | None:
    """The error to raise instead of a failed import, if an extra would have prevented it."""
    module = (problem.name or "").partition(".")[0]
    return next((missing(extra) for extra, (_, modules) in PURPOSES.items() if module in modules), None)
