"""RAIN: Rainbow Differential Privacy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

import utmost as um
from utmost.exact.arrays import Floats
from utmost.reproduce.entry import Finding, Inputs, reproduces
from utmost.reproduce.instances import generator, private_mechanism, random_graph

COLOURS = ("blue", "red", "green")


@reproduces("RAIN-figure-1")
def figure_1(inputs: Inputs, quick: bool) -> Finding:
    """A rainbow graph, its boundary rainbow graph, and the mechanism pulled back from it."""
    space = um.Space.from_edges([tuple(e) for e in inputs["edges"]])
    preferences = {v: tuple(inputs["rainbows"][r]) for r, vertices in inputs["regions"].items() for v in vertices}
    lines, onto = um.rainbow.boundary_space(space, preferences)
    level = um.PureDP.from_ratio(inputs["ratio"])
    best = um.rainbow.best_boundary(space, preferences, level)
    rows = {
        r: best.mechanism.row(um.rainbow.find_regions(space, preferences).boundary(r)[0])
        for r in set(preferences.values())
    }
    boundary = {r: dict(zip(best.mechanism.outputs, map(float, row), strict=True)) for r, row in rows.items()}
    whole = um.rainbow.extend(space, preferences, boundary, level).mechanism
    small = um.rainbow.extend(lines, {p: p[0] for p in lines.points}, boundary, level).mechanism
    computed = {
        "datasets": len(space.points),
        "datasets of the boundary graph": len(lines.points),
        "it consists of one line per rainbow": all(
            sorted(d for r, d in lines.points if r == rainbow)
            == list(range(sum(r == rainbow for r, _ in lines.points)))
            for rainbow in set(preferences.values())
        ),
        "the morphism keeps rainbows": all(onto(v)[0] == preferences[v] for v in space.points),
        "largest difference of the pull-back from the optimum": np.abs(
            onto.pull_back(small).matrix - whole.matrix
        ).max(),
    }
    return Finding(computed, lambda: um.plot.rainbow_graphs(space, preferences))


def _regimes(rows: Floats, growth: float) -> tuple[int, int]:
    """Until which distance red, and until which blue, grow by e^epsilon at each step: tau_R and tau_B."""
    grows = [np.isclose(rows[1:, j], growth * rows[:-1, j], rtol=1e-9) for j in (1, 0)]
    return int(np.argmin(grows[0])), int(np.argmin(grows[1]))


def _orders(rows: Floats) -> list[str]:
    """The order of the colours, least likely first, at each distance."""
    return ["".join("BRG"[j] for j in np.argsort(row, kind="stable")) for row in rows]


def _example(inputs: Inputs) -> tuple[Floats, dict[str, Any]]:
    exact = [Fraction(x) for x in inputs["boundary exactly"]]
    level = um.PureDP.from_ratio(inputs["ratio"])
    rows = um.rainbow.line([float(x) for x in exact], level, inputs["length"])
    red, blue = _regimes(rows, level.growth)
    orders = _orders(rows)
    changes = [i - 1 for i in range(1, len(orders)) if orders[i] != orders[i - 1]]
    return rows, {
        "the boundary adds up to": round(sum(inputs["boundary"]), 12),
        "tau_R": red,
        "tau_B": blue,
        "the order changes after": changes,
        "orders": [orders[0], *(orders[i + 1] for i in changes)],
        "red and green fall by e^eps after tau_B": bool(
            np.allclose(rows[blue + 1 :, 1:], rows[blue:-1, 1:] / level.growth)
        ),
    }


@reproduces("RAIN-example-1")
def example_1(inputs: Inputs, quick: bool) -> Finding:
    """Three regimes: blue and red grow, then only blue, then red and green fall."""
    rows, computed = _example(inputs)
    red = rows[computed["tau_R"] : computed["tau_B"] + 1, 1]
    top = int(np.argmax(red))
    computed["red first rises, then falls, between tau_R and tau_B"] = bool(
        0 < top < len(red) - 1 and (np.diff(red[: top + 1]) > 0).all() and (np.diff(red[top:]) < 0).all()
    )
    return Finding(computed)


@reproduces("RAIN-example-2")
def example_2(inputs: Inputs, quick: bool) -> Finding:
    """The same with blue and red exchanged at the boundary."""
    rows, computed = _example(inputs)
    red = rows[computed["tau_R"] : computed["tau_B"] + 1, 1]
    computed["red does not rise between tau_R and tau_B"] = bool((np.diff(red) <= 0).all())
    return Finding(computed)


def _figure_2(inputs: Inputs, part: str) -> Finding:
    level = um.PureDP.from_ratio(inputs["ratio"])
    rows = um.rainbow.line([float(Fraction(x)) for x in inputs["boundary exactly"]], level, inputs["length"])
    computed = {
        "probabilities at the boundary": rows[0],
        "blue rises": bool((np.diff(rows[:, 0]) > 0).all()),
        "green falls": bool((np.diff(rows[:, 2]) < 0).all()),
        "epsilon": level.log_growth,
    }
    return Finding(
        computed,
        lambda: um.plot.rainbow(
            rows[0].tolist(), level, inputs["length"], COLOURS, f"RAIN Figure 2({part}), ε = ln 1.2"
        ),
    )


@reproduces("RAIN-figure-2a")
def figure_2a(inputs: Inputs, quick: bool) -> Finding:
    """The curves of Example 1."""
    return _figure_2(inputs, "a")


@reproduces("RAIN-figure-2b")
def figure_2b(inputs: Inputs, quick: bool) -> Finding:
    """The curves of Example 2."""
    return _figure_2(inputs, "b")


@reproduces("RAIN-theorem-1")
def theorem_1(inputs: Inputs, quick: bool) -> Finding:
    """A private mechanism pulled back through a morphism is private: here through (rainbow, distance) maps."""
    rng = generator("RAIN-theorem-1")
    worst = -math.inf
    for _ in range(20 if quick else 200):
        space = random_graph(rng, int(rng.integers(3, 15)))
        ranking = [COLOURS, COLOURS[::-1]]
        lines, onto = um.rainbow.boundary_space(space, [ranking[int(rng.random() < 0.5)] for _ in space.points])
        epsilon = float(rng.uniform(0.2, 2))
        mechanism = private_mechanism(rng, lines, epsilon, 4)
        worst = max(worst, onto.pull_back(mechanism).epsilon(space) - mechanism.epsilon(lines))
    return Finding({"largest excess of epsilon": worst})


def _random_rainbow(rng: np.random.Generator) -> tuple[um.Space, list[Any], dict[Any, Any], Any]:
    """A small graph with two or three rankings and a boundary that is private for some level."""
    space = random_graph(rng, int(rng.integers(4, 10)), 0.15)
    rankings = [COLOURS, ("red", "green", "blue"), ("green", "blue", "red")]
    far = space.distances_from(space.points[0])
    cut = sorted(rng.integers(0, int(far.max()) + 1, size=2).tolist())
    preferences = [rankings[int(d > cut[0]) + int(d > cut[1])] for d in far]
    level = um.PureDP(round(float(rng.uniform(0.3, 1.5)), 2))
    mean = rng.dirichlet(np.ones(3) * 3)
    spread = math.exp(float(level.epsilon) / 4)
    boundary = {}
    for ranking in set(preferences):
        tilted = mean * np.exp(rng.uniform(-1, 1, 3) * math.log(spread))
        boundary[ranking] = dict(zip(COLOURS, (tilted / tilted.sum()).tolist(), strict=True))
    return space, preferences, boundary, level


@reproduces("RAIN-theorem-2")
def theorem_2(inputs: Inputs, quick: bool) -> Finding:
    """The one optimum against the lexicographic linear program, on random rainbow graphs."""
    rng = generator("RAIN-theorem-2")
    worst = 0.0
    for _ in range(6 if quick else 40):
        space, preferences, boundary, level = _random_rainbow(rng)
        regions = um.rainbow.find_regions(space, preferences)
        best = um.rainbow.extend(space, preferences, boundary, level).mechanism
        known_values = {v: boundary[r] for r in regions.rainbows for v in regions.boundary(r)}
        program = um.rainbow.lexicographic(space, preferences, known_values, level).mechanism
        columns = [program.outputs.index(o) for o in best.outputs]
        worst = max(worst, np.abs(best.matrix - program.matrix[:, columns]).max())
    return Finding({"largest difference from the linear programs": worst})


@reproduces("RAIN-theorem-3")
def theorem_3(inputs: Inputs, quick: bool) -> Finding:
    """The optimum on the boundary rainbow graph, pulled back, is the optimum on the graph."""
    rng = generator("RAIN-theorem-3")
    worst = 0.0
    for _ in range(30 if quick else 200):
        space, preferences, boundary, level = _random_rainbow(rng)
        lines, onto = um.rainbow.boundary_space(space, preferences)
        small = um.rainbow.extend(lines, {p: p[0] for p in lines.points}, boundary, level).mechanism
        whole = um.rainbow.extend(space, preferences, boundary, level).mechanism
        columns = [small.outputs.index(o) for o in whole.outputs]
        worst = max(worst, np.abs(onto.pull_back(small).matrix[:, columns] - whole.matrix).max())
    return Finding({"largest difference": worst})


def _closed_forms(rng: np.random.Generator, count: int) -> dict[str, float]:
    """(12), (21) and (29) with the thresholds (2) and (3) rounded up, as printed, and down, against `rainbow.line`."""
    worst: dict[str, float] = {}
    for _ in range(count):
        b, r, _ = start = rng.dirichlet(np.ones(3) * rng.uniform(0.3, 3))
        level = um.PureDP(round(float(rng.uniform(0.05, 1.5)), 3))
        eps, growth, n = float(level.epsilon), level.growth, 15
        rows = um.rainbow.line(start, level, n)
        for name, turn in (("rounded up", math.ceil), ("rounded down", math.floor)):
            tau_b, tau_r = (turn(max(-math.log(x * (growth + 1)) / eps + 1, 0.0)) for x in (b, b + r))
            for i in range(1, n):
                blue = (
                    math.exp(i * eps) * b
                    if i <= tau_b
                    else 1 - math.exp((tau_b - i) * eps) + math.exp((2 * tau_b - i) * eps) * b
                )
                red = (
                    math.exp(i * eps) * r
                    if i <= tau_r
                    else _middle(i, tau_r, eps, b, b + r)
                    if i <= tau_b
                    else math.exp(-(i - tau_b) * eps) * _middle(tau_b, tau_r, eps, b, b + r)
                )
                green = (
                    1 - math.exp(i * eps) * (b + r)
                    if i <= tau_r
                    else math.exp(-(i - tau_r) * eps) * (1 - math.exp(tau_r * eps) * (b + r))
                )
                for what, value, j in (("blue", blue, 0), ("red", red, 1), ("green", green, 2)):
                    key = f"{what}, {name}"
                    worst[key] = max(worst.get(key, 0.0), abs(rows[i, j] - value))
    return worst


def _middle(i: int, tau: int, eps: float, blue: float, both: float) -> float:
    """R_Mid of (22)."""
    return 1 - math.exp(-(i - tau) * eps) - math.exp(i * eps) * blue + math.exp(-(i - 2 * tau) * eps) * both


def _colour(name: str, colour: str, quick: bool) -> Finding:
    worst = _closed_forms(generator(name), 30 if quick else 300)
    return Finding(
        {
            "largest difference with ceilings in (2), (3)": worst[f"{colour}, rounded up"],
            "largest difference with floors": worst[f"{colour}, rounded down"],
        }
    )


@reproduces("RAIN-theorem-4")
def theorem_4(inputs: Inputs, quick: bool) -> Finding:
    """The first colour in closed form."""
    return _colour("RAIN-theorem-4", "blue", quick)


@reproduces("RAIN-theorem-5")
def theorem_5(inputs: Inputs, quick: bool) -> Finding:
    """The second colour in closed form."""
    return _colour("RAIN-theorem-5", "red", quick)


@reproduces("RAIN-corollary-1")
def corollary_1(inputs: Inputs, quick: bool) -> Finding:
    """The third colour in closed form."""
    return _colour("RAIN-corollary-1", "green", quick)


@reproduces("RAIN-corollary-2")
def corollary_2(inputs: Inputs, quick: bool) -> Finding:
    """Two colours: the binary bound."""
    rng = generator("RAIN-corollary-2")
    worst = 0.0
    for _ in range(30 if quick else 300):
        level, blue = um.PureDP(round(float(rng.uniform(0.05, 1.5)), 3)), round(float(rng.random()), 3)
        rows = um.rainbow.line([blue, 1 - blue], level, 12)
        worst = max(worst, np.abs(rows[:, 0] - level.upper_after(np.arange(12), np.full(12, blue))).max())
    return Finding({"largest difference from the binary mechanism": worst})
