"""CSV files: every record is one row, whatever an entry holds, as a parser of another make reads it.

Files are made of entries by a writer of ours with the rules that pandas' and Python's have, and read by Python's `csv`
module, too. A file may also be refused when it is opened, by its first line; never by what a later one says.
"""

import csv
import gzip
import io
import random

import pytest
from oracles.fuzzing import BUDGET, LEVEL, Channels

import utmost as um
from utmost.errors import UtmostError

MARK = "\ue000"
"""Stands for a carriage return that is no end of a line while Python's module reads the text."""
ODD = ["a\rb", "\r", "a\nb", "\n", "a\r\nb", 'a"b', '"', '""', "a,b", ",", "\t", ";", "|", "\0", "a\0b", "\ufeffa", "é"]
ODD += [
    "x" * 70_000,
    " a ",
    "#a",
    "\\",
    '\\"',
    "\\N",
    "NULL",
    "'",
    "\x1a",
    "\x85",
    "\u2028",
    "\r\r\n\n",
    '"\r"',
    "-",
    "=",
]
BROKEN = [b"\xff\xfe", b"a\x80b", b"\xc3", b"\xed\xa0\x80", b"\xff,\xff", b'\xff"\xff', b"\xff\n\xff"]


def quoted(entry, delimiter, end, always):
    """An entry as writers quote it: always, or where it holds a delimiter, a quote, or a letter of the line's end."""
    special = [delimiter.encode(), b'"', *(bytes([letter]) for letter in end)]
    if always or any(mark in entry for mark in special):
        return b'"' + entry.replace(b'"', b'""') + b'"'
    return entry


def written(rows, delimiter=",", end=b"\n", always=False, mark=b"", last=True):
    """A file: the header `id`, `x`, `y`, and the rows."""
    lines = [[b"id", b"x", b"y"], *rows]
    text = end.join(delimiter.encode().join(quoted(e, delimiter, end, always) for e in line) for line in lines)
    return mark + text + (end if last else b"")


def records(content, delimiter, end):
    """What Python's module reads; bytes that are no UTF-8 stand for themselves."""
    text = content.removeprefix(b"\xef\xbb\xbf").decode(errors="surrogateescape")
    if end == b"\n":
        text = text.replace("\r", MARK)
    csv.field_size_limit(10**8)
    listed = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    return [[entry.replace(MARK, "\r").encode(errors="surrogateescape") for entry in row] for row in listed[1:] if row]


def opened(path):
    """A session about the file, or in which words it is refused."""
    try:
        return um.Session(path, "d", um.rows(at_most=500), "add-remove", budget=BUDGET)
    except UtmostError as reason:
        return str(reason)


def literal(text):
    return "'" + text.replace("'", "''") + "'"


def problems(path, rows):
    """How the rows of a file differ from what was written: their number, their last entry, and each odd entry's."""
    with Channels() as channels:
        session = opened(path)
        if isinstance(session, str):
            return [f"refused: {session}"]
        channels.said()  # what opening a file says is about every file
        texts = {}
        for _, entry, *_ in rows:
            try:
                text = entry.decode()
            except UnicodeDecodeError:
                continue
            if text and "\0" not in text and len(text) < 1000:
                texts[text] = texts.get(text, 0) + 1
        wanted = {"rows": len(rows), "whole": sum(len(row) == 3 and row[2] == b"end" for row in rows)}
        asked = {"rows": "id IS NULL OR id IS NOT NULL", "whole": "y = 'end'"}
        for i, (text, many) in enumerate(list(texts.items())[:60]):
            wanted[f"entry {i}"], asked[f"entry {i}"] = many, f"x = {literal(text)}"
        found = session.counts(asked, LEVEL).value
        said = channels.said()
    odd = [
        f"{name} ({asked[name][:60]!r}): {found[name]} and not {many}"
        for name, many in wanted.items()
        if found[name] != many
    ]
    return odd + ([f"said {said}"] if said else [])


DIALECTS = [(",", b"\n", False), ("\t", b"\r\n", True), (",", b"\n", True), (",", b"\r\n", False), (";", b"\n", False)]


@pytest.mark.parametrize(
    ("delimiter", "end", "always"),
    [*DIALECTS[:2], *(pytest.param(*dialect, marks=pytest.mark.long) for dialect in DIALECTS[2:])],
)
def test_every_odd_entry_is_in_one_row(delimiter, end, always, tmp_path):
    """One odd entry among harmless ones, first, in the middle and last; what fails is said by its entry."""
    told = []
    for i, entry in enumerate([*(text.encode() for text in ODD), *BROKEN]):
        rows = [[b"%d" % n, entry if n == i % 3 else b"plain", b"end"] for n in range(3)]
        content = written(rows, delimiter, end, always)
        assert records(content, delimiter, end) == rows or b"\0" in entry  # the other parser agrees with the writer
        (tmp_path / f"{i}.csv").write_bytes(content)
        told += [f"{entry[:20]!r}: {each}" for each in problems(tmp_path / f"{i}.csv", rows)]
    assert not told, "\n".join(told)


@pytest.mark.parametrize("size", [2_000_000, 2_100_000, 20_000_000])
@pytest.mark.parametrize("always", [False, True])
def test_huge_entries_are_in_one_row(size, always, tmp_path):
    rows = [[b"1", b"plain", b"end"], [b"2", b"x" * size, b"end"], [b"3", b"plain", b"end"]]
    (tmp_path / "t.csv").write_bytes(written(rows, always=always))
    assert problems(tmp_path / "t.csv", rows) == []


FILES = {
    "no last line end": written([[b"1", b"a", b"end"]], last=False),
    "no rows": written([]),
    "no rows and no line end": written([], last=False),
    "mark of byte order": written([[b"1", b"a", b"end"]], mark=b"\xef\xbb\xbf"),
    "empty lines": b"id,x,y\n\n1,a,end\n\n\n2,b,end\n\n",
    "empty lines with CR LF": b"id,x,y\r\n\r\n1,a,end\r\n\r\n2,b,end\r\n",
    "too few entries": b"id,x,y\n1,a,end\n2,b\n3\n4,a,end\n",
    "too many entries": b"id,x,y\n1,a,end\n2,b,end,more,more\n3,a,end\n",
    "empty entries": b"id,x,y\n1,,\n,,\n3,a,end\n",
    "quoted line ends": b'id,x,y\n1,"a\nb\r\nc\rd",end\n2,"\n",end\n',
    "quoted quotes": b'id,x,y\n1,"a""b",end\n2,"""",end\n3,"",end\n',
    "bare quote in an entry": b'id,x,y\n1,a"b,end\n2,b,end\n',
    "nul": b"id,x,y\n1,a\0,end\n2,\0,end\n",
    "end of file mark": b"id,x,y\n1,a,end\n2,\x1a,end\n3,a,end\n",
    "comment sign": b"id,x,y\n#1,a,end\n2,#,end\n",
}


@pytest.mark.parametrize("name", FILES)
def test_files_are_read_as_by_another_parser(name, tmp_path):
    (tmp_path / "t.csv").write_bytes(FILES[name])
    end = b"\r\n" if b"CR" in name.encode() else b"\n"
    rows = [(row + [b""] * 2)[: max(2, len(row))] for row in records(FILES[name], ",", end)]
    rows = [row[:3] for row in rows]
    assert problems(tmp_path / "t.csv", rows) == []
    with gzip.open(tmp_path / "t.csv.gz", "wb") as packed:
        packed.write(FILES[name])
    assert problems(tmp_path / "t.csv.gz", rows) == []


UNCLEAR = {
    "text after a quote": b'id,x,y\n1,"a"b,end\n2,b,end\n',
    "spaces round quotes": b'id,x,y\n1, "a" ,end\n2,b,end\n',
    "mixed line ends": b"id,x,y\n1,a,end\r\n2,b,end\n3,c,end\r\n",
    "mixed line ends after CR LF": b"id,x,y\r\n1,a,end\n2,b,end\r\n",
    "CR alone": b"id,x,y\r1,a,end\r2,b,end\r",
    "quote that is not closed": b'id,x,y\n1,"a,end\n2,b,end\n',
    "quote that is not closed, later": b'id,x,y\n1,a,end\n2,"b,end\n3,c,end\n',
}


@pytest.mark.parametrize("name", UNCLEAR)
def test_unclear_files_are_refused_or_read_without_a_word(name, tmp_path):
    """Of records that no writer writes nobody can say how many there are; but nothing fails, and nothing is said."""
    (tmp_path / "t.csv").write_bytes(UNCLEAR[name])
    with Channels() as channels:
        session = opened(tmp_path / "t.csv")
        channels.said()
        if not isinstance(session, str):
            assert 0 <= session.count(None, LEVEL).value <= 6
            assert session.count("y = 'end'", LEVEL).value <= 3
        assert channels.said() == ()


def random_file(draw):
    """Rows of odd entries, and the file that a writer makes of them in some dialect."""
    delimiter, end, always = draw.choice(DIALECTS)
    some = [text.encode() for text in ODD if len(text) < 1000] + BROKEN + [b"", b"plain", b"plain"]
    pick = lambda: b"".join(draw.choice(some) for _ in range(draw.choice((1, 1, 1, 2, 3))))  # noqa: E731
    rows = [[b"%d" % i, pick(), draw.choice([b"end", pick()])] for i in range(draw.randint(0, 60))]
    mark, last = draw.choice([b"", b"\xef\xbb\xbf"]), draw.random() < 0.8 or not rows
    return rows, written(rows, delimiter, end, always, mark, last), delimiter, end


def compare(seed, many, folder):
    told = []
    for i in range(many):
        draw = random.Random(f"{seed} {i}")
        rows, content, delimiter, end = random_file(draw)
        assert b"\0" in content or records(content, delimiter, end) == rows
        (folder / "t.csv").write_bytes(content)
        told += [f"file {seed} {i}: {each}" for each in problems(folder / "t.csv", rows)]
        if len(told) > 20:
            break
    assert not told, "\n".join(told)


def test_random_files(tmp_path):
    compare(1, 30, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_thousands_of_random_files(seed, tmp_path):
    compare(f"long {seed}", 2_000, tmp_path)
