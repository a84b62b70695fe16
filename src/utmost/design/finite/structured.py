"""Phi z = 1 without Phi: spaces of a million results that are lines, boards or look the same from every point.

Paths and products under l1 have a closed form, vertex-transitive spaces a constant. Sums and boards under king's moves
make Phi a (block) Toeplitz matrix: conjugate gradients with FFT products, and signs by the bound
|z - z'| <= ||Phi z' - 1||_2 / min symbol, where the symbol, the Fourier series of e^(-epsilon d), bounds the
eigenvalues of Phi from below (Grenander and Szego).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from utmost.design.finite.phi import Floats, Solved
from utmost.mechanism.decaying import LINES, has_structure, is_transitive, path_peaks, reach_of, row_sums, sum_error
from utmost.privacy import ApproxDP
from utmost.space import Space

MOST_OFFSETS = 2**22
REFINEMENTS = 6


def solve_structured(space: Space, level: ApproxDP) -> Solved | None:
    """The z with Phi z = 1 and what is proved of its signs; None without structure, or where nothing can be said."""
    n = len(space.points)
    if not n or not has_structure(space):
        return None
    b = math.exp(-level.log_growth)
    if b == 1:  # all rows of Phi are alike
        return Solved(np.full(n, 1 / n), (1,) * n)
    if is_transitive(space):
        return Solved(1 / row_sums(space, level, np.ones(n)), (1,) * n)
    shape, metric = _shape(space)
    if metric == "manhattan" or (len(shape) < 2 and reach_of(space) == 1):
        z = np.ones(1)
        for size in shape:
            z = np.multiply.outer(z, path_peaks(size, b)).ravel()
        return Solved(z, (1,) * n)
    return _solve_toeplitz(space, level, shape)


def _shape(space: Space) -> tuple[tuple[int, ...], str]:
    """The sides of a line or grid that are longer than one point, and its metric."""
    assert space.family is not None
    name, arguments = space.family
    if name in LINES:
        return (len(space.points),), "line"
    return tuple(size for size in arguments["shape"] if size != 1), arguments["metric"]


def _solve_toeplitz(space: Space, level: ApproxDP, shape: tuple[int, ...]) -> Solved | None:
    from scipy.fft import irfftn, next_fast_len, rfftn

    least = _least_symbol(level.log_growth, reach_of(space), len(shape))
    if least is None or least <= 0:
        return None
    n = math.prod(shape)
    longest = [next_fast_len(2 * size - 1, real=True) for size in shape]
    product = rfftn(_around(level.log_growth, reach_of(space), longest, [2 * size - 1 for size in shape]))
    nearly = rfftn(_around(level.log_growth, reach_of(space), list(shape), list(shape)))
    nearly = np.maximum(nearly.real, least)
    inside = tuple(slice(size) for size in shape)

    def multiply(v: Floats) -> Floats:
        return np.asarray(irfftn(rfftn(v.reshape(shape), longest) * product, longest)[inside]).ravel()

    def precondition(v: Floats) -> Floats:
        return np.asarray(irfftn(rfftn(v.reshape(shape)) / nearly, shape)).ravel()

    z = _conjugate_gradients(multiply, precondition, np.ones(n), 1e-13)
    residual = 1 - row_sums(space, level, z)
    for _ in range(REFINEMENTS):
        better = z + _conjugate_gradients(multiply, precondition, residual, 1e-3)
        left = 1 - row_sums(space, level, better)
        if not np.abs(left).max() < np.abs(residual).max() / 2:
            break
        z, residual = better, left
    error = np.linalg.norm(np.abs(residual) + sum_error(space, level, z)) / least * (1 + 1e-9)
    return Solved(z, tuple(1 if v > error else -1 if v < -error else None for v in z.tolist()))


def _conjugate_gradients(
    multiply: Callable[[Floats], Floats], precondition: Callable[[Floats], Floats], right: Floats, within: float
) -> Floats:
    from scipy.sparse.linalg import LinearOperator, cg

    sized = (len(right), len(right))
    matrix, helper = (LinearOperator(sized, matvec=f, dtype=float) for f in (multiply, precondition))
    return np.asarray(cg(matrix, right, rtol=within, maxiter=1000, M=helper)[0])


def _around(epsilon: float, reach: int, period: list[int], width: list[int]) -> Floats:
    """The kernel on a torus: offsets at most width // 2 along each side, wrapped around."""
    steps = []
    for size, wide in zip(period, width, strict=True):
        offset = np.arange(size)
        offset = np.minimum(offset, size - offset).astype(float)
        steps.append(np.where(offset <= wide // 2, np.ceil(offset / reach), np.inf))
    apart = steps[0] if len(steps) == 1 else np.maximum(steps[0][:, None], steps[1][None, :])
    return np.asarray(np.exp(-epsilon * apart))


def _least_symbol(epsilon: float, reach: int, sides: int) -> float | None:
    """A lower bound on the symbol, the sum over offsets m of e^(-epsilon d(m)) cos(m theta); None if out of reach.

    On a grid of angles the least value is at most half the largest curvature times the squared distance to the grid
    above the least of all, where the slope vanishes; offsets beyond the cut are counted against it.
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
