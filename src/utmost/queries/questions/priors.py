"""Priors and best guesses, as questions take them and as reports write them."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from utmost.errors import InvalidInput, shown


def require_unbiased(unbiased: Any) -> bool:
    """Whether the noisy number itself is asked for."""
    if not isinstance(unbiased, bool):
        raise InvalidInput(f"unbiased is {shown(unbiased)}; say True for the noisy number itself, or leave it out.")
    return unbiased


def prior_name(prior: Any) -> str:
    """Whether a prior is listed."""
    return "uniform" if prior is None else "listed"


def prior_text(prior: Any) -> str:
    """A prior as plain data; a listed one by its fingerprint."""
    if prior is None:
        return "uniform"
    return "listed, " + hashlib.sha256(np.ascontiguousarray(prior).tobytes()).hexdigest()[:16]
