"""Exchange with dp_accounting: compositions as its events, and back. Needs the package `dp-accounting`.

An event of dp_accounting does not say for which neighbours it holds; its accountants do, and count one event by
different losses. Randomised response, for one, counts less where a record is replaced by a special one than where any
record replaces it. So whoever exports says for which neighbours the levels hold, and an event is made only if no
accountant that takes it counts less than the levels. Pure levels become discrete Laplace noise of sensitivity 1 for
neighbours that add or remove a row, which is the worst epsilon-DP mechanism; accountants of replaced records refuse it.
For those, `add_to` composes in the accountant itself.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from utmost.accounting.composition import Composition, compose
from utmost.accounting.subsampling import PoissonSampled
from utmost.errors import InvalidInput, UnsupportedLevel, UtmostError
from utmost.exact import upward
from utmost.privacy import ZCDP, ApproxDP, GaussianDP, Level
from utmost.space.family import as_neighbours

ADD_REMOVE, REPLACE = "add-remove", "replace"
RELATIONS = {ADD_REMOVE: ("ADD_OR_REMOVE_ONE", "REPLACE_SPECIAL"), REPLACE: ("REPLACE_ONE",)}
"""The neighbouring relations of accountants by which levels for our neighbours may be counted."""
MOST_REPEATED = 10**4
"""The largest number of equal pure levels that are added to an accountant of replaced records, one by one."""


def to_event(composition: Composition, neighbours: str = ADD_REMOVE) -> Any:
    """The composition as a `dp_accounting.DpEvent`, for accountants of the same neighbours alone.

    Gaussian levels become the Gaussian mechanism with noise multiplier 1/mu, zCDP levels the event of that name,
    samples Poisson sampling. Pure levels become discrete Laplace noise for neighbours that add or remove a row, and
    have no event for replaced rows: use `add_to`. An (epsilon, delta) level has no event.

    Parameters
    ----------
    composition : Composition
        What `um.compose` gives.
    neighbours : str, optional
        For which neighbours the levels hold, "add-remove" or "replace", as in `um.Session`. The accountant's relation
        must be ADD_OR_REMOVE_ONE or REPLACE_SPECIAL for "add-remove", and REPLACE_ONE for "replace".

    Examples
    --------
    >>> to_event(compose([GaussianDP(0.5)], times=3))
    SelfComposedDpEvent(event=GaussianDpEvent(noise_multiplier=2.0), count=3)
    >>> to_event(compose(0.5))
    DiscreteLaplaceDpEvent(noise_parameter=0.5, sensitivity=1)
    """
    as_neighbours(neighbours)
    events = _dp_accounting()
    if neighbours == REPLACE and any(_is_pure(item) for item, _ in composition.releases):
        raise UnsupportedLevel(
            "an event for pure levels and replaced rows would count too little in an accountant of REPLACE_SPECIAL, "
            "and once only if repeated; add them with `events.add_to(accountant, composition, 'replace')`."
        )
    parts = []
    for item, count in composition.releases:
        event = _event_of(item, events, neighbours)
        parts.append(event if count == 1 else events.SelfComposedDpEvent(event, count))
    if len(parts) == 1:
        return parts[0]
    return events.ComposedDpEvent(parts) if parts else events.NoOpDpEvent()


def add_to(accountant: Any, composition: Composition, neighbours: str) -> None:
    """Compose in an accountant of dp_accounting, whose neighbouring relation must be that of the levels.

    Parameters
    ----------
    accountant : dp_accounting.PrivacyAccountant
        Such as a `PLDAccountant`.
    composition : Composition
        What `um.compose` gives, without (epsilon, delta) levels.
    neighbours : str
        For which neighbours the levels hold, "add-remove" or "replace".

    Examples
    --------
    >>> from dp_accounting import NeighboringRelation
    >>> from dp_accounting.pld import PLDAccountant
    >>> accountant = PLDAccountant(NeighboringRelation.REPLACE_ONE)
    >>> add_to(accountant, compose(0.5, times=2), "replace")
    >>> round(accountant.get_epsilon(0), 3)
    1.0
    """
    as_neighbours(neighbours)
    relation = getattr(getattr(accountant, "neighboring_relation", None), "name", None)
    if relation not in RELATIONS[neighbours]:
        raise InvalidInput(
            f"the accountant's neighbouring relation is {relation}; levels for neighbours {neighbours!r} are counted "
            f"by {' or '.join(RELATIONS[neighbours])}."
        )
    events = _dp_accounting()
    parts = []
    for item, count in composition.releases:
        event = _event_of(item, events, neighbours)
        one_by_one = isinstance(event, events.RandomizedResponseDpEvent)  # PLDAccountant ignores its count
        if one_by_one and count > MOST_REPEATED:
            raise UnsupportedLevel(f"{count} equal pure levels are too many for replaced rows; ask `um.compose`.")
        parts += [event] * count if one_by_one else [events.SelfComposedDpEvent(event, count)]
    accountant.compose(events.ComposedDpEvent(parts))


def from_event(event: Any, neighbours: str = ADD_REMOVE) -> Composition:
    """The composition that an event describes, or `UnsupportedLevel` for a mechanism that no level describes.

    Laplace noise, discrete or not, and randomised response over more than two values become a pure level of their
    epsilon, which is valid but weaker than the event; everything else is converted exactly, Poisson samples of all
    these included. The values that Gaussian noise is added to are bounded, so a replaced row moves them twice as far.

    Parameters
    ----------
    event : dp_accounting.DpEvent
        The event.
    neighbours : str, optional
        For which neighbours the levels of the composition shall hold. Randomised response is for "replace" alone,
        Laplace noise and Poisson sampling for "add-remove".

    Examples
    --------
    >>> total = compose([0.3, GaussianDP(1)])
    >>> abs(from_event(to_event(total)).epsilon(1e-6) - total.epsilon(1e-6)) < 1e-12
    True
    """
    as_neighbours(neighbours)
    events = _dp_accounting()
    match event:
        case events.NoOpDpEvent():
            return compose([])
        case events.NonPrivateDpEvent():
            return compose([math.inf])
        case events.ComposedDpEvent():
            return sum((from_event(part, neighbours) for part in event.events), compose([]))
        case events.SelfComposedDpEvent():
            single = from_event(event.event, neighbours)
            return Composition({item: count * event.count for item, count in single.releases})
        case events.ZCDpEvent() if event.xi == 0:
            return compose(ZCDP(event.rho))
        case events.GaussianDpEvent() if event.noise_multiplier > 0:
            return compose(GaussianDP((1 if neighbours == ADD_REMOVE else 2) / event.noise_multiplier))
        case events.RandomizedResponseDpEvent() if neighbours == REPLACE and 0 < event.noise_parameter <= 1:
            uniform = event.noise_parameter / event.num_buckets
            return compose(math.log1p((1 - event.noise_parameter) / uniform))
        case events.LaplaceDpEvent() if neighbours == ADD_REMOVE and event.noise_multiplier > 0:
            return compose(1 / event.noise_multiplier)
        case events.DiscreteLaplaceDpEvent() if neighbours == ADD_REMOVE:
            return compose(event.noise_parameter * event.sensitivity)
        case events.PoissonSampledDpEvent() if neighbours == ADD_REMOVE:
            return _sampled(event)
    raise UnsupportedLevel(
        f"{type(event).__name__} is not described by a level for neighbours {neighbours!r}; "
        "compose it in dp_accounting."
    )


def _sampled(event: Any) -> Composition:
    inner = from_event(event.event)
    if inner.count != 1:
        raise UnsupportedLevel("several releases on one Poisson sample are no level; compose them in dp_accounting.")
    ((release, _),) = inner.releases
    return compose(PoissonSampled(release, event.sampling_probability))


def _is_pure(item: Any) -> bool:
    nothing = isinstance(item, ApproxDP) and item.exponent == 0 and item.ratio == 1
    return isinstance(item, ApproxDP) and item.delta == 0 and item.exponent < math.inf and not nothing


def _event_of(item: Any, events: Any, neighbours: str) -> Any:
    amount = {GaussianDP: "mu", ZCDP: "rho"}.get(type(item), "exponent")
    if isinstance(item, GaussianDP | ZCDP) or (isinstance(item, ApproxDP) and item.delta == 0):
        if getattr(item, amount) == math.inf:
            return events.NonPrivateDpEvent()
        if getattr(item, amount) == 0 and getattr(item, "ratio", 1) == 1:
            return events.NoOpDpEvent()
    if isinstance(item, GaussianDP):
        return events.GaussianDpEvent(1 / float(item.mu))
    if isinstance(item, ZCDP):
        return events.ZCDpEvent(float(item.rho))
    if isinstance(item, PoissonSampled) and isinstance(item.level, GaussianDP) and neighbours == ADD_REMOVE:
        return events.PoissonSampledDpEvent(float(item.probability), _event_of(item.level, events, neighbours))
    if isinstance(item, ApproxDP) and item.delta == 0 and neighbours == ADD_REMOVE:
        exact = item.ratio == 1
        return events.DiscreteLaplaceDpEvent(
            upward(Fraction(item.exponent)) if exact else math.nextafter(item.log_growth, math.inf), 1
        )
    if isinstance(item, ApproxDP) and item.delta == 0:
        return events.RandomizedResponseDpEvent(2 / (1 + item.growth), 2)
    name = str(item) if isinstance(item, Level | PoissonSampled) else "a mechanism"
    raise UnsupportedLevel(
        f"dp_accounting has no event for {name} and neighbours {neighbours!r}; pure, zCDP and Gaussian levels have one."
    )


def _dp_accounting() -> Any:
    try:
        from dp_accounting import dp_event
    except ImportError:
        raise UtmostError("events need dp-accounting; install it with: pip install dp-accounting") from None
    return dp_event
