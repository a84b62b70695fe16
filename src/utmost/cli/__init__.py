"""The `utmost` command: thin, no mathematics.

Exit code 0: done; 1: the answer is no (no extension, not verified, budget spent); 2: wrong use.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from utmost import __version__
from utmost.cli import budget, designs, party, reproduce, survey
from utmost.cli.release import release
from utmost.errors import BudgetSpent, CannotCertify, EngineFailed, NoExtension, NoSuchMechanism, UtmostError

app = typer.Typer(
    help="Design the differentially private mechanism with the utmost utility, and prove it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for command in (designs.design, designs.show, designs.certify, designs.verify, designs.sample, designs.demo):
    app.command()(command)
app.command()(release)
app.command()(budget.compose)
app.add_typer(budget.budget, name="budget")
app.add_typer(party.app, name="party")
app.command()(reproduce.reproduce)
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
    except (BudgetSpent, CannotCertify, EngineFailed, NoExtension, NoSuchMechanism) as reason:
        print(f"{type(reason).__name__}: {reason}", file=sys.stderr)
        sys.exit(1)
    except UtmostError as reason:
        print(f"{type(reason).__name__}: {reason}", file=sys.stderr)
        sys.exit(2)
