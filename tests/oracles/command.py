"""The command run in this process, as tests ask for it."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest import mock

from utmost.cli import main


@dataclass
class Result:
    returncode: int
    stdout: str
    stderr: str


def utmost(*arguments, given=""):
    """Run the command with this on its standard input."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        mock.patch.object(sys, "argv", ["utmost", *map(str, arguments)]),
        mock.patch.object(sys, "stdin", io.StringIO(given)),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
    return Result(code, out.getvalue(), err.getvalue())


def release_command(folder, *options, ledger=None):
    """`utmost release` on a table of three rows, with a ledger in the same folder."""
    table = folder / "t.csv"
    table.write_text("age,town\n70,x\n80,y\n20,x\n")
    common = ("--dataset", "d", "--rows-at-most", 10, "--neighbours", "replace", "--ledger", ledger or folder / "b.db")
    return utmost("release", table, *common, *options)
