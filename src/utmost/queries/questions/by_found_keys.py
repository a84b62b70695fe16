"""Queries by keys found privately (partition selection): the keys, and a count, sum or mean for each released key.

Whether a key is released depends on its number of contributors (`theory/partition_selection/mechanism.py`), which is
released with the key at no further cost. Sums, means, and counts of rows where a person has several get noise at a part
of the level, and the keys use the rest (`discover(share=...)`, half by default); the plan says so. Released keys are
sorted, so that their order carries no information.

**Sensitivity of the numbers**: as for public keys (`aggregates.py`). Where a neighbour changes one key only (one key
per unit, add/remove), the numbers of a key get the best noise for them; where it changes several, every number gets
independent noise, calibrated to the change of all of them together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput, shown
from utmost.exact import as_whole
from utmost.exact.arrays import Floats
from utmost.exact.bisection import first_integer
from utmost.privacy import ApproxDP, ApproxGaussianDP, Level
from utmost.queries.accuracy import CONFIDENCE, After, Before
from utmost.queries.aggregates.aggregate import Integers
from utmost.queries.aggregates.count import Count
from utmost.queries.contributions import in_digits
from utmost.queries.found_keys import HALF, Discover, shown_keys
from utmost.queries.keys import Keys, english_list
from utmost.queries.questions.aggregates import (
    SUPPRESSED,
    AggregateQuery,
    Groups,
    as_integers,
    groups_of,
)
from utmost.queries.questions.alternatives import MOST_WIDE, gaussian_spread
from utmost.queries.questions.integer_limits import clip_to, is_near_end
from utmost.queries.questions.question import Terms
from utmost.queries.report.words import question_in_words
from utmost.queries.units import Unit
from utmost.queries.units_per_key import KeyTotals, holders_statement, in_order, read_found_keys
from utmost.space.integers import Holders, Lattice

if TYPE_CHECKING:
    import pyarrow

    from utmost.mechanism.noise.lattice import NoisyVector
    from utmost.solution import Solution
    from utmost.theory.partition_selection.mechanism import ThresholdedKeys, ThresholdLaw

USERS = "users"
"""The loss of partition selection without numbers: how many contributors a key needs to be released."""
TRUE_KEYS = ", every key that is shown is held by at least one"
SHOWN = ", of the times that a key is shown"
FEW_KEYS = (
    "what a person has in more than {} of the keys is left out, by {}: numbers are smaller for it; a larger keys_each "
    "leaves out less, and shows fewer keys"
)
SELECTED = (
    "a number close to the least that is shown was shown because it came out large: its interval says so, the number "
    "itself is too large on average"
)
NULLS = "rows with a null in a key column take no part"
MOST_POINTS = 200
"""The most points of the curve of release probabilities, by number of contributors."""
NEGLIGIBLE = 1e-17
"""Probabilities of staying hidden below this are left out of the expected number of contributors."""


@dataclass(frozen=True)
class KeySelection:
    """Partition selection: which keys are released, with the sentences about it.

    Attributes
    ----------
    by : Discover
        The columns of the keys, and the contribution bound in keys.
    terms : Terms
        The privacy unit and the adjacency.
    keys_each : int
        Contribution bound: at most this many keys of one unit are used.
    counted : bool
        Whether the number of contributors is released with a key.
    numbers : Lattice or None
        The noisy integers that one neighbour changes, with their sensitivity; None where no key has noisy integers.
    """

    by: Discover
    terms: Terms
    keys_each: int
    counted: bool = False
    numbers: Lattice | None = None

    @property
    def space(self) -> Holders:
        """The contributors of every key and the noisy integers of each, with what one neighbour changes."""
        return Holders(self.terms.unit.at_most, self.keys_each, self.terms.neighbours, self.numbers)

    @property
    def problem_data(self) -> dict[str, Any]:
        """The data of the solution's problem beside space and level: a solution of any other problem is refused."""
        return {"counted": self.counted, **({} if self.by.share == HALF else {"share": str(self.by.share)})}

    def design(self, level: Level, loss: str) -> Solution:
        """The mechanism that releases each key with the largest probability the level allows."""
        from utmost.theory.partition_selection.design import best_keys

        return best_keys(self.space, level, self.counted, loss, self.by.share)

    def point(self, engine_result: Mapping[str, Any], parts: tuple[str, ...], digits: int = 1) -> KeyTotals:
        """The keys with their numbers of contributors, and their integers clamped to the space."""
        keys = read_found_keys(self.by, engine_result, parts, digits)
        if self.numbers is None:
            return keys
        return KeyTotals(keys.keys, keys.holders, clip_to(keys.numbers, self.numbers))

    def draw(self, mechanism: ThresholdedKeys, point: KeyTotals) -> tuple[Any, Integers]:
        """Draw which keys are released; return them sorted, with their noisy integers."""
        places, numbers = mechanism.sample((point.holders, point.numbers))
        keys = point.keys.take(places)
        order = in_order(keys)
        return keys.take(order), numbers[order]

    def keys(self, released: Mapping[str, Any], ordered: bool = True) -> Keys:
        """The keys that were released."""
        return shown_keys(self.by.columns, released["keys"], ordered)

    def curve(self, law: ThresholdLaw) -> dict[str, Any]:
        """Probability that a key is released, by its number of contributors: public, before anything is read."""
        users = np.unique(np.linspace(1, law.sure, min(law.sure, MOST_POINTS)).astype(int))
        return {"holders": users.tolist(), "shown with probability": law.release_probability(users).tolist()}

    def notes(self, mechanism: ThresholdedKeys) -> tuple[str, ...]:
        """Sentences: how likely keys are released, how the level is split, and which keys are not used."""
        unit = self.terms.unit
        few_keys = () if unit.id is None else (FEW_KEYS.format(self.keys_each, unit.id),)
        return (self._chances_in_words(mechanism.law), *self._split_in_words(mechanism), NULLS, *few_keys)

    def _chances_in_words(self, law: ThresholdLaw) -> str:
        who = ("row has", "rows have") if self.terms.unit.id is None else ("person has", "people have")
        numbers = sorted({1, 2, law.half // 2, law.half, (law.half + law.sure) // 2} - {0, law.sure})
        chances = [f"{law.release_probability(n):.4g} if {n} {who[n > 1]} it" for n in numbers]
        return f"a key is shown with probability {', '.join(chances)}, and for certain from {law.sure} on"

    def _split_in_words(self, mechanism: ThresholdedKeys) -> tuple[str, ...]:
        spent, changes = mechanism.spent, self.space.changes
        split = () if len(spent) == 1 else (f"the keys are shown at {spent[0]}, the numbers at {spent[1]}",)
        if changes == 1:
            return split
        return (*split, f"one neighbour changes up to {changes} keys: each has {mechanism.law.name}")

    def keys_clause(self, of_people: bool) -> str:
        """Clause of the question that states the contribution bound in keys; empty where a unit has one key."""
        if of_people:
            return f", each counted in at most {self.keys_each} of their keys chosen at random"
        return "" if self.terms.unit.id is None else f", of {self.per_person}"

    @property
    def per_person(self) -> str:
        """The contribution bound in words: "at most 3 keys per id"."""
        return f"at most {self.keys_each} key{'s' * (self.keys_each > 1)} per {self.terms.unit.id}"


def require_discover(by: Any, level: Level, unit: Unit, has_noise: bool) -> Discover:
    """Return `by` if keys can be found privately with it; refuse levels without a delta and idle settings."""
    from utmost.theory.partition_selection.design import require_delta

    require_delta(level)
    if not isinstance(by, Discover):
        raise InvalidInput(f'by is {shown(by)}; name the columns of the keys: um.discover("dest").')
    if by.keys_each > 1 and unit.id is None:
        raise InvalidInput(
            f"keys_each is {by.keys_each}, and a row has one key only; leave it out, or open the session with "
            "unit=um.people(...)."
        )
    if by.share != HALF and not has_noise:
        raise InvalidInput(
            f"share is {shown(by.share)}, and there is nothing to share: how many hold a key is told at no "
            "cost; leave it out."
        )
    return by


@dataclass(frozen=True, eq=False, kw_only=True)
class ByFoundKeys(AggregateQuery):
    """The aggregate of every released key; the answer is a dict, and a table.

    Attributes
    ----------
    by : Discover
        The columns of the keys.
    min_rows : int or None
        Groups of a ratio whose released number of rows is below this are listed without a value.
    """

    grouped_by: ClassVar[str] = "found keys"

    by: Discover
    min_rows: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.set_fields(by=require_discover(self.by, self.privacy, self.terms.unit, bool(self.noisy_parts)))
        if self.min_rows is not None:
            self.set_fields(min_rows=as_whole(self.min_rows, "min_rows", 1))

    # ---- the keys, and the integers beside them ----

    @property
    def counts_holders(self) -> bool:
        """Whether the aggregate is the number of contributors, which is released with a key at no further cost."""
        unit = self.terms.unit
        return isinstance(self.aggregate, Count) and (unit.id is None or self.of_people or unit.rows_each == 1)

    @property
    def noisy_parts(self) -> tuple[str, ...]:
        """The names of the integers of a key that need noise."""
        return () if self.counts_holders else self.statistic.parts

    @cached_property
    def selection(self) -> KeySelection:
        """The partition selection."""
        keys_bound = self.by.keys_each
        keys_each = keys_bound if self.of_people else min(keys_bound, self.terms.unit.rows_each)
        alone = keys_each == 1 and self.terms.neighbours == "add-remove"  # else two keys may change
        numbers = self.lattice(1 if alone else 2) if self.noisy_parts else None
        return KeySelection(self.by, self.terms, keys_each, self.counts_holders, numbers)

    @property
    def space(self) -> Holders:
        return self.selection.space

    @property
    def problem_data(self) -> dict[str, Any]:
        return {**super().problem_data, **self.selection.problem_data}

    def design(self) -> Solution:
        return self.selection.design(self.privacy, self.loss)

    def statement(self, source: Source, secret: bytes) -> Statement:
        contributions = self.statistic.contributions(source, self.where.text)
        numbers = dict(zip(self.noisy_parts, contributions, strict=True)) if self.noisy_parts else {}
        numbers = in_digits(numbers, self.digits)
        keys_each = self.selection.keys_each
        unit, holding = self.bounded_unit, contributions[0]
        return holders_statement(source, unit, self.by, keys_each, holding, numbers, self.rows_each, secret)

    def point(self, engine_result: Mapping[str, Any]) -> KeyTotals:
        return self.selection.point(engine_result, self.noisy_parts, self.digits)

    def draw(self, point: KeyTotals) -> dict[str, Any]:
        return self.released(self.selection.draw(self.solution.mechanism, point))

    def released(self, sample: Any) -> dict[str, Any]:
        keys, numbers = sample
        return {"keys": plain_keys(keys), **dict(zip(self.statistic.parts, numbers.T.tolist(), strict=True))}

    # ---- errors ----

    @property
    def noisy(self) -> NoisyVector:
        noise: NoisyVector = self.solution.mechanism.noise
        return noise

    @property
    def noisy_space(self) -> Lattice:
        return self.selection.numbers or Lattice(1, "any", self.space.changes)

    @property
    def noisy_level(self) -> Level:
        level: Level = self.solution.mechanism.spent[-1]
        return level

    @property
    def average(self) -> float:
        if self.row_errors is not None:
            return super().average
        return self.in_answer_unit(self.loss, self.solution.mechanism.expected(self.loss)) + self.loss_from_rounding

    def before(self) -> Before:
        if self.row_errors is not None:
            return super().before()
        rounding, error_is_of = self.loss_from_rounding, self.statistic.error_is_of(self.loss)
        return Before(
            self.loss,
            self.average,
            self.average,
            holds="of a key that is sure to be shown" + (f", {error_is_of}" if error_is_of else ""),
            from_rounding=rounding,
            rounds=self.rounds_to if rounding else "",
        )

    def alternatives(self, losses: tuple[str, ...]) -> dict[str, dict[str, float]]:
        noise_losses = super().alternatives(losses)
        return {f"{name} threshold": by for name, by in noise_losses.items()} if self.counts_holders else noise_losses

    @property
    def takes_any_noise(self) -> bool:
        return False  # keys need a delta

    @property
    def error_has_law(self) -> bool:
        return False

    @property
    def curve(self) -> dict[str, Any]:
        return self.selection.curve(self.solution.mechanism.law)

    # ---- the answer ----

    def groups(self, released: Mapping[str, Any], confidence: float = CONFIDENCE, ordered: bool = True) -> Groups:
        """The answers of all released keys.

        Parameters
        ----------
        released : mapping
            The released keys and integers, by name.
        confidence : float
            The confidence of the interval of each key.
        ordered : bool
            Whether unsorted keys are refused.
        """
        keys = self.selection.keys(released, ordered)
        sums = [as_integers(released[part], keys.size) for part in self.statistic.parts]
        if not self.counts_holders:
            return groups_of(keys, self.statistic, sums, self.noisy, self.min_rows, confidence)
        (counts,), mechanism = sums, self.solution.mechanism
        if len(counts) and counts.min() < mechanism.border:
            raise InvalidInput(f"a count below {mechanism.border} is not shown by this mechanism.")
        return Groups(keys, (counts, *mechanism.count_interval(counts, confidence)))

    def value(self, released: Mapping[str, Any]) -> Any:
        return self.groups(released).values

    def after(self, released: Mapping[str, Any]) -> After:
        groups = self.groups(released)
        return After(groups.intervals, given=self.interval_basis, by_law=True, groups=groups.rows_by_key)

    def table(self, released: Mapping[str, Any]) -> pyarrow.Table:
        return self.groups(released).table

    def near_limit(self, released: Mapping[str, Any], after: After) -> bool:
        if self.selection.numbers is None:
            return any(high >= (self.most_rows or math.inf) for _, high in after.intervals.values())
        half_width = self.noisy.noise.half_width(CONFIDENCE)
        numbers = [released[part] for part in self.statistic.parts]
        return self.too_many_rows(after) or is_near_end(numbers, half_width, self.selection.numbers)

    def plain_value(self, value: Any) -> Any:
        return [[*plain_key(key), number] for key, number in value.items()]

    def plain_intervals(self, intervals: Mapping[Any, tuple[Any, Any]]) -> Any:
        return [[*plain_key(key), *ends] for key, ends in intervals.items()]

    @property
    def key_columns(self) -> tuple[str, ...]:
        return self.by.columns

    # ---- description ----

    @property
    def words(self) -> str:
        clamped = f", {self.clamping_in_words}" if self.clamping_in_words else ""
        by = f"by {english_list(self.by.columns)}, keys found privately{self.selection.keys_clause(self.of_people)}"
        rows_clause = "" if self.counts_holders else self.rows_clause
        return question_in_words(f"{self.statistic.found_phrase} {by}{clamped}", self.where, rows_clause)

    @property
    def expectations(self) -> dict[str, Any]:
        return {**super().expectations, **({} if self.min_rows is None else {"min_rows": self.min_rows})}

    @property
    def public(self) -> dict[str, Any]:
        where = {"by": self.by.public, "where": self.where.text, "loss": self.loss, "prior": "uniform"}
        return {"question": self.name, **self.statistic.public, **self.expectations, **where}

    @property
    def limits(self) -> tuple[str, ...]:
        if self.terms.unit.id is None:
            return super().limits
        keys = self.selection.per_person + ", chosen at random" * self.of_people
        return (keys, *(() if self.counts_holders else super().limits))

    @property
    def interval_basis(self) -> str:
        return (SHOWN if self.counts_holders else self.statistic.estimated_from) + self.limits_clause

    @property
    def certificate_subject(self) -> str:
        return "which keys are shown"

    @property
    def notes(self) -> tuple[str, ...]:
        selection_notes = (SELECTED,) if self.counts_holders else ()
        suppression_notes = () if self.min_rows is None else (SUPPRESSED.format(self.min_rows),)
        return (
            *self.selection.notes(self.solution.mechanism),
            *selection_notes,
            *self.statistic.notes,
            *suppression_notes,
        )


def users_needed(value: float, changes: int, level: Level) -> dict[str, dict[str, float]]:
    """Expected number of contributors a key needs to be released: ours first, then noisy counts with a threshold."""
    alternatives = threshold_users(changes, level)
    return {"Utmost": {USERS: value}, **{name: {USERS: users} for name, users in alternatives.items()}}


def plain_keys(keys: Any) -> list[list[Any]]:
    """Released keys as plain data: for every column its name, its type and its values."""
    return [[name, str(keys[name].type), _plain(keys[name])] for name in keys.column_names]


def _plain(column: Any) -> list[Any]:
    values = column.to_pylist()
    return [day.isoformat() for day in values] if str(column.type) == "date32[day]" else values


def plain_key(key: Any) -> list[Any]:
    """A key as plain data, dates as text."""
    parts = key if isinstance(key, tuple) else (key,)
    return [part.isoformat() if hasattr(part, "isoformat") else part for part in parts]


# ---- the usual alternatives ----


def thresholds(changes: int, level: Level) -> dict[str, Callable[[Any], Floats]]:
    """Probability that a key with n contributors stays hidden under a noisy count and the lowest private threshold.

    One neighbour changes the counts of `changes` keys by 1. The keys that it alone contributes to are shown, any of
    them, with probability at most delta. Of that, Gaussian noise uses one half and the threshold the other.
    """
    from scipy.special import ndtr, ndtri

    if isinstance(level, ApproxGaussianDP) and 0 < level.mu < math.inf:
        key_delta = -math.expm1(math.log1p(-float(level.delta)) / changes)
        deviation = math.sqrt(changes) / float(level.mu)
        threshold = 1 - deviation * float(ndtri(key_delta))
        return {"Gaussian threshold": lambda n: np.asarray(ndtr((threshold - n) / deviation))}
    if not isinstance(level, ApproxDP) or not 0 < level.log_growth < math.inf or not 0 < level.delta < 1:
        return {}
    scale, key_delta = changes / level.log_growth, -math.expm1(math.log1p(-float(level.delta)) / changes)
    noise_level = ApproxDP(level.epsilon, level.delta / 2) if level.ratio == 1 else level
    spread = gaussian_spread(noise_level) * math.sqrt(changes)
    laplace_threshold = 1 - scale * math.log(2 * key_delta)
    gaussian_threshold = 1 - spread * float(ndtri(key_delta / 2))
    hidden_probabilities: dict[str, Callable[[Any], Floats]] = {
        "Laplace threshold": lambda n: _laplace_below((n - laplace_threshold) / scale)
    }
    if math.isfinite(spread):
        hidden_probabilities["Gaussian threshold"] = lambda n: np.asarray(ndtr((gaussian_threshold - n) / spread))
    return hidden_probabilities


def threshold_users(changes: int, level: Level) -> dict[str, float]:
    """Expected number of contributors a key needs to be shown by a noisy count with a threshold, by noise."""
    return {name: _users_on_average(hidden) for name, hidden in thresholds(changes, level).items()}


def _users_on_average(hidden: Any) -> float:
    """1 plus the sum over n of the probability that a key with n contributors is hidden, while not negligible."""
    last = first_integer(lambda n: bool(hidden(n) < NEGLIGIBLE), 1)
    return 1 + float(np.sum(hidden(np.arange(1.0, min(last, MOST_WIDE) + 1))))


def _laplace_below(x: Floats) -> Floats:
    """The probability that Laplace noise of scale 1 lies below -x."""
    tail = np.exp(-np.abs(x)) / 2
    return np.asarray(np.where(x < 0, 1 - tail, tail))
