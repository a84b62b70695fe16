"""Testing beyond two hypotheses and one person: m hypotheses, and records that hold several people's bits (LIM 5).

LIM names both as open directions. *Several hypotheses*: one mechanism for all pairs of them, by the worst pair or on
average, is a program over patterns. *Correlated data*: one record holds the bits of several people, so the hypotheses
are about their joint law, and the privacy of each person is protected. Neighbouring records differ in one person's
bits; columns are mixtures of the extreme ones of that graph in place of the patterns, and the best mixture is a linear
program, whose dual prices bound every private mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from utmost.errors import InvalidInput, SolverFailed, UnsupportedLevel
from utmost.exact.arrays import Floats
from utmost.mechanism import FiniteMechanism
from utmost.mechanism.extreme_columns import extreme_columns
from utmost.privacy.divergences import Chosen, as_divergence
from utmost.solution import Problem, Solution, certificate_of, proved_bound
from utmost.solution.sentences import EXTREME_COLUMNS
from utmost.space import Space
from utmost.space.edge_levels import Privacy, on_edges
from utmost.theory.linear_program import mix_until_private
from utmost.theory.local.design.alphabet import distributions, pure_level
from utmost.theory.local.design.pattern_program import linear_program
from utmost.theory.local.patterns import divergence_between


def for_hypotheses(
    laws: Sequence[ArrayLike], privacy: Privacy, divergence: Chosen = "kl", criterion: str = "worst"
) -> Solution[FiniteMechanism]:
    """The local mechanism that separates m hypotheses best, by the worst or the average divergence of two of them.

    Parameters
    ----------
    laws : sequence of arrays
        A person's letter under each hypothesis, all over the same letters; at most 12 letters.
    privacy : PureDP or number
        The level for each person.
    divergence : str or callable
        As in `for_testing`.
    criterion : "worst" or "average"
        min over i != j of D(M_i || M_j), or their mean over all ordered pairs (LIM 5.2).

    Examples
    --------
    >>> import utmost as um
    >>> laws = [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]
    >>> worst, even = (um.local.for_hypotheses(laws, 1.0, criterion=c) for c in ("worst", "average"))
    >>> round(worst.value, 6), round(even.value, 6), bool(worst.verify())
    (0.060179, 0.060179, True)
    """
    f, listed = as_divergence(divergence), [np.asarray(law, dtype=float) for law in laws]
    if len(listed) < 2 or len({law.shape for law in listed}) > 1:
        raise InvalidInput("give two or more hypotheses, each a distribution over the same letters.")
    pairs = [distributions(first, second) for first, second in permutations(listed, 2)]

    def between(first: Floats, second: Floats) -> Callable[[Any], Any]:
        return lambda column: f.perspective(column @ first, column @ second, column @ (first - second))

    utilities = [between(*pair) for pair in pairs]
    if criterion == "worst":
        return linear_program(utilities, len(listed[0]), privacy)
    if criterion != "average":
        raise InvalidInput(f"criterion is {criterion!r}; say 'worst' or 'average'.")
    return linear_program(lambda column: sum(u(column) for u in utilities) / len(utilities), len(listed[0]), privacy)


def for_records(
    space: Space, p0: ArrayLike, p1: ArrayLike, privacy: Privacy, divergence: Chosen = "kl"
) -> Solution[FiniteMechanism]:
    """The mechanism on records of several people that separates two joint laws best, with privacy for each person.

    Parameters
    ----------
    space : Space
        The records, neighbours being those that differ in one person's bits: `um.hamming(3, 2)` for three people with
        a bit each. At most some thousand extreme columns: three bits, or a cycle of ten.
    p0, p1 : array of float
        Distributions over the records: their joint law under both hypotheses, correlated in any way.
    privacy : PureDP or number
        The level for each person, above 0 and finite.
    divergence : str or callable
        As in `for_testing`.

    Examples
    --------
    Two people who answer alike, or not: each bit alone carries no information.

    >>> import utmost as um
    >>> alike, unlike = [0.4, 0.1, 0.1, 0.4], [0.1, 0.4, 0.4, 0.1]
    >>> best = um.local.for_records(um.hamming(2, 2), alike, unlike, 1.0)
    >>> round(best.value, 6), bool(best.verify())
    (0.15789, True)
    """
    from scipy.optimize import linprog

    first, second = distributions(p0, p1)
    level, f = pure_level(privacy), as_divergence(divergence)
    if len(first) != len(space.points):
        raise InvalidInput(f"the laws are over {len(first)} records and the space has {len(space.points)}.")
    if not 0 < level.log_growth < 50:
        raise UnsupportedLevel(f"{level} leaves no program to solve; give an epsilon above 0 and below 50.")
    columns = extreme_columns(space, level)
    worth = f.perspective(columns @ first, columns @ second, columns @ (first - second))
    solution = linprog(-worth, A_eq=columns.T, b_eq=np.ones(len(first)), bounds=(0, None), method="highs")
    if solution.x is None:
        raise SolverFailed(f"the linear program over columns failed: {solution.message}")
    support = np.flatnonzero(solution.x > 1e-12)
    levels = on_edges(space, level)
    matrix = (solution.x[support, None] * columns[support]).T
    matrix, _ = mix_until_private(matrix / matrix.sum(axis=1, keepdims=True), levels)
    saved: Any = f.name if f.name != "custom" else f
    problem = Problem("local.records", space, levels, {"p0": first, "p1": second, "divergence": saved})
    evidence = {"prices": -solution.eqlin.marginals}
    value = divergence_between(matrix, first, second, f)
    bound = max(proved_bound(problem, evidence), value)
    mechanism, method = (
        FiniteMechanism(matrix, space.points, range(len(support))),
        EXTREME_COLUMNS.format(whole=len(columns)),
    )
    certificate = certificate_of(problem, mechanism, "bound", bound, bound - value, evidence, method=method)
    return Solution(problem, mechanism, value, certificate)
