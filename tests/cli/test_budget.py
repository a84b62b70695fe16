"""`utmost compose` and `utmost budget`, and their pictures, as people use them."""

import json
import re

import numpy as np
import pyarrow
import pytest
from oracles.command import release_command, utmost

import utmost as um
from utmost.errors import InvalidInput

UNIT = "people by 'patient', 3 rows each, at most 5000"


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "budget.db"
    account = um.Ledger(path).open("survey", 1, "rows, at most 500", "replace")
    for i in range(3):
        account.ask(0.2, {"count": i}, lambda i=i: {"answer": i})
    with account.reserve(0.1, {"count": "lost"}):
        pass
    return path


def test_compose_says_what_the_total_is():
    """The known total, with what the older theorems say beside it."""
    done = utmost("compose", "30x0.1,0.001", "--delta", "0.05", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert found["epsilon"] == pytest.approx(0.846302634, abs=1e-8)
    assert found["epsilon_at_least"] <= found["epsilon"]
    assert found["closed_form"] == pytest.approx(1.569329, abs=1e-5)
    mixed = json.loads(utmost("compose", "0.2", "2x0.4", "mu=1/2", "--epsilon", "1", "--json").stdout)
    total = um.compose([0.2, 0.4, 0.4, um.GaussianDP("1/2")])
    assert (mixed["releases"], mixed["delta"]) == (4, total.delta(1))
    text = utmost("compose", "0.2", "--epsilon", "0.1").stdout
    assert "fixed in advance" in text
    beside = json.loads(utmost("compose", "30x0.1,0.001", "--delta", "0.05", "--json").stdout)["basic"]
    assert beside == {"epsilon": pytest.approx(3), "delta": pytest.approx(0.03)}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("0.1",), "either --delta"),
        (("0.1", "--delta", "0.1", "--epsilon", "1"), "either --delta"),
        (("threex0.1", "--delta", "0.1"), "is not a level"),
        (("-1", "--delta", "0.1"), "No such option: -1"),
        (("--delta", "0.1", "--", "-1"), "0 or more"),
        (("0.1,2", "--delta", "0.1"), "delta is '2'"),
        (("0.1", "--delta", "7"), "delta is '7'"),
        (("mu=x", "--delta", "0.1"), "is not a level"),
        (("0.1,", "--delta", "0.1"), "no delta after its comma"),
        (("0.1", "--delta", "0", "--picture", "x.xyz"), "end it in .png"),
        (("0.1", "--delta", "0", "--picture", "/nodir/x.png"), "/nodir/x.png cannot be written"),
    ],
)
def test_compose_refuses_nonsense(arguments, words):
    """Exit code 2, and the reason."""
    done = utmost("compose", *arguments)
    assert done.returncode == 2
    assert words in done.stderr


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        (("0.1,1", "--delta", "0.5"), "epsilon", "inf"),
        (("inf", "--delta", "0.5"), "epsilon", "inf"),
        (("1e400", "--delta", "1e-6"), "epsilon_at_least", "inf"),
        (("0.1", "--epsilon", "1e400"), "delta", 0.0),
        (("mu=1", "--delta", "0"), "epsilon", "inf"),
    ],
)
def test_compose_writes_infinity_as_text(arguments, name, value):
    """JSON that any reader takes, at exit code 0."""

    def refuse(constant):
        raise AssertionError(constant)

    done = utmost("compose", *arguments, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout, parse_constant=refuse)[name] == value
    assert utmost("compose", *arguments).stdout.startswith("1 release: ")


def test_a_budget_is_opened_shown_and_checked(ledger, tmp_path):
    """Text and JSON agree; a head of a report is found again."""
    shown = json.loads(utmost("budget", "show", ledger, "--entries", "--json").stdout)["accounts"][0]
    assert (shown["dataset"], shown["spent"], shown["left"]) == ("survey", {"epsilon": 0.7}, {"epsilon": 0.3})
    assert [e["state"] for e in shown["entries"]] == ["done"] * 3 + ["reserved"]
    text = utmost("budget", "show", ledger, "survey", "--entries").stdout
    assert "epsilon 0.7 of 1 in 4 entries, 1 unfinished" in text
    assert shown["head"] in text
    assert um.Ledger(ledger).account("survey").secret.hex() not in text + json.dumps(shown)
    good = utmost("budget", "check", ledger, "survey", "--head", shown["entries"][0]["head"], "--json")
    assert (good.returncode, json.loads(good.stdout)["intact"]) == (0, True)
    bad = utmost("budget", "check", ledger, "survey", "--head", "f" * 64)
    assert bad.returncode == 1
    assert "older copy" in bad.stdout
    terms = ("--unit", UNIT, "--neighbours", "add-remove", "--epsilon", "2", "--delta", "1e-5", "--filter", "zcdp")
    made = utmost("budget", "open", ledger, "clinic", *terms)
    assert made.returncode == 0
    assert "zcdp filter" in made.stdout
    assert utmost("budget", "check", ledger).returncode == 0
    assert utmost("budget", "open", ledger, "clinic", *terms[:-2], "--filter", "basic").returncode == 2
    drawn = tmp_path / "budgets.png"
    assert utmost("budget", "show", ledger, "--picture", drawn).returncode == 0
    assert drawn.read_bytes().startswith(b"\x89PNG")


def test_budget_refuses_what_it_does_not_know(ledger, tmp_path):
    """A missing ledger is not made by looking at it; unknown data sets and heads without one are wrong use."""
    missing = tmp_path / "other.db"
    assert utmost("budget", "show", missing).returncode == 2
    assert not missing.exists()
    assert "no account 'x'" in utmost("budget", "show", ledger, "x").stderr
    um.Ledger(ledger).open("second", 1, "rows", "replace")
    assert "one data set" in utmost("budget", "check", ledger, "--head", "f" * 64).stderr
    wrong = ("--unit", "rows, at most 9", "--neighbours", "replace", "--epsilon", "1", "--delta", "some")
    assert utmost("budget", "open", ledger, "third", *wrong).returncode == 2
    gaussian = ("--unit", "rows, at most 9", "--neighbours", "replace", "--mu", "1")
    assert "drop delta" in utmost("budget", "open", ledger, "third", *gaussian, "--delta", "1e-5").stderr
    assert utmost("budget", "open", ledger, "third", *gaussian).returncode == 0


@pytest.mark.parametrize(
    ("text", "level", "left"),
    [
        ("1", um.PureDP(1), {"epsilon": 1.0}),
        ("1,1e-6", um.ApproxDP(1, 1e-6), {"epsilon": 1.0, "delta": 1e-6}),
        ("rho=0.5", um.ZCDP(0.5), {"rho": 0.5}),
        ("mu=1/2", um.GaussianDP("1/2"), {"mu²": 0.25}),
    ],
)
def test_budgets_of_every_kind_are_opened_and_shown(tmp_path, text, level, left):
    """One way to write a level, for --budget too; the same account again is no mismatch; it has a picture."""
    ledger, drawn = tmp_path / "b.db", tmp_path / "b.png"
    terms = (ledger, "survey", "--unit", "rows, at most 9", "--neighbours", "replace", "--budget", text)
    assert utmost("budget", "open", *terms).returncode == 0
    assert utmost("budget", "open", *terms).returncode == 0
    account = um.Ledger(ledger).account("survey")
    assert account.budget == level
    account.ask(0.3, {"count": "all"}, lambda: 1)
    shown = json.loads(utmost("budget", "show", ledger, "--json", "--picture", drawn).stdout)["accounts"][0]
    assert shown["budget"] == level.to_json()
    assert shown["limits"] == left
    assert utmost("budget", "check", ledger).returncode == 0
    assert f"survey: {level} ({account.filter.name} filter)" in utmost("budget", "show", ledger).stdout
    assert drawn.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--budget", "sigma=3"), "--budget is 'sigma=3'; write an epsilon such as 0.5"),
        (("--budget", "mu:3"), "--budget is 'mu:3'; write an epsilon such as 0.5"),
        (("--budget", "one"), "--budget is 'one'; write an epsilon such as 0.5"),
        (("--budget", "rho=-1"), "rho is '-1'"),
        (("--budget", "rho="), "rho"),
        (("--budget", "rho=inf"), "nothing would be protected"),
        (("--budget", "rho=1", "--delta", "1e-6"), "drop --delta"),
        (("--budget", "1,1e-6", "--delta", "1e-6"), "drop --delta"),
        (("--budget", "1", "--epsilon", "1"), "given twice"),
        ((), "exactly one of epsilon, ratio, rho and mu"),
    ],
)
def test_budgets_that_are_not_levels_are_refused(tmp_path, options, words):
    done = utmost(
        "budget", "open", tmp_path / "b.db", "d", "--unit", "rows, at most 9", "--neighbours", "replace", *options
    )
    assert done.returncode == 2
    assert words in done.stderr


def test_compose_takes_zcdp():
    """The bound and what Gaussian noise attains, ten at once."""
    found = json.loads(utmost("compose", "10xrho=0.05", "--delta", "1e-6", "--json").stdout)
    assert (found["epsilon_at_least"], found["epsilon"]) == pytest.approx((4.8865541175, 5.2215344445), abs=1e-9)
    assert found["releases"] == 10


def test_answers_spend_a_zcdp_budget(tmp_path):
    """A session and the command on one account; a pure answer of epsilon costs epsilon tanh(epsilon/2)."""
    options = ("--count", "age > 1", "--privacy", "0.5", "--budget", "rho=0.3", "--json")
    first = release_command(tmp_path, *options)
    assert first.returncode == 0, first.stderr
    table = pyarrow.table({"age": [70, 80, 20]})
    s = um.Session(table, "d", um.rows(at_most=10), "replace", budget=um.ZCDP(0.3), ledger=tmp_path / "b.db")
    price = 0.5 * np.tanh(0.25)
    assert s.left.amounts()["rho"] == pytest.approx(0.3 - price)
    s.majority("age > 30", privacy=um.GaussianDP(0.3))
    assert s.left.amounts()["rho"] == pytest.approx(0.3 - price - 0.045)
    assert "rho" in str(s.budget)
    refused = release_command(tmp_path, "--count", "age > 2", "--privacy", "0.9", "--budget", "rho=0.3")
    assert refused.returncode == 1
    assert "requested rho 0.379" in refused.stderr
    wrong = release_command(tmp_path, "--majority", "age > 2", "--privacy", "0.1,1e-9")
    assert wrong.returncode == 2
    assert "no rho covers a delta above 0" in wrong.stderr
    zero = release_command(tmp_path, "--majority", "age > 2", "--privacy", "rho=0")
    assert "privacy is 0" in zero.stderr


@pytest.mark.parametrize("budget", ["20,1e-3", "rho=9", "mu=5"])
@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("0.5", um.PureDP(0.5)),
        ("0.5,1e-6", um.ApproxDP(0.5, 1e-6)),
        ("rho=0.1", um.ZCDP(0.1)),
        ("mu=0.5", um.GaussianDP(0.5)),
    ],
)
def test_a_count_takes_every_level_that_its_budget_pays_for(tmp_path, text, level, budget):
    """The charge is the filter's price of the level; what has none is wrong use, and nothing is charged."""
    asked = release_command(tmp_path, "--count", "age > 1", "--privacy", text, "--budget", budget, "--json")
    unpaid = {("0.5,1e-6", "rho=9"), ("0.5,1e-6", "mu=5"), ("rho=0.1", "mu=5")}
    if (text, budget) in unpaid:
        assert asked.returncode == 2
        assert "cannot pay for" in asked.stderr
        return
    assert asked.returncode == 0, asked.stderr
    account = um.Ledger(tmp_path / "b.db").account("d")
    assert account.entries()[0].level == level
    assert account.spent.sums == account.filter.cost(level)
    assert account.check()


def test_a_spent_budget_is_exit_code_1(monkeypatch):
    """Refusal is an answer, not wrong use."""
    from utmost.cli import budget
    from utmost.errors import BudgetSpent

    def refuse(*_):
        raise BudgetSpent("the budget does not pay")

    monkeypatch.setattr(budget, "compose_levels", refuse)
    assert utmost("compose", "1", "--delta", "0").returncode == 1


def test_pictures_show_the_regions_and_budgets():
    """Curves run through the corners; LIM Figure 2.5 has the exact region inside the others; bars have the shares."""
    figure = um.plot.composition_regions(um.ApproxDP(0.4, 0.1), [1, 3])
    drawn = [np.array(line.get_data()).T for line in figure.axes[0].get_lines()][1:]
    for k, curve in zip((1, 3), drawn, strict=True):
        assert np.array_equal(curve, um.compose(um.ApproxDP(0.4, 0.1), k).region().corners)
    figure = um.plot.theorem_regions(0.1, 0.001, 30)
    exact, advanced, basic = (
        um.accounting.Region(np.array(line.get_data()).T) for line in figure.axes[0].get_lines()[1:]
    )
    assert exact in advanced
    assert exact in basic
    assert len(um.plot.level_region(1, 0.1).axes[0].get_lines()) == 4
    account = um.Ledger(None).open("d", 2, "rows", "replace")
    account.ask(0.5, "q", lambda: 1)
    bars = um.plot.budget(account).axes[0].patches
    assert [bar.get_width() for bar in bars] == [1, 0.25]
    with pytest.raises(InvalidInput, match="no account"):
        um.plot.budget([])


@pytest.mark.parametrize(
    "unit",
    [
        "rowz",
        "row",
        "rows, at most 0",
        "rows, at most 09",
        "people by patient, 3 rows each, at most 5",
        "",
        "rows, at most ٣",
    ],
)
def test_an_account_is_opened_for_a_unit_a_session_can_have(unit, tmp_path):
    """Any other text would lock every session out; both forms are shown, and no ledger is made."""
    path = tmp_path / "b.db"
    terms = ("--neighbours", "replace", "--epsilon", "1")
    refused = utmost("budget", "open", path, "d", "--unit", unit, *terms)
    assert refused.returncode == 2
    assert "rows, at most 20000" in refused.stderr
    assert "people by 'patient'" in refused.stderr
    assert not path.exists()


@pytest.mark.parametrize("unit", [um.rows(at_most=9), um.people("a 'b' \"c\"", 1, 5), um.people("id", 3, 10**12)])
def test_sessions_open_accounts_that_the_command_made(unit, tmp_path):
    path = tmp_path / "b.db"
    made = utmost("budget", "open", path, "d", "--unit", str(unit), "--neighbours", "replace", "--epsilon", "1")
    assert made.returncode == 0, made.stderr
    columns = {"x": [1], **({unit.id: ["p"]} if unit.id else {})}
    assert um.Session(pyarrow.table(columns), "d", unit, "replace", budget=1, ledger=path).dataset == "d"


@pytest.mark.parametrize("level", [("--epsilon", "inf"), ("--epsilon", "inf", "--delta", "1e-6"), ("--mu", "inf")])
def test_an_infinite_budget_is_none(level, tmp_path):
    refused = utmost("budget", "open", tmp_path / "b.db", "d", "--unit", UNIT, "--neighbours", "replace", *level)
    assert refused.returncode == 2
    assert "nothing would be protected" in refused.stderr
    with pytest.raises(InvalidInput, match="finite"):
        um.Session(pyarrow.table({"x": [1]}), "d", um.rows(at_most=5), "replace", budget=float("inf"))


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "\ud800.db"])
def test_a_ledger_has_a_name_a_file_can_have(name):
    with pytest.raises(InvalidInput, match="name of a file") as caught:
        um.Ledger(name)
    assert len(str(caught.value)) < 400


def test_entries_are_listed_in_words(tmp_path):
    """The question as a session's budget says it, not as data."""
    path = tmp_path / "b.db"
    table = pyarrow.table({"age": [70], "town": ["Ash"]})
    s = um.Session(table, "d", um.rows(at_most=5), "replace", budget=um.ApproxDP(9, 1e-3), ledger=path)
    s.count("age >= 65", 1)
    s.batch([s.plan.count(None, 1)])
    s.count(privacy=um.ApproxDP(1, 1e-6), by=um.discover("town"))
    text = utmost("budget", "show", path, "--entries").stdout
    assert re.search(r"\d{4}-\d\d-\d\d +│|\d{4}-\d\d-\d\d \d\d:\d\d", text)
    assert "town" in text
    assert "count: age >= 65" in text
    assert "batch of 1" in text
    assert "{" not in text


def test_a_forged_report_is_found_out_by_the_ledger(tmp_path):
    """A report with other released numbers proves itself as well; the ledger knows what was drawn."""
    asked = ("--count", "age > 30", "--privacy", 1, "--budget", 2, "--report", tmp_path / "r.html")
    assert release_command(tmp_path, *asked).returncode == 0
    ledger, report = tmp_path / "b.db", tmp_path / "r.json"
    found = utmost("budget", "check", ledger, "--report", report)
    assert (found.returncode, "released numbers" in found.stdout) == (0, True)
    assert "confirmed by the ledger" in found.stdout
    rows, unit = pyarrow.table({"age": [70, 80, 20]}), um.rows(at_most=10)
    ledgers = (tmp_path / f"{i}.db" for i in range(40))  # a budget of 2 pays for two draws, which may be alike
    sessions = (um.Session(rows, "d", unit, "replace", budget=2, ledger=path) for path in ledgers)
    table = json.loads(report.read_text())["released"]
    other = next(a for a in (s.count("age > 30", 1) for s in sessions) if a.released != table)
    forged = tmp_path / "forged.json"
    forged.write_text(other.to_json().replace(f'"entry": {other.ledger.entry}', '"entry": 1'))
    assert utmost("verify", forged).returncode == 0
    found = utmost("budget", "check", ledger, "--report", forged, "--json")
    assert found.returncode == 1
    told = json.loads(found.stdout)
    assert (told["intact"], told["confirmed"]) == (True, False)  # the ledger itself is as it was
    assert "other released numbers" in told["report"][-1]["detail"]
    written = json.loads(report.read_text())
    well_formed = ({"spent": 1.5, "limit": 2.0}, {"spent": 1.0, "limit": 3.0})
    for part in (*well_formed, {"spent": "1", "limit": 2.0}, {}, None):
        amounts = {"amounts": {"epsilon": part}}
        forged.write_text(json.dumps(written | {"ledger": written["ledger"] | amounts}))
        found = utmost("budget", "check", ledger, "--report", forged)
        if part in well_formed:
            assert (found.returncode, "another budget" in found.stdout) == (1, True), part
            assert "d: intact" in found.stdout
            assert "NOT what is in the ledger" in found.stdout
        else:  # no report has such amounts
            assert (found.returncode, "amounts" in found.stderr) == (2, True), part
    for name, value in (("time", "2020-01-01T00:00:00+00:00"), ("head", "0" * 64)):
        forged.write_text(json.dumps(written | {"ledger": written["ledger"] | {name: value}}))
        found = utmost("budget", "check", ledger, "--report", forged)
        assert (found.returncode, "another time or head" in found.stdout) == (1, True), name
    wrong = tmp_path / "wrong.json"
    wrong.write_text(report.read_text().replace('"confidence": 0.95', '"confidence": 0.96'))
    assert "accuracy.after.confidence: not what follows" in utmost("verify", wrong).stdout
    strange = utmost("budget", "check", ledger, "d", "--report", tmp_path / "t.csv")
    assert strange.returncode == 2


def test_checklist_and_registry_are_printed_or_written_once(tmp_path):
    release_command(tmp_path, "--count", "age > 30", "--privacy", 1, "--budget", 2)
    shown = utmost("budget", "checklist", tmp_path / "b.db", "d")
    assert "after NIST SP 800-226" in shown.stdout
    assert "count: age > 30" in shown.stdout
    out = tmp_path / "entry.json"
    assert utmost("budget", "registry", tmp_path / "b.db", "d", "--out", out, "--name", "Ages").returncode == 0
    assert json.loads(out.read_text())["deployment"]["basic"]["name"] == "Ages"
    assert "there already" in utmost("budget", "registry", tmp_path / "b.db", "d", "--out", out).stderr
