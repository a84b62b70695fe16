"""Losses on a line of integers: how bad it is to answer so many steps off."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput, shown
from utmost.release.plain import plain

SHOWN = ("absolute", "squared", "zero-one")
"""What every report shows, whichever was asked for."""


def as_loss(loss: Any, choices: tuple[str, ...] = SHOWN) -> str:
    """A loss by name: "absolute", "squared", "zero-one", or "within k": nothing is lost up to k steps off, else 1.

    "within k" is a loss of integers on a line; where only some losses are offered, it is not among them.
    """
    everything = choices == SHOWN
    if isinstance(loss, str) and (loss in choices or (everything and _within(loss) is not None)):
        return str(plain(loss))
    names = ", ".join(map(repr, choices)) + (" or such as 'within 5'" if everything else "")
    raise InvalidInput(f"loss is {shown(loss)}; say {names}.")


def shown_with(loss: str) -> tuple[str, ...]:
    """The losses of a report: the one that was asked for, then the others that every report shows."""
    return tuple(dict.fromkeys((loss, *SHOWN)))


def cost(loss: str, distance: NDArray[Any]) -> NDArray[np.float64]:
    """The loss of being so many steps off."""
    away = np.abs(np.asarray(distance, dtype=float))
    if loss == "absolute":
        return np.asarray(away)
    return np.asarray(away**2 if loss == "squared" else away > tolerance(loss), dtype=float)


def tolerance(loss: str) -> int:
    """How many steps off cost nothing, for zero-one losses."""
    return _within(loss) or 0


def scaled(loss: str, value: float, step: float) -> float:
    """A loss in steps as one in the unit of the answer."""
    return value * {"absolute": step, "squared": step**2}.get(loss, 1.0)


def _within(loss: str) -> int | None:
    word, _, number = loss.partition(" ")
    return int(number) if word == "within" and number.isdecimal() and len(number) < 16 else None
