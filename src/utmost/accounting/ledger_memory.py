"""A ledger in memory: the same lines as in a file, lost with the process."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from utmost.accounting.ledger_file import Index, Lines
from utmost.accounting.storage import Book, Storage
from utmost.errors import InvalidInput


class Memory(Storage):
    """A book in memory, lost with the process; a forked process may not use it."""

    kept = False

    def __init__(self) -> None:
        self.where = "memory"
        self._lock, self._owner = threading.RLock(), os.getpid()
        self._text, self._index = bytearray(), Index()

    @contextmanager
    def write(self, *datasets: str) -> Iterator[Book]:
        with self.read() as book:
            yield book
            assert isinstance(book, Lines)
            if book.added:
                line = book.line()
                self._index.take(line)
                self._text += line

    @contextmanager
    def read(self) -> Iterator[Book]:
        if self._owner != os.getpid():
            raise InvalidInput(
                "an account in memory belongs to the process that opened it: a copy in another process could spend "
                "the budget twice. Give the ledger a file."
            )
        with self._lock:
            yield Lines(self._index, lambda start, length: bytes(self._text[start : start + length]), self._reread)

    def _reread(self) -> Index:
        index = Index()
        for line in bytes(self._text).splitlines(keepends=True):
            index.take(line)
        return index

    def close(self) -> None:
        """Do nothing: there is no file or connection to release."""
