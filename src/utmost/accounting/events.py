"""Convert compositions to dp_accounting events and back. Needs the package `dp-accounting`.

dp_accounting has no event for an (epsilon, delta) level. Pure levels become randomised response, the worst epsilon-DP
mechanism, which converts back to the same composition; a delta above 0 has no event.
"""

from __future__ import annotations

import math
from typing import Any

from utmost.accounting.composition import Composition, compose
from utmost.errors import UnsupportedLevel, UtmostError
from utmost.privacy import ZCDP, ApproxDP, GaussianDP, Level


def to_event(composition: Composition) -> Any:
    """The composition as a `dp_accounting.DpEvent`.

    Pure levels become randomised response over two values with the noise 2/(1+E), Gaussian levels the Gaussian
    mechanism with noise multiplier 1/mu, zCDP levels the event of that name.

    Examples
    --------
    >>> to_event(compose([GaussianDP(0.5)], times=3))
    SelfComposedDpEvent(event=GaussianDpEvent(noise_multiplier=2.0), count=3)
    """
    events = _dp_accounting()
    parts = []
    for item, count in composition.releases:
        event = _event_of(item, events)
        parts.append(event if count == 1 else events.SelfComposedDpEvent(event, count))
    if len(parts) == 1:
        return parts[0]
    return events.ComposedDpEvent(parts) if parts else events.NoOpDpEvent()


def from_event(event: Any) -> Composition:
    """The composition that an event describes, or `UnsupportedLevel` for a mechanism that no level describes.

    Laplace noise, discrete or not, and randomised response over more than two values become a pure level of their
    epsilon, which is valid but weaker than the event; everything else is converted exactly.

    Examples
    --------
    >>> total = compose([0.3, GaussianDP(1)])
    >>> abs(from_event(to_event(total)).epsilon(1e-6) - total.epsilon(1e-6)) < 1e-12
    True
    """
    events = _dp_accounting()
    match event:
        case events.NoOpDpEvent():
            return compose([])
        case events.NonPrivateDpEvent():
            return compose([math.inf])
        case events.ComposedDpEvent():
            return sum((from_event(part) for part in event.events), compose([]))
        case events.SelfComposedDpEvent():
            single = from_event(event.event)
            return Composition({item: count * event.count for item, count in single.releases})
        case events.GaussianDpEvent() if event.noise_multiplier > 0:
            return compose(GaussianDP(1 / event.noise_multiplier))
        case events.ZCDpEvent() if event.xi == 0:
            return compose(ZCDP(event.rho))
        case events.LaplaceDpEvent() if event.noise_multiplier > 0:
            return compose(1 / event.noise_multiplier)
        case events.DiscreteLaplaceDpEvent():
            return compose(event.noise_parameter * event.sensitivity)
        case events.RandomizedResponseDpEvent() if 0 < event.noise_parameter <= 1:
            uniform = event.noise_parameter / event.num_buckets
            return compose(math.log1p((1 - event.noise_parameter) / uniform))
    raise UnsupportedLevel(f"{type(event).__name__} is not described by a level; compose it in dp_accounting.")


def _event_of(item: Any, events: Any) -> Any:
    if isinstance(item, GaussianDP):
        if item.mu == 0:
            return events.NoOpDpEvent()
        return events.NonPrivateDpEvent() if item.mu == math.inf else events.GaussianDpEvent(1 / float(item.mu))
    if isinstance(item, ZCDP):
        if item.rho == 0:
            return events.NoOpDpEvent()
        return events.NonPrivateDpEvent() if item.rho == math.inf else events.ZCDpEvent(float(item.rho))
    if isinstance(item, ApproxDP) and item.delta == 0:
        if item.exponent == math.inf:
            return events.NonPrivateDpEvent()
        return events.RandomizedResponseDpEvent(2 / (1 + item.growth), 2)
    name = str(item) if isinstance(item, Level) else "a mechanism"
    raise UnsupportedLevel(f"dp_accounting has no event for {name}; pure, zCDP and Gaussian levels have one.")


def _dp_accounting() -> Any:
    try:
        from dp_accounting import dp_event
    except ImportError:
        raise UtmostError("events need dp-accounting; install it with: pip install dp-accounting") from None
    return dp_event
