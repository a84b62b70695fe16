"""Write the HTML index, `reproduce.json` and the pictures."""

from __future__ import annotations

import html
import inspect
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from utmost.errors import InvalidInput
from utmost.exact.saved import GENERATOR, require_ours
from utmost.reproduce.entry import COMPUTATIONS, PAPERS, Entry, Verdict, plain

MARKS: dict[Verdict, str] = {"reproduced": "good", "reproduced with our correction": "mended", "not reproduced": "bad"}
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h2 { border-bottom: 1px solid #ccc; padding-bottom: .2rem; margin-top: 2.5rem; }
article { border: 1px solid #ddd; border-radius: 6px; padding: .6rem 1rem; margin: 1rem 0; }
article h3 { margin: .2rem 0; font-size: 1rem; }
.where { color: #666; font-size: .9rem; }
.good { background: #dff2df; } .mended { background: #fdf1cf; } .bad { background: #f8d7d7; }
.verdict { padding: .1rem .5rem; border-radius: 4px; font-size: .9rem; white-space: nowrap; }
table { border-collapse: collapse; margin: .5rem 0; font-size: .9rem; display: block; overflow-x: auto; }
td, th { border: 1px solid #ddd; padding: .15rem .5rem; text-align: left; vertical-align: top; }
img { max-width: 100%; } code, pre { font-size: .85rem; } p code { overflow-wrap: anywhere; }
pre { background: #f6f6f6; padding: .6rem; overflow-x: auto; }
nav a { margin-right: .8rem; } td a { white-space: nowrap; }
@media (max-width: 40rem) { .verdict { white-space: normal; } }
@media screen and (prefers-color-scheme: dark) {
  .where { color: #a9adb5; } img { filter: invert(1) hue-rotate(180deg); mix-blend-mode: screen; }
  body { background: #181a1b; color: #ddd; } article, td, th { border-color: #444; } pre { background: #242728; }
  .good { background: #1f4023; } .mended { background: #4a3f16; } .bad { background: #552222; } a { color: #8ab4f8; }
}
"""


def summary(entries: Sequence[Entry]) -> dict[str, Any]:
    """All entries as plain data, with the number of each verdict."""
    counts = Counter(entry.verdict for entry in entries)
    return {
        "papers": {key: PAPERS[key] for key in dict.fromkeys(entry.claim.paper for entry in entries)},
        "verdicts": {verdict: counts.get(verdict, 0) for verdict in MARKS},
        "entries": [entry.to_json() for entry in entries],
    }


def tally(entries: Sequence[Entry]) -> str:
    """The number of each verdict, in words."""
    counts = Counter(entry.verdict for entry in entries)
    return f"{len(entries)} entr{'ies' if len(entries) != 1 else 'y'}: " + ", ".join(
        f"{counts[verdict]} {verdict}" for verdict in MARKS if counts[verdict]
    )


def write(entries: Sequence[Entry], folder: Path) -> tuple[Path, Path]:
    """Write `index.html` and `reproduce.json` to a folder; pictures are expected in its `pictures`."""
    require_free(folder)
    data, page = folder / "reproduce.json", folder / "index.html"
    data.write_text(json.dumps(summary(entries), indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
    page.write_text(_page(entries), encoding="utf-8", newline="\n")
    return page, data


def require_free(folder: Path) -> None:
    """Make the folder; refuse one with an `index.html` that Utmost did not write."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InvalidInput(f"{folder} is no folder that can be written to: {problem.strerror}; name another.") from None
    require_ours(folder / "index.html")


def _page(entries: Sequence[Entry]) -> str:
    papers = list(dict.fromkeys(entry.claim.paper for entry in entries))
    links = "".join(f'<a href="#{paper}">{paper}</a>' for paper in papers)
    sections = "".join(_section(paper, [e for e in entries if e.claim.paper == paper]) for paper in papers)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{GENERATOR}'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<title>Utmost: the five papers reproduced</title>"
        f"<style>{STYLE}</style></head><body><h1>The five papers, reproduced</h1>"
        "<p>Every figure, example, theorem and corollary with something to check: what the paper states, what Utmost "
        f"computes, and the verdict. {tally(entries)}.</p><nav>{links}</nav>{sections}</body></html>\n"
    )


def _section(paper: str, entries: Sequence[Entry]) -> str:
    rows = "".join(
        f'<tr><td><a href="#{e.claim.key}">{e.claim.key}</a></td><td>{html.escape(e.claim.where)}</td>'
        f'<td><span class="verdict {MARKS[e.verdict]}">{e.verdict}</span></td></tr>'
        for e in entries
    )
    title = html.escape(PAPERS[paper])
    return f'<h2 id="{paper}">{paper}</h2><p>{title}</p><table>{rows}</table>{"".join(map(_article, entries))}'


def _article(entry: Entry) -> str:
    c = entry.claim
    names = [*c.stated, *(name for name in entry.computed if name not in c.stated)]
    corrected = bool(c.corrected)
    head = f"<tr><th></th><th>stated</th>{'<th>corrected</th>' if corrected else ''}<th>computed</th></tr>"
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{_html_value(c.stated.get(name))}</td>"
        + (f"<td>{_html_value(c.corrected.get(name, ''))}</td>" if corrected else "")
        + f"<td>{_html_value(entry.computed.get(name))}</td></tr>"
        for name in names
    )
    parts = [
        f'<article id="{c.key}"><h3>{c.key} <span class="verdict {MARKS[entry.verdict]}">{entry.verdict}</span></h3>',
        f'<div class="where">{html.escape(c.where)}</div><p>{html.escape(c.claim)}</p>',
        f"<p><b>Given:</b> {_html_value(c.given)}</p>" if c.given else "",
        f"<table>{head}{rows}</table>",
        f"<p>Largest distance from what is stated: {_distance_words(entry.distance)}</p>",
        f"<p>from our correction: {_distance_words(entry.distance_corrected)}</p>" if corrected else "",
        f"<p><b>Our correction:</b> {html.escape(c.correction)}</p>" if c.correction else "",
        f"<p><b>Why not:</b> {html.escape(entry.why)}</p>" if entry.why else "",
        f"<p>{html.escape(c.note)}</p>" if c.note else "",
        f'<img src="pictures/{entry.picture}" alt="{c.key}">' if entry.picture else "",
        f"<p><b>Call:</b> <code>{html.escape(c.call)}</code></p>",
        f"<details><summary>How it is computed</summary><pre>{html.escape(_source(c.key))}</pre></details></article>",
    ]
    return "".join(parts)


def _distance_words(distance: float | None) -> str:
    return "something other than a number differs" if distance is None else f"{distance:.3g}"


def _source(key: str) -> str:
    computation = COMPUTATIONS.get(key)
    return inspect.getsource(computation) if computation else ""


def _html_value(value: Any) -> str:
    """A value as HTML: numbers with ten digits, bounds in words."""
    value = plain(value)
    if isinstance(value, dict):
        words = {"at_least": "at least ", "at_most": "at most "}
        if set(value) <= set(words):
            return " and ".join(words[k] + _html_value(v) for k, v in value.items())
        return "; ".join(f"{html.escape(str(k))} = {_html_value(v)}" for k, v in value.items())
    if isinstance(value, list):
        return html.escape("[") + ", ".join(map(_html_value, value)) + "]"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.10g}"
    return "" if value is None else html.escape(str(value))
