"""Make docs/theorems.md: for every statement of the five papers, where it is solved, checked, reproduced and explained.

    python tools/theorems.py           # writes the page
    python tools/theorems.py --check   # exit code 1 if the page is not what it would write

It reads the list of statements (tools/theorems.toml), the claims that are reproduced (claims.toml in reproduce/), and
the source, where functions name the statements they rest on: `@cites("BIN-theorem-2")`. Nothing is imported.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE, PAGE = ROOT / "src" / "utmost", ROOT / "docs" / "theorems.md"
GUIDES = {
    "theory/binary": "binary.md",
    "theory/rainbow": "rainbow.md",
    "theory/selection": "rainbow.md",
    "theory/priors": "finite.md",
    "theory/scalar": "noise.md",
    "theory/vector": "noise.md",
    "theory/workload": "questions.md",
    "theory/estimates": "statistics.md",
    "theory/local": "local.md",
    "theory/multiparty": "multiparty.md",
    "accounting": "accounting.md",
    "mechanism": "certification.md",
    "privacy": "theory.md",
    "space": "theory.md",
}
"""The page that explains what a package does."""
VERIFIER = re.compile(r"theory/(\w+/verify\b|verif)")
"""Where the functions are with which solutions are verified."""
HEAD = """# The theorems, and where they live

Every numbered theorem, corollary, proposition, lemma and algorithm of the five papers: the function that *solves* it,
the one with which `verify` *checks* a solution that rests on it, the function that *reproduces* it, and the guide.
What no function rests on says what it is. Where a paper errs, the [errata](errata.md) say so. Made by
`python tools/theorems.py` from the keys that functions carry (`um.binary.extend.cites`); a test keeps it true.
What their symbols are here is in [notation](notation.md).
"""

COLUMNS = "| statement | says | solved by | checked by | reproduced by | guide |"


@cache
def citations(source: Path = SOURCE) -> dict[str, list[str]]:
    """For every key, the functions that cite it or reproduce it, as "path/of/module.py:function"."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(source.rglob("*.py")):
        for name, keys in _marked(ast.parse(path.read_text(encoding="utf-8"))):
            for key in keys:
                found[key].append(f"{path.relative_to(source).as_posix()}:{name}")
    return dict(found)


def _marked(tree: ast.AST, within: str = "") -> Iterator[tuple[str, list[str]]]:
    """The functions and classes of a module with @cites(...) or @reproduces(...), and their keys."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            keys = [
                argument.value
                for call in node.decorator_list
                if isinstance(call, ast.Call) and getattr(call.func, "id", "") in ("cites", "reproduces")
                for argument in call.args
                if isinstance(argument, ast.Constant)
            ]
            if keys:
                yield within + node.name, keys
            yield from _marked(node, f"{within}{node.name}.")


@cache
def statements() -> dict[str, dict[str, str]]:
    """Every statement by its key: what it says, and, if no function rests on it, what it is."""
    listed = tomllib.loads((ROOT / "tools" / "theorems.toml").read_text(encoding="utf-8"))
    return {f"{paper}-{number}": fields for paper, those in listed.items() for number, fields in those.items()}


@cache
def claims() -> dict[str, str]:
    """What each reproduced claim says, by its key."""
    held = tomllib.loads((SOURCE / "reproduce" / "claims.toml").read_text(encoding="utf-8"))["claim"]
    return {claim["key"]: claim["claim"] for claim in held}


def titles() -> dict[str, str]:
    """The papers by their keys, as reproduce/entry.py has them."""
    for node in ast.parse((SOURCE / "reproduce" / "entry.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "PAPERS":
            return dict(ast.literal_eval(node.value))
    raise LookupError("reproduce/entry.py has no PAPERS")


def page() -> str:
    """The page."""
    cited, reproduced, named, lines = citations(), claims(), titles(), [HEAD]
    paper = ""
    for key, fields in statements().items():
        if key.split("-")[0] != paper:
            paper = key.split("-")[0]
            lines += ["", f"## {paper}", "", named[paper], "", COLUMNS, "|---|---|---|---|---|---|"]
        where = cited.get(key, [])
        checked = [place for place in where if VERIFIER.match(place)]
        again = [place for place in where if place.startswith("reproduce/")]
        solved = [place for place in where if place not in checked and place not in again]
        guides = sorted({page for place in solved for start, page in GUIDES.items() if place.startswith(start + "/")})
        standing = fields.get("standing") or ("" if solved or checked else "reproduced only")
        number = key.split("-", 1)[1].replace("-", " ").capitalize()
        says = (fields.get("says") or reproduced[key]).replace("|", "\\|")
        links = ", ".join(f"[{guide.removesuffix('.md')}]({guide})" for guide in guides)
        columns = [number, says, _shown(solved) or standing, _shown(checked), _shown(again), links]
        lines.append(f"| {' | '.join(columns)} |")
    return "\n".join(lines) + "\n"


def _shown(places: list[str]) -> str:
    """Functions as readers look for them: the module's path without its ending, and the name."""
    return ", ".join(f"`{place.replace('.py:', ': ')}`" for place in places)


if __name__ == "__main__":
    made = page()
    if "--check" in sys.argv[1:]:
        sys.exit(0 if PAGE.read_text(encoding="utf-8") == made else 1)
    PAGE.write_text(made, encoding="utf-8")
