"""Exact draws per second against what peers do and against the operating system's generator. One run, ratios only.

Aims: a 20-output row drawn at once, per draw: at least 100 times OpenDP's discrete Laplace on a vector, 1000 times its
randomised response, 100 times diffprivlib's Geometric; at least 25 % of the rate at which the operating system yields
the 8 bytes that each draw needs. Certifying a 500 x 500 mechanism on a path: under 5 s. Rounded and discrete Gaussian
noise: at least 50 times OpenDP's discrete Gaussian on a vector; 10^6 draws of any noise in under a second; designs for
a million rows in under a second.
"""

import os
from fractions import Fraction

import diffprivlib.mechanisms as dpl
import numpy as np
import opendp.prelude as dp
from timing import seconds

import utmost as um
from utmost.mechanism.noise.balls import BallLaw
from utmost.mechanism.noise.canonical import CanonicalLaw
from utmost.mechanism.noise.staircase import geometric_law
from utmost.mechanism.sampling import draw
from utmost.privacy.level import decay_above
from utmost.space.integers import Lattice
from utmost.space.line import Line
from utmost.theory.scalar.design.line import best_on_line
from utmost.theory.workload.design.prefix_noise import best_carried

dp.enable_features("contrib")


def per_draw(work, draws):
    """The least seconds per draw of several runs."""
    return seconds(work) / draws


def geometric(n, epsilon):
    """The truncated geometric mechanism on n results."""
    ratio = np.exp(-epsilon)
    steps = np.abs(np.arange(n)[:, None] - np.arange(n))
    matrix = ratio**steps * (1 - ratio) / (1 + ratio)
    matrix[:, 0], matrix[:, -1] = ratio ** steps[:, 0] / (1 + ratio), ratio ** steps[:, -1] / (1 + ratio)
    return um.FiniteMechanism(matrix, range(n), range(n))


def main():
    certified = um.certify(geometric(20, 1.0), um.path(20), 1)
    row, many = certified.weights[9], 5_000_000
    ours = per_draw(lambda: draw(row, certified.bits, many), many)
    labelled = per_draw(lambda: certified.sample(9, 1_000_000), 1_000_000)
    one = per_draw(lambda: [certified.sample(9) for _ in range(2000)], 2000)
    system = per_draw(lambda: os.urandom(8 * many), many)

    vector = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    laplace = dp.m.make_laplace(*vector, scale=1.0)
    ten_thousand = [9] * 10_000
    theirs_laplace = per_draw(lambda: laplace(ten_thousand), 10_000)
    response = dp.m.make_randomized_response_bool(prob=0.75)
    theirs_response = per_draw(lambda: [response(True) for _ in range(2000)], 2000)
    other = dpl.GeometricTruncated(epsilon=1.0, sensitivity=1, lower=0, upper=19)
    theirs_geometric = per_draw(lambda: [other.randomise(9) for _ in range(2000)], 2000)

    print(f"per draw, 20 outputs: {ours * 1e9:.0f} ns (positions), {labelled * 1e9:.0f} ns (labels), at once")
    print(f"per draw, 20 outputs: {one * 1e6:.1f} us one by one")
    print(f"OpenDP discrete Laplace on a vector / ours: {theirs_laplace / ours:.0f}   (aim >= 100)")
    print(f"OpenDP randomised response / ours: {theirs_response / ours:.0f}   (aim >= 1000)")
    print(f"diffprivlib GeometricTruncated / ours: {theirs_geometric / ours:.0f}   (aim >= 100)")
    print(f"share of the operating system's rate of 8 bytes a draw: {system / ours:.0%}   (aim >= 25 %)")

    table = geometric(500, 1.0)
    taken = seconds(lambda: um.certify(table, um.path(500), 1), repeats=1)
    print(f"certifying 500 x 500 on a path: {taken:.2f} s   (must be < 5)")
    gaussian_draws()
    designs()


def gaussian_draws():
    """Gaussian noise of standard deviation 1 and 50, and vectors, a million at once."""
    vector = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    million = 10**6
    for deviation in (1, 50):
        peer = dp.m.make_gaussian(*vector, scale=float(deviation))
        theirs = per_draw(lambda: peer([9] * 10_000), 10_000)  # noqa: B023
        for name, level in (
            ("rounded", um.GaussianDP(Fraction(1, deviation))),
            ("discrete", um.ZCDP(Fraction(1, 2 * deviation**2))),
        ):
            noise = um.noise.gaussian(level)
            ours = per_draw(lambda: noise.law.draw(million), million)  # noqa: B023
            print(
                f"OpenDP discrete Gaussian / ours, {name}, deviation {deviation}: {theirs / ours:.0f}   (aim >= 50); "
                f"10^6 draws: {ours * million:.2f} s"
            )
    for moves in ("one-way", "cube", "exchange", "sum-zero"):
        noise = um.noise.lattice(3, 1, moves)
        taken = seconds(lambda: noise.law.draw(million // 3))  # noqa: B023
        print(f"10^6 numbers of {moves} noise, three at a time: {taken:.2f} s   (aim < 1)")
    cells = Lattice(3, "any", 1, 0, 20_000)
    for epsilon in ("0.1", "1"):
        decay, level = decay_above(um.PureDP(epsilon)), um.ApproxDP(epsilon, "1e-6")
        for name, work in (
            ("geometric noise", lambda: geometric_law(decay).draw(million)),  # noqa: B023
            ("staircase noise", lambda: BallLaw("any", 1, decay, period=10, upper=4).draw(million)),  # noqa: B023
            ("canonical noise", lambda: CanonicalLaw(level).draw(million)),  # noqa: B023
            ("noise that carries", lambda: best_carried(cells, um.PureDP(epsilon)).draw(million // 3)),  # noqa: B023
        ):
            print(f"10^6 numbers of {name}, epsilon {epsilon}: {seconds(work):.2f} s   (aim < 1)")


def designs():
    """The best mechanism for a million results, at four levels."""
    for level in (um.PureDP(1), um.ApproxDP(1, "1e-6"), um.GaussianDP(1), um.ZCDP("0.5")):
        best_on_line(Line(0, 10, 1), level)  # what is loaded once
        taken = seconds(lambda: best_on_line(Line(0, 10**6, 1), level), repeats=1)  # noqa: B023
        print(f"designing a count of up to 10^6 rows at {level}: {taken:.2f} s   (aim < 1)")


if __name__ == "__main__":
    main()
