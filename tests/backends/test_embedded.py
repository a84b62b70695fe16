"""Settings of the engine: tables larger than memory are answered, and what will fail is said before the spend."""

import os
import stat
import subprocess
import sys

import pyarrow
import pytest

import utmost as um
from utmost.backends import embedded
from utmost.backends.opening import open_table
from utmost.errors import InvalidInput

PEOPLE = um.people("who", rows_each=2, at_most=200_000)


def written(path, people, rows, filler):
    """A CSV file with so many rows, of so many people, each with a filler of so many characters."""
    with path.open("w") as file:
        file.write("who,age,note\n")
        for row in range(rows):
            file.write(f"p{row * 7919 % people},{row % 90},{row}{'x' * filler}\n")
    return path.stat().st_size


def test_a_file_larger_than_memory_is_answered(tmp_path):
    """132 MB in 128: counts of people, and sums of two rows of each, which need every person at once."""
    assert written(tmp_path / "t.csv", 20_000, 65_000, 2030) > 130 * 10**6
    engine = um.engine("128MB", threads=1, spill=tmp_path)
    s = um.Session(tmp_path / "t.csv", "d", PEOPLE, "replace", budget=2000, engine=engine)
    assert s.count(None, 500, of="people").value == 20_000
    assert s.sum("age", 0, 100, 500).value > 0
    assert [entry.question["question"] for entry in s.account.entries()] == ["count", "sum"]


@pytest.mark.long
def test_two_gigabytes_in_one_and_a_half(tmp_path):
    """Ten million people: more than the memory holds of what is kept of each."""
    assert written(tmp_path / "t.csv", 10_000_000, 20_000_000, 80) > 2 * 10**9
    engine = um.engine("1.5GB", threads=2, spill=tmp_path)
    unit = um.people("who", rows_each=2, at_most=20_000_000)
    s = um.Session(tmp_path / "t.csv", "d", unit, "replace", budget=2000, engine=engine)
    assert s.count(None, 500, of="people").value == 10_000_000


SPILLED = """
import os, sys, utmost as um
s = um.Session(sys.argv[1], "d", um.people("who", rows_each=2, at_most=200_000), "replace", budget=2000,
               engine=um.engine("128MB", threads=1, spill=sys.argv[2]))
print(s.source.connection.execute("SELECT current_setting('temp_directory')").fetchone()[0])
print(oct(os.stat(os.path.join(sys.argv[2], os.listdir(sys.argv[2])[0])).st_mode)[-3:])
"""


def test_spilled_rows_are_closed_to_others_and_deleted_at_the_end(tmp_path):
    """The folder is made within the one that is named, for this user alone; the process leaves nothing."""
    written(tmp_path / "t.csv", 10, 20, 5)
    (tmp_path / "spill").mkdir(mode=0o755)
    words = [sys.executable, "-c", SPILLED, str(tmp_path / "t.csv"), str(tmp_path / "spill")]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert said[0].startswith(str(tmp_path / "spill" / "utmost-duckdb-"))
    assert said[1] == "700"
    assert os.listdir(tmp_path / "spill") == []


def test_settings_reach_the_engine(tmp_path):
    """Of files and of frames."""
    written(tmp_path / "t.csv", 10, 20, 5)
    for table in (tmp_path / "t.csv", pyarrow.table({"who": ["a"]})):
        source = open_table(table, engine=um.engine("200MiB", threads=3))
        found = source.connection.execute(
            "SELECT current_setting('memory_limit'), current_setting('threads'), current_setting('temp_directory')"
        ).fetchone()
        assert found[:2] == ("200.0 MiB", 3)
        assert stat.S_IMODE(os.stat(found[2]).st_mode) == 0o700


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"memory": "1MB"}, "less than 128 MB"),
        ({"memory": "200MB", "threads": 8}, "less than 256 MB"),
        ({"memory": "lots"}, "say it as '4GB'"),
        ({"threads": 0}, "from 1 to 1024"),
        ({"threads": True}, "from 1 to 1024"),
        ({"spill": "/no/such/folder"}, "a folder that exists"),
        ({"spill": 5}, "a folder that exists"),
    ],
)
def test_settings_that_cannot_work_are_refused(arguments, said):
    """By what they are, the rule and what to do."""
    with pytest.raises(InvalidInput, match=said):
        um.engine(**arguments)


def test_what_will_fail_is_said_before_the_spend(tmp_path, monkeypatch):
    """A file that fits neither into memory nor onto the disk; tables whose engine is not ours."""
    written(tmp_path / "t.csv", 10, 65_000, 2030)
    left = os.statvfs(tmp_path)
    full = os.statvfs_result((left.f_bsize, left.f_frsize, left.f_blocks, 1, 1, *tuple(left)[5:10]))
    monkeypatch.setattr(embedded.os, "statvfs", lambda path: full)
    with pytest.raises(InvalidInput, match="a question may fail after its spend"):
        um.Session(tmp_path / "t.csv", "d", PEOPLE, "replace", budget=1, engine=um.engine("128MB", threads=1))
    with pytest.raises(InvalidInput, match="an engine of its own"):
        um.Session("postgresql://nowhere/x#t", "d", PEOPLE, "replace", budget=1, engine=um.engine("256MB"))
    with pytest.raises(InvalidInput, match=r"say um\.engine"):
        um.Session(tmp_path / "t.csv", "d", PEOPLE, "replace", budget=1, engine="4GB")
