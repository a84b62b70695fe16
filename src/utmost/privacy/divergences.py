"""f-divergences: sum over y of M1(y) f(M0(y) / M1(y)) for a convex f with f(1) = 0.

Adding a multiple of u - 1 to f changes no divergence, so every f here has slope 0 at 1: then all terms are 0 or more,
and the small ones, which are typical under strong privacy, are accurate. f is computed from d = u - 1 for the same
reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact import as_rational
from utmost.exact.arrays import Floats

Chosen: TypeAlias = "str | Callable[[Any], Any] | Divergence"
CHORDS = 1000


@dataclass(frozen=True, eq=False)
class Divergence:
    """A convex function f with f(1) = 0 and slope 0 at 1, with its limits and derivative.

    Attributes
    ----------
    name : str
        Its name, also in files; a function of your own has the name "custom" and is not saved.
    of : callable
        f(1 + d) for an array of d above -1.
    at_zero, at_infinity : float
        The limits of f(u) at 0 and of f(u)/u at infinity.
    slope : callable, optional
        f'(1 + d), where f is smooth.
    bend : float, optional
        The u of the corner of an f of two linear pieces.
    mirror : callable, optional
        (1 + d) f(1/(1 + d)), for an f that would be inaccurate where z is far below t.
    """

    name: str
    of: Callable[[Floats], Floats]
    at_zero: float
    at_infinity: float
    slope: Callable[[Floats], Floats] | None = None
    bend: float | None = None
    mirror: Callable[[Floats], Floats] | None = None

    def perspective(self, z: Floats, t: Floats, gap: Floats) -> Floats:
        """The perspective t f(z/t), with its limits where z or t is 0; gap is z - t before rounding."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            inside = t * self.of(gap / t)
            if self.mirror is not None:
                inside = np.where(z < t, z * self.mirror(-gap / z), inside)
            ends = np.where(t > 0, t * self.at_zero, np.where(z > 0, z * self.at_infinity, 0.0))
        return np.where((t > 0) & (z > 0), inside, ends)

    def between(self, m0: Floats, m1: Floats) -> float:
        """The divergence of one distribution from another."""
        return math.fsum(self.perspective(m0, m1, m0 - m1))

    def tangent(self, d: Floats) -> tuple[Floats, Floats]:
        """The line alpha u + beta that touches a smooth f at u = 1 + d."""
        if self.slope is None:
            raise InvalidInput(f"{self.name!r} is not smooth, so it has no tangents; use its pieces.")
        alpha = self.slope(d)
        return alpha, self.of(d) - (1 + d) * alpha

    def pieces(self, low: float, high: float) -> Floats | None:
        """Lines (alpha, beta) whose maximum alpha z + beta t equals, or exceeds, t f(z/t) for z/t between low and high.

        None where f is smooth, so that tangents serve instead. A function of your own is bounded by chords.
        """
        if self.slope is not None:
            return None
        if self.bend is not None:
            corner = float(self.of(np.array([self.bend - 1]))[0])
            return np.array(
                [
                    (corner - self.at_zero) / self.bend * np.array([1, 0]) + np.array([0, self.at_zero]),
                    np.array([self.at_infinity, corner - self.bend * self.at_infinity]),
                ]
            )
        u = np.geomspace(low * (1 - 1e-12), high * (1 + 1e-12), CHORDS)
        values = self.of(u - 1) * (1 + 1e-15) + 1e-300
        alpha = np.diff(values) / np.diff(u)
        # each chord is lifted until both of its ends lie on it or below, in floating point
        beta = np.maximum(values[:-1] - alpha * u[:-1], values[1:] - alpha * u[1:])
        return np.column_stack([alpha, beta + 2.0**-50 * (np.abs(values[1:]) + np.abs(alpha * u[1:]))])


def as_divergence(divergence: Chosen) -> Divergence:
    """The divergence of a name ("kl", "tv", ..., "hockey-stick 2") or of a convex function of your own.

    Examples
    --------
    >>> import numpy as np
    >>> as_divergence("tv").between(np.array([0.5, 0.5]), np.array([0.25, 0.75]))
    0.25
    >>> round(as_divergence(lambda u: (u - 1) ** 2).between(np.array([0.5, 0.5]), np.array([0.25, 0.75])), 12)
    0.333333333333
    """
    if isinstance(divergence, Divergence):
        return divergence
    if callable(divergence):
        return _own(divergence)
    name, _, parameter = divergence.partition(" ") if isinstance(divergence, str) else ("", "", "")
    if name == "hockey-stick":
        return _hockey_stick(parameter)
    if name not in NAMED or parameter:
        names = ", ".join(map(repr, NAMED))
        raise InvalidInput(f"divergence is {divergence!r}; say {names}, 'hockey-stick 2', or give a convex function.")
    return NAMED[name]


def entropy(d: Floats) -> Floats:
    """(1 + d) log(1 + d) - d, by its series where the difference would cancel."""
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = np.where(d > -1, (1 + d) * np.log1p(d) - d, 1.0)
    small = np.abs(d) < 1e-3
    if small.any():
        x = d[small]
        plain[small] = x * x * (1 / 2 - x * (1 / 6 - x * (1 / 12 - x * (1 / 20 - x * (1 / 30 - x / 42)))))
    return np.asarray(plain)


def _reverse(d: Floats) -> Floats:
    """The function d - log(1 + d), by its series where the difference would cancel."""
    plain = d - np.log1p(d)
    small = np.abs(d) < 1e-3
    if small.any():
        x = d[small]
        plain[small] = x * x * (1 / 2 - x * (1 / 3 - x * (1 / 4 - x * (1 / 5 - x * (1 / 6 - x / 7)))))
    return np.asarray(plain)


def _hellinger(d: Floats) -> Floats:
    return np.asarray(0.5 * (d / (1 + np.sqrt(1 + d))) ** 2)


NAMED: dict[str, Divergence] = {
    d.name: d
    for d in (
        Divergence("kl", entropy, 1.0, math.inf, np.log1p),
        Divergence("reverse-kl", _reverse, math.inf, 1.0, lambda d: d / (1 + d), mirror=entropy),
        Divergence("tv", lambda d: np.abs(d) / 2, 0.5, 0.5, bend=1.0),
        Divergence("chi2", np.square, 1.0, math.inf, lambda d: 2 * d),
        Divergence("hellinger", _hellinger, 0.5, 0.5, lambda d: 0.5 * d / (1 + d + np.sqrt(1 + d)), mirror=_hellinger),
        Divergence(
            "js",
            lambda d: 0.5 * entropy(d) - entropy(d / 2),
            0.5 * math.log(2),
            0.5 * math.log(2),
            lambda d: 0.5 * (np.log1p(d) - np.log1p(d / 2)),
        ),
    )
}
"""Kullback-Leibler and its reverse, total variation, Pearson's chi-squared, squared Hellinger (between 0 and 1) and
Jensen-Shannon (nats)."""


def _hockey_stick(parameter: str) -> Divergence:
    """Sum of max(0, M0 - gamma M1): the least delta at epsilon = log gamma."""
    try:
        gamma = float(as_rational(parameter, "gamma"))
    except InvalidInput:
        gamma = 0.0
    if gamma < 1:
        raise InvalidInput(f"gamma is {parameter!r}; write 'hockey-stick 2' with a number from 1 on.")
    return Divergence(f"hockey-stick {parameter}", lambda d: np.maximum(d - (gamma - 1), 0.0), 0.0, 1.0, bend=gamma)


def _own(f: Callable[[Any], Any]) -> Divergence:
    """A convex function of the user's, vectorised, with slope 0 at 1; refused if it is seen not to be convex."""

    def plain(u: Floats) -> Floats:
        try:
            values = np.asarray(f(u), dtype=float)
        except (TypeError, ValueError):
            values = np.array([])
        if values.shape != u.shape:
            values = np.array([float(f(float(x))) for x in u.ravel()]).reshape(u.shape)
        return values

    at_one = float(plain(np.array([1.0]))[0])
    if not abs(at_one) <= 1e-12:
        raise InvalidInput(f"f(1) is {at_one!r}; a divergence needs f(1) = 0, so subtract it.")
    u = np.geomspace(2.0**-12, 2.0**12, 193)
    values = plain(u)
    chord = values[:-2] + (values[2:] - values[:-2]) * (u[1:-1] - u[:-2]) / (u[2:] - u[:-2])
    size = 1e-9 * (np.abs(values[:-2]) + np.abs(values[2:]) + np.abs(values[1:-1]))
    wrong = ~(values[1:-1] <= chord + size) | ~np.isfinite(values[1:-1])
    if wrong.any():
        raise InvalidInput(f"f is not convex (or not finite) near u = {u[1:-1][wrong][0]:.6g}; give a convex function.")
    h = 2.0**-20
    tilt = float((plain(np.array([1 + h])) - plain(np.array([1 - h])))[0] / (2 * h))  # any tilt gives the same sums
    return Divergence("custom", lambda d: plain(1 + d) - tilt * d, math.nan, math.nan)
