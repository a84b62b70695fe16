"""What is published: the long description, the sdist, the recipe, and the texts that say how to install."""

import re
import runpy
import subprocess
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import utmost as um

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HOME = PROJECT["project"]["urls"]["Repository"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A wheel and an sdist of this checkout."""
    pytest.importorskip("hatch_fancy_pypi_readme", reason="hatch-fancy-pypi-readme is not installed: make env")
    hatchling = pytest.importorskip("hatchling.builders.wheel")
    from hatchling.builders.sdist import SdistBuilder

    place = str(tmp_path_factory.mktemp("dist"))
    return [next(kind(str(ROOT)).build(directory=place)) for kind in (hatchling.WheelBuilder, SdistBuilder)]


def test_the_wheel_says_what_it_is(built):
    """Version, types, addresses; every link and picture of the long description can be opened from elsewhere."""
    with zipfile.ZipFile(built[0]) as wheel:
        names = wheel.namelist()
        said = Parser().parsestr(wheel.read(next(n for n in names if n.endswith("METADATA"))).decode())
    assert said["Version"] == um.__version__
    assert "utmost/py.typed" in names
    assert "Typing :: Typed" in said.get_all("Classifier")
    text = said.get_payload()
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert len(links) > 10
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert pictures
    for picture in pictures:
        assert (ROOT / picture.removeprefix(f"{HOME}/raw/main/")).is_file(), picture


def test_the_sdist_has_no_clutter(built):
    """The package, its licence, and what says what it is."""
    with tarfile.open(built[1]) as sdist:
        parts = {name.split("/")[1] for name in sdist.getnames()}
    texts = {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff"}
    assert parts <= {"src", "pyproject.toml", "PKG-INFO", ".gitignore", *texts}


def test_the_conda_recipe_asks_for_what_the_package_asks_for():
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    for line in PROJECT["project"]["dependencies"]:
        name, bound = re.match(r"([\w-]+)(>=[\d.]+)", line).groups()
        assert f"- {name} {bound}\n" in recipe


def test_no_text_says_that_it_is_on_an_index():
    """Until it is: from a checkout, or a wheel."""
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]:
        if path.name == "CHANGELOG.md":
            continue
        assert not re.search(r"pip install ['\"]?utmost\b", path.read_text(encoding="utf-8")), path


def test_workflows_call_targets_that_are_there():
    """As `.ci/run` does: what they run is written in the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    calls = [
        word
        for path in (ROOT / ".github" / "workflows").glob("*.yml")
        for line in re.findall(r"run: make (.*)", path.read_text(encoding="utf-8"))
        for word in line.split()
        if "=" not in word
    ]
    assert {"test", "test-long", "docs", "wheel", "release-check", "test-matrix"} <= set(calls) <= targets


def test_the_lowest_versions_are_those_of_pyproject():
    """One exact version for every lower bound of the core and of the extras in `all`."""
    lowest = runpy.run_path(str(ROOT / "tools" / "matrix.py"), run_name="matrix")["lowest"]
    project = {
        "dependencies": ["numpy>=2.0", "highspy>=1.7.2"],
        "optional-dependencies": {"all": ["utmost[a,b]"], "a": ["x>=1.2,<2", "utmost[b]"], "b": ["y[z]>=3"]},
    }
    assert sorted(lowest(project)) == ["highspy==1.7.2", "numpy==2.0.*", "x==1.2.*", "y==3.*"]
    assert any(line.startswith("duckdb==") for line in lowest(PROJECT["project"]))


def test_a_release_is_refused_until_everything_agrees(tmp_path):
    """Version, changelog, citation, recipe, address of the repository, a clean tree, and a free tag."""
    made = runpy.run_path(str(ROOT / "tools" / "release.py"), run_name="release")
    git = lambda *words: subprocess.run(["git", "-C", tmp_path, *words], check=True, capture_output=True)  # noqa: E731
    for name, text in {
        "src/utmost/__init__.py": '__version__ = "9.0.0"\n',
        "CITATION.cff": "title: x\nversion: 9.0.0\n",
        "CHANGELOG.md": "# Changelog\n\n## 9.0.0 - 2026-12-01\n",
        "packaging/conda/recipe.yaml": 'context:\n  version: "9.0.0"\n',
        "pyproject.toml": '[project.urls]\nRepository = "https://github.com/somebody/utmost"\n',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    git("init", "-q")
    git("add", "-A")
    git("-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "x")
    git("remote", "add", "origin", "git@github.com:somebody/utmost.git")
    assert made["problems"](tmp_path) == []
    git("remote", "set-url", "origin", "https://github.com/another/utmost")
    (tmp_path / "CHANGELOG.md").write_text("## Unreleased: 9.0.0\n", encoding="utf-8")
    found = " ".join(made["problems"](tmp_path))
    assert all(words in found for words in ("as the remote origin", "newest section", "not committed"))
