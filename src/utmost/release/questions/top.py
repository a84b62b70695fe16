"""The question: which k values of a column are most frequent, in order; of a public list, or of all there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact import as_whole
from utmost.release.accuracy import BY_LAW, CONFIDENCE, Before
from utmost.release.arguments import Condition, Of, Privacy
from utmost.release.bins import as_bins, labels_of, public_of
from utmost.release.cells import as_categories
from utmost.release.conditions import Where
from utmost.release.contributions import ones
from utmost.release.discover import as_discover, shown_keys
from utmost.release.groups import grouped_statement
from utmost.release.holders import Found
from utmost.release.keys import Keys, keys, named
from utmost.release.options import CHOICES, COLUMN, KEYS_EACH, OF, WHERE, Option, read_whole
from utmost.release.questions.choices import Choice
from utmost.release.questions.discovered import SELECTED, CountDiscovered, written_key
from utmost.release.questions.question import Asks, Made, as_of, asking
from utmost.release.questions.selection import Confidence, Scores, Selection
from utmost.release.source import Source, Statement, as_column
from utmost.release.units import Unit
from utmost.space.integers import Tallies

if TYPE_CHECKING:
    from utmost.privacy import Level
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


@dataclass(frozen=True)
class CategoryCounts(Scores):
    """How many rows have each of some values of a column.

    Attributes
    ----------
    keys : Keys
        The values.
    space : Tallies
        Where the numbers of rows lie.
    where : Where
        Which rows are counted.
    """

    keys: Keys
    space: Tallies
    where: Where

    def statement(self, source: Source, unit: Unit, rows_each: int, secret: bytes) -> Statement:
        counted = {"count": ones(source, self.where.given)}
        return grouped_statement(source, unit, rows_each, self.keys, counted, secret)

    def point(self, found: Mapping[str, Any]) -> list[int]:
        counts: list[int] = np.clip(found["count"], 0, self.space.rows).tolist()
        return counts


@dataclass(frozen=True, eq=False)
class TopList(Selection):
    """The k candidates with the most rows, in order.

    Attributes
    ----------
    space : Tallies
        Where the numbers of rows lie, and what one neighbour does to them.
    labels : sequence
        What the candidates are called.
    k : int
        How many are named.
    privacy : Level
        What the list keeps for one neighbour.
    """

    label: ClassVar = "places"
    plain: ClassVar = list
    states_chance: ClassVar = False

    space: Tallies
    labels: Sequence[Any]
    k: int
    privacy: Level

    @property
    def posed(self) -> dict[str, Any]:
        return {"loss": MISSED, "k": self.k}

    def design(self) -> Solution:
        from utmost.design.rainbow.top_lists import best_top

        return best_top(self.space, self.k, self.privacy)

    def require(self, selected: Any) -> None:
        places = selected if isinstance(selected, list) else []
        known = all(type(at) is int and 0 <= at < len(self.labels) for at in places)
        if not known or len(places) != self.k or len(set(places)) < self.k:
            raise InvalidInput(f"{self.k} different candidates are named, each by its place in the list.")

    def values(self, selected: list[int]) -> Sequence[Any]:
        return ([self.labels[at] for at in selected],)

    def before(self, solution: Solution) -> Before:
        from utmost.mechanism.top_lists import missed

        average, error = missed(solution.mechanism, self.space)
        return Before(MISSED, average, 1.0, error, holds=recall_in_words(average, "all tallies alike"))

    def confidence(self, solution: Solution, selected: list[int]) -> Confidence:
        return Confidence()

    def basis(self, of_groups: str, part: str) -> str:
        return GIVEN + part

    def compared(self, solution: Solution) -> dict[str, dict[str, float]]:
        from utmost.design.rainbow.top_lists import candidates
        from utmost.mechanism.top_lists import missed

        others = {
            way.name: {MISSED: missed(way, self.space)[0]} for way in candidates(self.space, self.k, self.privacy)
        }
        return {"Utmost": {MISSED: solution.value}, **others}


@dataclass(frozen=True, eq=False, kw_only=True)
class Top(Choice):
    """The k most frequent of a public list of candidates.

    Attributes
    ----------
    column : str
        Whose values are counted.
    k : int
        How many are named.
    candidates : Bins or tuple
        What may be named, in the order that breaks ties.
    of : "rows" or "people"
        What is counted.
    """

    name = "top"
    summary = "which values of a column are most frequent, in order"
    options: ClassVar = (COLUMN, K, replace(CHOICES, required=False), WHERE, OF, KEYS_EACH)
    by_one_row: ClassVar = True

    column: str
    k: int
    candidates: Any
    of: Of = "rows"
    loss: str = MISSED

    def __post_init__(self) -> None:
        super().__post_init__()
        column = as_column(self.column)
        listed = as_bins(self.candidates) or tuple(as_categories(column, self.candidates))
        if not 1 <= (k := as_named(self.k)) <= len(listed):
            raise InvalidInput(f"k is {k}, and there are {len(listed)} candidates; name 1 to {len(listed)} of them.")
        self.settle(column=column, candidates=listed, k=k, of=as_of(self.of, self.terms.unit))

    @property
    def words(self) -> str:
        many = "Which" if self.k == 1 else f"Which {self.k} values of"
        return asking(f"{many} {self.column} {'is' if self.k == 1 else 'are'} most frequent", self.where, self.kept)

    @property
    def public(self) -> dict[str, Any]:
        asked: dict[str, Any] = {"column": self.column, "k": self.k}
        asked |= {"candidates": public_of(self.candidates), "where": self.where.text, "of": self.of}
        return {"question": self.name, **asked, "loss": self.loss, "prior": "uniform"}

    @cached_property
    def scores(self) -> CategoryCounts:
        listed = keys({self.column: as_bins(self.candidates) or list(self.candidates)})
        return CategoryCounts(listed, self.scope.tallies(len(self.candidates)), self.where)

    @cached_property
    def selection(self) -> TopList:
        tallies = self.scope.tallies(len(self.candidates))
        return TopList(tallies, labels_of(self.candidates), self.k, self.scope.privacy)


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
        from utmost.mechanism.top_lists import drawn_in_floats, largest

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
