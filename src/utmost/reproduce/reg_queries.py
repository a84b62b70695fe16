"""REG, Sections 5.1, 6 and Appendix B: counts, symmetric graphs, sums, pairs of counts, a singular matrix."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import utmost as um
from utmost.reproduce.entry import Finding, Inputs, reproduces
from utmost.reproduce.instances import generator, random_prior
from utmost.reproduce.panels import curves, panels
from utmost.reproduce.reg_spaces import same_space


@reproduces("REG-figure-5")
def figure_5(inputs: Inputs, quick: bool) -> Finding:
    """Adjacency of the case study's queries, derived from databases."""
    people, largest = inputs["people"], inputs["largest"]
    computed = {
        "a sum joins results at most v apart": same_space(
            um.query(um.hamming(people, largest + 1), sum)[0], um.sums(people, largest)
        ),
        "two counts join results at most one apart in each": same_space(
            um.query(
                um.hamming(people, tuple(itertools.product((0, 1), repeat=2))),
                lambda d: tuple(map(sum, zip(*d, strict=True))),
            )[0],
            um.grid((people + 1, people + 1)),
        ),
    }
    return Finding(
        computed,
        lambda: um.plot.query_graphs({"(a) a sum, v = 3": um.sums(3, largest), "(b) two counts": um.grid((4, 4))}),
    )


@reproduces("REG-counting")
def counting(inputs: Inputs, quick: bool) -> Finding:
    """Counting queries: tight constraints are the truncated geometric mechanism, best for every prior after a remap."""
    rng = generator("REG-counting")
    difference = loss = 0.0
    for epsilon in inputs["epsilons"]:
        n = inputs["results"]
        geometric = um.finite.geometric(n, epsilon)
        difference = max(
            difference,
            np.abs(um.finite.tight_constraints(um.path(n), epsilon).mechanism.matrix - geometric.matrix).max(),
        )
        for _ in range(2 if quick else 8):
            prior = random_prior(rng, n)
            best = um.finite.optimal(um.path(n), epsilon, prior, method="linear-program").value
            loss = max(loss, abs(geometric.expected_loss(prior) - best))
    return Finding(
        {"largest difference of the matrices": difference, "largest loss above the optimum, any prior": loss}
    )


@reproduces("REG-symmetric")
def symmetric(inputs: Inputs, quick: bool) -> Finding:
    """Vertex-transitive and distance-regular graphs: tight constraints exist at every epsilon."""
    spaces = [um.cycle(7), um.complete(5), um.hamming(3, 3), um.cycle(12), um.hamming(5, 2)]
    missing = [
        (repr(space), epsilon)
        for space in spaces
        for epsilon in inputs["epsilons"]
        if um.finite.regularity(None, space, epsilon) is None
    ]
    return Finding({"epsilons at which it does not exist": [e for _, e in missing]})


def _sum_utilities(space: um.Space, epsilons: list[float], geometric: Any) -> tuple[list[float], list[float]]:
    tight = [1 - um.finite.tight_constraints(space, e).value for e in epsilons]
    return tight, [geometric(e) for e in epsilons]


def _figure_6(title: str, epsilons: list[float], tight: list[float], other: list[float]) -> Any:
    figure, axes = panels([title], 6.0, 4)
    lines = {"tight constraints": tight, "geometric, best remap": other}
    curves(axes[0], epsilons, lines, "ε", "utility, uniform prior", marker="o")
    return figure


@reproduces("REG-figure-6a")
def figure_6a(inputs: Inputs, quick: bool) -> Finding:
    """The sum of 150 people's values: from when on tight constraints exist, and how they compare."""
    people, largest = inputs["people"], inputs["largest"]
    space = um.sums(people, largest)
    results = len(space.points)
    epsilons = inputs["epsilons"][:: 3 if quick else 1]
    tight, other = _sum_utilities(
        space, epsilons, lambda e: 1 - um.finite.geometric(results, e / largest).expected_loss()
    )
    try:
        um.finite.tight_constraints(space, inputs["stated minimum"])
        least_entry = 0.0
    except um.errors.NoSuchMechanism as missing:
        least_entry = missing.entry
    computed = {
        "smallest epsilon": float(um.finite.smallest_epsilon(space)),
        "least diagonal entry at 0.8": least_entry,
        "least ratio of the utilities": min(t / o for t, o in zip(tight, other, strict=True)),
    }
    return Finding(computed, lambda: _figure_6("REG Figure 6(a): a sum of 150 values 0..5", epsilons, tight, other))


@reproduces("REG-figure-6b")
def figure_6b(inputs: Inputs, quick: bool) -> Finding:
    """Two counts over 30 people."""
    people = inputs["people"]
    space = um.grid((people + 1, people + 1))
    epsilons = inputs["epsilons"][:: 3 if quick else 1]

    def geometric(epsilon: float) -> float:
        """Both counts answered apart, each at half of epsilon: guesses are right independently of each other."""
        return (1 - um.finite.geometric(people + 1, epsilon / 2).expected_loss()) ** 2

    tight, other = _sum_utilities(space, epsilons, geometric)
    exists = [um.finite.regularity(None, space, e) is not None for e in (inputs["stated minimum"], *inputs["bracket"])]
    computed = {
        "exists at 0.9": exists[0],
        "exists at 1.136079": exists[1],
        "exists at 1.136081": exists[2],
        "least ratio of the utilities": min(t / o for t, o in zip(tight, other, strict=True)),
    }
    return Finding(computed, lambda: _figure_6("REG Figure 6(b): two counts over 30 people", epsilons, tight, other))


@reproduces("REG-monotone")
def monotone(inputs: Inputs, quick: bool) -> Finding:
    """Existence at one epsilon does not imply existence at a larger one."""
    graph = um.Space.from_edges([tuple(e) for e in inputs["edges"]], points=range(6))
    exists = [um.finite.regularity(None, graph, um.PureDP.from_ratio(r)) is not None for r in inputs["ratios"]]
    return Finding(
        {
            "exists at e^-eps = 0.73": exists[0],
            "exists at e^-eps = 0.6": exists[1],
            "exists at e^-eps = 0.45": exists[2],
        }
    )


@reproduces("REG-appendix-B")
def appendix_b(inputs: Inputs, quick: bool) -> Finding:
    """The cube with antipodes joined: Phi is singular at e^-eps = 1/3 and at no other value in (0, 1)."""
    corners = list(itertools.product((0, 1), repeat=3))
    edges = [
        (a, b)
        for a, b in itertools.combinations(corners, 2)
        if sum(x != y for x, y in zip(a, b, strict=True)) in (1, 3)
    ]
    space = um.Space.from_edges(edges, points=corners)
    even = np.array([1 if sum(c) % 2 == 0 else -1 for c in corners])

    def least(alpha: float) -> float:
        return float(np.abs(np.linalg.eigvalsh(alpha ** space.distances())).min())

    third = um.PureDP.from_ratio(3)
    computed = {
        "largest distance": space.distances().max(),
        "even rows less odd rows at 1/3": np.abs(even @ (3.0 ** -space.distances())).max(),
        "least |eigenvalue| at 1/3": least(1 / 3),
        "least |eigenvalue| for alpha <= 1/7": min(least(a) for a in np.linspace(0.001, 1 / 7, 40)),
        "tight constraints exist at 1/3": bool(um.finite.tight_constraints(space, third).verify()),
    }
    return Finding(computed)
