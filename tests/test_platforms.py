"""Windows and macOS, simulated: what they lack is taken away from a new process (`oracles/windows.py`)."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import utmost as um
from utmost.cli.console import SPELLED
from utmost.exact import files

SOURCE, TESTS = Path(um.__file__).parent, Path(__file__).parent
LINES = re.compile(r"[\s+|=\u2500-\u257f-]")
"""White space and the lines of tables, which rich draws with what the console has."""
POSIX_ONLY = {"fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}

LIKE_WINDOWS = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from oracles.windows import take_posix_away
take_posix_away()
"""


def run(code, cwd, like_windows=True, encoding="cp1252", **settings):
    """The output of a program in a new process like Windows, whose consoles and files are not in UTF-8."""
    start = LIKE_WINDOWS if like_windows else ""
    environment = {**os.environ, "PYTHONUTF8": "0", "PYTHONIOENCODING": encoding, "LC_ALL": "C", **settings}
    environment |= {"PYTHONCOERCECLOCALE": "0", "LOCALAPPDATA": str(cwd), "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", start + code], capture_output=True, cwd=cwd, env=environment
    )
    return process.returncode, process.stdout, process.stderr.decode("utf-8", "replace")


def said(code, cwd, **settings):
    status, output, problem = run(code, cwd, **settings)
    assert status == 0, problem
    return output.decode("cp1252").split()


def test_no_module_needs_posix_to_be_imported():
    """Modules that only POSIX has are imported under a `try`, in the one module that knows of systems."""
    importers = {
        (path.name, alias.name)
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in (node.names if isinstance(node, ast.Import) else [ast.alias(node.module or "")])
        if alias.name.partition(".")[0] in POSIX_ONLY
    }
    assert importers == {("files.py", "fcntl")}


def test_text_files_are_the_same_bytes_everywhere():
    """Every text file is written in UTF-8 and with the newlines of this machine, whatever the system's are."""
    careless = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            options = {keyword.arg for keyword in node.keywords}
            modes = [a.value for a in node.args if isinstance(a, ast.Constant) and a.value in ("w", "a", "x")]
            writes = name == "write_text" or (name in ("open", "fdopen") and modes)
            if writes and not {"encoding", "newline"} <= options:
                careless.append((path.name, node.lineno))
            if name == "read_text" and not (options & {"encoding"} or node.args):
                careless.append((path.name, node.lineno))
    assert careless == []


def test_every_module_is_imported(tmp_path):
    """All modules of the package, with everything that only POSIX has taken away."""
    code = (
        "import importlib, pkgutil, utmost\n"
        "for module in pkgutil.walk_packages(utmost.__path__, 'utmost.'):\n"
        "    if not module.name.endswith('__main__'):\n"
        "        importlib.import_module(module.name)\n"
        "from utmost.exact import files\n"
        "print(files.MOVABLE)"
    )
    assert said(code, tmp_path) == ["False"]


SPENDING = """
import utmost as um, sys
account = um.Ledger("budget.db").open("survey", 100, "rows, at most 500", "add-remove")
for i in range(20):
    account.ask("1/100", f"{sys.argv[1:]} {i} {__import__('os').getpid()}", lambda: 7)
"""


def test_a_ledger_is_kept_and_locked(tmp_path):
    """Several processes spend at once, one more holds the file open, and each spend counts once; marks are removed."""
    holder = um.Ledger(tmp_path / "budget.db").open("survey", 100, "rows, at most 500", "add-remove")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    processes = [
        subprocess.Popen([sys.executable, "-c", LIKE_WINDOWS + SPENDING], cwd=tmp_path, env=environment)
        for _ in range(3)
    ]
    assert [process.wait(120) for process in processes] == [0, 0, 0]
    assert str(holder.spent) == "epsilon 0.6 of 100"
    assert holder.check()
    assert not list(tmp_path.glob("*.running/*"))


def test_two_openings_wait_for_each_other(tmp_path):
    """The lock keeps others from reading the first byte, which they therefore never do without the lock."""
    code = """
import utmost as um
from utmost.accounting import ledger_file
from utmost.errors import LedgerFailed
one, other = (um.Ledger("budget.db").open("survey", 1, "rows", "replace") for _ in range(2))
ledger_file.PATIENCE = 0.05
with one._storage.write("survey"):
    try:
        um.Ledger("budget.db")
    except LedgerFailed as refusal:
        print("busy" in str(refusal))
one.ask(0.25, "q", lambda: 1)
print(other.spent)
"""
    assert " ".join(said(code, tmp_path)) == "True epsilon 0.25 of 1"


def test_a_process_that_dies_in_the_middle_is_noticed(tmp_path):
    """Its mark stays without a lock; while a question runs or is just being marked, nobody takes it for dead."""
    code = """
import os, pathlib, utmost as um
from utmost.accounting.suspension import orphaned_marks, remove_mark, set_mark
folder = pathlib.Path("marks")
mark = set_mark(folder, "key", 3, 1, 0o600)
print(len(orphaned_marks(folder, "key")))
remove_mark(mark)
print(folder.exists())
mark = set_mark(folder, "key", 3, 1, 0o600)
remove_mark(mark, stays=True)
print(len(orphaned_marks(folder, "key")))
(folder / "key-4-0").touch()
print(len(orphaned_marks(folder, "key")))
account = um.Ledger("budget.db").open("survey", 1, "rows", "replace")
with account.reserve(0.5, "q").running():
    print("dying", flush=True)
    os._exit(0)
"""
    assert said(code, tmp_path) == ["0", "False", "1", "1", "dying"]
    code = """
import utmost as um
from utmost.errors import AccountSuspended
account = um.Ledger("budget.db").account("survey")
try:
    account.ask(0.1, "another", lambda: 1)
except AccountSuspended:
    print("suspended")
account.resume()
print(account.ask(0.1, "another", lambda: 1).answer)
"""
    assert said(code, tmp_path) == ["suspended", "1"]


def test_without_a_lock_nothing_is_kept(tmp_path):
    """Where neither flock nor filelock is there, a ledger in a file is refused with the command that helps."""
    code = """
import sys
sys.modules["filelock"] = None
import utmost as um
from utmost.errors import UtmostError
try:
    um.Ledger("budget.db")
except UtmostError as refusal:
    print(refusal)
print(um.Ledger(None).open("survey", 1, "rows", "replace").left)
"""
    words = " ".join(said(code, tmp_path))
    assert "pip install 'filelock>=3.30'" in words
    assert words.endswith("epsilon 1 of 1")


def test_collected_responses_are_locked(tmp_path):
    """A collector appends under the lock, and reads its file again."""
    code = """
import utmost as um
pets = um.local.survey(["cat", "dog"], 1)
collector = um.survey.Collector(pets, "responses.jsonl")
print(len(open("responses.jsonl", "rb").read()) if __import__("os").path.exists("responses.jsonl") else 0)
from pathlib import Path
from utmost.survey.response_file import append, locked
with locked(Path("responses.jsonl")) as stream:
    append(stream, b"line\\n")
print(Path("responses.jsonl").read_bytes())
"""
    assert said(code, tmp_path)[-1] == "b'line\\n'"


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "cp437"])
@pytest.mark.parametrize("words", [["compose", "1,1", "--delta", "1e-6"], ["--help"], ["design", "path.toml"]])
def test_the_commands_print_on_any_console(tmp_path, encoding, words):
    """A console that lacks Greek letters gets their names, and every text is printed whole."""
    (tmp_path / "path.toml").write_bytes((TESTS.parent / "examples" / "path.toml").read_bytes())
    code = f"import sys; sys.argv = ['utmost', *{words!r}]\nfrom utmost.cli import main\nmain()"
    status, plain, problem = run(code, tmp_path, encoding=encoding, like_windows=False)
    assert status == 0, problem
    status, unicode, problem = run(code, tmp_path, encoding="utf-8", like_windows=False)
    text = unicode.decode("utf-8")
    for letter in set(text):
        if letter in SPELLED and letter.encode(encoding, "ignore") == b"":
            text = text.replace(letter, SPELLED[letter])
    assert LINES.sub("", plain.decode(encoding)) == LINES.sub("", text)


def test_json_is_the_same_on_any_console(tmp_path):
    """What an encoding lacks is escaped, so that a program reads the same values."""
    content = {"words": "ε = 0,5 — 東京", "∞": [1, "é"]}
    code = f"from utmost.cli.output import print_json; print_json({content!a})"
    for encoding in ("ascii", "cp1252", "utf-8"):
        status, output, problem = run(code, tmp_path, encoding=encoding, like_windows=False)
        assert status == 0, problem
        assert json.loads(output.decode(encoding)) == content


def test_what_no_name_is_known_for_is_escaped(tmp_path):
    code = "import sys\nfrom utmost.cli.console import print_anywhere\n"
    code += "print_anywhere(sys.stdout)\nprint('\\u03b5 \\u6771')"
    assert run(code, tmp_path, encoding="ascii", like_windows=False)[1] == b"epsilon \\u{6771}\n"


def test_macos_syncs_through_the_disks_cache(tmp_path, monkeypatch):
    """F_FULLFSYNC where the system has it, `fsync` on a share that refuses it or where nothing else is there."""
    if files.fcntl is None:
        pytest.skip("no fcntl here")
    calls, refusing = [], []

    def full(handle, command):
        calls.append(command)
        if refusing:
            raise OSError(45, "Operation not supported")

    monkeypatch.setattr(files.fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(files.fcntl, "fcntl", full)
    monkeypatch.setattr(files.os, "fsync", lambda handle: calls.append("fsync"))
    monkeypatch.delattr(files.os, "fdatasync", raising=False)
    with (tmp_path / "file").open("wb") as file:
        files.sync(file.fileno())
        assert calls == [51]
        refusing.append(True)
        files.sync(file.fileno())
        assert calls == [51, 51, "fsync"]
        monkeypatch.delattr(files.fcntl, "F_FULLFSYNC")
        files.sync(file.fileno())
    assert calls[3:] == ["fsync"]
