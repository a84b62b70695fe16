"""The page of theorems is what the keys in the source say, and the list of statements has no holes."""

import importlib.util
import re
from collections import defaultdict
from pathlib import Path

import utmost as um

ROOT = Path(__file__).parent.parent
spec = importlib.util.spec_from_file_location("theorems", ROOT / "tools" / "theorems.py")
theorems = importlib.util.module_from_spec(spec)
spec.loader.exec_module(theorems)

NUMBERED = ("theorem", "corollary", "proposition", "lemma", "algorithm")


def place_of(path):
    return path.relative_to(theorems.SOURCE).as_posix()


def test_the_page_is_up_to_date():
    """Whoever adds a key runs `python tools/theorems.py`."""
    assert theorems.PAGE.read_text(encoding="utf-8") == theorems.page()


def test_every_key_is_one_of_the_list():
    """A misspelt key is found; every numbered statement that is reproduced is in the list."""
    listed, cited = theorems.statements(), theorems.citations()
    solved = {key for key, places in cited.items() if not all(p.startswith("reproduce/") for p in places)}
    assert solved <= set(listed)
    assert set(cited) <= set(listed) | set(theorems.claims())
    assert {key for key in theorems.claims() if key.split("-")[1] in NUMBERED} <= set(listed)


def test_every_statement_leads_somewhere():
    """To a function, or to a word on what it is; never to both, and what it says is written once."""
    cited, claims = theorems.citations(), theorems.claims()
    for key, fields in theorems.statements().items():
        assert (key in cited) != ("standing" in fields), key
        assert (key in claims) != ("says" in fields), key


def test_no_number_is_left_out():
    """Papers number their statements without holes: by kind, or, in the thesis, by section."""
    numbers = defaultdict(set)
    for key in theorems.statements():
        paper, kind, number = key.split("-")
        section, _, last = number.rpartition(".")
        if kind in NUMBERED or paper == "LIM":
            numbers[(paper, section) if section else (paper, kind)].add(int(last))
    for series, found in numbers.items():
        assert found == set(range(1, max(found) + 1)), series
    assert {series: max(found) for series, found in numbers.items() if series[0] != "LIM"} == {
        ("BIN", "proposition"): 2, ("BIN", "theorem"): 2, ("BIN", "corollary"): 2, ("BIN", "lemma"): 12,
        ("BIN", "algorithm"): 2, ("HET", "theorem"): 5, ("HET", "lemma"): 3, ("HET", "corollary"): 1,
        ("HET", "algorithm"): 2, ("RAIN", "theorem"): 5, ("RAIN", "corollary"): 2, ("REG", "lemma"): 4,
        ("REG", "proposition"): 7, ("REG", "theorem"): 3, ("REG", "corollary"): 2,
    }  # fmt: skip


def test_what_the_code_says_in_words_it_says_by_key():
    """A checker's first line that names a theorem of the papers carries its key."""
    cited = theorems.citations()
    verifiers = [path for path in theorems.SOURCE.rglob("*.py") if theorems.VERIFIER.match(place_of(path))]
    assert verifiers
    for path in verifiers:
        for paper, number in re.findall(r'"""(BIN|HET|RAIN|REG) Theorems? (\d+)', path.read_text(encoding="utf-8")):
            places = cited[f"{paper}-theorem-{number}"]
            assert any(place.startswith(place_of(path)) for place in places)


def test_functions_carry_their_keys():
    """Also where one has only the function."""
    assert "BIN-theorem-2" in um.binary.extend.cites
