"""The region of regular priors, for which one private mechanism is optimal (REG Figures 2 and 3)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from utmost.design.finite import corner_priors
from utmost.errors import InvalidInput
from utmost.plot.canvas import Figure, canvas
from utmost.space import Space
from utmost.space.edge_levels import Privacy

TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.75**0.5]])
SHADES = ("#4271ae", "#c44e52", "#55a868", "#8172b2")


def region_of_priors(space: Space, levels: Sequence[Privacy], title: str | None = None) -> Figure:
    """The regular priors of a query with three or four results, one region per level, within all priors.

    With three results a prior is a point of a triangle whose corners are the certain priors; with four it is drawn in
    space by its first three probabilities. The corners of a region are the rows of Phi, normalised (REG Prop. 4).
    """
    n = len(space.points)
    if n not in (3, 4):
        raise InvalidInput(f"the space has {n} results; priors over three or four of them can be drawn.")
    figure, axes = canvas(title or f"Regular priors on {space!r}", three_dimensional=n == 4)
    place = TRIANGLE if n == 3 else np.vstack([np.eye(3), np.zeros(3)])
    _outline(axes, place, "#999999", "all priors")
    for level, colour in zip(levels, SHADES, strict=False):
        corners = corner_priors(space, level) @ place
        _outline(axes, corners, colour, str(level))
        for k, corner in enumerate(corners):
            axes.text(*corner, f" c{k + 1}", fontsize=8, color=colour)
    names = [str(point) for point in space.points]
    if n == 3:
        for name, corner, side in zip(names, place, ("right", "left", "center"), strict=True):
            above = corner[1] > 0
            axes.annotate(
                f"certainly {name}", corner, ha=side, va="bottom" if above else "top", fontsize=9, color="#555555"
            )
        axes.set_axis_off()
        axes.set_aspect("equal")
        axes.margins(0.12)
    else:
        axes.set(xlabel=f"Pr[{names[0]}]", ylabel=f"Pr[{names[1]}]", zlabel=f"Pr[{names[2]}]")
    axes.legend(frameon=False, fontsize=9, loc="upper right")
    return figure


def _outline(axes: object, corners: np.ndarray, colour: str, label: str) -> None:
    """Draw the edges between all corners, and fill a triangle."""
    for k, (one, other) in enumerate(combinations(corners, 2)):
        axes.plot(*np.array([one, other]).T, color=colour, linewidth=1.2, label=label if k == 0 else None)  # type: ignore[attr-defined]
    if len(corners) == 3:
        axes.fill(*corners.T, color=colour, alpha=0.12)  # type: ignore[attr-defined]
