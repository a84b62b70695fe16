"""Plain records of an account: its entries, the table they are about, and its state after a spend."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from utmost.errors import InvalidInput
from utmost.exact import Amount
from utmost.privacy import Level

SHARED = "all tables under one data set name share its budget and its recorded answers"
_NUMBER = r"(?:[-+0-9./e]{1,500}|inf)"
_OF_BUDGET = rf"(?:epsilon|delta|mu²|rho) {_NUMBER} of {_NUMBER}"
_SUMS = rf"{_OF_BUDGET}(?:, {_OF_BUDGET})*"
_QUOTED = r"""(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")"""
_APART = rf"(?:, not {_QUOTED}| in another place or with other columns)"
FORMS = {
    "time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[-+]\d\d:\d\d)",
    "spent": _SUMS,
    "left": _SUMS,
    "head": r"[0-9a-f]{64}",
    "other_table": rf"(?:this recorded answer was drawn from another table, {_QUOTED}{_APART}; fresh=True asks the "
    rf"open one, and spends|the account {_QUOTED} was used before with another table, {_QUOTED}{_APART}; {SHARED})?",
}
"""The words that a ledger says in reports, by part: numbers and quoted names are all that is left open in them."""


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

    def require_words(self) -> None:
        """Refuse words that no ledger says, which a report may hold: they are shown as what the ledger says."""
        for name, form in FORMS.items():
            text = getattr(self, name)
            if not isinstance(text, str) or not re.fullmatch(form, text, re.ASCII):
                raise InvalidInput(f"the ledger's {name} is not in words that a ledger says.")
        if type(self.entry) is not int or self.entry < 1 or type(self.kept) is not bool:
            raise InvalidInput("the ledger's entry is a number from 1 on, and whether it was kept true or false.")
        if not isinstance(self.amounts, Mapping) or not all(map(_is_within, self.amounts.values())):
            raise InvalidInput(
                "the ledger's amounts are what was spent of each resource, and its limit, which is no less."
            )


def _is_within(amount: Any) -> bool:
    """Whether an amount of a report is a number spent and a limit that is no less, up to rounding."""
    if not isinstance(amount, Mapping) or set(amount) != {"spent", "limit"}:
        return False
    spent, limit = amount["spent"], amount["limit"]
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (spent, limit))
    return numbers and 0 <= spent <= limit * (1 + 1e-9)
