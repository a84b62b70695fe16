"""The same examples in every run of `make test`; `UTMOST_SEARCH=1 make test` looks for new ones."""

import os

from hypothesis import settings

os.environ["UTMOST_CACHE"] = "off"  # nothing outside the repository is read or written
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None, max_examples=300)
settings.load_profile("search" if os.environ.get("UTMOST_SEARCH") else "steady")
