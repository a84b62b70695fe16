"""Mechanisms of others, and how answers are drawn from them: functions, commands, OpenDP, diffprivlib.

Nothing of these libraries is imported: a measurement of OpenDP is called and has a `map`, a mechanism of diffprivlib
has `randomise` and an `epsilon`.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Hashable
from typing import Any

from utmost.errors import InvalidInput, shown
from utmost.privacy import ZCDP, ApproxDP, Level, PureDP

SECONDS = 600
"""How long one run of a command may take."""


def is_command(thing: Any) -> bool:
    """Whether this is a program and its arguments."""
    return isinstance(thing, list | tuple) and bool(thing) and all(isinstance(word, str) for word in thing)


def promised_by(mechanism: Any) -> Level | None:
    """What a mechanism of another library says that it promises to neighbours one apart; None if it says nothing."""
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
    """OpenDP's privacy map at 1, which is a whole number or a float by the metric."""
    try:
        return measurement.map(1)
    except TypeError:
        return measurement.map(1.0)


def drawn_from(mechanism: Any, point: Any, runs: int, first: Any = None) -> list[Hashable]:
    """So many answers of a mechanism at a point; `first` is one that was drawn already."""
    if is_command(mechanism):
        return _printed(mechanism, point, runs)
    draw = getattr(mechanism, "randomise", mechanism)
    before = [] if first is None else [first]
    return [plain(value) for value in (*before, *(draw(point) for _ in range(runs - len(before))))]


def _printed(command: Any, point: Any, runs: int) -> list[Hashable]:
    """What a command prints when it gets a point on standard input: a line is an answer; run until there are enough."""
    given = point if isinstance(point, str) else json.dumps(point)
    found: list[Hashable] = []
    while len(found) < runs:
        try:
            done = subprocess.run(
                command, input=f"{given}\n", capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise InvalidInput(f"the command {shown(command[0])} did not run: {problem}.") from None
        lines = done.stdout.split("\n")[:-1] if done.stdout.endswith("\n") else done.stdout.split("\n")
        if done.returncode or not any(lines):
            raise InvalidInput(
                f"the command {shown(command[0])} ended with code {done.returncode} and {len(lines)} lines; it must "
                "read one line, the table or value, and print one answer a line."
            )
        found += [_read(line) for line in lines]
    return found[:runs]


def _read(line: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(line)
        except ValueError:
            pass
    return line


def plain(value: Any) -> Hashable:
    """An answer that can be counted: numbers of NumPy as numbers, arrays and lists as tuples."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(plain(each) for each in value)
    if isinstance(value, dict):
        return tuple(sorted((str(key), plain(each)) for key, each in value.items()))
    if not isinstance(value, Hashable):
        raise InvalidInput(
            f"the mechanism answered with a {type(value).__name__}, which cannot be counted; let it return a number, a "
            "text, True or False, or a list of them."
        )
    return value
