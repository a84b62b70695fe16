"""Claims of the papers, the computations of Utmost for them, and their verdicts.

`claims.toml` has the claims: their place, their statement, and, where a paper is wrong, our correction. A function
marked `@reproduces(key)` computes the same quantities with the public functions of Utmost; `judge` compares.
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

Inputs: TypeAlias = Mapping[str, Any]
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
    """A claim of a paper, as in the data file.

    Attributes
    ----------
    key : str
        The paper and the number of the item, such as "BIN-example-3".
    where : str
        Page, section or equation.
    claim : str
        The statement in one sentence.
    given : mapping
        The paper's input numbers.
    stated : mapping
        The stated results by name: a number, a truth value, text, a list, or {at_least = x}, {at_most = x}.
    corrected : mapping
        The right values of results that are stated wrongly.
    correction : str
        The correction in words.
    tolerance : float
        The allowed difference between a computed and a stated number, because papers round.
    call : str
        A public call that computes it.
    note : str
        What a reader should know, such as what the printed page does not say.
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
    """The computed results of a claim, under its names, and a function that draws its figure, if the paper has one.

    It may hold further results that the paper does not state.
    """

    computed: Mapping[str, Any]
    draw: Callable[[], Any] | None = None


@dataclass(frozen=True)
class Entry:
    """A claim with its computed results, their distance from the stated ones, and the verdict.

    `distance` is the largest difference between a computed and a stated number; None if something other than a number
    differs. `distance_corrected` is the same for our correction, where there is one. `why` is the reason of the verdict
    "not reproduced".
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


Computation: TypeAlias = Callable[[Inputs, bool], Finding]
COMPUTATIONS: dict[str, Computation] = {}


def reproduces(key: str) -> Callable[[Computation], Computation]:
    """Mark the function that computes a claim, from its `given` and whether to use reduced sizes."""

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
    """A verdict, the distances of the computed results from the stated and the corrected ones, and the reason."""

    verdict: Verdict
    distance: float | None
    distance_corrected: float | None
    why: str


def judge(claim: Claim, computed: Mapping[str, Any]) -> Judgement:
    """Compare the computed results with a claim, and with its correction if it has one."""
    missing = [name for name in claim.stated if name not in computed]
    if missing:
        return Judgement("not reproduced", None, None, f"not computed: {', '.join(missing)}")
    expected = {**claim.stated, **claim.corrected}
    distance, distance_corrected = (
        _distance(claim.stated, computed),
        _distance(expected, computed) if claim.corrected else None,
    )
    if claim.corrected and _agree(claim.stated, computed, claim.tolerance):
        return Judgement(
            "not reproduced", distance, distance_corrected, "what the paper states holds: our correction must be wrong"
        )
    if _agree(expected, computed, claim.tolerance):
        return Judgement(
            "reproduced with our correction" if claim.corrected else "reproduced", distance, distance_corrected, ""
        )
    mismatches = [
        f"{name}: {'corrected' if name in claim.corrected else 'stated'} {value}, computed {plain(computed[name])}"
        for name, value in expected.items()
        if not _agrees(value, computed[name], claim.tolerance)
    ]
    return Judgement("not reproduced", distance, distance_corrected, "; ".join(mismatches))


def plain(value: Any) -> Any:
    """A value as JSON data: NumPy's numbers and arrays, tuples and sets become Python's numbers and lists."""
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
    return (difference := _difference(stated, plain(computed))) is not None and difference <= tolerance


def _distance(stated: Mapping[str, Any], computed: Mapping[str, Any]) -> float | None:
    return _largest([_difference(stated[name], plain(computed[name])) for name in stated])


def _difference(stated: Any, computed: Any) -> float | None:
    """The difference between a computed and a stated value; None if they differ in something other than a number."""
    if isinstance(stated, list):
        if not isinstance(computed, list) or len(stated) != len(computed):
            return None
        return _largest([_difference(s, c) for s, c in zip(stated, computed, strict=True)])
    if isinstance(stated, bool | str) or isinstance(computed, bool) or not isinstance(computed, int | float):
        return 0.0 if type(stated) is type(computed) and stated == computed else None
    if isinstance(stated, Mapping):
        below, above = stated.get("at_least", -math.inf) - computed, computed - stated.get("at_most", math.inf)
        return float(max(below, above, 0.0))
    return float(abs(stated - computed))


def _largest(parts: list[float | None]) -> float | None:
    differences = [part for part in parts if part is not None]
    return max(differences, default=0.0) if len(differences) == len(parts) else None
