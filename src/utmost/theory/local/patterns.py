"""Columns of local mechanisms, patterns q + 1_A for sets A of letters: their utilities, and those of a mechanism.

An optimal local mechanism is a mixture of such columns, q = 1/(e^eps - 1) (LIM Theorem 3.3.2). This module computes the
utility of a column or of a whole mechanism, for the designs and the verifiers alike.
"""

from __future__ import annotations

import math

import numpy as np

from utmost.exact.arrays import Floats
from utmost.privacy import ApproxDP
from utmost.privacy.divergences import Divergence, entropy


def offset(level: ApproxDP) -> float:
    """The q = 1/(e^eps - 1) that every letter adds to a pattern; infinite at epsilon = 0, zero at infinity."""
    if level.ratio != 1:
        return float(1 / (level.ratio - 1))
    if level.log_growth == 0:
        return math.inf
    return 1 / math.expm1(level.log_growth) if level.log_growth < 700 else math.exp(-level.log_growth)


def subset_sums(values: Floats) -> Floats:
    """The sum over every non-empty set of letters; entry j - 1 is that of the bits of j."""
    sums = np.zeros(1)
    for value in values.tolist():
        sums = np.concatenate([sums, sums + value])
    return sums[1:]


def information_of(mass: Floats, q: float) -> Floats:
    """The mutual information that a pattern q + 1_A carries, nats, by the prior probability of A; concave in it."""
    m = q + mass
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = mass * m * entropy((1 - mass) / m)
        outside = m * entropy(-mass / m)
        outside_large = mass + (q * np.log(q / m) if q > 0 else 0.0)  # the same, where 1 - mass/m would lose its digits
        carried = inside + (1 - mass) * np.where(mass > m / 2, outside_large, outside)
    return np.asarray(np.where((mass > 0) & (mass < 1), carried, 0.0))


def information_between(matrix: Floats, prior: Floats) -> float:
    """The mutual information of a mechanism under a prior, nats; terms are 0 or more, so small values keep digits."""
    m = prior @ matrix
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = m * entropy((matrix - m) / m)
    return math.fsum(np.where(m > 0, prior[:, None] * np.where(matrix > 0, terms, m), 0.0).ravel())


def divergence_between(matrix: Floats, p0: Floats, p1: Floats, divergence: Divergence) -> float:
    """D_f(M0 || M1) of a matrix, from the difference of the hypotheses, so that small values keep their digits."""
    return math.fsum(divergence.perspective(p0 @ matrix, p1 @ matrix, (p0 - p1) @ matrix))
