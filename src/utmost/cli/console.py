"""Consoles that are not in UTF-8: letters that their encoding lacks are spelled."""

from __future__ import annotations

import codecs
from typing import Any

SPELLED = {
    **{"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "μ": "mu", "ρ": "rho", "σ": "sigma"},
    **{"∞": "inf", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "×": "x", "·": "*", "−": "-", "±": "+-", "√": "sqrt"},
    **{"→": "->", "…": "...", "–": "-", "—": "-", "‘": "'", "’": "'", "“": '"', "”": '"', "²": "^2", "∑": "sum"},
}
"""How symbols are written where the console's encoding has none for them."""


def print_anywhere(stream: Any) -> None:
    """Let a stream that is not in UTF-8 spell what its encoding lacks, instead of failing after the spend."""
    if not is_utf8(stream) and hasattr(stream, "reconfigure"):
        codecs.register_error("utmost", _spelled)
        stream.reconfigure(errors="utmost")


def is_utf8(stream: Any) -> bool:
    """Whether a stream takes any text."""
    return (getattr(stream, "encoding", None) or "utf-8").lower().replace("_", "-") in ("utf-8", "utf8")


def _spelled(problem: UnicodeError) -> tuple[str, int]:
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    letters = problem.object[problem.start : problem.end]
    return "".join(SPELLED.get(letter, f"\\u{{{ord(letter):x}}}") for letter in letters), problem.end
