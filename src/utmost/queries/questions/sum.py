"""The question: what does a column add up to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from utmost.errors import InvalidInput, shown
from utmost.exact import Number as AnyNumber
from utmost.exact import as_plain
from utmost.privacy import ApproxDP, Level, as_level
from utmost.queries.accuracy import After
from utmost.queries.arguments import Condition, Prior, Privacy
from utmost.queries.found_keys import Discover
from utmost.queries.keys import Keys
from utmost.queries.options import BY, COLUMN, GRID, LOWER, UNBIASED, UPPER, WHERE
from utmost.queries.questions.by import SumBy, require_nothing_else
from utmost.queries.questions.discovered import SumDiscovered
from utmost.queries.questions.numbers import Number, Parts, noise_alternatives, require_unbiased
from utmost.queries.questions.of_column import AddsValues
from utmost.queries.questions.question import Asks, Made, asking
from utmost.space.integers import Lattice
from utmost.space.line import Line

MOST_LISTED = 10_000
"""How many steps a range has at levels other than pure ones, whose noise on a line is a list of probabilities."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Sum(AddsValues, Number):
    """The sum of a column clamped to a range and rounded to a grid."""

    name = "sum"
    summary = "what a column adds up to"
    options: ClassVar = (COLUMN, LOWER, UPPER, GRID, WHERE, BY, UNBIASED)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.grid is None and self.rounded_values and self.loss not in ("absolute", "squared"):
            raise InvalidInput(
                f"loss is {shown(self.loss)}, which counts steps of the grid, and values are not whole numbers; give "
                "the grid that values are rounded to, such as grid=1."
            )

    @property
    def words(self) -> str:
        return asking(f"What does {self.column} add up to, {self.cut}", self.where, self.kept, self.told)

    @property
    def public(self) -> dict[str, Any]:
        return {"question": self.name, **self.asked_of, **self.judged_by}

    @property
    def most_steps(self) -> int:
        if pure_level(self.privacy):
            return super().most_steps
        return max(1, MOST_LISTED // self.rows_each)  # other noise on a line is listed

    @property
    def most_default_steps(self) -> int:
        return super().most_steps

    @property
    def space(self) -> Line:
        return self.line(self.steps.moves(self.terms.neighbours))


@dataclass(frozen=True, eq=False, kw_only=True)
class FineSum(AddsValues, Parts):
    """The same as a vector of one integer, whose noise is listed at no level: for values in very many steps.

    At levels other than pure ones, noise on a line is a list of probabilities, of at most so many steps (`MOST_LISTED`)
    that rounding would be larger than the noise.
    """

    name = "sum"
    summary = "what a column adds up to"
    options: ClassVar = Sum.options
    best_for: ClassVar[tuple[str, ...]] = ("absolute", "squared")

    @property
    def words(self) -> str:
        return asking(
            f"What does {self.column} add up to, {self.cut}", self.where, self.kept, ", as an unbiased number"
        )

    @property
    def public(self) -> dict[str, Any]:
        return {"question": self.name, **self.asked_of, **self.judged_by}

    @property
    def space(self) -> Lattice:
        line = self.line(self.steps.moves(self.terms.neighbours))
        return Lattice(1, "any", line.reach, line.first, line.last)

    def value(self, released: Mapping[str, Any]) -> Any:
        return as_plain(released[self.name] * self.step)

    def after(self, released: Mapping[str, Any]) -> After:
        return After(self._within(released), given=self.by_law)

    def alternatives(self, losses: tuple[str, ...]) -> dict[str, dict[str, float]]:
        return noise_alternatives(self.space, self.privacy, losses)


class AsksSum(Asks[Made]):
    """`sum`, of a session or a plan."""

    def sum(
        self,
        column: str,
        lower: AnyNumber,
        upper: AnyNumber,
        privacy: Privacy = None,
        *,
        grid: AnyNumber | None = None,
        where: Condition = None,
        loss: str = "absolute",
        prior: Prior = None,
        unbiased: bool = False,
        by: Keys | Discover | None = None,
        fresh: bool = False,
    ) -> Made:
        """The sum of a column, its values clamped to lower..upper and rounded to the grid; nulls take no part.

        Parameters
        ----------
        column : str
            A column of numbers, or of text that is read as numbers.
        lower, upper : numbers
            The public range of a value, multiples of the grid; what lies outside counts as the nearer end. It says how
            far one row can move the sum, and must not be read off the table.
        privacy : level or number
            What this answer may spend, as for `count`.
        grid : number, optional
            The step that values are rounded to, half up. The sum is a multiple of it. Without it whole numbers (a
            column of an integer type, whole bounds) are not rounded, and other values are rounded to a step so fine
            that rounding every row moves the answer by at most 1 % of its expected error, or as fine as 64-bit integers
            allow (groups of very many rows), and intervals contain what rounding can do. A coarser step that is named
            here counts: with `at_most`, interval and planned error contain half a step for each row that there may be;
            without it both are of the values rounded to the grid, and rounding itself moves the sum by at most half a
            step for each row.
        where : condition, optional
            Only rows with this condition take part.
        loss : "absolute", "squared", "zero-one" or such as "within 5"
            What the mechanism is best for; "within k" means within k *steps of the grid*.
        prior : sequence of probabilities, optional
            How likely each possible sum is, in increasing order. Uniform without it.
        unbiased : bool
            True gives the noisy sum itself, whose error has mean 0, instead of the best guess. Without `at_most`, and
            for values that are no whole numbers at levels other than pure ones, it is unbiased anyway.
        by : um.keys or um.discover, optional
            Answer once for every public key, or for every key that is shown, as for `count`; all groups together cost
            `privacy`.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"hours": [1, 5, 3, 0] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> s.plan.sum("hours", 0, 5, privacy=0.5).question.words
        'What does hours add up to, values cut to 0..5, as the best guess under a uniform prior?'
        """
        asked: dict[str, Any] = {"column": column, "lower": lower, "upper": upper, "grid": grid, "loss": loss}
        asked["whole"] = self.is_whole(column)
        if by is None and self._is_fine(privacy, asked, prior):
            require_unbiased(unbiased)
            return self.pose(FineSum, privacy, where, fresh, **asked)
        if by is None:
            return self.pose(Sum, privacy, where, fresh, prior=prior, unbiased=unbiased, **asked)
        require_nothing_else(prior, unbiased)
        kind = SumDiscovered if isinstance(by, Discover) else SumBy
        return self.pose(kind, privacy, where, fresh, by=by, **asked)

    def _is_fine(self, privacy: Privacy, asked: Mapping[str, Any], prior: Prior) -> bool:
        """Whether values have more steps than noise on a line is listed for."""
        level = self.level(privacy)
        pure = level is None or pure_level(as_level(level))
        plain = asked["grid"] is None and not asked["whole"] and prior is None
        return plain and not pure and not self.terms.unit.tiers and asked["loss"] in FineSum.best_for


def pure_level(level: Level) -> bool:
    """Whether a level is pure epsilon-DP."""
    return isinstance(level, ApproxDP) and level.delta == 0
