"""A form for a question: its fields come from the question's declaration and the public facts of the data set.

A field that is left empty is filled from the facts of the chosen column, where they say something: range, grid,
categories. So a new question has a form as soon as it is declared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from keyword import iskeyword
from typing import Any

from utmost.errors import InvalidInput, UtmostError, shown
from utmost.queries.bins import as_number
from utmost.queries.found_keys import read_discover
from utmost.queries.keys import Keys, keys_from_public, named, read_lists
from utmost.queries.options import Option
from utmost.queries.questions import QUESTIONS
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


@dataclass(frozen=True)
class Field:
    """One field of a form.

    Attributes
    ----------
    name, label, help : of the field
    kind : "text", "lines", "choice", "columns" or "switch"
    value : what it holds
    choices : what can be chosen, each with its words; of a text, what is suggested
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
    needed = [
        FROM_FACTS[each.name] for each in QUESTIONS[question].options if each.required and each.name in FROM_FACTS
    ]
    for option in QUESTIONS[question].options:
        if option.name == "by" or (option.name == "of" and dataset.unit.id is None):
            continue  # groups have a field of their own, below; and rows are all that can be counted
        found.append(_field(option, dataset, columns, given.get(option.name, ""), needed))
    if "by" in taken:
        found.append(_groups_field(dataset, columns, "Discover" in str(taken["by"].annotation), given.get("by", "")))
    help = "What the answer may spend: an epsilon such as 0.5; with a delta 0.5,1e-6; mu=0.5 or rho=0.1."
    found.append(Field("privacy", "privacy", help, "text", given.get("privacy", "0.5"), required=True))
    return found


def _groups_field(dataset: Dataset, columns: Mapping[str, str], may_discover: bool, value: str) -> Field:
    """The groups in one line, which suggests what the facts of the columns allow."""
    facts = {name: _facts(dataset, name) for name in columns}
    listed = [(name, "its listed values") for name in columns if facts[name].categories]
    cut = [(f"{name}={text}", "in bins") for name in columns if (text := _round_bins(facts[name]))]
    found = [(f"discover({name})", "keys found privately, with a delta") for name in columns] if may_discover else []
    ways = [
        *(f"{name} for all its listed values, {name}={facts[name].categories[0]} for one" for name, _ in listed[:1]),
        f"{next(iter(cut), ('age=bins(0, 100, 10)',))[0]} for bins of numbers",
        *(f"{text}, alone, for keys that are found privately (needs a delta)" for text, _ in found[:1]),
    ]
    help = f"Answer once for each group, all for one spend: columns with semicolons between them. {'; '.join(ways)}."
    return Field("by", "by", help, "text", value, (*listed, *cut, *found))


def _round_bins(facts: Column) -> str:
    """About ten bins with round edges that hold the whole declared range; nothing of a column without one."""
    if facts.categories or facts.lower is None or facts.upper is None or not facts.lower < facts.upper:
        return ""
    low, high = Fraction(str(facts.lower)), Fraction(str(facts.upper))
    tenth = (high - low) / 10
    power = Fraction(10) ** math.floor(math.log10(tenth))
    width = next(step * power for step in (1, 2, 5, 10) if step * power >= tenth)
    ends = [math.floor(low / width) * width, (math.floor(high / width) + 1) * width]  # a bin lacks its upper edge
    return f"bins({', '.join(str(as_number(each)) for each in [*ends, width])})"


def _best_known(dataset: Dataset, columns: Mapping[str, str], needed: Sequence[str]) -> str:
    """The column that a form begins with: the first whose facts fill what is needed, so that it has a plan at once."""
    full = (name for name in columns if all(getattr(_facts(dataset, name), fact) not in (None, ()) for fact in needed))
    return next(full, next(iter(columns)))


def _field(
    option: Option, dataset: Dataset, columns: Mapping[str, str], value: str, needed: Sequence[str] = ()
) -> Field:
    label, help = option.name.replace("_", " "), option.help.replace("--", "")  # the command's words for its flags
    if option.name in COLUMNS:
        words = [(name, _words(name, _facts(dataset, name))) for name in columns]
        value = value or _best_known(dataset, columns, needed)
        return Field(option.name, label, help, "columns", value, tuple(words), required=True)
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
    if by and "by" in parameters_of(question):
        arguments["by"] = read_discover(by) or _groups(by, dataset)
    arguments["privacy"] = given.get("privacy", "").strip() or None
    _require_filled(question, arguments)
    if given.get("fresh"):
        arguments["fresh"] = True
    return read_asked(write_asked(question, arguments))


def _require_filled(question: str, arguments: Mapping[str, Any]) -> None:
    """Say which fields are still empty, in the words of the form."""
    needed = [option.name for option in QUESTIONS[question].options if option.required and not option.may_be_empty]
    empty = [name.replace("_", " ") for name in (*needed, "privacy") if arguments.get(name) is None]
    if empty:
        raise InvalidInput(f"fill in {named(empty)}.")


def _groups(text: str, dataset: Dataset) -> Keys:
    """The keys that are written in a form, where a column with listed categories may be named alone."""
    for name in (part.strip() for part in text.split(";")):
        if cut := _round_bins(_facts(dataset, name)):
            raise InvalidInput(
                f"by names {shown(name)}, which holds numbers and has no listed values; cut them into bins, such as "
                f"{name}={cut}, or list values with commas between them."
            )
    listed = {name: column.categories for name, column in dataset.columns.items() if column.categories}
    return read_lists(text, "; or name a column with public values alone", listed)


def _read(option: Option, text: str, kind: Any) -> Any:
    try:
        return option.read(text, kind)
    except UtmostError as problem:  # the command's options are the form's fields
        raise InvalidInput(str(problem).replace("--", "")) from None


def as_python(asked: Asked, dataset: str, url: str) -> str:
    """The lines of Python that ask the same."""
    given = ", ".join(_argument(name, value) for name, value in asked.arguments.items())
    needed = ["import datetime", ""] if "datetime.date(" in given else []
    client = f'client = um.Client("{url}", key, "{dataset}")'
    return "\n".join([*needed, "import utmost as um", client, f"print(client.{asked.name}({given}))"])


def _argument(name: str, value: Any) -> str:
    if name == "by" and "discover" in value:
        given = [repr(column) for column in value["discover"]]
        given += [f"keys_each={value['keys_each']}"] if value.get("keys_each", 1) != 1 else []
        given += [f"share={value['share']!r}"] if "share" in value else []
        return f"by=um.discover({', '.join(given)})"
    if name == "by":
        return f"by={_keys_as_python(keys_from_public(value))}"
    if isinstance(value, dict) and value.keys() == {"bins"}:
        return f"{name}=um.bins({value['bins']!r})"
    if name == "privacy" and isinstance(value, str) and _is_number(value):
        return f"privacy={value}"
    return f"{name}={value!r}"


def _keys_as_python(keys: Keys) -> str:
    lists = {
        name: f"um.bins({list(keys.bins[name].edges)!r})" if name in keys.bins else repr(values.to_pylist())
        for name, values in keys.columns
    }
    other = [] if keys.other is None else [f"other={keys.other!r}"]
    if all(name.isidentifier() and not iskeyword(name) and name not in ("frame", "other") for name in lists):
        return f"um.keys({', '.join([*(f'{name}={text}' for name, text in lists.items()), *other])})"
    written = ", ".join(f"{name!r}: {text}" for name, text in lists.items())
    return f"um.keys({', '.join([f'{{{written}}}', *other])})"


def _is_number(text: str) -> bool:
    try:
        float(text.encode("ascii"))
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
