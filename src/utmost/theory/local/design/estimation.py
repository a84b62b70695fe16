"""Frequency estimates from private responses: unbiased, projected to the simplex, and by maximum likelihood."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats
from utmost.solution.card import card, table

ROUNDS, ENOUGH = 5000, 1e-7
"""The largest number of rounds, and how far the log-likelihood may be from its maximum when they stop."""

MOST_ROWS = 100
"""How many categories a notebook lists."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimated frequencies of categories.

    Attributes
    ----------
    categories : tuple
        The categories, in the order of all arrays.
    people : int
        How many responded.
    frequencies : array of float
        Unbiased; they add up to 1, and small ones may come out below 0.
    standard_errors : array of float
        The standard errors of the frequencies.
    on_simplex : array of float
        The distribution nearest to the frequencies in squared distance (least squares).
    counts : array of int
        How many responses name each category.
    """

    categories: tuple[Any, ...]
    people: int
    frequencies: Floats
    standard_errors: Floats
    on_simplex: Floats
    counts: NDArray[np.int64]
    inside: float
    beside: float
    responses: NDArray[np.int64] = field(repr=False)

    @cached_property
    def likeliest(self) -> Floats:
        """The maximum-likelihood distribution, by iterative Bayesian update."""
        return _most_likely(self.responses, self.on_simplex, self.inside)

    def interval(self, level: float = 0.95) -> Floats:
        """For every category an interval that contains its frequency in the population with at least this probability.

        The response of a person drawn at random from a population names a category with a fixed probability, so counts
        are binomial and Clopper and Pearson's intervals cover for any number of people; they are mapped to frequencies.
        Each interval covers by itself, not all at once.
        """
        from scipy.special import betaincinv

        if not 0 < level < 1:
            raise InvalidInput(f"level is {level!r}; give a number between 0 and 1, such as 0.95.")
        tail, n, c = (1 - level) / 2, self.people, self.counts
        low = np.where(c > 0, betaincinv(np.maximum(c, 1), n - c + 1, tail), 0.0)
        high = np.where(c < n, betaincinv(c + 1, np.maximum(n - c, 1), 1 - tail), 1.0)
        ends = (np.column_stack([low, high]) - self.beside) / (self.inside - self.beside)
        return np.asarray(np.clip(ends, 0.0, 1.0))

    def __str__(self) -> str:
        return self.table()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        ends, few = self.interval(), min(len(self.categories), MOST_ROWS)
        rows = [
            (name, f"{self.frequencies[i]:.4f}", f"{self.standard_errors[i]:.4f}", f"{ends[i, 0]:.4f}–{ends[i, 1]:.4f}")
            for i, name in enumerate(self.categories[:few])
        ]
        more = f"; the first {few} of {len(self.categories):,} categories" if few < len(self.categories) else ""
        heads = ("category", "frequency", "standard error", "95 % interval")
        return card(f"Estimate from {self.people:,} responses{more}", table(heads, rows))

    def table(self, level: float = 0.95) -> str:
        """The estimate in words, with intervals of this level."""
        ends = self.interval(level)
        lines = [f"{self.people} responses; frequency, standard error, {100 * level:g} % interval"]
        width = max(len(str(c)) for c in self.categories)
        for i, name in enumerate(self.categories):
            numbers = (
                f"{self.frequencies[i]:8.4f}  ±{self.standard_errors[i]:.4f}  {ends[i, 0]:.4f} to {ends[i, 1]:.4f}"
            )
            lines.append(f"  {name!s:<{width}}  {numbers}")
        return "\n".join(lines)


def estimate_from(table: NDArray[np.int64], categories: Sequence[Any], inside: float, beside: float) -> Estimate:
    """The estimate from responses as positions, a row each; `inside` and `beside` are as in `Survey`."""
    n, k = len(table), len(categories)
    if not n:
        raise InvalidInput("there are no responses, so nothing can be estimated; give at least one.")
    counts = np.bincount(table.ravel(), minlength=k)
    named = counts / n
    slope = inside - beside
    frequencies = (named - beside) / slope
    possible = np.clip(named, beside, inside)  # no frequency makes a category rarer or commoner than this
    errors = np.sqrt(possible * (1 - possible) / n) / slope
    nearest = project(frequencies)
    return Estimate(tuple(categories), n, frequencies, errors, nearest, counts, inside, beside, table)


def project(values: Floats) -> Floats:
    """The distribution nearest to some numbers in squared distance.

    Examples
    --------
    >>> project(np.array([0.7, 0.5, -0.2])).round(3).tolist()
    [0.6, 0.4, 0.0]
    """
    ordered = np.sort(values)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(values) + 1)
    last = np.flatnonzero(ordered > excess)[-1]
    return np.asarray(np.maximum(values - excess[last], 0.0))


def _most_likely(table: NDArray[np.int64], start: Floats, inside: float) -> Floats:
    """Maximum likelihood by iterative Bayesian update: each response is divided among categories by its posterior.

    A round multiplies each weight by a factor; the log-likelihood is concave, with these factors for its slope per
    response, so it is at most (largest factor - 1) · responses below its maximum.
    """
    k, s = len(start), table.shape[1]
    base_likelihood = (
        (1 - inside) / inside * s / (k - s) if inside > 0 else math.inf
    )  # likelihood of other sets, relative
    rows, repeats = np.unique(np.sort(table, axis=1), axis=0, return_counts=True)
    weights = 0.5 * start + 0.5 / k
    for _ in range(ROUNDS):
        chance = base_likelihood + (1 - base_likelihood) * weights[rows].sum(axis=1)
        share = repeats / chance
        hits = np.bincount(rows.ravel(), np.repeat(share, s), minlength=k)
        factors = (base_likelihood * share.sum() + (1 - base_likelihood) * hits) / len(table)
        weights = weights * factors / (weights @ factors)
        if (factors.max() - 1) * len(table) < ENOUGH:
            break
    return weights
