"""Verifier of winners and quantiles: the value recomputed, and lower bounds on the loss."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx

from utmost.errors import InvalidInput
from utmost.exact import as_fmpq, endpoints
from utmost.exact.saved import NONSENSE
from utmost.mechanism.certification import Check
from utmost.privacy import ApproxDP, Level
from utmost.privacy.level import enclose_epsilon
from utmost.space.edge_levels import on_edges
from utmost.space.integers import Tallies
from utmost.theory.selection.choice_tables import MOST_EDGES, MOST_LISTED
from utmost.theory.selection.choices import ChoiceLaw, formula_choices
from utmost.theory.selection.problem import Contest, Votes, contest_of
from utmost.theory.selection.tally_averages import WeighedTallies, as_tally_prior, expected_loss, weigh_tallies
from utmost.theory.selection.verify.shortfalls import shortfall_bound, uneven_chains
from utmost.theory.selection.verify.triples import triple_gain
from utmost.theory.verify_dual_bounds import mechanism_bound
from utmost.theory.verify_evidence import Evidence, Outcome, check_bound, read_array, read_positions

BITS = 192
LEAST_EPSILON = 1e-9
NEGLIGIBLE = 90.0
"""Bits of precision of bounds, least epsilon, and the exponent after which terms are bounded all at once: e^-90."""


def check_choice(problem: Any, solved: Any) -> Outcome:
    """A bound by chains of tallies between two winners, or by Lagrange duality with weights on privacy's constraints.

    Every tally lies on one chain, along which only the two leading candidates change places and neighbours are next to
    each other (proof in docs/theory.md); along a chain a binary mechanism has the smallest expected error.
    """
    law, (contest, level, loss, prior) = solved.mechanism, _read_problem(problem)
    if not isinstance(law, ChoiceLaw) or law.contest != contest:
        raise InvalidInput("the mechanism decides another contest than the question asks.")
    weighed = weigh_tallies(contest, level, prior)
    value, error = expected_loss(law, weighed, loss)
    equal = abs(solved.value - value) <= 1e-9 * max(abs(value), 1e-3)
    exactly = f"standard error {error:.2g}, {weighed.words}" if error else weighed.words
    detail = f"{value:.12g} ({exactly})" + ("" if equal else f", not {solved.value:.12g} as stated")
    checks = [Check("value", equal, detail), _comparison(law, contest, level, value, weighed, loss)]
    certificate = solved.certificate
    if certificate.claim == "unproved" and certificate.bound is None:
        return tuple(checks), float("inf")
    if certificate.claim != "bound" or certificate.bound is None:
        raise InvalidInput("of a choice only a bound can be proved.")
    bound = choice_bound(problem, certificate.evidence)
    checks.append(check_bound(solved, value, bound, least=True, room=5 * error + 1e-12))
    return tuple(checks), max(value - certificate.bound, 0.0)


def _comparison(
    law: ChoiceLaw, contest: Contest, level: Level, value: float, weighed: WeighedTallies, loss: str
) -> Check:
    """Check that the expected loss is at most that of the closed forms, as the certificate says."""
    formulas = [formula for formula in formula_choices(contest, level) if formula.name != law.name]
    losses = {formula.name: expected_loss(formula, weighed, loss).value for formula in formulas}
    better = [name for name, expected in losses.items() if expected < value * (1 - 1e-9) - 1e-12]
    comparison = (
        f"more than {', '.join(better)}"
        if better
        else f"no more than {', '.join(losses) or 'others, none being known'}"
    )
    return Check("compared", not better, f"it loses {comparison}")


def _read_problem(problem: Any) -> tuple[Contest, Level, str, dict[tuple[int, ...], float] | None]:
    """Parse and validate a problem, which may come from an untrusted file."""
    tallies, level, data = problem.space, problem.privacy, problem.data
    if not isinstance(tallies, Tallies) or not isinstance(level, Level):
        raise InvalidInput("a choice is about tallies, at one level.")
    if isinstance(level, ApproxDP) and level.log_growth < LEAST_EPSILON and level.delta == 0:
        raise InvalidInput(f"at {level} no choice says anything, and its chains would have no end.")
    try:
        contest = contest_of(problem.question, tallies, data)
        loss, prior = data["loss"], as_tally_prior(data["prior"], tallies)
    except NONSENSE as wrong:
        raise InvalidInput(f"the problem cannot be read ({type(wrong).__name__}).") from None
    if not isinstance(loss, str) or loss not in contest.losses:
        raise InvalidInput(f"the loss must be one of {', '.join(contest.losses)}.")
    return contest, level, loss, prior


def choice_bound(problem: Any, evidence: Evidence) -> float:
    """Lower bound on the expected loss: from dual prices on the listed tallies, or by chains of two winners.

    Prices on triangles of three leaders, if there are any, add to the bound by chains.
    """
    contest, level, loss, prior = _read_problem(problem)
    if "dual_places" not in evidence:
        if not isinstance(contest, Votes) or prior is not None:
            raise InvalidInput("chains bound the loss of a winner over all tallies alike, nothing else.")
        bound = (winner_bound if loss == "zero-one" else shortfall_bound)(contest.tallies, level)
        if "sides" in evidence and isinstance(level, ApproxDP):
            bound += triple_gain(contest.tallies, level, loss, evidence)
        return float(np.nextafter(bound, 0))
    tallies = contest.tallies
    if tallies.points > MOST_LISTED:
        raise InvalidInput(f"dual prices are for at most {MOST_LISTED} tallies.")
    space = tallies.space()
    if len(space.edges) > MOST_EDGES:
        raise InvalidInput(f"dual prices are for at most {MOST_EDGES} edges.")
    every = tallies.vectors()
    weights = np.full(len(every), 1 / len(every))
    if prior is not None:
        weights = np.zeros(len(every))
        weights[tallies.places(np.array(list(prior), dtype=np.int64))] = list(prior.values())
    levels = on_edges(space, level)
    levels.require(ApproxDP, "dual prices need an (epsilon, delta) level.")
    duals = np.zeros((2, len(levels), contest.size))
    places = read_positions(evidence, "dual_places", (None,), max(duals.size, 1))
    np.add.at(duals.reshape(-1), places, np.maximum(read_array(evidence, "dual_values", "f", places.shape), 0.0))
    return -mechanism_bound(levels, -weights[:, None] * contest.loss(loss, every), duals)


def winner_bound(tallies: Tallies, level: Level) -> float:
    """Lower bound on the probability of a wrong winner, for all tallies of at most N rows with equal probability.

    With b = e^-epsilon and r the sensitivity of a lead to one row, a tally whose winner leads by k (one more where
    it wins ties) lies at depth ceil(k/r) of its chain; C(N - k + m, m - 1) tallies have that lead. A chain with n
    tallies on one side and n' on the other has error at least min((A + A') b/(1 + b), A, A'), A = 1 + b + ... +
    b^(n-1): the binary optimum. The first of the three is the least unless n and n' differ by one and b^n (1 + b) > 1,
    n the lesser; those chains are counted. Neighbours with several rows may change only one of them, so the bound holds
    for them.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> round(winner_bound(Tallies(3, 20, "add-remove"), PureDP(1)), 8)
    0.05096953
    """
    if not isinstance(level, ApproxDP) or level.delta or not 0 < level.log_growth < math.inf:
        raise InvalidInput(f"chains of winners bound pure levels, not {level}.")
    n, m, r = tallies.rows, tallies.cells, 1 if tallies.neighbours == "add-remove" else 2
    number = math.comb(n + m, m)
    with ctx.workprec(BITS):
        b = (-enclose_epsilon(level)).exp()
        total, share = arb(0), arb(m) / (n + m)  # of the tallies with lead 1
        for k in range(1, min(n + 1, math.ceil(r * NEGLIGIBLE / float(level.log_growth)) + r) + 1):
            total += share * b ** (-(-k // r) - 1)  # the omitted terms would only add
            share = share * (n - k + 1) / (n - k + m) if k <= n else arb(0)
        total = total * b / (1 + b)
        for short in range(n + 1):
            less, more = (1 - b**short) / (1 - b), (1 - b ** (short + 1)) / (1 - b)
            saved = (less + more) * b / (1 + b) - less
            if saved < 0:  # certainly, and then for all longer chains
                break
            count = as_fmpq(Fraction(uneven_chains(tallies, short), number))
            total -= saved.max(arb(0)) * arb(count)
        return max(0.0, float(np.nextafter(float(endpoints(total)[0]), -math.inf)))
