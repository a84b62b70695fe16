"""Auditing other libraries' mechanisms: draw answers from functions, commands, OpenDP and diffprivlib.

None of these libraries is imported: a measurement of OpenDP is callable and has a `map`, a mechanism of diffprivlib has
`randomise` and an `epsilon`.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Hashable
from typing import Any

from utmost.errors import InvalidInput, shown
from utmost.privacy import ZCDP, ApproxDP, Level, PureDP

SECONDS = 600
"""Time limit for one run of a command."""


def is_command(thing: Any) -> bool:
    """Whether an object is a command: a program and its arguments."""
    return isinstance(thing, list | tuple) and bool(thing) and all(isinstance(word, str) for word in thing)


def promised_by(mechanism: Any) -> Level | None:
    """The level that another library's mechanism states for neighbours at distance 1; None if it states none."""
    if hasattr(mechanism, "output_measure"):
        measure = str(getattr(mechanism.output_measure, "type", mechanism.output_measure))
        kinds = {"MaxDivergence": PureDP, "ZeroConcentratedDivergence": ZCDP, "Approximate<MaxDivergence>": ApproxDP}
        if measure not in kinds:
            return None
        spent = _mapped(mechanism)
        level: Level = kinds[measure](*spent) if isinstance(spent, tuple) else kinds[measure](spent)
        return level
    if hasattr(mechanism, "randomise"):
        return ApproxDP(mechanism.epsilon, mechanism.delta) if mechanism.delta else PureDP(mechanism.epsilon)
    return None


def _mapped(measurement: Any) -> Any:
    """OpenDP's privacy map at distance 1, which is an int or a float, depending on the metric."""
    try:
        return measurement.map(1)
    except TypeError:
        return measurement.map(1.0)


def drawn_from(mechanism: Any, point: Any, runs: int, first: Any = None) -> list[Hashable]:
    """Draw so many answers of a mechanism at a point; `first` is one that was drawn already."""
    if is_command(mechanism):
        return _printed(mechanism, point, runs)
    draw = getattr(mechanism, "randomise", mechanism)
    before = [] if first is None else [first]
    return [plain(value) for value in (*before, *(draw(point) for _ in range(runs - len(before))))]


def _printed(command: Any, point: Any, runs: int) -> list[Hashable]:
    """Run a command with a point on standard input until it has printed enough answers, one a line."""
    input_text = point if isinstance(point, str) else json.dumps(point)
    answers: list[Hashable] = []
    while len(answers) < runs:
        try:
            process = subprocess.run(
                command, input=f"{input_text}\n", capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise InvalidInput(f"the command {shown(command[0])} did not run: {problem}.") from None
        lines = process.stdout.split("\n")[:-1] if process.stdout.endswith("\n") else process.stdout.split("\n")
        if process.returncode or not any(lines):
            raise InvalidInput(
                f"the command {shown(command[0])} ended with code {process.returncode} and {len(lines)} lines; it must "
                "read one line, the table or value, and print one answer a line."
            )
        answers += [_read(line) for line in lines]
    return answers[:runs]


def _read(line: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(line)
        except ValueError:
            pass
    return line


def plain(value: Any) -> Hashable:
    """An answer as a hashable value: NumPy scalars as numbers, arrays and lists as tuples."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(plain(part) for part in value)
    if isinstance(value, dict):
        return tuple(sorted((str(key), plain(part)) for key, part in value.items()))
    if not isinstance(value, Hashable):
        raise InvalidInput(
            f"the mechanism answered with a {type(value).__name__}, which cannot be counted; let it return a number, a "
            "text, True or False, or a list of them."
        )
    return value
