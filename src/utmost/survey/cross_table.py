"""Two questions at once: how often each pair of answers is given, from responses to both by the same people.

The two responses of a person are drawn independently, given the answers. So the product of two unbiased numbers, each
saying how much a response speaks for an answer, is unbiased for the pair.
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
"""Of fewer people than this, standard errors and intervals of pairs are not to be relied on."""


@dataclass(frozen=True, eq=False)
class CrossTable:
    """Estimated frequencies of pairs of answers.

    Attributes
    ----------
    questions : the two questions, in words
    rows, columns : their answers
    people : how many responded
    frequencies : unbiased; they add up to 1, and rare pairs may come out below 0
    standard_errors : of the frequencies, from the responses themselves
    """

    questions: tuple[str, str]
    rows: tuple[Any, ...]
    columns: tuple[Any, ...]
    people: int
    frequencies: Floats
    standard_errors: Floats

    def interval(self, level: float = 0.95) -> Floats:
        """For every pair an interval that holds its frequency with about this probability: normal, cut to 0..1.

        Each pair's number is an average over people with bounded terms, so it is close to normal from some hundred
        people on; unlike the intervals of single questions these are not exact for few people.
        """
        from scipy.special import ndtri

        if not 0 < level < 1:
            raise InvalidInput(f"level is {level!r}; give a number between 0 and 1, such as 0.95.")
        reach = float(ndtri((1 + level) / 2)) * self.standard_errors
        return np.clip(np.stack([self.frequencies - reach, self.frequencies + reach], axis=-1), 0.0, 1.0)

    @property
    def caution(self) -> str:
        """What to know where few people responded; else nothing."""
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
            (row, *(f"{f:.4f} ±{e:.4f}" for f, e in zip(found, errors, strict=True))) for row, found, errors in numbers
        ]
        title = f"{self.questions[0]} (rows) by {self.questions[1]} (columns): frequency ± standard error"
        return card(f"{title}\n{self.caution}".strip(), table(("", *map(str, self.columns)), rows))


def speaks_for(positions: NDArray[np.int64], k: int, inside: float, beside: float) -> Floats:
    """For every response and answer a number whose mean is 1 if that is the true answer, and 0 if it is not."""
    named = np.zeros((len(positions), k))
    np.put_along_axis(named, positions, 1.0, axis=1)
    return np.asarray((named - beside) / (inside - beside))


def cross(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Frequencies of pairs and their standard errors, from what the responses of each person speak for."""
    n = len(first)
    frequencies = first.T @ second / n
    squares = (first**2).T @ second**2 / n
    return frequencies, np.sqrt(np.maximum(squares - frequencies**2, 0.0) / max(n - 1, 1))
