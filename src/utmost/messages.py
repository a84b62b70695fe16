"""Texts that name arguments, as data, so that each front end writes the arguments in its own spelling.

Where Python has the argument ``expected_rows=1000``, the command has the flag ``--expected-rows 1000``, a web page the
field "expected rows", and a file of questions the line ``expected_rows = 1000``. So a message is `Words`: texts, and
between them an `Argument`, a `Call` or a `Name`. As a `str` it has the spelling of Python, which is what JSON, files
and comparisons see; ``str(words)`` within ``with spelled_as(...)`` has another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Code:
    """A value that Python code writes in a way of its own, such as ``Code("20_000", 20_000)``.

    Attributes
    ----------
    text : str
        The text in Python.
    value : object
        The value for other spellings; without it, the text.
    """

    text: str
    value: Any = None


@dataclass(frozen=True)
class Name:
    """The name of an argument or a function in a sentence: ``Name("lower")``, ``Name("um.discover")``."""

    name: str


@dataclass(frozen=True)
class Argument:
    """An argument by its name, with a value or without: ``at_most=1000``, or ``at_most=``.

    Attributes
    ----------
    name : str
        The name in Python.
    value : object
        The value, which may be a `Call`, a `Code`, or hold some; without it, the argument as such.
    """

    name: str
    value: Any = Ellipsis

    @property
    def has_value(self) -> bool:
        """Whether a value is shown."""
        return self.value is not Ellipsis


class Call:
    """A call: ``Call("um.rows", at_most=1000)``; an ellipsis stands for what the user fills in.

    Parameters
    ----------
    name : str
        The function as Python names it, such as "um.keys" or "s.count".
    *values, **arguments : object
        Its arguments.
    """

    def __init__(self, name: str, /, *values: Any, **arguments: Any) -> None:
        self.name, self.values, self.arguments = name, values, arguments

    @property
    def function(self) -> str:
        """The function's name alone."""
        return self.name.rpartition(".")[2]


Part = str | Code | Name | Argument | Call


class Spelling(Protocol):
    """How a front end writes names, arguments and calls; None for what it lacks, which stays as in Python."""

    def name(self, name: Name) -> str | None:
        """Write a name."""

    def argument(self, argument: Argument) -> str | None:
        """Write an argument."""

    def call(self, call: Call) -> str | None:
        """Write a call."""


_SPELLING: ContextVar[Spelling | None] = ContextVar("spelling", default=None)


class Words(str):
    """A text with arguments in it: as a `str` in Python's spelling, and ``str(words)`` in that of `spelled_as`.

    Methods of `str` other than ``+`` return plain text in Python's spelling.

    Parameters
    ----------
    *parts : str, Name, Argument, Call or Words
        The text, piece by piece.

    Examples
    --------
    >>> words = Words("say what it may spend, such as ", Argument("privacy", 0.5), ": there is no default.")
    >>> print(words)
    say what it may spend, such as privacy=0.5: there is no default.
    >>> from utmost.queries.spelling import COMMAND
    >>> with spelled_as(COMMAND):
    ...     print(words)
    say what it may spend, such as --privacy 0.5: there is no default.
    """

    parts: tuple[Part, ...]

    def __new__(cls, *parts: Part) -> Words:
        """Join the parts, in Python's spelling."""
        flat = tuple(_flat(parts))
        words = super().__new__(cls, "".join(map(as_python, flat)))
        words.parts = flat
        return words

    def __getnewargs__(self) -> tuple[Part, ...]:  # type: ignore[override]
        """The parts, for copies and pickles."""
        return self.parts

    def __str__(self) -> str:
        """The text in the spelling of the `with` block around."""
        spelling = _SPELLING.get()
        return str.__str__(self) if spelling is None else "".join(_spelled(part, spelling) for part in self.parts)

    def __add__(self, other: str) -> Words:
        """Append a text."""
        return Words(self, other)

    def __radd__(self, other: str) -> Words:
        """Put a text before."""
        return Words(other, self)


@contextmanager
def spelled_as(spelling: Spelling) -> Iterator[None]:
    """Within the `with` block, ``str(words)`` has the spelling of a front end: for what is shown, never for files."""
    token = _SPELLING.set(spelling)
    try:
        yield
    finally:
        _SPELLING.reset(token)


def joined(separator: str, parts: Iterable[Part]) -> Words:
    """Put a separator between parts.

    Examples
    --------
    >>> joined(" or ", [Argument("by"), "nothing"])
    'by= or nothing'
    """
    return Words(*[piece for part in parts for piece in (separator, part)][1:])


def as_python(value: Any) -> str:
    """Write a part of a text, as it is in Python.

    Examples
    --------
    >>> as_python(Argument("unit", Call("um.rows", at_most=Code("20_000", 20_000))))
    'unit=um.rows(at_most=20_000)'
    >>> as_python(Call("s.counts", [...], of="people"))
    "s.counts([...], of='people')"
    """
    match value:
        case str():
            return value
        case Code():
            return value.text
        case Name():
            return value.name
        case Argument():
            return f"{value.name}={_literal(value.value) if value.has_value else ''}"
        case Call():
            named = (f"{name}={_literal(part)}" for name, part in value.arguments.items())
            return f"{value.name}({', '.join([*map(_literal, value.values), *named])})"
    raise TypeError(f"a text has no part of the type {type(value).__name__}")


def _literal(value: Any) -> str:
    """Write a value of an argument, as Python code does."""
    match value:
        case Code() | Call():
            return as_python(value)
        case list():
            return f"[{', '.join(map(_literal, value))}]"
        case dict():
            return "{" + ", ".join(f"{_literal(key)}: {_literal(part)}" for key, part in value.items()) + "}"
    return "..." if value is ... else repr(value)


def _flat(parts: Iterable[Part]) -> Iterator[Part]:
    """The parts, with those of other Words among them."""
    for part in parts:
        yield from part.parts if isinstance(part, Words) else (part,)


def _spelled(part: Part, spelling: Spelling) -> str:
    """Write a part in the spelling of a front end, or as in Python if it lacks that."""
    match part:
        case Name():
            text = spelling.name(part)
        case Argument():
            text = spelling.argument(part)
        case Call():
            text = spelling.call(part)
        case _:
            text = None
    return as_python(part) if text is None else text
