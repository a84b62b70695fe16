"""The same examples in every run of `make test`; `UTMOST_SEARCH=1 make test` looks for new ones."""

import atexit
import os
import tempfile

from hypothesis import settings

STATE = tempfile.TemporaryDirectory()
atexit.register(STATE.cleanup)
os.environ["UTMOST_CACHE"] = "off"  # nothing of the user's is read or written
os.environ["UTMOST_STATE"] = STATE.name
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None, max_examples=300)
settings.load_profile("search" if os.environ.get("UTMOST_SEARCH") else "steady")
