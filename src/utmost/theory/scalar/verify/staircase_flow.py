"""Lower bound for an integer on a line by the dual of the staircase, decided in rationals.

Geng and Viswanath (2016) show that no private noise costs less than the best staircase. Its dual is a flow of prices
between errors, which bounds every private mechanism on a line of any length, not only noise; proof in docs/theory.md,
"Sums: a dual flow". No sum runs over the points of the line or the steps of the reach, so a reach of 2^40 takes hardly
longer than one of 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from utmost.errors import InvalidInput, TooLarge
from utmost.exact import endpoints, to_float
from utmost.exact.bisection import first_between
from utmost.mechanism.noise.layers import LayerLaw, sum_norms, sum_squares
from utmost.privacy import ApproxDP, Level
from utmost.privacy.level import enclose_decay
from utmost.space.line import tolerance

MOST_POWER, MOST_CUT = 10**4, 2000
MOST_EPSILON = 5000
"""Above it, rationals below e^-epsilon have so many digits that optimising the step takes long."""
FEW_BITS = 64
"""Bits of e^-epsilon where it is raised to a power of up to 2000."""
COARSE, MOST_MOVES = 128, 2**14
"""Number of moves of the coarser flow, where delta costs more for each move; and up to how many all are used."""


def flow_bound(points: int | None, reach: int, level: Level, loss: str, upper: Any, growth: Fraction) -> float:
    """Lower bound on the expected loss of a sum, averaged over a line, by a dual flow checked in rationals.

    The flow sends price from the offset k = answer - point to k + reach, b S(k + reach) of it for k >= r, where
    S(k) = sum over j of b^j (c(k + j reach) - lambda), and lambda - c(k) for 0 < k < r, half as much each way from 0.
    It balances at lambda if S(r - 1) <= 0 <= S(r) and c(r - 1) <= lambda. What leaves k is at most A + B c(k); at an
    end, flows into row h are damped by 1 - (B/(1+B))^(m+1), m the distance of h to it in reaches, which costs
    (2 reach / points)(B lambda + A) in all.

    Parameters
    ----------
    points : int or None
        The number of points of the line; None for a line without ends (noise).
    upper : int
        The step r of a staircase, whose cost is lambda.
    growth : Fraction
        B with B >= b/(1-b), b = e^-epsilon, for losses that grow faster than the distance.
    """
    if not isinstance(level, ApproxDP) or level.delta or not 0 < level.log_growth < math.inf or reach < 1:
        raise InvalidInput("flows are for sums at pure levels.")
    if isinstance(upper, bool) or not isinstance(upper, int) or not 1 <= upper <= reach:
        raise InvalidInput("the step of the staircase is not one of the reach.")
    b = decay_below(level)
    geometric_sum, k = b / (1 - b), tolerance(loss)
    if growth < geometric_sum or (loss == "squared" and growth == geometric_sum):
        raise InvalidInput("the growth of the flow is too small.")
    _require_few_powers(reach, loss)
    value = _staircase_cost(upper, b, reach, loss)

    def partial_sum(at: int) -> Fraction:
        """S(at)."""
        return _cost_of_place(at, b, reach, loss) - value / (1 - b)

    def cost_at(at: int) -> int:
        return at if loss == "absolute" else at * at if loss == "squared" else int(at > k)

    if partial_sum(upper) < 0 or cost_at(upper - 1) > value or (upper > 1 and partial_sum(upper - 1) > 0):
        raise InvalidInput("the flow does not balance: the staircase is not the best one.")
    if points is None:
        return float_below(value)
    mean_sum, square_sum = b / (1 - b) ** 2, b * (1 + b) / (1 - b) ** 3
    if loss == "absolute":
        beyond = geometric_sum * (reach / (1 - b) - value)
    elif loss == "squared":
        beyond = (reach * mean_sum) ** 2 / (growth - geometric_sum) + reach * reach * square_sum - geometric_sum * value
    else:
        beyond = geometric_sum * (1 - value) if upper <= k else Fraction(0)
    largest_flow = max(value / 2, value - (1 + growth) * cost_at(1), beyond)
    return float_below(value - Fraction(2 * reach, points) * (growth * value + largest_flow))


def cut_flow_bound(points: int | None, reach: int, level: ApproxDP, loss: str, upper: Any, cut: Any) -> float:
    """Lower bound at a level with a small delta, for absolute errors truncated at C = cut·reach.

    Truncated errors are smaller, so a bound on them holds for all. The staircase's is lambda (1 - b^cut), because its
    tail is b times as heavy with every reach; truncation lowers S(k). No flow from one offset to another exceeds
    F = b/(1-b) (C - lambda) by a whole reach, and all that leaves the offsets below the step is what they have to give.
    At (epsilon, delta), Pr[o] exceeds e^epsilon Pr'[o] by delta in all, so each of the moves up and down costs delta
    times its largest flow.
    """
    if loss != "absolute" or not 0 < level.log_growth < math.inf or reach < 1:
        raise InvalidInput("flows that are cut off are for absolute errors and levels with an epsilon.")
    integers = all(type(number) is int for number in (upper, cut))
    if not integers or not 1 <= upper <= reach or not 1 <= cut <= MOST_CUT:
        raise InvalidInput("the step of the staircase or the cut of the errors is not a whole number in its range.")
    b = decay_below(level, FEW_BITS)
    geometric_sum, tail = b / (1 - b), b**cut
    mean = _staircase_cost(upper, b, reach, loss)
    value = mean * (1 - tail)

    def sign(at: int) -> int:
        """The sign of S(at), 0 <= at <= C."""
        return _sign_of_cut(at, b, reach, mean, tail)

    if sign(upper) < 0 or upper - 1 > value or (upper > 1 and sign(upper - 1) > 0) or cut * reach <= value:
        raise InvalidInput("the flow does not balance: the staircase is not the best one.")
    outflow = upper * value - Fraction(upper * (upper - 1), 2)
    bound = value - 2 * Fraction(level.delta) * (geometric_sum * (cut * reach - value) + outflow)
    if points is not None:
        largest_flow = max(value / 2, value - 1 - geometric_sum, geometric_sum * (reach / (1 - b) - value))
        bound -= Fraction(2 * reach, points) * (geometric_sum * value + largest_flow)
    return float_below(bound)


@lru_cache(maxsize=256)
def best_flow_bound(points: int | None, reach: int, level: ApproxDP, loss: str) -> float:
    """The largest flow bound at a level with an epsilon; 0 if there is none.

    Parameters
    ----------
    points : int or None
        The number of points of the line; None if it has no ends.
    reach : int
        The sensitivity; the time hardly depends on it.
    level : ApproxDP
        The privacy level.
    loss : str
        The loss of the integer.
    """
    if not 0 < level.log_growth <= MOST_EPSILON or reach < 1 or (level.delta and loss != "absolute"):
        return 0.0
    if level.delta:
        return max(_best_cut_flow_bound(points, reach, level, wide) for wide in {1, max(1, reach // COARSE)})
    b = decay_below(level)
    try:
        _require_few_powers(reach, loss)
        upper = _best_upper(
            reach, lambda at: (1 - b) * _cost_of_place(at, b, reach, loss) >= _staircase_cost(at, b, reach, loss)
        )
        growths = _growths(b, reach, loss, _staircase_cost(upper, b, reach, loss))
        return max(flow_bound(points, reach, level, loss, upper, growth) for growth in growths)
    except (InvalidInput, TooLarge):  # no flow applies
        return 0.0


def _best_cut_flow_bound(points: int | None, reach: int, level: ApproxDP, wide: int) -> float:
    """The bound with errors truncated where they are as rare as delta, on the multiples of `wide` alone.

    What delta costs grows with the number of moves. On these points there are reach // wide of them, and answers
    between two of them, rounded to either at random without bias, have no larger error.
    """
    if wide == 1 and reach > MOST_MOVES:
        return 0.0
    delta, b, moves = Fraction(level.delta), decay_below(level, FEW_BITS), reach // wide
    rare = (math.log(delta.denominator) - math.log(delta.numerator)) / level.log_growth
    cut = min(max(2, math.ceil(rare)), MOST_CUT)
    tail = b**cut

    def is_step(at: int) -> bool:
        return _sign_of_cut(at, b, moves, _staircase_cost(at, b, moves, "absolute"), tail) >= 0

    multiples = None if points is None else points // wide
    if multiples == 0:
        return 0.0
    try:
        return wide * cut_flow_bound(multiples, moves, level, "absolute", _best_upper(moves, is_step), cut)
    except InvalidInput:
        return 0.0


def _best_upper(reach: int, is_step: Callable[[int], bool]) -> int:
    """The best step of the staircase: the first r whose places r, r + reach, ... cost at least the mean.

    Moving a place to the upper step mixes its cost into the mean, so the mean falls as long as that cost is below it,
    and the cost of a place does not fall with r: the condition is monotone, and true at the reach.
    """
    return first_between(is_step, 0, reach)


def _growths(b: Fraction, reach: int, loss: str, value: Fraction) -> list[Fraction]:
    """Growths of a flow to try: for squared losses near the one that costs least at the ends of a line."""
    geometric_sum = b / (1 - b)
    if loss != "squared":
        return [geometric_sum]
    increment = Fraction(max(to_float(reach * b / (1 - b) ** 2) / math.sqrt(to_float(value)), 1e-12))
    return [geometric_sum + increment, 2 * geometric_sum]


def _staircase_cost(upper: int, b: Fraction, reach: int, loss: str) -> Fraction:
    """The mean cost of the staircase whose first `upper` of every `reach` integers are on the upper step."""
    law = LayerLaw(b, reach, upper)
    if loss in ("absolute", "squared"):
        return law.mean(sum_norms if loss == "absolute" else sum_squares)
    return law.tail(tolerance(loss) + 1)


def _cost_of_place(at: int, b: Fraction, reach: int, loss: str) -> Fraction:
    """The sum over j >= 0 of b^j c(at + j·reach)."""
    mean_sum, square_sum = b / (1 - b) ** 2, b * (1 + b) / (1 - b) ** 3
    if loss == "absolute":
        return Fraction(at / (1 - b) + reach * mean_sum)
    if loss == "squared":
        return at * at / (1 - b) + 2 * at * reach * mean_sum + reach * reach * square_sum
    return Fraction(b ** max(0, (tolerance(loss) - at) // reach + 1) / (1 - b))


def _sign_of_cut(at: int, b: Fraction, reach: int, mean: Fraction, tail: Fraction) -> int:
    """The sign of the cost of the places at, at + reach, ... less the mean, absolute errors being truncated.

    `tail` is b^cut, a number of up to a million digits: so it is multiplied and compared, and never added.
    """
    periods, rest = divmod(at, reach)
    cut_off = (rest + reach * b / (1 - b)) / (1 - b) / b**periods  # how much truncation lowers the cost, in tails
    cost, reduction = _cost_of_place(at, b, reach, "absolute") - mean / (1 - b), tail * (cut_off - mean / (1 - b))
    return (cost > reduction) - (cost < reduction)


def _require_few_powers(reach: int, loss: str) -> None:
    if loss not in ("absolute", "squared") and tolerance(loss) // reach > MOST_POWER:
        raise TooLarge("the flow of so wide a tolerance has too many digits.")


def decay_below(level: ApproxDP, precision: int = 192) -> Fraction:
    """A rational at or just below e^-epsilon, which is a weaker privacy level, so that bounds stay valid."""
    if level.exponent == 0 or level.exponent == math.inf:
        return 1 / level.ratio if level.exponent == 0 else Fraction(0)
    bits = precision + 2 * math.ceil(level.log_growth)
    low = endpoints(enclose_decay(level, bits))[0]
    return Fraction(math.floor(low * 2**bits), 2**bits)


def float_below(value: Fraction) -> float:
    """Round a rational down to a float."""
    nearest = to_float(value)
    return nearest if math.isfinite(nearest) and Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)
