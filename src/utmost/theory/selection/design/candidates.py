"""One of several candidates, named privately: the best of all mechanisms known for it, with what bounds every other.

Geometric noisy max, permute and flip, the exponential mechanism, the winner's rainbow on lines of leads, *nearest*
where it is private, and the linear program where tallies are few: each is private by itself, and the least expected
declared loss under the prior is taken. `winners` and `quantiles` say what the tally decides. Nothing here has seen a
table.
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
from utmost.theory.selection.confidence_sets import rows_within, sure_places
from utmost.theory.selection.design.triples import triple_prices
from utmost.theory.selection.problem import Contest, Votes, contest_of
from utmost.theory.selection.tally_averages import (
    Estimate,
    WeighedTallies,
    as_tally_prior,
    chance_right,
    chances_of,
    expected_loss,
    hardest,
    places_within,
    weigh_tallies,
)
from utmost.theory.symmetry import find_symmetry

FAR, MOST_ON_LINES = 45.0, 60_000
"""How far leads can be told apart, times epsilon, and up to how many numbers the rainbow's lines may have."""
MOST_ENTRIES, MOST_WAYS = 36_000, 60
"""Up to how many probabilities, times the moves of a neighbour, a linear program has (some seconds),
and in how many ways a neighbour may add its rows."""
ENOUGH = 0.005
"""Up to which share of the value chains of two winners are bound enough; else three leaders at once are looked at."""
MIXED = tuple(2.0**-k for k in (44, 40, 36, 32, 28, 24))
"""How much of a row is spread evenly before it is rounded to integers, so that these are private: the least that is."""


@dataclass(frozen=True, eq=False)
class ChoiceFacts:
    """What is known of a choice before and after it is made, under the prior of its problem.

    Attributes
    ----------
    solution : the choice
    laws : the chosen mechanism and those by a formula, by name
    """

    solution: Solution
    laws: Mapping[str, ChoiceLaw]

    @property
    def _law(self) -> ChoiceLaw:
        law: ChoiceLaw = self.solution.mechanism
        return law

    @property
    def _prior(self) -> WeighedTallies:
        """The tallies over which averages are taken; not kept, since they may be millions of numbers."""
        problem = self.solution.problem
        return weigh_tallies(self._law.contest, problem.privacy, as_tally_prior(problem.data["prior"], problem.space))

    @cached_property
    def basis(self) -> str:
        """Whether averages are exact, or what they were estimated on."""
        return self._prior.words

    @property
    def expected(self) -> dict[str, Estimate]:
        """Every loss's average for the chosen mechanism."""
        return self.compared[self._law.name]

    @cached_property
    def compared(self) -> dict[str, dict[str, Estimate]]:
        """Every loss's average for the chosen mechanism and for those by a formula."""
        prior = self._prior
        return {
            name: {loss: _average(law, prior, loss) for loss in law.contest.losses} for name, law in self.laws.items()
        }

    @cached_property
    def _right(self) -> tuple[Estimate | None, ...]:
        prior = self._prior
        return chance_right(self._law, prior, _chances(self._law, prior))

    def right(self, place: int) -> Estimate | None:
        """If this candidate is named, how likely it is the right one; None if too few tallies were drawn to say."""
        return self._right[place]

    @cached_property
    def _worst(self) -> tuple[float, str]:
        problem = self.solution.problem
        return hardest(self._law, problem.data["loss"], self._prior, problem.privacy)

    @property
    def worst(self) -> float:
        """The largest expected declared loss."""
        return self._worst[0]

    @property
    def worst_among(self) -> str:
        """Among which tallies the worst was sought."""
        return self._worst[1]

    def interval(self, place: int, confidence: float = 0.95) -> tuple[int, int]:
        """Given the prior: places among which the right candidate likely lies, if the one at `place` is named."""
        prior = self._prior
        return places_within(self._law, prior, confidence, place, _chances(self._law, prior))

    def sure(self, place: int, confidence: float = 0.95) -> tuple[int, int]:
        """Whatever the table holds: places among which a quantile lies with this chance, if one is named."""
        return sure_places(self._law, confidence)[place]

    def within(self, confidence: float = 0.95) -> float | None:
        """Whatever the table holds: with this chance the named one is fewer rows than this from being right."""
        return rows_within(self._law, confidence)


@lru_cache(maxsize=6)
def _chances(law: ChoiceLaw, prior: WeighedTallies) -> Floats:
    """The probabilities of one mechanism at the tallies of the prior: of the last few that were asked for."""
    return chances_of(law, prior.tallies)


@lru_cache(maxsize=3)
def _table(contest: Contest, loss: str, prior: WeighedTallies) -> Floats:
    return contest.loss(loss, prior.tallies)


def _average(law: ChoiceLaw, prior: WeighedTallies, loss: str) -> Estimate:
    return expected_loss(law, prior, loss, _chances(law, prior), _table(law.contest, loss, prior))


def best_choice(
    contest: Contest, level: Level, loss: str, prior: Any, data: dict[str, Any], programs: bool
) -> Solution:
    """The private choice of least expected loss among those known, with a bound where there is one."""
    weights = as_tally_prior(prior, contest.tallies)
    key = None if weights is None else tuple(weights.items())
    return _facts(contest, level, loss, key, tuple(data.items()), programs).solution


def choice_facts(solution: Solution) -> ChoiceFacts:
    """What is known of a choice: of one that this process designed as it was, of a file's recomputed.

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
    return ChoiceFacts(solution, _comparable(contest, problem.privacy, law))


def _comparable(contest: Contest, level: Level, chosen: ChoiceLaw) -> dict[str, ChoiceLaw]:
    """The mechanisms that losses are stated of, by name: those by a formula, and the one that was chosen.

    Not a linear program's that was tried and lost more: nobody who has the chosen one alone can state its loss again.
    """
    return {each.name: each for each in _closed_forms(contest, level)} | {chosen.name: chosen}


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
    listed = None if prior is None else [[list(tally), weight] for tally, weight in prior]
    losses = {law.name: _average(law, weighed, loss) for law in laws}
    chosen = min(laws, key=lambda law: losses[law.name].value)
    value = losses[chosen.name].value
    question = "choice.winner" if isinstance(contest, Votes) else "choice.quantile"
    problem = Problem(question, contest.tallies, level, {"loss": loss, "prior": listed, **dict(data)})
    bound = _bound(problem, contest, evidence)
    if programs and not evidence and bound is not None and value - bound > ENOUGH * value:
        bound, evidence = _by_triples(problem, bound)
    certificate = _certificate(problem, chosen, list(losses), value, bound, evidence)
    found = ChoiceFacts(Solution(problem, chosen, value, certificate), _comparable(contest, level, chosen))
    _RECENT.append(found)
    return found


def _certificate(
    problem: Problem,
    law: ChoiceLaw,
    compared: list[str],
    value: float,
    bound: float | None,
    evidence: dict[str, Any],
) -> Certificate:
    """What is proved of a choice, and of which others it errs least."""
    among = compared_words(compared)
    if bound is None:
        return certificate_of(problem, law, "unproved", reason=among)
    reason = f"{among}; {proof_of_choice(evidence)}"
    return certificate_of(problem, law, "bound", bound, abs(value - bound), evidence, reason)


def _bound(problem: Problem, contest: Contest, evidence: dict[str, Any]) -> float | None:
    """What can be proved: by prices if there are, else by chains where these are known."""
    level = problem.privacy
    chains = isinstance(contest, Votes) and problem.data["prior"] is None
    pure = isinstance(level, ApproxDP) and level.delta == 0 and 0 < level.log_growth < np.inf
    if not evidence and not (chains and pure):
        return None
    try:
        return proved_bound(problem, evidence)
    except InvalidInput:  # of the shortfall of millions of rows no bound is known
        if evidence or problem.data["loss"] != "shortfall":
            raise
        return None


def _by_triples(problem: Problem, bound: float) -> tuple[float, dict[str, Any]]:
    """The bound by triangles of three leaders, with its evidence, where it is better than that by chains."""
    evidence = triple_prices(problem.space, problem.privacy, problem.data["loss"])
    if evidence is None:
        return bound, {}
    better = proved_bound(problem, evidence)
    return (better, evidence) if better > bound else (bound, {})


def _closed_forms(contest: Contest, level: Level) -> list[ChoiceLaw]:
    """What is private by a formula, or on lines of leads."""
    laws, pure = formula_choices(contest, level), pure_within(level)
    far = math.inf if pure is None else FAR / max(pure.log_growth, 1e-9)
    if pure is not None and contest.size * min(contest.most_lead / contest.lead_reach, far) > MOST_ON_LINES:
        return laws
    lines = _lead_lines(contest, level)
    return laws if lines is None else [*laws, lines]


def _lead_lines(contest: Contest, level: Level) -> LeadLines | None:
    """Randomised response where the winner may change with one neighbour, and inwards the most privacy allows."""
    winner, other = even_boundary(level, contest.size)
    farthest = -(-contest.most_lead // contest.lead_reach) - 1
    rows = line([float(winner), *[float(other)] * (contest.size - 1)], level, longest_line(level, max(farthest, 1)) + 1)
    if (rows.argmax(axis=1) != 0).any():
        return None
    border = np.concatenate([rows[:1, 1::-1], rows[:1, 2:]], axis=1)
    edges = [(d, d + 1) for d in range(len(rows) - 1)] + [(0, len(rows))]
    levels = on_edges(Space(range(len(rows) + 1), edges), level)
    weights = _as_integers(np.concatenate([rows, border]), levels)
    return None if weights is None else LeadLines(contest, weights[:-1])


def _may_list(contest: Contest, level: Level) -> bool:
    """Whether a linear program over all tallies is small."""
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
    """The linear program over all tallies: its choice, where rows are replaced, and its dual prices.

    Where rows come or go, the choice is that of another program, which protects larger tallies as well.
    """
    tallies = contest.tallies
    every, levels = tallies.listed(), on_edges(tallies.space(), level)
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
    """The best choice that also protects tallies of more rows than declared, where rows come or go one by one."""
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

    What is lost by rounding down goes to the likeliest candidate of each row.
    """
    k = matrix.shape[1]
    for share in MIXED:
        rows = np.floor(((1 - share) * matrix / matrix.sum(axis=1, keepdims=True) + share / k) * 2.0**WORD)
        weights = rows.astype(np.int64)
        weights[np.arange(len(weights)), matrix.argmax(axis=1)] += 2**WORD - weights.sum(axis=1)
        if (weights >= 0).all() and find_violation(weights, WORD, levels) is None:
            return np.asarray(weights)
    return None
