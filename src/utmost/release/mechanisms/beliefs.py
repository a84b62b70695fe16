"""What to believe about every count after noise on all of them: its law given the prior and *all* answers.

The prior is uniform on 0..last for every count, and independent between them. One vector of noise couples the answers:
zeros in nine of ten say that the noise is large, also on the tenth. Answers are x + z cut off at the ends, so an answer
y inside stands for one z to each x, and an answer at an end for all z at or beyond it. By the kind of noise:

* "cube": given the radius s every coordinate is uniform on -s..s by itself. So the radius has the weight
  b^s times the product of the *ways* of each answer (how many pairs of x and z with |z| <= s lead to it), and what is
  believed about one count is the mixture over radii, weighted by the ways of all others.
* "exchange": max(P, M) of the sums P of rises and M of falls is (sum of |z_i| + |sum of z_i|)/2. So the law is a
  product of one factor b^(|z|/2) for each coordinate and one of their sum: sums of the coordinates so far are a Markov
  chain, and the forward and backward passes along it give every coordinate's law given all answers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.release.mechanisms.balls import NEGLIGIBLE

Floats: TypeAlias = NDArray[np.float64]
Belief: TypeAlias = tuple[NDArray[Any], Floats]
"""Points 0..last and their probabilities."""


def cube_beliefs(decay: Fraction, last: int, answers: Sequence[int]) -> list[Belief]:
    """The law of every count on 0..last after cube noise, given all answers."""
    log_b = math.log(decay)
    found, times = np.unique(np.asarray(answers), return_counts=True)
    far = _farthest_radius(log_b, last, found, times)
    radii = np.arange(far + 1.0)
    weights = radii * log_b
    for answer, often in zip(found.tolist(), times.tolist(), strict=True):
        weights += often * np.log(_ways(answer, last, radii))
    beliefs: dict[int, Belief] = {}
    for answer in found.tolist():
        others = weights - np.log(_ways(answer, last, radii))
        off = _at_or_above(np.exp(others - others.max()))  # one z, so many steps off, is in all larger cubes
        beliefs[answer] = belief(answer, last, off[::-1], off[1:])
    return [beliefs[answer] for answer in answers]


def exchange_beliefs(decay: Fraction, last: int, answers: Sequence[int], far: int) -> list[Belief]:
    """The law of every count on 0..last after exchange noise, given all answers; larger radii than `far` left out."""
    shifts = np.arange(-far, far + 1)
    fall = np.exp(math.log(decay) / 2 * np.abs(shifts))
    factors = {answer: fall * _leading_to(answer, last, shifts) for answer in set(answers)}
    behind = [fall]  # by the sum so far: all later coordinates, and the factor of the whole sum
    for answer in reversed(answers[1:]):
        behind.append(_moved(behind[-1], factors[answer][::-1], far))
    ahead = np.where(shifts == 0, 1.0, 0.0)  # by the sum so far: all earlier coordinates
    beliefs: dict[int, Belief] = {}
    for answer in answers:
        rest = behind.pop()
        if answer not in beliefs:
            law = fall * _moved(rest, ahead[::-1], far)
            beliefs[answer] = belief(answer, last, law[: far + 1], law[far + 1 :])
        ahead = _moved(ahead, factors[answer], far)
    return [beliefs[answer] for answer in answers]


def belief(answer: int, last: int, falls: Floats, rises: Floats) -> Belief:
    """The law of a count from that of its noise: falls ..., -2, -1, 0 and rises 1, 2, ..., as far as they matter."""
    far = len(rises)
    points = np.arange(max(0, answer - far), min(last, answer + far) + 1)
    if answer == 0:  # noise at or below -x led here
        chances = np.cumsum(falls)[::-1][points]
    elif answer == last:
        chances = _at_or_above(np.append(falls[-1:], rises))[last - points]
    else:
        chances = np.concatenate([falls, rises])[answer - points + far]
    return points, chances / chances.sum()


def _farthest_radius(log_b: float, last: int, found: NDArray[Any], times: NDArray[Any]) -> int:
    """A radius beyond which nothing matters: weights are log-concave, so they never rise again."""
    radius, best = 1.0, 0.0  # at radius 0 every answer has one way
    while True:
        ways = [float(_ways(int(answer), last, np.array(radius))) for answer in found]
        weight = radius * log_b + float(times @ np.log(ways))
        if weight < best - NEGLIGIBLE:
            return int(radius)
        radius, best = 2 * radius, max(best, weight)


def _ways(answer: int, last: int, radii: Floats) -> Floats:
    """How many pairs of a count on 0..last and noise on -s..s lead to an answer, for every radius s."""
    if 0 < answer < last:
        return np.asarray(np.minimum(radii, answer) + np.minimum(radii, last - answer) + 1)
    near = np.minimum(radii, last)
    return np.asarray((near + 1) * (near + 2) / 2 + (radii - near) * (last + 1))


def _leading_to(answer: int, last: int, shifts: NDArray[Any]) -> Floats:
    """How many counts on 0..last lead to an answer, for every shift by noise."""
    if 0 < answer < last:
        return np.where((shifts <= answer) & (shifts >= answer - last), 1.0, 0.0)
    beyond = shifts if answer == last else -shifts
    return np.where(beyond >= 0, np.minimum(beyond, last) + 1.0, 0.0)


def _moved(sums: Floats, factor: Floats, far: int) -> Floats:
    """A function of a sum on -far..far after one more summand, largest value 1: plain sums of positive numbers."""
    support = np.flatnonzero(factor)
    first, end = min(int(support[0]), far), max(int(support[-1]), far)
    whole = np.convolve(sums, factor[first : end + 1])[far - first : 3 * far + 1 - first]
    return np.asarray(whole / whole.max())


def _at_or_above(law: Floats) -> Floats:
    return np.asarray(np.cumsum(law[::-1])[::-1])
