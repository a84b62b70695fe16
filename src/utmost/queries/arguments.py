"""Types of the arguments of questions, by name, so that editors and `help` show them, and conversion to plain values.

Public values are converted to plain Python values once, where they are passed in. A value of `class Town(str, Enum)` is
a text to JSON, and so to the ledger, but str() writes it differently: in SQL and in the names of cells it would be
another. SQL, labels and the ledger all use the plain value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np

from utmost.errors import InvalidInput, shown
from utmost.exact import Number, as_rational
from utmost.privacy import Level
from utmost.space.families import Neighbours as Neighbours
from utmost.space.integers import Tallies

if TYPE_CHECKING:
    from utmost.queries.bins import Bins
    from utmost.queries.predicate.python import Term


class IbisExpression(Protocol):
    """What Ibis expressions of columns have in common, whose own types need Ibis."""

    def get_name(self) -> str:
        """The name of the expression."""


Condition: TypeAlias = "str | Callable[[Any], object] | Term | IbisExpression | None"
"""A condition on rows: SQL such as "age >= 65", an expression of columns, or a function that makes one; None is all."""
Privacy: TypeAlias = Level | int | float | str | Fraction | Decimal | None
"""What an answer may spend: a level, or a number, which is an epsilon. There is no default: None is refused."""
Prior: TypeAlias = Sequence[float] | None
"""A probability for each possible integer, in increasing order; None is uniform."""
TallyPrior: TypeAlias = Mapping[tuple[int, ...], float] | None
"""A probability for each tally that is listed; None is uniform over all tallies."""
Values: TypeAlias = "Iterable[object] | Bins"
"""Public values, in a list, array or column: categories, candidates or edges; or bins."""
ExpectedRows: TypeAlias = "Number | Mapping[Any, Number] | Sequence[Number] | None"
"""Roughly how many rows there are; by keys one number for each group, or one for all."""
Of: TypeAlias = Literal["rows", "people"]
"""What is counted."""

LIBRARIES = ("numpy", "pandas", "polars", "pyarrow")
"""Libraries whose arrays and columns may list public values."""


def plain(value: Any) -> Any:
    """Convert a text, number or boolean to Python's own type; anything else stays as it is.

    Examples
    --------
    >>> import enum, numpy
    >>> class Town(str, enum.Enum):
    ...     ASH = "ash"
    >>> plain(Town.ASH), plain(numpy.int64(3)), plain(numpy.float64(0.5)), plain(numpy.True_), plain(None)
    ('ash', 3, 0.5, True, None)
    """
    if isinstance(value, np.number | np.bool_) and not isinstance(value, np.timedelta64):
        value = value.item()
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    return float.__float__(value) if isinstance(value, float) else value


def listed(values: Any) -> Any:
    """Convert an array or column of a library to a list; anything else stays as it is.

    Examples
    --------
    >>> import numpy
    >>> listed(numpy.array(["ash", "briar"])), listed(("ash", "briar"))
    (['ash', 'briar'], ('ash', 'briar'))
    """
    if type(values).__module__.partition(".")[0] not in LIBRARIES:  # a lazy column would be read from its database
        return values
    if hasattr(values, "categories") and not hasattr(values, "__len__"):  # a categorical type of pandas
        values = values.categories
    for way in ("to_pylist", "to_list", "tolist"):  # pyarrow; pandas and polars; NumPy
        if hasattr(values, way):
            return getattr(values, way)()
    return values


def tally_prior(prior: Any, space: Tallies) -> dict[tuple[int, ...], float] | None:
    """Check a listed prior over tallies, {tally: probability}; None is uniform."""
    if prior is None:
        return None
    if not isinstance(prior, Mapping) or not prior:
        raise InvalidInput("the prior of tallies is a mapping {(votes, ...): probability}, or None for uniform.")
    probabilities: dict[tuple[int, ...], Fraction] = {}
    for tally, weight in prior.items():
        listed = tuple(map(plain, tally)) if isinstance(tally, Sequence) else ()
        whole = all(isinstance(x, int) and not isinstance(x, bool) and x >= 0 for x in listed)
        if len(listed) != space.cells or not whole or sum(listed) > space.rows:
            raise InvalidInput(
                f"the prior lists {shown(tally)}; give {space.cells} whole numbers that add up to at most {space.rows}."
            )
        probabilities[listed] = as_rational(weight, "a probability of the prior")
    off = abs(sum(probabilities.values(), Fraction(-1)))
    if min(probabilities.values()) < 0 or off > Fraction(1, 10**9):
        raise InvalidInput("the prior's probabilities must be 0 or more and add up to 1; divide them by their sum.")
    return {tally: float(weight) for tally, weight in probabilities.items()}


def tally_prior_text(prior: Mapping[Any, float] | None) -> str:
    """The prior, as plain data."""
    return "uniform" if prior is None else f"listed, {sorted(prior.items())!r}"
