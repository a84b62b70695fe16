"""The question: are there at least so many rows with a condition."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, ClassVar

from utmost.backends.source import Source
from utmost.errors import InvalidInput, shown
from utmost.privacy import Level
from utmost.queries.arguments import Condition, Of, Prior, Privacy, plain
from utmost.queries.contributions import ones
from utmost.queries.options import ANY_CONDITION, AT_LEAST, BY, OF
from utmost.queries.questions.by import IN_ONE_GROUP, MORE_GROUPS
from utmost.queries.questions.choices import YesOrNo
from utmost.queries.questions.choices_by import YesOrNoBy
from utmost.queries.questions.numbers import AddsOnes
from utmost.queries.questions.question import Asks, Made, Terms, as_of
from utmost.space.line import Line


@dataclass(frozen=True, eq=False, kw_only=True)
class Threshold(YesOrNo, AddsOnes):
    """Whether a condition is true of at least so many rows, or people."""

    name = "threshold"
    summary = "whether at least so many rows have a condition"
    options: ClassVar = (ANY_CONDITION, AT_LEAST, BY, OF)
    parts: ClassVar[tuple[str, ...]] = ("yes",)

    at_least: int

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            border = 0 if isinstance(self.at_least, bool) else plain(operator.index(self.at_least))
        except TypeError:
            border = 0
        if not 1 <= border <= self.space.last:
            raise InvalidInput(
                f"at_least is {shown(self.at_least)}; give a whole number from 1 to {self.space.last}, the most there "
                "can be: the answer to any other is public."
            )
        self.settle(at_least=border)

    @property
    def words(self) -> str:
        having = f"{self.kept_within} with {self.where}" if self.where else self.kept
        return f"Are there at least {self.at_least} {self.of}{having}?"

    @property
    def public(self) -> dict[str, Any]:
        asked = {"where": self.where.text, "of": self.of, "at_least": self.at_least}
        return {"question": self.name, **asked, **self.judged_by}

    @property
    def space(self) -> Line:
        return self.line(1)

    @property
    def border(self) -> int:
        return self.at_least


@dataclass(frozen=True, eq=False, kw_only=True)
class ThresholdBy(YesOrNoBy):
    """Whether a condition is true of at least so many rows, or people, of a group."""

    name = "threshold"
    summary = "whether at least so many rows of each group have a condition"
    by_one_row: ClassVar = True

    at_least: int
    of: Of = "rows"

    def __post_init__(self) -> None:
        self.settle(of=as_of(self.of, self.terms.unit))
        super().__post_init__()

    def made(self, terms: Terms, level: Level) -> Threshold:
        asked = {"where": self.where, "at_least": self.at_least, "loss": self.loss, "prior": self.prior}
        return Threshold(terms=terms, privacy=level, **asked)

    @property
    def words(self) -> str:
        return super().words.replace(" rows", f" {self.of}", 1)

    @property
    def public(self) -> dict[str, Any]:
        return {**super().public, "of": self.of}

    @property
    def one_row_words(self) -> str:
        return IN_ONE_GROUP

    @property
    def one_row_note(self) -> str:
        return MORE_GROUPS

    def grouped(self, source: Source) -> dict[str, Any]:
        return {"contributions": {"yes": ones(source, self.where.given)}}


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
        if by is None:
            return self.pose(Threshold, privacy, where, fresh, **asked)
        return self.pose(ThresholdBy, privacy, where, fresh, by=by, **asked)
