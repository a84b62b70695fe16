"""Check `unbiased=`, and name priors in words and in reports."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from utmost.errors import InvalidInput, shown
from utmost.messages import Name


def require_unbiased(unbiased: Any) -> bool:
    """Return `unbiased` (whether the answer is the noisy number itself) if it is a bool; refuse anything else."""
    if not isinstance(unbiased, bool):
        raise InvalidInput(
            Name("unbiased"), f" is {shown(unbiased)}; say True for the noisy number itself, or leave it out."
        )
    return unbiased


def prior_name(prior: Any) -> str:
    """The prior in one word: "uniform" or "listed"."""
    return "uniform" if prior is None else "listed"


def prior_text(prior: Any) -> str:
    """The prior as plain data: "uniform", or the fingerprint of a listed one."""
    if prior is None:
        return "uniform"
    return "listed, " + hashlib.sha256(np.ascontiguousarray(prior).tobytes()).hexdigest()[:16]
