"""The checker of every question: re-checks optimality from the problem and the mechanism, without the solver.

A checker takes a problem and a solution, which may come from a file that holds anything, and returns the checks made,
each in words, and how far the value may be from the best possible. Checkers are imported when something is verified, so
that designing needs none, and a command that verifies nothing starts quickly.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from utmost.theory.verify_evidence import Evidence, Outcome

__all__ = ["BOUNDED", "BOUNDS", "CHECKERS", "ON_GRAPHS", "bound_of", "checker_of"]

CHECKERS: dict[str, tuple[str, str]] = {
    "binary.extend": ("theorem", "binary.verify:check_extension"),
    "binary.balanced": ("theorem", "binary.verify:check_balanced"),
    "binary.best_boundary": ("bound", "binary.verify:check_boundary_bound"),
    "binary.share_test": ("theorem", "binary.verify:check_share_test"),
    "rainbow.extend": ("theorem", "rainbow.verify.checks:check_rainbow"),
    "rainbow.best_boundary": ("bound", "rainbow.verify.checks:check_rainbow_bound"),
    "rainbow.nearest": ("as stated", "rainbow.verify.checks:check_nearest"),
    "rainbow.lexicographic": ("as stated", "rainbow.verify.checks:check_first_preference"),
    "finite.tight_constraints": ("theorem", "priors.verify:check_tight"),
    "finite.regular": ("theorem", "priors.verify:check_regular"),
    "finite.count": ("theorem", "priors.verify:check_count"),
    "finite.chains": ("theorem", "priors.verify:check_chains"),
    "finite.optimal": ("bound", "priors.verify:check_optimal"),
    "local.testing": ("theorem", "local.verify.checks:check_testing"),
    "local.limited_testing": ("bound", "local.verify.checks:check_limited_testing"),
    "local.information": ("bound", "local.verify.checks:check_information"),
    "local.patterns": ("bound", "local.verify.checks:check_patterns"),
    "local.records": ("bound", "local.verify.checks:check_records"),
    "local.worst_patterns": ("bound", "local.verify.checks:check_worst_patterns"),
    "choice.line": ("as stated", "scalar.verify.yes_or_no:check_yes_or_no"),
    "choice.winner": ("as stated", "selection.verify.choices:check_choice"),
    "choice.quantile": ("as stated", "selection.verify.choices:check_choice"),
    "number.line": ("as stated", "scalar.verify.number:check_number"),
    "number.tiers": ("bound", "scalar.verify.tiers:check_tiered_count"),
    "choice.tiers": ("bound", "scalar.verify.tiers:check_tiered_choice"),
    "number.vector": ("as stated", "vector.verify.vectors:check_vector"),
    "number.strategy": ("bound", "workload.verify.checks:check_strategy"),
    "number.nested": ("bound", "workload.verify.nested_counts:check_nested"),
    "choice.top": ("unproved", "selection.verify.top_lists:check_top"),
    "ranks.choices": ("unproved", "selection.verify.ranks:check_ranks"),
    "ranks.cdf": ("unproved", "selection.verify.ranks:check_ranks"),
    "workload.hierarchy": ("bound", "workload.verify.checks:check_hierarchy"),
    "workload.marginals": ("bound", "workload.verify.checks:check_workload"),
    "keys.shown": ("as stated", "partition_selection.verify:check_keys"),
    "given": ("unproved", "priors.verify:check_nothing"),
}
"""For each question the claim of its certificate and the check that it must pass, as "module:function" of
this package; "as stated": the checker depends on the claim."""
ON_GRAPHS = frozenset(
    q for q in CHECKERS if q == "given" or q.partition(".")[0] in ("binary", "rainbow", "finite", "local")
)
"""Questions about a mechanism on the points of a graph; other checkers read the integers' law themselves."""
BOUNDED = {"local.testing"}
"""Questions whose theorem comes with a bound beside it, which the check recomputes."""
BOUNDS: dict[str, str] = {
    "binary.best_boundary": "binary.verify:boundary_bound",
    "rainbow.best_boundary": "rainbow.verify.checks:homogeneous_bound",
    "rainbow.lexicographic": "rainbow.verify.checks:first_preference_bound",
    "rainbow.nearest": "rainbow.verify.checks:nearest_bound",
    "finite.optimal": "priors.verify:loss_bound",
    "local.testing": "local.verify.checks:priced_testing",
    "local.limited_testing": "local.verify.checks:priced_testing",
    "local.information": "local.verify.checks:priced_information",
    "local.patterns": "local.verify.checks:priced_patterns",
    "local.records": "local.verify.checks:priced_records",
    "local.worst_patterns": "local.verify.checks:priced_worst_patterns",
    "choice.winner": "selection.verify.choices:choice_bound",
    "choice.quantile": "selection.verify.choices:choice_bound",
    "number.line": "scalar.verify.number:number_bound",
    "number.tiers": "scalar.verify.tiers:tiered_count_bound",
    "choice.tiers": "scalar.verify.tiers:tiered_choice_bound",
    "number.vector": "vector.verify.vectors:vector_bound",
    "number.strategy": "workload.verify.checks:strategy_bound",
    "number.nested": "workload.verify.nested_counts:nested_bound",
    "workload.hierarchy": "workload.verify.checks:hierarchy_bound",
    "workload.marginals": "workload.verify.checks:workload_bound",
    "keys.shown": "partition_selection.verify:keys_bound",
}
"""For questions that are answered with a bound: the function that computes it from the problem and the evidence."""


def checker_of(question: str) -> Callable[[Any, Any], Outcome]:
    """The check that the certificate of a question's solution must pass."""
    checker: Callable[[Any, Any], Outcome] = _load(CHECKERS[question][1])
    return checker


def bound_of(question: str) -> Callable[[Any, Evidence], float]:
    """The function that computes a question's bound on every private mechanism from the evidence."""
    bound: Callable[[Any, Evidence], float] = _load(BOUNDS[question])
    return bound


def _load(place: str) -> Any:
    """Import "module:function" of this package."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"utmost.theory.{module}"), name)
