"""Noise that carries, on the cells between nested counts: small errors are not handed on to later counts.

Nested counts are running sums of disjoint cells. With independent noise on every cell the error of a count is the sum
of all noises before it. Here cell i gets X_i less the carry of the cell before it, where

    Pr[X_i = x] is proportional to b^max(|x| - w_i, 0),    carry C_i = X_i clamped to -w_i .. w_i,    w_d = 0.

All X_i are independent. The error of the k-th count is then X_k + T_1 + ... + T_(k-1), where T_i = X_i - C_i is 0 most
of the time: with larger w a count has more error itself and hands on less. w = 0 is geometric noise on every cell.

*Privacy.* The probability of an error z of all cells is proportional to b^rank(z), rank = |T_1| + ... + |T_d|. One row
more in cell i moves X_i by one. If |T_i| changes, the carry does not; otherwise the carry does, by one, and so X_(i+1)
moves by one, and so on: of all |T_i| exactly one changes, by exactly one, because the last has no carry.

For two and three counts flows prove that it is optimal, or within half a percent of it
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
from utmost.mechanism.certification import Check
from utmost.mechanism.noise.law import Moved, NoiseLaw
from utmost.mechanism.tail_sampling import SymmetricDraws
from utmost.privacy import Level
from utmost.space.line import tolerance
from utmost.space.sensitivity import l1_sensitivity

MOST_WIDTH, MOST_CELLS = 10**6, 1000
MOST_LISTED, MOST_LISTED_IN_ALL = 2**19, 2**25
"""Longest lists of the laws of errors, in balls and in floats: a file may ask for any."""
SPARE = 1e-9
"""Added to a confidence; far more than rounding and the mass beyond the list."""


@dataclass(frozen=True)
class FlatLaw:
    """Pr[X = x] proportional to decay^max(|x| - width, 0): uniform up to the width, then geometric.

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
        """The mean of T^2, where T is the part of X beyond the width."""
        b = self.decay
        return 2 * b * (1 + b) / (1 - b) ** 3 / self.total

    def draw(self, size: int) -> NDArray[np.int64]:
        """Draw independent integers exactly."""
        return self._draws.draw(size)

    @cached_property
    def _draws(self) -> SymmetricDraws:
        return SymmetricDraws(self.enclose_tail)


@lru_cache(maxsize=256)
def _flat_law(decay: Fraction, width: int) -> FlatLaw:
    return FlatLaw(decay, width)


@dataclass(frozen=True)
class CarriedLaw(NoiseLaw):
    """Noise on consecutive cells, each of which hands on the part of its error beyond a width.

    Attributes
    ----------
    decay : Fraction
        The factor b of one step, above 0 and below 1.
    widths : tuple of int
        For every cell but the last, the width of the plateau of its noise.

    Examples
    --------
    >>> law = CarriedLaw(Fraction(1, 2), (1,))
    >>> law.point_mass((0, 0)) == law.point_mass((1, -1)) == 2 * law.point_mass((1, 0))
    True
    >>> [round(error, 4) for error in law.absolute_errors], round(law.mean_square, 4)  # (0,): 1.3333, 2.0741; 6.0
    ([1.6, 1.7778], 5.6)
    """

    kind: ClassVar[str] = "carried"
    on_vectors: ClassVar[bool] = True
    decay: Fraction
    widths: tuple[int, ...]

    def __post_init__(self) -> None:
        fits = isinstance(self.widths, tuple) and all(type(w) is int and 0 <= w <= MOST_WIDTH for w in self.widths)
        if not isinstance(self.decay, Fraction) or not 0 < self.decay < 1 or not fits:
            raise InvalidInput("noise that carries has a rational decay between 0 and 1, and whole widths.")
        if not 1 <= len(self.widths) < MOST_CELLS:
            raise InvalidInput(f"noise that carries is for 2 to {MOST_CELLS} cells.")

    @property
    def dimension(self) -> int:  # type: ignore[override]
        """The number of cells."""
        return len(self.widths) + 1

    @property
    def name(self) -> str:
        return "geometric noise that carries" if any(self.widths) else "geometric noise on each integer"

    @property
    def singles(self) -> tuple[FlatLaw, ...]:
        """The laws of X_1, X_2, ..."""
        return tuple(_flat_law(self.decay, width) for width in (*self.widths, 0))

    def point_mass(self, z: tuple[int, ...]) -> Fraction:
        rank = int(ranks(np.array([z], dtype=np.int64), self.widths)[0])
        total = Fraction(1)
        for law in self.singles:
            total *= law.total
        return self.decay**rank / total

    # ---- single cells: their laws are averaged over the cells ----

    @property
    def wide(self) -> int:
        return self._radius

    def enclose_tail(self, t: int, bits: int) -> arb:
        """A ball around the probability of an error of t or more in one cell, averaged over the cells."""

        def above(law: FlatLaw, n: int) -> arb:
            return law.enclose_tail(n, bits) if n > 0 else 1 - law.enclose_tail(1 - n, bits)

        with ctx.workprec(bits + 64 + 4 * self.decay.denominator.bit_length()):
            total = above(self.singles[0], t)
            for previous, law in pairwise(self.singles):
                w = previous.width
                total += sum((above(law, t + carry) for carry in range(1 - w, w)), arb(0)) / as_fmpq(previous.total)
                ends = (-w, w) if w else (0,)
                total += sum((above(law, t + carry) for carry in ends), arb(0)) * (above(previous, w) if w else 1)
            return total / self.dimension

    def mean(self, loss: str) -> float:
        """The expected loss of one cell, averaged over the cells."""
        if loss == "squared":
            carries = [Fraction(0), *(law.square - self._square_carried(law) for law in self.singles[:-1])]
            return float(sum(law.square + carry for law, carry in zip(self.singles, carries, strict=True))) / len(
                carries
            )
        if loss == "absolute":
            places = np.arange(1, self._radius + 1)
            return float(2 * self.tail(places).sum())
        return 2 * float(self.tail(tolerance(loss) + 1))

    @staticmethod
    def _square_carried(law: FlatLaw) -> Fraction:
        """E X^2 - E C^2: the square beyond the width, with 2w for each unit of it."""
        b, w = law.decay, law.width
        return law.square_beyond + 2 * w * (2 * b / (1 - b) ** 2) / law.total

    def tail(self, t: ArrayLike) -> Floats:
        """The probability of an error of t or more in one cell, averaged over the cells, in floats."""
        at = np.asarray(t, dtype=np.int64)
        total = self.singles[0].tail(at)
        for previous, law in pairwise(self.singles):
            w = previous.width
            inside = 1 / float(previous.total)
            end = float(previous.tail(max(w, 1))) if w else 0.0
            total = total + sum(
                (end if abs(carry) == w > 0 else inside if w else 1.0) * law.tail(at + carry)
                for carry in range(-w, w + 1)
            )
        return np.asarray(total / self.dimension)

    # ---- running counts ----

    @property
    def _radius(self) -> int:
        """An error that is exceeded with a probability below 10^-15."""
        rest = max(-np.log(max(float(self.decay), 1e-300)), 1e-18)  # a decay that a float calls 0 or 1 is neither
        return int(max(self.widths) + np.ceil((45 + 8 * np.sqrt(self.dimension)) / rest)) + 2

    @property
    def _list_length(self) -> int:
        """The number of places at which the laws of the errors of all counts are listed."""
        return 2 * self._radius * self.dimension

    @property
    def is_narrow(self) -> bool:
        """Whether mean absolute errors can be listed in balls; for wider noise only variances are used."""
        return self._list_length <= MOST_LISTED

    def _require_few(self, limit: int) -> None:
        if self._list_length > limit:
            raise InvalidInput(
                f"the noise on {self.dimension} cells falls by a factor of only {float(self.decay):.10g} a step: its "
                f"errors would be listed at {self._list_length:,} places, and at most {limit:,} are; give a larger "
                "epsilon, fewer counts, or fewer rows to each person."
            )

    @property
    def squared_errors(self) -> tuple[Fraction, ...]:
        """The exact mean squared error of every count."""
        squares, carried = [], Fraction(0)
        for law in self.singles:
            squares.append(carried + law.square)
            carried += law.square_beyond
        return tuple(squares)

    @property
    def mean_square(self) -> float:
        """The mean squared error of a count."""
        return float(sum(self.squared_errors)) / self.dimension

    @cached_property
    def absolute_errors(self) -> tuple[float, ...]:
        """The mean absolute error of every count, in balls: correct to the last digit of a float on every machine."""
        sizes, carried, radius = [], arb_poly([1]), self._radius
        self._require_few(MOST_LISTED)
        with ctx.workprec(160):
            b = arb(as_fmpq(self.decay))
            powers = [b]
            for _ in range(radius):
                powers.append(powers[-1] * b)
            for law in self.singles:
                w, part = law.width, 1 / arb(as_fmpq(law.total))
                alone = arb_poly([*powers[radius - w - 1 :: -1], *[arb(1)] * (2 * w + 1), *powers[: radius - w]])
                beyond = arb_poly([*powers[radius - 1 :: -1], arb(2 * w + 1), *powers[:radius]])
                sizes.append(_mean_size(carried * alone * part))
                carried = carried * beyond * part
        return tuple(sizes)

    def error_laws(self) -> tuple[Integers, Floats]:
        """Places, and in one row per count the probabilities of its error there, in floats."""
        self._require_few(MOST_LISTED_IN_ALL)
        return _error_laws(self.decay, self.widths, self._radius)

    def half_widths(self, confidence: Any) -> tuple[int, ...]:
        """For every count, the least n with |error| <= n at this probability; in floats, with spare."""
        share = float(as_rational(confidence, "the confidence")) + SPARE
        places, chances = self.error_laws()
        half = chances[:, : len(places) // 2]
        within = 2 * np.cumsum(half, axis=1) - half[:, :1]
        return tuple(int(np.searchsorted(np.maximum.accumulate(row), share)) for row in within)

    # ---- draws, proof, file ----

    def draw(self, size: int) -> NDArray[Any]:
        errors = np.empty((size, self.dimension), dtype=np.int64)
        carry = np.zeros(size, dtype=np.int64)
        for i, law in enumerate(self.singles):
            singles = law.draw(size)
            errors[:, i] = singles - carry
            carry = np.clip(singles, -law.width, law.width)
        return errors

    def falls(self, space: Moved) -> tuple[Fraction, int] | None:
        """A step of one in a cell is one step of the rank."""
        return (self.decay, l1_sensitivity(space)) if self.dimension == space.dimension else None

    def prove(self, space: Moved, level: Level) -> Check:
        """Check the privacy of the law on a lattice."""
        falls = self.falls(space)
        if falls is None:
            return Check("privacy", False, f"{level}: the noise has {self.dimension} integers, the vectors have others")
        b, sensitivity = falls
        detail = f"one neighbour moves the cells by at most {sensitivity} in all, each a factor {float(b):.6g}"
        return Check("privacy", level.kept_by(b, sensitivity), f"{level}: {detail}, exactly")

    def to_json(self) -> dict[str, Any]:
        return {"law": self.kind, "decay": str(self.decay), "widths": list(self.widths)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        law = cls(as_rational(data["decay"]), tuple(data["widths"]))
        if 2 * max(law.widths) > law._radius:  # noise never goes so far; a genuine width is a small part of it
            raise InvalidInput(f"noise that falls by {float(law.decay):.6g} has no width of {max(law.widths)}.")
        return law


def ranks(errors: Integers, widths: tuple[int, ...]) -> Integers:
    """Ranks of errors (rows of an array): their probability is that of no error times decay to this power.

    Examples
    --------
    >>> ranks(np.array([(0, 0), (1, -1), (1, 0), (2, 0), (-3, 5)]), (1,)).tolist()
    [0, 0, 1, 2, 6]
    """
    carry, steps = np.zeros(len(errors), dtype=np.int64), np.zeros(len(errors), dtype=np.int64)
    for i, width in enumerate((*widths, 0)):
        single = errors[:, i] + carry
        carry = np.clip(single, -width, width)
        steps += np.abs(single - carry)
    return steps


@lru_cache(maxsize=16)
def _error_laws(decay: Fraction, widths: tuple[int, ...], radius: int) -> tuple[Integers, Floats]:
    n = 1 << int(np.ceil(np.log2(2 * radius)))
    places = (np.arange(n) + n // 2) % n - n // 2
    sizes, b = np.abs(places).astype(float), float(decay)
    transform, laws = np.ones(n // 2 + 1), []
    for width in (*widths, 0):
        alone, beyond = b ** np.maximum(sizes - width, 0), b**sizes
        beyond[0] = 2 * width + 1
        laws.append(np.fft.irfft(transform * np.fft.rfft(alone / alone.sum()).real, n))
        transform = transform * np.fft.rfft(beyond / beyond.sum()).real
    return places, np.array(laws)


def _mean_size(law: arb_poly) -> float:
    """The mean of |x| under a law whose middle coefficient is that of 0."""
    coefficients = law.coeffs()
    middle = len(coefficients) // 2
    summed = arb(0)
    for i in range(middle, 0, -1):
        summed += i * coefficients[middle + i]
    return float(2 * summed)
