"""Several quantiles of a column at once, from one release.

Values are rounded to the nearest candidate, and the number of rows of each candidate is released: disjoint cells with
independent noise. Quantiles are post-processing of these counts, so ten of them cost as much as one. The q-quantile is
the lowest candidate c with F(c) >= q n, where F are the running sums of the cells, made to increase, and n the last of
them.

**Intervals.** Let G(c) = F(c) - q n. At the true quantile G >= 0, and at the candidate before it G < 0. The noise of
G(c) is a weighted sum of that of the cells, 1 - q for those up to c and -q for the others, so its law is known: with h
its half width at 95 %, the noisy G is below -h at the quantile with probability at most 2.5 %, and above h before it
with at most 2.5 %. The candidates that neither event rules out contain the quantile with 95 %, for every table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from utmost.backends.source import Source, Statement, as_column
from utmost.errors import InvalidInput, shown
from utmost.exact import Number, as_rational
from utmost.exact.arrays import Floats
from utmost.queries.accuracy import CONFIDENCE, After, Before
from utmost.queries.arguments import Of, listed, plain
from utmost.queries.candidates import as_candidates
from utmost.queries.cells import range_cells, tally_statement
from utmost.queries.losses import as_loss
from utmost.queries.predicate import EVERY_ROW, Where
from utmost.queries.questions.alternatives import noise_alternatives
from utmost.queries.questions.integer_limits import is_near_end
from utmost.queries.questions.nested import increasing
from utmost.queries.questions.question import Question, as_of
from utmost.queries.report.words import question_in_words
from utmost.space.integers import Lattice, Strategy

if TYPE_CHECKING:
    from utmost.solution import Solution

MOST_SHARES = 100
MOST_CANDIDATES, MOST_DENOMINATOR = 200, 1000
HOLDS = (
    "by how many rows the count at or below a candidate, less its share of all, is off; a quantile is off by the rows "
    "between it and where that difference is 0"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Quantiles(Question):
    """Which candidates are the quantiles of a column, its values rounded to the nearest candidate.

    Attributes
    ----------
    column : str
        The column.
    shares : tuple of Fraction
        The orders of the quantiles.
    candidates : tuple of numbers
        The candidates, in increasing order.
    where : Where
        Which rows are used.
    of : "rows" or "people"
        Whose values count.
    loss : "absolute"
        The loss of one count, for which the noise is designed.
    """

    name = "quantile"
    summary = "several quantiles of a column from one release"
    options = ()  # the command takes one quantile at a time
    people_by_one_row: ClassVar = True

    column: str
    shares: Any
    candidates: Any
    where: Where = EVERY_ROW
    of: Of = "rows"
    loss: str = "absolute"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.set_fields(column=as_column(self.column), shares=as_shares(self.shares))
        self.set_fields(candidates=as_listed_candidates(self.candidates))
        self.set_fields(loss=as_loss(self.loss, ("absolute",)), of=as_of(self.of, self.terms.unit))

    @property
    def one_row_clause(self) -> str:
        return "of one row of each person chosen at random"

    @property
    def words(self) -> str:
        which = ", ".join("the median" if q == Fraction(1, 2) else f"the {float(q):g} quantile" for q in self.shares)
        phrase = f"What are {which} of {self.column}, values rounded to the nearest candidate"
        return question_in_words(phrase, self.where, self.rows_clause)

    @property
    def public(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {"column": self.column, "shares": [str(q) for q in self.shares]}
        parameters |= {"candidates": list(self.candidates), "where": self.where.text, "of": self.of}
        return {"question": self.name, **parameters, "loss": self.loss, "prior": "uniform"}

    @property
    def key_columns(self) -> tuple[str, ...]:
        return ("quantile",)

    @property
    def cells(self) -> Lattice:
        """The space of the disjoint counts of rows nearest to each candidate."""
        return self.counts_of(len(self.candidates), self.terms.moves)

    @property
    def space(self) -> Lattice | Strategy:
        """The space of the solution: the cells, or weighted sums of them."""
        space, cells = self.solution.problem.space, self.cells  # from a report, it may be anything
        return space if isinstance(space, Strategy) and space.cells == cells else cells

    @property
    def releases_sums(self) -> bool:
        """Whether weighted sums of cells are released, from which counts are least squares estimates."""
        return isinstance(self.space, Strategy)

    def design(self) -> Solution:
        from utmost.theory.vector.design.vectors import best_vector
        from utmost.theory.workload.design.nested_counts import sum_losses
        from utmost.theory.workload.design.strategies import best_strategy, count_losses

        cells = best_vector(self.cells, self.privacy, self.loss, True)
        better = best_strategy(self.cells, self.privacy, self.loss)
        if better is None or better.value > sum_losses(cells.mechanism.noise, ("squared",))["squared"]:
            return cells
        cell_loss = sum_losses(cells.mechanism.noise, (self.loss,))[self.loss]
        return better if count_losses(better)[self.loss] < cell_loss else cells

    def statement(self, source: Source, secret: bytes) -> Statement:
        cells = range_cells(source, self.column, [float(x) for x in self.candidates])
        return tally_statement(source, self.bounded_unit, self.rows_each, cells, self.where.text, secret)

    def point(self, engine_result: Mapping[str, int]) -> tuple[int, ...]:
        space = self.space
        cells = self.cells.clamp([engine_result[f"c{i}"] for i in range(len(self.candidates))])
        return tuple((space.matrix @ np.array(cells)).tolist()) if isinstance(space, Strategy) else cells

    def released(self, sample: Any) -> dict[str, Any]:
        label = "sum" if self.releases_sums else "cell"
        return {f"{label} {i + 1}": int(x) for i, x in enumerate(sample)}

    def require_released(self, released: Mapping[str, Any]) -> None:
        if not all(type(value) is int for value in released.values()):
            raise InvalidInput("what is released are whole numbers.")

    def value(self, released: Mapping[str, Any]) -> dict[float, Any]:
        sums = self._running(released)
        return {float(q): self.candidates[_place(sums, q)] for q in self.shares}

    def probability_off_by_more(self, error: Fraction) -> float:
        from utmost.theory.workload.design.nested_counts import sum_losses
        from utmost.theory.workload.design.strategies import off_by_more

        if self.releases_sums:
            return off_by_more(self.solution, float(error))
        loss = f"within {error // 1}"
        return sum_losses(self.solution.mechanism.noise, (loss,))[loss]

    def before(self) -> Before:
        sizes = np.array([self._errors(q)[0] for q in self.shares])
        return Before("rank", float(sizes.mean()), float(sizes.max()), holds=HOLDS)

    @property
    def average(self) -> float:
        return self.accuracy.average or 0.0

    def after(self, released: Mapping[str, Any]) -> After:
        """For each quantile, the first and the last candidate that the noisy counts do not rule out."""
        sums, grid = self._running(released), as_candidates(self.candidates)
        ends = {}
        for q, half in zip(self.shares, self._half_widths, strict=True):
            over = np.array([float(count - q * sums[-1]) for count in sums])
            possible = over >= -half
            possible[1:] &= over[:-1] <= half[:-1]
            possible[_place(sums, q)] = True
            places = np.flatnonzero(possible)
            ends[float(q)] = grid.between(int(places[0]), int(places[-1]), whole=False)
        return After(ends, given=self.limits_clause, by_law=True)

    def near_limit(self, released: Mapping[str, Any], after: After) -> bool:
        space = self.space
        if isinstance(space, Strategy):
            return max(self._running(released)) >= self.stated_rows
        half_width = self.solution.mechanism.noise.half_width(CONFIDENCE)
        return is_near_end([[number] for number in released.values()], half_width, space)

    def expected_losses(self) -> dict[str, dict[str, float]]:
        nested = replace(self.cells, moves="one-way")  # a row changes some running counts, all in one direction
        alternatives = noise_alternatives(nested, self.privacy, ("absolute",))
        return {
            "Utmost": {"rank": self.average},
            **{name: {"rank": by["absolute"]} for name, by in alternatives.items()},
        }

    @property
    def takes_any_noise(self) -> bool:
        return True

    @property
    def certificate_subject(self) -> str:
        return "the variance of one count" if self.releases_sums else "the cells they are read off"

    @property
    def notes(self) -> tuple[str, ...]:
        return ("all of them are read off one release: the rows nearest to each candidate",)

    def _running(self, released: Mapping[str, Any]) -> list[int]:
        """The noisy numbers of rows at or below each candidate."""
        from utmost.theory.workload.least_squares import running_counts

        space = self.space
        are_integers = all(type(x) is int for x in released.values())
        if not are_integers or len(released) != space.dimension:
            raise InvalidInput(f"{space.dimension} whole numbers must be released.")
        if isinstance(space, Strategy):
            estimates = running_counts(space, [released[f"sum {i + 1}"] for i in range(space.dimension)])
            return [math.floor(count + Fraction(1, 2)) for count in estimates]
        return list(accumulate(released[f"cell {i + 1}"] for i in range(space.dimension)))

    def _errors(self, q: Fraction) -> tuple[Floats, Floats]:
        """The expected absolute error of F - q n at every candidate, and its 95 % half width."""
        from utmost.theory.vector.design.weighted_sums import half_widths, mean_sizes
        from utmost.theory.workload.design.strategies import count_errors

        if self.releases_sums:  # two rounded counts
            sizes, halves = count_errors(self.solution, q)
            return sizes, halves + 1
        noise, weights = self.solution.mechanism.noise, self._weights(q)
        return mean_sizes(noise, *weights), half_widths(noise, *weights, CONFIDENCE)

    def _weights(self, q: Fraction) -> tuple[Floats, Floats]:
        """For every candidate, the weights of the noise of cells, and the number of cells with each weight."""
        sizes = np.arange(1, len(self.candidates) + 1)
        weights = np.tile([float(1 - q), float(q)], (len(sizes), 1))
        return weights, np.column_stack([sizes, len(sizes) - sizes])

    @cached_property
    def _half_widths(self) -> list[Floats]:
        return [self._errors(q)[1] for q in self.shares]


def _place(running: Sequence[int], q: Fraction) -> int:
    """The index of a quantile among the candidates, by noisy running counts that are made to increase."""
    sums = increasing(running)
    return next((i for i, count in enumerate(sums) if count >= q * sums[-1]), len(sums) - 1)


def as_shares(shares: Any) -> tuple[Fraction, ...]:
    """Return the orders of quantiles as fractions; refuse an empty list, or one with duplicates."""
    share_list = listed(shares)
    if (
        isinstance(share_list, str | bytes)
        or not isinstance(share_list, Sequence)
        or not 1 <= len(share_list) <= MOST_SHARES
    ):
        raise InvalidInput(f"q is {shown(shares)}; give a share such as 0.5, or a list of 1 to {MOST_SHARES} of them.")
    try:
        fractions = tuple(as_share(q) for q in share_list)
    except InvalidInput:
        if isinstance(shares, list | tuple):
            raise
        raise InvalidInput(f"q is {shown(shares)}; give a list of shares between 0 and 1, such as [0.5].") from None
    if len(set(fractions)) < len(fractions):
        raise InvalidInput(f"q is {shown(shares)}, which has a share twice; list each once.")
    return tuple(as_rational(q) for q in fractions)


def as_share(q: Number) -> Fraction:
    """Return the order of a quantile as a fraction between 0 and 1."""
    share = as_rational(q, "q")
    if not 0 < share < 1 or share.denominator > MOST_DENOMINATOR:
        raise InvalidInput(
            f"q is {shown(q)}; give a share between 0 and 1 with a denominator of at most {MOST_DENOMINATOR}, such as "
            "0.5."
        )
    return share


def as_listed_candidates(candidates: Any) -> tuple[Any, ...]:
    """Return candidates as a tuple of increasing numbers."""
    candidate_list = listed(candidates)
    values = [plain(x) for x in candidate_list] if isinstance(candidate_list, Sequence) else []  # a set has no order
    if len(values) > MOST_CANDIDATES:
        raise InvalidInput(
            f"there are {len(values)} candidates; give at most {MOST_CANDIDATES}, such as "
            f"candidates[::{-(-len(values) // MOST_CANDIDATES)}]."
        )
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) and abs(x) < 2**53 for x in values)
    if not numbers or len(values) < 2 or any(a >= b for a, b in pairwise(values)):
        raise InvalidInput(
            f"candidates is {shown(candidates)}; give 2 to {MOST_CANDIDATES} public numbers in increasing order, such "
            "as range(0, 101, 5)."
        )
    return tuple(values)
