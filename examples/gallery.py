"""The gallery of the documentation and the summary that tests compare with, both from a run of all entries."""

import json
from pathlib import Path

from utmost.reproduce import PAPERS, run

HERE = Path(__file__).parent.parent
PAGE, IMAGES = HERE / "docs" / "gallery.md", HERE / "docs" / "images" / "papers"
SUMMARY = HERE / "tests" / "reproduce" / "reproduced.json"
OPENING = """# The papers, reproduced

Every figure, example, theorem and corollary of the five papers with something to check. `utmost reproduce` computes
all of them in a few minutes and writes an HTML index with what each paper states, what Utmost computes, how far apart
they are and the code; `utmost reproduce LIM-figure-3.3` computes one. This page is made by `examples/gallery.py` from
such a run. What each paper's symbols are here is in [notation](notation.md).

```python
>>> from utmost.reproduce import run
>>> entry = run(["BIN-example-3"])[0]
>>> entry.verdict, entry.computed["blue at v2"]
('reproduced', 0.4)

```

"""


def main():
    print("reduced run, for the tests")
    quick = run(quick=True, finished=show)
    kept = {e.claim.key: {"verdict": e.verdict, "computed": e.computed} for e in quick}
    SUMMARY.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    print("full run, for the gallery")
    for old in IMAGES.glob("*.png"):
        old.unlink()
    PAGE.write_text(page(run(pictures=IMAGES, finished=show)))


def show(entry):
    print(f"{entry.claim.key:24} {entry.verdict:32} {entry.seconds:7.1f} s {entry.why}", flush=True)


def page(entries):
    lines = [OPENING, tally(entries)]
    for paper, title in PAPERS.items():
        mine = [e for e in entries if e.claim.paper == paper]
        lines += [f"\n## {paper}\n", f"{title}.\n"]
        lines += ["| entry | where | verdict |", "|---|---|---|"]
        lines += [f"| [{e.claim.key}](#{anchor(e.claim.key)}) | {cell(e.claim.where)} | {e.verdict} |" for e in mine]
        for e in mine:
            lines += [f"\n### {e.claim.key}\n", f"*{e.claim.where}.* {text(e.claim.claim)}\n"]
            if e.claim.correction:
                lines.append(f"**{e.verdict.capitalize()}:** {text(e.claim.correction)}\n")
            else:
                lines.append(f"**{e.verdict.capitalize()}.**\n")
            if e.claim.note:
                lines.append(f"{text(e.claim.note)}\n")
            lines.append(f"```text\n{e.claim.call}\n```\n")
            if e.picture:
                lines.append(f"![{e.claim.key}](images/papers/{e.picture})\n")
    return "\n".join(lines)


def tally(entries):
    rows = []
    for paper in PAPERS:
        verdicts = [e.verdict for e in entries if e.claim.paper == paper]
        counts = [verdicts.count(v) for v in ("reproduced", "reproduced with our correction", "not reproduced")]
        rows.append(f"| {paper} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(["| paper | reproduced | with our correction | not reproduced |", "|---|---|---|---|", *rows, ""])


def anchor(key):
    """The anchor that MkDocs makes of a heading: lower case, without dots."""
    return key.lower().replace(".", "")


def cell(words):
    return text(words).replace("|", "\\|")


def text(words):
    """Plain words as Markdown: signs that would start emphasis or HTML are escaped."""
    for sign in ("*", "_", "|"):
        words = words.replace(sign, "\\" + sign)
    return words.replace("<", "&lt;")


if __name__ == "__main__":
    main()
