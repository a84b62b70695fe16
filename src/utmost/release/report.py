"""One self-contained HTML page that defends answers, and the same as JSON beside it.

Made of an answer's details alone (public parameters, released value, ledger state), so two tables that led to the same
released value have byte-identical reports. Nothing is fetched: pictures are inline, there is no script.
"""

from __future__ import annotations

import html
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from utmost.errors import InvalidInput
from utmost.release.accuracy import posterior
from utmost.release.answer import Answer, show
from utmost.release.pictures import bars, belief

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2.5rem;border-top:1px solid #ddd;padding-top:1rem}"
    ".value{font-size:2.4rem;font-weight:600;color:#4271ae;margin:.2rem 0}"
    "table{border-collapse:collapse;margin:.5rem 0}td,th{padding:.2rem .7rem;text-align:right}"
    "td,th{border-bottom:1px solid #eee}td:first-child,th:first-child{text-align:left;white-space:nowrap}"
    "td.words{text-align:left;overflow-wrap:anywhere}tr.ours td{font-weight:600}"
    ".small{color:#666;font-size:.9rem}svg{width:100%}"
)
MOST_BARS = 40
LOSSES = {"absolute": "mean error", "squared": "mean squared error", "zero-one": "chance of a wrong answer"}


def write_report(answers: Sequence[Answer], path: str | os.PathLike[str], title: str | None = None) -> Path:
    """Write the page, and a JSON file of the same name beside it; each is complete or not there at all."""
    target = require_writable(path)
    head = title or (answers[0].details["words"] if len(answers) == 1 else f"{len(answers)} private answers")
    content = "".join(_section(answer) for answer in answers)
    dataset = html.escape(str(answers[0].details["dataset"]))
    page = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{html.escape(head)}</title><style>{STYLE}</style></head><body><h1>{html.escape(head)}</h1>"
        f'<p class="small">Data set {dataset}. Everything on this page is made of public parameters and the released '
        "values; nothing else about the table is in it.</p>"
        f"{content}</body></html>\n"
    )
    data: Any = [answer.details for answer in answers]
    _write(
        target.with_suffix(".json"),
        json.dumps(data[0] if len(data) == 1 else data, indent=2, ensure_ascii=False) + "\n",
    )
    return _write(target, page)


def require_writable(path: str | os.PathLike[str]) -> Path:
    """Refuse a place where no report can be written, or where the JSON beside it would replace another file."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise InvalidInput(f"{target} is not a page; name a file that ends in .html (the same as JSON goes beside it).")
    if not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
        raise InvalidInput(f"{target} cannot be written: there is no folder {str(target.parent)!r} to write to.")
    beside = target.with_suffix(".json")
    if beside.exists() and not _is_report(beside):
        raise InvalidInput(f"{beside} is there already and no report of Utmost; name another page than {target.name}.")
    return target


def _is_report(path: Path) -> bool:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    first = content[0] if isinstance(content, list) and content else content
    return isinstance(first, dict) and {"value", "mechanism", "proof", "ledger"} <= set(first)


def _section(answer: Answer) -> str:
    d = answer.details
    facts = [
        ("Spent", f"{d['privacy']} ({d['neighbours']}; {d['unit']}; one neighbour moves it by at most {_moves(d)})"),
        ("Mechanism", d["mechanism"]),
        *((f"Proof{_of(p, d)}", _proof(p)) for p in d["parts"]),
        ("Accuracy before", _before(d)),
        ("Accuracy after", _after(d)),
        ("Loss and prior", f"{d['question']['loss']} loss, {d['question']['prior']} prior"),
        *(("Note", note) for note in d["notes"]),
        ("Ledger", _ledger(d)),
    ]
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td class='words'>{text}</td></tr>" for name, text in _escaped(facts)
    )
    return (
        f"<h2>{html.escape(d['words'])}</h2><p class='value'>{html.escape(show(answer.value))}</p>"
        f"{_belief(answer)}<table>{rows}</table>{_compared(d)}"
    )


def _belief(answer: Answer) -> str:
    """The picture of what is known after a number was released; several counts side by side."""
    if answer.question.joint is not None:
        several = isinstance(answer.value, Mapping) and len(answer.value) <= MOST_BARS
        if not several:
            return ""
        shown = {_short(name): float(count) for name, count in answer.value.items()}
        return bars(shown, "Released counts") if len(shown) == len(answer.value) else ""
    if answer.question.is_choice or answer.question.kind == "mean":
        return ""
    part = answer.question.parts[0]
    points, chances = posterior(part, answer.released[part.name])
    near = chances > chances.max() * 1e-3
    points, chances = points[near], chances[near]
    if len(points) > 400:
        keep = np.unique(np.linspace(0, len(points) - 1, 400).astype(int))
        points, chances = points[keep], chances[keep]
    step = float(part.step)
    low, high = answer.interval or (0.0, 0.0)
    return belief((points * step).tolist(), chances.tolist(), float(answer.value), (low, high))


def _short(name: str) -> str:
    return name if len(name) <= 28 else f"{name[:27]}…"


def _compared(d: Any) -> str:
    """The expected losses of the usual alternatives, by every loss shown; the declared one as a picture."""
    declared = d["accuracy"]["before"]["loss"]
    losses = list(next(iter(d["compared"].values())))
    head = "".join(
        f"<th>{html.escape(LOSSES.get(loss, loss))}{' *' if loss == declared else ''}</th>" for loss in losses
    )
    rows = ""
    for name, by in d["compared"].items():
        cells = "".join(f"<td>{by[loss]:.6g}</td>" if loss in by else "<td></td>" for loss in losses)
        rows += f"<tr{' class=ours' if name == 'Utmost' else ''}><td>{html.escape(name)}</td>{cells}</tr>"
    picture = bars(
        {name: by[declared] for name, by in d["compared"].items() if declared in by}, LOSSES.get(declared, declared)
    )
    estimated = "standard_error" in d["accuracy"]["before"]
    found = "estimated on the same tallies" if estimated else "computed from the laws; nothing was drawn for them"
    return (
        f"<h3>Against the usual alternatives</h3>{picture}<table><tr><th></th>{head}</tr>{rows}</table>"
        f"<p class='small'>Expected losses under the same prior, {found}. "
        "* is the loss the mechanism was chosen for: it need not be best by the others.</p>"
    )


def _before(d: Any) -> str:
    first = d["accuracy"]["before"]
    note = f" ({first['holds']})" if "holds" in first else ""
    what = LOSSES.get(first["loss"], first["loss"])
    worst = f"{first['worst']:.6g} at {first.get('worst_is', 'worst')}"
    return f"{what} {first['average']:.6g} on average under the prior, {worst}{note}"


def _after(d: Any) -> str:
    known = d["accuracy"]["after"]
    if not known:
        return "not known: too few tallies drawn from the prior have this answer"
    if "probability_right" in known:
        error = f" (estimated, standard error {known['standard_error']:.2g})" if "standard_error" in known else ""
        return f"right with probability {known['probability_right']:.6g}{error}, given the prior and this answer"
    if "intervals" in known:
        shown = [f"{name} {show(low)} to {show(high)}" for name, (low, high) in known["intervals"].items()]
        return f"with {known['confidence']:.0%} each, given {known['given']}: {'; '.join(shown)}"
    low, high = known["interval"]
    expected = f"; expected loss {known['expected']:.6g}" if "expected" in known else ""
    between = f"between {show(low)} and {show(high)} with {known['confidence']:.0%}"
    return f"{between}, given the prior and this answer{expected}"


def _proof(part: Any) -> str:
    proof = part["proof"]
    gap = "" if proof["gap"] is None else f" (gap {proof['gap']:.2g})"
    return f"Private: {proof['private']}. Optimal: {proof['optimal']}{gap}: {proof['because']}."


def _ledger(d: Any) -> str:
    ledger = d["ledger"]
    kept = "" if ledger["kept"] else " The account is in memory only: it is lost with the process that asked."
    return f"entry {ledger['entry']} of {ledger['time']}; spent {ledger['spent']}; chain head {ledger['head']}.{kept}"


def _moves(d: Any) -> str:
    return ", ".join(str(steps) if len(d["moves"]) == 1 else f"{steps} ({name})" for name, steps in d["moves"].items())


def _of(part: Any, d: Any) -> str:
    return "" if len(d["parts"]) == 1 else f" of the {part['part']}"


def _escaped(facts: Any) -> Any:
    return [(name, html.escape(text)) for name, text in facts]


def _write(target: Path, text: str) -> Path:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o644)  # a report is for others
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return target
