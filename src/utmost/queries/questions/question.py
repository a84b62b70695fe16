"""Base class of queries: public parameters, a design with its proof, and how an answer is made. It holds no rows.

A query is a small frozen class. Its bases are `AggregateQuery` (an aggregate with a grouping), `CellCounts` (counts of
cells) and `Choice` (a selection among a few answers), which say how accurate an answer is and how it is shown. Each
query itself defines:

* `words`: the question as a sentence, with all clamping, truncation and rounding;
* `options`: its public parameters, declared once for session, plan, command and prompt;
* `space`: the possible values of the statistic, with its sensitivity;
* `design`: the `Solution` that releases it;
* `statement`: what the engine computes, a few integers;
* `value`: the estimate from the released integers.

`describe` returns everything public about a query, before anything is spent: the proof of its privacy included. To add
a query, write its file, list its class in `OTHERS` of this package, and write its method in `queries/methods.py`; list
an aggregate in `AGGREGATES` (`queries/aggregates`) instead.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from utmost.backends.source import Source, Statement
from utmost.errors import CannotCertify, InvalidInput, shown
from utmost.privacy import ApproxDP, Level, as_level
from utmost.queries.accuracy import After, Before
from utmost.queries.arguments import Neighbours, Of
from utmost.queries.losses import loss_in_unit
from utmost.queries.options import Option
from utmost.queries.predicate import EVERY_ROW, Where
from utmost.queries.report.words import figures
from utmost.queries.units import Unit
from utmost.space.integers import Lattice, Moves, Unlisted

if TYPE_CHECKING:
    import pyarrow

    from utmost.mechanism.certification import Check
    from utmost.queries.questions.share import ShareFinding
    from utmost.solution import Solution

LEAST_EPSILON, MOST_EPSILON = 1e-6, 500
"""The range of epsilons at which answers are released: below, a million people cannot be told from none; above,
e^-epsilon has more digits than anybody can use."""
DROPPED = {
    "table": "rows of a person beyond {} are dropped before any condition: all answers about rows with this bound are "
    "about the same rows",
    "question": "rows of a person beyond {} are dropped; rows are chosen for each question among those with its "
    "condition: do not add up or divide answers of several questions",
}
"""Note on truncation, by where it happens: which rows of a person are used, and which answers may be compared."""
HOW_MANY_DROPPED = "left_out asks how many people lose rows, and share_left_out which share"
ONE_ROW = (
    "; the row is chosen for each question among those with its condition: do not add up answers of several questions"
)


@dataclass(frozen=True)
class Terms:
    """What all queries of a table share: the privacy unit and the adjacency.

    Attributes
    ----------
    unit : Unit
        The privacy unit, with its contribution bounds.
    neighbours : "replace" or "add-remove"
        The adjacency relation.
    fixed_rows : bool
        Whether the number of rows cannot depend on the content of a row: see `Source.fixed_rows`.
    """

    unit: Unit
    neighbours: Neighbours
    fixed_rows: bool = True

    @cached_property
    def unit_in_words(self) -> str:
        """The privacy unit as reports and ledgers write it, computed once per session."""
        return str(self.unit)

    @property
    def same_total(self) -> bool:
        """Whether neighbours have equally many rows (if none is misread): the unit is a row, and rows are replaced."""
        return self.neighbours == "replace" and self.unit.id is None

    @property
    def moves(self) -> Moves:
        """Sensitivity set of one row on disjoint counts: it changes one of them, or moves from one to another."""
        return "any" if self.neighbours == "add-remove" else "exchange"


@dataclass(frozen=True, eq=False, kw_only=True)
class Question(ABC):
    """A query at a privacy level: public parameters only, so that it can be planned, saved and proved without a table.

    Attributes
    ----------
    terms : Terms
        The privacy unit and the adjacency.
    privacy : Level
        The privacy level that the query spends.
    where : Where
        Which rows are used.
    of : "rows" or "people"
        What is counted.
    loss : str
        What the mechanism is designed for.
    """

    summary: ClassVar[str]
    """The question in half a line, for lists of questions."""
    options: ClassVar[tuple[Option, ...]]
    """Its parameters beside `privacy`, in the order of the session's method."""
    people_by_one_row: ClassVar[bool] = False
    """Whether people are counted by one random row each, because their rows may differ in what is counted."""
    needs_most: ClassVar[bool] = False
    """Whether the mechanism, or the statement of its accuracy, needs a public bound on the number of rows."""

    terms: Terms
    privacy: Level
    where: Where = EVERY_ROW
    of: Of = "rows"
    loss: str = "absolute"

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the session's method for this query."""

    @property
    def tiered(self) -> bool:
        """Whether it can be answered for tables with tiers (levels that differ by row or person)."""
        return False

    @property
    def shares_unit(self) -> bool:
        """Whether all numbers of an answer share a unit, so that a figure may show them on one axis."""
        return True

    @property
    def takes_any_noise(self) -> bool:
        """Whether it can be answered at levels of every kind, by noise for that kind; else at pure levels only."""
        return False

    @property
    def error_has_law(self) -> bool:
        """Whether the law of the error is known in advance, because the error is the noise itself."""
        return False

    @property
    def grid_is_named(self) -> bool:
        """Whether the user named the step that values are rounded to."""
        return False

    def require_expected_rows(self) -> None:  # noqa: B027 - most errors do not depend on the number of rows
        """Refuse an error target without `expected_rows`, if the error depends on the number of rows."""

    @property
    def step(self) -> Fraction:
        """The size of one step of a released integer, in the unit of the answer."""
        return Fraction(1)

    def rounded(self, released: Mapping[str, Any]) -> dict[Any, int] | None:
        """The answer as consistent non-negative integers; None if the query has no such form."""
        return None

    def test(self, released: Mapping[str, Any], theta: Any, alternative: Any, confidence: Any) -> ShareFinding:
        """Test a released share against a population share theta; other queries refuse."""
        raise InvalidInput("only shares are tested: ask with s.share(...), then answer.test(0.5).")

    def table(self, released: Mapping[str, Any]) -> pyarrow.Table | None:
        """The answer as an Arrow table; None for the default table of values and intervals."""
        return None

    def __post_init__(self) -> None:
        if bool(self.terms.unit.tiers) is not self.tiered:
            raise InvalidInput(
                f"no optimal mechanism is known for a {self.name} of rows with tiers; ask for a count, a majority or a "
                "threshold, without keys, or open the session without tiers at the level of the most protected."
            )
        if self.needs_most and self.terms.unit.at_most is None:
            example = "um.rows(at_most=20_000)" if self.terms.unit.id is None else "um.people(..., at_most=20_000)"
            raise InvalidInput(
                f"a {self.name} is answered among the tables of at most so many {self.terms.unit.plural}, and at_most "
                f"was not stated; open the session with unit={example}, a public number that the table does not exceed."
            )
        if self.privacy is None:
            raise InvalidInput("say what the answer may spend, such as privacy=0.5: there is no default.")
        self.set_fields(privacy=require_releasable(as_level(self.privacy)))

    def set_fields(self, **values: Any) -> None:
        """Replace fields by their checked, plain values; for `__post_init__` only."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    @abstractmethod
    def words(self) -> str:
        """The question as a sentence, with all clamping, truncation and rounding."""

    @property
    @abstractmethod
    def public(self) -> dict[str, Any]:
        """All public parameters as plain data, from which the query can be rebuilt."""

    @property
    def identity(self) -> dict[str, Any]:
        """What the ledger stores and compares: `public`, with long lists replaced by their fingerprints."""
        return self.public

    @property
    @abstractmethod
    def space(self) -> Unlisted:
        """The possible values of the statistic, with its sensitivity."""

    @property
    def problem_data(self) -> dict[str, Any]:
        """The data of the solution's problem beside space and level: a solution of any other problem is refused."""
        return {"loss": self.loss}

    @abstractmethod
    def design(self) -> Solution:
        """The mechanism with the lowest expected loss known, with its proof; depends on public parameters only."""

    @abstractmethod
    def statement(self, source: Source, secret: bytes) -> Statement:
        """The statement for the engine; nothing is read yet, and columns that do not fit are refused here."""

    @abstractmethod
    def point(self, engine_result: Mapping[str, Any]) -> Any:
        """The exact statistic, clamped to the space, from the result of the statement. It is private."""

    @abstractmethod
    def released(self, sample: Any) -> dict[str, Any]:
        """The drawn values by name, as plain data: the form that the ledger stores."""

    def require_released(self, released: Mapping[str, Any]) -> None:
        """Refuse, by `InvalidInput`, values that cannot have been released: a report may hold anything.

        Values of the wrong type that pass here must be refused by `value`.
        """
        if not released:
            raise InvalidInput("nothing was released.")

    @abstractmethod
    def value(self, released: Mapping[str, Any]) -> Any:
        """The answer, computed from the released values."""

    @property
    def average(self) -> float:
        """Expected loss under the prior, in the unit of the answer; cheaper than `before`."""
        return self.solution.value

    def sketch(self) -> Solution | None:
        """The design without its proof, or one of hardly larger loss, for searches over levels; None without one."""
        return None

    def probability_off_by_more(self, error: Fraction) -> float:
        """Probability of an error larger than `error` (in the unit of the answer), under the prior."""
        raise InvalidInput(
            f"the law of the error of a {self.name} is not known before it is answered; name the expected loss you can "
            "live with instead: (loss, None), as in {plan: (1, None)}."
        )

    @abstractmethod
    def before(self) -> Before:
        """Expected error of an answer that is still to be released, from the prior and the mechanism."""

    @abstractmethod
    def after(self, released: Mapping[str, Any]) -> After:
        """What the released value says about the truth: interval, or probability that it is right."""

    @property
    def condition(self) -> str:
        """The condition under which intervals hold: the table has at most `at_most` rows or people."""
        unit = self.terms.unit
        return "" if unit.at_most is None else f"if the table has at most {unit.at_most:,} {unit.plural}"

    def near_limit(self, released: Mapping[str, Any], after: After) -> bool:
        """Whether the released value is so large that the table may exceed the stated `at_most`."""
        return False

    def after_with_condition(self, released: Mapping[str, Any]) -> After:
        """`after`, with the condition on the table under which its intervals hold."""
        accuracy, condition = self.after(released), self.condition
        if not condition:
            return accuracy
        return replace(accuracy, condition=condition, near_limit=self.near_limit(released, accuracy))

    @abstractmethod
    def expected_losses(self) -> dict[str, dict[str, float]]:
        """Expected losses by mechanism and loss: ours first, then the standard alternatives."""

    def belief(self, released: Mapping[str, Any]) -> tuple[Any, Any] | None:
        """The posterior of the true value given the answer, as points and probabilities; None without one."""
        return None

    @property
    def curve(self) -> dict[str, Any] | None:
        """A public curve for a figure, as two named columns, such as error by number of rows; None without one."""
        return None

    def plain_value(self, value: Any) -> Any:
        """The answer as plain data, for JSON."""
        return value

    def plain_intervals(self, intervals: Mapping[Any, tuple[Any, Any]]) -> Any:
        """The intervals of an answer as plain data, for JSON."""
        return {name: list(ends) for name, ends in intervals.items()}

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The column headings of the names of several numbers."""
        return ("cell",)

    @cached_property
    def accuracy(self) -> Before:
        """`before`, computed once."""
        return self.before()

    @cached_property
    def losses(self) -> dict[str, dict[str, float]]:
        """`expected_losses`, computed once."""
        return self.expected_losses()

    @cached_property
    def solution(self) -> Solution:
        """The design, computed when first needed."""
        return self.design()

    def at(self, level: Level) -> Self:
        """The same query at another level."""
        return replace(self, privacy=level)

    def draw(self, point: Any) -> dict[str, Any]:
        """Draw the release at the exact statistic, from the law that was proved: the only place with randomness."""
        return self.released(self.solution.mechanism.sample(point))

    @property
    def proved_level(self) -> Level:
        """The level that the solution is proved at: the whole level, or the share of one of several mechanisms."""
        return self.privacy

    @property
    def composition(self) -> str:
        """Why `proved_level` implies the level that is spent, where the two differ; else empty."""
        return ""

    @property
    def certificate_subject(self) -> str:
        """What the certificate is about, if not the answer itself; else empty."""
        return ""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes that a user should read before spending."""
        return ()

    @property
    def notes_with_truncation(self) -> tuple[str, ...]:
        """All notes, with those about truncation."""
        return (*self.notes, *self.truncation_notes)

    @property
    def truncation_notes(self) -> tuple[str, ...]:
        """Notes on truncation: which rows of a person are used, and how to find out how many are dropped."""
        unit = self.terms.unit
        if self.uses_one_row_each:
            return (self.one_row_note + ONE_ROW,)
        if not self.rows_clause or self.of_people:
            return ()
        return (f"{DROPPED[unit.truncate].format(unit.rows_each)}; {HOW_MANY_DROPPED}",)

    @property
    def of_people(self) -> bool:
        """Whether people are counted, not rows."""
        return self.of == "people"

    @property
    def uses_one_row_each(self) -> bool:
        """Whether each person is counted by one of their rows, chosen at random."""
        return self.people_by_one_row and self.of_people

    @property
    def one_row_clause(self) -> str:
        """Clause of the question that says so."""
        return "each person counted by one of their rows chosen at random"

    @property
    def one_row_note(self) -> str:
        """Note on what that does to the answer, and what to ask instead."""
        rows = f"at most {self.terms.unit.rows_each}"
        return f"of a person with several rows one takes part; of='rows' uses {rows} of each"

    @property
    def rows_each(self) -> int:
        """Contribution bound: how many rows of a unit are used; 1 if people are counted."""
        return 1 if self.of_people else self.terms.unit.rows_each

    @property
    def rows_in_group(self) -> int:
        """Contribution bound in one group: how many rows of a unit it has at most."""
        return self.rows_each

    @property
    def bounded_unit(self) -> Unit:
        """The privacy unit with the truncation of this query; people are counted once each, by any of their rows."""
        unit = self.terms.unit
        return replace(unit, truncate="question") if self.of_people else unit

    @property
    def most_rows(self) -> int | None:
        """The most rows that can be used; None without a stated `at_most`."""
        most_units = self.terms.unit.at_most
        return None if most_units is None else most_units * self.rows_each

    @property
    def rows_moved(self) -> int:
        """The most rows by which neighbours differ."""
        return self.rows_each if self.most_rows is None else min(self.rows_each, self.most_rows)

    @property
    def stated_rows(self) -> int:
        """The most rows that can be used, for queries that need such a bound."""
        assert self.most_rows is not None, "needs_most"
        return self.most_rows

    def counts_of(self, cells: int, moves: Moves) -> Lattice:
        """The space of a vector of counts of rows, with its sensitivity set."""
        least = None if self.most_rows is None else 0
        return Lattice(cells, moves, self.rows_moved, least, self.most_rows)

    @property
    def rows_clause(self) -> str:
        """Clause of the question on truncation: ", of at most 3 rows per id chosen for this question"; else empty."""
        if self.uses_one_row_each:
            return f", {self.one_row_clause}"
        return f", of {self.used_rows_in_words}" if self.used_rows_in_words else ""

    @property
    def used_rows_in_words(self) -> str:
        """Which rows of a unit are used, in words; empty if all are."""
        unit = self.terms.unit
        if self.uses_one_row_each:
            return "one row of each person, chosen at random"
        if unit.id is None or self.of_people:
            return ""
        stage = "before any condition" if unit.truncate == "table" else "for this question"
        return f"at most {unit.rows_each} row{'s' * (unit.rows_each > 1)} per {unit.id} chosen {stage}"

    @property
    def rows_clause_mid_sentence(self) -> str:
        """`rows_clause` with a comma at its end, for the middle of a sentence."""
        return f"{self.rows_clause}," if self.rows_clause else ""

    @property
    def clamping_in_words(self) -> str:
        """How values are clamped and rounded, in words; empty if they are not."""
        return ""

    @property
    def off_by_rounding(self) -> float:
        """The largest change of the answer by rounding values that plans include, in the unit of the answer."""
        return 0.0

    @property
    def rounds_to(self) -> str:
        """The rounding in words: "rounding to 0.5"."""
        return ""

    @property
    def loss_from_rounding(self) -> float:
        """The most that rounding adds to the expected loss; squared errors add up, because noise has mean 0."""
        return {"absolute": self.off_by_rounding, "squared": self.off_by_rounding**2}.get(self.loss, 0.0)

    @property
    def limits(self) -> tuple[str, ...]:
        """How truncation and clamping limit what the answer is about, in words; empty for the whole table."""
        return tuple(part for part in (self.used_rows_in_words, self.clamping_in_words) if part)

    @property
    def limits_clause(self) -> str:
        """`limits` as a clause for the end of the sentence on an interval; empty for the whole table."""
        return f"; of what took part: {', '.join(self.limits)}" if self.limits else ""


def as_of(of: Any, unit: Unit) -> Of:
    """Return `of` if it is "rows", or "people" of a table of people; refuse anything else."""
    if not isinstance(of, str) or of not in ("rows", "people"):
        raise InvalidInput(f"of is {shown(of)}; say 'rows' or 'people'.")
    if of == "people" and unit.id is None:
        raise InvalidInput(
            "people cannot be counted where the unit is a row; open the session with unit=um.people(...)."
        )
    return "rows" if of == "rows" else "people"


# ---- the public description of a query ----


def describe(question: Question, dataset: str) -> dict[str, Any]:
    """Everything public about a query, as plain data: the content of a plan, repeated by the answer."""
    certificate, privacy = question.solution.certificate, proved_private(question)
    return {
        "words": question.words,
        "question": question.public,
        "dataset": dataset,
        "unit": question.terms.unit_in_words,
        "neighbours": question.terms.neighbours,
        "space": str(question.space),
        "privacy": {**_level_in_words(question.privacy), **question.privacy.to_json()},
        "mechanism": certificate.method,
        "proof": {"private": privacy.detail, **proved_optimal(question)},
        "notes": list(question.notes_with_truncation),
        "accuracy": {"before": asdict(question.accuracy)},
        "compared": question.losses,
        **({} if question.curve is None else {"curve": question.curve}),
    }


def _level_in_words(level: Level) -> dict[str, Any]:
    """A level in words and as floats; the exact one stands beside them."""
    names = ("epsilon", "delta") if isinstance(level, ApproxDP) else ("mu", "rho")  # of zCDP, epsilon is a function
    numbers = {name: float(getattr(level, name)) for name in names if hasattr(level, name)}
    return {"words": str(level), "numbers": numbers}


def proved_private(question: Question) -> Check:
    """Prove the privacy of the mechanism; raise `CannotCertify` if that fails: nothing unproved is released."""
    solution = question.solution
    check: Check = solution.mechanism.prove(question.space, question.proved_level)
    if not check.passed:
        raise CannotCertify(f"the mechanism is not proved private ({check.detail}); ask at another level.")
    return replace(check, detail="; ".join(filter(None, (check.detail, question.composition))))


def proved_optimal(question: Question) -> dict[str, Any]:
    """The claim of optimality with its bound and gap, in the unit of the answer, as plain data."""
    certificate = question.solution.certificate
    return {
        "optimal": certificate.claim,
        "of": question.certificate_subject or "the answer",
        "because": certificate.reason,
        "bound": loss_in_answer_unit(question, certificate.bound),
        "gap": loss_in_answer_unit(question, certificate.gap),
        **further_gaps(question),
    }


def further_gaps(question: Question) -> dict[str, Any]:
    """Smaller gaps than the one over all tables, which boundary effects dominate.

    "away" is the distance from the ends of the range at which the gap holds; "gap on average" is to every mechanism on
    average over all tables, and "gap among noise" to every noise.
    """
    solution = question.solution
    evidence = solution.certificate.evidence
    gaps = {"away": loss_in_answer_unit(question, evidence["away"])} if "away" in evidence else {}
    for name, label in (("average", "gap on average"), ("noise", "gap among noise")):
        if isinstance(evidence.get(name), float):
            gaps[label] = loss_in_answer_unit(question, solution.value - evidence[name])
    return gaps


def loss_in_answer_unit(question: Question, value: float | None) -> float | None:
    """A loss of the released integers, converted to the unit of the answer."""
    if question.solution.problem.question == "keys.shown":  # a number of contributors, whatever the aggregate is
        return value
    return None if value is None else loss_in_unit(question.loss, value, question.step)


# ---- rules that all queries share ----


def require_releasable(level: Level) -> Level:
    """Return a level at which answers are released; refuse ones too small to say anything or too large to protect."""
    size = level.log_growth if isinstance(level, ApproxDP) else getattr(level, "mu", getattr(level, "rho", 1))
    delta = getattr(level, "delta", 0)
    if size == 0 and delta == 0:
        raise InvalidInput(
            "privacy is 0: every answer would be the same whatever the table says; give a level above 0, such as 1."
        )
    if size == math.inf:
        raise InvalidInput("privacy is infinite: nothing would be protected; give a finite epsilon.")
    if isinstance(level, ApproxDP) and size > MOST_EPSILON:
        raise InvalidInput(
            f"privacy is {level}: above epsilon = {MOST_EPSILON} nothing is protected that matters, and exact draws "
            f"take ever longer; give an epsilon up to {MOST_EPSILON}, such as 1."
        )
    if isinstance(level, ApproxDP) and size < LEAST_EPSILON and delta == 0:
        raise InvalidInput(
            f"an answer, or one part of a mean, would be released at {level}: below epsilon = {LEAST_EPSILON:g} it "
            "would say next to nothing about any table; give a larger epsilon, such as 0.1."
        )
    return level


def require_reachable(question: Question, error: Fraction, name: str, with_chance: bool = False) -> None:
    """Refuse a target that rounding alone can exceed: an expected loss, or an error bound with a probability."""
    rounding_error = question.off_by_rounding if with_chance else question.loss_from_rounding
    if not rounding_error or error > Fraction(rounding_error):
        return
    finer = "leave the grid out, or give a finer one"
    change = finer if question.grid_is_named else "ask for less accuracy, or for a narrower range"
    raise InvalidInput(
        f"{name} is {figures(float(error))}, and {question.rounds_to} alone can make an error of "
        f"{figures(rounding_error)}: no privacy level meets it; {change}."
    )
