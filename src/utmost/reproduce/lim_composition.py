"""LIM 2.2 and 2.4: what privacy means for tests, and how it degrades over many releases."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

import utmost as um
from utmost.exact.arrays import Floats
from utmost.reproduce.entry import Finding, Inputs, reproduces
from utmost.reproduce.instances import generator
from utmost.reproduce.panels import panels

PAIR = um.path(2)


def _two_rows(rng: np.random.Generator, outputs: int) -> um.FiniteMechanism:
    rows = rng.dirichlet(np.ones(outputs) * rng.uniform(0.5, 4), size=2)
    return um.FiniteMechanism(rows, range(2), range(outputs))


def _errors(mechanism: um.FiniteMechanism) -> Floats:
    """(missed detection, false alarm) of every deterministic test between the two points."""
    rejects = np.array(list(itertools.product((0.0, 1.0), repeat=len(mechanism.outputs))))
    return np.column_stack([1 - rejects @ mechanism.matrix[1], rejects @ mechanism.matrix[0]])


@reproduces("LIM-theorem-2.2.1")
def theorem_2_2_1(inputs: Inputs, quick: bool) -> Finding:
    """Private if and only if every test satisfies (2.1), on random mechanisms (Theorem 2.2.1, Corollary 2.2.2)."""
    rng = generator("LIM-theorem-2.2.1")
    agree, private, count = 0, 0, 60 if quick else 500
    for _ in range(count):
        mechanism, epsilon, delta = _two_rows(rng, 5), float(rng.uniform(0.1, 1.5)), float(rng.uniform(0, 0.3))
        missed, alarm = _errors(mechanism).T
        growth = math.exp(epsilon)
        tests = min((alarm + growth * missed).min(), (growth * alarm + missed).min()) >= 1 - delta - 1e-12
        edges = mechanism.delta(PAIR, epsilon) <= delta + 1e-12
        agree += bool(tests) == edges
        private += edges
    return Finding({"share on which both agree": agree / count, "share that is private": private / count})


@reproduces("LIM-theorem-2.2.4")
def theorem_2_2_4(inputs: Inputs, quick: bool) -> Finding:
    """A mechanism can be simulated from another if and only if its region lies inside (Theorems 2.2.3 and 2.2.4)."""
    rng = generator("LIM-theorem-2.2.4")
    agree, inside, count = 0, 0, 30 if quick else 200
    for _ in range(count):
        better = _two_rows(rng, 4)
        if rng.random() < 0.5:  # made from the first by a channel
            worse = um.FiniteMechanism(better.matrix @ rng.dirichlet(np.ones(3), size=4), range(2), range(3))
        else:
            worse = _two_rows(rng, 3)
        contained = um.accounting.region_between(worse, 0, 1) in um.accounting.region_between(better, 0, 1)
        agree += contained == (um.accounting.simulating_channel(better, worse) is not None)
        inside += contained
    return Finding({"share on which both agree": agree / count, "share inside": inside / count})


@reproduces("LIM-figure-2.1")
def figure_2_1(inputs: Inputs, quick: bool) -> Finding:
    """The privacy region of a level: its corner, its total variation (Remark 2b), and its symmetry."""
    epsilon, delta = inputs["epsilon"], inputs["delta"]
    growth = math.exp(epsilon)
    level = um.ApproxDP(epsilon, delta)
    region = um.accounting.region(level)
    filled = um.accounting.region_between(um.local.quaternary(level), 0, 1)

    def inside(p_missed: float, p_alarm: float) -> bool:
        return bool(p_alarm + growth * p_missed >= 1 - delta and growth * p_alarm + p_missed >= 1 - delta)

    computed = {
        "the quaternary mechanism fills it": region in filled and filled in region,
        "total variation less 1 - 2(1 - delta)/(1 + e^eps)": region.total_variation
        - (1 - 2 * (1 - delta) / (1 + growth)),
        "(2.2) is symmetric to P_FA + P_MD = 1": inside(1.0, 1.0) == inside(0.0, 0.0),
        "total variation": region.total_variation,
    }
    return Finding(computed, lambda: um.plot.level_region(epsilon, delta))


@reproduces("LIM-remark-2")
def remark_2(inputs: Inputs, quick: bool) -> Finding:
    """When a level implies another, by the rule of Remark 2(a) and by the least delta."""
    rng = generator("LIM-remark-2")
    agree, implied, count = 0, 0, 100 if quick else 1000
    for _ in range(count):
        e1, e2, d1 = (float(x) for x in rng.uniform(0, 1.5, 3))
        d1, d2 = d1 / 4, d1 / 4 + float(rng.uniform(0, 0.3))
        holds = um.compose(um.ApproxDP(e1, d1)).delta(e2) <= d2
        rule = um.accounting.theorems.implies(um.ApproxDP(e1, d1), um.ApproxDP(e2, d2))
        agree += holds == rule
        implied += holds
    return Finding({"share on which both agree": agree / count, "share that is implied": implied / count})


@reproduces("LIM-theorem-2.4.1")
def theorem_2_4_1(inputs: Inputs, quick: bool) -> Finding:
    """Basic composition holds; whether it can be tightened at the same total delta."""
    worst = -math.inf
    for k, epsilon, delta in itertools.product((1, 2, 5, 20), (0.1, 0.5, 1.0), (0.0, 0.01)):
        total = um.compose(um.ApproxDP(epsilon, delta), times=k)
        worst = max(worst, total.delta(k * epsilon) - k * delta)
    k, epsilon, delta = inputs["k"], inputs["epsilon"], inputs["delta"]
    return Finding(
        {
            "largest excess of delta at k eps over k delta": worst,
            "least epsilon at total delta = k delta": um.compose(um.ApproxDP(epsilon, delta), times=k).epsilon(
                k * delta
            ),
        }
    )


@reproduces("LIM-theorem-2.4.2")
def theorem_2_4_2(inputs: Inputs, quick: bool) -> Finding:
    """Advanced composition (2.10) holds: the exact total is below it."""
    worst = -math.inf
    for k, epsilon, delta, slack in itertools.product((2, 10, 100), (0.01, 0.1, 0.5), (0.0, 0.001), (1e-6, 1e-2)):
        exact = um.compose(um.ApproxDP(epsilon, delta), times=k).delta(
            um.accounting.theorems.advanced(epsilon, k, slack)
        )
        worst = max(worst, exact - (k * delta + slack))
    return Finding({"largest excess of the exact delta": worst})


@reproduces("LIM-theorem-2.4.3")
def theorem_2_4_3(inputs: Inputs, quick: bool) -> Finding:
    """The exact total at (k - 2i) eps, against the printed sum and against all outcomes of randomised response."""
    worst, regions = 0.0, 0
    for k, epsilon, delta in itertools.product((1, 2, 3, 10, 30), (0.05, 0.4, 1.0), (0.0, 0.1)):
        total = um.compose(um.ApproxDP(epsilon, delta), times=k)
        for i in range(k // 2 + 1):
            sums = sum(
                math.comb(k, j) * (math.exp((k - j) * epsilon) - math.exp((k - 2 * i + j) * epsilon)) for j in range(i)
            )
            printed = 1 - (1 - delta) ** k * (1 - sums / (1 + math.exp(epsilon)) ** k)
            worst = max(worst, abs(total.delta(round((k - 2 * i) * epsilon, 12)) - printed))
    k = inputs["k"]
    yes = math.exp(inputs["epsilon"]) / (1 + math.exp(inputs["epsilon"]))
    losses = {sum(signs) for signs in itertools.product((1, -1), repeat=k)}
    regions = sum(loss >= 0 for loss in losses)
    outcomes = [
        (yes ** signs.count(1) * (1 - yes) ** signs.count(-1), sum(signs))
        for signs in itertools.product((1, -1), repeat=k)
    ]
    exact = um.compose(um.PureDP(inputs["epsilon"]), times=k).delta(inputs["epsilon"])
    summed = sum(p * max(0.0, 1 - math.exp(inputs["epsilon"] * (1 - loss))) for p, loss in outcomes)
    return Finding(
        {
            "largest difference from (2.11)": worst,
            "difference from all 2^k outcomes": abs(exact - summed),
            "regions that are intersected, k = 5": regions,
        }
    )


@reproduces("LIM-figure-2.4")
def figure_2_4(inputs: Inputs, quick: bool) -> Finding:
    """The privacy region of k = 1..5 releases at eps = 0.4 shrinks to the corner as k grows."""
    epsilon = inputs["epsilon"]
    variation = {
        delta: [um.compose(um.ApproxDP(epsilon, delta), times=k).delta(0) for k in range(1, 6)]
        for delta in inputs["deltas"]
    }
    computed = {
        "regions grow with k": all(sorted(v) == v for v in variation.values()),
        "total variation, delta = 0": variation[inputs["deltas"][0]],
        "total variation, delta = 0.1": variation[inputs["deltas"][1]],
    }

    def draw() -> Any:
        figure, axes = panels([f"LIM Figure 2.4: ε = {epsilon}, δ = {d:g}" for d in inputs["deltas"]], 4.8, 4.4)
        for axis, delta in zip(axes, inputs["deltas"], strict=True):
            for k in range(1, 6):
                axis.plot(*um.compose(um.ApproxDP(epsilon, delta), times=k).region().corners.T, label=f"k = {k}")
            axis.plot([0, 1], [1, 0], linestyle=":", color="#888888")
            axis.set_xlabel("missed detection")
            axis.set_ylabel("false alarm")
            axis.legend(frameon=False, fontsize=8)
        return figure

    return Finding(computed, draw)


@reproduces("LIM-figure-2.5")
def figure_2_5(inputs: Inputs, quick: bool) -> Finding:
    """30 releases at (0.1, 0.001): the three theorems; the exact one is the tightest."""
    k, epsilon, delta = inputs["k"], inputs["epsilon"], inputs["delta"]
    total = um.compose(um.ApproxDP(epsilon, delta), times=k)
    budget = inputs["total delta"]
    slack = budget - k * delta
    computed = {
        "epsilon by Theorem 2.4.1": k * epsilon,
        "epsilon by Theorem 2.4.2 at total delta 0.05": um.accounting.theorems.advanced(epsilon, k, slack),
        "epsilon by Theorem 2.4.3 at total delta 0.05": total.epsilon(budget),
        "Theorem 2.4.3 is the tightest": total.epsilon(budget)
        < min(k * epsilon, um.accounting.theorems.advanced(epsilon, k, slack)),
    }

    def draw() -> Any:
        figure = um.plot.theorem_regions(epsilon, delta, k)
        return um.plot.region_tangents(total.region(), (0, 0.4, 0.8, 1.2), "Its tangents", beside=figure)

    return Finding(computed, draw)


@reproduces("LIM-theorem-2.4.4")
def theorem_2_4_4(inputs: Inputs, quick: bool) -> Finding:
    """(2.12) and its short form hold, and improve on (2.10); what Section 2.4.2 says of their order."""
    worst = short = gain = -math.inf
    for k, epsilon, delta, slack in itertools.product((2, 10, 100), (0.01, 0.1, 0.5, 0.9), (0.0, 0.001), (1e-6, 1e-2)):
        total = um.compose(um.ApproxDP(epsilon, delta), times=k)
        bound = um.accounting.theorems.closed_form(epsilon, k, slack)
        worst = max(worst, total.delta(bound) - (1 - (1 - delta) ** k * (1 - slack)))
        simple = um.accounting.theorems.closed_form_small(epsilon, k, slack)
        short = max(short, bound - simple)
        gain = max(gain, bound - um.accounting.theorems.advanced(epsilon, k, slack))
    ratios = []
    for k in inputs["ks"]:
        epsilon = 1 / k  # so that epsilon = delta and the printed order is k eps^2 alone
        ratios.append(um.compose(um.PureDP(epsilon), times=k).epsilon(epsilon) / (k * epsilon**2))
    return Finding(
        {
            "largest excess of the exact delta over (2.12)": worst,
            "largest excess of (2.12) over its short form": short,
            "largest excess of (2.12) over (2.10)": gain,
            "exact epsilon over the order of Section 2.4.2, k = 10000, eps = delta = 1/k": ratios[-1],
        }
    )


@reproduces("LIM-theorem-2.4.5")
def theorem_2_4_5(inputs: Inputs, quick: bool) -> Finding:
    """(2.13) for different levels, against certified bounds on the exact total."""
    rng = generator("LIM-theorem-2.4.5")
    worst = -math.inf
    for _ in range(3 if quick else 20):
        k = int(rng.integers(2, 12))
        epsilons, deltas = np.round(rng.uniform(0.01, 0.6, k), 3), np.round(rng.uniform(0, 0.01, k), 4)
        slack = float(10 ** rng.uniform(-6, -1))
        levels = [um.ApproxDP(float(e), float(d)) for e, d in zip(epsilons, deltas, strict=True)]
        lower, _ = um.compose(levels).bounds(um.accounting.theorems.closed_form_of(levels, slack))
        worst = max(worst, lower - (1 - (1 - slack) * float(np.prod(1 - deltas))))
    return Finding({"largest excess of the exact delta over (2.13)": worst})


@reproduces("LIM-equation-2.11")
def equation_2_11(inputs: Inputs, quick: bool) -> Finding:
    """The list against the exact delta of the composition at each of its epsilons."""
    off = 0.0
    levels = [um.ApproxDP("0.1", "0.001"), um.PureDP(1), um.ApproxDP("0.5", "0.05")]
    for level in levels:
        for times in (1, 2, 7, 30):
            listed = um.accounting.composed_levels(level, times)
            exact = um.compose(level, times)
            off = max([off, *(abs(delta - exact.delta(epsilon)) for epsilon, delta in listed)])
    count = len(um.accounting.composed_levels(levels[0], 30))
    return Finding({"largest difference from exact composition": off, "promises in the list for k = 30": count})
