"""The types of what people give to questions, by name, so that editors and `help` show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from utmost.privacy import Level

Condition: TypeAlias = str | Callable[[Any], Any] | Any | None
"""Which rows: SQL text such as "age >= 65", an Ibis condition, or a function of the Ibis table; None is every row."""
Privacy: TypeAlias = Level | int | float | str | Fraction | Decimal | None
"""What an answer may spend: a level, or a number, which is an epsilon. There is no default: None is refused."""
Prior: TypeAlias = Sequence[float] | None
"""A probability for each possible integer, in increasing order; None is uniform."""
TallyPrior: TypeAlias = Mapping[tuple[int, ...], float] | None
"""A probability for each tally that is listed; None is uniform over all tallies."""
Of: TypeAlias = Literal["rows", "people"]
"""What is counted."""
Neighbours: TypeAlias = Literal["replace", "add-remove"]
"""Who neighbours whom: one unit's data become others, or one unit comes or goes."""
