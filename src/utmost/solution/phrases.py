"""Sentences as data: a template with its figures, rendered in one place, and read back from a text.

A phrase is what a certificate states; its text is made of it. Reading is the inverse of rendering, and nothing else: a
text is read only if it is, letter by letter, what its figures render to.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from string import Formatter
from typing import Any

MOST_NAME = 255
"""The most characters of the name of a file."""


@dataclass(frozen=True)
class Figure:
    """A kind of figure: how it is written, how it is read, and which values it may have."""

    write: Callable[[Any], str]
    read: Callable[[str], Any]
    allows: Callable[[Any], bool] = lambda value: True


FIGURES = {
    "whole": Figure(str, int, lambda number: 0 <= number < 10**18),
    "rounds": Figure(
        lambda number: f"{number} round{'s' * (number != 1)}",
        lambda text: int(text.partition(" ")[0]),
        lambda number: 0 < number < 10**18,
    ),
    "small": Figure(lambda number: f"{number:.1g}", float, lambda number: 0 <= number < 1),
    "names": Figure(", ".join, lambda text: tuple(text.split(", "))),
    "file": Figure(str, str, lambda name: 0 < len(name) <= MOST_NAME and not re.search(r"[\x00-\x1f\x7f]", name)),
    "text": Figure(str, str),
    "distance": Figure(lambda number: f"{number:,}", lambda text: int(text.replace(",", ""))),
    "twelve": Figure(lambda number: f"{number:.12g}", float),
}
"""The placeholders of templates, by name: a count, rounds, a small number of one digit, names in a list, the name of a
file, words that follow from the problem, a distance, a number of twelve digits."""


@dataclass(frozen=True)
class Template:
    """A sentence with places for figures, such as "linear program over {whole} columns".

    Examples
    --------
    >>> columns = Template("linear program over {whole} columns")
    >>> str(columns(7)), columns.read("linear program over 7 columns") == columns(7)
    ('linear program over 7 columns', True)
    >>> columns.read("linear program over 07 columns") is columns.read("linear program, checked twice") is None
    True
    """

    text: str

    def __call__(self, *figures: Any) -> Phrase:
        """The phrase with these figures, in the order of their places."""
        return Phrase(self, figures)

    @cached_property
    def parts(self) -> tuple[tuple[str, str | None], ...]:
        """The literal texts, each with the kind of the figure that follows it; None at the end."""
        return tuple((literal, kind) for literal, kind, _, _ in Formatter().parse(self.text))

    @property
    def kinds(self) -> tuple[Figure, ...]:
        """The kinds of its figures."""
        return tuple(FIGURES[kind] for _, kind in self.parts if kind is not None)

    def read(self, text: str) -> Phrase | None:
        """The phrase whose text this is; None if it is not one of this template."""
        pattern = "".join(re.escape(literal) + "(.+?)" * (kind is not None) for literal, kind in self.parts)
        match = re.fullmatch(pattern, text)
        if match is None:
            return None
        try:
            phrase = self(*(kind.read(part) for kind, part in zip(self.kinds, match.groups(), strict=True)))
        except ValueError:
            return None
        allowed = all(kind.allows(figure) for kind, figure in zip(self.kinds, phrase.figures, strict=True))
        return phrase if allowed and str(phrase) == text else None


@dataclass(frozen=True)
class Phrase:
    """A template with its figures; its text is `str` of it."""

    template: Template
    figures: tuple[Any, ...] = ()

    def __str__(self) -> str:
        figures = iter(self.figures)
        return "".join(
            literal + ("" if kind is None else FIGURES[kind].write(next(figures)))
            for literal, kind in self.template.parts
        )
