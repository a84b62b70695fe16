"""How accurate an answer is, from public things only: the prior and the mechanism before, the released value after.

Nothing here has seen the table. Before an answer: the expected loss, on average under the prior and at the worst point.
After it: an interval that holds the truth, or how likely the answer is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CONFIDENCE = 0.95
BY_LAW = "for every table"
"""What an interval from the noise's own law rests on: nothing but the noise; with `at_most`, a condition."""


@dataclass(frozen=True)
class Before:
    """How accurate an answer will be.

    Attributes
    ----------
    loss : what is measured: "absolute", "squared", "zero-one", "within k", ...
    average : the expected loss under the prior, in the unit of the answer, with what rounding adds at most; of means,
        variances and covariances the largest over all tables with the expected rows, None where nobody said how many
        are expected
    worst : the expected loss at the worst point
    standard_error : of the average, where it is estimated; 0 where it is exact
    worst_among : where the worst was looked for, if not everywhere
    holds : what else the numbers rest on
    rows : of means, variances and covariances, of how many rows the average is; None if groups have different numbers
    over_rows : of these, the largest expected loss, without rounding, is about this over the rows there are (squared:
        over their square), at most the worst
    by_rows : for some numbers of rows, the least and the largest expected loss over all tables, without rounding
    least : of these, the least expected loss over all tables with the expected rows: it depends on where values lie
    least_over_rows : as `over_rows`, of the least
    from_rounding : how much rounding adds to the expected loss at most, where values are rounded to coarse steps
    rounds : what is rounded to what, in words, where that matters
    squared : of numbers that are designed for the least squared error and stated by the absolute one: the expected
        squared error on average and at the worst point; None elsewhere
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
        """What a gap is compared with: the average, or of a quotient what is divided by the rows; as designed for."""
        return self.squared[0] if self.squared else self.over_rows or self.average or 0.0


@dataclass(frozen=True)
class After:
    """What a released value says about the truth.

    Attributes
    ----------
    intervals : for every number of the answer, between which ends its true value lies with this confidence, for every
        table that meets the `condition`
    confidence : of each interval
    given : what the probability and what is likely rest on; without these, what the intervals rest on and are about
    probability_right : of yes or no and of candidates, how likely the answer is right; None where it is not known
    standard_error : of that probability, where it is estimated
    expected : the expected loss given the prior and the answer, with what rounding adds at most
    from_rounding : how much of it is from rounding at most
    rows_within : of candidates, for every table that meets the `condition`: with this confidence the named one
        is fewer rows than this from being right; None where nothing is known
    likely : of one quantile, given the prior and the answer: between which candidates it lies with this confidence; at
        a given table it may lie there less often, so it is none of the `intervals`
    rows : of a mean, how many rows took part as far as the released sums say: `expected` is the loss, to first order,
        with so many and with values where the released sums say they lie, and rests on no prior; None elsewhere
    rows_between : of a mean or variance, between which numbers these rows lie with this confidence
    groups : of means and variances by keys, for each key as far as the released sums say: how many rows it has, between
        which ends that number lies with this confidence, and whether its answer is reliable: whether its interval is
        narrower than half of what is possible
    condition : what must be true of the table for the intervals to hold, such as "if the table has at most 1,000 rows";
        empty where they hold for every table
    near_limit : whether an interval reaches the largest number that `at_most` allows: the table may then have more rows
        than that, and the true number may be larger than the interval says
    by_law : whether nothing rests on a prior: then `given` is what intervals are about, after what they rest on
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
        """What intervals rest on: nothing but the noise, whatever the table holds, or a condition."""
        return self.condition or BY_LAW

    @property
    def basis(self) -> str:
        """What everything rests on, and what it is about."""
        return self.rests_on + self.given if self.by_law else self.given
