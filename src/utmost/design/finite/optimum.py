"""The optimum for any prior, any loss and any (epsilon, delta) levels, as a linear program with a rigorous bound."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from utmost.design.finite.region import regularity
from utmost.design.finite.tight import tight_constraints
from utmost.design.linear_program import best_mechanism, mix_until_private
from utmost.edge_levels import Privacy, on_edges
from utmost.errors import InvalidInput, NoSuchMechanism, TooLarge, UnsupportedLevel
from utmost.mechanism import FiniteMechanism, Loss, loss_table
from utmost.optimality import mechanism_bound
from utmost.privacy import ApproxDP
from utmost.solution import Certificate, Problem, Solution
from utmost.space import Space

MOST_VARIABLES = 40_000


def optimal(
    space: Space,
    privacy: Privacy,
    prior: Any = None,
    loss: Loss = "zero-one",
    criterion: Literal["average", "worst"] = "average",
    method: Literal["auto", "linear-program", "tight-constraints"] = "auto",
) -> Solution:
    """The private mechanism with the least expected loss, for a prior, or at the worst point.

    Parameters
    ----------
    prior : distribution over the points; None is uniform
    loss : "zero-one", "absolute", "squared", "within k", an array (points x guesses), or a callable loss(point, guess)
    criterion : "average" under the prior, or "worst" over the points
    method : "auto" takes tight constraints where they are proved optimal, and a linear program otherwise

    Returns
    -------
    Solution
        Its outputs are guesses: the points of the space. The certificate holds dual prices, from which `verify`
        recomputes what no private mechanism can go below.

    Examples
    --------
    >>> import utmost as um
    >>> best = um.finite.optimal(um.counts(4), 1.0, loss="absolute")
    >>> round(best.value, 6), best.certificate.gap < 1e-7
    (0.583506, True)
    """
    levels = on_edges(space, privacy)
    levels.require(ApproxDP, "finite.optimal needs (epsilon, delta) levels; Gaussian ones are not linear programs.")
    if criterion not in ("average", "worst"):
        raise InvalidInput(f"criterion is {criterion!r}; say 'average' or 'worst'.")
    if method not in ("auto", "linear-program", "tight-constraints"):
        raise InvalidInput(f"method is {method!r}; say 'auto', 'linear-program' or 'tight-constraints'.")
    weights = space.as_prior(prior)
    if method != "linear-program" and criterion == "average" and isinstance(loss, str) and loss == "zero-one":
        found = _by_tight_constraints(space, privacy, weights, forced=method == "tight-constraints")
        if found is not None:
            return found
    elif method == "tight-constraints":
        raise InvalidInput("tight constraints are optimal for zero-one loss under a regular prior; use another method.")
    n = len(space.points)
    if n * n > MOST_VARIABLES:
        raise TooLarge(f"a linear program over {n} x {n} probabilities would take too long; use at most 200 results.")
    table = loss_table(loss, space.points, space.points)
    optimum = best_mechanism(levels, -weights[:, None] * table, worst=table if criterion == "worst" else None)
    matrix, moved = mix_until_private(optimum.matrix, levels)
    losses = (matrix * table).sum(axis=1)
    value = float(losses.max(initial=0.0)) if criterion == "worst" else float(weights @ losses)
    against = optimum.favoured if criterion == "worst" else weights
    bound = -mechanism_bound(levels, -against[:, None] * table, optimum.duals)
    evidence = {"duals": optimum.duals} | ({"least_favourable": against} if criterion == "worst" else {})
    certificate = Certificate(
        "bound",
        "linear programming duality over all private mechanisms",
        f"expected loss {'at the worst point' if criterion == 'worst' else 'under the prior'}",
        "a sparse linear program over the edges",
        bound=bound,
        gap=max(value - bound, 0.0),
        evidence=evidence,
        notes=(f"no probability was moved by more than {moved:.1g} to make the solver's answer private",),
    )
    data = {"prior": weights, "loss": table, "criterion": criterion}
    mechanism = FiniteMechanism(matrix, space.points, space.points)
    return Solution(Problem("finite.optimal", space, levels, data), mechanism, value, certificate)


def _by_tight_constraints(space: Space, privacy: Privacy, weights: Any, forced: bool) -> Solution | None:
    """The tight-constraints mechanism where it is proved optimal for a prior; None where it is not."""
    try:
        y = regularity(weights, space, privacy)
        if y is None:
            if forced:
                raise InvalidInput("the prior is not regular at this level; use method='auto'.")
            return None
        tight = tight_constraints(space, privacy)
    except (NoSuchMechanism, UnsupportedLevel, TooLarge):
        if forced:
            raise
        return None
    told = np.diag(tight.mechanism.matrix)
    value = 1 - float(weights @ told)
    bound = 1 - float(np.sum(y))
    certificate = Certificate(
        "theorem",
        "REG Theorem 1: tight constraints are optimal for every regular prior, and this one is",
        "expected loss under the prior",
        "tight constraints, chosen because the prior is regular and the loss zero-one",
        notes=(f"REG's bound for this prior is {bound:.12g}", *tight.certificate.notes),
    )
    data = {"prior": weights}
    return Solution(Problem("finite.regular", space, tight.problem.privacy, data), tight.mechanism, value, certificate)
