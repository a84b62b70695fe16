"""The release report as an HTML page: values, pictures, proofs, accuracy, spend, and a comparison of mechanisms.

It is made of the answers' details alone (public parameters, released value, ledger state). Pictures are inline, nothing
is fetched, and there is no script. It works on phones, in dark mode, and with screen readers.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from itertools import islice

import numpy as np

from utmost.exact import as_plain
from utmost.messages import spelled_as
from utmost.queries.answers import Answer
from utmost.queries.report.pictures import bars, belief, curve_of
from utmost.queries.report.promise import promises
from utmost.queries.report.words import (
    MOST_CELLS,
    after_label,
    cell_name,
    expected_error,
    figures,
    known_after,
    near_limit_in_words,
    optimality,
    show,
    show_ends,
    show_one,
    times_rows,
)
from utmost.queries.spelling import PAGE

STYLE = (
    ":root{color-scheme:light dark;--page:#fff;--ink:#222;--soft:#666;--line:#ddd;--ours:#4271ae;--others:#b8bcc4}"
    "@media(prefers-color-scheme:dark){:root{--page:#17191c;--ink:#e6e6e6;--soft:#a9adb5;--line:#3d4147;--ours:#86b0e6;"
    "--others:#6d727b}}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:var(--ink);"
    "background:var(--page);overflow-wrap:anywhere}"
    "h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2.5rem;border-top:1px solid var(--line);padding-top:1rem}"
    ".value{font-size:2.4rem;font-weight:600;color:var(--ours);margin:.2rem 0;line-height:1.2}"
    ".wide{overflow-x:auto;margin:.5rem 0}table{border-collapse:collapse}"
    "td,th{padding:.2rem .7rem;text-align:right;vertical-align:top;border-bottom:1px solid var(--line);"
    "overflow-wrap:normal}"
    "td,tbody th{white-space:nowrap}tbody th{font-weight:400}"
    "td:first-child,th:first-child{text-align:left;padding-left:0}"
    "td.words,th.words{text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:12rem}"
    "th.words{min-width:7rem}tr.ours>*,td.released{font-weight:600}"
    "td.released{color:var(--ours)}"
    "figure{margin:.5rem 0}figcaption,.small{color:var(--soft);font-size:.9rem}"
    "svg{width:100%;overflow:visible}@media(max-width:600px){svg text{font-size:18px}th.words{min-width:4rem}"
    "td.words{min-width:8rem}}a{color:var(--ours)}"
    ".promise{border-left:.3rem solid var(--ours);padding-left:.8rem}"
    "summary{cursor:pointer;font-weight:600}@media print{details::details-content{content-visibility:visible;"
    "block-size:auto}figure,tr{break-inside:avoid}h2,h3{break-after:avoid}}"
    "svg .ours{fill:var(--ours)}svg .others{fill:var(--others)}svg .curve{stroke:var(--ours)}"
)
OPENING = '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="generator" content="Utmost">'
"""The beginning of every page; only files that begin like this are overwritten."""
MOST_BARS, MOST_DRAWN, MOST_ACROSS = 40, 400, 30
OURS = "Utmost"
LOSSES = {
    "absolute": "mean error",
    "squared": "mean squared error",
    "zero-one": "chance of a wrong answer",
    "users": "holders that a key needs",
    "missed": "share of the most frequent that is missed",
}


def page_of(answers: Sequence[Answer], title: str | None, purpose: str | None = None, author: str | None = None) -> str:
    """A page for one or several answers; the default title for one answer is its question."""
    head = title_of(answers, title)
    content = content_of(answers, title)
    datasets = list(dict.fromkeys(answer.dataset for answer in answers))
    named = f"Data set{'s' * (len(datasets) > 1)} {', '.join(datasets)}."
    statements = (("Purpose", purpose), ("Author", author))
    stated = "".join(f"<p>{name}: {html.escape(text)}</p>" for name, text in statements if text)
    return (
        f'{OPENING}<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{html.escape(head)}</title><style>{STYLE}</style></head><body><main><h1>{html.escape(head)}</h1>"
        f'{stated}<p class="small">{html.escape(named)} Made with Utmost {version("utmost")}. '
        "Everything on this page is made of public parameters and the released values; nothing else about the table is "
        "in it. The JSON file beside this page proves itself again: "
        "<code>utmost verify</code>.</p>"
        f"{content}</main></body></html>\n"
    )


def title_of(answers: Sequence[Answer], title: str | None = None) -> str:
    """The title of a page of answers."""
    return title or (answers[0].question.words if len(answers) == 1 else f"{len(answers)} private answers")


def content_of(answers: Sequence[Answer], title: str | None = None) -> str:
    """The HTML of the answers' sections, without the page around them."""
    alone = title is None and len(answers) == 1
    promised = "".join(f'<p class="promise">{html.escape(text)}</p>' for text in promises(answers))
    return promised + "".join(_section(answer, alone) for answer in answers)


def _section(answer: Answer, alone: bool) -> str:
    """The section of one answer; if it is alone on the page, the page's title is the question already."""
    details, terms = answer.details, answer.question.terms
    proof = details["proof"]
    facts = [
        (after_label(answer.after), _after(answer)),
        ("expected error", _before(answer)),
        ("Spent", f"{answer.privacy} ({terms.neighbours}; {terms.unit})"),
        *(("Note", note) for note in _notes(answer)),
    ]
    proved = [
        (
            "Proof",
            f"Private: {proof['private']}. Optimal: {optimality(proof)}.",
        ),
        ("Mechanism", details["mechanism"]),
        ("Statistic", _statistic(answer)),
        ("Loss and prior", f"{details['question']['loss']} loss, {details['question']['prior']} prior"),
        ("Ledger", _ledger(answer)),
    ]
    heading = "" if alone else f"<h2>{html.escape(answer.question.words)}</h2>"
    pictures = f"{picture_of(answer)}{_curve(answer)}"
    proof_below = f"<details><summary>The proof, and how the answer was made</summary>{_facts(proved)}</details>"
    compared = _compared(answer, "h2" if alone else "h3")
    return f"{heading}{_value(answer)}{pictures}{_facts(facts)}{compared}{proof_below}"


def _notes(answer: Answer) -> list[str]:
    """Notes about the query, the columns and the account."""
    notes = (
        *answer.question.notes_with_truncation,
        answer.outside_note,
        *answer.readings,
        answer.ledger.other_table,
    )
    with spelled_as(PAGE):
        return [str(note) for note in notes if note]


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    """Names with texts, as a table of two columns."""
    rows = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th><td class="words">{html.escape(text)}</td></tr>'
        for name, text in facts
    )
    return _table("", rows)


def _statistic(answer: Answer) -> str:
    step = answer.question.step
    return str(answer.question.space) + ("" if step == 1 else f", in steps of {as_plain(step)}")


def _value(answer: Answer) -> str:
    """The value in large letters; several numbers as a table with their intervals."""
    if not isinstance(answer.value, Mapping):
        return f'<p class="value">{html.escape(show(answer.value, answer.after.intervals))}</p>'
    return _cross_table(answer) + _listed(answer)


def _cross_table(answer: Answer) -> str:
    """Numbers by two key columns as a cross table, if it is not too large; else ""."""
    names = answer.question.key_columns
    if len(names) != 2 or not all(isinstance(key, tuple) and len(key) == 2 for key in answer.value):
        return ""
    down, across = (list(dict.fromkeys(key[i] for key in answer.value)) for i in (0, 1))
    if not 1 < len(across) <= MOST_ACROSS or not 1 < len(down) <= MOST_CELLS:
        return ""
    top = _columns(f"{names[0]} \\ {names[1]}", *map(cell_name, across))
    rows = ""
    for name in down:
        cells = ((other, answer.value.get((name, other))) for other in across)
        listed = ("" if cell is None else show_one((name, other), cell, answer.intervals) for other, cell in cells)
        row = "".join(f'<td class="released">{cell}</td>' for cell in listed)
        rows += f'<tr><th scope="row">{html.escape(cell_name(name))}</th>{row}</tr>'
    return _table(top, rows)


def _listed(answer: Answer) -> str:
    """The first of several numbers as a list, each with its interval."""
    groups, sure = answer.after.groups, f"from ({answer.after.confidence:.0%})"
    ends_of = [sure, "to"] if answer.intervals else []
    ends_of += ["rows", sure, "to", "reliable"] if groups else []
    keyed = "".join(f'<th scope="col" class="words">{html.escape(name)}</th>' for name in answer.question.key_columns)
    head = f"<thead><tr>{keyed}{_heads('released', *ends_of)}</tr></thead>"
    rows = ""
    for name, count in islice(answer.value.items(), MOST_CELLS):
        interval = ["–", "–"] * bool(answer.intervals)
        if name in answer.intervals:
            interval = [*show_ends(*answer.intervals[name])]
        ends = "".join(f"<td>{part}</td>" for part in (*interval, *map(show, groups.get(name, ()))))
        cells = f'<td class="released">{show_one(name, count, answer.intervals)}</td>{ends}'
        parts = name if isinstance(name, tuple) else (name,)
        keys = "".join(f'<th scope="row" class="words">{html.escape(cell_name(part))}</th>' for part in parts)
        rows += f"<tr>{keys}{cells}</tr>"
    more = len(answer.value) - MOST_CELLS
    rest = (
        f'<p class="small">The first {MOST_CELLS}; {more:,} more are in the CSV and JSON files.</p>' if more > 0 else ""
    )
    return _table(head, rows) + rest


def picture_of(answer: Answer) -> str:
    """A picture of the posterior of one number, or bars for several."""
    if isinstance(answer.value, Mapping):
        numbers = {name: value for name, value in answer.value.items() if value is not None}
        heights = {_short(cell_name(name)): float(n) for name, n in islice(numbers.items(), MOST_BARS + 1)}
        few = 0 < len(heights) == len(numbers) <= MOST_BARS and answer.question.shares_unit
        return bars(heights, *_with_intervals(answer)) if few else ""
    posterior = answer.question.belief(answer.released)
    if posterior is None or answer.interval is None:
        return ""
    points, chances = posterior
    near = chances > chances.max() * 1e-3
    points, chances = points[near], chances[near]
    if len(points) > MOST_DRAWN:
        keep = np.unique(np.linspace(0, len(points) - 1, MOST_DRAWN).astype(int))
        points, chances = points[keep], chances[keep]
    low, high = answer.interval
    caption = (
        f"How likely each true value is, given the prior and the answer {show(answer.value, answer.after.intervals)} "
        f"(dashed). Shaded: {' to '.join(show_ends(low, high))}, which holds the true value with "
        f"{answer.after.confidence:.0%}, {answer.after.rests_on}."
    )
    return belief(points.tolist(), chances.tolist(), float(answer.value), (low, high), caption)


def _with_intervals(answer: Answer) -> tuple[str, None, dict[str, tuple[float, float]]]:
    """The caption of the bars of several numbers, no highlighted bar, and the interval of each."""
    ends = {_short(cell_name(name)): (float(low), float(high)) for name, (low, high) in answer.intervals.items()}
    lines = f" Each line holds the true one with {answer.after.confidence:.0%}." if ends else ""
    return f"The released numbers.{lines}", None, ends


def _curve(answer: Answer) -> str:
    """The picture of a query's plan, if it has one."""
    curve = answer.question.curve
    return "" if curve is None else curve_of(curve)


def _table(head: str, rows: str) -> str:
    """A table that scrolls horizontally on a narrow page."""
    around = '<div class="wide" tabindex="0" role="group" aria-label="Table">'  # scrolls by keyboard, too
    return f"{around}<table>{head}<tbody>{rows}</tbody></table></div>"


def _columns(*names: str) -> str:
    return f"<thead><tr>{_heads(*names)}</tr></thead>"


def _heads(*names: str) -> str:
    return "".join(f'<th scope="col">{html.escape(name)}</th>' for name in names)


def _short(name: str) -> str:
    return name if len(name) <= 24 else f"{name[:23]}…"


def _compared(answer: Answer, heading: str) -> str:
    """The expected losses of the usual alternatives: a table of all losses, and a picture of the declared one."""
    declared, compared = answer.before.loss, answer.details["compared"]
    losses = list(next(iter(compared.values())))
    mark = "\u00a0*"
    head = _columns("mechanism", *(f"{LOSSES.get(loss, loss)}{mark * (loss == declared)}" for loss in losses))
    rows = ""
    for name, by in compared.items():
        cells = "".join(f"<td>{figures(by[loss])}</td>" if loss in by else "<td>–</td>" for loss in losses)
        ours = ' class="ours"' if name == OURS else ""
        rows += f'<tr{ours}><th scope="row">{html.escape(name)}</th>{cells}</tr>'
    losses_drawn = {name: by[declared] for name, by in compared.items() if declared in by}
    times = times_rows(answer.before)
    of_rows = " times the rows there are (squared: times their square)" if times else ""
    picture = bars(
        losses_drawn, f"Expected under the prior: {LOSSES.get(declared, declared)}{times}; less is better.", OURS
    )
    estimated = answer.before.standard_error > 0
    source = "estimated on the same tallies" if estimated else "computed from the laws; nothing was drawn for them"
    return (
        f"<{heading}>Against the usual alternatives</{heading}>{picture}{_table(head, rows)}"
        f'<p class="small">Expected losses{of_rows} under the same prior, {source}. '
        "* is the loss the mechanism was chosen for: it need not be best by the others.</p>"
    )


def _before(answer: Answer) -> str:
    first = answer.before
    note = f" ({first.holds})" if first.holds else ""
    what = LOSSES.get(first.loss, first.loss)
    return f"{what} {expected_error(first)}{note}"


def _after(answer: Answer) -> str:
    after = answer.after
    limit = f". Note: {near_limit_in_words(answer.question.terms.unit, after)}" if after.near_limit else ""
    if len(after.intervals) > 1:
        basis = after.basis if after.by_law else after.rests_on
        ranges = f"each within its range above with {after.confidence:.0%}, {basis}"
        if not after.by_law:
            ranges = f"{known_after(replace(after, intervals={}))}; {ranges}"
        return ranges + limit
    of_prior = after.expected is not None and after.rows is None
    expected = f"; expected loss {figures(after.expected or 0.0)}, given the prior" if of_prior else ""
    return f"{known_after(after)}{expected}{limit}"


def _ledger(answer: Answer) -> str:
    ledger = answer.ledger
    memory_note = "" if ledger.kept else " The account is in memory only: it is lost with the process that asked."
    return f"entry {ledger.entry} of {ledger.time}; spent {ledger.spent}; chain head {ledger.head}.{memory_note}"
