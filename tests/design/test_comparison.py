"""How far a mechanism is from the optimum, against enumeration and a linear program written down here."""

from itertools import product

import numpy as np
import pytest
from oracles.programs import least_loss_lp

import utmost as um
from utmost.errors import CannotCertify, InvalidInput

SPACES = {"path": um.path(4), "cycle": um.cycle(5), "complete": um.complete(3), "grid": um.grid((2, 2))}


def private_matrix(space, epsilon, seed):
    """A mechanism with three outputs that is private by construction: log-probabilities move by half of it at most."""
    scores = np.random.default_rng(seed).uniform(-epsilon / 4, epsilon / 4, (len(space.points), 3))
    weights = np.exp(scores)
    return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("seed", [1, 2])
def test_value_and_optimum_by_other_roads(name, seed):
    """The value by trying every way to guess, the optimum by the linear program of the definition."""
    space, epsilon = SPACES[name], 0.8
    n = len(space.points)
    draws = np.random.default_rng(seed)
    prior, loss = draws.dirichlet(np.ones(n)), draws.uniform(0, 1, (n, n))
    matrix = private_matrix(space, epsilon, seed)
    found = um.compare(matrix, space, loss, prior, epsilon)
    guessed = [
        sum(prior @ (matrix[:, o] * loss[:, guess]) for o, guess in enumerate(guesses))
        for guesses in product(range(n), repeat=3)
    ]
    assert found.value == pytest.approx(min(guessed), abs=1e-12)
    edges = space.edge_indices
    least = least_loss_lp(n, edges, [epsilon] * len(edges), [0.0] * len(edges), prior, loss, False)
    assert found.bound <= least + 1e-8
    assert found.best == pytest.approx(least, abs=1e-7)
    assert found.gap == pytest.approx(found.value - least, abs=1e-7)
    assert found.solution.verify()


def test_the_level_is_the_one_the_mechanism_keeps():
    """Left out, it is measured: the optimum then is that of this level; the optimum itself has no gap."""
    best = um.finite.optimal(um.counts(6), 0.7, loss="absolute")
    found = um.compare(best, um.counts(6), "absolute")
    assert found.levels.single.epsilon == pytest.approx(0.7, abs=1e-9)
    assert found.gap == pytest.approx(0, abs=1e-8)
    assert "gap: " in str(found)
    assert found._repr_html_().startswith('<div class="utmost-card"')


def test_what_cannot_be_compared_is_refused():
    truthful = np.eye(3)
    with pytest.raises(InvalidInput, match="keeps no epsilon"):
        um.compare(truthful, um.path(3))
    with pytest.raises(CannotCertify):
        um.compare(truthful, um.path(3), privacy=1)
    with pytest.raises(InvalidInput, match="a row for every point"):
        um.compare("noise", um.path(3))
