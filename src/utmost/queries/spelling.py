"""Rewrite arguments in notes and errors for a front end: flags of the command, a file of questions, or a web page.

Notes and errors spell arguments as Python does: ``unbiased=True``, ``by=um.keys(town=["Ash"])``. Here such pieces of a
text are located, parsed and spelled for the front end; quoted text, and arguments that it lacks, stay as they are.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from shlex import quote
from typing import Any, Protocol

from utmost.errors import UtmostError

PIECE = re.compile(
    r"""(?<!\w)'[^'\n]*'|"[^"\n]*"|(?<![\w.])(?:um\.[A-Za-z_]+\(?|s(?:\.plan)?\.[a-z_]+\(|[a-z_]+=(?!=))"""
)
"""Quoted text, which is skipped; or the beginning of a call, or of an argument with its name."""
OTHER_NAMES = {"candidates": "categories", "types": "type", "tiers": "tier"}
"""Arguments with a different name in the command."""
LEVELS = {"PureDP": "", "ApproxDP": "", "ZCDP": "rho=", "GaussianDP": "mu=", "ApproxGaussianDP": "mu="}
"""The prefix of the numbers of a level, where levels are written as text."""
ARGUMENTS = {
    *("among", "at_least", "budget", "by", "candidates", "categories", "column", "conditions", "dataset", "edges"),
    *(
        "expected_rows",
        "min_rows",
        "fresh",
        "grid",
        "k",
        "keys_each",
        "largest",
        "ledger",
        "loss",
        "lower",
        "monotone",
        "neighbours",
        "of",
        "other",
        "prior",
    ),
    *("privacy", "q", "share", "tiers", "types", "unbiased", "unit", "up_to", "upper", "where"),
    *("x", "x_grid", "x_range", "y", "y_grid", "y_range"),
}
"""Arguments of questions and sessions: any other name before an equals sign is a column, or the user's text."""


class Spelling(Protocol):
    """How a front end spells arguments and calls; None for what it lacks."""

    def argument(self, name: str, value: ast.expr | None) -> str | None:
        """An argument with its value, or its name alone."""

    def called(self, name: str, call: ast.Call | None) -> str | None:
        """A call such as um.keys(...) or s.count(...), or its name alone."""


def spelled(text: str, spelling: Spelling) -> str:
    """Rewrite a text with arguments spelled for a front end.

    Examples
    --------
    >>> spelled("unbiased=True gives the noisy number", COMMAND)
    '--unbiased gives the noisy number'
    >>> spelled("give keys: by=um.keys(town=['Ash', 'Briar']).", COMMAND)
    'give keys: --by town=Ash,Briar.'
    >>> spelled("give keys: by=um.keys(town=['Ash', 'Briar']).", FILE)
    'give keys: by = { town = ["Ash", "Briar"] }.'
    """
    return "".join(_parts(text, spelling))


@contextmanager
def errors_spelled(spelling: Spelling) -> Iterator[None]:
    """Within the `with` block, our errors spell arguments for a front end."""
    try:
        yield
    except UtmostError as reason:
        reason.args = (spelled(str(reason), spelling), *reason.args[1:])
        raise


def _parts(text: str, spelling: Spelling) -> Iterator[str]:
    """The pieces of a text, rewritten where that is possible."""
    at = 0
    while match := PIECE.search(text, at):
        begin = match.start()
        end = match.end() if text[begin] in "'\"" else _end(text, begin)
        spelling_of_piece = _spelled(text[begin:end], spelling)
        yield text[at:begin] + (text[begin:end] if spelling_of_piece is None else spelling_of_piece)
        at = end
    yield text[at:]


def _end(text: str, begin: int) -> int:
    """The end of a piece of Python: a space or a comma outside of brackets and quotes."""
    depth, quoted, at = 0, "", begin
    while at < len(text):
        here = text[at]
        if quoted:
            quoted = "" if here == quoted else quoted
        elif here in "'\"":
            quoted = here
        elif here in "([{":
            depth += 1
        elif (here in ")]}" and depth == 0) or (depth == 0 and here in " \n,;"):
            break
        elif here in ")]}":
            depth -= 1
        at += 1
    while text[at - 1] in ".:":  # the sentence's, not the number's
        at -= 1
    return at


def _spelled(piece: str, spelling: Spelling) -> str | None:
    name, equals, _ = piece.partition("=")
    if piece[0] in "'\"" or (equals and name.isidentifier() and name not in ARGUMENTS):
        return None
    if piece.endswith("="):
        return spelling.argument(piece[:-1], None)
    try:
        call = ast.parse(f"f({piece})", mode="eval").body
    except SyntaxError:
        return None
    assert isinstance(call, ast.Call)
    if call.keywords:
        return spelling.argument(str(call.keywords[0].arg), call.keywords[0].value)
    return _called(call.args[0], spelling)


def _called(value: ast.expr, spelling: Spelling) -> str | None:
    """The spelling of one of our calls, or of its name alone; None for any other expression."""
    function = value.func if isinstance(value, ast.Call) else value
    if not isinstance(function, ast.Attribute):
        return None
    return spelling.called(function.attr, value if isinstance(value, ast.Call) else None)


def _plain(value: ast.expr) -> Any:
    """Evaluate an expression of plain values, with types and dots as their names."""
    if isinstance(value, ast.Constant):
        return "..." if value.value is ... else value.value
    if isinstance(value, ast.List | ast.Tuple):
        return [_plain(part) for part in value.elts]
    if isinstance(value, ast.Dict):
        return {_plain(key): _plain(part) for key, part in zip(value.keys, value.values, strict=True) if key}
    return ast.unparse(value)


def _arguments(call: ast.Call | None) -> tuple[list[Any], dict[str, Any]]:
    """The positional and the named arguments of a call, as plain values."""
    if call is None:
        return [], {}
    return [_plain(value) for value in call.args], {
        str(keyword.arg): _plain(keyword.value) for keyword in call.keywords
    }


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

    def argument(self, name: str, value: ast.expr | None) -> str | None:
        """A flag and its value; a switch alone."""
        if value is not None and name == "unit":
            return _called(value, self)
        flag = OTHER_NAMES.get(name, name)
        if not self.known(flag):
            return None
        flag_text = f"{self.dashes}{flag.replace('_', '-' if self.dashes else ' ')}"
        if value is None:
            return flag_text
        plain = _called(value, self) or _plain(value)
        if isinstance(plain, dict):
            return " ".join(f"{flag_text} {self._pair(name, key, part)}" for key, part in plain.items())
        if plain is True:
            return flag_text if self.dashes else f'"{flag_text}"'  # a field to tick, named in a sentence
        return f"{flag_text} {self._value(plain)}"

    def _pair(self, name: str, key: Any, part: Any) -> str:
        """One entry of a mapping: a tier's level and size before its condition, else what belongs to a name."""
        return self.quote(f"{part[0]}, {part[1]}: {key}" if name == "tiers" else f"{key}={part}")

    def _value(self, plain: Any) -> str:
        text = ",".join(map(str, plain)) if isinstance(plain, list) else str(plain)
        return text if text.startswith(("'", '"', "...")) else self.quote(text)

    def called(self, name: str, call: ast.Call | None) -> str | None:
        """Keys, bins and the privacy unit as the command reads them; a question by its flag."""
        values, named = _arguments(call)
        if name in LEVELS and values:
            return LEVELS[name] + ",".join(f"{value:g}" for value in values)
        if name in ("rows", "people"):
            return self._unit(name, values, named) if self.dashes else None  # no form asks for the unit
        if name == "keys" and named:
            lists = (f"{column}={','.join(map(str, listed))}" for column, listed in named.items())
            return self.quote(";".join(lists))
        if name in ("bins", "discover"):
            return self.quote(f"{name}({', '.join(map(str, values))})") if values else name
        if name == "keys":
            return self.quote("COLUMN=VALUE,VALUE")
        if call is None or not self.known(name):
            return None
        first = [self._value(value) for value in values[:1] if value not in ("...", ["..."])]
        arguments = (str(self.argument(str(keyword.arg), keyword.value)) for keyword in call.keywords)
        return " ".join([f"{self.dashes}{name.replace('_', '-')}", *first, *arguments])

    def _unit(self, kind: str, values: list[Any], named: dict[str, Any]) -> str:
        who, rows_each, most = _unit_of(values, named)
        if kind == "rows":
            return "--rows" if most is None else f"--rows-at-most {most}"
        bounds = ("groups_each", "rows_each_group", "truncate")
        more = "".join(f" --{name.replace('_', '-')} {named[name]}" for name in bounds if name in named)
        return f"--people-by {who}{'' if most is None else f' --people-at-most {most}'} --rows-each {rows_each}{more}"


@dataclass(frozen=True)
class Entries:
    """The spelling of a TOML file, with a line for each argument.

    Attributes
    ----------
    first : mapping of str to str
        The name of each question's first argument, which is positional in Python.
    """

    first: Mapping[str, str] = field(default_factory=dict)

    def argument(self, name: str, value: ast.expr | None) -> str | None:
        """A name, and its value as TOML writes it."""
        return name if value is None else f"{name} = {_called(value, self) or _toml(_plain(value))}"

    def called(self, name: str, call: ast.Call | None) -> str | None:
        """Keys, bins and units as the file contains them; a question by its name and its arguments."""
        values, named = _arguments(call)
        if name in LEVELS and values:
            return _toml(LEVELS[name] + ",".join(f"{value:g}" for value in values))
        if name in ("rows", "people"):
            who, rows_each, most = _unit_of(values, named)
            groups = f", at most {named['groups_each']} groups each" if "groups_each" in named else ""
            bound = groups + ("" if most is None else f", at most {most}")
            return f'"rows{bound}"' if name == "rows" else f"\"people by '{who}', {rows_each} rows each{bound}\""
        if name == "keys" and call is not None:
            return _toml(named) if named else "{ ... }"
        if name == "discover":
            return f"{{ discover = {_toml(values)} }}" if values else name
        if name == "bins":
            return f"{{ bins = {_toml(values[0] if isinstance(values[0], list) else _edges(values))} }}"
        if call is None:
            return None
        firsts = [
            f"{self.first[name]} = {_toml(value)}" for value in values[:1] if name in self.first and value != ["..."]
        ]
        arguments = (str(self.argument(str(rows_each.arg), rows_each.value)) for rows_each in call.keywords)
        return ", ".join([f'question = "{name}"', *firsts, *arguments])


def _unit_of(values: list[Any], named: dict[str, Any]) -> tuple[Any, Any, Any]:
    """The id column, `rows_each` and `at_most` of a unit, with placeholders."""
    texts = [values[0] if values else "...", named.get("rows_each", "..."), named.get("at_most")]
    who, rows_each, most = (
        other if part == "..." else part for part, other in zip(texts, ("ID", "N", "N"), strict=True)
    )
    return who, rows_each, most


def _edges(values: list[Any]) -> list[Any]:
    """The first edges of bins given by a lower end and a width."""
    lower, _, width = values
    return [lower, lower + width, lower + 2 * width, "..."]


def _toml(plain: Any) -> str:
    if isinstance(plain, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(part)}" for key, part in plain.items()) + " }"
    if isinstance(plain, list):
        return f"[{', '.join('...' if part == '...' else _toml(part) for part in plain)}]"
    return json.dumps(plain, ensure_ascii=False)


COMMAND, PAGE, FILE = Flags(), Flags(dashes="", quote=str), Entries()
