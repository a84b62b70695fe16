"""Items that the papers define, remark on or leave open, each compared with an independent computation.

These items have no printed number. Their stated value is that of a definition or a proof, and where there is only an
inequality, the best value known before.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np

import utmost as um
from utmost.exact.arrays import Floats
from utmost.reproduce.entry import Finding, Inputs, reproduces
from utmost.reproduce.instances import (
    generator,
    private_mechanism,
    random_extensions,
    random_graph,
    random_prior,
    simple_paths,
)
from utmost.space.integers import Tiers
from utmost.space.line import Line
from utmost.theory.scalar.design.tiers import best_tiered_choice, best_tiered_count

INSTANCES = 20
"""The number of random instances of each, in reduced runs too."""


# ---- BIN, HET ----


@reproduces("BIN-remark")
def remark(inputs: Inputs, quick: bool) -> Finding:
    """Which known dataset limits another, by which path: the least limit over all known datasets and simple paths."""
    graph = um.Space.from_edges([("v1", "v2"), ("v2", "v3"), ("v3", "v4")])
    colour = {"v1": "red", "v2": "blue", "v3": "blue", "v4": "red"}
    best = um.binary.extend(graph, colour, inputs["known"], um.PureDP.from_ratio(2), ("red", "blue"))
    rng, level, count, worst = generator("BIN-remark"), um.PureDP(1), 0, 0.0
    for space, truth, known_values in random_extensions(rng, 10 * INSTANCES, 7):
        try:
            extension = um.binary.extend(space, truth, known_values, level)
        except um.errors.NoExtension:
            continue
        for v in space.points:
            reason = None if v in known_values else extension.binding(v)
            if reason is not None:
                least = min(
                    level.upper_after(len(path) - 1, p if truth[v] else 1 - p)
                    for h, p in known_values.items()
                    for path in simple_paths(space, space.index(h), space.index(v))
                )
                worst = max(
                    worst,
                    abs(reason.shares[-1] - least),
                    abs(reason.shares[-1] - extension.mechanism.probability(v, truth[v])),
                )
        count += 1
        if count == INSTANCES:
            break
    limits = best.binding("v2")
    assert limits is not None
    computed = {
        "what limits v2": limits.known,
        "by which path": list(limits.path),
        "tau": limits.tau,
        "random graphs": count,
        "largest difference from the least over all paths": worst,
    }
    return Finding(computed)


@reproduces("HET-tiers")
def tiers(inputs: Inputs, quick: bool) -> Finding:
    """Groups of people with levels of their own: counts and a majority on the grid of their tallies."""
    few, many, epsilon = inputs["few"], inputs["many"], um.PureDP(inputs["lower privacy"])
    share = str(Fraction(str(inputs["higher privacy"])) / Fraction(str(inputs["lower privacy"])))
    count = best_tiered_count(Tiers((Line(0, few, 1), Line(0, many, 1)), (share, "1")), epsilon)
    strictest = um.finite.geometric(few + many + 1, inputs["higher privacy"]).expected_loss(loss="absolute")
    small, large = inputs["majority"]
    grid = um.grid((small + 1, large + 1), metric="manhattan")
    levels = um.per_edge(grid, lambda u, v: inputs["higher privacy"] if u[0] != v[0] else inputs["lower privacy"])
    is_yes = {point: 2 * sum(point) > small + large for point in grid.points}
    balanced = um.binary.balanced(grid, is_yes, levels).mechanism
    error = float(np.mean([balanced.probability(point, not is_yes[point]) for point in grid.points]))
    majority = best_tiered_choice(
        Tiers((Line(0, small, 1), Line(0, large, 1)), (share, "1")), (small + large) // 2 + 1, epsilon
    )
    computed = {
        "error of a count at the higher privacy for all": strictest,
        "error with tiers": count.value,
        "bound, the other tier known": count.certificate.bound,
        "a majority is wrong, balanced": error,
        "a majority is wrong, best boundary": majority.value,
        "verified": bool(count.verify()) and bool(majority.verify()),
        "largest difference of a majority from best_boundary on random grids": _majorities(),
    }
    return Finding(computed)


def _majorities() -> float:
    """On random grids: the design for tiers against the linear program on the explicit graph."""
    rng, worst = generator("HET-tiers"), 0.0
    for _ in range(INSTANCES):
        sizes, epsilon = rng.integers(1, 5, 2).tolist(), round(float(rng.uniform(0.3, 2)), 2)
        share = int(rng.integers(1, 10))
        border = int(rng.integers(1, sum(sizes) + 1))
        grid = um.grid((sizes[0] + 1, sizes[1] + 1), metric="manhattan")
        levels = um.per_edge(grid, {(u, v): share * epsilon / 10 if u[0] != v[0] else epsilon for u, v in grid.edges})
        best = um.binary.best_boundary(grid, lambda point, b=border: sum(point) >= b, levels)
        lines = tuple(Line(0, size, 1) for size in sizes)
        choice = best_tiered_choice(Tiers(lines, (f"{share}/10", "1")), border, um.PureDP(epsilon))
        worst = max(worst, abs(1 - best.value - choice.value))
    return worst


# ---- RAIN ----


@reproduces("RAIN-definition-3")
def definition_3(inputs: Inputs, quick: bool) -> Finding:
    """Lexicographic domination, and domination by every prefix, against the words of the definition."""
    rng, agree, outputs = generator("RAIN-definition-3"), 0, ("blue", "red", "green")
    for _ in range(INSTANCES):
        n = int(rng.integers(1, 4))
        tables = rng.integers(1, 4, (2, n, 3)) / 1.0  # small numbers, so that ties happen
        first_mechanism, second_mechanism = (
            um.FiniteMechanism(table / table.sum(axis=1, keepdims=True), range(n), outputs) for table in tables
        )
        ranks = [tuple(rng.permutation(list(outputs)).tolist()) for _ in range(n)]
        rows = [
            [[m.probability(v, o) for o in ranks[v]] for v in range(n)] for m in (first_mechanism, second_mechanism)
        ]
        first = all(a >= b for a, b in zip(*rows, strict=True))  # lists compare as the definition does
        every = all(
            x >= y - 1e-15 for a, b in zip(*rows, strict=True) for x, y in zip(np.cumsum(a), np.cumsum(b), strict=True)
        )
        agree += um.rainbow.dominates(first_mechanism, second_mechanism, dict(enumerate(ranks))) == first
        agree += (
            um.rainbow.dominates(first_mechanism, second_mechanism, dict(enumerate(ranks)), order="dominance") == every
        )
    return Finding({"share on which it agrees": agree / (2 * INSTANCES)})


@reproduces("RAIN-one-dataset")
def one_dataset(inputs: Inputs, quick: bool) -> Finding:
    """The mechanism at one dataset of an implicit graph, against the optimum on the whole graph."""
    rng, worst = generator("RAIN-one-dataset"), 0.0
    outputs = ("blue", "red", "green")
    for _ in range(INSTANCES):
        space = random_graph(rng, int(rng.integers(4, 10)), 0.2)
        is_close = space.distances_from(0) <= 1
        ranked = [tuple(rng.permutation(list(outputs)).tolist()) for _ in range(2)]
        rankings = [ranked[int(is_near)] for is_near in is_close]
        shares = dict(zip(outputs, rng.dirichlet(5 * np.ones(3)).tolist(), strict=True))
        level = um.PureDP(round(float(rng.uniform(0.3, 1.5)), 2))
        boundary = dict.fromkeys(set(rankings), shares)
        best = um.rainbow.extend(space, rankings, boundary, level).mechanism
        neighbours: dict[Any, list[Any]] = {v: [] for v in space.points}
        for a, b in space.edges:
            neighbours[a].append(b)
            neighbours[b].append(a)
        for v in space.points:
            row = um.rainbow.at(v, neighbours.__getitem__, rankings.__getitem__, boundary, level)
            worst = max(worst, *(abs(row.probability(o) - best.probability(v, o)) for o in best.outputs))
    return Finding({"largest difference from the whole graph": worst})


# ---- REG ----


@reproduces("REG-remaps")
def remaps(inputs: Inputs, quick: bool) -> Finding:
    """Remaps to the tight mechanism, conditional min-entropy by all guesses, and products on grids."""
    rng = generator("REG-remaps")
    difference, refused, entropy, products = 0.0, 0, 0.0, 0.0
    for _ in range(INSTANCES):
        n, epsilon = int(rng.integers(2, 5)), round(float(rng.uniform(0.3, 2)), 2)
        tight = um.finite.geometric(n, epsilon).matrix
        parts = rng.uniform(0.1, 0.9, n)
        divided = um.FiniteMechanism(np.hstack([tight * parts, tight * (1 - parts)]), range(n), range(2 * n))
        remap = um.finite.remap_to_tight(divided, um.path(n), epsilon)
        difference = max(difference, math.inf if remap is None else float(np.abs(divided.matrix @ remap - tight).max()))
        mixture = um.FiniteMechanism(tight @ (0.9 * np.eye(n) + 0.1 / n), range(n), range(n))
        refused += um.finite.remap_to_tight(mixture, um.path(n), epsilon) is None
        prior, mechanism = random_prior(rng, n), private_mechanism(rng, um.path(n), epsilon, 3)
        right = max(
            sum(prior[guess] * mechanism.matrix[guess, o] for o, guess in enumerate(guesses))
            for guesses in itertools.product(range(n), repeat=3)
        )
        entropy = max(entropy, abs(mechanism.conditional_min_entropy(prior) + math.log2(right)))
        product = um.finite.product_geometric((n, 3), epsilon).matrix
        grid = um.finite.tight_constraints(um.grid((n, 3), metric="manhattan"), epsilon).mechanism.matrix
        products = max(products, float(np.abs(product - grid).max()))
    computed = {
        "largest difference of a remapped mechanism from the tight one": difference,
        "share of blurred mechanisms for which there is no remap": refused / INSTANCES,
        "largest difference of conditional min-entropy from all guesses": entropy,
        "largest difference of products from the tight mechanism of the grid": products,
    }
    return Finding(computed)


# ---- LIM ----


@reproduces("LIM-corollary-2.2.2")
def corollary_2_2_2(inputs: Inputs, quick: bool) -> Finding:
    """The region of a mechanism over all neighbours against all events; tests between sets against all tests."""
    rng, worst, below = generator("LIM-corollary-2.2.2"), 0.0, 0.0
    for _ in range(INSTANCES):
        n, k = int(rng.integers(3, 6)), int(rng.integers(2, 5))
        mechanism = um.FiniteMechanism(rng.dirichlet(np.ones(k), n), range(n), range(k))
        region, epsilon = um.accounting.region_of(mechanism, um.cycle(n)), float(rng.uniform(0, 1))
        p, q = mechanism.matrix, np.roll(mechanism.matrix, 1, axis=0)
        events = [np.array(event) for event in itertools.product((0, 1), repeat=k)]
        delta = max(float((a @ e - math.exp(epsilon) * b @ e).max()) for e in events for a, b in ((p, q), (q, p)))
        worst = max(worst, abs(region.delta(epsilon) - delta))
        sets = um.accounting.region_between_sets(mechanism, [0, 1], [2])
        for test in [*events, *rng.uniform(0, 1, (10, k))]:
            missed = float(1 - p[2] @ test)
            below = max(below, float(sets.false_alarm(missed)) - max(float(p[i] @ test) for i in (0, 1)))
    return Finding(
        {"largest difference of delta from all events": worst, "how far a test between sets lies below": below}
    )


@reproduces("LIM-canonical-noise")
def canonical_noise(inputs: Inputs, quick: bool) -> Finding:
    """Continuous noise that follows its level: as private as promised at every shift, and tight at every threshold."""
    rng, excess, slack = generator("LIM-canonical-noise"), -math.inf, 0.0
    for number in range(INSTANCES):
        epsilon = round(float(rng.uniform(0.2, 2)), 2)
        level: Any = (um.PureDP(epsilon), um.ApproxDP(epsilon, "0.05"), um.GaussianDP(epsilon))[number % 3]
        noise = um.noise.canonical_continuous(level)
        edges = np.linspace(-15, 15, 601)
        for shift in (float(rng.uniform(0, 1)), 1.0):
            p, q = np.diff(noise.cdf(edges)), np.diff(noise.cdf(edges - shift))
            order = np.argsort(-p / np.maximum(q, 1e-300))
            mass, shifted_mass = np.cumsum(p[order]), np.cumsum(q[order])
            excess = max(excess, float((mass - level.upper(np.clip(shifted_mass, 0, 1))).max()))
        x = rng.uniform(-3, 3, 50)
        x = x[noise.cdf(x) > 0]  # a delta leaves no noise below some number
        slack = max(slack, float(np.abs(noise.cdf(x + 1) - level.upper(noise.cdf(x))).max()))
    half = um.noise.staircase(1.0, gamma=0.5).expected_cost
    computed = {
        "largest excess of an event of cells": excess,
        "largest slack of a threshold": slack,
        "difference from the staircase with a half, pure": abs(um.noise.canonical_continuous(1.0).mean("l1") - half),
    }
    return Finding(computed)


@reproduces("LIM-conversations")
def conversations(inputs: Inputs, quick: bool) -> Finding:
    """Interactive protocols of parties with several bits: their exact value, and the best reply."""
    rng, worst, excess, private = generator("LIM-conversations"), 0.0, -math.inf, True
    one, two = um.path(2), um.hamming(2, (0, 1))
    for _ in range(INSTANCES):
        epsilon, values = round(float(rng.uniform(0.5, 2)), 2), rng.integers(0, 2, (2, 4))
        table = {(x, y): int(values[x, i]) for x in (0, 1) for i, y in enumerate(two.points)}
        first = private_mechanism(rng, one, epsilon, 2)
        replies = [private_mechanism(rng, two, epsilon, 2) for _ in range(2)]
        turns = [(0, first), (1, lambda heard, r=replies: r[heard[0]])]
        talk = um.multiparty.converse([one, two], [epsilon] * 2, lambda x, y, t=table: t[x, y], turns)
        likely = np.einsum("am,mbn->abmn", first.matrix, np.array([r.matrix for r in replies]))
        right = [(likely * (values == answer)[:, :, None, None]).sum(axis=(0, 1)) for answer in (0, 1)]
        worst = max(worst, abs(talk.value() - float(np.maximum(*right).sum()) / 8))
        private &= bool(talk.verify())
        if len(set(values.ravel().tolist())) == 2:
            best = um.multiparty.best_talk([one, two], [epsilon] * 2, lambda x, y, t=table: t[x, y])
            excess = max(excess, talk.value() - best.value())
    examples = {}
    for name, published, problem in (
        ("XOR or AND", um.multiparty.xor_or_and, ([one, two], _xor_or_and, "zero-one")),
        ("Hamming distance", um.multiparty.hamming_distance, ([two, two], _distance, lambda f, y: 2 - abs(f - y))),
    ):
        spaces, function, accuracy = problem
        best = um.multiparty.best_talk(spaces, [inputs["epsilon"]] * 2, function, accuracy)
        examples[f"{name}: gain of the best conversation over the published one"] = (
            best.value() - published(inputs["epsilon"]).value()
        )
    computed = {
        "largest difference from a sum over all inputs and transcripts": worst,
        "all are private": private,
        "largest excess of a random conversation over the best": excess,
        **examples,
    }
    return Finding(computed)


def _xor_or_and(x: int, y: tuple[int, int]) -> int:
    return y[0] & y[1] if x else y[0] ^ y[1]


def _distance(x: tuple[int, int], y: tuple[int, int]) -> int:
    return abs(x[0] - y[0]) + abs(x[1] - y[1])


@reproduces("LIM-several-hypotheses")
def several_hypotheses(inputs: Inputs, quick: bool) -> Finding:
    """One mechanism for all pairs of hypotheses: no random private mechanism has a better worst pair."""
    rng, excess, gap = generator("LIM-several-hypotheses"), -math.inf, 0.0
    for _ in range(INSTANCES):
        k, epsilon = int(rng.integers(2, 4)), round(float(rng.uniform(0.3, 2)), 2)
        laws = rng.dirichlet(2 * np.ones(k), 3)
        best = um.local.for_hypotheses(list(laws), epsilon)
        gap = max(gap, float(best.certificate.gap or 0))
        for _ in range(5):
            matrix = private_mechanism(rng, um.complete(k), epsilon, 3).matrix
            worst = min(_kl(a @ matrix, b @ matrix) for a, b in itertools.permutations(laws, 2))
            excess = max(excess, worst - best.value)
    return Finding({"largest excess of a random mechanism": excess, "largest gap of a certificate": gap})


@reproduces("LIM-correlated-records")
def correlated_records(inputs: Inputs, quick: bool) -> Finding:
    """A record with several people's bits: the optimal test of two joint laws, each person protected."""
    from scipy.optimize import linprog

    rng, excess, difference = generator("LIM-correlated-records"), -math.inf, 0.0
    for _ in range(INSTANCES):
        space, epsilon = um.hamming(int(rng.integers(1, 3)), 2), round(float(rng.uniform(0.3, 2)), 2)
        p0, p1 = rng.dirichlet(2 * np.ones(len(space.points)), 2)
        best = um.local.for_records(space, p0, p1, epsilon)
        for _ in range(5):
            matrix = private_mechanism(rng, space, epsilon, 3).matrix
            excess = max(excess, _kl(p0 @ matrix, p1 @ matrix) - best.value)
        rows = [(i, j, s) for i, j in [*space.edge_indices, *space.edge_indices[:, ::-1]] for s in (0, 1)]
        upper, limits, growth = np.zeros((len(rows), len(p0))), np.zeros(len(rows)), math.exp(epsilon)
        for row, (i, j, complement) in enumerate(rows):  # p_i <= e^eps p_j, and the same for 1 - p
            upper[row, i], upper[row, j] = (-1, growth) if complement else (1, -growth)
            limits[row] = growth - 1 if complement else 0
        two = -float(linprog(p1 - p0, upper, limits, bounds=(0, 1)).fun)  # total variation needs two outputs
        difference = max(difference, abs(um.local.for_records(space, p0, p1, epsilon, "tv").value - two))
    equal_law, different_law = [0.4, 0.1, 0.1, 0.4], [0.1, 0.4, 0.4, 0.1]
    bit = um.local.randomized_response(2, 1.0).matrix
    product = np.kron(bit, bit)
    computed = {
        "largest excess of a random mechanism": excess,
        "largest difference from a linear program, total variation": difference,
        "two people alike or not: gain over each one's own coin": um.local.for_records(
            um.hamming(2, 2), equal_law, different_law, 1.0
        ).value
        - _kl(np.array(equal_law) @ product, np.array(different_law) @ product),
    }
    return Finding(computed)


def _kl(first: Floats, second: Floats) -> float:
    return float(np.sum(first * np.log(first / second)))
