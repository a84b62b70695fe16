"""Questions, levels, plans and budgets as JSON: written by a client and read by a server, and the reverse.

A question is the name of a session's method with its arguments by name, so that a new question needs no code here.
Types that JSON lacks are determined by the argument's name: `privacy` is a level, `by` public keys, and a `prior` over
tallies a list of pairs; bins are an object with their edges.
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
from utmost.privacy.level_text import read_level
from utmost.queries.arguments import listed, plain
from utmost.queries.bins import Bins, bins
from utmost.queries.budget import Budget, levels_of, query_in_words
from utmost.queries.found_keys import Discover, discover_from_public
from utmost.queries.keys import Keys, keys, keys_from_public
from utmost.queries.methods import parameters_of
from utmost.queries.questions import BY_KEYS_ALONE, QUESTIONS, Kind

UNSENT = "a server takes conditions as SQL text, such as 'age >= 65', and everything else as texts, numbers and lists"
MOST_TEXT = 10_000
"""The largest length of a text in a question."""
MOST_LISTED = 10_000
"""The largest length of a list in a question, except for keys and priors."""


METHODS: dict[str, Kind] = QUESTIONS | BY_KEYS_ALONE
"""All methods of a session that ask a question."""


@dataclass(frozen=True)
class Query:
    """A question as it is sent: the name of the method and its arguments, as JSON data."""

    name: str
    arguments: Mapping[str, Any]
    fresh: bool = False

    @property
    def plain(self) -> dict[str, Any]:
        """The query as plain data, as it is sent and recorded."""
        return {"question": self.name, **self.arguments}

    @property
    def text(self) -> str:
        """The canonical text of the query."""
        return canonical_text(self.plain)


def read_query(content: Any) -> Query:
    """Read a query from JSON data; missing and unknown arguments are refused."""
    if not isinstance(content, dict):
        raise InvalidInput(f"the question is {shown(content)}; send an object such as {EXAMPLE}.")
    name = content.get("question")
    if not isinstance(name, str) or name not in METHODS:
        raise InvalidInput(f"question is {shown(name)}; it is one of {', '.join(METHODS)}.")
    parameters = parameters_of(name)
    arguments = {key: value for key, value in content.items() if key != "question"}
    unknown = [key for key in arguments if key not in parameters]
    if unknown:
        raise InvalidInput(f"{name} takes no {shown(unknown[0])}; it takes {', '.join(parameters)}.")
    mandatory = [key for key, parameter in parameters.items() if parameter.default is inspect.Parameter.empty] + [
        "privacy"
    ]
    missing = [key for key in mandatory if arguments.get(key) is None]
    if missing:
        raise InvalidInput(f"{name} lacks {', '.join(missing)}; give each by its name, as in {EXAMPLE}.")
    fresh = arguments.pop("fresh", False)
    if not isinstance(fresh, bool):
        raise InvalidInput(f"fresh is {shown(fresh)}; say true to draw and spend again, or leave it out.")
    for key, value in arguments.items():
        if key not in ("by", "prior"):
            _require_small(key, value)
    return Query(name, arguments, fresh)


EXAMPLE = '{"question": "count", "where": "age >= 65", "privacy": 0.5}'


def _require_small(name: str, value: Any, depth: int = 0) -> None:
    """Refuse an argument that is too large, before anything is computed from it."""
    if isinstance(value, str) and len(value) > MOST_TEXT:
        raise InvalidInput(f"{name} holds a text of {len(value)} letters; give at most {MOST_TEXT}.")
    if isinstance(value, list | dict):
        if len(value) > MOST_LISTED or depth > 4:
            raise InvalidInput(f"{name} holds {len(value)} parts, or lists within lists; give at most {MOST_LISTED}.")
        for part in value.values() if isinstance(value, dict) else value:
            _require_small(name, part, depth + 1)


def arguments_of(query: Query, most_keys: int = 10**6) -> dict[str, Any]:
    """The arguments of a query for the session's method."""
    arguments = {name: _value_of(value, most_keys) for name, value in query.arguments.items()}
    arguments["privacy"] = level_of(query.arguments["privacy"])
    for name in {"by", "keys"} & arguments.keys():
        if isinstance(arguments[name], dict):
            arguments[name] = _keys_of(arguments[name], most_keys)
        if not isinstance(
            arguments[name], Keys | Discover | None
        ):  # a text would be the name of a file on this machine
            raise InvalidInput(f'{name} is {shown(arguments[name])}; list the values of columns: {{"town": ["Ash"]}}.')
    prior = arguments.get("prior")
    if isinstance(prior, list) and prior and all(isinstance(part, list) for part in prior):
        try:
            arguments["prior"] = {tuple(tally): chance for tally, chance in prior}
        except (TypeError, ValueError):
            raise InvalidInput("a prior over tallies is a list of pairs: a tally and how likely it is.") from None
    return arguments


def _value_of(value: Any, most_keys: int) -> Any:
    """Convert a JSON value; bins, keys and found keys are objects in the format of their `public` property."""
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
    """Read a level: an epsilon, a text such as "0.5,1e-6" or "mu=0.5", or the format of `Level.to_json`."""
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
    """Read public keys: in the format of `Keys.public`, or as lists of values, or bins, by column."""
    try:
        canonical = value.keys() >= {"product", "columns"}
        if not canonical:
            value = {name: _value_of(values, most) for name, values in value.items()}
        columns = value["columns"] if canonical else list(value.items())
        lengths = [
            len(part[-1]) - (canonical and part[1] == "bins") for part in columns
        ]  # edges are one more than bins
        size = math.prod(lengths) if not canonical or value["product"] else max(lengths, default=0)
        if size > most:
            raise InvalidInput(f"by lists {size} keys; this server answers by at most {most} at once. List fewer.")
        return keys_from_public(value) if canonical else keys(value)
    except UtmostError:
        raise
    except Exception:  # Arrow raises its own errors for unsupported values
        raise InvalidInput('by is no list of keys; give the values of each column, as in {"town": ["Ash"]}.') from None


def write_query(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A query as a client sends it; arguments that only a local session can take are refused."""
    return {"question": name, **{key: _to_json(key, value) for key, value in arguments.items() if value is not None}}


def _to_json(name: str, value: Any) -> Any:
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
            return {key: _to_json(name, part) for key, part in value.items()}
        return [[list(key), _to_json(name, part)] for key, part in value.items()]
    if isinstance(value, list | tuple | range):
        return [_to_json(name, part) for part in value]
    raise InvalidInput(f"{name} is {shown(value)}; {UNSENT}.")


def read_json(body: bytes) -> Any:
    """Parse the JSON of a request or reply; only finite numbers and valid characters, so that it round-trips."""
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
        "words": f"{levels_of(entry)}  {query_in_words(entry)}",
        "question": entry.question,
        "state": entry.state,
        "head": entry.head,
        "slots": entry.slots,
    }


def read_budget(content: Any) -> Budget:
    """Read a budget written by `write_budget`."""
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
