"""The `utmost` command line: thin, no mathematics.

Exit code 0: done; 1: the answer is no (no extension, not verified, budget spent, account suspended); 2: wrong use; 74:
the output could not be written; 130: interrupted by the user.
"""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from utmost import __version__
from utmost.cli.console import print_anywhere
from utmost.errors import (
    AccountSuspended,
    BudgetSpent,
    CannotCertify,
    InvalidInput,
    NoExtension,
    NoSuchMechanism,
    UtmostError,
    shown,
)
from utmost.queries.spelling import Flags, errors_spelled

CLOSED_PIPE = (errno.EINVAL,) if sys.platform == "win32" else ()
UNWRITTEN = (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG, errno.EDQUOT, *CLOSED_PIPE)
"""Error numbers of failed output, such as a closed pipe or a full disk; on Windows a closed pipe is EINVAL."""


COMMANDS = {
    "design": ("designs:design", "Solve the problem in FILE: the best mechanism, its value and its proof."),
    "show": ("designs:show", "Show a saved solution and verify it again."),
    "certify": ("designs:certify", "Certify a mechanism of your own in exact arithmetic."),
    "verify": ("designs:verify", "Re-prove a saved solution, protocol or survey."),
    "sample": ("designs:sample", "Draw private answers at a point."),
    "demo": ("designs:demo", "Make a table of 20,000 people and private answers about it."),
    "release": ("release:release", "A private answer about TABLE, with its proof."),
    "ask": ("ask:ask", "Answer a file of questions privately, into a folder: pages, JSON, CSV."),
    "compose": ("budget:compose", "The exact privacy of several releases."),
    "reproduce": ("reproduce:reproduce", "Recompute what the five papers state."),
    "budget": ("budget:budget", "Accounts of privacy budgets: open, show, check, resume."),
    "party": ("party:app", "Several parties, one bit each, one function."),
    "serve": ("serve:serve", "Serve tables to analysts: an HTTP API and pages; `serve key NAME` makes a key."),
    "studio": ("serve:studio", "Open the pages on this machine, on the demonstration's table, without keys."),
    "survey": ("survey:app", "Design a private survey, respond, estimate."),
    "doctor": ("doctor:doctor", "Report on this installation: versions, extras, engines, the time of a draw."),
}
"""The module, function and summary of each command; a module is loaded when its command is run."""


class Commands(TyperGroup):
    """The group of commands, with exit codes for output that cannot be written and for interruption."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, with switches off by default: to read a None as a bool, Typer would load pydantic."""
        parameters = super().get_params(ctx)
        for switch in parameters:
            if switch.default is None and getattr(switch, "is_flag", False):
                switch.default = False
        return parameters

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the commands, without loading any."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Load a command; None if there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        target = getattr(import_module(f"utmost.cli.{module}"), name)
        if not isinstance(target, typer.Typer):
            single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
            single.command(cmd_name)(target)
            target = single
        for registration in target.registered_commands:
            registration.cls = Command
        command = typer.main.get_command(target)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The list of commands in `utmost --help`."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in COMMANDS.items()])

    def invoke(self, ctx: Any) -> Any:
        """Run a command; a failed output after a charge gets exit code 74, so that it does not look like a refusal."""
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
    """A command whose errors name its own flags, and that refuses an option given twice.

    Otherwise the first of two values would be ignored, and the second spent for.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the command, with arguments in error messages spelled as flags."""
        flags = {flag for option in self.params for flag in getattr(option, "opts", ())}
        with errors_spelled(Flags(lambda name: f"--{name.replace('_', '-')}" in flags)):
            return super().invoke(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; refuse an option given twice unless it may be repeated."""
        flags = [arg.partition("=")[0] for arg in args[: args.index("--") if "--" in args else len(args)]]
        for option in self.params:
            occurrences = [flag for flag in flags if flag.startswith("-") and flag in getattr(option, "opts", ())]
            if len(occurrences) > 1 and not getattr(option, "multiple", False) and option.param_type_name == "option":
                names = ", or ".join(dict.fromkeys(occurrences))
                raise InvalidInput(f"{names} is given {len(occurrences)} times; give it once.")
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=Commands,
    help="Design the differentially private mechanism with the utmost utility, and prove it.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def options(version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False) -> None:
    """Design the differentially private mechanism with the utmost utility, and prove it."""
    if version:
        print(f"utmost {__version__}")
        raise typer.Exit


def main() -> None:
    """Entry point: print errors to standard error and exit with their codes."""
    for stream in (sys.stdout, sys.stderr):
        print_anywhere(stream)
    try:
        app(prog_name="utmost")
    except (AccountSuspended, BudgetSpent, CannotCertify, NoExtension, NoSuchMechanism) as reason:
        print(f"{type(reason).__name__}: {reason}", file=sys.stderr)
        sys.exit(1)
    except UtmostError as reason:
        print(f"{type(reason).__name__}: {reason}", file=sys.stderr)
        sys.exit(2)
