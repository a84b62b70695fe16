"""Plain records of an account: its entries, the table they are about, and its state after a spend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from utmost.exact import Amount
from utmost.privacy import Level


@dataclass(frozen=True)
class TableMark:
    """Identifies the table an account is used with, so that another one under the same name is noticed.

    Attributes
    ----------
    name : str
        The name of a file or of a table in a database, or the kind of a frame.
    fingerprint : str
        Hash of its place and of the names and types of its columns; no row is part of it.
    """

    name: str
    fingerprint: str

    def to_json(self) -> dict[str, str]:
        """The mark as plain data."""
        return {"name": self.name, "fingerprint": self.fingerprint}

    @classmethod
    def from_json(cls, data: Any) -> TableMark | None:
        """The mark that `to_json` wrote; None for an event of an earlier version, which has none."""
        return None if data is None else cls(str(data["name"]), str(data["fingerprint"]))


@dataclass(frozen=True)
class Entry:
    """One spend: the question, the level, the cost, and the recorded answer once there is one.

    Attributes
    ----------
    number : int
        Its number among the account's entries, from 1.
    time : str
        When it was reserved (UTC).
    level : Level or tuple of Level
        The level, the levels of a batch, or the level of a schedule's slots.
    cost : dict of Amount
        The charge, by resource.
    question, answer : plain JSON data
        As recorded; the answer is None while `state` is "reserved".
    state : str
        "reserved" (charged, no answer recorded) or "done".
    head : str
        The chain's head right after the entry's last event.
    slots : int
        The number of slots of a schedule; else 0.
    used : tuple of pairs
        The used slots of a schedule, as (question, answer or None).
    table : TableMark or None
        The table it was asked of, if known.
    table_before : TableMark or None
        The table of the spend before, if that was another one.
    """

    number: int
    time: str
    level: Level | tuple[Level, ...]
    cost: dict[str, Amount]
    question: Any
    answer: Any
    state: str
    head: str
    slots: int = 0
    used: tuple[tuple[Any, Any], ...] = ()
    table: TableMark | None = None
    table_before: TableMark | None = None


@dataclass(frozen=True)
class LedgerState:
    """The state of the ledger right after an answer, as plain data for a report.

    Attributes
    ----------
    entry : int
        The number of the answer's entry.
    time : str
        When it was recorded (UTC).
    spent, left : str
        The spent and the remaining budget, in words.
    amounts : mapping
        For each resource the amount spent and its limit, rounded to floats.
    head : str
        The head of the ledger's chain.
    kept : bool
        Whether the ledger outlives the process.
    other_table : str
        A notice that the account was used with another table before; empty if it was not.
    """

    entry: int
    time: str
    spent: str
    left: str
    amounts: Mapping[str, Mapping[str, float]]
    head: str
    kept: bool
    other_table: str = ""
