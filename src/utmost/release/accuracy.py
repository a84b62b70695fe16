"""How accurate an answer is, from public things only: the prior and the mechanism before, the released value after.

Nothing here has seen the table. Before an answer: the expected loss, on average under the prior and at the worst point.
After it: an interval that holds the truth, or how likely the answer is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CONFIDENCE = 0.95
BY_LAW = "whatever the table holds"
"""What an interval from the noise's own law rests on: nothing but the noise."""


@dataclass(frozen=True)
class Before:
    """How accurate an answer will be.

    Attributes
    ----------
    loss : what is measured: "absolute", "squared", "zero-one", "within k", ...
    average : the expected loss under the prior, in the unit of the answer
    worst : the expected loss at the worst point
    standard_error : of the average, where it is estimated; 0 where it is exact
    worst_among : where the worst was looked for, if not everywhere
    holds : what else the numbers rest on
    """

    loss: str
    average: float
    worst: float
    standard_error: float = 0.0
    worst_among: str = ""
    holds: str = ""


@dataclass(frozen=True)
class After:
    """What a released value says about the truth.

    Attributes
    ----------
    intervals : for every number of the answer, between which ends its true value lies with this confidence, whatever
        the table holds
    confidence : of each interval
    given : what the probability and what is likely rest on; without these, what the intervals rest on and are about
    probability_right : of yes or no and of candidates, how likely the answer is right; None where it is not known
    standard_error : of that probability, where it is estimated
    expected : the expected loss given the prior and the answer
    rows_within : of candidates, whatever the table holds: with this confidence the named one is fewer rows than this
        from being right; None where nothing is known
    likely : of one quantile, given the prior and the answer: between which candidates it lies with this confidence; at
        a given table it may lie there less often, so it is none of the `intervals`
    rows : of a mean, how many rows took part as far as the released sums say: `expected` is the loss with so many, and
        rests on no prior over their number; None elsewhere
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
