"""A problem, its mechanism, its value and the proof: saved to a file, and verified from it."""

from utmost.solution.binding import Binding
from utmost.solution.solution import (
    USEFUL,
    Certificate,
    Problem,
    Solution,
    Verification,
    certificate_of,
    proved_bound,
    sketched,
)

__all__ = [
    "USEFUL",
    "Binding",
    "Certificate",
    "Problem",
    "Solution",
    "Verification",
    "certificate_of",
    "proved_bound",
    "sketched",
]
