"""The question: which keys are there, that nobody listed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from utmost.queries.accuracy import After, Before
from utmost.queries.arguments import Condition, Privacy
from utmost.queries.found_keys import Discover, as_discover
from utmost.queries.keys import named
from utmost.queries.options import COLUMN, KEYS_EACH, WHERE
from utmost.queries.questions.discovered import TRUE_KEYS, USERS, Discovered, users_needed, written_key
from utmost.queries.questions.question import Asks, Made, asking
from utmost.queries.units import Unit


@dataclass(frozen=True, eq=False, kw_only=True)
class ShownKeys(Discovered):
    """Which keys there are: those that are shown."""

    name = "keys"
    summary = "which values a column has, found privately"
    options: ClassVar = (COLUMN, WHERE, KEYS_EACH)

    by: Discover

    @property
    def bounded_unit(self) -> Unit:
        return replace(self.terms.unit, truncate="question")  # keys are bounded, and no rows are counted

    @property
    def words(self) -> str:
        return asking(f"Which {named(self.by.columns)} are there{self._kept_keys}", self.where)

    @property
    def public(self) -> dict[str, Any]:
        return self._public()

    def value(self, released: Mapping[str, Any]) -> list[Any]:
        return self.keys(released).labels

    def plain_value(self, value: Any) -> Any:
        return [written_key(key) for key in value]

    def table(self, released: Mapping[str, Any]) -> Any:
        """The keys as an Arrow table."""
        return self.keys(released).table

    def before(self) -> Before:
        law = self.solution.mechanism.law
        return Before(USERS, law.mean_users, float(law.sure))

    def after(self, released: Mapping[str, Any]) -> After:
        return After(given=TRUE_KEYS)

    def compared(self) -> dict[str, dict[str, float]]:
        return users_needed(self)


class AsksKeys(Asks[Made]):
    """`keys`, of a session or a plan."""

    def keys(
        self,
        column: str | Sequence[str],
        privacy: Privacy = None,
        *,
        where: Condition = None,
        keys_each: int = 1,
        fresh: bool = False,
    ) -> Made:
        """Which values a column, or which combinations several columns have: as many as the level allows to show.

        A key that n rows (or people) have is shown with the greatest probability that any mechanism of this level shows
        it with: `plan.curve` has it for every n, before anything is read. A key that only one has is shown with
        probability delta.

        Parameters
        ----------
        column : str or list of str
            Whose values are the keys; rows with a null among them take no part.
        privacy : ApproxDP or ApproxGaussianDP
            What this answer may spend, such as ``um.ApproxDP(1, 1e-6)`` or ``um.ApproxGaussianDP(0.5, 1e-6)``. Without
            a delta no key could be shown.
        where : condition, optional
            Only rows with this condition take part.
        keys_each : int
            Of one person, so many keys take part at most, chosen by a keyed hash.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is the sorted list of the keys that are shown, of several columns as tuples; `answer.table`
            an Arrow table of them, which `um.keys` takes for further questions.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"dest": ["ORD"] * 60 + ["LAX"] * 50 + ["my own airfield"]})
        >>> s = um.Session(table, "flights", um.rows(at_most=1000), "add-remove", budget=um.ApproxDP(1, 1e-6))
        >>> s.keys("dest", um.ApproxDP(1, 1e-6)).value
        ['LAX', 'ORD']
        """
        by = as_discover(column, keys_each)
        asked = ShownKeys(terms=self.terms, privacy=self.level(privacy), by=by, where=self.where(where))
        return self.ask(asked, fresh)
