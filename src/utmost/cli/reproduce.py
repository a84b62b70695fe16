"""`utmost reproduce`: every figure, table and example of the five papers, with a verdict."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from utmost.cli.output import Json, print_json


def reproduce(
    keys: Annotated[
        list[str] | None, typer.Argument(help="A paper (BIN, HET, RAIN, REG, LIM) or an item such as BIN-example-3.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where index.html, reproduce.json and the pictures go.")] = Path(
        "reproduced"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="Reduced sizes: fewer random instances.")] = False,
    as_json: Json = False,
) -> None:
    """Recompute what the five papers state, and judge each claim; all of them take a few minutes."""
    from utmost.reproduce import choose, run, write
    from utmost.reproduce.index import require_free, summary, tally

    claims = choose(keys or [])
    require_free(out)
    console = Console(stderr=True)
    with Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
        console=console,
        transient=True,
        disable=not sys.stderr.isatty(),
    ) as progress:
        task = progress.add_task("", total=len(claims))
        entries = run(
            keys or [],
            quick=quick,
            pictures=out / "pictures",
            started=lambda claim: progress.update(task, description=claim.key),
            finished=lambda entry: progress.advance(task),
        )
    page, data = write(entries, out)
    if as_json:
        print_json(summary(entries))
    else:
        for e in entries:
            print(f"{e.claim.key:22} {e.verdict:31} {e.claim.where}")
            if e.why:
                print(f"    {e.why}")
            if keys and e.picture:
                print(f"    picture: {out / 'pictures' / e.picture}")
        print(f"\n{tally(entries)}\nindex: {page}\ndata:  {data}")
    if any(not e.computed for e in entries):  # an entry that could not be computed at all
        raise typer.Exit(1)
