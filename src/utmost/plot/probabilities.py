"""Probabilities and losses: ranked outputs against distance, whole mechanisms, losses against epsilon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from utmost.design.rainbow import line
from utmost.mechanism import FiniteMechanism, RecipeMechanism
from utmost.plot.canvas import Figure, canvas
from utmost.space.edge_levels import Privacy


def rainbow(
    boundary: Sequence[float], privacy: Privacy, length: int, outputs: Sequence[Any], title: str | None = None
) -> Figure:
    """The probabilities of ranked outputs against the distance to the boundary (RAIN Figure 2)."""
    rows = line(boundary, privacy, length)
    figure, axes = canvas(title or "Probability of each output", size=(7.2, 4.2))
    for j, output in enumerate(outputs):
        colour = output if output in ("blue", "red", "green") else None
        axes.plot(rows[:, j], marker="o", markersize=3, linewidth=1, color=colour, label=str(output))
    axes.set_xlabel("distance to the boundary")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_ylabel("probability")
    axes.set_ylim(-0.03, 1.03)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    return figure


def heat_map(mechanism: FiniteMechanism | RecipeMechanism, title: str | None = None) -> Figure:
    """A mechanism as a picture: points downwards, outputs across, darker where likelier."""
    figure, axes = canvas(title or f"{len(mechanism.points)} points, {len(mechanism.outputs)} outputs")
    image = axes.imshow(mechanism.matrix, cmap="Blues", vmin=0.0, aspect="auto", interpolation="nearest")
    axes.set_xlabel("output")
    axes.set_ylabel("point")
    figure.colorbar(image, ax=axes, label="probability")
    return figure


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
