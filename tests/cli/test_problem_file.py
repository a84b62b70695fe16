"""Ranked answers in problem files: the same solutions as in Python, and every mistake named."""

import json
from pathlib import Path

import numpy as np
import pytest
from oracles.command import utmost

import utmost as um
from utmost.cli.problem_file import solve_file

EXAMPLES = Path(__file__).parents[2] / "examples"
SPACE = '[space]\nfamily = "path"\nn = 8\n[privacy]\nepsilon = 1\n'
FIRST = '[[rankings]]\norder = ["a", "b", "c"]\n'
SECOND = '[[rankings]]\norder = ["b", "c", "a"]\nat_least = 4\n'


def solved(folder, text):
    path = folder / "problem.toml"
    path.write_text(text, encoding="utf-8")
    return solve_file(path)


@pytest.mark.parametrize("seed", range(20))
def test_files_say_what_python_says(seed, tmp_path):
    """Random cuts, rankings and named points, all three designs: the same matrices as by hand."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(4, 9)), int(rng.integers(2, 4))
    outputs = "abc"[:k]
    orders = [tuple(outputs), tuple(reversed(outputs))]
    cut, named = int(rng.integers(1, n)), sorted({int(v) for v in rng.integers(0, n, int(rng.integers(0, 3)))})
    row = rng.dirichlet(np.full(k, 5.0)).round(3)
    row[-1] = round(1 - row[:-1].sum(), 3)
    shared = {o: float(p) for o, p in zip(outputs, row, strict=True)}
    rankings = [orders[0] if i in named or i < cut else orders[1] for i in range(n)]
    epsilon = round(float(rng.uniform(0.5, 1.5)), 2)
    head = f'[space]\nfamily = "path"\nn = {n}\n[privacy]\nepsilon = {epsilon}\n'
    table = "boundary = { " + ", ".join(f"{o} = {p}" for o, p in shared.items()) + " }\n"
    tables = [
        f"[[rankings]]\norder = {json.dumps(orders[0])}\n{{0}}",
        f"[[rankings]]\norder = {json.dumps(orders[1])}\nat_least = {cut}\n{{0}}",
        f"[[rankings]]\norder = {json.dumps(orders[0])}\nat = {named}\n{{0}}",
    ]
    where = "".join(tables)
    by_hand = {
        "rainbow.extend": lambda: um.rainbow.extend(
            um.path(n), rankings, dict.fromkeys(set(rankings) if len(set(rankings)) > 1 else (), shared), epsilon
        ),
        "rainbow.best_boundary": lambda: um.rainbow.best_boundary(um.path(n), rankings, epsilon, [1, 0.5, 0][:k]),
        "rainbow.lexicographic": lambda: um.rainbow.lexicographic(um.path(n), rankings, {0: shared}, epsilon),
    }
    extra = {"rainbow.best_boundary": f"weights = {[1, 0.5, 0][:k]}\n"}
    values = ", ".join(f"{o} = {p}" for o, p in shared.items())
    tail = {"rainbow.lexicographic": f"[[known]]\npoint = 0\nvalue = {{ {values} }}\n"}
    for design, make in by_hand.items():
        if design == "rainbow.extend" and len(set(rankings)) == 1:
            continue
        body = where.format(table if design == "rainbow.extend" else "")
        text = f'design = "{design}"\n{extra.get(design, "")}{head}{body}{tail.get(design, "")}'
        found, expected = solved(tmp_path, text), make()
        assert np.array_equal(found.mechanism.matrix, expected.mechanism.matrix)
        assert found.mechanism.outputs == expected.mechanism.outputs
        assert found.value == expected.value


def test_the_example_is_solved_by_the_command(tmp_path):
    """examples/rankings.toml: solved, saved, and verified from the file."""
    result = utmost("design", EXAMPLES / "rankings.toml", "--out", tmp_path / "best.json", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["mechanism"]["matrix"][0] == pytest.approx([0.9375, 0.0375, 0.025])
    assert utmost("verify", tmp_path / "best.json").returncode == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('design = "rainbow.extend"\n' + SPACE, "needs rankings"),
        ('design = "rainbow.extend"\n' + SPACE + FIRST + SECOND, "says nothing about"),
        ('design = "rainbow.best_boundary"\n' + SPACE + FIRST + FIRST, "neither at nor at_least"),
        ('design = "rainbow.best_boundary"\n' + SPACE + SECOND, "no ranking holds at 0"),
        ('design = "rainbow.best_boundary"\n' + SPACE + FIRST + SECOND + SECOND, "start at_least at 4"),
        ('design = "rainbow.best_boundary"\n' + SPACE + FIRST + SECOND + "at = [1]\n", "both at and at_least"),
        (
            'design = "rainbow.best_boundary"\n' + SPACE + FIRST + SECOND + 2 * (FIRST + "at = [1]\n"),
            "two rankings name the point 1",
        ),
        ('design = "rainbow.best_boundary"\n' + SPACE + FIRST + "boundary = [1, 0, 0]\n", "a boundary belongs to"),
        ('design = "rainbow.lexicographic"\n' + SPACE + FIRST, "needs known"),
        ('design = "balanced"\n' + SPACE + "[truth]\nat_least = 4\n" + FIRST, "rankings belongs to"),
        (
            'design = "rainbow.extend"\n'
            + SPACE
            + FIRST
            + "boundary = [0.5, 0.3, 0.2]\n"
            + FIRST
            + "at = [1]\nboundary = [0.5, 0.2, 0.3]\n",
            "two boundaries",
        ),
        (
            'design = "rainbow.best_boundary"\n[privacy]\nepsilon = 1\n[space]\nedges = [["x", "y"]]\n'
            + FIRST
            + SECOND,
            "points that are numbers",
        ),
        (
            'design = "rainbow.best_boundary"\n' + SPACE + FIRST + '[[rankings]]\norder = ["a"]\nat = [3]\n',
            "not an order",
        ),
    ],
)
def test_mistakes_are_named(text, words, tmp_path):
    """Each wrong file says which rule it breaks."""
    with pytest.raises(um.errors.InvalidInput, match=words):
        solved(tmp_path, text)
