"""Every kind of genuine report verifies from its own file: all questions, two candidates and more, with and without by.

Small tables are where linear programs are tried and mechanisms differ most, so they are asked first.
"""

import json

import pyarrow
import pytest
from oracles.questions import sort_of, sorts

import utmost as um
from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.queries.report.proof import load_answers

TOWNS = ["Ash", "Briar", "Cole", "Dell"]
ROWS = 24
TABLE = pyarrow.table(
    {
        "who": [i % 8 for i in range(ROWS)],
        "age": [18 + (i * 7) % 70 for i in range(ROWS)],
        "town": [(*TOWNS, None)[i % 5] for i in range(ROWS)],
        "x": [i / 7 for i in range(ROWS)],
    }
)
LEVELS = {"pure": um.PureDP(1), "delta": um.ApproxDP(1, 0.01), "gaussian": um.GaussianDP(1), "zcdp": um.ZCDP(0.5)}


def asked(many):
    """Every question, and every way to ask it: with so many candidates, cells, keys or conditions."""
    towns, ages = TOWNS[:many], [20 + 20 * i for i in range(many)]
    by, two = um.keys(town=towns), um.keys(town=towns, who=list(range(many)))
    found = um.discover("town")
    conditions = [f"age >= {age}" for age in ages]
    return {
        "count": lambda s, p: s.count("age >= 40", p),
        "count, unbiased": lambda s, p: s.count("age >= 40", p, unbiased=True),
        "count by": lambda s, p: s.count("age >= 40", p, by=by),
        "count found": lambda s, p: s.count("age >= 40", p, by=found),
        "count within": lambda s, p: s.count("age >= 40", p, loss="within 2"),
        "sum": lambda s, p: s.sum("age", 0, 100, p, grid=20),
        "sum in fine steps": lambda s, p: s.sum("x", 0, 4, p),
        "sum by": lambda s, p: s.sum("age", 0, 100, p, grid=20, by=by),
        "sum found": lambda s, p: s.sum("age", 0, 100, p, by=found),
        "mean": lambda s, p: s.mean("age", 0, 100, p, grid=10),
        "mean by": lambda s, p: s.mean("age", 0, 100, p, grid=10, by=by),
        "mean found": lambda s, p: s.mean("age", 0, 100, p, by=found),
        "variance": lambda s, p: s.variance("age", 0, 100, p, grid=10),
        "variance by": lambda s, p: s.variance("age", 0, 100, p, grid=10, by=by),
        "covariance": lambda s, p: s.covariance("age", "who", (0, 100), (0, 10), p, x_grid=10),
        "majority": lambda s, p: s.majority("age >= 40", p),
        "majority by": lambda s, p: s.majority("age >= 40", p, by=by),
        "threshold": lambda s, p: s.threshold("age >= 40", 3, p),
        "threshold by": lambda s, p: s.threshold("age >= 40", 3, p, by=by),
        "counts": lambda s, p: s.counts(conditions, p),
        "counts, disjoint": lambda s, p: s.counts([f"age BETWEEN {a} AND {a + 9}" for a in ages], p),
        "histogram": lambda s, p: s.histogram("town", towns, p),
        "histogram, other": lambda s, p: s.histogram("town", towns, p, other="elsewhere"),
        "cdf": lambda s, p: s.cdf("age", ages, p),
        "ranges": lambda s, p: s.ranges("age", [*ages, 200], p),
        "plurality": lambda s, p: s.plurality("town", towns, p),
        "plurality, shortfall": lambda s, p: s.plurality("town", towns, p, loss="shortfall"),
        "quantile": lambda s, p: s.quantile("age", 0.5, ages, p),
        "quantile, rank": lambda s, p: s.quantile("age", 0.25, ages, p, loss="rank"),
        "quantile, zero-one": lambda s, p: s.quantile("age", 0.9, ages, p, loss="zero-one"),
        "quantile by": lambda s, p: s.quantile("age", 0.5, ages, p, by=by),
        "quantile by, absolute": lambda s, p: s.quantile("age", 0.5, ages, p, by=by, loss="absolute"),
        "quantiles": lambda s, p: s.quantile("age", [0.25, 0.5], ages, p),
        "share": lambda s, p: s.share("age >= 40", p, among=s.terms.unit.at_most),
        "clamped": lambda s, p: s.clamped("age", 20, 60, p),
        "marginals": lambda s, p: s.marginals(two, 1, p),
        "marginals of two": lambda s, p: s.marginals(two, 2, p),
        "hierarchy": lambda s, p: s.hierarchy(["town", "who"], two, p),
        "top": lambda s, p: s.top("town", 1, towns, p),
        "top found": lambda s, p: s.top("town", 1, privacy=p),
        "keys": lambda s, p: s.keys("town", p),
        "left out": lambda s, p: s.left_out("age >= 40", p),
        "share left out": lambda s, p: s.share_left_out("age >= 40", p),
        "rows per person": lambda s, p: s.rows_per_person("age >= 40", p, largest=many),
    }


def session(neighbours, at_most, unit="rows"):
    """Of rows, of people with two rows each, or of rows of which those in one town are promised a tenth."""
    units = {
        "rows": lambda: um.rows(at_most=at_most),
        "people": lambda: um.people("who", rows_each=2, at_most=max(at_most // 2, 1)),
        "tiers": lambda: um.rows(at_most=at_most, tiers={"town = 'Ash'": (10, max(at_most // 3, 1))}),
    }
    budget = 100 if unit == "tiers" else um.ApproxDP(10**6, 0.999)
    return um.Session(TABLE, unit, units[unit](), neighbours, budget=budget)


def verified(folder, **asking):
    """The kinds of questions whose reports were verified; those that cannot be asked this way are left out."""
    many, level = asking.pop("many"), LEVELS[asking.pop("level")]
    names = asking.pop("names", None)
    s, kinds = session(**asking), {}
    for name, ask in asked(many).items():
        if names is not None and name not in names:
            continue
        try:
            answer = ask(s, level)
        except (InvalidInput, UnsupportedLevel):
            continue
        ((again, found),) = load_answers(answer.report(folder / "a.html").with_suffix(".json"))
        assert found, (name, many, asking, str(found))
        assert json.loads(again.to_json()) == json.loads(answer.to_json()), name
        kinds[name] = sort_of(answer.question)
    return kinds


@pytest.mark.parametrize(
    ("many", "neighbours"),
    [(3, "add-remove"), *(pytest.param(*case, marks=pytest.mark.long) for case in [(2, "add-remove"), (3, "replace")])],
)
def test_every_genuine_report_verifies(many, neighbours, tmp_path):
    """With tables of six rows at most, at a pure level; what is not asked at a pure level, with a delta."""
    pure = verified(tmp_path, many=many, neighbours=neighbours, at_most=6, level="pure")
    delta = verified(tmp_path, many=many, neighbours=neighbours, at_most=6, level="delta", names=FOUND)
    names = pure.keys() | delta.keys()
    missing = asked(many).keys() - names - OF_PEOPLE
    assert missing == ({"share"} if neighbours == "add-remove" else set())


OF_PEOPLE = {"left out", "share left out", "rows per person"}
FOUND = ("count found", "sum found", "mean found", "top found", "keys")
"""Questions that need a delta."""


def test_every_kind_of_question_is_tried(tmp_path):
    """No question of a session is left out: alone, by keys, several at once, of found keys, of tiers, of people."""
    few = {"neighbours": "replace", "at_most": 6, "many": 2}
    kinds = {
        *verified(tmp_path, **few, level="pure").values(),
        *verified(tmp_path, **few, level="delta", names=FOUND).values(),
        *verified(tmp_path, **few, level="gaussian", names=("sum in fine steps",)).values(),
        *verified(tmp_path, **few, level="pure", unit="people", names=(*OF_PEOPLE, "count")).values(),
        *verified(tmp_path, **few, level="pure", unit="tiers").values(),
    }
    assert kinds == sorts()


@pytest.mark.long
@pytest.mark.parametrize("many", [2, 3, 4])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("at_most", [2, 20, 120])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("unit", ["rows", "people"])
def test_genuine_reports_verify_at_every_level_and_size(many, neighbours, at_most, level, unit, tmp_path):
    """All of them: four kinds of levels, rows and people, very few rows and more."""
    assert verified(tmp_path, many=many, neighbours=neighbours, at_most=at_most, level=level, unit=unit)
