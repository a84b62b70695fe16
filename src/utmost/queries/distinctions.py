"""Events that tell two tables apart: found on some draws, to be estimated on others.

An event is a single answer, all answers up to one, or all from one on; of the answers themselves, of each number of a
vector, or of the last binary digit of floating-point numbers: noise that was added in floating point leaves its traces
there (Mironov 2012, On significance of the least significant bits for differential privacy).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Literal

import numpy as np

from utmost.exact.arrays import Floats

CONFIDENCE = 0.999
"""How sure a bound is: both of its probabilities together."""
MOST_TRIED, MOST_NUMBERS = 400, 32
"""So many single answers and cuts are tried of each feature, and so many numbers of a vector."""


@dataclass(frozen=True)
class Event:
    """A set of answers: those whose feature is `key`, at most `key` or at least `key`."""

    feature: Callable[[Any], Any]
    named: str
    side: Literal["is", "at most", "at least"]
    key: Any

    def __contains__(self, answer: Any) -> bool:
        value = self.feature(answer)
        try:
            return bool(
                value == self.key
                if self.side == "is"
                else value <= self.key
                if self.side == "at most"
                else value >= self.key
            )
        except TypeError:  # an answer of another kind than all before
            return False

    def __str__(self) -> str:
        words = ", ".join(map(str, self.key)) if isinstance(self.key, tuple) else str(self.key)
        return f"{self.named}{'' if self.side == 'is' else f'{self.side} '}{words}"


def best_event(first: Sequence[Any], second: Sequence[Any], delta: float) -> tuple[Event, bool]:
    """The event whose chances differ most between two lists of draws; whether it is likelier in the second."""
    best, most, swapped = Event(_itself, "", "is", first[0]), -math.inf, False
    for named, feature in _features([*first, *second]):
        ones, others = Counter(map(feature, first)), Counter(map(feature, second))
        events, counts = _events(named, feature, ones, others)
        for turned, (here, there) in enumerate((counts, counts[::-1])):
            with np.errstate(divide="ignore", invalid="ignore"):
                scores = np.log((least(here, len(first)) - delta) / upmost(there, len(first)))
            scores = np.where(np.isnan(scores), -math.inf, scores)
            place = int(scores.argmax())
            if scores[place] > most:
                best, most, swapped = events[place], float(scores[place]), bool(turned)
    return best, swapped


def _features(answers: Sequence[Any]) -> list[tuple[str, Callable[[Any], Any]]]:
    """What may be asked of an answer, by its name: the answer itself, its numbers, its last binary digit."""
    found: list[tuple[str, Callable[[Any], Any]]] = [("", _itself)]
    lengths = {len(answer) if isinstance(answer, tuple) else 0 for answer in answers}
    if len(lengths) == 1 and 1 < max(lengths) <= MOST_NUMBERS:
        found += [(f"number {i + 1}: ", itemgetter(i)) for i in range(max(lengths))]
    if any(isinstance(answer, float) and not answer.is_integer() for answer in answers if _is_finite(answer)):
        found.append(("the last binary digit is that of 2 to the power of ", _last_digit))
    return found


def _itself(answer: Any) -> Any:
    return answer


def _is_finite(answer: Any) -> bool:
    return isinstance(answer, float) and math.isfinite(answer)


def _last_digit(answer: Any) -> int:
    """The exponent of the last binary digit of a floating-point number that is 1."""
    if not _is_finite(answer) or answer == 0:
        return 2000  # beyond all exponents
    share, exponent = math.frexp(answer)
    digits = int(math.ldexp(abs(share), 53))
    return exponent - 53 + (digits & -digits).bit_length() - 1


def _events(
    named: str, feature: Callable[[Any], Any], ones: Counter[Any], others: Counter[Any]
) -> tuple[list[Event], tuple[Floats, Floats]]:
    """Events about a feature, and how many draws of either list lie in each."""
    seen = ones + others
    try:
        keys = sorted(seen)
        ordered = True
    except TypeError:
        keys, ordered = list(seen), False
    counted = np.array([[ones[key] for key in keys], [others[key] for key in keys]], dtype=float)
    singles = np.argsort(-counted.sum(axis=0), kind="stable")[:MOST_TRIED]
    events = [Event(feature, named, "is", keys[i]) for i in singles]
    parts = [counted[:, singles]]
    if ordered and len(keys) > 1:
        cuts = np.unique(np.linspace(0, len(keys) - 2, MOST_TRIED).astype(int))
        below = np.cumsum(counted, axis=1)[:, cuts]
        events += [Event(feature, named, "at most", keys[i]) for i in cuts]
        events += [Event(feature, named, "at least", keys[i + 1]) for i in cuts]
        parts += [below, counted.sum(axis=1, keepdims=True) - below]
    both = np.concatenate(parts, axis=1)
    return events, (both[0], both[1])


def least(successes: Any, trials: int) -> Floats:
    """No smaller chance is likely to succeed so often: the lower end of Clopper and Pearson's interval."""
    from scipy.stats import beta

    k = np.asarray(successes, dtype=float)
    return np.where(k > 0, beta.ppf((1 - CONFIDENCE) / 2, np.maximum(k, 1), trials - k + 1), 0.0)


def upmost(successes: Any, trials: int) -> Floats:
    """No larger chance is likely to succeed so rarely: the upper end of Clopper and Pearson's interval."""
    from scipy.stats import beta

    k = np.asarray(successes, dtype=float)
    return np.where(k < trials, beta.ppf((1 + CONFIDENCE) / 2, k + 1, np.maximum(trials - k, 1)), 1.0)
