"""Random typed expressions of rows with values at the edges of their columns."""

import itertools
import math
from fractions import Fraction

import pyarrow

from utmost.errors import NotRowWise
from utmost.queries.expressions import values as expr

WHOLE = (0, 1, -1, 7, -300, 2**31, -(2**31), 2**40, 2**63 - 1, -(2**63), None)
FLOATS = (0.0, -0.5, 2.5, 1e9, -1e9, 0.1, 1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan, None)
SMALL = (None, -128, 127, 0, 3)


def edges():
    """Every combination of values at the edges of a narrow, a wide and a floating-point column, and dates."""
    rows = list(itertools.product(SMALL, WHOLE, FLOATS))
    small, whole, real = zip(*rows, strict=True)
    arrays = [pyarrow.array(small, pyarrow.int8()), pyarrow.array(whole, pyarrow.int64())]
    arrays += [pyarrow.array(real, pyarrow.float64(), from_pandas=False)]
    arrays += [pyarrow.array([i * 9973 - 800_000 for i in range(len(rows))], pyarrow.date32())]
    return pyarrow.table(arrays, names=["small", "whole", "real", "day"])


def start(source, draw):
    """A value of no operations, or of a clamp."""
    low = draw.randrange(-2000, 0)
    return draw.choice(
        [
            lambda: source.column("small"),
            lambda: source.column("whole"),
            lambda: source.column("real"),
            lambda: expr.date_part(source.column("day"), "year"),
            lambda: expr.days_between(source.column("day"), expr.literal("2020-01-01")),
            lambda: expr.literal(draw.randrange(-50, 50)),
            lambda: expr.literal(draw.uniform(-9, 9)),
            lambda: expr.clamp(source.column("whole"), low, draw.randrange(0, 2000)),
            lambda: expr.clamp(source.column("real"), low, draw.randrange(0, 2000)),
            lambda: expr.null(source.column("whole").type),
        ]
    )()


def of_whole_numbers(one, other, draw):
    return draw.choice(
        [
            lambda: one + other,
            lambda: one - other,
            lambda: one * other,
            lambda: expr.as_integer_within(one, -(2**15), 2**15 - 1),
            lambda: expr.try_cast(one, draw.choice(["int8", "int64"])),
        ]
    )()


def of_floats(one, other, draw):
    return draw.choice(
        [
            lambda: expr.arithmetic(draw.choice(["add", "subtract", "multiply"]), one, other),
            lambda: expr.divide(one, draw.choice([7.0, -0.25])),
            lambda: expr.scale(one, Fraction(3, 7)),
            lambda: expr.negate(one),
            lambda: expr.absolute(one),
            lambda: expr.floor(one),
            lambda: expr.floor(expr.clamp(one, -7.5, 7.25)),
            lambda: expr.to_integer(expr.floor(expr.clamp(one, -1e6, 1e6))),
            lambda: expr.try_cast(one, draw.choice(["int8", "int32", "int64"])),
            lambda: expr.flush_to_zero(one, 1e-3),
        ]
    )()


def of_any(one, other, draw):
    bound = expr.literal(draw.randrange(-9, 9))
    return draw.choice(
        [
            lambda: expr.least(one, other),
            lambda: expr.greatest(one, other),
            lambda: expr.least(one, bound),
            lambda: expr.greatest(expr.least(one, bound), expr.literal(-99)),
            lambda: expr.coalesce(one, other),
            lambda: expr.clamp(one, -70, 30),
            lambda: expr.where(expr.compare(">", one, other), other, one),
            lambda: expr.case([(expr.compare("<", one, bound), bound), (expr.is_null(other), one)], other),
        ]
    )()


def random_value(source, draw, depth=3):
    """A random number of up to so many operations: those that are refused are drawn again."""
    if not depth or draw.random() < 0.1:
        return start(source, draw)
    while True:
        one, other = random_value(source, draw, depth - 1), random_value(source, draw, depth - 1)
        kind = of_any if draw.random() < 0.4 else of_floats
        if kind is of_floats and one.type.kind == other.type.kind == "integer":
            kind = of_whole_numbers
        try:
            return kind(one, other, draw)
        except NotRowWise:  # it might not fit
            continue
