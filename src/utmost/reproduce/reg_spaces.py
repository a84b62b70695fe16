"""REG: what its entries share: results and their graphs, the matrix of privacy constraints, regular priors."""

from __future__ import annotations

from typing import Any

import numpy as np

import utmost as um
from utmost.exact.arrays import Floats
from utmost.reproduce.instances import random_prior
from utmost.reproduce.panels import panels


def same_space(found: um.Space, family: um.Space) -> bool:
    """Whether two spaces have the same points and the same distances."""
    return list(found.points) == list(family.points) and np.array_equal(found.distances(), family.distances())


def constraints(space: um.Space, epsilon: float) -> Floats:
    """Phi, the privacy-constraints matrix (Definition 4)."""
    return np.asarray(np.exp(-epsilon * space.distances()))


def regular_prior(rng: np.random.Generator, space: um.Space, epsilon: float) -> Floats:
    """A random regular prior: a combination of corner priors."""
    return np.asarray(random_prior(rng, len(space)) @ um.finite.corner_priors(space, epsilon))


def draw_graphs(spaces: list[um.Space], titles: list[str]) -> Any:
    """Graphs of results side by side; on a line, edges between results that are not next to each other are arcs."""
    figure, axes = panels(titles, 3.4, 3.2)
    for axis, space in zip(axes, spaces, strict=True):
        at = um.plot.layout(space)
        for a, b in space.edge_indices.tolist():
            bend = abs(a - b) > 1 and isinstance(space.points, range) and not at[:, 1].any()
            xs = np.linspace(at[a], at[b], 20)
            if bend:  # on a line, longer edges as arcs
                xs[:, 1] += 0.15 * abs(a - b) * np.sin(np.linspace(0, np.pi, 20))
            axis.plot(*xs.T, color="#888888", linewidth=1, zorder=1)
        axis.scatter(*at.T, s=260, color="white", edgecolors="black", zorder=2)
        for i, point in enumerate(space.points):
            axis.annotate(str(point).replace(" ", ""), at[i], ha="center", va="center", fontsize=7, zorder=3)
        axis.set_axis_off()
        axis.margins(0.15)
    return figure
