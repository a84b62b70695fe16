"""Finite queries against libqif and the plain linear program. One run, ratios.

Aims: tight constraints at 961 results (two counts of 30 people) at least 3 times faster than libqif; the optimum at 40
results of a path at least 5 times; 60 and 100 results solved, where libqif's program fails numerically; the sum of 150
values 0..5 at epsilon = 0.8, below the threshold of tight constraints: gap at most 1e-2 after ten minutes, aim 1e-6.
"""

import numpy as np
import qif
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
        method = "columns"
        ours, solution = timed(
            lambda n=n, prior=prior, method=method: um.finite.optimal(
                um.path(n), 1.0, prior, "absolute", method=method
            ),
            repeats=1,
        )
        best = um.finite.geometric(n, 1.0).expected_loss(prior, "absolute")
        line = f"{n} results of a path, ours ({method}): gap {solution.certificate.gap:.1e}, "
        print(line + f"off the known optimum by {abs(solution.value - best):.1e}")
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
        print(f"libqif / ours, linear program at {n} results: {theirs / ours:.1f}   (aim >= 5); its value {value:.9g}")


def sums():
    plain, few = timed(lambda: um.finite.optimal(um.sums(12, 5), 0.8, method="linear-program"), repeats=1)
    columns, same = timed(lambda: um.finite.optimal(um.sums(12, 5), 0.8, method="columns"), repeats=1)
    print(
        f"plain linear program / columns at 61 results: {plain / columns:.1f}; values {few.value:.9f}, {same.value:.9f}"
    )
    taken, large = timed(lambda: um.finite.optimal(um.sums(150, 5), 0.8), repeats=1)
    right = f"{1 - large.value:.8f} right guesses"
    print(f"sums(150, 5) at 0.8: {right}, gap {large.certificate.gap:.1e} after {taken:.0f} s   (<= 1e-2, aim 1e-6)")


if __name__ == "__main__":
    tight()
    program()
    sums()
