"""Local privacy against the linear program over all patterns and against OpenDP. One run, ratios.

Aims: `for_testing` at 14 letters at least 1000 times faster than the program over 2^14 patterns in HiGHS; 10,000
letters under 20 s and 2 GiB; responses at least 1000 times faster than OpenDP's randomised response.
"""

import math
import resource

import numpy as np
import opendp.prelude as dp
from scipy.optimize import linprog
from timing import seconds

import utmost as um
from utmost.privacy.divergences import as_divergence
from utmost.theory.local.design.partitions import best_cuts, by_ratio

dp.enable_features("contrib")


def program(p0, p1, epsilon):
    """The optimum by LIM's program (3.12), all patterns at once; the value."""
    k, growth = len(p0), math.exp(epsilon)
    columns = 1 + (growth - 1) * ((np.arange(2**k)[:, None] >> np.arange(k)) & 1)
    z, t = columns @ p0, columns @ p1
    return -linprog(-z * np.log(z / t), A_eq=columns.T, b_eq=np.ones(k), bounds=(0, None), method="highs").fun


def against_the_program():
    rng, ratios, sweeps, worst = np.random.default_rng(0), [], [], 0.0
    kl = as_divergence("kl")
    for epsilon in (0.5, 1.0, 3.0):
        p0, p1 = rng.dirichlet(np.ones(14), 2)
        order = by_ratio(p0, p1)
        theirs = seconds(lambda p0=p0, p1=p1, e=epsilon: program(p0, p1, e), repeats=1)
        ours = seconds(lambda p0=p0, p1=p1, e=epsilon: um.local.for_testing(p0, p1, e))
        q = 1 / math.expm1(epsilon)
        sweep = seconds(lambda a=p0[order], b=p1[order], q=q: best_cuts(a, b, kl, q))
        value = um.local.for_testing(p0, p1, epsilon).value
        worst = max(worst, abs(value / program(p0, p1, epsilon) - 1))
        ratios.append(theirs / ours)
        sweeps.append(theirs / sweep)
    print(f"program over 2^14 patterns / for_testing with its bound: {np.median(ratios):.0f}   (aim >= 1000)")
    print(f"program over 2^14 patterns / the partition alone: {np.median(sweeps):.0f}")
    print(f"largest relative difference of the values: {worst:.1e}")


def growth():
    rng, before = np.random.default_rng(1), None
    for k in (100, 300, 1000, 3000, 10_000):
        p0, p1 = rng.dirichlet(np.ones(k), 2)
        found = []
        taken = seconds(lambda p0=p0, p1=p1, found=found: found.append(um.local.for_testing(p0, p1, 1.0)), repeats=1)
        factor = "" if before is None else f", {taken / before:.1f} times the line above"
        gap = found[0].certificate.gap / found[0].value
        print(f"for_testing of {k} letters: {taken:.3f} s{factor}, relative gap {gap:.0e}")
        before = taken
    verified = seconds(lambda: bool(found[0].verify()), repeats=1)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"10,000 letters: {taken:.1f} s (aim < 20), verified in {verified:.1f} s, {memory:.2f} GiB at most (aim < 2)")


def responses():
    people = 1_000_000
    answers = np.random.default_rng(2).integers(0, 2, people)
    survey = um.local.survey([False, True], 1.0)
    ours = seconds(lambda: survey.draw(answers)) / people
    one = seconds(lambda: [survey.respond(True) for _ in range(5000)]) / 5000
    theirs_bool = dp.m.make_randomized_response_bool(prob=1 / (1 + math.exp(-1)))
    theirs = seconds(lambda: [theirs_bool(True) for _ in range(5000)]) / 5000
    print(f"OpenDP randomised response / ours, two categories, a column: {theirs / ours:.0f}   (aim >= 1000)")
    print(f"OpenDP randomised response / ours, one by one: {theirs / one:.2f}")
    many = um.local.survey(range(20), 1.0)
    given = np.random.default_rng(3).integers(0, 20, 200_000)
    several = seconds(lambda: many.draw(given)) / len(given)
    response = dp.m.make_randomized_response(categories=list(range(20)), prob=math.e / (math.e + 19))
    theirs = seconds(lambda: [response(3) for _ in range(5000)]) / 5000
    print(f"OpenDP randomised response of 20 / our sets of {many.size} of 20, a column: {theirs / several:.0f}")
    print(
        f"ours per response: {ours * 1e9:.0f} ns (two categories), {several * 1e9:.0f} ns (sets of {many.size} of 20)"
    )


if __name__ == "__main__":
    against_the_program()
    growth()
    responses()
