"""The storage interface of a ledger, so that accounts are independent of files and databases.

A storage opens transactions. A writing one excludes every other writer (of the data set, at least) from its start on
and is on disk when it ends. A transaction sees a `Book`: the append-only events of every account, in order.
`ledger_file.py` keeps a book in a file, `ledger_memory.py` in memory, `ledger_postgres.py` in a database.
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
"""The head before the first event of a chain."""


class Book(ABC):
    """The events of all accounts, as one transaction sees them; `BadFile` if one that is read was changed."""

    @abstractmethod
    def datasets(self) -> list[str]:
        """The names of all accounts, sorted."""

    @abstractmethod
    def secret(self, dataset: str) -> bytes | None:
        """The random secret of an account, or None if there is no such account."""

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
        """The events that complete a question, found by its key, latest first."""

    @abstractmethod
    def stored(self, dataset: str) -> tuple[list[Event], list[str | None]]:
        """All events read again from storage, not verified, each with the question key it is filed under."""

    @abstractmethod
    def add(self, event: Event, key: str | None, secret: bytes | None = None) -> None:
        """Add the next event, filed under the key of its question; the opening of an account comes with its secret."""


class Storage(ABC):
    """A place where a book is stored."""

    kept: ClassVar[bool] = True
    """Whether the book outlives the process."""
    where: str
    """The name of the place, in words."""

    @abstractmethod
    def write(self, *datasets: str) -> AbstractContextManager[Book]:
        """An exclusive transaction on these accounts; its events are durable when it ends without an error.

        It is atomic: after an error nothing is added, and after a crash all of it or nothing. A file has one line for a
        transaction, a database its own transactions.
        """

    @abstractmethod
    def read(self) -> AbstractContextManager[Book]:
        """A read-only transaction."""

    @abstractmethod
    def close(self) -> None:
        """Close the file or the connection."""

    def beside(self, ending: str) -> Path | None:
        """The path of a file beside the ledger with this ending; None where no file can be written."""
        return self.in_state(ending)

    def in_state(self, ending: str) -> Path | None:
        """The path of a file for this ledger among the user's state files."""
        try:
            return state_folder("ledgers") / (re.sub(r"[^\w.]+", "-", self.where) + ending)
        except InvalidInput:
            return None

    @property
    def mode(self) -> int:
        """The file mode of the ledger: who may use it."""
        return 0o600

    def __del__(self) -> None:
        with suppress(Exception):  # an object that was never quite made has nothing to close
            self.close()


def hash_mismatch(dataset: str, number: int | None = None) -> BadFile:
    """The error for an event whose hash is wrong."""
    where = "an event" if number is None else f"event {number}"
    return BadFile(
        f"{where} of the account {shown(dataset)} was changed after it was written; nothing can be spent from it. "
        "Restore the ledger from a backup and compare its head with the latest report."
    )
