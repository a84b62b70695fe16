"""The matrix Phi of a space, Phi_ij = e^(-epsilon d(i, j)), and linear equations in it with proved signs (REG).

A prior is epsilon-regular if it is y Phi with y >= 0, which depends on signs. They are decided by verified floating
point (an approximate inverse, the residual, and bounds on all rounding), and where that is inconclusive by ball
arithmetic: never by a tolerance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, arb_mat, ctx, fmpq, fmpq_mat
from numpy.typing import NDArray

from utmost.errors import TooLarge, UnsupportedLevel
from utmost.exact import ExpSum, as_fmpq
from utmost.exact.arrays import Floats
from utmost.messages import Argument
from utmost.privacy import ApproxDP
from utmost.space import Space
from utmost.space.edge_levels import EdgeLevels, Privacy, on_edges

UNIT = 2.0**-52
LONG_UNIT = float(np.finfo(np.longdouble).eps)
SECONDS = 60.0
"""The time limit of what is solved without structure."""
SECONDS_PER_PRODUCT = 5e-10
"""About how long a verified inverse of n x n takes on two cores, divided by n^3."""
MOST_EXACT = 400
"""The largest space whose undecided signs are computed in ball arithmetic."""


def pure_levels(space: Space, privacy: Privacy) -> EdgeLevels:
    """The levels of the edges, checked to be pure and finite."""
    levels = on_edges(space, privacy)
    levels.require(ApproxDP, "regular priors and tight constraints need pure levels; use finite.optimal for others.")
    if any(level.delta > 0 or math.isinf(level.log_growth) for level in levels.kinds() if isinstance(level, ApproxDP)):
        raise UnsupportedLevel("regular priors need pure levels with a finite epsilon; use finite.optimal for a delta.")
    return levels


def require_time(n: int, seconds: float) -> None:
    """Refuse to form and invert the matrix of so many results that it would take longer than this."""
    needed = SECONDS_PER_PRODUCT * n**3
    if needed > seconds:
        raise TooLarge(
            f"{n} results of a space without structure make a matrix whose verified inverse takes about {needed:.0f} "
            "seconds; allow that (",
            Argument("seconds", math.ceil(needed / 10) * 10),
            "), use fewer results, or a space made by counts, sums, grid, cycle or hamming.",
        )


@dataclass(frozen=True)
class Solved:
    """The solution of Phi y = right with proved signs: -1, 0 (zero) or 1 each, or None if undecided."""

    y: Floats
    signs: tuple[int | None, ...]

    @property
    def nonnegative(self) -> bool | None:
        """Whether y >= 0 everywhere: proved, disproved, or None."""
        if any(s == -1 for s in self.signs):
            return False
        return None if any(s is None for s in self.signs) else True


def solve_phi(levels: EdgeLevels, right: Floats) -> Solved | None:
    """The y with Phi y = right, with proved signs; None if Phi is singular or numerically so."""
    solution, n = solve_lengths(levels.lengths(), right), len(right)
    if n > MOST_EXACT or (solution is not None and None not in solution.signs):
        return solution
    exact = _solve_in_balls(levels, right)
    if solution is None or exact is None:
        return exact if solution is None else solution
    return Solved(solution.y, tuple(e if s is None else s for s, e in zip(solution.signs, exact.signs, strict=True)))


def solve_lengths(exponents: Floats, right: Floats) -> Solved | None:
    """`solve_phi` for Phi = e^-exponents in floats; signs within its error are None. None near a singular Phi."""
    if not len(right):
        return Solved(np.zeros(0), ())
    phi = np.exp(-exponents)
    try:
        inverse = np.linalg.inv(phi)
    except np.linalg.LinAlgError:
        return None
    y = inverse @ right
    y = y + inverse @ (right - phi @ y)
    error = _error_bound(phi, exponents, inverse, right, y)
    if error is None:
        return None
    return Solved(y, tuple(1 if v > e else -1 if v < -e else None for v, e in zip(y, error, strict=True)))


def _error_bound(phi: Floats, exponents: Floats, inverse: Floats, right: Floats, y: Floats) -> Floats | None:
    """A bound on |y - exact|, entry by entry, with every rounding counted twice; None without a useful inverse.

    exact - y = (R Phi)^-1 R (right - Phi y) for an approximate inverse R; the residual is computed in long doubles.
    """
    n = len(right)
    finite = np.where(np.isfinite(exponents), exponents, 0.0)
    size = np.abs(inverse)
    defect = np.abs(np.eye(n) - inverse @ phi) + size @ (phi * (4 + 2 * finite + 2 * n) * UNIT)
    beta = float(defect.sum(axis=1).max())
    if not beta < 0.5:
        return None
    long_phi, long_y = np.exp(-exponents.astype(np.longdouble)), y.astype(np.longdouble)
    residual = np.abs(right.astype(np.longdouble) - long_phi @ long_y)
    lost_digits = (long_phi * (8 + n + 4 * finite)) @ np.abs(long_y) + n * np.abs(right)
    worst = (residual + 2 * lost_digits * LONG_UNIT).astype(float) * (1 + 4 * UNIT)
    # epsilon itself is a float next to the rational it stands for: half a unit, relative
    worst += (phi * finite * UNIT) @ np.abs(y)
    first = size @ worst * (1 + 4 * n * UNIT)
    return np.asarray(first + 2 * beta * first.max())


def _solve_in_balls(levels: EdgeLevels, right: Floats) -> Solved | None:
    """`solve_phi` in ball arithmetic of growing precision; where e^epsilon is rational, in rationals.

    With a rational epsilon the entries of y are quotients of polynomials in e^-epsilon, a transcendental number: one is
    zero only if its polynomial is, and then it is zero at rational arguments too.
    """
    level, distances = levels.single, levels.space.distances()
    n = len(right)
    exact = [Fraction(float(r)) for r in right]
    if isinstance(level, ApproxDP) and (ratio := _rational_growth(level)):
        solution = _solve_rational(distances, ratio, exact)
        return (
            None
            if solution is None
            else Solved(np.array([float(x) for x in solution]), tuple((x > 0) - (x < 0) for x in solution))
        )
    if not isinstance(level, ApproxDP):
        return None
    bits = 128
    signs: list[int | None] = [None] * n
    y, is_solved = np.zeros(n), False
    while bits <= 2048 and any(s is None for s in signs):
        with ctx.workprec(bits):
            step = arb(as_fmpq(Fraction(level.exponent)))
            powers = {d: (-step * int(d)).exp() if np.isfinite(d) else arb(0) for d in np.unique(distances)}
            try:
                balls = arb_mat([[powers[d] for d in row] for row in distances]).solve(
                    arb_mat([[arb(as_fmpq(r))] for r in exact])
                )
            except ZeroDivisionError:
                bits *= 2
                continue
            entries = [balls[i, 0] for i in range(n)]
            y = np.array([float(b) for b in entries])
            signs = [1 if b > 0 else -1 if b < 0 else None for b in entries]
        is_solved = True
        bits *= 4
    if not is_solved:
        return None
    if any(s is None for s in signs) and n <= 60:
        rational_solutions = [_solve_rational(distances, Fraction(p), exact) for p in (2, 3, 7)]
        is_zero = [all(t is not None and t[i] == 0 for t in rational_solutions) for i in range(n)]
        signs = [0 if s is None and z else s for s, z in zip(signs, is_zero, strict=True)]
    return Solved(y, tuple(signs))


def _rational_growth(level: ApproxDP) -> Fraction | None:
    """e^epsilon, if that is rational."""
    return ExpSum.rational(level.ratio).times(Fraction(1), Fraction(level.exponent)).as_rational()


def rational_powers(levels: EdgeLevels, positions: NDArray[np.int64]) -> list[list[fmpq]] | None:
    """The rows and columns of Phi at these points in rationals; None unless all edges have one rational e^epsilon."""
    level = levels.single
    ratio = _rational_growth(level) if isinstance(level, ApproxDP) else None
    return None if ratio is None else _powers(levels.space.distances()[np.ix_(positions, positions)], ratio)


def _powers(distances: Floats, ratio: Fraction) -> list[list[fmpq]]:
    """The matrix ratio^-distance in rationals; 0 where the distance is infinite."""
    powers = {d: as_fmpq(1 / ratio ** int(d)) if np.isfinite(d) else as_fmpq(Fraction(0)) for d in np.unique(distances)}
    return [[powers[d] for d in row] for row in distances]


def _solve_rational(distances: Floats, ratio: Fraction, right: list[Fraction]) -> list[Fraction] | None:
    """The y with Phi y = right for Phi = ratio^-distance, in rationals; None if Phi is singular."""
    try:
        solution = fmpq_mat(_powers(distances, ratio)).solve(fmpq_mat([[as_fmpq(r)] for r in right]))
    except ZeroDivisionError:
        return None
    return [Fraction(int(solution[i, 0].p), int(solution[i, 0].q)) for i in range(len(right))]
