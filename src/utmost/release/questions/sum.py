"""The question: what does a column add up to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from utmost.exact import Number as AnyNumber
from utmost.release.arguments import Condition, Prior, Privacy, as_loss, line_prior
from utmost.release.contributions import statement, values
from utmost.release.discover import Discover
from utmost.release.keys import Keys
from utmost.release.options import BY, COLUMN, GRID, LOWER, UNBIASED, UPPER, WHERE
from utmost.release.questions.by import SumBy, require_nothing_else
from utmost.release.questions.discovered import SumDiscovered
from utmost.release.questions.numbers import Number, prior_text, require_unbiased
from utmost.release.questions.of_column import OfColumn
from utmost.release.questions.question import Asks, Made, asking
from utmost.release.source import Source, Statement
from utmost.space.integers import Line

if TYPE_CHECKING:
    from utmost.solution import Solution


@dataclass(frozen=True, eq=False, kw_only=True)
class Sum(OfColumn, Number):
    """The sum of a column clamped to a range and rounded to a grid."""

    name = "sum"
    summary = "what a column adds up to"
    options: ClassVar = (COLUMN, LOWER, UPPER, GRID, WHERE, BY, UNBIASED)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(loss=as_loss(self.loss))
        self.settle(prior=line_prior(self.space, self.prior), unbiased=require_unbiased(self.unbiased))

    @property
    def words(self) -> str:
        return asking(f"What does {self.column} add up to, {self.cut}", self.where, self.kept, self.told)

    @property
    def public(self) -> dict[str, Any]:
        return {
            "question": self.name,
            **self.asked_of,
            "loss": self.loss,
            "prior": prior_text(self.prior),
            "unbiased": self.unbiased,
        }

    @property
    def space(self) -> Line:
        first, last = (self.most_rows * end for end in (min(self.steps.least, 0), max(self.steps.most, 0)))
        return Line(first, last, min(self.steps.moves(self.terms.neighbours) * self.rows_each, last - first))

    def design(self) -> Solution:
        from utmost.design.noise.line import best_on_line

        return best_on_line(self.space, self.privacy, self.loss, self.prior, self.unbiased)

    def statement(self, source: Source, secret: bytes) -> Statement:
        rows = {self.name: values(source, self.column, self.steps, self.where.given)}
        return statement(source, self.terms.unit, self.rows_each, rows, secret)


class AsksSum(Asks[Made]):
    """`sum`, of a session or a plan."""

    def sum(
        self,
        column: str,
        lower: AnyNumber,
        upper: AnyNumber,
        privacy: Privacy = None,
        *,
        grid: AnyNumber = 1,
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
        grid : number
            The step that values are rounded to, half up. The sum is a multiple of it.
        where : condition, optional
            Only rows with this condition take part.
        loss : "absolute", "squared", "zero-one" or such as "within 5"
            What the mechanism is best for; "within k" means within k *steps of the grid*.
        prior : sequence of probabilities, optional
            How likely each possible sum is, in increasing order. Uniform without it.
        unbiased : bool
            True gives the noisy sum itself, whose error has mean 0, instead of the best guess.
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
        if by is not None:
            require_nothing_else(prior, unbiased)
            kind: Any = SumDiscovered if isinstance(by, Discover) else SumBy
            return self.ask(
                kind(
                    terms=self.terms,
                    privacy=self.level(privacy),
                    by=by,
                    column=column,
                    lower=lower,
                    upper=upper,
                    grid=grid,
                    where=self.where(where),
                    loss=loss,
                ),
                fresh,
            )
        return self.ask(
            Sum(
                terms=self.terms,
                privacy=self.level(privacy),
                column=column,
                lower=lower,
                upper=upper,
                grid=grid,
                where=self.where(where),
                loss=loss,
                prior=prior,
                unbiased=unbiased,
            ),
            fresh,
        )
