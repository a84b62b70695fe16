"""Verify a report without the table.

Verification proves that the mechanism is private and as good as claimed, and that every number follows from what was
released. Four things are taken from the report: the query's public parameters, the data set's name and the state of the
ledger (which only the ledger can confirm), and the released integers. All else is recomputed and compared.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from utmost.accounting import Account
from utmost.accounting.entries import Entry, LedgerState
from utmost.errors import BadFile, InvalidInput, UtmostError, shown
from utmost.exact.json_text import parse_json
from utmost.exact.saved import NONSENSE
from utmost.mechanism.certification import Check
from utmost.privacy import Level, level_from_json
from utmost.queries.aggregates import AGGREGATES
from utmost.queries.answers import FORMAT, Answer
from utmost.queries.found_keys import discover_from_public
from utmost.queries.keys import keys_from_public
from utmost.queries.predicate import where_from_text
from utmost.queries.questions import FORMS, OTHERS
from utmost.queries.questions.cell_counts import NOISY_TOTAL
from utmost.queries.questions.numeric import numeric_query_from_report
from utmost.queries.questions.question import Question, Terms
from utmost.queries.questions.tiered import TieredCount
from utmost.queries.units import as_unit, require_neighbours
from utmost.solution import Verification
from utmost.solution.solution_file import require_small_numbers, solution_from_json, solution_to_json

if TYPE_CHECKING:
    from utmost.solution import Solution

MOST_NAMED = 5
"""Most differing numbers that a check names."""
OLD_REPORT = (
    "the value follows from the released integers; Utmost 0.2 wrote this report, whose intervals left out rounding, "
    "candidates between steps and what at_most clamps: they and its sentences are not compared, but made anew"
)
CLOSE = 1e-9
"""Relative tolerance between a recomputed and a stated number, because machines round differently."""


def load_answers(path: str | os.PathLike[str]) -> list[tuple[Answer, Verification]]:
    """Load the answers of a report's JSON file, each with its verification.

    Raises `BadFile` for a file that is no report; a report with wrong numbers is returned with the check that fails.
    """
    try:
        content = parse_json(Path(path).read_bytes())
    except InvalidInput as reason:
        raise BadFile(f"{path} cannot be used: {reason} Ask for the report again.") from None
    except (OSError, ValueError, RecursionError):
        raise BadFile(f"{path} is not the JSON file of a report; name the .json file beside its page.") from None
    listed = content if isinstance(content, list) else [content]
    return [_verified(part) for part in listed]


def _verified(content: Any) -> tuple[Answer, Verification]:
    answer = answer_from_json(content)
    verification = answer.verify()
    if not verification:  # its accuracy follows from an unproved mechanism or claim
        return answer, verification
    stated = {name: value for name, value in content.items() if name not in ("solution", "format")}
    try:
        if "version" not in content:
            object.__setattr__(answer.question, "solution", answer.question.solution.restated())
            return answer, replace(verification, checks=(*verification.checks, _recheck_value(answer, stated)))
        recomputed = json.loads(json.dumps(answer.details))
        wrong = [
            place
            for name, value in recomputed.items()
            if name != "format"
            for place in _differences(stated.pop(name, None), value, name)
        ]
        wrong += list(stated)  # entries that are not recomputed are not accepted
        solved = json.loads(json.dumps(solution_to_json(answer.question.solution)))
        wrong += _differences(content["solution"], solved, "solution")
    except UtmostError as reason:  # any other error would be a bug, not a fault of the file
        return answer, replace(verification, checks=(*verification.checks, Check("numbers", False, str(reason))))
    except (ArithmeticError, MemoryError) as reason:
        detail = f"a number of the report is too large, or too small, to be checked ({type(reason).__name__})"
        return answer, replace(verification, checks=(*verification.checks, Check("numbers", False, detail)))
    named = ", ".join(sorted(wrong)[:MOST_NAMED]) + (
        f" and {len(wrong) - MOST_NAMED} more" if len(wrong) > MOST_NAMED else ""
    )
    detail = f"{named}: not what follows from the released values" if wrong else "all recomputed"
    return answer, replace(verification, checks=(*verification.checks, Check("numbers", not wrong, detail)))


def _recheck_value(answer: Answer, stated: Mapping[str, Any]) -> Check:
    """Recompute only the value of a report of Utmost 0.2, whose sentences and intervals were different."""
    again = json.loads(json.dumps(answer.question.plain_value(answer.value)))
    if wrong := _differences(stated.get("value"), again, "value"):
        return Check("numbers", False, f"{', '.join(wrong[:MOST_NAMED])}: not what follows from the released values")
    return Check("numbers", True, OLD_REPORT)


def confirmed(answer: Answer, account: Account) -> Check:
    """Check that a ledger has recorded an answer: this query, level, time and released numbers.

    A report proves what follows from its numbers, and not that they were ever drawn: a forged one may be consistent.
    """
    name = f"report: {answer.question.words!r}"  # the publisher's own words, on one line
    if answer.dataset != account.dataset:
        return Check(name, False, f"it is about the data set {shown(answer.dataset)}")
    mine = json.loads(json.dumps(answer.question.identity))
    entry = next((candidate for candidate in account.entries() if candidate.number == answer.ledger.entry), None)
    if entry is None:
        return Check(name, False, f"the ledger has no entry {answer.ledger.entry}")
    terms = answer.question.terms
    matches = [
        released
        for question, released in _recorded_questions(entry)
        if {k: v for k, v in question.items() if k in mine} == mine
        and _same_unit(question.get("unit", account.unit), terms)
    ]
    levels = entry.level if isinstance(entry.level, tuple) else (entry.level,)
    if not matches or answer.privacy not in levels or terms.neighbours != account.neighbours:
        return Check(name, False, f"entry {entry.number} of the ledger is for another question, unit or level")
    if json.loads(json.dumps(dict(answer.released))) not in matches:
        return Check(name, False, f"entry {entry.number} of the ledger has other released numbers")
    if (answer.ledger.time, answer.ledger.head) != (entry.time, entry.head):
        return Check(name, False, f"entry {entry.number} of the ledger has another time or head")
    if not _fits_budget(answer.ledger.amounts, account.state_after(entry).amounts):
        return Check(name, False, "the ledger has another budget, or has not spent as much")
    return Check(
        name,
        True,
        f"entry {entry.number} of the ledger has the question, the level, the released numbers, time and head",
    )


def _same_unit(unit_text: str, terms: Terms) -> bool:
    """Whether the text of a unit in a ledger, also one of Utmost 0.2, is the unit of an answer."""
    try:
        return as_unit(unit_text, "question") == terms.unit
    except InvalidInput:
        return False


def _fits_budget(stated: Any, current: Mapping[str, Mapping[str, float]]) -> bool:
    """Whether a report states the budget of a ledger, with spent amounts no larger than the current ones."""
    if not isinstance(stated, Mapping) or stated.keys() != current.keys():
        return False
    for name, part in current.items():
        amounts = stated[name]
        if not isinstance(amounts, Mapping) or amounts.keys() != part.keys() or amounts["limit"] != part["limit"]:
            return False
        if type(amounts["spent"]) not in (int, float) or not 0 <= amounts["spent"] <= part["spent"]:
            return False
    return True


def _recorded_questions(entry: Entry) -> list[tuple[dict[str, Any], Any]]:
    """The queries of an entry, each with what was released: one, those of a batch, or those of a schedule's slots."""
    if entry.slots:
        pairs = list(entry.used)
    elif isinstance(entry.question, dict) and isinstance(entry.question.get("batch"), list):
        pairs = list(zip(entry.question["batch"], entry.answer or [], strict=False))
    else:
        pairs = [(entry.question, entry.answer)]
    return [(question, released) for question, released in pairs if isinstance(question, dict)]


def answer_from_json(content: Any) -> Answer:
    """The answer in a report, made of what cannot be recomputed; raises `BadFile` if there is none."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise BadFile("this is not the JSON file of a report; name the .json file beside its page.")
    if "solution" not in content:
        raise BadFile(
            "this is an answer without its proof, as --json prints it; a report has both: ask again with --report "
            "page.html, which costs nothing where a ledger is kept, and verify page.json."
        )
    require_small_numbers(content)
    try:
        level = level_from_json({k: v for k, v in content["privacy"].items() if k not in ("words", "numbers")})
        unit = as_unit(content["unit"], "table" if "version" in content else "question")
        terms = Terms(unit, require_neighbours(content["neighbours"]))
        question = question_from_public(
            content["question"], terms, level, solution_from_json(content["solution"]), "version" in content
        )
        ledger = ledger_state(content["ledger"])
        released = dict(content["released"])
        if set(released) != set(question.released_names):  # whatever else it held would look as if it was released
            raise InvalidInput("other names were released than this question releases.")
        question.require_released(released)
        answer = Answer(question, str(content["dataset"]), released, ledger)
        _ = answer.value
        return answer
    except InvalidInput as reason:
        raise BadFile(f"the report holds an impossible answer: {reason}") from None
    except NONSENSE as wrong:
        raise BadFile(f"the report lacks a part of an answer, or holds nonsense ({type(wrong).__name__}).") from None


def ledger_state(content: Mapping[str, Any]) -> LedgerState:
    """The state of the ledger in a report; reports of Utmost 0.2 do not mention other tables."""
    stated = {"other_table": "", **content}
    state = LedgerState(**{field.name: stated[field.name] for field in fields(LedgerState)})
    state.require_words()
    return state


def question_from_public(
    public: Mapping[str, Any], terms: Terms, level: Level, solution: Solution, says_rounding: bool = True
) -> Question:
    """Rebuild the query of a report, with the report's solution; raises `BadFile` if that is impossible.

    A listed prior is in the solution; the report names it by its fingerprint. Reports of Utmost 0.2 do not say whether
    values were rounded.
    """
    by = public.get("by")
    has_found_keys = isinstance(by, Mapping) and "discover" in by
    if public.get("total") == NOISY_TOTAL["total"]:
        terms = replace(terms, fixed_rows=False)
    name = str(public.get("question"))
    if (name in AGGREGATES or (name == "top" and has_found_keys)) and not terms.unit.tiers:
        prior = None if str(public.get("prior")) == "uniform" else solution.problem.data.get("prior")
        return _with_solution(numeric_query_from_report(public, terms, level, prior, says_rounding), public, solution)
    kind = TieredCount if name == "count" else OTHERS.get(name)
    if kind is None:
        raise BadFile(f"the report asks {public.get('question')!r}, which this version does not know; update Utmost.")
    if name in FORMS:
        kind = FORMS[name](public)
    names = {field.name for field in fields(kind)}
    arguments = {name: value for name, value in public.items() if name in names and name != "prior"}
    if says_rounding and "rounded_values" in names:
        arguments.setdefault("rounded_values", False)
    if "one_row" in names:
        arguments.setdefault("one_row", True)
    if "where" in arguments:
        arguments["where"] = where_from_text(arguments["where"])
    if "by" in arguments:
        arguments["by"] = discover_from_public(arguments["by"]) if has_found_keys else keys_from_public(arguments["by"])
    if str(public.get("prior")) != "uniform":
        arguments["prior"] = solution.problem.data.get("prior")
    return _with_solution(kind(terms=terms, privacy=level, **arguments), public, solution)


def _with_solution(question: Question, public: Mapping[str, Any], solution: Solution) -> Question:
    """Attach the report's solution to a query; raises `BadFile` if the query is written differently in the report."""
    if question.public != dict(public):
        raise BadFile("the report's question is not written as Utmost writes it; ask for the report again.")
    object.__setattr__(question, "solution", solution)
    return question


def _differences(stated: Any, recomputed: Any, place: str) -> list[str]:
    """The places where plain data differ, up to rounding, as names separated by points."""
    if isinstance(recomputed, Mapping) and isinstance(stated, Mapping) and stated.keys() == recomputed.keys():
        parts = [(f"{place}.{key}", stated[key], recomputed[key]) for key in recomputed]
    elif isinstance(recomputed, list) and isinstance(stated, list) and len(stated) == len(recomputed):
        parts = [(f"{place}[{i}]", *pair) for i, pair in enumerate(zip(stated, recomputed, strict=True))]
    else:
        return [] if _equal(stated, recomputed) else [place]
    return [inner for name, old, new in parts for inner in _differences(old, new, name)]


def _equal(stated: Any, recomputed: Any) -> bool:
    """Whether two numbers or texts are equal, numbers up to rounding."""
    if isinstance(recomputed, bool) or isinstance(stated, bool) or isinstance(recomputed, str) or recomputed is None:
        return bool(stated is recomputed or (type(stated) is type(recomputed) and stated == recomputed))
    if isinstance(recomputed, int | float):
        return isinstance(stated, int | float) and math.isclose(stated, recomputed, rel_tol=CLOSE, abs_tol=1e-300)
    return False  # lists or mappings of different shape
