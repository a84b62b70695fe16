"""The question: which share of the rows, or people, has a condition, and does that prove anything about a population.

One count is released with noise of mean 0, among a public number of rows: rows are replaced, never added, so how many
there are is public. With it goes a uniform number drawn without looking at anything, which makes p-values continuous:
they are exactly uniform under the null hypothesis, and at pure levels the most powerful private ones (Awan and
Slavković 2020).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput, shown
from utmost.exact import Number as AnyNumber
from utmost.mechanism.sampling import uniform_integer
from utmost.queries.accuracy import BY_LAW, After, Before
from utmost.queries.arguments import Condition, Of, Privacy
from utmost.queries.contributions import ones, statement
from utmost.queries.options import CONDITION, OF, Option, read_whole
from utmost.queries.predicate import EVERY_ROW, Where
from utmost.queries.questions.numbers import Numbers
from utmost.queries.questions.question import Asks, Made, as_loss, as_of, scaled, shown_with
from utmost.queries.units import MOST_UNITS
from utmost.space.integers import Lattice
from utmost.space.line import Line

if TYPE_CHECKING:
    from utmost.solution import Solution
    from utmost.theory.binary.design.share_test import NoisyShare

BITS = 53
"""The uniform number that makes p-values continuous has so many bits."""
AMONG = Option(
    "among",
    "How many rows or people there are; public.",
    "--among, the public number of rows, such as --among 20000",
    "How many rows there are (public)",
    required=True,
    read=read_whole,
)


@dataclass(frozen=True)
class ShareFinding:
    """What a released share says about the population its rows are drawn from. Made by `answer.test`.

    Attributes
    ----------
    theta : the share under the null hypothesis
    alternative : "greater", "less" or "two-sided"
    p_value : at most u with probability u if the share in the population is theta, exactly
    interval : holds the share in the population with `confidence`, whatever it is
    confidence : of the interval
    """

    theta: float
    alternative: str
    p_value: float
    interval: tuple[float, float]
    confidence: float

    def __str__(self) -> str:
        low, high = self.interval
        asked = {"greater": "above", "less": "below"}.get(self.alternative, "other than")
        return (
            f"share {asked} {self.theta:g}: p-value {self.p_value:.4g}; {self.confidence:.0%} interval of the share in "
            f"the population: {low:.4g} to {high:.4g}"
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Share(Numbers):
    """Which share of a public number of rows, or people, has a condition."""

    name = "share"
    summary = "which share of the rows has a condition, with tests"
    options: ClassVar = (CONDITION, AMONG, OF)
    unbiased: ClassVar = True

    where: Where = EVERY_ROW
    among: int
    of: Of = "rows"

    def __post_init__(self) -> None:
        super().__post_init__()
        unit = self.terms.unit
        self.settle(loss=as_loss(self.loss, ("absolute", "squared")), of=as_of(self.of, unit))
        most = MOST_UNITS if unit.at_most is None else unit.at_most
        if isinstance(self.among, bool) or not isinstance(self.among, int) or not 1 <= self.among <= most:
            opened = "" if unit.at_most is None else ", which the session was opened for"
            raise InvalidInput(
                f"among is {shown(self.among)}; give the public number of {self.of}, at least 1 and at most "
                f"{most}{opened}."
            )
        if not self.where:
            raise InvalidInput("a share needs a condition, such as s.share('age >= 65', among=20_000, privacy=0.5).")
        if self.terms.neighbours == "add-remove":
            raise InvalidInput(
                "where rows come or go, how many there are is private, and a share of a public number is not defined; "
                "open the session with neighbours='replace', or ask for s.counts([...])."
            )
        if self.rows_each > 1:
            raise InvalidInput("a person has several rows here; ask for the share of people: of='people'.")

    @property
    def step(self) -> Fraction:
        return Fraction(1, self.among)

    @property
    def names(self) -> tuple[str, ...]:
        return ("count",)

    @property
    def words(self) -> str:
        return f"Which share of {self.among} {self.of} has {self.where}?"

    @property
    def public(self) -> dict[str, Any]:
        asked = {"question": self.name, "where": self.where.text, "among": self.among, "of": self.of}
        return {**asked, "loss": self.loss, "prior": "uniform"}

    @property
    def space(self) -> Line:
        return Line(0, self.among, 1)

    def design(self) -> Solution:
        from utmost.theory.scalar.design.line import best_on_line

        return best_on_line(self.space, self.privacy, self.loss, None, unbiased=True)

    def statement(self, source: Source, secret: bytes) -> Statement:
        return statement(source, self.bounded_unit, 1, {"count": ones(source, self.where.given)}, secret)

    def point(self, found: Mapping[str, int]) -> int:
        return self.space.clamp(found["count"])

    def released(self, drawn: Any) -> dict[str, Any]:
        return {"count": int(drawn), "blur": uniform_integer(BITS)}

    def value(self, released: Mapping[str, Any]) -> float:
        return self.noisy(released).share

    @property
    def condition(self) -> str:
        return f"if the table has {self.among:,} {self.of}"

    def near_limit(self, released: Mapping[str, Any], after: After) -> bool:
        return False  # how many there are is public

    def before(self) -> Before:
        return Before(self.loss, self.average, self.average, holds="the same for every table")

    def after(self, released: Mapping[str, Any]) -> After:
        found = self._within(released)["count"]
        low, high = (min(max(float(end), 0.0), 1.0) for end in found)
        return After({self.name: (low, high)}, given=f"{BY_LAW}; of the rows of the table, not of a population")

    def alternatives(self, losses: tuple[str, ...]) -> dict[str, dict[str, float]]:
        from utmost.queries.questions.numbers import noise_alternatives

        return noise_alternatives(Lattice(1, "any", 1, 0, self.among), self.privacy, losses)

    def compared(self) -> dict[str, dict[str, float]]:
        losses = tuple(loss for loss in shown_with(self.loss) if loss in ("absolute", "squared"))
        ours = {each: self.solution.mechanism.expected(each) for each in losses}
        laws = {"Utmost": ours, **self.alternatives(losses)}
        return {
            name: {loss: scaled(loss, value, float(self.step)) for loss, value in by.items()}
            for name, by in laws.items()
        }

    def noisy(self, released: Mapping[str, Any]) -> NoisyShare:
        """The noisy count with the law of its noise: estimate, p-values, intervals."""
        from utmost.theory.binary.design.share_test import NoisyShare

        count, blur = released["count"], released["blur"]
        if type(count) is not int or type(blur) is not int or not 0 <= blur < 2**BITS:  # they may come from a report
            raise InvalidInput("what was released is a whole number and one of 53 bits.")
        return NoisyShare(self.among, self.privacy, count, blur / 2**BITS - 0.5, self.solution.mechanism.noise)

    def test(
        self, released: Mapping[str, Any], theta: AnyNumber, alternative: Any, confidence: AnyNumber
    ) -> ShareFinding:
        """The p-value of a share under the null hypothesis, and an interval of the population's."""
        seen = self.noisy(released)
        found = seen.p_value(theta, alternative)
        return ShareFinding(float(theta), alternative, found, seen.interval(confidence, alternative), float(confidence))


class AsksShare(Asks[Made]):
    """`share`, of a session or a plan."""

    def share(
        self,
        where: Condition,
        privacy: Privacy = None,
        *,
        among: int,
        of: Of = "rows",
        loss: str = "absolute",
        fresh: bool = False,
    ) -> Made:
        """Which share of the rows (or people) has a condition; `answer.test(theta)` tests a population's share with it.

        The answer is unbiased: the noisy count over the public number of rows, possibly below 0 or above 1.

        Parameters
        ----------
        where : condition
            What is counted, such as "age >= 65".
        privacy : level or number
            What this answer may spend, as for `count`. Tests and intervals made of it cost nothing more.
        among : int
            How many rows (or people) there are. It is public, since rows are replaced and none come or go; a session
            whose neighbours are "add-remove" has no shares.
        of : "rows" or "people"
            What is counted; of people with several rows, a person counts once if one of them has the condition.
        loss : "absolute" or "squared"
            What the noise is best for.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.interval` is about the rows of the table; `answer.test(theta)` about the population they are drawn
            from: a p-value that is exactly uniform if its share is theta, and a confidence interval.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 250})
        >>> s = um.Session(table, "survey", um.rows(at_most=1000), "replace", budget=1)
        >>> answer = s.share("age >= 65", among=1000, privacy=1)
        >>> found = answer.test(0.4)                                   # is it more than 40 % of the population?
        >>> found.p_value < 0.01 and found.interval[0] > 0.4
        True
        """
        return self.ask(
            Share(
                terms=self.terms,
                privacy=self.level(privacy),
                where=self.where(where),
                among=among,
                of=of,
                loss=loss,
            ),
            fresh,
        )
