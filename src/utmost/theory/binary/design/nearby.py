"""The optimal mechanism at one dataset of a space too large to list, by local exploration (BIN Algorithm 2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from utmost.errors import CannotCertify, InvalidInput, NeedsFloor, TooLarge
from utmost.exact import LEAST, Enclosed, ExpSum, Number, as_rational, endpoints, without_underflow
from utmost.exact.citations import cites
from utmost.mechanism.certification import MOST_MOVED, sample_from
from utmost.mechanism.sampling import WORD
from utmost.privacy import GaussianDP, Level, as_level
from utmost.space import Space
from utmost.space.edge_levels import on_edges, per_edge
from utmost.theory.binary.design.extension import carry_from, extend
from utmost.theory.binary.design.truth import Outputs, as_probability, as_truth, read_known

UNIT = Fraction(1, 2**60)
"""The largest error of a certified share: the width of its enclosure, and rounding to 2^-62."""
BITS = 256


@dataclass(frozen=True)
class CertifiedAnswer:
    """The optimal mechanism at one dataset as two integer weights, private together with those at all other datasets.

    Attributes
    ----------
    weights : tuple of int
        The weights of the two outputs; they add up to `total`.
    outputs : tuple
        The two answers.
    level : Level
        The level that they satisfy (docs/certification.md, Lemma 3), unless known values contradict each other
        somewhere.
    moved : float
        Upper bound on the difference between a probability and its optimum.
    """

    weights: tuple[int, int]
    outputs: Outputs
    level: Level
    moved: float
    bits: ClassVar[int] = WORD

    @property
    def total(self) -> int:
        """The sum of the weights."""
        return 1 << self.bits

    def sample(self, size: int | None = None) -> Any:
        """A private answer, or a list of `size` of them, drawn exactly with the operating system's randomness."""
        return sample_from(np.array(self.weights, dtype=np.int64), self.bits, self.outputs, size)


@dataclass(frozen=True)
class _Exploration:
    """The inputs of the probability of the truth: the least known share at each distance, and the floor beyond."""

    level: Level | None
    outputs: Outputs
    truth: int
    shares: Mapping[int, Fraction]


class LocalProbability(float):
    """A probability computed from part of a space: how far it was explored (`radius`, `explored`; `note` in words).

    `certified` is the mechanism at this dataset in integers, from which an answer can be drawn.
    """

    radius: int
    explored: int
    _exploration: _Exploration

    def __new__(cls, value: float, radius: int, explored: int, exploration: _Exploration) -> LocalProbability:
        """A float that carries the exploration from which it was computed."""
        probability = super().__new__(cls, value)
        probability.radius, probability.explored, probability._exploration = radius, explored, exploration
        return probability

    @property
    def certified(self) -> CertifiedAnswer:
        """Both probabilities as integer weights, to be sampled; `CannotCertify` for levels per edge or not concave.

        Every dataset's share is mixed with the same small weight of a fair coin, whose slack absorbs the rounding.
        """
        return _certified(self._exploration)

    @property
    def note(self) -> str:
        """In words: how much of the space was explored, and what was checked there."""
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
    """Pr[outputs[1]] of the optimal mechanism at one dataset, exploring only as far as needed (BIN Alg. 2).

    Parameters
    ----------
    dataset : hashable
        The point to answer for.
    neighbours : callable
        neighbours(dataset) gives the neighbours of a dataset.
    truth : callable
        As in `extend`.
    known : mapping or callable
        As in `extend`; a callable gives None at free datasets.
    privacy : level, number or callable
        One level, or level(a, b) for a level per edge.
    floor : number, optional
        A public lower bound on Pr[either output] at known points. A known point of probability 0 would bind at any
        distance, so without a floor the search could never stop: `NeedsFloor`. Levels with upper(0) > 0 need none.
    outputs : pair
        The answers for which the truth stands.
    limit : int
        How many datasets may be explored before `TooLarge`.

    Examples
    --------
    A majority among 40 people, 2^40 databases, of which one is explored with its neighbours.

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
    own_truth = _output_index(outputs, truth(dataset), dataset)
    known_value = lookup(dataset)
    if known_value is not None:
        exact = as_probability(known_value, dataset)
        exploration = _Exploration(single, outputs, own_truth, {0: exact if own_truth == 1 else 1 - exact})
        return LocalProbability(float(exact), 0, 1, exploration)
    least = _floor(floor, single)
    layers: list[list[Any]] = [[dataset]]
    values: dict[Any, Number | None] = {dataset: None}
    edges: dict[tuple[Any, Any], None] = {}
    shares: dict[int, Fraction] = {}
    best, complement = 1.0, LEAST  # the truth's least bound, and what is missing from it, which has more digits near 1
    while layers[-1]:
        ring: list[Any] = []
        for v in layers[-1]:
            for u in neighbours(v):
                if u not in values:
                    values[u] = lookup(u)
                    if values[u] is None:
                        ring.append(u)
                    elif single is not None:
                        share, distance = _share(values[u], own_truth, u, least), len(layers)
                        shares[distance] = min(share, shares.get(distance, share))
                        higher, lower = _after(single, distance, float(share), float(1 - share))
                        best, complement = min(best, higher), max(complement, lower)
                if (u, v) not in edges:
                    edges[v, u] = None
            if len(values) > limit:
                raise TooLarge(
                    f"more than {limit} datasets lie within {len(layers)} steps and nothing found there stops the "
                    "search; give a higher floor, more known points, or a larger limit."
                )
        layers.append(ring)
        beyond = len(layers)
        if single is not None and not _can_matter(single, beyond, least, best, complement):
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
    if layers[-1]:  # what lies beyond has an effect too small for floats, but not zero
        value = float(without_underflow(np.array(value), single is None or single.keeps_positive))
        shares[len(layers)] = as_rational(0 if floor is None else floor)
    return LocalProbability(value, len(layers) - 1, len(values), _Exploration(single, outputs, own_truth, shares))


def _can_matter(level: Level, distance: int, least: float, best: float, missed: float) -> bool:
    """Whether a known point at this distance could change the truth's bound, or its complement, in floating point."""
    rounding = 1e-12
    lower, higher = _after(level, distance, least, 1 - least)
    return bool(lower < best * (1 - rounding) or higher > missed * (1 + rounding))


def _after(level: Level, distance: int, p: float, q: float) -> tuple[float, float]:
    """The bound that p implies at this distance, and its complement, each accurate where it is small."""
    higher, lower = level.move_after(np.array(distance), np.array(p), np.array(q))
    return float(higher), float(lower)


def _certified(exploration: _Exploration) -> CertifiedAnswer:
    """Integers next to (1 - eta) p + eta / 2, where eta depends on the level alone: docs/certification.md, Lemma 3."""
    level = exploration.level
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
    for steps, share in exploration.shares.items():
        if level.upper_after(steps, float(share)) <= high + Fraction(1, 10**6):
            least, most = _carried(level, steps, share)
            low, high = min(low, least), min(high, most)
    if high - low > UNIT / 2:
        raise CannotCertify("the share of the truth is not known to 2^-61 from what was looked at; lower the floor.")
    total = 1 << WORD
    weight = round(total * ((1 - eta) * (low + high) / 2 + eta / 2))
    weights = (total - weight, weight) if exploration.truth == 1 else (weight, total - weight)
    return CertifiedAnswer(weights, exploration.outputs, level, float(eta + UNIT))


def _carried(level: Level, steps: int, share: Fraction) -> tuple[Fraction, Fraction]:
    """The bound that a share implies after some steps, enclosed by two rationals."""
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


def _output_index(outputs: Outputs, value: Any, point: Any) -> int:
    """Which of the two outputs is the truth at a point."""
    if value not in outputs:
        raise InvalidInput(f"the truth at {point!r} is {value!r}, which is not one of the outputs {outputs!r}.")
    return list(outputs).index(value)


def _floor(floor: Number | None, single: Level | None) -> float:
    """The lower bound on both probabilities at known points, checked; `NeedsFloor` where the search needs one."""
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
    """The known probability of an output at a point, checked against the floor."""
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
    """Pr[outputs[1]] at the dataset within the explored ball, and whether nothing beyond `rim` could lower it."""
    edge_list = list(edges)
    space = Space.from_edges(edge_list, points=list(values))
    levels = per_edge(space, {(a, b): level_between(a, b) for a, b in edge_list}) if edge_list else on_edges(space, 0)
    known_values = {v: value for v, value in values.items() if value is not None}
    position = space.index(dataset)
    if not rim:
        solution = extend(space, truth, known_values, levels, outputs)
        return float(solution.mechanism.matrix[position, 1]), True
    right = as_truth(space, truth, outputs)
    fixed = read_known(space, known_values)
    inside = carry_from(levels, right, fixed.mask, fixed.columns())[0]
    widened = read_known(
        space, {**known_values, **{v: (x if right[space.index(v)] == 1 else 1 - x) for v, x in rim.items()}}
    )
    outside = carry_from(levels, right, widened.mask, widened.columns())[0]
    own_truth, other_answer = right[position], 1 - right[position]
    settled = outside[position, own_truth] >= inside[position, own_truth] and outside[position, other_answer] <= max(
        inside[position, other_answer], LEAST
    )
    return float(inside[position, 1]), bool(settled)
