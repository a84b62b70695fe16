"""Files that hold anything: refused at once, with little memory, and never with an error of Python."""

import ast
import importlib.util
import json
import shutil
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pytest
from oracles.forging import put
from oracles.independent import ROOT, SOURCE, load

import utmost as um
from utmost.errors import BadFile

verifier = load()
FILES = ROOT / "tests" / "golden" / "version_0_2"
COUNT = (FILES / "rows-count.json").read_text()
MOST_SECONDS, MOST_MEMORY = 1.0, 100 * 2**20


def with_text(old, new):
    assert COUNT.count(old) >= 1
    return COUNT.replace(old, new, 1)


BAD = {
    "nothing": "",
    "no JSON": "{",
    "a list of nothing": "[]",
    "a text": '"answer"',
    "deep nesting": "[" * 10**6,
    "deep objects": '{"a":' * 10**5 + "1" + "}" * 10**5,
    "NaN": with_text('"value": 103', '"value": NaN'),
    "infinity": with_text('"value": 103', '"value": -Infinity'),
    "a name twice": with_text('"value": 103', '"value": 103, "value": 103'),
    "a huge float": with_text('"value": 103', '"value": 1e999'),
    "a huge integer": with_text('"value": 103', '"value": ' + "9" * 10**6),
    "a huge exponent": with_text('"epsilon": "1"', '"epsilon": "1e999999999"'),
    "a huge negative exponent": with_text('"epsilon": "1"', '"epsilon": "1e-999999999"'),
    "a long rational": with_text('"epsilon": "1"', '"epsilon": "' + "9" * 10**6 + '"'),
    "a long decay": with_text("27144711605075541099/", "1" * 29_000 + "/1" + "1" * 29_000),
    "a fraction over 0": with_text('"epsilon": "1"', '"epsilon": "1/0"'),
    "digits of another script": with_text('"epsilon": "1"', '"epsilon": "١"'),
    "a huge range": with_text('"last": 400', '"last": ' + str(2**199)),
    "a huge text": with_text('"dataset": "golden-rows"', '"dataset": 1, "x": "' + "a" * 10**7 + '"'),
    "half a surrogate pair": with_text('"age >= 65"', '"\\ud800"'),
    "bytes that are not UTF-8": b"\xff\xfe\x00{",
}


@pytest.mark.parametrize("name", BAD)
def test_nonsense_is_refused_at_once(name, tmp_path):
    file = tmp_path / "bad.json"
    content = BAD[name]
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    tracemalloc.start()
    begin = time.process_time()
    (verdict, *_), _ = verifier.verify_file(file)
    seconds, (_, most) = time.process_time() - begin, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not verdict or name == "half a surrogate pair"
    assert seconds < MOST_SECONDS
    assert most < MOST_MEMORY


def test_a_gigabyte_is_not_read(tmp_path):
    """Nor more than the limit of a file that grows; measured in a process of its own."""
    file = tmp_path / "huge.json"
    with file.open("wb") as sparse:
        sparse.truncate(2**30)
    begin = time.process_time()
    (verdict,), _ = verifier.verify_file(file)
    assert "megabytes" in verdict.refused
    assert time.process_time() - begin < 0.1
    assert "large" in verifier.verify([], file)[-1].refused


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("solution", "mechanism", "period"), 2**70),
        (("solution", "mechanism", "decay"), "1/3"),
        (("solution", "mechanism", "decay"), "9" * 4000 + "/1" + "0" * 4000),
        (("solution", "problem", "space", "reach"), 2**150),
        (("unit",), "rows, at most 9999999999999"),
        (("privacy", "epsilon"), "10000"),
        (("solution", "problem", "privacy", "epsilon"), "10001"),
        (("released", "count"), 2**199),
    ],
)
def test_extreme_numbers_are_refused_at_once(path, value):
    content = json.loads(COUNT)
    put(content, path, value)
    begin = time.process_time()
    with pytest.raises(verifier.NONSENSE):
        verifier.verify_answer(verifier.parse_json(json.dumps(content)), "answer")
    assert time.process_time() - begin < MOST_SECONDS


def test_it_stands_alone():
    """It imports the standard library only, and cannot be imported by accident where Utmost is installed."""
    tree = ast.parse(SOURCE.read_text())
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in modules} <= set(sys.stdlib_module_names)
    assert importlib.util.find_spec("utmost_verify") is None


def test_the_command(tmp_path):
    """A bare interpreter, without site packages: exit code 0 for what is verified, 1 for what is not."""
    forged = tmp_path / "forged.json"
    forged.write_text(with_text('"value": 103', '"value": 104'))
    good = FILES / "rows-count.json"
    for file, code, word in ((good, 0, "verified"), (forged, 1, "REFUSED")):
        done = subprocess.run([sys.executable, "-I", "-S", SOURCE, file], capture_output=True, text=True, check=False)
        assert (done.returncode, word in done.stdout) == (code, True), done
    done = subprocess.run([sys.executable, "-I", "-S", SOURCE, "--json", good], capture_output=True, text=True)
    (verdict,) = json.loads(done.stdout)
    assert verdict["verified"]
    assert any("private" in text for text in verdict["proved"])


# ---- ledgers and publications ----

REPORTS = [FILES / f"rows-{name}.json" for name in ("count", "sum", "mean", "histogram", "majority")]


def test_a_publication_and_its_ledger():
    *each, together = verifier.verify(REPORTS, FILES / "budget.ledger")
    assert all(each)
    assert together, together.refused
    assert any("recorded all 5" in text for text in together.proved)


def forged_publication(tmp_path, change):
    """The reports with one of them changed."""
    paths = []
    for number, report in enumerate(REPORTS):
        content = json.loads(report.read_text())
        if number == 1:
            change(content)
        paths.append(tmp_path / report.name)
        paths[-1].write_text(json.dumps(content))
    return verifier.verify(paths, FILES / "budget.ledger")[-1]


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["ledger"].update(entry=999),
        lambda c: c["ledger"].update(head="0" * 64),
        lambda c: c["ledger"].update(time="2026-11-18T13:14:57.925+00:00"),
        lambda c: c["ledger"]["amounts"]["epsilon"].update(spent=0.5),
        lambda c: c["ledger"]["amounts"]["epsilon"].update(limit=100.0),
        lambda c: c.update(dataset="golden-replace"),
    ],
)
def test_a_forged_publication_is_refused(change, tmp_path):
    assert not forged_publication(tmp_path, change)


def test_an_answer_that_was_never_recorded(tmp_path):
    """Consistent by itself, and not in the ledger."""

    def shift(content):
        content["released"]["sum"] += 1
        content["value"] += 1

    assert "other released numbers" in forged_publication(tmp_path, shift).refused
    (verdict, *_), _ = verifier.verify_file(tmp_path / REPORTS[1].name)
    assert verdict, verdict.refused


@pytest.mark.parametrize("seed", range(6))
def test_damaged_ledgers(seed, tmp_path):
    """A byte changed, or the end cut off: refused by both, or by neither (in a mark, which is there twice)."""
    rng, file = np.random.default_rng(seed), tmp_path / "budget.db"
    shutil.copy(FILES / "budget.ledger", file)
    raw = bytearray(file.read_bytes())
    for _ in range(3):
        damaged, place = bytearray(raw), int(rng.integers(len(raw)))
        if seed % 3 == 2:
            damaged = damaged[: max(place, 1)]
        else:
            damaged[place] ^= 1 << int(rng.integers(7))
        file.write_bytes(bytes(damaged))
        try:
            with um.Ledger(file) as ledger:
                opened = all(ledger.account(name).check() for name in ledger.datasets())
        except (BadFile, um.errors.UtmostError):
            opened = False
        assert bool(verifier.verify([], file)[-1]) == opened, place
