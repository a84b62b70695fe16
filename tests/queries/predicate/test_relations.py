"""What conditions' texts are said to show is true of every row, in every type of column; and what is recognised."""

import datetime
import math
from decimal import Decimal
from functools import cache
from itertools import combinations, pairwise

import pyarrow
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import utmost as um
from utmost.backends import opening
from utmost.errors import UtmostError
from utmost.queries.contributions import Contribution, statement
from utmost.queries.predicate import as_condition
from utmost.queries.predicate.relations import relation

NUMBERS = [-3, 0, 0.1, 0.1 + 1e-9, 1, 2, 2.5, 5, 5.0000001, 2.0**53, 2.0**53 + 2, 1e300, math.inf, -math.inf, math.nan]
WHOLE = [-3, 0, 1, 2, 3, 5, 2**53, 2**53 + 1, 2**53 + 2, 2**63 - 1, -(2**63)]
TEXTS = ["Ash", "ash", "Briar", "2026-01-31", "2025-12-31", "20260131", "", "7", "7.0", "ASH ", "Zoë"]
DAYS = [datetime.date(2026, 1, 31), datetime.date(2025, 12, 31), datetime.date(1, 1, 1), datetime.date(2026, 2, 1)]
ROWS = 16


def column(values, kind):
    return pyarrow.array([*values, *[None] * (ROWS - len(values))], type=kind, from_pandas=False)


@cache
def sources(folder):
    bits = [2**i for i in range(ROWS)]
    typed = pyarrow.table(
        {
            "double": column(NUMBERS, pyarrow.float64()),
            "single": column([x if abs(x) < 1e30 else 0.1 for x in NUMBERS], pyarrow.float32()),
            "whole": column(WHOLE, pyarrow.int64()),
            "money": column([Decimal("0.10"), Decimal("2.50"), Decimal("-3"), Decimal("5")], pyarrow.decimal128(9, 2)),
            "text": column(TEXTS, pyarrow.string()),
            "day": column(DAYS, pyarrow.date32()),
            "flag": column([True, False], pyarrow.bool_()),
            "bit": bits,
        }
    )
    junk = [*map(repr, NUMBERS[:8]), "old", "nan", "2026-01-31", "Ash", "true", "", " ", "5.0"]
    (folder / "t.csv").write_text("untyped,bit\n" + "".join(f'"{x}",{b}\n' for x, b in zip(junk, bits, strict=True)))
    return opening.open_table(typed), opening.open_table(folder / "t.csv", {"bit": int})


def true_of(source, texts):
    """Which rows each condition is true of, as the engine finds it: a set of bits."""
    parts = {
        f"c{i}": Contribution(as_condition(text, source), source.table["bit"], 0, 2**ROWS)
        for i, text in enumerate(texts)
    }
    found = source.execute(statement(source, um.rows(at_most=99), 1, parts, b"s" * 32))
    return [found[name] for name in parts]


def literals(name):
    numbers = ["0", "1", "2", "2.5", "5", "5.0", "0.1", "0.10000000001", "-3", "9007199254740993", "1e3"]
    dates = ["'2026-01-31'", "'2025-12-31'", "'2026-02-01'"]
    return {
        "text": ["'Ash'", "'ash'", "'Briar'", "''", "'20260131'", *dates],
        "day": [*dates, "'20260131'", "DATE '2026-01-31'"],
        "flag": ["TRUE", "FALSE"],
        "untyped": [*numbers, *dates, "'Ash'", "DATE '2026-01-31'"],
    }.get(name, numbers)


@st.composite
def conditions(draw, name, depth=2):
    value = st.sampled_from(literals(name))
    kind = draw(st.sampled_from(["compare"] * 6 + ["between", "in", "null", "not", "and", "or", "unknown"]))
    if depth == 0 or kind == "compare":
        operator = draw(st.sampled_from(["<", "<=", ">", ">=", "=", "<>"]))
        return f"{name} {operator} {draw(value)}" if draw(st.booleans()) else f"{draw(value)} {operator} {name}"
    if kind == "between":
        return f"{name} BETWEEN {draw(value)} AND {draw(value)}"
    if kind == "in":
        listed = ", ".join(draw(st.lists(value, min_size=1, max_size=3)))
        return f"{name} {draw(st.sampled_from(['', 'NOT ']))}IN ({listed})"
    if kind == "null":
        return f"{name} IS {draw(st.sampled_from(['', 'NOT ']))}NULL"
    inner = draw(conditions(name, depth - 1))
    if kind in ("not", "unknown"):
        return f"NOT ({inner})" if kind == "not" else f"({inner}) IS NULL"
    return f"({inner}) {kind.upper()} ({draw(conditions(name, depth - 1))})"


def check_claims(data, folder):
    typed, untyped = sources(folder)
    name = data.draw(st.sampled_from([*typed.columns[:-1], "untyped"]))
    source = untyped if name == "untyped" else typed
    texts = data.draw(st.lists(conditions(name), min_size=2, max_size=3, unique=True))
    claim = relation(texts)
    assume(claim.kind != "overlapping")
    try:
        found = true_of(source, texts)
    except UtmostError:  # a literal of another kind than the column: nothing is asked
        return
    if claim.kind == "disjoint":
        assert all(one & other == 0 for one, other in combinations(found, 2)), (texts, found)
        assert not claim.complete or sum(found) == 2**ROWS - 1, (texts, found)
    else:
        assert sorted(claim.chain) == list(range(len(texts)))
        assert all(found[i] & ~found[o] == 0 for i, o in pairwise(claim.chain)), (texts, found)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("relations")


@settings(max_examples=60)
@given(data=st.data())
def test_claims_are_true_of_every_row(folder, data):
    """Random conditions on every type of column, with nulls, NaN, infinities and what cannot be read."""
    check_claims(data, folder)


@pytest.mark.long
@settings(max_examples=4000)
@given(data=st.data())
def test_claims_are_true_of_every_row_thousands_of_times(folder, data):
    check_claims(data, folder)


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["age < 20", "age BETWEEN 20 AND 64", "age >= 65"], "disjoint"),
        (["age < 20", "20 <= age AND age < 65", "65 <= age", "age IS NULL"], "disjoint"),
        (["town = 'Ash'", "town IN ('Briar', 'Cole')", "town NOT IN ('Ash', 'Briar', 'Cole')"], "disjoint"),
        (["agrees", "NOT agrees", "agrees IS NULL"], "disjoint"),
        (["born < '1990-01-01'", "born >= '1990-01-01'"], "disjoint"),
        (["born < DATE '1990-01-01'", "born >= DATE '1990-01-01'"], "disjoint"),
        (["x <= -1.5", "x > -1.5"], "disjoint"),
        (["age >= 20", "age >= 40", "age >= 30"], "nested"),
        (["age BETWEEN 30 AND 40", "age BETWEEN 20 AND 50", "age > 0 OR age IS NULL"], "nested"),
        (["town = 'Ash'", "town IN ('Ash', 'Briar')", "town IS NOT NULL"], "nested"),
        (["NOT (age < 65)", "age >= 65"], "nested"),  # the same
        (["age >= 65", "weight >= 65"], "overlapping"),
        (["age >= 65", "Age >= 70"], "overlapping"),  # there may be a column of either name
        (["age >= 65", "age < 66"], "overlapping"),
        (["town < 'Briar'", "town > 'Cole'"], "overlapping"),  # the order of texts is the engine's
        (["town = 'Ash'", "town = 'ash'"], "overlapping"),  # a collation may not tell them apart
        (["day = '2026-01-31'", "day = '20260131'"], "overlapping"),  # one day
        (["x = 0.1", "x = 0.10000000001"], "overlapping"),  # one FLOAT
        (["x = 9007199254740992", "x = 9007199254740993"], "overlapping"),  # one DOUBLE
        (["age = '7'", "age = 8"], "overlapping"),  # letters and numbers
        (["TRY_CAST(age AS BIGINT) < 5", "TRY_CAST(age AS BIGINT) > 5"], "overlapping"),
        (["age < weight", "age > weight"], "overlapping"),
        (["not sql at all (", "age > 5"], "overlapping"),
        (["town LIKE 'A%'", "town LIKE 'B%'"], "overlapping"),
    ],
)
def test_what_is_recognised(texts, kind):
    assert relation(texts).kind == kind


@pytest.mark.parametrize(
    ("texts", "complete"),
    [
        (["x <= 5", "x > 5", "x IS NULL"], False),  # text that is no number is in none
        (["x <= 5", "x > 5", "(x > 5) IS NULL"], True),
        (["town = 'Ash'", "town <> 'Ash'", "town IS NULL"], True),
        (["town = 'Ash'", "town <> 'Ash'"], False),
        (["x IS NULL", "x IS NOT NULL"], True),
        (["x < 5", "x > 5", "(x > 5) IS NULL"], False),
    ],
)
def test_what_is_complete(texts, complete):
    found = relation(texts)
    assert (found.kind, found.complete) == ("disjoint", complete)
