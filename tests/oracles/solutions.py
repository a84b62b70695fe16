"""Genuine solutions of every question on graphs."""

import utmost as um

RANKINGS = {True: ("a", "b", "c"), False: ("b", "a", "c")}


def honest():
    """A solution of every question on graphs."""
    level = um.ApproxDP(1, 0.01)
    yield um.binary.extend(um.path(5), [0, 0, 1, 1, 1], {1: 0.3, 2: 0.6}, 1.0, outputs=(0, 1))
    yield um.binary.balanced(um.counts(4), lambda yes: yes > 2, level)
    yield um.binary.best_boundary(um.counts(4), lambda yes: yes > 2, level)
    yield um.binary.best_boundary(um.counts(3), lambda yes: yes > 1, level, criterion="worst")
    boundary = {ranking: [0.5, 0.4, 0.1] for ranking in RANKINGS.values()}
    yield um.rainbow.extend(um.path(5), lambda i: RANKINGS[i < 3], boundary, 1.0)
    yield um.rainbow.best_boundary(um.path(5), lambda i: RANKINGS[i < 3], 1.0)
    yield um.rainbow.lexicographic(um.path(4), lambda i: RANKINGS[i < 2], {1: [0.5, 0.3, 0.2]}, 1.0)
    yield um.rainbow.nearest(um.cycle(5), "aabbc", 1.0)
    yield um.finite.optimal(um.counts(3), 1.0, loss=lambda i, o: abs(i - 3 * o), outputs=(0, 1))
    yield um.finite.tight_constraints(um.cycle(5), 2.0)
    yield um.finite.optimal(um.cycle(5), 2.0, [0.22, 0.2, 0.2, 0.19, 0.19])
    yield um.finite.optimal(um.counts(4), 1.0, loss="absolute")
    yield um.finite.optimal(um.cycle(4), 1.0, [0.7, 0.1, 0.1, 0.1], method="linear-program")
    yield um.finite.optimal(um.counts(4), um.GaussianDP(1), loss="absolute")
    yield um.finite.optimal(um.cycle(4), level, criterion="worst")
    p0, p1 = [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]
    yield um.local.for_testing(p0, p1, 3.0)
    yield um.local.for_testing(p0, p1, 6.0, outputs=3)
    yield um.local.for_information(p0, 1.0)
    yield um.local.for_records(um.hamming(2, 2), p0, p1, 1.0)
    yield um.local.linear_program(lambda column: column.max(axis=-1), 3, 1.0)
    yield um.local.linear_program([lambda c: c.max(axis=-1), lambda c: c[..., 0] * 0.5], 3, 1.0)
    yield um.binary.uniformly_most_powerful(8, 0.5, 1.0, 0.05).solution
