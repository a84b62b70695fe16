"""Loss tables: the loss of each guess at each point, by name, by table or by function, and averages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from utmost.errors import InvalidInput, TooLarge
from utmost.exact import as_rational, is_number
from utmost.exact.arrays import Floats
from utmost.space import MOST_ENTRIES

Loss: TypeAlias = str | ArrayLike | Callable[[Any, Any], float]


def average(p_truth: Floats, weights: Floats | None = None) -> float:
    """The average probability of the truth, under weights or uniformly; 1 if there are no points."""
    if not len(p_truth):
        return 1.0
    return float(p_truth.mean() if weights is None else weights @ p_truth)


def loss_table(loss: Loss, points: Sequence[Any], guesses: Sequence[Any]) -> Floats:
    """The loss of each guess (column) at each point (row)."""
    n, k = len(points), len(guesses)
    if n * k > MOST_ENTRIES:
        raise TooLarge(f"a table of {n} x {k} losses does not fit; use a smaller space.")
    if isinstance(loss, str):
        if loss == "zero-one":
            columns: dict[Any, list[int]] = {}
            for j, guess in enumerate(guesses):
                columns.setdefault(guess, []).append(j)
            table = np.ones((n, k))
            for i, point in enumerate(points):
                table[i, columns.get(point, [])] = 0
            return table
        tolerance = _within(loss)
        if tolerance is None and loss not in ("absolute", "squared"):
            raise InvalidInput(
                f"loss is {loss!r}; say 'zero-one', 'absolute', 'squared' or 'within 2', or give a table or callable."
            )
        here, there = _coordinates(points), _coordinates(guesses)
        if here.shape[1] != there.shape[1]:
            raise InvalidInput("points and guesses have different dimensions; give a loss table or callable.")
        distances = np.abs(here[:, None, :] - there[None, :, :])
        if tolerance is not None:
            return np.asarray((distances.max(axis=2, initial=0.0) > tolerance).astype(float))
        return np.asarray((distances if loss == "absolute" else distances**2).sum(axis=2))
    if callable(loss):
        table = np.array([[loss(p, g) for g in guesses] for p in points], dtype=float).reshape(n, k)
    else:
        table = np.asarray(loss, dtype=float)
    if table.shape != (n, k):
        raise InvalidInput(f"the loss has shape {table.shape} for {n} points and {k} guesses; give a loss for each.")
    if not np.isfinite(table).all():
        raise InvalidInput("the loss holds an infinity or NaN; give finite numbers.")
    return table


def grows_with_distance(table: Floats) -> bool:
    """Whether, in each row i of a square table, entry k depends on |i - k| only and is non-decreasing in it."""
    n = len(table)
    for i in range(n):
        order = np.argsort(np.abs(np.arange(n) - i), kind="stable")
        apart, losses = np.abs(np.arange(n) - i)[order], table[i, order]
        step = np.diff(losses)
        if (step < 0).any() or (step[np.diff(apart) == 0] != 0).any():
            return False
    return True


def _within(loss: str) -> float | None:
    """The k of a loss "within k", which is 0 if every coordinate is within k, else 1; None for other losses."""
    word, _, number = loss.partition(" ")
    try:
        return float(as_rational(number)) if word == "within" else None
    except InvalidInput:
        return None


def _coordinates(names: Sequence[Any]) -> Floats:
    """Points that are numbers or tuples of numbers, as rows of coordinates."""
    rows = [name if isinstance(name, tuple) else (name,) for name in names]
    if not all(is_number(x) for row in rows for x in row):
        raise InvalidInput(
            "absolute and squared loss need points that are numbers or tuples; give a table or callable."
        )
    return np.array(rows, dtype=float) if rows else np.zeros((0, 1))
