"""Questions: public parameters in, a line of results, a mechanism and its accuracy out. No row is looked at here.

A `Question` has one or more *parts*, each an integer statistic on a line with a mechanism of its own, and says how the
released integers become the answer; or a `Joint`, where one mechanism releases several integers together. To add a
question, write a function that makes it, a method of `session.Questions` that calls the function, and for the command
an option in `cli/release.py` with its words in `cli/asking.py`. Where the value is neither a number, yes or no, a
candidate nor a dict of counts, `accuracy` must learn what it says about the truth, and `page` how to show it; ledger,
plan and audit need nothing else.
"""

from __future__ import annotations

import hashlib
import json
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from utmost.errors import InvalidInput, shown
from utmost.exact import Number, as_literal, as_plain
from utmost.privacy import Level, as_level
from utmost.release.conditions import TOO_DEEP, as_condition
from utmost.release.mechanisms.choice import Design, Proof, design_choice, design_number
from utmost.release.mechanisms.levels import require_pure_release, require_releasable, share_of
from utmost.release.mechanisms.line import line_prior
from utmost.release.mechanisms.losses import as_loss
from utmost.release.mechanisms.means import LOSSES_OF_MEANS, design_mean
from utmost.release.plain import plain
from utmost.release.source import Source, Statement
from utmost.release.statistics import Contribution, Grid, as_grid, ones, statement, values, votes
from utmost.release.units import Neighbours, Of, Unit
from utmost.space.integers import Line

SHARE_OF_SUM = {"add-remove": Fraction(1, 2), "replace": Fraction(7, 12)}
"""How much of a mean's epsilon its sum gets: about √s : √c for the errors s and c that sum and count bring into it."""


@dataclass(frozen=True)
class Setting:
    """What every question about a table shares: its schema, whose data are protected, and who neighbours whom."""

    source: Source
    unit: Unit
    neighbours: Neighbours

    def line(self, contribution: Contribution, rows_each: int) -> Line:
        """Where the sum of contributions lies, and how far one neighbour moves it."""
        first, last = contribution.range(self.unit.at_most, rows_each)
        return Line(first, last, min(contribution.moves(self.neighbours, rows_each), last - first))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what is asked about, beside the data set's name: columns, types, and the rows taken.

        Two Ibis tables that filter or project one base table differently are different, and so is a file read with
        other types; which file or frame it is, the data set's name says.
        """
        import ibis

        table = self.source.table
        plain = isinstance(table.op(), ibis.expr.operations.DatabaseTable)
        known = {
            "columns": [[name, str(kind)] for name, kind in table.schema().items()],
            "untyped": sorted(self.source.untyped),
            "rows": None if plain else str(self.source.connection.compile(table)),
        }
        return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:32]


@dataclass(frozen=True, eq=False)
class Part:
    """One integer that is released: where it lies, what one step of it means, and the mechanism that releases it."""

    name: str
    contribution: Contribution
    line: Line
    design: Design
    step: Fraction = Fraction(1)


class JointDesign(Protocol):
    """A mechanism that looks at several integers at once."""

    @property
    def name(self) -> str:
        """What it is, in words."""

    @property
    def level(self) -> Level:
        """What it spends."""

    @property
    def loss(self) -> str:
        """What it is best for."""

    @property
    def proof(self) -> Proof:
        """Why it is private, and what is known about better ones."""

    @property
    def expected(self) -> Mapping[str, float]:
        """The expected losses under the prior."""

    @property
    def alternatives(self) -> Mapping[str, Mapping[str, float]]:
        """The same of the alternatives, by their names."""

    @property
    def worst(self) -> float:
        """The expected declared loss at the worst point."""

    @property
    def space(self) -> str:
        """Where the integers lie, in words."""

    @property
    def moves(self) -> Mapping[str, int]:
        """How far one neighbour moves what matters."""

    def draw(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """What is released: the only place where the private point and randomness meet."""

    def verify(self) -> bool:
        """Prove privacy again in exact arithmetic."""


@dataclass(frozen=True, eq=False)
class Joint:
    """A statistic of several integers that one mechanism releases together.

    Attributes
    ----------
    statement : what the engine will be asked, given the secret; nothing is read yet
    place : the private point, clamped, from what the engine found
    design : the mechanism
    """

    statement: Callable[[bytes], Statement]
    place: Callable[[Mapping[str, int]], dict[str, Any]]
    design: JointDesign


@dataclass(frozen=True, eq=False)
class Question:
    """A question at a privacy level, ready to be planned or asked.

    Attributes
    ----------
    kind : the name of the session's method that asks it
    words : the question in words
    public : what the user asked, as plain data
    level : what asking it spends
    parts : the integers that are released, each by itself
    value : how the released integers become the answer
    again : makes the same question at another level
    joint : where integers are released together, in place of parts
    """

    kind: str
    words: str
    public: Mapping[str, Any]
    level: Level
    setting: Setting
    rows_each: int
    parts: tuple[Part, ...]
    value: Callable[[Mapping[str, Any]], Any]
    again: Callable[[Level], Question]
    joint: Joint | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that defines it, as plain data: what the ledger compares."""
        return {**self.public, "table": self.setting.fingerprint}

    def statement(self, secret: bytes) -> Statement:
        """What the engine will be asked; nothing is read yet."""
        if self.joint is not None:
            return self.joint.statement(secret)
        contributions = {part.name: part.contribution for part in self.parts}
        return statement(self.setting.source, self.setting.unit, self.rows_each, contributions, secret)

    def point(self, statement: Statement) -> dict[str, Any]:
        """The private point: the statistics, clamped to their lines. Whoever calls this holds the private answer."""
        sums = self.setting.source.integers(statement)
        if self.joint is not None:
            return self.joint.place(sums)
        return {part.name: part.line.clamp(sums[part.name]) for part in self.parts}

    def release(self, statement: Statement) -> dict[str, Any]:
        """The released integers (or truth values): read, drawn, and the point forgotten."""
        return self.draw(self.point(statement))

    def draw(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """What is released at a private point."""
        if self.joint is not None:
            return self.joint.design.draw(point)
        return {part.name: part.design.release(point[part.name]) for part in self.parts}

    @property
    def is_choice(self) -> bool:
        """Whether the answer is yes or no."""
        return self.kind in ("majority", "threshold")


def count(setting: Setting, where: Any, privacy: Any, of: Of, loss: str, prior: Any) -> Question:
    """How many rows, or people with such a row, there are of which a condition is true."""
    level, loss, of = as_releasable(privacy), as_loss(loss), plain(of)
    rows_each = rows_that_count(setting, of)
    contribution = ones(setting.source, where)
    line = setting.line(contribution, rows_each)
    weights = line_prior(line, prior)
    part = Part("count", contribution, line, design_number(line, level, loss, weights))
    text = text_of(where, setting.source)
    return Question(
        "count",
        f"How many {of}" + (f" have {text}?" if text else " are there?"),
        {"question": "count", "where": text, "of": of, **loss_and_prior(loss, weights)},
        level,
        setting,
        rows_each,
        (part,),
        lambda released: released["count"],
        lambda other: count(setting, where, other, of, loss, prior),
    )


def total(
    setting: Setting,
    column: str,
    lower: Number,
    upper: Number,
    grid: Number,
    where: Any,
    privacy: Any,
    loss: str,
    prior: Any,
) -> Question:
    """The sum of a column clamped to a range and rounded to a grid."""
    level, loss, steps, column = as_releasable(privacy), as_loss(loss), as_grid(lower, upper, grid), plain(column)
    contribution = values(setting.source, column, steps, where)
    line = setting.line(contribution, setting.unit.rows_each)
    weights = line_prior(line, prior)
    part = Part("sum", contribution, line, design_number(line, level, loss, weights), steps.step)
    text = text_of(where, setting.source)
    return Question(
        "sum",
        asking(f"What does {column} add up to", text),
        {"question": "sum", **_range(column, steps), "where": text, **loss_and_prior(loss, weights)},
        level,
        setting,
        setting.unit.rows_each,
        (part,),
        lambda released: as_plain(released["sum"] * steps.step),
        lambda other: total(setting, column, lower, upper, grid, where, other, loss, prior),
    )


def mean(
    setting: Setting, column: str, lower: Number, upper: Number, grid: Number, where: Any, privacy: Any, loss: str
) -> Question:
    """The mean of a column clamped to a range: from a sum around the middle of the range and a count, both released."""
    level, loss, steps = as_releasable(privacy), as_loss(loss, LOSSES_OF_MEANS), as_grid(lower, upper, grid)
    pure = require_pure_release(level, "means")
    column = plain(column)
    if steps.least == steps.most:
        raise InvalidInput(
            f"lower and upper are both {shown(lower)}, so the mean is public already; give a wider range."
        )
    middle = (steps.least + steps.most) // 2 * steps.step
    around = Grid(steps.lower, steps.upper, steps.step, middle)
    share = SHARE_OF_SUM[setting.neighbours]
    for_sum, for_count = share_of(pure, share), share_of(pure, 1 - share)
    moments = values(setting.source, column, around, where)
    present = Contribution(moments.taking_part, 1, 1, 1)
    lines = (setting.line(moments, setting.unit.rows_each), setting.line(present, setting.unit.rows_each))
    of_sum, of_count = design_mean(lines, (for_sum, for_count), loss, moments.least, moments.most)
    parts = (Part("sum", moments, lines[0], of_sum, steps.step), Part("count", present, lines[1], of_count))

    def value(released: Mapping[str, Any]) -> float:
        if released["count"] < 1:  # nobody, as far as one may know: the middle of the range
            return float((steps.lower + steps.upper) / 2)
        found = middle + steps.step * Fraction(released["sum"], released["count"])
        return float(min(max(found, steps.lower), steps.upper))

    text = text_of(where, setting.source)
    return Question(
        "mean",
        asking(f"What is the mean of {column}", text),
        {"question": "mean", **_range(column, steps), "where": text, **loss_and_prior(loss, None)},
        level,
        setting,
        setting.unit.rows_each,
        parts,
        value,
        lambda other: mean(setting, column, lower, upper, grid, where, other, loss),
    )


def majority(setting: Setting, where: Any, privacy: Any, loss: str, prior: Any) -> Question:
    """Whether a condition is true of more rows than it is false of."""
    level, loss = as_releasable(privacy), as_loss(loss, ("zero-one",))
    if where is None:
        raise InvalidInput("a majority needs a condition that rows agree with or not, such as \"answer = 'yes'\".")
    contribution = votes(setting.source, where)
    line = setting.line(contribution, setting.unit.rows_each)
    weights = line_prior(line, prior)
    part = Part("yes", contribution, line, design_choice(line, 1, level, weights))
    text = text_of(where, setting.source)
    return Question(
        "majority",
        f"Do more rows have {text} than not?",
        {"question": "majority", "where": text, **loss_and_prior(loss, weights)},
        level,
        setting,
        setting.unit.rows_each,
        (part,),
        lambda released: released["yes"],
        lambda other: majority(setting, where, other, loss, prior),
    )


def threshold(setting: Setting, where: Any, at_least: int, privacy: Any, of: Of, loss: str, prior: Any) -> Question:
    """Whether a condition is true of at least so many rows, or people."""
    level, loss, of = as_releasable(privacy), as_loss(loss, ("zero-one",)), plain(of)
    rows_each = rows_that_count(setting, of)
    contribution = ones(setting.source, where)
    line = setting.line(contribution, rows_each)
    try:
        border = plain(operator.index(at_least))
    except TypeError:
        border = 0
    if isinstance(at_least, bool) or not 1 <= border <= line.last:
        raise InvalidInput(
            f"at_least is {shown(at_least)}; give a whole number from 1 to {line.last}, the most there can be: the "
            "answer to any other is public."
        )
    weights = line_prior(line, prior)
    part = Part("yes", contribution, line, design_choice(line, border, level, weights))
    text = text_of(where, setting.source)
    return Question(
        "threshold",
        f"Are there at least {border} {of}" + (f" with {text}?" if text else "?"),
        {"question": "threshold", "where": text, "of": of, "at_least": border, **loss_and_prior(loss, weights)},
        level,
        setting,
        rows_each,
        (part,),
        lambda released: released["yes"],
        lambda other: threshold(setting, where, at_least, other, of, loss, prior),
    )


# ---- what they share ----


def rows_that_count(setting: Setting, of: Any) -> int:
    """How many rows of a unit take part: all that are kept, or one where people are counted."""
    if not isinstance(of, str) or of not in ("rows", "people"):
        raise InvalidInput(f"of is {shown(of)}; say 'rows' or 'people'.")
    if of == "people" and setting.unit.id is None:
        raise InvalidInput(
            "people cannot be counted where the unit is a row; open the session with unit=um.people(...)."
        )
    return setting.unit.rows_each if of == "rows" else 1


def as_releasable(privacy: Any) -> Level:
    """What an answer spends, checked."""
    if privacy is None:
        raise InvalidInput("say what the answer may spend, such as privacy=0.5: there is no default.")
    return require_releasable(as_level(privacy))


def text_of(where: Any, source: Source) -> str | None:
    """A condition as text, once it is known to be one: SQL as given, Ibis as the engine's SQL."""
    if where is None:
        return None
    condition = as_condition(where, source)
    if isinstance(where, str):
        return str(plain(where)).strip()
    try:
        compiled = source.sql(source.table.select(condition=condition))
    except RecursionError:
        raise InvalidInput(TOO_DEEP) from None
    return compiled.removeprefix("SELECT ").rpartition(' AS "condition" FROM ')[0]


def asking(words: str, text: str | None) -> str:
    """A question in words, about all rows or those of which a condition is true."""
    return f"{words}, where {text}?" if text else f"{words}?"


def loss_and_prior(loss: str, weights: Any) -> dict[str, Any]:
    """Loss and prior, as plain data; a listed prior by its fingerprint."""
    prior = (
        "uniform"
        if weights is None
        else "listed, " + hashlib.sha256(np.ascontiguousarray(weights).tobytes()).hexdigest()[:16]
    )
    return {"loss": loss, "prior": prior}


def _range(column: str, steps: Grid) -> dict[str, str]:
    ends = {"lower": steps.lower, "upper": steps.upper, "grid": steps.step}
    return {"column": column, **{name: str(as_literal(end)) for name, end in ends.items()}}
