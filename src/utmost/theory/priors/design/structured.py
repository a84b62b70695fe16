"""Phi z = 1 without forming Phi: lines, grids and vertex-transitive spaces of up to a million results.

Paths and products under l1 have a closed form, vertex-transitive spaces a constant. Sums and grids under the Chebyshev
metric make Phi a (block) Toeplitz matrix: conjugate gradients with FFT products, and signs by the bound
|z - z'| <= ||Phi z' - 1||_2 / min symbol, where the symbol, the Fourier series of e^(-epsilon d), bounds the
eigenvalues of Phi from below (Grenander and Szego).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from utmost.exact.arrays import Floats
from utmost.mechanism.decaying_columns import (
    has_structure,
    is_transitive,
    path_peaks,
    reach_of,
    row_sums,
    sum_error,
)
from utmost.privacy import ApproxDP
from utmost.space import Space
from utmost.space.family import Cycle, Grid, Side
from utmost.theory.priors.design.phi import Solved

MOST_OFFSETS = 2**22
REFINEMENTS = 6
UNIT = 2.0**-52


def solve_structured(space: Space, level: ApproxDP) -> Solved | None:
    """The z with Phi z = 1, with proved signs; None without structure, or where nothing is proved."""
    n = len(space.points)
    if not n or not has_structure(space):
        return None
    b = math.exp(-level.log_growth)
    if b == 1:  # all rows of Phi are equal
        return Solved(np.full(n, 1 / n), (1,) * n)
    if is_transitive(space):
        return Solved(1 / row_sums(space, level, np.ones(n)), (1,) * n)
    shape, metric = _shape(space)
    if metric == "manhattan" or (len(shape) < 2 and reach_of(space) == 1):
        z = np.ones(1)
        for size in shape:
            z = np.multiply.outer(z, path_peaks(size, b)).ravel()
        return Solved(z, (1,) * n)
    solution = _solve_toeplitz(space, level, shape, np.ones(n))
    return None if solution is None else solution[0]


def solve_for_prior(space: Space, level: ApproxDP, prior: Floats, most_dense: int) -> tuple[Solved, Floats] | None:
    """The y with Phi y = prior, and its uncertainty from the rounding of the prior's floats; None without structure.

    Products of lines and of complete graphs, and cycles, have an inverse in closed form; lines with longer steps and
    grids under the Chebyshev metric are solved by conjugate gradients, for more than `most_dense` results.
    """
    if level.log_growth == 0:
        return None
    sides = space.family.sides if space.family else None
    if sides is not None:
        return _solve_product(sides, level.log_growth, prior)
    if isinstance(space.family, Cycle) and len(prior) > most_dense:
        return _solve_cycle(level.log_growth, prior)
    if len(prior) <= most_dense or is_transitive(space) or not has_structure(space):
        return None
    return _solve_toeplitz(space, level, _shape(space)[0], prior)


def _solve_product(sides: tuple[Side, ...], epsilon: float, right: Floats) -> tuple[Solved, Floats]:
    """The solution where Phi is a Kronecker product: its inverse is applied one side after the other.

    An entry of a side's inverse is a quotient of sums of three powers of b = e^-epsilon, each within epsilon + 1 units;
    1 - b is computed without cancellation; a sum over a side adds as many units as it has terms. So errors are at most
    that many units of |inverse| right, which is computed alongside.
    """
    shape = tuple(size for size, _ in sides)
    y = size_of = right.reshape(shape)
    units = 0.0
    for axis, (size, kind) in enumerate(sides):
        if size < 2:
            continue
        apply = _invert_path if kind == "path" else _invert_complete
        y, size_of = (
            np.moveaxis(apply(np.moveaxis(v, axis, 0), epsilon, s), 0, axis) for v, s in ((y, -1), (size_of, 1))
        )
        units += 16 + 4 * epsilon + (size if kind == "complete" else 3)
    y, size_of = y.ravel(), size_of.ravel() * (1 + 1e-6)
    error = units * UNIT * size_of
    signs = tuple(1 if v > e else -1 if v < -e else None for v, e in zip(y.tolist(), error.tolist(), strict=True))
    return Solved(y, signs), size_of * 2.0**-51 + error


def _invert_path(v: Floats, epsilon: float, sign: int) -> Floats:
    """The inverse of e^(-epsilon |i - j|) along the first axis, which is tridiagonal; sign +1: its absolute value."""
    b = math.exp(-epsilon)
    product = (1 + b * b) * v
    product[[0, -1]] = v[[0, -1]]
    product[1:] += sign * b * v[:-1]
    product[:-1] += sign * b * v[1:]
    return np.asarray(product / -math.expm1(-2 * epsilon))


def _invert_complete(v: Floats, epsilon: float, sign: int) -> Floats:
    """The inverse of (1 - b) I + b J along the first axis; sign +1: its absolute value."""
    b, gap, size = math.exp(-epsilon), -math.expm1(-epsilon), len(v)
    sum_of_others = v.sum(axis=0) - (v if sign < 0 else 0)  # the absolute value may be taken too large
    return np.asarray(((1 + (size - 2) * b) * v + sign * b * sum_of_others) / (gap * (1 + (size - 1) * b)))


def _solve_cycle(epsilon: float, right: Floats) -> tuple[Solved, Floats] | None:
    """The solution on a cycle, with errors as in `_solve_product`; None where both ways around nearly weigh the same.

    T = (1 + b^2) I - b (S + S^-1), S the shift, makes T Phi = (1 - b^2) (I - c A): A adds what is opposite, one point
    if n is even, with c = b^(n/2), and two if it is odd, with c = b^((n+1)/2) / (1 + b).
    """
    n, b = len(right), math.exp(-epsilon)
    opposite = (n // 2,) if n % 2 == 0 else (n // 2, -(n // 2))
    c = b ** (n / 2) if n % 2 == 0 else b ** ((n + 1) / 2) / (1 + b)
    if len(opposite) * c > 1e-3:
        return None

    def apply(v: Floats, sign: int) -> Floats:
        term = ((1 + b * b) * v + sign * b * (np.roll(v, 1) + np.roll(v, -1))) / -math.expm1(-2 * epsilon)
        y = term
        for _ in range(8):  # a geometric series whose rest is below 1e-24, relative
            term = c * sum(np.roll(term, shift) for shift in opposite)
            y = y + term
        return np.asarray(y)

    y, size_of = apply(right, -1), apply(right, 1) * (1 + 1e-6)
    error = (64 + 4 * epsilon) * UNIT * size_of + 1e-20 * float(size_of.max())
    signs = tuple(1 if v > e else -1 if v < -e else None for v, e in zip(y.tolist(), error.tolist(), strict=True))
    return Solved(y, signs), size_of * 2.0**-51 + error


def _shape(space: Space) -> tuple[tuple[int, ...], str]:
    """The sides of a line or grid that are longer than one point, and its metric."""
    if isinstance(space.family, Grid):
        return space.family.long_sides, space.family.metric
    return (len(space.points),), "line"


def _solve_toeplitz(
    space: Space, level: ApproxDP, shape: tuple[int, ...], right: Floats
) -> tuple[Solved, Floats] | None:
    """Phi y = right by conjugate gradients, and the uncertainty of y from the rounding of right."""
    from scipy.fft import irfftn, next_fast_len, rfftn

    least = _least_symbol(level.log_growth, reach_of(space), len(shape))
    if least is None or least <= 0:
        return None
    longest = [next_fast_len(2 * size - 1, real=True) for size in shape]
    product = rfftn(_around(level.log_growth, reach_of(space), longest, [2 * size - 1 for size in shape]))
    circulant = rfftn(_around(level.log_growth, reach_of(space), list(shape), list(shape)))
    circulant = np.maximum(circulant.real, least)
    inside = tuple(slice(size) for size in shape)

    def multiply(v: Floats) -> Floats:
        return np.asarray(irfftn(rfftn(v.reshape(shape), longest) * product, longest)[inside]).ravel()

    def precondition(v: Floats) -> Floats:
        return np.asarray(irfftn(rfftn(v.reshape(shape)) / circulant, shape)).ravel()

    z = _conjugate_gradients(multiply, precondition, right, 1e-13)
    residual = right - row_sums(space, level, z)
    for _ in range(REFINEMENTS):
        refined = z + _conjugate_gradients(multiply, precondition, residual, 1e-3)
        next_residual = right - row_sums(space, level, refined)
        if not np.abs(next_residual).max() < np.abs(residual).max() / 2:
            break
        z, residual = refined, next_residual
    error = np.linalg.norm(np.abs(residual) + sum_error(space, level, z)) / least * (1 + 1e-9)
    solved = Solved(z, tuple(1 if v > error else -1 if v < -error else None for v in z.tolist()))
    return solved, np.full(len(z), error + float(np.linalg.norm(right)) * 2.0**-51 / least)


def _conjugate_gradients(
    multiply: Callable[[Floats], Floats], precondition: Callable[[Floats], Floats], right: Floats, within: float
) -> Floats:
    """The solution of matrix y = right to a relative residual of `within`."""
    from scipy.sparse.linalg import LinearOperator, cg

    sized = (len(right), len(right))
    matrix, helper = (LinearOperator(sized, matvec=f, dtype=float) for f in (multiply, precondition))
    return np.asarray(cg(matrix, right, rtol=within, maxiter=1000, M=helper)[0])


def _around(epsilon: float, reach: int, period: list[int], width: list[int]) -> Floats:
    """The kernel e^(-epsilon d) on a torus, for offsets of at most width // 2 along each side."""
    steps = []
    for size, wide in zip(period, width, strict=True):
        offset = np.arange(size)
        offset = np.minimum(offset, size - offset).astype(float)
        steps.append(np.where(offset <= wide // 2, np.ceil(offset / reach), np.inf))
    apart = steps[0] if len(steps) == 1 else np.maximum(steps[0][:, None], steps[1][None, :])
    return np.asarray(np.exp(-epsilon * apart))


def _least_symbol(epsilon: float, reach: int, sides: int) -> float | None:
    """A lower bound on the symbol, the sum over offsets m of e^(-epsilon d(m)) cos(m theta); None if too large.

    At the minimum the slope vanishes, so the least value on a grid of angles exceeds it by at most half the largest
    curvature times the squared distance to the grid; offsets beyond the cut are subtracted.
    """
    from scipy.fft import rfftn

    cut = reach * math.ceil(45 / epsilon)
    angles: int = max(2 ** math.ceil(math.log2(2 * cut + 1)), 2**14 if sides == 1 else 2**9)
    if angles**sides > MOST_OFFSETS:
        return None
    values = _around(epsilon, reach, [angles] * sides, [2 * cut + 1] * sides)
    offset = np.minimum(np.arange(angles), angles - np.arange(angles)).astype(float)
    squares = offset**2 if sides == 1 else offset[:, None] ** 2 + offset[None, :] ** 2
    curvature = float((values * squares).sum())
    b, far = math.exp(-epsilon), cut // reach
    beyond = 2 * reach / (1 - b) if sides == 1 else 8 * (far + 1 - far * b) / (1 - b) ** 2
    beyond *= math.exp(-epsilon * (far + 1))
    rounding = 64 * 2.0**-52 * float(values.sum())
    least = float(rfftn(values).real.min())
    return least - curvature * sides * (math.pi / angles) ** 2 / 2 - 2 * beyond - rounding
