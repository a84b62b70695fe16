"""Verifier of mechanisms for one number on a line, from the level, the line and the loss alone.

Proofs: *geometric* noise with its optimal remap on a count at a pure level (Ghosh, Roughgarden, Sundararajan 2012).
*Chains*: on a count at any concave level every threshold at its own optimum. *Canonical* and *staircase* noise: optimal
among unbiased noise (Awan, Vadhan 2023; Geng, Viswanath 2016). A *flow* of dual prices that bounds every mechanism for
a sum, decided in rationals. *Pairs* of points at equal distances from a threshold, and *prices* of a linear program.
All but the first and the fourth are proved in docs/theory.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from utmost.errors import InvalidInput, shown
from utmost.exact import read_rational
from utmost.mechanism.certification import Check
from utmost.mechanism.noise.canonical import CanonicalLaw
from utmost.mechanism.noise.layers import LayerNoise
from utmost.privacy import ZCDP, ApproxDP, Level
from utmost.privacy.level import decay_above
from utmost.space.edge_levels import on_edges
from utmost.space.integers import Lattice
from utmost.space.line import Line, cost, require_line_loss
from utmost.theory.scalar.line import LineMechanism, NoisyLine
from utmost.theory.scalar.line_chains import ChainLine
from utmost.theory.scalar.verify.staircase_flow import cut_flow_bound, decay_below, flow_bound
from utmost.theory.vector.verify.coordinate import coordinate_bound
from utmost.theory.verify_convex_costs import least_costs
from utmost.theory.verify_dual_bounds import mechanism_bound
from utmost.theory.verify_evidence import Evidence, Outcome, read_array, read_distribution, read_positions

SAME = 1e-9


def check_number(problem: Any, solved: Any) -> Outcome:
    """Theorems on counts and noise, dual flows in rationals for sums, pairs across thresholds, or dual prices."""
    line, level, mechanism = problem.space, problem.privacy, solved.mechanism
    if not isinstance(line, Line) or not isinstance(mechanism, LineMechanism) or mechanism.line != line:
        raise InvalidInput("the mechanism is not one for a number on this line.")
    loss, prior, unbiased = _question(problem)
    same_prior = mechanism.prior is prior or (
        prior is not None and mechanism.prior is not None and np.array_equal(prior, mechanism.prior)
    )
    if not same_prior or mechanism.loss != loss:
        raise InvalidInput("the mechanism was made for another prior or another loss.")
    is_unbiased = isinstance(mechanism, NoisyLine) and mechanism.remap == "none"
    if unbiased is not is_unbiased or (not line.is_bounded and not unbiased):
        raise InvalidInput("the mechanism is unbiased and was not asked to be, or the other way round.")
    value = mechanism.expected(loss)
    equal = math.isclose(solved.value, value, rel_tol=1e-10, abs_tol=1e-12)
    checks: tuple[Check, ...] = (Check("value", equal, f"{value:.12g}"),)
    certificate, evidence = solved.certificate, solved.certificate.evidence
    if certificate.claim == "unproved":
        fine = certificate.bound is None
        return (
            *checks,
            Check("optimality", fine, "nothing is claimed" if fine else "a bound that is not claimed"),
        ), math.inf
    proof = evidence.get("proof")
    if certificate.claim == "theorem":
        theorem = {"geometric": _geometric, "chains": _chains, "canonical": _canonical, "staircase": _staircase}
        if not isinstance(proof, str) or proof not in theorem:
            raise InvalidInput(f"{shown(proof)} is no theorem about numbers.")
        check, gap = theorem[proof](line, level, loss, mechanism)
        return (*checks, check), gap
    bound = number_bound(problem, evidence)
    sound = bound <= value * (1 + SAME) and certificate.bound is not None
    sound = sound and certificate.bound <= bound + SAME * max(1.0, abs(bound))  # earlier versions proved less
    detail = f"no private mechanism has an expected loss below {bound:.12g}; the value is {value:.12g}"
    return (*checks, Check("bound", bool(sound), detail)), max(value - bound, 0.0)


def number_bound(problem: Any, evidence: Evidence) -> float:
    """Lower bound on the expected loss, from the evidence of a certificate."""
    line, level, proof = problem.space, problem.privacy, evidence.get("proof")
    loss, prior, unbiased = _question(problem)
    if proof == "prices" and not unbiased:
        return prices_bound(line, level, loss, prior, evidence)
    if prior is not None:
        raise InvalidInput("this bound is for the uniform prior.")
    if proof == "flow":
        growth = _rational(evidence.get("growth"))
        points = None if unbiased else line.points
        if isinstance(level, ApproxDP) and level.delta:
            return cut_flow_bound(points, line.reach, level, loss, evidence.get("upper"), evidence.get("cut"))
        return flow_bound(points, line.reach, level, loss, evidence.get("upper"), growth)
    if proof == "pairs":
        return pairs_bound(line, level, loss, endless=unbiased)
    raise InvalidInput(f"{proof!r} is no bound for numbers.")


def pairs_bound(line: Line, level: Level, loss: str, endless: bool = False) -> float:
    """Lower bound on the average loss by pairs of points at equal distances from a threshold.

    The j-th points below and above a threshold are 2j - 1 neighbours apart; an answer at or above it at the first and
    one below it at the second cannot both be rarer than the canonical tail T(j). On a path of m points m - 2j + 1
    thresholds have j points on each side. At larger sensitivity, the points of one residue class form a path.
    """
    if isinstance(level, ZCDP):
        return coordinate_bound(
            Lattice(1, "any", line.reach) if endless else Lattice(1, "any", line.reach, 0, line.points - 1), level, loss
        )
    law, reach = CanonicalLaw(level), max(line.reach, 1)
    if reach > 1 and loss == "zero-one":
        loss, scale = "zero-one", 1
    elif reach > 1 and loss != "absolute":
        raise InvalidInput("pairs on sums bound the absolute error and the chance of any error.")
    else:
        scale = reach if loss == "absolute" else 1
    if endless:
        return scale * law.mean(loss) * (1 - SAME / 10)
    short, longer = divmod(line.points, reach)
    t = np.arange(min(law.wide, short + 1) + 1)
    tails = np.diff(cost(loss, t)) * law.tail(t[1:])
    total = 0.0
    for size, paths in ((short + 1, longer), (short, reach - longer)):
        total += paths * scale * 2 * float(np.maximum(size - 2 * t[1:] + 1, 0) @ tails)
    return total / line.points * (1 - SAME / 10)


def prices_bound(line: Line, level: Level, loss: str, prior: Any, evidence: Any) -> float:
    """Lower bound on the expected loss from dual prices of the linear program on a short line."""
    n = line.points
    levels = on_edges(line.space(), level)
    count = 2 * len(levels) * n
    places = read_positions(evidence, "dual_places", (None,), count)
    duals = np.zeros(count)
    duals[places] = read_array(evidence, "dual_values", "f", (len(places),))
    weights = np.full(n, 1 / n) if prior is None else prior
    positions = np.arange(n)
    gains = -weights[:, None] * cost(loss, positions[:, None] - positions)
    return -mechanism_bound(levels, gains, duals.reshape(2, len(levels), n))


def _question(problem: Any) -> tuple[str, Any, bool]:
    """The loss, the prior and whether the answer must be unbiased, validated from a problem of an untrusted file."""
    loss, prior, unbiased = (problem.data.get(name) for name in ("loss", "prior", "unbiased"))
    fits = isinstance(problem.space, Line) and isinstance(problem.privacy, Level) and isinstance(unbiased, bool)
    if not fits:
        raise InvalidInput("a number lies on a line, at one level.")
    if prior is not None:
        if not problem.space.is_bounded:
            raise InvalidInput("an unbounded line has no prior.")
        read_distribution(problem.data, "prior", problem.space.points)
    return require_line_loss(loss), prior, bool(unbiased)


def _rational(text: Any) -> Fraction:
    try:
        return read_rational(text)
    except (ValueError, TypeError, AttributeError, ZeroDivisionError):
        raise InvalidInput("the growth of the flow is no rational number.") from None


def _geometric(line: Line, level: Level, loss: str, mechanism: LineMechanism) -> tuple[Check, float]:
    fine = (
        isinstance(level, ApproxDP)
        and not level.delta
        and math.isfinite(level.log_growth)
        and line.reach <= 1
        and isinstance(mechanism, NoisyLine)
        and mechanism.guesses
        and isinstance(mechanism.noise, LayerNoise)
        and mechanism.noise.period == 1
        and mechanism.noise.law.decay == decay_above(level)
    )
    return Check("optimality", fine, "geometric noise as strong as the level asks, and its best remap"), 0.0


def _chains(line: Line, level: Level, loss: str, mechanism: LineMechanism) -> tuple[Check, float]:
    """Check every threshold for optimality: costs are convex, so two nearby costlier starts enclose the minimum."""
    if not isinstance(mechanism, ChainLine) or mechanism.level != level or loss not in ("absolute", "squared"):
        raise InvalidInput("the theorem is about chains at this level, and losses that are convex.")
    value = mechanism.expected(loss)
    minima = least_costs(lambda x: mechanism.threshold_costs(loss, x), mechanism.starts, 1 / line.points)
    gap = value - math.fsum(minima)
    fine = gap <= 1e-6 * max(value, 1.0)
    detail = f"{len(minima)} binary problems, each at the least of its convex cost (together within {gap:.2g})"
    return Check("optimality", fine, detail), gap


def _canonical(line: Line, level: Level, loss: str, mechanism: LineMechanism) -> tuple[Check, float]:
    noise = mechanism.noise
    fine = line.reach <= 1 and isinstance(mechanism, NoisyLine) and mechanism.remap == "none"
    own = isinstance(noise, CanonicalLaw) and noise.level == level and noise.step == 1
    return Check("optimality", fine and own, _canonical_words(line)), 0.0


def _canonical_words(line: Line) -> str:
    competitor = "unbiased noise" if line.is_bounded else "private mechanism on the unbounded line"
    return f"canonical noise at this level, which no {competitor} beats"


def _staircase(line: Line, level: Level, loss: str, mechanism: LineMechanism) -> tuple[Check, float]:
    noise = mechanism.noise
    if not isinstance(noise, LayerNoise) or not isinstance(mechanism, NoisyLine) or mechanism.remap != "none":
        raise InvalidInput("the theorem is about unbiased staircase noise.")
    b = decay_below(level) if isinstance(level, ApproxDP) else Fraction(0)
    if b >= 1:
        raise InvalidInput("at epsilon = 0 noise has no end, so no cost is the least.")
    growth = 2 * b / (1 - b)
    bound = flow_bound(None, max(line.reach, 1), level, loss, noise.law.upper, growth)
    value = mechanism.expected(loss)
    gap = max(value - bound, 0.0)
    fine = noise.period == max(line.reach, 1) and gap <= 1e-12 * max(value, 1.0)
    competitor = "noise" if line.is_bounded else "mechanism on the unbounded line"
    return Check("optimality", fine, f"a flow in rationals: no private {competitor} costs less than {bound:.12g}"), gap
