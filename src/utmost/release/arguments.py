"""What people give to questions: its types, by name, so that editors and `help` show them, and its checks at the door.

Public values become plain ones once, where they come in. A value of `class Town(str, Enum)` is a text to JSON, and so
to the ledger, but str() writes it differently: in SQL and in the names of cells it would be another. What asks, what
labels and what the ledger compares are made of one value. Levels are those at which an answer says something and not
everything; priors are distributions over the points of a line, or over tallies; losses go by their names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from utmost.errors import InvalidInput, UnsupportedLevel, shown
from utmost.exact import as_rational
from utmost.privacy import ApproxDP, Level, require_pure
from utmost.space.families import Neighbours as Neighbours
from utmost.space.integers import Tallies
from utmost.space.line import within

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

LIBRARIES = ("numpy", "pandas", "polars", "pyarrow")
"""Whose columns may list public values."""
LEAST_EPSILON, MOST_EPSILON = 1e-6, 500
"""Between which epsilons answers are released: below, a million people are not told from none; above, e^-epsilon has
more digits than anybody can use."""
"""How long a list a prior may be."""
SHOWN = ("absolute", "squared", "zero-one")
"""The losses that every report shows, whichever was asked for."""


def plain(value: Any) -> Any:
    """A text, number or truth value as Python's own; anything else as it is.

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
    """Public values in a column of a library as a list; what is a list already, or nothing of the kind, as it is.

    Examples
    --------
    >>> import numpy
    >>> listed(numpy.array(["ash", "briar"])), listed(("ash", "briar"))
    (['ash', 'briar'], ('ash', 'briar'))
    """
    if type(values).__module__.partition(".")[0] not in LIBRARIES:  # a column of a database would be read from there
        return values
    if hasattr(values, "categories") and not hasattr(values, "__len__"):  # a categorical type of pandas
        values = values.categories
    for way in ("to_pylist", "to_list", "tolist"):  # pyarrow; pandas and polars; NumPy
        if hasattr(values, way):
            return getattr(values, way)()
    return values


def require_releasable(level: Level) -> Level:
    """Refuse levels at which an answer says nothing, or everything."""
    size = level.log_growth if isinstance(level, ApproxDP) else getattr(level, "mu", getattr(level, "rho", 1))
    delta = getattr(level, "delta", 0)
    if size == 0 and delta == 0:
        raise InvalidInput(
            "privacy is 0: every answer would be the same whatever the table says; give an epsilon above 0."
        )
    if size == math.inf:
        raise InvalidInput("privacy is infinite: nothing would be protected; give a finite epsilon.")
    if isinstance(level, ApproxDP) and size > MOST_EPSILON:
        raise InvalidInput(
            f"privacy is {level}: above epsilon = {MOST_EPSILON} nothing is protected that matters, and exact draws "
            f"take ever longer; give an epsilon up to {MOST_EPSILON}, such as 1."
        )
    if isinstance(level, ApproxDP) and size < LEAST_EPSILON and delta == 0:
        raise InvalidInput(
            f"an answer, or one part of a mean, would be released at {level}: below epsilon = {LEAST_EPSILON:g} it "
            "would say next to nothing about any table; give a larger epsilon, such as 0.1."
        )
    return level


def require_pure_release(level: Level, what: str) -> ApproxDP:
    """The level if it is releasable and pure; an error that says what is released at such levels otherwise."""
    try:
        return require_pure(require_releasable(level))
    except UnsupportedLevel:
        raise UnsupportedLevel(
            f"{what} are released at pure levels, not {level}; give an epsilon, such as PureDP(1)."
        ) from None


def tally_prior(prior: Any, space: Tallies) -> dict[tuple[int, ...], float] | None:
    """A listed prior: {tally: probability}; None is uniform."""
    if prior is None:
        return None
    if not isinstance(prior, Mapping) or not prior:
        raise InvalidInput("the prior of tallies is a mapping {(votes, ...): probability}, or None for uniform.")
    found: dict[tuple[int, ...], Fraction] = {}
    for tally, weight in prior.items():
        listed = tuple(map(plain, tally)) if isinstance(tally, Sequence) else ()
        whole = all(isinstance(x, int) and not isinstance(x, bool) and x >= 0 for x in listed)
        if len(listed) != space.cells or not whole or sum(listed) > space.rows:
            raise InvalidInput(
                f"the prior lists {shown(tally)}; give {space.cells} whole numbers that add up to at most {space.rows}."
            )
        found[listed] = as_rational(weight, "a probability of the prior")
    off = abs(sum(found.values(), Fraction(-1)))
    if min(found.values()) < 0 or off > Fraction(1, 10**9):
        raise InvalidInput("the prior's probabilities must be 0 or more and add up to 1; divide them by their sum.")
    return {tally: float(weight) for tally, weight in found.items()}


def tally_prior_text(prior: Mapping[Any, float] | None) -> str:
    """The prior, as plain data."""
    return "uniform" if prior is None else f"listed, {sorted(prior.items())!r}"


def as_loss(loss: Any, choices: tuple[str, ...] = SHOWN) -> str:
    """A loss by name: "absolute", "squared", "zero-one", or "within k": nothing is lost up to k steps off, else 1.

    "within k" is a loss of integers on a line; where only some losses are offered, it is not among them.
    """
    everything = choices == SHOWN
    if isinstance(loss, str) and (loss in choices or (everything and within(loss) is not None)):
        return str(plain(loss))
    names = ", ".join(map(repr, choices)) + (" or such as 'within 5'" if everything else "")
    raise InvalidInput(f"loss is {shown(loss)}; say {names}.")


def shown_with(loss: str) -> tuple[str, ...]:
    """The losses of a report: the one that was asked for, then the others that every report shows."""
    return tuple(dict.fromkeys((loss, *SHOWN)))


def scaled(loss: str, value: float, step: float) -> float:
    """A loss in steps as one in the unit of the answer."""
    return value * {"absolute": step, "squared": step**2}.get(loss, 1.0)


def in_units(
    losses: Mapping[str, Mapping[str, float]], wanted: Sequence[str], step: Fraction | float
) -> dict[str, dict[str, float]]:
    """Losses in steps, by mechanism and loss, as those that are shown, in the unit of the answer."""
    return {
        name: {loss: scaled(loss, found, float(step)) for loss, found in by.items() if loss in wanted}
        for name, by in losses.items()
    }
