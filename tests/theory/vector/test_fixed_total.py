"""Cells that hold every row: the weights from layer to layer by listing, and the bound below linear programs."""

import math
import re
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

import utmost as um
from utmost.space.integers import Lattice
from utmost.theory.vector.design.vectors import best_vector
from utmost.theory.vector.verify.fixed_total import (
    _closed_form_growth,
    _coefficients,
    _fit_coefficients,
    _outflows,
    fixed_total_bound,
    growth,
)

LARGE = 20_000


def layer(d, n):
    """All errors that n moves lead to, and no fewer."""
    return [(*z, -sum(z)) for z in product(range(-n, n + 1), repeat=d - 1) if sum(map(abs, z)) + abs(sum(z)) == 2 * n]


@pytest.mark.parametrize(("d", "n"), [(3, 1), (3, 2), (3, 5), (4, 1), (4, 3), (5, 2), (5, 3), (6, 2)])
def test_weights_in_closed_form_give_every_error_the_same(d, n):
    """The weights of `_closed_form_growth`, move by move: none is below 0, and what they add up to."""
    top, flat = min(d, 2 * n), (n + d - 1) / (2 * n + d - 1)
    pairs = top**2 // 4 - 1
    alike = ((n + d - 1) * (top - 2) - pairs) / ((2 * n + d - 1) * (top - 2) - 2 * pairs) if top > 2 else flat
    t, gets, gives = alike / n, dict.fromkeys(layer(d, n + 1), 0.0), []
    for z in layer(d, n):
        given, up, down = 0.0, sum(x > 0 for x in z), sum(x < 0 for x in z)
        for i, j in product(range(d), repeat=2):
            if i == j or z[i] < 0 or z[j] > 0:
                continue
            there = tuple(x + (k == i) - (k == j) for k, x in enumerate(z))
            risen, fallen = sum(x > 0 for x in there), sum(x < 0 for x in there)
            rise, fall = z[i], -z[j]
            parts = (1 + t * (up + down), 1 - t * (n + 1 - fallen), 1 - t * (n + 1 - risen), 1.0)
            assert min(parts) >= -1e-12
            weight = parts[0] * rise * fall + parts[1] * rise + parts[2] * fall + parts[3]
            gets[there] += weight
            given += weight
        gives.append(given)
    assert list(gets.values()) == pytest.approx([(n + 1) ** 2] * len(gets))
    least, most = (each[n] * (n + 1) ** 2 for each in _closed_form_growth(d, n + 2))
    assert min(gives) == pytest.approx(least)
    assert max(gives) <= most + 1e-9


@pytest.mark.parametrize(("d", "n"), [(4, 2), (4, 4), (5, 2), (5, 3), (6, 2), (6, 3), (7, 2)])
def test_fitted_weights_give_every_error_the_same(d, n):
    """Added up move by move over a layer, which the module never lists: no weight is below 0, all of the next get 1."""
    free, gets, gives = _fit_coefficients(d, n, _outflows(d, n)), dict.fromkeys(layer(d, n + 1), 0.0), []
    for z in layer(d, n):
        given = 0.0
        for i, j in product(range(d), repeat=2):
            if i == j or z[i] < 0 or z[j] > 0:
                continue
            there = tuple(x + (k == i) - (k == j) for k, x in enumerate(z))
            kind = np.array([sum(x > 0 for x in there)]), np.array([sum(x < 0 for x in there)])
            product_, rising, falling, both = _coefficients(*kind, n + 1) @ free / (n + 1) ** 2
            v, w = there[i], -there[j]
            weight = float((product_ * v * w + rising * v + falling * w + both)[0])
            assert weight >= 0
            gets[there] += weight
            given += weight
        gives.append(given)
    assert list(gets.values()) == pytest.approx([1] * len(gets), abs=1e-12)
    least, most = (each[n] for each in growth(d, n + 2))
    assert min(gives) == pytest.approx(least, rel=1e-8)
    assert max(gives) <= most * (1 + 1e-12)
    assert least <= len(layer(d, n + 1)) / len(layer(d, n)) <= most  # all of a layer gives what all of the next gets


@pytest.mark.parametrize(
    "d", [3, 4, 6, 10, 20, pytest.param(50, marks=pytest.mark.long), pytest.param(100, marks=pytest.mark.long)]
)
def test_no_noise_errs_noticeably_less_than_sum_zero_noise(d):
    """Where the ends do not count, the bound is the noise's own loss, but for a few parts in 10^5."""
    for epsilon in ("0.1", "0.5", "1", "3"):
        level, space = um.PureDP(epsilon), Lattice(d, "sum-zero", 1, 0, LARGE)
        own = best_vector(space, level).value
        assert 0.9999 * own <= fixed_total_bound(space.endless, level, "absolute") <= own


def best_by_lp(d, rows, epsilon):
    """The least average error of all private mechanisms on the cuts of some rows into cells, by raw inequalities."""
    points = [(*x, rows - sum(x)) for x in product(range(rows + 1), repeat=d - 1) if sum(x) <= rows]
    n, listed = len(points), np.array(points)
    near = np.abs(listed[:, None] - listed[None]).sum(axis=2) == 2
    one, other = np.nonzero(near)
    at, o = np.repeat(np.arange(len(one)), n), np.tile(np.arange(n), len(one))
    count = len(at)
    private = csr_array(
        (
            np.concatenate([np.ones(count), np.full(count, -math.exp(epsilon))]),
            (np.tile(np.arange(count), 2), np.concatenate([one[at] * n + o, other[at] * n + o])),
        ),
        shape=(count, n * n),
    )
    total = csr_array((np.ones(n * n), (np.repeat(np.arange(n), n), np.arange(n * n))))
    costs = np.abs(listed[:, None] - listed[None]).mean(axis=2).ravel() / n
    return linprog(costs, private, np.zeros(count), total, np.ones(n)).fun


@pytest.mark.parametrize(("d", "rows", "epsilon"), [(3, 8, 3), pytest.param(3, 10, 2, marks=pytest.mark.long)])
def test_bound_is_below_the_best_mechanism_on_few_rows(d, rows, epsilon):
    bound = fixed_total_bound(Lattice(d, "sum-zero", 1, 0, rows), um.PureDP(epsilon), "absolute")
    assert 0 < bound <= best_by_lp(d, rows, epsilon) + 1e-9


def best_with_rest_by_lp(d, most, epsilon):
    """The least average error over d counts and the rest of all private mechanisms on counts from 0 to `most`."""
    points = list(product(range(most + 1), repeat=d))
    listed = np.array([(*x, -sum(x)) for x in points])
    n, off = len(points), np.abs(listed[:, None] - listed[None])
    one, other = np.nonzero((off.sum(axis=2) == 2) & (off.max(axis=2) == 1))
    at, o = np.repeat(np.arange(len(one)), n), np.tile(np.arange(n), len(one))
    private = csr_array(
        (
            np.concatenate([np.ones(len(at)), np.full(len(at), -math.exp(epsilon))]),
            (np.tile(np.arange(len(at)), 2), np.concatenate([one[at] * n + o, other[at] * n + o])),
        ),
        shape=(len(at), n * n),
    )
    total = csr_array((np.ones(n * n), (np.repeat(np.arange(n), n), np.arange(n * n))))
    return linprog(off.mean(axis=2).ravel() / n, private, np.zeros(len(at)), total, np.ones(n)).fun


@pytest.mark.parametrize(
    ("d", "most", "epsilon"), [(2, 6, 3), (3, 2, 4), pytest.param(2, 8, 2, marks=pytest.mark.long)]
)
def test_bound_with_a_rest_is_below_the_best_mechanism(d, most, epsilon):
    bound = fixed_total_bound(Lattice(d, "exchange", 1, 0, most), um.PureDP(epsilon), "absolute", rest=True)
    assert bound <= best_with_rest_by_lp(d, most, epsilon) + 1e-9
    assert (d, bound > 0) in ((2, True), (3, False))  # counts from 0 to 2 are all ends


def least_error_of_an_answer(answer, rows, epsilon, reach=1):
    """Of all private columns of probabilities of one answer, over all tables: the least mean error, by an LP.

    Its unknowns are p(x) e^(epsilon n), n neighbours between x and the answer: small p drown in HiGHS' tolerances.
    """
    d = len(answer)
    points = np.array([(*x, rows - sum(x)) for x in product(range(rows + 1), repeat=d - 1) if sum(x) <= rows])
    apart = np.abs(points[:, None] - points[None]).sum(axis=2) // 2
    one, other = np.nonzero((apart >= 1) & (apart <= reach))
    at = np.arange(len(one))
    off = np.abs(points - np.array(answer)).sum(axis=1)
    steps = -(-off // (2 * reach))
    factors = np.exp(epsilon * (1 + steps[one] - steps[other]))
    private = csr_array(
        (np.concatenate([np.ones(len(at)), -factors]), (np.tile(at, 2), [*one, *other])), shape=(len(at), len(points))
    )
    weights = np.exp(-epsilon * steps)
    return linprog(weights * off / d, private, np.zeros(len(at)), weights[None], [1]).fun


@pytest.mark.parametrize(
    ("answer", "away", "reach"),
    [
        ((4, 4, 4), 4, 1),
        ((2, 3, 7), 2, 1),
        ((10, 1, 1), 1, 1),
        ((2, 2, 2, 2), 2, 1),
        ((5, 5, 5), 5, 2),
        ((4, 4, 7), 4, 2),
        pytest.param((8, 8, 8), 8, 1, marks=pytest.mark.long),
        pytest.param((7, 9, 8), 7, 3, marks=pytest.mark.long),
        pytest.param((3, 3, 3, 3), 3, 1, marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("epsilon", [0.3, 1, 3])
def test_no_answer_away_from_the_ends_errs_less(answer, away, reach, epsilon):
    """On few rows, for whatever mechanism it is an answer of; and where layers end far out, hardly more is true."""
    rows = sum(answer)
    space = Lattice(len(answer), "sum-zero", reach, 0, rows)
    bound = fixed_total_bound(space, um.PureDP(str(epsilon)), "absolute", away=away)
    least = least_error_of_an_answer(answer, rows, epsilon, reach)
    assert 0 < bound <= least + 1e-9
    if epsilon == 3 and away >= 4 and reach == 1:
        assert bound >= 0.999 * least
    parts = Lattice(len(answer) - 1, "exchange", reach, 0, rows)  # the last is what the others leave
    assert fixed_total_bound(parts, um.PureDP(str(epsilon)), "absolute", rest=True, away=away) == bound


def test_no_answer_is_farther_from_every_end_than_its_share():
    level = um.PureDP(1)
    for space, rest in ((Lattice(10, "sum-zero", 1, 0, LARGE), False), (Lattice(9, "exchange", 1, 0, LARGE), True)):
        assert fixed_total_bound(space, level, "absolute", rest, away=2000) > 1.714
        assert fixed_total_bound(space, level, "absolute", rest, away=2001) == 0
    assert fixed_total_bound(Lattice(10, "sum-zero", 5, 0, LARGE), level, "absolute", away=9) == 0  # not one move


@pytest.mark.parametrize(
    ("d", "average"), [(3, 0.004), (4, 0.0065), (5, 0.011), (10, 0.048), pytest.param(30, 0.6, marks=pytest.mark.long)]
)
def test_gaps_of_cells_that_hold_every_row(d, average):
    """Within 1 % of every mechanism: over all tables, or given an answer that is not near an end."""
    for epsilon in ("0.1", "0.2", "0.5", "1", "2", "3"):
        found = best_vector(Lattice(d, "sum-zero", 1, 0, LARGE), um.PureDP(epsilon))
        certificate = found.certificate
        assert found.verify()
        assert certificate.gap <= 0.01 * found.value
        allowed = average if epsilon == "0.1" or d > 10 else min(average, 0.026)
        assert certificate.evidence.get("average", certificate.bound) >= (1 - allowed) * found.value
        assert certificate.evidence.get("away", 0) <= (1.3 * d + 10) / float(epsilon) + 1
        assert re.search("adds? up to the number of rows", certificate.reason)
    many = best_vector(Lattice(d, "sum-zero", 1, 0, 10**9), um.PureDP(1))
    assert many.certificate.gap <= 1e-4 * many.value  # what is left is the ends of the range, and the weights


@pytest.mark.parametrize(
    ("d", "gap"), [(4, 0.0045), (6, 0.0065), (9, 0.0096), (20, 0.022), pytest.param(50, 0.053, marks=pytest.mark.long)]
)
def test_gaps_of_cells_that_leave_rows_out(d, gap):
    """Within 1 % of every mechanism for up to nine cells; of more, given an answer not near an end, or of all noise."""
    for epsilon in ("0.1", "0.3", "1", "3"):
        found = best_vector(Lattice(d, "exchange", 1, 0, LARGE), um.PureDP(epsilon), alone=True)
        assert found.verify()
        allowed = gap if epsilon == "0.1" else max(0.003, gap / 2.4)  # windows serve four cells from epsilon 1 on
        evidence = found.certificate.evidence
        assert evidence.get("average", found.certificate.bound) >= (1 - allowed) * found.value
        assert evidence.get("noise", found.certificate.bound) >= 0.99 * found.value
        assert ("noise" in evidence) == (d == 50 and epsilon == "0.1")  # no answer is far enough from every end


def test_people_with_several_rows_scale_the_bound():
    level, space = um.PureDP(1), Lattice(5, "sum-zero", 4, 0, 4 * LARGE)
    one = fixed_total_bound(Lattice(5, "sum-zero", 1, 0, LARGE), level, "absolute")
    assert fixed_total_bound(space, level, "absolute") == pytest.approx(4 * one)
    assert best_vector(space, level).value > 4 * one


def test_elsewhere_nothing_is_claimed():
    space = Lattice(4, "sum-zero", 1, 0, LARGE)
    for level in (um.ApproxDP(1, 1e-6), um.PureDP(60), um.PureDP(0), um.GaussianDP(1), um.ZCDP(0.5), um.PureDP("1e-9")):
        assert fixed_total_bound(space, level, "absolute") == 0
    assert fixed_total_bound(space, um.PureDP(1), "squared") == 0
    assert fixed_total_bound(space, um.PureDP(1), "absolute", rest=True) == 0
    for other in (Lattice(4, "exchange", 1, 0, 9), Lattice(2, "sum-zero", 1, 0, 9), Lattice(4, "sum-zero", 0, 0, 9)):
        assert fixed_total_bound(other, um.PureDP(1), "absolute") == 0
    assert fixed_total_bound(Lattice(40, "sum-zero", 1, 0, 3), um.PureDP("0.1"), "absolute") == 0
