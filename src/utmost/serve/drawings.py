"""SVG pictures of the pages, beside those of reports: curves and bars, with a mark at the chosen value."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from utmost.queries.report.pictures import HIGH, INK, OURS, WIDE

LEFT, RIGHT, TOP, BOTTOM = 58, 20, 22, 44


def curve(
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    across: str,
    up: str,
    caption: str,
    mark: tuple[float, float] | None = None,
    logarithmic: bool = False,
) -> str:
    """Lines over one axis, the first one emphasised, with an optional mark.

    Parameters
    ----------
    lines : mapping
        For every line its name, and its x and y coordinates.
    across, up : str
        The labels of the axes.
    caption : str
        A sentence that describes the picture.
    mark : pair of float, optional
        The marked point.
    logarithmic : bool
        Whether the x axis is logarithmic.
    """
    import math

    at = math.log if logarithmic else float
    xs = [x for line, _ in lines.values() for x in line]
    top = max([y for _, line in lines.values() for y in line] + [1e-12])
    low, high = at(min(xs)), at(max(xs))
    width, height = WIDE - LEFT - RIGHT, HIGH + 60 - TOP - BOTTOM

    def place(x: float, y: float) -> tuple[float, float]:
        share = (at(x) - low) / ((high - low) or 1.0)
        return LEFT + width * share, TOP + height * (1 - max(y, 0.0) / top)

    body = _axes(across, up, min(xs), max(xs), top, height)
    for i, (name, (line, heights)) in enumerate(lines.items()):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(place, line, heights))
        kind = 'class="curve"' if i == 0 else 'class="other-curve" stroke-dasharray="5 4"'
        body += f'<polyline {kind} points="{points}" fill="none" stroke="{OURS}" stroke-width="2"/>'
        if i:
            end_x, end_y = place(line[-1], heights[-1])
            body += _text(end_x - 4, max(end_y - 6, 14), name, "end")
    if mark is not None:
        x, y = place(*mark)
        body += f'<circle class="ours" cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{OURS}"/>'
        side = "end" if x > WIDE - 120 else "start"
        label = " ".join([*filter(None, list(lines)[:1]), number(mark[1])])
        below = len(lines) > 1  # where another line is above
        body += _text(x + (10 if side == "start" else -10), y + 24 if below else max(y - 8, 14), label, side)
    return _figure(body, HIGH + 60, caption)


def steps(values: Sequence[tuple[str, float]], caption: str, up: str, marked: int | None = None) -> str:
    """A bar for each of many values, one of them marked; the axis goes from 0 to the largest."""
    top = max([value for _, value in values] + [1e-12])
    width, height = (WIDE - LEFT - RIGHT) / len(values), HIGH + 60 - TOP - BOTTOM
    body = _axes("", up, values[0][0], values[-1][0], top, height)
    for i, (_, value) in enumerate(values):
        tall = height * max(value, 0.0) / top
        kind = "ours" if marked in (None, i) else "others"
        body += (
            f'<rect class="{kind}" x="{LEFT + i * width:.2f}" y="{TOP + height - tall:.1f}" '
            f'width="{max(width * 0.86, 0.6):.2f}" height="{max(tall, 0.5):.1f}" fill="{OURS}"/>'
        )
    return _figure(body, HIGH + 60, caption)


def number(value: float) -> str:
    """A number with few digits."""
    return f"{value:,.0f}" if 1e5 <= abs(value) < 1e15 else f"{value:,.4g}"


def _axes(across: str, up: str, first: float | str, last: float | str, top: float, height: float) -> str:
    ends = [end if isinstance(end, str) else number(end) for end in (first, last)]
    floor, most = TOP + height, number(top)
    if len(most) > 6:  # there is no room for it beside the axis
        up, most = f"{up}, up to {most}", ""
    return (
        f'<line x1="{LEFT}" y1="{floor}" x2="{WIDE - RIGHT}" y2="{floor}" stroke="{INK}" opacity="0.4"/>'
        f'<line x1="{LEFT}" y1="{TOP}" x2="{LEFT}" y2="{floor}" stroke="{INK}" opacity="0.4"/>'
        + _text(LEFT, floor + 18, ends[0], "start")
        + _text(WIDE - RIGHT, floor + 18, ends[1], "end")
        + _text((LEFT + WIDE - RIGHT) / 2, floor + 34, across, "middle")
        + _text(LEFT - 6, TOP + 12, most, "end")
        + _text(LEFT - 6, floor, "0", "end")
        + _text(LEFT + 6, TOP - 8, up, "start")
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {where} font-size="14" fill="{INK}">{html.escape(text)}</text>'


def _figure(body: str, high: float, caption: str) -> str:
    title = html.escape(caption)
    return (
        f'<figure><svg viewBox="0 0 {WIDE} {high}" role="img" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{title}</title>{body}</svg><figcaption>{title}</figcaption></figure>"
    )
