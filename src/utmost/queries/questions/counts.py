"""The question: how many rows have each of several conditions, which may overlap.

Where the conditions' own text shows that no row has two of them, or that they lie inside each other, the noise is made
for that: much less than overlapping counts need.

**People** count in every condition that one of their rows fulfils, whichever rows these are. So a person who comes or
goes moves every count by at most 1, any of them at once and all in one direction; one who is replaced moves each up,
down or not at all. Conditions that no row has two of are no exception: one row has the first, another the second. Where
a condition implies the next one, a person who has the first has the next, too: then each person is in one cell at
most, that of the innermost condition that a row of theirs fulfils.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput, shown
from utmost.queries.arguments import Of, Privacy, plain
from utmost.queries.cells import condition_cells, people_in_first_cell, tally_statement
from utmost.queries.contributions import ones, people_with_any, statement
from utmost.queries.options import CONDITIONS, OF
from utmost.queries.predicate import Where, where_from_text
from utmost.queries.predicate.relations import OVERLAPPING, Relation, relation
from utmost.queries.questions.nested import Chained
from utmost.queries.questions.numbers import TOTAL_NOTE
from utmost.queries.questions.question import Asks, Made, as_loss, as_of
from utmost.space.integers import Lattice

MOST_CONDITIONS = 100
DISJOINT = "no row has two of these conditions, as their text shows: the noise is that of a histogram"
COMPLETE = "every row has one of these conditions, so their sum, how many rows there are, is published with them"


@dataclass(frozen=True, eq=False, kw_only=True)
class Counts(Chained):
    """How many rows, or people, have each condition; one row may have all of them."""

    name = "counts"
    summary = "how many rows have each of several conditions"
    options: ClassVar = (CONDITIONS, OF)

    conditions: Mapping[str, Where]
    of: Of = "rows"
    one_row: bool = False
    """Of people: whether one row of each was used, as before version 0.3; a report may say so."""

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
        return f"How many {self.of}{self.kept_within} have each of: {'; '.join(map(str, self.conditions.values()))}?"

    @property
    def public(self) -> dict[str, Any]:
        texts = {name: where.text for name, where in self.conditions.items()}
        asked = {"question": self.name, "conditions": texts, "of": self.of, "loss": self.loss, "prior": "uniform"}
        return {**asked, **({"one_row": False} if self.by_any_row else {}), **self.noisy_total}

    @property
    def by_any_row(self) -> bool:
        """Whether people count in every condition that a row of theirs fulfils."""
        return self.of_people and not self.one_row

    @property
    def of_one_row(self) -> bool:
        return self.of_people and self.one_row

    @cached_property
    def relation(self) -> Relation:
        """How the conditions lie to each other, from their text: of rows, or of people, who have several rows."""
        texts = [where.text for where in self.conditions.values() if where.text is not None]
        found = relation(texts) if len(texts) > 1 else OVERLAPPING
        return OVERLAPPING if self.by_any_row and found.kind == "disjoint" else found

    @property
    def chain(self) -> tuple[str, ...]:
        return tuple(self.names[place] for place in self.relation.chain)

    @property
    def flat(self) -> Lattice:
        disjoint, replaced = self.between, self.terms.neighbours == "replace"
        if self.relation.kind == "disjoint":
            return replace(disjoint, moves="sum-zero") if self.same_total else disjoint
        return replace(disjoint, moves="cube" if replaced else "one-way")

    @property
    def notes(self) -> tuple[str, ...]:
        if self.relation.kind != "disjoint":
            return super().notes
        if self.noisy_total:
            return (DISJOINT, TOTAL_NOTE)
        return (DISJOINT, COMPLETE) if self.same_total else (DISJOINT,)

    @property
    def holds_every_row(self) -> bool:
        return self.relation.complete

    def statement(self, source: Source, secret: bytes) -> Statement:
        if self.relation.kind == "overlapping":
            rows = {f"c{i}": ones(source, where.given) for i, where in enumerate(self.conditions.values())}
            if self.by_any_row:
                return people_with_any(source, self.bounded_unit, rows)
            return statement(source, self.bounded_unit, self.rows_each, rows, secret)
        wheres = [self.conditions[name].given for name in self.chain or self.names]
        cells = condition_cells(source, wheres, self.same_total)
        if self.by_any_row:
            return people_in_first_cell(source, self.bounded_unit, cells)
        return tally_statement(source, self.bounded_unit, self.rows_each, cells, None, secret)


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

        Conditions in SQL that compare one column with literals are recognised, from their text alone, if no row can
        have two of them (`age < 20`, `age >= 65`) or if they lie inside each other (`age >= 20`, `age >= 65`). Then
        less noise is needed: that of a histogram, or noise on the cells between them, which are added up.

        Parameters
        ----------
        conditions : list of conditions, or mapping {name: condition}
            At most 100 of them; without names they are called by their own text.
        privacy : level or number
            What all counts together may spend, as for `count`.
        of : "rows" or "people"
            What is counted. A person counts in every condition that one of their rows fulfils, as in `count`; so people
            may have several conditions that exclude each other for a row.
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
        >>> list(s.counts({"grown": "age >= 18", "old": "age >= 65"}, privacy=1).value)
        ['grown', 'old']
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
        texts = (
            where.strip() if isinstance(where, str) else str(one) for where, one in zip(wheres, built, strict=True)
        )
        names = [plain(name) for name in conditions] if mapping else list(texts)
        if not all(isinstance(name, str) and name.strip() for name in names):
            raise InvalidInput("a condition's name is no text; name each by a text, such as {'old': 'age >= 65'}.")
        if len(set(names)) < len(names):
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise InvalidInput(f"{shown(twice)} is listed twice; list every condition once.")
        return dict(zip(names, built, strict=True))
