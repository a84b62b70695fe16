"""LIM 3.5: how much a private answer tells about a letter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import utmost as um
from utmost.reproduce.entry import Finding, Inputs, reproduces
from utmost.reproduce.instances import generator, random_prior
from utmost.reproduce.lim_tables import (
    better_of_both,
    compare,
    draw_comparison,
    informations,
    instances,
    scaling,
    sizes,
)


def _information_share(p: Any, epsilon: float, mechanism: Any) -> float:
    return float(um.local.information(mechanism, p) / um.local.for_information(p, epsilon).value)


@reproduces("LIM-theorem-3.5.1")
def theorem_3_5_1(inputs: Inputs, quick: bool) -> Finding:
    """At small epsilon the binary mechanism keeps most information, unless several sets are nearest to one half."""
    rng = generator("LIM-theorem-3.5.1")
    least = 1.0
    for _ in range(5 if quick else 40):
        p = random_prior(rng, int(rng.integers(2, 6)))
        epsilon = inputs["epsilon"]
        least = min(least, _information_share(p, epsilon, um.local.binary_for_information(p, epsilon)))
    even = [1 / 3] * 3
    shares = [_information_share(even, e, um.local.binary_for_information(even, e)) for e in inputs["epsilons"]]
    return Finding(
        {
            "least share of the optimum, random priors": least,
            "share for three equally likely letters, eps = 0.1": shares[0],
            "share for three equally likely letters, eps = 0.01": shares[1],
        }
    )


@reproduces("LIM-theorem-3.5.2")
def theorem_3_5_2(inputs: Inputs, quick: bool) -> Finding:
    """How far the binary mechanism can be from the most information, for epsilon up to 1."""
    rng = generator("LIM-theorem-3.5.2")
    least = math.inf
    for _ in range(20 if quick else 200):
        p, epsilon = random_prior(rng, int(rng.integers(2, 8))), round(float(rng.uniform(0.05, 1)), 2)
        share = _information_share(p, epsilon, um.local.binary_for_information(p, epsilon))
        least = min(least, share * (1 + math.exp(epsilon)))
    return Finding({"least share times 1 + e^eps": least, "1 + e^eps at eps = 1": 1 + math.e})


@reproduces("LIM-theorem-3.5.3")
def theorem_3_5_3(inputs: Inputs, quick: bool) -> Finding:
    """At large epsilon randomised response keeps most information."""
    rng = generator("LIM-theorem-3.5.3")
    least = 1.0
    for _ in range(5 if quick else 40):
        k = int(rng.integers(2, 6))
        share = _information_share(
            random_prior(rng, k), inputs["epsilon"], um.local.randomized_response(k, inputs["epsilon"])
        )
        least = min(least, share)
    return Finding({"least share of the optimum": least})


@reproduces("LIM-corollary-3.5.4")
def corollary_3_5_4(inputs: Inputs, quick: bool) -> Finding:
    """The most information at small epsilon, and (3.23)."""
    rng = generator("LIM-corollary-3.5.4")
    epsilon = inputs["epsilon"]
    largest, worst = 0.0, 0.0
    for _ in range(10 if quick else 60):
        p = random_prior(rng, int(rng.integers(2, 7)))
        scale = um.local.information_at_high_privacy(p, epsilon)
        largest = max(largest, um.local.for_information(p, epsilon).value / scale)
        binary = um.local.information(um.local.binary_for_information(p, epsilon), p)
        worst = max(worst, abs(binary / scale - 1))
    return Finding(
        {"largest information over the bound without (1 + delta)": largest, "largest difference from (3.23)": worst}
    )


@reproduces("LIM-corollary-3.5.5")
def corollary_3_5_5(inputs: Inputs, quick: bool) -> Finding:
    """The most information at large epsilon, and the remainder of (3.24)."""
    rng = generator("LIM-corollary-3.5.5")
    epsilon = inputs["epsilon"]
    holds, remainder, ours = True, 0.0, 0.0
    for _ in range(10 if quick else 60):
        k = int(rng.integers(2, 6))
        p = 0.7 * random_prior(rng, k) + 0.3 / k
        entropy = float(-p @ np.log(p))
        best = um.local.for_information(p, epsilon).value
        holds &= best <= entropy - (1 - inputs["slack"]) * (k - 1) * epsilon * math.exp(-epsilon)
        response = um.local.information(um.local.randomized_response(k, epsilon), p)
        rest = (response - entropy + (k - 1) * epsilon * math.exp(-epsilon)) * math.exp(epsilon)
        remainder = max(remainder, abs(rest) * math.exp(epsilon))
        ours = max(ours, abs(response - um.local.information_at_low_privacy(p, epsilon)) * math.exp(epsilon))
    return Finding(
        {
            "the bound holds": holds,
            "largest remainder of (3.24) times e^(2 eps)": remainder,
            "difference from -e^-eps [(k - 1) + sum log P + k H], times e^eps": ours,
        }
    )


@reproduces("LIM-figure-3.6")
def figure_3_6(inputs: Inputs, quick: bool) -> Finding:
    """Mutual information of four mechanisms on random priors over six letters."""
    epsilons, count = sizes(inputs, quick)
    table = informations(inputs["letters"], count, epsilons)
    return Finding(compare(table), lambda: draw_comparison(table, list(epsilons), "LIM Figure 3.6", "I(X;Y) / H(X)"))


@reproduces("LIM-figure-3.7")
def figure_3_7(inputs: Inputs, quick: bool) -> Finding:
    """The better of the binary mechanism and randomised response, as a share of the most information."""
    return better_of_both(inputs, quick, informations, "LIM Figure 3.7")


@reproduces("LIM-figure-3.8")
def figure_3_8(inputs: Inputs, quick: bool) -> Finding:
    """The scaling (3.23) at epsilon = 0.1 and (3.24) at epsilon = 10."""
    letters, count, epsilons = inputs["letters"], 12 if quick else inputs["instances"], tuple(inputs["epsilons"])
    table = informations(letters, count, epsilons)
    predicted = np.array([um.local.information_at_high_privacy(p, epsilons[0]) for p, _ in instances(letters, count)])
    small = predicted / (epsilons[0] ** 2 / 2), predicted, "P(T) P(Tᶜ)"
    return scaling(table, small, (table[:, 1, 4], "H(X)"), inputs, "I(X;Y)", "(3.23)")
