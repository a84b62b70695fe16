"""Query: a quantile of a column, such as its median.

Every value is first rounded to the nearest candidate, so the quantile is a candidate: the lowest c with at least a
share q of the rows at or below it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

from utmost.backends.source import Source, as_column
from utmost.errors import InvalidInput
from utmost.queries.accuracy import CONFIDENCE
from utmost.queries.arguments import Of, TallyPrior, listed, tally_prior, tally_prior_text
from utmost.queries.candidates import as_candidates
from utmost.queries.cells import Cells, range_cells
from utmost.queries.keys import MOST_CELLS, Keys
from utmost.queries.losses import as_loss
from utmost.queries.options import BY, CANDIDATES, COLUMN, GRID, LOWER, OF, SHARE, UPPER, WHERE
from utmost.queries.predicate import Where
from utmost.queries.questions.choices import Choice
from utmost.queries.questions.named_candidates import NamedCandidate, Tally
from utmost.queries.questions.quantiles import MOST_CANDIDATES, Quantiles, as_listed_candidates, as_share
from utmost.queries.questions.question import Question, Terms, as_of
from utmost.queries.questions.ranked import Ranked
from utmost.queries.questions.selection import Confidence
from utmost.queries.report.words import question_in_words

if TYPE_CHECKING:
    from utmost.solution import Solution

LOSSES = ("absolute", "zero-one", "rank")
BOTH_GIVEN = "candidates and lower, upper or grid are given; give the list, or bounds and a grid."
NOTHING_RULED_OUT = (
    "at this level the name of one candidate rules out no other with 95 % at every table, so the interval is all of "
    "them: go by how many rows the named one may be off, or give lower and upper in place of candidates"
)


@dataclass(frozen=True, eq=False)
class NamedQuantile(NamedCandidate):
    """The candidate that is a quantile of values, each rounded to the nearest candidate.

    Attributes
    ----------
    q : Fraction
        The order of the quantile: the share of rows at or below it.
    """

    q: Fraction

    @property
    def problem_data(self) -> dict[str, Any]:
        return {**super().problem_data, "q": str(self.q), "candidates": list(self.labels)}

    def design(self) -> Solution:
        from utmost.design.rainbow import best_quantile

        return best_quantile(self.space, self.q, self.labels, self.privacy, cast(Any, self.loss), self.prior)

    def confidence(self, solution: Solution, answer: int) -> Confidence:
        ends = self._between(self.facts(solution).sure(answer, CONFIDENCE))
        return replace(super().confidence(solution, answer), ends=(ends,))

    def credible_interval(self, solution: Solution, answer: int) -> tuple[Any, Any]:
        return self._between(self.facts(solution).interval(answer))

    def _between(self, places: tuple[int, int]) -> tuple[Any, Any]:
        return as_candidates(self.labels).between(*places, whole=False)

    def notes(self, solution: Solution) -> tuple[str, ...]:
        facts, last = self.facts(solution), len(self.labels) - 1
        none_ruled_out = all(facts.sure(place, CONFIDENCE) == (0, last) for place in range(last + 1))
        return (NOTHING_RULED_OUT,) if none_ruled_out else ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Quantile(Choice):
    """Which candidate is the q-quantile of a column, its values rounded to the nearest candidate.

    Attributes
    ----------
    column : str
        The column.
    q : Fraction
        The order of the quantile: the share of rows at or below it.
    candidates : tuple of numbers
        The candidates, in increasing order.
    of : "rows" or "people"
        Whose values count.
    loss : "absolute", "zero-one" or "rank"
        The loss that the mechanism is designed for.
    prior : dict or None
        The probability of each tally; None is uniform.
    """

    name = "quantile"
    summary = "the median or another quantile of a column"
    people_by_one_row: ClassVar = True
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

    column: str
    q: Any
    candidates: Any
    of: Of = "rows"
    loss: str = "absolute"
    prior: Any = None

    def __post_init__(self) -> None:
        self.set_fields(of=as_of(self.of, self.terms.unit))  # first: the contribution bound depends on it
        super().__post_init__()
        self.set_fields(
            column=as_column(self.column), q=as_share(self.q), candidates=as_listed_candidates(self.candidates)
        )
        self.set_fields(loss=as_loss(self.loss, LOSSES), prior=tally_prior(self.prior, self.scores.space))
        if self.by is not None and self.by.size * len(self.candidates) > MOST_CELLS:
            raise InvalidInput(
                f"{self.by.size:,} keys with {len(self.candidates):,} candidates each are more than {MOST_CELLS:,} "
                "cells, the most that are counted at once; list fewer keys, or fewer candidates."
            )

    @property
    def clamping_in_words(self) -> str:
        return "values rounded to the nearest candidate"

    @property
    def one_row_clause(self) -> str:
        return "of one row of each person chosen at random"

    @property
    def words(self) -> str:
        what = "median" if self.q == Fraction(1, 2) else f"{self.q} quantile"
        words = f"What is the {what} of {self.column}, {self.clamping_in_words}"
        return question_in_words(words, self.where, *self.grouping.sentence_clauses(self.rows_clause))

    @property
    def public(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {"column": self.column, "q": str(self.q)}
        parameters |= {"candidates": list(self.candidates), "where": self.where.text, "of": self.of}
        criterion = {"loss": self.loss, "prior": tally_prior_text(self.prior)}
        return {"question": self.name, **parameters, **criterion, **self.grouping.public}

    @cached_property
    def scores(self) -> Tally:
        return Tally(self._cells, self.scope.tallies(len(self.candidates)), self.where)

    def _cells(self, source: Source) -> Cells:
        return range_cells(source, self.column, [float(x) for x in self.candidates])

    @cached_property
    def selection(self) -> NamedQuantile:
        level = self.scope.privacy
        return NamedQuantile(self.scores.space, self.candidates, level, self.loss, self.prior, self.q)


def quantile_query(
    terms: Terms,
    privacy: Any,
    where: Where,
    column: str,
    q: Any,
    candidates: Any,
    bounds: Mapping[str, Any],
    whole: bool,
    of: Of,
    loss: str | None,
    prior: TallyPrior,
    by: Keys | None,
) -> Quantile | Quantiles | Ranked:
    """The query for one or several quantiles: a named candidate, several off noisy counts, or by ranks.

    Parameters
    ----------
    terms : Terms
        The privacy unit and the adjacency.
    privacy : Level
        The privacy level.
    where : Where
        Which rows are used.
    column : str
        The column.
    q : number or list of numbers
        The order of the quantile, or several.
    candidates : sequence of numbers or None
        The listed candidates.
    bounds : mapping
        `lower`, `upper` and `grid` of candidates that are not listed.
    whole : bool
        Whether the column has an integer type.
    of : "rows" or "people"
        Whose values count.
    loss : str or None
        The loss of a named candidate; None for the fewest rows off.
    prior : mapping or None
        The probability of each tally.
    by : Keys or None
        Public keys, each with its own quantiles.
    """
    several = not isinstance(q, str | bytes) and hasattr(listed(q), "__len__")
    many = len(listed(candidates)) if hasattr(listed(candidates), "__len__") else 0
    few = candidates is not None and many <= MOST_CANDIDATES
    loss = "absolute" if prior is not None and loss is None else loss
    parameters = {"terms": terms, "privacy": privacy, "where": where, "column": column, "candidates": candidates}
    has_bounds = any(bound is not None for bound in bounds.values())
    if few and ((several and by is None) or (not several and loss is not None)):
        if has_bounds:
            raise InvalidInput(BOTH_GIVEN)
        if not several:
            return Quantile(**parameters, q=q, of=of, loss=loss or "absolute", prior=prior, by=by)
        if prior is not None or loss not in (None, "absolute"):
            raise InvalidInput(
                "several quantiles are read off noisy counts: prior, by and loss are for one of them. Leave these out, "
                "or ask for one quantile at a time."
            )
        return Quantiles(**parameters, shares=q, of=of)
    if prior is not None or loss not in (None, "rank"):
        raise InvalidInput(
            "quantiles between bounds are made for the fewest rows off: prior and loss are for one quantile among "
            "up to 200 listed candidates. Leave these out, or list candidates."
        )
    if candidates is not None and has_bounds:
        raise InvalidInput(BOTH_GIVEN)
    shares = q if several else [q]
    return Ranked(**parameters, **bounds, shares=shares, one=not several, whole=whole, of=of, by=by)


def form_of_quantile(public: Mapping[str, Any]) -> type[Question]:
    """The class of a quantile query, by its public JSON: one candidate, several off noisy counts, or by ranks."""
    return Ranked if "one" in public else Quantiles if "shares" in public else Quantile
