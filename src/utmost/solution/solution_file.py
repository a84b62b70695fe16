"""Round-trip a solution through plain JSON data, for saved files and reports; data that are read are untrusted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from utmost.errors import BadFile, CannotCertify, InvalidInput
from utmost.exact import MOST_BITS
from utmost.exact.saved import NONSENSE
from utmost.mechanism import FiniteMechanism
from utmost.mechanism.certification import CertifiedRecipe
from utmost.mechanism.decaying_columns import DecayingMechanism
from utmost.mechanism.exact_law import ExactMechanism, law_from_json, law_to_json
from utmost.mechanism.rounding import Weights
from utmost.mechanism.sampling import WORD
from utmost.privacy import ApproxDP, Level, level_from_json
from utmost.solution.kinds import KINDS
from utmost.solution.solution import FORMAT, MOST_CHECKED, VERSION, Certificate, Problem, Solution
from utmost.space import Space, label_from_json, label_to_json
from utmost.space.edge_levels import levels_from_json
from utmost.space.families import space_from_json
from utmost.space.integers import unlisted_from_json, unlisted_to_json

LARGEST = 2**200
"""A bound on every number of a file: above any sum over a table, and its fourth power is still a float."""


def solution_to_json(solution: Solution) -> dict[str, Any]:
    """The solution as plain JSON data; the inverse of `solution_from_json`."""
    p, m, c = solution.problem, solution.mechanism, solution.certificate
    return {
        "format": FORMAT,
        "version": VERSION,
        "problem": {
            "question": p.question,
            "space": p.space.to_json() if isinstance(p.space, Space) else unlisted_to_json(p.space),
            "privacy": p.privacy.to_json(),
            "data": {name: _value_to_json(value) for name, value in p.data.items()},
        },
        "mechanism": {"peaks": m.peaks.tolist()}
        if isinstance(m, DecayingMechanism)
        else law_to_json(m)
        if isinstance(m, ExactMechanism)
        else {"outputs": [label_to_json(o) for o in m.outputs], "matrix": m.matrix.tolist()},
        "certified": _weights_to_json(solution),
        "value": solution.value,
        "certificate": {
            "claim": c.claim,
            "reason": c.reason,
            "quantity": c.quantity,
            "method": c.method,
            "bound": c.bound,
            "gap": c.gap,
            "evidence": {name: _value_to_json(value) for name, value in c.evidence.items()},
            "notes": list(c.notes),
        },
    }


def solution_from_json(content: dict[str, Any]) -> Solution:
    """The solution written by `solution_to_json`; `BadFile` if the data are invalid."""
    require_small_numbers(content)
    try:
        p, m, c = content["problem"], content["mechanism"], dict(content["certificate"])
        data = {name: _value_from_json(value) for name, value in p["data"].items()}
        if "integers" in p["space"]:
            level = _within_reason(level_from_json(p["privacy"]))
            problem = Problem(p["question"], unlisted_from_json(p["space"]), level, data)
        else:
            space = space_from_json(p["space"])
            problem = Problem(p["question"], space, levels_from_json(space, p["privacy"]), data)
        if problem.question not in KINDS:
            raise BadFile(f"the file asks {problem.question!r}, which this version cannot check; update Utmost.")
        c["evidence"] = {name: _value_from_json(value) for name, value in c["evidence"].items()}
        c["notes"] = tuple(str(note) for note in c["notes"])
        for name in ("bound", "gap"):
            c[name] = None if c[name] is None else float(c[name])
        for name in ("claim", "reason", "quantity", "method"):
            if not isinstance(c[name], str):
                raise BadFile(f"the certificate's {name} is not text; save the solution again.")
        mechanism = _mechanism_from_json(problem, m)
        weights = None
        if isinstance(mechanism, FiniteMechanism):
            weights = _weights_from_json(content["certified"], mechanism)
        return Solution(problem, mechanism, float(content["value"]), Certificate(**c), weights, from_file=True)
    except InvalidInput as reason:
        raise (
            reason if isinstance(reason, BadFile) else BadFile(f"the file holds an impossible solution: {reason}")
        ) from None
    except NONSENSE as error:
        raise BadFile(f"the file lacks a part of a solution, or holds nonsense ({error}); save it again.") from None


def require_small_numbers(content: Any) -> None:
    """Refuse data with an integer larger than any that Utmost writes, since such numbers determine all work.

    Examples
    --------
    >>> require_small_numbers({"cells": [1, 10**300]})
    Traceback (most recent call last):
    utmost.errors.BadFile: the file holds a whole number of 301 digits; none beyond 2^200 is a size or a count.
    """
    parts = [content]
    for part in parts:
        if isinstance(part, dict):
            parts.extend(part.values())
        elif isinstance(part, list):
            parts.extend(part)
        elif isinstance(part, int) and abs(part) > LARGEST:
            digits = int(part.bit_length() * math.log10(2)) + 1
            raise BadFile(f"the file holds a whole number of {digits} digits; none beyond 2^200 is a size or a count.")


def _within_reason(level: Level) -> Level:
    """Refuse a level so weak that its exact proof would fill the memory."""
    if any(MOST_CHECKED < number < math.inf for number in level.parameters.values()):
        raise BadFile(f"the file promises {level}: beyond {MOST_CHECKED:g} nothing is protected, and nothing checked.")
    return level


def _mechanism_from_json(problem: Problem, data: Mapping[str, Any]) -> Any:
    """The mechanism of a file, of the kind that its problem has."""
    if not isinstance(problem.space, Space):
        return law_from_json(data)
    level = problem.privacy.single
    if "peaks" in data:
        if not isinstance(level, ApproxDP) or level.delta:
            raise BadFile("columns that decay need one pure level on all edges; save the solution again.")
        return DecayingMechanism(problem.space, level, data["peaks"])
    outputs = [label_from_json(o) for o in data["outputs"]]
    matrix = np.array(data["matrix"], dtype=float).reshape(len(problem.space.points), len(outputs))
    return FiniteMechanism(matrix, problem.space.points, outputs)


def _weights_to_json(solution: Solution) -> dict[str, Any] | None:
    """The certified integers as decimal strings, as other JSON readers use floats; None without them."""
    if isinstance(solution.mechanism, ExactMechanism):
        return None
    try:
        certified = solution.certified
    except CannotCertify:
        return None
    if isinstance(certified, CertifiedRecipe):
        return None
    return {"bits": certified.bits, "weights": [[str(w) for w in row] for row in certified.weights.tolist()]}


def _weights_from_json(data: Any, mechanism: FiniteMechanism) -> tuple[Weights, int] | None:
    """The certified integers and the bits of their total, checked; None without them."""
    if data is None:
        return None
    bits = int(data["bits"])
    rows = [[int(w) for w in row] for row in data["weights"]]
    if not 0 < bits <= MOST_BITS or [len(row) for row in rows] != [len(mechanism.outputs)] * len(mechanism.points):
        raise BadFile("the certified weights do not fit the mechanism; save the solution again.")
    if any(not 0 <= w <= 1 << bits for row in rows for w in row):
        raise BadFile(f"a certified weight is not between 0 and 2^{bits}; save the solution again.")
    kind = np.int64 if bits <= WORD else object
    return np.array(rows, dtype=kind).reshape(len(mechanism.points), len(mechanism.outputs)), bits


def _value_to_json(value: Any) -> Any:
    """A parameter or piece of evidence as plain JSON data."""
    if isinstance(value, np.ndarray):
        shape = {"shape": list(value.shape)} if not value.size and value.ndim > 1 else {}  # [] does not determine it
        return {"array": value.tolist(), "type": value.dtype.kind, **shape}
    if isinstance(value, tuple):
        return {"labels": [label_to_json(part) for part in value]}
    if value is not None and not isinstance(value, str | int | float | list | dict):
        raise InvalidInput(
            f"this solution depends on a {type(value).__name__} of your own, which no file can hold; keep it in memory."
        )
    return value


def _value_from_json(data: Any) -> Any:
    """The value written by `_value_to_json`."""
    match data:
        case {"array": values, "type": kind}:
            array = np.array(values, dtype={"b": bool, "i": np.int64, "f": float}[kind])
            return array.reshape(data["shape"]) if "shape" in data else array
        case {"labels": labels}:
            return tuple(label_from_json(label) for label in labels)
    return data
