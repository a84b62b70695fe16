"""Cells of categories: values that a column cannot tell apart are refused, and others are what the column holds."""

import pyarrow
import pytest
from oracles.questions import Setting, histogram, plurality

import utmost as um
from utmost.backends import opening
from utmost.errors import InvalidInput

SECRET = b"s" * 32


@pytest.mark.parametrize("kind", ["h", "d", "x", "card"])
def test_categories_that_a_float_does_not_tell_apart_are_refused(kind, tmp_path):
    """Beyond 2^53 the rows of one whole number would be counted as another's."""
    import ibis

    near = [2**53, 2**53 + 1, 2**53 + 1, 5]
    connection = ibis.duckdb.connect()
    connection.con.execute("CREATE TABLE r (h HUGEINT, d DECIMAL(20, 0), x DOUBLE)")
    connection.con.executemany("INSERT INTO r VALUES (?, ?, ?)", [[v, v, float(v)] for v in near])
    file = tmp_path / "cards.csv"
    file.write_text("card,name\n" + "".join(f"{card},x\n" for card in [*near, "5.0"]))
    source = opening.open_table(file if kind == "card" else connection.table("r"))
    setting = Setting(source, um.rows(at_most=9), "replace")

    def cells(categories, where=setting):
        question = histogram(where, kind, categories, 1, None, None, "rows", "absolute")
        return list(question.point(question.statement(SECRET)).values())

    for categories in (near[:2], [2**53 + 1]):
        with pytest.raises(InvalidInput, match=r"2\^53"):
            cells(categories)
        with pytest.raises(InvalidInput, match=r"2\^53"):
            plurality(setting, kind, [*categories, 5], 1).statement(SECRET)
    assert cells([5, 2**53 - 1]) == [2 if kind == "card" else 1, 0]
    if kind == "x":
        assert cells([2**53]) == [3]
    else:
        with pytest.raises(InvalidInput, match=r"2\^53"):
            cells([2**53])
    if kind == "card":
        exact = Setting(opening.open_table(file, {"card": int}), um.rows(at_most=9), "replace")
        assert cells(near[:2], exact) == [1, 2]


def test_categories_that_single_precision_does_not_tell_apart_are_refused():
    """Others are what a column of 32 bits holds for them: 0.1 is the 0.1 of the column."""
    source = opening.open_table(pyarrow.table({"f": pyarrow.array([2**24, 0.1, 0.3], pyarrow.float32())}))
    setting = Setting(source, um.rows(at_most=9), "replace")
    for categories in ([2**24, 2**24 + 1], [2**24 + 1], [0.1, 0.10000000001], [2e300, 1e300]):
        with pytest.raises(InvalidInput, match="32 bits"):
            histogram(setting, "f", categories, 1).statement(SECRET)
    question = histogram(setting, "f", [2**24, 5, 0.1], 1, None, None, "rows", "absolute")
    assert list(question.point(question.statement(SECRET)).values()) == [1, 0, 1]


def test_categories_of_unsigned_numbers():
    source = opening.open_table(pyarrow.table({"u": pyarrow.array([2**64 - 1, 1, 2**64 - 1, 2**63], pyarrow.uint64())}))
    setting = Setting(source, um.rows(at_most=9), "replace")
    question = histogram(setting, "u", [2**64 - 1, 2**63, 1, -1], 1, None, None, "rows", "absolute")
    assert list(question.point(question.statement(SECRET)).values()) == [2, 1, 1, 0]
    with pytest.raises(InvalidInput, match="from 0 to 18446744073709551615"):
        histogram(setting, "u", [2**64], 1).statement(SECRET)
