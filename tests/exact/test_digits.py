"""Levels, amounts and counts are read from the digits 0 to 9 alone, wherever a text holds one.

Python's `int`, `float` and `Fraction` read the digits of every script: of a level that most readers cannot read, nobody
would see how much it spends.
"""

import re

import pytest

import utmost as um
from utmost.cli.budget import _parse
from utmost.cli.matrix_file import _space
from utmost.cli.release import _tier
from utmost.cli.survey import _pair
from utmost.errors import InvalidInput, UtmostError
from utmost.exact import as_rational, is_digits
from utmost.privacy.level_text import read_level
from utmost.queries.bins import read_bins
from utmost.queries.found_keys import read_discover
from utmost.queries.options import read_numbers, read_whole
from utmost.queries.units import as_unit
from utmost.serve.explore import TOPICS
from utmost.serve.wire import level_of
from utmost.space.line import within

READERS = {
    "a rational": (as_rational, "0.5"),
    "a fraction": (as_rational, "1/3"),
    "an exponent": (as_rational, "1e-6"),
    "an epsilon": (um.PureDP, "0.5"),
    "a ratio": (um.PureDP.from_ratio, "2"),
    "a delta": (lambda text: um.ApproxDP(1, text), "1e-6"),
    "an option": (lambda text: read_level(text, "--privacy"), "0.5,1e-6"),
    "rho": (lambda text: read_level(text, "--privacy"), "rho=0.1"),
    "many levels": (_parse, "3x0.1"),
    "a budget": (lambda text: um.Ledger(None).open("a", text, "rows", "replace"), "1"),
    "a request": (level_of, "0.5"),
    "a unit": (as_unit, "rows, at most 500"),
    "people": (as_unit, "people by 'id', 3 rows each, at most 500"),
    "a tier": (lambda text: as_rational(_tier(text)[1][0]), "0.1, 20: consent = 'basic'"),
    "a whole number": (lambda text: read_whole(text, None), "12"),
    "categories": (lambda text: read_numbers(text, None), "1,2.5,-3"),
    "bins": (read_bins, "bins(0, 100, 5)"),
    "keys each": (read_discover, "discover(town, keys_each=2)"),
    "a share": (read_discover, "discover(town, share=1/3)"),
    "two questions": (lambda text: _pair(text, 9), "1,2"),
    "a space": (lambda text: _space(text, 3), "grid:shape=3x4"),
    "a slider": (lambda text: TOPICS["majority"].sliders[0].read(text), "11"),
}


@pytest.mark.parametrize(
    "zero", ["\u0660", "\u0966", "\uff10", "\U0001d7ce"], ids=["Arabic", "Devanagari", "wide", "bold"]
)
@pytest.mark.parametrize("what", READERS)
def test_digits_of_other_scripts_are_not_read_as_numbers(what, zero):
    """The text is read in ASCII, and refused with its digits in another script, one of them or all."""
    read, text = READERS[what]
    read(text)
    other = {str(digit): chr(ord(zero) + digit) for digit in range(10)}
    places = [match.start() for match in re.finditer(r"\d", text)]
    for place in places:
        with pytest.raises((UtmostError, TypeError)):
            read(text[:place] + other[text[place]] + text[place + 1 :])
    with pytest.raises((UtmostError, TypeError)):
        read("".join(other.get(letter, letter) for letter in text))


def test_the_error_says_which_digits_to_write():
    with pytest.raises(InvalidInput, match=r"epsilon is '\u0661'; write numbers with the digits 0 to 9"):
        um.PureDP("\u0661")


def test_losses_have_digits_of_ours():
    assert within("within 5") == 5
    assert within("within \u0665") is None
    assert not is_digits("\u00b2")
