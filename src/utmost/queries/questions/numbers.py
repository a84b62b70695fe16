"""The first kind of question: the answer is a number, or several, made of integers that were released with noise.

One integer is released by the best mechanism on its line, with the best guess put in place of what comes out unless
`unbiased` asks for the noisy number itself. Several integers get one vector of noise made for the moves that one
neighbour can really make, and nothing is cut off or guessed: their errors have mean 0.

Most integers are sums over rows of what a row adds (`Adds`), which also says how far one neighbour moves them: a row
that comes or goes moves one count by 1, one that is replaced moves one down and another up by 1.

**The usual alternatives** that every answer is compared with, from their laws, with nothing drawn: Laplace noise,
Gaussian noise at (epsilon, 1e-6) and geometric noise, each calibrated to how far a neighbour moves the number, rounded
to the next integer and, for one number, cut off at the ends of its line. The noise K is symmetric, so the loss of x + K
cut off at 0 and m is the sum of what each side costs: with c(t) the loss of t steps off and T(t) = Pr[K >= t],

    H(x) = sum over t = 1..x of (c(t) - c(t-1)) T(t),     expected loss at x = H(x) + H(m - x).
"""

from __future__ import annotations

import hashlib
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput, shown
from utmost.exact import as_plain
from utmost.exact.arrays import Floats
from utmost.privacy import ApproxDP, GaussianDP, Level
from utmost.queries.accuracy import BY_LAW, CONFIDENCE, After, Before
from utmost.queries.arguments import Of
from utmost.queries.contributions import Contribution, ones, query, rows_with
from utmost.queries.predicate import EVERY_ROW, Where, as_condition
from utmost.queries.questions.question import (
    SHOWN,
    Question,
    as_loss,
    as_of,
    in_units,
    scaled,
    shown_with,
    with_rounding,
)
from utmost.space.integers import Lattice, Moves
from utmost.space.line import Line, cost, line_prior, tolerance, within

if TYPE_CHECKING:
    from utmost.solution import Solution

Tail: TypeAlias = Callable[[Floats], Floats]
DELTA = 1e-6
FAR = 45.0
COARSE = 1000
"""Noise for more steps than this is compared in steps so large that a neighbour moves by this many: within 0.1 %."""
MOST_WIDE = 4_000_000
"""How wide noise matters in comparisons."""


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
    def rounding(self) -> Fraction:
        """How far rounding the values of rows moves a released number at most, in the unit of the answer."""
        return Fraction(0)

    @property
    def names(self) -> tuple[str, ...]:
        """What the released integers are called."""
        return (self.name,)

    def require_released(self, released: Mapping[str, Any]) -> None:
        if not all(type(value) is int for value in released.values()):
            raise InvalidInput("what is released are whole numbers.")

    @property
    def average(self) -> float:
        return self._scaled(self.solution.value) + self.loss_from_rounding

    def before(self) -> Before:
        from utmost.theory.scalar.line import LineMechanism

        mechanism = self.solution.mechanism
        among = mechanism.worst_among(self.loss) if isinstance(mechanism, LineMechanism) else ""
        more = self.loss_from_rounding
        worst = self._scaled(mechanism.worst(self.loss)) + more
        rounds, holds = self.rounds_to if more else "", getattr(self, "holds_of", "")
        return Before(self.loss, self.average, worst, worst_among=among, holds=holds, from_rounding=more, rounds=rounds)

    @property
    def is_released(self) -> bool:
        """Whether the answer is what is released, and errs as its noise does; else it is made of it, as a mean is."""
        return type(self).average is Numbers.average

    def off_by_more(self, error: Fraction) -> float:
        if not self.is_released:
            return super().off_by_more(error)
        left = error - Fraction(self.off_by_rounding)
        return 1.0 if left < 0 else float(self.solution.mechanism.expected(f"within {left // self.step}"))

    def compared(self) -> dict[str, dict[str, float]]:
        losses = shown_with(self.loss)
        ours = {each: self.solution.mechanism.expected(each) for each in losses}
        found = in_units({"Utmost": ours, **self.alternatives(losses)}, losses, self.step)
        return with_rounding(found, self.off_by_rounding)

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

    @property
    def condition(self) -> str:
        moves = getattr(self.space, "moves", "")
        return "" if moves == "sum-zero" else super().condition  # there nothing is clamped

    def near_limit(self, released: Mapping[str, Any], after: After) -> bool:
        """Whether a released integer is within its noise's 95 % of an end that it is clamped to."""
        space = self.space
        if isinstance(space, Line):
            (low, high), (first, last) = next(iter(after.intervals.values())), space.ends
            more = self.rounding
            return bool(high - more >= last * self.step or (first < 0 and low + more <= first * self.step))
        if not isinstance(space, Lattice):
            return any(high >= self.most_rows for _, high in after.intervals.values())
        numbers = [value if isinstance(value, list) else [value] for value in released.values()]
        return reaches_an_end(numbers, self.solution.mechanism.noise.half_width(CONFIDENCE), space)

    def _within(self, released: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
        """An interval for every released integer from the noise's own law."""
        half = self.solution.mechanism.noise.half_width(CONFIDENCE)
        return {name: self._with_rounding(released[name] - half, released[name] + half) for name in self.names}

    def _with_rounding(self, low: int, high: int) -> tuple[Any, Any]:
        """The ends of an interval in the unit of the answer, and what rounding can do beside the noise."""
        return as_plain(low * self.step - self.rounding), as_plain(high * self.step + self.rounding)


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
        unbiased = require_unbiased(self.unbiased) or not self.space.bounded  # without ends nothing is guessed
        self.settle(prior=line_prior(self.space, self.prior), unbiased=unbiased)

    @property
    def space(self) -> Line:
        raise NotImplementedError

    @property
    def judged_by(self) -> dict[str, Any]:
        """What the mechanism is best for, as plain data."""
        return {"loss": self.loss, "prior": prior_text(self.prior), "unbiased": self.unbiased}

    def design(self) -> Solution:
        from utmost.theory.scalar.design.line import best_on_line

        return best_on_line(self.space, self.privacy, self.loss, self.prior, self.unbiased)

    def sketch(self) -> Solution | None:
        from utmost.theory.scalar.design.line import sketch_on_line

        return sketch_on_line(self.space, self.privacy, self.loss, self.prior, self.unbiased)

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

    @property
    def posed(self) -> dict[str, Any]:
        return {**super().posed, "prior": self.prior, "unbiased": self.unbiased}

    def point(self, found: Mapping[str, int]) -> int:
        return self.space.clamp(found[self.names[0]])

    @property
    def least(self) -> int | None:
        """The least that the integer can be, of any table; None where it may be any number."""
        return None

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
        if not self.space.bounded and self.least is not None:  # the truth is no less, so the interval holds it as often
            low, high = max(low, self.least), max(high, self.least)
        ends = {name: self._with_rounding(low, high)}
        if self.unbiased or self._cut_off:  # what to believe would be a list of millions of points
            return After(ends, given=self.by_law)
        points, chances = mechanism.posterior(released[name])
        expected = float(chances @ cost(self.loss, points - released[name]))
        more = self.loss_from_rounding
        return After(ends, given=self.by_law, expected=self._scaled(expected) + more, from_rounding=more)

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
class Adds(Question):
    """A question whose integers are sums over rows.

    Attributes
    ----------
    loss : what the mechanism is best for
    """

    parts: ClassVar[tuple[str, ...]] = ()
    """What the integers are called."""

    loss: str = "absolute"

    @abstractmethod
    def contributions(self, source: Source) -> tuple[Contribution, ...]:
        """What a row adds to each integer."""

    @property
    def reach_of_row(self) -> tuple[Moves, int]:
        """What one row does to several integers, and how many such moves it makes at most."""
        raise NotImplementedError

    @property
    def range_of_row(self) -> tuple[int, int]:
        """Between which integers, 0 among them, what a row adds lies."""
        raise NotImplementedError

    def line(self, moved: int) -> Line:
        """Where one integer lies that a row, or one in its place, moves by so much."""
        if self.most_rows is None:
            return Line(None, None, moved * self.rows_each)
        first, last = (self.most_rows * end for end in self.range_of_row)
        return Line(first, last, min(moved * self.rows_each, last - first))

    def lattice(self, groups: int = 1) -> Lattice:
        """Where all integers of so many groups lie, each row being in one of them."""
        (moves, reach), rows, most = self.reach_of_row, self.rows_in_group, self.terms.unit.at_most
        each = reach * rows if rows < self.rows_each else None
        low, high = (None, None) if most is None else (most * rows * end for end in self.range_of_row)
        return Lattice(len(self.parts) * groups, moves, reach * self.rows_each, low, high, each)

    def query(self, source: Source, secret: bytes) -> Any:
        """The sums over all rows, as a query."""
        rows = dict(zip(self.parts, self.contributions(source), strict=True))
        return query(source, self.bounded_unit, self.rows_each, rows, secret)

    def statement(self, source: Source, secret: bytes) -> Statement:
        return source.statement(self.query(source, secret))


@dataclass(frozen=True, eq=False, kw_only=True)
class AddsOnes(Adds):
    """How many rows, or people, there are.

    Attributes
    ----------
    where : which rows take part
    of : what is counted
    """

    parts: ClassVar[tuple[str, ...]] = ("count",)

    where: Where = EVERY_ROW
    of: Of = "rows"

    def __post_init__(self) -> None:
        self.settle(of=as_of(self.of, self.terms.unit))  # first: how many rows take part depends on it
        super().__post_init__()

    @property
    def reach_of_row(self) -> tuple[Moves, int]:
        return self.terms.moves, 1

    @property
    def range_of_row(self) -> tuple[int, int]:
        return 0, 1

    @property
    def least(self) -> int | None:
        """No count is below 0."""
        return 0

    def contributions(self, source: Source) -> tuple[Contribution, ...]:
        return (ones(source, self.where.given),)

    def query(self, source: Source, secret: bytes) -> Any:
        if self.terms.unit.id is not None:
            return super().query(source, secret)
        where = self.where.given
        return rows_with(source, None if where is None else as_condition(where, source), self.parts[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class OneNoise(Numbers):
    """Several integers with one vector of noise, of which sums are made or quotients."""

    independent: ClassVar[bool] = False
    """Whether each integer has noise of its own, so that sums of noises have a known law."""

    @property
    @abstractmethod
    def space(self) -> Lattice: ...

    def design(self) -> Solution:
        from utmost.theory.vector.design.vectors import best_vector

        return best_vector(self.space, self.privacy, self.loss, independent=self.independent)

    def sketch(self) -> Solution | None:
        from utmost.theory.vector.design.vectors import sketch_vector

        return sketch_vector(self.space, self.privacy, self.loss, independent=self.independent)


@dataclass(frozen=True, eq=False, kw_only=True)
class Parts(Adds, OneNoise):
    """One answer that is made of several integers, such as a mean of two sums."""

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

    def point(self, found: Mapping[str, int]) -> tuple[int, ...]:
        return self.space.clamp([found[name] for name in self.names])

    def released(self, drawn: Any) -> dict[str, Any]:
        return {name: int(x) for name, x in zip(self.names, drawn, strict=True)}


NOISY_TOTAL = {"total": "noisy"}
TOTAL_NOTE = (
    "the counts hold every row, and their sum has noise, too: how many rows a CSV file has may depend on what one of "
    "them says; of Parquet, a frame or a database it would be published as it is, with less noise on each count"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Vector(Numbers):
    """Several integers with one vector of noise; the answer is a dict."""

    @property
    def holds_every_row(self) -> bool:
        """Whether every row counts for exactly one of the integers, as the question is written."""
        return False

    @property
    def same_total(self) -> bool:
        """Whether the integers add up to the same on both of two neighbours, so that no noise is needed on that."""
        return self.holds_every_row and self.terms.same_total and self.terms.fixed_rows

    @property
    def noisy_total(self) -> dict[str, str]:
        """Of `public`: that the total has noise because of the kind of table; where it would have it anyway, nothing.

        Without it the total has none: so it is in reports and ledgers of versions that did not know of it.
        """
        return NOISY_TOTAL if self.holds_every_row and self.terms.same_total and not self.terms.fixed_rows else {}

    @property
    def space(self) -> Lattice:
        raise NotImplementedError

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


def reaches_an_end(numbers: Sequence[Sequence[int]], half: int, space: Lattice) -> bool:
    """Whether one of several released lists of integers comes within its noise of an end that it is clamped to."""
    if space.lower is None or space.upper is None:
        return False
    largest, least = max(max(each, default=0) for each in numbers), min(min(each, default=0) for each in numbers)
    return bool(largest + half >= space.upper or (space.lower < 0 and least - half <= space.lower))


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


# ---- the usual alternatives ----


def number_alternatives(
    line: Line, level: Level, losses: Sequence[str], prior: Floats | None
) -> dict[str, dict[str, float]]:
    """The expected losses of the alternatives for a number, by name and loss."""
    if prior is None and line.reach > COARSE:
        times = line.reach / COARSE
        coarse = Line(0, max(round((line.points - 1) / times), COARSE), COARSE)
        return _finer(
            number_alternatives(coarse, level, [_coarser(loss, times) for loss in losses], None), losses, times
        )
    return {
        name: {loss: expected_cut_off(line, tail, wide, loss, prior) for loss in losses}
        for name, (tail, wide) in tails(line.reach, line.reach, level).items()
    }


def noise_alternatives(space: Lattice, level: Level, losses: Sequence[str]) -> dict[str, dict[str, float]]:
    """The expected losses of independent noise on every integer of a vector, nothing cut off, by name and loss."""
    times = max(1.0, space.reach / COARSE)
    coarse, (far, straight) = [_coarser(loss, times) for loss in losses], _sizes(space)
    line = Line(0, 2 * MOST_WIDE, 1)  # so long that its ends do not matter
    found = {
        name: {loss: 2 * float(_one_side(line, tail, wide, loss)[-1]) for loss in coarse}
        for name, (tail, wide) in tails(far / times, straight / times, level).items()
    }
    return _finer(found, losses, times)


def _coarser(loss: str, times: float) -> str:
    """A loss in steps that are so many times larger."""
    return f"within {round(tolerance(loss) / times)}" if within(loss) is not None else loss


def _finer(found: dict[str, dict[str, float]], losses: Sequence[str], times: float) -> dict[str, dict[str, float]]:
    """Losses in large steps as those in steps that are so many times smaller."""
    return {
        name: {loss: scaled(loss, by[_coarser(loss, times)], times) for loss in losses} for name, by in found.items()
    }


def _sizes(space: Lattice) -> tuple[int, float]:
    """How far one neighbour moves all integers together: the sum of what it does, and the length (l1 and l2)."""
    from utmost.space.sensitivity import square_of_moves, sum_of_moves

    return sum_of_moves(space) or space.reach, math.sqrt(square_of_moves(space)) or float(space.reach)


def expected_cut_off(line: Line, tail: Tail, wide: int, loss: str, prior: Floats | None = None) -> float:
    """The expected loss of symmetric noise that is cut off at the ends of a line; `tail(t)` is Pr[K >= t]."""
    last, one_side = line.points - 1, _one_side(line, tail, wide, loss)
    if prior is None:
        return float(2 * (one_side.sum() + (last + 1 - len(one_side)) * one_side[-1]) / (last + 1))
    return float(prior @ _both_sides(one_side, last))


def _one_side(line: Line, tail: Tail, wide: int, loss: str) -> Floats:
    """H(x) for x = 0, 1, ..., as far as it grows."""
    steps = np.arange(0.0, min(line.points - 1, wide) + 1)
    return np.concatenate([[0.0], np.cumsum(np.diff(cost(loss, steps)) * tail(steps[1:]))])


def _both_sides(one_side: Floats, last: int) -> Floats:
    """H(x) + H(m - x) at every point."""
    here = one_side[np.minimum(np.arange(last + 1), len(one_side) - 1)]
    return np.asarray(here + here[::-1])


def tails(reach: float, straight: float, level: Level) -> dict[str, tuple[Tail, int]]:
    """Pr[K >= t] for t >= 1 of each noise, rounded to integers, and how far it matters.

    One neighbour moves what is answered by at most `reach` in all (l1); `straight` (l2) is the same for one number.
    """
    found: dict[str, tuple[Tail, int]] = {}
    if isinstance(level, ApproxDP) and 0 < level.log_growth < math.inf:
        rate = level.log_growth / reach
        wide = min(MOST_WIDE, math.ceil(FAR / rate) + 1)
        found["Laplace"] = (lambda t: 0.5 * np.exp(-(t - 0.5) * rate), wide)
        found["geometric"] = (lambda t: np.exp(-t * rate) / (1 + math.exp(-rate)), wide)
    spread = gaussian_spread(level) * straight
    if math.isfinite(spread):
        from scipy.special import ndtr

        name = f"Gaussian, delta = {DELTA:g}" if isinstance(level, ApproxDP) and level.delta == 0 else "Gaussian"
        found[name] = (lambda t: ndtr(-(t - 0.5) / spread), min(MOST_WIDE, math.ceil(9 * spread) + 2))
    return found


def gaussian_spread(level: Level) -> float:
    """The standard deviation that keeps a level at sensitivity 1; pure levels get delta = 1e-6 (Balle, Wang 2018)."""
    from scipy.special import log_ndtr, ndtr

    if isinstance(level, GaussianDP):
        return 1 / float(level.mu) if level.mu > 0 else math.inf
    if not isinstance(level, ApproxDP) or not level.log_growth < 500:
        return math.inf
    epsilon, delta = level.log_growth, float(level.delta) or DELTA

    def spent(sigma: float) -> float:
        first, second = 0.5 / sigma - epsilon * sigma, -0.5 / sigma - epsilon * sigma
        return float(ndtr(first) - math.exp(epsilon + float(log_ndtr(second))))

    low, high = 1e-3, 1e9
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if spent(middle) <= delta else (middle, high)
    return high
