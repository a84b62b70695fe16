"""The optimal extension against shortest paths, the papers' own algorithm, and its growth. One run, ratios only.

Aims: at most 2.5 times two plain SciPy Dijkstra passes from the same 1000 known points on a 1000 x 1000 grid; at least
1000 times faster than HET Algorithm 2 written literally at 60 points; near linear growth from 10^4 to 10^6 points;
peak memory below 1.5 GiB at 10^6 points.
"""

import subprocess
import sys
from functools import partial
from itertools import pairwise

import numpy as np
from scipy.sparse.csgraph import dijkstra
from timing import seconds

import utmost as um


def grid_question(side, seed=0):
    """A square grid with a random epsilon per edge and 1000 known points (a tenth as many points if it is small)."""
    rng = np.random.default_rng(seed)
    space = um.grid((side, side), "manhattan")
    epsilon = rng.uniform(0.1, 1, len(space.edge_indices))
    known = np.full(side * side, np.nan)
    chosen = rng.choice(side * side, side * side // 1000, replace=False)
    known[chosen] = rng.uniform(0.45, 0.55, len(chosen))
    space.arcs  # noqa: B018  the graph is there before the clock starts, for both
    return space, epsilon, known, chosen


def against_dijkstra():
    space, epsilon, known, chosen = grid_question(1000)
    levels, truth, graph = um.per_edge(space, epsilon=epsilon), np.ones(len(known), dtype=bool), space.graph(epsilon)
    from_known = seconds(lambda: [dijkstra(graph, indices=chosen, min_only=True) for _ in range(2)])
    from_one = seconds(lambda: [dijkstra(graph, indices=chosen[0]) for _ in range(2)])
    ours = seconds(lambda: um.binary.extend(space, truth, known, levels))
    print(f"extend / two Dijkstra passes from the 1000 known points: {ours / from_known:.2f}   (aim <= 2.5)")
    print(f"extend / two Dijkstra passes from a single point:        {ours / from_one:.2f}   (no aim; a smaller front)")


def het_algorithm_1(neighbours, upper, source, alpha):
    """HET Algorithm 1 as printed: grow a set, and at every step look at all edges that leave it."""
    found = {source: alpha}
    while len(found) < len(neighbours):
        rim = {}
        for v in (v for u in found for v in neighbours[u] if v not in found):
            rim[v] = min(upper(found[u], u, v) for u in neighbours[v] if u in found)
        best = min(rim, key=rim.get)
        found[best] = rim[best]
    return found


def het_algorithm_2(neighbours, upper, truth, known):
    """HET Algorithm 2 as printed, with the erratum T(v) = 2: 1 - min."""
    for u in known:
        for v in known:
            if u != v and known[v] > het_algorithm_1(neighbours, upper, u, known[u])[v] + 1e-12:
                return None
    result = dict(known)
    for v in (v for v in neighbours if v not in known):
        if truth[v]:
            result[v] = min(het_algorithm_1(neighbours, upper, u, known[u])[v] for u in known)
        else:
            result[v] = 1 - min(het_algorithm_1(neighbours, upper, u, 1 - known[u])[v] for u in known)
    return result


def against_the_papers():
    n, rng = 60, np.random.default_rng(1)
    edges = sorted(
        {(int(rng.integers(0, i)), i) for i in range(1, n)}
        | {tuple(sorted(map(int, rng.choice(n, 2, False)))) for _ in range(60)}
    )
    space = um.Space.from_edges(edges, points=range(n))
    epsilon = rng.uniform(0.2, 1, len(edges))
    growth = {**{e: np.exp(x) for e, x in zip(edges, epsilon, strict=True)}}
    growth |= {(b, a): x for (a, b), x in growth.items()}
    neighbours = {v: [] for v in range(n)}
    for a, b in edges:
        neighbours[a].append(b)
        neighbours[b].append(a)
    truth = np.arange(n) % 2 == 0
    known = {v: 0.5 + 0.02 * (1 if truth[v] else -1) for v in um.binary.hitting_set(space, truth)}

    def upper(alpha, u, v):
        return min(growth[u, v] * alpha, 1 - (1 - alpha) / growth[u, v])

    levels = um.per_edge(space, epsilon=epsilon)
    literal_answer = het_algorithm_2(neighbours, upper, truth, known)
    ours_answer = um.binary.extend(space, truth, known, levels).mechanism.matrix[:, 1]
    assert np.allclose([literal_answer[v] for v in range(n)], ours_answer, atol=1e-12)
    literal = seconds(lambda: het_algorithm_2(neighbours, upper, truth, known), repeats=1)
    ours = seconds(lambda: um.binary.extend(space, truth, known, levels), repeats=10)
    size = f"{n} points, {len(known)} known, same answer"
    print(f"HET Algorithm 2 written literally / extend, {size}: {literal / ours:.0f}   (aim >= 1000)")


def growth():
    ours, plain = {}, {}
    for side in (100, 316, 1000):
        space, epsilon, known, chosen = grid_question(side)
        levels, truth, graph = (
            um.per_edge(space, epsilon=epsilon),
            np.ones(len(known), dtype=bool),
            space.graph(epsilon),
        )
        ours[side * side] = seconds(partial(um.binary.extend, space, truth, known, levels))
        plain[side * side] = seconds(partial(dijkstra, graph, indices=chosen, min_only=True))
    for fewer, more in pairwise(ours):
        mine, theirs = (np.log(t[more] / t[fewer]) / np.log(more / fewer) for t in (ours, plain))
        rates = f"time ~ points^{mine:.2f}, SciPy's Dijkstra ^{theirs:.2f}"
        print(f"growth from {fewer} to {more} points: {rates}   (aim near 1)")


def memory():
    code = (
        "import sys; sys.path.insert(0, 'bench'); import binary, resource, numpy as np, utmost as um\n"
        "s, e, k, _ = binary.grid_question(1000)\n"
        "um.binary.extend(s, np.ones(len(k), dtype=bool), k, um.per_edge(s, epsilon=e))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peak = int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    print(f"peak memory of extend at 10^6 points: {peak / 2**20:.2f} GiB   (aim < 1.5)")


if __name__ == "__main__":
    against_dijkstra()
    against_the_papers()
    growth()
    memory()
