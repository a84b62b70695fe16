"""Disclosures about an account: a checklist after NIST SP 800-226, and an entry for OpenDP's registry of deployments.

Both are filled in from the ledger. What a ledger cannot know (who the people are, who may see the table, what was
decided before) is left as a question to the publisher: a marked blank is better than a guess.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from utmost.accounting import Account
from utmost.accounting.names import protected_entity
from utmost.errors import InvalidInput, shown
from utmost.privacy import ZCDP, ApproxDP, GaussianDP, PureDP
from utmost.privacy.promises import surest_guess
from utmost.queries.budget import levels_of, query_in_words
from utmost.queries.units import as_unit

BLANK = "*to be answered by whoever publishes*"
VARIANTS = {PureDP: "Pure DP", ApproxDP: "Approximate DP", ZCDP: "zCDP", GaussianDP: "Gaussian DP"}
STATED = ("name", "curator", "curator_type", "description", "intended_use", "region", "sector", "date")
"""Fields of the registry that no ledger can fill in."""


def checklist(account: Account) -> str:
    """A checklist in Markdown: the parts of NIST SP 800-226's pyramid, each with what the ledger says about it.

    NIST Special Publication 800-226, Guidelines for Evaluating Differential Privacy Guarantees (March 2025), asks what
    a claim of differential privacy rests on, from the parameters at the top to the security of the data below.

    Parameters
    ----------
    account : Account
        Such as `um.Ledger("budget.db").account("survey-2026")`.

    Examples
    --------
    >>> import utmost as um
    >>> accounts = um.Ledger(None)
    >>> account = accounts.open("survey-2026", 1, "rows, at most 20000", "add-remove")
    >>> print(checklist(account).splitlines()[0])
    # Checklist for survey-2026, after NIST SP 800-226
    """
    rows = [f"| {part} | {knowledge} | {origin} |" for part, knowledge, origin in _parts(account)]
    spends = [
        f"| {entry.number} | {entry.time} | {levels_of(entry)} | {_cell(query_in_words(entry))} |"
        for entry in account.entries()
    ]
    listed = ["| entry | time | level | asked |", "|---|---|---|---|", *spends]
    return "\n".join(
        [
            f"# Checklist for {account.dataset}, after NIST SP 800-226",
            "",
            f"Filled from the ledger by Utmost {version('utmost')}; the head of its chain is `{account.head}`. "
            "What is in italics is not in a ledger.",
            "",
            "| part of the guarantee | what is known | where it comes from |",
            "|---|---|---|",
            *rows,
            "",
            "## What was spent",
            "",
            *(listed if spends else ["Nothing was spent yet."]),
            "",
        ]
    )


def _parts(account: Account) -> list[tuple[str, str, str]]:
    """Every part of the pyramid, from the top: its name, what is known, and the source."""
    unit, entries = as_unit(account.unit), account.entries()
    whose = "a person, all of whose rows that take part" if unit.id else "one row"
    unfinished = sum(entry.state == "reserved" and not entry.slots for entry in entries)
    replaced = "bounded (one is replaced by another)"
    how = replaced if account.neighbours == "replace" else "unbounded (one comes or goes)"
    right, wrong = surest_guess([account.budget])
    odds = "as good as certain" if wrong < 1e-12 else f"odds of {right / wrong:.4g} to 1"
    return [
        ("Privacy parameters", f"budget {account.budget}; spent {account.spent}", "ledger"),
        ("In words", f"with the whole budget spent, whoever knows all else guesses at best with {odds}", "computed"),
        (
            "Unit of privacy",
            f"{whose}: {_cell(protected_entity(account.unit))}; contribution bounds stand in each report. "
            f"Is that all of a person? {BLANK}",
            "ledger",
        ),
        ("Neighbouring tables", how, "ledger"),
        ("Composition", f"{account.filter.name} filter over {len(entries)} entries, {unfinished} unfinished", "ledger"),
        ("Variant of differential privacy", _variant(account), "ledger"),
        ("Algorithms", "each mechanism is proved private in exact arithmetic before its draw", "certificates"),
        (
            "Sensitivity",
            "from public ranges and the unit; values outside are cut, and reports say so",
            "reports",
        ),
        ("Floating point", "no draw uses floating point: integers from the operating system's generator", "design"),
        ("Utility", "expected error before, interval after, and the gap to the best private mechanism", "reports"),
        ("Bias", "best guesses lean to the prior, unbiased answers do not; cut values are stated", "reports"),
        (
            "Side channels",
            "errors, logs and reports hold nothing private; timing may tell",
            "docs/security.md",
        ),
        ("Trust model", f"central: who holds the table sees it. Who is that? {BLANK}", "design"),
        ("Public parameters", f"ranges, lists and sizes must not come from the table. Where from? {BLANK}", BLANK),
        ("Access control and security", BLANK, BLANK),
        ("Exposure in collecting the data", BLANK, BLANK),
        ("Other releases from the same data", f"those in this ledger are counted. Others? {BLANK}", BLANK),
    ]


def registry_entry(account: Account, **stated: str | None) -> dict[str, Any]:
    """An entry for OpenDP's registry of deployments, as plain data in the registry's own form (tiers 1 to 3).

    Parameters
    ----------
    account : Account
        Such as `um.Ledger("budget.db").account("survey-2026")`.
    **stated : str
        What no ledger knows: name, curator, curator_type, description, intended_use, region, sector, date. Fields that
        are left out become "TO DO", which the registry's editors will ask about.

    Examples
    --------
    >>> import utmost as um
    >>> account = um.Ledger(None).open("survey-2026", um.ApproxDP(1, 1e-6), "rows, at most 20000", "replace")
    >>> entry = registry_entry(account, name="Survey 2026", curator="A bureau")
    >>> entry["deployment"]["dp_variant"]["variant_name"], entry["deployment"]["privacy_loss"]["privacy_parameters"]
    ('Approximate DP', {'epsilon': 1.0, 'delta': 1e-06})
    """
    unknown = set(stated) - set(STATED)
    if unknown:
        raise InvalidInput(f"{shown(sorted(unknown)[0])} is no field of an entry; give some of {', '.join(STATED)}.")
    fields = {name: stated.get(name) or "TO DO" for name in STATED}
    unit, entries = as_unit(account.unit), account.entries()
    questions = list(dict.fromkeys(query_in_words(entry) for entry in entries))
    slug = "".join(c if c.isalnum() else "-" for c in (stated.get("name") or account.dataset).lower())
    replaced = "replacing the data of one" if account.neighbours == "replace" else "adding or removing one"
    return {
        "url_slug": slug,
        "deployment": {
            "basic": {
                "name": fields["name"],
                "data_curators": [
                    {"data_curator_name": fields["curator"], "data_curator_type": fields["curator_type"]}
                ],
                "description": fields["description"],
                "intended_use": fields["intended_use"],
                "data_product_type": "Summary statistics",
                "data_product_region": fields["region"],
                "data_product_sector": fields["sector"],
                "publication_date": fields["date"],
            },
            "dp_variant": {"variant_name": _variant(account), "data_domain": f"the table {account.dataset}"},
            "privacy_loss": {
                "privacy_unit": "Person-level" if unit.id else "Row-level",
                "privacy_unit_details": f"{protected_entity(account.unit)}; neighbouring tables differ by {replaced}.",
                "privacy_parameters": _parameters(account),
                "privacy_parameters_details": (
                    f"The limit that the ledger enforces by its {account.filter.name} filter; spent so far: "
                    f"{account.spent} in {len(entries)} entries."
                ),
            },
            "deployment_model": {
                "model_name": "Central",
                "release_type": "One release" if len(entries) <= 1 else "Several releases",
                "data_source_type": "Static",
                "access_type": "Non-interactive" if len(entries) <= 1 else "Interactive, charged before each answer",
            },
            "implementation": {
                "mechanisms": "Optimal or near-optimal mechanisms, certified in exact arithmetic: "
                + "; ".join(questions),
                "justification": "Every answer has a report that proves itself again: `utmost verify report.json`.",
                "software": f"Utmost {version('utmost')}",
            },
            "administrative": {"status": "Draft", "ledger_head": account.head},
        },
    }


def _variant(account: Account) -> str:
    return VARIANTS.get(type(account.budget), str(account.budget))


def _parameters(account: Account) -> dict[str, float]:
    """The numbers of a budget, by their names."""
    names = ("epsilon", "delta") if isinstance(account.budget, ApproxDP) else ("rho", "mu")
    parameters = {name: float(getattr(account.budget, name, 0)) for name in names}
    return {name: number for name, number in parameters.items() if number or name == "epsilon"}


def _cell(text: str) -> str:
    """A text escaped for a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("\n", " ")
