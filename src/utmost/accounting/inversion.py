"""Composition of many different losses: certified bounds by numerical inversion of the moment generating function.

For the loss L of a composition with moment generating function M, and any theta > 0,

    delta(eps) = E[(1 - e^(eps-L))+] = 1/(2 pi) int M(z) e^(-z eps) / (z (z+1)) dt,     z = theta + i t.

The trapezoidal rule with step 2 pi/W gives exactly sum_j e^(theta j W) delta(eps + j W) (Poisson): all terms are
nonnegative, so it is an upper bound, and the terms j != 0 are bounded by delta <= 1 and Chernoff (LIM (A.31)).

The integral over large t is the hard part: the factors |p e^(it eps) + q e^(-it eps)| of different losses are small
together but not for ever. So a tiny Gaussian mechanism of sigma is composed with the rest. That only adds to delta; and

    delta_sigma(eps) - sigma^2 e^(sigma^2/8) f(eps - sigma^2/2) <= delta(eps) <= delta_sigma(eps),

where f is the density of L plus a normal number of variance sigma^2. (For one loss x the excess, with u = x - eps, is
int_0^sigma phi(u/s + s/2) ds <= sigma phi(u/sigma) e^(-u/2), since the derivative of
Phi(u/s + s/2) - e^-u Phi(u/s - s/2) in s is phi(u/s + s/2) = phi(u/s) e^(-u/2) e^(-s^2/8).) The error is of second
order in sigma; beyond t = 10/sigma nothing is left; and below it whole cells of t are shown to hold nothing by bounding
each factor there, so that few nodes are ever computed. Gaussian levels are such a sigma themselves and cost no error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from utmost.accounting.gaussian import gaussian_delta
from utmost.accounting.outcomes import Part
from utmost.accounting.privacy_losses import ULP
from utmost.exact.arrays import Floats

NOTHING = 46.0
"""Cut-off exponent: parts of the integrand below e^-46 = 1e-20 of its peak are bounded instead of computed."""
MOST_CELLS = 4 * 10**6
MOST_NODES = 10**8
"""The largest number of factors, over all nodes, that may be computed."""
MOST_DENSE = 4 * 10**7
"""The largest number of factors that are computed at all nodes, for losses of two opposite values (0.2 s)."""
MARGIN = 6.0
"""How far below the limit, as an exponent, a typical node is where most nodes hold nothing."""
NEAR = 0.05
"""How far from its own epsilon, in standard deviations of the loss, an integrand is used again."""
AT_ONCE, WIDE, ROWS = 2**16, 2**10, 16
LEAST_DEVIATION = 1e-100
MOST_SIZE = 1e100


class Transform:
    """The moment generating function of a sum of independent losses: discrete ones, and a normal one.

    The normal part has variance `variance` and mean `variance / 2`.
    """

    def __init__(self, parts: Sequence[Part], variance: float) -> None:
        width = max((len(loss.values) for loss, _ in parts), default=1)
        self.values = np.zeros((len(parts), width))
        self.masses = np.zeros((len(parts), width))
        for row, (loss, _) in enumerate(parts):
            self.values[row, : len(loss.values)] = loss.values
            self.masses[row, : len(loss.values)] = loss.masses
        self.counts = np.array([count for _, count in parts], dtype=float)
        self.is_mirrored = width == 2 and bool((self.values[:, 0] == -self.values[:, 1]).all())
        """Whether every loss has the two values -e and e, as that of a pure level has."""
        self.variance = variance
        self.most = float(self.counts @ self.values.max(axis=1)) if variance == 0 else math.inf
        means = (self.masses * self.values).sum(axis=1)
        spread = (self.masses * (self.values - means[:, None]) ** 2).sum(axis=1)
        self.mean = float(self.counts @ means) + variance / 2
        self.deviation = math.sqrt(float(self.counts @ spread) + variance)
        self.size = float(self.counts @ np.abs(self.values).max(axis=1))
        self.blur = float(sum(loss.blur * count for loss, count in parts)) + 4 * ULP * self.size
        self.spectra: dict[float, Spectrum] = {}
        """The last integrand that was computed for each coarseness; nearby epsilons use it again."""

    def log_moment(self, theta: float) -> float:
        """Ln E[e^(theta L)]."""
        exponents = theta * self.values + np.log(np.maximum(self.masses, 1e-320))
        exponents[self.masses == 0] = -np.inf
        top = exponents.max(axis=1)
        logs = top + np.log(np.exp(exponents - top[:, None]).sum(axis=1))
        return float(self.counts @ logs) + (theta + theta * theta) * self.variance / 2

    def tilted(self, theta: float) -> Floats:
        """The probabilities of the values after weighting with e^(theta value)."""
        exponents = theta * self.values
        exponents[self.masses == 0] = -np.inf
        weights = self.masses * np.exp(exponents - exponents.max(axis=1)[:, None])
        return np.asarray(weights / weights.sum(axis=1)[:, None])


def bounds_of(transform: Transform, epsilon: float, coarse: float = 1.0) -> tuple[float, float]:
    """Bounds on delta(epsilon) of a composition with finite losses; a `coarse` above 1 is that much quicker.

    Where the integral is beyond the range of floating point, only the bounds by the largest loss remain.
    """
    low, high = _by_largest(transform, epsilon)
    if epsilon >= transform.most:  # up to rounding: the exact sum of losses may still be a little larger
        return low, high
    if transform.deviation > LEAST_DEVIATION and max(transform.deviation, transform.size, epsilon) < MOST_SIZE:
        spectrum = transform.spectra.get(coarse)
        if spectrum is None or abs(epsilon - spectrum.epsilon) > NEAR * transform.deviation:
            theta = _best_tilt(transform, epsilon)
            spectrum = _spectrum(transform, epsilon, theta, coarse * _smoothing(transform, theta))
            transform.spectra[coarse] = spectrum
        lower, upper = _invert(transform, epsilon, spectrum)
        low, high = max(low, lower), min(high, upper)
    return low, high


def _by_largest(transform: Transform, epsilon: float) -> tuple[float, float]:
    """Bounds from the largest total loss and its probability; a Gaussian part is added to it, if there is one.

    With no loss above s, delta is at most (e^s - e^eps)/(1 + e^s), the one of s-DP (LIM Remark 2).
    """
    if not math.isfinite(transform.size + transform.variance):
        return 0.0, 1.0
    largest = float(transform.counts @ transform.values.max(axis=1))
    slack = transform.blur + (len(transform.counts) + 8) * ULP * (transform.size + abs(epsilon))
    top = transform.masses[np.arange(len(transform.counts)), transform.values.argmax(axis=1)]
    rounding = 16 * ULP * (transform.counts.sum() + 8)
    with np.errstate(divide="ignore"):
        chance = math.exp(float(transform.counts @ np.log(top))) * max(0.0, 1 - rounding)
    beyond, least = largest + slack - epsilon, largest - slack - epsilon
    if transform.variance:
        square = Fraction(transform.variance)
        near = 4 * Fraction(ULP) * square  # the variance was rounded to a float, and delta grows with it
        low = gaussian_delta(square - near, Fraction(-least))[0]
        return chance * low * (1 - 4 * ULP), gaussian_delta(square + near, Fraction(-beyond))[1]
    low = chance * -math.expm1(-max(0.0, least)) * (1 - 8 * ULP)
    return low, min(1.0, -math.expm1(-max(0.0, beyond)) / (1 + math.exp(-largest - slack)) * (1 + 16 * ULP))


def _best_tilt(transform: Transform, epsilon: float) -> float:
    """The theta that minimises the integrand: there nothing cancels, and small deltas keep their digits."""
    from scipy.optimize import minimize_scalar

    def size(log_theta: float) -> float:
        theta = math.exp(log_theta)
        return transform.log_moment(theta) - theta * epsilon - math.log(theta) - math.log1p(theta)

    centre = -math.log(transform.deviation)
    minimum = minimize_scalar(size, bounds=(centre - 0.5, centre + 6), method="bounded", options={"xatol": 1e-2})
    return math.exp(float(minimum.x))


def _smoothing(transform: Transform, theta: float) -> float:
    """The sigma of the extra Gaussian mechanism; 0 where the normal part is wide enough."""
    sigma = 2e-5 * math.sqrt(transform.deviation * min(1.0, transform.deviation))
    sigma = min(sigma, 0.05 / theta)
    return 0.0 if transform.variance >= (8 * sigma) ** 2 else sigma


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The integrand without its factor e^(-z epsilon), at the nodes of the trapezoidal rule.

    Attributes
    ----------
    epsilon : float
        The epsilon at which theta is the best tilt; the integral is valid at any other.
    theta, sigma, period : float
        The tilt, the extra mechanism, and the period of the trapezoidal rule.
    log_moment : float
        The logarithm of the moment generating function at theta.
    blocks : list of (t, size, factor)
        Nodes, the size of the normal part there, and its product with all characteristic functions.
    left_out, dense_out : float
        Bounds on what the nodes left out add to the integral, and to that of the density.
    """

    epsilon: float
    theta: float
    sigma: float
    period: float
    log_moment: float
    blocks: list[tuple[Floats, Floats, NDArray[np.complex128]]]
    left_out: float
    dense_out: float


def _spectrum(transform: Transform, epsilon: float, theta: float, sigma: float) -> Spectrum:
    """The integrand at a tilt: at all nodes where these are few, else at those that are not shown to hold nothing."""
    log_moment = transform.log_moment(theta)
    log_scale = log_moment - theta * epsilon
    if log_scale < -690:
        return Spectrum(epsilon, theta, sigma, math.inf, log_moment, [], 0.0, 0.0)
    period = _period(transform, theta, log_scale)
    step, tilt = 2 * math.pi / period, transform.tilted(theta)

    def end(sigma: float) -> float:
        return math.sqrt(2 * NOTHING / (transform.variance + sigma**2))

    dense = False
    if transform.is_mirrored:
        # by Jensen's formula the mean of ln |p e^(it) + q e^(-it)| over t is ln max(p, q): what a typical node holds
        typical = float(transform.counts @ np.log(tilt.max(axis=1)))
        is_alive = typical > 2 * math.log(max(1.0, end(sigma) * transform.deviation)) - NOTHING - MARGIN
        crowd = end(sigma) / step * len(tilt) / MOST_DENSE
        if transform.variance == 0 and crowd > 1 and is_alive:
            sigma *= crowd * (1 + 1e-9)
        dense = end(sigma) / step * len(tilt) <= MOST_DENSE * (1 + 1e-6)
    smooth = transform.variance + sigma**2
    last = math.sqrt(2 * NOTHING / smooth)
    if dense:
        nodes = np.arange(math.ceil(last / step) + 1, dtype=float)
        products = [(nodes, _dense_product(transform, tilt, len(nodes), step))]
        left_out = dense_out = 0.0
    else:
        cells = _live_cells(transform, tilt, last, step, smooth)
        if cells is None:  # too many nodes: be content with wider bounds
            return _spectrum(transform, epsilon, theta, 4 * max(sigma, math.sqrt(transform.variance)))
        blocks, (left_out, dense_out) = cells
        products = [(at, _product(transform, tilt, at * step)) for at in blocks]
    left_out += 2 * math.exp(-NOTHING) * (1 + step / last) / last  # beyond the last cell: e^(-smooth t^2/2)/t^2
    dense_out += 2 * math.exp(-NOTHING) * (step + 1 / (last * smooth))
    parts = []
    for at, product in products:
        t = at * step
        size = np.exp(-smooth * t * t / 2) * np.where(at == 0, 1.0, 2.0)
        parts.append((t, size, size * product))
    return Spectrum(epsilon, theta, sigma, period, log_moment, parts, left_out, dense_out)


def _invert(transform: Transform, epsilon: float, spectrum: Spectrum) -> tuple[float, float]:
    """The trapezoidal sum with its errors: rounding, omitted cells, periodic copies, and the extra mechanism."""
    theta, sigma, period = spectrum.theta, spectrum.sigma, spectrum.period
    log_scale = spectrum.log_moment - theta * epsilon
    if log_scale < -690 or not spectrum.blocks:
        return 0.0, _exp(max(-744.0, log_scale)) * (1 + 1e-6)  # Chernoff
    smooth, step = transform.variance + sigma**2, 2 * math.pi / period
    left_out, dense_out = spectrum.left_out, spectrum.dense_out
    integral = density = noise = dense_noise = 0.0
    widths = transform.values.max(axis=1) - transform.values.min(axis=1)
    place = (0.5 + theta) * smooth - epsilon
    for t, size, factor in spectrum.blocks:
        z = theta + 1j * t
        turned = factor * np.exp(1j * t * place)
        integral += float((turned / (z * (z + 1))).real.sum())
        density += float(turned.real.sum())
        # every factor is off by some roundings of its phase, and the product by their sum
        phase_error = ULP * size * (8 + transform.counts.sum() * 8 + t * (transform.counts @ widths + 4 * abs(place)))
        noise += float((phase_error / np.abs(z * (z + 1))).sum())
        dense_noise += float(phase_error.sum())
    unit = _exp(log_scale + (theta + theta * theta) * sigma**2 / 2) / (2 * math.pi)
    value = unit * step * integral
    relative = ULP * (32 + 8 * float(transform.counts.sum()) + 8 * (theta + 1) * (transform.size + abs(epsilon)))
    error = unit * (step * noise + left_out) + relative * abs(value) + transform.blur * _exp(log_scale)
    peak = unit * (step * (abs(density) + dense_noise) + dense_out)  # the density where the extra mechanism matters
    gap = sigma**2 * _exp(sigma**2 / 8) * peak * (1 + relative)
    copies = _copies(transform, epsilon, theta, period, sigma)
    if not math.isfinite(error) or value + error < 0:  # the errors were not small: nothing is known
        return 0.0, 1.0
    return float(max(0.0, value - error - copies - gap)), float(min(1.0, value + error))


def _period(transform: Transform, theta: float, log_scale: float) -> float:
    """A period so long that the periodic copies of delta are negligible against delta itself."""
    guess = log_scale - 2 * math.log1p(theta * transform.deviation)
    return max((NOTHING - guess) / theta, 8 * transform.deviation)


def _copies(transform: Transform, epsilon: float, theta: float, period: float, sigma: float) -> float:
    """A bound on what the periodic copies add to the sum: delta <= 1 on the left, Chernoff on the right."""
    left = math.exp(-theta * period) / -math.expm1(-theta * period)
    right = math.inf
    for more in (1.5 * theta, 2 * theta, 3 * theta, 5 * theta):
        log_bound = transform.log_moment(more) + (more + more * more) * sigma**2 / 2 - more * epsilon
        ratio = (more - theta) * period
        right = min(right, _exp(log_bound - ratio) / -math.expm1(-ratio))
    return left + right * (1 + 1e-9)


def _live_cells(
    transform: Transform, tilt: Floats, last: float, step: float, smooth: float
) -> tuple[list[Floats], tuple[float, float]] | None:
    """The nodes to compute, and bounds on what all others add to the integrals of |M|/|z|^2 and of |M|.

    The line is divided into cells; on each, the logarithm of every factor is bounded from above, factor after factor,
    until the product is negligible. The other cells are computed; None if they are too many.
    """
    spans = np.sort(np.abs(transform.values).max(axis=1))
    target_width = max(0.35 / max(float(spans[len(spans) // 2]), 1e-300), last / MOST_CELLS)
    per_cell = math.ceil(max(1.0, min(target_width, last) / step))  # nodes in a cell
    width = per_cell * step
    cells = math.ceil(last / width)
    starts: Floats = width * np.arange(cells, dtype=float)
    bound = -smooth * starts * starts / 2
    # far out, 1/t^2 helps, and the density is multiplied by sigma^2
    limit = 2 * np.log(np.maximum(1.0, starts * transform.deviation)) - NOTHING
    alive = np.arange(cells)
    order = np.argsort(-transform.counts * tilt.min(axis=1), kind="stable")
    while len(order) and len(alive):
        at_once = max(1, min(32, 2**17 // len(alive)))
        now, order = order[:at_once], order[at_once:]
        logs = _log_factors(transform.values[now], tilt[now], starts[alive], width)
        bound[alive] += transform.counts[now] @ logs
        alive = alive[bound[alive] > limit[alive]]
    if len(alive) * per_cell * tilt.size > MOST_NODES:
        return None
    empty = np.ones(cells, dtype=bool)
    empty[alive] = False
    size = np.exp(np.minimum(bound[empty], 0.0)) * 2 * width
    begin = starts[empty]
    if len(begin) and begin[0] == 0:  # the peak itself is never empty
        return None
    nodes = np.add.outer(alive.astype(float) * per_cell, np.arange(per_cell, dtype=float)).ravel()
    blocks = np.array_split(nodes, 1 + len(nodes) // AT_ONCE)
    return [block for block in blocks if len(block)], (float((size / begin**2).sum()), float(size.sum()))


def _exp(exponent: float) -> float:
    return math.exp(exponent) if exponent < 709 else math.inf


def _dense_product(transform: Transform, tilt: Floats, count: int, step: float) -> NDArray[np.complex128]:
    """The product of the characteristic functions of all tilted losses -e and e at 0, step, 2 step, ...

    A factor is cos(te) + i (likely - unlikely) sin(te); e^(ite) at i wide + j is the product of those at i wide and j.
    """
    rows = math.ceil(count / WIDE)
    product = np.ones((rows, WIDE), dtype=complex)
    lean = tilt[:, 1] - tilt[:, 0]
    near = np.exp(1j * np.multiply.outer(transform.values[:, 1], step * np.arange(WIDE)))
    far = np.exp(1j * np.multiply.outer(transform.values[:, 1], step * WIDE * np.arange(rows)))
    for start in range(0, rows, ROWS):
        block = product[start : start + ROWS]
        for loss, times in enumerate(transform.counts):
            factor = np.multiply.outer(far[loss, start : start + ROWS], near[loss])
            factor.imag *= lean[loss]
            block *= factor if times == 1 else factor**times
    return product.ravel()[:count]


def _product(transform: Transform, tilt: Floats, t: Floats) -> NDArray[np.complex128]:
    """The product of the characteristic functions of all tilted losses at an array of t."""
    product = np.ones(len(t), dtype=complex)
    step = max(1, 2**18 // len(t))
    for start in range(0, len(tilt), step):
        part = slice(start, start + step)
        counts = transform.counts[part]
        if transform.is_mirrored:
            # losses -e and e: cos(te) + i (likely - unlikely) sin(te), without complex exponentials
            angles = np.multiply.outer(transform.values[part, 1], t)
            factors = np.cos(angles) + 1j * ((tilt[part, 1] - tilt[part, 0])[:, None] * np.sin(angles))
        else:
            phases = np.exp(1j * np.multiply.outer(transform.values[part], t))
            factors = np.einsum("ga,gat->gt", tilt[part], phases)
        several = counts != 1  # complex powers are slow
        factors[several] **= counts[several, None]
        product *= np.prod(factors, axis=0)
    return product


def _log_factors(values: Floats, masses: Floats, starts: Floats, width: float) -> Floats:
    """Upper bounds on ln |sum masses e^(i t values)|, a row for each loss, a column for each cell of t."""
    if values.shape[1] == 2:  # 1 - 4 p q sin^2(t half): away from its zeros by so much at least
        half, product = np.abs(values[:, 1] - values[:, 0])[:, None] / 2, 4 * masses.prod(axis=1)[:, None]
        middle = half * ((starts + width / 2) / math.pi)
        away = np.abs(middle - np.rint(middle)) * math.pi - width * half / 2 - 1e-9 * (1 + middle)
        least = np.sin(np.clip(away, 0.0, math.pi / 2)) ** 2
        return np.asarray(0.5 * np.log1p(-np.minimum(product * least, 1 - 1e-12)) + 1e-14)
    centre = (masses * values).sum(axis=1)[:, None]
    drift = (masses * np.abs(values - centre)).sum(axis=1)[:, None] * width / 2
    at = np.abs(np.einsum("ga,gat->gt", masses, np.exp(1j * np.multiply.outer(values, starts + width / 2))))
    return np.asarray(np.minimum(0.0, np.log(at + drift + 1e-12)))
