"""The question: do more rows have a condition than not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from utmost.errors import InvalidInput
from utmost.release.arguments import Condition, Prior, Privacy
from utmost.release.options import BY, CONDITION
from utmost.release.questions.choices import Choice
from utmost.release.questions.decisions import VOTES, RowSum, decision, judged_by, row_sum
from utmost.release.questions.numbers import prior_text
from utmost.release.questions.question import Asks, Made
from utmost.release.questions.selection import Selection
from utmost.release.questions.tiered import TieredSum


@dataclass(frozen=True, eq=False, kw_only=True)
class Majority(Choice):
    """Whether a condition is true of more rows than it is false of.

    Attributes
    ----------
    loss : "zero-one"
    prior : array or None
        A probability for each difference, yes less no, in increasing order; None is uniform.
    """

    name = "majority"
    summary = "whether more rows have a condition than not"
    options: ClassVar = (CONDITION, BY)
    takes_tiers: ClassVar = True

    loss: str = "zero-one"
    prior: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(**judged_by(self.scores, self.loss, self.prior, self.privacy))
        if not self.where:
            raise InvalidInput("a majority needs a condition that rows agree with or not, such as \"answer = 'yes'\".")

    @property
    def words(self) -> str:
        middle, end = self.grouping.placed(self.kept)
        return f"Do more rows{middle and f'{middle},'} have {self.where} than not{end}?"

    @property
    def public(self) -> dict[str, Any]:
        judged = {"loss": self.loss, "prior": prior_text(self.prior)}
        return {"question": self.name, "where": self.where.text, **judged, **self.grouping.public}

    @cached_property
    def scores(self) -> RowSum | TieredSum:
        return row_sum(VOTES, self.where, self.scope, self.terms.unit)

    @cached_property
    def selection(self) -> Selection:
        return decision(self.scores, 1, self.scope.privacy, self.prior)


class AsksMajority(Asks[Made]):
    """`majority`, of a session or a plan."""

    def majority(
        self,
        where: Condition,
        privacy: Privacy = None,
        *,
        loss: str = "zero-one",
        prior: Prior = None,
        by: Any = None,
        fresh: bool = False,
    ) -> Made:
        """Whether a condition is true of more rows than it is false of; where it is unknown, a row does not vote.

        Parameters
        ----------
        where : condition
            What rows vote on, such as ``"answer = 'yes'"``; required.
        privacy : level or number
            What this answer may spend, as for `count`.
        loss : "zero-one"
            The answer is right or wrong.
        prior : sequence of probabilities, optional
            How likely each difference, yes less no, is thought to be, in increasing order. Uniform without it.
        by : um.keys, optional
            Answer once for every public key. Where rows come or go all groups together cost what one costs; a person
            with k rows pays for k steps in all groups, and twice as many where rows are replaced.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is True or False; a tie is no. By keys it is {key: True or False}, and `answer.table` an
            Arrow table that has how likely each is right.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"agrees": ["yes", "yes", "no", None] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=5)
        >>> s.majority("agrees = 'yes'", privacy=5).value
        True
        """
        return self.pose(Majority, privacy, where, fresh, by=by, loss=loss, prior=prior)
