"""A form for a question: its fields come from the question's declaration and the public facts of the data set.

A field that is left empty is filled from the facts of the chosen column, where they say something: range, grid,
categories. So a new question has a form as soon as it is declared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from utmost.errors import InvalidInput, UtmostError
from utmost.release.discover import discover
from utmost.release.options import Option
from utmost.release.questions import QUESTIONS
from utmost.serve.settings import Column, Dataset
from utmost.serve.wire import Asked, parameters_of, read_asked, write_asked

FROM_FACTS = {
    "lower": "lower",
    "upper": "upper",
    "grid": "grid",
    "categories": "categories",
    "candidates": "categories",
}
"""Which fact of the chosen column fills a field that is left empty."""


COLUMNS = ("column", "x", "y")
"""Arguments that are a column, chosen from a list."""
FOUND = "found privately: "


@dataclass(frozen=True)
class Field:
    """One field of a form.

    Attributes
    ----------
    name, label, help : of the field
    kind : "text", "lines", "choice", "columns" or "switch"
    value : what it holds
    choices : what can be chosen, each with its words
    fact : the fact of a column that fills it if it is empty
    required : whether it must be filled, by hand or from facts
    """

    name: str
    label: str
    help: str
    kind: str
    value: Any
    choices: tuple[tuple[str, str], ...] = ()
    fact: str = ""
    required: bool = False


def fields_of(question: str, dataset: Dataset, columns: Mapping[str, str], given: Mapping[str, str]) -> list[Field]:
    """The fields of a question's form, holding what was given."""
    taken, found = parameters_of(question), []
    for option in QUESTIONS[question].options:
        if option.name == "by" or (option.name == "of" and dataset.unit.id is None):
            continue  # groups have a field of their own, below; and rows are all that can be counted
        found.append(_field(option, dataset, columns, given.get(option.name, "")))
    if "by" in taken:
        listed = [(name, name) for name in columns if _facts(dataset, name).categories]
        if "Discover" in str(taken["by"].annotation):
            listed += [(f"{FOUND}{name}", f"{name}, keys found privately (needs a delta)") for name in columns]
        if listed:
            help = "Answer once for every category of a column, all for one spend."
            found.append(Field("by", "by", help, "choice", given.get("by", ""), (("", "no groups"), *listed)))
    help = "What the answer may spend: an epsilon such as 0.5; with a delta 0.5,1e-6; mu=0.5 or rho=0.1."
    found.append(Field("privacy", "privacy", help, "text", given.get("privacy", "0.5"), required=True))
    return found


def _field(option: Option, dataset: Dataset, columns: Mapping[str, str], value: str) -> Field:
    label, help = option.name.replace("_", " "), option.help.replace("--", "")  # the command's words for its flags
    if option.name in COLUMNS:
        words = [(name, _words(name, _facts(dataset, name))) for name in columns]
        return Field(option.name, label, help, "columns", value or next(iter(columns)), tuple(words), required=True)
    if option.name == "of":
        return Field("of", label, help, "choice", value or "rows", (("rows", "rows"), ("people", "people")))
    kind = "switch" if option.is_switch else "lines" if option.several else "text"
    fact = FROM_FACTS.get(option.name, "")
    required = option.required and not option.may_be_empty
    return Field(option.name, label, help, kind, value, fact=fact, required=required)


def asked_by(question: str, dataset: Dataset, columns: Mapping[str, Any], given: Mapping[str, str]) -> Asked:
    """The question that a filled form asks; empty fields are filled from facts, or left out."""
    arguments = dict[str, Any]()
    for option in (option for option in QUESTIONS[question].options if option.name != "by"):
        about, _, part = option.name.rpartition("_")  # x_range is of the column x
        chosen = given.get(about if about in COLUMNS else "column", "").strip()
        facts, kind = _facts(dataset, chosen), columns.get(chosen)
        text = given.get(option.name, "").strip()
        if option.is_switch:
            if text:
                arguments[option.name] = True
        elif option.several and text:
            arguments[option.name] = [line.strip() for line in text.splitlines() if line.strip()]
        elif text:
            arguments[option.name] = _read(option, text, kind)
        elif part == "range" and None not in (facts.lower, facts.upper):
            arguments[option.name] = [facts.lower, facts.upper]
        elif (known := getattr(facts, FROM_FACTS.get(part, FROM_FACTS.get(option.name, "")), None)) not in (None, ()):
            arguments[option.name] = list(known) if isinstance(known, tuple) else known
    by = given.get("by", "").strip()
    if by.startswith(FOUND):
        arguments["by"] = discover(by.removeprefix(FOUND))
    elif by and "by" in parameters_of(question):
        arguments["by"] = {by: list(_facts(dataset, by).categories)}
    arguments["privacy"] = given.get("privacy", "").strip() or None
    if given.get("fresh"):
        arguments["fresh"] = True
    return read_asked(write_asked(question, arguments))


def _read(option: Option, text: str, kind: Any) -> Any:
    try:
        return option.read(text, kind)
    except UtmostError as problem:  # the command's options are the form's fields
        raise InvalidInput(str(problem).replace("--", "")) from None


def as_python(asked: Asked, dataset: str, url: str) -> str:
    """The lines of Python that ask the same."""
    given = ", ".join(_argument(name, value) for name, value in asked.arguments.items())
    return f'import utmost as um\nclient = um.Client("{url}", key, "{dataset}")\nprint(client.{asked.name}({given}))'


def _argument(name: str, value: Any) -> str:
    if name == "by" and isinstance(value, dict) and "discover" in value:
        return f"by=um.discover({', '.join(map(repr, value['discover']))})"
    if name == "by" and isinstance(value, dict):
        return f"by=um.keys({', '.join(f'{column}={listed!r}' for column, listed in value.items())})"
    if name == "privacy" and isinstance(value, str) and _is_number(value):
        return f"privacy={value}"
    return f"{name}={value!r}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def examples(dataset: Dataset) -> list[str]:
    """Conditions that one might write, made of the public facts."""
    found = []
    for name, facts in dataset.columns.items():
        if facts.categories:
            first = facts.categories[0]
            found.append(f"{name} = '{first}'" if isinstance(first, str) else f"{name} = {first}")
        elif facts.lower is not None and facts.upper is not None:
            found.append(f"{name} >= {round((facts.lower + facts.upper) / 2)}")
    return found


def _words(name: str, facts: Column) -> str:
    said = [facts.description, f"{facts.lower} to {facts.upper}" if facts.lower is not None else ""]
    if facts.categories:
        said.append(_few(facts.categories))
    return ": ".join([name, ", ".join(part for part in said if part)]) if any(said) else name


def _few(values: Sequence[Any]) -> str:
    return ", ".join(map(str, values[:4])) + (", …" if len(values) > 4 else "")


def _facts(dataset: Dataset, column: str) -> Column:
    return dataset.columns.get(column, Column())
