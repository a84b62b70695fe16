"""Answers with mechanism, accuracy, proof and spend; a plan is all of that but the value.

Everything that an answer states follows from four things: the query, its solution, what was released, and the state of
the ledger. So a report that contains these can be verified anywhere: `Answer.verify`, `utmost verify report.json`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from utmost.accounting.entries import LedgerState
from utmost.errors import InvalidInput, UtmostError
from utmost.mechanism.certification import Check
from utmost.privacy import Level
from utmost.queries.accuracy import After, Before
from utmost.queries.predicate.reading import readings
from utmost.queries.questions.cell_counts import OUTSIDE
from utmost.queries.questions.question import Question, describe, proved_optimal
from utmost.queries.questions.share import ShareFinding
from utmost.queries.report.pictures import curve_of
from utmost.queries.report.words import (
    after_label,
    cell_name,
    compared_by,
    expected_error,
    figures,
    groups_in_words,
    known_after,
    loss_in_words,
    near_limit_in_words,
    optimality,
    outside_in_words,
    show,
)
from utmost.solution import Solution, Verification
from utmost.solution.card import card
from utmost.solution.solution_file import solution_to_json

if TYPE_CHECKING:
    import pyarrow

RECORDED = "recorded answer: nothing was spent now"
FORMAT, VERSION = "utmost-answer", 2
"""Name and version of the JSON format of a report; files of Utmost 0.2 have no version."""


@dataclass(frozen=True, eq=False)
class DatasetQuery:
    """Common base of plans and answers: the query and the data set.

    Attributes
    ----------
    question : Question
        The query, with its solution.
    dataset : str
        The data set whose budget it spends.
    """

    question: Question
    dataset: str

    @property
    def privacy(self) -> Level:
        """The level that asking spends."""
        return self.question.privacy

    @property
    def solution(self) -> Solution:
        """The mechanism that answers, with its proof."""
        return self.question.solution

    @cached_property
    def before(self) -> Before:
        """The expected error, from the mechanism alone: on average under the prior, and at the worst point."""
        return self.question.accuracy


@dataclass(frozen=True, eq=False)
class Plan(DatasetQuery):
    """Everything about an answer but its value, from public parameters alone: nothing was read and nothing spent.

    Attributes
    ----------
    question : Question
        The query, with its solution.
    dataset : str
        The data set whose budget it would spend.
    left : str
        What is left of that budget, in words.
    """

    left: str
    source: Any = field(repr=False)
    """The table."""
    other_table: str = field(default="", kw_only=True)
    """A note if the account was used with another table before; else empty."""

    @property
    def accuracy(self) -> dict[str, dict[str, Any]]:
        """The expected error as plain data, under "before"."""
        return {"before": asdict(self.before)}

    @property
    def readings(self) -> list[str]:
        """How text columns without a declared type will be cast, in words."""
        return readings(self.source, self.question.public)

    def verify(self) -> Verification:
        """Prove the mechanism private, and the claim about its optimality, again."""
        return self.solution.verify()

    @cached_property
    def details(self) -> dict[str, Any]:
        """Everything as plain data: what `--json` writes."""
        described = describe(self.question, self.dataset)
        notes = [*described["notes"], *self.readings, *([self.other_table] if self.other_table else [])]
        return {**described, "notes": notes, "ledger": {"left": self.left}}

    def picture(self) -> str:
        """A picture of the plan as SVG, such as the probability that a key is released by the number of its units.

        Empty for questions that have no such picture.
        """
        curve = self.question.curve
        return "" if curve is None else curve_of(curve)

    def __str__(self) -> str:
        lines = _lines(self.question, self.before, None)
        lines += [f"  note: {note}" for note in (*self.readings, self.other_table) if note]
        end = [f"  ledger: {self.left} left", "  nothing was read, nothing is spent"]
        return "\n".join([f"plan: {self.question.words}", *lines, *end])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return card(str(self), self.picture())


@dataclass(frozen=True, eq=False)
class Answer(DatasetQuery):
    """A private answer with its mechanism, accuracy, proof and spend.

    Attributes
    ----------
    question : Question
        The query, with its solution.
    dataset : str
        The data set whose budget it spent.
    released : mapping
        The integers that were released, by name; the value is made of them.
    ledger : LedgerState
        The state of the ledger right after.
    recorded : bool
        Whether the identical question had been answered before, so that nothing was spent now.
    """

    released: Mapping[str, Any]
    ledger: LedgerState
    recorded: bool = False
    source: Any = field(default=None, repr=False)
    """The table; None for an answer from a report."""

    @cached_property
    def value(self) -> Any:
        """The answer: a number, True or False, a candidate, or a dict of them."""
        return self.question.value(self.released)

    @cached_property
    def after(self) -> After:
        """What the released value says about the truth."""
        return self.question.after_with_condition(self.released)

    @property
    def accuracy(self) -> dict[str, dict[str, Any]]:
        """The expected error and the interval as plain data, under "before" and "after"."""
        return {"before": asdict(self.before), "after": plain_after(self.question, self.after)}

    @property
    def interval(self) -> tuple[Any, Any] | None:
        """The 95 % interval of one number; None for yes or no, a winner and several numbers: see `intervals`."""
        ends = list(self.after.intervals.values())
        return ends[0] if len(ends) == 1 and not isinstance(self.value, Mapping) else None

    @property
    def intervals(self) -> Mapping[Any, tuple[Any, Any]]:
        """The 95 % interval of every number of the answer."""
        return self.after.intervals

    @cached_property
    def table(self) -> pyarrow.Table:
        """An answer with several numbers as an Arrow table of their keys, with the columns value, lower and upper.

        For means and variances also rows, rows_lower and rows_upper, the estimated number of rows of a group with its
        interval, and reliable: see `answer.after.groups`.
        """
        table = self.question.table(self.released)
        if table is not None:
            return table
        if not isinstance(self.value, Mapping):
            raise InvalidInput("only several numbers are a table: ask with by=um.keys(...), or use answer.value.")
        import pyarrow

        ends = [self.intervals.get(name, (None, None)) for name in self.value] if self.intervals else []
        columns = {"value": list(self.value.values())}
        columns |= {side: [pair[i] for pair in ends] for i, side in enumerate(("lower", "upper")) if ends}
        named = {self.question.key_columns[0]: [cell_name(name) for name in self.value]}
        return pyarrow.table(named | {name: _numbers(column) for name, column in columns.items()})

    def rounded(self) -> dict[Any, int]:
        """For `marginals` and `hierarchy`: non-negative whole numbers that are consistent across all tables.

        They are post-processing of the released numbers, so they cost nothing. Numbers near 0 are biased upwards:
        compute with `value`, and publish these.
        """
        rounded = self.question.rounded(self.released)
        if rounded is None:
            raise InvalidInput("only marginals and hierarchies are rounded; other answers are used as they are.")
        return rounded

    def to_pandas(self) -> Any:
        """`table` as a pandas frame."""
        try:
            return self.table.to_pandas()
        except ImportError:
            raise UtmostError("to_pandas needs pandas: pip install pandas; answer.table needs nothing.") from None

    def test(self, theta: Any, alternative: str = "greater", confidence: Any = 0.95) -> ShareFinding:
        """Test, for a share, whether the share in the population from which the rows are sampled is above theta.

        Tests are post-processing of what was released: any number of them costs nothing.

        Parameters
        ----------
        theta : number
            The share under the null hypothesis, from 0 to 1.
        alternative : "greater", "less" or "two-sided"
            Whether the population's share may be above theta, below it, or either.
        confidence : number
            Of the interval of the population's share, which ends where the alternative would no longer be believed.

        Returns
        -------
        ShareFinding
            With `p_value`, exactly uniform if the population's share is theta, and `interval`.
        """
        return self.question.test(self.released, theta, alternative, confidence)

    @property
    def readings(self) -> list[str]:
        """How text columns without a declared type were cast, in words; unknown for an answer from a report."""
        return [] if self.source is None else readings(self.source, self.question.public)

    @cached_property
    def outside_note(self) -> str:
        """A note if a number lies outside its own interval, unless the query's notes explain that already."""
        return "" if OUTSIDE in self.question.notes else outside_in_words(self.value, self.after)

    @property
    def head(self) -> str:
        """The head of the ledger's chain right after this answer."""
        return self.ledger.head

    @cached_property
    def details(self) -> dict[str, Any]:
        """Everything as plain data: what `to_json` writes and `verify` recomputes."""
        first = {
            "value": self.question.plain_value(self.value),
            "words": self.question.words,
            "accuracy": self.accuracy,
        }
        described = describe(self.question, self.dataset)
        rest = {name: part for name, part in described.items() if name not in first}
        rest["notes"] = [*rest["notes"], *([self.outside_note] if self.outside_note else [])]
        described = {"format": FORMAT, "version": VERSION, **first, **rest}
        return {**described, "released": dict(self.released), "ledger": asdict(self.ledger)}

    def verify(self) -> Verification:
        """Prove privacy and the claim of optimality again, and that every stated number follows from what was released.

        The table is not read. What the ledger says can be checked with the ledger only.
        """
        verification = self.solution.verify()
        return replace(verification, checks=(*verification.checks, *fits(self.question)))

    def to_json(self) -> str:
        """The answer as one JSON object; equal answers give equal bytes."""
        return json.dumps({**self.details, "solution": solution_to_json(self.solution)}, indent=2, ensure_ascii=False)

    def report(self, path: str | os.PathLike[str], purpose: str | None = None, author: str | None = None) -> Path:
        """Write the release report: one self-contained HTML page, and the same as JSON beside it.

        Parameters
        ----------
        path : path
            A file that ends in .html: replaced if it is a report already, refused if it is anything else.
        purpose, author : str, optional
            What the answer is for and who stands behind it: written on the page as given, so say nothing private.
        """
        from utmost.queries.report.files import write_report

        return write_report([self], path, purpose=purpose, author=author)

    def __str__(self) -> str:
        recorded = [f"  {RECORDED}"] if self.recorded else []
        memory_note = "" if self.ledger.kept else " (in memory: lost with this process)"
        spent = (
            f"  ledger{memory_note}: entry {self.ledger.entry}, spent {self.ledger.spent}, head {self.ledger.head[:16]}"
        )
        lines = _lines(self.question, self.before, self.after)
        lines += [f"  note: {note}" for note in (self.outside_note, *self.readings, self.ledger.other_table) if note]
        return "\n".join([f"{self.question.words}  {show(self.value, self.after.intervals)}", *lines, spent, *recorded])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from utmost.queries.report.page import picture_of

        return card(str(self), picture_of(self))


def _numbers(column: list[Any]) -> list[Any]:
    """A column of integers as it is; with a fraction among them, all as floats."""
    whole = all(isinstance(number, int | str | None) for number in column)
    return column if whole else [None if number is None else float(number) for number in column]


def plain_after(question: Question, after: After) -> dict[str, Any]:
    """What an answer says about the true value, as plain data."""
    plain = {name: list(part) if isinstance(part, tuple) else part for name, part in vars(after).items()}
    groups: Any = after.groups
    plain |= {"groups": question.plain_intervals(groups)} if groups else {}
    optional = ("groups", "rows_between", "from_rounding")
    plain = {name: part for name, part in plain.items() if (part or name not in optional) and name != "by_law"}
    plain["given"] = after.basis
    return {**plain, "intervals": question.plain_intervals(after.intervals)}


def fits(question: Question) -> tuple[Check, ...]:
    """Check that a solution is one for the query: the same space, level, loss and prior."""
    problem = question.solution.problem
    is_same = problem.space == question.space and problem.privacy == question.proved_level
    wrong = [name for name, value in question.problem_data.items() if not _equal(problem.data.get(name), value)]
    if not is_same or wrong:
        return (Check("question", False, "the solution is for other integers, moves, level, loss or prior"),)
    return (Check("question", True, f"the solution is for this question: {question.space}"),)


def _equal(one: Any, other: Any) -> bool:
    if one is None or other is None or isinstance(one, str | bool | int):
        return bool(one is other or one == other)
    if isinstance(other, Mapping):
        return True  # a listed prior over tallies is compared by the checker
    return bool(_listed(one) == _listed(other))


def _listed(part: Any) -> Any:
    """Convert arrays and tuples to lists, recursively."""
    if isinstance(part, np.ndarray):
        return part.tolist()
    return [_listed(one) for one in part] if isinstance(part, list | tuple) else part


def _lines(question: Question, before: Before, after: After | None) -> list[str]:
    certificate, terms = question.solution.certificate, question.terms
    what = f"{loss_in_words(before.loss)} " if loss_in_words(before.loss) else ""
    lines = [
        f"  privacy: {question.privacy}, {terms.neighbours}, {terms.unit}",
        f"  mechanism: {certificate.method}",
        f"  optimal: {optimality(proved_optimal(question))}",
        f"  expected error: {what}{expected_error(before)}" + (f" ({before.holds})" if before.holds else ""),
    ]
    if after is not None:
        lines.append(f"  {after_label(after)}: {known_after(after)}")
        lines += [f"  rows: {groups_in_words(after)}"] if after.groups else []
        if after.near_limit:
            lines.append(f"  note: {near_limit_in_words(question.terms.unit, after)}")
    losses = ", ".join(
        f"{name} {figures(by[before.loss])}" for name, by in question.losses.items() if before.loss in by
    )
    lines.append(f"  {compared_by(before)}: {losses}")
    return lines + [f"  note: {note}" for note in question.notes_with_truncation]
