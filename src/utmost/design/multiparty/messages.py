"""What travels between parties: small JSON objects that name their protocol and their sender."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from utmost.errors import InvalidInput

FIELDS = ("protocol", "party", "message")


@dataclass(frozen=True)
class Message:
    """One party's message: the fingerprint of its protocol, the party's number, and what it says.

    `str(message)` is one line of JSON, which `Protocol.decide` takes too.

    Examples
    --------
    >>> print(Message("0123", 2, 1))
    {"protocol": "0123", "party": 2, "message": 1}
    """

    protocol: str
    party: int
    message: int

    def __str__(self) -> str:
        return json.dumps(asdict(self))


def read_message(given: Any) -> Message:
    """The message that an object, a mapping or a line of JSON stands for."""
    if isinstance(given, Message):
        return given
    try:
        content = given if isinstance(given, Mapping) else json.loads(given)
        protocol, party, said = (content[name] for name in FIELDS)
    except (KeyError, TypeError, ValueError, RecursionError):
        raise InvalidInput(
            f"{str(given)[:80]!r} is not a party's message; give what `respond` made: JSON with {', '.join(FIELDS)}."
        ) from None
    whole = all(isinstance(number, int) and not isinstance(number, bool) for number in (party, said))
    if not whole or not isinstance(protocol, str) or len(content) != len(FIELDS):
        raise InvalidInput(f"{str(given)[:80]!r} is not a party's message: an entry is of the wrong kind, or extra.")
    return Message(protocol, party, said)
