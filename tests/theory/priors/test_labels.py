"""Outputs that are not the points: the least loss against the raw inequalities, and forged tables refused."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

import utmost as um
from utmost.space.edge_levels import on_edges
from utmost.theory.symmetry import find_symmetry


def least_by_lp(space, growth, prior, table):
    n, k = table.shape
    rows = []
    for a, b in space.edge_indices.tolist():
        for u, v in ((a, b), (b, a)):
            for o in range(k):
                row = np.zeros(n * k)
                row[u * k + o], row[v * k + o] = 1.0, -growth
                rows.append(row)
    sums = np.kron(np.eye(n), np.ones(k))
    return linprog((prior[:, None] * table).ravel(), np.array(rows), np.zeros(len(rows)), sums, np.ones(n)).fun


@pytest.mark.parametrize("seed", range(4))
def test_the_least_loss_of_all(seed):
    rng = np.random.default_rng(seed)
    space = (um.cycle(7), um.counts(8), um.histograms(3, 3), um.hamming(3, 2))[seed]
    n, k = len(space.points), int(rng.integers(2, 6))
    prior, table = rng.dirichlet(np.ones(n)), rng.uniform(-1, 3, (n, k))
    best = um.finite.optimal(space, um.PureDP.from_ratio(2), prior, loss=table, outputs=[f"out {o}" for o in range(k)])
    assert best.verify()
    assert best.value == pytest.approx(least_by_lp(space, 2.0, prior, table), abs=1e-7)
    assert best.mechanism.matrix.shape == (n, k)
    assert not replace(best, value=best.value - 1e-6).verify()
    assert not replace(best, mechanism=um.FiniteMechanism(best.mechanism.matrix, space.points, range(k))).verify()


def test_the_worst_point_and_a_delta():
    space = um.counts(5)
    table = np.abs(np.arange(6)[:, None] - np.array([0.0, 2.5, 5.0]))
    worst = um.finite.optimal(
        space, um.ApproxDP(1, "0.05"), loss=table, outputs=["low", "middle", "high"], criterion="worst"
    )
    even = um.finite.optimal(space, um.ApproxDP(1, "0.05"), loss=table, outputs=["low", "middle", "high"])
    assert worst.verify()
    assert even.verify()
    assert even.value <= worst.value


def test_what_is_wrong_is_named(tmp_path):
    space, table = um.counts(3), np.zeros((4, 2))
    for wrong, match in (
        ({"outputs": []}, "one or more"),
        ({"outputs": ["a", "a"]}, "each once"),
        ({"outputs": ["a", "b"], "loss": "zero-one"}, "callable"),
        ({"outputs": ["a", "b"], "method": "columns"}, "linear program"),
        ({"outputs": ["a", "b", "c"]}, "loss"),
    ):
        with pytest.raises(um.errors.InvalidInput, match=match):
            um.finite.optimal(space, 1.0, **{"loss": table, **wrong})
    best = um.finite.optimal(space, 1.0, loss=table + np.eye(4, 2), outputs=["a", "b"])
    assert type(best).load(best.save(tmp_path / "labels.json")).verify()


SYMMETRIC = {
    "shortfall of four": (um.histograms(4, 4), 4, lambda t, o: float(max(t) - t[o])),
    "the median mirrored": (um.histograms(6, 3), 3, lambda t, o: abs(o - 1 - (t[2] > 3) + (t[0] > 3))),
    "a count mirrored": (um.counts(9), 4, lambda v, o: abs(v - 3 * o) ** 1.5),
    "a square": (um.grid((4, 4), metric="manhattan"), 4, lambda p, o: abs(p[0] - o // 2 * 3) + abs(p[1] - o % 2 * 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", SYMMETRIC)
@pytest.mark.parametrize("level", [um.PureDP.from_ratio(2), um.ApproxDP("0.5", "0.03")], ids=str)
@pytest.mark.parametrize("criterion", ["average", "worst"])
def test_symmetry_shrinks_the_program_and_changes_nothing_else(monkeypatch, name, level, criterion):
    """Solved by classes and as a whole: the same loss, and prices that prove it against the raw inequalities."""
    space, k, loss = SYMMETRIC[name]
    best = um.finite.optimal(space, level, loss=loss, outputs=range(k), criterion=criterion)
    assert "alike by symmetry" in best.certificate.method
    assert best.verify()
    assert best.certificate.gap <= 1e-7 * max(best.value, 1)
    monkeypatch.setitem(um.finite.optimal.__globals__, "find_symmetry", lambda *_: None)
    whole = um.finite.optimal(space, level, loss=loss, outputs=range(k), criterion=criterion)
    assert "alike" not in whole.certificate.method
    assert best.value == pytest.approx(whole.value, abs=1e-7)


def test_what_is_not_symmetric_is_not_taken_to_be():
    """A prior, a loss or a level that an exchange would change makes nothing alike; what stays alike does."""
    space, k, loss = SYMMETRIC["shortfall of four"]
    n = len(space.points)
    uneven = np.random.default_rng(1).dirichlet(np.ones(n))
    table = np.array([[loss(t, o) for o in range(k)] for t in space.points])
    assert find_symmetry(on_edges(space, 1.0), space.as_prior(None), table) is not None
    assert find_symmetry(on_edges(space, 1.0), uneven, table) is None
    assert find_symmetry(on_edges(space, 1.0), space.as_prior(None), table + 1e-6 * np.arange(n)[:, None]) is None
    epsilons = np.linspace(0.5, 1, len(space.edges))
    assert find_symmetry(um.per_edge(space, epsilon=epsilons), space.as_prior(None), table) is None
    first_two = np.array([1.0 + (t[2] > t[3]) for t in space.points])  # only the first two candidates stay alike
    some = find_symmetry(on_edges(space, 1.0), first_two / first_two.sum(), table)
    exchanged = {frozenset({t, (t[1], t[0], t[2], t[3])}) for t in space.points}
    assert some.points.max() + 1 == len(exchanged)


def test_thousands_of_tallies():
    """The winner among three of 60 rows, 1891 tallies, and the shortfall among four of 24 rows, 2925 tallies."""
    votes = um.histograms(60, 3)
    table = np.array([[float(o != t.index(max(t))) for o in range(3)] for t in votes.points])
    best = um.finite.optimal(votes, 1.0, loss=table, outputs=("red", "green", "blue"))
    assert best.certificate.gap <= 1e-5 * best.value
    four = um.histograms(24, 4)
    behind = um.finite.optimal(four, 1.0, loss=lambda t, o: float(max(t) - t[o]), outputs=range(4))
    assert len(four.points) == 2925
    assert behind.certificate.gap <= 1e-5 * behind.value
    assert behind.verify()
