"""Decide from their text alone whether conditions are disjoint, nested, complete, or possibly overlapping.

Conditions that compare one column with literals partition its values into finitely many pieces: each literal, the
values between two of them, those beyond all, null, and text that cannot be cast (in a column without a declared type).
On each piece a condition is true, false or unknown, by SQL's rules. So a few comparisons of pieces decide what holds
for every possible row, and no row is read. Conditions of any other form are called overlapping.
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
"""SQL's three-valued logic as numbers: AND is the minimum, OR the maximum, NOT x is 2 - x."""
EXACT = 2**53
"""Below this, comparisons give the same result in every numeric type."""
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
    """How several conditions are related.

    Attributes
    ----------
    kind : {"disjoint", "nested", "overlapping"}
        Disjoint: no row satisfies two of them. Nested: of any two, one implies the other. Overlapping: neither is
        known.
    chain : tuple of int
        Nested conditions by their positions in the list, the innermost first; else empty.
    complete : bool
        Whether they are disjoint and every row, null included, satisfies one of them.
    """

    kind: Kind
    chain: tuple[int, ...] = ()
    complete: bool = False


OVERLAPPING = Relation("overlapping")


def relation(conditions: Sequence[str]) -> Relation:
    """How conditions in SQL are related, for every possible table.

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
        literals = [literal for tree in trees for literal in _literals(tree)]
        values = _comparable_values(literals, any(literal.in_order for literal in literals))
        if len({column for tree in trees for column in _columns(tree)}) != 1:
            return OVERLAPPING
        numbers = bool(literals) and literals[0].kind == "number"
        as_stored = [values, [nearest_single(value) for value in values]] if numbers else [values]  # FLOAT, too
        readings = [np.array([_pieces(tree, literals, sorted(set(v)), v) for tree in trees]) == TRUE for v in as_stored]
    except (_NotUnderstood, RecursionError):
        return OVERLAPPING
    if literals and literals[0].kind == "text":  # compared as text, or in the column's own type: no cast can fail
        readings = [true[:, :-1] for true in readings]
    if all((true.sum(axis=0) <= 1).all() for true in readings):
        return Relation("disjoint", complete=all(true.any(axis=0).all() for true in readings))
    chain = tuple(np.argsort(readings[0].sum(axis=1), kind="stable").tolist())
    if all((true[list(chain[:-1])] <= true[list(chain[1:])]).all() for true in readings):
        return Relation("nested", chain)
    return OVERLAPPING


class _NotUnderstood(Exception):
    """A condition is not of the form that this module decides."""


@dataclass(frozen=True)
class _Literal:
    """A value with which a column is compared; `in_order` if by an inequality such as <."""

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
    """The comparisons in a condition as (column, operator, literals); a column alone is compared with true."""
    name = type(node).__name__
    if any(value for part, value in node.args.items() if part not in ("this", "expression", *READ.get(name, ()))):
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
    names = set()
    for column, _, _ in _parts(tree):
        _require(type(column).__name__ == "Column" and not column.args.get("table"))
        _require(type(column.this).__name__ == "Identifier")
        names.add(str(column.this.name))
    return names


def _literals(tree: Any) -> list[_Literal]:
    """All literals of a condition, in the order in which `_pieces` visits them."""
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


def _comparable_values(literals: Sequence[_Literal], in_order: bool) -> list[Any]:
    """The literals' values, if they are of one kind and every engine compares them as Python does."""
    _require(len({literal.kind for literal in literals}) <= 1)
    values = [literal.value for literal in literals]
    if not literals or literals[0].kind in ("number", "truth"):
        return values
    dates = [bool(DATE.fullmatch(text)) and _is_date(text) for text in values]
    _require(all(dates) or not (in_order or literals[0].kind == "date"))  # engines order texts differently
    _require(
        not any(_is_date(text) for text, plain in zip(values, dates, strict=True) if not plain)
    )  # two spellings of one day
    different = set(values)
    _require(len({_folded(text) for text in different}) == len(different))  # a collation may treat them as equal
    return values


def _is_date(text: str) -> bool:
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _folded(text: str) -> str:
    """A text without what a collation may ignore: case, accents, spaces."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in letters if not unicodedata.combining(c) and not c.isspace()).casefold()


def _pieces(tree: Any, literals: Sequence[_Literal], order: Sequence[Any], values: Sequence[Any]) -> Pieces:
    """The truth of a condition on each piece: below the first value, at it, up to the next, ...; null; not castable.

    `values` are those of all `literals`; a literal of this condition is looked up by its own value among them.
    """
    stored = {(literal.kind, literal.value): value for literal, value in zip(literals, values, strict=True)}
    places = np.arange(2 * len(order) + 1)

    def compare(operator: str, listed: list[Any]) -> Pieces:
        true = np.zeros(len(places), dtype=bool)
        for node in listed:
            literal = _literal(node, False)
            true |= COMPARED[operator](places, 2 * order.index(stored[literal.kind, literal.value]) + 1)
        return np.append(np.where(true, TRUE, FALSE), [UNKNOWN, UNKNOWN]).astype(np.int8)

    def evaluate(node: Any) -> Pieces:
        name = type(node).__name__
        if name == "Paren":
            return evaluate(node.this)
        if name == "Not":
            return np.asarray(TRUE - evaluate(node.this), dtype=np.int8)
        if name in ("And", "Or"):
            join = np.minimum if name == "And" else np.maximum
            return np.asarray(join(evaluate(node.this), evaluate(node.expression)))
        if name == "Is" and type(node.this.unnest()).__name__ == "Column":
            return np.append(np.full(len(places), FALSE), [TRUE, FALSE]).astype(np.int8)
        if name == "Is":
            return np.where(evaluate(node.this) == UNKNOWN, TRUE, FALSE).astype(np.int8)
        parts = [compare(operator, listed) for _, operator, listed in _parts(node)]
        return np.asarray(np.minimum.reduce(parts))

    return evaluate(tree)


def _require(understood: bool) -> None:
    if not understood:
        raise _NotUnderstood
