"""Why nothing private is better: conditions re-checked from the problem and the mechanism, with nothing of the solver.

One checker per question. It takes a problem and what was found, which may come from a file that holds anything, and
returns the checks made, each in words, and how far the value may be from the best possible. Checkers are loaded when
something is verified, so that designing needs none, and a command that verifies nothing starts quickly.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from utmost.checking.chains import Evidence, Outcome

__all__ = ["BOUNDED", "BOUNDS", "CHECKERS", "ON_GRAPHS", "bound_of", "checker_of"]

CHECKERS: dict[str, tuple[str, str]] = {
    "binary.extend": ("theorem", "binary:check_extension"),
    "binary.balanced": ("theorem", "binary:check_balanced"),
    "binary.best_boundary": ("bound", "binary:check_boundary_bound"),
    "binary.share_test": ("theorem", "binary:check_share_test"),
    "rainbow.extend": ("theorem", "rainbow:check_rainbow"),
    "rainbow.best_boundary": ("bound", "rainbow:check_rainbow_bound"),
    "rainbow.nearest": ("as stated", "rainbow:check_nearest"),
    "rainbow.lexicographic": ("as stated", "rainbow:check_first_preference"),
    "finite.tight_constraints": ("theorem", "finite:check_tight"),
    "finite.regular": ("theorem", "finite:check_regular"),
    "finite.count": ("theorem", "finite:check_count"),
    "finite.chains": ("theorem", "finite:check_chains"),
    "finite.optimal": ("bound", "finite:check_optimal"),
    "local.testing": ("theorem", "local:check_testing"),
    "local.limited_testing": ("bound", "local:check_limited_testing"),
    "local.information": ("bound", "local:check_information"),
    "local.patterns": ("bound", "local:check_patterns"),
    "local.records": ("bound", "local:check_records"),
    "local.worst_patterns": ("bound", "local:check_worst_patterns"),
    "choice.line": ("as stated", "yes_or_no:check_yes_or_no"),
    "choice.winner": ("as stated", "choices:check_choice"),
    "choice.quantile": ("as stated", "choices:check_choice"),
    "number.line": ("as stated", "number:check_number"),
    "number.tiers": ("bound", "tiers:check_tiered_count"),
    "choice.tiers": ("bound", "tiers:check_tiered_choice"),
    "number.vector": ("as stated", "vector:check_vector"),
    "number.strategy": ("bound", "workload:check_strategy"),
    "number.nested": ("bound", "nested:check_nested"),
    "choice.top": ("unproved", "top_lists:check_top"),
    "ranks.choices": ("unproved", "ranks:check_ranks"),
    "ranks.cdf": ("unproved", "ranks:check_ranks"),
    "workload.hierarchy": ("bound", "workload:check_hierarchy"),
    "workload.marginals": ("bound", "workload:check_workload"),
    "keys.shown": ("as stated", "discovery:check_keys"),
    "given": ("unproved", "finite:check_nothing"),
}
"""What each question's certificate claims, and the check that the claim must pass, as "module:function" of this
package; "as stated": the checker looks at what is claimed."""
ON_GRAPHS = frozenset(
    q for q in CHECKERS if q == "given" or q.partition(".")[0] in ("binary", "rainbow", "finite", "local")
)
"""Questions about a mechanism on the points of a graph; the checkers of others look for integers themselves."""
BOUNDED = {"local.testing"}
"""Questions whose theorem comes with a bound beside it, which the check recomputes."""
BOUNDS: dict[str, str] = {
    "binary.best_boundary": "binary:boundary_bound",
    "rainbow.best_boundary": "rainbow:homogeneous_bound",
    "rainbow.lexicographic": "rainbow:first_preference_bound",
    "rainbow.nearest": "rainbow:nearest_bound",
    "finite.optimal": "finite:loss_bound",
    "local.testing": "local:priced_testing",
    "local.limited_testing": "local:priced_testing",
    "local.information": "local:priced_information",
    "local.patterns": "local:priced_patterns",
    "local.records": "local:priced_records",
    "local.worst_patterns": "local:priced_worst_patterns",
    "choice.winner": "choices:choice_bound",
    "choice.quantile": "choices:choice_bound",
    "number.line": "number:number_bound",
    "number.tiers": "tiers:tiered_count_bound",
    "choice.tiers": "tiers:tiered_choice_bound",
    "number.vector": "vector:vector_bound",
    "number.strategy": "workload:strategy_bound",
    "number.nested": "nested:nested_bound",
    "workload.hierarchy": "workload:hierarchy_bound",
    "workload.marginals": "workload:workload_bound",
    "keys.shown": "discovery:keys_bound",
}
"""What evidence proves, for questions that are answered with a bound: a function of the problem and the evidence."""


def checker_of(question: str) -> Callable[[Any, Any], Outcome]:
    """The check that the certificate of a question's solution must pass."""
    found: Callable[[Any, Any], Outcome] = _load(CHECKERS[question][1])
    return found


def bound_of(question: str) -> Callable[[Any, Evidence], float]:
    """What evidence proves about every private answer to a question."""
    found: Callable[[Any, Evidence], float] = _load(BOUNDS[question])
    return found


def _load(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(f"utmost.checking.{module}"), name)
