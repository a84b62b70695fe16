"""Several parties: what talking gains over randomised response when a party holds several bits (LIM Figure 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from utmost.design.multiparty import hamming_distance, xor_or_and
from utmost.errors import InvalidInput
from utmost.plot.canvas import Figure
from utmost.plot.probabilities import losses


def interaction(example: Literal["xor or and", "hamming distance"], epsilons: Sequence[float] | None = None) -> Figure:
    """Average accuracy against epsilon, without and with interaction: LIM Figure 4.2, left or right panel."""
    chosen = np.linspace(0, 8, 33).tolist() if epsilons is None else list(epsilons)
    if example == "xor or and":
        plain = [xor_or_and(epsilon) for epsilon in chosen]
        best, name = [xor_or_and(epsilon, "best") for epsilon in chosen], "response of the XOR or AND"
        title = "y₁ XOR y₂ if x = 0, y₁ AND y₂ if x = 1 (LIM Figure 4.2, left)"
    elif example == "hamming distance":
        plain = [hamming_distance(epsilon) for epsilon in chosen]
        best, name = [hamming_distance(epsilon, "best") for epsilon in chosen], "distance with geometric noise"
        title = "Hamming distance of two bits each (LIM Figure 4.2, right)"
    else:
        raise InvalidInput(f"the example is {example!r}; say 'xor or and' or 'hamming distance'.")
    talking, most = ([talk.value() for talk in talks] for talks in (plain, best))
    curves = {"randomised response of every bit": [talk.apart.value() for talk in plain]}
    if np.allclose(talking, most, rtol=0, atol=1e-7):
        curves[f"interactive: {name} (best message)"] = talking
    else:
        curves |= {f"interactive: {name}": talking, "interactive: the best second message": most}
    return losses(chosen, curves, title, "average accuracy")
