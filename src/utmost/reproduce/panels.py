"""Pictures laid out like the papers' that no function of `plot` draws: several panels, graphs of rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from utmost import plot
from utmost.space import Space

Figure: TypeAlias = Any


def panels(
    titles: Sequence[str], width: float = 4.6, height: float = 3.6, columns: int | None = None
) -> tuple[Figure, list[Any]]:
    """A figure with axes side by side, or so many to a row, one title each."""
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


def coloured_graph(
    space: Space,
    colours: Mapping[Any, str],
    places: Mapping[Any, Sequence[float]],
    marked_edges: Sequence[tuple[Any, Any]],
    marked_points: Sequence[Any],
) -> Figure:
    """A graph with coloured vertices; boundary edges in green, a hitting set ringed (BIN Figure 1)."""
    figure, (axis,) = panels(["boundary edges in green, a hitting set ringed"], 6.4, 4.2)
    at = np.array([places[p] for p in space.points], dtype=float)
    for (a, b), edge in zip(space.edge_indices.tolist(), space.edges, strict=True):
        green = edge in marked_edges or edge[::-1] in marked_edges
        axis.plot(*at[[a, b]].T, color="green" if green else "#888888", linewidth=2.5 if green else 1, zorder=1)
    for i, point in enumerate(space.points):
        colour = "#4271ae" if colours[point] == "blue" else "#c44e52"
        if point in marked_points:
            axis.scatter(*at[i], s=420, facecolors="white", edgecolors="black", linewidths=1.5, zorder=2)
        axis.scatter(*at[i], s=250, color=colour, zorder=3)
        axis.annotate(str(point), at[i], ha="center", va="center", color="white", fontsize=9, zorder=4)
    axis.set_axis_off()
    axis.margins(0.1)
    return figure


def rainbow_graphs(space: Space, preferences: Mapping[Any, Sequence[str]], lines: Space) -> Figure:
    """A rainbow graph beside its boundary rainbow graph, each vertex with its colours in order (RAIN Figure 1)."""
    figure, axes = panels(["a rainbow graph", "its boundary rainbow graph"], 5.2, 4.4)
    _rainbows(axes[0], space, {v: (str(v), preferences[v]) for v in space.points}, plot.layout(space))
    order = list(dict.fromkeys(r for r, _ in lines.points))
    at = np.array([[d + 0.25 * (order.index(r) % 2), -order.index(r)] for r, d in lines.points], dtype=float)
    _rainbows(axes[1], lines, {p: (str(int(p[1])), p[0]) for p in lines.points}, at)
    return figure


def _rainbows(axis: Any, space: Space, labels: Mapping[Any, tuple[str, Sequence[str]]], at: Any) -> None:
    for a, b in space.edge_indices.tolist():
        axis.plot(*at[[a, b]].T, color="#999999", linewidth=1, zorder=1)
    for i, point in enumerate(space.points):
        name, colours = labels[point]
        for size, colour in zip((520, 300, 120), colours, strict=True):  # best outermost
            axis.scatter(*at[i], s=size, color=colour, edgecolors="black", linewidths=0.4, zorder=2)
        axis.annotate(name, at[i], xytext=(0, 14), textcoords="offset points", ha="center", fontsize=8)
    axis.set_axis_off()
    axis.margins(0.15)
