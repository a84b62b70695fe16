"""The question: which k values of a column are most frequent, in order; of a public list, or of all there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from utmost.errors import InvalidInput
from utmost.release.accuracy import BY_LAW, After, Before
from utmost.release.aggregates.count import Count
from utmost.release.arguments import Condition, Of, Privacy
from utmost.release.bins import as_bins, labels_of, public_of
from utmost.release.cells import as_categories
from utmost.release.conditions import EVERY_ROW, Where
from utmost.release.discover import as_discover
from utmost.release.keys import keys
from utmost.release.options import CHOICES, COLUMN, KEYS_EACH, OF, WHERE, Option, read_whole
from utmost.release.questions.by import CountBy
from utmost.release.questions.question import Asks, Made, Question, as_of, asking
from utmost.release.questions.top_found import MISSED, TopFound, as_named, recall_in_words
from utmost.release.source import Source, Statement, as_column
from utmost.space.integers import Tallies

if TYPE_CHECKING:
    from utmost.solution import Solution

K = Option("k", "How many are named.", "--k, such as --k 10", "How many are named", required=True, read=read_whole)
GIVEN = f"{BY_LAW}, nothing more than the expected recall is known of who is missed"


@dataclass(frozen=True, eq=False, kw_only=True)
class Top(Question):
    """The k most frequent of a public list of candidates."""

    needs_most: ClassVar = True

    name = "top"
    summary = "which values of a column are most frequent, in order"
    options: ClassVar = (COLUMN, K, replace(CHOICES, required=False), WHERE, OF, KEYS_EACH)
    by_one_row: ClassVar = True

    column: str
    k: int
    candidates: Any
    where: Where = EVERY_ROW
    of: Of = "rows"
    loss: str = MISSED

    def __post_init__(self) -> None:
        super().__post_init__()
        column = as_column(self.column)
        listed = as_bins(self.candidates) or tuple(as_categories(column, self.candidates))
        if not 1 <= (k := as_named(self.k)) <= len(listed):
            raise InvalidInput(f"k is {k}, and there are {len(listed)} candidates; name 1 to {len(listed)} of them.")
        self.settle(column=column, candidates=listed, k=k, of=as_of(self.of, self.terms.unit))

    @cached_property
    def counts(self) -> CountBy:
        """The counts that it is made of; bounds of groups are not its own, and it is proved without them."""
        by = keys({self.column: as_bins(self.candidates) or list(self.candidates)})
        unit = replace(self.terms.unit, groups_each=None, rows_each_group=None)
        terms = replace(self.terms, unit=unit)
        return CountBy(terms=terms, privacy=self.privacy, by=by, where=self.where, of=self.of)

    @property
    def words(self) -> str:
        many = "Which" if self.k == 1 else f"Which {self.k} values of"
        return asking(f"{many} {self.column} {'is' if self.k == 1 else 'are'} most frequent", self.where, self.kept)

    @property
    def public(self) -> dict[str, Any]:
        asked: dict[str, Any] = {"column": self.column, "k": self.k}
        asked |= {"candidates": public_of(self.candidates), "where": self.where.text, "of": self.of}
        return {"question": self.name, **asked, "loss": self.loss, "prior": "uniform"}

    @property
    def space(self) -> Tallies:
        return Tallies(len(self.candidates), self.stated_rows, self.terms.neighbours, self.rows_each)

    @property
    def posed(self) -> dict[str, Any]:
        return {**super().posed, "k": self.k}

    def design(self) -> Solution:
        from utmost.design.rainbow.top_lists import best_top

        return best_top(self.space, self.k, self.privacy)

    def statement(self, source: Source, secret: bytes) -> Statement:
        return self.counts.statement(source, secret)

    def point(self, found: Mapping[str, Any]) -> list[int]:
        counted: list[int] = np.clip(found["count"], 0, self.space.rows).tolist()
        return counted

    def released(self, drawn: Any) -> dict[str, Any]:
        return {"places": list(drawn)}

    def value(self, released: Mapping[str, Any]) -> list[Any]:
        places = released["places"]
        known = isinstance(places, list) and all(type(at) is int and 0 <= at < len(self.candidates) for at in places)
        if not known or len(places) != self.k or len(set(places)) < self.k:
            raise InvalidInput(f"{self.k} different candidates are named, each by its place in the list.")
        return [labels_of(self.candidates)[at] for at in places]

    def before(self) -> Before:
        from utmost.mechanism.top_lists import missed

        average, error = missed(self.solution.mechanism, self.space)
        return Before(MISSED, average, 1.0, error, holds=recall_in_words(average, "all tallies alike"))

    def after(self, released: Mapping[str, Any]) -> After:
        return After(given=GIVEN + self.not_in_it)

    def compared(self) -> dict[str, dict[str, float]]:
        from utmost.design.rainbow.top_lists import candidates
        from utmost.mechanism.top_lists import missed

        tried = candidates(self.space, self.k, self.privacy)
        others = {each.name: {MISSED: missed(each, self.space)[0]} for each in tried}
        return {"Utmost": {MISSED: self.solution.value}, **others}


class AsksTop(Asks[Made]):
    """`top`, of a session or a plan."""

    def top(
        self,
        column: str,
        k: int,
        candidates: Any = None,
        privacy: Privacy = None,
        *,
        where: Condition = None,
        of: Of = "rows",
        keys_each: int = 1,
        fresh: bool = False,
    ) -> Made:
        """The k most frequent values of a column, the most frequent first.

        With a list of candidates the best of two mechanisms names k of them: noise on all counts, or k rounds of
        geometric noisy max. Without one, keys are found privately, with their counts, and the k largest are named; a
        level with a delta is needed then, and fewer than k are named where fewer are shown.

        Parameters
        ----------
        column : str
            Whose values are counted; without candidates, also a list of columns.
        k : int
            How many are named.
        candidates : list or um.bins, optional
            Public values of the column, or the bins that its numbers are put into, in the order that breaks ties;
            others do not count. Without it, any value of the column may be named.
        privacy : level or number
            What this answer may spend, as for `count`; without candidates with a delta: ``um.ApproxDP(1, 1e-6)``.
        where : condition, optional
            Only rows with this condition count.
        of : "rows" or "people"
            What is counted: all kept rows, or one row of each person. Without candidates a person counts once for each
            of at most `keys_each` keys.
        keys_each : int
            Without candidates: of one person, so many keys take part at most.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is a list, the most frequent first. The plan has the expected recall: the share of the true k
            that is among those named. Without candidates `answer.intervals` holds the true counts of all that are named
            at once with 95 %.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"dest": ["ORD"] * 90 + ["LAX"] * 60 + ["SFO"] * 20 + ["my own airfield"]})
        >>> s = um.Session(table, "flights", um.rows(at_most=1000), "add-remove", budget=um.ApproxDP(9, 1e-6))
        >>> s.top("dest", 2, privacy=um.ApproxDP(3, 1e-6)).value
        ['ORD', 'LAX']
        >>> s.top("dest", 1, ["LAX", "ORD", "SFO"], privacy=3).value
        ['ORD']
        """
        level, condition = self.level(privacy), self.where(where)
        if candidates is None:
            by = as_discover(column, keys_each)
            return self.pose(TopFound, level, where, fresh, aggregate=Count(counted=of), by=by, k=k)
        asked = Top(terms=self.terms, privacy=level, column=column, k=k, candidates=candidates, where=condition, of=of)
        return self.ask(asked, fresh)
