"""Figures of several panels, laid out as in the papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Figure: TypeAlias = Any


def panels(
    titles: Sequence[str], width: float = 4.6, height: float = 3.6, columns: int | None = None
) -> tuple[Figure, list[Any]]:
    """A figure with a titled panel for each title, in rows of `columns` panels."""
    from matplotlib.figure import Figure as Canvas

    across = columns or len(titles)
    rows = -(-len(titles) // across)
    figure = Canvas(figsize=(width * across, height * rows), layout="constrained")
    axes = list(figure.subplots(rows, across, squeeze=False).ravel())
    for axis, title in zip(axes, titles, strict=True):
        axis.set_title(title, fontsize=10)
    return figure, axes


def curves(
    axis: Any, xs: Sequence[float], lines: Mapping[str, Sequence[float]], x: str, y: str, marker: str | None = None
) -> None:
    """Several curves over the same xs, with a legend and a light grid."""
    for name, ys in lines.items():
        axis.plot(xs, ys, linewidth=1.2, marker=marker, markersize=3, label=name)
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    axis.grid(alpha=0.25)
    axis.legend(frameon=False, fontsize=8)
