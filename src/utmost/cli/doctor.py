"""`utmost doctor`: a report on this installation, for support requests. No table is read."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import time
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

from utmost.cli.output import Json, print_json
from utmost.extras import install_command

EXTRAS = ("tables", "postgres", "spark", "plot", "cli", "serve")
DRAWS = 1000


def doctor(as_json: Json = False) -> None:
    """Report on this installation: versions, extras, engines, and the time of a draw. Nothing private is read."""
    report = installation()
    if as_json:
        print_json(report)
        return
    lines = [f"utmost {report['utmost']}, Python {report['python']}, {report['platform']}"]
    lines += [f"  libraries: {_versions(report['libraries'])}"]
    for name, extra in report["extras"].items():
        missing = "" if extra["complete"] else f"; to have it: {install_command(name)}"
        lines.append(f"  extra {name}: {_versions(extra['packages'])}{missing}")
    lines += [f"  engine {name}: {engine['words']}" for name, engine in report["engines"].items()]
    lines.append(f"  a draw: {1e6 * report['draw_seconds']:.3g} microseconds (majority of 101, the mean of {DRAWS})")
    print("\n".join(lines))


def installation() -> dict[str, Any]:
    """The report on this installation, as plain data."""
    requirements = requires("utmost") or []
    extras = {}
    for name in EXTRAS:
        packages = _packages(requirements, name)
        extras[name] = {"complete": None not in packages.values(), "packages": packages}
    return {
        "utmost": version("utmost"),
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "libraries": _packages(requirements, None),
        "extras": extras,
        "engines": _engines(),
        "draw_seconds": _draw_seconds(),
    }


def _packages(requirements: list[str], extra: str | None) -> dict[str, str | None]:
    """The installed versions of the packages that an extra, or the library itself, needs; None for a missing one."""
    versions = {}
    for line in requirements:
        marker = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        name = re.match(r"[\w.-]+", line)
        elsewhere = "sys_platform" in line and repr(sys.platform) not in line.replace('"', "'")
        if name and name[0] != "utmost" and not elsewhere and (marker[1] if marker else None) == extra:
            versions[name[0]] = _installed(name[0])
    return versions


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _engines() -> dict[str, dict[str, Any]]:
    """The engines that are available, by their packages and, for Spark, Java; none is started."""
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
    """The mean time of an exact draw, for the majority of 101 people."""
    from utmost.design import binary
    from utmost.mechanism.certification import certify
    from utmost.space.families import counts

    certified = certify(binary.balanced(counts(101), lambda yes: yes > 50, 1.0))
    start = time.perf_counter()
    for _ in range(DRAWS):
        certified.sample(40)
    return (time.perf_counter() - start) / DRAWS


def _versions(packages: dict[str, str | None]) -> str:
    return ", ".join(f"{name} {number or '(not installed)'}" for name, number in packages.items())
