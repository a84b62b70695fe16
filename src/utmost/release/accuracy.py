"""How accurate an answer is, from public things only: the prior and the mechanism before, the released value after.

Nothing here has seen the table. Before an answer: the expected loss, on average under the prior and at the worst point.
After it: what the prior and the released value say about the truth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from utmost.exact import as_plain
from utmost.release.mechanisms.choice import OptimalTable
from utmost.release.mechanisms.hardest import TRIED
from utmost.release.mechanisms.losses import cost, scaled
from utmost.release.mechanisms.means import mean_losses
from utmost.release.mechanisms.noisy_line import NoisyLine
from utmost.release.mechanisms.selection import SelectionDesign
from utmost.release.mechanisms.steps import Steps
from utmost.release.questions import Part, Question

CONFIDENCE = 0.95


def before(question: Question) -> dict[str, Any]:
    """The expected loss under the prior and at the worst point, in the unit of the answer."""
    if question.joint is not None:
        return _joint_before(question.joint.design)
    if question.kind == "mean":
        return _mean_before(question)
    design, step = question.parts[0].design, float(question.parts[0].step)
    return {"loss": design.loss, "average": average(question), "worst": scaled(design.loss, design.worst, step)}


def average(question: Question) -> float:
    """The expected declared loss under the prior, in the unit of the answer."""
    if question.joint is not None:
        return question.joint.design.expected[question.joint.design.loss]
    if question.kind == "mean":
        return _mean_error(question, None)[question.parts[0].design.loss]
    part = question.parts[0]
    return scaled(part.design.loss, part.design.expected[part.design.loss], float(part.step))


def after(question: Question, released: Mapping[str, Any]) -> dict[str, Any]:
    """What the released value says about the truth, given the prior."""
    if question.joint is not None:
        return _joint_after(question.joint.design, released)
    if question.is_choice:
        part = question.parts[0]
        assert isinstance(part.design.mechanism, Steps)
        return {"probability_right": part.design.mechanism.chance_right(bool(released[part.name]))}
    if question.kind == "mean":
        return _mean_after(question, released)
    part = question.parts[0]
    points, chances = posterior(part, released[part.name])
    loss, step = part.design.loss, float(part.step)
    expected = float(chances @ cost(loss, points - released[part.name]))
    low, high = interval(points, chances, CONFIDENCE)
    return {
        "expected": scaled(loss, expected, step),
        "interval": [as_plain(low * part.step), as_plain(high * part.step)],
        "confidence": CONFIDENCE,
    }


def compared(question: Question) -> dict[str, dict[str, float]]:
    """The expected losses under the prior, ours first, then the usual alternatives, by loss."""
    if question.joint is not None:
        design = question.joint.design
        return {"Utmost": dict(design.expected), **{name: dict(by) for name, by in design.alternatives.items()}}
    if question.kind == "mean":
        ours, others = _mean_error(question, None), question.parts[0].design.alternatives
        return {"Utmost": ours, **{name: _mean_error(question, name) for name in others}}
    part = question.parts[0]
    laws = {"Utmost": part.design.expected, **part.design.alternatives}
    step = float(part.step)
    return {name: {loss: scaled(loss, value, step) for loss, value in by.items()} for name, by in laws.items()}


def posterior(part: Part, value: int) -> tuple[Any, Any]:
    """The points a part may have had, and their probabilities given the released value."""
    mechanism = part.design.mechanism
    assert isinstance(mechanism, NoisyLine | OptimalTable)
    positions, chances = mechanism.posterior(value)
    return positions + part.line.first, chances


def interval(points: Any, chances: Any, confidence: float) -> tuple[int, int]:
    """The points between which the truth lies with this probability, as much left out below as above."""
    sums = np.cumsum(chances)
    left_out = (1 - confidence) / 2 * sums[-1]
    low = int(np.searchsorted(sums, left_out, side="right"))
    high = int(np.searchsorted(sums, sums[-1] - left_out, side="left"))
    return int(points[min(low, len(points) - 1)]), int(points[min(high, len(points) - 1)])


def _joint_before(design: Any) -> dict[str, Any]:
    """Of several counts the loss of one, averaged over them; of a choice, with how the average was found."""
    found = {"loss": design.loss, "average": design.expected[design.loss], "worst": design.worst}
    if not isinstance(design, SelectionDesign):
        return found
    error = design.errors[design.name][design.loss]
    labels = ({"standard_error": error} if error else {}) | ({"worst_is": TRIED} if design.worst_among == TRIED else {})
    return found | labels | {"holds": f"average: {design.holds}; worst: {design.worst_among}"}


def _joint_after(design: Any, released: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(design, SelectionDesign):
        known = design.chance_right(released)
        if known is None:
            return {}
        chance, error = known
        return {"probability_right": chance} | ({"standard_error": error} if error else {})
    intervals = {
        name: list(interval(points, chances, CONFIDENCE))
        for name, (points, chances) in design.posterior(released).items()
    }
    return {"intervals": intervals, "confidence": CONFIDENCE, "given": design.given}


# ---- a mean: from a sum around the middle and a count ----


def _mean_error(question: Question, name: str | None) -> dict[str, float]:
    """The expected losses of a mean if every unit has a value, ours or those of an alternative."""
    of_sum, of_count = question.parts
    pair = (of_sum.design, of_count.design)
    losses = mean_losses(pair, of_sum.contribution.least, of_sum.contribution.most, name)
    return {loss: scaled(loss, value, float(of_sum.step)) for loss, value in losses.items()}


def _mean_before(question: Question) -> dict[str, Any]:
    part, loss = question.parts[0], question.parts[0].design.loss
    widest = scaled(
        loss, float(cost(loss, np.array(part.contribution.most - part.contribution.least))), float(part.step)
    )
    holds = "average: if every unit has a value and every mean is as likely; worst: the whole range, if nobody has one"
    return {"loss": loss, "average": average(question), "worst": widest, "holds": holds}


def _mean_after(question: Question, released: Mapping[str, Any]) -> dict[str, Any]:
    """An interval for sum and count each, and the means they leave possible, clamped to the range."""
    of_sum = question.parts[0]
    each = (1 + CONFIDENCE) / 2
    sums, counts = (interval(*posterior(part, released[part.name]), each) for part in question.parts)
    least, most = max(counts[0], 1), max(counts[1], 1)
    corners = [s / c for s in sums for c in (least, most)]
    ends = [of_sum.contribution.least, of_sum.contribution.most]
    middle = question.value({"sum": 0, "count": 1})
    step = float(of_sum.step)
    low, high = (min(max(c, ends[0]), ends[1]) for c in (min(corners), max(corners)))
    return {"interval": [middle + low * step, middle + high * step], "confidence": CONFIDENCE}
