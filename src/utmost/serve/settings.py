"""`utmost.toml`: the served tables with their budgets, and the analysts with theirs."""

from __future__ import annotations

import ipaddress
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from utmost.errors import InvalidInput, shown
from utmost.privacy import Level, as_level
from utmost.privacy.level_text import read_level
from utmost.queries.units import Unit, as_unit, require_neighbours
from utmost.serve.credentials import require_hash, require_name

COLUMN_FACTS = ("type", "lower", "upper", "grid", "categories", "description")


@dataclass(frozen=True)
class Column:
    """The public facts of a column, for forms and analysts; none of them is computed from rows."""

    type: str | None = None
    lower: int | float | None = None
    upper: int | float | None = None
    grid: int | float | str | None = None
    categories: tuple[Any, ...] = ()
    description: str = ""


@dataclass(frozen=True)
class Dataset:
    """A served table."""

    name: str
    table: Any
    unit: Unit
    neighbours: str
    budget: Level
    description: str = ""
    columns: Mapping[str, Column] = field(default_factory=dict)


@dataclass(frozen=True)
class Visitor:
    """A user with a key: an analyst, with a budget for each data set they may ask about, or a custodian.

    Attributes
    ----------
    name : str
        The name in the key.
    key : str or None
        The hash of the key; None only on a server without keys.
    budgets : mapping
        The budget for every data set they may ask about.
    custodian : bool
        Whether they see everybody's answers and budgets.
    """

    name: str
    key: str | None
    budgets: Mapping[str, Level]
    custodian: bool = False

    def sees(self, dataset: str) -> bool:
        """Whether the visitor may see a data set."""
        return self.custodian or dataset in self.budgets


@dataclass(frozen=True)
class FormPlace:
    """A survey form, and the file to which its responses are appended."""

    name: str
    form: Path
    responses: Path


@dataclass(frozen=True)
class Settings:
    """The settings of a server.

    Attributes
    ----------
    datasets, visitors, forms : mapping
        By name.
    ledger : str, Ledger or None
        The ledger's file or URL; None is in memory.
    host, port : str, int
        The address at which the server listens.
    tick : float
        Answers leave at multiples of this time, in seconds.
    most_bytes : int
        The largest size of a request.
    rate : float
        Requests per second of one visitor, with a burst of five seconds' worth.
    most_keys : int
        The largest number of keys (groups) of one question.
    most_connections : int
        The largest number of connections of one address at once, and of its running requests.
    secure : bool
        Whether browsers use https, through a proxy; cookies are then sent by https only.
    proxies : tuple of str
        Addresses or networks of that proxy; its statements about clients' addresses are trusted if `secure`.
    """

    datasets: Mapping[str, Dataset]
    visitors: Mapping[str, Visitor]
    forms: Mapping[str, FormPlace] = field(default_factory=dict)
    ledger: Any = None
    host: str = "127.0.0.1"
    port: int = 8020
    tick: float = 1.0
    most_bytes: int = 2**20
    rate: float = 20.0
    most_keys: int = 10_000
    most_connections: int = 64
    secure: bool = False
    proxies: tuple[str, ...] = ("127.0.0.1", "::1")

    def __post_init__(self) -> None:
        for proxy in self.proxies:
            if not _is_network(proxy):
                raise InvalidInput(
                    f'proxies names {shown(proxy)}, which is no address; list addresses or networks: ["10.0.0.7"].'
                )
        if not is_loopback(self.host) and any(visitor.key is None for visitor in self.visitors.values()):
            raise InvalidInput(
                f"host is {self.host!r}, which others can reach, and no key is asked for; make keys with `utmost serve "
                "key NAME`, or listen on 127.0.0.1."
            )

    @property
    def open_to(self) -> Visitor | None:
        """The visitor as whom everybody is treated on a server without keys; None on a server with keys."""
        return next((visitor for visitor in self.visitors.values() if visitor.key is None), None)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine itself."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_network(text: Any) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return isinstance(text, str)


def read_settings(path: str | Path) -> Settings:
    """Read the settings from a TOML file; unknown entries are refused. File names are relative to its folder.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "utmost.toml"
    >>> _ = file.write_text('''
    ... ledger = "budget.db"
    ... [dataset.survey]
    ... table = "survey.csv"
    ... unit = "rows, at most 25000"
    ... neighbours = "add-remove"
    ... budget = 3
    ... [dataset.survey.columns.age]
    ... type = "int"
    ... lower = 18
    ... upper = 100
    ... ''')
    >>> read_settings(file).datasets["survey"].columns["age"].upper
    100
    """
    file = Path(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise InvalidInput(f"{file} cannot be read: {problem}; give a TOML file.") from None
    folder = file.absolute().parent
    plain = {"ledger": str, "host": str, "port": int, "tick": float, "most_bytes": int, "rate": float}
    plain |= {"most_keys": int, "most_connections": int, "secure": bool}
    _require_known(content, {*plain, "proxies", "dataset", "analyst", "custodian", "form"}, str(file))
    values = {name: _of_kind(content[name], kind, name) for name, kind in plain.items() if name in content}
    if "proxies" in content:
        values["proxies"] = tuple(content["proxies"]) if isinstance(content["proxies"], list) else (content["proxies"],)
    datasets = {name: _dataset(name, table, folder) for name, table in _tables(content, "dataset").items()}
    if not datasets and not content.get("form"):
        raise InvalidInput(f"{file} names no data set; add one as [dataset.NAME].")
    if "ledger" in values and "://" not in values["ledger"]:
        values["ledger"] = str(folder / values["ledger"])
    if datasets and "ledger" not in values:
        raise InvalidInput(f'{file} names no ledger; add one, such as ledger = "budget.db": it outlives the process.')
    visitors = {name: _analyst(name, table, datasets) for name, table in _tables(content, "analyst").items()}
    for name, table in _tables(content, "custodian").items():
        _require_known(table, {"key"}, f"[custodian.{name}]")
        if name in visitors:
            raise InvalidInput(f"{name!r} is an analyst and a custodian; give one of them another name.")
        visitors[name] = Visitor(name, require_hash(table.get("key"), f"custodian {name}"), {}, custodian=True)
    if not visitors:
        visitors = {"anyone": Visitor("anyone", None, {d.name: d.budget for d in datasets.values()}, custodian=True)}
    forms = {name: _form(name, table, folder) for name, table in _tables(content, "form").items()}
    return Settings(datasets, visitors, forms, **values)


def _tables(content: Mapping[str, Any], kind: str) -> dict[str, Any]:
    tables = content.get(kind, {})
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise InvalidInput(f"{kind} is {shown(tables)}; write each as a table of its own: [{kind}.NAME].")
    return {require_name(name, f"a {kind}"): table for name, table in tables.items()}


def _dataset(name: str, table: Mapping[str, Any], folder: Path) -> Dataset:
    where = f"[dataset.{name}]"
    _require_known(table, {"table", "unit", "neighbours", "budget", "description", "columns"}, where)
    for entry in ("table", "unit", "neighbours", "budget"):
        if entry not in table:
            raise InvalidInput(f"{where} lacks {entry}; docs/serve.md has an example of each.")
    place = _of_kind(table["table"], str, f"table of {where}")
    if "://" not in place:
        place = str(folder / place)
    columns = table.get("columns", {})
    if not isinstance(columns, dict):
        raise InvalidInput(f"columns of {where} is {shown(columns)}; write [dataset.{name}.columns.COLUMN].")
    facts = {column: _column(column, facts, where) for column, facts in columns.items()}
    budget = _level(table["budget"], f"the budget of {where}")
    unit = as_unit(_of_kind(table["unit"], str, f"unit of {where}")).within(budget)
    neighbours = require_neighbours(table["neighbours"])
    return Dataset(name, place, unit, neighbours, budget, str(table.get("description", "")), facts)


def _column(name: str, facts: Any, where: str) -> Column:
    if not isinstance(facts, dict):
        raise InvalidInput(f"column {name!r} of {where} is {shown(facts)}; give a table of its public facts.")
    _require_known(facts, set(COLUMN_FACTS), f"column {name!r} of {where}")
    categories = facts.get("categories", [])
    if not isinstance(categories, list) or not all(isinstance(c, str | int | float | bool) for c in categories):
        raise InvalidInput(f"categories of column {name!r} is {shown(categories)}; list its public values.")
    ends = [facts.get(end) for end in ("lower", "upper")]
    if any(end is not None and (isinstance(end, bool) or not isinstance(end, int | float)) for end in ends):
        raise InvalidInput(f"the range of column {name!r} is {shown(ends)}; give two numbers, lower and upper.")
    return Column(**{**facts, "categories": tuple(categories)})


def _analyst(name: str, table: Mapping[str, Any], datasets: Mapping[str, Dataset]) -> Visitor:
    where = f"[analyst.{name}]"
    _require_known(table, {"key", "datasets", "budget"}, where)
    key = require_hash(table.get("key"), f"analyst {name}")
    budgets = table.get("datasets", [])
    if not isinstance(budgets, list | dict) or not budgets:
        raise InvalidInput(f"datasets of {where} is {shown(budgets)}; list those {name} may ask about, by name.")
    for dataset in budgets:
        if dataset not in datasets:
            raise InvalidInput(
                f"{where} names the data set {shown(dataset)}; there are {', '.join(datasets) or 'none'}."
            )
    if isinstance(budgets, list):
        if "budget" not in table:
            raise InvalidInput(f"{where} lacks a budget: what {name} may be told about each of {', '.join(budgets)}.")
        budgets = dict.fromkeys(budgets, table["budget"])
    return Visitor(name, key, {dataset: _level(budget, f"a budget of {where}") for dataset, budget in budgets.items()})


def _form(name: str, table: Mapping[str, Any], folder: Path) -> FormPlace:
    _require_known(table, {"form", "responses"}, f"[form.{name}]")
    places = [_of_kind(table.get(part), str, f"{part} of [form.{name}]") for part in ("form", "responses")]
    return FormPlace(name, folder / places[0], folder / places[1])


def _level(value: Any, what: str) -> Level:
    return read_level(value, what) if isinstance(value, str) else as_level(value)


def _of_kind(value: Any, kind: type, what: str) -> Any:
    fits = isinstance(value, kind) or (kind is float and isinstance(value, int))
    if not fits or (isinstance(value, bool) and kind is not bool) or (kind in (int, float) and not 0 < value < 2**40):
        words = {str: "a text", int: "a whole number above 0", float: "a number above 0", bool: "true or false"}
        raise InvalidInput(f"{what} is {shown(value)}; give {words[kind]}.")
    return kind(value)


def _require_known(table: Mapping[str, Any], allowed: set[str], where: str) -> None:
    unknown = [name for name in table if name not in allowed]
    if unknown:
        raise InvalidInput(
            f"{where} has {shown(unknown[0])}, which nothing reads; it may have {', '.join(sorted(allowed))}."
        )
