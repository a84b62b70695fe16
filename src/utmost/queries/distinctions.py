"""Choose the event that best distinguishes two lists of draws.

An event is a single answer, all answers up to one, or all from one on; for the answers themselves, for each number of a
vector, or for the last binary digit of floating-point numbers, in which noise added in floating point leaves traces
(Mironov 2012, On significance of the least significant bits for differential privacy).
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
"""Confidence of a bound: both of its probabilities together."""
MOST_TRIED, MOST_NUMBERS = 400, 32
"""Most single answers and cuts that are tried for each feature, and most numbers of a vector."""


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
        except TypeError:  # an answer of a type that did not occur before
            return False

    def __str__(self) -> str:
        words = ", ".join(map(str, self.key)) if isinstance(self.key, tuple) else str(self.key)
        return f"{self.named}{'' if self.side == 'is' else f'{self.side} '}{words}"


def best_event(first: Sequence[Any], second: Sequence[Any], delta: float) -> tuple[Event, bool]:
    """The event whose probabilities differ most between two lists of draws; whether it is likelier in the second."""
    best, most, swapped = Event(_itself, "", "is", first[0]), -math.inf, False
    for named, feature in _features([*first, *second]):
        first_counts, second_counts = Counter(map(feature, first)), Counter(map(feature, second))
        events, counts = _events(named, feature, first_counts, second_counts)
        for turned, (here, there) in enumerate((counts, counts[::-1])):
            with np.errstate(divide="ignore", invalid="ignore"):
                scores = np.log((least(here, len(first)) - delta) / upmost(there, len(first)))
            scores = np.where(np.isnan(scores), -math.inf, scores)
            place = int(scores.argmax())
            if scores[place] > most:
                best, most, swapped = events[place], float(scores[place]), bool(turned)
    return best, swapped


def _features(answers: Sequence[Any]) -> list[tuple[str, Callable[[Any], Any]]]:
    """Functions of an answer with their names: the answer itself, its numbers, its last binary digit."""
    features: list[tuple[str, Callable[[Any], Any]]] = [("", _itself)]
    lengths = {len(answer) if isinstance(answer, tuple) else 0 for answer in answers}
    if len(lengths) == 1 and 1 < max(lengths) <= MOST_NUMBERS:
        features += [(f"number {i + 1}: ", itemgetter(i)) for i in range(max(lengths))]
    if any(isinstance(answer, float) and not answer.is_integer() for answer in answers if _is_finite(answer)):
        features.append(("the last binary digit is that of 2 to the power of ", _last_digit))
    return features


def _itself(answer: Any) -> Any:
    return answer


def _is_finite(answer: Any) -> bool:
    return isinstance(answer, float) and math.isfinite(answer)


def _last_digit(answer: Any) -> int:
    """The exponent of the least significant bit that is 1 in a floating-point number."""
    if not _is_finite(answer) or answer == 0:
        return 2000  # beyond all exponents
    share, exponent = math.frexp(answer)
    digits = int(math.ldexp(abs(share), 53))
    return exponent - 53 + (digits & -digits).bit_length() - 1


def _events(
    named: str, feature: Callable[[Any], Any], first_counts: Counter[Any], second_counts: Counter[Any]
) -> tuple[list[Event], tuple[Floats, Floats]]:
    """Events about a feature, and how many draws of each list are in them."""
    total_counts = first_counts + second_counts
    try:
        keys = sorted(total_counts)
        ordered = True
    except TypeError:
        keys, ordered = list(total_counts), False
    counts = np.array([[first_counts[key] for key in keys], [second_counts[key] for key in keys]], dtype=float)
    singles = np.argsort(-counts.sum(axis=0), kind="stable")[:MOST_TRIED]
    events = [Event(feature, named, "is", keys[i]) for i in singles]
    parts = [counts[:, singles]]
    if ordered and len(keys) > 1:
        cuts = np.unique(np.linspace(0, len(keys) - 2, MOST_TRIED).astype(int))
        below = np.cumsum(counts, axis=1)[:, cuts]
        events += [Event(feature, named, "at most", keys[i]) for i in cuts]
        events += [Event(feature, named, "at least", keys[i + 1]) for i in cuts]
        parts += [below, counts.sum(axis=1, keepdims=True) - below]
    both = np.concatenate(parts, axis=1)
    return events, (both[0], both[1])


def least(successes: Any, trials: int) -> Floats:
    """The lower end of the Clopper-Pearson interval for a probability."""
    from scipy.stats import beta

    k = np.asarray(successes, dtype=float)
    return np.where(k > 0, beta.ppf((1 - CONFIDENCE) / 2, np.maximum(k, 1), trials - k + 1), 0.0)


def upmost(successes: Any, trials: int) -> Floats:
    """The upper end of the Clopper-Pearson interval for a probability."""
    from scipy.stats import beta

    k = np.asarray(successes, dtype=float)
    return np.where(k < trials, beta.ppf((1 + CONFIDENCE) / 2, k + 1, np.maximum(trials - k, 1)), 1.0)
