"""Private winner of a vote: the candidate named by most rows."""

from __future__ import annotations

from typing import Any, Literal

from utmost.privacy import Level, as_level
from utmost.solution import Solution
from utmost.space.integers import Tallies
from utmost.theory.selection.design.candidates import best_choice
from utmost.theory.selection.problem import Votes


def best_winner(
    tallies: Tallies,
    level: Level | float,
    loss: Literal["zero-one", "shortfall"] = "zero-one",
    prior: Any = None,
    programs: bool = True,
) -> Solution:
    """The private winner of a vote with the lowest expected loss among all known mechanisms.

    Parameters
    ----------
    tallies : Tallies
        The number of candidates, in the public order that breaks ties; the most rows that vote; and what one neighbour
        may do to them.
    level : level or number
        The privacy level; a number is an epsilon.
    loss : "zero-one" or "shortfall"
        A wrong name costs 1, or the number of votes that it is behind the winner.
    prior : mapping {tally: probability}, optional
        Default: uniform over all tallies of at most so many rows.
    programs : bool
        Whether linear programs are solved where tallies are few, which takes up to some seconds: for the best selection
        among those that protect tables of any size (three candidates: up to 20 rows), and for the best bound.

    Returns
    -------
    Solution
        Its mechanism draws the place of a candidate from a tally (`sample`) and has its `probabilities`; the value is
        the expected loss. Under the uniform prior the certificate bounds every private mechanism of a pure
        level (for shortfall: up to a million rows times candidates).

    Examples
    --------
    >>> best = best_winner(Tallies(3, 20_000, "add-remove"), 1.0)
    >>> best.certificate.method, best.certificate.gap < 0.01 * best.value
    ('geometric noisy max', True)
    >>> bool(best.verify()), best.sample((7000, 6000, 5000))
    (True, 0)
    """
    return best_choice(Votes(tallies), as_level(level), loss, prior, {}, programs)
