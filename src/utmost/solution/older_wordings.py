"""How version 0.2 worded sentences that read differently in its successors.

A file of version 0.2 verifies if its words are those that follow from what was verified, in its own wording. An older
template has the same figures as its successor, in the same order. Version 0.2 never stated the scope of a bound.
"""

from __future__ import annotations

from utmost.solution import sentences
from utmost.solution.phrases import Template

OLDER_WORDINGS: dict[Template, Template] = {
    sentences.CONTRIBUTORS: Template("units that a key needs to be shown, on average"),
    sentences.PROVED_BORDER: Template(
        "no private mechanism errs less often on average than the bound: pairs across the border, or duality"
    ),
    sentences.ONE_TIER: Template(
        "no private mechanism loses less than the bound: one tier's own optimum, all other tiers known"
    ),
    sentences.WINDOW: Template("no private mechanism is wrong less often than the bound: duality on a window"),
    sentences.NUMBER["geometric"]: Template(
        "Ghosh, Roughgarden, Sundararajan 2012: best for every prior and every loss that grows"
    ),
    sentences.ALONE: Template(
        "no private mechanism errs less on one of the integers alone, with the whole level spent on it (the value is "
        "the same at every table; the bound holds on average over a line of tables, hence at the worst one)"
    ),
    sentences.TOGETHER: Template(
        "no private mechanism errs less on average over all integers and tables: a flow between errors in a window, "
        "which is dual to all noise, taken to every mechanism on {text}"
    ),
    sentences.SUMMED: Template(
        "no private mechanism whose answers add up to the number of rows errs less on average over all cells and "
        "tables: a flow between errors, dual to all noise, taken to every mechanism on {text}"
    ),
    sentences.WITH_REST: Template(
        "no private mechanism errs less on average over all integers, what they leave over, and tables: a flow between "
        "errors, dual to all noise, taken to every mechanism on {text}"
    ),
    sentences.SUMMED_AWAY: Template(
        "no answer of a private mechanism that adds up to the number of rows, and is {distance} or more from the ends "
        "in every cell, errs less on average over the cells and the tables it may come from: a flow between errors"
    ),
    sentences.WITH_REST_AWAY: Template(
        "no answer of a private mechanism that is {distance} or more from the ends in every integer, and in what they "
        "leave over, errs less on average over all of these and the tables it may come from: a flow between errors"
    ),
    sentences.KEYS: Template(
        "Desfontaines, Voss, Gipson and Mandayam 2022: a key of n + 1 holders is shown at most upper(p) often if one "
        "of n holders is shown with p, and one of no holder never"
    ),
    sentences.KEYS_BOUND: Template(
        "no private mechanism shows a key more often than if every unit held one key at most and nothing else was told"
    ),
    sentences.NO_BOUND: Template("nothing is known about better ones"),
    sentences.TRIVIAL: Template("nothing, or everything, can be told"),
    sentences.WITHOUT_BOUNDARY: Template(
        "{text} neither a boundary nor a known point: the truth is told there with probability 1 ({whole} points)."
    ),
    **{
        sentences.UNCOMPARED[proof]: Template(f"nothing else was tried{bound}")
        for proof, bound in sentences.CHOICE_BOUNDS.items()
    },
}
"""The wordings of version 0.2, by the templates that took their places."""
