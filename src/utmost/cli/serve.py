"""`utmost serve` and `utmost studio`: a server for analysts, and its pages on this machine alone."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from utmost.cli.output import working
from utmost.errors import InvalidInput
from utmost.extras import missing
from utmost.queries.demo_table import TOWNS, write_survey


def serve(
    what: Annotated[
        str, typer.Argument(help="The settings, such as utmost.toml; or the word key.", show_default=False)
    ],
    name: Annotated[str | None, typer.Argument(help="After key: whose key is made.", show_default=False)] = None,
) -> None:
    """Serve tables to analysts: `utmost serve utmost.toml`; make an API key: `utmost serve key NAME`.

    A key is shown once; the settings keep its hash. The server listens on this machine unless the settings name another
    host, and refuses that without keys. TLS is a proxy's work.
    """
    try:
        from utmost.serve.app import run_server
        from utmost.serve.credentials import new_key
        from utmost.serve.settings import read_settings
    except ImportError:
        raise missing("serve") from None
    if what == "key" and not Path("key").exists():
        if not name:
            raise InvalidInput("say whose key it is to be: `utmost serve key ada`.")
        key, key_hash = new_key(name)
        print(f"the key, shown this once, for {name} alone:\n  {key}")
        print(f'for the settings, under [analyst.{name}] or [custodian.{name}]:\n  key = "{key_hash}"')
        return
    if name:
        raise InvalidInput(f"{name!r} stands after the settings; give the settings alone, or `utmost serve key NAME`.")
    settings = read_settings(what)
    with ExitStack() as opening:
        opening.enter_context(working("opening the tables"))

        def ready() -> None:
            opening.close()
            print(f"listening on http://{settings.host}:{settings.port}; stop with Ctrl-C", file=sys.stderr)

        run_server(settings, ready)


def studio(
    table: Annotated[
        Path | None,
        typer.Argument(help="Settings of your own; else the demonstration's table.", show_default=False),
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where it listens, on this machine.")] = 8020,
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    folder: Annotated[Path, typer.Option(help="Where the demonstration's table and ledger are kept.")] = Path("studio"),
) -> None:
    """Open the pages on this machine, with no keys: ask the demonstration's table, and explore without one."""
    try:
        from utmost.serve.app import run_server
    except ImportError:
        raise missing("serve") from None
    with ExitStack() as opening:
        opening.enter_context(working("opening the table"))

        def ready() -> None:
            opening.close()
            print(f"the studio is at {address}; stop with Ctrl-C", file=sys.stderr)
            if open_page:
                import threading
                import webbrowser

                threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()

        address = f"http://127.0.0.1:{port}"
        run_server(studio_settings(folder, port, table), ready)


def studio_settings(folder: Path, port: int, file: Path | None = None) -> Any:
    """Settings for a single user on this machine, without keys and with all rights."""
    from dataclasses import replace

    from utmost.privacy import PureDP
    from utmost.queries.units import rows
    from utmost.serve.settings import Column, Dataset, Settings, Visitor, read_settings

    if file is not None:
        settings = read_settings(file)
        everyone = Visitor("anyone", None, {d.name: d.budget for d in settings.datasets.values()}, custodian=True)
        return replace(settings, visitors={"anyone": everyone}, host="127.0.0.1", port=port, secure=False)
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / "survey.csv"
    if not table.exists():
        write_survey(table)
    columns = {
        "person": Column(description="a number for everyone"),
        "age": Column("int", 18, 100, description="in years"),
        "town": Column("str", categories=TOWNS),
        "income": Column("float", 0, 100_000, 100, description="a year"),
        "hours_online": Column("float", 0, 60, "0.5", description="a week"),
        "agrees": Column("str", categories=("yes", "no"), description="with a new bypass"),
    }
    words = "The demonstration's survey: 20,000 people who are made up"
    survey = Dataset("survey-2026", table, rows(at_most=25_000), "add-remove", PureDP(10), words, columns)
    visitor = Visitor("anyone", None, {survey.name: survey.budget}, custodian=True)
    return Settings(
        {survey.name: survey}, {visitor.name: visitor}, ledger=str(folder / "budget.db"), port=port, tick=0.2
    )
