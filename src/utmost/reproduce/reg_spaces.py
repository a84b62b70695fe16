"""REG: helpers of its entries: equality of spaces, the matrix of privacy constraints, random regular priors."""

from __future__ import annotations

import numpy as np

import utmost as um
from utmost.exact.arrays import Floats
from utmost.reproduce.instances import random_prior


def same_space(space: um.Space, family: um.Space) -> bool:
    """Whether two spaces have the same points and the same distances."""
    return list(space.points) == list(family.points) and np.array_equal(space.distances(), family.distances())


def constraints(space: um.Space, epsilon: float) -> Floats:
    """Phi, the privacy-constraints matrix (Definition 4)."""
    return np.asarray(np.exp(-epsilon * space.distances()))


def regular_prior(rng: np.random.Generator, space: um.Space, epsilon: float) -> Floats:
    """A random regular prior: a combination of corner priors."""
    return np.asarray(random_prior(rng, len(space)) @ um.finite.corner_priors(space, epsilon))
