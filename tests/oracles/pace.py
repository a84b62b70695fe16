"""Limits of processor time that hold on a busy machine, too.

Where others use the same cores and caches, the same work takes several times the processor time. So a piece of work of
known length is timed before and after, and a limit grows by as much as that takes longer than on a quiet machine.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np

QUIET = 0.045
"""Processor seconds of the known work on the machine for which limits are stated, when nothing else runs."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail if what is done takes more processor time than this, on a quiet machine."""
    before, start = pace(), time.process_time()
    yield
    took = time.process_time() - start
    limit = seconds * max(1.0, before, pace())
    assert took < limit, f"{took:.2f} s of processor time, where {limit:.2f} s are allowed now"


def pace() -> float:
    """How many times longer than on a quiet machine work takes now."""
    start = time.process_time()
    total = Fraction(0)
    for i in range(1, 400):
        total += Fraction(1, i)
    mixed = np.arange(400_000, dtype=np.float64)[::-1] % 1013
    for _ in range(3):
        mixed = np.sort(np.cumsum(mixed) % 1013)[::-1]
    counted: dict[int, int] = {}
    for i in range(60_000):
        counted[i % 997] = counted.get(i % 997, 0) + i
    assert total > 6
    return (time.process_time() - start) / QUIET
