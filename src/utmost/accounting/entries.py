"""What an account tells of a spend, and of all of them: plain records."""

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
    """Which table an account is used with, so that another one under the same name is noticed; nothing of its rows.

    Attributes
    ----------
    name : what people call it: the name of a file or of a table in a database, or the kind of a frame
    fingerprint : hash of where it is, and of the names and types of its columns
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
    """One spend: what was asked at which level, and the answer's record once there is one.

    Attributes
    ----------
    number : its place among the account's entries, from 1
    time : when it was reserved (UTC)
    level : the level, or the levels of a batch, or the level of a schedule's slots
    cost : what was charged, by resource
    question, answer : as given; the answer is None while `state` is "reserved"
    state : "reserved" (charged, no answer recorded) or "done"
    head : the chain's head right after the entry's last event
    slots : for a schedule, how many slots it has; else 0
    used : for a schedule, its used slots as (question, answer or None)
    table : the table it was asked of; None where nobody said
    table_before : the table of the spend before, if that was another one
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
    """What the ledger says right after an answer, as plain data for a report.

    Attributes
    ----------
    entry : the number of its entry
    time : when it was recorded
    spent, left : of the whole budget, in words
    amounts : what is spent of each resource and its limit, as numbers rounded to floats
    head : the head of the ledger's chain
    kept : whether the ledger outlives the process
    other_table : that the account was used with another table before, in words; empty if it was not
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
