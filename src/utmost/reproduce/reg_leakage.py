"""REG, Sections 4.2 and 4.3: how many bits any private mechanism may leak."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

import utmost as um
from utmost.reproduce.entry import Finding, Inputs, reproduces
from utmost.reproduce.instances import generator, private_mechanism, random_graph, random_prior
from utmost.reproduce.panels import curves, panels
from utmost.reproduce.reg_spaces import constraints, regular_prior


@reproduces("REG-proposition-5")
def proposition_5(inputs: Inputs, quick: bool) -> Finding:
    """Leakage is the logarithm of utility over the likeliest result."""
    rng = generator("REG-proposition-5")
    worst = 0.0
    for _ in range(40 if quick else 300):
        space = random_graph(rng, int(rng.integers(2, 8)))
        prior, mechanism = random_prior(rng, len(space)), private_mechanism(rng, space, float(rng.uniform(0.2, 3)), 5)
        utility = 1 - mechanism.expected_loss(prior, remap="best")
        worst = max(worst, abs(mechanism.leakage(prior) - math.log2(utility / prior.max())))
    return Finding({"largest difference": worst})


@reproduces("REG-proposition-6")
def proposition_6(inputs: Inputs, quick: bool) -> Finding:
    """Leakage bounds: for a regular prior (9), and for every prior where the uniform one is regular (Corollary 1)."""
    rng = generator("REG-proposition-6")
    regular = every = -math.inf
    for _ in range(40 if quick else 300):
        space, epsilon = random_graph(rng, int(rng.integers(2, 7))), round(float(rng.uniform(0.5, 2)), 2)
        mechanism = private_mechanism(rng, space, epsilon, 6)
        prior = regular_prior(rng, space, epsilon)
        regular = max(regular, mechanism.leakage(prior) - um.finite.leakage_bound(prior, space, epsilon))
        if um.finite.regularity(None, space, epsilon) is not None:
            bound = um.finite.leakage_bound_for_all(space, epsilon)
            every = max(every, mechanism.leakage(random_prior(rng, len(space))) - bound)
    return Finding({"largest excess over (9)": regular, "largest excess over Corollary 1": every})


@reproduces("REG-theorem-2")
def theorem_2(inputs: Inputs, quick: bool) -> Finding:
    """The closed form for databases of u people, and that randomised response meets it."""
    worst = attained = 0.0
    for people, values, epsilon in itertools.product(inputs["people"], inputs["values"], inputs["epsilons"]):
        space, growth = um.hamming(people, values), math.exp(epsilon)
        closed = people * math.log2(values * growth / (values - 1 + growth))
        worst = max(
            worst,
            abs(um.finite.leakage_bound_for_all(space, epsilon) - closed),
            abs(um.finite.leakage_bound(None, space, epsilon) - closed),
        )
        attained = max(attained, abs(um.finite.tight_constraints(space, epsilon).mechanism.leakage() - closed))
    return Finding({"largest difference from the closed form": worst, "the best mechanism misses it by": attained})


def _five_people(inputs: Inputs, epsilon: float) -> tuple[float, float]:
    """Bits for all priors (Theorem 2), and what the formula of Proposition 6 gives for the prior of Example 3."""
    space, shares = um.complete(len(inputs["shares"])), np.array(inputs["shares"])
    every = um.finite.leakage_bound_for_all(um.hamming(inputs["people"], len(shares)), epsilon)
    y = np.linalg.solve(constraints(space, epsilon), shares)
    return every, inputs["people"] * math.log2(y.sum() / shares.max())


def _likelier_values(inputs: Inputs, epsilon: float) -> um.FiniteMechanism:
    """One person's answer: randomised response over the three likelier values, the fourth answers evenly."""
    growth = math.exp(epsilon)
    rows = [[(growth if i == j else 1) / (growth + 2) for j in range(3)] for i in range(3)] + [[1 / 3] * 3]
    return um.FiniteMechanism(rows, range(4), range(3))


@reproduces("REG-example-3")
def example_3(inputs: Inputs, quick: bool) -> Finding:
    """When the prior of five people is regular, and how much a private mechanism leaks at epsilon = 0.5."""
    people = inputs["quick people"] if quick else inputs["people"]
    space = um.hamming(people, 4)
    prior = np.array([math.prod(inputs["shares"][v] for v in p) for p in space.points])
    regular = [e for e in inputs["grid"] if um.finite.regularity(prior, space, e) is not None]
    every, special = _five_people(inputs, inputs["epsilon"])
    one = _likelier_values(inputs, inputs["epsilon"])
    computed = {
        "least epsilon of the grid at which it is regular": min(regular),
        "bits, for all priors, at 0.5": every,
        "bits, by the formula for this prior, at 0.5": special,
        "bits that a 0.5-private mechanism leaks": inputs["people"] * one.leakage(inputs["shares"]),
        "its epsilon": one.epsilon(um.complete(4)),
    }
    return Finding(computed)


@reproduces("REG-figure-4")
def figure_4(inputs: Inputs, quick: bool) -> Finding:
    """Both bounds against epsilon; the special one holds from log 2 on only."""
    grid = np.linspace(inputs["from"], inputs["to"], 53)
    bounds = np.array([_five_people(inputs, float(e)) for e in grid])
    leaks = [inputs["people"] * _likelier_values(inputs, float(e)).leakage(inputs["shares"]) for e in grid]
    regular = grid >= math.log(2)
    computed = {
        "the bound for this prior is below the bound for all": bool((bounds[:, 1] < bounds[:, 0]).all()),
        "it holds for the mechanism above at every epsilon from 0.48 on": bool((np.array(leaks) <= bounds[:, 1]).all()),
        "and from log 2 on": bool((np.array(leaks) <= bounds[:, 1] + 1e-12)[regular].all()),
    }

    def draw() -> Any:
        figure, axes = panels(["REG Figure 4: five people, four values"], 6.4, 4)
        lines = {
            "for all priors (Theorem 2)": bounds[:, 0].tolist(),
            "for the prior of Example 3, as printed": bounds[:, 1].tolist(),
            "leaked by a private mechanism": leaks,
        }
        curves(axes[0], grid.tolist(), lines, "ε", "bits")
        axes[0].axvline(math.log(2), color="#888888", linewidth=1, linestyle=":")
        axes[0].annotate("regular from ln 2 on", (math.log(2) + 0.005, bounds.max() - 0.2), fontsize=8)
        return figure

    return Finding(computed, draw)
