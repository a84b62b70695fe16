"""CSV files are read by the stated rule: against a slow reader of that rule, Python's `csv`, and what writers write."""

import csv
import gzip
import io
import json
import os
import random
import stat
import threading
import time
from dataclasses import replace
from pathlib import Path

import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from oracles.questions import Setting, count

import utmost as um
from utmost.backends import csv_rows
from utmost.backends.csv_rows import CsvFile, Dialect, as_parquet, batches, header_of
from utmost.backends.opening import open_table
from utmost.errors import AccountSuspended, BadFile, InvalidInput
from utmost.queries.report.proof import load_answers

ALPHABETS = (b'"",,\n\r', b'""",,\n\nxy\r', b'"x\n', b'",\nab\xc3\xa9\xff\0', b',\n\r\nx "', b'"";;\t|,\n\rx')
CHUNKS = (1, 2, 3, 5, 16, 1000)


def by_the_rule(body, columns, delimiter=b",", crlf=False, longest=2**26):
    """The rule, byte by byte, as a stranger would write it down: the rows of what follows the header."""
    delimiter, place, rows = delimiter[0], 0, []
    while place < len(body):
        record, ends, entry, start, state = [], [], bytearray(), place, "start"
        while True:
            byte = body[place] if place < len(body) else None
            place += 1
            if byte is None or (byte in (delimiter, 10) and state != "quoted"):
                returned = byte == 10 and crlf and entry.endswith(b"\r") and body[place - 2] == 13
                record.append(bytes(entry[:-1] if returned else entry))
                ends.append(place - 1 - returned - start)
                entry, state = bytearray(), "start"
                if byte != delimiter:
                    break
                continue
            if state == "quoted":
                if byte == 34:
                    state = "quote"
                else:
                    entry.append(byte)
            elif state == "quote" and byte == 34:
                entry.append(34)
                state = "quoted"
            elif state == "start" and byte == 34:
                state = "quoted"
            else:
                entry.append(byte)
                state = "plain"
        blank = body[start:place] in ((b"\n", b"\r\n") if crlf else (b"\n",))
        if not (blank and columns > 1):
            texts = [as_text(each) if end <= longest else None for each, end in zip(record, ends, strict=True)][
                :columns
            ]
            rows.append(tuple(texts + [None] * (columns - len(texts))))
    return rows


def as_text(entry):
    """An entry as text; null if it is empty or not UTF-8."""
    try:
        return entry.decode() or None
    except UnicodeDecodeError:
        return None


def by_python(body, columns, delimiter=","):
    """The same by Python's `csv`, where lines end in a line feed: it would take a carriage return for an end, too."""
    text = body.decode("latin-1").replace("\r", "\x01")
    rows = []
    for record in csv.reader(io.StringIO(text, newline="\n"), delimiter=delimiter):
        texts = [as_text(entry.replace("\x01", "\r").encode("latin-1")) for entry in record[:columns]]
        if record or columns == 1:
            rows.append(tuple(texts + [None] * (columns - len(texts))))
    return rows


def by_us(body, columns, delimiter=",", crlf=False, chunk=csv_rows.CHUNK):
    """The same by the reader that is used."""
    dialect = Dialect(tuple("abcdefgh"[:columns]), delimiter, crlf, 0)
    rows = []
    for batch in batches(io.BytesIO(body), dialect, chunk):
        batch.validate(full=True)
        rows += zip(*(column.to_pylist() for column in batch.columns), strict=True)
    return rows


def how_many(source, where=None):
    asked = count(Setting(source, um.rows(at_most=10**6), "replace"), where, 1, "rows", "absolute", None)
    return asked.point(asked.statement(b"s" * 32))["count"]


def require_agreement(seed, files):
    rng = random.Random(seed)
    for _ in range(files):
        alphabet = rng.choice(ALPHABETS)
        body = bytes(rng.choices(alphabet, k=rng.randint(0, 40)))
        columns, chunk, delimiter = rng.randint(1, 3), rng.choice(CHUNKS), rng.choice(",,,;\t|")
        for crlf in (False, True):
            ours = by_us(body, columns, delimiter, crlf, chunk)
            assert ours == by_the_rule(body, columns, delimiter.encode(), crlf), (body, columns, delimiter, crlf, chunk)
        assert by_us(body, columns, delimiter, False, chunk) == by_python(body, columns, delimiter), (body, columns)


def test_any_bytes_are_read_by_the_rule_and_as_python_reads_them():
    """Random files of quotes, delimiters, ends of lines, letters and broken UTF-8, in chunks of any size."""
    require_agreement(0, 1500)


@pytest.mark.long
def test_many_more_bytes_are_read_by_the_rule():
    """A hundred thousand random files."""
    require_agreement(1, 100_000)


@pytest.mark.parametrize("crlf", [False, True])
def test_every_short_file_is_read_by_the_rule(crlf):
    """All files of up to four bytes of a quote, a delimiter, both ends of a line and a letter, in two columns."""
    bodies = [b""]
    for _ in range(4):
        bodies += [body + bytes([byte]) for body in bodies[-(5 ** len(bodies[-1])) :] for byte in b'",\n\rx']
    assert len(bodies) == len(set(bodies)) == sum(5**k for k in range(5))
    for body in bodies:
        assert by_us(body, 2, crlf=crlf, chunk=3) == by_the_rule(body, 2, crlf=crlf), body


NASTY = ["x", "", '"', '""', 'a"b', '"a', 'a"', ",", "a,b", "\n", "a\nb", "\r", "a\r", "\rb", "\r\n", "a\r\nb", '"\n"']
NASTY += ["\0", "é", "  ", "\ufeff", '",\n"', "\n\n", ";", "\t", "NULL", "\\", '\\"', "'"]


def written_by_python(file, rows, **options):
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out, **options).writerows(rows)


def written_by_pandas(file, rows, **options):
    pandas.DataFrame(rows[1:], columns=rows[0]).to_csv(file, index=False, encoding="utf-8", **options)


def written_by_polars(file, rows):
    polars.DataFrame(rows[1:], schema=rows[0], orient="row").write_csv(file)


def written_by_duckdb(file, rows):
    import duckdb

    with duckdb.connect() as connection:
        connection.register("written", pandas.DataFrame(rows[1:], columns=rows[0]))
        connection.execute(f"COPY written TO '{file}' (HEADER)")


WRITERS = {
    "python": lambda file, rows: written_by_python(file, rows),
    "python, LF": lambda file, rows: written_by_python(file, rows, lineterminator="\n"),
    "python, all quoted": lambda file, rows: written_by_python(file, rows, quoting=csv.QUOTE_ALL),
    "python, tabs": lambda file, rows: written_by_python(file, rows, dialect="excel-tab"),
    "python, semicolons": lambda file, rows: written_by_python(file, rows, delimiter=";"),
    "pandas": lambda file, rows: written_by_pandas(file, rows),
    "pandas, CR LF": lambda file, rows: written_by_pandas(file, rows, lineterminator="\r\n"),
    "pandas, all quoted": lambda file, rows: written_by_pandas(file, rows, quoting=csv.QUOTE_ALL),
    "polars": written_by_polars,
    "duckdb": written_by_duckdb,
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_what_a_writer_wrote_is_read(writer, columns, tmp_path):
    """Whatever the entries hold: the very rows, in their number and order; only the empty text is null."""
    rng = random.Random(columns)
    rows = [[entry] * columns for entry in NASTY] + [rng.choices(NASTY, k=columns) for _ in range(40)]
    file = tmp_path / "t.csv"
    WRITERS[writer](file, [["first", "second", "third"][:columns], *rows])
    dialect = header_of(file)
    if columns == 1:  # of which the header shows no delimiter
        dialect = replace(dialect, delimiter={"python, tabs": "\t", "python, semicolons": ";"}.get(writer, ","))
    found = pyarrow.parquet.read_table(as_parquet(file, dialect, tmp_path, chunk=50))
    assert list(zip(*(column.to_pylist() for column in found.columns), strict=True)) == [
        tuple(entry or None for entry in row) for row in rows
    ]


def test_an_entry_of_any_length_is_read(tmp_path):
    """Larger than a chunk, than the 2 MB of DuckDB's reader, and than what is read of a record at most: a row still."""
    long = 3 * 10**6
    for entry in (b"x" * long, b'"' + b'x""\n,y' * (long // 6) + b'"', b'"' + b'""' * (long // 2) + b'"'):
        body = b"1," + entry + b"\n3,4\n"
        assert by_us(body, 2, chunk=2**16) == by_the_rule(body, 2)


def test_what_is_beyond_the_limit_of_a_record_is_null(monkeypatch):
    """The record is one row, and the next is read as ever: whatever the limit, in chunks of any size."""
    rng = random.Random(2)
    for _ in range(1500):
        limit, columns, crlf = rng.randint(1, 12), rng.randint(1, 3), rng.random() < 0.5
        monkeypatch.setattr(csv_rows, "LONGEST", limit)
        body = bytes(rng.choices(rng.choice(ALPHABETS), k=rng.randint(0, 40)))
        ours = by_us(body, columns, crlf=crlf, chunk=rng.choice(CHUNKS))
        assert ours == by_the_rule(body, columns, crlf=crlf, longest=limit), (body, limit, columns, crlf)


@pytest.mark.parametrize("entry", ["a\rb", "\r", "x\r", "\rx\r", "\r\r", "x" * 3_000_000])
def test_no_row_vanishes(entry, tmp_path):
    """As pandas writes a carriage return, and an entry above 2 MB: both made DuckDB's reader drop the row."""
    for place in (0, 1, 2):
        rows = [["x", "y", "z"] for _ in range(5)]
        rows[2][place] = entry
        written_by_pandas(tmp_path / "t.csv", [["a", "b", "c"], *rows])
        source = open_table(tmp_path / "t.csv")
        assert how_many(source) == 5
        assert how_many(source, f"{'abc'[place]} = '{'xyz'[place]}'") == 4


def test_a_row_more_moves_counts_by_one(tmp_path):
    """Whatever it holds, wherever it stands: all rows by one, and the rows of a condition by at most one."""
    rng = random.Random(5)
    rows = [rng.choices(NASTY, k=2) for _ in range(60)]

    def counts(kept):
        written_by_pandas(tmp_path / "t.csv", [["a", "b"], *kept])
        source = CsvFile(tmp_path / "t.csv")
        with source.parquet(tmp_path) as file:
            first = pyarrow.parquet.read_table(file)["c0"].to_pylist()
        return len(first), first.count("x")

    every = counts(rows)
    for i in range(len(rows)):
        fewer = counts(rows[:i] + rows[i + 1 :])
        assert (every[0] - fewer[0], every[1] - fewer[1]) == (1, rows[i][0] == "x")


def table_of(kind, folder):
    frame = pandas.DataFrame({"town": ["Ash", "Briar", "a\rb", "Ash", None], "n": ["1", "2", "3", "4", "5"]})
    if kind == "frame":
        return frame
    file = folder / f"t.{kind}"
    frame.to_csv(file, index=False) if kind == "csv" else frame.to_parquet(file)
    return file


@pytest.mark.parametrize(("kind", "moves"), [("csv", "exchange"), ("parquet", "sum-zero"), ("frame", "sum-zero")])
def test_totals_are_exact_only_where_the_number_of_rows_is_fixed(kind, moves, tmp_path):
    """Plan, design, proof, answer and report agree; add-remove and conditions are as they were."""
    s = um.Session(table_of(kind, tmp_path), "d", um.rows(at_most=100), "replace", budget=100)
    conditions = ["town = 'Ash'", "town <> 'Ash'", "town IS NULL"]
    for ask in (
        lambda asked: asked.histogram("town", ["Ash", "Briar"], privacy="0.01", other="elsewhere"),
        lambda asked: asked.counts(conditions, privacy="0.01"),
    ):
        plan, answer = ask(s.plan), ask(s)
        assert plan.question.space.moves == moves
        assert ("total" in plan.question.public) == (kind == "csv")
        assert ("sum has noise" in str(plan)) == (kind == "csv")
        assert ("is published with them" in str(plan)) == (kind != "csv")
        page = answer.report(tmp_path / "page.html")
        ((again, proved),) = load_answers(page.with_suffix(".json"))
        assert (bool(proved), again.question.space.moves) == (True, moves)
    assert s.plan.histogram("town", ["Ash"], privacy=1).question.space.moves == "exchange"
    assert s.plan.histogram("town", ["Ash"], privacy=1).question.public.get("total") is None


def test_the_total_of_a_csv_file_tells_nothing_exactly(tmp_path):
    """At a small epsilon the total of a histogram with `other` was the number of rows; now it has noise."""
    totals = {}
    for kind in ("csv", "parquet"):
        s = um.Session(table_of(kind, tmp_path), "d", um.rows(at_most=100), "replace", budget=100)
        ask = [s.histogram("town", ["Ash"], privacy="0.01", other="o", fresh=True).value for _ in range(20)]
        totals[kind] = {sum(value.values()) for value in ask}
    assert totals["parquet"] == {5}
    assert len(totals["csv"]) > 5  # noise of more than 100 each


def test_a_report_cannot_change_which_total_it_has(tmp_path):
    """A forged file that takes the word out, or puts it in, is refused: its mechanism is for the other question."""
    for kind in ("csv", "parquet"):
        s = um.Session(table_of(kind, tmp_path), "d", um.rows(at_most=100), "replace", budget=100)
        page = s.histogram("town", ["Ash"], privacy=1, other="o").report(tmp_path / f"{kind}.html")
        content = json.loads(page.with_suffix(".json").read_text())
        if kind == "csv":
            del content["question"]["total"]
        else:
            content["question"]["total"] = "noisy"
        (tmp_path / "forged.json").write_text(json.dumps(content))
        try:
            ((_, proved),) = load_answers(tmp_path / "forged.json")
        except BadFile:
            continue
        assert not proved


def test_nothing_is_read_before_a_statement_runs(tmp_path, monkeypatch):
    """To open, to plan and to be refused needs the header alone; the rows are converted once, then."""
    conversions = []
    real = csv_rows.as_parquet
    monkeypatch.setattr(csv_rows, "as_parquet", lambda *given: conversions.append(given) or real(*given))
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
    os.utime(tmp_path / "t.csv", (1, 1))
    monkeypatch.setattr(csv_rows, "SETTLED", -1.0)
    s = um.Session(tmp_path / "t.csv", "d", um.rows(at_most=9), "replace", budget=1000)
    s.plan.count("a >= 2", privacy=1)
    with pytest.raises(InvalidInput):
        s.count("c >= 2", privacy=1)
    assert not conversions
    assert [s.count(f"a >= {i}", privacy=50).value for i in (1, 2, 4)] == [2, 1, 0]
    assert len(conversions) == 1


def test_threads_share_one_conversion(tmp_path, monkeypatch):
    """Many threads ask at once of a new file: it is converted once, and all see its rows."""
    monkeypatch.setattr(csv_rows, "SETTLED", -1.0)
    conversions = []
    real = csv_rows.as_parquet
    monkeypatch.setattr(csv_rows, "as_parquet", lambda *given: conversions.append(given) or real(*given))
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * 50_000)
    source = open_table(tmp_path / "t.csv")
    found, start = [], threading.Barrier(6)

    def ask():
        start.wait()
        found.append(how_many(source, "a = '1'"))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (found, len(conversions)) == ([50_000] * 6, 1)
    folder = Path(source.connection.execute("SELECT current_setting('temp_directory')").fetchone()[0])
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    mine = source.csv._converted.path
    assert (mine.parent, stat.S_IMODE(mine.stat().st_mode)) == (folder, 0o600)


def test_a_changed_file_is_read_again(tmp_path):
    """Rows may change, also at the same size within a moment; the header may not. The old rows are deleted."""
    file = tmp_path / "t.csv"
    file.write_text("a,b\n1,2\n3,4\n")
    source = open_table(file)
    assert how_many(source, "a = '1'") == 1
    old = source.csv._converted.path
    file.write_text("a,b\n1,2\n1,4\n")
    assert how_many(source, "a = '1'") == 2
    assert (old.exists(), source.csv._converted.path.exists()) == (False, True)
    file.write_text("a,b\n" + "1,1\n" * 10)
    os.utime(file, (1, 1))
    assert how_many(source, "a = '1'") == 10
    file.write_text("b,a\n1,2\n")
    with pytest.raises(InvalidInput, match="not the table that was opened"):
        how_many(source)
    file.unlink()
    with pytest.raises(InvalidInput, match="still there"):
        how_many(source)


def test_a_change_that_no_time_shows_is_seen(tmp_path, monkeypatch):
    """A file of the same size may be changed twice within what its file system calls one moment."""
    now = time.time_ns()
    monkeypatch.setattr(csv_rows, "stamp_of", lambda file: (now, now, 12, 1, 1))
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
    source = open_table(tmp_path / "t.csv")
    assert how_many(source, "a = '1'") == 1
    (tmp_path / "t.csv").write_text("a,b\n1,2\n1,4\n")
    assert how_many(source, "a = '1'") == 2


def test_rows_that_are_read_stay_while_the_file_changes(tmp_path):
    """One statement may run for long: its rows are not taken away by another's."""
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    rows = CsvFile(tmp_path / "t.csv")
    with rows.parquet(tmp_path) as first:
        (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
        with rows.parquet(tmp_path) as second:
            assert (pyarrow.parquet.read_table(first).num_rows, pyarrow.parquet.read_table(second).num_rows) == (1, 2)
        assert first.exists()


def test_gzipped_files_and_odd_folders(tmp_path):
    """Files of several parts; a folder whose name looks like a pattern; a damaged file fails, and leaves nothing."""
    spill = tmp_path / "a[b]*?=1'"
    spill.mkdir()
    body = b'\xef\xbb\xbfa;"b ""c"""\r\n1;2\r\n\r\n"x;y";\xff\r\n'
    for name, content in (("t.csv", body), ("t.csv.gz", gzip.compress(body[:20]) + gzip.compress(body[20:]))):
        (tmp_path / name).write_bytes(content)
        s = um.Session(tmp_path / name, "d", um.rows(at_most=9), "replace", budget=1000, engine=um.engine(spill=spill))
        assert s.source.columns == ("a", 'b "c"')
        assert [s.count(w, privacy=50).value for w in (None, "a = 'x;y'", '"b ""c""" IS NULL')] == [2, 1, 1]
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"a,b\n" + os.urandom(10**5))[:-5000])
    s = um.Session(tmp_path / "cut.csv.gz", "d", um.rows(at_most=9), "replace", budget=1000)
    with pytest.raises(AccountSuspended):
        s.count(None, privacy=1)
    assert s.source.csv._converted is None
    with pytest.raises(EOFError):
        as_parquet(tmp_path / "cut.csv.gz", s.source.csv.dialect, spill)
    assert not list(spill.glob("csv-*"))


def test_a_disk_without_room_is_said_before_the_spend(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    s = um.Session(tmp_path / "t.csv", "d", um.rows(at_most=9), "replace", budget=10)
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 3}))
    with pytest.raises(InvalidInput, match=r"um\.engine\(spill="):
        s.count(None, privacy=1)
    assert str(s.spent) == "epsilon 0 of 10"


@pytest.mark.parametrize(
    "content",
    [b"a,b\r1,2\r3,4\r", b'"a","b"\r"1","2"\n', b"a,b\r", b"a" * 2**20 + b",b\n", b'a,"b\n', b"a,b\r\r\n1,2\r\n"],
)
def test_a_header_that_ends_otherwise_is_refused(content, tmp_path):
    """By a carriage return alone, or not within a megabyte: what follows might be rows."""
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(BadFile, match="cannot be read as a CSV header"):
        header_of(tmp_path / "t.csv")
