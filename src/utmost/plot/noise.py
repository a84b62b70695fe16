"""Pictures of noise: density, best gamma, and expected cost (LIM Figures 2.2 and 2.3, Corollary 2.3.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from utmost.design.noise import IntegerNoise, NoiseMechanism, laplace, staircase
from utmost.errors import InvalidInput
from utmost.plot.canvas import Figure, canvas, caption

DASHED = "--"


def noise_density(noise: NoiseMechanism, reach: float | None = None, title: str | None = None) -> Figure:
    """The density of noise: a curve in one dimension, its logarithm as an image in two (LIM Figure 2.2)."""
    if noise.dimension > 2:
        raise InvalidInput(f"the density in {noise.dimension} dimensions cannot be drawn; take one or two.")
    edge = 4 * float(noise.sensitivity) if reach is None else float(reach)
    if not 0 < edge < math.inf:
        raise InvalidInput(f"reach is {edge:g}; give how far to draw to each side, a number above 0.")
    if noise.dimension == 1:
        return _curve(noise, edge, title)
    figure, axes = canvas(title or f"Density at {noise.level}")
    ticks = np.linspace(-edge, edge, 601)
    points = np.stack(np.meshgrid(ticks, ticks), axis=-1)
    shades = noise.log_density(points) / math.log(10)
    image = axes.imshow(shades, extent=(-edge, edge, -edge, edge), origin="lower", cmap="Blues")
    axes.set_xlabel("noise on the first number")
    axes.set_ylabel("noise on the second")
    figure.colorbar(image, ax=axes, label="log10 of the density")
    return figure


def noise_probabilities(noise: IntegerNoise, reach: int | None = None, title: str | None = None) -> Figure:
    """A bar chart of the probabilities of integer noise, up to `reach` on either side of 0."""
    if noise.dimension > 1:
        raise InvalidInput(f"noise on {noise.dimension} whole numbers cannot be drawn; take one number.")
    edge = min(60, max(4 * noise.sensitivity, noise.half_width(0.99))) if reach is None else int(reach)
    if edge < 1:
        raise InvalidInput(f"reach is {reach!r}; give how far to draw to each side, a whole number above 0.")
    figure, axes = canvas(title or f"Noise on whole numbers at {noise.level}", size=(7.2, 4.2))
    counts = np.arange(-edge, edge + 1)
    axes.bar(counts, noise.probability(counts), width=0.8, color="#4271ae")
    axes.set_xlabel("noise")
    axes.set_ylabel("probability")
    axes.grid(axis="y", alpha=0.25)
    return figure


def _curve(noise: NoiseMechanism, edge: float, title: str | None) -> Figure:
    figure, axes = canvas(title or f"Density at {noise.level}", size=(7.2, 4.2))
    x = np.linspace(-edge, edge, 4001)
    reference = laplace(noise.level, noise.sensitivity)
    axes.plot(x, noise.density(x), linewidth=1.4, label="staircase" if noise.gamma is not None else "Laplace")
    if noise.gamma is not None:
        axes.plot(x, reference.density(x), linewidth=1, linestyle=DASHED, color="#888888", label="Laplace")
    axes.set_xlabel("noise")
    axes.set_ylabel("density")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    return figure


def noise_gamma(dimensions: Sequence[int] = (1, 2, 3), cost: str = "l1", title: str | None = None) -> Figure:
    """The best gamma against b = e^-epsilon, one curve per dimension (LIM Figure 2.3 for two)."""
    figure, axes = canvas(title or "The best γ", size=(7.2, 4.2))
    shares = np.linspace(0.004, 0.996, 249)
    for dimension in dimensions:
        gammas = [staircase(float(-np.log(b)), 1, dimension, cost).gamma for b in shares]
        axes.plot(shares, gammas, linewidth=1.4, label=f"{dimension} dimension{'s' if dimension > 1 else ''}")
    axes.set_xlabel("b = e^−ε")
    axes.set_ylabel("γ*")
    axes.set_ylim(0, 1)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    return figure


def noise_costs(epsilons: Sequence[float], title: str | None = None) -> Figure:
    """Expected l1 norm of noise on two numbers against epsilon: staircase, Laplace, independent ones, asymptotes.

    Independent staircases get half of epsilon each. The asymptotes are those of LIM Corollary 2.3.2.
    """
    at = np.asarray(epsilons, dtype=float)
    if not at.size or not ((at > 0) & np.isfinite(at)).all():
        raise InvalidInput(f"epsilons are {list(epsilons)}; give finite numbers above 0.")
    small = 2 / at - at**2 / (36 * np.sqrt(3))
    large = 2 ** (1 / 3) * np.exp(-at / 3) + np.exp(-2 * at / 3) / 2 ** (1 / 3)
    figure, axes = canvas(title or "Noise on two numbers, sensitivity 1", size=(7.2, 4.8))
    axes.plot(at, [laplace(e, 1, 2).expected_cost for e in at], color="#888888", label="Laplace")
    axes.plot(at, [2 * staircase(e / 2).expected_cost for e in at], color="#c44e52", label="two independent staircases")
    axes.plot(at, [staircase(e, 1, 2).expected_cost for e in at], color="#4271ae", label="staircase in two dimensions")
    near, far = at <= 4, at >= 3
    axes.plot(at[near], small[near], linestyle=":", color="black", label="asymptote, ε → 0")
    axes.plot(at[far], large[far], linestyle=DASHED, color="black", linewidth=1, label="asymptote, ε → ∞")
    axes.set_yscale("log")
    axes.set_xlabel("ε")
    axes.set_ylabel("expected l1 norm")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    caption(figure, "optimal in two dimensions by LIM Theorem 2.3.1")
    return figure
