"""Cross-tables of two questions, estimated from the responses of the same people to both.

The two responses of a person are drawn independently given the answers. So the product of unbiased estimates of the two
answers' indicators is an unbiased estimate for the pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput
from utmost.solution.card import card, table

Floats: TypeAlias = NDArray[np.float64]
FEW = 300
"""Standard errors and intervals of pairs are unreliable for fewer people than this."""


@dataclass(frozen=True, eq=False)
class CrossTable:
    """Estimated frequencies of pairs of answers.

    Attributes
    ----------
    questions : pair of str
        The two questions.
    rows, columns : tuple
        Their answers.
    people : int
        Number of respondents.
    frequencies : array of float
        Unbiased estimates; they add up to 1, and those of rare pairs may be below 0.
    standard_errors : array of float
        Of the frequencies, estimated from the responses.
    """

    questions: tuple[str, str]
    rows: tuple[Any, ...]
    columns: tuple[Any, ...]
    people: int
    frequencies: Floats
    standard_errors: Floats

    def interval(self, level: float = 0.95) -> Floats:
        """Confidence intervals for the frequencies, by the normal approximation, clamped to [0, 1].

        Each estimate is an average of bounded terms, so it is close to normal from some hundred people on; unlike the
        intervals of single questions these are not exact for few people.
        """
        from scipy.special import ndtri

        if not 0 < level < 1:
            raise InvalidInput(f"level is {level!r}; give a number between 0 and 1, such as 0.95.")
        reach = float(ndtri((1 + level) / 2)) * self.standard_errors
        return np.clip(np.stack([self.frequencies - reach, self.frequencies + reach], axis=-1), 0.0, 1.0)

    @property
    def caution(self) -> str:
        """A warning if few people responded; else empty."""
        if self.people >= FEW:
            return ""
        return f"Of {self.people} people, pairs say little: their errors and intervals hold from some {FEW} people on."

    def __str__(self) -> str:
        names = [str(column) for column in self.columns]
        wide = [max(len(name), 15) for name in names]
        first = max(len(str(row)) for row in self.rows)
        lines = [f"{self.questions[0]} (rows) by {self.questions[1]} (columns): frequency ± standard error"]
        lines.append("  " + " " * first + "".join(f"  {name:>{w}}" for name, w in zip(names, wide, strict=True)))
        for i, row in enumerate(self.rows):
            cells = [f"{f:.4f} ±{e:.4f}" for f, e in zip(self.frequencies[i], self.standard_errors[i], strict=True)]
            lines.append(f"  {row!s:<{first}}" + "".join(f"  {c:>{w}}" for c, w in zip(cells, wide, strict=True)))
        return "\n".join([*lines, *([self.caution] if self.caution else [])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        numbers = zip(self.rows, self.frequencies, self.standard_errors, strict=True)
        rows = [
            (row, *(f"{f:.4f} ±{e:.4f}" for f, e in zip(shares, errors, strict=True)))
            for row, shares, errors in numbers
        ]
        title = f"{self.questions[0]} (rows) by {self.questions[1]} (columns): frequency ± standard error"
        return card(f"{title}\n{self.caution}".strip(), table(("", *map(str, self.columns)), rows))


def indicator_estimates(positions: NDArray[np.int64], k: int, inside: float, beside: float) -> Floats:
    """For every response and answer an unbiased estimate of whether it is the true answer (mean 1 if it is, else 0)."""
    indicators = np.zeros((len(positions), k))
    np.put_along_axis(indicators, positions, 1.0, axis=1)
    return np.asarray((indicators - beside) / (inside - beside))


def cross(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Frequencies of pairs and their standard errors, from each person's estimates of both answers."""
    n = len(first)
    frequencies = first.T @ second / n
    squares = (first**2).T @ second**2 / n
    return frequencies, np.sqrt(np.maximum(squares - frequencies**2, 0.0) / max(n - 1, 1))
