"""Small pictures for reports and notebooks, as SVG text: posteriors, bars, curves, and the spent budget.

Labels take the colour of the surrounding text, so that they are legible on a dark page, too.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

WIDE, HIGH = 640, 180
SHADES = (1, 0.7, 0.85, 0.55)
OURS, OTHERS, INK = "#4271ae", "#b8bcc4", "currentColor"


def belief(
    xs: Sequence[float], chances: Sequence[float], answer: float, interval: tuple[float, float], caption: str
) -> str:
    """The posterior of the true value, with the interval shaded, the answer marked, and a caption."""
    top = max(chances) or 1.0
    low, high = min(xs), max(xs)
    width = (high - low) or 1.0

    def at(x: float) -> float:
        return 30 + (WIDE - 60) * (x - low) / width

    points = " ".join(f"{at(x):.1f},{HIGH - 30 - (HIGH - 50) * c / top:.1f}" for x, c in zip(xs, chances, strict=True))
    left, right = at(max(interval[0], low)), at(min(interval[1], high))
    marked = [x for x in (low, high) if abs(at(x) - at(answer)) > 150] + [answer]
    return _captioned(
        caption,
        f'<rect class="ours" x="{left:.1f}" y="20" width="{max(right - left, 1):.1f}" height="{HIGH - 50}" '
        f'fill="{OURS}" opacity="0.15"/>'
        f'<polyline class="curve" points="{points}" fill="none" stroke="{OURS}" stroke-width="2"/>'
        f'<line x1="{at(answer):.1f}" y1="20" x2="{at(answer):.1f}" y2="{HIGH - 30}" stroke="{INK}" '
        'stroke-dasharray="4 3"/>' + "".join(_text(at(x), HIGH - 12, _number(x), _anchor(at(x))) for x in marked),
    )


def _anchor(place: float) -> str:
    """The text anchor with which a label at a position stays inside the picture."""
    return "start" if place < 90 else "end" if place > WIDE - 90 else "middle"


def bars(
    values: Mapping[str, float],
    caption: str,
    strong: str | None = None,
    intervals: Mapping[str, tuple[float, float]] | None = None,
) -> str:
    """Horizontal bars with a caption: one of them highlighted, or all in one colour; intervals as lines."""
    ends = {name: pair for name, pair in (intervals or {}).items() if all(map(math.isfinite, pair))}
    top = max([0.0, *values.values(), *(high for _, high in ends.values())]) or 1.0  # with noise, all may be below 0
    body = ""
    for i, (name, value) in enumerate(values.items()):
        y = 14 + 30 * i
        long = (WIDE - 320) * max(value, 0.0) / top
        kind, fill = ("ours", OURS) if strong in (None, name) else ("others", OTHERS)
        body += _text(204, y + 15, name, "end")
        body += f'<rect class="{kind}" x="212" y="{y}" width="{max(long, 1):.1f}" height="20" fill="{fill}"/>'
        if name in ends and ends[name][1] >= 0:  # an interval below 0 is not drawn
            left, right = (212 + (WIDE - 320) * max(end, 0.0) / top for end in ends[name])
            body += f'<path d="M{left:.1f},{y + 10}H{right:.1f}M{left:.1f},{y + 5}v10M{right:.1f},{y + 5}v10" '
            body += f'fill="none" stroke="{INK}" stroke-width="1.5"/>'
            long = max(long, right - 212)
        body += _text(218 + long, y + 15, _number(value), "start")
    return _captioned(caption, body, 24 + 30 * len(values))


def curve(xs: Sequence[float], chances: Sequence[float], caption: str) -> str:
    """Probabilities from 0 to 1 over integers, labelled at the first, the last and where they exceed one half."""
    low, high = min(xs), max(xs)
    width = (high - low) or 1.0

    def at(x: float) -> float:
        return 40 + (WIDE - 80) * (x - low) / width

    def up(chance: float) -> float:
        return HIGH - 30 - (HIGH - 50) * chance

    points = " ".join(f"{at(x):.1f},{up(c):.1f}" for x, c in zip(xs, chances, strict=True))
    half = next((x for x, c in zip(xs, chances, strict=True) if c >= 0.5), high)
    lines = "".join(
        f'<line x1="40" y1="{up(c):.1f}" x2="{WIDE - 40}" y2="{up(c):.1f}" stroke="{INK}" opacity="0.2"/>'
        + _text(34, up(c) + 5, f"{c:g}", "end")
        for c in (0, 0.5, 1)
    )
    marks = [x for x in (low, high) if abs(at(x) - at(half)) > 40] + [half]
    return _captioned(
        caption,
        f'{lines}<polyline class="curve" points="{points}" fill="none" stroke="{OURS}" stroke-width="2"/>'
        + "".join(_text(at(x), HIGH - 12, _number(x), "middle") for x in marks),
    )


def falling(xs: Sequence[float], ys: Sequence[float], caption: str) -> str:
    """Positive numbers over positive numbers on logarithmic axes, with labels at powers of ten."""
    low, high = math.log(min(xs)), math.log(max(xs))
    least, most = (math.log(max(end, 1e-300)) for end in (min(ys), max(ys)))

    def place(x: float, y: float) -> tuple[float, float]:
        across = (math.log(x) - low) / ((high - low) or 1.0)
        up = (math.log(max(y, 1e-300)) - least) / ((most - least) or 1.0)
        return 40 + (WIDE - 80) * across, HIGH - 40 - (HIGH - 70) * up

    at = [place(x, y) for x, y in zip(xs, ys, strict=True)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    body = f'<polyline class="curve" points="{points}" fill="none" stroke="{OURS}" stroke-width="2"/>'
    for (left, top), x, y in zip(at, xs, ys, strict=True):
        if math.log10(x) % 1 == 0:
            body += f'<circle class="ours" cx="{left:.1f}" cy="{top:.1f}" r="4" fill="{OURS}"/>'
            body += _text(left, top - 10, f"{y:.3g}", "middle") + _text(left, HIGH - 12, f"{x:,.0f}", "middle")
    return _captioned(caption, body)


def curve_of(columns: Mapping[str, Any]) -> str:
    """The picture of a query's curve, which is given as two named columns of numbers."""
    (across, xs), (upwards, chances) = columns.items()
    if across == "rows":
        return falling(xs, chances, f"The {upwards} by how many rows the answer is made of; both axes are logarithmic.")
    return curve(xs, chances, f"A key is {upwards} this high, by how many {across} it has.")


def spending(shares: Mapping[str, Sequence[tuple[str, float]]]) -> str:
    """A bar for every resource of a budget, filled from the left by the spend of each entry, in alternating shades."""
    body, wide = "", WIDE - 60
    for i, (name, entries) in enumerate(shares.items()):
        y, at = 26 + 56 * i, 30.0
        rest = max(0.0, 1 - sum(share for _, share in entries))
        body += _text(30, y - 8, f"{name}: {rest:.1%} left", "start")
        body += f'<rect x="30" y="{y}" width="{wide}" height="22" class="others" fill="{OTHERS}" opacity="0.4"/>'
        for place, (who, share) in enumerate(entries):
            long = wide * min(share, 1.0)
            body += (
                f'<rect x="{at:.1f}" y="{y}" width="{max(long - 1, 0.5):.1f}" height="22" class="ours" fill="{OURS}" '
                f'opacity="{SHADES[place % len(SHADES)]}"><title>{html.escape(who)}</title></rect>'
            )
            if long > 40:
                body += _text(at + long / 2, y + 16, who.partition(".")[0], "middle")
            at += long
    return _svg("What was spent of the budget", body, 8 + 56 * len(shares))


def _captioned(caption: str, body: str, high: int = HIGH) -> str:
    return f"<figure>{_svg(caption, body, high)}<figcaption>{html.escape(caption)}</figcaption></figure>"


def _number(value: float) -> str:
    return f"{value:,.0f}" if 1e5 <= abs(value) < 1e15 else f"{value:,.6g}"


def _svg(title: str, body: str, high: int = HIGH) -> str:
    return (
        f'<svg viewBox="0 0 {WIDE} {high}" role="img" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{html.escape(title)}</title>{body}</svg>"
    )


def _text(x: float, y: float, text: Any, anchor: str) -> str:
    where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {where} font-size="14" fill="{INK}">{html.escape(str(text))}</text>'
