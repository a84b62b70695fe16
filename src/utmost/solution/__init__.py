"""Solutions: a problem, its mechanism, its value and a certificate, which can be saved and verified."""

from utmost.solution.binding import Binding
from utmost.solution.solution import (
    USEFUL,
    Certificate,
    Problem,
    Solution,
    Verification,
    certificate_of,
    mechanism_of,
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
    "mechanism_of",
    "proved_bound",
    "sketched",
]
