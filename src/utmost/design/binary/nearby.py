"""One dataset in a space too large to list: look around it, only as far as needed (BIN Algorithm 2)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from utmost.design.binary.extension import carry_from, extend
from utmost.design.binary.question import Outputs, as_probability, as_truth, read_known
from utmost.errors import InvalidInput, NeedsFloor, TooLarge
from utmost.exact import Number, as_rational
from utmost.privacy import Level, as_level
from utmost.space import Space
from utmost.space.edge_levels import on_edges, per_edge


class LocalProbability(float):
    """A probability found by looking at part of a space: how far (`radius`, `explored`), what was checked (`note`)."""

    radius: int
    explored: int

    def __new__(cls, value: float, radius: int, explored: int) -> LocalProbability:
        """A float that remembers how it was found."""
        result = super().__new__(cls, value)
        result.radius, result.explored = radius, explored
        return result

    @property
    def note(self) -> str:
        """What was checked, and where."""
        return (
            f"{self.explored} datasets within {self.radius} steps were looked at; that the known values do not "
            "contradict each other was checked among those only."
        )


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
    """
    level_between = privacy if callable(privacy) else None
    single = None if callable(privacy) else as_level(privacy)
    lookup = known if callable(known) else known.get
    here = _which(outputs, truth(dataset), dataset)
    fixed = lookup(dataset)
    if fixed is not None:
        return LocalProbability(float(as_probability(fixed, dataset)), 0, 1)
    least = _floor(floor, single)
    layers: list[list[Any]] = [[dataset]]
    values: dict[Any, Number | None] = {dataset: None}
    edges: dict[tuple[Any, Any], None] = {}
    best = 1.0
    while layers[-1]:
        ring: list[Any] = []
        for v in layers[-1]:
            for u in neighbours(v):
                if u not in values:
                    values[u] = lookup(u)
                    if values[u] is None:
                        ring.append(u)
                    elif single is not None:
                        share = _share(values[u], here, u, least)
                        best = min(best, single.upper_after(len(layers), share))
                if (u, v) not in edges:
                    edges[v, u] = None
            if len(values) > limit:
                raise TooLarge(
                    f"more than {limit} datasets lie within {len(layers)} steps and nothing found there stops the "
                    "search; give a higher floor, more known points, or a larger limit."
                )
        layers.append(ring)
        beyond = len(layers)
        if single is not None and single.upper_after(beyond, least) >= best:
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
    return LocalProbability(value, len(layers) - 1, len(values))


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


def _share(value: Any, output: int, point: Any, least: float) -> float:
    p = float(as_probability(value, point))
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
    return float(inside[here, 1]), bool(outside[here, right[here]] >= inside[here, right[here]])
