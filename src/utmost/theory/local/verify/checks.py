"""Checks of local mechanisms: the best partition of sorted letters, and bounds from dual prices of letters."""

from __future__ import annotations

import math

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats
from utmost.exact.citations import cites
from utmost.mechanism.certification import Check
from utmost.mechanism.extreme_columns import extreme_columns
from utmost.privacy import ApproxDP, require_pure
from utmost.privacy.divergences import Divergence, as_divergence
from utmost.theory.local.patterns import divergence_between, information_between, offset
from utmost.theory.local.verify.partitions import excess_of_partitions
from utmost.theory.local.verify.patterns import information_bound, pattern_bound, testing_bound
from utmost.theory.verify_evidence import (
    Evidence,
    Outcome,
    Problem,
    Solved,
    check_bound,
    read_array,
    read_distribution,
    read_positions,
)

ROUNDED = 2.0**-50
"""The relative rounding error of an entry of a matrix."""


@cites("LIM-theorem-3.3.2")
def check_testing(problem: Problem, solved: Solved) -> Outcome:
    """Ghazi 2026: no local mechanism beats the best randomised response on contiguous blocks of sorted letters.

    A longest path over the letters bounds by how much any partition may exceed the value. The bound of the prices is
    recomputed as well, which needs no theorem but LIM's 3.3.2.
    """
    p0, p1, divergence, level = _hypotheses(problem)
    checks, value, doubt, _ = _value_and_bound(problem, solved)
    q = offset(level)
    gap = excess_of_partitions(p0, p1, divergence, q, value) if math.isfinite(q) else 0.0
    detail = f"no partition of the sorted letters has a larger value (within {gap:.1g})"
    return (*checks, Check("partition", gap <= 1e-10 * abs(value) + doubt, detail)), gap


MOST_EPSILON = 50
"""The largest epsilon at which floats can divide by the entries of extreme columns."""


def check_limited_testing(problem: Problem, solved: Solved) -> Outcome:
    """Prices of letters bound every private mechanism, whatever its number of outputs."""
    checks, value, _, bound = _value_and_bound(problem, solved)
    output_count, most = len(solved.mechanism.outputs), problem.data.get("outputs")
    within_limit = isinstance(most, int) and output_count <= most
    return (*checks, Check("outputs", within_limit, f"{output_count} used, at most {most} allowed")), max(
        bound - value, 0.0
    )


@cites("LIM-theorem-3.3.2")
def check_information(problem: Problem, solved: Solved) -> Outcome:
    """Prices of letters bound the mutual information of every private mechanism."""
    prior = read_distribution(problem.data, "prior", len(problem.space.points))
    value = information_between(solved.mechanism.matrix, prior)
    bound = priced_information(problem, solved.certificate.evidence)
    return (value_check(solved.value, value), _bound_check(solved, value, bound)), max(bound - value, 0.0)


@cites("LIM-theorem-3.3.4")
def check_patterns(problem: Problem, solved: Solved) -> Outcome:
    """Prices of letters bound every private mechanism, checked on all 2^k patterns."""
    utilities = read_array(problem.data, "utilities", "f", (2 ** len(problem.space.points) - 1,))
    return _patterns(problem, solved, utilities[None], priced_patterns(problem, solved.certificate.evidence))


@cites("LIM-theorem-3.3.2", "LIM-theorem-3.3.4")
def check_worst_patterns(problem: Problem, solved: Solved) -> Outcome:
    """The least of several utilities is at most any average of them, which prices of letters bound on all patterns."""
    utilities = read_array(problem.data, "utilities", "f", (None, 2 ** len(problem.space.points) - 1))
    return _patterns(problem, solved, utilities, priced_worst_patterns(problem, solved.certificate.evidence))


def _patterns(problem: Problem, solved: Solved, utilities: Floats, bound: float) -> Outcome:
    """The checks of a mixture of patterns, for the least of several utilities."""
    level, k, matrix = local_level(problem), len(problem.space.points), solved.mechanism.matrix
    shares = read_array(solved.certificate.evidence, "shares", "f", (matrix.shape[1],))
    sets = read_positions(solved.certificate.evidence, "sets", shares.shape, 2**k - 1)
    columns = shares[:, None] * (offset(level) + (((sets + 1)[:, None] >> np.arange(k)) & 1))
    deviation = float(np.abs(matrix - columns.T).max(initial=0.0)) if len(shares) else math.inf
    value = float((utilities[:, sets] @ shares).min())
    columns_check = Check(
        "columns", deviation <= 1e-12, f"every column is a share of a pattern (within {deviation:.1g})"
    )
    return (value_check(solved.value, value), columns_check, _bound_check(solved, value, bound)), max(
        bound - value, 0.0
    )


def check_records(problem: Problem, solved: Solved) -> Outcome:
    """Prices of records bound every private mechanism, checked on all extreme columns of the graph of records."""
    k = len(problem.space.points)
    p0, p1 = (read_distribution(problem.data, name, k) for name in ("p0", "p1"))
    value = divergence_between(solved.mechanism.matrix, p0, p1, as_divergence(problem.data.get("divergence", "")))
    bound = max(priced_records(problem, solved.certificate.evidence), value)
    return (value_check(solved.value, value, 1e-15), check_bound(solved, value, bound)), max(bound - value, 0.0)


def priced_records(problem: Problem, evidence: Evidence) -> float:
    """The bound on the divergence of private mechanisms on records, from prices; their largest violation is added.

    Shares of columns add up to at most 1 over the least entry of a column, since they add up to 1 at every record.
    """
    k, level = len(problem.space.points), problem.privacy.single
    if level is None or not 0 < require_pure(level).log_growth < MOST_EPSILON:
        raise InvalidInput(f"records have one level for all neighbours, above 0 and below {MOST_EPSILON}-DP.")
    p0, p1 = (read_distribution(problem.data, name, k) for name in ("p0", "p1"))
    prices = read_array(evidence, "prices", "f", (k,))
    columns = extreme_columns(problem.space, require_pure(level))
    worth = as_divergence(problem.data.get("divergence", "")).perspective(
        columns @ p0, columns @ p1, columns @ (p0 - p1)
    )
    lacking = max(0.0, float((worth - columns @ prices).max())) + k * float(np.abs(prices).max(initial=0.0)) * ROUNDED
    return math.fsum(prices) + lacking / float(columns.min())


def priced_testing(problem: Problem, evidence: Evidence) -> float:
    """The bound on the divergence of the answers of every private mechanism, from prices of letters."""
    p0, p1, divergence, level = _hypotheses(problem)
    return testing_bound(p0, p1, divergence, level, read_array(evidence, "prices", "f", p0.shape))


def priced_information(problem: Problem, evidence: Evidence) -> float:
    """The bound on the mutual information of every private mechanism, from prices of letters."""
    prior = read_distribution(problem.data, "prior", len(problem.space.points))
    prices, likely = read_array(evidence, "prices", "f", prior.shape), prior > 0
    return information_bound(prior[likely], local_level(problem), prices[likely])


def priced_patterns(problem: Problem, evidence: Evidence) -> float:
    """The bound on the sum of utilities of every private mechanism, from prices of letters."""
    level, k = local_level(problem), len(problem.space.points)
    utilities = read_array(problem.data, "utilities", "f", (2**k - 1,))
    return pattern_bound(utilities, level, read_array(evidence, "prices", "f", (k,)))


def priced_worst_patterns(problem: Problem, evidence: Evidence) -> float:
    """The bound on the least of several sums of utilities: that of a weighted average of them."""
    level, k = local_level(problem), len(problem.space.points)
    utilities = read_array(problem.data, "utilities", "f", (None, 2**k - 1))
    weights = read_distribution(evidence, "weights", len(utilities))
    return pattern_bound(weights / weights.sum() @ utilities, level, read_array(evidence, "prices", "f", (k,)))


def _value_and_bound(problem: Problem, solved: Solved) -> tuple[tuple[Check, ...], float, float, float]:
    """The checks, the value of the matrix, the error of it from rounding in the matrix, and the bound."""
    p0, p1, divergence, _ = _hypotheses(problem)
    matrix = solved.mechanism.matrix
    value = divergence_between(matrix, p0, p1, divergence)
    z, t, gap = p0 @ matrix, p1 @ matrix, (p0 - p1) @ matrix
    shift = np.where(gap < 0, -ROUNDED, ROUNDED) * z  # away from t, which makes every term larger
    uncertainty = max(math.fsum(divergence.perspective(z + shift, t, gap + shift)) - value, 0.0)
    bound = priced_testing(problem, solved.certificate.evidence)
    return (
        (value_check(solved.value, value, uncertainty), _bound_check(solved, value, bound, uncertainty)),
        value,
        uncertainty,
        bound,
    )


def value_check(value: float, recomputed: float, doubt: float = 1e-18) -> Check:
    """Whether the stated value is the recomputed one, to ten digits, or up to `doubt` for tiny ones."""
    agrees = abs(value - recomputed) <= 1e-10 * abs(recomputed) + doubt
    return Check("value", bool(agrees), f"{recomputed:.12g}" + ("" if agrees else f", not {value:.12g} as stated"))


def _bound_check(solved: Solved, value: float, bound: float, doubt: float = 1e-18) -> Check:
    """Whether the value respects the bound of the prices, where both may be tiny."""
    return check_bound(solved, value, bound, room=1e-10 * abs(bound) + doubt)


def _hypotheses(problem: Problem) -> tuple[Floats, Floats, Divergence, ApproxDP]:
    """Both distributions, the divergence and the level of a testing problem, checked."""
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
