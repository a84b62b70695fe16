"""The decision of a listener: an answer, and the posterior of the function's values given the messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact import Number, as_rational
from utmost.exact.arrays import Floats
from utmost.mechanism.sampling import WORD, draw
from utmost.theory.multiparty.design.functions import Question


@dataclass(frozen=True)
class Decision:
    """The decision of a listener.

    Attributes
    ----------
    answer : label
        The answer to give.
    posterior : mapping
        The probability of every value of the function given the messages, when all bits are fair coins.
    chances : mapping
        The probability with which the rule gives each answer. For the worst case the best rule may be randomised, and
        listeners with the same messages agree only if they use the same `coin`.
    """

    answer: Any
    posterior: Mapping[Any, float]
    chances: Mapping[Any, float]


def posterior_of(question: Question, likely: Floats) -> Floats:
    """The probability of every value of the function when the bit of party i is 1 with probability likely[i, 1]."""
    states = np.ones(1)
    for no, yes in likely:
        states = np.convolve(states, [no, yes]) if question.counted else np.multiply.outer(states, [no, yes]).ravel()
    return np.bincount(question.positions, weights=states, minlength=len(question.values)).astype(float)


def best_answer(posterior: Floats, table: Floats) -> int:
    """The answer with the best expected accuracy; among ties the first, so that all listeners agree."""
    gains = posterior @ table
    return int(np.argmax(gains >= gains.max() - 1e-12 * max(1.0, float(np.abs(table).max()))))


def read_coin(coin: Number) -> Fraction:
    """The number from 0 up to 1 that listeners share as a coin, checked."""
    toss_value = as_rational(coin, "coin")
    if not 0 <= toss_value < 1:
        raise InvalidInput(f"coin is {coin!r}; give a number from 0 up to, but not, 1.")
    return toss_value


def toss(rule: Floats, coin: Fraction | None = None) -> int:
    """An answer drawn with these probabilities, or the one that a shared coin between 0 and 1 selects.

    No one's privacy depends on it, so probabilities are rounded to integers.
    """
    weights = [int(chance * 2**WORD) for chance in rule.tolist()]
    weights[int(np.argmax(rule))] += 2**WORD - sum(weights)
    if coin is None:
        return int(draw(weights, WORD, 1)[0])
    return sum(below <= coin * 2**WORD for below in accumulate(weights[:-1]))
