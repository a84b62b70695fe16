"""The same draws in every run of `make test`, for every test and example by itself.

A test that compares frequencies with a law fails once in a while by chance alone, and among thousands of them one
always does. So each test draws from a generator that its own name seeds: a failure can be repeated, and says something
about the code. `make test-long`, `UTMOST_SEARCH=1 make test` and the tests of the source of randomness itself draw
afresh.
"""

import atexit
import os
import tempfile
import zlib
from types import SimpleNamespace

import numpy as np
import pytest

from utmost.mechanism.sampling import insecure_source_for_tests_only

STATE = tempfile.TemporaryDirectory()
atexit.register(STATE.cleanup)
os.environ["UTMOST_STATE"] = STATE.name  # nothing of the user's is read or written


@pytest.fixture(autouse=True)
def steady_draws(request, monkeypatch):
    """Draws, and the secret that chooses a person's rows, from a generator seeded by the test's name."""
    afresh = os.environ.get("UTMOST_SEARCH") or request.node.get_closest_marker("long")
    if afresh or request.node.path.name == "test_sampling.py":
        yield
        return
    generator = np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))
    monkeypatch.setattr("utmost.accounting.ledger.secrets", SimpleNamespace(token_bytes=generator.bytes))
    with insecure_source_for_tests_only(generator.bytes):
        yield
