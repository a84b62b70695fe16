"""Utmost: the differentially private mechanism with the utmost utility, proved private and proved best.

>>> import utmost as um
>>> solution = um.binary.balanced(um.counts(101), lambda yes: yes > 50, 1.0)      # a majority of 101 people
>>> bool(solution.verify())
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from utmost import accounting, errors, plot, reproduce, survey
    from utmost.accounting import Ledger, compose
    from utmost.backends.embedded import engine
    from utmost.design import binary, finite, local, multiparty, noise, rainbow
    from utmost.design.comparison import compare
    from utmost.mechanism import FiniteMechanism, Mechanism, RecipeMechanism
    from utmost.mechanism.certification import CertifiedMechanism, certify
    from utmost.privacy import ZCDP, ApproxDP, ApproxGaussianDP, GaussianDP, Level, PureDP, SuitablePair
    from utmost.queries import Answer, Plan, Session, audit, people, rows
    from utmost.queries.bins import bins
    from utmost.queries.found_keys import discover
    from utmost.queries.keys import keys
    from utmost.queries.measurements import to_opendp
    from utmost.serve.client import Client
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
    from utmost.space.results import query

__version__ = "0.2.0"

__all__ = [
    "ZCDP",
    "Answer",
    "ApproxDP",
    "ApproxGaussianDP",
    "Certificate",
    "CertifiedMechanism",
    "Client",
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
    "bins",
    "certify",
    "compare",
    "complete",
    "compose",
    "counts",
    "cycle",
    "differences",
    "discover",
    "engine",
    "errors",
    "finite",
    "grid",
    "hamming",
    "histograms",
    "keys",
    "local",
    "multiparty",
    "noise",
    "path",
    "people",
    "per_edge",
    "personalized",
    "plot",
    "query",
    "rainbow",
    "reproduce",
    "rows",
    "sums",
    "survey",
    "to_opendp",
]


HOMES = {
    "utmost.accounting": ("Ledger", "compose"),
    "utmost.design": ("binary", "finite", "local", "multiparty", "noise", "rainbow"),
    "utmost.design.comparison": ("compare",),
    "utmost.mechanism": ("FiniteMechanism", "Mechanism", "RecipeMechanism"),
    "utmost.mechanism.certification": ("CertifiedMechanism", "certify"),
    "utmost.privacy": ("ZCDP", "ApproxDP", "ApproxGaussianDP", "GaussianDP", "Level", "PureDP", "SuitablePair"),
    "utmost.queries": ("Answer", "Plan", "Session", "audit", "people", "rows"),
    "utmost.queries.bins": ("bins",),
    "utmost.queries.found_keys": ("discover",),
    "utmost.backends.embedded": ("engine",),
    "utmost.queries.keys": ("keys",),
    "utmost.queries.measurements": ("to_opendp",),
    "utmost.serve.client": ("Client",),
    "utmost.solution": ("Certificate", "Problem", "Solution", "Verification"),
    "utmost.space": ("Morphism", "Space"),
    "utmost.space.edge_levels": ("EdgeLevels", "per_edge", "personalized"),
    "utmost.space.families": (
        *("complete", "counts", "cycle", "differences", "grid", "hamming", "histograms", "path", "sums"),
    ),
    "utmost.space.results": ("query",),
}
"""Where every name lives. A module is loaded when one of its names is first used, so that importing costs nothing."""
PACKAGES = (
    *("backends", "cli", "design", "exact", "mechanism", "privacy", "queries", "serve", "solution", "space", "theory"),
)
_HOME = {name: home for home, names in HOMES.items() for name in names}


if not TYPE_CHECKING:  # or type checkers would take any name for one of ours

    def __getattr__(name: str) -> Any:
        """Load what is asked for, once."""
        if name not in __all__:
            raise AttributeError(f"module 'utmost' has no attribute {name!r}")
        home = _HOME.get(name, "utmost")
        try:
            found = (
                import_module(f"{home}.{name}")
                if home in ("utmost", "utmost.design")
                else getattr(import_module(home), name)
            )
        except ImportError as problem:
            from utmost.extras import explained

            raise explained(problem) or problem from None
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
