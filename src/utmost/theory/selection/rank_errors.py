"""Expected error of quantiles in rows: for the choice between mechanisms, and for plans.

For exponential mechanisms: where rows are spread evenly among candidates around the quantile, the rank's error has a
two-sided geometric law. For a CDF: the mean absolute noise of G_j, a sum of many noises, as for a Gaussian of its
variance, averaged over the candidates.
"""

from __future__ import annotations

import math
from typing import Any

from utmost.errors import InvalidInput
from utmost.exact import as_rational
from utmost.mechanism.noise.tables import NoisyTables
from utmost.theory.selection.ranks import MOST_DENOMINATOR, MOST_TARGETS, RankChoices, rate_of


def mean_rank_error(problem: Any, mechanism: Any) -> float:
    """The expected error in rows, averaged over the quantiles."""
    errors = rank_errors(problem, mechanism)
    return sum(errors) / len(errors)


def rank_errors(problem: Any, mechanism: Any) -> list[float]:
    """The expected error of each quantile in rows; the problem may come from an untrusted file."""
    share_texts = problem.data.get("shares")
    if not isinstance(share_texts, list | tuple) or not 1 <= len(share_texts) <= MOST_TARGETS:
        raise InvalidInput("the quantiles are a list of shares.")
    shares = [as_rational(str(q)) for q in share_texts]
    if any(not 0 < q < 1 or q.denominator > MOST_DENOMINATOR for q in shares):
        raise InvalidInput("a quantile's share lies between 0 and 1.")
    if isinstance(mechanism, RankChoices):
        targets = [target for target in mechanism.targets if not target.shift]
        if [target.share for target in targets] != shares or len(mechanism.targets) != 3 * len(shares):
            raise InvalidInput("the choices are for other quantiles.")
        rates = [rate_of(target.decay) * q.denominator for target, q in zip(targets, shares, strict=True)]
        return [1 / math.sinh(rate) if rate < 700 else 0.0 for rate in rates]
    if not isinstance(mechanism, NoisyTables):
        raise InvalidInput("quantiles are named by choices, or read off noisy tables.")
    levels, branching = len(mechanism.laws), problem.data.get("branching")
    if type(branching) is not int or [law.dimension for law in mechanism.laws] != [
        branching ** (i + 1) for i in range(levels)
    ]:
        raise InvalidInput("the tables are not the levels of the tree.")
    nodes = (levels * (branching - 1) + 1) / 2  # on either side of a candidate, on average
    variance = mechanism.laws[0].mean("squared")
    if any(law.single.to_json() != mechanism.laws[0].single.to_json() for law in mechanism.laws):
        raise InvalidInput("all levels of the tree have the same noise.")
    return [math.sqrt(2 / math.pi * variance * nodes * float((1 - q) ** 2 + q**2)) for q in shares]
