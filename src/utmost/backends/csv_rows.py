"""Read CSV files by one public rule under which every record is a row, whatever it contains.

DuckDB's reader has no setting under which this is so: a bare carriage return, too few entries, or a line above its
limit makes a row vanish or become two, and then the number of rows tells what somebody's row says. Here no bytes are an
error, and nothing is guessed from rows. The rule:

* The first line, up to the first line feed, is the header. It decides the delimiter (the most frequent of comma,
  semicolon, tab and bar), the number of columns, and how lines end: if it ends in CR LF, a carriage return just before
  the line feed that ends a record is part of that end; if it ends in a line feed alone, a carriage return is data.
* A record ends at a line feed outside quotes, or at the end of the file; a bare carriage return ends nothing.
* A quote opens a quoted entry only as the first byte of an entry. In it, two quotes are one, and anything else is data,
  delimiters and line feeds too; the next single quote closes it. What stands between that and the next delimiter or
  end of record belongs to the entry as it is. In any other place a quote is data. (Python's `csv` reads quotes alike.)
* Entries that a record lacks are null; surplus ones are ignored. An empty entry, quoted or not, is null; so is one that
  is not UTF-8, and one that ends more than 64 MiB after the start of its record. NUL is data. A byte order mark before
  the header is no part of it.
* An empty line is a row, with null, in a file of one column (as which some writers write null), and no row in others:
  there a row has a delimiter. Nothing after the last line feed is no record.

What this relies on: the file was made of rows by a writer that quotes every entry with a quote, a delimiter or a line
feed in it, and doubles the quotes, as pandas, polars, R, DuckDB, PostgreSQL, Excel and Python's `csv` do. Then what is
read is the rows that were written, and no entry changes how another row is read. A writer that does not, and puts a
quote at the start of an entry and none at its end, makes one record of all lines up to the next quote: no reader can
tell that from an entry with line feeds in it. Since the number of rows then depends on what a row says, no answer about
a CSV file has a total without noise (`Source.fixed_rows`).

The file is converted once, when the first statement runs, to Parquet with columns of text, which DuckDB reads.
"""

from __future__ import annotations

import csv
import gzip
import os
import re
import tempfile
import threading
import time
import weakref
import zlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from utmost.errors import BadFile
from utmost.exact.arrays import Integers
from utmost.queries.expressions.sql import quoted_name

DELIMITERS = ",;\t|"
MOST_HEADER = 2**20
CHUNK = 2**21
"""Bytes per block of the file."""
GROUP = 2**24
"""Bytes per row group of the Parquet file."""
DICTIONARY = 2**16
"""Largest dictionary of a column in a row group, in bytes; DuckDB reads dictionaries fast."""
LONGEST = 2**26
"""An entry that ends further than this from the start of its record is null."""
GZIPPED = 10
"""Assumed ratio of the size of the rows to that of a gzipped file."""
SETTLED = 2.0
"""Seconds after which a change of a file shows in its modification time, even on a file system with coarse times."""
LINE_FEED, CARRIAGE_RETURN, QUOTE = 10, 13, 34


@dataclass(frozen=True)
class Dialect:
    """The format of a CSV file, read off its header alone.

    Attributes
    ----------
    names : tuple of str
        The names of the columns.
    delimiter : str
        The character between entries.
    crlf : bool
        Whether lines end in CR LF.
    start : int
        The byte at which the rows begin.
    """

    names: tuple[str, ...]
    delimiter: str
    crlf: bool
    start: int


def header_of(file: Path) -> Dialect:
    """Read the dialect and columns of a file; raises `BadFile` if its first line does not name every column once."""
    try:
        with _opened(file) as lines:  # in bytes, so that no other line is decoded
            line = lines.readline(MOST_HEADER)
        first, crlf = line.decode("utf-8-sig").removesuffix("\n"), line.endswith(b"\r\n")
        first = first.removesuffix("\r") if crlf else first
        if first.count('"') % 2 or first.endswith("\r") or len(line) == MOST_HEADER:
            raise csv.Error("a name goes over the end of the line, or there is no end")
        delimiter = max(DELIMITERS, key=lambda mark: (first.count(mark), mark == ","))
        header = next(csv.reader([first], delimiter=delimiter), [])
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error):
        raise BadFile(
            f"the first line of {str(file)!r} cannot be read as a CSV header; save it as UTF-8, with a first line that "
            "names the columns and ends in a line feed."
        ) from None
    names = tuple(name.strip() for name in header)
    if not names or any(not name for name in names) or len({name.lower() for name in names}) < len(names):
        raise BadFile(
            f"the first line of {str(file)!r} is not a header: it must name every column once, and names must "
            "differ in more than upper and lower case."
        )
    return Dialect(names, delimiter, crlf, len(line))


class CsvFile:
    """A CSV file with its rows as Parquet, converted when they are first read, and again if the file has changed.

    Threads may share it: one converts, the others wait. A Parquet file is deleted once the CSV file has changed and no
    statement reads the old rows any more.
    """

    def __init__(self, file: Path) -> None:
        self.file, self.dialect = file, header_of(file)
        self._lock = threading.Lock()
        self._converted: _Converted | None = None

    @property
    def room(self) -> int:
        """Estimated bytes on the disk that the conversion still needs; 0 if it is done."""
        if self._converted is not None:
            return 0
        size = self.file.stat().st_size
        return size * GZIPPED if self.file.name.lower().endswith(".gz") else size

    def is_unchanged(self) -> bool:
        """Whether the file exists with the same header."""
        try:
            return header_of(self.file) == self.dialect
        except BadFile:
            return False

    @contextmanager
    def parquet(self, folder: str | os.PathLike[str]) -> Iterator[Path]:
        """The rows as a Parquet file in a private folder, which is not deleted within the `with` block."""
        with self._lock:  # others wait for the conversion
            stamp = stamp_of(self.file)
            converted = self._converted
            if converted is None or converted.stamp != stamp or not converted.path.exists():
                settled = time.time() - max(stamp[:2]) / 1e9 > SETTLED
                converted = _Converted(as_parquet(self.file, self.dialect, folder), stamp if settled else ())
                self._converted = converted
        yield converted.path

    def select(self, path: Path) -> str:
        """SQL for the rows of a converted file, under the names of the columns."""
        plain = "".join(f"[{c}]" if c in "*?[" else c for c in str(path)).replace("'", "''")
        columns = ", ".join(f"c{i} AS {quoted_name(name)}" for i, name in enumerate(self.dialect.names))
        return f"SELECT {columns} FROM read_parquet('{plain}', hive_partitioning = false)"

    def select_none(self) -> str:
        """SQL for no rows of these columns."""
        columns = ", ".join(f"CAST(NULL AS VARCHAR) AS {quoted_name(name)}" for name in self.dialect.names)
        return f"SELECT {columns} WHERE false"


class _Converted:
    """A Parquet file that is deleted with the last reference to it."""

    def __init__(self, path: Path, stamp: tuple[int, ...]) -> None:
        self.path, self.stamp = path, stamp
        weakref.finalize(self, _delete, path, os.getpid())


def _delete(path: Path, process: int) -> None:
    if os.getpid() == process:  # a forked process must not delete its parent's file
        path.unlink(missing_ok=True)


def stamp_of(file: Path) -> tuple[int, ...]:
    """What identifies a version of a file: its times of change, its size, its inode and device."""
    status = file.stat()
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev)


def _opened(file: Path) -> Any:
    return gzip.open(file, "rb") if file.name.lower().endswith(".gz") else open(file, "rb")


def as_parquet(file: Path, dialect: Dialect, folder: str | os.PathLike[str], chunk: int = CHUNK) -> Path:
    """Convert a CSV file to a Parquet file in a folder, with text columns named c0, c1, ..."""
    import pyarrow.parquet

    handle, name = tempfile.mkstemp(suffix=".parquet", prefix="csv-", dir=folder)  # which only this user can read
    os.close(handle)
    schema = pyarrow.schema([(f"c{i}", pyarrow.string()) for i in range(len(dialect.names))])
    settings = {"compression": "lz4", "write_statistics": False, "dictionary_pagesize_limit": DICTIONARY}
    try:
        with (
            _opened(file) as stream,
            pyarrow.parquet.ParquetWriter(name, schema, **settings) as writer,
            ThreadPoolExecutor(1) as executor,  # one group is written while the next is read
        ):
            stream.read(dialect.start)
            pending_write: Future[None] | None = None
            for group in _groups(batches(stream, dialect, chunk)):
                if pending_write is not None:
                    pending_write.result()
                pending_write = executor.submit(writer.write_table, pyarrow.Table.from_batches(group))
            if pending_write is not None:
                pending_write.result()
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)


@dataclass(frozen=True)
class _Entries:
    """The entries of a block of bytes that begins with a record.

    Attributes
    ----------
    ends : array of int
        Where each entry ends: the position of a delimiter or line feed, or the length of the block.
    dropped : array of int
        The positions of quotes that are not data.
    owners : array of int
        For each of these quotes, the index of the entry that it belongs to.
    cut : int
        Where the last complete record ends; 0 if there is none.
    """

    ends: Integers
    dropped: Integers
    owners: Integers
    cut: int

    def before(self, place: int) -> _Entries:
        """The entries that end before a position, with the quotes in them."""
        inside = int(np.searchsorted(self.dropped, place))
        ends = self.ends[: np.searchsorted(self.ends, place)]
        return _Entries(ends, self.dropped[:inside], self.owners[:inside], self.cut)


def _groups(parts: Iterator[Any]) -> Iterator[list[Any]]:
    """Collect batches into row groups."""
    group: list[Any] = []
    size = 0
    for part in parts:
        group.append(part)
        size += part.nbytes
        if size >= GROUP:
            yield group
            group, size = [], 0
    if group:
        yield group


def batches(stream: IO[bytes], dialect: Dialect, chunk: int = CHUNK) -> Iterator[Any]:
    """Yield the rows of a stream, positioned after the header, as Arrow batches of text."""
    rest, size = b"", chunk
    while True:
        more = stream.read(size)
        data, last = rest + more, not more
        if last and not data:
            return
        block = np.frombuffer(data, dtype=np.uint8)
        entries = _entries(block, dialect, last)
        if last:
            if entries.cut < len(data):
                entries = replace(entries, ends=np.append(entries.ends, len(data)))
            yield _rows(block, entries, dialect)
            return
        if entries.cut:
            yield _rows(block[: entries.cut], entries.before(entries.cut), dialect)
            rest, size = data[entries.cut :], chunk
        elif len(data) < LONGEST + 2:  # the last entry that is read may be followed by CR LF
            rest, size = data, len(data)
        else:  # a record that is too long to be read to its end is still a row
            start = int(entries.ends[-1]) + 1 if entries.ends.size else 0
            entries = entries.before(start)
            yield _rows(block[:start], replace(entries, ends=np.append(entries.ends, start)), dialect)
            rest, size = _after_record(stream, data[start:], dialect, chunk), chunk


def _entries(block: Any, dialect: Dialect, last: bool) -> _Entries:
    """Find the entries of a block that end at a delimiter or line feed.

    The fast way counts quotes: a position is within quotes if an odd number of them precede it. That is right if every
    quoted entry is well-formed; otherwise the block is scanned quote by quote.
    """
    is_quote = block == QUOTE
    marks = np.flatnonzero((block == ord(dialect.delimiter)) | (block == LINE_FEED) | is_quote)
    quoted = is_quote[marks]
    if not quoted.any():
        none = np.zeros(0, dtype=np.int64)
        return _Entries(marks, none, none, _after_last(block, marks))
    is_end = ~quoted & (np.cumsum(quoted, dtype=np.int32) & 1 == 0)
    ends, quotes = marks[is_end], marks[quoted]
    cut = len(block) if last else _after_last(block, ends)
    complete_quotes = quotes[: np.searchsorted(quotes, cut)] if cut else quotes
    if _well_quoted(block, complete_quotes, dialect):
        single = np.ones(quotes.size, dtype=bool)
        single[1:-1:2] = quotes[2::2] != quotes[1:-1:2] + 1  # of a doubled quote, the first is data
        owners = np.cumsum(is_end, dtype=np.int32)[quoted][single]
        return _Entries(ends, quotes[single], owners, _after_last(block, ends))
    ends, dropped = _marks_one_by_one(block, marks[~quoted], quotes)
    return _Entries(ends, dropped, np.searchsorted(ends, dropped), _after_last(block, ends))


def _after_last(block: Any, ends: Integers) -> int:
    """The position after the last line feed that ends an entry; 0 if there is none."""
    for few in (ends[-1000:], ends):
        feeds = np.flatnonzero(block[few] == LINE_FEED)
        if feeds.size:
            return int(few[feeds[-1]]) + 1
    return 0


def _well_quoted(block: Any, quotes: Integers, dialect: Dialect) -> bool:
    """Whether the first, third, fifth, ... quote each stand at the start of an entry, or just after the previous quote.

    Then counting quotes follows the rule: those at the start open an entry, each of the others is the second of a
    doubled quote, and no quote is inside an unquoted entry or after the closing quote of a quoted one.
    """
    opening, closing = quotes[0::2], quotes[1::2]
    before = block[np.maximum(opening - 1, 0)]
    opens = (before == LINE_FEED) | (before == ord(dialect.delimiter)) | (opening == 0)
    opens[1:] |= opening[1:] == closing[: opening.size - 1] + 1
    return bool(opens.all())


def _marks_one_by_one(block: Any, separators: Integers, quotes: Integers) -> tuple[Integers, Integers]:
    """Where entries end, and which quotes are not data, by following the rule quote by quote."""
    data = block.tobytes()
    first = np.isin(quotes, separators + 1) | (quotes == 0)
    opening, closing, place = [], [], 0
    for start in quotes[first].tolist():
        if start < place:
            continue
        end = data.find(b'"', start + 1)
        while end >= 0 and data[end + 1 : end + 2] == b'"':
            end = data.find(b'"', end + 2)
        opening.append(start)
        closing.append(end if end >= 0 else len(data))
        place = closing[-1] + 1
    starts, stops = np.array(opening, dtype=np.int64), np.array(closing, dtype=np.int64)

    def inside(places: Integers) -> Any:
        number = np.searchsorted(starts, places) - 1  # index of the last quoted entry that begins before
        return (number >= 0) & (places < stops[number]) if starts.size else np.zeros(places.size, dtype=bool)

    doubled = quotes[inside(quotes)][1::2]  # they come in pairs
    dropped = np.concatenate([starts, stops[stops < len(data)], doubled])
    return separators[~inside(separators)], np.sort(dropped)


def _rows(block: Any, entries: _Entries, dialect: Dialect) -> Any:
    """The records of a block as an Arrow batch; the last one ends with the block, with or without a line feed."""
    import pyarrow

    ends, size = entries.ends, len(block)
    starts = np.empty_like(ends)
    starts[0], starts[1:] = 0, ends[:-1] + 1
    open_end = int(ends[-1]) == size
    within = ends[:-1] if open_end else ends
    is_content = np.ones(size, dtype=bool)
    is_content[within] = False
    is_content[entries.dropped] = False
    last = np.flatnonzero(block[within] == LINE_FEED)
    stops = ends
    if dialect.crlf:
        returned = last[(ends[last] > starts[last]) & (block[ends[last] - 1] == CARRIAGE_RETURN)]
        stops = ends.copy()
        stops[returned] -= 1
        is_content[stops[returned]] = False
    raw = lengths = stops - starts
    if entries.dropped.size:
        lengths = raw - np.bincount(entries.owners, minlength=ends.size)
    if open_end:
        last = np.append(last, ends.size - 1)
    first = np.empty_like(last)
    first[0], first[1:] = 0, last[:-1] + 1
    counts = last - first + 1
    valid = lengths > 0
    if size > LONGEST:
        valid &= stops - np.repeat(starts[first], counts) <= LONGEST
    texts = _texts(block[is_content], lengths, valid)
    if len(dialect.names) > 1:
        is_record = (counts > 1) | (raw[first] > 0)
        is_record[-1] |= open_end
        if not is_record.all():
            first, counts = first[is_record], counts[is_record]
    least = int(counts.min(initial=len(dialect.names)))
    columns = [
        texts.take(pyarrow.array(first + i) if i < least else pyarrow.array(first + i, mask=counts <= i))
        for i in range(len(dialect.names))
    ]
    return pyarrow.record_batch(columns, names=[f"c{i}" for i in range(len(columns))])


def _texts(data: Any, lengths: Integers, valid: Any) -> Any:
    """Split bytes into pieces of these lengths, as Arrow text; null where they are not valid or not UTF-8."""
    import pyarrow

    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])

    def pieces(validity: Any) -> Any:
        bits = pyarrow.py_buffer(np.packbits(validity, bitorder="little"))
        buffers = [bits, pyarrow.py_buffer(offsets), pyarrow.py_buffer(data)]
        return pyarrow.Array.from_buffers(pyarrow.binary(), len(lengths), buffers)

    try:
        return pieces(valid).cast(pyarrow.string())
    except pyarrow.ArrowInvalid:
        valid = valid.copy()
    not_ascii = np.unique(np.searchsorted(offsets, np.flatnonzero(data >= 128), side="right") - 1)
    for i in not_ascii.tolist():
        try:
            str(data[offsets[i] : offsets[i + 1]], "utf-8")
        except UnicodeDecodeError:
            valid[i] = False
    return pieces(valid).cast(pyarrow.string())


def _after_record(stream: IO[bytes], data: bytes, dialect: Dialect, chunk: int) -> bytes:
    """Skip the rest of a record, of which `data` begins with an entry; return the bytes read after its end."""
    separator = re.compile(b"[" + re.escape(dialect.delimiter.encode()) + b"\n]")
    state, at_end = "start", False
    while not at_end:
        place = 0
        while place < len(data):
            if state == "quoted":
                place = data.find(b'"', place) + 1
                if not place:
                    break
                state = "closed"
            elif state != "plain" and data[place] == QUOTE:  # opens an entry, or is the second of a doubled quote
                place, state = place + 1, "quoted"
            else:
                match = separator.search(data, place)
                state = "plain" if match is None else "start"
                if match is None:
                    break
                if match[0] == b"\n":
                    return data[match.end() :]
                place = match.end()
        data = stream.read(chunk)
        at_end = not data
    return b""
