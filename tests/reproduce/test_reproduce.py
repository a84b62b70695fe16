"""The papers reproduced: a reduced run against the committed summary, the judge, the index, the command."""

import json
import math
from pathlib import Path
from unittest import mock

import pytest
from oracles.command import utmost

import utmost as um
from utmost.reproduce import COMPUTATIONS, PAPERS, Claim, Entry, Finding, choose, claims, judge, run, write

SUMMARY = Path(__file__).parent / "reproduced.json"
GALLERY = Path(__file__).parents[2] / "docs" / "gallery.md"
VERDICTS = {"reproduced", "reproduced with our correction", "not reproduced"}


def close(found, kept):
    """Whether two plain values agree: numbers to six digits, or both too small to mean anything but rounding."""
    if isinstance(kept, dict):
        return isinstance(found, dict) and found.keys() == kept.keys() and all(close(found[k], kept[k]) for k in kept)
    if isinstance(kept, list):
        return isinstance(found, list) and len(found) == len(kept) and all(map(close, found, kept))
    if isinstance(kept, bool | str) or kept is None:
        return found == kept
    return math.isclose(found, kept, rel_tol=1e-6, abs_tol=1e-7)


# ---- the data file ----


def test_every_claim_has_a_computation_and_says_where_it_stands():
    """One function per claim and one claim per function; a correction in words wherever there is one in numbers."""
    assert [c.key for c in claims()] == list(dict.fromkeys(c.key for c in claims()))
    assert {c.key for c in claims()} == set(COMPUTATIONS)
    assert {c.paper for c in claims()} == set(PAPERS)
    for claim in claims():
        assert claim.stated, claim.key
        assert claim.claim.endswith("."), claim.key
        assert any(ch.isdigit() for ch in claim.where) or "Section" in claim.where or "Appendix" in claim.where, (
            claim.key
        )
        assert set(claim.corrected) <= set(claim.stated), claim.key
        assert bool(claim.corrected) == bool(claim.correction), claim.key
        assert 0 < claim.tolerance < 0.1, claim.key


@pytest.mark.parametrize(
    "names",
    [
        "BIN-example-1 BIN-example-2 BIN-example-3 BIN-figure-1 BIN-proposition-1 BIN-corollary-1 BIN-corollary-2",
        "HET-figure-1 HET-theorem-3 HET-corollary-1 HET-personalised",
        "RAIN-figure-1 RAIN-figure-2a RAIN-figure-2b RAIN-example-1 RAIN-example-2 RAIN-theorem-4 RAIN-theorem-5 "
        "RAIN-corollary-1 RAIN-corollary-2",
        "REG-figure-1 REG-figure-2a REG-figure-2b REG-figure-3 REG-figure-4 REG-figure-6a REG-figure-6b REG-example-1 "
        "REG-example-2 REG-example-3 REG-theorem-1 REG-theorem-2 REG-theorem-3 REG-lemma-4 REG-appendix-B",
        "LIM-figure-2.1 LIM-figure-2.2 LIM-figure-2.3 LIM-figure-2.4 LIM-figure-2.5 LIM-corollary-2.3.2 "
        "LIM-theorem-2.4.1 LIM-theorem-2.4.2 LIM-theorem-2.4.3 LIM-theorem-2.4.4 LIM-theorem-2.4.5 LIM-figure-3.3 "
        "LIM-figure-3.4 LIM-figure-3.5 LIM-figure-3.6 LIM-figure-3.7 LIM-figure-3.8 LIM-theorem-3.4.1 "
        "LIM-theorem-3.4.2 LIM-theorem-3.4.3 LIM-theorem-3.4.4 LIM-theorem-3.5.1 LIM-theorem-3.5.2 LIM-theorem-3.5.3 "
        "LIM-corollary-3.4.5 LIM-corollary-3.4.6 LIM-corollary-3.5.4 LIM-corollary-3.5.5 LIM-theorem-3.6.1 "
        "LIM-theorem-4.4.1 LIM-corollary-4.5.1 LIM-figure-4.2-left LIM-figure-4.2-right",
    ],
)
def test_no_figure_or_theorem_is_missing(names):
    """The items every reader will look for."""
    assert set(names.split()) <= {c.key for c in claims()}


def test_every_call_runs():
    """The call shown beside a claim is one expression of public functions, and it works as printed."""
    for claim in claims():
        assert claim.call.startswith(("um.", "[um.", "5 * um.")), claim.key
        result = eval(claim.call, {"um": um, "math": math})
        assert result is not None or "regularity" in claim.call, claim.key


# ---- the reduced run ----


@pytest.mark.long
def test_reduced_run_matches_the_committed_summary():
    """Every entry has a verdict, none fails, and numbers are those of the last release.

    `python examples/gallery.py` makes the summary anew; read the difference before you commit it.
    """
    entries = run(quick=True)
    assert [e.claim.key for e in entries] == [c.key for c in claims()]
    assert {e.verdict for e in entries} <= VERDICTS
    assert [f"{e.claim.key}: {e.why}" for e in entries if e.verdict == "not reproduced"] == []
    kept = json.loads(SUMMARY.read_text())
    assert [e.claim.key for e in entries] == list(kept)
    for e in entries:
        assert e.verdict == kept[e.claim.key]["verdict"], e.claim.key
        assert close(dict(e.computed), kept[e.claim.key]["computed"]), (e.claim.key, e.computed)


@pytest.mark.long
def test_full_run(tmp_path):
    """The full sizes, with all pictures: every entry reproduced, some with our correction."""
    entries = run(pictures=tmp_path)
    assert [f"{e.claim.key}: {e.why}" for e in entries if e.verdict == "not reproduced"] == []


# ---- the judge ----


def claim(stated, corrected=(), tolerance=1e-9):
    words = "It must be otherwise." if corrected else ""
    return Claim("BIN-x", "p. 1", "So it is.", stated, "um.path(2)", {}, dict(corrected), words, tolerance)


@pytest.mark.parametrize(
    ("stated", "computed", "agrees"),
    [
        (0.4, 0.4 + 1e-10, True),
        (0.4, 0.4001, False),
        ([1, [2, 3]], [1.0, [2.0, 3.0]], True),
        ([1, 2], [1.0], False),
        (True, True, True),
        (True, False, False),
        (True, 1, False),
        (1, True, False),
        ("blue", "blue", True),
        ("blue", "red", False),
        ({"at_least": 0.6}, 0.7, True),
        ({"at_least": 0.6}, 0.5, False),
        ({"at_most": 1}, 1.0, True),
        ({"at_least": 0, "at_most": 1}, 2, False),
        ({"at_least": 0}, math.nan, False),
        ({"at_most": 1}, math.nan, False),
        ({"at_least": 0}, math.inf, False),
        (0.5, math.nan, False),
        (0.5, None, False),
        (0.5, "0.5", False),
    ],
)
def test_values_are_compared_by_kind(stated, computed, agrees):
    """Numbers by distance, the rest by equality; what is not a number never agrees with one."""
    verdict, distance, _, why = judge(claim({"x": stated}), {"x": computed})
    assert (verdict == "reproduced") is agrees
    assert (why == "") is agrees
    assert distance is None or agrees or distance > 1e-9


def test_corrections_are_judged_too():
    """Right as corrected; wrong even so; and a correction of something that holds is our mistake."""
    assert judge(claim({"x": 1, "y": 2}, {"x": 3}), {"x": 3, "y": 2}) == ("reproduced with our correction", 2, 0, "")
    assert judge(claim({"x": 1}, {"x": 3}), {"x": 4}) == ("not reproduced", 3, 1, "x: corrected 3, computed 4")
    verdict, _, _, why = judge(claim({"x": 1}, {"x": 3}), {"x": 1})
    assert verdict == "not reproduced"
    assert "our correction must be wrong" in why
    assert judge(claim({"x": 1}), {}) == ("not reproduced", None, None, "not computed: x")


def test_a_failing_entry_does_not_stop_the_rest(tmp_path):
    """It gets a verdict with the reason; the next one is computed."""

    def fail(given, quick):
        raise ZeroDivisionError("no luck")

    def cannot_draw(given, quick):
        return Finding({"largest difference": 0.0}, lambda: 1 / 0)

    with mock.patch.dict(COMPUTATIONS, {"BIN-lemma-3": cannot_draw}):
        assert run(["BIN-lemma-3"])[0].verdict == "reproduced"
        assert run(["BIN-lemma-3"], pictures=tmp_path)[0].why == "ZeroDivisionError: division by zero"
    seen = []
    with mock.patch.dict(COMPUTATIONS, {"BIN-example-1": fail}):
        entries = run(["BIN-example"], started=lambda c: seen.append(c.key), finished=lambda e: seen.append(e.verdict))
    assert [e.verdict for e in entries] == ["not reproduced", "reproduced with our correction", "reproduced"]
    assert entries[0].why == "ZeroDivisionError: no luck"
    assert seen[:2] == ["BIN-example-1", "not reproduced"]
    assert len(seen) == 6


# ---- index and command ----


def test_index_shows_what_a_reader_of_the_paper_looks_for(tmp_path):
    """Key, place, stated and computed values, correction, call, source and picture, with text that HTML would eat."""
    odd = Entry(claim({"a < b": [1, 2]}), {"a < b": [1.0, 3.0]}, "not reproduced", 1.0, None, "b & c")
    entries = [*run(["BIN-example-3", "BIN-lemma-9"], pictures=tmp_path / "pictures"), odd]
    page, data = write(entries, tmp_path)
    assert '<meta name="viewport" content="width=device-width' in page.read_text(encoding="utf-8")  # phones, too
    text = page.read_text()
    for part in ("BIN-example-3", "Example 3, Fig. 2", "um.binary.extend(", "Algorithm 1 by hand", "Our correction:"):
        assert part in text
    assert '<img src="pictures/BIN-example-3.png"' in text
    assert (tmp_path / "pictures" / "BIN-example-3.png").read_bytes().startswith(b"\x89PNG")
    assert "a &lt; b" in text
    assert "b &amp; c" in text
    kept = json.loads(data.read_text())
    assert kept["verdicts"] == {"reproduced": 1, "reproduced with our correction": 1, "not reproduced": 1}
    assert set(kept["entries"][0]) >= {"key", "claim", "where", "stated", "computed", "verdict"}


def test_choosing_entries():
    """A paper, the beginning of a name, a name, in any case; a wrong one is named with what is near it."""
    assert {c.paper for c in choose(["rain", "HET"])} == {"RAIN", "HET"}
    assert [c.key for c in choose(["bin-example"])] == ["BIN-example-1", "BIN-example-2", "BIN-example-3"]
    assert len(choose(["LIM-figure-2"])) == 5
    assert [c.key for c in choose(["rain-figure-2"])] == ["RAIN-figure-2a", "RAIN-figure-2b"]
    assert [c.key for c in choose(["BIN-theorem-1"])] == ["BIN-theorem-1"]
    assert choose([]) == list(claims())
    with pytest.raises(um.errors.InvalidInput, match="Did you mean BIN-example-3"):
        choose(["BIN-exampel-3"])
    with pytest.raises(um.errors.InvalidInput, match="Papers: BIN, HET"):
        choose(["zzz"])


def test_command(tmp_path):
    """Index, data and pictures in a folder; one JSON object for programs; nothing on standard error in a pipe."""
    done = utmost("reproduce", "BIN-example-3", "--out", tmp_path / "r", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    answer = json.loads(done.stdout)
    assert answer == json.loads((tmp_path / "r" / "reproduce.json").read_text())
    assert answer["entries"][0]["verdict"] == "reproduced"
    assert (tmp_path / "r" / "pictures" / "BIN-example-3.png").exists()
    done = utmost("reproduce", "HET-corollary-1", "--quick", "--out", tmp_path / "r")
    assert done.returncode == 0, done.stderr
    assert "HET-corollary-1        reproduced with our correction  Corollary 1, (35)" in done.stdout
    assert "1 entry: 1 reproduced with our correction" in done.stdout
    assert "index.html" in done.stdout
    drawn = utmost("reproduce", "BIN-example-3", "--quick", "--out", tmp_path / "r").stdout
    assert f"picture: {tmp_path / 'r' / 'pictures' / 'BIN-example-3.png'}" in drawn
    (tmp_path / "r" / "index.html").write_text("<html>somebody else's")
    done = utmost("reproduce", "HET-corollary-1", "--quick", "--out", tmp_path / "r")
    assert done.returncode == 2
    assert (tmp_path / "r" / "index.html").read_text() == "<html>somebody else's"


def test_wrong_use_of_the_command(tmp_path):
    """An unknown key ends with 2 and writes nothing; an entry that cannot be computed ends with 1."""
    done = utmost("reproduce", "BIN-example-33", "--out", tmp_path / "r")
    assert done.returncode == 2
    assert "BIN-EXAMPLE-33" in done.stderr
    assert not (tmp_path / "r").exists()

    def fail(given, quick):
        raise ValueError("no luck")

    with mock.patch.dict(COMPUTATIONS, {"BIN-example-3": fail}):
        done = utmost("reproduce", "BIN-example-3", "--out", tmp_path / "r")
    assert done.returncode == 1
    assert "no luck" in done.stdout


def test_gallery_lists_every_entry():
    """The page of the documentation has every claim, its place and the call that makes it."""
    text = GALLERY.read_text()
    for c in claims():
        assert f"`{c.key}`" in text or f"### {c.key}" in text, c.key
        assert c.call in text, c.key
