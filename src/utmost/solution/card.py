"""HTML cards for notebooks: the first line as the title, facts below, and pictures and tables.

Colours and fonts are inherited from the page, so that a card is readable in dark mode and on paper.
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
"""The largest length of a name before a colon; lines with a longer one are shown as they are."""


def card(text: str, *parts: str) -> str:
    """A card with a text, and below it HTML such as pictures and tables.

    Parameters
    ----------
    text : str
        The title on the first line; a fact on each other one, such as "  optimal: ...".
    parts : str
        HTML, appended unchanged.
    """
    title, *lines = text.split("\n")
    rows = "".join(_row(line) for line in lines)
    facts = f'<div style="margin:.4rem 0">{rows}</div>' if rows else ""
    wide = "".join(f'<div style="overflow-x:auto">{part}</div>' for part in parts if part)
    return f'<div class="utmost-card" style="{BOX}"><div><b>{html.escape(title)}</b></div>{facts}{wide}</div>'


def _row(line: str) -> str:
    """One fact as HTML, its name in a lighter shade."""
    name, colon, fact = line.strip().partition(": ")
    if not colon or len(name) > MOST_NAME or "(" in name:
        return f"<div>{html.escape(line.strip())}</div>"
    return f'<div><span style="opacity:.7">{html.escape(name)}</span> {html.escape(fact)}</div>'


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """An HTML table of texts and numbers; columns of numbers, except the first, are right-aligned."""
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
