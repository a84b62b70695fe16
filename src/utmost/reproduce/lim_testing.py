"""LIM 3.2 to 3.4 and 3.6: telling two hypotheses apart from private answers."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

import utmost as um
from utmost.exact.arrays import Floats
from utmost.reproduce.entry import Finding, Inputs, reproduces
from utmost.reproduce.instances import generator, random_prior
from utmost.reproduce.lim_tables import (
    better_of_both,
    compare,
    divergences,
    draw_comparison,
    instances,
    scaling,
    sizes,
)

DIVERGENCES = ("kl", "tv", "chi2", "hellinger", "js")


def _random_local(rng: np.random.Generator, k: int, outputs: int, epsilon: float) -> um.FiniteMechanism:
    """A random mechanism that is private between all letters: weights within e^(eps/2) of each other, normalised."""
    weights = np.exp(epsilon / 2 * rng.choice([0.0, 1.0], (k, outputs)) * rng.random((k, 1)) ** 0.2)
    weights *= rng.exponential(size=outputs)
    return um.FiniteMechanism(weights / weights.sum(axis=1, keepdims=True), range(k), range(outputs))


@reproduces("LIM-theorem-3.2.1")
def theorem_3_2_1(inputs: Inputs, quick: bool) -> Finding:
    """Private if and only if no test between two sets of letters has both errors small; errors need the prior."""
    rng = generator("LIM-theorem-3.2.1")
    agree, private, spread, count = 0, 0, 0.0, 40 if quick else 300
    for _ in range(count):
        epsilon, k = float(rng.uniform(0.3, 1.5)), 4
        mechanism = _random_local(rng, k, 3, epsilon * rng.uniform(0.8, 2.4))
        matrix, growth = mechanism.matrix, math.exp(epsilon)
        prior = random_prior(rng, k)
        tests = True
        for a, b in itertools.permutations(range(k), 2):
            for s in itertools.product((0.0, 1.0), repeat=3):
                alarm, missed = matrix[b] @ s, 1 - matrix[a] @ s
                tests &= alarm + growth * missed >= 1 - 1e-12 and growth * alarm + missed >= 1 - 1e-12
        edges = mechanism.epsilon(um.complete(k)) <= epsilon + 1e-12
        agree += tests == edges
        private += edges
        pair, even = [2, 3], np.ones(k) / k
        errors = [(p[pair] / p[pair].sum()) @ matrix[pair, 0] for p in (prior, even)]
        spread = max(spread, abs(errors[0] - errors[1]))
    return Finding(
        {
            "share on which both agree": agree / count,
            "share that is private": private / count,
            "largest change of a false alarm with the prior": spread,
        }
    )


def _kl(p: Floats, q: Floats) -> Any:
    def utility(columns: Any) -> Any:
        first, second = columns @ p, columns @ q
        return first * np.log(first / second)

    return utility


@reproduces("LIM-theorem-3.3.2")
def theorem_3_3_2(inputs: Inputs, quick: bool) -> Finding:
    """Staircases with at most k outputs are optimal: the program over patterns beats random private mechanisms."""
    rng = generator("LIM-theorem-3.3.2")
    excess, ratios, outputs, difference = -math.inf, 0.0, -math.inf, 0.0
    for _ in range(10 if quick else 60):
        k, epsilon = int(rng.integers(2, 6)), round(float(rng.uniform(0.2, 3)), 2)
        p, q = random_prior(rng, k), random_prior(rng, k)
        best = um.local.linear_program(_kl(p, q), k, epsilon)
        random_mechanism = _random_local(rng, k, 6, epsilon)
        excess = max(excess, um.local.divergence_of(random_mechanism, p, q) - best.value)
        logs = np.log(best.mechanism.matrix)
        steps = (logs - logs.min(axis=0)) / epsilon
        ratios = max(ratios, float(np.abs(steps - steps.round()).max()), float(steps.max() - 1))
        outputs = max(outputs, len(best.mechanism.outputs) - k)
        difference = max(difference, abs(um.local.for_testing(p, q, epsilon).value - best.value))
    return Finding(
        {
            "largest excess of a random mechanism": excess,
            "log ratios off 0 or eps by": ratios,
            "outputs beyond letters": outputs,
            "difference from the partition optimum": difference,
        }
    )


@reproduces("LIM-theorem-3.4.1")
def theorem_3_4_1(inputs: Inputs, quick: bool) -> Finding:
    """At small epsilon the binary mechanism is optimal for every divergence, unless a letter is equally likely."""
    rng = generator("LIM-theorem-3.4.1")
    least = 1.0
    for _ in range(5 if quick else 40):
        k = int(rng.integers(2, 7))
        p, q = random_prior(rng, k), random_prior(rng, k)
        least = min([least, *(_share(p, q, inputs["epsilon"], d) for d in DIVERGENCES)])
    p, q = inputs["P0"], inputs["P1"]
    return Finding(
        {
            "least share of the optimum, random distributions": least,
            "share with an equally likely letter, eps = 0.1": _share(p, q, 0.1, "kl"),
            "share with an equally likely letter, eps = 0.01": _share(p, q, 0.01, "kl"),
        }
    )


def _share(p: Any, q: Any, epsilon: float, divergence: str, mechanism: Any = None) -> float:
    """The share of the best divergence that a mechanism attains; by default the binary one."""
    candidate = um.local.binary(p, q, epsilon) if mechanism is None else mechanism
    best = um.local.for_testing(p, q, epsilon, divergence).value
    return float(um.local.divergence_of(candidate, p, q, divergence) / best)


@reproduces("LIM-theorem-3.4.2")
def theorem_3_4_2(inputs: Inputs, quick: bool) -> Finding:
    """Total variation: the binary mechanism is optimal at every epsilon, and Corollary 3.4.7 is its value."""
    rng = generator("LIM-theorem-3.4.2")
    least, worst = 1.0, 0.0
    for _ in range(20 if quick else 150):
        k, epsilon = int(rng.integers(2, 8)), round(float(rng.uniform(0.05, 8)), 2)
        p, q = random_prior(rng, k), random_prior(rng, k)
        least = min(least, _share(p, q, epsilon, "tv"))
        closed = um.local.total_variation_limit(p, q, epsilon)
        worst = max(worst, abs(um.local.divergence_of(um.local.binary(p, q, epsilon), p, q, "tv") - closed))
    return Finding({"least share of the optimum": least, "largest difference from Corollary 3.4.7": worst})


@reproduces("LIM-theorem-3.4.3")
def theorem_3_4_3(inputs: Inputs, quick: bool) -> Finding:
    """How far the binary mechanism can be from the best divergence."""
    rng = generator("LIM-theorem-3.4.3")
    least = math.inf
    for _ in range(20 if quick else 200):
        k, epsilon = int(rng.integers(2, 8)), round(float(rng.uniform(0.05, 6)), 2)
        p, q = random_prior(rng, k), random_prior(rng, k)
        least = min(least, _share(p, q, epsilon, "kl") * 2 * (math.exp(epsilon) + 1) ** 2)
    return Finding(
        {
            "least share times 2(e^eps + 1)^2": least,
            "2(e^eps + 1)^2 at eps = 1": 2 * (math.e + 1) ** 2,
        }
    )


@reproduces("LIM-theorem-3.4.4")
def theorem_3_4_4(inputs: Inputs, quick: bool) -> Finding:
    """At large epsilon randomised response is optimal for the KL divergence, unless two letters share a ratio."""
    rng = generator("LIM-theorem-3.4.4")
    least = 1.0
    for _ in range(5 if quick else 40):
        k = int(rng.integers(2, 7))
        p, q = random_prior(rng, k), random_prior(rng, k)
        epsilon = inputs["epsilon"]
        least = min(least, _share(p, q, epsilon, "kl", um.local.randomized_response(k, epsilon)))
    p, q = inputs["P0"], inputs["P1"]
    shares = [_share(p, q, e, "kl", um.local.randomized_response(3, e)) for e in inputs["epsilons"]]
    return Finding(
        {
            "least share of the optimum, random distributions": least,
            "share with two letters of one ratio, eps = 5": shares[0],
            "share with two letters of one ratio, eps = 8": shares[1],
        }
    )


@reproduces("LIM-figure-3.3")
def figure_3_3(inputs: Inputs, quick: bool) -> Finding:
    """KL divergence of four mechanisms on random pairs of distributions over six letters."""
    epsilons, count = sizes(inputs, quick)
    table = divergences(inputs["letters"], count, epsilons)
    return Finding(
        compare(table),
        lambda: draw_comparison(table, list(epsilons), "LIM Figure 3.3", "D(M0‖M1) / D(P0‖P1)"),
    )


@reproduces("LIM-figure-3.4")
def figure_3_4(inputs: Inputs, quick: bool) -> Finding:
    """The better of the binary mechanism and randomised response, as a share of the best divergence."""
    return better_of_both(inputs, quick, divergences, "LIM Figure 3.4")


@reproduces("LIM-corollary-3.4.5")
def corollary_3_4_5(inputs: Inputs, quick: bool) -> Finding:
    """The symmetrised divergence at small epsilon, and both lines of (3.17)."""
    rng = generator("LIM-corollary-3.4.5")
    epsilon = inputs["epsilon"]
    scale = (math.exp(epsilon) - 1) ** 2 / (math.exp(epsilon) + 1)
    largest, last, middle = 0.0, [], []
    for _ in range(10 if quick else 60):
        k = int(rng.integers(2, 7))
        p, q = random_prior(rng, k), random_prior(rng, k)
        variation = np.abs(p - q).sum() / 2
        limit = um.local.divergence_at_high_privacy(p, q, epsilon)
        both = um.local.for_testing(p, q, epsilon, lambda x: (x - 1) * np.log(x)).value
        largest = max(largest, both / (2 * limit))
        binary = um.local.divergence_of(um.local.binary(p, q, epsilon), p, q)
        last.append(binary / limit)
        middle.append(binary / (scale * variation))
    return Finding(
        {
            "largest symmetrised divergence over the bound without (1 + delta)": largest,
            "(3.17), last line: least ratio": min(last),
            "(3.17), last line: largest ratio": max(last),
            "(3.17), middle line: largest ratio": max(middle),
        }
    )


@reproduces("LIM-corollary-3.4.6")
def corollary_3_4_6(inputs: Inputs, quick: bool) -> Finding:
    """The coefficient of e^-eps in (3.18), and the bound of the corollary."""
    rng = generator("LIM-corollary-3.4.6")
    epsilon = inputs["epsilon"]
    printed = corrected = 0.0
    holds = holds_for_one = True
    for _ in range(10 if quick else 60):
        k = int(rng.integers(2, 6))
        p, q = (0.7 * random_prior(rng, k) + 0.3 / k for _ in range(2))  # no letter too rare for e^-eps to be small
        total = float(p @ np.log(p / q))
        response = um.local.randomized_response(k, epsilon)
        forth, back = um.local.divergence_of(response, p, q), um.local.divergence_of(response, q, p)
        lost = (total - forth) * math.exp(epsilon)
        theirs = float((1 - p) @ np.log(q / p))
        ours = (total - um.local.divergence_at_low_privacy(p, q, epsilon)) * math.exp(epsilon)
        printed, corrected = max(printed, abs(lost - theirs)), max(corrected, abs(lost - ours) / max(1, abs(ours)))
        holds &= forth + back <= total - 0.9 * theirs * math.exp(-epsilon)
        holds_for_one &= forth <= total - 0.9 * ours * math.exp(-epsilon)
    return Finding(
        {
            "largest difference of (D(P0|P1) - D(M0|M1)) e^eps from G as printed": printed,
            "largest relative difference from our G": corrected,
            "the bound holds as printed": holds,
            "the bound holds for D(M0|M1) alone with our G": holds_for_one,
        }
    )


@reproduces("LIM-figure-3.5")
def figure_3_5(inputs: Inputs, quick: bool) -> Finding:
    """The scaling (3.17) at epsilon = 0.1 and (3.18) at epsilon = 10."""
    letters, count, epsilons = inputs["letters"], 12 if quick else inputs["instances"], tuple(inputs["epsilons"])
    table = divergences(letters, count, epsilons)
    pairs = instances(letters, count)
    variation = np.array([np.abs(np.subtract(p, q)).sum() / 2 for p, q in pairs])
    predicted = np.array([um.local.divergence_at_high_privacy(p, q, epsilons[0]) for p, q in pairs])
    small = variation, predicted, "‖P0 − P1‖ (total variation)"
    return scaling(table, small, (table[:, 1, 4], "D(P0‖P1)"), inputs, "D(M0‖M1)", "(3.17)")


@reproduces("LIM-theorem-3.6.1")
def theorem_3_6_1(inputs: Inputs, quick: bool) -> Finding:
    """On one bit the quaternary mechanism tells at least as much as any other that is (eps, delta)-private."""
    rng = generator("LIM-theorem-3.6.1")
    worst, divergence = -math.inf, -math.inf
    pair = um.path(2)
    for _ in range(20 if quick else 200):
        rows = rng.dirichlet(np.ones(5) * rng.uniform(0.3, 3), size=2)
        mechanism = um.FiniteMechanism(rows, range(2), range(5))
        epsilon = round(float(rng.uniform(0.1, 2)), 2)
        delta = min(1.0, math.ceil(mechanism.delta(pair, epsilon) * 1e9) / 1e9)
        best = um.local.quaternary(um.ApproxDP(epsilon, delta))
        grid = np.linspace(0, 4, 41)
        worst = max(worst, max(mechanism.delta(pair, float(e)) - best.delta(pair, float(e)) for e in grid))
        p, q = random_prior(rng, 2), random_prior(rng, 2)
        for d in ("tv", "hellinger", "js", "kl"):
            divergence_value, best_value = (um.local.divergence_of(m, p, q, d) for m in (mechanism, best))
            divergence = max(divergence, divergence_value - best_value)
    return Finding({"largest excess of a privacy profile": worst, "largest excess of a divergence": divergence})


@reproduces("LIM-equation-B.22")
def equation_b_22(inputs: Inputs, quick: bool) -> Finding:
    """Each of the four dual prices on all patterns, at epsilons where the appendix says that they are feasible."""
    rng = generator("LIM-equation-B.22")
    always, off = [True] * 4, 0.0
    for _ in range(10 if quick else 100):
        k = int(rng.integers(2, 6))
        p, q = random_prior(rng, k), random_prior(rng, k)
        epsilon = round(float(rng.uniform(0.1, 5)), 2)
        total = um.local.dual_for_total_variation(p, q, epsilon)
        large = (10.0, 14.0, 18.0, 22.0)  # how large depends on how near letters are to each other
        feasible = [
            total.feasible,
            any(um.local.dual_for_divergence(p, q, e).feasible for e in large),
            um.local.dual_for_information(p, 0.001).feasible,
            any(um.local.dual_for_information(p, e, "low").feasible for e in large),
        ]
        always = [one and other for one, other in zip(always, feasible, strict=True)]
        off = max(off, abs(total.total - um.local.for_testing(p, q, epsilon, "tv").value))
    return Finding(
        {
            "(B.22) feasible at all epsilons": always[0],
            "(B.30) feasible at large epsilon": always[1],
            "(B.40) feasible at small epsilon": always[2],
            "(B.54) feasible at large epsilon": always[3],
            "largest difference of (B.22) from the optimum": off,
        }
    )
