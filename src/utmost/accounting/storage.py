"""Where a ledger is kept, behind one small interface, so that accounts know neither files nor databases.

A storage opens transactions. One that writes excludes every other writer (of the data set, at least) from its start on
and is on the disk when it ends. What a transaction sees is a `Book`: the events of every account, in order, only ever
added to. `ledger_file.py` keeps a book in a file, `ledger_memory.py` in memory, `ledger_postgres.py` in a database.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from utmost.errors import BadFile, InvalidInput, shown
from utmost.exact.saved import state_folder

if TYPE_CHECKING:
    from utmost.accounting.account import Event

START = "0" * 64
"""What stands before the first event of a chain."""


class Book(ABC):
    """The events of all accounts, as one transaction sees them; `BadFile` where one read was changed."""

    @abstractmethod
    def datasets(self) -> list[str]:
        """The names of all accounts, sorted."""

    @abstractmethod
    def secret(self, dataset: str) -> bytes | None:
        """The random bytes that were made with an account, or None if there is no such account."""

    @abstractmethod
    def first(self, dataset: str) -> Event | None:
        """The opening of an account."""

    @abstractmethod
    def last(self, dataset: str) -> Event | None:
        """The latest event of an account, which carries its sums."""

    @abstractmethod
    def events(self, dataset: str) -> list[Event]:
        """All events of an account, oldest first."""

    @abstractmethod
    def of_entry(self, dataset: str, entry: int) -> list[Event]:
        """The events of one entry, oldest first."""

    @abstractmethod
    def answers(self, dataset: str, key: str) -> Iterable[Event]:
        """The completions filed under the key of a question, latest first."""

    @abstractmethod
    def stored(self, dataset: str) -> tuple[list[Event], list[str | None]]:
        """All events as the disk has them now, not believed yet, and the key of the question each is filed under."""

    @abstractmethod
    def add(self, event: Event, key: str | None, secret: bytes | None = None) -> None:
        """The next event, filed under the key of its question; with an account's opening comes its secret."""


class Storage(ABC):
    """A place that keeps a book."""

    kept: ClassVar[bool] = True
    """Whether it outlives the process."""
    where: str
    """How people call it."""

    @abstractmethod
    def write(self, *datasets: str) -> AbstractContextManager[Book]:
        """A transaction that alone writes these accounts; what it added is durable when it ends without an error.

        With an error, nothing is added; and whatever ends the process or the power meanwhile, all of it is added or
        nothing: a file has one line for a transaction, a database its own transactions.
        """

    @abstractmethod
    def read(self) -> AbstractContextManager[Book]:
        """A transaction that only reads."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the file or database."""

    def beside(self, ending: str) -> Path | None:
        """Where to write what belongs to the ledger and is not in it; None where there is no place."""
        return self.in_state(ending)

    def in_state(self, ending: str) -> Path | None:
        """The same, among the state files of the user who runs this."""
        try:
            return state_folder("ledgers") / (re.sub(r"[^\w.]+", "-", self.where) + ending)
        except InvalidInput:
            return None

    @property
    def mode(self) -> int:
        """Who may use the ledger, as the mode of a file."""
        return 0o600

    def __del__(self) -> None:
        with suppress(Exception):  # an object that was never quite made has nothing to close
            self.close()


def changed(dataset: str, number: int | None = None) -> BadFile:
    """The error for an event whose hash is wrong."""
    where = "an event" if number is None else f"event {number}"
    return BadFile(
        f"{where} of the account {shown(dataset)} was changed after it was written; nothing can be spent from it. "
        "Restore the ledger from a backup and compare its head with the latest report."
    )
