"""Keys of analysts, kept as scrypt hashes, and signed cookies for browsers: none of it can be read back into a key."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import secrets
import time
from typing import Any

from utmost.errors import InvalidInput, shown
from utmost.exact.json_text import parse_json

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
"""Names of analysts, data sets and forms: they stand in addresses."""
COST = {"n": 2**14, "r": 8, "p": 1}
"""What a hash costs: 16 MB and some tens of milliseconds. The same for every key, so that time tells no name."""
LASTS = 12 * 3600
"""For how many seconds a browser stays signed in."""
MOST_BROWSERS = 50
"""In how many browsers one visitor is signed in at once; one more ends the session of the first."""


def require_name(name: Any, what: str) -> str:
    """A name that can stand in an address."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidInput(
            f"the name of {what} is {shown(name)}; use letters, digits, '-' and '_', at most 64, such as ada-l."
        )
    return name


def new_key(name: str) -> tuple[str, str]:
    """A new key for somebody, and the hash of it that settings keep.

    Examples
    --------
    >>> key, kept = new_key("ada")
    >>> key.startswith("ada:"), fits(key, kept), fits("ada:guess", kept)
    (True, True, False)
    """
    key = f"{require_name(name, 'an analyst')}:{secrets.token_urlsafe(32)}"
    return key, hash_of(key)


def hash_of(key: str) -> str:
    """The hash of a key with a salt of its own, as settings keep it."""
    salt = secrets.token_bytes(16)
    return f"scrypt:{_text(salt)}:{_text(_scrypt(key, salt))}"


def require_hash(kept: Any, what: str) -> str:
    """A hash as `hash_of` writes it."""
    try:
        kind, salt, digest = kept.split(":")
        if kind == "scrypt" and len(_bytes(salt)) == 16 and len(_bytes(digest)) == 32:
            return str(kept)
    except (AttributeError, ValueError, binascii.Error):
        pass
    raise InvalidInput(f"the key of {what} is no hash of a key; make one with `utmost serve key NAME`, and copy it.")


def fits(key: str, kept: str) -> bool:
    """Whether a key is the one that a hash was made of; compared in constant time."""
    _, salt, digest = kept.split(":")
    return hmac.compare_digest(_scrypt(key, _bytes(salt)), _bytes(digest))


def name_in(key: str) -> str:
    """Whose key it says it is."""
    return key.partition(":")[0]


def described(key: str) -> str:
    """A key in words that may be shown to whoever gave it: the name in it, and nothing of the rest.

    Examples
    --------
    >>> described("ada:O9Ia5pO4"), described("O9Ia5pO4")
    ("the key given for 'ada'", 'the key given, which is no NAME:...,')
    """
    name, colon, _ = key.partition(":")
    named = bool(colon) and NAME.fullmatch(name) is not None
    return f"the key given for {name!r}" if named else "the key given, which is no NAME:...,"


class Signer:
    """Signs what a browser keeps: a name, until when, and a random id; and a token for the forms of that browser.

    The ids of those who are signed in are kept here, too: a cookie opens nothing after signing out, whoever has a copy.

    Examples
    --------
    >>> signer = Signer()
    >>> cookie = signer.cookie("ada")
    >>> signer.read(cookie)["name"]
    'ada'
    >>> signer.end(cookie)
    >>> signer.read(cookie) is None
    True
    """

    def __init__(self, secret: bytes | None = None) -> None:
        self._secret = secret or secrets.token_bytes(32)
        self._open: dict[str, dict[str, None]] = {}  # the ids of each visitor, the first signed in first

    def cookie(self, name: str) -> str:
        """A cookie for somebody; an empty name is somebody who has not signed in."""
        number = secrets.token_urlsafe(16)
        content = {"name": name, "until": int(time.time()) + LASTS, "id": number}
        if name:
            ids = self._open.setdefault(name, {})
            ids[number] = None
            while len(ids) > MOST_BROWSERS:
                del ids[next(iter(ids))]
        body = _text(json.dumps(content, separators=(",", ":")).encode())
        return f"{body}.{self._mark('cookie', body)}"

    def read(self, cookie: str) -> dict[str, Any] | None:
        """What a cookie says, if it was signed here, still holds, and nobody signed out with it; else None."""
        body, _, mark = cookie.partition(".")
        if not hmac.compare_digest(mark.encode(), self._mark("cookie", body).encode()):
            return None
        content: dict[str, Any] = parse_json(_bytes(body))
        is_open = not content["name"] or content["id"] in self._open.get(content["name"], ())
        return content if is_open and content["until"] > time.time() else None

    def end(self, cookie: str) -> None:
        """Sign out: from now on the cookie is read as none."""
        if content := self.read(cookie):
            self._open.get(content["name"], {}).pop(content["id"], None)

    def token(self, cookie: str) -> str:
        """The token that a form must bring along with this cookie."""
        return self._mark("form", cookie)

    def allows(self, cookie: str, token: Any) -> bool:
        """Whether a form came from a page that this browser was given."""
        return isinstance(token, str) and hmac.compare_digest(token.encode(), self.token(cookie).encode())

    def _mark(self, use: str, text: str) -> str:
        return _text(hmac.digest(self._secret, f"{use}:{text}".encode(errors="replace"), "sha256"))


def _scrypt(key: str, salt: bytes) -> bytes:
    return hashlib.scrypt(key.encode(errors="replace"), salt=salt, dklen=32, maxmem=2**26, **COST)


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
