"""Writes the tree of docs/architecture.md from the packages themselves: `python tools/map.py`.

Every folder of the package stands in it with the first line of its docstring and the names of its modules; a test
compares the page with what this would write.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE, SOURCE = ROOT / "docs" / "architecture.md", ROOT / "src" / "utmost"
FIRST, LAST = "<!-- the tree, made by tools/map.py -->", "<!-- end of the tree -->"
ORDER = [
    "exact",
    "privacy",
    "space",
    "mechanism",
    "theory",
    "solution",
    "design",
    "accounting",
    "backends",
    "queries",
    "survey",
    "serve",
    "reproduce",
    "plot",
    "cli",
]
"""From the bottom of the house to its top: imports point downwards."""


def tree() -> str:
    """The tree as Markdown: one item a folder, in the order of the layers."""
    lines = []
    packages = [name for name in ORDER if (SOURCE / name).is_dir()]
    for name in packages + sorted(
        p.name for p in SOURCE.iterdir() if (p / "__init__.py").is_file() and p.name not in ORDER
    ):
        lines += _folder(SOURCE / name, 0)
    top = sorted(p.stem for p in SOURCE.glob("*.py") if p.stem not in ("__init__", "__main__"))
    return "\n".join([*lines, f"- beside them: {', '.join(f'`{name}`' for name in top)}"])


def _folder(folder: Path, depth: int) -> list[str]:
    first = (ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or "").partition("\n")[0]
    modules = sorted(p.stem for p in folder.glob("*.py") if p.stem != "__init__")
    listed = f" {', '.join(f'`{name}`' for name in modules)}" if modules else ""
    lines = [f"{'    ' * depth}- **{folder.name}/** {first}{listed}"]
    for inner in sorted(p for p in folder.iterdir() if (p / "__init__.py").is_file()):
        lines += _folder(inner, depth + 1)
    return lines


def page() -> str:
    """The page with the tree as it is now."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(FIRST)
    return f"{before}{FIRST}\n\n{tree()}\n\n{LAST}{rest.partition(LAST)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
