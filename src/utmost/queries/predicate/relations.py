"""How conditions lie to each other, from their text alone: disjoint, nested, complete, or perhaps overlapping.

Conditions on one column that compare it with literals cut its values into finitely many pieces: each literal, what lies
between two of them, what lies beyond all, null, and what cannot be read (text that is no number, in a column without a
type). On each piece a condition is true, false or unknown, by SQL's rules. So a few comparisons of pieces decide what
holds for every row there can be, and no row is looked at. Whatever is not understood is called overlapping.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.queries.expressions.values import nearest_single
from utmost.queries.predicate.parser import parse_sql
from utmost.queries.predicate.sql import MOST_TEXT, READ

Kind: TypeAlias = Literal["overlapping", "disjoint", "nested"]
Pieces: TypeAlias = NDArray[np.int8]
FALSE, UNKNOWN, TRUE = 0, 1, 2
"""SQL's logic in numbers: AND is the least, OR the largest, NOT takes from 2."""
EXACT = 2**53
"""Numbers below this are compared alike in every type of column that holds numbers."""
COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "EQ": np.equal,
    "NEQ": np.not_equal,
    "GT": np.greater,
    "GTE": np.greater_equal,
    "LT": np.less,
    "LTE": np.less_equal,
}
TURNED = {"GT": "LT", "GTE": "LTE", "LT": "GT", "LTE": "GTE"}
DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


@dataclass(frozen=True)
class Relation:
    """How conditions lie to each other.

    Attributes
    ----------
    kind : "disjoint": no row has two of them; "nested": of any two, one has all rows of the other; "overlapping": not
        known to be either
    chain : nested conditions by their places in the list, the innermost first; empty for others
    complete : whether they are disjoint and every row, null included, has one of them
    """

    kind: Kind
    chain: tuple[int, ...] = ()
    complete: bool = False


OVERLAPPING = Relation("overlapping")


def relation(conditions: Sequence[str]) -> Relation:
    """How conditions in SQL lie to each other, whatever the table holds.

    Examples
    --------
    >>> relation(["age < 20", "age BETWEEN 20 AND 64", "age >= 65"]).kind
    'disjoint'
    >>> relation(["age >= 20", "age >= 65", "age >= 40"])
    Relation(kind='nested', chain=(1, 2, 0), complete=False)
    >>> relation(["town = 'Ash'", "town <> 'Ash'", "town IS NULL"]).complete
    True
    >>> relation(["age >= 65", "town = 'Ash'"]).kind
    'overlapping'
    """
    try:
        trees = [_parsed(text) for text in conditions]
        found = [literal for tree in trees for literal in _literals(tree)]
        values = _ordered(found, any(literal.in_order for literal in found))
        if len({column for tree in trees for column in _columns(tree)}) != 1:
            return OVERLAPPING
        numbers = bool(found) and found[0].kind == "number"
        as_stored = [values, [nearest_single(value) for value in values]] if numbers else [values]  # FLOAT, too
        readings = [np.array([_pieces(tree, found, sorted(set(v)), v) for tree in trees]) == TRUE for v in as_stored]
    except (_NotUnderstood, RecursionError):
        return OVERLAPPING
    if found and found[0].kind == "text":  # read letter by letter, or as what the column is: there is nothing unread
        readings = [true[:, :-1] for true in readings]
    if all((true.sum(axis=0) <= 1).all() for true in readings):
        return Relation("disjoint", complete=all(true.any(axis=0).all() for true in readings))
    chain = tuple(np.argsort(readings[0].sum(axis=1), kind="stable").tolist())
    if all((true[list(chain[:-1])] <= true[list(chain[1:])]).all() for true in readings):
        return Relation("nested", chain)
    return OVERLAPPING


class _NotUnderstood(Exception):
    """A condition is of another form."""


@dataclass(frozen=True)
class _Literal:
    """A value that a column is compared with; `in_order` if by more than equality."""

    kind: str
    value: Any
    in_order: bool


def _parsed(text: str) -> Any:
    import sqlglot

    try:
        statements = parse_sql(text) if len(text) <= MOST_TEXT else []
    except sqlglot.errors.SqlglotError:
        raise _NotUnderstood from None
    if len(statements) != 1 or statements[0] is None:
        raise _NotUnderstood
    return statements[0]


def _parts(node: Any) -> list[tuple[Any, str, list[Any]]]:
    """What a condition is made of: each comparison as (column, operator, literals), a column alone as its truth."""
    name = type(node).__name__
    if any(said for part, said in node.args.items() if part not in ("this", "expression", *READ.get(name, ()))):
        raise _NotUnderstood
    if name in ("Paren", "Not"):
        return _parts(node.this)
    if name in ("And", "Or"):
        return [*_parts(node.this), *_parts(node.expression)]
    if name == "Is":
        _require(type(node.expression).__name__ == "Null")
        inner = node.this.unnest()
        return [(inner, "IS", [])] if type(inner).__name__ == "Column" else _parts(inner)
    if name == "Column":
        return [(node, "EQ", [True])]
    if name == "Between":
        return [(node.this, "GTE", [node.args["low"]]), (node.this, "LTE", [node.args["high"]])]
    if name == "In":
        return [(node.this, "EQ", list(node.args.get("expressions") or []))]
    _require(name in COMPARED)
    if type(node.this).__name__ == "Column":
        return [(node.this, name, [node.expression])]
    return [(node.expression, TURNED.get(name, name), [node.this])]


def _columns(tree: Any) -> set[str]:
    found = set()
    for column, _, _ in _parts(tree):
        _require(type(column).__name__ == "Column" and not column.args.get("table"))
        _require(type(column.this).__name__ == "Identifier")
        found.add(str(column.this.name))
    return found


def _literals(tree: Any) -> list[_Literal]:
    """All literals of a condition, in the order in which `_pieces` comes upon them."""
    return [_literal(value, operator not in ("EQ", "NEQ")) for _, operator, listed in _parts(tree) for value in listed]


def _literal(node: Any, in_order: bool) -> _Literal:
    name = type(node).__name__
    if node is True or name == "Boolean":
        return _Literal("truth", bool(node if node is True else node.this), in_order)
    if name == "Paren":
        return _literal(node.this, in_order)
    if name == "Cast" and type(node.this).__name__ == "Literal" and node.this.is_string:
        _require(node.args["to"].sql(dialect="duckdb").upper() == "DATE" and bool(DATE.fullmatch(node.this.this)))
        return _Literal("date", node.this.this, in_order)
    negative = name == "Neg"
    node = node.this if negative else node
    _require(type(node).__name__ == "Literal")
    if node.is_string:
        _require(not negative)
        return _Literal("text", node.this, in_order)
    try:
        number = float(Decimal(node.this))
    except ArithmeticError:
        raise _NotUnderstood from None
    _require(number < EXACT)
    return _Literal("number", -number if negative else number, in_order)


def _ordered(found: Sequence[_Literal], in_order: bool) -> list[Any]:
    """The literals' values, if they are of one kind, and in Python lie to each other as they do in every engine."""
    _require(len({literal.kind for literal in found}) <= 1)
    values = [literal.value for literal in found]
    if not found or found[0].kind in ("number", "truth"):
        return values
    dates = [bool(DATE.fullmatch(text)) and _is_date(text) for text in values]
    _require(all(dates) or not (in_order or found[0].kind == "date"))  # the order of texts is the engine's
    _require(not any(_is_date(text) for text, plain in zip(values, dates, strict=True) if not plain))  # one day twice
    different = set(values)
    _require(len({_loosely(text) for text in different}) == len(different))  # a column may not tell them apart
    return values


def _is_date(text: str) -> bool:
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _loosely(text: str) -> str:
    """A text without what a column's collation may overlook: case, accents, spaces."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in letters if not unicodedata.combining(c) and not c.isspace()).casefold()


def _pieces(tree: Any, found: Sequence[_Literal], order: Sequence[Any], values: Sequence[Any]) -> Pieces:
    """What a condition is on each piece: below the first value, the value, between it and the next, ...; null; unread.

    `values` are those of all `found` literals; a literal of this condition is looked up by its own value among them.
    """
    stored = {(literal.kind, literal.value): value for literal, value in zip(found, values, strict=True)}
    places = np.arange(2 * len(order) + 1)

    def compared(operator: str, listed: list[Any]) -> Pieces:
        true = np.zeros(len(places), dtype=bool)
        for node in listed:
            literal = _literal(node, False)
            true |= COMPARED[operator](places, 2 * order.index(stored[literal.kind, literal.value]) + 1)
        return np.append(np.where(true, TRUE, FALSE), [UNKNOWN, UNKNOWN]).astype(np.int8)

    def evaluated(node: Any) -> Pieces:
        name = type(node).__name__
        if name == "Paren":
            return evaluated(node.this)
        if name == "Not":
            return np.asarray(TRUE - evaluated(node.this), dtype=np.int8)
        if name in ("And", "Or"):
            join = np.minimum if name == "And" else np.maximum
            return np.asarray(join(evaluated(node.this), evaluated(node.expression)))
        if name == "Is" and type(node.this.unnest()).__name__ == "Column":
            return np.append(np.full(len(places), FALSE), [TRUE, FALSE]).astype(np.int8)
        if name == "Is":
            return np.where(evaluated(node.this) == UNKNOWN, TRUE, FALSE).astype(np.int8)
        parts = [compared(operator, listed) for _, operator, listed in _parts(node)]
        return np.asarray(np.minimum.reduce(parts))

    return evaluated(tree)


def _require(understood: bool) -> None:
    if not understood:
        raise _NotUnderstood
