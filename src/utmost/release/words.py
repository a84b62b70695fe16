"""What answers, plans and pages say in the same words: values, proofs, and what an answer says about the truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def show(value: Any) -> str:
    """A value as people write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {show(part)}" for name, part in value.items())
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def optimality(proof: Mapping[str, Any]) -> str:
    """What is known about better mechanisms."""
    gap = "" if proof["gap"] is None else f" (gap {proof['gap']:.2g})"
    return f"{proof['optimal']}{gap}: {proof['because']}"


def estimated(accuracy: Mapping[str, Any]) -> str:
    """That a number is an estimate, if it is one."""
    return f" (estimated, standard error {accuracy['standard_error']:.2g})" if "standard_error" in accuracy else ""


def known_after(details: Mapping[str, Any]) -> str:
    """What the prior and an answer say about the truth; of several counts, `intervals` says it of each."""
    known = details["accuracy"]["after"]
    given = f"given a {details['question']['prior'].partition(',')[0]} prior and this answer"
    if not known:
        return "not known: too few tallies drawn from the prior have this answer"
    if "probability_right" in known:
        return f"right with probability {known['probability_right']:.6g}{estimated(known)}, {given}"
    low, high = known["interval"]
    return f"between {show(low)} and {show(high)} with {known['confidence']:.0%}, {given}"
