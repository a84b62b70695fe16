"""The second kind of question: the answer is one of few, such as yes or no, or a candidate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats
from utmost.privacy import Level
from utmost.queries.accuracy import CONFIDENCE, After, Before
from utmost.queries.bins import labels_of
from utmost.queries.questions.numbers import prior_name, prior_text, tails
from utmost.queries.questions.question import Question, as_loss
from utmost.space.integers import Tallies
from utmost.space.line import Line, line_prior

if TYPE_CHECKING:
    from utmost.solution import Solution

NOTHING = 1e-6
"""Where the chance of yes differs by no more between any two points, the answer is the same whatever the table says."""
ALWAYS_THE_SAME = (
    "under this prior the answer that is right most often is the same whatever the table says; give a prior, or a "
    "larger epsilon"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class YesOrNo(Question):
    """Whether an integer is at least so much.

    Attributes
    ----------
    prior : a probability for each possible integer, in increasing order; None is uniform
    loss : "zero-one"
    """

    needs_most: ClassVar = True

    prior: Any = None
    loss: str = "zero-one"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(loss=as_loss(self.loss, ("zero-one",)), prior=line_prior(self.space, self.prior))

    @property
    def judged_by(self) -> dict[str, Any]:
        """What the mechanism is best for, as plain data."""
        return {"loss": self.loss, "prior": prior_text(self.prior)}

    @property
    def space(self) -> Line:
        raise NotImplementedError

    @property
    def border(self) -> int:
        """The least integer of which the answer is yes."""
        raise NotImplementedError

    @property
    def posed(self) -> dict[str, Any]:
        return {**super().posed, "prior": self.prior, "border": self.border}

    def design(self) -> Solution:
        from utmost.theory.scalar.design.yes_or_no import best_yes_or_no

        return best_yes_or_no(self.space, self.border, self.privacy, self.prior)

    def sketch(self) -> Solution | None:
        from utmost.theory.scalar.design.yes_or_no import sketch_yes_or_no

        return sketch_yes_or_no(self.space, self.border, self.privacy) if self.prior is None else None

    def point(self, found: Mapping[str, int]) -> int:
        return self.space.clamp(found["yes"])

    def released(self, drawn: Any) -> dict[str, Any]:
        return {"yes": bool(drawn)}

    def value(self, released: Mapping[str, Any]) -> bool:
        return bool(released["yes"])

    def require_released(self, released: Mapping[str, Any]) -> None:
        if not isinstance(released["yes"], bool):
            raise InvalidInput("what is released is yes or no: true or false.")

    def before(self) -> Before:
        return Before("zero-one", self.solution.value, float(self.solution.mechanism.wrong.max()))

    def after(self, released: Mapping[str, Any]) -> After:
        blocks, said_yes = self.solution.mechanism, bool(released["yes"])
        said = blocks.masses(self.space, self.prior) * (blocks.yes if said_yes else 1 - blocks.yes)
        right = said[blocks.no :] if said_yes else said[: blocks.no]
        chance = float(right.sum() / said.sum()) if said.sum() > 0 else 0.5
        given = f"a {prior_name(self.prior)} prior and this answer{self.not_in_it}"
        return After(probability_right=chance, given=given)

    def compared(self) -> dict[str, dict[str, float]]:
        others = choice_alternatives(self.space, self.border, self.privacy, self.prior)
        return {"Utmost": {"zero-one": self.solution.value}, **others}

    @property
    def notes(self) -> tuple[str, ...]:
        yes = self.solution.mechanism.yes
        return (ALWAYS_THE_SAME,) if yes.max() - yes.min() <= NOTHING else ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Candidate(Question):
    """Which of several candidates is right.

    Attributes
    ----------
    column : whose values are tallied
    candidates : what may be named, in order
    loss : what the mechanism is best for
    prior : {tally: probability}; None is uniform over all tallies
    """

    needs_most: ClassVar = True

    column: str
    candidates: Any
    loss: str = "zero-one"
    prior: Any = None

    @property
    def space(self) -> Tallies:
        return Tallies(len(self.candidates), self.stated_rows, self.terms.neighbours, self.rows_each)

    @property
    def posed(self) -> dict[str, Any]:
        return {**super().posed, "prior": self.prior}

    def point(self, found: Mapping[str, int]) -> list[int]:
        """The tally with every cell at most all rows, which moves neighbours no farther apart."""
        return [min(max(found[f"c{i}"], 0), self.space.rows) for i in range(self.space.cells)]

    def released(self, drawn: Any) -> dict[str, Any]:
        return {"place": int(drawn)}

    def require_released(self, released: Mapping[str, Any]) -> None:
        place = released["place"]
        if type(place) is not int or not 0 <= place < len(self.candidates):
            raise InvalidInput("what is released is the place of a candidate.")

    def value(self, released: Mapping[str, Any]) -> Any:
        return labels_of(self.candidates)[released["place"]]

    def before(self) -> Before:
        from utmost.design.rainbow import choice_facts
        from utmost.theory.selection.tally_averages import TRIED

        facts = choice_facts(self.solution)
        average = facts.expected[self.loss]
        holds = f"average: {facts.basis}; worst: {facts.worst_among}"
        tried = facts.worst_among if facts.worst_among == TRIED else ""
        return Before(self.loss, average.value, facts.worst, average.error, tried, holds)

    def after(self, released: Mapping[str, Any]) -> After:
        from utmost.design.rainbow import choice_facts

        facts = choice_facts(self.solution)
        known, near = facts.right(released["place"]), facts.within(CONFIDENCE)
        given = f"a {prior_name(self.prior)} prior and this answer{self.not_in_it}"
        if known is None:
            return After(given=given, rows_within=near)
        return After(probability_right=known.value, standard_error=known.error, given=given, rows_within=near)

    def compared(self) -> dict[str, dict[str, float]]:
        from utmost.design.rainbow import choice_facts

        facts = choice_facts(self.solution)
        ours = {loss: estimate.value for loss, estimate in facts.expected.items()}
        others = {
            name: {loss: estimate.value for loss, estimate in by.items()}
            for name, by in facts.compared.items()
            if name != self.solution.certificate.method
        }
        return {"Utmost": ours, **others}


def choice_alternatives(line: Line, first_yes: int, level: Level, prior: Floats | None) -> dict[str, dict[str, float]]:
    """The expected zero-one losses of adding noise and comparing with the border, by name.

    Noise errs at a point j steps behind the border with probability T(j + 1), T(t) = Pr[noise >= t].
    """
    yes, no = line.last - first_yes + 1, first_yes - line.first
    found = {}
    for name, (tail, wide) in tails(line.reach, line.reach, level).items():
        errors = tail(np.arange(1.0, min(max(yes, no), wide) + 1))
        if prior is None:
            value = (errors[:yes].sum() + errors[:no].sum()) / line.points
        else:
            behind = np.concatenate([np.arange(no)[::-1], np.arange(yes)])
            value = prior @ np.where(behind < len(errors), errors[np.minimum(behind, len(errors) - 1)], 0.0)
        found[name] = {"zero-one": float(value)}
    return found
