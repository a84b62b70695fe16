"""Several counts released together: which mechanism, with its proof, its expected losses and the alternatives'.

Two ways in which one neighbour moves d counts:

* *overlapping* conditions: one row may change every count, each by one (king's moves on a grid);
* *disjoint* cells: one row is in one cell; replaced, it leaves one cell and enters another.

| counts | candidates, the least expected declared loss is taken |
|---|---|
| overlapping | geometric noise on each at epsilon/d; cube noise; tight constraints; a small grid's linear program |
| disjoint, add-remove | geometric noise on each at epsilon, all cells in parallel |
| disjoint, replace | geometric noise on each at epsilon/2; exchange noise on all |

Losses are those of one count, averaged over the counts ("absolute", "squared", "within k"); "zero-one" of overlapping
counts asks for all of them to be right at once (REG's two counts), of cells for each by itself. The prior is uniform
on every count, and independent between them; of cells too, whose total it does not bound.

**Why an even split.** Independent mechanisms for counts that are treated alike: the expected loss of geometric noise is
convex in epsilon, so shares of epsilon that differ cost more on average than equal ones; and where cells are disjoint
and there are at least as many cells as steps a neighbour makes, each step must be worth its share of epsilon, for which
geometric noise is best whatever the prior (Ghosh, Roughgarden, Sundararajan 2012).

**What nobody can beat.** Hold all counts but one: what is left is one count on a line, released with all of epsilon,
so no private mechanism has a lower expected loss than the best one for a single count. Disjoint cells under add-remove,
with one row of each neighbour, meet that bound: there geometric noise is optimal among all mechanisms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.design.finite import optimal, tight_constraints
from utmost.errors import CannotCertify, NoSuchMechanism, SolverFailed, TooLarge, UnsupportedLevel
from utmost.privacy import ApproxDP, Level
from utmost.release.alternatives import expected_cut_off, tails
from utmost.release.costs import shown_with, tolerance
from utmost.release.levels import require_pure_release, share_of
from utmost.release.mechanisms.balls import Shape, ball_noise
from utmost.release.mechanisms.choice import DUALITY, PROVED, Design, Proof, design_number
from utmost.release.mechanisms.count_vectors import Alone, Board, Floats, Together, any_wrong, tuple_losses
from utmost.solution import Solution
from utmost.space import Space
from utmost.space.families import grid
from utmost.space.integers import Line

MOST_GRID, FEW, MOST_BOARD, LEAST_TIGHT, CLOSED = 64, 2000, 10**6, 1.0, 1e-12
"""Up to how many points of a grid the linear program is solved, and tight constraints are tried; from which epsilon."""


@dataclass(frozen=True, eq=False)
class SeveralDesign:
    """A mechanism for several counts, made of public parameters only.

    Attributes
    ----------
    name : what it is, in words
    line : where each count lies, and how far one neighbour moves it
    expected, alternatives : the expected losses under the prior, by loss; the others' by their names
    """

    name: str
    names: tuple[str, ...]
    line: Line
    level: Level
    loss: str
    mechanism: Alone | Together | Board
    proof: Proof
    expected: Mapping[str, float]
    alternatives: Mapping[str, Mapping[str, float]]

    def draw(self, point: Mapping[str, int]) -> dict[str, int]:
        """Private answers, by name."""
        drawn = self.mechanism.draw(tuple(point[name] for name in self.names))
        return dict(zip(self.names, drawn, strict=True))

    def posterior(self, released: Mapping[str, int]) -> dict[str, tuple[NDArray[Any], Floats]]:
        """What to believe about each count after the answers."""
        beliefs = self.mechanism.posterior(tuple(released[name] for name in self.names))
        return dict(zip(self.names, beliefs, strict=True))

    @property
    def given(self) -> str:
        """What `posterior` takes into account, in words."""
        answers = "all these answers" if self.mechanism.given_all else "its own answer alone"
        return f"a prior that is uniform on each count, independently, and {answers}"

    @cached_property
    def worst(self) -> float:
        """The expected declared loss at the worst point."""
        return self.mechanism.worst(self.loss)

    @property
    def space(self) -> str:
        """Where the counts lie, in words."""
        return f"{len(self.names)} counts of {self.line.first} to {self.line.last}"

    @property
    def moves(self) -> dict[str, int]:
        """How far one neighbour moves each count."""
        return dict.fromkeys(self.names, self.line.reach)

    def verify(self) -> bool:
        """Prove privacy again in exact arithmetic."""
        return self.mechanism.verify()


@lru_cache(maxsize=256)
def design_overlapping(names: tuple[str, ...], line: Line, level: Level, loss: str) -> SeveralDesign:
    """The best mechanism known for counts that one neighbour may move all at once, each by up to the line's reach."""
    pure, d = require_pure_release(level, "several counts"), len(names)
    alone = _alone(line, pure, d, loss)
    options: list[tuple[str, Any, Proof, dict[str, float]]] = [
        (
            f"{alone.name}, on each count at a {_nth(d)} of epsilon",
            Alone(alone, d),
            Proof(alone.proof.privacy, "unproved", (EVEN if line.reach == 1 else OPEN).format(d=d)),
            {**alone.expected, "zero-one": any_wrong(alone.expected["zero-one"], d)},
        )
    ]
    if d > 1:
        options += _noise_together("cube", d, line, pure, loss, line.reach)
        options += _on_a_board(d, line, pure, loss)
    others = _alternatives(line, pure, loss, d * line.reach, math.sqrt(d) * line.reach)
    for by in others.values():
        by["zero-one"] = any_wrong(by["zero-one"], d)
    return _least(options, names, line, pure, loss, others)


@lru_cache(maxsize=256)
def design_disjoint(
    names: tuple[str, ...], most: int, moves: int, kept: int, level: Level, loss: str, closed: bool = False
) -> SeveralDesign:
    """The best mechanism known for disjoint cells of 0..most rows.

    Parameters
    ----------
    moves : how many steps of one cell by one a neighbour makes at most, all cells together
    kept : how many rows of one neighbour are in cells at most: half of `moves` where they may be exchanged
    closed : whether no cell can change alone, because every row is always in one of the cells
    """
    pure, d, line = require_pure_release(level, "several counts"), len(names), Line(0, most, 1)
    if d == 1:
        moves = kept  # nothing to exchange with
    alone = _alone(line, pure, moves, loss)
    share = "all of epsilon" if moves == 1 else f"a {_nth(moves)} of epsilon a row"
    reason = (
        f"geometric noise is best for every prior among independent mechanisms that treat cells alike, since one "
        f"neighbour makes up to {moves} steps in different cells (Ghosh, Roughgarden, Sundararajan 2012)"
        if d >= moves
        else "geometric noise at an even share; with fewer cells than steps of a neighbour another may do better"
    )
    private = f"{alone.proof.privacy}; disjoint cells share what one neighbour does"
    options: list[tuple[str, Any, Proof, dict[str, float]]] = [
        (
            f"{alone.name}, on each cell at {share}",
            Alone(alone),
            Proof(private, "unproved", reason),
            dict(alone.expected),
        )
    ]
    if moves > kept:
        options += _noise_together("exchange", d, line, pure, loss, kept)
    others = _alternatives(line, pure, loss, moves, math.sqrt(moves / kept) * kept)
    return _least(options, names, Line(0, most, kept), pure, loss, others, bounded=not closed)


EVEN = (
    "best for each count at its share (Ghosh, Roughgarden, Sundararajan 2012); equal shares of epsilon are best among "
    "shares, as all {d} counts are treated alike and the loss is convex in epsilon"
)
OPEN = "equal shares of epsilon, as all {d} counts are treated alike; that nothing is better for each is not proved"


def _least(
    options: Any, names: Any, line: Line, level: ApproxDP, loss: str, others: Any, bounded: bool = True
) -> SeveralDesign:
    """The first option with the least expected declared loss, beside what no mechanism can go below."""
    name, mechanism, proof, expected = min(options, key=lambda option: option[3][loss])
    single = design_number(line, level, loss)
    bound = single.expected[loss] if single.proof.claim == "theorem" else single.proof.bound
    if tolerance(loss) >= line.last - line.first:
        reason = f"no two counts are more than {line.last - line.first} apart, so this loss is 0 whatever is answered"
        proof = Proof(proof.privacy, "bound", reason, 0.0, 0.0)
    elif len(names) == 1 and (mechanism.design.line, mechanism.design.level) == (line, level):
        proof = single.proof
    elif proof.claim == "unproved" and bound is not None and bounded:
        gap = max(0.0, expected[loss] - bound)
        if gap <= CLOSED * bound and single.proof.claim == "theorem":
            reason = f"one count alone cannot be released better ({single.proof.optimality})"
            proof = Proof(proof.privacy, "theorem", reason, bound, 0.0)
        else:
            reason = f"one count alone, with all of epsilon, is the bound; {proof.optimality}"
            proof = Proof(proof.privacy, "bound", reason, bound, gap)
    return SeveralDesign(name, names, line, level, loss, mechanism, proof, expected, others)


def _alone(line: Line, level: ApproxDP, parts: int, loss: str) -> Design:
    return design_number(line, share_of(level, Fraction(1, parts)) if parts > 1 else level, loss)


def _noise_together(shape: Shape, d: int, line: Line, level: ApproxDP, loss: str, steps: int) -> list[Any]:
    try:
        found = Together(ball_noise(shape, d, level, steps), line)
        expected = {each: found.expected(each) for each in shown_with(loss)}
    except TooLarge:
        return []
    private = (
        f"the law b^norm with a rational b whose power {steps} is at or above e^-epsilon: exactly {level}, since one "
        f"neighbour moves the counts by at most {steps} in that norm; drawn exactly, then cut off, which is public"
    )
    reason = (
        "the K-norm mechanism (Hardt, Talwar 2010) for exactly these neighbours errs less than independent noise; "
        "whether another errs less is open"
    )
    name = f"{shape} noise on all {d} counts at once"
    return [(name, found, Proof(private, "unproved", reason), expected)]


def _on_a_board(d: int, line: Line, level: ApproxDP, loss: str) -> list[Any]:
    """The optimum on a small grid, and tight constraints on two counts for "zero-one", where these exist."""
    size = line.points**d
    tight = loss == "zero-one" and d == 2 and level.log_growth >= LEAST_TIGHT and size <= MOST_BOARD
    if line.reach > 1 or not (tight or size <= MOST_GRID):
        return []
    solution = _board(line.points, d, level, loss, tight)
    if solution is None:
        return []
    certificate, found = solution.certificate, Board(solution)
    private = PROVED.format(level=level)
    if certificate.claim == "theorem":
        name, proof = "tight constraints on the grid", Proof(private, "theorem", certificate.reason, gap=0.0)
    else:
        bound = certificate.bound
        name = "the linear program's optimum on the grid"
        gap = None if bound is None else max(0.0, solution.value - bound)
        proof = Proof(private, "unproved" if bound is None else "bound", DUALITY, bound, gap)
    small = size <= FEW
    expected = {each: found.expected(each) for each in shown_with(loss)} if small else {loss: solution.value}
    return [(name, found, proof, expected)]


@lru_cache(maxsize=64)
def _board(points: int, d: int, level: ApproxDP, loss: str, tight: bool) -> Solution | None:
    space = grid((points,) * d)
    try:
        if tight:
            if points**d <= FEW and _has_no_tight(space, level):
                return _board(points, d, level, loss, False) if points**d <= MOST_GRID else None
            solution = tight_constraints(space, level)
        else:
            solution = optimal(space, level, loss=tuple_losses(loss, space.points))
        solution.certified  # noqa: B018  (proved private, or not taken)
        return solution
    except NoSuchMechanism:
        return _board(points, d, level, loss, False) if tight and points**d <= MOST_GRID else None
    except (SolverFailed, CannotCertify, UnsupportedLevel, TooLarge):
        return None


def _has_no_tight(space: Space, level: ApproxDP) -> bool:
    """Whether an entry is clearly negative: saves the search for the epsilon from which there is one."""
    weights = np.linalg.solve(np.exp(-level.log_growth * space.distances()), np.ones(len(space.points)))
    return bool(weights.min() < -1e-6)


def _alternatives(line: Line, level: ApproxDP, loss: str, reach: int, straight: float) -> dict[str, dict[str, float]]:
    return {
        name: {each: expected_cut_off(line, tail, wide, each) for each in shown_with(loss)}
        for name, (tail, wide) in tails(reach, level, straight).items()
    }


def _nth(parts: int) -> str:
    words = {1: "whole", 2: "half", 3: "third", 4: "quarter"}
    return words.get(parts, f"{parts}th part")
