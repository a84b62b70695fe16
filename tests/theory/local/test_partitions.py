"""What partitions of sorted letters can reach, against all of them one by one."""

from itertools import combinations

import numpy as np
import pytest

from utmost.privacy.divergences import as_divergence
from utmost.theory.local.verify.partitions import excess_of_partitions


def values_of_all(p0, p1, divergence, q):
    """What randomised response on every cut of the sorted letters is worth."""
    order = np.argsort(p0 / p1)
    p0, p1, k = p0[order], p1[order], len(p0)
    for count in range(k):
        for cuts in combinations(range(1, k), count):
            z, t = (q + np.add.reduceat(p, [0, *cuts]) for p in (p0, p1))
            yield float((t * divergence.of(z / t - 1)).sum()) / (1 + (count + 1) * q)


@pytest.mark.parametrize("name", ["kl", "chi2", "hellinger", "tv"])
@pytest.mark.parametrize("q", [0.02, 0.3, 4.0])
def test_no_partition_is_worth_more(name, q):
    """At the best value nothing is left; below it, at least as much is found missing as is."""
    divergence, rng = as_divergence(name), np.random.default_rng(3)
    for _ in range(5):
        p0, p1 = rng.dirichlet(np.ones(7)), rng.dirichlet(np.ones(7))
        best = max(values_of_all(p0, p1, divergence, q))
        assert excess_of_partitions(p0, p1, divergence, q, best) <= 1e-12 * best
        for share in (0.0, 0.5, 0.99):
            missing = excess_of_partitions(p0, p1, divergence, q, share * best)
            assert missing >= (1 - share) * best * (1 - 1e-12)
