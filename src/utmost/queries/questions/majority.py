"""The question: do more rows have a condition than not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from utmost.backends.source import Source
from utmost.errors import InvalidInput
from utmost.privacy import Level
from utmost.queries.arguments import Condition, Prior, Privacy
from utmost.queries.contributions import Contribution, votes
from utmost.queries.options import BY, CONDITION
from utmost.queries.predicate import EVERY_ROW, Where
from utmost.queries.questions.choices import YesOrNo
from utmost.queries.questions.choices_by import YesOrNoBy
from utmost.queries.questions.numbers import Adds
from utmost.queries.questions.question import Asks, Made, Terms
from utmost.space.line import Line


@dataclass(frozen=True, eq=False, kw_only=True)
class Majority(YesOrNo, Adds):
    """Whether a condition is true of more rows than it is false of."""

    name = "majority"
    summary = "whether more rows have a condition than not"
    options: ClassVar = (CONDITION, BY)
    parts: ClassVar[tuple[str, ...]] = ("yes",)

    where: Where = EVERY_ROW

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.where:
            raise InvalidInput("a majority needs a condition that rows agree with or not, such as \"answer = 'yes'\".")

    @property
    def words(self) -> str:
        return f"Do more rows{self.kept_within} have {self.where} than not?"

    @property
    def public(self) -> dict[str, Any]:
        return {"question": self.name, "where": self.where.text, **self.judged_by}

    @property
    def range_of_row(self) -> tuple[int, int]:
        return -1, 1

    @property
    def space(self) -> Line:
        return self.line(1 if self.terms.neighbours == "add-remove" else 2)

    @property
    def border(self) -> int:
        return 1

    def contributions(self, source: Source) -> tuple[Contribution, ...]:
        return (votes(source, self.where.given),)


@dataclass(frozen=True, eq=False, kw_only=True)
class MajorityBy(YesOrNoBy):
    """Whether a condition is true of more rows of a group than it is false of."""

    name = "majority"
    summary = "whether more rows of each group have a condition than not"

    def made(self, terms: Terms, level: Level) -> Majority:
        return Majority(terms=terms, privacy=level, where=self.where, loss=self.loss, prior=self.prior)

    def grouped(self, source: Source) -> dict[str, Any]:
        return {"contributions": {"yes": votes(source, self.where.given)}}


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
        if by is None:
            return self.pose(Majority, privacy, where, fresh, loss=loss, prior=prior)
        return self.pose(MajorityBy, privacy, where, fresh, by=by, loss=loss, prior=prior)
