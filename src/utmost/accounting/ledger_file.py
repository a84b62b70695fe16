"""A ledger in one file that is only ever added to, under one lock.

The file has a first line that says what it is, two *marks*, and then a line for every transaction, which is one event
or several that count together. A mark says how far the file is written: the end in bytes, the number of lines, a hash
over all of them, and a hash over the mark itself. To add a line it is written and synced to the disk, then the older of
the two marks is overwritten and synced. So

- a power failure at any moment leaves a valid mark and all the lines it covers; behind them is half a line that was
  never confirmed, and is dropped, or a whole one, which counts;
- a truncated file is shorter than its mark states, and is refused;
- any changed bit breaks a hash, and is refused, or is in a mark, and then the other mark is used.

A line is accepted only if it is, byte for byte, the canonical line of its content and if its hashes continue the chains
of its accounts. An index then holds the places of the events of an account, an entry and a question; an event that is
needed again is read again, and its hash verified again.

There is no log beside the file that could be lost, and the name by which the file is opened makes no difference: the
lock and the content belong to the file, not to its name.

A new file is completed under a temporary name and then linked to its own, so a crash leaves no half ledger.
"""

from __future__ import annotations

import errno
import hashlib
import os
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from utmost.accounting.account import RESUME, SUSPEND, Event, canonical, may_follow, question_key
from utmost.accounting.storage import START, Book, Storage, hash_mismatch
from utmost.errors import BadFile, LedgerFailed
from utmost.exact.files import BINARY, cut, read_at, sync, sync_folder, try_lock, unlock, write_at
from utmost.exact.json_text import parse_json

VERSION = 2
BLOCK = 512
"""Bytes of the first line and of each mark: a disk sector, which is written in one piece."""
MARKS = (BLOCK, 2 * BLOCK)
"""Offsets of the two marks."""
BEGIN = 3 * BLOCK
"""Offset of the first event."""
PATIENCE = 60.0
"""Seconds to wait for the lock."""
PIECE = 2**20
"""Bytes read at once."""

KINDS = (str, int, str, int, int, str, dict, str)
"""The types of the fields of an event."""
Fetch = Callable[[int, int], bytes]
"""Reads a number of bytes from an offset: `fetch(offset, size)`."""


class Mark(NamedTuple):
    """The extent of the valid content of a file: lines, end in bytes, and a hash over all lines."""

    lines: int
    end: int
    digest: str


class File(Storage):
    """A book in one file."""

    def __init__(self, path: Path) -> None:
        self.where, self._path = str(path), path.absolute()
        self._lock, self._handle, self._busy = threading.RLock(), -1, False
        if not self._path.exists():
            make(self._path)
        self._index = Index(BEGIN)
        self._open()
        with self.read():
            pass

    def _open(self) -> None:
        """Open the file for this process; a fork needs a handle of its own, since an inherited one shares the lock."""
        try:
            self._handle = os.open(self._path, os.O_RDWR | BINARY)
        except OSError as problem:
            if problem.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise BadFile(f"{self._path} cannot be read: {problem.strerror}.") from None
            try:
                self._handle = os.open(self._path, os.O_RDONLY | BINARY)  # enough to show what was spent
            except OSError as second:
                raise BadFile(f"{self._path} cannot be read: {second.strerror}.") from None
        self._owner = os.getpid()
        status = os.fstat(self._handle)
        self._identity, self._marks = (status.st_dev, status.st_ino), b""

    @contextmanager
    def write(self, *datasets: str) -> Iterator[Book]:
        with self._transaction() as book:
            yield book
            self._require_same_file()
            if book.added:
                self._add(book.line())

    @contextmanager
    def read(self) -> Iterator[Book]:
        with self._transaction(shared=True) as book:
            yield book
            self._require_same_file()

    @contextmanager
    def _transaction(self, shared: bool = False) -> Iterator[Lines]:
        if self._handle < 0:
            raise LedgerFailed(f"the ledger {self.where} is closed; open it again.")
        if self._owner != os.getpid():
            os.close(self._handle)  # the parent keeps its own, and its lock
            self._lock, self._busy = threading.RLock(), False
            self._open()
        with self._lock:
            assert not self._busy, "one transaction inside another would let go of its lock"
            self._take_turn(shared)
            self._busy = True
            try:
                self._require_same_file()
                self._catch_up()
                yield Lines(self._index, lambda start, size: read_at(self._handle, start, size), self._reread)
            except OSError as problem:
                raise LedgerFailed(
                    f"the ledger {self.where} could not be read ({problem.strerror}); nothing was recorded."
                ) from None
            finally:
                self._busy = False
                with suppress(OSError):
                    unlock(self._handle)

    def _take_turn(self, shared: bool) -> None:
        """Wait for the lock on the file, which is the same by whatever name others opened it."""
        until, pause = time.monotonic() + PATIENCE, 0.0001
        try:
            while not try_lock(self._handle, shared):
                if time.monotonic() > until:
                    raise LedgerFailed(
                        f"the ledger {self.where} stayed busy for {PATIENCE:g} s; nothing was recorded; try again."
                    )
                time.sleep(pause * random.uniform(0.5, 1))  # not all at the same moment
                pause = min(2 * pause, 0.01)
        except OSError as problem:
            raise LedgerFailed(
                f"the ledger {self.where} cannot be locked ({problem.strerror}), and without a lock two could "
                "spend at once; keep it on a file system that has locks."
            ) from None

    def _require_same_file(self) -> None:
        """Refuse a file that no longer has the ledger's name: others spend from the file that has it now."""
        try:
            status = os.stat(self._path)
            unchanged = (status.st_dev, status.st_ino) == self._identity
        except OSError:
            unchanged = False
        if not unchanged:
            raise BadFile(
                f"the ledger {self.where} was deleted or replaced while it was open; nothing was charged. Open it "
                "anew, and compare its head with the latest report."
            )

    def _catch_up(self) -> None:
        """Read the lines added by other processes since the last transaction."""
        if not self._marks:  # opened just now, and nobody else can write while this is read
            _require_ledger(read_at(self._handle, 0, BLOCK), self._path)
        marks, size = read_at(self._handle, BLOCK, 2 * BLOCK), os.fstat(self._handle).st_size
        if marks == self._marks and size == self._index.end:
            return
        latest = _latest(marks, self.where)
        if latest.lines < self._index.lines:
            self._index = self._reread()  # an older copy, which is refused, or the mark of the last event was lost
        else:
            _extend(self._index, self._handle, self.where)
        self._marks = marks

    def _reread(self) -> Index:
        """A new index of the whole file as it is on disk now."""
        _require_ledger(read_at(self._handle, 0, BLOCK), self._path)
        index = Index(BEGIN)
        _extend(index, self._handle, self.where)
        if not index.continues(self._index):
            raise _damage_error(self.where, "its events are not those that were read before")
        return index

    def _add(self, line: bytes) -> None:
        """Write a line, then its mark, each synced to disk before the next step."""
        end = self._index.end
        try:
            if os.fstat(self._handle).st_size > end:
                cut(self._handle, end)  # half a line that a crash left
            write_at(self._handle, line, end)
            sync(self._handle)
        except OSError as problem:
            try:
                cut(self._handle, end)
            except OSError:
                raise self._failed(problem, "It may have been recorded all the same: look at `entries()`.") from None
            raise self._failed(problem, "Nothing was recorded.") from None
        self._index.take(line)
        mark = Mark(self._index.lines, self._index.end, self._index.digest)
        first, second = _marks(self._marks)
        older = 0 if first is None or (second is not None and first <= second) else 1
        blocks = [self._marks[:BLOCK], self._marks[BLOCK:]]
        blocks[older] = _write_mark(mark)
        try:
            write_at(self._handle, blocks[older], MARKS[older])
            sync(self._handle)
        except OSError as problem:
            raise self._failed(problem, "It may have been recorded all the same: look at `entries()`.") from None
        self._marks = b"".join(blocks)

    def _failed(self, problem: OSError, recorded: str) -> LedgerFailed:
        return LedgerFailed(f"the ledger {self.where} could not be written ({problem.strerror}). {recorded}")

    def beside(self, ending: str) -> Path | None:
        path = Path(os.path.realpath(self._path))
        return path.with_name(path.name + ending) if os.access(path.parent, os.W_OK) else self.in_state(ending)

    @property
    def mode(self) -> int:
        return os.fstat(self._handle).st_mode & 0o666

    def close(self) -> None:
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)


def _extend(index: Index, handle: int, where: str) -> None:
    """Add all further lines of a file to an index; `BadFile` if they disagree with its marks.

    A line behind the latest mark counts if it is whole. If not, a crash left it before it was confirmed. But a crash
    does not also damage a mark: with a damaged mark the line may be the one it stood for, so the file is refused.
    """
    raw, size = read_at(handle, BLOCK, 2 * BLOCK), os.fstat(handle).st_size
    latest = _latest(raw, where)
    if size < latest.end:
        raise _damage_error(where, f"it has {size} bytes where {latest.end} were written")
    _require_mark(index, latest, where)
    for line in _lines(handle, index.end, size):
        try:
            index.take(line)
        except BadFile as problem:
            if index.end < latest.end or None in _marks(raw):
                raise _damage_error(where, f"the line at byte {index.end}: {str(problem).partition(';')[0]}") from None
            return
        _require_mark(index, latest, where)
    if index.lines < latest.lines:
        raise _damage_error(where, f"it has {index.lines} lines where {latest.lines} were written")


def _require_mark(index: Index, mark: Mark, where: str) -> None:
    if index.lines == mark.lines and (index.end, index.digest) != (mark.end, mark.digest):
        raise _damage_error(where, f"its first {mark.lines} lines are not those that were written")


def _lines(handle: int, start: int, end: int) -> Iterator[bytes]:
    """The lines of a part of a file; the last one may be incomplete."""
    partial = b""
    while start < end:
        piece = read_at(handle, start, min(PIECE, end - start))
        start += len(piece)
        *complete, partial = (partial + piece).split(b"\n")
        yield from (line + b"\n" for line in complete)
    if partial:
        yield partial


def _write_mark(mark: Mark) -> bytes:
    content = {"digest": mark.digest, "end": mark.end, "lines": mark.lines}
    return _block({**content, "sha256": hashlib.sha256(canonical(content)).hexdigest()})


def _marks(raw: bytes) -> tuple[Mark | None, Mark | None]:
    """The two marks; None for a damaged one, such as one being written when power failed."""
    first, second = (_as_mark(raw[at : at + BLOCK]) for at in (0, BLOCK))
    return first, second


def _as_mark(raw: bytes) -> Mark | None:
    try:
        content = parse_json(raw)
        mark = Mark(content["lines"], content["end"], content["digest"])
        return mark if _write_mark(mark) == raw else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _latest(raw: bytes, where: str) -> Mark:
    valid = [mark for mark in _marks(raw) if mark]
    if not valid:
        raise _damage_error(where, "neither of its marks says how far it was written")
    return max(valid)


def _block(content: dict[str, object]) -> bytes:
    """A line of canonical JSON, padded to a block."""
    return canonical(content).ljust(BLOCK - 1) + b"\n"


def _first_line() -> bytes:
    return _block({"file": "ledger of Utmost", "version": VERSION})


def _require_ledger(block: bytes, path: Path) -> None:
    """Refuse a file whose first line is not that of a ledger of this version."""
    if block == _first_line():
        return
    try:
        content = parse_json(block)
        version = content["version"] if content["file"] == "ledger of Utmost" else None
    except (ValueError, TypeError, KeyError, RecursionError):
        version = None
    if isinstance(version, int) and version != VERSION:
        raise BadFile(
            f"{path} is a ledger of version {version}; this Utmost keeps version {VERSION}. It was left as it is."
        )
    raise BadFile(f"{path} is not a ledger of Utmost; it was left as it is. Name another file, or restore it.")


def _damage_error(where: str, reason: str) -> BadFile:
    return BadFile(
        f"the ledger {where} is damaged and was left as it is; nothing can be spent from it: {reason.rstrip('.')}. "
        "Restore it from a backup and compare its head with the latest report."
    )


def make(path: Path) -> None:
    """Make an empty ledger that is whole when it appears; where another process was first, its ledger stays."""
    if not path.parent.is_dir():
        raise BadFile(f"{path.parent} is not a folder; make it, or keep the ledger elsewhere.")
    index = Index(BEGIN)
    mark = _write_mark(Mark(index.lines, index.end, index.digest))
    name = None
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.new-")
        try:
            write_at(handle, _first_line() + mark + mark, 0)
            sync(handle)
        finally:
            os.close(handle)
        _give_name(name, path)
        sync_folder(path.parent)
    except OSError as problem:
        raise BadFile(f"no ledger can be made in {path.parent}: {problem.strerror}.") from None
    finally:
        if name is not None:
            Path(name).unlink(missing_ok=True)


def _give_name(name: str, path: Path) -> None:
    try:
        os.link(name, path)
    except FileExistsError:
        return
    except OSError:  # a file system without links
        with suppress(FileExistsError):
            if not path.exists():
                os.rename(name, path)


# ---- a book as lines of text, one transaction each ----


@dataclass
class Track:
    """The index of one account: its secret, and the places, heads, entries, question keys and answers of its events."""

    secret: bytes
    places: list[tuple[int, int]] = field(default_factory=list)
    heads: list[bytes] = field(default_factory=list)
    entries: dict[int, list[int]] = field(default_factory=dict)
    asked: dict[tuple[int, int], str] = field(default_factory=dict)
    answers: dict[str, list[int]] = field(default_factory=dict)
    last: Event | None = None

    def end(self) -> tuple[int, str, str]:
        """The number of the next event, the head before it, and the kind of the latest one."""
        number = len(self.heads)
        return number, self.head_before(number), "" if self.last is None else self.last.kind

    def head_before(self, number: int) -> str:
        """The head of the chain before an event."""
        return self.heads[number - 1].hex() if number else START


class Index:
    """The places of all events of a book, up to the byte `end`; `digest` is a hash over all lines so far."""

    def __init__(self, start: int = 0) -> None:
        self.end, self.lines, self.digest = start, 0, START
        self.tracks: dict[str, Track] = {}

    def take(self, line: bytes) -> None:
        """Add the events of the next line to the index: all of them, or none if one breaks its chain (`BadFile`)."""
        events, secret = read_line(line)
        tracks = {event.dataset: self._track(event, secret) for event in events}
        _require_next(events, tracks)
        for event in events:
            _index_event(tracks[event.dataset], event, (self.end, len(line)))
        self.tracks |= tracks
        self.end, self.lines, self.digest = self.end + len(line), self.lines + 1, next_digest(self.digest, line)

    def _track(self, event: Event, secret: bytes | None) -> Track:
        """The track of the account of an event; a new one if the event opens the account."""
        track = self.tracks.get(event.dataset)
        if track is None and secret is not None and event.body.get("secret") == hashlib.sha256(secret).hexdigest():
            return Track(secret)
        if secret is not None or track is None:
            raise hash_mismatch(event.dataset, event.number)
        return track

    def continues(self, earlier: Index) -> bool:
        """Whether this index extends an earlier one of the same book."""
        return all(
            dataset in self.tracks and self.tracks[dataset].heads[: len(track.heads)] == track.heads
            for dataset, track in earlier.tracks.items()
        )


def _require_next(events: Sequence[Event], tracks: dict[str, Track]) -> None:
    """Refuse events that do not continue the chains of their accounts, or complete a question that was not reserved."""
    ends: dict[str, tuple[int, str, str]] = {}
    places = set[tuple[str, int, int]]()
    for event in events:
        track, place = tracks[event.dataset], (event.dataset, event.entry, event.slot)
        number, head, previous_kind = ends.get(event.dataset) or track.end()
        if event.kind == "complete":
            sound = place in places or place[1:] in track.asked
        elif event.kind in (SUSPEND, RESUME):
            sound = place[1:] == (0, 0)
        else:
            sound = event.kind == "open" or "question" in event.body
            places.add(place)
        sound = sound and may_follow(previous_kind, event.kind)
        if not sound or event.number != number or event.head_after(head) != event.head:
            raise hash_mismatch(event.dataset, event.number)
        ends[event.dataset] = number + 1, event.head, event.kind


def _index_event(track: Track, event: Event, place: tuple[int, int]) -> None:
    """Index an event by its number, its entry and its question."""
    track.places.append(place)
    track.heads.append(bytes.fromhex(event.head))
    track.last = event
    if event.kind in ("open", SUSPEND, RESUME):
        return
    track.entries.setdefault(event.entry, []).append(event.number)
    if event.kind == "complete":
        track.answers.setdefault(track.asked[event.entry, event.slot], []).append(event.number)
    else:
        track.asked[event.entry, event.slot] = question_key(event.body["question"])


def write_line(events: Sequence[Event], secret: bytes | None = None) -> bytes:
    """The line of a transaction's events; the opening of an account has a separate line, with the account's secret."""
    assert secret is None or len(events) == 1
    contents = [{"event": event[:-1], "head": event.head} for event in events]
    if secret is not None:
        contents = [{**contents[0], "secret": secret.hex()}]
    return canonical(contents if len(contents) > 1 else contents[0]) + b"\n"


def read_line(line: bytes) -> tuple[list[Event], bytes | None]:
    """The events of a line, and the secret if it opens an account; `BadFile` if the line is not canonical."""
    try:
        content = parse_json(line)
        contents = content if isinstance(content, list) else [content]
        events = [Event._make((*record["event"], record["head"])) for record in contents]
        secret = bytes.fromhex(contents[0]["secret"]) if "secret" in contents[0] and len(contents) == 1 else None
        if write_line(events, secret) == line and all(tuple(map(type, event)) == KINDS for event in events):
            return events, secret
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
        pass
    raise BadFile("a line is not one that Utmost wrote")


def _event_in(line: bytes, dataset: str, number: int) -> Event:
    """An event of an account in a line; `BadFile` if the line does not hold it."""
    for event in read_line(line)[0]:
        if (event.dataset, event.number) == (dataset, number):
            return event
    raise hash_mismatch(dataset, number)


def next_digest(digest: str, line: bytes) -> str:
    """The hash over all lines, extended by one line."""
    return hashlib.sha256(digest.encode() + line).hexdigest()


class Lines(Book):
    """A book read through an index; new events wait in `added` until the transaction ends."""

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
        events = [_event_in(self._fetch(*place), dataset, number) for number, place in enumerate(track.places)]
        return events, [track.asked.get((event.entry, event.slot)) for event in events]

    def add(self, event: Event, key: str | None, secret: bytes | None = None) -> None:
        self.added.append(event)
        self._secret = secret

    def line(self) -> bytes:
        """The line that the transaction writes."""
        return write_line(self.added, self._secret)

    def _event(self, dataset: str, number: int) -> Event:
        """Read an event again and verify it against the index and its hash."""
        track = self._index.tracks[dataset]
        try:
            event = _event_in(self._fetch(*track.places[number]), dataset, number)
        except BadFile:
            raise hash_mismatch(dataset, number) from None
        if event.head != track.heads[number].hex() or event.head_after(track.head_before(number)) != event.head:
            raise hash_mismatch(dataset, number)
        return event
