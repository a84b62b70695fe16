"""Work is bounded before it begins: whatever number a file names, verification says no in words, and soon.

Processor time and memory are limited for every file alone, in a process of its own.
"""

import copy
import json
import os
import resource
import sys
import traceback

import pytest
from oracles.forging import get, leaves, put
from oracles.pace import within
from oracles.solutions import honest, on_integers

import utmost as um
from utmost.errors import BadFile, UtmostError
from utmost.solution.solution_file import LARGEST, require_small_numbers, solution_from_json, solution_to_json

SECONDS, MEMORY = 5, 3 * 2**30
SIZES = (10**5, 10**9, 10**18, 10**300)
NAMED = [
    ("workload.marginals", ("problem", "space", "reach"), 10**5),
    ("workload.marginals", ("problem", "space", "reach"), 10**9),
    ("workload.hierarchy", ("problem", "space", "reach"), 10**300),
    ("number.strategy", ("problem", "space", "cells", "dimension"), 10**5),
    ("number.strategy", ("problem", "space", "cells", "dimension"), 10**9),
    ("number.strategy", ("problem", "space", "cells", "reach"), 10**300),
    ("number.nested", ("mechanism", "widths", 0), 10**5),
    ("choice.top", ("problem", "space", "cells"), 10**9),
    ("local.records", ("problem", "privacy", "epsilon"), "100000"),
    ("number.line", ("mechanism", "bits"), 10**9),
    ("number.line", ("mechanism", "bits"), 10**300),
    ("binary.balanced", ("certified", "bits"), 10**9),
]
"""What ran for a minute, filled the memory, or ended in a traceback."""


def genuine():
    """Every solution that a file can hold, by its question, as plain data."""
    for solution in (*honest(), *on_integers()):
        try:
            yield solution.problem.question, json.loads(json.dumps(solution_to_json(solution)))
        except um.errors.InvalidInput:  # it depends on a function
            continue


def outcome(content):
    """What comes of verifying a file's content under the limits: "no", "yes", or what went wrong."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        try:
            said = "yes" if solution_from_json(content).verify() else "no"
        except UtmostError:
            said = "no"
        except BaseException:
            said = traceback.format_exc()
        os.write(writing, said.encode()[-4000:])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return said if os.WIFEXITED(status) else f"stopped after {SECONDS} seconds of processor time"


needs_limits = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory and time are Linux's")


@needs_limits
def test_no_size_in_a_file_makes_work_without_end():
    """What was found once: refused in words, at once."""
    solutions = list(genuine())
    for question, path, value in NAMED:
        tried = 0
        for name, content in solutions:
            if name == question and _has(content, path):
                changed = copy.deepcopy(content)
                put(changed, path, value)
                assert outcome(changed) == "no", (question, path)
                tried += 1
        assert tried, (question, path)


def _has(content, path):
    try:
        get(content, path)
    except (KeyError, TypeError, IndexError):
        return False
    return True


def test_no_number_is_larger_than_a_statistic():
    """The largest sum that a table can have is far below; its fourth power is still a float."""
    require_small_numbers({"a": [LARGEST, {"b": -LARGEST}], "c": "9" * 1000, "d": True, "e": 1e300})
    for content in ({"a": LARGEST + 1}, [[-(10**300)]], {"a": {"b": [10**4000]}}):
        with pytest.raises(BadFile, match="digits"):
            require_small_numbers(content)
    assert float(LARGEST) ** 4 < 1e300


def test_far_moves_are_decided_without_writing_powers_out():
    """A person with ten thousand rows is protected too, and that is decided in a moment."""
    from utmost.theory.workload.design.marginals import best_marginals

    with within(10):
        solution = best_marginals((3, 2), ((0,), (1,)), "any", 10_000, 10**6, um.PureDP(1))
        assert solution.verify()


@pytest.mark.long
@needs_limits
def test_no_size_in_any_file_makes_work_without_end():
    """Every whole number of every kind of file, made large: always an answer."""
    for question, content in genuine():
        alike = {}
        for path, value in leaves(content):
            text = isinstance(value, str) and value.lstrip("-").isdecimal()
            if path[0] != "version" and (text or (isinstance(value, int) and not isinstance(value, bool))):
                alike.setdefault(tuple("" if isinstance(step, int) else step for step in path), (path, text))
        for path, text in alike.values():
            for size in SIZES:
                changed = copy.deepcopy(content)
                put(changed, path, str(size) if text else size)
                assert outcome(changed) in ("yes", "no"), (question, path, size)
