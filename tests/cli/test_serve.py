"""`utmost serve`: keys, and settings that cannot be served."""

import re

from oracles.command import utmost

from utmost.serve.credentials import fits, require_hash


def test_a_key_is_shown_once_and_its_hash_is_for_the_settings():
    """The key fits the hash, and no other key does; two runs make two keys."""
    made = [utmost("serve", "key", "ada") for _ in range(2)]
    keys = [re.search(r"ada:\S+", found.stdout)[0] for found in made]
    kept = [re.search(r'key = "(.+)"', found.stdout)[1] for found in made]
    assert [fits(keys[0], require_hash(each, "ada")) for each in kept] == [True, False]
    assert len(set(keys)) == 2


def test_what_cannot_be_served_is_said(tmp_path):
    """A name that cannot stand in an address, a missing name, settings that are not there or too open."""
    file = tmp_path / "utmost.toml"
    file.write_text(
        'ledger = "b"\nhost = "0.0.0.0"\n[dataset.a]\ntable = "a.csv"\nunit = "rows, at most 5"\n'
        'neighbours = "replace"\nbudget = 1\n'
    )
    cases = [
        (("key", "a/b"), "letters, digits"),
        (("key",), "whose key"),
        ((tmp_path / "none.toml",), "cannot be read"),
        ((file,), "no key is asked for"),
        ((file, "x"), "stands after the settings"),
    ]
    for given, words in cases:
        found = utmost("serve", *given)
        assert found.returncode == 2
        assert words in found.stderr
