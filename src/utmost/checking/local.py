"""Local mechanisms: the best partition of sorted letters, and bounds from prices of letters."""

from __future__ import annotations

import math

import numpy as np

from utmost.checking.chains import Floats, Outcome, Problem, Solved, read, read_distribution, read_positions
from utmost.checking.partitions import blocks_of, by_ratio, divergence_between, sweep, value_of
from utmost.checking.patterns import information_bound, offset, pattern_bound, testing_bound
from utmost.errors import InvalidInput
from utmost.mechanism.certification import Check
from utmost.privacy import ApproxDP, require_pure
from utmost.privacy.divergences import Divergence, as_divergence, entropy

ROUNDED = 2.0**-50
"""How far, relatively, an entry of a matrix may be from what it stands for."""


def check_testing(problem: Problem, solved: Solved) -> Outcome:
    """Ghazi 2026: no local mechanism beats the best randomised response on contiguous blocks of sorted letters.

    One sweep over all blocks at the price that the value sets finds a better partition if there is one. Beside it, the
    bound of the prices is recomputed, which needs no theorem but LIM's 3.3.2.
    """
    p0, p1, divergence, level = _hypotheses(problem)
    checks, value, doubt = _value_and_bound(problem, solved)
    q = offset(level)
    better = value
    if math.isfinite(q):
        order = by_ratio(p0, p1)
        cuts = sweep(p0[order], p1[order], divergence, q, value * q)
        better = value_of(p0, p1, divergence, q, blocks_of(cuts, order))
    gap = max(better - value, 0.0)
    detail = f"no partition of the sorted letters has a larger value (within {gap:.1g})"
    return (*checks, Check("partition", gap <= 1e-10 * abs(value) + doubt, detail)), gap


def check_limited_testing(problem: Problem, solved: Solved) -> Outcome:
    """Prices of letters bound every private mechanism, whatever its number of outputs."""
    checks, value, _ = _value_and_bound(problem, solved)
    bound, used, most = solved.certificate.bound, len(solved.mechanism.outputs), problem.data.get("outputs")
    kept = isinstance(most, int) and used <= most
    limit = Check("outputs", kept, f"{used} used, at most {most} allowed")
    return (*checks, limit), (math.inf if bound is None else max(bound - value, 0.0))


def check_information(problem: Problem, solved: Solved) -> Outcome:
    """Prices of letters bound the mutual information of every private mechanism."""
    prior, level = read_distribution(problem.data, "prior", len(problem.space.points)), local_level(problem)
    value = information_between(solved.mechanism.matrix, prior)
    prices = read(solved.certificate.evidence, "prices", "f", prior.shape)
    likely = prior > 0
    bound = max(information_bound(prior[likely], level, prices[likely]), value)
    return (near(solved.value, value), _bound_as_stated(solved, value, bound)), bound - value


def check_patterns(problem: Problem, solved: Solved) -> Outcome:
    """Prices of letters bound every private mechanism, checked on all 2^k patterns."""
    utilities = read(problem.data, "utilities", "f", (2 ** len(problem.space.points) - 1,))
    return _patterns(problem, solved, utilities[None], np.ones(1))


def check_worst_patterns(problem: Problem, solved: Solved) -> Outcome:
    """The least of several utilities is at most any average of them, which prices of letters bound on all patterns."""
    utilities = read(problem.data, "utilities", "f", (None, 2 ** len(problem.space.points) - 1))
    weights = read_distribution(solved.certificate.evidence, "weights", len(utilities))
    return _patterns(problem, solved, utilities, weights / weights.sum())


def _patterns(problem: Problem, solved: Solved, utilities: Floats, weights: Floats) -> Outcome:
    level, k = local_level(problem), len(problem.space.points)
    prices, shares = (
        read(solved.certificate.evidence, "prices", "f", (k,)),
        read(solved.certificate.evidence, "shares", "f", (None,)),
    )
    sets = read_positions(solved.certificate.evidence, "sets", shares.shape, 2**k - 1)
    columns = shares[:, None] * (offset(level) + (((sets + 1)[:, None] >> np.arange(k)) & 1))
    off = float(np.abs(solved.mechanism.matrix - columns.T).max(initial=0.0)) if len(shares) else math.inf
    value = float((utilities[:, sets] @ shares).min())
    bound = max(pattern_bound(weights @ utilities, level, prices), value)
    made = Check("columns", off <= 1e-12, f"every column is a share of a pattern (within {off:.1g})")
    return (near(solved.value, value), made, _bound_as_stated(solved, value, bound)), bound - value


def information_between(matrix: Floats, prior: Floats) -> float:
    """The mutual information of a mechanism under a prior, nats; terms are 0 or more, so small values keep digits."""
    m = prior @ matrix
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = m * entropy((matrix - m) / m)
    return math.fsum(np.where(m > 0, prior[:, None] * np.where(matrix > 0, terms, m), 0.0).ravel())


def _value_and_bound(problem: Problem, solved: Solved) -> tuple[tuple[Check, ...], float, float]:
    """The checks, the value of the matrix, and how much of it the matrix's rounding may be."""
    p0, p1, divergence, level = _hypotheses(problem)
    matrix = solved.mechanism.matrix
    value = divergence_between(matrix, p0, p1, divergence)
    prices = read(solved.certificate.evidence, "prices", "f", p0.shape)
    bound = max(testing_bound(p0, p1, divergence, level, prices), value)
    z, t, gap = p0 @ matrix, p1 @ matrix, (p0 - p1) @ matrix
    moved = np.where(gap < 0, -ROUNDED, ROUNDED) * z  # away from t, which makes every term larger
    doubt = max(math.fsum(divergence.perspective(z + moved, t, gap + moved)) - value, 0.0)
    return (near(solved.value, value, doubt), _bound_as_stated(solved, value, bound, doubt)), value, doubt


def near(value: float, found: float, doubt: float = 1e-18) -> Check:
    """Whether the value is what the mechanism has, to ten digits, or to what rounding leaves of a tiny one."""
    same = abs(value - found) <= 1e-10 * abs(found) + doubt
    return Check("value", bool(same), f"{found:.12g}" + ("" if same else f", not {value:.12g} as stated"))


def _bound_as_stated(solved: Solved, value: float, bound: float, doubt: float = 1e-18) -> Check:
    claimed = solved.certificate.bound
    sound = claimed is not None and abs(claimed - bound) <= 1e-9 * abs(bound) + doubt
    return Check("bound", bool(sound), f"no private mechanism exceeds {bound:.12g}; the value is {value:.12g}")


def _hypotheses(problem: Problem) -> tuple[Floats, Floats, Divergence, ApproxDP]:
    k = len(problem.space.points)
    return (
        read_distribution(problem.data, "p0", k),
        read_distribution(problem.data, "p1", k),
        as_divergence(problem.data.get("divergence", "")),
        local_level(problem),
    )


def local_level(problem: Problem) -> ApproxDP:
    """The one pure level of a problem in which every two letters are neighbours."""
    level = problem.privacy.single
    if level is None or not problem.space.is_complete:
        raise InvalidInput("a local mechanism has one level for every two letters.")
    return require_pure(level)
