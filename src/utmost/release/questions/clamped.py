"""The question: how many values are cut to a range.

A sum or mean cuts values to a public range. That bounds what one row can do, and changes the number; how many values it
touches is itself a private number, and is released like any other.
"""

from __future__ import annotations

from utmost.exact import Number as AnyNumber
from utmost.release.aggregates import clamped as aggregates
from utmost.release.arguments import Condition, Privacy
from utmost.release.questions.aggregates import OneNumber
from utmost.release.questions.question import Asks, Made


class AsksClamped(Asks[Made]):
    """`clamped`, of a session or a plan."""

    def clamped(
        self,
        column: str,
        lower: AnyNumber,
        upper: AnyNumber,
        privacy: Privacy = None,
        *,
        where: Condition = None,
        loss: str = "absolute",
        unbiased: bool = False,
        fresh: bool = False,
    ) -> Made:
        """How many values of a column lie outside lower..upper, so that a sum or mean with this range cuts them.

        Parameters
        ----------
        column, lower, upper, where
            As of the sum or mean in question.
        privacy : level or number
            What this answer may spend, as for `count`: it is a spend of its own.
        loss : "absolute", "squared", "zero-one" or such as "within 5"
            What the mechanism is best for.
        unbiased : bool
            True gives the noisy number itself, whose error has mean 0, instead of the best guess.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"late": [20, 999, -5]})
        >>> s = um.Session(table, "flights", um.rows(at_most=9), "add-remove", budget=20)
        >>> s.clamped("late", 0, 180, privacy=20).value
        2
        """
        aggregate = aggregates.Clamped(column=column, lower=lower, upper=upper)
        return self.pose(OneNumber, privacy, where, fresh, aggregate=aggregate, loss=loss, unbiased=unbiased)
