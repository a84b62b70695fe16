"""The `utmost` command: thin, no mathematics.

Exit code 0: done; 1: the answer is no (no extension, not verified, budget spent); 2: wrong use; 70: the engine failed,
and the spend stands; 74: what was to be printed could not be written; 130: stopped by whoever was asked.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from utmost import __version__
from utmost.cli import budget, designs, party, reproduce, survey
from utmost.cli.release import release
from utmost.errors import (
    BudgetSpent,
    CannotCertify,
    EngineFailed,
    InvalidInput,
    NoExtension,
    NoSuchMechanism,
    UtmostError,
    shown,
)

UNWRITTEN = (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG, errno.EDQUOT)
"""What goes wrong where output is written: a closed pipe, a full disk."""


class Commands(TyperGroup):
    """The commands, with an exit code of its own for output that cannot be written and for being stopped."""

    def invoke(self, ctx: Any) -> Any:
        """Run one; a charge that was made is never taken for a refusal."""
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except typer.Abort:
            print("stopped at the prompt; nothing was done.", file=sys.stderr)
            raise typer.Exit(130) from None
        except OSError as problem:
            if problem.filename is not None:
                print(f"{shown(problem.filename)} cannot be used: {problem.strerror}; name another.", file=sys.stderr)
                raise typer.Exit(2) from None
            if problem.errno not in UNWRITTEN:
                raise
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left in the buffer goes nowhere
            print(
                f"the output cannot be written: {problem.strerror}. What was spent stays spent: a ledger that is kept "
                "repeats the answer to the identical question at no cost.",
                file=sys.stderr,
            )
            raise typer.Exit(74) from None


class Command(TyperCommand):
    """A command that refuses an option given twice: the first would be ignored, and the second spent for."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, each option once unless it says that it may be given again."""
        flags = [arg.partition("=")[0] for arg in args[: args.index("--") if "--" in args else len(args)]]
        for option in self.params:
            given = sum(flag in getattr(option, "opts", ()) for flag in flags if flag.startswith("-"))
            if given > 1 and not getattr(option, "multiple", False) and option.param_type_name == "option":
                raise InvalidInput(f"{option.opts[-1]} is given {given} times; give it once.")
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=Commands,
    help="Design the differentially private mechanism with the utmost utility, and prove it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for command in (designs.design, designs.show, designs.certify, designs.verify, designs.sample, designs.demo):
    app.command(cls=Command)(command)
app.command(cls=Command)(release)
app.command(cls=Command)(budget.compose)
app.add_typer(budget.budget, name="budget")
app.add_typer(party.app, name="party")
app.command(cls=Command)(reproduce.reproduce)
app.add_typer(survey.app, name="survey")


@app.callback(invoke_without_command=True)
def options(version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False) -> None:
    """Design the differentially private mechanism with the utmost utility, and prove it."""
    if version:
        print(f"utmost {__version__}")
        raise typer.Exit


def main() -> None:
    """The entry point: errors in words on standard error, and their exit codes."""
    try:
        app()
    except (BudgetSpent, CannotCertify, NoExtension, NoSuchMechanism) as reason:
        print(f"{type(reason).__name__}: {reason}", file=sys.stderr)
        sys.exit(1)
    except EngineFailed as reason:
        print(f"{type(reason).__name__}: {reason}", file=sys.stderr)
        sys.exit(70)
    except UtmostError as reason:
        print(f"{type(reason).__name__}: {reason}", file=sys.stderr)
        sys.exit(2)
