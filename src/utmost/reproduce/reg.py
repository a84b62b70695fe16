"""REG: A differentially private mechanism of optimal utility for a region of priors."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

import utmost as um
from utmost.reproduce.entry import Finding, Given, reproduces
from utmost.reproduce.instances import Floats, generator, private_mechanism, random_graph, random_prior
from utmost.reproduce.pictures import curves, panels


def _results(databases: um.Space, query: Any) -> um.Space:
    """The results of a query and their adjacency, from the databases themselves (Definition 3)."""
    results = sorted({query(d) for d in databases.points})
    edges = {tuple(sorted((query(a), query(b)))) for a, b in databases.edges if query(a) != query(b)}
    return um.Space.from_edges(sorted(edges), points=results)


def _same(found: um.Space, family: um.Space) -> bool:
    """Whether two spaces have the same points and the same distances."""
    return list(found.points) == list(family.points) and np.array_equal(found.distances(), family.distances())


def _phi(space: um.Space, epsilon: float) -> Floats:
    return np.asarray(np.exp(-epsilon * space.distances()))


@reproduces("REG-figure-1")
def figure_1(given: Given, quick: bool) -> Finding:
    """Adjacency of query results, derived from databases, against the families."""
    n = given["n"]
    count = _results(um.hamming(n, 2), sum)
    pair = _results(
        um.hamming(n, tuple(itertools.product((0, 1), repeat=2))), lambda d: tuple(map(sum, zip(*d, strict=True)))
    )
    ring = um.cycle(given["ring"])
    computed = {
        "a count is a path": _same(count, um.path(n + 1)),
        "two counts are a grid with king's moves": _same(pair, um.grid((n + 1, n + 1))),
        "neighbours of each result on the cycle": sorted(set(ring.graph().sum(axis=1).astype(int).tolist())),
    }
    return Finding(
        computed, lambda: _graphs([um.path(n + 1), ring, um.grid((n + 1, n + 1))], ["$f_1$", "$f_2$", "$f_3$"])
    )


def _graphs(spaces: list[um.Space], titles: list[str]) -> Any:
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


@reproduces("REG-figure-5")
def figure_5(given: Given, quick: bool) -> Finding:
    """Adjacency of the case study's queries, derived from databases."""
    people, largest = given["people"], given["largest"]
    computed = {
        "a sum joins results at most v apart": _same(
            _results(um.hamming(people, largest + 1), sum), um.sums(people, largest)
        ),
        "two counts join results at most one apart in each": _same(
            _results(
                um.hamming(people, tuple(itertools.product((0, 1), repeat=2))),
                lambda d: tuple(map(sum, zip(*d, strict=True))),
            ),
            um.grid((people + 1, people + 1)),
        ),
    }
    return Finding(
        computed,
        lambda: _graphs([um.sums(3, largest), um.grid((4, 4))], ["(a) a sum, v = 3", "(b) two counts"]),
    )


@reproduces("REG-proposition-1")
def proposition_1(given: Given, quick: bool) -> Finding:
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


def _regular(rng: np.random.Generator, space: um.Space, epsilon: float) -> Floats:
    """A random regular prior: a combination of corner priors."""
    return np.asarray(random_prior(rng, len(space)) @ um.finite.corner_priors(space, epsilon))


@reproduces("REG-proposition-2")
def proposition_2(given: Given, quick: bool) -> Finding:
    """Ratios of a regular prior are bounded by distance; the converse fails."""
    rng = generator("REG-proposition-2")
    worst, held = -math.inf, True
    for _ in range(40 if quick else 400):
        space, epsilon = random_graph(rng, int(rng.integers(2, 9))), float(rng.uniform(0.2, 2))
        prior = _regular(rng, space, epsilon)
        worst = max(worst, float((np.log(prior[:, None] / prior) - epsilon * space.distances()).max()))
        held &= um.finite.necessary_conditions(prior, space, epsilon)[0].passed
    path, level = um.path(3), um.PureDP.from_ratio(given["ratio"])
    prior = np.array(given["prior"])
    bounded = (prior[:, None] / prior <= given["ratio"] ** path.distances()).all()
    computed = {
        "largest excess of a log ratio": worst,
        "necessary_conditions finds it so": held,
        "a prior with bounded ratios": bool(bounded),
        "it is regular": um.finite.regularity(prior, path, level) is not None,
    }
    return Finding(computed)


@reproduces("REG-proposition-3")
def proposition_3(given: Given, quick: bool) -> Finding:
    """Every entry of a regular prior lies between two bounds; corner priors meet the upper one."""
    rng = generator("REG-proposition-3")
    low = high = -math.inf
    corner, held = 0.0, True
    for _ in range(40 if quick else 400):
        space, epsilon = random_graph(rng, int(rng.integers(2, 9))), float(rng.uniform(0.2, 2))
        prior = _regular(rng, space, epsilon)
        least, most = 1 / np.exp(epsilon * space.distances()).sum(axis=1), 1 / _phi(space, epsilon).sum(axis=1)
        low, high = max(low, float((least - prior).max())), max(high, float((prior - most).max()))
        held &= um.finite.necessary_conditions(prior, space, epsilon)[1].passed
        corner = max(corner, float(np.abs(np.diag(um.finite.corner_priors(space, epsilon)) - most).max()))
    return Finding(
        {
            "largest fall below": low,
            "largest excess above": high,
            "corner priors miss the upper bound by": corner,
            "necessary_conditions finds it so": held,
        }
    )


@reproduces("REG-proposition-4")
def proposition_4(given: Given, quick: bool) -> Finding:
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
            worst = max(worst, float(np.abs(y * _phi(space, epsilon).sum(axis=1) - gamma).max()), abs(gamma.sum() - 1))
    return Finding(
        {
            "share on which both agree": agree / count,
            "share that is regular": inside / count,
            "largest difference of gamma from y times the row sum": worst,
        }
    )


def _region(space: um.Space, given: Given, title: str) -> Finding:
    """The corners of a region at two levels, that it grows as privacy falls, and its picture."""
    levels = [um.PureDP.from_ratio(r) for r in given["ratios"]]
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
def figure_2a(given: Given, quick: bool) -> Finding:
    """The regions of three results in a row."""
    return _region(um.path(3), given, "REG Figure 2: f1, three results in a row")


@reproduces("REG-figure-2b")
def figure_2b(given: Given, quick: bool) -> Finding:
    """The regions of three results in a ring."""
    return _region(um.cycle(3), given, "REG Figure 2: f2, three results in a ring")


@reproduces("REG-figure-3")
def figure_3(given: Given, quick: bool) -> Finding:
    """The regions of a pair of counts over at most one record."""
    return _region(um.grid((2, 2)), given, "REG Figure 3: a pair of counts, at most one record")


@reproduces("REG-example-1")
def example_1(given: Given, quick: bool) -> Finding:
    """The corners of the region of three results as privacy vanishes."""
    level = um.PureDP.from_ratio(given["limit"])
    corners = [um.finite.corner_priors(space, level).round(6) for space in (um.path(3), um.cycle(3))]
    return Finding({"corners in a row": corners[0], "corners in a ring": corners[1]})


@reproduces("REG-example-2")
def example_2(given: Given, quick: bool) -> Finding:
    """The results of a pair of counts over at most one record, and the corners as privacy vanishes."""
    space, level = um.grid((2, 2)), um.PureDP.from_ratio(given["limit"])
    computed = {
        "results": [list(p) for p in sorted(space.points)],
        "corners as e^-eps goes to 0": um.finite.corner_priors(space, level).round(6),
    }
    return Finding(computed)


@reproduces("REG-lemma-2")
def lemma_2(given: Given, quick: bool) -> Finding:
    """Utility as y1 - ys with slacks between 0 and 1, for any prior, regular or not."""
    rng = generator("REG-lemma-2")
    worst, slack_low, slack_high = 0.0, 0.0, 0.0
    for _ in range(40 if quick else 400):
        space, epsilon = random_graph(rng, int(rng.integers(2, 7))), float(rng.uniform(0.3, 2))
        prior, mechanism = random_prior(rng, len(space)), private_mechanism(rng, space, epsilon, len(space))
        guesses = [space.points[int(g)] for g in rng.integers(len(space), size=len(space))]
        remapped = mechanism.remap(guesses)
        diagonal = np.array([remapped.probability(p, p) if p in remapped.outputs else 0.0 for p in space.points])
        phi = _phi(space, epsilon)
        y, slack = np.linalg.solve(phi, prior), 1 - phi @ diagonal
        utility = 1 - mechanism.expected_loss(prior, remap=guesses)
        worst = max(worst, abs(utility - (y.sum() - y @ slack)))
        slack_low, slack_high = max(slack_low, -slack.min()), max(slack_high, slack.max())
    return Finding({"largest difference": worst, "slack below 0 by": slack_low, "largest slack": slack_high})


@reproduces("REG-theorem-1")
def theorem_1(given: Given, quick: bool) -> Finding:
    """Nothing private exceeds sum y for a regular prior; equality without tight constraints at a corner prior."""
    rng = generator("REG-theorem-1")
    worst = -math.inf
    for _ in range(6 if quick else 40):
        space, epsilon = random_graph(rng, int(rng.integers(2, 7))), round(float(rng.uniform(0.3, 2)), 2)
        prior = _regular(rng, space, epsilon)
        best = um.finite.optimal(space, epsilon, prior, method="linear-program")
        worst = max(worst, (1 - best.value) - um.finite.utility_bound(prior, space, epsilon))
    pair, level = um.complete(2), um.PureDP.from_ratio(given["ratio"])
    corner = um.finite.corner_priors(pair, level)[0]
    constant = um.FiniteMechanism([[1.0], [1.0]], pair.points, [0])
    meets = math.isclose(1 - constant.expected_loss(corner), um.finite.utility_bound(corner, pair, level))
    diagonal = np.array([1.0, 0.0])
    tight = bool(np.allclose(_phi(pair, level.log_growth) @ diagonal, 1))
    return Finding(
        {"largest excess of the optimum over sum y": worst, "equality if and only if Phi diag(XR) = 1": meets == tight}
    )


@reproduces("REG-proposition-5")
def proposition_5(given: Given, quick: bool) -> Finding:
    """Leakage is the logarithm of utility over the likeliest result."""
    rng = generator("REG-proposition-5")
    worst = 0.0
    for _ in range(40 if quick else 300):
        space = random_graph(rng, int(rng.integers(2, 8)))
        prior, mechanism = random_prior(rng, len(space)), private_mechanism(rng, space, float(rng.uniform(0.2, 3)), 5)
        utility = 1 - mechanism.expected_loss(prior, remap="best")
        worst = max(worst, abs(mechanism.leakage(prior) - math.log2(utility / prior.max())))
    return Finding({"largest difference": worst})


@reproduces("REG-proposition-6")
def proposition_6(given: Given, quick: bool) -> Finding:
    """Leakage bounds: for a regular prior (9), and for every prior where the uniform one is regular (Corollary 1)."""
    rng = generator("REG-proposition-6")
    regular = every = -math.inf
    for _ in range(40 if quick else 300):
        space, epsilon = random_graph(rng, int(rng.integers(2, 7))), round(float(rng.uniform(0.5, 2)), 2)
        mechanism = private_mechanism(rng, space, epsilon, 6)
        prior = _regular(rng, space, epsilon)
        regular = max(regular, mechanism.leakage(prior) - um.finite.leakage_bound(prior, space, epsilon))
        if um.finite.regularity(None, space, epsilon) is not None:
            bound = um.finite.leakage_bound_for_all(space, epsilon)
            every = max(every, mechanism.leakage(random_prior(rng, len(space))) - bound)
    return Finding({"largest excess over (9)": regular, "largest excess over Corollary 1": every})


@reproduces("REG-theorem-2")
def theorem_2(given: Given, quick: bool) -> Finding:
    """The closed form for databases of u people, and that randomised response meets it."""
    worst = attained = 0.0
    for people, values, epsilon in itertools.product(given["people"], given["values"], given["epsilons"]):
        space, growth = um.hamming(people, values), math.exp(epsilon)
        closed = people * math.log2(values * growth / (values - 1 + growth))
        worst = max(
            worst,
            abs(um.finite.leakage_bound_for_all(space, epsilon) - closed),
            abs(um.finite.leakage_bound(None, space, epsilon) - closed),
        )
        attained = max(attained, abs(um.finite.tight_constraints(space, epsilon).mechanism.leakage() - closed))
    return Finding({"largest difference from the closed form": worst, "the best mechanism misses it by": attained})


def _five_people(given: Given, epsilon: float) -> tuple[float, float]:
    """Bits for all priors (Theorem 2), and what the formula of Proposition 6 gives for the prior of Example 3."""
    space, shares = um.complete(len(given["shares"])), np.array(given["shares"])
    every = um.finite.leakage_bound_for_all(um.hamming(given["people"], len(shares)), epsilon)
    y = np.linalg.solve(_phi(space, epsilon), shares)
    return every, given["people"] * math.log2(y.sum() / shares.max())


def _likelier_values(given: Given, epsilon: float) -> um.FiniteMechanism:
    """One person's answer: randomised response over the three likelier values, the fourth answers evenly."""
    growth = math.exp(epsilon)
    rows = [[(growth if i == j else 1) / (growth + 2) for j in range(3)] for i in range(3)] + [[1 / 3] * 3]
    return um.FiniteMechanism(rows, range(4), range(3))


@reproduces("REG-example-3")
def example_3(given: Given, quick: bool) -> Finding:
    """When the prior of five people is regular, and how much a private mechanism leaks at epsilon = 0.5."""
    people = given["quick people"] if quick else given["people"]
    space = um.hamming(people, 4)
    prior = np.array([math.prod(given["shares"][v] for v in p) for p in space.points])
    regular = [e for e in given["grid"] if um.finite.regularity(prior, space, e) is not None]
    every, special = _five_people(given, given["epsilon"])
    one = _likelier_values(given, given["epsilon"])
    computed = {
        "least epsilon of the grid at which it is regular": min(regular),
        "bits, for all priors, at 0.5": every,
        "bits, by the formula for this prior, at 0.5": special,
        "bits that a 0.5-private mechanism leaks": given["people"] * one.leakage(given["shares"]),
        "its epsilon": one.epsilon(um.complete(4)),
    }
    return Finding(computed)


@reproduces("REG-figure-4")
def figure_4(given: Given, quick: bool) -> Finding:
    """Both bounds against epsilon; the special one holds from log 2 on only."""
    grid = np.linspace(given["from"], given["to"], 53)
    bounds = np.array([_five_people(given, float(e)) for e in grid])
    leaks = [given["people"] * _likelier_values(given, float(e)).leakage(given["shares"]) for e in grid]
    regular = grid >= math.log(2)
    computed = {
        "the bound for this prior is below the bound for all": bool((bounds[:, 1] < bounds[:, 0]).all()),
        "it holds for the mechanism above at every epsilon from 0.48 on": bool((np.array(leaks) <= bounds[:, 1]).all()),
        "and from log 2 on": bool((np.array(leaks) <= bounds[:, 1] + 1e-12)[regular].all()),
    }

    def draw() -> Any:
        figure, axes = panels(["REG Figure 4: five people, four values"], 6.4, 4)
        lines = {
            "for all priors (Theorem 2)": bounds[:, 0].tolist(),
            "for the prior of Example 3, as printed": bounds[:, 1].tolist(),
            "leaked by a private mechanism": leaks,
        }
        curves(axes[0], grid.tolist(), lines, "ε", "bits")
        axes[0].axvline(math.log(2), color="#888888", linewidth=1, linestyle=":")
        axes[0].annotate("regular from ln 2 on", (math.log(2), 0.8), fontsize=8)
        return figure

    return Finding(computed, draw)


@reproduces("REG-proposition-7")
def proposition_7(given: Given, quick: bool) -> Finding:
    """Tight-constraints mechanisms are private."""
    rng = generator("REG-proposition-7")
    worst, found = -math.inf, 0
    while found < (15 if quick else 100):
        space, epsilon = random_graph(rng, int(rng.integers(2, 9))), round(float(rng.uniform(0.3, 2)), 2)
        try:
            tight = um.finite.tight_constraints(space, epsilon)
        except um.errors.NoSuchMechanism:
            continue
        found += 1
        worst = max(worst, tight.mechanism.epsilon(space) - epsilon)
    return Finding({"largest excess of epsilon": worst})


@reproduces("REG-lemma-3")
def lemma_3(given: Given, quick: bool) -> Finding:
    """Phi diag(X) = 1 holds for tight constraints; another private X has positive slack."""
    rng = generator("REG-lemma-3")
    worst, least, found = 0.0, math.inf, 0
    while found < (15 if quick else 100):
        space, epsilon = random_graph(rng, int(rng.integers(2, 8))), round(float(rng.uniform(0.6, 2)), 2)
        try:
            tight = um.finite.tight_constraints(space, epsilon).mechanism
        except um.errors.NoSuchMechanism:
            continue
        found += 1
        phi = _phi(space, epsilon)
        worst = max(worst, float(np.abs(phi @ np.diag(tight.matrix) - 1).max()))
        other = 0.9 * tight.matrix + 0.1 * private_mechanism(rng, space, epsilon, len(space)).matrix
        least = min(least, float((1 - phi @ np.diag(other)).max()))
    return Finding({"largest slack of tight constraints": worst, "least slack of others": least})


@reproduces("REG-theorem-3")
def theorem_3(given: Given, quick: bool) -> Finding:
    """Tight constraints are optimal for every regular prior, against the linear program."""
    rng = generator("REG-theorem-3")
    worst, tried = 0.0, 0
    while tried < (6 if quick else 40):
        space, epsilon = random_graph(rng, int(rng.integers(2, 7))), round(float(rng.uniform(0.5, 2)), 2)
        try:
            tight = um.finite.tight_constraints(space, epsilon).mechanism
        except um.errors.NoSuchMechanism:
            continue
        tried += 1
        prior = _regular(rng, space, epsilon)
        best = um.finite.optimal(space, epsilon, prior, method="linear-program").value
        worst = max(worst, abs(tight.expected_loss(prior, remap="none") - best))
    return Finding({"largest difference from the optimum": worst})


@reproduces("REG-lemma-4")
def lemma_4(given: Given, quick: bool) -> Finding:
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


@reproduces("REG-counting")
def counting(given: Given, quick: bool) -> Finding:
    """Counting queries: tight constraints are the truncated geometric mechanism, best for every prior after a remap."""
    rng = generator("REG-counting")
    same = loss = 0.0
    for epsilon in given["epsilons"]:
        n = given["results"]
        geometric = um.finite.geometric(n, epsilon)
        same = max(
            same, np.abs(um.finite.tight_constraints(um.path(n), epsilon).mechanism.matrix - geometric.matrix).max()
        )
        for _ in range(2 if quick else 8):
            prior = random_prior(rng, n)
            best = um.finite.optimal(um.path(n), epsilon, prior, method="linear-program").value
            loss = max(loss, abs(geometric.expected_loss(prior) - best))
    return Finding({"largest difference of the matrices": same, "largest loss above the optimum, any prior": loss})


@reproduces("REG-symmetric")
def symmetric(given: Given, quick: bool) -> Finding:
    """Vertex-transitive and distance-regular graphs: tight constraints exist at every epsilon."""
    spaces = [um.cycle(7), um.complete(5), um.hamming(3, 3), um.cycle(12), um.hamming(5, 2)]
    missing = [
        (repr(space), epsilon)
        for space in spaces
        for epsilon in given["epsilons"]
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
def figure_6a(given: Given, quick: bool) -> Finding:
    """The sum of 150 people's values: from when on tight constraints exist, and how they compare."""
    people, largest = given["people"], given["largest"]
    space = um.sums(people, largest)
    results = len(space.points)
    epsilons = given["epsilons"][:: 3 if quick else 1]
    tight, other = _sum_utilities(
        space, epsilons, lambda e: 1 - um.finite.geometric(results, e / largest).expected_loss()
    )
    try:
        um.finite.tight_constraints(space, given["stated minimum"])
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
def figure_6b(given: Given, quick: bool) -> Finding:
    """Two counts over 30 people."""
    people = given["people"]
    space = um.grid((people + 1, people + 1))
    epsilons = given["epsilons"][:: 3 if quick else 1]

    def geometric(epsilon: float) -> float:
        """Both counts answered apart, each at half of epsilon: guesses are right independently of each other."""
        return (1 - um.finite.geometric(people + 1, epsilon / 2).expected_loss()) ** 2

    tight, other = _sum_utilities(space, epsilons, geometric)
    exists = [um.finite.regularity(None, space, e) is not None for e in (given["stated minimum"], *given["bracket"])]
    computed = {
        "exists at 0.9": exists[0],
        "exists at 1.136079": exists[1],
        "exists at 1.136081": exists[2],
        "least ratio of the utilities": min(t / o for t, o in zip(tight, other, strict=True)),
    }
    return Finding(computed, lambda: _figure_6("REG Figure 6(b): two counts over 30 people", epsilons, tight, other))


@reproduces("REG-monotone")
def monotone(given: Given, quick: bool) -> Finding:
    """Existence at one epsilon does not imply existence at a larger one."""
    graph = um.Space.from_edges([tuple(e) for e in given["edges"]], points=range(6))
    exists = [um.finite.regularity(None, graph, um.PureDP.from_ratio(r)) is not None for r in given["ratios"]]
    return Finding(
        {
            "exists at e^-eps = 0.73": exists[0],
            "exists at e^-eps = 0.6": exists[1],
            "exists at e^-eps = 0.45": exists[2],
        }
    )


@reproduces("REG-appendix-B")
def appendix_b(given: Given, quick: bool) -> Finding:
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
