"""The remaining budget of an account as text, as HTML and as a picture, from the ledger alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from utmost.accounting.account import Left, Spent
from utmost.accounting.entries import Entry
from utmost.errors import InvalidInput
from utmost.queries.report.pictures import spending
from utmost.queries.units import Tier, as_unit
from utmost.solution.card import card, table


@dataclass(frozen=True)
class Budget:
    """The state of an account at one moment; another process may spend meanwhile.

    Attributes
    ----------
    dataset : str
        The data set of the account.
    left : Left
        What is left of the budget.
    spent : Spent
        What all entries together have spent.
    entries : sequence of Entry
        The entries, oldest first.
    tiers : sequence of Tier
        Groups of rows or people with promises of their own, of which every answer spends in proportion.

    Examples
    --------
    >>> import pyarrow, utmost as um
    >>> s = um.Session(pyarrow.table({"age": [70, 25] * 30}), "survey", um.rows(at_most=80), "replace", budget=1)
    >>> _ = s.count("age >= 65", privacy=0.25)
    >>> print(s.budget)
    survey: epsilon 0.75 of 1 left
      1. 0.25-DP  count: age >= 65
    >>> s.budget.picture().startswith("<svg")
    True
    """

    dataset: str
    left: Left
    spent: Spent
    entries: Sequence[Entry]
    tiers: Sequence[Tier] = ()

    @property
    def by_tier(self) -> dict[str, tuple[Fraction, Fraction]]:
        """The spent and the promised epsilon of each tier, by its condition, exact.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"consent": ["basic", "full"] * 9})
        >>> unit = um.rows(at_most=40, tiers={"consent = 'basic'": ("0.1", 10)})
        >>> s = um.Session(table, "survey", unit, "add-remove", budget=1)
        >>> _ = s.count(privacy=0.5)
        >>> print(s.budget)
        survey: epsilon 0.5 of 1 left
          consent = 'basic': epsilon 0.05 of 0.1 left
          1. 0.5-DP  count
        """
        amount = next(iter(self.spent.amounts().values()))  # an epsilon: tiers go with pure budgets
        spent = Fraction(amount.rational) if amount.ratio == 1 else Fraction(math.nextafter(float(amount), math.inf))
        return {tier.where: (spent * tier.share, tier.promised) for tier in self.tiers}

    @property
    def left_of_tiers(self) -> list[str]:
        """What is left of each tier, in words."""
        return [
            f"{where}: epsilon {float(promised - spent):.6g} of {float(promised):.6g}"
            for where, (spent, promised) in self.by_tier.items()
        ]

    def __str__(self) -> str:
        lines = [f"{self.dataset}: {self.left} left", *(f"  {tier} left" for tier in self.left_of_tiers)]
        for entry in self.entries:
            lines.append(f"  {entry.number}. {levels_of(entry)}  {query_in_words(entry)}{_unfinished(entry)}")
            lines += [f"     {level}  {words}".rstrip() for level, words in parts_of(entry)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows: list[tuple[str, str, str, str]] = []
        for e in self.entries:
            cost = ", ".join(f"{name} {float(amount):.6g}" for name, amount in e.cost.items())
            cells = [(str(e.number), levels_of(e), cost, query_in_words(e) + _unfinished(e))]
            cells += [("", level, "", words) for level, words in parts_of(e)]
            rows += cells
        spent = table(("entry", "level", "charged", "query_in_words"), rows) if rows else ""
        parts = [tuple(tier.rsplit(": ", 1)) for tier in self.left_of_tiers]
        tiers = table(("tier", "left"), parts) if parts else ""
        return card(f"{self.dataset}: {self.left} left", self.picture(), tiers + spent)

    def picture(self) -> str:
        """An SVG bar for every resource of the budget with the spend of each entry; pointing at it shows the query."""
        limits = zip(self.left.filter.resources, self.left.filter.limits, strict=True)
        shares = {}
        for name, limit in limits:
            whole = float(limit)
            shares_of_entries = [
                (
                    f"{e.number}. {query_in_words(e)}: {name} {float(e.cost[name]):.6g}",
                    float(e.cost[name]) / whole if whole else 0.0,
                )
                for e in self.entries
            ]
            shares[f"{name}, of {limit}"] = shares_of_entries
        return spending(shares)


def tiers_of(unit: str) -> tuple[Tier, ...]:
    """The tiers in the text of an account's unit; none for a text that no session has written."""
    try:
        return as_unit(unit).tiers
    except InvalidInput:
        return ()


def parts_of(entry: Entry) -> list[tuple[str, str]]:
    """The queries in a batch or a schedule, each with its level: (level, words)."""
    question: Any = entry.question
    if entry.slots:
        return [("", _words(inner)) for inner, _ in entry.used]
    if isinstance(question, dict) and isinstance(question.get("batch"), list):
        return [(str(part.get("privacy", "")), _words(part)) for part in question["batch"] if isinstance(part, dict)]
    return []


def levels_of(entry: Entry) -> str:
    """The level that an entry was charged for, in a few words."""
    if isinstance(entry.level, tuple):
        return f"{len(entry.level)} levels together"
    return f"{entry.slots} slots of {entry.level}" if entry.slots else str(entry.level)


def _unfinished(entry: Entry) -> str:
    return "" if entry.state == "done" or entry.slots else " (no answer recorded)"


def query_in_words(entry: Entry) -> str:
    """The query of an entry in a few words; a query that was not asked through a session as it was recorded."""
    return _words(entry.question)


def _category(part: Any) -> str:
    """The name of a category; for a pair of a column and its list or bins, that of the column."""
    return str(
        part[0] if isinstance(part, list | tuple) and len(part) == 2 and isinstance(part[1], list | dict) else part
    )


def _words(question: Any) -> str:
    if not isinstance(question, dict):
        return str(question)
    if "batch" in question:
        return f"batch of {len(question['batch'])}"
    name = question.get("question")
    if name == "quantile" and (question.get("q") == "1/2" or question.get("shares") == ["1/2"]):
        name = "median"
    by = question.get("by")
    if isinstance(by, dict):
        columns = by.get("columns") or by.get("discover") or ()
        return f"{name} by {', '.join(map(str, columns))}"
    what = (
        question.get("where") or question.get("column") or ", ".join(map(_category, question.get("categories") or ()))
    )
    condition = "; ".join(map(str, what)) if isinstance(what, list) else what
    return f"{name or 'query_in_words'}: {condition}" if condition else str(name or question)
