"""Computed values in conditions and columns: what Python computes, and no row that makes an engine fail."""

import datetime
import math

import pyarrow
import pytest

import utmost as um
from utmost.backends import opening
from utmost.errors import InvalidInput, NotRowWise
from utmost.queries.contributions import as_grid, values
from utmost.queries.expressions.values import count, total
from utmost.queries.predicate import as_condition

A = [1, 2, None, 2**63 - 1, -(2**63), 5, 0]
B = [0.5, None, math.nan, 1e300, -1e300, math.inf, 1e-300]
S = ["Ab", "éÀz", None, "", "ABCD", "x", "%"]
DAY = datetime.date
D = [DAY(2020, 1, 1), DAY(2021, 3, 1), None, DAY(1999, 1, 1), DAY(9999, 12, 31), DAY(2020, 2, 29), DAY(1, 1, 1)]
TABLE = pyarrow.table(
    {"a": pyarrow.array(A), "b": pyarrow.array(B, from_pandas=False), "s": pyarrow.array(S), "d": pyarrow.array(D)}
)


def cut(x):
    """A float as it is computed with."""
    return None if x is None or math.isnan(x) else 0.0 if abs(x) < 1e-18 else min(max(x, -1e18), 1e18)


def chosen(take, *found):
    known = [x for x in found if x is not None and not math.isnan(x)]
    return take(known) if known else None


def days(d, other):
    return None if d is None else (d - other).days


CASES = {
    "a + b": lambda a, b, s, d: None if a is None or cut(b) is None else float(a) + cut(b),
    "a - b * 2": lambda a, b, s, d: None if a is None or cut(b) is None else float(a) - cut(b) * 2.0,
    "a * a * a": lambda a, b, s, d: None if a is None else float(a) * float(a) * float(a),
    "-a": lambda a, b, s, d: None if a is None else -float(a),
    "abs(b)": lambda a, b, s, d: None if cut(b) is None else abs(cut(b)),
    "a / 3": lambda a, b, s, d: None if a is None else float(a) / 3.0,
    "least(a, b)": lambda a, b, s, d: chosen(min, a, b),
    "greatest(a, b, 3)": lambda a, b, s, d: chosen(max, a, b, 3),
    "coalesce(b, a, 7)": lambda a, b, s, d: chosen(lambda known: known[0], b, a, 7),
    "CASE WHEN a > 1 THEN b WHEN s = 'Ab' THEN 3 ELSE -1 END": lambda a, b, s, d: (
        chosen(min, b) if a is not None and a > 1 else 3 if s == "Ab" else -1
    ),
    "CASE WHEN a > 1 THEN 1 END": lambda a, b, s, d: 1 if a is not None and a > 1 else None,
    "d - DATE '2020-01-01'": lambda a, b, s, d: days(d, DAY(2020, 1, 1)),
    "date_diff('day', '2020-02-28', d) * 2": lambda a, b, s, d: None if d is None else 2 * days(d, DAY(2020, 2, 28)),
}


@pytest.mark.parametrize("text", CASES)
def test_numbers_are_those_of_python(text):
    """As a sum between -1e6 and 1e6, in hundredths, row by row."""
    grid = as_grid(-(10**6), 10**6, "0.01")
    for row in range(len(A)):
        source = opening.open_table(TABLE.slice(row, 1))
        part = values(source, text, grid, None)
        found = source.table.select(x=part.column)
        (result,) = source.execute(source.statement(found.aggregate(x=total(found["x"])))).values()
        exact = CASES[text](A[row], B[row], S[row], D[row])
        known = exact is not None and math.isfinite(exact)
        assert (result or 0) == (math.floor(min(max(exact, -1e6), 1e6) * 100 + 0.5) if known else 0), (text, row)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("lower(s) = 'ab'", 1),
        ("upper(s) = 'éÀZ'", 1),
        ("upper(s) = 'ÉÀZ'", 0),
        ("substr(s, 2, 2) = 'BC'", 1),
        ("substr(s, 9, 2) = ''", 6),
        ("coalesce(s, 'none') = 'none'", 1),
        ("a + 1 > b AND s IS NOT NULL", 3),
    ],
)
def test_texts_and_conditions(text, found):
    """Letters A to Z change and no others."""
    source = opening.open_table(TABLE)
    rows = source.table.filter(as_condition(text, source))
    assert list(source.execute(source.statement(rows.aggregate(n=count()))).values()) == [found]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a / b > 1", "a division is by a fixed number"),
        ("a / 0 > 1", "and not by 0"),
        ("a % 2 = 1", "not allowed"),
        (" * ".join(["b"] * 10) + " > 1", "multiply fewer"),
        ("s + 1 > 2", "arithmetic is done with numbers"),
        ("least(s, 'a') = 'a'", "engines order texts differently"),
        ("substr(s, a, 2) = 'x'", "a fixed start"),
        ("date_diff('month', d, d) > 1", "in days, not in month"),
        ("CASE s WHEN 'x' THEN 1 END = 1", "write CASE with conditions"),
        ("a + max(a) > 1", "not allowed"),
        ("random() + a > 1", "not allowed"),
    ],
)
def test_what_may_fail_is_refused(text, said):
    """Before anything is read."""
    with pytest.raises(NotRowWise, match=said):
        as_condition(text, opening.open_table(TABLE))


def test_functions_of_the_table_are_made_total_too():
    """Whole numbers that would overflow, in a function of the table."""
    s = um.Session(TABLE, "d", um.rows(at_most=10), "replace", budget=1000)
    assert s.count(lambda t: t.a * t.a > 3, 500).value == 4
    with pytest.raises(NotRowWise, match="by a fixed number"):
        s.count(lambda t: t.a / t.b > 3, 500)


def test_columns_of_questions_may_be_expressions(tmp_path):
    """Of a frame and of a file without types; words name the expression; a wrong one is refused before the spend."""
    s = um.Session(TABLE, "d", um.rows(at_most=10), "replace", budget=10_000)
    assert s.sum("least(a, 3) * 2", 0, 10, 500).value == 2 + 4 + 6 + 6 + 6  # least skips the null
    (tmp_path / "t.csv").write_text("hours,town\n1,a\n2,b\nx,a\n")
    file = um.Session(tmp_path / "t.csv", "f", um.rows(at_most=10), "replace", budget=10_000)
    assert file.sum("hours * 60", 0, 600, 500).value == 180
    assert file.plan.mean("hours * 60", 0, 600, 1).question.words.startswith("What is the mean of hours * 60")
    for wrong, said in (("hours = 1", "not a number"), ("minutes * 2", "there is no column 'minutes'")):
        with pytest.raises(InvalidInput, match=said):
            file.sum(wrong, 0, 1, 1)
