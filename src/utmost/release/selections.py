"""What questions that name a candidate share: a tally of cells, clamped, and a prior over tallies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from utmost.errors import InvalidInput, shown
from utmost.exact import as_rational
from utmost.privacy import Level
from utmost.release.mechanisms.contests import Contest
from utmost.release.mechanisms.selection import design_selection
from utmost.release.plain import plain
from utmost.release.questions import Joint, Question, Setting, asking, rows_that_count, text_of
from utmost.release.tallies import Cells, tally_statement
from utmost.release.units import Of


def selecting(
    contest: Contest,
    cells: Cells,
    setting: Setting,
    asked: Mapping[str, Any],
    words: str,
    level: Level,
    where: Any,
    of: Of,
    loss: str,
    prior: Any,
    again: Callable[[Level], Question],
) -> Question:
    """The question which candidate of a contest wins, the tally being that of the cells; `asked` says what it is."""
    rows_each = rows_that_count(setting, of)
    weights = _tally_prior(prior, cells.size, contest.most)
    joint = Joint(
        lambda secret: tally_statement(setting.source, setting.unit, rows_each, cells, where, secret),
        lambda sums: {"tally": _clamped_tally(sums, cells.size, contest.most)},
        design_selection(contest, level, loss, weights),
    )
    text = text_of(where, setting.source)
    return Question(
        asked["question"],
        asking(words, text),
        {**asked, "where": text, "of": of, "loss": loss, "prior": _prior_words(weights)},
        level,
        setting,
        rows_each,
        (),
        lambda released: contest.names[released["place"]],
        again,
        joint,
    )


def _clamped_tally(sums: Mapping[str, int], size: int, most: int) -> list[int]:
    """The tally with every cell at most `most`, which moves neighbours no farther apart."""
    return [min(max(sums[f"c{i}"], 0), most) for i in range(size)]


def _tally_prior(prior: Any, size: int, most: int) -> dict[tuple[int, ...], float] | None:
    """A listed prior: {tally: probability}; None is uniform."""
    if prior is None:
        return None
    if not isinstance(prior, Mapping) or not prior:
        raise InvalidInput("the prior of tallies is a mapping {(votes, ...): probability}, or None for uniform.")
    found: dict[tuple[int, ...], Fraction] = {}
    for tally, weight in prior.items():
        listed = tuple(map(plain, tally)) if isinstance(tally, Sequence) else ()
        whole = all(isinstance(x, int) and not isinstance(x, bool) and x >= 0 for x in listed)
        if len(listed) != size or not whole or sum(listed) > most:
            raise InvalidInput(
                f"the prior lists {shown(tally)}; give {size} whole numbers that add up to at most {most}."
            )
        found[listed] = as_rational(weight, "a probability of the prior")
    off = abs(sum(found.values(), Fraction(-1)))
    if min(found.values()) < 0 or off > Fraction(1, 10**9):
        raise InvalidInput("the prior's probabilities must be 0 or more and add up to 1; divide them by their sum.")
    return {tally: float(weight) for tally, weight in found.items()}


def _prior_words(prior: Mapping[Any, float] | None) -> str:
    """The prior, as plain data."""
    return "uniform" if prior is None else f"listed, {sorted(prior.items())!r}"
