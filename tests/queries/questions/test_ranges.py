"""Ranges between edges: right without noise, additive as fractions, variances and intervals as they are stated."""

import json
from fractions import Fraction
from itertools import combinations

import numpy as np
import pyarrow
import pytest

import utmost as um
from utmost.errors import InvalidInput
from utmost.queries.report.proof import load_answers
from utmost.space.integers import Lattice
from utmost.theory.workload.least_squares import number_of_sums, spreads, sum_products, sum_weights
from utmost.theory.workload.verify.checks import sums_optimum

VALUES = np.random.default_rng(8).integers(0, 60, 900)
EDGES = list(range(0, 65, 5))
LEVELS = [um.PureDP(1), um.GaussianDP(1), um.ZCDP("0.5"), um.ApproxDP(1, "1e-6")]


def opened(neighbours="add-remove", budget=None):
    table = pyarrow.table({"x": [*VALUES.tolist(), None, -3, 99]})
    return um.Session(table, "t", um.rows(at_most=1000), neighbours, budget or um.ApproxDP(1000, "0.1"))


def truth():
    pairs = combinations(EDGES, 2)
    return {f"[{a}, {b})": int(((a <= VALUES) & (b > VALUES)).sum()) for a, b in pairs}


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_estimates_are_right_without_noise_and_add_up(neighbours, level):
    """What the engine found, put through the strategy, is the table; noisy ranges that meet add up to the last bit."""
    question = opened(neighbours).plan.ranges("x", EDGES, level).question
    counts = {f"c{i}": int(((low <= VALUES) & (low + 5 > VALUES)).sum()) for i, low in enumerate(EDGES[:-1])}
    assert question.value(question.released(question.point(counts))) == truth()
    noisy = question.value(question.draw(question.point(counts)))
    assert all(isinstance(number, Fraction) for number in noisy.values())
    for a, b, c in combinations(EDGES, 3):
        assert noisy[f"[{a}, {b})"] + noisy[f"[{b}, {c})"] == noisy[f"[{a}, {c})"]


@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_variances_and_intervals_are_as_stated(level):
    """Of drawn noise, estimated by dense least squares: mean squares as stated, and 95 % within the half widths."""
    question = opened().plan.ranges("x", EDGES, level).question
    space, noise = question.space, question.solution.mechanism.noise
    matrix = np.eye(12) if isinstance(space, Lattice) else space.matrix.astype(float)
    cells = np.linalg.pinv(matrix)
    padded = np.vstack([np.zeros(cells.shape[1]), np.cumsum(cells, axis=0)])
    start, end = np.triu_indices(13, 1)
    rows = padded[end] - padded[start]
    assert sum_weights(space, "ranges") == pytest.approx(rows, abs=1e-9)
    errors = noise.draw(4000).astype(float) @ rows.T
    before = question.before()
    assert np.square(errors).mean() == pytest.approx(before.squared[0], rel=0.1)
    assert np.abs(errors).mean() == pytest.approx(before.average, rel=0.05)
    assert question.average == before.average
    assert np.abs(errors).mean(axis=0).max() == pytest.approx(before.worst, rel=0.1)
    assert np.square(rows).sum(axis=1) == pytest.approx(spreads(space, "ranges"))
    assert before.squared[1] == pytest.approx(noise.mean("squared") * np.square(rows).sum(axis=1).max())
    released = question.released(np.zeros(space.dimension, dtype=int))
    halves = np.array([ends[1] for ends in question.after(released).intervals.values()])
    inside = (np.abs(errors) <= halves).mean(axis=0)
    assert (inside > 0.95 - 5 * np.sqrt(0.05 * 0.95 / 4000)).all()
    assert inside.mean() < 0.985


def test_the_dual_is_that_of_all_ranges():
    """W'W by listing the ranges; the factorisation within 1 % of what the dual proves at mu = 1."""
    w = np.array([[float(a <= i < b) for i in range(12)] for a, b in combinations(range(13), 2)])
    assert (sum_products(12, "ranges") == w.T @ w).all()
    assert len(w) == number_of_sums(12, "ranges")
    found = opened().plan.ranges("x", EDGES, um.GaussianDP(1)).question.solution
    best = sums_optimum(12, "ranges", found.certificate.evidence) / len(w)
    assert best < found.value < 1.01 * best
    assert found.verify()
    equal = np.sqrt(np.maximum(np.linalg.eigvalsh(w.T @ w), 0)).sum() ** 2 / 12 / len(w)
    assert sums_optimum(12, "ranges", {}) / len(w) == pytest.approx(equal, rel=1e-5)
    assert equal < best


def test_asked_planned_reported(tmp_path):
    """A plan has a bound and a gap; a report proves itself and a forged one does not."""
    s = opened()
    plan = s.plan.ranges("x", EDGES, um.GaussianDP(1))
    assert 0 < plan.question.solution.certificate.bound < plan.before.squared[0]
    assert "noise on every range" in plan.details["compared"]
    answer = s.ranges("x", um.bins(0, 60, 5), um.GaussianDP(1))
    assert answer.verify()
    assert np.mean([abs(answer.value[name] - count) for name, count in truth().items()]) < 20
    answer.report(tmp_path / "r.html")
    ((again, verified),) = load_answers(tmp_path / "r.json")
    assert verified
    assert again.value == answer.value
    forged = json.loads((tmp_path / "r.json").read_text())
    forged["released"]["sum 1"] += 10**6
    (tmp_path / "forged.json").write_text(json.dumps(forged))
    try:
        ((_, verified),) = load_answers(tmp_path / "forged.json")
        assert not verified
    except um.errors.BadFile:
        pass


def test_wrong_use():
    """Edges that are not increasing, too many, none; another loss."""
    s = opened()
    for edges in ([3, 2, 1], [5], range(100), "1,2"):
        with pytest.raises(InvalidInput):
            s.plan.ranges("x", edges, 1)
    with pytest.raises(InvalidInput, match="privacy"):
        s.plan.ranges("x", EDGES)
