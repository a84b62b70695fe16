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

from utmost.backends.source import Source, Statement, as_column
from utmost.errors import InvalidInput
from utmost.exact import Number
from utmost.privacy import Level
from utmost.queries.accuracy import CONFIDENCE, After
from utmost.queries.arguments import Condition, Of, Privacy, TallyPrior, listed, tally_prior, tally_prior_text
from utmost.queries.candidates import as_candidates as listed_candidates
from utmost.queries.cells import range_cells, tally_statement
from utmost.queries.contributions import ones
from utmost.queries.keys import MOST_CELLS
from utmost.queries.options import BY, CANDIDATES, COLUMN, GRID, LOWER, OF, SHARE, UPPER, WHERE
from utmost.queries.predicate import EVERY_ROW, Where
from utmost.queries.questions.choices import Candidate
from utmost.queries.questions.choices_by import ChoiceBy
from utmost.queries.questions.quantiles import MOST_CANDIDATES, Quantiles, as_candidates, as_share
from utmost.queries.questions.question import Asks, Made, Terms, as_loss, as_of, asking
from utmost.queries.questions.ranked import Ranked, RankedBy

if TYPE_CHECKING:
    import pyarrow

    from utmost.solution import Solution
    from utmost.theory.selection.design.candidates import ChoiceFacts

LOSSES = ("absolute", "zero-one", "rank")
NOTHING_RULED_OUT = (
    "at this level the name of one candidate rules out no other with 95 % at every table, so the interval is all of "
    "them: go by how many rows the named one may be off, or give lower and upper in place of candidates"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Quantile(Candidate):
    """Which candidate is the q-quantile of a column, its values rounded to the nearest candidate."""

    name = "quantile"
    summary = "the median or another quantile of a column"
    by_one_row: ClassVar = True
    options: ClassVar = (
        *(COLUMN, SHARE, replace(CANDIDATES, required=False), replace(LOWER, required=False)),
        *(
            replace(UPPER, required=False),
            replace(GRID, help="The step of candidates; fine without it."),
            WHERE,
            BY,
            OF,
        ),
    )

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
    def one_row_words(self) -> str:
        return "of one row of each person chosen at random"

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
        return listed_candidates(self.candidates).between(*places, whole=False)

    def statement(self, source: Source, secret: bytes) -> Statement:
        cells = range_cells(source, self.column, [float(x) for x in self.candidates])
        return tally_statement(source, self.bounded_unit, self.rows_each, cells, self.where.given, secret)


@dataclass(frozen=True, eq=False, kw_only=True)
class QuantileBy(ChoiceBy):
    """Which candidate is the q-quantile of a column in each group."""

    name = "quantile"
    summary = "the median or another quantile of a column in each group"
    by_one_row: ClassVar = True

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
    def one_row_words(self) -> str:
        return "of one row of each person chosen at random"

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
        known = [chance for chance in chances if chance is not None]
        least = min(known) if len(known) == len(chances) else None
        ends = dict(zip(self.by.labels, self._ends(self._places(released)), strict=True))
        return After(ends, probability_right=least, given=self.given, rows_within=self._facts.within(CONFIDENCE))

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
        """For each group, between which candidates its quantile lies, for every table."""
        grid = listed_candidates(self.candidates)
        return [grid.between(*self._facts.sure(place, CONFIDENCE), whole=False) for place in places]

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
        candidates: Any = None,
        privacy: Privacy = None,
        *,
        lower: Number | None = None,
        upper: Number | None = None,
        grid: Number | None = None,
        where: Condition = None,
        of: Of = "rows",
        loss: str | None = None,
        prior: TallyPrior = None,
        by: Any = None,
        fresh: bool = False,
    ) -> Made:
        """The q-quantile of a column (q = 0.5: the median), or several, between public bounds.

        The q-quantile is the least value with at least a share q of the rows at or below it, of the column clamped to
        the bounds: NumPy's ``quantile(..., method="inverted_cdf")``. Rows without a value take no part; if no row has
        one there is no quantile, and the answer means nothing.

        Parameters
        ----------
        column : str
            A column of numbers, or of text that is read as numbers.
        q : number, or list of numbers
            A share between 0 and 1, or up to 100 of them.
        candidates : sequence of numbers, optional
            Public numbers in increasing order, such as ``range(0, 101, 5)``, in place of `lower` and `upper`; the
            answer is one of them. Up to 200 may be any numbers; more are as a grid, at equal distances, up to a million
            (or any numbers, up to 1000).
        privacy : level or number
            What this answer may spend, as for `count`; all quantiles of a list together.
        lower, upper : number
            Public bounds that values are clamped to; never read off the table.
        grid : number, optional
            The step of the candidates between them. Without it, 1 for a column of whole numbers with whole bounds, else
            a round number so small that there are about 100,000 candidates.
        where : condition, optional
            Only rows with this condition take part.
        of : "rows" or "people"
            Whose values count: all kept rows, or one row of each person.
        loss : "absolute", "zero-one" or "rank", optional
            Without it the answer is off by few rows, and has an interval. With it, of one quantile among up to 200
            listed candidates, a candidate is named by the best choice for this loss: how far the named value is from
            the quantile; whether it is it; how many rows it is off. Nothing but the name is released then.
        prior : {tally: probability}, optional
            Of one quantile among listed candidates, with a loss; a tally is the rows at each, and all are alike
            without it.
        by : um.keys, optional
            Answer once for every public key, as for `majority`; keys times candidates are at most a million.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is a number, of a list {q: number}. `answer.interval` (`answer.intervals`) holds the quantile
            of the clamped column with 95 % at every table, in the unit of the column: the distance of candidates is
            part of it. A plan says by how many rows values are expected to be off, and whether they are chosen one by
            one or read off a noisy CDF: whichever is off by less.

            With a loss the interval is all candidates below epsilon = 2.94, since nothing but a name is released;
            `answer.after.rows_within` says how many rows it may be off, and `answer.after.likely` where the quantile
            lies with 95 % given the prior.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41, 44] * 250})
        >>> s = um.Session(table, "survey", um.rows(at_most=1500), "add-remove", budget=8)
        >>> answer = s.quantile("age", 0.5, lower=0, upper=120, privacy=4)
        >>> answer.value, answer.interval
        (44, (44, 44))
        >>> list(s.quantile("age", [0.1, 0.5, 0.9], lower=0, upper=120, privacy=1).value)
        [0.1, 0.5, 0.9]
        >>> table = pyarrow.table({"age": [70, 25, 80, 41, 44] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=150), "add-remove", budget=8)
        >>> s.quantile("age", 0.5, range(20, 81, 20), privacy=8).value
        40
        >>> s = um.Session(table, "survey", um.rows(at_most=150), "add-remove", budget=8)
        >>> list(s.quantile("age", [0.1, 0.5, 0.9], range(20, 81, 20), privacy=1).value)
        [0.1, 0.5, 0.9]
        """
        several = not isinstance(q, str | bytes) and hasattr(listed(q), "__len__")
        many = len(listed(candidates)) if hasattr(listed(candidates), "__len__") else 0
        bounds = {"lower": lower, "upper": upper, "grid": grid}
        if prior is not None and loss is None:
            loss = "absolute"
        few = candidates is not None and many <= MOST_CANDIDATES
        chosen, counted = few and loss is not None and not several, few and several and by is None
        if not chosen and not counted:
            shares = q if several else [q]
            return self._ranked(
                column, shares, not several, candidates, bounds, privacy, where, of, loss, prior, by, fresh
            )
        if any(bound is not None for bound in bounds.values()):
            raise InvalidInput("candidates and lower, upper or grid are given; give the list, or bounds and a grid.")
        if counted:
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

    def _ranked(
        self,
        column: str,
        shares: Any,
        one: bool,
        candidates: Any,
        bounds: dict[str, Any],
        privacy: Privacy,
        where: Condition,
        of: Of,
        loss: str | None,
        prior: TallyPrior,
        by: Any,
        fresh: bool,
    ) -> Made:
        if prior is not None or loss not in (None, "rank"):
            raise InvalidInput(
                "quantiles between bounds are made for the fewest rows off: prior and loss are for one quantile among "
                "up to 200 listed candidates. Leave these out, or list candidates."
            )
        if candidates is not None and any(bound is not None for bound in bounds.values()):
            raise InvalidInput("candidates and lower, upper or grid are given; give the list, or bounds and a grid.")
        given = {
            "terms": self.terms,
            "privacy": self.level(privacy),
            "column": column,
            "shares": shares,
            "candidates": candidates,
            "whole": self.is_whole(column),
            "one": one,
            "where": self.where(where),
            "of": of,
            **bounds,
        }
        return self.ask(Ranked(**given) if by is None else RankedBy(by=by, **given), fresh)

    def _several(
        self,
        column: str,
        shares: Any,
        candidates: Any,
        privacy: Privacy,
        where: Condition,
        of: Of,
        loss: str | None,
        prior: TallyPrior,
        by: Any,
        fresh: bool,
    ) -> Made:
        if prior is not None or by is not None or loss not in (None, "absolute"):
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
