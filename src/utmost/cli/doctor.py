"""`utmost doctor`: what this installation can do, for whoever asks for help or gives it. No table is read."""

from __future__ import annotations

import os
import platform
import re
import shutil
import time
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

from utmost.cli.output import Json, print_json

EXTRAS = ("tables", "postgres", "spark", "plot", "cli", "serve")
DRAWS = 1000


def doctor(as_json: Json = False) -> None:
    """What is installed here: versions, extras, engines, and how long a draw takes. Nothing private is read."""
    found = examined()
    if as_json:
        print_json(found)
        return
    lines = [f"utmost {found['utmost']}, Python {found['python']}, {found['platform']}"]
    lines += [f"  libraries: {_versions(found['libraries'])}"]
    for name, extra in found["extras"].items():
        missing = "" if extra["complete"] else f"; to have it: pip install 'utmost[{name}]'"
        lines.append(f"  extra {name}: {_versions(extra['packages'])}{missing}")
    lines += [f"  engine {name}: {engine['words']}" for name, engine in found["engines"].items()]
    lines.append(f"  a draw: {1e6 * found['draw_seconds']:.3g} microseconds (majority of 101, the mean of {DRAWS})")
    print("\n".join(lines))


def examined() -> dict[str, Any]:
    """Everything as plain data."""
    needed = requires("utmost") or []
    extras = {}
    for name in EXTRAS:
        packages = _packages(needed, name)
        extras[name] = {"complete": None not in packages.values(), "packages": packages}
    return {
        "utmost": version("utmost"),
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "libraries": _packages(needed, None),
        "extras": extras,
        "engines": _engines(),
        "draw_seconds": _draw_seconds(),
    }


def _packages(needed: list[str], extra: str | None) -> dict[str, str | None]:
    """What an extra needs, or the library itself: package by package its version, None where it is not installed."""
    found = {}
    for line in needed:
        marked = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        name = re.match(r"[\w.-]+", line)
        if name and name[0] != "utmost" and (marked[1] if marked else None) == extra:
            found[name[0]] = _installed(name[0])
    return found


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _engines() -> dict[str, dict[str, Any]]:
    """Which engines could read a table: by their packages and, of Spark, by Java; none is started."""
    duckdb, psycopg, spark = (_installed(name) for name in ("duckdb", "psycopg", "pyspark"))
    java = shutil.which("java") or os.environ.get("JAVA_HOME") or None
    with_java = f"Java: {java}" if java else "no Java: Spark Connect only (sc://...)"
    return {
        "DuckDB": {"found": bool(duckdb), "words": f"duckdb {duckdb}" if duckdb else "not installed"},
        "PostgreSQL": {
            "found": bool(psycopg),
            "words": f"psycopg {psycopg}; the server is where postgresql://... says" if psycopg else "not installed",
        },
        "Spark": {
            "found": bool(spark),
            "words": f"pyspark {spark}; {with_java}" if spark else "not installed",
            "java": java,
        },
    }


def _draw_seconds() -> float:
    """How long one exact draw takes here: of the majority of 101 people, in the mean."""
    from utmost.design import binary
    from utmost.mechanism.certification import certify
    from utmost.space.families import counts

    certified = certify(binary.balanced(counts(101), lambda yes: yes > 50, 1.0))
    start = time.perf_counter()
    for _ in range(DRAWS):
        certified.sample(40)
    return (time.perf_counter() - start) / DRAWS


def _versions(packages: dict[str, str | None]) -> str:
    return ", ".join(f"{name} {found or '(not installed)'}" for name, found in packages.items())
