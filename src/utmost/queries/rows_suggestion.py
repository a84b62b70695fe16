"""Suggest a contribution bound: how many rows truncation would drop, and the noise of a count, for each candidate.

Asked is one question, how many people have how many rows (`rows_per_person`). From its released counts alone follow,
for every candidate k,

* how many rows truncation to k rows per person drops: every person beyond k is taken to have as many rows as the middle
  of their bin (those of the last bin, 1.5 times its lower end);
* an upper end of a 95 % interval for it, with every person at the upper end of their bin (the last: twice its lower);
* the expected error that noise adds to a count of rows at the level that answers will be asked at: noise for k rows.

The k with the smallest sum of dropped rows and noise is suggested. Noise alone puts people into the highest bins, where
each stands for hundreds of rows. So bins are taken together from the top until their total exceeds what noise makes of
none with 95 %; these people are counted in the lowest of these bins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from utmost.errors import InvalidInput
from utmost.privacy import Level, as_level
from utmost.queries.accuracy import CONFIDENCE
from utmost.queries.answers import Answer
from utmost.queries.questions.question import require_releasable
from utmost.queries.report.words import figures
from utmost.solution.card import card
from utmost.space.integers import Lattice

if TYPE_CHECKING:
    import pyarrow

    from utmost.queries.budgeted_queries import BudgetedQueries


@dataclass(frozen=True, eq=False)
class RowsEach:
    """A suggested contribution bound with the numbers behind it; made by `session.suggest_rows_each`.

    Attributes
    ----------
    rows_each : int
        The candidate with the least sum of dropped rows and expected noise of a count of rows.
    table : pyarrow.Table
        One row for each candidate: rows_each, dropped_rows (the rows that truncation drops, people in the middle of
        their bins), dropped_up_to (the upper end of its 95 % interval, people at the upper ends), noise (the expected
        error of a count of rows) and together, the sum of dropped_rows and noise.
    rows : int
        The estimated number of all rows, by the same rule as dropped_rows.
    asked_at : Level
        The level of the noise.
    answer : Answer
        How many people have how many rows, with its proof: all that was spent.
    """

    rows_each: int
    table: pyarrow.Table
    rows: int
    asked_at: Level
    answer: Answer

    def __str__(self) -> str:
        lines = [
            f"suggested: rows_each={self.rows_each}",
            f"  rows per person: rows dropped of about {figures(self.rows)}, "
            f"expected error of a count at {self.asked_at}",
        ]
        listed = {*(times * 10**power for power in range(10) for times in (1, 2, 5)), self.rows_each}
        for row in self.table.to_pylist():
            if row["rows_each"] in listed:
                mark = "  <- least together" if row["rows_each"] == self.rows_each else ""
                dropped = f"{figures(row['dropped_rows']):>9} dropped (up to {figures(row['dropped_up_to'])})"
                lines.append(f"  {row['rows_each']:>6,}: {dropped}, noise {figures(row['noise'])}{mark}")
        lines.append(
            "  estimated from noisy counts of people by their number of rows, each person in the middle of a bin; up "
            "to: 95 % interval, each person at the upper end; more than "
            f"{self.table['rows_each'][-1].as_py():,} rows count as at most twice that"
        )
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return card(str(self))


def suggested(answer: Answer, asked_at: Level) -> RowsEach:
    """The suggestion that follows from an answer to `rows_per_person`."""
    import pyarrow

    question: Any = answer.question  # of rows_per_person
    candidates, counts = question.ends, [answer.released[name] for name in question.names]
    starts, tops = (1, *(end + 1 for end in candidates)), (*candidates, 2 * question.largest)
    middles = [(start + top) / 2 for start, top in zip(starts, tops, strict=True)]
    noise_of_counts = question.solution.mechanism.noise
    deviation = math.sqrt(noise_of_counts.mean("squared"))
    people = _without_noisy_tail(counts, noise_of_counts.half_width(CONFIDENCE))

    def beyond(k: int, rows: Sequence[float], of: Sequence[int]) -> float:
        return max(sum(count * max(number - k, 0) for number, count in zip(rows, of, strict=True)), 0)

    def beyond_up_to(k: int) -> float:
        spread = math.sqrt(sum(max(top - k, 0) ** 2 for top in tops))
        return max(beyond(k, tops, counts) + 2 * deviation * spread, beyond(k, middles, people))

    dropped = [round(beyond(k, middles, people)) for k in candidates]
    noise = [_noise(k, asked_at) for k in candidates]
    together = [lost + error for lost, error in zip(dropped, noise, strict=True)]
    columns = {
        "rows_each": list(candidates),
        "dropped_rows": dropped,
        "dropped_up_to": [math.ceil(beyond_up_to(k)) for k in candidates],
        "noise": noise,
        "together": together,
    }
    best = candidates[together.index(min(together))]
    return RowsEach(best, pyarrow.table(columns), round(beyond(0, middles, people)), asked_at, answer)


def _without_noisy_tail(counts: Sequence[int], half_width: float) -> list[int]:
    """The counts, with the highest bins joined until their total exceeds what noise alone produces."""
    people, tail = list(counts), 0
    for place in reversed(range(len(people))):
        tail, people[place] = tail + people[place], 0
        if tail > half_width * math.sqrt(len(people) - place):
            people[place] = tail
            break
    return people


@cache
def _noise(rows_each: int, level: Level) -> float:
    """The expected error of a count of rows, whose sensitivity is `rows_each` for both adjacencies."""
    from utmost.theory.vector.design.vectors import best_vector_noise

    return float(best_vector_noise(Lattice(1, "any", rows_each), level, "absolute").mean("absolute"))


def suggest_rows(
    session: BudgetedQueries, privacy: Any, where: Any, largest: Any, asked_at: Any, fresh: bool
) -> RowsEach:
    """What `Session.suggest_rows_each` does."""
    if privacy is None:
        raise InvalidInput("say what the answer may spend, such as privacy=0.1: there is no default.")
    level = require_releasable(as_level(privacy if asked_at is None else asked_at))
    _noise(1, level)  # levels without noise are refused before anything is spent
    return suggested(session.rows_per_person(where, privacy, largest=largest, fresh=fresh), level)
