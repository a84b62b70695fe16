"""The k most frequent of some listed candidates, in order: two mechanisms, exact draws, and how many they miss.

* *noise on all counts*: every count gets noise, and the k largest are named. One noise serves any k: where a row counts
  for one candidate only, all counts together cost what one does.
* *peeling*: k times the winner of those that are left, by geometric noisy max (`theory/selection/choices.py`), each
  with a k-th of the level. Its noise is one-sided, so it may be the better one where k is small.

What they miss of the true k on average depends on the tallies. It is averaged over a public sample of them, drawn by a
fixed stream, so that it is the same wherever it is computed.
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
from utmost.mechanism.noise.lattice import IndependentLaw, NoisyVector
from utmost.mechanism.noise.layers import IntegerDraws, LayerLaw
from utmost.privacy import Level
from utmost.space.integers import Lattice, Tallies

MOST_SAMPLED, MOST_DRAWN = 50_000, 10**6
"""How many tallies are drawn to average over, and how many counts in all: of long lists, fewer tallies."""
MOST_WIDE = 2 * 10**7
"""Up to which size noise is listed."""


def cells_of(space: Tallies) -> Lattice:
    """The same counts as a vector, and what one neighbour does to it."""
    moves: Any = "any" if space.neighbours == "add-remove" else "exchange"
    return Lattice(space.cells, moves, min(space.rows_each, space.rows), 0, space.rows)


@dataclass(frozen=True, eq=False)
class TopByNoise(ExactMechanism):
    """The k largest counts after noise on every one.

    Attributes
    ----------
    k : how many are named
    noise : independent noise on all counts

    Examples
    --------
    >>> from utmost.mechanism.noise.lattice import GeometricLaw
    >>> top = TopByNoise(2, NoisyVector(IndependentLaw(3, GeometricLaw(Fraction(1, 10**6)))))
    >>> top.sample((5, 9, 7))
    (1, 2)
    """

    kind: ClassVar[str] = "top.noise"
    k: int
    noise: NoisyVector

    @property
    def name(self) -> str:
        """Which mechanism it is, in words."""
        largest = "largest count" if self.k == 1 else f"{self.k} largest counts"
        return f"the {largest} after {self.noise.name}"

    def sample(self, point: Sequence[int]) -> tuple[int, ...]:
        noisy = self.noise.sample_many(np.asarray(point)[None])[0]
        return tuple(largest(noisy[None], self.k)[0].tolist())

    def prove(self, space: Any, level: Level) -> Check:
        fits = isinstance(space, Tallies) and _fits(self.k, space) and isinstance(self.noise.noise, IndependentLaw)
        if not fits:
            return Check("privacy", False, f"{level}: these counts are not those that are asked for")
        return self.noise.prove(cells_of(space), level)

    def simulate(self, tallies: Integers, rng: np.random.Generator) -> Integers:
        """Which would be named at each of many tallies, in floating point: for averages."""
        return largest(tallies + drawn_in_floats(self.noise.noise, tallies.shape, rng), self.k)

    def to_json(self) -> dict[str, Any]:
        return {"k": self.k, "noise": self.noise.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(_whole(data["k"]), NoisyVector.from_json(data["noise"]))


@dataclass(frozen=True, eq=False)
class TopByPeeling(ExactMechanism):
    """k times the winner of those that are left, by geometric noisy max.

    Attributes
    ----------
    k : how many are named
    decay : of the noise of one round: Pr[G >= n] = decay^n
    reach : what one unit of noise is worth: as much as one neighbour moves a lead

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
        """Which mechanism it is, in words."""
        return "geometric noisy max" if self.k == 1 else f"{self.k} rounds of geometric noisy max"

    def sample(self, point: Sequence[int]) -> tuple[int, ...]:
        counts = [int(count) for count in point]
        chosen: list[int] = []
        for _ in range(self.k):  # those chosen get noise, too, and stay behind all others
            noise = self._draws.positions(len(counts)).tolist()
            sums = [x + self.reach * z for x, z in zip(counts, noise, strict=True)]
            chosen.append(_first_left(sums, chosen))
        return tuple(chosen)

    def prove(self, space: Any, level: Level) -> Check:
        moved = space.rows_each * (2 if space.neighbours == "replace" else 1) if isinstance(space, Tallies) else None
        if moved is None or not _fits(self.k, space) or self.reach < moved or not 0 < self.decay < 1:
            return Check("privacy", False, f"{level}: the noise is not for what one neighbour does to these counts")
        detail = f"{self.k} rounds, in each of which one neighbour makes a factor {float(self.decay):.6g} at most"
        return Check("privacy", level.kept_by(self.decay, self.k), f"{level}: {detail}, exactly")

    def simulate(self, tallies: Integers, rng: np.random.Generator) -> Integers:
        """Which would be named at each of many tallies, in floating point: for averages."""
        left = tallies.astype(float)
        found = np.empty((len(tallies), self.k), dtype=np.int64)
        rate = np.log(float(self.decay))
        for place in range(self.k):
            noise = np.floor(np.log(rng.random(tallies.shape)) / rate)
            found[:, place] = np.argmax(left + self.reach * noise, axis=1)
            left[np.arange(len(left)), found[:, place]] = -np.inf
        return found

    @cached_property
    def _draws(self) -> IntegerDraws:
        return IntegerDraws(LayerLaw(self.decay, 1, 1))

    def to_json(self) -> dict[str, Any]:
        return {"k": self.k, "decay": write_rational(self.decay), "reach": self.reach}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(_whole(data["k"]), as_rational(data["decay"]), _whole(data["reach"]))


def drawn_in_floats(law: Any, shape: tuple[int, ...], rng: np.random.Generator) -> Integers:
    """Noise by its tails in floating point, for averages: of what is less likely than 10^-6, as much as that."""
    wide = law.half_width(Fraction(999_999, 10**6))
    if wide > MOST_WIDE:
        raise TooLarge(f"noise as wide as {wide} is too wide to be listed; use a larger level.")
    tails = law.tail(np.arange(1, 2 + wide))
    sizes = np.searchsorted(-2 * tails, -rng.random(shape))  # |X| >= t if a uniform number is below 2 Pr[X >= t]
    return np.asarray(np.where(rng.random(shape) < 0.5, -1, 1) * sizes)


def _first_left(sums: list[int], chosen: list[int]) -> int:
    """The place of the largest sum that is not chosen yet; of equal ones the first."""
    return max(range(len(sums)), key=lambda i: (i not in chosen, sums[i], -i))


def largest(counts: NDArray[Any], k: int) -> Integers:
    """The places of the k largest in every row, the largest first; of equal ones the first."""
    return np.argsort(-counts, axis=1, kind="stable")[:, :k]


@lru_cache(maxsize=32)
def missed(mechanism: Any, space: Tallies) -> tuple[float, float]:
    """What share of the true k a mechanism misses on average over a sample of tallies, and the standard error."""
    rng, tallies = np.random.default_rng(20_130_101), some_tallies(space)
    named, truth = mechanism.simulate(tallies, rng), largest(tallies, mechanism.k)
    found = (named[:, :, None] == truth[:, None, :]).any(axis=2).mean(axis=1)
    return float(1 - found.mean()), float(found.std() / np.sqrt(len(found)))


def some_tallies(space: Tallies) -> Integers:
    """A public sample of tallies, all alike: the same wherever it is drawn."""
    rng = np.random.default_rng(20_130_102)
    many = max(20, min(MOST_SAMPLED, MOST_DRAWN // space.cells))
    shares: Floats = -np.log1p(-rng.random((many, space.cells + 1)))
    return np.asarray(np.floor(shares / shares.sum(axis=1, keepdims=True) * (space.rows + 1))[:, :-1], dtype=np.int64)


def _fits(k: int, space: Tallies) -> bool:
    return 1 <= k <= space.cells


def _whole(value: Any) -> int:
    if type(value) is not int or value < 1:
        raise InvalidInput("how many are named, and what noise is worth, are whole numbers from 1 on.")
    return value
