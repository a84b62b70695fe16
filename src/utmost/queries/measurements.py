"""Export to OpenDP: a measurement that draws from a certified solution, with its privacy map."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from utmost.accounting.composition import compose
from utmost.errors import InvalidInput, UnsupportedLevel, UtmostError, shown
from utmost.mechanism.exact_law import ExactMechanism
from utmost.privacy import ZCDP, ApproxDP, ApproxGaussianDP, GaussianDP, Level, SuitablePair
from utmost.queries.answers import Answer, Plan
from utmost.queries.questions.question import Question
from utmost.solution import Solution
from utmost.space.family import Counts, Path
from utmost.space.graph import Space
from utmost.space.line import Line

FEATURES = ("contrib", "honest-but-curious")
WORDS = "neighbours that lie between two points"


def to_opendp(thing: Any) -> Any:
    """Convert a solution, or the mechanism of an answer or a plan, to a measurement of OpenDP.

    It draws exactly as `sample` does, and states the proved privacy: pure levels in OpenDP's `max_divergence`,
    (epsilon, delta) in `approximate(max_divergence())`, zCDP and Gaussian levels, which imply rho = mu^2/2, in
    `zero_concentrated_divergence`, Gaussian levels but for a delta in its approximate version, other concave levels by
    the (epsilon, delta) that they imply at their least delta. Its input is an integer with the absolute distance, so
    that a count of OpenDP may precede it, or else any point as a Python object with the number of neighbours between
    two points as distance. An answer by groups, or made of several releases, takes its exact statistic
    (`plan.question.point`) and draws all of them, for its whole level. The features "contrib" and "honest-but-curious"
    of OpenDP are enabled, because it cannot check our proof.

    Parameters
    ----------
    thing : Solution, Answer or Plan

    Examples
    --------
    >>> import pyarrow, utmost as um
    >>> s = um.Session(pyarrow.table({"age": [70, 71]}), "opendp", um.rows(at_most=100), "add-remove", budget=1)
    >>> ages = um.to_opendp(s.plan.count("age >= 65", privacy=0.5))
    >>> ages.map(1), ages.map(3), isinstance(ages(42), int)
    (0.5, 1.5, True)
    """
    try:
        import opendp.prelude as dp
    except ImportError:
        raise UtmostError("to_opendp needs OpenDP; install it with: pip install opendp") from None
    if not isinstance(thing, Solution | Answer | Plan):
        raise InvalidInput(f"{shown(thing)} has no mechanism of ours; give a solution, an answer or a plan.")
    solution = thing if isinstance(thing, Solution) else thing.question.solution
    whole = not isinstance(thing, Solution) and type(thing.question).draw is not Question.draw
    level = _one_level(solution) if isinstance(thing, Solution) else thing.privacy
    space = solution.problem.space
    spent_after, measure = _map(level, dp)
    dp.enable_features(*FEATURES)
    sensitivity = None if whole else _reach(space)
    if sensitivity is not None:
        domain, metric = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    else:
        domain = dp.user_domain("exact statistics" if whole else f"points of {space}", lambda point: True)
        metric = dp.user_distance(WORDS)
    sample: Callable[[Any], Any] = solution.sample
    if whole and not isinstance(thing, Solution):
        sample = thing.question.draw
    function = (lambda point: int(sample(point))) if sensitivity is not None and _is_number(solution) else sample
    return dp.m.make_user_measurement(
        domain,
        metric,
        measure,
        function,
        lambda apart: spent_after(math.ceil(apart / (sensitivity or 1))),
        TO="ExtrinsicObject",
    )


def _one_level(solution: Solution) -> Level:
    """The single level that holds on all edges; raises `UnsupportedLevel` if levels differ."""
    promised = solution.problem.privacy
    level = promised if isinstance(promised, Level) else promised.single
    if level is None:
        raise UnsupportedLevel("OpenDP knows one level for all neighbours; this solution has one per edge.")
    return level


def _reach(space: Any) -> int | None:
    """The sensitivity, as the distance of neighbouring integers, where the points are integers; else None."""
    if isinstance(space, Line):
        return space.reach
    return 1 if isinstance(space, Space) and isinstance(space.family, Path | Counts) else None


def _is_number(solution: Solution) -> bool:
    """Whether draws are integers."""
    if isinstance(solution.mechanism, ExactMechanism):
        return True
    outputs = solution.mechanism.outputs[:2]
    return all(isinstance(output, int) and not isinstance(output, bool) for output in outputs)


def _map(level: Level, dp: Any) -> tuple[Callable[[int], Any], Any]:
    """The privacy map of a level, by the distance of two points and rounded up, and its measure in OpenDP."""
    if isinstance(level, ZCDP):
        return lambda steps: _up(steps**2 * Fraction(level.rho)), dp.zero_concentrated_divergence()
    if isinstance(level, GaussianDP) and level.mu != math.inf:  # its Renyi divergences are those of the Gaussians
        return lambda steps: _up(steps**2 * Fraction(level.mu) ** 2 / 2), dp.zero_concentrated_divergence()
    if isinstance(level, ApproxGaussianDP):  # the delta of points farther apart has no bound here
        rho, delta = _up(Fraction(level.mu) ** 2 / 2), _up(Fraction(level.delta))
        beyond = (math.inf, 1.0)
        return lambda steps: ((0.0, 0.0), (rho, delta), beyond)[min(steps, 2)], dp.approximate(
            dp.zero_concentrated_divergence()
        )
    if isinstance(level, SuitablePair) and level.concave:
        least = max(y for x, y in level.knots if x == 0)
        level = ApproxDP(compose(level).epsilon(least), least)
    if not isinstance(level, ApproxDP):
        raise UnsupportedLevel(f"OpenDP has no measure for {level}; ask at a level that is concave.")
    epsilon = level.epsilon if isinstance(level.epsilon, Fraction | int) else math.nextafter(level.epsilon, math.inf)
    if not level.delta:
        return lambda steps: _up(steps * Fraction(epsilon)), dp.max_divergence()

    def spent(steps: int) -> tuple[float, float]:
        # group privacy of (epsilon, delta): delta (1 + e^epsilon + ... + e^((k-1) epsilon)), with a margin for rounding
        grown = math.fsum(math.exp(k * float(epsilon)) for k in range(steps)) * (1 + 1e-9)
        delta = _up(Fraction(level.delta)) if steps == 1 else min(1.0, _up(Fraction(level.delta)) * grown)
        return _up(steps * Fraction(epsilon)), delta if steps else 0.0

    return spent, dp.approximate(dp.max_divergence())


def _up(value: Fraction) -> float:
    """The least float that is not below a rational."""
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)
