"""The results of a form as one HTML page: for every question its shares with intervals, and a picture."""

from __future__ import annotations

import html
from collections.abc import Sequence

from utmost.survey.cross_table import CrossTable
from utmost.survey.form import FormEstimate
from utmost.theory.local.design.estimation import Estimate

STYLE = (
    ":root{color-scheme:light dark;--page:#fff;--ink:#1d2126;--soft:#51575f;--line:#d4d8de;--bar:#4271ae}"
    "@media(prefers-color-scheme:dark){:root{--page:#16181b;--ink:#e9eaec;--soft:#b3b8c0;--line:#454b54;--bar:#86b0e6}}"
    "body{font:16px/1.5 system-ui,sans-serif;margin:0;color:var(--ink);background:var(--page);overflow-wrap:anywhere}"
    "main{max-width:46rem;margin:0 auto;padding:1.5rem 1rem 4rem}h1{font-size:1.6rem}"
    "h2{font-size:1.2rem;margin-top:2.5rem}"
    "figure{margin:.5rem 0}figcaption,.small{color:var(--soft);font-size:.9rem}"
    "svg{width:100%;max-width:36rem;height:auto}"
    "svg .bar{fill:var(--bar);opacity:.75}svg .ink{stroke:var(--ink);stroke-width:2}svg .axis{stroke:var(--line)}"
    "svg text{fill:var(--ink);font-size:14px}.wide{overflow-x:auto}"
    "table{border-collapse:collapse;margin:.5rem 0}td,th{padding:.25rem .6rem;text-align:right;white-space:nowrap;"
    "border-bottom:1px solid var(--line)}th:first-child{text-align:left;padding-left:0;white-space:normal;"
    "min-width:7rem}tbody th{font-weight:400}"
)
WIDE, LINE, FIRST = 420, 30, 150


def results_page(found: FormEstimate, level: float = 0.95, tables: Sequence[CrossTable] = ()) -> str:
    """An HTML page with the estimates of a form: pictures, numbers, intervals, and cross-tables.

    Parameters
    ----------
    found : FormEstimate
        The result of `Form.estimate`.
    level : float
        The confidence level of the intervals.
    tables : sequence of CrossTable
        Results of `found.cross(...)`, shown below.
    """
    form = found.form
    parts = [_section(name, part, level) for name, part in zip(form.questions, found.estimates, strict=True)]
    parts += [_cross(table, level) for table in tables]
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="generator" content="Utmost">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{html.escape(form.title)}: results</title><style>{STYLE}</style></head><body><main>"
        f"<h1>{html.escape(form.title)}</h1><p>{found.people} people responded. Every response was mixed with chance "
        f"on the person's own device ({html.escape(str(form.level))} for all questions together), so these are "
        f"estimates: the true share of each answer lies in its range in {100 * level:g} of 100 such surveys.</p>"
        f"{''.join(parts)}"
        f'<p class="small">Form {form.identity[:16]}. Shares are unbiased and may come out below 0 where an answer is '
        "rare.</p></main></body></html>\n"
    )


def _section(name: str, estimate: Estimate, level: float) -> str:
    ends = estimate.interval(level)
    rows = "".join(
        f'<tr><th scope="row">{html.escape(str(category))}</th><td>{_percent(estimate.frequencies[i])}</td>'
        f"<td>{_percent(ends[i, 0])}</td><td>{_percent(ends[i, 1])}</td></tr>"
        for i, category in enumerate(estimate.categories)
    )
    head = (
        '<tr><th scope="col">answer</th><th scope="col">share</th><th scope="col">from</th><th scope="col">to</th></tr>'
    )
    return (
        f"<h2>{html.escape(name)}</h2>{_picture(name, estimate, level)}"
        f"{_scrolling(name)}<table><thead>{head}</thead><tbody>{rows}</tbody></table></div>"
    )


def _picture(name: str, estimate: Estimate, level: float) -> str:
    """Bars of the shares with their intervals, on a scale from 0 to the largest end."""
    ends = estimate.interval(level)
    top = max(float(ends[:, 1].max()), 0.01)
    high = LINE * len(estimate.categories) + 30

    def at(share: float) -> float:
        return FIRST + (WIDE - FIRST - 20) * min(max(share, 0.0), top) / top

    body = ""
    for i, category in enumerate(estimate.categories):
        y = 6 + LINE * i
        text = str(category) if len(str(category)) <= 19 else f"{str(category)[:18]}…"
        low, far, share = at(float(ends[i, 0])), at(float(ends[i, 1])), at(float(estimate.frequencies[i]))
        middle = y + LINE / 2 - 3
        body += f'<text x="{FIRST - 10}" y="{middle + 5:.1f}" text-anchor="end">{html.escape(text)}</text>'
        body += f'<rect class="bar" x="{FIRST}" y="{y}" width="{max(share - FIRST, 0.5):.1f}" height="{LINE - 10}"/>'
        body += (
            f'<path class="ink" d="M{low:.1f} {middle}H{far:.1f}M{low:.1f} {middle - 6}v12M{far:.1f} {middle - 6}v12"/>'
        )
    body += f'<line class="axis" x1="{FIRST}" y1="0" x2="{FIRST}" y2="{high - 24}"/>'
    body += f'<text x="{FIRST}" y="{high - 6}" text-anchor="middle">0 %</text>'
    body += f'<text x="{WIDE - 20}" y="{high - 6}" text-anchor="end">{_percent(top)}</text>'
    title = f"Estimated shares of the answers to: {name}"
    return (
        f'<figure><svg viewBox="0 0 {WIDE} {high}" role="img" aria-label="{html.escape(title)}">'
        f"<title>{html.escape(title)}</title>{body}</svg>"
        f"<figcaption>Bars are estimates; the lines across their ends are {100 * level:g} % intervals.</figcaption>"
        "</figure>"
    )


def _cross(table: CrossTable, level: float) -> str:
    ends = table.interval(level)
    columns = "".join(f'<th scope="col">{html.escape(str(name))}</th>' for name in table.columns)
    rows = ""
    for i, name in enumerate(table.rows):
        cells = "".join(
            f"<td>{_percent(table.frequencies[i, j])}<br>"
            f'<span class="small">{_percent(ends[i, j, 0])} to {_percent(ends[i, j, 1])}</span></td>'
            for j in range(len(table.columns))
        )
        rows += f'<tr><th scope="row">{html.escape(str(name))}</th>{cells}</tr>'
    caution = f"<p>{html.escape(table.caution)}</p>" if table.caution else ""
    return (
        f"<h2>“{html.escape(table.questions[0])}” by “{html.escape(table.questions[1])}”</h2>"
        f'{_scrolling(" by ".join(table.questions))}<table><thead><tr><th scope="col">share of all people</th>{columns}'
        "</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>{caution}"
    )


def _scrolling(name: str) -> str:
    """The opening tag of a region that scrolls on narrow pages, by keyboard too."""
    return f'<div class="wide" role="region" tabindex="0" aria-label="{html.escape(f"Numbers: {name}")}">'


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %".replace("-", "−")
