"""Noise for numeric queries: the staircase in any dimension (LIM chapter 2), and its safe release.

`staircase` is the best noise for real answers, `discrete_staircase` for whole numbers, `canonical` for counts at every
concave level, and `canonical_continuous` its law on the real line; `laplace` and `discrete_laplace` are what others
add. `release` draws from an exact law on a declared grid: the only way from an answer to the public.
`smallest_epsilon` says what an accuracy costs.
"""

from utmost.design.noise.canonical import CanonicalNoise, canonical
from utmost.design.noise.continuous import ContinuousNoise, canonical_continuous
from utmost.design.noise.discrete import IntegerNoise, discrete_laplace, discrete_staircase
from utmost.design.noise.lattice import VectorNoise, gaussian, lattice
from utmost.design.noise.needed_privacy import smallest_epsilon
from utmost.design.noise.staircase import NoiseMechanism, laplace, staircase
from utmost.mechanism.layers import LayerLaw

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
