"""Without the packages of an extra: everything else works, and what needs them names the one command to install."""

import subprocess
import sys
from importlib.metadata import requires

import pytest

from utmost.extras import PURPOSES, explained, install_command

PACKAGES = {extra: modules for extra, (_, modules) in PURPOSES.items()}


def without(extras, code, cwd):
    """What a program prints where the modules of some extras cannot be imported."""
    gone = [module for extra in extras for module in PACKAGES[extra]]
    start = f"import sys\nfor name in {gone!r}: sys.modules[name] = None\n"
    return subprocess.run([sys.executable, "-c", start + code], capture_output=True, text=True, cwd=cwd)


@pytest.mark.parametrize("extra", PACKAGES)
def test_the_command_names_every_package_of_an_extra(extra):
    """As the package's own metadata have them, the extras within an extra included."""
    command = install_command(extra)
    own = [line.partition(";")[0].strip() for line in requires("utmost") if f"== '{extra}'" in line.replace('"', "'")]
    for requirement in own:
        assert requirement.startswith("utmost[") or f"'{requirement}'" in command
    assert "utmost" not in command
    assert command.startswith("pip install '")


@pytest.mark.parametrize(
    ("gone", "code", "extra"),
    [
        (
            ["tables"],
            "import utmost as um; open('t.csv', 'w').write('a\\n1\\n')\n"
            "um.Session('t.csv', 'x', um.rows(), 'replace', 1)",
            "tables",
        ),
        (["postgres"], "import utmost as um; um.Ledger('postgresql://nobody@127.0.0.1:1/x')", "postgres"),
        (["plot"], "from utmost.plot.canvas import canvas; canvas('')", "plot"),
        (["serve"], "import utmost as um; um.Client('http://127.0.0.1:1')", "serve"),
        (
            ["cli"],
            "import runpy; sys.argv = ['utmost', '--help']; runpy.run_module('utmost', run_name='__main__')",
            "cli",
        ),
        (
            ["serve"],
            "import runpy; sys.argv = ['utmost', 'studio']; runpy.run_module('utmost', run_name='__main__')",
            "serve",
        ),
    ],
)
def test_what_needs_an_extra_says_how_to_install_it(gone, code, extra, tmp_path):
    """One command, in the last line of the error."""
    done = without(gone, code, tmp_path)
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1].endswith(f"install what is missing with: {install_command(extra)}")


def test_a_client_needs_no_server(tmp_path):
    """Only httpx, of the packages of the extra."""
    code = "import utmost as um; from utmost.errors import UtmostError\n"
    code += "for name in ('starlette', 'uvicorn', 'jinja2', 'typer', 'duckdb'): sys.modules[name] = None\n"
    code += "try: um.Client('http://127.0.0.1:1', 'ada:x').datasets\nexcept UtmostError as refusal: print(refusal)"
    done = without([], code, tmp_path)
    assert "cannot be reached" in done.stdout, done.stderr


def test_another_failed_import_is_left_as_it_is():
    assert explained(ImportError(name="something_else")) is None
