"""The way of a count: which modules of ours it passes through, from the call to the answer.

A module is on the way if one of its functions runs. Imports are not: a first count brings them, a second one is traced.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow

import utmost as um

SOURCE = Path(um.__file__).parent
MOST_OF_RELEASE, MOST = 7, 17
"""In release/, and in all; docs/decisions.md says what each is for. They may fall and must not grow."""


def modules_of(act: Callable[[], Any]) -> set[str]:
    """The modules of ours in which a function runs meanwhile, as paths below the package."""
    entered: set[str] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            entered.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
    ours = (Path(name) for name in entered if name.startswith(f"{SOURCE}/"))
    return {str(path.relative_to(SOURCE).with_suffix("")) for path in ours}


def test_the_way_of_a_count(tmp_path):
    table = pyarrow.table({"age": [20, 70, 66] * 100})
    s = um.Session(table, "survey", um.rows(at_most=1013), "add-remove", budget=1, ledger=tmp_path / "ledger")
    s.count("age >= 65", privacy=0.1)
    passed = modules_of(lambda: s.count("age >= 66", privacy=0.4637))  # a condition and a level that nothing remembers
    released = {name for name in passed if name.startswith("release/")}
    print(f"\nA count passes through {len(passed)} modules, {len(released)} of them of release/:")
    print("\n".join(sorted(passed)))
    assert {"release/session", "release/questions/count", "release/source", "accounting/account"} <= passed
    assert len(released) <= MOST_OF_RELEASE, sorted(released)
    assert len(passed) <= MOST, sorted(passed)
