"""The question: how many people have more rows than take part, or how many rows are left out.

Of every person at most `rows_each` rows take part in an answer. That keeps one person's influence small, and leaves
rows out; how many people that touches, or how many rows, is itself a private number, and is released like any other.
"""

from __future__ import annotations

from utmost.release.aggregates import left_out as aggregates
from utmost.release.arguments import Condition, Privacy
from utmost.release.questions.aggregates import OneNumber
from utmost.release.questions.question import Asks, Made


class AsksLeftOut(Asks[Made]):
    """`left_out`, of a session or a plan."""

    def left_out(
        self,
        where: Condition = None,
        privacy: Privacy = None,
        *,
        up_to: int | None = None,
        loss: str = "absolute",
        unbiased: bool = False,
        fresh: bool = False,
    ) -> Made:
        """How many people have more rows with a condition than take part in an answer about them.

        Where the unit is `um.people(..., rows_each=k)`, at most k rows of every person take part. This says of how
        many people some rows are left out, so that a reader can judge whether an answer about rows means what it says.

        Parameters
        ----------
        where : condition, optional
            The condition of the answer in question; every row without it.
        privacy : level or number
            What this answer may spend, as for `count`: it is a spend of its own.
        up_to : int, optional
            Counts the rows that are left out instead of the people, of each person at most so many: somebody may have
            any number of rows, and the noise must hide all that are counted of one.
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
        >>> table = pyarrow.table({"who": [1] * 9 + [2, 3, 4], "late": [20] * 12})
        >>> s = um.Session(table, "flights", um.people("who", rows_each=3, at_most=10), "add-remove", budget=20)
        >>> s.left_out("late > 15", privacy=20).value
        1
        >>> s = um.Session(table, "flights", um.people("who", rows_each=3, at_most=10), "add-remove", budget=200)
        >>> s.left_out("late > 15", privacy=200, up_to=10).value  # nine of the first person, of which three take part
        6
        """
        aggregate = aggregates.LeftOut(unit=self.terms.unit, up_to=up_to)
        return self.pose(OneNumber, privacy, where, fresh, aggregate=aggregate, loss=loss, unbiased=unbiased)
