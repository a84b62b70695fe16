"""Outputs that are not the points: the least loss against the raw inequalities, and forged tables refused."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

import utmost as um


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
