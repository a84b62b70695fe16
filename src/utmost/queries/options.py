"""Declarations of the parameters of questions, for the command, its prompts and its errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from utmost.errors import InvalidInput, shown
from utmost.exact import is_digits
from utmost.messages import Argument, Code, Name, Words
from utmost.queries.bins import Bins, read_bins

ReadOption = Callable[[Any, Any], Any]
"""How text of a command line becomes a value; the second argument is the type of the question's column, if known."""


@dataclass(frozen=True)
class Option:
    """One parameter of a question.

    Attributes
    ----------
    name : str
        The name of the session's argument; the command's flag is the same with dashes.
    help : str
        One line for the help of the command and for the form of a page.
    missing : str
        What an error says if the parameter is required and missing, with an example.
    prompt : str
        The prompt of a terminal if the parameter is required and missing.
    required : bool
        Whether there is no default.
    may_be_empty : bool
        Whether an empty input means "none".
    read : callable
        Converts the command's text to a value.
    several : bool
        Whether the flag may be given more than once.
    spelled : str
        The flag without its dashes, where it differs from the argument's name.
    is_switch : bool
        Whether the flag stands alone, without a value.
    """

    name: str
    help: str
    missing: str = ""
    prompt: str = ""
    required: bool = False
    may_be_empty: bool = False
    read: ReadOption = lambda text, kind: text
    several: bool = False
    spelled: str = ""
    is_switch: bool = False

    @property
    def flag(self) -> str:
        """The flag of the command, without dashes in front."""
        return self.spelled or self.name.replace("_", "-")


def read_categories(text: Any, kind: Any) -> list[Any] | Bins:
    """Parse categories: bins such as bins(0, 100, 5), or a list separated by commas.

    The entries are numbers or booleans if the column holds these, else texts.
    """
    if (cut := read_bins(str(text))) is not None:
        return cut
    listed = [part.strip() for part in str(text).split(",") if part.strip()]
    if not listed:
        raise InvalidInput(
            Name("categories"),
            " lists the public values, separated by commas: ",
            Argument("categories", ["yes", "no"]),
            ".",
        )
    if kind is not None and kind.kind == "boolean":
        return [_truth(part) for part in listed]
    return read_numbers(text, kind) if kind is not None and kind.is_number else listed


def read_numbers(text: Any, kind: Any) -> list[Any]:
    """Parse numbers separated by commas."""
    listed = [part.strip() for part in str(text).split(",") if part.strip()]
    try:
        if listed:
            return [int(part) if is_digits(part.removeprefix("-")) else _float(part) for part in listed]
    except ValueError:
        pass
    raise InvalidInput(
        Name("categories"),
        f" is {shown(text)}; give numbers separated by commas: ",
        Argument("categories", [20, 40, 60]),
        ".",
    )


def _float(text: str) -> float:
    """Parse a number in ASCII digits."""
    if not text.isascii():
        raise ValueError
    return float(text)


def read_edges(text: Any, kind: Any) -> list[Any] | Bins:
    """Parse numbers separated by commas, in increasing order; or bins, which give their edges."""
    if (cut := read_bins(str(text))) is not None:
        return cut
    try:
        return read_numbers(text, kind)
    except InvalidInput:
        raise InvalidInput(
            Name("edges"),
            f" is {shown(text)}; give numbers separated by commas, in increasing order: ",
            Argument("edges", [20, 40, 60]),
            ".",
        ) from None


def _truth(text: str) -> bool:
    truth = {"true": True, "yes": True, "false": False, "no": False}.get(text.lower())
    if truth is None:
        raise InvalidInput(
            Name("categories"),
            f" holds {shown(text)}; the column holds truth values: ",
            Argument("categories", [Code("True", "true"), Code("False", "false")]),
            ".",
        )
    return truth


def read_whole(text: Any, kind: Any) -> int:
    """Parse a whole number."""
    if is_digits(str(text).replace("_", "")) and len(str(text)) < 30:
        return int(str(text))
    raise InvalidInput(f"{shown(text)} is not a whole number; give one such as 100.")


def read_shares(text: Any, kind: Any) -> Any:
    """Parse a share, or several separated by commas."""
    parts = [part.strip() for part in str(text).split(",")]
    return parts if len(parts) > 1 else text


def read_range(text: Any, kind: Any) -> list[str]:
    """Parse the two ends of a range, separated by a comma."""
    return [part.strip() for part in str(text).split(",")]


def read_or_none(text: Any, kind: Any) -> str | None:
    """Return a text, or None if it is empty, which means no condition."""
    return str(text) or None


def read_by(text: Any, kind: Any) -> Any:
    """Parse groups: public keys, or columns whose keys are found privately."""
    from utmost.queries.found_keys import read_discover  # loaded late, because it needs the packages for tables
    from utmost.queries.keys import read_keys

    return read_discover(str(text)) or read_keys(str(text))


BY = Option(
    "by",
    Words(
        "Answer for each public key: 'carrier=AA,UA;month=1,2', 'age=bins(0, 100, 5)', or a CSV file of them; of ",
        Name("count"),
        ", ",
        Name("sum"),
        " and ",
        Name("mean"),
        " also 'discover(dest)', which finds them privately.",
    ),
    read=read_by,
)
WHERE = Option("where", "Only rows with this condition.")
CONDITION = Option(
    "where",
    "A condition, such as 'age >= 65'.",
    prompt="Condition, such as age >= 65",
    required=True,
)
ANY_CONDITION = replace(
    CONDITION, prompt="Condition, such as age >= 65 (empty: every row)", may_be_empty=True, read=read_or_none
)
CONDITIONS = Option(
    "conditions",
    "Conditions; give it again for each.",
    prompt="Conditions, separated by semicolons",
    required=True,
    several=True,
)
COLUMN = Option("column", "A column.", prompt="Column", required=True)
LOWER = Option(
    "lower",
    "Values below this count as this; public.",
    Words(
        Name("lower"), ", the lower end of the public range that values are clamped to, such as ", Argument("lower", 0)
    ),
    "Lower end of the public range of values",
    required=True,
)
UPPER = Option(
    "upper",
    "Values above this count as this; public.",
    Words(Name("upper"), ", its upper end, such as ", Argument("upper", 100)),
    "Upper end of the public range of values",
    required=True,
)
GRID = Option("grid", "The step that values are rounded to; without it whole numbers are not rounded, others hardly.")
AT_LEAST = Option(
    "at_least",
    "The border of a threshold.",
    Words(Name("at_least"), ", such as ", Argument("at_least", 100)),
    "At least how many",
    required=True,
    read=read_whole,
)
CATEGORIES = Option(
    "categories",
    "Public values, separated by commas; or 'bins(0, 100, 5)' of numbers, each with its lower edge.",
    Words(Name("categories"), ", the public values, such as ", Argument("categories", ["yes", "no"])),
    "Categories, separated by commas (a public list, never read off the table)",
    required=True,
    read=read_categories,
)
CHOICES = replace(CATEGORIES, name="candidates", spelled="categories")
"""The candidates of a vote."""
CANDIDATES = replace(
    CHOICES,
    missing=Words(
        Name("candidates"), ", public numbers in increasing order, such as ", Argument("candidates", [20, 40, 60])
    ),
    prompt="Candidates: public numbers in increasing order, separated by commas",
    read=read_numbers,
)
EDGES = Option(
    "edges",
    "Public numbers in increasing order, separated by commas; or 'bins(0, 100, 5)'.",
    Words(Name("edges"), ", public numbers in increasing order, such as ", Argument("edges", [20, 40, 60])),
    "Edges: public numbers in increasing order, separated by commas",
    required=True,
    read=read_edges,
)
OTHER = Option("other", Words("A name for all other values of ", Name("histogram"), "."))
SHARE = Option(
    "q",
    "Which quantile: 0.5 is the median; or several, separated by commas.",
    Words(Name("q"), ", such as ", Argument("q", 0.5), " for the median"),
    "Which quantile, between 0 and 1 (0.5 is the median)",
    required=True,
    read=read_shares,
)
KEYS_EACH = Option("keys_each", "So many keys of a person take part at most; 1 without it.", read=read_whole)
UP_TO = Option("up_to", "Count rows left out, of a person at most so many; people without it.", read=read_whole)
LARGEST = Option("largest", "The last bin is of people with more rows than this; 1000 without it.", read=read_whole)
OF = Option("of", "Count rows or people; rows without it.")
EXPECTED_ROWS = Option(
    "expected_rows",
    "How many rows the answer is made of, roughly, or each group, with commas between them in the order of the keys; "
    "public. The plan's error is stated for it.",
    read=read_shares,
)
MIN_ROWS = Option(
    "min_rows",
    Words("Of ", Name("by"), ": suppress groups whose released number of rows is below this."),
    read=read_whole,
)
UNBIASED = Option("unbiased", "The noisy number itself instead of the best guess.", is_switch=True)
