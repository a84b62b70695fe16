"""Questions by keys that nobody listed: which keys there are, and counts, sums and means beside those that are shown.

What is shown of a key depends on how many units hold it (`theory/partition_selection/mechanism.py`). How many there are
is told beside the key at no further cost. Sums, means and counts of rows where a person has several get noise at a part
of the level, and the keys the rest (`discover(share=...)`, half without it); the plan says so. Shown keys are sorted,
so that their order tells nothing.

**How far one neighbour moves the numbers**: as in `by.py`. Where one key alone changes (one key each, units that come
or go), its numbers may have the best noise for them; where several do, every number has noise of its own, made for
what all of them together move by.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput, shown
from utmost.exact.arrays import Floats
from utmost.exact.bisection import first_integer
from utmost.privacy import ApproxDP, ApproxGaussianDP, Level
from utmost.queries.accuracy import BY_LAW, CONFIDENCE, After, Before
from utmost.queries.contributions import Contribution, ones
from utmost.queries.found_keys import HALF, Discover, shown_keys
from utmost.queries.keys import Keys, named
from utmost.queries.options import Option
from utmost.queries.predicate import EVERY_ROW, Where
from utmost.queries.questions.by import PerKey, around, clip_to
from utmost.queries.questions.group_rows import GroupRows
from utmost.queries.questions.numbers import MOST_WIDE, AddsOnes, gaussian_spread, noise_alternatives, reaches_an_end
from utmost.queries.questions.of_column import AddsDistances, AddsValues, Columns, OfColumn
from utmost.queries.questions.question import SHOWN as SHOWN_LOSSES
from utmost.queries.questions.question import Question, as_loss, asking, in_units, scaled, shown_with, with_rounding
from utmost.queries.rounding_steps import DESIGN_UNITS, MOST_STEPS, MOST_SUM
from utmost.queries.units_per_key import Found, found_keys, holders_statement, in_order
from utmost.space.integers import Holders, Lattice

if TYPE_CHECKING:
    from utmost.solution import Solution

USERS = "users"
"""The loss of keys alone: how many units a key needs to be shown."""
TRUE_KEYS = f"{BY_LAW}, every key that is shown is held by at least one"
SHOWN = f"{BY_LAW}, of the times that a key is shown"
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
"""How many numbers of holders the table of probabilities lists."""
NEGLIGIBLE = 1e-17
"""What a key's chance to stay hidden adds no more below this."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Discovered(Question):
    """A question about keys that nobody listed.

    Attributes
    ----------
    by : the columns of the keys
    where : which rows take part
    """

    options: ClassVar[tuple[Option, ...]] = ()  # the command does not ask by keys
    parts: ClassVar[tuple[str, ...]] = ()
    """What the numbers of a key are called, where they have noise of their own."""

    by: Discover
    where: Where = EVERY_ROW
    loss: str = USERS

    def __post_init__(self) -> None:
        from utmost.theory.partition_selection.design import require_delta

        super().__post_init__()
        require_delta(self.privacy)
        if not isinstance(self.by, Discover):
            raise InvalidInput(f'by is {shown(self.by)}; name the columns of the keys: um.discover("dest").')
        if self.by.keys_each > 1 and self.terms.unit.id is None:
            raise InvalidInput(
                f"keys_each is {self.by.keys_each}, and a row has one key only; leave it out, or open the session with "
                "unit=um.people(...)."
            )
        if self.by.share != HALF and not self.parts_with_noise:
            raise InvalidInput(
                f"share is {shown(self.by.share)}, and there is nothing to share: how many hold a key is told at no "
                "cost; leave it out."
            )

    # ---- where it lies ----

    @property
    def counted(self) -> bool:
        """Whether the number of holders is told beside a key."""
        return False

    @property
    def keys_each(self) -> int:
        """How many keys one unit holds, at most: no more than rows of it take part, where rows do."""
        return min(self.by.keys_each, self.rows_each) if self.parts_with_noise else self.by.keys_each

    @property
    def parts_with_noise(self) -> tuple[str, ...]:
        """The numbers beside a key that get noise of their own."""
        return self.parts

    @property
    def numbers(self) -> Lattice | None:
        """Where the numbers lie that one neighbour changes; None where none have noise."""
        return None

    @property
    def space(self) -> Holders:
        return Holders(self.terms.unit.at_most, self.keys_each, self.terms.neighbours, self.numbers)

    @property
    def posed(self) -> dict[str, Any]:
        chosen = {} if self.by.share == HALF else {"share": str(self.by.share)}
        return {**super().posed, "counted": self.counted, **chosen}

    def design(self) -> Solution:
        from utmost.theory.partition_selection.design import best_keys

        return best_keys(self.space, self.privacy, self.counted, self.loss, self.by.share)

    # ---- reading and drawing ----

    def contributions(self, source: Source) -> tuple[Contribution, ...]:
        """What a row adds to each number of its key."""
        return ()

    def taking_part(self, source: Source) -> Contribution:
        """Which rows hold their key."""
        return ones(source, self.where.given)

    def statement(self, source: Source, secret: bytes) -> Statement:
        numbers = self.contributions(source) if self.parts_with_noise else ()
        rows = dict(zip(self.parts_with_noise, numbers, strict=True))
        return holders_statement(
            source, self.bounded_unit, self.by, self.keys_each, self.taking_part(source), rows, self.rows_each, secret
        )

    def point(self, found: Mapping[str, Any]) -> Found:
        made, lattice = found_keys(self.by, found, self.parts_with_noise), self.space.numbers
        if lattice is None:
            return made
        cut = clip_to(made.numbers, lattice)
        return Found(made.keys, made.holders, cut)

    def draw(self, point: Found) -> dict[str, Any]:
        places, numbers = self.solution.mechanism.sample((point.holders, point.numbers))
        keys = point.keys.take(places)
        order = in_order(keys)
        return self.released((keys.take(order), numbers[order]))

    def released(self, drawn: Any) -> dict[str, Any]:
        keys, numbers = drawn
        listed = [[name, str(keys[name].type), _plain(keys[name])] for name in keys.column_names]
        return {"keys": listed, **dict(zip(self.parts, numbers.T.tolist(), strict=True))}

    # ---- what is said ----

    def keys(self, released: Mapping[str, Any]) -> Keys:
        """The keys that were shown."""
        return shown_keys(self.by.columns, released["keys"])

    @property
    def average(self) -> float:
        return self.solution.value

    @property
    def curve(self) -> dict[str, Any]:
        """How likely a key is shown, by how many units hold it: public, and known before anything is read."""
        law = self.solution.mechanism.law
        users = np.unique(np.linspace(1, law.sure, min(law.sure, MOST_POINTS)).astype(int))
        return {"holders": users.tolist(), "shown with probability": law.kept(users).tolist()}

    @property
    def key_columns(self) -> tuple[str, ...]:
        return self.by.columns

    @property
    def proved_of(self) -> str:
        return "which keys are shown"

    @property
    def notes(self) -> tuple[str, ...]:
        cut = (FEW_KEYS.format(self.keys_each, self.terms.unit.id),) if self.terms.unit.id is not None else ()
        return (self._shown_in_words, *self._split_in_words, NULLS, *cut)

    @property
    def _shown_in_words(self) -> str:
        law, who = self.solution.mechanism.law, self._who
        tried = sorted({1, 2, law.half // 2, law.half, (law.half + law.sure) // 2} - {0, law.sure})
        chances = [f"{law.kept(n):.4g} if {n} {who[n > 1]} it" for n in tried]
        return f"a key is shown with probability {', '.join(chances)}, and for certain from {law.sure} on"

    @property
    def _who(self) -> tuple[str, str]:
        return ("row has", "rows have") if self.terms.unit.id is None else ("person has", "people have")

    @property
    def _split_in_words(self) -> tuple[str, ...]:
        spent, changes = self.solution.mechanism.spent, self.space.changes
        split = () if len(spent) == 1 else (f"the keys are shown at {spent[0]}, the numbers at {spent[1]}",)
        if changes == 1:
            return split
        law = self.solution.mechanism.law
        return (*split, f"one neighbour changes up to {changes} keys: each has {law.name}")

    def _public(self, **more: Any) -> dict[str, Any]:
        where = {"by": self.by.public, "where": self.where.text}
        return {"question": self.name, **more, **where, "loss": self.loss, "prior": "uniform"}

    @property
    def _kept_keys(self) -> str:
        unit, each = self.terms.unit, self.keys_each
        if self.of_people:
            return f", each counted in at most {each} of their keys chosen at random"
        return "" if unit.id is None else f", of at most {each} key{'s' * (each > 1)} per {unit.id}"


@dataclass(frozen=True, eq=False, kw_only=True)
class NumbersByKey(Discovered, PerKey):
    """Numbers beside each key that is shown; the answer is a dict, and a table."""

    best_for: ClassVar[tuple[str, ...]] = SHOWN_LOSSES
    """The losses that the noise can be best for."""

    loss: str = "absolute"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(loss=as_loss(self.loss, self.best_for))

    @property
    def numbers(self) -> Lattice | None:
        alone = self.keys_each == 1 and self.terms.neighbours == "add-remove"  # else two keys may change
        return self.lattice(1 if alone else 2) if self.parts_with_noise else None

    @property
    def step(self) -> Fraction:
        """What one step of a released integer is worth, in the unit of the answer."""
        return Fraction(1)

    @property
    def average(self) -> float:
        return (
            scaled(self.loss, self.solution.mechanism.expected(self.loss), float(self.step)) + self.loss_from_rounding
        )

    def before(self) -> Before:
        more, of = self.loss_from_rounding, getattr(self, "holds_of", "")
        return Before(
            self.loss,
            self.average,
            self.average,
            holds="of a key that is sure to be shown" + (f", {of}" if of else ""),
            from_rounding=more,
            rounds=self.rounds_to if more else "",
        )

    def near_limit(self, released: Mapping[str, Any], after: After) -> bool:
        if self.space.numbers is None:
            return any(high >= (self.most_rows or math.inf) for _, high in after.intervals.values())
        half = self.solution.mechanism.noise.half_width(CONFIDENCE)
        return reaches_an_end([released[part] for part in self.parts], half, self.space.numbers)

    @property
    def confidence_of_one(self) -> float:
        """How often the interval of one key holds its number."""
        return CONFIDENCE

    @property
    def by_law(self) -> str:
        """What intervals rest on, and what they are about."""
        return (SHOWN if self.counted else BY_LAW) + self.not_in_it

    def after(self, released: Mapping[str, Any]) -> After:
        return After(self.intervals(released), given=self.by_law)

    @property
    def not_in_it(self) -> str:
        found = super().not_in_it
        unit, each = self.terms.unit, self.keys_each
        if unit.id is None:
            return found
        keys = f"at most {each} key{'s' * (each > 1)} per {unit.id}{', chosen at random' * self.of_people}"
        more = found.removeprefix("; of what took part: ") if not getattr(self, "counted", False) else ""
        return f"; of what took part: {keys}{f', {more}' if more else ''}"

    def plain_value(self, value: Any) -> Any:
        return [[*written_key(key), found] for key, found in value.items()]

    def plain_intervals(self, intervals: Mapping[Any, tuple[Any, Any]]) -> Any:
        return [[*written_key(key), *ends] for key, ends in intervals.items()]

    def compared(self) -> dict[str, dict[str, float]]:
        losses, level = shown_with(self.loss), self.solution.mechanism.spent[-1]
        lattice = self.space.numbers or Lattice(1, "any", self.space.changes)
        laws = {"Utmost": {loss: self.solution.mechanism.expected(loss) for loss in losses}}
        laws |= self._named(noise_alternatives(lattice, level, losses))
        return with_rounding(in_units(laws, losses, self.step), self.off_by_rounding)

    def _named(self, others: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
        """Other noises by name: where holders are counted, they decide by a threshold which keys are shown."""
        return {f"{name} threshold": by for name, by in others.items()} if self.counted else others

    def _around(self, found: NDArray[Any]) -> Columns:
        """Released integers with the interval of their noise, in the unit of the answer."""
        half = self.solution.mechanism.noise.half_width(self.confidence_of_one)
        return around(found, half, self.step, getattr(self, "rounding", Fraction(0)))


@dataclass(frozen=True, eq=False, kw_only=True)
class CountDiscovered(AddsOnes, NumbersByKey):
    """How many rows, or people, each shown key has."""

    name = "count"
    summary = "how many rows each key has"

    @property
    def counted(self) -> bool:
        """Holders are what is counted, unless a person's several rows are."""
        return self.terms.unit.id is None or self.of == "people" or self.terms.unit.rows_each == 1

    @property
    def parts_with_noise(self) -> tuple[str, ...]:
        return () if self.counted else self.parts

    @property
    def keys_each(self) -> int:
        rows = self.terms.unit.rows_each if self.of == "rows" else self.by.keys_each
        return min(self.by.keys_each, rows)

    @property
    def words(self) -> str:
        found = f"How many {self.of} are there by {named(self.by.columns)}, keys found privately"
        return asking(found + self._kept_keys, self.where, "" if self.counted else self.kept)

    @property
    def public(self) -> dict[str, Any]:
        return self._public(of=self.of)

    @property
    def notes(self) -> tuple[str, ...]:
        found = super().notes
        return (*found, SELECTED) if self.counted else found

    def columns(self, released: Mapping[str, Any]) -> Columns:
        found, mechanism = self.integers(released, "count"), self.solution.mechanism
        if not self.counted:
            return self._around(found)
        if len(found) and found.min() < mechanism.border:
            raise InvalidInput(f"a count below {mechanism.border} is not shown by this mechanism.")
        return found, *mechanism.count_interval(found, self.confidence_of_one)


@dataclass(frozen=True, eq=False, kw_only=True)
class ValuesByKey(OfColumn, NumbersByKey):
    """Numbers made of a column's values, cut to a range and rounded to a grid."""

    @property
    def public(self) -> dict[str, Any]:
        return self._public(column=self.column, **self.range_asked)

    @property
    def most_steps(self) -> int:
        return max(1, min(MOST_STEPS // self.rows_each, MOST_SUM // (self.most_rows or DESIGN_UNITS * self.rows_each)))

    def taking_part(self, source: Source) -> Contribution:
        return self.contributions(source)[0]

    def _asking(self, words: str) -> str:
        found = f"{words} by {named(self.by.columns)}, keys found privately{self._kept_keys}, {self.cut}"
        return asking(found, self.where, self.kept)


@dataclass(frozen=True, eq=False, kw_only=True)
class SumDiscovered(AddsValues, ValuesByKey):
    """What a column adds up to for each shown key."""

    name = "sum"
    summary = "what a column adds up to for each key"

    @property
    def words(self) -> str:
        return self._asking(f"What is the sum of {self.column}")

    def columns(self, released: Mapping[str, Any]) -> Columns:
        return self._around(self.integers(released, "sum"))


@dataclass(frozen=True, eq=False, kw_only=True)
class MeanDiscovered(GroupRows, AddsDistances, ValuesByKey):
    """The mean of a column for each shown key, from two sums each: see `mean.py`."""

    name = "mean"
    summary = "the mean of a column for each key"

    @property
    def words(self) -> str:
        return self._asking(f"What is the mean of {self.column}")

    @property
    def curve(self) -> dict[str, Any]:
        return Discovered.curve.fget(self)  # type: ignore[attr-defined, no-any-return]

    def columns(self, released: Mapping[str, Any]) -> Columns:
        above, below = (self.integers(released, part) for part in self.parts)
        return self.means(above, below)

    @property
    def noise_of_sums(self) -> Any:
        return self.noisy_sums[0].noise

    @property
    def noisy_sums(self) -> tuple[Any, Lattice, Level]:
        mechanism, lattice = self.solution.mechanism, self.space.numbers
        assert lattice is not None  # a mean has two sums beside its key
        return mechanism.noise, lattice, mechanism.spent[-1]


def users_needed(question: Discovered) -> dict[str, dict[str, float]]:
    """How many units a key needs on average, ours first, then the usual thresholds."""
    others = threshold_users(question.space.changes, question.privacy)
    return {"Utmost": {USERS: question.solution.value}, **{name: {USERS: found} for name, found in others.items()}}


def _plain(column: Any) -> list[Any]:
    listed = column.to_pylist()
    return [day.isoformat() for day in listed] if str(column.type) == "date32[day]" else listed


def written_key(key: Any) -> list[Any]:
    """A key as plain data, dates as text."""
    parts = key if isinstance(key, tuple) else (key,)
    return [part.isoformat() if hasattr(part, "isoformat") else part for part in parts]


# ---- the usual alternatives ----


def thresholds(changes: int, level: Level) -> dict[str, Callable[[Any], Floats]]:
    """How likely a key stays hidden that n units hold, by noise on its count and the lowest threshold that is safe.

    One neighbour changes so many keys by one unit. Keys that it alone holds are shown with delta at most, all of them
    together; Gaussian noise has half of delta, and the threshold the other half.
    """
    from scipy.special import ndtr, ndtri

    if isinstance(level, ApproxGaussianDP) and 0 < level.mu < math.inf:
        told, wide = -math.expm1(math.log1p(-float(level.delta)) / changes), math.sqrt(changes) / float(level.mu)
        least = 1 - wide * float(ndtri(told))
        return {"Gaussian threshold": lambda n: np.asarray(ndtr((least - n) / wide))}
    if not isinstance(level, ApproxDP) or not 0 < level.log_growth < math.inf or not 0 < level.delta < 1:
        return {}
    scale, alone = changes / level.log_growth, -math.expm1(math.log1p(-float(level.delta)) / changes)
    half = ApproxDP(level.epsilon, level.delta / 2) if level.ratio == 1 else level
    spread = gaussian_spread(half) * math.sqrt(changes)
    high, higher = 1 - scale * math.log(2 * alone), 1 - spread * float(ndtri(alone / 2))
    found: dict[str, Callable[[Any], Floats]] = {"Laplace threshold": lambda n: _laplace_below((n - high) / scale)}
    if math.isfinite(spread):
        found["Gaussian threshold"] = lambda n: np.asarray(ndtr((higher - n) / spread))
    return found


def threshold_users(changes: int, level: Level) -> dict[str, float]:
    """How many units a key needs to be shown on average, by the usual thresholds."""
    return {name: _users_on_average(hidden) for name, hidden in thresholds(changes, level).items()}


def _users_on_average(hidden: Any) -> float:
    """The sum over n of the probability that a key of n units is hidden, until it is negligible."""
    last = first_integer(lambda n: bool(hidden(n) < NEGLIGIBLE), 1)
    return 1 + float(np.sum(hidden(np.arange(1.0, min(last, MOST_WIDE) + 1))))


def _laplace_below(x: Floats) -> Floats:
    """The probability that Laplace noise of scale 1 lies below -x."""
    far = np.exp(-np.abs(x)) / 2
    return np.asarray(np.where(x < 0, 1 - far, far))
