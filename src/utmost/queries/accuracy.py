"""Accuracy of an answer, from public data only: the prior and the mechanism before, the released value after.

Before an answer: the expected loss, on average under the prior and at the worst point. After it: an interval that
contains the true value, or the probability that the answer is right. Neither reads the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CONFIDENCE = 0.95
BY_LAW = "for every table"
"""What an interval rests on that follows from the noise alone; with `at_most`, it is a condition."""


@dataclass(frozen=True)
class Before:
    """The expected error of an answer.

    Attributes
    ----------
    loss : str
        The loss: "absolute", "squared", "zero-one", "within k", ...
    average : float, optional
        The expected loss under the prior, in the unit of the answer, with the largest effect of rounding. For means,
        variances and covariances, the largest over all tables with the expected rows; None if no number was stated.
    worst : float
        The expected loss at the worst point.
    standard_error : float
        The standard error of the average, where it is estimated; 0 where it is exact.
    worst_among : str
        The points among which the worst was sought, if not all.
    holds : str
        Other assumptions of the numbers.
    rows : float, optional
        For means, variances and covariances, the number of rows of the average; None if groups have different numbers.
    over_rows : float, optional
        For these, the largest expected loss, without rounding, is about this divided by the number of rows (for squared
        loss, by its square), and at most the worst.
    by_rows : tuple of (int, float, float)
        For some numbers of rows, the least and the largest expected loss over all tables, without rounding.
    least : float, optional
        For these, the least expected loss over all tables with the expected rows: it depends on where values lie.
    least_over_rows : float, optional
        As `over_rows`, for the least expected loss.
    from_rounding : float
        The largest effect of rounding on the expected loss, where values are rounded to coarse steps.
    rounds : str
        What is rounded to what, in words, where that matters.
    squared : tuple of float, optional
        For numbers designed for squared error and stated by the absolute one: the expected squared error on average and
        at the worst point.
    """

    loss: str
    average: float | None
    worst: float
    standard_error: float = 0.0
    worst_among: str = ""
    holds: str = ""
    rows: float | None = None
    over_rows: float | None = None
    by_rows: tuple[tuple[int, float, float], ...] = ()
    least: float | None = None
    least_over_rows: float | None = None
    from_rounding: float = 0.0
    rounds: str = ""
    squared: tuple[float, float] | None = None

    @property
    def size(self) -> float:
        """The loss with which a gap is compared, as designed for: the average, or for quotients the `over_rows`."""
        return self.squared[0] if self.squared else self.over_rows or self.average or 0.0


@dataclass(frozen=True)
class After:
    """What a released value says about the true one.

    Attributes
    ----------
    intervals : mapping
        For every number of the answer, an interval that contains its true value with this confidence, for every table
        that meets the `condition`.
    confidence : float
        The confidence of each interval.
    given : str
        What the probability and the likely range rest on; without these, what the intervals are about.
    probability_right : float, optional
        For yes or no and for candidates, the probability that the answer is right, where it is known.
    standard_error : float
        The standard error of that probability, where it is estimated.
    expected : float, optional
        The expected loss given the prior and the answer, with the largest effect of rounding.
    from_rounding : float
        The largest effect of rounding on it.
    rows_within : float, optional
        For candidates, for every table that meets the `condition`: with this confidence the named one is fewer rows
        than this from being right.
    likely : tuple, optional
        For one quantile: the candidates between which it lies with this probability, given the prior and the answer.
        For a particular table the probability may be lower, so it is none of the `intervals`.
    rows : int, optional
        For a mean, the number of rows estimated from the released sums. `expected` is then the loss, to first order,
        with so many rows and with values where the released sums say they lie, and rests on no prior.
    rows_between : tuple of int, optional
        For a mean or variance, an interval for the number of rows with this confidence.
    groups : mapping
        For means and variances by keys, for each key from the released sums: the estimated number of rows, the ends of
        its interval, and whether the answer is reliable, which is whether its interval is narrower than half of the
        possible range.
    condition : str
        What must be true of the table for the intervals to hold, such as "if the table has at most 1,000 rows"; empty
        where they hold for every table.
    near_limit : bool
        Whether an interval reaches the largest number that `at_most` allows: the table may then have more rows than
        that, and the true number may be larger than the interval says.
    by_law : bool
        Whether nothing rests on a prior.
    """

    intervals: Mapping[Any, tuple[Any, Any]] = field(default_factory=dict)
    confidence: float = CONFIDENCE
    given: str = ""
    probability_right: float | None = None
    standard_error: float = 0.0
    expected: float | None = None
    rows_within: float | None = None
    likely: tuple[Any, Any] | None = None
    rows: int | None = None
    rows_between: tuple[int, int] | None = None
    groups: Mapping[Any, tuple[int, int, int, bool]] = field(default_factory=dict)
    condition: str = ""
    near_limit: bool = False
    from_rounding: float = 0.0
    by_law: bool = False

    @property
    def rests_on(self) -> str:
        """What the intervals rest on: "for every table", or a condition."""
        return self.condition or BY_LAW

    @property
    def basis(self) -> str:
        """What the statement rests on, and what it is about."""
        return self.rests_on + self.given if self.by_law else self.given
