"""What a level promises to a person who is asked, in words, and how weak a promise nobody is asked to take unseen."""

from __future__ import annotations

import math
from collections.abc import Sequence

from utmost.errors import WeakPromise
from utmost.exact import to_float
from utmost.privacy.gaussian import GaussianDP
from utmost.privacy.level import ApproxDP, Level
from utmost.privacy.zcdp import ZCDP

MOST_EPSILON, MOST_DELTA = 5, 0.01
"""The weakest promise under which a person responds without being asked: from even odds, 99.3 % sure at most.

Surveys of phones and browsers in use promise epsilon 1 to 8 a day. At 5 one answer is next to known already; what is
weaker, or gives away one answer in a hundred, must be wanted.
"""


def promise_in_words(level: ApproxDP) -> str:
    """What whoever sees a response can learn from it: how sure they can be of one of two answers.

    Parameters
    ----------
    level : PureDP or ApproxDP
        The level promised to the person.

    Returns
    -------
    str
        One sentence. Somebody who holds two answers for equally likely, and then sees the response, guesses the true
        one with probability (e^epsilon + delta) / (1 + e^epsilon) at most, whatever else they know.

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
    told = f", and with probability {float(level.delta):.3g} your answer is sent as it is" if level.delta else ""
    return (
        f"{level}: whoever thinks two answers equally likely and sees your response guesses yours with probability "
        f"{100 * sure:.4g} % at most (50 % without it){told}."
    )


def surest_guess(levels: Sequence[Level]) -> tuple[float, float]:
    """How often the best guess between two neighbours is right at most, from even odds, after all of these releases.

    Epsilons and deltas add up, so do rhos, and so do squares of mus. Of kinds that do not mix, the advantages over a
    coin add up: the total variation distance of several releases is at most the sum of theirs.

    Parameters
    ----------
    levels : sequence of levels
        One for every release; each may depend on what was released before.

    Returns
    -------
    (float, float)
        The probability of a right guess, and of a wrong one: their quotient are the odds. At a pure level the odds are
        e^epsilon, and hold for everything that may be released; at others, on average over what is released.

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
    found = [level.even_share() for level in rest]
    if pairs:
        shrink = math.exp(-sum(level.log_growth for level in pairs))
        secret = max(0.0, 1 - sum(float(level.delta) for level in pairs))
        found.append((1 - secret * shrink / (1 + shrink), secret * shrink / (1 + shrink)))
    if rho:
        found.append(_guess_under_zcdp(rho))
    if mu:
        found.append(GaussianDP(mu).even_share())
    if len(found) == 1:
        return found[0]
    advantage = min(1.0, sum(right - wrong for right, wrong in found))
    return (1 + advantage) / 2, (1 - advantage) / 2


def _guess_under_zcdp(rho: float) -> tuple[float, float]:
    """The largest s with KL(s, 1 - s) = (2 s - 1) log(s / (1 - s)) <= rho, found from above.

    The divergence of order 1 is at most rho, guessing keeps it so, and it is convex in both, so that the guess which
    errs equally on both sides is the best.
    """
    low, high = 0.0, 2 * rho + 2  # the log of the odds x: tanh(x/2) x <= rho; tanh(x/2) > 1/2 from 2 on
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if math.tanh(middle / 2) * middle <= rho else (low, middle)
    shrink = math.exp(-high)
    return 1 / (1 + shrink), shrink / (1 + shrink)


def is_weak(level: ApproxDP) -> bool:
    """Whether a level promises less than epsilon = 5 and delta = 0.01 do."""
    return level.log_growth > MOST_EPSILON or float(level.delta) > MOST_DELTA


def require_accepted(level: ApproxDP, accept: bool) -> None:
    """Refuse to respond under a promise weaker than the limit, unless the person accepts it."""
    if is_weak(level) and accept is not True:
        raise WeakPromise(
            f"nothing was sent: this promise is weaker than epsilon = {MOST_EPSILON} with delta = {MOST_DELTA}. "
            f"{promise_in_words(level)} If you want to respond all the same, say so: accept=True in Python, --accept "
            "on the command line."
        )
