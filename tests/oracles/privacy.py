"""Privacy by another road: Taylor series and rationals, over every event."""

import math
from fractions import Fraction
from itertools import combinations


def exponential_below(epsilon):
    """A rational just below e^epsilon, from its Taylor series: another road than ball arithmetic."""
    x, term, total = Fraction(epsilon), Fraction(1), Fraction(1)
    halvings = 0
    while x > 1:
        x, halvings = x / 2, halvings + 1
    for k in range(1, 60):
        term = term * x / k
        total += term
    for _ in range(halvings):
        total = total * total
        total = Fraction(math.floor(total * 2**300), 2**300)
    return total


def is_private(certified):
    """(epsilon, delta)-privacy over every subset of outputs, in Fractions."""
    space, total = certified.levels.space, certified.total
    for e, (a, b) in enumerate(space.edge_indices.tolist()):
        level = certified.levels[e]
        growth = level.ratio * exponential_below(level.exponent) if math.isfinite(level.exponent) else None
        if growth is None:
            continue
        rows = [[int(w) for w in certified.weights[v]] for v in (a, b)]
        assert all(sum(row) == total for row in rows)
        for here, there in (rows, rows[::-1]):
            outputs = range(len(here))
            events = (
                [s for k in range(1, len(here)) for s in combinations(outputs, k)]
                if len(here) <= 6
                else [(o,) for o in outputs]
            )
            for event in events:
                if sum(here[o] for o in event) > growth * sum(there[o] for o in event) + level.delta * total:
                    return False
    return True
