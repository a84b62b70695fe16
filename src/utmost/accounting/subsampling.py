"""Poisson subsampling: a release about a random part of the rows, of which each takes part with a public probability.

If a pair (P, Q) dominates a mechanism for neighbours that remove a row, then ((1 - q) Q + q P, Q) dominates it on a
Poisson sample of rate q; for neighbours that add one, (P, (1 - q) P + q Q) does (Zhu, Dong and Wang 2022, Theorem 11).
Both are linear maps of the tests (Q, P), so levels with a few corners stay exact. Gaussian levels have none; their
samples are composed by dp_accounting, whose bounds are as good and quicker than ours would be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any

import numpy as np
from flint import arb, ctx

from utmost.accounting.privacy_losses import ENDS, ULP, Loss, Points, of_hull
from utmost.errors import InvalidInput, UnsupportedLevel, UtmostError
from utmost.exact import Number, as_fmpq, as_rational, endpoints
from utmost.privacy import ApproxDP, GaussianDP, Level, SuitablePair, as_level

BITS = 400


@dataclass(frozen=True)
class PoissonSampled:
    """A release on a Poisson sample, for `um.compose`: each row takes part with a probability, independently.

    It holds for neighbours that add or remove a row (`neighbours="add-remove"`), and so must the level. What was
    sampled must stay secret. On the sample, the release protects what its level states.

    Parameters
    ----------
    level : PureDP, ApproxDP, GaussianDP or number
        The level of the release on the sample; a number means that epsilon.
    probability : number
        The public probability with which a row takes part.

    Examples
    --------
    >>> import utmost as um
    >>> steps = um.compose(um.accounting.PoissonSampled(um.GaussianDP(1), 0.01), times=1000)
    >>> round(steps.epsilon(1e-5), 2)
    1.83
    >>> once = um.compose(um.accounting.PoissonSampled(1, 0.1))       # ln(1 + 0.1 (e - 1))
    >>> round(once.epsilon(0), 6)
    0.158565
    """

    level: Level
    probability: Fraction

    def __init__(self, level: Level | Number, probability: Number) -> None:
        stated = as_level(level)
        rate = as_rational(probability, "probability")
        if not 0 <= rate <= 1:
            raise InvalidInput(f"probability is {probability!r}; a row takes part with one between 0 and 1.")
        if not isinstance(stated, ApproxDP | GaussianDP) and not (isinstance(stated, SuitablePair) and stated.concave):
            raise UnsupportedLevel(
                f"{stated} has no worst pair that could be sampled; give PureDP, ApproxDP, GaussianDP or knots."
            )
        object.__setattr__(self, "level", stated)
        object.__setattr__(self, "probability", rate)

    @property
    def is_gaussian(self) -> bool:
        """Whether it is a Gaussian level that has no corners."""
        return isinstance(self.level, GaussianDP) and 0 < self.level.mu < math.inf and self.probability > 0

    def __str__(self) -> str:
        return f"{self.level} on a Poisson sample of {float(self.probability):g}"


def sampled_loss(release: PoissonSampled) -> Loss:
    """The dominating loss for removing a row, with that for adding one as its reverse.

    Examples
    --------
    >>> loss = sampled_loss(PoissonSampled(1, 1))
    >>> loss.values.round(12).tolist(), loss.reverse.values.round(12).tolist()
    ([-1.0, 1.0], [-1.0, 1.0])
    """
    points, rate = _tests(release.level), release.probability
    removed = [(q, (1 - rate) * q + rate * p) for q, p in points]
    added = [((1 - rate) * p + rate * q, p) for q, p in points]
    loss, back = (_with_blur(of_hull(pair, 0.0)) for pair in (removed, added))
    return replace(loss, reverse=back)


def _with_blur(loss: Loss) -> Loss:
    """Count the error of logarithms, whose arguments were rounded to floats."""
    return replace(loss, blur=4 * ULP * (1 + float(np.abs(loss.values).max(initial=0.0))))


def _tests(level: Level) -> Points:
    """The corners (Q, P) of the region of a level that is not Gaussian, with e^epsilon rounded up."""
    if isinstance(level, SuitablePair):
        return [*ENDS, *level.knots]
    if isinstance(level, GaussianDP) and level.mu == 0:
        return ENDS
    if not isinstance(level, ApproxDP) or level.exponent == math.inf:
        return [*ENDS, (Fraction(0), Fraction(1))]
    with ctx.workprec(BITS):
        growth = endpoints(arb(as_fmpq(level.ratio)) * arb(as_fmpq(Fraction(level.exponent))).exp())[1]
    finite = 1 - level.delta
    likely = (finite / (1 + growth), level.delta + finite * growth / (1 + growth))
    return [*ENDS, (Fraction(0), level.delta), likely, (finite, Fraction(1))]


class SampledGaussians:
    """Bounds on a composition with sampled Gaussian levels, which dp_accounting computes in floating point.

    Its privacy loss distributions are rounded up for the upper bound and down for the lower one; for the lower one,
    releases that are not Gaussian are left out.
    """

    def __init__(self, releases: Sequence[tuple[Any, int]]) -> None:
        try:
            from dp_accounting.pld import common, privacy_loss_distribution
        except ImportError:
            raise UtmostError(
                "Gaussian levels on samples are composed by dp_accounting; install it with: pip install dp-accounting"
            ) from None
        self._library, self._parameters = privacy_loss_distribution, common.DifferentialPrivacyParameters
        self._levels = [(item, count) for item, count in releases if isinstance(item, ApproxDP)]
        self._smooth = [(item, count) for item, count in releases if not isinstance(item, ApproxDP)]
        for item, _ in self._smooth:
            if not isinstance(item.level if isinstance(item, PoissonSampled) else item, GaussianDP):
                raise UnsupportedLevel(
                    f"{item} does not compose with Gaussian levels on samples; PureDP, ApproxDP and GaussianDP do."
                )

    @cached_property
    def _upper(self) -> Any:
        parameters = [(self._parameters(item.log_growth, float(item.delta)), n) for item, n in self._levels]
        levels = [self._library.from_privacy_parameters(level).self_compose(count) for level, count in parameters]
        return self._composed([*levels, *self._gaussian(True)])

    @cached_property
    def _lower(self) -> Any:
        return self._composed(self._gaussian(False))

    def _gaussian(self, upward: bool) -> list[Any]:
        parts = []
        for item, count in self._smooth:
            level, rate = (item.level, item.probability) if isinstance(item, PoissonSampled) else (item, Fraction(1))
            assert isinstance(level, GaussianDP)
            part = self._library.from_gaussian_mechanism(
                1 / float(level.mu), sampling_prob=float(rate), pessimistic_estimate=upward, use_connect_dots=upward
            )
            parts.append(part.self_compose(count))
        return parts

    def _composed(self, parts: Sequence[Any]) -> Any:
        return reduce(lambda one, other: one.compose(other), parts)

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Bounds on the least delta at an epsilon."""
        low, high = (float(side.get_delta_for_epsilon(epsilon)) for side in (self._lower, self._upper))
        return min(max(low, 0.0), high), min(high, 1.0)

    def epsilon(self, delta: float, upper: bool) -> float:
        """A bound on the least epsilon at a delta."""
        return max(0.0, float((self._upper if upper else self._lower).get_epsilon_for_delta(delta)))
