"""Losses on a line of integers, by name: how bad it is to answer so many steps off."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput, shown


def cost(loss: str, distance: NDArray[Any]) -> NDArray[np.float64]:
    """The loss of being so many steps off: "absolute", "squared", "zero-one", or "within k" (none up to k, else 1)."""
    away = np.abs(np.asarray(distance, dtype=float))
    if loss == "absolute":
        return np.asarray(away)
    return np.asarray(away**2 if loss == "squared" else away > tolerance(loss), dtype=float)


def tolerance(loss: str) -> int:
    """How many steps off cost nothing, for zero-one losses."""
    return within(loss) or 0


def within(loss: str) -> int | None:
    """The k of "within k"; None for other losses."""
    word, _, number = loss.partition(" ")
    return int(number) if word == "within" and number.isdecimal() and len(number) < 16 else None


def require_line_loss(loss: Any) -> str:
    """A loss by its name; `InvalidInput` for anything else, which may come from a file."""
    if isinstance(loss, str) and (loss in ("absolute", "squared", "zero-one") or within(loss) is not None):
        return str(loss)
    raise InvalidInput(f"loss is {shown(loss)}; say 'absolute', 'squared', 'zero-one' or such as 'within 5'.")
