"""Noise against diffprivlib's Staircase and OpenDP's discrete Laplace. One run, ratios.

Aims: `simulate` at least 300 times diffprivlib's Staircase per draw; exact integer noise at least 50 times OpenDP's
discrete Laplace per draw, on a vector. The expected cost of the optimum against Laplace, in one, two and three
dimensions.
"""

import diffprivlib.mechanisms as dpl
import numpy as np
import opendp.prelude as dp
from timing import seconds

import utmost as um

dp.enable_features("contrib")


def per_draw(work, draws):
    """The least seconds per draw of several runs."""
    return seconds(work) / draws


def speed():
    many = 2_000_000
    staircase = um.noise.staircase(1.0)
    ours = per_draw(lambda: staircase.simulate(many, rng=0), many)
    theirs = dpl.Staircase(epsilon=1.0, sensitivity=1)
    peer = per_draw(lambda: [theirs.randomise(0.0) for _ in range(2000)], 2000)
    print(f"diffprivlib Staircase / simulate: {peer / ours:.0f}   (aim >= 300); {ours * 1e9:.0f} ns a draw")

    laplace = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), scale=1.0)
    zeros = [0] * 10_000
    peer = per_draw(lambda: laplace(zeros), len(zeros))
    for epsilon, sensitivity in ((1.0, 1), (0.01, 1), (1.0, 5), (1.0, 10**6)):
        noise = um.noise.discrete_staircase(epsilon, sensitivity)
        noise.sample(1)
        ours = per_draw(lambda noise=noise: noise.sample(many), many)
        aim = "   (aim >= 50)" if (epsilon, sensitivity) == (1.0, 1) else ""
        what = f"exact integer noise, epsilon {epsilon:g}, sensitivity {sensitivity}"
        print(f"OpenDP discrete Laplace / {what}: {peer / ours:.0f}{aim}; {ours * 1e9:.0f} ns a draw")
    one = per_draw(lambda: [staircase.release(123.456, 0.01) for _ in range(1000)], 1000)
    single = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0)
    peer = per_draw(lambda: [single(123.456) for _ in range(1000)], 1000)
    print(f"OpenDP Laplace on one float / release of one number: {peer / one:.2f}; {one * 1e6:.0f} us a release")
    vector = um.noise.staircase(1.0, dimension=3)
    three = per_draw(lambda: [vector.release([1.5, 2.5, 3.5], 0.01) for _ in range(100)], 100)
    print(f"release of three numbers at once: {three * 1e3:.2f} ms")


def costs():
    print("expected l1 norm, sensitivity 1: staircase (Laplace)")
    print("epsilon  one dimension        two dimensions       three dimensions (conjecture)")
    for epsilon in (0.5, 1, 2, 4, 8):
        row = [f"{epsilon:7g}"]
        for d in (1, 2, 3):
            best, usual = um.noise.staircase(epsilon, dimension=d), um.noise.laplace(epsilon, dimension=d)
            drawn = best.simulate(200_000, rng=d).reshape(-1, d)
            apart = abs(np.abs(drawn).sum(axis=1).mean() - best.expected_cost) / best.expected_cost
            assert apart < 0.05, "the mean of draws is not the expected cost"
            row.append(f"{best.expected_cost:.6f} ({usual.expected_cost:.6f})")
        print("  ".join(row))


if __name__ == "__main__":
    speed()
    costs()
