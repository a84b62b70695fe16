"""Releases declared together before any of their answers: the levels of a batch, and the slots of a schedule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from utmost.accounting.entries import Entry
from utmost.errors import BudgetSpent, InvalidInput, shown
from utmost.exact import Amount
from utmost.privacy import Level, as_level

if TYPE_CHECKING:
    from utmost.accounting.account import Account, Left, Reservation


class Schedule:
    """Slots of one level, charged together; made by `Account.reserve_schedule`."""

    def __init__(self, account: Account, number: int) -> None:
        self._account, self.number = account, number
        if not self.entry.slots:
            raise InvalidInput(f"entry {number} is not a schedule; `entries()` lists those with slots.")

    @property
    def entry(self) -> Entry:
        """The current entry, with the questions and answers of its slots."""
        return self._account._entry(self.number)

    @property
    def left(self) -> int:
        """The number of unused slots."""
        entry = self.entry
        return entry.slots - len(entry.used)

    def slot(self, question: Any) -> Reservation:
        """Use one slot, durably, before its answer is drawn; `BudgetSpent` if none is left."""
        return self._account._use_slot(self.number, question)


def count_levels(levels: Any) -> tuple[tuple[Level, ...], list[tuple[Level, int]]]:
    """The levels of a batch, and the distinct ones with their counts."""
    if isinstance(levels, str | Level) or not isinstance(levels, Iterable):
        raise InvalidInput(f"levels is {shown(levels)}; give a list of levels, or use reserve for one.")
    converted = tuple(as_level(level) for level in levels)
    if not converted:
        raise InvalidInput("a batch needs at least one level.")
    return converted, list(Counter(converted).items())


def refusal(
    levels: tuple[Level, ...], cost: tuple[Amount, ...], remainder: Left, slots: int, budget_name: str
) -> BudgetSpent:
    """The error of an insufficient budget for a level, for several together, or for slots."""
    request = (
        f"{slots} slots of {levels[0]}" if slots else str(levels[0]) if len(levels) == 1 else f"{len(levels)} levels"
    )
    price = ", ".join(f"{name} {amount}" for name, amount in zip(remainder.filter.resources, cost, strict=True))
    return BudgetSpent(
        f"{budget_name} is insufficient for {request}: requested {price}, remaining {remainder}. Nothing was charged; "
        "ask at a smaller level, or stop here.",
        asked=levels[0] if len(levels) == 1 else levels,
        left=remainder,
    )
