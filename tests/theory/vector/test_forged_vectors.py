"""Saved noise on vectors, forged: what is changed is refused, or true all the same."""

import hashlib
import json
import random
from dataclasses import replace

import numpy as np
import pytest
from oracles.pace import within
from oracles.programs import least_loss_by_lines

import utmost as um
from utmost.errors import UtmostError
from utmost.exact.saved import canonical
from utmost.solution import Solution
from utmost.space.integers import Lattice
from utmost.space.line import Line, cost
from utmost.theory.scalar.design.line import best_on_line
from utmost.theory.scalar.verify.number import pairs_bound
from utmost.theory.vector.design.vectors import best_vector
from utmost.theory.vector.verify.coordinate import coordinate_bound

SAVED = [
    (Lattice(3, "one-way", 1, 0, 20_000), um.PureDP(1), "absolute"),
    (Lattice(2, "any", 7, 0, 20_000), um.PureDP("0.5"), "squared"),
    (Lattice(4, "sum-zero", 2, 0, 500), um.PureDP(2), "within 2"),
    (Lattice(3, "exchange", 1, 0, 500), um.GaussianDP(1), "absolute"),
    (Lattice(5, "any", 1, 0, 500), um.ApproxDP(1, "1e-3"), "zero-one"),
    (Lattice(2, "cube", 1, 0, 500), um.ZCDP("0.5"), "squared"),
    (Lattice(12, "sum-zero", 1, 0, 2000), um.PureDP(1), "absolute"),
    (Lattice(12, "exchange", 1, 0, 2000), um.PureDP(1), "absolute"),
]


def paths(data, prefix=()):
    """Where a number or text stands in plain data."""
    if isinstance(data, dict):
        return [p for key, value in data.items() for p in paths(value, (*prefix, key))]
    if isinstance(data, list):
        return [p for i, value in enumerate(data) for p in paths(value, (*prefix, i))]
    return [prefix]


def changed(value, rng):
    """Another value of the kind."""
    if isinstance(value, bool) or value is None:
        return rng.choice([0, 1.5, "x"])
    if isinstance(value, int):
        return rng.choice([value + 1, value - 1, 2 * value + 3, 0, -value, 10**30])
    if isinstance(value, float):
        return rng.choice([value * 1.001, value * 0.999, -value, 0.0, value + 1])
    if "/" in value or value.replace(".", "").isdigit():
        top, _, bottom = value.partition("/")
        return rng.choice([f"{int(top) + 1}/{bottom or 1}" if top.isdigit() else "2", f"1/{top}", "0", "1/7", "nan"])
    return rng.choice(
        ["any", "one-way", "cube", "exchange", "sum-zero", "absolute", "squared", "theorem", "", "within 1"]
    )


def forge(content, rng):
    """One number or word changed; the checksum is made anew. Words that nobody checks stay."""
    words = {"reason", "quantity", "method", "notes", "format", "version", "sha256"}
    places = [p for p in paths(content) if not words & set(p)]
    place = rng.choice(places)
    at = content
    for key in place[:-1]:
        at = at[key]
    before = at[place[-1]]
    at[place[-1]] = changed(before, rng)
    return place, before, at[place[-1]]


def is_true(solution):
    """Whether what a forged file says is true: computed anew from the level, the moves and the loss."""
    space, level, loss = solution.problem.space, solution.problem.privacy, solution.problem.data["loss"]
    honest = best_vector(space, level, loss)
    law = solution.mechanism
    private = law.prove(space, level).passed
    same = abs(law.expected(loss) - solution.value) <= 1e-9 * max(1, abs(solution.value))
    bound = solution.certificate.bound
    no_more = bound is None or bound <= honest.certificate.bound * (1 + 1e-8) + 1e-300
    return private and same and no_more


@pytest.mark.parametrize("case", range(len(SAVED)))
def test_forged_files_are_refused_or_true(case, tmp_path):
    rng = random.Random(case)
    path = tmp_path / "noise.json"
    solution = best_vector(*SAVED[case])
    original = json.loads(solution.save(path).read_bytes())
    original.pop("sha256")
    assert Solution.load(path).verify()
    refused = harmless = 0
    for _ in range(45):
        content = json.loads(json.dumps(original))
        place, before, after = forge(content, rng)
        if before == after:
            continue
        try:
            content["sha256"] = hashlib.sha256(canonical(content)).hexdigest()
            path.write_bytes(canonical(content))
            loaded = Solution.load(path)
            verified = bool(loaded.verify())
        except UtmostError:
            refused += 1
            continue
        if not verified:
            refused += 1
        else:
            assert is_true(loaded), (place, before, after)
            harmless += 1
    assert refused >= 20
    assert refused + harmless >= 34


def test_a_smaller_level_a_larger_move_or_a_better_bound_is_refused(tmp_path):
    solution = best_vector(*SAVED[0])
    plain = json.loads(solution.save(tmp_path / "noise.json").read_bytes())
    plain.pop("sha256")

    def verdict(change):
        content = json.loads(json.dumps(plain))
        change(content)
        content["sha256"] = hashlib.sha256(canonical(content)).hexdigest()
        (tmp_path / "forged.json").write_bytes(canonical(content))
        return Solution.load(tmp_path / "forged.json").verify()

    assert verdict(lambda c: None)
    assert not verdict(lambda c: c["problem"]["privacy"].update(epsilon="999/1000")).private
    assert not verdict(lambda c: c["problem"]["space"].update(reach=2)).private
    assert not verdict(lambda c: c["problem"]["space"].update(moves="cube")).private
    assert not verdict(lambda c: c.update(value=c["value"] * 0.99))
    assert not verdict(lambda c: c["certificate"].update(bound=c["value"], gap=0.0))
    assert not verdict(lambda c: c["certificate"].update(claim="theorem"))
    assert not verdict(lambda c: c["certificate"].update(claim="unproved"))


@pytest.mark.parametrize("level", [um.PureDP(1), um.ApproxDP("0.5", "0.01")], ids=str)
@pytest.mark.parametrize("loss", ["absolute", "squared", "zero-one"])
def test_one_integer_is_bounded_like_a_number(level, loss):
    """Pairs across thresholds counted twice, by two programs, to nine digits; and below the best of all mechanisms."""
    for points in (2, 7, 8, 300):
        alone = coordinate_bound(Lattice(3, "any", 1, 0, points - 1), level, loss)
        assert alone == pytest.approx(pairs_bound(Line(0, points - 1, 1), level, loss), rel=1e-8)
        if points < 9:
            table = cost(loss, np.arange(points)[:, None] - np.arange(points))
            least = least_loss_by_lines(points, 1, level.lines(), np.full(points, 1 / points), table)
            assert 0.5 * least < alone <= least + 1e-9


def test_evidence_of_a_rest_and_of_noise_is_doubted():
    """A rest is for exchanges, and for noise that treats it like a cell; what no noise goes below is recomputed."""
    space, level = Lattice(12, "exchange", 1, 0, 2000), um.PureDP(1)
    found = best_vector(space, level)
    assert found.verify()
    assert found.certificate.evidence["rest"] is True
    assert found.certificate.evidence["average"] < 0.99 * found.value < found.certificate.bound
    away = found.certificate.evidence["away"]
    crowded = best_vector(Lattice(12, "exchange", 1, 0, 12 * away), level)  # a thirteenth is the rest
    assert crowded.verify()
    assert "away" not in crowded.certificate.evidence
    assert crowded.certificate.bound < 0.99 * crowded.value < crowded.certificate.evidence["noise"] <= crowded.value

    def with_evidence(solution, **changes):
        changed = solution.certificate.evidence | changes
        return replace(solution, certificate=replace(solution.certificate, evidence=changed))

    for name, solution in (("noise", crowded), ("average", found)):
        for forged in (solution.value, solution.value * 1.0001, -1.0, "0.5", None):
            assert not with_evidence(solution, **{name: forged}).verify()
    for forged in ({"rest": 1}, {"rest": False}):
        assert not with_evidence(found, **forged).verify()
        assert not with_evidence(crowded, **forged).verify()
    without = {name: part for name, part in found.certificate.evidence.items() if name != "average"}
    assert not replace(found, certificate=replace(found.certificate, evidence=without)).verify()
    for forged in (None, 0, -away, True, float(away), str(away), away - 1, away // 2, 2001, 10**30):
        assert not with_evidence(found, away=forged).verify()
    assert not with_evidence(crowded, away=away).verify()
    lifted = best_vector(Lattice(3, "exchange", 1, 0, 20_000), um.PureDP("0.1"), alone=True)
    assert lifted.mechanism.noise.slack > 0
    assert lifted.verify()
    assert not with_evidence(lifted, rest=True).verify()
    assert not with_evidence(best_vector(Lattice(3, "one-way", 1, 0, 500), level), rest=True).verify()


@pytest.mark.parametrize("loss", ["absolute", "squared", "zero-one", "within 2"])
@pytest.mark.parametrize("level", [um.PureDP(1), um.ApproxDP(1, "0.01"), um.ApproxDP(3, "0.001")], ids=str)
def test_one_integer_that_moves_far_is_bounded_below_the_best_of_all_mechanisms(level, loss):
    """Against the linear program over all mechanisms on a short line."""
    for points, reach in ((3, 2), (9, 2), (10, 3), (12, 4)):
        table = cost(loss, np.arange(points)[:, None] - np.arange(points))
        least = least_loss_by_lines(points, reach, level.lines(), np.full(points, 1 / points), table)
        assert 0 <= coordinate_bound(Lattice(2, "any", reach, 0, points - 1), level, loss) <= least + 1e-9


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "2", "20"])
@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_one_integer_without_ends_is_bounded_by_the_best_staircase(epsilon, loss):
    """The unbiased noise of a sum, proved the best by another checker; and the same for two steps as for 2^60."""
    level = um.PureDP(epsilon)
    for reach in (2, 3, 1000, 10**12):
        best = best_on_line(Line(None, None, reach), level, loss)
        assert best.certificate.claim == "theorem"
        assert coordinate_bound(Lattice(2, "any", reach), level, loss) == pytest.approx(best.value, rel=1e-9)


@pytest.mark.parametrize("level", [um.PureDP(1), um.ApproxDP(1, "1e-6"), um.GaussianDP(1), um.ZCDP("0.5")], ids=str)
def test_the_bound_of_one_integer_depends_on_steps_by_their_size_alone(level):
    for loss, power in (("absolute", 1), ("squared", 2)):
        found = [
            coordinate_bound(Lattice(2, "any", reach), level, loss) / reach**power for reach in (500, 10**6, 10**12)
        ]
        assert max(found) <= min(found) * 1.0005
    with within(1):
        for exponent in range(2, 60, 4):
            coordinate_bound(Lattice(2, "any", 2**exponent + 1), level, "absolute")


def test_a_delta_costs_no_more_where_steps_are_fine():
    """Every move costs delta: so of many, a hundred or so are looked at."""
    pure, delta = um.PureDP(1), um.ApproxDP(1, "1e-6")
    for reach in (2, 1000, 10**6, 10**12):
        space = Lattice(2, "any", reach)
        found, whole = (coordinate_bound(space, level, "absolute") for level in (delta, pure))
        assert 0.999 * whole <= found <= whole
