"""The question: are there at least so many rows with a condition."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from utmost.errors import InvalidInput, shown
from utmost.release.arguments import Condition, Of, Prior, Privacy, plain
from utmost.release.options import ANY_CONDITION, AT_LEAST, BY, OF
from utmost.release.questions.aggregates import IN_ONE_GROUP, MORE_GROUPS
from utmost.release.questions.choices import Choice
from utmost.release.questions.decisions import ONES, RowSum, decision, judged_by, row_sum
from utmost.release.questions.numbers import prior_text
from utmost.release.questions.question import Asks, Made, as_of
from utmost.release.questions.selection import Selection
from utmost.release.questions.tiered import TieredSum


@dataclass(frozen=True, eq=False, kw_only=True)
class Threshold(Choice):
    """Whether a condition is true of at least so many rows, or people.

    Attributes
    ----------
    at_least : int
        The least number of which the answer is yes.
    of : "rows" or "people"
        What is counted.
    loss : "zero-one"
    prior : array or None
        A probability for each possible count, in increasing order; None is uniform.
    """

    name = "threshold"
    summary = "whether at least so many rows have a condition"
    options: ClassVar = (ANY_CONDITION, AT_LEAST, BY, OF)
    takes_tiers: ClassVar = True

    at_least: int
    of: Of = "rows"
    loss: str = "zero-one"
    prior: Any = None

    def __post_init__(self) -> None:
        self.settle(of=as_of(self.of, self.terms.unit))  # first: how many rows take part depends on it
        super().__post_init__()
        self.settle(**judged_by(self.scores, self.loss, self.prior, self.privacy))
        try:
            border = 0 if isinstance(self.at_least, bool) else plain(operator.index(self.at_least))
        except TypeError:
            border = 0
        if not 1 <= border <= self.scores.space.last:
            raise InvalidInput(
                f"at_least is {shown(self.at_least)}; give a whole number from 1 to {self.scores.space.last}, the most "
                "there can be: the answer to any other is public."
            )
        self.settle(at_least=border)

    @property
    def of_one_row(self) -> bool:
        return self.of_people and self.by is not None

    @property
    def one_row_words(self) -> str:
        return IN_ONE_GROUP

    @property
    def one_row_note(self) -> str:
        return MORE_GROUPS

    @property
    def words(self) -> str:
        middle, end = self.grouping.placed(self.kept)
        having = f"{middle and f'{middle},'} with {self.where}" if self.where else middle
        return f"Are there at least {self.at_least} {self.of}{having}{end}?"

    @property
    def public(self) -> dict[str, Any]:
        asked = {"where": self.where.text, "of": self.of, "at_least": self.at_least}
        judged = {"loss": self.loss, "prior": prior_text(self.prior)}
        return {"question": self.name, **asked, **judged, **self.grouping.public}

    @cached_property
    def scores(self) -> RowSum | TieredSum:
        return row_sum(ONES, self.where, self.scope, self.terms.unit)

    @cached_property
    def selection(self) -> Selection:
        return decision(self.scores, self.at_least, self.scope.privacy, self.prior)


class AsksThreshold(Asks[Made]):
    """`threshold`, of a session or a plan."""

    def threshold(
        self,
        where: Condition,
        at_least: int,
        privacy: Privacy = None,
        *,
        of: Of = "rows",
        loss: str = "zero-one",
        prior: Prior = None,
        by: Any = None,
        fresh: bool = False,
    ) -> Made:
        """Whether a condition is true of at least so many rows (or people).

        Parameters
        ----------
        where : condition
            Which rows are counted; None counts every row.
        at_least : int
            The border: a whole number from 1 to the most there can be.
        privacy : level or number
            What this answer may spend, as for `count`.
        of : "rows" or "people"
            What is counted.
        loss : "zero-one"
            The answer is right or wrong.
        prior : sequence of probabilities, optional
            How likely each count is thought to be, in increasing order. Uniform without it.
        by : um.keys, optional
            Answer once for every public key, as for `majority`.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is True or False; by keys {key: True or False}.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=9)
        >>> s.threshold("age >= 65", 20, privacy=9).value
        True
        """
        asked = {"at_least": at_least, "of": of, "loss": loss, "prior": prior}
        return self.pose(Threshold, privacy, where, fresh, by=by, **asked)
