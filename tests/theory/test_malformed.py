"""Whatever a file holds, verification says yes or no; an error other than ours would be a mistake of a checker."""

import copy
import hashlib
import json
import random
from collections import Counter

import numpy as np
import pytest
from oracles.solutions import honest

import utmost as um
from utmost.errors import BadFile
from utmost.exact.saved import canonical
from utmost.solution import Solution
from utmost.solution.kinds import KINDS

JUNK = [
    None, True, 0, -1, 2**70, 0.5, 1e308, -1e-300, "", "text", "1/3", [], {}, [[]], [0.5] * 4, [7] * 3, [None], ["a"],
    {"array": [], "type": "f"}, {"array": [1e9], "type": "f"}, {"array": [[9, 9]], "type": "i"},
    {"array": [True], "type": "b"}, {"array": ["x"], "type": "i"}, {"array": [0.5], "type": "U"},
    {"array": [], "type": "i", "shape": [0, 2]}, {"labels": [0, 1]}, {"labels": [["a"], "b"]}, {"labels": []},
]  # fmt: skip


def test_every_question_on_graphs_is_tried():
    """None is left out but the one that people bring themselves; all of them verify as they are."""
    solutions = list(honest())
    assert {s.problem.question for s in solutions} == {k.question for k in KINDS.values() if k.is_on_graph} - {"given"}
    assert all(s.verify() for s in solutions)


def nodes(content, path=()):
    """The way to every part of a JSON object."""
    yield path
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield from nodes(value, (*path, key))


def spoil(content, rng):
    """One part replaced by junk, by another part, left out, or a number nudged."""
    ways = [way for way in nodes(content) if way and way != ("format",) and way != ("version",)]
    *parents, last = rng.choice(ways)
    there = content
    for key in parents:
        there = there[key]
    match rng.randrange(4):
        case 0:
            there[last] = copy.deepcopy(rng.choice(JUNK))
        case 1:
            there.pop(last)
        case 2:
            other = content
            for key in rng.choice(ways):
                other = other[key]
            there[last] = copy.deepcopy(other)
        case _:
            value = there[last]
            number = isinstance(value, int | float) and not isinstance(value, bool)
            there[last] = value * rng.choice([-1, 0, 0.5, 2, 1 + 1e-6]) if number else [value]


def tried(solution, path, rounds, rng):
    """How often mutated files were refused, not verified, and verified."""
    content = json.loads(solution.save(path).read_bytes())
    content.pop("sha256")
    found = Counter()
    for _ in range(rounds):
        changed = copy.deepcopy(content)
        for _ in range(rng.choice([1, 1, 1, 2, 5])):
            spoil(changed, rng)
        try:
            changed["sha256"] = hashlib.sha256(canonical(changed)).hexdigest()
        except (ValueError, TypeError):
            continue
        path.write_bytes(canonical(changed))
        try:
            loaded = Solution.load(path)
        except BadFile:
            found["refused"] += 1
            continue
        with np.errstate(all="ignore"):
            found["verified" if loaded.verify() else "not verified"] += 1
    return found


def test_no_file_makes_a_checker_fail(tmp_path):
    """Parts of the problem, the mechanism, the certificate replaced, dropped, swapped: an answer every time."""
    rng, total, rounds = random.Random(7), Counter(), 40
    for number, solution in enumerate(honest()):
        total += tried(solution, tmp_path / f"{number}.json", rounds, rng)
    assert total["refused"] > 2 * rounds
    assert total["not verified"] > rounds


@pytest.mark.long
def test_no_file_of_very_many_makes_a_checker_fail(tmp_path):
    """The same, a few thousand times each."""
    rng = random.Random(11)
    for number, solution in enumerate(honest()):
        tried(solution, tmp_path / f"{number}.json", 2000, rng)


def test_every_checker_is_where_it_is_said_to_be():
    """Checkers are found by name when something is verified; for each is said in one line what it relies on."""
    for kind in KINDS.values():
        assert callable(kind.check)
        assert len(kind.relies_on.splitlines()) == 1, kind.question
        assert callable(kind.compute_bound) if kind.bound else kind.claim != "bound", kind.question


def test_a_mistake_of_a_checker_is_an_error(monkeypatch):
    """It is not reported as "not verified", which would blame the file."""

    def mistaken(problem, solved):
        return problem.no_such_thing

    solution = um.binary.balanced(um.counts(4), lambda yes: yes > 2, 1.0)
    monkeypatch.setattr("utmost.theory.binary.verify.check_balanced", mistaken)
    with pytest.raises(AttributeError):
        solution.verify()
