"""Query: the share of rows, or people, that meet a condition, with tests and intervals for a population.

One unbiased noisy count is released, among a public number of rows (rows are replaced, so their number is public). With
it goes a uniform number, drawn independently of the data, which makes p-values continuous: they are exactly uniform
under the null hypothesis, and at pure levels the tests are the most powerful private ones (Awan and Slavković 2020).
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
from utmost.queries.accuracy import CONFIDENCE, After, Before
from utmost.queries.contributions import ones, statement
from utmost.queries.losses import as_loss, loss_in_unit, losses_in_unit, reported_losses
from utmost.queries.options import CONDITION, OF, Option, read_whole
from utmost.queries.questions.alternatives import noise_alternatives
from utmost.queries.questions.question import Question, as_of
from utmost.queries.units import MOST_UNITS
from utmost.space.integers import Lattice
from utmost.space.line import Line

if TYPE_CHECKING:
    from utmost.solution import Solution
    from utmost.theory.binary.design.share_test import NoisyShare

BITS = 53
"""The number of bits of the uniform number that makes p-values continuous."""
OF_SHARES = ("absolute", "squared")
"""The losses that the noise of a share can be designed for."""
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
    """Test and interval for the share in the population that the rows are a sample of. Returned by `answer.test`.

    Attributes
    ----------
    theta : float
        The population share under the null hypothesis.
    alternative : "greater", "less" or "two-sided"
        The alternative hypothesis.
    p_value : float
        The p-value; exactly uniform if the population share is theta.
    interval : pair of float
        Confidence interval of the population share.
    confidence : float
        The confidence of the interval.
    """

    theta: float
    alternative: str
    p_value: float
    interval: tuple[float, float]
    confidence: float

    def __str__(self) -> str:
        low, high = self.interval
        side = {"greater": "above", "less": "below"}.get(self.alternative, "other than")
        return (
            f"share {side} {self.theta:g}: p-value {self.p_value:.4g}; {self.confidence:.0%} interval of the share in "
            f"the population: {low:.4g} to {high:.4g}"
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Share(Question):
    """The share of a public number of rows, or people, that meet a condition: an unbiased noisy count over it."""

    name = "share"
    summary = "which share of the rows has a condition, with tests"
    options: ClassVar = (CONDITION, AMONG, OF)
    names: ClassVar[tuple[str, ...]] = ("count",)

    among: int

    def __post_init__(self) -> None:
        super().__post_init__()
        unit = self.terms.unit
        as_loss(self.loss)  # first against all losses
        self.set_fields(loss=as_loss(self.loss, OF_SHARES), of=as_of(self.of, unit))
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
                "with neighbours='add-remove' the number of rows is private, and a share of a public number is not "
                "defined; open the session with neighbours='replace', or ask for s.counts([...])."
            )
        if self.rows_each > 1:
            raise InvalidInput("a person has several rows here; ask for the share of people: of='people'.")

    @property
    def step(self) -> Fraction:
        """The share of one row."""
        return Fraction(1, self.among)

    @property
    def takes_any_noise(self) -> bool:
        return True

    @property
    def error_has_law(self) -> bool:
        return True

    @property
    def words(self) -> str:
        return f"Which share of {self.among} {self.of} has {self.where}?"

    @property
    def public(self) -> dict[str, Any]:
        parameters = {"question": self.name, "where": self.where.text, "among": self.among, "of": self.of}
        return {**parameters, "loss": self.loss, "prior": "uniform"}

    @property
    def space(self) -> Line:
        return Line(0, self.among, 1)

    def design(self) -> Solution:
        from utmost.theory.scalar.design.line import best_on_line

        return best_on_line(self.space, self.privacy, self.loss, None, unbiased=True)

    def statement(self, source: Source, secret: bytes) -> Statement:
        return statement(source, self.bounded_unit, 1, {"count": ones(source, self.where.text)}, secret)

    def point(self, engine_result: Mapping[str, int]) -> int:
        return self.space.clamp(engine_result["count"])

    def released(self, sample: Any) -> dict[str, Any]:
        return {"count": int(sample), "blur": uniform_integer(BITS)}

    def require_released(self, released: Mapping[str, Any]) -> None:
        if not all(type(value) is int for value in released.values()):
            raise InvalidInput("what is released are whole numbers.")

    def noisy(self, released: Mapping[str, Any]) -> NoisyShare:
        """The noisy count with the law of its noise, for estimates, p-values and intervals."""
        from utmost.theory.binary.design.share_test import NoisyShare

        count, blur = released["count"], released["blur"]
        if type(count) is not int or type(blur) is not int or not 0 <= blur < 2**BITS:  # they may come from a report
            raise InvalidInput("what was released is a whole number and one of 53 bits.")
        return NoisyShare(self.among, self.privacy, count, blur / 2**BITS - 0.5, self.solution.mechanism.noise)

    def value(self, released: Mapping[str, Any]) -> float:
        return self.noisy(released).share

    def test(
        self, released: Mapping[str, Any], theta: AnyNumber, alternative: Any, confidence: AnyNumber
    ) -> ShareFinding:
        """Test the null hypothesis that the population share is theta; also an interval for that share."""
        noisy = self.noisy(released)
        p_value, interval = noisy.p_value(theta, alternative), noisy.interval(confidence, alternative)
        return ShareFinding(float(theta), alternative, p_value, interval, float(confidence))

    @property
    def condition(self) -> str:
        return f"if the table has {self.among:,} {self.of}"

    @property
    def average(self) -> float:
        return loss_in_unit(self.loss, self.solution.value, float(self.step))

    def before(self) -> Before:
        return Before(self.loss, self.average, self.average, holds="the same for every table")

    def probability_off_by_more(self, error: Fraction) -> float:
        return 1.0 if error < 0 else float(self.solution.mechanism.expected(f"within {error // self.step}"))

    def after(self, released: Mapping[str, Any]) -> After:
        half_width, count = self.solution.mechanism.noise.half_width(CONFIDENCE), released["count"]
        low, high = (min(max(float(end * self.step), 0.0), 1.0) for end in (count - half_width, count + half_width))
        return After({self.name: (low, high)}, given="; of the rows of the table, not of a population", by_law=True)

    def expected_losses(self) -> dict[str, dict[str, float]]:
        losses = tuple(loss for loss in reported_losses(self.loss) if loss in OF_SHARES)
        ours = {loss: self.solution.mechanism.expected(loss) for loss in losses}
        alternatives = noise_alternatives(Lattice(1, "any", 1, 0, self.among), self.privacy, losses)
        compared = {"Utmost": ours, **alternatives}
        return {name: losses_in_unit(by_loss, self.step, losses) for name, by_loss in compared.items()}
