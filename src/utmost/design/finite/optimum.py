"""The optimum for any prior, any loss and any (epsilon, delta) levels, as a linear program with a rigorous bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from utmost.design.finite.columns import generate_columns
from utmost.design.finite.region import regularity
from utmost.design.finite.tight import tight_constraints
from utmost.design.linear_program import Floats, Optimum, best_mechanism, mix_until_private
from utmost.edge_levels import EdgeLevels, Privacy, on_edges
from utmost.errors import InvalidInput, NoSuchMechanism, TooLarge, UnsupportedLevel
from utmost.mechanism import FiniteMechanism, Loss, loss_table
from utmost.optimality import mechanism_bound
from utmost.privacy import ApproxDP
from utmost.solution import Certificate, Problem, Solution
from utmost.space import Space

FEW, MOST = 60, 1500
"""From how many results on columns are generated, and up to how many."""


def optimal(
    space: Space,
    privacy: Privacy,
    prior: Any = None,
    loss: Loss = "zero-one",
    criterion: Literal["average", "worst"] = "average",
    method: Literal["auto", "linear-program", "columns", "tight-constraints"] = "auto",
    seconds: float = 600.0,
    say: Callable[[str], Any] | None = None,
) -> Solution:
    """The private mechanism with the least expected loss, for a prior, or at the worst point.

    Parameters
    ----------
    prior : distribution over the points; None is uniform
    loss : "zero-one", "absolute", "squared", "within k", an array (points x guesses), or a callable loss(point, guess)
    criterion : "average" under the prior, or "worst" over the points
    method : how to solve it
        "auto" takes tight constraints where they are proved optimal, a sparse linear program for few results, a delta
        or the worst case, and column generation for many results at pure levels; the certificate says which.
    seconds : when column generation stops adding columns; the certificate states the gap that is left
    say : called with a line of text after each round of columns

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
    if method not in ("auto", "linear-program", "columns", "tight-constraints"):
        raise InvalidInput(f"method is {method!r}; say 'auto', 'linear-program', 'columns' or 'tight-constraints'.")
    weights = space.as_prior(prior)
    zero_one = criterion == "average" and isinstance(loss, str) and loss == "zero-one"
    if method in ("auto", "tight-constraints") and zero_one:
        found = _by_tight_constraints(space, privacy, weights, forced=method == "tight-constraints")
        if found is not None:
            return found
    elif method == "tight-constraints":
        raise InvalidInput("tight constraints are optimal for zero-one loss under a regular prior; use another method.")
    table = loss_table(loss, space.points, space.points)
    optimum, how = _solve(levels, weights, table, criterion == "worst", method, seconds, say)
    matrix, moved = mix_until_private(optimum.matrix, levels)
    losses = (matrix * table).sum(axis=1)
    value = float(losses.max(initial=0.0)) if criterion == "worst" else float(weights @ losses)
    against = optimum.favoured if criterion == "worst" else weights
    bound = -mechanism_bound(levels, -against[:, None] * table, optimum.duals)
    places = np.flatnonzero(optimum.duals)
    evidence = {"dual_places": places, "dual_values": optimum.duals.ravel()[places]}
    evidence |= {"least_favourable": against} if criterion == "worst" else {}
    certificate = Certificate(
        "bound",
        "linear programming duality over all private mechanisms",
        f"expected loss {'at the worst point' if criterion == 'worst' else 'under the prior'}",
        how,
        bound=bound,
        gap=max(value - bound, 0.0),
        evidence=evidence,
        notes=(f"no probability was moved by more than {moved:.1g} to make the solver's answer private",),
    )
    data = {"prior": weights, "loss": table, "criterion": criterion}
    mechanism = FiniteMechanism(matrix, space.points, space.points)
    return Solution(Problem("finite.optimal", space, levels, data), mechanism, value, certificate)


def _solve(
    levels: EdgeLevels,
    weights: Floats,
    table: Floats,
    worst: bool,
    method: str,
    seconds: float,
    say: Callable[[str], Any] | None,
) -> tuple[Optimum, str]:
    """The linear program or column generation, whichever suits, and why."""
    n = len(weights)
    pure = not levels.delta.any() and bool(np.isfinite(levels.growth).all())
    generate = method == "columns" or (method == "auto" and n > FEW and pure and not worst)
    if generate and (worst or not pure):
        raise UnsupportedLevel(
            "columns are generated for pure levels and an average loss; use method='linear-program'."
        )
    if n > (MOST if generate else MOST // 10):
        raise TooLarge(
            f"{n} results are too many for {'columns' if generate else 'a linear program'}; at most {MOST} at pure "
            f"levels with an average loss, {MOST // 10} otherwise."
        )
    if not generate:
        gains = -weights[:, None] * table
        return best_mechanism(levels, gains, worst=table if worst else None), "a sparse linear program over the edges"
    made = generate_columns(levels, weights, table, seconds, say)
    how = f"column generation ({made.rounds} rounds), since there are {n} results at pure levels"
    return Optimum(made.matrix, made.duals, np.zeros(n)), how


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
