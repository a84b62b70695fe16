"""A server of Utmost on this machine, in a thread of its own, for tests that ask it as anybody would."""

from __future__ import annotations

import asyncio
import random
import re
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import uvicorn

from utmost.serve.app import uvicorn_config
from utmost.serve.credentials import new_key
from utmost.serve.settings import read_settings

KEYS = {name: new_key(name) for name in ("ada", "bob", "carol")}
"""Two analysts and a custodian: the key of each, and its hash."""
ROWS = 400


def write_table(folder, towns=("Ash", "Briar")):
    """A table of 400 made-up people."""
    made_up = random.Random(25)
    lines = [f"{made_up.randrange(18, 90)},{made_up.choice(towns)}" for _ in range(ROWS)]
    (folder / "people.csv").write_text("age,town\n" + "\n".join(lines) + "\n")


def write_settings(
    folder, more="", tick=0.02, budget=3, own=2, ledger="budget.db", rate=1000, end="", towns=("Ash", "Briar")
):
    """Settings for the table: `survey`, of which ada and bob may ask, and `hidden`, of which only bob may."""
    write_table(folder, towns)
    dataset = 'table = "people.csv"\nunit = "rows, at most 500"\nneighbours = "add-remove"\n'
    text = f'''
ledger = "budget.db"
tick = {tick}
rate = {rate}
[dataset.survey]
description = "Four hundred people who are made up"
{dataset}budget = {budget}
[dataset.survey.columns.age]
type = "int"
lower = 18
upper = 90
description = "in years"
[dataset.survey.columns.town]
categories = ["Ash", "Briar"]
[dataset.hidden]
{dataset}budget = 1
[analyst.ada]
key = "{KEYS["ada"][1]}"
datasets = ["survey"]
budget = {own}
[analyst.bob]
key = "{KEYS["bob"][1]}"
datasets = {{ survey = {own}, hidden = 1 }}
[custodian.carol]
key = "{KEYS["carol"][1]}"
{end}
'''
    file = Path(folder) / "utmost.toml"
    file.write_text(text)
    return file


@contextmanager
def serving(settings):
    """The address of a server with these settings, while it runs."""
    server = uvicorn.Server(uvicorn_config(replace(settings, port=0)))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            thread.join(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)


@contextmanager
def survey_server(folder, **more):
    """The server of `write_settings`."""
    with serving(read_settings(write_settings(folder, **more))) as url:
        yield url


@contextmanager
def programs(url):
    """For every visitor a plain HTTP client with their key, and one without any."""
    with ExitStack() as all_of_them:
        keys = {name: {"Authorization": f"Bearer {KEYS[name][0]}"} for name in KEYS} | {"nobody": {}}
        made = {name: httpx.Client(base_url=url, headers=key, timeout=60, verify=False) for name, key in keys.items()}
        yield {name: all_of_them.enter_context(client) for name, client in made.items()}


def token_of(reply):
    """The token in the forms of a page."""
    return re.search(r'name="token" value="([^"]+)"', reply.text)[1]


@contextmanager
def signed_in(url, name):
    """A browser without a script, signed in."""
    with httpx.Client(base_url=url, follow_redirects=True, timeout=60, verify=False) as client:
        form = {"key": KEYS[name][0], "token": token_of(client.get("/sign-in"))}
        assert client.post("/sign-in", data=form).status_code == 200
        yield client
