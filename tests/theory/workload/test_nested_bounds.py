"""Flows between errors of nested counts: below linear programs over all mechanisms, and refused where they are none."""

import math
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

import utmost as um
from utmost.errors import InvalidInput
from utmost.mechanism.noise.balls import BallLaw
from utmost.mechanism.noise.carried import ranks
from utmost.mechanism.noise.vector import NoisyVector
from utmost.space.integers import Lattice
from utmost.theory.workload.design.prefix_noise import best_carried, nested_solution
from utmost.theory.workload.verify.nested_counts import check_nested, flow_bound, make_errors, nested_bound

LARGE = 20_000


def cells(d, upper=LARGE, reach=1):
    return Lattice(d, "any", reach, 0, upper)


def designed(d, epsilon, upper=LARGE):
    level = um.PureDP(epsilon)
    law = best_carried(cells(d), level)
    assert law is not None
    return nested_solution(cells(d, upper), NoisyVector(law), level)


def best_by_lp(d, side, level):
    """The least mean absolute error of running counts, averaged over a box of tables: the raw inequalities.

    Answers are counts of any table whose cells lie one beyond the box.
    """
    tables, answers = list(product(range(side), repeat=d)), list(product(range(-1, side + 1), repeat=d))
    index, n = {x: i for i, x in enumerate(tables)}, len(answers)
    rows, columns, values, count = [], [], [], 0
    for x in tables:
        for i, step in product(range(d), (1, -1)):
            there = (*x[:i], x[i] + step, *x[i + 1 :])
            if there in index:
                for o in range(n):
                    rows += [count, count]
                    columns += [index[x] * n + o, index[there] * n + o]
                    values += [1.0, -math.exp(level.log_growth)]
                    count += 1
    running, given = (np.cumsum(np.array(those), axis=1) for those in (tables, answers))
    costs = np.abs(running[:, None] - given[None]).mean(axis=2).ravel() / len(tables)
    private = csr_array((values, (rows, columns)), shape=(count, len(costs)))
    whole = csr_array((np.ones(len(costs)), (np.repeat(np.arange(len(tables)), n), np.arange(len(costs)))))
    return linprog(costs, private, np.zeros(count), whole, np.ones(len(tables))).fun


@pytest.mark.parametrize(("d", "side", "epsilon"), [(2, 5, 3), (2, 6, "2.5"), (3, 3, 5)])
def test_bound_is_below_the_best_mechanism_on_a_small_box(d, side, epsilon):
    level = um.PureDP(epsilon)
    evidence = designed(d, epsilon).certificate.evidence
    bound = flow_bound(cells(d, side - 1), level, evidence)
    best = best_by_lp(d, side, level)
    assert 0.3 * best < bound <= best + 1e-9


def best_noise_by_lp(d, epsilon, radius):
    """The least mean absolute error of all noise within a box that keeps the level there: at most that of any noise."""
    errors = np.array(list(product(range(-radius, radius + 1), repeat=d)))
    index = {z: i for i, z in enumerate(map(tuple, errors.tolist()))}
    rows, columns, values, count = [], [], [], 0
    for z, i in index.items():
        for axis, step in product(range(d), (1, -1)):
            there = index.get((*z[:axis], z[axis] + step, *z[axis + 1 :]))
            if there is not None:
                rows += [count, count]
                columns += [i, there]
                values += [1.0, -math.exp(epsilon)]
                count += 1
    private = csr_array((values, (rows, columns)), shape=(count, len(errors)))
    costs = np.abs(np.cumsum(errors, axis=1)).mean(axis=1)
    return linprog(costs, private, np.zeros(count), np.ones((1, len(errors))), [1.0]).fun


@pytest.mark.parametrize(("d", "epsilon", "radius"), [(2, "0.7", 15), (2, "1", 10), (2, "2", 6), (3, "1.5", 7)])
def test_noise_that_carries_is_the_best_noise(d, epsilon, radius):
    """Against a linear program over all noise in a box, which knows nothing of ranks: within what lies beyond it."""
    found = designed(d, epsilon)
    assert found.value * (1 - 2e-3) <= best_noise_by_lp(d, float(epsilon), radius) <= found.value + 1e-9


@pytest.mark.parametrize("epsilon", ["0.1", "0.3", "1", "2", "3"])
@pytest.mark.parametrize("d", [2, 3])
def test_two_and_three_nested_counts_are_within_a_hundredth_of_the_best(d, epsilon):
    found = designed(d, epsilon)
    assert found.verify()
    assert 0 < found.certificate.gap <= (0.004 if d == 2 else 0.01) * found.value


@pytest.mark.long
@pytest.mark.parametrize(
    "epsilon", ["0.11", "0.12", "0.13", "0.15", "0.16", "0.17", "0.2", "0.25", "0.4", "0.6", "1.5"]
)
@pytest.mark.parametrize("d", [2, 3])
def test_they_are_at_every_level(d, epsilon):
    found = designed(d, epsilon)
    assert found.certificate.gap <= 0.01 * found.value


def test_more_counts_and_people_with_several_rows_have_the_bound_of_three():
    three = designed(3, "1").certificate.bound
    five = designed(5, "1")
    assert five.verify()
    assert five.certificate.bound == pytest.approx(three)
    level = um.PureDP(1)
    law = best_carried(cells(2, LARGE, 4), level)
    several = nested_solution(cells(2, LARGE, 4), NoisyVector(law), level)
    assert several.verify()
    assert 0.75 * several.value < several.certificate.bound < several.value


def test_forged_flows_are_refused_or_prove_less():
    found = designed(3, "1")
    evidence, problem = dict(found.certificate.evidence), found.problem
    for name, wrong in (
        ("widths", []), ("widths", [1, 0, 0]), ("widths", [0.5]), ("widths", [-1]), ("widths", None),
        ("widths", [10**4]),
        ("radius", 0), ("radius", 10**5), ("radius", 2.0), ("far", 3), ("far", 10**4), ("steps", 0), ("steps", True),
        ("steps", 100), ("least", math.nan), ("least", 0.0), ("least", 1), ("room", math.inf), ("room", None),
    ):  # fmt: skip
        with pytest.raises(InvalidInput):
            nested_bound(problem, {**evidence, name: wrong})
    for name, others in {
        "least": [share * found.value for share in (0.5, 0.9, 1.0, 1.001, 1.5, 100.0)],
        "room": [1e-6, 0.1, 100.0],
        "radius": [1, 2, 9],
        "far": [evidence["radius"], 12],
        "widths": [[0, 0], [0, 5], [4, 4], [0], [3]],
        "steps": [2, 3],
    }.items():
        for other in others:
            assert nested_bound(problem, {**evidence, name: other}) <= found.value
    forged = {**evidence, "least": 1.01 * found.value}
    assert nested_bound(problem, forged) < found.certificate.bound


def test_what_is_checked_is_the_error_of_counts():
    """Another noise, another loss, a value that is not the noise's and a bound that is not proved are refused."""
    found = designed(2, "0.5")
    level, space = found.problem.privacy, found.problem.space
    solved = {"mechanism": found.mechanism, "value": found.value, "certificate": found.certificate}
    checks, gap = check_nested(found.problem, SimpleNamespace(**solved))
    assert all(check.passed for check in checks)
    assert gap == pytest.approx(found.certificate.gap, rel=1e-6)
    checks, _ = check_nested(found.problem, SimpleNamespace(**{**solved, "value": 0.999 * found.value}))
    assert [check.passed for check in checks] == [False, True]
    raised = SimpleNamespace(claim="bound", bound=found.value, evidence=found.certificate.evidence)
    checks, _ = check_nested(found.problem, SimpleNamespace(**{**solved, "certificate": raised}))
    assert [check.passed for check in checks] == [True, False]
    for change in ({"mechanism": NoisyVector(BallLaw("any", 2, found.mechanism.noise.decay))}, {"mechanism": None}):
        with pytest.raises(InvalidInput, match="geometric noise"):
            check_nested(found.problem, SimpleNamespace(**{**solved, **change}))
    claimed = SimpleNamespace(claim="theorem", bound=found.certificate.bound, evidence={})
    with pytest.raises(InvalidInput, match="by a bound"):
        check_nested(found.problem, SimpleNamespace(**{**solved, "certificate": claimed}))
    data = {"loss": "absolute"}
    for other in (Lattice(2, "exchange", 1, 0, 9), Lattice(1, "any", 1, 0, 9), Lattice(2, "any", 0, 0, 9)):
        with pytest.raises(InvalidInput, match="running sums"):
            nested_bound(SimpleNamespace(space=other, privacy=level, data=data), {})
    for other in (um.GaussianDP(1), um.ApproxDP(1, "1e-6"), um.PureDP(math.inf)):
        with pytest.raises(InvalidInput, match="pure levels"):
            nested_bound(SimpleNamespace(space=space, privacy=other, data=data), {})


@pytest.mark.parametrize(("widths", "radius", "far"), [((1,), 3, 5), ((2, 1), 2, 4), ((0, 0), 3, 3)])
def test_errors_are_listed_once_with_all_their_moves(widths, radius, far):
    """Against a plain list: how many there are, what they cost, which moves raise the rank, whence far ones come."""
    d, found = len(widths) + 1, make_errors(widths, radius, far)
    every = np.array(list(product(range(-far - 5, far + 6), repeat=d)))
    rank = ranks(every, widths)
    inside = every[rank <= far]
    assert found.sizes.sum() == len(inside)
    costs = np.abs(np.cumsum(inside, axis=1)).mean(axis=1)
    assert float(found.sizes @ found.costs) == pytest.approx(costs.sum())
    assert sorted(np.repeat(found.ranks, found.sizes.astype(int)).tolist()) == sorted(rank[rank <= far].tolist())
    near = every[rank < radius]
    pairs = {
        min((tuple(z), tuple(z + step)), (tuple(-z), tuple(-z - step)))
        for z in near
        for step in np.concatenate([np.eye(d, dtype=int), -np.eye(d, dtype=int)])
        if ranks((z + step)[None], widths)[0] == ranks(z[None], widths)[0] + 1
    }
    assert len(found.tails) == len(pairs)
    assert (found.ranks[found.heads] == found.ranks[found.tails] + 1).all()
    assert found.near == (found.ranks <= radius).sum()
    used = found.shares > 0
    ahead = np.broadcast_to(found.ranks[found.near :, None], used.shape)
    assert (found.ranks[found.parents][used] == ahead[used] - 1).all()
    assert found.shares.sum(axis=1) == pytest.approx(np.ones(len(found.shares)))
