"""LIM 2.3: the staircase, the best noise for real answers."""

from __future__ import annotations

import math

import numpy as np

import utmost as um
from utmost.exact.arrays import Floats
from utmost.reproduce.entry import Finding, Inputs, reproduces
from utmost.reproduce.instances import generator
from utmost.space.sparse import coo_array


@reproduces("LIM-figure-2.2")
def figure_2_2(inputs: Inputs, quick: bool) -> Finding:
    """The density in the plane: it adds up to 1, has steps of e^-eps, and is private."""
    epsilon, gamma = inputs["epsilon"], inputs["gamma"]
    noise = um.noise.staircase(epsilon, dimension=2, gamma=gamma)
    radii = np.arange(0, 60, 0.001) + 0.0005
    density = noise.density(np.column_stack([radii, np.zeros_like(radii)]))
    rng = generator("LIM-figure-2.2")
    points = rng.uniform(-6, 6, (2000 if quick else 20000, 2))
    shifts = rng.uniform(-1, 1, points.shape)
    shifts /= np.maximum(1.0, np.abs(shifts).sum(axis=1, keepdims=True))
    ratios = np.log(noise.density(points) / noise.density(points + shifts))
    computed = {
        "integral": float((4 * radii * density).sum() * 0.001),
        "largest log ratio within the sensitivity": np.abs(ratios).max(),
        "log of a step": float(np.log(density[0] / density[int((gamma + 0.1) * 1000)])),
    }
    return Finding(computed, lambda: um.plot.noise_density(noise, 3.0, "LIM Figure 2.2: staircase density, d = 2"))


def _least_layered_cost(epsilon: float, layers: int, periods: int) -> float:
    """The cheapest private density that is constant on thin l1 layers of the plane, by one linear program.

    Layers at most one sensitivity apart hold points within it, so their densities are within e^epsilon of each other.
    """
    from scipy.optimize import linprog

    n = layers * periods
    edges = np.arange(n + 1) / layers
    volumes = 2 * np.diff(edges**2)
    costs = 4 / 3 * np.diff(edges**3)
    near = [(i, j) for i in range(n) for j in range(max(0, i - layers), min(n, i + layers + 1)) if i != j]
    rows = np.repeat(np.arange(len(near)), 2)
    # variables are masses of layers, scaled by the decay, so that the solver sees numbers of one size
    scale = np.exp(-epsilon * np.arange(n) / layers)
    columns = np.array(near).ravel()
    entries = np.column_stack([scale[[i for i, _ in near]], -math.exp(epsilon) * scale[[j for _, j in near]]])
    entries /= scale[[i for i, _ in near]][:, None]
    table = coo_array((entries.ravel(), (rows, columns)), shape=(len(near), n)).tocsr()
    solution = linprog(
        costs * scale, A_ub=table, b_ub=np.zeros(len(near)), A_eq=(volumes * scale)[None], b_eq=[1.0], method="highs"
    )
    return float(solution.fun)


@reproduces("LIM-theorem-2.3.1")
def theorem_2_3_1(inputs: Inputs, quick: bool) -> Finding:
    """No private density of l1 layers costs less than the best staircase: by linear programming."""
    excess = []
    for epsilon in inputs["epsilons"]:
        least = _least_layered_cost(
            epsilon, inputs["layers"] // (2 if quick else 1), 4 + round(inputs["reach"] / epsilon)
        )
        excess.append(least / um.noise.staircase(epsilon, dimension=2).expected_cost - 1)
    return Finding({"least relative excess": min(excess), "largest relative excess": max(excess)})


def _printed_cost(gamma: Floats, b: float) -> Floats:
    """(2.9) with sensitivity 1."""
    top = gamma**3 + 3 * b / (1 - b) * gamma**2 + 3 * (b**2 + b) / (1 - b) ** 2 * gamma
    top += b * (1 + 4 * b + b**2) / (1 - b) ** 3
    return np.asarray(2 / 3 * top / (gamma**2 + 2 * b / (1 - b) * gamma + (b + b**2) / (1 - b) ** 2))


@reproduces("LIM-equation-2.9")
def equation_2_9(inputs: Inputs, quick: bool) -> Finding:
    """The cost in the plane in closed form."""
    rng = generator("LIM-equation-2.9")
    worst = 0.0
    for _ in range(20 if quick else 200):
        epsilon, gamma = round(float(rng.uniform(0.2, 6)), 3), round(float(rng.random()), 3)
        cost = um.noise.staircase(epsilon, dimension=2, gamma=gamma).expected_cost
        worst = max(worst, abs(cost / float(_printed_cost(np.array(gamma), math.exp(-epsilon))) - 1))
    return Finding({"largest relative difference": worst})


@reproduces("LIM-figure-2.3")
def figure_2_3(inputs: Inputs, quick: bool) -> Finding:
    """The best gamma against b = e^-eps, and the minimiser of (2.9) by search."""
    bs = np.linspace(0.02, 0.98, 13 if quick else 49)
    best = np.array([um.noise.staircase(float(-math.log(b)), dimension=2).gamma for b in bs])
    grid = np.linspace(0, 1, 200001)
    searched = np.array([grid[int(np.argmin(_printed_cost(grid, b)))] for b in bs])
    return Finding(
        {"largest difference from minimising (2.9)": np.abs(best - searched).max()},
        lambda: um.plot.noise_gamma((2,), title="LIM Figure 2.3: the best γ, d = 2"),
    )


@reproduces("LIM-corollary-2.3.2")
def corollary_2_3_2(inputs: Inputs, quick: bool) -> Finding:
    """Both asymptotes, and those of Laplace and of two independent staircases."""
    small, large = inputs["small epsilon"], inputs["large epsilon"]

    def cost(epsilon: float) -> float:
        return um.noise.staircase(epsilon, dimension=2).expected_cost

    computed = {
        "(V - 2/eps) over -eps^2/(36 sqrt 3), small eps": (cost(small) - 2 / small)
        / (-(small**2) / (36 * math.sqrt(3))),
        "(V - 2^(1/3) e^(-eps/3)) over e^(-2 eps/3)/2^(1/3), large eps": (
            cost(large) - 2 ** (1 / 3) * math.exp(-large / 3)
        )
        / (math.exp(-2 * large / 3) / 2 ** (1 / 3)),
        "Laplace costs eps times": um.noise.laplace(1.0, dimension=2).expected_cost,
        "two staircases at eps/2 cost e^(-eps/4) times": 2
        * um.noise.staircase(large / 2).expected_cost
        * math.exp(large / 4),
    }
    return Finding(computed, lambda: um.plot.noise_costs(np.linspace(0.3, 12, 60).tolist(), "LIM Corollary 2.3.2"))
