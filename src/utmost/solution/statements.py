"""What the certificate of a solution states, as data: one function for each kind of question.

A `Statement` is made of a problem, its mechanism, the claim and its evidence. A design makes one to write its
certificate; verification makes it again from what it has checked, and compares its words with those of the file. What
only the solver can say, such as how many rounds it took, is its *account*: phrases that are read back from the file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.mechanism.decaying_columns import DecayingMechanism
from utmost.privacy import ApproxDP
from utmost.privacy.divergences import as_divergence
from utmost.solution import sentences as s
from utmost.solution.older_wordings import OLDER_WORDINGS
from utmost.solution.phrases import Phrase, Template
from utmost.space.integers import Strategy

NATS = ("kl", "reverse-kl", "js")
"""The divergences that are measured in nats."""

Account: TypeAlias = tuple[Phrase, ...]
"""The phrases in which a solver gives account of its work; nothing that is proved depends on them."""


class Words(NamedTuple):
    """The words of a certificate, as texts."""

    quantity: str
    reason: str
    method: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Statement:
    """What a certificate states.

    Attributes
    ----------
    quantity : Phrase
        What the value is.
    reason : Phrase
        The theorem with its citation, or the argument of the bound.
    method : Phrase, optional
        How the mechanism was computed; None if the solver gives no account of it.
    notes : tuple of Phrase
        Remarks for a careful reader; one is None if the solver gives no account of it.
    scope : str
        The statistic through which the mechanisms of the bound see the table; empty if the bound holds for every
        private mechanism on tables.
    """

    quantity: Phrase
    reason: Phrase
    method: Phrase | None
    notes: tuple[Phrase | None, ...] = ()
    scope: str = ""

    @property
    def words(self) -> Words:
        """The statement in words."""
        reason = s.SCOPED(self.scope, self.reason) if self.scope else self.reason
        return Words(str(self.quantity), str(reason), str(self.method), tuple(map(str, self.notes)))

    def differing(self, words: Words) -> list[str]:
        """The parts of some words that are not those of the statement, in the wording of any version."""
        same = {
            "quantity": words.quantity in _wordings(self.quantity),
            "reason": words.reason in (self.words.reason, str(older(self.reason))),
            "method": words.method in _wordings(self.method),
            "notes": len(words.notes) == len(self.notes)
            and all(text in _wordings(note) for text, note in zip(words.notes, self.notes, strict=True)),
        }
        return [part for part, is_same in same.items() if not is_same]


def older(phrase: Phrase) -> Phrase:
    """A phrase as version 0.2 worded it."""
    return replace(phrase, template=OLDER_WORDINGS.get(phrase.template, phrase.template))


def _wordings(phrase: Phrase | None) -> set[str]:
    """A phrase in words, and as version 0.2 worded it; nothing for a phrase that is missing."""
    return set() if phrase is None else {str(phrase), str(older(phrase))}


def read_account(words: Words, templates: tuple[Template, ...]) -> Account:
    """The solver's account in the words of a file: the phrases of these templates."""
    return tuple(
        replace(phrase, template=template)
        for text in (words.reason, words.method, *words.notes)
        for template in templates
        for wording in (template, OLDER_WORDINGS.get(template))
        if wording is not None and (phrase := wording.read(text)) is not None
    )


def accounted(account: Account, *templates: Template) -> Phrase | None:
    """The phrase of an account that has one of these templates; else the first template, if it needs no figures."""
    phrases = (phrase for phrase in account if phrase.template in templates)
    return next(phrases, None if templates[0].kinds else templates[0]())


# ---- yes/no and ranked answers on graphs ----


def _without_boundary(space: Any, crossing: Any) -> NDArray[np.bool_]:
    """Mask of the points whose component has none of the crossing edges."""
    touched = np.zeros(len(space.points), dtype=bool)
    touched[space.edge_indices[crossing].ravel()] = True
    return np.asarray(~np.isin(space.components, space.components[touched]))


def extension(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """The optimal extension of known values."""
    space = problem.space
    apart = ~np.isin(space.components, space.components[problem.data["known"]])
    return Statement(s.AVERAGE(), s.BIN_2(), accounted(account, *s.CARRIED), _components(space, apart))


def balanced(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """The balanced mechanism."""
    space, truth = problem.space, problem.data["truth"]
    a, b = space.edge_indices.T
    notes = _components(space, _without_boundary(space, truth[a] != truth[b]))
    return Statement(s.AVERAGE(), s.BIN_COROLLARY(), accounted(account, *s.CARRIED), notes)


def _components(space: Any, apart: NDArray[np.bool_]) -> tuple[Phrase, ...]:
    """The note on components in which nothing is known."""
    if not apart.any():
        return ()
    number = len(np.unique(space.components[apart]))
    components = "1 component of the space has" if number == 1 else f"{number} components of the space have"
    return (s.WITHOUT_BOUNDARY(components, int(apart.sum())),)


def best_boundary(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """The best boundary of a yes/no question."""
    quantity = s.TRUTH_AT_WORST if problem.data["criterion"] == "worst" else s.TRUTH_UNDER_PRIOR
    return Statement(quantity(), s.ON_DATASETS(), accounted(account, s.ROUNDS))


def _unranked(problem: Any) -> tuple[Phrase, ...]:
    """The note on points that get their first preference because their component has no boundary."""
    region = problem.data["region"]
    a, b = problem.space.edge_indices.T
    apart = int(_without_boundary(problem.space, region[a] != region[b]).sum())
    return (s.WITHOUT_RANKED_BOUNDARY(apart),) if apart else ()


def rankings(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """Ranked answers inside regions of one ranking."""
    reason = accounted(account, s.RANKINGS, s.EVEN_RANKINGS) or s.RANKINGS()
    return Statement(s.FIRST(), reason, s.BY_DISTANCE(), _unranked(problem))


def ranked_boundary(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """The best homogeneous boundary of ranked answers."""
    return Statement(s.WEIGHT(), s.ON_RAINBOW(), s.HOMOGENEOUS(), _unranked(problem))


def lexicographic(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """Most first preferences, then most second ones, and so on."""
    programs = max(len(problem.data["outputs"]) - 1, 1)
    return Statement(s.FIRST(), s.BY_POSITIONS(), s.POSITIONS(programs), (accounted(account, s.MOVED),))


def nearest(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """Any number of answers, by the distance to the nearest point with another truth."""
    reason = s.PAIRS if "pairs" in evidence else s.DUALITY
    return Statement(s.TRUE_ANSWER(), reason(), accounted(account, *s.NEAREST))


# ---- queries with finitely many results ----


def tight(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """The tight-constraints mechanism."""
    method = s.STRUCTURED if isinstance(mechanism, DecayingMechanism) else s.EQUATIONS
    return Statement(s.GUESS(), s.REG_3(), method(), _signs(account))


def _signs(account: Account) -> tuple[Phrase, ...]:
    """The solver's remark, if it makes one, that not all signs could be proved."""
    return tuple(phrase for phrase in account if phrase.template == s.SIGNS)


def regular(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """Tight constraints for a regular prior."""
    bound = s.REGULAR_BOUND(1 - math.fsum(evidence["coefficients"]))
    return Statement(s.UNDER_PRIOR(), s.REGULAR(), s.CHOSEN_TIGHT(), (bound, *_signs(account)))


def optimal(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """The optimum by a linear program."""
    quantity = s.AT_WORST if problem.data["criterion"] == "worst" else s.UNDER_PRIOR
    method = accounted(account, *s.PROGRAMS)
    if method is not None and method.template == s.COLUMNS:  # the number of results is no matter of the account
        method = s.COLUMNS(method.figures[0], len(problem.space.points))
    return Statement(quantity(), s.DUALITY(), method, (accounted(account, s.MOVED),))


# ---- local privacy ----


def testing(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """The local mechanism that is best for a test, with any number of outputs or a limited one."""
    name, count = as_divergence(problem.data["divergence"]).name, len(mechanism.outputs)
    quantity = (s.DIVERGENCE_IN_NATS if name in NATS else s.DIVERGENCE)(name)
    blocks = f"{count} block{'s' * (count > 1)}"
    if problem.question == "local.limited_testing":
        return Statement(quantity, s.LETTERS(), s.LIMITED_BLOCKS(blocks, problem.data["outputs"]))
    return Statement(quantity, s.BLOCKS(), s.SORTED_BLOCKS(blocks))


def information(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """The local mechanism of the largest mutual information."""
    return Statement(s.INFORMATION(), s.LETTERS_INFORM(), accounted(account, *s.INFORMATIVE))


def records(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """The local mechanism for records of several attributes."""
    quantity = s.JOINT_DIVERGENCE(as_divergence(problem.data["divergence"]).name)
    return Statement(quantity, s.ON_RECORDS(), accounted(account, s.EXTREME_COLUMNS))


def patterns(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """The local mechanism of the largest sum of utilities."""
    return Statement(s.UTILITIES(), s.ON_PATTERNS(), s.PATTERNS(2 ** len(problem.space.points) - 1))


def worst_patterns(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """The local mechanism with the largest of the least of several utilities."""
    quantity = s.LEAST_UTILITIES(len(problem.data["utilities"]))
    return Statement(quantity, s.LEAST_OF_PATTERNS(), s.ONE_PROGRAM(2 ** len(problem.space.points) - 1))


# ---- choices ----


def border(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """Yes or no about a number on a line."""
    reason = s.UNPROVED_BORDER if claim == "unproved" else s.PROVED_BORDER
    return Statement(s.WRONG(), reason(), accounted(account, s.BALANCED, s.BEST_BORDER))


def choice(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """A winner or a quantile among listed candidates.

    With which of the mechanisms that have a formula it was compared follows from the problem; whether it was compared
    with those that must be solved for is the solver's account.
    """
    from utmost.theory.selection.choices import formula_choices

    loss, proof = problem.data["loss"], s.proof_of_choice(claim, evidence)
    formulas = {mechanism.name, *(law.name for law in formula_choices(mechanism.contest, problem.privacy))}
    solved = {name for phrase in account for name in phrase.figures[0] if name in s.SOLVED_CHOICES}
    names = tuple(name for name in s.CHOICES if name in formulas | solved)
    quantity = {"zero-one": s.WRONG(), "shortfall": s.BEHIND()}.get(loss, s.LOSS_UNDER_PRIOR(loss))
    notes = (s.AVERAGED(_averaged(problem, mechanism)),)
    return Statement(quantity, s.compared(names, proof), s.NAMED(mechanism.name), notes)


def _averaged(problem: Any, mechanism: Any) -> str:
    """Whether the value of a choice is exact, or estimated, and with which standard error."""
    from utmost.theory.selection.tally_averages import as_tally_prior, expected_loss, weigh_tallies

    prior = as_tally_prior(problem.data["prior"], problem.space)
    weighed = weigh_tallies(mechanism.contest, problem.privacy, prior)
    error = 0.0 if weighed.lines is None else expected_loss(mechanism, weighed, problem.data["loss"]).error
    return weighed.words + (f"; standard error {error:.2g}" if error else "")


def top_list(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """The most frequent of listed candidates."""
    return Statement(s.MISSED(), s.NO_BOUND(), s.NAMED(mechanism.name))


def quantiles(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """Quantiles between bounds, by selections in a tree."""
    return Statement(s.RANKS_SPREAD(), s.NO_BOUND(), s.NAMED(mechanism.name))


def quantiles_of_cdf(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """Quantiles between bounds, from a noisy cumulative distribution."""
    return Statement(s.RANKS(), s.NO_BOUND(), s.NOISY_CDF(mechanism.name))


# ---- numbers ----


def number(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """One number on a line."""
    quantity = (s.LOSS_ANYWHERE if problem.data["unbiased"] else s.LOSS_UNDER_PRIOR)(problem.data["loss"])
    reasons = s.NUMBER if problem.space.bounded else s.UNBOUNDED
    reason = s.OPEN_ON_LINE if claim == "unproved" else reasons[evidence["proof"]]
    notes = (s.CUT_OFF(),) if mechanism.is_cut_off else ()
    scope = "" if problem.space.extends_to_tables or reason in s.NOT_OF_MECHANISMS else s.THIS_NUMBER
    return Statement(quantity, reason(), s.NAMED(mechanism.name), notes, scope)


def tiered_count(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """The sum of the integers of several tiers."""
    notes = tuple(s.LEFT_OUT(tier + 1) for tier in mechanism.left_out)
    return Statement(s.LOSS_OF_TIERS(problem.data["loss"]), s.ONE_TIER(), s.NAMED(mechanism.name), notes)


def tiered_choice(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """Yes or no about the sum of the integers of several tiers."""
    reason = s.WINDOW if evidence else s.ONE_TIER
    return Statement(s.WRONG_OF_TIERS(), reason(), s.NAMED(mechanism.name))


def vector(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """Several integers with one vector of noise."""
    space, loss = problem.space, problem.data["loss"]
    scope = "" if space.extends_to_tables else s.THESE_INTEGERS
    reason = _vector_reason(space, problem.privacy, loss, evidence)
    return Statement(s.LOSS_OF_ONE(loss), reason, s.NAMED(mechanism.name), scope=scope)


def _vector_reason(space: Any, level: Any, loss: str, evidence: Mapping[str, Any]) -> Phrase:
    """The argument that bounds the loss of one integer of a vector, by the evidence."""
    rest, domain = bool(evidence.get("rest", False)), s.RANGE if space.bounded else s.LATTICE
    is_whole = space.moves == "sum-zero" and space.dimension > 2
    if "away" in evidence:
        return (s.WITH_REST_AWAY if rest else s.SUMMED_AWAY)(evidence["away"])
    if rest:
        return s.WITH_REST(domain)
    if "radius" in evidence:
        return (s.SUMMED if is_whole else s.TOGETHER)(domain)
    is_pure = isinstance(level, ApproxDP) and level.delta == 0
    return s.SUMMED(domain) if is_whole and loss == "absolute" and is_pure else s.ALONE()


def strategy(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """Running counts or ranges, from noise on sums of cells."""
    from utmost.mechanism.noise.carried import CarriedLaw

    quantity = s.VARIANCE_OF_COUNT if problem.data["wanted"] == "running" else s.VARIANCE_OF_RANGE
    sums, noise = _sums_of_cells(problem.space), mechanism.noise
    method = s.CARRYING(sums) if isinstance(noise, CarriedLaw) else s.NOISE_ON_SUMS(noise.single.kind, sums)
    return Statement(quantity(), s.FACTORISATION(), method)


def _sums_of_cells(space: Any) -> str:
    """The sums of cells to which noise is added."""
    if not isinstance(space, Strategy):
        return "cells"
    alone = {first for first, weights in space.rows if len(weights) == 1}
    form = "cells and blocks" if len(alone) == space.cells.dimension else "a factorisation"
    return f"{space.dimension} weighted sums of cells, {form}"


def nested(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """Nested counts, from noise on cells."""
    from utmost.theory.workload.prefix_noise import as_carried_law

    law = as_carried_law(mechanism)
    is_carrying = law is not None and any(law.widths)
    method = s.CARRYING("cells") if is_carrying else s.NOISE_ON_SUMS("geometric", "cells")
    return Statement(s.ERROR_OF_COUNT(), s.NESTED(), method)


def tables(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """Marginal tables and hierarchies."""
    return Statement(s.VARIANCE(), s.FACTORISATION(), s.NAMED(mechanism.name))


def keys(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """Partition selection."""
    reason = s.KEYS if claim == "theorem" else s.KEYS_BOUND
    return Statement(s.CONTRIBUTORS(), reason(), s.NAMED(mechanism.name))


def from_file(problem: Any, mechanism: Any, claim: str, evidence: Any, account: Account) -> Statement:
    """A mechanism of the user's own."""
    return Statement(s.REMAPPED(), s.NOT_CLAIMED(), accounted(account, s.FROM_FILE))


def always(quantity: Template, reason: Template, method: Template) -> Callable[..., Statement]:
    """A statement that is the same for every problem of a kind."""
    statement = Statement(quantity(), reason(), method())
    return lambda problem, mechanism, claim, evidence, account: statement
