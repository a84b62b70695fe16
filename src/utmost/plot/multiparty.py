"""Pictures of multi-party protocols: accuracies, and the gain of interaction (LIM Figure 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from utmost.design.multiparty import Protocol, hamming_distance, xor_or_and
from utmost.errors import InvalidInput
from utmost.plot.canvas import Figure, canvas
from utmost.plot.probabilities import losses

MOST_PARTIES = 12


def accuracies(protocol: Protocol, title: str | None = None) -> Figure:
    """The accuracy of a protocol: a bar for the central observer, and one for every party."""
    parties = len(protocol.levels)
    listeners: list[int | None] = [None, *(range(parties) if parties <= MOST_PARTIES else ())]
    values = [protocol.value(party) for party in listeners]
    figure, axes = canvas(title or "What the messages tell", size=(7.2, 4.2))
    names = ["observer" if party is None else f"party {party}" for party in listeners]
    bars = axes.bar(names, values, color=["#4271ae"] + ["#9db7d9"] * (len(names) - 1), width=0.6)
    axes.bar_label(bars, [f"{value:.4f}" for value in values], fontsize=8)
    axes.set_ylabel(f"accuracy, {protocol.criterion} case" if protocol.criterion == "worst" else "average accuracy")
    axes.set_ylim(0, max(1.0, *values) * 1.05)
    return figure


def interaction(example: Literal["xor or and", "hamming distance"], epsilons: Sequence[float] | None = None) -> Figure:
    """Average accuracy against epsilon, without and with interaction: LIM Figure 4.2, left or right panel."""
    values = np.linspace(0, 8, 33).tolist() if epsilons is None else list(epsilons)
    if example == "xor or and":
        plain = [xor_or_and(epsilon) for epsilon in values]
        best, name = [xor_or_and(epsilon, "best") for epsilon in values], "response of the XOR or AND"
        title = "y₁ XOR y₂ if x = 0, y₁ AND y₂ if x = 1 (LIM Figure 4.2, left)"
    elif example == "hamming distance":
        plain = [hamming_distance(epsilon) for epsilon in values]
        best, name = [hamming_distance(epsilon, "best") for epsilon in values], "distance with geometric noise"
        title = "Hamming distance of two bits each (LIM Figure 4.2, right)"
    else:
        raise InvalidInput(f"the example is {example!r}; say 'xor or and' or 'hamming distance'.")
    interactive, optimum = ([talk.value() for talk in talks] for talks in (plain, best))
    curves = {"randomised response of every bit": [talk.apart.value() for talk in plain]}
    if np.allclose(interactive, optimum, rtol=0, atol=1e-7):
        curves[f"interactive: {name} (best message)"] = interactive
    else:
        curves |= {f"interactive: {name}": interactive, "interactive: the best second message": optimum}
    return losses(values, curves, title, "average accuracy")
