"""Forged certificates of the best boundary: whatever a file says, no false bound is verified."""

import hashlib
import json
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from oracles.programs import private_rows
from scipy.optimize import linprog

import utmost as um
from utmost.exact.saved import canonical
from utmost.solution import Problem, Solution, certificate_of
from utmost.space.edge_levels import on_edges
from utmost.theory.linear_program import best_mechanism, mix_until_private
from utmost.theory.verify_dual_bounds import mechanism_bound


def read_again(solution, path):
    """The solution as a file whose checksum fits brings it: a forger recomputes that."""
    content = json.loads(solution.save(path).read_bytes())
    content.pop("sha256")
    content["sha256"] = hashlib.sha256(canonical(content)).hexdigest()
    path.write_bytes(canonical(content))
    return Solution.load(path)


def forged(space, level, data, onto, edges=None, toss=False):
    """The best that a liar can do with a merge of points: the optimum on the merged graph, its prices and its bound."""
    n, k = int(onto.max()) + 1, len(data["outputs"])
    images = np.sort(onto[space.edge_indices], axis=1) if edges is None else edges
    images = np.unique(images[images[:, 0] != images[:, 1]], axis=0)
    small = on_edges(um.Space(range(n), images), level)
    ordered = data["rankings"][data["region"]]
    gains = np.zeros((n, k))
    np.add.at(gains, (onto[:, None], ordered), data["prior"][:, None] * data["weights"])
    found = best_mechanism(small, gains)
    levels = on_edges(space, level)
    matrix = np.full((len(onto), k), 1 / k) if toss else found.matrix[onto]
    matrix, _ = mix_until_private(matrix, levels)
    value = float((data["prior"][:, None] * np.take_along_axis(matrix, ordered, axis=1) @ data["weights"]).sum())
    bound = mechanism_bound(small, gains, found.duals)
    evidence = {"onto": onto, "edges": images, "duals": found.duals}
    mechanism = um.FiniteMechanism(matrix, space.points, data["outputs"])
    problem = Problem("rainbow.best_boundary", space, levels, data)
    certificate = certificate_of(problem, mechanism, "bound", bound, abs(bound - value), evidence)
    return Solution(problem, mechanism, value, certificate)


def best_by_lp(space, level, data):
    """The most that a private mechanism reaches which has one row on the border of each ranking, by one LP."""
    n, k = len(space.points), len(data["outputs"])
    names = [tuple(data["rankings"][r]) for r in data["region"]]
    arcs = [tuple(arc) for a, b in space.edge_indices.tolist() for arc in ((a, b), (b, a))]
    border = sorted({a for a, b in arcs if names[a] != names[b]})
    growth, delta = float(np.exp(level.log_growth)), float(level.delta)
    size = n * k + len(arcs) * k
    upper, limits, equal, totals = private_rows(n, k, arcs, growth, delta)
    for v in border:
        first = next(u for u in border if names[u] == names[v])
        for o in range(k if first != v else 0):
            row = np.zeros(size)
            row[v * k + o], row[first * k + o] = 1, -1
            equal.append(row)
            totals.append(0)
    cost = np.zeros(size)
    for v in range(n):
        for position, o in enumerate(names[v]):
            cost[v * k + o] -= data["prior"][v] * data["weights"][position]
    result = linprog(cost, np.array(upper), limits, np.array(equal), totals, bounds=(0, 1))
    assert result.status == 0
    return -result.fun


def a_problem(rng):
    """A small graph with regions of two or three rankings, some of them far from any border."""
    n, k = int(rng.integers(4, 8)), int(rng.integers(2, 4))
    edges = [(int(rng.integers(max(0, i - 2), i)), i) for i in range(1, n)]
    if rng.random() < 0.2:  # a part of its own, perhaps without a border
        edges = [(a, b) for a, b in edges if b != n - 2]
    every = np.array(list(permutations(range(k))))
    rankings = every[rng.permutation(len(every))[: int(rng.integers(2, 4))]]
    region = np.sort(rng.integers(0, len(rankings), n))
    worth = np.sort(rng.random(k))[::-1] if rng.random() < 0.5 else np.eye(k)[0]
    data = {
        "outputs": tuple("abc"[:k]),
        "region": region.astype(np.int64),
        "rankings": rankings.astype(np.int64),
        "weights": worth.copy(),
        "prior": rng.dirichlet(np.ones(n)) if rng.random() < 0.5 else np.full(n, 1 / n),
    }
    return (
        um.Space.from_edges(edges, points=range(n)),
        um.ApproxDP(rng.choice([0.3, 1, 2]), rng.choice([0, 0, 0.1])),
        data,
    )


def true_merge(space, data):
    """Points by ranking and distance to the border, numbered; breadth first, with nothing of Utmost's."""
    region, arcs = data["region"], space.edge_indices
    far = np.full(len(region), 99)
    far[arcs[region[arcs[:, 0]] != region[arcs[:, 1]]].ravel()] = 0
    for _ in range(len(region)):
        for a, b in arcs.tolist():
            far[a], far[b] = min(far[a], far[b] + 1), min(far[b], far[a] + 1)
    return np.unique(np.column_stack([region, far]), axis=0, return_inverse=True)[1].reshape(-1)


def a_forgery(rng):
    """A problem and a certificate for it, each perhaps with a lie in it."""
    space, level, data = a_problem(rng)
    n = len(space.points)
    lie = rng.choice(["none", "merge", "mix", "split", "weights", "twice", "edges", "toss", "duals"])
    onto = true_merge(space, data)
    edges = None
    if lie == "merge":  # two of the true classes, most often of one ranking, become one
        one = int(rng.integers(n))
        near = np.flatnonzero(data["region"] == data["region"][one]) if rng.random() < 0.9 else np.arange(n)
        onto[onto == onto[one]] = onto[int(rng.choice(near))]
    elif lie == "mix":
        onto = data["region"] * 2 + rng.integers(0, 2, n)
    elif lie == "split":  # a finer merge is true as well
        onto = onto * 2 + rng.integers(0, 2, n)
    elif lie == "weights":
        data["weights"] = rng.permutation(data["weights"])
    elif lie == "twice":  # some points get a ranking of their own that is the old one
        data["rankings"] = np.vstack([data["rankings"], data["rankings"][:1]])
        data["region"] = np.where(
            (data["region"] == 0) & (rng.random(n) < 0.5), len(data["rankings"]) - 1, data["region"]
        )
        onto = true_merge(space, data)
    onto = np.unique(onto, return_inverse=True)[1].reshape(-1).astype(np.int64)
    if lie == "edges":  # an edge that is the image of none
        every = np.array([(a, b) for b in range(int(onto.max()) + 1) for a in range(b)], dtype=np.int64).reshape(-1, 2)
        edges = every[rng.random(len(every)) < 0.7]
    solution = forged(space, level, data, onto, edges, toss=lie in ("toss", "edges"))
    if lie == "duals":
        evidence = dict(solution.certificate.evidence)
        evidence["duals"] = evidence["duals"] * rng.uniform(-0.5, 1.5, evidence["duals"].shape)
        c = solution.certificate
        stated = c.bound * rng.uniform(0.9, 1)
        c = replace(c, bound=stated, gap=abs(stated - solution.value), evidence=evidence)
        solution = Solution(solution.problem, solution.mechanism, solution.value, c)
    return solution, level, lie


def try_forgeries(seed, count, path):
    """How many forgeries were tried and how many verified, by kind; each verified one is held against the LP."""
    rng, verified = np.random.default_rng(seed), {}
    for _ in range(count):
        solution, level, lie = a_forgery(rng)
        passed = bool(read_again(solution, path).verify())
        tried, fine = verified.get(lie, (0, 0))
        verified[lie] = tried + 1, fine + passed
        if passed:
            best = best_by_lp(solution.problem.space, level, solution.problem.data)
            assert solution.certificate.bound >= best - 1e-9, (lie, solution.certificate.bound, best)
    return verified


def test_no_false_bound_is_verified(tmp_path):
    """A sample of what `make test-long` tries: lies about merges, weights, rankings, edges, prices."""
    verified = try_forgeries(0, 150, tmp_path / "s.json")
    assert verified["none"][0] == verified["none"][1] > 5  # the truth passes
    assert verified["split"][0] == verified["split"][1] > 5
    assert verified["merge"][1] < verified["merge"][0]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 11))
def test_no_false_bound_is_verified_in_ten_thousand(seed, tmp_path):
    """Ten times a thousand forgeries with their checksums recomputed: none is verified that is false."""
    assert sum(tried for tried, _ in try_forgeries(seed, 1000, tmp_path / "s.json").values()) == 1000


def test_an_interior_merged_with_the_border_proves_nothing(tmp_path):
    """Ten people, all merged into two: the file says that nothing exceeds the even border, and far more is reached."""
    space, level = um.counts(9), um.PureDP(1)
    honest = um.rainbow.best_boundary(space, lambda yes: ("a", "b") if yes < 5 else ("b", "a"), level)
    data = dict(honest.problem.data)
    lie = read_again(forged(space, level, data, data["region"].copy()), tmp_path / "s.json")
    assert lie.certificate.bound < 0.74 < 0.9 < honest.value
    verification = lie.verify()
    assert verification.private
    assert not verification
    assert "distances to the border" in str(verification)


@pytest.mark.parametrize("rankings", [[[0, 0], [1, 1]], [[0, 0], [1, 0]], [[0, 1], [0, 1]]])
def test_a_ranking_holds_every_output_once_and_is_listed_once(rankings, tmp_path):
    """An output that counts twice, or two names for one ranking: another problem than rankings pose."""
    space, level = um.counts(5), um.PureDP(1)
    honest = um.rainbow.best_boundary(space, lambda yes: ("a", "b") if yes < 3 else ("b", "a"), level)
    data = {**honest.problem.data, "rankings": np.array(rankings), "weights": np.array([1.0, 0.5])}
    lie = read_again(forged(space, level, data, honest.certificate.evidence["onto"]), tmp_path / "s.json")
    verification = lie.verify()
    assert verification.private
    assert not verification
    assert "a ranking" in str(verification)


def test_rounding_alone_does_not_exceed_a_bound():
    """The values of a thousand points add up to 1 and two roundings more, and their bound is 1."""
    first, second = ("a", "b", "c"), ("b", "a", "c")
    found = um.rainbow.best_boundary(um.path(1000), lambda i: first if i < 500 else second, um.GaussianDP(20))
    assert found.verify()
    lower = replace(found.certificate, bound=found.certificate.bound * (1 - 1e-8))
    assert not replace(found, certificate=lower).verify()
