"""A claim of a paper, what Utmost computes for it, and the verdict.

Claims live in `claims.toml`: where they stand, what they state, and, where a paper is wrong, what it should state. A
function marked `@reproduces(key)` computes the same quantities with the public functions of Utmost; `judge` compares.
"""

from __future__ import annotations

import math
import numbers
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

Given: TypeAlias = Mapping[str, Any]
Verdict: TypeAlias = Literal["reproduced", "reproduced with our correction", "not reproduced"]
PAPERS = {
    "BIN": "Torkamani, Ebrahimi, Sadeghi, D'Oliveira, Médard: Optimal Binary Differential Privacy via Graphs",
    "HET": "Torkamani, Ebrahimi, Sadeghi, D'Oliveira, Médard: Heterogeneous Differential Privacy via Graphs",
    "RAIN": "Zhou, Günlü, D'Oliveira, Médard, Sadeghi, Schaefer: Rainbow Differential Privacy",
    "REG": "ElSalamouny, Chatzikokolakis, Palamidessi: A differentially private mechanism of optimal utility for a "
    "region of priors",
    "LIM": "Kairouz: The Fundamental Limits of Statistical Data Privacy (thesis)",
}


@dataclass(frozen=True)
class Claim:
    """What a paper states, as the data file holds it.

    Attributes
    ----------
    key : the paper and the number of the item, such as "BIN-example-3"
    where : page, section or equation
    claim : the statement in one sentence
    given : the numbers the paper starts from
    stated : what it says comes out, by name; a number, a truth value, text, a list, or {at_least = x}, {at_most = x}
    corrected : where a stated value is wrong, what is right instead
    correction : the same in words
    tolerance : how far a computed number may be from a stated one, because papers round
    call : a public call that makes it
    note : what a reader should know, such as what the printed page does not say
    """

    key: str
    where: str
    claim: str
    stated: Mapping[str, Any]
    call: str
    given: Mapping[str, Any] = field(default_factory=dict)
    corrected: Mapping[str, Any] = field(default_factory=dict)
    correction: str = ""
    tolerance: float = 1e-9
    note: str = ""

    @property
    def paper(self) -> str:
        """The key of the paper."""
        return self.key.split("-", 1)[0]


@dataclass(frozen=True)
class Finding:
    """What was computed for a claim, under the names it uses, and how to draw it where the paper has a figure.

    What the paper does not state may be computed beside it, for the reader.
    """

    computed: Mapping[str, Any]
    draw: Callable[[], Any] | None = None


@dataclass(frozen=True)
class Entry:
    """A claim with what was computed, how far apart they are, and the verdict.

    `distance` is the largest difference between a computed number and what the paper states; None if something other
    than a number differs. `distance_corrected` is the same for what the paper should state, where we have a correction.
    `why` says what is amiss with an entry that is not reproduced.
    """

    claim: Claim
    computed: Mapping[str, Any]
    verdict: Verdict
    distance: float | None
    distance_corrected: float | None = None
    why: str = ""
    picture: str | None = None
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """The entry as plain data."""
        c = self.claim
        return {
            "key": c.key,
            "paper": c.paper,
            "claim": c.claim,
            "where": c.where,
            "given": dict(c.given),
            "stated": dict(c.stated),
            "corrected": dict(c.corrected),
            "correction": c.correction,
            "computed": plain(self.computed),
            "distance": self.distance,
            "distance_corrected": self.distance_corrected,
            "verdict": self.verdict,
            "why": self.why,
            "note": c.note,
            "call": c.call,
            "picture": self.picture,
            "seconds": round(self.seconds, 3),
        }


Computation: TypeAlias = Callable[[Given, bool], Finding]
COMPUTATIONS: dict[str, Computation] = {}


def reproduces(key: str) -> Callable[[Computation], Computation]:
    """Mark the function that computes a claim; it takes the claim's `given` and whether to use reduced sizes."""

    def register(computation: Computation) -> Computation:
        if key in COMPUTATIONS:
            raise ValueError(f"two functions compute {key}")
        COMPUTATIONS[key] = computation
        return computation

    return register


@cache
def claims() -> tuple[Claim, ...]:
    """All claims, in the order of the data file."""
    text = files("utmost.reproduce").joinpath("claims.toml").read_text(encoding="utf-8")
    return tuple(Claim(**fields) for fields in tomllib.loads(text)["claim"])


class Judgement(NamedTuple):
    """A verdict, how far what was computed is from what is stated and from its correction, and why it fails."""

    verdict: Verdict
    distance: float | None
    distance_corrected: float | None
    why: str


def judge(claim: Claim, computed: Mapping[str, Any]) -> Judgement:
    """Compare what was computed with a claim, and with its correction if it has one."""
    missing = [name for name in claim.stated if name not in computed]
    if missing:
        return Judgement("not reproduced", None, None, f"not computed: {', '.join(missing)}")
    right = {**claim.stated, **claim.corrected}
    apart, after = _distance(claim.stated, computed), _distance(right, computed) if claim.corrected else None
    if claim.corrected and _agree(claim.stated, computed, claim.tolerance):
        return Judgement("not reproduced", apart, after, "what the paper states holds: our correction must be wrong")
    if _agree(right, computed, claim.tolerance):
        return Judgement("reproduced with our correction" if claim.corrected else "reproduced", apart, after, "")
    wrong = [
        f"{name}: {'corrected' if name in claim.corrected else 'stated'} {value}, computed {plain(computed[name])}"
        for name, value in right.items()
        if not _agrees(value, computed[name], claim.tolerance)
    ]
    return Judgement("not reproduced", apart, after, "; ".join(wrong))


def plain(value: Any) -> Any:
    """A value as JSON can hold it: NumPy's numbers and arrays, tuples and sets become Python's numbers and lists."""
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, set | frozenset):
        return sorted(plain(part) for part in value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(part) for part in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value) if math.isfinite(value) else str(float(value))  # JSON has neither infinity nor NaN
    return value


# ---- comparing ----


def _agree(stated: Mapping[str, Any], computed: Mapping[str, Any], tolerance: float) -> bool:
    return all(_agrees(stated[name], computed[name], tolerance) for name in stated)


def _agrees(stated: Any, computed: Any, tolerance: float) -> bool:
    return (apart := _apart(stated, plain(computed))) is not None and apart <= tolerance


def _distance(stated: Mapping[str, Any], computed: Mapping[str, Any]) -> float | None:
    return _largest([_apart(stated[name], plain(computed[name])) for name in stated])


def _apart(stated: Any, computed: Any) -> float | None:
    """How far a computed value is from a stated one; None if they differ in something that has no distance."""
    if isinstance(stated, list):
        if not isinstance(computed, list) or len(stated) != len(computed):
            return None
        return _largest([_apart(s, c) for s, c in zip(stated, computed, strict=True)])
    if isinstance(stated, bool | str) or isinstance(computed, bool) or not isinstance(computed, int | float):
        return 0.0 if type(stated) is type(computed) and stated == computed else None
    if isinstance(stated, Mapping):
        below, above = stated.get("at_least", -math.inf) - computed, computed - stated.get("at_most", math.inf)
        return float(max(below, above, 0.0))
    return float(abs(stated - computed))


def _largest(parts: list[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return max(known, default=0.0) if len(known) == len(parts) else None
