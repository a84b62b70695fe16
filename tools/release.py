"""Checks that a release can be tagged: `python tools/release.py`, as `make release-check` runs it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def problems(root: Path = ROOT) -> list[str]:
    """What stands in the way of a release, in words."""
    version = stated_version(root)
    found = []
    if f"\nversion: {version}\n" not in (root / "CITATION.cff").read_text(encoding="utf-8"):
        found.append(f"CITATION.cff does not state version {version}.")
    lines = (root / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    newest = next(line for line in lines if line.startswith("## "))
    if not re.fullmatch(rf"## {re.escape(version)} - \d{{4}}-\d\d-\d\d", newest):
        found.append(f"the newest section of CHANGELOG.md is {newest!r}, not '## {version} - DATE'.")
    if f'version: "{version}"' not in (root / "packaging/conda/recipe.yaml").read_text(encoding="utf-8"):
        found.append(f"packaging/conda/recipe.yaml does not state version {version}.")
    home = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Repository"]
    remote = (
        _git(root, "remote", "get-url", "origin").removesuffix(".git").replace("git@github.com:", "https://github.com/")
    )
    if remote != home:
        found.append(f"the repository is {home} in pyproject.toml, and {remote or 'nowhere'} as the remote origin.")
    if _git(root, "status", "--porcelain"):
        found.append("something is not committed.")
    tagged = _git(root, "rev-parse", "-q", "--verify", f"v{version}^{{commit}}")
    if tagged and tagged != _git(root, "rev-parse", "HEAD"):
        found.append(f"the tag v{version} is there already, on another commit.")
    return found


def stated_version(root: Path = ROOT) -> str:
    """The version, from the one place where it is stated."""
    text = (root / "src/utmost/__init__.py").read_text(encoding="utf-8")
    return re.findall(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)[0]


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", root, *words], capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    reasons = problems()
    print("\n".join(reasons) or f"version {stated_version()} may be tagged")
    sys.exit(bool(reasons))
