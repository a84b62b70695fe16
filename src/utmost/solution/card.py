"""How a notebook shows a thing: a card with its first line as the title, its facts below, and pictures and tables.

Colours and letters are those of the page around it, so that a card can be read on a dark page and on paper.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

LINE = "rgba(128,128,128,.4)"
BOX = (
    f"border:1px solid {LINE};border-radius:6px;padding:.6rem .9rem;max-width:46rem;color:inherit;"
    "background:transparent;overflow-wrap:anywhere;white-space:normal;break-inside:avoid"
)
MOST_NAME = 24
"""A line that begins with at most so many letters and a colon has a name; others are said as they are."""


def card(text: str, *parts: str) -> str:
    """A card with what a thing says of itself: its text, and below, HTML such as pictures and tables.

    Parameters
    ----------
    text : str
        The title on the first line; a fact on each other one, such as "  optimal: ...".
    parts : str
        HTML, put below as it is.
    """
    title, *lines = text.split("\n")
    rows = "".join(_row(line) for line in lines)
    facts = f'<div style="margin:.4rem 0">{rows}</div>' if rows else ""
    wide = "".join(f'<div style="overflow-x:auto">{part}</div>' for part in parts if part)
    return f'<div class="utmost-card" style="{BOX}"><div><b>{html.escape(title)}</b></div>{facts}{wide}</div>'


def _row(line: str) -> str:
    name, colon, said = line.strip().partition(": ")
    if not colon or len(name) > MOST_NAME or "(" in name:
        return f"<div>{html.escape(line.strip())}</div>"
    return f'<div><span style="opacity:.7">{html.escape(name)}</span> {html.escape(said)}</div>'


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows of texts and numbers under their heads; columns of numbers, but for the first, to the right."""
    texts = [[str(part) for part in row] for row in rows]
    sides = ["right" if i and all(_is_number(row[i]) for row in texts) else "left" for i in range(len(heads))]
    cell = f"padding:.15rem .6rem;border-bottom:1px solid {LINE};text-align:"
    head = "".join(
        f'<th scope="col" style="white-space:nowrap;{cell}{side}">{html.escape(name)}</th>'
        for name, side in zip(heads, sides, strict=True)
    )
    body = ""
    for row in texts:
        cells = [f'<td style="{cell}{side}">{html.escape(t)}</td>' for t, side in zip(row, sides, strict=True)]
        body += f"<tr>{''.join(cells)}</tr>"
    return f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _is_number(text: str) -> bool:
    return text == "" or text[0].isdigit() or text[0] in "-±"
