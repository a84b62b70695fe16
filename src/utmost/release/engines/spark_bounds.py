"""Between which numbers a value of a query lies, whatever the rows: read off the query itself.

A sum of small whole numbers fits 64 bits, and one of large ones does not; Spark adds them as different types, of which
the wide ones are slow. Values that questions add are clamped to public ranges, and the clamp stands in the query. Every
operation here is monotone in each of its parts, also when floats are rounded, so its value at the ends of their ranges
is where its own range ends: computed by the same operations as in the cluster.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

Range = tuple[float, float]
EVERY: Range = (-math.inf, math.inf)
NONE: Range = (math.inf, -math.inf)
"""The range of null, which is no number."""
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Subtract": operator.sub,
    "Multiply": operator.mul,
}


class Bounds:
    """Finds ranges of values, each once."""

    def __init__(self) -> None:
        self._found: dict[Any, Range] = {}

    def of(self, node: Any) -> Range:
        """The least range that is seen to hold a value wherever it is a number: not null, and not NaN."""
        if node not in self._found:
            low, high = getattr(self, f"_{type(node).__name__.lower()}", _of_type)(node)
            least, most = _of_type(node)
            fits = (least <= low and high <= most) or low > high  # else 64 bits may overflow
            self._found[node] = (low, high) if fits else (least, most)
        return self._found[node]

    def _literal(self, node: Any) -> Range:
        if node.value is None:
            return NONE
        return (node.value, node.value) if node.dtype.is_integer() or node.dtype.is_floating() else EVERY

    def _field(self, node: Any) -> Range:
        relation = node.rel
        while type(relation).__name__ in ("Filter", "JoinReference"):
            relation = relation.parent
        kind = type(relation).__name__
        if kind == "Union":
            return _hull(*(self.of(type(node)(side, node.name)) for side in (relation.left, relation.right)))
        if kind == "Aggregate":
            return self.of({**relation.groups, **relation.metrics}[node.name])
        return self.of(relation.values[node.name]) if kind in ("Project", "JoinChain") else _of_type(node)

    def _ifelse(self, node: Any) -> Range:
        """Of a choice; one that cuts off what is above a number cuts the range. Nothing is above null."""
        low, high = self.of(node.false_null_expr)
        tested = node.bool_expr
        cuts = type(tested).__name__ == "Greater" and _is_number(tested.right) and tested.left == node.false_null_expr
        if cuts and low <= high:
            high = min(high, tested.right.value)
        return _hull(self.of(node.true_expr), (low, high))

    def _least(self, node: Any) -> Range:
        """Nulls are passed over, so that only what is never null cuts the range."""
        low, high = _hull(*map(self.of, node.arg))
        return low, min([high, *(part.value for part in node.arg if _is_number(part))])

    def _greatest(self, node: Any) -> Range:
        low, high = _hull(*map(self.of, node.arg))
        return max([low, *(part.value for part in node.arg if _is_number(part))]), high

    def _cast(self, node: Any) -> Range:
        low, high = self.of(node.arg)
        if low > high or not node.arg.dtype.is_numeric() or node.arg.dtype.is_decimal():
            return _of_type(node) if low <= high else NONE
        if node.to.is_floating():
            return float(low), float(high)
        return (low, high) if math.isinf(low) or math.isinf(high) else (round(low), round(high))

    def _floor(self, node: Any) -> Range:
        low, high = self.of(node.arg)
        return (low, high) if math.isinf(low) or math.isinf(high) else (math.floor(low), math.floor(high))

    def _countstar(self, node: Any) -> Range:
        return 0, _of_type(node)[1]

    _count = _countstar

    def _arithmetic(self, node: Any) -> Range:
        left, right = self.of(node.left), self.of(node.right)
        if left[0] > left[1] or right[0] > right[1]:
            return NONE
        if any(map(math.isinf, (*left, *right))):
            return EVERY
        found = [ARITHMETIC[type(node).__name__](a, b) for a, b in itertools.product(left, right)]
        return min(found), max(found)

    _add = _subtract = _multiply = _arithmetic

    def _divide(self, node: Any) -> Range:
        low, high = self.of(node.left)
        if low > high or not _is_number(node.right) or not node.right.value > 0:
            return NONE if low > high else EVERY
        return low / node.right.value, high / node.right.value


def _of_type(node: Any) -> Range:
    """What a type can hold."""
    half: float = 2 ** (8 * node.dtype.nbytes - 1) if node.dtype.is_signed_integer() else math.inf
    return -half, half - 1


def _is_number(node: Any) -> bool:
    return type(node).__name__ == "Literal" and node.value is not None


def _hull(*ranges: Range) -> Range:
    return min(low for low, _ in ranges), max(high for _, high in ranges)
