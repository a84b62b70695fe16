"""Every question about a column of any type, what comes of asking it, and whether that could tell about one row.

A question about a table may be *refused* for a public reason, before anything is spent and in the same words whatever
the rows hold, or it is *answered*, without a word on any channel. Anything else *fails*, and tells about the rows.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow
from oracles.extremes import Column

import utmost as um
from utmost.errors import EngineFailed, UtmostError

LEVEL, FOUND = 500, um.ApproxDP(500, "0.001")
"""At these levels noise is 0 but for about e^-500: what is released are the statistics themselves."""
BUDGET = um.ApproxDP(10**9, "0.99")
HARMLESS, ODD = 3, 4
"""Rows of a table: so many harmless ones, one null, and from here on the extreme ones."""


# ---- channels ----


class Channels:
    """Whatever leaves the process while it is open: warnings, log lines, both standard streams, also by descriptor."""

    def __enter__(self) -> Channels:
        sys.stdout.flush()
        sys.stderr.flush()
        self._stack = contextlib.ExitStack()
        self._warned = self._stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=ResourceWarning)  # when sockets are collected tells nothing
        self._lines: list[str] = []
        self._log = logging.Handler(logging.INFO)
        self._log.emit = lambda record: self._lines.append(record.getMessage())  # type: ignore[method-assign]
        self._log.addFilter(lambda record: not record.name.startswith("py4j") or record.levelno > logging.INFO)
        root = logging.getLogger()
        level = root.level
        root.addHandler(self._log)
        root.setLevel(logging.INFO)
        self._stack.callback(root.setLevel, level)
        self._stack.callback(root.removeHandler, self._log)
        self._file = self._stack.enter_context(tempfile.TemporaryFile())
        for descriptor in (1, 2):
            saved = os.dup(descriptor)
            os.dup2(self._file.fileno(), descriptor)
            self._stack.callback(os.close, saved)
            self._stack.callback(os.dup2, saved, descriptor)
        self._text = io.StringIO()
        self._stack.enter_context(contextlib.redirect_stdout(self._text))
        self._stack.enter_context(contextlib.redirect_stderr(self._text))
        return self

    def __exit__(self, *reason: Any) -> None:
        self._stack.close()

    def said(self) -> tuple[str, ...]:
        """What was said since the last time; the file's text has no order beside the others, so each kind is apart."""
        found = [f"warning: {each.message}" for each in self._warned] + [f"log: {line}" for line in self._lines]
        self._warned.clear()
        self._lines.clear()
        printed = self._text.getvalue() + os.pread(self._file.fileno(), 10**6, 0).decode(errors="replace")
        self._text.seek(0)
        self._text.truncate()
        os.ftruncate(self._file.fileno(), 0)
        os.lseek(self._file.fileno(), 0, os.SEEK_SET)
        return (*found, *([f"printed: {printed}"] if printed else []))


@dataclass(frozen=True)
class Outcome:
    """What came of a question: "answered", "refused" or "failed", in which words, and what was said besides."""

    kind: str
    words: str
    said: tuple[str, ...]
    released: Any = field(default=None, compare=False)


def outcome(session: um.Session, ask: Callable[[um.Session], Any], channels: Channels) -> Outcome:
    """Ask, and look at the answer as a user would: its value, its words and its file are made of what was released."""
    spent = str(session.spent)
    channels.said()
    try:
        answer = ask(session)
        for each in answer if isinstance(answer, list) else [answer]:
            _ = each.value
            if "keys" in each.released:
                each.to_json()
        kind, words, released = "answered", "", getattr(answer, "released", None)
    except Exception as reason:
        refused = isinstance(reason, UtmostError) and not isinstance(reason, EngineFailed)
        kind = "refused" if refused and str(session.spent) == spent else "failed"
        words, released = f"{type(reason).__name__}: {reason}", None
    return Outcome(kind, words, channels.said(), released)


# ---- questions ----


@dataclass(frozen=True)
class Question:
    """A question: how to ask it, of whom, and the most that rows may add to what is released.

    Attributes
    ----------
    ask : callable
        Asks a session.
    unit, neighbours : str
        Of which session: "rows", "people" (of column `who`) or "typed" (people by the column itself).
    holds : callable, optional
        Whether what is released is possible for a table of so many rows of which each moves it as is declared.
    """

    name: str
    ask: Callable[[um.Session], Any]
    unit: str = "rows"
    neighbours: str = "add-remove"
    holds: Callable[[Any, int], bool] | None = None

    @property
    def risky(self) -> bool:
        """Whether it is asked of every type in every run: products in narrow types, and joins by the column."""
        known = self.name.startswith(("mean", "variance")) and self.name.endswith("where one")
        return known or self.name == "count by keys where ill"


def cells(released: Any, rows: int) -> bool:
    """Disjoint counts: none below 0, together no more than there are rows."""
    numbers = released["count"] if "count" in released else list(released.values())
    numbers = numbers if isinstance(numbers, list) else [numbers]
    return all(n >= 0 for n in numbers) and sum(numbers) <= rows


def each_count(released: Any, rows: int) -> bool:
    return all(0 <= n <= rows for n in released.values())


def _steps(low: float, high: float, power: int) -> Callable[[Any, int], bool]:
    """Parts of a mean (power 1) or variance (power 2): none below 0, of a row together the width's power, or nothing.

    Noise on such vectors is some steps wide also at the largest level, far less than the width.
    """
    width = (high - low) ** power
    slack = width * 60 / LEVEL if width > 10 else 0

    def holds(released: Any, rows: int) -> bool:
        parts = [v if isinstance(v, list) else [v] for k, v in released.items() if k != "keys"]
        groups = [sum(group) for group in zip(*parts, strict=True)]
        whole = all(abs((total + width / 2) % width - width / 2) <= 3 * slack for total in groups)
        few = sum(max(0, round(total / width)) for total in groups) <= rows
        return whole and few and all(n >= -slack for part in parts for n in part)

    return holds


def _sums(low: float, high: float) -> Callable[[Any, int], bool]:
    most = max(abs(low), abs(high))

    def holds(released: Any, rows: int) -> bool:
        numbers = released["sum"] if isinstance(released["sum"], list) else [released["sum"]]
        return sum(abs(n) for n in numbers) <= rows * most

    return holds


def questions(c: str, column: Column, rows: int, ranges: list[tuple[int, int]]) -> list[Question]:
    """Every question about a column called `c`, in every setting."""
    found = [*_by_values(c, column), *_of_conditions(c, column), *_of_people(c, column)]
    for low, high in ranges:
        found += _of_numbers(c, rows, low, high)
    return found


def _of_numbers(c: str, rows: int, low: int, high: int) -> Iterator[Question]:
    """Sums, means, variances, distributions of the column's numbers."""
    one, ill = f"id = {rows - 1} AND ill", "ill"
    towns, ids = um.keys(town=["a", "b"]), um.keys(id=list(range(rows)))
    edges, at = [low, (low + high) // 2, high], f"{low}..{high}"
    total, mean, squares = _sums(low, high), _steps(low, high, 1), _steps(low, high, 2)
    yield Question(f"sum {at}", lambda s: s.sum(c, low, high, LEVEL, grid=1), holds=total)
    yield Question(f"sum {at} where one", lambda s: s.sum(c, low, high, LEVEL, grid=1, where=one), holds=total)
    yield Question(f"sum {at} by id", lambda s: s.sum(c, low, high, LEVEL, grid=1, where=ill, by=ids), holds=total)
    yield Question(f"sum {at} by found towns", lambda s: s.sum(c, low, high, FOUND, by=um.discover("town")))
    yield Question(f"sum {at} by grid 1/3", lambda s: s.sum(c, 3 * low, 3 * high, LEVEL, grid=3))
    yield Question(f"mean {at}", lambda s: s.mean(c, low, high, LEVEL, grid=1), holds=mean)
    yield Question(f"mean {at} where one", lambda s: s.mean(c, low, high, LEVEL, grid=1, where=one), holds=mean)
    yield Question(f"mean {at} by id", lambda s: s.mean(c, low, high, LEVEL, grid=1, by=ids), holds=mean)
    yield Question(f"mean {at} by found towns", lambda s: s.mean(c, low, high, FOUND, by=um.discover("town")))
    yield Question(f"mean {at} of people", lambda s: s.mean(c, low, high, LEVEL), "people")
    yield Question(f"mean {at} replaced", lambda s: s.mean(c, low, high, LEVEL), neighbours="replace")
    yield Question(f"variance {at}", lambda s: s.variance(c, low, high, LEVEL, grid=1), holds=squares)
    yield Question(
        f"variance {at} where one", lambda s: s.variance(c, low, high, LEVEL, where=one, grid=1), holds=squares
    )
    yield Question(
        f"variance {at} by towns", lambda s: s.variance(c, low, high, LEVEL, grid=1, by=towns), holds=squares
    )
    yield Question(f"variance {at} of people", lambda s: s.variance(c, low, high, LEVEL, where=ill), "people")
    yield Question(f"covariance {at}", lambda s: s.covariance(c, "id", (low, high), (0, 9), LEVEL, where=one))
    yield Question(f"covariance {at} with itself", lambda s: s.covariance(c, c, (low, high), (low, high), LEVEL))
    yield Question(f"clamped {at}", lambda s: s.clamped(c, low, high, LEVEL, grid=1, where=ill), holds=each_count)
    yield Question(f"cdf {at}", lambda s: s.cdf(c, edges, LEVEL, grid=1), holds=cells)
    yield Question(f"ranges {at}", lambda s: s.ranges(c, edges, LEVEL), holds=cells)
    yield Question(f"bins {at}", lambda s: s.histogram(c, um.bins(edges), LEVEL, other="none"), holds=cells)
    yield Question(f"quantile {at}", lambda s: s.quantile(c, 0.5, edges, LEVEL, where=ill))
    yield Question(f"quantiles {at}", lambda s: s.quantile(c, [0.1, 0.9], edges, LEVEL), holds=cells)
    yield Question(f"quantile {at} by towns", lambda s: s.quantile(c, 0.5, edges, LEVEL, by=towns))
    yield Question(f"count by bins {at}", lambda s: s.count(None, LEVEL, by=um.keys(**{c: um.bins(edges)})))


def public_table(c: str, column: Column) -> Any:
    """A public table with the column's public values as keys."""
    return pyarrow.table({c: column.public, "region": ["north", "south"], "weight": [1.5, -2.5]})


def _by_values(c: str, column: Column) -> Iterator[Question]:
    """What is grouped by the column: listed keys, found keys, categories, tables, public joins."""
    values = column.public

    def keys(**others: Any) -> Any:  # made when it is asked: a type may have no keys, for a public reason
        return um.keys(**{c: values}, **others)

    def joined(session: um.Session) -> um.Session:
        return session.with_public(public_table(c, column), on=c)

    towns = {"town": ["a", "b"]}
    yield Question("count by keys", lambda s: s.count(None, LEVEL, by=keys()), holds=cells)
    yield Question("count by keys where ill", lambda s: s.count("ill", LEVEL, by=keys(**towns)), holds=cells)
    yield Question("count by keys and others", lambda s: s.count(None, LEVEL, by=keys(other="rest")), holds=cells)
    yield Question("count by null", lambda s: s.count(None, LEVEL, by=um.keys(**{c: [values[0], None]})), holds=cells)
    yield Question("mean by keys", lambda s: s.mean("id", 0, 9, LEVEL, by=keys()))
    yield Question("majority by keys", lambda s: s.majority("ill", LEVEL, by=keys()))
    yield Question("count by found keys", lambda s: s.count(None, FOUND, by=um.discover(c)))
    yield Question("sum by found keys", lambda s: s.sum("id", 0, 9, FOUND, by=um.discover(c, "town"), where="ill"))
    yield Question("histogram", lambda s: s.histogram(c, values, LEVEL, other="rest"), holds=cells)
    yield Question("histogram replaced", lambda s: s.histogram(c, values, LEVEL, other="rest"), neighbours="replace")
    yield Question("histogram of two", lambda s: s.histogram([c, "town"], [values, ["a", "b"]], LEVEL, where="ill"))
    yield Question("plurality", lambda s: s.plurality(c, values, LEVEL, where="ill"))
    yield Question("top", lambda s: s.top(c, 1, values, LEVEL))
    yield Question("top found", lambda s: s.top(c, 1, privacy=FOUND, where="ill"))
    yield Question("keys", lambda s: s.keys(c, FOUND))
    yield Question("keys of two", lambda s: s.keys([c, "town"], FOUND, where="ill"))
    yield Question("marginals", lambda s: s.marginals(keys(**towns), 2, LEVEL))
    yield Question("marginals where ill", lambda s: s.marginals(keys(**towns), 1, LEVEL, where="ill"))
    yield Question("hierarchy", lambda s: s.hierarchy([c, "town"], keys(**towns), LEVEL))
    yield Question("public count", lambda s: joined(s).count("region = 'north' OR region IS NULL", LEVEL))
    yield Question("public keys", lambda s: joined(s).count("ill", LEVEL, by=um.keys(region=["north", "south"])))
    yield Question("public sum", lambda s: joined(s).sum("weight", -3, 3, LEVEL, grid="0.5"))
    if column.far:
        far = lambda: um.keys(**{c: column.far})  # noqa: E731
        yield Question("count by far keys", lambda s: s.count("ill", LEVEL, by=far()), holds=cells)
        yield Question("histogram of far values", lambda s: s.histogram(c, column.far, LEVEL), holds=cells)
        yield Question("top of far values", lambda s: s.top(c, 1, column.far, LEVEL))


def _of_conditions(c: str, column: Column) -> Iterator[Question]:
    """Yes or no, shares and several counts by whether the column has a value, which every type can be asked."""
    for known in (f"{c} IS NULL", f"NOT ({c} IS NULL) AND ill"):
        yield Question(f"count {known}", lambda s, w=known: s.count(w, LEVEL), holds=each_count)
    known = f"{c} IS NOT NULL"
    yield Question("majority", lambda s: s.majority(known, LEVEL))
    yield Question("threshold", lambda s: s.threshold(known, 2, LEVEL))
    yield Question("share", lambda s: s.share(known, LEVEL, among=5), neighbours="replace")
    yield Question("counts", lambda s: s.counts([known, f"{c} IS NULL OR ill"], LEVEL), holds=each_count)


def _of_people(c: str, column: Column) -> Iterator[Question]:
    """People by another column, and people whose ids are the column itself."""
    values = column.public
    yield Question("count of people", lambda s: s.count(f"{c} IS NOT NULL", LEVEL, of="people"), "people")
    several = [f"{c} IS NOT NULL", f"{c} IS NULL", f"{c} IS NOT NULL AND ill"]
    yield Question("counts of people", lambda s: s.counts(several, LEVEL, of="people"), "people", holds=each_count)
    replaced = lambda s: s.counts([*several, "ill"], LEVEL, of="people")  # noqa: E731
    yield Question("counts of people replaced", replaced, "people", "replace", each_count)
    yield Question("keys of people", lambda s: s.keys(c, FOUND, keys_each=2), "people")
    yield Question("top of people", lambda s: s.top(c, 1, privacy=FOUND), "people")
    yield Question("count of people by keys", lambda s: s.count(None, LEVEL, by=um.keys(**{c: values})), "people")
    yield Question("left out", lambda s: s.left_out(f"{c} IS NOT NULL", LEVEL, up_to=3), "people")
    yield Question("rows per person", lambda s: s.rows_per_person(f"{c} IS NOT NULL", LEVEL), "people")
    yield Question("count by id", lambda s: s.count("ill", LEVEL), "typed")
    yield Question("count of people by id", lambda s: s.count(None, LEVEL, of="people"), "typed", "replace")
    yield Question("mean by id", lambda s: s.mean("id", 0, 9, LEVEL, by=um.keys(town=["a", "b"])), "typed")
    yield Question("left out by id", lambda s: s.left_out(None, LEVEL), "typed")
    yield Question("keys by id", lambda s: s.keys("town", FOUND), "typed")


LITERALS = {
    "number": ("1", "0.5", "1e300", "-1e-300", "9223372036854775807", "1" + "0" * 38, "255"),
    "text": ("'a'", "''", "'é'"),
    "truth": ("true", "false"),
    "day": ("DATE '2020-01-01'", "'9999-12-31'", "DATE '0001-01-01'"),
    "moment": ("'2020-01-01 12:00:00'", "TIMESTAMP '9999-12-31 23:59:59.999999'", "DATE '2020-01-01'"),
    "zoned": ("'2020-01-01 12:00:00+01:00'", "'0001-01-02 00:00:00Z'"),
    "uuid": ("'00000000-0000-0000-0000-000000000001'",),
}
CASTS = ("TEXT", "TINYINT", "SMALLINT", "INT", "BIGINT", "HUGEINT", "UBIGINT", "FLOAT", "DOUBLE", "DECIMAL(38, 0)")
CASTS += ("DECIMAL(18, 4)", "DECIMAL(4, 1)", "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIME", "UUID", "BLOB")
PARTS = ("year", "month", "day", "quarter", "hour", "minute", "second", "dow", "doy", "week", "epoch", "millisecond")


def conditions(c: str, kind: str) -> list[str]:
    """Conditions about a column: comparisons, casts, arithmetic, parts of dates, letters; many are refused."""
    found = [f"{c} {sign} {literal}" for literal in LITERALS.get(kind, ("'a'", "1")) for sign in ("=", ">")]
    found += [f"{c} IN ({', '.join(LITERALS.get(kind, ('1', '2'))[:2])})", f"{c} = {c}", f"{c} <> {c} OR ill"]
    for cast in CASTS:
        found += [f"TRY_CAST({c} AS {cast}) IS NULL", f"TRY_CAST(TRY_CAST({c} AS {cast}) AS TEXT) = 'a'"]
        found += [f"TRY_CAST(TRY_CAST({c} AS {cast}) AS BIGINT) = 1"]
    if kind in ("number", "text", "other"):
        guarded = f"(CASE WHEN ill THEN {c} ELSE 1 END)"
        found += [f"{c} + 1 > 0", f"{c} * {c} > 0", f"{c} - {c} = 0", f"-{c} < 0", f"abs({c}) > 1", f"{c} / 3 > 0"]
        found += [f"{guarded} * {guarded} > 0", f"{c} * {c} * {c} > 0", f"least({c}, 1) = 1", f"greatest({c}, 1) > 1"]
        found += [f"coalesce({c}, 1) * 1e18 > 0", f"{c} BETWEEN -1e308 AND 1e308", f"{c} * 1e-18 > 0", f"-abs({c}) < 0"]
        found += [f"greatest({c}, id) * 2 > 0", f"abs({c} - 1) * abs({c} - 1) < 9", f"({c} + id) / 1e10 > 0"]
        found += [f"CASE WHEN {c} * 2 > 1 THEN ill ELSE NOT ill END"]
    if kind in ("day", "moment", "zoned", "clock", "span", "text"):
        found += [f"EXTRACT({part} FROM {c}) >= 1" for part in PARTS]
        found += [f"{c} - DATE '2020-01-01' > 3", f"date_diff('day', {c}, DATE '2020-01-01') > 3", f"{c} - {c} = 0"]
        found += [f"date_diff('day', DATE '0001-01-01', {c}) * 2 > 3", f"year({c}) = 2020", f"least({c}, {c}) = {c}"]
    if kind in ("text", "uuid", "json", "bytes"):
        found += [f"lower({c}) = 'a'", f"upper({c}) LIKE 'A%'", f"substr({c}, 1, 2) = 'a'", f"{c} LIKE '%a_'"]
        found += [f"{c} ILIKE 'A%'", f"substr({c}, 3, 100000) = ''", f"length({c}) > 1", f"{c} > 5", f"{c} < 'b'"]
    return found


# ---- a column under all questions ----


@dataclass
class Trial:
    """A table with extreme rows and its harmless neighbour, and the sessions that are asked about them.

    Attributes
    ----------
    extreme, harmless : Any
        What a session opens. Both have the columns `id`, `ill`, `town`, `who` and typed ones; the extreme table has
        more rows.
    rows : int
        How many rows the extreme one has.
    types : mapping, optional
        How columns of text are read.
    """

    extreme: Any
    harmless: Any
    rows: int
    channels: Channels
    types: dict[str, Any] | None = None
    _sessions: dict[Any, um.Session] = field(default_factory=dict)

    def session(self, which: str, c: str, unit: str = "rows", neighbours: str = "add-remove") -> um.Session:
        """The session about one of the tables; the same one is asked again, unless it failed."""
        known = (which, c if unit == "typed" else "", unit, neighbours)
        if known not in self._sessions:
            most = 100
            person = {"people": "who", "typed": c}.get(unit)
            whose = um.people(person, rows_each=2, at_most=most) if person else um.rows(at_most=most)
            table = self.extreme if which == "extreme" else self.harmless
            self._sessions[known] = um.Session(table, "d", whose, neighbours, budget=BUDGET, types=self.types)
            self.channels.said()  # what opening says is about the type; a test of its own compares it
        return self._sessions[known]

    def forget(self) -> None:
        """Begin anew after a failure, which may have ended more than one question."""
        self._sessions.clear()

    def outcome(self, which: str, c: str, question: Question) -> Outcome:
        """What comes of a question about one of the tables; opening it is part of the question."""
        try:
            session = self.session(which, c, question.unit, question.neighbours)
        except UtmostError as reason:
            return Outcome("refused", str(reason), self.channels.said())
        found = outcome(session, question.ask, self.channels)
        if found.kind == "failed":
            self.forget()
        return found

    def problem(self, c: str, question: Question, both: bool = False) -> str | None:
        """What a question about the extreme rows tells, or None.

        Where it is answered in silence, and every row alone moves it as declared, the harmless table is asked only
        if `both`.
        """
        found = self.outcome("extreme", c, question)
        if found.kind == "failed":
            return f"{question.name}: failed: {found.words[:150]}"
        if found.kind == "refused" or found.said or both:
            other = self.outcome("harmless", c, question)
            if other != found:
                return f"{question.name}: tells by {found} beside {other}"
        if found.kind == "answered" and question.holds and not question.holds(found.released, self.rows):
            return f"{question.name}: moved beyond what is declared: {str(found.released)[:200]}"
        return None

    def condition_problems(self, c: str, listed: list[str], both: bool = False) -> list[str]:
        """Conditions that tell: those that are planned are asked all at once, and one by one if that fails."""
        session = self.session("extreme", c)
        taken, problems = [], []
        for where in listed:
            words = _refusal(session, where)
            if words is None:
                taken.append(where)
            if both and _refusal(self.session("harmless", c), where) != words:
                problems.append(f"{where}: refused by {words!r}, and not so of the harmless table")
        said = self.channels.said()
        problems += [f"planning {len(listed)} conditions: {said}"] if said else []
        for start in range(0, len(taken), 90):
            part = taken[start : start + 90]
            ask = lambda s, part=part: s.counts(dict(zip(part, part, strict=True)), LEVEL)  # noqa: E731
            if self.problem(c, Question("counts of conditions", ask, holds=each_count)):
                for where in part:
                    one = Question(where, lambda s, where=where: s.count(where, LEVEL), holds=each_count)
                    problems += [found for found in [self.problem(c, one)] if found]
        return problems

    def problems(self, c: str, column: Column, ranges: list[tuple[int, int]], step: int, first: int) -> list[str]:
        """What every so-many-th question and condition about a column tells, and the riskiest questions always.

        With step 1 both tables are asked, else the harmless one only where the extreme one is refused.
        """
        listed = questions(c, column, self.rows, ranges)
        asked = [q for i, q in enumerate(listed) if i % step == first % step or q.risky]
        found = [self.problem(c, question, both=step == 1) for question in asked]
        found = [each for each in found if each]
        try:
            self.session("extreme", c)
        except UtmostError:  # a table that is not opened was asked about above
            return found
        few = max(1, step // 2)  # conditions are asked together, so they cost less
        return found + self.condition_problems(c, conditions(c, column.kind)[first % few :: few], step == 1)


def _refusal(session: um.Session, where: str) -> str | None:
    try:
        session.plan.count(where, 1)
    except UtmostError as reason:
        return str(reason)
    return None


def rows_of(column: Column) -> dict[str, list[Any]]:
    """The rows of a table about one column, as lists: harmless ones, a null, and the extreme ones, who are ill."""
    values = [*[column.harmless] * HARMLESS, None, *column.extremes]
    return {"c": values, **context(len(values))}


def context(rows: int) -> dict[str, list[Any]]:
    """The columns beside typed ones: a number for each row, two towns, two rows for each person."""
    return {
        "id": list(range(rows)),
        "ill": [i >= ODD for i in range(rows)],
        "town": ["ab"[i % 2] for i in range(rows)],
        "who": [i // 2 for i in range(rows)],
    }


def require_alike(tables: Any, questions: dict[str, Callable[[um.Session], Any]], **options: Any) -> None:
    """Fail with a line for each question of which something else comes for two tables, or that fails.

    Parameters
    ----------
    tables : pair
        What sessions open: two tables that differ in one row, or in what one row says.
    questions : mapping
        How to ask, by name.
    options : Any
        `neighbours` and `unit` of the sessions.
    """
    unit = options.get("unit") or um.rows(at_most=100)
    kind, sessions, found = options.get("neighbours", "add-remove"), dict[int, um.Session](), []
    with Channels() as channels:
        for name, ask in questions.items():
            outcomes = []
            for i, table in enumerate(tables):
                try:
                    sessions[i] = sessions.get(i) or um.Session(table, "d", unit, kind, budget=BUDGET)
                except UtmostError as reason:
                    outcomes.append(Outcome("refused", str(reason), channels.said()))
                    continue
                outcomes.append(outcome(sessions[i], ask, channels))
                if outcomes[i].kind == "failed":
                    del sessions[i]
            if outcomes[0] != outcomes[1] or outcomes[1].kind == "failed":
                found.append(f"{name}: {outcomes[0].kind} {outcomes[0].said} and {outcomes[1].kind} {outcomes[1].said}")
    assert not found, f"{len(found)} questions tell:\n" + "\n".join(found)
