"""The kinds of questions: for each, how its solution is checked, what the check relies on, and what it states.

A checker takes a problem and a solution, which may come from a file that holds anything, and returns the checks made,
each in words, and how far the value may be from the best possible. Checkers are imported when something is verified, so
that designing needs none, and a command that verifies nothing starts quickly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from utmost.solution import sentences as s
from utmost.solution import statements
from utmost.solution.phrases import Template
from utmost.solution.statements import Account, Statement

if TYPE_CHECKING:
    from utmost.theory.verify_evidence import Evidence, Outcome

Claim: TypeAlias = Literal["theorem", "bound", "unproved"]


@dataclass(frozen=True)
class Kind:
    """A kind of question.

    Attributes
    ----------
    question : str
        Its name, in problems and in files.
    claim : "theorem", "bound", "unproved" or "as stated"
        The claim that its check proves; "as stated" if the check depends on the claim.
    checker : str
        The check that its solution must pass, as "module:function" of `utmost.theory`.
    relies_on : str
        The theorem or argument that makes the check a proof.
    statement : callable
        What its certificate states.
    account : tuple of Template
        What only the solver can say in the certificate: one of these phrases, or their figures.
    bound : str, optional
        The function that computes its bound from the problem and the evidence, as "module:function"; empty if it is
        answered without a bound.
    has_theorem_with_bound : bool
        Whether its theorem comes with a bound beside it, which the check recomputes.
    is_on_graph : bool
        Whether it is about a mechanism on the points of a graph; other checkers read the law of the integers.
    value : "gain", "loss" or "error"
        Whether the value is bounded from above, from below, or from below and an error in some unit, whose gap is a
        share of it.
    """

    question: str
    claim: Literal["theorem", "bound", "unproved", "as stated"]
    checker: str
    relies_on: str
    statement: Callable[[Any, Any, str, Mapping[str, Any], Account], Statement]
    account: tuple[Template, ...] = ()
    bound: str = ""
    has_theorem_with_bound: bool = False
    is_on_graph: bool = False
    value: Literal["gain", "loss", "error"] = "gain"

    @property
    def check(self) -> Callable[[Any, Any], Outcome]:
        """The check that the certificate of its solution must pass."""
        checker: Callable[[Any, Any], Outcome] = _load(self.checker)
        return checker

    @property
    def compute_bound(self) -> Callable[[Any, Evidence], float]:
        """The function that computes its bound on every private mechanism from the evidence."""
        bound: Callable[[Any, Evidence], float] = _load(self.bound)
        return bound


def _load(place: str) -> Any:
    """Import "module:function" of `utmost.theory`."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"utmost.theory.{module}"), name)


_LAGRANGE = "any weights on the constraints of privacy bound"
_FACTORISATION = "The dual of the best factorisation, by averaging over shifts and the least noise that hides one."
_CHOICES = (
    "A bound by chains of tallies between two winners, or by Lagrange duality with weights on privacy's constraints."
)

KINDS: dict[str, Kind] = {
    kind.question: kind
    for kind in (
        Kind(
            "binary.extend",
            "theorem",
            "binary.verify:check_extension",
            "BIN Theorem 2: a private mechanism is optimal if a known point forces every free value.",
            statements.extension,
            s.CARRIED,
            is_on_graph=True,
        ),
        Kind(
            "binary.balanced",
            "theorem",
            "binary.verify:check_balanced",
            "BIN Corollary 2: every value is the least bound that the boundary's even shares carry to it.",
            statements.balanced,
            s.CARRIED,
            is_on_graph=True,
        ),
        Kind(
            "binary.best_boundary",
            "bound",
            "binary.verify:check_boundary_bound",
            f"Lagrange: {_LAGRANGE} every private mechanism; all but the weights is recomputed.",
            statements.best_boundary,
            (s.ROUNDS,),
            bound="binary.verify:boundary_bound",
            is_on_graph=True,
        ),
        Kind(
            "binary.share_test",
            "theorem",
            "binary.verify:check_share_test",
            "Awan and Slavković 2020: a private test with phi(x + 1) = upper(phi(x)) is the most powerful of its size.",
            statements.always(s.FALSE_ALARMS, s.SHARE_TEST, s.ORBIT),
            is_on_graph=True,
        ),
        Kind(
            "rainbow.extend",
            "theorem",
            "rainbow.verify.checks:check_rainbow",
            "The same chains as for two outputs, for the event of the j best outputs, for every j.",
            statements.rankings,
            (s.RANKINGS, s.EVEN_RANKINGS),
            is_on_graph=True,
        ),
        Kind(
            "rainbow.best_boundary",
            "bound",
            "rainbow.verify.checks:check_rainbow_bound",
            "Lagrange on the boundary rainbow graph: any weights on its constraints bound every homogeneous mechanism.",
            statements.ranked_boundary,
            bound="rainbow.verify.checks:homogeneous_bound",
            is_on_graph=True,
        ),
        Kind(
            "rainbow.nearest",
            "as stated",
            "rainbow.verify.checks:check_nearest",
            f"Lagrange: {_LAGRANGE} the probability of the truth; so do pairs of points.",
            statements.nearest,
            s.NEAREST,
            bound="rainbow.verify.checks:nearest_bound",
            is_on_graph=True,
        ),
        Kind(
            "rainbow.lexicographic",
            "as stated",
            "rainbow.verify.checks:check_first_preference",
            f"Lagrange: {_LAGRANGE} the first preferences of every private mechanism.",
            statements.lexicographic,
            (s.MOVED,),
            bound="rainbow.verify.checks:first_preference_bound",
            is_on_graph=True,
        ),
        Kind(
            "finite.tight_constraints",
            "theorem",
            "priors.verify:check_tight",
            "REG Theorem 3: a mechanism with tight constraints is optimal for every regular prior.",
            statements.tight,
            (s.SIGNS,),
            is_on_graph=True,
            value="loss",
        ),
        Kind(
            "finite.regular",
            "theorem",
            "priors.verify:check_regular",
            "REG Theorems 1 and 3: for a regular prior no private mechanism guesses right more often than this one.",
            statements.regular,
            (s.SIGNS,),
            is_on_graph=True,
            value="loss",
        ),
        Kind(
            "finite.count",
            "theorem",
            "priors.verify:check_count",
            "Ghosh, Roughgarden, Sundararajan 2012: on a count, geometric noise with its best remap is optimal.",
            statements.always(s.UNDER_PRIOR, s.COUNTED, s.CHOSEN_GEOMETRIC),
            is_on_graph=True,
            value="loss",
        ),
        Kind(
            "finite.chains",
            "theorem",
            "priors.verify:check_chains",
            "Chains (docs/theory.md): on a count every threshold is a binary problem, optimal at an orbit.",
            statements.always(s.UNDER_PRIOR, s.CHAINS, s.CHOSEN_CHAIN),
            is_on_graph=True,
            value="loss",
        ),
        Kind(
            "finite.optimal",
            "bound",
            "priors.verify:check_optimal",
            f"Lagrange: {_LAGRANGE} every private mechanism from below.",
            statements.optimal,
            (*s.PROGRAMS, s.MOVED),
            bound="priors.verify:loss_bound",
            is_on_graph=True,
            value="loss",
        ),
        Kind(
            "local.testing",
            "theorem",
            "local.verify.checks:check_testing",
            "Ghazi 2026: no local mechanism beats the best randomised response on contiguous blocks of sorted letters.",
            statements.testing,
            bound="local.verify.checks:priced_testing",
            has_theorem_with_bound=True,
            is_on_graph=True,
        ),
        Kind(
            "local.limited_testing",
            "bound",
            "local.verify.checks:check_limited_testing",
            "Prices of letters bound every private mechanism, whatever its number of outputs.",
            statements.testing,
            bound="local.verify.checks:priced_testing",
            is_on_graph=True,
        ),
        Kind(
            "local.information",
            "bound",
            "local.verify.checks:check_information",
            "Prices of letters bound the mutual information of every private mechanism.",
            statements.information,
            s.INFORMATIVE,
            bound="local.verify.checks:priced_information",
            is_on_graph=True,
        ),
        Kind(
            "local.patterns",
            "bound",
            "local.verify.checks:check_patterns",
            "Prices of letters bound every private mechanism, checked on all 2^k patterns.",
            statements.patterns,
            bound="local.verify.checks:priced_patterns",
            is_on_graph=True,
        ),
        Kind(
            "local.records",
            "bound",
            "local.verify.checks:check_records",
            "Prices of records bound every private mechanism, checked on all extreme columns of the graph of records.",
            statements.records,
            (s.EXTREME_COLUMNS,),
            bound="local.verify.checks:priced_records",
            is_on_graph=True,
        ),
        Kind(
            "local.worst_patterns",
            "bound",
            "local.verify.checks:check_worst_patterns",
            "The least of several utilities is at most any average of them, which prices of letters bound.",
            statements.worst_patterns,
            bound="local.verify.checks:priced_worst_patterns",
            is_on_graph=True,
        ),
        Kind(
            "choice.line",
            "as stated",
            "scalar.verify.yes_or_no:check_yes_or_no",
            "A lower bound by pairs across the border, or by dual prices on the points near it.",
            statements.border,
            (s.BALANCED, s.BEST_BORDER),
            value="loss",
        ),
        *(
            Kind(
                question,
                "as stated",
                "selection.verify.choices:check_choice",
                _CHOICES,
                statements.choice,
                tuple(s.COMPARED.values()),
                bound="selection.verify.choices:choice_bound",
                value="loss",
            )
            for question in ("choice.winner", "choice.quantile")
        ),
        Kind(
            "number.line",
            "as stated",
            "scalar.verify.number:check_number",
            "Theorems on counts and noise, dual flows in rationals for sums, pairs across thresholds, or dual prices.",
            statements.number,
            bound="scalar.verify.number:number_bound",
            value="error",
        ),
        Kind(
            "number.tiers",
            "bound",
            "scalar.verify.tiers:check_tiered_count",
            "A bound by one tier with all others known (Ghosh, Roughgarden, Sundararajan 2012).",
            statements.tiered_count,
            bound="scalar.verify.tiers:tiered_count_bound",
            value="error",
        ),
        Kind(
            "choice.tiers",
            "bound",
            "scalar.verify.tiers:check_tiered_choice",
            "A bound by pairs across the border with all other tiers known, or by dual prices on a window of the grid.",
            statements.tiered_choice,
            bound="scalar.verify.tiers:tiered_choice_bound",
            value="loss",
        ),
        Kind(
            "number.vector",
            "as stated",
            "vector.verify.vectors:check_vector",
            "A lower bound by one integer (pairs of points, or the staircase's dual flow) or by flows between vectors.",
            statements.vector,
            bound="vector.verify.vectors:vector_bound",
            value="error",
        ),
        Kind(
            "number.strategy",
            "bound",
            "workload.verify.checks:check_strategy",
            "The variance of sums of cells from their least squares weights; the dual of the best factorisation.",
            statements.strategy,
            bound="workload.verify.checks:strategy_bound",
            value="error",
        ),
        Kind(
            "number.nested",
            "bound",
            "workload.verify.nested_counts:check_nested",
            "The mean absolute error of running sums of noisy cells, enclosed; a flow between errors of all cells.",
            statements.nested,
            bound="workload.verify.nested_counts:nested_bound",
            value="error",
        ),
        Kind(
            "choice.top",
            "unproved",
            "selection.verify.top_lists:check_top",
            "Recompute the miss rate on the same public sample of tallies; no optimality claim.",
            statements.top_list,
            value="loss",
        ),
        Kind(
            "ranks.choices",
            "unproved",
            "selection.verify.ranks:check_ranks",
            "Recompute the expected error in rows from the law of the selections or of the noise; no optimality claim.",
            statements.quantiles,
            value="loss",
        ),
        Kind(
            "ranks.cdf",
            "unproved",
            "selection.verify.ranks:check_ranks",
            "Recompute the expected error in rows from the law of the selections or of the noise; no optimality claim.",
            statements.quantiles_of_cdf,
            value="loss",
        ),
        Kind(
            "workload.hierarchy",
            "bound",
            "workload.verify.checks:check_hierarchy",
            _FACTORISATION,
            statements.tables,
            bound="workload.verify.checks:hierarchy_bound",
            value="error",
        ),
        Kind(
            "workload.marginals",
            "bound",
            "workload.verify.checks:check_workload",
            _FACTORISATION,
            statements.tables,
            bound="workload.verify.checks:workload_bound",
            value="error",
        ),
        Kind(
            "keys.shown",
            "as stated",
            "partition_selection.verify:check_keys",
            "Induction: p(0) = 0, and one more contributor raises the release probability p to at most upper(p).",
            statements.keys,
            bound="partition_selection.verify:keys_bound",
            value="loss",
        ),
        Kind(
            "given",
            "unproved",
            "priors.verify:check_nothing",
            "A mechanism of the user's own: nothing is claimed about its optimality.",
            statements.from_file,
            (s.FROM_FILE,),
            is_on_graph=True,
            value="loss",
        ),
    )
}
"""All kinds of questions, by their names."""
