"""The question: how many rows have each of several conditions, which may overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from utmost.errors import InvalidInput, shown
from utmost.release.arguments import Of, Privacy
from utmost.release.asked import Asks, Made
from utmost.release.conditions.where import Where, where_from_text
from utmost.release.contributions import ones, statement
from utmost.release.costs import as_loss
from utmost.release.options import CONDITIONS, OF
from utmost.release.plain import plain
from utmost.release.questions.numbers import Vector
from utmost.release.questions.question import as_of
from utmost.release.source import Source, Statement
from utmost.space.integers import Lattice, Moves

if TYPE_CHECKING:
    from utmost.solution import Solution

MOST_CONDITIONS = 100


@dataclass(frozen=True, eq=False, kw_only=True)
class Counts(Vector):
    """How many rows, or people, have each condition; one row may have all of them."""

    name = "counts"
    summary = "how many rows have each of several conditions"
    options: ClassVar = (CONDITIONS, OF)

    conditions: Mapping[str, Where]
    of: Of = "rows"

    def __post_init__(self) -> None:
        super().__post_init__()
        listed = {name: where_from_text(w) if isinstance(w, str) else w for name, w in dict(self.conditions).items()}
        if not 1 <= len(listed) <= MOST_CONDITIONS:
            raise InvalidInput(
                f"there are {len(listed)} conditions; give 1 to {MOST_CONDITIONS}: all of them share one level."
            )
        self.settle(conditions=listed, loss=as_loss(self.loss), of=as_of(self.of, self.terms.unit))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.conditions)

    @property
    def words(self) -> str:
        return f"How many {self.of}{self.kept} have each of: {'; '.join(map(str, self.conditions.values()))}?"

    @property
    def public(self) -> dict[str, Any]:
        texts = {name: where.text for name, where in self.conditions.items()}
        return {"question": self.name, "conditions": texts, "of": self.of, "loss": self.loss, "prior": "uniform"}

    @property
    def space(self) -> Lattice:
        moves: Moves = "one-way" if self.terms.neighbours == "add-remove" else "cube"
        return Lattice(len(self.conditions), moves, min(self.rows_each, self.most_rows), 0, self.most_rows)

    def design(self) -> Solution:
        from utmost.design.noise.vectors import best_vector

        return best_vector(self.space, self.privacy, self.loss)

    def statement(self, source: Source, secret: bytes) -> Statement:
        rows = {f"c{i}": ones(source, where.given) for i, where in enumerate(self.conditions.values())}
        return statement(source, self.terms.unit, self.rows_each, rows, secret)


class AsksCounts(Asks[Made]):
    """`counts`, of a session or a plan."""

    def counts(
        self,
        conditions: Mapping[str, Any] | Sequence[Any],
        privacy: Privacy = None,
        *,
        of: Of = "rows",
        loss: str = "absolute",
        fresh: bool = False,
    ) -> Made:
        """How many rows (or people) have each of several conditions, which may overlap; the answer is a dict.

        All counts together spend `privacy`: one vector of noise, made for what one row can do to all of them, is more
        accurate than asking each with its share. Counts are unbiased: noisy whole numbers, possibly below 0, whose
        errors have mean 0.

        Parameters
        ----------
        conditions : list of conditions, or mapping {name: condition}
            At most 100 of them; without names they are called by their own text.
        privacy : level or number
            What all counts together may spend, as for `count`.
        of : "rows" or "people"
            What is counted.
        loss : "absolute", "squared", "zero-one" or such as "within 5"
            What the mechanism is best for: the loss of one count, averaged over them.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is {name: count}.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> list(s.counts({"old": "age >= 65", "young": "age < 30"}, privacy=1).value)
        ['old', 'young']
        """
        asked = Counts(
            terms=self.terms, privacy=self.level(privacy), conditions=self._named(conditions), of=of, loss=loss
        )
        return self.ask(asked, fresh)

    def _named(self, conditions: Any) -> dict[str, Where]:
        """Conditions by name: as they are named, or by their own text."""
        mapping = isinstance(conditions, Mapping)
        if not mapping and (isinstance(conditions, str) or not isinstance(conditions, Sequence)):
            raise InvalidInput(
                f"conditions is {shown(conditions)}; list them, such as ['age >= 65', \"town = 'Briar'\"]."
            )
        wheres = list(conditions.values() if mapping else conditions)
        if any(where is None for where in wheres):
            raise InvalidInput(
                "a condition is None; name the rows it is about, or count all rows with session.count(None)."
            )
        built = [self.where(where) for where in wheres]
        names = [plain(name) for name in conditions] if mapping else [str(where) for where in built]
        if not all(isinstance(name, str) and name.strip() for name in names):
            raise InvalidInput("a condition's name is no text; name each by a text, such as {'old': 'age >= 65'}.")
        if len(set(names)) < len(names):
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise InvalidInput(f"{shown(twice)} is listed twice; list every condition once.")
        return dict(zip(names, built, strict=True))
