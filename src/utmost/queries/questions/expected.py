"""How many rows a mean, variance or covariance is expected to be of: a public number for its plan.

The error of such an answer is its noise divided by the rows it is made of (squared errors: by their square), to first
order, and what rounding adds. Nobody knows before how many there are: so a plan states the error as a function of the
rows, and as one number for `expected_rows` alone. Neither what is drawn nor what the ledger compares depends on it.

It also depends on where values lie, to first order on their moments alone. Before an answer it is stated for all
tables, from the least to the largest, and where one number is needed it is the largest: a target is then met whatever
the table holds. After an answer it is that at the moments that the released sums say.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput, shown
from utmost.exact import as_literal
from utmost.queries.accuracy import CONFIDENCE, After, Before
from utmost.queries.questions.question import Question, with_rounding
from utmost.queries.report.words import figures
from utmost.queries.rounding_steps import require_rows

SIZES = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 1_000_000)
"""The rows for which a plan's curve has the error."""
LISTED = (10, 100, 1000, 10_000)
"""The rows for which a plan lists it in words."""
WORTH_SAYING = 0.01
"""From which share of the noise's error on rounding is mentioned beside it."""
NOT_ASKED = ("expected_rows", "min_rows")
"""Of `public`: what changes only how an answer is planned or shown, and is no part of the ledger's question."""
Losses = dict[str, float]


@dataclass(frozen=True, eq=False, kw_only=True)
class OfRows(Question):
    """A question whose error depends on how many rows the answer is made of.

    Attributes
    ----------
    expected_rows : a number, or one for each key, as a mapping or in the order of the keys; None if nobody says
    """

    counting: ClassVar[int] = 0
    """So many of the integers, the first, add up to the rows times `worth`; 0 for all."""

    expected_rows: Any = None
    loss: str = "absolute"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.expected_rows is not None:
            self.settle(expected_rows=self._as_expected(self.expected_rows))
            self._require_possible()

    def _require_possible(self) -> None:
        """Refuse more rows than there are."""
        largest, most = max(self._sizes_expected), self.most_rows
        if most is not None and largest > most:
            raise InvalidInput(
                f"expected_rows is {figures(largest)}, more than the {most:,} rows that can take part by at_most; give "
                f"at most {most:,}, or open the session with a larger at_most, or none."
            )

    def _as_expected(self, rows: Any) -> Any:
        keys = getattr(self, "by", None)
        if _are_pairs(rows):
            rows = {tuple(key) if len(key) > 1 else key[0]: number for key, number in rows}
        if not isinstance(rows, Mapping | list):
            return str(as_literal(require_rows(rows, "expected_rows")))
        labels = list(getattr(keys, "labels", ()))
        if not labels:
            raise InvalidInput(
                f"expected_rows is {shown(rows)}; give one number, such as 1000: there are no public keys."
            )
        if isinstance(rows, Mapping):
            missing = [label for label in labels if label not in rows]
            if missing:
                raise InvalidInput(
                    f"expected_rows has no number for the key {shown(missing[0])}; give one for each key, or "
                    "one number for all."
                )
            rows = [rows[label] for label in labels]
        if len(rows) != len(labels):
            raise InvalidInput(f"expected_rows has {len(rows)} numbers for {len(labels)} keys; give one for each.")
        return [str(as_literal(require_rows(one, "expected_rows"))) for one in rows]

    @property
    def identity(self) -> dict[str, Any]:
        return {name: part for name, part in super().identity.items() if name not in NOT_ASKED}

    @property
    def expectation(self) -> dict[str, Any]:
        """Of `public`: the rows that were expected, where somebody said so."""
        return {} if self.expected_rows is None else {"expected_rows": self.expected_rows}

    # ---- how many rows there are, as far as the released sums say ----

    @property
    @abstractmethod
    def worth(self) -> int:
        """What a row adds to the first integers of its group together, wherever its value lies."""

    @property
    def noise_of_sums(self) -> Any:
        """The law of the noise of the released integers."""
        return self.solution.mechanism.noise

    def rows_among(self, sums: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Of how many rows sums of the first integers of groups are made, and the ends of intervals for them."""
        from utmost.theory.estimates.design.row_count import total_limit

        counting = self.counting or len(self.parts)  # type: ignore[attr-defined]
        half, worth = math.ceil(total_limit(self.noise_of_sums, counting, CONFIDENCE)), self.worth
        found = (2 * sums + worth) // (2 * worth), -((half - sums) // worth), (sums + half) // worth
        rows, low, high = (np.maximum(column, 0).astype(np.int64) for column in found)
        return rows, low, high

    def rows_found(self, together: int, *moments: float) -> dict[str, Any]:
        """Of one answer, how many rows it is made of, and the expected loss with so many and with these moments."""
        (rows,), (low,), (high,) = (x.tolist() for x in self.rows_among(np.array([together], dtype=object)))
        noise = self.losses_at(*moments)[self.loss] / max(rows, 1) ** _power(self.loss)
        noise, expected = (min(noise + more, self.worst) for more in (0.0, self.loss_from_rounding_at(*moments)))
        found = {"expected": expected, "rows": max(rows, 1), "rows_between": (low, high)}
        return found | {"from_rounding": expected - noise}

    def near_limit(self, released: Mapping[str, Any], after: After) -> bool:
        """Also whether more rows seem to take part than `at_most` allows."""
        listed = [after.rows_between] if after.rows_between else [ends for _, *ends, _ in after.groups.values()]
        beyond = any(high > (self.most_rows or math.inf) for _, high in listed)
        return beyond or super().near_limit(released, after)

    # ---- the error by rows ----

    @abstractmethod
    def losses_over_rows(self) -> Losses:
        """The largest expected losses of one row over all tables, to first order, in the unit of the answer."""

    @abstractmethod
    def alternatives_over_rows(self) -> dict[str, Losses]:
        """The same of the usual alternatives, by their names; a search for a level has no use for them."""

    @abstractmethod
    def least_over_rows(self) -> Losses:
        """The same of ours, over the tables where they are least."""

    @abstractmethod
    def losses_at(self, *moments: float) -> Losses:
        """The same of ours, of a table with these moments."""

    def loss_from_rounding_at(self, *moments: float) -> float:
        """What rounding adds to the expected loss at most, at these moments."""
        return self.loss_from_rounding

    @property
    @abstractmethod
    def worst(self) -> float:
        """The largest loss there can be."""

    @property
    def holds(self) -> str:
        """What the expected error rests on."""
        return "to first order"

    @cached_property
    def _over_rows(self) -> Losses:
        return self.losses_over_rows()

    @property
    def _sizes_expected(self) -> list[float]:
        listed = self.expected_rows if isinstance(self.expected_rows, list) else [self.expected_rows]
        return [float(Fraction(one.strip("'"))) for one in listed if one is not None]

    @property
    def average(self) -> float:
        require_expected(self)
        return self._with_expected(self._over_rows[self.loss], self.loss) + self.loss_from_rounding

    def _with_expected(self, of_one: float, loss: str) -> float:
        """The loss of one row as that of the expected rows: of several groups, on average; without these, as it is."""
        sizes = self._sizes_expected or [1.0]
        return of_one * sum(size ** -_power(loss) for size in sizes) / len(sizes)

    def noise_of(self, rows: float, of_one: float) -> float:
        """The expected loss from noise of an answer made of so many rows, at most what can be lost at all."""
        return min(of_one / rows ** _power(self.loss), self.worst)

    def error_of(self, rows: float) -> float:
        """The largest expected loss of an answer made of so many rows, rounding included."""
        largest = self._over_rows[self.loss]
        return min(largest / rows ** _power(self.loss) + self.loss_from_rounding, self.worst)

    def before(self) -> Before:
        least, largest = self.least_over_rows()[self.loss], self._over_rows[self.loss]
        sizes = self._sizes_expected
        mean = partial(_mean_over, sizes)
        average = mean(self.error_of)
        more = self.loss_from_rounding if average is None else average - mean(lambda n: self.noise_of(n, largest))
        smallest = min((self.noise_of(n, least) for n in sizes or self._among(LISTED)), default=0.0)
        return Before(
            self.loss,
            average,
            self.worst,
            holds=self.holds,
            rows=sizes[0] if len(set(sizes)) == 1 else None,
            over_rows=largest,
            by_rows=tuple((n, self.noise_of(n, least), self.noise_of(n, largest)) for n in self._among(LISTED)),
            least=mean(lambda n: self.noise_of(n, least)),
            least_over_rows=least,
            from_rounding=more,
            rounds=self.rounds_to if more > smallest * WORTH_SAYING else "",
        )

    def compared(self) -> dict[str, Losses]:
        """The largest expected losses with the expected rows; without these, of one row: all fall alike with more."""
        found = {
            name: {loss: self._with_expected(value, loss) for loss, value in by.items()}
            for name, by in {"Utmost": self._over_rows, **self.alternatives_over_rows()}.items()
        }
        return with_rounding(found, self.off_by_rounding) if self._sizes_expected else found

    @property
    def curve(self) -> dict[str, Any] | None:
        """The largest expected error by how many rows there are."""
        sizes = self._among(SIZES)
        return {"rows": sizes, f"largest expected {self.loss} error": [self.error_of(size) for size in sizes]}

    def _among(self, sizes: tuple[int, ...]) -> list[int]:
        return [size for size in sizes if self.most_rows is None or size <= max(self.most_rows, sizes[0])]


def _mean_over(sizes: list[float], error: Callable[[float], float]) -> Any:
    """The average over groups of so many rows; None where nobody said of how many."""
    return sum(map(error, sizes)) / len(sizes) if sizes else None


def _power(loss: str) -> int:
    """With which power of the rows a loss falls."""
    return 2 if loss == "squared" else 1


def _are_pairs(rows: Any) -> bool:
    """Whether a mapping was written as a list of its keys and numbers, as for a server."""
    return (
        isinstance(rows, list)
        and bool(rows)
        and all(isinstance(part, list) and len(part) == 2 and isinstance(part[0], list) and part[0] for part in rows)
    )


def require_expected(question: Any) -> None:
    """Refuse a target for a question whose error depends on rows that nobody expects."""
    if isinstance(question, OfRows) and question.expected_rows is None:
        raise InvalidInput(
            f"the error of a {question.name} depends on how many rows it is made of; plan it with expected_rows=, a "
            "public number (or one for each key), such as expected_rows=1000, and give the target again."
        )


def require_reachable(question: Any, error: Fraction, name: str, with_chance: bool = False) -> None:
    """Refuse a target that rounding alone can exceed: an expected loss, or an error that is kept with a probability."""
    off = question.off_by_rounding if with_chance else question.loss_from_rounding
    if not off or error > Fraction(off):
        return
    named = any(getattr(question, grid, None) is not None for grid in ("grid", "x_grid", "y_grid"))
    change = "leave the grid out, or give a finer one" if named else "ask for less accuracy, or for a narrower range"
    raise InvalidInput(
        f"{name} is {figures(float(error))}, and {question.rounds_to} alone can make an error of "
        f"{figures(off)}: no privacy level meets it; {change}."
    )
