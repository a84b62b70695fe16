"""Ranked answers in problem files: the same solutions as in Python, and every mistake named."""

import json
from pathlib import Path

import numpy as np
import pytest
from oracles.command import utmost

import utmost as um
from utmost.cli.problem_file import solve_file
from utmost.errors import InvalidInput
from utmost.space.line import Line
from utmost.theory.scalar.design.line import best_on_line

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


@pytest.mark.parametrize("seed", range(20))
def test_files_without_a_space_say_what_python_says(seed, tmp_path):
    """Noise, testing and information: the same values as by hand, at random laws, lines and levels."""
    rng = np.random.default_rng(seed)
    epsilon, last, reach = round(float(rng.uniform(0.3, 2)), 2), int(rng.integers(3, 40)), int(rng.integers(1, 3))
    p0, p1 = (np.round(rng.dirichlet(np.ones(3) * 4), 3) for _ in range(2))
    p0[-1], p1[-1] = round(1 - p0[:-1].sum(), 3), round(1 - p1[:-1].sum(), 3)
    level = f"[privacy]\nepsilon = {epsilon}\n"
    noise = solved(tmp_path, f'design = "noise"\nloss = "squared"\n[line]\nlast = {last}\nreach = {reach}\n{level}')
    assert noise.value == best_on_line(Line(0, last, reach), epsilon, "squared").value
    laws = f"p0 = {p0.tolist()}\np1 = {p1.tolist()}\n"
    testing = solved(tmp_path, f'design = "testing"\n{laws}divergence = "tv"\n{level}')
    assert testing.value == um.local.for_testing(p0, p1, epsilon, "tv").value
    information = solved(tmp_path, f'design = "information"\nprior = {p0.tolist()}\n{level}')
    assert information.value == um.local.for_information(p0, epsilon).value


def test_noise_is_designed_verified_and_drawn_by_the_command(tmp_path):
    file, saved = tmp_path / "noise.toml", tmp_path / "noise.json"
    file.write_text('design = "noise"\n[line]\nlast = 50\n[privacy]\nepsilon = 5\n', encoding="utf-8")
    designed = utmost("design", file, "--out", saved)
    assert "probability at 25" in designed.stdout
    assert json.loads(utmost("design", file, "--json").stdout)["mechanism"]["points"] == 51
    drawn = utmost("sample", saved, "--size", "3", "--json", given="20\n")
    assert all(type(answer) is int and 0 <= answer <= 50 for answer in json.loads(drawn.stdout)["answers"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('design = "noise"\n', "needs line"),
        ('design = "testing"\np0 = [0.5, 0.5]\n', "needs p1"),
        ('design = "information"\nprior = [0.5, 0.5]\n' + SPACE.replace("[privacy]\nepsilon = 1\n", ""), "drop it"),
        ('design = "balanced"\n', "needs space"),
    ],
)
def test_what_is_missing_without_a_space_is_named(text, words, tmp_path):
    with pytest.raises(InvalidInput, match=words):
        solved(tmp_path, text + "[privacy]\nepsilon = 1\n")
