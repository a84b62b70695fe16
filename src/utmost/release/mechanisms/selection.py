"""One of several candidates, named privately: who won, or where a quantile lies.

The private statistic is a tally: how many rows each of m cells holds. What a question adds is a `Contest`: a score of
every candidate, a winner, and a lead, each with how far one neighbour moves it. Three mechanisms, and the least
expected declared loss under the prior is taken:

* *exponential mechanism* (McSherry, Talwar 2007): a candidate whose score is g below the best has weight b^g;
* *permute and flip* (McKenna, Sheldon 2020): candidates in random order, each accepted with probability b^g; never
  worse than the exponential mechanism;
* *rainbow by winner* (RAIN): randomised response where the winner may change with one neighbour, and inwards from there
  the most that privacy allows. It looks at the winner and the lead only, and as if every move of the lead were possible
  everywhere: it is best for its boundary on lines of these, not among all mechanisms.

At levels that are not pure the first two are taken at the largest epsilon that implies the level (`pure_within`).

b is a rational with b^reach at or above e^-epsilon, so that the first two are private in exact arithmetic. Where every
neighbour moves all scores in one direction (rows come or go, and count for somebody), b is the square of what it must
be otherwise. For the exponential mechanism: weight and total cannot both go against us. For permute and flip, which
names the largest score with exponential noise (Ding, Kifer, Saghaian, Steinke, Wang, Xiao, Zhang 2021): if the others'
scores rise by at most k, a candidate still wins wherever its own noise is larger by k, which is e^-epsilon times as
likely; if its own score rises, so does its chance, by at most as much.

Expected losses are averages over tallies under the prior (`contests`), exact or with their standard error. Nothing here
has seen a table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from flint import arb, ctx

from utmost.design.rainbow import Plurality, plurality
from utmost.errors import CannotCertify
from utmost.exact import as_fmpq
from utmost.mechanism.decay import decay_above, keeps_level
from utmost.mechanism.draws import Uniform, below
from utmost.mechanism.sampling import uniform_integer
from utmost.privacy import ApproxDP, Level
from utmost.release.levels import require_releasable
from utmost.release.mechanisms.choice import Proof
from utmost.release.mechanisms.contests import (
    Contest,
    Floats,
    Integers,
    Tallies,
    all_tallies,
    mass_of_draws,
    prior_tallies,
)
from utmost.release.mechanisms.hardest import hardest
from utmost.release.mechanisms.pure_within import implies, pure_within

FAR, MOST_ON_LINES = 45.0, 60_000
"""How far leads can be told apart, times epsilon, and up to how many points the rainbow's lines may have: beyond, it
would take minutes and gigabytes."""
NODES = 40
"""How many nodes integrate a product of up to 200 factors."""
FEWEST_WINS, MOST_ERROR = 10, 0.05
"""What is estimated about one candidate is stated if it wins on so many lines, and with at most this error."""


@dataclass(frozen=True, eq=False)
class Weighted:
    """The exponential mechanism (`with_replacement`: a candidate may come up again), or permute and flip."""

    contest: Contest
    level: ApproxDP
    decay: Fraction
    with_replacement: bool

    def draw(self, tally: Integers) -> int:
        """The position of a candidate, drawn exactly."""
        scores = self.contest.scores(tally[None, :])[0].tolist()
        behind = [max(scores) - score for score in scores]
        while True:  # ends: the best candidate is always accepted
            waiting = list(range(len(scores)))
            order = [waiting.pop(below(len(waiting))) for _ in scores]
            tried = order[:1] if self.with_replacement else order
            accepted = [candidate for candidate in tried if _flip(self.decay, behind[candidate])]
            if accepted:  # of all that were flipped, so that the time does not tell which came first
                return accepted[0]

    def probabilities(self, tallies: Integers) -> Floats:
        """The probability of every candidate at every tally, in floating point."""
        scores = self.contest.scores(tallies)
        behind = (scores.max(axis=1, keepdims=True) - scores).astype(float)
        accepted = np.exp(behind * math.log(self.decay))
        if self.with_replacement:
            return np.asarray(accepted / accepted.sum(axis=1, keepdims=True))
        few = min(len(self.contest.names) // 2 + 1, NODES)  # exact for this degree; of 200 factors to 1e-12
        nodes, weights = np.polynomial.legendre.leggauss(few)
        found = np.zeros_like(accepted)
        for t, w in zip((nodes + 1) / 2, weights / 2, strict=True):
            left = 1 - t * accepted
            found += w * left.prod(axis=1, keepdims=True) / left
        return np.asarray(found * accepted)

    def verify(self) -> bool:
        """Whether the decay over the reach of scores is within the level: decided exactly."""
        return 0 < self.decay < 1 and keeps_level(self.level, self.decay, self.contest.score_reach)


@dataclass(frozen=True, eq=False)
class Rainbow:
    """The winner's rainbow on lines of (winner, neighbours until another wins)."""

    contest: Contest
    lines: Plurality

    def draw(self, tally: Integers) -> int:
        """The position of a candidate, drawn exactly from the certified row."""
        row = tally[None, :]
        winner, depth = int(self.contest.winners(row)[0]), int(self._depths(row)[0])
        return int(self.lines.solution.certified.sample((winner, depth)))

    def probabilities(self, tallies: Integers) -> Floats:
        """The probability of every candidate at every tally."""
        winners, depths = self.contest.winners(tallies), self._depths(tallies)
        return np.asarray(self._table[winners, depths])

    def verify(self) -> bool:
        """Prove the mechanism on the lines again."""
        return bool(self.lines.solution.verify())

    def _depths(self, tallies: Integers) -> Integers:
        steps = -(-self.contest.leads(tallies) // self.contest.lead_reach) - 1
        return np.asarray(np.minimum(steps, self.lines.longest))

    @cached_property
    def _table(self) -> Floats:
        m, deep = len(self.contest.names), self.lines.longest + 1
        mechanism = self.lines.solution.mechanism
        order = [mechanism.outputs.index(i) for i in range(m)]
        rows = mechanism.matrix[:, order]
        places = [[self.lines.solution.problem.space.index((i, d)) for d in range(deep)] for i in range(m)]
        return np.asarray(rows[np.array(places)])


@dataclass(frozen=True, eq=False)
class SelectionDesign:
    """A mechanism that names a candidate, made of public parameters only."""

    name: str
    contest: Contest
    level: Level
    loss: str
    mechanism: Weighted | Rainbow
    proof: Proof
    expected: Mapping[str, float]
    alternatives: Mapping[str, Mapping[str, float]]
    errors: Mapping[str, Mapping[str, float]]
    """The standard errors of all of these by mechanism and loss; 0 where they are exact."""
    worst: float
    worst_among: str
    """The largest expected declared loss, and among which tallies it was sought."""
    holds: str
    right: tuple[tuple[float, float] | None, ...]
    """For every candidate, if it is named: the probability that it is right, and its standard error (0: exact)."""

    def draw(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """A private answer: the place of the candidate that is named."""
        return {"place": self.mechanism.draw(np.array(point["tally"], dtype=np.int64))}

    def chance_right(self, released: Mapping[str, Any]) -> tuple[float, float] | None:
        """After an answer: the probability that it is right, given the prior, and the standard error of that.

        None where the tallies drawn from the prior are too few to say.
        """
        place: int = released["place"]
        return self.right[place]

    @property
    def space(self) -> str:
        """Where the statistic lies, in words."""
        return self.contest.words()

    @property
    def moves(self) -> dict[str, int]:
        """How far one neighbour moves the lead of the winner."""
        return {"lead": self.contest.lead_reach}

    def verify(self) -> bool:
        """Prove privacy again in exact arithmetic: of the mechanism, and that its level implies the one promised."""
        implied = isinstance(self.mechanism, Rainbow) or implies(self.mechanism.level, self.level)
        return self.mechanism.verify() and implied


def design_selection(
    contest: Contest, level: Level, loss: str, prior: Mapping[Any, float] | None = None
) -> SelectionDesign:
    """The mechanism with the least expected loss of the three."""
    require_releasable(level)
    return _uniform(contest, level, loss) if prior is None else _design(contest, level, loss, prior)


@lru_cache(maxsize=256)
def _uniform(contest: Contest, level: Level, loss: str) -> SelectionDesign:
    return _design(contest, level, loss, None)


def _design(contest: Contest, level: Level, loss: str, prior: Mapping[Any, float] | None) -> SelectionDesign:
    options, tallies = _options(contest, level), prior_tallies(contest, level, prior)
    chances = {name: _chances(option, tallies) for name, option in options.items()}
    expected = {name: _expected(each, contest, tallies) for name, each in chances.items()}
    name = min(options, key=lambda each: expected[each][loss][0])
    pure = pure_within(level)
    epsilon = 0.0 if pure is None else pure.log_growth
    worst, among = hardest(options[name], contest, loss, tallies, all_tallies(contest), epsilon)
    error = expected[name][loss][1]
    holds = tallies.words + (f"; standard error {error:.2g}" if tallies.lines is not None else "")
    losses = {each: {k: v[0] for k, v in by.items()} for each, by in expected.items()}
    return SelectionDesign(
        name,
        contest,
        level,
        loss,
        options[name],
        _proof(options[name], level, list(options)),
        losses.pop(name),
        losses,
        {each: {k: v[1] for k, v in by.items()} for each, by in expected.items()},
        worst,
        among,
        holds,
        _right(chances[name], contest, tallies),
    )


def _options(contest: Contest, level: Level) -> dict[str, Weighted | Rainbow]:
    """What can be proved private."""
    options: dict[str, Weighted | Rainbow] = {}
    m, pure = len(contest.names), pure_within(level)
    if pure is not None:
        decay = decay_above(pure, contest.score_reach)
        options["permute and flip"] = Weighted(contest, pure, decay, with_replacement=False)
        options["exponential mechanism"] = Weighted(contest, pure, decay, with_replacement=True)
        if m * min(contest.most_lead / contest.lead_reach, FAR / pure.log_growth) > MOST_ON_LINES:
            return options
    lines = plurality(-(-contest.most_lead // contest.lead_reach), range(m), level, "add-remove")
    try:
        lines.solution.certified  # noqa: B018  (proved private, or not taken)
        return {"rainbow by winner": Rainbow(contest, lines), **options}
    except CannotCertify:
        if pure is None:
            raise
    return options


def _proof(chosen: Weighted | Rainbow, level: Level, compared: list[str]) -> Proof:
    among = f"the least expected loss of {', '.join(compared)}" if len(compared) > 1 else "nothing else was tried"
    if isinstance(chosen, Rainbow):
        private = f"{level} proved in exact arithmetic on lines of (winner, lead); neighbours lie on adjacent points"
        best = "on lines of (winner, lead), not among all, it is best for its even boundary (RAIN Theorem 3)"
        return Proof(private, "unproved", f"{among}; {best}")
    private = (
        f"weights b^gap with a rational b whose power {chosen.contest.score_reach} is at or above e^-epsilon: exactly "
        f"{chosen.level} (McSherry, Talwar 2007; McKenna, Sheldon 2020); drawn exactly"
    )
    implied = "" if chosen.level == level else f"; that implies {level}, which allows the corner of {chosen.level}"
    return Proof(private + implied, "unproved", among)


def _expected(chances: Floats, contest: Contest, prior: Tallies) -> dict[str, tuple[float, float]]:
    """Every loss's average under the prior, and its standard error."""
    found, draws = {}, len(prior.far)
    for loss in contest.losses:
        costs = prior.weights * (chances * contest.loss(loss, prior.tallies)).sum(axis=1)
        error = 0.0
        if prior.lines is not None:
            by_line = np.bincount(prior.lines, weights=costs, minlength=draws) * draws
            mass = mass_of_draws(prior.weights, prior.lines, prior.far)
            slope = np.cov(by_line, mass)[0, 1] / max(mass.var(ddof=1), 1e-300)  # all mass is 1: known, so no error
            spread = float((by_line - slope * mass).std(ddof=1) / math.sqrt(draws))
            error = max(spread, float(by_line.mean() / draws))  # a kind of line that is rarer may not have been drawn
        found[loss] = (float(costs.sum()), error)
    return found


def _right(chances: Floats, contest: Contest, prior: Tallies) -> tuple[tuple[float, float] | None, ...]:
    """Bayes' rule for every candidate: how often it is named where it wins, of how often it is named at all."""
    said = chances * prior.weights[:, None]
    true = said * (contest.winners(prior.tallies)[:, None] == np.arange(said.shape[1]))
    if prior.lines is None:
        named, right = (each.sum(axis=0) + prior.far.sum(axis=0) for each in (said, true))
        return tuple((float(r / n), 0.0) if n > 0 else None for r, n in zip(right, named, strict=True))
    found: list[tuple[float, float] | None] = []
    draws = len(prior.far)
    for j in range(said.shape[1]):
        named, right = (
            np.bincount(prior.lines, weights=each[:, j], minlength=draws) + prior.far[:, j] for each in (said, true)
        )
        total, wins = float(named.sum()), np.count_nonzero(right)
        if total == 0 or wins < FEWEST_WINS:
            found.append(None)
            continue
        chance = float(right.sum() / total)
        error = float((right - chance * named).std(ddof=1) * math.sqrt(draws) / total)
        found.append((chance, error) if error <= MOST_ERROR else None)
    return tuple(found)


def _chances(option: Weighted | Rainbow, prior: Tallies) -> Floats:
    """The probability of every candidate at every tally of the prior."""
    blocks = np.array_split(prior.tallies, max(1, len(prior.tallies) // 20_000))
    return np.concatenate([option.probabilities(block) for block in blocks])


# ---- exact draws ----


def _flip(decay: Fraction, times: int) -> bool:
    """True with probability decay^times, exactly; the time hardly depends on either."""

    def bound(bits: int) -> arb:
        with ctx.workprec(bits + 64 + 2 * decay.denominator.bit_length() + times.bit_length()):
            return arb(as_fmpq(decay)) ** times

    number, rate = Uniform(), -math.log(decay)
    while times * rate * (1 - 1e-9) > (number.bits + 2) * math.log(2):  # decay^times is below the last bit drawn
        if number.number:
            return False
        number = Uniform(uniform_integer(64), number.bits + 64)
    return number.is_below(bound)
