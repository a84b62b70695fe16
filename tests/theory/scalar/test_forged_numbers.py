"""Forged files about numbers: whatever they say, nothing false is verified."""

import dataclasses
import hashlib
import json
import math
import random

import numpy as np
import pytest
from oracles.programs import least_loss_by_lines

import utmost as um
from utmost.errors import InvalidInput, TooLarge, UtmostError
from utmost.exact import write_rational
from utmost.exact.saved import canonical
from utmost.solution import Solution
from utmost.space.line import Line, cost
from utmost.theory.scalar.design.line import best_on_line
from utmost.theory.scalar.line_chains import ChainLine
from utmost.theory.scalar.verify.number import pairs_bound
from utmost.theory.scalar.verify.staircase_flow import MOST_POWER, cut_flow_bound, flow_bound

FILES = {
    "geometric": (Line(0, 6, 1), um.PureDP(1), "absolute", False),
    "chains": (Line(0, 6, 1), um.ApproxDP("0.5", "0.01"), "absolute", False),
    "gaussian chains": (Line(0, 5, 1), um.GaussianDP(1), "squared", False),
    "canonical": (Line(0, 6, 1), um.GaussianDP(1), "absolute", True),
    "staircase": (Line(0, 6, 3), um.PureDP(1), "absolute", True),
    "flow": (Line(0, 5000, 5), um.PureDP(1), "squared", False),
    "pairs": (Line(0, 500, 3), um.GaussianDP(1), "absolute", False),
    "prices": (Line(0, 6, 2), um.PureDP(1), "absolute", False),
}


def forge(path, content):
    content.pop("sha256", None)
    content["sha256"] = hashlib.sha256(canonical(content)).hexdigest()
    path.write_bytes(canonical(content))
    return Solution.load(path)


def leaves(data, at=()):
    """The places of all numbers and short texts in nested plain data."""
    if isinstance(data, dict):
        for name, value in data.items():
            yield from leaves(value, (*at, name))
    elif isinstance(data, list):
        for k, value in enumerate(data[:40]):
            yield from leaves(value, (*at, k))
    else:
        yield at, data


def changed(value, dice):
    """Another value of the same kind."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return value + dice.choice([-1, 1, 2, 100])
    if isinstance(value, float):
        return value * dice.choice([0, 0.5, 0.9, 0.999, 1.001, 1.1, 2, -1])
    if "/" in value or value.isdigit():
        top, _, bottom = value.partition("/")
        return f"{max(1, int(top) + dice.choice([-1, 1, int(top) // 3, -int(top) // 3]))}/{bottom or 1}"
    return dice.choice(["theorem", "bound", "unproved", "absolute", "squared", "geometric", "chains", "flow", "pure"])


def is_true(found):
    """Whether a verified solution is true: private over all events, its value its own, its bound below the optimum."""
    mechanism, line, level = found.mechanism, found.problem.space, found.problem.privacy
    loss, prior = found.problem.data["loss"], found.problem.data["prior"]
    if abs(found.value - mechanism.expected(loss)) > 1e-9 * max(1, found.value):
        return False
    if line.points > 10 or level.lines() is None or found.problem.data["unbiased"]:
        fresh = best_on_line(line, level, loss, prior, found.problem.data["unbiased"])
        best, claim = fresh.value, found.certificate.claim
        if found.certificate.bound is not None and found.certificate.bound > best * (1 + 1e-6):
            return False
        return claim != "theorem" or found.value <= best * (1 + 1e-6)
    n = line.points
    weights = np.full(n, 1 / n) if prior is None else prior
    table = cost(loss, np.arange(n)[:, None] - np.arange(n))
    least = least_loss_by_lines(n, max(line.reach, 1), level.lines(), weights, table)
    if found.certificate.claim == "theorem":
        return found.value <= least + 1e-6
    return found.certificate.bound is None or found.certificate.bound <= least + 1e-7


@pytest.mark.parametrize("name", FILES)
def test_random_forgeries(name, tmp_path):
    """One number or word changed at random, its checksum recomputed: refused, or true all the same."""
    line, level, loss, unbiased = FILES[name]
    path = best_on_line(line, level, loss, unbiased=unbiased).save(tmp_path / "number.json")
    content = path.read_text()
    places = [at for at, _ in leaves(json.loads(content)) if at[0] not in ("sha256", "format", "version")]
    places = [
        at for at in places if at[:2] not in (("certificate", w) for w in ("reason", "quantity", "method", "notes"))
    ]
    dice, verified = random.Random(7), 0
    for _ in range(60):
        plain, at = json.loads(content), dice.choice(places)
        here = plain
        for step in at[:-1]:
            here = here[step]
        before = here[at[-1]]
        here[at[-1]] = changed(before, dice)
        if here[at[-1]] == before:
            continue
        try:
            found = forge(path, plain)
            held = bool(found.verify())
        except UtmostError:
            continue
        if held:
            verified += 1
            assert is_true(found), at
    assert verified < 30


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("geometric", ("value",), 0.5),
        ("geometric", ("problem", "privacy", "epsilon"), "1/2"),
        ("geometric", ("problem", "space", "reach"), 2),
        ("geometric", ("mechanism", "decay"), "1/4"),
        ("geometric", ("mechanism", "remap"), "cut"),
        ("geometric", ("certificate", "evidence", "proof"), "staircase"),
        ("chains", ("mechanism", "starts"), [[0.5, 6]]),
        ("chains", ("mechanism", "starts"), [[0.0, 6]]),
        ("chains", ("mechanism", "starts"), [[1e-30, 6]]),
        ("chains", ("mechanism", "level", "delta"), "1/2"),
        ("chains", ("problem", "privacy", "delta"), "1/1000"),
        ("canonical", ("mechanism", "level", "mu"), "2"),
        ("canonical", ("mechanism", "remap"), "best"),
        ("staircase", ("mechanism", "upper"), 3),
        ("staircase", ("problem", "privacy", "epsilon"), "0"),
        ("flow", ("certificate", "bound"), 30.0),
        ("flow", ("certificate", "evidence", "upper"), 5),
        ("flow", ("certificate", "evidence", "growth"), "1/100"),
        ("flow", ("problem", "space", "last"), 10**9),
        ("pairs", ("certificate", "bound"), 2.9),
        ("pairs", ("certificate", "evidence", "proof"), "flow"),
        ("prices", ("certificate", "evidence", "dual_values", "array"), None),
    ],
)
def test_chosen_forgeries(name, place, value, tmp_path):
    """What a liar would change first."""
    line, level, loss, unbiased = FILES[name]
    path = best_on_line(line, level, loss, unbiased=unbiased).save(tmp_path / "number.json")
    plain = json.loads(path.read_bytes())
    here = plain
    for step in place[:-1]:
        here = here[step]
    here[place[-1]] = [2 * x for x in here[place[-1]]] if value is None else value
    try:
        found = forge(path, plain)
    except UtmostError:
        return
    assert not found.verify()


def test_flows_that_do_not_balance():
    """Only the best staircase balances; a growth below b/(1-b) is refused."""
    level, b = um.PureDP.from_ratio(3), 1 / 3
    best = um.noise.discrete_staircase(level, 7).law.upper
    growth = um.noise.discrete_staircase(level, 7).law.decay * 3 / 2
    assert math.isclose(float(growth), b / (1 - b))
    fine = flow_bound(10**5, 7, level, "absolute", best, growth)
    for other in set(range(1, 8)) - {best}:
        with pytest.raises(InvalidInput, match="balance"):
            flow_bound(10**5, 7, level, "absolute", other, growth)
    with pytest.raises(InvalidInput, match="growth"):
        flow_bound(10**5, 7, level, "absolute", best, growth * 9 / 10)
    assert flow_bound(10**5, 7, level, "absolute", best, growth * 2) < fine
    assert write_rational(growth) == "1/2"
    with pytest.raises(TooLarge, match="tolerance"):
        flow_bound(10**5, 7, level, f"within {7 * (MOST_POWER + 1)}", best, growth)


@pytest.mark.parametrize("level", [um.ApproxDP("0.5", "0.01"), um.GaussianDP(1), um.PureDP(1)], ids=str)
@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_worse_chains_are_not_called_optimal(level, loss):
    """A liar who states the true value of worse chains: whatever they start from, the checker sees a better one."""
    line = Line(0, 9, 1)
    true = best_on_line(line, um.ApproxDP("0.5", "0.01") if isinstance(level, um.PureDP) else level, loss)
    even = level.even_share()[1]
    best = least = math.inf
    for start in (0.0, 1e-30, 1e-9, 0.01, even / 2, even * 0.999, even, 0.6, 1 - 1e-9, 1.0):
        mechanism = ChainLine(line, level, np.full(9, start), loss)
        value = mechanism.expected(loss)
        problem = dataclasses.replace(true.problem, privacy=level)
        certificate = dataclasses.replace(true.certificate, claim="theorem", bound=None, evidence={"proof": "chains"})
        found = Solution(problem, mechanism, value, certificate).verify()
        assert found.private
        best = min(best, value)
        least = min(least, value) if found else least
    optimum = best_on_line(line, level, loss).value
    assert least == math.inf or least <= optimum * (1 + 1e-5)


def test_a_bound_that_is_not_stated_is_no_bound():
    """A file that claims a bound and states none is not verified, and says why."""
    line, level, loss, unbiased = FILES["flow"]
    best = best_on_line(line, level, loss, unbiased=unbiased)
    assert best.verify()
    verification = dataclasses.replace(
        best, certificate=dataclasses.replace(best.certificate, bound=None, gap=None)
    ).verify()
    assert "bound" in {check.name for check in verification.checks if not check.passed}


@pytest.mark.parametrize(
    ("reach", "epsilon", "delta"), [(2, 2, "0.01"), (3, 3, "0.001"), (4, 4, "0.003"), (2, 5, "1e-6")]
)
def test_flows_at_a_delta_are_below_the_linear_program(reach, epsilon, delta):
    """Every step and cut that balances, on a line short enough for an LP over the raw inequalities."""
    n, level = 14, um.ApproxDP(epsilon, delta)
    table = np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float)
    least = least_loss_by_lines(n, reach, [(math.exp(epsilon), float(delta))], np.full(n, 1 / n), table)
    found = []
    for upper in range(1, reach + 1):
        for cut in range(1, 12):
            try:
                found.append(cut_flow_bound(n, reach, level, "absolute", upper, cut))
            except InvalidInput:
                continue
            assert found[-1] <= least + 1e-9
            wide = cut_flow_bound(10**6, reach, level, "absolute", upper, cut)
            assert wide <= best_on_line(Line(0, 10**6 - 1, reach), level).value
    assert max(found) > 0.25 * least


@pytest.mark.parametrize("delta", ["1e-9", "1e-6", "1e-4"])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_sums_at_a_small_delta_are_within_a_hundredth_of_the_best(epsilon, delta):
    for unbiased in (False, True):
        found = best_on_line(Line(0, 2_400_000, 120), um.ApproxDP(epsilon, delta), unbiased=unbiased)
        assert found.verify()
        assert found.certificate.gap <= 0.01 * found.value


def test_cut_flows_that_are_none_are_refused():
    level = um.ApproxDP(1, "1e-6")
    for loss, upper, cut in (
        ("squared", 45, 14), ("absolute", 0, 14), ("absolute", 121, 14), ("absolute", 10, 14), ("absolute", 100, 14),
        ("absolute", 45, 0), ("absolute", 45, 10**6), ("absolute", 45.0, 14), ("absolute", 45, None),
        ("absolute", True, 9),
    ):  # fmt: skip
        with pytest.raises(InvalidInput):
            cut_flow_bound(10**6, 120, level, loss, upper, cut)


@pytest.mark.parametrize("rho", ["0.005", "0.5", "3"])
def test_numbers_under_zcdp_state_a_bound(rho):
    for reach, unbiased in ((1, False), (1, True), (5, False)):
        found = best_on_line(Line(0, 20_000, reach), um.ZCDP(rho), unbiased=unbiased)
        assert found.certificate.claim == "bound"
        assert found.verify()
        assert pairs_bound(found.problem.space, found.problem.privacy, "absolute", unbiased) <= found.value


@pytest.mark.parametrize("change", [0.999, 0.5, 1.001])
def test_a_bound_may_be_smaller_than_what_is_proved_now_and_not_larger(change):
    """As of files that earlier versions wrote, which proved less."""
    found = best_on_line(Line(0, 20_000, 5), um.ZCDP("0.5"))
    bound = found.certificate.bound * change
    certificate = dataclasses.replace(found.certificate, bound=bound, gap=found.value - bound)
    assert bool(dataclasses.replace(found, certificate=certificate).verify()) is (change < 1)
