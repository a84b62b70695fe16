"""REG, Sections 2 to 5: regular priors, what no private mechanism exceeds, and the mechanism that reaches it."""

from __future__ import annotations

import itertools
import math

import numpy as np

import utmost as um
from utmost.reproduce.entry import Finding, Inputs, reproduces
from utmost.reproduce.instances import generator, private_mechanism, random_graph, random_prior
from utmost.reproduce.reg_spaces import constraints, regular_prior, same_space


@reproduces("REG-figure-1")
def figure_1(inputs: Inputs, quick: bool) -> Finding:
    """Adjacency of query results, derived from databases, against the families."""
    n = inputs["n"]
    count = um.query(um.hamming(n, 2), sum)[0]
    pair, _ = um.query(
        um.hamming(n, tuple(itertools.product((0, 1), repeat=2))), lambda d: tuple(map(sum, zip(*d, strict=True)))
    )
    ring = um.cycle(inputs["ring"])
    computed = {
        "a count is a path": same_space(count, um.path(n + 1)),
        "two counts are a grid with king's moves": same_space(pair, um.grid((n + 1, n + 1))),
        "neighbours of each result on the cycle": sorted(set(ring.graph().sum(axis=1).astype(int).tolist())),
    }
    return Finding(
        computed,
        lambda: um.plot.query_graphs({"$f_1$": um.path(n + 1), "$f_2$": ring, "$f_3$": um.grid((n + 1, n + 1))}),
    )


@reproduces("REG-proposition-1")
def proposition_1(inputs: Inputs, quick: bool) -> Finding:
    """Private on adjacent results if and only if on all pairs by distance."""
    rng = generator("REG-proposition-1")
    agree, private, count = 0, 0, 60 if quick else 500
    for _ in range(count):
        space = random_graph(rng, int(rng.integers(2, 8)))
        epsilon = float(rng.uniform(0.3, 1.5))
        rough = private_mechanism(rng, space, epsilon, 3).matrix * np.exp(rng.normal(0, 0.1, (len(space), 3)))
        matrix = rough / rough.sum(axis=1, keepdims=True)
        everywhere = (matrix[:, None] <= np.exp(epsilon * space.distances())[:, :, None] * matrix[None] + 1e-12).all()
        edges = um.FiniteMechanism(matrix, space.points, range(3)).epsilon(space) <= epsilon + 1e-12
        agree += bool(everywhere) == edges
        private += edges
    return Finding({"share on which both agree": agree / count, "share that is private": private / count})


@reproduces("REG-proposition-2")
def proposition_2(inputs: Inputs, quick: bool) -> Finding:
    """Ratios of a regular prior are bounded by distance; the converse fails."""
    rng = generator("REG-proposition-2")
    worst, satisfied = -math.inf, True
    for _ in range(40 if quick else 400):
        space, epsilon = random_graph(rng, int(rng.integers(2, 9))), float(rng.uniform(0.2, 2))
        prior = regular_prior(rng, space, epsilon)
        worst = max(worst, float((np.log(prior[:, None] / prior) - epsilon * space.distances()).max()))
        satisfied &= um.finite.necessary_conditions(prior, space, epsilon)[0].passed
    path, level = um.path(3), um.PureDP.from_ratio(inputs["ratio"])
    prior = np.array(inputs["prior"])
    bounded = (prior[:, None] / prior <= inputs["ratio"] ** path.distances()).all()
    computed = {
        "largest excess of a log ratio": worst,
        "necessary_conditions finds it so": satisfied,
        "a prior with bounded ratios": bool(bounded),
        "it is regular": um.finite.regularity(prior, path, level) is not None,
    }
    return Finding(computed)


@reproduces("REG-proposition-3")
def proposition_3(inputs: Inputs, quick: bool) -> Finding:
    """Every entry of a regular prior lies between two bounds; corner priors meet the upper one."""
    rng = generator("REG-proposition-3")
    low = high = -math.inf
    corner, satisfied = 0.0, True
    for _ in range(40 if quick else 400):
        space, epsilon = random_graph(rng, int(rng.integers(2, 9))), float(rng.uniform(0.2, 2))
        prior = regular_prior(rng, space, epsilon)
        least, most = 1 / np.exp(epsilon * space.distances()).sum(axis=1), 1 / constraints(space, epsilon).sum(axis=1)
        low, high = max(low, float((least - prior).max())), max(high, float((prior - most).max()))
        satisfied &= um.finite.necessary_conditions(prior, space, epsilon)[1].passed
        corner = max(corner, float(np.abs(np.diag(um.finite.corner_priors(space, epsilon)) - most).max()))
    return Finding(
        {
            "largest fall below": low,
            "largest excess above": high,
            "corner priors miss the upper bound by": corner,
            "necessary_conditions finds it so": satisfied,
        }
    )


@reproduces("REG-proposition-4")
def proposition_4(inputs: Inputs, quick: bool) -> Finding:
    """Regular if and only if a convex combination of the corners, with gamma_i = y_i times the sum of row i."""
    rng = generator("REG-proposition-4")
    agree, worst, inside, count = 0, 0.0, 0, 60 if quick else 500
    for _ in range(count):
        space, epsilon = random_graph(rng, int(rng.integers(2, 6))), float(rng.uniform(0.5, 2.5))
        corners = um.finite.corner_priors(space, epsilon)
        mixed = random_prior(rng, len(space)) @ corners
        prior = mixed + rng.uniform(0, 0.6) * (random_prior(rng, len(space)) - mixed)  # inside, or out of the region
        gamma = np.linalg.solve(corners.T, prior)
        y = um.finite.regularity(prior, space, epsilon)
        agree += (y is not None) == bool((gamma >= 0).all())
        if y is not None:
            inside += 1
            worst = max(
                worst, float(np.abs(y * constraints(space, epsilon).sum(axis=1) - gamma).max()), abs(gamma.sum() - 1)
            )
    return Finding(
        {
            "share on which both agree": agree / count,
            "share that is regular": inside / count,
            "largest difference of gamma from y times the row sum": worst,
        }
    )


def _region(space: um.Space, inputs: Inputs, title: str) -> Finding:
    """The corners of a region at two levels, that it grows as privacy falls, and its picture."""
    levels = [um.PureDP.from_ratio(r) for r in inputs["ratios"]]
    inner = um.finite.corner_priors(space, levels[0])
    computed = {
        "corner priors": len(inner),
        "less privacy, larger region": all(um.finite.regularity(c, space, levels[1]) is not None for c in inner),
        "all priors lie in the larger region": all(
            um.finite.regularity(c, space, levels[1]) is not None for c in np.eye(len(space))
        ),
    }
    return Finding(computed, lambda: um.plot.region_of_priors(space, levels, title))


@reproduces("REG-figure-2a")
def figure_2a(inputs: Inputs, quick: bool) -> Finding:
    """The regions of three results in a row."""
    return _region(um.path(3), inputs, "REG Figure 2: f1, three results in a row")


@reproduces("REG-figure-2b")
def figure_2b(inputs: Inputs, quick: bool) -> Finding:
    """The regions of three results in a ring."""
    return _region(um.cycle(3), inputs, "REG Figure 2: f2, three results in a ring")


@reproduces("REG-figure-3")
def figure_3(inputs: Inputs, quick: bool) -> Finding:
    """The regions of a pair of counts over at most one record."""
    return _region(um.grid((2, 2)), inputs, "REG Figure 3: a pair of counts, at most one record")


@reproduces("REG-example-1")
def example_1(inputs: Inputs, quick: bool) -> Finding:
    """The corners of the region of three results as privacy vanishes."""
    level = um.PureDP.from_ratio(inputs["limit"])
    corners = [um.finite.corner_priors(space, level).round(6) for space in (um.path(3), um.cycle(3))]
    return Finding({"corners in a row": corners[0], "corners in a ring": corners[1]})


@reproduces("REG-example-2")
def example_2(inputs: Inputs, quick: bool) -> Finding:
    """The results of a pair of counts over at most one record, and the corners as privacy vanishes."""
    space, level = um.grid((2, 2)), um.PureDP.from_ratio(inputs["limit"])
    computed = {
        "results": [list(p) for p in sorted(space.points)],
        "corners as e^-eps goes to 0": um.finite.corner_priors(space, level).round(6),
    }
    return Finding(computed)


@reproduces("REG-lemma-2")
def lemma_2(inputs: Inputs, quick: bool) -> Finding:
    """Utility as y1 - ys with slacks between 0 and 1, for any prior, regular or not."""
    rng = generator("REG-lemma-2")
    worst, slack_low, slack_high = 0.0, 0.0, 0.0
    for _ in range(40 if quick else 400):
        space, epsilon = random_graph(rng, int(rng.integers(2, 7))), float(rng.uniform(0.3, 2))
        prior, mechanism = random_prior(rng, len(space)), private_mechanism(rng, space, epsilon, len(space))
        guesses = [space.points[int(g)] for g in rng.integers(len(space), size=len(space))]
        remapped = mechanism.remap(guesses)
        diagonal = np.array([remapped.probability(p, p) if p in remapped.outputs else 0.0 for p in space.points])
        phi = constraints(space, epsilon)
        y, slack = np.linalg.solve(phi, prior), 1 - phi @ diagonal
        utility = 1 - mechanism.expected_loss(prior, remap=guesses)
        worst = max(worst, abs(utility - (y.sum() - y @ slack)))
        slack_low, slack_high = max(slack_low, -slack.min()), max(slack_high, slack.max())
    return Finding({"largest difference": worst, "slack below 0 by": slack_low, "largest slack": slack_high})


@reproduces("REG-theorem-1")
def theorem_1(inputs: Inputs, quick: bool) -> Finding:
    """Nothing private exceeds sum y for a regular prior; equality without tight constraints at a corner prior."""
    rng = generator("REG-theorem-1")
    worst = -math.inf
    for _ in range(6 if quick else 40):
        space, epsilon = random_graph(rng, int(rng.integers(2, 7))), round(float(rng.uniform(0.3, 2)), 2)
        prior = regular_prior(rng, space, epsilon)
        best = um.finite.optimal(space, epsilon, prior, method="linear-program")
        worst = max(worst, (1 - best.value) - um.finite.utility_bound(prior, space, epsilon))
    pair, level = um.complete(2), um.PureDP.from_ratio(inputs["ratio"])
    corner = um.finite.corner_priors(pair, level)[0]
    constant = um.FiniteMechanism([[1.0], [1.0]], pair.points, [0])
    meets = math.isclose(1 - constant.expected_loss(corner), um.finite.utility_bound(corner, pair, level))
    diagonal = np.array([1.0, 0.0])
    tight = bool(np.allclose(constraints(pair, level.log_growth) @ diagonal, 1))
    return Finding(
        {"largest excess of the optimum over sum y": worst, "equality if and only if Phi diag(XR) = 1": meets == tight}
    )


@reproduces("REG-proposition-7")
def proposition_7(inputs: Inputs, quick: bool) -> Finding:
    """Tight-constraints mechanisms are private."""
    rng = generator("REG-proposition-7")
    worst, count = -math.inf, 0
    while count < (15 if quick else 100):
        space, epsilon = random_graph(rng, int(rng.integers(2, 9))), round(float(rng.uniform(0.3, 2)), 2)
        try:
            tight = um.finite.tight_constraints(space, epsilon)
        except um.errors.NoSuchMechanism:
            continue
        count += 1
        worst = max(worst, tight.mechanism.epsilon(space) - epsilon)
    return Finding({"largest excess of epsilon": worst})


@reproduces("REG-lemma-3")
def lemma_3(inputs: Inputs, quick: bool) -> Finding:
    """Phi diag(X) = 1 holds for tight constraints; another private X has positive slack."""
    rng = generator("REG-lemma-3")
    worst, least, count = 0.0, math.inf, 0
    while count < (15 if quick else 100):
        space, epsilon = random_graph(rng, int(rng.integers(2, 8))), round(float(rng.uniform(0.6, 2)), 2)
        try:
            tight = um.finite.tight_constraints(space, epsilon).mechanism
        except um.errors.NoSuchMechanism:
            continue
        count += 1
        phi = constraints(space, epsilon)
        worst = max(worst, float(np.abs(phi @ np.diag(tight.matrix) - 1).max()))
        other = 0.9 * tight.matrix + 0.1 * private_mechanism(rng, space, epsilon, len(space)).matrix
        least = min(least, float((1 - phi @ np.diag(other)).max()))
    return Finding({"largest slack of tight constraints": worst, "least slack of others": least})


@reproduces("REG-theorem-3")
def theorem_3(inputs: Inputs, quick: bool) -> Finding:
    """Tight constraints are optimal for every regular prior, against the linear program."""
    rng = generator("REG-theorem-3")
    worst, count = 0.0, 0
    while count < (6 if quick else 40):
        space, epsilon = random_graph(rng, int(rng.integers(2, 7))), round(float(rng.uniform(0.5, 2)), 2)
        try:
            tight = um.finite.tight_constraints(space, epsilon).mechanism
        except um.errors.NoSuchMechanism:
            continue
        count += 1
        prior = regular_prior(rng, space, epsilon)
        best = um.finite.optimal(space, epsilon, prior, method="linear-program").value
        worst = max(worst, abs(tight.expected_loss(prior, remap="none") - best))
    return Finding({"largest difference from the optimum": worst})


@reproduces("REG-lemma-4")
def lemma_4(inputs: Inputs, quick: bool) -> Finding:
    """Tight constraints exist if and only if the uniform prior is regular; then they are best for it (Corollary 2)."""
    rng = generator("REG-lemma-4")
    agree, exists, worst, count = 0, 0, 0.0, 30 if quick else 200
    for _ in range(count):
        space, epsilon = random_graph(rng, int(rng.integers(3, 8))), round(float(rng.uniform(0.1, 1)), 2)
        y = um.finite.regularity(None, space, epsilon)
        try:
            tight = um.finite.tight_constraints(space, epsilon).mechanism
        except um.errors.NoSuchMechanism:
            agree += y is None
            continue
        exists += 1
        agree += y is not None
        if y is not None:
            worst = max(worst, float(np.abs(np.diag(tight.matrix) - len(space) * y).max()))
    return Finding(
        {
            "share on which both agree": agree / count,
            "share in which it exists": exists / count,
            "largest difference of the diagonal from n y": worst,
        }
    )
