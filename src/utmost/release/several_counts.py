"""Several counts at once: how many rows have each of some conditions, which may overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from utmost.errors import InvalidInput, shown
from utmost.release.mechanisms.losses import as_loss
from utmost.release.mechanisms.several import design_overlapping
from utmost.release.plain import plain
from utmost.release.questions import Joint, Question, Setting, as_releasable, loss_and_prior, rows_that_count, text_of
from utmost.release.statistics import ones, statement
from utmost.release.units import Of

MOST_CONDITIONS = 100


def counts(setting: Setting, conditions: Any, privacy: Any, of: Of, loss: str) -> Question:
    """How many rows have each condition; one row may have all of them, so one neighbour moves every count."""
    level, loss, listed, of = as_releasable(privacy), as_loss(loss), _named(conditions, setting), plain(of)
    rows_each = rows_that_count(setting, of)
    contributions = {f"c{i}": ones(setting.source, where) for i, where in enumerate(listed.values())}
    line = setting.line(contributions["c0"], rows_each)
    names = tuple(listed)
    design = design_overlapping(names, line, level, loss)
    joint = Joint(
        lambda secret: statement(setting.source, setting.unit, rows_each, contributions, secret),
        lambda sums: {name: line.clamp(sums[f"c{i}"]) for i, name in enumerate(names)},
        design,
    )
    texts = {name: text_of(where, setting.source) for name, where in listed.items()}
    return Question(
        "counts",
        f"How many {of} have each of: {'; '.join(str(text) for text in texts.values())}?",
        {
            "question": "counts",
            "where": list(texts.values()),
            "names": list(names),
            "of": of,
            **loss_and_prior(loss, None),
        },
        level,
        setting,
        rows_each,
        (),
        lambda released: {name: released[name] for name in names},  # in the order asked
        lambda other: counts(setting, conditions, other, of, loss),
        joint,
    )


def _named(conditions: Any, setting: Setting) -> dict[str, Any]:
    """Conditions by name: as they are named, or by their own text."""
    if isinstance(conditions, Mapping | Sequence) and any(where is None for where in _wheres(conditions)):
        raise InvalidInput(
            "a condition is None; name the rows it is about, or count all rows with session.count(None)."
        )
    if isinstance(conditions, Mapping):
        listed = {plain(name): where for name, where in conditions.items()}
        if not all(isinstance(name, str) and name.strip() for name in listed):
            raise InvalidInput("a condition's name is no text; name each by a text, such as {'old': 'age >= 65'}.")
    elif isinstance(conditions, Sequence) and not isinstance(conditions, str):
        listed = {str(text_of(where, setting.source)): where for where in conditions}
    else:
        raise InvalidInput(f"conditions is {shown(conditions)}; list them, such as ['age >= 65', \"town = 'Briar'\"].")
    if not 1 <= len(conditions) <= MOST_CONDITIONS:
        raise InvalidInput(
            f"there are {len(conditions)} conditions; give 1 to {MOST_CONDITIONS}: every one shares the same epsilon."
        )
    if len(listed) < len(conditions):
        raise InvalidInput(f"{_twice(conditions, setting)} is listed twice; list every condition once.")
    return listed


def _wheres(conditions: Mapping[Any, Any] | Sequence[Any]) -> list[Any]:
    return list(conditions.values() if isinstance(conditions, Mapping) else conditions)


def _twice(conditions: Sequence[Any], setting: Setting) -> str:
    texts = [str(text_of(where, setting.source)) for where in conditions]
    return shown(next(text for i, text in enumerate(texts) if text in texts[:i]))
