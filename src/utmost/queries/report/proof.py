"""A report proved again, without the table.

Proved is that its mechanism is private and as good as it says, and that every number follows from what was released.

What a report holds is believed of nothing but four things: the question's public parameters, the data set's name and
the ledger's words (which only the ledger can confirm), and the released integers. All else is recomputed and compared.
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
from utmost.queries.found_keys import discover_again
from utmost.queries.keys import keys_again
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
"""So many of the numbers that differ are named."""
OLD_REPORT = (
    "the value follows from the released integers; Utmost 0.2 wrote this report, whose intervals left out rounding, "
    "candidates between steps and what at_most clamps: they and its sentences are not compared, but made anew"
)
CLOSE = 1e-9
"""How far a recomputed number may be from the stated one, relatively: another machine rounds differently."""


def load_answers(path: str | os.PathLike[str]) -> list[tuple[Answer, Verification]]:
    """The answers of a report's JSON file, each with what its verification found.

    `BadFile` for what is no report; a report whose numbers do not fit is returned with the check that fails.
    """
    try:
        content = parse_json(Path(path).read_bytes())
    except InvalidInput as reason:
        raise BadFile(f"{path} cannot be used: {reason} Ask for the report again.") from None
    except (OSError, ValueError, RecursionError):
        raise BadFile(f"{path} is not the JSON file of a report; name the .json file beside its page.") from None
    listed = content if isinstance(content, list) else [content]
    return [_proved(each) for each in listed]


def _proved(content: Any) -> tuple[Answer, Verification]:
    answer = answer_from_json(content)
    found = answer.verify()
    if not found:  # what it says of accuracy follows from a mechanism, or a claim, that is not to be trusted
        return answer, found
    stated = {name: value for name, value in content.items() if name not in ("solution", "format")}
    try:
        if "version" not in content:
            return answer, replace(found, checks=(*found.checks, _value_again(answer, stated)))
        again = json.loads(json.dumps(answer.details))
        wrong = [
            place
            for name, value in again.items()
            if name != "format"
            for place in _differences(stated.pop(name, None), value, name)
        ]
        wrong += list(stated)  # what nobody recomputes is nobody's word
        solved = json.loads(json.dumps(solution_to_json(answer.question.solution)))
        wrong += _differences(content["solution"], solved, "solution")
    except UtmostError as reason:  # any other error would be a mistake of ours, not of the file
        return answer, replace(found, checks=(*found.checks, Check("numbers", False, str(reason))))
    except (ArithmeticError, MemoryError) as reason:
        detail = f"a number of the report is too large, or too small, to be checked ({type(reason).__name__})"
        return answer, replace(found, checks=(*found.checks, Check("numbers", False, detail)))
    named = ", ".join(sorted(wrong)[:MOST_NAMED]) + (
        f" and {len(wrong) - MOST_NAMED} more" if len(wrong) > MOST_NAMED else ""
    )
    detail = f"{named}: not what follows from the released values" if wrong else "all recomputed"
    return answer, replace(found, checks=(*found.checks, Check("numbers", not wrong, detail)))


def _value_again(answer: Answer, stated: Mapping[str, Any]) -> Check:
    """Of a report of Utmost 0.2, whose sentences and intervals said other things: whether its value follows."""
    again = json.loads(json.dumps(answer.question.plain_value(answer.value)))
    if wrong := _differences(stated.get("value"), again, "value"):
        return Check("numbers", False, f"{', '.join(wrong[:MOST_NAMED])}: not what follows from the released values")
    return Check("numbers", True, OLD_REPORT)


def confirmed(answer: Answer, account: Account) -> Check:
    """Whether a ledger has recorded an answer: this question, at this level, then, with these released numbers.

    A report proves what follows from its numbers, and not that they were ever drawn: a forged one may be consistent.
    """
    name = f"report: {answer.question.words!r}"  # the publisher's own words, on one line
    if answer.dataset != account.dataset:
        return Check(name, False, f"it is about the data set {shown(answer.dataset)}")
    mine = json.loads(json.dumps(answer.question.identity))
    entry = next((each for each in account.entries() if each.number == answer.ledger.entry), None)
    if entry is None:
        return Check(name, False, f"the ledger has no entry {answer.ledger.entry}")
    terms = answer.question.terms
    same = [
        given
        for asked, given in _recorded(entry)
        if {k: v for k, v in asked.items() if k in mine} == mine and _same_unit(asked.get("unit", account.unit), terms)
    ]
    levels = entry.level if isinstance(entry.level, tuple) else (entry.level,)
    if not same or answer.privacy not in levels or terms.neighbours != account.neighbours:
        return Check(name, False, f"entry {entry.number} of the ledger is for another question, unit or level")
    if json.loads(json.dumps(dict(answer.released))) not in same:
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


def _same_unit(written: str, terms: Terms) -> bool:
    """Whether a ledger's words for a unit, also those of Utmost 0.2, name the unit of an answer."""
    try:
        return as_unit(written, "question") == terms.unit
    except InvalidInput:
        return False


def _fits_budget(stated: Any, now: Mapping[str, Mapping[str, float]]) -> bool:
    """Whether a report names the budget of a ledger, of which no more was spent when it was written than now."""
    if not isinstance(stated, Mapping) or stated.keys() != now.keys():
        return False
    for name, part in now.items():
        said = stated[name]
        if not isinstance(said, Mapping) or said.keys() != part.keys() or said["limit"] != part["limit"]:
            return False
        if type(said["spent"]) not in (int, float) or not 0 <= said["spent"] <= part["spent"]:
            return False
    return True


def _recorded(entry: Entry) -> list[tuple[dict[str, Any], Any]]:
    """The questions of an entry, each with what was released: one, those of a batch, or those of a schedule's slots."""
    if entry.slots:
        found = list(entry.used)
    elif isinstance(entry.question, dict) and isinstance(entry.question.get("batch"), list):
        found = list(zip(entry.question["batch"], entry.answer or [], strict=False))
    else:
        found = [(entry.question, entry.answer)]
    return [(asked, given) for asked, given in found if isinstance(asked, dict)]


def answer_from_json(content: Any) -> Answer:
    """The answer that a report holds, made of what cannot be recomputed; `BadFile` for what is none."""
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
        question = question_again(
            content["question"], terms, level, solution_from_json(content["solution"]), "version" in content
        )
        ledger = ledger_state(content["ledger"])
        released = dict(content["released"])
        question.require_released(released)
        answer = Answer(question, str(content["dataset"]), released, ledger)
        _ = answer.value
        return answer
    except InvalidInput as reason:
        raise BadFile(f"the report holds an impossible answer: {reason}") from None
    except NONSENSE as wrong:
        raise BadFile(f"the report lacks a part of an answer, or holds nonsense ({type(wrong).__name__}).") from None


def ledger_state(content: Mapping[str, Any]) -> LedgerState:
    """The state of a ledger as a report has it; reports of Utmost 0.2 say nothing of other tables."""
    stated = {"other_table": "", **content}
    state = LedgerState(**{each.name: stated[each.name] for each in fields(LedgerState)})
    state.require_words()
    return state


def question_again(
    public: Mapping[str, Any], terms: Terms, level: Level, solution: Solution, says_rounding: bool = True
) -> Question:
    """The question that a report says was asked, with the solution that the report brings.

    A listed prior stands in the solution; the report names it by its fingerprint. `BadFile` for what cannot be one.
    Reports of Utmost 0.2 do not say whether values were rounded.
    """
    by = public.get("by")
    found = isinstance(by, Mapping) and "discover" in by
    if public.get("total") == NOISY_TOTAL["total"]:
        terms = replace(terms, fixed_rows=False)
    name = str(public.get("question"))
    if (name in AGGREGATES or (name == "top" and found)) and not terms.unit.tiers:
        prior = None if str(public.get("prior")) == "uniform" else solution.problem.data.get("prior")
        return _with_solution(numeric_query_from_report(public, terms, level, prior, says_rounding), public, solution)
    kind = TieredCount if name == "count" else OTHERS.get(name)
    if kind is None:
        raise BadFile(f"the report asks {public.get('question')!r}, which this version does not know; update Utmost.")
    if name in FORMS:
        kind = FORMS[name](public)
    known = {each.name for each in fields(kind)}
    given = {name: value for name, value in public.items() if name in known and name != "prior"}
    if says_rounding and "rounded_values" in known:
        given.setdefault("rounded_values", False)
    if "one_row" in known:
        given.setdefault("one_row", True)
    if "where" in given:
        given["where"] = where_from_text(given["where"])
    if "by" in given:
        given["by"] = discover_again(given["by"]) if found else keys_again(given["by"])
    if str(public.get("prior")) != "uniform":
        given["prior"] = solution.problem.data.get("prior")
    return _with_solution(kind(terms=terms, privacy=level, **given), public, solution)


def _with_solution(question: Question, public: Mapping[str, Any], solution: Solution) -> Question:
    """A question with the solution that its report brings; `BadFile` if the report writes the question otherwise."""
    if question.public != dict(public):
        raise BadFile("the report's question is not written as Utmost writes it; ask for the report again.")
    object.__setattr__(question, "solution", solution)
    return question


def _differences(stated: Any, found: Any, place: str) -> list[str]:
    """Where plain data differ, numbers up to rounding: the names that lead there, with points between them."""
    if isinstance(found, Mapping) and isinstance(stated, Mapping) and stated.keys() == found.keys():
        return [each for key in found for each in _differences(stated[key], found[key], f"{place}.{key}")]
    if isinstance(found, list) and isinstance(stated, list) and len(stated) == len(found):
        pairs = enumerate(zip(stated, found, strict=True))
        return [each for i, (one, other) in pairs for each in _differences(one, other, f"{place}[{i}]")]
    return [] if _same(stated, found) else [place]


def _same(stated: Any, found: Any) -> bool:
    """Whether two numbers or texts are the same, numbers up to rounding."""
    if isinstance(found, bool) or isinstance(stated, bool) or isinstance(found, str) or found is None:
        return bool(stated is found or (type(stated) is type(found) and stated == found))
    if isinstance(found, int | float):
        return isinstance(stated, int | float) and math.isclose(stated, found, rel_tol=CLOSE, abs_tol=1e-300)
    return False  # lists and mappings of another shape
