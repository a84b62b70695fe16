"""The base of all noise laws, and the registry by which files name them.

Noise is added to one integer, or to a vector of integers. Every law is symmetric around 0, and the integers of a vector
have one and the same law: so one tail Pr[X >= t] says what one integer's noise is like, whatever the law. A law of one
integer serves a line, and a vector whose integers get independent draws (`independent.IndependentLaw`); a law of
vectors has a `dimension`.

To add a law of integer noise:

1. Write a frozen dataclass with rational parameters, a subclass of `NoiseLaw`, in a file of its own in this folder.
2. Give it what is abstract: `kind`, `name`, `enclose_tail`, `draw`, `prove`, `to_json`, `from_json`; and, where a form
   is better than the sums here, `tail`, `probability`, `mean`, `wide`, `fourth_moment`, `characteristic`.
3. Name it in `REGISTRY` below, so that files can hold it, and add an example to tests/mechanism/noise/test_laws.py.
4. Let designs choose it: `_noises` in `theory/scalar/design/line.py` for a number, `_candidates` in
   `theory/vector/design/vectors.py` for vectors; or offer it by a public function of `um.noise`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput, TooLarge
from utmost.exact import Enclosed, ExpSum, as_rational, compare
from utmost.exact.arrays import Floats
from utmost.exact.bisection import first_integer
from utmost.mechanism.certification import Check
from utmost.privacy import Level
from utmost.space.integers import Lattice, Strategy
from utmost.space.line import Line, cost, tolerance

if TYPE_CHECKING:
    from utmost.mechanism.noise.gaussian import GaussianLaw
    from utmost.mechanism.noise.layers import LayerLaw

Moved: TypeAlias = Line | Lattice | Strategy
"""A space of one integer or of vectors of them, which knows its sensitivity."""
NEGLIGIBLE = 2.0**-64
"""Expectations omit noise with less probability than this; draws omit nothing."""
MOST_TERMS = 10**7
"""The largest number of places over which an expectation is summed."""
MOST_PRODUCTS = 10**9
"""The largest number of cosines in a characteristic function that is summed."""


class NoiseLaw(ABC):
    """A symmetric law of noise on one integer, or on vectors whose integers all have the same law.

    Whatever is said of "one integer" holds for every integer of a vector; where their laws differ (`CarriedLaw`), for
    their average.

    Attributes
    ----------
    dimension : int
        The number of integers of one draw: 1, or that of a law of vectors.
    on_vectors : bool
        Whether it is a law of vectors. Otherwise it is a law of one integer, and a vector gets independent draws of it.
    """

    on_vectors: ClassVar[bool] = False
    dimension: int

    @property
    @abstractmethod
    def kind(self) -> str:
        """The short name in sentences and in files of vectors, such as "geometric"."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The noise in words, with its width where that is known."""

    @property
    def short_name(self) -> str:
        """The noise in words, without its width."""
        return self.kind

    # ---- the law of one integer ----

    @abstractmethod
    def enclose_tail(self, t: int, bits: int) -> arb:
        """A ball around Pr[X >= t], t >= 1, the narrower the more bits: all that exact decisions need."""

    def tail(self, k: ArrayLike) -> Floats:
        """Pr[X >= k] in floats, for any integers k; here from a ball for each distance."""
        at = whole_numbers(k)
        distances = np.maximum(at, 1 - at)  # k or more is as likely as -k or less, and all but 1 - k or more
        tail_of = {n: float(self.enclose_tail(n, 64)) for n in np.unique(distances).tolist()}
        above = np.array([tail_of[n] for n in distances.ravel().tolist()]).reshape(distances.shape)
        return np.asarray(np.where(at > 0, above, 1 - above))

    def probability(self, k: ArrayLike) -> Floats:
        """Pr[X = k] in floats; here the difference of two tails."""
        n = np.abs(whole_numbers(k))
        beyond = self.tail(n + 1)
        return np.asarray(np.where(n == 0, 1 - 2 * beyond, self.tail(np.maximum(n, 1)) - beyond))

    @property
    def wide(self) -> int:
        """The distance beyond which the noise is negligible in an expectation."""
        return first_integer(lambda far: float(self.tail(far)) < NEGLIGIBLE, 1)

    def mean(self, loss: str) -> float:
        """The expected loss of the noise as an error: increments of the loss times two tails, summed.

        Parameters
        ----------
        loss : "absolute", "squared", "zero-one" or "within k"
        """
        if loss not in ("absolute", "squared"):
            return 2 * float(self.tail(tolerance(loss) + 1))
        t = self._places()
        return float(2 * (np.diff(cost(loss, t)) @ self.tail(t[1:])))

    @property
    def nominal_variance(self) -> Fraction:
        """The variance as a fraction, exactly or nearly, for weights that are computed from it."""
        return Fraction(self.mean("squared"))

    @property
    def fourth_moment(self) -> float:
        """The mean of X^4."""
        t = self._places()[1:]
        return float(2 * np.sum((t**4.0 - (t - 1.0) ** 4) * self.tail(t)))

    def characteristic(self, t: Floats) -> Floats:
        """The characteristic function E[e^(itX)] = E[cos(tX)], which is real; here a sum over the support."""
        k = self._places()[1:]
        if len(k) * np.size(t) > MOST_PRODUCTS:
            raise TooLarge(f"{self.name} noise is spread over {len(k)} steps; allow a larger level.")
        chances = self.probability(k)
        sums = [2 * float(np.cos(x * k) @ chances) for x in np.ravel(t).tolist()]
        return np.asarray(self.probability(0) + np.reshape(sums, np.shape(t)))

    def half_width(self, confidence: Any) -> int:
        """The least n such that |X| <= n with at least this probability: decided by balls around the tails."""
        chance = as_rational(confidence, "the confidence")
        if not 0 <= chance < 1:
            raise InvalidInput(f"the confidence is {confidence!r}; give a probability from 0 to below 1, such as 0.95.")
        rest = ExpSum.rational((1 - chance) / 2)

        def suffices(n: int) -> bool:
            return compare(Enclosed(lambda bits: self.enclose_tail(n + 1, bits)), rest) <= 0

        return first_integer(suffices)

    def _places(self) -> NDArray[np.int64]:
        """The distances 0, 1, ... up to where the noise is negligible."""
        if self.wide > MOST_TERMS:
            raise TooLarge(f"{self.name} noise is spread over {self.wide} steps; allow a larger level.")
        return np.arange(self.wide + 1)

    # ---- what more is known of some laws ----

    @property
    def independent(self) -> NoiseLaw | None:
        """The law of each integer if the integers of a vector are independent, as sums need; None if they are not."""
        return None if self.on_vectors else self

    @property
    def layers(self) -> LayerLaw | None:
        """The layers of equal probability of one integer's law that falls by a factor once a period; else None."""
        return None

    @property
    def gaussian(self) -> GaussianLaw | None:
        """The rounded or discrete Gaussian that it is: its sums are nearly normal, and l2 sensitivities add up."""
        return None

    def falls(self, space: Moved) -> tuple[Fraction, int] | None:
        """(b, n) such that the probability of any result at neighbours differs by at most b^n; None if unbounded."""
        return None

    def follows(self, level: Level) -> bool:
        """Whether the tails use up a level at sensitivity 1: Pr[X + 1 >= t] = upper(Pr[X >= t]) for every t."""
        return False

    @property
    def hides_the_rest(self) -> bool:
        """Whether it is a law of cells that is symmetric in these and in the number of all other rows."""
        return False

    # ---- draws, proof and file ----

    @abstractmethod
    def draw(self, size: int) -> NDArray[Any]:
        """`size` independent integers, drawn exactly; of a law of vectors as many vectors, one in each row."""

    def point_mass(self, z: Any) -> Fraction | float:
        """The probability of one vector: exactly where the law is rational, here the product over its integers."""
        return float(np.prod(self.probability(z)))

    @abstractmethod
    def prove(self, space: Moved, level: Level) -> Check:
        """Whether the noise satisfies a level at the sensitivity of a space: decided exactly, on untrusted parameters.

        A law of one integer is proved for independent noise on every integer of the space.
        """

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The law as plain JSON data with its name in `REGISTRY`, as "noise" (of one integer) or "law" (of vectors)."""

    def part_to_json(self) -> dict[str, Any]:
        """The law of one integer as part of one of vectors; its name is "kind"."""
        return {"kind": self.kind, **self.to_json()}

    @classmethod
    @abstractmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The law written by `to_json` or `part_to_json`; `InvalidInput` for data that describe none."""


REGISTRY: dict[str, str] = {
    "layers": "utmost.mechanism.noise.staircase:StaircaseLaw",
    "geometric": "utmost.mechanism.noise.staircase:StaircaseLaw",
    "staircase": "utmost.mechanism.noise.staircase:StaircaseLaw",
    "canonical": "utmost.mechanism.noise.canonical:CanonicalLaw",
    "gaussian": "utmost.mechanism.noise.gaussian:GaussianLaw",
    "rounded Gaussian": "utmost.mechanism.noise.gaussian:RoundedGaussian",
    "discrete Gaussian": "utmost.mechanism.noise.gaussian:DiscreteGaussian",
    "independent": "utmost.mechanism.noise.independent:IndependentLaw",
    "balls": "utmost.mechanism.noise.balls:BallLaw",
    "carried": "utmost.mechanism.noise.carried:CarriedLaw",
}
"""The class of each name in files, as "module:Class"; some laws have a name as a number's noise and one in vectors."""


def read_law(name: Any, data: Mapping[str, Any], on_vectors: bool = False) -> NoiseLaw:
    """The law of an untrusted file: of one integer, or of vectors.

    Examples
    --------
    >>> read_law("geometric", {"decay": "1/3"}).tail([1, 2]).round(6)
    array([0.25    , 0.083333])
    """
    if isinstance(name, str) and name in REGISTRY:
        module, _, class_name = REGISTRY[name].partition(":")
        law_class: type[NoiseLaw] = getattr(import_module(module), class_name)
        if law_class.on_vectors == on_vectors:
            return law_class.from_json(data)
    raise InvalidInput("the file holds noise of a kind that this version does not know.")


def whole_numbers(numbers: ArrayLike) -> NDArray[Any]:
    """Whole numbers as an array of 64-bit integers, or of Python integers if it is one already."""
    array = np.asarray(numbers)
    return array if array.dtype == object else np.asarray(array, dtype=np.int64)
