"""Noise that carries, for counts that lie inside each other: its best widths, and where to look for a proof.

Wider plateaus make a count err more by itself and hand on less to the counts beyond
(`theory/workload/prefix_noise.py`). Of many widths those are tried that shrink like a power of how many counts are
still to come; of few, each is then moved alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from utmost.exact.arrays import Floats
from utmost.privacy import ApproxDP, Level, PureDP
from utmost.privacy.level import decay_above
from utmost.privacy.pure_part import pure_within
from utmost.solution import Problem, Solution, certificate_of, proved_bound
from utmost.space.integers import Lattice
from utmost.space.line import tolerance
from utmost.space.sensitivity import l1_sensitivity
from utmost.theory.workload.prefix_noise import CarriedLaw, as_carried

MOST_COUNTS, MOST_MOVED = 128, 12
"""Up to how many counts noise may carry, and up to how many each width is moved alone."""
LEAST, LARGEST = 0.004, 5.0
"""Epsilons of one step below which the law is too wide to be listed, and above which no width but 0 is of use."""
POWERS, SCALES = (0.35, 0.45, 0.55), np.arange(0.1, 2.0, 0.1)
MIDDLE, HOPELESS, MOVED = 8, 1.25, 1.05
"""Where among scales a search begins; and noise made for part of a level is given up where its losses there, and before
widths are moved, are so many times those of other noise."""
NEAR, FAR = {2: 9.0, 3: 8.0}, {2: 14.0, 3: 13.0}
"""How far out flows are looked for, times epsilon: by SciPy, and in all."""
FINEST = {2: 0.1, 3: 0.17}
"""The least epsilon of a step at which flows take a second or two; below, steps are wider."""
ROOM = 0.3
SHARES = (0.9997, 0.999, 0.998, 0.9975, 0.997, 0.996, 0.995, 0.99, 0.98, 0.95, 0.9, 0.8, 0.6)
"""Which shares of the noise's error are tried as bounds."""


@lru_cache(maxsize=64)
def best_carried(cells: Lattice, level: Level, loss: str = "absolute", limit: float = math.inf) -> CarriedLaw | None:
    """Noise on cells that carries, with the widths that make their running sums err least; None where there is none.

    Parameters
    ----------
    cells : Lattice
        The cells between nested conditions, the innermost first, and what one neighbour does to them.
    level : Level
        Whose pure part is used.
    loss : "absolute", "squared", "zero-one" or "within k"
        Of one count.
    limit : float
        What other noise loses: None where this one loses far more.

    Examples
    --------
    >>> law = best_carried(Lattice(10, "any", 1, 0, 20_000), PureDP(1))
    >>> law.widths, round(carried_losses(law, "absolute"), 4)                # noise on every cell alone: 2.3215
    ((1, 1, 1, 1, 1, 1, 1, 1, 1), 1.9317)
    """
    far, pure = l1_sensitivity(cells), pure_within(level)
    if pure is None or far == 0 or not 2 <= cells.dimension <= MOST_COUNTS:
        return None
    if not LEAST <= pure.log_growth / far <= LARGEST:
        return None
    decay, d = decay_above(pure, far), cells.dimension

    def loses(widths: tuple[int, ...]) -> float:
        return carried_losses(CarriedLaw(decay, widths), loss)

    each = pure.log_growth / far
    if pure != level and loses(_shape(d, each, POWERS[1], SCALES[MIDDLE])) > HOPELESS * limit:
        return None
    first = _walked(d, each, loses) if each < 1 else min(_shapes(d, each), key=loses)
    if pure != level and loses(first) > MOVED * limit:
        return None
    if d > MOST_MOVED:
        return CarriedLaw(decay, first)
    return CarriedLaw(decay, _moved(first, loses, max(1, round(0.1 * far / pure.log_growth))))


def carried_losses(law: CarriedLaw, loss: str, last: bool = False) -> float:
    """The expected loss of a count, on average over all of them, or of the last one; in floats."""
    if loss == "squared":
        return float(law.squared_errors[-1]) if last else _mean_square(law)
    places, chances = law.running()
    chosen = chances[-1] if last else chances.mean(axis=0)
    costs = np.abs(places) if loss == "absolute" else np.abs(places) > tolerance(loss)
    return float(chosen @ costs)


def _mean_square(law: CarriedLaw) -> float:
    """The mean squared error of a count in floats: many fractions take long."""
    b, w = float(law.decay), np.array([*law.widths, 0], dtype=float)
    rest = b / (1 - b)
    total = 2 * w + 1 + 2 * rest
    tails = rest * w**2 + 2 * w * rest / (1 - b) + rest * (1 + b) / (1 - b) ** 2
    square = (w * (w + 1) * (2 * w + 1) / 3 + 2 * tails) / total
    beyond = 2 * b * (1 + b) / (1 - b) ** 3 / total
    return float((square + np.cumsum(beyond) - beyond).mean())


def _shapes(d: int, epsilon: float) -> Iterator[tuple[int, ...]]:
    """No widths, and those that shrink like powers of how many counts are to come."""
    yield (0,) * (d - 1)
    for power in POWERS:
        for scale in SCALES:
            yield _shape(d, epsilon, power, scale)


def _shape(d: int, epsilon: float, power: float, scale: float) -> tuple[int, ...]:
    left: Floats = np.arange(d - 1, 0, -1).astype(float)
    return tuple(np.rint(scale / epsilon * left**power).astype(int).tolist())


def _walked(d: int, epsilon: float, loses: Callable[[tuple[int, ...]], float]) -> tuple[int, ...]:
    """Of the same shapes, one that loses least: where widths are many, losses fall and then rise with their scale.

    That is seen, not proved; it only decides how good the noise is.
    """
    found: dict[tuple[int, ...], float] = {}

    def at(place: int, power: float) -> float:
        widths = _shape(d, epsilon, power, SCALES[place])
        if widths not in found:
            found[widths] = loses(widths)
        return found[widths]

    place = MIDDLE
    for power in POWERS:
        while (
            better := min(
                (i for i in (place, place - 1, place + 1) if 0 <= i < len(SCALES)), key=lambda i: at(i, power)
            )
        ) != place:
            place = better
    none = (0,) * (d - 1)
    return min((none, *found), key=lambda widths: found[widths] if widths in found else loses(widths))


def _moved(widths: tuple[int, ...], loses: Callable[[tuple[int, ...]], float], step: int) -> tuple[int, ...]:
    """Widths that no step up or down of one of them betters: large steps first."""
    best = loses(widths)
    while step:
        moved = False
        for i in range(len(widths)):
            for change in (step, -step):
                while widths[i] + change >= 0:
                    tried = (*widths[:i], widths[i] + change, *widths[i + 1 :])
                    found = loses(tried)
                    if found >= best * (1 - 1e-12):
                        break
                    widths, best, moved = tried, found, True
        step = step if moved else step // 2
    return widths


def stated_nested(cells: Lattice, mechanism: Any, level: Level) -> Solution | None:
    """Noise on the cells between nested counts as a solution with its flow, for the mean absolute error of a count.

    None where no flow is looked for: at levels that are not pure, where rows are replaced, for other noise, and for
    noise too wide for its errors to be listed, such as at epsilon 1/2 where a person has 575 rows.

    Examples
    --------
    >>> from utmost.mechanism.noise.lattice import NoisyVector
    >>> cells = Lattice(2, "any", 1, 0, 20_000)
    >>> found = stated_nested(cells, NoisyVector(best_carried(cells, PureDP("0.5"))), PureDP("0.5"))
    >>> round(found.value, 4), round(found.certificate.bound / found.value, 2), bool(found.verify())
    (2.3627, 1.0, True)
    """
    law = as_carried(mechanism)
    pure = isinstance(level, ApproxDP) and level.delta == 0 and 0 < level.log_growth < math.inf
    if law is None or not law.is_narrow or not pure or cells.moves != "any" or cells.reach < 1:
        return None
    problem = Problem("number.nested", cells, level, {"loss": "absolute"})
    evidence = _evidence(cells, level, lambda each: proved_bound(problem, each))
    if not evidence:
        return None
    value = math.fsum(law.absolute_errors) / law.dimension
    bound = min(proved_bound(problem, evidence), value)
    certificate = certificate_of(problem, mechanism, "bound", bound, value - bound, evidence)
    return Solution(problem, mechanism, value, certificate)


def _evidence(cells: Lattice, level: Any, proved: Callable[[dict[str, Any]], float]) -> dict[str, Any]:
    """The flow that proves most; nothing where none is of use."""
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
            break  # more than its claim no flow proves, and no smaller claim proves more where all is served
        evidence = {"widths": list(law.widths), **sizes, "least": share * value, "room": room}
        found = proved(evidence)
        if found < best[0]:
            break
        best = (found, evidence)
    return best[1]
