"""What every query has: public parameters, one design with its proof, and what an answer says. It holds no rows.

A query is a small frozen class. Its bases are `AggregateQuery` (an aggregate with a grouping), `CellCounts` (counts of
cells) and `Choice` (a selection among a few answers), which say how accurate an answer is and how it is shown. What is
left for each query itself is:

* `words`: the question as a sentence, with everything that was clamped, truncated or left out;
* `options`: its public parameters, declared once for session, plan, command and prompt;
* `space`: where the statistic lies and its sensitivity;
* `design`: the `Solution` that releases it;
* `statement`: what the engine computes, a few integers;
* `value`: how released integers become the answer.

`describe` is all that is said of a query before anything is spent, the proof of its privacy included. To add a query,
write its file, name its class in `OTHERS` of this package, and write its method in `queries/asking.py`; an aggregate is
named in `AGGREGATES` (`queries/aggregates`) instead.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from utmost.backends.source import Source, Statement
from utmost.errors import CannotCertify, InvalidInput, UnsupportedLevel, shown
from utmost.privacy import ApproxDP, Level, as_level, require_pure
from utmost.queries.accuracy import After, Before
from utmost.queries.arguments import Neighbours, Of
from utmost.queries.options import Option
from utmost.queries.predicate import EVERY_ROW, Where
from utmost.queries.report.words import figures
from utmost.queries.units import Unit
from utmost.space.integers import Lattice, Moves, Unlisted
from utmost.space.line import within

if TYPE_CHECKING:
    import pyarrow

    from utmost.mechanism.certification import Check
    from utmost.queries.questions.share import ShareFinding
    from utmost.solution import Solution

LEAST_EPSILON, MOST_EPSILON = 1e-6, 500
"""Between which epsilons answers are released: below, a million people are not told from none; above, e^-epsilon has
more digits than anybody can use."""
DROPPED = {
    "table": "rows of a person beyond {} are dropped before any condition: all answers about rows with this bound are "
    "about the same rows",
    "question": "rows of a person beyond {} are dropped; rows are chosen for each question among those with its "
    "condition: do not add up or divide answers of several questions",
}
"""Which rows of a person are used, and what that means beside other answers, by where they are chosen."""
HOW_MANY_DROPPED = "left_out asks how many people lose rows, and share_left_out which share"
ONE_ROW = (
    "; the row is chosen for each question among those with its condition: do not add up answers of several questions"
)
SHOWN = ("absolute", "squared", "zero-one")
"""The losses that every report shows, whichever was asked for."""


@dataclass(frozen=True)
class Terms:
    """What every question about a table shares: whose data are protected, and who neighbours whom.

    Attributes
    ----------
    unit : whose data are protected
    neighbours : "replace" or "add-remove"
    fixed_rows : whether the number of rows cannot depend on what a row says: see `Source.fixed_rows`
    """

    unit: Unit
    neighbours: Neighbours
    fixed_rows: bool = True

    @cached_property
    def unit_in_words(self) -> str:
        """The unit as reports and ledgers write it: worked out once, when a session opens."""
        return str(self.unit)

    @property
    def same_total(self) -> bool:
        """Whether neighbours have equally many rows, if none is misread: rows are replaced, and each is a unit."""
        return self.neighbours == "replace" and self.unit.id is None

    @property
    def moves(self) -> Moves:
        """What one row does to disjoint integers: it comes or goes, or leaves one for another."""
        return "any" if self.neighbours == "add-remove" else "exchange"


@dataclass(frozen=True, eq=False, kw_only=True)
class Question(ABC):
    """A question at a privacy level: public parameters only, so that it can be planned, saved and proved anywhere.

    Attributes
    ----------
    terms : Terms
        Whose data are protected, and the adjacency relation.
    privacy : Level
        What asking spends.
    where : Where
        Which rows are used.
    of : "rows" or "people"
        What is counted.
    loss : str
        What the mechanism is designed for.
    """

    summary: ClassVar[str]
    """What it asks, in half a line, for a list of questions."""
    options: ClassVar[tuple[Option, ...]]
    """Its parameters, beside `privacy`, in the order of the method's."""
    by_one_row: ClassVar[bool] = False
    """Whether people are asked about by one row of each: rows of one person may differ in what is asked."""
    needs_most: ClassVar[bool] = False
    """Whether its mechanism, or what is said of its accuracy, needs to know how many rows there are at most."""

    terms: Terms
    privacy: Level
    where: Where = EVERY_ROW
    of: Of = "rows"
    loss: str = "absolute"

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the session's method that asks it."""

    @property
    def tiered(self) -> bool:
        """Whether it is asked of tables whose rows have promises of their own."""
        return False

    @property
    def one_kind(self) -> bool:
        """Whether several numbers of an answer share a unit, so that a picture may set them side by side."""
        return True

    @property
    def takes_any_noise(self) -> bool:
        """Whether it can be answered at levels of any kind, each with noise of its own; else at pure ones."""
        return False

    @property
    def error_has_law(self) -> bool:
        """Whether the noise is the error, so that it is known how likely it is to be larger than a number."""
        return False

    @property
    def grid_is_named(self) -> bool:
        """Whether somebody chose the step that values are rounded to."""
        return False

    def require_expected_rows(self) -> None:  # noqa: B027 - most errors do not depend on the number of rows
        """Refuse a target for an error that depends on how many rows there are, where nobody says how many."""

    @property
    def step(self) -> Fraction:
        """What one step of a released integer is worth, in the unit of the answer."""
        return Fraction(1)

    def rounded(self, released: Mapping[str, Any]) -> dict[Any, int] | None:
        """The answer as whole numbers, none below 0, that agree with each other; None where there are no such."""
        return None

    def test(self, released: Mapping[str, Any], theta: Any, alternative: Any, confidence: Any) -> ShareFinding:
        """Of a share: whether the share in the population is above theta."""
        raise InvalidInput("only shares are tested: ask with s.share(...), then answer.test(0.5).")

    def table(self, released: Mapping[str, Any]) -> pyarrow.Table | None:
        """The answers as an Arrow table; None where one is made of the values and intervals."""
        return None

    def __post_init__(self) -> None:
        if bool(self.terms.unit.tiers) is not self.tiered:
            raise InvalidInput(
                f"a {self.name} of rows with tiers is not known how to answer best; ask for a count, a majority or a "
                "threshold, without keys, or open the session without tiers at the level of the most protected."
            )
        if self.needs_most and self.terms.unit.at_most is None:
            most = "um.rows(at_most=20_000)" if self.terms.unit.id is None else "um.people(..., at_most=20_000)"
            raise InvalidInput(
                f"a {self.name} is answered among the tables of at most so many {self.terms.unit.whose}, and at_most "
                f"was not stated; open the session with unit={most}, a public number that the table does not exceed."
            )
        if self.privacy is None:
            raise InvalidInput("say what the answer may spend, such as privacy=0.5: there is no default.")
        self.settle(privacy=require_releasable(as_level(self.privacy)))

    def settle(self, **values: Any) -> None:
        """Put checked, plain values in place of those given; for `__post_init__` only."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    @abstractmethod
    def words(self) -> str:
        """The question as a sentence: also what is cut off, left out or rounded."""

    @property
    @abstractmethod
    def public(self) -> dict[str, Any]:
        """Everything that was asked, as plain data, of which the question can be made again."""

    @property
    def identity(self) -> dict[str, Any]:
        """What the ledger compares and keeps: `public`, long lists by their fingerprint."""
        return self.public

    @property
    @abstractmethod
    def space(self) -> Unlisted:
        """Where the statistic lies, and how far one neighbour moves it."""

    @property
    def posed(self) -> dict[str, Any]:
        """What the problem of its solution must hold beside space and level: one for anything else is refused."""
        return {"loss": self.loss}

    @abstractmethod
    def design(self) -> Solution:
        """The mechanism with the least expected loss known, with its proof; made of public parameters alone."""

    @abstractmethod
    def statement(self, source: Source, secret: bytes) -> Statement:
        """What the engine will be asked; nothing is read yet, and what cannot be asked is refused here."""

    @abstractmethod
    def point(self, engine_result: Mapping[str, Any]) -> Any:
        """The private point, clamped to the space, from what the engine found."""

    @abstractmethod
    def released(self, sample: Any) -> dict[str, Any]:
        """What was drawn, by name: what the ledger keeps."""

    def require_released(self, released: Mapping[str, Any]) -> None:
        """Refuse, by `InvalidInput`, what cannot have been released: a report may hold anything.

        Whatever is of the wrong kind, and passes here, must be refused where the value is made of it.
        """
        if not released:
            raise InvalidInput("nothing was released.")

    @abstractmethod
    def value(self, released: Mapping[str, Any]) -> Any:
        """The answer, made of what was released."""

    @property
    def average(self) -> float:
        """The expected loss under the prior, in the unit of the answer; `before` says more, and takes longer."""
        return self.solution.value

    def sketch(self) -> Solution | None:
        """The design without its proof, for a search over levels, or one that errs hardly more; None without one."""
        return None

    def off_by_more(self, error: Fraction) -> float:
        """The probability that the answer will be off by more than this, under the prior, in the unit of the answer."""
        raise InvalidInput(
            f"how far off a {self.name} is with a probability is not known before it is answered; name the expected "
            "loss you can live with instead: (loss, None), as in {plan: (1, None)}."
        )

    @abstractmethod
    def before(self) -> Before:
        """How accurate an answer will be, from the prior and the mechanism."""

    @abstractmethod
    def after(self, released: Mapping[str, Any]) -> After:
        """What the released value says about the truth."""

    @property
    def condition(self) -> str:
        """What must be true of the table for intervals to hold: it has no more rows or people than was stated."""
        unit = self.terms.unit
        return "" if unit.at_most is None else f"if the table has at most {unit.at_most:,} {unit.whose}"

    def near_limit(self, released: Mapping[str, Any], after: After) -> bool:
        """Whether what was released is so close to the largest number that the table may have more than was stated."""
        return False

    def known(self, released: Mapping[str, Any]) -> After:
        """What the released value says about the truth, and of which tables that is true."""
        after, condition = self.after(released), self.condition
        if not condition:
            return after
        return replace(after, condition=condition, near_limit=self.near_limit(released, after))

    @abstractmethod
    def compared(self) -> dict[str, dict[str, float]]:
        """The expected losses, ours first, then the usual alternatives, by loss."""

    def belief(self, released: Mapping[str, Any]) -> tuple[Any, Any] | None:
        """How likely each true value is, given the prior and the answer, for a picture; None where there is none."""
        return None

    @property
    def curve(self) -> dict[str, Any] | None:
        """What is known before anything is read, as two columns of numbers by name, for a picture; None without one."""
        return None

    def plain_value(self, value: Any) -> Any:
        """The answer as plain data, for JSON."""
        return value

    def plain_intervals(self, intervals: Mapping[Any, tuple[Any, Any]]) -> Any:
        """The intervals of an answer as plain data, for JSON."""
        return {name: list(ends) for name, ends in intervals.items()}

    @property
    def key_columns(self) -> tuple[str, ...]:
        """What the names of several numbers stand for, as heads of columns."""
        return ("cell",)

    @cached_property
    def accuracy(self) -> Before:
        """`before`, worked out once."""
        return self.before()

    @cached_property
    def losses(self) -> dict[str, dict[str, float]]:
        """`compared`, worked out once."""
        return self.compared()

    @cached_property
    def solution(self) -> Solution:
        """The design, made when first needed."""
        return self.design()

    def at(self, level: Level) -> Self:
        """The same question at another level."""
        return replace(self, privacy=level)

    def draw(self, point: Any) -> dict[str, Any]:
        """What is released at a private point, by the law that was proved: only here it and randomness meet."""
        return self.released(self.solution.mechanism.sample(point))

    @property
    def proved_level(self) -> Level:
        """The level that the solution keeps on its space: what is spent, or one of several shares of it."""
        return self.privacy

    @property
    def composition(self) -> str:
        """Why the level that is proved keeps the one that is spent, where these are not about the same."""
        return ""

    @property
    def proved_of(self) -> str:
        """What the certificate is about, where that is not the answer itself."""
        return ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What somebody about to spend should know."""
        return ()

    @property
    def all_notes(self) -> tuple[str, ...]:
        """These, and where rows of people may be dropped, what that means and how to learn of how many."""
        return (*self.notes, *self.drop_notes)

    @property
    def drop_notes(self) -> tuple[str, ...]:
        """What of people takes no part, what that means beside other answers, and what to do about it."""
        unit = self.terms.unit
        if self.of_one_row:
            return (self.one_row_note + ONE_ROW,)
        if not self.kept or self.of_people:
            return ()
        return (f"{DROPPED[unit.truncate].format(unit.rows_each)}; {HOW_MANY_DROPPED}",)

    @property
    def of_people(self) -> bool:
        """Whether people are counted, and not rows."""
        return self.of == "people"

    @property
    def of_one_row(self) -> bool:
        """Whether each person takes part with one of their rows, chosen at random."""
        return self.by_one_row and self.of_people

    @property
    def one_row_words(self) -> str:
        """That, for the question's words."""
        return "each person counted by one of their rows chosen at random"

    @property
    def one_row_note(self) -> str:
        """What that does to the answer, and what to ask instead."""
        rows = f"at most {self.terms.unit.rows_each}"
        return f"of a person with several rows one takes part; of='rows' uses {rows} of each"

    @property
    def rows_each(self) -> int:
        """How many rows of a unit take part: all that are kept, or one where people are counted."""
        return 1 if self.of_people else self.terms.unit.rows_each

    @property
    def rows_in_group(self) -> int:
        """How many of them are in one group at most."""
        return self.rows_each

    @property
    def bounded_unit(self) -> Unit:
        """The unit whose rows are truncated for this question; people are counted once each, with any rows."""
        unit = self.terms.unit
        return replace(unit, truncate="question") if self.of_people else unit

    @property
    def most_rows(self) -> int | None:
        """How many rows take part at most; None where nobody said how many there are."""
        most = self.terms.unit.at_most
        return None if most is None else most * self.rows_each

    @property
    def rows_moved(self) -> int:
        """How many rows one neighbour has."""
        return self.rows_each if self.most_rows is None else min(self.rows_each, self.most_rows)

    @property
    def stated_rows(self) -> int:
        """How many rows take part at most, for questions that need to know."""
        assert self.most_rows is not None, "needs_most"
        return self.most_rows

    def counts_of(self, cells: int, moves: Moves) -> Lattice:
        """Where so many counts of rows lie, and how far one neighbour moves them."""
        least = None if self.most_rows is None else 0
        return Lattice(cells, moves, self.rows_moved, least, self.most_rows)

    @property
    def kept(self) -> str:
        """Which rows of a unit take part, in words; empty where all do."""
        if self.of_one_row:
            return f", {self.one_row_words}"
        return f", of {self.used}" if self.used else ""

    @property
    def used(self) -> str:
        """The same for the sentence of an interval: what it is about."""
        unit = self.terms.unit
        if self.of_one_row:
            return "one row of each person, chosen at random"
        if unit.id is None or self.of_people:
            return ""
        stage = "before any condition" if unit.truncate == "table" else "for this question"
        return f"at most {unit.rows_each} row{'s' * (unit.rows_each > 1)} per {unit.id} chosen {stage}"

    @property
    def kept_within(self) -> str:
        """The same between commas, for the middle of a sentence."""
        return f"{self.kept}," if self.kept else ""

    @property
    def cut(self) -> str:
        """What is done to values before they take part, in words; empty where nothing is."""
        return ""

    @property
    def off_by_rounding(self) -> float:
        """How far rounding values moves the answer at most, as far as a plan counts it, in the unit of the answer."""
        return 0.0

    @property
    def rounds_to(self) -> str:
        """What is rounded to what, in words."""
        return ""

    @property
    def loss_from_rounding(self) -> float:
        """What rounding adds to the expected loss at most: the errors of noise have mean 0, so squares add up."""
        return {"absolute": self.off_by_rounding, "squared": self.off_by_rounding**2}.get(self.loss, 0.0)

    @property
    def limits(self) -> tuple[str, ...]:
        """What an answer is about, where truncation or clamping leave less than the whole table, in words."""
        return tuple(part for part in (self.used, self.cut) if part)

    @property
    def not_in_it(self) -> str:
        """The same for the end of a sentence about the truth; empty where the answer is about the whole table."""
        return f"; of what took part: {', '.join(self.limits)}" if self.limits else ""


def as_of(of: Any, unit: Unit) -> Of:
    """What is counted: rows, or people where the unit is a person."""
    if not isinstance(of, str) or of not in ("rows", "people"):
        raise InvalidInput(f"of is {shown(of)}; say 'rows' or 'people'.")
    if of == "people" and unit.id is None:
        raise InvalidInput(
            "people cannot be counted where the unit is a row; open the session with unit=um.people(...)."
        )
    return "rows" if of == "rows" else "people"


def asking(words: str, where: Where, rows_clause: str = "", ending: str = "") -> str:
    """A question in words, about all rows or those of which a condition is true; at the end, how it is answered."""
    return f"{words}{rows_clause}, where {where}{ending}?" if where else f"{words}{rows_clause}{ending}?"


# ---- what is said of any question, before anything is spent ----


def describe(question: Question, dataset: str) -> dict[str, Any]:
    """Everything public about a question, as plain data: what a plan shows and an answer repeats."""
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
        "notes": list(question.all_notes),
        "accuracy": {"before": asdict(question.accuracy)},
        "compared": question.losses,
        **({} if question.curve is None else {"curve": question.curve}),
    }


def _level_in_words(level: Level) -> dict[str, Any]:
    """A level as people and other programs read it; exactly, it stands beside these."""
    names = ("epsilon", "delta") if isinstance(level, ApproxDP) else ("mu", "rho")  # of zCDP, epsilon is a function
    numbers = {name: float(getattr(level, name)) for name in names if hasattr(level, name)}
    return {"words": str(level), "numbers": numbers}


def proved_private(question: Question) -> Check:
    """The proof of privacy of what will be drawn; `CannotCertify` if it fails: nothing unproved is released."""
    solution = question.solution
    check: Check = solution.mechanism.prove(question.space, question.proved_level)
    if not check.passed:
        raise CannotCertify(f"the mechanism is not proved private ({check.detail}); ask at another level.")
    return replace(check, detail="; ".join(filter(None, (check.detail, question.composition))))


def proved_optimal(question: Question) -> dict[str, Any]:
    """What is proved about better mechanisms, in the unit of the answer, as plain data."""
    certificate = question.solution.certificate
    return {
        "optimal": certificate.claim,
        "of": question.proved_of or "the answer",
        "because": certificate.reason,
        "bound": in_unit(question, certificate.bound),
        "gap": in_unit(question, certificate.gap),
        **gaps_beside(question),
    }


def gaps_beside(question: Question) -> dict[str, Any]:
    """Where the ends of a range take much of the gap: how far away from them it holds, and how far better others are.

    Others are every mechanism on average over all tables, or all noise.
    """
    solution = question.solution
    evidence = solution.certificate.evidence
    gaps = {"away": in_unit(question, evidence["away"])} if "away" in evidence else {}
    for name, label in (("average", "gap on average"), ("noise", "gap among noise")):
        if isinstance(evidence.get(name), float):
            gaps[label] = in_unit(question, solution.value - evidence[name])
    return gaps


def in_unit(question: Question, value: float | None) -> float | None:
    """A loss of what is released, in the unit of the answer."""
    if question.solution.problem.question == "keys.shown":  # how many hold a key, whatever the numbers beside it are
        return value
    return None if value is None else scaled(question.loss, value, float(question.step))


# ---- rules that all questions share ----


def require_releasable(level: Level) -> Level:
    """Refuse levels at which an answer says nothing, or everything."""
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


def require_pure_release(level: Level, what: str) -> ApproxDP:
    """The level if it is releasable and pure; an error that says what is released at such levels otherwise."""
    try:
        return require_pure(require_releasable(level))
    except UnsupportedLevel:
        raise UnsupportedLevel(
            f"{what} are released at pure levels, not {level}; give an epsilon, such as PureDP(1)."
        ) from None


def as_loss(loss: Any, choices: tuple[str, ...] = SHOWN) -> str:
    """A loss by name: "absolute", "squared", "zero-one", or "within k": nothing is lost up to k steps off, else 1.

    "within k" is a loss of integers on a line; where only some losses are offered, it is not among them.
    """
    everything = choices == SHOWN
    if isinstance(loss, str) and (loss in choices or (everything and within(loss) is not None)):
        return str.__str__(loss)
    names = ", ".join(map(repr, choices)) + (" or such as 'within 5'" if everything else "")
    raise InvalidInput(f"loss is {shown(loss)}; say {names}.")


def shown_with(loss: str) -> tuple[str, ...]:
    """The losses of a report: the one that was asked for, then the others that every report shows."""
    return tuple(dict.fromkeys((loss, *SHOWN)))


def scaled(loss: str, value: float, step: float) -> float:
    """A loss in steps as one in the unit of the answer."""
    return value * {"absolute": step, "squared": step**2}.get(loss, 1.0)


def in_units(
    losses: Mapping[str, Mapping[str, float]], shown_losses: Sequence[str], step: Fraction | float
) -> dict[str, dict[str, float]]:
    """Losses in steps, by mechanism and loss, as those that are shown, in the unit of the answer."""
    return {
        name: {loss: scaled(loss, expected, float(step)) for loss, expected in by.items() if loss in shown_losses}
        for name, by in losses.items()
    }


def require_reachable(question: Question, error: Fraction, name: str, with_chance: bool = False) -> None:
    """Refuse a target that rounding alone can exceed: an expected loss, or an error that is kept with a probability."""
    off = question.off_by_rounding if with_chance else question.loss_from_rounding
    if not off or error > Fraction(off):
        return
    finer = "leave the grid out, or give a finer one"
    change = finer if question.grid_is_named else "ask for less accuracy, or for a narrower range"
    raise InvalidInput(
        f"{name} is {figures(float(error))}, and {question.rounds_to} alone can make an error of "
        f"{figures(off)}: no privacy level meets it; {change}."
    )


def with_rounding(losses: dict[str, dict[str, float]], off: float) -> dict[str, dict[str, float]]:
    """Losses by mechanism and loss, and what rounding values adds to all of them at most: they see the same values."""
    more = {"absolute": off, "squared": off**2}
    return {
        name: {loss: expected + more.get(loss, 0.0) for loss, expected in by.items()} for name, by in losses.items()
    }
