"""Verifier of partition selection: the mean number of holders that a key needs, and a lower bound on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from utmost.errors import InvalidInput, TooLarge
from utmost.mechanism.certification import Check
from utmost.privacy import ApproxDP, ApproxGaussianDP, Level
from utmost.space.integers import Holders
from utmost.space.line import require_line_loss
from utmost.theory.partition_selection.mechanism import MOST_USERS, ThresholdedKeys
from utmost.theory.verify_evidence import Evidence, Outcome, check_lower_bound, check_value

SAME = 1e-12
"""Relative tolerance for probabilities in floats."""


def least_users(level: Level) -> float:
    """The smallest mean number of holders at which a key is released: the sum over n of 1 - upper_after(n, 0)."""
    total, start, length = 0.0, 0, 1024
    while start <= MOST_USERS:
        hidden = level.lower_after(np.arange(start, start + length), 1.0)
        total += float(hidden.sum())
        if hidden[-1] == 0:
            return total
        start, length = start + length, 2 * length
    raise TooLarge(f"at {level} keys of {MOST_USERS:,} users stay hidden; allow a larger level.")


def keys_bound(problem: Any, evidence: Evidence) -> float:
    """Lower bound on the mean number of holders that a key needs: if one key alone had the whole level."""
    return least_users(problem.privacy) * (1 - SAME)


def check_keys(problem: Any, solved: Any) -> Outcome:
    """Optimality by induction: p(0) = 0, and one holder more raises the release probability p to at most upper(p)."""
    space, mechanism, certificate, level = problem.space, solved.mechanism, solved.certificate, problem.privacy
    fits = isinstance(space, Holders) and isinstance(mechanism, ThresholdedKeys)
    if not fits or not isinstance(level, ApproxDP | ApproxGaussianDP) or not 0 < level.delta < 1:
        raise InvalidInput("keys that nobody listed are shown at a level with a delta, by thresholds.")
    if mechanism.border is not None or mechanism.noise is not None:
        require_line_loss(problem.data.get("loss"))
    if bool(problem.data.get("counted")) != (mechanism.border is not None):
        raise InvalidInput("a count is asked for and not shown, or shown and not asked for.")
    law = mechanism.law
    checks = (check_value(solved.value, law.mean_users),)
    if certificate.claim == "theorem":
        users = np.arange(law.sure + 1)
        best, released = level.upper_after(users, 0.0), law.release_probability(users)
        tight = bool(np.all(np.abs(released - best) <= SAME * best))
        detail = f"keys of 0 to {law.sure} units are shown as often as {level} allows at most"
        return (*checks, Check("keep probabilities", tight, detail)), 0.0
    if certificate.claim != "bound" or certificate.bound is None:
        raise InvalidInput("keys are shown by a theorem, or with a bound.")
    bound = keys_bound(problem, certificate.evidence)
    check, gap = check_lower_bound(solved, law.mean_users, bound, "needs fewer units on average than", "needs")
    return (*checks, check), gap
