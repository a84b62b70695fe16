"""The `utmost` command: thin, no mathematics.

Exit code 0: done; 1: the answer is no (no extension, not verified); 2: wrong use.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from utmost import __version__
from utmost.demo import run_demo
from utmost.errors import NoExtension, UtmostError
from utmost.problem_file import solve_file
from utmost.solution import Solution, Verification

app = typer.Typer(
    help="Design the differentially private mechanism with the utmost utility, and prove it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Picture = Annotated[Path | None, typer.Option(help="Also draw the mechanism to this file (.png, .svg or .pdf).")]


@app.command()
def design(
    file: Annotated[Path, typer.Argument(help="A problem in TOML; see docs/problem-files.md.")],
    out: Annotated[Path | None, typer.Option(help="Save the solution with its proof to this JSON file.")] = None,
    picture: Picture = None,
    as_json: Json = False,
) -> None:
    """Solve the problem in FILE: print the best mechanism, its value and its proof."""
    _present(solve_file(file), out, picture, as_json)


@app.command()
def show(
    file: Annotated[Path, typer.Argument(help="A solution saved by `utmost design --out`.")],
    picture: Picture = None,
    as_json: Json = False,
) -> None:
    """Show a saved solution and verify it again."""
    _present(Solution.load(file), None, picture, as_json)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where the pictures and solutions go.")] = Path("demo"),
    as_json: Json = False,
) -> None:
    """From nothing to a yes/no question, its optimal mechanism, its picture, and its proof verified."""
    console = Console(quiet=as_json, soft_wrap=True, highlight=False)
    result = run_demo(out, console.print)
    if as_json:
        _print_json(result)
    if not result["verified"]:
        raise typer.Exit(1)


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
    except NoExtension as reason:
        print(f"{type(reason).__name__}: {reason}", file=sys.stderr)
        sys.exit(1)
    except UtmostError as reason:
        print(f"{type(reason).__name__}: {reason}", file=sys.stderr)
        sys.exit(2)


def _present(solution: Solution, out: Path | None, picture: Path | None, as_json: bool) -> None:
    verification = solution.verify()
    if out:
        solution.save(out)
    if picture:
        from utmost import plot

        plot.save(plot.draw(solution), picture)
    if as_json:
        _print_json(_summary(solution, verification))
    else:
        console = Console(soft_wrap=True, highlight=False)
        console.print(str(solution), markup=False)
        console.print(_table(solution))
        console.print(str(verification), markup=False)
        for name, path in (("saved", out), ("drawn", picture)):
            if path:
                console.print(f"{name}: {path}", markup=False)
    if not verification:
        raise typer.Exit(1)


def _table(solution: Solution, most: int = 12) -> Table:
    """The mechanism, with the middle of a long one left out."""
    mechanism = solution.mechanism
    table = Table("point", *(f"Pr[{o}]" for o in mechanism.outputs))
    n = len(mechanism.points)
    shown = list(range(n)) if n <= most else [*range(most // 2), None, *range(n - most // 2, n)]
    for i in shown:
        row = ["..."] * 3 if i is None else [str(mechanism.points[i]), *(f"{p:.6g}" for p in mechanism.matrix[i])]
        table.add_row(*row)
    return table


def _summary(solution: Solution, verification: Verification) -> dict[str, Any]:
    c = solution.certificate
    return {
        "question": solution.problem.question,
        "space": repr(solution.problem.space),
        "privacy": str(solution.problem.privacy),
        "value": solution.value,
        "quantity": c.quantity,
        "optimal": {
            "claim": c.claim,
            "reason": c.reason,
            "bound": c.bound,
            "gap": verification.gap,
            "notes": list(c.notes),
        },
        "verified": bool(verification),
        "private": verification.private,
        "checks": [{"name": k.name, "passed": k.passed, "detail": k.detail} for k in verification.checks],
        "mechanism": {
            "points": [str(p) for p in solution.mechanism.points],
            "outputs": [str(o) for o in solution.mechanism.outputs],
            "matrix": solution.mechanism.matrix.tolist(),
        },
    }


def _print_json(content: dict[str, Any]) -> None:
    print(json.dumps(content, indent=2, ensure_ascii=False))
