"""`utmost serve`: keys, and settings that cannot be served."""

import re
import socket
import subprocess
import sys

import httpx
from oracles.command import utmost

from utmost.serve.credentials import key_matches, require_hash


def test_a_key_is_shown_once_and_its_hash_is_for_the_settings():
    """The key matches the hash, and no other key does; two runs make two keys."""
    made = [utmost("serve", "key", "ada") for _ in range(2)]
    keys = [re.search(r"ada:\S+", found.stdout)[0] for found in made]
    kept = [re.search(r'key = "(.+)"', found.stdout)[1] for found in made]
    assert [key_matches(keys[0], require_hash(each, "ada")) for each in kept] == [True, False]
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


def test_it_says_where_it_listens_when_it_does(tmp_path):
    """Not before: whoever follows the line is answered. A port that is taken is refused, with the remedy."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "utmost", "studio", "--no-open", "--port", str(port), "--folder", tmp_path]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as studio:
        try:
            assert studio.stderr.readline() == f"the studio is at http://127.0.0.1:{port}; stop with Ctrl-C\n"
            assert httpx.get(f"http://127.0.0.1:{port}/").status_code == 200
            taken = utmost("studio", "--no-open", "--port", port, "--folder", tmp_path / "other")
            assert taken.returncode == 2
            assert f"nothing can listen at 127.0.0.1, port {port}" in taken.stderr
            assert "choose another port: --port" in taken.stderr
        finally:
            studio.terminate()
