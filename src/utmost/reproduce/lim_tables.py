"""LIM 3.4.2, 3.4.3, 3.5.2, 3.5.3: four local mechanisms on the same random instances, and how they are compared."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

import utmost as um
from utmost.exact.arrays import Floats
from utmost.reproduce.entry import Finding, Inputs
from utmost.reproduce.instances import generator, random_prior
from utmost.reproduce.panels import curves, panels

Table: TypeAlias = Callable[[int, int, tuple[float, ...]], Floats]


@lru_cache(maxsize=4)
def instances(k: int, count: int) -> tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]:
    """Pairs of distributions over k letters, drawn evenly from all of them; information takes the first of each."""
    rng = generator(f"LIM-figures-3.3-{k}")
    return tuple((tuple(random_prior(rng, k)), tuple(random_prior(rng, k))) for _ in range(count))


@lru_cache(maxsize=8)
def divergences(k: int, count: int, epsilons: tuple[float, ...]) -> Floats:
    """Divergences of every instance and epsilon: optimal, binary, randomised response, geometric, and without noise."""
    rows = []
    for p, q in instances(k, count):
        row = []
        for e in epsilons:
            simple = (um.local.binary(p, q, e), um.local.randomized_response(k, e), um.local.geometric(k, e))
            values = [um.local.divergence_of(m, p, q) for m in simple]
            row.append([um.local.for_testing(p, q, e).value, *values, float(np.dot(p, np.log(np.divide(p, q))))])
        rows.append(row)
    return np.array(rows)


@lru_cache(maxsize=8)
def informations(k: int, count: int, epsilons: tuple[float, ...]) -> Floats:
    """Mutual information likewise: optimal, binary, randomised response, geometric, and the entropy."""
    rows = []
    for p, _ in instances(k, count):
        row = []
        for e in epsilons:
            simple = (
                um.local.binary_for_information(p, e),
                um.local.randomized_response(k, e),
                um.local.geometric(k, e),
            )
            values = [um.local.information(m, p) for m in simple]
            row.append([um.local.for_information(p, e).value, *values, float(-np.dot(p, np.log(p)))])
        rows.append(row)
    return np.array(rows)


def compare(table: Floats) -> dict[str, Any]:
    """What Figures 3.3 and 3.6 say of a table: shares of the optimum, and averages."""
    best, binary, response, geometric = (table[:, :, j] for j in range(4))
    return {
        "binary is optimal at the least epsilon, share": (binary / best)[:, 0].min(),
        "randomised response is optimal at the largest epsilon, share": (response / best)[:, -1].min(),
        "average of the optimum at the largest epsilon, normalised": (best / table[:, :, 4])[:, -1].mean(),
        "the better of both beats geometric noise on average everywhere": bool(
            (np.maximum(binary, response).mean(axis=0) >= geometric.mean(axis=0)).all()
        ),
        "worst share of randomised response": (response / best).min(),
        "worst share of the binary mechanism": (binary / best).min(),
    }


def draw_comparison(table: Floats, epsilons: list[float], title: str, what: str) -> Any:
    """Averages of the four mechanisms, and two of them as shares of the optimum (Figures 3.3 and 3.6)."""
    figure, axes = panels([f"{title}, left: average", "right: share of the optimum, every instance"], 5.2, 4)
    averages = {
        name: (table[:, :, j] / table[:, :, 4]).mean(axis=0).tolist()
        for j, name in enumerate(("optimal", "binary", "randomised response", "geometric"))
    }
    curves(axes[0], epsilons, averages, "ε", what)
    for j, colour, name in ((1, "#c44e52", "binary"), (2, "#4271ae", "randomised response")):
        axes[1].plot(epsilons, (table[:, :, j] / table[:, :, 0]).T, color=colour, linewidth=0.4, alpha=0.5)
        axes[1].plot([], [], color=colour, label=name)
    axes[1].set_xlabel("ε")
    axes[1].grid(alpha=0.25)
    axes[1].legend(frameon=False, fontsize=8)
    return figure


def sizes(inputs: Inputs, quick: bool) -> tuple[tuple[float, ...], int]:
    """Which epsilons and how many instances, reduced or not."""
    epsilons = inputs["epsilons"]
    return (tuple(epsilons[::3]) if quick else tuple(epsilons)), (12 if quick else inputs["instances"])


def better_of_both(inputs: Inputs, quick: bool, table_of: Table, title: str) -> Finding:
    """What the better of the two simple mechanisms reaches of the optimum (Figures 3.4 and 3.7)."""
    epsilons, count = sizes(inputs, quick)
    shares = {}
    for k in inputs["sizes"]:
        table = table_of(k, count, epsilons)
        shares[k] = np.maximum(table[:, :, 1], table[:, :, 2]) / table[:, :, 0]

    def draw() -> Any:
        figure, axes = panels([f"{title}, k = {k}" for k in inputs["sizes"]], 4.2, 3.0, columns=2)
        for axis, k in zip(axes, inputs["sizes"], strict=True):
            axis.plot(epsilons, shares[k].T, color="#4271ae", linewidth=0.4, alpha=0.5)
            axis.set_ylim(0.5, 1.02)
            axis.set_xlabel("ε")
            axis.grid(alpha=0.25)
        return figure

    return Finding({"least share of the optimum": min(s.min() for s in shares.values())}, draw)


def scaling(
    table: Floats,
    small: tuple[Floats, Floats, str],
    large: tuple[Floats, str],
    inputs: Inputs,
    what: str,
    equation: str,
) -> Finding:
    """How the optimum scales at a small and at a large epsilon (Figures 3.5 and 3.8).

    `small` is what the value is drawn against, what is predicted, and its name; `large` what it is drawn against.
    """
    epsilons, title = inputs["epsilons"], inputs["title"]
    binary, response = table[:, 0, 1], table[:, 1, 2]
    computed = {
        f"largest relative difference from {equation} at 0.1": np.abs(binary / small[1] - 1).max(),
        "least share of the binary mechanism at 0.1": (binary / table[:, 0, 0]).min(),
        "least share of randomised response at 10": (response / table[:, 1, 0]).min(),
        "geometric noise is below both everywhere": bool(
            (table[:, 0, 3] < binary).all() and (table[:, 1, 3] < response).all()
        ),
    }

    def draw() -> Any:
        figure, axes = panels([f"{title}: ε = {epsilons[0]:g}", f"ε = {epsilons[1]:g}"], 4.8, 3.8)
        for i, (axis, xs, x) in enumerate(zip(axes, (small[0], large[0]), (small[2], large[1]), strict=True)):
            for j, name in ((0, "optimal"), (1 + i, ("binary", "randomised response")[i]), (3, "geometric")):
                ring = {"s": 45, "facecolors": "none", "edgecolors": "#4271ae"} if j == 0 else {"s": 9}
                axis.scatter(xs, table[:, i, j], label=name, **ring)
            axis.set_xlabel(x)
            axis.set_ylabel(what)
            axis.grid(alpha=0.25)
            axis.legend(frameon=False, fontsize=8)
        return figure

    return Finding(computed, draw)
