"""The form of a question: its fields come from the question's declaration and the public facts of the data set.

An empty field is filled from the facts of the chosen column, if they have it: range, grid, categories. So a new
question has a form as soon as it is declared.
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
from utmost.queries.keys import Keys, english_list, keys_from_public, read_lists
from utmost.queries.methods import parameters_of
from utmost.queries.options import Option
from utmost.queries.questions import QUESTIONS
from utmost.serve.settings import Column, Dataset
from utmost.serve.wire import Query, read_query, write_query

FROM_FACTS = {
    "lower": "lower",
    "upper": "upper",
    "grid": "grid",
    "categories": "categories",
    "candidates": "categories",
}
"""The fact of the chosen column that fills an empty field."""


COLUMNS = ("column", "x", "y")
"""Arguments that are columns, chosen from a list."""


@dataclass(frozen=True)
class Field:
    """One field of a form.

    Attributes
    ----------
    name, label, help : str
        The argument's name, and the words beside the field.
    kind : str
        "text", "lines", "choice", "columns" or "switch".
    value : str
        Its present content.
    choices : tuple of pairs
        The choices, each with its words; for a text, suggestions.
    fact : str
        The fact of a column that fills it if it is empty.
    required : bool
        Whether it must be filled, by hand or from facts.
    """

    name: str
    label: str
    help: str
    kind: str
    value: Any
    choices: tuple[tuple[str, str], ...] = ()
    fact: str = ""
    required: bool = False


def fields_of(question: str, dataset: Dataset, columns: Mapping[str, str], values: Mapping[str, str]) -> list[Field]:
    """The fields of a question's form, with their present values."""
    parameters, fields = parameters_of(question), []
    mandatory_facts = [
        FROM_FACTS[declared.name]
        for declared in QUESTIONS[question].options
        if declared.required and declared.name in FROM_FACTS
    ]
    for option in QUESTIONS[question].options:
        if option.name == "by" or (option.name == "of" and dataset.unit.id is None):
            continue  # groups have a field of their own, below; and rows are all that can be counted
        fields.append(_field(option, dataset, columns, values.get(option.name, ""), mandatory_facts))
    if "by" in parameters:
        fields.append(
            _groups_field(dataset, columns, "Discover" in str(parameters["by"].annotation), values.get("by", ""))
        )
    help = "What the answer may spend: an epsilon such as 0.5; with a delta 0.5,1e-6; mu=0.5 or rho=0.1."
    fields.append(Field("privacy", "privacy", help, "text", values.get("privacy", "0.5"), required=True))
    return fields


def _groups_field(dataset: Dataset, columns: Mapping[str, str], may_discover: bool, value: str) -> Field:
    """The field for groups, with suggestions from the facts of the columns."""
    facts = {name: _facts(dataset, name) for name in columns}
    listings = [(name, "its listed values") for name in columns if facts[name].categories]
    binnings = [(f"{name}={text}", "in bins") for name in columns if (text := _round_bins(facts[name]))]
    discoveries = (
        [(f"discover({name})", "keys found privately, with a delta") for name in columns] if may_discover else []
    )
    ways = [
        *(f"{name} for all its listed values, {name}={facts[name].categories[0]} for one" for name, _ in listings[:1]),
        f"{next(iter(binnings), ('age=bins(0, 100, 10)',))[0]} for bins of numbers",
        *(f"{text}, alone, for keys that are found privately (needs a delta)" for text, _ in discoveries[:1]),
    ]
    help = f"Answer once for each group, all for one spend: columns with semicolons between them. {'; '.join(ways)}."
    return Field("by", "by", help, "text", value, (*listings, *binnings, *discoveries))


def _round_bins(facts: Column) -> str:
    """About ten bins with round edges over a column's declared range; empty for a column without one."""
    if facts.categories or facts.lower is None or facts.upper is None or not facts.lower < facts.upper:
        return ""
    low, high = Fraction(str(facts.lower)), Fraction(str(facts.upper))
    tenth = (high - low) / 10
    power = Fraction(10) ** math.floor(math.log10(tenth))
    width = next(step * power for step in (1, 2, 5, 10) if step * power >= tenth)
    ends = [math.floor(low / width) * width, (math.floor(high / width) + 1) * width]  # a bin lacks its upper edge
    return f"bins({', '.join(str(as_number(edge)) for edge in [*ends, width])})"


def _column_with_facts(dataset: Dataset, columns: Mapping[str, str], mandatory_facts: Sequence[str]) -> str:
    """The first column whose facts fill all mandatory fields, so that the form has a plan at once; else the first."""
    full = (
        name
        for name in columns
        if all(getattr(_facts(dataset, name), fact) not in (None, ()) for fact in mandatory_facts)
    )
    return next(full, next(iter(columns)))


def _field(
    option: Option, dataset: Dataset, columns: Mapping[str, str], value: str, mandatory_facts: Sequence[str] = ()
) -> Field:
    label, help = option.name.replace("_", " "), option.help.replace("--", "")  # the command's words for its flags
    if option.name in COLUMNS:
        words = [(name, _words(name, _facts(dataset, name))) for name in columns]
        value = value or _column_with_facts(dataset, columns, mandatory_facts)
        return Field(option.name, label, help, "columns", value, tuple(words), required=True)
    if option.name == "of":
        return Field("of", label, help, "choice", value or "rows", (("rows", "rows"), ("people", "people")))
    kind = "switch" if option.is_switch else "lines" if option.several else "text"
    fact = FROM_FACTS.get(option.name, "")
    required = option.required and not option.may_be_empty
    return Field(option.name, label, help, kind, value, fact=fact, required=required)


def query_of_form(question: str, dataset: Dataset, columns: Mapping[str, Any], values: Mapping[str, str]) -> Query:
    """The query of a filled form; empty fields are filled from facts, or omitted."""
    arguments = dict[str, Any]()
    for option in (option for option in QUESTIONS[question].options if option.name != "by"):
        about, _, part = option.name.rpartition("_")  # x_range is of the column x
        column = values.get(about if about in COLUMNS else "column", "").strip()
        facts, kind = _facts(dataset, column), columns.get(column)
        text = values.get(option.name, "").strip()
        if option.is_switch:
            if text:
                arguments[option.name] = True
        elif option.several and text:
            arguments[option.name] = [line.strip() for line in text.splitlines() if line.strip()]
        elif text:
            arguments[option.name] = _read(option, text, kind)
        elif part == "range" and None not in (facts.lower, facts.upper):
            arguments[option.name] = [facts.lower, facts.upper]
        elif (fact := getattr(facts, FROM_FACTS.get(part, FROM_FACTS.get(option.name, "")), None)) not in (None, ()):
            arguments[option.name] = list(fact) if isinstance(fact, tuple) else fact
    by = values.get("by", "").strip()
    if by and "by" in parameters_of(question):
        arguments["by"] = read_discover(by) or _groups(by, dataset)
    arguments["privacy"] = values.get("privacy", "").strip() or None
    _require_filled(question, arguments)
    if values.get("fresh"):
        arguments["fresh"] = True
    return read_query(write_query(question, arguments))


def _require_filled(question: str, arguments: Mapping[str, Any]) -> None:
    """Refuse a form with empty mandatory fields, named as in the form."""
    mandatory = [option.name for option in QUESTIONS[question].options if option.required and not option.may_be_empty]
    missing = [name.replace("_", " ") for name in (*mandatory, "privacy") if arguments.get(name) is None]
    if missing:
        raise InvalidInput(f"fill in {english_list(missing)}.")


def _groups(text: str, dataset: Dataset) -> Keys:
    """Parse the keys in a form; the name of a column with listed categories stands for all of them."""
    for name in (part.strip() for part in text.split(";")):
        if binning := _round_bins(_facts(dataset, name)):
            raise InvalidInput(
                f"by names {shown(name)}, which holds numbers and has no listed values; cut them into bins, such as "
                f"{name}={binning}, or list values with commas between them."
            )
    categories = {name: column.categories for name, column in dataset.columns.items() if column.categories}
    return read_lists(text, "; or name a column with public values alone", categories)


def _read(option: Option, text: str, kind: Any) -> Any:
    try:
        return option.read(text, kind)
    except UtmostError as problem:  # the command's options are the form's fields
        raise InvalidInput(str(problem).replace("--", "")) from None


def as_python(query: Query, dataset: str, url: str) -> str:
    """Python code that asks the same query."""
    arguments = ", ".join(_argument(name, value) for name, value in query.arguments.items())
    imports = ["import datetime", ""] if "datetime.date(" in arguments else []
    client = f'client = um.Client("{url}", key, "{dataset}")'
    return "\n".join([*imports, "import utmost as um", client, f"print(client.{query.name}({arguments}))"])


def _argument(name: str, value: Any) -> str:
    if name == "by" and "discover" in value:
        parts = [repr(column) for column in value["discover"]]
        parts += [f"keys_each={value['keys_each']}"] if value.get("keys_each", 1) != 1 else []
        parts += [f"share={value['share']!r}"] if "share" in value else []
        return f"by=um.discover({', '.join(parts)})"
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
    pairs = ", ".join(f"{name!r}: {text}" for name, text in lists.items())
    return f"um.keys({', '.join([f'{{{pairs}}}', *other])})"


def _is_number(text: str) -> bool:
    try:
        float(text.encode("ascii"))
    except ValueError:
        return False
    return True


def examples(dataset: Dataset) -> list[str]:
    """Example conditions, made from the public facts."""
    conditions = []
    for name, facts in dataset.columns.items():
        if facts.categories:
            first = facts.categories[0]
            conditions.append(f"{name} = '{first}'" if isinstance(first, str) else f"{name} = {first}")
        elif facts.lower is not None and facts.upper is not None:
            conditions.append(f"{name} >= {round((facts.lower + facts.upper) / 2)}")
    return conditions


def _words(name: str, facts: Column) -> str:
    parts = [facts.description, f"{facts.lower} to {facts.upper}" if facts.lower is not None else ""]
    if facts.categories:
        parts.append(_few(facts.categories))
    return ": ".join([name, ", ".join(part for part in parts if part)]) if any(parts) else name


def _few(values: Sequence[Any]) -> str:
    return ", ".join(map(str, values[:4])) + (", …" if len(values) > 4 else "")


def _facts(dataset: Dataset, column: str) -> Column:
    return dataset.columns.get(column, Column())
