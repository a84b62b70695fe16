"""Neighbours that move no integer by more than a number: sensitivities and privacy by listing every move."""

import math
from fractions import Fraction
from itertools import product

import pytest

from utmost.errors import InvalidInput
from utmost.mechanism.noise.independent import IndependentLaw
from utmost.mechanism.noise.integer_balls import norm
from utmost.mechanism.noise.staircase import geometric_law
from utmost.privacy import ZCDP, ApproxDP, PureDP
from utmost.space.integers import Holders, Lattice, unlisted_from_json, unlisted_to_json
from utmost.space.sensitivity import l1_sensitivity, norm_sensitivity, squared_l2_sensitivity
from utmost.theory.vector.design.vectors import best_vector

CASES = [(d, reach, each) for d in (1, 2, 3) for reach in (1, 2, 3, 4, 5) for each in range(1, reach + 1)]


def moves_of(space):
    """Every change that one neighbour makes, from the definition: its rows in each cell, or those less others."""
    rows = [z for z in product(range(space.each + 1), repeat=space.dimension) if sum(z) <= space.reach]
    if space.moves == "any":
        return {sign for z in rows for sign in (z, tuple(-x for x in z))}
    return {tuple(x - y for x, y in zip(new, old, strict=True)) for new in rows for old in rows}


@pytest.mark.parametrize("moves", ["any", "exchange"])
@pytest.mark.parametrize(("d", "reach", "each"), CASES)
def test_norms_and_squares_are_those_of_the_listed_moves(moves, d, reach, each):
    """Never less than the largest, which privacy needs; and the very largest where rows come and go."""
    space = Lattice(d, moves, reach, each=each)
    listed = moves_of(space)
    largest, longest = max(sum(map(abs, z)) for z in listed), max(sum(x * x for x in z) for z in listed)
    if moves == "any":
        assert (l1_sensitivity(space), squared_l2_sensitivity(space)) == (largest, longest)
    assert l1_sensitivity(space) >= largest
    assert squared_l2_sensitivity(space) >= longest
    assert l1_sensitivity(space) <= l1_sensitivity(Lattice(d, moves, reach))
    assert squared_l2_sensitivity(space) <= squared_l2_sensitivity(Lattice(d, moves, reach))
    for shape in ("any", "one-way", "cube", "exchange"):
        assert norm_sensitivity(shape, space) >= max(norm(shape, z) for z in listed)


def test_where_all_rows_may_be_in_one_integer_nothing_changes():
    for moves in ("any", "exchange"):
        for d in (1, 2, 7):
            bounded, free = Lattice(d, moves, 6, 0, 90, 6), Lattice(d, moves, 6, 0, 90)
            assert (l1_sensitivity(bounded), squared_l2_sensitivity(bounded)) == (
                l1_sensitivity(free),
                squared_l2_sensitivity(free),
            )


@pytest.mark.parametrize("moves", ["any", "exchange"])
@pytest.mark.parametrize("level", [PureDP(1), ZCDP(Fraction(1, 2)), ApproxDP(1, Fraction(1, 10**6))])
@pytest.mark.parametrize("d", [2, 40])
def test_noise_for_bounded_integers_is_proved_and_verified(moves, level, d):
    """Six rows, at most two in one of many groups: 3·2² = 12 in squared length, not 36; and the proof can fail."""
    space = Lattice(d, moves, 6, 0, 9000, 2)
    found = best_vector(space, level)
    assert found.verify()
    assert found.mechanism.prove(space, level).passed
    assert not found.mechanism.prove(Lattice(d, moves, 12, 0, 9000, 12), level).passed
    free = best_vector(Lattice(d, moves, 6, 0, 9000), level)
    assert found.value <= free.value * (1 + 1e-9)
    assert found.certificate.bound <= found.value
    if isinstance(level, ZCDP) and (moves, d) == ("any", 40):
        assert found.value == pytest.approx(free.value * math.sqrt(12) / 6, rel=0.01)


def test_what_hides_each_move_by_its_ratios_is_what_is_proved():
    """Pure noise by its probabilities: the largest ratio over all moves is e^(epsilon), and no more."""
    space, law = Lattice(3, "any", 4, each=2), IndependentLaw(3, geometric_law(Fraction(4, 5)))
    decay = Fraction(4, 5)
    worst = min(decay ** sum(map(abs, move)) for move in moves_of(space))  # Pr[x + move] / Pr[x], at x = 0
    assert law.prove(space, PureDP(-math.log(worst) + 1e-9)).passed
    assert not law.prove(space, PureDP(-math.log(worst) - 1e-9)).passed


def test_a_bound_in_one_integer_is_written_and_one_that_is_not_there_is_not():
    for space in (Lattice(4, "any", 6, each=2), Lattice(4, "exchange", 6, 0, 9, 3), Lattice(4, "cube", 6)):
        data = unlisted_to_json(space)
        assert ("each" in data) == (space.each is not None)
        assert unlisted_from_json(data) == space
    holders = Holders(9, 2, "replace", Lattice(2, "any", 6))
    assert "each" not in unlisted_to_json(holders)["numbers"]
    assert unlisted_from_json(unlisted_to_json(holders)) == holders
    old = {"integers": "lattice", "dimension": 2, "moves": "any", "reach": 3, "lower": 0, "upper": 9}
    assert unlisted_from_json(old) == Lattice(2, "any", 3, 0, 9)


@pytest.mark.parametrize("arguments", [("any", 3, 4), ("any", 3, 0), ("cube", 3, 1), ("sum-zero", 3, 1)])
def test_a_bound_that_is_none_is_refused(arguments):
    moves, reach, each = arguments
    with pytest.raises(InvalidInput, match="disjoint cells"):
        Lattice(3, moves, reach, each=each)
