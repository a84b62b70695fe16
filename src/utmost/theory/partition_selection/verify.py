"""Keys nobody listed: how many units a key needs to be shown, and with how many less no private mechanism can do."""

from __future__ import annotations

from typing import Any

import numpy as np

from utmost.errors import InvalidInput, TooLarge
from utmost.mechanism.certification import Check
from utmost.privacy import ApproxDP, ApproxGaussianDP, Level
from utmost.space.integers import Holders
from utmost.space.line import require_line_loss
from utmost.theory.partition_selection.mechanism import MOST_USERS, KeptKeys
from utmost.theory.verify_chains import Evidence, Outcome, from_below, stated

SAME = 1e-12
"""How far probabilities in floats may be from those that the level allows at most."""


def least_users(level: Level) -> float:
    """With how many units on average a key is shown at the earliest: the sum over n of 1 - upper_after(n, 0)."""
    total, start, length = 0.0, 0, 1024
    while start <= MOST_USERS:
        hidden = level.lower_after(np.arange(start, start + length), 1.0)
        total += float(hidden.sum())
        if hidden[-1] == 0:
            return total
        start, length = start + length, 2 * length
    raise TooLarge(f"at {level} keys of {MOST_USERS:,} users stay hidden; allow a larger level.")


def keys_bound(problem: Any, evidence: Evidence) -> float:
    """How many units a key needs at least, on average: if one key alone had the whole level."""
    return least_users(problem.privacy) * (1 - SAME)


def check_keys(problem: Any, solved: Any) -> Outcome:
    """One unit more shows a key at most upper(p) often, and a key that nobody holds is never shown: by induction."""
    space, mechanism, certificate, level = problem.space, solved.mechanism, solved.certificate, problem.privacy
    fits = isinstance(space, Holders) and isinstance(mechanism, KeptKeys)
    if not fits or not isinstance(level, ApproxDP | ApproxGaussianDP) or not 0 < level.delta < 1:
        raise InvalidInput("keys that nobody listed are shown at a level with a delta, by thresholds.")
    if mechanism.border is not None or mechanism.noise is not None:
        require_line_loss(problem.data.get("loss"))
    if bool(problem.data.get("counted")) != (mechanism.border is not None):
        raise InvalidInput("a count is asked for and not shown, or shown and not asked for.")
    law = mechanism.law
    checks = (stated(solved.value, law.mean_users),)
    if certificate.claim == "theorem":
        users = np.arange(law.sure + 1)
        best, found = level.upper_after(users, 0.0), law.kept(users)
        tight = bool(np.all(np.abs(found - best) <= SAME * best))
        detail = f"keys of 0 to {law.sure} units are shown as often as {level} allows at most"
        return (*checks, Check("keep probabilities", tight, detail)), 0.0
    if certificate.claim != "bound" or certificate.bound is None:
        raise InvalidInput("keys are shown by a theorem, or with a bound.")
    bound = keys_bound(problem, certificate.evidence)
    check, gap = from_below(solved, law.mean_users, bound, "needs fewer units on average than", "needs")
    return (*checks, check), gap
