"""The guarantee to a survey respondent in words, and the weakest level that needs no explicit consent."""

from __future__ import annotations

import math
from collections.abc import Sequence

from utmost.errors import WeakPromise
from utmost.exact import to_float
from utmost.messages import Argument
from utmost.privacy.gaussian import GaussianDP
from utmost.privacy.level import ApproxDP, Level
from utmost.privacy.zcdp import ZCDP

MOST_EPSILON, MOST_DELTA = 5, 0.01
"""The weakest level under which a person responds without explicit consent: from even odds, at most 99.3 % certain.

Deployed surveys of phones and browsers use epsilon 1 to 8 a day. At 5 one answer is nearly known already; a weaker
level, or one that reveals one answer in a hundred, needs consent.
"""


def promise_in_words(level: ApproxDP) -> str:
    """The guarantee of a local level in words: how certain an observer of the response can be of one of two answers.

    Parameters
    ----------
    level : PureDP or ApproxDP
        The level for the person.

    Returns
    -------
    str
        One sentence. An observer who considers two answers equally likely, and then sees the response, guesses the true
        one with probability at most (e^epsilon + delta) / (1 + e^epsilon), whatever else they know.

    Examples
    --------
    >>> print(promise_in_words(ApproxDP(1, 0)))
    (1, 0)-DP: whoever thinks two answers equally likely and sees your response guesses yours with probability 73.11 %
    at most (50 % without it).
    """
    if level.delta == 1 or math.isinf(level.log_growth):
        return f"{level} promises nothing: your answer can be sent as it is."
    shrink = math.exp(-level.log_growth)
    sure = (1 + float(level.delta) * shrink) / (1 + shrink)
    reveal_clause = (
        f", and with probability {float(level.delta):.3g} your answer is sent as it is" if level.delta else ""
    )
    return (
        f"{level}: whoever thinks two answers equally likely and sees your response guesses yours with probability "
        f"{100 * sure:.4g} % at most (50 % without it){reveal_clause}."
    )


def surest_guess(levels: Sequence[Level]) -> tuple[float, float]:
    """Upper bound on the probability of guessing between two neighbours, from even odds, after all of these releases.

    Epsilons and deltas add up, so do rhos, and so do squares of mus. For levels of different kinds, the advantages over
    a coin add up: the total variation distance of several releases is at most the sum of theirs.

    Parameters
    ----------
    levels : sequence of levels
        One for every release; each may depend on earlier releases.

    Returns
    -------
    (float, float)
        The probability of a right guess, and of a wrong one; their quotient is the odds. At a pure level the odds are
        e^epsilon for every output; at others, on average over outputs.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> right, wrong = surest_guess([PureDP(0.25), PureDP(0.25)])
    >>> round(right / wrong, 4)                                               # e^0.5
    1.6487
    """
    pairs = [level for level in levels if isinstance(level, ApproxDP)]
    rho = sum(to_float(level.rho) for level in levels if isinstance(level, ZCDP))
    mu = math.hypot(*(to_float(level.mu) for level in levels if isinstance(level, GaussianDP)))
    rest = [level for level in levels if not isinstance(level, ApproxDP | ZCDP | GaussianDP)]
    guesses = [level.even_share() for level in rest]
    if pairs:
        shrink = math.exp(-sum(level.log_growth for level in pairs))
        secret = max(0.0, 1 - sum(float(level.delta) for level in pairs))
        guesses.append((1 - secret * shrink / (1 + shrink), secret * shrink / (1 + shrink)))
    if rho:
        guesses.append(_guess_under_zcdp(rho))
    if mu:
        guesses.append(GaussianDP(mu).even_share())
    if len(guesses) == 1:
        return guesses[0]
    advantage = min(1.0, sum(right - wrong for right, wrong in guesses))
    return (1 + advantage) / 2, (1 - advantage) / 2


def _guess_under_zcdp(rho: float) -> tuple[float, float]:
    """The largest s with KL(s, 1 - s) = (2 s - 1) log(s / (1 - s)) <= rho, rounded up.

    The divergence of order 1 is at most rho, also after post-processing, and it is jointly convex, so that the guess
    with equal errors on both sides is the best.
    """
    low, high = 0.0, 2 * rho + 2  # the log of the odds x: tanh(x/2) x <= rho; tanh(x/2) > 1/2 from 2 on
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if math.tanh(middle / 2) * middle <= rho else (low, middle)
    shrink = math.exp(-high)
    return 1 / (1 + shrink), shrink / (1 + shrink)


def is_weak(level: ApproxDP) -> bool:
    """Whether a level is weaker than epsilon = 5 and delta = 0.01."""
    return level.log_growth > MOST_EPSILON or float(level.delta) > MOST_DELTA


def require_accepted(level: ApproxDP, accept: bool) -> None:
    """Refuse to respond at a level weaker than the limit, unless the person accepts it."""
    if is_weak(level) and accept is not True:
        raise WeakPromise(
            f"nothing was sent: this promise is weaker than epsilon = {MOST_EPSILON} with delta = {MOST_DELTA}. "
            f"{promise_in_words(level)} If you want to respond all the same, say so: ",
            Argument("accept", True),
            ".",
        )
