"""Rehearse the processing of an engine's results in Python, on public results of extreme values, before the charge.

The results of an engine are private, so whether Python can clamp them, draw from them and record the draw must not
depend on them. Engines are rehearsed on extreme rows (`backends.rehearsal`); here the rest of an answer is run on
made-up results: none, the largest and the smallest integers, keys of extreme values. What fails there is refused
whatever the rows, so for a public reason.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from utmost.backends.rehearsal import TEXTS
from utmost.backends.source import Statement, arrow_types
from utmost.errors import InvalidInput
from utmost.queries.groups import LARGEST
from utmost.queries.questions import Question

MOST_DRAWN = 1000
"""Results with more integers are processed, but no draw is made from them, which would take too long."""
WIDE = 2**127
"""Sums over all rows are below this; those by keys are clamped to `LARGEST` in the engine."""
LABELS: dict[str, list[Any]] = {
    "string": ["\0", "\U0010ffff", *TEXTS],
    "int64": [-(2**63), 2**63 - 1, 0],
    "uint64": [2**64 - 1, 2**63, 0],
    "double": [1.7976931348623157e308, -1.7976931348623157e308, 5e-324, 0.0],
    "bool": [True, False],
    "date32[day]": [datetime.date.min, datetime.date.max],
}
"""Extreme keys of every type of keys."""


def rehearse_answer(question: Question, statement: Statement) -> None:
    """Process extreme results, draw, and serialise the draw; raises `InvalidInput` if that fails or warns."""
    few = statement.size * len(statement.columns) <= MOST_DRAWN
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):  # instead of NumPy's warnings
            for result in extreme_results(statement):
                point = question.point(result)
                if few:
                    json.dumps(question.draw(point), allow_nan=False)
        return
    except Exception:  # its message may contain what was drawn
        pass
    raise InvalidInput(
        f"a {question.name} cannot be answered for all results that tables may have; ask for narrower ranges, or at "
        "another level."
    )


def extreme_results(statement: Statement) -> Iterator[Mapping[str, Any]]:
    """Results of extreme values, in the form of an engine's results."""
    if statement.labels:
        yield from (_by_found_keys(statement, groups, most) for groups, most in ((0, 0), (1, 1), (8, LARGEST)))
        return
    names = statement.columns if statement.keys is None else statement.columns[1:]
    largest = WIDE if statement.keys is None else LARGEST
    for ends in ((0, 0), (largest, largest), (-largest, -largest), (largest, -largest)):
        if statement.keys is None:
            yield {name: ends[place % 2] for place, name in enumerate(names)}
        else:
            yield {name: np.resize(np.array(ends), statement.size) for name in names}


def _by_found_keys(statement: Statement, groups: int, most: int) -> dict[str, Any]:
    """A result with so many extreme keys, each with integers of this size, of which the first counts its units."""
    import pyarrow

    kinds = [*statement.labels, *("int64" for _ in statement.columns[len(statement.labels) :])]
    listed: list[list[Any]] = [LABELS[kind] for kind in statement.labels]
    listed += [[most], *([most, -most] for _ in kinds[len(listed) + 1 :])]
    return {
        name: pyarrow.chunked_array([[values[i % len(values)] for i in range(groups)]], kind)
        for name, values, kind in zip(statement.columns, listed, arrow_types(kinds), strict=True)
    }
