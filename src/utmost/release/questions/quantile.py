"""The question: where does a quantile of a column lie, such as its median.

Every value is first rounded to the nearest candidate, so the quantile is a candidate: the lowest c with at least q of
the n rows at or below it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact import Number
from utmost.privacy import Level
from utmost.release.accuracy import CONFIDENCE, After
from utmost.release.arguments import Condition, Of, Privacy, TallyPrior, listed, tally_prior, tally_prior_text
from utmost.release.cells import range_cells, tally_statement
from utmost.release.conditions import EVERY_ROW, Where
from utmost.release.contributions import ones
from utmost.release.keys import MOST_CELLS
from utmost.release.options import BY, CANDIDATES, COLUMN, OF, SHARE, WHERE
from utmost.release.questions.by import ONE_GROUP
from utmost.release.questions.choices import Candidate
from utmost.release.questions.choices_by import ChoiceBy
from utmost.release.questions.quantiles import Quantiles, as_candidates, as_share
from utmost.release.questions.question import Asks, Made, Terms, as_loss, as_of, asking
from utmost.release.source import Source, Statement, as_column

if TYPE_CHECKING:
    import pyarrow

    from utmost.design.rainbow.candidates import ChoiceFacts
    from utmost.solution import Solution

LOSSES = ("absolute", "zero-one", "rank")
NOTHING_RULED_OUT = (
    "at this level the name of one candidate rules out no other with 95 % at every table, so the interval is all of "
    "them: go by how many rows the named one may be off, or ask for a list of shares, such as [0.5]"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Quantile(Candidate):
    """Which candidate is the q-quantile of a column, its values rounded to the nearest candidate."""

    name = "quantile"
    summary = "the median or another quantile of a column"
    options: ClassVar = (COLUMN, SHARE, CANDIDATES, WHERE, BY, OF)

    q: Any
    loss: str = "absolute"
    where: Where = EVERY_ROW
    of: Of = "rows"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(column=as_column(self.column), q=as_share(self.q), candidates=as_candidates(self.candidates))
        self.settle(of=as_of(self.of, self.terms.unit), loss=as_loss(self.loss, LOSSES))
        self.settle(prior=tally_prior(self.prior, self.space))

    @property
    def cut(self) -> str:
        return "values rounded to the nearest candidate"

    @property
    def words(self) -> str:
        what = "median" if self.q == Fraction(1, 2) else f"{self.q} quantile"
        return asking(f"What is the {what} of {self.column}, {self.cut}", self.where, self.kept)

    @property
    def public(self) -> dict[str, Any]:
        asked: dict[str, Any] = {"column": self.column, "q": str(self.q)}
        asked |= {"candidates": list(self.candidates), "where": self.where.text, "of": self.of}
        return {"question": self.name, **asked, "loss": self.loss, "prior": tally_prior_text(self.prior)}

    @property
    def posed(self) -> dict[str, Any]:
        return {**super().posed, "q": str(self.q), "candidates": list(self.candidates)}

    def design(self) -> Solution:
        from utmost.design.rainbow import best_quantile

        return best_quantile(self.space, self.q, self.candidates, self.privacy, cast(Any, self.loss), self.prior)

    def after(self, released: Any) -> After:
        from utmost.design.rainbow import choice_facts

        facts, place = choice_facts(self.solution), released["place"]
        ends = {self.name: self._between(facts.sure(place, CONFIDENCE))}
        return replace(super().after(released), intervals=ends, likely=self._between(facts.interval(place)))

    @property
    def notes(self) -> tuple[str, ...]:
        return super().notes + ((NOTHING_RULED_OUT,) if self._says_nothing else ())

    @property
    def _says_nothing(self) -> bool:
        """Whether any candidate may be the quantile, whichever is named."""
        from utmost.design.rainbow import choice_facts

        last = len(self.candidates) - 1
        facts = choice_facts(self.solution)
        return all(facts.sure(place, CONFIDENCE) == (0, last) for place in range(last + 1))

    def _between(self, places: tuple[int, int]) -> tuple[Any, Any]:
        low, high = places
        return self.candidates[low], self.candidates[high]

    def statement(self, source: Source, secret: bytes) -> Statement:
        cells = range_cells(source, self.column, [float(x) for x in self.candidates])
        return tally_statement(source, self.terms.unit, self.rows_each, cells, self.where.given, secret)


@dataclass(frozen=True, eq=False, kw_only=True)
class QuantileBy(ChoiceBy):
    """Which candidate is the q-quantile of a column in each group."""

    name = "quantile"
    summary = "the median or another quantile of a column in each group"

    column: str
    q: Any
    candidates: Any
    loss: str = "absolute"
    of: Of = "rows"

    def __post_init__(self) -> None:
        self.settle(of=as_of(self.of, self.terms.unit))
        super().__post_init__()
        made = self.of_one_group()
        self.settle(column=made.column, q=made.q, candidates=made.candidates)
        if self.by.size * len(self.candidates) > MOST_CELLS:
            raise InvalidInput(
                f"{self.by.size:,} keys with {len(self.candidates):,} candidates each are more than {MOST_CELLS:,} "
                "cells, the most that are counted at once; list fewer keys, or fewer candidates."
            )

    def made(self, terms: Terms, level: Level) -> Quantile:
        asked = {"column": self.column, "q": self.q, "candidates": self.candidates, "where": self.where}
        return Quantile(terms=terms, privacy=level, loss=self.loss, prior=self.prior, **asked)

    @property
    def cut(self) -> str:
        return str(self.of_one_group().cut)

    @property
    def public(self) -> dict[str, Any]:
        return {**super().public, "of": self.of}

    @property
    def notes(self) -> tuple[str, ...]:
        return super().notes + (ONE_GROUP if self.of == "people" and self.terms.unit.rows_each > 1 else ())

    def grouped(self, source: Source) -> dict[str, Any]:
        cells = range_cells(source, self.column, [float(x) for x in self.candidates])
        return {"contributions": {"rows": ones(source, self.where.given)}, "within": cells}

    def point(self, found: Mapping[str, Any]) -> Any:
        return np.clip(found["rows"], 0, self.most_rows).reshape(self.by.size, len(self.candidates))

    def released(self, drawn: Any) -> dict[str, Any]:
        return {"place": [int(each) for each in drawn]}

    def values_of(self, released: Mapping[str, Any]) -> list[Any]:
        return [self.candidates[place] for place in self._places(released)]

    def after(self, released: Mapping[str, Any]) -> After:
        chances = [self._right[place] for place in set(self._places(released))]
        given = f"{self.one.after({'place': 0}).given}, of the group where that is least"
        known = [chance for chance in chances if chance is not None]
        least = min(known) if len(known) == len(chances) else None
        ends = dict(zip(self.by.labels, self._ends(self._places(released)), strict=True))
        return After(ends, probability_right=least, given=given, rows_within=self._facts.within(CONFIDENCE))

    def table(self, released: Mapping[str, Any]) -> pyarrow.Table:
        """The keys, and for each the answer, how likely it is right (null where that is not known) and its interval."""
        import pyarrow

        places = self._places(released)
        lower, upper = zip(*self._ends(places), strict=True)
        found = self.by.table.append_column("value", pyarrow.array([self.candidates[place] for place in places]))
        right = pyarrow.array([self._right[place] for place in places], pyarrow.float64())
        for name, column in (("right", right), ("lower", pyarrow.array(lower)), ("upper", pyarrow.array(upper))):
            found = found.append_column(name, column)
        return found

    def _ends(self, places: list[int]) -> list[tuple[Any, Any]]:
        """For each group, between which candidates its quantile lies, whatever the table holds."""
        every = [self._facts.sure(place, CONFIDENCE) for place in range(len(self.candidates))]
        return [(self.candidates[every[place][0]], self.candidates[every[place][1]]) for place in places]

    @property
    def _facts(self) -> ChoiceFacts:
        from utmost.design.rainbow import choice_facts

        return choice_facts(self.solution)

    @cached_property
    def _right(self) -> list[float | None]:
        """For each candidate, how likely it is right if it is named; None where that is not known."""
        found = (self._facts.right(place) for place in range(len(self.candidates)))
        return [None if chance is None else chance.value for chance in found]

    def _places(self, released: Mapping[str, Any]) -> list[int]:
        found = self._listed(released, "place", int)
        if not all(0 <= place < len(self.candidates) for place in found):
            raise InvalidInput(f"a released place is none of the {len(self.candidates)} candidates.")
        return found


class AsksQuantile(Asks[Made]):
    """`quantile`, of a session or a plan."""

    def quantile(
        self,
        column: str,
        q: Number | Sequence[Number],
        candidates: Any,
        privacy: Privacy = None,
        *,
        where: Condition = None,
        of: Of = "rows",
        loss: str = "absolute",
        prior: TallyPrior = None,
        by: Any = None,
        fresh: bool = False,
    ) -> Made:
        """Which candidate is the q-quantile of a column (q = 0.5: the median), values rounded to the nearest candidate.

        Parameters
        ----------
        column : str
            A column of numbers, or of text that is read as numbers.
        q : number, or list of numbers
            A share between 0 and 1: the quantile has at least this share of the rows at or below it. Of a list, all
            quantiles are read off one release of the rows nearest to each candidate, so that ten cost what one costs.
        candidates : sequence of numbers
            2 to 200 public numbers in increasing order, such as ``range(0, 101, 5)``; the answer is one of them.
        privacy : level or number
            What this answer may spend, as for `count`.
        where : condition, optional
            Only rows with this condition take part.
        of : "rows" or "people"
            Whose values count: all kept rows, or one row of each person.
        loss : "absolute", "zero-one" or "rank"
            How far the named value is from the quantile; whether it is it; how many rows it is off. Of several
            quantiles the accuracy is stated in rows, and loss is left out.
        prior : {tally: probability}, optional
            A tally is the rows at each candidate; uniform over all tallies without it.
        by : um.keys, optional
            Answer once for every public key, as for `majority`; keys times candidates are at most a million.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is a candidate, and `answer.interval` holds the quantile with 95 % whatever the table holds.
            Below epsilon = 2.94 it is all candidates, since it must hold for every table: where half of the rows lie at
            either end, one row moves the median from one end to the other, and the name of one end says little
            against the other. Two other things are known then. `answer.after.rows_within`: whatever the table holds,
            with 95 % the candidate is fewer rows than this from being the quantile. `answer.after.likely`: between
            which candidates it lies with 95 % given the prior. Of a list, such as ``[0.5]``, `answer.value` is
            {q: candidate}, and `answer.intervals` are narrower: more is released for them.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41, 44] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=150), "add-remove", budget=8)
        >>> s.quantile("age", 0.5, range(20, 81, 20), privacy=8).value
        40
        >>> s = um.Session(table, "survey", um.rows(at_most=150), "add-remove", budget=8)
        >>> list(s.quantile("age", [0.1, 0.5, 0.9], range(20, 81, 20), privacy=1).value)
        [0.1, 0.5, 0.9]
        """
        if not isinstance(q, str | bytes) and hasattr(listed(q), "__len__"):
            return self._several(column, q, candidates, privacy, where, of, loss, prior, by, fresh)
        asked = {
            "terms": self.terms,
            "privacy": self.level(privacy),
            "column": column,
            "q": q,
            "candidates": candidates,
            "where": self.where(where),
            "of": of,
            "loss": loss,
            "prior": prior,
        }
        return self.ask(Quantile(**asked) if by is None else QuantileBy(by=by, **asked), fresh)

    def _several(
        self,
        column: str,
        shares: Any,
        candidates: Any,
        privacy: Privacy,
        where: Condition,
        of: Of,
        loss: str,
        prior: TallyPrior,
        by: Any,
        fresh: bool,
    ) -> Made:
        if prior is not None or by is not None or loss != "absolute":
            raise InvalidInput(
                "several quantiles are read off noisy counts: prior, by and loss are for one of them. Leave these out, "
                "or ask for one quantile at a time."
            )
        asked = Quantiles(
            terms=self.terms,
            privacy=self.level(privacy),
            column=column,
            shares=shares,
            candidates=candidates,
            where=self.where(where),
            of=of,
        )
        return self.ask(asked, fresh)
