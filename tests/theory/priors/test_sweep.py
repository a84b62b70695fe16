"""Every design of um.finite, from ten to a million results and epsilon from 0.01 to 20: proved, or refused by name."""

import networkx as nx
import numpy as np
import pytest

import utmost as um
from utmost.errors import NoSuchMechanism, TooLarge

EPSILONS = [0.01, 0.1, 1.0, 5.0, 20.0]
SMALL = [um.counts(9), um.sums(5, 2), um.grid((3, 4)), um.cycle(12), um.hamming(2, 3), um.histograms(3, 3)]
LARGE = [
    um.counts(100), um.counts(1000), um.counts(10**5), um.counts(10**6), um.sums(60, 5), um.sums(300, 5),
    um.sums(4000, 5), um.sums(200_000, 5), um.grid((20, 20)), um.grid((100, 100)), um.grid((1000, 1000)),
    um.grid((10, 10, 10), "manhattan"), um.grid((100, 100, 100), "manhattan"), um.cycle(999), um.cycle(10**6),
    um.complete(1000), um.complete(10**6), um.hamming(6, 4), um.hamming(10, 4), um.hamming(20, 2),
    um.differences(1000, "replace"), um.differences(10**5, "replace"), um.histograms(20, 3),
    um.Space.from_networkx(nx.watts_strogatz_graph(100, 6, 0.1, seed=1)),
]  # fmt: skip


def designs(space, epsilon):
    """What can be asked of a space: one mechanism for all regular priors, and optima for priors and losses."""
    n = len(space.points)
    tilted = 1 + 0.1 * np.cos(np.linspace(0, 3, n))
    yield lambda: um.finite.tight_constraints(space, epsilon)
    yield lambda: um.finite.optimal(space, epsilon, seconds=3)
    yield lambda: um.finite.optimal(space, epsilon, tilted / tilted.sum(), seconds=3)
    if isinstance(space.points, range):
        yield lambda: um.finite.optimal(space, epsilon, loss="absolute", seconds=3)


def prove(space, epsilon):
    """Every design verifies or is refused; how many were refused."""
    refused = 0
    for design in designs(space, epsilon):
        try:
            solution = design()
        except (NoSuchMechanism, TooLarge):
            refused += 1
            continue
        verification = solution.verify()
        assert verification, f"{solution.problem}: {verification}"
        assert solution.value >= 0
        assert verification.gap >= 0
    return refused


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("space", SMALL, ids=repr)
def test_small_designs_are_proved(space, epsilon):
    """At ten results or so only tight constraints may not exist; everything else is solved."""
    assert prove(space, epsilon) <= 1


@pytest.mark.parametrize("space", [um.counts(10**5), um.cycle(10**6), um.hamming(8, 4)], ids=repr)
def test_some_large_designs_are_proved(space):
    """Counts, rings and databases have a mechanism for every epsilon, and it is proved without a matrix."""
    for epsilon in (0.01, 20.0):
        solution = um.finite.tight_constraints(space, epsilon)
        assert solution.verify(), solution.verify()


@pytest.mark.long
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("space", LARGE, ids=repr)
def test_designs_of_every_size_are_proved(space, epsilon):
    """Up to a million results: a proof, or a refusal that says what to do."""
    refused = prove(space, epsilon)
    if space.family is not None and space.family.name in ("counts", "cycle", "complete", "hamming"):
        um.finite.tight_constraints(space, epsilon)  # exists, and is not among the refused
        assert refused < 4
