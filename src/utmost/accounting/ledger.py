"""A ledger of privacy budgets that survives crashes, concurrency and analysts who choose as they go.

A ledger keeps the accounts of some data sets: see `account.py` for what an account is, and `names.py` for its name.
Here an account is opened, and the place where a ledger is kept is chosen.
"""

from __future__ import annotations

import hashlib
import math
import os
import secrets
from pathlib import Path
from typing import Any

from utmost.accounting.account import Account, Event, Filter, following
from utmost.accounting.entries import TableMark
from utmost.accounting.filters import choose
from utmost.accounting.ledger_file import File
from utmost.accounting.ledger_memory import Memory
from utmost.accounting.names import as_name, as_text, protected, require_new_name, skeleton
from utmost.accounting.storage import START, Book, Storage
from utmost.errors import BudgetMismatch, InvalidInput, shown
from utmost.exact import Number
from utmost.privacy import Level
from utmost.space.family import as_neighbours


class Ledger:
    """The accounts of some data sets, in a file, a PostgreSQL database, or in memory.

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
        """Where the accounts are kept, in words without a password."""
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
        """The account of a data set, made the first time; afterwards everything must be as it was then.

        Of the unit that is who is protected: contribution bounds and sizes may differ from answer to answer.

        Parameters
        ----------
        dataset : the name you give the data; the ledger cannot know whether two names mean the same people. How its
            letters are composed makes no difference (Unicode NFC). A new name is in one script and does not look like
            that of another account: letters of other scripts that look alike would open a second budget
        budget : PureDP, ApproxDP, ZCDP or GaussianDP; a number means that epsilon
        unit : whose data are protected, in words, such as "rows, at most 20000"
        neighbours : "replace" or "add-remove"
        filter : None for the one of the budget's kind; "basic" or "zcdp" for an (epsilon, delta) budget
        table : which table it is opened for; where it is not the one of the latest spend, answers say so
        """
        dataset, unit = as_name(dataset), as_text(unit, "unit")
        as_neighbours(neighbours)
        chosen = choose(budget, filter)
        if math.inf in (getattr(chosen.budget, name, 0) for name in ("exponent", "rho", "mu")):
            raise InvalidInput(
                f"the budget is {chosen.budget}: nothing would be protected; give a finite one, such as 1."
            )
        with self._storage.write(dataset, f"names like {skeleton(dataset)}") as book:  # of two at once, one is first
            if book.secret(dataset) is None:
                require_new_name(dataset, book.datasets())
                _open_account(book, dataset, chosen, unit, neighbours, table)
        account = Account(self._storage, dataset, table)
        _require_same(account, chosen.budget, unit, neighbours, filter)
        return account

    def account(self, dataset: str) -> Account:
        """An account that exists already, else `UnknownDataset`."""
        return Account(self._storage, as_name(dataset))

    def datasets(self) -> list[str]:
        """The names of all accounts."""
        with self._storage.read() as book:
            return book.datasets()

    def close(self) -> None:
        """Let go of the file or connection."""
        self._storage.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *wrong: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger in {self.where}" + ("" if self.kept else " (lost with this process)")


def _storage_of(url: Any) -> Storage:
    """The storage a URL or path names."""
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
    book.add(following(nothing, "open", 0, 0, body), None, secret)


def _require_same(account: Account, budget: Level, unit: str, neighbours: str, filter: str | None) -> None:
    """Refuse to open the account as something else than it is; no filter asked for means the account's own."""
    pairs = [
        ("budget", account.budget, budget),
        ("unit", account.unit, unit),
        ("neighbours", account.neighbours, neighbours),
    ]
    pairs += [("filter", account.filter.name, filter)] if filter else []
    for name, kept, asked in pairs:
        if kept != asked and not (name == "unit" and protected(str(kept)) == protected(str(asked))):
            raise BudgetMismatch(
                f"the account {account.dataset!r} was opened with {name} {_said(kept)}, not {_said(asked)}; open it "
                "as it is, or give another data set another name."
            )


def _said(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value)
