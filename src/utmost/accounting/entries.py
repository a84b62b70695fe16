"""What the events of an account tell: its entries, what is spent and left, and whether all of it is sound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from utmost.accounting.amounts import Amount
from utmost.accounting.chain import Event
from utmost.accounting.filters import Filter
from utmost.errors import UtmostError
from utmost.exact import Number
from utmost.mechanism.certification import Check
from utmost.privacy import Level, level_from_json


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
    """

    entry: int
    time: str
    spent: str
    left: str
    amounts: Mapping[str, Mapping[str, float]]
    head: str
    kept: bool


@dataclass(frozen=True)
class Left:
    """What is left of a budget; `allows(level)` says whether a spend would fit now."""

    filter: Filter
    spent: tuple[Amount, ...]

    def allows(self, level: Level | Number) -> bool:
        """Whether the budget would pay for a release at this level."""
        return self.filter.allows([self.spent, self.filter.cost(level)])

    def amounts(self) -> dict[str, float]:
        """What is left of each resource, as floats."""
        rest = (limit.minus(spent) for limit, spent in zip(self.filter.limits, self.spent, strict=True))
        return dict(zip(self.filter.resources, rest, strict=True))

    def __str__(self) -> str:
        return ", ".join(
            f"{name} {_short(left)} of {limit}"
            for (name, left), limit in zip(self.amounts().items(), self.filter.limits, strict=True)
        )


@dataclass(frozen=True)
class Spent:
    """What has been charged to an account, unfinished reservations included."""

    filter: Filter
    sums: tuple[Amount, ...]

    def amounts(self) -> dict[str, Amount]:
        """The exact sum of each resource."""
        return dict(zip(self.filter.resources, self.sums, strict=True))

    def __str__(self) -> str:
        limits = zip(self.filter.resources, self.sums, self.filter.limits, strict=True)
        return ", ".join(f"{name} {spent} of {limit}" for name, spent, limit in limits)


@dataclass(frozen=True)
class LedgerCheck:
    """What a check of an account found; true if every part holds."""

    dataset: str
    head: str
    checks: tuple[Check, ...]

    def __bool__(self) -> bool:
        return all(check.passed for check in self.checks)

    def __str__(self) -> str:
        verdict = "intact" if self else "NOT intact"
        return "\n".join([f"{self.dataset}: {verdict}, head {self.head}", *(f"  {check}" for check in self.checks)])


def fold(events: Sequence[Event], filter: Filter) -> list[Entry]:
    """The entries that events tell of."""
    entries: dict[int, Entry] = {}
    for event in events:
        body = event.body
        if event.kind == "reserve":
            levels = tuple(level_from_json(level) for level in body["levels"])
            cost = dict(zip(filter.resources, (Amount.from_json(a) for a in body["cost"]), strict=True))
            single = levels[0] if len(levels) == 1 else levels
            entries[event.entry] = Entry(
                event.entry, event.time, single, cost, body["question"], None, "reserved", event.head, body["slots"]
            )
            continue
        entry = entries[event.entry]
        if event.kind == "slot":
            entry = replace(entry, used=(*entry.used, (body["question"], None)))
        elif event.slot:
            used = list(entry.used)
            used[event.slot - 1] = (used[event.slot - 1][0], body["answer"])
            entry = replace(entry, used=tuple(used))
        else:
            entry = replace(entry, answer=body["answer"], state="done")
        entries[event.entry] = replace(entry, head=event.head)
    return list(entries.values())


def check_sums(events: Sequence[Event], filter: Filter) -> Check:
    """That every event carries the sum of the costs up to it, within the limits, and every level what it costs."""
    spent = filter.total([])
    try:
        for event in events:
            if event.kind == "reserve":
                cost = tuple(Amount.from_json(a) for a in event.body["cost"])
                if not _pays(event.body, cost, filter):
                    return Check("sums", False, f"event {event.number} carries less than its level costs")
                spent = filter.total([spent, cost])
            if event.spent() != spent or not filter.allows([spent]):
                return Check("sums", False, f"event {event.number} carries a wrong sum, or more than the budget")
    except (KeyError, TypeError, ValueError, UtmostError):
        return Check("sums", False, "an event lacks its sums")
    return Check("sums", True, f"{Spent(filter, spent)}")


def _pays(body: Any, cost: tuple[Amount, ...], filter: Filter) -> bool:
    """Whether a single release was charged what its level costs; what was declared together has a cost of its own."""
    if len(body["levels"]) > 1 or body["slots"]:
        return True
    return filter.pays(level_from_json(body["levels"][0]), cost)


def _short(value: float) -> str:
    return f"{value:.6g}"
