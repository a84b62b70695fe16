"""Averages over tallies under a prior: expected loss, posterior probability of being right, and the worst case.

Under the uniform prior all tallies of at most N rows are equally likely. Where they are few, all are listed; where they
fall into few classes, one of each is listed with its multiplicity. Otherwise lines of tallies are sampled with a fixed
public seed. Every tally is on one line, which leads away from a close race; all lines are equally likely, and all of a
line that costs anything is used, exactly or in even steps. So close races, which are rare and cost nearly everything,
are not left to chance: every line has one.

The expected loss of a vote is estimated by its difference from the cost of the winner against the runner-up alone,
whose average is known in closed form (a control variate): the difference is rare, so its estimate is nearly exact.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from utmost.errors import InvalidInput, shown
from utmost.exact.arrays import Floats, Integers
from utmost.privacy import ApproxDP, Level
from utmost.privacy.pure_part import pure_within
from utmost.space.integers import Tallies
from utmost.theory.selection.choices import ChoiceLaw, DecayingChoice, ThreeRanks
from utmost.theory.selection.problem import Contest, Votes
from utmost.theory.selection.runner_up import runner_up_shortfall

MOST_TALLIES, SEED = 60_000, 2026
"""The most tallies that are enumerated, and the public seed."""
FEWEST_LINES, MOST_LINES, LINES_CELLS, PLACES, MOST_COUNTS = 600, 2000, 8000, 400, 2_000_000
"""How many lines are sampled otherwise, by their cells (the same at every level), the most tallies of each, and the
most counts of all of them: with many candidates, lines are taken in larger steps."""
FAR_EXACT, FAR_DRAWN = 36.0, 18.0
"""Exponents after which tallies are omitted: e^-36 is less than rounding, e^-18 less than any standard error."""
MOST_LEADS, MOST_COUNTED = 10**6, 400_000
"""The most leads that are listed one by one, and the most rows times candidates whose votes are counted."""
FEWEST_WINS, MOST_ERROR = 10, 0.05
"""An estimate for one candidate is stated if it wins on so many lines, and with at most this standard error."""
STARTS, ROUNDS, MOVED = 3, 40, 60_000
"""The worst-case search: number of starts, rounds, and cells moved in a round."""
EVERY, PROVED, TRIED = (
    "over all tallies",
    "with nobody in the table, where all are closest",
    "the hardest tallies tried",
)


class Estimate(NamedTuple):
    """A number and its standard error: 0 where it is exact."""

    value: float
    error: float


@dataclass(frozen=True, eq=False)
class WeighedTallies:
    """Tallies with weights; omitted tallies cost nothing.

    Attributes
    ----------
    tallies : array of int
        One tally in each row.
    weights : array of float
        The prior mass of each tally.
    lines : array of int or None
        The sampled line of each tally; None if nothing was sampled.
    words : str
        Whether an average over them is exact, or how it is estimated.
    far : array of float
        The mass of the omitted tallies, by line and by their winner, who is named almost certainly.
    complete : bool
        Whether every tally that may cost anything is listed, up to symmetry.
    """

    tallies: Integers
    weights: Floats
    lines: Integers | None
    words: str
    far: Floats
    complete: bool = False


def weigh_tallies(
    contest: Contest, level: Level, prior: Mapping[tuple[int, ...], float] | None = None
) -> WeighedTallies:
    """All tallies under the prior, or lines of tallies sampled from it with a public seed."""
    if prior is None:
        return _uniform(contest, level)
    tallies = np.array([list(tally) for tally in prior], dtype=np.int64)
    weights, none = np.array(list(prior.values()), dtype=float), np.zeros((1, contest.size))
    return WeighedTallies(tallies, weights, None, "exact, under the listed prior", none)


@lru_cache(maxsize=4)
def _uniform(contest: Contest, level: Level) -> WeighedTallies:
    if contest.tallies.points <= MOST_TALLIES:
        every = list_all(contest.tallies)
        weights = np.full(len(every), 1 / len(every))
        none = np.zeros((1, contest.size))
        return WeighedTallies(every, weights, None, "exact, over all tallies", none, complete=True)
    exact_radius, sample_radius = (
        math.ceil(_steps_until_negligible(level, contest.most_lead, exponent) * contest.row_reach)
        for exponent in (FAR_EXACT, FAR_DRAWN)
    )
    kinds = contest.kinds(exact_radius)
    if kinds is not None:
        tallies, multiplicity, omitted = kinds
        total = multiplicity.sum() + omitted.sum()
        words, left_out = "exact, over all tallies", omitted[None, :] / total
        return WeighedTallies(tallies, multiplicity / total, None, words, left_out, complete=True)
    return _sample_lines(contest, sample_radius)


@lru_cache(maxsize=4)
def list_all(tallies: Tallies) -> Integers:
    """All tallies."""
    return tallies.vectors()


def _sample_lines(contest: Contest, radius: int) -> WeighedTallies:
    """Sample lines of tallies uniformly.

    There are C(N+m, m) tallies, and C(N+m-1, m-1) ways to draw parts: an average over tallies is m/(N+m) times the
    average over draws of sums along lines. The mass of all tallies is known to be 1, so lines are reweighted until
    theirs is (regression on the mass of a line): where all tallies cost, long lines would otherwise count by chance.
    """
    m, most = contest.size, contest.most
    number = min(max(FEWEST_LINES, LINES_CELLS // m), MOST_LINES)
    share = m / (most + m) / number
    most_places = max(8, min(PLACES, MOST_COUNTS // (number * m)))
    rows, weights, draws, far = [], [], [], np.zeros((number, m))
    for i, bars in enumerate(_draw_bars(number, most + m - 1, m - 1)):
        part_sizes = np.diff(bars, prepend=-1) - 1
        for line in contest.lines(np.append(part_sizes, most - part_sizes.sum()), i % m):
            a, b = max(line.low, line.middle - radius), min(line.high, line.middle + radius)
            step = max(1, (b - a + 1) // most_places)
            places = np.arange(a + (b - a) % step // 2, b + 1, step)
            rows.append(line.tallies(places))
            weights.append(np.full(len(places), (b - a + 1) / len(places) * share))
            draws.append(np.full(len(places), i))
            ends = contest.winners(line.tallies(np.array([line.low, line.high])))
            np.add.at(far[i], ends, np.array([a - line.low, line.high - b]) * share)
    weight, draw = np.concatenate(weights), np.concatenate(draws)
    mass = _mass_of_draws(weight, draw, far)
    spread = float(np.square(mass - mass.mean()).mean())
    anew = 1 + (1 - mass.mean()) * (mass - mass.mean()) / spread if spread > 0 else np.ones(number)
    words = f"estimated on {number} lines of tallies drawn from the prior with a public seed"
    return WeighedTallies(np.concatenate(rows), weight * anew[draw], draw, words, far * anew[:, None])


def _mass_of_draws(weights: Floats, lines: Integers, far: Floats) -> Floats:
    """The mass that each line stands for, 1 on average."""
    number = len(far)
    return np.asarray((np.bincount(lines, weights=weights, minlength=number) + far.sum(axis=1)) * number)


def _steps_until_negligible(level: Level, limit: int, exponent: float) -> float:
    """The number of steps after which a wrong answer has negligible probability, for every candidate mechanism."""
    pure = pure_within(level)
    steps = 1.0 if pure is None else exponent / min(pure.log_growth, exponent)
    if isinstance(level, ApproxDP) and level.delta == 0:
        return steps
    while steps < limit and level.lower_after(math.ceil(steps), 0.5) > math.exp(-exponent):
        steps *= 2
    return steps


def _draw_bars(number: int, places: int, m: int) -> Integers:
    """For each line, m distinct places in order, uniformly at random."""
    rng = np.random.default_rng(SEED)
    lines = np.empty((number, m), dtype=np.int64)
    for i in range(number):
        while True:
            bars = rng.integers(0, places, m) if places > 8 * m * m else rng.choice(places, m, replace=False)
            if len(set(bars.tolist())) == m:
                break
        lines[i] = np.sort(bars)
    return lines


# ---- expected losses ----


def chances_of(law: ChoiceLaw, tallies: Integers) -> Floats:
    """The probability of every candidate at every tally, computed in blocks of thousands of tallies."""
    blocks = np.array_split(tallies, max(1, tallies.size // 200_000))
    return np.concatenate([law.probabilities(block) for block in blocks])


def expected_loss(
    law: ChoiceLaw, prior: WeighedTallies, loss: str, chances: Floats | None = None, table: Floats | None = None
) -> Estimate:
    """The expected loss under the prior, and its standard error; `chances` and the `table` of losses if known."""
    contest = law.contest
    chances = chances_of(law, prior.tallies) if chances is None else chances
    table = contest.loss(loss, prior.tallies) if table is None else table
    costs = np.einsum("ij,ij->i", chances, table)
    if prior.lines is None:
        return Estimate(float(prior.weights @ costs), 0.0)
    control = 0.0
    if isinstance(law, DecayingChoice) and isinstance(contest, Votes) and loss == "zero-one":
        b = float(law.decay) ** law.steps  # the decay of one neighbour
        control = runner_up_error(contest.tallies, b)
        costs = costs - _runner_up_chances(contest, prior.tallies, b)
    elif isinstance(law, DecayingChoice) and isinstance(contest, Votes) and contest.most * contest.size <= MOST_COUNTED:
        b = float(law.decay) ** law.steps
        control = runner_up_shortfall(contest.tallies, b, contest.lead_reach)
        first_two = np.sort(prior.tallies, axis=1)[:, -2:]
        costs = costs - _runner_up_chances(contest, prior.tallies, b) * (first_two[:, 1] - first_two[:, 0])
    draws = len(prior.far)
    by_line = np.bincount(prior.lines, weights=prior.weights * costs, minlength=draws) * draws
    mass = _mass_of_draws(prior.weights, prior.lines, prior.far)
    slope = np.cov(by_line, mass)[0, 1] / max(mass.var(ddof=1), 1e-300)  # regress on the mass, whose mean is known
    spread = float((by_line - slope * mass).std(ddof=1) / math.sqrt(draws))
    rare = float(np.abs(by_line).mean() / draws)  # a rarer kind of line may not have been sampled
    return Estimate(control + float(by_line.mean()), max(spread, rare))


def _runner_up_chances(contest: Votes, tallies: Integers, b: float) -> Floats:
    """The probability that the balanced mechanism of winner and runner-up names the latter, at every tally."""
    return np.asarray(np.power(b, -(-contest.leads(tallies) // contest.lead_reach)) / (1 + b))


def runner_up_error(tallies: Tallies, b: float) -> float:
    """The error probability of the balanced mechanism of winner and runner-up, under the uniform prior.

    A runner-up k votes behind (one more where it loses ties) is ceil(k/r) neighbours away, r the sensitivity of a lead;
    C(N - k + m, m - 1) of the C(N + m, m) tallies have it there. The balanced mechanism of the two is wrong with
    probability b^ceil(k/r)/(1 + b).
    """
    n, m = tallies.rows, tallies.cells
    reach = Votes(tallies).lead_reach
    farthest_lead = min(n + 1, math.ceil(reach * (FAR_EXACT / -math.log(b) + 1))) if b > 0 else min(n + 1, reach)
    if farthest_lead > MOST_LEADS:  # group leads by the number of neighbours: sums of binomials are binomials
        rest = (max(n - j * reach, -1) for j in range(-(-farthest_lead // reach) + 1))
        ways = [math.prod(range(x + 1, x + m + 1)) for x in rest]  # m! C(x + m, m)
        return float(sum((more - less) / ways[0] * b**j for j, (more, less) in enumerate(pairwise(ways), 1)) / (1 + b))
    k = np.arange(1, farthest_lead + 1)
    falls = (n - k[:-1] + 1) / (n - k[:-1] + m)  # C(N-k-1+m, m-1) / C(N-k+m, m-1)
    counts = m / (n + m) * np.concatenate([[1.0], np.cumprod(falls)])
    return float((counts * np.power(b, -(-k // reach))).sum() / (1 + b))


def chance_right(law: ChoiceLaw, prior: WeighedTallies, chances: Floats | None = None) -> tuple[Estimate | None, ...]:
    """For every candidate, the posterior probability that it is right if it is named, by Bayes' rule.

    None where the sample of tallies is too small.
    """
    chances = chances_of(law, prior.tallies) if chances is None else chances
    mass_named = chances * prior.weights[:, None]
    mass_right = mass_named * (law.contest.winners(prior.tallies)[:, None] == np.arange(mass_named.shape[1]))
    if prior.lines is None:
        namings, hits = (mass.sum(axis=0) + prior.far.sum(axis=0) for mass in (mass_named, mass_right))
        return tuple(Estimate(float(r / n), 0.0) if n > 0 else None for r, n in zip(hits, namings, strict=True))
    estimates: list[Estimate | None] = []
    draws = len(prior.far)
    for j in range(mass_named.shape[1]):
        namings, hits = (
            np.bincount(prior.lines, weights=mass[:, j], minlength=draws) + prior.far[:, j]
            for mass in (mass_named, mass_right)
        )
        total, wins = float(namings.sum()), np.count_nonzero(hits)
        if total == 0 or wins < FEWEST_WINS:
            estimates.append(None)
            continue
        chance = float(hits.sum() / total)
        error = float((hits - chance * namings).std(ddof=1) * math.sqrt(draws) / total)
        estimates.append(Estimate(chance, error) if error <= MOST_ERROR else None)
    return tuple(estimates)


def places_within(
    law: ChoiceLaw, prior: WeighedTallies, confidence: float, place: int, chances: Floats | None = None
) -> tuple[int, int]:
    """A credible interval for the right candidate, given that one is named.

    Conditional on the name where averages are exact, with at most half of the rest on either side; else the named one
    and as many on either side as are needed on average over tallies and draws.
    """
    chances = chances_of(law, prior.tallies) if chances is None else chances
    winners, m = law.contest.winners(prior.tallies), law.contest.size
    if prior.lines is None:
        masses = np.bincount(winners, weights=chances[:, place] * prior.weights, minlength=m)
        masses[place] += prior.far.sum(axis=0)[place]
        spare = (1 - confidence) / 2 * masses.sum()
        if masses.sum() > 0:
            low = int(np.searchsorted(np.cumsum(masses), spare, side="right"))
            high = m - 1 - int(np.searchsorted(np.cumsum(masses[::-1]), spare, side="right"))
            return min(low, high), max(low, high)
    off = np.abs(np.arange(m) - winners[:, None])
    within = np.cumsum(np.bincount(off.ravel(), weights=(chances * prior.weights[:, None]).ravel(), minlength=m))
    reach = min(int(np.searchsorted(within + prior.far.sum(), confidence)), m - 1)
    return max(place - reach, 0), min(place + reach, m - 1)


# ---- the worst case ----


def worst_case(law: ChoiceLaw, loss: str, weighed: WeighedTallies, level: Level) -> tuple[float, str]:
    """The largest expected loss, and among which tallies: all of them, one that is proved to be worst, or those tried.

    Only for the error probability is the worst tally known in general: the empty one. There the winner of a vote leads
    by less than a vote, and for a quantile all candidates are equal; every mechanism here names the winner more often
    the farther the others are behind (except three ranks, for which tallies are tried). The worst shortfall may be
    anywhere; the search goes as far as where a candidate is named e^-5 times as often as the best, or as all others
    together.
    """
    contest = law.contest

    def risks(tallies: Integers) -> Floats:
        return np.asarray((chances_of(law, tallies) * contest.loss(loss, tallies)).sum(axis=1))

    every = list_all(contest.tallies) if contest.tallies.points <= MOST_TALLIES else None
    if every is not None or weighed.complete:
        return float(risks(weighed.tallies if every is None else every).max()), EVERY
    nobody = np.zeros((1, contest.size), dtype=np.int64)
    if loss == "zero-one" and not isinstance(law, ThreeRanks):
        return float(risks(nobody)[0]), PROVED
    pure = pure_within(level)
    steps = (math.log(contest.size) + 5) / pure.log_growth if pure is not None and pure.log_growth > 0 else math.inf
    radius = math.ceil(min(contest.most, steps * contest.row_reach))
    trials = np.concatenate([nobody, contest.hard_tallies(max(radius, 1))])
    losses = risks(trials)
    of_prior = float(risks(weighed.tallies).max())
    maxima = [_climb(trials[i], float(losses[i]), contest.most, risks) for i in np.argsort(-losses)[:STARTS]]
    return max(of_prior, *maxima), TRIED


def _climb(tally: Integers, risk: float, most_rows: int, risks: Callable[[Integers], Floats]) -> float:
    """Hill climbing: move rows between cells, or in or out, while the risk rises."""
    m, rng = len(tally), np.random.default_rng(SEED)
    for _ in range(max(4, min(ROUNDS, ROUNDS * 20 // m))):
        cells = np.append(tally, most_rows - tally.sum())  # the last cell holds the rows of nobody
        sizes = 2 ** np.arange(int(cells.max()).bit_length())
        moves = np.stack(np.meshgrid(np.flatnonzero(cells), np.arange(m + 1), sizes, indexing="ij")).reshape(3, -1)
        moves = moves[:, (moves[0] != moves[1]) & (moves[2] <= cells[moves[0]])]
        if moves.shape[1] > MOVED // m:
            moves = moves[:, rng.choice(moves.shape[1], MOVED // m, replace=False)]
        candidates = np.repeat(cells[None, :], moves.shape[1], axis=0)
        rows = np.arange(moves.shape[1])
        candidates[rows, moves[0]] -= moves[2]
        candidates[rows, moves[1]] += moves[2]
        losses = risks(candidates[:, :m])
        best = int(losses.argmax())
        if not losses[best] > risk * (1 + 1e-12):
            return risk
        tally, risk = candidates[best, :m], float(losses[best])
    return risk


def as_tally_prior(prior: Any, tallies: Tallies) -> dict[tuple[int, ...], float] | None:
    """Parse a prior over tallies: a mapping, or pairs of a tally and its probability as in files; None is uniform."""
    if prior is None:
        return None
    weight_of: dict[tuple[int, ...], float] = {}
    try:
        pairs = prior.items() if isinstance(prior, Mapping) else [(tally, weight) for tally, weight in prior]
        entries = [(tally, tuple(operator.index(count) for count in tally), float(weight)) for tally, weight in pairs]
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(
            f"the prior is {shown(prior)}; give a probability for each tally of whole numbers."
        ) from None
    for tally, counts, weight in entries:
        if len(counts) != tallies.cells or min(counts) < 0 or sum(counts) > tallies.rows:
            raise InvalidInput(
                f"the prior lists {tally!r}; give {tallies.cells} whole numbers that add up to at most {tallies.rows}."
            )
        weight_of[counts] = weight
    weights = np.array(list(weight_of.values()))
    if not len(weights) or not np.isfinite(weights).all() or weights.min() < 0 or abs(weights.sum() - 1) > 1e-9:
        raise InvalidInput("the prior's probabilities must be 0 or more and add up to 1; divide them by their sum.")
    return weight_of
