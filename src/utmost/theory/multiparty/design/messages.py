"""Messages between parties: small JSON objects that name their protocol and their sender."""

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
    """One party's message: the fingerprint of its protocol, the party's number, and the message itself.

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


def read_message(source: Any) -> Message:
    """The message that an object, a mapping or a line of JSON stands for."""
    excerpt = (source if isinstance(source, str) else repr(source))[:80]
    try:
        data = asdict(source) if isinstance(source, Message) else source
        content = data if isinstance(data, Mapping) else parse_json(data)
        protocol, party, number = (content[name] for name in FIELDS)
    except (KeyError, TypeError, ValueError, RecursionError):
        raise InvalidInput(
            f"{excerpt!r} is not a party's message; give what `respond` made: JSON with {', '.join(FIELDS)}."
        ) from None
    integral = all(isinstance(entry, int) and not isinstance(entry, bool) for entry in (party, number))
    if not integral or not isinstance(protocol, str) or len(content) != len(FIELDS):
        raise InvalidInput(f"{excerpt!r} is not a party's message: an entry is of the wrong kind, or extra.")
    return Message(protocol, party, number)


def collect(
    messages: Iterable[Any], fingerprint: str, levels: Sequence[ApproxDP], party: int | None = None
) -> dict[int, int]:
    """Every party's message by its number; an error names the party whose message is wrong, duplicate or missing.

    A party that decides for itself may leave its own message out.
    """
    if party is not None:
        require_party(party, len(levels))
    if isinstance(messages, str | bytes | Mapping | Message):
        messages = [messages]
    if not isinstance(messages, Iterable):
        raise InvalidInput(f"messages is {messages!r}; give a list with the message of every party.")
    message_of: dict[int, int] = {}
    for message in map(read_message, messages):
        if message.protocol != fingerprint:
            raise InvalidInput(
                f"the message of party {message.party} belongs to the protocol {message.protocol[:32]!r}, not to "
                f"{fingerprint!r}; ask for one made with this protocol's file."
            )
        sender = require_party(message.party, len(levels))
        if sender in message_of:
            raise InvalidInput(f"party {sender} sent two messages; give the one message that it recorded.")
        weights = response(levels[sender]).weights
        if not 0 <= message.message < weights.shape[1] or not weights[:, message.message].any():
            raise InvalidInput(f"party {sender} has no message {message.message!r}; it was not made by `respond`.")
        message_of[sender] = message.message
    missing = [i for i in range(len(levels)) if i not in message_of and i != party]
    if missing:
        numbers = ", ".join(map(str, missing[:10])) + (", ..." if len(missing) > 10 else "")
        raise InvalidInput(f"no message of party {numbers}; every party's message is needed.")
    return message_of


def require_party(party: Any, parties: int) -> int:
    """The number of a party, checked."""
    integral = isinstance(party, int | np.integer) and not isinstance(party, bool)
    if not integral or not 0 <= party < parties:
        raise InvalidInput(f"there is no party {party!r}; parties are numbered 0 to {parties - 1}.")
    return int(party)


def read_bit(bit: Any) -> int:
    """A private bit, checked; the error does not show it."""
    if isinstance(bit, bool | np.bool_ | int | np.integer) and bit in (0, 1):
        return int(bit)
    raise InvalidInput("the bit is neither 0 nor 1 (it is private, so it is not shown here).")
