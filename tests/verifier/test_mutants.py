"""Mutations of the independent verifier, one at a time: for each there is a file on which its verdict is another one.

A mutation that no file notices would be a rule that nothing tests. The files are those
of version 0.2 with a place changed, which the verifier itself refuses.
"""

import json

import pytest
from oracles.forging import put
from oracles.independent import ROOT, SOURCE, load

FILES = ROOT / "tests" / "golden" / "version_0_2"
PROBLEM, SPACE = ("solution", "problem", "privacy"), ("solution", "problem", "space")
LAW = ("solution", "mechanism")
TIGHT = "27144711605075541099/73786976294838206464"
"""e^-1 rounded up to 64 bits."""


def both(path, value):
    """The same change of the space of the problem and of the mechanism's line."""
    return {(*SPACE, path): value, (*LAW, "line", path): value}


MUTANTS = [
    (
        "if proved(lambda digits: log(digits) + level.epsilon(digits)):",
        "if proved(lambda digits: log(digits) + level.epsilon(digits) + 1):",
        "rows-count",
        {(*LAW, "decay"): "1/3"},
    ),
    ("n = self.upper - 1 + reach", "n = self.upper - 1", "people-count-approx", {(*LAW, "period"): 1}),
    (
        'require(space == self.line, "the mechanism is made for another range or sensitivity")',
        "pass",
        "rows-count",
        {(*LAW, "line", "reach"): 0},
    ),
    (
        "return squares <= 2 * level.size",
        "return squares <= 4 * level.size",
        "zcdp-mean",
        {(*LAW, "single", "variance"): "25000"},
    ),
    ("return squares <= level.size**2", "return True", "gaussian-mean", {(*LAW, "single", "variance"): "5000"}),
    (
        'return (1 if d == 1 or moves == "any" else',
        'return (0 if d == 1 or moves == "any" else',
        "zcdp-mean",
        {(*LAW, "single", "variance"): "25000"},
    ),
    (
        'require(space in spaces, "the solution is for other integers or another sensitivity")',
        "pass",
        "rows-histogram",
        {("unit",): "people by 'id', 5 rows each, at most 400"},
    ),
    (
        'require(stated == a.level, "the solution is for another privacy level than the answer")',
        "pass",
        "rows-histogram",
        {("privacy", "epsilon"): "1/2", ("privacy", "numbers", "epsilon"): 0.5},
    ),
    (
        'require(close(part(content, "value"), found.value), "the value does not follow from the released integers")',
        "pass",
        "rows-count",
        {("value",): 104},
    ),
    (
        'require(q.get("unbiased") or space.clamp(number) == number, "a best guess lies where the number does")',
        "pass",
        "rows-count",
        {("value",): 401, ("released", "count"): 401},
    ),
    (
        'require(sum(table[-1]) == total, "a row of weights does not add up to its total")',
        "pass",
        "rows-majority",
        {(*LAW, "weights", 0, 0): "4611686018427329755"},
    ),
    (
        'require(row_keeps(level, a, b, total), "the weights of two neighbours break the level")',
        "pass",
        "rows-majority",
        {(*LAW, "weights", 0): ["0", str(2**62)]},
    ),
    (
        "for a, b in ((table[i], table[j]), (table[j], table[i])):",
        "for a, b in ():",
        "rows-majority",
        {(*LAW, "weights", 0): ["0", str(2**62)]},
    ),
    (
        'require(is_whole(data.get("border")) and data["border"] == border,',
        "require(True,",
        "rows-majority",
        {("solution", "problem", "data", "border"): 2},
    ),
    (
        "return at_most(step, level) and step.delta <= level.delta",
        "return at_most(step, level)",
        "rows-keys",
        {(*LAW, "law", "level", "delta"): "1/1000"},
    ),
    (
        "sum((s.exponent for s in self.spent), Fraction(0)),",
        "self.spent[0].exponent,",
        "people-count-found",
        {(*LAW, "spent", 1, "epsilon"): "2/3"},
    ),
    (
        "ordered = all(x < y for x, y in pairwise(keys))",
        "ordered = True",
        "people-count-found",
        "swap keys",
    ),
    (
        "min(lists[0], default=mechanism.border) >= mechanism.border",
        "True",
        "rows-count-found",
        {("released", "count", 0): 1, ("value", 0, 1): 1},
    ),
    (
        "falls = [(s.decay, table.l1) for s, table in",
        "falls = [(s.decay, 0) for s, table in",
        "rows-marginals",
        {(*LAW, "laws", 0, "single", "decay"): "1/1000"},
    ),
    ("unread = set(one) - one.read - set(besides)", "unread = set()", "rows-count", {("question", "junk"): 1}),
    (
        'require(hashlib.sha256(canonical(body) + b"\\n").hexdigest() == stated,',
        "require(True,",
        "solution-testing",
        {("value",): 0.04},
    ),
    (
        "if ball.low >= 0:",
        "if ball.low >= -1:",
        "rows-count",
        {(*LAW, "decay"): TIGHT.replace("099/", "098/")},
    ),
]


def changed(name, change):
    content = json.loads((FILES / f"{name}.json").read_text())
    if change == "swap keys":
        content["released"]["keys"][0][2].reverse()
        content["released"]["count"].reverse()
        content["value"].reverse()
        change = {}
    for path, value in (change or {}).items():
        put(content, path, value)
    return json.dumps(content)


def verdict(verifier, name, text, tmp_path):
    file = tmp_path / f"{name}.json"
    file.write_text(text)
    return bool(verifier.verify_file(file)[0][0])


@pytest.mark.long
@pytest.mark.parametrize(("old", "new", "name", "change"), MUTANTS)
def test_a_mutation_is_noticed(old, new, name, change, tmp_path):
    source = SOURCE.read_text()
    assert source.count(old) >= 1, "the verifier has changed; change the mutation with it"
    (tmp_path / "mutant.py").write_text(source.replace(old, new))
    text = changed(name, change)
    assert not verdict(load(), name, text, tmp_path)
    assert verdict(load(tmp_path / "mutant.py", "mutant_of_the_verifier"), name, text, tmp_path)


@pytest.mark.long
def test_files_that_are_changed_are_accepted_as_they_were(tmp_path):
    verifier = load()
    names = {name for _, _, name, _ in MUTANTS}
    assert all(verdict(verifier, name, changed(name, {}), tmp_path) for name in names)
