"""The independent verifier, loaded by its path: it is no part of the package, and nothing imports it by name."""

import copy
import importlib.util
import json
import sys
from pathlib import Path

from utmost.errors import BadFile
from utmost.queries.report.proof import _verified

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "verifier" / "utmost_verify.py"


def load(path=SOURCE, name="independent_verifier"):
    """A module of a file."""
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module  # its dataclasses look themselves up
    specification.loader.exec_module(module)
    return module


def mine(verifier, content):
    """What the independent verifier says of an answer: a verdict, or None where it refuses."""
    try:
        return verifier.verify_answer(verifier.parse_json(json.dumps(content)), "answer")[0]
    except verifier.NONSENSE:
        return None


def theirs(content):
    """What `utmost verify` says of an answer: a verification, or None where it is no answer."""
    try:
        return _verified(copy.deepcopy(content))[1]
    except BadFile:
        return None


SENTENCES = ("words", "space", "mechanism", "proof", "notes", "compared", "curve")
TEXTS = (
    "where",
    "column",
    "conditions",
    "x",
    "y",
    "lower",
    "upper",
    "edges",
    "categories",
    "candidates",
    "by",
    "levels",
)
TEXTS += ("tables", "shares", "expected_rows", "total", "x_range", "y_range", "largest", "loss", "prior", "q", "grid")
OPEN_DATA = (
    "evidence",
    "array",
    "labels",
    "weights",
    "strategy",
    "workload",
    "grain",
    "branching",
    "cells",
    "counted",
    "share",
)


def is_open(path, verdict):
    """Whether docs/report-format.md leaves a place of an answer to `utmost verify`: words, expected errors, optimality.

    Also what a question is about (a condition, a column): another one is another question with the same mechanism, and
    `utmost verify` tells them apart by the sentence beside it. And intervals, where the verdict says so.
    """
    if path[0] in SENTENCES or path[:2] in (("accuracy", "before"), ("privacy", "words")):
        return True
    leaves_intervals = any(
        word in text for text in verdict.unchecked for word in ("interval", "half width", "confidence")
    )
    if path[:2] == ("accuracy", "after"):
        return len(path) < 3 or path[2] not in ("intervals", "confidence") or leaves_intervals
    if path[0] == "question":
        return path[1] in TEXTS
    if path[:2] == ("solution", "problem"):
        return path[2] in ("question", "data")
    return path[0] == "solution"  # a mechanism that is private all the same, with other errors than stated


def disagreement(verifier, content, path):
    """Why the two verdicts on an answer that was changed at a place contradict each other; empty if they do not."""
    verdict, verification = mine(verifier, content), theirs(content)
    if verdict is None:
        return "only the independent verifier refuses" if verification else ""
    if verification:
        return ""
    if verification is not None and not verification.private:
        return "only utmost verify says that it is not private"
    if path[0] == "released":  # other integers under the same answer: only their intervals may tell
        wrong = [check.detail for check in verification.checks if not check.passed] if verification is not None else []
        agrees = any("interval" in text for text in verdict.unchecked) and all(
            place.strip().startswith("accuracy.after.intervals")
            for detail in wrong
            for place in detail.partition(": not what follows")[0].split(",")
        )
        return "" if agrees and wrong else "only utmost verify refuses"
    return "" if is_open(path, verdict) else "only utmost verify refuses"
