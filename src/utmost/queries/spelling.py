"""Arguments as they are spelled where somebody asks: behind flags of the command, in a file of questions, on a page.

Notes and errors spell arguments as Python does: ``unbiased=True``, ``by=um.keys(town=["Ash"])``. Here such pieces of a
text are found, parsed and spelled in another way; quoted text, and what is no argument there, stay as they are.
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
"""What is quoted, to be passed over; and where a call, or an argument with its name, begins."""
OTHER_NAMES = {"candidates": "categories", "types": "type", "tiers": "tier"}
"""Arguments that the command spells by another name."""
LEVELS = {"PureDP": "", "ApproxDP": "", "ZCDP": "rho=", "GaussianDP": "mu=", "ApproxGaussianDP": "mu="}
"""What stands before the numbers of a level, where levels are written as text."""
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
"""What questions and sessions take: whatever else stands before an equals sign is a column, or somebody's own words."""


class Spelling(Protocol):
    """How one place spells what Python writes; None where it has nothing of the kind."""

    def argument(self, name: str, value: ast.expr | None) -> str | None:
        """An argument with its value, or its name alone."""

    def called(self, name: str, call: ast.Call | None) -> str | None:
        """A call of ours, such as um.keys(...) or s.count(...), or the name of it alone."""


def spelled(text: str, spelling: Spelling) -> str:
    """A text in which arguments are spelled as they are at some place.

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
    """Meanwhile errors of ours spell arguments as they are spelled at some place."""
    try:
        yield
    except UtmostError as reason:
        reason.args = (spelled(str(reason), spelling), *reason.args[1:])
        raise


def _parts(text: str, spelling: Spelling) -> Iterator[str]:
    """The text piece by piece, spelled anew where that is possible."""
    at = 0
    while match := PIECE.search(text, at):
        begin = match.start()
        end = match.end() if text[begin] in "'\"" else _end(text, begin)
        spelling_of_piece = _spelled(text[begin:end], spelling)
        yield text[at:begin] + (text[begin:end] if spelling_of_piece is None else spelling_of_piece)
        at = end
    yield text[at:]


def _end(text: str, begin: int) -> int:
    """Where a piece of Python ends: at a space or a comma outside of its brackets and quotes."""
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
    """The spelling of a call, or of a name alone, that is one of ours; None of any other expression."""
    function = value.func if isinstance(value, ast.Call) else value
    if not isinstance(function, ast.Attribute):
        return None
    return spelling.called(function.attr, value if isinstance(value, ast.Call) else None)


def _plain(value: ast.expr) -> Any:
    """What an expression of plain values is: types and dots are their own names."""
    if isinstance(value, ast.Constant):
        return "..." if value.value is ... else value.value
    if isinstance(value, ast.List | ast.Tuple):
        return [_plain(part) for part in value.elts]
    if isinstance(value, ast.Dict):
        return {_plain(key): _plain(part) for key, part in zip(value.keys, value.values, strict=True) if key}
    return ast.unparse(value)


def _arguments(call: ast.Call | None) -> tuple[list[Any], dict[str, Any]]:
    """The plain values of a call, those without a name and those with one."""
    if call is None:
        return [], {}
    return [_plain(value) for value in call.args], {
        str(keyword.arg): _plain(keyword.value) for keyword in call.keywords
    }


def for_a_shell(text: str) -> str:
    """A value as it is typed on a command line: in the quotes that it does not hold itself, if it needs any."""
    return f'"{text}"' if "'" in text and not set(text) & set('"$`\\!') else quote(text)


@dataclass(frozen=True)
class Flags:
    """One flag for each argument, as on a command line; or, without dashes and quotes, the fields of a form.

    Attributes
    ----------
    known : whether there is a flag of this name, spelled with underscores
    dashes, quote : what stands before a flag, and how a value with spaces in it is written
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
        """Keys, bins and whom the unit protects as the command reads them; a question by its flag."""
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
    """A line of a TOML file for each argument.

    Attributes
    ----------
    first : the name of each question's first argument, which Python need not name
    """

    first: Mapping[str, str] = field(default_factory=dict)

    def argument(self, name: str, value: ast.expr | None) -> str | None:
        """A name, and its value as TOML writes it."""
        return name if value is None else f"{name} = {_called(value, self) or _toml(_plain(value))}"

    def called(self, name: str, call: ast.Call | None) -> str | None:
        """Keys, bins and units as the file has them; a question by its name and its arguments."""
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
    """The column that says whose row it is, how many rows of each take part, and how many there are at most."""
    texts = [values[0] if values else "...", named.get("rows_each", "..."), named.get("at_most")]
    who, rows_each, most = (
        other if part == "..." else part for part, other in zip(texts, ("ID", "N", "N"), strict=True)
    )
    return who, rows_each, most


def _edges(values: list[Any]) -> list[Any]:
    """The first edges of bins that begin somewhere and have a width."""
    lower, _, width = values
    return [lower, lower + width, lower + 2 * width, "..."]


def _toml(plain: Any) -> str:
    if isinstance(plain, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(part)}" for key, part in plain.items()) + " }"
    if isinstance(plain, list):
        return f"[{', '.join('...' if part == '...' else _toml(part) for part in plain)}]"
    return json.dumps(plain, ensure_ascii=False)


COMMAND, PAGE, FILE = Flags(), Flags(dashes="", quote=str), Entries()
