"""Yes or no: whether a sum over rows reaches a threshold.

Each row adds an integer between two public ends (`Summand`): a vote adds 1 or -1, a counted row adds 1. The sensitivity
of the sum follows from these ends, the contribution bound and the adjacency.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats
from utmost.privacy import Level
from utmost.queries.accuracy import Before
from utmost.queries.contributions import Contribution, ones, statement, votes
from utmost.queries.groups import grouped_statement
from utmost.queries.keys import Keys
from utmost.queries.losses import as_loss
from utmost.queries.predicate import Where
from utmost.queries.questions.alternatives import tails
from utmost.queries.questions.selection import Confidence, Scope, Scores, Selection, under_prior
from utmost.queries.questions.tiered import TieredDecision, TieredSum, require_uniform
from utmost.queries.units import Unit
from utmost.space.line import Line, line_prior

if TYPE_CHECKING:
    from utmost.solution import Solution

LOSSES = ("zero-one",)
NOTHING = 1e-6
"""If the probability of yes varies by no more over all points, the answer is practically constant."""
ALWAYS_THE_SAME = (
    "under this prior the answer that is right most often is the same whatever the table says; give a prior, or a "
    "larger epsilon"
)


@dataclass(frozen=True)
class Summand:
    """What a row adds to a sum.

    Attributes
    ----------
    ends : pair of int
        The range of the integer; it contains 0.
    contribution : callable
        Returns the expression, for a table and a condition.
    """

    ends: tuple[int, int]
    contribution: Callable[[Source, Any], Contribution]


VOTES = Summand((-1, 1), votes)
ONES = Summand((0, 1), ones)


@dataclass(frozen=True)
class RowSum(Scores):
    """A sum over rows, computed under the name "yes".

    Attributes
    ----------
    summand : Summand
        What a row adds.
    where : Where
        The condition.
    space : Line
        The range of the sum, with its sensitivity.
    """

    summand: Summand
    where: Where
    space: Line

    def statement(self, source: Source, unit: Unit, rows_each: int, secret: bytes) -> Statement:
        return statement(source, unit, rows_each, self._contributions(source), secret)

    def statement_by(self, source: Source, unit: Unit, rows_each: int, secret: bytes, keys: Keys) -> Statement:
        return grouped_statement(source, unit, rows_each, keys, self._contributions(source), secret)

    def _contributions(self, source: Source) -> dict[str, Contribution]:
        return {"yes": self.summand.contribution(source, self.where.text)}

    def point(self, engine_result: Mapping[str, int]) -> int:
        return self.space.clamp(engine_result["yes"])

    def points(self, engine_result: Mapping[str, Any], keys: Keys) -> Any:
        return np.clip(engine_result["yes"], *self.space.ends)


def row_sum(summand: Summand, where: Where, scope: Scope, unit: Unit) -> RowSum | TieredSum:
    """The sum over the rows of a scope; one sum for every tier, if the unit has tiers."""
    if unit.tiers:
        return TieredSum(summand.ends, summand.contribution, where, scope, unit)
    return RowSum(summand, where, scope.line(summand.ends))


@dataclass(frozen=True, eq=False)
class Decision(Selection):
    """Whether an integer reaches a threshold.

    Attributes
    ----------
    space : Line
        The range of the integer, with its sensitivity.
    border : int
        The threshold: the least integer with the answer yes.
    privacy : Level
        The privacy level of the answer.
    prior : array or None
        A probability for each integer, in increasing order; None is uniform.
    """

    label: ClassVar = "yes"
    answer_type: ClassVar = bool

    space: Line
    border: int
    privacy: Level
    prior: Floats | None

    @property
    def problem_data(self) -> dict[str, Any]:
        return {"loss": "zero-one", "prior": self.prior, "border": self.border}

    def design(self) -> Solution:
        from utmost.theory.scalar.design.yes_or_no import best_yes_or_no

        return best_yes_or_no(self.space, self.border, self.privacy, self.prior)

    def sketch(self) -> Solution | None:
        from utmost.theory.scalar.design.yes_or_no import sketch_yes_or_no

        return sketch_yes_or_no(self.space, self.border, self.privacy) if self.prior is None else None

    def select_many(self, solution: Solution, points: Any) -> list[bool]:
        return [bool(answer) for answer in solution.mechanism.sample_many(points)]

    def require(self, answer: Any) -> None:
        require_yes_or_no(answer)

    def values(self, answer: Any) -> tuple[bool]:
        return (bool(answer),)

    def before(self, solution: Solution) -> Before:
        return Before("zero-one", solution.value, float(solution.mechanism.wrong.max()))

    def confidence(self, solution: Solution, answer: bool) -> Confidence:
        blocks = solution.mechanism
        chances = blocks.masses(self.space, self.prior) * (blocks.yes if answer else 1 - blocks.yes)
        right = chances[blocks.no :] if answer else chances[: blocks.no]
        return Confidence(right=float(right.sum() / chances.sum()) if chances.sum() > 0 else 0.5)

    def confidence_basis(self, of_groups: str, part: str) -> str:
        return under_prior(self.prior, of_groups, part)

    def expected_losses(self, solution: Solution) -> dict[str, dict[str, float]]:
        alternatives = choice_alternatives(self.space, self.border, self.privacy, self.prior)
        return {"Utmost": {"zero-one": solution.value}, **alternatives}

    def notes(self, solution: Solution) -> tuple[str, ...]:
        yes = solution.mechanism.yes
        return (ALWAYS_THE_SAME,) if yes.max() - yes.min() <= NOTHING else ()


def decision(scores: RowSum | TieredSum, border: int, privacy: Level, prior: Floats | None) -> Selection:
    """The selection whether a sum, or the sum over all tiers, reaches a threshold."""
    if isinstance(scores, TieredSum):
        return TieredDecision(scores.space, border, privacy, scores.unit)
    return Decision(scores.space, border, privacy, prior)


def checked_loss_and_prior(scores: RowSum | TieredSum, loss: Any, prior: Any, privacy: Level) -> dict[str, Any]:
    """Check the loss and the prior of a decision, and return both."""
    loss = as_loss(loss, LOSSES)
    if isinstance(scores, TieredSum):
        require_uniform(scores.space, prior, privacy)
        return {"loss": loss, "prior": None}
    return {"loss": loss, "prior": line_prior(scores.space, prior)}


def require_yes_or_no(answer: Any) -> None:
    """Refuse a released value that is neither true nor false."""
    if not isinstance(answer, bool):
        raise InvalidInput("what is released is yes or no: true or false.")


def choice_alternatives(line: Line, first_yes: int, level: Level, prior: Floats | None) -> dict[str, dict[str, float]]:
    """Expected zero-one losses of comparing a noisy number with the threshold, by name of the noise.

    At the point j steps behind the first one of its side, noise errs with probability T(j + 1), T(t) = Pr[noise >= t].
    """
    yes, no = line.last - first_yes + 1, first_yes - line.first
    losses = {}
    for name, (tail, width) in tails(line.reach, line.reach, level).items():
        errors = tail(np.arange(1.0, min(max(yes, no), width) + 1))
        if prior is None:
            value = (errors[:yes].sum() + errors[:no].sum()) / line.points
        else:
            steps = np.concatenate([np.arange(no)[::-1], np.arange(yes)])
            value = prior @ np.where(steps < len(errors), errors[np.minimum(steps, len(errors) - 1)], 0.0)
        losses[name] = {"zero-one": float(value)}
    return losses
