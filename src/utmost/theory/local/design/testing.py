"""Private hypothesis testing: the local mechanism with the largest f-divergence between two hypotheses (LIM 3.4).

LIM's linear program has 2^k variables. Sort the letters by P0/P1: some optimal mechanism cuts the order into contiguous
blocks and applies randomised response to the block (Ghazi 2026, "Sort, Partition, Randomize"), so that with
q = 1/(e^eps - 1) and phi(z, t) = t f(z/t) the best value is the largest of

    sum over blocks of phi(q + P0(block), q + P1(block)) / (1 + blocks · q).

It is a ratio, so Dinkelbach's iteration finds it in a few sweeps over the k^2/2 blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput
from utmost.exact import as_whole
from utmost.exact.arrays import Floats
from utmost.exact.citations import cites
from utmost.mechanism import FiniteMechanism
from utmost.privacy.divergences import Chosen, Divergence, as_divergence
from utmost.solution import Problem, Solution, certificate_of, proved_bound
from utmost.space.edge_levels import Privacy, on_edges
from utmost.space.families import complete
from utmost.theory.local.design.alphabet import block_response, distributions, pure_level
from utmost.theory.local.design.partitions import best_cuts, best_cuts_of, blocks_of, by_ratio, value_of
from utmost.theory.local.design.pattern_program import linear_program
from utmost.theory.local.design.prices import find_prices
from utmost.theory.local.patterns import divergence_between, offset

LEAST_OFFSET = 1e-10
"""Below this q (epsilon about 23) floats do not resolve the smallest ratios, and no prices are computed."""


@cites("LIM-theorem-3.3.2")
def for_testing(
    p0: ArrayLike, p1: ArrayLike, privacy: Privacy, divergence: Chosen = "kl", outputs: int | None = None
) -> Solution[FiniteMechanism]:
    """The local mechanism that separates two hypotheses best: the largest D_f(M0 || M1).

    Parameters
    ----------
    p0, p1 : array of float
        Distributions of a person's letter under the two hypotheses; zeros are allowed.
    privacy : PureDP or number
        The level.
    divergence : str or callable
        "kl", "reverse-kl", "tv", "chi2", "hellinger", "js", "hockey-stick 2" (any number from 1 on), or a convex
        function f with f(1) = 0.
    outputs : int, optional
        The largest number of outputs; None for no limit. The optimum never needs more outputs than letters.

    Returns
    -------
    Solution
        Points are the letters 0..k-1, outputs the blocks, in increasing order of P0/P1. The certificate cites the
        theorem and holds dual prices of letters, from which a search over all 2^k patterns gives a rigorous bound as
        well. With a binding limit of three or more outputs no theorem is known: it is the best partition, with the same
        bound.

    Examples
    --------
    >>> import utmost as um
    >>> best = um.local.for_testing([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], 1.0)
    >>> round(best.value, 9), len(best.mechanism.outputs), bool(best.verify())
    (0.03999738, 2, True)
    """
    first, second = distributions(p0, p1)
    level, f = pure_level(privacy), as_divergence(divergence)
    most = None if outputs is None else as_whole(outputs, "outputs", 1)
    q = offset(level)
    free, block = _partitions(first, second, f, q, most)
    limited = block is not free
    value = value_of(first, second, f, q, block)
    if not math.isfinite(value):
        raise InvalidInput(
            "the divergence is infinite: without privacy some letter is impossible under one hypothesis; give a finite "
            "epsilon, or another divergence."
        )
    space = complete(len(first))
    levels = on_edges(space, level)
    prices = np.zeros(len(first))
    if LEAST_OFFSET <= q < math.inf:
        prices = find_prices(first, second, f, q, free, value_of(first, second, f, q, free))
    saved: Any = f.name if f.name != "custom" else f
    data = {"p0": first, "p1": second, "divergence": saved, "outputs": (most or 0) if limited else 0}
    problem = Problem("local.limited_testing" if limited else "local.testing", space, levels, data)
    bound = max(proved_bound(problem, {"prices": prices}), value)
    mechanism = block_response(block, level)
    claim: Literal["theorem", "bound"] = "bound" if limited else "theorem"
    certificate = certificate_of(problem, mechanism, claim, bound, bound - value, {"prices": prices})
    return Solution(problem, mechanism, value, certificate)


def for_worst_testing(
    pairs: Sequence[tuple[ArrayLike, ArrayLike]], privacy: Privacy, divergence: Chosen = "kl"
) -> Solution[FiniteMechanism]:
    """The local mechanism that maximises the least D_f(M0 || M1) over several pairs of hypotheses.

    Robust testing: one mechanism for a hypothesis against several others, or for every two of a family.

    Parameters
    ----------
    pairs : list of (p0, p1)
        The distributions of a person's letter under the two hypotheses of every pair; at most 12 letters.
    privacy : PureDP or number
        The level for each person.
    divergence : str or callable
        As in `for_testing`.

    Returns
    -------
    Solution
        Its value is the least divergence over the pairs, with a rigorous bound from duality.

    Examples
    --------
    >>> import utmost as um
    >>> null, others = [1 / 3, 1 / 3, 1 / 3], [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]
    >>> best = um.local.for_worst_testing([(null, other) for other in others], 1.0)
    >>> round(best.value, 6), bool(best.verify())
    (0.019732, True)
    """
    f, laws = as_divergence(divergence), [distributions(p0, p1) for p0, p1 in pairs]
    sizes = {len(first) for first, _ in laws}
    if len(sizes) != 1:
        raise InvalidInput(f"the pairs have {sorted(sizes)} letters; give pairs, at least one, over the same letters.")

    def between(first: Floats, second: Floats) -> Callable[[Any], Any]:
        return lambda column: f.perspective(column @ first, column @ second, column @ (first - second))

    return linear_program([between(*law) for law in laws], sizes.pop(), privacy)


def _partitions(
    p0: Floats, p1: Floats, divergence: Divergence, q: float, most: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The block of every letter at the optimum, and with at most `most` blocks: the same array if they are equal."""
    order = by_ratio(p0, p1)
    if math.isinf(q):
        free = np.zeros(len(p0), dtype=np.int64)
        return free, free
    cuts = best_cuts(p0[order], p1[order], divergence, q)
    free = blocks_of(cuts, order)
    if most is None or len(cuts) <= most:
        return free, free
    return free, blocks_of(best_cuts_of(p0[order], p1[order], divergence, q, most), order)


def divergence_of(solution_or_mechanism: Any, p0: ArrayLike, p1: ArrayLike, divergence: Chosen = "kl") -> float:
    """D_f(M0 || M1) for any mechanism on the letters: how well its answers separate the hypotheses.

    Examples
    --------
    >>> import utmost as um
    >>> round(um.local.divergence_of(um.local.randomized_response(3, 1.0), [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]), 9)
    0.035476501
    """
    mechanism = getattr(solution_or_mechanism, "mechanism", solution_or_mechanism)
    first, second = distributions(p0, p1)
    if len(mechanism.points) != len(first):
        raise InvalidInput(f"the mechanism has {len(mechanism.points)} letters, the distributions {len(first)}.")
    return divergence_between(mechanism.matrix, first, second, as_divergence(divergence))
