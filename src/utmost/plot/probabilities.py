"""Pictures of probabilities and losses: ranked outputs against distance, mechanisms, losses against epsilon."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from utmost.design.rainbow import line
from utmost.mechanism import FiniteMechanism, RecipeMechanism
from utmost.plot.canvas import Figure, canvas
from utmost.privacy import ApproxDP, Level, as_level
from utmost.space.edge_levels import Privacy

MOST_ACROSS, MOST_DOWN = 30, 40
"""The largest number of names along each axis of a heat map."""


def rainbow(
    boundary: Sequence[float], privacy: Privacy, length: int, outputs: Sequence[Any], title: str | None = None
) -> Figure:
    """The probabilities of ranked outputs against the distance to the boundary (RAIN Figure 2).

    Dotted lines mark RAIN's τ, at a pure level: up to there the probability of the first outputs grows by e^ε at every
    step.
    """
    rows = line(boundary, privacy, length)
    turns = _turns(rows, privacy)
    figure, axes = canvas(title or "Probability of each output", size=(7.2, 4.2))
    for j, output in enumerate(outputs):
        colour = output if output in ("blue", "red", "green") else None
        axes.plot(rows[:, j], marker="o", markersize=3, linewidth=1, color=colour, label=str(output))
    for place, (at, names) in enumerate(turns.items()):
        axes.vlines(at, -0.03, 1.03, color="#888888", linewidth=0.8, linestyle=":")
        label = " = ".join(f"τ({' + '.join(str(outputs[j]) for j in range(k + 1))})" for k in names)
        axes.annotate(
            label, (at, 1.0), xytext=(3, -8 - 11 * place), textcoords="offset points", fontsize=8, color="#555555"
        )  # one below the other
    axes.set_xlabel("distance to the boundary")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_ylabel("probability")
    axes.set_ylim(-0.03, 1.03)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    return figure


def heat_map(mechanism: FiniteMechanism | RecipeMechanism, title: str | None = None) -> Figure:
    """A heat map of a mechanism: points downwards, outputs across, darker where likelier."""
    figure, axes = canvas(title or f"{len(mechanism.points)} points, {len(mechanism.outputs)} outputs")
    image = axes.imshow(mechanism.matrix, cmap="Blues", vmin=0.0, aspect="auto", interpolation="nearest")
    axes.set_xlabel("output")
    axes.set_ylabel("point")
    _name_ticks(axes.xaxis, mechanism.outputs, MOST_ACROSS)
    _name_ticks(axes.yaxis, mechanism.points, MOST_DOWN)
    figure.colorbar(image, ax=axes, label="probability")
    return figure


def _name_ticks(axis: Any, names: Sequence[Any], most: int) -> None:
    """Put names of outputs or points on an axis: all of them, or evenly spaced ones beyond `most`."""
    step = max(1, -(-len(names) // most))
    positions = range(0, len(names), step)
    labels = [_short(names[i]) for i in positions]
    crowded = axis.axis_name == "x" and sum(map(len, labels)) > 60
    slanted = {"rotation": 60, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
    axis.set_ticks(list(positions), labels, fontsize=8, **slanted)


def _short(name: Any) -> str:
    text = "".join(map(str, name)) if isinstance(name, tuple) and len(name) < 9 else str(name)
    return text if len(text) <= 14 else text[:13] + "…"


def _turns(rows: Any, privacy: Privacy) -> dict[int, list[int]]:
    """The distances at which, at a pure level, sums of first outputs stop growing by e^epsilon, with those sums."""
    level = as_level(privacy) if isinstance(privacy, Level | int | float | str | Fraction) else None
    if not isinstance(level, ApproxDP) or level.delta or not 0 < level.log_growth < math.inf:
        return {}
    turns: dict[int, list[int]] = {}
    for k, sums in enumerate(np.cumsum(rows, axis=1).T[:-1]):
        expected = sums[0] * np.exp(level.log_growth * np.arange(len(sums)))
        growing = np.isclose(sums, expected, rtol=1e-9, atol=0) & (sums > 0)
        last = int(growing.argmin()) - 1 if not growing.all() else len(sums) - 1
        if 0 < last < len(sums) - 1:
            turns.setdefault(last, []).append(k)
    return turns


def losses(epsilons: Sequence[float], curves: Mapping[str, Sequence[float]], title: str, what: str) -> Figure:
    """Expected losses of several mechanisms against epsilon, one curve each."""
    figure, axes = canvas(title, size=(7.2, 4.2))
    for name, values in curves.items():
        axes.plot(epsilons, values, marker="o", markersize=3, linewidth=1, label=name)
    axes.set_xlabel("ε")
    axes.set_ylabel(what)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    return figure
