"""The chain of events that an account is: only ever added to, each event hashed together with the one before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from utmost.accounting.amounts import Amount
from utmost.errors import BadFile, InvalidInput, shown
from utmost.exact.saved import canonical_text
from utmost.mechanism.certification import Check

START = "0" * 64
"""What stands before the first event of a chain."""
LONG = 2**64
"""Whole numbers from here on may be too long for JSON's writer, which says so."""


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


def following(last: Event, kind: str, entry: int, slot: int, body: Any) -> Event:
    """The next link of the chain, still to be stored."""
    time = datetime.now(UTC).isoformat(timespec="milliseconds")
    event = Event(last.dataset, last.number + 1, kind, entry, slot, time, body, "")
    return event._replace(head=event.hashed(last.head))


def changed(dataset: str, number: int | None = None) -> BadFile:
    """The error for an event whose hash is wrong."""
    where = "an event" if number is None else f"event {number}"
    return BadFile(
        f"{where} of the account {shown(dataset)} was changed after it was written; nothing can be spent from it. "
        "Restore the ledger from a backup and compare its head with the latest report."
    )


def check_chain(events: Sequence[Event]) -> Check:
    """That every event is hashed with the one before, and none is missing."""
    previous = START
    for expected, event in enumerate(events):
        if event.number != expected or event.hashed(previous) != event.head:
            return Check("chain", False, f"event {expected} was changed, removed or added after it was written")
        previous = event.head
    return Check("chain", True, f"{len(events)} event{'s' * (len(events) != 1)}, each hashed with the one before")


def check_questions(events: Sequence[Event], keys: Sequence[str | None]) -> Check:
    """That every question is filed under its own key, so that it is found when it is asked again."""
    asked: dict[tuple[int, int], str] = {}
    for event, key in zip(events, keys, strict=True):
        if event.kind in ("reserve", "slot"):
            asked[event.entry, event.slot] = question_key(event.body["question"])
        if event.kind != "open" and key != asked.get((event.entry, event.slot)):
            return Check("questions", False, f"event {event.number} is filed under another question than its own")
    return Check("questions", True, f"{len(asked)} questions, each under its own key")


def question_key(question: Any) -> str:
    """What identical questions have in common: the hash of their canonical text."""
    return hashlib.sha256(canonical(plain(question, "the question"))).hexdigest()


def plain(content: Any, name: str) -> Any:
    """The content as JSON knows it; the error says nothing of it, since an answer may be among it.

    Exact numbers that JSON lacks become texts such as "1/100", numpy's numbers Python's. Keys must be texts: JSON would
    write the key 1 as it writes "1".
    """
    try:
        return _as_read(content)
    except (TypeError, ValueError, RecursionError):
        raise InvalidInput(
            f"{name} is not plain JSON data; give dicts with texts as keys, lists, texts, finite numbers."
        ) from None


def _as_read(content: Any) -> Any:
    """What is read again after it was written; a list of a million numbers is not written for that."""
    if isinstance(content, dict) and content:
        return {json.loads(canonical(key)): _as_read(content[key]) for key in sorted(map(_as_name, content))}
    if isinstance(content, list) and set(map(type, content)) == {int} and max(map(abs, content)) < LONG:
        return list(content)
    return json.loads(canonical(_written(content)))


def _as_name(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError
    return key


def _written(content: Any) -> Any:
    if isinstance(content, dict):
        return {_as_name(key): _written(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_written(value) for value in content]
    if isinstance(content, Fraction) or (isinstance(content, Decimal) and content.is_finite()):
        return str(content)
    return content.item() if isinstance(content, np.generic) else content


def canonical(content: Any) -> bytes:
    """One text for one content, whatever the order of keys."""
    return canonical_text(content).encode()
