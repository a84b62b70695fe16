"""Which mechanism answers: chosen from public parameters alone, with the reason why nothing better is known.

| question | mechanism | proof |
|---|---|---|
| a number, neighbours next to each other | geometric noise, best remap | theorem (Ghosh, Roughgarden, Sundararajan) |
| a number with a larger reach, up to 150 points | the linear program's optimum | bound from dual prices, with its gap |
| a number with a larger reach, more points | staircase or geometric noise, best remap | bound from paths, its gap |
| yes or no | balanced, or the best boundary, on the path of blocks | bound, with its gap |

Every candidate's expected loss under the declared prior and loss is computed from its law, and the least is taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from utmost.design.finite import optimal
from utmost.design.noise.discrete import discrete_laplace, discrete_staircase
from utmost.errors import CannotCertify, InvalidInput, SolverFailed, UnsupportedLevel
from utmost.mechanism import loss_table
from utmost.privacy import ApproxDP, Level, require_pure
from utmost.release.mechanisms.alternatives import choice_alternatives, number_alternatives
from utmost.release.mechanisms.cache import cached
from utmost.release.mechanisms.line import Line
from utmost.release.mechanisms.losses import SHOWN, tolerance
from utmost.release.mechanisms.noisy_line import NoisyLine
from utmost.release.mechanisms.steps import Steps, best_steps
from utmost.solution import Solution

Floats = NDArray[np.float64]
MOST_POINTS, MOST_PAIRS, SECONDS = 150, 600, 5.0
"""Up to how many points and pairs of neighbours the linear program is solved, and for how long about."""
MOST_TIGHT = 800
"""Up to how many points tight constraints are tried, for zero-one loss."""


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
    proof : why it is private, and what is known about better ones
    expected : the expected loss under the prior, by every loss shown
    alternatives : the same expected losses of the usual alternatives, by their names
    """

    name: str
    line: Line
    level: Level
    loss: str
    mechanism: NoisyLine | OptimalTable | Steps
    proof: Proof
    expected: dict[str, float] = field(default_factory=dict)
    alternatives: dict[str, dict[str, float]] = field(default_factory=dict)

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

    def release(self, point: int) -> int:
        """A private answer, drawn exactly from the certified row."""
        return self.line.first + int(self.solution.certified.sample(point - self.line.first))

    def expected(self, loss: str) -> float:
        """The expected loss under the prior."""
        return self.solution.mechanism.expected_loss(prior=self.prior, loss=loss, remap="none")

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


def require_releasable(level: Level) -> Level:
    """Refuse levels at which an answer says nothing, or everything."""
    if isinstance(level, ApproxDP) and level.log_growth == 0 and level.delta == 0:
        raise InvalidInput(
            "privacy is 0: every answer would be the same whatever the table says; give an epsilon above 0."
        )
    if isinstance(level, ApproxDP) and math.isinf(level.log_growth):
        raise InvalidInput("privacy is infinite: nothing would be protected; give a finite epsilon.")
    return level


def design_number(line: Line, level: Level, loss: str, prior: Floats | None = None) -> Design:
    """The best mechanism known for a number on a line, for a loss and a prior (None: uniform)."""
    try:
        pure = require_pure(require_releasable(level))
    except UnsupportedLevel:
        raise UnsupportedLevel(
            f"numbers are released at pure levels, not {level}; give an epsilon, such as PureDP(1)."
        ) from None
    if prior is None:
        return _uniform_number(line, pure, loss)
    return _design_number(line, pure, loss, prior)


@lru_cache(maxsize=256)
def _uniform_number(line: Line, level: ApproxDP, loss: str) -> Design:
    return _design_number(line, level, loss, None)


def _design_number(line: Line, level: ApproxDP, loss: str, prior: Floats | None) -> Design:
    found = _best_noise(line, level, loss, prior)
    name = _noise_name(found)
    private = (
        f"integer noise whose law is exactly {level} for shifts up to {line.reach} (its decay is a rational at or "
        "above e^-epsilon), drawn exactly; what follows it is public"
    )
    mechanism: NoisyLine | OptimalTable = found
    if line.reach == 1:
        reason = "Ghosh, Roughgarden, Sundararajan 2012: best for every prior and every loss that grows"
        proof = Proof(private, "theorem", reason, gap=0.0)
    else:
        reason = (
            "Geng and Viswanath 2016: no other noise has a lower expected loss on a line without ends; whether a "
            "mechanism that is not noise does better on this line is open"
        )
        proof = Proof(private, "unproved", reason)
        if loss == "absolute" and prior is None:
            bound = _bound_by_paths(line, level)
            reason = (
                f"every {line.reach}th point is on a path where geometric noise is best (Ghosh, Roughgarden, "
                "Sundararajan 2012): no private mechanism errs less than that; among noises the staircase is best "
                "(Geng, Viswanath 2016)"
            )
            proof = Proof(private, "bound", reason, bound, max(0.0, found.expected(loss) - bound))
        table = _program(line, level, loss, prior)
        if table is not None:
            better = table.expected(loss) < found.expected(loss)
            mechanism, name = (table, "the linear program's optimum") if better else (found, name)
            proof = _against_program(proof, table, better, mechanism.expected(loss))
    losses = tuple(dict.fromkeys((loss, *SHOWN)))
    expected = {each: mechanism.expected(each) for each in losses}
    return Design(name, line, level, loss, mechanism, proof, expected, number_alternatives(line, level, losses, prior))


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


def _against_program(proof: Proof, table: OptimalTable, taken: bool, value: float) -> Proof:
    """What the linear program proves about a mechanism with this expected loss: its own, or the noise beside it."""
    certificate = table.solution.certificate
    private = (
        f"{table.solution.problem.privacy} proved in exact arithmetic on every pair of neighbours, drawn from integers"
    )
    private = private if taken else proof.privacy
    if certificate.claim == "theorem":
        return Proof(
            private,
            "theorem" if taken else "bound",
            certificate.reason,
            table.solution.value,
            max(0.0, value - table.solution.value),
        )
    bound = certificate.bound
    if bound is None or bound <= 0:
        return Proof(
            private, "unproved", "the linear program ended with no useful bound" if taken else proof.optimality
        )
    reason = "no private mechanism has a lower expected loss than the bound: linear programming duality"
    return Proof(private, "bound", reason, bound, max(0.0, value - bound))


def design_choice(line: Line, first_yes: int, level: Level, prior: Floats | None = None) -> Design:
    """The best mechanism known for "is the statistic at least `first_yes`?", for a prior (None: uniform)."""
    mechanism, bound = best_steps(line, first_yes, require_releasable(level), prior)
    value = mechanism.expected("zero-one")
    even = mechanism.solution.problem.question == "binary.balanced"
    name = "balanced mechanism" if even else "mechanism with the best boundary"
    private = f"{level} proved in exact arithmetic on the path of blocks; neighbours lie in the same or adjacent blocks"
    if bound is None:
        proof = Proof(
            private, "unproved", "BIN Theorem 2: best at every point for its boundary; the best boundary is not proved"
        )
    else:
        reason = "no private mechanism errs less often on average than the bound: pairs across the border, or duality"
        proof = Proof(private, "bound", reason, bound, max(0.0, value - bound))
    others = choice_alternatives(line, first_yes, level, prior)
    return Design(name, line, level, "zero-one", mechanism, proof, {"zero-one": value}, others)


def _best_noise(line: Line, level: ApproxDP, loss: str, prior: Floats | None) -> NoisyLine:
    """Staircase or geometric noise, each with its best remap: the one with the lesser expected loss."""
    cost = {"absolute": "l1", "squared": "l2"}.get(loss, f"within {tolerance(loss)}")
    best = NoisyLine(line, discrete_staircase(level, line.reach, cost), loss, prior)
    if line.reach == 1:
        return best
    other = NoisyLine(line, discrete_laplace(level, line.reach), loss, prior)
    return min(best, other, key=lambda candidate: candidate.expected(loss))


def _noise_name(found: NoisyLine) -> str:
    law = found.noise.law
    kind = "geometric" if law.period == 1 else f"staircase (first {law.upper} of every {law.period} steps high)"
    return f"{kind} noise with the best remap"


def _program(line: Line, level: ApproxDP, loss: str, prior: Floats | None) -> OptimalTable | None:
    """The linear program's optimum where it is small enough, from the cache if it is there; None if it fails."""
    if line.points > MOST_POINTS or line.points * line.reach > MOST_PAIRS:
        return None
    space = line.space()
    weights = np.full(line.points, 1 / line.points) if prior is None else prior
    key = {
        "version": 1,
        "points": line.points,
        "reach": line.reach,
        "level": level.to_json(),
        "loss": loss,
        "prior": None if prior is None else prior.tolist(),
    }
    data = (
        {"prior": weights}
        if loss == "zero-one"
        else {"prior": weights, "loss": loss_table(loss, space.points, space.points)}
    )
    problem = {"space": space, "level": level, "data": data}
    try:
        solution = cached(key, problem, lambda: optimal(space, level, prior=prior, loss=loss, seconds=SECONDS))
        solution.certified  # noqa: B018  (proved private, or not taken)
    except (SolverFailed, CannotCertify, UnsupportedLevel):
        return None
    return OptimalTable(line, solution, loss, prior)
