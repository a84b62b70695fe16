"""The command as people use it: exit codes, words, JSON, files."""

import json
import subprocess
import sys

import pytest

MAJORITY = """
[space]
family = "counts"
people = 11
[truth]
at_least = 6
[privacy]
epsilon = 1.0
"""
PATH = """
design = "extend"
outputs = ["red", "blue"]
[space]
edges = [["v1", "v2"], ["v2", "v3"], ["v3", "v4"]]
[truth.values]
v1 = "red"
v2 = "blue"
v3 = "blue"
v4 = "red"
[privacy]
ratio = 2
[known]
v1 = {first}
v4 = {last}
"""


def utmost(*arguments, cwd=None):
    """Run the command as a new process."""
    call = [sys.executable, "-m", "utmost", *map(str, arguments)]
    return subprocess.run(call, capture_output=True, text=True, cwd=cwd, check=False)


def write(folder, text):
    path = folder / "problem.toml"
    path.write_text(text)
    return path


def test_design_show_and_draw(tmp_path):
    """Solve a file, save it, show it again; both print the same object, and the picture is a PNG."""
    saved, picture = tmp_path / "s.json", tmp_path / "s.png"
    designed = utmost("design", write(tmp_path, MAJORITY), "--out", saved, "--picture", picture, "--json")
    assert designed.returncode == 0, designed.stderr
    shown = utmost("show", saved, "--json")
    assert json.loads(designed.stdout) == json.loads(shown.stdout)
    assert json.loads(shown.stdout)["verified"] is True
    assert picture.read_bytes().startswith(b"\x89PNG")
    text = utmost("show", saved)
    assert "verified: private" in text.stdout
    assert "Pr[True]" in text.stdout


def test_extend_from_a_file(tmp_path):
    """Known values, labels and a rational level in TOML give BIN Example 3."""
    result = utmost("design", write(tmp_path, PATH.format(first=0.3, last=0.1)), "--json")
    matrix = json.loads(result.stdout)["mechanism"]["matrix"]
    assert [row[1] for row in matrix] == pytest.approx([0.3, 0.4, 0.2, 0.1])


def test_the_answer_no_is_exit_code_1(tmp_path):
    """Contradicting values end with 1, the two points named, and nothing written."""
    result = utmost("design", write(tmp_path, PATH.format(first=0.1, last=0.9)), "--out", tmp_path / "s.json")
    assert result.returncode == 1
    assert "'v1' and 'v4'" in result.stderr
    assert not (tmp_path / "s.json").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (MAJORITY.replace("epsilon", "epsilom"), "privacy.epsilom"),
        (MAJORITY.replace("1.0", "-1.0"), "-1.0"),
        (MAJORITY.replace("counts", "count"), "not a family"),
        (MAJORITY.replace("people", "persons"), "does not take"),
        (MAJORITY.replace("at_least = 6", ""), "exactly one of at_least"),
        (MAJORITY + "[known]\n5 = 0.1\n", "only there"),
        (MAJORITY.replace("[space]", "[space"), "not TOML"),
        ('design = "magic"\n' + MAJORITY, "'design'"),
    ],
)
def test_wrong_files_are_exit_code_2(text, words, tmp_path):
    """Each mistake is named on standard error."""
    result = utmost("design", write(tmp_path, text))
    assert result.returncode == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_wrong_use_is_exit_code_2(tmp_path):
    """A missing file, an unknown command, an unknown option."""
    assert utmost("design", tmp_path / "nothing.toml").returncode == 2
    assert utmost("show", tmp_path / "nothing.json").returncode == 2
    assert utmost("conjure").returncode == 2
    assert utmost("demo", "--loud").returncode == 2


def test_levels_per_edge_and_lists_of_known_values(tmp_path):
    """The rest of the file format: edges with their own level, points that are not text, a prior."""
    text = """
design = "best_boundary"
prior = [0.5, 0.25, 0.25, 0.0]
criterion = "average"
[space]
family = "hamming"
people = 2
values = 2
[truth]
yes_at = [[1, 1]]
[privacy]
epsilon = 1.0
[[privacy.edges]]
between = [[0, 1], [1, 1]]
mu = 0.5
"""
    result = utmost("design", write(tmp_path, text), "--json")
    assert result.returncode == 0, result.stderr
    assert "0.5-Gaussian" in json.loads(result.stdout)["privacy"]
    known = (
        MAJORITY.replace("at_least = 6", "at_least = 2").replace("11", "2") + "[[known]]\npoint = 1\nvalue = '1/3'\n"
    )
    result = utmost("design", write(tmp_path, 'design = "extend"\n' + known), "--json")
    assert json.loads(result.stdout)["mechanism"]["matrix"][1][1] == pytest.approx(1 / 3)


def test_demo(tmp_path):
    """The demonstration ends well, and leaves pictures and solutions that verify."""
    result = utmost("demo", "--out", tmp_path / "demo", "--json")
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    assert answer["verified"] is True
    for question in answer["questions"]:
        assert utmost("show", question["solution"]).returncode == 0
    assert "verified: private" in utmost("demo", "--out", tmp_path / "demo").stdout


def test_help_is_helpful():
    """Every command explains itself."""
    assert "design" in utmost("--help").stdout
    for command in ("design", "show", "demo"):
        assert "--json" in utmost(command, "--help").stdout
    assert utmost("--version").stdout.startswith("utmost 0.")
