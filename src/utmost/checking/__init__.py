"""Why nothing private is better: conditions re-checked from the problem and the mechanism, with nothing of the solver.

One checker per question. It takes a problem and what was found, which may come from a file that holds anything, and
returns the checks made, each in words, and how far the value may be from the best possible.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from utmost.checking.binary import (
    boundary_bound,
    check_balanced,
    check_boundary_bound,
    check_extension,
    check_share_test,
    dual_bound,
)
from utmost.checking.bounds import mechanism_bound
from utmost.checking.chains import Evidence, Outcome, stated
from utmost.checking.discovery import check_keys, keys_bound
from utmost.checking.finite import check_chains, check_count, check_optimal, check_regular, check_tight, loss_bound
from utmost.checking.local import (
    check_information,
    check_limited_testing,
    check_patterns,
    check_testing,
    check_worst_patterns,
    priced_information,
    priced_patterns,
    priced_testing,
    priced_worst_patterns,
)
from utmost.checking.number import check_number, number_bound
from utmost.checking.rainbow import (
    check_first_preference,
    check_nearest,
    check_rainbow,
    check_rainbow_bound,
    homogeneous_bound,
    nearest_bound,
)
from utmost.checking.vector import check_vector, vector_bound
from utmost.checking.yes_or_no import check_yes_or_no

__all__ = ["BOUNDED", "BOUNDS", "CHECKERS", "ON_GRAPHS", "dual_bound", "mechanism_bound"]


def check_nothing(problem: Any, solved: Any) -> Outcome:
    """A mechanism that somebody brought: nothing is claimed about its optimality."""
    return (stated(solved.value, solved.mechanism.expected_loss()),), float("inf")


def check_choice(problem: Any, solved: Any) -> Outcome:
    """Chains of tallies between two winners, or Lagrange: any weights on privacy's constraints bound every choice."""
    from utmost.checking.choices import check_choice  # loaded when a choice is verified: `import utmost` stays quick

    return check_choice(problem, solved)


def choice_bound(problem: Any, evidence: Evidence) -> float:
    """What no private choice loses less than: from dual prices on the listed tallies, or by chains of two winners."""
    from utmost.checking.choices import choice_bound

    return choice_bound(problem, evidence)


CHECKERS: dict[str, tuple[str, Callable[[Any, Any], Outcome]]] = {
    "binary.extend": ("theorem", check_extension),
    "binary.balanced": ("theorem", check_balanced),
    "binary.best_boundary": ("bound", check_boundary_bound),
    "binary.share_test": ("theorem", check_share_test),
    "rainbow.extend": ("theorem", check_rainbow),
    "rainbow.best_boundary": ("bound", check_rainbow_bound),
    "rainbow.nearest": ("as stated", check_nearest),
    "rainbow.lexicographic": ("unproved", check_first_preference),
    "finite.tight_constraints": ("theorem", check_tight),
    "finite.regular": ("theorem", check_regular),
    "finite.count": ("theorem", check_count),
    "finite.chains": ("theorem", check_chains),
    "finite.optimal": ("bound", check_optimal),
    "local.testing": ("theorem", check_testing),
    "local.limited_testing": ("bound", check_limited_testing),
    "local.information": ("bound", check_information),
    "local.patterns": ("bound", check_patterns),
    "choice.line": ("as stated", check_yes_or_no),
    "local.worst_patterns": ("bound", check_worst_patterns),
    "number.line": ("as stated", check_number),
    "choice.winner": ("as stated", check_choice),
    "choice.quantile": ("as stated", check_choice),
    "number.vector": ("as stated", check_vector),
    "keys.shown": ("as stated", check_keys),
    "given": ("unproved", check_nothing),
}
"""What each question's certificate claims, and the check that the claim must pass; "as stated": the checker looks."""
ON_GRAPHS = frozenset(
    q for q in CHECKERS if q == "given" or q.partition(".")[0] in ("binary", "rainbow", "finite", "local")
)
"""Questions about a mechanism on the points of a graph; the checkers of others look for integers themselves."""
BOUNDED = {"local.testing"}
"""Questions whose theorem comes with a bound beside it, which the check recomputes."""
BOUNDS: dict[str, Callable[[Any, Evidence], float]] = {
    "binary.best_boundary": boundary_bound,
    "rainbow.best_boundary": homogeneous_bound,
    "rainbow.nearest": nearest_bound,
    "finite.optimal": loss_bound,
    "local.testing": priced_testing,
    "local.limited_testing": priced_testing,
    "local.information": priced_information,
    "local.patterns": priced_patterns,
    "local.worst_patterns": priced_worst_patterns,
    "choice.winner": choice_bound,
    "choice.quantile": choice_bound,
    "number.line": number_bound,
    "number.vector": vector_bound,
    "keys.shown": keys_bound,
}
"""What evidence proves, for questions that are answered with a bound: a function of the problem and the evidence."""
