"""How accurate an answer is, from public things only: the prior and the mechanism before, the released value after.

Nothing here has seen the table. Before an answer: the expected loss, on average under the prior and at the worst point.
After it: an interval that holds the truth, or how likely the answer is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

CONFIDENCE = 0.95
ROUNDING = 1e-12
"""By how much sums of probabilities may differ and still be taken for equal."""
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
    intervals : for every number of the answer, between which ends its true value lies with this confidence
    confidence : of each interval
    given : what the intervals or the probability rest on
    probability_right : of yes or no and of candidates, how likely the answer is right; None where it is not known
    standard_error : of that probability, where it is estimated
    expected : the expected loss given the answer
    """

    intervals: Mapping[Any, tuple[Any, Any]] = field(default_factory=dict)
    confidence: float = CONFIDENCE
    given: str = ""
    probability_right: float | None = None
    standard_error: float = 0.0
    expected: float | None = None


def shortest_interval(points: Any, chances: Any, confidence: float = CONFIDENCE) -> tuple[int, int]:
    """The fewest points in a row among which the truth lies with this probability, points being consecutive integers.

    Of equally few the likeliest, then the middle ones. At an end, where what is believed falls to one side, this holds
    the end; an interval with as much left out below as above would leave out the very value that was released.

    Examples
    --------
    >>> import numpy as np
    >>> shortest_interval(np.arange(4), np.array([0.6, 0.36, 0.03, 0.01]))
    (0, 1)
    """
    sums = np.concatenate([[0.0], np.cumsum(chances)])
    least = confidence * sums[-1]
    ends = np.searchsorted(sums, (sums[:-1] + least) * (1 - ROUNDING), side="left")
    starts = np.flatnonzero(ends < len(sums))
    sizes = ends[starts] - starts
    starts = starts[sizes == sizes.min()]
    held = sums[ends[starts]] - sums[starts]
    likeliest = starts[held >= held.max() * (1 - ROUNDING)]
    start = likeliest[len(likeliest) // 2]
    return int(points[start]), int(points[ends[start] - 1])
