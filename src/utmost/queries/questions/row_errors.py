"""Errors that fall with the number of rows: of means, variances and covariances.

The error of a ratio is its noise divided by the rows it is made of (squared errors: by their square), to first order,
and what rounding adds. Nobody knows before how many there are: so a plan states the error as a function of the rows,
and as one number for `expected_rows` alone. Neither what is drawn nor what the ledger compares depends on it.

It also depends on where values lie, to first order on their moments alone. Before an answer it is stated for all
tables, from the least to the largest, and where one number is needed it is the largest: a target is then met whatever
the table holds. After an answer it is that at the moments that the released sums say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from utmost.errors import InvalidInput, shown
from utmost.exact import as_literal
from utmost.privacy import Level
from utmost.queries.accuracy import Before
from utmost.queries.aggregates.aggregate import Integers, Ratio
from utmost.queries.questions.question import reported_losses, with_rounding
from utmost.queries.report.words import figures
from utmost.queries.rounding_steps import require_rows
from utmost.space.integers import Lattice

if TYPE_CHECKING:
    from utmost.mechanism.noise.lattice import NoisyVector

SIZES = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 1_000_000)
"""The rows for which a plan's curve has the error."""
LISTED = (10, 100, 1000, 10_000)
"""The rows for which a plan lists it in words."""
WORTH_SAYING = 0.01
"""From which share of the noise's error on rounding is mentioned beside it."""
Losses = dict[str, float]


@dataclass(frozen=True)
class RowErrors:
    """The expected errors of a ratio, by how many rows it is made of.

    Attributes
    ----------
    ratio : Ratio
        The aggregate, in its setting.
    mechanism : NoisyVector
        The mechanism that releases its sums.
    space : Lattice
        Where the sums lie.
    level : Level
        What they spend.
    loss : str
        "absolute" or "squared".
    expected_rows : list of str
        How many rows are expected, in all or in each group, as decimals; empty where nobody said.
    """

    ratio: Ratio
    mechanism: NoisyVector
    space: Lattice
    level: Level
    loss: str
    expected_rows: tuple[str, ...]

    @cached_property
    def largest(self) -> Losses:
        """The largest expected losses of one row over all tables."""
        return self._shown(self.ratio.largest_losses(self.mechanism))

    def _shown(self, losses: Mapping[str, float]) -> Losses:
        """The losses that are shown, the one that was asked for first."""
        return {loss: losses[loss] for loss in reported_losses(self.loss) if loss in losses}

    @property
    def rounding(self) -> float:
        """What rounding adds to the expected loss at most."""
        return self.ratio.loss_from_rounding(self.loss)

    @cached_property
    def sizes(self) -> list[float]:
        """How many rows are expected."""
        return [float(Fraction(size.strip("'"))) for size in self.expected_rows]

    @property
    def average(self) -> float:
        """The largest expected loss with the expected rows; without these, of one row."""
        return self._with_expected(self.largest[self.loss], self.loss) + self.rounding

    def _with_expected(self, loss_of_one_row: float, loss: str) -> float:
        """The loss of one row as that of the expected rows: of several groups, on average; without these, as it is."""
        sizes = self.sizes or [1.0]
        return loss_of_one_row * sum(size ** -_power(loss) for size in sizes) / len(sizes)

    def from_noise(self, rows: float, loss_of_one_row: float) -> float:
        """The expected loss from noise of an answer made of so many rows, at most what can be lost at all."""
        return min(loss_of_one_row / rows ** _power(self.loss), self.ratio.worst(self.loss))

    def of_rows(self, rows: float) -> float:
        """The largest expected loss of an answer made of so many rows, rounding included."""
        largest = self.largest[self.loss]
        return min(largest / rows ** _power(self.loss) + self.rounding, self.ratio.worst(self.loss))

    def before(self) -> Before:
        """What is known before an answer."""
        least, largest = self.ratio.least_losses(self.mechanism)[self.loss], self.largest[self.loss]
        sizes = self.sizes
        mean = partial(_mean_over, sizes)
        average = mean(self.of_rows)
        rounding = self.rounding if average is None else average - mean(lambda n: self.from_noise(n, largest))
        smallest = min((self.from_noise(n, least) for n in sizes or self._possible(LISTED)), default=0.0)
        return Before(
            self.loss,
            average,
            self.ratio.worst(self.loss),
            holds=self.ratio.error_basis,
            rows=sizes[0] if len(set(sizes)) == 1 else None,
            over_rows=largest,
            by_rows=tuple((n, self.from_noise(n, least), self.from_noise(n, largest)) for n in self._possible(LISTED)),
            least=mean(lambda n: self.from_noise(n, least)),
            least_over_rows=least,
            from_rounding=rounding,
            rounds=self.ratio.rounds_to if rounding > smallest * WORTH_SAYING else "",
        )

    def after(self, sums: Sequence[int]) -> dict[str, Any]:
        """Of one answer, how many rows it is made of, and the expected loss with so many, by the names of `After`."""
        parts = [_one(number) for number in sums]
        (rows,), (low,), (high,) = (ends.tolist() for ends in self.ratio.rows(parts, self.mechanism))
        moments, worst = self.ratio.moments(sums), self.ratio.worst(self.loss)
        noise = self.ratio.losses_at(self.mechanism, moments)[self.loss] / max(rows, 1) ** _power(self.loss)
        rounding = self.ratio.loss_from_rounding_at(self.loss, moments)
        expected, without = min(noise + rounding, worst), min(noise, worst)
        rows_between = (low, high)
        return {
            "expected": expected,
            "rows": max(rows, 1),
            "rows_between": rows_between,
            "from_rounding": expected - without,
        }

    def expected_losses(self) -> dict[str, Losses]:
        """The largest expected losses with the expected rows; without these, of one row: all fall alike with more."""
        alternatives = self.ratio.alternatives(self.space, self.level)
        losses = {
            name: {loss: self._with_expected(value, loss) for loss, value in by_loss.items()}
            for name, by_loss in {
                "Utmost": self.largest,
                **{n: self._shown(by) for n, by in alternatives.items()},
            }.items()
        }
        return with_rounding(losses, self.ratio.off_by_rounding) if self.sizes else losses

    @property
    def curve(self) -> dict[str, Any]:
        """The largest expected error by how many rows there are."""
        sizes = self._possible(SIZES)
        return {"rows": sizes, f"largest expected {self.loss} error": [self.of_rows(size) for size in sizes]}

    def _possible(self, sizes: tuple[int, ...]) -> list[int]:
        most = self.ratio.setting.most_rows
        return [size for size in sizes if most is None or size <= max(most, sizes[0])]


def _one(number: int) -> Integers:
    import numpy as np

    return np.array([number], dtype=object)


def _mean_over(sizes: list[float], error: Callable[[float], float]) -> Any:
    """The average over groups of so many rows; None where nobody said of how many."""
    return sum(map(error, sizes)) / len(sizes) if sizes else None


def _power(loss: str) -> int:
    """With which power of the rows a loss falls."""
    return 2 if loss == "squared" else 1


def as_expected(rows: Any, labels: Sequence[Any], most_rows: int | None) -> str | list[str]:
    """The expected rows as decimals: one number, or one for each key.

    Parameters
    ----------
    rows : number, mapping or list
        What was given: a number, {key: number}, or numbers in the order of the keys.
    labels : sequence
        The public keys; empty for the whole table, and where keys are found.
    most_rows : int or None
        How many rows are used at most, if that is known.
    """
    if _are_pairs(rows):
        rows = {tuple(key) if len(key) > 1 else key[0]: number for key, number in rows}
    expected: str | list[str]
    if isinstance(rows, Mapping | list):
        expected = [str(as_literal(require_rows(size, "expected_rows"))) for size in _by_key(rows, labels)]
    else:
        expected = str(as_literal(require_rows(rows, "expected_rows")))
    sizes = expected if isinstance(expected, list) else [expected]
    largest = max(float(Fraction(size.strip("'"))) for size in sizes)
    if most_rows is not None and largest > most_rows:
        raise InvalidInput(
            f"expected_rows is {figures(largest)}, more than the {most_rows:,} rows that can take part by at_most; "
            f"give at most {most_rows:,}, or open the session with a larger at_most, or none."
        )
    return expected


def _by_key(rows: Mapping[Any, Any] | list[Any], labels: Sequence[Any]) -> list[Any]:
    """Numbers in the order of the keys."""
    if not labels:
        raise InvalidInput(f"expected_rows is {shown(rows)}; give one number, such as 1000: there are no public keys.")
    if isinstance(rows, Mapping):
        missing = [label for label in labels if label not in rows]
        if missing:
            raise InvalidInput(
                f"expected_rows has no number for the key {shown(missing[0])}; give one for each key, or "
                "one number for all."
            )
        label_set = set(labels)
        unknown = [label for label in rows if label not in label_set]
        if unknown:
            raise InvalidInput(
                f"expected_rows has a number for {shown(unknown[0])}, which is none of the keys; leave it out."
            )
        rows = [rows[label] for label in labels]
    if len(rows) != len(labels):
        raise InvalidInput(f"expected_rows has {len(rows)} numbers for {len(labels)} keys; give one for each.")
    return rows


def _are_pairs(rows: Any) -> bool:
    """Whether a mapping was written as a list of its keys and numbers, as for a server."""
    return (
        isinstance(rows, list)
        and bool(rows)
        and all(isinstance(part, list) and len(part) == 2 and isinstance(part[0], list) and part[0] for part in rows)
    )
