"""Losses of answers: which may be asked for, which a report shows, and in which unit."""

from __future__ import annotations

from typing import Any

from utmost.errors import InvalidInput, shown
from utmost.mechanism.line_losses import cost, tolerance, within
from utmost.release.plain import plain

__all__ = ["as_loss", "cost", "scaled", "shown_with", "tolerance"]

SHOWN = ("absolute", "squared", "zero-one")
"""What every report shows, whichever was asked for."""


def as_loss(loss: Any, choices: tuple[str, ...] = SHOWN) -> str:
    """A loss by name: "absolute", "squared", "zero-one", or "within k": nothing is lost up to k steps off, else 1.

    "within k" is a loss of integers on a line; where only some losses are offered, it is not among them.
    """
    everything = choices == SHOWN
    if isinstance(loss, str) and (loss in choices or (everything and within(loss) is not None)):
        return str(plain(loss))
    names = ", ".join(map(repr, choices)) + (" or such as 'within 5'" if everything else "")
    raise InvalidInput(f"loss is {shown(loss)}; say {names}.")


def shown_with(loss: str) -> tuple[str, ...]:
    """The losses of a report: the one that was asked for, then the others that every report shows."""
    return tuple(dict.fromkeys((loss, *SHOWN)))


def scaled(loss: str, value: float, step: float) -> float:
    """A loss in steps as one in the unit of the answer."""
    return value * {"absolute": step, "squared": step**2}.get(loss, 1.0)
