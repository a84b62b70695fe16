"""Checklist and registry entry: filled from the ledger, and what it cannot know is left open."""

import json

import pyarrow
import pytest

import utmost as um
from utmost.errors import InvalidInput
from utmost.queries.report.disclosures import BLANK, checklist, registry_entry


@pytest.fixture(scope="module")
def account(tmp_path_factory):
    ledger = tmp_path_factory.mktemp("disclosed") / "budget.db"
    s = um.Session(
        pyarrow.table({"age": list(range(30)), "who": [f"p{i % 20}" for i in range(30)]}),
        "clinic|2026",
        um.people("who", rows_each=2, at_most=40),
        "add-remove",
        budget=um.ApproxDP(2, "1e-6"),
        ledger=ledger,
    )
    s.count("age > 7", 0.5)
    s.quantile("age", 0.5, list(range(0, 31, 10)), 0.25)
    return um.Ledger(ledger).account("clinic|2026")


def test_the_checklist_says_what_the_ledger_knows(account):
    text = checklist(account)
    known = ("budget (2, 1e-06)-DP", "spent epsilon 0.75", "people by 'who'", "unbounded", account.head)
    for words in known:
        assert words in text
    assert "| 2 |" in text
    assert "median: age" in text
    assert "quantile: age" not in text
    assert text.count(BLANK) >= 6
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {line.replace("\\|", "").count("|") for line in rows[:18]} == {4}


def test_the_registry_entry_is_plain_data(account):
    entry = registry_entry(account, name="Clinic 2026", curator="A clinic", date="2026-11-16")
    assert json.loads(json.dumps(entry)) == entry
    assert entry["url_slug"] == "clinic-2026"
    loss = entry["deployment"]["privacy_loss"]
    assert loss["privacy_parameters"] == {"epsilon": 2.0, "delta": 1e-6}
    assert loss["privacy_unit"] == "Person-level"
    assert "epsilon 0.75" in loss["privacy_parameters_details"]
    assert entry["deployment"]["basic"]["description"] == "TO DO"
    assert "median: age" in entry["deployment"]["implementation"]["mechanisms"]
    with pytest.raises(InvalidInput, match="no field"):
        registry_entry(account, owner="me")


@pytest.mark.parametrize(
    ("budget", "variant", "numbers"),
    [
        (1, "Pure DP", {"epsilon": 1.0}),
        (um.ZCDP("1/2"), "zCDP", {"rho": 0.5}),
        (um.GaussianDP(1), "Gaussian DP", {"mu": 1.0}),
    ],
)
def test_every_kind_of_budget(budget, variant, numbers):
    account = um.Ledger(None).open("x", budget, "rows, at most 9", "replace")
    entry = registry_entry(account)["deployment"]
    assert entry["dp_variant"]["variant_name"] == variant
    assert entry["privacy_loss"]["privacy_parameters"] == numbers
    assert "bounded (one is replaced" in checklist(account)
