"""Nothing that was written down changes unless a commit says so: questions, solutions, points, errors and intervals."""

import pytest
from oracles.corpus import asked, cases, corpus, differences, plain, point_of, table, written
from pyarrow import csv, parquet

from utmost.backends import opening
from utmost.errors import UtmostError

CASES = list(cases())
QUICK = CASES[::5]


@pytest.mark.parametrize("case", [pytest.param(c, marks=[pytest.mark.long] * (c not in QUICK)) for c in CASES])
def test_a_case_is_as_it_was_written_down(case):
    assert differences(written(case), corpus()[case]) == []


def test_every_case_is_written_down():
    assert list(corpus()) == sorted(CASES)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The fixed table in other places."""
    folder = tmp_path_factory.mktemp("corpus")
    parquet.write_table(table(), folder / "t.parquet")
    csv.write_csv(table(), folder / "t.csv")
    types = {"who": int, "age": int, "x": float, "ok": bool}
    return {
        "Parquet": opening.open_table(folder / "t.parquet"),
        "CSV": opening.open_table(folder / "t.csv", types),
        "pandas": opening.open_table(table().to_pandas(types_mapper=None).convert_dtypes()),
    }


@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=[pytest.mark.long] * (i % 25 > 0)) for i, c in enumerate(CASES)]
)
def test_other_sources_have_the_same_point(case, sources):
    if "point" not in corpus()[case]:
        pytest.skip("the question is refused at this level, which its design says")
    here = corpus()[case]["point"]
    for name, source in sources.items():
        if name == "CSV" and any(part in case for part in ("people", "quartiles", "overlapping")):
            continue  # a person's rows are chosen by their texts there, and a text for infinity is no number
        try:
            found = plain(point_of(asked(case, source)))
        except UtmostError:
            found = None
        assert found == here, name
