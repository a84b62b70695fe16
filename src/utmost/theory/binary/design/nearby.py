"""One dataset in a space too large to list: look around it, only as far as needed (BIN Algorithm 2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from utmost.errors import CannotCertify, InvalidInput, NeedsFloor, TooLarge
from utmost.exact import LEAST, Enclosed, ExpSum, Number, as_rational, endpoints, held
from utmost.exact.citations import cites
from utmost.mechanism.certification import MOST_MOVED, sample_from
from utmost.mechanism.sampling import WORD
from utmost.privacy import GaussianDP, Level, as_level
from utmost.space import Space
from utmost.space.edge_levels import on_edges, per_edge
from utmost.theory.binary.design.extension import carry_from, extend
from utmost.theory.binary.design.truth import Outputs, as_probability, as_truth, read_known

UNIT = Fraction(1, 2**60)
"""How far a certified share may be from the one it stands for: what is not known of it, and rounding to 2^-62."""
BITS = 256


@dataclass(frozen=True)
class CertifiedAnswer:
    """The optimal mechanism at one dataset as two integers, private together with those at all other datasets.

    Attributes
    ----------
    weights : the integers of the two outputs; they add up to `total`
    level : the privacy they have (docs/certification.md, Lemma 3), unless known values contradict each other somewhere
    moved : by how much a probability differs from the optimum, at most
    """

    weights: tuple[int, int]
    outputs: Outputs
    level: Level
    moved: float
    bits: ClassVar[int] = WORD

    @property
    def total(self) -> int:
        """What the weights add up to."""
        return 1 << self.bits

    def sample(self, size: int | None = None) -> Any:
        """A private answer, or a list of `size` of them, drawn exactly with the operating system's randomness."""
        return sample_from(np.array(self.weights, dtype=np.int64), self.bits, self.outputs, size)


@dataclass(frozen=True)
class _Found:
    """What decides the probability of the truth: the least known share at each distance, and the floor beyond."""

    level: Level | None
    outputs: Outputs
    truth: int
    shares: Mapping[int, Fraction]


class LocalProbability(float):
    """A probability found by looking at part of a space: how far (`radius`, `explored`), what was checked (`note`).

    `certified` is the mechanism at this dataset in integers, from which an answer can be drawn.
    """

    radius: int
    explored: int
    _found: _Found

    def __new__(cls, value: float, radius: int, explored: int, found: _Found) -> LocalProbability:
        """A float that remembers how it was found."""
        result = super().__new__(cls, value)
        result.radius, result.explored, result._found = radius, explored, found
        return result

    @property
    def certified(self) -> CertifiedAnswer:
        """Both probabilities as integers, to be sampled; `CannotCertify` for levels per edge or not concave.

        Every dataset's share is mixed with the same little of a fair coin, so that rounding disappears in the slack.
        """
        return _certified(self._found)

    @property
    def note(self) -> str:
        """What was checked, and where."""
        return (
            f"{self.explored} datasets within {self.radius} steps were looked at; that the known values do not "
            "contradict each other was checked among those only."
        )


@cites("BIN-algorithm-2")
def at(
    dataset: Hashable,
    neighbours: Callable[[Any], Iterable[Any]],
    truth: Callable[[Any], Any],
    known: Mapping[Any, Number] | Callable[[Any], Number | None],
    privacy: Level | Number | Callable[[Any, Any], Level | Number],
    floor: Number | None = None,
    outputs: Outputs = (False, True),
    limit: int = 10**6,
) -> LocalProbability:
    """Pr[outputs[1]] of the optimal mechanism at one dataset, looking only as far around it as needed (BIN Alg. 2).

    Parameters
    ----------
    dataset : the point to answer for; hashable
    neighbours : callable giving the neighbours of a dataset
    truth, known : callables (or a mapping) as in `extend`; `known` gives None at free datasets
    privacy : one level, or a callable level(a, b) for a level per edge
    floor : number
        A public lower bound on Pr[either output] at known points. A known point of probability 0 would bind at any
        distance, so without a floor the search could never stop: `NeedsFloor`. Levels with upper(0) > 0 need none.
    limit : how many datasets may be looked at before `TooLarge`

    Examples
    --------
    A majority among 40 people, 2^40 databases, of which one is looked at with the few around it.

    >>> import utmost as um
    >>> flips = lambda votes: (votes ^ (1 << person) for person in range(40))
    >>> majority = lambda votes: votes.bit_count() > 20
    >>> boundary = {20: "1/3", 21: "2/3"}
    >>> known = lambda votes: boundary.get(votes.bit_count())
    >>> value = um.binary.at(2**22 - 1, flips, majority, known, um.PureDP.from_ratio(3), floor="1/3")
    >>> round(float(value), 9)
    0.888888889
    >>> value.certified.sample() in (True, False)        # an exact draw, private in integers
    True
    """
    level_between = privacy if callable(privacy) else None
    single = None if callable(privacy) else as_level(privacy)
    lookup = known if callable(known) else known.get
    here = _which(outputs, truth(dataset), dataset)
    fixed = lookup(dataset)
    if fixed is not None:
        exact = as_probability(fixed, dataset)
        own = _Found(single, outputs, here, {0: exact if here == 1 else 1 - exact})
        return LocalProbability(float(exact), 0, 1, own)
    least = _floor(floor, single)
    layers: list[list[Any]] = [[dataset]]
    values: dict[Any, Number | None] = {dataset: None}
    edges: dict[tuple[Any, Any], None] = {}
    shares: dict[int, Fraction] = {}
    best, missed = 1.0, LEAST  # the truth's least bound, and what is missing from it, which has more digits near 1
    while layers[-1]:
        ring: list[Any] = []
        for v in layers[-1]:
            for u in neighbours(v):
                if u not in values:
                    values[u] = lookup(u)
                    if values[u] is None:
                        ring.append(u)
                    elif single is not None:
                        share, distance = _share(values[u], here, u, least), len(layers)
                        shares[distance] = min(share, shares.get(distance, share))
                        higher, lower = _after(single, distance, float(share), float(1 - share))
                        best, missed = min(best, higher), max(missed, lower)
                if (u, v) not in edges:
                    edges[v, u] = None
            if len(values) > limit:
                raise TooLarge(
                    f"more than {limit} datasets lie within {len(layers)} steps and nothing found there stops the "
                    "search; give a higher floor, more known points, or a larger limit."
                )
        layers.append(ring)
        beyond = len(layers)
        if single is not None and not _can_matter(single, beyond, least, best, missed):
            break
        if (
            level_between is not None
            and _ball(values, edges, truth, level_between, outputs, dataset, dict.fromkeys(ring, least))[1]
        ):
            break
    if single is not None:
        level_between = lambda a, b: single  # noqa: E731
    assert level_between is not None
    value = _ball(values, edges, truth, level_between, outputs, dataset, {})[0]
    if layers[-1]:  # what lies beyond is too far to be told from nothing, and is not nothing
        value = float(held(np.array(value), single is None or single.keeps_positive))
        shares[len(layers)] = as_rational(0 if floor is None else floor)
    return LocalProbability(value, len(layers) - 1, len(values), _Found(single, outputs, here, shares))


def _can_matter(level: Level, distance: int, least: float, best: float, missed: float) -> bool:
    """Whether a known point that far could lower the truth's bound, or raise what is missing from it, by a digit."""
    rounding = 1e-12
    lower, higher = _after(level, distance, least, 1 - least)
    return bool(lower < best * (1 - rounding) or higher > missed * (1 + rounding))


def _after(level: Level, distance: int, p: float, q: float) -> tuple[float, float]:
    """The bound that p becomes that far away, and what is missing from it, each accurate where it is small."""
    higher, lower = level.move_after(np.array(distance), np.array(p), np.array(q))
    return float(higher), float(lower)


def _certified(found: _Found) -> CertifiedAnswer:
    """Integers next to (1 - eta) p + eta / 2, where eta depends on the level alone: docs/certification.md, Lemma 3."""
    level = found.level
    if level is None or not level.concave or not level.certifiable:
        raise CannotCertify(
            "one dataset is certified at one concave level for all edges, since nothing is known of edges that nobody "
            "looked at. List the space and certify binary.extend, or use the strongest of the levels for all edges."
        )
    half = endpoints(level.upper_exact(ExpSum.rational(Fraction(1, 2))).enclose(BITS))[0]
    if half <= Fraction(1, 2):
        raise CannotCertify(f"{level} allows no difference at all, so there is no slack to round in; allow some.")
    eta = Fraction(2) ** math.ceil(math.log2(4 * UNIT / (half - Fraction(1, 2))))
    if eta > MOST_MOVED:
        raise CannotCertify(f"rounding at {level} would move more than {MOST_MOVED}; allow a larger epsilon or delta.")
    low = high = Fraction(1)
    for steps, share in found.shares.items():
        if level.upper_after(steps, float(share)) <= high + Fraction(1, 10**6):
            least, most = _carried(level, steps, share)
            low, high = min(low, least), min(high, most)
    if high - low > UNIT / 2:
        raise CannotCertify("the share of the truth is not known to 2^-61 from what was looked at; lower the floor.")
    total = 1 << WORD
    told = round(total * ((1 - eta) * (low + high) / 2 + eta / 2))
    weights = (total - told, told) if found.truth == 1 else (told, total - told)
    return CertifiedAnswer(weights, found.outputs, level, float(eta + UNIT))


def _carried(level: Level, steps: int, share: Fraction) -> tuple[Fraction, Fraction]:
    """The bound that a share becomes after some steps, between two rationals."""
    if isinstance(level, GaussianDP):
        level, steps = GaussianDP(level.mu * steps), min(steps, 1)
    low = high = share
    near_one = 1 - UNIT / 8
    ball = ExpSum.rational(share).enclose(BITS)
    for _ in range(steps):
        ball = level.upper_exact(Enclosed(lambda bits, before=ball: before)).enclose(BITS)  # type: ignore[misc]
        if ball > 0.75 and endpoints(ball)[0] > near_one:
            return near_one, Fraction(1)
    low, high = endpoints(ball)
    return max(low, Fraction(0)), min(high, Fraction(1))


def _which(outputs: Outputs, value: Any, point: Any) -> int:
    if value not in outputs:
        raise InvalidInput(f"the truth at {point!r} is {value!r}, which is not one of the outputs {outputs!r}.")
    return list(outputs).index(value)


def _floor(floor: Number | None, single: Level | None) -> float:
    least = 0.0 if floor is None else float(as_rational(floor, "floor"))
    if not 0 <= least <= 0.5:
        raise InvalidInput(f"floor is {floor!r}; it bounds two probabilities that add up to 1, so give 0 to 1/2.")
    if least == 0 and (single is None or single.upper(0.0) == 0):
        raise NeedsFloor(
            "a known point of probability 0 binds at any distance under this level, so the search would never stop; "
            "pass floor=, a public lower bound on both probabilities at every known point."
        )
    return least


def _share(value: Any, output: int, point: Any, least: float) -> Fraction:
    p = as_probability(value, point)
    if min(p, 1 - p) < least - 1e-15:
        raise InvalidInput(
            f"the value known at {point!r} is {value!r}, which is not between floor and 1 - floor; lower the floor."
        )
    return p if output == 1 else 1 - p


def _ball(
    values: Mapping[Any, Number | None],
    edges: Iterable[tuple[Any, Any]],
    truth: Callable[[Any], Any],
    level_between: Callable[[Any, Any], Level | Number],
    outputs: Outputs,
    dataset: Any,
    rim: Mapping[Any, float],
) -> tuple[float, bool]:
    """Pr[outputs[1]] at the dataset within what was explored, and whether nothing beyond `rim` could lower it."""
    joined = list(edges)
    space = Space.from_edges(joined, points=list(values))
    levels = per_edge(space, {(a, b): level_between(a, b) for a, b in joined}) if joined else on_edges(space, 0)
    known = {v: value for v, value in values.items() if value is not None}
    here = space.index(dataset)
    if not rim:
        solution = extend(space, truth, known, levels, outputs)
        return float(solution.mechanism.matrix[here, 1]), True
    right = as_truth(space, truth, outputs)
    fixed = read_known(space, known)
    inside = carry_from(levels, right, fixed.mask, fixed.columns())[0]
    widened = read_known(space, {**known, **{v: (x if right[space.index(v)] == 1 else 1 - x) for v, x in rim.items()}})
    outside = carry_from(levels, right, widened.mask, widened.columns())[0]
    told, missed = right[here], 1 - right[here]
    settled = outside[here, told] >= inside[here, told] and outside[here, missed] <= max(inside[here, missed], LEAST)
    return float(inside[here, 1]), bool(settled)
