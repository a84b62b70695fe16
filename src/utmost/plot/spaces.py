"""Pictures of spaces with their truths or rankings, boundaries, hitting sets and levels.

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

COLOURS = ("#d9696d", "#6f9bd1", "#77bd87", "#e3cf6a", "#9d90c9", "#7fc4d4")
CALLED = dict(zip(("red", "blue", "green", "yellow", "purple"), COLOURS, strict=False))
"""Colours of answers that are named after a colour."""
MARKED, PLAIN = "#111111", "#f2f2f2"
RINGS = (1000, 520, 170)
"""The sizes of the discs of a first, second and third preference, drawn on top of each other."""
MOST_IN_A_ROW = 6
"""With more points than this in a row the discs become smaller."""


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

    Points are coloured by their truth, or have a ring for each preference, the first one outermost. Answers that are
    called blue, red or green have that colour. Points on the boundary have a thick rim, those of a hitting set are
    squares, boundary edges are dashed, and edges with a stronger guarantee are thicker.

    Parameters
    ----------
    space : Space
        At most 200 points.
    truth : mapping, array or callable, optional
        The right answer at each point (BIN Figure 1, HET Figure 1); any number of answers.
    preferences : mapping, array or callable, optional
        The ranking at each point, best first (RAIN Figure 1); instead of truth.
    privacy : EdgeLevels, optional
        The levels of the edges; stricter edges are thicker (HET Figure 1).
    hitting : iterable, optional
        A boundary-hitting set, drawn as squares.
    positions : mapping, optional
        The coordinates (x, y) of the points; by default from their distances.
    title : str, optional
        The title of the picture.

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
    _draw_space(axes, space, truth, preferences, privacy, set(hitting), positions)
    marks = "thick rim: boundary; dashed: boundary edges; square: hitting set"
    caption(figure, marks + ("; thicker edge: stronger promise" if privacy is not None else ""))
    return figure


def rainbow_graphs(space: Space, preferences: Any, title: str | None = None) -> Figure:
    """A rainbow graph beside its boundary graph, whose points are pairs (ranking, distance) (RAIN Figure 1).

    Parameters
    ----------
    space : Space
        The rainbow graph.
    preferences : mapping, array or callable
        The ranking at each point, best first.
    title : str, optional
        The title above both.

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
    _draw_space(axes, space, None, preferences, None, set(), None)
    small, _ = boundary_space(space, preferences)
    places = {point: (float(point[1]) - 0.35 * (row % 2), -float(row)) for row, point in _rows(small)}
    _draw_space(beside, small, None, {point: point[0] for point in small.points}, None, set(), places)
    beside.set_title("its boundary graph: a ranking and a distance", fontsize=11)
    figure.text(0.5, 0.01, "rings: the first preference is outermost", ha="center", fontsize=8, color="#555555")
    if title:
        figure.suptitle(title)
    return figure


def _rows(small: Space) -> list[tuple[int, Any]]:
    """The points of a boundary graph, each with the row of its ranking."""
    rankings = list(dict.fromkeys(point[0] for point in small.points))
    return [(rankings.index(point[0]), point) for point in small.points]


def _draw_space(
    axes: Any,
    space: Space,
    truth: Any,
    preferences: Any,
    privacy: EdgeLevels | None,
    hitting: set[Any],
    positions: Mapping[Any, tuple[float, float]] | None,
) -> None:
    """Draw the points, edges and marks of a graph on one pair of axes."""
    n = len(space.points)
    if n > MOST_POINTS:
        raise InvalidInput(f"{n} points are too many to draw one by one (at most {MOST_POINTS}).")
    at = layout(space) if positions is None else np.array([positions[point] for point in space.points], dtype=float)
    labelling = preferences if preferences is not None else truth
    answers = [None] * n if labelling is None else list(space.align(labelling, "the answers"))
    ranked: list[tuple[Any, ...]] = [
        tuple(answer or ()) if preferences is not None else () if answer is None else (answer,) for answer in answers
    ]
    names = list(dict.fromkeys(name for ranking in ranked for name in ranking))
    crossing = [ranked[i] != ranked[j] for i, j in space.edge_indices.tolist()]
    on_boundary = set(space.edge_indices[crossing].ravel().tolist())
    _edges(axes, space, at, crossing, privacy)
    scale = min(1.0, (MOST_IN_A_ROW / n) ** 2) if _in_a_row(space, at) else 1.0
    for i, point in enumerate(space.points):
        marker = "s" if point in hitting else "o"
        colours = [_colour(name, names) for name in ranked[i]] or [PLAIN]
        rim = 3.0 if i in on_boundary else 0.8
        axes.scatter(
            *at[i], s=scale * RINGS[0], color=colours[0], marker=marker, edgecolors=MARKED, linewidths=rim, zorder=3
        )
        for size, colour in zip(RINGS[1:], colours[1:], strict=False):
            axes.scatter(
                *at[i], s=scale * size, color=colour, marker=marker, edgecolors=MARKED, linewidths=0.5, zorder=3
            )
        above = {"xytext": (0, 21), "textcoords": "offset points"} if len(colours) > 1 else {}
        axes.annotate(_short(point), at[i], ha="center", va="center", fontsize=8, zorder=4, **above)
    for name in names:
        axes.scatter([], [], s=90, color=_colour(name, names), label=str(name))
    if names:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=min(len(names), 6), frameon=False, fontsize=8)
    axes.margins(0.15)
    axes.set_axis_off()


def _in_a_row(space: Space, at: Any) -> bool:
    return isinstance(space.points, range) and not at[:, 1].any()


def _colour(name: Any, names: list[Any]) -> str:
    return CALLED.get(str(name), COLOURS[names.index(name) % len(COLOURS)])


def _edges(axes: Any, space: Space, at: Any, crossing: list[bool], privacy: EdgeLevels | None) -> None:
    """Draw the edges: dashed across the boundary, thicker at stricter levels, as arcs if the points lie in a row."""
    count = len(crossing)
    widths = np.full(count, 1.4)
    if privacy is not None and count:
        strict = -np.log(np.maximum(privacy.upper(np.arange(count), np.full(count, 0.25)), 1e-9))
        widths = 1.2 + 3.5 * (strict - strict.min()) / max(float(np.ptp(strict)), 1e-12)
    in_a_row = _in_a_row(space, at)
    for (i, j), width, crosses in zip(space.edge_indices.tolist(), widths, crossing, strict=True):
        way = np.linspace(at[i], at[j], 24)
        if in_a_row and abs(i - j) > 1:  # straight edges would overlap
            way[:, 1] += 0.3 * (abs(i - j) - 1) * (-1) ** abs(i - j) * np.sin(np.linspace(0, np.pi, 24))
        axes.plot(*way.T, color="#888888", linewidth=width, linestyle="--" if crosses else "-", zorder=1)


def _short(point: Any) -> str:
    """The label of a point; for a point of a boundary graph, its distance."""
    if isinstance(point, tuple) and len(point) == 2 and isinstance(point[0], tuple):
        return f"{point[1]:g}"
    if isinstance(point, tuple) and len(point) == 2:
        return f"{point[0]},{point[1]}"[:12]
    return "".join(map(str, point))[:12] if isinstance(point, tuple) else str(point)[:12]


def query_graphs(
    named: Mapping[str, Space | EdgeLevels],
    title: str | None = None,
    truth: Any = None,
    positions: Mapping[Any, tuple[float, float]] | None = None,
) -> Figure:
    """Several graphs side by side: of the results of queries (REG Figures 1 and 5), or of levels (HET Figure 1).

    Parameters
    ----------
    named : mapping
        Spaces or edge levels by name, such as {"count": um.counts(4), "sum": um.sums(2, 3)}; of levels, edges with a
        stronger guarantee are thicker.
    title : str, optional
        The title of the picture.
    truth : mapping, array or callable, optional
        The right answer at each point, for all graphs.
    positions : mapping, optional
        The coordinates (x, y) of the points, for all graphs.

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
    for place, (name, source) in enumerate(named.items(), 1):
        axes = figure.add_subplot(1, len(named), place)
        space, levels = (source.space, source) if isinstance(source, EdgeLevels) else (source, None)
        _draw_space(axes, space, truth, None, levels, set(), positions)
        axes.set_title(name, fontsize=11)
    if title:
        figure.suptitle(title)
    return figure
