"""Integrity checks of an account: its hash chain, the sums it carries, and the keys of its questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from utmost.accounting.account import RESUME, SUSPEND, Event, Filter, Spent, may_follow, question_key
from utmost.accounting.entries import TableMark
from utmost.accounting.storage import START, hash_mismatch
from utmost.errors import UtmostError
from utmost.exact import Amount
from utmost.mechanism.certification import Check
from utmost.privacy import level_from_json

MOST_TABLES = 10
"""How many tables of one account a check lists by name."""


@dataclass(frozen=True)
class LedgerCheck:
    """The results of checking an account; true if every check passed."""

    dataset: str
    head: str
    checks: tuple[Check, ...]

    def __bool__(self) -> bool:
        return all(check.passed for check in self.checks)

    def __str__(self) -> str:
        verdict = "intact" if self else "NOT intact"
        return "\n".join([f"{self.dataset}: {verdict}, head {self.head}", *(f"  {check}" for check in self.checks)])


def check_account(
    dataset: str, filter: Filter, events: Sequence[Event], keys: Sequence[str | None], head: str | None
) -> LedgerCheck:
    """Check the whole history of an account, as `Account.check` has read it from storage."""
    if not events:
        raise hash_mismatch(dataset, 0)
    checks = [check_chain(events)]
    if checks[0].passed:  # with a broken chain, sums and questions mean nothing
        checks += [check_sums(events, filter), check_questions(events, keys)]
        if any(event.kind in (SUSPEND, RESUME) for event in events):
            checks.append(check_suspensions(events))
        if any("table" in event.body for event in events):
            checks.append(tables_of(events))
    if head is not None:
        digest = head.strip().lower()
        place = next((i for i, event in enumerate(events) if event.head == digest), None)
        later = "" if place is None else f"event {place + 1} of {len(events)} has it"
        missing = "no event has it: an older copy of the ledger was put back, or the head is of another account"
        checks.append(Check("head", place is not None, later or missing))
    return LedgerCheck(dataset, events[-1].head, tuple(checks))


def check_chain(events: Sequence[Event]) -> Check:
    """Check that every event is hashed with the one before, and none is missing."""
    previous = START
    for expected, event in enumerate(events):
        if event.number != expected or event.head_after(previous) != event.head:
            return Check("chain", False, f"event {expected} was changed, removed or added after it was written")
        previous = event.head
    return Check("chain", True, f"{len(events)} event{'s' * (len(events) != 1)}, each hashed with the one before")


def check_questions(events: Sequence[Event], keys: Sequence[str | None]) -> Check:
    """Check that every question is filed under its own key, so that a repeated question finds its answer."""
    question_keys: dict[tuple[int, int], str] = {}
    for event, key in zip(events, keys, strict=True):
        if event.kind in ("reserve", "slot"):
            question_keys[event.entry, event.slot] = question_key(event.body["question"])
        if event.kind != "open" and key != question_keys.get((event.entry, event.slot)):
            return Check("questions", False, f"event {event.number} is filed under another question than its own")
    return Check("questions", True, f"{len(question_keys)} questions, each under its own key")


def check_suspensions(events: Sequence[Event]) -> Check:
    """Check that nothing was charged or recorded during a suspension, and every resumption follows a suspension."""
    for previous, event in pairwise(events):
        if not may_follow(previous.kind, event.kind):
            return Check("suspensions", False, f"event {event.number} cannot follow the one before")
    count = sum(event.kind == SUSPEND for event in events)
    state = f"suspended since {events[-1].time}" if events[-1].kind == SUSPEND else "none now"
    return Check("suspensions", True, f"{count}, with nothing charged or recorded meanwhile; {state}")


def tables_of(events: Sequence[Event]) -> Check:
    """The tables that the account was used with, in order: for information, never a failure."""
    marks = [TableMark.from_json(event.body.get("table")) for event in events]
    runs = [mark.name for mark, _ in groupby(mark for mark in marks if mark is not None)]
    if len(runs) == 1:
        return Check("table", True, f"{runs[0]}, the same for all events that name one")
    names = ", then ".join(runs[:MOST_TABLES]) + (f", and {len(runs) - MOST_TABLES} more" * (len(runs) > MOST_TABLES))
    return Check(
        "table", True, f"changed {len(runs) - 1} time{'s' * (len(runs) > 2)} under this data set name: {names}"
    )


def check_sums(events: Sequence[Event], filter: Filter) -> Check:
    """Check that every event carries the sum of the costs so far, within the limits, and charges cover their levels."""
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
    """Whether a single release was charged the cost of its level; batches and schedules have composed costs."""
    if len(body["levels"]) > 1 or body["slots"]:
        return True
    return filter.pays(level_from_json(body["levels"][0]), cost)
