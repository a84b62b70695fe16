"""What the tools of this repository name is there."""

import runpy
from pathlib import Path

import utmost

SOURCE, TESTS = Path(utmost.__file__).parent, Path(__file__).parent


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
