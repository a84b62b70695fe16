"""What a level promises to a person who is asked, in words, and how weak a promise nobody is asked to take unseen."""

from __future__ import annotations

import math

from utmost.errors import WeakPromise
from utmost.privacy.approx import ApproxDP

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
