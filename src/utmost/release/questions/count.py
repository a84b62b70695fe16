"""The question: how many rows have a condition."""

from __future__ import annotations

from utmost.release.aggregates import count as aggregates
from utmost.release.arguments import Condition, Of, Prior, Privacy
from utmost.release.discover import Discover
from utmost.release.keys import Keys
from utmost.release.questions.aggregates import OneNumber, require_nothing_else
from utmost.release.questions.numeric import grouped_by
from utmost.release.questions.question import Asks, Made
from utmost.release.questions.tiered import TieredCount


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
        if self.terms.unit.tiers and by is None:
            return self.pose(TieredCount, privacy, where, fresh, of=of, loss=loss, prior=prior, unbiased=unbiased)
        aggregate = aggregates.Count(counted=of)
        if by is None:
            return self.pose(
                OneNumber, privacy, where, fresh, aggregate=aggregate, loss=loss, prior=prior, unbiased=unbiased
            )
        require_nothing_else(prior, unbiased)
        return self.pose(grouped_by(by), privacy, where, fresh, by=by, aggregate=aggregate, loss=loss)
