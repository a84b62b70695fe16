"""Do the tests notice? One small mutation at a time in the modules that privacy, optimality and spending hang on.

    make mutants                       # runs what mutants.json does not know yet; stop and start again as you like
    .venv/bin/python tools/mutants.py --minutes 20 --only certification
    .venv/bin/python tools/mutants.py --again survivors

A mutation is made on the syntax tree: a comparison (< to <=), a whole number (one more, one less), a condition
dropped, min for max, a term of a sum dropped, floor for ceil. Beside these there are mutations made by hand, each
of which the tests once did not notice. The tree is copied to a temporary folder, one module of the copy is changed, and
the tests that cover it run until one fails (killed), none does (survived), or time is up (killed: a test that hangs is
noticed).

Which mutations are tried is decided by a hash of what they change, so that a change elsewhere leaves them as they are.
Results are kept by mutation and by the code of the function around it: where that changes, it is tried anew.
Survivors are explained one by one in mutants.md; `--report` says which are not.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
RESULTS, EXPLAINED = ROOT / "tools" / "mutants.json", ROOT / "tools" / "mutants.md"
WANTED = 200
ENOUGH = 15.0
"""How many seconds of tests a mutation has to survive: one that slower tests would notice is looked at, and is one more
reason for a quick test.
"""
SAME = "Nothing changes"
"""The heading in mutants.md of mutations that change nothing that can be seen: others are tried in their place."""
COPIED = ("conftest.py", "src", "tests", "docs", "examples", "README.md", "CHANGELOG.md", "pyproject.toml", "Makefile")

# The tests that cover a module.
CHECKING = ("solution/test_solution", "theory/rainbow/test_forged_boundaries")
CERTIFIED, LOCAL = "mechanism/test_certification", ("theory/local/test_information", "theory/local/test_testing")
ENGINES = (
    "queries/expressions/test_sql",
    "backends/test_failures",
    "backends/test_extremes",
    "backends/test_extremes_postgres",
    "queries/predicate/test_expressions",
)
COVERED = {
    "mechanism/certification": (CERTIFIED, "solution/test_solution", "mechanism/test_sampling"),
    "mechanism/violations": (CERTIFIED, "solution/test_solution"),
    "mechanism/sampling": ("mechanism/test_sampling", CERTIFIED, "theory/scalar/test_discrete_staircase"),
    "mechanism/rounding": (CERTIFIED,),
    "mechanism/decaying_columns": (CERTIFIED, "theory/priors/test_optimum"),
    "exact/arithmetic": ("exact/test_arithmetic", CERTIFIED, "accounting/test_filters"),
    "exact/saved": ("solution/test_solution",),
    "exact/json_text": ("exact/test_json_text",),
    "solution/solution": ("solution/test_solution", CERTIFIED),
    "theory/binary/verify": (*CHECKING, "theory/binary/test_extension", "theory/binary/test_share_test"),
    "theory/verify_dual_bounds": (*CHECKING, "theory/priors/test_optimum"),
    "theory/verify_evidence": (*CHECKING, "theory/binary/test_extension", "theory/rainbow/test_rankings"),
    "theory/verify_tight_chains": (*CHECKING, "theory/binary/test_extension", "theory/rainbow/test_rankings"),
    "theory/priors/verify": (
        "solution/test_solution",
        "theory/priors/test_optimum",
        "theory/scalar/test_threshold_chains",
    ),
    "theory/local/verify/checks": ("solution/test_solution", *LOCAL),
    "theory/local/verify/partitions": ("theory/local/test_partitions",),
    "theory/local/verify/patterns": ("theory/local/test_patterns", *LOCAL),
    "theory/rainbow/verify/checks": (*CHECKING, "theory/rainbow/test_rankings", "theory/rainbow/test_nearest"),
    "theory/scalar/verify/number": ("theory/scalar/test_forged_numbers", "theory/scalar/test_best_on_line"),
    "theory/vector/verify/vectors": ("theory/vector/test_forged_vectors", "theory/vector/test_vectors"),
    "theory/vector/verify/coordinate": ("theory/vector/test_forged_vectors", "theory/vector/test_vectors"),
    "theory/scalar/verify/yes_or_no": ("theory/scalar/test_yes_or_no",),
    "theory/selection/verify/choices": ("theory/selection/test_winners", "queries/questions/test_candidates"),
    "privacy/level": (
        "privacy/test_decay",
        "privacy/test_levels",
        "theory/scalar/test_discrete_staircase",
        "mechanism/noise/test_lattice",
    ),
    "theory/selection/choices": (
        "theory/selection/test_choices",
        "theory/selection/test_winners",
        "queries/questions/test_candidates",
    ),
    "mechanism/noise/integer_balls": (
        "mechanism/noise/test_lattice",
        "theory/vector/test_lattice",
        "queries/questions/test_questions",
    ),
    "mechanism/noise/balls": (
        "mechanism/noise/test_laws",
        "mechanism/noise/test_lattice",
        "theory/vector/test_lattice",
        "theory/vector/test_vectors",
    ),
    "space/sensitivity": ("mechanism/noise/test_lattice", "theory/vector/test_vectors"),
    "mechanism/noise/layers": ("theory/scalar/test_line", "theory/scalar/test_discrete_staircase"),
    "mechanism/noise/staircase": ("mechanism/noise/test_laws", "theory/scalar/test_line"),
    "solution/solution_file": ("solution/test_solution",),
    "theory/scalar/yes_or_no_blocks": ("theory/scalar/test_yes_or_no_blocks", "theory/scalar/test_yes_or_no"),
    "theory/scalar/line_sums": ("theory/scalar/test_line", "theory/scalar/test_line_at_the_ends"),
    "theory/scalar/line": ("theory/scalar/test_line", "theory/scalar/test_line_at_the_ends"),
    "mechanism/noise/canonical": ("mechanism/noise/test_laws", "theory/scalar/test_canonical"),
    "privacy/pure_part": ("privacy/test_pure_part",),
    "queries/report/proof": ("queries/report/test_proof",),
    "accounting/checks": ("accounting/test_ledger",),
    "accounting/declared": ("accounting/test_ledger",),
    "accounting/events": ("accounting/test_filters", "accounting/test_ledger", "accounting/test_composition"),
    "accounting/costs": ("accounting/test_filters", "accounting/test_ledger"),
    "accounting/account": (
        "accounting/test_suspension",
        "accounting/test_ledger",
        "accounting/test_filters",
        "accounting/test_ledger_file",
    ),
    "accounting/suspension": ("accounting/test_suspension",),
    "queries/suspend_on_failure": ("queries/test_suspend_on_failure",),
    "queries/expressions/sql": ENGINES,
    "queries/expressions/values": ENGINES,
    "backends/duckdb": ENGINES,
    "backends/postgres": (
        "queries/expressions/test_sql",
        "backends/test_extremes_postgres",
        "backends/test_postgres",
    ),
    "backends/sql_source": ("backends/test_rehearsal",),
    "backends/readable": ("backends/test_failures",),
    "queries/contributions": (*ENGINES, "queries/test_statistics", "queries/test_kept_rows"),
    "accounting/holder_account": ("accounting/test_holder_account",),
    "accounting/ledger": ("accounting/test_ledger",),
    "accounting/ledger_file": (
        *("accounting/test_ledger_file", "accounting/test_ledger", "accounting/test_holder_account"),
    ),
    "accounting/composition": ("accounting/test_composition", "accounting/test_regions"),
    "accounting/regions": ("accounting/test_regions", "accounting/test_composition"),
    "accounting/outcomes": ("accounting/test_composition", "accounting/test_regions"),
    "accounting/theorems": ("accounting/test_regions",),
    "accounting/privacy_losses": ("accounting/test_composition",),
    "accounting/inversion": ("accounting/test_composition",),
    "accounting/gaussian": ("accounting/test_composition", "accounting/test_filters"),
}

# What the tests once did not notice, by hand: module, old text, new text.
BY_HAND = [
    (
        "mechanism/violations",
        "for tails, heads in ((a, b), (b, a)):\n        doubtful",
        "for tails, heads in ((a, b),):\n        doubtful",
    ),
    (
        "mechanism/violations",
        "events = [order[:k] for k in range(1, len(here))]",
        "events = [order[:k] for k in range(1, 2)]",
    ),
    ("mechanism/violations", "events = [order[:k] for k in range(1, len(here))]", "events = [order[:-1]]"),
    ("mechanism/violations", "| ((low & (2**31 - 1)) != (1 << bits) & (2**31 - 1))", "| False"),
    (
        "mechanism/certification",
        "Fraction(\n            2.0 ** math.ceil(",
        "Fraction(\n            2.0**-8 * 2.0 ** math.ceil(",
    ),
    ("mechanism/certification", "if eta > Fraction(1, 1000):", "if False:"),
    ("mechanism/violations", "return int(exact * total)", "return int(exact * total) + 1"),
    ("mechanism/violations", "+ 64))[0] * total)", "+ 64))[0] * total) + 1"),
    ("mechanism/sampling", "if self._next + size > len(self._buffer):", "if self._next > len(self._buffer):"),
    ("mechanism/sampling", "if len(random_bytes) != size:", "if False:"),
    ("mechanism/noise/balls", "level.kept_by(b, steps)", "level.kept_by(b, 1)"),
    ("mechanism/noise/staircase", "level.kept_by(b, steps)", "level.kept_by(b, 1)"),
    ("space/sensitivity", "return rows * space.reach**2", "return rows * space.reach"),
    (
        "theory/selection/choices",
        "decay_satisfies(self.pure, self.decay, self.steps)",
        "decay_satisfies(self.pure, self.decay, 1)",
    ),
    ("theory/scalar/yes_or_no_blocks", "return -(-line.reach // self.width)", "return line.reach // self.width"),
    ("mechanism/noise/canonical", "steps = -(-sensitivity // self.step)", "steps = sensitivity // self.step"),
    ("theory/verify_evidence", "and abs(stated_bound - bound) <= 1e-9 * abs(bound) + room", ""),
    ("theory/verify_evidence", "and math.isfinite(bound) and excess <= room", ""),
    ("theory/rainbow/verify/checks", "if not (np.sort(rankings, axis=1) == np.arange(k)).all():", "if False:"),
    ("theory/rainbow/verify/checks", "or (distance[stands_for] != distance).any()", ""),
    ("theory/rainbow/verify/checks", "if len(np.unique(rankings, axis=0)) < len(rankings):", "if False:"),
    ("theory/verify_dual_bounds", " + scale * (2 * busiest + 64) * 2.0**-52", ""),
    ("theory/local/verify/checks", "if level is None or not problem.space.is_complete:", "if level is None:"),
    (
        "mechanism/rounding",
        "(allowed := allowance_of[key]) < weights[v]",
        "(allowed := allowance_of[key] - 1) < weights[v]",
    ),
    ("mechanism/violations", "if level.exponent > MOST_BITS:", "if False:"),
    ("exact/arithmetic", "abs(int(match[1][:12])) > MOST_EXPONENT", "abs(int(match[1][:3])) > MOST_EXPONENT"),
    ("exact/saved", "if not isinstance(stated_checksum, str):", "if False:"),
    (
        "exact/json_text",
        "(text, object_pairs_hook=_object, parse_constant=_refuse_constant",
        "(text, object_pairs_hook=_object",
    ),
    ("exact/json_text", "if len(entries) < len(pairs):", "if False:"),
    ("exact/json_text", "if math.isinf(number):", "if False:"),
    ("accounting/account", "if len(entry.used) >= entry.slots:", "if len(entry.used) > entry.slots:"),
    ("accounting/account", "if question_key(question) != key:", "if False:"),
    ("accounting/account", "return (previous == SUSPEND) == (kind == RESUME)", "return True"),
    ("accounting/account", "book.add(next_event(last, SUSPEND, 0, 0", "print(next_event(last, SUSPEND, 0, 0"),
    ("accounting/account", "suspended = self._suspend_for_ended(book)", "pass"),
    ("accounting/account", "if self._has_answer(book, mark):", "if False:"),
    ("accounting/suspension", "os.path.samestat(os.stat(path), os.fstat(handle))", "True"),
    (
        "queries/expressions/sql",
        'return f"CAST({content} AS {name})"\n        if isinstance(content, float)',
        'return f"{content}"\n        if isinstance(content, float)',
    ),
    (
        "queries/expressions/sql",
        "left, right = (self.cast(part, name) for part in value.parts)\n        return",
        "left, right = map(self.sql, value.parts)\n        return",
    ),
    (
        "queries/expressions/sql",
        'return self.types["wide" if kind.is_wide else kind.kind]',
        "return self.types[kind.kind]",
    ),
    ("queries/expressions/values", "if digits > MOST_DIGITS or -math.inf < fine < -MOST_DIGITS:", "if False:"),
    ("queries/expressions/values", "value = clamp(value, -LARGEST, LARGEST)", "pass"),
    (
        "queries/expressions/values",
        "return value if grows or value.is_literal else flush_to_zero(value, SMALLEST)",
        "return value",
    ),
    ("backends/duckdb", 'f"CAST({this} AS {DUCKDB.type(target)})"', "this"),
    ("backends/duckdb", 'f"CASE WHEN isnan({this}) THEN NULL ELSE {value} END"', "value"),
    ("backends/duckdb", 'within_dates(this, "date", DUCKDB)', "this"),
    ("backends/postgres", 'this if kind == "bigint" else f"CAST({this} AS bigint)"', "this"),
    ("backends/postgres", "within_dates(this, target.kind, POSTGRES)", "this"),
    ("backends/sql_source", "for assumed in (False, True):", "for assumed in (False,):"),
    ("backends/sql_source", "if sql not in self.rehearsed:", "if False:"),
    ("backends/readable", "fits = [abs(", "fits = [True or abs("),
    ("queries/contributions", "present = present & ~expr.is_infinite(value)", "pass"),
    (
        "queries/contributions",
        "return rows.extend(times=expr.clamp(times, 0, rows_each))",
        "return rows.extend(times=times)",
    ),
    ("queries/suspend_on_failure", "charge.suspend(reasons)", "pass"),
    ("queries/suspend_on_failure", "with charge.running():", "with suppress():"),
    ("queries/suspend_on_failure", "with suppress(Exception):\n        source.reconnect()", "pass"),
    ("queries/suspend_on_failure", "if isinstance(problem, STOPPED):", "if False:"),
    ("queries/suspend_on_failure", "if isinstance(problem, EngineFailed) and problem.interrupted:", "if False:"),
    (
        "accounting/composition",
        "self._labelled._bounds(epsilon, False, coarse)[1]",
        "self._labelled._bounds(epsilon, False, coarse)[0]",
    ),
]
CHOSEN_AS = {
    "mechanism/decaying_columns": "mechanism.decaying",
    "theory/binary/verify": "checking.binary",
    "theory/verify_dual_bounds": "checking.bounds",
    "theory/verify_evidence": "checking.chains",
    "theory/verify_tight_chains": "checking.chains",
    "theory/priors/verify": "checking.finite",
    "theory/local/verify/checks": "checking.local",
    "theory/local/verify/partitions": "checking.partitions",
    "theory/local/verify/patterns": "checking.patterns",
    "theory/rainbow/verify/checks": "checking.rainbow",
    "theory/scalar/verify/number": "checking.number",
    "theory/vector/verify/vectors": "checking.vector",
    "theory/vector/verify/coordinate": "checking.coordinate",
    "theory/scalar/verify/yes_or_no": "checking.yes_or_no",
    "theory/selection/verify/choices": "checking.choices",
    "theory/selection/choices": "mechanism.choices",
    "mechanism/noise/integer_balls": "mechanism.integer_balls",
    "mechanism/noise/balls": "mechanism.lattice",
    "space/sensitivity": "mechanism.moves",
    "mechanism/noise/layers": "mechanism.layers",
    "theory/scalar/yes_or_no_blocks": "mechanism.blocks",
    "theory/scalar/line_sums": "mechanism.line_sums",
    "theory/scalar/line": "mechanism.line",
    "mechanism/noise/canonical": "mechanism.canonical",
    "queries/report/proof": "release.proof",
    "queries/suspend_on_failure": "release.fuse",
    "queries/expressions/sql": "release.expressions.sql",
    "queries/expressions/values": "release.expressions.values",
    "backends/duckdb": "release.engines.duckdb",
    "backends/postgres": "release.engines.postgres",
    "backends/sql_source": "release.engines.sql_source",
    "backends/readable": "release.engines.readable",
    "queries/contributions": "release.contributions",
}
"""What modules were called, with dots, when their mutations were chosen: under a new name these stay the same."""


class Mutant(NamedTuple):
    """One mutation: what it is called, the code around it, and how the module reads with it."""

    module: str
    inside: str
    name: str
    code: str
    text: Callable[[], str]


# ---- what can be mutated ----

SWAPPED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
TURNED = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "floor": "ceil", "ceil": "floor"}
SHAPES = {"axis", "initial", "minlength", "keepdims", "strict", "dtype", "maxsize"}
"""Keyword arguments that are not worth a mutation: another value is an error, or the same."""
WORDS = {
    "__repr__",
    "__str__",
    "_repr_html_",
    "__hash__",
    "name",
    "_refusal",
    "detail",
    "words",
    "asked",
    "implied",
    "power",
}
"""Functions and variables that hold words for people."""
MARGINS = re.compile(
    r"ULP|MARGIN|SAME|ROUNDING|rounding|SLIVER|left_out|nextafter|\b1e-\d+|\*\* \(?-"
    r"|workprec|limit_denominator|WORD\b|\bbits = |bits \+ \d"
)
"""Statements about rounding and precision.

Their constants and sums are not mutated: a margin is wider than what rounding does by design, so that no example tells
it from one a little narrower. Their comparisons and conditions are. Margins that were once too small are by hand.
"""
COUNTED = re.compile(r"\blen\(|\.size\b|\.shape\b|count|number|slot|steps|bit_length|sequence|position|\bindex")
"""Comparisons of whole numbers that people count: there < is mutated to <=, elsewhere to >=.

Where real numbers are compared, equality is left to chance, or both ways give the same.
"""


def places(tree: ast.AST) -> Iterator[tuple[str, ast.AST, ast.AST, list[str]]]:
    """Every node that can be mutated: the function around it, the node, its statement, and the ways in which it can."""

    def walk(node: ast.AST, inside: str, statement: ast.AST) -> Iterator[tuple[str, ast.AST, ast.AST, list[str]]]:
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert):
            return  # words, and what other tools look after
        if isinstance(node, ast.stmt):
            statement = node
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id in WORDS for t in node.targets):
            return
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            if node.name in WORDS:
                return
            inside = f"{inside}.{node.name}" if inside else node.name
            for child in node.body:
                yield from walk(child, inside, statement)
            return
        ways = ways_of(node)
        if isinstance(node, ast.Constant | ast.BinOp | ast.Call) and MARGINS.search(head_of(statement)):
            ways = []
        if ways and inside:
            yield inside, node, statement, ways
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and getattr(child, "arg", None) not in SHAPES:
                    yield from walk(child, inside, statement)

    yield from walk(tree, "", tree)


def ways_of(node: ast.AST) -> list[str]:
    """How a node can be mutated."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in SWAPPED:
            return ["compare"]
        case ast.Compare(ops=[_, _]):
            return ["first", "second"]
        case ast.Constant(value=value) if type(value) is int:
            return ["one more", "one less"]
        case ast.BoolOp(values=values):
            return [f"drop {i}" for i in range(len(values))]
        case ast.If(body=[ast.Raise()]):
            return ["never"]
        case ast.UnaryOp(op=ast.Not()):
            return ["drop"]
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return ["left", "right", "sign"]
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in NAMES:
            return ["swap"]
    return []


def mutate(node: ast.AST, way: str) -> ast.AST:
    """The node mutated in one way; a new one, or itself changed."""
    match node, way:
        case ast.Compare(), "compare":
            counts = COUNTED.search(ast.unparse(node)) is not None
            node.ops = [(SWAPPED if counts else TURNED)[type(node.ops[0])]()]
        case ast.Compare(), "first":
            return ast.Compare(node.comparators[0], node.ops[1:], node.comparators[1:])
        case ast.Compare(), "second":
            return ast.Compare(node.left, node.ops[:1], node.comparators[:1])
        case ast.Constant(), _:
            return ast.Constant(node.value + (1 if way == "one more" else -1))
        case ast.BoolOp(), _:
            left = [value for i, value in enumerate(node.values) if f"drop {i}" != way]
            return left[0] if len(left) == 1 else ast.BoolOp(node.op, left)
        case ast.If(), _:
            node.test = ast.Constant(False)
        case ast.UnaryOp(), _:
            return node.operand
        case ast.BinOp(), "sign":
            node.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        case ast.BinOp(), _:
            return node.left if way == "left" else node.right
        case ast.Call(func=ast.Name(id=name)), _:
            node.func.id = NAMES[name]
        case ast.Call(func=ast.Attribute(attr=name)), _:
            node.func.attr = NAMES[name]
    return node


class _Exchange(ast.NodeTransformer):
    def __init__(self, place: ast.AST, way: str) -> None:
        self.place, self.way = place, way

    def visit(self, node: ast.AST) -> ast.AST:
        return mutate(node, self.way) if node is self.place else self.generic_visit(node)


def mutants_of(module: str, path: Path) -> list[Mutant]:
    """All mutations of a module, in an order that only their own words decide."""
    source = path.read_text()
    tree = ast.parse(source)
    codes = {inside: hashlib.sha256(text.encode()).hexdigest()[:12] for inside, text in functions(tree)}
    seen: dict[str, int] = {}
    found = []
    for number, (inside, node, statement, ways) in enumerate(places(tree)):
        line = first_line(statement)
        for way in ways:
            before, after = first_line(node), first_line(mutate(copy.deepcopy(node), way))
            if after == before:
                continue
            words = f"{module}:{inside}: {before}  ->  {after}" + (f"  in  {line}" if line != before else "")
            seen[words] = seen.get(words, 0) + 1
            name = words if seen[words] == 1 else f"{words}  (number {seen[words]})"
            found.append(Mutant(module, inside, name, codes.get(inside, ""), partial(mutated, source, number, way)))
    once = CHOSEN_AS.get(module, module).replace(".", "/")
    return sorted(found, key=lambda mutant: hashlib.sha256(mutant.name.replace(module, once, 1).encode()).hexdigest())


def mutated(source: str, number: int, way: str) -> str:
    """The text of a module with its place of this number mutated."""
    tree = ast.parse(source)
    place = list(places(tree))[number][1]
    return ast.unparse(ast.fix_missing_locations(_Exchange(place, way).visit(tree)))


def functions(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Every function and class by its full name, with its code."""

    def walk(node: ast.AST, inside: str) -> Iterator[tuple[str, str]]:
        for child in ast.iter_child_nodes(node):
            name = inside
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                name = f"{inside}.{child.name}" if inside else child.name
                yield name, ast.unparse(child)
            yield from walk(child, name)

    yield from walk(tree, "")


def function_at(source: str, text: str) -> str:
    """The full name of the innermost function in which a text begins."""
    line = source[: source.index(text)].count("\n") + 1

    def walk(node: ast.AST, inside: str) -> str:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef) and child.lineno <= line <= (child.end_lineno or 0):
                return walk(child, f"{inside}.{child.name}" if inside else child.name)
        return inside

    return walk(ast.parse(source), "")


def head_of(node: ast.AST) -> str:
    """A statement in one line, of one with a body what stands before it."""
    return ast.unparse(ast.fix_missing_locations(node)).split("\n")[0]


def first_line(node: ast.AST) -> str:
    text = head_of(node)
    return text if len(text) <= 100 else text[:97] + "..."


def by_hand(module: str, path: Path) -> list[Mutant]:
    """The mutations written out above that still have a place."""
    source = path.read_text()
    found = []
    for where, old, new in BY_HAND:
        if where == module:
            if source.count(old) != 1:
                print(f"  by hand, no longer to be found once: {module}: {old!r}", file=sys.stderr)
                continue
            code = hashlib.sha256(old.encode()).hexdigest()[:12]
            shown = (" ".join(old.split()), " ".join(new.split()) or "nothing")
            name = f"{module}: by hand: {shown[0]}  ->  {shown[1]}"
            found.append(Mutant(module, function_at(source, old), name, code, partial(source.replace, old, new)))
    return found


def chosen() -> dict[str, list[Mutant]]:
    """The mutations to try: those by hand, and of each module's others a share by the root of their number."""
    paths = {module: path for module in COVERED if (path := find_module(module))}
    hand = {module: by_hand(module, path) for module, path in paths.items()}
    same = section(SAME)
    every = {
        module: [mutant for mutant in mutants_of(module, path) if mutant.name not in same]
        for module, path in paths.items()
    }
    rest, whole = WANTED - sum(map(len, hand.values())), sum(len(found) ** 0.5 for found in every.values())
    share = {module: max(2, round(rest * len(found) ** 0.5 / whole)) for module, found in every.items()}
    return {module: hand[module] + every[module][: share[module]] for module in paths}


def section(heading: str) -> str:
    """The part of mutants.md under a heading."""
    text = EXPLAINED.read_text() if EXPLAINED.exists() else ""
    return text.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def find_module(module: str) -> Path | None:
    """Where a module is; one that is gone is named, and left out."""
    path = ROOT / "src" / "utmost" / f"{module}.py"
    if not path.exists():
        print(f"  {module} is gone: mend COVERED in tools/mutants.py", file=sys.stderr)
        return None
    return path


# ---- which tests run which functions ----


def trace_into(path: Path) -> None:
    """Set this file up as a plugin of pytest that writes, for every test, its time and the functions it ran."""
    import pytest

    source = str(Path.cwd() / "src" / "utmost") + os.sep
    ran: set[tuple[str, str]] = set()
    found: dict[str, Any] = {}

    def note(frame: Any, event: str, argument: Any) -> None:
        if frame.f_code.co_filename.startswith(source):
            ran.add((frame.f_code.co_filename[len(source) :], frame.f_code.co_qualname.replace("<locals>.", "")))

    failed: set[str] = set()

    class Tracer:
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
            ran.clear()
            started = time.monotonic()
            threading.settrace(note)
            sys.settrace(note)
            try:
                return (yield)
            finally:
                sys.settrace(None)
                threading.settrace(None)  # type: ignore[arg-type]
                found[item.nodeid] = {"seconds": time.monotonic() - started, "ran": sorted(map(list, ran))}

        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.failed:
                failed.add(report.nodeid)

        def pytest_sessionfinish(self) -> None:
            path.write_text(json.dumps({test: known for test, known in found.items() if test not in failed}))

    globals()["pytest_configure"] = lambda config: config.pluginmanager.register(Tracer())


if "UTMOST_TRACED" in os.environ:
    trace_into(Path(os.environ["UTMOST_TRACED"]))


# ---- running ----


class Copy:
    """A copy of the tree in a temporary folder, in which one module at a time is changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif source.exists():
                shutil.copy(source, folder / name)

    def tests(self, module: str) -> dict[str, Any]:
        """The tests that cover a module, each with its time and the functions it runs."""
        found: dict[str, Any] = {}
        for name in COVERED[module]:
            if (path := self.folder / "tests" / f"{name}.py").exists():
                found |= self.traced(path)
            else:
                print(f"  the tests {name} are gone: mend COVERED in tools/mutants.py", file=sys.stderr)
        return found

    def traced(self, path: Path) -> dict[str, Any]:
        """The tests of one file; kept in build/mutants/ while the file stays as it is.

        Where sources change, a test that has come to run a function may be missed: a mutation then seems to survive,
        and is looked at. One that is said to be killed was.
        """
        key = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        kept = ROOT / "build" / "mutants" / f"{path.stem}-{key}.json"
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            more = {
                "UTMOST_TRACED": str(kept),
                "PYTHONPATH": os.pathsep.join([str(self.folder / "src"), str(ROOT / "tools")]),
            }
            outcome, failed, seconds = self.run(["-p", "mutants", str(path.relative_to(self.folder))], 3600, more)
            print(f"  {path.stem} traced in {seconds:.0f} s: {outcome} {failed}", flush=True)
        return json.loads(kept.read_text())

    def run(self, arguments: list[str], limit: float, more: dict[str, str] | None = None) -> tuple[str, str, float]:
        """How the tests end ("passed", "failed" or "hung"), the first that failed, and how long it took."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.folder / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            **(more or {}),
        }
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", *arguments]
        started = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            printed, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # the group that this run alone started
            process.communicate()
            return "hung", "", time.monotonic() - started
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        failed = [line for line in printed.splitlines() if line.startswith(("FAILED", "ERROR"))]
        if process.returncode not in (0, 1, 2, 4):  # 2 and 4: the mutated module cannot be imported
            raise SystemExit(f"pytest ended with {process.returncode}:\n{printed[-2000:]}")
        if "ERROR: not found" in printed:
            raise SystemExit(f"tests were renamed; empty build/mutants/ and start again:\n{printed[-2000:]}")
        outcome = "passed" if process.returncode == 0 else "failed"
        return outcome, failed[0][:160] if failed else "", time.monotonic() - started


def try_all(minutes: float, only: str, again: str) -> None:
    """Try what is not known yet, module by module, and keep each result at once."""
    results = known_results()
    ends = time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory(prefix="utmost-mutants-") as name:
        tree = Copy(Path(name))
        for module, mutants in chosen().items():
            if only and only not in module:
                continue
            open_ones = [m for m in mutants if not is_known(results, m) or (again and is_again(results, m, again))]
            if not open_ones or time.monotonic() > ends:
                continue
            path = find_module(module)
            assert path is not None
            target = tree.folder / path.relative_to(ROOT)
            original, tests = target.read_text(), tree.tests(module)
            print(f"{module}: {len(open_ones)} to try with {len(tests)} tests", flush=True)
            for mutant in open_ones:
                if time.monotonic() > ends:
                    break
                target.write_text(mutant.text())
                covering = those_that_run(tests, str(path.relative_to(ROOT / "src" / "utmost")), mutant.inside)
                limit = 60 + 4 * sum(tests[test]["seconds"] for test in covering)
                outcome, failed, took = tree.run(["-x", *covering], limit) if covering else ("passed", "", 0.0)
                target.write_text(original)
                verdict = "survived" if outcome == "passed" else "killed"
                by = {"failed": failed, "hung": "hung", "passed": ""}[outcome]
                results = known_results()  # another run may have added to them
                results[mutant.name] = {"code": mutant.code, "verdict": verdict, "by": by}
                keep(results)
                print(f"  {verdict} by {len(covering)} in {took:.0f} s: {mutant.name}", flush=True)


def those_that_run(tests: dict[str, Any], file: str, inside: str) -> list[str]:
    """The tests that run a function, quickest first, as many as `ENOUGH` seconds allow."""
    covering = [test for test, known in tests.items() if [file, inside] in known["ran"]]
    ordered = sorted(covering, key=lambda test: tests[test]["seconds"])
    until = accumulate(tests[test]["seconds"] for test in ordered)
    return [test for test, seconds in zip(ordered, until, strict=True) if seconds <= ENOUGH] or ordered[:1]


def known_results() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return found


def keep(results: dict[str, dict[str, str]]) -> None:
    written = RESULTS.with_suffix(f".{os.getpid()}")
    written.write_text(json.dumps(results, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    written.replace(RESULTS)


def is_known(results: dict[str, dict[str, str]], mutant: Mutant) -> bool:
    return results.get(mutant.name, {}).get("code") == mutant.code


def is_again(results: dict[str, dict[str, str]], mutant: Mutant, again: str) -> bool:
    return again == "all" or results.get(mutant.name, {}).get("verdict") == "survived"


def report() -> int:
    """How many were killed; which survivors nobody has explained. 0 if 95 of 100 were killed and all are explained."""
    results = known_results()
    explained = EXPLAINED.read_text() if EXPLAINED.exists() else ""
    mutants = [mutant for found in chosen().values() for mutant in found]
    tried = [mutant for mutant in mutants if is_known(results, mutant)]
    survivors = [mutant.name for mutant in tried if results[mutant.name]["verdict"] == "survived"]
    open_ones = [name for name in survivors if name not in explained]
    killed = len(tried) - len(survivors)
    print(f"{len(mutants)} mutations, {len(tried)} tried, {killed} killed, {len(survivors)} survived")
    for name in survivors:
        print(f"  survived{', unexplained' if name in open_ones else ''}: {name}")
    fine = len(tried) == len(mutants) and killed >= 0.95 * len(tried) and not open_ones
    return 0 if fine else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=600, help="stop after so many minutes; run again to go on")
    parser.add_argument("--only", default="", help="modules whose name contains this")
    parser.add_argument("--again", default="", choices=["", "survivors", "all"], help="try these again")
    parser.add_argument("--report", action="store_true", help="run nothing, say what is known")
    parser.add_argument("--list", action="store_true", help="run nothing, list the mutations")
    arguments = parser.parse_args()
    if arguments.list:
        for found in chosen().values():
            print("\n".join(mutant.name for mutant in found))
        return 0
    if not arguments.report:
        try_all(arguments.minutes, arguments.only, arguments.again)
    return report()


if __name__ == "__main__":
    sys.exit(main())
