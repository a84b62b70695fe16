"""Noise that carries, for nested counts: its best plateau widths, and which flow to try as a proof.

Wider plateaus make the error of a count larger and hand on less error to the counts after it
(`theory/workload/prefix_noise.py`). With many counts, widths are tried that shrink like a power of the number of counts
still to come; with few, each width is then optimised by coordinate descent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from utmost.exact.arrays import Floats
from utmost.mechanism.noise.carried import CarriedLaw
from utmost.privacy import ApproxDP, Level, PureDP
from utmost.privacy.level import decay_above
from utmost.privacy.pure_part import pure_within
from utmost.solution import Problem, Solution, certificate_of, proved_bound
from utmost.space.integers import Lattice
from utmost.space.line import tolerance
from utmost.space.sensitivity import l1_sensitivity
from utmost.theory.workload.prefix_noise import as_carried_law

MOST_COUNTS, MOST_MOVED = 128, 12
"""Up to how many counts noise may carry, and up to how many each width is optimised alone."""
LEAST, LARGEST = 0.004, 5.0
"""Epsilons of one step below which the law is too wide to be listed, and above which no width but 0 is of use."""
POWERS, SCALES = (0.35, 0.45, 0.55), np.arange(0.1, 2.0, 0.1)
MIDDLE, HOPELESS, MOVED = 8, 1.25, 1.05
"""Where the search over scales begins; noise for the pure part of a level is given up if its loss there, and before
coordinate descent, exceeds that of other noise by these factors."""
NEAR, FAR = {2: 9.0, 3: 8.0}, {2: 14.0, 3: 13.0}
"""How far out flows are computed, times epsilon: by SciPy, and in all."""
FINEST = {2: 0.1, 3: 0.17}
"""The smallest epsilon of a step for which flows take a second or two; below, steps are wider."""
ROOM = 0.3
SHARES = (0.9997, 0.999, 0.998, 0.9975, 0.997, 0.996, 0.995, 0.99, 0.98, 0.95, 0.9, 0.8, 0.6)
"""Shares of the noise's expected error that are tried as bounds."""


@lru_cache(maxsize=64)
def best_carried(cells: Lattice, level: Level, loss: str = "absolute", limit: float = math.inf) -> CarriedLaw | None:
    """Noise that carries, with the widths that minimise the expected error of running sums; None if it does not apply.

    Parameters
    ----------
    cells : Lattice
        The cells between nested conditions, the innermost first, and what one neighbour does to them.
    level : Level
        Its pure part is used.
    loss : "absolute", "squared", "zero-one" or "within k"
        The loss of one count.
    limit : float
        Expected loss of other noise: None is returned if this one is much worse.

    Examples
    --------
    >>> law = best_carried(Lattice(10, "any", 1, 0, 20_000), PureDP(1))
    >>> law.widths, round(carried_losses(law, "absolute"), 4)                # noise on every cell alone: 2.3215
    ((1, 1, 1, 1, 1, 1, 1, 1, 1), 1.9317)
    """
    sensitivity, pure = l1_sensitivity(cells), pure_within(level)
    if pure is None or sensitivity == 0 or not 2 <= cells.dimension <= MOST_COUNTS:
        return None
    if not LEAST <= pure.log_growth / sensitivity <= LARGEST:
        return None
    decay, d = decay_above(pure, sensitivity), cells.dimension

    def loss_at(widths: tuple[int, ...]) -> float:
        return carried_losses(CarriedLaw(decay, widths), loss)

    epsilon = pure.log_growth / sensitivity
    if pure != level and loss_at(_shape(d, epsilon, POWERS[1], SCALES[MIDDLE])) > HOPELESS * limit:
        return None
    first = _best_shape(d, epsilon, loss_at) if epsilon < 1 else min(_shapes(d, epsilon), key=loss_at)
    if pure != level and loss_at(first) > MOVED * limit:
        return None
    if d > MOST_MOVED:
        return CarriedLaw(decay, first)
    return CarriedLaw(decay, _coordinate_descent(first, loss_at, max(1, round(0.1 * sensitivity / pure.log_growth))))


def carried_losses(law: CarriedLaw, loss: str, last: bool = False) -> float:
    """The expected loss of a count, averaged over all of them, or of the last one; in floats."""
    if loss == "squared":
        return float(law.squared_errors[-1]) if last else _mean_square(law)
    places, chances = law.error_laws()
    chances_of_error = chances[-1] if last else chances.mean(axis=0)
    costs = np.abs(places) if loss == "absolute" else np.abs(places) > tolerance(loss)
    return float(chances_of_error @ costs)


def _mean_square(law: CarriedLaw) -> float:
    """The mean squared error of a count in floats: sums of many fractions are slow."""
    b, w = float(law.decay), np.array([*law.widths, 0], dtype=float)
    rest = b / (1 - b)
    total = 2 * w + 1 + 2 * rest
    tails = rest * w**2 + 2 * w * rest / (1 - b) + rest * (1 + b) / (1 - b) ** 2
    square = (w * (w + 1) * (2 * w + 1) / 3 + 2 * tails) / total
    beyond = 2 * b * (1 + b) / (1 - b) ** 3 / total
    return float((square + np.cumsum(beyond) - beyond).mean())


def _shapes(d: int, epsilon: float) -> Iterator[tuple[int, ...]]:
    """All widths 0, and widths that shrink like powers of the number of counts to come."""
    yield (0,) * (d - 1)
    for power in POWERS:
        for scale in SCALES:
            yield _shape(d, epsilon, power, scale)


def _shape(d: int, epsilon: float, power: float, scale: float) -> tuple[int, ...]:
    remaining: Floats = np.arange(d - 1, 0, -1).astype(float)
    return tuple(np.rint(scale / epsilon * remaining**power).astype(int).tolist())


def _best_shape(d: int, epsilon: float, loss_at: Callable[[tuple[int, ...]], float]) -> tuple[int, ...]:
    """The best of the shapes of `_shapes`, by descent over scales: the loss falls and then rises with the scale.

    That is observed, not proved; it only affects how good the noise is.
    """
    losses: dict[tuple[int, ...], float] = {}

    def at(place: int, power: float) -> float:
        widths = _shape(d, epsilon, power, SCALES[place])
        if widths not in losses:
            losses[widths] = loss_at(widths)
        return losses[widths]

    place = MIDDLE
    for power in POWERS:
        while (
            better := min(
                (i for i in (place, place - 1, place + 1) if 0 <= i < len(SCALES)), key=lambda i: at(i, power)
            )
        ) != place:
            place = better
    none = (0,) * (d - 1)
    return min((none, *losses), key=lambda widths: losses[widths] if widths in losses else loss_at(widths))


def _coordinate_descent(
    widths: tuple[int, ...], loss_at: Callable[[tuple[int, ...]], float], step: int
) -> tuple[int, ...]:
    """Coordinate descent: widths that no single step up or down improves, large steps first."""
    best = loss_at(widths)
    while step:
        improved = False
        for i in range(len(widths)):
            for change in (step, -step):
                while widths[i] + change >= 0:
                    neighbour = (*widths[:i], widths[i] + change, *widths[i + 1 :])
                    loss = loss_at(neighbour)
                    if loss >= best * (1 - 1e-12):
                        break
                    widths, best, improved = neighbour, loss, True
        step = step if improved else step // 2
    return widths


def nested_solution(cells: Lattice, mechanism: Any, level: Level) -> Solution | None:
    """A solution for the mean absolute error of nested counts, with noise on the cells and a flow as its proof.

    None where no flow applies: at levels that are not pure, under replacement, for other noise, and for noise too wide
    for its errors to be listed, such as at epsilon 1/2 where a person has 575 rows.

    Examples
    --------
    >>> from utmost.mechanism.noise.vector import NoisyVector
    >>> cells = Lattice(2, "any", 1, 0, 20_000)
    >>> solution = nested_solution(cells, NoisyVector(best_carried(cells, PureDP("0.5"))), PureDP("0.5"))
    >>> round(solution.value, 4), round(solution.certificate.bound / solution.value, 2), bool(solution.verify())
    (2.3627, 1.0, True)
    """
    law = as_carried_law(mechanism)
    pure = isinstance(level, ApproxDP) and level.delta == 0 and 0 < level.log_growth < math.inf
    if law is None or not law.is_narrow or not pure or cells.moves != "any" or cells.reach < 1:
        return None
    problem = Problem("number.nested", cells, level, {"loss": "absolute"})
    evidence = _evidence(cells, level, lambda evidence: proved_bound(problem, evidence))
    if not evidence:
        return None
    value = math.fsum(law.absolute_errors) / law.dimension
    bound = min(proved_bound(problem, evidence), value)
    certificate = certificate_of(problem, mechanism, "bound", bound, value - bound, evidence)
    return Solution(problem, mechanism, value, certificate)


def _evidence(cells: Lattice, level: Any, proved: Callable[[dict[str, Any]], float]) -> dict[str, Any]:
    """The flow with the largest bound; empty if none is of use."""
    d = min(cells.dimension, max(NEAR))
    steps = max(1, math.ceil(FINEST[d] / level.log_growth - 1e-9))
    epsilon = steps * level.log_growth
    if epsilon > 15 or cells.width < 8 * steps * cells.reach:
        return {}
    law = best_carried(Lattice(d, "any", 1, 0, 1), PureDP(epsilon))
    law = law or CarriedLaw(decay_above(PureDP(epsilon)), (0,) * (d - 1))
    value, room = carried_losses(law, "absolute"), max(ROOM, math.expm1(epsilon) / d)
    sizes = {"radius": max(4, math.ceil(NEAR[d] / epsilon)), "far": max(8, math.ceil(FAR[d] / epsilon)), "steps": steps}
    best: tuple[float, dict[str, Any]] = (0.0, {})
    first = 0 if d == 2 or epsilon > 0.5 else 1 if epsilon >= 0.2 else 2  # where noise is known to be off by more
    for share in SHARES[first:]:
        claim = share * value * steps * cells.reach
        if claim <= best[0] or best[0] > 0.987 * claim:
            break  # no flow proves more than its claim, and where all is served a smaller claim proves no more
        evidence = {"widths": list(law.widths), **sizes, "least": share * value, "room": room}
        bound = proved(evidence)
        if bound < best[0]:
            break
        best = (bound, evidence)
    return best[1]
