"""The first kind of question: the answer is a number, or several, made of integers that were released with noise.

One integer is released by the best mechanism on its line, with the best guess put in place of what comes out unless
`unbiased` asks for the noisy number itself. Several integers get one vector of noise made for the moves that one
neighbour can really make, and nothing is cut off or guessed: their errors have mean 0.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from utmost.errors import InvalidInput, shown
from utmost.exact import as_plain
from utmost.exact.arrays import Floats
from utmost.mechanism.line import LineMechanism, cost
from utmost.release.accuracy import BY_LAW, CONFIDENCE, After, Before
from utmost.release.alternatives import noise_alternatives, number_alternatives
from utmost.release.arguments import SHOWN, as_loss, in_units, line_prior, scaled, shown_with
from utmost.release.questions.adding import Adds
from utmost.release.questions.question import Question
from utmost.space.integers import Lattice, Line, Moves, Strategy

if TYPE_CHECKING:
    from utmost.solution import Solution


ROUNDED = 1e-6
"""What estimates may be off by in floats."""
SUMMED = (
    "the counts lie inside each other: released are weighted sums of the rows between them, and a count is the least "
    "squares estimate made of all of them, rounded"
)
ADDED = (
    "the counts lie inside each other: released are the rows of each that the one inside it leaves out, and a count is "
    "their sum"
)


SHORT = 1000
"""A line of fewer points is short: its ends matter to how accurate a best guess is."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Numbers(Question):
    """A question whose answer is made of integers with noise.

    Attributes
    ----------
    loss : what the mechanism is best for
    """

    best_for: ClassVar[tuple[str, ...]] = SHOWN
    """The losses that the mechanism can be best for."""

    loss: str = "absolute"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(loss=as_loss(self.loss, self.best_for))

    @property
    def step(self) -> Fraction:
        """What one step of a released integer is worth, in the unit of the answer."""
        return Fraction(1)

    @property
    def names(self) -> tuple[str, ...]:
        """What the released integers are called."""
        return (self.name,)

    def require_released(self, released: Mapping[str, Any]) -> None:
        if not all(type(value) is int for value in released.values()):
            raise InvalidInput("what is released are whole numbers.")

    @property
    def average(self) -> float:
        return self._scaled(self.solution.value)

    def before(self) -> Before:
        mechanism = self.solution.mechanism
        among = mechanism.worst_among(self.loss) if isinstance(mechanism, LineMechanism) else ""
        return Before(self.loss, self.average, self._scaled(mechanism.worst(self.loss)), worst_among=among)

    @property
    def is_released(self) -> bool:
        """Whether the answer is what is released, and errs as its noise does; else it is made of it, as a mean is."""
        return type(self).average is Numbers.average

    def off_by_more(self, error: Fraction) -> float:
        if not self.is_released:
            return super().off_by_more(error)
        return float(self.solution.mechanism.expected(f"within {error // self.step}"))

    def compared(self) -> dict[str, dict[str, float]]:
        losses = shown_with(self.loss)
        ours = {each: self.solution.mechanism.expected(each) for each in losses}
        return in_units({"Utmost": ours, **self.alternatives(losses)}, losses, self.step)

    def alternatives(self, losses: tuple[str, ...]) -> dict[str, dict[str, float]]:
        """The expected losses of the usual noises, in steps, by name and loss."""
        raise NotImplementedError

    def _scaled(self, value: float) -> float:
        return self._scaled_as(self.loss, value)

    def _scaled_as(self, loss: str, value: float) -> float:
        return scaled(loss, value, float(self.step))

    @property
    def by_law(self) -> str:
        """What an interval from the law of what is released rests on, and what it is about."""
        return BY_LAW + self.not_in_it

    def _within(self, released: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
        """An interval for every released integer from the noise's own law: whatever the table holds."""
        half = self.solution.mechanism.noise.half_width(CONFIDENCE)
        ends = {name: (released[name] - half, released[name] + half) for name in self.names}
        return {name: (as_plain(low * self.step), as_plain(high * self.step)) for name, (low, high) in ends.items()}


@dataclass(frozen=True, eq=False, kw_only=True)
class Number(Numbers):
    """One integer on a line.

    Attributes
    ----------
    prior : a probability for each possible integer, in increasing order; None is uniform
    unbiased : whether the noisy integer itself is the answer
    """

    prior: Any = None
    unbiased: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(prior=line_prior(self.space, self.prior), unbiased=require_unbiased(self.unbiased))

    @property
    def space(self) -> Line:
        raise NotImplementedError

    @property
    def judged_by(self) -> dict[str, Any]:
        """What the mechanism is best for, as plain data."""
        return {"loss": self.loss, "prior": prior_text(self.prior), "unbiased": self.unbiased}

    def design(self) -> Solution:
        from utmost.design.noise.line import best_on_line

        return best_on_line(self.space, self.privacy, self.loss, self.prior, self.unbiased)

    @property
    def told(self) -> str:
        """What the answer is to the noisy number, for the end of the question's words."""
        if self.unbiased:
            return ", as an unbiased number"
        if self._cut_off:
            return ", as the noisy number cut off at what is possible"
        return f", as the best guess under a {prior_name(self.prior)} prior"

    @property
    def notes(self) -> tuple[str, ...]:
        if self.unbiased:
            return ()
        why = (
            "is not unbiased near the ends of what is possible" if self._cut_off else "errs least, and is not unbiased"
        )
        return (f"the answer {why}; unbiased=True gives the noisy number, whose error has mean 0",)

    @property
    def _cut_off(self) -> bool:
        """Whether the noise is so wide that no guesses are tabled: then it is cut off at the ends of the line."""
        return bool(getattr(self.solution.mechanism, "remap", "best") == "cut")

    def searched(self, loss: str) -> float | None:
        """By the noise alone: the best guess errs less on average, and on a long line hardly so."""
        from utmost.design.noise.line import best_line_noise

        if not self.is_released or not (self.unbiased or (self.prior is None and self.space.points >= SHORT)):
            return None
        return self._scaled_as(loss, best_line_noise(self.space, self.privacy, self.loss).mean(loss))

    @property
    def posed(self) -> dict[str, Any]:
        return {**super().posed, "prior": self.prior, "unbiased": self.unbiased}

    def point(self, found: Mapping[str, int]) -> int:
        return self.space.clamp(found[self.names[0]])

    def released(self, drawn: Any) -> dict[str, Any]:
        return {self.names[0]: int(drawn)}

    def require_released(self, released: Mapping[str, Any]) -> None:
        super().require_released(released)
        number = released[self.names[0]]
        if not self.unbiased and self.space.clamp(number) != number:
            raise InvalidInput("the best guess of a number lies where the number does.")

    def value(self, released: Mapping[str, Any]) -> Any:
        return as_plain(released[self.names[0]] * self.step)

    def after(self, released: Mapping[str, Any]) -> After:
        name, mechanism = self.names[0], self.solution.mechanism
        low, high = mechanism.interval(released[name], CONFIDENCE)
        ends = {name: (as_plain(low * self.step), as_plain(high * self.step))}
        if self.unbiased or self._cut_off:  # what to believe would be a list of millions of points
            return After(ends, given=self.by_law)
        points, chances = mechanism.posterior(released[name])
        expected = float(chances @ cost(self.loss, points - released[name]))
        return After(ends, given=self.by_law, expected=self._scaled(expected))

    def alternatives(self, losses: tuple[str, ...]) -> dict[str, dict[str, float]]:
        if self.unbiased:  # compared with noise that is not cut off either
            line = self.space
            return noise_alternatives(Lattice(1, "any", line.reach, line.first, line.last), self.privacy, losses)
        return number_alternatives(self.space, self.privacy, losses, self.prior)

    def belief(self, released: Mapping[str, Any]) -> tuple[Any, Any] | None:
        """How likely each true value is, given the prior and the answer: for a picture; None where it was not asked."""
        if self.unbiased or self._cut_off:
            return None
        points, chances = self.solution.mechanism.posterior(released[self.names[0]])
        return points * float(self.step), chances


@dataclass(frozen=True, eq=False, kw_only=True)
class Parts(Adds, Numbers):
    """One answer that is made of several integers with one vector of noise, such as a mean of two sums."""

    independent: ClassVar[bool] = False
    """Whether each integer has noise of its own, so that sums of noises have a known law."""

    @property
    def names(self) -> tuple[str, ...]:
        return self.parts

    @property
    def space(self) -> Lattice:
        return self.lattice()

    @property
    def judged_by(self) -> dict[str, Any]:
        """What the mechanism is best for, as plain data."""
        return {"loss": self.loss, "prior": "uniform"}

    def design(self) -> Solution:
        from utmost.design.noise.vectors import best_vector

        return best_vector(self.space, self.privacy, self.loss, independent=self.independent)

    def point(self, found: Mapping[str, int]) -> tuple[int, ...]:
        return self.space.clamp([found[name] for name in self.names])

    def released(self, drawn: Any) -> dict[str, Any]:
        return {name: int(x) for name, x in zip(self.names, drawn, strict=True)}


@dataclass(frozen=True, eq=False, kw_only=True)
class Vector(Numbers):
    """Several integers with one vector of noise; the answer is a dict."""

    @property
    def space(self) -> Lattice:
        raise NotImplementedError

    def searched(self, loss: str) -> float | None:
        from utmost.design.noise.vectors import best_vector_noise

        if not self.is_released:
            return None
        return self._scaled_as(loss, best_vector_noise(self.space, self.privacy, self.loss).mean(loss))

    def point(self, found: Mapping[str, int]) -> tuple[int, ...]:
        return self.space.clamp([found[f"c{i}"] for i in range(self.space.dimension)])

    def released(self, drawn: Any) -> dict[str, Any]:
        return {name: int(x) for name, x in zip(self.names, drawn, strict=True)}

    def value(self, released: Mapping[str, Any]) -> Any:
        return {name: released[name] for name in self.names}  # in the order asked

    def after(self, released: Mapping[str, Any]) -> After:
        return After(self._within(released), given=self.by_law)

    def alternatives(self, losses: tuple[str, ...]) -> dict[str, dict[str, float]]:
        return noise_alternatives(self.space, self.privacy, losses)


@dataclass(frozen=True, eq=False, kw_only=True)
class Chained(Vector):
    """Several counts that may be nested: then the cells between them are released, and added up.

    Privacy does not rest on how conditions were read: the engine puts each row into one cell at most, the first of the
    chain that is true of it, and a count is made of cells.
    """

    @property
    def chain(self) -> tuple[str, ...]:
        """The names of nested counts, the innermost first; empty where they are not nested."""
        raise NotImplementedError

    @property
    def flat(self) -> Lattice:
        """Where the counts lie if they are not nested."""
        raise NotImplementedError

    @property
    def between(self) -> Lattice:
        """The cells between nested counts: disjoint."""
        moves: Moves = "any" if self.terms.neighbours == "add-remove" else "exchange"
        return Lattice(len(self.names), moves, min(self.rows_each, self.most_rows), 0, self.most_rows)

    @property
    def nested(self) -> Lattice:
        """The nested counts themselves.

        A row that comes or goes moves some of them, all in one direction; so does a row that is replaced, for the
        conditions that one of both rows has and the other lacks all lie between the two rows' innermost ones.
        """
        return replace(self.between, moves="one-way")

    @property
    def space(self) -> Any:
        if not self.chain:
            return self.flat
        found = self.solution.problem.space  # from a report, it may be anything
        if isinstance(found, Strategy) and found.cells == self.between:
            return found
        return self.nested if found == self.nested else self.between

    @property
    def added(self) -> bool:
        """Whether cells are released, which are added up."""
        return bool(self.chain) and self.space == self.between

    @property
    def summed(self) -> bool:
        """Whether weighted sums of cells are released, of which counts are least squares estimates."""
        return bool(self.chain) and isinstance(self.space, Strategy)

    def design(self) -> Solution:
        from utmost.design.noise.strategies import best_counts
        from utmost.design.noise.vectors import best_vector

        if not self.chain:
            return best_vector(self.flat, self.privacy, self.loss)
        return best_counts(self.between, self.nested, self.privacy, self.loss)

    def point(self, found: Mapping[str, int]) -> tuple[int, ...]:
        if not self.chain:
            return super().point(found)
        cells = [found[f"c{i}"] for i in range(len(self.chain))]
        if self.added:
            return self.between.clamp(cells)
        if self.summed:
            return tuple((self.space.matrix @ np.array(self.between.clamp(cells))).tolist())
        sums = dict(zip(self.chain, accumulate(cells), strict=True))
        return self.nested.clamp([sums[name] for name in self.names])

    def released(self, drawn: Any) -> dict[str, Any]:
        if not self.added and not self.summed:
            return super().released(drawn)
        each = "cell" if self.added else "sum"
        return {f"{each} {i + 1}": int(x) for i, x in enumerate(drawn)}

    def value(self, released: Mapping[str, Any]) -> Any:
        return self.noisy(released)

    def noisy(self, released: Mapping[str, Any]) -> dict[str, int]:
        """The counts as they follow from what was released, with errors of mean 0 (up to rounding)."""
        if not self.added and not self.summed:
            return {name: released[name] for name in self.names}
        if self.summed:
            found = [math.floor(count + 0.5) for count in self._estimates(released).tolist()]
        else:
            found = list(accumulate(released[f"cell {i + 1}"] for i in range(len(self.chain))))
        sums = dict(zip(self.chain, found, strict=True))
        return {name: sums[name] for name in self.names}

    def _estimates(self, released: Mapping[str, Any]) -> Floats:
        """Running counts by least squares, in floats."""
        from utmost.mechanism.strategies import prefix_weights

        sums = [released[f"sum {i + 1}"] for i in range(self.space.dimension)]
        return np.asarray(prefix_weights(self.space) @ np.array(sums, dtype=float))

    @property
    def average(self) -> float:
        return self._sums((self.loss,))[self.loss] if self.added or self.summed else super().average

    @property
    def is_released(self) -> bool:
        return not self.added and not self.summed

    def searched(self, loss: str) -> float | None:
        return None if self.chain else super().searched(loss)

    def off_by_more(self, error: Fraction) -> float:
        if self.summed:
            from utmost.design.noise.strategies import off_by_more

            return off_by_more(self.solution, float(error / self.step))
        if not self.added:
            return super().off_by_more(error)
        loss = f"within {error // self.step}"
        return self._sums((loss,))[loss]

    def before(self) -> Before:
        if not self.added and not self.summed:
            return super().before()
        last = self._sums((self.loss,), last=True)[self.loss]
        return Before(self.loss, self.average, last, holds="the worst is the outermost count")

    def after(self, released: Mapping[str, Any]) -> After:
        if not self.added and not self.summed:
            return super().after(released)
        if self.summed:
            return After(self._around_estimates(released), given=self.by_law)
        from utmost.design.noise.sums import sum_half_widths

        widths = sum_half_widths(self.solution.mechanism.noise, CONFIDENCE)
        half, sums = dict(zip(self.chain, widths, strict=True)), self.noisy(released)
        return After(
            {name: (sums[name] - half[name], sums[name] + half[name]) for name in self.names}, given=self.by_law
        )

    def _around_estimates(self, released: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
        """The whole numbers within the half width of an estimate, and what it is rounded to."""
        from utmost.design.noise.strategies import count_errors

        halves, shown = count_errors(self.solution)[1], self.noisy(released)
        found = {}
        for name, estimate, half in zip(self.chain, self._estimates(released).tolist(), halves.tolist(), strict=True):
            low, high = math.ceil(estimate - half - ROUNDED), math.floor(estimate + half + ROUNDED)
            found[name] = (min(low, shown[name]), max(high, shown[name]))
        return {name: found[name] for name in self.names}

    def compared(self) -> dict[str, dict[str, float]]:
        if not self.added and not self.summed:
            return super().compared()
        losses = shown_with(self.loss)
        if self.summed:
            losses = tuple(loss for loss in losses if loss in ("absolute", "squared"))
        return {"Utmost": self._sums(losses), **noise_alternatives(self.nested, self.privacy, losses)}

    @property
    def proved_of(self) -> str:
        if not self.chain:
            return ""
        if self.summed:
            return "the variance of one count"
        return "the cells that are added up" if self.added else "counts that may overlap"

    @property
    def notes(self) -> tuple[str, ...]:
        how = ADDED if self.added else SUMMED if self.summed else ""
        may_fall = "" if getattr(self, "monotone", False) else "; it may come out below one inside it"
        return (how + may_fall,) if how else ()

    def _sums(self, losses: tuple[str, ...], last: bool = False) -> dict[str, float]:
        from utmost.design.noise.strategies import count_losses
        from utmost.design.noise.sums import sum_losses

        if self.summed:
            found = count_losses(self.solution, last)
            return {loss: found[loss] for loss in losses}
        return sum_losses(self.solution.mechanism.noise, losses, last)


def increasing(counts: Sequence[int]) -> list[int]:
    """The nearest whole numbers that do not fall: where counts do, neighbours take their mean (isotonic regression).

    Whatever the true counts, if these do not fall, the sum of squared errors is no larger before rounding.

    Examples
    --------
    >>> increasing([3, 1, 2, 7, 6])
    [2, 2, 2, 7, 7]
    """
    blocks: list[tuple[int, int]] = []  # sums and sizes, their means increasing
    for count in counts:
        total, size = int(count), 1
        while blocks and blocks[-1][0] * size >= total * blocks[-1][1]:
            before = blocks.pop()
            total, size = total + before[0], size + before[1]
        blocks.append((total, size))
    return [(2 * total + size) // (2 * size) for total, size in blocks for _ in range(size)]


@dataclass(frozen=True, eq=False, kw_only=True)
class Nested(Chained):
    """Counts each of which is part of the next, in the order of their names."""

    @property
    def chain(self) -> tuple[str, ...]:
        return self.names

    @property
    def flat(self) -> Lattice:
        return self.nested


def require_unbiased(unbiased: Any) -> bool:
    """Whether the noisy number itself is asked for."""
    if not isinstance(unbiased, bool):
        raise InvalidInput(f"unbiased is {shown(unbiased)}; say True for the noisy number itself, or leave it out.")
    return unbiased


def prior_name(prior: Any) -> str:
    """Whether a prior is listed."""
    return "uniform" if prior is None else "listed"


def prior_text(prior: Any) -> str:
    """A prior as plain data; a listed one by its fingerprint."""
    if prior is None:
        return "uniform"
    return "listed, " + hashlib.sha256(np.ascontiguousarray(prior).tobytes()).hexdigest()[:16]
