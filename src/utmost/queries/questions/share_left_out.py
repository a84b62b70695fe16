"""The question: of which share of the people rows are dropped, of the people who have any.

Two integers are released with one vector of noise: how many people lose rows by truncation, and how many lose none. A
person is in one of both, so one neighbour makes one move, and the share is the first of the sum of both. Nobody needs
to know how many people there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput
from utmost.queries.accuracy import BY_LAW, CONFIDENCE, After
from utmost.queries.arguments import Condition, Privacy
from utmost.queries.contributions import people_by_loss
from utmost.queries.options import ANY_CONDITION
from utmost.queries.predicate import EVERY_ROW, Where
from utmost.queries.questions.expected import Losses, OfRows
from utmost.queries.questions.left_out import beside_groups
from utmost.queries.questions.numbers import OneNoise
from utmost.queries.questions.question import Asks, Made, asking, shown_with
from utmost.space.integers import Lattice

PARTS = ("losing_rows", "losing_none")


@dataclass(frozen=True, eq=False, kw_only=True)
class ShareLeftOut(OfRows, OneNoise):
    """Of which share of the people with rows of a condition some of these are dropped."""

    name = "share_left_out"
    summary = "of which share of people rows are dropped"
    options: ClassVar = (ANY_CONDITION,)
    of: ClassVar = "people"
    best_for: ClassVar[tuple[str, ...]] = ("absolute", "squared")

    where: Where = EVERY_ROW

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.terms.unit.id is None:
            raise InvalidInput("every row is used where the unit is a row; rows are dropped of people only.")

    @property
    def names(self) -> tuple[str, ...]:
        return PARTS

    @property
    def words(self) -> str:
        unit = self.terms.unit
        words = (
            f"Of which share of the people by {unit.id} who have rows are some dropped, beyond {unit.rows_each} of each"
        )
        return asking(words, self.where)

    @property
    def public(self) -> dict[str, Any]:
        return {"question": self.name, "where": self.where.text, "loss": self.loss, "prior": "uniform"}

    @property
    def space(self) -> Lattice:
        return self.counts_of(2, self.terms.moves)

    def statement(self, source: Source, secret: bytes) -> Statement:
        return people_by_loss(source, self.terms.unit, self.where.given, PARTS, secret)

    def point(self, found: Mapping[str, int]) -> tuple[int, ...]:
        return self.space.clamp([found[name] for name in PARTS])

    def released(self, drawn: Any) -> dict[str, Any]:
        return {name: int(x) for name, x in zip(PARTS, drawn, strict=True)}

    def value(self, released: Mapping[str, Any]) -> float:
        """The share; a half where nobody seems to be there."""
        losing, none = (released[name] for name in PARTS)
        return min(max(losing / (losing + none), 0.0), 1.0) if losing + none > 0 else 0.5

    @property
    def worth(self) -> int:
        return 1

    @property
    def worst(self) -> float:
        return 1.0

    @property
    def holds(self) -> str:
        return (
            "to first order; the upper end is for a share near 0 or 1, the lower one for a half; each person is a row "
            "here; worst: if there is nobody"
        )

    def losses_over_rows(self) -> Losses:
        return self.losses_at(0)

    def alternatives_over_rows(self) -> dict[str, Losses]:
        from utmost.theory.estimates.design.mean import mean_alternatives

        others = mean_alternatives(self.space, self.privacy, 1)
        return {name: self._shown(by) for name, by in others.items()}

    def least_over_rows(self) -> Losses:
        return self.losses_at(0.5)

    def losses_at(self, *moments: float) -> Losses:
        from utmost.theory.estimates.design.mean import mean_losses

        return self._shown(mean_losses(self.solution.mechanism, *moments))

    def _shown(self, losses: Losses) -> Losses:
        return {loss: losses[loss] for loss in shown_with(self.loss) if loss in self.best_for}

    def after(self, released: Mapping[str, Any]) -> After:
        from utmost.theory.estimates.design.mean import mean_interval

        losing, none = (released[name] for name in PARTS)
        return After({self.name: mean_interval(self.solution.mechanism, losing, none, CONFIDENCE)}, given=BY_LAW)

    @property
    def drop_notes(self) -> tuple[str, ...]:
        return beside_groups(self.terms.unit)

    @property
    def proved_of(self) -> str:
        return "the two counts it is made of"


class AsksShareLeftOut(Asks[Made]):
    """`share_left_out`, of a session or a plan."""

    def share_left_out(
        self, where: Condition = None, privacy: Privacy = None, *, loss: str = "absolute", fresh: bool = False
    ) -> Made:
        """Of which share of the people rows are dropped, of the people who have rows with a condition.

        `left_out` says of how many people; this of how many out of those that there are. How many people lose rows and
        how many lose none are released together, for the noise of one count; the interval contains both noises.

        Parameters
        ----------
        where : condition, optional
            The condition of the answer in question; every row without it.
        privacy : level or number
            What this answer may spend, as for `count`: it is a spend of its own.
        loss : "absolute" or "squared"
            What the mechanism is best for.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is a share from 0 to 1; `answer.released` has both counts.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"who": [1] * 9 + [2, 3, 4], "late": [20] * 12})
        >>> s = um.Session(table, "flights", um.people("who", rows_each=3), "add-remove", budget=40)
        >>> s.share_left_out(privacy=40).value  # one of four
        0.25
        """
        return self.pose(ShareLeftOut, privacy, where, fresh, loss=loss)
