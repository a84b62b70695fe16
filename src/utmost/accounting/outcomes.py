"""Exact composition by listing outcomes: all sums of privacy losses with their probabilities.

Three cases are small enough. Equal levels: the loss is (k - 2l) epsilon with binomial l, and only the l with
non-negligible probability are listed, for any k (anchored in ball arithmetic, so k = 10^7 loses no digits). Few
different losses: two lists whose sums are never formed, only counted past the threshold (meet in the middle). Losses
with a common unit: convolution on a lattice. All terms are nonnegative, so rounding errors stay relative; `Outcomes`
carries them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TypeAlias

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from utmost.accounting.privacy_losses import TINY, ULP, Loss
from utmost.exact import as_fmpq
from utmost.exact.arrays import Floats
from utmost.privacy import ApproxDP

Part: TypeAlias = tuple[Loss, int]
"""A loss with its number of occurrences."""
MOST_OUTCOMES = 2**19
MOST_WORK = 4 * 10**8
BLOCK = 512
MOST_REACH = 2**22
FEW_OUTCOMES = 64
"""The largest number of outcomes that are mixed with a Gaussian part one by one."""
ALONE = (np.zeros(1), np.ones(1))
"""In place of a second list: the single loss 0."""
WIDE = np.longdouble
WIDE_ULP = float(np.finfo(WIDE).eps)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Losses with probabilities: the sums of two independent lists (the second may be the single loss 0).

    `relative` bounds the relative error of every probability, `shift` the error of every loss, and `missing` the total
    probability of the outcomes left out.
    """

    first: tuple[Floats, Floats]
    second: tuple[Floats, Floats]
    relative: float
    shift: float
    missing: float

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Bounds on E[(1 - e^(epsilon - loss))+]."""
        (x, p), (y, _) = self.first, self.second
        shift = self.shift + 2 * ULP * abs(epsilon)
        if len(y) == 1:
            over = x + y[0] - epsilon
            beyond = over > 0
            value = float(np.sum(p[beyond] * -np.expm1(-over[beyond])))
            tail, rounding = float(p[over > -shift].sum()), 64 * ULP * value  # pairwise sums
        else:
            value, tail = self._count(epsilon, shift)
            rounding = (len(x) + len(y) + 64) * WIDE_ULP * tail + 16 * ULP * value
        error = self.relative * value + rounding + shift * (1 + self.relative) * tail * 1.01
        return max(0.0, value - error), value + error + self.missing

    def _count(self, epsilon: float, shift: float) -> tuple[float, float]:
        """The sum over pairs by suffix sums of the second list, in extended precision, and the mass beyond epsilon."""
        (x, p), (y, q) = self.first, self.second
        top = float(y[-1])
        mass = np.append(np.cumsum(q[::-1].astype(WIDE))[::-1], WIDE(0))
        other = np.append(np.cumsum((q * np.exp((top - y).astype(WIDE)))[::-1])[::-1], WIDE(0))  # under Q, scaled
        at = np.searchsorted(y, epsilon - x, side="right")
        excess = mass[at] - np.exp((epsilon - x - top).astype(WIDE)) * other[at]
        near = np.searchsorted(y, epsilon - x - shift, side="left")
        return float(np.dot(p, np.maximum(excess, 0))), float(np.dot(p, mass[near]))


def list_outcomes(parts: Sequence[Part]) -> Outcomes | None:
    """All outcomes of a composition, or None if they are too many to list."""
    lists = _lists(parts)
    if lists is not None and math.prod(len(part.values) for part in lists) <= MOST_OUTCOMES:
        return _as_one_list(lists)
    lattice = _lattice(parts)
    return lattice if lattice is not None or lists is None else _as_two_lists(lists)


def few_outcomes(parts: Sequence[Part]) -> Outcomes | None:
    """All outcomes in one list, or None if there are more than `FEW_OUTCOMES`."""
    lists = _lists(parts)
    is_short = lists is not None and math.prod(len(part.values) for part in lists) <= FEW_OUTCOMES
    return _as_one_list(lists) if is_short else None  # type: ignore[arg-type]


def _lists(parts: Sequence[Part]) -> list[_List] | None:
    """The outcomes of each part, or None if all together are too many."""
    if sum(math.log2(min(count, BLOCK) + 1) for _, count in parts) > 2 * math.log2(MOST_OUTCOMES):
        return None
    lists = []
    for loss, count in parts:
        if len(loss.values) == 2 and isinstance(loss.level, ApproxDP):
            lists.append(_binomial(loss.level, count))
        elif math.comb(count + len(loss.values) - 1, count) * count <= MOST_OUTCOMES:
            shift = loss.blur + 2 * ULP * float(np.abs(loss.values).max())
            part = _List(loss.values, loss.masses, 8 * ULP, shift, _underflow_bound(loss.masses))
            lists.append(reduce(lambda a, b: _merge_close(_join(a, b)), [part] * count))
        else:
            return None
    return lists


def _as_one_list(lists: list[_List]) -> Outcomes:
    joint = _sort(reduce(_join, lists))
    return Outcomes((joint.values, joint.masses), ALONE, joint.relative, joint.shift, joint.missing)


def _as_two_lists(lists: list[_List]) -> Outcomes | None:
    halves = _halve(lists)
    if halves is None:
        return None
    a, b = halves
    if len(b.values) > 1 and b.values[-1] - b.values[0] > 700:  # e^700 overflows where there is no wider float
        return None
    shift = a.shift + b.shift + 4 * ULP * float(np.abs(a.values).max() + np.abs(b.values).max())
    return Outcomes((a.values, a.masses), (b.values, b.masses), a.relative + b.relative, shift, a.missing + b.missing)


@dataclass(frozen=True, eq=False)
class _List:
    values: Floats
    masses: Floats
    relative: float
    shift: float
    missing: float = 0.0


def _halve(lists: list[_List]) -> tuple[_List, _List] | None:
    """Split independent lists into two sorted lists of sums of similar length; None if one gets too long."""
    halves = [_List(np.zeros(1), np.ones(1), 0.0, 0.0)] * 2
    for item in sorted(lists, key=lambda part: -len(part.values)):
        smaller = 0 if len(halves[0].values) < len(halves[1].values) else 1
        if len(halves[smaller].values) * len(item.values) > MOST_OUTCOMES:
            return None
        halves[smaller] = _join(halves[smaller], item)
    long, short = sorted(halves, key=lambda part: -len(part.values))
    return _sort(long), _sort(short)


def _join(a: _List, b: _List) -> _List:
    values = np.add.outer(a.values, b.values).ravel()
    masses = np.multiply.outer(a.masses, b.masses).ravel()
    shift = a.shift + b.shift + ULP * float(np.abs(values).max())
    return _List(values, masses, a.relative + b.relative + ULP, shift, a.missing + b.missing + _underflow_bound(masses))


def _underflow_bound(masses: Floats) -> float:
    """A bound on the probability lost by underflow."""
    return len(masses) * 1e-300 if masses.min() < TINY else 0.0


def _merge_close(part: _List) -> _List:
    """Merge sums that differ only by rounding."""
    part = _sort(part)
    grain = 16 * (part.shift + ULP * float(np.abs(part.values).max()))
    new = np.append(True, np.diff(part.values) > grain)
    first = np.flatnonzero(new)
    reach = np.append(first[1:], len(new)) - 1
    drift = float((part.values[reach] - part.values[first]).max())
    masses = np.add.reduceat(part.masses, first)
    return _List(part.values[first], masses, part.relative + 64 * ULP, part.shift + drift, part.missing)


def _sort(part: _List) -> _List:
    order = np.argsort(part.values, kind="stable")
    return _List(part.values[order], part.masses[order], part.relative, part.shift, part.missing)


def _binomial(level: ApproxDP, count: int) -> _List:
    """(count - 2 l) epsilon for binomial l, where the probabilities of l are not tiny.

    Ball arithmetic gives every 512th probability; between, each follows from the one before by a ratio.
    """
    with ctx.workprec(192):
        growth = arb(as_fmpq(level.ratio)) * arb(as_fmpq(Fraction(level.exponent))).exp()
        log_likely, log_unlikely, shrink = -(1 + 1 / growth).log(), -(1 + growth).log(), float(1 / growth)
        log_factorial = arb(count + 1).lgamma()

        def anchor(unlikely: int) -> float:
            ways = log_factorial - arb(unlikely + 1).lgamma() - arb(count - unlikely + 1).lgamma()
            return float((ways + (count - unlikely) * log_likely + unlikely * log_unlikely).exp())

        mode = math.floor((count + 1) * float(1 / (1 + growth)))
        start = min(max(mode, 0), count)
        indices: list[NDArray[np.int64]] = []
        masses: list[Floats] = []
        for step in (1, -1):
            at = start if step == 1 else start - 1
            while 0 <= at <= count:
                length = min(BLOCK, (count - at if step == 1 else at) + 1)
                ls = at + step * np.arange(length, dtype=np.int64)
                index = ls[:-1].astype(float)
                ratios = (count - index) / (index + 1) * shrink if step == 1 else index / (count - index + 1) / shrink
                block = anchor(at) * np.append(1.0, np.cumprod(ratios)) if shrink > 0 else np.zeros(length)
                if shrink == 0:
                    block[ls == 0] = 1.0
                indices.append(ls)
                masses.append(block)
                if block[-1] < TINY:
                    break
                at += step * length
    ls, probabilities = np.concatenate(indices), np.concatenate(masses)
    keep = probabilities >= TINY
    values: Floats = (count - 2 * ls[keep]).astype(float) * level.log_growth
    order = np.argsort(values)
    missing = 1e-280 if count >= 64 or not keep.all() else 0.0
    shift = 2 * ULP * float(np.abs(values).max())
    return _List(values[order], probabilities[keep][order], (8 + 5 * min(BLOCK, count)) * ULP, shift, missing)


def _lattice(parts: Sequence[Part]) -> Outcomes | None:
    """The distribution of a sum of multiples of one unit, by convolution; None if there is no suitable unit."""
    levels = [loss.level for loss, _ in parts]
    if not all(isinstance(level, ApproxDP) and level.ratio == 1 for level in levels):
        return None
    epsilons = [Fraction(level.exponent) for level in levels if isinstance(level, ApproxDP)]
    scale = math.lcm(*(e.denominator for e in epsilons))
    unit = Fraction(math.gcd(*(int(e * scale) for e in epsilons)), scale)
    steps = [int(e / unit) for e in epsilons]
    reach = sum(n * count for n, (_, count) in zip(steps, parts, strict=True))
    if reach > MOST_REACH or reach * sum(count for _, count in parts) > MOST_WORK:
        return None
    masses, relative = np.ones(1), 0.0
    for n, (loss, count) in zip(steps, parts, strict=True):
        unlikely, likely = (float(m) for m in loss.masses)
        for _ in range(count):
            wider = np.zeros(len(masses) + n)  # index i stands for (2 i - reach so far) units
            wider[n:] = likely * masses
            wider[: len(masses)] += unlikely * masses
            masses = wider
        relative += 8 * count * ULP
    places = 2 * np.arange(len(masses), dtype=np.int64) - reach
    values: Floats = places.astype(float) * float(unit)
    shift = 4 * ULP * reach * float(unit)
    return Outcomes((values, masses), ALONE, relative, shift, len(masses) * 1e-300)
