"""Local privacy in pictures: the simple mechanisms against the optimum over epsilon (LIM Figures 3.3 to 3.8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from utmost.design import local
from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats
from utmost.plot.canvas import Figure, canvas
from utmost.theory.local.design.simple import halves

Pairs: TypeAlias = Sequence[tuple[Any, Any]]
Instances: TypeAlias = Sequence[Any]
"""Pairs of distributions, or priors."""
COLOURS = {"optimal": "#222222", "binary": "#1f77b4", "randomised response": "#d62728", "geometric": "#2ca02c"}


def simple_against_optimal(pairs: Pairs, epsilons: Sequence[float], title: str | None = None) -> Figure:
    """The average share of D(P0 || P1) that each mechanism preserves, against epsilon (LIM Figure 3.3, left)."""
    shares = {name: np.zeros(len(epsilons)) for name in COLOURS}
    for p0, p1 in pairs:
        total = local.divergence_of(local.randomized_response(len(p0), 700), p0, p1)
        for i, epsilon in enumerate(epsilons):
            for name, value in _divergences(p0, p1, epsilon).items():
                shares[name][i] += value / total / len(pairs)
    return _curves(epsilons, shares, title or "Average share of the divergence that is kept", "D(M₀‖M₁) / D(P₀‖P₁)")


def information_shares(priors: Sequence[Any], epsilons: Sequence[float], title: str | None = None) -> Figure:
    """The average share of H(X) that each mechanism preserves, against epsilon (LIM Figure 3.6, left)."""
    shares = {name: np.zeros(len(epsilons)) for name in COLOURS}
    for prior in priors:
        weights = np.asarray(prior, dtype=float)
        entropy = -float(np.sum(weights * np.log(weights)))
        for i, epsilon in enumerate(epsilons):
            for name, value in _informations(prior, epsilon).items():
                shares[name][i] += value / entropy / len(priors)
    return _curves(epsilons, shares, title or "Average share of the information that is kept", "I(X;Y) / H(X)")


def local_shares(
    instances: Instances,
    epsilons: Sequence[float],
    title: str | None = None,
    of: Sequence[str] = ("binary", "randomised response"),
) -> Figure:
    """The better of some simple mechanisms as a share of the optimum, one line per instance (LIM Figures 3.3 to 3.7).

    Parameters
    ----------
    instances : list
        Pairs (p0, p1) of distributions, for the divergence; or priors, for mutual information (also as (prior, None)).
    epsilons : sequence of float
        The epsilons to compare at.
    title : str, optional
        The title of the picture.
        of : sequence of str
        One or more of "binary", "randomised response" and "geometric".
    """
    figure, axes = canvas(title or f"{' or '.join(of)} / optimum", size=(7.2, 4.2))
    for first, second in map(_instance, instances):
        shares = []
        for epsilon in epsilons:
            values = _informations(first, epsilon) if second is None else _divergences(first, second, epsilon)
            shares.append(max(values[name] for name in of) / values["optimal"])
        axes.plot(epsilons, shares, color=COLOURS["binary"], linewidth=0.7, alpha=0.5)
    axes.set_xlabel("ε")
    axes.set_ylabel("share of the optimum")
    axes.set_ylim(0, 1.03)
    axes.grid(alpha=0.25)
    return figure


def scaling(
    instances: Instances, epsilon: float, title: str | None = None, against: Literal["whole", "leading"] = "whole"
) -> Figure:
    """The preserved divergence or information against its scale, one dot per instance (LIM Figures 3.5 and 3.8).

    Parameters
    ----------
    instances : list
        Pairs (p0, p1) of distributions, or priors, as in `local_shares`.
    epsilon : float
        The privacy level.
    title : str, optional
        The title of the picture.
    against : str
        "whole": at large epsilon the preserved part scales with the whole, D(P₀‖P₁) or H(X) (the right pictures).
        "leading": at small epsilon it scales with the quantity of the leading term, the total variation, or P(T)P(Tᶜ)
        for the set T nearest to one half (the left pictures).
    """
    if against not in ("whole", "leading"):
        raise InvalidInput(f"against is {against!r}; say 'whole' or 'leading'.")
    pairs = [_instance(instance) for instance in instances]
    figure, axes = canvas(title or f"What is kept at ε = {epsilon:g}", size=(6.0, 4.6))
    rows: dict[str, list[tuple[float, float]]] = {name: [] for name in COLOURS}
    for first, second in pairs:
        values = _informations(first, epsilon) if second is None else _divergences(first, second, epsilon)
        scale = _whole(first, second) if against == "whole" else _leading(first, second)
        for name, value in values.items():
            rows[name].append((scale, value))
    for name, dots in rows.items():
        x, y = np.array(dots).T
        axes.scatter(x, y, s=14, color=COLOURS[name], label=name, alpha=0.7)
    names = {"whole": ("H(X)", "D(P₀‖P₁)"), "leading": ("P(T) P(Tᶜ)", "total variation of P₀ and P₁")}
    axes.set_xlabel(names[against][0 if pairs and pairs[0][1] is None else 1])
    axes.set_ylabel("kept")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    return figure


def _instance(instance: Any) -> tuple[Any, Any]:
    """A pair of distributions, or a prior and None."""
    parts = list(instance)
    if parts and all(np.ndim(x) == 0 and x is not None for x in parts):
        return parts, None
    if len(parts) != 2 or np.ndim(parts[0]) != 1:
        raise InvalidInput(
            f"an instance is a pair (p0, p1) of distributions, or a prior; one of {len(parts)} parts is neither."
        )
    return parts[0], parts[1]


def _whole(first: Any, second: Any) -> float:
    full = local.randomized_response(len(first), 700)
    return local.information(full, first) if second is None else local.divergence_of(full, first, second)


def _leading(first: Any, second: Any) -> float:
    """The scale of the preserved information, or divergence, at small epsilon: (3.23) and (3.17)."""
    if second is not None:
        return float(np.abs(np.asarray(first) - np.asarray(second)).sum() / 2)
    mass = float(np.asarray(first)[halves(np.asarray(first, dtype=float))].sum())
    return mass * (1 - mass)


def _divergences(p0: Any, p1: Any, epsilon: float) -> dict[str, float]:
    k = len(p0)
    return {
        "optimal": local.for_testing(p0, p1, epsilon).value,
        "binary": local.divergence_of(local.binary(p0, p1, epsilon), p0, p1),
        "randomised response": local.divergence_of(local.randomized_response(k, epsilon), p0, p1),
        "geometric": local.divergence_of(local.geometric(k, epsilon), p0, p1),
    }


def _informations(prior: Any, epsilon: float) -> dict[str, float]:
    k = len(prior)
    return {
        "optimal": local.for_information(prior, epsilon).value,
        "binary": local.information(local.binary_for_information(prior, epsilon), prior),
        "randomised response": local.information(local.randomized_response(k, epsilon), prior),
        "geometric": local.information(local.geometric(k, epsilon), prior),
    }


def _curves(epsilons: Sequence[float], curves: dict[str, Floats], title: str, what: str) -> Figure:
    figure, axes = canvas(title, size=(7.2, 4.2))
    for name, values in curves.items():
        axes.plot(epsilons, values, color=COLOURS[name], marker="o", markersize=3, linewidth=1, label=name)
    axes.set_xlabel("ε")
    axes.set_ylabel(what)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    return figure
