"""The privacy guarantee of a report in plain words: how much better its readers can guess about one person."""

from __future__ import annotations

import math
from collections.abc import Sequence

from utmost.privacy import PureDP
from utmost.privacy.promises import surest_guess
from utmost.queries.answers import Answer

NEXT_TO_NOTHING = 1e-6
"""A guess with a smaller probability of error, from even odds, counts as certain."""
WHAT = {
    ("add-remove", False): "whether any one row is in the table",
    ("add-remove", True): "whether any one person's rows are in the table",
    ("replace", False): "which of two contents any one row of the table has",
    ("replace", True): "which of two sets of rows any one person has in the table",
}
"""How two neighbouring tables differ, by the adjacency and whether the unit is a person."""


def promises(answers: Sequence[Answer]) -> list[str]:
    """A paragraph for every data set on a page: how well anyone can guess from all of its answers together."""
    accounts: dict[tuple[str, str, str], list[Answer]] = {}
    for answer in answers:
        terms = answer.question.terms
        accounts.setdefault((answer.dataset, terms.unit.protected, terms.neighbours), []).append(answer)
    return [_promise(dataset if len(accounts) > 1 else "", some) for (dataset, *_), some in accounts.items()]


def _promise(dataset: str, answers: Sequence[Answer]) -> str:
    """The paragraph for one data set, which it names if there are several."""
    terms = answers[0].question.terms
    what = WHAT[terms.neighbours, terms.unit.id is not None] + (f" {dataset}" if dataset else "")
    levels = [answer.privacy for answer in answers]
    right, wrong = surest_guess(levels)
    all_of = "" if len(answers) == 1 else f" The {len(answers)} answers together are meant."
    last = max((answer.ledger for answer in answers), key=lambda ledger: ledger.entry)
    for tier in terms.unit.tiers:
        all_of += f" Of {terms.unit.plural} with {tier.where}, {float(tier.share):.4g} of every epsilon is spent."
    spent = f"{all_of} With what else this account had answered up to then, {last.spent} was spent."
    if wrong < NEXT_TO_NOTHING:
        return f"This promises next to nothing: whoever reads it may become sure {what}.{spent}"
    pure = all(isinstance(level, PureDP) for level in levels)
    condition = "whatever was released" if pure else "on average over what may be released; rare answers can tell more"
    return (
        f"No one reading this can tell, beyond odds of {_rounded_up(right / wrong, 3)} to 1, {what}: whoever knows "
        f"everything else about the table and thinks both equally likely guesses right with probability "
        f"{_rounded_up(100 * right, 4)} % at most (50 % without it), {condition}.{spent}"
    )


def _rounded_up(value: float, digits: int) -> str:
    """A number rounded upwards to so many digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) + 1 - digits)
    return f"{math.ceil(value / unit - 1e-9) * unit:,.{digits + 3}g}"
