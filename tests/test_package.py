"""The package as a whole: quick to import, no extras loaded, every public name there and documented."""

import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import utmost as um

EXTRAS = (
    "matplotlib",
    "typer",
    "rich",
    "pydantic",
    "networkx",
    "pandas",
    "ibis",
    "duckdb",
    "starlette",
    "uvicorn",
    "httpx",
    "jinja2",
)


def in_a_new_process(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def taken_by_import(name):
    """Processor time of an import in a new process: the best of three, since the machine may be busy."""
    code = f"import time; t = time.process_time(); import {name}; print(time.process_time() - t)"
    return min(float(in_a_new_process(code)) for _ in range(3))


@pytest.fixture(scope="module")
def second():
    """What a second is here: `import numpy` takes 0.1 s on the machine whose seconds bench/ states."""
    return max(1.0, 10 * taken_by_import("numpy"))


def test_import_is_quick(second):
    """`import utmost` takes under 0.3 s of processor time."""
    assert taken_by_import("utmost") < 0.3 * second


def help_of(command):
    """Which parts of the house the help of a command loads, and how much processor time it takes."""
    code = (
        f"import sys, time; t = time.process_time(); sys.argv = ['utmost', *{command!r}, '--help']\n"
        "from utmost.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    taken = time.process_time() - t\n"
        "    found = (m for m in sys.modules if m.startswith('utmost.') or m in ('flint', 'pydantic'))\n"
        "    print('\\n', ','.join(found) or '-', taken)"
    )
    loaded, taken = in_a_new_process(code).split()[-2:]
    return set(loaded.split(",")), float(taken)


def test_help_is_quick(second):
    """`utmost --help` loads no command and no mathematics; a processor shared with others may take twice its limit."""
    loaded, taken = min((help_of([]) for _ in range(3)), key=lambda found: found[1])
    assert "flint" not in loaded
    assert taken < 1.0 * second


@pytest.mark.parametrize("command", ["release", "design", "verify"])
def test_help_of_commands_is_quick(command, second):
    """Under half a second too; no solver, no checker and no pydantic is loaded to say what a command does."""
    loaded, taken = min((help_of([command]) for _ in range(3)), key=lambda found: found[1])
    assert not {name for name in loaded if re.match(r"utmost\.(design|theory\.\w+\.(design|verify))\b|pydantic", name)}
    assert taken < 1.0 * second


def test_every_command_is_there():
    """The list of commands, which is shown without loading them, names what is there and has a help of its own."""
    from utmost.cli import COMMANDS, Commands

    group = Commands(name="utmost")
    for name in COMMANDS:
        assert group.get_command(None, name).get_short_help_str(200), name
    assert group.get_command(None, "no such thing") is None


def test_import_loads_no_extra():
    """The mathematics needs no extra; pictures load matplotlib when asked for."""
    tables = ("Answer", "Client", "Plan", "Session", "audit", "people", "rows", "plot", "reproduce", "to_opendp")
    used = f"[getattr(utmost, name) for name in utmost.__all__ if name not in {tables}]"
    code = f"import sys, utmost; {used}; print([m for m in {EXTRAS} if m in sys.modules])"
    assert in_a_new_process(code).strip() == "[]"


def test_public_names_are_there_and_documented():
    """Every exported name exists, and says what it is."""
    for name in um.__all__:
        assert getattr(um, name).__doc__, name
    for name in um.binary.__all__:
        assert getattr(um.binary, name).__doc__, name


def test_the_reference_shows_the_commands():
    """docs/commands.md says of every command, argument and option what the command itself says."""
    made = runpy.run_path(str(Path(__file__).parents[1] / "tools" / "commands.py"))
    assert made["PAGE"].read_text(encoding="utf-8") == made["page"](), "run `python tools/commands.py`"


def test_one_version_everywhere():
    """The package, its metadata, the citation and the newest section of the changelog."""
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/utmost/__init__.py"
    stated = um.__version__
    assert f'version: "{stated}"' in (root / "packaging" / "conda" / "recipe.yaml").read_text()
    assert f"\nversion: {stated}\n" in (root / "CITATION.cff").read_text()
    assert next(line for line in (root / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")).startswith(
        (f"## {stated} - ", "## Unreleased")
    )


def test_the_map_shows_the_house():
    """docs/architecture.md lists every folder and module there is, and none that is not."""
    made = runpy.run_path(str(Path(__file__).parents[1] / "tools" / "map.py"))
    assert made["PAGE"].read_text(encoding="utf-8") == made["page"](), "run `python tools/map.py`"
