"""Names of accounts, checked so that no two accounts have names that look the same.

A budget is identified by its name, so a second name that looks like the first would be a second budget for the same
people. Any existing account can be opened by its name. A new name must be in one script and in Unicode's form NFKC, and
must not look like the name of another account: their skeletons (Unicode Technical Standard 39) differ.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from utmost.errors import InvalidInput, shown
from utmost.messages import Name

UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
"""Joiners, fillers and selectors that Unicode lists as default-ignorable, beside the format characters (Cf)."""
WRITTEN_TOGETHER = (
    {"LATIN", "CJK", "HIRAGANA", "KATAKANA"},
    {"LATIN", "CJK", "HANGUL"},
    {"LATIN", "CJK", "BOPOMOFO"},
)
"""Sets of scripts that one name may mix: those of Japanese, Korean and Chinese, with Latin letters."""


UNIT = re.compile(
    r"""(rows|people by (?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"))(?:, [^;]*)?((?:; .*)?)""", re.ASCII | re.DOTALL
)
"""A unit as sessions write it: the protected entity, contribution bounds and sizes, and levels of tiers."""


def protected_entity(unit: str) -> str:
    """The protected entity of a unit in words, without contribution bounds and sizes, which may differ between answers.

    Examples
    --------
    >>> protected_entity("people by 'id', 3 rows each, chosen before any condition, at most 5000")
    "people by 'id'"
    >>> protected_entity("rows, at most 2000; at most 20 with 'ill' are promised 0.1")
    "rows; at most 20 with 'ill' are promised 0.1"
    """
    match = UNIT.fullmatch(unit)
    return unit if match is None else match[1] + match[2]


def as_text(value: Any, name: str) -> str:
    """A non-empty string; `InvalidInput` for anything else."""
    if not isinstance(value, str) or not value.strip() or any(unicodedata.category(c) == "Cs" for c in value):
        raise InvalidInput(f"{name} is {shown(value)}; give a text that says which.")
    return value


def as_name(dataset: Any) -> str:
    """A data set's name in Unicode's form NFC; `InvalidInput` if it has invisible characters."""
    name = unicodedata.normalize("NFC", as_text(dataset, "dataset"))
    if name != name.strip() or any(_is_invisible(letter) for letter in name):
        raise InvalidInput(
            Name("dataset"),
            f" is {dataset!a}; give a name without spaces around it, and without control characters, characters "
            "that nobody sees and unusual spaces, so that names that look the same are the same.",
        )
    return name


def require_new_name(name: str, existing_names: Iterable[str]) -> None:
    """Refuse a name for a new account that has odd characters, or looks like the name of another account."""
    for letter in name:
        if (plain := unicodedata.normalize("NFKC", letter)) != letter:
            raise InvalidInput(
                Name("dataset"),
                f" is {name!r}, where {_described(letter)} is a form of {plain!r}; write {plain!r} instead.",
            )
        if unicodedata.category(letter) == "Nd" and not letter.isascii():
            raise InvalidInput(Name("dataset"), f" is {name!r}, with {_described(letter)}; write digits as 0 to 9.")
        if unicodedata.category(letter) in ("Cn", "Co"):
            raise InvalidInput(
                Name("dataset"), f" is {name!r}, with {_described(letter)}, which has no meaning; leave it out."
            )
    if unicodedata.normalize("NFKC", name) != name:
        raise InvalidInput(
            Name("dataset"),
            f" is {name!a}, which is not in Unicode's form NFKC; write {unicodedata.normalize('NFKC', name)!r}.",
        )
    _require_one_script(name)
    for other in existing_names:
        if skeleton(other) == skeleton(name):
            raise InvalidInput(
                Name("dataset"),
                f" is {name!r} ({_codes(name)}), which looks like the account {other!r} ({_codes(other)}); open "
                "that one, or give other data a name that can be told apart.",
            )


def _require_one_script(name: str) -> None:
    scripts: dict[str, str] = {}
    for letter in name:
        if unicodedata.category(letter) in ("Lu", "Ll", "Lt", "Lo"):
            scripts.setdefault(unicodedata.name(letter, "UNKNOWN").split()[0], letter)
    if len(scripts) > 1 and not any(scripts.keys() <= allowed for allowed in WRITTEN_TOGETHER):
        first, second = list(scripts.values())[:2]
        raise InvalidInput(
            Name("dataset"),
            f" is {name!r}, which mixes scripts: {_described(first)} and {_described(second)}; write it in one, "
            "so that names that look the same are the same.",
        )


def skeleton(name: str) -> str:
    """The skeleton of a name: names with equal skeletons look the same.

    Examples
    --------
    >>> skeleton("\u0455urvey-1") == skeleton("survey-l"), skeleton("survey-1") == skeleton("survey-2")
    (True, False)
    """
    letters = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", name))
    return unicodedata.normalize("NFD", letters.translate(_lookalikes()))


@cache
def _lookalikes() -> dict[int, str]:
    """A translation table from confusable code points to their prototypes."""
    table = {ord(letter): "l" for letter in "1I|"} | {ord("0"): "O"}
    for line in files("utmost.accounting").joinpath("lookalikes.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            like, *codes = line.split()
            text = "".join(chr(int(code, 16)) for code in like.split("+"))
            table |= {int(code, 16): text for code in codes}
    return {code: text.translate(table) for code, text in table.items()}


def _described(letter: str) -> str:
    return f"{letter!r} (U+{ord(letter):04X}, {unicodedata.name(letter, 'without a name')})"


def _codes(name: str) -> str:
    """The characters of a name that are not ASCII, by their code points."""
    codes = [f"U+{ord(letter):04X}" for letter in name if not letter.isascii()]
    return " ".join(codes) or "all ASCII"


def _is_invisible(letter: str) -> bool:
    """Whether a character is invisible, or a space other than the plain one."""
    kind = unicodedata.category(letter)
    return kind in ("Cc", "Cf", "Zl", "Zp") or (kind == "Zs" and letter != " ") or bool(UNSEEN.match(letter))
