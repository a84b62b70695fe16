"""Quantiles of a column between public bounds, one or several, of the whole table or by keys.

The q-quantile is the least value of the clamped column with at least a share q of its n rows at or below it: the
ceil(q n)-th smallest (NumPy's "inverted_cdf"). Candidates are a fine public grid (`release.candidates`), and the engine
counts the rows nearest to each. `mechanism.ranks` says what is named, and what interval holds the quantile at every
table; it reaches to the halfway points around its candidates, so it holds the quantile of the values themselves.
A table (or group) without rows has no quantile: an answer is drawn all the same, and means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from utmost.backends.source import Source, Statement, as_column
from utmost.errors import InvalidInput
from utmost.queries.accuracy import BY_LAW, After, Before
from utmost.queries.arguments import Of
from utmost.queries.candidates import Candidates, as_candidates, as_range_of_candidates
from utmost.queries.cells import tally_groups
from utmost.queries.contributions import ones
from utmost.queries.groups import grouped_statement
from utmost.queries.keys import MOST_CELLS, named
from utmost.queries.options import Option
from utmost.queries.predicate import EVERY_ROW, Where
from utmost.queries.questions.by import Grouped
from utmost.queries.questions.choices_by import level_of_step
from utmost.queries.questions.question import Question, Terms, as_of, asking
from utmost.queries.units import Unit
from utmost.space.integers import Tables, Tallies

if TYPE_CHECKING:
    import pyarrow

    from utmost.privacy import Level
    from utmost.solution import Solution

MOST_TREES = 10**6
"""Up to how many candidates of all keys together a noisy CDF is tried."""
HOLDS = {
    "ranks.choices": "by how many rows the named value is off, where rows are spread evenly around the quantile; in "
    "the unit of the data, as much as the values of so many rows differ there",
    "ranks.cdf": "by how many rows the count at or below a candidate, less its share of all, is off; a quantile "
    "is made of several candidates and off by fewer rows; in the unit of the data, as much as the values of so many "
    "rows differ there",
}
HOW = {
    "ranks.choices": "each quantile and the two ends of its interval are chosen by their ranks: fewer rows off than "
    "reading them off a noisy CDF",
    "ranks.cdf": "all quantiles are read off one noisy CDF: fewer rows off than choosing each by itself",
}
EMPTY = "if no row has a value there is no quantile, and the answer means nothing"


@dataclass(frozen=True, eq=False, kw_only=True)
class Ranked(Question):
    """Quantiles among the candidates between two bounds.

    Attributes
    ----------
    column : whose quantiles
    shares : which, such as (1/2,)
    lower, upper, grid : what values are clamped to, and how far apart candidates are
    candidates : the candidates, where they are listed
    whole : whether the column's type is whole numbers
    one : whether one quantile was asked for, not a list of them
    """

    name = "quantile"
    summary = "quantiles of a column between public bounds"
    options: ClassVar[tuple[Option, ...]] = ()  # declared by the question of one quantile
    by_one_row: ClassVar = True

    column: str
    shares: Any
    lower: Any = None
    upper: Any = None
    grid: Any = None
    candidates: Any = None
    whole: bool = False
    one: bool = False
    where: Where = EVERY_ROW
    of: Of = "rows"
    loss: str = "rank"

    def __post_init__(self) -> None:
        from utmost.queries.questions.quantiles import as_shares

        super().__post_init__()
        self.settle(column=as_column(self.column), shares=as_shares(self.shares), of=as_of(self.of, self.terms.unit))
        if type(self.whole) is not bool or type(self.one) is not bool or self.loss != "rank":
            raise InvalidInput("quantiles by ranks are of rows; whole and one are truth values.")
        if self.one and len(self.shares) > 1:
            raise InvalidInput(f"one quantile is asked for, and {len(self.shares)} shares are listed.")
        _ = self.grid_of

    @property
    def keys(self) -> int:
        """How many groups there are."""
        return 1

    @cached_property
    def grid_of(self) -> Candidates:
        """The candidates."""
        if self.candidates is not None:
            listed = as_candidates(self.candidates)
            if listed.size * self.keys > MOST_CELLS:
                raise InvalidInput(
                    f"{self.keys:,} keys with {listed.size:,} candidates each are more than {MOST_CELLS:,} cells, the "
                    "most that are counted at once; list fewer keys, or fewer candidates."
                )
            return listed
        return as_range_of_candidates(self.lower, self.upper, self.grid, self.whole, self.keys)

    @property
    def cut(self) -> str:
        return f"values clamped to {self.grid_of}"

    @property
    def _which(self) -> str:
        which = ["median" if q == Fraction(1, 2) else f"{float(q):g} quantile" for q in self.shares]
        if len(which) == 1:
            return f"What is the {which[0]}"
        return f"What are the {', '.join(which[:-1])} and {which[-1]}"

    @property
    def one_row_words(self) -> str:
        return "of one row of each person chosen at random"

    @property
    def words(self) -> str:
        return asking(f"{self._which} of {self.column}, {self.cut}", self.where, self.kept)

    @property
    def public(self) -> dict[str, Any]:
        asked: dict[str, Any] = {"column": self.column, "shares": [str(q) for q in self.shares]}
        asked |= {**self.grid_of.public, "whole": self.whole, "one": self.one, "where": self.where.text, "of": self.of}
        return {"question": self.name, **asked, "loss": self.loss, "prior": "uniform"}

    @property
    def tallies(self) -> Tallies:
        """The rows nearest to each candidate, and what one neighbour does to them."""
        from utmost.theory.selection.ranks import MOST_COUNT

        rows = MOST_COUNT if self.most_rows is None else min(self.most_rows, MOST_COUNT)
        return Tallies(self.grid_of.size, rows, self.terms.neighbours, self.rows_each)

    @property
    def space(self) -> Any:
        from utmost.theory.selection.design.ranks import tables_of

        found = self.solution.problem.space  # from a report, it may be anything
        return tables_of(self.tallies, found.sizes) if isinstance(found, Tables) else self.tallies

    @property
    def posed(self) -> dict[str, Any]:
        cells = {"cells": self.grid_of.size} if self.by_cdf else {}
        return {"loss": self.loss, "shares": [str(q) for q in self.shares], **cells}

    @property
    def by_cdf(self) -> bool:
        """Whether quantiles are read off a noisy CDF, not chosen."""
        return bool(self.solution.problem.question == "ranks.cdf")

    def design(self) -> Solution:
        from utmost.theory.selection.design.ranks import best_ranks

        trees = self.grid_of.size * self.keys <= MOST_TREES + 1
        return best_ranks(self.tallies, self.shares, self.privacy, trees)

    def statement(self, source: Source, secret: bytes) -> Statement:
        cells = self.grid_of.cells(source, self.column)
        return tally_groups(source, self.bounded_unit, self.rows_each, cells, self.where.given, secret)

    def point(self, found: Mapping[str, Any]) -> Any:
        return np.clip(found["rows"], 0, self.tallies.rows)

    def draw(self, point: Any) -> dict[str, Any]:
        return self.released([self.places_at(point)])

    def places_at(self, counts: Any) -> list[list[int]]:
        """What is released of one tally: for every quantile its place and those of the ends of its interval."""
        mechanism = self.solution.mechanism
        if not self.by_cdf:
            drawn = mechanism.sample(counts)
            found = [drawn[i : i + 3] for i in range(0, len(drawn), 3)]
            return [[place, min(each), max(each)] for each in found for place in each[:1]]
        from utmost.theory.selection.ranks import node_counts, ranks_of, read_quantile

        branching, size = self.solution.problem.data["branching"], self.grid_of.size
        noisy = mechanism.sample(node_counts(counts, [law.dimension for law in mechanism.laws]))
        halves = self._halves
        return [
            list(read_quantile(ranks_of(noisy, size, branching, q), half))
            for q, half in zip(self.shares, halves, strict=True)
        ]

    @cached_property
    def _halves(self) -> list[Any]:
        """Of every quantile and candidate, within which ±h the noise of its rank lies."""
        from utmost.theory.selection.design.ranks import rank_half_widths
        from utmost.theory.selection.ranks import nodes_left

        laws, branching = self.solution.mechanism.laws, self.solution.problem.data["branching"]
        left = nodes_left(self.grid_of.size, branching, len(laws))
        nodes = len(laws) * (branching - 1) + 1
        return [rank_half_widths(laws[0], q, nodes)[left] for q in self.shares]

    def released(self, drawn: Any) -> dict[str, Any]:
        return {"places": [[int(at) for at in each] for each in drawn[0]]}

    def _places(self, released: Mapping[str, Any]) -> list[list[int]]:
        return require_places(released.get("places"), len(self.shares), self.grid_of.size)

    def require_released(self, released: Mapping[str, Any]) -> None:
        _ = self._places(released)

    def values_of(self, places: list[list[int]]) -> Any:
        """The answer made of places."""
        found = [self.grid_of.value(at) for at, _, _ in places]
        return found[0] if self.one else {float(q): x for q, x in zip(self.shares, found, strict=True)}

    def ends_of(self, places: list[list[int]]) -> list[tuple[Any, Any]]:
        """The intervals made of places."""
        return [self.grid_of.between(low, high, self.whole) for _, low, high in places]

    def value(self, released: Mapping[str, Any]) -> Any:
        return self.values_of(self._places(released))

    def after(self, released: Mapping[str, Any]) -> After:
        names = [self.name] if self.one else [float(q) for q in self.shares]
        found = dict(zip(names, self.ends_of(self._places(released)), strict=True))
        return After(found, given=f"{BY_LAW}{self.not_in_it}")

    def before(self) -> Before:
        from utmost.theory.selection.rank_errors import rank_errors

        errors = rank_errors(self.solution.problem, self.solution.mechanism)
        holds = HOLDS[self.solution.problem.question]
        return Before("rank", self.solution.value, max(errors), holds=f"{holds}; worst: the quantile off by most")

    @property
    def average(self) -> float:
        return self.solution.value

    def compared(self) -> dict[str, dict[str, float]]:
        return {"Utmost": {"rank": self.solution.value}}

    @property
    def key_columns(self) -> tuple[str, ...]:
        return ("quantile",)

    @property
    def proved_of(self) -> str:
        return "the ranks of candidates"

    @property
    def notes(self) -> tuple[str, ...]:
        grid = self.grid_of
        apart = "" if grid.step is None else f" {as_step(grid)} apart"
        what = f"the value is one of {grid.size:,} candidates{apart}; the interval holds the quantile of the values"
        return (HOW[self.solution.problem.question], f"{what} themselves, clamped and not rounded", EMPTY)


def as_step(grid: Candidates) -> str:
    """The step of candidates, in words."""
    from utmost.exact import show_rational

    return "" if grid.step is None else show_rational(grid.step)


def require_places(listed: Any, many: int, size: int) -> list[list[int]]:
    """The places of quantiles and of the ends of their intervals; a report may hold anything."""
    fits = isinstance(listed, list) and len(listed) == many
    for each in listed if fits else ():
        whole = isinstance(each, list) and len(each) == 3 and all(type(at) is int for at in each)
        fits = fits and whole and 0 <= each[1] <= each[0] <= each[2] < size
    if not fits:
        raise InvalidInput(f"of {many} quantiles the places of a candidate and of two ends are released.")
    found: list[list[int]] = listed
    return found


@dataclass(frozen=True, eq=False, kw_only=True)
class RankedBy(Ranked, Grouped):
    """The same for each of some public keys: every group has draws of its own."""

    summary = "quantiles of a column between public bounds in each group"

    @property
    def keys(self) -> int:
        return int(self.by.size)

    @property
    def steps(self) -> int:
        """How many steps one neighbour makes: rows added to a group or removed from it."""
        return self.rows_each * (1 if self.terms.neighbours == "add-remove" else 2)

    @property
    def proved_level(self) -> Level:
        return level_of_step(self.privacy, self.steps)

    @property
    def composition(self) -> str:
        if self.steps == 1:
            return "one neighbour changes one group, so all groups together keep it"
        return f"one neighbour makes at most {self.steps} steps in all groups, which together keep {self.privacy}"

    @cached_property
    def of_one(self) -> Ranked:
        """The question about one group, at the level of one step."""
        given = {"lower": self.lower, "upper": self.upper, "grid": self.grid, "candidates": self.candidates}
        if self.candidates is None:
            given["grid"] = self.grid_of.step
        terms = Terms(Unit(self.most_rows), "add-remove")
        return Ranked(terms=terms, privacy=self.proved_level, column=self.column, shares=self.shares, **given)

    @property
    def tallies(self) -> Tallies:
        return self.of_one.tallies

    def design(self) -> Solution:
        from utmost.theory.selection.design.ranks import best_ranks

        trees = self.grid_of.size * self.keys <= MOST_TREES + 1
        return best_ranks(self.tallies, self.shares, self.proved_level, trees)

    @property
    def words(self) -> str:
        return f"{super().words.removesuffix('?')}, by {named(self.by.names)}?"

    @property
    def public(self) -> dict[str, Any]:
        return {**super().public, "by": self.by.public}

    @property
    def key_columns(self) -> tuple[str, ...]:
        return self.by.names if self.one else (*self.by.names, "quantile")

    def statement(self, source: Source, secret: bytes) -> Statement:
        cells = self.grid_of.cells(source, self.column)
        contributions = {"rows": ones(source, self.where.given)}
        return grouped_statement(
            source, self.bounded_unit, self.rows_each, self.by, contributions=contributions, secret=secret, within=cells
        )

    def point(self, found: Mapping[str, Any]) -> Any:
        return np.clip(found["rows"], 0, self.tallies.rows).reshape(self.by.size, self.grid_of.size)

    def draw(self, point: Any) -> dict[str, Any]:
        return {"places": [self.places_at(counts) for counts in point]}

    def _by_group(self, released: Mapping[str, Any]) -> list[list[list[int]]]:
        listed = released.get("places")
        if not isinstance(listed, list) or len(listed) != self.by.size:
            raise InvalidInput(f"there are {self.by.size} keys, and as many answers must be released.")
        return [require_places(each, len(self.shares), self.grid_of.size) for each in listed]

    def require_released(self, released: Mapping[str, Any]) -> None:
        _ = self._by_group(released)

    def _named(self, found: list[list[Any]]) -> dict[Any, Any]:
        """What belongs to every group, or to every group and quantile."""
        if self.one:
            return {label: each[0] for label, each in zip(self.by.labels, found, strict=True)}
        keys = [label if isinstance(label, tuple) else (label,) for label in self.by.labels]
        return {
            (*key, float(q)): x
            for key, each in zip(keys, found, strict=True)
            for q, x in zip(self.shares, each, strict=True)
        }

    @property
    def names(self) -> tuple[Any, ...]:
        return tuple(self._named([[None] * len(self.shares)] * self.by.size))

    def _written(self) -> list[list[Any]]:
        return [[*key] if self.one else [*key, float(q)] for key in self.by.written for q in self.shares]

    def value(self, released: Mapping[str, Any]) -> Any:
        groups = self._by_group(released)
        return self._named([[self.grid_of.value(at) for at, _, _ in places] for places in groups])

    def plain_value(self, value: Any) -> Any:
        return [[*key, found] for key, found in zip(self._written(), value.values(), strict=True)]

    def after(self, released: Mapping[str, Any]) -> After:
        ends = self._named([self.ends_of(places) for places in self._by_group(released)])
        return After(ends, given=f"{BY_LAW}{self.not_in_it}")

    def plain_intervals(self, intervals: Mapping[Any, tuple[Any, Any]]) -> Any:
        written = self._written() if intervals else []
        return [[*key, *ends] for key, ends in zip(written, intervals.values(), strict=True)]

    def table(self, released: Mapping[str, Any]) -> pyarrow.Table:
        """The keys, and for each the quantiles with the ends of their intervals."""
        import pyarrow

        found, groups = self.by.table, self._by_group(released)
        for i, q in enumerate(self.shares):
            after = "" if self.one else f" {float(q):g}"
            ends = [self.ends_of(places)[i] for places in groups]
            values = [self.grid_of.value(places[i][0]) for places in groups]
            columns = {"value": values, "lower": [low for low, _ in ends], "upper": [high for _, high in ends]}
            for name, column in columns.items():
                numbers = column if all(isinstance(x, int) for x in column) else [float(x) for x in column]
                found = found.append_column(f"{name}{after}", pyarrow.array(numbers))
        return found
