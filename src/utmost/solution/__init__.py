"""A problem, its mechanism, its value and the proof: saved to a file, and verified from it."""

from utmost.solution.solution import Certificate, Problem, Solution, Verification, proved_bound

__all__ = [
    "Certificate",
    "Problem",
    "Solution",
    "Verification",
    "proved_bound",
]
