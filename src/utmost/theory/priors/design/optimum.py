"""The optimum for any prior, any loss and any (epsilon, delta) levels, as a linear program with a rigorous bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

import numpy as np

from utmost.errors import InvalidInput, TooLarge, UnsupportedLevel
from utmost.exact.arrays import Floats
from utmost.exact.citations import cites
from utmost.mechanism import FiniteMechanism, Loss, grows_with_distance, loss_table
from utmost.mechanism.decaying_columns import DecayingMechanism, is_path
from utmost.messages import Argument
from utmost.privacy import ApproxDP
from utmost.solution import Problem, Solution, certificate_of, proved_bound
from utmost.solution.phrases import Phrase
from utmost.solution.sentences import (
    COLUMNS,
    INTERIOR,
    MOVED,
    SIGNS,
    SPARSE,
    SYMMETRIC_INTERIOR,
    SYMMETRIC_VERTEX,
    VERTEX,
)
from utmost.space import Space
from utmost.space.edge_levels import EdgeLevels, Privacy, on_edges, per_edge
from utmost.space.line import Line
from utmost.theory.linear_program import Optimum, best_mechanism, mix_until_private
from utmost.theory.priors.design.column_generation import generate_columns, mirrored_edges
from utmost.theory.priors.design.geometric import geometric
from utmost.theory.priors.design.phi import pure_levels
from utmost.theory.priors.design.regular_priors import regularity
from utmost.theory.priors.design.tight import column_peaks, with_peaks
from utmost.theory.scalar.line_chains import chain_values
from utmost.theory.symmetry import find_symmetry

METHODS = ("auto", "geometric", "tight-constraints", "linear-program", "columns")
FEW_LABELLED, MOST_LABELLED, MOST_ALIKE = 6_000, 160_000, 400_000
"""The largest number of edges times outputs at which a linear program with other outputs than the points is solved to a
vertex, and at all (in 12 s; 2 s for 4000 tallies of three candidates); and the largest before symmetries reduce it."""
FEW, MOST = 40, 1500
"""The number of results above which columns are generated (the plain program is slower there), and the largest."""
LEAST_EPSILON = 1e-8
"""Below this the tolerance of a solver exceeds what a pure level allows, and rows are made equal instead."""
MOST_PRICES = 10**8
"""The largest number of dual prices, one for every direction of an edge and every output: 800 MB."""


def optimal(
    space: Space,
    privacy: Privacy,
    prior: Any = None,
    loss: Loss = "zero-one",
    criterion: Literal["average", "worst"] = "average",
    method: Literal["auto", "geometric", "tight-constraints", "linear-program", "columns"] = "auto",
    seconds: float = 600.0,
    say: Callable[[str], Any] | None = None,
    outputs: Sequence[Any] | None = None,
) -> Solution:
    """The private mechanism with the least expected loss, for a prior, or at the worst point.

    Parameters
    ----------
    space : Space
        The points and their adjacency.
    privacy : level, number or EdgeLevels
        One level for all edges, or one per edge.
    prior : mapping, array or callable, optional
        A distribution over the points; None is uniform.
    loss : str, array or callable
        "zero-one", "absolute", "squared", "within k", an array (points x guesses), or loss(point, guess).
    criterion : "average" or "worst"
        The average under the prior, or the worst over the points.
    method : str
        "auto" takes tight constraints where they are proved optimal (zero-one loss, regular prior), geometric noise
        with its best remap on counts at pure levels, the best chain at every threshold on counts at every other
        concave level (Gaussian too) for losses that are convex and least at the truth, a sparse linear program for
        few results, a delta or the worst case, and column generation for many results at pure levels; the certificate
        says which and why.
    seconds : float
        The time limit of the solver. Column generation then returns the best mechanism so far, never worse than the
        exponential mechanism, geometric noise or tight columns, and the certificate states the remaining gap; a plain
        linear program raises `SolverFailed`.
    say : callable, optional
        Called with a line of text after each round of columns.
    outputs : sequence, optional
        The possible answers, if not the points: any number of labels, such as the candidates of a vote. The loss is
        then an array (points x outputs) or a callable loss(point, output), and a linear program is solved. Exchanges of
        coordinates and mirror images under which prior and loss are invariant reduce its size.

    Returns
    -------
    Solution
        Its outputs are guesses: the points of the space, or what `outputs` lists. The certificate holds dual prices,
        from which `verify` recomputes the lower bound on the loss of every private mechanism.

    Examples
    --------
    >>> import utmost as um
    >>> best = um.finite.optimal(um.sums(3, 2), 1.0, loss="absolute")
    >>> round(best.value, 6), best.certificate.gap < 1e-7
    (1.114192, True)
    >>> um.finite.optimal(um.counts(4), 1.0, loss="absolute").certificate.claim      # geometric noise, remapped
    'theorem'
    >>> votes, wrong = um.histograms(3, 3), lambda tally, named: named != tally.index(max(tally))
    >>> round(um.finite.optimal(votes, 1.0, loss=wrong, outputs=(0, 1, 2)).value, 6)        # who won, of three
    0.316182
    """
    levels = on_edges(space, privacy)
    if method == "auto" and criterion == "average" and outputs is None:
        solution = _by_chains(levels, prior, loss)
        if solution is not None:
            return solution
    levels.require(
        ApproxDP,
        "finite.optimal needs (epsilon, delta) levels, or a count and a loss that is convex in the guess and least at "
        "the truth; others at Gaussian levels are not linear programs.",
    )
    if criterion not in ("average", "worst"):
        raise InvalidInput(f"criterion is {criterion!r}; say 'average' or 'worst'.")
    if method not in METHODS:
        raise InvalidInput(f"method is {method!r}; say {', '.join(map(repr, METHODS[:-1]))} or {METHODS[-1]!r}.")
    weights = space.as_prior(prior)
    if outputs is not None:
        return _to_labels(levels, weights, loss, tuple(outputs), criterion, method, seconds)
    if method in ("auto", "tight-constraints"):
        fits = criterion == "average" and isinstance(loss, str) and loss == "zero-one"
        solution = _by_tight_constraints(space, privacy, weights) if fits else None
        if solution is not None:
            return solution
    if method == "tight-constraints":
        raise InvalidInput(
            "tight constraints are optimal for zero-one loss on average under a regular prior; the prior is not "
            "regular, the loss another one, or they do not exist here. Use ",
            Argument("method", "auto"),
            ".",
        )
    table = loss_table(loss, space.points, space.points)
    if method in ("auto", "geometric"):
        solution = _by_geometric_noise(levels, weights, table) if criterion == "average" else None
        if solution is not None:
            return solution
    if method == "geometric":
        raise InvalidInput(
            "geometric noise is optimal on counts, at one pure level, for a prior and a loss that grows with the "
            "distance; use another method."
        )
    optimum, phrase = _solve(levels, weights, table, criterion == "worst", method, seconds, say)
    best = _symmetrise(optimum.matrix, levels, weights, table)
    data = {"prior": weights, "loss": table, "criterion": criterion}
    return _as_solution(levels, data, optimum._replace(matrix=best), phrase, space.points)


def _to_labels(
    levels: EdgeLevels,
    weights: Floats,
    loss: Loss,
    outputs: tuple[Any, ...],
    criterion: str,
    method: str,
    seconds: float,
) -> Solution:
    """The optimum whose answers are labels instead of points, by a linear program."""
    n, k = len(weights), len(outputs)
    if not k or len(set(outputs)) < k:
        raise InvalidInput(f"outputs lists {k} answers; give one or more, each once.")
    if isinstance(loss, str):
        raise InvalidInput(
            f"loss is {loss!r}; with outputs of your own give an array or a callable loss(point, output)."
        )
    if method not in ("auto", "linear-program"):
        raise InvalidInput(f"method is {method!r}; with outputs of your own only a linear program is solved.")
    symmetry = None
    if (constraints := (len(levels) + n) * k) <= MOST_ALIKE:
        table = loss_table(loss, levels.space.points, outputs)
        symmetry = find_symmetry(levels, weights, table)
    entries = constraints if symmetry is None else int(constraints * symmetry.share)
    if entries > MOST_LABELLED:
        raise TooLarge(
            f"{len(levels)} edges and {k} outputs make {constraints} constraints, of which {entries} are not alike; a "
            f"linear program has at most {MOST_LABELLED}. Use a smaller space."
        )
    scale = float(np.abs(table).max(initial=0.0)) or 1.0  # solvers' tolerances are absolute
    worst = table / scale if criterion == "worst" else None
    many = entries > FEW_LABELLED and worst is None
    gains = -weights[:, None] * table / scale
    optimum = best_mechanism(resolved(levels), gains, None, None, worst, seconds, interior=many, symmetry=symmetry)
    if symmetry is None:
        phrase = (INTERIOR if many else VERTEX)()
    else:
        phrase = (SYMMETRIC_INTERIOR if many else SYMMETRIC_VERTEX)(entries, constraints)
    data = {"prior": weights, "loss": table, "criterion": criterion, "outputs": outputs}
    return _as_solution(levels, data, optimum._replace(duals=optimum.duals * scale), phrase, outputs)


def _as_solution(
    levels: EdgeLevels, data: dict[str, Any], optimum: Optimum, method: Phrase, outputs: Sequence[Any]
) -> Solution:
    """A solver's optimum as a solution: made exactly private, with the bound that its dual prices prove."""
    space, weights, table, criterion = levels.space, data["prior"], data["loss"], data["criterion"]
    matrix, change = mix_until_private(optimum.matrix, resolved(levels))
    losses = (matrix * table).sum(axis=1)
    value = float(losses.max(initial=0.0)) if criterion == "worst" else float(weights @ losses)
    against = optimum.favoured if criterion == "worst" else weights
    problem = Problem("finite.optimal", space, levels, data)
    bound, evidence = max(  # prices of 0 give the trivial bound, which holds for every mechanism
        (
            (proved_bound(problem, offered), offered)
            for offered in (_evidence(prices, against, criterion) for prices in (optimum.duals, 0 * optimum.duals))
        ),
        key=lambda bound_and_evidence: bound_and_evidence[0],
    )
    mechanism = FiniteMechanism(matrix, space.points, outputs)
    gap = max(value - bound, 0.0)
    certificate = certificate_of(problem, mechanism, "bound", bound, gap, evidence, (method, MOVED(change)))
    return Solution(problem, mechanism, value, certificate)


def resolved(levels: EdgeLevels) -> EdgeLevels:
    """The levels with every pure epsilon that solvers do not resolve replaced by 0, which implies it."""
    epsilon = levels.log_growth()
    tiny = (epsilon > 0) & (epsilon < LEAST_EPSILON) & (levels.delta == 0)
    if not tiny.any():
        return levels
    if levels.single is not None:
        return on_edges(levels.space, 0)
    return per_edge(levels.space, epsilon=np.where(tiny, 0.0, epsilon), delta=levels.delta)


def _evidence(prices: Floats, against: Floats, criterion: str) -> dict[str, Any]:
    """The positive dual prices of the privacy constraints, and the prior under which the value is an average."""
    places = np.flatnonzero(prices)
    evidence = {"dual_places": places, "dual_values": prices.ravel()[places]}
    return evidence | ({"least_favourable": against} if criterion == "worst" else {})


def _solve(
    levels: EdgeLevels,
    weights: Floats,
    table: Floats,
    worst: bool,
    method: str,
    seconds: float,
    say: Callable[[str], Any] | None,
) -> tuple[Optimum, Phrase]:
    """The optimum by linear programming or column generation, whichever suits; and the method."""
    n = len(weights)
    pure = not levels.delta.any() and bool(np.isfinite(levels.growth).all())
    generate = method == "columns" or (method == "auto" and n > FEW and pure and not worst)
    if generate and (worst or not pure):
        raise UnsupportedLevel(
            "columns are generated for pure levels and an average loss; use ",
            Argument("method", "linear-program"),
            ".",
        )
    if n > (MOST if generate else MOST // 10):
        raise TooLarge(
            f"{n} results are too many for {'columns' if generate else 'a linear program'}; at most {MOST} at pure "
            f"levels with an average loss, {MOST // 10} otherwise."
        )
    if (prices := 2 * len(levels) * n) > MOST_PRICES:
        raise TooLarge(
            f"{len(levels)} edges and {n} results have {prices} dual prices; at most {MOST_PRICES} are kept. Use fewer "
            "results, or a prior for which tight constraints are optimal (um.finite.regularity)."
        )
    scale = float(np.abs(table).max(initial=0.0)) or 1.0  # solvers' tolerances are absolute
    if not generate:
        optimum = best_mechanism(
            resolved(levels), -weights[:, None] * table / scale, None, None, table / scale if worst else None, seconds
        )
        return optimum._replace(duals=optimum.duals * scale), SPARSE()
    generated = generate_columns(levels, weights, table / scale, seconds, say)
    phrase = COLUMNS(generated.rounds, n)
    return Optimum(generated.matrix, generated.duals * scale, np.zeros(n)), phrase


def _symmetrise(matrix: Floats, levels: EdgeLevels, weights: Floats, table: Floats) -> Floats:
    """The average of a mechanism and its mirror image, as good where the problem is invariant under reversal."""
    return (matrix + matrix[::-1, ::-1]) / 2 if mirrored_edges(levels, weights, table) is not None else matrix


@cites("REG-theorem-3")
def _by_tight_constraints(space: Space, privacy: Privacy, weights: Floats) -> Solution | None:
    """The tight-constraints mechanism where it is proved optimal for a prior; None where it is not."""
    try:
        levels = pure_levels(space, privacy)
        z = column_peaks(levels)
        if z.nonnegative is False:
            return None
        uniform = not len(weights) or bool((weights == weights[0]).all())
        y = None if uniform else regularity(weights, space, privacy)
    except (UnsupportedLevel, TooLarge):
        return None
    if uniform:
        return with_peaks(levels, z)
    if y is None:
        return None
    tight = with_peaks(levels, z)
    mechanism = tight.mechanism
    diagonal = mechanism.diagonal if isinstance(mechanism, DecayingMechanism) else np.diag(mechanism.matrix)
    value = 1 - float(weights @ diagonal)
    problem = Problem("finite.regular", space, tight.problem.privacy, {"prior": weights})
    account = () if z.nonnegative else (SIGNS(),)
    certificate = certificate_of(problem, mechanism, "theorem", gap=0.0, evidence={"coefficients": y}, account=account)
    return Solution(problem, mechanism, value, certificate)


def _by_chains(levels: EdgeLevels, prior: Any, loss: Loss) -> Solution | None:
    """The best chain at every threshold, where it is proved optimal: counts, and convex losses least at the truth.

    For more points than a table holds, the solution is an exact law on a line of integers, for named losses.
    """
    from utmost.theory.scalar.design.line import best_on_line
    from utmost.theory.scalar.design.threshold_chains import has_chains, table_chains

    space, level, n = levels.space, levels.single, len(levels.space.points)
    is_named = isinstance(loss, str)
    if level is None or n < 2 or not is_path(space) or not level.concave or not level.certifiable:
        return None
    if is_named and loss not in ("absolute", "squared"):
        return None
    pure = isinstance(level, ApproxDP) and level.delta == 0
    if level.strength in (0, math.inf):
        return None
    if n > MOST:
        is_line = is_named and space.points == range(n)
        return best_on_line(Line(0, n - 1, 1), level, str(loss), prior) if is_line else None
    table, weights = loss_table(loss, space.points, space.points), space.as_prior(prior)
    if not has_chains(table) or (pure and grows_with_distance(table)):
        return None
    starts = table_chains(level, weights, table)
    t = np.arange(1, n)
    tails = chain_values(level, np.broadcast_to(starts, (n, n - 1)), np.arange(n)[:, None] - t + 1)
    ends = np.ones((n, 1))
    matrix = np.maximum(np.hstack([ends, tails]) - np.hstack([tails, 0 * ends]), 0.0)
    matrix, _ = mix_until_private(matrix / matrix.sum(axis=1, keepdims=True), levels)
    value = float(weights @ (matrix * table).sum(axis=1))
    mechanism = FiniteMechanism(matrix, space.points, space.points)
    problem = Problem("finite.chains", space, levels, {"prior": weights, "loss": table})
    certificate = certificate_of(problem, mechanism, "theorem", gap=0.0, evidence={"starts": starts})
    return Solution(problem, mechanism, value, certificate)


def _by_geometric_noise(levels: EdgeLevels, weights: Floats, table: Floats) -> Solution | None:
    """Geometric noise with its best remap, where it is proved optimal: counts, and losses that grow with distance."""
    space, level, n = levels.space, levels.single, len(weights)
    pure = isinstance(level, ApproxDP) and level.delta == 0 and math.isfinite(level.log_growth)
    if not pure or not n or not is_path(space) or n > MOST or not grows_with_distance(table):
        return None
    noise = geometric(n, cast(ApproxDP, level)).matrix
    guess = (table.T @ (weights[:, None] * noise)).argmin(axis=0)
    matrix = np.zeros((n, n))
    np.add.at(matrix.T, guess, noise.T)
    value = float(weights @ (matrix * table).sum(axis=1))
    mechanism = FiniteMechanism(np.minimum(matrix, 1.0), space.points, space.points)
    problem = Problem("finite.count", space, levels, {"prior": weights, "loss": table})
    return Solution(problem, mechanism, value, certificate_of(problem, mechanism, "theorem", gap=0.0))
