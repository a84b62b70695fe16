"""Utmost: the differentially private mechanism with the utmost utility, proved private and proved best.

>>> import utmost as um
>>> solution = um.binary.balanced(um.counts(101), lambda yes: yes > 50, 1.0)      # a majority of 101 people
>>> bool(solution.verify())
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from utmost import accounting, errors
from utmost.accounting import Ledger, compose
from utmost.design import binary, finite, local, multiparty, noise, rainbow
from utmost.mechanism import FiniteMechanism, Mechanism, RecipeMechanism
from utmost.mechanism.certification import CertifiedMechanism, certify
from utmost.privacy import ZCDP, ApproxDP, GaussianDP, Level, PureDP, SuitablePair
from utmost.solution import Certificate, Problem, Solution, Verification
from utmost.space import Morphism, Space
from utmost.space.edge_levels import EdgeLevels, per_edge, personalized
from utmost.space.families import (
    complete,
    counts,
    cycle,
    differences,
    grid,
    hamming,
    histograms,
    path,
    sums,
)

if TYPE_CHECKING:
    from utmost.release import Answer, Plan, Session, audit, people, rows

__version__ = "0.1.0"

__all__ = [
    "ZCDP",
    "Answer",
    "ApproxDP",
    "Certificate",
    "CertifiedMechanism",
    "EdgeLevels",
    "FiniteMechanism",
    "GaussianDP",
    "Ledger",
    "Level",
    "Mechanism",
    "Morphism",
    "Plan",
    "Problem",
    "PureDP",
    "RecipeMechanism",
    "Session",
    "Solution",
    "Space",
    "SuitablePair",
    "Verification",
    "accounting",
    "audit",
    "binary",
    "certify",
    "complete",
    "compose",
    "counts",
    "cycle",
    "differences",
    "errors",
    "finite",
    "grid",
    "hamming",
    "histograms",
    "local",
    "multiparty",
    "noise",
    "path",
    "people",
    "per_edge",
    "personalized",
    "plot",
    "rainbow",
    "reproduce",
    "rows",
    "sums",
]


RELEASE = ("Answer", "Plan", "Session", "audit", "people", "rows")


def __getattr__(name: str) -> Any:
    """Load tables, pictures and the papers only when asked for: the mathematics does not need them."""
    if name in RELEASE:
        return getattr(import_module("utmost.release"), name)
    if name in ("plot", "reproduce"):
        return import_module(f"utmost.{name}")
    raise AttributeError(f"module 'utmost' has no attribute {name!r}")
