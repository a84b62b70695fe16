"""Random conditions about every type that engines share, on rows with values at the edges of each."""

import datetime
import itertools
import math
import operator
import random
import re
from decimal import Decimal

import numpy as np
import pyarrow

from utmost.queries.expressions import values as expr
from utmost.queries.expressions.values import Expression
from utmost.queries.predicate import as_condition

UTC = datetime.UTC
TYPES = {
    "f": ("real", pyarrow.float32()),
    "x": ("double precision", pyarrow.float64()),
    "n": ("bigint", pyarrow.int64()),
    "k": ("integer", pyarrow.int32()),
    "d": ("numeric(12, 3)", pyarrow.decimal128(12, 3)),
    "w": ("numeric(38, 0)", pyarrow.decimal128(38, 0)),
    "t": ("timestamp", pyarrow.timestamp("us")),
    "z": ("timestamptz", pyarrow.timestamp("us", "UTC")),
    "day": ("date", pyarrow.date32()),
    "ok": ("boolean", pyarrow.bool_()),
    "s": ("text", pyarrow.string()),
}
NUMBERS = ("f", "x", "n", "k", "d", "w")
SINGLE = [float(np.float32(x)) for x in (0.1, 0.3, 1e-45, 3.4e38, 16777217, 2.5)] + [math.inf, -math.inf, math.nan, 0.0]
DOUBLE = [0.1, 0.3, 0.30000000000000004, 0.1 + 2**-56, 5e-324, 1e300, 2.0**53, -0.0, 2.5, math.nan, math.inf, -math.inf]
WHOLE = [0, 1, -1, 2, 2**24, 2**24 + 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]
SMALL = [0, 1, -1, 2, 2**24, 2**24 + 1, 2**31 - 1, -(2**31)]
DECIMAL = [Decimal(text) for text in ("0.1", "0.3", "0.125", "-0.001", "999999999.999", "2.5", "0")]
WIDE = [Decimal(0), Decimal(1), Decimal(2**53), Decimal(2**53 + 1), Decimal("9" * 38), Decimal("-" + "9" * 38)]
MOMENTS = [datetime.datetime(2020, 1, 1, 11), datetime.datetime(1999, 12, 31, 23, 59, 59, 999999)]
VALUES = {
    "f": SINGLE,
    "x": DOUBLE,
    "n": WHOLE,
    "k": SMALL,
    "d": DECIMAL,
    "w": WIDE,
    "t": [*MOMENTS, datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)],
    "z": [moment.replace(tzinfo=UTC) for moment in MOMENTS],
    "day": [datetime.date(2020, 1, 1), datetime.date(1, 1, 1), datetime.date(9999, 12, 31)],
    "ok": [True, False],
    "s": ["", "a", "a|b", "A", "é", "%"],
}
WRITTEN = (
    *("0", "1", "-1", "2", "2.5", "0.1", "0.3", "0.30000000000000004", "1e-45", "16777217", "16777216.5", "3.5e38"),
    *("9007199254740992", "9007199254740993", "9007199254740993.0", "9223372036854775807", "-0.001", "0.125", "5e-324"),
)
TIMES = ("'2020-01-01 11:00:00'", "'1999-12-31 23:59:59.999999'", "'2020-01-01'")
ZONED = ("'2020-01-01 12:00:00+01:00'", "'2020-01-01 11:00:00Z'", "'1999-12-31 18:29:59.999999-05:30'")
OTHERS = {
    "t": TIMES,
    "z": ZONED,
    "day": ("'2020-01-01'", "'0001-01-01'"),
    "ok": ("true", "false"),
    "s": ("'a'", "''", "'é'"),
}
ORDER = {
    **{"=": operator.eq, "<>": operator.ne, "<": operator.lt},
    **{"<=": operator.le, ">": operator.gt, ">=": operator.ge},
}


def random_condition(draw, depth=2, types=TYPES):
    """A condition in SQL of comparisons, lists, ranges and nulls, joined by AND, OR and NOT."""
    if depth and draw.random() < 0.5:
        parts = [f"({random_condition(draw, depth - 1, types)})" for _ in range(draw.choice((1, 2, 2, 3)))]
        return f"NOT {parts[0]}" if len(parts) == 1 else draw.choice((" AND ", " OR ")).join(parts)
    column = draw.choice(tuple(types))
    known = WRITTEN if column in NUMBERS else OTHERS[column]
    kind = draw.choice(("compare", "compare", "in", "between", "null", "column"))
    if kind == "null":
        return f"{column} IS {draw.choice(('', 'NOT '))}NULL"
    if kind == "in":
        return f"{column} IN ({', '.join(draw.choices(known, k=draw.randint(1, 5)))})"
    if kind == "between" and column not in ("s", "ok"):
        return f"{column} BETWEEN {draw.choice(known)} AND {draw.choice(known)}"
    sign = draw.choice(("=", "<>") if column in ("s", "ok") else tuple(ORDER))
    alike = [other for other in NUMBERS if other != column and other in types] if column in NUMBERS else [column]
    right = draw.choice(alike) if kind == "column" else draw.choice(known)
    return f"{column} {sign} {right}"


def random_number(draw, depth=2):
    """An expression of numbers."""
    if not depth or draw.random() < 0.3:
        return draw.choice((*NUMBERS, "n", "k", draw.choice(WRITTEN[:-1]), "(day - DATE '2020-01-01')"))
    one, other = random_number(draw, depth - 1), random_number(draw, depth - 1)
    kind = draw.choice("+-*/a<>cw")
    if kind in "+-*":
        return f"({one} {kind} {other})"
    if kind == "/":
        return f"{one} / {draw.choice(('3', '-0.1', '1024.5'))}"
    if kind == "w":
        return f"CASE WHEN {random_condition(draw, 1)} THEN {one} WHEN ok THEN {other} ELSE n + 1 END"
    if kind == "a":
        return f"abs(-({one}))"
    name = {"<": "least", ">": "greatest", "c": "coalesce"}[kind]
    return f"{name}({one}, {other}, n * 1)"


def random_computed(draw):
    """A condition about something that is computed."""
    kind = draw.choice((*("number",) * 6, "text", "days"))
    if kind == "number":
        made = random_number(draw)
        while not re.search(rf"\b({'|'.join(NUMBERS)}|day)\b", made):  # without a column it is public
            made = random_number(draw)
        return f"{made} {draw.choice(tuple(ORDER))} {random_number(draw, 1)}"
    if kind == "days":
        days = draw.choice(("date_diff('day', day, '2020-01-02')", "day - DATE '1999-12-31'", "coalesce(day - day, 1)"))
        return f"{days} {draw.choice(tuple(ORDER))} {draw.choice(('0', '1', '7305', '-737425', 'k'))}"
    text = draw.choice(("lower(s)", "upper(s)", "substr(s, 1, 1)", "substr(s, 3, 2)", "coalesce(lower(s), 'none')"))
    return f"{text} = {draw.choice((*OTHERS['s'], chr(39) + 'A' + chr(39), chr(39) + 'b' + chr(39)))}"


def random_rows(types=TYPES):
    """Rows with all edges of every column, in many combinations, and nulls."""
    draw = random.Random(5)
    rows = [tuple(draw.choice([*VALUES[name], None]) for name in types) for _ in range(200)]
    return rows + [tuple(values) for values in itertools.zip_longest(*(VALUES[name] for name in types))]


def as_frame(rows, types=TYPES):
    """The rows as an Arrow table, with a number for each."""
    columns = zip(*rows, strict=True)
    arrays = [
        pyarrow.array(list(column), type=kind, from_pandas=False)
        for column, (_, kind) in zip(columns, types.values(), strict=True)
    ]
    return pyarrow.table([pyarrow.array(range(len(rows)), pyarrow.int32()), *arrays], names=["number", *types])


def as_built(source, condition):
    """A condition that is given as text, or built already."""
    return condition if isinstance(condition, Expression) else as_condition(condition, source)


def counted(source, conditions):
    """How many rows have each of some conditions, and how many have neither it nor its contrary, as questions ask."""
    number = expr.clamp(source.table["number"], 0, 999) * 1009 + 1
    columns = {}
    for i, given in enumerate(conditions):
        condition = as_built(source, given)
        columns[f"a{i}"] = expr.where(condition, number, expr.literal(0))
        columns[f"b{i}"] = expr.where(~condition, number, expr.literal(0))
    return totals(source, columns)


def totals(source, columns):
    """The sums of some columns over all rows."""
    table = source.table.select(**columns)
    query = table.aggregate(**{name: expr.total(table[name]) for name in columns})
    return source.execute(source.statement(query))


def differing(both, seed, many, at_once=20, types=TYPES, make=random_condition):
    """The random conditions that two sources do not agree on."""
    draw = random.Random(seed)
    wrong = []
    for _ in range(many // at_once):
        conditions = [make(draw, types=types) if make is random_condition else make(draw) for _ in range(at_once)]
        here, there = (counted(source, conditions) for source in both)
        if here != there:
            wrong += [where for where in conditions if counted(both[0], [where]) != counted(both[1], [where])]
    return wrong


def how_many(source, conditions):
    """How many rows have each condition, in one statement."""
    built = [as_built(source, condition) for condition in conditions]
    columns = {f"c{i}": expr.where(one, expr.literal(1), expr.literal(0)) for i, one in enumerate(built)}
    return dict(zip(conditions, totals(source, columns).values(), strict=True))
