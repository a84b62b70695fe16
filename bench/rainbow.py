"""Rainbow mechanisms on a large space against the linear program on a small one, and far distances. One run, ratios.

A 300 x 300 grid with three regions in closed form, against the lexicographic linear programs at 200 points; one far
distance against a near one (aim: the same time).
"""

import numpy as np
from timing import seconds

import utmost as um

BOUNDARY = {("a", "b", "c"): [0.4, 0.3, 0.3], ("b", "c", "a"): [0.4, 0.3, 0.3], ("c", "a", "b"): [0.4, 0.3, 0.3]}
RANKINGS = list(BOUNDARY)


def regions(width):
    """Three vertical stripes."""
    return lambda point: RANKINGS[min(3 * point[1] // width, 2)]


def main():
    large, small = um.grid((300, 300), "manhattan"), um.grid((10, 20), "manhattan")
    for space in (large, small):
        space.arcs  # noqa: B018  both graphs are there before the clock starts
    closed = seconds(lambda: um.rainbow.extend(large, regions(300), BOUNDARY, 0.5))
    known = {p: BOUNDARY[regions(20)(p)] for p in small.points if p[1] in (6, 7, 13, 14)}
    program = seconds(lambda: um.rainbow.lexicographic(small, regions(20), known, 0.5), repeats=1)
    same = um.rainbow.extend(small, regions(20), BOUNDARY, 0.5).mechanism.matrix
    solved = um.rainbow.lexicographic(small, regions(20), known, 0.5).mechanism.matrix
    print(f"linear programs at 200 points / closed form at 90000 points: {program / closed:.2f}")
    print(f"per point: {program / 200 / (closed / 90_000):.0f}")
    print(f"largest difference between the two at 200 points: {np.abs(same - solved).max():.1e}")
    near, far = (seconds(lambda d=d: um.rainbow.line([0.2, 0.3, 0.5], 0.001, [d]), repeats=200) for d in (10, 10**9))
    print(f"distance 10^9 / distance 10: {far / near:.2f}   (aim about 1)")


if __name__ == "__main__":
    main()
