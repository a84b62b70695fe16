"""Pictures of yes/no questions: a graph of datasets coloured by truth, or a curve along a line."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from utmost.design.multiparty import Protocol
from utmost.design.noise import IntegerNoise, NoiseMechanism
from utmost.errors import InvalidInput
from utmost.mechanism import Rows
from utmost.plot.canvas import Figure, canvas, caption
from utmost.plot.multiparty import accuracies
from utmost.plot.noise import noise_density, noise_probabilities
from utmost.plot.probabilities import heat_map
from utmost.solution import Solution
from utmost.space import Space
from utmost.space.family import Cycle, Grid
from utmost.space.points import Tuples

COLOURS = ("#c44e52", "#4271ae")
MOST_POINTS, NODE = 200, 38.0
"""The largest number of points that are drawn individually, and the largest diameter of one, in points."""


def draw(solution: Any, title: str | None = None) -> Figure:
    """Draw an object: yes/no questions as a curve or a graph, other mechanisms as a heat map, noise by its law.

    In a notebook the returned figure shows itself.

    Parameters
    ----------
    solution : Solution, mechanism, noise or Protocol
        The object to draw. For a protocol of several parties, the accuracy of each listener.
    title : str, optional
        The title of the picture.
    """
    if isinstance(solution, NoiseMechanism):
        return noise_density(solution, title=title)
    if isinstance(solution, IntegerNoise):
        return noise_probabilities(solution, title=title)
    if isinstance(solution, Protocol):
        return accuracies(solution, title)
    if isinstance(solution, Rows):
        return heat_map(solution, title)  # type: ignore[arg-type]
    if not isinstance(solution, Solution):
        raise InvalidInput(
            f"a {type(solution).__name__} has no picture here; draw a solution, a mechanism with rows, noise, or a "
            "protocol. The pictures of um.plot take other things."
        )
    if not isinstance(solution.mechanism, Rows):
        raise InvalidInput(
            f"a {type(solution.mechanism).__name__} lists no rows to draw; plan.picture() and answer.report(path) show "
            "what a question about a table leads to."
        )
    if "truth" not in solution.problem.data:
        return heat_map(solution.mechanism, title)  # type: ignore[arg-type]
    line = isinstance(solution.problem.space.points, range)
    return curve(solution, title) if line and len(solution.problem.space.points) > 12 else graph(solution, title)


def graph(solution: Solution, title: str | None = None) -> Figure:
    """A small graph of datasets: points coloured by truth and shaded by the probability of the truth.

    Thicker edges have stronger guarantees (a smaller epsilon or mu).
    """
    problem, matrix = solution.problem, solution.mechanism.matrix
    space, truth, outputs = problem.space, _truth(solution), problem.data["outputs"]
    n = len(space.points)
    if n > MOST_POINTS:
        raise InvalidInput(f"{n} points are too many to draw one by one (at most {MOST_POINTS}); use plot.curve.")
    at = _spread(layout(space))
    figure, axes = canvas(title or f"{problem.question} at {problem.privacy}", size=_size(at))
    widths = _widths(solution)
    for (a, b), width in zip(space.edge_indices.tolist(), widths, strict=True):
        axes.plot(*at[[a, b]].T, color="#888888", linewidth=width, zorder=1)
    truth_probability = matrix[np.arange(n), truth]
    for j in (0, 1):
        axes.scatter([], [], s=120, color=COLOURS[j], label=f"truth: {outputs[j]}")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=2, frameon=False, fontsize=9)
    axes.set_axis_off()
    caption(figure, f"number: Pr[{outputs[1]}]; shade: probability of the truth; thicker edge: stronger promise")
    room = _room(figure, axes, at)
    for i in range(n):
        share = float(truth_probability[i])
        axes.scatter(*at[i], s=room**2, color="white", zorder=2)
        axes.scatter(
            *at[i],
            s=room**2,
            color=COLOURS[truth[i]],
            alpha=0.15 + 0.8 * share,
            edgecolors="black",
            linewidths=1,
            zorder=3,
        )
        label = f"{_name(space.points[i])}\n{matrix[i, 1]:.3f}"
        axes.annotate(label, at[i], ha="center", va="center", fontsize=8 * min(1.0, room / NODE), zorder=4)
    return figure


def _spread(at: Any) -> Any:
    """Move overlapping points of a layout apart; a line stays as it is."""
    n = len(at)
    if n < 2 or np.ptp(at, axis=0).min() == 0:
        return at
    at = at / np.ptp(at, axis=0).max()
    least = 0.75 / math.sqrt(n)
    for _ in range(300):
        offsets = at[:, None] - at[None]
        distance = np.linalg.norm(offsets, axis=2)
        np.fill_diagonal(distance, np.inf)
        close = distance < least
        if not close.any():
            break
        direction = np.where(
            distance[..., None] > 1e-9,
            offsets,
            np.array([1.0, 0.5]) * np.sign(np.subtract.outer(np.arange(n), np.arange(n)))[..., None],
        )
        length = np.maximum(np.linalg.norm(direction, axis=2), 1e-9)
        push = np.where(close, least * 1.02 - distance, 0.0) / length / 2
        at = at + 0.5 * (direction * np.where(np.isfinite(push), push, 0.0)[..., None]).sum(axis=1)
    return at


def _size(at: Any) -> tuple[float, float]:
    """The size of a picture of these points, in inches: wide and low for a line."""
    if len(at) > 1 and np.ptp(at[:, 1]) == 0:
        return max(6.4, min(20.0, 0.75 * len(at) + 1)), 2.6
    side = max(1.0, math.sqrt(len(at) / 16))
    return 6.4 * side, 5.2 * side


def _room(figure: Figure, axes: Any, at: Any) -> float:
    """The diameter of the points, in points of the page, at which no two touch, and at most `NODE`.

    Also sets the limits of the axes, with one scale for both, so that points of that size lie inside.
    """
    figure.draw_without_rendering()  # only now the legend and the caption have their places
    page = np.array([axes.bbox.width, axes.bbox.height]) * 72 / figure.dpi
    span = np.maximum(np.ptp(at, axis=0), 1e-9)
    scale = float(((page - 1.1 * NODE) / span).min())
    reach = page / scale / 2
    middle = (at.min(axis=0) + at.max(axis=0)) / 2
    axes.set(
        xlim=(middle[0] - reach[0], middle[0] + reach[0]),
        ylim=(middle[1] - reach[1], middle[1] + reach[1]),
    )
    gaps = scale * np.linalg.norm(at[:, None] - at[None], axis=2)
    gaps[np.diag_indices(len(at))] = np.inf
    return float(min(NODE, 0.92 * gaps.min(initial=np.inf)))


def curve(solution: Solution, title: str | None = None) -> Figure:
    """A binary mechanism along a line of numbers: the probability of the second output against the point."""
    problem = solution.problem
    xs = np.array(problem.space.points, dtype=float)
    truth, outputs = _truth(solution), problem.data["outputs"]
    figure, axes = canvas(title or f"{problem.question} at {problem.privacy}", size=(7.2, 4.2))
    axes.plot(xs, solution.mechanism.matrix[:, 1], color="#333333", linewidth=1, zorder=1)
    for j in (0, 1):
        mask = truth == j
        axes.scatter(
            xs[mask], solution.mechanism.matrix[mask, 1], s=18, color=COLOURS[j], label=f"truth: {outputs[j]}", zorder=2
        )
    axes.set_xlabel("point")
    axes.set_ylabel(f"Pr[{outputs[1]}]")
    axes.set_ylim(-0.03, 1.03)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    return figure


def layout(space: Space) -> np.ndarray[Any, Any]:
    """Coordinates of the points: the usual layout of lines, rings, grids and cubes, others by their distances."""
    n = len(space.points)
    if isinstance(space.family, Cycle):
        turn = 2 * np.pi * np.arange(n) / max(n, 1)
        return np.column_stack([np.sin(turn), np.cos(turn)])
    if isinstance(space.points, range):
        return np.column_stack([np.arange(n), np.zeros(n)])
    if isinstance(space.points, Tuples) and len(space.points.shape) >= 2:
        digits = space.points.digits(np.arange(n)).astype(float)
        if isinstance(space.family, Grid) and len(digits) == 2:
            return digits[::-1].T * [1, -1]
        slants = [(1.0, 0.0), (0.0, 1.0), (0.42, 0.3), (-0.3, 0.42), (0.15, -0.2)]
        directions = [slants[k] if k < len(slants) else (math.cos(k), math.sin(k)) for k in range(len(digits))]
        return np.asarray(digits.T @ np.array(directions))
    distances = space.distances()
    distances[np.isinf(distances)] = distances[np.isfinite(distances)].max(initial=1.0) + 1
    centred = np.eye(n) - 1 / max(n, 1)
    values, vectors = np.linalg.eigh(-0.5 * centred @ distances**2 @ centred)  # classical scaling
    order = np.argsort(values)[::-1][:2]
    eigenvalues = np.where(
        values[order] > 1e-9 * max(values.max(initial=0.0), 1e-300), values[order], 0.0
    )  # a line is flat
    coordinates = vectors[:, order] * np.sqrt(eigenvalues)
    coordinates = (
        coordinates * np.where(coordinates[:1] > coordinates[-1:], -1.0, 1.0) if n else coordinates
    )  # the first point on the left
    return np.column_stack([coordinates, np.zeros((n, 2 - coordinates.shape[1]))])


def _truth(solution: Solution) -> Any:
    if "truth" not in solution.problem.data:
        raise InvalidInput(f"{solution.problem.question} is not a yes/no question; this picture needs one.")
    return solution.problem.data["truth"]


def _widths(solution: Solution) -> np.ndarray[Any, Any]:
    levels = solution.problem.privacy
    if levels.single is not None or not len(levels):
        return np.full(len(levels), 1.5)
    looseness = levels.upper(np.arange(len(levels)), np.full(len(levels), 0.5))
    spread = looseness.max() - looseness.min()
    return np.asarray(1.2 + 4 * (looseness.max() - looseness) / (spread if spread > 0 else 1))


def _name(point: Any) -> str:
    return "".join(map(str, point)) if isinstance(point, tuple) else str(point)
