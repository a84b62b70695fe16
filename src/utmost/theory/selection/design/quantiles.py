"""Private quantiles among public candidates.

Every row is first rounded to the nearest candidate, so the quantile is a candidate. Where e^epsilon is at least the
number of other candidates, *nearest* is private and the best known: a candidate is named e^-epsilon times as often for
every neighbour that it would take to make it the quantile. Otherwise geometric noisy max on ranks, whose scores may
move against each other by two steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from utmost.exact import Number, as_rational, write_rational
from utmost.privacy import Level, as_level
from utmost.solution import Solution
from utmost.space.integers import Tallies
from utmost.theory.selection.design.candidates import best_choice
from utmost.theory.selection.problem import Ranks


def best_quantile(
    tallies: Tallies,
    q: Number,
    candidates: Sequence[float],
    level: Level | float,
    loss: Literal["absolute", "zero-one", "rank"] = "absolute",
    prior: Any = None,
    programs: bool = True,
) -> Solution:
    """The private quantile with the lowest expected loss among all known mechanisms.

    Parameters
    ----------
    tallies : Tallies
        One cell for each candidate; a row is in the cell of the candidate its value is nearest to.
    q : number
        The share of rows at or below the quantile, such as 0.5 or "9/10".
    candidates : numbers in increasing order
        The values that may be named.
    level : level or number
        The privacy level; a number is an epsilon.
    loss : "absolute", "zero-one" or "rank"
        The distance of the named value from the quantile; 1 if it is another one; or by how many rows its rank is off.
    prior : mapping {tally: probability}, optional
        Default: uniform over all tallies of at most so many rows.
    programs : bool
        Whether a linear program is solved where tallies are few, which takes up to some seconds.

    Returns
    -------
    Solution
        Its mechanism draws the place of a candidate from a tally (`sample`) and has its `probabilities`.

    Examples
    --------
    >>> best = best_quantile(Tallies(5, 200, "add-remove"), 0.5, [10, 20, 30, 40, 50], 2.0)
    >>> best.certificate.method, bool(best.verify())
    ('nearest', True)
    >>> best.sample((0, 0, 90, 0, 0))
    2
    """
    share, values = as_rational(q, "q"), tuple(float(value) for value in candidates)
    data = {"q": write_rational(share), "candidates": values}
    return best_choice(Ranks(tallies, share, values), as_level(level), loss, prior, data, programs)
