"""What answers, plans and pages say in the same words: values, proofs, and what an answer says about the truth."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import islice
from typing import Any

from utmost.release.accuracy import BY_LAW, After
from utmost.solution import Certificate

MOST_CELLS = 100
"""How many of many numbers are shown to people; the rest is in the table and the JSON."""

UNKNOWN = "not known: too few tallies drawn from the prior have this answer"


def show(value: Any) -> str:
    """A value as people write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        named = [cell_name(key) for key in value[:MOST_CELLS]]
        return first_of(named, value) or "none"
    if isinstance(value, Mapping):
        return first_of([f"{cell_name(name)}: {show(part)}" for name, part in islice(value.items(), MOST_CELLS)], value)
    return f"{value:,}" if isinstance(value, int) else f"{float(value):,.6g}"


def cell_name(key: Any) -> str:
    """What one of several numbers is called: a text as it is, the values of a key one after another."""
    return ", ".join(
        "null" if part is None else "all" if part is ... else str(part)
        for part in (key if isinstance(key, tuple) else (key,))
    )


def first_of(texts: list[str], everything: Collection[Any]) -> str:
    """The texts of the first numbers, and how many more there are."""
    more = len(everything) - len(texts)
    return "; ".join(texts) + (f"; and {more:,} more" if more else "")


def optimality(certificate: Certificate, gap: str, proved_of: str = "") -> str:
    """What is known about better mechanisms, with the gap in words."""
    of = f" on {proved_of}" if proved_of else ""
    return f"{certificate.claim}{of}{f' ({gap})' if gap else ''}: {certificate.reason}"


def gap_in_words(gap: float | None, proof: Mapping[str, Any], of: str = "") -> str:
    """How far better mechanisms may be; where the ends of a range matter, with and without them.

    Better *noise* has a law of errors that is the same at every table.

    Examples
    --------
    >>> gap_in_words(0.85, {"gap among noise": 0.0004})
    'gap 0.85 with the ends of the range, 0.0004 among all noise'
    >>> gap_in_words(0.018, {"away": 219, "gap on average": 0.85})
    'gap 0.018 for answers 219 or more from the ends of the range, 0.85 on average over all tables'
    """
    if gap is None:
        return ""
    said = f"gap {gap:.2g}{f' on {of}' if of else ''}"
    if "gap among noise" in proof:
        return f"{said} with the ends of the range, {proof['gap among noise']:.2g} among all noise"
    if "away" in proof:
        inside = f"for answers {show(proof['away'])} or more from the ends of the range"
        return f"{said} {inside}, {proof['gap on average']:.2g} on average over all tables"
    return said


def measured(loss: str) -> str:
    """What a loss measures."""
    words = {"users": "holders that a key needs to be shown:", "missed": "share of the most frequent that is missed:"}
    if loss in words:
        return words[loss]
    return "probability of a wrong answer" if loss == "zero-one" else f"expected {loss} error"


def compared_by(loss: str) -> str:
    """What mechanisms are compared by."""
    return {"users": "holders needed", "missed": "share missed"}.get(loss, f"{loss} loss")


def estimated(error: float) -> str:
    """That a number is an estimate, if it is one."""
    return f" (estimated, standard error {error:.2g})" if error else ""


def known_after(after: After) -> str:
    """What is known about the truth, given an answer."""
    right = ""
    if after.probability_right is not None:
        right = f"right with probability {after.probability_right:.6g}{estimated(after.standard_error)}"
    few = islice(after.intervals.items(), MOST_CELLS)
    ends = [f"{cell_name(name)} {show(low)} to {show(high)}" for name, (low, high) in few]
    if len(ends) == 1:
        low, high = next(iter(after.intervals.values()))
        within = f"between {show(low)} and {show(high)} with {after.confidence:.0%}"
    else:
        within = f"with {after.confidence:.0%} each: {first_of(ends, after.intervals)}" if ends else ""
    believed = ""
    if after.likely is not None:
        low, high = after.likely
        believed = f"between {show(low)} and {show(high)} with probability {after.confidence:g}"
    near = ""
    if after.rows_within is not None:
        near = f"with {after.confidence:.0%} fewer than {show(after.rows_within)} rows from being right"
    if after.given.startswith(BY_LAW):
        there = ""
        if after.rows is not None:
            many = f"about {after.rows} rows, as many as the answer says there are"
            there = f"; expected loss {after.expected:.4g} with {many}"
        return f"{within}, {after.given}{there}" if within else after.given
    by_prior = "; ".join(part for part in (right, believed) if part)
    by_law = ", ".join(part for part in (near, within) if part)
    known = f"{by_prior}, given {after.given}" if by_prior else UNKNOWN
    return f"{known}; {by_law}, {BY_LAW}" if by_law else known
