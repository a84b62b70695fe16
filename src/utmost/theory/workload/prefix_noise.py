"""Noise that carries, as the noise of nested counts: which noise is of this kind, and the variance of the counts."""

from __future__ import annotations

from typing import Any

from utmost.errors import InvalidInput
from utmost.mechanism.noise.carried import MOST_CELLS, CarriedLaw
from utmost.mechanism.noise.vector import NoisyVector
from utmost.space.integers import Lattice, Strategy
from utmost.theory.workload.least_squares import Sums, spreads


def as_carried_law(mechanism: Any) -> CarriedLaw | None:
    """The noise of a mechanism as a `CarriedLaw` (geometric noise on each cell has widths 0); None for other noise."""
    noise = mechanism.noise if isinstance(mechanism, NoisyVector) else None
    if noise is None or isinstance(noise, CarriedLaw):
        return noise
    layers = None if noise.independent is None else noise.independent.layers
    if layers is None or layers.period > 1 or layers.decay == 0 or not 1 < noise.dimension <= MOST_CELLS:
        return None
    return CarriedLaw(layers.decay, (0,) * (noise.dimension - 1))


def mean_variance_of_counts(mechanism: NoisyVector, space: Strategy | Lattice, sums: Sums) -> float:
    """The mean variance of running counts, or ranges, from noise on weighted sums of cells or on the cells."""
    if not isinstance(mechanism.noise, CarriedLaw):
        return float(mechanism.expected("squared") * spreads(space, sums).mean())
    if sums != "running" or not isinstance(space, Lattice):
        raise InvalidInput("noise that carries is for running counts of cells.")
    return mechanism.noise.mean_square
