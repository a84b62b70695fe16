"""The question: which k values of a column are most frequent, in order; of a public list, or of all there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from utmost.backends.source import Source, Statement, as_column
from utmost.errors import InvalidInput
from utmost.exact import as_whole
from utmost.queries.accuracy import BY_LAW, CONFIDENCE, After, Before
from utmost.queries.arguments import Condition, Of, Privacy
from utmost.queries.bins import as_bins, labels_of, public_of
from utmost.queries.cells import as_categories
from utmost.queries.found_keys import as_discover, shown_keys
from utmost.queries.keys import Keys, keys, named
from utmost.queries.options import CHOICES, COLUMN, KEYS_EACH, OF, WHERE, Option, read_whole
from utmost.queries.predicate import EVERY_ROW, Where
from utmost.queries.questions.by import CountBy
from utmost.queries.questions.discovered import SELECTED, CountDiscovered, written_key
from utmost.queries.questions.question import Asks, Made, Question, as_of, asking
from utmost.queries.units_per_key import Found
from utmost.space.integers import Tallies

if TYPE_CHECKING:
    from utmost.solution import Solution

MISSED = "missed"
"""The loss of a top list: what share of the true k is missed."""
MOST_NAMED, ZIPF, SAMPLED = 10_000, 2000, 400
K = Option("k", "How many are named.", "--k, such as --k 10", "How many are named", required=True, read=read_whole)
LARGEST_NAMED = (
    "keys are named because their counts came out large, so the counts are too large on average; their intervals are "
    "wide enough to hold the true counts of all that are named at once"
)
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
        from utmost.theory.selection.design.top_lists import best_top

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
        from utmost.theory.selection.top_lists import missed

        average, error = missed(self.solution.mechanism, self.space)
        return Before(MISSED, average, 1.0, error, holds=recall_in_words(average, "all tallies alike"))

    def after(self, released: Mapping[str, Any]) -> After:
        return After(given=GIVEN + self.not_in_it)

    def compared(self) -> dict[str, dict[str, float]]:
        from utmost.theory.selection.design.top_lists import candidates
        from utmost.theory.selection.top_lists import missed

        tried = candidates(self.space, self.k, self.privacy)
        others = {each.name: {MISSED: missed(each, self.space)[0]} for each in tried}
        return {"Utmost": {MISSED: self.solution.value}, **others}


@dataclass(frozen=True, eq=False, kw_only=True)
class TopDiscovered(CountDiscovered):
    """The k most frequent of the keys that are shown, by the counts that are shown beside them."""

    needs_most: ClassVar = True

    name = "top"
    summary = "which keys are most frequent, in order"

    k: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(k=as_named(self.k))

    @property
    def words(self) -> str:
        many = f"{named(self.by.columns)} has" if self.k == 1 else f"{self.k} {named(self.by.columns)} have"
        found = f"Which {many} most {self.of}, keys found privately{self._kept_keys}"
        return asking(found, self.where, "" if self.counted else self.kept)

    @property
    def public(self) -> dict[str, Any]:
        return self._public(of=self.of, k=self.k)

    def draw(self, point: Found) -> dict[str, Any]:
        released = super().draw(point)
        counts = released["count"]
        order = sorted(range(len(counts)), key=lambda at: -counts[at])[: self.k]  # of equal ones the first key
        listed = [[name, kind, [column[at] for at in order]] for name, kind, column in released["keys"]]
        return {"keys": listed, "count": [counts[at] for at in order]}

    def keys(self, released: Mapping[str, Any]) -> Keys:
        found, counts = shown_keys(self.by.columns, released["keys"], ordered=False), released["count"]
        if found.size > self.k or counts != sorted(counts, reverse=True):
            raise InvalidInput(f"at most {self.k} keys are shown, the one with the largest count first.")
        return found

    @property
    def confidence_of_one(self) -> float:
        """So large that all keys there can be have their numbers in their intervals at once: also the largest ones."""
        most_keys = (self.terms.unit.at_most or 1) * self.keys_each
        return 1 - (1 - CONFIDENCE) / most_keys

    @property
    def by_law(self) -> str:
        return f"{BY_LAW}, of all that are named at once{self.not_in_it}"

    @property
    def notes(self) -> tuple[str, ...]:
        return (*(note for note in super().notes if note != SELECTED), LARGEST_NAMED)

    def value(self, released: Mapping[str, Any]) -> Any:
        _ = self.columns(released)  # as many counts as keys, none that is not shown
        return self.keys(released).labels

    def plain_value(self, value: Any) -> Any:
        return [written_key(key) for key in value]

    def before(self) -> Before:
        average, error = self._missed
        words = f"if the i-th of {ZIPF} keys has a share 1/i of the largest, and there are {self.stated_rows} {self.of}"
        return Before(MISSED, average, 1.0, error, holds=recall_in_words(average, words))

    @property
    def average(self) -> float:
        return self._missed[0]

    def compared(self) -> dict[str, dict[str, float]]:
        counted = super().compared()
        return {**counted, "Utmost": {MISSED: self.average, **counted["Utmost"]}}

    @cached_property
    def _missed(self) -> tuple[float, float]:
        """What share of the true k is missed on a table whose keys fall off as Zipf's do: a public sample."""
        from utmost.theory.selection.top_lists import drawn_in_floats, largest

        mechanism, rng = self.solution.mechanism, np.random.default_rng(20_130_103)
        sizes = 1 / np.arange(1, ZIPF + 1)
        holders = np.floor(self.stated_rows * sizes / sizes.sum()).astype(np.int64)[None]
        cumulative = mechanism.law.kept(np.arange(1, mechanism.law.sure + 1))
        thresholds = 1 + np.searchsorted(cumulative, rng.random((SAMPLED, ZIPF)), side="left")
        counts = holders - thresholds
        if mechanism.noise is not None:
            counts = holders + drawn_in_floats(mechanism.noise.noise, counts.shape, rng)
        shown = np.where(holders >= thresholds, counts.astype(float), -np.inf)
        named, k = largest(shown, self.k), min(self.k, ZIPF)
        there = np.isfinite(np.take_along_axis(shown, named, axis=1))
        found = ((named < k) & there).sum(axis=1) / k
        return float(1 - found.mean()), float(found.std() / np.sqrt(SAMPLED))


def recall_in_words(missed: float, words: str) -> str:
    """What is expected to be found, and on what that rests."""
    return f"expected recall {1 - missed:.4g}: {words}"


def as_named(k: Any) -> int:
    """How many are named."""
    return as_whole(k, "k", 1, MOST_NAMED)


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
            found = TopDiscovered(terms=self.terms, privacy=level, by=by, where=condition, of=of, k=k)
            return self.ask(found, fresh)
        asked = Top(terms=self.terms, privacy=level, column=column, k=k, candidates=candidates, where=condition, of=of)
        return self.ask(asked, fresh)
