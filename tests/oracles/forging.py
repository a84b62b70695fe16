"""Changing one plain value of a JSON object: what a forger would do."""

import json

from utmost.errors import BadFile
from utmost.queries.report.proof import load_answers


def leaves(value, path=()):
    """Every plain value of a JSON object, by its path."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from leaves(part, (*path, name))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from leaves(part, (*path, place))
    else:
        yield path, value


def forged(value, rng):
    """Another plain value of about the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + int(rng.choice([-2, -1, 1, 3, 50]))
    if isinstance(value, float):
        return value * float(rng.choice([0.5, 0.9, 0.999, 1.001, 1.1, 2])) + float(rng.choice([0, 1e-3]))
    if isinstance(value, str) and value.lstrip("-").isdecimal():
        return str(int(value) + int(rng.choice([-1, 1, 2**40])))
    if isinstance(value, str) and "/" in value and value.replace("/", "").isdecimal():
        top, _, bottom = value.partition("/")
        return f"{int(top) + int(rng.choice([-1, 1]))}/{bottom}"
    return f"{value}x" if isinstance(value, str) else 1


def put(content, path, value):
    for step in path[:-1]:
        content = content[step]
    content[path[-1]] = value


def get(content, path):
    for step in path:
        content = content[step]
    return content


def is_refused(report, change):
    """Whether a report's JSON file is refused, or not verified, once `change` was made to what it holds."""
    content = json.loads(report.read_text())
    change(content)
    forged = report.with_name("forged.json")
    forged.write_text(json.dumps(content))
    try:
        return not all(found for _, found in load_answers(forged))
    except BadFile:
        return True
