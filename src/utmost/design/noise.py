"""Noise for numeric queries: the staircase in any dimension (LIM chapter 2), and its safe release.

`staircase` is the best noise for real answers, `discrete_staircase` for whole numbers, `canonical` for counts at every
concave level, and `canonical_continuous` its law on the real line; `laplace` and `discrete_laplace` are the usual
baselines. `release` draws from an exact law on a declared grid: answers are released by it alone. `smallest_epsilon`
is the epsilon that an accuracy needs.
"""

from utmost.mechanism.noise.layers import LayerLaw
from utmost.theory.scalar.design.canonical import CanonicalNoise, canonical
from utmost.theory.scalar.design.canonical_continuous import ContinuousNoise, canonical_continuous
from utmost.theory.scalar.design.discrete_staircase import IntegerNoise, discrete_laplace, discrete_staircase
from utmost.theory.scalar.design.needed_privacy import smallest_epsilon
from utmost.theory.scalar.design.staircase import NoiseMechanism, laplace, staircase
from utmost.theory.vector.design.lattice import VectorNoise, gaussian, lattice

__all__ = [
    "CanonicalNoise",
    "ContinuousNoise",
    "IntegerNoise",
    "LayerLaw",
    "NoiseMechanism",
    "VectorNoise",
    "canonical",
    "canonical_continuous",
    "discrete_laplace",
    "discrete_staircase",
    "gaussian",
    "laplace",
    "lattice",
    "smallest_epsilon",
    "staircase",
]
