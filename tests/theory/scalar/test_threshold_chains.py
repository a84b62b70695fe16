"""The best chain at every threshold: against linear programs, for losses that are convex and least at the truth."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.programs import least_loss_by_lines

import utmost as um
from utmost.errors import UnsupportedLevel

LEVELS = [
    um.ApproxDP("0.4", "0.05"),
    um.ApproxDP(1, "0.001"),
    um.PureDP("0.7"),
    um.SuitablePair([(0, 0), ("1/10", "2/5"), ("1/4", "3/4"), ("3/5", "9/10"), (1, 1)]),
]


def convex_table(rises, falls):
    """Row i: 0 at i, to the right sums of rising steps, to the left sums of other rising steps."""
    n = len(rises)
    table = np.zeros((n, n))
    for i in range(n):
        for o in range(n):
            steps = rises[i] if o > i else falls[i]
            table[i, o] = np.cumsum(np.cumsum(steps))[abs(o - i) - 1] if o != i else 0.0
    return table


@given(st.sampled_from(LEVELS), st.integers(2, 5), st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_lopsided_losses_against_linear_programs(level, n, random):
    """Losses that differ from point to point and from side to side, priors with zeros: the least loss of all."""
    steps = lambda: [[random.choice([0.0, 0.3, 1.0, 2.5]) for _ in range(n)] for _ in range(n)]  # noqa: E731
    table = convex_table(steps(), steps())
    prior = np.array([random.choice([0.0, 0.1, 1.0, 2.0]) for _ in range(n)]) + 1e-3
    prior /= prior.sum()
    found = um.finite.optimal(um.path(n), level, prior, table)
    least = least_loss_by_lines(n, 1, level.lines(), prior, table)
    assert found.value == pytest.approx(least, abs=1e-7 * max(1.0, table.max()))
    assert found.problem.question in ("finite.chains", "finite.count")
    assert found.verify()
    um.certify(found)


def test_gaussian_counts_are_certified_and_drawn():
    """A table of 41 counts at a Gaussian level: theorem, certified integers, draws."""
    found = um.finite.optimal(um.counts(40), um.GaussianDP(1), loss="absolute")
    assert found.verify().optimal == "theorem"
    assert um.certify(found).sample(7) in range(41)
    assert found.value < um.finite.optimal(um.counts(40), 1.0, loss="absolute").value


def test_false_claims_are_refused():
    """Another mechanism, another value or other starts do not pass for the optimum."""
    found = um.finite.optimal(um.path(6), um.ApproxDP("0.5", "0.01"), loss="absolute")
    assert found.verify()
    worse = um.FiniteMechanism(np.full((6, 6), 1 / 6), range(6), range(6))
    value = worse.expected_loss(loss="absolute", remap="none")
    assert not dataclasses.replace(found, mechanism=worse, value=value, weights=None).verify()
    assert not dataclasses.replace(found, value=found.value / 2).verify()
    own = found.certificate.evidence["starts"]
    for starts in (np.zeros(5), np.full(5, 1e-30), np.full(5, 0.1), np.full(5, 0.9), np.ones(5), own * 0.99):
        evidence = {"starts": starts}
        certificate = dataclasses.replace(found.certificate, evidence=evidence)
        assert not dataclasses.replace(found, certificate=certificate).verify()


def test_losses_that_are_not_covered():
    """Zero-one loss at a Gaussian level is no sum of chains that fit together."""
    with pytest.raises(UnsupportedLevel, match="convex"):
        um.finite.optimal(um.path(4), um.GaussianDP(1))
    with pytest.raises(UnsupportedLevel, match="convex"):
        um.finite.optimal(
            um.path(4), um.GaussianDP(1), loss=np.minimum(convex_table([[1, 1, 1, 1]] * 4, [[1] * 4] * 4), 2)
        )
