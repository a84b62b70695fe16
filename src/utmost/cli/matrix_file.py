"""Certify a user's own mechanism from a CSV file.

Either numbers only (points and outputs are 0, 1, 2, ...), or with a header row of outputs, or with a header row and a
first column of points. Entries may be decimals or quotients such as 1/3.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from utmost.errors import InvalidInput
from utmost.exact import as_rational, is_digits
from utmost.mechanism import FiniteMechanism
from utmost.mechanism.certification import certify_on
from utmost.privacy import Level
from utmost.solution import Problem, Solution, certificate_of
from utmost.solution.sentences import FROM_FILE
from utmost.space import Space
from utmost.space.edge_levels import on_edges
from utmost.space.families import space_from_json

SIZED_BY_ROWS = ("path", "cycle", "complete")


def certify_table(path: Path, space_text: str, level: Level) -> Solution:
    """The mechanism in a CSV file, certified on a space at a level; nothing is claimed about its optimality."""
    mechanism = read_table(path)
    space = _space(space_text, len(mechanism.points))
    if list(map(str, space.points)) != list(map(str, mechanism.points)):
        raise InvalidInput(
            f"the file has {len(mechanism.points)} rows whose points are not those of {space!r} "
            f"({len(space.points)} points, in order); name them so, or leave names out."
        )
    mechanism = FiniteMechanism(mechanism.matrix, space.points, mechanism.outputs)
    levels = on_edges(space, level)
    certify_on(mechanism, levels)  # refuses, with the edge, before anything is said
    problem = Problem("given", space, levels, {"outputs": tuple(mechanism.outputs)})
    certificate = certificate_of(problem, mechanism, "unproved", account=(FROM_FILE(path.name),))
    return Solution(problem, mechanism, mechanism.expected_loss(), certificate)


def read_table(path: Path) -> FiniteMechanism:
    """The mechanism in a CSV file."""
    try:
        rows = [row for row in csv.reader(path.read_text(encoding="utf-8-sig").splitlines()) if row]
    except (OSError, UnicodeDecodeError) as problem:
        raise InvalidInput(f"{path} cannot be read: {problem}.") from None
    if not rows:
        raise InvalidInput(f"{path} is empty; give a row per point and a column per output.")
    has_header = not _is_number(rows[0][0])
    body = rows[1:] if has_header else rows
    has_names = has_header and not _are_laws(rows[0], body)
    header = rows[0][1:] if has_names else rows[0]
    outputs: list[Any] = [cell.strip() for cell in header] if has_header else list(range(len(header)))
    points: list[Any] = [row[0].strip() for row in body] if has_names else list(range(len(body)))
    entries = [row[1:] if has_names else row for row in body]
    for point, row in zip(points, entries, strict=True):
        if len(row) != len(outputs):
            raise InvalidInput(
                f"the row for {point!r} has {len(row)} entries for {len(outputs)} outputs; give one each."
            )
    exact = [[as_rational(cell.strip(), "an entry") for cell in row] for row in entries]
    return FiniteMechanism([[float(x) for x in row] for row in exact], points, outputs)


def _are_laws(head: list[str], body: list[list[str]]) -> bool:
    """Whether the first column holds probabilities too, so that no column names the points."""
    if not head[0].strip() or not all(len(row) == len(head) and all(map(_is_number, row)) for row in body):
        return False
    exact = [[as_rational(cell.strip()) for cell in row] for row in body]
    if any(sum(row[1:]) == 1 and sum(row) != 1 for row in exact):
        return False  # the first cell is a point that is called by a number
    return all(
        0 <= cell <= 1 for row in exact for cell in row
    )  # a row that does not add up is reported with the whole matrix


def _is_number(text: str) -> bool:
    try:
        as_rational(text.strip())
    except InvalidInput:
        return False
    return True


def _space(text: str, rows: int) -> Space:
    """Parse a space, such as path, sums:people=30,largest=5 or grid:shape=3x4."""
    name, _, rest = text.partition(":")
    arguments: dict[str, Any] = {"n": rows} if name in SIZED_BY_ROWS and not rest else {}
    for part in filter(None, rest.split(",")):
        key, _, value = part.partition("=")
        if key == "shape":
            arguments[key] = [int(side) if is_digits(side) else side for side in value.split("x")]
        else:
            arguments[key] = int(value) if is_digits(value) else value
    return space_from_json({"family": name, **arguments})
