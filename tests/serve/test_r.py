"""The page about R: both of its blocks run, against a server and through reticulate."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from oracles.served import KEYS, survey_server

PAGE = Path(__file__).parents[2] / "docs" / "r.md"
BLOCKS = re.findall(r"^```r\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def in_r(code, folder, **more):
    """What R prints when it runs a block; skipped where R, or a package that the block loads, is not installed."""
    if not shutil.which("Rscript"):
        pytest.skip(
            "R is not installed: Debian's r-base-core, r-cran-httr2, r-cran-jsonlite and r-cran-reticulate run this"
        )
    script = folder / "block.R"
    script.write_text(code, encoding="utf-8")
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "RETICULATE_PYTHON": sys.executable}
    done = subprocess.run(
        ["Rscript", str(script)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **paths, **more},
    )
    if missing := re.search(r"there is no package called .*", done.stderr):
        pytest.skip(f"R says: {missing[0]}")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_are_two_blocks():
    assert ["httr2" in block for block in BLOCKS] == [True, False]


def test_r_asks_a_server(tmp_path):
    with survey_server(tmp_path, budget='"20,1e-5"', own='"20,1e-5"') as url:
        said = in_r(BLOCKS[0], tmp_path, UTMOST_URL=url, UTMOST_KEY=KEYS["ada"][0])
    assert "expected error: 1.9" in said
    assert "rows, at most 500" in said
    assert re.search(r"Briar +-?\d+", said)
    assert (tmp_path / "answer.json").stat().st_size > 100


def test_r_drives_the_library(tmp_path):
    said = in_r(BLOCKS[1], tmp_path)
    assert "nothing was read, nothing is spent" in said
    assert re.search(r"\d between -?\d+ \d+", said)
    assert "Briar" in said
