"""Questions, levels, plans and budgets as JSON, both ways: what a client writes and a server reads, and the reverse.

A question is the name of a session's method with the arguments of that method by their names, so that a new question
needs nothing here. What JSON lacks is known by the argument's name: `privacy` is a level, `by` public keys, and a
`prior` over tallies a list of pairs; bins are an object with their edges.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from utmost.accounting.account import Filter, Left, Spent
from utmost.accounting.entries import Entry
from utmost.errors import BadFile, InvalidInput, UtmostError, shown
from utmost.exact import Amount
from utmost.exact.json_text import parse_json
from utmost.exact.saved import NONSENSE, canonical_text
from utmost.privacy import Level, as_level, level_from_json
from utmost.privacy.written import read_level
from utmost.queries.arguments import listed, plain
from utmost.queries.asking import Questions
from utmost.queries.bins import Bins, bins
from utmost.queries.budget import Budget, asked, levels_of
from utmost.queries.found_keys import Discover, discover_from_public
from utmost.queries.keys import Keys, keys, keys_from_public
from utmost.queries.questions import BY_KEYS_ALONE, QUESTIONS, Kind

UNSENT = "a server takes conditions as SQL text, such as 'age >= 65', and everything else as texts, numbers and lists"
MOST_TEXT = 10_000
"""No text of a question is longer."""
MOST_LISTED = 10_000
"""No list of a question has more members, keys and priors apart."""


METHODS: dict[str, Kind] = QUESTIONS | BY_KEYS_ALONE
"""Every method of a session that asks."""


@dataclass(frozen=True)
class Asked:
    """A question as it is sent: the name of the method and its arguments, in JSON."""

    name: str
    arguments: Mapping[str, Any]
    fresh: bool = False

    @property
    def plain(self) -> dict[str, Any]:
        """As plain data: what is sent, and what is recorded."""
        return {"question": self.name, **self.arguments}

    @property
    def text(self) -> str:
        """One text for one question."""
        return canonical_text(self.plain)


def parameters_of(name: str) -> dict[str, inspect.Parameter]:
    """The arguments of a question's method."""
    found = dict(inspect.signature(getattr(Questions, name)).parameters)
    found.pop("self")
    return found


def read_asked(content: Any) -> Asked:
    """The question that a request asks; an error that says what is missing or not known."""
    if not isinstance(content, dict):
        raise InvalidInput(f"the question is {shown(content)}; send an object such as {EXAMPLE}.")
    name = content.get("question")
    if not isinstance(name, str) or name not in METHODS:
        raise InvalidInput(f"question is {shown(name)}; it is one of {', '.join(METHODS)}.")
    taken = parameters_of(name)
    given = {key: value for key, value in content.items() if key != "question"}
    odd = [key for key in given if key not in taken]
    if odd:
        raise InvalidInput(f"{name} takes no {shown(odd[0])}; it takes {', '.join(taken)}.")
    needed = [key for key, each in taken.items() if each.default is inspect.Parameter.empty] + ["privacy"]
    missing = [key for key in needed if given.get(key) is None]
    if missing:
        raise InvalidInput(f"{name} lacks {', '.join(missing)}; give each by its name, as in {EXAMPLE}.")
    fresh = given.pop("fresh", False)
    if not isinstance(fresh, bool):
        raise InvalidInput(f"fresh is {shown(fresh)}; say true to draw and spend again, or leave it out.")
    for key, value in given.items():
        if key not in ("by", "prior"):
            _require_small(key, value)
    return Asked(name, given, fresh)


EXAMPLE = '{"question": "count", "where": "age >= 65", "privacy": 0.5}'


def _require_small(name: str, value: Any, depth: int = 0) -> None:
    """Bound what a question may hold, before anything is computed from it."""
    if isinstance(value, str) and len(value) > MOST_TEXT:
        raise InvalidInput(f"{name} holds a text of {len(value)} letters; give at most {MOST_TEXT}.")
    if isinstance(value, list | dict):
        if len(value) > MOST_LISTED or depth > 4:
            raise InvalidInput(f"{name} holds {len(value)} parts, or lists within lists; give at most {MOST_LISTED}.")
        for part in value.values() if isinstance(value, dict) else value:
            _require_small(name, part, depth + 1)


def arguments_of(asked: Asked, most_keys: int = 10**6) -> dict[str, Any]:
    """The arguments that a session's method is called with."""
    read = {name: _value_of(value, most_keys) for name, value in asked.arguments.items()}
    read["privacy"] = level_of(asked.arguments["privacy"])
    for name in {"by", "keys"} & read.keys():
        if isinstance(read[name], dict):
            read[name] = _keys_of(read[name], most_keys)
        if not isinstance(read[name], Keys | Discover | None):  # a text would be the name of a file on this machine
            raise InvalidInput(f'{name} is {shown(read[name])}; list the values of columns: {{"town": ["Ash"]}}.')
    prior = read.get("prior")
    if isinstance(prior, list) and prior and all(isinstance(part, list) for part in prior):
        try:
            read["prior"] = {tuple(tally): chance for tally, chance in prior}
        except (TypeError, ValueError):
            raise InvalidInput("a prior over tallies is a list of pairs: a tally and how likely it is.") from None
    return read


def _value_of(value: Any, most_keys: int) -> Any:
    """A value in which bins, keys and columns whose keys are found privately are written as their `public` is."""
    if isinstance(value, list):
        return [_value_of(part, most_keys) for part in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"bins"}:
        return bins(value["bins"])
    if {"discover"} <= value.keys() <= {"discover", "keys_each", "share"}:
        try:
            return discover_from_public({"keys_each": 1, **value})
        except TypeError:
            raise InvalidInput('discover lists columns, as in {"discover": ["town"], "keys_each": 1}.') from None
    return _keys_of(value, most_keys) if value.keys() >= {"product", "columns"} else value


def level_of(value: Any) -> Level:
    """A level: an epsilon, a text such as "0.5,1e-6" or "mu=0.5", or what `Level.to_json` writes."""
    if isinstance(value, str):
        return read_level(value, "privacy")
    if not isinstance(value, dict):
        return as_level(value)
    try:
        return level_from_json(value)
    except UtmostError:
        raise
    except NONSENSE:
        raise InvalidInput('privacy is no level; give an epsilon, or a text such as "0.5,1e-6" or "mu=0.5".') from None


def _keys_of(value: dict[str, Any], most: int) -> Keys:
    """Public keys: as `Keys.public` writes them, or a list of values, or bins, for each of some columns."""
    try:
        written = value.keys() >= {"product", "columns"}
        if not written:
            value = {name: _value_of(values, most) for name, values in value.items()}
        columns = value["columns"] if written else list(value.items())
        lengths = [len(part[-1]) - (written and part[1] == "bins") for part in columns]  # edges are one more than bins
        size = math.prod(lengths) if not written or value["product"] else max(lengths, default=0)
        if size > most:
            raise InvalidInput(f"by lists {size} keys; this server answers by at most {most} at once. List fewer.")
        return keys_from_public(value) if written else keys(value)
    except UtmostError:
        raise
    except Exception:  # Arrow has errors of its own for what it cannot hold
        raise InvalidInput('by is no list of keys; give the values of each column, as in {"town": ["Ash"]}.') from None


def write_asked(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A question as a client sends it; an error for what only a session beside the table can take."""
    return {"question": name, **{key: _written(key, value) for key, value in arguments.items() if value is not None}}


def _written(name: str, value: Any) -> Any:
    value = plain(listed(value))
    if isinstance(value, Level):
        return value.to_json()
    if isinstance(value, Keys | Discover):
        return value.public
    if isinstance(value, Bins):
        return {"bins": list(value.edges)}
    if isinstance(value, Fraction | Decimal):
        return str(value)
    if value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {key: _written(name, part) for key, part in value.items()}
        return [[list(key), _written(name, part)] for key, part in value.items()]
    if isinstance(value, list | tuple | range):
        return [_written(name, part) for part in value]
    raise InvalidInput(f"{name} is {shown(value)}; {UNSENT}.")


def read_json(body: bytes) -> Any:
    """The JSON of a request or reply: finite numbers and whole characters only, so that it can be written again."""
    try:
        content = parse_json(body)
        canonical_text(content).encode()  # half of a surrogate pair, as in "\\ud800", is no character
    except UtmostError:
        raise
    except NONSENSE:
        raise InvalidInput(f"the request is not JSON in UTF-8; send an object such as {EXAMPLE}.") from None
    return content


def write_budget(budget: Budget) -> dict[str, Any]:
    """A budget as plain data."""
    return {
        "dataset": budget.dataset,
        "filter": budget.left.filter.to_json(),
        "spent": [amount.to_json() for amount in budget.left.spent],
        "left": str(budget.left),
        "entries": [write_entry(entry) for entry in budget.entries],
    }


def write_entry(entry: Entry) -> dict[str, Any]:
    """An entry of a ledger as plain data, without its answer."""
    levels = entry.level if isinstance(entry.level, tuple) else (entry.level,)
    return {
        "number": entry.number,
        "time": entry.time,
        "levels": [level.to_json() for level in levels],
        "together": isinstance(entry.level, tuple),
        "cost": {name: amount.to_json() for name, amount in entry.cost.items()},
        "words": f"{levels_of(entry)}  {asked(entry)}",
        "question": entry.question,
        "state": entry.state,
        "head": entry.head,
        "slots": entry.slots,
    }


def read_budget(content: Any) -> Budget:
    """The budget that `write_budget` wrote."""
    try:
        filter = Filter.from_json(content["filter"])
        spent = tuple(Amount.from_json(amount) for amount in content["spent"])
        entries = [_read_entry(entry) for entry in content["entries"]]
        return Budget(str(content["dataset"]), Left(filter, spent), Spent(filter, spent), entries)
    except NONSENSE:
        raise BadFile("the server's reply is no budget; is it an Utmost server of this version?") from None


def _read_entry(content: Any) -> Entry:
    levels = tuple(level_from_json(level) for level in content["levels"])
    cost = {name: Amount.from_json(amount) for name, amount in content["cost"].items()}
    level = levels if content["together"] else levels[0]
    number, time, head = int(content["number"]), str(content["time"]), str(content["head"])
    return Entry(number, time, level, cost, content["question"], None, content["state"], head, content["slots"])
