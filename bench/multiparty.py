"""Several parties: the Kronecker transform against literal sums over inputs and transcripts. One run, ratios.

Aims: 20 parties with 20 different levels and a random function in under 2 s; at least 50 times faster than the
2^(2k) computation at 11 parties; a symmetric function of 1000 parties in under 1 s.
"""

from functools import reduce
from itertools import product

import numpy as np
from timing import seconds

import utmost as um

RNG = np.random.default_rng(0)


def literal(table, levels, answers=2):
    """LIM (4.5) as it stands: the matrix of all transcripts given all inputs, 2^k x 2^k, times the accuracies."""
    kept = [1 / (1 + np.exp(-level)) for level in levels]
    likely = reduce(np.kron, [np.array([[p, 1 - p], [1 - p, p]]) for p in kept])
    return (likely.T @ np.eye(answers)[table]).max(axis=1).sum() / len(table)


def literal_loops(table, levels, answers=2):
    """The same by plain loops over transcripts and inputs, as a first reading of (4.5) would be written."""
    kept = [1 / (1 + np.exp(-level)) for level in levels]
    inputs, total = list(product((0, 1), repeat=len(levels))), 0.0
    for said in inputs:
        scores = [0.0] * answers
        for x, value in zip(inputs, table, strict=True):
            share = 1.0
            for p, bit, message in zip(kept, x, said, strict=True):
                share *= p if bit == message else 1 - p
            scores[value] += share
        total += max(scores)
    return total / len(inputs)


def main():
    levels = [0.1 * i for i in range(1, 21)]
    table = RNG.integers(0, 2, 2**20)
    found = []
    taken = seconds(lambda: found.append(um.multiparty.optimal(table, levels)), repeats=2)
    print(f"20 parties, 20 levels, a random function: {taken:.2f} s   (aim < 2); accuracy {found[-1].value():.9f}")

    few = table[: 2**11]
    ours = seconds(lambda: um.multiparty.optimal(few, levels[:11]), repeats=20)
    theirs = seconds(lambda: literal(few, levels[:11]))
    apart = abs(um.multiparty.optimal(few, levels[:11]).value() - literal(few, levels[:11]))
    print(f"2^(2k) in NumPy / ours, 11 parties: {theirs / ours:.0f}   (aim >= 50); apart by {apart:.1e}")
    ours = seconds(lambda: um.multiparty.optimal(few[: 2**9], levels[:9]), repeats=20)
    theirs = seconds(lambda: literal_loops(few[: 2**9], levels[:9]), repeats=1)
    print(f"2^(2k) in plain loops / ours, 9 parties: {theirs / ours:.0f}")

    for name, accuracy, criterion in (
        ("majority", None, "average"),
        ("sum", "absolute", "average"),
        ("majority", None, "worst"),
    ):
        taken = seconds(lambda: um.multiparty.optimal(name, [1.0] * 1000, accuracy, criterion), repeats=2)  # noqa: B023
        print(f"1000 parties, {name}, {criterion}: {taken:.2f} s   (aim < 1)")


if __name__ == "__main__":
    main()
