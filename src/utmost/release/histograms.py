"""Histograms: how many rows each category of one or two columns has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from utmost.errors import InvalidInput, shown
from utmost.release.mechanisms.losses import as_loss
from utmost.release.mechanisms.several import design_disjoint
from utmost.release.plain import plain
from utmost.release.questions import (
    Joint,
    Question,
    Setting,
    as_releasable,
    asking,
    loss_and_prior,
    rows_that_count,
    text_of,
)
from utmost.release.tallies import as_categories, category_cells, tally_statement
from utmost.release.units import Of


def histogram(
    setting: Setting, column: Any, categories: Any, privacy: Any, other: str | None, where: Any, of: Of, loss: str
) -> Question:
    """How many rows each category has; values that are not listed are dropped, or counted under the name `other`."""
    level, loss, listed = as_releasable(privacy), as_loss(loss), _columns(column, categories)
    other, of = plain(other), plain(of)
    named = isinstance(other, str) and other.strip()
    if other is not None and (not named or any(other in found for found in listed.values())):
        raise InvalidInput(
            f"other is {shown(other)}; give a name that is not a category, or None to drop what is unlisted."
        )
    rows_each = rows_that_count(setting, of)
    cells = category_cells(setting.source, listed, other is not None)
    labels = [[str(c) for c in found] + ([other] if other is not None else []) for found in listed.values()]
    names = tuple(", ".join(label) for label in product(*labels))
    if len(set(names)) < len(names):
        raise InvalidInput(f"two cells would be called {_twice(names)!r}; rename a category or `other`.")
    most = setting.unit.at_most * rows_each
    moves = rows_each if setting.neighbours == "add-remove" else 2 * rows_each
    replaced = setting.neighbours == "replace" and setting.unit.id is None
    closed = replaced and other is not None and where is None  # then every row is in a cell, before and after
    design = design_disjoint(names, most, moves, rows_each, level, loss, closed)
    joint = Joint(
        lambda secret: tally_statement(setting.source, setting.unit, rows_each, cells, where, secret),
        lambda sums: {name: design.line.clamp(sums[f"c{i}"]) for i, name in enumerate(names)},
        design,
    )
    text, what = text_of(where, setting.source), " and ".join(listed)
    return Question(
        "histogram",
        asking(f"How many {of} are there by {what}", text),
        {
            "question": "histogram",
            "categories": [[name, list(found)] for name, found in listed.items()],  # in order, which names the cells
            "other": other,
            "where": text,
            "of": of,
            **loss_and_prior(loss, None),
        },
        level,
        setting,
        rows_each,
        (),
        lambda released: {name: released[name] for name in names},  # in the order asked
        lambda again: histogram(setting, column, categories, again, other, where, of, loss),
        joint,
    )


def _columns(column: Any, categories: Any) -> dict[str, Sequence[Any]]:
    """One or two columns with their categories."""
    if isinstance(column, str):
        return {plain(column): as_categories(column, categories)}
    texts = isinstance(column, Sequence) and all(isinstance(name, str) for name in column)
    names = [plain(name) for name in column] if texts else []
    lists = list(categories.values()) if isinstance(categories, Mapping) else categories
    fits = isinstance(lists, Sequence) and not isinstance(lists, str) and len(names) == len(lists)
    if not 1 <= len(names) <= 2 or len(set(names)) < len(names) or not fits:
        raise InvalidInput(
            "a histogram is over one column and its categories, or two columns and a list of categories for each: "
            "histogram(['town', 'agrees'], [['Briar', 'Ash'], ['yes', 'no']], ...)."
        )
    return {name: as_categories(name, found) for name, found in zip(names, lists, strict=True)}


def _twice(names: tuple[str, ...]) -> str:
    return next(name for i, name in enumerate(names) if name in names[:i])
