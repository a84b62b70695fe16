"""Top lists, the k most frequent of some listed candidates in order: two mechanisms, exact draws, and their miss rate.

* *noise on all counts*: every count gets noise, and the k largest are named. The same noise serves any k: where a row
  counts for one candidate only, all counts together cost the same as one.
* *peeling*: k rounds of geometric noisy max among the remaining candidates (`theory/selection/choices.py`), each with a
  k-th of the level. Its noise is one-sided, so it may be better where k is small.

The expected share of the true top k that is missed depends on the tallies. It is averaged over a public sample, drawn
with a fixed seed, so that it is the same wherever it is computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput, TooLarge
from utmost.exact import as_rational, write_rational
from utmost.exact.arrays import Floats, Integers
from utmost.mechanism.certification import Check
from utmost.mechanism.exact_law import ExactMechanism
from utmost.mechanism.noise.layers import IntegerDraws, LayerLaw
from utmost.mechanism.noise.vector import NoisyVector
from utmost.privacy import Level
from utmost.space.integers import Lattice, Tallies

MOST_SAMPLED, MOST_DRAWN = 50_000, 10**6
"""Sample size: the most tallies to average over, and the most counts in all (long lists get fewer tallies)."""
MOST_WIDE = 2 * 10**7
"""The widest noise that is tabulated."""


def cells_of(space: Tallies) -> Lattice:
    """The counts as a vector with its sensitivity set."""
    moves: Any = "any" if space.neighbours == "add-remove" else "exchange"
    return Lattice(space.cells, moves, min(space.rows_each, space.rows), 0, space.rows)


@dataclass(frozen=True, eq=False)
class TopByNoise(ExactMechanism):
    """The k largest counts after noise on every count.

    Attributes
    ----------
    k : int
        The length of the list.
    noise : NoisyVector
        Independent noise on all counts.

    Examples
    --------
    >>> from utmost.mechanism.noise.independent import IndependentLaw
    >>> from utmost.mechanism.noise.staircase import geometric_law
    >>> top = TopByNoise(2, NoisyVector(IndependentLaw(3, geometric_law(Fraction(1, 10**6)))))
    >>> top.sample((5, 9, 7))
    (1, 2)
    """

    kind: ClassVar[str] = "top.noise"
    k: int
    noise: NoisyVector

    @property
    def name(self) -> str:
        """The name of the mechanism in sentences."""
        largest = "largest count" if self.k == 1 else f"{self.k} largest counts"
        return f"the {largest} after {self.noise.name}"

    def sample(self, point: Sequence[int]) -> tuple[int, ...]:
        noisy = self.noise.sample_many(np.asarray(point)[None])[0]
        return tuple(largest(noisy[None], self.k)[0].tolist())

    def prove(self, space: Any, level: Level) -> Check:
        fits = isinstance(space, Tallies) and _fits(self.k, space) and self.noise.noise.independent is not None
        if not fits:
            return Check("privacy", False, f"{level}: these counts are not those that are asked for")
        return self.noise.prove(cells_of(space), level)

    def simulate(self, tallies: Integers, rng: np.random.Generator) -> Integers:
        """Simulate the list at each of many tallies, in floating point: for averages."""
        return largest(tallies + simulate_noise(self.noise.noise, tallies.shape, rng), self.k)

    def to_json(self) -> dict[str, Any]:
        return {"k": self.k, "noise": self.noise.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(_positive_integer(data["k"]), NoisyVector.from_json(data["noise"]))


@dataclass(frozen=True, eq=False)
class TopByPeeling(ExactMechanism):
    """k rounds of geometric noisy max among the remaining candidates.

    Attributes
    ----------
    k : int
        The length of the list.
    decay : Fraction
        The decay of the noise of one round: Pr[G >= n] = decay^n.
    reach : int
        One unit of noise in rows: the sensitivity of a lead.

    Examples
    --------
    >>> TopByPeeling(2, Fraction(1, 10**6), 1).sample((5, 9, 7))
    (1, 2)
    """

    kind: ClassVar[str] = "top.peeling"
    k: int
    decay: Fraction
    reach: int

    @property
    def name(self) -> str:
        """The name of the mechanism in sentences."""
        return "geometric noisy max" if self.k == 1 else f"{self.k} rounds of geometric noisy max"

    def sample(self, point: Sequence[int]) -> tuple[int, ...]:
        counts = [int(count) for count in point]
        winners: list[int] = []
        for _ in range(self.k):  # named candidates get noise, too, and rank behind all others
            noise = self._draws.positions(len(counts)).tolist()
            sums = [x + self.reach * z for x, z in zip(counts, noise, strict=True)]
            winners.append(_first_remaining(sums, winners))
        return tuple(winners)

    def prove(self, space: Any, level: Level) -> Check:
        sensitivity = (
            space.rows_each * (2 if space.neighbours == "replace" else 1) if isinstance(space, Tallies) else None
        )
        if sensitivity is None or not _fits(self.k, space) or self.reach < sensitivity or not 0 < self.decay < 1:
            return Check("privacy", False, f"{level}: the noise is not for what one neighbour does to these counts")
        detail = f"{self.k} rounds, in each of which one neighbour makes a factor {float(self.decay):.6g} at most"
        return Check("privacy", level.kept_by(self.decay, self.k), f"{level}: {detail}, exactly")

    def simulate(self, tallies: Integers, rng: np.random.Generator) -> Integers:
        """Simulate the list at each of many tallies, in floating point: for averages."""
        remaining = tallies.astype(float)
        winners = np.empty((len(tallies), self.k), dtype=np.int64)
        rate = np.log(float(self.decay))
        for place in range(self.k):
            noise = np.floor(np.log(rng.random(tallies.shape)) / rate)
            winners[:, place] = np.argmax(remaining + self.reach * noise, axis=1)
            remaining[np.arange(len(remaining)), winners[:, place]] = -np.inf
        return winners

    @cached_property
    def _draws(self) -> IntegerDraws:
        return IntegerDraws(LayerLaw(self.decay, 1, 1))

    def to_json(self) -> dict[str, Any]:
        return {"k": self.k, "decay": write_rational(self.decay), "reach": self.reach}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(_positive_integer(data["k"]), as_rational(data["decay"]), _positive_integer(data["reach"]))


def simulate_noise(law: Any, shape: tuple[int, ...], rng: np.random.Generator) -> Integers:
    """Simulate noise in floating point from its tails, for averages: beyond its 10^-6 quantile it is truncated."""
    wide = law.half_width(Fraction(999_999, 10**6))
    if wide > MOST_WIDE:
        raise TooLarge(f"noise as wide as {wide} is too wide to be listed; use a larger level.")
    tails = law.tail(np.arange(1, 2 + wide))
    sizes = np.searchsorted(-2 * tails, -rng.random(shape))  # |X| >= t if a uniform number is below 2 Pr[X >= t]
    return np.asarray(np.where(rng.random(shape) < 0.5, -1, 1) * sizes)


def _first_remaining(sums: list[int], winners: list[int]) -> int:
    """The place of the largest sum that is not named yet; of equal ones the first."""
    return max(range(len(sums)), key=lambda i: (i not in winners, sums[i], -i))


def largest(counts: NDArray[Any], k: int) -> Integers:
    """The places of the k largest in every row, the largest first; of equal ones the first."""
    return np.argsort(-counts, axis=1, kind="stable")[:, :k]


@lru_cache(maxsize=32)
def missed(mechanism: Any, space: Tallies) -> tuple[float, float]:
    """The share of the true top k that a mechanism misses, averaged over sampled tallies, and the standard error."""
    rng, tallies = np.random.default_rng(20_130_101), sample_tallies(space)
    lists, truth = mechanism.simulate(tallies, rng), largest(tallies, mechanism.k)
    hits = (lists[:, :, None] == truth[:, None, :]).any(axis=2).mean(axis=1)
    return float(1 - hits.mean()), float(hits.std() / np.sqrt(len(hits)))


def sample_tallies(space: Tallies) -> Integers:
    """A public sample of tallies from the uniform distribution: the same wherever it is drawn."""
    rng = np.random.default_rng(20_130_102)
    many = max(20, min(MOST_SAMPLED, MOST_DRAWN // space.cells))
    shares: Floats = -np.log1p(-rng.random((many, space.cells + 1)))
    return np.asarray(np.floor(shares / shares.sum(axis=1, keepdims=True) * (space.rows + 1))[:, :-1], dtype=np.int64)


def _fits(k: int, space: Tallies) -> bool:
    return 1 <= k <= space.cells


def _positive_integer(value: Any) -> int:
    if type(value) is not int or value < 1:
        raise InvalidInput("how many are named, and what noise is worth, are whole numbers from 1 on.")
    return value
