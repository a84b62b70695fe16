"""Which mechanism answers: chosen from public parameters alone, with the reason why nothing better is known.

| question | mechanism | proof |
|---|---|---|
| a number, neighbours next to each other | geometric noise, best remap | theorem (Ghosh, Roughgarden, Sundararajan) |
| a number with a larger reach, few points | the linear program's optimum | bound from dual prices, its gap |
| a number with a larger reach, more points | staircase or geometric noise, best remap | bound from shorter lines |
| yes or no | balanced, or the linear program's best boundary, on blocks | bound, with its gap; unproved on long lines |

Few are up to 150 points with points x reach up to 600; for zero-one loss and the uniform prior, tight constraints are
tried up to 300 points.
Every candidate's expected loss under the declared prior and loss is computed from its law, and the least is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from utmost.design.finite import optimal
from utmost.design.noise.discrete import discrete_laplace, discrete_staircase
from utmost.errors import CannotCertify, InvalidInput, SolverFailed, UnsupportedLevel
from utmost.mechanism import loss_table
from utmost.privacy import ApproxDP, Level
from utmost.release.alternatives import choice_alternatives, number_alternatives
from utmost.release.costs import shown_with, tolerance
from utmost.release.levels import require_pure_release, require_releasable
from utmost.release.mechanisms.cache import Wanted, cached
from utmost.release.mechanisms.noisy_line import NoisyLine
from utmost.release.mechanisms.steps import Steps, best_steps
from utmost.solution import Solution
from utmost.space.integers import Line

Floats = NDArray[np.float64]
MOST_POINTS, MOST_PAIRS = 150, 600
"""Up to how many points and pairs of neighbours the linear program is solved."""
MOST_TIGHT = 300
"""Up to how many points tight constraints are tried, for zero-one loss."""
WINDOW, LOOSE = 100, 0.05
"""How many points a window has whose linear program bounds long lines, and from which gap on it is worth its time."""
PROVED = "{level} proved in exact arithmetic on every pair of neighbours, drawn exactly from integers"
DUALITY = "no private mechanism has a lower expected loss than the bound: linear programming duality"
BEST_NOISE = "among noises the staircase is best (Geng, Viswanath 2016)"
NOISE = f"{BEST_NOISE}; whether a mechanism that is not noise does better on this line is open"


@dataclass(frozen=True)
class Proof:
    """Why a mechanism is private, and what is known about better ones."""

    privacy: str
    claim: Literal["theorem", "bound", "unproved"]
    optimality: str
    bound: float | None = None
    gap: float | None = None


@dataclass(frozen=True, eq=False)
class Design:
    """A mechanism for one statistic, made of public parameters only; losses are in steps of the statistic.

    Attributes
    ----------
    name : what it is, in words
    expected : the expected loss under the prior, by every loss shown
    alternatives : the same expected losses of the usual alternatives, by their names
    """

    name: str
    line: Line
    level: Level
    loss: str
    mechanism: NoisyLine | OptimalTable | Steps
    prove: Callable[[], Proof]
    expected: dict[str, float] = field(default_factory=dict)
    alternatives: dict[str, dict[str, float]] = field(default_factory=dict)

    @cached_property
    def proof(self) -> Proof:
        """Why it is private, and what is known about better ones; worked out when first asked for."""
        return self.prove()

    @cached_property
    def worst(self) -> float:
        """The expected declared loss at the worst point."""
        return self.mechanism.worst

    def verify(self) -> bool:
        """Prove privacy again in exact arithmetic, and optimality where a certificate claims it."""
        mechanism = self.mechanism
        if isinstance(mechanism, NoisyLine):
            found = mechanism.noise.verify()
            return found.private and mechanism.noise.sensitivity >= self.line.reach
        return bool(mechanism.solution.verify())

    def release(self, point: int) -> Any:
        """A private answer; the only place where the private point and randomness meet."""
        return self.mechanism.release(point)


@dataclass(frozen=True, eq=False)
class OptimalTable:
    """The linear program's optimum on a short line."""

    line: Line
    solution: Solution
    loss: str
    prior: Floats | None

    @property
    def name(self) -> str:
        """What it is, in words."""
        tight = self.solution.problem.question == "finite.regular"
        return "tight-constraints mechanism" if tight else "the linear program's optimum"

    def release(self, point: int) -> int:
        """A private answer, drawn exactly from the certified row."""
        return self.line.first + int(self.solution.certified.sample(point - self.line.first))

    def law(self, position: int) -> tuple[NDArray[np.int64], Floats]:
        """What is released at a point, as positions on the line, and with which probabilities."""
        return np.arange(self.line.points), self.solution.mechanism.matrix[position]

    def expected(self, loss: str) -> float:
        """The expected loss under the prior."""
        return float(self.solution.mechanism.expected_loss(prior=self.prior, loss=loss, remap="none"))

    @property
    def worst(self) -> float:
        """The expected loss at the worst point."""
        points = self.solution.mechanism.points
        return float((self.solution.mechanism.matrix * loss_table(self.loss, points, points)).sum(axis=1).max())

    def posterior(self, value: int) -> tuple[NDArray[np.int64], Floats]:
        """What to believe after an answer: positions on the line and their probabilities."""
        column = self.solution.mechanism.matrix[:, value - self.line.first]
        weighted = column if self.prior is None else column * self.prior
        return np.arange(len(column)), weighted / weighted.sum()


def design_number(line: Line, level: Level, loss: str, prior: Floats | None = None) -> Design:
    """The best mechanism known for a number on a line, for a loss and a prior (None: uniform)."""
    pure = require_pure_release(level, "numbers")
    if prior is None:
        return _uniform_number(line, pure, loss)
    return _design_number(line, pure, loss, prior)


@lru_cache(maxsize=32)
def _uniform_number(line: Line, level: ApproxDP, loss: str) -> Design:
    return _design_number(line, level, loss, None)


def _design_number(line: Line, level: ApproxDP, loss: str, prior: Floats | None) -> Design:
    noise = _best_noise(line, level, loss, prior)
    table = None if line.reach == 1 else _program(line, level, loss, prior)
    better = table is not None and table.expected(loss) < noise.expected(loss)
    mechanism, name = (
        (table, table.name)
        if table is not None and better
        else (noise, f"{noise.noise_name} noise with the best remap")
    )
    losses = shown_with(loss)
    expected = {each: mechanism.expected(each) for each in losses}
    others = number_alternatives(line, level, losses, prior)

    def prove() -> Proof:
        private = why_private(mechanism, level, line)
        if line.reach == 1:
            reason = "Ghosh, Roughgarden, Sundararajan 2012: best for every prior and every loss that grows"
            return Proof(private, "theorem", reason, gap=0.0)
        if better and table is not None and table.solution.certificate.claim == "theorem":
            return Proof(private, "theorem", table.solution.certificate.reason, expected[loss], 0.0)
        bound, reason = _best_bound(line, level, loss, prior, table, expected[loss])
        if bound <= 0:
            return Proof(private, "unproved", NOISE)
        return Proof(private, "bound", reason, bound, max(0.0, expected[loss] - bound))

    return Design(name, line, level, loss, mechanism, prove, expected, others)


def why_private(mechanism: NoisyLine | OptimalTable | Steps, level: Level, line: Line) -> str:
    """The reason why a number's mechanism is private, in words."""
    if isinstance(mechanism, NoisyLine):
        return (
            f"integer noise whose law is exactly {level} for shifts up to {line.reach} (its decay is a rational at or "
            "above e^-epsilon), drawn exactly; what follows it is public"
        )
    return PROVED.format(level=level)


def _best_bound(
    line: Line, level: ApproxDP, loss: str, prior: Floats | None, table: OptimalTable | None, value: float
) -> tuple[float, str]:
    """What no private mechanism's expected loss is below, as far as is known, and why; 0 where nothing is."""
    found = [(0.0, NOISE)]
    if table is not None:
        certificate = table.solution.certificate
        found.append((table.solution.value if certificate.claim == "theorem" else certificate.bound or 0.0, DUALITY))
    if loss == "absolute" and prior is None:
        why = "points {} apart lie on paths, where geometric noise is best, so no private mechanism errs less; {}"
        found.append((_bound_by_paths(line, level), why.format(line.reach, BEST_NOISE)))
        if max(found)[0] < (1 - LOOSE) * value:
            why = "dual prices of {} points on every stretch, so no private mechanism errs less; {}"
            found.append((_bound_by_windows(line, level), why.format(WINDOW, BEST_NOISE)))
    return max(found)


def _bound_by_paths(line: Line, level: ApproxDP) -> float:
    """What no private mechanism's expected absolute error under the uniform prior is below.

    The points of one residue modulo the reach are neighbours of the next ones only: a path, whose points are `reach`
    apart. Restricted to it a mechanism is private on a path, where geometric noise is best; the best guess for absolute
    loss is a median, hence a point of the path. Averaging over residues gives the bound.
    """
    short, longer = divmod(line.points, line.reach)
    total = 0.0
    for size, paths in ((short + 1, longer), (short, line.reach - longer)):
        if size > 1 and paths:
            best = NoisyLine(Line(0, size - 1, 1), discrete_staircase(level, 1), "absolute")
            total += paths * size * line.reach * best.expected("absolute")
    return total / line.points


def _bound_by_windows(line: Line, level: ApproxDP) -> float:
    """The same from a linear program: points `step` apart, of which `reach` in a row are neighbours, in windows.

    Every window of so many points of a residue modulo `step` carries a private mechanism of its own, whose expected
    error is at least what dual prices prove (its best guess is a median, a point of the window). The program knows
    epsilon, not the line, so it is solved once. The larger epsilon, the more points a reach should hold.
    """
    wished = min(6, max(2, round(3 * level.log_growth)))
    reach = max(range(2, 7), key=lambda few: few * (line.reach // few) / line.reach - 0.03 * abs(few - wished))
    step = line.reach // reach
    program = _program(Line(0, WINDOW - 1, reach), level, "absolute", None) if step else None
    if program is None or program.solution.certificate.bound is None:
        return 0.0
    short, longer = divmod(line.points, step)
    covered = longer * ((short + 1) // WINDOW) + (step - longer) * (short // WINDOW)
    return covered * WINDOW * step * program.solution.certificate.bound / line.points


def design_choice(line: Line, first_yes: int, level: Level, prior: Floats | None = None) -> Design:
    """The best mechanism known for "is the statistic at least `first_yes`?", for a prior (None: uniform)."""
    mechanism, bound = best_steps(line, first_yes, require_releasable(level), prior)
    value = mechanism.expected("zero-one")
    even = mechanism.solution.problem.question == "binary.balanced"
    name = "balanced mechanism" if even else "mechanism with the best boundary"
    apart = -(-line.reach // mechanism.width)
    blocks = "the same or adjacent blocks" if apart == 1 else f"blocks at most {apart} apart"
    private = f"{level} proved in exact arithmetic on blocks of points; neighbours lie in {blocks}"
    if bound is None:
        proof = Proof(
            private, "unproved", "BIN Theorem 2: best at every point for its boundary; the best boundary is not proved"
        )
    else:
        reason = "no private mechanism errs less often on average than the bound: pairs across the border, or duality"
        proof = Proof(private, "bound", reason, bound, max(0.0, value - bound))
    others = choice_alternatives(line, first_yes, level, prior)
    return Design(name, line, level, "zero-one", mechanism, lambda: proof, {"zero-one": value}, others)


def _best_noise(line: Line, level: ApproxDP, loss: str, prior: Floats | None) -> NoisyLine:
    """Staircase or geometric noise, each with its best remap: the one with the lesser expected loss."""
    cost = {"absolute": "l1", "squared": "l2"}.get(loss, f"within {tolerance(loss)}")
    best = NoisyLine(line, discrete_staircase(level, line.reach, cost), loss, prior)
    if line.reach == 1:
        return best
    other = NoisyLine(line, discrete_laplace(level, line.reach), loss, prior)
    return min(best, other, key=lambda candidate: candidate.expected(loss))


def _program(line: Line, level: ApproxDP, loss: str, prior: Floats | None) -> OptimalTable | None:
    """The linear program's optimum where it is small enough, from the cache if it is there; None if it fails."""
    small = line.points <= MOST_POINTS and line.points * line.reach <= MOST_PAIRS
    tight = loss == "zero-one" and prior is None and line.points <= MOST_TIGHT
    if not small and not tight:
        return None
    space = line.space()
    weights = np.full(line.points, 1 / line.points) if prior is None else prior
    key = {
        "version": 2,
        "points": line.points,
        "reach": line.reach,
        "level": level.to_json(),
        "loss": loss,
        "prior": None if prior is None else prior.tolist(),
    }
    problem = Wanted(space, level, weights, loss)
    try:
        method: Any = "auto" if small else "tight-constraints"
        solution = cached(key, problem, lambda: optimal(space, level, prior=prior, loss=loss, method=method))
        solution.certified  # noqa: B018  (proved private, or not taken)
    except (SolverFailed, CannotCertify, UnsupportedLevel, InvalidInput):  # tight constraints may not exist
        return None
    return OptimalTable(line, solution, loss, prior)
