"""The questions that can be asked, as lists, forms and commands show them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from utmost.queries.options import (
    ANY_CONDITION,
    BY,
    COLUMN,
    EXPECTED_ROWS,
    GRID,
    LOWER,
    MIN_ROWS,
    OF,
    UNBIASED,
    UP_TO,
    UPPER,
    WHERE,
    Option,
    read_range,
)


@dataclass(frozen=True)
class Kind:
    """One question that can be asked.

    Attributes
    ----------
    name : str
        The session's method that asks it.
    summary : str
        What it asks, in half a line.
    options : tuple of Option
        Its parameters beside `privacy`, in the order of the method's.
    needs_most : bool
        Whether its mechanism, or what is said of its accuracy, needs to know how many rows there are at most.
    """

    name: str
    summary: str
    options: tuple[Option, ...]
    needs_most: bool = False


RANGE = Option(
    "x_range",
    "The public range of --x, its ends separated by a comma.",
    "--x-range, the public range of --x, such as --x-range 0,100",
    "Public range of the first column, its ends separated by a comma",
    required=True,
    read=read_range,
)
NUMERIC = (
    Kind("count", "how many rows have a condition (an empty one: all rows)", (ANY_CONDITION, BY, OF, UNBIASED)),
    Kind("sum", "what a column adds up to", (COLUMN, LOWER, UPPER, GRID, WHERE, BY, UNBIASED)),
    Kind("mean", "the mean of a column", (COLUMN, LOWER, UPPER, GRID, WHERE, BY, EXPECTED_ROWS, MIN_ROWS)),
    Kind(
        "variance",
        "the variance and standard deviation of a column",
        (COLUMN, LOWER, UPPER, GRID, WHERE, BY, EXPECTED_ROWS, MIN_ROWS),
    ),
    Kind(
        "covariance",
        "how two columns vary together: covariance, correlation, slope",
        (
            replace(COLUMN, name="x", help="The first of two columns.", prompt="First column"),
            replace(COLUMN, name="y", help="The second of two columns.", prompt="Second column"),
            RANGE,
            replace(
                RANGE,
                name="y_range",
                help="The public range of --y, its ends separated by a comma.",
                missing="--y-range, the public range of --y, such as --y-range 0,100",
                prompt="Public range of the second column, its ends separated by a comma",
            ),
            replace(GRID, name="x_grid", help="The step that values of --x are rounded to; see --grid."),
            replace(GRID, name="y_grid", help="The step that values of --y are rounded to; see --grid."),
            WHERE,
            EXPECTED_ROWS,
        ),
    ),
    Kind("clamped", "how many values of a column a range cuts off", (COLUMN, LOWER, UPPER, WHERE, UNBIASED)),
    Kind("left_out", "how many people have more rows than take part", (ANY_CONDITION, UP_TO, UNBIASED)),
)
"""The aggregates."""
