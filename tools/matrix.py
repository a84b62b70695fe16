"""Runs tests with the lowest and the newest versions that pyproject.toml allows: `python tools/matrix.py [TESTS]`.

Every Python from 3.11 on that is installed is tried, each with fresh environments in build/matrix/. At the end stands
what passed, what failed, and what was skipped and why.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "build" / "matrix"
MINORS = (11, 12, 13, 14)
EXTRA = "all"
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "networkx", "pandas", "polars", "filelock")
FOLDERS = ("exact", "privacy", "space", "mechanism", "solution", "accounting", "cli")
TESTS = tuple(f"tests/{folder}" for folder in FOLDERS)


def lowest(project: dict) -> list[str]:
    """The lowest version of every package that the core and the extras of `EXTRA` require, as constraints of pip."""
    lines = list(project["dependencies"])
    pending, extras = [EXTRA], project["optional-dependencies"]
    while pending:
        for line in extras[pending.pop()]:
            own = re.fullmatch(r"utmost\[([\w,-]+)\]", line)
            if own:
                pending += own[1].split(",")
            else:
                lines.append(line)
    bounds = (re.match(r"([\w.-]+)(?:\[[\w,]+\])?>=([\d.]+)", line) for line in dict.fromkeys(lines))
    return [f"{bound[1]}=={bound[2]}{'' if bound[2].count('.') > 1 else '.*'}" for bound in bounds if bound]


def run(python: str, versions: str, tests: list[str]) -> str:
    """The verdict of one combination."""
    place = PLACE / f"{Path(python).name}-{versions}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    constraints = place / "constraints.txt"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    constraints.write_text("\n".join(lowest(project) if versions == "lowest" else []) + "\n", encoding="utf-8")
    own = place / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    for words in (
        [python, "-m", "venv", place / "venv"],
        [own, "-m", "pip", "install", "-qq", "--only-binary=:all:", "-c", constraints, *TOOLS],
        [own, "-m", "pip", "install", "-qq", "-c", constraints, f"{ROOT}[{EXTRA}]"],
    ):
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            return f"skipped: cannot be installed ({(done.stderr.strip() or 'no reason').splitlines()[-1]})"
    done = subprocess.run([own, "-m", "pytest", "-q", "-n", "2", *tests], cwd=ROOT)
    return "passed" if done.returncode == 0 else "FAILED"


def main(tests: list[str]) -> int:
    """Run all combinations and print the verdicts."""
    verdicts = {}
    for minor in MINORS:
        python = shutil.which(f"python3.{minor}")
        for versions in ("lowest", "newest"):
            name = f"Python 3.{minor}, {versions} versions"
            verdicts[name] = run(python, versions, tests) if python else "skipped: not installed"
    print("\n".join(f"{name}: {verdict}" for name, verdict in verdicts.items()))
    return int("FAILED" in verdicts.values() or "passed" not in verdicts.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(TESTS)))
