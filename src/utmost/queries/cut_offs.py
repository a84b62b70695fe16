"""Clamping bounds found privately, with the share of people who lose rows by truncation.

A sum needs public bounds to which values are clamped, and nobody may read them off the table. Here they are estimated
privately: two quantiles of the column among the points of a public grid, 1, 2, 5, 10, 20, 50, ... on both sides of 0,
each an answer with its charge and its proof. The result is a suggestion; the user decides on `lower` and `upper`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from utmost.errors import InvalidInput, UnsupportedLevel, shown
from utmost.exact import as_plain, as_rational
from utmost.privacy import ApproxDP, GaussianDP, Level, PureDP, as_level
from utmost.queries.answers import Answer
from utmost.solution.card import card

if TYPE_CHECKING:
    from utmost.queries.budgeted_queries import BudgetedQueries

MOST_POINTS = 95
"""Most points of the grid on each side of 0."""


@dataclass(frozen=True, eq=False)
class CutOffs:
    """Suggested clamping bounds with their answers; made by `session.suggest_bounds`.

    Attributes
    ----------
    lower, upper : number
        Points of the public grid: one step outside of the released quantiles.
    answers : tuple of Answer
        The answers, each with its proof: both quantiles, and where people are the unit, the share of people who lose
        rows by truncation.
    share_above : float, optional
        That share, as released; None where the unit is a row.
    """

    lower: int | float
    upper: int | float
    answers: tuple[Answer, ...]
    share_above: float | None

    def __str__(self) -> str:
        lines = [f"suggested range: {self.lower} to {self.upper}"]
        lines += [f"  {answer.question.words}  {answer.value}" for answer in self.answers]
        if self.share_above is not None:
            lines.append(f"  rows are dropped of {self.share_above:.2%} of the people who have rows")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return card(str(self))


def suggest_bounds(
    session: BudgetedQueries,
    column: str,
    privacy: Any,
    share: Any,
    smallest: Any,
    largest: Any,
    where: Any,
    fresh: bool,
) -> CutOffs:
    """What `Session.suggest_bounds` does."""
    if privacy is None:
        raise InvalidInput("say what the answers together may spend, such as privacy=0.2: there is no default.")
    outside = as_rational(share, "share")
    if not 0 < outside < Fraction(1, 2):
        raise InvalidInput(
            f"share is {shown(share)}; give the part of rows that may lie beyond each end, such as 0.01."
        )
    points = grid(smallest, largest)
    people = session.terms.unit.id is not None
    parts = [Fraction(2, 5), Fraction(2, 5), Fraction(1, 5)] if people else [Fraction(1, 2), Fraction(1, 2)]
    levels = [_part(as_level(privacy), part) for part in parts]
    plans = [
        session.plan.quantile(column, q, points, level, where=where)
        for q, level in zip((outside, 1 - outside), levels, strict=False)
    ]
    if people:
        plans.append(session.plan.share_left_out(where, levels[2]))
    answers = session.batch(plans, fresh=fresh)
    low, high = (points.index(answer.value) for answer in answers[:2])
    low, high = min(low, high), max(low, high)  # noise may exchange them
    above = answers[2].value if people else None
    return CutOffs(points[max(low - 1, 0)], points[min(high + 1, len(points) - 1)], tuple(answers), above)


def grid(smallest: Any, largest: Any) -> list[int | float]:
    """The public grid: 0, and the smallest point times 1, 2, 5, 10, 20, 50, ... up to the largest, on both sides.

    Examples
    --------
    >>> grid(1, 20)
    [-20, -10, -5, -2, -1, 0, 1, 2, 5, 10, 20]
    """
    first, last = as_rational(smallest, "smallest"), as_rational(largest, "largest")
    if not 0 < first < last or math.log10(last / first) * 3 > MOST_POINTS:
        raise InvalidInput(
            f"smallest is {shown(smallest)} and largest {shown(largest)}; give 0 < smallest < largest, within "
            f"{MOST_POINTS // 3} powers of ten of each other."
        )
    points: list[Fraction] = []
    power = first
    while power <= last:
        points += [power * times for times in (1, 2, 5) if power * times <= last]
        power *= 10
    return [as_plain(-x) for x in reversed(points)] + [0] + [as_plain(x) for x in points]


def _part(level: Level, part: Fraction) -> Level:
    """A part of a level: of epsilon and delta, or of mu squared; parts that add up to 1 cost no more than the level."""
    if isinstance(level, GaussianDP):
        root = Fraction(math.isqrt(part.numerator * 10**12 // part.denominator), 10**6)
        return GaussianDP(Fraction(level.mu) * root)
    if not isinstance(level, ApproxDP):
        raise UnsupportedLevel(f"quantiles are released at pure, (epsilon, delta) and Gaussian levels, not {level}.")
    if level.ratio == 1 and isinstance(level.exponent, Fraction):
        epsilon = level.exponent * part
    else:
        epsilon = Fraction(int(level.log_growth * (1 - 2**-40) * 10**12), 10**12) * part
    return ApproxDP(epsilon, level.delta * part) if level.delta else PureDP(epsilon)
