"""Selection of a candidate: the best known mechanism, with a lower bound.

Geometric noisy max, permute and flip, the exponential mechanism, the rainbow mechanism on lines of leads, *nearest*
where it is private, and the linear program where tallies are few: each is private by itself, and the one with the
lowest expected declared loss under the prior is taken. `winners` and `quantiles` define the contest. Everything is
chosen from public parameters.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from utmost.errors import InvalidInput, SolverFailed, UnsupportedLevel, shown
from utmost.exact.arrays import Floats, Integers
from utmost.mechanism.sampling import WORD
from utmost.mechanism.violations import find_violation
from utmost.privacy import ApproxDP, Level
from utmost.privacy.pure_part import pure_within
from utmost.solution import Certificate, Problem, Solution, certificate_of, proved_bound
from utmost.solution.sentences import compared_words, proof_of_choice
from utmost.space import Space
from utmost.space.edge_levels import on_edges
from utmost.space.folds import can_fold, folded, folded_places, folded_space
from utmost.theory.linear_program import best_mechanism, mix_until_private
from utmost.theory.rainbow.design.plurality import even_boundary, longest_line
from utmost.theory.rainbow.design.rankings import line
from utmost.theory.selection.choice_tables import (
    MOST_FOLDED,
    MOST_LISTED,
    ChoiceTable,
    FoldedTable,
    LeadLines,
    TallyTable,
)
from utmost.theory.selection.choices import (
    ChoiceLaw,
    formula_choices,
)
from utmost.theory.selection.confidence_sets import confidence_intervals, rows_within
from utmost.theory.selection.design.triples import triple_prices
from utmost.theory.selection.problem import Contest, Votes, contest_of
from utmost.theory.selection.tally_averages import (
    Estimate,
    WeighedTallies,
    as_tally_prior,
    chance_right,
    chances_of,
    expected_loss,
    places_within,
    weigh_tallies,
    worst_case,
)
from utmost.theory.symmetry import find_symmetry

FAR, MOST_ON_LINES = 45.0, 60_000
"""Exponent beyond which leads are not told apart, and the most entries of the rainbow's lines."""
MOST_ENTRIES, MOST_WAYS = 36_000, 60
"""The largest linear program: probabilities times a neighbour's moves (some seconds),
and the ways in which a neighbour may add its rows."""
ENOUGH = 0.005
"""Relative gap up to which bounds by chains of two winners suffice; above, triangles of three leaders are tried."""
MIXED = tuple(2.0**-k for k in (44, 40, 36, 32, 28, 24))
"""Shares of a row that are spread evenly before rounding to integers: the first that keeps these private."""


@dataclass(frozen=True, eq=False)
class ChoiceFacts:
    """Accuracy of a selection before and after it is made, under the prior of its problem.

    Attributes
    ----------
    solution : Solution
        The selection.
    laws : mapping of str to ChoiceLaw
        The mechanism and the closed forms it is compared with, by name.
    """

    solution: Solution
    laws: Mapping[str, ChoiceLaw]

    @property
    def _law(self) -> ChoiceLaw:
        law: ChoiceLaw = self.solution.mechanism
        return law

    @property
    def _prior(self) -> WeighedTallies:
        """The tallies over which averages are taken; not cached, since they may be millions of numbers."""
        problem = self.solution.problem
        return weigh_tallies(self._law.contest, problem.privacy, as_tally_prior(problem.data["prior"], problem.space))

    @cached_property
    def basis(self) -> str:
        """Whether averages are exact, or on which sample they were estimated."""
        return self._prior.words

    @property
    def expected(self) -> dict[str, Estimate]:
        """The expected losses of the mechanism, by name of the loss."""
        return self.compared[self._law.name]

    @cached_property
    def compared(self) -> dict[str, dict[str, Estimate]]:
        """The expected losses of the mechanism and of the closed forms."""
        prior = self._prior
        return {
            name: {loss: _average(law, prior, loss) for loss in law.contest.losses} for name, law in self.laws.items()
        }

    @cached_property
    def _right(self) -> tuple[Estimate | None, ...]:
        prior = self._prior
        return chance_right(self._law, prior, _chances(self._law, prior))

    def right(self, place: int) -> Estimate | None:
        """The posterior probability that the named candidate is right; None if the sample of tallies is too small."""
        return self._right[place]

    @cached_property
    def _worst(self) -> tuple[float, str]:
        problem = self.solution.problem
        return worst_case(self._law, problem.data["loss"], self._prior, problem.privacy)

    @property
    def worst(self) -> float:
        """The largest expected declared loss over tallies."""
        return self._worst[0]

    @property
    def worst_among(self) -> str:
        """The tallies among which the worst was sought."""
        return self._worst[1]

    def interval(self, place: int, confidence: float = 0.95) -> tuple[int, int]:
        """A credible interval under the prior: places that contain the right candidate if that at `place` is named."""
        prior = self._prior
        return places_within(self._law, prior, confidence, place, _chances(self._law, prior))

    def sure(self, place: int, confidence: float = 0.95) -> tuple[int, int]:
        """A confidence interval for a quantile, valid for every table, if the candidate at `place` is named."""
        return confidence_intervals(self._law, confidence)[place]

    def within(self, confidence: float = 0.95) -> float | None:
        """A bound, valid for every table, on how many rows the named candidate is from being right."""
        return rows_within(self._law, confidence)


@lru_cache(maxsize=6)
def _chances(law: ChoiceLaw, prior: WeighedTallies) -> Floats:
    """The probabilities of one mechanism at the tallies of the prior; the last few are cached."""
    return chances_of(law, prior.tallies)


@lru_cache(maxsize=3)
def _table(contest: Contest, loss: str, prior: WeighedTallies) -> Floats:
    return contest.loss(loss, prior.tallies)


def _average(law: ChoiceLaw, prior: WeighedTallies, loss: str) -> Estimate:
    return expected_loss(law, prior, loss, _chances(law, prior), _table(law.contest, loss, prior))


def best_choice(
    contest: Contest, level: Level, loss: str, prior: Any, data: dict[str, Any], programs: bool
) -> Solution:
    """The selection with the lowest expected loss among known mechanisms, with a bound where there is one."""
    weights = as_tally_prior(prior, contest.tallies)
    key = None if weights is None else tuple(weights.items())
    return _facts(contest, level, loss, key, tuple(data.items()), programs).solution


def choice_facts(solution: Solution) -> ChoiceFacts:
    """The accuracy of a selection: cached if this process designed it, recomputed for a file's.

    Examples
    --------
    >>> from utmost.design.rainbow import best_winner
    >>> from utmost.space.integers import Tallies
    >>> facts = choice_facts(best_winner(Tallies(3, 20, "add-remove"), 1.0, programs=False))
    >>> for name, losses in facts.compared.items():
    ...     print(name, round(losses["zero-one"].value, 4))
    geometric noisy max 0.06
    permute and flip 0.0677
    exponential mechanism 0.0934
    rainbow by winner 0.083
    >>> round(facts.right(0).value, 4), facts.worst_among
    (0.9421, 'over all tallies')
    """
    problem, law = solution.problem, solution.mechanism
    if not isinstance(law, ChoiceLaw):
        raise InvalidInput(f"{solution!r} names no candidate; give what best_winner or best_quantile returned.")
    for facts in _RECENT:
        if facts.solution is solution:
            return facts
    contest = contest_of(problem.question, problem.space, problem.data)
    return ChoiceFacts(solution, _stated_laws(contest, problem.privacy, law))


def _stated_laws(contest: Contest, level: Level, law: ChoiceLaw) -> dict[str, ChoiceLaw]:
    """The mechanisms whose losses are stated, by name: the closed forms, and the selected one.

    A linear program's mechanism that was tried and rejected is excluded: its loss cannot be recomputed from the
    solution.
    """
    return {formula.name: formula for formula in _closed_forms(contest, level)} | {law.name: law}


_RECENT: deque[ChoiceFacts] = deque(maxlen=128)


@lru_cache(maxsize=128)
def _facts(contest: Contest, level: Level, loss: str, prior: Any, data: Any, programs: bool) -> ChoiceFacts:
    if not isinstance(level, Level) or not level.concave or not level.certifiable:
        raise UnsupportedLevel(f"a choice is released at a concave level of exact arithmetic, not at {level}.")
    if loss not in contest.losses:
        raise InvalidInput(f"loss is {shown(loss)}; say {' or '.join(map(repr, contest.losses))}.")
    weights = None if prior is None else dict(prior)
    weighed = weigh_tallies(contest, level, weights)
    laws: list[ChoiceLaw] = _closed_forms(contest, level)
    evidence: dict[str, Any] = {}
    if programs and _may_list(contest, level):
        table, evidence = _by_program(contest, level, loss, weighed)
        laws += [] if table is None else [table]
    if not laws:
        raise UnsupportedLevel(f"{level} allows no choice that depends on the table; allow a larger epsilon.")
    pairs = None if prior is None else [[list(tally), weight] for tally, weight in prior]
    losses = {law.name: _average(law, weighed, loss) for law in laws}
    best = min(laws, key=lambda law: losses[law.name].value)
    value = losses[best.name].value
    question = "choice.winner" if isinstance(contest, Votes) else "choice.quantile"
    problem = Problem(question, contest.tallies, level, {"loss": loss, "prior": pairs, **dict(data)})
    bound = _bound(problem, contest, evidence)
    if programs and not evidence and bound is not None and value - bound > ENOUGH * value:
        bound, evidence = _triple_bound(problem, bound)
    certificate = _certificate(problem, best, list(losses), value, bound, evidence)
    facts = ChoiceFacts(Solution(problem, best, value, certificate), _stated_laws(contest, level, best))
    _RECENT.append(facts)
    return facts


def _certificate(
    problem: Problem,
    law: ChoiceLaw,
    compared: list[str],
    value: float,
    bound: float | None,
    evidence: dict[str, Any],
) -> Certificate:
    """The certificate of a selection: its bound, and the mechanisms it is compared with."""
    among = compared_words(compared)
    if bound is None:
        return certificate_of(problem, law, "unproved", reason=among)
    reason = f"{among}; {proof_of_choice(evidence)}"
    return certificate_of(problem, law, "bound", bound, abs(value - bound), evidence, reason)


def _bound(problem: Problem, contest: Contest, evidence: dict[str, Any]) -> float | None:
    """The lower bound: by dual prices if there are any, else by chains where these apply."""
    level = problem.privacy
    chains = isinstance(contest, Votes) and problem.data["prior"] is None
    pure = isinstance(level, ApproxDP) and level.delta == 0 and 0 < level.log_growth < np.inf
    if not evidence and not (chains and pure):
        return None
    try:
        return proved_bound(problem, evidence)
    except InvalidInput:  # for the shortfall of millions of rows no bound is known
        if evidence or problem.data["loss"] != "shortfall":
            raise
        return None


def _triple_bound(problem: Problem, bound: float) -> tuple[float, dict[str, Any]]:
    """The bound by triangles of three leaders, with its evidence, if it is better than that by chains."""
    evidence = triple_prices(problem.space, problem.privacy, problem.data["loss"])
    if evidence is None:
        return bound, {}
    better = proved_bound(problem, evidence)
    return (better, evidence) if better > bound else (bound, {})


def _closed_forms(contest: Contest, level: Level) -> list[ChoiceLaw]:
    """The mechanisms that are private by a closed form, or on lines of leads."""
    laws, pure = formula_choices(contest, level), pure_within(level)
    farthest_lead = math.inf if pure is None else FAR / max(pure.log_growth, 1e-9)
    if pure is not None and contest.size * min(contest.most_lead / contest.lead_reach, farthest_lead) > MOST_ON_LINES:
        return laws
    lines = _lead_lines(contest, level)
    return laws if lines is None else [*laws, lines]


def _lead_lines(contest: Contest, level: Level) -> LeadLines | None:
    """Randomised response where one neighbour may change the winner, extended inwards as far as privacy allows."""
    winner, wrong = even_boundary(level, contest.size)
    farthest = -(-contest.most_lead // contest.lead_reach) - 1
    rows = line([float(winner), *[float(wrong)] * (contest.size - 1)], level, longest_line(level, max(farthest, 1)) + 1)
    if (rows.argmax(axis=1) != 0).any():
        return None
    border = np.concatenate([rows[:1, 1::-1], rows[:1, 2:]], axis=1)
    edges = [(d, d + 1) for d in range(len(rows) - 1)] + [(0, len(rows))]
    levels = on_edges(Space(range(len(rows) + 1), edges), level)
    weights = _as_integers(np.concatenate([rows, border]), levels)
    return None if weights is None else LeadLines(contest, weights[:-1])


def _may_list(contest: Contest, level: Level) -> bool:
    """Whether the linear program over all tallies is small enough."""
    tallies = contest.tallies
    if not isinstance(level, ApproxDP) or not 0 < level.log_growth < np.inf or tallies.points > MOST_LISTED:
        return False
    ways = math.comb(tallies.cells + tallies.rows_each, tallies.cells)
    if ways > MOST_WAYS:
        return False
    entries = tallies.points * tallies.cells * len(tallies.moves())
    return entries <= MOST_ENTRIES * (1 if level.delta == 0 else 0.2)


def _by_program(
    contest: Contest, level: Level, loss: str, prior: WeighedTallies
) -> tuple[ChoiceTable | None, dict[str, Any]]:
    """The linear program over all tallies: its mechanism under replacement, and its dual prices.

    Under add/remove the mechanism is that of another program, which protects larger tallies as well.
    """
    tallies = contest.tallies
    every, levels = tallies.vectors(), on_edges(tallies.space(), level)
    weights = np.zeros(len(every))
    weights[tallies.places(prior.tallies)] = prior.weights
    gains = -weights[:, None] * contest.loss(loss, every)
    try:
        optimum = best_mechanism(levels, gains, interior=True, symmetry=find_symmetry(levels, weights, gains))
        matrix, _ = mix_until_private(optimum.matrix, levels)
    except SolverFailed:
        return None, {}
    table: ChoiceTable | None = None
    if tallies.neighbours == "replace":
        rounded = _as_integers(matrix, levels)
        table = None if rounded is None else TallyTable(contest, rounded)
    elif can_fold(tallies, MOST_FOLDED):
        table = _by_folded_program(contest, level, loss, prior)
    places = np.flatnonzero(optimum.duals)
    return table, {"dual_places": places, "dual_values": optimum.duals.ravel()[places]}


def _by_folded_program(contest: Contest, level: Level, loss: str, prior: WeighedTallies) -> FoldedTable | None:
    """The optimal selection that also protects tallies of more rows than declared, under add/remove of single rows."""
    tallies = contest.tallies
    every, levels = folded(tallies), on_edges(folded_space(tallies), level)
    weights = np.zeros(len(every))
    weights[folded_places(tallies, prior.tallies)] = prior.weights
    gains = -weights[:, None] * contest.loss(loss, every)
    try:
        optimum = best_mechanism(levels, gains, interior=True, symmetry=find_symmetry(levels, weights, gains))
        rounded = _as_integers(mix_until_private(optimum.matrix, levels)[0], levels)
    except SolverFailed:
        return None
    return None if rounded is None else FoldedTable(contest, rounded)


def _as_integers(matrix: Floats, levels: Any) -> Integers | None:
    """Rows of integers over 2^62, private in exact arithmetic; None if no small mixing makes them so.

    The remainder of rounding down goes to the likeliest candidate of each row.
    """
    k = matrix.shape[1]
    for share in MIXED:
        rows = np.floor(((1 - share) * matrix / matrix.sum(axis=1, keepdims=True) + share / k) * 2.0**WORD)
        weights = rows.astype(np.int64)
        weights[np.arange(len(weights)), matrix.argmax(axis=1)] += 2**WORD - weights.sum(axis=1)
        if (weights >= 0).all() and find_violation(weights, WORD, levels) is None:
            return np.asarray(weights)
    return None
