"""What travels between parties: small JSON objects that name their protocol and their sender."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact.json_text import parse_json
from utmost.privacy import ApproxDP
from utmost.theory.multiparty.design.response import response

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
    shown = (given if isinstance(given, str) else repr(given))[:80]
    try:
        told = asdict(given) if isinstance(given, Message) else given
        content = told if isinstance(told, Mapping) else parse_json(told)
        protocol, party, said = (content[name] for name in FIELDS)
    except (KeyError, TypeError, ValueError, RecursionError):
        raise InvalidInput(
            f"{shown!r} is not a party's message; give what `respond` made: JSON with {', '.join(FIELDS)}."
        ) from None
    whole = all(isinstance(number, int) and not isinstance(number, bool) for number in (party, said))
    if not whole or not isinstance(protocol, str) or len(content) != len(FIELDS):
        raise InvalidInput(f"{shown!r} is not a party's message: an entry is of the wrong kind, or extra.")
    return Message(protocol, party, said)


def collect(
    messages: Iterable[Any], fingerprint: str, levels: Sequence[ApproxDP], party: int | None = None
) -> dict[int, int]:
    """What every party says, or an error that names the party whose message is wrong, double or missing.

    A party that decides for itself may leave its own message out.
    """
    if party is not None:
        require_party(party, len(levels))
    if isinstance(messages, str | bytes | Mapping | Message):
        messages = [messages]
    if not isinstance(messages, Iterable):
        raise InvalidInput(f"messages is {messages!r}; give a list with the message of every party.")
    heard: dict[int, int] = {}
    for message in map(read_message, messages):
        if message.protocol != fingerprint:
            raise InvalidInput(
                f"the message of party {message.party} belongs to the protocol {message.protocol[:32]!r}, not to "
                f"{fingerprint!r}; ask for one made with this protocol's file."
            )
        sender = require_party(message.party, len(levels))
        if sender in heard:
            raise InvalidInput(f"party {sender} sent two messages; give the one message that it recorded.")
        weights = response(levels[sender]).weights
        if not 0 <= message.message < weights.shape[1] or not weights[:, message.message].any():
            raise InvalidInput(f"party {sender} has no message {message.message!r}; it was not made by `respond`.")
        heard[sender] = message.message
    missing = [i for i in range(len(levels)) if i not in heard and i != party]
    if missing:
        named = ", ".join(map(str, missing[:10])) + (", ..." if len(missing) > 10 else "")
        raise InvalidInput(f"no message of party {named}; every party's message is needed.")
    return heard


def require_party(party: Any, parties: int) -> int:
    """The number of a party, or an error that says which there are."""
    whole = isinstance(party, int | np.integer) and not isinstance(party, bool)
    if not whole or not 0 <= party < parties:
        raise InvalidInput(f"there is no party {party!r}; parties are numbered 0 to {parties - 1}.")
    return int(party)


def read_bit(bit: Any) -> int:
    """A private bit; an error does not repeat it."""
    if isinstance(bit, bool | np.bool_ | int | np.integer) and bit in (0, 1):
        return int(bit)
    raise InvalidInput("the bit is neither 0 nor 1 (it is private, so it is not shown here).")
