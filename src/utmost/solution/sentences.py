"""The sentences of certificates, derived from the problem, the mechanism and the kind of proof.

All sentences of certificates are here. A design states its certificate with them, and verification derives them again
from what was verified: a file with other sentences is not verified.

A *form* is a sentence, or one with placeholders for figures that only the solver knows: the number of rounds, the
largest change of a probability. These figures, and the method by which the mechanism was computed, are the solver's own
account of its work: nothing that is proved depends on them. The only free text is the name of the file from which a
user's mechanism was read (`GIVEN`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from utmost.mechanism.decaying_columns import DecayingMechanism
from utmost.privacy import ApproxDP
from utmost.privacy.divergences import as_divergence
from utmost.space.integers import Strategy

FIGURES = {
    "whole": r"(?:0|[1-9][0-9]{0,17})",
    "small": r"(?:0|[1-9](?:e-[0-9]{2,3})?|0\.(?:0{0,3})[1-9])",
    "file": r"[^\x00-\x1f\x7f]{1,255}",
}
"""The values of a form's placeholders, by their names: a count, a small number of one digit, the name of a file."""
SKETCH = "the proof was left out: for a search over levels"

# ---- quantities ----

AVERAGE = "average probability of the truth over the points"
FIRST = "average probability of the first preference over the points"
UNDER_PRIOR = "expected loss under the prior"
TOP = "share of the k most frequent that is missed, on average over a sample of all tallies"
RANKS = {
    True: "expected error of a quantile in rows, where rows are spread evenly around it",
    False: "expected error of a quantile in rows: of the rows at or below it, less its share of all",
}
GUESS = "expected zero-one loss under the uniform prior: one minus the probability of a right guess"

# ---- reasons ----

NUMBER = {
    "geometric": "Ghosh, Roughgarden, Sundararajan 2012: best for every prior and every loss that grows",
    "chains": "every threshold at its binary optimum, which add up to the expected loss (chains, docs/theory.md)",
    "canonical": "Awan, Vadhan 2023: no private noise on the integers costs less, where neighbours are one apart",
    "staircase": "Geng, Viswanath 2016: no private noise on the integers costs less; by a dual flow in rationals",
    "flow": "no private mechanism has a lower expected loss than the bound: a dual flow, checked in rationals",
    "pairs": "no private mechanism has a lower expected loss than the bound: pairs of points around every threshold",
    "prices": "no private mechanism has a lower expected loss than the bound: linear programming duality",
}
"""The reasons of optimality for a number on a line, by the kind of proof."""
UNBOUNDED = {
    "canonical": "Awan and Vadhan 2023, extended from noise to all mechanisms by averaging over translations: no "
    "private mechanism on the unbounded line has a lower worst-case expected loss, for any monotone loss",
    "staircase": "Geng and Viswanath 2016, extended from noise to all mechanisms by averaging over translations: no "
    "private mechanism on the unbounded line has a lower worst-case expected loss; dual certificate in exact rationals",
    "flow": "no private mechanism on the unbounded line has a worst-case expected loss below the bound; dual "
    "certificate in exact rationals",
    "pairs": "no private mechanism on the unbounded line has a worst-case expected loss below the bound: pairs of "
    "points around every threshold",
}
"""The reasons on the unbounded line, for the worst point: the loss of noise is the same everywhere."""
OPEN_ON_LINE = "whether a mechanism that is not noise does better on this line is open"
SHARE_TEST = (
    "Awan and Slavković 2020, Theorem 3.2: of all private tests of this size, the one with phi(x + 1) = upper(phi(x)) "
    "is the most powerful at every larger share"
)
RANKINGS = "BIN Theorem 2 on every prefix; RAIN Theorems 2 to 5"
EVEN_RANKINGS = "BIN Theorem 2 on every prefix, RAIN Theorem 3, from the even boundary (randomised response)"
DUALITY = "linear programming duality over all private mechanisms"
PAIRS = "pairs of neighbours with different truths, and the points nearest to each, bound every private mechanism"
BLOCKS = (
    "Ghazi 2026: for every f-divergence some optimal local mechanism is randomised response on contiguous blocks of "
    "the letters sorted by P0/P1"
)
UNPROVED_BORDER = "BIN Theorem 2: best at every point for its boundary; the best boundary is not proved"
PROVED_BORDER = "no private mechanism errs less often on average than the bound: pairs across the border, or duality"
CHAINS = "chains of tallies between two winners bound every private choice (proof in docs/theory.md)"
TRIPLES = f"dual prices where three are close, and {CHAINS}"
TALLIES = "linear programming duality over all private choices on the listed tallies"
ONE_TIER = "no private mechanism loses less than the bound: one tier's own optimum, all other tiers known"
WINDOW = "no private mechanism is wrong less often than the bound: duality on a window"
BELOW = "has a lower expected loss than the bound,"
"""The common clause of the reasons of a bound. Up to version 0.2 it was "errs less", as if there were no gap."""
ALONE = (
    f"no private mechanism {BELOW} on one of the integers alone, with the whole level spent on it (the value is the "
    "same at every table; the bound holds on average over a line of tables, hence at the worst one)"
)
TOGETHER = (
    f"no private mechanism {BELOW} on average over all integers and tables: a flow between errors in a window, which "
    "is dual to all noise, taken to every mechanism on the range"
)
SUMMED = (
    f"no private mechanism whose answers add up to the number of rows {BELOW} on average over all cells and tables: a "
    "flow between errors, dual to all noise, taken to every mechanism on the range"
)
WITH_REST = (
    f"no private mechanism {BELOW} on average over all integers, what they leave over, and tables: a flow between "
    "errors, dual to all noise, taken to every mechanism on the range"
)
AWAY = {
    False: "no answer of a private mechanism that adds up to the number of rows, and is {away:,} or more from the ends "
    f"in every cell, {BELOW} on average over the cells and the tables it may come from: a flow between errors",
    True: "no answer of a private mechanism that is {away:,} or more from the ends in every integer, and in what they "
    f"leave over, {BELOW} on average over all of these and the tables it may come from: a flow between errors",
}
"""The reasons for answers away from the ends, by whether there may be rows in no cell."""
NESTED = (
    "no private mechanism has a smaller mean absolute error of a count: a flow between the errors of all cells, dual "
    "to all noise"
)
FACTORISATION = (
    "no private mechanism has a smaller mean variance: the dual of the best factorisation, by averaging over shifts, "
    "and the least noise that hides one"
)
KEYS = (
    "Desfontaines, Voss, Gipson and Mandayam 2022: a key of n + 1 holders is shown at most upper(p) often if one of n "
    "holders is shown with p, and one of no holder never"
)
KEYS_BOUND = (
    "no private mechanism shows a key more often than if every unit held one key at most and nothing else was told"
)

# ---- methods: the solver's account, in forms ----

BY_DISTANCE = "closed form in the distance to the boundary"
CARRIED = (BY_DISTANCE, "one shortest-path pass", "two shortest-path passes", "relaxation with a level per edge")
ONE_PASS, TWO_PASSES, RELAXATION = CARRIED[1:]
ROUNDS = "linear program over all boundary values ({whole} round{s}), then BIN Theorem 2 inside"
NEAREST = (
    "nearest",
    "nearest, by one balanced binary mechanism an answer",
    "linear program, since nearest is not private here",
    "exponential on distances, since nearest is not private here",
)
SPARSE = "a sparse linear program over the edges"
VERTEX, INTERIOR = f"{SPARSE}, to a vertex", f"{SPARSE}, by an interior point"
ALIKE = ", with {whole} constraints for {whole}, since the others are alike by symmetry"
COLUMNS = "column generation ({whole} rounds), since there are {results} results at pure levels"
EXTREME_COLUMNS = "linear program over {whole} extreme columns"
TRIVIAL = "nothing, or everything, can be told"
CYCLIC = "cyclic sets of {whole} letters, for the prior is uniform"
ALL_PATTERNS = "all patterns, priced"
KNAPSACK = "columns priced by a knapsack"
MOVED = "no probability was moved by more than {small} to make the solver's answer private"
SIGNS = "the signs could not all be proved: they are non-negative up to rounding"
BORDER = ("balanced mechanism", "mechanism with the best boundary")
GIVEN = "read from {file}"
TABLES = ("rainbow by winner", "linear program")
CHOICES = (
    "geometric noisy max",
    "nearest",
    "three ranks",
    "permute and flip",
    "exponential mechanism",
    *TABLES,
)
"""The mechanisms with which choices are compared, in the order of comparison."""
WEAKEST, EACH, LEFT_OUT = "the strictest level for all", "a count for each tier", "tiers left out"
CUT_OFF = "the noise is too wide for a table of best guesses: what lies beyond an end becomes that end"
NATS = ("kl", "reverse-kl", "js")
"""The divergences that are measured in nats."""

Notes: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Forms:
    """The possible words of each part of a certificate: forms, of which one must match.

    Attributes
    ----------
    quantity : str
        The quantity of the value.
    reason : tuple of str
        The reasons of optimality.
    method : tuple of str
        How the mechanism was computed; several forms, or one with figures, where only the solver knows.
    notes : tuple of tuples of str
        Remarks for a careful reader; all of one tuple, in order.
    """

    quantity: str
    reason: tuple[str, ...]
    method: tuple[str, ...]
    notes: tuple[Notes, ...] = ((),)


def forms_of(problem: Any, mechanism: Any, claim: str, evidence: Mapping[str, Any]) -> Forms:
    """The forms of the certificate of a solution with this claim and this evidence.

    Parameters
    ----------
    problem : Problem
        The problem; well-formed, like all arguments, as a design provides them or a checker has checked them.
    mechanism : FiniteMechanism, DecayingMechanism or ExactMechanism
        Its mechanism.
    claim : "theorem", "bound" or "unproved"
        The claim of the certificate.
    evidence : mapping
        The evidence of the certificate.
    """
    return _FORMS[problem.question](problem, mechanism, claim, evidence)


def moved_words(change: float) -> str:
    """The note on the largest change of a probability that made a solver's answer private."""
    return MOVED.format(small=f"{change:.1g}")


def fits(form: str, text: str) -> bool:
    """Whether a text matches a form, with figures for its placeholders.

    Examples
    --------
    >>> fits(EXTREME_COLUMNS, "linear program over 7 extreme columns")
    True
    >>> fits(EXTREME_COLUMNS, "linear program over 7 extreme columns, approved by the regulator")
    False
    """
    parts = re.split(r"\{(whole|small|file)\}", form)
    pattern = "".join(FIGURES[part] if place % 2 else re.escape(part) for place, part in enumerate(parts))
    return re.fullmatch(pattern, text) is not None


def differing(certificate: Any, forms: Forms) -> list[str]:
    """The names of the parts of a certificate whose words do not match the forms."""
    names = [] if certificate.quantity == forms.quantity else ["quantity"]
    for name in ("reason", "method"):
        if not any(fits(form, getattr(certificate, name)) for form in getattr(forms, name)):
            names.append(name)
    notes = certificate.notes
    matches = [len(notes) == len(expected) and all(map(fits, expected, notes)) for expected in forms.notes]
    return names if any(matches) else [*names, "notes"]


# ---- by question ----


def _without_boundary(space: Any, crossing: Any) -> Any:
    """Mask of the points whose component has none of the crossing edges."""
    touched = np.zeros(len(space.points), dtype=bool)
    touched[space.edge_indices[crossing].ravel()] = True
    return ~np.isin(space.components, space.components[touched])


def _binary(reason: str, anchored: str) -> Callable[..., Forms]:
    def forms(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
        space, truth = problem.space, problem.data["truth"]
        a, b = space.edge_indices.T
        if anchored == "known":
            apart = ~np.isin(space.components, space.components[problem.data["known"]])
        else:
            apart = _without_boundary(space, truth[a] != truth[b])
        notes: Notes = ()
        if apart.any():
            parts = len(np.unique(space.components[apart]))
            notes = (
                f"{parts} component{'s' * (parts > 1)} of the space ha{'s' if parts == 1 else 've'} neither a boundary "
                f"nor a known point: the truth is told there with probability 1 ({int(apart.sum())} points).",
            )
        return Forms(AVERAGE, (reason,), CARRIED, (notes,))

    return forms


def _best_boundary(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    worst = problem.data["criterion"] == "worst"
    quantity = (
        "probability of the truth at the worst point" if worst else "average probability of the truth under the prior"
    )
    method = (ROUNDS.replace("{whole} round{s}", "1 round"), ROUNDS.replace("{s}", "s"))
    return Forms(quantity, ("linear programming duality on the graph of datasets",), method)


def _unreached(problem: Any) -> Notes:
    """The note on points that get their first preference because their component has no boundary."""
    region = problem.data["region"]
    a, b = problem.space.edge_indices.T
    apart = int(_without_boundary(problem.space, region[a] != region[b]).sum())
    return (f"{apart} points lie in parts without a boundary: their first preference is given.",) if apart else ()


def _rankings(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    return Forms(FIRST, (RANKINGS, EVEN_RANKINGS), (BY_DISTANCE,), (_unreached(problem),))


def _ranking_boundary(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    return Forms(
        "expected weight of the output's position in the ranking",
        ("linear programming duality on the boundary rainbow graph",),
        ("linear program over homogeneous boundaries, then the closed form inside",),
        (_unreached(problem),),
    )


def _lexicographic(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    return Forms(
        FIRST,
        ("linear programming duality, for first preferences; then the most second ones, and so on",),
        (f"{max(len(problem.data['outputs']) - 1, 1)} linear programs, one per position",),
        ((MOVED,),),
    )


def _nearest(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    return Forms(
        "probability of the true answer under the prior", (PAIRS if "pairs" in evidence else DUALITY,), NEAREST
    )


def _tight(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    structured = isinstance(mechanism, DecayingMechanism)
    how = f"the equations of tight constraints{', by the structure of the space' * structured}"
    return Forms(GUESS, ("REG Theorem 3",), (how,), ((), (SIGNS,)))


def _regular(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    bound = f"REG's bound for this prior is {1 - math.fsum(evidence['coefficients']):.12g}"
    return Forms(
        UNDER_PRIOR,
        ("REG Theorem 3: tight constraints are optimal for every regular prior, and this one is",),
        ("tight constraints, chosen because the prior is regular and the loss zero-one",),
        ((bound,), (bound, SIGNS)),
    )


def _optimal(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    worst = problem.data["criterion"] == "worst"
    listed = COLUMNS.replace("{results}", str(len(problem.space.points)))
    ways = (SPARSE, VERTEX, INTERIOR, VERTEX + ALIKE, INTERIOR + ALIKE, listed)
    return Forms(f"expected loss {'at the worst point' if worst else 'under the prior'}", (DUALITY,), ways, ((MOVED,),))


def _testing(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    limited = problem.question == "local.limited_testing"
    name, count = as_divergence(problem.data["divergence"]).name, len(mechanism.outputs)
    how = f"letters sorted by P0/P1, {count} block{'s' if count > 1 else ''} by Dinkelbach's iteration"
    return Forms(
        f"{name} divergence of the answers under the two hypotheses" + (", nats" if name in NATS else ""),
        ("prices of letters bound every private mechanism, with any number of outputs" if limited else BLOCKS,),
        (how + (f", at most {problem.data['outputs']} allowed" if limited else ""),),
    )


def _information(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    return Forms(
        "mutual information between letter and answer, nats",
        ("prices of letters bound every private mechanism (LIM Theorem 3.3.2 and linear programming duality)",),
        (TRIVIAL, CYCLIC, ALL_PATTERNS, KNAPSACK),
    )


def _records(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    return Forms(
        f"{as_divergence(problem.data['divergence']).name} divergence of the answers under the two joint laws",
        ("linear programming duality over all extreme columns of the graph of records",),
        (EXTREME_COLUMNS,),
    )


def _patterns(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    return Forms(
        "sum of the utilities of all outputs",
        ("LIM Theorem 3.3.4 and linear programming duality over all patterns",),
        (f"columns brought in from all {2 ** len(problem.space.points) - 1} patterns as their prices called for them",),
    )


def _worst_patterns(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    return Forms(
        f"the least of {len(problem.data['utilities'])} sums of utilities of all outputs",
        ("the least utility is at most an average of them; LIM Theorem 3.3.4 and duality over all patterns",),
        (f"one linear program over all {2 ** len(problem.space.points) - 1} patterns",),
    )


def _border(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    reason = UNPROVED_BORDER if claim == "unproved" else PROVED_BORDER
    return Forms("probability of a wrong answer under the prior", (reason,), BORDER)


def _choice(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    loss = problem.data["loss"]
    quantity = {"zero-one": "probability of a wrong answer", "shortfall": "expected votes behind the winner"}
    proof = proof_of_choice(evidence)
    comparisons = _compared(problem, mechanism)
    reasons = comparisons if claim == "unproved" else tuple(f"{words}; {proof}" for words in comparisons)
    return Forms(
        quantity.get(loss, f"expected {loss} loss") + " under the prior",
        reasons,
        (mechanism.name,),
        ((f"the value is {_averaged(problem, mechanism)}",),),
    )


def _compared(problem: Any, mechanism: Any) -> tuple[str, ...]:
    """Every possible comparison of a choice: with those that have a formula, and with any of the others.

    Whether the latter, tables that must be solved for, were compared is the solver's account.
    """
    from utmost.theory.selection.choices import formula_choices

    formulas = {mechanism.name, *(law.name for law in formula_choices(mechanism.contest, problem.privacy))}
    subsets = [tables for many in range(len(TABLES) + 1) for tables in combinations(TABLES, many)]
    return tuple(compared_words([name for name in CHOICES if name in formulas.union(tables)]) for tables in subsets)


def proof_of_choice(evidence: Mapping[str, Any]) -> str:
    """The argument that bounds every private choice, by its evidence."""
    return TRIPLES if "sides" in evidence else TALLIES if evidence else CHAINS


def compared_words(names: list[str]) -> str:
    """The sentence that a choice has the least expected loss of those compared."""
    return f"the least expected loss of {', '.join(names)}" if len(names) > 1 else "nothing else was tried"


def _averaged(problem: Any, mechanism: Any) -> str:
    """The note on whether the value of a choice is exact, or estimated, and with which standard error."""
    from utmost.theory.selection.tally_averages import as_tally_prior, expected_loss, weigh_tallies

    prior = as_tally_prior(problem.data["prior"], problem.space)
    weighed = weigh_tallies(mechanism.contest, problem.privacy, prior)
    error = 0.0 if weighed.lines is None else expected_loss(mechanism, weighed, problem.data["loss"]).error
    return weighed.words + (f"; standard error {error:.2g}" if error else "")


def _seen_through(problem: Any, reason: str, statistic: str) -> tuple[str, ...]:
    """The reason, with the class of mechanisms for which a bound on results holds (REG Definition 2).

    It holds for every private mechanism on tables where results have a section: a map to tables that maps neighbours
    to neighbours, as for counts, people counted once, and disjoint cells. Sums, overlapping counts and the pair behind
    a mean have none. Files of earlier versions have the words without the class.
    """
    space = problem.space
    disjoint = getattr(space, "moves", "any") in ("any", "exchange", "sum-zero")
    if space.reach <= 1 and disjoint:
        return (reason,)
    for words in ("no private mechanism", "no answer of a private mechanism"):
        if reason.startswith(words):
            return (
                f"{words} that sees the table only through {statistic}{_joined(reason.removeprefix(words))}",
                reason,
            )
    return (reason,)


def _joined(rest: str) -> str:
    """The rest of a sentence after an inserted clause."""
    for relative in (" that ", " whose "):
        if rest.startswith(relative):
            return f", and{rest}"
    return rest


def _number(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    loss = problem.data["loss"]
    quantity = "the same at every point" if problem.data["unbiased"] else "under the prior"
    reasons = NUMBER if problem.space.is_bounded else UNBOUNDED
    return Forms(
        f"expected {loss} loss, {quantity}" if problem.data["unbiased"] else f"expected {loss} loss {quantity}",
        _seen_through(problem, OPEN_ON_LINE if claim == "unproved" else reasons[evidence["proof"]], "this number"),
        (mechanism.name,),
        ((CUT_OFF,) if getattr(mechanism, "remap", "") == "cut" else (),),
    )


def tiers_method(grid: Any, mechanism: Any) -> str:
    """The method for several tiers in words, by which of them are added up in which sum."""
    if hasattr(mechanism, "window"):
        return f"linear program on a window of {mechanism.window.points} points"
    if len(mechanism.parts) == 1 and len(mechanism.parts[0]) == len(grid.lines):
        return WEAKEST
    return LEFT_OUT if mechanism.left_out else EACH


def _tiered_count(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    notes = tuple(f"tier {tier + 1} is left out: its middle stands for its count" for tier in mechanism.left_out)
    return Forms(
        f"expected {problem.data['loss']} loss under a uniform prior over the tiers' counts",
        (ONE_TIER,),
        (tiers_method(problem.space, mechanism),),
        (notes,),
    )


def _tiered_choice(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    return Forms(
        "probability of a wrong answer under a uniform prior over the tiers' integers",
        (WINDOW if evidence else ONE_TIER,),
        (tiers_method(problem.space, mechanism),),
    )


def _vector(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    space, level, loss = problem.space, problem.privacy, problem.data["loss"]
    pure = isinstance(level, ApproxDP) and level.delta == 0
    whole = space.moves == "sum-zero" and space.dimension > 2
    if "away" in evidence:
        reason = AWAY[bool(evidence.get("rest", False))].format(away=evidence["away"])
    elif evidence.get("rest", False):
        reason = WITH_REST
    elif "radius" in evidence:
        reason = SUMMED if whole else TOGETHER
    else:
        reason = SUMMED if whole and loss == "absolute" and pure else ALONE
    if not space.is_bounded:
        reason = reason.replace("on the range", "on the unbounded lattice")
    reasons = _seen_through(problem, reason, "these integers")
    earlier = tuple(words.replace(BELOW, "errs less") for words in reasons)
    return Forms(f"expected {loss} loss of one integer", reasons + earlier, (mechanism.name,))


def strategy_method(space: Any, mechanism: Any) -> str:
    """The noise and the sums of cells to which it is added, in words."""
    of = "cells"
    if isinstance(space, Strategy):
        alone = {first for first, weights in space.rows if len(weights) == 1}
        form = "cells and blocks" if len(alone) == space.cells.dimension else "a factorisation"
        of = f"{space.dimension} weighted sums of cells, {form}"
    noise = mechanism.noise
    carries = hasattr(noise, "widths")
    return f"geometric noise on {of}, which carries" if carries else f"{noise.single.kind} noise on {of}"


def _strategy(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    number = "count" if problem.data["wanted"] == "running" else "range"
    how = strategy_method(problem.space, mechanism)
    return Forms(f"mean variance of a {number}", (FACTORISATION,), (how,))


def _nested(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    from utmost.theory.workload.prefix_noise import as_carried_law

    law = as_carried_law(mechanism)
    carries = law is not None and any(law.widths)
    return Forms(
        "mean absolute error of a count", (NESTED,), ("geometric noise on cells" + ", which carries" * carries,)
    )


def _tables(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    return Forms("variance of one number, averaged over all", (FACTORISATION,), (mechanism.name,))


def _keys(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    reason = KEYS if claim == "theorem" else KEYS_BOUND
    return Forms("units that a key needs to be shown, on average", (reason,), (mechanism.name,))


def _top(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    return Forms(TOP, ("nothing is known about better ones",), (mechanism.name,))


def _ranks(problem: Any, mechanism: Any, claim: str, evidence: Any) -> Forms:
    choices = problem.question == "ranks.choices"
    how = mechanism.name if choices else f"a noisy CDF: {mechanism.name}"
    return Forms(RANKS[choices], ("nothing is known about better ones",), (how,))


def _always(quantity: str, reason: str, method: str) -> Callable[..., Forms]:
    return lambda problem, mechanism, claim, evidence: Forms(quantity, (reason,), (method,))


_FORMS: dict[str, Callable[[Any, Any, str, Any], Forms]] = {
    "binary.extend": _binary("BIN Theorem 2, HET Theorem 1", "known"),
    "binary.balanced": _binary("BIN Corollary 2", "boundary"),
    "binary.best_boundary": _best_boundary,
    "binary.share_test": _always(
        "false-alarm rate at theta", SHARE_TEST, "the orbit of the level's upper function with this size"
    ),
    "rainbow.extend": _rankings,
    "rainbow.best_boundary": _ranking_boundary,
    "rainbow.nearest": _nearest,
    "rainbow.lexicographic": _lexicographic,
    "finite.tight_constraints": _tight,
    "finite.regular": _regular,
    "finite.count": _always(
        UNDER_PRIOR,
        "Ghosh, Roughgarden and Sundararajan 2012: on a count, geometric noise with its best remap",
        "geometric noise with its best remap, chosen because this is a count and the loss grows with the distance",
    ),
    "finite.chains": _always(
        UNDER_PRIOR,
        NUMBER["chains"],
        "the best chain at every threshold, chosen because this is a count and the loss convex, least at the truth",
    ),
    "finite.optimal": _optimal,
    "local.testing": _testing,
    "local.limited_testing": _testing,
    "local.information": _information,
    "local.patterns": _patterns,
    "local.records": _records,
    "local.worst_patterns": _worst_patterns,
    "choice.line": _border,
    "choice.winner": _choice,
    "choice.quantile": _choice,
    "number.line": _number,
    "number.tiers": _tiered_count,
    "choice.tiers": _tiered_choice,
    "number.vector": _vector,
    "number.strategy": _strategy,
    "number.nested": _nested,
    "choice.top": _top,
    "ranks.choices": _ranks,
    "ranks.cdf": _ranks,
    "workload.hierarchy": _tables,
    "workload.marginals": _tables,
    "keys.shown": _keys,
    "given": _always(
        "expected zero-one loss under the uniform prior, after the best remap",
        "a mechanism of your own: its privacy is proved, nothing is claimed about its optimality",
        GIVEN,
    ),
}
