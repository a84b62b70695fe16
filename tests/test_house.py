"""The house itself: how long a function may be, and what its modules say of themselves."""

import ast
import runpy
from pathlib import Path

import utmost

SOURCE, TESTS = Path(utmost.__file__).parent, Path(__file__).parent
MOST_LINES = 60
"""Of a function's body, without its docstring; how complex it may be, ruff says (C901)."""


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
