"""The question: do more rows have a condition than not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from utmost.errors import InvalidInput
from utmost.privacy import Level
from utmost.release.arguments import Condition, Prior, Privacy, as_loss, line_prior
from utmost.release.conditions import EVERY_ROW, Where
from utmost.release.contributions import statement, votes
from utmost.release.options import BY, CONDITION
from utmost.release.questions.choices import YesOrNo
from utmost.release.questions.choices_by import YesOrNoBy
from utmost.release.questions.numbers import prior_text
from utmost.release.questions.question import Asks, Made, Terms
from utmost.release.source import Source, Statement
from utmost.space.integers import Line


@dataclass(frozen=True, eq=False, kw_only=True)
class Majority(YesOrNo):
    """Whether a condition is true of more rows than it is false of."""

    name = "majority"
    summary = "whether more rows have a condition than not"
    options: ClassVar = (CONDITION, BY)

    where: Where = EVERY_ROW

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.where:
            raise InvalidInput("a majority needs a condition that rows agree with or not, such as \"answer = 'yes'\".")
        self.settle(loss=as_loss(self.loss, ("zero-one",)), prior=line_prior(self.space, self.prior))

    @property
    def words(self) -> str:
        return f"Do more rows{self.kept_within} have {self.where} than not?"

    @property
    def public(self) -> dict[str, Any]:
        prior = prior_text(self.prior)
        return {"question": self.name, "where": self.where.text, "loss": self.loss, "prior": prior}

    @property
    def space(self) -> Line:
        moved = self.rows_each * (1 if self.terms.neighbours == "add-remove" else 2)
        return Line(-self.most_rows, self.most_rows, min(moved, 2 * self.most_rows))

    @property
    def border(self) -> int:
        return 1

    def statement(self, source: Source, secret: bytes) -> Statement:
        rows = {"yes": votes(source, self.where.given)}
        return statement(source, self.terms.unit, self.rows_each, rows, secret)


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
        asked = {"privacy": self.level(privacy), "where": self.where(where), "loss": loss, "prior": prior}
        if by is not None:
            return self.ask(MajorityBy(terms=self.terms, by=by, **asked), fresh)
        return self.ask(Majority(terms=self.terms, **asked), fresh)
