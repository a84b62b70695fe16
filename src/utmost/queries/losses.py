"""The losses of numeric queries: their names, and their conversion from steps of the grid to the unit of the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from utmost.errors import InvalidInput, shown
from utmost.space.line import within

REPORTED_LOSSES = ("absolute", "squared", "zero-one")
"""The losses that every report shows, whichever the mechanism is designed for."""
ERROR_LOSSES = ("absolute", "squared")
"""The losses that say how large an error is; the noise of a ratio's sums can be designed for these alone."""


def as_loss(loss: Any, choices: tuple[str, ...] = REPORTED_LOSSES) -> str:
    """Return the name of a loss: "absolute", "squared", "zero-one", or "within k" (0 for errors up to k steps, else 1).

    "within k" is a loss of integers on a line; where only some losses are offered, it is not among them.
    """
    everything = choices == REPORTED_LOSSES
    if isinstance(loss, str) and (loss in choices or (everything and within(loss) is not None)):
        return str.__str__(loss)
    names = ", ".join(map(repr, choices)) + (" or such as 'within 5'" if everything else "")
    raise InvalidInput(f"loss is {shown(loss)}; say {names}.")


def reported_losses(loss: str) -> tuple[str, ...]:
    """The losses of a report: the one of the design first, then the others that every report shows."""
    return tuple(dict.fromkeys((loss, *REPORTED_LOSSES)))


def loss_in_unit(loss: str, value: float, step: Fraction | float) -> float:
    """Convert a loss in steps to the unit of the answer."""
    return value * {"absolute": float(step), "squared": float(step) ** 2}.get(loss, 1.0)


def losses_in_unit(
    losses: Mapping[str, float], step: Fraction | float, shown_losses: Sequence[str] = ERROR_LOSSES
) -> dict[str, float]:
    """Convert losses in steps to the unit of the answer; only those that are shown."""
    return {loss: loss_in_unit(loss, value, step) for loss, value in losses.items() if loss in shown_losses}


def with_rounding(losses: dict[str, dict[str, float]], rounding_error: float) -> dict[str, dict[str, float]]:
    """Losses by mechanism and loss, plus the most that rounding adds: the same for all, which get the same values."""
    rounding_losses = {"absolute": rounding_error, "squared": rounding_error**2}
    return {
        name: {loss: expected + rounding_losses.get(loss, 0.0) for loss, expected in by.items()}
        for name, by in losses.items()
    }
