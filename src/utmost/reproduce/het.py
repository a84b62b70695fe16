"""HET: Heterogeneous Differential Privacy via Graphs."""

from __future__ import annotations

import itertools
import math

import numpy as np

import utmost as um
from utmost.exact.arrays import Floats
from utmost.reproduce.entry import Finding, Inputs, reproduces
from utmost.reproduce.instances import generator, random_extensions, random_graph, simple_paths


@reproduces("HET-figure-1")
def figure_1(inputs: Inputs, quick: bool) -> Finding:
    """Three votes: the first one better protected where it decides, always, or between all pairs."""
    votes = um.hamming(3, (1, 2))
    majority = {v: 2 if v.count(2) > 1 else 1 for v in votes.points}
    first_person_edges = [(a, b) for a, b in votes.edges if a[0] != b[0]]
    decides = [(a, b) for a, b in first_person_edges if majority[a] != majority[b]]
    high, low = inputs["higher privacy"], inputs["lower privacy"]
    heterogeneous = um.per_edge(votes, dict.fromkeys(decides, high), default=low)
    personalised = um.personalized(votes, [high, low, low])
    best = [
        um.binary.best_boundary(votes, majority, levels, outputs=(1, 2)) for levels in (heterogeneous, personalised)
    ]
    metric = heterogeneous.lengths()
    n = len(metric)
    triangle = all(
        metric[i, j] <= metric[i, k] + metric[k, j] + 1e-12 for i, j, k in itertools.product(range(n), repeat=3)
    )
    computed = {
        "edges on which the first vote decides": sorted(
            "".join(map(str, a)) + "-" + "".join(map(str, b)) for a, b in decides
        ),
        "edges that personalised privacy must protect alike": len(first_person_edges),
        "pairs that d-privacy must specify": n * (n - 1) // 2,
        "heterogeneous is at least as accurate": best[0].value >= best[1].value - 1e-12,
        "verified": all(map(bool, (b.verify() for b in best))),
        "lengths satisfy the triangle inequality": triangle,
    }
    pairs = um.Space.from_edges(itertools.combinations(votes.points, 2), points=votes.points)
    between = um.per_edge(pairs, {(a, b): float(metric[votes.index(a), votes.index(b)]) for a, b in pairs.edges})
    at = {v: tuple(place) for v, place in zip(votes.points, um.plot.layout(votes).tolist(), strict=True)}
    named = {"heterogeneous": heterogeneous, "personalised": personalised, "d-privacy: all pairs": between}
    return Finding(computed, lambda: um.plot.query_graphs(named, "thicker: better protected", majority, at))


def _step(epsilon: float, p: float) -> float:
    """(9) and (10): the most a neighbour may have."""
    return min(math.exp(epsilon) * p, 1 - math.exp(-epsilon) * (1 - p))


def _literal(space: um.Space, epsilons: Floats, seed: int, start: float) -> list[float]:
    """The strongest induced condition from one vertex (Theorem 4): the least bound over all simple paths."""
    level = {frozenset(edge): float(e) for edge, e in zip(space.edge_indices.tolist(), epsilons, strict=True)}
    least = []
    for end in range(len(space.points)):
        bounds = []
        for path in simple_paths(space, seed, end):
            p = start
            for a, b in itertools.pairwise(path):
                p = _step(level[frozenset((a, b))], p)
            bounds.append(p)
        least.append(min(bounds))
    return least


@reproduces("HET-theorem-1")
def theorem_1(inputs: Inputs, quick: bool) -> Finding:
    """Existence and the optimum with an epsilon per edge, against Algorithm 2 over all paths, printed and corrected."""
    rng = generator("HET-theorem-1")
    count = 25 if quick else 150
    agree, extended, corrected, printed = 0, 0, 0.0, 0.0
    for space, truth, known_values in random_extensions(rng, count, 7):
        epsilons = np.round(rng.uniform(0.1, 1.5, len(space.edge_indices)), 2)
        levels = um.per_edge(space, epsilon=epsilons)
        seeds = [space.index(h) for h in known_values]
        up = {
            side: [
                _literal(space, epsilons, i, p if side else 1 - p)
                for i, p in zip(seeds, known_values.values(), strict=True)
            ]
            for side in (True, False)
        }
        fits = all(
            p <= min(bounds[i] for bounds in up[True]) + 1e-12
            for i, p in zip(seeds, known_values.values(), strict=True)
        )
        try:
            best = um.binary.extend(space, truth, known_values, levels).mechanism
        except um.errors.NoExtension:
            agree += not fits
            continue
        agree += fits
        extended += 1
        for i, v in enumerate(space.points):
            if v not in known_values:
                one = best.probability(v, True)
                least = min(bounds[i] for bounds in up[truth[v]])
                corrected = max(corrected, abs(one - (least if truth[v] else 1 - least)))
                printed = max(printed, abs(one - least))
    computed = {
        "share on which existence agrees": agree / count,
        "share that extends": extended / count,
        "largest difference from Algorithm 2": printed,
        "largest difference with 1 - min A for T(v) = 2": corrected,
    }
    return Finding(computed)


def _random_path(rng: np.random.Generator) -> tuple[Floats, float]:
    return np.round(rng.uniform(0.05, 1.2, int(rng.integers(1, 9))), 3), round(float(rng.uniform(0.001, 0.99)), 4)


@reproduces("HET-theorem-2")
def theorem_2(inputs: Inputs, quick: bool) -> Finding:
    """The recursion (11) on a path graph."""
    rng = generator("HET-theorem-2")
    worst = 0.0
    for _ in range(40 if quick else 300):
        epsilons, alpha = _random_path(rng)
        space = um.path(len(epsilons) + 1)
        best = um.binary.extend(space, [True] * len(space), {0: alpha}, um.per_edge(space, epsilon=epsilons)).mechanism
        p = alpha
        for i, epsilon in enumerate(epsilons):
            p = _step(epsilon, p)
            worst = max(worst, abs(best.probability(i + 1, True) - p))
    return Finding({"largest difference from (11)": worst})


@reproduces("HET-theorem-3")
def theorem_3(inputs: Inputs, quick: bool) -> Finding:
    """The closed form on a path, with tau from (17) as printed (1..n) and with 0 and n allowed."""
    rng = generator("HET-theorem-3")
    printed = corrected = 0.0
    for _ in range(60 if quick else 600):
        epsilons, alpha = _random_path(rng)
        n = len(epsilons)
        sums = np.concatenate([[0.0], np.cumsum(epsilons)])
        space = um.path(n + 1)
        best = um.binary.extend(space, [True] * (n + 1), {0: alpha}, um.per_edge(space, epsilon=epsilons)).mechanism
        turned = [i for i in range(n) if 1 / alpha <= math.exp(sums[i]) * (math.exp(epsilons[i]) + 1)]
        taus = {"printed": min((i for i in turned if i >= 1), default=None), "corrected": min(turned, default=n)}
        for name, tau in taus.items():
            if tau is None:  # (17) leaves tau undefined: count it as n
                tau = n
            form = [
                math.exp(sums[i]) * alpha
                if i <= tau
                else math.exp(2 * sums[tau] - sums[i]) * alpha + 1 - math.exp(sums[tau] - sums[i])
                for i in range(n + 1)
            ]
            difference = max(abs(best.probability(i, True) - form[i]) for i in range(n + 1))
            if name == "printed":
                printed = max(printed, difference)
            else:
                corrected = max(corrected, difference)
    return Finding(
        {"largest difference with (17) over 1..n": printed, "largest difference with (17) over 0..n": corrected}
    )


@reproduces("HET-corollary-1")
def corollary_1(inputs: Inputs, quick: bool) -> Finding:
    """One epsilon everywhere: the printed formula and the corrected one."""
    ratio, alpha, i = inputs["ratio"], inputs["alpha"], inputs["i"]
    tau = max(0, math.ceil(math.log(1 / (alpha * (1 + ratio))) / math.log(ratio)))
    best = um.binary.extend(um.path(i + 1), [True] * (i + 1), {0: alpha}, um.PureDP.from_ratio(ratio)).mechanism
    computed = {
        "tau": tau,
        "p at v_2": best.probability(i, True),
        "1 - e^(-(i - tau) eps) + e^(-(i - 2 tau) eps) alpha": 1
        - ratio ** -(i - tau)
        + ratio ** -(i - 2 * tau) * alpha,
    }
    return Finding(computed)


@reproduces("HET-lemma-3")
def lemma_3(inputs: Inputs, quick: bool) -> Finding:
    """Which of the two bounds is tighter: growth up to 1/(e^eps + 1)."""
    rng = generator("HET-lemma-3")
    agree = 0
    count = 500
    for _ in range(count):
        epsilon, p = float(rng.uniform(0.01, 3)), float(rng.random())
        level = um.PureDP(epsilon)
        agree += math.isclose(level.upper(p), math.exp(epsilon) * p) == (p <= 1 / (math.exp(epsilon) + 1))
    return Finding({"share on which it holds": agree / count})


@reproduces("HET-theorem-4")
def theorem_4(inputs: Inputs, quick: bool) -> Finding:
    """Algorithm 1 from one vertex against the least bound over all simple paths."""
    rng = generator("HET-theorem-4")
    worst = 0.0
    for _ in range(20 if quick else 120):
        space = random_graph(rng, int(rng.integers(2, 8)), 0.4)
        epsilons = np.round(rng.uniform(0.05, 1.2, len(space.edge_indices)), 3)
        alpha = round(float(rng.uniform(0.01, 0.9)), 3)
        levels = um.per_edge(space, epsilon=epsilons)
        best = um.binary.extend(space, [True] * len(space.points), {0: alpha}, levels).mechanism
        worst = max(worst, np.abs(best.matrix[:, 1] - _literal(space, epsilons, 0, alpha)).max())
    return Finding({"largest difference": worst})


@reproduces("HET-personalised")
def personalised(inputs: Inputs, quick: bool) -> Finding:
    """Personalised privacy is the case in which an edge's epsilon is that of the person who changes."""
    rng = generator("HET-personalised")
    worst = 0.0
    for _ in range(10 if quick else 60):
        people = int(rng.integers(1, 5))
        space = um.hamming(people, 2)
        person_levels = np.round(rng.uniform(0.1, 2, people), 2)
        by_person = um.personalized(space, person_levels.tolist())
        by_edge = um.per_edge(
            space,
            {(a, b): person_levels[[x != y for x, y in zip(a, b, strict=True)].index(True)] for a, b in space.edges},
        )
        majority = [2 * sum(votes) > people for votes in space.points]
        one, other = (um.binary.balanced(space, majority, levels).mechanism.matrix for levels in (by_person, by_edge))
        worst = max(worst, np.abs(one - other).max())
    return Finding({"largest difference": worst})


@reproduces("HET-d-privacy")
def d_privacy(inputs: Inputs, quick: bool) -> Finding:
    """A mechanism private on every edge is private between every two datasets at the length of the shortest path."""
    rng = generator("HET-d-privacy")
    worst = -math.inf
    for _ in range(20 if quick else 150):
        space = random_graph(rng, int(rng.integers(3, 12)))
        levels = um.per_edge(space, epsilon=np.round(rng.uniform(0.1, 1.5, len(space.edge_indices)), 2))
        truth = [i == 0 or bool(rng.random() < 0.4) for i in range(len(space.points) - 1)] + [False]
        matrix = um.binary.balanced(space, truth, levels).mechanism.matrix
        lengths = levels.lengths()
        ratios = np.log(matrix[:, None, :] / matrix[None, :, :]).max(axis=2)
        worst = max(worst, float((ratios - lengths).max()))
    return Finding({"largest excess of a log ratio over the length": worst})
