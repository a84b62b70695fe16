"""The chain of events that an account is, and the lines of text that it is kept in.

A chain is only ever added to, each event hashed together with the one before. A transaction is one line: most hold one
event; what charges or answers two accounts at once is one line with an event of each, so that a line which is there in
part is one that nobody was charged by.

A line is read once, when it is met, and is believed only if it is, byte for byte, the line that its content writes and
if its hashes continue the chains of its accounts. From then on an index says where the events of an account, an entry
and a question lie; an event that is needed again is read again, and compared with its hash again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from utmost.accounting.storage import Book
from utmost.errors import BadFile, InvalidInput, shown
from utmost.exact import Amount
from utmost.exact.saved import canonical_text

START = "0" * 64
"""What stands before the first event of a chain."""
LONG = 2**64
"""Whole numbers from here on may be too long for JSON's writer, which says so."""

KINDS = (str, int, str, int, int, str, dict, str)
"""What the parts of an event are."""
Fetch = Callable[[int, int], bytes]
"""Reads so many bytes from a place."""


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


@dataclass
class Track:
    """What is known of one account: its secret, where its events lie and what their heads are, and what they answer."""

    secret: bytes
    places: list[tuple[int, int]] = field(default_factory=list)
    heads: list[bytes] = field(default_factory=list)
    entries: dict[int, list[int]] = field(default_factory=dict)
    asked: dict[tuple[int, int], str] = field(default_factory=dict)
    answers: dict[str, list[int]] = field(default_factory=dict)
    last: Event | None = None

    def head_before(self, number: int) -> str:
        """The head of the chain before an event."""
        return self.heads[number - 1].hex() if number else START


class Index:
    """Where every event of a book lies, up to the byte `end`; `digest` is a hash over all lines so far."""

    def __init__(self, start: int = 0) -> None:
        self.end, self.lines, self.digest = start, 0, START
        self.tracks: dict[str, Track] = {}

    def take(self, line: bytes) -> None:
        """Take the events of the next line into the index; all, or with `BadFile` none if one breaks its chain."""
        events, secret = read_line(line)
        tracks = {event.dataset: self._track(event, secret) for event in events}
        _require_next(events, tracks)
        for event in events:
            _file(tracks[event.dataset], event, (self.end, len(line)))
        self.tracks |= tracks
        self.end, self.lines, self.digest = self.end + len(line), self.lines + 1, next_digest(self.digest, line)

    def _track(self, event: Event, secret: bytes | None) -> Track:
        """What is known of the account of an event, which is new if the event opens it."""
        track = self.tracks.get(event.dataset)
        if track is None and secret is not None and event.body.get("secret") == hashlib.sha256(secret).hexdigest():
            return Track(secret)
        if secret is not None or track is None:
            raise changed(event.dataset, event.number)
        return track

    def continues(self, earlier: Index) -> bool:
        """Whether this index has all that an earlier one of the same book had."""
        return all(
            dataset in self.tracks and self.tracks[dataset].heads[: len(track.heads)] == track.heads
            for dataset, track in earlier.tracks.items()
        )


def _require_next(events: Sequence[Event], tracks: dict[str, Track]) -> None:
    """Refuse events that do not continue the chains of their accounts, one after the other, or answer nothing asked."""
    ahead: dict[str, tuple[int, str]] = {}
    asked = set[tuple[str, int, int]]()
    for event in events:
        track, place = tracks[event.dataset], (event.dataset, event.entry, event.slot)
        number, head = ahead.get(event.dataset) or (len(track.heads), track.head_before(len(track.heads)))
        if event.kind == "complete":
            sound = place in asked or place[1:] in track.asked
        else:
            sound = event.kind == "open" or "question" in event.body
            asked.add(place)
        if not sound or event.number != number or event.hashed(head) != event.head:
            raise changed(event.dataset, event.number)
        ahead[event.dataset] = number + 1, event.head


def _file(track: Track, event: Event, place: tuple[int, int]) -> None:
    """Put an event where its number, its entry and its question are looked for."""
    track.places.append(place)
    track.heads.append(bytes.fromhex(event.head))
    track.last = event
    if event.kind == "open":
        return
    track.entries.setdefault(event.entry, []).append(event.number)
    if event.kind == "complete":
        track.answers.setdefault(track.asked[event.entry, event.slot], []).append(event.number)
    else:
        track.asked[event.entry, event.slot] = question_key(event.body["question"])


def write_line(events: Sequence[Event], secret: bytes | None = None) -> bytes:
    """The events of one transaction as a line of text; an opening has a line of its own, with the account's secret."""
    assert secret is None or len(events) == 1
    contents = [{"event": event[:-1], "head": event.head} for event in events]
    if secret is not None:
        contents = [{**contents[0], "secret": secret.hex()}]
    return canonical(contents if len(contents) > 1 else contents[0]) + b"\n"


def read_line(line: bytes) -> tuple[list[Event], bytes | None]:
    """The events of a line, and the secret of its account if it opens one; `BadFile` if no events write this line."""
    try:
        content = json.loads(line)
        contents = content if isinstance(content, list) else [content]
        events = [Event._make((*each["event"], each["head"])) for each in contents]
        secret = bytes.fromhex(contents[0]["secret"]) if "secret" in contents[0] and len(contents) == 1 else None
        if write_line(events, secret) == line and all(tuple(map(type, event)) == KINDS for event in events):
            return events, secret
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
        pass
    raise BadFile("a line is not one that Utmost wrote")


def _one_of(line: bytes, dataset: str, number: int) -> Event:
    """The event of an account in a line that has it; `BadFile` if it has no such event."""
    for event in read_line(line)[0]:
        if (event.dataset, event.number) == (dataset, number):
            return event
    raise changed(dataset, number)


def next_digest(digest: str, line: bytes) -> str:
    """The hash over all lines, with one more."""
    return hashlib.sha256(digest.encode() + line).hexdigest()


class Lines(Book):
    """A book whose lines are found by an index; what is added waits in `added` until the transaction ends."""

    def __init__(self, index: Index, fetch: Fetch, reread: Callable[[], Index]) -> None:
        self._index, self._fetch, self._reread = index, fetch, reread
        self.added: list[Event] = []
        self._secret: bytes | None = None

    def datasets(self) -> list[str]:
        return sorted(self._index.tracks)

    def secret(self, dataset: str) -> bytes | None:
        return self._index.tracks[dataset].secret if dataset in self._index.tracks else None

    def first(self, dataset: str) -> Event | None:
        return self._event(dataset, 0) if dataset in self._index.tracks else None

    def last(self, dataset: str) -> Event | None:
        return self._index.tracks[dataset].last if dataset in self._index.tracks else None

    def events(self, dataset: str) -> list[Event]:
        return [self._event(dataset, number) for number in range(len(self._index.tracks[dataset].heads))]

    def of_entry(self, dataset: str, entry: int) -> list[Event]:
        return [self._event(dataset, number) for number in self._index.tracks[dataset].entries.get(entry, ())]

    def answers(self, dataset: str, key: str) -> Iterator[Event]:
        numbers = self._index.tracks[dataset].answers.get(key, ())
        return (self._event(dataset, number) for number in reversed(numbers))

    def stored(self, dataset: str) -> tuple[list[Event], list[str | None]]:
        index = self._reread()
        track = index.tracks[dataset]
        events = [_one_of(self._fetch(*place), dataset, number) for number, place in enumerate(track.places)]
        return events, [track.asked.get((event.entry, event.slot)) for event in events]

    def add(self, event: Event, key: str | None, secret: bytes | None = None) -> None:
        self.added.append(event)
        self._secret = secret

    def line(self) -> bytes:
        """All that was added, as the one line that is to be written."""
        return write_line(self.added, self._secret)

    def _event(self, dataset: str, number: int) -> Event:
        """An event, read again and compared with what was believed before."""
        track = self._index.tracks[dataset]
        try:
            event = _one_of(self._fetch(*track.places[number]), dataset, number)
        except BadFile:
            raise changed(dataset, number) from None
        if event.head != track.heads[number].hex() or event.hashed(track.head_before(number)) != event.head:
            raise changed(dataset, number)
        return event
