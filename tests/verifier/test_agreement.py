"""Two verifiers that share no line agree: on saved files, on answers of every kind, on forgeries."""

import copy
import json

import numpy as np
import pytest
from oracles import corpus as golden
from oracles.forging import forged, get, leaves, put
from oracles.independent import ROOT, disagreement, load, mine, theirs

import utmost as um
from utmost.accounting.entries import LedgerState
from utmost.queries.answers import Answer
from utmost.queries.report.proof import load_answers

verifier = load()
reports = load(ROOT / "tests" / "queries" / "report" / "test_proof.py", "questions_of_reports")
FILES = ROOT / "tests" / "golden" / "version_0_2"
OLD = sorted(path.name for path in FILES.glob("*.json"))
QUESTIONS = list(reports.QUESTIONS)
CASES = list(golden.cases())
STATE = LedgerState(1, "2026-11-18T13:14:57+00:00", "epsilon 1 of 9", "epsilon 8 of 9", {}, "ab" * 32, True)


def often(cases, step):
    """All cases, of which only every so many run without `-m long`."""
    return [pytest.param(case, marks=[pytest.mark.long] * (i % step > 0)) for i, case in enumerate(cases)]


@pytest.fixture(scope="module")
def answers():
    """The JSON of an answer to each question, made when first needed."""
    made = {}

    def answer(name):
        if name not in made:
            made[name] = json.loads(reports.asked(name, "replace" if len(made) % 2 else "add-remove").to_json())
        return copy.deepcopy(made[name])

    return answer


@pytest.mark.parametrize("name", often(OLD, 6))
def test_files_of_version_0_2(name):
    """Reports and solutions that were written once: both accept them."""
    (verdict, *_), _ = verifier.verify_file(FILES / name)
    assert verdict, verdict.refused
    if name.startswith("solution-"):
        assert um.Solution.load(FILES / name).verify()
    else:
        assert load_answers(FILES / name)[0][1]


@pytest.mark.parametrize("case", often(CASES, 40))
def test_the_golden_corpus(case):
    """Every question, unit, adjacency and level, with the integers that were written down."""
    written = golden.corpus()[case]
    if "solution" not in written:
        pytest.skip("the question is refused at this level")
    content = json.loads(Answer(golden.asked(case).question, "golden", written["released"], STATE).to_json())
    verdict = mine(verifier, content)
    assert verdict
    assert theirs(content)
    assert verdict.proved


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_kind_of_answer(name, answers):
    assert mine(verifier, answers(name))


def test_answers_of_tiers_and_of_people():
    people = reports.opened("replace", people=True)
    asked = (
        people.count("age >= 40", 1),
        people.sum("age", 0, 100, 1),
        people.mean("age", 0, 100, 1, by=reports.TOWNS),
    )
    assert all(mine(verifier, json.loads(answer.to_json())) for answer in asked)


def forge_and_compare(name, content, rng, number):
    places = [(path, value) for path, value in leaves(content) if not reports.is_believed(path)]
    tops = sorted({path[:3] for path, _ in places}, key=str)  # long lists count once
    for _ in range(number):
        top = tops[rng.integers(len(tops))]
        some = [place for place in places if place[0][:3] == top]
        path, value = some[rng.integers(len(some))]
        changed = copy.deepcopy(content)
        put(changed, path, forged(value, rng))
        wrong = disagreement(verifier, changed, path)
        assert not wrong, (wrong, name, path, value, get(changed, path))


@pytest.mark.parametrize("name", QUESTIONS)
def test_forgeries(name, answers):
    forge_and_compare(name, answers(name), np.random.default_rng(17), 2 if name in reports.SLOW else 8)


@pytest.mark.long
@pytest.mark.parametrize("name", QUESTIONS)
def test_many_forgeries(name, answers):
    """Ten thousand in all."""
    forge_and_compare(name, answers(name), np.random.default_rng(19), 10_000 // len(QUESTIONS) + 1)


EXTREME = ("0", "1e-300", "inf", "9" * 400, 0, -1, 2**190, None, True, [], {}, "x")


def extremes_of(content, places, values):
    for path in places:
        for value in values:
            changed = copy.deepcopy(content)
            put(changed, path, value)
            yield path, value, changed


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name not in reports.SLOW][::5])
def test_extreme_forgeries(name, answers):
    rng, content = np.random.default_rng(23), answers(name)
    places = [
        path for path, _ in leaves(content) if path[0] in ("question", "released", "privacy", "solution", "value")
    ]
    some = [places[i] for i in rng.permutation(len(places))[:4]]
    for path, value, changed in extremes_of(content, some, EXTREME[::3]):
        wrong = disagreement(verifier, changed, path)
        assert not wrong, (wrong, path, value)


@pytest.mark.long
@pytest.mark.parametrize("name", QUESTIONS)
def test_every_extreme_forgery(name, answers):
    """Every place (of lists, the ends and the middle) with every extreme value."""
    content, alike = answers(name), {}
    for path, _ in leaves(content):
        if not reports.is_believed(path):
            alike.setdefault(tuple("" if isinstance(step, int) else step for step in path), []).append(path)
    places = [path for paths in alike.values() for path in {paths[0], paths[len(paths) // 2], paths[-1]}]
    for path, value, changed in extremes_of(content, places, EXTREME):
        wrong = disagreement(verifier, changed, path)
        assert not wrong, (wrong, path, value)


PARTS = [("question",), ("unit",), ("neighbours",), ("privacy",), ("released",), ("solution",), ("value",)]
PARTS += [("solution", "problem"), ("solution", "mechanism"), ("solution", "problem", "space")]


@pytest.mark.parametrize("first", QUESTIONS[::4])
def test_parts_of_another_answer(first, answers):
    """The mechanism, the sensitivity or the released integers of another question."""
    rng = np.random.default_rng(len(first))
    for part in PARTS:
        content, other = answers(first), answers(QUESTIONS[rng.integers(len(QUESTIONS))])
        put(content, part, get(other, part))
        wrong = disagreement(verifier, content, part)
        assert not wrong, (wrong, first, part)


@pytest.mark.parametrize("name", QUESTIONS[::6])
@pytest.mark.parametrize("part", [("question",), ("released",), ("privacy",), ("solution", "mechanism"), ()])
def test_a_name_that_the_format_does_not_know(name, part, answers):
    content = answers(name)
    get(content, part)["junk"] = 1
    assert mine(verifier, content) is None
    assert not theirs(content)
