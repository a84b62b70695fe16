"""The chain of events that an account is: only ever added to, each event hashed together with the one before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from utmost.accounting.amounts import Amount
from utmost.accounting.storage import Run
from utmost.certification import Check
from utmost.errors import BadFile, InvalidInput

START = "0" * 64
"""What stands before the first event of a chain."""


class Event(NamedTuple):
    """One link of the chain, as stored."""

    dataset: str
    number: int
    kind: str
    entry: int
    slot: int
    time: str
    body: Any
    head: str

    def spent(self) -> tuple[Amount, ...]:
        """The sums after this event."""
        return tuple(Amount.from_json(amount) for amount in self.body["spent"])

    def hashed(self, previous: str) -> str:
        """The head of the chain with this event after `previous`."""
        return hashlib.sha256(canonical([previous, *self[:-1]])).hexdigest()


def append(run: Run, last: Event, kind: str, entry: int, slot: int, body: Any, question: str | None) -> Event:
    """The next link of the chain, stored."""
    time = datetime.now(UTC).isoformat(timespec="milliseconds")
    event = Event(last.dataset, last.number + 1, kind, entry, slot, time, body, "")
    event = event._replace(head=event.hashed(last.head))
    text = canonical(event.body).decode()
    values = (*event[:6], text, question, event.head)
    run("INSERT INTO utmost_events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", *values)
    return event


def read(run: Run, dataset: str, condition: str, *values: Any) -> list[Event]:
    """The events of a data set that fulfil a condition."""
    columns = "dataset, number, kind, entry, slot, time, body, head"
    rows = run(f"SELECT {columns} FROM utmost_events WHERE dataset = ? AND {condition}", dataset, *values)
    try:
        return [Event._make((*row[:6], json.loads(row[6]), row[7])) for row in rows]
    except ValueError:
        raise changed(dataset) from None


def verified(event: Event, previous: str) -> Event:
    """The event, if its hash is right."""
    if event.hashed(previous) != event.head:
        raise changed(event.dataset, event.number)
    return event


def changed(dataset: str, number: int | None = None) -> BadFile:
    """The error for an event whose hash is wrong."""
    where = "an event" if number is None else f"event {number}"
    return BadFile(
        f"{where} of the account {dataset!r} was changed after it was written; nothing can be spent from it. "
        "Restore the ledger from a backup and compare its head with the latest report."
    )


def check_chain(events: Sequence[Event]) -> Check:
    """That every event is hashed with the one before, and none is missing."""
    previous = START
    for expected, event in enumerate(events):
        if event.number != expected or event.hashed(previous) != event.head:
            return Check("chain", False, f"event {expected} was changed, removed or added after it was written")
        previous = event.head
    return Check("chain", True, f"{len(events)} events, each hashed with the one before")


def question_key(question: Any) -> str:
    """What identical questions have in common: the hash of their canonical text."""
    return hashlib.sha256(canonical(plain(question, "the question"))).hexdigest()


def plain(content: Any, name: str) -> Any:
    """The content as JSON knows it; the error says nothing of it, since an answer may be among it."""
    try:
        return json.loads(canonical(content))
    except (TypeError, ValueError, RecursionError):
        raise InvalidInput(f"{name} is not plain JSON data; give dicts, lists, texts, finite numbers.") from None


def canonical(content: Any) -> bytes:
    """One text for one content, whatever the order of keys."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
