"""Validated inputs of the local designs: distributions over letters, one pure level; randomised response on blocks."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.exact.arrays import Floats
from utmost.mechanism import FiniteMechanism
from utmost.privacy import ApproxDP, as_level, require_pure
from utmost.space import as_distribution
from utmost.space.edge_levels import EdgeLevels, Privacy


def distributions(p0: ArrayLike, p1: ArrayLike) -> tuple[Floats, Floats]:
    """Two distributions over the same letters, checked."""
    first, second = as_distribution(p0, "p0"), as_distribution(p1, "p1")
    if len(first) != len(second) or not len(first):
        raise InvalidInput(f"p0 has {len(first)} letters and p1 {len(second)}; give both over the same letters.")
    return first, second


def prior_of(prior: ArrayLike) -> Floats:
    """A distribution over at least one letter, checked."""
    weights = as_distribution(prior, "the prior")
    if not len(weights):
        raise InvalidInput("the prior is empty; give a probability for every letter.")
    return weights


def pure_level(privacy: Privacy) -> ApproxDP:
    """The one pure level of a local design, checked."""
    if isinstance(privacy, EdgeLevels):
        raise UnsupportedLevel("a local design has one level for every two letters; give an epsilon.")
    level = as_level(privacy)
    if isinstance(level, ApproxDP) and level.delta == 0:
        return require_pure(level)
    raise UnsupportedLevel(
        f"{level} is not covered here: local designs need a pure level, such as PureDP(1); for two letters and a "
        "delta there is local.quaternary."
    )


def block_response(block: NDArray[np.int64], level: ApproxDP) -> FiniteMechanism:
    """Randomised response on the block that a letter lies in: the true block is e^eps times as likely as any other."""
    count = int(block.max(initial=0)) + 1
    other = math.exp(-level.log_growth)  # not the quotient of two exponentials, which overflows
    if level.ratio != 1:
        other = float(1 / level.ratio)
    matrix = np.full((len(block), count), other / (1 + (count - 1) * other))
    matrix[np.arange(len(block)), block] = 1 / (1 + (count - 1) * other)
    return FiniteMechanism(matrix, range(len(block)), range(count))
