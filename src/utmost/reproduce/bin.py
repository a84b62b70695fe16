"""BIN: Optimal Binary Differential Privacy via Graphs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

import utmost as um
from utmost.reproduce.entry import Finding, Inputs, reproduces
from utmost.reproduce.instances import generator, random_extensions, random_graph, random_question

RED_BLUE = ("red", "blue")


@reproduces("BIN-figure-1")
def figure_1(inputs: Inputs, quick: bool) -> Finding:
    """The sets of the caption, from the edges it names; colours follow from one vertex and the boundary edges."""
    edges = [tuple(edge) for edge in inputs["edges"]]
    crossing = [tuple(edge) for edge in inputs["boundary edges"]]
    inside = um.Space.from_edges([e for e in edges if e not in crossing], points=inputs["vertices"])
    colour = {v: RED_BLUE[v in inputs["blue as printed"]] for v in inputs["vertices"]}
    deduced = {v: "blue" for v in inputs["vertices"] if inside.distance("a", v) < math.inf}
    deduced |= {v: "red" for a, b in crossing for v in (a, b) if (b if v == a else a) in deduced}
    colour |= deduced
    graph = um.Space.from_edges(edges, points=inputs["vertices"])
    boundary = um.binary.boundary(graph, colour, outputs=RED_BLUE)
    distances = graph.distances_from(["g", "h"])
    computed = {
        "blue, though not listed as such": [
            v for v, c in deduced.items() if c == "blue" and v not in inputs["blue as printed"]
        ],
        "red, though listed as blue": [v for v, c in deduced.items() if c == "red" and v in inputs["blue as printed"]],
        "neighbourhood of {g, h}": [v for v, d in zip(graph.points, distances, strict=True) if d == 1],
        "distance from a to d": graph.distance("a", "d"),
        "boundary edges": sorted(sorted(e) for e in boundary.edges),
        "boundary vertices": sorted(boundary.points),
        "H hits": um.binary.is_hitting(graph, colour, inputs["H"], outputs=RED_BLUE),
        "H' hits": um.binary.is_hitting(graph, colour, inputs["H'"], outputs=RED_BLUE),
        "the third set hits": um.binary.is_hitting(graph, colour, inputs["third set"], outputs=RED_BLUE),
        "blue boundary": sorted(v for v in boundary.points if colour[v] == "blue"),
        "red boundary": sorted(v for v in boundary.points if colour[v] == "red"),
    }
    places = {v: tuple(place) for v, place in inputs["places"].items()}
    return Finding(
        computed,
        lambda: um.plot.space_graph(graph, truth=colour, hitting=inputs["H"], positions=places, title="BIN Figure 1"),
    )


@reproduces("BIN-example-1")
def example_1(inputs: Inputs, quick: bool) -> Finding:
    """Two private mechanisms, neither of which dominates the other."""
    space = um.Space.from_edges([(1, 2)])
    first, second = (
        um.FiniteMechanism([[1 - blue, blue], [red, 1 - red]], (1, 2), RED_BLUE)
        for blue, red in (inputs["M1"], inputs["M2"])
    )
    truth = {1: "blue", 2: "red"}
    computed = {
        "delta of M1": first.delta(space, math.log(inputs["ratio"])),
        "delta of M2": second.delta(space, math.log(inputs["ratio"])),
        "M1 dominates M2": um.binary.dominates(first, second, truth, RED_BLUE),
        "M2 dominates M1": um.binary.dominates(second, first, truth, RED_BLUE),
    }
    return Finding(computed)


@reproduces("BIN-definition-9")
def definition_9(inputs: Inputs, quick: bool) -> Finding:
    """The closed form against the definition, one step after the other; and (5) with (6) exactly as printed."""
    rng = generator("BIN-definition-9")
    worst = 0.0
    for _ in range(100 if quick else 2000):
        level = um.ApproxDP(round(rng.uniform(0.01, 3), 3), round(rng.uniform(0, 0.2), 3) * (rng.random() < 0.7))
        alpha, steps = float(rng.random()), int(rng.integers(1, 12))
        walked = alpha
        for _ in range(steps):
            walked = level.upper(walked)
        worst = max(worst, abs(level.upper_after(steps, alpha) - walked))
    level = um.PureDP.from_ratio(inputs["ratio"])
    return Finding(
        {
            "p(1, 0.9)": level.upper_after(inputs["d"], inputs["alpha"]),
            "largest difference from the definition": worst,
        }
    )


@reproduces("BIN-proposition-1")
def proposition_1(inputs: Inputs, quick: bool) -> Finding:
    """Private on all edges if and only if p(d, alpha) holds between all pairs: on random mechanisms."""
    rng = generator("BIN-proposition-1")
    agree = private = 0
    count = 60 if quick else 600
    for _ in range(count):
        space = random_graph(rng, int(rng.integers(2, 8)))
        epsilon, delta = round(rng.uniform(0.2, 1.5), 2), round(rng.uniform(0, 0.1), 2)
        level = um.ApproxDP(epsilon, delta)
        blue = np.clip(0.5 + rng.normal(0, 0.13, len(space.points)), 0, 1)
        mechanism = um.FiniteMechanism(np.column_stack([1 - blue, blue]), space.points, RED_BLUE)
        distances = space.distances().astype(int)
        pairs = all(
            (p[None, :] <= level.upper_after(distances, np.broadcast_to(p[:, None], distances.shape)) + 1e-12).all()
            for p in (blue, 1 - blue)
        )
        edges = mechanism.delta(space, epsilon) <= delta + 1e-12
        agree += pairs == edges
        private += edges
    return Finding({"share on which both agree": agree / count, "share that is private": private / count})


@reproduces("BIN-proposition-2")
def proposition_2(inputs: Inputs, quick: bool) -> Finding:
    """The three axioms of suitable pairs, at many alphas and levels: the largest violation of each."""
    rng = generator("BIN-proposition-2")
    alpha = np.linspace(0, 1, 201)
    worst = np.zeros(3)
    for _ in range(50 if quick else 500):
        level = um.ApproxDP(round(rng.uniform(0, 3), 3), round(rng.uniform(0, 1), 3))
        up, low = level.upper(alpha), level.lower(alpha)
        violations = [
            max((low - alpha).max(), (alpha - up).max()),
            max((level.lower(up) - alpha).max(), (alpha - level.upper(low)).max()),
            (up - (1 - level.lower(1 - alpha))).max(),
        ]
        worst = np.maximum(worst, violations)
    return Finding({"L <= id <= U": worst[0], "L(U) <= id <= U(L)": worst[1], "U(a) <= 1 - L(1 - a)": worst[2]})


@reproduces("BIN-lemma-3")
def lemma_3(inputs: Inputs, quick: bool) -> Finding:
    """U and L by cases (Lemmas 3 and 4) against the levels."""
    alpha = np.linspace(0, 1, 2001)
    worst = 0.0
    for epsilon, delta in ((0.1, 0.05), (1.0, 0.0), (0.7, 0.3), (2.5, 0.01)):
        level, growth = um.ApproxDP(epsilon, delta), math.exp(epsilon)
        bend = (1 - delta) / (growth + 1)
        upper = np.select(
            [alpha <= bend, alpha <= 1 - delta], [growth * alpha + delta, (growth + delta - 1 + alpha) / growth], 1.0
        )
        lower = np.select(
            [alpha <= delta, alpha <= (delta + growth) / (growth + 1)],
            [0.0, (alpha - delta) / growth],
            growth * alpha - delta - growth + 1,
        )
        worst = max(worst, np.abs(level.upper(alpha) - upper).max(), np.abs(level.lower(alpha) - lower).max())
    return Finding({"largest difference": worst})


def four_in_a_row() -> tuple[um.Space, dict[str, str]]:
    """The graph of BIN Figure 2: v1 red, v2 and v3 blue, v4 red."""
    graph = um.Space.from_edges([("v1", "v2"), ("v2", "v3"), ("v3", "v4")])
    return graph, {"v1": "red", "v2": "blue", "v3": "blue", "v4": "red"}


@reproduces("BIN-example-2")
def example_2(inputs: Inputs, quick: bool) -> Finding:
    """Two private extensions of one value, both maximal: v3 alone misses a boundary edge."""
    graph, colour = four_in_a_row()
    level = um.PureDP.from_ratio(inputs["ratio"])
    both = [
        um.FiniteMechanism([[1 - b, b] for b in blue], graph.points, RED_BLUE) for blue in (inputs["M1"], inputs["M2"])
    ]
    maximal = []
    for m in both:  # what dominates m has no more blue at v1, and that leaves no more for v2
        v1, v2, v3 = (m.probability(v, "blue") for v in ("v1", "v2", "v3"))
        best = um.binary.extend(graph, colour, {"v1": v1, "v3": v3}, level, RED_BLUE).mechanism
        maximal.append(np.allclose(best.matrix, m.matrix, atol=1e-12))
        try:
            um.binary.extend(graph, colour, {"v1": v1 - inputs["less"], "v2": v2, "v3": v3}, level, RED_BLUE)
            maximal.append(False)
        except um.errors.NoExtension:
            maximal.append(True)
    computed = {
        "both extend M' as printed": all(m.probability("v3", "blue") == inputs["v3 as printed"] for m in both),
        "both extend M' as corrected": all(m.probability("v3", "blue") == inputs["v3 as corrected"] for m in both),
        "epsilon of M1": both[0].epsilon(graph),
        "epsilon of M2": both[1].epsilon(graph),
        "M1 dominates M2": um.binary.dominates(both[0], both[1], colour, RED_BLUE),
        "M2 dominates M1": um.binary.dominates(both[1], both[0], colour, RED_BLUE),
        "both maximal": all(maximal),
        "v3 is a hitting set": um.binary.is_hitting(graph, colour, ["v3"], RED_BLUE),
    }
    return Finding(computed)


@reproduces("BIN-example-3")
def example_3(inputs: Inputs, quick: bool) -> Finding:
    """Algorithm 1 by hand: the farther seed binds."""
    graph, colour = four_in_a_row()
    level = um.PureDP.from_ratio(inputs["ratio"])
    best = um.binary.extend(graph, colour, inputs["known"], level, RED_BLUE)
    a, b = inputs["known"]["v1"], inputs["known"]["v4"]
    computed = {
        "distance from v1 to v4": graph.distance("v1", "v4"),
        "p(3, 0.1)": level.upper_after(3, b),
        "p(3, 0.3)": level.upper_after(3, a),
        "p(1, 0.3)": level.upper_after(1, a),
        "p(2, 0.1)": level.upper_after(2, b),
        "p(2, 0.3)": level.upper_after(2, a),
        "p(1, 0.1)": level.upper_after(1, b),
        "blue at v2": round(best.mechanism.probability("v2", "blue"), 15),
        "blue at v3": round(best.mechanism.probability("v3", "blue"), 15),
        "verified": bool(best.verify()),
    }

    def draw() -> Any:
        row = um.binary.extend(um.path(4), list(colour.values()), {0: a, 3: b}, level, RED_BLUE)
        return um.plot.graph(row, "BIN Figure 2 with the values of Example 3, ε = ln 2")

    return Finding(computed, draw)


def _least_bound(
    space: um.Space, truth: dict[Any, bool], known_values: dict[Any, float], level: Any
) -> tuple[bool, Any]:
    """Theorem 1 read literally: whether known values fit pairwise, and (7) at every other point."""
    distances = space.distances().astype(int)
    at = [space.index(h) for h in known_values]
    yes = np.array(list(known_values.values()))
    consistent = all(
        yes[i] <= level.upper_after(int(distances[at[i], at[j]]), float(yes[j])) + 1e-12
        for i in range(len(at))
        for j in range(len(at))
    )
    bounds = {}
    for w in space.points:
        if w not in known_values:
            right = yes if truth[w] else 1 - yes
            bounds[w] = min(
                level.upper_after(int(distances[space.index(w), i]), float(p)) for i, p in zip(at, right, strict=True)
            )
    return consistent, bounds


def _against_the_formula(name: str, count: int, level_of: Any) -> dict[str, float]:
    """`binary.extend` against Theorem 1 or 2 read literally, on random graphs."""
    rng = generator(name)
    agree, worst, extended = 0, 0.0, 0
    for space, truth, known_values in random_extensions(rng, count, 12):
        level = level_of(rng)
        fits, bounds = _least_bound(space, truth, known_values, level)
        try:
            best = um.binary.extend(space, truth, known_values, level)
        except um.errors.NoExtension:
            agree += not fits
            continue
        agree += fits
        extended += 1
        worst = max([worst, *(abs(best.mechanism.probability(w, truth[w]) - p) for w, p in bounds.items())])
    return {
        "share on which existence agrees": agree / count,
        "largest difference from the formula": worst,
        "share that extends": extended / count,
    }


@reproduces("BIN-theorem-1")
def theorem_1(inputs: Inputs, quick: bool) -> Finding:
    """Existence and (7) on random graphs at random (epsilon, delta)."""
    computed = _against_the_formula(
        "BIN-theorem-1",
        60 if quick else 400,
        lambda rng: um.ApproxDP(round(rng.uniform(0.1, 1.5), 2), round(rng.uniform(0, 0.1), 2)),
    )
    return Finding(computed)


@reproduces("BIN-theorem-2")
def theorem_2(inputs: Inputs, quick: bool) -> Finding:
    """The same for suitable pairs other than (epsilon, delta): Gaussian levels and piecewise linear ones."""

    def level_of(rng: np.random.Generator) -> Any:
        if rng.random() < 0.5:
            return um.GaussianDP(round(rng.uniform(0.2, 1.5), 2))
        a, c = (Fraction(int(x), 100) for x in sorted(rng.choice(range(5, 45), 2, replace=False)))
        return um.SuitablePair([(0, 0), (a, 1 - c), (c, 1 - a), (1, 1)], binary_only=True)  # its own mirror image

    return Finding(_against_the_formula("BIN-theorem-2", 30 if quick else 200, level_of))


@reproduces("BIN-corollary-1")
def corollary_1(inputs: Inputs, quick: bool) -> Finding:
    """A boundary with one value per colour: inside, p(distance to the nearest boundary vertex, value)."""
    rng = generator("BIN-corollary-1")
    worst, count = 0.0, 0
    while count < (20 if quick else 150):
        space = random_graph(rng, int(rng.integers(4, 16)), 0.1)
        truth = random_question(rng, space)
        edge = um.binary.boundary(space, truth)
        level = um.ApproxDP(round(rng.uniform(0.3, 1.5), 2), round(rng.uniform(0, 0.1), 2))
        alphas = {False: round(rng.uniform(0.5, 0.7), 3), True: round(rng.uniform(0.5, 0.7), 3)}
        known_values = {v: alphas[True] if truth[v] else 1 - alphas[False] for v in edge.points}
        try:
            best = um.binary.extend(space, truth, known_values, level).mechanism
        except um.errors.NoExtension:
            continue
        if not edge.points:
            continue
        count += 1
        for u in space.points:
            if u not in known_values:
                same_side = [w for w in edge.points if truth[w] == truth[u]]
                d = int(min(space.distance(u, w) for w in same_side))
                worst = max(worst, abs(best.probability(u, truth[u]) - level.upper_after(d, alphas[truth[u]])))
    return Finding({"largest difference from the formula": worst})


@reproduces("BIN-corollary-2")
def corollary_2(inputs: Inputs, quick: bool) -> Finding:
    """The balanced mechanism and the printed formula, at the boundary value it needs and at another one."""
    epsilon, delta = float(inputs["epsilon"]), float(inputs["delta"])
    growth = math.exp(epsilon)

    def printed(d: int) -> float:
        return 1 - (growth - 1 - delta * (math.exp(epsilon * (d + 1)) + math.exp(d * epsilon) - 2)) / (
            math.exp(d * epsilon) * (growth + 1) * (growth - 1)
        )

    space, level = um.counts(inputs["people"]), um.ApproxDP(epsilon, delta)
    half = inputs["people"] // 2
    truth = [i > half for i in space.points]
    balanced = um.binary.balanced(space, truth, level).mechanism
    near = [abs(balanced.probability(half + 1 + d, True) - printed(d)) for d in range(1, inputs["near"] + 1)]
    other = um.binary.extend(space, truth, {half: 1 - inputs["alpha"], half + 1: inputs["alpha"]}, level).mechanism
    computed = {
        "largest difference at alpha = (e^eps + delta)/(e^eps + 1)": max(near),
        "largest difference at another alpha": max(
            abs(other.probability(half + 1 + d, True) - printed(d)) for d in range(1, inputs["near"] + 1)
        ),
        "the formula at distance 20": printed(inputs["far"]),
    }
    return Finding(
        computed,
        lambda: um.plot.curve(um.binary.balanced(space, truth, level), "BIN Corollary 2: the balanced mechanism"),
    )


@reproduces("BIN-lemma-9")
def lemma_9(inputs: Inputs, quick: bool) -> Finding:
    """(14) and (15) with the sign as printed and turned around, on random alpha and beta that fit each other."""
    rng = generator("BIN-lemma-9")
    printed = turned = count = 0
    while count < (200 if quick else 2000):
        level = um.ApproxDP(round(rng.uniform(0.1, 2), 2), round(rng.uniform(0, 0.2), 2))
        alpha, beta, d = float(rng.random()), float(rng.random()), int(rng.integers(1, 4))
        if alpha > level.upper_after(d, beta) or beta > level.upper_after(d, alpha):
            continue
        count += 1
        low = level.lower_after(d, beta)
        printed += alpha <= low + 1e-12
        turned += alpha >= low - 1e-12
    return Finding({"(14) holds always as printed": printed == count, "with >= instead": turned == count})


@reproduces("BIN-algorithm-2")
def algorithm_2(inputs: Inputs, quick: bool) -> Finding:
    """One dataset among 2^people, looking only around it, against the whole count."""
    people, half = inputs["people"], inputs["people"] // 2
    level = um.PureDP.from_ratio(inputs["ratio"])
    share = level.even_share()[0]
    values = {half: 1 - share, half + 1: share}
    votes = 2 ** (half + 3) - 1
    local = um.binary.at(
        votes,
        lambda v: (v ^ (1 << person) for person in range(people)),
        lambda v: v.bit_count() > half,
        lambda v: values.get(v.bit_count()),
        level,
        floor=0.1,
    )
    full = um.binary.balanced(um.counts(people), lambda yes: yes > half, level)
    return Finding({"difference from Algorithm 1": abs(float(local) - full.mechanism.probability(half + 3, True))})


@reproduces("BIN-section-V")
def section_5(inputs: Inputs, quick: bool) -> Finding:
    """Any number of answers on random graphs: the formula recomputed, every edge compared, two answers as in BIN."""
    rng = generator("BIN-section-V")
    private = True
    formula = binary = 0.0
    replaced = 0
    for _ in range(20 if quick else 200):
        answers = int(rng.integers(2, inputs["most answers"] + 1))
        space = random_graph(rng, int(rng.integers(answers, 12)), 0.15)
        truth = [*range(answers), *rng.integers(answers, size=len(space.points) - answers).tolist()]
        growth = float(rng.uniform(1.2, 4))
        level = um.PureDP(math.log(growth))
        best = um.rainbow.nearest(space, truth, level)
        distances = space.distances()
        nearest = np.stack([distances[:, np.equal(truth, j)].min(axis=1) for j in range(answers)], axis=1)
        rows = np.where(nearest > 0, growth ** (1 - nearest) / (1 + growth), 0.0)
        rows[np.arange(len(truth)), truth] = 1 - rows.sum(axis=1)
        a, b = space.edge_indices.T
        matrix = best.mechanism.matrix
        private &= bool(
            (matrix[a] <= growth * matrix[b] + 1e-12).all() and (matrix[b] <= growth * matrix[a] + 1e-12).all()
        )
        if (np.where(nearest > 0, growth**-nearest, 0.0).sum(axis=1) > 1).any():
            replaced += 1
            continue
        formula = max(formula, float(np.abs(matrix - rows).max()))
        if answers == 2:
            balanced = um.binary.balanced(space, [t == 1 for t in truth], level).mechanism
            right = [balanced.probability(x, truth[i] == 1) for i, x in enumerate(space.points)]
            binary = max(binary, float(np.abs(matrix[np.arange(len(truth)), truth] - right).max()))
    computed = {
        "private on every edge of every graph": private,
        "largest difference from the formula, where its condition holds": formula,
        "largest difference from BIN for two answers": binary,
        "graphs where the condition fails, and the certificate names another mechanism": replaced,
    }
    return Finding(computed)
