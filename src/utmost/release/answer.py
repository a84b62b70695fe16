"""An answer and what defends it: value, mechanism, accuracy, proof, spend, chain head; a plan is all but the value."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utmost.privacy import Level
from utmost.release.accuracy import after, before, compared
from utmost.release.conditions.reading import readings
from utmost.release.mechanisms.losses import scaled
from utmost.release.mechanisms.steps import Steps
from utmost.release.questions import Question
from utmost.release.words import estimated, known_after, optimality, show

RECORDED = "recorded answer: nothing was spent now"


@dataclass(frozen=True, eq=False)
class Plan:
    """What an answer would be like, from public parameters alone: nothing was read and nothing spent."""

    question: Question
    details: Mapping[str, Any]

    @property
    def privacy(self) -> Level:
        """What asking would spend."""
        return self.question.level

    @property
    def accuracy(self) -> Mapping[str, Any]:
        """The expected loss, on average under the prior and at the worst point."""
        found: Mapping[str, Any] = self.details["accuracy"]
        return found

    def __str__(self) -> str:
        return "\n".join(
            [f"plan: {self.details['words']}", *_lines(self.details), "  nothing was read, nothing is spent"]
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


@dataclass(frozen=True, eq=False)
class Answer:
    """A private answer with everything that defends it.

    Attributes
    ----------
    value : the answer: a number, True or False, a candidate, or a dict of counts
    released : the integers that were released, by part; the value is made of them
    details : everything else, as plain data; what `to_json` writes and `report` shows
    recorded : whether the identical question had been answered before: then nothing was spent now
    """

    question: Question
    value: Any
    released: Mapping[str, Any]
    details: Mapping[str, Any]
    recorded: bool = False

    @property
    def privacy(self) -> Level:
        """What the answer spent, when it was drawn."""
        return self.question.level

    @property
    def accuracy(self) -> Mapping[str, Any]:
        """Before: average under the prior and worst point. After: what the released value says about the truth."""
        found: Mapping[str, Any] = self.details["accuracy"]
        return found

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the truth lies with 95 %, given the prior and this answer.

        None for yes or no, for a candidate, and for several counts, each of which has one in `accuracy["after"]`.
        """
        found = self.details["accuracy"]["after"].get("interval")
        return None if found is None else (found[0], found[1])

    @property
    def head(self) -> str:
        """The head of the ledger's chain right after this answer."""
        return str(self.details["ledger"]["head"])

    def to_json(self) -> str:
        """One JSON object: the same answer, the same bytes."""
        return json.dumps(self.details, indent=2, ensure_ascii=False)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write one self-contained HTML page that defends the answer, and the same as JSON beside it."""
        from utmost.release.report import write_report

        return write_report([self], path)

    def __str__(self) -> str:
        again = [f"  {RECORDED}"] if self.recorded else []
        return "\n".join([f"{self.details['words']}  {show(self.value)}", *_lines(self.details), *again])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def describe(question: Question, dataset: str) -> dict[str, Any]:
    """Everything public about a question: what a plan shows and an answer repeats."""
    setting = question.setting
    parts = [_described(part.name, part.design, str(part.line), float(part.step)) for part in question.parts]
    moves: Mapping[str, int] = {part.name: part.line.reach for part in question.parts}
    if question.joint is not None:
        design = question.joint.design
        parts, moves = [_described(question.kind, design, design.space)], design.moves
    return {
        "words": question.words,
        "question": dict(question.public),
        "dataset": dataset,
        "unit": str(setting.unit),
        "neighbours": setting.neighbours,
        "moves": dict(moves),
        "privacy": str(question.level),
        "mechanism": "; ".join(part["mechanism"] for part in parts),
        "proof": parts[0]["proof"] if len(parts) == 1 else {p["part"]: p["proof"] for p in parts},
        "parts": parts,
        "notes": _notes(question),
        "accuracy": {"before": before(question)},
        "compared": compared(question),
    }


def _described(name: str, design: Any, space: str, step: float = 1.0) -> dict[str, Any]:
    """One mechanism as plain data, bound and gap in the unit of the answer."""
    proof = design.proof
    bound, gap = (None if x is None else scaled(design.loss, x, step) for x in (proof.bound, proof.gap))
    return {
        "part": name,
        "mechanism": design.name,
        "space": space,
        "privacy": str(design.level),
        "proof": {
            "private": proof.privacy,
            "optimal": proof.claim,
            "because": proof.optimality,
            "bound": bound,
            "gap": gap,
        },
    }


def _notes(question: Question) -> list[str]:
    """What somebody about to spend should know."""
    notes = readings(question.setting.source, question.public)
    mechanism = question.parts[0].design.mechanism if question.is_choice else None
    if isinstance(mechanism, Steps) and mechanism.constant:
        notes.append(
            "under this prior the answer that is right most often is the same whatever the table says; give a prior, "
            "or a larger epsilon"
        )
    return notes


def make_plan(question: Question, dataset: str, left: str) -> Plan:
    """The plan for a question."""
    return Plan(question, {**describe(question, dataset), "ledger": {"left": left}})


def make_answer(
    question: Question,
    described: Mapping[str, Any],
    released: Mapping[str, Any],
    ledger: Mapping[str, Any],
    recorded: bool = False,
) -> Answer:
    """The answer made of released integers, public parameters (from `describe`) and the state of the ledger."""
    value = question.value(released)
    accuracy = {**described["accuracy"], "after": after(question, released)}
    first = {
        "value": value,
        "words": described["words"],
        "privacy": described["privacy"],
        "spent": ledger["spent"],
        "accuracy": accuracy,
    }
    rest = {name: part for name, part in described.items() if name not in first}
    details = {**first, **rest, "released": dict(released), "ledger": dict(ledger)}
    return Answer(question, value, released, details, recorded)


def _lines(details: Mapping[str, Any]) -> list[str]:
    first = details["accuracy"]["before"]
    lines = [
        f"  privacy: {details['privacy']}, {details['neighbours']}, {details['unit']}",
        f"  mechanism: {details['mechanism']}",
    ]
    known_best = {f", the {part['part']}": optimality(part["proof"]) for part in details["parts"]}
    if len(set(known_best.values())) == 1:  # of one part, or the same of all
        known_best = {"": next(iter(known_best.values()))}
    lines += [f"  optimal{of}: {what}" for of, what in known_best.items()]
    what = "probability of a wrong answer" if first["loss"] == "zero-one" else f"expected {first['loss']} error"
    worst = f"{first['worst']:.4g} at {first.get('worst_is', 'worst')}"
    holds = f" ({first['holds']})" if details["question"]["question"] == "mean" else ""
    lines.append(f"  accuracy before: {what} {first['average']:.4g} on average{estimated(first)}, {worst}{holds}")
    known = details["accuracy"].get("after")  # a plan has none
    if known is not None and "intervals" in known:
        shown = [f"{name} {show(low)} to {show(high)}" for name, (low, high) in known["intervals"].items()]
        lines.append(
            f"  accuracy after, with {known['confidence']:.0%} each: {'; '.join(shown)}, given {known['given']}"
        )
    elif known is not None:
        lines.append(f"  accuracy after: {known_after(details)}")
    loss = first["loss"]
    others = ", ".join(f"{name} {by[loss]:.4g}" for name, by in details["compared"].items() if loss in by)
    lines.append(f"  {loss} loss: {others}")
    lines += [f"  note: {note}" for note in details["notes"]]
    ledger = details["ledger"]
    if "head" in ledger:
        kept = "" if ledger["kept"] else " (in memory: lost with this process)"
        lines.append(f"  ledger{kept}: entry {ledger['entry']}, spent {ledger['spent']}, head {ledger['head'][:16]}")
    else:
        lines.append(f"  ledger: {ledger['left']} left")
    return lines
