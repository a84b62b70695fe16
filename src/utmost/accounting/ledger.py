"""A ledger of privacy budgets, safe under crashes, concurrency and adaptively chosen questions.

A ledger holds the accounts of several data sets: `account.py` says what an account is, `names.py` which names it may
have. This module opens accounts and chooses the storage of a ledger.
"""

from __future__ import annotations

import hashlib
import math
import os
import secrets
from pathlib import Path
from typing import Any

from utmost.accounting.account import Account, Event, Filter, next_event
from utmost.accounting.entries import TableMark
from utmost.accounting.filters import choose
from utmost.accounting.ledger_file import File
from utmost.accounting.ledger_memory import Memory
from utmost.accounting.names import as_name, as_text, protected_entity, require_new_name, skeleton
from utmost.accounting.storage import START, Book, Storage
from utmost.errors import BudgetMismatch, InvalidInput, shown
from utmost.exact import Number
from utmost.privacy import Level
from utmost.space.family import as_neighbours


class Ledger:
    """The accounts of several data sets, in a file, a PostgreSQL database, or in memory.

    Parameters
    ----------
    url : path, URL or None
        A file name, "postgresql://..." (needs `utmost[postgres]`), or None: in memory, lost with the process;
        then `kept` is False, and reports say so.

    Examples
    --------
    >>> import utmost as um
    >>> account = um.Ledger(None).open("survey", budget=1, unit="rows, at most 500", neighbours="add-remove")
    >>> with account.reserve(0.5, {"count": "age >= 65"}) as entry:
    ...     _ = entry.complete({"answer": 17})
    >>> print(account.left)
    epsilon 0.5 of 1
    """

    def __init__(self, url: Any = None) -> None:
        self._storage = _storage_of(url)

    @property
    def kept(self) -> bool:
        """Whether the accounts outlive this process."""
        return self._storage.kept

    @property
    def where(self) -> str:
        """The place of the ledger in words, without a password."""
        return self._storage.where

    def open(
        self,
        dataset: str,
        budget: Level | Number,
        unit: str,
        neighbours: str,
        filter: str | None = None,
        table: TableMark | None = None,
    ) -> Account:
        """Open the account of a data set, or create it; an existing one must have the same budget, unit and so on.

        Of the unit only the protected entity is compared: contribution bounds and sizes may differ between answers.

        Parameters
        ----------
        dataset : str
            The name you give the data; the ledger cannot know whether two names mean the same people. Names are
            compared in Unicode's form NFC. A new name must be in one script and must not look like that of another
            account: look-alike letters of another script would open a second budget.
        budget : PureDP, ApproxDP, ZCDP, GaussianDP or number
            A number means that epsilon.
        unit : str
            The privacy unit in words, such as "rows, at most 20000".
        neighbours : str
            "replace" or "add-remove".
        filter : str, optional
            The name of a filter: "basic" or "zcdp" for an (epsilon, delta) budget; by default that of the budget's
            kind.
        table : TableMark, optional
            The table it is opened for; if the latest spend was on another one, answers say so.
        """
        dataset, unit = as_name(dataset), as_text(unit, "unit")
        as_neighbours(neighbours)
        rule = choose(budget, filter)
        if math.inf in rule.budget.parameters.values():
            raise InvalidInput(
                f"the budget is {rule.budget}: nothing would be protected; give a finite one, such as 1."
            )
        with self._storage.write(dataset, f"names like {skeleton(dataset)}") as book:  # of two at once, one is first
            if book.secret(dataset) is None:
                require_new_name(dataset, book.datasets())
                _open_account(book, dataset, rule, unit, neighbours, table)
        account = Account(self._storage, dataset, table)
        _require_same(account, rule.budget, unit, neighbours, filter)
        return account

    def account(self, dataset: str) -> Account:
        """An existing account; `UnknownDataset` if there is none of this name."""
        return Account(self._storage, as_name(dataset))

    def datasets(self) -> list[str]:
        """The names of all accounts."""
        with self._storage.read() as book:
            return book.datasets()

    def close(self) -> None:
        """Close the file or connection."""
        self._storage.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *wrong: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger in {self.where}" + ("" if self.kept else " (lost with this process)")


def _storage_of(url: Any) -> Storage:
    """The storage for a URL or path."""
    if url is None:
        return Memory()
    if isinstance(url, str) and url.startswith(("postgresql://", "postgres://")):
        from utmost.accounting.ledger_postgres import PostgreSQL

        return PostgreSQL(url)
    if not isinstance(url, str | os.PathLike) or not str(url).strip() or "://" in str(url):
        raise InvalidInput("the ledger is neither a file name, nor a URL postgresql://..., nor None for memory.")
    try:
        path = Path(url)
        path.absolute().lstat()
    except FileNotFoundError:
        pass
    except (OSError, TypeError, ValueError):  # longer than a name may be, with a NUL in it, or not text
        raise InvalidInput(f"the ledger {shown(str(url))} is not the name of a file; give another.") from None
    return File(path)


def _open_account(
    book: Book, dataset: str, filter: Filter, unit: str, neighbours: str, table: TableMark | None
) -> None:
    secret = secrets.token_bytes(32)
    body = {
        "filter": filter.to_json(),
        "unit": unit,
        "neighbours": neighbours,
        "secret": hashlib.sha256(secret).hexdigest(),
        "spent": [amount.to_json() for amount in filter.total([])],
        "entries": 0,
        **({} if table is None else {"table": table.to_json()}),
    }
    nothing = Event(dataset, -1, "", 0, 0, "", None, START)
    book.add(next_event(nothing, "open", 0, 0, body), None, secret)


def _require_same(account: Account, budget: Level, unit: str, neighbours: str, filter: str | None) -> None:
    """Refuse to open an account with other terms than its own; without a `filter` any is accepted."""
    pairs = [
        ("budget", account.budget, budget),
        ("unit", account.unit, unit),
        ("neighbours", account.neighbours, neighbours),
    ]
    pairs += [("filter", account.filter.name, filter)] if filter else []
    for name, recorded, requested in pairs:
        if recorded != requested and not (
            name == "unit" and protected_entity(str(recorded)) == protected_entity(str(requested))
        ):
            raise BudgetMismatch(
                f"the account {account.dataset!r} was opened with {name} {_display(recorded)}, "
                f"not {_display(requested)}; open it as it is, or give another data set another name."
            )


def _display(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value)
