"""The spellings of arguments in the front ends: flags of the command, a file of questions, or a web page.

Messages name arguments as data (`utmost.messages`); here is how each front end writes them, and their values.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from shlex import quote
from typing import Any

from utmost.errors import UtmostError
from utmost.messages import Argument, Call, Code, Name, Spelling, as_python, spelled_as

OTHER_FLAGS = {"at_most": "rows_at_most", "candidates": "categories", "types": "type", "tiers": "tier"}
"""Arguments with a different name in the command."""
LEVELS = {"PureDP": "", "ApproxDP": "", "ZCDP": "rho=", "GaussianDP": "mu=", "ApproxGaussianDP": "mu="}
"""The prefix of the numbers of a level, where levels are written as text."""
BOUNDS = ("groups_each", "rows_each_group", "truncate")
"""Arguments of um.people with a flag of the same name."""


@contextmanager
def errors_spelled(spelling: Spelling) -> Iterator[None]:
    """Within the `with` block, our errors get the spelling of a front end as they leave."""
    try:
        yield
    except UtmostError as reason:
        with spelled_as(spelling):
            reason.args = (str(reason), *reason.args[1:])
        raise


def for_a_shell(text: str) -> str:
    """Quote a value for a command line, if it needs quotes, with those that it does not contain."""
    return f'"{text}"' if "'" in text and not set(text) & set('"$`\\!') else quote(text)


@dataclass(frozen=True)
class Flags:
    """The spelling of a command line, with a flag for each argument; or, without dashes and quotes, of a web form.

    Attributes
    ----------
    known : callable
        Whether there is a flag of a name, spelled with underscores.
    dashes : str
        The prefix of a flag.
    quote : callable
        Quotes a value with spaces.
    """

    known: Callable[[str], bool] = lambda name: True
    dashes: str = "--"
    quote: Callable[[str], str] = for_a_shell

    def name(self, name: Name) -> str | None:
        """The flag of an argument or a question, or the word for groups and bins."""
        word = name.name.rpartition(".")[2]
        flag = word if word in ("bins", "discover") else self._flag(word)
        if word == "at_most" and self.dashes and flag:
            return f"{flag} or --people-at-most"
        return f'"{flag}"' if flag and " " in flag else flag  # a label of two words, named in a sentence

    def argument(self, argument: Argument) -> str | None:
        """A flag and its value; a switch alone."""
        flag, plain = self._flag(argument.name), _plain(argument.value)
        if argument.name == "unit" and isinstance(plain, Call):
            return self.call(plain)
        if flag is None or not argument.has_value:
            return self.name(Name(argument.name))
        if isinstance(plain, dict):
            return " ".join(f"{flag} {self._pair(argument.name, key, part)}" for key, part in plain.items())
        if plain is True:
            return flag if self.dashes else f'"{flag}"'  # a field to tick
        return f"{flag} {self._value(plain)}"

    def call(self, call: Call) -> str | None:
        """Keys, bins, levels and the privacy unit as the command reads them; a question by its flag."""
        name, values = call.function, [_plain(value) for value in call.values]
        named = {name: _plain(value) for name, value in call.arguments.items()}
        if name in LEVELS:
            return _level(name, values)
        if name in ("rows", "people"):
            return self._unit(name, values, named) if self.dashes else None  # no form asks for the unit
        if name == "keys":
            lists = (f"{column}={','.join(map(str, listed))}" for column, listed in named.items())
            return self.quote(";".join(lists) or "COLUMN=VALUE,VALUE")
        if name in ("bins", "discover"):
            return self.quote(f"{name}({', '.join(map(str, values))})")
        flag = self._flag(name)
        if flag is None:
            return None
        first = [self._value(value) for value in values[:1] if value not in ("...", ["..."])]
        arguments = [Argument(*pair) for pair in call.arguments.items()]
        return " ".join([flag, *first, *(self.argument(argument) or as_python(argument) for argument in arguments)])

    def _flag(self, name: str) -> str | None:
        """The flag of a name, or the label of its field; None if there is none."""
        if not name.isidentifier():  # "the value"
            return None
        if not self.dashes:
            return name.replace("_", " ")
        name = OTHER_FLAGS.get(name, name)
        return f"{self.dashes}{name.replace('_', '-')}" if self.known(name) else None

    def _pair(self, name: str, key: Any, part: Any) -> str:
        """One entry of a mapping: a tier's level and size before its condition, else what belongs to a name."""
        return self.quote(f"{part[0]}, {part[1]}: {key}" if name == "tiers" else f"{key}={part}")

    def _value(self, plain: Any) -> str:
        if isinstance(plain, Call):
            return self.call(plain) or as_python(plain)
        text = ",".join(map(str, plain)) if isinstance(plain, list) else str(plain)
        return text if text.startswith(("'", '"', "...")) else self.quote(text)

    def _unit(self, kind: str, values: list[Any], named: dict[str, Any]) -> str:
        id, rows_each, most = _unit_of(values, named)
        if kind == "rows":
            return "--rows" if most is None else f"--rows-at-most {most}"
        bounds = "".join(f" --{name.replace('_', '-')} {named[name]}" for name in BOUNDS if name in named)
        return f"--people-by {id}{'' if most is None else f' --people-at-most {most}'} --rows-each {rows_each}{bounds}"


@dataclass(frozen=True)
class Entries:
    """The spelling of a TOML file, with a line for each argument.

    Attributes
    ----------
    first : mapping of str to str
        The name of each question's first argument, which is positional in Python.
    """

    first: Mapping[str, str] = field(default_factory=dict)

    def name(self, name: Name) -> str:
        """A name without what it belongs to."""
        return name.name.rpartition(".")[2]

    def argument(self, argument: Argument) -> str:
        """A name, and its value as TOML writes it."""
        return f"{argument.name} = {self._value(argument.value)}" if argument.has_value else argument.name

    def call(self, call: Call) -> str:
        """Keys, bins, levels and units as the file contains them; a question by its name and its arguments."""
        name, values = call.function, [_plain(value) for value in call.values]
        named = {name: _plain(value) for name, value in call.arguments.items()}
        if name in LEVELS:
            return self._value(_level(name, values))
        if name in ("rows", "people"):
            id, rows_each, most = _unit_of(values, named)
            groups = f", at most {named['groups_each']} groups each" if "groups_each" in named else ""
            bound = groups + ("" if most is None else f", at most {most}")
            return f'"rows{bound}"' if name == "rows" else f"\"people by '{id}', {rows_each} rows each{bound}\""
        if name == "keys":
            return self._value(named) if named else "{ ... }"
        if name == "discover":
            return f"{{ discover = {self._value(values)} }}"
        if name == "bins":
            return f"{{ bins = {self._value(values[0] if isinstance(values[0], list) else _edges(values))} }}"
        first = [Argument(self.first[name], value) for value in values[:1] if name in self.first and value != ["..."]]
        arguments = [Argument(*pair) for pair in call.arguments.items()]
        return ", ".join([f'question = "{name}"', *map(self.argument, [*first, *arguments])])

    def _value(self, value: Any) -> str:
        """A value in TOML; an ellipsis stays."""
        plain = _plain(value)
        if isinstance(plain, Call):
            return self.call(plain)
        if isinstance(plain, dict):
            return "{ " + ", ".join(f"{key} = {self._value(part)}" for key, part in plain.items()) + " }"
        if isinstance(plain, list):
            return f"[{', '.join('...' if part == '...' else self._value(part) for part in plain)}]"
        return json.dumps(plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """A value without what only Python writes: no `Code`, lists for tuples, and dots as text."""
    if isinstance(value, Code):
        return value.text if value.value is None else value.value
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {_plain(key): _plain(part) for key, part in value.items()}
    return "..." if value is ... else value


def _level(name: str, values: list[Any]) -> str:
    """A level as text, such as "1,1e-06"."""
    return LEVELS[name] + ",".join(f"{value:g}" for value in values)


def _unit_of(values: list[Any], named: dict[str, Any]) -> tuple[Any, Any, Any]:
    """The id column, `rows_each` and `at_most` of a unit, with placeholders."""
    texts = [values[0] if values else "...", named.get("rows_each", "..."), named.get("at_most")]
    id, rows_each, most = (
        other if part == "..." else part for part, other in zip(texts, ("ID", "N", "N"), strict=True)
    )
    return id, rows_each, most


def _edges(values: list[Any]) -> list[Any]:
    """The first edges of bins given by a lower end and a width."""
    lower, _, width = values
    return [lower, lower + width, lower + 2 * width, "..."]


COMMAND, PAGE, FILE = Flags(), Flags(dashes="", quote=str), Entries()
