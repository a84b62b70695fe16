"""Choices for each of many public keys: a majority, a threshold or a quantile in every group.

A row is in one group at most, and every group has the same mechanism with draws of its own. What one neighbour does is
at most so many *steps*, each of which one row comes into a group or goes from it: as many as rows of it are kept, twice
as many where these are replaced. The mechanism of a group keeps a level for one step, and all steps together keep the
level that is spent, wherever they are made:

* one step (rows that come or go): the level itself. Groups that nobody changes say the same, so all of them together
  cost what one costs (parallel composition).
* (epsilon, delta), k steps: epsilon/k and delta/(1 + e^(epsilon/k) + ... + e^((k-1) epsilon/k)) each. Of m steps in one
  group the epsilons add up and the deltas grow like that sum (group privacy); over groups both add up, and k steps in
  one group are the worst.
* Gaussian mu, k steps: mu/k each. Of m steps in one group mu adds up, over groups its square does.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.privacy import ApproxDP, GaussianDP, Level, PureDP
from utmost.queries.accuracy import After, Before
from utmost.queries.groups import grouped_statement
from utmost.queries.keys import named
from utmost.queries.questions.by import Grouped
from utmost.queries.questions.numbers import prior_name
from utmost.queries.questions.question import Terms
from utmost.queries.units import rows

if TYPE_CHECKING:
    import pyarrow

    from utmost.solution import Solution

BELOW = 1 - 1e-12
"""What a rounded quotient is multiplied by, so that it lies below the exact one."""


def level_of_step(level: Level, steps: int) -> Level:
    """A level for one step, such that so many steps in any groups keep the level: see above.

    Examples
    --------
    >>> level_of_step(PureDP(1), 4), level_of_step(GaussianDP(1), 2)
    (PureDP(0.25), GaussianDP(0.5))
    """
    if steps == 1:
        return level
    if isinstance(level, GaussianDP):
        return GaussianDP(level.mu if level.mu == math.inf else Fraction(level.mu) / steps)
    if not isinstance(level, ApproxDP):
        raise UnsupportedLevel(
            f"{level} is not shared among {steps} steps: a unit has {steps} rows in groups, or one that is replaced; "
            "give PureDP, ApproxDP or GaussianDP."
        )
    if level.exponent == math.inf:
        return level
    exact = level.ratio == 1
    epsilon = Fraction(level.exponent) / steps if exact else Fraction(level.log_growth / steps * BELOW)
    if level.delta == 0:
        return PureDP(epsilon)
    growth = float(epsilon)
    most = sum(math.exp(growth * i) for i in range(steps)) if growth * steps < 700 else math.inf
    return ApproxDP(epsilon, Fraction(float(level.delta) / most * BELOW))


@dataclass(frozen=True, eq=False, kw_only=True)
class ChoiceBy(Grouped):
    """A choice that is made in each group.

    Attributes
    ----------
    loss : what the mechanism is best for
    prior : of the statistic of one group; None is uniform
    """

    needs_most: ClassVar = True

    loss: str = "zero-one"
    prior: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        made = self.of_one_group()
        self.settle(loss=made.loss, prior=made.prior)

    @abstractmethod
    def made(self, terms: Terms, level: Level) -> Any:
        """The same question about one group, whose rows come or go."""

    @abstractmethod
    def grouped(self, source: Source) -> dict[str, Any]:
        """What a row adds in its group, and the cells of a group, if it has several: arguments of a statement."""

    @property
    def steps(self) -> int:
        """How many steps one neighbour makes: rows that come into a group, or go."""
        return self.rows_each * (1 if self.terms.neighbours == "add-remove" else 2)

    def of_one_group(self) -> Any:
        """The question about one group, at the level of one step."""
        return self.made(Terms(rows(at_most=self.most_rows), "add-remove"), level_of_step(self.privacy, self.steps))

    @cached_property
    def one(self) -> Any:
        """The same, with the solution of this question."""
        found = self.of_one_group()
        found.settle(solution=self.solution)
        return found

    @property
    def proved_level(self) -> Level:
        return level_of_step(self.privacy, self.steps)

    @property
    def composition(self) -> str:
        if self.steps == 1:
            return "one neighbour changes one group, so all groups together keep it"
        return f"one neighbour makes at most {self.steps} steps in all groups, which together keep {self.privacy}"

    @property
    def space(self) -> Any:
        return self.of_one_group().space

    @property
    def posed(self) -> dict[str, Any]:
        found: dict[str, Any] = self.of_one_group().posed
        return found

    def design(self) -> Solution:
        found: Solution = self.of_one_group().design()
        return found

    @property
    def words(self) -> str:
        asked = str(self.of_one_group().words).removesuffix("?")
        return f"{asked}{self.kept}, by {named(self.by.names)}?"

    @property
    def public(self) -> dict[str, Any]:
        return {**self.of_one_group().public, "by": self.by.public}

    def statement(self, source: Source, secret: bytes) -> Statement:
        return grouped_statement(
            source, self.bounded_unit, self.rows_each, self.by, secret=secret, **self.grouped(source)
        )

    def draw(self, point: Any) -> dict[str, Any]:
        mechanism = self.solution.mechanism
        if hasattr(mechanism, "sample_many"):
            return self.released(mechanism.sample_many(point))
        return self.released([self.solution.sample(each) for each in point])

    @property
    def average(self) -> float:
        return float(self.one.average)

    def before(self) -> Before:
        found: Before = self.one.before()
        return found

    def compared(self) -> dict[str, dict[str, float]]:
        found: dict[str, dict[str, float]] = self.one.compared()
        return found

    @property
    def proved_of(self) -> str:
        return "each group"

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self.one.notes)

    def value(self, released: Mapping[str, Any]) -> dict[Any, Any]:
        return dict(zip(self.by.labels, self.values_of(released), strict=True))

    def values_of(self, released: Mapping[str, Any]) -> list[Any]:
        """The answers in the order of the keys."""
        raise NotImplementedError

    @property
    def given(self) -> str:
        """What the probability that a group's answer is right rests on."""
        return f"a {prior_name(self.prior)} prior and this answer, of the group where that is least{self.not_in_it}"

    def _listed(self, released: Mapping[str, Any], name: str, kind: type) -> list[Any]:
        """What was released, which may come from a report."""
        found = released[name]
        if not isinstance(found, list) or len(found) != self.by.size or not all(type(x) is kind for x in found):
            raise InvalidInput(f"there are {self.by.size} keys, and as many answers must be released.")
        return found


class YesOrNoBy(ChoiceBy):
    """Yes or no in each group."""

    @property
    def border(self) -> int:
        """The least integer of which the answer is yes."""
        return int(self.of_one_group().border)

    def point(self, found: Mapping[str, Any]) -> Any:
        return np.clip(found["yes"], self.space.first, self.space.last)

    def released(self, drawn: Any) -> dict[str, Any]:
        return {"yes": [bool(each) for each in drawn]}

    def values_of(self, released: Mapping[str, Any]) -> list[Any]:
        return self._listed(released, "yes", bool)

    def after(self, released: Mapping[str, Any]) -> After:
        chances = self._chances(set(self.values_of(released)))
        return After(probability_right=min(chances.values()), given=self.given)

    def table(self, released: Mapping[str, Any]) -> pyarrow.Table:
        """The keys, and for each the answer and how likely it is right."""
        import pyarrow

        said = self.values_of(released)
        chances = self._chances(set(said))
        found = self.by.table.append_column("value", pyarrow.array(said))
        return found.append_column("right", pyarrow.array([chances[each] for each in said]))

    def _chances(self, said: set[bool]) -> dict[bool, float]:
        return {each: self.one.after({"yes": each}).probability_right for each in said}
