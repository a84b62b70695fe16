"""Errors that fall with the number of rows: of means, variances and covariances.

To first order, the error of a ratio is its noise divided by the number of rows (squared errors: by its square), plus
rounding. The number of rows is not known in advance: so a plan states the error as a function of it, and as one number
for `expected_rows` only. Neither the draw nor the ledger depends on these.

The error also depends on the values, to first order on their moments only. A plan states its range over all tables, and
where one number is needed, the largest: a target is then met for every table. An answer states the error at the moments
estimated from the released sums.
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
from utmost.queries.losses import reported_losses, with_rounding
from utmost.queries.report.words import figures
from utmost.queries.rounding_steps import require_rows
from utmost.space.integers import Lattice

if TYPE_CHECKING:
    from utmost.mechanism.noise.lattice import NoisyVector

SIZES = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 1_000_000)
"""The numbers of rows in the curve of a plan."""
LISTED = (10, 100, 1000, 10_000)
"""The numbers of rows for which a plan lists the error in words."""
WORTH_SAYING = 0.01
"""Rounding is mentioned from this share of the error by noise on."""
Losses = dict[str, float]


@dataclass(frozen=True)
class RowErrors:
    """The expected errors of a ratio, by its number of rows.

    Attributes
    ----------
    ratio : Ratio
        The aggregate, in its setting.
    mechanism : NoisyVector
        The mechanism that releases its sums.
    space : Lattice
        The space of the sums, with its sensitivity set.
    level : Level
        The privacy level of the mechanism.
    loss : "absolute" or "squared"
        The loss that the mechanism is designed for.
    expected_rows : tuple of str
        Expected numbers of rows, in all or by group, as decimals; empty if not stated.
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
        """The losses that are shown, the one of the design first."""
        return {loss: losses[loss] for loss in reported_losses(self.loss) if loss in losses}

    @property
    def rounding(self) -> float:
        """The most that rounding adds to the expected loss."""
        return self.ratio.loss_from_rounding(self.loss)

    @cached_property
    def sizes(self) -> list[float]:
        """The expected numbers of rows."""
        return [float(Fraction(size.strip("'"))) for size in self.expected_rows]

    @property
    def average(self) -> float:
        """The largest expected loss for the expected rows; without these, for one row."""
        return self._with_expected(self.largest[self.loss], self.loss) + self.rounding

    def _with_expected(self, loss_of_one_row: float, loss: str) -> float:
        """Convert a loss for one row to the expected rows, on average over groups; without these, return it."""
        sizes = self.sizes or [1.0]
        return loss_of_one_row * sum(size ** -_power(loss) for size in sizes) / len(sizes)

    def from_noise(self, rows: float, loss_of_one_row: float) -> float:
        """The expected loss by noise for a number of rows, at most the worst possible loss."""
        return min(loss_of_one_row / rows ** _power(self.loss), self.ratio.worst(self.loss))

    def of_rows(self, rows: float) -> float:
        """The largest expected loss for a number of rows, rounding included."""
        largest = self.largest[self.loss]
        return min(largest / rows ** _power(self.loss) + self.rounding, self.ratio.worst(self.loss))

    def before(self) -> Before:
        """Expected error of an answer that is still to be released."""
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
        """The number of rows of an answer and its expected loss, as fields of `After`."""
        parts = [_single(number) for number in sums]
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
        """The largest expected losses for the expected rows; without these, for one row: more rows keep their ratio."""
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
        """The largest expected error by number of rows."""
        sizes = self._possible(SIZES)
        return {"rows": sizes, f"largest expected {self.loss} error": [self.of_rows(size) for size in sizes]}

    def _possible(self, sizes: tuple[int, ...]) -> list[int]:
        most = self.ratio.setting.most_rows
        return [size for size in sizes if most is None or size <= max(most, sizes[0])]


def _single(number: int) -> Integers:
    import numpy as np

    return np.array([number], dtype=object)


def _mean_over(sizes: list[float], error: Callable[[float], float]) -> Any:
    """The average error over groups of the given numbers of rows; None without any."""
    return sum(map(error, sizes)) / len(sizes) if sizes else None


def _power(loss: str) -> int:
    """The power of the number of rows that divides a loss."""
    return 2 if loss == "squared" else 1


def as_expected(rows: Any, labels: Sequence[Any], most_rows: int | None) -> str | list[str]:
    """Check the expected rows and return them as decimals: one number, or one for each key.

    Parameters
    ----------
    rows : number, mapping or list
        One number, {key: number}, or numbers in the order of the keys.
    labels : sequence
        The public keys; empty for the whole table, and for keys that are found privately.
    most_rows : int or None
        The most rows that can be used; None without a stated bound.
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
            f"expected_rows is {figures(largest)}, more than the {most_rows:,} rows that at_most allows; "
            f"give at most {most_rows:,}, or open the session with a larger at_most, or none."
        )
    return expected


def _by_key(rows: Mapping[Any, Any] | list[Any], labels: Sequence[Any]) -> list[Any]:
    """Return expected rows in the order of the keys."""
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
    """Whether `rows` is a mapping in JSON form, as a server gets it: a list of pairs of key and number."""
    return (
        isinstance(rows, list)
        and bool(rows)
        and all(isinstance(part, list) and len(part) == 2 and isinstance(part[0], list) and part[0] for part in rows)
    )
