"""Many clients at once against a server that is killed on the way: what each was told, and how long it took."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
from oracles.served import KEYS

from utmost.accounting import Ledger

RUN = "from utmost.cli import main; main()"


def start_server(settings):
    """A server in a process of its own, and its address; it answers when this returns."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    text = Path(settings).read_text()
    file = Path(settings).with_name("load.toml")
    file.write_text(f"port = {port}\n{text}")
    source = str(Path(__file__).parents[2] / "src")
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, "serve", str(file)],
        env={**os.environ, "PYTHONPATH": source},
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    for _ in range(3000):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return process, url
        except OSError:
            assert process.poll() is None, "the server did not start"
            time.sleep(0.05)
    process.kill()
    raise TimeoutError("the server did not answer")


class Load:
    """Clients that ask, each again and again, wherever the server is now."""

    def __init__(self, url, clients, privacy):
        self.url, self.privacy, self.stop = url, privacy, threading.Event()
        self.told, self.taken, self.refused, self.broken, self.suspended = [], [], {}, 0, 0
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(clients)]
        for thread in self._threads:
            thread.start()

    def _ask(self, number):
        name = ("ada", "bob")[number % 2]
        question = {"question": "count", "where": f"age >= {20 + number % 5}", "privacy": self.privacy, "fresh": True}
        with httpx.Client(headers={"Authorization": f"Bearer {KEYS[name][0]}"}, timeout=30, verify=False) as client:
            while not self.stop.is_set():
                begun = time.monotonic()
                try:
                    reply = client.post(f"{self.url}/api/datasets/survey/ask", json=question)
                except httpx.HTTPError:
                    self.broken += 1
                    time.sleep(0.05)
                    continue
                if reply.status_code == 200:
                    found = reply.json()
                    self.told.append((found["ledger"]["entry"], found["released"]))
                    self.taken.append(time.monotonic() - begun)
                elif "suspended" in reply.text:  # the server was killed in the middle of a question
                    self.suspended += 1
                    time.sleep(0.05)
                else:
                    self.refused[reply.status_code] = self.refused.get(reply.status_code, 0) + 1
                    time.sleep(0.01)

    def end(self):
        """Stop, and wait for everybody."""
        self.stop.set()
        for thread in self._threads:
            thread.join()


def _resume(ledger, stop):
    """What an owner does who trusts the kills: resume every account that is suspended."""
    while not stop.wait(0.1):
        book = Ledger(ledger)
        try:
            for name in book.datasets():
                if book.account(name).suspended:
                    book.account(name).resume()
        finally:
            book.close()


def under_load(settings, clients, seconds, kills, privacy, until_refused=False):
    """Ask for so many seconds, with `kill -9` and a restart so many times in between; what clients were told.

    They go on, for up to twenty times as long, until somebody has an answer, with `until_refused` until the budget has
    refused somebody. A kill in the middle of a question suspends the account; its owner resumes it whenever that is so.
    """
    process, url = start_server(settings)
    load = Load(url, clients, privacy)
    owner = threading.Thread(target=_resume, args=(Path(settings).parent / "budget.db", load.stop))
    owner.start()
    try:
        for _ in range(kills):
            time.sleep(seconds / (kills + 1))
            process.kill()
            process.wait()
            process, load.url = start_server(settings)
        time.sleep(seconds / (kills + 1))
        end = time.monotonic() + 20 * seconds
        while not (load.refused if until_refused else load.told) and time.monotonic() < end:
            time.sleep(0.2)
    finally:
        load.end()
        owner.join()
        process.terminate()
        process.wait()
    return load
