"""API keys of analysts, stored as scrypt hashes, and signed session cookies for browsers."""

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
"""The pattern of names of analysts, data sets and forms, which are parts of URLs."""
COST = {"n": 2**14, "r": 8, "p": 1}
"""scrypt parameters: 16 MB and some tens of milliseconds, the same for every key, so that timing reveals no name."""
SESSION_SECONDS = 12 * 3600
"""How long a browser stays signed in."""
MOST_BROWSERS = 50
"""The largest number of sessions of one visitor at once; one more ends the oldest."""


def require_name(name: Any, what: str) -> str:
    """A name that can be part of a URL; `InvalidInput` for any other."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidInput(
            f"the name of {what} is {shown(name)}; use letters, digits, '-' and '_', at most 64, such as ada-l."
        )
    return name


def new_key(name: str) -> tuple[str, str]:
    """A new API key for a name, and its hash for the settings.

    Examples
    --------
    >>> key, stored = new_key("ada")
    >>> key.startswith("ada:"), key_matches(key, stored), key_matches("ada:guess", stored)
    (True, True, False)
    """
    key = f"{require_name(name, 'an analyst')}:{secrets.token_urlsafe(32)}"
    return key, hash_of(key)


def hash_of(key: str) -> str:
    """The salted hash of a key, as stored in the settings."""
    salt = secrets.token_bytes(16)
    return f"scrypt:{_text(salt)}:{_text(_scrypt(key, salt))}"


def require_hash(key_hash: Any, what: str) -> str:
    """A hash in the format of `hash_of`; `InvalidInput` for anything else."""
    try:
        kind, salt, digest = key_hash.split(":")
        if kind == "scrypt" and len(_bytes(salt)) == 16 and len(_bytes(digest)) == 32:
            return str(key_hash)
    except (AttributeError, ValueError, binascii.Error):
        pass
    raise InvalidInput(f"the key of {what} is no hash of a key; make one with `utmost serve key NAME`, and copy it.")


def key_matches(key: str, key_hash: str) -> bool:
    """Whether a key matches a stored hash; compared in constant time."""
    _, salt, digest = key_hash.split(":")
    return hmac.compare_digest(_scrypt(key, _bytes(salt)), _bytes(digest))


def name_in(key: str) -> str:
    """The name in a key."""
    return key.partition(":")[0]


def describe_key(key: str) -> str:
    """The words of a refusal for a key: with the name in it, and nothing of the secret part.

    Examples
    --------
    >>> describe_key("ada:O9Ia5pO4"), describe_key("O9Ia5pO4")
    ("invalid key for 'ada'", 'invalid key, not of the form NAME:...')
    """
    name, colon, _ = key.partition(":")
    has_name = bool(colon) and NAME.fullmatch(name) is not None
    return f"invalid key for {name!r}" if has_name else "invalid key, not of the form NAME:..."


class Signer:
    """Signs session cookies (a name, an expiry time and a random id) and the form tokens that belong to them.

    The ids of open sessions are stored here, too, so that a copy of a cookie is invalid after signing out.

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
        """A new cookie for a name; an empty name is a visitor who has not signed in."""
        number = secrets.token_urlsafe(16)
        content = {"name": name, "until": int(time.time()) + SESSION_SECONDS, "id": number}
        if name:
            ids = self._open.setdefault(name, {})
            ids[number] = None
            while len(ids) > MOST_BROWSERS:
                del ids[next(iter(ids))]
        body = _text(json.dumps(content, separators=(",", ":")).encode())
        return f"{body}.{self._mark('cookie', body)}"

    def read(self, cookie: str) -> dict[str, Any] | None:
        """The content of a valid cookie; None if it is not signed here, has expired, or its session has ended."""
        body, _, mark = cookie.partition(".")
        if not hmac.compare_digest(mark.encode(), self._mark("cookie", body).encode()):
            return None
        content: dict[str, Any] = parse_json(_bytes(body))
        is_open = not content["name"] or content["id"] in self._open.get(content["name"], ())
        return content if is_open and content["until"] > time.time() else None

    def end(self, cookie: str) -> None:
        """End the session of a cookie."""
        if content := self.read(cookie):
            self._open.get(content["name"], {}).pop(content["id"], None)

    def token(self, cookie: str) -> str:
        """The anti-forgery token of forms for this cookie."""
        return self._mark("form", cookie)

    def allows(self, cookie: str, token: Any) -> bool:
        """Whether a form's token belongs to this cookie."""
        return isinstance(token, str) and hmac.compare_digest(token.encode(), self.token(cookie).encode())

    def _mark(self, use: str, text: str) -> str:
        return _text(hmac.digest(self._secret, f"{use}:{text}".encode(errors="replace"), "sha256"))


def _scrypt(key: str, salt: bytes) -> bytes:
    return hashlib.scrypt(key.encode(errors="replace"), salt=salt, dklen=32, maxmem=2**26, **COST)


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
