"""Strategies for running counts: moves by enumeration, least squares, known optima, and coverage on draws."""

import itertools
import json
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pyarrow
import pytest
from oracles.forging import is_refused

import utmost as um
from utmost.errors import InvalidInput
from utmost.mechanism.noise.balls import BallLaw
from utmost.mechanism.noise.independent import IndependentLaw
from utmost.mechanism.noise.staircase import geometric_law
from utmost.mechanism.noise.vector import NoisyVector
from utmost.privacy import ZCDP, ApproxDP, GaussianDP, PureDP
from utmost.queries.report.proof import load_answers
from utmost.space.integers import Lattice, Strategy, unlisted_from_json, unlisted_to_json
from utmost.theory.workload.design.strategies import best_counts, best_strategy, count_errors, count_losses, off_by_more
from utmost.theory.workload.least_squares import prefix_weights
from utmost.theory.workload.verify.checks import check_strategy, sums_optimum


def random_strategy(rng, moves, reach):
    """Some sums of three cells with small weights of both signs."""
    rows = []
    for _ in range(int(rng.integers(1, 5))):
        first = int(rng.integers(0, 3))
        rows.append((first, tuple(int(x) for x in rng.integers(-3, 4, int(rng.integers(1, 4 - first))))))
    return Strategy(Lattice(3, moves, reach, 0, 9), tuple(rows))


@pytest.mark.parametrize("moves", ["any", "exchange"])
@pytest.mark.parametrize("reach", [1, 2])
def test_moves_are_those_of_every_neighbour(moves, reach):
    """No change of cells that one neighbour can make moves the sums farther; some move them as far."""
    rng = np.random.default_rng(3)
    steps = [np.eye(3, dtype=int)[i] * sign for i in range(3) for sign in (1, -1)]
    if moves == "exchange":
        steps += [a + b for a, b in itertools.combinations(steps, 2) if a.sum() != b.sum()]
    changes = [sum(chosen) for chosen in itertools.product(steps, repeat=reach)]
    for _ in range(30):
        strategy = random_strategy(rng, moves, reach)
        moved = [strategy.matrix @ change for change in changes]
        assert max(int(np.abs(each).sum()) for each in moved) == strategy.l1_sensitivity
        assert max(int(np.square(each).sum()) for each in moved) == strategy.squared_l2_sensitivity
        assert unlisted_from_json(json.loads(json.dumps(unlisted_to_json(strategy)))) == strategy


@pytest.mark.parametrize("rows", [(), ((0, (1, 1, 1, 1)),), ((-1, (1,)),), ((0, (0.5,)),), ((0, (10**7,)),)])
def test_what_is_no_strategy_is_refused(rows):
    """Weights are whole numbers, and sums are of cells that there are."""
    with pytest.raises(InvalidInput, match="a strategy is"):
        Strategy(Lattice(3, "any", 1, 0, 9), rows)


@pytest.mark.parametrize("level", [PureDP(1), GaussianDP(1)])
def test_counts_are_least_squares_estimates(level):
    """Right without noise, and no other unbiased estimate varies less (NumPy's pseudo-inverse)."""
    strategy = best_strategy(Lattice(20, "any", 1, 0, 999), level).problem.space
    weights, matrix = prefix_weights(strategy), strategy.matrix.astype(float)
    assert np.abs(weights @ matrix - np.tril(np.ones((20, 20)))).max() < 1e-9
    assert np.abs(weights - np.tril(np.ones((20, 20))) @ np.linalg.pinv(matrix)).max() < 1e-9
    with pytest.raises(InvalidInput, match="tell all cells apart"):
        prefix_weights(Strategy(Lattice(3, "any", 1, 0, 9), ((0, (1, 1, 1)),)))


@pytest.mark.parametrize(
    ("m", "best"),
    [(10, 2.42157624), (30, 3.50800664), (100, 4.99744295), pytest.param(1000, 8.691, marks=pytest.mark.long)],
)
def test_the_factorisation_is_the_best_one(m, best):
    """Within 1 % of the least mean variance of any factorisation at mu = 1, which is known by a dual."""
    found = best_strategy(Lattice(m, "any", 1, 0, 10**6), GaussianDP(1))
    assert best < found.value < best * 1.01
    proved = sums_optimum(m, "running", found.certificate.evidence) / m
    assert 0.998 * best < proved < best * (1 + 1e-4)
    assert found.verify()


def test_few_counts_are_cells_added_up():
    """Ten counts vary by 10.127 so, and by 10.159 with a block; fewer than eight are not tried otherwise."""
    cells, counts = Lattice(10, "any", 1, 0, 999), Lattice(10, "one-way", 1, 0, 999)
    assert best_counts(cells, counts, PureDP(1)).problem.space == cells
    assert best_strategy(Lattice(7, "any", 1, 0, 999), PureDP(1)) is None


@pytest.mark.parametrize(
    ("level", "moves"),
    [
        (PureDP("0.5"), "any"),
        (PureDP("0.5"), "exchange"),
        (GaussianDP(2), "exchange"),
        (ZCDP(1), "any"),
        (ApproxDP(1, "1e-6"), "any"),
    ],
)
def test_errors_are_as_stated(level, moves):
    """On draws: their mean size, their square, how many are beyond a size, and 95 % within the half widths."""
    found = best_strategy(Lattice(24, moves, 1, 0, 10**6), level)
    noise, weights = found.mechanism.noise.draw(4000).astype(float), prefix_weights(found.problem.space)
    errors = np.abs(noise @ weights.T)
    sizes, halves = count_errors(found)
    inside = (errors <= halves).mean(axis=0)
    assert (inside > 0.95 - 4 * np.sqrt(0.05 * 0.95 / 4000)).all()
    assert inside.mean() < 0.98
    assert errors.mean(axis=0) == pytest.approx(sizes, rel=0.06)
    losses = count_losses(found)
    assert np.square(errors).mean() == pytest.approx(losses["squared"], rel=0.08)
    assert losses["squared"] == pytest.approx(found.value)
    assert (errors > sizes.mean()).mean() == pytest.approx(off_by_more(found, sizes.mean()), abs=0.02)
    share = Fraction(1, 4)
    less = np.abs(noise @ (weights - 0.25 * weights[-1]).T)
    assert ((less <= count_errors(found, share)[1]).mean(axis=0) > 0.95 - 4 * np.sqrt(0.05 * 0.95 / 4000)).all()


def test_noise_that_is_too_small_is_not_private():
    """Nor is noise made for other moves."""
    found = best_strategy(Lattice(24, "any", 1, 0, 999), PureDP(1))
    space = found.problem.space
    assert found.mechanism.prove(space, PureDP(1)).passed
    assert not found.mechanism.prove(space, PureDP("0.99")).passed
    heavier = Strategy(space.cells, (*space.rows, (3, (1,))))
    law = replace(found.mechanism.noise, dimension=heavier.dimension)
    assert not NoisyVector(law).prove(heavier, PureDP(1)).passed
    assert not found.mechanism.prove(heavier, PureDP(1)).passed
    assert not NoisyVector(BallLaw("any", space.dimension, Fraction(1, 9))).prove(space, PureDP(1)).passed
    none = IndependentLaw(space.dimension, geometric_law(Fraction(0)))
    assert NoisyVector(none).prove(space, PureDP(600)).passed is False


def test_sums_of_cells_are_checked_with_noise_on_each_only():
    """What a file calls the mechanism of weighted sums may be any other."""
    found = best_strategy(Lattice(24, "any", 1, 0, 999), PureDP(1))
    for other in (um.finite.geometric(3, 1), found.problem):
        with pytest.raises(InvalidInput, match="noise on each"):
            check_strategy(found.problem, SimpleNamespace(mechanism=other, certificate=found.certificate))


@pytest.mark.parametrize("level", [PureDP(1), GaussianDP(1)])
def test_cdfs_by_strategies_prove_themselves(level, tmp_path):
    """Counts without noise are right; a report with another strategy, or other sums, is refused."""
    values = np.random.default_rng(5).integers(0, 40, 700)
    budget = 10**4 if isinstance(level, PureDP) else GaussianDP(1000)
    s = um.Session(pyarrow.table({"x": values}), "t", um.rows(at_most=999), "add-remove", budget)
    question = s.plan.cdf("x", range(40), level, monotone=False).question
    truth = np.array([(values <= edge).sum() for edge in range(40)])
    point = question.point({f"c{i}": int((values == i).sum()) for i in range(40)})
    assert list(question.strategy.estimates(question.released(point)).values()) == truth.tolist()
    answer = s.cdf("x", range(40), level)
    pure = isinstance(level, PureDP)
    assert ("which carries" if pure else "weighted sums") in answer.solution.certificate.method
    assert np.abs(np.array(list(answer.value.values())) - truth).mean() < 6 * answer.before.average
    answer.report(tmp_path / "r.html")
    ((again, verified),) = load_answers(tmp_path / "r.json")
    assert verified
    assert again.value == answer.value
    if pure:
        assert is_refused(tmp_path / "r.json", lambda c: c["solution"]["mechanism"].update(widths=[0] * 39))
        return
    rows = json.loads((tmp_path / "r.json").read_text())["solution"]["problem"]["space"]["rows"]
    rows[0][1][0] *= 3
    assert is_refused(tmp_path / "r.json", lambda c: c["solution"]["problem"]["space"].update(rows=rows))
    assert is_refused(tmp_path / "r.json", lambda c: c["released"].update({"sum 1": c["released"]["sum 1"] + 10**6}))
