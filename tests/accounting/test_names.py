"""Names of accounts: those that look alike are one account or none; ledgers that exist stay open."""

import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest

import utmost as um
from utmost.accounting import names
from utmost.accounting.names import as_name, skeleton
from utmost.errors import InvalidInput, UnknownDataset

UNIT, NEIGHBOURS = "rows, at most 500", "add-remove"


def opened(ledger, name):
    return ledger.open(name, 1, UNIT, NEIGHBOURS)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("survey", "\u0455urvey", "mixes scripts: '\u0455' (U+0455, CYRILLIC SMALL LETTER DZE) and 'u' (U+0075"),
        (
            "survey",
            "\uff53urvey",
            "'\uff53' (U+FF53, FULLWIDTH LATIN SMALL LETTER S) is a form of 's'; write 's' instead",
        ),
        ("fish", "\ufb01sh", "'\ufb01' (U+FB01, LATIN SMALL LIGATURE FI) is a form of 'fi'; write 'fi' instead"),
        (
            "coco",
            "\u0441\u043e\u0441\u043e",
            "(U+0441 U+043E U+0441 U+043E), which looks like the account 'coco' (all ASCII)",
        ),
        ("\u03a0\u039f\u03a1\u03a4", "\u041f\u041e\u0420\u0422", "looks like the account"),
        ("survey-1", "survey-l", "looks like the account 'survey-1' (all ASCII)"),
        ("survey-0", "survey-O", "looks like the account"),
        ("a-b", "a\u2010b", "looks like the account"),
        ("survey 2", "survey \u0662", "(U+0662, ARABIC-INDIC DIGIT TWO); write digits as 0 to 9"),
        ("survey", "survey\ue000", "(U+E000, without a name), which has no meaning; leave it out"),
    ],
)
def test_a_name_that_looks_like_another_opens_no_second_account(first, second, words):
    """Whichever comes first; the error names the character, its code point and what to write."""
    ledger = um.Ledger(None)
    opened(ledger, first)
    with pytest.raises(InvalidInput) as refused:
        opened(ledger, second)
    assert words in str(refused.value)
    assert ledger.datasets() == [first]
    with pytest.raises(UnknownDataset):
        ledger.account(second)


@pytest.mark.parametrize(
    "name",
    [
        *[
            "survey-2026",
            "Z\u00fcrich",
            "\u041e\u043f\u0440\u043e\u0441 2026",
            "\u03ad\u03c1\u03b5\u03c5\u03bd\u03b1",
            "sondage d'\u00e9t\u00e9",
        ],
        *[
            "\u8abf\u67fb\u30c7\u30fc\u30bf-A",
            "\uc124\ubb38 2026",
            "\u0645\u0633\u062d",
            "ada at survey",
            "a/b_c.d",
            "\u5e74\u3068Tokyo",
        ],
    ],
)
def test_names_in_any_one_script_are_names(name):
    """Letters of one script, or of those that are written together, with digits, marks and signs."""
    ledger = um.Ledger(None)
    opened(ledger, name)
    assert opened(ledger, unicodedata.normalize("NFD", name)).dataset == as_name(name)


def test_accounts_that_exist_stay_open(tmp_path, monkeypatch):
    """A ledger in which an earlier version opened both of two that look alike: each is itself, and spends its own."""
    monkeypatch.setattr("utmost.accounting.ledger.require_new_name", lambda *_: None)
    old = um.Ledger(tmp_path / "budget.db")
    odd = ["survey", "\u0455urvey", "\uff53urvey", "\ufb01sh"]
    for name in odd:
        with opened(old, name).reserve(0.5, {"count": name}) as entry:
            entry.complete(1)
    old.close()
    monkeypatch.undo()
    with um.Ledger(tmp_path / "budget.db") as ledger:
        assert sorted(ledger.datasets()) == sorted(odd)
        for name in odd:
            assert opened(ledger, name).check()
            assert str(ledger.account(name).left) == "epsilon 0.5 of 1"
        with pytest.raises(InvalidInput, match="looks like the account"):
            opened(ledger, "fish")


def test_of_two_at_once_one_is_opened(tmp_path):
    """Two processes may name an account at the same moment: whoever is second sees the first."""
    file = tmp_path / "budget.db"
    um.Ledger(file).close()

    def attempt(name):
        try:
            with um.Ledger(file) as ledger:
                opened(ledger, name)
        except InvalidInput:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(attempt, ["survey-l", "survey-1", "survey-I", "survey-|"] * 2))
    with um.Ledger(file) as ledger:
        assert len(ledger.datasets()) == 1
    assert done.count(True) in (1, 2)  # the same name twice is one account


def test_skeletons_say_what_is_confused():
    """Different names that people use have different skeletons; the table is that of Unicode's standard."""
    usual = [
        "survey",
        "surveys",
        "Survey",
        "census-2025",
        "census-2026",
        "m",
        "rn",
        "a b",
        "a-b",
        "\u00e9t\u00e9",
        "ete",
    ]
    assert len({skeleton(name) for name in usual}) == len(usual)
    for one, other in [
        ("\u0430", "a"),
        ("\u03bf", "o"),
        ("\u0585", "o"),
        ("\u13aa", "A"),
        ("\u0451", "\u00eb"),
        ("\u0261", "g"),
    ]:
        assert skeleton(one) == skeleton(other), (one, other)
    table = names._lookalikes()
    assert len(table) > 900
    assert all(skeleton(skeleton(chr(code))) == skeleton(chr(code)) for code in table)
