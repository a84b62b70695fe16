"""The best known noise on a vector of integers, chosen by its exact expected loss.

Overlapping counts, cells of a histogram, the two sums of a mean: vectors of integers with a small sensitivity set
(`space.integers.Lattice`). Candidates are K-norm noise for this set (balls), independent noise on every integer, and
Gaussian noise by the Euclidean sensitivity; the one with the lowest expected loss is taken. Noise is never truncated,
so errors have mean 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.exact.bisection import first_between
from utmost.mechanism.noise.balls import BallLaw
from utmost.mechanism.noise.canonical import CanonicalLaw
from utmost.mechanism.noise.gaussian import DiscreteGaussian, GaussianLaw, RoundedGaussian
from utmost.mechanism.noise.independent import IndependentLaw
from utmost.mechanism.noise.law import NoiseLaw
from utmost.mechanism.noise.staircase import geometric_law
from utmost.mechanism.noise.vector import NoisyVector
from utmost.privacy import ZCDP, ApproxDP, GaussianDP, Level, SuitablePair
from utmost.privacy.level import decay_above
from utmost.privacy.pure_part import pure_within
from utmost.solution import Problem, Solution, certificate_of, proved_bound, sketched
from utmost.space.integers import Lattice
from utmost.space.line import require_line_loss
from utmost.space.sensitivity import l1_sensitivity, squared_l2_sensitivity
from utmost.theory.vector.design.ball_laws import ball_laws
from utmost.theory.vector.design.window import window_evidence

MOST_BALL = {"any": 30, "one-way": 300, "cube": 300, "exchange": 200, "sum-zero": 200}
"""Up to this many integers balls are tried; above it they gain next to nothing or take too long to count."""
WIDEST_DISCRETE = 1000.0
"""The standard deviation above which zCDP uses the rounded Gaussian: the discrete one is better by v/(v + 1/12)."""
WIDEST, MOST_WIDE = 1e6, 1000
"""Above this standard deviation Gaussian noise takes a bisection of a millisecond: allowed for so many integers."""
MOST_DEVIATION = 2**57
"""Largest standard deviation of Gaussian noise that is drawn: 32 of these are exceeded with chance below 10^-224."""
CLOSE = 0.999
WIDE = 0.99
"""Below this ratio of bound to value other bounds are tried, and one for noise or for answers away from the ends."""
MOST_WINDOW = 3
"""Up to this many cells that hold every row windows are tried; above it layers prove as much at once."""


@lru_cache(maxsize=256)
def best_vector(
    space: Lattice, level: Level, loss: str = "absolute", independent: bool = False, alone: bool = False
) -> Solution:
    """The noise with the lowest expected loss among all candidates, for a vector of integers and its sensitivity set.

    Parameters
    ----------
    space : Lattice
        The number of integers, and what one neighbour does to them.
    level : Level
        PureDP, ApproxDP, GaussianDP, ZCDP, or knots.
    loss : "absolute", "squared", "zero-one" or "within k"
        The loss of one integer; the value is its expectation.
    independent : bool
        Whether the noises must be independent, so that the law of their sums is known.
    alone : bool
        Whether only single integers are of interest, as in a histogram: exchange noise then takes its best slack, for
        which the law of sums and quotients of several integers is not known.

    Returns
    -------
    Solution
        `solution.sample(point)` is a tuple of integers, exactly drawn; `solution.mechanism.noise` has tails and
        half-widths of one integer's error.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> solution = best_vector(Lattice(3, "one-way", 1, 0, 20_000), PureDP(1))
    >>> round(solution.value, 10), solution.certificate.method, bool(solution.verify())
    (1.5829928576, 'one-way noise on all 3 integers at once', True)
    """
    noise = best_vector_noise(space, level, loss, independent, alone)
    problem = Problem("number.vector", space, level, {"loss": loss})
    value, (bound, evidence) = noise.mean(loss), _best_bound(problem, noise)
    symmetric = (
        _symmetric_noise(problem, alone or noise.hides_the_rest) if bound < WIDE * value and not independent else None
    )
    if symmetric is not None and proved_bound(problem, {"rest": True}) / symmetric.mean(loss) > bound / value:
        noise, value, evidence = symmetric, symmetric.mean(loss), {"rest": True}
        bound = proved_bound(problem, evidence)
    bound = min(bound, value)
    if bound < WIDE * value:
        bound, evidence = _bound_away_from_ends(problem, value, bound, evidence)
    mechanism = NoisyVector(noise)
    certificate = certificate_of(problem, mechanism, "bound", bound, value - bound, evidence)
    return Solution(problem, mechanism, value, certificate)


def _best_bound(problem: Problem, noise: NoiseLaw) -> tuple[float, dict[str, Any]]:
    """The largest lower bound, with its evidence."""
    space, level, loss = problem.space, problem.privacy, problem.data["loss"]
    by_layers = space.moves == "sum-zero" and loss == "absolute" and _is_pure(level)
    bound = proved_bound(problem, {})
    if bound < CLOSE * noise.mean(loss) and not (by_layers and space.dimension > MOST_WINDOW):
        offered = window_evidence(space.in_one, level, loss, lambda evidence: proved_bound(problem, evidence))
        if offered and proved_bound(problem, offered) > bound:
            return proved_bound(problem, offered), offered
    return bound, {}


def _bound_away_from_ends(
    problem: Problem, value: float, bound: float, evidence: dict[str, Any]
) -> tuple[float, dict[str, Any]]:
    """A bound for answers away from the ends of the range, where ends cost much, or beside it the bound on noise."""
    among_noise = min(value, proved_bound(replace(problem, space=problem.space.endless), evidence))
    if among_noise <= bound:
        return bound, evidence
    rest, space = evidence.get("rest", False), problem.space
    farthest = space.width // (space.dimension + rest)  # no answer is farther away in every cell

    def proved(away: int) -> float:
        return proved_bound(problem, evidence | {"away": away, "average": bound})

    if "radius" not in evidence and farthest > 0 and proved(farthest) >= CLOSE * among_noise:
        away = first_between(lambda distance: proved(distance) >= CLOSE * among_noise, 0, farthest)
        return min(value, proved(away)), evidence | {"away": away, "average": bound}
    return bound, evidence | {"noise": among_noise}


def _symmetric_noise(problem: Problem, free: bool) -> BallLaw | None:
    """Exchange noise that is symmetric in the cells and the rows in none of them, where a bound covers all of these."""
    space, loss = problem.space, problem.data["loss"]
    pure = pure_within(problem.privacy)
    applies = free and space.moves == "exchange" and loss == "absolute" and _is_pure(problem.privacy)
    if not applies or pure is None or not 1 < space.dimension <= MOST_BALL["exchange"] or space.reach < 1:
        return None
    return min(ball_laws("exchange", space, pure, loss, 0), key=lambda law: law.mean(loss))


def sketch_vector(
    space: Lattice, level: Level, loss: str = "absolute", independent: bool = False, alone: bool = False
) -> Solution:
    """The noise of `best_vector` without its proof, for a search over many levels.

    If `best_vector` may choose other noise for its bound, that one, whose error is slightly larger.
    """
    problem = Problem("number.vector", space, level, {"loss": loss})
    noise = best_vector_noise(space, level, loss, independent, alone)
    symmetric = _symmetric_noise(problem, alone or noise.hides_the_rest) if not independent else None
    mechanism = NoisyVector(noise if symmetric is None else symmetric)
    return sketched(problem, mechanism, mechanism.expected(loss))


def best_vector_noise(
    space: Lattice,
    level: Level,
    loss: str,
    independent: bool = False,
    alone: bool = False,
    limit: float = math.inf,
) -> NoiseLaw:
    """The law with the lowest expected loss, without a proof; not optimised if it is far worse than `limit`."""
    require_line_loss(loss)
    require_level(level)
    candidates = _candidates(space, level, loss, alone, independent, limit)
    laws = [law for law in candidates if not independent or law.independent is not None]
    if not laws:
        raise UnsupportedLevel(f"no noise on vectors is known at {level}; give a larger level.")
    return min(laws, key=lambda law: law.mean(loss))


def require_level(level: Level) -> None:
    """Raise at levels for which there is no noise."""
    if not isinstance(level, ApproxDP | GaussianDP | ZCDP | SuitablePair) or not level.concave:
        raise UnsupportedLevel(
            f"noise needs an exact, concave level, not {level}; give PureDP, ApproxDP or GaussianDP."
        )
    if level.strength == 0 and level.delta == 0:
        raise InvalidInput(f"privacy is {level}: no noise over all numbers hides everything; give a level above 0.")


def _candidates(
    space: Lattice, level: Level, loss: str, alone: bool, independent: bool, limit: float
) -> Iterator[NoiseLaw]:
    d, shape = space.dimension, space.moves
    if l1_sensitivity(space) == 0 or _is_vacuous(level):
        yield IndependentLaw(d, geometric_law(Fraction(0)))
        return
    gaussian = gaussian_law(level, squared_l2_sensitivity(space))
    if gaussian is not None and (gaussian.deviation < WIDEST or d <= MOST_WIDE):
        limit = min(limit, gaussian.mean(loss))
        yield IndependentLaw(d, gaussian)
    if l1_sensitivity(space) == 1 and not isinstance(level, ZCDP) and not _is_pure(level):
        yield IndependentLaw(d, CanonicalLaw(level))
    pure = pure_within(level)
    if pure is not None:
        yield IndependentLaw(d, geometric_law(decay_above(pure, l1_sensitivity(space))))
        if d <= MOST_BALL[shape] and (d > 1 or space.reach > 1) and not independent:
            tight = 0 if shape == "exchange" and not alone else None  # sums of exchange noise need slack 0
            yield from ball_laws("any" if d == 1 else shape, space, pure, loss, tight, limit)


def gaussian_law(level: Level, square: int | Fraction) -> GaussianLaw | None:
    """The Gaussian with the least variance that satisfies a level at this squared sensitivity; None if there is none.

    Also None where draws might not fit 64 bits: other noise has integers of any size.
    """
    if square == 0 or _is_vacuous(level):
        return None
    law = _least_gaussian(level, square)
    return None if law is None or law.variance > MOST_DEVIATION**2 else law


def _least_gaussian(level: Level, square: int | Fraction) -> GaussianLaw | None:
    if isinstance(level, ZCDP):
        variance = Fraction(square) / (2 * Fraction(level.rho))
        return (DiscreteGaussian if variance < WIDEST_DISCRETE**2 else RoundedGaussian)(variance)
    if isinstance(level, GaussianDP):
        return RoundedGaussian(Fraction(square) / Fraction(level.mu) ** 2)
    if not isinstance(level, ApproxDP) or level.delta == 0:
        return None
    low, high = -60.0, 60.0  # of log2(mu^2), which delta grows with
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if RoundedGaussian.satisfies(Fraction(2.0**middle), level) else (low, middle)
    ratio = Fraction(f"{2.0**low * (1 - 1e-12):.13g}")
    return RoundedGaussian(Fraction(square) / ratio) if RoundedGaussian.satisfies(ratio, level) else None


def _is_vacuous(level: Level) -> bool:
    """Whether a level promises nothing."""
    return level.delta == 1 or math.inf in level.parameters.values()


def _is_pure(level: Level) -> bool:
    return isinstance(level, ApproxDP) and level.delta == 0
