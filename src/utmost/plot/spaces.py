"""Spaces with what matters on them: truths or rankings, boundaries, hitting sets, levels.

The pictures of BIN Figure 1, HET Figure 1, RAIN Figure 1, and REG Figures 1 and 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from utmost.design.rainbow import boundary_space
from utmost.errors import InvalidInput
from utmost.plot.canvas import Figure, canvas, caption
from utmost.plot.graphs import MOST_POINTS, layout
from utmost.space import Space
from utmost.space.edge_levels import EdgeLevels
from utmost.space.family import Sums

COLOURS = ("#c44e52", "#4271ae", "#55a868", "#ccb974", "#8172b3", "#64b5cd")
MARKED = "#111111"


def space_graph(
    space: Space,
    truth: Any = None,
    preferences: Any = None,
    privacy: EdgeLevels | None = None,
    hitting: Iterable[Any] = (),
    positions: Mapping[Any, tuple[float, float]] | None = None,
    title: str | None = None,
) -> Figure:
    """A graph of datasets or results, as the papers draw them.

    Points are coloured by their truth, or by their first preference with the whole ranking written below the name.
    Points on the boundary have a thick rim, those of a hitting set are squares, boundary edges are dashed, and edges
    with a stronger promise are thicker.

    Parameters
    ----------
    space : Space
        At most 200 points.
    truth : mapping, array or callable, optional
        The right answer at each point (BIN Figure 1, HET Figure 1); any number of answers.
    preferences : mapping, array or callable, optional
        The ranking at each point, best first (RAIN Figure 1); instead of truth.
    privacy : levels per edge, optional
        Whose edges are thicker where less may be told (HET Figure 1).
    hitting : points, optional
        A boundary-hitting set, drawn as squares.
    positions : {point: (x, y)}, optional
        Where points lie; laid out by their distances otherwise.
    title : str, optional
        What stands above the picture.

    Examples
    --------
    >>> import utmost as um
    >>> figure = um.plot.space_graph(um.hamming(3, 2), truth=lambda votes: sum(votes) > 1, title="BIN Figure 1")
    >>> len(figure.axes)
    1
    """
    if truth is not None and preferences is not None:
        raise InvalidInput("a picture shows truths or rankings, not both; leave one out.")
    figure, axes = canvas(title or repr(space))
    _drawn(axes, space, truth, preferences, privacy, set(hitting), positions)
    marks = "thick rim: boundary; dashed: boundary edges; square: hitting set"
    caption(figure, marks + ("; thicker edge: stronger promise" if privacy is not None else ""))
    return figure


def rainbow_graphs(space: Space, preferences: Any, title: str | None = None) -> Figure:
    """A rainbow graph beside its boundary graph, a point (ranking, distance) for all that lie so far (RAIN Figure 1).

    Parameters
    ----------
    space : Space
    preferences : mapping, array or callable
        The ranking at each point, best first.
    title : str, optional
        What stands above both.

    Examples
    --------
    >>> import utmost as um
    >>> figure = um.plot.rainbow_graphs(um.path(6), lambda i: tuple("brg" if i < 3 else "rgb"))
    >>> len(figure.axes)
    2
    """
    figure, axes = canvas("a rainbow graph", size=(10.4, 5.2))
    axes.set_position([0.02, 0.08, 0.46, 0.8])
    beside = figure.add_axes([0.52, 0.08, 0.46, 0.8])
    figure.set_layout_engine("none")
    _drawn(axes, space, None, preferences, None, set(), None)
    small, _ = boundary_space(space, preferences)
    places = {point: (float(point[1]) - 0.35 * (row % 2), -float(row)) for row, point in _rows(small)}
    _drawn(beside, small, None, {point: point[0] for point in small.points}, None, set(), places)
    beside.set_title("its boundary graph: (ranking, distance)", fontsize=11)
    if title:
        figure.suptitle(title)
    return figure


def _rows(small: Space) -> list[tuple[int, Any]]:
    """A row for each ranking of a boundary graph."""
    rankings = list(dict.fromkeys(point[0] for point in small.points))
    return [(rankings.index(point[0]), point) for point in small.points]


def _drawn(
    axes: Any,
    space: Space,
    truth: Any,
    preferences: Any,
    privacy: EdgeLevels | None,
    hitting: set[Any],
    positions: Mapping[Any, tuple[float, float]] | None,
) -> None:
    """The points, edges and marks of a graph on one pair of axes."""
    n = len(space.points)
    if n > MOST_POINTS:
        raise InvalidInput(f"{n} points are too many to draw one by one (at most {MOST_POINTS}).")
    at = layout(space) if positions is None else np.array([positions[point] for point in space.points], dtype=float)
    told = preferences if preferences is not None else truth
    answers = [None] * n if told is None else list(space.align(told, "the answers"))
    groups: list[Any] = [answer if preferences is None else tuple(answer or ()) for answer in answers]
    shown = [group if preferences is None or group is None else group[0] for group in groups]
    names = list(dict.fromkeys(shown))
    a, b = space.edge_indices.T
    crossing = np.array([groups[i] != groups[j] for i, j in zip(a, b, strict=True)], dtype=bool)
    on_boundary = set(space.edge_indices[crossing].ravel().tolist())
    widths = np.full(len(a), 1.4)
    if privacy is not None and len(a):
        strict = -np.log(np.maximum(privacy.upper(np.arange(len(a)), np.full(len(a), 0.25)), 1e-9))
        widths = 1.2 + 3.5 * (strict - strict.min()) / max(float(np.ptp(strict)), 1e-12)
    for (i, j), width, crosses in zip(space.edge_indices.tolist(), widths, crossing, strict=True):
        axes.plot(*at[[i, j]].T, color="#888888", linewidth=width, linestyle="--" if crosses else "-", zorder=1)
    for i, point in enumerate(space.points):
        colour = "#dddddd" if shown[i] is None else COLOURS[names.index(shown[i]) % len(COLOURS)]
        rim = 3.0 if i in on_boundary else 0.8
        marker = "s" if point in hitting else "o"
        axes.scatter(
            *at[i], s=900, color=colour, marker=marker, edgecolors=MARKED, linewidths=rim, alpha=0.75, zorder=3
        )
        ranking = "" if preferences is None else "\n" + _order(groups[i])
        axes.annotate(f"{_short(point)}{ranking}", at[i], ha="center", va="center", fontsize=7, zorder=4)
    for name in names:
        if name is not None:
            axes.scatter([], [], s=90, color=COLOURS[names.index(name) % len(COLOURS)], label=str(name))
    if any(name is not None for name in names):
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=min(len(names), 6), frameon=False, fontsize=8)
    axes.margins(0.15)
    axes.set_axis_off()


def _order(ranking: Any) -> str:
    """A ranking inside a point: letters close together, longer names one below the other."""
    names = [str(name) for name in ranking]
    return ("" if all(len(name) == 1 for name in names) else "\n").join(names)


def _short(point: Any) -> str:
    """A point's name inside it; of a point of a boundary graph, its distance."""
    if isinstance(point, tuple) and len(point) == 2 and isinstance(point[0], tuple):
        return f"{point[1]:g}"
    return "".join(map(str, point))[:12] if isinstance(point, tuple) else str(point)[:12]


def query_graphs(named: Mapping[str, Space], title: str = "Adjacency graphs of queries") -> Figure:
    """The graphs of results of several queries side by side (REG Figures 1 and 5).

    Parameters
    ----------
    named : {name: Space}
        Such as {"count": um.counts(4), "sum": um.sums(2, 3), "two counts": um.grid((3, 3))}.
    title : str
        What stands above.

    Examples
    --------
    >>> import utmost as um
    >>> len(um.plot.query_graphs({"sequence": um.counts(4), "cycle": um.cycle(5), "2 counts": um.grid((3, 3))}).axes)
    3
    """
    if not named:
        raise InvalidInput("name at least one query: {'count': um.counts(4)}.")
    figure, first = canvas("", size=(4.2 * len(named), 4.2))
    first.remove()
    for place, (name, space) in enumerate(named.items(), 1):
        axes = figure.add_subplot(1, len(named), place)
        bent = None
        if isinstance(space.family, Sums) and space.family.largest > 1:  # edges would lie on each other
            turn = np.linspace(0.15 * np.pi, 0.85 * np.pi, len(space.points))[::-1]
            bent = {point: (float(np.cos(t)), float(np.sin(t))) for point, t in zip(space.points, turn, strict=True)}
        _drawn(axes, space, None, None, None, set(), bent)
        axes.set_title(name, fontsize=11)
    figure.suptitle(title)
    return figure
