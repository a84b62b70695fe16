"""LIM 4: several parties, one bit each, one function."""

from __future__ import annotations

import itertools
import math

import numpy as np

import utmost as um
from utmost.exact.arrays import Floats
from utmost.reproduce.entry import Finding, Inputs, reproduces
from utmost.reproduce.instances import generator


def _random_protocol(rng: np.random.Generator, epsilons: list[float], rounds: int) -> Floats:
    """Pr[transcript | bits] of a random interactive protocol.

    In each round every party says a bit that depends on the transcript so far, and spends a share of its epsilon, so
    that the whole transcript is private for it.
    """
    k = len(epsilons)
    bits = list(itertools.product((0, 1), repeat=k))
    table: dict[tuple[int, ...], Floats] = {(): np.ones(len(bits))}
    for _, party in itertools.product(range(rounds), range(k)):
        longer: dict[tuple[int, ...], Floats] = {}
        for transcript, chances in table.items():
            e = epsilons[party] / rounds
            low = rng.uniform(0, 1)
            high = float(um.PureDP(round(e, 9)).upper(low)) if rng.random() < 0.8 else low
            chances_of_one = (low, high) if rng.random() < 0.5 else (high, low)
            chances_by_bits = np.array([chances_of_one[x[party]] for x in bits])
            longer[(*transcript, 0)], longer[(*transcript, 1)] = (
                chances * (1 - chances_by_bits),
                chances * chances_by_bits,
            )
        table = longer
    return np.array(list(table.values())).T


@reproduces("LIM-theorem-4.4.1")
def theorem_4_4_1(inputs: Inputs, quick: bool) -> Finding:
    """Randomised response against random interactive protocols; and, with a delta, a conversation that beats it."""
    rng = generator("LIM-theorem-4.4.1")
    excess = -math.inf
    for _ in range(20 if quick else 200):
        k = int(rng.integers(2, 4))
        epsilons = np.round(rng.uniform(0.2, 2, k), 2).tolist()
        values = rng.integers(0, 3, 2**k).tolist()
        chances = _random_protocol(rng, epsilons, int(rng.integers(1, 3)))
        right = np.array([[values[i] == y for y in sorted(set(values))] for i in range(2**k)], dtype=float)
        accuracy = float((chances.T @ right).max(axis=1).sum() / 2**k)
        excess = max(excess, accuracy - um.multiparty.optimal(values, epsilons).value())
    epsilon, delta, other = inputs["level"]
    talk = um.multiparty.and_saving_delta(um.ApproxDP(epsilon, delta), um.PureDP(other))
    return Finding(
        {
            "largest excess of a random protocol, delta = 0": excess,
            "gain of a conversation, AND, party 1 at (1, 0.1), party 2 at 1": talk.value() - talk.apart.value(),
            "it is private": bool(talk.verify()),
            "accuracy of randomised response": talk.apart.value(),
            "accuracy of the conversation": talk.value(),
        }
    )


@reproduces("LIM-corollary-4.5.1")
def corollary_4_5_1(inputs: Inputs, quick: bool) -> Finding:
    """The XOR of k bits: the printed sum, on average and in the worst case, and what small epsilons give."""
    worst = 0.0
    for k, epsilon in itertools.product(range(1, inputs["parties"] + 1), inputs["epsilons"]):
        growth = math.exp(epsilon)
        printed = sum(math.comb(k, 2 * i) * growth ** (k - 2 * i) for i in range(k // 2 + 1)) / (1 + growth) ** k
        accuracies = [um.multiparty.xor_accuracy([epsilon] * k).apart]
        if k <= (4 if quick else 8):
            accuracies += [
                um.multiparty.optimal("xor", [epsilon] * k, criterion=c).value() for c in ("average", "worst")
            ]
        worst = max([worst, *(abs(x - printed) for x in accuracies)])
    small, k = inputs["small epsilon"], 3
    separate, joint = um.multiparty.xor_accuracy([small] * k)
    flipped = um.multiparty.optimal("xor", [1.0, 1.0]).mechanism(0).matrix[0, 1]
    return Finding(
        {
            "largest difference from the sum": worst,
            "(accuracy - 1/2) / (2^-(k+1) eps^k), k = 3, eps = 0.01": (separate - 0.5) / (2.0 ** -(k + 1) * small**k),
            "(accuracy together - 1/2) / eps, eps = 0.01": (joint - 0.5) / small,
            "probability that a response is flipped, eps = 1": float(flipped),
        }
    )


@reproduces("LIM-figure-4.2-left")
def figure_4_2_left(inputs: Inputs, quick: bool) -> Finding:
    """XOR or AND of three bits of two parties: randomised response and the conversation."""
    epsilons = inputs["epsilons"][:: 3 if quick else 1]
    talks = [um.multiparty.xor_or_and(float(e)) for e in epsilons]
    separate, interactive = [t.apart.value() for t in talks], [t.value() for t in talks]
    at_zero, at_large = (um.multiparty.xor_or_and(e) for e in (inputs["zero"], inputs["large"]))
    computed = {
        "accuracy at eps = 0": [at_zero.apart.value(), at_zero.value()],
        "accuracy at large eps": [at_large.apart.value(), at_large.value()],
        "the conversation is never worse": bool(all(t >= a - 1e-9 for t, a in zip(interactive, separate, strict=True))),
        "largest gain": max(t - a for t, a in zip(interactive, separate, strict=True)),
        "it is private": all(bool(t.verify()) for t in talks[:2]),
    }
    return Finding(computed, lambda: um.plot.interaction("xor or and", epsilons))


@reproduces("LIM-figure-4.2-right")
def figure_4_2_right(inputs: Inputs, quick: bool) -> Finding:
    """The Hamming distance of two bits each."""
    epsilons = inputs["epsilons"][:: 3 if quick else 1]
    talks = [um.multiparty.hamming_distance(float(e)) for e in epsilons]
    separate, interactive = [t.apart.value() for t in talks], [t.value() for t in talks]
    at_zero, at_large = (um.multiparty.hamming_distance(e) for e in (inputs["zero"], inputs["large"]))
    computed = {
        "accuracy at eps = 0": [at_zero.apart.value(), at_zero.value()],
        "accuracy at large eps": [at_large.apart.value(), at_large.value()],
        "best guess at eps = 0": at_zero.decide(
            (at_zero.first.outputs[0], at_zero.second[at_zero.first.outputs[0]].outputs[0])
        ).answer,
        "the conversation is never worse": bool(all(t >= a - 1e-9 for t, a in zip(interactive, separate, strict=True))),
        "largest gain": max(t - a for t, a in zip(interactive, separate, strict=True)),
    }
    return Finding(computed, lambda: um.plot.interaction("hamming distance", epsilons))
