"""Compare a mechanism with the optimal private one: its loss, the least possible, and the gap."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from utmost.errors import InvalidInput
from utmost.mechanism import Loss
from utmost.mechanism.certification import require_private
from utmost.mechanism.finite import require_points
from utmost.mechanism.other_libraries import as_table
from utmost.messages import Argument, Call, Code
from utmost.privacy import PureDP
from utmost.solution import Solution
from utmost.solution.card import card
from utmost.space import Space
from utmost.space.edge_levels import EdgeLevels, Privacy, on_edges
from utmost.theory.priors.design.optimum import optimal


@dataclass(frozen=True, eq=False)
class Comparison:
    """A mechanism compared with the best one. Made by `compare`.

    Attributes
    ----------
    value : float
        The expected loss of the mechanism with optimal post-processing.
    best : float
        The expected loss of the best private mechanism found.
    bound : float
        The lower bound on the expected loss of every private mechanism; equal to `best` where a theorem says so.
    gap : float
        value - bound: the most by which the expected loss could be reduced.
    levels : EdgeLevels
        The level at which both are private.
    solution : Solution
        The best mechanism, with its proof.
    """

    value: float
    best: float
    bound: float
    levels: EdgeLevels
    solution: Solution = field(repr=False)

    @property
    def gap(self) -> float:
        """The most by which any private mechanism could have a lower expected loss."""
        return max(self.value - self.bound, 0.0)

    def __str__(self) -> str:
        more = f" ({self.gap / self.value:.3g} of the value)" if self.value else ""
        return (
            f"expected loss {self.value:.6g} at {self.levels}\n  best found: {self.best:.6g}, "
            f"{self.solution.certificate.reason}\n  lower bound: {self.bound:.6g}\n"
            f"  gap: {self.gap:.3g}{more}"
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return card(str(self))


def compare(
    mechanism: Any,
    space: Space,
    loss: Loss = "zero-one",
    prior: Any = None,
    privacy: Privacy | None = None,
    seconds: float = 600.0,
) -> Comparison:
    """Compare a mechanism's expected loss with the least of any private mechanism.

    The mechanism is evaluated with the best post-processing that the prior allows. Numbers are floating point;
    `solution.verify()` proves the bound again.

    Parameters
    ----------
    mechanism : FiniteMechanism, Solution, array or callable
        The mechanism, as `certify` takes it; one of diffprivlib, too. An array has a row for every point of the space,
        in order, and a column for every output; a function of a point returns a mapping from outputs to probabilities.
    space : Space
        The points and their adjacency.
    loss : str, array or callable
        "zero-one", "absolute", "squared", "within k", an array (points x guesses), or loss(point, guess).
    prior : mapping, array or callable, optional
        A distribution over the points; uniform by default.
    privacy : level or number, optional
        The level to compare at; by default the least epsilon that the mechanism satisfies on this space, computed from
        its probabilities. `CannotCertify` if the mechanism does not satisfy a level that is given.
    seconds : number
        The time limit of the solver.

    Examples
    --------
    Randomised response ignores that a count which is off by one is nearly right:

    >>> import numpy as np, utmost as um
    >>> truth = np.e / (np.e + 10)
    >>> mine = np.full((11, 11), (1 - truth) / 10) + (truth - (1 - truth) / 10) * np.eye(11)
    >>> print(um.compare(mine, um.counts(10), loss="absolute", privacy=1))
    expected loss 2.67593 at 1-DP
      best found: 0.728544, Ghosh, Roughgarden and Sundararajan 2012: on a count, geometric noise with its best remap
      lower bound: 0.728544
      gap: 1.95 (0.728 of the value)
    """
    table = as_table(mechanism.mechanism if isinstance(mechanism, Solution) else mechanism, space)
    require_points(table, space)
    if privacy is None:
        epsilon = table.epsilon(space)
        if math.isinf(epsilon):
            raise InvalidInput(
                "an output is possible at one point and impossible at a neighbour, so the mechanism keeps no epsilon; "
                "say what it promises, such as ",
                Argument("privacy", Call("um.ApproxDP", 1, Code("1e-6", 1e-6))),
                ".",
            )
        levels = on_edges(space, PureDP(epsilon))
    else:
        levels = on_edges(space, privacy)
        require_private(table, levels)
    solution = optimal(space, levels, prior, loss, seconds=seconds)
    bound = solution.value if solution.certificate.bound is None else solution.certificate.bound
    return Comparison(table.expected_loss(prior, loss), solution.value, bound, levels, solution)
