"""Two small pictures for reports, as SVG text: what is known after an answer, and how the alternatives compare."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

WIDE, HIGH = 640, 180
OURS, OTHERS, INK = "#4271ae", "#b8bcc4", "#333"


def belief(xs: Sequence[float], chances: Sequence[float], answer: float, interval: tuple[float, float]) -> str:
    """The probabilities of the truth after an answer, the interval shaded, the answer marked."""
    top = max(chances) or 1.0
    low, high = min(xs), max(xs)
    width = (high - low) or 1.0

    def at(x: float) -> float:
        return 30 + (WIDE - 60) * (x - low) / width

    points = " ".join(f"{at(x):.1f},{HIGH - 30 - (HIGH - 50) * c / top:.1f}" for x, c in zip(xs, chances, strict=True))
    left, right = at(max(interval[0], low)), at(min(interval[1], high))
    return _svg(
        f"The truth after the answer {answer:g}: most likely between {interval[0]:g} and {interval[1]:g}",
        f'<rect x="{left:.1f}" y="20" width="{max(right - left, 1):.1f}" height="{HIGH - 50}" '
        f'fill="{OURS}" opacity="0.12"/>'
        f'<polyline points="{points}" fill="none" stroke="{OURS}" stroke-width="2"/>'
        f'<line x1="{at(answer):.1f}" y1="20" x2="{at(answer):.1f}" y2="{HIGH - 30}" stroke="{INK}" '
        'stroke-dasharray="4 3"/>'
        + "".join(_text(at(x), HIGH - 12, f"{x:,.6g}", "middle") for x in (low, answer, high)),
    )


def bars(values: Mapping[str, float], what: str) -> str:
    """Expected losses side by side, the least at full strength."""
    top = max(values.values()) or 1.0
    body = ""
    for i, (name, value) in enumerate(values.items()):
        y = 14 + 30 * i
        long = (WIDE - 300) * value / top
        body += _text(176, y + 15, name, "end")
        body += f'<rect x="184" y="{y}" width="{max(long, 1):.1f}" height="20" fill="{OURS if i == 0 else OTHERS}"/>'
        body += _text(190 + long, y + 15, f"{value:.5g}", "start")
    return _svg(what, body, 24 + 30 * len(values))


def spending(shares: Mapping[str, Sequence[float]]) -> str:
    """For every resource of a budget a bar, filled from the left by what each entry took."""
    body, wide = "", WIDE - 60
    for i, (name, taken) in enumerate(shares.items()):
        y, at = 26 + 56 * i, 30.0
        body += _text(30, y - 8, f"{name}: {max(0.0, 1 - sum(taken)):.1%} left", "start")
        body += f'<rect x="30" y="{y}" width="{wide}" height="22" fill="{OTHERS}" opacity="0.4"/>'
        for share in taken:
            long = wide * min(share, 1.0)
            body += f'<rect x="{at:.1f}" y="{y}" width="{max(long - 1, 0.5):.1f}" height="22" fill="{OURS}"/>'
            at += long
    return _svg("What was spent of the budget", body, 8 + 56 * len(shares))


def _svg(title: str, body: str, high: int = HIGH) -> str:
    return (
        f'<svg viewBox="0 0 {WIDE} {high}" role="img" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{html.escape(title)}</title>{body}</svg>"
    )


def _text(x: float, y: float, text: Any, anchor: str) -> str:
    where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {where} font-size="12" fill="{INK}">{html.escape(str(text))}</text>'
