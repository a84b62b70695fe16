"""Suitable pairs in general (BIN Def. 12): levels that are given by the graph of their upper function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike

from utmost.errors import InvalidInput, NotSuitable, UnsupportedLevel, shown
from utmost.exact import Enclosed, ExpSum, Number, Real, as_fmpq, as_literal, as_rational, endpoints, show_rational
from utmost.exact.arrays import Floats
from utmost.messages import Argument
from utmost.privacy.level import ONE, Level

Knots: TypeAlias = tuple[tuple[Fraction, Fraction], ...]


class SuitablePair(Level):
    """A level given by the graph of its upper function: piecewise linear between rational knots (alpha, upper).

    The lower function is 1 - upper(1 - alpha). The axioms of a suitable pair are checked exactly; an upper function
    that is not concave is refused unless `binary_only=True`, since it implies nothing for three or more outputs.

    Parameters
    ----------
    knots : iterable of pairs
        (alpha, upper) in increasing order of alpha, from 0 to 1.
    binary_only : bool
        Accept a pair that is not concave; only designs with two outputs take it.

    Examples
    --------
    >>> total_variation = SuitablePair([(0, "1/10"), ("9/10", 1), (1, 1)])      # the same promise as (0, 0.1)-DP
    >>> total_variation.upper(0.3)
    0.4
    >>> SuitablePair([(0, 0), ("1/2", "2/5"), (1, 1)])
    Traceback (most recent call last):
    utmost.errors.NotSuitable: upper(1/2) = 0.4 is below 1/2 itself: a suitable pair has upper(alpha) >= alpha ...
    """

    kind = "suitable-pair"
    __slots__ = ("binary_only", "knots")
    knots: tuple[tuple[Fraction, Fraction], ...]
    binary_only: bool

    def __init__(self, knots: Iterable[tuple[Number, Number]], binary_only: bool = False) -> None:
        if callable(knots):
            raise InvalidInput(
                "knots is a function; give its graph as pairs (alpha, upper), which the axioms are checked on exactly, "
                "or call SuitablePair.from_functions(upper), which is for study and cannot be certified."
            )
        try:
            pairs = [tuple(knot) for knot in knots]
        except TypeError:
            raise InvalidInput(
                f"knots is {shown(knots)}; give pairs (alpha, upper), such as [(0, 0), ('1/3', '2/3'), (1, 1)]."
            ) from None
        if any(len(knot) != 2 for knot in pairs):
            raise InvalidInput("every knot is a pair (alpha, upper); give two numbers each.")
        exact = tuple((as_rational(a, "a knot's alpha"), as_rational(u, "a knot's upper")) for a, u in pairs)
        object.__setattr__(self, "knots", exact)
        object.__setattr__(self, "binary_only", binary_only)
        _check_knots(exact)
        _check_axioms(exact)
        if not binary_only:
            _check_concave(exact)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"SuitablePair is immutable; make a new level instead of setting {name}.")

    @staticmethod
    def from_functions(
        upper: Callable[[Floats], ArrayLike], lower: Callable[[Floats], ArrayLike] | None = None, concave: bool = False
    ) -> FunctionPair:
        """A level from vectorised functions, for study: checked on a grid of alphas only and not certifiable.

        Examples
        --------
        >>> import numpy as np
        >>> cauchy = lambda a: 0.5 - np.arctan(1 / np.tan(np.pi * a) - 1) / np.pi       # Cauchy noise, shift 1
        >>> round(SuitablePair.from_functions(cauchy).upper(0.5), 6)
        0.75
        """
        return FunctionPair(upper, lower, concave)

    @property
    def concave(self) -> bool:  # type: ignore[override]
        """Whether the upper function is concave."""
        slopes = _slopes(self.knots)
        return all(a >= b for a, b in pairwise(slopes))

    @property
    def keeps_positive(self) -> bool:  # type: ignore[override]
        """Whether a positive probability is positive at every neighbour: upper(0) = 0."""
        return self.knots[0][1] == 0

    def _upper(self, alpha: Floats) -> Floats:
        xs, ys = np.array(self.knots, dtype=float).T
        return np.asarray(np.maximum(np.interp(alpha, xs, ys), alpha))

    def _lower(self, alpha: Floats) -> Floats:
        xs, ys = np.array([(1 - a, 1 - u) for a, u in reversed(self.knots)], dtype=float).T
        return np.asarray(np.minimum(np.interp(alpha, xs, ys), alpha))

    def lines(self) -> tuple[tuple[float, float], ...] | None:
        if not self.concave:
            return None
        pieces = zip(self.knots, _slopes(self.knots), strict=False)
        return tuple((float(slope), float(u - slope * a)) for (a, u), slope in pieces)

    def tangent(self, alpha: Floats) -> Floats:
        if not self.concave:
            return super().tangent(alpha)
        starts, slopes = (np.array(x, dtype=float) for x in ([a for a, _ in self.knots[:-1]], _slopes(self.knots)))
        return np.asarray(slopes[np.searchsorted(starts, alpha, side="right") - 1])

    def _bends(self) -> tuple[float, ...]:
        return tuple(float(a) for a, _ in self.knots)

    def upper_exact(self, alpha: Real) -> Real:
        if isinstance(alpha, Enclosed):

            def enclose(bits: int) -> Any:
                with ctx.workprec(bits):
                    ball = alpha.enclose(bits)
                    if not ball.is_finite():  # not yet precise enough to be a number
                        return arb(0).union(arb(1))
                    low, high = endpoints(ball)
                    ends = [as_fmpq(self.at(min(max(x, Fraction(0)), Fraction(1)))) for x in (low, high)]
                    return arb(ends[0]).union(arb(ends[1]))

            return Enclosed(enclose)
        for (a, u), (b, v) in pairwise(self.knots):
            if alpha.compare(ExpSum.rational(b)) <= 0:
                slope = (v - u) / (b - a)
                return alpha.plus(-a).times(slope, Fraction(0)).plus(u)
        return ONE

    def at(self, alpha: Fraction) -> Fraction:
        """The upper function at a rational alpha, exactly."""
        return _interpolate(self.knots, alpha)

    def to_json(self) -> dict[str, Any]:
        knots = [[str(a), str(u)] for a, u in self.knots]
        return {"kind": self.kind, "knots": knots, "binary_only": self.binary_only}

    @classmethod
    def _from_json(cls, data: Mapping[str, Any]) -> SuitablePair:
        return SuitablePair([(a, u) for a, u in data["knots"]], data["binary_only"])

    def _key(self) -> tuple[Any, ...]:
        return ("suitable-pair", self.knots, self.binary_only)

    def __str__(self) -> str:
        return f"a suitable pair with {len(self.knots)} knots"

    def __repr__(self) -> str:
        knots = ", ".join(f"({as_literal(a)}, {as_literal(u)})" for a, u in self.knots)
        return f"SuitablePair([{knots}]{', binary_only=True' if self.binary_only else ''})"


class FunctionPair(Level):
    """A level given by functions in floating point; see `SuitablePair.from_functions`."""

    kind = "functions"
    certifiable = False

    def __init__(
        self,
        upper: Callable[[Floats], ArrayLike],
        lower: Callable[[Floats], ArrayLike] | None = None,
        concave: bool = False,
    ) -> None:
        self._functions = (upper, lower)
        self.concave = concave
        grid = np.linspace(0, 1, 1025)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            _check_sampled(grid, self._upper(grid), self._lower(grid), self._upper)
            bent = np.diff(self._upper(grid), 2) > 1e-9
        if concave and bent.any():
            raise NotSuitable(
                f"upper is not concave near alpha = {grid[1 + int(np.argmax(bent))]:g}; pass ",
                Argument("concave", False),
                ".",
            )

    def _upper(self, alpha: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.broadcast_to(np.asarray(self._functions[0](alpha), dtype=float), alpha.shape)

    def _lower(self, alpha: Floats) -> Floats:
        upper, lower = self._functions
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            bounds = np.asarray(lower(alpha) if lower else 1 - np.asarray(upper(1 - alpha)), dtype=float)
            return np.broadcast_to(bounds, alpha.shape)

    def upper_exact(self, alpha: Real) -> Real:
        return ExpSum.rational(Fraction(float(self._upper(np.array([float(alpha)]))[0])))

    def to_json(self) -> dict[str, Any]:
        raise UnsupportedLevel("a pair of Python functions cannot be saved; give it as SuitablePair(knots).")

    def __reduce__(self) -> tuple[Any, ...]:
        return FunctionPair, (*self._functions, self.concave)

    def _key(self) -> tuple[Any, ...]:
        return ("functions", *self._functions)

    def __str__(self) -> str:
        return "a pair of functions"

    def __repr__(self) -> str:
        return f"SuitablePair.from_functions({self._functions[0]!r}, {self._functions[1]!r})"


def _check_knots(knots: Knots) -> None:
    """Refuse knots that are not an increasing graph from alpha = 0 to alpha = 1."""
    if len(knots) < 2 or knots[0][0] != 0 or knots[-1][0] != 1:
        raise InvalidInput("knots must start at alpha = 0 and end at alpha = 1; add the missing ends.")
    for (a, u), (b, v) in pairwise(knots):
        if not a < b:
            raise InvalidInput(f"knots must have increasing alphas, but {b} follows {a}; sort them.")
        if v < u:
            raise NotSuitable(f"upper falls from {u} at alpha = {a} to {v} at {b}; it must not decrease.")
    for a, u in knots:
        if not 0 <= u <= 1:
            raise InvalidInput(f"upper({a}) = {u} is not a probability; give values between 0 and 1.")


def _check_axioms(knots: Knots) -> None:
    """Check upper >= id at the knots, and upper(1 - upper(alpha)) >= 1 - alpha wherever either side bends."""
    for a, u in knots:
        if u < a:
            raise NotSuitable(
                f"upper({a}) = {show_rational(u)} is below {a} itself: a suitable pair has upper(alpha) >= alpha "
                f"(BIN Def. 12, 1). Raise it to {a} or more."
            )
    bends = {a for a, _ in knots}
    for (a, u), (b, v) in pairwise(knots):
        bends |= {a + (b - a) * (1 - k - u) / (v - u) for k, _ in knots if u < 1 - k < v}
    for alpha in sorted(bends):
        back = _interpolate(knots, 1 - _interpolate(knots, alpha))
        if back < 1 - alpha:
            raise NotSuitable(
                f"lower(upper({alpha})) = {1 - back} is above {alpha}: a suitable pair has lower(upper(alpha)) <= "
                f"alpha (BIN Def. 12, 2), with lower(alpha) = 1 - upper(1 - alpha). Raise upper near {1 - alpha}."
            )


def _check_concave(knots: Knots) -> None:
    """Refuse an upper function that is not concave."""
    slopes = _slopes(knots)
    for (a, _), before, after in zip(knots[1:], slopes, slopes[1:], strict=False):
        if after > before:
            raise NotSuitable(
                f"upper is not concave at alpha = {a} (slope {before} before, {after} after), so it promises nothing "
                "about three or more outputs. Give a concave function, or pass ",
                Argument("binary_only", True),
                ".",
            )


def _slopes(knots: Knots) -> list[Fraction]:
    return [(v - u) / (b - a) for (a, u), (b, v) in pairwise(knots)]


def _interpolate(knots: Knots, alpha: Fraction) -> Fraction:
    for (a, u), (b, v) in pairwise(knots):
        if alpha <= b:
            return u + (v - u) * (alpha - a) / (b - a)
    return knots[-1][1]


def _check_sampled(grid: Floats, upper: Floats, lower: Floats, again: Callable[[Floats], Floats]) -> None:
    """Check the axioms of a suitable pair at sampled alphas; 1e-9 allows for the functions' own rounding."""
    rounding = 1e-9
    checks = (
        (
            "upper and lower must be numbers between 0 and 1",
            (upper >= -rounding) & (upper <= 1 + rounding) & (lower >= -rounding) & (lower <= 1 + rounding),
        ),
        ("lower(alpha) <= alpha <= upper(alpha)", (lower <= grid + rounding) & (grid <= upper + rounding)),
        ("upper must not decrease", np.append(np.diff(upper) >= -rounding, True)),
        ("alpha <= upper(lower(alpha))", again(np.clip(lower, 0, 1)) >= grid - rounding),
        ("upper(alpha) + lower(1 - alpha) <= 1", upper + lower[::-1] <= 1 + rounding),
    )
    for rule, holds in checks:
        if not holds.all():
            alpha = grid[np.argmin(holds)]
            raise NotSuitable(f"at alpha = {alpha:g} the pair breaks the rule {rule} (BIN Def. 12); mend the function.")
