"""Query: the k most frequent keys, in order, of those found privately, by their released counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact import as_whole
from utmost.queries.accuracy import CONFIDENCE, Before
from utmost.queries.keys import english_list
from utmost.queries.questions.aggregates import Groups
from utmost.queries.questions.by_found_keys import ByFoundKeys, plain_key
from utmost.queries.report.words import question_in_words
from utmost.queries.units_per_key import KeyTotals

MISSED = "missed"
"""The loss of a top list: the share of the true top k that it misses."""
MOST_NAMED, ZIPF, SAMPLED = 10_000, 2000, 400
LARGEST_NAMED = (
    "keys are named because their counts came out large, so the counts are too large on average; their intervals are "
    "wide enough to hold the true counts of all that are named at once"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class TopFound(ByFoundKeys):
    """The k most frequent of the released keys.

    Attributes
    ----------
    k : int
        The length of the list.
    """

    needs_most: ClassVar = True

    k: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self.set_fields(k=as_k(self.k))

    @property
    def name(self) -> str:
        return "top"

    @property
    def words(self) -> str:
        columns = english_list(self.by.columns)
        subject = f"{columns} has" if self.k == 1 else f"{self.k} {columns} have"
        question = f"Which {subject} most {self.of}, keys found privately{self.selection.keys_clause(self.of_people)}"
        return question_in_words(question, self.where, "" if self.counts_holders else self.rows_clause)

    @property
    def public(self) -> dict[str, Any]:
        where = {"by": self.by.public, "where": self.where.text, "loss": self.loss, "prior": "uniform"}
        return {"question": self.name, **self.statistic.public, "k": self.k, **where}

    def draw(self, point: KeyTotals) -> dict[str, Any]:
        released = super().draw(point)
        counts = released["count"]
        order = sorted(range(len(counts)), key=lambda place: -counts[place])[: self.k]  # ties: the first key
        keys = [[name, kind, [column[place] for place in order]] for name, kind, column in released["keys"]]
        return {"keys": keys, "count": [counts[place] for place in order]}

    @property
    def confidence(self) -> float:
        """The confidence of one interval such that those of all possible keys hold at once: also the selected ones."""
        most_keys = (self.terms.unit.at_most or 1) * self.selection.keys_each
        return 1 - (1 - CONFIDENCE) / most_keys

    def groups(self, released: Mapping[str, Any], confidence: float | None = None, ordered: bool = False) -> Groups:
        groups = super().groups(released, confidence or self.confidence, ordered)
        counts = released["count"]
        if groups.keys.size > self.k or counts != sorted(counts, reverse=True):
            raise InvalidInput(f"at most {self.k} keys are shown, the one with the largest count first.")
        return groups

    @property
    def interval_basis(self) -> str:
        return f", of all that are named at once{self.limits_clause}"

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self.selection.notes(self.solution.mechanism), LARGEST_NAMED)

    def value(self, released: Mapping[str, Any]) -> Any:
        return self.groups(released).keys.labels

    def plain_value(self, value: Any) -> Any:
        return [plain_key(key) for key in value]

    def before(self) -> Before:
        average, error = self._missed
        words = f"if the i-th of {ZIPF} keys has a share 1/i of the largest, and there are {self.stated_rows} {self.of}"
        return Before(MISSED, average, 1.0, error, holds=recall_in_words(average, words))

    @property
    def average(self) -> float:
        return self._missed[0]

    def expected_losses(self) -> dict[str, dict[str, float]]:
        count_losses = super().expected_losses()
        return {**count_losses, "Utmost": {MISSED: self.average, **count_losses["Utmost"]}}

    @cached_property
    def _missed(self) -> tuple[float, float]:
        """Expected share of the true top k that is missed if keys follow Zipf's law, simulated, with standard error."""
        from utmost.theory.selection.top_lists import largest, simulate_noise

        mechanism, rng = self.solution.mechanism, np.random.default_rng(20_130_103)
        sizes = 1 / np.arange(1, ZIPF + 1)
        holders = np.floor(self.stated_rows * sizes / sizes.sum()).astype(np.int64)[None]
        cumulative = mechanism.law.release_probability(np.arange(1, mechanism.law.sure + 1))
        thresholds = 1 + np.searchsorted(cumulative, rng.random((SAMPLED, ZIPF)), side="left")
        counts = holders - thresholds
        if mechanism.noise is not None:
            counts = holders + simulate_noise(mechanism.noise.noise, counts.shape, rng)
        shown_counts = np.where(holders >= thresholds, counts.astype(float), -np.inf)
        places, k = largest(shown_counts, self.k), min(self.k, ZIPF)
        is_shown = np.isfinite(np.take_along_axis(shown_counts, places, axis=1))
        share = ((places < k) & is_shown).sum(axis=1) / k
        return float(1 - share.mean()), float(share.std() / np.sqrt(SAMPLED))


def recall_in_words(missed: float, words: str) -> str:
    """The expected recall in words, with its assumptions."""
    return f"expected recall {1 - missed:.4g}: {words}"


def as_k(k: Any) -> int:
    """Return the length of a top list as an int; refuse one out of range."""
    return as_whole(k, "k", 1, MOST_NAMED)
