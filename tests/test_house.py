"""The house itself: names of modules, a test for each of them, and how long a function may be."""

import ast
import re
import runpy
from collections import defaultdict
from pathlib import Path

import utmost

SOURCE, TESTS = Path(utmost.__file__).parent, Path(__file__).parent
MOST_LINES = 60
"""Of a function's body, without its docstring; how complex it may be, ruff says (C901)."""
SAME_THING = {
    "arguments": "what may be given to the functions of one package, checked at its door",
    "budget": "what is left of a budget, and the command that shows it",
    "canonical": "canonical noise: its law, and which is best",
    "carried": "noise on cells that carries: its law, and which is best",
    "choices": "one of a few candidates: the law, its check, and the kind of question",
    "discovery": "keys found privately: the best way to find them, and its check",
    "finite": "finitely many results: the matrix, and the check of what `design/finite` makes of it",
    "gaussian": "the normal law: the level, the noise that keeps it, and what levels of the kind add up to",
    "lattice": "noise on vectors of integers: its law, and which is best",
    "line": "the line of integers: what can be said of any number on it, and the best yes or no and number",
    "local": "local privacy: the check and the pictures of what `design/local` makes",
    "nearby": "one dataset in a space too large to list, with two answers or with several",
    "nested": "counts that lie inside each other: the question, and the check of what is proved of them",
    "partitions": "letters cut into blocks: the best cut, and the bound on all",
    "patterns": "patterns of letters: what they carry, and the bound on all",
    "strategies": "running counts from weighted sums of cells: what is shared, and which sums are best",
    "survey": "a survey: what it is, and the command that runs it",
    "tiers": "groups of people with levels of their own: the laws, which is best, and the check",
    "top_lists": "the most frequent of a list: the laws, which is best, and the check",
    "triples": "three leading candidates: the prices, and the bound they prove",
    "window": "errors in a window: the evidence, and the check of it",
}
"""Names that several modules have, because they are about one thing: in each of the layers, what that layer does."""


def modules() -> list[str]:
    """Every module as a path below the package, without those that stand for a package."""
    paths = (path.relative_to(SOURCE).with_suffix("") for path in sorted(SOURCE.rglob("*.py")))
    return [path.as_posix() for path in paths if not path.name.startswith("__")]


def test_no_two_modules_have_one_name_for_two_things():
    """A question may be called as its design is."""
    found = defaultdict(list)
    for module in modules():
        if not module.startswith("release/questions/") or not list(SOURCE.glob(f"design/*/{Path(module).name}.py")):
            found[module.rpartition("/")[2]].append(module)
    shared = {name: places for name, places in found.items() if len(places) > 1}
    assert {name: places for name, places in shared.items() if name not in SAME_THING} == {}
    assert SAME_THING.keys() - shared.keys() == set()  # no longer shared: take it off the list


def test_every_module_has_a_test():
    """`tests/a/test_b.py` tests `a/b`; where several modules are tested together, a test's docstring ends with
    "Covers `a/b`, `c/d`."."""
    covered, claimed = set(), {}
    for path in TESTS.rglob("test_*.py"):
        covered.add(path.relative_to(TESTS).with_name(path.stem.removeprefix("test_")).as_posix())
        words = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        claimed |= dict.fromkeys(re.findall(r"`([\w/]+)`", words.partition("Covers ")[2]), path)
    assert claimed.keys() - set(modules()) == set(), "a test says that it covers what is not there"
    assert set(modules()) - covered - claimed.keys() == set(), "name these in the docstring of their test"


def test_no_function_is_long():
    long = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                if body and body[-1].end_lineno - body[0].lineno + 1 > MOST_LINES:
                    long.append(f"{path.relative_to(SOURCE)}: {node.name}")
    assert long == [], "split it"


def test_the_tool_for_mutations_names_what_is_there():
    """Modules, tests, and the texts it replaces."""
    tool = runpy.run_path(str(TESTS.parent / "tools" / "mutants.py"), run_name="mutants")
    assert [module for module in tool["COVERED"] if not (SOURCE / f"{module}.py").is_file()] == []
    assert {
        test for tests in tool["COVERED"].values() for test in tests if not (TESTS / f"{test}.py").is_file()
    } == set()
    gone = [
        (module, old) for module, old, _ in tool["BY_HAND"] if old not in (SOURCE / f"{module}.py").read_text("utf-8")
    ]
    assert gone == []
