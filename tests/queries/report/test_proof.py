"""Reports prove themselves again without the table; a forged number is found."""

import copy
import json
import subprocess
import sys

import numpy as np
import pyarrow
import pytest
from oracles.command import utmost
from oracles.forging import forged, leaves, put

import utmost as um
from utmost.errors import BadFile, UtmostError
from utmost.queries.report.proof import _verified, answer_from_json, load_answers

TABLE = pyarrow.table(
    {
        "who": [i % 40 for i in range(120)],
        "age": [18 + (i * 7) % 70 for i in range(120)],
        "town": [("Ash", "Briar", "Cole", None)[i % 4] for i in range(120)],
    }
)
TOWNS, WITH_DELTA = um.keys(town=["Ash", "Briar", "Cole"]), um.ApproxDP(4, 0.01)
QUESTIONS = {
    "count": lambda s: s.count("age >= 40", 1),
    "unbiased count": lambda s: s.count("age >= 40", 1, unbiased=True),
    "count with a prior": lambda s: s.count("age >= 40", 1, prior=[2 / 151] * 30 + [1 / 151] * 91),
    "sum": lambda s: s.sum("age", 0, 100, 1, grid=5),
    "mean": lambda s: s.mean("age", 0, 100, 1),
    "majority": lambda s: s.majority("age >= 40", 1),
    "threshold": lambda s: s.threshold("age >= 40", 30, 1),
    "counts": lambda s: s.counts({"old": "age >= 60", "Ash": "town = 'Ash'"}, 1),
    "nested counts": lambda s: s.counts([f"age >= {a}" for a in range(20, 70, 5)], 1),
    "two nested counts": lambda s: s.counts({"old": "age >= 60", "grown": "age >= 18"}, 1),
    "disjoint counts": lambda s: s.counts(["age < 30", "age BETWEEN 30 AND 59", "NOT (age < 60)"], 1),
    "complete counts": lambda s: s.counts(["town = 'Ash'", "town <> 'Ash'", "town IS NULL"], 1),
    "cdf": lambda s: s.cdf("age", range(20, 80, 2), 1),
    "histogram": lambda s: s.histogram("town", ["Ash", "Briar"], 1, other="elsewhere"),
    "plurality": lambda s: s.plurality("town", ["Ash", "Briar", "Cole"], 1),
    "quantile": lambda s: s.quantile("age", 0.5, range(20, 81, 20), 1, loss="absolute"),
    "quantile by ranks": lambda s: s.quantile("age", 0.5, lower=20, upper=80, privacy=1),
    "clamped": lambda s: s.clamped("age", 20, 60, 1),
    "count by town": lambda s: s.count("age >= 40", 1, by=TOWNS),
    "sum by town": lambda s: s.sum("age", 0, 100, 1, grid=5, by=TOWNS),
    "mean by town": lambda s: s.mean("age", 0, 100, 1, by=TOWNS),
    "variance": lambda s: s.variance("age", 0, 100, 1),
    "covariance": lambda s: s.covariance("age", "who", (0, 100), (0, 40), 1),
    "share": lambda s: s.share("age >= 40", 1, among=120),
    "quantiles": lambda s: s.quantile("age", [0.25, 0.5, 0.75], range(20, 81, 20), 1),
    "top": lambda s: s.top("town", 2, ["Ash", "Briar", "Cole"], 1),
    "variance by town": lambda s: s.variance("age", 0, 100, 1, by=TOWNS),
    "majority by town": lambda s: s.majority("age >= 40", 1, by=TOWNS),
    "threshold by town": lambda s: s.threshold("age >= 40", 10, 1, by=TOWNS),
    "quantile by town": lambda s: s.quantile("age", 0.5, range(20, 81, 20), 1, by=TOWNS, loss="absolute"),
    "quantile by ranks by town": lambda s: s.quantile("age", 0.5, lower=20, upper=80, privacy=1, by=TOWNS),
    "marginals": lambda s: s.marginals(um.keys(town=["Ash", "Briar"], who=[1, 2, 3]), 1, 1),
    "hierarchy": lambda s: s.hierarchy(["town", "who"], um.keys(town=["Ash", "Briar"], who=[1, 2, 3]), 1),
    "keys": lambda s: s.keys("town", WITH_DELTA),
    "count of found towns": lambda s: s.count("age >= 40", WITH_DELTA, by=um.discover("town")),
    "sum of found towns": lambda s: s.sum("age", 0, 100, WITH_DELTA, by=um.discover("town")),
    "mean of found towns": lambda s: s.mean("age", 0, 100, WITH_DELTA, by=um.discover("town")),
    "top found towns": lambda s: s.top("town", 2, privacy=WITH_DELTA),
    "ranges": lambda s: s.ranges("age", range(20, 81, 20), 1),
    "count of tiers": lambda s: tiered(s).count("age >= 40", 1),
    "majority of tiers": lambda s: tiered(s).majority("age >= 40", 1),
    "threshold of tiers": lambda s: tiered(s).threshold("age >= 40", 30, 1),
}
SLOW = (
    "variance",
    "covariance",
    "variance by town",
    "quantile by town",
    "mean of found towns",
    "quantiles",
    "quantile",
    "ranges",
)
"""Questions whose numbers take a tenth of a second to recompute: few forgeries in `make test`, all in the long test."""
OF_TIERS = ("count of tiers", "majority of tiers", "threshold of tiers")
"""Questions about rows alone."""
EXTREME = ("0", "1e-300", "inf", "9" * 400, "1/" + "9" * 400, 0, -1, 10**30, 1e300, None, True, [], "x")
"""What a forger writes to make a checker fail instead of refuse."""


def opened(neighbours="add-remove", people=False):
    unit = um.people("who", rows_each=2, at_most=60) if people else um.rows(at_most=120)
    return um.Session(TABLE, "survey", unit, neighbours, budget=um.ApproxDP(10**6, 0.99))


def tiered(s):
    """The same table, of which rows in Ash are promised a tenth."""
    unit = um.rows(at_most=120, tiers={"town = 'Ash'": (0.1, 40)})
    return um.Session(TABLE, "tiers", unit, s.terms.neighbours, budget=10**6)


def asked(name, neighbours="add-remove"):
    """An answer; a share is of a public number of rows, so rows are replaced there."""
    return QUESTIONS[name](opened("replace" if name == "share" else neighbours))


def is_believed(path):
    """What only the ledger and the data set's owner know, and what names the file's kind."""
    return path[0] in ("ledger", "dataset", "format")


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_every_answer_verifies(name, neighbours, tmp_path):
    """The answer itself, and its report's file."""
    answer = asked(name, neighbours)
    assert answer.verify(), answer.verify()
    page = answer.report(tmp_path / "a.html")
    ((again, found),) = load_answers(page.with_suffix(".json"))
    assert found, found
    assert again.value == answer.value
    assert json.loads(json.dumps(again.details)) == json.loads(json.dumps(answer.details))


def test_people_verify():
    """The same where a person with several rows is protected."""
    s = opened(people=True)
    for ask in (*QUESTIONS.values(), lambda s: s.left_out("age >= 40", 1)):
        if ask not in [QUESTIONS[name] for name in ("count with a prior", "share", *SLOW, *OF_TIERS)]:
            answer = ask(s)
            assert answer.verify(), answer.verify()


def test_a_report_verifies_in_a_fresh_process(tmp_path):
    """`utmost verify` needs the file alone; several answers in one report are all proved."""
    from utmost.queries.report.files import write_report

    page = write_report([asked(name) for name in QUESTIONS], tmp_path / "all.html")
    command = [sys.executable, "-m", "utmost", "verify", str(page.with_suffix(".json"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("verified: private") == len(QUESTIONS)


@pytest.mark.parametrize("name", QUESTIONS)
def test_forged_reports_are_refused(name):
    """A probability, a bound, a level, a move or a value changed: not verified, or nothing that is shown changes."""
    answer, rng = asked(name), np.random.default_rng(7)
    content = json.loads(answer.to_json())
    places = [(path, value) for path, value in leaves(content) if not is_believed(path)]
    spread = rng.permutation(len(places))[: 3 if name in SLOW else 20]
    for place in spread:
        path, value = places[place]
        changed = copy.deepcopy(content)
        put(changed, path, forged(value, rng))
        assert not shows_something_else(changed, answer), path


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("unbiased count", ("solution", "problem", "privacy", "epsilon"), "0"),
        ("unbiased count", ("solution", "problem", "privacy", "epsilon"), "inf"),
        ("count", ("solution", "problem", "privacy", "epsilon"), "9" * 400),
        ("count", ("solution", "mechanism", "period"), 10**30),
        ("count", ("solution", "certificate", "evidence", "proof"), []),
        ("sum", ("solution", "certificate", "evidence", "growth"), "9" * 400),
        ("mean", ("solution", "problem", "privacy", "epsilon"), "1e-300"),
        ("count", ("question", "where"), 7),
        ("mean", ("solution", "mechanism", "period"), 10**30),
        ("counts", ("solution", "problem", "space", "reach"), 0),
        ("histogram", ("question", "categories", 0, 0), 0),
        ("majority", ("released", "yes"), 3),
        ("majority", ("solution", "problem", "space", "reach"), 0),
        ("majority", ("solution", "mechanism", "width"), 10**30),
        ("majority", ("solution", "mechanism", "no"), 10**30),
        ("majority", ("solution", "problem", "space", "last"), 10**30),
        ("plurality", ("solution", "problem", "privacy", "epsilon"), "1e-300"),
        ("plurality", ("released", "place"), -1),
        ("plurality", ("solution", "mechanism", "decay"), "0"),
        ("plurality", ("solution", "mechanism", "decay"), "1/" + "9" * 400),
        ("counts", ("solution", "problem", "privacy", "epsilon"), "1e-300"),
        ("plurality", ("solution", "mechanism", "pure", "epsilon"), "9" * 400),
        ("quantile", ("solution", "problem", "data", "candidates", "labels", 0), "1/" + "9" * 400),
        ("quantile", ("solution", "problem", "data", "q"), [[], 1]),
        ("quantile", ("solution", "problem", "data", "candidates", "labels", 0), []),
        ("top", ("solution", "problem", "space", "rows"), 10**30),
        ("keys", ("solution", "problem", "privacy", "epsilon"), "inf"),
        ("keys", ("solution", "mechanism", "spent", 0, "epsilon"), "inf"),
        ("marginals", ("solution", "problem", "privacy", "epsilon"), "0"),
        ("marginals", ("solution", "problem", "space", "reach"), 10**30),
        ("hierarchy", ("solution", "problem", "space", "reach"), 10**30),
        ("count of tiers", ("solution", "problem", "privacy", "epsilon"), "1e-300"),
        ("count of tiers", ("solution", "problem", "privacy", "epsilon"), "inf"),
        ("majority of tiers", ("solution", "problem", "space", "lines", 0, "reach"), 10**30),
    ],
)
def test_extreme_forgeries_are_refused_in_words(name, path, value):
    """No checker divides by zero, runs out of floats or of memory over what a file says: it refuses."""
    answer = asked(name)
    content = json.loads(answer.to_json())
    put(content, path, value)
    assert not is_verified(content)


@pytest.mark.long
@pytest.mark.parametrize("name", QUESTIONS)
def test_no_extreme_forgery_makes_a_checker_fail(name):
    """Every place of a report (the ends and the middle of lists) with every extreme value: refused, or harmless."""
    answer = asked(name)
    content, alike = json.loads(answer.to_json()), {}
    for path, _ in leaves(content):
        if not is_believed(path):
            alike.setdefault(tuple("" if isinstance(step, int) else step for step in path), []).append(path)
    for paths in alike.values():
        for path in {paths[0], paths[len(paths) // 2], paths[-1]}:
            for value in EXTREME:
                changed = copy.deepcopy(content)
                put(changed, path, value)
                if path[-1] == "gap":
                    is_verified(changed)  # a gap below rounding is what it was
                else:
                    assert not shows_something_else(changed, answer), (path, value)


def is_verified(content):
    """Whether a report is one, and is proved; any error but our own would be a mistake of ours."""
    try:
        return bool(_verified(content)[1])
    except UtmostError:
        return False


@pytest.mark.long
@pytest.mark.parametrize("name", QUESTIONS)
def test_many_forged_reports_are_refused(name):
    """The same, two hundred times for every question."""
    answer, rng = asked(name), np.random.default_rng(11)
    content = json.loads(answer.to_json())
    places = [(path, value) for path, value in leaves(content) if not is_believed(path)]
    for _ in range(200):
        path, value = places[rng.integers(len(places))]
        changed = copy.deepcopy(content)
        put(changed, path, forged(value, rng))
        assert not shows_something_else(changed, answer), path


def shows_something_else(content, answer):
    """Whether a report is verified although it shows other numbers or words than the answer."""
    try:
        again, found = _verified(content)
    except UtmostError:
        return False
    if not found:
        return False
    believed = ("ledger", "dataset", "question", "words", "released")  # asked and released: the ledger has their hash
    shown = {name: part for name, part in again.details.items() if name not in believed}
    honest = {name: part for name, part in answer.details.items() if name not in believed}
    return json.dumps(shown) != json.dumps(honest)


LIE = "Theorem 9: nothing errs less, with or without privacy; approved by the data protection officer"


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name not in SLOW] + ["quantile"])
def test_words_that_fit_each_other_are_refused_if_they_do_not_follow(name):
    """The certificate's and the report's own sentence changed alike: a forger changes both."""
    content = json.loads(asked(name).to_json())
    assert is_verified(content)
    words = content["solution"]["certificate"]
    for part, path in (
        ("quantity", None),
        ("reason", ("proof", "because")),
        ("method", ("mechanism",)),
        ("notes", ("notes",)),
    ):
        changed = copy.deepcopy(content)
        lie = [*words["notes"], LIE] if part == "notes" else LIE
        put(changed, ("solution", "certificate", part), lie)
        if path == ("notes",):
            put(changed, path, [*content["notes"], LIE])
        elif path is not None:
            put(changed, path, lie)
        found = _verified(changed)[1]
        assert not found, part
        assert f"{part}: not the words" in str(found), part


@pytest.mark.parametrize("part", ["time", "spent", "left", "head", "other_table"])
def test_words_that_no_ledger_says_are_refused(part):
    """They stand on pages as what the ledger says; of a true sentence, only numbers and quoted names may differ."""
    content = json.loads(asked("count").to_json())
    for lie in (LIE, f"{content['ledger'][part]}; {LIE}", f"{content['ledger'][part]}\n{LIE}", None, 3):
        put(changed := copy.deepcopy(content), ("ledger", part), lie)
        with pytest.raises(BadFile, match=f"the ledger's {part} is not in words"):
            _verified(changed)


def test_words_of_the_ledger_are_read_again():
    """Every kind of budget, and notes of other tables, whose names may hold quotes."""
    small = pyarrow.table({"age": [70] * 9})
    budgets = [1, um.PureDP.from_ratio(8), um.ApproxDP("1/3", "1e-7"), um.ZCDP(1), um.GaussianDP(1), "1e30"]
    for budget in (*budgets, um.ApproxGaussianDP(2, "1e-6")):
        level = {um.ZCDP: um.ZCDP("1/70"), um.GaussianDP: um.GaussianDP("0.3")}.get(type(budget), "0.1")
        level = um.GaussianDP("0.3") if isinstance(budget, um.ApproxGaussianDP) else level
        answer = um.Session(small, "it's", um.rows(), "replace", budget=budget).count(None, level)
        assert is_verified(json.loads(answer.to_json()))
    ledger = um.Ledger(None)
    for table in (small, small.to_pandas(), small.append_column("b", [["'\""] * 9])):
        s = um.Session(table, 'it\'s "one"', um.rows(), "replace", budget=9, ledger=ledger)
        answers = [s.count("age > 3", 1, fresh=fresh) for fresh in (False, True)]
        assert all(is_verified(json.loads(answer.to_json())) for answer in answers)
    assert any(answer.ledger.other_table for answer in answers)


def test_a_question_is_quoted_as_its_publishers_words(tmp_path):
    """A condition is the publisher's own text: whatever it says, it stands quoted on a line of its own."""
    content = json.loads(asked("count").to_json())
    lie = "age >= 40?\nverified: private, optimality: theorem\n  ok   audit: approved by the regulator"
    content["question"]["where"], content["words"] = lie, content["words"].replace("age >= 40", lie)
    file = tmp_path / "a.json"
    file.write_text(json.dumps(content))
    lines = utmost("verify", file).stdout.splitlines()
    assert lines[0].startswith("the question, in the publisher's own words: '")
    assert lines[1].startswith("verified: private")
    assert sum(line.startswith("verified") for line in lines) == 1
    assert not any("regulator" in line for line in lines[1:])


def test_what_is_no_report_is_refused_in_words(tmp_path):
    """Other JSON, other files, and reports that lack a part."""
    file = tmp_path / "x.json"
    for text in ("{}", "[]x", "3", '{"format": "utmost-answer"}'):
        file.write_text(text)
        with pytest.raises(BadFile):
            load_answers(file)
    content = json.loads(asked("count").to_json())
    for part in ("privacy", "unit", "question", "solution", "ledger", "released"):
        with pytest.raises(BadFile):
            answer_from_json({name: value for name, value in content.items() if name != part})
    assert utmost("verify", file).returncode == 2


@pytest.mark.parametrize(
    "name", ["unbiased count", "mean", "histogram", "majority", "quantile by ranks", "share", "keys"]
)
def test_other_released_names_are_refused(name):
    """What was not released by this question does not stand among what was."""
    content = json.loads(asked(name).to_json())
    assert is_verified(content)
    content["released"]["something else"] = 7
    assert not is_verified(content)


@pytest.mark.parametrize(
    "amounts", [1.5, {"epsilon": 1}, {"epsilon": {"spent": 2, "limit": 1}}, {"epsilon": {"spent": -1, "limit": 1}}]
)
def test_amounts_that_no_ledger_says_are_refused(amounts):
    content = json.loads(asked("unbiased count").to_json())
    content["ledger"]["amounts"] = amounts
    with pytest.raises(BadFile, match="amounts"):
        answer_from_json(content)


def test_the_solution_of_another_question_is_refused():
    """Another quantile of the same column lies on the same tallies; its proof is not one for this question."""
    median, quarter = (
        json.loads(opened().quantile("age", q, range(20, 81, 20), 1, loss="absolute").to_json())
        for q in ("0.5", "0.25")
    )
    answer = answer_from_json({**median, "solution": quarter["solution"]})
    assert [check.name for check in answer.verify().checks if not check.passed] == ["question"]
    del quarter["solution"]["problem"]["data"]["q"]
    assert not answer_from_json({**median, "solution": quarter["solution"]}).verify()


def test_the_solution_of_another_threshold_by_keys_is_refused():
    """The groups' border is part of the question, as it is where nothing is grouped."""
    by = um.keys(town=["Ash", "Briar"])
    low, high = (json.loads(opened().threshold("age >= 40", n, 1, by=by).to_json()) for n in (20, 30))
    answer = answer_from_json({**low, "solution": high["solution"]})
    assert "question" in [check.name for check in answer.verify().checks if not check.passed]


def test_a_mistake_of_ours_is_an_error(monkeypatch):
    """It is not reported as numbers that do not fit, which would blame the report."""
    content = json.loads(asked("count").to_json())
    monkeypatch.setattr(
        "utmost.queries.questions.aggregates.OneNumber.expected_losses", lambda question: question.no_such_thing
    )
    with pytest.raises(AttributeError):
        _verified(content)


@pytest.mark.parametrize("name", ["count", "histogram", "marginals", "quantile by ranks"])
def test_what_a_solution_need_not_say_is_compared_too(name):
    """Its format and version, what it says beside its law, and names that nobody reads: else they may say anything."""
    genuine = json.loads(asked(name).to_json())
    assert _verified(genuine)[1]
    for path in (["format"], ["version"], ["certified"], ["approved"], ["mechanism", "approved"]):
        content = copy.deepcopy(genuine)
        inside = content["solution"]
        for step in path[:-1]:
            inside = inside[step]
        inside[path[-1]] = "by the data protection officer"
        assert not _verified(content)[1], path
