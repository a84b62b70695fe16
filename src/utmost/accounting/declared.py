"""What is declared together, before any of its answers: the levels of a batch, and the slots of a schedule."""

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
        """The entry as it stands now, with the questions and answers of its slots."""
        return self._account._entry(self.number)

    @property
    def left(self) -> int:
        """How many slots are left."""
        entry = self.entry
        return entry.slots - len(entry.used)

    def slot(self, question: Any) -> Reservation:
        """Use one slot, durably, before its answer is drawn; `BudgetSpent` if none is left."""
        return self._account._use_slot(self.number, question)


def counted(levels: Any) -> tuple[tuple[Level, ...], list[tuple[Level, int]]]:
    """The levels of a batch, and each that differs with how often it stands among them."""
    if isinstance(levels, str | Level) or not isinstance(levels, Iterable):
        raise InvalidInput(f"levels is {shown(levels)}; give a list of levels, or use reserve for one.")
    listed = tuple(as_level(level) for level in levels)
    if not listed:
        raise InvalidInput("a batch needs at least one level.")
    return listed, list(Counter(listed).items())


def refusal(levels: tuple[Level, ...], cost: tuple[Amount, ...], left: Left, slots: int, called: str) -> BudgetSpent:
    """That a budget does not pay for a level, for several together, or for slots."""
    asked = (
        f"{slots} slots of {levels[0]}" if slots else str(levels[0]) if len(levels) == 1 else f"{len(levels)} levels"
    )
    price = ", ".join(f"{name} {amount}" for name, amount in zip(left.filter.resources, cost, strict=True))
    return BudgetSpent(
        f"{called} does not pay for {asked} ({price}): left is {left}. Nothing was charged; ask at a smaller level, "
        "or stop here.",
        asked=levels[0] if len(levels) == 1 else levels,
        left=left,
    )
