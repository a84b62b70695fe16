"""One number on a line: the best known mechanism at any level, with a theorem or a bound.

| neighbours | level | mechanism | proof |
|---|---|---|---|
| next to each other | pure | geometric noise, best remap | theorem (Ghosh, Roughgarden, Sundararajan 2012) |
| next to each other | any concave | the best chain at every threshold | theorem: a sum of binary optima |
| farther apart, few points | (epsilon, delta) | the linear program's optimum, or noise | bound from dual prices |
| farther apart | pure | staircase or geometric noise, best remap | bound from a dual flow, in rationals |
| any | zCDP | discrete Gaussian noise, best remap | none |
| farther apart | (epsilon, delta), Gaussian | the best of truncated, canonical, rounded Gaussian | bound from pairs |

Every candidate's expected loss under the prior is computed from its law, and the smallest is taken. Unbiased answers
are the noisy number itself. Everything is chosen from public parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from flint import arb, ctx

from utmost.errors import InvalidInput, TooLarge, UtmostError
from utmost.exact import Number, as_fmpq, as_rational, endpoints, write_rational
from utmost.exact.arrays import Floats
from utmost.mechanism.noise.canonical import CanonicalLaw, require_canonical
from utmost.mechanism.noise.gaussian import DiscreteGaussian, RoundedGaussian
from utmost.mechanism.noise.gaussian_on_line import GaussianNoise
from utmost.mechanism.noise.layers import LayerLaw, LayerNoise, sum_norms, sum_squares
from utmost.privacy import ZCDP, ApproxDP, GaussianDP, Level, as_level
from utmost.privacy.level import decay_above
from utmost.solution import Problem, Solution, certificate_of, proved_bound, sketched
from utmost.space.line import MOST_LISTED, Line, line_prior, require_line_loss, tolerance
from utmost.theory.priors.design.optimum import optimal
from utmost.theory.scalar.design.threshold_chains import line_chains
from utmost.theory.scalar.line import MOST_GUESSED, LineMechanism, NoisyLine
from utmost.theory.scalar.line_chains import ChainLine, chain_reach
from utmost.theory.scalar.line_sums import MOST_TABLE
from utmost.theory.scalar.line_table import TableLine
from utmost.theory.vector.design.vectors import gaussian_law

MOST_POINTS, MOST_PAIRS = 150, 600
"""The largest linear program: points, and pairs of neighbours."""
MOST_CHAINS, MOST_WEIGHTED = 4 * 10**6, 10**8
"""The most thresholds times steps for which chains are optimised: under the uniform prior few differ, else all."""
MOST_DIGITS = 2**22
ExactCost: TypeAlias = Callable[[LayerLaw], Fraction]
"""The exact expected cost of a law."""
LONG = 1000
"""From this many points on boundary effects on the accuracy of best guesses are negligible."""


def best_on_line(
    line: Line, level: Level | Number, loss: str = "absolute", prior: Any = None, unbiased: bool = False
) -> Solution:
    """The best known mechanism for an integer on a line, with a theorem or a lower bound.

    Parameters
    ----------
    line : Line
        The range of the private integer, and the sensitivity.
    level : level or number
        The privacy of one answer; a number is an epsilon. Pure, (epsilon, delta), Gaussian levels and pairs of knots.
    loss : "absolute", "squared", "zero-one" or "within k"
        The loss whose average under the prior is minimised.
    prior : sequence of probabilities, optional
        The probability of each point of the line, in order; None is uniform.
    unbiased : bool
        Release the noisy number itself, which has mean 0 noise and may lie beyond the ends. On an unbounded line,
        `Line(None, None, reach)`, it always is, and no mechanism has a smaller worst-case loss.

    Returns
    -------
    Solution
        `sample(point)` draws exactly; the mechanism has its law, its expected losses, and the posterior after an
        answer.

    Examples
    --------
    >>> from utmost.space.line import Line
    >>> count = best_on_line(Line(0, 1000, 1), 1.0)
    >>> round(count.value, 6), count.certificate.claim, bool(count.verify())
    (0.849573, 'theorem', True)
    >>> anywhere = best_on_line(Line(None, None, 1), 1.0)
    >>> round(anywhere.value, 6), anywhere.certificate.claim, bool(anywhere.verify())
    (0.850918, 'theorem', True)
    >>> total = best_on_line(Line(0, 100_000, 5), 1.0)
    >>> print(f"{total.value:.4f} >= {total.certificate.bound:.4f}")
    4.7859 >= 4.7857
    """
    level, loss, weights = as_level(level), require_line_loss(loss), line_prior(line, prior)
    unbiased = unbiased or not line.is_bounded
    if weights is None:
        return _uniform(line, level, loss, unbiased)
    mechanism, prices = _best(line, level, loss, weights, unbiased)
    return _with_certificate(mechanism, level, prices)


def sketch_on_line(line: Line, level: Level, loss: str, prior: Any = None, unbiased: bool = False) -> Solution:
    """The mechanism of `best_on_line` without its proof, for a search over many levels.

    On long lines best guesses are hardly better than the noisy number: there the noise stands for them.

    Examples
    --------
    >>> from utmost.space.line import Line
    >>> sketch, found = (make(Line(0, 20_000, 1), as_level(0.1), "absolute") for make in (sketch_on_line, best_on_line))
    >>> bool(0.99 * sketch.value < found.value <= sketch.value), sketch.certificate.claim
    (True, 'unproved')
    """
    unbiased = unbiased or not line.is_bounded
    if unbiased or (prior is None and line.points >= LONG):
        mechanism: LineMechanism = NoisyLine(line, _best_noise(line, level, loss), loss, prior, "none")
    else:
        mechanism = _best(line, level, loss, prior, unbiased)[0]
    data = {"loss": loss, "prior": prior, "unbiased": unbiased}
    return sketched(Problem("number.line", line, level, data), mechanism, mechanism.expected(loss))


@lru_cache(maxsize=64)
def _uniform(line: Line, level: Level, loss: str, unbiased: bool) -> Solution:
    mechanism, prices = _best(line, level, loss, None, unbiased)
    return _with_certificate(mechanism, level, prices)


def _best(
    line: Line, level: Level, loss: str, prior: Floats | None, unbiased: bool
) -> tuple[LineMechanism, dict[str, Any]]:
    """The best mechanism among the candidates, and dual prices if a linear program was solved."""
    reach = max(line.reach, 1)
    if unbiased:
        return NoisyLine(line, _best_noise(line, level, loss), loss, prior, "none"), {}
    if reach == 1 and not _is_pure(level) and not isinstance(level, ZCDP) and loss in ("absolute", "squared"):
        chains = _chains(line, level, loss, prior)
        if chains is not None:
            return chains, {}
    noises = [_with_remap(line, law, loss, prior) for law in _noises(level, reach, loss)]
    best: LineMechanism = min(noises, key=lambda noise: noise.expected(loss))
    if reach == 1:
        return best, {}
    table, prices = _program(line, level, loss, prior)
    if table is not None and table.expected(loss) < best.expected(loss):
        best = table
    return best, prices


def _best_noise(line: Line, level: Level, loss: str) -> Any:
    """The law of the best noise for an unbiased answer."""
    laws = list(_noises(level, max(line.reach, 1), loss))
    return laws[0] if len(laws) == 1 else min(laws, key=lambda law: law.mean(loss))


# ---- candidates ----


def _is_pure(level: Level) -> bool:
    return isinstance(level, ApproxDP) and not level.delta


def _noises(level: Level, reach: int, loss: str) -> Iterator[Any]:
    """Noise laws that satisfy a level at this sensitivity."""
    if isinstance(level, ZCDP) or (isinstance(level, ApproxDP) and level.delta and reach > 1):
        law = gaussian_law(level, reach * reach)
        if isinstance(law, RoundedGaussian | DiscreteGaussian):
            yield GaussianNoise(law)
        if isinstance(level, ZCDP):
            return
    if isinstance(level, ApproxDP):
        if 0 < level.log_growth < math.inf:  # pure noise satisfies (epsilon, delta), too
            steps = exact_cost({"absolute": "l1", "squared": "l2"}.get(loss) or f"within {tolerance(loss)}")
            assert steps is not None
            yield LayerNoise(best_step(LayerLaw(decay_above(level), reach, 1), steps))
            geometric = LayerNoise(LayerLaw(decay_above(level, reach), 1, 1))
            if reach > 1 and geometric.wide <= MOST_GUESSED:  # wider noise is not remapped, and the staircase is better
                yield geometric
        if level.delta or level.log_growth == 0:
            require_canonical(level)
            yield CanonicalLaw(level, reach)
            truncated = CanonicalLaw(_share(level, reach))
            if reach > 1 and truncated.wide <= MOST_GUESSED:
                yield truncated
        return
    if reach > 1 and isinstance(level, GaussianDP):
        yield CanonicalLaw(GaussianDP(Fraction(level.mu) / reach))
        return
    yield CanonicalLaw(level, reach)


def _share(level: ApproxDP, steps: int) -> ApproxDP:
    """The level of one step such that `steps` steps satisfy a level; its delta is a rational just below the largest."""
    if level.log_growth == 0:
        return ApproxDP(0, level.delta / steps)
    with ctx.workprec(256):
        total_epsilon = arb(as_fmpq(level.ratio)).log() + arb(as_fmpq(Fraction(level.exponent)))
        step_epsilon = endpoints(total_epsilon / steps)[0]
        epsilon = (
            Fraction(math.floor(step_epsilon * 2**80), 2**80) if level.ratio != 1 else Fraction(level.exponent) / steps
        )
        step_delta = arb(as_fmpq(epsilon)).expm1() / (steps * arb(as_fmpq(epsilon))).expm1() * as_fmpq(level.delta)
        delta_below = endpoints(step_delta)[0]
    bits = 64 + max(0, -math.frexp(float(delta_below))[1])
    return ApproxDP(epsilon, Fraction(math.floor(delta_below * 2**bits) - 1, 2**bits))


def _with_remap(line: Line, law: Any, loss: str, prior: Floats | None) -> NoisyLine:
    """Noise with its optimal remap, or clamped to the ends where a table of guesses would not fit."""
    mechanism = NoisyLine(line, law, loss, prior, "best")
    too_large = prior is not None and (line.points + 2 * law.wide) * (2 * law.wide + 1) > MOST_TABLE
    return NoisyLine(line, law, loss, prior, "cut") if too_large or not mechanism.guesses else mechanism


def _chains(line: Line, level: Level, loss: str, prior: Floats | None) -> ChainLine | None:
    """The optimal chains of a count; None where they are too many to list, or too long to optimise one by one."""
    require_canonical(level)
    if line.points > MOST_LISTED:
        return None
    wide = chain_reach(level, np.array([level.even_share()[1]]), line.points)
    if wide * wide > MOST_CHAINS if prior is None else line.points * wide > MOST_WEIGHTED:
        return None
    try:
        return ChainLine(line, level, line_chains(level, line, loss, prior), loss, prior)
    except TooLarge:
        return None


def _program(line: Line, level: Level, loss: str, prior: Floats | None) -> tuple[TableLine | None, dict[str, Any]]:
    """The optimum of the linear program, certified, and its dual prices; None where it is too large."""
    few = 1 if _is_pure(level) else 5  # a delta adds a variable for every answer and pair of neighbours
    if (
        not isinstance(level, ApproxDP)
        or few * max(line.points / MOST_POINTS, line.points * line.reach / MOST_PAIRS) > 1
    ):
        return None, {}
    try:
        method: Any = "columns" if not level.delta and line.points > 40 else "linear-program"
        solution = optimal(line.space(), level, prior=prior, loss=loss, method=method)
        certified = solution.certified
    except UtmostError:
        return None, {}
    prices = {
        "proof": "prices",
        **{name: solution.certificate.evidence[name] for name in ("dual_places", "dual_values")},
    }
    return TableLine(line, certified.weights, certified.bits, loss, prior), prices  # type: ignore[union-attr]


# ---- the best staircase ----


def exact_cost(cost: Any) -> ExactCost | None:
    """The expected cost that a name ("l1", "l2", "within 3") stands for, as a function of the law; else None."""
    if callable(cost):
        return None
    if cost in ("l1", "l2"):
        summed = sum_norms if cost == "l1" else sum_squares
        return lambda law: law.mean(summed)
    word, _, number = cost.partition(" ") if isinstance(cost, str) else ("", "", "")
    if word != "within":
        raise InvalidInput(
            f"cost is {cost!r}; say 'l1', 'l2' or 'within 3', or give a symmetric callable of an integer."
        )
    bound = math.floor(as_rational(number, "the bound of 'within'"))
    return lambda law: _tail(law, max(bound, -1) + 1)


def _tail(law: LayerLaw, n: int) -> Fraction:
    if n // law.period * law.decay.denominator.bit_length() > MOST_DIGITS:
        raise TooLarge(f"the probability of noise beyond {n - 1} has millions of digits here; give a smaller bound.")
    return law.tail(n)


def best_step(law: LayerLaw, cost: ExactCost) -> LayerLaw:
    """The staircase with the lowest expected cost, by a search with ever finer strides, all in fractions.

    Let L_r be the mean cost at place r of all periods. Raising place r to the upper step mixes L_r into the mean, so
    cost(r + 1) lies between cost(r) and L_r. In one dimension L_r does not fall with r if the cost does not fall with
    |k|: hence costs first fall and then do not, and an r that costs no more than its neighbours costs no more than any.
    """
    costs: dict[int, Fraction] = {}

    def at(upper: int) -> Fraction:
        if upper not in costs:
            costs[upper] = cost(replace(law, upper=upper))
        return costs[upper]

    best, stride = 1, law.period
    if law.dimension == 1:  # start from the optimal share of a period on the upper step for continuous noise and |x|
        root = math.sqrt(law.decay)  # 0 at epsilon 3000, where 1/decay overflows a float
        best = min(max(1, round(law.period * root / (1 + root))), law.period)
        if all(at(best) <= at(neighbour) for neighbour in (best - 1, best + 1) if 1 <= neighbour <= law.period):
            stride = 1
    while stride > 1:
        reach, stride = stride, max(1, stride // 16)
        candidates = range(max(1, best - reach), min(law.period, best + reach) + 1, stride)
        best = min((best, *candidates), key=at)
    while (better := min((best, max(1, best - 1), min(law.period, best + 1)), key=at)) != best:
        best = better
    return replace(law, upper=best)


# ---- proofs ----


def _with_certificate(mechanism: LineMechanism, level: Level, prices: dict[str, Any]) -> Solution:
    line, loss, prior = mechanism.line, mechanism.loss, mechanism.prior
    unbiased = isinstance(mechanism, NoisyLine) and mechanism.remap == "none"
    value = mechanism.expected(loss)
    data = {"loss": loss, "prior": prior, "unbiased": unbiased}
    problem = Problem("number.line", line, level, data)
    theorem = _theorem(mechanism, level)
    if theorem is not None:
        certificate = certificate_of(problem, mechanism, "theorem", gap=0.0, evidence={"proof": theorem})
        return Solution(problem, mechanism, value, certificate)
    bound, evidence = max(_bounds(problem, prices), key=lambda bound: bound[0], default=(0.0, {}))
    if not 0 < bound <= value * (1 + 1e-9):
        certificate = certificate_of(problem, mechanism, "unproved")
    else:
        certificate = certificate_of(problem, mechanism, "bound", bound, abs(value - bound), evidence)
    return Solution(problem, mechanism, value, certificate)


def _theorem(mechanism: LineMechanism, level: Level) -> str | None:
    """The key of the theorem that proves a mechanism optimal, if there is one."""
    if isinstance(mechanism, ChainLine):
        return "chains"
    if not isinstance(mechanism, NoisyLine):
        return None
    noise, reach = mechanism.noise, max(mechanism.line.reach, 1)
    if mechanism.remap == "none":
        if reach == 1 and isinstance(noise, CanonicalLaw) and noise.level == level:
            return "canonical"
        best = _is_pure(level) and isinstance(noise, LayerNoise) and noise.period == reach
        return "staircase" if best else None
    geometric = _is_pure(level) and reach == 1 and isinstance(noise, LayerNoise) and mechanism.guesses
    return "geometric" if geometric else None


def _bounds(problem: Problem, prices: dict[str, Any]) -> Iterator[tuple[float, dict[str, Any]]]:
    """Lower bounds on the expected loss, by every method that applies, with their evidence."""
    line, level, loss = problem.space, problem.privacy, problem.data["loss"]
    roads = [prices] if prices else []
    if problem.data["prior"] is None:
        roads += _flows(line, level, loss)
        roads += [{"proof": "pairs"}]
    for evidence in roads:
        try:
            yield proved_bound(problem, evidence), evidence
        except UtmostError:  # the method does not apply
            continue


def _flows(line: Line, level: Level, loss: str) -> list[dict[str, Any]]:
    """Evidence of the dual flow of the best staircase; for squared losses with the best growth at the ends."""
    if not isinstance(level, ApproxDP) or not 0 < level.log_growth < math.inf:
        return []
    law = next(law for law in _noises(level, max(line.reach, 1), loss) if isinstance(law, LayerNoise))
    b, upper = law.law.decay, law.law.upper
    growth = b / (1 - b)
    if level.delta:  # errors are truncated where they are as rare as delta
        cut = max(2, math.ceil(-math.log(level.delta) / level.log_growth))
        steps = [step for step in (upper, upper - 1, upper + 1) if 1 <= step <= line.reach]
        return [{"proof": "flow", "upper": step, "cut": cut, "growth": write_rational(growth)} for step in steps]
    if loss == "squared":
        growth += Fraction(max(float(line.reach * b / (1 - b) ** 2) / math.sqrt(law.mean(loss)), 1e-12))
    return [{"proof": "flow", "upper": upper, "growth": write_rational(growth)}]
