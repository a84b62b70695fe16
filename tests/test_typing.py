"""Types that callers see: mypy accepts right calls, refuses wrong names and arguments, and knows what comes back.

Mypy reads the whole package, so it shares the cache of `make lint`: about 6 s of processor time with it.
"""

import re
from pathlib import Path

import pytest

import utmost as um

api = pytest.importorskip("mypy.api")
ROOT = Path(__file__).parents[1]
HEAD = """import utmost as um

s = um.Session("survey.csv", "survey", um.rows(at_most=10), "replace", budget=1)
client = um.Client("http://localhost")
solution = um.binary.balanced(um.counts(101), lambda yes: yes > 50, 1.0)
"""
REVEALED = {
    's.count("age > 1", privacy=1)': "Answer",
    's.count(lambda t: t.age > 1, privacy="0.5")': "Answer",
    "s.count(s.table.age > 1, privacy=um.PureDP(1))": "Answer",
    's.plan.quantile("age", [0.1, 0.5], range(9), privacy=1)': "Plan",
    's.schedule(0.1, slots=3).majority("age > 1")': "Answer",
    's.histogram("age", um.bins(0, 100, 5), privacy=1)': "Answer",
    's.allot({s.plan.count("age > 1", privacy=1): 10})': "Allotment",
    's.batch([s.plan.count("age > 1", privacy=1)])[0].verify()': "Verification",
    'client.mean("age", 0, 100, privacy=1, by=um.keys(town=["Ash"]))': "Answer",
    'client.plan.mean("age", 0, 100, privacy=1, by=um.discover("town"))': "Plan",
    "client.left": "Left",
    "solution": "Solution[FiniteMechanism]",
    "solution.mechanism.matrix": "ndarray[...]",
    "um.local.survey(['a', 'b'], 1.0)": "Survey",
    "um.compose([um.PureDP(1)]).epsilon(1e-6)": "float",
}
"""Expressions, and their types without modules."""
REFUSED = {
    "um.no_such_name": "attr-defined",
    "um.binary.no_such_name": "attr-defined",
    "s.no_such_question": "attr-defined",
    "client.plan.no_such_question": "attr-defined",
    's.plan.count("age > 1", privacy=1).no_such_member': "attr-defined",
    's.count("age > 1", privacy=1, epsilon=2)': "call-arg",
    's.mean("age", 0, privacy=1)': "call-arg",
    'client.count("age > 1", 1, lower=3)': "call-arg",
    "um.PureDP()": "call-arg",
    's.count("age > 1", privacy=[1])': "arg-type",
    "s.count(3, privacy=1)": "arg-type",
    's.count("age > 1", privacy=1, of="persons")': "arg-type",
    's.mean("age", 0, 100, privacy=1, by="town")': "arg-type",
    's.majority("age > 1", privacy=1, by=um.discover("town"))': "arg-type",
    'um.counts("many")': "arg-type",
    "solution.mechanism.no_such_member": "attr-defined",
}
"""Wrong expressions, and the code of mypy's error."""


def test_callers_see_precise_types(tmp_path, monkeypatch):
    """One program of all these expressions, each on a line of its own."""
    lines = HEAD.splitlines()
    revealed = {len(lines) + i: of for i, of in enumerate(REVEALED.values(), 1)}
    lines += [f"reveal_type({expression})" for expression in REVEALED]
    refused = {len(lines) + i: code for i, code in enumerate(REFUSED.values(), 1)}
    lines += REFUSED
    program = tmp_path / "calls.py"
    program.write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MYPYPATH", str(ROOT / "src"))
    said, errors, _ = api.run(["--config-file", str(ROOT / "pyproject.toml"), str(program)])
    assert not errors
    types = {
        int(line): re.sub(r"\[Any, .*\]$|\[.*dtype.*\]$", "[...]", re.sub(r"\w+\.", "", name))
        for line, name in re.findall(r'calls\.py:(\d+): note: Revealed type is "(.*)"', said)
    }
    assert types == revealed
    assert dict(re.findall(r"calls\.py:(\d+): error: .*\[([a-z-]+)\]", said)) == {
        str(line): code for line, code in refused.items()
    }


def test_mypy_sees_every_public_name(monkeypatch):
    """The names that are loaded when first used are imported for type checkers, from where they live."""
    text = (ROOT / "src" / "utmost" / "__init__.py").read_text(encoding="utf-8")
    block = text.partition("if TYPE_CHECKING:\n")[2].partition("\n__version__")[0]
    imports = re.findall(r"from (\S+) import \(?([^()]*?)\)?\n(?=    from|\n|$)", block + "\n")
    homes = {name.strip(): home for home, names in imports for name in names.split(",") if name.strip()}
    assert set(homes) == set(um.__all__)
    assert {name: home for name, home in homes.items() if home != "utmost"} == {
        name: home for home, names in um.HOMES.items() for name in names
    }
