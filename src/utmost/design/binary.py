"""Yes/no questions on any graph of datasets: the unique optimal private mechanism, or why none exists (BIN, HET).

Given the truth at every point and the mechanism at the boundary, exactly one private mechanism is optimal at every
other point at once, for every reasonable utility (BIN Theorem 2): the probability of the truth at w is the least bound
that any known point imposes on w along any path. `extend` computes it by shortest paths,
`balanced` and `best_boundary` choose the boundary, `at` answers for one dataset in a space too large to list.
`uniformly_most_powerful` tests a share.
"""

from utmost.theory.binary.design.boundary import best_boundary
from utmost.theory.binary.design.extension import balanced, extend, imposed
from utmost.theory.binary.design.nearby import CertifiedAnswer, LocalProbability, at
from utmost.theory.binary.design.share_test import NoisyShare, ShareTest, noisy_share, uniformly_most_powerful
from utmost.theory.binary.design.truth import Boundary, boundary, dominates, hitting_set, is_hitting

__all__ = [
    "Boundary",
    "CertifiedAnswer",
    "LocalProbability",
    "NoisyShare",
    "ShareTest",
    "at",
    "balanced",
    "best_boundary",
    "boundary",
    "dominates",
    "extend",
    "hitting_set",
    "imposed",
    "is_hitting",
    "noisy_share",
    "uniformly_most_powerful",
]
