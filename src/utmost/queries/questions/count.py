"""The question: how many rows have a condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from utmost.queries.arguments import Condition, Of, Prior, Privacy
from utmost.queries.found_keys import Discover
from utmost.queries.keys import Keys
from utmost.queries.options import ANY_CONDITION, BY, OF, UNBIASED
from utmost.queries.questions.by import CountBy, require_nothing_else
from utmost.queries.questions.discovered import CountDiscovered
from utmost.queries.questions.numbers import AddsOnes, Number
from utmost.queries.questions.question import Asks, Made
from utmost.space.line import Line


@dataclass(frozen=True, eq=False, kw_only=True)
class Count(AddsOnes, Number):
    """How many rows, or people with such a row, there are of which a condition is true."""

    name = "count"
    summary = "how many rows have a condition (an empty one: all rows)"
    options: ClassVar = (ANY_CONDITION, BY, OF, UNBIASED)

    @property
    def words(self) -> str:
        return f"How many {self.of}{self.kept_within} {f'have {self.where}' if self.where else 'are there'}{self.told}?"

    @property
    def public(self) -> dict[str, Any]:
        return {"question": self.name, "where": self.where.text, "of": self.of, **self.judged_by}

    @property
    def space(self) -> Line:
        return self.line(1)


class AsksCount(Asks[Made]):
    """`count`, of a session or a plan."""

    def count(
        self,
        where: Condition = None,
        privacy: Privacy = None,
        *,
        of: Of = "rows",
        loss: str = "absolute",
        prior: Prior = None,
        unbiased: bool = False,
        by: Keys | Discover | None = None,
        fresh: bool = False,
    ) -> Made:
        """How many rows (or people with such a row) there are of which a condition is true.

        Parameters
        ----------
        where : SQL text, or function of the table such as lambda t: t.age >= 65, optional
            Which rows are counted, such as ``"age >= 65"``; rows of which it is unknown (null) are not. Every row
            without it.
        privacy : level or number
            What this answer may spend. A number is an epsilon: 0.5 means that no one's presence changes the
            probability of any answer by more than a factor e^0.5 = 1.65. `um.ApproxDP(1, 1e-6)`, `um.GaussianDP(1)` and
            `um.ZCDP(0.5)` are levels too.
        of : "rows" or "people"
            What is counted. People can be counted where the session's unit is `um.people(...)`: then every person
            with at least one such row counts once.
        loss : "absolute", "squared", "zero-one" or such as "within 5"
            What the mechanism is best for: the error, its square, being wrong at all, being off by more than 5.
        prior : sequence of probabilities, optional
            How likely each count 0, 1, ..., the most there can be, is thought to be beforehand. Uniform without it.
            The number shown is the best guess given this prior and the noisy count.
        unbiased : bool
            True gives the noisy count itself instead of the best guess: a whole number, possibly below 0, whose error
            has mean 0; right for numbers that are added up or compared later.
        by : um.keys or um.discover, optional
            Answer once for every public key, such as ``by=um.keys(town=["Ash", "Briar"])``. Groups are disjoint, so all
            of them together cost `privacy`; the answers are unbiased. Or for every key that the table has and the
            level lets be shown: ``by=um.discover("town")``; `privacy` needs a delta then.
        fresh : bool
            True draws again, and spends again, although the identical question was answered before; otherwise the
            recorded answer comes back and nothing is spent.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is the count, `answer.interval` holds the true one with 95 %. By keys `answer.value` is
            {key: count}, and `answer.table` an Arrow table with both ends of every interval.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> answer = s.count("age >= 65", privacy=0.5)
        >>> 0 <= answer.value <= 120, bool(answer.verify())
        (True, True)
        """
        if by is None:
            return self.pose(Count, privacy, where, fresh, of=of, loss=loss, prior=prior, unbiased=unbiased)
        require_nothing_else(prior, unbiased)
        kind = CountDiscovered if isinstance(by, Discover) else CountBy
        return self.pose(kind, privacy, where, fresh, by=by, of=of, loss=loss)
