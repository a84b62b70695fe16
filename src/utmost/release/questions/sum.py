"""The question: what does a column add up to."""

from __future__ import annotations

from utmost.exact import Number as AnyNumber
from utmost.privacy import as_level
from utmost.release.aggregates import sum as aggregates
from utmost.release.aggregates.aggregate import OF_RATIOS
from utmost.release.aggregates.clamping import ClampedColumn
from utmost.release.arguments import Condition, Prior, Privacy
from utmost.release.discover import Discover
from utmost.release.keys import Keys
from utmost.release.questions.aggregates import OneNumber, SeveralSums, is_pure, require_nothing_else
from utmost.release.questions.numbers import require_unbiased
from utmost.release.questions.numeric import grouped_by
from utmost.release.questions.question import Asks, Made


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
        whole = self.is_whole(column)
        aggregate = aggregates.Sum(
            values=ClampedColumn(column=column, lower=lower, upper=upper, grid=grid, whole=whole)
        )
        if by is not None:
            require_nothing_else(prior, unbiased)
            return self.pose(grouped_by(by), privacy, where, fresh, by=by, aggregate=aggregate, loss=loss)
        level = self.level(privacy)
        is_listed = level is not None and not is_pure(as_level(level))  # noise on a line: for few steps only
        if is_listed and grid is None and not whole and prior is None and loss in OF_RATIOS:
            require_unbiased(unbiased)
            return self.pose(SeveralSums, privacy, where, fresh, aggregate=aggregate, loss=loss)
        return self.pose(
            OneNumber, privacy, where, fresh, aggregate=aggregate, loss=loss, prior=prior, unbiased=unbiased
        )
