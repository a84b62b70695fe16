"""Our mechanisms inside OpenDP: a measurement that draws from a certified solution, with its privacy map."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from utmost.errors import InvalidInput, UnsupportedLevel, shown
from utmost.privacy import ZCDP, ApproxDP, Level
from utmost.queries.answers import Answer, Plan
from utmost.solution import Solution
from utmost.space.graph import Space
from utmost.space.line import Line

FEATURES = ("contrib", "honest-but-curious")
WORDS = "neighbours that lie between two points"


def to_opendp(thing: Any) -> Any:
    """A solution, or the mechanism of an answer or a plan, as a measurement of OpenDP.

    It draws exactly as `sample` does, and says the privacy that is proved: of pure levels by OpenDP's `max_divergence`,
    of (epsilon, delta) by `approximate(max_divergence())`, of zCDP by `zero_concentrated_divergence`. A number goes in
    as an integer, by absolute distance, so that a count of OpenDP may come before it; every other point goes in as a
    Python object, by how many neighbours lie between two of them. The features "contrib" and "honest-but-curious" of
    OpenDP are enabled: it cannot look into Python, and takes our word for what we proved.

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
        raise InvalidInput("OpenDP is not installed; `pip install opendp` brings it.") from None
    if not isinstance(thing, Solution | Answer | Plan):
        raise InvalidInput(f"{shown(thing)} has no mechanism of ours; give a solution, an answer or a plan.")
    solution = thing if isinstance(thing, Solution) else thing.question.solution
    level, space = _one_level(solution), solution.problem.space
    if not isinstance(thing, Solution) and thing.question.proved_level != thing.privacy:
        raise UnsupportedLevel("this answer is made of several releases, each with a share of the level; give them.")
    dp.enable_features(*FEATURES)
    sensitivity = _reach(space)
    if sensitivity is not None:
        domain, metric = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    else:
        domain = dp.user_domain(f"points of {space}", lambda point: True)
        metric = dp.user_distance(WORDS)
    sample = solution.sample
    function = (lambda point: int(sample(point))) if sensitivity is not None and _is_number(solution) else sample
    spent_after, measure = _map(level, dp)
    return dp.m.make_user_measurement(
        domain,
        metric,
        measure,
        function,
        lambda apart: spent_after(math.ceil(apart / (sensitivity or 1))),
        TO="ExtrinsicObject",
    )


def _one_level(solution: Solution) -> Level:
    """The level that holds on every edge."""
    promised = solution.problem.privacy
    level = promised if isinstance(promised, Level) else promised.single
    if level is None:
        raise UnsupportedLevel("OpenDP knows one level for all neighbours; this solution has one per edge.")
    return level


def _reach(space: Any) -> int | None:
    """How far apart neighbouring integers are, where the points are integers; else None."""
    if isinstance(space, Line):
        return space.reach
    named = str(getattr(space, "family", ""))
    return 1 if isinstance(space, Space) and named.startswith(("path(", "counts(")) else None


def _is_number(solution: Solution) -> bool:
    """Whether what is drawn is a whole number."""
    outputs = getattr(solution.mechanism, "outputs", None)
    return outputs is None or all(isinstance(output, int) and not isinstance(output, bool) for output in outputs[:2])


def _map(level: Level, dp: Any) -> tuple[Callable[[int], Any], Any]:
    """How much a level spends on points so many neighbours apart, rounded up, and OpenDP's name of its measure."""
    if isinstance(level, ZCDP):
        return lambda steps: _up(steps**2 * Fraction(level.rho)), dp.zero_concentrated_divergence()
    if not isinstance(level, ApproxDP):
        raise UnsupportedLevel(f"OpenDP has no measure for {level}; ask at a pure, (epsilon, delta) or zCDP level.")
    epsilon = level.epsilon if isinstance(level.epsilon, Fraction | int) else math.nextafter(level.epsilon, math.inf)
    if not level.delta:
        return lambda steps: _up(steps * Fraction(epsilon)), dp.max_divergence()

    def spent(steps: int) -> tuple[float, float]:
        # (epsilon, delta) k times in a row: delta (1 + e^epsilon + ... + e^((k-1) epsilon)), with a little to spare
        grown = math.fsum(math.exp(k * float(epsilon)) for k in range(steps)) * (1 + 1e-9)
        delta = _up(Fraction(level.delta)) if steps == 1 else min(1.0, _up(Fraction(level.delta)) * grown)
        return _up(steps * Fraction(epsilon)), delta if steps else 0.0

    return spent, dp.approximate(dp.max_divergence())


def _up(value: Fraction) -> float:
    """The least float that is no smaller."""
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)
