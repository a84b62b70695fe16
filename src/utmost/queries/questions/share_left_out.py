"""Query: the share of people who lose rows by truncation, among those who have rows.

Two counts are released with one vector of noise: how many people lose rows by truncation, and how many do not. A person
is in one of the two, so their sensitivity is 1, and the share is the first over their sum. The number of people need
not be known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput
from utmost.queries.accuracy import CONFIDENCE, After, Before
from utmost.queries.aggregates.left_out import group_bounds_note
from utmost.queries.arguments import Of
from utmost.queries.contributions import people_by_loss
from utmost.queries.losses import as_loss, reported_losses
from utmost.queries.options import ANY_CONDITION
from utmost.queries.questions.integer_limits import is_near_end
from utmost.queries.questions.question import Question
from utmost.queries.questions.row_errors import LISTED, SIZES
from utmost.queries.questions.share import OF_SHARES
from utmost.queries.report.words import question_in_words
from utmost.space.integers import Lattice

if TYPE_CHECKING:
    from utmost.solution import Solution

PARTS = ("losing_rows", "losing_none")
"""The names of the two released counts."""
HOLDS = (
    "to first order; the upper end is for a share near 0 or 1, the lower one for a half; each person is a row "
    "here; worst: if there is nobody"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class ShareLeftOut(Question):
    """The share of people with rows dropped, among those with rows that meet a condition, from two noisy counts.

    To first order, the error of the share is that of the counts divided by the number of people, as for a mean.
    """

    name = "share_left_out"
    summary = "of which share of people rows are dropped"
    options: ClassVar = (ANY_CONDITION,)
    names: ClassVar[tuple[str, ...]] = PARTS

    of: Of = "people"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.set_fields(loss=as_loss(self.loss, OF_SHARES))
        if self.terms.unit.id is None:
            raise InvalidInput(
                "no rows are dropped where the unit is a row; open the session with unit=um.people(...)."
            )

    @property
    def words(self) -> str:
        unit = self.terms.unit
        words = (
            f"Of which share of the people by {unit.id} who have rows are some dropped, beyond {unit.rows_each} of each"
        )
        return question_in_words(words, self.where)

    @property
    def public(self) -> dict[str, Any]:
        return {"question": self.name, "where": self.where.text, "loss": self.loss, "prior": "uniform"}

    @property
    def takes_any_noise(self) -> bool:
        return True

    @property
    def space(self) -> Lattice:
        return self.counts_of(2, self.terms.moves)

    def design(self) -> Solution:
        from utmost.theory.vector.design.vectors import best_vector

        return best_vector(self.space, self.privacy, self.loss)

    def sketch(self) -> Solution | None:
        from utmost.theory.vector.design.vectors import sketch_vector

        return sketch_vector(self.space, self.privacy, self.loss)

    def statement(self, source: Source, secret: bytes) -> Statement:
        return people_by_loss(source, self.terms.unit, self.where.text, PARTS, secret)

    def point(self, engine_result: Mapping[str, int]) -> tuple[int, ...]:
        return self.space.clamp([engine_result[name] for name in PARTS])

    def released(self, sample: Any) -> dict[str, Any]:
        return {name: int(x) for name, x in zip(PARTS, sample, strict=True)}

    def require_released(self, released: Mapping[str, Any]) -> None:
        if not all(type(value) is int for value in released.values()):
            raise InvalidInput("what is released are whole numbers.")

    def value(self, released: Mapping[str, Any]) -> float:
        """The estimated share; a half if the noisy counts add up to nobody."""
        losing, none = (released[name] for name in PARTS)
        return min(max(losing / (losing + none), 0.0), 1.0) if losing + none > 0 else 0.5

    # ---- errors by number of people ----

    def losses_at(self, share: float) -> dict[str, float]:
        """Expected losses at a true share, times the number of people (squared: times its square)."""
        from utmost.theory.estimates.design.mean import mean_losses

        losses = mean_losses(self.solution.mechanism, share)
        return {loss: losses[loss] for loss in reported_losses(self.loss) if loss in OF_SHARES}

    def _expected_loss(self, people: float, loss_of_one: float) -> float:
        """The expected loss for a number of people, at most 1."""
        return min(loss_of_one / people ** (2 if self.loss == "squared" else 1), 1.0)

    def _possible(self, sizes: tuple[int, ...]) -> list[int]:
        return [size for size in sizes if self.most_rows is None or size <= max(self.most_rows, sizes[0])]

    @property
    def average(self) -> float:
        self.require_expected_rows()

    def require_expected_rows(self) -> NoReturn:
        """Refuse an error target: the number of people with rows is not known in advance."""
        raise InvalidInput(
            f"the error of a {self.name} depends on how many rows it is made of; plan it with expected_rows=, a "
            "public number (or one for each key), such as expected_rows=1000, and give the target again."
        )

    def before(self) -> Before:
        largest, least = self.losses_at(0)[self.loss], self.losses_at(0.5)[self.loss]
        by_people = tuple(
            (n, self._expected_loss(n, least), self._expected_loss(n, largest)) for n in self._possible(LISTED)
        )
        return Before(self.loss, None, 1.0, holds=HOLDS, over_rows=largest, by_rows=by_people, least_over_rows=least)

    @property
    def curve(self) -> dict[str, Any]:
        """The largest expected error by number of people."""
        sizes, largest = self._possible(SIZES), self.losses_at(0)[self.loss]
        return {
            "rows": sizes,
            f"largest expected {self.loss} error": [self._expected_loss(size, largest) for size in sizes],
        }

    def expected_losses(self) -> dict[str, dict[str, float]]:
        """The largest expected losses for one person; more people keep their ratios."""
        from utmost.theory.estimates.design.mean import mean_alternatives

        alternatives = mean_alternatives(self.space, self.privacy, 1)
        loss_names = [loss for loss in reported_losses(self.loss) if loss in OF_SHARES]
        return {
            "Utmost": self.losses_at(0),
            **{name: {loss: losses[loss] for loss in loss_names} for name, losses in alternatives.items()},
        }

    def after(self, released: Mapping[str, Any]) -> After:
        from utmost.theory.estimates.design.mean import mean_interval

        losing, none = (released[name] for name in PARTS)
        return After({self.name: mean_interval(self.solution.mechanism, losing, none, CONFIDENCE)}, by_law=True)

    def near_limit(self, released: Mapping[str, Any], after: After) -> bool:
        half_width = self.solution.mechanism.noise.half_width(CONFIDENCE)
        return is_near_end([list(released.values())], half_width, self.space)

    @property
    def truncation_notes(self) -> tuple[str, ...]:
        return group_bounds_note(self.terms.unit)

    @property
    def certificate_subject(self) -> str:
        return "the two counts it is made of"
