"""Descriptions shared by answers, plans and pages: values, proofs, errors and intervals in words."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from itertools import islice
from typing import Any

from utmost.queries.accuracy import After, Before
from utmost.queries.predicate import Where
from utmost.queries.units import Unit
from utmost.solution import USEFUL

BEYOND = 2
"""How many digits of a number are written beyond the first digit of its interval's width."""
MOST_CELLS = 100
"""Most numbers that are displayed; the rest is in the table and the JSON."""

DEPENDING = "depending on where the values lie"
UNKNOWN = "not known: too few tallies drawn from the prior have this answer"


def show(value: Any, intervals: Mapping[Any, tuple[Any, Any]] | None = None) -> str:
    """Format a value; with its interval, to the digits that the interval supports.

    Parameters
    ----------
    value : any
        An answer, or one of its numbers.
    intervals : mapping, optional
        The interval of each number.

    Examples
    --------
    >>> show(2205420.25), show(0.25049), show(1479.01, {"variance": (1383.45, 1574.91)})
    ('2,205,420', '0.25049', '1,479')
    """
    if value is None:
        return "suppressed"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        named = [cell_name(key) for key in value[:MOST_CELLS]]
        return first_of(named, value) or "none"
    intervals_by_name = intervals or {}
    if isinstance(value, Mapping):
        few = islice(value.items(), MOST_CELLS)
        parts = [f"{cell_name(name)}: {show_one(name, part, intervals_by_name)}" for name, part in few]
        return first_of(parts, value)
    if isinstance(value, int):
        return f"{value:,}"
    if len(intervals_by_name) == 1 and (places := _places(*next(iter(intervals_by_name.values())))) is not None:
        return _rounded(value, places, ROUND_HALF_EVEN)
    return f"{float(value):,.0f}" if 1e6 <= abs(float(value)) < 1e15 else f"{float(value):,.6g}"


def show_one(name: Any, value: Any, intervals: Mapping[Any, tuple[Any, Any]]) -> str:
    """Format one of several numbers; if others have an interval and this one has none, to three digits."""
    if name in intervals:
        return show(value, {name: intervals[name]})
    return figures(value) if intervals and isinstance(value, float) else show(value)


def show_ends(low: Any, high: Any) -> tuple[str, str]:
    """The ends of an interval, rounded outwards to the digits that its width supports; integers stay as they are.

    Examples
    --------
    >>> show_ends(1383.4512, 1574.9137), show_ends(0.2471, 0.2539), show_ends(12, 40), show_ends(0.5, 0.5)
    (('1,383', '1,575'), ('0.2471', '0.2539'), ('12', '40'), ('0.5', '0.5'))
    """
    places = _places(low, high)
    return tuple(  # type: ignore[return-value]
        show(end) if places is None or isinstance(end, int) else _rounded(end, places, direction)
        for end, direction in ((low, ROUND_FLOOR), (high, ROUND_CEILING))
    )


def _places(low: Any, high: Any) -> int | None:
    """The number of decimal places for a number with such an interval: two digits beyond the first of the width."""
    numbers = all(isinstance(end, int | float | Fraction) and not isinstance(end, bool) for end in (low, high))
    wide = float(high - low) if numbers else 0.0
    return BEYOND - math.floor(math.log10(wide)) if 0 < wide < math.inf else None


def _rounded(value: Any, places: int, direction: str) -> str:
    """A number rounded to so many decimal places, but to at most 18 significant digits."""
    exact = Decimal(repr(float(value)))
    if exact == 0:
        return "0"
    places = min(places, BEYOND + 15 - exact.adjusted())
    step = Decimal(1).scaleb(-places)
    whole = (exact / step).to_integral_value(rounding=direction) * step
    return f"{whole.normalize():,f}" if whole else "0"


def cell_name(key: Any) -> str:
    """The name of one of several numbers: a text as it is, the values of a key separated by commas."""
    return ", ".join(
        "null" if part is None else "all" if part is ... else str(part)
        for part in (key if isinstance(key, tuple) else (key,))
    )


def first_of(texts: list[str], everything: Collection[Any]) -> str:
    """The texts of the first numbers, followed by how many more there are."""
    more = len(everything) - len(texts)
    return "; ".join(texts) + (f"; and {more:,} more" if more else "")


def figures(value: float) -> str:
    """A size, such as an expected error, to three significant digits.

    Examples
    --------
    >>> figures(1.91902), figures(48213.2), figures(0.000123456)
    ('1.92', '48,200', '0.000123')
    """
    short = f"{value:.3g}"
    return f"{float(short):,.0f}" if 1000 <= abs(float(short)) < 1e15 else short


def optimality(proof: Mapping[str, Any]) -> str:
    """The claim of optimality in words, from the proof in a plan or an answer.

    The gap is given as a ratio, which has no unit: losses are those of the released integers, while the expected error
    shown beside it is the answer's. Where the ends of a range weaken a bound, the ratio is for answers away from them,
    or compares with all additive noise, whose error distribution is the same at every table.

    Examples
    --------
    >>> proof = {"optimal": "bound", "of": "the answer", "because": "duality", "bound": 2.0, "gap": 0.07}
    >>> optimality(proof)
    'within 3.5 % of the bound: duality'
    >>> optimality(proof | {"gap": 5.9})
    '4 times the bound: duality'
    >>> optimality(proof | {"bound": 0.1, "gap": 1.97}), optimality(proof | {"optimal": "theorem", "gap": 0.0})
    ('no useful bound known', 'theorem: duality (gap 0)')
    >>> optimality(proof | {"away": 219, "gap on average": 0.097})
    'within 3.5 % of the bound for answers 219 or more from the ends of the range (4.9 % on average over all tables): \
duality'
    """
    claim, because, gap, bound = (proof[name] for name in ("optimal", "because", "gap", "bound"))
    of = f" on {proof['of']}" if proof["of"] != "the answer" else ""
    if claim != "bound" or gap is None or bound is None:
        return f"{claim}{of}: {because}{f' (gap {gap:.2g})' if gap is not None else ''}"
    value = bound + gap
    if value > USEFUL * bound:
        return f"no useful bound known{of}"
    where = ""
    if "gap among noise" in proof:
        among = _beyond(value, value - proof["gap among noise"])
        where = f" with the ends of the range ({among} among all noise)"
    elif "away" in proof:
        average = _beyond(value, value - proof["gap on average"])
        inside = f"for answers {show(proof['away'])} or more from the ends of the range"
        where = f" {inside} ({average} on average over all tables)"
    near = f"within {_beyond(value, bound)} of" if value < 2 * bound or not value else _beyond(value, bound)
    return f"{near} the bound{of}{where}: {because}"


def _beyond(value: float, bound: float) -> str:
    """How far a loss is above a bound: in percent, or from twice the bound on as a multiple."""
    if value > USEFUL * bound:
        return "no useful bound"
    if value >= 2 * bound > 0:
        return f"{value / bound:.2g} times"
    return f"{max(100 * (value / bound - 1), 0.0001) if bound else 0.0:.2g} %"


def after_label(after: After) -> str:
    """The label of what follows an answer: an interval, or the probability that a choice is right."""
    return f"{after.confidence * 100:g} % interval" if after.intervals else "given the answer"


def loss_in_words(loss: str) -> str:
    """What a loss measures, in words."""
    words = {"users": "holders that a key needs to be shown:", "missed": "share of the most frequent that is missed:"}
    if loss in words:
        return words[loss]
    return {"zero-one": "probability of a wrong answer", "absolute": ""}.get(loss, f"{loss} error")


def compared_by(before: Before) -> str:
    """The quantity by which mechanisms are compared; for means and the like, the largest over all tables."""
    loss = before.loss
    largest = "" if before.least_over_rows is None else "largest "
    return (
        largest + {"users": "holders needed", "missed": "share missed"}.get(loss, f"{loss} loss") + times_rows(before)
    )


def times_rows(before: Before) -> str:
    """The suffix " times rows", where losses are divided by a number of rows that nobody stated."""
    return "" if before.average is not None else f" times rows{'^2' * (before.loss == 'squared')}"


def estimated(error: float) -> str:
    """The standard error in words, if a number is an estimate."""
    return f" (estimated, standard error {error:.2g})" if error else ""


def expected_error(before: Before) -> str:
    """The expected error in words, as one number or by the number of rows, and the worst one.

    Examples
    --------
    >>> mean = Before("absolute", None, 50, over_rows=48.21, least_over_rows=36.4, by_rows=((100, 0.364, 0.4821),))
    >>> expected_error(mean)
    'about 36.4 / rows to 48.2 / rows, depending on where the values lie: 0.364 to 0.482 with 100 rows; 50 at worst'
    >>> coarse = Before("absolute", 5.4821, 50, rows=100, least=0.364, from_rounding=5, rounds="rounding to 10")
    >>> expected_error(coarse)
    '0.364 to 0.482 with 100 rows, depending on where the values lie, plus at most 5 from rounding to 10; 50 at worst'
    >>> expected_error(Before("absolute", 100.9, 101.2, from_rounding=5, rounds="rounding at most 10 rows to 1"))
    '95.9 on average, plus at most 5 from rounding at most 10 rows to 1, 101 at worst'
    >>> expected_error(Before("absolute", 0.81, 0.92, squared=(1.02, 1.3)))
    '0.81 on average, 0.92 at worst; squared error 1.02 on average, 1.3 at worst'
    """
    worst = f"{figures(before.worst)} at {before.worst_among or 'worst'}"
    more = f", plus at most {figures(before.from_rounding)} from {before.rounds}" if before.rounds else ""
    if before.average is not None:
        noise = before.average - before.from_rounding
        if before.least is None:
            squared = ""
            if before.squared is not None:
                mean, most = map(figures, before.squared)
                squared = f"; squared error {mean} on average, {most} at worst"
            return f"{figures(noise)} on average{estimated(before.standard_error)}{more}, {worst}{squared}"
        of_rows = "the expected" if before.rows is None else figures(before.rows)
        return f"{_from_to(before.least, noise)} with {of_rows} rows, {DEPENDING}{more}; {worst}"
    of_rows = f" / rows{'^2' * (before.loss == 'squared')}"
    over = _from_to(before.least_over_rows or 0.0, before.over_rows or 0.0, of_rows)
    listed = ", ".join(f"{_from_to(least, most)} with {rows:,} rows" for rows, least, most in before.by_rows)
    return f"about {over}, {DEPENDING}: {listed}{more}; {worst}"


def _from_to(least: float, most: float, of: str = "") -> str:
    """A range of sizes, or one size if both are written in the same way."""
    low, high = figures(least), figures(most)
    return f"{high}{of}" if low == high else f"{low}{of} to {high}{of}"


def near_limit_in_words(unit: Unit, after: After) -> str:
    """A warning that a number is so close to the limit of `at_most` that the table may have more rows."""
    most, units = f"at_most = {unit.at_most:,}", unit.plural
    if after.rows is not None or after.groups:  # means and the like: it is their rows that reach it
        return (
            f"the number of rows that take part reaches what {most} allows: the table may have more {units} than that, "
            "and then the interval need not hold; leave at_most out, or raise it"
        )
    return (
        f"the 95 % interval reaches the limit {most}: the table may have more {units} than that, and then the true "
        "number may be larger than the interval says; leave at_most out, or raise it"
    )


def outside_in_words(value: Any, after: After) -> str:
    """A note that an unbiased number lies outside its interval, which is cut off at what is possible; "" if none does.

    Examples
    --------
    >>> outside_in_words(-4, After({"count": (0, 0)}))[:52]
    'a number lies outside its own interval: it is the no'
    >>> outside_in_words({"a": 3}, After({"a": (1, 5)}))
    ''
    """
    numbers = value if isinstance(value, Mapping) else dict.fromkeys(after.intervals, value)
    for name, (low, high) in after.intervals.items():
        number = numbers.get(name)
        if isinstance(number, int | float | Fraction) and not low <= number <= high:
            return (
                "a number lies outside its own interval: it is the noisy number, which is unbiased, and the interval "
                "is cut off at what is possible"
            )
    return ""


def groups_in_words(after: After) -> str:
    """The estimated number of rows of each group, with intervals, and the groups whose answers are mostly noise."""
    few = list(islice(after.groups.items(), MOST_CELLS))
    groups = [f"{cell_name(key)} {rows:,} ({low:,} to {high:,})" for key, (rows, low, high, _) in few]
    noisy = [cell_name(key) for key, group in after.groups.items() if not group[-1]]
    first = first_of(noisy[:MOST_CELLS], noisy)
    noise_note = f"; not reliable, mostly noise: {first}" if noisy else ""
    return f"about, with {after.confidence:.0%} each: {first_of(groups, after.groups)}{noise_note}"


def known_after(after: After) -> str:
    """What an answer says about the truth: intervals, probabilities, and what they rest on."""
    right = ""
    if after.probability_right is not None:
        right = f"right with probability {after.probability_right:.6g}{estimated(after.standard_error)}"
    few = islice(after.intervals.items(), MOST_CELLS)
    ends = [f"{cell_name(name)} {' to '.join(show_ends(*pair))}" for name, pair in few]
    if len(ends) == 1:
        within = f"between {' and '.join(show_ends(*next(iter(after.intervals.values()))))} with {after.confidence:.0%}"
    else:
        within = f"with {after.confidence:.0%} each: {first_of(ends, after.intervals)}" if ends else ""
    believed = ""
    if after.likely is not None:
        low, high = after.likely
        believed = f"between {show(low)} and {show(high)} with probability {after.confidence:g}"
    near = ""
    if after.rows_within is not None:
        near = f"with {after.confidence:.0%} fewer than {show(after.rows_within)} rows from being right"
    if after.by_law:
        there = ""
        if after.rows is not None:
            between = ""
            if after.rows_between is not None:
                low, high = after.rows_between
                between = f", between {low:,} and {high:,} with {after.confidence:.0%}"
            there = f"; of about {after.rows:,} rows, as many as the answer says there are{between}; expected error "
            noise = (after.expected or 0.0) - after.from_rounding
            there += f"{figures(noise)} with so many"
            if after.from_rounding > noise / 100:
                there += f", plus at most {figures(after.from_rounding)} from rounding"
        return f"{within}, {after.basis}{there}" if within else after.basis
    by_prior = "; ".join(part for part in (right, believed) if part)
    by_law = ", ".join(part for part in (near, within) if part)
    if not by_prior:
        return f"{UNKNOWN}; {by_law}, {after.rests_on}" if by_law else UNKNOWN
    sentence = f"{after.condition}: " if after.condition else ""
    sentence += f"{by_prior}, given {after.given}"
    return f"{sentence}; {by_law}, for every {'such ' if after.condition else ''}table" if by_law else sentence


def question_in_words(words: str, where: Where, rows_clause: str = "", ending: str = "") -> str:
    """A question as a sentence: words, the rows that are used, the condition, and how it is answered."""
    return f"{words}{rows_clause}, where {where}{ending}?" if where else f"{words}{rows_clause}{ending}?"
