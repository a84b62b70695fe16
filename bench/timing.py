"""How long something takes: used by all benchmarks."""

import time


def seconds(work, repeats=3):
    """The least time of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
