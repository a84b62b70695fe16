"""Finite queries against libqif and the plain linear program. One run, ratios.

Aims: tight constraints at 961 results (two counts of 30 people) at least 3 times faster than libqif; the optimum at 40
results of a path at least 5 times; 60 and 100 results solved, where libqif's program fails numerically; the sum of 150
values 0..5 at epsilon = 0.8, below the threshold of tight constraints: gap at most 1e-2 after ten minutes, aim 1e-6;
growth of the structured solver from 10^3 to 10^6 results.
"""

import numpy as np
import qif
from scipy.optimize import linprog
from scipy.sparse import coo_array
from timing import seconds

import utmost as um


def timed(work, repeats=3):
    """The least time of several runs, and what the last returned."""
    found = []
    return seconds(lambda: found.append(work()), repeats), found[-1]


def tight():
    space, epsilon = um.grid((31, 31)), 1.2
    digits = [divmod(i, 31) for i in range(961)]
    ours, solution = timed(lambda: um.finite.tight_constraints(space, epsilon))
    theirs, matrix = timed(
        lambda: qif.mechanism.d_privacy.tight_constraints(
            961, lambda i, j: epsilon * max(abs(digits[i][0] - digits[j][0]), abs(digits[i][1] - digits[j][1]))
        ),
        repeats=1,
    )
    apart = np.abs(np.asarray(matrix) - solution.mechanism.matrix).max()
    print(f"libqif / ours, tight constraints at 961 results, signs proved: {theirs / ours:.1f}   (aim >= 3)")
    print(f"largest difference between the two: {apart:.1e}")


def program():
    for n in (40, 60, 100):
        prior = np.random.default_rng(n).dirichlet(np.ones(n))
        ours, solution = timed(lambda n=n, prior=prior: um.finite.optimal(um.path(n), 1.0, prior, "absolute"))
        columns, same = timed(
            lambda n=n, prior=prior: um.finite.optimal(um.path(n), 1.0, prior, "absolute", method="columns"), repeats=1
        )
        apart = abs(solution.value - same.value)
        print(f"{n} results of a path: columns / theorem on counts {columns / ours:.0f}, values apart {apart:.1e}")
        if n > 40:
            continue
        theirs, matrix = timed(
            lambda n=n, prior=prior: qif.mechanism.d_privacy.min_loss_given_d(
                prior, n, lambda i, j: float(abs(i - j)), lambda i, j: float(abs(i - j))
            ),
            repeats=1,
        )
        steps = np.abs(np.arange(n)[:, None] - np.arange(n))
        value = float(prior @ (np.asarray(matrix) * steps).sum(axis=1)) if np.asarray(matrix).size else float("nan")
        print(
            f"libqif / ours at {n} results: {theirs / ours:.0f} (auto), {theirs / columns:.1f} (columns)   (aim >= 5)"
        )
        print(f"values: libqif {value:.9g}, ours {solution.value:.9g}")


def all_pairs(space, epsilon):
    """The textbook linear program: a constraint for every ordered pair of results and every guess, in HiGHS."""
    n = len(space.points)
    decay = np.exp(-epsilon * space.distances())
    one, other = (index.ravel() for index in np.nonzero(~np.eye(n, dtype=bool)))
    rows, m = np.arange(len(one) * n), len(one)
    here, there = (np.add.outer(end * n, np.arange(n)).ravel() for end in (one, other))
    entries = np.concatenate([np.repeat(decay[one, other], n), -np.ones(m * n)])
    privacy = coo_array((entries, (np.tile(rows, 2), np.concatenate([here, there]))), shape=(m * n, n * n)).tocsr()
    stochastic = coo_array((np.ones(n * n), (np.repeat(np.arange(n), n), np.arange(n * n)))).tocsr()
    return linprog(
        (1 - np.eye(n)).ravel() / n, privacy, np.zeros(m * n), stochastic, np.ones(n), bounds=(0, 1), method="highs"
    ).fun


def sums():
    space = um.sums(6, 5)
    theirs, textbook = timed(lambda: all_pairs(space, 0.8), repeats=1)
    ours, solution = timed(lambda: um.finite.optimal(space, 0.8), repeats=1)
    apart = abs(textbook - solution.value)
    print(f"all-pairs linear program / ours at 31 results: {theirs / ours:.1f}; values apart {apart:.1e}")
    plain, few = timed(lambda: um.finite.optimal(um.sums(12, 5), 0.8, method="linear-program"), repeats=1)
    columns, same = timed(lambda: um.finite.optimal(um.sums(12, 5), 0.8, method="columns"), repeats=1)
    print(
        f"plain linear program / columns at 61 results: {plain / columns:.1f}; values {few.value:.9f}, {same.value:.9f}"
    )
    taken, large = timed(lambda: um.finite.optimal(um.sums(150, 5), 0.8), repeats=1)
    right = f"{1 - large.value:.8f} right guesses"
    print(f"sums(150, 5) at 0.8: {right}, gap {large.certificate.gap:.1e} after {taken:.0f} s   (<= 1e-2, aim 1e-6)")


def growth():
    """From 10^3 to 10^6 results without a matrix: the exponent of growth, and ns per result."""
    families = {
        "a sum of values 0..5, ε = 1": ([200, 2_000, 20_000, 200_000], lambda n: um.sums(n, 5), 1.0),
        "two counts, ε = 1.2": ([31, 99, 315, 1000], lambda n: um.grid((n + 1, n + 1)), 1.2),
        "a count, ε = 0.1": ([10**3, 10**4, 10**5, 10**6], um.counts, 0.1),
    }
    for name, (sizes, make, epsilon) in families.items():
        found = []
        for space in map(make, sizes):
            taken, _ = timed(lambda space=space, e=epsilon: um.finite.tight_constraints(space, e), repeats=2)
            found.append((len(space.points), taken))
        (small, quick), (large, slow) = found[0], found[-1]
        power = np.log(slow / quick) / np.log(large / small)
        each = ", ".join(f"{points} results {taken * 1e9 / points:.0f} ns each" for points, taken in found)
        print(f"{name}: time grows as n^{power:.2f}; {each}")


if __name__ == "__main__":
    tight()
    growth()
    program()
    sums()
