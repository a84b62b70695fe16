"""Noise on the cells between nested counts that carries: what errs little stays out of the counts beyond.

Counts that lie inside each other are running sums of disjoint cells. Noise of its own on every cell makes the error of
a count a sum of all noises before it. Here cell i gets X_i less the carry of the cell before it, where

    Pr[X_i = x] is proportional to b^max(|x| - w_i, 0),    carry C_i = X_i cut to -w_i .. w_i,    w_d = 0.

All X_i are independent. The error of the k-th count is then X_k + T_1 + ... + T_(k-1), where T_i = X_i - C_i is 0 most
of the time: with wider w a count errs more by itself and hands on less. w = 0 is geometric noise on every cell.

*Privacy.* The probability of an error z of all cells is proportional to b^rank(z), rank = |T_1| + ... + |T_d|. One row
more in cell i moves X_i by one. If |T_i| changes, the carry does not; otherwise the carry does, by one, and so X_(i+1)
moves by one, and so on: of all |T_i| exactly one changes, by exactly one, because the last has no carry.

For two and three counts flows prove it to be the best noise, or within half a percent of it
(`theory/workload/verify/nested_counts.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from flint import arb, arb_poly, ctx
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput
from utmost.exact import as_fmpq, as_rational
from utmost.exact.arrays import Floats, Integers
from utmost.exact.bisection import first_integer
from utmost.mechanism.certification import Check
from utmost.mechanism.noise.lattice import GeometricLaw, IndependentLaw, NoisyVector
from utmost.mechanism.tail_sampling import SymmetricDraws
from utmost.privacy import Level
from utmost.space.integers import Lattice, Strategy
from utmost.space.line import tolerance
from utmost.space.sensitivity import l1_sensitivity
from utmost.theory.workload.least_squares import Sums, spreads

MOST_WIDTH, MOST_CELLS = 10**6, 1000
MOST_LISTED, MOST_LISTED_IN_ALL = 2**19, 2**25
"""Up to how many places laws of errors are listed in balls, and in floats: a file may ask for any."""
SPARE = 1e-9
"""Added to a confidence, far more than rounding and what lies beyond the list amount to."""


@dataclass(frozen=True)
class FlatLaw:
    """Pr[X = x] proportional to decay^max(|x| - width, 0): as likely everywhere up to the width, then geometric.

    Examples
    --------
    >>> FlatLaw(Fraction(1, 2), 1).tail([1, 2]).round(6)                            # of 1 + 1 + 1 + 2
    array([0.4, 0.2])
    """

    decay: Fraction
    width: int

    @property
    def total(self) -> Fraction:
        """The sum of all weights."""
        return 2 * self.width + 1 + 2 * self.decay / (1 - self.decay)

    def enclose_tail(self, t: int, bits: int) -> arb:
        """A ball around Pr[X >= t], t >= 1."""
        with ctx.workprec(bits + 64 + 4 * self.decay.denominator.bit_length()):
            b, beyond = arb(as_fmpq(self.decay)), max(t - self.width, 1)
            return (b**beyond / (1 - b) + max(self.width + 1 - t, 0)) / as_fmpq(self.total)

    def tail(self, t: ArrayLike) -> Floats:
        """Pr[X >= t] in floats, for any integers t."""
        at = np.asarray(t, dtype=np.int64)
        n, b = np.maximum(at, 1 - at), float(self.decay)
        above = b ** np.maximum(n - self.width, 1) / float(1 - self.decay) + np.maximum(self.width + 1 - n, 0)
        above = above / float(self.total)
        return np.asarray(np.where(at > 0, above, 1 - above))

    @property
    def square(self) -> Fraction:
        """The mean of X^2."""
        b, w = self.decay, self.width
        flat, rest = Fraction(w * (w + 1) * (2 * w + 1), 3), b / (1 - b)
        tails = rest * w**2 + 2 * w * rest / (1 - b) + rest * (1 + b) / (1 - b) ** 2
        return (flat + 2 * tails) / self.total

    @property
    def square_beyond(self) -> Fraction:
        """The mean of T^2, T what X is beyond its width."""
        b = self.decay
        return 2 * b * (1 + b) / (1 - b) ** 3 / self.total

    def draw(self, size: int) -> NDArray[np.int64]:
        """So many integers, independently, drawn exactly."""
        return self._draws.draw(size)

    @cached_property
    def _draws(self) -> SymmetricDraws:
        return SymmetricDraws(self.enclose_tail)


@lru_cache(maxsize=256)
def _flat(decay: Fraction, width: int) -> FlatLaw:
    return FlatLaw(decay, width)


@dataclass(frozen=True)
class CarriedLaw:
    """Noise on cells in a row of which each hands on what it errs beyond a width.

    Attributes
    ----------
    decay : the factor b of one step, a rational number from 0 to below 1
    widths : of every cell but the last, how far its noise may go at no price

    Examples
    --------
    >>> law = CarriedLaw(Fraction(1, 2), (1,))
    >>> law.probability((0, 0)) == law.probability((1, -1)) == 2 * law.probability((1, 0))
    True
    >>> [round(each, 4) for each in law.absolute_errors], round(law.mean_square, 4)    # (0,): 1.3333, 2.0741; 6.0
    ([1.6, 1.7778], 5.6)
    """

    kind: ClassVar[str] = "carried"
    decay: Fraction
    widths: tuple[int, ...]

    def __post_init__(self) -> None:
        fits = isinstance(self.widths, tuple) and all(type(w) is int and 0 <= w <= MOST_WIDTH for w in self.widths)
        if not isinstance(self.decay, Fraction) or not 0 < self.decay < 1 or not fits:
            raise InvalidInput("noise that carries has a rational decay between 0 and 1, and whole widths.")
        if not 1 <= len(self.widths) < MOST_CELLS:
            raise InvalidInput(f"noise that carries is for 2 to {MOST_CELLS} cells.")

    @property
    def dimension(self) -> int:
        """How many cells there are."""
        return len(self.widths) + 1

    @property
    def name(self) -> str:
        """Which noise it is, in words."""
        return "geometric noise that carries" if any(self.widths) else "geometric noise on each integer"

    @property
    def singles(self) -> tuple[FlatLaw, ...]:
        """The laws of X_1, X_2, ..."""
        return tuple(_flat(self.decay, width) for width in (*self.widths, 0))

    def probability(self, z: tuple[int, ...]) -> Fraction:
        """The probability of one vector of errors of the cells, exactly."""
        rank = int(ranks(np.array([z], dtype=np.int64), self.widths)[0])
        whole = Fraction(1)
        for law in self.singles:
            whole *= law.total
        return self.decay**rank / whole

    # ---- single cells ----

    def mean(self, loss: str) -> float:
        """The expected loss of one cell, on average over them."""
        if loss == "squared":
            before = [Fraction(0), *(law.square - self._handed(law) for law in self.singles[:-1])]
            return float(sum(law.square + carry for law, carry in zip(self.singles, before, strict=True))) / len(before)
        if loss == "absolute":
            places = np.arange(1, self._far + 1)
            return float(2 * self.tail(places).sum())
        return 2 * float(self.tail(tolerance(loss) + 1))

    @staticmethod
    def _handed(law: FlatLaw) -> Fraction:
        """E X^2 - E C^2: what lies beyond the width, with 2w for each unit of it."""
        b, w = law.decay, law.width
        return law.square_beyond + 2 * w * (2 * b / (1 - b) ** 2) / law.total

    def tail(self, t: ArrayLike) -> Floats:
        """The probability of an error of t or more in one cell, on average over them, in floats."""
        at = np.asarray(t, dtype=np.int64)
        found = self.singles[0].tail(at)
        for before, law in pairwise(self.singles):
            w = before.width
            inside = 1 / float(before.total)
            end = float(before.tail(max(w, 1))) if w else 0.0
            found = found + sum(
                (end if abs(carry) == w > 0 else inside if w else 1.0) * law.tail(at + carry)
                for carry in range(-w, w + 1)
            )
        return np.asarray(found / self.dimension)

    def half_width(self, confidence: Any) -> int:
        """Within which ±n a cell errs with at least this probability, on average over them; in floats, with spare."""
        share = float(as_rational(confidence, "the confidence")) + SPARE
        return first_integer(lambda n: 1 - 2 * float(self.tail(n + 1)) >= share)

    # ---- running counts ----

    @property
    def _far(self) -> int:
        """An error that is exceeded with a probability below 10^-15."""
        rest = max(-np.log(max(float(self.decay), 1e-300)), 1e-18)  # a decay that a float calls 0 or 1 is neither
        return int(max(self.widths) + np.ceil((45 + 8 * np.sqrt(self.dimension)) / rest)) + 2

    @property
    def _places(self) -> int:
        """At how many places the laws of the errors of all counts are listed."""
        return 2 * self._far * self.dimension

    @property
    def is_narrow(self) -> bool:
        """Whether mean absolute errors can be listed in balls; at other noise variances are looked at."""
        return self._places <= MOST_LISTED

    def _require_few(self, most: int) -> None:
        if self._places > most:
            raise InvalidInput(
                f"the noise on {self.dimension} cells falls by a factor of only {float(self.decay):.10g} a step: its "
                f"errors would be listed at {self._places:,} places, and at most {most:,} are; give a larger epsilon, "
                "fewer counts, or fewer rows to each person."
            )

    @property
    def squared_errors(self) -> tuple[Fraction, ...]:
        """The mean squared error of every count, exactly."""
        found, handed = [], Fraction(0)
        for law in self.singles:
            found.append(handed + law.square)
            handed += law.square_beyond
        return tuple(found)

    @property
    def mean_square(self) -> float:
        """The mean squared error of a count."""
        return float(sum(self.squared_errors)) / self.dimension

    @cached_property
    def absolute_errors(self) -> tuple[float, ...]:
        """The mean absolute error of every count, in balls: to the last digit of a float, on every machine."""
        found, handed, far = [], arb_poly([1]), self._far
        self._require_few(MOST_LISTED)
        with ctx.workprec(160):
            b = arb(as_fmpq(self.decay))
            powers = [b]
            for _ in range(far):
                powers.append(powers[-1] * b)
            for law in self.singles:
                w, part = law.width, 1 / arb(as_fmpq(law.total))
                alone = arb_poly([*powers[far - w - 1 :: -1], *[arb(1)] * (2 * w + 1), *powers[: far - w]])
                beyond = arb_poly([*powers[far - 1 :: -1], arb(2 * w + 1), *powers[:far]])
                found.append(_mean_size(handed * alone * part))
                handed = handed * beyond * part
        return tuple(found)

    def running(self) -> tuple[Integers, Floats]:
        """Places, and the probabilities of the error of every count there, a row each: in floats."""
        self._require_few(MOST_LISTED_IN_ALL)
        return _running(self.decay, self.widths, self._far)

    def half_widths(self, confidence: Any) -> tuple[int, ...]:
        """For every count, the least n such that it errs by at most n with this probability; in floats, with spare."""
        share = float(as_rational(confidence, "the confidence")) + SPARE
        places, chances = self.running()
        half = chances[:, : len(places) // 2]
        within = 2 * np.cumsum(half, axis=1) - half[:, :1]
        return tuple(int(np.searchsorted(np.maximum.accumulate(row), share)) for row in within)

    # ---- draws, proof, file ----

    def draw(self, size: int) -> NDArray[Any]:
        """So many vectors, one in each row, drawn exactly."""
        found = np.empty((size, self.dimension), dtype=np.int64)
        carry = np.zeros(size, dtype=np.int64)
        for i, law in enumerate(self.singles):
            drawn = law.draw(size)
            found[:, i] = drawn - carry
            carry = np.clip(drawn, -law.width, law.width)
        return found

    def prove(self, space: Lattice, level: Level) -> Check:
        """Whether the law keeps a level for the moves of a lattice: a step of one in a cell is one step of the rank."""
        if self.dimension != space.dimension:
            return Check("privacy", False, f"{level}: the noise has {self.dimension} integers, the vectors have others")
        far = l1_sensitivity(space)
        detail = f"one neighbour moves the cells by at most {far} in all, each a factor {float(self.decay):.6g}"
        return Check("privacy", level.kept_by(self.decay, far), f"{level}: {detail}, exactly")

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"law": self.kind, "decay": str(self.decay), "widths": list(self.widths)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The law written by `to_json`."""
        law = cls(as_rational(data["decay"]), tuple(data["widths"]))
        if 2 * max(law.widths) > law._far:  # noise never goes so far; a genuine width is a small part of it
            raise InvalidInput(f"noise that falls by {float(law.decay):.6g} has no width of {max(law.widths)}.")
        return law


def as_carried(mechanism: Any) -> CarriedLaw | None:
    """The noise of a mechanism as one that carries, with widths of 0 if it does not; None if it is another."""
    noise = mechanism.noise if isinstance(mechanism, NoisyVector) else None
    if isinstance(noise, IndependentLaw) and isinstance(noise.single, GeometricLaw):
        fits = 1 < noise.dimension <= MOST_CELLS and noise.single.decay > 0
        return CarriedLaw(noise.single.decay, (0,) * (noise.dimension - 1)) if fits else None
    return noise if isinstance(noise, CarriedLaw) else None


def mean_variance_of_counts(mechanism: NoisyVector, space: Strategy | Lattice, wanted: Sums) -> float:
    """The mean variance of the wanted sums of cells, from noise on weighted sums of them or on the cells themselves."""
    if not isinstance(mechanism.noise, CarriedLaw):
        return float(mechanism.expected("squared") * spreads(space, wanted).mean())
    if wanted != "running" or not isinstance(space, Lattice):
        raise InvalidInput("noise that carries is for running counts of cells.")
    return mechanism.noise.mean_square


def ranks(errors: Integers, widths: tuple[int, ...]) -> Integers:
    """By how many steps of the decay errors of all cells, the rows of an array, are less likely than none.

    Examples
    --------
    >>> ranks(np.array([(0, 0), (1, -1), (1, 0), (2, 0), (-3, 5)]), (1,)).tolist()
    [0, 0, 1, 2, 6]
    """
    carry, found = np.zeros(len(errors), dtype=np.int64), np.zeros(len(errors), dtype=np.int64)
    for i, width in enumerate((*widths, 0)):
        single = errors[:, i] + carry
        carry = np.clip(single, -width, width)
        found += np.abs(single - carry)
    return found


@lru_cache(maxsize=16)
def _running(decay: Fraction, widths: tuple[int, ...], far: int) -> tuple[Integers, Floats]:
    n = 1 << int(np.ceil(np.log2(2 * far)))
    places = (np.arange(n) + n // 2) % n - n // 2
    sizes, b = np.abs(places).astype(float), float(decay)
    handed, found = np.ones(n // 2 + 1), []
    for width in (*widths, 0):
        alone, beyond = b ** np.maximum(sizes - width, 0), b**sizes
        beyond[0] = 2 * width + 1
        found.append(np.fft.irfft(handed * np.fft.rfft(alone / alone.sum()).real, n))
        handed = handed * np.fft.rfft(beyond / beyond.sum()).real
    return places, np.array(found)


def _mean_size(law: arb_poly) -> float:
    """The mean of |x| under a law whose middle coefficient is that of 0."""
    coefficients = law.coeffs()
    middle = len(coefficients) // 2
    summed = arb(0)
    for i in range(middle, 0, -1):
        summed += i * coefficients[middle + i]
    return float(2 * summed)
